/* reload, rollback, watch, safe mode: plugin files change between runs, and during one. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "build.h"
#include "e2e.h"
#include "patience.h"

extern char **environ;

/* A test that would wait for ever ends here. */
#define BLOCKED_AFTER_S 60

#define OUTPUT_MAX 16384

static int setup(void **state) {
    (void)alarm(BLOCKED_AFTER_S);
    return e2e_setup(state) | mkdir("plugins", 0700);
}

static int teardown(void **state) {
    (void)alarm(0);
    return e2e_teardown(state);
}

/* Put another of the two builds of one plugin there, as one should. */
static void put(const char *name) {
    char from[256];
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_BUILDS"), name);
    e2e_copy(from, "plugins/new", 0);
    assert_int_equal(rename("plugins/new", "plugins/build.so"), 0);
}

/* Put a build there with a fault. */
static void put_fault(const char *name, enum build_fault fault) {
    char data[1 << 20];
    put(name);
    int fd = open("plugins/build.so", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t size = read(fd, data, sizeof data);
    assert_in_range(size, 1, sizeof data - 1);
    const char *mark = memmem(data, (size_t)size, BUILD_MARK "000001", strlen(BUILD_MARK "000001"));
    assert_non_null(mark);
    char digits[BUILD_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%06u", (unsigned)fault);
    assert_int_equal(pwrite(fd, digits, BUILD_DIGITS, mark + strlen(BUILD_MARK) - data),
                     BUILD_DIGITS);
    assert_int_equal(close(fd), 0);
}

#define PLUGINS HOW(.plugins = "plugins")

/* Each command is a host of its own, that ends as soon as the call has failed. */
static void a_new_content_that_crashes_is_gone_back_from(void **state) {
    (void)state;
    put("build");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
    put_fault("build-2", BUILD_EXAMPLE_CRASHES);
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "900002\n", "");
    EXPECT(RUN_WITH(PLUGINS, "call", "sane"), 7, "", "*SIGABRT*");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "toolrack: 1 problem *");
    EXPECT(RUN_WITH(PLUGINS, "list", "--all"), 0, "*crashed within the first 60 s*", "*");
    EXPECT(RUN_WITH(PLUGINS, "why", "build"), 0,
           "*(rolled back)*rolled-back*crashed within the first 60 s*", "*");
    EXPECT(RUN_WITH(PLUGINS, "decisions"), 0, "*rolled-back*host*crashed within*", "*");
    EXPECT(RUN_WITH(PLUGINS, "reload"), 0, "*", "*");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "toolrack: 1 problem *");
    EXPECT(RUN_WITH(PLUGINS, "reload", "build.so"), 0, "*reloaded, test.build*", "*");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "900002\n", "");
}

static void a_content_is_gone_back_to(void **state) {
    (void)state;
    put("build");
    EXPECT(RUN_WITH(PLUGINS, "rollback", "build"), 3, "",
           "toolrack: NotFound: there is no earlier content of *\n");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
    put("build-other");
    EXPECT(RUN_WITH(PLUGINS, "call", "hold@2.0.0"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "rollback", "test.build"), 0,
           "*/plugins/build.so: version 1.0.0 of test.build serves (content *) in "
           "place of what the file has, until the file changes\n",
           "");
    EXPECT(RUN_WITH(PLUGINS, "call", "hold@2.0.0"), 3, "", "toolrack: NotFound: *1.0.0*\n");
    EXPECT(RUN_WITH(PLUGINS, "why", "build"), 0, "*(rolled back)\n*", "");
    EXPECT_JSON(RUN_WITH(PLUGINS, "show", "hold", "--json"), 0, "/version", "\"1.0.0\"",
                "/generation", "1", "/sha256", "\"*\"");
    put("build-tried");
    EXPECT_JSON(RUN_WITH(PLUGINS, "why", "build", "--json"), 0, "/rolled_back", "false");
    EXPECT_JSON(RUN_WITH(PLUGINS, "rollback", "nothing", "--json"), 3, "/error/type",
                "\"NotFound\"");
}

/* What was approved is the version that was gone back from. */
static void a_rollback_says_what_does_not_run(void **state) {
    (void)state;
    put("wants");
    EXPECT(RUN_WITH(PLUGINS, "call", "look"), 0, "1\n", NULL);
    put("wants-care");
    EXPECT(RUN_WITH(PLUGINS, "call", "look"), 0, "1\n", NULL);
    EXPECT(RUN_WITH(PLUGINS, "grant", "wipe"), 0, NULL, NULL);
    EXPECT(RUN_WITH(PLUGINS, "rollback", "wants"), 0,
           "*version 1.0.0 of wants serves*, until the file changes; 'wipe' is not as it was "
           "approved and does not run; approve it: toolrack *grant wipe\n",
           NULL);
    EXPECT(RUN_WITH(PLUGINS, "reload", "build.so"), 0, "*reloaded, wants*", NULL);
    EXPECT(RUN_WITH(PLUGINS, "call", "wipe"), 0, "wiped\n", NULL);
    EXPECT_JSON(RUN_WITH(PLUGINS, "rollback", "wants", "--json"), 0, "/held/0", "\"wipe\"",
                "/held/1", "");
}

/* A rollback says what serves, and never alternates. */
static void a_rollback_says_what_serves(void **state) {
    (void)state;
    put("build");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
    put("build-2");
    EXPECT(RUN_WITH(PLUGINS, "call", "build@2.0.0"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "call", "build@1.0.0"), 0, "1\n", ""); /* kept */
    e2e_write("plugins/build.so", "no plugin\n");
    EXPECT(RUN_WITH(PLUGINS, "rollback", "build.so"), 0,
           "*/build.so: version 2.0.0 of test.build *", "*");
    EXPECT_JSON(RUN_WITH(PLUGINS, "rollback", "build.so", "--json"), 0, "/rolled_back", "true",
                "/version", "\"1.0.0\"", "/plugin", "\"test.build\"", "/file", "\"*/build.so\"",
                "/sha256", "\"*\"");
    for (int round = 0; round < 2; round++) {
        EXPECT(RUN_WITH(PLUGINS, "rollback", "build.so"), 3, "",
               "toolrack: NotFound: there is no earlier content of *\n");
        EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "*");
        EXPECT(RUN_WITH(PLUGINS, "call", "build@2.0.0"), 3, "", "toolrack: NotFound: *1.0.0*");
        EXPECT(RUN_WITH(PLUGINS, "list", "--in-state", "kept"), 0, "", "*");
    }
    put("build-3"); /* the file changes: its content is used, and the good one before is kept */
    EXPECT(RUN_WITH(PLUGINS, "call", "build@3.0.0"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "call", "build@1.0.0"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "call", "build@2.0.0"), 3, "", "toolrack: NotFound: *");
}

static void the_version_before_is_kept_and_shown_so(void **state) {
    (void)state;
    put("build");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
    put("build-2");
    EXPECT(RUN_WITH(PLUGINS, "list", "build", "--in-state", "kept"), 0, "*build *1.0.0*kept*", "");
    EXPECT(RUN_WITH(PLUGINS, "show", "build@1.0.0"), 0, "*state        kept\n*", "");
    EXPECT(RUN_WITH(PLUGINS, "show", "build"), 0, "build 2.0.0\n*state        listed\n*", "");
    EXPECT(RUN_WITH(PLUGINS, "why", "build@1.0.0"), 0, "*state        kept\n*", "");
    EXPECT_JSON(RUN_WITH(PLUGINS, "show", "build@1.0.0", "--json"), 0, "/kept", "true");
    EXPECT(RUN_WITH(PLUGINS, "plugins"), 0, "*1.0.0*kept*", "");
    EXPECT(RUN_WITH(PLUGINS, "call", "build@^1"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "disable", "build@1.0.0"), 0, "*", "");
    EXPECT(RUN_WITH(PLUGINS, "show", "build@1.0.0"), 0, "*state        disabled\n*", "");
    EXPECT(RUN_WITH(PLUGINS, "default", "build", "1.0.0"), 1, "", "*kept from an earlier content*");
    assert_int_equal(unlink("plugins/build.so"), 0);
    EXPECT(RUN_WITH(PLUGINS, "call", "build@1.0.0"), 3, "", "*");
}

/* A tool that the earlier content does not have names its plugin. */
static void a_rollback_is_named_by_a_tool_that_goes(void **state) {
    (void)state;
    put("build-3"); /* without hold */
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
    put("build");
    EXPECT(RUN_WITH(PLUGINS, "call", "hold"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "rollback", "hold"), 0, "*version 3.0.0 of test.build serves *", "");
}

static void a_reload_reports_each_file(void **state) {
    (void)state;
    put("build");
    EXPECT(RUN_WITH(PLUGINS, "reload"), 0, "no plugin file has changed\n", "");
    EXPECT(RUN_WITH(PLUGINS, "reload", "build"), 0,
           "*/plugins/build.so: reloaded, test.build, generation 2; the previous generation is "
           "gone\n",
           "");
    EXPECT_JSON(RUN_WITH(PLUGINS, "reload", "test.build", "--json"), 0, "/0/outcome",
                "\"reloaded\"", "/0/plugin", "\"test.build\"", "/0/generation", "2", "/1", "");
    e2e_write("plugins/broken.so", "no plugin\n");
    EXPECT(RUN_WITH(PLUGINS, "reload"), 1, "*/plugins/broken.so: refused: *\n",
           "toolrack: 1 problem with tools or plugins; see it: *\n"); /* the reason stands in the
                                                                         row */
    EXPECT_JSON(RUN_WITH(PLUGINS, "reload", "--json"), 1, "/0/outcome", "\"refused\"", "/1/outcome",
                "\"unchanged\"");
    EXPECT(RUN_WITH(PLUGINS, "reload", "bild"), 3, "",
           "toolrack: 1 problem *\ntoolrack: NotFound: *'build'?\n");
}

#define ODD "bu\xff.so"

/* Documents have such a name as UTF-8; the file is found by its own. */
static void a_file_name_need_not_be_text(void **state) {
    (void)state;
    put("build");
    assert_int_equal(rename("plugins/build.so", "plugins/" ODD), 0);
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
    static const char *const names[] = {("plugins/" ODD), ODD, "test.build", "build"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        EXPECT(RUN_WITH(PLUGINS, "why", names[i]), 0, "*/bu\xef\xbf\xbd.so\n*", "");
        EXPECT_JSON(RUN_WITH(PLUGINS, "why", names[i], "--json"), 0, "/file",
                    "\"*/bu\xef\xbf\xbd.so\"");
        EXPECT(RUN_WITH(PLUGINS, "reload", names[i]), 0, "*/bu\xef\xbf\xbd.so: reloaded, *", "");
    }
    EXPECT_JSON(RUN_WITH(PLUGINS, "plugins", "--json"), 0, "/0/file", "\"*/bu\xef\xbf\xbd.so\"");
    EXPECT(RUN_WITH({.bare = true}, "check", "plugins/" ODD), 0,
           "plugins/bu\xef\xbf\xbd.so: test.build*", "");
    put("build-other");
    assert_int_equal(rename("plugins/build.so", "plugins/" ODD), 0);
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "rollback", "plugins/" ODD), 0,
           "*/bu\xef\xbf\xbd.so: version 1.0.0 of test.build serves *", "");
}

/* One that is no plugin hides no other. */
static void a_file_name_that_is_no_text_breaks_no_list(void **state) {
    (void)state;
    put("build");
    e2e_write("plugins/" ODD, "no plugin\n");
    EXPECT(RUN_WITH(PLUGINS, "plugins"), 0, "*test.build*bu\xef\xbf\xbd.so*", "*");
    EXPECT_JSON(RUN_WITH(PLUGINS, "reload", "--json"), 1, "/1/file", "\"*/bu\xef\xbf\xbd.so\"",
                "/1/outcome", "\"refused\"");
    EXPECT_JSON(RUN_WITH(PLUGINS, "why", ODD, "--json"), 0, "/state", "\"refused\"");
    EXPECT(RUN_WITH(PLUGINS, "call", "no" ODD), 3, "", "*NotFound: Tool 'nobu?.so' not found*");
    EXPECT_JSON(RUN_WITH(PLUGINS, "--config", ODD, "list", "--json"), 3, "/error/type",
                "\"NotFound\"");
}

/* No host runs: what the command did not need is examined too. */
static void a_reload_without_a_host_examines_what_was_put_there(void **state) {
    (void)state;
    put_fault("build-tried", BUILD_EXAMPLE_WRONG); /* nothing served before it */
    EXPECT(RUN_WITH(PLUGINS, "reload"), 1, "*/build.so: refused, test.build*example 1 of*", "*");
    put("build-tried");
    EXPECT(RUN_WITH(PLUGINS, "reload"), 0, "*/build.so: reloaded, test.build, generation 2\n", "");
    EXPECT(RUN_WITH(PLUGINS, "reload"), 0, "no plugin file has changed\n", "");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "reload"), 0, "no plugin file has changed\n", "");
    static const enum build_fault faults[] = {BUILD_EXAMPLE_WRONG, BUILD_EXAMPLE_CRASHES,
                                              BUILD_OPEN_FAILS, BUILD_OPEN_DIES};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        put_fault("build-tried", faults[i]);
        EXPECT(RUN_WITH(PLUGINS, "reload"), 1, "*/build.so: refused, test.build*", "*");
        for (int round = 0; round < 2; round++) {
            EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "*");
            EXPECT(RUN_WITH(PLUGINS, "why", "build"), 0, "*(rolled back)*", "*");
        }
    }
    put("build-2");
    EXPECT_JSON(RUN_WITH(PLUGINS, "reload", "--json"), 0, "/0/outcome", "\"reloaded\"", "/0/plugin",
                "\"test.build\"");
    EXPECT(RUN_WITH(PLUGINS, "call", "build@1.0.0"), 0, "1\n", "");
    EXPECT(RUN_WITH(PLUGINS, "call", "build@2.0.0"), 0, "1\n", "");
}

/* It was tried, and nothing has changed. */
static void the_first_reload_adds_what_is_new(void **state) {
    (void)state;
    put("build-tried");
    EXPECT(RUN_WITH(PLUGINS, "reload"), 0, "*/build.so: added, test.build, generation *\n", "");
    EXPECT(RUN_WITH(PLUGINS, "decisions"), 0, "", "*no matching decisions*");
    EXPECT(RUN_WITH(PLUGINS, "reload"), 0, "no plugin file has changed\n", "");
}

static void safe_mode_looks_nowhere_else(void **state) {
    (void)state;
    put("build");
    EXPECT(RUN_WITH(PLUGINS, "call", "build", "--safe-mode"), 3, "", "toolrack: NotFound: *\n");
    EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "");
}

/* -------------------------------------------------------------------- watch */

/* The command, with its output and errors in one pipe. */
struct watching {
    pid_t pid;
    int output;
    char seen[OUTPUT_MAX];
    size_t length;
};

static void watch_begin(struct watching *watching, const char *option) {
    const char *argv[] = {getenv("E2E_TOOLRACK"),
                          "watch",
                          "--config",
                          "",
                          "--state",
                          "state",
                          "--plugins",
                          "plugins",
                          option,
                          NULL};
    int ends[2];
    posix_spawn_file_actions_t actions;
    *watching = (struct watching){0};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 2), 0);
    assert_int_equal(posix_spawn(&watching->pid, argv[0], &actions, NULL,
                                 (char *const *)(uintptr_t)argv, environ),
                     0);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
    (void)close(ends[1]);
    watching->output = ends[0];
}

/* Read until a text has come that begins behind what the last one ended with. */
static void watch_until(struct watching *watching, const char *text) {
    char *found;
    while ((found = strstr(watching->seen, text)) == NULL) {
        ssize_t n = patience_read(watching->output, watching->seen + watching->length,
                                  sizeof watching->seen - 1 - watching->length);
        if (n <= 0) {
            fail_msg("\"%s\" did not come; \"%s\" did", text, watching->seen);
        }
        watching->length += (size_t)n;
        watching->seen[watching->length] = '\0';
    }
    size_t end = (size_t)(found - watching->seen) + strlen(text);
    memmove(watching->seen, watching->seen + end, watching->length - end + 1);
    watching->length -= end;
}

static void watch_end(struct watching *watching, int signal) {
    int status = -1;
    assert_int_equal(kill(watching->pid, signal), 0);
    assert_int_equal(patience_child(watching->pid, &status), watching->pid);
    (void)close(watching->output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("it ended with status %#x", status);
    }
}

static void a_watch_tells_what_happens(void **state) {
    (void)state;
    struct watching watching;
    put("build");
    watch_begin(&watching, NULL);
    watch_until(&watching, "watching the plugin folders; Ctrl-C ends\n");
    put("build-other");
    watch_until(&watching, "changed test.build build 1.0.0 enabled, priority 10\n");
    watch_until(&watching, "removed test.build hold 1.0.0\n");
    watch_until(&watching, "reloaded test.build generation 2 of content ");
    EXPECT(RUN_WITH(PLUGINS, "priority", "build", "20"), 0, NULL, NULL);
    watch_until(&watching, "changed test.build build 1.0.0 enabled, priority 20\n");
    EXPECT(RUN_WITH(PLUGINS, "disable", "build"), 0, NULL, NULL);
    watch_until(&watching, "changed test.build build 1.0.0 disabled, priority 20\n");
    e2e_write("plugins/broken.so", "no plugin\n");
    watch_until(&watching, "refused ");
    assert_int_equal(unlink("plugins/build.so"), 0);
    watch_until(&watching, "removed test.build build 1.0.0\n");
    watch_end(&watching, SIGTERM);
}

static void a_watch_speaks_json(void **state) {
    (void)state;
    struct watching watching;
    watch_begin(&watching, "--json");
    watch_until(&watching, "watching");
    put("build");
    watch_until(&watching, "{\"event\":\"added\",\"plugin\":\"test.build\",\"tool\":\"build\","
                           "\"version\":\"1.0.0\",\"message\":null}\n");
    watch_end(&watching, SIGINT);
}

static void a_hangup_makes_it_look(void **state) {
    (void)state;
    struct watching watching;
    e2e_write("plugins/broken.so", "no plugin\n");
    watch_begin(&watching, NULL);
    watch_until(&watching, "refused "); /* at its first look */
    assert_int_equal(kill(watching.pid, SIGHUP), 0);
    watch_until(&watching, "refused ");
    watch_end(&watching, SIGTERM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_new_content_that_crashes_is_gone_back_from),
            TEST(a_content_is_gone_back_to),
            TEST(a_rollback_says_what_serves),
            TEST(a_rollback_says_what_does_not_run),
            TEST(the_version_before_is_kept_and_shown_so),
            TEST(a_rollback_is_named_by_a_tool_that_goes),
            TEST(a_reload_reports_each_file),
            TEST(a_file_name_need_not_be_text),
            TEST(a_file_name_that_is_no_text_breaks_no_list),
            TEST(a_reload_without_a_host_examines_what_was_put_there),
            TEST(the_first_reload_adds_what_is_new),
            TEST(safe_mode_looks_nowhere_else),
            TEST(a_watch_tells_what_happens),
            TEST(a_watch_speaks_json),
            TEST(a_hangup_makes_it_look),
    };
    return cmocka_run_group_tests_name("reload-verbs", tests, NULL, NULL);
}
