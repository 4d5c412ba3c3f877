#include "store/pins.h"

#include <assert.h>

#include "store/database.h"

#define TEXT_KEY(name, key, words) key,
static const char *const keys[] = {PIN_TEXTS(TEXT_KEY)};

int pin_check(const struct store_pin *pin, struct toolrack_error *err) {
    int code = database_check_texts(
            TEXT_LIMITS({"plugin id", pin->plugin, STORE_TEXT_SIZE_MAX},
                        {"tool name", pin->tool, STORE_TEXT_SIZE_MAX},
                        {"version", pin->version, STORE_TEXT_SIZE_MAX},
                        {"name of who approves", pin->who, STORE_TEXT_SIZE_MAX}),
            err);
    for (size_t i = 0; code == 0 && i < PIN_TEXT_COUNT; i++) {
        code = database_check_texts(TEXT_LIMITS({keys[i], pin->texts[i], STORE_PIN_TEXT_SIZE_MAX}),
                                    err);
    }
    return code;
}

/* What is approved with a tool replaces what was first seen of it. */
static int put_caution(struct store *store, const struct store_caution *caution,
                       struct toolrack_error *err) {
    return database_run(store,
                        "INSERT OR REPLACE INTO cautions (plugin, tool, permission) "
                        "VALUES (?1, ?2, ?3)",
                        VALUES(value_text(caution->plugin), value_text(caution->tool),
                               value_number(caution->permission)),
                        err);
}

/* As the rows have them. */
#define TEXT_COLUMN(name, key, words) ", " key
#define COLUMNS                                                                                  \
    "plugin, tool, version, sha256, approved_s, who, permission, flags, capabilities" PIN_TEXTS( \
            TEXT_COLUMN)
#define TEXTS_AT 9
static_assert(PIN_TEXT_COUNT == 10, "the parameters below, and the columns of a file of schema 3");

int pin_put(struct store *store, const struct store_pin *pin, struct toolrack_error *err) {
    const char *const *texts = pin->texts;
    int code = database_run(
            store,
            "INSERT OR REPLACE INTO pins (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
            "?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            VALUES(value_text(pin->plugin), value_text(pin->tool), value_text(pin->version),
                   value_bytes(pin->sha256, sizeof pin->sha256), value_number(pin->approved_s),
                   value_text(pin->who),
                   value_optional_number(pin->permission >= 0, pin->permission),
                   value_optional_number(pin->permission >= 0, pin->flags),
                   value_text(pin->capabilities), value_text(texts[0]), value_text(texts[1]),
                   value_text(texts[2]), value_text(texts[3]), value_text(texts[4]),
                   value_text(texts[5]), value_text(texts[6]), value_text(texts[7]),
                   value_text(texts[8]), value_text(texts[9])),
            err);
    if (code == 0 && pin->permission >= 0) {
        const struct store_caution caution = {
                .plugin = pin->plugin, .tool = pin->tool, .permission = pin->permission};
        code = put_caution(store, &caution, err);
    }
    return code;
}

#define PINS_WHERE(condition)                       \
    "SELECT " COLUMNS " FROM pins WHERE " condition \
    " AND (?2 IS NULL OR tool = ?2) ORDER BY plugin, tool, version"
/* Of a file of schema 3. */
#define OLD_PINS                                                                             \
    "SELECT plugin, tool, version, sha256, approved_s, who, NULL, NULL, NULL, description, " \
    "schema, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM pins "                      \
    "WHERE (?1 IS NULL OR " IS_IDENTITY(                                                     \
            "?1") ") AND (?2 IS NULL OR tool = ?2) ORDER BY plugin, tool, version"

int store_pins_read(struct store *store, const char *plugin, const char *tool,
                    void (*visit)(void *user, const struct store_pin *pin), void *user,
                    struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    const struct value *values = VALUES(value_text(plugin), value_text(tool));
    bool is_old = false;
    int code = database_is_older(store, SCHEMA_CAPABILITIES, &is_old, err);
    /* Two statements: for one plugin SQLite uses the key. */
    if (code == 0) {
        code = is_old ? database_read(store, SCHEMA_DECISIONS, OLD_PINS, values, &rows, err)
                      : database_read_kept(store, SCHEMA_CAPABILITIES,
                                           plugin != NULL ? PINS_WHERE(IS_IDENTITY("?1"))
                                                          : PINS_WHERE("?1 IS NULL"),
                                           values, &rows, err);
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_pin pin = {.plugin = value_as_text(&row[0]),
                                .tool = value_as_text(&row[1]),
                                .version = value_as_text(&row[2]),
                                .approved_s = row[4].number,
                                .who = value_as_text(&row[5]),
                                .permission = row[6].kind == VALUE_NUMBER ? (int)row[6].number : -1,
                                .flags = (uint32_t)row[7].number,
                                .capabilities = value_as_optional_text(&row[8])};
        for (size_t k = 0; k < PIN_TEXT_COUNT; k++) {
            pin.texts[k] = value_as_optional_text(&row[TEXTS_AT + k]);
        }
        value_copy_bytes(&row[3], pin.sha256, sizeof pin.sha256);
        visit(user, &pin);
    }
    return code;
}

/* ---------------------------------------------------------------- cautions */

int store_cautions_read(struct store *store, const char *plugin,
                        void (*visit)(void *user, const struct store_caution *caution), void *user,
                        struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    /* Two statements, as for pins. */
    int code = plugin != NULL
                       ? database_read_kept(store, SCHEMA_CAPABILITIES,
                                            "SELECT plugin, tool, permission FROM cautions WHERE "
                                            "plugin = ?1",
                                            VALUES(value_text(plugin)), &rows, err)
                       : database_read_kept(store, SCHEMA_CAPABILITIES,
                                            "SELECT plugin, tool, permission FROM cautions",
                                            NO_VALUES, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_caution){.plugin = value_as_text(&row[0]),
                                            .tool = value_as_text(&row[1]),
                                            .permission = (int)row[2].number});
    }
    return code;
}

int store_cautions_record(struct store *store, const struct store_caution *cautions, size_t count,
                          struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_SOON, NO_LIMITS, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = put_caution(store, &cautions[i], err);
    }
    return database_end(store, code, err);
}
