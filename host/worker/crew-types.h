/* crew-types.h - inputs and outputs of a crew, as plain values, for its public functions and its
 * parts.
 */
#pragma once

#include <stdatomic.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "plugin/image-host.h"
#include "toolrack/toolrack.h"

struct crew;
struct supervisor;

/* Defaults where the configuration states none: workers of a plugin, lanes of a worker of a
 * thread-safe plugin, and calls in line. */
#define CREW_WORKERS_DEFAULT    4u
#define CREW_LANES_MAX          4u
#define CREW_QUEUE_DEFAULT      256u
/* How long a worker may take to start and to open its plugin. */
#define CREW_START_MS_DEFAULT   10000u
/* How long a call that was asked to end may go on before its worker is killed, or retired while
 * other calls run in it (crew-parts.h). */
#define CREW_GRACE_MS           250u
/* How long a worker may take to close its plugin; a sanitizer's runtime needs longer for that. */
#define CREW_CLOSE_MS           (SANITIZER_ADDRESS || SANITIZER_THREAD ? 5000u : 1000u)
/* How long an idle worker is kept at least; at most twice as long, as the clock is not read when a
 * call ends. */
#define CREW_IDLE_MS_DEFAULT    30000u
/* A death within this time of the start is quick. */
#define CREW_QUICK_MS           5000u
#define CREW_BACKOFF_MS         1000u
#define CREW_BACKOFF_MS_MAX     60000u
/* So many crashes within this window cause a quarantine. */
#define CREW_CRASHES_MAX        3u
#define CREW_CRASHES_WINDOW_MS  60000u
/* Percent of one CPU that a worker may use between calls. */
#define CREW_IDLE_CPU_PERCENT   5u
/* Largest configurable value of crashes_max. */
#define CREW_CRASHES_KEPT       16u
/* Lines that a worker printed or logged, kept for its crash bundle; and how many lines per second
 * of one worker are passed on; further lines are only counted. */
#define CREW_LAST_LINES         16u
#define CREW_LINES_PER_S_MAX    200u
/* Likewise of progress that its calls report. */
#define CREW_PROGRESS_PER_S_MAX 200u
/* Likewise of what one worker reports by its extensions. */
#define CREW_NOTICES_PER_S_MAX  1000u

/** A worker's cause of death. Strings are valid until the callback returns. */
struct crew_death {
    bool crashed;    /* a signal, or an exit that was not requested: counts towards quarantine */
    bool stopped;    /* ended by the host for the CPU time that it used */
    int signal;      /* or 0 */
    int exit_status; /* or -1 */
    uint32_t tool;   /* index of a tool whose call was running, or UINT32_MAX */
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
    bool keeps_spare;           /* a process of it is started ahead, once a worker was needed */
    void *user;
    /* All may be NULL. Called on the supervisor's thread with no lock held. `crew_user` is that of
     * the crew's options; it must stay valid until crew_unref() of the last reference has returned
     * and `gone` was called. `died` is not called for a worker that ended on request, refused to
     * start or was not needed any more while it started. */
    void (*died)(void *user, void *crew_user, const struct crew_death *death);
    /* Too many crashes: to be stored. No call has learned of it yet. */
    void (*quarantining)(void *user, void *crew_user, const char *reason, unsigned crashes);
    /* The calls in line were refused for it. */
    void (*quarantined)(void *user, void *crew_user, const char *reason);
    void (*started)(void *user, void *crew_user, int pid, uint32_t layers);
    /* A start that failed other than by a crash; calls in line get the same reason afterwards. */
    void (*refused)(void *user, void *crew_user, const char *reason, bool is_lasting);
    /* A worker reports something by an extension: `text` is the plugin's, of any bytes without a
     * line break, or NULL. NOTICE_COUNT: it reported too much within a second, and some was
     * dropped. */
    void (*noticed)(void *user, void *crew_user, enum plugin_notice notice, const char *text);
    /* The crew has neither references nor workers: no callback follows. */
    void (*gone)(void *user, void *crew_user);
};

/** 0 stands for the defaults above. */
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
    uint32_t idle_cpu_percent; /* of one CPU, between calls; see cpu.h */
};

/* Most values that are sent to a worker parsed: 4 MiB, beside the bytes of their strings. More of
 * them take far more room than their text. */
#define CREW_VALUES_MAX (256u * 1024)

/** One call. What it points to is borrowed until crew_run() returns. */
struct crew_call {
    uint32_t tool; /* descriptor_tool.index */
    const char *tool_name;
    /* The arguments, checked, defaults filled in: parsed, or as text if they are more values than
     * CREW_VALUES_MAX. */
    yyjson_val *values; /* NULL: as text */
    size_t value_count;
    const char *arguments;
    size_t arguments_length;
    uint64_t deadline_ns; /* 0: none */
    uint64_t deadline_ms; /* how long it was, for the error */
    const char *caller;
    const char *channel;
    const char *conversation;
    const char *trace;
    /* Messages of the running tool, on the thread of crew_run(). */
    void *user;
    void (*progress)(void *user, double done, double total, const char *message);
    void (*log)(void *user, int level, const char *message);
    /* Sets the answers; contents are from malloc(), and the crew frees them. May move deadline_ns.
     * Returns 0, or TOOLRACK_INPUT_LATER. NULL: there is nobody to ask. */
    int (*input)(void *user, struct toolrack_input *inputs, size_t count);

    /* Masked in what the worker prints and logs from now on (schema/secret.h); NULL: nothing. */
    const struct buf *secrets;

    struct arena *arena; /* for the parsed result */
    bool wants_json;     /* the caller reads the parsed result */

    /* The crew's own: zero at the beginning. */
    atomic_bool interrupted;
    struct lane *lane;     /* while it runs */
    struct waiter *waiter; /* while it waits in line */
};

struct crew_reply {
    struct buf out;     /* the result, in the form of result_begin() and result_end() */
    yyjson_val *json;   /* `out` parsed, in the arena; NULL unless the call wants it */
    bool is_content;    /* the result is content blocks, with structuredContent if there is any */
    bool is_structured; /* the tool gave a JSON reply (`json`, or its structuredContent) */
    bool ran;           /* the tool got the call, and its worker was not ended for another reason */
    uint64_t cpu_ns;    /* of the call, and the worker's memory at its peak, in bytes: what the */
    uint64_t memory;    /* worker says of itself; left as they are where it measured neither */
};
