/* check as authors and their CI use it: planted faults, bundled plugins, explanations, what is
 * accepted, folders, SARIF, and plugins for another processor. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "e2e.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

#define BARE(...) RUN_WITH({.bare = true}, __VA_ARGS__)

static const char *from(const char *variable, const char *name) {
    static char paths[4][4096];
    static unsigned at;
    char *path = paths[at++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", getenv(variable), name);
    return path;
}

static const char *planted(const char *name) {
    return from("E2E_PLANTED", name);
}

/* The output of a run, which is JSON; its exit code is `exit`. */
static yyjson_doc *read_json(struct run run, int exit) {
    assert_int_equal(run.exit, exit);
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    assert_non_null(doc);
    run_finish(&run);
    return doc;
}

/* ---------------------------------------------------------------------- faults */

/* The rule that a file is named after: without ".so" and the number of a second such file. */
static void rule_of(const char *name, char ret[64]) {
    (void)snprintf(ret, 64, "%.*s", (int)(strlen(name) - strlen(".so")), name);
    char *last = strrchr(ret, '-');
    if (last != NULL && strcmp(last, "-2") == 0) {
        *last = '\0';
    }
}

static void expect_only(const char *file, const char *rule) {
    struct run run = BARE("check", planted(file), "--json");
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    yyjson_val *findings = yyjson_doc_ptr_get(doc, "/0/findings");
    size_t at;
    size_t count;
    yyjson_val *finding;
    bool is_note = true;
    yyjson_arr_foreach (findings, at, count, finding) {
        const char *found = yyjson_get_str(yyjson_obj_get(finding, "rule"));
        if (found == NULL || strcmp(found, rule) != 0) {
            fail_msg("%s: %s", file, run.out);
        }
        is_note = yyjson_equals_str(yyjson_obj_get(finding, "severity"), "note");
    }
    bool is_sound = strcmp(rule, "none") == 0;
    if (is_sound ? count != 0 : count != 1) {
        fail_msg("%s: %zu findings: %s", file, count, run.out);
    }
    assert_int_equal(run.exit, is_note ? 0 : 1);
    run_finish(&run);
}

static void each_fault_is_found_by_its_rule_and_no_other(void **state) {
    (void)state;
    DIR *folder = opendir(getenv("E2E_PLANTED"));
    unsigned count = 0;
    struct dirent *entry;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);
        char rule[64];
        if (length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0) {
            rule_of(entry->d_name, rule);
            expect_only(entry->d_name, rule);
            count++;
        }
    }
    assert_int_equal(closedir(folder), 0);
    assert_int_equal(count, atoi(getenv("E2E_PLANTED_COUNT")));
}

/* Where the machine's C library is new, so is what they need of it. */
static void the_bundled_plugins_have_no_finding(void **state) {
    (void)state;
    if (getenv("E2E_BUNDLED")[0] == '\0') {
        skip();
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc =
            read_json(BARE("check", getenv("E2E_BUNDLED"), "--json", "--level", "warning"), 0);
    size_t at;
    size_t count;
    yyjson_val *file;
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), atoi(getenv("E2E_BUNDLED_COUNT")));
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, file) {
        size_t i;
        size_t number;
        yyjson_val *finding;
        yyjson_arr_foreach (yyjson_obj_get(file, "findings"), i, number, finding) {
            if (yyjson_obj_get(finding, "accepted") == NULL) {
                assert_string_equal(yyjson_get_str(yyjson_obj_get(finding, "rule")),
                                    "elf-glibc-new");
            }
        }
    }
}

static void two_hundred_tools_take_less_than_ten_seconds(void **state) {
    (void)state;
    struct timespec begin;
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    EXPECT(BARE("check", planted("tools-many.so")), 0, "*: planted 1.0.0, 200 tools, *", "");
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 10);
}

/* ----------------------------------------------------------------------- bytes */

/* Put other bytes in place of the first `from` of a copy of a file. */
static void patch(const char *source, const char *to, const char *old, const char *bytes) {
    e2e_copy(source, to, 0);
    int fd = open(to, O_RDWR | O_CLOEXEC);
    struct stat status;
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    char *data = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(data != MAP_FAILED);
    char *at = memmem(data, (size_t)status.st_size, old, strlen(old));
    assert_non_null(at);
    memcpy(at, bytes, strlen(old));
    assert_int_equal(munmap(data, (size_t)status.st_size), 0);
    assert_int_equal(close(fd), 0);
}

static void a_c_library_that_is_too_new_is_told(void **state) {
    (void)state;
    patch(planted("import-exit.so"), "new.so", "GLIBC_2.2.5", "GLIBC_9.9\0");
    EXPECT(BARE("check", "new.so"), 1,
           "*error elf-glibc-missing: the file needs glibc 9.9, this system has *", "");
}

/* The same plugin, built for two processors: one of them is another one than this machine's. */
static void a_plugin_for_another_processor_is_read(void **state) {
    (void)state;
    const char *machines[] = {"x86-64", "AArch64"};
    unsigned foreign = 0;
    for (unsigned i = 0; i < 2; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "math-%s.so", machines[i]);
        struct run run = BARE("check", from("E2E_CHECK", name));
        assert_int_equal(run.exit, 0);
        bool is_foreign = strstr(run.out, "note elf-foreign: ") != NULL;
        char heading[64];
        (void)snprintf(heading, sizeof heading, "*: math 1.0.0, 1 tool%s%s, no problems found\n*",
                       is_foreign ? ", for " : "", is_foreign ? machines[i] : "");
        EXPECT_MATCH(run.out, heading);
        run_finish(&run);
        char machine[16];
        (void)snprintf(machine, sizeof machine, "\"%s\"", machines[i]);
        EXPECT_JSON(BARE("check", from("E2E_CHECK", name), "--json"), 0, "/0/machine", machine,
                    "/0/plugin", "\"math\"", "/0/tools", "1");
        foreign += is_foreign;
        EXPECT(RUN_WITH({.plugins = getenv("E2E_CHECK")}, "list", "--all"), 0, "*math*built for *",
               "");
    }
    assert_int_equal(foreign, 1);
}

/* What is wrong in such a file is found too. */
static void a_fault_for_another_processor_is_found(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        patch(from("E2E_CHECK", i == 0 ? "math-x86-64.so" : "math-AArch64.so"), "wrong.so",
              "Add two numbers", "Add ad ADD add!");
        EXPECT(BARE("check", "wrong.so"), 1, "*warning description-vague: add: *", "");
    }
}

/* ----------------------------------------------------------------------- words */

static void each_rule_is_explained(void **state) {
    (void)state;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_json(BARE("check", "--explain", "--json"), 0);
    size_t at;
    size_t count;
    yyjson_val *rule;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, rule) {
        static const char *const members[] = {"rule", "severity", "about", "fix"};
        for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
            assert_true(yyjson_get_len(yyjson_obj_get(rule, members[i])) > 0);
        }
        const char *about = yyjson_get_str(yyjson_obj_get(rule, "about"));
        assert_int_equal(about[strlen(about) - 1], '.');
    }
    assert_true(count > 100);
    EXPECT(BARE("check", "--explain"), 0, "RULE *SEVERITY *ABOUT\n*", "");
    EXPECT(BARE("check", "--explain", "import-exit", "elf-type"), 0,
           "import-exit (warning)\nThe file can end the process. *\n  example:\n    *\n  fix: "
           "*\n\nelf-type (error)\n*",
           "");
    EXPECT(BARE("check", "--explain", "import-exits"), 3, "",
           "toolrack: NotFound: there is no rule \"import-exits\"; did you mean "
           "\"import-exit\"?\n");
}

/* ------------------------------------------------------------------ exit codes */

static void the_level_decides_the_exit_code(void **state) {
    (void)state;
    static const struct {
        const char *file;
        int codes[3]; /* of note, warning, error */
    } rows[] = {{"none.so", {0, 0, 0}},
                {"example-missing.so", {1, 0, 0}},
                {"name-near.so", {1, 1, 0}},
                {"plugin-id.so", {1, 1, 1}}};
    static const char *const levels[] = {"note", "warning", "error"};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        for (size_t j = 0; j < ARRAY_LENGTH(levels); j++) {
            EXPECT(BARE("check", planted(rows[i].file), "--level", levels[j]), rows[i].codes[j],
                   NULL, "");
        }
        EXPECT(BARE("check", planted(rows[i].file)), rows[i].codes[1], NULL, "");
    }
    EXPECT(BARE("check", planted("none.so"), "--level", "all"), 2, "",
           "toolrack: --level takes note, warning or error, not \"all\"\n");
    EXPECT(BARE("check", planted("none.so"), "--sarif", "--json"), 2, NULL, NULL);
}

static void a_folder_is_all_its_plugins(void **state) {
    (void)state;
    assert_int_equal(mkdir("some", 0700), 0);
    e2e_copy(planted("name-near.so"), "some/b.so", 0);
    e2e_copy(planted("none.so"), "some/a.so", 0);
    e2e_copy(planted("plugin-id.so"), "some/.hidden.so", 0);
    e2e_write("some/notes.txt", "no plugin\n");
    EXPECT(BARE("check", "some"), 1,
           "some/a.so: planted 1.0.0, 1 tool, no problems found\nsome/b.so: planted 1.0.0, 2 "
           "tools\n  warning name-near: *",
           "");
    /* Of sources, what was built; `pack` takes the same. */
    assert_int_equal(mkdir("source", 0700), 0);
    assert_int_equal(mkdir("source/target", 0700), 0);
    assert_int_equal(mkdir("source/target/release", 0700), 0);
    e2e_copy(planted("none.so"), "source/target/release/c.so", 0);
    EXPECT(BARE("check", "source"), 0, "source/target/release/c.so: planted *", "");
    assert_int_equal(mkdir("source/build", 0700), 0);
    e2e_copy(planted("none.so"), "source/build/a.so", 0);
    EXPECT(BARE("check", "source"), 0,
           "source/build/a.so: planted 1.0.0, 1 tool, no problems found\n", "");
    assert_int_equal(mkdir("none", 0700), 0);
    EXPECT(BARE("check", "none", "some/a.so"), 3, "some/a.so: *",
           "toolrack: NotFound: the folder none has no plugin: no file in it ends in .so, nor in "
           "its build or target/release; build it first\n");
}

/* -------------------------------------------------------------------- accepted */

static void what_is_meant_is_accepted_with_a_reason(void **state) {
    (void)state;
    const char *file = planted("name-near.so");
    EXPECT(BARE("check", file, "--allow", "name-near=both are known"), 0,
           "*, 2 tools, 1 accepted, no problems found\n  accepted warning name-near: *\n    "
           "reason: "
           "both are known\n",
           "");
    EXPECT(BARE("check", file, "--allow", "name-near=x", "--level", "note"), 0, NULL, "");
    EXPECT_JSON(BARE("check", file, "--allow", "name-near=why", "--json"), 0,
                "/0/findings/0/accepted", "\"why\"");
    EXPECT(BARE("check", file, "--allow", "elf-exports=gone"), 1,
           "*--allow: what is accepted\n  note allow-unused: elf-exports is accepted, and nothing "
           "of it was found\n*",
           "");
    EXPECT(BARE("check", file, "--allow", "name-near"), 2, "",
           "toolrack: --allow takes RULE=REASON, *\"name-near\" has no reason\n");
    EXPECT(BARE("check", file, "--allow", "name-near= "), 2, "", "*has no reason\n");
    EXPECT(BARE("check", file, "--allow", "nothing=x"), 2, "", "*there is no rule \"nothing\"*");
    EXPECT(BARE("check", planted("plugin-id.so"), "--allow", "plugin-id=x"), 2, "",
           "*plugin-id is an error, which no reason undoes*");
}

static void a_list_beside_the_plugin_accepts(void **state) {
    (void)state;
    e2e_copy(planted("name-near.so"), "near.so", 0);
    e2e_copy(planted("param-secret.so"), "secret.so", 0);
    e2e_write("toolrack-check.json",
              "// of both\n{\"allow\": [{\"rule\": \"name-near\", \"reason\": \"known\", \"file\": "
              "\"near.so\"},\n{\"rule\": \"param-secret\", \"reason\": \"a test\", \"tool\": "
              "\"repeat\"},]}\n");
    EXPECT(BARE("check", "."), 0,
           "./near.so: *1 accepted, no problems found\n*reason: known\n./secret.so: *1 accepted, "
           "no "
           "problems found\n*reason: a test\n",
           "");
    /* Of a file that is not checked nothing is said; of one that is, what is not needed. */
    EXPECT(BARE("check", "secret.so"), 0, "secret.so: *reason: a test\n", "");
    e2e_copy(planted("none.so"), "near.so", 0);
    EXPECT(BARE("check", ".", "--level", "note"), 1,
           "*./toolrack-check.json: what is accepted\n  note allow-unused: name-near is accepted "
           "in "
           "near.so, and nothing of it was found\n*",
           "");
}

static void a_wrong_list_is_an_error(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } rows[] = {
            {"{\"allow\": [{\"rule\": \"name-near\"}]}", "*item 1 of \"allow\" has no reason*"},
            {"{\"allow\": [{\"rule\": \"name-near\", \"reason\": \"\"}]}", "*has no reason*"},
            {"{\"allow\": [{\"reason\": \"x\"}]}", "*has no rule*"},
            {"{\"allow\": [7]}", "*has no rule*"},
            {"{\"allow\": [{\"rule\": \"name-far\", \"reason\": \"x\"}]}", "*names no rule*"},
            {"{\"allow\": [{\"rule\": \"elf-type\", \"reason\": \"x\"}]}", "*is about an error*"},
            {"{\"allow\": [{\"rule\": \"name-near\", \"reason\": \"x\", \"why\": 1}]}",
             "*has the unknown member \"why\"*"},
            {"{\"allow\": {}}", "*it is not an object with the one member*"},
            {"[]", "*it is not an object with the one member*"},
            {"{\"allow\": [", "*it is not JSON: *"},
    };
    e2e_copy(planted("none.so"), "plugin.so", 0);
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        e2e_write("toolrack-check.json", rows[i].text);
        EXPECT(BARE("check", "plugin.so"), 1, rows[i].words, "");
        EXPECT_JSON(BARE("check", "plugin.so", "--json"), 1, "/0/file", "\"toolrack-check.json\"",
                    "/0/findings/0/rule", "\"allow-invalid\"");
    }
}

/* ----------------------------------------------------------------------- SARIF */

/* Let a host compare JSON with the schema of SARIF's parts: as the arguments of a tool. */
static int validate(const char *sarif) {
    size_t length = 0;
    FILE *schema = fopen(from("E2E_CHECK", "sarif.schema.json"), "re");
    char *text = NULL;
    assert_non_null(schema);
    assert_true(getdelim(&text, &length, '\0', schema) > 0);
    assert_int_equal(fclose(schema), 0);
    CLEANUP(freep) char *all = NULL;
    assert_true(asprintf(&all,
                         "{\"tools\": [{\"type\": \"function\", \"name\": \"sarif\", \"version\": "
                         "\"1.0.0\", "
                         "\"description\": \"Take a log\", \"parameters\": %s, \"implementation\": "
                         "{\"type\": \"mock\", \"mock_response\": \"valid\"}}]}",
                         text) > 0);
    free(text);
    e2e_write("host.json", all);
    struct run run = RUN_WITH(HOW(.bare = true, .input = sarif), "call", "sarif", "-", "--config",
                              "host.json", "--state", "");
    int code = run.exit;
    if (code != 0) {
        print_message("# %s\n", run.err);
    }
    run_finish(&run);
    return code;
}

static void sarif_is_as_specified(void **state) {
    (void)state;
    e2e_write("a file.json", "{\"tools\": [1],\n \"nothing\": true}\n");
    struct run run = BARE("check", planted("name-near.so"), planted("param-secret.so"), "none.so",
                          "a file.json", "--allow", "name-near=known", "--allow", "elf-audit=gone",
                          "--sarif");
    assert_int_equal(run.exit, 3);
    assert_int_equal(validate(run.out), 0);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    yyjson_val *results = yyjson_doc_ptr_get(doc, "/runs/0/results");
    yyjson_val *rules = yyjson_doc_ptr_get(doc, "/runs/0/tool/driver/rules");
    size_t at;
    size_t count;
    yyjson_val *result;
    unsigned accepted = 0;
    yyjson_arr_foreach (results, at, count, result) {
        yyjson_val *rule =
                yyjson_arr_get(rules, (size_t)yyjson_get_uint(yyjson_obj_get(result, "ruleIndex")));
        assert_string_equal(yyjson_get_str(yyjson_obj_get(rule, "id")),
                            yyjson_get_str(yyjson_obj_get(result, "ruleId")));
        accepted += yyjson_obj_get(result, "suppressions") != NULL;
    }
    assert_int_equal(accepted, 1);
    assert_true(count >= 4);
    assert_false(
            yyjson_get_bool(yyjson_doc_ptr_get(doc, "/runs/0/invocations/0/executionSuccessful")));
    assert_non_null(strstr(run.out, "\"uri\":\"a%20file.json\""));
    assert_non_null(strstr(run.out, "\"startLine\":"));
    /* The schema refuses what is none. */
    char *level = strstr(run.out, "\"level\":\"warning\"");
    assert_non_null(level);
    memcpy(level, "\"level\":\"serious\"", strlen("\"level\":\"serious\""));
    assert_int_equal(validate(run.out), 4);
    run_finish(&run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(each_fault_is_found_by_its_rule_and_no_other),
            TEST(the_bundled_plugins_have_no_finding),
            TEST(two_hundred_tools_take_less_than_ten_seconds),
            TEST(a_c_library_that_is_too_new_is_told),
            TEST(a_plugin_for_another_processor_is_read),
            TEST(a_fault_for_another_processor_is_found),
            TEST(each_rule_is_explained),
            TEST(the_level_decides_the_exit_code),
            TEST(a_folder_is_all_its_plugins),
            TEST(what_is_meant_is_accepted_with_a_reason),
            TEST(a_list_beside_the_plugin_accepts),
            TEST(a_wrong_list_is_an_error),
            TEST(sarif_is_as_specified),
    };
    return cmocka_run_group_tests_name("check-rules", tests, NULL, NULL);
}
