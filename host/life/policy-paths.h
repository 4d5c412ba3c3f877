/* policy-paths.h - the paths of one policy: what a plugin may write decides nothing else.
 *
 * A plugin can make anything of a name in a folder that it may write: a link to the home in place
 * of a folder that it is granted too, another file in place of a program. So a granted path whose
 * way passes there is granted only as far as the folder is in which the plugin may write anyway,
 * and a program there is not granted. */
#pragma once

#include "life/guard-list.h"
#include "life/guard-way.h"

/* One path that is granted. */
struct path_grant {
    const char **refusal; /* of its capability */
    struct guard_way way;
    bool writes;
};

/* Invariant: `guard` has taken out of each what is the host's. */
struct path_grants {
    struct arena *arena; /* as long as the policy */
    struct arena *ways;  /* as long as this */
    struct guard *guard;
    struct path_grant *items;
    size_t count;
    size_t room;
    const char **writable; /* where the plugin may write, and where else that can be seen */
    size_t writable_count;
    size_t writable_room;
};

/** Grant a path, unless it is the host's: then `refusal`, which other paths may have too, says why.
 * It is kept for path_grants_settle(). @return 0; TOOLRACK_E_NO_MEMORY. */
int path_grants_add(struct path_grants *grants, const struct guard_way *way, bool writes,
                    const char **refusal, struct toolrack_error *err);

/** Once all are added: refuse those that lead to elsewhere through what the plugin may write, and
 * leave out those that are in another one. @return likewise. */
int path_grants_settle(struct path_grants *grants, struct toolrack_error *err);

/** Once they are settled: check a file, or folder, that is to be executed.
 * `ret_refusal`: why it is not; NULL: it may. @return likewise. */
int path_grants_judge_program(const struct path_grants *grants, const struct guard_way *way,
                              const char **ret_refusal, struct toolrack_error *err);
