/* listen.c - see listen.h. */
#include "serve/mcp/listen.h"

#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/about.h"
#include "serve/mcp/change.h"
#include "serve/mcp/interest.h"
#include "serve/mcp/later.h"
#include "serve/mcp/meta.h"
#include "serve/mcp/request.h"
#include "serve/mcp/scope.h"
#include "serve/mcp/task-text.h"
#include "serve/mcp/watches.h"
#include "toolrack/serving.h"

/** What a subscription wants to know. In the arena of its request. */
struct listen {
    unsigned changes;
    struct watch_list watches; /* resources */
    const char **tasks;
    size_t task_count;
};

static const char too_much[] =
        "the subscriptions of this principal take as much memory as they may; end some first";

static const struct {
    const char *name;
    enum change change;
} kinds[] = {
        {"toolsListChanged", CHANGE_TOOLS},
        {"promptsListChanged", CHANGE_PROMPTS},
        {"resourcesListChanged", CHANGE_RESOURCES},
};

_Static_assert(WATCH_URIS_MAX == 1024 && LISTEN_TASKS_MAX == 1024 && WATCH_BYTES_MAX == 65536,
               "as the texts say");

/* What may be the id of a task is kept; nothing else is one. @return what is wrong, or NULL */
static const char *read_tasks(struct request *request, struct listen *listen, yyjson_val *list) {
    static const char problem[] = "taskIds must be an array of at most 1024 strings";
    size_t count = yyjson_arr_size(list);
    if (list == NULL) {
        return NULL;
    }
    if (!yyjson_is_arr(list) || count > LISTEN_TASKS_MAX) {
        return problem;
    }
    listen->tasks = arena_alloc(&request->arena, count * sizeof *listen->tasks + 1);
    size_t at;
    yyjson_val *item;
    yyjson_arr_foreach (list, at, count, item) {
        const char *text = yyjson_get_str(item);
        size_t length = yyjson_get_len(item);
        if (text == NULL) {
            return problem;
        }
        if (listen->tasks == NULL) {
            return "the server is out of memory";
        }
        if (length >= TOOLRACK_TASK_ID_ROOM) {
            continue;
        }
        const char *copy = arena_copy(&request->arena, text, length);
        if (copy == NULL) {
            return "the server is out of memory";
        }
        listen->tasks[listen->task_count++] = copy;
    }
    return NULL;
}

/* The resources that the principal may read; none without that permission. */
static const char *read_resources(struct request *request, struct listen *listen,
                                  yyjson_val *list) {
    static const char problem[] = "resourceSubscriptions must be an array of at most 1024 strings";
    bool may_read = (request->principal.permissions & (1u << TOOLRACK_PERMISSION_SAFE)) != 0;
    if (list != NULL && (!yyjson_is_arr(list) || yyjson_arr_size(list) > WATCH_URIS_MAX)) {
        return problem;
    }
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (list, at, count, item) {
        const char *uri = yyjson_get_str(item);
        if (uri == NULL) {
            return problem;
        }
        if (!may_read || strlen(uri) > WATCH_URI_MAX) {
            continue;
        }
        switch (watches_add(request->mcp, &listen->watches, request->principal.party, uri)) {
        case WATCH_TOO_LONG:
            return "the URIs of resourceSubscriptions must have at most 65536 bytes together; "
                   "send several subscriptions";
        case WATCH_NO_SHARE: return too_much;
        case WATCH_TOO_MANY: return problem;
        case WATCH_NO_MEMORY: return "the server is out of memory";
        case WATCH_DONE: break;
        }
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
    const char *problem = read_tasks(request, listen, yyjson_obj_get(filter, "taskIds"));
    if (problem != NULL) {
        return problem;
    }
    problem = read_resources(request, listen, yyjson_obj_get(filter, "resourceSubscriptions"));
    if (problem != NULL) {
        return problem;
    }
    /* It stays as long as the subscription, with all that the message had. */
    size_t memory = arena_size(&request->arena);
    return watches_hold(request->mcp, &listen->watches, request->principal.party, memory)
                   ? NULL
                   : too_much;
}

/* Begin a notification of a subscription: its params are open. */
static void begin(struct buf *out, const struct request *request, const char *method) {
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"method\":\"");
    buf_add_text(out, method);
    buf_add_text(out, "\",\"params\":{\"_meta\":{\"" META_SUBSCRIPTION "\":");
    buf_add(out, request->id, request->id_length);
    buf_add_char(out, '}');
}

static void add_strings(struct buf *out, const char *name, const char *const *strings,
                        size_t count) {
    if (count > 0) {
        rpc_add_member(out, name);
        for (size_t i = 0; i < count; i++) {
            buf_add_char(out, i == 0 ? '[' : ',');
            buf_add_json_string(out, strings[i], strlen(strings[i]));
        }
        buf_add_char(out, ']');
    }
}

/* Append the resources, if there are any. */
static void add_resources(struct buf *out, struct mcp *mcp, struct watch_list *watches) {
    CLEANUP(buf_finish) struct buf uris = BUF_INIT;
    if (watches_write(mcp, watches, &uris) > 0) {
        rpc_add_member(out, "resourceSubscriptions");
        buf_add_char(out, '[');
        buf_add(out, uris.data, uris.length);
        buf_add_char(out, ']');
        out->failed = out->failed || uris.failed;
    }
}

static void acknowledge(struct request *request, struct listen *listen) {
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
    add_resources(&out, request->mcp, &listen->watches);
    add_strings(&out, "taskIds", listen->tasks, listen->task_count);
    buf_add_text(&out, "}}}");
    (void)request_send(request, &out);
}

static void end_watching(struct request *request) {
    watches_end(request->mcp, &request->wanted->watches);
}

static void tell_plugins(struct request *request) {
    const char *const *plugins = NULL;
    size_t count = 0;
    CLEANUP(freep)
    const char **uris = watches_copy(request->mcp, &request->wanted->watches, &count);
    if (uris != NULL && count > 0 &&
        scope_plugins(request->mcp, &request->principal, &request->arena, &plugins)) {
        interest_tell(request->mcp, TOOLRACK_OFFER_SUBSCRIBE, uris, count, plugins);
    }
}

static void begin_listening(struct request *request) {
    acknowledge(request, request->wanted);
    /* From now on it is told of changes: never before the acknowledgement. */
    lock_take(&request->mcp->lock);
    request->listen = request->wanted;
    lock_release(&request->mcp->lock);
    tell_plugins(request);
    if (request_is_over(request)) {
        end_watching(request); /* it ended before there was something to end */
    }
}

static void tell_task(struct request *request, const struct toolrack_text *text) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    begin(&out, request, "notifications/tasks");
    task_text_add(&out, text, true);
    buf_add_text(&out, "}}");
    (void)request_send(request, &out);
}

/* Agree to the tasks that are there, and tell how they are now, so that no change is missed. */
static void listen_to_tasks(struct request *request) {
    struct listen *listen = request->wanted;
    struct toolrack *host = request->mcp->host;
    struct toolrack_text *text = NULL;
    size_t count = 0;
    for (size_t i = 0; i < listen->task_count; i++) {
        if (toolrack_task_get(host, request->principal.id, listen->tasks[i], &text, NULL) == 0) {
            listen->tasks[count++] = listen->tasks[i];
            toolrack_text_unref(STEAL(text));
        }
    }
    listen->task_count = count;
    begin_listening(request);
    for (size_t i = 0; i < count; i++) {
        if (toolrack_task_get(host, request->principal.id, listen->tasks[i], &text, NULL) == 0) {
            tell_task(request, text);
            toolrack_text_unref(STEAL(text));
        }
    }
}

void listen_begin(struct request *request, yyjson_val *params) {
    if (request->no_events) {
        request_fail(request, 406, RPC_INVALID_REQUEST, NULL,
                     "a subscription is an event stream: accept application/json and "
                     "text/event-stream");
        return;
    }
    struct listen *listen = arena_zalloc(&request->arena, sizeof *listen);
    if (listen == NULL) {
        request_oom(request);
        return;
    }
    request->wanted = listen;
    request->at_end = end_watching;
    const char *problem = read_filter(request, listen, yyjson_obj_get(params, "notifications"));
    if (problem != NULL) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "%s", problem);
    } else if (listen->task_count == 0) {
        begin_listening(request);
    } else if ((request->capabilities & CAPABILITY_TASKS) == 0) {
        request_refuse_capability(request, CAPABILITY_TASKS);
    } else {
        later_run(request, listen_to_tasks);
    }
}

/* ------------------------------------------------------------------ telling */

/* Send what is told to each live subscription that wants it. */
struct telling {
    unsigned changes;
    const char *plugin;               /* whose resource it is */
    const char *uri;                  /* or NULL */
    const char *task;                 /* its id, or NULL */
    const char *owner;                /* of the task */
    const struct toolrack_text *text; /* likewise */
};

static bool has(const char *const *strings, size_t count, const char *wanted) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(strings[i], wanted) == 0) {
            return true;
        }
    }
    return false;
}

static void tell(struct request *request, const struct telling *telling) {
    const struct listen *listen = request->listen;
    struct mcp *mcp = request->mcp;
    unsigned changes = scope_changes(mcp, &request->principal, telling->changes);
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if ((listen->changes & changes & kinds[i].change) != 0) {
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            begin(&out, request, change_method(kinds[i].change));
            buf_add_text(&out, "}}");
            (void)request_send(request, &out);
        }
    }
    if (telling->uri != NULL && watches_has(mcp, &listen->watches, telling->uri) &&
        scope_has(mcp, &request->principal, telling->plugin)) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        begin(&out, request, "notifications/resources/updated");
        rpc_add_string(&out, "uri", telling->uri);
        buf_add_text(&out, "}}");
        (void)request_send(request, &out);
    }
    if (telling->task != NULL && strcmp(telling->owner, request->principal.id) == 0 &&
        has(listen->tasks, listen->task_count, telling->task)) {
        tell_task(request, telling->text);
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

void listen_tell_resource(struct mcp *mcp, const char *plugin, const char *uri) {
    tell_all(mcp, &(struct telling){.plugin = plugin, .uri = uri});
}

void listen_tell_task(struct mcp *mcp, const char *owner, const char *id,
                      const struct toolrack_text *text) {
    tell_all(mcp, &(struct telling){.task = id, .owner = owner, .text = text});
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
    about_add_server(out, request->dialect);
    buf_add_char(out, '}');
    request_complete_whole(request);
}
