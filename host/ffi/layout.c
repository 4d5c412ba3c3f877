#include "ffi/layout.h"

#include <inttypes.h>

#include "base/error.h"

/* An aggregate with room for `count` elements and the NULL after them. */
static ffi_type *create_aggregate(struct arena *arena, size_t count) {
    ffi_type *type = arena_zalloc(arena, sizeof *type);
    ffi_type **elements = arena_zalloc(arena, (count + 1) * sizeof *elements);
    if (type == NULL || elements == NULL) {
        return NULL;
    }
    type->type = FFI_TYPE_STRUCT;
    type->elements = elements;
    return type;
}

/* struct tr_bytes and struct tr_array. */
static int create_pair(struct arena *arena, ffi_type **ret, struct toolrack_error *err) {
    ffi_type *type = create_aggregate(arena, 2);
    if (type == NULL) {
        return error_oom(err);
    }
    type->elements[0] = &ffi_type_pointer;
    type->elements[1] = &ffi_type_uint64;
    *ret = type;
    return 0;
}

static ffi_type *enum_type(uint32_t width, bool is_signed) {
    switch (width) {
    case 1: return is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2: return is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4: return is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    default: return is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
    }
}

static ffi_type *scalar_type(const struct shape *shape) {
    switch (shape->kind) {
    case TR_KIND_BOOL: return &ffi_type_uint8;
    case TR_KIND_I8: return &ffi_type_sint8;
    case TR_KIND_I16: return &ffi_type_sint16;
    case TR_KIND_I32: return &ffi_type_sint32;
    case TR_KIND_I64: return &ffi_type_sint64;
    case TR_KIND_U8: return &ffi_type_uint8;
    case TR_KIND_U16: return &ffi_type_uint16;
    case TR_KIND_U32: return &ffi_type_uint32;
    case TR_KIND_U64: return &ffi_type_uint64;
    case TR_KIND_F32: return &ffi_type_float;
    case TR_KIND_F64: return &ffi_type_double;
    case TR_KIND_ENUM: return enum_type(shape->size, shape->is_signed);
    default: return &ffi_type_pointer; /* STRING, JSON */
    }
}

/* Fields in the order of their offsets, which need not be the order of their description. */
static void sort_members(const struct shape *shape, const struct shape_member **sorted) {
    for (uint32_t i = 0; i < shape->member_count; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1]->offset > shape->members[i].offset; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = &shape->members[i];
    }
}

static int check_offsets(const struct shape *shape, const struct shape_member **sorted,
                         const size_t *offsets, size_t size, const struct place *place,
                         struct toolrack_error *err) {
    for (uint32_t i = 0; i < shape->member_count; i++) {
        if (offsets[i] != sorted[i]->offset) {
            struct place here = {.up = place, .key = sorted[i]->param->name};
            return shape_refuse(err, &here,
                                "the field is at byte %" PRIu32
                                " of its struct, and at byte %zu by the fields described; describe "
                                "every member, or pass the struct by pointer",
                                sorted[i]->offset, offsets[i]);
        }
    }
    if (size != shape->size) {
        return shape_refuse(err, place,
                            "the struct has %" PRIu32 " bytes, and %zu by the fields described "
                            "(the last is %s); describe every member, or pass it by pointer",
                            shape->size, size, sorted[shape->member_count - 1]->param->name);
    }
    return 0;
}

static int create_struct(struct arena *arena, const struct shape *shape, const struct place *place,
                         ffi_type **ret, struct toolrack_error *err) {
    const struct shape_member *sorted[SHAPE_FIELDS_MAX];
    size_t offsets[SHAPE_FIELDS_MAX];
    ffi_type *type = create_aggregate(arena, shape->member_count);
    if (type == NULL) {
        return error_oom(err);
    }
    sort_members(shape, sorted);
    for (uint32_t i = 0; i < shape->member_count; i++) {
        struct place here = {.up = place, .key = sorted[i]->param->name};
        int code = layout_create(arena, sorted[i]->shape, &here, &type->elements[i], err);
        if (code < 0) {
            return code;
        }
    }
    if (ffi_get_struct_offsets(FFI_DEFAULT_ABI, type, offsets) != FFI_OK) {
        return shape_refuse(err, place, "libffi cannot pass the struct by value");
    }
    *ret = type;
    return check_offsets(shape, sorted, offsets, type->size, place, err);
}

int layout_create(struct arena *arena, const struct shape *shape, const struct place *place,
                  ffi_type **ret, struct toolrack_error *err) {
    if (shape->pointed) {
        *ret = &ffi_type_pointer;
        return 0;
    }
    switch (shape->kind) {
    case TR_KIND_BYTES:
    case TR_KIND_ARRAY: return create_pair(arena, ret, err);
    case TR_KIND_STRUCT: return create_struct(arena, shape, place, ret, err);
    default: *ret = scalar_type(shape); return 0;
    }
}
