/* fuzz-bind.c - any JSON as the arguments of a few functions that between them
 * have every kind of type. Whatever binds is called and comes back as JSON,
 * which must parse; whatever does not must name its field. The first byte
 * chooses the function and how much memory and result it may have. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "ffi/signature.h"
#include "toolrack/plugin.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* ------------------------------------------------------------- the functions */

struct inner {
    float ratio;
    const char *word;
    const int16_t *maybe;
};
struct outer {
    bool flag;
    int8_t tiny;
    uint64_t large;
    uint8_t color;
    struct inner inner;
    struct tr_bytes blob;
    struct tr_array inners;
    const struct inner *other;
    const char *json;
};
TR_DEFINE_ENUM(color, uint8_t, (1, "red"), (2, "green"), (200, "blue"))
TR_DEFINE_STRUCT(inner, struct inner, (TR_F32, ratio, "", TR_DEFAULT(0.5)),
                 (TR_STRING, word, "", TR_DEFAULT("w")), (TR_OPTIONAL(TR_I16), maybe, ""))
TR_DEFINE_STRUCT(outer, struct outer, (TR_BOOL, flag, "", TR_DEFAULT(true)),
                 (TR_I8, tiny, "", TR_DEFAULT(-1)), (TR_U64, large, "", TR_DEFAULT(1)),
                 (TR_ENUM(color), color, "", TR_DEFAULT("red")),
                 (TR_STRUCT(inner), inner, "", TR_DEFAULT({})),
                 (TR_BYTES, blob, "", TR_DEFAULT("")),
                 (TR_ARRAY(TR_STRUCT(inner)), inners, "", TR_DEFAULT([])),
                 (TR_NULLABLE(TR_STRUCT(inner)), other, "", TR_DEFAULT(null)),
                 (TR_JSON, json, "", TR_DEFAULT(null)))

static struct outer by_value(struct outer a) {
    return a;
}
static const struct outer *by_pointer(const struct outer *a) {
    return a;
}
static struct tr_array deep(const struct tr_array *a, size_t count) {
    return (struct tr_array){a, count};
}
static struct tr_array nullables(const double *const *a, size_t count) {
    return (struct tr_array){a, count};
}
static int64_t scalars(int8_t a, int16_t b, int32_t c, int64_t d, uint8_t e, uint16_t f, uint32_t g,
                       uint64_t h, float i, double j, bool k, const int64_t *l) {
    return (int64_t)((uint64_t)d ^ h) ^ a ^ b ^ c ^ e ^ f ^ g ^ (i > 0) ^ (j > 0) ^ k ^
           (l != NULL ? *l : 0);
}
static struct tr_bytes texts(const char *a, const char *b, const void *c, size_t size,
                             const char *d) {
    /* Read all of it, so that the sanitizers see what was handed over. */
    volatile size_t length = strlen(a) + strlen(b) + (d != NULL ? strlen(d) : 0);
    (void)length;
    return (struct tr_bytes){c, size};
}
TR_TOOL(by_value, "echo", TR_STRUCT(outer), (TR_STRUCT(outer), a, ""))
TR_TOOL(by_pointer, "echo", TR_OPTIONAL(TR_STRUCT(outer)), (TR_OPTIONAL(TR_STRUCT(outer)), a, ""))
TR_TOOL(deep, "echo", TR_ARRAY(TR_ARRAY(TR_ENUM(color))),
        (TR_ARRAY(TR_ARRAY(TR_ENUM(color))), a, ""))
TR_TOOL(nullables, "echo", TR_ARRAY(TR_NULLABLE(TR_F64)),
        (TR_ARRAY(TR_NULLABLE(TR_F64)), a, "", .max_items = 9))
TR_TOOL(scalars, "mix", TR_I64, (TR_I8, a, "", TR_DEFAULT(1)), (TR_I16, b, "", TR_DEFAULT(1)),
        (TR_I32, c, "", TR_DEFAULT(1)), (TR_I64, d, "", TR_DEFAULT(1)),
        (TR_U8, e, "", TR_DEFAULT(1)), (TR_U16, f, "", TR_DEFAULT(1)),
        (TR_U32, g, "", TR_DEFAULT(1)), (TR_U64, h, "", TR_DEFAULT(1)),
        (TR_F32, i, "", TR_DEFAULT(1)), (TR_F64, j, "", TR_DEFAULT(1)),
        (TR_BOOL, k, "", TR_DEFAULT(true)), (TR_OPTIONAL(TR_I64), l, ""))
TR_TOOL(texts, "bytes", TR_BYTES, (TR_STRING, a, "", TR_DEFAULT("a")),
        (TR_JSON, b, "", TR_DEFAULT([])),
        (TR_BYTES, c, "", TR_DEFAULT("Zg=="), .min_length = 1, .max_length = 64),
        (TR_NULLABLE(TR_STRING), d, "", TR_DEFAULT(null)))

static const struct tr_tool *const tools[] = {&tr_tool_by_value, &tr_tool_by_pointer,
                                              &tr_tool_deep,     &tr_tool_nullables,
                                              &tr_tool_scalars,  &tr_tool_texts};
#define TOOLS ARRAY_LENGTH(tools)

/* ------------------------------------------------------------------ one input */

/* Tight and wide limits, by bits of the first byte. */
#define MEMORY_TIGHT 8192u
#define MEMORY_WIDE  (16u * 1024u * 1024u)
#define RESULT_TIGHT 64u

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_error(int code, const struct toolrack_error *err) {
    require(code == err->code && err->message[0] != '\0');
    /* The third: a JSON argument that was kept as text, given back, is too large a number. */
    require(code == TOOLRACK_E_INVALID_ARGUMENTS || code == TOOLRACK_E_LIMIT_EXCEEDED ||
            (code == TOOLRACK_E_EXECUTION_FAILED && strstr(err->message, "is not JSON") != NULL));
    require((code == TOOLRACK_E_INVALID_ARGUMENTS) == (err->field[0] == '/'));
    require(utf8_valid(err->message, strlen(err->message)));
}

static void check_result(const struct buf *out, bool tight) {
    yyjson_doc *doc = yyjson_read(out->data, out->length, 0);
    require(doc != NULL && (!tight || out->length <= RESULT_TIGHT));
    require(memchr(out->data, '\n', out->length) == NULL);
    yyjson_doc_free(doc);
}

static void call(const struct signature *signature, const struct tr_tool *tool,
                 yyjson_val *arguments, bool tight_memory, bool tight_result) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    yyjson_val *values[SIGNATURE_PARAMS_MAX];
    struct toolrack_error err;
    struct frame frame;
    struct arena arena;
    for (uint32_t i = 0; i < tool->param_count; i++) {
        values[i] = yyjson_obj_get(arguments, tool->params[i].name);
    }
    arena_init(&arena, NULL, 0);
    arena.size_max = tight_memory ? MEMORY_TIGHT : MEMORY_WIDE;
    int code = signature_bind(signature, values, &arena, &frame, &err);
    if (code == 0) {
        signature_invoke(signature, tool->function, NULL, &frame);
        code = signature_write_result(signature, &frame, &arena, tight_result ? RESULT_TIGHT : 0,
                                      &out, &err);
    }
    if (code == 0) {
        check_result(&out, tight_result);
    } else {
        check_error(code, &err);
        require(out.length == 0);
    }
    arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static struct signature *signatures[TOOLS];
    if (size == 0) {
        return 0;
    }
    size_t tool = (data[0] & 15) % TOOLS;
    if (signatures[tool] == NULL) {
        require(signature_create(tools[tool], &signatures[tool], NULL) == 0);
    }
    /* Numbers as text are another way in; see number_of() in bind.c. */
    yyjson_read_flag flags = (data[0] & 32) != 0 ? YYJSON_READ_BIGNUM_AS_RAW : YYJSON_READ_NOFLAG;
    yyjson_doc *doc = yyjson_read((const char *)data + 1, size - 1, flags);
    if (doc != NULL) {
        call(signatures[tool], tools[tool], yyjson_doc_get_root(doc), (data[0] & 64) != 0,
             (data[0] & 128) != 0);
    }
    yyjson_doc_free(doc);
    return 0;
}
