#include "store/generations.h"

#include "store/database.h"

/* -------------------------------------------------------------- generations */

/* Whether the newest generation of the path is this one seen again; it is brought up to date. */
static int see_again(struct store *store, const struct store_generation *generation,
                     int64_t *ret_sequence, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code =
            database_read_inside(store,
                                 "SELECT sequence, sha256 = ?2 FROM generations "
                                 "WHERE path = ?1 ORDER BY sequence DESC LIMIT 1",
                                 VALUES(value_text(generation->path),
                                        value_bytes(generation->sha256, sizeof generation->sha256)),
                                 &rows, err);
    *ret_sequence = 0;
    if (code < 0 || rows.count == 0 || rows_at(&rows, 0)[1].number == 0) {
        return code;
    }
    *ret_sequence = rows_at(&rows, 0)->number;
    return database_run(store,
                        "UPDATE generations SET staged = ?2, seen_s = ?3 WHERE sequence = ?1",
                        VALUES(value_number(*ret_sequence), value_text(generation->staged),
                               value_number(generation->seen_s)),
                        err);
}

static int insert(struct store *store, const struct store_generation *generation,
                  int64_t *ret_sequence, struct toolrack_error *err) {
    int code =
            database_run(store,
                         "INSERT INTO generations (path, sha256, staged, seen_s) "
                         "VALUES (?1, ?2, ?3, ?4)",
                         VALUES(value_text(generation->path),
                                value_bytes(generation->sha256, sizeof generation->sha256),
                                value_text(generation->staged), value_number(generation->seen_s)),
                         err);
    if (code < 0) {
        return code;
    }
    *ret_sequence = sqlite3_last_insert_rowid(store->db);
    return database_run(
            store,
            "DELETE FROM generations WHERE sequence IN (SELECT sequence "
            "FROM generations WHERE path = ?1 "
            "ORDER BY sequence DESC LIMIT -1 OFFSET ?2)",
            VALUES(value_text(generation->path), value_number(STORE_GENERATIONS_PER_FILE_MAX)),
            err);
}

int store_generation_add(struct store *store, const struct store_generation *generation,
                         int64_t *ret_sequence, struct toolrack_error *err) {
    int64_t sequence = 0;
    int code = database_check_texts(
            TEXT_LIMITS({"path of the plugin's file", generation->path, STORE_TEXT_SIZE_MAX},
                        {"name of the staged file", generation->staged, STORE_TEXT_SIZE_MAX}),
            err);
    if (code < 0) {
        return code;
    }
    code = database_begin(store, DATABASE_DURABLE, err);
    if (code == 0) {
        code = see_again(store, generation, &sequence, err);
    }
    if (code == 0 && sequence == 0) {
        code = insert(store, generation, &sequence, err);
    }
    code = database_end(store, code, err);
    if (code == 0 && ret_sequence != NULL) {
        *ret_sequence = sequence;
    }
    return code;
}

int store_generations_read(struct store *store, const char *path,
                           void (*visit)(void *user, const struct store_generation *generation),
                           void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_DECISIONS,
                             "SELECT path, sha256, staged, seen_s, sequence FROM generations "
                             "WHERE ?1 IS NULL OR path = ?1 ORDER BY path, sequence DESC",
                             VALUES(value_text(path)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_generation generation = {.path = value_as_text(&row[0]),
                                              .staged = value_as_text(&row[2]),
                                              .seen_s = row[3].number,
                                              .sequence = row[4].number};
        value_copy_bytes(&row[1], generation.sha256, sizeof generation.sha256);
        visit(user, &generation);
    }
    return code;
}

/* ---------------------------------------------------------------- rollbacks */

int store_rollback_set(struct store *store, const struct store_rollback *rollback,
                       struct toolrack_error *err) {
    int code = database_check_texts(
            TEXT_LIMITS({"path of the plugin's file", rollback->path, STORE_TEXT_SIZE_MAX}), err);
    if (code < 0) {
        return code;
    }
    code = database_begin(store, DATABASE_DURABLE, err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT OR REPLACE INTO rollbacks (path, bad_sha256, use_sha256) "
                            "VALUES (?1, ?2, ?3)",
                            VALUES(value_text(rollback->path),
                                   value_bytes(rollback->bad_sha256, sizeof rollback->bad_sha256),
                                   value_bytes(rollback->use_sha256, sizeof rollback->use_sha256)),
                            err);
    }
    return database_end(store, code, err);
}

int store_rollback_clear(struct store *store, const char *path, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, err);
    if (code == 0) {
        code = database_run(store, "DELETE FROM rollbacks WHERE path = ?1",
                            VALUES(value_text(path)), err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "%s was not rolled back", path);
    }
    return database_end(store, code, err);
}

int store_rollback_read(struct store *store,
                        void (*visit)(void *user, const struct store_rollback *rollback),
                        void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_DECISIONS,
                             "SELECT path, bad_sha256, use_sha256 FROM rollbacks ORDER BY path",
                             NO_VALUES, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_rollback rollback = {.path = value_as_text(&row[0])};
        value_copy_bytes(&row[1], rollback.bad_sha256, sizeof rollback.bad_sha256);
        value_copy_bytes(&row[2], rollback.use_sha256, sizeof rollback.use_sha256);
        visit(user, &rollback);
    }
    return code;
}
