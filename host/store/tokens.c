#include "store/tokens.h"

#include "base/command.h"
#include "store/database.h"
#include "store/pending.h"

/* Refuse a name that is taken, and a token too many. Those that have expired are removed before. */
static int check_room(struct store *store, const char *name, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store,
                                    "SELECT count(*), count(*) FILTER (WHERE name = ?1) "
                                    "FROM tokens",
                                    VALUES(value_text(name)), &rows, err);
    if (code < 0) {
        return code;
    }
    if (rows_at(&rows, 0)[1].number > 0) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "there is a token '%s' already; take another name, or revoke it first",
                         name);
    }
    return rows_at(&rows, 0)[0].number < STORE_TOKENS_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "there are %d tokens, which is the most; revoke some of them",
                               STORE_TOKENS_MAX);
}

int store_token_add(struct store *store, const struct store_token *token,
                    struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"name of a token", token->name, STORE_TEXT_SIZE_MAX},
                                          {"profile", token->profile, STORE_TEXT_SIZE_MAX},
                                          {"list of tools", token->tools, STORE_TEXT_SIZE_MAX},
                                          {"name of who decides", token->who, STORE_TEXT_SIZE_MAX}),
                              err);
    if (code == 0) {
        code = database_run(store,
                            "DELETE FROM tokens WHERE name = ?1 AND expires_s <> 0 "
                            "AND expires_s <= ?2",
                            VALUES(value_text(token->name), value_number(token->created_s)), err);
    }
    if (code == 0) {
        code = check_room(store, token->name, err);
    }
    if (code == 0) {
        code = database_run(
                store,
                "INSERT INTO tokens (name, id, sha256, admin, approves, profile, tools, "
                "rate_per_minute, created_s, expires_s, who) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                VALUES(value_text(token->name), value_text(token->id),
                       value_bytes(token->sha256, sizeof token->sha256), value_number(token->admin),
                       value_number(token->approves), value_text(token->profile),
                       value_text(token->tools), value_number(token->rate_per_minute),
                       value_number(token->created_s), value_number(token->expires_s),
                       value_text(token->who)),
                err);
    }
    return database_end(store, code, err);
}

int store_token_remove(struct store *store, const char *name, const char *who,
                       struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"name of who revokes", who, STORE_TEXT_SIZE_MAX}), err);
    /* Nobody can make its calls any more: they are over. */
    if (code == 0) {
        code = database_run(
                store,
                "UPDATE pending SET answer = ?2, answered_by = ?3, expires_s = 0 "
                "WHERE caller = (SELECT 'token:' || id FROM tokens WHERE name = ?1) "
                "AND answer IN (0, 1) AND expires_s <> 0",
                VALUES(value_text(name), value_number(STORE_ANSWER_DENY), value_text(who)), err);
    }
    if (code == 0) {
        code = database_run(store, "DELETE FROM tokens WHERE name = ?1", VALUES(value_text(name)),
                            err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "there is no token '%s'; list them: %s", name,
                         COMMAND("token list"));
    }
    return database_end(store, code, err);
}

int store_tokens_read(struct store *store,
                      void (*visit)(void *user, const struct store_token *token), void *user,
                      struct toolrack_error *err) {
    enum { NAME, ID, SHA256, ADMIN, APPROVES, PROFILE, TOOLS, RATE, CREATED, EXPIRES, WHO };
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_SERVING,
                                  "SELECT name, id, sha256, admin, approves, profile, tools, "
                                  "rate_per_minute, created_s, expires_s, who FROM tokens "
                                  "ORDER BY name",
                                  NO_VALUES, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_token token = {.name = value_as_text(&row[NAME]),
                                    .id = value_as_text(&row[ID]),
                                    .admin = row[ADMIN].number != 0,
                                    .approves = row[APPROVES].number != 0,
                                    .profile = value_as_optional_text(&row[PROFILE]),
                                    .tools = value_as_optional_text(&row[TOOLS]),
                                    .rate_per_minute = (uint32_t)row[RATE].number,
                                    .created_s = row[CREATED].number,
                                    .expires_s = row[EXPIRES].number,
                                    .who = value_as_text(&row[WHO])};
        value_copy_bytes(&row[SHA256], token.sha256, sizeof token.sha256);
        visit(user, &token);
    }
    return code;
}
