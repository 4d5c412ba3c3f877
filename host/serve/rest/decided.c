/* What was decided, and what waits for a decision. */
#include <string.h>

#include "serve/rest/handlers.h"
#include "serve/rest/request.h"
#include "toolrack/records.h"
#include "toolrack/serving.h"

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
