/* bench.h - a host with the plugin, in a child, and calls of its tools. */
#pragma once

#include "author/child.h"
#include "author/inside.h"

struct bench {
    struct child *child;
    struct session *session;
    struct toolrack *host;
    struct toolrack_error *err;
    const char *doing; /* what a call is for, told where it does not come back; NULL: a call */
    struct toolrack_tool **tools; /* those of the session, in its order; NULL: not registered */
};

/** Open a host. @return false: it could not be opened, which was told. */
bool bench_open(struct bench *ret, struct child *child, struct session *session, bool in_process);
void bench_close(struct bench *bench);

/** Load the plugin anew, and take its tools as they are registered then. */
void bench_reload(struct bench *bench);

/** How a call ended. */
struct answer {
    int code;
    char *result; /* JSON, or NULL */
    uint64_t ns;
    bool is_dead;        /* its process has died */
    bool is_from_tool;   /* the tool says why it failed */
    bool has_begun;      /* it reached the tool */
    const char *message; /* of the error; of the bench, until its next call */
};

/** Call a tool and wait. `deadline_ms` may be TOOLRACK_NO_DEADLINE. Tells the parent what is sent
 * first. Release with answer_finish(). */
void bench_call(struct bench *bench, size_t tool, const char *arguments, uint32_t deadline_ms,
                struct answer *ret);
void answer_finish(struct answer *answer);

/** The options of its calls. */
struct toolrack_call_options bench_options(const struct bench *bench, uint32_t deadline_ms);

/** Whether the tool takes these arguments, by its schema. */
bool bench_fits(struct bench *bench, size_t tool, const char *arguments);

/** Whether two results are equal as JSON; NULL is equal to NULL. */
bool bench_same(const char *left, const char *right);

/** Whether a sample can be called again and again. */
bool bench_is_sound(const struct session *session, const struct sample *sample);

/** Describe how a call ended, on one line. */
void answer_describe(const struct answer *answer, struct buf *out);
