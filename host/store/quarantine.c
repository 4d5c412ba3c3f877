#include "store/quarantine.h"

#include "plugin/origin.h"
#include "store/database.h"

int store_quarantine_set(struct store *store, const struct store_quarantine *quarantine,
                         struct toolrack_error *err) {
    int code = database_begin(
            store, DATABASE_DURABLE,
            TEXT_LIMITS({"plugin id", quarantine->plugin, STORE_TEXT_SIZE_MAX},
                        {"reason for the quarantine", quarantine->reason, STORE_TEXT_SIZE_MAX}),
            err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT OR REPLACE INTO quarantine (plugin, sha256, reason, since_s, "
                            "crash_count) VALUES (?1, ?2, ?3, ?4, ?5)",
                            VALUES(value_text(quarantine->plugin),
                                   value_bytes(quarantine->sha256, sizeof quarantine->sha256),
                                   value_text(quarantine->reason),
                                   value_number(quarantine->since_s),
                                   value_number(quarantine->crash_count)),
                            err);
    }
    return database_end(store, code, err);
}

int store_quarantine_remove(struct store *store, const char *plugin,
                            const unsigned char sha256[STORE_SHA256_SIZE],
                            struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(
                store,
                "DELETE FROM quarantine WHERE " IS_IDENTITY(
                        "?1") " AND (?2 IS NULL OR sha256 = ?2 OR sha256 = zeroblob(length(?2)))",
                VALUES(value_text(plugin),
                       sha256 != NULL ? value_bytes(sha256, STORE_SHA256_SIZE) : value_text(NULL)),
                err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "plugin '%.*s' is not in quarantine",
                         (int)identity_id_length(plugin), plugin);
    }
    return database_end(store, code, err);
}

int store_quarantine_read(struct store *store,
                          void (*visit)(void *user, const struct store_quarantine *quarantine),
                          void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(
            store, SCHEMA_DECISIONS,
            "SELECT plugin, sha256, reason, since_s, crash_count FROM quarantine "
            "ORDER BY plugin, sha256",
            NO_VALUES, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_quarantine quarantine = {.plugin = value_as_text(&row[0]),
                                              .reason = value_as_text(&row[2]),
                                              .since_s = row[3].number,
                                              .crash_count = (uint32_t)row[4].number};
        value_copy_bytes(&row[1], quarantine.sha256, sizeof quarantine.sha256);
        visit(user, &quarantine);
    }
    return code;
}
