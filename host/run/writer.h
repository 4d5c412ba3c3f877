/* writer.h - a JSON reply that a tool writes piece by piece.
 *
 * Pieces are written directly to the memory of the result, and it is always valid JSON: a piece
 * that is not allowed at its position fails the call. */
#pragma once

#include "base/json.h"
#include "run/run.h"

/* Deepest nesting. */
#define WRITER_DEPTH_MAX JSON_REPLY_DEPTH_MAX

/** The pieces; the members of struct tr_call_api of the same names. [call-thread] */
int32_t writer_begin(struct tr_call *call, const char *key, int32_t kind);
int32_t writer_end(struct tr_call *call);
int32_t writer_string(struct tr_call *call, const char *key, const char *text, uint64_t length);
int32_t writer_bool(struct tr_call *call, const char *key, bool value);
int32_t writer_i64(struct tr_call *call, const char *key, int64_t value);
int32_t writer_u64(struct tr_call *call, const char *key, uint64_t value);
int32_t writer_f64(struct tr_call *call, const char *key, double value);
int32_t writer_json(struct tr_call *call, const char *key, const char *json, uint64_t length);
