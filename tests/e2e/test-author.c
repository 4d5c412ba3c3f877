/* test, dev and call --debug: each fault is found by its rule and by no other, sound plugins have
 * no findings, and a crash or a hang of a plugin ends nothing else. */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "e2e.h"
#include "rounds.h"

/* Fewer calls than by default, so that the whole takes seconds. */
#define FEW             "--runs", "20"
#define QUICK           "--timeout", "250"
/* How long a line of `dev` is waited for, on a busy machine. */
#define DEV_PATIENCE_MS 60000

static const char *plugin(const char *folder, const char *name) {
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.so", getenv(folder), name);
    return path;
}

/* The report of a run, which is to be released. */
static yyjson_doc *report(struct run run, int exit) {
    if (run.signal != 0 || run.exit != exit) {
        fail_msg("exit %d, signal %d: %s%s", run.exit, run.signal, run.out, run.err);
    }
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    if (doc == NULL) {
        fail_msg("no JSON: %s%s", run.out, run.err);
    }
    run_finish(&run);
    return doc;
}

static yyjson_val *rule_of(yyjson_doc *doc, const char *id) {
    size_t at, count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_ptr_get(doc, "/rules"), at, count, row) {
        if (yyjson_equals_str(yyjson_obj_get(row, "rule"), id)) {
            return row;
        }
    }
    fail_msg("no rule %s", id);
    return NULL;
}

static void assert_verdict(yyjson_doc *doc, const char *rule, const char *verdict) {
    assert_string_equal(yyjson_get_str(yyjson_obj_get(rule_of(doc, rule), "verdict")), verdict);
}

/* Whether the tool's name begins with the rule, as a C function can have it. */
static bool is_named(const char *rule, const char *tool) {
    for (; *rule != '\0'; rule++, tool++) {
        if (*tool != (*rule == '-' ? '_' : *rule)) {
            return false;
        }
    }
    return *tool == '\0' || *tool == '_';
}

static void expect_own_fault(yyjson_val *row) {
    const char *rule = yyjson_get_str(yyjson_obj_get(row, "rule"));
    size_t at, count;
    yyjson_val *finding;
    size_t found = 0;
    yyjson_arr_foreach (yyjson_obj_get(row, "findings"), at, count, finding) {
        const char *tool = yyjson_get_str(yyjson_obj_get(finding, "tool"));
        if (tool == NULL || !is_named(rule, tool)) {
            fail_msg("rule %s has a finding about %s: %s", rule, tool != NULL ? tool : "the plugin",
                     yyjson_get_str(yyjson_obj_get(finding, "came")));
        }
        found++;
    }
    /* Some have a second tool, whose fault is another one. */
    size_t wanted = strcmp(rule, "idempotent") == 0 || strcmp(rule, "leak-memory") == 0 ||
                                    strcmp(rule, "leak-descriptors") == 0
                            ? 2
                            : 1;
    bool has_none = strcmp(rule, "load") == 0 || strcmp(rule, "reload") == 0 ||
                    strcmp(rule, "parallel") == 0;
    if (found != (has_none ? 0 : wanted)) {
        fail_msg("rule %s has %zu findings", rule, found);
    }
}

/* Its seed makes the same arguments, of which is left what matters. */
static void repeat_crash(yyjson_val *row) {
    yyjson_val *first = yyjson_arr_get_first(yyjson_obj_get(row, "findings"));
    const char *sent = yyjson_get_str(yyjson_obj_get(first, "sent"));
    EXPECT_MATCH(sent, "{\"n\":*}");
    EXPECT_MATCH(yyjson_get_str(yyjson_obj_get(first, "came")), "*SIGABRT*");
    EXPECT_MATCH(yyjson_get_str(yyjson_obj_get(row, "repeat")),
                 "toolrack test */faults.so --only fuzz-valid --seed 7 --runs 30 --timeout 250");
    yyjson_doc *doc =
            report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "faults"), "--json",
                            "--seed", "7", "--runs", "5", QUICK, "--only", "fuzz-valid"),
                   1);
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/rules/0/findings/0/sent")), sent);
    yyjson_doc_free(doc);
}

static void each_fault_is_found_by_its_rule_and_by_no_other(void **state) {
    (void)state;
    yyjson_doc *doc = report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "faults"),
                                      "--json", "--seed", "7", "--runs", "30", QUICK),
                             1);
    size_t at, count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_ptr_get(doc, "/rules"), at, count, row) {
        expect_own_fault(row);
    }
    assert_int_equal(yyjson_get_uint(yyjson_doc_ptr_get(doc, "/tools")), 26);
    repeat_crash(rule_of(doc, "fuzz-valid"));
    yyjson_doc_free(doc);
}

/* The decision about each call that needs consent is the host's, and a file in a folder that may be
 * written is what a call is for. */
static void what_was_allowed_is_no_leak(void **state) {
    static const struct {
        const char *plugin;
        const char *rule;
    } rows[] = {{"archive", "leak-memory"}, {"sqlite", "leak-files"}};
    (void)state;
    const char *bundled = getenv("E2E_BUNDLED");
    if (bundled == NULL || *bundled == '\0') {
        skip();
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        yyjson_doc *doc =
                report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUNDLED", rows[i].plugin),
                                "--json", "--seed", "7", QUICK, "--allow-dangerous", "--grant",
                                "read", "--grant", "write", "--only", rows[i].rule),
                       0);
        assert_verdict(doc, rows[i].rule, "passed");
        yyjson_doc_free(doc);
    }
}

/* Neither hides behind a call that takes long and ends, nor behind one that ends where it is made
 * alone; and what the lock stops is the finding of no other rule. */
static void calls_that_do_not_end_are_found(void **state) {
    (void)state;
    yyjson_doc *doc =
            report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "late"), "--json",
                            "--seed", "7", "--runs", "30", QUICK, "--only", "deadline", "--only",
                            "leak-descriptors", "--only", "leak-files"),
                   1);
    yyjson_val *deadline = rule_of(doc, "deadline");
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(deadline, "/findings/0/tool")), "at_bound");
    EXPECT_MATCH(yyjson_get_str(yyjson_ptr_get(deadline, "/findings/0/sent")),
                 "{\"n\":2147483647}");
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(deadline, "/findings/1/tool")), "lock");
    EXPECT_MATCH(yyjson_get_str(yyjson_ptr_get(deadline, "/findings/1/came")), "*such as a lock");
    assert_verdict(doc, "leak-descriptors", "passed");
    assert_verdict(doc, "leak-files", "passed");
    yyjson_doc_free(doc);
}

static void a_race_is_found(void **state) {
    (void)state;
    yyjson_doc *doc = report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "racy"),
                                      "--json", FEW, "--only", "parallel", "--only", "isolation"),
                             1);
    assert_verdict(doc, "parallel", "failed");
    assert_verdict(doc, "isolation", "passed");
    yyjson_doc_free(doc);
}

/* No result of it shows the race. */
static void a_build_with_thread_sanitizer_tells_the_race(void **state) {
    (void)state;
    yyjson_doc *doc = report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "counts"),
                                      "--json", FEW, "--only", "parallel"),
                             0);
    assert_verdict(doc, "parallel", "passed");
    yyjson_doc_free(doc);
    doc = report(
            RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "counts-tsan"), "--json", FEW),
            1);
    assert_verdict(doc, "load", "passed");
    assert_verdict(doc, "parallel", "failed");
    assert_verdict(doc, "fuzz-valid", "skipped");
    yyjson_val *findings = yyjson_obj_get(rule_of(doc, "parallel"), "findings");
    assert_int_equal(yyjson_arr_size(findings), 1);
    EXPECT_MATCH(yyjson_get_str(yyjson_obj_get(yyjson_arr_get_first(findings), "came")),
                 "data race *counts.c:* in counted\n*WARNING: ThreadSanitizer: data race*"
                 "#0 counted *Previous *#0 counted *Location is global 'calls'*");
    yyjson_doc_free(doc);
    EXPECT(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "counts-tsan"), FEW), 1,
           "*  failed   parallel *\n           came: data race *\n             WARNING: *\n"
           "           repeat: toolrack test *",
           "");
    doc = report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "counts-tsan-sound"),
                          "--json", FEW),
                 0);
    assert_verdict(doc, "parallel", "passed");
    yyjson_doc_free(doc);
}

/* Clang's library of it cannot be loaded before a program, and without any runtime nothing is
 * loaded. */
static void a_runtime_that_cannot_be_had_is_told(void **state) {
    (void)state;
    char *bytes = NULL;
    size_t length = 0;
    e2e_copy(plugin("E2E_BUILDS", "counts-tsan"), "counts.so", 0);
    FILE *file = fopen("counts.so", "re+");
    assert_non_null(file);
    bytes = malloc(1u << 20);
    assert_non_null(bytes);
    length = fread(bytes, 1, 1u << 20, file);
    char *name = memmem(bytes, length, "libtsan.so.", strlen("libtsan.so."));
    assert_non_null(name);
    name[strlen("libtsan.so.")] = 'x';
    rewind(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    free(bytes);
    EXPECT(RUN_WITH({.bare = true}, "test", "counts.so"), 1, "",
           "*was built with ThreadSanitizer, whose runtime libtsan.so.x cannot be loaded here; "
           "install it*");
    file = fopen("clang.so", "we");
    assert_non_null(file);
    assert_int_equal(fwrite("\0__tsan_init\0libclang_rt.tsan-x86_64.so", 1, 40, file), 40);
    assert_int_equal(fclose(file), 0);
    EXPECT(RUN_WITH({.bare = true}, "test", "clang.so"), 2, "",
           "*build it without -shared-libsan*");
}

/* How many processes have a text among their arguments: those of a child are its command's. */
static unsigned count_processes(const char *text) {
    DIR *folder = opendir("/proc");
    unsigned count = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300];
        char arguments[4096] = "";
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        size_t length = file != NULL ? fread(arguments, 1, sizeof arguments - 1, file) : 0;
        count += memmem(arguments, length, text, strlen(text)) != NULL;
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    (void)closedir(folder);
    return count;
}

static void a_hostile_plugin_harms_neither_the_report_nor_the_machine(void **state) {
    (void)state;
    char mark[32]; /* the seed tells this run from others that go on at the same time */
    (void)snprintf(mark, sizeof mark, "77%d", (int)getpid());
    yyjson_doc *doc =
            report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "rascal"), "--json", FEW,
                            "--seed", mark, "--only", "isolation", "--only", "leak-descriptors"),
                   0);
    assert_verdict(doc, "isolation", "passed");
    assert_verdict(doc, "leak-descriptors", "passed");
    assert_int_equal(yyjson_get_uint(yyjson_ptr_get(yyjson_doc_get_root(doc), "/tools")), 6);
    assert_int_equal(count_processes(mark), 0);
    yyjson_doc_free(doc);
}

/* The one that runs is named; how to have more of it is told. */
static void a_process_that_takes_too_much_is_ended_with_the_reason(void **state) {
    (void)state;
    char mark[32];
    (void)snprintf(mark, sizeof mark, "78%d", (int)getpid());
    yyjson_doc *doc =
            report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "swarm"), "--json",
                            "--runs", "1", "--seed", mark, "--only", "isolation"),
                   1);
    yyjson_val *finding =
            yyjson_arr_get_first(yyjson_obj_get(rule_of(doc, "isolation"), "findings"));
    assert_string_equal(yyjson_get_str(yyjson_obj_get(finding, "tool")), "swarm");
    EXPECT_MATCH(yyjson_get_str(yyjson_obj_get(finding, "came")),
                 "the process had more than 256 processes and was ended, during a call");
    yyjson_doc_free(doc);
    assert_int_equal(count_processes(mark), 0);
}

/* Its library came with it; its example holds with the setting only. */
static void a_plugin_is_tested_with_its_library_and_its_settings(void **state) {
    (void)state;
    char grant[4200];
    (void)snprintf(grant, sizeof grant, "read:%s/private", getenv("E2E_BUILDS"));
    e2e_write("settings.json", "{\"answer\": 42} // as in the configuration\n");
    yyjson_doc *doc = report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "leans"),
                                      "--json", "--grant", grant, "--settings", "settings.json",
                                      FEW, "--only", "examples", "--only", "out-of-memory"),
                             0);
    assert_verdict(doc, "out-of-memory", "warning");
    assert_verdict(doc, "examples", "passed");
    EXPECT_MATCH(yyjson_get_str(yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(
                                                       rule_of(doc, "out-of-memory"), "findings")),
                                               "came")),
                 "*signal 11*when allocation 1 of a library that it uses failed");
    EXPECT_MATCH(yyjson_get_str(yyjson_obj_get(rule_of(doc, "out-of-memory"), "repeat")),
                 "* --settings settings.json");
    yyjson_doc_free(doc);
    EXPECT(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "leans"), "--grant", grant,
                    "--settings", "{\"answer\": 41}", FEW, "--only", "examples"),
           1, "*came: \"42\" instead of 43*", "");
    EXPECT(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "leans"), "--settings", "{\"a\":"),
           2, "", "*--settings JSON: at byte *; give a JSON object*");
    EXPECT(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "leans"), "--settings", "none"), 3,
           "", "*cannot open none*");
    e2e_write("list.json", "[]");
    EXPECT(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "leans"), "--settings",
                    "list.json"),
           2, "", "*--settings list.json is no JSON object; give one, such as *");
}

static void a_plugin_that_does_not_load_has_one_finding(void **state) {
    (void)state;
    const char *const files[][2] = {{"E2E_ZOO", "zoo_open_refuses"},
                                    {"E2E_ZOO", "zoo_constructor_crashes"},
                                    {"E2E_ZOO", "zoo_missing_library"},
                                    {"E2E_BROKEN", "wrong-abi"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        yyjson_doc *doc = report(
                RUN_WITH({.bare = true}, "test", plugin(files[i][0], files[i][1]), "--json"), 1);
        assert_int_equal(yyjson_get_uint(yyjson_doc_ptr_get(doc, "/failed")), 1);
        assert_verdict(doc, "load", "failed");
        assert_verdict(doc, "fuzz-valid", "skipped");
        yyjson_doc_free(doc);
    }
}

static void what_stays_after_a_reload_is_told(void **state) {
    (void)state;
    yyjson_doc *doc = report(
            RUN_WITH({.bare = true}, "test", plugin("E2E_ZOO", "zoo_nodelete"), "--json", FEW), 0);
    assert_int_equal(yyjson_get_uint(yyjson_doc_ptr_get(doc, "/warning")), 1);
    assert_verdict(doc, "reload", "warning");
    yyjson_doc_free(doc);
    doc = report(
            RUN_WITH({.bare = true}, "test", plugin("E2E_ZOO", "zoo_close_crashes"), "--json", FEW),
            1);
    assert_int_equal(yyjson_get_uint(yyjson_doc_ptr_get(doc, "/failed")), 1);
    assert_verdict(doc, "reload", "failed");
    yyjson_doc_free(doc);
}

/* Rust's library ends the process then, which no author can change. */
static void memory_that_rust_does_not_get_is_a_warning(void **state) {
    (void)state;
    char file[PATH_MAX];
    (void)snprintf(file, sizeof file, "%s/rust/layer/rust-layer.so", getenv("E2E_BUILDS"));
    if (access(file, R_OK) != 0) {
        skip(); /* no rustc */
    }
    yyjson_doc *doc = report(
            RUN_WITH({.bare = true}, "test", file, "--json", FEW, "--only", "out-of-memory"), 0);
    assert_verdict(doc, "out-of-memory", "warning");
    yyjson_doc_free(doc);
}

/* About a second of CPU time each, whether with six runs or with twenty. */
static void the_bundled_plugins_have_no_findings(void **state) {
    (void)state;
    char pattern[PATH_MAX];
    glob_t files;
    const char *runs = test_rounds(true, false) ? "500" : "20";
    if (getenv("E2E_BUNDLED")[0] == '\0') {
        skip();
    }
    (void)snprintf(pattern, sizeof pattern, "%s/*.so", getenv("E2E_BUNDLED"));
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (strstr(files.gl_pathv[i], "/chart.so") != NULL ||
            strstr(files.gl_pathv[i], "/image.so") != NULL ||
            strstr(files.gl_pathv[i], "/json.so") != NULL) {
            continue; /* see the_slow_plugins_have_no_findings() */
        }
        yyjson_doc *doc = report(
                RUN_WITH({.bare = true}, "test", files.gl_pathv[i], "--json", "--runs", runs), 0);
        /* muparser's C interface ends the process where it gets no memory, and so do the readers of
         * documents. */
        bool warns = strstr(files.gl_pathv[i], "/calculator.so") != NULL ||
                     strstr(files.gl_pathv[i], "/document.so") != NULL;
        assert_int_equal(yyjson_get_uint(yyjson_doc_ptr_get(doc, "/warning")), warns);
        if (warns) {
            assert_verdict(doc, "out-of-memory", "warning");
        }
        assert_true(yyjson_get_uint(yyjson_doc_ptr_get(doc, "/passed")) > 17);
        yyjson_doc_free(doc);
    }
    globfree(&files);
}

/* libjq 1.6 reads its builtin functions again for each filter, and cairo makes many allocations:
 * all rules would take longer than what is waited for. Both crash where they get no memory, and so
 * does libvips, whose threads give memory back when they get to it: on a busy machine that looks
 * like a leak. */
static void the_slow_plugins_have_no_findings(void **state) {
    (void)state;
    const char *const names[] = {"chart", "image", "json"};
    if (getenv("E2E_BUNDLED")[0] == '\0') {
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (access(plugin("E2E_BUNDLED", names[i]), F_OK) < 0) {
            continue; /* of large libraries, which this build does without */
        }
        yyjson_doc *doc =
                report(RUN_WITH({.bare = true}, "test", plugin("E2E_BUNDLED", names[i]), "--json",
                                "--runs", "4", "--only", "examples", "--only", "fuzz-valid",
                                "--only", "result", "--only", "leak-threads", "--only", "reload"),
                       0);
        assert_int_equal(yyjson_get_uint(yyjson_doc_ptr_get(doc, "/warning")), 0);
        assert_int_equal(yyjson_get_uint(yyjson_doc_ptr_get(doc, "/passed")), 5);
        yyjson_doc_free(doc);
    }
}

static void tools_that_need_consent_are_not_called(void **state) {
    (void)state;
    struct run run =
            RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "claim"), "--only", "fuzz-valid");
    EXPECT_MATCH(run.out, "*not called: wipe: it *; --allow-dangerous calls it\n*");
    EXPECT_MATCH(run.out, "*(50)\n*");
    run_finish(&run);
    run = RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "claim"), "--only", "fuzz-valid",
                   "--allow-dangerous");
    EXPECT_MATCH(run.out, "*(100)\n*");
    run_finish(&run);
}

/* Together they take seven seconds. */
static void an_example_that_does_not_end_has_not_passed(void **state) {
    (void)state;
    const char *hangs = plugin("E2E_BUILDS", "worked-on-hangs");
    yyjson_doc *doc = report(RUN_WITH({.bare = true}, "test", hangs, "--json", "--only", "examples",
                                      "--timeout", "500"),
                             1);
    assert_verdict(doc, "examples", "failed");
    yyjson_doc_free(doc);
    /* Where more is looked at, by the rule that says most. */
    yyjson_doc_free(report(RUN_WITH({.bare = true}, "test", hangs, "--json", "--only", "examples",
                                    "--only", "deadline", "--only", "cancel", "--timeout", "500"),
                           1));
}

static void many_slow_calls_are_no_fault(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.bare = true}, "test", plugin("E2E_ZOO", "zoo_sleep"), "--only", "fuzz-valid",
                    "--seed", "1", "--runs", "130"),
           0, "*passed   fuzz-valid *(130)\n*", "");
}

static unsigned count_files(const char *path) {
    DIR *folder = opendir(path);
    unsigned count = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return count;
}

/* Let temporary folders be made where they can be counted. */
static void enter_temporary(void) {
    char folder[4096];
    assert_int_equal(mkdir("tmp", 0700), 0);
    assert_non_null(getcwd(folder, sizeof folder - 4));
    assert_int_equal(setenv("TMPDIR", strcat(folder, "/tmp"), 1), 0);
}

static void leave_temporary(void) {
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(count_files("tmp"), 0);
}

static void nothing_is_left_and_junit_is_xml(void **state) {
    (void)state;
    enter_temporary();
    EXPECT(RUN_WITH({.bare = true}, "test", plugin("E2E_ZOO", "zoo_abort"), "--junit", "report.xml",
                    "--only", "fuzz-valid", "--only", "cancel", QUICK, FEW),
           1, NULL, "");
    leave_temporary();
    FILE *file = fopen("report.xml", "re");
    char text[16384] = "";
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    EXPECT_MATCH(
            text,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite "
            "name=\"*/zoo_abort.so\" "
            "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\">\n*"
            "<testcase classname=\"zoo_abort\" name=\"fuzz-valid\">\n      <failure "
            "message=\"*plugin &#39;zoo_abort&#39; crashed: SIGABRT*\" type=\"fuzz-valid\">*sent: "
            "*</failure>*<skipped message=\"*</testsuites>\n");
    assert_int_equal(system("python3 -c 'import xml.dom.minidom as x; x.parse(\"report.xml\")'"),
                     0);
}

/* A `toolrack dev` that runs, and what it has printed since it was last looked at. */
struct dev {
    pid_t pid;
    int out;
    char text[16384];
    size_t length;
};

static void start_dev(struct dev *dev) {
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    dev->pid = fork();
    if (dev->pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        (void)close(fds[0]);
        (void)execl(getenv("E2E_TOOLRACK"), "toolrack", "dev", "source", "--build",
                    "echo >>../builds; echo >>Cargo.lock; cp \"$(cat which)\" plugin.so",
                    "--plugins", "plugins", "--install", (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    dev->out = fds[0];
    dev->length = 0;
}

/* Read until this was printed, and forget what is before it. */
static void await_text(struct dev *dev, const char *wanted) {
    for (;;) {
        dev->text[dev->length] = '\0';
        char *at = strstr(dev->text, wanted);
        if (at != NULL) {
            at += strlen(wanted);
            dev->length -= (size_t)(at - dev->text);
            memmove(dev->text, at, dev->length);
            return;
        }
        struct pollfd wait = {.fd = dev->out, .events = POLLIN};
        if (poll(&wait, 1, DEV_PATIENCE_MS) != 1) {
            fail_msg("\"%s\" was not printed, but: %s", wanted, dev->text);
        }
        ssize_t length =
                read(dev->out, dev->text + dev->length, sizeof dev->text - 1 - dev->length);
        if (length <= 0) {
            fail_msg("it ended without \"%s\": %s", wanted, dev->text);
        }
        dev->length += (size_t)length;
    }
}

static long count_bytes(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (long)status.st_size;
}

/* The first build leaves a process that holds its output, and names its file as a terminal would
 * obey; the second does not end when it is asked to. */
static void a_hostile_build_neither_holds_nor_paints(void **state) {
    (void)state;
    static struct dev dev;
    int fds[2];
    int status = 0;
    char line[2];
    char command[8192];
    enter_temporary();
    assert_int_equal(mkdir("source", 0700), 0);
    assert_int_equal(mkfifo("held", 0600), 0);
    assert_int_equal(mkfifo("begun", 0600), 0);
    (void)snprintf(command, sizeof command,
                   "if test -f stubborn; then trap '' TERM; echo >../begun; while :; do read x "
                   "<../held; done; fi; { read x <../held; } & cp %s \"$(printf "
                   "'x\\033[31m\\ny.so')\"",
                   plugin("E2E_BUILDS", "worked-on"));
    assert_int_equal(pipe(fds), 0);
    dev.pid = fork();
    if (dev.pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        (void)close(fds[0]);
        (void)close(fds[1]);
        (void)execl(getenv("E2E_TOOLRACK"), "toolrack", "dev", "source", "--build", command,
                    "--plugins", "plugins", "--install", (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    dev.out = fds[0];
    dev.length = 0;
    await_text(&dev, "built: source/x\\u001b[31m y.so: worked-on 1.0.0, 1 tool, 1 example\n");
    await_text(&dev, "installed: plugins/x\\u001b[31m y.so\n");
    int held = open("held", O_WRONLY | O_CLOEXEC);
    assert_true(held >= 0);
    assert_int_equal(close(held), 0); /* what the first build left has ended */
    e2e_write("source/stubborn", "");
    e2e_write("source/new.c", "");
    int begun = open("begun", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(begun, line, sizeof line), 1);
    assert_int_equal(close(begun), 0);
    assert_int_equal(kill(dev.pid, SIGINT), 0);
    assert_int_equal(waitpid(dev.pid, &status, 0), dev.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(dev.out);
    leave_temporary();
}

static void work_on(const char *build) {
    e2e_write("source/which", strcmp(build, "none") == 0 ? build : plugin("E2E_BUILDS", build));
}

static void a_change_is_built_and_its_results_compared(void **state) {
    (void)state;
    static struct dev dev;
    int status = 0;
    enter_temporary();
    assert_int_equal(mkdir("source", 0700), 0);
    assert_int_equal(mkdir("source/part", 0700), 0);
    work_on("worked-on");
    start_dev(&dev);
    await_text(&dev, "built: source/plugin.so: worked-on 1.0.0, 1 tool, 1 example\n");
    await_text(&dev, "installed: plugins/plugin.so\n");
    work_on("worked-on-next");
    await_text(&dev, "changed: answer {}: 2, was 1\n");
    await_text(&dev, "installed: plugins/plugin.so\n");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "answer"), 0, "2\n", "");
    work_on("none");
    await_text(&dev, "none");
    await_text(&dev, "build failed: echo ");
    e2e_write("source/part/new.c", "int x;\n");
    await_text(&dev, "build failed: echo ");
    work_on("worked-on");
    await_text(&dev, "changed: answer {}: 1, was 2\n");
    work_on("worked-on-crashes");
    await_text(&dev, "worked-on 1.0.0, 1 tool, 1 example\n"
                     "  failed: examples: answer {\"n\": 4321, \"text\": \"of the example\"}: ");
    /* What is no file in the plugin folder is not written through, nor replaced, nor waited for. */
    assert_int_equal(unlink("plugins/plugin.so"), 0);
    assert_int_equal(mkfifo("plugins/plugin.so", 0600), 0);
    work_on("worked-on-next");
    await_text(&dev, "not installed: plugins/plugin.so is a device, pipe or socket and no file");
    assert_int_equal(kill(dev.pid, SIGINT), 0);
    assert_int_equal(waitpid(dev.pid, &status, 0), dev.pid);
    assert_int_equal(count_bytes("builds"), 7); /* one each: what a build writes is no change */
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(dev.out);
    leave_temporary();
}

/* A debugger that says what it was asked and runs the program. */
static void make_debugger(void) {
    assert_int_equal(mkdir("bin", 0700), 0);
    e2e_write("bin/gdb",
              "#!/bin/sh\n"
              "while [ $# -gt 0 ] && [ \"$1\" != --args ]; do echo \"word $1\"; shift; done\n"
              "shift\n"
              "exec \"$@\"\n");
    assert_int_equal(chmod("bin/gdb", 0700), 0);
}

/* The worker program is not there: only a plugin in the process of the command can answer. */
static void a_call_is_debugged_in_the_process_of_the_command(void **state) {
    (void)state;
    char *path = strdup(getenv("PATH"));
    char *worker = strdup(getenv("TOOLRACK_WORKER"));
    char with[8192];
    char folder[4096];
    assert_non_null(getcwd(folder, sizeof folder));
    (void)snprintf(with, sizeof with, "%s/bin:%s", folder, path);
    make_debugger();
    assert_int_equal(mkdir("plugins", 0700), 0);
    e2e_copy(plugin("E2E_BUILDS", "worked-on"), "plugins/worked.on.so", 0);
    assert_int_equal(setenv("TOOLRACK_WORKER", "/nonexistent", 1), 0);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "answer"), 7, "", "*cannot start the worker*");
    assert_int_equal(setenv("PATH", with, 1), 0);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "--debug", "answer", "{}"), 0,
           "word -q\nword -ex\nword catch load worked\\.on\\.so\nword -ex\nword run\nword -ex\n"
           "word tbreak answer\nword -ex\nword continue\n1\n",
           "");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "--debug", "none"), 3, "", "*NotFound*none*");
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "--debug", "answer"), 1, "",
           "*--debug needs gdb, which is not installed*");
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(setenv("TOOLRACK_WORKER", worker, 1), 0);
    free(path);
    free(worker);
}

static void wrong_usage_is_told(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.bare = true}, "test"), 2, "", "*test needs the FILE of a plugin*");
    EXPECT(RUN_WITH({.bare = true}, "dev", "none"), 3, "", "*NotFound: none is no folder*");
    EXPECT(RUN_WITH({.bare = true}, "dev", "."), 2, "",
           "*say how to build it with --build COMMAND*");
    EXPECT(RUN_WITH({.bare = true}, "test", "none.so"), 3, "", "*NotFound*none.so*");
    EXPECT(RUN_WITH({.bare = true}, "test", "."), 2, "",
           "toolrack: . is a folder; name the file of one plugin, such as NAME.so\n");
    FILE *file = fopen("holes.so", "we"); /* its copy would fill the disk */
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)1 << 36), 0);
    (void)fclose(file);
    EXPECT(RUN_WITH({.bare = true}, "test", "holes.so"), 1, "", "*cannot copy holes.so*too large*");
    EXPECT(RUN_WITH({.bare = true}, "test", plugin("E2E_BUILDS", "faults"), "--only", "nonsense"),
           2, "", "*there is no rule \"nonsense\"; see the rules: toolrack test --list*");
    EXPECT(RUN_WITH({.bare = true}, "test", "--list"), 0, "load  *\nexamples *\n*out-of-memory *\n",
           "");
    EXPECT_JSON(RUN_WITH({.bare = true}, "test", "--list", "--json"), 0, "/1/rule", "\"examples\"");
}

int main(int argc, char **argv) {
    (void)argv;
#define CASE(function) cmocka_unit_test_setup_teardown(function, e2e_setup, e2e_teardown)
    const struct CMUnitTest tests[] = {
            CASE(each_fault_is_found_by_its_rule_and_by_no_other),
            CASE(calls_that_do_not_end_are_found),
            CASE(what_was_allowed_is_no_leak),
            CASE(a_race_is_found),
            CASE(a_build_with_thread_sanitizer_tells_the_race),
            CASE(a_runtime_that_cannot_be_had_is_told),
            CASE(a_hostile_plugin_harms_neither_the_report_nor_the_machine),
            CASE(a_process_that_takes_too_much_is_ended_with_the_reason),
            CASE(a_plugin_is_tested_with_its_library_and_its_settings),
            CASE(a_plugin_that_does_not_load_has_one_finding),
            CASE(what_stays_after_a_reload_is_told),
            CASE(memory_that_rust_does_not_get_is_a_warning),
            CASE(tools_that_need_consent_are_not_called),
            CASE(an_example_that_does_not_end_has_not_passed),
            CASE(many_slow_calls_are_no_fault),
            CASE(nothing_is_left_and_junit_is_xml),
            CASE(a_change_is_built_and_its_results_compared),
            CASE(a_hostile_build_neither_holds_nor_paints),
            CASE(a_call_is_debugged_in_the_process_of_the_command),
            CASE(wrong_usage_is_told),
    };
    /* A test of its own, which runs beside this one. */
    const struct CMUnitTest bundled[] = {
            CASE(the_bundled_plugins_have_no_findings),
            CASE(the_slow_plugins_have_no_findings),
    };
#undef CASE
    return argc > 1 ? cmocka_run_group_tests_name("author-bundled", bundled, NULL, NULL)
                    : cmocka_run_group_tests_name("author", tests, NULL, NULL);
}
