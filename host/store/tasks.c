/* Invariants:
 *
 *  (1) A row exists before the file of its outcome. So a file without a row is left over, and may
 * be removed by any process.
 *
 *  (2) A final status is not changed: each change is one statement with that condition.
 *
 *  (3) Of a file only a task with a final status speaks; it was written before. */
#include "store/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "store/database.h"
#include "store/task-files.h"

_Static_assert(STORE_TASK_WORKING == 0 && STORE_TASK_INPUT_REQUIRED == 1 &&
                       STORE_TASK_CANCELLED == 2,
               "as in the statements");
#define IS_OPEN "status < 2"

_Static_assert(STORE_TASK_ID_SIZE == TASK_FILES_ID_SIZE, "an id is the name of its file");

/* --------------------------------------------------------------------- add */

/* Remove the tasks whose time is over. `ret_files` are the ids of those that have a file. */
static int remove_expired(struct store *store, int64_t now_ms, struct rows *ret_files,
                          struct toolrack_error *err) {
    int code = database_read_inside(store,
                                    "SELECT id FROM tasks WHERE expires_ms <> 0 AND "
                                    "expires_ms <= ?1 AND outcome_size > 0 AND outcome IS NULL",
                                    VALUES(value_number(now_ms)), ret_files, err);
    return code < 0 ? code
                    : database_run(store,
                                   "DELETE FROM tasks WHERE expires_ms <> 0 AND expires_ms <= ?1",
                                   VALUES(value_number(now_ms)), err);
}

/* Whether an owner may have results of `more` bytes beside those there are. Only the long ones are
 * counted: of the others the number of tasks is enough, and their rows are long to read. */
static int check_bytes(struct store *store, const char *owner, size_t more,
                       const struct store_task_room *room, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store,
                                    "SELECT coalesce(sum(outcome_size), 0), "
                                    "coalesce(sum(iif(owner = ?1, outcome_size, 0)), 0) FROM tasks "
                                    "WHERE (?2 OR outcome IS NULL) AND outcome_size > ?3",
                                    VALUES(value_text(owner), value_number(store->dir == NULL),
                                           value_number(STORE_TASK_INLINE_MAX)),
                                    &rows, err);
    if (code < 0) {
        return code;
    }
    uint64_t own = (uint64_t)rows_at(&rows, 0)[1].number;
    uint64_t others = (uint64_t)rows_at(&rows, 0)[0].number - own;
    uint64_t share = others < room->all_bytes ? (room->all_bytes - others) / 2 : 0;
    bool is_shared = share < room->bytes;
    uint64_t most = is_shared ? share : room->bytes;
    if (own + more <= most && (more > 0 || own == 0 || own < most)) {
        return 0;
    }
    return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "the results of the tasks of '%.100s' have %llu bytes, and %llu are the most "
                     "(\"serve\", \"tasks\", \"%s\"); each is kept until its time is over, or its "
                     "task is removed (DELETE /api/tasks/ID; %s)",
                     owner, (unsigned long long)(own + more), (unsigned long long)most,
                     is_shared ? "all_bytes" : "bytes", COMMAND("tasks", "remove", "ID"));
}

static int check_room(struct store *store, const char *owner, const struct store_task_room *room,
                      struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store,
                                    "SELECT count(*), (SELECT count(*) FROM tasks WHERE owner = ?1)"
                                    " FROM tasks",
                                    VALUES(value_text(owner)), &rows, err);
    if (code < 0) {
        return code;
    }
    if ((size_t)rows_at(&rows, 0)[1].number >= room->tasks) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "'%.100s' has %zu tasks, which is the most (\"serve\", \"tasks\", "
                         "\"max\"); each is kept until its time is over, or it is removed (DELETE "
                         "/api/tasks/ID; %s)",
                         owner, room->tasks, COMMAND("tasks", "remove", "ID"));
    }
    return rows_at(&rows, 0)[0].number < STORE_TASKS_MAX
                   ? check_bytes(store, owner, 0, room, err)
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "there are %d tasks, which is the most", STORE_TASKS_MAX);
}

int store_task_add(struct store *store, const struct store_task *task,
                   const struct store_task_room *room, char ret_id[STORE_TASK_ID_SIZE],
                   struct toolrack_error *err) {
    char id[STORE_TASK_ID_SIZE];
    CLEANUP(rows_finish) struct rows files = ROWS_INIT;
    int code = database_random_id("a task", id, sizeof id, err);
    if (code < 0) {
        return code;
    }
    code = database_begin(store, DATABASE_DURABLE,
                          TEXT_LIMITS({"owner of a task", task->owner, STORE_TEXT_SIZE_MAX},
                                      {"tool name", task->tool, STORE_TEXT_SIZE_MAX},
                                      {"version", task->version, STORE_TEXT_SIZE_MAX},
                                      {"method", task->method, STORE_TEXT_SIZE_MAX}),
                          err);
    if (code == 0) {
        code = remove_expired(store, task->created_ms, &files, err);
    }
    if (code == 0) {
        code = check_room(store, task->owner, room, err);
    }
    if (code == 0) {
        code = database_run(
                store,
                "INSERT INTO tasks (id, owner, runner, tool, version, method, status, created_ms, "
                "updated_ms, expires_ms, poll_ms, outcome_size) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?7, ?8, ?9, 0)",
                VALUES(value_text(id), value_text(task->owner), value_text(task->runner),
                       value_text(task->tool), value_text(task->version), value_text(task->method),
                       value_number(task->created_ms), value_number(task->expires_ms),
                       value_number(task->poll_ms)),
                err);
    }
    code = database_end(store, code, err);
    for (size_t i = 0; code == 0 && i < files.count; i++) {
        task_file_remove(store->dir, value_as_text(rows_at(&files, i)));
    }
    if (code == 0) {
        memcpy(ret_id, id, sizeof id);
    }
    return code;
}

/* --------------------------------------------------------------------- set */

/* Why no row was changed. */
static int not_set(struct store *store, const struct store_task *task, struct toolrack_error *err) {
    static const char *const ended[] = {[STORE_TASK_CANCELLED] = "cancelled",
                                        [STORE_TASK_COMPLETED] = "completed",
                                        [STORE_TASK_FAILED] = "failed"};
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(
            store,
            "SELECT status FROM tasks WHERE id = ?1 AND (?2 IS NULL OR owner = ?2) AND "
            "(expires_ms = 0 OR expires_ms > ?3)",
            VALUES(value_text(task->id), value_text(task->owner), value_number(task->updated_ms)),
            &rows, err);
    if (code < 0) {
        return code;
    }
    int64_t status = rows.count > 0 ? rows_at(&rows, 0)->number : STORE_TASK_WORKING;
    return status >= STORE_TASK_CANCELLED && status <= STORE_TASK_FAILED
                   ? error_set(err, TOOLRACK_E_EXISTS, "task '%.64s' is %s already", task->id,
                               ended[status])
                   : error_set(err, TOOLRACK_E_NOT_FOUND, "there is no task '%.64s'", task->id);
}

/* As check_bytes(), of the owner of a task that is there. */
static int check_outcome(struct store *store, const struct store_task *task,
                         const struct store_task_room *room, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store, "SELECT owner FROM tasks WHERE id = ?1",
                                    VALUES(value_text(task->id)), &rows, err);
    return code < 0 || rows.count == 0 ? code
                                       : check_bytes(store, value_as_text(rows_at(&rows, 0)),
                                                     task->outcome_size, room, err);
}

static int set_row(struct store *store, const struct store_task *task, bool in_file,
                   const struct store_task_room *room, struct toolrack_error *err) {
    int code = database_begin(
            store, DATABASE_DURABLE,
            TEXT_LIMITS({"text of what a task asks for", task->input, STORE_TASK_INPUT_MAX}), err);
    if (code == 0 && room != NULL && task->outcome_size > STORE_TASK_INLINE_MAX) {
        code = check_outcome(store, task, room, err);
    }
    if (code == 0) {
        code = database_run(
                store,
                "UPDATE tasks SET status = ?2, message = ?3, input = ?4, outcome = ?5, "
                "outcome_size = ?6, updated_ms = ?7 WHERE id = ?1 AND " IS_OPEN
                " AND (?8 IS NULL OR owner = ?8) AND (?9 IS NULL OR runner = ?9) "
                "AND (expires_ms = 0 OR expires_ms > ?7)",
                VALUES(value_text(task->id), value_number(task->status),
                       task->message != NULL ? value_cut_text(task->message, STORE_TEXT_SIZE_MAX)
                                             : value_text(NULL),
                       value_text(task->input), value_text(in_file ? NULL : task->outcome),
                       value_number(task->outcome != NULL ? (int64_t)task->outcome_size : 0),
                       value_number(task->updated_ms), value_text(task->owner),
                       value_text(task->runner)),
                err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = not_set(store, task, err);
    }
    return database_end(store, code, err);
}

int store_task_set(struct store *store, const struct store_task *task,
                   const struct store_task_room *room, struct toolrack_error *err) {
    bool in_file = task->outcome != NULL && task->outcome_size > STORE_TASK_INLINE_MAX &&
                   store->dir != NULL;
    if (task->outcome != NULL && task->outcome_size > STORE_TASK_OUTCOME_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the result of a task has %zu bytes, more than the %u allowed",
                         task->outcome_size, STORE_TASK_OUTCOME_MAX);
    }
    int code =
            in_file ? task_file_write(store->dir, task->id, task->outcome, task->outcome_size, err)
                    : 0;
    if (code == 0) {
        code = set_row(store, task, in_file, room, err);
    }
    if (code < 0 && in_file) {
        task_file_remove(store->dir, task->id);
    }
    return code;
}

/* ------------------------------------------------------------------ remove */

/* Why no row was removed. */
static int not_removed(struct store *store, const char *owner, const char *id, int64_t now_ms,
                       struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(
            store,
            "SELECT status FROM tasks WHERE id = ?1 AND (?2 IS NULL OR owner = ?2) AND "
            "(expires_ms = 0 OR expires_ms > ?3)",
            VALUES(value_text(id), value_text(owner), value_number(now_ms)), &rows, err);
    if (code < 0) {
        return code;
    }
    if (rows.count == 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "there is no task '%.64s'", id);
    }
    return rows_at(&rows, 0)->number == STORE_TASK_CANCELLED
                   ? error_set(err, TOOLRACK_E_INVALID,
                               "task '%.64s' was cancelled: its host may not know yet, so it is "
                               "kept until its time is over",
                               id)
                   : error_set(err, TOOLRACK_E_INVALID, "task '%.64s' has not ended; cancel it: %s",
                               id, COMMAND("tasks", "cancel", "ID"));
}

int store_task_remove(struct store *store, const char *owner, const char *id, int64_t now_ms,
                      struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store,
                            "DELETE FROM tasks WHERE id = ?1 AND (?2 IS NULL OR owner = ?2) AND "
                            "(expires_ms = 0 OR expires_ms > ?3) AND status > 2",
                            VALUES(value_text(id), value_text(owner), value_number(now_ms)), err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = not_removed(store, owner, id, now_ms, err);
    }
    code = database_end(store, code, err);
    if (code == 0 && store->dir != NULL) {
        task_file_remove(store->dir, id);
    }
    return code;
}

/* -------------------------------------------------------------------- read */

#define COLUMNS                                                                                  \
    "SELECT id, owner, runner, tool, version, method, status, message, created_ms, updated_ms, " \
    "expires_ms, poll_ms, outcome_size"
enum {
    AT_ID,
    AT_OWNER,
    AT_RUNNER,
    AT_TOOL,
    AT_VERSION,
    AT_METHOD,
    AT_STATUS,
    AT_MESSAGE,
    AT_CREATED,
    AT_UPDATED,
    AT_EXPIRES,
    AT_POLL,
    AT_OUTCOME_SIZE,
    AT_INPUT,
    AT_OUTCOME
};

static struct store_task task_at(const struct value *row) {
    int64_t status = row[AT_STATUS].number;
    return (struct store_task){.id = value_as_text(&row[AT_ID]),
                               .owner = value_as_text(&row[AT_OWNER]),
                               .runner = value_as_text(&row[AT_RUNNER]),
                               .tool = value_as_text(&row[AT_TOOL]),
                               .version = value_as_text(&row[AT_VERSION]),
                               .method = value_as_text(&row[AT_METHOD]),
                               .status = status >= STORE_TASK_WORKING && status < STORE_TASK_FAILED
                                                 ? (enum store_task_status)status
                                                 : STORE_TASK_FAILED,
                               .message = value_as_optional_text(&row[AT_MESSAGE]),
                               .created_ms = row[AT_CREATED].number,
                               .updated_ms = row[AT_UPDATED].number,
                               .expires_ms = row[AT_EXPIRES].number,
                               .poll_ms = (uint32_t)row[AT_POLL].number};
}

int store_task_find(struct store *store, const char *owner, const char *id, int64_t now_ms,
                    void (*visit)(void *user, const struct store_task *task, const char *lost),
                    void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    CLEANUP(freep) char *text = NULL;
    struct toolrack_error why = {0};
    int code = database_read_kept(store, SCHEMA_SERVING,
                                  COLUMNS ", input, outcome FROM tasks WHERE id = ?1 AND "
                                          "(?2 IS NULL OR owner = ?2) AND "
                                          "(expires_ms = 0 OR expires_ms > ?3)",
                                  VALUES(value_text(id), value_text(owner), value_number(now_ms)),
                                  &rows, err);
    if (code == 0 && rows.count == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "there is no task '%.64s'", id);
    }
    if (code < 0) {
        return code;
    }
    const struct value *row = rows_at(&rows, 0);
    struct store_task task = task_at(row);
    int64_t size = row[AT_OUTCOME_SIZE].number;
    task.input = value_as_optional_text(&row[AT_INPUT]);
    task.outcome = value_as_optional_text(&row[AT_OUTCOME]);
    task.outcome_size = task.outcome != NULL ? row[AT_OUTCOME].size : 0;
    if (task.outcome == NULL && size > 0 && store->dir != NULL) {
        code = task_file_read(store->dir, task.id, (size_t)size, &text, &why);
        if (code == TOOLRACK_E_NO_MEMORY) {
            return error_oom(err);
        }
        task.outcome = text;
        task.outcome_size = text != NULL ? (size_t)size : 0;
    }
    visit(user, &task, code < 0 ? why.message : NULL);
    return 0;
}

int store_tasks_read(struct store *store, const char *owner, int64_t now_ms,
                     void (*visit)(void *user, const struct store_task *task), void *user,
                     struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_SERVING,
                             COLUMNS " FROM tasks WHERE (?1 IS NULL OR owner = ?1) AND "
                                     "(expires_ms = 0 OR expires_ms > ?2) ORDER BY rowid",
                             VALUES(value_text(owner), value_number(now_ms)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct store_task task = task_at(rows_at(&rows, i));
        visit(user, &task);
    }
    return code;
}

int store_tasks_cancelled(struct store *store, const char *runner,
                          void (*visit)(void *user, const char *id), void *user,
                          struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_SERVING,
                                  "SELECT id FROM tasks WHERE runner = ?1 AND status = 2",
                                  VALUES(value_text(runner)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        visit(user, value_as_text(rows_at(&rows, i)));
    }
    return code;
}

/* ------------------------------------------------------------------- sweep */

/* What cannot be read may exist. */
static bool exists(void *user, const char *id) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    struct toolrack_error unheard;
    return database_read(user, SCHEMA_SERVING, "SELECT 1 FROM tasks WHERE id = ?1",
                         VALUES(value_text(id)), &rows, &unheard) < 0 ||
           rows.count > 0;
}

void store_tasks_sweep(struct store *store) {
    if (store->dir != NULL) {
        task_files_sweep(store->dir, exists, store);
    }
}
