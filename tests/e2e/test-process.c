/* test-process - what the bundled plugin process starts ends with the call, whatever it does
 * against that. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "patience.h"

/* Whether a process has a text among its arguments. */
static bool is_running(const char *text) {
    DIR *folder = opendir("/proc");
    bool is_found = false;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300];
        char arguments[4096] = "";
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        size_t length = file != NULL ? fread(arguments, 1, sizeof arguments - 1, file) : 0;
        is_found = is_found || memmem(arguments, length, text, strlen(text)) != NULL;
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    (void)closedir(folder);
    return is_found;
}

/* A shell that ignores SIGTERM and leaves a process that does so too; `mark` tells both from those
 * of others. */
static void make_arguments(char ret[300], const char *mark, const char *last) {
    (void)snprintf(
            ret, 300,
            "{\"program\": \"sh\", \"timeout_s\": 30, \"arguments\": [\"-c\", \"trap '' TERM; "
            "sleep %s & %s\"]}",
            mark, last);
}

static void configure(void) {
    e2e_write("toolrack.json", "{\"grants\": [\"process_run\"], \"plugins\": {\"process\": "
                               "{\"programs\": [\"sh\", \"sleep\"]}}, \"policies\": {\"process\": "
                               "{\"allow\": [\"spawn\"]}}}");
}

static struct run run_shell(const char *mark, const char *last, const char *timeout_ms) {
    char arguments[300];
    make_arguments(arguments, mark, last);
    configure();
    return RUN_WITH({.bare = true}, "--config", "toolrack.json", "--plugins", getenv("E2E_BUNDLED"),
                    "call", "--timeout", timeout_ms, "process_run", arguments);
}

static void all_ends_after_the_deadline(void **state) {
    (void)state;
    char mark[32];
    char last[64];
    (void)snprintf(mark, sizeof mark, "88%d", (int)getpid());
    (void)snprintf(last, sizeof last, "sleep %s", mark);
    EXPECT(run_shell(mark, last, "1000"), 6, "", "*Timeout*");
    AWAIT(!is_running(mark));
}

/* The call does not wait for it; with the command its worker ends. */
static void what_ignores_a_signal_is_told_and_ends_with_the_worker(void **state) {
    (void)state;
    char mark[32];
    (void)snprintf(mark, sizeof mark, "89%d", (int)getpid());
    EXPECT(run_shell(mark, "echo done", "20000"), 0,
           "*\"exit_status\":0,*done*\"left_running\":true}\n", "");
    AWAIT(!is_running(mark));
}

/* Its processes are as many as the policy allows, and none outlives the call. */
static void a_fork_bomb_ends_with_the_call(void **state) {
    (void)state;
    char mark[32];
    char arguments[300];
    (void)snprintf(mark, sizeof mark, "87%d", (int)getpid());
    (void)snprintf(
            arguments, sizeof arguments,
            "{\"program\": \"sh\", \"timeout_s\": 1, \"arguments\": [\"-c\", \"f() { f | f & "
            "}; f; while :; do :; done\", \"%s\"]}",
            mark);
    configure();
    EXPECT(RUN_WITH({.bare = true}, "--config", "toolrack.json", "--plugins", getenv("E2E_BUNDLED"),
                    "call", "process_run", arguments),
           0, "*\"timed_out\":true,*", "*");
    AWAIT(!is_running(mark));
}

/* Programs have the rights of who starts them: without a worker those of the host. */
static void only_its_own_policy_leaves_the_sandbox_out(void **state) {
    (void)state;
    e2e_write("toolrack.json", "{\"isolation\": \"none\"}");
    EXPECT_JSON(RUN_WITH({.bare = true}, "--config", "toolrack.json", "--plugins",
                         getenv("E2E_BUNDLED"), "why", "process", "--json"),
                0, "/refused/0/rule", "\"sandbox-required\"");
    e2e_write("toolrack.json", "{\"policies\": {\"process\": {\"isolation\": \"none\"}}}");
    EXPECT(RUN_WITH({.bare = true}, "--config", "toolrack.json", "--plugins", getenv("E2E_BUNDLED"),
                    "call", "process_programs", "{}"),
           0, "{\"programs\":[]*", "toolrack: warning: process: runs with isolation \"none\"*");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

/* More than a pipe holds, so that some of it is written when nobody reads any more. */
static void input_that_nobody_reads_harms_nothing(void **state) {
    (void)state;
    static char call[200000];
    int length = snprintf(call, sizeof call,
                          "{\"program\":\"sh\",\"arguments\":[\"-c\",\"exec <&-\"],\"input\":\"");
    memset(call + length, 'x', sizeof call - (size_t)length);
    memcpy(call + sizeof call - sizeof "\"}", "\"}", sizeof "\"}");
    configure();
    EXPECT_JSON(RUN_WITH(HOW(.bare = true, .input = call), "--config", "toolrack.json", "--plugins",
                         getenv("E2E_BUNDLED"), "call", "process_run", "-", "--json"),
                0, "/exit_status", "0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(all_ends_after_the_deadline),
            TEST(a_fork_bomb_ends_with_the_call),
            TEST(what_ignores_a_signal_is_told_and_ends_with_the_worker),
            TEST(input_that_nobody_reads_harms_nothing),
            TEST(only_its_own_policy_leaves_the_sandbox_out),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
