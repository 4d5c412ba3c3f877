/* guard-parts.h - how a grant is checked; for the guard-*.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "life/guard-list.h"

enum guard_kind {
    GUARD_FOLDER,  /* hidden, with all that is in it; made if it does not exist */
    GUARD_FILE,    /* hidden with its folder, as what replaces the file has no mount upon it */
    GUARD_KERNEL,  /* a folder whose files are no files; hidden */
    GUARD_PROGRAM, /* a file that runs: it may be read, and its folder cannot be written */
    GUARD_SEARCHED /* a folder in which the loader searches: likewise, with all that is in it */
};

/* What stays the host's. */
struct guarded {
    const char *what;
    const char *path;
    enum guard_kind kind;
};

/* One grant that is checked. */
struct grant {
    struct guard *guard;
    const char *path;
    bool writes;
    const char *refusal;
    bool failed; /* out of memory */
};

/* ------------------------------------------------------------- guard-check.c */

/** Whether the checks go on: the grant is not refused. */
bool guard_goes_on(const struct grant *grant);

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

/** A plugin file and the libraries that it brings; all of a folder. */
void guard_check_plugin(struct grant *grant, const char *path);
void guard_check_plugins(struct grant *grant, const char *folder);
