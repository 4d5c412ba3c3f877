/* guard.h - what stays the host's, whatever is granted.
 *
 * The configuration, the state folder with the stage and the transcripts, the plugin folders, the
 * folders of the plugins' data and of sockets, and what runs: the programs, their libraries, and
 * plugin files that are links to elsewhere. Whoever may write there could grant itself anything. So
 * could who has the kernel's files in /proc, /sys and /dev. A grant inside of them is refused; of
 * one that contains them they are taken out, by a mount namespace of the worker
 * (worker/sandbox-mounts.c), and where none can be had, or where it would not hold, the grant is
 * refused too.
 *
 * guard-list.h: what is taken out; guard-check.c: one grant against one place;
 * guard-places.c, guard-programs.c and guard-plugins.c: which places there are; guard-way.c: paths
 * and mounts. */
#pragma once

#include "life/guard-list.h"

/** Check a grant of a path, which is real as far as it exists; add what is to be hidden in it.
 * `ret_refusal`: why it is not granted, in the arena; NULL: it is.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int guard_grant(struct guard *guard, const char *path, bool writes, const char **ret_refusal,
                struct toolrack_error *err);

/** Add the lists to a policy. */
void guard_finish(const struct guard *guard, struct sandbox_policy *policy);

/** Hide one more folder from the worker of a policy, if it is in what is granted: the stage, which
 * may be a temporary folder. The lists that change are in the arena.
 * @return 0; TOOLRACK_E_REFUSED when it cannot be hidden; TOOLRACK_E_NO_MEMORY. */
int guard_hide_also(struct arena *arena, const char *folder, struct sandbox_policy *policy,
                    struct toolrack_error *err);

/** Whether a policy that is in force lets its plugin change a plugin file: one that was added, or
 * linked to elsewhere, or that needs other libraries, since the policy was made.
 * `ret_reason`: why, in the arena; NULL: it cannot.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int guard_judge_plugin(struct arena *arena, const struct sandbox_policy *policy,
                       const char *plugin_path, const char **ret_reason,
                       struct toolrack_error *err);
