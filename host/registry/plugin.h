/* plugin.h - one generation of a plugin in the registry: a file, or a descriptor of the app.
 *
 * What a plugin says is known from the scan; the plugin itself is loaded at the
 * first call of one of its tools, in this process or, isolated, by a crew of workers.
 * Counted: the registrations of its tools hold it, and a running call holds its
 * registration, so the image is unloaded when the last tool is gone and the last
 * call has ended. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "plugin/load.h"
#include "plugin/pin.h"
#include "plugin/trust.h"
#include "run/run.h"
#include "toolrack/toolrack.h"

/* Most calls of one plugin that are given up and still run; each has a thread to itself. */
#define PLUGIN_STUCK_MAX 16u

struct plugin;
struct crew; /* worker/crew.h; to the registry a name */

/* What a plugin that is a file needs of its host. All are called with plugin->lock held but
 * `release`, which the last reference calls. */
struct plugin_services {
    /* Copy the file to where nobody changes it: plugin->image_path and image_identity. */
    int (*stage)(void *user, struct plugin *plugin, struct toolrack_error *err);
    /* Make plugin->crew, of an isolated plugin. */
    int (*isolate)(void *user, struct plugin *plugin, struct toolrack_error *err);
    /* The code of the plugin begins to run in this process for the first time; and that is over. */
    void (*loading)(void *user, struct plugin *plugin, bool begins);
    /* Nobody uses it any more. The image, NULL where there is none, is to be unloaded: not
     * necessarily on this thread, which may be that of a caller who has waited long enough. */
    void (*release)(void *user, struct plugin *plugin, struct image *image);
};

struct plugin {
    atomic_uint refs;
    char *path; /* NULL for a descriptor of the app */
    enum trust trust;
    struct file_identity identity;
    struct descriptor *desc;
    struct image_host host; /* its members are borrowed from the host */
    bool serial;            /* not thread safe: one call at a time in this process */
    bool isolated;          /* runs in workers */
    enum pin_policy pin;    /* UNSTATED only while it is made */
    uint32_t calls_max;     /* so many of its calls may hold a thread of the pool at once */
    uint32_t generation;    /* 1 for the first of its file, and so on */

    const struct plugin_services *services; /* NULL for a descriptor of the app */
    void *services_user;
    void *context;    /* whatever the services keep with it */
    char *image_path; /* what is loaded; NULL until it was staged */
    struct file_identity image_identity;
    uint8_t sha256[32];          /* of the image; zero until it was staged */
    atomic_bool staged;          /* set after those three, which do not change any more */
    _Atomic(struct crew *) crew; /* of an isolated plugin that is up; the services' */

    /* Of the one tool of a plugin that the configuration defines. */
    struct run_service service; /* what runs in place of its function; else zero */
    bool priority_stated;       /* by the administrator: no trust cuts it */

    bool replaced; /* another generation of its file is registered; guarded by the registry's lock
                    */

    uint32_t pool_running; /* guarded by the pool's lock */
    uint32_t pool_queued;

    atomic_uint stuck; /* calls given up and still running */

    pthread_mutex_t turn_lock;   /* guards what follows, of a serial plugin */
    pthread_cond_t turn_changed; /* it is free, or a wait for it has become pointless */
    const void *turn;            /* the call whose turn it is, or NULL */
    pthread_t turn_thread;       /* which runs it */
    bool turn_lost;              /* it was given up */

    pthread_mutex_t lock; /* held while it is loaded; readers of what follows do without */
    _Atomic(struct image *) image;
    atomic_int failed; /* code of the failed load, or 0 */
    atomic_int state;  /* enum toolrack_tool_state, but for STUCK, which is counted above */
    pthread_mutex_t reason_lock;
    char reason[ERROR_MESSAGE_MAX]; /* of the state; guarded by reason_lock */
};

/** A plugin not loaded yet. `path` and `identity` are NULL for a descriptor of the app.
 * @return a reference, or NULL when out of memory. [writer] */
struct plugin *plugin_create(const char *path, enum trust trust,
                             const struct file_identity *identity, struct descriptor *desc,
                             const struct image_host *host);
struct plugin *plugin_ref(struct plugin *plugin);
/** The same for who holds none, of a plugin whose memory is there. False: the last one is gone. */
bool plugin_ref_unless_gone(struct plugin *plugin);
void plugin_unref(struct plugin *plugin);
CLEANUP_DEFINE(struct plugin, plugin_unref)

/** Load it, or make its crew, unless that is done. A load that failed is not tried again, for the
 * file is the same, unless there was no memory or the system failed.
 * @param ret_first  set to true when this call loaded it, or was the first to fail
 * @return 0 or the code of the failure, with its message. Caller holds plugin->lock. */
int plugin_load(struct plugin *plugin, bool *ret_first, struct toolrack_error *err);

/** For a descriptor of the app: call its open(). [writer] */
int plugin_adopt(struct plugin *plugin, const struct tr_plugin *source, struct toolrack_error *err);

enum plugin_turn {
    PLUGIN_TURN_TAKEN,
    PLUGIN_TURN_LATE,     /* not by the deadline */
    PLUGIN_TURN_STUCK,    /* the call that has it was given up */
    PLUGIN_TURN_OWN,      /* this very thread has it: waiting would never end */
    PLUGIN_TURN_CANCELLED /* `cancelled` became true */
};

/** Take the turn of a serial plugin for one call, waiting until `deadline_ns` of the monotonic
 * clock at most (0: for as long as it takes). [call-thread] */
enum plugin_turn plugin_take_turn(struct plugin *plugin, const void *call, uint64_t deadline_ns,
                                  const atomic_bool *cancelled);
/** Give it back. [call-thread] */
void plugin_give_turn(struct plugin *plugin);
/** After `call` was cancelled or given up: calls that wait look again, and if it is this call's
 * turn, they have nothing to wait for. [any-thread] */
void plugin_wake(struct plugin *plugin, const void *call, bool lost);

enum toolrack_tool_state plugin_state(struct plugin *plugin);
/** Set the state and its reason, "" for none. [any-thread] */
void plugin_set_state(struct plugin *plugin, enum toolrack_tool_state state, const char *reason);
void plugin_reason(struct plugin *plugin, char *reason, size_t room);

/** Leave it out: its calls are refused with the reason until plugin_admit(). It was not loaded yet.
 * [any-thread] */
void plugin_leave_out(struct plugin *plugin, const char *reason);
/** False: it was not left out. [any-thread] */
bool plugin_admit(struct plugin *plugin);

/** Whether its file was not copied yet, so that what was read may not be there any more.
 * [any-thread] */
static inline bool plugin_may_be_stale(struct plugin *plugin) {
    return plugin->services != NULL && !atomic_load(&plugin->staged);
}

/** Whether its first call has made it ready. [any-thread] */
static inline bool plugin_is_up(struct plugin *plugin) {
    return atomic_load_explicit(&plugin->image, memory_order_acquire) != NULL ||
           atomic_load_explicit(&plugin->crew, memory_order_acquire) != NULL;
}
