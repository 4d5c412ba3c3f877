#include "store/failures.h"

#include "store/database.h"

int store_failure_set(struct store *store, const struct store_failure *failure,
                      struct toolrack_error *err) {
    int code = database_begin(
            store, DATABASE_DURABLE,
            TEXT_LIMITS({"path of the plugin's file", failure->path, STORE_TEXT_SIZE_MAX},
                        {"reason of the failure", failure->reason, STORE_TEXT_SIZE_MAX}),
            err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT OR REPLACE INTO failures (path, sha256, conditions, reason, "
                            "since_s) VALUES (?1, ?2, ?3, ?4, ?5)",
                            VALUES(value_text(failure->path),
                                   value_bytes(failure->sha256, sizeof failure->sha256),
                                   value_bytes(failure->conditions, sizeof failure->conditions),
                                   value_text(failure->reason), value_number(failure->since_s)),
                            err);
    }
    return database_end(store, code, err);
}

int store_failure_remove(struct store *store, const char *path,
                         const unsigned char sha256[STORE_SHA256_SIZE],
                         struct toolrack_error *err) {
    const struct value content = sha256 != NULL ? value_bytes(sha256, STORE_SHA256_SIZE)
                                                : (struct value){.kind = VALUE_NULL};
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store,
                            "DELETE FROM failures WHERE path = ?1 AND (?2 IS NULL OR sha256 = ?2)",
                            VALUES(value_text(path), content), err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "%s has not failed to load", path);
    }
    return database_end(store, code, err);
}

int store_failures_read(struct store *store,
                        void (*visit)(void *user, const struct store_failure *failure), void *user,
                        struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(
            store, SCHEMA_FAILURES,
            "SELECT path, sha256, conditions, reason, since_s FROM failures ORDER BY path",
            NO_VALUES, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_failure failure = {.path = value_as_text(&row[0]),
                                        .reason = value_as_text(&row[3]),
                                        .since_s = row[4].number};
        value_copy_bytes(&row[1], failure.sha256, sizeof failure.sha256);
        value_copy_bytes(&row[2], failure.conditions, sizeof failure.conditions);
        visit(user, &failure);
    }
    return code;
}
