#include "store/database.h"

int store_keep_setting(struct store *store, const struct store_setting *setting,
                       struct toolrack_error *err) {
    const struct value *values =
            VALUES(value_text(setting->selector),
                   value_optional_number(setting->has_enabled, setting->enabled),
                   value_optional_number(setting->has_priority, setting->priority));
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT INTO settings (selector, enabled, priority) "
                            "VALUES (?1, ?2, ?3) "
                            "ON CONFLICT (selector) DO UPDATE SET enabled = coalesce(?2, enabled), "
                            "priority = coalesce(?3, priority)",
                            values, err);
    }
    /* A setting for all versions replaces those of single versions. */
    if (code == 0) {
        code = database_run(store,
                            "UPDATE settings SET enabled = iif(?2 IS NULL, enabled, NULL), "
                            "priority = iif(?3 IS NULL, priority, NULL) "
                            "WHERE substr(selector, 1, length(?1) + 1) = ?1 || '@'",
                            values, err);
    }
    return database_end(store, code, err);
}

int store_read_settings(struct store *store,
                        void (*visit)(void *user, const struct store_setting *setting), void *user,
                        struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    /* Ordered by selector: a name comes before its versions; if it came later, it would replace
     * theirs. */
    int code =
            database_read_kept(store, SCHEMA_SETTINGS,
                               "SELECT selector, enabled, priority FROM settings ORDER BY selector",
                               NO_VALUES, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_setting){.selector = value_as_text(&row[0]),
                                            .has_enabled = row[1].kind == VALUE_NUMBER,
                                            .enabled = row[1].number != 0,
                                            .has_priority = row[2].kind == VALUE_NUMBER,
                                            .priority = (int32_t)row[2].number});
    }
    return code;
}
