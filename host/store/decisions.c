#include "store/decisions.h"

#include "store/database.h"

static struct value cut(const char *text) {
    return value_cut_text(text, STORE_TEXT_SIZE_MAX);
}

static int insert_all(struct store *store, const struct store_decision *rows, size_t count,
                      struct toolrack_error *err) {
    sqlite3_stmt *statement = NULL;
    int code = database_prepare(store,
                                "INSERT INTO decisions (time_ms, tool, version, plugin, caller, "
                                "channel, conversation, decision, who, why, origin) "
                                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                                &statement, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        const struct store_decision *row = &rows[i];
        code = database_run_prepared(store, statement,
                                     VALUES(value_number(row->time_ms), cut(row->tool),
                                            cut(row->version), cut(row->plugin), cut(row->caller),
                                            cut(row->channel), cut(row->conversation),
                                            cut(row->decision), cut(row->who), cut(row->why),
                                            cut(row->origin)),
                                     err);
    }
    (void)sqlite.finalize(statement);
    return code;
}

/* What is decided about each call; `refused` is also said of files and plugins. */
#define OF_CALLS "(tool IS NOT NULL AND decision IN ('allowed', 'refused', 'denied'))"

#define DELETE_OLDEST(which)                                           \
    "DELETE FROM decisions WHERE " which " AND id <= (SELECT id FROM " \
    "decisions WHERE " which " ORDER BY id DESC LIMIT 1 OFFSET ?1)"

static int delete_oldest(struct store *store, struct toolrack_error *err) {
    int64_t most = store->dir != NULL ? STORE_DECISIONS_MAX : STORE_DECISIONS_IN_MEMORY_MAX;
    int code = database_run(store, DELETE_OLDEST(OF_CALLS), VALUES(value_number(most)), err);
    return code < 0 ? code
                    : database_run(store, DELETE_OLDEST("NOT " OF_CALLS),
                                   VALUES(value_number(most)), err);
}

int store_decisions_add(struct store *store, const struct store_decision *rows, size_t count,
                        struct toolrack_error *err) {
    size_t step = store->dir != NULL ? STORE_DECISIONS_STEP : STORE_DECISIONS_IN_MEMORY_STEP;
    int code = database_begin(store, DATABASE_SOON, NO_LIMITS, err);
    if (code == 0) {
        code = insert_all(store, rows, count, err);
    }
    if (code == 0 && count > 0) {
        size_t last = (size_t)sqlite.last_insert_rowid(store->db);
        if (last / step != (last - count) / step) {
            code = delete_oldest(store, err);
        }
    }
    return database_end(store, code, err);
}

#define DECISIONS(origin, condition)                                                        \
    "SELECT time_ms, tool, version, plugin, caller, channel, conversation, decision, who, " \
    "why, " origin " FROM decisions WHERE (?1 IS NULL OR tool = ?1) AND time_ms >= ?2 "     \
    "AND (?4 IS NULL OR plugin = ?4) AND (?6 IS NULL OR version = ?6) AND " condition       \
    " ORDER BY time_ms DESC, id DESC LIMIT ?3"

int store_decisions_read(struct store *store, const struct store_decisions_filter *filter,
                         void (*visit)(void *user, const struct store_decision *decision),
                         void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    bool is_old = false;
    int code = database_is_older(store, SCHEMA_BOUND, &is_old, err);
    if (code == 0) {
        code = database_read(
                store, SCHEMA_DECISIONS,
                is_old ? DECISIONS("NULL", "(?5 IS NULL OR 1)")
                       : DECISIONS("origin", "(?5 IS NULL OR origin IS NULL OR origin = ?5)"),
                VALUES(value_text(filter->tool), value_number(filter->since_ms),
                       value_number(filter->limit == 0 ? -1 : (int64_t)filter->limit),
                       value_text(filter->plugin), value_text(filter->origin),
                       value_text(filter->version)),
                &rows, err);
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_decision){.time_ms = row[0].number,
                                             .tool = value_as_optional_text(&row[1]),
                                             .version = value_as_optional_text(&row[2]),
                                             .plugin = value_as_optional_text(&row[3]),
                                             .caller = value_as_optional_text(&row[4]),
                                             .channel = value_as_optional_text(&row[5]),
                                             .conversation = value_as_optional_text(&row[6]),
                                             .decision = value_as_text(&row[7]),
                                             .who = value_as_optional_text(&row[8]),
                                             .why = value_as_optional_text(&row[9]),
                                             .origin = value_as_optional_text(&row[10])});
    }
    return code;
}
