/* Invariants:
 *
 *  (1) A run changes only in the host that its row names, or when that host has ended. A host that
 *      takes it changes nothing but that name, until its first commit.
 *
 *  (2) A final state is not changed.
 *
 *  (3) A row of a node that has ended is written over only by a run that was resumed with a word
 *      about the node. */
#include "store/runs.h"

#include <string.h>

#include "base/buf.h"
#include "base/command.h"
#include "store/database.h"

_Static_assert(STORE_RUN_RUNNING == 0 && STORE_RUN_WAITING == 1 && STORE_RUN_SUCCEEDED == 2 &&
                       STORE_RUN_CANCELLED == 4,
               "as in the statements");
#define IS_OPEN "state < 2"
#define PARTY   "coalesce(party, owner)"

/* Interrupted, after settle(): nobody runs it, and it does not wait for a person. */
#define IS_LEFT "(state = 0 AND runner = '')"
#define MAY_GO  "(NOT (" IS_OPEN ") OR " IS_LEFT ")"

/* What a transaction that makes room knows, and what it has removed. */
struct room {
    struct store *store;
    const struct store_runs_others *others; /* NULL: none was interrupted */
    bool settled;
    struct buf removed; /* ids of runs that could have gone on, each with its zero */
};

/* ---------------------------------------------------------------- removing */

/* Remove what belongs to runs with them. `which` is a condition about `run`. */
#define REMOVE_RUNS(room, which, values, err)                                                     \
    remove_runs(room,                                                                             \
                (const char *const[]){"DELETE FROM run_nodes WHERE run " which,                   \
                                      "DELETE FROM run_agreed WHERE run " which,                  \
                                      "DELETE FROM run_texts WHERE run " which,                   \
                                      "DELETE FROM runs WHERE id " which " RETURNING id, state"}, \
                values, err)
static int remove_runs(struct room *room, const char *const statements[4],
                       const struct value *values, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = 0;
    for (size_t i = 0; code == 0 && i < 3; i++) {
        code = database_run(room->store, statements[i], values, err);
    }
    code = code == 0 ? database_read_inside(room->store, statements[3], values, &rows, err) : code;
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        if (row[1].number < STORE_RUN_SUCCEEDED) {
            const char *id = value_as_text(&row[0]);
            buf_add(&room->removed, id, strlen(id) + 1);
        }
    }
    return code == 0 ? database_run(room->store,
                                    "DELETE FROM run_bytes WHERE run NOT IN (SELECT id FROM runs)",
                                    NO_VALUES, err)
                     : code;
}

/* Find which runs were interrupted, once: those whose host does not run them any more belong to
 * none from now on. */
static int settle(struct room *room, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    const struct store_runs_others *others = room->others;
    if (room->settled || others == NULL) {
        return 0;
    }
    room->settled = true;
    int code = database_read_inside(room->store,
                                    "SELECT id, runner FROM runs WHERE state = 0 AND runner <> ''",
                                    NO_VALUES, &rows, err);
    for (size_t i = 0; code == 0 && i < rows.count; i++) {
        const char *id = value_as_text(&rows_at(&rows, i)[0]);
        if (!others->lives(others->user, id, value_as_text(&rows_at(&rows, i)[1]))) {
            code = database_run(room->store, "UPDATE runs SET runner = '' WHERE id = ?1",
                                VALUES(value_text(id)), err);
        }
    }
    return code;
}

/* End a transaction that made room, and tell what it has removed. */
static int end_room(struct room *room, int code, struct toolrack_error *err) {
    code = database_end(room->store, code, err);
    const char *at = room->removed.data;
    const char *end = at != NULL ? at + room->removed.length : NULL;
    for (; code == 0 && at < end; at += strlen(at) + 1) {
        room->others->removed(room->others->user, at);
    }
    buf_finish(&room->removed);
    return code;
}

/* ------------------------------------------------------------------- bytes */

/* What one limit is about, and how far it is used. */
struct use {
    int64_t bytes;
    int64_t of_gone; /* of these: of runs that may be removed */
    int64_t max;
};

/* Whether there is room for more, also by removing what may go. */
static bool has_room(const struct use *use, int64_t more) {
    return use->bytes - use->of_gone + more <= use->max;
}

/* What is used as far as no limit is reached: without what may be removed, which takes longer. */
static int read_bytes(struct store *store, const char *id, struct use *ret_party,
                      struct use *ret_all, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(
            store,
            "SELECT sum(bytes), sum(iif(party = (SELECT party FROM run_bytes WHERE run = ?1), "
            "bytes, 0)) FROM run_bytes",
            VALUES(value_text(id)), &rows, err);
    if (code == 0) {
        *ret_all = (struct use){.bytes = rows_at(&rows, 0)[0].number, .max = STORE_RUNS_BYTES_MAX};
        *ret_party = (struct use){.bytes = rows_at(&rows, 0)[1].number,
                                  .max = STORE_RUNS_BYTES_PARTY_MAX};
    }
    return code;
}

static int read_use(struct store *store, const char *id, struct use *ret_party, struct use *ret_all,
                    struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(
            store,
            "SELECT sum(bytes), sum(iif(gone, bytes, 0)), sum(iif(own, bytes, 0)), "
            "sum(iif(own AND gone, bytes, 0)) FROM (SELECT b.bytes AS bytes, " MAY_GO
            " AND b.run <> ?1 AS gone, b.party = (SELECT party FROM run_bytes WHERE run = ?1) "
            "AS own FROM run_bytes b JOIN runs r ON r.id = b.run)",
            VALUES(value_text(id)), &rows, err);
    if (code < 0) {
        return code;
    }
    const struct value *sums = rows_at(&rows, 0);
    *ret_all = (struct use){sums[0].number, sums[1].number, STORE_RUNS_BYTES_MAX};
    *ret_party = (struct use){sums[2].number, sums[3].number, STORE_RUNS_BYTES_PARTY_MAX};
    return 0;
}

/* Remove the oldest of the party of a run until `over` bytes are free: those that have ended before
 * those that were interrupted. */
static int free_of_party(struct room *room, const char *id, int64_t over,
                         struct toolrack_error *err) {
#define OLD_OF_PARTY                                                                            \
    "(SELECT run FROM (SELECT b.run AS run, sum(b.bytes) OVER (ORDER BY " IS_LEFT ", r.number " \
    ") - b.bytes AS before FROM run_bytes b JOIN runs r ON r.id = b.run WHERE " MAY_GO          \
    " AND b.run <> ?1 AND b.party = (SELECT party FROM run_bytes WHERE run = ?1)) "             \
    "WHERE before < ?2)"
    return REMOVE_RUNS(room, "IN " OLD_OF_PARTY, VALUES(value_text(id), value_number(over)), err);
}

/* The same of all: of each party the newest stay, as many bytes of each as there is room for. */
static int free_of_all(struct room *room, const char *id, int64_t over,
                       struct toolrack_error *err) {
#define WITH_NEWER                                                                           \
    "(SELECT b.run AS run, b.bytes AS bytes, r.number AS number, " IS_LEFT " AS is_left, "   \
    "sum(b.bytes) OVER (PARTITION BY b.party, " IS_LEFT " ORDER BY r.number DESC) AS newer " \
    "FROM run_bytes b JOIN runs r ON r.id = b.run WHERE " MAY_GO " AND b.run <> ?1)"
#define OLD_OF_ALL                                                                            \
    "(SELECT run FROM (SELECT run, sum(bytes) OVER (ORDER BY is_left, newer DESC, number) - " \
    "bytes AS before FROM " WITH_NEWER ") WHERE before < ?2)"
    return REMOVE_RUNS(room, "IN " OLD_OF_ALL, VALUES(value_text(id), value_number(over)), err);
}

/* Have room for more bytes of a run. `ret_full` is set to the limit that does not allow them, whose
 * `max` is 0 if there is room. */
static int make_bytes(struct room *room, const char *id, int64_t more, struct use *ret_full,
                      struct toolrack_error *err) {
    struct use party = {0};
    struct use all = {0};
    *ret_full = (struct use){0};
    int code = read_bytes(room->store, id, &party, &all, err);
    if (code < 0 || (party.bytes + more <= party.max && all.bytes + more <= all.max)) {
        return code;
    }
    code = read_use(room->store, id, &party, &all, err);
    if (code == 0 && (!has_room(&party, more) || !has_room(&all, more))) {
        code = settle(room, err);
        code = code == 0 ? read_use(room->store, id, &party, &all, err) : code;
    }
    if (code < 0) {
        return code;
    }
    if (!has_room(&party, more) || !has_room(&all, more)) {
        *ret_full = has_room(&party, more) ? all : party;
        return 0;
    }
    const int64_t over = party.bytes + more - party.max;
    if (over > 0) {
        code = free_of_party(room, id, over, err);
        code = code == 0 ? read_use(room->store, id, &party, &all, err) : code;
    }
    return code == 0 && all.bytes + more > all.max
                   ? free_of_all(room, id, all.bytes + more - all.max, err)
                   : code;
}

static int64_t text_bytes(const char *text) {
    return text != NULL ? (int64_t)strlen(text) : 0;
}

/* ----------------------------------------------------------------- writing */

/* Count what is to be written of a node, in place of what is there. Its result is left out where
 * there is no room for it. */
static int count_node(struct room *room, const char *id, struct store_run_node *node,
                      struct toolrack_error *err) {
    struct use full = {0};
    const int64_t error = text_bytes(node->error);
    int64_t bytes = node->result != NULL ? (int64_t)node->result_size : 0;
    int code = bytes > 0 ? make_bytes(room, id, bytes, &full, err) : 0;
    if (full.max > 0) {
        bytes = 0;
        node->result = NULL;
        node->unkept = full.max == STORE_RUNS_BYTES_MAX
                               ? "all runs have as many bytes as are kept, 1 GiB"
                               : "the runs of its party have as many bytes as are kept, 256 MiB";
    }
    bytes += error < STORE_TEXT_SIZE_MAX ? error : STORE_TEXT_SIZE_MAX; /* longer ones are cut */
    return code < 0 ? code
                    : database_run(
                              room->store,
                              "UPDATE run_bytes SET bytes = bytes + ?3 - coalesce((SELECT "
                              "coalesce(length(CAST(result AS BLOB)), 0) + "
                              "coalesce(length(CAST(error AS BLOB)), 0) FROM run_nodes WHERE "
                              "run = ?1 AND node = ?2), 0) WHERE run = ?1",
                              VALUES(value_text(id), value_number(node->node), value_number(bytes)),
                              err);
}

static int put_nodes(struct room *room, const char *id, const struct store_run_node *nodes,
                     size_t count, struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct store_run_node copy = nodes[i];
        const struct store_run_node *node = &copy;
        code = count_node(room, id, &copy, err);
        code = code < 0 ? code
                        : database_run(
                                  room->store,
                                  "INSERT OR REPLACE INTO run_nodes (run, node, state, attempts, "
                                  "began_ms, ended_ms, "
                                  "result, unkept, error, code) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
                                  "?7, ?8, ?9, ?10)",
                                  VALUES(value_text(id), value_number(node->node),
                                         value_number(node->state), value_number(node->attempts),
                                         value_number(node->began_ms), value_number(node->ended_ms),
                                         node->result != NULL
                                                 ? (struct value){.kind = VALUE_TEXT,
                                                                  .data = node->result,
                                                                  .size = node->result_size}
                                                 : value_text(NULL),
                                         value_text(node->unkept),
                                         node->error != NULL
                                                 ? value_cut_text(node->error, STORE_TEXT_SIZE_MAX)
                                                 : value_text(NULL),
                                         value_number(node->code)),
                                  err);
    }
    return code;
}

static int put_agreed(struct store *store, const char *id, const struct store_run_agreed *agreed,
                      size_t count, struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        const struct store_run_agreed *row = &agreed[i];
        code = database_run(
                store,
                "INSERT INTO run_agreed (run, node, fallback, tool, version, standing, "
                "hash, any_arguments, who) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                VALUES(value_text(id), value_number(row->node), value_number(row->is_fallback),
                       value_text(row->tool), value_text(row->version),
                       value_number((int64_t)row->standing),
                       row->is_open ? value_text(NULL) : value_bytes(row->hash, sizeof row->hash),
                       value_number(row->any), value_cut_text(row->who, STORE_TEXT_SIZE_MAX)),
                err);
    }
    return code;
}

/* Of those that have ended the newest of each party stay, as many of each as there is room for: who
 * has most of them loses the oldest. */
static int remove_old(struct room *room, struct toolrack_error *err) {
#define OLD_RUNS                                                                         \
    "(SELECT id FROM (SELECT id, number, row_number() OVER (PARTITION BY " PARTY " "     \
    "ORDER BY number DESC) AS place FROM runs WHERE NOT (" IS_OPEN ")) ORDER BY place, " \
    "number DESC LIMIT -1 OFFSET ?1)"
    return REMOVE_RUNS(room, "IN " OLD_RUNS, VALUES(value_number(STORE_RUNS_ENDED_MAX - 1)), err);
}

/* How many runs there are. */
struct count {
    int64_t open;
    int64_t of_party; /* of the open ones */
    int64_t ended;
};

static int count_runs(struct store *store, const char *party, struct count *ret,
                      struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store,
                                    "SELECT count(*) FILTER (WHERE " IS_OPEN
                                    "), count(*) FILTER (WHERE " IS_OPEN " AND " PARTY
                                    " = ?1), count(*) FILTER (WHERE NOT (" IS_OPEN ")) FROM runs",
                                    VALUES(value_text(party)), &rows, err);
    if (code == 0) {
        const struct value *counts = rows_at(&rows, 0);
        *ret = (struct count){counts[0].number, counts[1].number, counts[2].number};
    }
    return code;
}

/* Have one open run fewer, if one was interrupted: the oldest of the party, or where all are too
 * many the oldest of the party that has most of these. */
static int remove_left(struct room *room, const char *party, struct count *count,
                       struct toolrack_error *err) {
#define OLDEST_OF_PARTY \
    "= (SELECT id FROM runs WHERE " IS_LEFT " AND " PARTY " = ?1 ORDER BY number LIMIT 1)"
#define OLDEST_OF_ALL                                                                   \
    "= (SELECT id FROM (SELECT id, number, row_number() OVER (PARTITION BY " PARTY " "  \
    "ORDER BY number DESC) AS place FROM runs WHERE " IS_LEFT ") ORDER BY place DESC, " \
    "number LIMIT 1)"
    int code = settle(room, err);
    if (code == 0 && count->of_party >= STORE_RUNS_OPEN_PARTY_MAX) {
        code = REMOVE_RUNS(room, OLDEST_OF_PARTY, VALUES(value_text(party)), err);
        code = code == 0 ? count_runs(room->store, party, count, err) : code;
    }
    if (code == 0 && count->open >= STORE_RUNS_OPEN_MAX) {
        code = REMOVE_RUNS(room, OLDEST_OF_ALL, NO_VALUES, err);
        code = code == 0 ? count_runs(room->store, party, count, err) : code;
    }
    return code;
}

static int make_room(struct room *room, const char *party, struct toolrack_error *err) {
    struct count count = {0}; /* gcc -O3 does not see that it is set */
    int code = count_runs(room->store, party, &count, err);
    if (code == 0 &&
        (count.open >= STORE_RUNS_OPEN_MAX || count.of_party >= STORE_RUNS_OPEN_PARTY_MAX)) {
        code = remove_left(room, party, &count, err);
    }
    if (code < 0) {
        return code;
    }
    if (count.open >= STORE_RUNS_OPEN_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%d runs have not ended, which is the most; resume them, or remove them: "
                         "%s",
                         STORE_RUNS_OPEN_MAX, COMMAND("runs", "remove", "ID"));
    }
    if (count.of_party >= STORE_RUNS_OPEN_PARTY_MAX) {
        return error_set(
                err, TOOLRACK_E_LIMIT_EXCEEDED,
                "%d runs of '%.64s' have not ended, which is the most of one party; resume "
                "them, or remove them: %s",
                STORE_RUNS_OPEN_PARTY_MAX, party, COMMAND("runs", "remove", "ID"));
    }
    return count.ended >= STORE_RUNS_ENDED_MAX ? remove_old(room, err) : 0;
}

int store_run_make_id(char ret_id[STORE_RUN_ID_SIZE], struct toolrack_error *err) {
    return database_random_id("a run", ret_id, STORE_RUN_ID_SIZE, err);
}

/* Count what is written of a run that begins. */
static int count_run(struct room *room, const struct store_run *run, struct toolrack_error *err) {
    const int64_t bytes = text_bytes(run->plan) + text_bytes(run->inputs) + text_bytes(run->tools);
    struct use full = {0};
    int code = database_run(
            room->store, "INSERT INTO run_bytes (run, party, bytes) VALUES (?1, ?2, 0)",
            VALUES(value_text(run->id), value_text(run->party != NULL ? run->party : run->owner)),
            err);
    code = code == 0 ? make_bytes(room, run->id, bytes, &full, err) : code;
    if (code == 0 && full.max > 0) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the runs %sthat have not ended have %lld bytes, and %lld are the most; "
                         "resume them, or remove them: %s",
                         full.max == STORE_RUNS_BYTES_MAX ? "" : "of the same party ",
                         (long long)(full.bytes - full.of_gone + bytes), (long long)full.max,
                         COMMAND("runs", "remove", "ID"));
    }
    return code == 0 ? database_run(room->store, "UPDATE run_bytes SET bytes = ?2 WHERE run = ?1",
                                    VALUES(value_text(run->id), value_number(bytes)), err)
                     : code;
}

int store_run_add(struct store *store, const struct store_run *run,
                  const struct store_run_node *nodes, size_t count,
                  const struct store_runs_others *others, struct toolrack_error *err) {
    struct room room = {.store = store, .others = others};
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"name of a plan", run->name, STORE_TEXT_SIZE_MAX},
                                          {"owner of a run", run->owner, STORE_TEXT_SIZE_MAX},
                                          {"party", run->party, STORE_TEXT_SIZE_MAX},
                                          {"caller", run->caller, STORE_TEXT_SIZE_MAX},
                                          {"channel", run->channel, STORE_TEXT_SIZE_MAX},
                                          {"plan", run->plan, STORE_RUN_TEXT_MAX},
                                          {"text of the inputs", run->inputs, STORE_RUN_TEXT_MAX},
                                          {"list of tools", run->tools, STORE_RUN_TEXT_MAX}),
                              err);
    code = code == 0 ? make_room(&room, run->party != NULL ? run->party : run->owner, err) : code;
    if (code == 0) {
        code = database_run(
                store,
                "INSERT INTO runs (id, name, owner, caller, channel, runner, state, created_ms, "
                "updated_ms, ended_ms, seed, node_count, sha256, party) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?7, 0, ?8, ?9, ?10, ?11)",
                VALUES(value_text(run->id), value_text(run->name), value_text(run->owner),
                       value_text(run->caller), value_text(run->channel), value_text(run->runner),
                       value_number(run->created_ms), value_number((int64_t)run->seed),
                       value_number(run->node_count), value_bytes(run->sha256, sizeof run->sha256),
                       value_text(run->party)),
                err);
    }
    if (code == 0) {
        code = database_run(
                store, "INSERT INTO run_texts (run, tools, inputs, plan) VALUES (?1, ?2, ?3, ?4)",
                VALUES(value_text(run->id), value_text(run->tools), value_text(run->inputs),
                       value_text(run->plan)),
                err);
    }
    code = code == 0 ? count_run(&room, run, err) : code;
    code = code == 0 ? put_nodes(&room, run->id, nodes, count, err) : code;
    code = code == 0 ? put_agreed(store, run->id, run->agreed, run->agreed_count, err) : code;
    return end_room(&room, code, err);
}

/* Why a run is not changed. */
static int not_changed(struct store *store, const char *id, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store, "SELECT 1 FROM runs WHERE id = ?1",
                                    VALUES(value_text(id)), &rows, err);
    return code < 0          ? code
           : rows.count == 0 ? error_set(err, TOOLRACK_E_NOT_FOUND, "there is no run '%.64s'", id)
                             : error_set(err, TOOLRACK_E_EXISTS,
                                         "run '%.64s' has ended, or another process runs it", id);
}

int store_run_commit(struct store *store, const struct store_run *run,
                     const struct store_run_node *nodes, size_t count,
                     const struct store_runs_others *others, struct toolrack_error *err) {
    struct room room = {.store = store, .others = others};
    const bool ended = run->state >= STORE_RUN_SUCCEEDED;
    struct use full = {0};
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0 && run->result != NULL) {
        code = make_bytes(&room, run->id, text_bytes(run->result), &full, err);
    }
    const char *result = full.max == 0 ? run->result : NULL;
    if (code == 0) {
        code = database_run(
                store,
                "UPDATE runs SET state = ?3, updated_ms = ?4, ended_ms = ?5, error = ?6, "
                "code = ?7, result = ?8, runner = iif(?3 = 0, runner, '') "
                "WHERE id = ?1 AND runner = ?2 AND " IS_OPEN,
                VALUES(value_text(run->id), value_text(run->runner), value_number(run->state),
                       value_number(run->updated_ms), value_number(ended ? run->updated_ms : 0),
                       run->error != NULL ? value_cut_text(run->error, STORE_TEXT_SIZE_MAX)
                                          : value_text(NULL),
                       value_number(run->code), value_text(result)),
                err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = not_changed(store, run->id, err);
    }
    if (code == 0 && result != NULL) {
        code = database_run(store, "UPDATE run_bytes SET bytes = bytes + ?2 WHERE run = ?1",
                            VALUES(value_text(run->id), value_number(text_bytes(result))), err);
    }
    code = code == 0 ? put_nodes(&room, run->id, nodes, count, err) : code;
    code = code == 0 ? put_agreed(store, run->id, run->agreed, run->agreed_count, err) : code;
    return end_room(&room, code, err);
}

int store_run_agree(struct store *store, const char *id, const char *runner,
                    const struct store_run_agreed *agreed, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(
                store, "UPDATE runs SET runner = ?2 WHERE id = ?1 AND runner = ?2 AND " IS_OPEN,
                VALUES(value_text(id), value_text(runner)), err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = not_changed(store, id, err);
    }
    code = code == 0 ? put_agreed(store, id, agreed, 1, err) : code;
    return database_end(store, code, err);
}

/* ------------------------------------------------------------ between hosts */

/* Whether a run is there and no host runs it. @param open  and that it has not ended */
static int check_idle(struct store *store, const char *id, bool open,
                      bool (*lives)(void *user, const char *id, const char *runner), void *user,
                      struct toolrack_error *err) {
    static const char *const ended[] = {"succeeded", "failed", "cancelled"};
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store, "SELECT state, runner FROM runs WHERE id = ?1",
                                    VALUES(value_text(id)), &rows, err);
    if (code < 0) {
        return code;
    }
    if (rows.count == 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "there is no run '%.64s'", id);
    }
    int64_t state = rows_at(&rows, 0)[0].number;
    const char *runner = value_as_text(&rows_at(&rows, 0)[1]);
    if (open && state >= STORE_RUN_SUCCEEDED) {
        return error_set(err, TOOLRACK_E_REFUSED, "run '%.64s' has ended: it %s%s", id,
                         state == STORE_RUN_CANCELLED ? "was " : "",
                         ended[state <= STORE_RUN_CANCELLED ? state - STORE_RUN_SUCCEEDED : 1]);
    }
    return state < STORE_RUN_SUCCEEDED && runner[0] != '\0' && lives(user, id, runner)
                   ? error_set(err, TOOLRACK_E_REFUSED,
                               "run '%.64s' is run by another process, which alone can end it: "
                               "press Ctrl-C where 'toolrack run' runs it, or have the server that "
                               "runs it cancel it (POST /api/runs/%.64s/cancel)",
                               id, id)
                   : 0;
}

int store_run_take(struct store *store, const char *id, const char *runner,
                   bool (*lives)(void *user, const char *id, const char *runner), void *user,
                   struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code == 0 ? check_idle(store, id, true, lives, user, err) : code;
    if (code == 0) {
        code = database_run(store, "UPDATE runs SET runner = ?2 WHERE id = ?1",
                            VALUES(value_text(id), value_text(runner)), err);
    }
    return database_end(store, code, err);
}

int store_run_release(struct store *store, const char *id, const char *runner,
                      struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(
                store, "UPDATE runs SET runner = '' WHERE id = ?1 AND runner = ?2 AND " IS_OPEN,
                VALUES(value_text(id), value_text(runner)), err);
    }
    return database_end(store, code, err);
}

int store_run_cancel(struct store *store, const char *id, int64_t now_ms,
                     bool (*lives)(void *user, const char *id, const char *runner), void *user,
                     struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code == 0 ? check_idle(store, id, true, lives, user, err) : code;
    if (code == 0) {
        code = database_run(store,
                            "UPDATE runs SET state = 4, runner = '', updated_ms = ?2, "
                            "ended_ms = ?2 WHERE id = ?1",
                            VALUES(value_text(id), value_number(now_ms)), err);
    }
    return database_end(store, code, err);
}

int store_run_remove(struct store *store, const char *id,
                     bool (*lives)(void *user, const char *id, const char *runner), void *user,
                     struct toolrack_error *err) {
    struct room room = {.store = store};
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code == 0 ? check_idle(store, id, false, lives, user, err) : code;
    if (code == 0) {
        code = REMOVE_RUNS(&room, "= ?1", VALUES(value_text(id)), err);
    }
    buf_finish(&room.removed); /* whoever removes it knows */
    return database_end(store, code, err);
}

/* ----------------------------------------------------------------- reading */

#define COLUMNS                                                                                  \
    "SELECT id, name, owner, caller, channel, runner, state, created_ms, updated_ms, ended_ms, " \
    "seed, node_count, error, code"
enum {
    AT_ID,
    AT_NAME,
    AT_OWNER,
    AT_CALLER,
    AT_CHANNEL,
    AT_RUNNER,
    AT_STATE,
    AT_CREATED,
    AT_UPDATED,
    AT_ENDED,
    AT_SEED,
    AT_NODE_COUNT,
    AT_ERROR,
    AT_CODE,
    AT_PLAN, /* this and the next: of one run */
    AT_INPUTS,
    AT_TOOLS,
    AT_RESULT,
    AT_SHA256
};

/* A number in a damaged file may be any; what is out of range is more than there may be of it. */
static uint32_t count_at(const struct value *value) {
    return value->number >= 0 && value->number < UINT32_MAX ? (uint32_t)value->number : UINT32_MAX;
}

static struct store_run run_at(const struct value *row) {
    int64_t state = row[AT_STATE].number;
    return (struct store_run){.id = value_as_text(&row[AT_ID]),
                              .name = value_as_optional_text(&row[AT_NAME]),
                              .owner = value_as_optional_text(&row[AT_OWNER]),
                              .caller = value_as_optional_text(&row[AT_CALLER]),
                              .channel = value_as_optional_text(&row[AT_CHANNEL]),
                              .runner = value_as_text(&row[AT_RUNNER]),
                              .state = state >= STORE_RUN_RUNNING && state < STORE_RUN_CANCELLED
                                               ? (enum store_run_state)state
                                               : STORE_RUN_CANCELLED,
                              .created_ms = row[AT_CREATED].number,
                              .updated_ms = row[AT_UPDATED].number,
                              .ended_ms = row[AT_ENDED].number,
                              .seed = (uint64_t)row[AT_SEED].number,
                              .node_count = count_at(&row[AT_NODE_COUNT]),
                              .error = value_as_optional_text(&row[AT_ERROR]),
                              .code = (int)row[AT_CODE].number};
}

static enum store_node_state node_state(int64_t state) {
    return state >= STORE_NODE_WAITING && state < STORE_NODE_CANCELLED
                   ? (enum store_node_state)state
                   : STORE_NODE_CANCELLED;
}

/* Both lists are ordered by the number of the run: each run takes its counts. */
static void take_counts(const struct rows *counts, size_t *at, int64_t number,
                        struct store_run *run) {
    for (; *at < counts->count && rows_at(counts, *at)[0].number >= number; (*at)++) {
        const struct value *row = rows_at(counts, *at);
        if (row[0].number == number) {
            run->counts[node_state(row[1].number)] += (uint32_t)row[2].number;
        }
    }
}

int store_runs_read(struct store *store, const char *owner,
                    void (*visit)(void *user, const struct store_run *run), void *user,
                    struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    CLEANUP(rows_finish) struct rows counts = ROWS_INIT;
    size_t at = 0;
    int code = database_read(store, SCHEMA_RUNS,
                             COLUMNS ", number FROM runs WHERE ?1 IS NULL OR owner = ?1 ORDER BY "
                                     "number DESC",
                             VALUES(value_text(owner)), &rows, err);
    if (code == 0) {
        code = database_read(store, SCHEMA_RUNS,
                             "SELECT r.number, n.state, count(*) FROM runs r JOIN run_nodes n ON "
                             "n.run = r.id WHERE ?1 IS NULL OR r.owner = ?1 "
                             "GROUP BY r.number, n.state ORDER BY r.number DESC",
                             VALUES(value_text(owner)), &counts, err);
    }
    for (size_t i = 0; code == 0 && i < rows.count; i++) {
        struct store_run run = run_at(rows_at(&rows, i));
        take_counts(&counts, &at, rows_at(&rows, i)[AT_CODE + 1].number, &run);
        visit(user, &run);
    }
    return code;
}

static void visit_nodes(const struct rows *rows,
                        void (*visit_node)(void *user, const struct store_run_node *node),
                        void *user) {
    for (size_t i = 0; i < rows->count; i++) {
        const struct value *row = rows_at(rows, i);
        const struct store_run_node node = {.node = count_at(&row[0]),
                                            .state = node_state(row[1].number),
                                            .attempts = count_at(&row[2]),
                                            .began_ms = row[3].number,
                                            .ended_ms = row[4].number,
                                            .result = value_as_optional_text(&row[5]),
                                            .result_size = row[5].size,
                                            .unkept = value_as_optional_text(&row[6]),
                                            .error = value_as_optional_text(&row[7]),
                                            .code = (int)row[8].number};
        visit_node(user, &node);
    }
}

#define FIND_RUN(from)                                         \
    COLUMNS ", plan, inputs, tools, result, sha256 FROM " from \
            " WHERE id = ?1 AND (?2 IS NULL OR owner = ?2)"

int store_run_find(struct store *store, const char *owner, const char *id,
                   void (*visit)(void *user, const struct store_run *run),
                   void (*visit_node)(void *user, const struct store_run_node *node), void *user,
                   struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    CLEANUP(rows_finish) struct rows nodes = ROWS_INIT;
    bool is_old = false;
    int code = database_is_older(store, SCHEMA_RUN_TEXTS, &is_old, err);
    if (code == 0) {
        code = database_read(store, SCHEMA_RUNS,
                             is_old ? FIND_RUN("runs")
                                    : FIND_RUN("runs LEFT JOIN run_texts ON run = id"),
                             VALUES(value_text(id), value_text(owner)), &rows, err);
    }
    if (code == 0 && rows.count == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "there is no run '%.64s'", id);
    }
    if (code == 0) {
        code = database_read(store, SCHEMA_RUNS,
                             "SELECT node, state, attempts, began_ms, ended_ms, result, unkept, "
                             "error, code FROM run_nodes WHERE run = ?1 ORDER BY node",
                             VALUES(value_text(id)), &nodes, err);
    }
    if (code < 0) {
        return code;
    }
    const struct value *row = rows_at(&rows, 0);
    struct store_run run = run_at(row);
    run.plan = value_as_text(&row[AT_PLAN]);
    run.inputs = value_as_text(&row[AT_INPUTS]);
    run.tools = value_as_text(&row[AT_TOOLS]);
    run.result = value_as_optional_text(&row[AT_RESULT]);
    value_copy_bytes(&row[AT_SHA256], run.sha256, sizeof run.sha256);
    for (size_t i = 0; i < nodes.count; i++) {
        run.counts[node_state(rows_at(&nodes, i)[1].number)]++;
    }
    visit(user, &run);
    visit_nodes(&nodes, visit_node, user);
    return 0;
}

int store_run_agreed_read(struct store *store, const char *id,
                          void (*visit)(void *user, const struct store_run_agreed *agreed),
                          void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_AGREED,
                             "SELECT node, fallback, tool, version, standing, hash, any_arguments, "
                             "who FROM run_agreed WHERE run = ?1 ORDER BY number",
                             VALUES(value_text(id)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_run_agreed agreed = {.node = count_at(&row[0]),
                                          .is_fallback = row[1].number != 0,
                                          .tool = value_as_text(&row[2]),
                                          .version = value_as_text(&row[3]),
                                          .standing = (uint64_t)row[4].number,
                                          .is_open = row[5].kind == VALUE_NULL,
                                          .any = row[6].number != 0,
                                          .who = value_as_text(&row[7])};
        value_copy_bytes(&row[5], agreed.hash, sizeof agreed.hash);
        visit(user, &agreed);
    }
    return code;
}
