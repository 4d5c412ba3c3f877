#include "api/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

#define DEADLINE_MS_DEFAULT 30000u

const char *toolrack_version(void) {
    return TOOLRACK_VERSION;
}

/* ------------------------------------------------------------------ events */

void host_tell(const struct toolrack *host, const struct toolrack_event *event) {
    if (host->options.event != NULL && !atomic_load(&host->closed)) {
        host->options.event(host->options.user, event);
    }
}

void host_tool_event(void *user, enum toolrack_event_kind kind, const struct toolrack_tool *tool) {
    host_tell(user, &(struct toolrack_event){.kind = kind,
                                             .tool = toolrack_tool_name(tool),
                                             .version = toolrack_tool_version(tool),
                                             .plugin = toolrack_tool_plugin(tool)});
    if (kind == TOOLRACK_EVENT_ADDED) {
        /* Again: it may have been approved between the check before it was listed and now. */
        pins_check(user, tool->reg);
        pins_tell(user, tool);
    }
}

void host_plugin_event(void *user, enum toolrack_event_kind kind, struct plugin *plugin,
                       const char *message) {
    const struct toolrack *host = user;
    const char *id = plugin->desc->plugin->id;
    int level = kind == TOOLRACK_EVENT_FAILED || kind == TOOLRACK_EVENT_QUARANTINED ? LOG_ERROR
                : kind == TOOLRACK_EVENT_STUCK || kind == TOOLRACK_EVENT_CRASHED    ? LOG_WARNING
                                                                                    : LOG_DEBUG;
    log_line(&host->log, level, id, "%s",
             message != NULL                    ? message
             : kind == TOOLRACK_EVENT_LOADED    ? "loaded"
             : kind == TOOLRACK_EVENT_RELEASED  ? "released from quarantine"
             : kind == TOOLRACK_EVENT_RECOVERED ? "the last call that was given up has returned"
                                                : "");
    host_tell(host, &(struct toolrack_event){.kind = kind, .plugin = id, .message = message});
}

static void host_log(void *user, int level, const char *source, const char *line) {
    const struct toolrack *host = user;
    if (!atomic_load(&host->closed)) {
        host->options.log(host->options.user, (enum toolrack_log_level)level, source, line);
    }
}

static const char *host_plugin_setting(void *user, const char *plugin_id, const char *path) {
    struct toolrack *host = user;
    (void)pthread_mutex_lock(&host->config_lock);
    const char *value = config_plugin_setting(&host->config, plugin_id, path);
    (void)pthread_mutex_unlock(&host->config_lock);
    return value;
}

struct descriptor_options host_descriptor_options(bool *no_memory) {
    *no_memory = false;
    return (struct descriptor_options){.check_schema = tool_check_schema,
                                       .check_values = tool_check_values,
                                       .user = no_memory};
}

/* -------------------------------------------------------------------- open */

static struct toolrack *host_create(const struct toolrack_options *options) {
    struct toolrack *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return NULL;
    }
    if (options != NULL) {
        memcpy(&host->options, options,
               options->size < sizeof host->options ? options->size : sizeof host->options);
    }
    (void)pthread_mutex_init(&host->config_lock, NULL);
    (void)pthread_mutex_init(&host->stage_lock, NULL);
    (void)pthread_mutex_init(&host->generations_lock, NULL);
    quarantines_init(&host->quarantines);
    consents_init(&host->consents);
    decisions_init(&host->decisions);
    host->log = (struct log){.write = host->options.log != NULL ? host_log : NULL,
                             .user = host,
                             .level_min = (int)host->options.log_level};
    host->images =
            (struct image_host){.log = &host->log, .config = host_plugin_setting, .user = host};
    return host;
}

static int read_config(struct toolrack *host, const struct places *places,
                       struct toolrack_error *err) {
    return places->config_file == NULL
                   ? 0
                   : config_read(&host->config, places->config_file, places->config_optional, err);
}

static int make_parts(struct toolrack *host, struct toolrack_error *err) {
    uint32_t deadline_ms =
            host->options.deadline_ms != 0 ? host->options.deadline_ms : host->config.deadline_ms;
    host->calls =
            (struct call_host){.log = &host->log,
                               .deadline_ms = deadline_ms != 0 ? deadline_ms : DEADLINE_MS_DEFAULT,
                               .permit = permission_check,
                               .event = host_plugin_event,
                               .user = host};
    host->isolation =
            host->options.isolation == TOOLRACK_ISOLATION_NONE ? ISOLATION_NONE : ISOLATION_PROCESS;
    host->require_sandbox = host->options.require_sandbox || host->config.require_sandbox;
    host->registry =
            registry_create(&(struct registry_options){.duplicates = host->config.duplicates,
                                                       .log = &host->log,
                                                       .event = host_tool_event,
                                                       .registering = pins_check,
                                                       .user = host});
    host->pool = pool_create(&host->calls, host->options.threads_max);
    return host->registry == NULL || host->pool == NULL ? error_oom(err) : 0;
}

static void take_setting(void *user, const struct store_setting *kept) {
    const struct toolrack *host = user;
    const struct registry_setting setting = {.selector = kept->selector,
                                             .has_enabled = kept->has_enabled,
                                             .enabled = kept->enabled,
                                             .has_priority = kept->has_priority,
                                             .priority = kept->priority};
    struct toolrack_error err;
    if (registry_set(host->registry, &setting, NULL, NULL, &err) < 0) {
        log_line(&host->log, LOG_ERROR, "store", "the setting of '%s' is left out: %s",
                 kept->selector, err.message);
    }
}

/* The host serves without what it cannot read, and says so. */
static int open_store(struct toolrack *host, const struct places *places,
                      struct toolrack_error *err) {
    if (places->state_dir == NULL) {
        return 0;
    }
    struct toolrack_error reason = {0};
    host->store = store_open(places->state_dir, &reason);
    if (host->store == NULL) {
        return error_oom(err);
    }
    if (reason.code == 0) {
        (void)store_read_settings(host->store, take_setting, host, &reason);
    }
    if (reason.code == 0) {
        (void)quarantines_read(host, &reason);
    }
    if (reason.code == 0) {
        (void)consents_read(host, &reason);
    }
    if (reason.code != 0) {
        log_line(&host->log, LOG_ERROR, "store", "settings made earlier are not in effect: %s",
                 reason.message);
    }
    return 0;
}

/* -------------------------------------------------------------------- scan */

static void refuse_file(struct toolrack *host, const struct scan_file *file) {
    const struct descriptor *desc = file->descriptor;
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (finding->severity == FINDING_ERROR) {
            registry_refuse(host->registry,
                            &(struct toolrack_refusal){
                                    .file = file->path,
                                    .plugin = desc->plugin != NULL ? desc->plugin->id : NULL,
                                    .tool = finding->tool,
                                    .rule = finding->rule,
                                    .reason = finding->cause,
                                    .fix = finding->fix});
        }
    }
}

static void refuse_folders(struct toolrack *host, const struct scan *scan) {
    for (size_t i = 0; i < scan->trouble_count; i++) {
        const struct scan_trouble *trouble = &scan->troubles[i];
        log_line(&host->log, LOG_WARNING, "scan", "%s: %s", trouble->path, trouble->reason);
    }
}

static int register_files(struct toolrack *host, const struct scan *scan,
                          struct toolrack_error *err) {
    struct plugin **plugins = calloc(scan->file_count + 1, sizeof(struct plugin *));
    size_t count = 0;
    int code = plugins == NULL ? error_oom(err) : 0;
    for (size_t i = 0; code == 0 && i < scan->file_count; i++) {
        const struct scan_file *file = &scan->files[i];
        refuse_file(host, file);
        if (file->descriptor->plugin == NULL) {
            continue;
        }
        code = generation_create(host, file, &plugins[count], err);
        count += code == 0;
    }
    if (code == 0) {
        code = registry_add(host->registry, plugins, count, err);
    }
    for (size_t i = 0; i < count; i++) {
        plugin_unref(plugins[i]);
    }
    free(plugins);
    return code;
}

static int scan_folders(struct toolrack *host, const struct places *places,
                        struct toolrack_error *err) {
    struct scan *scan = NULL;
    bool no_memory;
    int code = scan_run(&(struct scan_options){.folders = places->folders,
                                               .folder_count = places->folder_count,
                                               .cache_path = places->cache_path,
                                               .descriptor = host_descriptor_options(&no_memory),
                                               .log = &host->log},
                        &scan, err);
    if (code == 0 && no_memory) {
        code = error_oom(err);
    }
    if (code == 0) {
        refuse_folders(host, scan);
        code = register_files(host, scan, err);
    }
    scan_destroy(scan);
    return code;
}

/* What is needed of them later. */
static int keep_paths(struct toolrack *host, const struct places *places,
                      struct toolrack_error *err) {
    if (places->state_dir != NULL &&
        asprintf(&host->stage_dir, "%s/images", places->state_dir) < 0) {
        host->stage_dir = NULL;
        return error_oom(err);
    }
    if (host->options.worker_program != NULL) {
        host->worker_program = strdup(host->options.worker_program);
        return host->worker_program != NULL ? 0 : error_oom(err);
    }
    return 0;
}

static int open_with(struct toolrack *host, struct arena *arena, struct toolrack_error *err) {
    struct places places;
    int code = places_find(&host->options, arena, &places, err);
    if (code == 0) {
        code = keep_paths(host, &places, err);
    }
    if (code == 0) {
        code = read_config(host, &places, err);
    }
    if (code == 0) {
        code = make_parts(host, err);
    }
    if (code == 0) {
        code = open_store(host, &places, err);
    }
    if (code < 0 || host->options.no_scan) {
        return code;
    }
    code = places_add_folders(&host->options, &host->config, arena, &places, err);
    return code < 0 ? code : scan_folders(host, &places, err);
}

int toolrack_open(const struct toolrack_options *options, struct toolrack **ret,
                  struct toolrack_error *err) {
    struct toolrack *host = host_create(options);
    if (host == NULL) {
        return error_oom(err);
    }
    struct arena arena;
    arena_init(&arena, NULL, 0);
    int code = open_with(host, &arena, err);
    arena_finish(&arena);
    if (code < 0) {
        toolrack_close(host);
        return code;
    }
    /* The caller's own memory: theirs again now. */
    host->options.config_file = NULL;
    host->options.state_dir = NULL;
    host->options.plugin_dirs = NULL;
    host->options.worker_program = NULL;
    *ret = host;
    return 0;
}

void toolrack_close(struct toolrack *host) {
    if (host == NULL) {
        return;
    }
    bool quiet = pool_destroy(host->pool);
    registry_destroy(host->registry);
    generations_end(host);
    decisions_finish(host);
    store_close(host->store);
    atomic_store(&host->closed, true);
    if (!quiet) {
        return; /* a plugin that is still being loaded asks it for settings, and tells it things */
    }
    config_finish(&host->config);
    quarantines_finish(&host->quarantines);
    consents_finish(&host->consents);
    (void)pthread_mutex_destroy(&host->config_lock);
    (void)pthread_mutex_destroy(&host->stage_lock);
    (void)pthread_mutex_destroy(&host->generations_lock);
    free(host->stage_dir);
    free(host->worker_program);
    free(host);
}
