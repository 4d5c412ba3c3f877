#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "toolrack/plugin.h" /* before cmocka, whose macro fail() takes its member's name */

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "ffi/signature.h"

/* ----------------------------------------------------------------- harness */

#define OUT_MAX 8192

/* One call from JSON to JSON, and all that came of it. */
struct outcome {
    int code;
    struct toolrack_error err;
    char out[OUT_MAX];
};

/* What a test may vary. */
struct variant {
    yyjson_read_flag read_flags;
    size_t memory_max; /* of the arguments */
    size_t result_max;
};

/* Values in the order of the parameters, as the schema's check hands them over. */
static void values_by_name(const struct tr_tool *tool, yyjson_val *object, yyjson_val **values) {
    size_t count = 0;
    for (uint32_t i = 0; i < tool->param_count; i++) {
        if (tool->params[i].type->kind != TR_KIND_CALL) {
            values[count++] = yyjson_obj_get(object, tool->params[i].name);
        }
    }
}

static int call_with(const struct signature *signature, const struct tr_tool *tool,
                     struct tr_call *call, const char *json, const struct variant *variant,
                     struct outcome *ret) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    char first[2048];
    struct arena arena;
    struct frame frame;
    yyjson_val *values[SIGNATURE_PARAMS_MAX];
    size_t length = strlen(json);
    yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)json, length, variant->read_flags, NULL, NULL);
    assert_non_null(doc);
    values_by_name(tool, yyjson_doc_get_root(doc), values);
    arena_init(&arena, first, sizeof first);
    arena.size_max = variant->memory_max;
    buf_add_text(&out, "before ");
    memset(ret, 0, sizeof *ret);
    ret->code = signature_bind(signature, values, &arena, &frame, &ret->err);
    if (ret->code == 0) {
        signature_invoke(signature, tool->function, call, &frame);
        ret->code = signature_write_result(signature, &frame, &arena, variant->result_max, &out,
                                           &ret->err);
    }
    assert_memory_equal(out.data, "before ", 7);
    assert_true(out.length < OUT_MAX);
    memcpy(ret->out, out.data + 7, out.length - 7);
    assert_int_equal(strlen(ret->out), out.length - 7);
    assert_true(ret->code == 0 || out.length == 7); /* a failure takes back what was written */
    arena_finish(&arena);
    yyjson_doc_free(doc);
    return ret->code;
}

static struct signature *create(const struct tr_tool *tool) {
    struct signature *signature = NULL;
    struct toolrack_error err;
    if (signature_create(tool, &signature, &err) < 0) {
        fail_msg("%s: %s", tool->name, err.message);
    }
    return signature;
}

static int call_as(const struct tr_tool *tool, const char *json, const struct variant *variant,
                   struct outcome *ret) {
    struct signature *signature = create(tool);
    int code = call_with(signature, tool, NULL, json, variant, ret);
    signature_destroy(signature);
    return code;
}

static void gives(const struct tr_tool *tool, const char *json, const char *expected) {
    struct outcome outcome;
    if (call_as(tool, json, &(struct variant){0}, &outcome) != 0) {
        fail_msg("%s(%s): %s %s", tool->name, json, outcome.err.field, outcome.err.message);
    }
    if (strcmp(outcome.out, expected) != 0) {
        fail_msg("%s(%s) gave %s and not %s", tool->name, json, outcome.out, expected);
    }
}

static void fails_as(const struct tr_tool *tool, const char *json, const struct variant *variant,
                     int code, const char *field, const char *message) {
    struct outcome outcome;
    if (call_as(tool, json, variant, &outcome) == 0) {
        fail_msg("%s(%s) gave %s", tool->name, json, outcome.out);
    }
    assert_int_equal(outcome.code, outcome.err.code);
    if (outcome.code != code || strcmp(outcome.err.field, field) != 0 ||
        strcmp(outcome.err.message, message) != 0) {
        fail_msg("%s(%s): %s at '%s': %s", tool->name, json, toolrack_code_name(outcome.code),
                 outcome.err.field, outcome.err.message);
    }
}

static void refuses(const struct tr_tool *tool, const char *json, const char *field,
                    const char *message) {
    fails_as(tool, json, &(struct variant){0}, TOOLRACK_E_INVALID_ARGUMENTS, field, message);
}

static void breaks(const struct tr_tool *tool, const char *json, const char *message) {
    fails_as(tool, json, &(struct variant){0}, TOOLRACK_E_EXECUTION_FAILED, "", message);
}

/* ----------------------------------------------------- every kind and form */

typedef const char *text;

enum plain_color { RED, GREEN = 7, BLUE = 200 };
struct point {
    double x, y;
};
TR_DEFINE_ENUM(color, enum plain_color, (RED, "red"), (GREEN, "green"), (BLUE, "blue"))
TR_DEFINE_ENUM(tiny, uint8_t, (0, "none"), (200, "many"))
TR_DEFINE_ENUM(sign, int8_t, (-1, "minus"), (0, "zero"), (1, "plus"))
TR_DEFINE_ENUM(level, int16_t, (-300, "deep"), (300, "high"))
TR_DEFINE_ENUM(huge, int64_t, (INT64_MIN, "least"), (INT64_MAX, "most"))
TR_DEFINE_STRUCT(point, struct point, (TR_F64, x, "abscissa"), (TR_F64, y, "ordinate"))

/* The functions of one kind: each gives back what it gets. `type` is the C value, `pointer` the
 * nullable form of it. */
#define FAMILY(name, type, pointer, TYPE)                                                       \
    struct small_##name {                                                                       \
        type value;                                                                             \
    };                                                                                          \
    struct box_##name {                                                                         \
        type value;                                                                             \
        pointer nullable;                                                                       \
        pointer optional;                                                                       \
        struct tr_array items;                                                                  \
        struct small_##name small;                                                              \
    };                                                                                          \
    TR_DEFINE_STRUCT(small_##name, struct small_##name, (TYPE, value, "a value"))               \
    TR_DEFINE_STRUCT(box_##name, struct box_##name, (TYPE, value, "a value"),                   \
                     (TR_NULLABLE(TYPE), nullable, "a value or null"),                          \
                     (TR_OPTIONAL(TYPE), optional, "a value or nothing"),                       \
                     (TR_ARRAY(TYPE), items, "values"),                                         \
                     (TR_STRUCT(small_##name), small, "a value in a struct"))                   \
    static type plain_##name(type value) {                                                      \
        return value;                                                                           \
    }                                                                                           \
    static pointer nullable_##name(pointer value) {                                             \
        return value;                                                                           \
    }                                                                                           \
    static pointer optional_##name(pointer value) {                                             \
        return value;                                                                           \
    }                                                                                           \
    static pointer pointer_##name(pointer value) {                                              \
        return value;                                                                           \
    }                                                                                           \
    static struct tr_array array_##name(type const *value, size_t count) {                      \
        return (struct tr_array){value, count};                                                 \
    }                                                                                           \
    static struct tr_array nullables_##name(pointer const *value, size_t count) {               \
        return (struct tr_array){value, count};                                                 \
    }                                                                                           \
    static struct small_##name struct_##name(struct small_##name value) {                       \
        return value;                                                                           \
    }                                                                                           \
    static struct box_##name boxed_##name(struct box_##name value) {                            \
        return value;                                                                           \
    }                                                                                           \
    static struct box_##name const *pointed_##name(struct box_##name const *value) {            \
        return value;                                                                           \
    }                                                                                           \
    TR_TOOL(plain_##name, "echo", TYPE, (TYPE, value, "any"))                                   \
    TR_TOOL(nullable_##name, "echo", TR_NULLABLE(TYPE), (TR_NULLABLE(TYPE), value, "any"))      \
    TR_TOOL(optional_##name, "echo", TR_OPTIONAL(TYPE), (TR_OPTIONAL(TYPE), value, "any"))      \
    TR_TOOL(pointer_##name, "echo", TR_POINTER(TYPE), (TR_POINTER(TYPE), value, "any"))         \
    TR_TOOL(array_##name, "echo", TR_ARRAY(TYPE), (TR_ARRAY(TYPE), value, "any"))               \
    TR_TOOL(nullables_##name, "echo", TR_ARRAY(TR_NULLABLE(TYPE)),                              \
            (TR_ARRAY(TR_NULLABLE(TYPE)), value, "any"))                                        \
    TR_TOOL(struct_##name, "echo", TR_STRUCT(small_##name),                                     \
            (TR_STRUCT(small_##name), value, "any"))                                            \
    TR_TOOL(boxed_##name, "echo", TR_STRUCT(box_##name), (TR_STRUCT(box_##name), value, "any")) \
    TR_TOOL(pointed_##name, "echo", TR_POINTER(TR_STRUCT(box_##name)),                          \
            (TR_POINTER(TR_STRUCT(box_##name)), value, "any"))

#define VALUE_FAMILY(name, type, TYPE) FAMILY(name, type, type const *, TYPE)

VALUE_FAMILY(boolean, bool, TR_BOOL)
VALUE_FAMILY(i8, int8_t, TR_I8)
VALUE_FAMILY(i16, int16_t, TR_I16)
VALUE_FAMILY(i32, int32_t, TR_I32)
VALUE_FAMILY(i64, int64_t, TR_I64)
VALUE_FAMILY(u8, uint8_t, TR_U8)
VALUE_FAMILY(u16, uint16_t, TR_U16)
VALUE_FAMILY(u32, uint32_t, TR_U32)
VALUE_FAMILY(u64, uint64_t, TR_U64)
VALUE_FAMILY(f32, float, TR_F32)
VALUE_FAMILY(f64, double, TR_F64)
VALUE_FAMILY(color, enum plain_color, TR_ENUM(color))
VALUE_FAMILY(tiny, uint8_t, TR_ENUM(tiny))
VALUE_FAMILY(sign, int8_t, TR_ENUM(sign))
VALUE_FAMILY(level, int16_t, TR_ENUM(level))
VALUE_FAMILY(huge, int64_t, TR_ENUM(huge))
VALUE_FAMILY(point, struct point, TR_STRUCT(point))
FAMILY(string, text, text, TR_STRING)
FAMILY(json, text, text, TR_JSON)

/* Bytes and arrays are two parameters, so theirs are written out. */
struct box_bytes {
    struct tr_bytes value;
    struct tr_bytes nullable;
    struct tr_bytes optional;
    struct tr_array items;
};
TR_DEFINE_STRUCT(box_bytes, struct box_bytes, (TR_BYTES, value, "bytes"),
                 (TR_NULLABLE(TR_BYTES), nullable, "bytes or null"),
                 (TR_OPTIONAL(TR_BYTES), optional, "bytes or nothing"),
                 (TR_ARRAY(TR_BYTES), items, "several"))
static struct tr_bytes plain_bytes(const void *data, size_t size) {
    return (struct tr_bytes){data, size};
}
static struct tr_bytes nullable_bytes(const void *data, size_t size) {
    return (struct tr_bytes){data, size};
}
static struct tr_bytes optional_bytes(const void *data, size_t size) {
    return (struct tr_bytes){data, size};
}
static struct tr_array array_bytes(const struct tr_bytes *items, size_t count) {
    return (struct tr_array){items, count};
}
static struct box_bytes boxed_bytes(struct box_bytes value) {
    return value;
}
TR_TOOL(plain_bytes, "echo", TR_BYTES, (TR_BYTES, value, "any", .min_length = 1, .max_length = 6))
TR_TOOL(nullable_bytes, "echo", TR_NULLABLE(TR_BYTES), (TR_NULLABLE(TR_BYTES), value, "any"))
TR_TOOL(optional_bytes, "echo", TR_OPTIONAL(TR_BYTES), (TR_OPTIONAL(TR_BYTES), value, "any"))
TR_TOOL(array_bytes, "echo", TR_ARRAY(TR_BYTES), (TR_ARRAY(TR_BYTES), value, "any"))
TR_TOOL(boxed_bytes, "echo", TR_STRUCT(box_bytes), (TR_STRUCT(box_bytes), value, "any"))

static struct tr_array array_array(const struct tr_array *items, size_t count) {
    return (struct tr_array){items, count};
}
static struct tr_array nullable_array(const int64_t *items, size_t count) {
    return (struct tr_array){items, count};
}
static struct tr_array limited_array(const int64_t *items, size_t count) {
    return (struct tr_array){items, count};
}
TR_TOOL(array_array, "echo", TR_ARRAY(TR_ARRAY(TR_U8)), (TR_ARRAY(TR_ARRAY(TR_U8)), value, "any"))
TR_TOOL(nullable_array, "echo", TR_NULLABLE(TR_ARRAY(TR_I64)),
        (TR_NULLABLE(TR_ARRAY(TR_I64)), value, "any"))
TR_TOOL(limited_array, "echo", TR_ARRAY(TR_I64),
        (TR_ARRAY(TR_I64), value, "any", .min_items = 1, .max_items = 3))

/* The tools of a kind, and two values of it. */
struct family {
    const struct tr_tool *plain, *nullable, *optional, *pointer, *array, *nullables, *small, *box,
            *pointed;
    const char *one, *other;
};
#define TOOLS(name)                                                                    \
    &tr_tool_plain_##name, &tr_tool_nullable_##name, &tr_tool_optional_##name,         \
            &tr_tool_pointer_##name, &tr_tool_array_##name, &tr_tool_nullables_##name, \
            &tr_tool_struct_##name, &tr_tool_boxed_##name, &tr_tool_pointed_##name
static const struct family families[] = {
        {TOOLS(boolean), "true", "false"},
        {TOOLS(i8), "-128", "127"},
        {TOOLS(i16), "-32768", "32767"},
        {TOOLS(i32), "-2147483648", "2147483647"},
        {TOOLS(i64), "-9223372036854775808", "9223372036854775807"},
        {TOOLS(u8), "0", "255"},
        {TOOLS(u16), "0", "65535"},
        {TOOLS(u32), "0", "4294967295"},
        {TOOLS(u64), "9007199254740993", "18446744073709551615"},
        {TOOLS(f32), "0.1", "-3.4028235e38"},
        {TOOLS(f64), "85.0", "1.7976931348623157e308"},
        {TOOLS(color), "\"red\"", "\"blue\""},
        {TOOLS(tiny), "\"none\"", "\"many\""},
        {TOOLS(sign), "\"minus\"", "\"plus\""},
        {TOOLS(level), "\"deep\"", "\"high\""},
        {TOOLS(huge), "\"least\"", "\"most\""},
        {TOOLS(point), "{\"x\":1.5,\"y\":-2.0}", "{\"x\":0.0,\"y\":1e100}"},
        {TOOLS(string), "\"\"", "\"h\xc3\xa9 \\\" \\u0001 \xf0\x9f\x98\x80\""},
        {TOOLS(json), "{\"a\":[1,null,\"b\"]}", "18446744073709551615"},
};

static void echoes(const struct tr_tool *tool, const char *value) {
    char *json = NULL;
    assert_true(asprintf(&json, "{\"value\":%s}", value) > 0);
    gives(tool, json, value);
    free(json);
}

static void echoes_array(const struct tr_tool *tool, const char *one, const char *other) {
    char *value = NULL;
    assert_true(asprintf(&value, "[%s,%s,%s]", one, other, one) > 0);
    echoes(tool, value);
    free(value);
}

static void echoes_box(const struct tr_tool *tool, const char *one, const char *other) {
    char *value = NULL;
    assert_true(asprintf(&value,
                         "{\"value\":%s,\"nullable\":%s,\"optional\":%s,\"items\":[%s,%s],"
                         "\"small\":{\"value\":%s}}",
                         one, other, one, one, other, other) > 0);
    echoes(tool, value);
    free(value);
    assert_true(asprintf(&value,
                         "{\"value\":%s,\"nullable\":null,\"items\":[],\"small\":{\"value\":%s}}",
                         other, one) > 0);
    echoes(tool, value);
    free(value);
}

static void every_kind_in_every_form(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(families); i++) {
        const struct family *family = &families[i];
        const struct tr_tool *const plain[] = {family->plain, family->nullable, family->optional,
                                               family->pointer};
        for (size_t j = 0; j < ARRAY_LENGTH(plain); j++) {
            echoes(plain[j], family->one);
            echoes(plain[j], family->other);
        }
        echoes(family->nullable, "null");
        echoes(family->optional, "null");
        gives(family->optional, "{}", "null");
        echoes(family->array, "[]");
        echoes_array(family->array, family->one, family->other);
        echoes_array(family->nullables, family->one, "null");
        echoes_box(family->box, family->one, family->other);
        echoes_box(family->pointed, family->other, family->one);
        char *small = NULL;
        assert_true(asprintf(&small, "{\"value\":%s}", family->other) > 0);
        echoes(family->small, small);
        free(small);
    }
}

static void bytes_and_arrays_in_every_form(void **state) {
    (void)state;
    echoes(&tr_tool_plain_bytes, "\"AP9/\"");
    echoes(&tr_tool_nullable_bytes, "\"\"");
    echoes(&tr_tool_nullable_bytes, "null");
    echoes(&tr_tool_nullable_bytes, "\"Zg==\"");
    echoes(&tr_tool_optional_bytes, "null");
    gives(&tr_tool_optional_bytes, "{}", "null");
    echoes(&tr_tool_array_bytes, "[\"Zg==\",\"\",\"Zm8=\"]");
    echoes(&tr_tool_boxed_bytes, "{\"value\":\"\",\"nullable\":null,\"items\":[\"Zg==\"]}");
    echoes(&tr_tool_boxed_bytes,
           "{\"value\":\"Zg==\",\"nullable\":\"\",\"optional\":\"Zg==\",\"items\":[]}");
    echoes(&tr_tool_array_array, "[[1,2],[],[255]]");
    echoes(&tr_tool_nullable_array, "null");
    echoes(&tr_tool_nullable_array, "[]");
    echoes(&tr_tool_nullable_array, "[1]");
    echoes(&tr_tool_limited_array, "[1,2,3]");
}

static void numbers_are_taken_when_exact(void **state) {
    (void)state;
    gives(&tr_tool_plain_i8, "{\"value\":5.0}", "5");
    gives(&tr_tool_plain_i8, "{\"value\":-0.0}", "0");
    gives(&tr_tool_plain_i16, "{\"value\":1e3}", "1000");
    gives(&tr_tool_plain_i64, "{\"value\":-1e18}", "-1000000000000000000");
    gives(&tr_tool_plain_u64, "{\"value\":1e19}", "10000000000000000000");
    gives(&tr_tool_plain_i64, "{\"value\":9007199254740993}", "9007199254740993");
    gives(&tr_tool_plain_f64, "{\"value\":7}", "7.0");
    gives(&tr_tool_plain_f64, "{\"value\":-7}", "-7.0");
    gives(&tr_tool_plain_f64, "{\"value\":18446744073709551615}", "18446744073709552000.0");
    gives(&tr_tool_plain_f32, "{\"value\":16777216}", "16777216.0");
    gives(&tr_tool_plain_f32, "{\"value\":3.3}", "3.3");
    gives(&tr_tool_plain_json, "{\"value\": null }", "null");
}

/* ------------------------------------------------------- arguments refused */

static struct tr_array path(const struct point *points, size_t count, bool closed) {
    (void)closed;
    return (struct tr_array){points, count};
}
TR_TOOL(path, "echo", TR_ARRAY(TR_STRUCT(point)), (TR_ARRAY(TR_STRUCT(point)), points, "corners"),
        (TR_BOOL, closed, "whether it ends where it begins", TR_DEFAULT(false)))

static void wrong_arguments_are_named(void **state) {
    (void)state;
    static const struct {
        const struct tr_tool *tool;
        const char *json, *field, *message;
    } cases[] = {
            {&tr_tool_plain_boolean, "{\"value\":1}", "/value", "must be a boolean, not a number"},
            {&tr_tool_plain_boolean, "{\"value\":null}", "/value", "must be a boolean, not null"},
            {&tr_tool_plain_boolean, "{}", "/value", "is required"},
            {&tr_tool_nullable_boolean, "{}", "/value", "is required"},
            {&tr_tool_pointer_boolean, "{\"value\":null}", "/value", "must be a boolean, not null"},
            {&tr_tool_plain_i8, "{\"value\":300}", "/value",
             "must be between -128 and 127, not 300"},
            {&tr_tool_plain_i8, "{\"value\":-129}", "/value",
             "must be between -128 and 127, not -129"},
            {&tr_tool_plain_i8, "{\"value\":1e300}", "/value",
             "must be between -128 and 127, not 1e300"},
            {&tr_tool_plain_i8, "{\"value\":1.5}", "/value", "must be a whole number, not 1.5"},
            {&tr_tool_plain_i8, "{\"value\":\"5\"}", "/value", "must be an integer, not a string"},
            {&tr_tool_plain_i8, "{\"value\":null}", "/value", "must be an integer, not null"},
            {&tr_tool_plain_i16, "{\"value\":32768}", "/value",
             "must be between -32768 and 32767, not 32768"},
            {&tr_tool_plain_i32, "{\"value\":2147483648}", "/value",
             "must be between -2147483648 and 2147483647, not 2147483648"},
            {&tr_tool_plain_i64, "{\"value\":9223372036854775808}", "/value",
             "must be between -9223372036854775808 and 9223372036854775807, not "
             "9223372036854775808"},
            {&tr_tool_plain_i64, "{\"value\":-9223372036854775809}", "/value",
             "must be between -9223372036854775808 and 9223372036854775807, not "
             "-9223372036854776000.0"},
            {&tr_tool_plain_u8, "{\"value\":256}", "/value", "must be between 0 and 255, not 256"},
            {&tr_tool_plain_u16, "{\"value\":65536}", "/value",
             "must be between 0 and 65535, not 65536"},
            {&tr_tool_plain_u32, "{\"value\":-1}", "/value",
             "must be between 0 and 4294967295, not -1"},
            {&tr_tool_plain_u64, "{\"value\":-1}", "/value",
             "must be between 0 and 18446744073709551615, not -1"},
            {&tr_tool_plain_u64, "{\"value\":-1.0}", "/value",
             "must be between 0 and 18446744073709551615, not -1.0"},
            {&tr_tool_plain_u64, "{\"value\":18446744073709551616}", "/value",
             "must be between 0 and 18446744073709551615, not 18446744073709552000.0"},
            {&tr_tool_plain_f32, "{\"value\":1e39}", "/value", "does not fit a 32-bit float"},
            {&tr_tool_plain_f32, "{\"value\":-3.5e38}", "/value", "does not fit a 32-bit float"},
            {&tr_tool_plain_f64, "{\"value\":\"1\"}", "/value", "must be a number, not a string"},
            {&tr_tool_plain_string, "{\"value\":[]}", "/value", "must be a string, not an array"},
            {&tr_tool_plain_string, "{\"value\":\"a\\u0000b\"}", "/value",
             "must not contain U+0000"},
            {&tr_tool_plain_bytes, "{\"value\":7}", "/value",
             "must be a string of base64, not a number"},
            {&tr_tool_plain_bytes, "{\"value\":\"Zm9\"}", "/value",
             "is not base64: its length is no multiple of 4; is the padding (=) missing?"},
            {&tr_tool_plain_bytes, "{\"value\":\"\"}", "/value",
             "must have at least 1 bytes, not 0"},
            {&tr_tool_plain_bytes, "{\"value\":\"AAAAAAAAAA==\"}", "/value",
             "must have at most 6 bytes, not 7"},
            {&tr_tool_limited_array, "{\"value\":[]}", "/value",
             "must have at least 1 items, not 0"},
            {&tr_tool_limited_array, "{\"value\":[1,2,3,4]}", "/value",
             "must have at most 3 items, not 4"},
            {&tr_tool_array_i8, "{\"value\":{}}", "/value", "must be an array, not an object"},
            {&tr_tool_array_i8, "{\"value\":[1,null]}", "/value/1", "must be an integer, not null"},
            {&tr_tool_array_array, "{\"value\":[[1],[2,-3]]}", "/value/1/1",
             "must be between 0 and 255, not -3"},
            {&tr_tool_plain_color, "{\"value\":\"pink\"}", "/value",
             "must be one of \"red\", \"green\", \"blue\", not \"pink\""},
            {&tr_tool_plain_color, "{\"value\":7}", "/value",
             "must be one of \"red\", \"green\", \"blue\", not a number"},
            {&tr_tool_plain_sign,
             "{\"value\":\"a name of more than sixty-four bytes, which nobody "
             "needs to see in full\"}",
             "/value",
             "must be one of \"minus\", \"zero\", \"plus\", not \"a name of more than sixty-four "
             "bytes, which nobody needs to see ...\""},
            {&tr_tool_plain_point, "{\"value\":[1,2]}", "/value",
             "must be an object, not an array"},
            {&tr_tool_plain_point, "{\"value\":{\"x\":1}}", "/value/y", "is required"},
            {&tr_tool_plain_point, "{\"value\":{\"x\":1,\"y\":2,\"x\":3}}", "/value/x",
             "is given twice"},
            {&tr_tool_path, "{\"points\":[{\"x\":1,\"y\":2},{\"y\":2,\"x\":null}]}", "/points/1/x",
             "must be a number, not null"},
            {&tr_tool_boxed_u8,
             "{\"value\":{\"value\":1,\"nullable\":2,\"items\":[3],\"small\":{\"value\":256}}}",
             "/value/small/value", "must be between 0 and 255, not 256"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        refuses(cases[i].tool, cases[i].json, cases[i].field, cases[i].message);
    }
}

/* A caller's reader may keep numbers as text, all of them or those that fit nothing else. */
static void numbers_kept_as_text(void **state) {
    (void)state;
    static const struct variant big = {.read_flags = YYJSON_READ_BIGNUM_AS_RAW};
    static const struct variant all = {.read_flags = YYJSON_READ_NUMBER_AS_RAW};
    static const struct variant inf = {.read_flags = YYJSON_READ_ALLOW_INF_AND_NAN};
    struct outcome outcome;
    fails_as(&tr_tool_plain_f64, "{\"value\":1e999}", &big, TOOLRACK_E_INVALID_ARGUMENTS, "/value",
             "must be a number, and 1e999 is too large");
    fails_as(&tr_tool_plain_i8, "{\"value\":1e999}", &big, TOOLRACK_E_INVALID_ARGUMENTS, "/value",
             "must be an integer, and 1e999 is too large");
    fails_as(&tr_tool_plain_i64, "{\"value\":-9223372036854775809}", &big,
             TOOLRACK_E_INVALID_ARGUMENTS, "/value",
             "must be between -9223372036854775808 and 9223372036854775807, not "
             "-9223372036854776000.0");
    fails_as(&tr_tool_plain_f64, "{\"value\":1e999}", &inf, TOOLRACK_E_INVALID_ARGUMENTS, "/value",
             "does not fit a 64-bit float");
    fails_as(&tr_tool_plain_i64, "{\"value\":NaN}", &inf, TOOLRACK_E_INVALID_ARGUMENTS, "/value",
             "must be a whole number, not nan");
    assert_int_equal(
            call_as(&tr_tool_plain_u64, "{\"value\":18446744073709551615}", &all, &outcome), 0);
    assert_string_equal(outcome.out, "18446744073709551615");
    assert_int_equal(call_as(&tr_tool_plain_f64, "{\"value\":0.25}", &all, &outcome), 0);
    assert_string_equal(outcome.out, "0.25");
}

static void long_lists_of_choices_are_cut(void **state) {
    (void)state;
    enum { COUNT = 40 };
    char names[COUNT][8];
    struct tr_choice choices[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%d", i);
        choices[i] = (struct tr_choice){names[i], i};
    }
    struct tr_type type = *tr_tool_plain_tiny.params[0].type;
    type.choices = choices;
    type.choice_count = COUNT;
    struct tr_param param = {.name = "value", .type = &type};
    struct tr_tool tool = tr_tool_plain_tiny;
    tool.params = &param;
    tool.result = &type;
    echoes(&tool, "\"c39\"");
    struct outcome outcome;
    (void)call_as(&tool, "{\"value\":\"d\"}", &(struct variant){0}, &outcome);
    assert_non_null(strstr(outcome.err.message, "\"c23\" or 16 others, not \"d\""));
}

static void argument_memory_is_bounded(void **state) {
    (void)state;
    static const struct variant little = {.memory_max = 10000};
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    buf_add_text(&json, "{\"value\":[0");
    for (int i = 0; i < 2000; i++) {
        buf_add_text(&json, ",0");
    }
    buf_add_text(&json, "]}");
    fails_as(&tr_tool_array_i64, json.data, &little, TOOLRACK_E_LIMIT_EXCEEDED, "",
             "the arguments take more than the 10000 bytes of memory that a call has");
}

/* Each allocation of a call fails once, by a limit that grows from nothing. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char json[] = "{\"value\":{\"value\":[1,{}],\"nullable\":\"\",\"items\":[[],[]],"
                               "\"small\":{\"value\":[]}}}";
    struct signature *signature = create(&tr_tool_pointed_json);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_val *const values[] = {yyjson_obj_get(yyjson_doc_get_root(doc), "value")};
    int code = TOOLRACK_E_LIMIT_EXCEEDED;
    int failures = 0;
    for (size_t limit = 1; code != 0; limit += 16) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        struct toolrack_error err;
        struct arena arena;
        struct frame frame;
        arena_init(&arena, NULL, 0);
        arena.size_max = limit;
        code = signature_bind(signature, values, &arena, &frame, &err);
        if (code == 0) {
            signature_invoke(signature, tr_tool_pointed_json.function, NULL, &frame);
            code = signature_write_result(signature, &frame, &arena, 0, &out, &err);
        }
        assert_true(code == 0 || (code == TOOLRACK_E_LIMIT_EXCEEDED && err.code == code));
        assert_true(code == 0 || out.length == 0);
        failures += code != 0;
        arena_finish(&arena);
    }
    assert_true(failures > 1);
    yyjson_doc_free(doc);
    signature_destroy(signature);
}

/* ---------------------------------------------------------------- defaults */

static int64_t with_defaults(const char *word, int64_t number, const struct point *at,
                             const int32_t *items, size_t count, const bool *flag) {
    return (int64_t)strlen(word) + number + (int64_t)(at->x * 100 + at->y) +
           (count == 2 ? items[0] + items[1] : 0) + (flag != NULL ? 10000 : 0);
}
TR_TOOL(with_defaults, "sum", TR_I64, (TR_STRING, word, "a word", TR_DEFAULT("four")),
        (TR_I64, number, "a number", TR_DEFAULT(9007199254740993)),
        (TR_POINTER(TR_STRUCT(point)), at, "a place", TR_DEFAULT({"x" : 1, "y" : 2})),
        (TR_ARRAY(TR_I32), items, "numbers", TR_DEFAULT([ 20, 30 ])),
        (TR_OPTIONAL(TR_BOOL), flag, "a flag", TR_DEFAULT(true)))

struct options {
    int32_t retries;
    const char *name;
    const int32_t *limit;
};
TR_DEFINE_STRUCT(options, struct options, (TR_I32, retries, "how often", TR_DEFAULT(3)),
                 (TR_STRING, name, "what", TR_DEFAULT("none")),
                 (TR_NULLABLE(TR_I32), limit, "how much", TR_DEFAULT(null)))
static struct options options(struct options value) {
    return value;
}
TR_TOOL(options, "echo", TR_STRUCT(options), (TR_STRUCT(options), value, "any", TR_DEFAULT({})))

static void defaults_stand_in(void **state) {
    (void)state;
    gives(&tr_tool_with_defaults, "{}", "9007199254751149");
    gives(&tr_tool_with_defaults, "{\"number\":0,\"flag\":null}", "10156");
    gives(&tr_tool_with_defaults,
          "{\"word\":\"\",\"number\":0,\"at\":{\"x\":0,\"y\":0},"
          "\"items\":[],\"flag\":false}",
          "10000");
    refuses(&tr_tool_with_defaults, "{\"number\":null}", "/number", "must be an integer, not null");
    gives(&tr_tool_options, "{}", "{\"retries\":3,\"name\":\"none\",\"limit\":null}");
    gives(&tr_tool_options, "{\"value\":{\"name\":\"x\",\"limit\":5,\"unknown\":1}}",
          "{\"retries\":3,\"name\":\"x\",\"limit\":5}");
}

/* ----------------------------------------------------------- results broken */

static double zero_over(double divisor) {
    return 0 / divisor;
}
static struct point infinite(void) {
    return (struct point){1, -INFINITY};
}
static struct tr_array infinite_items(void) {
    static const float items[] = {1.0f, INFINITY};
    return (struct tr_array){items, 2};
}
static const char *latin1(void) {
    return "caf\xe9";
}
static const char *no_string(void) {
    return NULL;
}
static const int32_t *no_pointer(void) {
    return NULL;
}
static const char *two_values(void) {
    return "1 2";
}
static const char *no_json(void) {
    return NULL;
}
static const char *loose_json(void) {
    return " {\"a\" : [ 1 ,\t18446744073709551616.10 ],\r\n \"b \\\" c\\\\\" : \" \\u00e9 \"} \n";
}
static enum plain_color no_color(void) {
    return (enum plain_color)9;
}
static struct tr_array no_items(void) {
    return (struct tr_array){NULL, 3};
}
static struct tr_array endless_items(void) {
    return (struct tr_array){"", UINT64_MAX};
}
static struct tr_array empty_items(void) {
    return (struct tr_array){NULL, 0};
}
static struct tr_bytes no_bytes(void) {
    return (struct tr_bytes){NULL, 3};
}
static struct tr_bytes no_bytes_but_null(void) {
    return (struct tr_bytes){NULL, 3};
}
static void nothing(void) {
}
TR_TOOL(zero_over, "NaN", TR_F64, (TR_F64, divisor, "0"))
TR_TOOL(infinite, "infinite", TR_STRUCT(point))
TR_TOOL(infinite_items, "infinite", TR_ARRAY(TR_F32))
TR_TOOL(latin1, "bad text", TR_STRING)
TR_TOOL(no_string, "NULL", TR_STRING)
TR_TOOL(no_pointer, "NULL", TR_POINTER(TR_I32))
TR_TOOL(two_values, "bad JSON", TR_JSON)
TR_TOOL(no_json, "NULL", TR_JSON)
TR_TOOL(loose_json, "JSON", TR_JSON)
TR_TOOL(no_color, "unnamed", TR_ENUM(color))
TR_TOOL(no_items, "NULL", TR_ARRAY(TR_I8))
TR_TOOL(endless_items, "all there is", TR_ARRAY(TR_STRUCT(point)))
TR_TOOL(empty_items, "none", TR_ARRAY(TR_I8))
TR_TOOL(no_bytes, "NULL", TR_BYTES)
TR_TOOL(no_bytes_but_null, "NULL", TR_NULLABLE(TR_BYTES))
TR_TOOL(nothing, "void", TR_VOID)

static void broken_results_are_failures(void **state) {
    (void)state;
    breaks(&tr_tool_zero_over, "{\"divisor\":0}", "the result is not a number in JSON (NaN)");
    breaks(&tr_tool_infinite, "{}", "the result's /y is not a number in JSON (-infinity)");
    breaks(&tr_tool_infinite_items, "{}", "the result's /1 is not a number in JSON (infinity)");
    breaks(&tr_tool_latin1, "{}", "the result is not valid UTF-8; bytes need the type TR_BYTES");
    breaks(&tr_tool_no_string, "{}", "the result is NULL, and its type does not allow null");
    breaks(&tr_tool_no_pointer, "{}", "the result is NULL, and its type does not allow null");
    breaks(&tr_tool_no_json, "{}", "the result is NULL, and its type does not allow null");
    breaks(&tr_tool_two_values, "{}",
           "the result is not JSON: unexpected content after document at byte 2");
    breaks(&tr_tool_no_color, "{}", "the result is 9, which is not a choice of its enumeration");
    breaks(&tr_tool_no_items, "{}", "the result has 3 items at NULL");
    breaks(&tr_tool_no_bytes, "{}", "the result has 3 bytes at NULL");
    breaks(&tr_tool_no_bytes_but_null, "{}", "the result has 3 bytes at NULL");
    gives(&tr_tool_empty_items, "{}", "[]");
    gives(&tr_tool_nothing, "{}", "null");
    gives(&tr_tool_loose_json, "{}",
          "{\"a\":[1,18446744073709551616.10],\"b \\\" c\\\\\":\" \\u00e9 \"}");
}

static void results_are_bounded(void **state) {
    (void)state;
    static const struct variant ten = {.result_max = 10};
    struct outcome outcome;
    static const char message[] =
            "the result has more than 10 bytes of JSON; return less, or a part at a time";
    fails_as(&tr_tool_endless_items, "{}", &(struct variant){0}, TOOLRACK_E_LIMIT_EXCEEDED, "",
             "the result has more than 67108864 bytes of JSON; return less, or a part at a time");
    assert_int_equal(call_as(&tr_tool_plain_string, "{\"value\":\"12345678\"}", &ten, &outcome), 0);
    fails_as(&tr_tool_plain_string, "{\"value\":\"123456789\"}", &ten, TOOLRACK_E_LIMIT_EXCEEDED,
             "", message);
    fails_as(&tr_tool_plain_string, "{\"value\":\"\\u0001\\u0001\"}", &ten,
             TOOLRACK_E_LIMIT_EXCEEDED, "", message);
    fails_as(&tr_tool_plain_json, "{\"value\":[1,2,3,4,5]}", &ten, TOOLRACK_E_LIMIT_EXCEEDED, "",
             message);
    fails_as(&tr_tool_plain_bytes, "{\"value\":\"AAAAAAAA\"}", &(struct variant){.result_max = 9},
             TOOLRACK_E_LIMIT_EXCEEDED, "",
             "the result has more than 9 bytes of JSON; return less, or a part at a time");
    assert_int_equal(call_as(&tr_tool_array_i8, "{\"value\":[1,2,3,4]}", &ten, &outcome), 0);
    fails_as(&tr_tool_array_i8, "{\"value\":[11,22,33,44]}", &ten, TOOLRACK_E_LIMIT_EXCEEDED, "",
             message);
}

/* ---------------------------------------------------------- how C passes it */

static double many(int8_t i1, int16_t i2, int32_t i3, int64_t i4, uint8_t i5, uint16_t i6,
                   uint32_t i7, int8_t i8, bool i9, float f1, double f2, float f3, double f4,
                   float f5, double f6, float f7, double f8, float f9, double f10) {
    return i1 + i2 + i3 + (double)i4 + i5 + i6 + i7 + i8 + i9 + (double)f1 + f2 + (double)f3 + f4 +
           (double)f5 + f6 + (double)f7 + f8 + (double)f9 + f10;
}
TR_TOOL(many, "sum", TR_F64, (TR_I8, i1, ""), (TR_I16, i2, ""), (TR_I32, i3, ""), (TR_I64, i4, ""),
        (TR_U8, i5, ""), (TR_U16, i6, ""), (TR_U32, i7, ""), (TR_I8, i8, ""), (TR_BOOL, i9, ""),
        (TR_F32, f1, ""), (TR_F64, f2, ""), (TR_F32, f3, ""), (TR_F64, f4, ""), (TR_F32, f5, ""),
        (TR_F64, f6, ""), (TR_F32, f7, ""), (TR_F64, f8, ""), (TR_F32, f9, ""), (TR_F64, f10, ""))

/* Up to 16 bytes in registers of either sort, above that in memory. */
struct mix8 {
    float f;
    int32_t i;
};
struct mix12 {
    float a, b, c;
};
struct mix16 {
    int64_t i;
    double d;
};
struct mix16r {
    double d;
    int32_t i;
    uint8_t u;
};
struct mix24 {
    int8_t a;
    double b;
    struct mix8 c;
};
TR_DEFINE_STRUCT(mix8, struct mix8, (TR_F32, f, ""), (TR_I32, i, ""))
TR_DEFINE_STRUCT(mix12, struct mix12, (TR_F32, a, ""), (TR_F32, b, ""), (TR_F32, c, ""))
TR_DEFINE_STRUCT(mix16, struct mix16, (TR_I64, i, ""), (TR_F64, d, ""))
TR_DEFINE_STRUCT(mix16r, struct mix16r, (TR_I32, i, ""), (TR_U8, u, ""), (TR_F64, d, ""))
TR_DEFINE_STRUCT(mix24, struct mix24, (TR_I8, a, ""), (TR_F64, b, ""), (TR_STRUCT(mix8), c, ""))

static struct mix8 pass8(struct mix8 value) {
    value.i++;
    return value;
}
static struct mix12 pass12(struct mix12 value) {
    value.c++;
    return value;
}
static struct mix16 pass16(struct mix16 value) {
    value.d++;
    return value;
}
static struct mix16r pass16r(struct mix16r value) {
    value.u++;
    return value;
}
static struct mix24 pass24(struct mix24 value) {
    value.c.i++;
    return value;
}
TR_TOOL(pass8, "echo", TR_STRUCT(mix8), (TR_STRUCT(mix8), value, ""))
TR_TOOL(pass12, "echo", TR_STRUCT(mix12), (TR_STRUCT(mix12), value, ""))
TR_TOOL(pass16, "echo", TR_STRUCT(mix16), (TR_STRUCT(mix16), value, ""))
TR_TOOL(pass16r, "echo", TR_STRUCT(mix16r), (TR_STRUCT(mix16r), value, ""))
TR_TOOL(pass24, "echo", TR_STRUCT(mix24), (TR_STRUCT(mix24), value, ""))

static int64_t in_turn(struct tr_call *call, const char *word, const void *data, size_t size,
                       struct mix24 large, const uint16_t *items, size_t count) {
    return (call != NULL ? 1000000 : 0) + (int64_t)strlen(word) * 100000 + (int64_t)size * 10000 +
           *(const char *)data + large.c.i * 1000 + items[count - 1];
}
TR_TOOL(in_turn, "sum", TR_I64, TR_CALL, (TR_STRING, word, ""), (TR_BYTES, data, ""),
        (TR_STRUCT(mix24), large, ""), (TR_ARRAY(TR_U16), items, ""))

static void the_c_abi_is_kept(void **state) {
    (void)state;
    gives(&tr_tool_many,
          "{\"i1\":-1,\"i2\":-2,\"i3\":-3,\"i4\":-4,\"i5\":250,\"i6\":6,\"i7\":7,\"i8\":-8,"
          "\"i9\":true,\"f1\":0.5,\"f2\":1,\"f3\":2,\"f4\":4,\"f5\":8,\"f6\":16,\"f7\":32,"
          "\"f8\":64,\"f9\":128,\"f10\":256}",
          "757.5");
    gives(&tr_tool_pass8, "{\"value\":{\"f\":1.5,\"i\":-3}}", "{\"f\":1.5,\"i\":-2}");
    gives(&tr_tool_pass12, "{\"value\":{\"a\":1,\"b\":2,\"c\":3}}",
          "{\"a\":1.0,\"b\":2.0,\"c\":4.0}");
    gives(&tr_tool_pass16, "{\"value\":{\"d\":1,\"i\":2}}", "{\"i\":2,\"d\":2.0}");
    gives(&tr_tool_pass16r, "{\"value\":{\"d\":1,\"i\":2,\"u\":7}}", "{\"i\":2,\"u\":8,\"d\":1.0}");
    gives(&tr_tool_pass24, "{\"value\":{\"a\":-1,\"b\":2,\"c\":{\"f\":3,\"i\":4}}}",
          "{\"a\":-1,\"b\":2.0,\"c\":{\"f\":3.0,\"i\":5}}");
}

static void the_call_comes_first(void **state) {
    (void)state;
    struct tr_call call = {0};
    struct outcome outcome;
    struct signature *signature = create(&tr_tool_in_turn);
    assert_int_equal(signature_value_count(signature), 4);
    assert_int_equal(
            call_with(signature, &tr_tool_in_turn, &call,
                      "{\"word\":\"ab\",\"data\":\"AQID\",\"large\":{\"a\":1,\"b\":1,\"c\":"
                      "{\"f\":1,\"i\":7}},\"items\":[1,500]}",
                      &(struct variant){0}, &outcome),
            0);
    assert_string_equal(outcome.out, "1237501");
    signature_destroy(signature);
}

/* ----------------------------------------------------- signatures refused */

struct gap {
    int32_t seen;
    int32_t unseen;
    int32_t last;
};
struct tail {
    int64_t seen;
    int64_t unseen;
};
TR_DEFINE_STRUCT(gap, struct gap, (TR_I32, seen, ""), (TR_I32, last, ""))
TR_DEFINE_STRUCT(tail, struct tail, (TR_I64, seen, ""))
static int32_t gap_by_value(struct gap value) {
    return value.last;
}
static int32_t gap_by_pointer(const struct gap *value) {
    return value->seen + value->unseen + value->last;
}
static struct tail tail_as_result(void) {
    return (struct tail){1, 2};
}
TR_TOOL(gap_by_value, "garbled", TR_I32, (TR_STRUCT(gap), value, ""))
TR_TOOL(gap_by_pointer, "fine", TR_I32, (TR_POINTER(TR_STRUCT(gap)), value, ""))
TR_TOOL(tail_as_result, "garbled", TR_STRUCT(tail))

static void is_refused(const struct tr_tool *tool, const char *message) {
    struct signature *signature = NULL;
    struct toolrack_error err;
    assert_int_equal(signature_create(tool, &signature, &err), TOOLRACK_E_REFUSED);
    assert_string_equal(err.message, message);
    assert_null(signature);
}

static void what_c_cannot_pass_is_refused(void **state) {
    (void)state;
    is_refused(&tr_tool_gap_by_value,
               "parameter/value/last: the field is at byte 8 of its struct, and at byte 4 by the "
               "fields described; describe every member, or pass the struct by pointer");
    is_refused(&tr_tool_tail_as_result,
               "result: the struct has 16 bytes, and 8 by the fields described (the last is seen); "
               "describe every member, or pass it by pointer");
    gives(&tr_tool_gap_by_pointer, "{\"value\":{\"seen\":1,\"last\":2}}", "3");

    struct tr_param param = tr_tool_plain_i8.params[0];
    struct tr_tool tool = tr_tool_plain_i8;
    tool.params = &param;
    param.default_json = "[1";
    is_refused(&tool, "parameter/value: its default is not JSON: unexpected end of data");
    param.default_json = "300";
    is_refused(&tool, "parameter/value: its default does not fit: /value must be between -128 and "
                      "127, not 300");

    static const struct tr_choice wide[] = {{"wide", 256}};
    struct tr_type type = *tr_tool_plain_tiny.params[0].type;
    type.choices = wide;
    type.choice_count = 1;
    param = (struct tr_param){.name = "value", .type = &type};
    is_refused(&tool, "parameter/value: the choice \"wide\" is 256, which an enumeration of 1 "
                      "bytes cannot hold");

    struct tr_param field = {.name = "odd", .type = tr_tool_plain_i64.result, .offset = 1};
    type = *tr_tool_pointer_point.params[0].type;
    type.fields = &field;
    type.field_count = 1;
    is_refused(&tool, "parameter/value/odd: its offset 1 is no multiple of 8; packed structs "
                      "cannot be described");
    field.offset = 16;
    is_refused(&tool, "parameter/value/odd: it ends behind the 16 bytes of its struct");
    field.offset = 0;
    type.width = 12;
    is_refused(&tool, "parameter/value: the size of the struct, 12, is no multiple of 8; packed "
                      "structs cannot be described");
}

/* A description can name one type in many places, each level many times the level below. */
static void types_that_unfold_are_refused(void **state) {
    (void)state;
    enum { LEVELS = 12, FIELDS = 16 };
    struct tr_param fields[LEVELS][FIELDS];
    struct tr_type structs[LEVELS];
    const struct tr_type *below = tr_tool_plain_i64.result;
    for (int level = 0; level < LEVELS; level++) {
        for (int i = 0; i < FIELDS; i++) {
            fields[level][i] = (struct tr_param){
                    .name = "f", .type = below, .offset = (uint64_t)i * sizeof(void *)};
        }
        structs[level] = (struct tr_type){.size = sizeof(struct tr_type),
                                          .kind = TR_KIND_STRUCT,
                                          .flags = TR_TYPE_BY_POINTER,
                                          .width = FIELDS * sizeof(void *),
                                          .fields = fields[level],
                                          .field_count = FIELDS,
                                          .field_size = sizeof(struct tr_param)};
        below = &structs[level];
    }
    struct tr_param param = {.name = "value", .type = below};
    struct tr_tool tool = tr_tool_plain_i64;
    tool.params = &param;
    is_refused(&tool, "its types unfold to more than 16777216 bytes");
}

/* ----------------------------------------------------------------- threads */

#define THREADS     4
#define CALLS       2000
#define CALLS_FIRST 100000

struct worker {
    pthread_t thread;
    const struct signature *signature;
    int wrong;
};

static void *call_often(void *argument) {
    struct worker *worker = argument;
    for (int i = 0; i < CALLS; i++) {
        char json[64];
        char expected[64];
        struct outcome outcome;
        (void)snprintf(json, sizeof json, "{\"word\":\"abc\",\"number\":%d}", i + CALLS_FIRST);
        (void)snprintf(expected, sizeof expected, "%d", i + CALLS_FIRST + 3 + 102 + 50 + 10000);
        worker->wrong += call_with(worker->signature, &tr_tool_with_defaults, NULL, json,
                                   &(struct variant){0}, &outcome) != 0;
        worker->wrong += strcmp(outcome.out, expected) != 0;
    }
    return NULL;
}

static void threads_share_a_signature(void **state) {
    (void)state;
    struct signature *signature = create(&tr_tool_with_defaults);
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.signature = signature};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, call_often, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
    }
    signature_destroy(signature);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(every_kind_in_every_form),
            cmocka_unit_test(bytes_and_arrays_in_every_form),
            cmocka_unit_test(numbers_are_taken_when_exact),
            cmocka_unit_test(wrong_arguments_are_named),
            cmocka_unit_test(numbers_kept_as_text),
            cmocka_unit_test(long_lists_of_choices_are_cut),
            cmocka_unit_test(argument_memory_is_bounded),
            cmocka_unit_test(every_allocation_may_fail),
            cmocka_unit_test(defaults_stand_in),
            cmocka_unit_test(broken_results_are_failures),
            cmocka_unit_test(results_are_bounded),
            cmocka_unit_test(the_c_abi_is_kept),
            cmocka_unit_test(the_call_comes_first),
            cmocka_unit_test(what_c_cannot_pass_is_refused),
            cmocka_unit_test(types_that_unfold_are_refused),
            cmocka_unit_test(threads_share_a_signature),
    };
    return cmocka_run_group_tests_name("ffi", tests, NULL, NULL);
}
