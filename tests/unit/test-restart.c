/* What serves after a restart when a plugin file has gone bad: its last good content, until the
 * file is good again or removed. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "builds.h"
#include "patience.h"
#include "rounds.h"
#include "store/generations.h"

#define V1 "build"
#define V2 "build-2"

/* The refusal of the file, or NULL; the list is to be freed. */
static const struct toolrack_refusal *find_refusal(struct toolrack *host,
                                                   struct toolrack_refusals **ret) {
    struct toolrack_error err;
    assert_int_equal(toolrack_refused(host, ret, &err), 0);
    assert_in_range(toolrack_refusals_count(*ret), 0, 1);
    return toolrack_refusals_get(*ret, 0);
}

static void expect_refusal(struct toolrack *host, const char *rule) {
    struct toolrack_refusals *refusals = NULL;
    const struct toolrack_refusal *refusal = find_refusal(host, &refusals);
    if (rule == NULL) {
        assert_null(refusal);
    } else {
        assert_non_null(refusal);
        assert_string_equal(refusal->rule, rule);
    }
    toolrack_refusals_free(refusals);
}

static void serve_version_1(struct builds *builds) {
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
}

static void spoil_with_text(const struct builds *builds) {
    builds_spoil(builds, "this was a plugin\n");
}

static void spoil_by_emptying(const struct builds *builds) {
    builds_spoil(builds, "");
}

static void spoil_by_truncating(const struct builds *builds) {
    builds_truncate(builds, 4000);
}

static void spoil_with_another_major(const struct builds *builds) {
    builds_put(builds, "wrong-major", 1);
}

static void the_last_good_content_serves(void **state) {
    struct builds *builds = *state;
    static void (*const ways[])(const struct builds *) = {
            spoil_with_text, spoil_by_emptying, spoil_by_truncating, spoil_with_another_major};
    serve_version_1(builds);
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        builds_close(builds);
        ways[i](builds);
        for (int round = 0; round < 2; round++) {
            builds_open(builds);
            struct toolrack_refusals *refusals = NULL;
            assert_non_null(find_refusal(builds->host, &refusals));
            toolrack_refusals_free(refusals);
            assert_true(builds_warned(builds, "its last good content, version 1.0.0, "
                                              "serves in its place"));
            builds_expect(builds->host, "build", 1);
            builds_expect_why(builds->host, "build", "/refused/0/reason", "\"");
            builds_close(builds);
        }
        builds_open(builds);
    }
    /* Good again: its own content serves, the refusal is gone, and the version before is kept. */
    builds_close(builds);
    builds_put(builds, V2, 2);
    builds_open(builds);
    expect_refusal(builds->host, NULL);
    assert_false(builds_warned_at_all(builds));
    builds_expect(builds->host, "build", 2);
    builds_expect(builds->host, "build@1.0.0", 1);
}

static void it_is_exchanged_when_the_file_is_good_again(void **state) {
    struct builds *builds = *state;
    serve_version_1(builds);
    builds_close(builds);
    spoil_with_text(builds);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_reload(builds->host, NULL, "refused");
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    builds_expect(builds->host, "build@1.0.0", 1);
    expect_refusal(builds->host, NULL);
}

static void expect_nothing(struct builds *builds) {
    struct toolrack_error err = {0};
    assert_int_equal(builds_call(builds->host, "build", &err), TOOLRACK_E_NOT_FOUND);
}

static void a_removed_file_is_removed(void **state) {
    struct builds *builds = *state;
    serve_version_1(builds);
    builds_close(builds);
    assert_int_equal(unlink(builds->file), 0);
    builds_open(builds);
    expect_nothing(builds);
    /* What it had before it was removed does not serve in place of what comes later. */
    builds_close(builds);
    spoil_with_text(builds);
    builds_open(builds);
    expect_nothing(builds);
    builds_close(builds);
    builds_put(builds, V1, 4);
    builds_open(builds);
    builds_expect(builds->host, "build", 4);
    assert_int_equal(unlink(builds->file), 0);
    builds_reload(builds->host, NULL, "removed"); /* seen by a host */
    spoil_with_text(builds);
    builds_reopen(builds);
    expect_nothing(builds);
}

static void what_never_served_is_not_gone_back_to(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    spoil_with_text(builds);
    builds_open(builds);
    expect_nothing(builds);
    assert_int_equal(toolrack_rollback(builds->host, builds->file, NULL, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "there is no earlier content of"));
}

/* -------------------------------------------------------------- refused in the trial */

static void refuse_in_trial(struct builds *builds, const char *fixture, unsigned number,
                            const char *rule) {
    builds_put(builds, fixture, number);
    builds_reload(builds->host, NULL, "refused");
    builds_expect(builds->host, "build", 1);
    for (int round = 0; round < 2; round++) {
        builds_reopen(builds);
        expect_refusal(builds->host, rule);
        assert_true(builds_warned(builds, "serves in its place"));
        builds_expect(builds->host, "build", 1);
    }
    /* Who asks for a reload has it tried again. */
    builds_reload(builds->host, "test.build", "refused");
    expect_refusal(builds->host, rule);
    builds_expect(builds->host, "build", 1);
}

static void what_the_trial_refused_stays_refused(void **state) {
    struct builds *builds = *state;
    serve_version_1(builds);
    refuse_in_trial(builds, V1, BUILD_OPEN_FAILS, "cannot-load");
    refuse_in_trial(builds, V2, BUILD_OPEN_DIES, "cannot-load");
    refuse_in_trial(builds, "build-tried", BUILD_EXAMPLE_WRONG, "self-test");
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    for (int round = 0; round < 2; round++) {
        builds_expect(builds->host, "build", 2);
        expect_refusal(builds->host, NULL);
        builds_reopen(builds);
    }
}

/* Put there while no host ran, it is loaded at its first call only. */
static void what_cannot_be_loaded_is_gone_back_from(void **state) {
    struct builds *builds = *state;
    for (int in_process = 0; in_process < 2; in_process++) {
        enum toolrack_isolation isolation =
                in_process ? TOOLRACK_ISOLATION_NONE : TOOLRACK_ISOLATION_PROCESS;
        struct toolrack_error err = {0};
        builds_put(builds, V1, 1);
        builds->host = builds_another(builds, isolation);
        builds_expect(builds->host, "build", 1);
        builds_close(builds);
        builds_put(builds, V2, BUILD_OPEN_FAILS);
        builds->host = builds_another(builds, isolation);
        assert_int_equal(builds_call(builds->host, "build", &err), TOOLRACK_E_EXECUTION_FAILED);
        AWAIT(builds_call(builds->host, "build", &err) == 1);
        for (int round = 0; round < 2; round++) {
            expect_refusal(builds->host, "cannot-load");
            builds_expect(builds->host, "build", 1);
            builds_close(builds);
            builds->host = builds_another(builds, isolation);
        }
        builds_close(builds);
    }
}

/* What an event has shown of the host that reports it. */
struct seen {
    struct toolrack *host;
    atomic_bool is_watched; /* `host` is set */
    bool has_come;          /* tools of the plugin were exchanged */
    bool has_why;           /* and the refusal was there */
};

static void see_exchange(void *user, const struct toolrack_event *event) {
    struct seen *seen = user;
    struct toolrack_refusals *refusals = NULL;
    bool is_exchange = event->kind == TOOLRACK_EVENT_CHANGED || event->kind == TOOLRACK_EVENT_ADDED;
    if (atomic_load(&seen->is_watched) && is_exchange &&
        toolrack_refused(seen->host, &refusals, NULL) == 0) {
        seen->has_come = true;
        seen->has_why = toolrack_refusals_count(refusals) == 1;
        toolrack_refusals_free(refusals);
    }
}

/* The content before serves from the moment on at which it is told why. */
static void what_is_gone_back_to_is_seen_with_the_reason(void **state) {
    struct builds *builds = *state;
    const char *const dirs[] = {builds->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err = {0};
    struct seen seen = {0};
    serve_version_1(builds);
    builds_close(builds);
    builds_put(builds, V2, BUILD_OPEN_FAILS);
    options.state_dir = builds->state;
    options.config_file = builds->config;
    options.plugin_dirs = dirs;
    options.event = see_exchange;
    options.user = &seen;
    assert_int_equal(toolrack_open(&options, &builds->host, &err), 0);
    seen.host = builds->host;
    atomic_store(&seen.is_watched, true);
    assert_int_equal(builds_call(builds->host, "build", &err), TOOLRACK_E_EXECUTION_FAILED);
    AWAIT(builds_call(builds->host, "build", &err) == 1);
    builds_close(builds); /* no event comes any more */
    assert_true(seen.has_come);
    assert_true(seen.has_why);
}

/* Another content that does the same. */
static void append_number(const struct builds *builds, unsigned number) {
    FILE *file = fopen(builds->file, "ae");
    assert_non_null(file);
    (void)fprintf(file, "%u", number);
    assert_int_equal(fclose(file), 0);
}

/* As the command does: one call, and the host is closed as soon as it has failed. Each of these
 * contents is known to be bad, however many come after another: the one that worked stays. */
static void what_has_worked_is_never_lost(void **state) {
    struct builds *builds = *state;
    for (int in_process = 0; in_process < 2; in_process++) {
        enum toolrack_isolation isolation =
                in_process ? TOOLRACK_ISOLATION_NONE : TOOLRACK_ISOLATION_PROCESS;
        struct toolrack_error err = {0};
        builds_put(builds, V1, 1);
        builds->host = builds_another(builds, isolation);
        builds_expect(builds->host, "build", 1);
        builds_close(builds);
        for (unsigned update = 0; update < STORE_GENERATIONS_PER_FILE_MAX + 4; update++) {
            builds_put(builds, V2, BUILD_OPEN_FAILS);
            append_number(builds, update);
            builds->host = builds_another(builds, isolation);
            assert_int_equal(builds_call(builds->host, "build", &err), TOOLRACK_E_EXECUTION_FAILED);
            builds_close(builds);
            if (update % 4 == 0) { /* the next start knows */
                builds->host = builds_another(builds, isolation);
                builds_expect(builds->host, "build", 1);
                builds_close(builds);
            }
        }
        spoil_with_text(builds);
        builds->host = builds_another(builds, isolation);
        builds_expect(builds->host, "build", 1);
        builds_close(builds);
    }
}

/* Contents of which nothing is known, since no tool of them was called, do not take its place. */
static void what_was_not_tried_is_not_the_last_good_content(void **state) {
    struct builds *builds = *state;
    serve_version_1(builds);
    for (unsigned number = 2; number <= 6; number++) {
        builds_put(builds, V2, number);
        builds_reload(builds->host, NULL, "reloaded"); /* tried, and in the history */
    }
    builds_close(builds);
    builds_open(builds); /* removes copies that are not needed */
    builds_expect(builds->host, "build@1.0.0", 1);
    builds_close(builds);
    spoil_with_text(builds);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
}

/* A content that was refused, and is put there once more after the cause is gone, is tried. */
static void a_watch_does_not_try_it_again(void **state) {
    struct builds *builds = *state;
    serve_version_1(builds);
    builds_put(builds, V2, BUILD_OPEN_FAILS);
    builds_reload(builds->host, NULL, "refused");
    builds_close(builds);
    const char *const dirs[] = {builds->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = builds->state;
    options.plugin_dirs = dirs;
    options.watch = true;
    options.watch_debounce_ms = 5;
    assert_int_equal(toolrack_open(&options, &builds->host, &err), 0);
    builds_expect(builds->host, "build", 1);
    expect_refusal(builds->host, "cannot-load");
    builds_put(builds, V2, 2);
    AWAIT(builds_call(builds->host, "build", &err) == 2);
    expect_refusal(builds->host, NULL);
}

/* A plugin in the host's process that ends the process in its trial. */
static void what_ended_its_host_is_gone_back_from(void **state) {
    struct builds *builds = *state;
    serve_version_1(builds);
    builds_close(builds);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct toolrack_error err;
        struct toolrack *host = builds_another(builds, TOOLRACK_ISOLATION_NONE);
        builds_put(builds, V2, BUILD_OPEN_DIES);
        (void)toolrack_reload(host, NULL, NULL, &err);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(patience_child(child, &status), child);
    assert_true(WIFSIGNALED(status));
    for (int round = 0; round < 2; round++) {
        builds_forget_warnings(builds);
        builds->host = builds_another(builds, TOOLRACK_ISOLATION_NONE);
        builds_expect(builds->host, "build", 1);
        expect_refusal(builds->host, "unclean-end");
        builds_close(builds);
    }
}

/* ------------------------------------------------------------------ rollback FILE */

static void a_file_is_rolled_back_by_any_name(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    char winding[192];
    (void)snprintf(winding, sizeof winding, "%s/../plugins/build.so", builds->plugins);
    const char *const names[] = {builds->file, "build.so", winding, "test.build", "sane"};
    serve_version_1(builds);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        builds_close(builds);
        char text[32];
        (void)snprintf(text, sizeof text, "bad %zu\n", i);
        builds_spoil(builds, text);
        builds_open(builds);
        if (toolrack_rollback(builds->host, names[i], NULL, &err) < 0) {
            fail_msg("%s: %s", names[i], err.message);
        }
        for (int round = 0; round < 2; round++) {
            builds_expect(builds->host, "build", 1);
            builds_expect_why(builds->host, "build", "/rolled_back", "true");
            expect_refusal(builds->host, NULL); /* a person has decided */
            builds_reopen(builds);
        }
    }
    assert_int_equal(toolrack_rollback(builds->host, "other.so", NULL, &err), TOOLRACK_E_NOT_FOUND);
}

static void going_back_twice_goes_further(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    serve_version_1(builds);
    builds_put(builds, V1, 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    builds_close(builds);
    spoil_with_text(builds);
    builds_open(builds);
    builds_expect(builds->host, "build", 2);
    assert_int_equal(toolrack_rollback(builds->host, "build.so", NULL, &err), 0);
    builds_expect(builds->host, "build", 2);
    assert_int_equal(toolrack_rollback(builds->host, "build.so", NULL, &err), 0);
    builds_expect(builds->host, "build", 1);
    assert_int_equal(toolrack_rollback(builds->host, "build.so", NULL, &err), TOOLRACK_E_NOT_FOUND);
    builds_reopen(builds);
    builds_expect(builds->host, "build", 1);
}

/* ------------------------------------------------------------------------- the stage */

static size_t count_copies(const struct builds *builds) {
    char images[160];
    (void)snprintf(images, sizeof images, "%s/images", builds->state);
    DIR *dir = opendir(images);
    const struct dirent *one;
    size_t count = 0;
    assert_non_null(dir);
    while ((one = readdir(dir)) != NULL) {
        count += strstr(one->d_name, ".so") != NULL;
    }
    (void)closedir(dir);
    return count;
}

/* The last four contents, and that of the kept version: rollbacks reach them, and say what they do
 * not reach. */
static void only_copies_that_are_needed_stay(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    serve_version_1(builds);
    builds_close(builds);
    for (unsigned number = 2; number <= 9; number++) { /* updated while no host runs */
        builds_put(builds, V2, number);
        builds_open(builds);
        builds_expect(builds->host, "build", number);
        builds_close(builds);
    }
    assert_in_range(count_copies(builds), 5, 5);
    builds_open(builds);
    builds_expect(builds->host, "build@1.0.0", 1);
    builds_expect(builds->host, "build", 9);
    for (long number = 8; number >= 6; number--) {
        assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), 0);
        builds_expect(builds->host, "build", number);
    }
    builds_expect_why(builds->host, "build", "/history", "its copy is not kept any more");
    /* What has no copy is passed over. */
    assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), 0);
    builds_expect(builds->host, "build", 1);
    assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "there is no earlier content of"));
}

static void a_rollback_says_which_contents_have_no_copy(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_configure(builds, "{\"keep\": 0}");
    for (unsigned number = 1; number <= 6; number++) {
        builds_put(builds, number < 3 ? V1 : V2, number);
        builds_open(builds);
        builds_expect(builds->host, "build", number);
        builds_close(builds);
    }
    builds_open(builds);
    for (long number = 5; number >= 3; number--) {
        assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), 0);
        builds_expect(builds->host, "build", number);
    }
    assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "those of version 1.0.0 are not kept any more"));
    assert_non_null(strstr(err.message, "\"keep\""));
}

/* Two files of one name in two folders have a history each. */
static void two_files_of_one_name_are_apart(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    char other[160];
    (void)snprintf(other, sizeof other, "%s/other", builds->root);
    assert_int_equal(mkdir(other, 0700), 0);
    const char *const dirs[] = {builds->plugins, other, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = builds->state;
    options.plugin_dirs = dirs;
    builds_put(builds, V1, 1);
    char file[192];
    (void)snprintf(file, sizeof file, "%s/build.so", other);
    builds_put_as(builds, "aside", "good", 1);
    char aside[160];
    (void)snprintf(aside, sizeof aside, "%s/aside.so", builds->plugins);
    assert_int_equal(rename(aside, file), 0);
    assert_int_equal(toolrack_open(&options, &builds->host, &err), 0);
    builds_expect(builds->host, "build", 1);
    assert_int_equal(toolrack_rollback(builds->host, "build.so", NULL, &err), TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, file));
    assert_non_null(strstr(err.message, builds->file));
    assert_int_equal(toolrack_rollback(builds->host, file, NULL, &err), TOOLRACK_E_NOT_FOUND);
    builds_close(builds);
    builds_spoil(builds, "bad");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(toolrack_open(&options, &builds->host, &err), 0);
    builds_expect(builds->host, "build", 1);
}

/* ------------------------------------------------------------------- kill -9 */

/* Everything that changes what serves, again and again. Each version that opens answers with 1
 * to 3.
 */
static void change_for_ever(struct builds *builds) {
    struct toolrack_error err;
    for (;;) {
        builds->host = builds_another(builds, TOOLRACK_ISOLATION_PROCESS);
        (void)builds_call(builds->host, "build", &err);
        builds_put(builds, V2, 2);
        (void)toolrack_reload(builds->host, NULL, NULL, &err);
        builds_put(builds, V1, BUILD_OPEN_FAILS);
        (void)toolrack_reload(builds->host, NULL, NULL, &err);
        builds_spoil(builds, "bad");
        (void)toolrack_reload(builds->host, NULL, NULL, &err);
        (void)toolrack_rollback(builds->host, builds->file, NULL, &err);
        builds_put(builds, V1, 3);
        (void)toolrack_reload(builds->host, "test.build", NULL, &err);
        (void)toolrack_rollback(builds->host, builds->file, NULL, &err);
        toolrack_close(builds->host);
    }
}

static void a_killed_host_leaves_what_serves(void **state) {
    struct builds *builds = *state;
    int rounds = (int)test_rounds(40, 8);
    serve_version_1(builds);
    builds_close(builds);
    for (int i = 0; i < rounds; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            change_for_ever(builds);
        }
        long ns = 3000000L + (long)i * 7919 * 997 % 90000000L;
        (void)nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        int status = 0;
        assert_int_equal(patience_child(child, &status), child);
        builds_open(builds);
        struct toolrack_error err = {0};
        long number = builds_call(builds->host, "build", &err);
        /* A content that was not tried yet may be there: its first call makes the host go back. */
        if (number < 1) {
            AWAIT((number = builds_call(builds->host, "build", &err)) > 0);
        }
        if (number < 1 || number > 3) {
            fail_msg("round %d, after %ld us: %s", i, ns / 1000, err.message);
        }
        builds_close(builds);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, builds_setup, builds_teardown)

/* As the refusal of a content says, and `rollback`: who names the file has it tried again. */
static void a_reload_by_name_ends_a_rollback(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    assert_int_equal(toolrack_rollback(builds->host, builds->file, NULL, &err), 0);
    builds_expect(builds->host, "build", 1);
    builds_reload(builds->host, NULL, "unchanged"); /* of all files */
    builds_expect(builds->host, "build", 1);
    builds_reload(builds->host, builds->file, "reloaded");
    builds_expect(builds->host, "build", 2);
    builds_reopen(builds);
    builds_expect(builds->host, "build", 2);
}

/* The verdict is on the content of that file, whether it was removed meanwhile or not. */
static void what_was_gone_back_from_is_no_better_when_it_returns(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err = {0};
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    assert_int_equal(toolrack_rollback(builds->host, builds->file, NULL, &err), 0);
    assert_int_equal(unlink(builds->file), 0);
    builds_reload(builds->host, NULL, "removed");
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "added");
    builds_expect(builds->host, "build", 1);
    builds_reopen(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 3); /* another content */
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(the_last_good_content_serves),
            TEST(it_is_exchanged_when_the_file_is_good_again),
            TEST(a_removed_file_is_removed),
            TEST(a_reload_by_name_ends_a_rollback),
            TEST(what_was_gone_back_from_is_no_better_when_it_returns),
            TEST(what_never_served_is_not_gone_back_to),
            TEST(what_the_trial_refused_stays_refused),
            TEST(what_cannot_be_loaded_is_gone_back_from),
            TEST(what_is_gone_back_to_is_seen_with_the_reason),
            TEST(what_has_worked_is_never_lost),
            TEST(what_was_not_tried_is_not_the_last_good_content),
            TEST(a_watch_does_not_try_it_again),
            TEST(what_ended_its_host_is_gone_back_from),
            TEST(a_file_is_rolled_back_by_any_name),
            TEST(going_back_twice_goes_further),
            TEST(a_rollback_says_which_contents_have_no_copy),
            TEST(only_copies_that_are_needed_stay),
            TEST(two_files_of_one_name_are_apart),
            TEST(a_killed_host_leaves_what_serves),
    };
    return cmocka_run_group_tests_name("restart", tests, NULL, NULL);
}
