/* Every type, form and option once, and every function of a call. */
#include <toolrack/plugin.h>

struct point {
    double x, y;
};
TR_DEFINE_STRUCT(point, struct point, (TR_F64, x, "abscissa"), (TR_F64, y, "ordinate"))

enum color { RED = 1, GREEN = 2 };
TR_DEFINE_ENUM(color, enum color, (RED, "red"), (GREEN, "green"))

typedef int64_t big_enum;
TR_DEFINE_ENUM(big, big_enum, (INT64_C(5000000000), "five_billion"), (-1, "minus_one"))

struct shape {
    bool flag;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
    const char *text;
    const char *json;
    struct tr_bytes bytes;
    struct point origin;
    enum color color;
    struct tr_array points;
    struct tr_array table;
    const int32_t *maybe;
    const char *maybe_text;
    const struct point *maybe_point;
    const enum color *maybe_color;
    struct tr_array maybe_points;
    struct tr_bytes maybe_bytes;
};
TR_DEFINE_STRUCT(shape, struct shape,
        (TR_BOOL, flag, "a flag"), (TR_I8, i8, "1 byte"), (TR_I16, i16, "2 bytes"),
        (TR_I32, i32, "4 bytes"), (TR_I64, i64, "8 bytes"), (TR_U8, u8, "1 byte"),
        (TR_U16, u16, "2 bytes"), (TR_U32, u32, "4 bytes"), (TR_U64, u64, "8 bytes"),
        (TR_F32, f32, "single"), (TR_F64, f64, "double"), (TR_STRING, text, "text"),
        (TR_JSON, json, "any JSON"), (TR_BYTES, bytes, "bytes"),
        (TR_STRUCT(point), origin, "nested"), (TR_ENUM(color), color, "a name"),
        (TR_ARRAY(TR_STRUCT(point)), points, "of structs"),
        (TR_ARRAY(TR_ARRAY(TR_F64)), table, "of arrays"),
        (TR_NULLABLE(TR_I32), maybe, "or null"),
        (TR_OPTIONAL(TR_STRING), maybe_text, "or nothing"),
        (TR_OPTIONAL(TR_STRUCT(point)), maybe_point, "or nothing"),
        (TR_NULLABLE(TR_ENUM(color)), maybe_color, "or null"),
        (TR_NULLABLE(TR_ARRAY(TR_STRUCT(point))), maybe_points, "or null"),
        (TR_OPTIONAL(TR_BYTES), maybe_bytes, "or nothing"))

static void nothing(void) {
}
TR_TOOL(nothing, "Do nothing", TR_VOID)

static struct shape echo(struct tr_call *call, const struct shape *shape) {
    tr_progress(call, 1, 1, NULL);
    return *shape;
}
TR_TOOL(echo, ("Give back what came in", .version = "1.2.3", .title = "Echo", .category = "test",
        .tags = "one,two", .permission = TR_CONFIRM, .priority = -5, .deadline_ms = 1000,
        .result_description = "The same", TR_EXAMPLES(TR_EXAMPLE("{\"shape\": {}}", NULL)),
        .flags = TR_DISABLED | TR_READ_ONLY | TR_DESTRUCTIVE | TR_IDEMPOTENT | TR_OPEN_WORLD),
        TR_STRUCT(shape), TR_CALL, (TR_POINTER(TR_STRUCT(shape)), shape, "anything"))

static uint64_t many(bool flag, int8_t i8, int16_t i16, int32_t i32, int64_t i64, uint8_t u8,
        uint16_t u16, uint32_t u32, uint64_t u64, float f32, double f64, const char *text,
        const char *json, const void *bytes, size_t size, struct point point, enum color color,
        big_enum big, const int32_t *numbers, size_t number_count, const struct point *points,
        size_t point_count, const char *const *words, size_t word_count,
        const struct tr_array *rows, size_t row_count) {
    (void)f32, (void)f64, (void)text, (void)json, (void)bytes, (void)point, (void)color, (void)big;
    (void)numbers, (void)points, (void)words, (void)rows, (void)flag, (void)i8, (void)i16;
    (void)i32, (void)i64, (void)u8, (void)u16, (void)u32, (void)u64;
    return size + number_count + point_count + word_count + row_count;
}
TR_TOOL(many, "Take every type", TR_U64,
        (TR_BOOL, flag, "flag", TR_DEFAULT(true)),
        (TR_I8, i8, "number", TR_MINIMUM(-10), TR_MAXIMUM(10)),
        (TR_I16, i16, "number", TR_EXCLUSIVE_MINIMUM(-10), TR_EXCLUSIVE_MAXIMUM(10)),
        (TR_I32, i32, "number", TR_MULTIPLE_OF(5)),
        (TR_I64, i64, "number", TR_DEFAULT(-9223372036854775808)),
        (TR_U8, u8, "number"), (TR_U16, u16, "number"), (TR_U32, u32, "number"),
        (TR_U64, u64, "number", TR_MAXIMUM(18446744073709551615)),
        (TR_F32, f32, "number"), (TR_F64, f64, "number", TR_CHOICES(0.5, 1, 2)),
        (TR_STRING, text, "text", .min_length = 1, .max_length = 10, .pattern = "^[a-z]+$",
         .format = "hostname", TR_CHOICES("a", "b"), TR_DEFAULT("a")),
        (TR_JSON, json, "JSON", TR_DEFAULT({"a": [1, 2, {"b": null}]})),
        (TR_BYTES, bytes, "bytes", .max_length = 1024),
        (TR_STRUCT(point), point, "point", TR_DEFAULT({"x": 0, "y": 0})),
        (TR_ENUM(color), color, "color", TR_DEFAULT("red")),
        (TR_ENUM(big), big, "wide"),
        (TR_ARRAY(TR_I32), numbers, "numbers", .min_items = 1, .max_items = 9,
         .flags = TR_PARAM_UNIQUE_ITEMS, TR_DEFAULT([1, 2, 3])),
        (TR_ARRAY(TR_STRUCT(point)), points, "points"),
        (TR_ARRAY(TR_STRING), words, "words"),
        (TR_ARRAY(TR_ARRAY(TR_F64)), rows, "rows"))

static int32_t maybe(const bool *flag, const int32_t *number, const double *real,
        const char *text, const char *json, const void *bytes, size_t size,
        const struct point *point, const enum color *color, const double *reals, size_t count,
        const struct point *must) {
    (void)real, (void)text, (void)json, (void)bytes, (void)point, (void)color, (void)reals;
    (void)must;
    return flag != NULL && *flag && number != NULL ? *number : (int32_t)(size + count);
}
TR_TOOL(maybe, "Take what may be missing", TR_I32,
        (TR_OPTIONAL(TR_BOOL), flag, "flag"), (TR_NULLABLE(TR_I32), number, "number"),
        (TR_OPTIONAL(TR_F64), real, "number"), (TR_OPTIONAL(TR_STRING), text, "text"),
        (TR_NULLABLE(TR_JSON), json, "JSON"), (TR_OPTIONAL(TR_BYTES), bytes, "bytes"),
        (TR_OPTIONAL(TR_STRUCT(point)), point, "point"), (TR_OPTIONAL(TR_ENUM(color)), color, "color"),
        (TR_NULLABLE(TR_ARRAY(TR_F64)), reals, "numbers"),
        (TR_POINTER(TR_STRUCT(point)), must, "always there"))

static const char *text_of(const char *text) {
    return text;
}
TR_TOOL(text_of, "Give a text", TR_NULLABLE(TR_STRING), (TR_STRING, text, "text"))

static struct tr_bytes bytes_of(const void *data, size_t size) {
    return (struct tr_bytes){data, size};
}
TR_TOOL(bytes_of, "Give bytes", TR_BYTES, (TR_BYTES, data, "bytes"))

static struct tr_array array_of(const int32_t *items, size_t count) {
    return (struct tr_array){items, count};
}
TR_TOOL(array_of, "Give an array", TR_ARRAY(TR_I32), (TR_ARRAY(TR_I32), items, "numbers"))

static const int32_t *no_number(void) {
    return NULL;
}
TR_TOOL(no_number, "Give null", TR_NULLABLE(TR_I32))

static int32_t sum32(int32_t p1, int32_t p2, int32_t p3, int32_t p4, int32_t p5, int32_t p6,
        int32_t p7, int32_t p8, int32_t p9, int32_t p10, int32_t p11, int32_t p12, int32_t p13,
        int32_t p14, int32_t p15, int32_t p16, int32_t p17, int32_t p18, int32_t p19, int32_t p20,
        int32_t p21, int32_t p22, int32_t p23, int32_t p24, int32_t p25, int32_t p26, int32_t p27,
        int32_t p28, int32_t p29, int32_t p30, int32_t p31, int32_t p32) {
    return p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8 + p9 + p10 + p11 + p12 + p13 + p14 + p15 + p16
            + p17 + p18 + p19 + p20 + p21 + p22 + p23 + p24 + p25 + p26 + p27 + p28 + p29 + p30
            + p31 + p32;
}
TR_TOOL(sum32, ("The most parameters", TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"p1": 1, "p2": true}), "3"),
                TR_EXAMPLE("{}", "0")), .tags = "many"), TR_I32, (TR_I32, p1, ""), (TR_I32, p2, ""),
        (TR_I32, p3, ""), (TR_I32, p4, ""), (TR_I32, p5, ""), (TR_I32, p6, ""), (TR_I32, p7, ""),
        (TR_I32, p8, ""), (TR_I32, p9, ""), (TR_I32, p10, ""), (TR_I32, p11, ""),
        (TR_I32, p12, ""), (TR_I32, p13, ""), (TR_I32, p14, ""), (TR_I32, p15, ""),
        (TR_I32, p16, ""), (TR_I32, p17, ""), (TR_I32, p18, ""), (TR_I32, p19, ""),
        (TR_I32, p20, ""), (TR_I32, p21, ""), (TR_I32, p22, ""), (TR_I32, p23, ""),
        (TR_I32, p24, ""), (TR_I32, p25, ""), (TR_I32, p26, ""), (TR_I32, p27, ""),
        (TR_I32, p28, ""), (TR_I32, p29, ""), (TR_I32, p30, ""), (TR_I32, p31, ""),
        (TR_I32, p32, ""))

static tr_status whole_call(struct tr_call *call) {
    const char *all = tr_arguments(call);
    if (tr_kind_of(call, "") != TR_JSON_OBJECT || tr_count(call, "list") > 10) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "list", "has %d items too many", 1);
    }
    bool flag = tr_get_bool(call, "flag", false);
    int64_t i = tr_get_i64(call, "list/0", 0);
    uint64_t u = tr_get_u64(call, "/list/1", 0);
    double d = tr_get_f64(call, "number", 0.5);
    const char *text = tr_get_string(call, "text", NULL);
    struct tr_bytes bytes = tr_get_bytes(call, "bytes");
    const char *json = tr_get_json(call, "any", "null");
    tr_log(call, TR_LOG_DEBUG, "%s %d %d %d %f %s", all, (int)flag, (int)i, (int)u, d, json);
    if (tr_cancelled(call) || tr_time_left_ms(call) == 0) {
        return tr_fail(call, TR_CANCELLED, NULL, "cancelled");
    }
    const char *answer = NULL;
    switch (tr_ask(call, "Go on?", TR_SCHEMA({"type": "object", "properties": {}}), &answer)) {
    case TR_OK: tr_log(call, TR_LOG_INFO, "%s", answer); break;
    case TR_ABSENT: break;
    default: return tr_fail(call, TR_CANCELLED, NULL, "nobody agreed");
    }
    char *memory = tr_alloc(call, 2);
    if (memory == NULL) {
        return TR_LIMIT_EXCEEDED;
    }
    memory[0] = '1';
    memory[1] = '\0';
    (void)tr_reply_text(call, text == NULL ? "none" : text);
    (void)tr_reply_textf(call, "%s", tr_context(call, TR_CONTEXT_TOOL));
    (void)tr_reply_image(call, bytes.data, bytes.size, "image/png");
    (void)tr_reply_audio(call, bytes.data, bytes.size, "audio/wav");
    (void)tr_reply_resource_text(call, "test:/a", NULL, "text");
    (void)tr_reply_resource_bytes(call, "test:/b", "image/png", bytes.data, bytes.size);
    return tr_reply_json(call, memory);
}
TR_JSON_TOOL(whole_call, ("Use every function of a call", TR_EXAMPLES(TR_EXAMPLE("{}", "1")),
             .result_schema = TR_SCHEMA({"type": "integer"})),
        TR_SCHEMA({"type": "object", "additionalProperties": true}))

static tr_status open_plugin(struct tr_host *host) {
    tr_host_log(host, TR_LOG_INFO, "opening %s", tr_host_config(host, "name", "nothing"));
    if (tr_host_get_extension(host, "test.none/1") != NULL) {
        return tr_host_fail(host, "there is no such %s", "thing");
    }
    return TR_OK;
}

static void close_plugin(void) {
}

static const void *get_extension(const char *id) {
    (void)id;
    return NULL;
}

TR_PLUGIN(("test.everything", .description = "Everything", .vendor = "toolrack", .license = "MIT",
           .homepage = "https://example.org", .flags = TR_THREAD_SAFE | TR_STARTS_THREADS,
           .host_minor_min = 0, .open = open_plugin, .close = close_plugin,
           .get_extension = get_extension,
           TR_CAPABILITIES(TR_READS("${workspace}"), TR_WRITES("/tmp"), TR_CONNECTS("example.org:443"),
                           TR_SPAWNS("/bin/true"), TR_READS_ENV("LANG"))),
          "1.2.3", nothing, echo, many, maybe, text_of, bytes_of, array_of, no_number, sum32,
          whole_call)
