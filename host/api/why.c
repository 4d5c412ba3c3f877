#include <string.h>
#include <yyjson.h>

#include "api/host.h"
#include "base/error.h"
#include "registry/text.h"
#include "store/crashes.h"

/* ------------------------------------------------------------------- names */

static struct plugin *plugin_of_tool(struct toolrack *host, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = registry_get(host->registry, name);
    return tool != NULL ? plugin_ref(tool->reg->plugin) : NULL;
}

struct plugin *host_find_plugin(struct toolrack *host, const char *name,
                                struct toolrack_error *err) {
    struct plugin *plugin = plugin_of_tool(host, name);
    if (plugin == NULL) {
        plugin = generations_hold(host, name, 0);
    }
    if (plugin == NULL) {
        (void)registry_not_found(host->registry, name, err);
    }
    return plugin;
}

/* -------------------------------------------------------------------- JSON */

/* Texts live as long as what they are about, or are copied. */
static void add_copy(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     const char *text) {
    (void)yyjson_mut_obj_add_strcpy(doc, object, key, text);
}

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     const char *text) {
    if (text != NULL) {
        add_copy(doc, object, key, text);
    } else {
        (void)yyjson_mut_obj_add_null(doc, object, key);
    }
}

static int end_document(yyjson_mut_doc *doc, struct toolrack_text **ret,
                        struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    size_t length = 0;
    CLEANUP(freep) char *text = doc == NULL ? NULL : yyjson_mut_write(doc, 0, &length);
    yyjson_mut_doc_free(doc);
    if (text == NULL) {
        return error_oom(err);
    }
    buf_add(&out, text, length);
    *ret = text_create(&out);
    return *ret != NULL ? 0 : error_oom(err);
}

static yyjson_mut_doc *begin_document(yyjson_mut_val **ret_root) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    *ret_root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, *ret_root);
    return doc;
}

/* --------------------------------------------------------------- isolation */

static void add_layers(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                       uint32_t layers) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, key);
    for (uint32_t layer = 1; layer != 0; layer <<= 1) {
        if ((layers & layer) != 0) {
            CLEANUP(buf_finish) struct buf word = BUF_INIT;
            sandbox_describe(layer, &word);
            (void)yyjson_mut_arr_add_strcpy(doc, list, word.failed ? "" : word.data);
        }
    }
}

/* A worker that has started knows better than anybody what is in force. */
static void add_sandbox(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct policy *policy,
                        const struct crew_status *status) {
    yyjson_mut_val *sandbox = yyjson_mut_obj_add_obj(doc, root, "sandbox");
    uint32_t wanted = sandbox_wanted(&policy->sandbox);
    uint32_t available = status->started ? status->layers : sandbox_available(&policy->sandbox);
    add_layers(doc, sandbox, "wanted", wanted);
    add_layers(doc, sandbox, "in_force", wanted & available);
    add_layers(doc, sandbox, "missing", wanted & ~available);
}

static void add_capabilities(yyjson_mut_doc *doc, yyjson_mut_val *root,
                             const struct policy *policy) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "capabilities");
    for (size_t i = 0; i < policy->capability_count; i++) {
        const struct policy_capability *capability = &policy->capabilities[i];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        add_text(doc, row, "kind", policy_capability_name(capability->declared->kind));
        add_text(doc, row, "value", capability->declared->value);
        (void)yyjson_mut_obj_add_bool(doc, row, "allowed", capability->allowed);
        if (capability->declared->kind == TR_CAP_READ ||
            capability->declared->kind == TR_CAP_WRITE) {
            add_text(doc, row, "path", capability->path);
        }
    }
}

static uint64_t or_default(uint64_t number, uint64_t otherwise) {
    return number != 0 ? number : otherwise;
}

static void add_limits(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct policy *policy) {
    const struct sandbox_limits *limits = &policy->sandbox.limits;
    const struct crew_limits *crew = &policy->limits;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
            {"memory_mb", or_default(limits->memory_bytes, SANDBOX_MEMORY_DEFAULT) >> 20},
            {"file_mb", or_default(limits->file_size_bytes, SANDBOX_FILE_SIZE_DEFAULT) >> 20},
            {"cpu_s", or_default(limits->cpu_s, SANDBOX_CPU_DEFAULT_S)},
            {"files", or_default(limits->files, SANDBOX_FILES_DEFAULT)},
            {"processes", or_default(limits->processes, SANDBOX_PROCESSES_DEFAULT)},
            {"workers", or_default(crew->workers_max, CREW_WORKERS_DEFAULT)},
            {"queue", or_default(crew->queue_max, CREW_QUEUE_DEFAULT)},
            {"start_ms", or_default(crew->start_ms, CREW_START_MS_DEFAULT)},
            {"idle_ms", or_default(crew->idle_ms, CREW_IDLE_MS_DEFAULT)},
            {"grace_ms", or_default(crew->grace_ms, CREW_GRACE_MS)},
            {"backoff_ms", or_default(crew->backoff_ms, CREW_BACKOFF_MS)},
            {"backoff_max_ms", or_default(crew->backoff_ms_max, CREW_BACKOFF_MS_MAX)},
            {"crashes", or_default(crew->crashes_max, CREW_CRASHES_MAX)},
            {"crashes_window_ms", or_default(crew->crashes_window_ms, CREW_CRASHES_WINDOW_MS)},
    };
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "limits");
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        (void)yyjson_mut_obj_add_uint(doc, object, rows[i].name, rows[i].value);
    }
}

static void add_crew(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct crew_status *status) {
    (void)yyjson_mut_obj_add_uint(doc, root, "workers", status->workers);
    (void)yyjson_mut_obj_add_uint(doc, root, "busy", status->busy);
    (void)yyjson_mut_obj_add_uint(doc, root, "waiting", status->waiting);
    (void)yyjson_mut_obj_add_uint(doc, root, "crashes", status->crashes);
}

int toolrack_describe_isolation(struct toolrack *host, const char *name, struct toolrack_text **ret,
                                struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = plugin_of_tool(host, name);
    if (plugin == NULL) {
        return registry_not_found(host->registry, name, err);
    }
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = begin_document(&root);
    add_text(doc, root, "isolation", plugin->isolated ? "process" : "none");
    const struct generation *generation = generation_of(plugin);
    if (generation != NULL) {
        add_capabilities(doc, root, &generation->policy);
    }
    if (generation != NULL && plugin->isolated) {
        struct crew *crew = atomic_load(&plugin->crew);
        struct crew_status status = {0};
        if (crew != NULL) {
            crew_status(crew, &status);
        }
        add_sandbox(doc, root, &generation->policy, &status);
        add_limits(doc, root, &generation->policy);
        add_crew(doc, root, &status);
    }
    return end_document(doc, ret, err);
}

/* -------------------------------------------------------------------- why */

struct crash_list {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void add_crash(void *user, const struct store_crash *crash) {
    struct crash_list *crashes = user;
    yyjson_doc *bundle = yyjson_read(crash->bundle, strlen(crash->bundle), 0);
    yyjson_mut_val *copy = yyjson_val_mut_copy(crashes->doc, yyjson_doc_get_root(bundle));
    if (copy != NULL) {
        (void)yyjson_mut_arr_append(crashes->list, copy);
    }
    yyjson_doc_free(bundle);
}

static int add_crashes(struct toolrack *host, const char *plugin_id, yyjson_mut_doc *doc,
                       yyjson_mut_val *root, struct toolrack_error *err) {
    struct crash_list crashes = {.doc = doc, .list = yyjson_mut_obj_add_arr(doc, root, "crashes")};
    return host->store == NULL
                   ? 0
                   : store_crashes_read(host->store, plugin_id, add_crash, &crashes, err);
}

int toolrack_why(struct toolrack *host, const char *name, struct toolrack_text **ret,
                 struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = host_find_plugin(host, name, err);
    if (plugin == NULL) {
        return TOOLRACK_E_NOT_FOUND;
    }
    const struct tr_plugin *about = plugin->desc->plugin;
    char reason[TOOLRACK_ERROR_MESSAGE_MAX] = "";
    enum toolrack_tool_state state = plugin_state(plugin);
    plugin_reason(plugin, reason, sizeof reason);
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = begin_document(&root);
    add_text(doc, root, "plugin", about->id);
    add_text(doc, root, "version", about->version);
    add_text(doc, root, "file", plugin->path);
    add_text(doc, root, "state", tool_state_name(state));
    add_text(doc, root, "reason", reason[0] != '\0' ? reason : NULL);
    int code = add_crashes(host, about->id, doc, root, err);
    if (code < 0) {
        yyjson_mut_doc_free(doc);
        return code;
    }
    return end_document(doc, ret, err);
}
