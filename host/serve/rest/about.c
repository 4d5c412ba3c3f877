/* What the server says of itself. */
#include "serve/rest/handlers.h"
#include "serve/rest/kept.h"
#include "serve/rest/request.h"
#include "toolrack/hosts.h"

static void answer_status(struct rest_request *request, const char *status) {
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "status", status);
    json_add_text(request->doc, root, "version", toolrack_version());
    rest_answer(request, root);
}

void about_health(struct rest_request *request) {
    answer_status(request, "ok");
}

void about_ready(struct rest_request *request) {
    struct rest *rest = request->rest;
    lock_take(&rest->lock);
    bool is_draining = rest->draining;
    lock_release(&rest->lock);
    if (is_draining) {
        rest_refuse(request, TOOLRACK_E_CANCELLED, "the server ends");
    } else {
        answer_status(request, "ready");
    }
}

void about_hosts(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    int code = toolrack_hosts(request->rest->host, 0, &text, rest_err(request));
    if (code == TOOLRACK_E_NOT_FOUND) { /* it has joined no others */
        yyjson_mut_val *root = rest_object(request);
        (void)yyjson_mut_obj_add_arr(request->doc, root, "hosts");
        rest_answer(request, root);
    } else if (code < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, "hosts", text);
    }
}

void about_document(struct rest_request *request) {
    rest_answer_kept(request, kept_ref(request->rest->document));
}
