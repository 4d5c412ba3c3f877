#include "store/standings.h"

#include "store/database.h"

#define CAUTION_COLUMNS "plugin, tool, permission"
#define PIN_COLUMNS                                                                            \
    "plugin, tool, version, sha256, description, schema, approved_s, who, permission, flags, " \
    "capabilities, title, deprecated, result_schema, purpose, scenarios, category, tags, examples"

/* ?1 is the identity, ?2 the name under which something is kept. */
#define IS_KEPT " WHERE plugin = ?1 AND kept_as = ?2"

/* What is there now is kept as well. */
#define COPY_PINS                                                              \
    "INSERT INTO kept_pins (kept_as, " PIN_COLUMNS ") SELECT ?2, " PIN_COLUMNS \
    " FROM pins WHERE plugin = ?1"
#define COPY_CAUTIONS                                                                      \
    "INSERT INTO kept_cautions (kept_as, " CAUTION_COLUMNS ") SELECT ?2, " CAUTION_COLUMNS \
    " FROM cautions WHERE plugin = ?1"

static int run_each(struct store *store, const char *const *statements, size_t count,
                    const struct value *values, struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = database_run(store, statements[i], values, err);
    }
    return code;
}

static int begin(struct store *store, const char *plugin, const char *version,
                 struct toolrack_error *err) {
    return database_begin(store, DATABASE_DURABLE,
                          TEXT_LIMITS({"plugin id", plugin, STORE_TEXT_SIZE_MAX},
                                      {"name of a version", version, STORE_TEXT_SIZE_MAX}),
                          err);
}

static int forget(struct store *store, const struct value *of, struct toolrack_error *err) {
    static const char *const statements[] = {
            "DELETE FROM standings WHERE plugin = ?1 AND (?2 IS NULL OR kept_as = ?2)",
            "DELETE FROM kept_pins WHERE plugin = ?1 AND (?2 IS NULL OR kept_as = ?2)",
            "DELETE FROM kept_cautions WHERE plugin = ?1 AND (?2 IS NULL OR kept_as = ?2)"};
    return run_each(store, statements, ARRAY_LENGTH(statements), of, err);
}

int store_standing_keep(struct store *store, const char *plugin, const char *version, int64_t now_s,
                        struct toolrack_error *err) {
    static const char *const copy[] = {COPY_PINS, COPY_CAUTIONS};
    static const char *const drop[] = {
            "DELETE FROM standings WHERE plugin = ?1 AND kept_as NOT IN (SELECT kept_as FROM "
            "standings WHERE plugin = ?1 ORDER BY since_s DESC, rowid DESC LIMIT ?2)",
            "DELETE FROM kept_pins WHERE plugin = ?1 AND ?2 > 0 AND kept_as NOT IN "
            "(SELECT kept_as FROM standings WHERE plugin = ?1)",
            "DELETE FROM kept_cautions WHERE plugin = ?1 AND ?2 > 0 AND kept_as NOT IN "
            "(SELECT kept_as FROM standings WHERE plugin = ?1)"};
    const struct value *of = VALUES(value_text(plugin), value_text(version));
    int code = begin(store, plugin, version, err);
    if (code == 0) {
        code = forget(store, of, err);
    }
    if (code == 0) {
        code = database_run(
                store, "INSERT INTO standings (plugin, kept_as, since_s) VALUES (?1, ?2, ?3)",
                VALUES(value_text(plugin), value_text(version), value_number(now_s)), err);
    }
    if (code == 0) {
        code = run_each(store, copy, ARRAY_LENGTH(copy), of, err);
    }
    if (code == 0) {
        code = run_each(store, drop, ARRAY_LENGTH(drop),
                        VALUES(value_text(plugin), value_number(STORE_STANDINGS_MAX)), err);
    }
    return database_end(store, code, err);
}

/* Whether something is kept. */
static int find(struct store *store, const struct value *of, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code =
            database_read_inside(store, "SELECT count(*) FROM standings" IS_KEPT, of, &rows, err);
    return code < 0 ? code : rows_at(&rows, 0)[0].number > 0 ? 0 : TOOLRACK_E_NOT_FOUND;
}

int store_standing_exchange(struct store *store, const char *plugin, const char *version,
                            struct toolrack_error *err) {
    /* By way of a name that nothing is kept under. */
    static const char *const statements[] = {
            "UPDATE kept_pins SET kept_as = ?2 || ' '" IS_KEPT,
            "UPDATE kept_cautions SET kept_as = ?2 || ' '" IS_KEPT,
            COPY_PINS,
            COPY_CAUTIONS,
            "DELETE FROM pins WHERE plugin = ?1 AND EXISTS (SELECT 1 FROM standings" IS_KEPT ")",
            "DELETE FROM cautions WHERE plugin = ?1 AND EXISTS (SELECT 1 FROM standings" IS_KEPT
            ")",
            "INSERT INTO pins (" PIN_COLUMNS ") SELECT " PIN_COLUMNS
            " FROM kept_pins WHERE plugin = ?1 AND kept_as = ?2 || ' '",
            "INSERT INTO cautions (" CAUTION_COLUMNS ") SELECT " CAUTION_COLUMNS
            " FROM kept_cautions WHERE plugin = ?1 AND kept_as = ?2 || ' '",
            "DELETE FROM kept_pins WHERE plugin = ?1 AND kept_as = ?2 || ' '",
            "DELETE FROM kept_cautions WHERE plugin = ?1 AND kept_as = ?2 || ' '",
    };
    const struct value *of = VALUES(value_text(plugin), value_text(version));
    int code = begin(store, plugin, version, err);
    if (code == 0) {
        code = find(store, of, err);
    }
    if (code == 0) {
        code = run_each(store, statements, ARRAY_LENGTH(statements), of, err);
    }
    return database_end(store, code, err);
}

int store_standing_forget(struct store *store, const char *plugin, const char *version,
                          struct toolrack_error *err) {
    int code = begin(store, plugin, version != NULL ? version : "", err);
    if (code == 0) {
        code = forget(store, VALUES(value_text(plugin), value_text(version)), err);
    }
    return database_end(store, code, err);
}
