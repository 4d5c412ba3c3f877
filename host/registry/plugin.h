/* plugin.h - one generation of a plugin in the registry: a file, or a descriptor of the app.
 *
 * The descriptor is known from the scan; the plugin is loaded at the first call of one of its
 * tools, in this process or, if isolated, by a crew of workers. Reference-counted: the
 * registrations of its tools hold the plugin, and a running call holds its registration. So the
 * image is unloaded when the last tool is gone and the last call has ended. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "plugin/load.h"
#include "plugin/missing.h"
#include "plugin/origin.h"
#include "plugin/pin.h"
#include "plugin/trust.h"
#include "run/run.h"
#include "toolrack/toolrack.h"

/* Most calls of one plugin that are given up and still run; each has a thread to itself. */
#define PLUGIN_STUCK_MAX 16u

struct plugin;
struct crew; /* worker/crew.h; opaque here */

/* How long a call waits for something that belongs to no call. */
struct plugin_wait {
    uint64_t deadline_ns;         /* of the monotonic clock; 0: without limit */
    const atomic_bool *cancelled; /* NULL: it cannot be cancelled */
};

/* What a plugin that is a file needs from its host. All are called with plugin->lock held, except
 * `stage` and `wake`, which are called with no lock held, and `release`, which is called when the
 * last reference is gone. */
struct plugin_services {
    /* Have its file copied to the stage unless that was done: sets plugin->image_path and
     * image_identity. The copy is not made on this thread, and goes on after the wait has ended.
     * @param ret_renewed  NULL: the plugin itself is wanted. Else, if its file was exchanged before
     *                     it was copied, the file is reloaded, and this is set to true with 0
     * @return 0; TOOLRACK_E_TIMEOUT without a message; TOOLRACK_E_CANCELLED; or why there is no
     *         copy */
    int (*stage)(void *user, struct plugin *plugin, const struct plugin_wait *wait,
                 bool *ret_renewed, struct toolrack_error *err);
    /* A call that may wait in `stage` was cancelled. */
    void (*wake)(void *user);
    /* The plugin, whose file was copied, is to run. */
    void (*used)(void *user, struct plugin *plugin);
    /* Make plugin->crew, for an isolated plugin. */
    int (*isolate)(void *user, struct plugin *plugin, struct toolrack_error *err);
    /* Called before the code of the plugin first runs in this process, and (not `begins`) after
     * that. */
    void (*loading)(void *user, struct plugin *plugin, bool begins);
    /* Called after a load in this process, before anybody learns how it ended: with the reason why
     * it failed, other than for want of memory; NULL: it is loaded. */
    void (*loaded)(void *user, struct plugin *plugin, const char *failure);
    /* Called once when a tool of it has answered, with a result or an error of its own. */
    void (*answered)(void *user, struct plugin *plugin);
    /* The plugin is not used any more. Unload its image (NULL: none), not necessarily on this
     * thread, which may be that of a caller that has its result already. */
    void (*release)(void *user, struct plugin *plugin, struct image *image);
};

/* Parties that are told from each other, by a hash. */
#define PLUGIN_PARTIES     64u
/* Calls of whom nothing is said, as those of the app itself. */
#define PLUGIN_NOBODY      0u
/* Of so many places or more, one party leaves one to the others. */
#define PLUGIN_SHARED_FROM 4u

/* What the pool knows of a party's calls of a plugin. */
struct plugin_party {
    uint32_t running;
    uint32_t queued;
    uint64_t turn; /* that it had last; 0: none */
};

struct plugin {
    atomic_uint refs;
    struct arena arena; /* memory of the next four; at first the bytes behind the struct */
    const char *path;   /* NULL for a descriptor of the app, and a tool of another host */
    enum trust trust;
    const char *identity_text; /* its id and origin: what the store binds to it (plugin/origin.h) */
    const char *origin;        /* the end of that text */
    const char *capabilities;  /* what it declares, one a line, such as "read:/srv"; "": nothing */
    struct missing *missing;   /* those that it has not; NULL: it has all, or runs in this process.
                                  Set before it is registered */
    char *new_capabilities;    /* of these, what its policy's words do not cover, since it was
                                  declared later; NULL: none. Set before it is registered */
    struct file_identity identity;
    struct descriptor *desc;
    struct image_host host; /* its members are borrowed from the host, except for the file */
    bool serial;            /* not thread safe: one call at a time in this process */
    bool isolated;          /* runs in workers */
    bool measures_all;      /* the CPU time and memory of every call */
    enum pin_policy pin;    /* UNSTATED only while the plugin is made */
    uint32_t calls_max;     /* most of its calls that may hold a thread of the pool at once */
    uint32_t generation;    /* 1 for the first of its file, and so on */

    /* NULL for a descriptor of the app, and after the host was closed. */
    _Atomic(const struct plugin_services *) services;
    void *services_user;
    void *context;    /* data of the services */
    char *image_path; /* the copy to load; NULL until staged */
    struct file_identity image_identity;
    uint8_t sha256[32];          /* of the image; zero until staged */
    atomic_bool offers;          /* something beside tools: as the host last told (api/open.c) */
    atomic_bool has_answered;    /* a tool of this content has answered, and that is noted */
    atomic_bool staged;          /* set after those three, which do not change afterwards */
    _Atomic(struct crew *) crew; /* of an isolated plugin that is up; owned by the services */

    /* For a plugin of one tool that the configuration defines. */
    struct run_service service; /* runs in place of its function; else zero */
    bool priority_stated;       /* by the administrator: not limited by the trust */

    atomic_bool kept; /* its tools are registered as kept versions: see struct toolrack_tool.
                         Changed under the registry's lock */
    bool replaced; /* another generation of its file is registered; guarded by the registry's lock
                    */

    uint32_t pool_running; /* guarded by the pool's lock, as are the next */
    uint32_t pool_queued;
    uint64_t pool_turns; /* how many jobs were taken from the queue */
    uint64_t pool_waits; /* of whose calls some are queued: bit N is for `pool_of[N]` */
    _Atomic(struct plugin_party *) pool_of; /* by party: plugin_have_parties() */

    atomic_uint stuck; /* calls given up and still running */

    pthread_mutex_t turn_lock;   /* guards the turn_ members below, of a serial plugin */
    pthread_cond_t turn_changed; /* the turn is free, or a wait for it has become pointless */
    const void *turn;            /* the call whose turn it is, or NULL */
    pthread_t turn_thread;       /* the thread that runs it */
    bool turn_lost;              /* that call was given up */

    pthread_mutex_t lock; /* held while it is loaded; not needed to read the members below */
    _Atomic(struct image *) image;
    atomic_int failed; /* code of the failed load, or 0 */
    atomic_int state;  /* enum toolrack_tool_state, except STUCK, which is counted above */
    pthread_mutex_t reason_lock;
    char *reason; /* of the state, on the heap; NULL: there is none; guarded by reason_lock */

    char strings[];
};

/** A plugin not loaded yet. `path` and `identity` are NULL for a descriptor of the app.
 * @return a reference, or NULL when out of memory. [writer] */
struct plugin *plugin_create(const char *path, enum trust trust, const char *origin,
                             const struct file_identity *identity, struct descriptor *desc,
                             const struct image_host *host);
struct plugin *plugin_ref(struct plugin *plugin);
/** Take a reference without holding one, while the memory of the plugin is valid. False: the last
 * reference is gone. */
bool plugin_ref_unless_gone(struct plugin *plugin);
void plugin_unref(struct plugin *plugin);
CLEANUP_DEFINE(struct plugin, plugin_unref)

/** Make the table `pool_of`, which most plugins of a large folder never need, unless it is there.
 * False: out of memory. [any-thread] */
bool plugin_have_parties(struct plugin *plugin);

/* How far from this process its tools run: in it or in its workers, in an MCP server that this host
 * has mounted, or on another host. */
enum plugin_distance { PLUGIN_HERE, PLUGIN_MOUNTED, PLUGIN_ELSEWHERE };

/** A mounted server has a place in the configuration, and another host none. [any-thread] */
static inline enum plugin_distance plugin_distance(const struct plugin *plugin) {
    return strcmp(plugin->origin, ORIGIN_REMOTE) != 0 ? PLUGIN_HERE
           : plugin->path != NULL                     ? PLUGIN_MOUNTED
                                                      : PLUGIN_ELSEWHERE;
}

/** A tool of the plugin has answered. [any-thread] */
static inline void plugin_note_answered(struct plugin *plugin) {
    const struct plugin_services *services = atomic_load(&plugin->services);
    if (services != NULL && !atomic_load_explicit(&plugin->has_answered, memory_order_relaxed) &&
        !atomic_exchange(&plugin->has_answered, true)) {
        services->answered(plugin->services_user, plugin);
    }
}

/** Have its file copied unless that is done: before that it cannot be loaded. A file that is no
 * good is a load that failed.
 * @param ret_renewed  as in plugin_services.stage
 * @param ret_first    set to true when this call was the first to fail
 * @return 0; TOOLRACK_E_TIMEOUT without a message; TOOLRACK_E_CANCELLED; or the code of the
 * failure, with its message. [call-thread] */
int plugin_stage(struct plugin *plugin, const struct plugin_wait *wait, bool *ret_renewed,
                 bool *ret_first, struct toolrack_error *err);

/** Load it, or make its crew, unless that is done; its file was copied. A load that failed is not
 * repeated, since the file is the same, unless memory ran out or the system failed.
 * @param ret_first  set to true when this call loaded it, or was the first to fail
 * @return 0 or the code of the failure, with its message. Caller holds plugin->lock. */
int plugin_load(struct plugin *plugin, bool *ret_first, struct toolrack_error *err);

/** For a descriptor of the app: call its open(). [writer] */
int plugin_adopt(struct plugin *plugin, const struct tr_plugin *source, struct toolrack_error *err);

enum plugin_turn {
    PLUGIN_TURN_TAKEN,
    PLUGIN_TURN_LATE,  /* the deadline has passed */
    PLUGIN_TURN_STUCK, /* the call that has the turn was given up, and did not return meanwhile */
    PLUGIN_TURN_OWN,   /* this thread has the turn: waiting would never end */
    PLUGIN_TURN_CANCELLED /* `cancelled` became true */
};

/** Take the turn of a serial plugin for one call, waiting until `deadline_ns` of the monotonic
 * clock at most (0: without limit). [call-thread] */
enum plugin_turn plugin_take_turn(struct plugin *plugin, const void *call, uint64_t deadline_ns,
                                  const atomic_bool *cancelled);
/** Give the turn back. [call-thread] */
void plugin_give_turn(struct plugin *plugin);
/** Wait until a load that was given up returns. False: it has not, until `deadline_ns` (0: do not
 * wait), or `cancelled` became true. [call-thread] */
bool plugin_await_load(struct plugin *plugin, uint64_t deadline_ns, const atomic_bool *cancelled);
/** After `call` was cancelled or given up, or (NULL) a call that was given up has returned: wake
 * the calls that wait. If `call` has the turn and is lost, those without a deadline stop waiting. A
 * cancelled call does not wait for the copy either.
 * [any-thread] */
void plugin_wake(struct plugin *plugin, const void *call, bool lost);

enum toolrack_tool_state plugin_state(struct plugin *plugin);
/** Set the state and its reason, "" for none. [any-thread] */
void plugin_set_state(struct plugin *plugin, enum toolrack_tool_state state, const char *reason);
void plugin_reason(struct plugin *plugin, char *reason, size_t room);

/** Leave out a plugin that was not loaded yet: its calls are refused with the reason until
 * plugin_admit(). [any-thread] */
void plugin_leave_out(struct plugin *plugin, const char *reason);
/** End that. False: the plugin was not left out. [any-thread] */
bool plugin_admit(struct plugin *plugin);

/** Let a plugin be loaded again whose load has failed. False: it has not failed. [any-thread] */
bool plugin_forgive(struct plugin *plugin);

/** Whether its file was not copied yet, so that it may have changed since it was read. [any-thread]
 */
static inline bool plugin_may_be_stale(struct plugin *plugin) {
    return atomic_load(&plugin->services) != NULL && !atomic_load(&plugin->staged);
}

/** Whether its first call has made it ready. [any-thread] */
static inline bool plugin_is_up(struct plugin *plugin) {
    return atomic_load_explicit(&plugin->image, memory_order_acquire) != NULL ||
           atomic_load_explicit(&plugin->crew, memory_order_acquire) != NULL;
}
