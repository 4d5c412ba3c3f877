/* crew-parts.h - the structs of a crew, its lanes, and the line of calls that wait for one.
 *
 *     crew.c        public functions: a crew's life, one call from taking a lane to giving it back
 *     supervisor.c  the thread: what it waits for, and which crew an event is for
 *     tend.c        what the thread does for a crew: which worker starts, opens a lane or ends, and
 *                   when
 *     burial.c      the end of a worker and what follows from it
 *     worker.c      one worker from its start to its end
 *     exchange.c    one call on one lane: its frames
 *     events.c      a worker's descriptors in the thread's epoll set
 *     death.c       a worker's cause of death, as text
 *     cpu.c         how much CPU time it may use, in calls and between them
 *     threads.c     how many threads it may start; tasks.c counts them
 *     spawn.c       its process
 *     output.c      what it printed
 *
 * Who does what. Callers take idle lanes and give them back. Only the supervisor's thread changes
 * anything else of a worker; a caller that needs such a change requests it with crew_attend(). So
 * that thread may read the list of workers without the lock, and no other thread removes a worker
 * from it. */
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
#include "worker/tasks.h"

/* A lane:
 *
 *     NONE --> STARTING --> OPENER --> STARTING ...          the first lane
 *                  |           |
 *                  v           v
 *     NONE -----> IDLE <---> BUSY <---> LINGERING
 *                  ^           |            |
 *                  |           v            |
 *                  `------> RESTING <-------'
 *
 * and from each state back to NONE, when the worker no longer takes calls. A lane that becomes free
 * while its worker is withheld goes to RESTING instead of IDLE or BUSY. Only lane_move() changes
 * it. */
enum lane_state {
    LANE_NONE,      /* no channel yet, or not used any more */
    LANE_STARTING,  /* START or OPEN is under way on it: the worker holds the channel */
    LANE_OPENER,    /* kept free until another lane is to be opened */
    LANE_IDLE,      /* in crew->idle */
    LANE_BUSY,      /* a caller's */
    LANE_LINGERING, /* its caller has returned, its tool was asked to end */
    LANE_RESTING    /* free, but its worker is withheld */
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
    bool was_cancelled;     /* LINGERING: cancelled, not late */
    uint64_t until_ns;      /* LINGERING: when its worker is killed */
    uint64_t look_ns;       /* LINGERING: when to check whether the call has ended */
    uint64_t pause_ns;      /* LINGERING: time until the next check */
};

/* A worker:
 *
 *     NEW --> STARTING --> READY --> ENDING --> GONE
 *                  \          \        ^          ^
 *                   \          `-------|----------|   dies by itself
 *                    `-----------------'----------'   is killed, refuses, dies
 *
 *     STARTING   the first lane is STARTING; its frames are taken by worker_hear(), which runs when
 *                the worker writes to its socket
 *     READY      its lanes are IDLE, BUSY, LINGERING or RESTING; if the plugin is thread safe, the
 *                first lane is an OPENER (or STARTING again) until all are open; the second one is
 * open as a rule when the worker is ready, as the first call runs in it ENDING     until the pidfd
 * reports its death; no lane is IDLE GONE       not in the crew any more; freed with the last
 * reference
 *
 * Only worker_move() changes it. The opener takes no calls: to open another lane the host must hold
 * its channel, and during a call the host does not. Once all lanes are open, it takes calls like
 * the others.
 *
 * A READY worker with a LINGERING lane is withheld: it gets no call, as it may have to be killed.
 * If the tool ends within its grace, the worker takes calls again. If not, it is killed as soon as
 * no other call runs in it. While others run, it is retired: it never takes a call again and is not
 * one of the crew's workers_max any more, so that another can be started in its place. A crew has
 * workers_max retired ones at most; further ones are only withheld, in their own place. */
enum worker_state {
    WORKER_NEW, /* not in the crew yet */
    WORKER_STARTING,
    WORKER_READY,
    WORKER_ENDING, /* was asked to end, or was killed: takes no call */
    WORKER_GONE    /* reaped and removed from crew->workers */
};

/** Why a worker is to end. */
enum worker_end {
    END_NOT,      /* it is not to end */
    END_ASKED,    /* it is no longer needed */
    END_REFUSED,  /* it cannot load the plugin, reported that, and exits */
    END_KILLED,   /* for the reason in `end_text` */
    END_UNNEEDED, /* likewise, while it started: not reported, as no call has run in it */
    END_STOPPED, /* likewise, for the CPU time that it used: reported, and not counted as a crash */
    END_NONSENSE, /* likewise, and counted as a crash */
};

/* What a caller reports about a worker's death. Written once, before any caller is notified. */
struct death {
    bool crashed;
    bool is_known; /* false: other code of the process took the exit status first */
    int signal;
    int exit_status; /* -1: a signal */
    char reason[ERROR_MESSAGE_MAX];
    size_t brief_length; /* of the reason, as of an error */
    struct buf backtrace;
};

/* What the supervisor knows of a worker's CPU time; see cpu.c. Guarded by crew->lock. */
struct cpu_watch {
    uint64_t look_ns; /* when to look next */
    uint64_t pause_ns;
    bool rests;         /* the pause is a long one, and no call has begun since */
    uint64_t looked_ns; /* the last look, like what follows */
    uint64_t cpu_ns;
    uint32_t calls;
    uint64_t processes;
    bool was_free;
    uint64_t idle_ns;  /* of the present window: time between calls */
    uint64_t burnt_ns; /* and CPU time used in it */
};

struct worker {
    uint32_t magic;
    struct crew *crew;
    struct worker *next;      /* in crew->workers */
    struct worker *next_gone; /* in supervisor->gone */
    uint32_t refs;            /* of the supervisor and of each BUSY lane's caller; crew->lock */
    struct process process;   /* `output` owns its pipe */
    struct output output;
    uint64_t started_ns;

    enum worker_state state; /* guarded by crew->lock, like what follows */
    enum worker_end end;
    char end_text[256];
    bool was_starting;    /* when it was killed */
    bool is_used;         /* since the supervisor's last check */
    uint64_t until_ns;    /* when it is killed; 0: it is not, or was */
    uint64_t idle_at_ns;  /* READY: when to check whether it is needed */
    uint32_t lingering;   /* lanes that are */
    bool is_retired;      /* READY or later: counted in crew->retired, no more in crew->live */
    uint32_t calls;       /* begun, counted round and round */
    struct cpu_watch cpu; /* READY */
    struct lane lanes[CREW_LANES_MAX];
    uint32_t lane_count; /* lanes that are open, the first included; not one that is to be opened */
    uint32_t lanes_max;
    bool opens_lane;    /* the second one, before it is ready */
    struct death death; /* set before GONE */

    bool is_buried;           /* supervisor, like what follows */
    int listener;             /* asks before each new thread (threads.h); -1: none */
    uint32_t threads;         /* at most so many, its own included */
    uint64_t recount_ns;      /* when they may be counted again */
    bool was_refused_threads; /* that was logged */
    bool is_described;        /* it has told of its sandbox */
    uint32_t layers;
    struct task_times times; /* supervisor, with a grant to spawn: of its processes; see cpu.c */
    uint64_t processes;      /* that were started */
    _Atomic uint64_t cpu_renewed_ns; /* by the coarse clock; this and the next two: cpu_renew() */
    _Atomic uint64_t cpu_used_ns;    /* CPU time that had been used then */
    _Atomic uint64_t cpu_until_ns;   /* CPU time at which the kernel sends SIGXCPU */
};
#define WORKER_MAGIC 0x776f726bu

/* A call in line, on its caller's stack. Guarded by crew->lock. */
struct waiter {
    struct waiter *next;
    struct waiter *prev;
    struct crew_call *call;
    struct lane *lane; /* given; with a lane, or when is_failed, the call is no longer in line */
    bool is_failed;
    struct toolrack_error error;
    pthread_cond_t changed;
};

struct crew {
    uint32_t magic;
    struct supervisor *supervisor; /* NULL: it was destroyed; guarded by `lock` */
    struct crew *next;             /* in supervisor->crews */
    atomic_uint refs;
    atomic_bool wants_attention;
    struct crew *next_attended; /* in supervisor->attended, while it wants attention */
    uint64_t due_ns;            /* supervisor: when to tend it next; 0: never */
    struct crew *due_below;     /* this and the next two: due.h */
    struct crew *due_next;
    struct crew **due_at;

    /* From the options, never changed. */
    struct arena arena;
    const struct descriptor *desc;
    const char *id; /* of the plugin */
    const char *path;
    const char *file;
    const char *foreign; /* or NULL */
    struct file_identity identity;
    const char *settings;
    struct sandbox_policy policy; /* with defaults filled in */
    const void *filter;           /* of sandbox_filter() */
    size_t filter_size;
    char *const *environment;
    bool has_environment; /* it has variables that were granted */
    uint32_t layers_wanted;
    bool sandbox_required;
    bool measures_all;
    bool is_shared; /* a worker takes several calls at a time */
    struct crew_limits limits;
    void *user;

    struct lock lock;  /* guards what follows */
    struct lane *idle; /* last used first, so that surplus lanes stay unused */
    struct waiter *first;
    struct waiter *last;
    uint32_t waiting;
    uint32_t busy; /* lanes */
    struct worker *workers;
    uint32_t live;     /* workers that are neither ENDING nor retired */
    uint32_t retired;  /* that are not ENDING */
    uint32_t starting; /* of those */
    uint32_t lost;     /* workers that died or were killed, in whose place none was started yet */
    bool is_left;      /* no references are left */

    uint32_t failures;                      /* quick deaths and failed starts in a row */
    uint64_t start_after_ns;                /* no start before this */
    struct toolrack_error refusal;          /* why the last start failed; code 0: it did not fail */
    uint64_t crashes_ns[CREW_CRASHES_KEPT]; /* times; crash n is at n % CREW_CRASHES_KEPT */
    uint32_t crashes_counted;               /* since the last release */
    uint32_t crashes;                       /* ever */
    bool is_quarantined;
    char reason[ERROR_MESSAGE_MAX];     /* of the quarantine */
    char last_death[ERROR_MESSAGE_MAX]; /* the last crash */
    bool has_started;
    uint32_t layers;
};
#define CREW_MAGIC 0x77657263u

struct supervisor {
    uint32_t magic;
    struct supervisor_options options; /* worker_program is owned */
    int epoll_fd;
    int event_fd;
    pthread_t thread;
    atomic_bool is_stopping;
    atomic_bool interrupts; /* the thread is to interrupt the calls of all crews */
    atomic_bool prepares;   /* the thread is to start the spare process for the first worker */
    atomic_uint_fast64_t started; /* workers, as worker_move() counts them */
    atomic_uint_fast64_t replaced;
    atomic_uint_fast64_t ended;
    _Atomic(struct crew *) attended; /* those that want attention; only the thread takes them out */

    /* The thread's. */
    struct crew *due; /* the one that is due first; NULL: none is */
    struct worker *gone;
    struct process spare; /* spare.h */
    bool wants_spare;

    struct lock lock; /* guards what follows; taken after crew->lock */
    struct crew *crews;
};
#define SUPERVISOR_MAGIC 0x72707573u

/** Whether the supervisor is being destroyed. [any-thread] */
bool supervisor_is_stopping(const struct supervisor *supervisor);
/** Wake the thread. [any-thread] */
void supervisor_wake(struct supervisor *supervisor);
/** Have the supervisor's thread check a crew in its next round. Returns whether that is news. The
 * caller is that thread, or holds crew->lock. */
bool crew_note_attention(struct crew *crew);
/** The same, and wake the thread. The caller holds crew->lock, here and below. [any-thread] */
void crew_attend(struct crew *crew);

/** The one place where a lane's state changes. */
void lane_move(struct lane *lane, enum lane_state state);
/** The one place where a worker's state changes: the crew's counts and idle lanes follow it. */
void worker_move(struct worker *worker, enum worker_state state);

/** Whether no call is running in a worker, and no lane is starting or lingering. */
bool worker_is_free(const struct worker *worker);
/** Whether a caller still waits for a call in it. */
bool worker_has_callers(const struct worker *worker);
/** Whether it gets no call, because of one that lingers or did. */
bool worker_is_withheld(const struct worker *worker);
/** The call of a BUSY lane goes on without its caller: withhold the worker. */
void worker_withhold(struct lane *lane);
/** The call of a LINGERING lane has ended. */
void worker_end_linger(struct lane *lane);
/** Give a withheld worker's place in the crew to another. */
void worker_retire(struct worker *worker);

/** Take the most recently used idle lane for a call; false: no lane is idle. */
bool crew_take_idle(struct crew *crew, struct crew_call *call);
/** Give a free lane to the first call in line, or make it idle; one of a withheld worker rests. */
void crew_offer(struct crew *crew, struct lane *lane);
/** Wait in line until the call has a lane. @return as crew_run() */
int crew_wait_in_line(struct crew *crew, struct crew_call *call, struct toolrack_error *err);
/** Fail the calls in line for which `is_meant` returns true; NULL: all. */
void crew_fail_line(struct crew *crew, const struct toolrack_error *err,
                    bool (*is_meant)(const struct crew *crew, const struct crew_call *call));
/** Make a call end early that has a lane or is in line; or all calls of a crew, for which the
 * caller does not hold the lock. */
void call_end_early(struct crew_call *call);
void crew_interrupt_all(struct crew *crew);
/** Number of lanes that starting workers and openers can still add. */
uint32_t crew_lanes_coming(const struct crew *crew);

/** Set the error of a call that the quarantine refuses. */
int crew_quarantine_error(const struct crew *crew, struct toolrack_error *err);

/* The functions below need no lock. */

/** Whether a call's deadline is over. */
bool call_is_late(const struct crew_call *call);
int call_late_error(const struct crew_call *call, const char *why, struct toolrack_error *err);
int call_cancelled_error(const struct crew_call *call, struct toolrack_error *err);

/** Release a crew that has no references left. */
void crew_free(struct crew *crew);
/** Assert the invariants. The caller holds crew->lock. */
void crew_check_locked(struct crew *crew);
