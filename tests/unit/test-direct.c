/* Calls in registers (ffi/direct.h) against those of libffi: random signatures with random values.
 *
 * A trial is a function of up to 12 parameters. It is called twice, with the same values: by a
 * signature, which binds them from JSON, and by libffi with C values that the test has made. The
 * function is a closure of libffi, which takes arguments and gives a result back as the ABI wants
 * it, whatever the signature is. Both calls must hand over the values, and bring back the result.
 *
 * TEST_SIGNATURES is the number of trials, TEST_SEED where the random numbers begin; a failure says
 * with which seed its trial alone can be repeated. */
#include <ffi.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "toolrack/plugin.h" /* before cmocka, whose macro fail() takes its member's name */

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "ffi/signature.h"
#include "rounds.h"

/* What the machine passes in registers, as its ABI says. */
#if defined(__x86_64__)
#define WORDS                        6u
#define IS_RETURNED_BY_ADDRESS(size) ((size) > 16)
#elif defined(__aarch64__)
#define WORDS                        8u
#define IS_RETURNED_BY_ADDRESS(size) false
#else
#define WORDS                        0u
#define IS_RETURNED_BY_ADDRESS(size) false
#endif
#define VECTORS 8u

#define PARAMS_MAX    12u
#define ARGUMENTS_MAX (2 * PARAMS_MAX)
#define FIELDS_MAX    4u
#define ITEMS_MAX     3u
#define VALUE_MAX     32u /* bytes of a struct of FIELDS_MAX */

/* ---------------------------------------------------------------- libffi's calls, counted */

static unsigned long libffi_calls;

void __real_ffi_call(ffi_cif *cif, void (*function)(void), void *result, void **arguments);
void __wrap_ffi_call(ffi_cif *cif, void (*function)(void), void *result, void **arguments);
void __wrap_ffi_call(ffi_cif *cif, void (*function)(void), void *result, void **arguments) {
    libffi_calls++;
    __real_ffi_call(cif, function, result, arguments);
}

/* ---------------------------------------------------------------- random numbers */

static uint64_t seed;

/* SplitMix64. */
static uint64_t random_bits(void) {
    uint64_t bits = seed += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

static uint32_t random_below(uint32_t end) {
    return (uint32_t)((random_bits() >> 32) * end >> 32);
}

/* ---------------------------------------------------------------- scalars */

struct scalar {
    struct tr_type type;
    ffi_type *ffi;
    bool is_signed;
};

static const struct tr_choice signed_choices[] = {{"low", -128}, {"none", 0}, {"high", 127}};
static const struct tr_choice unsigned_choices[] = {{"none", 0}, {"many", 200}, {"most", 255}};
#define CHOICES 3

#define NUMBER(kind_, ffi_, is_signed_)                                            \
    {                                                                              \
        .type = {.size = sizeof(struct tr_type), .kind = (kind_)}, .ffi = &(ffi_), \
        .is_signed = (is_signed_)                                                  \
    }
#define ENUM(width_, ffi_, is_signed_)                                        \
    {                                                                         \
        .type = {.size = sizeof(struct tr_type),                              \
                 .kind = TR_KIND_ENUM,                                        \
                 .width = (width_),                                           \
                 .choices = (is_signed_) ? signed_choices : unsigned_choices, \
                 .choice_count = CHOICES,                                     \
                 .choice_size = sizeof(struct tr_choice)},                    \
        .ffi = &(ffi_), .is_signed = (is_signed_)                             \
    }

static const struct scalar scalars[] = {
        NUMBER(TR_KIND_BOOL, ffi_type_uint8, false),
        NUMBER(TR_KIND_I8, ffi_type_sint8, true),
        NUMBER(TR_KIND_I16, ffi_type_sint16, true),
        NUMBER(TR_KIND_I32, ffi_type_sint32, true),
        NUMBER(TR_KIND_I64, ffi_type_sint64, true),
        NUMBER(TR_KIND_U8, ffi_type_uint8, false),
        NUMBER(TR_KIND_U16, ffi_type_uint16, false),
        NUMBER(TR_KIND_U32, ffi_type_uint32, false),
        NUMBER(TR_KIND_U64, ffi_type_uint64, false),
        NUMBER(TR_KIND_F32, ffi_type_float, false),
        NUMBER(TR_KIND_F32, ffi_type_float, false),
        NUMBER(TR_KIND_F64, ffi_type_double, false),
        NUMBER(TR_KIND_F64, ffi_type_double, false),
        NUMBER(TR_KIND_F64, ffi_type_double, false),
        ENUM(1, ffi_type_sint8, true),
        ENUM(1, ffi_type_uint8, false),
        ENUM(2, ffi_type_sint16, true),
        ENUM(2, ffi_type_uint16, false),
        ENUM(4, ffi_type_sint32, true),
        ENUM(4, ffi_type_uint32, false),
        ENUM(8, ffi_type_sint64, true),
};

static bool is_float(const struct tr_type *type) {
    return type->kind == TR_KIND_F32 || type->kind == TR_KIND_F64;
}

/* The integer in the low bytes, extended to a word. */
static uint64_t extended(const struct scalar *scalar, const void *bytes) {
    uint64_t word = 0;
    memcpy(&word, bytes, scalar->ffi->size);
    unsigned unused = 64 - 8 * (unsigned)scalar->ffi->size;
    return scalar->is_signed ? (uint64_t)((int64_t)(word << unused) >> unused) : word;
}

static void make_integer(const struct scalar *scalar, void *bytes, struct buf *json) {
    uint64_t bits = random_bits() >> (8 * random_below(8)); /* small ones too */
    memcpy(bytes, &bits, scalar->ffi->size);
    bits = extended(scalar, bytes);
    if (scalar->is_signed) {
        buf_printf(json, "%" PRId64, (int64_t)bits);
    } else {
        buf_printf(json, "%" PRIu64, bits);
    }
}

static void make_f64(void *bytes, struct buf *json) {
    double value = NAN;
    while (!isfinite(value) || value == 0) {
        uint64_t bits = random_bits();
        memcpy(&value, &bits, sizeof value);
    }
    memcpy(bytes, &value, sizeof value);
    buf_printf(json, "%.17g", value);
}

static void make_f32(void *bytes, struct buf *json) {
    float value = NAN;
    while (!isfinite(value) || fabsf(value) < 1e-37f) {
        uint32_t bits = (uint32_t)random_bits();
        memcpy(&value, &bits, sizeof value);
    }
    memcpy(bytes, &value, sizeof value);
    buf_printf(json, "%.9g", (double)value);
}

static void make_enum(const struct scalar *scalar, void *bytes, struct buf *json) {
    const struct tr_choice *choice = &scalar->type.choices[random_below(CHOICES)];
    memcpy(bytes, &choice->value, scalar->ffi->size); /* little-endian */
    buf_printf(json, "\"%s\"", choice->name);
}

/* A value of a type, in C and in JSON. */
static void make_scalar(const struct scalar *scalar, void *bytes, struct buf *json) {
    switch (scalar->type.kind) {
    case TR_KIND_BOOL: {
        bool value = random_below(2) == 1;
        memcpy(bytes, &value, sizeof value);
        buf_add_text(json, value ? "true" : "false");
        break;
    }
    case TR_KIND_F32: make_f32(bytes, json); break;
    case TR_KIND_F64: make_f64(bytes, json); break;
    case TR_KIND_ENUM: make_enum(scalar, bytes, json); break;
    default: make_integer(scalar, bytes, json);
    }
}

/* ---------------------------------------------------------------- values of any type */

/* A parameter or the result, and the value of both calls. */
struct value {
    struct tr_type type;
    const struct scalar *scalar; /* NULL: none */
    ffi_type ffi[2];             /* of one or two C arguments */
    unsigned arguments;
    bool pointed;

    /* STRUCT */
    const struct scalar *fields[FIELDS_MAX];
    struct tr_param field_params[FIELDS_MAX];
    ffi_type *elements[FIELDS_MAX + 1];

    _Alignas(8) unsigned char bytes[VALUE_MAX]; /* the C value, or what a pointer points to */
    union {
        const void *pointer;
        struct {
            const void *data;
            uint64_t count;
        };
        struct tr_array pair;
    };
};

static const char *const field_names[FIELDS_MAX] = {"a", "b", "c", "d"};

static void make_struct(struct value *value, struct buf *json) {
    size_t at = 0;
    size_t align = 1;
    uint32_t count = 1 + random_below(FIELDS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        /* Half of them alike, as AArch64 passes up to four floats in vector registers. */
        const struct scalar *scalar = i > 0 && random_below(2) == 0
                                              ? value->fields[i - 1]
                                              : &scalars[random_below(ARRAY_LENGTH(scalars))];
        at = (at + scalar->ffi->alignment - 1) / scalar->ffi->alignment * scalar->ffi->alignment;
        value->fields[i] = scalar;
        value->elements[i] = scalar->ffi;
        value->field_params[i] =
                (struct tr_param){.name = field_names[i], .type = &scalar->type, .offset = at};
        buf_printf(json, "%s\"%s\":", i == 0 ? "{" : ",", field_names[i]);
        make_scalar(scalar, value->bytes + at, json);
        at += scalar->ffi->size;
        align = scalar->ffi->alignment > align ? scalar->ffi->alignment : align;
    }
    buf_add_text(json, "}");
    value->elements[count] = NULL;
    value->type = (struct tr_type){.size = sizeof value->type,
                                   .kind = TR_KIND_STRUCT,
                                   .width = (uint32_t)((at + align - 1) / align * align),
                                   .fields = value->field_params,
                                   .field_count = count,
                                   .field_size = sizeof(struct tr_param)};
    value->ffi[0] = (ffi_type){.type = FFI_TYPE_STRUCT, .elements = value->elements};
}

static void make_string(struct value *value, struct buf *json) {
    static const char *const texts[] = {"", "x", "a longer text than eight bytes"};
    value->type = (struct tr_type){.size = sizeof value->type, .kind = TR_KIND_STRING};
    value->ffi[0] = ffi_type_pointer;
    value->pointer = texts[random_below(ARRAY_LENGTH(texts))];
    buf_printf(json, "\"%s\"", (const char *)value->pointer);
}

static void make_pair(struct value *value, struct buf *json) {
    static const struct tr_type item = {.size = sizeof item, .kind = TR_KIND_I32};
    static const char *const base64[ITEMS_MAX + 1] = {"", "Zg==", "Zm8=", "Zm9v"};
    bool is_array = random_below(2) == 0;
    value->type = (struct tr_type){.size = sizeof value->type,
                                   .kind = is_array ? TR_KIND_ARRAY : TR_KIND_BYTES,
                                   .item = is_array ? &item : NULL};
    value->arguments = 2;
    value->ffi[0] = ffi_type_pointer;
    value->ffi[1] = ffi_type_uint64;
    value->data = value->bytes;
    value->count = random_below(ITEMS_MAX + 1);
    if (!is_array) {
        memcpy(value->bytes, "foo", ITEMS_MAX);
        buf_printf(json, "\"%s\"", base64[value->count]);
        return;
    }
    buf_add_char(json, '[');
    for (uint32_t i = 0; i < value->count; i++) {
        int32_t number = (int32_t)random_bits();
        memcpy(value->bytes + i * sizeof number, &number, sizeof number);
        buf_printf(json, "%s%" PRId32, i > 0 ? "," : "", number);
    }
    buf_add_char(json, ']');
}

/* Pass a value as a pointer, perhaps NULL. */
static void make_pointed(struct value *value, struct buf *json, size_t start) {
    value->pointed = true;
    value->pointer = value->bytes;
    value->ffi[0] = ffi_type_pointer;
    value->type.flags = TR_TYPE_BY_POINTER;
    if (random_below(2) == 0) {
        value->type.flags = TR_TYPE_NULLABLE;
        if (random_below(2) == 0) {
            value->pointer = NULL;
            buf_truncate(json, start);
            buf_add_text(json, "null");
        }
    }
}

/* A random type, and a value of it. */
static void make_value(struct value *value, struct buf *json) {
    size_t start = json->length;
    uint32_t form = random_below(16);
    *value = (struct value){.arguments = 1};
    if (form == 0) {
        make_string(value, json);
    } else if (form == 1) {
        make_pair(value, json);
    } else {
        if (form == 2) {
            make_struct(value, json);
        } else {
            value->scalar = &scalars[random_below(ARRAY_LENGTH(scalars))];
            value->type = value->scalar->type;
            value->ffi[0] = *value->scalar->ffi;
            make_scalar(value->scalar, value->bytes, json);
        }
        if (random_below(8) == 0) {
            make_pointed(value, json, start);
        }
    }
}

static bool is_struct(const struct value *value) {
    return value->type.kind == TR_KIND_STRUCT && !value->pointed;
}

/* Where the value is stored, as libffi takes it. */
static void *stored(struct value *value) {
    return value->pointed || value->type.kind == TR_KIND_STRING || value->arguments == 2
                   ? (void *)&value->pointer
                   : value->bytes;
}

/* ---------------------------------------------------------------- what a function is given */

static void describe_plain(const struct value *value, const unsigned char *bytes, struct buf *out) {
    if (value->type.kind != TR_KIND_STRUCT) {
        buf_add(out, bytes, value->scalar->ffi->size);
        return;
    }
    for (uint32_t i = 0; i < value->type.field_count; i++) { /* without the padding */
        buf_add(out, bytes + value->field_params[i].offset, value->fields[i]->ffi->size);
    }
}

/* All that a value is, without addresses: what was bound from JSON is elsewhere.
 * @param from  where its one or two C arguments are stored */
static void describe(const struct value *value, void *const *from, struct buf *out) {
    if (value->pointed || value->type.kind == TR_KIND_STRING || value->arguments == 2) {
        const void *pointer = *(const void *const *)from[0];
        if (pointer == NULL) {
            buf_add_text(out, "null;");
        } else if (value->arguments == 2) {
            uint64_t count = *(const uint64_t *)from[1];
            assert_in_range(count, 0, ITEMS_MAX);
            buf_add(out, pointer,
                    count * (value->type.kind == TR_KIND_ARRAY ? sizeof(int32_t) : 1));
        } else if (value->type.kind == TR_KIND_STRING) {
            buf_add_text(out, pointer);
        } else {
            describe_plain(value, pointer, out);
        }
    } else {
        describe_plain(value, from[0], out);
    }
    buf_add_char(out, ';');
}

/* ---------------------------------------------------------------- trials */

struct trial {
    uint64_t seed;
    struct value params[PARAMS_MAX];
    uint32_t param_count;
    struct value result;
    bool is_void;
    bool wants_call;
    void *call;

    struct tr_param described[PARAMS_MAX + 1];
    struct tr_tool tool;
    struct buf json;

    ffi_cif cif;
    ffi_type *types[ARGUMENTS_MAX + 1];
    void *arguments[ARGUMENTS_MAX + 1]; /* where the values are stored */
    uint32_t argument_count;

    struct buf expected; /* what the function must be given */
    struct buf seen;     /* what it was given */
};

static void add_argument(struct trial *trial, ffi_type *type, void *from) {
    trial->types[trial->argument_count] = type;
    trial->arguments[trial->argument_count] = from;
    trial->argument_count++;
}

static void make_params(struct trial *trial) {
    static const char *const names[PARAMS_MAX] = {"a", "b", "c", "d", "e", "f",
                                                  "g", "h", "i", "j", "k", "l"};
    static const struct tr_type call_type = {.size = sizeof call_type, .kind = TR_KIND_CALL};
    uint32_t first = trial->wants_call ? 1 : 0;
    if (trial->wants_call) {
        trial->described[0] = (struct tr_param){.name = "call", .type = &call_type};
        trial->call = (void *)(uintptr_t)random_bits();
        add_argument(trial, &ffi_type_pointer, &trial->call);
    }
    for (uint32_t i = 0; i < trial->param_count; i++) {
        struct value *value = &trial->params[i];
        buf_printf(&trial->json, "%s\"%s\":", i == 0 ? "{" : ",", names[i]);
        make_value(value, &trial->json);
        trial->described[first + i] = (struct tr_param){.name = names[i], .type = &value->type};
        add_argument(trial, &value->ffi[0], stored(value));
        if (value->arguments == 2) {
            add_argument(trial, &value->ffi[1], &value->count);
        }
    }
    buf_add_text(&trial->json, trial->param_count == 0 ? "{}" : "}");
    trial->tool.param_count = first + trial->param_count;
}

/* The type of the result for libffi: a pair is a struct. */
static ffi_type *make_result(struct trial *trial) {
    static ffi_type *pair_elements[] = {&ffi_type_pointer, &ffi_type_uint64, NULL};
    struct buf unused = BUF_INIT;
    if (trial->is_void) {
        return &ffi_type_void;
    }
    make_value(&trial->result, &unused);
    buf_finish(&unused);
    trial->tool.result = &trial->result.type;
    if (trial->result.arguments == 2) {
        trial->result.ffi[0] = (ffi_type){.type = FFI_TYPE_STRUCT, .elements = pair_elements};
    }
    return &trial->result.ffi[0];
}

static void describe_arguments(const struct trial *trial, void *const *from, struct buf *out) {
    if (trial->wants_call) {
        buf_add(out, *from++, sizeof(void *));
    }
    for (uint32_t i = 0; i < trial->param_count; i++) {
        describe(&trial->params[i], from, out);
        from += trial->params[i].arguments;
    }
}

static void trial_init(struct trial *trial, uint64_t from) {
    *trial = (struct trial){.seed = from};
    seed = from;
    trial->param_count = random_below(PARAMS_MAX + 1);
    trial->is_void = random_below(16) == 0;
    trial->wants_call = random_below(4) == 0;
    trial->tool = (struct tr_tool){.size = sizeof trial->tool,
                                   .name = "trial",
                                   .params = trial->described,
                                   .param_size = sizeof(struct tr_param)};
    make_params(trial);
    ffi_type *result = make_result(trial);
    assert_int_equal(
            ffi_prep_cif(&trial->cif, FFI_DEFAULT_ABI, trial->argument_count, result, trial->types),
            FFI_OK);
    describe_arguments(trial, trial->arguments, &trial->expected);
}

static void trial_finish(struct trial *trial) {
    buf_finish(&trial->json);
    buf_finish(&trial->expected);
    buf_finish(&trial->seen);
}

static void fails(const struct trial *trial, const char *what) {
    fail_msg("%s: TEST_SEED=%" PRIu64 " TEST_SIGNATURES=1, %u parameters %s", what, trial->seed,
             (unsigned)trial->tool.param_count, trial->json.data);
}

/* The function of a trial. */
static void called(ffi_cif *cif, void *ret, void **arguments, void *user) {
    struct trial *trial = user;
    const struct value *result = &trial->result;
    (void)cif;
    describe_arguments(trial, arguments, &trial->seen);
    if (trial->is_void) {
        return;
    }
    if (result->scalar != NULL && !result->pointed && !is_float(&result->type)) {
        *(ffi_arg *)ret = extended(result->scalar, result->bytes);
    } else {
        memcpy(ret, stored(&trial->result), trial->cif.rtype->size);
    }
}

static bool is_equal(const struct buf *a, const struct buf *b) {
    return a->length == b->length && (a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

/* Whether the function was given what it should, and the result came back. */
static void check(struct trial *trial, const void *result, const char *what) {
    struct buf wanted = BUF_INIT;
    struct buf got = BUF_INIT;
    if (!is_equal(&trial->seen, &trial->expected)) {
        fails(trial, what);
    }
    buf_clear(&trial->seen);
    if (!trial->is_void && (trial->result.pointed || trial->result.scalar == NULL) &&
        !is_struct(&trial->result)) {
        /* A pointer, perhaps with a count, which must be this one. */
        buf_add(&wanted, stored(&trial->result), trial->cif.rtype->size);
        buf_add(&got, result, trial->cif.rtype->size);
    } else if (!trial->is_void) {
        describe_plain(&trial->result, trial->result.bytes, &wanted);
        describe_plain(&trial->result, result, &got);
    }
    if (!is_equal(&wanted, &got)) {
        fails(trial, "the result");
    }
    buf_finish(&wanted);
    buf_finish(&got);
}

/* ---------------------------------------------------------------- registers */

struct registers {
    uint64_t words[WORDS + 1];
    double vectors[VECTORS];
};

static struct registers held; /* by a call of hold_registers() */

#if WORDS == 6
#define WORD_PARAMETERS uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f
#define WORD_ARGUMENTS  a, b, c, d, e, f
#elif WORDS == 8
#define WORD_PARAMETERS \
    uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h
#define WORD_ARGUMENTS a, b, c, d, e, f, g, h
#else
#define WORD_PARAMETERS uint64_t a
#define WORD_ARGUMENTS  a
#endif

static uint64_t hold_registers(WORD_PARAMETERS, double p, double q, double r, double s, double t,
                               double u, double v, double w) {
    held = (struct registers){.words = {WORD_ARGUMENTS}, .vectors = {p, q, r, s, t, u, v, w}};
    return 0;
}

static bool is_vector(const struct value *value) {
    return !value->pointed && is_float(&value->type);
}

/* Whether the ABI passes all of it in registers; written independently of ffi/direct.c. */
static bool fits(const struct trial *trial) {
    bool by_address = !trial->is_void && is_struct(&trial->result) &&
                      IS_RETURNED_BY_ADDRESS(trial->result.type.width);
    uint32_t words = by_address + trial->wants_call;
    uint32_t vectors = 0;
    for (uint32_t i = 0; i < trial->param_count; i++) {
        vectors += is_vector(&trial->params[i]) ? 1 : 0;
        words += is_vector(&trial->params[i]) ? 0 : trial->params[i].arguments;
        if (is_struct(&trial->params[i])) {
            return false;
        }
    }
    return (trial->is_void || !is_struct(&trial->result) || by_address) && words <= WORDS &&
           vectors <= VECTORS;
}

/* Each number must be in its register: an integer extended, so that a function compiled by any
 * compiler finds what the ABI promises, a float in the low half. */
static void check_registers(const struct trial *trial) {
    uint32_t word = trial->wants_call ? 1 : 0;
    uint32_t vector = 0;
    for (uint32_t i = 0; i < trial->param_count; i++) {
        const struct value *value = &trial->params[i];
        if (is_vector(value)) {
            if (memcmp(&held.vectors[vector++], value->bytes, value->scalar->ffi->size) != 0) {
                fails(trial, "a vector register");
            }
            continue;
        }
        if (value->scalar != NULL && !value->pointed &&
            held.words[word] != extended(value->scalar, value->bytes)) {
            fails(trial, "a general register");
        }
        word += value->arguments;
    }
}

/* ---------------------------------------------------------------- tests */

static void run_by_signature(struct trial *trial, void (*function)(void)) {
    struct signature *signature = NULL;
    struct toolrack_error err;
    struct arena arena;
    struct frame frame;
    yyjson_val *values[PARAMS_MAX];
    char memory[2048];
    yyjson_doc *doc = yyjson_read(trial->json.data, trial->json.length, 0);
    assert_non_null(doc);
    for (uint32_t i = 0; i < trial->param_count; i++) {
        values[i] = yyjson_obj_get(yyjson_doc_get_root(doc),
                                   trial->described[i + (trial->wants_call ? 1 : 0)].name);
    }
    arena_init(&arena, memory, sizeof memory);
    if (signature_create(&trial->tool, &signature, &err) < 0 ||
        signature_bind(signature, values, &arena, &frame, &err) < 0) {
        fails(trial, err.message);
    }
    unsigned long before = libffi_calls;
    signature_invoke(signature, function, trial->call, &frame);
    if ((libffi_calls == before) != fits(trial)) {
        fails(trial, fits(trial) ? "called by libffi" : "called directly");
    }
    check(trial, frame.result, "by the signature");
    if (fits(trial) && (trial->is_void || !is_struct(&trial->result))) {
        signature_invoke(signature, (void (*)(void))hold_registers, trial->call, &frame);
        check_registers(trial);
    }
    arena_finish(&arena);
    signature_destroy(signature);
    yyjson_doc_free(doc);
}

/* libffi before 3.4.7 loses an argument beside such a struct; see ffi/split.h. */
static bool has_wide_struct(const struct trial *trial) {
    for (uint32_t i = 0; i < trial->param_count; i++) {
        if (is_struct(&trial->params[i]) && trial->params[i].type.width > 8) {
            return true;
        }
    }
    return false;
}

static void run_by_libffi(struct trial *trial, void (*function)(void)) {
    _Alignas(8) unsigned char result[VALUE_MAX];
    __real_ffi_call(&trial->cif, function, result, trial->arguments);
    check(trial, result, "by libffi");
}

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void every_signature_is_called_as_by_libffi(void **state) {
    (void)state;
    uint64_t count = setting("TEST_SIGNATURES", test_rounds(100000, 20000));
    uint64_t from = setting("TEST_SEED", 1);
    uint64_t direct = 0;
    void *function = NULL;
    ffi_closure *closure = ffi_closure_alloc(sizeof *closure, &function);
    assert_non_null(closure);
    for (uint64_t i = 0; i < count; i++) {
        struct trial trial;
        trial_init(&trial, from + i);
        direct += fits(&trial) ? 1 : 0;
        assert_int_equal(ffi_prep_closure_loc(closure, &trial.cif, called, &trial, function),
                         FFI_OK);
        run_by_signature(&trial, FFI_FN(function));
        if (!has_wide_struct(&trial)) {
            run_by_libffi(&trial, FFI_FN(function));
        }
        trial_finish(&trial);
    }
    ffi_closure_free(closure);
    print_message("# %" PRIu64 " of %" PRIu64 " signatures called directly\n", direct, count);
    assert_true(count < 1000 || WORDS == 0 || (direct > count / 4 && direct < count));
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(every_signature_is_called_as_by_libffi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
