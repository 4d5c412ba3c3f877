/* signature.h - the call of a C function with values from JSON.
 *
 * A signature is a typed tool's parameters and result, prepared for libffi. A call has three steps,
 * between which the caller may look at the clock or ask whether the function failed:
 *
 *     signature_bind(signature, values, arena, &frame, err)         JSON to C values
 *     signature_invoke(signature, function, call, &frame)           the function runs
 *     signature_write_result(signature, &frame, arena, 0, out, err) its result to JSON
 *
 * Nothing here needs a schema check to have gone before: whatever the values are, the function gets
 * what its C types say. Bounds, choices and patterns of parameters are the schema's, but for the
 * sizes of bytes and arrays, which are checked here too. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "toolrack/plugin.h"

/* Most parameters, as the descriptor's reader made sure. */
#define SIGNATURE_PARAMS_MAX 128u

/* Most memory a signature takes; types that unfold to more are refused. */
#define SIGNATURE_MEMORY_MAX (16u * 1024u * 1024u)

/* Largest result, in bytes of JSON, where the caller sets no limit. */
#define SIGNATURE_RESULT_SIZE_MAX (64u * 1024u * 1024u)

/** Immutable: any number of threads may use one at a time. */
struct signature;

/** The C values of one call. Plain data in the memory of the arena it was bound with, valid until
 * that is finished. */
struct frame {
    void **arguments; /**< for libffi: where each C argument is */
    void *result;     /**< as stored; not set before signature_invoke() */
};

/** Prepare a typed tool for calls.
 *
 * @param tool  of a sound descriptor, in the host's sizes; borrowed until signature_destroy()
 * @return 0 with *ret, to be released with signature_destroy(); TOOLRACK_E_REFUSED for what C or
 *         libffi cannot do, such as a struct by value with a member that is not described;
 *         TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int signature_create(const struct tr_tool *tool, struct signature **ret,
                     struct toolrack_error *err);

/** Release it; NULL is ignored. No frame of it is in use. [any-thread] */
void signature_destroy(struct signature *signature);

/** How many parameters come from JSON: all but TR_CALL. [any-thread] */
size_t signature_value_count(const struct signature *signature);

/** JSON to C values.
 *
 * @param values  signature_value_count() of them in the order of the parameters, NULL where
 *                absent; their document must outlive the frame, which points into it
 * @param arena   for the frame and all it points to; its size_max bounds what the values take
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS with the JSON Pointer of the value at fault;
 *         TOOLRACK_E_LIMIT_EXCEEDED at arena->size_max; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int signature_bind(const struct signature *signature, yyjson_val *const *values,
                   struct arena *arena, struct frame *ret, struct toolrack_error *err);

/** Call the function.
 *
 * @param function  the tool's, whose C type the signature describes
 * @param call      its first argument where it has TR_CALL; else not used, may be NULL
 * [call-thread] */
void signature_invoke(const struct signature *signature, void (*function)(void),
                      struct tr_call *call, struct frame *frame);

/** The function's result to JSON, appended to `out`: one compact value, null for void. Valid only
 * while what the function returned is (see toolrack/plugin.h): write before ending the call.
 *
 * @param arena     scratch memory
 * @param size_max  most bytes of JSON; 0 is SIGNATURE_RESULT_SIZE_MAX
 * @return 0; TOOLRACK_E_EXECUTION_FAILED when the result is not what its type says, or nothing that
 *         JSON can say, with the place in the message; TOOLRACK_E_LIMIT_EXCEEDED above size_max or
 *         at arena->size_max; TOOLRACK_E_NO_MEMORY. On failure `out` has the contents that it had
 * before. [call-thread] */
int signature_write_result(const struct signature *signature, const struct frame *frame,
                           struct arena *arena, size_t size_max, struct buf *out,
                           struct toolrack_error *err);
