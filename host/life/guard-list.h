/* guard-list.h - what is taken out of the grants of one policy. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "config/places.h"
#include "worker/sandbox.h"

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

/* Grants of one policy under construction. The lists are for the sandbox. */
struct guard {
    struct arena *arena;
    const struct places *places; /* NULL: nothing is guarded */
    const char *worker_program;  /* or NULL */
    const char *own_folder;      /* the data folder of the plugin, or NULL */
    const struct config *config; /* has the libraries of definitions; or NULL */
    bool no_mounts;              /* as if this system had no mount namespaces */
    bool is_builtin;             /* the plugin came with toolrack */
    bool is_advice;              /* a refusal names no narrower paths: this is such a path */
    bool is_full;                /* a list would have more paths than a sandbox takes */
    struct guard_plugins {       /* what plugins bring that is elsewhere than in their folders */
        struct guarded *items;   /* without doubles */
        size_t count;
        size_t room;
        bool is_read;
    } plugins;
    struct guard_list {
        const char **paths; /* sorted, without doubles */
        size_t count;
    } hidden, frozen, kept;
};

/** Add a path to a list, unless that is full. @return false: out of memory. */
bool guard_add(struct guard *guard, struct guard_list *list, const char *path);

/** Keep in place the folders strictly between a granted folder and a path in it. @return likewise.
 */
bool guard_keep_between(struct guard *guard, const char *granted, const char *path);
