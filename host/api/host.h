/* host.h - the host object: what the files of the embedding API share.
 *
 *   host.c      open and close: configuration, store, scan, registry, in this order
 *   manage.c    enable, disable, priority, register, unregister
 *   defaults.c  which version a name alone means
 *   list.c      list, refusals
 *   check.c     what is wrong with a plugin file, or a configuration
 *   configured.c  tools that the configuration defines, services of the app
 *   export.c    definitions for providers
 *   calls.c     call, submit, cancel
 *   answer.c    the calls of a model's message, and their results
 *   generation.c  one generation of a plugin file: policy, image, crew
 *   foreign.c   tools that are functions of installed libraries
 *   quarantine.c  plugins that crashed too often
 *   why.c       how a plugin is isolated, and why it is as it is
 *   files.c     the plugin files and what is known of each
 *   content.c   which content of a file is used; rollbacks
 *   trial.c     a generation is tried out before it serves
 *   reload.c    one file has changed
 *   report.c    reload and rollback as the app asks for them
 *   watcher.c   the threads that notice changes
 *   retire.c    generations end
 *   permissions.c  grant, revoke, pending calls and decisions, as the permit has them
 *   recorder.c  what was called, on its way to the store
 *   records.c   the log of calls and statistics as the app reads them */
#pragma once

#include "api/content.h"
#include "api/defaults.h"
#include "api/files.h"
#include "api/generation.h"
#include "api/quarantine.h"
#include "api/recorder.h"
#include "api/retire.h"
#include "api/trial.h"
#include "api/watcher.h"
#include "base/log.h"
#include "call/pool.h"
#include "config/config.h"
#include "config/places.h"
#include "config/services.h"
#include "permit/permit.h"
#include "registry/registry.h"
#include "store/store.h"
#include "store/writer.h"
#include "toolrack/toolrack.h"

struct toolrack {
    struct toolrack_options options; /* its pointers: only the callbacks and `user` are kept */
    struct log log;
    struct config config;
    struct services services;
    pthread_mutex_t config_lock; /* settings of plugins and definitions are made in config.arena;
                                  * guards the services too */
    struct store *store;         /* never NULL; in memory where there is no state folder */
    struct store_writer *writer; /* of what calls leave behind */
    struct registry *registry;
    struct call_host calls;
    struct pool *pool;
    struct image_host images;
    enum isolation isolation; /* where nothing else is said */
    bool require_sandbox;
    char *worker_program; /* NULL: the default one */

    struct arena arena; /* of the places */
    struct places places;

    pthread_mutex_t stage_lock; /* held while the next three are made */
    char *stage_dir;            /* NULL: a temporary one */
    struct stage *stage;
    struct supervisor *supervisor;
    pthread_rwlock_t stage_use; /* read: copies are made or found; write: unneeded ones are removed
                                 */
    pthread_mutex_t generations_lock;
    struct generation *generations;
    struct plugin_files files;
    struct retirement retirement;
    struct trials trials;
    struct contents contents;
    struct watcher *watcher; /* NULL: nobody watches */
    atomic_uint rounds;      /* of looking through folders */
    struct quarantines quarantines;
    struct permit *permit;
    struct recorder recorder;

    atomic_bool closed; /* only calls that were given up look at it: the app hears no more */
};

/** Tell the app of something; of a tool, or of a plugin. */
void host_tell(const struct toolrack *host, const struct toolrack_event *event);
void host_tool_event(void *user, enum toolrack_event_kind kind, const struct toolrack_tool *tool);
void host_plugin_event(void *user, enum toolrack_event_kind kind, struct plugin *plugin,
                       const char *message);

/** Tell the app of a plugin by its id, which may be NULL, and log it. */
void host_event(const struct toolrack *host, enum toolrack_event_kind kind, const char *plugin_id,
                const char *message);

/** The plugin that is called so, or has a tool that is called so, with a reference; NULL with err
 * set. */
struct plugin *host_find_plugin(struct toolrack *host, const char *name,
                                struct toolrack_error *err);

/** How descriptors are read: with the schema check. `no_memory` is set when a tool was refused
 * because there was none for that. */
struct descriptor_options host_descriptor_options(bool *no_memory);
