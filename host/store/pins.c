#include "store/pins.h"

#include "store/database.h"

int pin_check(const struct store_pin *pin, struct toolrack_error *err) {
    return database_check_texts(
            TEXT_LIMITS({"plugin id", pin->plugin, STORE_TEXT_SIZE_MAX},
                        {"tool name", pin->tool, STORE_TEXT_SIZE_MAX},
                        {"version", pin->version, STORE_TEXT_SIZE_MAX},
                        {"description of the tool", pin->description, STORE_PIN_TEXT_SIZE_MAX},
                        {"schema of the tool", pin->schema, STORE_PIN_TEXT_SIZE_MAX},
                        {"name of who approves", pin->who, STORE_TEXT_SIZE_MAX}),
            err);
}

int pin_put(struct store *store, const struct store_pin *pin, struct toolrack_error *err) {
    return database_run(
            store,
            "INSERT OR REPLACE INTO pins (plugin, tool, version, sha256, "
            "description, schema, approved_s, who) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            VALUES(value_text(pin->plugin), value_text(pin->tool), value_text(pin->version),
                   value_bytes(pin->sha256, sizeof pin->sha256), value_text(pin->description),
                   value_text(pin->schema), value_number(pin->approved_s), value_text(pin->who)),
            err);
}

#define PINS_WHERE(condition)                                                     \
    "SELECT plugin, tool, version, sha256, description, schema, approved_s, who " \
    "FROM pins WHERE " condition " AND (?2 IS NULL OR tool = ?2) ORDER BY plugin, tool, version"

int store_pins_read(struct store *store, const char *plugin, const char *tool,
                    void (*visit)(void *user, const struct store_pin *pin), void *user,
                    struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    /* Two statements: for one plugin SQLite uses the key. */
    int code = database_read_kept(store, SCHEMA_DECISIONS,
                                  plugin != NULL ? PINS_WHERE(IS_IDENTITY("?1"))
                                                 : PINS_WHERE("?1 IS NULL"),
                                  VALUES(value_text(plugin), value_text(tool)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_pin pin = {.plugin = value_as_text(&row[0]),
                                .tool = value_as_text(&row[1]),
                                .version = value_as_text(&row[2]),
                                .description = value_as_text(&row[4]),
                                .schema = value_as_text(&row[5]),
                                .approved_s = row[6].number,
                                .who = value_as_text(&row[7])};
        value_copy_bytes(&row[3], pin.sha256, sizeof pin.sha256);
        visit(user, &pin);
    }
    return code;
}
