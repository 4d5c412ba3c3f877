/* check: each way to be wrong has its own rule, cause and fix. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "e2e.h"

static const char *good(void) {
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/old.so", e2e_plugins());
    return path;
}

static const char *broken(const char *name) {
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", e2e_broken(), name);
    return path;
}

/* The byte of an ELF header that says for which machine the file is. */
#define ELF_MACHINE_AT 18

static void make_foreign(const char *path) {
    e2e_copy(good(), path, 0);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "\x16\0", 2, ELF_MACHINE_AT), 2); /* S/390 */
    assert_int_equal(close(fd), 0);
}

static void a_good_plugin_has_nothing_to_mend(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.bare = true}, "check", good()), 0, "*/old.so: kit.old 1.0.0, 1 tool*\n", "");
    EXPECT_JSON(RUN_WITH({.bare = true}, "check", good(), "--json"), 0, "/0/file", "\"*/old.so\"",
                "/0/plugin", "\"kit.old\"", "/0/version", "\"1.0.0\"", "/0/tools", "1", "/1", "");
}

/* The first finding of severity error; the run is to fail for it. */
static yyjson_val *first_error(yyjson_doc *doc) {
    size_t i, max;
    yyjson_val *finding;
    yyjson_arr_foreach (yyjson_doc_ptr_get(doc, "/0/findings"), i, max, finding) {
        if (yyjson_equals_str(yyjson_obj_get(finding, "severity"), "error")) {
            return finding;
        }
    }
    fail_msg("no error in the findings");
    return NULL;
}

static char *first_cause(const char *file) {
    struct run run = RUN_WITH({.bare = true}, "check", file, "--json");
    assert_int_equal(run.exit, 1);
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    yyjson_val *finding = first_error(doc);
    assert_true(yyjson_get_len(yyjson_obj_get(finding, "rule")) > 0);
    assert_true(yyjson_get_len(yyjson_obj_get(finding, "fix")) > 0);
    const char *cause = yyjson_get_str(yyjson_obj_get(finding, "cause"));
    assert_non_null(cause);
    char *copy = strdup(cause);
    yyjson_doc_free(doc);
    run_finish(&run);
    return copy;
}

static void six_ways_to_be_wrong_are_six_messages(void **state) {
    (void)state;
    e2e_copy(good(), "cut.so", 900);
    e2e_write("words.so", "not a plugin at all\n");
    make_foreign("foreign.so");
    char *causes[] = {first_cause("cut.so"),
                      first_cause("words.so"),
                      first_cause("foreign.so"),
                      first_cause(broken("no-symbol.so")),
                      first_cause(broken("wrong-abi.so")),
                      first_cause(broken("bad-schema.so"))};
    size_t count = sizeof causes / sizeof causes[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(causes[i], causes[j]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        free(causes[i]);
    }
}

static void findings_are_told_with_their_fix(void **state) {
    (void)state;
    e2e_write("words.so", "not a plugin at all\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "words.so"), 1,
           "words.so: not usable\n  error *: *\n    fix: *\n", "");
    EXPECT(RUN_WITH({.bare = true}, "check", broken("bad-schema.so")), 1,
           "*/bad-schema.so: half 1.0.0, 1 tool\n*  error *: crooked: *\n    fix: *\n*", "");
    EXPECT_JSON(RUN_WITH({.bare = true}, "check", broken("bad-schema.so"), "--json"), 1, "/0/tools",
                "1", "/0/findings", "*\"severity\":\"error\",\"rule\":\"*\",\"tool\":\"crooked\"*");
}

/* C source begins with a comment, as a configuration may. */
static void a_source_is_no_configuration(void **state) {
    (void)state;
    e2e_write("hello.c", "/* Says hello. */\n// MIT\n#include <toolrack/plugin.h>\n");
    e2e_write("settings", "/* mine */\n// all\n{\"tools\": []}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "hello.c"), 1, "hello.c: not usable\n*", "");
    EXPECT(RUN_WITH({.bare = true}, "check", "settings"), 0, "settings: configuration, *", "");
    e2e_write("toolrack.json", "{\"folders\": [\"absent\"]}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 1,
           "*: the folder does not exist\n    fix: create it, or leave it out\n", "");
}

/* The flags of tools and of plugins have the same numbers. */
static void a_disabled_tool_is_noted(void **state) {
    (void)state;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/claim-off.so", getenv("E2E_BUILDS"));
    EXPECT(RUN_WITH({.bare = true}, "check", "--level", "error", path), 0,
           "*note tool-disabled: calc: the tool is disabled by its flags until an administrator "
           "enables it\n    fix: *if TR_THREAD_SAFE was meant, *\n*",
           "");
}

static void every_file_is_checked(void **state) {
    (void)state;
    e2e_write("words.so", "not a plugin at all\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "words.so", good()), 1,
           "words.so: not usable\n*/old.so: kit.old *", "");
    EXPECT(RUN_WITH({.bare = true}, "check", "none.so", good()), 3, "*/old.so: kit.old *",
           "toolrack: NotFound: *none.so*\n");
    EXPECT_JSON(RUN_WITH({.bare = true}, "check", "--json", "none.so", good()), 3, "/0/file",
                "\"none.so\"", "/0/error/type", "\"NotFound\"", "/1/plugin", "\"kit.old\"");
    EXPECT(RUN_WITH({.bare = true}, "check"), 2, "",
           "toolrack: an argument is missing; usage: toolrack check FILE|DIR ... | "
           "--explain [RULE ...]\n");
}

/* The command itself, as compilers link programs today: like a shared object. */
static void a_program_is_one_finding(void **state) {
    (void)state;
    EXPECT_JSON(RUN_WITH({.bare = true}, "check", getenv("E2E_TOOLRACK"), "--json"), 1,
                "/0/findings/0/rule", "\"elf-type\"", "/0/findings/0/cause",
                "\"the file is a program, not a shared object\"", "/0/findings/1", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_good_plugin_has_nothing_to_mend), TEST(six_ways_to_be_wrong_are_six_messages),
            TEST(findings_are_told_with_their_fix),  TEST(a_source_is_no_configuration),
            TEST(a_disabled_tool_is_noted),          TEST(every_file_is_checked),
            TEST(a_program_is_one_finding),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
