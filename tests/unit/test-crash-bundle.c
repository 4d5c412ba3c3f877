/* Crash bundles: each is one JSON object, whatever stands in it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "failing-malloc.h"
#include "worker/crash-bundle.h"

#include <cmocka.h>

static const char *const lines[] = {"reading \"a\"", "caf\xc3\xa9", "bytes \xff\xfe\x01 here"};

static struct crash_bundle sample(void) {
    return (struct crash_bundle){
            .plugin_id = "org.example.crash",
            .version = "1.2.3",
            .tool = "divide",
            .signal = SIGFPE,
            .exit_status = -1,
            .reason = "SIGFPE: an integer was divided by zero",
            .backtrace = "#0  divide+0x4 (crash.so)\n#1  tool+0x40 (crash.so)\n",
            .build_id = {0x00, 0x1f, 0xab},
            .build_id_length = 3,
            .generation = 7,
            .arguments_hash = "0123456789abcdef",
            .time_ms = INT64_C(1700000000123),
            .last_lines = lines,
            .last_line_count = ARRAY_LENGTH(lines),
    };
}

static yyjson_doc *written(const struct crash_bundle *bundle) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    crash_bundle_write(bundle, &out);
    assert_false(out.failed);
    assert_null(memchr(out.data, '\n', out.length));
    yyjson_doc *doc = yyjson_read(out.data, out.length, 0);
    if (doc == NULL) {
        fail_msg("this is no JSON: %s", out.data);
    }
    return doc;
}

static void doc_finish(yyjson_doc **doc) {
    yyjson_doc_free(*doc);
}

static void expect_text(const yyjson_doc *doc, const char *name, const char *text) {
    yyjson_val *value = yyjson_obj_get(doc->root, name);
    assert_non_null(value);
    if (text == NULL) {
        assert_true(yyjson_is_null(value));
    } else {
        assert_string_equal(yyjson_get_str(value), text);
    }
}

static void a_bundle_has_it_all(void **state) {
    (void)state;
    struct crash_bundle bundle = sample();
    CLEANUP(doc_finish) yyjson_doc *doc = written(&bundle);
    expect_text(doc, "plugin", bundle.plugin_id);
    expect_text(doc, "version", bundle.version);
    expect_text(doc, "tool", bundle.tool);
    expect_text(doc, "signal", "SIGFPE");
    expect_text(doc, "exit_status", NULL);
    expect_text(doc, "reason", bundle.reason);
    expect_text(doc, "backtrace", bundle.backtrace);
    expect_text(doc, "build_id", "001fab");
    expect_text(doc, "arguments_hash", bundle.arguments_hash);
    expect_text(doc, "time", "2023-11-14T22:13:20Z");
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(doc->root, "generation")), 7);
    assert_int_equal(yyjson_obj_size(doc->root), 14);
    yyjson_val *last = yyjson_obj_get(doc->root, "last_lines");
    assert_int_equal(yyjson_arr_size(last), ARRAY_LENGTH(lines));
    assert_string_equal(yyjson_get_str(yyjson_arr_get(last, 0)), lines[0]);
    assert_string_equal(yyjson_get_str(yyjson_arr_get(last, 1)), lines[1]);
    assert_string_equal(yyjson_get_str(yyjson_arr_get(last, 2)), "bytes ??  here");
}

static void what_is_not_known_is_null(void **state) {
    (void)state;
    struct crash_bundle bundle = {.plugin_id = "p", .version = "1.0.0", .exit_status = 3};
    CLEANUP(doc_finish) yyjson_doc *doc = written(&bundle);
    static const char *const unknown[] = {"tool",      "signal",   "reason",
                                          "backtrace", "build_id", "arguments_hash"};
    for (size_t i = 0; i < ARRAY_LENGTH(unknown); i++) {
        expect_text(doc, unknown[i], NULL);
    }
    assert_int_equal(yyjson_get_int(yyjson_obj_get(doc->root, "exit_status")), 3);
    expect_text(doc, "time", "1970-01-01T00:00:00Z");
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(doc->root, "last_lines")), 0);
}

static void a_worker_that_was_stopped_is_no_crash(void **state) {
    (void)state;
    struct crash_bundle bundle = sample();
    CLEANUP(doc_finish) yyjson_doc *crash = written(&bundle);
    assert_true(yyjson_is_false(yyjson_obj_get(crash->root, "stopped")));
    assert_int_equal(yyjson_get_sint(yyjson_obj_get(crash->root, "time_ms")), bundle.time_ms);
    bundle.stopped = true;
    CLEANUP(doc_finish) yyjson_doc *stop = written(&bundle);
    assert_true(yyjson_is_true(yyjson_obj_get(stop->root, "stopped")));
}

static void foreign_bytes_stay_lines(void **state) {
    (void)state;
    struct crash_bundle bundle = sample();
    bundle.backtrace = "#0  \xff\n#1  \x1b[2J\n";
    bundle.build_id_length = SIZE_MAX;
    CLEANUP(doc_finish) yyjson_doc *doc = written(&bundle);
    expect_text(doc, "backtrace", "#0  ?\n#1   [2J\n");
}

static void memory_may_run_out(void **state) {
    (void)state;
    struct crash_bundle bundle = sample();
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        failing_malloc_set(n);
        crash_bundle_write(&bundle, &out);
        failed = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(n > 1 || failed);
        assert_int_equal(out.failed, failed);
    }
}

static void a_hash_tells_arguments_apart(void **state) {
    (void)state;
    char room[CRASH_HASH_ROOM];
    /* Published values of FNV-1a. */
    assert_string_equal(crash_arguments_hash("", 0, room), "cbf29ce484222325");
    assert_string_equal(crash_arguments_hash("a", 1, room), "af63dc4c8601ec8c");
    assert_string_equal(crash_arguments_hash("foobar", 6, room), "85944171f73967e8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_bundle_has_it_all),
            cmocka_unit_test(what_is_not_known_is_null),
            cmocka_unit_test(a_worker_that_was_stopped_is_no_crash),
            cmocka_unit_test(foreign_bytes_stay_lines),
            cmocka_unit_test(memory_may_run_out),
            cmocka_unit_test(a_hash_tells_arguments_apart),
    };
    return cmocka_run_group_tests_name("crash-bundle", tests, NULL, NULL);
}
