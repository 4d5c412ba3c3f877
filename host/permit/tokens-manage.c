/* Tokens are added, revoked and listed. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "permit/token-grant.h"
#include "permit/tokens-parts.h"
#include "registry/document.h"
#include "registry/selector.h"
#include "registry/text.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

/* Random bytes of a secret, and of the part of an id behind the name. */
#define SECRET_BYTES 32u
#define ID_BYTES     8u

#define NAME_MAX_LENGTH 64u

/* --------------------------------------------------------------------- add */

static bool is_name(const char *name) {
    static const char characters[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t length = strlen(name);
    return length > 0 && length <= NAME_MAX_LENGTH && strspn(name, characters) == length &&
           name[0] != '-' && name[0] != '.';
}

static int check(const struct toolrack_token *token, struct toolrack_error *err) {
    if (token->name == NULL || !is_name(token->name)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the name of a token has 1 to 64 letters, digits, '_', '-' and '.', and "
                         "begins with a letter, a digit or '_'");
    }
    if (token->expires_s != 0 && token->expires_s <= clock_wall_s()) {
        return error_set(err, TOOLRACK_E_INVALID, "the token would have expired already");
    }
    for (size_t i = 0; token->tools != NULL && token->tools[i] != NULL; i++) {
        if (!selector_is_pattern(token->tools[i])) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "\"%.100s\" names no tool: write a name, which may have '*' and '?', "
                             "and perhaps '@' with a version or a range",
                             token->tools[i]);
        }
    }
    return 0;
}

/* The list of tools as the store has it. */
static void add_tools(struct buf *text, const char *const *tools) {
    buf_add_text(text, "");
    for (size_t i = 0; tools != NULL && tools[i] != NULL; i++) {
        buf_printf(text, "%s%s", i > 0 ? "\n" : "", tools[i]);
    }
}

/* The prefix and random digits. */
static int add_random(struct buf *text, const char *prefix, size_t count,
                      struct toolrack_error *err) {
    unsigned char bytes[SECRET_BYTES];
    char digits[2 * SECRET_BYTES + 1];
    if (getrandom(bytes, count, 0) != (ssize_t)count) {
        return error_set(err, TOOLRACK_E_IO, "cannot get random bytes for a token: %s",
                         strerror(errno));
    }
    (void)sodium_bin2hex(digits, sizeof digits, bytes, count);
    buf_printf(text, "%s%s", prefix, digits);
    sodium_memzero(bytes, sizeof bytes);
    sodium_memzero(digits, sizeof digits);
    return text->failed ? error_oom(err) : 0;
}

/* A text that is forgotten with its memory. */
static void secret_finish(struct buf *text) {
    if (text->data != NULL) {
        sodium_memzero(text->data, text->length);
    }
    buf_finish(text);
}

/* What was decided, for the log. */
static void note_added(struct tokens *tokens, const struct store_token *token) {
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    char until[CLOCK_TEXT_ROOM];
    buf_printf(&why, "token '%s', id %s", token->name, token->id);
    if (token->admin) {
        buf_add_text(&why, ", administrator");
    }
    if (token->approves) {
        buf_add_text(&why, ", its answers count as a person's");
    }
    if (token->profile != NULL) {
        buf_printf(&why, ", profile '%s'", token->profile);
    }
    if (token->tools != NULL) {
        buf_add_text(&why, ", tools");
        for (const char *at = token->tools; *at != '\0';) {
            size_t length = strcspn(at, "\n");
            buf_printf(&why, " %.*s", (int)length, at);
            at += length + (at[length] != '\0');
        }
    }
    if (token->expires_s != 0) {
        buf_printf(&why, ", until %s", clock_wall_text(token->expires_s, until));
    }
    permit_note(tokens->options.permit,
                &(struct store_decision){.decision = "added token",
                                         .who = token->who,
                                         .why = why.failed ? token->name : why.data});
}

int tokens_add(struct tokens *tokens, const struct toolrack_token *given,
               struct toolrack_text **ret_secret, const char *who, struct toolrack_error *err) {
    struct toolrack_token token = {0};
    CLEANUP(buf_finish) struct buf tools = BUF_INIT;
    CLEANUP(buf_finish) struct buf id = BUF_INIT;
    CLEANUP(secret_finish) struct buf secret = BUF_INIT;
    memcpy(&token, given, given->size < sizeof token ? given->size : sizeof token);
    int code = check(&token, err);
    if (code == 0) {
        add_tools(&tools, token.tools);
        buf_printf(&id, "%s-", token.name);
        code = add_random(&id, "", ID_BYTES, err);
    }
    if (code == 0) {
        code = add_random(&secret, TOOLRACK_TOKEN_PREFIX, SECRET_BYTES, err);
    }
    CLEANUP(toolrack_text_unrefp)
    struct toolrack_text *shown = code == 0 ? text_create(&secret) : NULL;
    if (code < 0 || shown == NULL || tools.failed) {
        return code < 0 ? code : error_oom(err);
    }
    struct store_token stored = {.name = token.name,
                                 .id = id.data,
                                 .admin = token.admin != 0,
                                 .approves = token.approves != 0,
                                 .profile = token.profile,
                                 .tools = token.tools != NULL ? tools.data : NULL,
                                 .rate_per_minute = token.rate_per_minute,
                                 .created_s = clock_wall_s(),
                                 .expires_s = token.expires_s,
                                 .who = who};
    tokens_hash(secret.data, stored.sha256);
    code = store_token_add(tokens->options.store, &stored, err);
    if (code == 0) {
        (void)tokens_follow(tokens);
        note_added(tokens, &stored);
        *ret_secret = STEAL(shown);
    }
    return code;
}

/* It comes back as long as the file has it. */
static void refuse_file(struct tokens *tokens, struct toolrack_error *err) {
    struct toolrack_token_grant *grant = tokens_of_file(tokens);
    if (grant != NULL) {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND,
                        "the token '" TOOLRACK_TOKEN_FILE_NAME "' is that in %.200s; write another "
                        "one there and send the server SIGHUP",
                        grant->token.who);
        toolrack_token_grant_unref(grant);
    }
}

int tokens_revoke(struct tokens *tokens, const char *name, const char *who,
                  struct toolrack_error *err) {
    char why[NAME_MAX_LENGTH + 16];
    int code = store_token_remove(tokens->options.store, name, who, err);
    if (code == TOOLRACK_E_NOT_FOUND && strcmp(name, TOOLRACK_TOKEN_FILE_NAME) == 0) {
        refuse_file(tokens, err);
    }
    if (code == 0) {
        (void)tokens_follow(tokens);
        (void)snprintf(why, sizeof why, "token '%s'", name);
        permit_note(tokens->options.permit,
                    &(struct store_decision){.decision = "revoked token", .who = who, .why = why});
    }
    return code;
}

/* -------------------------------------------------------------------- list */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
    int64_t now_s;
};

static void add_list(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *tools) {
    if (tools == NULL) {
        (void)yyjson_mut_obj_add_null(doc, row, "tools");
        return;
    }
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, row, "tools");
    while (*tools != '\0') {
        size_t length = strcspn(tools, "\n");
        (void)yyjson_mut_arr_add_strncpy(doc, list, tools, length);
        tools += length + (tools[length] != '\0');
    }
}

static void add_token(void *user, const struct store_token *token) {
    const struct listing *listing = user;
    yyjson_mut_doc *doc = listing->doc;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->list);
    bool expires = token->expires_s != 0;
    document_add_text(doc, row, "name", token->name);
    document_add_text(doc, row, "id", token->id);
    (void)yyjson_mut_obj_add_bool(doc, row, "admin", token->admin);
    (void)yyjson_mut_obj_add_bool(doc, row, "approves", token->approves);
    document_add_text(doc, row, "profile", token->profile);
    add_list(doc, row, token->tools);
    (void)yyjson_mut_obj_add_uint(doc, row, "rate_per_minute", token->rate_per_minute);
    (void)yyjson_mut_obj_add_sint(doc, row, "created_s", token->created_s);
    if (expires) {
        (void)yyjson_mut_obj_add_sint(doc, row, "expires_s", token->expires_s);
    } else {
        (void)yyjson_mut_obj_add_null(doc, row, "expires_s");
    }
    (void)yyjson_mut_obj_add_bool(doc, row, "expired",
                                  expires && token->expires_s <= listing->now_s);
    document_add_text(doc, row, "who", token->who);
}

int tokens_list(struct tokens *tokens, struct toolrack_text **ret, struct toolrack_error *err) {
    struct listing listing = {.now_s = clock_wall_s()};
    listing.doc = document_begin_list(&listing.list);
    int code = store_tokens_read(tokens->options.store, add_token, &listing, err);
    struct toolrack_token_grant *of_file = tokens_of_file(tokens);
    if (of_file != NULL) {
        add_token(&listing, &of_file->token);
        toolrack_token_grant_unref(of_file);
    }
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}
