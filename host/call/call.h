/* call.h - one call, from arguments to result.
 *
 * parse, check against the schema, fill defaults, run, check the result. What
 * comes before (is it enabled, may it run) and after (the record) stands here
 * too; on which thread it all happens, and until when, is pool.h. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "call/writer.h"
#include "registry/tool.h"

/* Most memory that one call takes from the host: arguments parsed, defaults, replies, tr_alloc().
 */
#define CALL_MEMORY_MAX   (512u * 1024 * 1024)
/* Most blocks of a reply. */
#define CALL_BLOCKS_MAX   10000u
/* What a call has before it allocates: on its thread's stack, or in its job. */
#define CALL_FIRST_MEMORY 8192u

/* What calls need of their host. Outlives them all, but for those given up at its end. */
struct call_host {
    const struct log *log;
    uint32_t deadline_ms; /* for calls and tools that say none */
    bool (*granted)(void *user, const struct toolrack_tool *tool); /* may a dangerous one run? */
    void (*event)(void *user, enum toolrack_event_kind kind, struct plugin *plugin,
                  const char *message);
    void *user;
};

/* One piece of a reply; texts and data live in the call's arena. */
struct reply_block {
    struct reply_block *next;
    enum reply_kind { REPLY_TEXT, REPLY_JSON, REPLY_IMAGE, REPLY_AUDIO, REPLY_RESOURCE } kind;
    const char *data; /* text, JSON or bytes; zero-terminated */
    size_t size;
    const char *mime_type; /* NULL for none */
    const char *uri;       /* REPLY_RESOURCE */
    bool is_text;          /* REPLY_RESOURCE: data is text, not bytes */
};

/* Whether anybody still waits for a call that runs on a thread of the host. The call is inside
 * while it uses what belongs to the host or its caller, without the lock, for that may call back;
 * who gives the call up closes the gate and waits until it is left. */
struct call_gate {
    pthread_mutex_t lock;
    pthread_cond_t left; /* nobody is inside any more */
    unsigned inside;
    bool closed; /* given up: log, progress and result lead nowhere */
};

/* What a call does next. In two of the steps code of the plugin runs, which may not return. */
enum call_step {
    CALL_LOADS,    /* load the plugin, open() included */
    CALL_PREPARES, /* parse and check, and wait for its turn */
    CALL_RUNS      /* run the tool */
};

struct call {
    struct tr_call base; /* first: the tool holds a pointer to it */
    const struct call_host *host;
    struct toolrack_tool *tool; /* borrowed from whoever runs the call */
    struct toolrack_call_options options;
    uint64_t started_ns;  /* of the monotonic clock */
    uint64_t deadline_ns; /* likewise; 0 is none */
    atomic_bool cancelled;
    struct call_gate *gate; /* NULL: runs on its caller's thread */
    /* Asked before each step; false is: do not take it, nobody waits any more. NULL: always. */
    bool (*step)(void *user, enum call_step step);
    void *step_user;

    struct arena arena;
    const char *arguments_text; /* as they came */
    size_t arguments_length;
    yyjson_val *arguments;       /* with the defaults filled in */
    bool arguments_filled;       /* differ from the text */
    const char *given_arguments; /* what the tool was given, once it asked for all */
    size_t given_length;

    struct reply_block *first_block;
    struct reply_block *last_block;
    uint32_t block_count;
    bool has_json;          /* one of the blocks is the JSON reply */
    yyjson_val *structured; /* that, parsed; NULL when it was put piece by piece */
    struct writer writer;   /* puts it piece by piece */
    size_t reply_size;

    bool failed;
    struct toolrack_error error; /* set when failed */
};

/** Begin a call of `tool`. `memory` is its first memory. All pointers are borrowed until
 * call_finish(). */
void call_init(struct call *call, const struct call_host *host, struct toolrack_tool *tool,
               const struct toolrack_call_options *options, void *memory, size_t size);
void call_finish(struct call *call);

/** Whether it may run: enabled, permitted, confirmed. */
int call_permit(const struct call *call, struct toolrack_error *err);

/** Run it on this thread.
 * @param arguments  borrowed until call_finish()
 * @param err        never NULL here
 * @return 0 with a result; or the code of the failure. [call-thread] */
int call_run(struct call *call, const char *arguments, size_t length, struct toolrack_result **ret,
             struct toolrack_error *err);

/** Count a call that has ended with `code` in its tool's statistics; returns how long it took, in
 * nanoseconds. */
uint64_t call_record(const struct call *call, int code);

/** The deadline that holds for a call: its own, the tool's or the host's; 0 is none. */
uint32_t call_deadline_ms(const struct call_host *host, const struct toolrack_tool *tool,
                          const struct toolrack_call_options *options);

/* ---- parts of it, in files of their own */

/** The functions that a tool calls (interface.c). */
extern const struct tr_call_api call_api;

/** Fail the call unless it has failed already; `field` is a path or NULL. Returns `code`. */
tr_status call_fail(struct call *call, int error_code, tr_status code, const char *field,
                    const char *format, ...) TOOLRACK_PRINTF(5, 6);

/** Fail the call for want of memory, or at CALL_MEMORY_MAX (interface.c). */
tr_status call_no_memory(struct call *call);

/** Note what the writer has finished as the JSON reply (interface.c). */
tr_status call_add_written(struct call *call);

/** The error of a call that its deadline has overtaken; `why` ends the message. Returns its code.
 */
int call_late(const struct call *call, const char *why, struct toolrack_error *err);

/** Where a path leads in the arguments, or NULL (arguments.c). */
yyjson_val *call_argument(struct call *call, const char *path);

/* result.c. A result is one block of memory: the struct, the JSON, and for a text its plain form.
 */
struct toolrack_result {
    uint64_t duration_ns;
    size_t json_length;
    size_t text_at; /* offset of the plain text from the struct; 0 is none */
    size_t text_length;
    char json[];
};

/** The JSON reply parsed, for the schema; NULL when out of memory. */
yyjson_val *result_structured(struct call *call);
/** Begin a result: room for its struct at the start of `out`. */
void result_begin(struct buf *out);
/** The replies of the call as a result, in the empty `out`. */
int result_add_replies(struct call *call, struct buf *out, struct toolrack_error *err);
/** End it: hand the memory over as a result. */
int result_end(struct buf *out, struct toolrack_result **ret, struct toolrack_error *err);
