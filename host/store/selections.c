#include "store/selections.h"

#include "store/database.h"

/* A row that changes gets the next number, as a new one does. */
#define COLUMNS \
    "id, principal, text, tool, plugin, time_ms, worked, failed, right_tool, right_plugin"

/* Which rows of a principal are kept longest; what was just put has yet to be spoken of. */
#define WORTH "id = ?1 DESC, right_tool IS NOT NULL DESC, worked > failed DESC, change DESC"

/* How many rows a principal has, and all. */
static int count_rows(struct store *store, const char *principal, int64_t *ret_own,
                      int64_t *ret_all, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_run_kept(store,
                                 "SELECT (SELECT count(*) FROM selections WHERE principal = ?1), "
                                 "(SELECT count(*) FROM selections)",
                                 VALUES(value_text(principal)), &rows, err);
    *ret_own = rows.count > 0 ? rows_at(&rows, 0)[0].number : 0;
    *ret_all = rows.count > 0 ? rows_at(&rows, 0)[1].number : 0;
    return code;
}

/* Remove the rows that are too many after one was put. */
static int remove_surplus(struct store *store, const struct store_selection *put,
                          struct toolrack_error *err) {
    int64_t own = 0;
    int64_t all = 0;
    int code = count_rows(store, put->principal, &own, &all, err);
    if (code == 0 && own > STORE_SELECTIONS_OF_PRINCIPAL_MAX) {
        code = database_run(
                store,
                "DELETE FROM selections WHERE change IN (SELECT change FROM selections "
                "WHERE principal = ?2 ORDER BY " WORTH " LIMIT -1 OFFSET ?3)",
                VALUES(value_text(put->id), value_text(put->principal),
                       value_number(STORE_SELECTIONS_OF_PRINCIPAL_MAX - STORE_SELECTIONS_REMOVED)),
                err);
    } else if (code == 0 && all > STORE_SELECTIONS_MAX) {
        /* The last places are those of who has the most. */
        code = database_run(
                store,
                "DELETE FROM selections WHERE change IN (SELECT change FROM (SELECT change, "
                "row_number() OVER (PARTITION BY principal ORDER BY " WORTH ") AS place "
                "FROM selections) ORDER BY place DESC, change LIMIT ?2)",
                VALUES(value_text(put->id),
                       value_number(all - STORE_SELECTIONS_MAX + STORE_SELECTIONS_REMOVED)),
                err);
    }
    return code;
}

/* Whether the store has a row of this id. */
static int has(struct store *store, const char *id, bool *ret, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_run_kept(store, "SELECT 1 FROM selections WHERE id = ?1",
                                 VALUES(value_text(id)), &rows, err);
    *ret = rows.count > 0;
    return code;
}

static int read_key(struct store *store, unsigned char *ret, bool *ret_has,
                    struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_SELECTED_KEY, "SELECT key FROM selection_key", NO_VALUES,
                             &rows, err);
    *ret_has = rows.count > 0;
    if (*ret_has) {
        value_copy_bytes(&rows_at(&rows, 0)[0], ret, STORE_SELECTION_KEY_SIZE);
    }
    return code;
}

int store_selections_key(struct store *store, bool makes, unsigned char *ret,
                         struct toolrack_error *err) {
    bool has = false;
    int code = read_key(store, ret, &has, err);
    if (code == 0 && !has && makes) {
        code = database_begin(store, DATABASE_SOON, NO_LIMITS, err); /* makes the tables */
        code = database_end(store, code, err);
        code = code < 0 ? code : read_key(store, ret, &has, err);
    }
    return code == 0 && !has
                   ? error_set(err, TOOLRACK_E_NOT_FOUND, "the store has no key for choices yet")
                   : code;
}

int store_selection_put(struct store *store, const struct store_selection *selection,
                        struct toolrack_error *err) {
    bool known = false;
    int code =
            database_begin(store, DATABASE_SOON,
                           TEXT_LIMITS({"principal", selection->principal, STORE_TEXT_SIZE_MAX},
                                       {"name of the tool", selection->tool, STORE_TEXT_SIZE_MAX}),
                           err);
    if (code == 0) {
        code = has(store, selection->id, &known, err);
    }
    if (code == 0) {
        code = database_run(
                store,
                "INSERT OR REPLACE INTO selections (" COLUMNS ") "
                "SELECT ?1, ?2, ?3, CASE WHEN stays THEN old.tool ELSE ?4 END, "
                "CASE WHEN stays THEN old.plugin ELSE ?5 END, ?6, coalesce(old.worked, 0), "
                "coalesce(old.failed, 0), said.right_tool, coalesce(said.right_plugin, '') "
                "FROM (SELECT ?4 = '' AND EXISTS (SELECT 1 FROM selections "
                "WHERE id = ?1 AND right_tool = '') AS stays) "
                "LEFT JOIN selections old ON old.id = ?1 AND "
                "(stays OR (old.tool = ?4 AND old.plugin = ?5)) "
                "LEFT JOIN selections said ON said.id = ?1",
                VALUES(value_text(selection->id), value_text(selection->principal),
                       value_cut_text(selection->text, STORE_SELECTION_TEXT_MAX),
                       value_text(selection->tool), value_text(selection->plugin),
                       value_number(selection->time_ms)),
                err);
    }
    if (code == 0 && !known) {
        code = remove_surplus(store, selection, err);
    }
    return database_end(store, code, err);
}

static int check_known(struct store *store, const char *id, int code, struct toolrack_error *err) {
    if (code == 0 && database_changes(store) == 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "there is no choice %.64s; it was never made, or is kept no more", id);
    }
    return code;
}

int store_selection_called(struct store *store, const char *principal, const char *id, bool worked,
                           struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_SOON, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT OR REPLACE INTO selections (" COLUMNS ") "
                            "SELECT id, principal, text, tool, plugin, time_ms, worked + ?2, "
                            "failed + 1 - ?2, right_tool, right_plugin FROM selections "
                            "WHERE id = ?1 AND (?3 IS NULL OR principal = ?3)",
                            VALUES(value_text(id), value_number(worked), value_text(principal)),
                            err);
        code = check_known(store, id, code, err);
    }
    return database_end(store, code, err);
}

int store_selection_correct(struct store *store, const char *principal, const char *id,
                            const char *tool, const char *plugin, int64_t time_ms,
                            struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"name of the tool", tool, STORE_TEXT_SIZE_MAX}), err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT OR REPLACE INTO selections (" COLUMNS ") "
                            "SELECT id, principal, text, tool, plugin, ?4, worked, failed, ?2, ?3 "
                            "FROM selections WHERE id = ?1 AND (?5 IS NULL OR principal = ?5)",
                            VALUES(value_text(id), value_text(tool), value_text(plugin),
                                   value_number(time_ms), value_text(principal)),
                            err);
        code = check_known(store, id, code, err);
    }
    return database_end(store, code, err);
}

int store_selections_forget(struct store *store, const char *principal, uint64_t *ret_count,
                            struct toolrack_error *err) {
    int removed = 0;
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store, "DELETE FROM selections WHERE ?1 IS NULL OR principal = ?1",
                            VALUES(value_text(principal)), err);
        removed = code == 0 ? database_changes(store) : 0;
    }
    code = database_end(store, code, err);
    if (code == 0 && ret_count != NULL) {
        *ret_count = (uint64_t)removed;
    }
    return code;
}

int store_selections_read(struct store *store, int64_t after,
                          void (*visit)(void *user, const struct store_selection *selection),
                          void *user, uint64_t *ret_count, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    CLEANUP(rows_finish) struct rows counted = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_SELECTIONS,
                                  "SELECT " COLUMNS ", change FROM selections WHERE change > ?1 "
                                  "ORDER BY change",
                                  VALUES(value_number(after)), &rows, err);
    if (code == 0) {
        code = database_read_kept(store, SCHEMA_SELECTIONS, "SELECT count(*) FROM selections",
                                  NO_VALUES, &counted, err);
    }
    for (size_t i = 0; code == 0 && i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_selection){.id = value_as_text(&row[0]),
                                              .principal = value_as_text(&row[1]),
                                              .text = value_as_text(&row[2]),
                                              .tool = value_as_text(&row[3]),
                                              .plugin = value_as_text(&row[4]),
                                              .time_ms = row[5].number,
                                              .worked = (uint64_t)row[6].number,
                                              .failed = (uint64_t)row[7].number,
                                              .right = value_as_optional_text(&row[8]),
                                              .right_plugin = value_as_text(&row[9]),
                                              .change = row[10].number});
    }
    if (code == 0) {
        *ret_count = counted.count > 0 ? (uint64_t)rows_at(&counted, 0)->number : 0;
    }
    return code;
}

int store_selections_left(struct store *store, void (*visit)(void *user, int64_t change),
                          void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_SELECTIONS,
                                  "SELECT change FROM selections ORDER BY change", NO_VALUES, &rows,
                                  err);
    for (size_t i = 0; code == 0 && i < rows.count; i++) {
        visit(user, rows_at(&rows, i)->number);
    }
    return code;
}
