/* 'why' answers for everything that is listed, by any name that a person may type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "builds.h"

static void expect_unknown(struct toolrack *host, const char *name, int code) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    assert_int_equal(toolrack_why(host, name, &text, &err), code);
}

static void a_plugin_is_found_by_its_file(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "build", 1);
    builds_open(builds);
    const char *const names[] = {"build", "build@1.0.0", "test.build", "build.so", builds->file};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        builds_expect_why(builds->host, names[i], "/plugin", "\"test.build\"");
    }
    expect_unknown(builds->host, "test.buil", TOOLRACK_E_NOT_FOUND);
    expect_unknown(builds->host, "other.so", TOOLRACK_E_NOT_FOUND);
}

static void what_is_refused_is_explained(void **state) {
    struct builds *builds = *state;
    builds_configure(builds,
                     "{\"tools\": [{\"type\": \"function\", \"name\": \"waits\", \"description\": "
                     "\"Waits\", \"parameters\": {\"type\": \"object\"}, "
                     "\"implementation\": {\"type\": \"internal\", \"handler\": \"absent\"}},"
                     "{\"type\": \"function\", \"name\": \"waits_too\", \"description\": "
                     "\"Waits\", \"parameters\": {\"type\": \"object\"}, "
                     "\"implementation\": {\"type\": \"internal\", \"handler\": \"away\"}}]}");
    builds_spoil(builds, "no plugin\n");
    builds_open(builds);
    const char *const names[] = {"build.so", builds->file};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        builds_expect_why(builds->host, names[i], "/state", "refused");
        builds_expect_why(builds->host, names[i], "/reason", "not a shared object");
        builds_expect_why(builds->host, names[i], "/version", "null");
        builds_expect_why(builds->host, names[i], "/file", builds->file);
    }
    builds_expect_why(builds->host, "waits", "/reason", "absent");
    builds_expect_why(builds->host, "waits", "/state", "refused");
    yyjson_doc *doc = builds_why(builds->host, "waits");
    assert_int_equal(yyjson_arr_size(yyjson_ptr_get(yyjson_doc_get_root(doc), "/refused")), 1);
    yyjson_doc_free(doc);
}

static void two_files_of_one_name_are_not_mixed(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err;
    char other[160];
    char file[192];
    (void)snprintf(other, sizeof other, "%s/other", builds->root);
    (void)snprintf(file, sizeof file, "%s/build.so", other);
    assert_int_equal(mkdir(other, 0700), 0);
    builds_spoil(builds, "");
    assert_int_equal(rename(builds->file, file), 0);
    builds_spoil(builds, "no plugin\n");
    const char *const dirs[] = {builds->plugins, other, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = builds->state;
    options.plugin_dirs = dirs;
    assert_int_equal(toolrack_open(&options, &builds->host, &err), 0);
    expect_unknown(builds->host, "build.so", TOOLRACK_E_INVALID);
    builds_expect_why(builds->host, file, "/file", file);
    builds_expect_why(builds->host, builds->file, "/file", builds->file);
    yyjson_doc *doc = builds_why(builds->host, file);
    assert_int_equal(yyjson_arr_size(yyjson_ptr_get(yyjson_doc_get_root(doc), "/refused")), 1);
    yyjson_doc_free(doc);
}

static void what_happened_is_told_in_order(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_put(builds, "build", BUILD_EXAMPLE_CRASHES);
    builds_open(builds);
    builds_expect(builds->host, "build", BUILD_EXAMPLE_CRASHES);
    assert_int_equal(builds_call(builds->host, "sane", &err), TOOLRACK_E_EXECUTION_FAILED);
    builds_put(builds, "build-2", 2);
    builds_reload(builds->host, NULL, "reloaded");
    assert_int_equal(toolrack_grant(builds->host, "build", 0, "ann", &err), 0);
    assert_int_equal(toolrack_rollback(builds->host, "build.so", NULL, &err), 0);
    yyjson_doc *doc = builds_why(builds->host, "build.so");
    yyjson_val *history = yyjson_ptr_get(yyjson_doc_get_root(doc), "/history");
    size_t at;
    size_t count;
    yyjson_val *item;
    int64_t last_ms = 0;
    unsigned contents = 0;
    unsigned crashes = 0;
    unsigned grants = 0;
    yyjson_arr_foreach (history, at, count, item) {
        const char *event = yyjson_get_str(yyjson_obj_get(item, "event"));
        int64_t time_ms = yyjson_get_sint(yyjson_obj_get(item, "time_ms"));
        assert_true(time_ms >= last_ms);
        last_ms = time_ms;
        contents += strcmp(event, "content") == 0;
        crashes += strcmp(event, "crash") == 0;
        grants += strcmp(event, "granted") == 0;
    }
    assert_int_equal(contents, 2);
    assert_int_equal(crashes, 1);
    assert_int_equal(grants, 1);
    yyjson_doc_free(doc);
    builds_expect_why(builds->host, "build.so", "/history", "a person went back from it");
}

static void expect_happened(struct builds *builds, const char *name, const char *event,
                            const char *text) {
    yyjson_doc *doc = builds_why(builds->host, name);
    size_t at;
    size_t count;
    yyjson_val *item;
    unsigned found = 0;
    yyjson_arr_foreach (yyjson_ptr_get(yyjson_doc_get_root(doc), "/history"), at, count, item) {
        const char *words = yyjson_get_str(yyjson_obj_get(item, "text"));
        found += strcmp(yyjson_get_str(yyjson_obj_get(item, "event")), event) == 0 &&
                 words != NULL && strstr(words, text) != NULL;
    }
    if (found != 1) {
        char *whole = yyjson_write(doc, 0, NULL);
        fail_msg("%s with \"%s\" is told %u times: %s", event, text, found, whole);
    }
    yyjson_doc_free(doc);
}

/* What a host did with the file, whether it saw the change or found it at its start. */
static void what_a_host_did_is_told(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "build", 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, "build-2", 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    builds_spoil(builds, "bad");
    for (int round = 0; round < 2; round++) { /* the same is told once */
        builds_reload(builds->host, "build.so", "refused");
    }
    expect_happened(builds, "build", "reloaded", "generation 2 of content ");
    expect_happened(builds, "build", "refused", "not a shared object");
    assert_int_equal(unlink(builds->file), 0);
    builds_reload(builds->host, NULL, "removed");
    builds_put(builds, "build-3", 3);
    builds_reload(builds->host, NULL, "added");
    builds_expect(builds->host, "build", 3);
    expect_happened(builds, "build", "removed", "its file is gone");
    builds_close(builds);
    assert_int_equal(unlink(builds->file), 0);
    for (int round = 0; round < 2; round++) {
        builds_open(builds);
        builds_close(builds);
    }
    builds_put(builds, "build", 1);
    builds_open(builds);
    expect_happened(builds, "build", "removed", "gone at the start");
}

/* The plugin from another folder has the id, and not what was decided about the first. */
static void decisions_about_another_origin_are_not_mixed_in(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_put(builds, "build", 1);
    builds_open(builds);
    assert_int_equal(toolrack_set_enabled(builds->host, "sane", false, NULL, &err), 0);
    yyjson_doc *doc = builds_why(builds->host, "test.build");
    char *text = yyjson_val_write(yyjson_ptr_get(yyjson_doc_get_root(doc), "/history"), 0, NULL);
    assert_non_null(strstr(text, "disabled"));
    free(text);
    yyjson_doc_free(doc);
    builds_close(builds);
    char first[sizeof builds->plugins];
    strcpy(first, builds->plugins);
    (void)snprintf(builds->plugins, sizeof builds->plugins, "%s/other", builds->root);
    assert_int_equal(rename(first, builds->plugins), 0);
    builds_open(builds);
    doc = builds_why(builds->host, "test.build");
    text = yyjson_val_write(yyjson_ptr_get(yyjson_doc_get_root(doc), "/history"), 0, NULL);
    assert_non_null(strstr(text, "moved")); /* it owns the id now */
    assert_null(strstr(text, "disabled"));
    free(text);
    yyjson_doc_free(doc);
}

static size_t count_incompatible(struct builds *builds) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err = {0};
    size_t count = 0;
    assert_int_equal(toolrack_decisions(builds->host, NULL, &text, &err), 0);
    for (const char *at = toolrack_text_data(text, NULL);
         (at = strstr(at, "\"incompatible\"")) != NULL; at++) {
        count++;
    }
    toolrack_text_unref(text);
    return count;
}

/* Once, in the host that sees the update, whether it ran or not; by any name in those that start
 * later. */
static void an_incompatible_update_is_told(void **state) {
    struct builds *builds = *state;
    for (int running = 0; running < 2; running++) {
        struct toolrack_error err = {0};
        builds_put(builds, "wants", 1);
        builds_open(builds);
        assert_int_equal(builds_call(builds->host, "look", &err), 1);
        if (running == 0) {
            builds_close(builds);
        }
        builds_put(builds, "wants-next", 2);
        if (running == 0) {
            builds_open(builds);
        } else {
            builds_reload(builds->host, NULL, "reloaded");
        }
        for (int round = 0; round < 2; round++) {
            assert_int_equal(builds_warned(builds, "is not compatible with 1.0.0"), round == 0);
            assert_int_equal(count_incompatible(builds), 1);
            builds_expect_why(builds->host, "touch", "/compatibility/older", "1.0.0");
            builds_expect_why(builds->host, "build.so", "/history", "not compatible with 1.0.0");
            builds_reopen(builds);
        }
        builds_close(builds);
        assert_int_equal(remove_tree(builds->state), 0);
    }
}

/* A file that goes back to a lower version promises nothing. */
static void a_lower_version_is_no_incompatible_update(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_put(builds, "wants-next", 1);
    builds_open(builds);
    assert_int_equal(builds_call(builds->host, "look", &err), 1);
    builds_close(builds);
    builds_put(builds, "wants", 2);
    for (int round = 0; round < 2; round++) {
        builds_open(builds);
        builds_expect_why(builds->host, "touch", "/tool_version", "1.0.0");
        assert_false(builds_warned(builds, "not compatible"));
        assert_int_equal(count_incompatible(builds), 0);
        builds_close(builds);
    }
}

static void expect_content(struct toolrack *host, const char *name, char ret[65]) {
    yyjson_doc *doc = builds_why(host, name);
    const char *digits = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "sha256"));
    (void)snprintf(ret, 65, "%s", digits != NULL ? digits : "");
    assert_int_equal(strlen(ret), 64);
    yyjson_doc_free(doc);
}

/* Before it is loaded too. */
static void a_kept_version_has_its_own_content(void **state) {
    struct builds *builds = *state;
    char first[65], second[65], is[65];
    builds_put(builds, "build", 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    expect_content(builds->host, "build", first);
    builds_put(builds, "build-2", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_content(builds->host, "build", second);
    assert_string_not_equal(first, second);
    for (int round = 0; round < 2; round++) {
        expect_content(builds->host, "build@1.0.0", is);
        assert_string_equal(is, first);
        expect_content(builds->host, "build", is);
        assert_string_equal(is, second);
        builds_reopen(builds);
    }
}

/* One line for a file that is no plugin, with what refuses it; one for each tool. */
static void what_the_scan_refuses_is_told(void **state) {
    struct builds *builds = *state;
    char file[160];
    (void)snprintf(file, sizeof file, "%s/broken.so", builds->plugins);
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    assert_true(fputs("no plugin", stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    builds_put_as(builds, "nameless", "nameless", 1);
    builds_open(builds);
    assert_true(builds_warned(builds, "broken.so is refused: "));
    assert_true(builds_warned(builds, "nameless.so: tool '"));
    assert_false(builds_warned(builds, "licence"));
    builds_expect_why(builds->host, "broken.so", "/state", "refused");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, builds_setup, builds_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_plugin_is_found_by_its_file),
            TEST(what_is_refused_is_explained),
            TEST(two_files_of_one_name_are_not_mixed),
            TEST(what_happened_is_told_in_order),
            TEST(what_a_host_did_is_told),
            TEST(decisions_about_another_origin_are_not_mixed_in),
            TEST(an_incompatible_update_is_told),
            TEST(a_lower_version_is_no_incompatible_update),
            TEST(a_kept_version_has_its_own_content),
            TEST(what_the_scan_refuses_is_told),
    };
    return cmocka_run_group_tests_name("why", tests, NULL, NULL);
}
