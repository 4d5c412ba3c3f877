/* listen.c - see listen.h. */
#include "serve/mcp/listen.h"

#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/about.h"
#include "serve/mcp/change.h"
#include "serve/mcp/meta.h"
#include "serve/mcp/request.h"

/** What a subscription wants to know. In the arena of its request. */
struct listen {
    unsigned changes;
    const char **resources;
    size_t resource_count;
};

static const struct {
    const char *name;
    enum change change;
} kinds[] = {
        {"toolsListChanged", CHANGE_TOOLS},
        {"promptsListChanged", CHANGE_PROMPTS},
        {"resourcesListChanged", CHANGE_RESOURCES},
};

/* @return what is wrong, or NULL */
static const char *read_resources(struct request *request, struct listen *listen,
                                  yyjson_val *uris) {
    size_t count = yyjson_arr_size(uris);
    if (!yyjson_is_arr(uris) || count > LISTEN_RESOURCES_MAX) {
        return "resourceSubscriptions must be an array of at most 1024 strings";
    }
    listen->resources = arena_alloc(&request->arena, count * sizeof *listen->resources + 1);
    size_t at;
    yyjson_val *uri;
    yyjson_arr_foreach (uris, at, count, uri) {
        const char *text = yyjson_get_str(uri);
        if (text == NULL) {
            return "resourceSubscriptions must be an array of at most 1024 strings";
        }
        const char *copy = arena_copy(&request->arena, text, yyjson_get_len(uri));
        if (listen->resources == NULL || copy == NULL) {
            return "the server is out of memory";
        }
        listen->resources[listen->resource_count++] = copy;
    }
    return NULL;
}

static const char *read_filter(struct request *request, struct listen *listen, yyjson_val *filter) {
    if (!yyjson_is_obj(filter)) {
        return "params.notifications must be an object";
    }
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        yyjson_val *wanted = yyjson_obj_get(filter, kinds[i].name);
        if (wanted != NULL && !yyjson_is_bool(wanted)) {
            return "the members of params.notifications that are no lists must be true or false";
        }
        listen->changes |= yyjson_get_bool(wanted) ? (unsigned)kinds[i].change : 0u;
    }
    yyjson_val *uris = yyjson_obj_get(filter, "resourceSubscriptions");
    return uris != NULL ? read_resources(request, listen, uris) : NULL;
}

/* Begin a notification of a subscription: its params are open. */
static void begin(struct buf *out, const struct request *request, const char *method) {
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"method\":\"");
    buf_add_text(out, method);
    buf_add_text(out, "\",\"params\":{\"_meta\":{\"" META_SUBSCRIPTION "\":");
    buf_add(out, request->id, request->id_length);
    buf_add_char(out, '}');
}

static void acknowledge(struct request *request, const struct listen *listen) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    begin(&out, request, "notifications/subscriptions/acknowledged");
    rpc_add_member(&out, "notifications");
    buf_add_char(&out, '{');
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if ((listen->changes & kinds[i].change) != 0) {
            rpc_add_member(&out, kinds[i].name);
            buf_add_text(&out, "true");
        }
    }
    if (listen->resource_count > 0) {
        rpc_add_member(&out, "resourceSubscriptions");
        for (size_t i = 0; i < listen->resource_count; i++) {
            buf_add_char(&out, i == 0 ? '[' : ',');
            buf_add_json_string(&out, listen->resources[i], strlen(listen->resources[i]));
        }
        buf_add_char(&out, ']');
    }
    buf_add_text(&out, "}}}");
    (void)request_send(request, &out);
}

void listen_begin(struct request *request, yyjson_val *params) {
    struct listen *listen = arena_zalloc(&request->arena, sizeof *listen);
    if (listen == NULL) {
        request_oom(request);
        return;
    }
    const char *problem = read_filter(request, listen, yyjson_obj_get(params, "notifications"));
    if (problem != NULL) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "%s", problem);
        return;
    }
    acknowledge(request, listen);
    /* From now on it is told of changes: never before the acknowledgement. */
    lock_take(&request->mcp->lock);
    request->listen = listen;
    lock_release(&request->mcp->lock);
}

/* ------------------------------------------------------------------ telling */

/* Send what is told to each live subscription that wants it. */
struct telling {
    unsigned changes;
    const char *uri; /* or NULL */
};

static bool wants_resource(const struct listen *listen, const char *uri) {
    for (size_t i = 0; i < listen->resource_count; i++) {
        if (strcmp(listen->resources[i], uri) == 0) {
            return true;
        }
    }
    return false;
}

static void tell(struct request *request, const struct telling *telling) {
    const struct listen *listen = request->listen;
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if ((listen->changes & telling->changes & kinds[i].change) != 0) {
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            begin(&out, request, change_method(kinds[i].change));
            buf_add_text(&out, "}}");
            (void)request_send(request, &out);
        }
    }
    if (telling->uri != NULL && wants_resource(listen, telling->uri)) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        begin(&out, request, "notifications/resources/updated");
        rpc_add_string(&out, "uri", telling->uri);
        buf_add_text(&out, "}}");
        (void)request_send(request, &out);
    }
}

static void tell_all(struct mcp *mcp, const struct telling *telling) {
    size_t count = 0;
    lock_take(&mcp->lock);
    CLEANUP(freep) struct request **list = malloc((mcp->live_count + 1) * sizeof *list);
    for (struct request *at = mcp->live; list != NULL && at != NULL; at = at->live_next) {
        if (at->listen != NULL) {
            list[count++] = request_ref(at);
        }
    }
    lock_release(&mcp->lock);
    for (size_t i = 0; i < count; i++) {
        tell(list[i], telling);
        request_unref(list[i]);
    }
}

void listen_tell(struct mcp *mcp, unsigned changes) {
    tell_all(mcp, &(struct telling){.changes = changes});
}

void listen_tell_resource(struct mcp *mcp, const char *uri) {
    tell_all(mcp, &(struct telling){.uri = uri});
}

void listen_end(struct request *request) {
    lock_take(&request->mcp->lock);
    bool listens = request->listen != NULL;
    lock_release(&request->mcp->lock);
    if (!listens) {
        return;
    }
    struct buf *out = request_result(request);
    rpc_add_member(out, "_meta");
    buf_add_text(out, "{\"" META_SUBSCRIPTION "\":");
    buf_add(out, request->id, request->id_length);
    buf_add_text(out, ",\"" META_SERVER "\":");
    about_add_server(out);
    buf_add_char(out, '}');
    request_complete_whole(request);
}
