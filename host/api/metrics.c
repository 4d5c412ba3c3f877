/* What a host has counted since it was opened. Nothing here waits for the store or a plugin. */
#include <stdint.h>
#include <stdlib.h>

#include "api/host.h"
#include "api/hosts.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "registry/document.h"
#include "worker/crew.h"
#include "worker/supervisor.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

#define STATES (TOOLRACK_STATE_LEFT_OUT + 1u)

/* What there is at the moment. */
struct present {
    uint64_t enabled; /* tools */
    uint64_t disabled;
    uint64_t plugins[STATES]; /* by enum toolrack_tool_state */
    uint64_t waiting;         /* calls, for a worker */
};

static int compare(const void *left, const void *right) {
    uintptr_t a = (uintptr_t) * (struct plugin *const *)left;
    uintptr_t b = (uintptr_t) * (struct plugin *const *)right;
    return (a > b) - (a < b);
}

static void count_plugin(struct plugin *plugin, struct present *present) {
    struct crew *crew = atomic_load(&plugin->crew);
    struct crew_status status = {0};
    present->plugins[plugin_state(plugin)]++;
    if (crew != NULL) {
        crew_status(crew, &status);
    }
    present->waiting += status.waiting;
}

static int look(struct toolrack *host, struct present *ret, struct toolrack_error *err) {
    struct toolrack_filter all = TOOLRACK_FILTER_INIT;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    *ret = (struct present){0};
    all.all = true;
    int code = toolrack_list(host, &all, &tools, err);
    if (code < 0) {
        return code;
    }
    size_t count = toolrack_tools_count(tools);
    CLEANUP(freep) struct plugin **plugins = calloc(count + 1, sizeof(struct plugin *));
    if (plugins == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        plugins[i] = tool->reg->plugin;
        ret->enabled += tool->enabled;
        ret->disabled += !tool->enabled;
    }
    qsort(plugins, count, sizeof *plugins, compare);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || plugins[i] != plugins[i - 1]) {
            count_plugin(plugins[i], ret);
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ as JSON */

static void add(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, uint64_t number) {
    (void)yyjson_mut_obj_add_uint(doc, object, key, number);
}

static void add_present(struct toolrack *host, const struct present *present, yyjson_mut_doc *doc,
                        yyjson_mut_val *root) {
    yyjson_mut_val *calls = yyjson_mut_obj_add_obj(doc, root, "calls");
    add(doc, calls, "running", call_running(&host->calls));
    add(doc, calls, "for_thread", pool_waiting(host->pool));
    add(doc, calls, "for_worker", present->waiting);
    yyjson_mut_val *registered = yyjson_mut_obj_add_obj(doc, root, "registered");
    add(doc, registered, "enabled", present->enabled);
    add(doc, registered, "disabled", present->disabled);
    yyjson_mut_val *plugins = yyjson_mut_obj_add_obj(doc, root, "plugins");
    for (size_t i = 0; i < STATES; i++) {
        if (i != TOOLRACK_STATE_CHANGED) { /* which is one of tools */
            add(doc, plugins, tool_state_name((enum toolrack_tool_state)i), present->plugins[i]);
        }
    }
}

/* Runs of plans, and the nodes of them. */
static void add_runs(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    static const struct {
        const char *key;
        enum store_run_state state;
    } ends[] = {{"succeeded", STORE_RUN_SUCCEEDED},
                {"failed", STORE_RUN_FAILED},
                {"cancelled", STORE_RUN_CANCELLED},
                {"waiting", STORE_RUN_WAITING}};
    struct runs *runs = &host->runs;
    yyjson_mut_val *plans = yyjson_mut_obj_add_obj(doc, root, "plans");
    lock_take(&runs->lock);
    add(doc, plans, "running", runs->running);
    yyjson_mut_val *over = yyjson_mut_obj_add_obj(doc, plans, "runs");
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        add(doc, over, ends[i].key, runs->over[ends[i].state]);
    }
    lock_release(&runs->lock);
    yyjson_mut_val *nodes = yyjson_mut_obj_add_obj(doc, plans, "nodes");
    for (size_t i = SCHEDULE_SUCCEEDED; i <= SCHEDULE_CANCELLED; i++) {
        add(doc, nodes, schedule_state_name((enum schedule_state)i),
            atomic_load_explicit(&runs->nodes[i], memory_order_relaxed));
    }
}

static void add_counted(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    static const struct {
        const char *key;
        enum toolrack_event_kind kind;
    } events[] = {
            {"crashed", TOOLRACK_EVENT_CRASHED},   {"stopped", TOOLRACK_EVENT_STOPPED},
            {"stuck", TOOLRACK_EVENT_STUCK},       {"quarantined", TOOLRACK_EVENT_QUARANTINED},
            {"reloaded", TOOLRACK_EVENT_RELOADED}, {"refused", TOOLRACK_EVENT_REFUSED},
            {"failed", TOOLRACK_EVENT_FAILED}};
    struct supervisor_counts counts;
    life_count_workers(host->life, &counts);
    yyjson_mut_val *workers = yyjson_mut_obj_add_obj(doc, root, "workers");
    add(doc, workers, "there", counts.workers);
    add(doc, workers, "started", counts.started);
    add(doc, workers, "replaced", counts.replaced);
    yyjson_mut_val *told = yyjson_mut_obj_add_obj(doc, root, "events");
    for (size_t i = 0; i < ARRAY_LENGTH(events); i++) {
        add(doc, told, events[i].key, atomic_load(&host->told[events[i].kind]));
    }
    record_describe(host->record, doc, root);
}

int toolrack_metrics(struct toolrack *host, struct toolrack_text **ret,
                     struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct present present;
    int code = look(host, &present, err);
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    add_present(host, &present, doc, root);
    add_counted(host, doc, root);
    add_runs(host, doc, root);
    joined_describe(host, doc, root);
    return document_end(doc, ret, err);
}
