/* Every type and option that a typed tool can have. */
#include <toolrack/plugin.h>

enum color { RED, GREEN = 5, BLUE };
TR_DEFINE_ENUM(color, enum color, (RED, "red"), (GREEN, "green"), (BLUE, "dark \"blue\""))

struct point {
    double x;
    double y;
};
TR_DEFINE_STRUCT(point, struct point, (TR_F64, x, "abscissa", TR_DEFAULT(0)),
                 (TR_F64, y, "ordinate"))

struct shape {
    const char *name;
    struct point center;
    struct tr_array corners;
    const struct point *hint;
    enum color color;
    bool filled;
};
TR_DEFINE_STRUCT(shape, struct shape, (TR_STRING, name, "its name", .min_length = 1),
                 (TR_STRUCT(point), center, "where it is"),
                 (TR_ARRAY(TR_STRUCT(point)), corners, "around it", .min_items = 3),
                 (TR_OPTIONAL(TR_STRUCT(point)), hint, "where to look"),
                 (TR_ENUM(color), color, "paint"), (TR_BOOL, filled, "inside too"))

/* A bound may be a macro. */
#define HUNDRED 100

static int64_t integers(struct tr_call *call, int8_t a, int16_t b, int32_t c, int64_t d, uint8_t e,
                        uint16_t f, uint32_t g, uint64_t h) {
    (void)call;
    return a + b + c + d + e + f + g + (int64_t)h;
}
TR_TOOL(integers, "All widths", TR_I64, TR_CALL, (TR_I8, a, "i8"),
        (TR_I16, b, "i16", TR_MINIMUM(0)), (TR_I32, c, "i32", TR_EXCLUSIVE_MAXIMUM(HUNDRED)),
        (TR_I64, d, "i64", TR_DEFAULT(-9223372036854775808)), (TR_U8, e, "u8", TR_MULTIPLE_OF(5)),
        (TR_U16, f, "u16", TR_CHOICES(1, 2, 65535)), (TR_U32, g, "u32"), (TR_U64, h, "u64"))

static const char *texts(const char *a, const char *b, const void *c, size_t c_size, const char *d,
                         const char *e) {
    (void)b, (void)c, (void)c_size, (void)d, (void)e;
    return a;
}
TR_TOOL(texts, "All texts", TR_NULLABLE(TR_STRING),
        (TR_STRING, a, "a", .min_length = 1, .max_length = 9, .pattern = "^[a-z\\d]+$",
         .format = "hostname"),
        (TR_OPTIONAL(TR_STRING), b, "b", TR_CHOICES("x", "y")), (TR_BYTES, c, "c", .max_length = 8),
        (TR_JSON, d, "d", TR_DEFAULT({"k" : [ 1, "a b" ]})),
        (TR_NULLABLE(TR_STRING), e, "e", TR_DEFAULT(null)))

static struct point values(struct shape shape, const float *f, const enum color *color,
                           const int64_t *list, size_t list_count, const struct shape *by_pointer,
                           const bool *flag) {
    (void)f, (void)color, (void)list, (void)list_count, (void)by_pointer, (void)flag;
    return shape.center;
}
TR_TOOL(values, "Composed values", TR_STRUCT(point), (TR_STRUCT(shape), shape, "a shape"),
        (TR_NULLABLE(TR_F32), f, "may be null"),
        (TR_OPTIONAL(TR_ENUM(color)), color, "may be left out"),
        (TR_ARRAY(TR_I64), list, "numbers", TR_DEFAULT([ 1, 2, 3 ]), .max_items = 4,
         .flags = TR_PARAM_UNIQUE_ITEMS),
        (TR_POINTER(TR_STRUCT(shape)), by_pointer, "by pointer"),
        (TR_NULLABLE(TR_BOOL), flag, "may be null"))

static void nothing(void) {
}
TR_TOOL(nothing, "Takes nothing, gives nothing", TR_VOID)

TR_PLUGIN(("all-types", .license = "MIT"), "1.0.0", integers, texts, values, nothing)
