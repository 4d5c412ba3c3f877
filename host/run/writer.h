/* writer.h - a JSON reply that a tool puts together piece by piece.
 *
 * What is written goes straight into the memory of the result, and is JSON by its
 * making: a piece that does not fit where it is put fails the call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Deepest nesting. */
#define WRITER_DEPTH_MAX 64u

struct writer {
    struct buf text;  /* begun by result_begin(); empty while nothing was put */
    uint64_t objects; /* bit i is set when level i + 1 is an object, not an array */
    uint32_t depth;   /* objects and arrays that are open */
    bool begun;       /* a first piece was put */
    bool finished;    /* the value is complete: nothing more may come */
    bool filled;      /* the innermost open one has a piece already */
};

struct call;

/** The pieces; the members of struct tr_call_api of the same names. [call-thread] */
struct tr_call;
int32_t writer_begin(struct tr_call *call, const char *key, int32_t kind);
int32_t writer_end(struct tr_call *call);
int32_t writer_string(struct tr_call *call, const char *key, const char *text, uint64_t length);
int32_t writer_bool(struct tr_call *call, const char *key, bool value);
int32_t writer_i64(struct tr_call *call, const char *key, int64_t value);
int32_t writer_u64(struct tr_call *call, const char *key, uint64_t value);
int32_t writer_f64(struct tr_call *call, const char *key, double value);
int32_t writer_json(struct tr_call *call, const char *key, const char *json, uint64_t length);
