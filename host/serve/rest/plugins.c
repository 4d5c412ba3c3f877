/* Plugins: what there is, and why they are as they are. */
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"

void plugins_list(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_plugins_info(request->rest->host, &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, "plugins", text);
    }
}

void plugins_show(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_why(request->rest->host, rest_part(request, "name"), &text, rest_err(request)) <
        0) {
        rest_fail(request);
    } else {
        rest_answer_whole(request, text);
    }
}
