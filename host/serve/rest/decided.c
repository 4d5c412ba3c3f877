/* What was decided, and what waits for a decision. */
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"
#include "toolrack/records.h"
#include "toolrack/serving.h"
#include "view/failure.h"

static void answer(struct rest_request *request, const char *key,
                   int (*read)(struct toolrack *host, struct toolrack_text **ret,
                               struct toolrack_error *err)) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (read(request->rest->host, &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, key, text);
    }
}

void decided_grants(struct rest_request *request) {
    answer(request, "grants", toolrack_grants);
}

void decided_approvals(struct rest_request *request) {
    answer(request, "approvals", toolrack_pending);
}

void decided_tokens(struct rest_request *request) {
    answer(request, "tokens", toolrack_tokens);
}

static int read_whitelist(struct toolrack *host, struct toolrack_text **ret,
                          struct toolrack_error *err) {
    return toolrack_marked(host, TOOLRACK_MARK_WHITELIST, ret, err);
}

static int read_blacklist(struct toolrack *host, struct toolrack_text **ret,
                          struct toolrack_error *err) {
    return toolrack_marked(host, TOOLRACK_MARK_BLACKLIST, ret, err);
}

void decided_list(struct rest_request *request) {
    const char *list = rest_part(request, "list");
    if (strcmp(list, "whitelist") == 0) {
        answer(request, "tools", read_whitelist);
    } else if (strcmp(list, "blacklist") == 0) {
        answer(request, "tools", read_blacklist);
    } else {
        rest_refuse(request, TOOLRACK_E_NOT_FOUND,
                    "there is no list '%.32s'; the lists are whitelist and blacklist", list);
    }
}

/* -------------------------------------------------------------------- deciding */

static const struct {
    const char *word;
    enum toolrack_approval approval;
} answers[] = {{"once", TOOLRACK_APPROVAL_ALLOW_ONCE},
               {"conversation", TOOLRACK_APPROVAL_ALLOW_CONVERSATION},
               {"always", TOOLRACK_APPROVAL_ALLOW_ALWAYS},
               {"deny", TOOLRACK_APPROVAL_DENY}};

/* Whether a call that waits is one that the principal made itself. A user at the socket decides for
 * what runs as that user, as with the command; a token is one client among others. */
static int find_own(struct rest_request *request, const char *id, bool *ret_found) {
    struct toolrack_pending_filter filter = TOOLRACK_PENDING_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    filter.caller = request->principal.id;
    *ret_found = false;
    if (request->principal.grant == NULL) {
        return 0;
    }
    int code = toolrack_pending_of(request->rest->host, &filter, &text, rest_err(request));
    if (code < 0) {
        return code;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read(text);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(read), at, count, row) {
        *ret_found = *ret_found || yyjson_equals_str(yyjson_obj_get(row, "id"), id);
    }
    return read != NULL ? 0 : error_oom(rest_err(request));
}

void decided_answer(struct rest_request *request) {
    const char *id = rest_part(request, "id");
    const char *word = rest_text(request, "answer");
    enum toolrack_approval approval = TOOLRACK_APPROVAL_DENY;
    for (size_t i = 0; i < ARRAY_LENGTH(answers); i++) {
        approval = strcmp(answers[i].word, word) == 0 ? answers[i].approval : approval;
    }
    bool is_own;
    if (find_own(request, id, &is_own) < 0) {
        rest_fail(request);
        return;
    }
    if (is_own) {
        rest_refuse(request, TOOLRACK_E_PERMISSION_DENIED,
                    "the call is the token's own; somebody else must answer it");
        return;
    }
    if (toolrack_resolve(request->rest->host, id, approval, rest_who(request), rest_err(request)) <
        0) {
        rest_fail(request);
        return;
    }
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "id", id);
    json_add_text(request->doc, root, "answer", word);
    view_add_reached(request->rest->host, request->doc, root);
    rest_answer(request, root);
}

void decided_grant(struct rest_request *request) {
    const char *name = rest_text(request, "tool");
    int code = toolrack_grant(request->rest->host, name, rest_number(request, "seconds"),
                              rest_who(request), rest_err(request));
    if (code < 0) {
        rest_fail_named(request, code, name);
    } else {
        rest_answer_done(request, name, "granted", true);
    }
}

void decided_revoke(struct rest_request *request) {
    const char *name = rest_part(request, "tool");
    int code = toolrack_revoke(request->rest->host, name, rest_who(request), rest_err(request));
    if (code < 0) {
        rest_fail_named(request, code, name);
    } else {
        rest_answer_done(request, name, "revoked", true);
    }
}

static void mark(struct rest_request *request, bool on) {
    const char *list = rest_part(request, "list");
    const char *name = rest_part(request, "tool");
    bool is_white = strcmp(list, "whitelist") == 0;
    if (!is_white && strcmp(list, "blacklist") != 0) {
        rest_refuse(request, TOOLRACK_E_NOT_FOUND,
                    "there is no list '%.32s'; the lists are whitelist and blacklist", list);
        return;
    }
    int code = toolrack_mark(request->rest->host,
                             is_white ? TOOLRACK_MARK_WHITELIST : TOOLRACK_MARK_BLACKLIST, name, on,
                             rest_text(request, "why"), rest_who(request), rest_err(request));
    if (code < 0) {
        rest_fail_named(request, code, name);
    } else {
        rest_answer_done(request, name, list, on);
    }
}

void decided_mark(struct rest_request *request) {
    mark(request, true);
}

void decided_unmark(struct rest_request *request) {
    mark(request, false);
}

/* ---------------------------------------------------------------------- tokens */

/* The strings of an array, NULL-terminated, in the arena. NULL: out of memory, or no array. */
static const char **read_list(struct rest_request *request, const char *name) {
    yyjson_val *array = yyjson_obj_get(request->json, name);
    const char **list = array != NULL ? arena_alloc(&request->arena,
                                                    (yyjson_arr_size(array) + 1) * sizeof *list)
                                      : NULL;
    size_t at;
    size_t count;
    yyjson_val *item;
    if (list == NULL) {
        return NULL;
    }
    yyjson_arr_foreach (array, at, count, item) {
        list[at] = yyjson_get_str(item);
    }
    list[count] = NULL;
    return list;
}

static bool is_true(const struct rest_request *request, const char *name) {
    return yyjson_is_true(yyjson_obj_get(request->json, name));
}

void decided_add_token(struct rest_request *request) {
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *secret = NULL;
    token.name = rest_text(request, "name");
    token.profile = rest_text(request, "profile");
    token.tools = read_list(request, "tools");
    token.expires_s = (int64_t)rest_number(request, "expires_s");
    token.rate_per_minute = (uint32_t)rest_number(request, "rate_per_minute");
    token.admin = is_true(request, "admin");
    token.approves = is_true(request, "approves");
    if (token.tools == NULL && yyjson_obj_get(request->json, "tools") != NULL) {
        rest_oom(request); /* without its list it would see all */
        return;
    }
    if (toolrack_token_add(request->rest->host, &token, &secret, rest_who(request),
                           rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "name", token.name);
    json_add_text(request->doc, root, "secret", toolrack_text_data(secret, NULL));
    view_add_reached(request->rest->host, request->doc, root);
    rest_answer(request, root);
}

void decided_revoke_token(struct rest_request *request) {
    const char *name = rest_part(request, "name");
    if (toolrack_token_revoke(request->rest->host, name, rest_who(request), rest_err(request)) <
        0) {
        rest_fail(request);
    } else {
        rest_answer_done(request, name, "revoked", true);
    }
}
