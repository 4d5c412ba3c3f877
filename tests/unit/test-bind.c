/* Functions of libraries become definitions, and the definitions tools: those of the system and a
 * library of the tests' own, by debug information and by headers. What the tools give is what the
 * functions give. */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "bind/bind.h"
#include "rounds.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* last: it defines a macro named fail */

#define SOME(...)           \
    (const char *const[]) { \
        __VA_ARGS__, NULL   \
    }
#define LIBM             "libm.so.6"
#define LIBC             "libc.so.6"
#define LIBZ             "libz.so.1"
#define LIBSODIUM        "libsodium.so.23"
#define LIBGIT2          "libgit2.so"
#define LIBSQLITE        "libsqlite3.so.0"
#define HEADERS          "/usr/include/"
#define FUNCTIONS_WANTED 200u

/* --------------------------------------------------------------------- bind */

struct bound {
    yyjson_mut_doc *doc;
    yyjson_mut_val *tools;
    yyjson_mut_val *left_out;
    struct bind_summary summary;
};

static size_t count_of(const char *const *list) {
    size_t count = 0;
    while (list != NULL && list[count] != NULL) {
        count++;
    }
    return count;
}

static int try_bind(const char *library, const char *header, const char *const *functions,
                    const char *const *decisions, struct bound *ret, struct toolrack_error *err) {
    const struct bind_options options = {.library = library,
                                         .header = header,
                                         .patterns = functions,
                                         .pattern_count = count_of(functions),
                                         .decisions = decisions,
                                         .decision_count = count_of(decisions)};
    *err = (struct toolrack_error){0};
    ret->doc = yyjson_mut_doc_new(NULL);
    assert_non_null(ret->doc);
    return bind_library(&options, ret->doc, &ret->tools, &ret->left_out, &ret->summary, err);
}

static struct bound bound(const char *library, const char *header, const char *const *functions,
                          const char *const *decisions) {
    struct bound ret = {0};
    struct toolrack_error err;
    if (try_bind(library, header, functions, decisions, &ret, &err) < 0) {
        fail_msg("%s: %s", library, err.message);
    }
    return ret;
}

static void check_bind_fails(const char *library, const char *header, const char *const *functions,
                             const char *const *decisions, int code, const char *words) {
    struct bound ret = {0};
    struct toolrack_error err;
    assert_int_equal(try_bind(library, header, functions, decisions, &ret, &err), code);
    yyjson_mut_doc_free(ret.doc);
    if (strstr(err.message, words) == NULL) {
        fail_msg("%s: %s", library, err.message);
    }
}

/* A host whose configuration has these tools. */
static struct toolrack *open_host(struct bound *from) {
    char path[] = "/tmp/toolrack-test-XXXXXX";
    int fd = mkstemp(path);
    yyjson_mut_val *root = yyjson_mut_obj(from->doc);
    assert_true(yyjson_mut_obj_add_val(from->doc, root, "tools", from->tools));
    yyjson_mut_doc_set_root(from->doc, root);
    CLEANUP(freep) char *text = yyjson_mut_write(from->doc, 0, NULL);
    assert_true(fd >= 0 && text != NULL && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = path;
    options.state_dir = "";
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE; /* which such tools never get */
    options.worker_program = FOREIGN_WORKER;
    struct toolrack *host = NULL;
    struct toolrack_error err = {0};
    if (toolrack_open(&options, &host, &err) < 0) {
        fail_msg("%s", err.message);
    }
    (void)unlink(path);
    return host;
}

static void finish(struct bound *from, struct toolrack *host) {
    toolrack_close(host);
    yyjson_mut_doc_free(from->doc);
}

/* --------------------------------------------------------------------- call */

static struct toolrack_result *called(struct toolrack *host, const char *tool,
                                      const char *arguments) {
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    if (toolrack_call(host, tool, arguments, NULL, &result, &err) < 0) {
        fail_msg("%s %s: %s %s", tool, arguments, err.field, err.message);
    }
    return result;
}

static void check(struct toolrack *host, const char *tool, const char *arguments,
                  const char *expected) {
    struct toolrack_result *result = called(host, tool, arguments);
    if (strcmp(toolrack_result_json(result, NULL), expected) != 0) {
        fail_msg("%s %s gives %s, not %s", tool, arguments, toolrack_result_json(result, NULL),
                 expected);
    }
    toolrack_result_free(result);
}

static void check_failure(struct toolrack *host, const char *tool, const char *arguments, int code,
                          const char *words) {
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    assert_int_equal(toolrack_call(host, tool, arguments, NULL, &result, &err), code);
    if (strstr(err.message, words) == NULL) {
        fail_msg("%s %s: %s", tool, arguments, err.message);
    }
}

/* The function itself, of the library that the tool's worker opens. */
static void *function_of(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *function = handle != NULL ? dlsym(handle, name) : NULL;
    assert_non_null(function);
    return function;
}

/* --------------------------------------------------------------------- chance */

static uint64_t state_of_chance;

static uint64_t chance(void) {
    state_of_chance += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = state_of_chance;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

static uint64_t below(uint64_t bound_of) {
    return chance() % bound_of;
}

static double some_double(void) {
    static const double special[] = {
            0, -0.0, 1, -1, 0.5, 1e300, -1e300, 1e-310, 4503599627370497.5};
    if (below(4) == 0) {
        return special[below(ARRAY_LENGTH(special))];
    }
    return ldexp((double)(int64_t)chance() / 0x1p63, (int)below(40) - 20);
}

static void add_some(struct buf *out, yyjson_mut_val *type);

static void add_some_text(struct buf *out) {
    buf_add_char(out, '"');
    for (uint64_t i = below(24); i > 0; i--) {
        buf_add_char(out, (char)('a' + below(26)));
    }
    buf_add_char(out, '"');
}

static void add_some_bytes(struct buf *out, yyjson_mut_val *type) {
    unsigned char bytes[4096];
    uint64_t size = yyjson_mut_get_uint(yyjson_mut_obj_get(type, "minLength"));
    size = size > 0 && size <= sizeof bytes ? size : below(200);
    for (uint64_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)chance();
    }
    buf_add_char(out, '"');
    base64_encode(out, bytes, size);
    buf_add_char(out, '"');
}

static void add_some_number(struct buf *out, const char *kind) {
    const char *digits = kind + strcspn(kind, "0123456789");
    unsigned bits = (unsigned)atoi(digits);
    if (strncmp(kind, "float", 5) == 0) {
        double value = some_double();
        buf_add_json_double(out,
                            bits == 32 ? (double)fmodf((float)fmod(value, 1e30), 1e30f) : value);
    } else if (kind[0] == 'u') {
        buf_add_json_uint(out, chance() >> (64 - bits) >> below(bits));
    } else {
        buf_add_json_int(out, (int64_t)chance() >> (64 - bits) >> below(bits));
    }
}

static void add_some_struct(struct buf *out, yyjson_mut_val *type) {
    size_t index;
    size_t count;
    yyjson_mut_val *field;
    buf_add_char(out, '{');
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(type, "fields"), index, count, field) {
        buf_printf(out, "%s\"%s\":", index > 0 ? "," : "",
                   yyjson_mut_get_str(yyjson_mut_obj_get(field, "name")));
        add_some(out, field);
    }
    buf_add_char(out, '}');
}

/* Any value of a type of a definition. */
static void add_some(struct buf *out, yyjson_mut_val *type) {
    const char *kind = yyjson_mut_get_str(yyjson_mut_obj_get(type, "type"));
    yyjson_mut_val *choices = yyjson_mut_obj_get(type, "choices");
    if (strcmp(kind, "bool") == 0) {
        buf_add_text(out, below(2) == 0 ? "true" : "false");
    } else if (strcmp(kind, "string") == 0) {
        add_some_text(out);
    } else if (strcmp(kind, "bytes") == 0) {
        add_some_bytes(out, type);
    } else if (strcmp(kind, "struct") == 0) {
        add_some_struct(out, type);
    } else if (strcmp(kind, "enum") == 0) {
        uint64_t chosen = below(yyjson_mut_obj_size(choices));
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(choices);
        yyjson_mut_val *key = yyjson_mut_obj_iter_next(&iter);
        for (; chosen > 0; chosen--) {
            key = yyjson_mut_obj_iter_next(&iter);
        }
        buf_printf(out, "\"%s\"", yyjson_mut_get_str(key));
    } else if (strcmp(kind, "array") == 0) {
        uint64_t count = below(20);
        buf_add_char(out, '[');
        for (uint64_t i = 0; i < count; i++) {
            buf_add_text(out, i > 0 ? "," : "");
            add_some(out, yyjson_mut_obj_get(type, "items"));
        }
        buf_add_char(out, ']');
    } else {
        add_some_number(out, kind);
    }
}

/* Arguments that the tool of a definition takes. */
static void add_some_arguments(struct buf *out, yyjson_mut_val *tool) {
    size_t index;
    size_t count;
    size_t given = 0;
    yyjson_mut_val *argument;
    yyjson_mut_val *implementation = yyjson_mut_obj_get(tool, "implementation");
    buf_add_char(out, '{');
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(implementation, "arguments"), index, count,
                           argument) {
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(argument, "direction"), "out") ||
            yyjson_mut_obj_get(argument, "length_of") != NULL ||
            yyjson_mut_obj_get(argument, "value") != NULL) {
            continue;
        }
        buf_printf(out, "%s\"%s\":", given++ > 0 ? "," : "",
                   yyjson_mut_get_str(yyjson_mut_obj_get(argument, "name")));
        add_some(out, argument);
    }
    buf_add_char(out, '}');
    assert_false(out->failed);
}

/* -------------------------------------------------------------- the system's */

/* The number is the same to the last bit: JSON has the shortest digits that read back as it. */
static void check_double(struct toolrack *host, const char *tool, const char *arguments,
                         double expected) {
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    int code = toolrack_call(host, tool, arguments, NULL, &result, &err);
    if (!isfinite(expected)) {
        assert_int_equal(code, TOOLRACK_E_EXECUTION_FAILED); /* JSON has no such number */
        return;
    }
    if (code < 0) {
        fail_msg("%s %s: %s", tool, arguments, err.message);
    }
    double got = strtod(toolrack_result_json(result, NULL), NULL);
    if (memcmp(&got, &expected, sizeof got) != 0) {
        fail_msg("%s %s gives %.17g, not %.17g", tool, arguments, got, expected);
    }
    toolrack_result_free(result);
}

static void libm_by_its_debug_information(void **state) {
    (void)state;
    double (*real_pow)(double, double) = NULL;
    double (*real_sin)(double) = NULL;
    *(void **)&real_pow = function_of(LIBM, "pow");
    *(void **)&real_sin = function_of(LIBM, "sin");
    struct bound from = bound(LIBM, NULL, SOME("pow", "sin", "frexp", "remquo", "ldexp"),
                              SOME("frexp.*=out", "remquo.quo=out"));
    assert_int_equal(from.summary.bound, 5);
    assert_int_equal(from.summary.undecided, 0);
    struct toolrack *host = open_host(&from);
    check(host, "frexp", "{\"x\":10}", "{\"result\":0.625,\"eptr\":4}");
    check(host, "remquo", "{\"x\":7,\"y\":2}", "{\"result\":-1.0,\"quo\":4}");
    check(host, "ldexp", "{\"value\":0.625,\"exp\":4}", "10.0");
    state_of_chance = 17;
    for (unsigned i = 0; i < 200; i++) {
        CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
        double x = some_double();
        double y = some_double();
        buf_add_text(&arguments, "{\"x\":");
        buf_add_json_double(&arguments, x);
        buf_add_text(&arguments, ",\"y\":");
        buf_add_json_double(&arguments, y);
        buf_add_char(&arguments, '}');
        check_double(host, "pow", arguments.data, real_pow(x, y));
    }
    check_double(host, "sin", "{\"arg1\":0.5}", real_sin(0.5)); /* chosen by the loader (IFUNC) */
    finish(&from, host);
}

static void structs_of_libc(void **state) {
    (void)state;
    struct bound from = bound(LIBC, NULL, SOME("div", "ldiv"), NULL);
    struct toolrack *host = open_host(&from);
    check(host, "div", "{\"numer\":-7,\"denom\":2}", "{\"quot\":-3,\"rem\":-1}");
    check(host, "ldiv", "{\"numer\":9000000000,\"denom\":7}", "{\"quot\":1285714285,\"rem\":5}");
    check_failure(host, "div", "{\"numer\":1,\"denom\":0}", TOOLRACK_E_EXECUTION_FAILED, "SIGFPE");
    finish(&from, host);
}

static void zlib_by_its_header(void **state) {
    (void)state;
    int (*real_compress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
    unsigned long (*real_crc32)(unsigned long, const unsigned char *, unsigned);
    *(void **)&real_compress = function_of(LIBZ, "compress");
    *(void **)&real_crc32 = function_of(LIBZ, "crc32");
    struct bound from =
            bound(LIBZ, HEADERS "zlib.h",
                  SOME("crc32", "adler32", "compress", "uncompress", "compressBound"), NULL);
    assert_int_equal(from.summary.bound, 5);
    assert_int_equal(from.summary.undecided, 0);
    struct toolrack *host = open_host(&from);
    state_of_chance = 18;
    for (unsigned i = 0; i < 20; i++) {
        unsigned char source[2000];
        unsigned char packed[4000];
        unsigned long packed_size = sizeof packed;
        unsigned size = (unsigned)below(sizeof source);
        for (unsigned k = 0; k < size; k++) {
            source[k] = (unsigned char)(chance() & 7);
        }
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
        CLEANUP(buf_finish) struct buf expected = BUF_INIT;
        base64_encode(&text, source, size);
        buf_printf(&arguments, "{\"source\":\"%s\"}", size > 0 ? text.data : "");
        assert_int_equal(real_compress(packed, &packed_size, source, size), 0);
        buf_add_char(&expected, '"');
        base64_encode(&expected, packed, packed_size);
        buf_add_char(&expected, '"');
        check(host, "compress", arguments.data, expected.data);
        buf_clear(&arguments);
        buf_printf(&arguments, "{\"source\":%s}", expected.data);
        buf_clear(&expected);
        buf_printf(&expected, "\"%s\"", size > 0 ? text.data : "");
        check(host, "uncompress", arguments.data, expected.data);
        buf_clear(&arguments);
        buf_clear(&expected);
        buf_printf(&arguments, "{\"crc\":%u,\"buf\":\"%s\"}", i, size > 0 ? text.data : "");
        buf_add_json_uint(&expected, real_crc32(i, source, size));
        check(host, "crc32", arguments.data, expected.data);
    }
    check_failure(host, "compress", "{\"source\":\"aGVsbG8=\",\"dest_room\":3}",
                  TOOLRACK_E_EXECUTION_FAILED, "compress failed: it returned -5, buffer error");
    check_failure(host, "uncompress", "{\"source\":\"aGVsbG8=\"}", TOOLRACK_E_EXECUTION_FAILED,
                  "uncompress failed: it returned -3, data error");
    check_failure(host, "compress", "{\"source\":\"aGVsbG8=\",\"dest_room\":0}",
                  TOOLRACK_E_INVALID_ARGUMENTS, "1");
    finish(&from, host);
}

static void sodium_and_sqlite_by_their_headers(void **state) {
    (void)state;
    struct bound from = bound(
            LIBSODIUM, HEADERS "sodium.h", SOME("crypto_hash_sha256", "sodium_bin2hex"),
            SOME("*.out=out:32", "crypto_*.error=nonzero", "*.hex=out_text", "*.result=hidden"));
    struct toolrack *host = open_host(&from);
    check(host, "crypto_hash_sha256", "{\"in\":\"\"}",
          "\"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\"");
    check(host, "sodium_bin2hex", "{\"bin\":\"AAH/\"}", "\"0001ff\"");
    finish(&from, host);
    from = bound(LIBSQLITE, HEADERS "sqlite3.h",
                 SOME("sqlite3_complete", "sqlite3_strglob", "sqlite3_errstr", "sqlite3_stricmp"),
                 NULL);
    assert_int_equal(from.summary.undecided, 0);
    host = open_host(&from);
    check(host, "sqlite3_complete", "{\"sql\":\"SELECT 1;\"}", "1");
    check(host, "sqlite3_complete", "{\"sql\":\"SELECT 1\"}", "0");
    check(host, "sqlite3_strglob", "{\"zGlob\":\"a*\",\"zStr\":\"abc\"}", "0");
    check(host, "sqlite3_errstr", "{\"arg1\":13}", "\"database or disk is full\"");
    check(host, "sqlite3_stricmp", "{\"arg1\":\"AbC\",\"arg2\":\"aBc\"}", "0");
    finish(&from, host);
}

static void libgit2_by_its_header(void **state) {
    (void)state;
    int major = 0;
    int minor = 0;
    int revision = 0;
    int (*real_version)(int *, int *, int *) = NULL;
    *(void **)&real_version = function_of(LIBGIT2, "git_libgit2_version");
    (void)real_version(&major, &minor, &revision);
    struct bound from =
            bound(LIBGIT2, HEADERS "git2.h", SOME("git_libgit2_version", "git_oid_fromstr"),
                  SOME("git_libgit2_version.*=out", "*.error=negative", "*.out=out"));
    struct toolrack *host = open_host(&from);
    CLEANUP(buf_finish) struct buf expected = BUF_INIT;
    buf_printf(&expected, "{\"result\":0,\"major\":%d,\"minor\":%d,\"rev\":%d}", major, minor,
               revision);
    check(host, "git_libgit2_version", "{}", expected.data);
    /* An id is a struct of bytes. */
    check(host, "git_oid_fromstr", "{\"str\":\"0123456789abcdef0123456789abcdef01234567\"}",
          "{\"result\":0,\"out\":\"ASNFZ4mrze8BI0VniavN7wEjRWc=\"}");
    finish(&from, host);
}

/* ------------------------------------------------------------- the tests' own */

#define OWN_DECISIONS                                                                        \
    SOME("own_segment.segment=out", "own_make_id.id=out", "own_move.segment=inout",          \
         "own_divide.rest=out", "own_divide.error=never", "own_join.result=own_free",        \
         "own_fill.out=out", "own_fibonacci.error=nonzero", "own_capitals.out=out_counted",  \
         "own_capitals.error=minus_one", "own_say.text=out_text", "own_say.error=nonzero",   \
         "own_overrun.out=out", "own_sixteen.key=in:16", "own_sixteen.error=never",          \
         "own_open.result=hidden", "own_first.ignored=null", "own_close.handle=null",        \
         "own_each.call=null", "own_check.message=own_status_text", "own_state.error=never", \
         "own_append.out_size=length_of_out", "own_append.out=out_counted_by_out_pos",       \
         "own_append.out_pos=out", "own_append.error=nonzero")

static void check_own(struct toolrack *host) {
    check(host, "own_i8", "{\"a\":-128}", "127");
    check(host, "own_i16", "{\"a\":-32768}", "32767");
    check(host, "own_i32", "{\"a\":-2147483648}", "2147483647");
    check(host, "own_i64", "{\"a\":-9223372036854775808}", "9223372036854775807");
    check(host, "own_u8", "{\"a\":0}", "255");
    check(host, "own_u16", "{\"a\":0}", "65535");
    check(host, "own_u32", "{\"a\":0}", "4294967295");
    check(host, "own_u64", "{\"a\":0}", "18446744073709551615");
    check(host, "own_f32", "{\"a\":0.1}", "-0.1");
    check(host, "own_f64", "{\"a\":0.1}", "-0.1");
    check(host, "own_bool", "{\"a\":false}", "true");
    check(host, "own_colour", "{\"colour\":\"GREEN\"}", "\"BLUE\"");
    check(host, "own_wide", "{\"wide\":\"NONE\"}", "-1");
    check(host, "own_wide", "{\"wide\":\"BYTE\"}", "200");
    check(host, "own_wide", "{\"wide\":\"WORD\"}", "40000");
    check(host, "own_narrow", "{\"number\":200}", "\"BYTE\"");
    check(host, "own_narrow", "{\"number\":40000}", "\"WORD\"");
    check(host, "own_most", "{\"wide\":\"ZERO\"}", "\"MOST\"");
    check(host, "own_most", "{\"wide\":\"MOST\"}", "\"ZERO\"");
    check(host, "own_mirror", "{\"point\":{\"x\":1.5,\"y\":2}}", "{\"x\":2.0,\"y\":1.5}");
    check(host, "own_segment", "{\"from\":{\"x\":1,\"y\":2},\"to\":{\"x\":3,\"y\":4}}",
          "{\"from\":{\"x\":1.0,\"y\":2.0},\"to\":{\"x\":3.0,\"y\":4.0},\"colour\":\"BLUE\","
          "\"weights_0\":1,\"weights_1\":2,\"weights_2\":3,\"label\":\"segment\"}");
    check(host, "own_divide", "{\"dividend\":17,\"divisor\":5}", "{\"result\":3,\"rest\":2}");
    check(host, "own_letters", "{\"text\":\"a b c\"}", "3");
    check(host, "own_join", "{\"first\":\"air\",\"second\":\"port\"}", "\"airport\"");
    check(host, "own_sum", "{\"data\":\"AQID\"}", "6");
    check(host, "own_mean", "{\"values\":[1,2,6]}", "3.0");
    check(host, "own_total", "{\"items\":[-1,2,2147483647]}", "2147483648");
    check(host, "own_fill", "{\"byte\":65,\"out_room\":4}", "\"QUFBQQ==\"");
    check(host, "own_fibonacci", "{\"wanted\":7}", "[0,1,1,2,3,5,8]");
    check_failure(host, "own_fibonacci", "{\"wanted\":7,\"numbers_room\":6}",
                  TOOLRACK_E_EXECUTION_FAILED, "it returned 4, there is not enough of it");
    check(host, "own_say", "{\"number\":7}", "\"seven\"");
    check_failure(host, "own_say", "{\"number\":8}", TOOLRACK_E_EXECUTION_FAILED, "own_say failed");
    check(host, "own_capitals", "{\"text\":\"loud\"}", "\"TE9VRA==\"");
    check_failure(host, "own_capitals", "{\"text\":\"loud\",\"out_room\":3}",
                  TOOLRACK_E_EXECUTION_FAILED, "it returned -1, File name too long (errno 36)");
    check(host, "own_sixteen", "{\"key\":\"AAAAAAAAAAAAAAAAAAAABw==\"}", "7");
    check_failure(host, "own_sixteen", "{\"key\":\"AAAA\"}", TOOLRACK_E_INVALID_ARGUMENTS, "16");
    check(host, "own_each", "{\"count\":3}", "3");
    check(host, "own_make_id", "{\"number\":1}", "\"AQEBAQEBAQEBAQEBAQEBAQEBAQE=\"");
    check(host, "own_last_of_id", "{\"id\":\"AQEBAQEBAQEBAQEBAQEBAQEBAQI=\"}", "2");
    const char *segment = "{\"segment\":{\"from\":{\"x\":0,\"y\":0},\"to\":{\"x\":3,\"y\":4},"
                          "\"colour\":\"RED\",\"weights_0\":1,\"weights_1\":2,\"weights_2\":3,"
                          "\"label\":null}}";
    check(host, "own_square", segment, "25.0");
    check(host, "own_move",
          "{\"segment\":{\"from\":{\"x\":0,\"y\":0},\"to\":{\"x\":3,\"y\":4},\"colour\":\"RED\","
          "\"weights_0\":1,\"weights_1\":2,\"weights_2\":3},\"by\":{\"x\":1,\"y\":-1}}",
          "{\"from\":{\"x\":1.0,\"y\":-1.0},\"to\":{\"x\":4.0,\"y\":3.0},\"colour\":\"RED\","
          "\"weights_0\":1,\"weights_1\":2,\"weights_2\":3,\"label\":null}");
    check(host, "own_colour_name", "{\"number\":2}", "\"green\"");
    check(host, "own_append", "{\"text\":\"abc\"}", "{\"out\":\"YWJj\",\"out_pos\":3}");
    check_failure(host, "own_append", "{\"text\":\"abc\",\"out_room\":2}",
                  TOOLRACK_E_EXECUTION_FAILED, "own_append failed: it returned 1");
    check(host, "own_check", "{\"number\":3}", "null");
    check_failure(host, "own_check", "{\"number\":-1}", TOOLRACK_E_EXECUTION_FAILED,
                  "it returned STATUS_INVALID_NUMBER (2), a number below zero");
    check(host, "own_state", "{\"number\":1}", "\"STATE_END\"");
}

/* The implementation that a function has, as text. */
static char *implementation_of(const struct bound *from, const char *name) {
    size_t index;
    size_t count;
    yyjson_mut_val *tool;
    yyjson_mut_arr_foreach(from->tools, index, count, tool) {
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(tool, "name"), name)) {
            return yyjson_mut_val_write(yyjson_mut_obj_get(tool, "implementation"), 0, NULL);
        }
    }
    fail_msg("%s is not bound", name);
    return NULL;
}

static void check_reason(const struct bound *from, const char *name, const char *words) {
    size_t index;
    size_t count;
    yyjson_mut_val *row;
    yyjson_mut_arr_foreach(from->left_out, index, count, row) {
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(row, "name"), name)) {
            assert_non_null(strstr(yyjson_mut_get_str(yyjson_mut_obj_get(row, "reason")), words));
            return;
        }
    }
    fail_msg("%s is not left out", name);
}

static void check_reasons(const struct bound *from) {
    check_reason(from, "own_union", "union word is a union, of which nothing says what it holds");
    check_reason(from, "own_bits", "struct bits is a struct with bit-fields");
    check_reason(from, "own_packed", "or that is packed");
    check_reason(from, "own_print", "takes a variable number of arguments");
}

/* Names of codes say how a function fails, or that a person has to. */
static void codes_are_errors_by_their_names(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct bound from = bound(BIND_LIBRARY, way == 0 ? NULL : BIND_HEADER,
                                  SOME("own_check", "own_state", "own_colour", "own_open"), NULL);
        CLEANUP(freep) char *all = implementation_of(&from, "own_check");
        CLEANUP(freep) char *some = implementation_of(&from, "own_state");
        CLEANUP(freep) char *none = implementation_of(&from, "own_colour");
        assert_non_null(strstr(all, "\"error\":{\"when\":\"nonzero\""));
        assert_non_null(strstr(some, "some names of the codes that it returns are of errors"));
        assert_null(strstr(none, "\"error\""));
        assert_int_equal(from.summary.undecided, 2); /* own_state, and the handle of own_open */
        yyjson_mut_doc_free(from.doc);
    }
    check_bind_fails(BIND_LIBRARY, NULL, NULL, SOME("own_append.out_size=length_of_text_"),
                     TOOLRACK_E_INVALID, "fits no argument");
    check_bind_fails(BIND_LIBRARY, NULL, NULL, SOME("own_check.message=own_letters"),
                     TOOLRACK_E_INVALID, "cannot be decided as 'own_letters'");
    struct bound from = bound(BIND_LIBRARY, NULL, SOME("own_close", "own_each"), NULL);
    CLEANUP(freep) char *handle = implementation_of(&from, "own_close");
    CLEANUP(freep) char *call = implementation_of(&from, "own_each");
    assert_non_null(strstr(handle, "it leads to a handle"));
    assert_non_null(strstr(call, "it leads to a function"));
    yyjson_mut_doc_free(from.doc);
}

static void both_ways_say_the_same(void **state) {
    (void)state;
    static const char *const same[] = {"own_i8",     "own_u64",      "own_f32",  "own_bool",
                                       "own_colour", "own_mirror",   "own_sum",  "own_mean",
                                       "own_total",  "own_letters",  "own_join", "own_say",
                                       "own_each",   "own_capitals", "own_open", "own_square"};
    struct bound first = bound(BIND_LIBRARY, NULL, NULL, OWN_DECISIONS);
    struct bound second = bound(BIND_LIBRARY, BIND_HEADER, NULL, OWN_DECISIONS);
    for (size_t i = 0; i < ARRAY_LENGTH(same); i++) {
        CLEANUP(freep) char *one = implementation_of(&first, same[i]);
        CLEANUP(freep) char *other = implementation_of(&second, same[i]);
        /* The header has words about arguments, which debug information has not. */
        if (strstr(other, "description") == NULL) {
            assert_string_equal(one, other);
        }
    }
    assert_int_equal(first.summary.bound, second.summary.bound);
    assert_int_equal(first.summary.left_out, 4); /* ..., a union, bit-fields, a packed struct */
    assert_int_equal(second.summary.left_out, 4);
    check_reasons(&first);
    check_reasons(&second);
    yyjson_mut_doc_free(first.doc);
    yyjson_mut_doc_free(second.doc);
}

static void own_library_by_debug_information(void **state) {
    (void)state;
    struct bound from = bound(BIND_LIBRARY, NULL, NULL, OWN_DECISIONS);
    struct toolrack *host = open_host(&from);
    check_own(host);
    finish(&from, host);
}

static void own_library_by_its_header(void **state) {
    (void)state;
    struct bound from = bound(BIND_LIBRARY, BIND_HEADER, NULL, OWN_DECISIONS);
    struct toolrack *host = open_host(&from);
    check_own(host);
    CLEANUP(freep) char *colour = implementation_of(&from, "own_colour");
    assert_non_null(strstr(colour, "\"description\":\"the one before\""));
    assert_non_null(strstr(colour, "\"description\":\"the next\""));
    /* Of an array that is const each item is. */
    check(host, "own_first", "{\"key\":\"BwAAAAAAAAA=\"}", "7");
    struct toolrack_tool *tool = toolrack_get(host, "own_colour");
    assert_non_null(tool);
    assert_string_equal(toolrack_tool_description(tool),
                        "The colour that follows. C: enum colour own_colour(enum colour colour)");
    toolrack_tool_unref(tool);
    check_failure(host, "own_colour_name", "{\"number\":3}", TOOLRACK_E_EXECUTION_FAILED,
                  "own_colour_name failed: it returned NULL");
    finish(&from, host);
}

/* [out] of a comment is a decision; without it there is none. */
static void words_decide_and_people_do(void **state) {
    (void)state;
    struct bound from = bound(BIND_LIBRARY, BIND_HEADER, SOME("own_segment", "own_move"), NULL);
    assert_int_equal(from.summary.undecided, 0);
    yyjson_mut_doc_free(from.doc);
    from = bound(BIND_LIBRARY, NULL, SOME("own_segment", "own_move", "own_i8"), NULL);
    assert_int_equal(from.summary.undecided, 2);
    struct toolrack *host = open_host(&from);
    check(host, "own_i8", "{\"a\":0}", "-1");
    check_failure(host, "own_move", "{}", TOOLRACK_E_NOT_FOUND, "own_move");
    finish(&from, host);
}

/* What is inherited is there; what C++ passes by its address is left out. */
static void structs_of_cxx(void **state) {
    (void)state;
    if (BIND_CLASSES[0] == '\0') {
        skip();
    }
    struct bound from = bound(BIND_CLASSES, NULL, SOME("classes_*"), NULL);
    assert_int_equal(from.summary.bound, 5);
    assert_int_equal(from.summary.left_out, 4);
    struct toolrack *host = open_host(&from);
    check(host, "classes_sum", "{\"value\":{\"a\":1,\"b\":2,\"c\":0.5}}", "3.5");
    check(host, "classes_make", "{\"a\":1,\"b\":2,\"c\":0.5}", "{\"a\":1,\"b\":2,\"c\":0.5}");
    check(host, "classes_read", "{\"value\":{\"a\":1,\"b\":2}}", "12");
    check(host, "classes_made", "{\"value\":{\"a\":7}}", "7");
    check(host, "classes_small", "{\"value\":\"low\"}", "\"high\"");
    check(host, "classes_small", "{\"value\":\"high\"}", "\"low\"");
    finish(&from, host);
}

static void separate_debug_information_is_found(void **state) {
    (void)state;
    struct bound from =
            bound(BIND_STRIPPED, NULL, SOME("own_divide"), SOME("*.rest=out", "*.error=never"));
    struct toolrack *host = open_host(&from);
    check(host, "own_divide", "{\"dividend\":17,\"divisor\":5}", "{\"result\":3,\"rest\":2}");
    finish(&from, host);
}

static void a_wrong_definition_ends_its_worker(void **state) {
    (void)state;
    struct bound from = bound(BIND_LIBRARY, BIND_HEADER, SOME("own_overrun", "own_i8"), NULL);
    struct toolrack *host = open_host(&from);
    check_failure(host, "own_overrun", "{\"out_room\":4096}", TOOLRACK_E_EXECUTION_FAILED,
                  "its definition may state a wrong signature; see what the library says: toolrack "
                  "bind " BIND_LIBRARY);
    check(host, "own_i8", "{\"a\":0}", "-1");
    finish(&from, host);
}

static void what_cannot_be_bound_is_said(void **state) {
    (void)state;
    check_bind_fails("libnone.so.1", NULL, NULL, NULL, TOOLRACK_E_NOT_FOUND, "there is no library");
    check_bind_fails("/nowhere/lib.so", NULL, NULL, NULL, TOOLRACK_E_NOT_FOUND, "cannot open");
    check_bind_fails(BIND_HEADER, NULL, NULL, NULL, TOOLRACK_E_INVALID, "is not a shared library");
    check_bind_fails(LIBZ, NULL, NULL, NULL, TOOLRACK_E_NOT_FOUND, "has no debug information");
    check_bind_fails(LIBZ, "/nowhere/zlib.h", NULL, NULL, TOOLRACK_E_NOT_FOUND, "cannot read");
    check_bind_fails(BIND_LIBRARY, BIND_SOURCE "/tests/unit/no-header.txt", NULL, NULL,
                     TOOLRACK_E_NOT_FOUND, "cannot read");
    check_bind_fails(BIND_LIBRARY, BIND_SOURCE "/meson.build", NULL, NULL, TOOLRACK_E_INVALID,
                     "cannot be read");
    check_bind_fails(BIND_LIBRARY, NULL, SOME("theirs_*"), NULL, TOOLRACK_E_NOT_FOUND,
                     "no function of such a name");
    check_bind_fails(BIND_LIBRARY, NULL, NULL, SOME("own_divide.rest"), TOOLRACK_E_INVALID,
                     "is no decision");
    check_bind_fails(BIND_LIBRARY, NULL, NULL, SOME("own_divide.rest=away"), TOOLRACK_E_INVALID,
                     "own_divide.rest cannot be decided as 'away': choose one of out, inout");
    check_bind_fails(BIND_LIBRARY, NULL, NULL, SOME("own_divide.rests=out"), TOOLRACK_E_INVALID,
                     "fits no argument");
    check_bind_fails(BIND_LIBRARY, NULL, NULL, SOME("own_sixteen.key=out"), TOOLRACK_E_INVALID,
                     "needs how many bytes or items there is room for, as in out:32");
    check_bind_fails(BIND_LIBRARY, NULL, NULL, SOME("own_divide.rest=out:4"), TOOLRACK_E_INVALID,
                     "has a room, which 'out' does not take");
    check_bind_fails(BIND_LIBRARY, NULL, NULL, SOME("own_fill.out=out:67108865"),
                     TOOLRACK_E_INVALID, "at most 67108864");
    check_bind_fails(BIND_LIBRARY, "/dev/zero", NULL, NULL, TOOLRACK_E_NOT_FOUND, "it is no file");
}

/* ------------------------------------------------------------------- 200 of one */

/* Whether all of it is decided. */
static bool is_decided(yyjson_mut_val *tool) {
    CLEANUP(freep) char *text = yyjson_mut_val_write(tool, 0, NULL);
    return text != NULL && strstr(text, "\"decide\"") == NULL;
}

static unsigned call_all(struct toolrack *host, struct bound *from, unsigned rounds) {
    unsigned functions = 0;
    size_t index;
    size_t count;
    yyjson_mut_val *tool;
    yyjson_mut_arr_foreach(from->tools, index, count, tool) {
        const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(tool, "name"));
        if (!is_decided(tool) || (functions == FUNCTIONS_WANTED && rounds == 1)) {
            continue;
        }
        functions++;
        for (unsigned i = 0; i < rounds; i++) {
            CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
            struct toolrack_result *result = NULL;
            struct toolrack_error err = {0};
            add_some_arguments(&arguments, tool);
            int code = toolrack_call(host, name, arguments.data, NULL, &result, &err);
            /* A crash, a result that JSON cannot say, a quarantine after three crashes. */
            if (code < 0 && code != TOOLRACK_E_EXECUTION_FAILED && code != TOOLRACK_E_TIMEOUT &&
                code != TOOLRACK_E_DISABLED && code != TOOLRACK_E_LIMIT_EXCEEDED) {
                fail_msg("%s %s: %d %s", name, arguments.data, code, err.message);
            }
            toolrack_result_free(result);
        }
    }
    return functions;
}

/* TEST_BIND_ROUNDS: more calls of each, and of two libraries (`./dev test long bind`). */
static void two_hundred_functions_leave_the_host_whole(void **state) {
    (void)state;
    const char *given = getenv("TEST_BIND_ROUNDS");
    const char *seed = getenv("TEST_SEED");
    unsigned rounds = given != NULL ? (unsigned)atoi(given) : 1;
    state_of_chance = seed != NULL ? (uint64_t)atoll(seed) : 19;
    struct bound from = bound(LIBM, NULL, NULL, NULL);
    struct toolrack *host = open_host(&from);
    assert_true(call_all(host, &from, rounds) >= FUNCTIONS_WANTED);
    check(host, "pow", "{\"x\":2,\"y\":10}", "1024.0");
    finish(&from, host);
    if (rounds > 1) { /* whose functions take keys of a length that no definition states */
        from = bound(LIBSODIUM, HEADERS "sodium.h", NULL, NULL);
        host = open_host(&from);
        assert_true(call_all(host, &from, rounds) >= FUNCTIONS_WANTED);
        check(host, "crypto_hash_bytes", "{}", "64");
        finish(&from, host);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(libm_by_its_debug_information),
            cmocka_unit_test(structs_of_libc),
            cmocka_unit_test(zlib_by_its_header),
            cmocka_unit_test(sodium_and_sqlite_by_their_headers),
            cmocka_unit_test(libgit2_by_its_header),
            cmocka_unit_test(own_library_by_debug_information),
            cmocka_unit_test(own_library_by_its_header),
            cmocka_unit_test(both_ways_say_the_same),
            cmocka_unit_test(codes_are_errors_by_their_names),
            cmocka_unit_test(words_decide_and_people_do),
            cmocka_unit_test(structs_of_cxx),
            cmocka_unit_test(separate_debug_information_is_found),
            cmocka_unit_test(a_wrong_definition_ends_its_worker),
            cmocka_unit_test(what_cannot_be_bound_is_said),
            cmocka_unit_test(two_hundred_functions_leave_the_host_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
