#include "ffi/bind.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

/* How much of a wrong value, and how many choices, a message shows. */
#define SAID_BYTES_MAX   64u
#define SAID_CHOICES_MAX 24u

/* Most memory for the check of one default. */
#define DEFAULT_MEMORY_MAX (1024u * 1024u)

static int bind_value(const struct binder *binder, const struct shape *shape,
                      const struct tr_param *limits, yyjson_val *value, void *stored,
                      const struct place *place);

/* ------------------------------------------------------------ what is wrong */

TOOLRACK_PRINTF(3, 4)
static int wrong(const struct binder *binder, const struct place *place, const char *format, ...) {
    CLEANUP(buf_finish) struct buf pointer = BUF_INIT;
    place_add_pointer(place, &pointer);
    va_list args;
    va_start(args, format);
    (void)error_setv(binder->err, TOOLRACK_E_INVALID_ARGUMENTS, pointer.data, format, args);
    va_end(args);
    return TOOLRACK_E_INVALID_ARGUMENTS;
}

static const char *json_words(yyjson_val *value) {
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL: return "null";
    case YYJSON_TYPE_BOOL: return "a boolean";
    case YYJSON_TYPE_RAW:
    case YYJSON_TYPE_NUM: return "a number";
    case YYJSON_TYPE_STR: return "a string";
    case YYJSON_TYPE_ARR: return "an array";
    case YYJSON_TYPE_OBJ: return "an object";
    default: return "nothing";
    }
}

static int wrong_type(const struct binder *binder, const struct place *place, const char *wanted,
                      yyjson_val *value) {
    return wrong(binder, place, "must be %s, not %s", wanted, json_words(value));
}

int bind_no_memory(const struct binder *binder) {
    if (!binder->arena->limited) {
        return error_oom(binder->err);
    }
    return error_set(binder->err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "the arguments take more than the %zu bytes of memory that a call has",
                     binder->arena->size_max);
}

/* ----------------------------------------------------------------- numbers */

/* The number that a value contains: parsed if the JSON parser kept it as a string of digits (some
 * or all numbers), else the value itself. NULL if it is not a number, or too large for a double. */
static yyjson_val *number_of(yyjson_val *value, yyjson_val *room) {
    if (yyjson_is_num(value)) {
        return value;
    }
    if (!yyjson_is_raw(value) ||
        yyjson_read_number(yyjson_get_raw(value), room, 0, NULL, NULL) == NULL) {
        return NULL;
    }
    return room;
}

static int wrong_number(const struct binder *binder, const struct place *place, const char *wanted,
                        yyjson_val *value) {
    return yyjson_is_raw(value) ? wrong(binder, place, "must be %s, and %.*s is too large", wanted,
                                        (int)SAID_BYTES_MAX, yyjson_get_raw(value))
                                : wrong_type(binder, place, wanted, value);
}

/* Bind a value that is not an unsigned integer up to `max`. Whole doubles are integers too, as in
 * JSON Schema, but not those at or below -2^63: the JSON parser also converts -9223372036854775809
 * to -2^63, and a refusal is better than a wrong value. */
static int bind_integer_slowly(const struct binder *binder, int64_t min, uint64_t max,
                               yyjson_val *value, uint64_t *ret, const struct place *place) {
    yyjson_val room;
    yyjson_val *number = number_of(value, &room);
    if (number == NULL) {
        return wrong_number(binder, place, "an integer", value);
    }
    uint64_t bits = yyjson_get_uint(number); /* two's complement */
    bool negative = yyjson_is_sint(number) && yyjson_get_sint(number) < 0;
    bool fits = true;
    if (yyjson_is_real(number)) {
        double real = yyjson_get_real(number);
        if (real != trunc(real)) {
            return wrong(binder, place, "must be a whole number, not %.17g", real);
        }
        negative = real < 0;
        fits = real < 0x1p64 && real > -0x1p63;
        bits = !fits ? 0 : negative ? (uint64_t)(int64_t)real : (uint64_t)real;
    }
    if (fits && (negative ? (int64_t)bits >= min : bits <= max)) {
        *ret = bits;
        return 0;
    }
    CLEANUP(buf_finish) struct buf said = BUF_INIT;
    if (yyjson_is_real(number)) {
        buf_add_json_double(&said, yyjson_get_real(number));
    } else if (yyjson_is_sint(number)) {
        buf_add_json_int(&said, yyjson_get_sint(number));
    } else {
        buf_add_json_uint(&said, yyjson_get_uint(number));
    }
    return wrong(binder, place, "must be between %" PRId64 " and %" PRIu64 ", not %s", min, max,
                 said.failed ? "this" : said.data);
}

/* Bind an integer from `min` to `max`; the most common case comes first. */
static inline int bind_integer(const struct binder *binder, int64_t min, uint64_t max,
                               yyjson_val *value, uint64_t *ret, const struct place *place) {
    if (yyjson_is_uint(value) && yyjson_get_uint(value) <= max) {
        *ret = yyjson_get_uint(value);
        return 0;
    }
    return bind_integer_slowly(binder, min, max, value, ret, place);
}

static int bind_double(const struct binder *binder, yyjson_val *value, double *ret,
                       const struct place *place) {
    yyjson_val room;
    yyjson_val *number = number_of(value, &room);
    if (number == NULL) {
        return wrong_number(binder, place, "a number", value);
    }
    double real = yyjson_get_num(number);
    if (!isfinite(real)) {
        return wrong(binder, place, "does not fit a 64-bit float");
    }
    *ret = real;
    return 0;
}

static int bind_float(const struct binder *binder, yyjson_val *value, float *ret,
                      const struct place *place) {
    double real;
    int code = bind_double(binder, value, &real, place);
    if (code < 0) {
        return code;
    }
    float single = (float)real; /* rounds; infinite if too large (IEC 60559) */
    if (!isfinite(single)) {
        return wrong(binder, place, "does not fit a 32-bit float");
    }
    *ret = single;
    return 0;
}

/* ------------------------------------------------------------------- texts */

/* A string in which the JSON parser found no escape: U+0000 can only come from an escape. */
static bool is_plain_string(yyjson_val *value) {
    return (value->tag & YYJSON_TAG_MASK) == (YYJSON_TYPE_STR | YYJSON_SUBTYPE_NOESC);
}

static int bind_string(const struct binder *binder, yyjson_val *value, const char **ret,
                       const struct place *place) {
    if (!yyjson_is_str(value)) {
        return wrong_type(binder, place, "a string", value);
    }
    const char *text = yyjson_get_str(value);
    if (!is_plain_string(value) && memchr(text, '\0', yyjson_get_len(value)) != NULL) {
        return wrong(binder, place, "must not contain U+0000");
    }
    *ret = text;
    return 0;
}

/* Check the size of bytes or of an array; `max` 0: no maximum. */
static int check_count(const struct binder *binder, uint64_t min, uint64_t max, uint64_t count,
                       const char *what, const struct place *place) {
    if (count >= min && (max == 0 || count <= max)) {
        return 0;
    }
    return wrong(binder, place, "must have at %s %" PRIu64 " %s, not %" PRIu64,
                 count < min ? "least" : "most", count < min ? min : max, what, count);
}

static int bind_bytes(const struct binder *binder, const struct tr_param *limits, yyjson_val *value,
                      struct tr_bytes *ret, const struct place *place) {
    if (!yyjson_is_str(value)) {
        return wrong_type(binder, place, "a string of base64", value);
    }
    size_t length = yyjson_get_len(value);
    void *data = arena_alloc(binder->arena, base64_decoded_size_max(length));
    if (data == NULL) {
        return bind_no_memory(binder);
    }
    size_t size = 0;
    const char *reason = base64_decode(yyjson_get_str(value), length, data, &size);
    if (reason != NULL) {
        return wrong(binder, place, "is not base64: %s", reason);
    }
    *ret = (struct tr_bytes){.data = data, .size = size};
    return limits == NULL ? 0
                          : check_count(binder, limits->min_length, limits->max_length, size,
                                        "bytes", place);
}

static int bind_json(const struct binder *binder, yyjson_val *value, const char **ret,
                     const struct place *place) {
    yyjson_alc alc = arena_alc(binder->arena);
    yyjson_write_err write_err;
    *ret = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, NULL, &write_err);
    if (*ret != NULL) {
        return 0;
    }
    return write_err.code == YYJSON_WRITE_ERROR_MEMORY_ALLOCATION
                   ? bind_no_memory(binder)
                   : wrong(binder, place, "is a value that has no JSON text: %s", write_err.msg);
}

/* ------------------------------------------------------------ enumerations */

static int bind_enum(const struct binder *binder, const struct shape *shape, yyjson_val *value,
                     void *stored, const struct place *place) {
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    for (uint32_t i = 0; text != NULL && i < shape->choice_count; i++) {
        const struct shape_choice *choice = &shape->choices[i];
        if (choice->name_length == length && memcmp(choice->name, text, length) == 0) {
            memcpy(stored, &choice->value, shape->size); /* little-endian */
            return 0;
        }
    }
    CLEANUP(buf_finish) struct buf list = BUF_INIT;
    uint32_t said = shape->choice_count < SAID_CHOICES_MAX ? shape->choice_count : SAID_CHOICES_MAX;
    for (uint32_t i = 0; i < said; i++) {
        buf_printf(&list, "%s\"%s\"", i == 0 ? "" : ", ", shape->choices[i].name);
    }
    if (said < shape->choice_count) {
        buf_printf(&list, " or %" PRIu32 " others", shape->choice_count - said);
    }
    const char *choices = list.failed ? "its choices" : list.data;
    if (text == NULL) {
        return wrong(binder, place, "must be one of %s, not %s", choices, json_words(value));
    }
    bool cut = length > SAID_BYTES_MAX;
    return wrong(binder, place, "must be one of %s, not \"%.*s%s\"", choices,
                 (int)(cut ? utf8_cut(text, SAID_BYTES_MAX) : length), text, cut ? "..." : "");
}

/* ------------------------------------------------------ arrays and structs */

static int bind_array(const struct binder *binder, const struct shape *shape,
                      const struct tr_param *limits, yyjson_val *value, struct tr_array *ret,
                      const struct place *place) {
    if (!yyjson_is_arr(value)) {
        return wrong_type(binder, place, "an array", value);
    }
    size_t count = yyjson_arr_size(value);
    int code = limits == NULL ? 0
                              : check_count(binder, limits->min_items, limits->max_items, count,
                                            "items", place);
    if (code < 0) {
        return code;
    }
    const struct shape *item = shape->item;
    size_t item_size = shape_stored_size(item);
    size_t size = 0;
    char *items = __builtin_mul_overflow(count, item_size, &size)
                          ? NULL
                          : arena_alloc(binder->arena, size);
    if (items == NULL) {
        return bind_no_memory(binder);
    }
    struct place here = {.up = place};
    yyjson_val *from = unsafe_yyjson_get_first(value);
    for (char *to = items; here.index < count; here.index++, to += item_size) {
        code = bind_value(binder, item, NULL, from, to, &here);
        if (code < 0) {
            return code;
        }
        from = unsafe_yyjson_get_next(from);
    }
    *ret = (struct tr_array){.items = items, .count = count};
    return 0;
}

/* The member with the name of a key, or NULL. Members usually come in the order of the fields, so
 * the search starts after the last one found. */
static const struct shape_member *find_member(const struct shape *shape, yyjson_val *key,
                                              uint32_t start) {
    const char *name = unsafe_yyjson_get_str(key);
    size_t length = unsafe_yyjson_get_len(key);
    for (uint32_t n = 0, i = start; n < shape->member_count; n++, i++) {
        const struct shape_member *member = &shape->members[i < shape->member_count ? i : (i = 0)];
        if (member->name_length == length && memcmp(member->param->name, name, length) == 0) {
            return member;
        }
    }
    return NULL;
}

/* Padding is zero. Unknown keys are ignored: the schema decides whether they are allowed. */
static int bind_struct(const struct binder *binder, const struct shape *shape, yyjson_val *value,
                       void *stored, const struct place *place) {
    if (!yyjson_is_obj(value)) {
        return wrong_type(binder, place, "an object", value);
    }
    memset(stored, 0, shape->size);
    uint64_t met[SHAPE_FIELDS_MAX / 64] = {0}; /* a bit per member */
    uint32_t next = 0;
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *field;
    json_obj_foreach (value, index, count, key, field) {
        const struct shape_member *member = find_member(shape, key, next);
        if (member == NULL) {
            continue;
        }
        next = (uint32_t)(member - shape->members);
        if ((met[next / 64] >> (next % 64) & 1) != 0) {
            struct place here = {.up = place, .key = member->param->name};
            return wrong(binder, &here, "is given twice");
        }
        met[next / 64] |= UINT64_C(1) << (next % 64);
        next++;
        int code = bind_member(binder, member, field, (char *)stored + member->offset, place);
        if (code < 0) {
            return code;
        }
    }
    for (uint32_t i = 0; i < shape->member_count; i++) {
        const struct shape_member *member = &shape->members[i];
        if ((met[i / 64] >> (i % 64) & 1) == 0) {
            int code = bind_member(binder, member, NULL, (char *)stored + member->offset, place);
            if (code < 0) {
                return code;
            }
        }
    }
    return 0;
}

/* -------------------------------------------------------------- any value */

/* Store null, for a nullable or optional type. */
static void store_null(const struct shape *shape, void *stored) {
    if (shape->kind == TR_KIND_BYTES) {
        *(struct tr_bytes *)stored = (struct tr_bytes){0};
    } else if (shape->kind == TR_KIND_ARRAY) {
        *(struct tr_array *)stored = (struct tr_array){0};
    } else {
        *(const void **)stored = NULL;
    }
}

/* Bind the value itself; `to` is the target of the pointer if there is one. */
static int bind_plain(const struct binder *binder, const struct shape *shape,
                      const struct tr_param *limits, yyjson_val *value, void *to,
                      const struct place *place) {
    uint64_t bits = 0;
    int code = 0;
    switch (shape->kind) {
    case TR_KIND_BOOL:
        if (!yyjson_is_bool(value)) {
            return wrong_type(binder, place, "a boolean", value);
        }
        *(bool *)to = yyjson_get_bool(value);
        return 0;
    case TR_KIND_I8:
        code = bind_integer(binder, INT8_MIN, INT8_MAX, value, &bits, place);
        *(int8_t *)to = (int8_t)bits;
        return code;
    case TR_KIND_I16:
        code = bind_integer(binder, INT16_MIN, INT16_MAX, value, &bits, place);
        *(int16_t *)to = (int16_t)bits;
        return code;
    case TR_KIND_I32:
        code = bind_integer(binder, INT32_MIN, INT32_MAX, value, &bits, place);
        *(int32_t *)to = (int32_t)bits;
        return code;
    case TR_KIND_I64:
        code = bind_integer(binder, INT64_MIN, INT64_MAX, value, &bits, place);
        *(int64_t *)to = (int64_t)bits;
        return code;
    case TR_KIND_U8:
        code = bind_integer(binder, 0, UINT8_MAX, value, &bits, place);
        *(uint8_t *)to = (uint8_t)bits;
        return code;
    case TR_KIND_U16:
        code = bind_integer(binder, 0, UINT16_MAX, value, &bits, place);
        *(uint16_t *)to = (uint16_t)bits;
        return code;
    case TR_KIND_U32:
        code = bind_integer(binder, 0, UINT32_MAX, value, &bits, place);
        *(uint32_t *)to = (uint32_t)bits;
        return code;
    case TR_KIND_U64:
        code = bind_integer(binder, 0, UINT64_MAX, value, &bits, place);
        *(uint64_t *)to = bits;
        return code;
    case TR_KIND_F32: return bind_float(binder, value, to, place);
    case TR_KIND_F64: return bind_double(binder, value, to, place);
    case TR_KIND_STRING: return bind_string(binder, value, to, place);
    case TR_KIND_BYTES: return bind_bytes(binder, limits, value, to, place);
    case TR_KIND_JSON: return bind_json(binder, value, to, place);
    case TR_KIND_ARRAY: return bind_array(binder, shape, limits, value, to, place);
    case TR_KIND_STRUCT: return bind_struct(binder, shape, value, to, place);
    case TR_KIND_ENUM: return bind_enum(binder, shape, value, to, place);
    case TR_KIND_NONE:
    case TR_KIND_CALL: break;
    }
    assert(false); /* kinds without JSON have no shape */
    return TOOLRACK_E_INVALID_ARGUMENTS;
}

/* Fast path for the most common values, without a place for messages; false for any other value,
 * valid or not, which bind_plain() then handles. It halves the time of a call with a few
 * parameters. */
static inline bool bind_at_once(const struct shape *shape, yyjson_val *value, void *stored) {
    if (shape->pointed) {
        return false;
    }
    bool stores = false;
    switch (shape->kind) {
    case TR_KIND_BOOL:
        stores = unsafe_yyjson_is_bool(value);
        *(bool *)stored = stores && unsafe_yyjson_get_bool(value);
        break;
    case TR_KIND_I64:
        stores = unsafe_yyjson_is_uint(value) && unsafe_yyjson_get_uint(value) <= INT64_MAX;
        *(int64_t *)stored = stores ? unsafe_yyjson_get_sint(value) : 0;
        break;
    case TR_KIND_F64:
        stores = unsafe_yyjson_is_real(value) && isfinite(unsafe_yyjson_get_real(value));
        *(double *)stored = stores ? unsafe_yyjson_get_real(value) : 0;
        break;
    case TR_KIND_STRING:
        stores = is_plain_string(value);
        *(const char **)stored = stores ? unsafe_yyjson_get_str(value) : NULL;
        break;
    default: break;
    }
    return stores;
}

static int bind_value(const struct binder *binder, const struct shape *shape,
                      const struct tr_param *limits, yyjson_val *value, void *stored,
                      const struct place *place) {
    if (bind_at_once(shape, value, stored)) {
        return 0;
    }
    if ((shape->nullable || shape->optional) && yyjson_is_null(value)) {
        store_null(shape, stored);
        return 0;
    }
    if (!shape->pointed) {
        return bind_plain(binder, shape, limits, value, stored, place);
    }
    void *pointed = arena_alloc(binder->arena, shape->size);
    if (pointed == NULL) {
        return bind_no_memory(binder);
    }
    *(const void **)stored = pointed;
    return bind_plain(binder, shape, limits, value, pointed, place);
}

int bind_member(const struct binder *binder, const struct shape_member *member, yyjson_val *value,
                void *stored, const struct place *up) {
    const struct shape *shape = member->shape;
    if (value != NULL && bind_at_once(shape, value, stored)) {
        return 0;
    }
    struct place place = {.up = up, .key = member->param->name};
    /* Models send null for parameters that they leave out: unless null is allowed, treat it as
     * absent. */
    if (value != NULL && shape->optional && !shape->nullable && yyjson_is_null(value)) {
        value = NULL;
    }
    if (value == NULL) {
        value = member->default_value;
    }
    if (value == NULL) {
        if (!shape->optional) {
            return wrong(binder, &place, "is required");
        }
        store_null(shape, stored);
        return 0;
    }
    return bind_value(binder, shape, member->param, value, stored, &place);
}

int bind_params(const struct binder *binder, const struct shape_member *members, uint32_t count,
                yyjson_val *const *values, char *frame) {
    for (uint32_t i = 0; i < count; i++) {
        const struct shape_member *member = &members[i];
        yyjson_val *value = values[i];
        void *stored = frame + member->offset;
        *(uint64_t *)stored = 0;
        if (value == NULL || !bind_at_once(member->shape, value, stored)) {
            int code = bind_member(binder, member, value, stored, NULL);
            if (code < 0) {
                return code;
            }
        }
    }
    return 0;
}

/* ---------------------------------------------------------------- defaults */

int bind_check_defaults(const struct shape *shape, const struct place *place,
                        struct toolrack_error *err) {
    int code = 0;
    if (shape->kind == TR_KIND_ARRAY) {
        struct place item = {.up = place, .key = "items"};
        code = bind_check_defaults(shape->item, &item, err);
    }
    for (uint32_t i = 0; code == 0 && i < shape->member_count; i++) {
        struct place here = {.up = place, .key = shape->members[i].param->name};
        code = bind_check_default(&shape->members[i], &here, err);
    }
    return code;
}

int bind_check_default(const struct shape_member *member, const struct place *place,
                       struct toolrack_error *err) {
    int code = bind_check_defaults(member->shape, place, err);
    if (code < 0 || member->default_value == NULL) {
        return code;
    }
    struct arena scratch;
    struct toolrack_error bind_err;
    arena_init(&scratch, NULL, 0);
    scratch.size_max = DEFAULT_MEMORY_MAX;
    void *stored = arena_alloc(&scratch, shape_stored_size(member->shape));
    code = stored == NULL ? error_oom(&bind_err)
                          : bind_member(&(struct binder){.arena = &scratch, .err = &bind_err},
                                        member, NULL, stored, NULL);
    arena_finish(&scratch);
    return code == 0 ? 0
                     : shape_refuse(err, place, "its default does not fit: %s %s", bind_err.field,
                                    bind_err.message);
}
