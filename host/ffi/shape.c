#include "ffi/shape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "ffi/bind.h"

/* Most memory that the check of one default may take. */
#define DEFAULT_MEMORY_MAX (1024u * 1024u)

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

/* Size, which is also the alignment, of the kinds whose C type follows from the kind; else 0. */
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

/* Whether an integer of `width` bytes can hold it. */
static bool choice_fits(int64_t value, uint32_t width, bool is_signed) {
    if (width == sizeof(int64_t)) {
        return true;
    }
    unsigned bits = width * 8 - (is_signed ? 1 : 0);
    return value < INT64_C(1) << bits && value >= (is_signed ? -(INT64_C(1) << bits) : 0);
}

/* The plugin states the width of an enumeration and not its sign: it has one when a choice does. */
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
    for (uint32_t i = 0; i < type->choice_count; i++) {
        if (!choice_fits(choices[i].value, shape->size, shape->is_signed)) {
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

/* Bind the default once, so that no call can fail because of it. */
static int check_default(const struct shape_member *member, const struct place *place,
                         struct toolrack_error *err) {
    struct arena scratch;
    struct toolrack_error bind_err;
    arena_init(&scratch, NULL, 0);
    scratch.size_max = DEFAULT_MEMORY_MAX;
    void *stored = arena_alloc(&scratch, shape_stored_size(member->shape));
    int code = stored == NULL ? error_oom(&bind_err)
                              : bind_member(&(struct binder){.arena = &scratch, .err = &bind_err},
                                            member, NULL, stored, NULL);
    arena_finish(&scratch);
    if (code == 0) {
        return 0;
    }
    return shape_refuse(err, place, "its default does not fit: %s %s", bind_err.field,
                        bind_err.message);
}

/* `"name":`, the form in which results need it. */
static int member_init_name(struct arena *arena, struct shape_member *member,
                            struct toolrack_error *err) {
    const char *name = member->param->name;
    member->key = arena_printf(arena, "\"%s\":", name);
    if (member->key == NULL) {
        return error_oom(err);
    }
    member->name_length = (uint32_t)strlen(name);
    member->key_length = member->name_length + 3;
    return 0;
}

static int member_init(struct arena *arena, const struct tr_param *param, const struct place *place,
                       unsigned depth, struct shape_member *ret, struct toolrack_error *err) {
    *ret = (struct shape_member){.param = param, .offset = (uint32_t)param->offset};
    int code = member_init_name(arena, ret, err);
    if (code == 0) {
        code = create(arena, param->type, place, depth, &ret->shape, err);
    }
    if (code == 0 && param->default_json != NULL) {
        code = parse_default(arena, param, place, &ret->default_value, err);
        if (code == 0) {
            code = check_default(ret, place, err);
        }
    }
    return code;
}

/* ----------------------------------------------------------------- structs */

/* The layout is the compiler's. A field that it would have put elsewhere means that the struct is
 * packed or the table wrong; no machine reads such a field without harm. */
static int check_field(const struct shape *shape, const struct shape_member *member,
                       const struct place *place, struct toolrack_error *err) {
    uint32_t align = shape_stored_align(member->shape);
    uint32_t size = shape_stored_size(member->shape);
    if (member->param->offset % align != 0) {
        return shape_refuse(err, place,
                            "its offset %" PRIu64 " is no multiple of %" PRIu32
                            "; packed structs cannot be described",
                            member->param->offset, align);
    }
    if (size > shape->size || member->param->offset > shape->size - size) {
        return shape_refuse(err, place, "it ends behind the %" PRIu32 " bytes of its struct",
                            shape->size);
    }
    return 0;
}

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
        if (code == 0) {
            code = check_field(shape, &members[i], &here, err);
        }
        if (code < 0) {
            return code;
        }
        uint32_t align = shape_stored_align(members[i].shape);
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

static int init_value(struct arena *arena, const struct tr_type *type, const struct place *place,
                      unsigned depth, struct shape *shape, struct toolrack_error *err) {
    switch (shape->kind) {
    case TR_KIND_ENUM: return create_enum(arena, type, place, shape, err);
    case TR_KIND_STRUCT: return create_struct(arena, type, place, depth, shape, err);
    case TR_KIND_BYTES:
        shape->size = sizeof(struct tr_bytes);
        shape->align = _Alignof(struct tr_bytes);
        return 0;
    case TR_KIND_ARRAY: {
        shape->size = sizeof(struct tr_array);
        shape->align = _Alignof(struct tr_array);
        struct place item = {.up = place, .key = "items"};
        return create(arena, type->item, &item, depth + 1, &shape->item, err);
    }
    default: shape->size = shape->align = scalar_size(shape->kind); return 0;
    }
}

/* These are pointers already, so that null needs no pointer to them. */
static bool has_pointer(enum tr_kind kind) {
    return kind == TR_KIND_STRING || kind == TR_KIND_JSON || kind == TR_KIND_BYTES ||
           kind == TR_KIND_ARRAY;
}

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
    shape->pointed = !has_pointer(shape->kind) &&
                     (type->flags & (TR_TYPE_NULLABLE | TR_TYPE_OPTIONAL | TR_TYPE_BY_POINTER));
    int code = init_value(arena, type, place, depth, shape, err);
    if (code < 0) {
        return code;
    }
    assert(shape->size > 0); /* neither void nor the call */
    *ret = shape;
    return 0;
}

int shape_create(struct arena *arena, const struct tr_type *type, const struct place *place,
                 const struct shape **ret, struct toolrack_error *err) {
    return create(arena, type, place, 1, ret, err);
}

int shape_member_init(struct arena *arena, const struct tr_param *param, const struct place *place,
                      struct shape_member *ret, struct toolrack_error *err) {
    return member_init(arena, param, place, 1, ret, err);
}
