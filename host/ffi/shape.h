/* shape.h - a type of toolrack/plugin.h, prepared for calls.
 *
 * The plugin's description is walked once, when a signature is created; bind.c and result.c then
 * use shapes, which contain what they would otherwise compute on each call: sizes, lengths of
 * strings, parsed defaults. Shapes are immutable; all memory is in the arena. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "ffi/place.h"
#include "toolrack/plugin.h"

/* Limits of a description, which the descriptor reader has checked. */
#define SHAPE_DEPTH_MAX  16u
#define SHAPE_FIELDS_MAX 256u

/* The C types of the interface, and results narrower than libffi's smallest (which it widens in
 * place), are read from memory with the layout of these machines. */
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
    bool pointed;   /**< stored as a pointer to const; NULL for null */
    bool nullable;  /**< JSON null is allowed */
    bool optional;  /**< as a member, it may be left out */
    bool is_signed; /**< ENUM */
    uint32_t size;  /**< bytes of the C value, without the pointer if there is one */
    uint32_t align;
    uint32_t member_count; /**< STRUCT */
    uint32_t choice_count; /**< ENUM */
    union {
        const struct shape *item;           /**< ARRAY */
        const struct shape_member *members; /**< STRUCT */
        const struct shape_choice *choices; /**< ENUM */
    };
};

/** The key of a member is copied in steps of so many bytes: nearly all take one, and a memcpy() of
 * any length takes 20 instructions. */
#define SHAPE_KEY_STEP         16u
#define SHAPE_KEY_ROOM(length) (((length) + SHAPE_KEY_STEP - 1) / SHAPE_KEY_STEP * SHAPE_KEY_STEP)

/** A parameter, or a field of a struct. */
struct shape_member {
    const struct shape *shape;
    const struct tr_param *param; /**< borrowed: its name and limits */
    const char *key;              /**< `"name":`, as in JSON, with SHAPE_KEY_ROOM() bytes */
    uint32_t name_length;
    uint32_t key_length;
    uint32_t offset;           /**< in the struct, or in the frame of a call */
    yyjson_val *default_value; /**< or NULL */
};

/** Bytes of a value's stored form, in a struct, an array or a frame. */
static inline uint32_t shape_stored_size(const struct shape *shape) {
    return shape->pointed ? (uint32_t)sizeof(void *) : shape->size;
}

static inline uint32_t shape_stored_align(const struct shape *shape) {
    return shape->pointed ? (uint32_t)sizeof(void *) : shape->align;
}

/** Whether a C argument is a floating-point number. */
static inline bool shape_is_float(const struct shape *shape) {
    return !shape->pointed && (shape->kind == TR_KIND_F32 || shape->kind == TR_KIND_F64);
}

/** Whether a C argument is a struct by value. */
static inline bool shape_is_struct(const struct shape *shape) {
    return !shape->pointed && shape->kind == TR_KIND_STRUCT;
}

/** Whether a parameter is two C arguments: a pointer, and the number of bytes or items. */
static inline bool shape_is_pair(const struct shape *shape) {
    return shape->kind == TR_KIND_BYTES || shape->kind == TR_KIND_ARRAY;
}

/** Prepare a type.
 *
 * @param type   from a checked description; borrowed as long as the shape is used
 * @param place  its place, for messages: the first key is "parameter" or "result"
 * @return 0; TOOLRACK_E_REFUSED for a type that no C compiler produces (a misaligned field, a
 *         choice too large for its enumeration); TOOLRACK_E_NO_MEMORY, also above arena->size_max.
 * [any-thread] */
int shape_create(struct arena *arena, const struct tr_type *type, const struct place *place,
                 const struct shape **ret, struct toolrack_error *err);

/** Prepare one parameter; its default is parsed, and checked by bind_check_default(). `ret->offset`
 * is copied from the description. Returns as shape_create(); also TOOLRACK_E_REFUSED if the default
 * is not JSON. [any-thread] */
int shape_member_init(struct arena *arena, const struct tr_param *param, const struct place *place,
                      struct shape_member *ret, struct toolrack_error *err);

/** `return shape_refuse(...)`: TOOLRACK_E_REFUSED with "<place>: " before the message. */
int shape_refuse(struct toolrack_error *err, const struct place *place, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);
