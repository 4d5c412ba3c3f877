#include "store/generations.h"

#include "store/database.h"

/* -------------------------------------------------------------- generations */

int store_generation_add(struct store *store, const struct store_generation *generation,
                         int64_t *ret_sequence, struct toolrack_error *err) {
    const struct value path = value_text(generation->path);
    const struct value sha256 = value_bytes(generation->sha256, sizeof generation->sha256);
    const struct value staged = value_text(generation->staged);
    int64_t sequence = 0;
    int code = database_begin(
            store, DATABASE_DURABLE,
            TEXT_LIMITS({"path of the plugin's file", generation->path, STORE_TEXT_SIZE_MAX},
                        {"name of the staged file", generation->staged, STORE_TEXT_SIZE_MAX}),
            err);

    /* If the newest generation of the path has the same content, it is the same generation. */
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    if (code == 0) {
        code = database_read_inside(store,
                                    "SELECT sequence, sha256 = ?2 FROM generations "
                                    "WHERE path = ?1 ORDER BY sequence DESC LIMIT 1",
                                    VALUES(path, sha256), &rows, err);
    }
    bool seen_again = rows.count > 0 && rows_at(&rows, 0)[1].number != 0;
    if (code == 0 && seen_again) {
        sequence = rows_at(&rows, 0)->number;
        code = database_run(
                store,
                "UPDATE generations SET staged = ?2, seen_s = ?3 / 1000, seen_ms = ?3 WHERE "
                "sequence = ?1",
                VALUES(value_number(sequence), staged, value_number(generation->seen_ms)), err);
    }

    if (code == 0 && !seen_again) {
        code = database_run(store,
                            "INSERT INTO generations (path, sha256, staged, seen_s, seen_ms) "
                            "VALUES (?1, ?2, ?3, ?4 / 1000, ?4)",
                            VALUES(path, sha256, staged, value_number(generation->seen_ms)), err);
        sequence = sqlite.last_insert_rowid(store->db);
    }
    if (code == 0 && generation->plugin != NULL) {
        code = database_run(store,
                            "INSERT INTO contents (path, sha256, plugin, version, worked, "
                            "removed) VALUES (?1, ?2, ?3, ?4, ?5, 0) ON CONFLICT (path, sha256) "
                            "DO UPDATE SET plugin = ?3, version = ?4, rule = NULL, reason = NULL, "
                            "worked = max(worked, ?5), removed = 0",
                            VALUES(path, sha256, value_text(generation->plugin),
                                   value_text(generation->version),
                                   value_number(generation->has_worked)),
                            err);
    }
    if (code == 0 && !seen_again) {
        code = database_run(store,
                            "DELETE FROM generations WHERE sequence IN (SELECT sequence "
                            "FROM generations WHERE path = ?1 "
                            "ORDER BY sequence DESC LIMIT -1 OFFSET ?2) AND sequence != "
                            "coalesce((SELECT max(sequence) FROM generations g LEFT JOIN contents "
                            "c ON c.path = g.path AND c.sha256 = g.sha256 WHERE g.path = ?1 AND "
                            "coalesce(c.worked, 1) AND c.rule IS NULL), 0)",
                            VALUES(path, value_number(STORE_GENERATIONS_PER_FILE_MAX)), err);
    }
    if (code == 0 && generation->plugin != NULL) { /* of contents that are forgotten */
        code = database_run(store,
                            "DELETE FROM contents WHERE path = ?1 AND sha256 NOT IN "
                            "(SELECT sha256 FROM generations WHERE path = ?1 UNION ALL "
                            "SELECT bad_sha256 FROM rollbacks WHERE path = ?1)",
                            VALUES(path), err);
    }
    code = database_end(store, code, err);
    if (code == 0 && ret_sequence != NULL) {
        *ret_sequence = sequence;
    }
    return code;
}

/* By path and sequence both downwards, so that the index gives them in this order. Of one path and
 * of all are statements of their own: with "or is NULL" SQLite would look at each row. */
#define READ_GENERATIONS(condition)                                                              \
    "SELECT g.path, g.sha256, staged, coalesce(seen_ms, seen_s * 1000), sequence, c.plugin, "    \
    "version, rule, reason, removed, coalesce(worked, 1) FROM generations g LEFT JOIN contents " \
    "c ON c.path = g.path AND c.sha256 = g.sha256 " condition                                    \
    " ORDER BY g.path DESC, sequence DESC"
#define READ_OLD_GENERATIONS(condition)                                                        \
    "SELECT path, sha256, staged, seen_s * 1000, sequence, NULL, NULL, NULL, NULL, 0, 1 FROM " \
    "generations " condition " ORDER BY path DESC, sequence DESC"

int store_generations_read(struct store *store, const char *path,
                           void (*visit)(void *user, const struct store_generation *generation),
                           void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    const struct value *values = path != NULL ? VALUES(value_text(path)) : NO_VALUES;
    int code = database_read_kept(store, SCHEMA_CONTENTS,
                                  path != NULL ? READ_GENERATIONS("WHERE g.path = ?1")
                                               : READ_GENERATIONS(""),
                                  values, &rows, err);
    if (code == 0 && rows.count == 0) { /* an older database, or an empty one */
        rows_finish(&rows);
        code = database_read_kept(store, SCHEMA_DECISIONS,
                                  path != NULL ? READ_OLD_GENERATIONS("WHERE path = ?1")
                                               : READ_OLD_GENERATIONS(""),
                                  values, &rows, err);
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_generation generation = {.path = value_as_text(&row[0]),
                                              .staged = value_as_text(&row[2]),
                                              .seen_ms = row[3].number,
                                              .sequence = row[4].number,
                                              .plugin = value_as_optional_text(&row[5]),
                                              .version = value_as_optional_text(&row[6]),
                                              .rule = value_as_optional_text(&row[7]),
                                              .reason = value_as_optional_text(&row[8]),
                                              .is_removed = row[9].number != 0,
                                              .has_worked = row[10].number != 0};
        value_copy_bytes(&row[1], generation.sha256, sizeof generation.sha256);
        visit(user, &generation);
    }
    return code;
}

/* The contents of one path stand together. */
static size_t take_history(const struct rows *rows, size_t first, struct store_history *ret) {
    const struct value *row = rows_at(rows, first);
    *ret = (struct store_history){.path = value_as_text(&row[0]),
                                  .version = value_as_optional_text(&row[1]),
                                  .is_removed = row[2].number != 0};
    size_t next = first + 1;
    for (; next < rows->count && strcmp(value_as_text(rows_at(rows, next)), ret->path) == 0;
         next++) {
        ret->version = NULL;
        ret->is_removed = ret->is_removed && rows_at(rows, next)[2].number != 0;
    }
    return next;
}

/* The next path after some that are the same. */
static size_t skip_path(const struct rows *paths, size_t first) {
    const char *path = value_as_text(rows_at(paths, first));
    size_t next = first + 1;
    while (next < paths->count && strcmp(value_as_text(rows_at(paths, next)), path) == 0) {
        next++;
    }
    return next;
}

/* By path; a file of an older toolrack may have generations and no content. */
static void visit_histories(const struct rows *paths, const struct rows *contents,
                            void (*visit)(void *user, const struct store_history *history),
                            void *user) {
    size_t path = 0;
    size_t content = 0;
    while (path < paths->count || content < contents->count) {
        int order = path == paths->count ? 1
                    : content == contents->count
                            ? -1
                            : strcmp(value_as_text(rows_at(paths, path)),
                                     value_as_text(rows_at(contents, content)));
        struct store_history history = {0};
        if (order >= 0) {
            content = take_history(contents, content, &history);
        } else {
            history.path = value_as_text(rows_at(paths, path));
        }
        visit(user, &history);
        path = order <= 0 ? skip_path(paths, path) : path;
    }
}

int store_histories_read(struct store *store,
                         void (*visit)(void *user, const struct store_history *history), void *user,
                         struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows paths = ROWS_INIT;
    CLEANUP(rows_finish) struct rows contents = ROWS_INIT;
    /* Each walks along an index: one statement that joins them, or leaves out paths that are the
     * same, takes longer. The paths come first: who adds a generation adds its content with it. */
    int code = database_read_kept(store, SCHEMA_DECISIONS,
                                  "SELECT path FROM generations ORDER BY path", NO_VALUES, &paths,
                                  err);
    if (code == 0) {
        code = database_read_kept(store, SCHEMA_CONTENTS,
                                  "SELECT path, version, removed FROM contents ORDER BY path",
                                  NO_VALUES, &contents, err);
    }
    if (code == 0) {
        visit_histories(&paths, &contents, visit, user);
    }
    return code;
}

/* ----------------------------------------------------------------- contents */

int store_content_worked(struct store *store, const char *path,
                         const unsigned char sha256[STORE_SHA256_SIZE],
                         struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_SOON, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store, "UPDATE contents SET worked = 1 WHERE path = ?1 AND sha256 = ?2",
                            VALUES(value_text(path), value_bytes(sha256, STORE_SHA256_SIZE)), err);
    }
    return database_end(store, code, err);
}

int store_content_condemn(struct store *store, const char *path,
                          const unsigned char sha256[STORE_SHA256_SIZE], const char *rule,
                          const char *reason, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"path of the plugin's file", path, STORE_TEXT_SIZE_MAX}),
                              err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT INTO contents (path, sha256, rule, reason, removed) "
                            "VALUES (?1, ?2, ?3, ?4, 0) ON CONFLICT (path, sha256) "
                            "DO UPDATE SET rule = ?3, reason = ?4",
                            VALUES(value_text(path), value_bytes(sha256, STORE_SHA256_SIZE),
                                   value_text(rule), value_cut_text(reason, STORE_TEXT_SIZE_MAX)),
                            err);
    }
    return database_end(store, code, err);
}

int store_content_condemned(struct store *store, const char *path,
                            const unsigned char sha256[STORE_SHA256_SIZE],
                            void (*visit)(void *user, const char *rule, const char *reason),
                            void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_CONTENTS,
                                  "SELECT rule, reason FROM contents "
                                  "WHERE path = ?1 AND sha256 = ?2 AND rule IS NOT NULL",
                                  VALUES(value_text(path), value_bytes(sha256, STORE_SHA256_SIZE)),
                                  &rows, err);
    if (code == 0 && rows.count > 0) {
        const struct value *row = rows_at(&rows, 0);
        visit(user, value_as_text(&row[0]), value_as_text(&row[1]));
    }
    return code;
}

int store_contents_remove(struct store *store, const char *path, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT OR IGNORE INTO contents (path, sha256, worked, removed) "
                            "SELECT DISTINCT path, sha256, 1, 1 FROM generations WHERE path = ?1",
                            VALUES(value_text(path)), err);
    }
    if (code == 0) {
        code = database_run(store, "UPDATE contents SET removed = 1 WHERE path = ?1",
                            VALUES(value_text(path)), err);
    }
    return database_end(store, code, err);
}

/* ------------------------------------------------------------------ rename */

/* The files of the folder ?1, not those of folders in it. */
#define IN_FOLDER                                \
    "path > ?1 || '/' AND path < ?1 || '0' AND " \
    "instr(substr(path, length(?1) + 2), '/') = 0"
#define RENAMED "?2 || substr(path, length(?1) + 1)"

int store_contents_rename(struct store *store, const char *from_folder, const char *to_folder,
                          struct toolrack_error *err) {
    const struct value from = value_text(from_folder);
    const struct value to = value_text(to_folder);
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_DECISIONS,
                             "SELECT 1 WHERE EXISTS (SELECT 1 FROM generations WHERE " IN_FOLDER
                             ") OR EXISTS (SELECT 1 FROM rollbacks WHERE " IN_FOLDER ")",
                             VALUES(from), &rows, err);
    if (code < 0 || rows.count == 0) {
        return code;
    }
    code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store, "UPDATE generations SET path = " RENAMED " WHERE " IN_FOLDER,
                            VALUES(from, to), err);
    }
    if (code == 0) {
        code = database_run(store,
                            "UPDATE OR REPLACE contents SET path = " RENAMED " WHERE " IN_FOLDER,
                            VALUES(from, to), err);
    }
    if (code == 0) {
        code = database_run(store,
                            "UPDATE OR REPLACE rollbacks SET path = " RENAMED " WHERE " IN_FOLDER,
                            VALUES(from, to), err);
    }
    if (code == 0) {
        code = database_run(store,
                            "UPDATE OR REPLACE failures SET path = " RENAMED " WHERE " IN_FOLDER,
                            VALUES(from, to), err);
    }
    return database_end(store, code, err);
}

/* ---------------------------------------------------------------- rollbacks */

int store_rollback_set(struct store *store, const struct store_rollback *rollback,
                       struct toolrack_error *err) {
    int code = database_begin(
            store, DATABASE_DURABLE,
            TEXT_LIMITS({"path of the plugin's file", rollback->path, STORE_TEXT_SIZE_MAX}), err);
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
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
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
    int code =
            database_read_kept(store, SCHEMA_DECISIONS,
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
