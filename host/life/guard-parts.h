/* guard-parts.h - how a grant is checked; for the guard-*.c and policy-paths.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "life/guard-list.h"
#include "life/guard-way.h"

/* One grant that is checked. */
struct grant {
    struct guard *guard;
    const struct guard_mounts *mounts; /* borrowed */
    const char *path;
    bool writes;
    const char *refusal;
    bool failed; /* out of memory */
};

/* ------------------------------------------------------------- guard-check.c */

/** Whether the checks go on: the grant is not refused. */
bool guard_goes_on(const struct grant *grant);

/** Whether this user may write to what is there, perhaps by another mount of it. [any-thread] */
bool guard_may_write(const char *path);

/** Whether the worker cannot write at a path, as it is read-only or hidden there. */
bool guard_is_protected(const struct guard *guard, const char *path);

/** Whether a mount namespace can be had. [any-thread] */
bool guard_can_mount(const struct guard *guard);

/** Check a grant against one place: nothing, or take it out, or refuse the grant. */
void guard_check_place(struct grant *grant, const struct guarded *place);

/** Refuse to write where a second name of a file may be. */
void guard_check_names(struct grant *grant, const struct guarded *place);

/** Refuse a grant because of itself. */
void guard_refuse(struct grant *grant, const char *format, ...) TOOLRACK_PRINTF(2, 3);

/* ------------------------------------------------------------ guard-places.c */

/** The folders and files of this host, of others of the user, and of the kernel. */
void guard_check_folders(struct grant *grant);
void guard_check_kernel(struct grant *grant);

/** Whether a path is one that every worker may read. */
bool guard_is_library_path(const char *path);

/* ---------------------------------------------------------- guard-programs.c */

/** What runs with more rights than a plugin, or with those of another one. */
void guard_check_programs(struct grant *grant);

/** Collect what a plugin file is and brings that is elsewhere than in its folder.
 * @return false: out of memory. */
bool guard_read_plugin(struct guard *guard, const char *path);

/** Collect that of all plugins, of this host and of others, once. @return likewise. */
bool guard_read_plugins(struct guard *guard);

/** Check a grant against what was collected. */
void guard_check_plugins(struct grant *grant);
