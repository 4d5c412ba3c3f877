#include "ffi/layout.h"

#include <inttypes.h>

#include "base/error.h"

/* An aggregate with room for `count` elements and a final NULL. */
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
    case TR_KIND_ENUM:
        switch (shape->size) {
        case 1: return shape->is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
        case 2: return shape->is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
        case 4: return shape->is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
        default: return shape->is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
        }
    default: return &ffi_type_pointer; /* STRING, JSON */
    }
}

static int create_struct(struct arena *arena, const struct shape *shape, const struct place *place,
                         ffi_type **ret, struct toolrack_error *err) {
    const struct shape_member *sorted[SHAPE_FIELDS_MAX];
    size_t offsets[SHAPE_FIELDS_MAX];
    ffi_type *type = create_aggregate(arena, shape->member_count);
    if (type == NULL) {
        return error_oom(err);
    }
    /* Fields in the order of their offsets, which may differ from the order of the description. */
    for (uint32_t i = 0; i < shape->member_count; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1]->offset > shape->members[i].offset; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = &shape->members[i];
    }
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
    if (type->size != shape->size) {
        return shape_refuse(err, place,
                            "the struct has %" PRIu32 " bytes, and %zu by the fields described "
                            "(the last is %s); describe every member, or pass it by pointer",
                            shape->size, type->size, sorted[shape->member_count - 1]->param->name);
    }
    *ret = type;
    return 0;
}

int layout_create(struct arena *arena, const struct shape *shape, const struct place *place,
                  ffi_type **ret, struct toolrack_error *err) {
    if (shape->pointed) {
        *ret = &ffi_type_pointer;
        return 0;
    }
    switch (shape->kind) {
    case TR_KIND_BYTES:
    case TR_KIND_ARRAY: /* a pointer and a count */
        *ret = create_aggregate(arena, 2);
        if (*ret == NULL) {
            return error_oom(err);
        }
        (*ret)->elements[0] = &ffi_type_pointer;
        (*ret)->elements[1] = &ffi_type_uint64;
        return 0;
    case TR_KIND_STRUCT: return create_struct(arena, shape, place, ret, err);
    default: *ret = scalar_type(shape); return 0;
    }
}
