/* crew-parts.h - the structs of a crew, its lanes, and the line of calls that wait for one.
 *
 *     crew.c        the face: a crew's life, one call from its lane and back
 *     supervisor.c  the thread: what it waits for, and for which crew
 *     tend.c        what the thread does for a crew: which worker starts, opens, ends, and when
 *     burial.c      the end of a worker and what follows from it
 *     worker.c      one worker up to there
 *     exchange.c    one call on one lane: its frames
 *     events.c      what of a worker the thread's epoll set holds
 *     death.c       what a worker died of, in words
 *     spawn.c       its process
 *     output.c      what it printed
 *
 * Who does what. Callers take idle lanes and give them back. All else that changes a
 * worker is done by the supervisor's thread; a caller that needs it says so with
 * crew_attend(). So that thread may look at the list of workers without the lock, and a
 * worker that it knows stays. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/object.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"
#include "worker/channel.h"
#include "worker/crew-types.h"
#include "worker/output.h"
#include "worker/sandbox.h"
#include "worker/spawn.h"

/* A lane:
 *
 *     NONE --> STARTING --> OPENER --> STARTING ...          the first lane
 *                  |           |
 *                  v           v
 *     NONE -----> IDLE <---> BUSY <---> LINGERING
 *
 * and from each state back to NONE, when the worker takes no calls any more. Only lane_move()
 * changes it. */
enum lane_state {
    LANE_NONE,     /* no channel yet, or no use any more */
    LANE_STARTING, /* START or OPEN is under way on it: the worker holds the channel */
    LANE_OPENER,   /* waits until another lane is to be opened, for which it is kept free */
    LANE_IDLE,     /* in crew->idle */
    LANE_BUSY,     /* a caller's */
    LANE_LINGERING /* its caller has left, its tool was asked to end */
};

/** One channel of a worker. Guarded by crew->lock; a BUSY lane's channel is its caller's, any other
 * lane's the supervisor's. */
struct lane {
    struct worker *worker;
    struct channel *channel;
    enum lane_state state;
    struct lane *next_idle;
    struct crew_call *call; /* BUSY */
    uint32_t tool;          /* BUSY or LINGERING: index */
    bool was_cancelled;     /* LINGERING: not for its deadline */
    uint64_t until_ns;      /* LINGERING: then its worker is killed */
    uint64_t look_ns;       /* LINGERING: when to look whether it is over */
    uint64_t pause_ns;      /* LINGERING: and how long after that again */
};

/* A worker:
 *
 *     NEW --> STARTING --> READY --> ENDING --> GONE
 *                  \          \        ^          ^
 *                   \          `-------|----------|   dies by itself
 *                    `-----------------'----------'   is killed, refuses, dies
 *
 *     STARTING   the first lane is STARTING; whatever comes over it is taken by worker_hear(),
 *                which the worker wakes by writing to its socket
 *     READY      its lanes are IDLE, BUSY or LINGERING, and of a plugin that is thread safe
 *                the first one an OPENER (or again STARTING) until all are open
 *     ENDING     until the pidfd says that it is dead; no lane is IDLE
 *     GONE       not in the crew any more; freed with the last reference
 *
 * Only worker_move() changes it. The opener is a lane that takes no calls: to open another one the
 * host must hold its channel, and during a call it does not. Once all are open it takes calls like
 * the others. */
enum worker_state {
    WORKER_NEW, /* not in the crew yet */
    WORKER_STARTING,
    WORKER_READY,
    WORKER_ENDING, /* was asked to, or was killed: takes no call */
    WORKER_GONE    /* reaped, and not in crew->workers any more */
};

/** Why a worker is to end. */
enum worker_end {
    END_NOT,      /* nobody wants it to */
    END_ASKED,    /* it is not needed any more */
    END_REFUSED,  /* it cannot load the plugin, said so, and exits */
    END_KILLED,   /* for what `end_text` says */
    END_NONSENSE, /* the same, and it is a crash */
};

/* What a caller tells of a worker's death. Written once, before any caller is told to look. */
struct death {
    bool crashed;
    bool is_known; /* else somebody took the exit status before us */
    int signal;
    int exit_status; /* -1: a signal */
    char reason[ERROR_MESSAGE_MAX];
    struct buf backtrace;
};

struct worker {
    uint32_t magic;
    struct crew *crew;
    struct worker *next;      /* in crew->workers */
    struct worker *next_gone; /* in supervisor->gone */
    uint32_t refs;            /* of the supervisor and of each BUSY lane's caller; crew->lock */
    struct process process;   /* its streams have moved to `output` */
    struct output output;
    uint64_t started_ns;

    enum worker_state state; /* guarded by crew->lock, like what follows */
    enum worker_end end;
    char end_text[256];
    bool was_starting;   /* when it was killed */
    bool is_used;        /* since the supervisor looked last */
    uint64_t until_ns;   /* STARTING, ENDING: then it is killed */
    uint64_t idle_at_ns; /* READY: when to look whether it is needed */
    struct lane lanes[CREW_LANES_MAX];
    uint32_t lane_count; /* that have a channel, the one that starts included */
    uint32_t lanes_max;
    struct death death; /* set before GONE */

    bool is_listening;               /* supervisor: the socket is in its epoll set */
    bool is_buried;                  /* supervisor */
    uint32_t layers;                 /* supervisor */
    _Atomic uint64_t cpu_renewed_ns; /* by the coarse clock; see renew_cpu() in exchange.c */
};
#define WORKER_MAGIC 0x776f726bu

/* A call in line, on its caller's stack. Guarded by crew->lock. */
struct waiter {
    struct waiter *next;
    struct waiter *prev;
    struct crew_call *call;
    struct lane *lane; /* given; it is not in line any more, nor where is_failed */
    bool is_failed;
    struct toolrack_error error;
    pthread_cond_t changed;
};

struct crew {
    uint32_t magic;
    struct supervisor *supervisor; /* NULL: it is gone; guarded by `lock` */
    struct crew *next;             /* in supervisor->crews */
    atomic_uint refs;
    atomic_bool wants_attention;
    uint64_t due_ns; /* supervisor's: when to tend it next; 0 is never */

    /* From the options, never changed. */
    struct arena arena;
    const struct descriptor *desc;
    const char *id; /* of the plugin */
    const char *path;
    const char *foreign; /* or NULL */
    struct file_identity identity;
    const char *settings;
    struct sandbox_policy policy; /* its limits filled in */
    const struct buf *filter;     /* the supervisor's */
    char *const *environment;
    uint32_t layers_wanted;
    bool sandbox_required;
    bool is_shared; /* a worker takes several calls at a time */
    struct crew_limits limits;
    void *user;

    struct lock lock;  /* guards what follows */
    struct lane *idle; /* those used last first, so that what is too many stays unused */
    struct waiter *first;
    struct waiter *last;
    uint32_t waiting;
    uint32_t busy; /* lanes */
    struct worker *workers;
    uint32_t live;     /* workers that are not ENDING */
    uint32_t starting; /* of those */
    bool is_left;      /* nobody has a reference any more */

    uint32_t failures;                      /* quick deaths and failed starts in a row */
    uint64_t start_after_ns;                /* no start before this */
    struct toolrack_error refusal;          /* of the last start; code 0: it was none */
    uint64_t crashes_ns[CREW_CRASHES_KEPT]; /* when; crash n lies at n % CREW_CRASHES_KEPT */
    uint32_t crashes_counted;               /* since the last release */
    uint32_t crashes;                       /* ever */
    bool is_quarantined;
    char reason[ERROR_MESSAGE_MAX];     /* of the quarantine */
    char last_death[ERROR_MESSAGE_MAX]; /* the last crash */
    bool has_started;
    uint32_t layers;
};
#define CREW_MAGIC 0x77657263u

/* A filter depends on network and spawn. */
#define FILTER_COUNT 4u

struct supervisor {
    uint32_t magic;
    struct supervisor_options options; /* worker_program is owned */
    int epoll_fd;
    int event_fd;
    pthread_t thread;
    atomic_bool is_stopping;

    /* The thread's. */
    uint64_t due_ns; /* 0: never */
    struct worker *gone;

    struct lock lock; /* guards what follows; taken after crew->lock */
    struct crew *crews;
    struct buf filters[FILTER_COUNT]; /* made when first needed, then never changed */
    bool has_filter[FILTER_COUNT];
};
#define SUPERVISOR_MAGIC 0x72707573u

/** Whether everything is to end. [any-thread] */
bool supervisor_is_stopping(const struct supervisor *supervisor);
/** Wake the thread. [any-thread] */
void supervisor_wake(struct supervisor *supervisor);
/** Have the supervisor look at a crew. The caller holds crew->lock, as in all that follows.
 * [any-thread] */
void crew_attend(struct crew *crew);

/** The one place where a lane's state changes. */
void lane_move(struct lane *lane, enum lane_state state);
/** The one place where a worker's state changes: the crew's counts and idle lanes follow it. */
void worker_move(struct worker *worker, enum worker_state state);

/** Take the lane that was used last for a call; false: none is idle. */
bool crew_take_idle(struct crew *crew, struct crew_call *call);
/** Give a lane that is free to the first call in line, or keep it as idle. */
void crew_offer(struct crew *crew, struct lane *lane);
/** Wait in line until the call has a lane. @return as crew_run() */
int crew_wait_in_line(struct crew *crew, struct crew_call *call, struct toolrack_error *err);
/** Fail the calls in line that `is_meant` picks, NULL: all. */
void crew_fail_line(struct crew *crew, const struct toolrack_error *err,
                    bool (*is_meant)(const struct crew *crew, const struct crew_call *call));
/** Lanes that are on their way to the calls in line. */
uint32_t crew_lanes_coming(const struct crew *crew);

/** Set the error that a call in quarantine gets. */
int crew_quarantine_error(const struct crew *crew, struct toolrack_error *err);

/* What needs no lock. */

/** Whether a call's deadline is over. */
bool call_is_late(const struct crew_call *call);
int call_late_error(const struct crew_call *call, const char *why, struct toolrack_error *err);
int call_cancelled_error(const struct crew_call *call, struct toolrack_error *err);

/** Release a crew that nobody knows any more. */
void crew_free(struct crew *crew);
/** Assert the invariants. The caller holds crew->lock. */
void crew_check_locked(struct crew *crew);
