/* Explains a plugin's state: the part of `toolrack why` and `show` that is about the plugin. */
#include "life/life.h"

#include <sodium.h>
#include <string.h>

#include "base/error.h"
#include "life/find.h"
#include "life/history.h"
#include "life/parts.h"
#include "registry/document.h"
#include "registry/registry.h"
#include "store/crashes.h"
#include "worker/crew.h"

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
            {"threads", or_default(limits->threads, SANDBOX_THREADS_DEFAULT)},
            {"workers", or_default(crew->workers_max, CREW_WORKERS_DEFAULT)},
            {"queue", or_default(crew->queue_max, CREW_QUEUE_DEFAULT)},
            {"start_ms", or_default(crew->start_ms, CREW_START_MS_DEFAULT)},
            {"idle_ms", or_default(crew->idle_ms, CREW_IDLE_MS_DEFAULT)},
            {"grace_ms", or_default(crew->grace_ms, CREW_GRACE_MS)},
            {"backoff_ms", or_default(crew->backoff_ms, CREW_BACKOFF_MS)},
            {"backoff_max_ms", or_default(crew->backoff_ms_max, CREW_BACKOFF_MS_MAX)},
            {"crashes", or_default(crew->crashes_max, CREW_CRASHES_MAX)},
            {"crashes_window_ms", or_default(crew->crashes_window_ms, CREW_CRASHES_WINDOW_MS)},
            {"idle_cpu_percent", or_default(crew->idle_cpu_percent, CREW_IDLE_CPU_PERCENT)},
    };
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "limits");
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        (void)yyjson_mut_obj_add_uint(doc, object, rows[i].name, rows[i].value);
    }
}

void life_describe_isolation(struct plugin *plugin, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    bool is_apart = plugin->isolated || strcmp(plugin->origin, ORIGIN_REMOTE) == 0;
    document_add_text(doc, root, "isolation", is_apart ? "process" : "none");
    const struct generation *generation = generation_of(plugin);
    if (generation == NULL) {
        return;
    }
    const struct policy *policy = &generation->policy;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "capabilities");
    for (size_t i = 0; i < policy->capability_count; i++) {
        const struct policy_capability *capability = &policy->capabilities[i];
        uint32_t kind = capability->declared->kind;
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        document_add_text(doc, row, "kind", policy_capability_name(kind));
        document_add_text(doc, row, "value", capability->declared->value);
        (void)yyjson_mut_obj_add_bool(doc, row, "allowed", capability->allowed);
        (void)yyjson_mut_obj_add_bool(doc, row, "new", capability->is_new);
        (void)yyjson_mut_obj_add_bool(doc, row, "taken", capability->is_taken);
        if (kind == TR_CAP_READ || kind == TR_CAP_WRITE || capability->path != NULL) {
            document_add_text(doc, row, "path", capability->path);
        }
        const char *const *item = capability->narrower;
        yyjson_mut_val *narrower = item != NULL && item[0] != NULL
                                           ? yyjson_mut_obj_add_arr(doc, row, "narrower")
                                           : NULL;
        for (; narrower != NULL && *item != NULL; item++) {
            (void)yyjson_mut_arr_add_strcpy(doc, narrower, *item);
        }
        if (capability->refusal != NULL) {
            document_add_text(doc, row, "refused", capability->refusal);
        }
    }
    if (!plugin->isolated) {
        return;
    }
    document_add_text(doc, root, "missing", missing_text(plugin->missing));
    struct crew *crew = atomic_load(&plugin->crew);
    struct crew_status status = {0};
    if (crew != NULL) {
        crew_status(crew, &status);
    }
    /* A worker that has started has reported the layers that are in force. */
    yyjson_mut_val *sandbox = yyjson_mut_obj_add_obj(doc, root, "sandbox");
    uint32_t wanted = sandbox_wanted(&policy->sandbox);
    uint32_t available = status.started ? status.layers : sandbox_available(&policy->sandbox);
    add_layers(doc, sandbox, "wanted", wanted);
    add_layers(doc, sandbox, "in_force", wanted & available);
    add_layers(doc, sandbox, "missing", wanted & ~available);
    add_limits(doc, root, policy);
    (void)yyjson_mut_obj_add_uint(doc, root, "workers", status.workers);
    (void)yyjson_mut_obj_add_uint(doc, root, "busy", status.busy);
    (void)yyjson_mut_obj_add_uint(doc, root, "waiting", status.waiting);
    (void)yyjson_mut_obj_add_uint(doc, root, "crashes", status.crashes);
}

void life_count_workers(struct life *life, struct supervisor_counts *ret) {
    isolate_count(&life->isolate, ret);
}

/* ----------------------------------------------------------------- crashes */

struct crash_list {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void add_crash(void *user, const struct store_crash *crash) {
    struct crash_list *crashes = user;
    yyjson_doc *bundle = yyjson_read(crash->bundle, strlen(crash->bundle), 0);
    yyjson_mut_val *copy = yyjson_val_mut_copy(crashes->doc, yyjson_doc_get_root(bundle));
    if (copy != NULL) {
        (void)yyjson_mut_obj_add_sint(crashes->doc, copy, "id", crash->id);
        (void)yyjson_mut_arr_append(crashes->list, copy);
    }
    yyjson_doc_free(bundle);
}

static void add_refusal(const struct toolrack_refusal *row, yyjson_mut_doc *doc,
                        yyjson_mut_val *list) {
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
    document_add_text(doc, object, "tool", row->tool);
    document_add_text(doc, object, "rule", row->rule);
    document_add_text(doc, object, "reason", row->reason);
    document_add_text(doc, object, "fix", row->fix);
}

/* The refusals of the file, whatever serves. */
static int add_refused(struct life *life, const struct plugin *plugin, yyjson_mut_doc *doc,
                       yyjson_mut_val *root, struct toolrack_error *err) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "refused");
    struct toolrack_refusals *refusals = registry_refusals(life->options.registry);
    if (refusals == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        if (row->file == NULL || plugin->path == NULL || strcmp(row->file, plugin->path) != 0 ||
            /* A file of definitions has many plugins. */
            (generation_of(plugin) == NULL &&
             (row->plugin == NULL || strcmp(row->plugin, plugin->desc->plugin->id) != 0))) {
            continue;
        }
        add_refusal(row, doc, list);
    }
    toolrack_refusals_free(refusals);
    return 0;
}

int life_describe(struct life *life, const struct plugin *plugin, yyjson_mut_doc *doc,
                  yyjson_mut_val *root, struct toolrack_error *err) {
    /* The content of the plugin: that of its copy, or of the file if it is still the file that was
     * read; an earlier content is known before it is loaded. */
    const struct generation *generation = generation_of(plugin);
    uint8_t sha256[STAGE_HASH_SIZE];
    char digits[2 * STAGE_HASH_SIZE + 1];
    bool is_earlier = generation != NULL && generation->is_earlier;
    bool known = atomic_load(&plugin->staged) || is_earlier;
    if (known) {
        memcpy(sha256, is_earlier ? generation->sha256 : plugin->sha256, sizeof sha256);
    } else {
        known = plugin->path != NULL &&
                stage_hash(plugin->path, &plugin->identity, sha256, NULL) == 0;
    }
    if (known) {
        (void)sodium_bin2hex(digits, sizeof digits, sha256, sizeof sha256);
    }
    (void)yyjson_mut_obj_add_uint(doc, root, "generation", plugin->generation);
    document_add_text(doc, root, "sha256", known ? digits : NULL);
    struct content_rollback unused;
    const char *key = generation != NULL ? generation->file->key : NULL;
    bool is_rolled_back = key != NULL && content_find_rollback(&life->options, key, &unused);
    (void)yyjson_mut_obj_add_bool(doc, root, "rolled_back", is_rolled_back);

    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "retired");
    struct retired note;
    for (size_t i = 0;
         generation != NULL && retire_get(&life->retirement, generation->file, i, &note); i++) {
        yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
        (void)yyjson_mut_obj_add_uint(doc, object, "generation", note.generation);
        document_add_text(doc, object, "state", retired_state_name(note.state));
        document_add_text(doc, object, "cause", note.cause[0] != '\0' ? note.cause : NULL);
    }

    document_add_text(doc, root, "missing", missing_text(plugin->missing));
    int code = add_refused(life, plugin, doc, root, err);
    if (code < 0) {
        return code;
    }
    struct crash_list crashes = {.doc = doc, .list = yyjson_mut_obj_add_arr(doc, root, "crashes")};
    code = store_crashes_read(life->options.store, plugin->identity_text, add_crash, &crashes, err);
    const struct history_subject subject = {.key = key,
                                            .identity = plugin->identity_text,
                                            .plugin = plugin->desc->plugin->id,
                                            .origin = plugin->origin};
    return code < 0 ? code : history_add(life, &subject, doc, root, err);
}

/* ----------------------------------------------------------------- refused */

/* Whether a refusal is about what a person named: a tool, a plugin, or a file by its path or name.
 */
static bool is_about(const struct toolrack_refusal *row, const char *name, const char *path) {
    const char *slash = row->file != NULL ? strrchr(row->file, '/') : NULL;
    return (row->tool != NULL && strcmp(row->tool, name) == 0) ||
           (row->plugin != NULL && strcmp(row->plugin, name) == 0) ||
           (row->file != NULL && (strcmp(row->file, path) == 0 || strcmp(row->file, name) == 0)) ||
           (slash != NULL && strcmp(slash + 1, name) == 0);
}

int life_describe_refused(struct life *life, const char *name, yyjson_mut_doc *doc,
                          yyjson_mut_val *root, struct toolrack_error *err) {
    struct toolrack_refusals *refusals = registry_refusals(life->options.registry);
    struct toolrack_error why = {0};
    const struct plugin_file *file = find_file(life, name, &why);
    const struct toolrack_refusal *first = NULL;
    yyjson_mut_val *list = NULL;
    if (refusals == NULL) {
        return error_oom(err);
    }
    if (file == NULL && why.code == TOOLRACK_E_INVALID) { /* several files have the name */
        toolrack_refusals_free(refusals);
        return error_set(err, why.code, "%s", why.message);
    }
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        if (!is_about(row, name, file != NULL ? file->path : name) ||
            (first != NULL && row->file != NULL && first->file != NULL &&
             strcmp(row->file, first->file) != 0)) {
            continue; /* of two files the first one is described, not a mixture */
        }
        if (first == NULL) {
            first = row;
            document_add_text(doc, root, "plugin", row->plugin);
            document_add_text(doc, root, "version", NULL);
            document_add_text(doc, root, "file", row->file);
            document_add_text(doc, root, "state", "refused");
            document_add_text(doc, root, "reason", row->reason);
            document_add_text(doc, root, "tool", row->tool);
            document_add_text(doc, root, "sha256", NULL);
            (void)yyjson_mut_obj_add_bool(doc, root, "rolled_back", false);
            (void)yyjson_mut_obj_add_arr(doc, root, "retired");
            list = yyjson_mut_obj_add_arr(doc, root, "refused");
        }
        add_refusal(row, doc, list);
    }
    int code = first == NULL ? TOOLRACK_E_NOT_FOUND : 0;
    if (code == 0) {
        (void)yyjson_mut_obj_add_arr(doc, root, "crashes");
        const struct plugin_file *of =
                first->file != NULL ? files_find(&life->files, first->file) : NULL;
        const struct scan_folder *folder = of != NULL ? of->folder : NULL;
        const struct history_subject subject = {.key = of != NULL ? of->key : NULL,
                                                .plugin = first->plugin,
                                                .origin = folder != NULL ? folder->origin
                                                          : first->file != NULL
                                                                  ? ORIGIN_CONFIGURATION
                                                                  : ORIGIN_APP};
        code = history_add(life, &subject, doc, root, err);
    }
    toolrack_refusals_free(refusals);
    return code;
}
