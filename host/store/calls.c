#include "store/calls.h"

#include "base/buf.h"
#include "store/database.h"

/* Approximate bytes of a row without its strings. */
#define ROW_SIZE 96u

/* -------------------------------------------------------------------- append */

/* `written` of a row is the sum of the bytes of all rows up to it, including removed rows: the
 * difference between the last and the first row is the size of the log. */
static const char insert_calls[] =
        "INSERT INTO calls (id, time_ms, tool, version, plugin, caller, channel, conversation, "
        "trace, run, duration_ns, arguments, result, bytes_in, bytes_out, error, cpu_ns, memory, "
        "changed, written) "
        "SELECT NULL, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, "
        "c18, c19 "
        "FROM given(?1)";

struct inserting {
    const struct store_call *calls;
    int64_t written; /* of the last row so far */
};

static void read_given(void *user, size_t row, struct value *ret_columns) {
    struct inserting *inserting = user;
    const struct store_call *call = &inserting->calls[row];
    const struct value columns[] = {value_number(call->time_ms),
                                    value_text(call->tool),
                                    value_text(call->version),
                                    value_text(call->plugin),
                                    value_text(call->caller),
                                    value_text(call->channel),
                                    value_text(call->conversation),
                                    value_text(call->trace),
                                    value_text(call->run),
                                    value_number((int64_t)call->duration_ns),
                                    value_text(call->arguments),
                                    value_text(call->result),
                                    value_number((int64_t)call->bytes_in),
                                    value_number((int64_t)call->bytes_out),
                                    value_text(call->error),
                                    value_optional_number(call->has_cpu, (int64_t)call->cpu_ns),
                                    value_optional_number(call->has_memory, (int64_t)call->memory),
                                    value_text(call->changed)};
    inserting->written += ROW_SIZE;
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
        inserting->written += (int64_t)columns[i].size;
        ret_columns[i] = columns[i];
    }
    ret_columns[ARRAY_LENGTH(columns)] = value_number(inserting->written);
}
_Static_assert(DATABASE_GIVEN_COLUMNS >= 19, "calls have so many");

/* `written`: in, that of the last row in the table; out, that of the last row inserted. */
static int insert_all(struct store *store, const struct store_call *calls, size_t count,
                      int64_t *written, struct toolrack_error *err) {
    struct inserting inserting = {.calls = calls, .written = *written};
    const struct given_rows rows = {.count = count, .read = read_given, .user = &inserting};
    int code = count > 0 ? database_run(store, insert_calls, VALUES(value_rows(&rows)), err) : 0;
    *written = inserting.written;
    return code;
}

/* --------------------------------------------------------------------- prune */

static const char from_the_first[] =
        "SELECT written, time_ms FROM calls ORDER BY id LIMIT 1 OFFSET ?1";
static const char from_the_last[] =
        "SELECT written, time_ms FROM calls ORDER BY id DESC LIMIT 1 OFFSET ?1";

/* `written` and time of the row so many rows from one end of the log; 0 when there are fewer. */
static int read_row(struct store *store, const char *sql, size_t skipped, int64_t *ret_written,
                    int64_t *ret_ms, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_run_kept(store, sql, VALUES(value_number((int64_t)skipped)), &rows, err);
    *ret_written = rows.count > 0 ? rows_at(&rows, 0)[0].number : 0;
    *ret_ms = rows.count > 0 ? rows_at(&rows, 0)[1].number : 0;
    return code;
}

/* The time before which rows are too old; see STORE_CALLS_CLOCK. */
static int find_since(struct store *store, size_t added, const struct store_calls_limits *limits,
                      int64_t *ret_ms, struct toolrack_error *err) {
    int64_t written;
    int64_t known_ms;
    int code =
            read_row(store, from_the_last, added + STORE_CALLS_CLOCK - 1, &written, &known_ms, err);
    *ret_ms = (known_ms < limits->now_ms ? known_ms : limits->now_ms) - limits->age_ms;
    return code;
}

/* Remove rows at the beginning that are too many, at most `count`. `written` rises with the id: so
 * all are before the first row that stays, and the last row does. No other row is read, nor more
 * than may be removed: after a limit was lowered, that is a part of those that are too many. */
static int remove_too_many(struct store *store, int64_t keep, int64_t count,
                           struct toolrack_error *err) {
    return database_run(
            store,
            "WITH behind (id) AS (SELECT id + ?2 FROM calls ORDER BY id LIMIT 1) "
            "DELETE FROM calls WHERE id < coalesce("
            "(SELECT id FROM calls WHERE written >= ?1 AND id < (SELECT id FROM behind) "
            "ORDER BY id LIMIT 1), (SELECT id FROM behind))",
            VALUES(value_number(keep), value_number(count)), err);
}

/* Remove rows at the beginning that are too old; times need not rise with the ids. */
static int remove_too_old(struct store *store, int64_t since_ms, int64_t count,
                          struct toolrack_error *err) {
    return database_run(store,
                        "DELETE FROM calls WHERE id < (SELECT max(id) FROM calls) AND id IN "
                        "(SELECT id FROM (SELECT id, time_ms FROM calls ORDER BY id LIMIT ?2) "
                        "WHERE time_ms < ?1)",
                        VALUES(value_number(since_ms), value_number(count)), err);
}

/* Remove the rows at the beginning that are too old or too many. The last row, whose `written` is
 * given, is never removed: the next id is one more than its id. */
static int prune(struct store *store, size_t added, int64_t written,
                 const struct store_calls_limits *limits, struct toolrack_error *err) {
    const int64_t count = STORE_CALLS_PRUNE + STORE_CALLS_PRUNE_PER * (int64_t)added;
    const int64_t keep = limits->bytes != 0 ? written - (int64_t)limits->bytes : INT64_MIN;
    int64_t first;
    int64_t first_ms;
    int64_t since_ms = INT64_MIN;
    int code = read_row(store, from_the_first, 0, &first, &first_ms, err);
    if (code == 0 && limits->age_ms != 0 && first_ms < limits->now_ms - limits->age_ms) {
        code = find_since(store, added, limits, &since_ms, err);
    }
    if (code == 0 && first_ms < since_ms) {
        code = remove_too_old(store, since_ms, count, err);
    }
    return code == 0 && first < keep ? remove_too_many(store, keep, count, err) : code;
}

int store_calls_add(struct store *store, const struct store_call *calls, size_t count,
                    const struct store_statistics *statistics, size_t statistics_count,
                    const struct store_calls_limits *limits, struct toolrack_error *err) {
    int64_t written = 0;
    int64_t last_ms;
    int code = database_begin(store, DATABASE_SOON, NO_LIMITS, err);
    if (code == 0) {
        code = read_row(store, from_the_last, 0, &written, &last_ms, err);
    }
    if (code == 0) {
        code = insert_all(store, calls, count, &written, err);
    }
    if (code == 0) {
        code = statistics_add(store, statistics, statistics_count, err);
    }
    if (code == 0) {
        code = prune(store, count, written, limits, err);
    }
    return database_end(store, code, err);
}

/* ---------------------------------------------------------------------- read */

static void visit_call(const struct value *row,
                       void (*visit)(void *user, const struct store_call *call), void *user) {
    visit(user, &(struct store_call){.id = row[0].number,
                                     .time_ms = row[1].number,
                                     .tool = value_as_text(&row[2]),
                                     .version = value_as_text(&row[3]),
                                     .plugin = value_as_text(&row[4]),
                                     .caller = value_as_optional_text(&row[5]),
                                     .channel = value_as_optional_text(&row[6]),
                                     .conversation = value_as_optional_text(&row[7]),
                                     .trace = value_as_optional_text(&row[8]),
                                     .duration_ns = (uint64_t)row[9].number,
                                     .arguments = value_as_text(&row[10]),
                                     .result = value_as_optional_text(&row[11]),
                                     .bytes_in = (uint64_t)row[12].number,
                                     .bytes_out = (uint64_t)row[13].number,
                                     .error = value_as_optional_text(&row[14]),
                                     .has_cpu = row[15].kind == VALUE_NUMBER,
                                     .cpu_ns = (uint64_t)row[15].number,
                                     .has_memory = row[16].kind == VALUE_NUMBER,
                                     .memory = (uint64_t)row[16].number,
                                     .run = value_as_optional_text(&row[17]),
                                     .changed = value_as_optional_text(&row[18])});
}

#define SELECT_CALLS(added)                                                              \
    "SELECT id, time_ms, tool, version, plugin, caller, channel, conversation, trace, "  \
    "duration_ns, arguments, result, bytes_in, bytes_out, error, cpu_ns, memory, " added \
    " FROM calls "

/* The query of calls in a file that an earlier version made, or in one of today. */
static int select_calls(struct store *store, const char **ret, bool *ret_has_run,
                        struct toolrack_error *err) {
    bool has_no_run = false;
    bool has_no_changed = false;
    int code = database_is_older(store, SCHEMA_RUN_CALLS, &has_no_run, err);
    code = code < 0 ? code : database_is_older(store, SCHEMA_CHANGED, &has_no_changed, err);
    *ret_has_run = !has_no_run;
    *ret = has_no_run       ? SELECT_CALLS("NULL, NULL")
           : has_no_changed ? SELECT_CALLS("run, NULL")
                            : SELECT_CALLS("run, changed");
    return code;
}

/* What has no index is always mentioned. An error that is no JSON, as in a damaged file, has no
 * type; the digits of an id are no pattern. */
#define OTHER_CONDITIONS                                                                         \
    " AND (?6 IS NULL OR caller = ?6) AND (?7 IS NULL OR conversation = ?7)"                     \
    " AND (?8 IS NULL OR instr(',' || ?8 || ',', ',' || CASE WHEN error IS NULL THEN 'ok' "      \
    "WHEN json_valid(error) THEN coalesce(json_extract(error, '$.type'), '') ELSE '' END || "    \
    "',') > 0)"                                                                                  \
    " AND (?9 IS NULL OR CASE WHEN EXISTS (SELECT 1 FROM calls WHERE id = CAST(?9 AS INTEGER)) " \
    "THEN id = CAST(?9 AS INTEGER) ELSE CAST(id AS TEXT) GLOB ?9 || '*' END)"

int store_call_read(struct store *store, int64_t id,
                    void (*visit)(void *user, const struct store_call *call), void *user,
                    struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    CLEANUP(buf_finish) struct buf sql = BUF_INIT;
    const char *select;
    bool has_run;
    int code = select_calls(store, &select, &has_run, err);
    buf_printf(&sql, "%sWHERE id = ?1", select);
    if (sql.failed) {
        return error_oom(err);
    }
    if (code == 0) {
        code = database_read(store, SCHEMA_CALLS, sql.data, VALUES(value_number(id)), &rows, err);
    }
    if (code == 0 && rows.count > 0) {
        visit_call(rows_at(&rows, 0), visit, user);
    }
    return code;
}

/* Whether the log has calls after this one. Who follows it asks again and again, mostly in vain,
 * which costs less than to prepare the query. */
static int has_later(struct store *store, int64_t id, bool *ret, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_CALLS, "SELECT max(id) FROM calls", NO_VALUES,
                                  &rows, err);
    *ret = rows.count > 0 && rows_at(&rows, 0)[0].number > id;
    return code;
}

/* Whether a tool was ever called: its statistics are written with the lines of the log, and stay
 * when these are removed. Among 10 million rows the log was read from end to end for a tool that it
 * does not have: 1.3 s, and 13.7 when it was on the disk; it has no index of tools. */
static int has_tool(struct store *store, const struct store_calls_filter *filter, bool *ret,
                    struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_CALLS,
                             "SELECT 1 FROM usage WHERE tool = ?1 AND (?2 IS NULL OR version = ?2) "
                             "LIMIT 1",
                             VALUES(value_text(filter->tool), value_text(filter->version)), &rows,
                             err);
    *ret = rows.count > 0;
    return code;
}

/* Each so many rows the time of one is looked at. */
#define SAMPLED_EACH 4096

/* The id after which all rows are that are not older than `since_ms`. Times rise with the ids,
 * within STORE_CALLS_APART rows of either side, except where a clock was set: so all times between
 * the ends are sampled, and the earliest sample that is new enough counts. Among 10 million rows
 * that is 2,400 look-ups, 10 ms, where all rows took 0.84 s. */
static int find_first(struct store *store, int64_t since_ms, int64_t *ret,
                      struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(
            store, SCHEMA_CALLS,
            "WITH RECURSIVE samples (id) AS (SELECT max(id) FROM calls UNION ALL "
            "SELECT id - ?2 FROM samples WHERE id - ?2 >= (SELECT min(id) FROM calls)) "
            "SELECT coalesce((SELECT min(calls.id) FROM samples JOIN calls ON calls.id = "
            "samples.id "
            "WHERE time_ms >= ?1), (SELECT max(id) FROM calls)) - ?2 - 2 * ?3",
            VALUES(value_number(since_ms), value_number(SAMPLED_EACH),
                   value_number(STORE_CALLS_APART)),
            &rows, err);
    *ret = rows.count > 0 ? rows_at(&rows, 0)[0].number : 0;
    return code;
}

int store_calls_read(struct store *store, const struct store_calls_filter *filter,
                     void (*visit)(void *user, const struct store_call *call), void *user,
                     struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    CLEANUP(buf_finish) struct buf sql = BUF_INIT;
    bool is_there = false;
    bool has_run = false;
    const char *select = NULL;
    int64_t after_id = filter->after_id;
    int code = has_later(store, filter->after_id, &is_there, err);
    if (code == 0 && is_there && filter->tool != NULL) {
        code = has_tool(store, filter, &is_there, err);
    }
    if (code == 0 && is_there && filter->since_ms > 0) {
        int64_t before_first = 0;
        code = find_first(store, filter->since_ms, &before_first, err);
        after_id = before_first > after_id ? before_first : after_id;
    }
    code = code == 0 && is_there ? select_calls(store, &select, &has_run, err) : code;
    if (code < 0 || !is_there) {
        return code;
    }
    /* Only the conditions that the filter sets, so that SQLite uses the matching index. */
    buf_add_text(&sql, "SELECT * FROM (");
    buf_add_text(&sql, select);
    buf_add_text(&sql, "WHERE id > ?1");
    buf_add_text(&sql, filter->tool != NULL ? " AND tool = ?2" : "");
    buf_add_text(&sql, filter->version != NULL ? " AND version = ?3" : "");
    buf_add_text(&sql, filter->errors ? " AND error IS NOT NULL" : "");
    buf_add_text(&sql, filter->since_ms > 0 ? " AND time_ms >= ?4" : "");
    buf_add_text(&sql, filter->before_id > 0 ? " AND id < ?10" : "");
    buf_add_text(&sql, has_run ? " AND (?12 IS NULL OR trace = ?12 OR run = ?12)"
                               : " AND (?12 IS NULL OR trace = ?12)");
    buf_add_text(&sql, OTHER_CONDITIONS);
    buf_add_text(&sql, " ORDER BY id DESC LIMIT ?11) ORDER BY ");
    buf_add_text(&sql, filter->after_id > 0 || filter->before_id > 0
                               ? "id DESC LIMIT ?5"
                               : "time_ms DESC, id DESC LIMIT ?5");
    if (sql.failed) {
        return error_oom(err);
    }
    int64_t limit = filter->limit == 0 ? -1 : (int64_t)filter->limit;
    code = database_read(store, SCHEMA_CALLS, sql.data,
                         VALUES(value_number(after_id), value_text(filter->tool),
                                value_text(filter->version), value_number(filter->since_ms),
                                value_number(limit), value_text(filter->caller),
                                value_text(filter->conversation), value_text(filter->outcomes),
                                value_text(filter->id), value_number(filter->before_id),
                                value_number(limit < 0 ? -1 : limit + STORE_CALLS_APART),
                                value_text(filter->trace)),
                         &rows, err);
    for (size_t i = rows.count; i > 0; i--) {
        visit_call(rows_at(&rows, i - 1), visit, user);
    }
    return code;
}
