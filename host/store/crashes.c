#include "store/crashes.h"

#include "store/database.h"

int store_crash_add(struct store *store, const struct store_crash *crash, int64_t *ret_id,
                    struct toolrack_error *err) {
    int64_t id = 0;
    int code = database_begin(
            store, DATABASE_DURABLE,
            TEXT_LIMITS({"plugin id", crash->plugin, STORE_TEXT_SIZE_MAX},
                        {"bundle of the crash", crash->bundle, STORE_CRASH_SIZE_MAX}),
            err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT INTO crashes (plugin, time_s, bundle) VALUES (?1, ?2, ?3)",
                            VALUES(value_text(crash->plugin), value_number(crash->time_s),
                                   value_text(crash->bundle)),
                            err);
    }
    if (code == 0) {
        id = sqlite.last_insert_rowid(store->db);
        code = database_run(
                store,
                "DELETE FROM crashes WHERE id IN (SELECT id FROM crashes "
                "WHERE " IS_IDENTITY("?1") " ORDER BY id DESC LIMIT -1 OFFSET ?2)",
                VALUES(value_text(crash->plugin), value_number(STORE_CRASHES_PER_PLUGIN_MAX)), err);
    }
    if (code == 0) {
        code = database_run(store,
                            "DELETE FROM crashes WHERE id IN (SELECT id FROM crashes "
                            "ORDER BY id DESC LIMIT -1 OFFSET ?1)",
                            VALUES(value_number(STORE_CRASHES_MAX)), err);
    }
    code = database_end(store, code, err);
    if (code == 0 && ret_id != NULL) {
        *ret_id = id;
    }
    return code;
}

int store_crashes_read(struct store *store, const char *plugin,
                       void (*visit)(void *user, const struct store_crash *crash), void *user,
                       struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_DECISIONS,
                             "SELECT id, plugin, time_s, bundle FROM crashes "
                             "WHERE ?1 IS NULL OR " IS_IDENTITY("?1") " ORDER BY id DESC",
                             VALUES(value_text(plugin)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_crash){.id = row[0].number,
                                          .plugin = value_as_text(&row[1]),
                                          .time_s = row[2].number,
                                          .bundle = value_as_text(&row[3])});
    }
    return code;
}
