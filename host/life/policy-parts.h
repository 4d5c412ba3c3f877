/* policy-parts.h - a policy under construction, between the files that make it: policy-make.c puts
 * it together, policy-allowed.c finds what is allowed, policy-grant.c lets the sandbox do it. */
#pragma once

#include "life/guard.h"
#include "life/policy-paths.h"
#include "life/policy-target.h"
#include "life/policy.h"

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

/* policy-allowed.c. All return 0, or TOOLRACK_E_NO_MEMORY and what a policy fails with. */

/** Where a declared path leads; NULL in `ret->way.end`: nowhere. @return false: no memory. */
bool policy_find_declared(const struct making *making, const struct tr_capability *declared,
                          struct policy_target *ret);
/** The program that a declared capability names, its placeholders replaced. `ret_nowhere`: why it
 * names none; NULL: it does. @return false: no memory. */
bool policy_find_program(const struct making *making, const struct tr_capability *declared,
                         const char **ret_program, const char **ret_nowhere);
/** Grant what the configuration, people and the trust allow of a declared capability. */
int policy_allow(struct making *making, struct policy_capability *capability,
                 const struct policy_target *target, struct toolrack_error *err);
/** Note which items of "allow" name something that is declared. */
int policy_note_used(const struct making *making, struct toolrack_error *err);
/** What ${data} stands for, in the arena; NULL: nothing. */
const char *policy_own_folder(const struct policy_options *options, struct arena *arena);

/* policy-grant.c */

/** Let the sandbox do what an allowed capability says; programs are granted after all paths. */
int policy_grant(struct making *making, struct policy_capability *capability,
                 const struct policy_target *target, struct toolrack_error *err);
int policy_grant_program(struct making *making, struct policy_capability *capability,
                         struct toolrack_error *err);
int policy_too_many(const struct making *making, struct toolrack_error *err);
