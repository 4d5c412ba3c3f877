/* resources.c - see resources.h. */
#include "serve/mcp/resources.h"

#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/client.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/offers.h"
#include "serve/mcp/page.h"
#include "serve/mcp/request.h"
#include "serve/mcp/watches.h"

void resources_list(struct request *request, yyjson_val *params) {
    static const struct page_kind kind = {TOOLRACK_OFFER_RESOURCES, "resources", "uri"};
    page_list(request, params, &kind);
}

void resources_list_templates(struct request *request, yyjson_val *params) {
    static const struct page_kind kind = {TOOLRACK_OFFER_TEMPLATES, "resourceTemplates",
                                          "uriTemplate"};
    page_list(request, params, &kind);
}

/* The URI that a request is about, in its memory, and the arguments with it. NULL: the request is
 * answered. */
static const char *read_uri(struct request *request, yyjson_val *params,
                            const char **ret_arguments) {
    const char *uri = rpc_string(params, "uri");
    if (uri == NULL || uri[0] == '\0' || strlen(uri) > WATCH_URI_MAX) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "params.uri must be a URI of at most %u bytes", WATCH_URI_MAX);
        return NULL;
    }
    if (!offers_check_scope(request, "the resource")) {
        return NULL;
    }
    CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
    buf_add_char(&arguments, '{');
    rpc_add_string(&arguments, "uri", uri);
    buf_add_char(&arguments, '}');
    *ret_arguments =
            arguments.failed ? NULL : arena_copy(&request->arena, arguments.data, arguments.length);
    uri = arena_copy(&request->arena, uri, strlen(uri));
    if (uri == NULL || *ret_arguments == NULL) {
        request_oom(request);
        return NULL;
    }
    return uri;
}

/* How long the content holds is not known. */
static void end_read(struct request *request, const struct toolrack_result *result) {
    struct buf *out = request_result(request);
    offers_add(request, result);
    if ((request->dialect->traits & DIALECT_STATELESS) != 0) {
        buf_add_text(out, ",\"ttlMs\":0,\"cacheScope\":\"private\"");
    }
    request_complete(request);
}

void resources_read(struct request *request, yyjson_val *params) {
    const char *arguments;
    const char *uri = read_uri(request, params, &arguments);
    if (uri != NULL &&
        mrtr_begin(request, params, "resources/read", uri, arguments, strlen(arguments))) {
        offers_ask(request, &(struct offers){.what = TOOLRACK_OFFER_READ,
                                             .arguments = arguments,
                                             .subject = uri,
                                             .asks = true,
                                             .end = end_read});
    }
}

/* ------------------------------------------------------------ subscriptions */

static void answer_empty(struct request *request) {
    (void)request_result(request);
    request_complete(request);
}

static void end_change(struct request *request, const struct toolrack_result *result) {
    (void)result;
    answer_empty(request);
}

/* The plugin refused. */
static void take_back(struct request *request) {
    (void)watches_remove(request->mcp, &request->client->watches, request->offers->subject);
}

void resources_subscribe(struct request *request, yyjson_val *params) {
    const char *arguments;
    const char *uri = read_uri(request, params, &arguments);
    if (uri == NULL) {
        return;
    }
    switch (watches_add(request->mcp, &request->client->watches, request->client->principal.party,
                        uri)) {
    case WATCH_TOO_MANY:
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "a client may subscribe to %u resources; unsubscribe from some first",
                     WATCH_URIS_MAX);
        return;
    case WATCH_TOO_LONG:
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "a client may subscribe to resources whose URIs have %u bytes together; "
                     "unsubscribe from some first",
                     WATCH_BYTES_MAX);
        return;
    case WATCH_NO_SHARE:
        request_fail(request, 0, RPC_INTERNAL_ERROR, NULL,
                     "the subscriptions of this principal take as much memory as they may; end "
                     "some first");
        return;
    case WATCH_NO_MEMORY: request_oom(request); return;
    case WATCH_DONE: break;
    }
    offers_ask(request, &(struct offers){.what = TOOLRACK_OFFER_SUBSCRIBE,
                                         .arguments = arguments,
                                         .subject = uri,
                                         .end = end_change,
                                         .refused = take_back});
}

void resources_unsubscribe(struct request *request, yyjson_val *params) {
    const char *arguments;
    const char *uri = read_uri(request, params, &arguments);
    if (uri == NULL) {
        return;
    }
    if (watches_remove(request->mcp, &request->client->watches, uri)) {
        /* Nobody wants to hear of it any more: whoever was told that somebody does. */
        offers_ask(request, &(struct offers){.what = TOOLRACK_OFFER_UNSUBSCRIBE,
                                             .arguments = arguments,
                                             .subject = uri,
                                             .for_all = true,
                                             .end = end_change});
    } else {
        answer_empty(request);
    }
}
