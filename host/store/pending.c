#include "store/pending.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "base/command.h"
#include "base/utf8.h"
#include "store/approvals.h"
#include "store/database.h"

/* A hash of arguments that are stored masked, so that the same call is found. It keeps no secret
 * from who can guess it and read the file. NULL: they are stored as they are. */
static struct value hash_of(const struct store_pending *call,
                            unsigned char room[STORE_SHA256_SIZE]) {
    if (call->unmasked == NULL) {
        return value_text(NULL);
    }
    (void)crypto_hash_sha256(room, (const unsigned char *)call->unmasked, strlen(call->unmasked));
    return value_bytes(room, STORE_SHA256_SIZE);
}

/* --------------------------------------------------------------------- add */

static const char *party_of(const struct store_pending *pending) {
    return pending->party != NULL ? pending->party : pending->caller;
}

/* Whether one more may wait. Those that are answered are as many as people have answered. */
static int check_room(struct store *store, const struct store_pending *pending,
                      struct toolrack_error *err) {
    enum { AT_ALL, AT_OWN };
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(
            store,
            "SELECT count(*), count(CASE WHEN coalesce(party, caller) IS ?2 THEN 1 END) "
            "FROM pending WHERE answer = 0 AND expires_s > ?1",
            VALUES(value_number(pending->created_s), value_text(party_of(pending))), &rows, err);
    if (code < 0) {
        return code;
    }
    const struct value *row = rows_at(&rows, 0);
    bool is_party = pending->party != NULL &&
                    (pending->caller == NULL || strcmp(pending->party, pending->caller) != 0);
    if (row[AT_OWN].number >= STORE_PENDING_PARTY_MAX && is_party) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%d calls of '%s' wait for approval, which is the most for all its "
                         "callers together; answer some of them: %s",
                         STORE_PENDING_PARTY_MAX, pending->party, COMMAND("approvals"));
    }
    if (row[AT_OWN].number >= STORE_PENDING_PARTY_MAX) {
        return pending->caller != NULL
                       ? error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                   "%d calls of '%s' wait for approval, which is the most for one "
                                   "caller; answer some of them, or deny them all: %s",
                                   STORE_PENDING_PARTY_MAX, pending->caller,
                                   COMMAND("approvals deny --caller", pending->caller))
                       : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                   "%d calls without a caller wait for approval, which is the "
                                   "most; answer some of them: %s",
                                   STORE_PENDING_PARTY_MAX, COMMAND("approvals"));
    }
    return row[AT_ALL].number < STORE_PENDING_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "%d calls wait for approval, which is the most; answer some of "
                               "them: %s",
                               STORE_PENDING_MAX, COMMAND("approvals"));
}

int store_pending_add(struct store *store, const struct store_pending *pending,
                      char ret_id[STORE_PENDING_ID_SIZE], struct toolrack_error *err) {
    char id[STORE_PENDING_ID_SIZE];
    unsigned char sha256[STORE_SHA256_SIZE];
    int code = database_random_id("an approval", id, sizeof id, err);
    if (code < 0) {
        return code;
    }
    code = database_begin(store, DATABASE_DURABLE,
                          TEXT_LIMITS({"tool name", pending->tool, STORE_TEXT_SIZE_MAX},
                                      {"version", pending->version, STORE_TEXT_SIZE_MAX},
                                      {"text of arguments to be confirmed", pending->arguments,
                                       STORE_ARGUMENTS_SIZE_MAX},
                                      {"caller", pending->caller, STORE_TEXT_SIZE_MAX},
                                      {"party", pending->party, STORE_TEXT_SIZE_MAX},
                                      {"channel", pending->channel, STORE_TEXT_SIZE_MAX},
                                      {"conversation", pending->conversation, STORE_TEXT_SIZE_MAX},
                                      {"reason", pending->reason, STORE_TEXT_SIZE_MAX}),
                          err);

    /* Remove calls that are over, except the newest. */
    if (code == 0) {
        code = database_run(
                store,
                "DELETE FROM pending WHERE rowid IN (SELECT rowid FROM pending "
                "WHERE expires_s <= ?1 ORDER BY rowid DESC LIMIT -1 OFFSET ?2)",
                VALUES(value_number(pending->created_s), value_number(STORE_EXPIRED_MAX)), err);
    }

    if (code == 0) {
        code = check_room(store, pending, err);
    }
    if (code == 0) {
        code = database_run(
                store,
                "INSERT INTO pending (id, tool, version, arguments, caller, "
                "channel, conversation, reason, created_s, expires_s, answer, arguments_sha256, "
                "plugin, pin, party) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                VALUES(value_text(id), value_text(pending->tool), value_text(pending->version),
                       value_text(pending->arguments), value_text(pending->caller),
                       value_text(pending->channel), value_text(pending->conversation),
                       value_text(pending->reason), value_number(pending->created_s),
                       value_number(pending->expires_s), value_number(STORE_ANSWER_NONE),
                       hash_of(pending, sha256), value_text(pending->plugin),
                       value_text(pending->pin), value_text(party_of(pending))),
                err);
    }
    code = database_end(store, code, err);
    if (code == 0) {
        memcpy(ret_id, id, sizeof id);
    }
    return code;
}

/* ----------------------------------------------------------------- resolve */

/* A call that is over: it expired, or its answer is used, for which it gets this time. */
#define USED_EXPIRES_S 0

#define COLUMNS(added)                                                             \
    "SELECT id, tool, version, arguments, caller, channel, conversation, reason, " \
    "created_s, expires_s, answer, answered_by, " added " FROM pending "
#define ADDED     "plugin, pin"
#define ADDED_OLD "NULL, NULL" /* to a file of an earlier schema */
enum {
    AT_ID,
    AT_TOOL,
    AT_VERSION,
    AT_ARGUMENTS,
    AT_CALLER,
    AT_CHANNEL,
    AT_CONVERSATION,
    AT_REASON,
    AT_CREATED,
    AT_EXPIRES,
    AT_ANSWER,
    AT_ANSWERED_BY,
    AT_PLUGIN,
    AT_PIN
};

static struct store_pending pending_at(const struct value *row) {
    return (struct store_pending){.id = value_as_text(&row[AT_ID]),
                                  .tool = value_as_text(&row[AT_TOOL]),
                                  .version = value_as_text(&row[AT_VERSION]),
                                  .arguments = value_as_text(&row[AT_ARGUMENTS]),
                                  .caller = value_as_optional_text(&row[AT_CALLER]),
                                  .channel = value_as_optional_text(&row[AT_CHANNEL]),
                                  .conversation = value_as_optional_text(&row[AT_CONVERSATION]),
                                  .reason = value_as_optional_text(&row[AT_REASON]),
                                  .created_s = row[AT_CREATED].number,
                                  .expires_s = row[AT_EXPIRES].number,
                                  .plugin = value_as_optional_text(&row[AT_PLUGIN]),
                                  .pin = value_as_optional_text(&row[AT_PIN])};
}

static int answered_already(const struct value *row, const char *id, struct toolrack_error *err) {
    const char *who = value_as_text(&row[AT_ANSWERED_BY]);
    const char *tool = value_as_text(&row[AT_TOOL]);
    bool is_used = row[AT_EXPIRES].number == USED_EXPIRES_S;
    switch (row[AT_ANSWER].number) {
    case STORE_ANSWER_ALLOW_ONCE:
        return is_used ? error_set(err, TOOLRACK_E_NOT_FOUND,
                                   "approval '%s' was allowed already, by %s, and is used: the "
                                   "call was made",
                                   id, who)
                       : error_set(err, TOOLRACK_E_NOT_FOUND,
                                   "approval '%s' was allowed already, by %s; until the call is "
                                   "made, take that back with: %s",
                                   id, who, COMMAND("approvals deny", id));
    case STORE_ANSWER_ALLOW_CONVERSATION:
    case STORE_ANSWER_ALLOW_ALWAYS:
        return error_set(
                err, TOOLRACK_E_NOT_FOUND,
                "approval '%s' was allowed already, by %s, %s; take that back with: %s", id, who,
                row[AT_ANSWER].number == STORE_ANSWER_ALLOW_ALWAYS ? "always"
                                                                   : "for its conversation",
                COMMAND("revoke", tool));
    default:
        return error_set(err, TOOLRACK_E_NOT_FOUND, "approval '%s' was denied already, by %s", id,
                         who);
    }
}

/* Whether the row of a call, or none, can be given this answer now. */
static int check_open(const struct rows *rows, const char *id, enum store_answer answer,
                      int64_t now_s, struct toolrack_error *err) {
    if (rows->count == 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "there is no approval '%s'; list those that wait: %s", id,
                         COMMAND("approvals"));
    }
    const struct value *row = rows_at(rows, 0);
    int64_t expires_s = row[AT_EXPIRES].number;
    bool is_taken_back = answer == STORE_ANSWER_DENY &&
                         row[AT_ANSWER].number == STORE_ANSWER_ALLOW_ONCE &&
                         expires_s != USED_EXPIRES_S;
    if (row[AT_ANSWER].number != STORE_ANSWER_NONE && !is_taken_back) {
        return answered_already(row, id, err);
    }
    if (expires_s <= now_s) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "approval '%s' expired %lld s ago; let '%s' be called again", id,
                         (long long)(now_s - expires_s), value_as_text(&row[AT_TOOL]));
    }
    return 0;
}

/* Without a change to a file of an earlier schema. */
static int read_calls(struct store *store, const char *old_sql, const char *sql,
                      const struct value *values, struct rows *ret_rows,
                      struct toolrack_error *err) {
    bool is_old = false;
    int code = database_is_older(store, SCHEMA_MASKED, &is_old, err);
    return code < 0 ? code
                    : database_read(store, SCHEMA_DECISIONS, is_old ? old_sql : sql, values,
                                    ret_rows, err);
}

#define FIND_ID(added) COLUMNS(added) "WHERE id = ?1"

int store_pending_find(struct store *store, const char *id, enum store_answer answer, int64_t now_s,
                       void (*visit)(void *user, const struct store_pending *pending), void *user,
                       struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = read_calls(store, FIND_ID(ADDED_OLD), FIND_ID(ADDED), VALUES(value_text(id)), &rows,
                          err);
    if (code == 0) {
        code = check_open(&rows, id, answer, now_s, err);
    }
    if (code == 0) {
        const struct store_pending pending = pending_at(rows_at(&rows, 0));
        visit(user, &pending);
    }
    return code;
}

static int answer_call(struct store *store, const char *id, enum store_answer answer,
                       const char *who, int64_t now_s, struct toolrack_error *err) {
    assert(answer != STORE_ANSWER_NONE);
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    bool is_used = answer == STORE_ANSWER_ALLOW_CONVERSATION || answer == STORE_ANSWER_ALLOW_ALWAYS;
    int code = database_read_inside(store, FIND_ID(ADDED), VALUES(value_text(id)), &rows, err);
    if (code == 0) {
        code = check_open(&rows, id, answer, now_s, err);
    }
    if (code == 0) {
        code = database_run(store,
                            "UPDATE pending SET answer = ?2, answered_by = ?3, "
                            "expires_s = coalesce(?4, expires_s) WHERE id = ?1",
                            VALUES(value_text(id), value_number(answer), value_text(who),
                                   value_optional_number(is_used, USED_EXPIRES_S)),
                            err);
    }
    return code;
}

int pending_approve(struct store *store, const struct store_approval *approval,
                    struct toolrack_error *err) {
    return answer_call(store, approval->answers,
                       approval->conversation != NULL ? STORE_ANSWER_ALLOW_CONVERSATION
                                                      : STORE_ANSWER_ALLOW_ALWAYS,
                       approval->who, approval->approved_s, err);
}

int store_pending_resolve(struct store *store, const char *id, enum store_answer answer,
                          const char *who, int64_t now_s, struct toolrack_error *err) {
    assert(answer == STORE_ANSWER_ALLOW_ONCE || answer == STORE_ANSWER_DENY);
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"name of who answers", who, STORE_TEXT_SIZE_MAX}), err);
    if (code == 0) {
        code = answer_call(store, id, answer, who, now_s, err);
    }
    return database_end(store, code, err);
}

/* -------------------------------------------------------------------- take */

/* The columns of a call that is taken. */
enum { TAKEN_ROWID, TAKEN_ANSWER, TAKEN_ID, TAKEN_WHO };

_Static_assert(STORE_ANSWER_ALLOW_CONVERSATION == 2 && STORE_ANSWER_ALLOW_ALWAYS == 3,
               "the answers in a statement that are approvals");

/* Of several equal calls, an answered one first. What was allowed for longer is an approval, which
 * may have been withdrawn: schema 3 left it here too. */
#define FIND_CALL(same_arguments, same_tool)                                                   \
    "SELECT rowid, answer, id, answered_by FROM pending WHERE tool = ?1 AND version = ?2 AND " \
    "(" same_arguments ") AND caller IS ?4 AND conversation IS ?5 AND expires_s > ?6 AND "     \
    "(?7 IS NULL OR id = ?7) AND (" same_tool ") AND answer NOT IN (2, 3) "                    \
    "ORDER BY answer = 0, rowid LIMIT 1"
/* Rows of schema 3 have secrets in the arguments, and neither plugin nor pin, until they expire. */
static const char find_call[] =
        FIND_CALL("arguments_sha256 = ?8 OR (arguments_sha256 IS NULL AND arguments = ?3)",
                  "plugin IS NULL OR (plugin IS ?9 AND pin IS ?10)");
static const char find_old_call[] =
        FIND_CALL("arguments = ?3 AND ?8 IS ?8", "?9 IS ?9 AND ?10 IS ?10");

static int no_such_call(const struct store_pending *call, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_NOT_FOUND,
                     "no approval of this call of '%s' waits or is answered", call->tool);
}

int store_pending_take(struct store *store, const struct store_pending *call, int64_t now_s,
                       struct store_taken *ret, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows seen = ROWS_INIT;
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    struct store_taken taken = {0};
    unsigned char sha256[STORE_SHA256_SIZE];
    const struct value *values =
            VALUES(value_text(call->tool), value_text(call->version),
                   value_text(call->unmasked != NULL ? call->unmasked : call->arguments),
                   value_text(call->caller), value_text(call->conversation), value_number(now_s),
                   value_text(call->id), hash_of(call, sha256), value_text(call->plugin),
                   value_text(call->pin));
    bool is_old = false;

    /* Read first, without waiting for a process that writes, and without creating a file. */
    int code = database_is_older(store, SCHEMA_MASKED, &is_old, err);
    if (code == 0) {
        code = database_read_kept(store, SCHEMA_DECISIONS, is_old ? find_old_call : find_call,
                                  values, &seen, err);
    }
    if (code < 0 || seen.count == 0) {
        return code < 0 ? code : no_such_call(call, err);
    }

    code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = database_read_inside(store, find_call, values, &rows, err);
    }
    if (code == 0 && rows.count == 0) {
        code = no_such_call(call, err);
    }
    if (code == 0) {
        const struct value *row = rows_at(&rows, 0);
        int64_t answer = row[TAKEN_ANSWER].number;
        /* An unknown number in the file denies. */
        taken.answer = answer >= STORE_ANSWER_NONE && answer <= STORE_ANSWER_DENY
                               ? (enum store_answer)answer
                               : STORE_ANSWER_DENY;
        utf8_copy(taken.id, sizeof taken.id, value_as_text(&row[TAKEN_ID]));
        utf8_copy(taken.who, sizeof taken.who, value_as_text(&row[TAKEN_WHO]));
    }
    if (code == 0 && taken.answer != STORE_ANSWER_NONE) {
        code = database_run(store, "UPDATE pending SET expires_s = ?2 WHERE rowid = ?1",
                            VALUES(rows_at(&rows, 0)[TAKEN_ROWID], value_number(USED_EXPIRES_S)),
                            err);
    }
    code = database_end(store, code, err);
    if (code == 0) {
        *ret = taken;
    }
    return code;
}

/* -------------------------------------------------------------------- read */

#define WAITING(added) \
    COLUMNS(added) "WHERE answer = 0 AND expires_s > ?1 ORDER BY created_s, rowid"

int store_pending_read(struct store *store, int64_t now_s,
                       void (*visit)(void *user, const struct store_pending *pending), void *user,
                       struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = read_calls(store, WAITING(ADDED_OLD), WAITING(ADDED), VALUES(value_number(now_s)),
                          &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct store_pending pending = pending_at(rows_at(&rows, i));
        visit(user, &pending);
    }
    return code;
}
