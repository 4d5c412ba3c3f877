/* generation.h - what the host keeps of one generation of a plugin file.
 *
 * Its policy, the copy of its file that is loaded, its crew of workers when it is isolated. The
 * registry's struct plugin is the generation as calls see it, and ends with its last reference;
 * this ends when its last worker has ended too. */
#pragma once

#include "api/policy.h"
#include "plugin/stage.h"
#include "registry/plugin.h"
#include "toolrack/toolrack.h"

struct generation {
    struct generation *next; /* of host->generations; guarded by host->generations_lock */
    struct generation *prev;
    struct toolrack *host;
    struct plugin *plugin;   /* NULL once its last reference is gone; guarded likewise */
    struct descriptor *desc; /* a reference */
    uint32_t number;         /* 1 for the first of its file; this and the next two as in `plugin` */
    char *image_path;        /* of an isolated one that is up; or NULL */
    uint8_t sha256[32];
    struct arena arena;      /* of the policy */
    struct policy policy;
    struct crew *crew; /* or NULL; guarded likewise */
    uint64_t mark;     /* of a load in this process that runs */
    bool marked;
};

/** A plugin for a file that was scanned, with its policy.
 * @return 0 with a reference; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int generation_create(struct toolrack *host, const struct scan_file *file, struct plugin **ret,
                      struct toolrack_error *err);

/** The generation behind a plugin; NULL for a descriptor of the app. It lives as long as the
 * caller's reference on the plugin. */
struct generation *generation_of(const struct plugin *plugin);

/** Copy its file unless that is done, and look whether it still is what was scanned.
 * @return 0; TOOLRACK_E_REFUSED; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. Caller holds plugin->lock. */
int generation_stage(struct toolrack *host, struct plugin *plugin, struct toolrack_error *err);

/** The index-th generation that has a plugin with this id, newest first, with a reference to be
 * given up; NULL when there are not so many. [any-thread] */
struct plugin *generations_hold(struct toolrack *host, const char *plugin_id, size_t index);

/** End all: no plugin uses this host any more. No call is running. */
void generations_end(struct toolrack *host);
