#include "life/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "life/data.h"
#include "life/guard-way.h"
#include "life/guard.h"
#include "life/policy-paths.h"
#include "life/policy-target.h"
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
    struct path_grants paths;
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

/* ------------------------------------------------------------------- grants */

static int too_many(const struct making *making, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "plugin '%s' is allowed more paths or ports than the %u and %u of a sandbox",
                     making->options->desc->plugin->id, SANDBOX_PATHS_MAX, SANDBOX_PORTS_MAX);
}

/* The folders of all programs; a plugin that may replace one would run anything. */
static int grant_all_programs(struct making *making, struct policy_capability *capability,
                              struct toolrack_error *err) {
    for (const char *const *at = program_folders(); *at != NULL; at++) {
        struct guard_way way;
        if (!guard_walk(making->paths.ways, *at, &way)) {
            return error_oom(err);
        }
        int code = path_grants_judge_program(&making->paths, &way, &capability->refusal, err);
        if (code < 0 || capability->refusal != NULL) {
            return code;
        }
    }
    making->policy->sandbox.spawn = true;
    making->all_programs = true;
    return 0;
}

static int grant_file(struct making *making, struct policy_capability *capability, const char *file,
                      struct toolrack_error *err) {
    for (size_t i = 0; i < making->program_count; i++) {
        if (strcmp(making->programs[i], file) == 0) {
            return 0; /* most programs have the same loader */
        }
    }
    if (making->program_count == SANDBOX_PATHS_MAX) {
        return too_many(making, err);
    }
    int code = guard_grant(&making->guard, file, false, &capability->refusal, err);
    const char *path = arena_copy(making->arena, file, strlen(file));
    making->programs[making->program_count++] = path;
    return code == 0 && path == NULL ? error_oom(err) : code;
}

/* Let the worker execute a program and what starts it, unless one of these is the host's or could
 * be changed by the plugin. */
static int grant_program(struct making *making, struct policy_capability *capability,
                         struct toolrack_error *err) {
    const char *value = capability->declared->value;
    struct program program;
    if (strcmp(value, "*") == 0) {
        return grant_all_programs(making, capability, err);
    }
    const char *fault;
    size_t before = making->program_count;
    int code = program_find(making->paths.ways, value, &program, &fault, err);
    if (code < 0) {
        return code;
    }
    if (program.count > 0) {
        const char *end = program.files[0].end;
        capability->path = arena_copy(making->arena, end, strlen(end));
    }
    /* What the plugin could change matters more than what it is now. */
    for (size_t i = 0; code == 0 && i < program.count && capability->refusal == NULL; i++) {
        code = path_grants_judge_program(&making->paths, &program.files[i], &capability->refusal,
                                         err);
    }
    if (code == 0 && capability->refusal == NULL && fault != NULL) {
        capability->refusal = arena_copy(making->arena, fault, strlen(fault));
        code = capability->refusal != NULL ? 0 : error_oom(err);
    }
    for (size_t i = 0; code == 0 && i < program.count && capability->refusal == NULL; i++) {
        code = grant_file(making, capability, program.files[i].end, err);
    }
    if (capability->refusal != NULL) {
        making->program_count = before;
    }
    making->policy->sandbox.spawn = making->policy->sandbox.spawn || capability->refusal == NULL;
    return code;
}

/* It is allowed, and its value grants nothing. */
static int refuse_void(struct making *making, struct policy_capability *capability,
                       const struct capability_fault *fault, struct toolrack_error *err) {
    capability->is_void = true;
    capability->refusal = arena_printf(making->arena, "%s; %s", fault->cause, fault->fix);
    return capability->refusal != NULL ? 0 : error_oom(err);
}

/* Let the sandbox do what an allowed capability says. */
static int grant(struct making *making, struct policy_capability *capability,
                 const struct policy_target *target, struct toolrack_error *err) {
    struct sandbox_policy *sandbox = &making->policy->sandbox;
    const char *value = capability->declared->value;
    struct capability_fault fault;
    if (!capability_check(capability->declared->kind, value, &fault)) {
        return refuse_void(making, capability, &fault, err);
    }
    switch (capability->declared->kind) {
    case TR_CAP_READ:
    case TR_CAP_WRITE:
        capability->is_void = target->nowhere != NULL;
        capability->refusal = target->nowhere;
        return capability->is_void ? 0
                                   : path_grants_add(&making->paths, &target->way,
                                                     capability->declared->kind == TR_CAP_WRITE,
                                                     &capability->refusal, err);
    case TR_CAP_NETWORK: {
        struct capability_network network;
        (void)capability_read_network(value, &network, &fault);
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
    case TR_CAP_ENV: {
        const char *found = getenv(value);
        if (found == NULL) {
            return 0;
        }
        const char *entry = arena_printf(making->arena, "%s=%s", value, found);
        making->environment[making->environment_count++] = entry;
        return entry != NULL ? 0 : error_oom(err);
    }
    default: return 0; /* programs are granted after all paths: add_programs() */
    }
}

/* ------------------------------------------------------------------ allowed */

static bool find_target_of(const struct making *making, const char *value,
                           struct policy_target *ret) {
    const struct policy_values values = {.config = making->options->config,
                                         .plugin_id = making->options->desc->plugin->id,
                                         .own_folder = making->guard.own_folder,
                                         .arena = making->arena,
                                         .ways = making->paths.ways};
    return policy_target_find(&values, value, ret);
}

/* Whether an item of "allow" grants less than is declared: a folder in it, or a file.
 * `ret->way.end` NULL: it does not. False: out of memory. */
static bool find_narrower(const struct making *making, const char *allowance,
                          const struct policy_capability *capability, struct policy_target *ret) {
    const char *kind = capability_kind_name(capability->declared->kind);
    size_t length = strlen(kind);
    *ret = (struct policy_target){0};
    if (capability->path == NULL || capability->declared->kind == TR_CAP_SPAWN ||
        strncmp(allowance, kind, length) != 0 || allowance[length] != ':') {
        return true;
    }
    if (!find_target_of(making, allowance + length + 1, ret)) {
        return false;
    }
    const char *end = ret->nowhere == NULL ? ret->way.end : NULL;
    const char *below = end != NULL ? guard_below(end, capability->path) : NULL;
    ret->way.end = below != NULL && below[0] != '\0' ? end : NULL;
    return true;
}

/* What the first allowance of it grants; the narrower ones together, if none grants the whole. What
 * a person has decided about it comes before. */
static int add_allowed(struct making *making, struct policy_capability *capability,
                       const struct policy_target *target, struct toolrack_error *err) {
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
        return grant(making, capability, target, err);
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
            return grant(making, capability, target, err);
        }
    }
    yyjson_arr_foreach (making->asked->allow, at, count, allowance) {
        struct policy_target narrower;
        if (!find_narrower(making, yyjson_get_str(allowance), capability, &narrower)) {
            return error_oom(err);
        }
        const char *path = narrower.way.end;
        int code = path != NULL ? path_grants_add(&making->paths, &narrower.way,
                                                  declared->kind == TR_CAP_WRITE,
                                                  &capability->refusal, err)
                                : 0;
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
        return grant(making, capability, target, err);
    }
    capability->is_new = capability->is_new && !capability->allowed;
    return 0;
}

static int add_capability(struct making *making, const struct tr_capability *declared,
                          struct policy_capability *ret, struct toolrack_error *err) {
    struct policy_target target = {0};
    *ret = (struct policy_capability){.declared = declared};
    if (declared->kind == TR_CAP_READ || declared->kind == TR_CAP_WRITE) {
        if (!find_target_of(making, declared->value, &target)) {
            return error_oom(err);
        }
        ret->path = target.nowhere == NULL ? target.way.end : NULL;
    }
    return add_allowed(making, ret, &target, err);
}

/* All paths, of which one may be refused because of another. */
static int add_paths(struct making *making, struct toolrack_error *err) {
    struct sandbox_policy *sandbox = &making->policy->sandbox;
    int code = path_grants_settle(&making->paths, err);
    for (size_t i = 0; code == 0 && i < making->paths.count; i++) {
        const struct path_grant *grant = &making->paths.items[i];
        size_t *count = grant->writes ? &sandbox->write_path_count : &sandbox->read_path_count;
        if (*count == SANDBOX_PATHS_MAX) {
            return too_many(making, err);
        }
        (grant->writes ? making->write_paths : making->read_paths)[(*count)++] = grant->way.end;
    }
    return code;
}

/* What may be executed depends on what may be written. */
static int add_programs(struct making *making, struct policy_capability *capabilities, size_t count,
                        struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct policy_capability *one = &capabilities[i];
        if (one->declared->kind == TR_CAP_SPAWN && one->allowed && one->refusal == NULL) {
            code = grant_program(making, one, err);
        }
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
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        code = add_capability(making, &plugin->capabilities[i], &capabilities[i], err);
    }
    code = code < 0 ? code : add_paths(making, err);
    code = code < 0 ? code : add_programs(making, capabilities, count, err);
    for (uint32_t i = 0; i < count; i++) {
        capabilities[i].allowed = capabilities[i].allowed && capabilities[i].refusal == NULL;
    }
    return code;
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
        struct policy_target target;
        *ret_failed = !find_target_of(making, capability.declared->value, &target);
        capability.path = target.nowhere == NULL ? target.way.end : NULL;
        *ret_failed = *ret_failed || !find_narrower(making, item, &capability, &target);
        if (*ret_failed || target.way.end != NULL) {
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
    CLEANUP(arena_finish) struct arena ways;
    arena_init(&ways, NULL, 0);
    struct making making = {.options = options,
                            .asked = &asked,
                            .arena = arena,
                            .policy = ret,
                            .guard = {.arena = arena,
                                      .places = options->places,
                                      .worker_program = options->worker_program,
                                      .config = options->config,
                                      .is_builtin = options->trust == TRUST_BUILTIN,
                                      .no_mounts = options->no_mounts}};
    if (options->places != NULL && options->origin != NULL &&
        options->desc->plugin->capability_count > 0) {
        making.guard.own_folder =
                data_folder(arena, options->places, options->desc->plugin->id, options->origin);
    }
    making.paths = (struct path_grants){.arena = arena, .ways = &ways, .guard = &making.guard};
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
