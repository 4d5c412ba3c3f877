/* crew.h - the processes that run one generation of one plugin, seen from the host.
 *
 * A crew starts its first worker at its first call and more of them while calls wait,
 * up to a maximum; it lets them go when they have been idle. A worker serves one call
 * at a time on each of its lanes: one lane, or up to CREW_LANES_MAX of a plugin that is
 * thread safe. A call takes a lane, exchanges frames with it on the caller's own thread,
 * and gives the lane back. Calls that find none wait in line, first come first served.
 *
 * The supervisor is one thread of the host (one for all its crews): it starts workers,
 * learns of their deaths, collects what they print, and holds the clock for whatever
 * must end: starts, graces, idle times, back-off. It never waits for a worker.
 *
 *     worker:   STARTING --> READY <--> (lanes busy) --> ENDING --> gone
 *                   \            \                          /
 *                    `------------`------ dies, is killed -'
 *
 * When a worker dies every call inside it fails with its death; other workers go on. After
 * a quick death the next start waits, 1 s doubling to 60 s; three crashes within 60 s put
 * the crew in quarantine: every call is refused with the reason until crew_release(). */
#pragma once

#include <stdatomic.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"
#include "toolrack/toolrack.h"
#include "worker/sandbox.h"

struct supervisor;
struct crew;

/* Workers of a plugin, lanes of a worker of a thread-safe plugin, and calls in line, where the
 * configuration does not say. */
#define CREW_WORKERS_DEFAULT   4u
#define CREW_LANES_MAX         4u
#define CREW_QUEUE_DEFAULT     256u
/* How long a worker may take to start and to open its plugin. */
#define CREW_START_MS_DEFAULT  10000u
/* How long a call that was asked to end may go on before its worker is killed. */
#define CREW_GRACE_MS          250u
/* How long a worker may take to close its plugin; a sanitizer's runtime has much to do then. */
#define CREW_CLOSE_MS          (SANITIZER_ADDRESS || SANITIZER_THREAD ? 5000u : 1000u)
/* How long an idle worker is kept, at least; twice as long at most, for nobody looks at the clock
 * when a call ends. */
#define CREW_IDLE_MS_DEFAULT   30000u
/* A death within this time of the start is quick. */
#define CREW_QUICK_MS          5000u
#define CREW_BACKOFF_MS        1000u
#define CREW_BACKOFF_MS_MAX    60000u
/* So many crashes in so long are too many. */
#define CREW_CRASHES_MAX       3u
#define CREW_CRASHES_WINDOW_MS 60000u
/* Most that may be configured for CREW_CRASHES_MAX. */
#define CREW_CRASHES_KEPT      16u
/* Lines that a worker printed or logged, kept for its crash bundle; and what one worker may print
 * a second before lines are counted instead of passed on. */
#define CREW_LAST_LINES        16u
#define CREW_LINES_PER_S_MAX   200u

/** What a worker died of. Texts end with the callback. */
struct crew_death {
    bool crashed;    /* a signal, or an exit that nobody asked for: counts towards quarantine */
    int signal;      /* or 0 */
    int exit_status; /* or -1 */
    uint32_t tool;   /* index of a tool whose call was inside, or UINT32_MAX */
    const char *arguments; /* of that call, or NULL */
    size_t arguments_length;
    const char *reason;    /* one line, as in the error of that call */
    const char *backtrace; /* lines, or "" */
    const char *const *last_lines;
    size_t last_line_count;
    uint64_t since_start_ms;
};

struct supervisor_options {
    const struct log *log;
    const char *worker_program; /* path; copied */
    void *user;
    /* All may be NULL. On the supervisor's thread, no lock held. `crew_user` is that of the crew's
     * options, which holds still until crew_unref() of the last reference returned and `gone` was
     * called. A worker that ended as it was asked to, or that refused to start, did not die. */
    void (*died)(void *user, void *crew_user, const struct crew_death *death);
    void (*quarantined)(void *user, void *crew_user, const char *reason, unsigned crashes);
    void (*started)(void *user, void *crew_user, int pid, uint32_t layers);
    /* A start that failed other than by a crash; calls in line are told the same afterwards. */
    void (*refused)(void *user, void *crew_user, const char *reason);
    void (*gone)(void *user, void *crew_user); /* the crew's last worker has ended after its last
                                                * reference: nothing will be told of it again */
};

/** Start the thread. NULL with err set: no memory, no thread, no descriptors. */
struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct toolrack_error *err);
/** End all workers, the idle ones by asking, the busy ones by killing, and the thread. No call is
 * in a crew any more. NULL is ignored. Afterwards no process of it is left; crews that are still
 * referenced refuse every call. */
void supervisor_destroy(struct supervisor *supervisor);

/** The values above where 0. */
struct crew_limits {
    uint32_t workers_max;
    uint32_t queue_max;
    uint32_t start_ms;
    uint32_t grace_ms;
    uint32_t close_ms;
    uint32_t idle_ms;
    uint32_t quick_ms;
    uint32_t backoff_ms;
    uint32_t backoff_ms_max;
    uint32_t crashes_max; /* CREW_CRASHES_KEPT at most */
    uint32_t crashes_window_ms;
};

struct crew_options {
    const struct descriptor *desc; /* borrowed for the crew's life */
    const char *path;              /* of the image, copied; likewise what follows */
    const char *foreign; /* what is called in it, as foreign_write() has it; NULL: it is a plugin */
    struct file_identity identity;
    const char *settings; /* JSON object */
    struct sandbox_policy policy;
    const char *const *environment; /* "NAME=value", NULL-terminated; granted ones only */
    bool sandbox_required;          /* rather refuse than run without a wanted layer */
    struct crew_limits limits;
    const char *quarantined; /* reason, when it begins in quarantine; else NULL */
    /* How long ago the plugin crashed in other processes of the host, the oldest first: they count
     * like its own. */
    const uint64_t *crashes_ago_ms;
    size_t crashes_ago_count; /* at most CREW_CRASHES_KEPT */
    void *user;
};

/** A crew without workers yet. @return 0 with a reference; TOOLRACK_E_NO_MEMORY; TOOLRACK_E_IO
 * (the system call filter). [any-thread] */
int crew_create(struct supervisor *supervisor, const struct crew_options *options,
                struct crew **ret, struct toolrack_error *err);
struct crew *crew_ref(struct crew *crew);
/** With the last reference its workers close the plugin and end, in their own time. NULL is
 * ignored. No call is running then. [any-thread] */
void crew_unref(struct crew *crew);
CLEANUP_DEFINE(struct crew, crew_unref)

/** One call. What it points to is borrowed until crew_run() returns. */
struct crew_call {
    uint32_t tool; /* descriptor_tool.index */
    const char *tool_name;
    const char *arguments; /* checked, defaults filled in */
    size_t arguments_length;
    uint64_t deadline_ns; /* 0 is none */
    const char *caller;
    const char *channel;
    const char *conversation;
    const char *trace;
    /* What the tool says meanwhile, on the thread of crew_run(). */
    void *user;
    void (*progress)(void *user, double done, double total, const char *message);
    void (*log)(void *user, int level, const char *message);
    /* enum toolrack_answer. Content by malloc. NULL: nobody can be asked. */
    int (*ask)(void *user, const char *message, const char *schema, char **ret_content);

    struct arena *arena; /* for the parsed result */
    bool wants_json;     /* somebody will look at it */

    /* crew.c's own: zero at the beginning. */
    atomic_bool interrupted;
    struct lane *lane;     /* while it runs */
    struct waiter *waiter; /* while it waits in line */
};

struct crew_reply {
    struct buf out;     /* the result, as result_begin() and result_end() have it */
    yyjson_val *json;   /* the same parsed, in the arena; NULL unless the call wants it */
    bool is_content;    /* it is content blocks, and structuredContent where it has that */
    bool is_structured; /* the tool gave a JSON reply (`json`, or its structuredContent) */
    uint64_t cpu_ns;    /* of the call, and the worker's memory at its peak, in bytes: what the */
    uint64_t memory;    /* worker says of itself; left as they are where it measured neither */
};

/** Run a call in a worker and wait for its end: at the deadline at the latest.
 *
 * @param ret  reply->out to be finished by the caller
 * @return 0; what the tool failed with; what its worker refused to start with, or could not be
 *         started for; TOOLRACK_E_EXECUTION_FAILED when its worker died (with err->signal), or the
 *         crew is in quarantine; TOOLRACK_E_TIMEOUT; TOOLRACK_E_CANCELLED;
 *         TOOLRACK_E_LIMIT_EXCEEDED when too many wait; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int crew_run(struct crew *crew, struct crew_call *call, struct crew_reply *ret,
             struct toolrack_error *err);

/** See to it that a worker has started its plugin, without calling anything.
 *
 * @param until_ns  of the monotonic clock
 * @return 0; otherwise as crew_run(). [any-thread] */
int crew_start(struct crew *crew, uint64_t until_ns, struct toolrack_error *err);

/** Make a call end early: waiting it ends at once, running its tool is told, and its worker killed
 * after CREW_GRACE_MS; either way crew_run() returns Cancelled at once. The caller makes sure that
 * `call` is alive. [any-thread] */
void crew_interrupt(struct crew *crew, struct crew_call *call);

/** End a quarantine. Back-off and count of crashes begin anew. [any-thread] */
void crew_release(struct crew *crew);

struct crew_status {
    uint32_t workers; /* started or starting */
    uint32_t busy;    /* calls running */
    uint32_t waiting; /* calls in line */
    uint32_t crashes; /* since it was made */
    bool started;     /* a worker has been ready: the plugin loads */
    uint32_t layers;  /* of the sandbox, of the worker that started last; 0 before that */
    bool quarantined;
    /* Of the quarantine, or of the last start that failed. */
    char reason[ERROR_MESSAGE_MAX];
};
void crew_status(struct crew *crew, struct crew_status *ret);
