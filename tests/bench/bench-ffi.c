/* What a typed call costs beyond the function: bind, invoke and write against
 * the same by hand, where the conversions are known when it is compiled and
 * ffi_call() makes the call. Both start from values already parsed and
 * looked up. One line a figure: name, value, unit, notes, apart by tabs. */
#include <ffi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "ffi/signature.h"
#include "toolrack/plugin.h"

#define ROUNDS           15
#define CALLS_PER_ROUND  200000
#define PARAMS           5
#define CALL_MEMORY_SIZE 4096

/* ----------------------------------------------------------- what is called */

__attribute__((noinline)) static int64_t search(const char *path, const char *mode, int64_t limit,
                                                double ratio, bool recursive) {
    return (int64_t)path[0] + mode[0] + limit + (int64_t)ratio + recursive;
}
TR_TOOL(search, "Search a file", TR_I64, (TR_STRING, path, "where"),
        (TR_STRING, mode, "how", TR_CHOICES("literal", "regex", "glob")),
        (TR_I64, limit, "how many", TR_DEFAULT(10)), (TR_F64, ratio, "how alike", TR_DEFAULT(0)),
        (TR_BOOL, recursive, "whether below", TR_DEFAULT(false)))

static const char arguments[] = "{\"path\":\"/srv/data/projects/report-2026.txt\",\"mode\":"
                                "\"regex\",\"limit\":25,\"ratio\":0.75,\"recursive\":true}";

struct point {
    double x, y;
};
TR_DEFINE_STRUCT(point, struct point, (TR_F64, x, "abscissa"), (TR_F64, y, "ordinate"))
__attribute__((noinline)) static struct tr_array mirror(const struct point *points, size_t count) {
    return (struct tr_array){points, count};
}
TR_TOOL(mirror, "Give points back", TR_ARRAY(TR_STRUCT(point)),
        (TR_ARRAY(TR_STRUCT(point)), points, "any"))

/* ------------------------------------------------------------------- floor */

static ffi_cif floor_cif;

static void floor_prepare(void) {
    static ffi_type *types[PARAMS] = {&ffi_type_pointer, &ffi_type_pointer, &ffi_type_sint64,
                                      &ffi_type_double, &ffi_type_uint8};
    if (ffi_prep_cif(&floor_cif, FFI_DEFAULT_ABI, PARAMS, &ffi_type_sint64, types) != FFI_OK) {
        abort();
    }
}

static void floor_call(yyjson_val *const *values, struct buf *out) {
    const char *path = yyjson_get_str(values[0]);
    const char *mode = yyjson_get_str(values[1]);
    int64_t limit = values[2] != NULL ? yyjson_get_sint(values[2]) : 10;
    double ratio = values[3] != NULL ? yyjson_get_num(values[3]) : 0;
    bool recursive = values[4] != NULL && yyjson_get_bool(values[4]);
    void *places[PARAMS] = {&path, &mode, &limit, &ratio, &recursive};
    int64_t result = 0;
    ffi_call(&floor_cif, FFI_FN(search), &result, places);
    buf_clear(out);
    buf_add_json_int(out, result);
}

static void ffi_only(void *const *places) {
    int64_t result = 0;
    ffi_call(&floor_cif, FFI_FN(search), &result, (void **)(uintptr_t)places);
    __asm__ volatile("" : : "g"(result) : "memory");
}

/* -------------------------------------------------------------------- ours */

static void our_call(const struct signature *signature, void (*function)(void),
                     yyjson_val *const *values, struct buf *out) {
    char memory[CALL_MEMORY_SIZE];
    struct arena arena;
    struct frame frame;
    arena_init(&arena, memory, sizeof memory);
    buf_clear(out);
    if (signature_bind(signature, values, &arena, &frame, NULL) < 0) {
        abort();
    }
    signature_invoke(signature, function, NULL, &frame);
    if (signature_write_result(signature, &frame, &arena, 0, out, NULL) < 0) {
        abort();
    }
    arena_finish(&arena);
}

/* ----------------------------------------------------------------- measure */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over rounds of nanoseconds per `body`; the rounds of what is compared are taken in turn,
 * so that a slow moment of the machine falls on all of them. */
#define TIME(result, calls, body)                               \
    do {                                                        \
        uint64_t start_ = clock_now_ns();                       \
        for (int i_ = 0; i_ < (calls); i_++) {                  \
            body;                                               \
            __asm__ volatile("" : : : "memory");                \
        }                                                       \
        (result) = (double)(clock_now_ns() - start_) / (calls); \
    } while (0)

static double median(double *values) {
    qsort(values, ROUNDS, sizeof *values, by_size);
    return values[ROUNDS / 2];
}

static void line(const char *name, double value, const char *unit, const char *notes) {
    printf("%s\t%.2f\t%s\t%s\n", name, value, unit, notes);
}

static void bench_five_parameters(void) {
    CLEANUP(buf_finish) struct buf ours = BUF_INIT;
    CLEANUP(buf_finish) struct buf theirs = BUF_INIT;
    struct signature *signature = NULL;
    yyjson_doc *doc = yyjson_read(arguments, sizeof arguments - 1, 0);
    yyjson_val *values[PARAMS];
    double floor_ns[ROUNDS];
    double ffi_ns[ROUNDS];
    double our_ns[ROUNDS];
    if (doc == NULL || signature_create(&tr_tool_search, &signature, NULL) < 0) {
        abort();
    }
    for (int i = 0; i < PARAMS; i++) {
        values[i] = yyjson_obj_get(yyjson_doc_get_root(doc), tr_tool_search.params[i].name);
    }
    const char *word = "x";
    int64_t limit = 1;
    double ratio = 1;
    bool flag = true;
    void *const places[PARAMS] = {&word, &word, &limit, &ratio, &flag};
    for (int round = 0; round < ROUNDS; round++) {
        TIME(ffi_ns[round], CALLS_PER_ROUND, ffi_only(places));
        TIME(floor_ns[round], CALLS_PER_ROUND, floor_call(values, &theirs));
        TIME(our_ns[round], CALLS_PER_ROUND,
             our_call(signature, tr_tool_search.function, values, &ours));
    }
    if (strcmp(ours.data, theirs.data) != 0) {
        abort();
    }
    double floor = median(floor_ns);
    double our = median(our_ns);
    line("ffi.call", median(ffi_ns), "ns", "ffi_call() alone, five arguments");
    line("ffi.five.floor", floor, "ns", "conversions by hand, ffi_call(), result written");
    line("ffi.five", our, "ns", "bind, invoke, write");
    line("ffi.five.ratio", our / floor, "x", "of the floor");
    signature_destroy(signature);
    yyjson_doc_free(doc);
}

static void bench_array_of_structs(void) {
    enum { POINTS = 100, CALLS = 2000 };
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct signature *signature = NULL;
    double our_ns[ROUNDS];
    double bind_ns[ROUNDS];
    for (int i = 0; i < POINTS; i++) {
        buf_printf(&json, "%s{\"x\":%d.25,\"y\":-%d.5}", i == 0 ? "[" : ",", i, i);
    }
    buf_add_char(&json, ']');
    yyjson_doc *doc = yyjson_read(json.data, json.length, 0);
    if (doc == NULL || signature_create(&tr_tool_mirror, &signature, NULL) < 0) {
        abort();
    }
    yyjson_val *const values[] = {yyjson_doc_get_root(doc)};
    char memory[CALL_MEMORY_SIZE];
    for (int round = 0; round < ROUNDS; round++) {
        TIME(our_ns[round], CALLS, our_call(signature, tr_tool_mirror.function, values, &out));
        TIME(bind_ns[round], CALLS, {
            struct arena arena;
            struct frame frame;
            arena_init(&arena, memory, sizeof memory);
            (void)signature_bind(signature, values, &arena, &frame, NULL);
            arena_finish(&arena);
        });
    }
    line("ffi.points.bind", median(bind_ns) / POINTS, "ns", "one {x, y} of 100 in an array");
    line("ffi.points", median(our_ns) / POINTS, "ns", "the same, given back as JSON");
    signature_destroy(signature);
    yyjson_doc_free(doc);
}

int main(void) {
    floor_prepare();
    bench_five_parameters();
    bench_array_of_structs();
    return 0;
}
