/* host.h - the host object: what the files of the embedding API share.
 *
 *   host.c      open and close: configuration, store, scan, registry, in this order
 *   folders.c   which files and folders a host uses
 *   manage.c    enable, disable, priority, register, unregister
 *   list.c      list, refusals, check
 *   calls.c     call, submit, cancel
 *   generation.c  one generation of a plugin file: policy, image, crew
 *   quarantine.c  plugins that crashed too often
 *   why.c       how a plugin is isolated, and why it is as it is
 *   permission.h  whether a call may run, and what was decided about that: six files
 *   document.c  JSON as the API gives it */
#pragma once

#include "api/config.h"
#include "api/decisions.h"
#include "api/generation.h"
#include "api/permission.h"
#include "api/quarantine.h"
#include "base/log.h"
#include "call/pool.h"
#include "registry/registry.h"
#include "store/store.h"
#include "toolrack/toolrack.h"

struct toolrack {
    struct toolrack_options options; /* its pointers: only the callbacks and `user` are kept */
    struct log log;
    struct config config;
    pthread_mutex_t config_lock; /* settings of plugins are made in config.arena */
    struct store *store;         /* NULL: nothing is kept */
    struct registry *registry;
    struct call_host calls;
    struct pool *pool;
    struct image_host images;
    enum isolation isolation; /* where nothing else is said */
    bool require_sandbox;
    char *worker_program; /* NULL: the default one */

    pthread_mutex_t stage_lock; /* held while the next two are made */
    char *stage_dir;            /* NULL: a temporary one */
    struct stage *stage;
    struct supervisor *supervisor;
    pthread_mutex_t generations_lock;
    struct generation *generations;
    struct quarantines quarantines;
    struct consents consents;
    struct decisions decisions;

    atomic_bool closed; /* only calls that were given up look at it: the app hears no more */
};

/** Tell the app of something; of a tool, or of a plugin. */
void host_tell(const struct toolrack *host, const struct toolrack_event *event);
void host_tool_event(void *user, enum toolrack_event_kind kind, const struct toolrack_tool *tool);
void host_plugin_event(void *user, enum toolrack_event_kind kind, struct plugin *plugin,
                       const char *message);

/** The plugin that is called so, or has a tool that is called so, with a reference; NULL with err
 * set. */
struct plugin *host_find_plugin(struct toolrack *host, const char *name,
                                struct toolrack_error *err);

/** How descriptors are read: with the schema check. `no_memory` is set when a tool was refused
 * because there was none for that. */
struct descriptor_options host_descriptor_options(bool *no_memory);

/* Folders and files; texts in the arena. */
struct places {
    struct scan_folder *folders;
    size_t folder_count;
    const char *config_file; /* NULL: none */
    bool config_optional;
    const char *state_dir;  /* NULL: none */
    const char *cache_path; /* NULL: none */
};

/** What the options and the environment say, but for the folders. */
int places_find(const struct toolrack_options *options, struct arena *arena, struct places *ret,
                struct toolrack_error *err);
/** Add the folders: those of the options alone, or of configuration, environment and defaults. */
int places_add_folders(const struct toolrack_options *options, const struct config *config,
                       struct arena *arena, struct places *places, struct toolrack_error *err);
