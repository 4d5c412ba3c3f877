/* shape.h - a type of toolrack/plugin.h, prepared for calls.
 *
 * The plugin's description is walked once, when a signature is made; bind.c and result.c then
 * follow shapes, which hold ready what they would otherwise work out on each call: sizes, lengths
 * of strings, parsed defaults. Immutable once made; all memory is the arena's. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "ffi/place.h"
#include "toolrack/plugin.h"

/* Soundness of a description, which the descriptor's reader made sure of. */
#define SHAPE_DEPTH_MAX  16u
#define SHAPE_FIELDS_MAX 256u

/* The C types of the interface, and results narrower than libffi's least (which it widens in
 * place), are read as they lie in memory on these machines. */
static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "toolrack needs a 64-bit machine");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "toolrack needs a little-endian machine");

/** One name of an enumeration. */
struct shape_choice {
    const char *name; /**< borrowed from the description */
    size_t name_length;
    int64_t value;
};

struct shape {
    enum tr_kind kind;
    bool pointed;   /**< stored as a pointer to const, which is NULL for null */
    bool nullable;  /**< JSON null is a value of it */
    bool optional;  /**< where it is a member: may be left out */
    bool is_signed; /**< ENUM */
    uint32_t size;  /**< bytes of the C value, behind the pointer if any */
    uint32_t align;
    uint32_t member_count; /**< STRUCT */
    uint32_t choice_count; /**< ENUM */
    union {
        const struct shape *item;           /**< ARRAY */
        const struct shape_member *members; /**< STRUCT */
        const struct shape_choice *choices; /**< ENUM */
    };
};

/** A parameter, or a field of a struct. */
struct shape_member {
    const struct shape *shape;
    const struct tr_param *param; /**< borrowed: its name and limits */
    const char *key;              /**< `"name":`, as it stands in JSON */
    uint32_t name_length;
    uint32_t key_length;
    uint32_t offset;           /**< in the struct, or in the frame of a call */
    yyjson_val *default_value; /**< or NULL */
};

/** Bytes of a value as it lies in a struct, an array or a frame. */
static inline uint32_t shape_stored_size(const struct shape *shape) {
    return shape->pointed ? (uint32_t)sizeof(void *) : shape->size;
}

static inline uint32_t shape_stored_align(const struct shape *shape) {
    return shape->pointed ? (uint32_t)sizeof(void *) : shape->align;
}

/** Prepare a type.
 *
 * @param type   of a sound description; borrowed as long as the shape is used
 * @param place  of it, for messages: its first key is "parameter" or "result"
 * @return 0; TOOLRACK_E_REFUSED for a type that no C compiler makes (a field at an odd address, a
 *         choice too large for its enumeration); TOOLRACK_E_NO_MEMORY, also over arena->size_max.
 * [any-thread] */
int shape_create(struct arena *arena, const struct tr_type *type, const struct place *place,
                 const struct shape **ret, struct toolrack_error *err);

/** Prepare one parameter; its default is parsed, and checked by bind_check_default(). `ret->offset`
 * is what the description says. Returns as above; also TOOLRACK_E_REFUSED when the default is not
 * JSON. [any-thread] */
int shape_member_init(struct arena *arena, const struct tr_param *param, const struct place *place,
                      struct shape_member *ret, struct toolrack_error *err);

/** `return shape_refuse(...)`: TOOLRACK_E_REFUSED with "<place>: " before the words. */
int shape_refuse(struct toolrack_error *err, const struct place *place, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);
