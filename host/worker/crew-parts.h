/* crew-parts.h - what the files of the crew share, and nobody else sees.
 *
 *     crew.c        the crew: its line of calls, its lanes
 *     exchange.c    one call on one lane: its frames
 *     supervisor.c  the thread: what it waits for, and for which crew
 *     tend.c        what the thread does for a crew: who starts, opens, ends, and when
 *     worker.c      one worker from start to death
 *     spawn.c       its process
 *     death.c       what it died of, in words
 *     output.c      what it printed
 *
 * Who does what. Callers take idle lanes and give them back. All else that changes a
 * worker is done by the supervisor's thread; a caller that needs it says so with
 * crew_attend(). So that thread may look at the list of workers without the lock, and a
 * worker that it knows stays. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "worker/channel.h"
#include "worker/crew.h"

/* ------------------------------------------------------------------- output */

/** One of a worker's two streams, up to where it stands in a line. */
struct stream {
    int fd; /* -1: at its end */
    size_t length;
    bool is_cut; /* the rest of the line is passed over */
    char line[LOG_LINE_MAX];
};
#define STREAM_COUNT 2

/** What a worker prints and logs. The supervisor's but for the last lines, which have a lock. */
struct output {
    const struct log *log;
    const char *source; /* the plugin's id, borrowed */
    struct stream streams[STREAM_COUNT];
    uint64_t window_ns; /* when this second of counting lines began */
    uint32_t passed;    /* lines in it */
    uint32_t dropped;

    pthread_mutex_t lock; /* guards what follows */
    uint64_t line_count;  /* ever; line n lies in last[n % CREW_LAST_LINES] */
    char last[CREW_LAST_LINES][LOG_LINE_MAX];
};

/** One without streams. `log` may be NULL. */
void output_init(struct output *output, const struct log *log, const char *source);
/** Give it its streams, which never block; they are taken over. */
void output_set_streams(struct output *output, int streams[STREAM_COUNT]);
void output_finish(struct output *output);
/** Read what there is, but not for ever. False: the stream has ended. [supervisor] */
bool output_read(struct output *output, unsigned stream, uint64_t now_ns);
void output_close(struct output *output, unsigned stream);
/** Read the rest, of a process that is dead. [supervisor] */
void output_end(struct output *output, uint64_t now_ns);
/** When output_tell_dropped() is due; 0: never. [supervisor] */
uint64_t output_due(const struct output *output);
void output_tell_dropped(struct output *output, uint64_t now_ns);
/** Pass on a line that the plugin logged while nobody called it. [supervisor] */
void output_log(struct output *output, int level, const char *line, uint64_t now_ns);
/** Keep a line for the last lines, no more. [any-thread] */
void output_note(struct output *output, const char *line);
/** The last lines, oldest first, as long as nothing is added. Returns how many. */
size_t output_last_lines(const struct output *output, const char *ret[CREW_LAST_LINES]);

/* -------------------------------------------------------------------- spawn */

/** A process of the worker program; descriptors of the host's ends, -1 where there is none. */
struct process {
    pid_t pid;
    int pidfd;
    int socket;
    int streams[STREAM_COUNT];
    int leash[2]; /* of one that may start others; see spawn.c */
};
#define PROCESS_NONE \
    ((struct process){.pid = -1, .pidfd = -1, .socket = -1, .streams = {-1, -1}, .leash = {-1, -1}})

/** Start one; `may_start_others`: what it starts ends with this process as well. [supervisor] */
int process_spawn(const char *program, char *const *environment, bool may_start_others,
                  struct process *ret, struct toolrack_error *err);
/** Close the leash: what is left of its group is killed. */
void process_end_group(struct process *process);

/** The environment of a worker in the arena: what is granted, and what every program expects. NULL:
 * no memory. */
char *const *process_environment(struct arena *arena, const char *const *granted);

/* ------------------------------------------------------------------- worker */

enum lane_state {
    LANE_NONE,     /* no channel yet, or no use any more */
    LANE_STARTING, /* START or OPEN is under way on it: the worker has the turn */
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

enum worker_state {
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
    _Atomic uint64_t cpu_renewed_ns; /* by the coarse clock; see worker_renew_cpu() */
};
#define WORKER_MAGIC 0x776f726bu

/** Start one for a crew that may have one more. On failure the crew has noted why. [supervisor] */
void worker_start(struct crew *crew, uint64_t now_ns);
/** Take what it sent while it starts or opens a lane. [supervisor] */
void worker_hear(struct worker *worker, uint64_t now_ns);
/** Open another lane of a worker that has an opener. Caller holds crew->lock. [supervisor] */
void worker_open_lane(struct worker *worker);
/** Let it go: no call is in it. Caller holds crew->lock. [supervisor] */
void worker_dismiss(struct worker *worker, uint64_t now_ns);
/** Kill it; what stands first stays the reason. Caller holds crew->lock. [any-thread] */
void worker_kill(struct worker *worker, enum worker_end end, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);
/** Its pidfd says that it is dead: bury it and tell everybody. [supervisor] */
void worker_bury(struct worker *worker, uint64_t now_ns);
/** Give up the supervisor's reference. [supervisor] */
void worker_release(struct worker *worker);
/** What the last reference does, with crew->lock not held. */
void worker_free(struct worker *worker);
/** See to it that a call that begins now has its CPU time. [the lane's caller] */
void worker_renew_cpu(struct worker *worker);

/** Set worker->death. `status` is what waitid() gave, NULL: nothing; `state` and `end` are those of
 * before it died. [supervisor] */
void death_describe(struct worker *worker, const siginfo_t *status, enum worker_state state,
                    enum worker_end end);

/* ----------------------------------------------------------------- exchange */

/** How a call left its lane. */
enum exchange_end {
    EXCHANGE_DONE,    /* over: the lane is free */
    EXCHANGE_LEFT,    /* the tool goes on: the lane lingers */
    EXCHANGE_GONE,    /* the worker is dead; its death says why */
    EXCHANGE_NONSENSE /* the worker cannot be understood; err is set */
};

/** Exchange a call's frames on its lane. *ret_code: as crew_run() returns it, where the worker is
 * not GONE. */
enum exchange_end exchange_run(struct crew_call *call, struct crew_reply *ret, int *ret_code,
                               struct toolrack_error *err);

/** What a lane without a caller has come to, without waiting. [supervisor] */
enum lingering { LINGER_ON, LINGER_OVER, LINGER_NONSENSE };
enum lingering exchange_linger(struct lane *lane);

/* --------------------------------------------------------------------- crew */

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
    struct sandbox_policy policy;
    const struct buf *filter; /* the supervisor's */
    char *const *environment;
    uint32_t layers_wanted;
    bool sandbox_required;
    bool is_shared; /* a worker takes several calls at a time */
    struct crew_limits limits;
    void *user;

    pthread_mutex_t lock; /* guards what follows */
    struct lane *idle;    /* those used last first, so that what is too many stays unused */
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

/** Have the supervisor look at it. Caller holds crew->lock. [any-thread] */
void crew_attend(struct crew *crew);
/** Give a lane that is free to who is first in line, or keep it as idle. Caller holds crew->lock.
 */
void crew_offer(struct crew *crew, struct lane *lane);
/** Take all idle lanes of a worker away. Caller holds crew->lock. */
void crew_withdraw(struct crew *crew, const struct worker *worker);
/** Fail the calls in line that `is_meant` picks, NULL: all. Caller holds crew->lock. */
void crew_fail_line(struct crew *crew, const struct toolrack_error *err,
                    bool (*is_meant)(const struct crew *crew, const struct crew_call *call));
/** Lanes that are on their way to the calls in line. Caller holds crew->lock. */
uint32_t crew_lanes_coming(const struct crew *crew);
/** The back-off after one more failure. Caller holds crew->lock. */
void crew_back_off(struct crew *crew, uint64_t now_ns);
/** Note a crash. Returns whether it was one too many. Caller holds crew->lock. */
bool crew_count_crash(struct crew *crew, const char *reason, uint64_t now_ns);
/** Set the error that a call in quarantine gets. Caller holds crew->lock. */
int crew_quarantine_error(const struct crew *crew, struct toolrack_error *err);
/** Name of a tool by its index, or "a tool". */
const char *crew_tool_name(const struct crew *crew, uint32_t tool);
/** Release a crew that nobody knows any more. */
void crew_free(struct crew *crew);

/** Do for a crew what is due, and say when something is again (crew->due_ns). False: it is left and
 * has no workers. [supervisor] */
bool crew_tend(struct crew *crew, uint64_t now_ns);

/* --------------------------------------------------------------- supervisor */

/** What a crew and its workers need of the supervisor. */
const struct supervisor_options *supervisor_options_of(const struct supervisor *supervisor);
/** Whether everything is to end. [supervisor] */
bool supervisor_is_stopping(const struct supervisor *supervisor);
/** The filter of a policy, made once. Borrowed for the supervisor's life. [any-thread] */
int supervisor_filter(struct supervisor *supervisor, const struct sandbox_policy *policy,
                      const struct buf **ret, struct toolrack_error *err);
/** List a new crew. [any-thread] */
void supervisor_add(struct supervisor *supervisor, struct crew *crew);
/** Wake the thread. [any-thread] */
void supervisor_wake(struct supervisor *supervisor);
/** Wait for a worker's death, its output, and its socket. False: errno says why. [supervisor] */
bool supervisor_watch(struct supervisor *supervisor, struct worker *worker);
/** Wait for its socket, or not any more. [supervisor] */
void supervisor_listen(struct supervisor *supervisor, struct worker *worker, bool listens);
/** Wait for nothing of it any more. [supervisor] */
void supervisor_unwatch(struct supervisor *supervisor, struct worker *worker);
/** The same, and release it after this turn. [supervisor] */
void supervisor_forget(struct supervisor *supervisor, struct worker *worker);
