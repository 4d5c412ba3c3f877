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

static void reload(struct rest_request *request, const char *name) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    if (toolrack_reload(request->rest->host, name, &report, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, "files", report);
    }
}

void plugins_reload_all(struct rest_request *request) {
    reload(request, NULL);
}

void plugins_reload(struct rest_request *request) {
    reload(request, rest_part(request, "name"));
}

void plugins_rollback(struct rest_request *request) {
    const char *name = rest_part(request, "name");
    if (toolrack_rollback(request->rest->host, name, rest_who(request), rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_done(request, name, "rolled_back", true);
    }
}

void plugins_release(struct rest_request *request) {
    const char *name = rest_part(request, "name");
    if (toolrack_release(request->rest->host, name, rest_who(request), rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_done(request, name, "released", true);
    }
}
