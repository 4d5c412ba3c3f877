/* How a policy is put together. */
#include "life/policy.h"

#include <string.h>

#include "base/error.h"
#include "life/policy-parts.h"
#include "plugin/capability.h"

const char *policy_capability_name(uint32_t kind) {
    return capability_kind_name(kind);
}

bool policy_is_word(const char *allowance) {
    return strchr(allowance, ':') == NULL;
}

const char *policy_capability_text(struct arena *arena, const struct tr_capability *capability) {
    return arena_printf(arena, "%s:%s", policy_capability_name(capability->kind),
                        capability->value);
}

/* ------------------------------------------------------------- capabilities */

static int add_capability(struct making *making, const struct tr_capability *declared,
                          struct policy_capability *ret, struct toolrack_error *err) {
    struct policy_target target;
    *ret = (struct policy_capability){.declared = declared};
    if (!policy_find_declared(making, declared, &target)) {
        return error_oom(err);
    }
    ret->path = ret->declared_path = target.way.end;
    return policy_allow(making, ret, &target, err);
}

/* All paths, of which one may be refused because of another. */
static int add_paths(struct making *making, struct toolrack_error *err) {
    struct sandbox_policy *sandbox = &making->policy->sandbox;
    int code = path_grants_settle(&making->paths, err);
    for (size_t i = 0; code == 0 && i < making->paths.count; i++) {
        const struct path_grant *grant = &making->paths.items[i];
        size_t *count = grant->writes ? &sandbox->write_path_count : &sandbox->read_path_count;
        if (*count == SANDBOX_PATHS_MAX) {
            return policy_too_many(making, err);
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
            code = policy_grant_program(making, one, err);
        }
    }
    return code;
}

/* Whether a command that allows it would help, for who is told of the command. */
static int find_obstacle(const struct making *making, struct policy_capability *capability,
                         struct toolrack_error *err) {
    const struct tr_capability *declared = capability->declared;
    struct guard guard = making->guard;
    struct capability_fault fault;
    struct policy_target target;
    if (!capability_check(declared->kind, declared->value, &fault)) {
        capability->obstacle = arena_printf(making->arena, "%s; %s", fault.cause, fault.fix);
        return capability->obstacle != NULL ? 0 : error_oom(err);
    }
    if (!policy_find_declared(making, declared, &target)) {
        return error_oom(err);
    }
    capability->obstacle = target.nowhere;
    guard.hidden = guard.frozen = guard.kept = (struct guard_list){0};
    guard.is_full = false;
    return target.way.end != NULL
                   ? guard_grant(&guard, target.way.end, declared->kind == TR_CAP_WRITE,
                                 &capability->obstacle, err)
                   : 0;
}

static int find_obstacles(const struct making *making, struct policy_capability *capabilities,
                          size_t count, struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        if (!capabilities[i].allowed && capabilities[i].refusal == NULL) {
            code = find_obstacle(making, &capabilities[i], err);
        }
    }
    return code;
}

static int add_capabilities(struct making *making, struct toolrack_error *err) {
    const struct tr_plugin *plugin = making->options->desc->plugin;
    uint32_t count = plugin->capability_count;
    if (count == 0) { /* nothing is granted */
        static const char *no_variable;
        making->environment = &no_variable;
        return 0;
    }
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
    return code < 0 ? code : find_obstacles(making, capabilities, count, err);
}

static bool same_items(const char *const *items, const char *const *others) {
    size_t i = 0;
    if (items == NULL || others == NULL) {
        return (items == NULL || items[0] == NULL) && (others == NULL || others[0] == NULL);
    }
    for (; items[i] != NULL && others[i] != NULL; i++) {
        if (strcmp(items[i], others[i]) != 0) {
            return false;
        }
    }
    return items[i] == others[i];
}

bool policy_same_grants(const struct policy *policy, const struct policy *other) {
    for (size_t i = 0; i < policy->capability_count; i++) {
        const struct policy_capability *one = &policy->capabilities[i];
        const struct policy_capability *two = &other->capabilities[i];
        if (one->allowed != two->allowed || !same_items(one->narrower, two->narrower)) {
            return false;
        }
    }
    return true;
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
                           .isolation_is_own = asked.isolation != ISOLATION_UNSTATED,
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
    making.guard.own_folder = policy_own_folder(options, arena);
    making.paths = (struct path_grants){.arena = arena, .ways = &ways, .guard = &making.guard};
    int code = add_capabilities(&making, err);
    code = code < 0 ? code : policy_note_used(&making, err);
    if (code < 0) {
        return code;
    }
    ret->sandbox.read_paths = making.read_paths;
    ret->sandbox.write_paths = making.write_paths;
    ret->sandbox.own_path = making.guard.own_folder;
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
