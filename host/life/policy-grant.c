/* What an allowed capability grants: paths, ports, variables and programs. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "life/policy-parts.h"
#include "life/programs.h"
#include "plugin/capability.h"

int policy_too_many(const struct making *making, struct toolrack_error *err) {
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
        return policy_too_many(making, err);
    }
    int code = guard_grant(&making->guard, file, false, &capability->refusal, err);
    const char *path = arena_copy(making->arena, file, strlen(file));
    making->programs[making->program_count++] = path;
    return code == 0 && path == NULL ? error_oom(err) : code;
}

/* It is allowed, and its value grants nothing. */
static int refuse_void(struct making *making, struct policy_capability *capability,
                       const struct capability_fault *fault, struct toolrack_error *err) {
    capability->is_void = true;
    capability->refusal = arena_printf(making->arena, "%s; %s", fault->cause, fault->fix);
    return capability->refusal != NULL ? 0 : error_oom(err);
}

/* Let the worker execute a program and what starts it, unless one of these is the host's or could
 * be changed by the plugin. */
int policy_grant_program(struct making *making, struct policy_capability *capability,
                         struct toolrack_error *err) {
    const char *value;
    const char *fault;
    struct capability_fault odd;
    struct program program;
    if (strcmp(capability->declared->value, "*") == 0) {
        return grant_all_programs(making, capability, err);
    }
    if (!policy_find_program(making, capability->declared, &value, &fault)) {
        return error_oom(err);
    }
    if (fault != NULL) { /* a setting that is not given names no program */
        capability->is_void = true;
        capability->refusal = fault;
        return 0;
    }
    if (!capability_check(TR_CAP_SPAWN, value, &odd)) {
        return refuse_void(making, capability, &odd, err);
    }
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

/* Let the sandbox do what an allowed capability says. */
int policy_grant(struct making *making, struct policy_capability *capability,
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
            return policy_too_many(making, err);
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
    default: return 0; /* programs are granted after all paths: policy_grant_program() */
    }
}
