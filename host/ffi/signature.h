/* signature.h - the call of a C function with values from JSON.
 *
 * A signature is a typed tool's parameters and result, prepared for calls: in registers if all of
 * it fits into them (ffi/direct.h), else by libffi. A call has three steps, between which the
 * caller may check the time or whether the function failed:
 *
 *     signature_bind(signature, values, arena, &frame, err)         JSON to C values
 *     signature_invoke(signature, function, call, &frame)           the function runs
 *     signature_write_result(signature, &frame, arena, 0, out, err) its result to JSON
 *
 * No schema check needs to precede: whatever the values are, the function gets values of its C
 * types. The schema checks bounds, choices and patterns of parameters; sizes of bytes and arrays
 * are checked here too. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "toolrack/plugin.h"

/* Most parameters, checked by the descriptor reader. */
#define SIGNATURE_PARAMS_MAX 128u

/* Most memory of a signature; types that expand to more are refused. */
#define SIGNATURE_MEMORY_MAX (16u * 1024u * 1024u)

/* Largest result, in bytes of JSON, if the caller sets no limit. */
#define SIGNATURE_RESULT_SIZE_MAX (64u * 1024u * 1024u)

/** Immutable: any number of threads may use a signature at once. */
struct signature;

/** The C values of one call. Plain data in the arena of signature_bind(), valid until
 * arena_finish(). */
struct frame {
    char *slots;  /**< the stored form of each parameter, where the signature puts it */
    void *result; /**< as stored; not set before signature_invoke() */
};

/** Prepare a typed tool for calls.
 *
 * @param tool  from a checked descriptor, with the host's struct sizes; borrowed until
 *              signature_destroy()
 * @return 0 with *ret, to be released with signature_destroy(); TOOLRACK_E_REFUSED for types that C
 *         or libffi does not support, such as a struct by value with an undescribed member;
 *         TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int signature_create(const struct tr_tool *tool, struct signature **ret,
                     struct toolrack_error *err);

/** Release it; NULL is ignored. No frame of it may be in use. [any-thread] */
void signature_destroy(struct signature *signature);

/** Number of parameters from JSON: all but TR_CALL. [any-thread] */
size_t signature_value_count(const struct signature *signature);

/** Convert JSON to C values.
 *
 * @param values  signature_value_count() of them in the order of the parameters, NULL if absent;
 *                their document must outlive the frame, which points into it
 * @param arena   for the frame and all memory it points to; its size_max limits the memory of the
 *                values
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS with the JSON Pointer of the wrong value;
 *         TOOLRACK_E_LIMIT_EXCEEDED at arena->size_max; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int signature_bind(const struct signature *signature, yyjson_val *const *values,
                   struct arena *arena, struct frame *ret, struct toolrack_error *err);

/** A frame whose values the caller sets: defaults where there are any, else zero.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_NO_MEMORY. [any-thread] */
int signature_frame(const struct signature *signature, struct arena *arena, struct frame *ret,
                    struct toolrack_error *err);

/** Set a value, by the index of its parameter from JSON, to that of its stored form. [any-thread]
 */
void signature_set(const struct signature *signature, const struct frame *frame, uint32_t index,
                   const void *stored);

/** The stored form of a value. [any-thread] */
const void *signature_value(const struct signature *signature, const struct frame *frame,
                            uint32_t index);

/** Call the function.
 *
 * @param function  the tool's, whose C type the signature describes
 * @param call      its first argument if it has TR_CALL; else not used, may be NULL
 * [call-thread] */
void signature_invoke(const struct signature *signature, void (*function)(void),
                      struct tr_call *call, const struct frame *frame);

/** Append the function's result to `out` as JSON: one compact value, null for void. The memory that
 * the function returned must still be valid (see toolrack/plugin.h): call this before the call
 * ends.
 *
 * @param arena     scratch memory
 * @param size_max  most bytes of JSON; 0: SIGNATURE_RESULT_SIZE_MAX
 * @return 0; TOOLRACK_E_EXECUTION_FAILED if the result does not match its type, or if JSON cannot
 *         represent it, with the place in the message; TOOLRACK_E_LIMIT_EXCEEDED above size_max or
 *         at arena->size_max; TOOLRACK_E_NO_MEMORY. On failure the contents of `out` are unchanged.
 *         [call-thread] */
int signature_write_result(const struct signature *signature, const struct frame *frame,
                           struct arena *arena, size_t size_max, struct buf *out,
                           struct toolrack_error *err);
