#include "store/feedback.h"

#include "store/database.h"

int store_feedback_add(struct store *store, const struct store_feedback *feedback,
                       struct toolrack_error *err) {
    int code =
            database_begin(store, DATABASE_DURABLE,
                           TEXT_LIMITS({"name of the tool", feedback->tool, STORE_TEXT_SIZE_MAX},
                                       {"version", feedback->version, STORE_TEXT_SIZE_MAX},
                                       {"name of who says so", feedback->who, STORE_TEXT_SIZE_MAX}),
                           err);
    /* Rows that were not bound to an owner of the name yet. */
    if (code == 0) {
        code = database_run(store,
                            "UPDATE feedback SET plugin = ?3 "
                            "WHERE tool = ?1 AND version = ?2 AND plugin = ''",
                            VALUES(value_text(feedback->tool), value_text(feedback->version),
                                   value_text(feedback->plugin)),
                            err);
    }
    if (code == 0) {
        code = database_run(
                store,
                "INSERT INTO feedback (time_ms, tool, version, good, call, who, plugin) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                VALUES(value_number(feedback->time_ms), value_text(feedback->tool),
                       value_text(feedback->version), value_number(feedback->good),
                       value_optional_number(feedback->call != 0, (int64_t)feedback->call),
                       value_text(feedback->who), value_text(feedback->plugin)),
                err);
    }
    if (code == 0) {
        code = database_run(store,
                            "DELETE FROM feedback WHERE id IN (SELECT id FROM feedback "
                            "WHERE tool = ?1 AND version = ?2 AND plugin = ?4 ORDER BY id DESC "
                            "LIMIT -1 OFFSET ?3)",
                            VALUES(value_text(feedback->tool), value_text(feedback->version),
                                   value_number(STORE_FEEDBACK_PER_TOOL_MAX),
                                   value_text(feedback->plugin)),
                            err);
    }
    return database_end(store, code, err);
}

#define OPINIONS(plugin)                                                              \
    "SELECT tool, version, count(*) FILTER (WHERE good), count(*) FILTER (WHERE NOT " \
    "good), " plugin " FROM feedback GROUP BY 1, 2, 5 ORDER BY 1, 2, 5"

int store_feedback_count(struct store *store,
                         void (*visit)(void *user, const struct store_opinions *opinions),
                         void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_bound(store, SCHEMA_CALLS, OPINIONS("''"), OPINIONS("plugin"), &rows,
                                   err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_opinions){.tool = value_as_text(&row[0]),
                                             .version = value_as_text(&row[1]),
                                             .plugin = value_as_text(&row[4]),
                                             .good = (uint64_t)row[2].number,
                                             .bad = (uint64_t)row[3].number});
    }
    return code;
}
