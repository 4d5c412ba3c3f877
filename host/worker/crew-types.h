/* crew-types.h - what a crew is given and what it tells: plain values, for its face and its parts.
 */
#pragma once

#include <stdatomic.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "toolrack/toolrack.h"

struct crew;
struct supervisor;

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
/* How long an idle worker is kept, at least; twice as long at most, as the clock is not read
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

/** What a worker died of. Strings end with the callback. */
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

    /* The crew's own: zero at the beginning. */
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
