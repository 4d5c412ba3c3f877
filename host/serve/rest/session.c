/* The session of a page. The transport has it, as it has the cookie; here is what is told of it. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"
#include "toolrack/serving.h"

static void answer(struct rest_request *request, unsigned status,
                   const struct exchange_session *session, bool ended) {
    size_t length = 0;
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "token",
                  request->principal.grant != NULL
                          ? toolrack_token_grant_name(request->principal.grant)
                          : NULL);
    (void)yyjson_mut_obj_add_bool(request->doc, root, "admin", request->principal.admin);
    if (session != NULL && !ended) {
        (void)yyjson_mut_obj_add_uint(request->doc, root, "left_s", session->left_s);
    } else {
        (void)yyjson_mut_obj_add_null(request->doc, root, "left_s");
    }
    if (session != NULL && session->csrf != NULL) {
        json_add_text(request->doc, root, "csrf", session->csrf);
    }
    if (request->doc != NULL) {
        yyjson_mut_doc_set_root(request->doc, root);
    }
    CLEANUP(freep)
    char *text = request->doc != NULL && root != NULL && !request->incomplete
                         ? json_write(request->doc, 0, NULL, &length)
                         : NULL;
    if (text == NULL) {
        rest_oom(request);
    } else {
        rest_answer_json(request, status, text, length, NULL,
                         session != NULL ? session->cookie : NULL);
    }
}

void session_begin(struct rest_request *request) {
    struct exchange_session session = {0};
    int code = request->exchange->calls->begin_session(request->exchange, &session);
    if (code == -EPERM) {
        rest_refuse(request, TOOLRACK_E_INVALID,
                    "a session is begun with the token of an administrator; send it as "
                    "Authorization: Bearer TOKEN");
    } else if (code < 0) {
        rest_oom(request);
    } else {
        answer(request, request->route->status, &session, false);
    }
}

void session_show(struct rest_request *request) {
    struct exchange_session session = {0};
    bool has = request->exchange->calls->get_session(request->exchange, &session);
    answer(request, request->route->status, has ? &session : NULL, false);
}

void session_finish(struct rest_request *request) {
    struct exchange_session session = {0};
    if (request->exchange->calls->end_session(request->exchange, &session)) {
        answer(request, request->route->status, &session, true);
    } else {
        rest_refuse(request, TOOLRACK_E_NOT_FOUND,
                    "the request came by a token, not by a session that could end");
    }
}
