/* host.h - the host object, for the files of the embedding API.
 *
 *   open.c         open and close: configuration, store, registry, scan, in this order
 *   manage.c       enable, disable, priority, register, unregister, reload, release
 *   defaults.c     default versions of tools
 *   follow.c       decisions of other hosts, and telling them of own decisions
 *   hosts.c        joining other hosts by NATS
 *   share.c        carrying out what the hosts of a group have decided
 *   install.c      packages: install, update, go back, remove
 *   rollout.c      packages on all hosts of a group; obey.c: orders of others
 *   owners.c       which plugin has a tool's name
 *   list.c         lists of tools and refusals
 *   check.c        problems of a plugin file or a configuration
 *   export.c       definitions for providers
 *   calls.c        call, submit, cancel
 *   offer.c        resources, prompts and completion of plugins; offer-*.c its parts
 *   notices.c      what plugins report outside of calls
 *   own-settings.c  what plugins enable and disable of their own tools
 *   listeners.c    who receives events beside the app's own callback
 *   answer.c       the calls of a model's message, and their results
 *   agent.c        a conversation with a provider; agent-*.c its parts
 *   models.c       models of providers that the configuration names
 *   mounts.c       MCP servers that the configuration names, as plugins
 *   why.c          isolation and state of a plugin
 *   plugins.c      lists of plugins
 *   plan.c         plans, and a run of one
 *   runs.c         runs that are kept, and runs on threads of their own
 *   permissions.c  grants, pending calls and decisions, forwarded to permit
 *   serving.c      configuration, tokens and tasks of servers
 *   serving-names.c  names of the configuration and of tokens that no tool has
 *   records.c      call log, statistics and recommendations, forwarded to record and choose
 *   choose.c       from a sentence to a tool, forwarded to choose
 *   assist.c       a model that is asked which tool is right
 *   metrics.c      what was counted since the host was opened
 *   builtin.c      functions that definitions name
 *   package.c      packages, and the keys that sign them
 *   values.c       errors and memory for the app */
#pragma once

#include "api/listeners.h"
#include "api/notices.h"
#include "api/offer-keys.h"
#include "api/own-settings.h"
#include "api/plan-parts.h"
#include "base/command.h"
#include "base/lock.h"
#include "base/log.h"
#include "call/pool.h"
#include "choose/choose.h"
#include "config/config.h"
#include "config/places.h"
#include "life/life.h"
#include "permit/permit.h"
#include "record/record.h"
#include "registry/registry.h"
#include "store/hosts.h"
#include "store/runners.h"
#include "store/store.h"
#include "store/writer.h"
#include "toolrack/toolrack.h"

/* Kinds of events. */
#define HOST_EVENTS (TOOLRACK_EVENT_RESOURCE_UPDATED + 1u)

struct mounts;

struct toolrack {
    /* Of its pointers, only the callbacks, `user` and `who` (of the arena) stay valid. */
    struct toolrack_options options;
    struct log log;
    struct config *config;
    struct store *store;          /* never NULL; in memory without a state folder */
    struct store_writer *writer;  /* writes the records of calls */
    atomic_bool settings_unread;  /* they could not be read when the host was opened, nor later */
    atomic_bool applies_at_start; /* the last decision: see struct toolrack_reached */
    struct hosts *hosts;          /* the other hosts of the state folder */
    struct registry *registry;
    struct call_host calls;
    struct pool *pool;
    struct image_host images;

    struct listeners *listeners;
    struct notices *notices;    /* what plugins report by their extensions */
    struct offer_keys *offered; /* what they list beside tools, as far as it is known */
    struct own_settings *own;   /* of which it enabled and disabled tools of its own */
    unsigned forked;            /* of the process that opened it: see base/forked.h */
    struct lock closing_lock;   /* guards the next: who reads the registry for an event holds it */
    bool closing;               /* the registry is being destroyed */

    struct arena arena; /* for the places */
    struct places places;
    struct command_places stated; /* those that commands name */

    struct permit *permit;
    struct life *life;
    struct mounts *mounts; /* NULL: the configuration has no MCP servers */
    struct record *record;
    struct choose *choose;
    struct tokens *tokens;
    struct tasks *tasks;
    struct runner *runner; /* by which other hosts see that this one runs */
    struct runs runs;      /* of plans */
    /* Those that the configuration defines; none is added once the host is open. */
    const struct plan_tool *plan_tools;

    _Atomic uint64_t choices; /* a hash of the owners of names that an administrator chose */

    atomic_uint_fast64_t told[HOST_EVENTS]; /* events, by their kind */

    _Atomic(struct joined *) joined; /* memberships in groups of hosts: the last one, with those
                                        that were left behind it */

    atomic_bool opened;         /* what plugins offer was told, see open.c */
    atomic_bool closed;         /* set by close: calls that were given up send no more events */
    struct toolrack *next_left; /* closed while a thread was in it: see close_host() */
};

/** First in each function of the API that uses the host: what it may use is not freed meanwhile. */
#define HOST_SCOPE(host) CALL_HOST_SCOPE(&(host)->calls)

/** Read the administrator's settings from the store; used as registry_options.settings. */
int host_settings(void *user, registry_take_setting *take, struct registry_views *views,
                  struct toolrack_error *err);

/** Refuse to use a host that came here by fork(): its threads are not here, and its workers, its
 * store and its locks are those of the process that opened it.
 * @return 0; TOOLRACK_E_INVALID */
int host_check_process(const struct toolrack *host, struct toolrack_error *err);

/** Send an event to the app; one about a tool, or about a plugin. */
void host_tell(struct toolrack *host, const struct toolrack_event *event);
/** Log which headers of a tool's arguments are not asked for, since MCP does not allow them. */
void host_warn_headers(struct toolrack *host, const struct toolrack_tool *tool);
void host_tool_event(void *user, enum toolrack_event_kind kind, const struct toolrack_tool *tool);
void host_plugin_event(void *user, enum toolrack_event_kind kind, struct plugin *plugin,
                       const char *message);

/** Take those out of a list that are not to be kept. (list.c) */
void tools_keep(struct toolrack_tools *tools, bool (*is_kept)(const struct toolrack_tool *tool));

/** Store a setting, put it into effect and tell the other hosts of the state folder. (manage.c)
 * @return as toolrack_set_enabled() */
int host_set(struct toolrack *host, const struct store_setting *setting, const char *who,
             struct toolrack_error *err);

/** Something was decided in this state folder: the group of hosts is told, if this one has joined
 * any. (hosts.c) [any-thread] */
void host_decided(struct toolrack *host);

/* A plugin in memory that is registered. */
struct host_registering {
    const struct tr_plugin *plugin; /* copied, except for its functions */
    enum trust trust;
    const char *origin;
    /* Of its one tool, copied; its release() is called once also if it is not registered. NULL: the
     * tool's own function runs. */
    const struct run_service *service;
};
/** Register all tools of it, or none. (manage.c) @return as toolrack_register() */
int host_register(struct toolrack *host, const struct host_registering *registering,
                  uint64_t *ret_uids, struct toolrack_error *err);

/** For tokens_options and tasks_options. (serving.c) */
bool serving_learns(void *user);
void serving_cancelled(void *user, const char *id);

/** Tell, a little later, that what a plugin offers beside tools may have changed. */
void host_tell_offers(struct toolrack *host, const struct plugin *plugin);

/** Call a tool that was found, or the one that takes its place when the file of its plugin was
 * exchanged. (calls.c)
 * @param name    as call_stage() takes it
 * @param parsed  the arguments as YYJSON_READ_BIGNUM_AS_RAW reads them, valid until this returns,
 *                where whole numbers keep their digits (base/json-exact.h); NULL: they were not
 * read
 * @return as toolrack_call() */
int calls_make(struct toolrack *host, const char *name, struct toolrack_tool *tool,
               const char *arguments, size_t length, yyjson_val *parsed,
               const struct toolrack_call_options *options, struct toolrack_result **ret,
               struct toolrack_error *err);

/** Who decides: `who`, or the options' word if it is NULL or empty. */
const char *host_who(const struct toolrack *host, const char *who);

/** Send an event about a plugin by its id, which may be NULL, and log it. */
void host_event(struct toolrack *host, enum toolrack_event_kind kind, const char *plugin_id,
                const char *message);

/** Whether the configuration has a profile. @return 0; TOOLRACK_E_INVALID. (serving.c) */
int serving_check_profile(struct toolrack *host, const char *profile, struct toolrack_error *err);

/** How the definitions of an export call its tools and their properties: the text of a JSON object,
 * see `names` of format_definitions(). The second makes them together with the definitions.
 * (export.c)
 * @return as toolrack_export() */
int export_names(struct toolrack *host, enum toolrack_format format,
                 const struct toolrack_export_options *options, struct toolrack_text **ret,
                 struct toolrack_error *err);
int export_with_names(struct toolrack *host, enum toolrack_format format,
                      const struct toolrack_export_options *options, struct toolrack_text **ret,
                      struct toolrack_text **ret_report, struct toolrack_text **ret_names,
                      struct toolrack_error *err);
