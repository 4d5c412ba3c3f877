#include "ffi/shape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

static int create(struct arena *arena, const struct tr_type *type, const struct place *place,
                  unsigned depth, const struct shape **ret, struct toolrack_error *err);

int shape_refuse(struct toolrack_error *err, const struct place *place, const char *format, ...) {
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    place_add_pointer(place, &message);
    buf_add_text(&message, ": ");
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    if (message.failed) {
        return error_oom(err);
    }
    return error_set(err, TOOLRACK_E_REFUSED, "%s", message.data + 1); /* without the first slash */
}

/* Size and alignment of the kinds whose C type follows from the kind; else 0. */
static uint32_t scalar_size(enum tr_kind kind) {
    switch (kind) {
    case TR_KIND_BOOL: return sizeof(bool);
    case TR_KIND_I8:
    case TR_KIND_U8: return 1;
    case TR_KIND_I16:
    case TR_KIND_U16: return 2;
    case TR_KIND_I32:
    case TR_KIND_U32:
    case TR_KIND_F32: return 4;
    case TR_KIND_I64:
    case TR_KIND_U64:
    case TR_KIND_F64: return 8;
    case TR_KIND_STRING:
    case TR_KIND_JSON: return sizeof(const char *);
    default: return 0;
    }
}

/* ------------------------------------------------------------ enumerations */

/* The plugin states the width of an enumeration but not its sign: it is signed if a choice is
 * negative. */
static int create_enum(struct arena *arena, const struct tr_type *type, const struct place *place,
                       struct shape *shape, struct toolrack_error *err) {
    assert(type->choice_count > 0 && type->choice_size == sizeof(struct tr_choice));
    assert(type->width == 1 || type->width == 2 || type->width == 4 || type->width == 8);
    shape->size = shape->align = type->width;
    shape->choice_count = type->choice_count;
    struct shape_choice *choices = arena_alloc(arena, type->choice_count * sizeof *choices);
    if (choices == NULL) {
        return error_oom(err);
    }
    shape->choices = choices;
    for (uint32_t i = 0; i < type->choice_count; i++) {
        const struct tr_choice *from = &type->choices[i];
        choices[i] = (struct shape_choice){
                .name = from->name, .name_length = strlen(from->name), .value = from->value};
        shape->is_signed = shape->is_signed || from->value < 0;
    }
    unsigned bits = shape->size * 8 - (shape->is_signed ? 1 : 0);
    int64_t end = shape->size == sizeof(int64_t) ? 0 : INT64_C(1) << bits; /* 0: all values fit */
    int64_t min = shape->is_signed ? -end : 0;
    for (uint32_t i = 0; end != 0 && i < type->choice_count; i++) {
        if (choices[i].value < min || choices[i].value >= end) {
            return shape_refuse(err, place,
                                "the choice \"%s\" is %" PRId64 ", which an enumeration of %" PRIu32
                                " bytes cannot hold",
                                choices[i].name, choices[i].value, shape->size);
        }
    }
    return 0;
}

/* ----------------------------------------------------------------- members */

static int parse_default(struct arena *arena, const struct tr_param *param,
                         const struct place *place, yyjson_val **ret, struct toolrack_error *err) {
    yyjson_alc alc = arena_alc(arena);
    yyjson_read_err read_err;
    size_t length = strlen(param->default_json);
    char *text = arena_copy(arena, param->default_json, length);
    yyjson_doc *doc = text == NULL ? NULL : yyjson_read_opts(text, length, 0, &alc, &read_err);
    if (doc == NULL) {
        return text == NULL || read_err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                       ? error_oom(err)
                       : shape_refuse(err, place, "its default is not JSON: %s", read_err.msg);
    }
    *ret = yyjson_doc_get_root(doc);
    return 0;
}

/* The key of a member in JSON, with the room that it is copied with. NULL: out of memory. */
static char *make_key(struct arena *arena, const char *name, uint32_t *ret_length) {
    size_t length = strlen(name) + 3; /* the quotes and the colon */
    char *key = arena_zalloc(arena, SHAPE_KEY_ROOM(length + 1));
    if (key != NULL) {
        (void)snprintf(key, length + 1, "\"%s\":", name);
    }
    *ret_length = (uint32_t)length;
    return key;
}

static int member_init(struct arena *arena, const struct tr_param *param, const struct place *place,
                       unsigned depth, struct shape_member *ret, struct toolrack_error *err) {
    *ret = (struct shape_member){.param = param,
                                 .name_length = (uint32_t)strlen(param->name),
                                 .offset = (uint32_t)param->offset};
    ret->key = make_key(arena, param->name, &ret->key_length);
    if (ret->key == NULL) {
        return error_oom(err);
    }
    int code = create(arena, param->type, place, depth, &ret->shape, err);
    return code < 0 || param->default_json == NULL
                   ? code
                   : parse_default(arena, param, place, &ret->default_value, err);
}

/* ----------------------------------------------------------------- structs */

static int create_struct(struct arena *arena, const struct tr_type *type, const struct place *place,
                         unsigned depth, struct shape *shape, struct toolrack_error *err) {
    assert(type->width > 0 && type->field_count > 0 && type->field_count <= SHAPE_FIELDS_MAX);
    assert(type->field_size == sizeof(struct tr_param));
    shape->size = type->width;
    shape->align = 1;
    shape->member_count = type->field_count;
    struct shape_member *members = arena_alloc(arena, type->field_count * sizeof *members);
    if (members == NULL) {
        return error_oom(err);
    }
    shape->members = members;
    for (uint32_t i = 0; i < type->field_count; i++) {
        struct place here = {.up = place, .key = type->fields[i].name};
        int code = member_init(arena, &type->fields[i], &here, depth + 1, &members[i], err);
        if (code < 0) {
            return code;
        }
        /* The compiler determines the layout. A field at another offset than the compiler's means
         * that the struct is packed or the table wrong; such a field must not be read. */
        uint64_t offset = type->fields[i].offset;
        uint32_t align = shape_stored_align(members[i].shape);
        uint32_t size = shape_stored_size(members[i].shape);
        if (offset % align != 0) {
            return shape_refuse(err, &here,
                                "its offset %" PRIu64 " is no multiple of %" PRIu32
                                "; packed structs cannot be described",
                                offset, align);
        }
        if (size > shape->size || offset > shape->size - size) {
            return shape_refuse(err, &here, "it ends behind the %" PRIu32 " bytes of its struct",
                                shape->size);
        }
        shape->align = align > shape->align ? align : shape->align;
    }
    if (shape->size % shape->align != 0) {
        return shape_refuse(err, place,
                            "the size of the struct, %" PRIu32 ", is no multiple of %" PRIu32
                            "; packed structs cannot be described",
                            shape->size, shape->align);
    }
    return 0;
}

/* --------------------------------------------------------------- any type */

static int create(struct arena *arena, const struct tr_type *type, const struct place *place,
                  unsigned depth, const struct shape **ret, struct toolrack_error *err) {
    assert(depth <= SHAPE_DEPTH_MAX);
    struct shape *shape = arena_zalloc(arena, sizeof *shape);
    if (shape == NULL) {
        return error_oom(err);
    }
    shape->kind = (enum tr_kind)type->kind;
    shape->nullable = (type->flags & TR_TYPE_NULLABLE) != 0;
    shape->optional = (type->flags & TR_TYPE_OPTIONAL) != 0;
    /* Some kinds contain a pointer already, so null needs no extra pointer. */
    shape->pointed = shape->kind != TR_KIND_STRING && shape->kind != TR_KIND_JSON &&
                     shape->kind != TR_KIND_BYTES && shape->kind != TR_KIND_ARRAY &&
                     (type->flags & (TR_TYPE_NULLABLE | TR_TYPE_OPTIONAL | TR_TYPE_BY_POINTER));
    int code = 0;
    switch (shape->kind) {
    case TR_KIND_ENUM: code = create_enum(arena, type, place, shape, err); break;
    case TR_KIND_STRUCT: code = create_struct(arena, type, place, depth, shape, err); break;
    case TR_KIND_BYTES:
        shape->size = sizeof(struct tr_bytes);
        shape->align = _Alignof(struct tr_bytes);
        break;
    case TR_KIND_ARRAY: {
        shape->size = sizeof(struct tr_array);
        shape->align = _Alignof(struct tr_array);
        struct place item = {.up = place, .key = "items"};
        code = create(arena, type->item, &item, depth + 1, &shape->item, err);
        break;
    }
    default: shape->size = shape->align = scalar_size(shape->kind);
    }
    assert(code < 0 || shape->size > 0); /* neither TR_VOID nor TR_CALL */
    *ret = shape;
    return code;
}

int shape_create(struct arena *arena, const struct tr_type *type, const struct place *place,
                 const struct shape **ret, struct toolrack_error *err) {
    return create(arena, type, place, 1, ret, err);
}

int shape_member_init(struct arena *arena, const struct tr_param *param, const struct place *place,
                      struct shape_member *ret, struct toolrack_error *err) {
    return member_init(arena, param, place, 1, ret, err);
}
