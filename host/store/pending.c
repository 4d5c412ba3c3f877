#include "store/pending.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>

#include "base/utf8.h"
#include "store/approvals.h"
#include "store/database.h"

#define ID_BYTES ((STORE_PENDING_ID_SIZE - 1) / 2)

static int make_id(char ret_id[STORE_PENDING_ID_SIZE], struct toolrack_error *err) {
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[ID_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return error_set(err, TOOLRACK_E_IO, "cannot get random bytes for an approval's id: %s",
                         strerror(errno));
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        ret_id[2 * i] = hex[bytes[i] >> 4];
        ret_id[2 * i + 1] = hex[bytes[i] & 15];
    }
    ret_id[STORE_PENDING_ID_SIZE - 1] = '\0';
    return 0;
}

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

int store_pending_add(struct store *store, const struct store_pending *pending,
                      char ret_id[STORE_PENDING_ID_SIZE], struct toolrack_error *err) {
    char id[STORE_PENDING_ID_SIZE];
    unsigned char sha256[STORE_SHA256_SIZE];
    int code = make_id(id, err);
    if (code < 0) {
        return code;
    }
    code = database_begin(store, DATABASE_DURABLE,
                          TEXT_LIMITS({"tool name", pending->tool, STORE_TEXT_SIZE_MAX},
                                      {"version", pending->version, STORE_TEXT_SIZE_MAX},
                                      {"text of arguments to be confirmed", pending->arguments,
                                       STORE_ARGUMENTS_SIZE_MAX},
                                      {"caller", pending->caller, STORE_TEXT_SIZE_MAX},
                                      {"channel", pending->channel, STORE_TEXT_SIZE_MAX},
                                      {"conversation", pending->conversation, STORE_TEXT_SIZE_MAX},
                                      {"reason", pending->reason, STORE_TEXT_SIZE_MAX}),
                          err);

    /* Remove expired calls, except the newest. */
    if (code == 0) {
        code = database_run(
                store,
                "DELETE FROM pending WHERE rowid IN (SELECT rowid FROM pending "
                "WHERE expires_s <= ?1 ORDER BY expires_s DESC LIMIT -1 OFFSET ?2)",
                VALUES(value_number(pending->created_s), value_number(STORE_EXPIRED_MAX)), err);
    }

    /* Refuse when there are too many. */
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    if (code == 0) {
        code = database_read_inside(store, "SELECT count(*) FROM pending WHERE expires_s > ?1",
                                    VALUES(value_number(pending->created_s)), &rows, err);
    }
    if (code == 0 && rows_at(&rows, 0)->number >= STORE_PENDING_MAX) {
        code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%d calls wait for approval, which is the most; answer some of them",
                         STORE_PENDING_MAX);
    }

    if (code == 0) {
        code = database_run(
                store,
                "INSERT INTO pending (id, tool, version, arguments, caller, "
                "channel, conversation, reason, created_s, expires_s, answer, arguments_sha256, "
                "plugin) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                VALUES(value_text(id), value_text(pending->tool), value_text(pending->version),
                       value_text(pending->arguments), value_text(pending->caller),
                       value_text(pending->channel), value_text(pending->conversation),
                       value_text(pending->reason), value_number(pending->created_s),
                       value_number(pending->expires_s), value_number(STORE_ANSWER_NONE),
                       hash_of(pending, sha256), value_text(pending->plugin)),
                err);
    }
    code = database_end(store, code, err);
    if (code == 0) {
        memcpy(ret_id, id, sizeof id);
    }
    return code;
}

/* ----------------------------------------------------------------- resolve */

/* The columns of a call that may be answered now. */
enum { OPEN_TOOL, OPEN_VERSION, OPEN_CONVERSATION, OPEN_EXPIRES, OPEN_ANSWER, OPEN_ANSWERED_BY };

static int read_open(struct store *store, const char *id, int64_t now_s, struct rows *ret_rows,
                     struct toolrack_error *err) {
    int code = database_read_inside(store,
                                    "SELECT tool, version, conversation, expires_s, answer, "
                                    "answered_by FROM pending WHERE id = ?1",
                                    VALUES(value_text(id)), ret_rows, err);
    if (code < 0) {
        return code;
    }
    if (ret_rows->count == 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "there is no approval '%s'; list those that wait", id);
    }
    const struct value *row = rows_at(ret_rows, 0);
    if (row[OPEN_ANSWER].number != STORE_ANSWER_NONE) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "approval '%s' was %s already, by %s", id,
                         row[OPEN_ANSWER].number == STORE_ANSWER_DENY ? "denied" : "allowed",
                         value_as_text(&row[OPEN_ANSWERED_BY]));
    }
    if (row[OPEN_EXPIRES].number <= now_s) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "approval '%s' expired %lld s ago; let '%s' be called again", id,
                         (long long)(now_s - row[OPEN_EXPIRES].number),
                         value_as_text(&row[OPEN_TOOL]));
    }
    return 0;
}

int store_pending_resolve(struct store *store, const char *id, enum store_answer answer,
                          const char *who, int64_t now_s, struct toolrack_error *err) {
    assert(answer != STORE_ANSWER_NONE);
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    bool in_conversation = answer == STORE_ANSWER_ALLOW_CONVERSATION;
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"name of who answers", who, STORE_TEXT_SIZE_MAX}), err);
    if (code == 0) {
        code = read_open(store, id, now_s, &rows, err);
    }
    if (code == 0 && (in_conversation || answer == STORE_ANSWER_ALLOW_ALWAYS)) {
        const struct value *row = rows_at(&rows, 0);
        const char *conversation = value_as_text(&row[OPEN_CONVERSATION]);
        struct store_approval approval = {.tool = value_as_text(&row[OPEN_TOOL]),
                                          .version = value_as_text(&row[OPEN_VERSION]),
                                          .conversation = in_conversation ? conversation : NULL,
                                          .who = who,
                                          .approved_s = now_s};
        code = approval_check(&approval, err);
        if (code == 0) {
            code = approval_put(store, &approval, err);
        }
    }
    if (code == 0) {
        code = database_run(store, "UPDATE pending SET answer = ?2, answered_by = ?3 WHERE id = ?1",
                            VALUES(value_text(id), value_number(answer), value_text(who)), err);
    }
    return database_end(store, code, err);
}

/* -------------------------------------------------------------------- take */

/* The columns of a call that is taken. */
enum { TAKEN_ROWID, TAKEN_ANSWER, TAKEN_ID, TAKEN_WHO };

/* Of several equal calls, an answered one first. */
#define FIND_CALL(same_arguments, same_plugin)                                                 \
    "SELECT rowid, answer, id, answered_by FROM pending WHERE tool = ?1 AND version = ?2 AND " \
    "(" same_arguments ") AND caller IS ?4 AND conversation IS ?5 AND expires_s > ?6 AND "     \
    "(?7 IS NULL OR id = ?7) AND (" same_plugin ") ORDER BY answer = 0, rowid LIMIT 1"
/* Rows of schema 3 have secrets in the arguments, and no plugin, until they expire. */
static const char find_call[] =
        FIND_CALL("arguments_sha256 = ?8 OR (arguments_sha256 IS NULL AND arguments = ?3)",
                  "plugin IS NULL OR plugin IS ?9");
static const char find_old_call[] = FIND_CALL("arguments = ?3 AND ?8 IS ?8", "?9 IS ?9");

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
                   value_text(call->id), hash_of(call, sha256), value_text(call->plugin));
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
        code = database_run(store, "DELETE FROM pending WHERE rowid = ?1",
                            VALUES(rows_at(&rows, 0)[TAKEN_ROWID]), err);
    }
    code = database_end(store, code, err);
    if (code == 0) {
        *ret = taken;
    }
    return code;
}

/* -------------------------------------------------------------------- read */

#define WAITING(plugin)                                                            \
    "SELECT id, tool, version, arguments, caller, channel, conversation, reason, " \
    "created_s, expires_s, " plugin " FROM pending "                               \
    "WHERE answer = 0 AND expires_s > ?1 ORDER BY created_s, rowid"

int store_pending_read(struct store *store, int64_t now_s,
                       void (*visit)(void *user, const struct store_pending *pending), void *user,
                       struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    bool is_old = false;
    int code = database_is_older(store, SCHEMA_MASKED, &is_old, err);
    if (code == 0) {
        code = database_read(store, SCHEMA_DECISIONS, is_old ? WAITING("NULL") : WAITING("plugin"),
                             VALUES(value_number(now_s)), &rows, err);
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_pending){.id = value_as_text(&row[0]),
                                            .tool = value_as_text(&row[1]),
                                            .version = value_as_text(&row[2]),
                                            .arguments = value_as_text(&row[3]),
                                            .caller = value_as_optional_text(&row[4]),
                                            .channel = value_as_optional_text(&row[5]),
                                            .conversation = value_as_optional_text(&row[6]),
                                            .reason = value_as_optional_text(&row[7]),
                                            .created_s = row[8].number,
                                            .expires_s = row[9].number,
                                            .plugin = value_as_optional_text(&row[10])});
    }
    return code;
}
