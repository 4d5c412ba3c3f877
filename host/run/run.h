/* run.h - one run of a tool, as the tool sees it.
 *
 * Checked arguments are the input, replies the output. The same code runs a tool in the host's own
 * process and in a worker: the caller's struct run_host receives progress, log lines and questions.
 * This room uses no registries, schemas or processes. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "ffi/signature.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

/* Most memory of one run: arguments parsed, defaults, replies, tr_alloc(). */
#define RUN_MEMORY_MAX   (512u * 1024 * 1024)
/* Most blocks of a reply. */
#define RUN_BLOCKS_MAX   10000u
/* Longest message and schema of a question. */
#define RUN_QUESTION_MAX (64u * 1024)
/* Longest request for the client's model. */
#define RUN_REQUEST_MAX  (4u * 1024 * 1024)
/* Longest URI. */
#define CONTENT_URI_MAX  4096u
/* Most questions that are asked at once. */
#define RUN_INPUTS_MAX   16u
/* Memory of a run before it allocates: on its thread's stack, or in its job. */
#define RUN_FIRST_MEMORY 8192u

struct run;

/** Functions of the code that runs the tool. Strings are UTF-8 and valid until the function
 * returns. [call-thread] */
struct run_host {
    void (*progress)(struct run *run, double done, double total, const char *message);
    void (*log)(struct run *run, int level, const char *message);
    /* Whether the run was asked to end, apart from its deadline. */
    bool (*cancelled)(const struct run *run);
    /* Ask for all of `inputs` and set their answers; the content of each is from malloc(), and the
     * caller frees it. Returns 0, or TOOLRACK_INPUT_LATER: the run is asked to end. */
    int (*input)(struct run *run, struct toolrack_input *inputs, size_t count);
};

/* One piece of a reply; strings and data are in the run's arena. */
struct reply_block {
    struct reply_block *next;
    enum reply_kind {
        REPLY_TEXT,
        REPLY_JSON,
        REPLY_IMAGE,
        REPLY_AUDIO,
        REPLY_RESOURCE,
        REPLY_CONTENT
    } kind;
    const char
            *data; /* text, JSON or bytes; zero-terminated. REPLY_CONTENT: a whole block as JSON */
    size_t size;
    const char *mime_type; /* NULL: none */
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
    const char *run; /* this and the following for the host, and for plans that are tools */
    const char *party;
    const char *confirmed_by;
    const char *secrets; /* as of the call's options */
    size_t secrets_length;
};

/** A JSON reply that the tool writes piece by piece (writer.h). */
struct writer {
    struct buf text;  /* begun by result_begin(); empty before the first piece */
    uint64_t objects; /* bit i is set if level i + 1 is an object, not an array */
    uint32_t depth;   /* number of open objects and arrays */
    bool begun;       /* a first piece was written */
    bool finished;    /* the value is complete: no piece may follow */
    bool filled;      /* the innermost open object or array has a piece */
};

struct run {
    struct tr_call base; /* first: the tool holds a pointer to it */
    const struct run_host *host;
    struct run_context context;
    /* Of the monotonic clock; 0: none. Questions move it, those of the calls that a plan makes on
     * their threads. */
    _Atomic uint64_t deadline_ns;

    struct arena arena;
    const char *arguments_text; /* as received */
    size_t arguments_length;
    yyjson_val *parsed;          /* the object that the text is, if it was read before; or NULL */
    yyjson_val *arguments;       /* with the defaults filled in */
    bool arguments_filled;       /* they are not as in the text, or there is none */
    const char *given_arguments; /* `arguments` as given to the tool, if it asked */
    size_t given_length;

    struct reply_block *first_block;
    struct reply_block *last_block;
    uint32_t block_count;
    bool has_json;          /* one of the blocks is the JSON reply */
    yyjson_val *structured; /* the JSON reply, parsed; NULL if it was written piece by piece */
    struct writer writer;   /* of a reply written piece by piece */
    size_t reply_size;

    uint32_t inputs;      /* asked for so far */
    struct run_key *keys; /* of these */
    bool is_unanswered;   /* the answers come with another call: this one ends without a result */

    bool failed;
    struct toolrack_error error; /* set if `failed` */
};

/** Begin a run. `memory` is its first memory, borrowed until run_finish() like `host`; the caller
 * sets `context`. */
void run_init(struct run *run, const struct run_host *host, void *memory, size_t size);
void run_finish(struct run *run);

/** Parse the arguments: one JSON object, which gives no member twice and is nested JSON_DEEPER_MAX
 * levels deep at most. `text` is borrowed until
 * run_finish().
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int run_parse(struct run *run, const char *text, size_t length, struct toolrack_error *err);

/** The two steps of run_parse(): after the first the object may give members twice, be nested too
 * deep and have whole numbers that were rounded. The second is not needed for an object that
 * schema_validate_quickly() takes. */
int run_read(struct run *run, const char *text, size_t length, struct toolrack_error *err);
int run_prove(struct run *run, struct toolrack_error *err);

/** The arguments as the tool gets them, with defaults: zero-terminated, valid until run_finish().
 * NULL: no memory; the run has then failed. */
const char *run_arguments(struct run *run, size_t *ret_length);

/** Run a JSON tool; its plugin must be ready for the call.
 * @return 0: result_add_replies() takes its replies; or the code of its failure.
 * [call-thread] */
int run_json_tool(struct run *run, tr_status (*entry)(struct tr_call *),
                  struct toolrack_error *err);

/* What a service does, for who agrees to it; in the arena. */
struct run_described {
    const char *content; /* is pinned with the schema */
    const char *calls;   /* which tools it calls, in words */
};

/* A function of the host or of its app that runs as a JSON tool, with its user pointer. */
struct run_service {
    tr_status (*run)(struct tr_call *call, void *user);
    void *user;
    /* NULL: there is no more to say than its definition does. @return whether there was memory.
     * [any-thread, once all definitions are read] */
    bool (*describe)(const void *user, struct arena *arena, struct run_described *ret);
    bool returns; /* it always returns, and soon after its call was to end: see registration.returns
                   */
    /* The last call of it has ended, and none will come; NULL: nobody wants to know. [any-thread] */
    void (*release)(void *user);
    bool waits;   /* for another process, and sees to the deadline and to cancellation itself: its
                     thread is never given up */
};

/** Like run_json_tool(), for a service. [call-thread] */
int run_service(struct run *run, const struct run_service *service, struct toolrack_error *err);

/** Run a typed tool with arguments bound to `frame`, and write its return value to the empty `out`,
 * as a result begun by result_begin(). [call-thread] */
int run_typed_tool(struct run *run, const struct signature *signature, void (*function)(void),
                   struct frame *frame, struct buf *out, struct toolrack_error *err);

/* ---- parts in other files */

/** The run of a call. */
static inline struct run *run_of(struct tr_call *call) {
    return (struct run *)call;
}

/** The functions that a tool calls (interface.c). */
extern const struct tr_call_api run_api;

/** Ask for inputs, and for one of a person as tr_ask() does (input.c). */
tr_status run_ask(struct run *run, struct tr_input *inputs, uint32_t count);
tr_status run_ask_person(struct run *run, const char *message, const char *schema,
                         const char **ret_content);

/** Set the error of a call that asks for what comes with another call. Returns its code. */
int run_unanswered_error(const struct run_context *context, struct toolrack_error *err);

/** Fail the run unless it has failed already; `field` is a path or NULL. Returns `code`. */
tr_status run_fail(struct run *run, int error_code, tr_status code, const char *field,
                   const char *format, ...) TOOLRACK_PRINTF(5, 6);

/** Fail the run because of a reply that cannot be used; `what` says why. */
tr_status run_misuse(struct run *run, const char *what);
/** Fail the run because of a reply larger than TOOLRACK_RESULT_MAX. */
tr_status run_too_large(struct run *run);

/** Fail the run because memory is out or RUN_MEMORY_MAX is reached. Returns a code for the tool. */
tr_status run_no_memory(struct run *run);
/** The same, as an error for the caller. */
int run_memory_error(const struct run *run, struct toolrack_error *err);

/** Parse JSON into the arena; `text` is not changed. NULL: *ret_why states why. */
yyjson_doc *run_read_json(struct run *run, const char *text, size_t length,
                          yyjson_read_err *ret_why);

/** Set the writer's finished value as the JSON reply (interface.c). */
tr_status run_add_written(struct run *run);

/* result.c. A result is one block of memory: the struct, the JSON, and for a string its plain text.
 */
struct toolrack_result {
    uint64_t duration_ns;
    size_t json_length;
    size_t text_at; /* offset of the plain text from the struct; 0: none */
    size_t text_length;
    bool is_content;   /* the JSON is content blocks; a tool's own JSON may look the same */
    size_t changed_at; /* offset of what was changed in the arguments from the struct; 0: nothing */
    size_t changed_length;
    /* Directly after the struct: code that writes the JSON starts at sizeof the struct. */
    _Alignas(size_t) char json[];
};
_Static_assert(offsetof(struct toolrack_result, json) == sizeof(struct toolrack_result),
               "the JSON begins where the struct ends");

/** The JSON reply parsed, for the schema; NULL when out of memory. */
yyjson_val *result_structured(struct run *run);
/** Begin a result: reserve room for its struct at the start of `out`. */
void result_begin(struct buf *out);
/** Write the replies of the run to the empty `out`, as a result. */
int result_add_replies(struct run *run, struct buf *out, struct toolrack_error *err);
/** The reply of a run that replied with one text and nothing else, or NULL. */
const struct reply_block *result_only_text(const struct run *run);
/** Write such a reply of another process to the empty `out`, as result_add_replies() does here.
 * @return 0; TOOLRACK_E_INVALID, without `err`: it is not UTF-8; TOOLRACK_E_LIMIT_EXCEEDED;
 *         TOOLRACK_E_NO_MEMORY */
int result_take_text(const char *text, size_t length, struct buf *out, struct toolrack_error *err);
/** Whether a string is a URI with a scheme, of the characters that a URI may have (content.c). */
bool content_is_uri(const char *text, size_t length);
/** Whether a value is the content of a resource, or annotations, as MCP has them (content.c). */
bool content_is_resource(yyjson_val *value);
bool content_is_annotations(yyjson_val *value);
/** Whether a value is a content block as MCP has it, of a kind that is known here (content.c). */
bool content_is_block(yyjson_val *block);
/** Whether a value is content as result_add_replies() writes it, with or without JSON beside the
 * blocks (content.c): no other member, and none twice. */
bool content_is_valid(yyjson_val *value, bool is_structured);
/** End a result: hand the memory over.
 * @param changed  what was changed in the arguments, as JSON; NULL: nothing */
int result_end(struct buf *out, const struct buf *changed, struct toolrack_result **ret,
               struct toolrack_error *err);
