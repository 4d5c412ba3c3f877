/* run.h - one run of a tool, as the tool sees it.
 *
 * Arguments that were checked go in, replies come out. The same code serves a tool
 * in the host's own process and in a worker: who runs it says through struct
 * run_host where progress, log lines and questions go. Nothing here knows of
 * registries, schemas or processes. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "ffi/signature.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

/* Most memory that one run takes: arguments parsed, defaults, replies, tr_alloc(). */
#define RUN_MEMORY_MAX   (512u * 1024 * 1024)
/* Most blocks of a reply. */
#define RUN_BLOCKS_MAX   10000u
/* Longest message and schema of a question. */
#define RUN_QUESTION_MAX (64u * 1024)
/* What a run has before it allocates: on its thread's stack, or in its job. */
#define RUN_FIRST_MEMORY 8192u

struct run;

/** Who runs it. Texts are UTF-8 and end with the call of the function. [call-thread] */
struct run_host {
    void (*progress)(struct run *run, double done, double total, const char *message);
    void (*log)(struct run *run, int level, const char *message);
    /* Whether it was asked to end, but for its deadline. */
    bool (*cancelled)(const struct run *run);
    /* Put a question to the person; `schema` is a JSON object. Returns enum tr_answer; where it was
     * accepted, with the answer in the run's arena, or NULL for none. NULL: nobody can be asked. */
    int (*ask)(struct run *run, const char *message, const char *schema, const char **ret_content);
};

/* One piece of a reply; texts and data live in the run's arena. */
struct reply_block {
    struct reply_block *next;
    enum reply_kind { REPLY_TEXT, REPLY_JSON, REPLY_IMAGE, REPLY_AUDIO, REPLY_RESOURCE } kind;
    const char *data; /* text, JSON or bytes; zero-terminated */
    size_t size;
    const char *mime_type; /* NULL for none */
    const char *uri;       /* REPLY_RESOURCE */
    bool is_text;          /* REPLY_RESOURCE: data is text, not bytes */
};

/** About the call, for tr_context(). All but `tool` and `channel` may be NULL. */
struct run_context {
    const char *tool;
    const char *caller;
    const char *channel;
    const char *conversation;
    const char *trace;
};

/** A JSON reply that the tool puts together piece by piece (writer.h). */
struct writer {
    struct buf text;  /* begun by result_begin(); empty while nothing was put */
    uint64_t objects; /* bit i is set when level i + 1 is an object, not an array */
    uint32_t depth;   /* objects and arrays that are open */
    bool begun;       /* a first piece was put */
    bool finished;    /* the value is complete: nothing more may come */
    bool filled;      /* the innermost open one has a piece already */
};

struct run {
    struct tr_call base; /* first: the tool holds a pointer to it */
    const struct run_host *host;
    struct run_context context;
    uint64_t deadline_ns; /* of the monotonic clock; 0 is none */

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

/** Begin a run. `memory` is its first memory, borrowed until run_finish() like `host`; `context`
 * is to be set by the caller. */
void run_init(struct run *run, const struct run_host *host, void *memory, size_t size);
void run_finish(struct run *run);

/** Parse the arguments: one JSON object. `text` is borrowed until run_finish().
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int run_parse(struct run *run, const char *text, size_t length, struct toolrack_error *err);

/** The arguments as the tool gets them, defaults filled in: zero-terminated, as long as the run.
 * NULL: no memory; the run has then failed. */
const char *run_arguments(struct run *run, size_t *ret_length);

/** Run a JSON tool, in whose plugin nothing stands in its way any more.
 * @return 0: its replies are result_add_replies()'s to take; or the code of its failure.
 * [call-thread] */
int run_json_tool(struct run *run, tr_status (*entry)(struct tr_call *),
                  struct toolrack_error *err);

/* A function of the host or of its app that runs as a JSON tool, with something of its own. */
struct run_service {
    tr_status (*run)(struct tr_call *call, void *user);
    void *user;
};

/** The same for a service. [call-thread] */
int run_service(struct run *run, const struct run_service *service, struct toolrack_error *err);

/** Run a typed tool with arguments bound to `frame`, and write what it returns into the empty
 * `out`, as a result that was begun. [call-thread] */
int run_typed_tool(struct run *run, const struct signature *signature, void (*function)(void),
                   struct frame *frame, struct buf *out, struct toolrack_error *err);

/* ---- parts of it, in files of their own */

/** The run of a call. */
static inline struct run *run_of(struct tr_call *call) {
    return (struct run *)call;
}

/** The functions that a tool calls (interface.c). */
extern const struct tr_call_api run_api;

/** Fail the run unless it has failed already; `field` is a path or NULL. Returns `code`. */
tr_status run_fail(struct run *run, int error_code, tr_status code, const char *field,
                   const char *format, ...) TOOLRACK_PRINTF(5, 6);

/** Fail the run because of a reply that cannot be used; `what` says why. */
tr_status run_misuse(struct run *run, const char *what);
/** Fail the run because of a reply larger than TOOLRACK_RESULT_MAX. */
tr_status run_too_large(struct run *run);

/** Fail the run for want of memory, or at RUN_MEMORY_MAX. Returns a code for the tool. */
tr_status run_no_memory(struct run *run);
/** The same as an error of who runs it. */
int run_memory_error(const struct run *run, struct toolrack_error *err);

/** Parse JSON into the arena; `text` is only read. NULL: *ret_why says why. */
yyjson_doc *run_read_json(struct run *run, const char *text, size_t length,
                          yyjson_read_err *ret_why);

/** Note what the writer has finished as the JSON reply (interface.c). */
tr_status run_add_written(struct run *run);

/* result.c. A result is one block of memory: the struct, the JSON, and for a text its plain form.
 */
struct toolrack_result {
    uint64_t duration_ns;
    size_t json_length;
    size_t text_at; /* offset of the plain text from the struct; 0 is none */
    size_t text_length;
    bool is_content; /* the JSON is content blocks; a tool's own JSON may look the same */
    /* Right behind the struct, whose size is where who writes it begins. */
    _Alignas(size_t) char json[];
};
_Static_assert(offsetof(struct toolrack_result, json) == sizeof(struct toolrack_result),
               "the JSON begins where the struct ends");

/** The JSON reply parsed, for the schema; NULL when out of memory. */
yyjson_val *result_structured(struct run *run);
/** Begin a result: room for its struct at the start of `out`. */
void result_begin(struct buf *out);
/** The replies of the run as a result, in the empty `out`. */
int result_add_replies(struct run *run, struct buf *out, struct toolrack_error *err);
/** End it: hand the memory over as a result. */
int result_end(struct buf *out, struct toolrack_result **ret, struct toolrack_error *err);
