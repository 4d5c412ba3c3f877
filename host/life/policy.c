#include "life/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "life/data.h"
#include "life/guard-way.h"
#include "life/guard.h"
#include "life/programs.h"
#include "plugin/capability.h"

const char *policy_capability_name(uint32_t kind) {
    return capability_kind_name(kind);
}

/* A policy under construction. */
struct making {
    const struct policy_options *options;
    const struct config_policy *asked;
    struct arena *arena;
    struct policy *policy;
    /* The arrays that the sandbox and the environment will point to, large enough for all
     * capabilities. */
    const char **read_paths;
    const char **write_paths;
    uint16_t *ports;
    const char **programs;
    size_t program_count;
    bool all_ports;
    bool all_programs;
    struct guard guard;
    const char **environment;
    size_t environment_count;
};

/* ------------------------------------------------------------------ allowed */

bool policy_is_word(const char *allowance) {
    return strchr(allowance, ':') == NULL;
}

const char *policy_capability_text(struct arena *arena, const struct tr_capability *capability) {
    return arena_printf(arena, "%s:%s", policy_capability_name(capability->kind),
                        capability->value);
}

static const struct policy_row *find_row(const struct making *making,
                                         enum store_capability_kind kind, const char *word,
                                         const char *capability) {
    for (size_t i = 0; i < making->options->row_count; i++) {
        const struct policy_row *row = &making->options->rows[i];
        if (row->kind == kind && strcmp(row->word, word) == 0 &&
            strcmp(row->capability, capability) == 0) {
            return row;
        }
    }
    return NULL;
}

/* A word covers what was declared when it first applied. */
static bool is_covered(const struct making *making, const char *word, const char *text) {
    return making->policy->pin == PIN_OFF ||
           (!making->options->rows_unread &&
            (find_row(making, STORE_CAPABILITY_COVERED, word, "") == NULL ||
             find_row(making, STORE_CAPABILITY_COVERED, word, text) != NULL));
}

/* ------------------------------------------------------------- placeholders */

#define SETTING_PREFIX "setting:"

/* ${workspace}, ${home}: folders that the administrator set. ${data}: the plugin's own.
 * ${setting:rates_file}: the value of the plugin's own setting, also written by the administrator.
 */
static const char *placeholder(const struct making *making, const char *name, size_t length) {
    const struct config *config = making->options->config;
    size_t prefix = strlen(SETTING_PREFIX);
    if (length == strlen("data") && memcmp(name, "data", length) == 0 &&
        config_placeholder(config, name, length) == NULL) {
        return making->guard.own_folder;
    }
    if (length <= prefix || memcmp(name, SETTING_PREFIX, prefix) != 0) {
        return config_placeholder(config, name, length);
    }
    const char *key = arena_copy(making->arena, name + prefix, length - prefix);
    yyjson_val *settings = config_plugin_settings(config, making->options->desc->plugin->id);
    return yyjson_get_str(json_at(settings, key));
}

static bool expand(const struct making *making, const char *text, struct buf *out) {
    while (*text != '\0') {
        const char *end = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL;
        if (end == NULL) {
            buf_add(out, text++, 1);
            continue;
        }
        const char *path = placeholder(making, text + 2, (size_t)(end - text) - 2);
        if (path == NULL) {
            return false;
        }
        buf_add_text(out, path);
        text = end + 1;
    }
    return true;
}

/* The real path, in the arena; NULL where there is none, or when out of memory: then *ret_failed is
 * set. */
static const char *real_path(const struct making *making, const char *text, bool *ret_failed) {
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    bool known = expand(making, text, &path);
    *ret_failed = path.failed;
    if (path.failed || !known || path.length == 0 || path.data[0] != '/') {
        return NULL;
    }
    /* Symbolic links are resolved: otherwise a user who may change a link would decide what is
     * granted. A path that does not exist grants nothing. */
    struct guard_way way;
    if (strlen(path.data) >= PATH_MAX || !guard_walk(making->arena, path.data, &way)) {
        return NULL; /* links without end, or too long */
    }
    return way.end;
}

/* ------------------------------------------------------------------- grants */

static int too_many(const struct making *making, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "plugin '%s' is allowed more paths or ports than the %u and %u of a sandbox",
                     making->options->desc->plugin->id, SANDBOX_PATHS_MAX, SANDBOX_PORTS_MAX);
}

/* Let the worker read or write at and below a path, unless it is the host's. */
static int grant_path(struct making *making, struct policy_capability *capability, const char *path,
                      struct toolrack_error *err) {
    struct sandbox_policy *sandbox = &making->policy->sandbox;
    bool reads = capability->declared->kind == TR_CAP_READ;
    size_t *count = reads ? &sandbox->read_path_count : &sandbox->write_path_count;
    const char *own = making->guard.own_folder;
    if (own != NULL && strcmp(own, path) == 0) {
        capability->refusal = data_make(making->arena, path);
    }
    int code = capability->refusal != NULL
                       ? 0
                       : guard_grant(&making->guard, path, !reads, &capability->refusal, err);
    if (code < 0 || capability->refusal != NULL) {
        return code;
    }
    if (*count == SANDBOX_PATHS_MAX) {
        return too_many(making, err);
    }
    (reads ? making->read_paths : making->write_paths)[(*count)++] = path;
    return 0;
}

static int grant_program(struct making *making, struct policy_capability *capability,
                         struct toolrack_error *err) {
    const char *value = capability->declared->value;
    const char *files[PROGRAM_FILES_MAX];
    struct capability_fault unused;
    if (strcmp(value, "*") == 0) {
        making->policy->sandbox.spawn = true;
        making->all_programs = true;
        return 0;
    }
    size_t count = capability_check(TR_CAP_SPAWN, value, &unused)
                           ? program_files(making->arena, value, files)
                           : 0;
    if (count == 0) {
        capability->refusal = arena_printf(making->arena, "there is no program %s", value);
        return capability->refusal != NULL ? 0 : error_oom(err);
    }
    if (making->program_count + count > SANDBOX_PATHS_MAX) {
        return too_many(making, err);
    }
    making->policy->sandbox.spawn = true;
    memcpy(making->programs + making->program_count, files, count * sizeof *files);
    making->program_count += count;
    return 0;
}

/* Let the sandbox do what an allowed capability says. */
static int grant(struct making *making, struct policy_capability *capability,
                 struct toolrack_error *err) {
    struct sandbox_policy *sandbox = &making->policy->sandbox;
    const char *value = capability->declared->value;
    switch (capability->declared->kind) {
    case TR_CAP_READ:
    case TR_CAP_WRITE: /* without a folder it is shown as allowed, and grants nothing */
        return capability->path != NULL ? grant_path(making, capability, capability->path, err) : 0;
    case TR_CAP_NETWORK: {
        struct capability_network network;
        struct capability_fault unused;
        if (!capability_read_network(value, &network, &unused)) {
            return 0; /* a descriptor that an app registers is not refused for it */
        }
        sandbox->udp = sandbox->udp || network.is_udp;
        sandbox->network = sandbox->network || !network.is_udp;
        if (network.is_udp || network.port == 0) {
            making->all_ports = making->all_ports || !network.is_udp;
            return 0;
        }
        if (sandbox->port_count == SANDBOX_PORTS_MAX) {
            return too_many(making, err);
        }
        making->ports[sandbox->port_count++] = network.port;
        return 0;
    }
    case TR_CAP_SPAWN: return grant_program(making, capability, err);
    case TR_CAP_ENV: {
        struct capability_fault unused;
        const char *found = getenv(value);
        if (found == NULL || !capability_check(TR_CAP_ENV, value, &unused)) {
            return 0;
        }
        const char *entry = arena_printf(making->arena, "%s=%s", value, found);
        making->environment[making->environment_count++] = entry;
        return entry != NULL ? 0 : error_oom(err);
    }
    default: return 0;
    }
}

/* ------------------------------------------------------------------ allowed */

/* The path of an item of "allow" that grants less than is declared: a folder in it, or a file. */
static const char *narrower_path(const struct making *making, const char *allowance,
                                 const struct policy_capability *capability, bool *ret_failed) {
    const char *kind = capability_kind_name(capability->declared->kind);
    size_t length = strlen(kind);
    *ret_failed = false;
    if (capability->path == NULL || strncmp(allowance, kind, length) != 0 ||
        allowance[length] != ':') {
        return NULL;
    }
    const char *path = real_path(making, allowance + length + 1, ret_failed);
    const char *below = path != NULL ? guard_below(path, capability->path) : NULL;
    return below != NULL && below[0] != '\0' ? path : NULL;
}

/* What the first allowance of it grants; the narrower ones together, if none grants the whole. What
 * a person has decided about it comes before. */
static int add_allowed(struct making *making, struct policy_capability *capability,
                       struct toolrack_error *err) {
    const struct tr_capability *declared = capability->declared;
    const char *text = policy_capability_text(making->arena, declared);
    if (text == NULL) {
        return error_oom(err);
    }
    capability->is_taken = find_row(making, STORE_CAPABILITY_TAKEN, "", text) != NULL;
    if (capability->is_taken) {
        return 0;
    }
    if (find_row(making, STORE_CAPABILITY_GIVEN, "", text) != NULL) {
        capability->allowed = true;
        return grant(making, capability, err);
    }
    size_t at;
    size_t count;
    yyjson_val *allowance;
    yyjson_arr_foreach (making->asked->allow, at, count, allowance) {
        const char *item = yyjson_get_str(allowance);
        if (capability_is_allowed(item, declared->kind, declared->value)) {
            capability->is_new = policy_is_word(item) && !is_covered(making, item, text);
            if (capability->is_new) {
                continue;
            }
            capability->allowed = true;
            capability->allowance = yyjson_get_str(allowance);
            capability->allowance_line = config_allowance_line(
                    making->options->config, making->options->desc->plugin->id, at, NULL);
            return grant(making, capability, err);
        }
    }
    yyjson_arr_foreach (making->asked->allow, at, count, allowance) {
        bool failed;
        const char *path = narrower_path(making, yyjson_get_str(allowance), capability, &failed);
        if (failed) {
            return error_oom(err);
        }
        int code = path != NULL ? grant_path(making, capability, path, err) : 0;
        if (code < 0) {
            return code;
        }
        if (path != NULL && (!capability->allowed || capability->refusal != NULL)) {
            capability->allowed = true;
            capability->path = path;
            capability->allowance = yyjson_get_str(allowance);
            capability->allowance_line = config_allowance_line(
                    making->options->config, making->options->desc->plugin->id, at, NULL);
        }
        if (capability->refusal != NULL) {
            return 0;
        }
    }
    if (!capability->allowed && making->options->trust == TRUST_BUILTIN &&
        declared->kind == TR_CAP_READ) {
        capability->allowed = true;
        return grant(making, capability, err);
    }
    capability->is_new = capability->is_new && !capability->allowed;
    return 0;
}

static int add_capability(struct making *making, const struct tr_capability *declared,
                          struct policy_capability *ret, struct toolrack_error *err) {
    *ret = (struct policy_capability){.declared = declared};
    if (declared->kind == TR_CAP_READ || declared->kind == TR_CAP_WRITE) {
        bool failed;
        ret->path = real_path(making, declared->value, &failed);
        if (failed) {
            return error_oom(err);
        }
    }
    int code = add_allowed(making, ret, err);
    if (code == 0 && ret->refusal != NULL) {
        ret->allowed = false;
    }
    return code;
}

static int add_capabilities(struct making *making, struct toolrack_error *err) {
    const struct tr_plugin *plugin = making->options->desc->plugin;
    uint32_t count = plugin->capability_count;
    struct policy_capability *capabilities =
            arena_zalloc(making->arena, (count + 1) * sizeof *capabilities);
    making->read_paths = arena_alloc(making->arena, SANDBOX_PATHS_MAX * sizeof(char *));
    making->write_paths = arena_alloc(making->arena, SANDBOX_PATHS_MAX * sizeof(char *));
    making->ports = arena_alloc(making->arena, SANDBOX_PORTS_MAX * sizeof *making->ports);
    making->programs = arena_alloc(making->arena, SANDBOX_PATHS_MAX * sizeof(char *));
    making->environment = arena_zalloc(making->arena, (count + 1) * sizeof(char *));
    if (capabilities == NULL || making->read_paths == NULL || making->write_paths == NULL ||
        making->ports == NULL || making->programs == NULL || making->environment == NULL) {
        return error_oom(err);
    }
    making->policy->capabilities = capabilities;
    making->policy->capability_count = count;
    for (uint32_t i = 0; i < count; i++) {
        int code = add_capability(making, &plugin->capabilities[i], &capabilities[i], err);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* Whether an item of "allow" names something that is declared, or less of it. */
static bool is_used(const struct making *making, const char *item, bool *ret_failed) {
    const struct tr_plugin *plugin = making->options->desc->plugin;
    for (uint32_t i = 0; i < plugin->capability_count; i++) {
        struct policy_capability capability = {.declared = &plugin->capabilities[i]};
        uint32_t kind = capability.declared->kind;
        if (capability_is_allowed(item, kind, capability.declared->value)) {
            return true;
        }
        if (kind != TR_CAP_READ && kind != TR_CAP_WRITE) {
            continue;
        }
        capability.path = real_path(making, capability.declared->value, ret_failed);
        if (*ret_failed || narrower_path(making, item, &capability, ret_failed) != NULL) {
            return true;
        }
    }
    return false;
}

static int note_used(const struct making *making, struct toolrack_error *err) {
    yyjson_val *allow = making->asked->allow;
    bool *used = arena_zalloc(making->arena, yyjson_arr_size(allow) + 1);
    bool failed = used == NULL;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (allow, at, count, item) {
        if (!failed) {
            used[at] = is_used(making, yyjson_get_str(item), &failed);
        }
    }
    making->policy->allowances_used = used;
    return failed ? error_oom(err) : 0;
}

/* -------------------------------------------------------------------- whole */

static enum isolation choose_isolation(const struct policy_options *options,
                                       const struct config_policy *asked) {
    return asked->isolation != ISOLATION_UNSTATED     ? asked->isolation
           : options->isolation != ISOLATION_UNSTATED ? options->isolation
           : config_settings(options->config)->isolation != ISOLATION_UNSTATED
                   ? config_settings(options->config)->isolation
           : options->app_isolation != ISOLATION_UNSTATED ? options->app_isolation
                                                          : ISOLATION_PROCESS;
}

static enum pin_policy choose_pin(const struct policy_options *options,
                                  const struct config_policy *asked) {
    return asked->pin != PIN_UNSTATED     ? asked->pin
           : options->pin != PIN_UNSTATED ? options->pin
           : config_settings(options->config)->pin != PIN_UNSTATED
                   ? config_settings(options->config)->pin
           : options->trust == TRUST_COMMUNITY ? PIN_ENFORCE
                                               : PIN_WARN;
}

/* A plugin that declares threads gets more of them where the administrator states no number. */
static uint32_t choose_threads(const struct policy_options *options,
                               const struct config_policy *asked) {
    bool declares = (options->desc->plugin->flags & TR_STARTS_THREADS) != 0;
    return asked->threads != 0 ? asked->threads
           : declares          ? SANDBOX_THREADS_DECLARED
                               : SANDBOX_THREADS_DEFAULT;
}

int policy_make(const struct policy_options *options, struct arena *arena, struct policy *ret,
                struct toolrack_error *err) {
    struct config_policy asked;
    config_policy(options->config, options->desc->plugin->id, &asked);
    *ret = (struct policy){.isolation = choose_isolation(options, &asked),
                           .pin = choose_pin(options, &asked),
                           .keep = asked.keep,
                           .goes_back = asked.goes_back,
                           .measures_all = asked.measure == MEASURE_ALL,
                           .limits = {.workers_max = asked.workers,
                                      .queue_max = asked.queue,
                                      .start_ms = asked.start_ms,
                                      .idle_ms = asked.idle_ms,
                                      .grace_ms = asked.grace_ms,
                                      .backoff_ms = asked.backoff_ms,
                                      .backoff_ms_max = asked.backoff_max_ms,
                                      .crashes_max = asked.crashes,
                                      .crashes_window_ms = asked.crashes_window_ms,
                                      .idle_cpu_percent = asked.idle_cpu_percent},
                           .sandbox.network_namespace = asked.network_namespace,
                           .sandbox.limits = {.memory_bytes = (uint64_t)asked.memory_mb << 20,
                                              .file_size_bytes = (uint64_t)asked.file_mb << 20,
                                              .cpu_s = asked.cpu_s,
                                              .files = asked.files,
                                              .processes = asked.processes,
                                              .threads = choose_threads(options, &asked)}};
    struct making making = {.options = options,
                            .asked = &asked,
                            .arena = arena,
                            .policy = ret,
                            .guard = {.arena = arena,
                                      .places = options->places,
                                      .worker_program = options->worker_program,
                                      .config = options->config,
                                      .no_mounts = options->no_mounts}};
    if (options->places != NULL && options->origin != NULL &&
        options->desc->plugin->capability_count > 0) {
        making.guard.own_folder =
                data_folder(arena, options->places, options->desc->plugin->id, options->origin);
    }
    int code = add_capabilities(&making, err);
    code = code < 0 ? code : note_used(&making, err);
    if (code < 0) {
        return code;
    }
    ret->sandbox.read_paths = making.read_paths;
    ret->sandbox.write_paths = making.write_paths;
    ret->sandbox.ports = making.ports;
    ret->sandbox.programs = making.programs;
    ret->sandbox.program_count = making.all_programs ? 0 : making.program_count;
    guard_finish(&making.guard, &ret->sandbox);
    if (making.all_ports) {
        ret->sandbox.port_count = 0;
    }
    ret->environment = making.environment;
    return 0;
}
