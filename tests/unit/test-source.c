/* Sources of calls: which thread serves them and runs what they bring. A source here is a list of
 * names of tools, each of which is submitted when the test lets it. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "gate.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* All guarded by `lock`. */
static const char *names[4096]; /* of tools to be submitted by one call of take(); NULL: its end */
static size_t given;            /* names that the test has put there */
static size_t taken;
static unsigned inside; /* threads in take() */
static unsigned most_inside;
static bool is_last; /* take() returns false when it has taken all */
static bool is_interrupted;
static unsigned done;
static unsigned done_elsewhere; /* calls that ended on another thread than the one that took them */

static struct toolrack *host;
static struct toolrack_source *source;

static void quick(void) {
}
TR_TOOL(quick, "Returns", TR_VOID)

static bool is_slow; /* guarded by `lock` */

static void moody(struct tr_call *call) {
    (void)pthread_mutex_lock(&lock);
    bool waits = is_slow;
    (void)pthread_mutex_unlock(&lock);
    if (waits) {
        (void)gate_pass(call);
    }
}
TR_TOOL(moody, "Returns, unless it waits", TR_VOID, TR_CALL)

static void release(void) {
    gate_open();
}
TR_TOOL(release, "Lets those that wait go on", TR_VOID)

TR_PLUGIN(("test", .flags = TR_THREAD_SAFE), "1.0.0", quick, moody, release)

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    const pthread_t *taker = user;
    assert_null(err);
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&lock);
    done++;
    done_elsewhere += !pthread_equal(*taker, pthread_self());
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    free(user);
}

static void submit(const char *name) {
    pthread_t *taker = malloc(sizeof *taker);
    assert_non_null(taker);
    *taker = pthread_self();
    assert_int_equal(toolrack_submit(host, name, "{}", NULL, take_outcome, taker, NULL, NULL), 0);
}

/* See toolrack_take. */
static bool take(void *user) {
    (void)user;
    const char *batch[ARRAY_LENGTH(names)];
    size_t count = 0;
    (void)pthread_mutex_lock(&lock);
    inside++;
    most_inside = inside > most_inside ? inside : most_inside;
    while (taken == given && !is_last && !is_interrupted) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    while (taken < given && names[taken] != NULL) {
        batch[count++] = names[taken++];
    }
    taken += taken < given;
    bool goes_on = !is_last || taken < given;
    (void)pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++) {
        submit(batch[i]);
    }
    (void)pthread_mutex_lock(&lock);
    inside--;
    (void)pthread_mutex_unlock(&lock);
    return goes_on;
}

/* Have take() submit so many calls at once. */
static void give(const char *name, unsigned count) {
    (void)pthread_mutex_lock(&lock);
    assert_true(given + count + 1 < ARRAY_LENGTH(names));
    for (unsigned i = 0; i < count; i++) {
        names[given++] = name;
    }
    names[given++] = NULL;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

static void await_done(unsigned count) {
    (void)pthread_mutex_lock(&lock);
    while (done < count) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    assert_int_equal(done, count);
    (void)pthread_mutex_unlock(&lock);
}

/* Have 100 calls made, five at a time, after `before` of the test; how many of them ended on
 * another thread than the one that took them. */
static unsigned count_elsewhere(unsigned before) {
    (void)pthread_mutex_lock(&lock);
    given = taken = 0;
    done_elsewhere = 0;
    (void)pthread_mutex_unlock(&lock);
    for (unsigned i = 5; i <= 100; i += 5) {
        give("quick", 5);
        await_done(before + i);
    }
    (void)pthread_mutex_lock(&lock);
    unsigned count = done_elsewhere;
    (void)pthread_mutex_unlock(&lock);
    return count;
}

static void set_slow(bool value) {
    (void)pthread_mutex_lock(&lock);
    is_slow = value;
    (void)pthread_mutex_unlock(&lock);
}

static void start(uint32_t threads_max) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    options.threads_max = threads_max;
    given = taken = inside = most_inside = done = done_elsewhere = 0;
    is_last = is_interrupted = is_slow = false;
    gate_reset();
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    assert_int_equal(toolrack_source_start(host, take, NULL, &source, NULL), 0);
}

/* End the source by what take() returns. */
static void end(void) {
    (void)pthread_mutex_lock(&lock);
    is_last = true;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    toolrack_source_wait(source);
    toolrack_source_stop(source);
    source = NULL;
}

static int tear_down(void **state) {
    (void)state;
    if (source != NULL) { /* the case failed */
        gate_open();
        end();
    }
    toolrack_close(host);
    return 0;
}

/* Not each, since the machine may keep a thread from running for a moment, in which another one is
 * woken; on a busy machine that happens in many rounds, but not in all. */
static void short_calls_run_where_they_were_taken(void **state) {
    (void)state;
    start(0);
    unsigned elsewhere = 100;
    for (unsigned i = 0; elsewhere >= 10; i += 100) {
        elsewhere = count_elsewhere(i);
    }
    end();
    assert_int_equal(most_inside, 1);
    assert_int_equal(taken, given);
}

/* The call of `release`, without which the first would not end, is taken by another thread. */
static void a_long_call_keeps_no_message(void **state) {
    (void)state;
    start(0);
    set_slow(true);
    give("moody", 1);
    gate_await_come(1);
    give("release", 1);
    await_done(2);
    end();
}

/* A tool that was quick before is found out by the watch, also if many of its calls wait. */
static void a_tool_that_was_quick_keeps_no_message(void **state) {
    (void)state;
    start(0);
    give("moody", 100);
    await_done(100);
    set_slow(true);
    give("moody", 20);
    gate_await_come(20);
    give("release", 1);
    await_done(121);
    end();
}

/* All threads that run calls are busy: messages are read all the same. */
static void messages_are_read_while_no_thread_is_free(void **state) {
    (void)state;
    start(1);
    set_slow(true);
    give("moody", 1);
    gate_await_come(1);
    give("quick", 3);
    (void)pthread_mutex_lock(&lock);
    while (taken < given) {
        (void)pthread_mutex_unlock(&lock);
        (void)sched_yield();
        (void)pthread_mutex_lock(&lock);
    }
    assert_int_equal(done, 0); /* one call at a time */
    (void)pthread_mutex_unlock(&lock);
    gate_open();
    await_done(4);
    end();
}

static void several_sources(void **state) {
    (void)state;
    struct toolrack_source *others[3];
    start(2);
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        assert_int_equal(toolrack_source_start(host, take, NULL, &others[i], NULL), 0);
    }
    for (unsigned i = 1; i <= 100; i++) {
        give("quick", 7);
        give("quick", 3);
        await_done(10 * i);
    }
    (void)pthread_mutex_lock(&lock);
    is_last = true;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        toolrack_source_wait(others[i]);
        toolrack_source_stop(others[i]);
    }
    end();
    assert_true(most_inside > 1);
}

static size_t count_threads(void) {
    DIR *threads = opendir("/proc/self/task");
    size_t count = 0;
    assert_non_null(threads);
    while (readdir(threads) != NULL) {
        count++;
    }
    (void)closedir(threads);
    return count;
}

/* The thread that ran a call has nothing to do before the caller knows the result, so the next call
 * finds it. Without that order the caller starts a second one as often as it is quicker. */
static void calls_in_a_row_need_one_thread(void **state) {
    (void)state;
    struct toolrack_result *result = NULL;
    start(4);
    end();
    assert_int_equal(toolrack_call(host, "quick", NULL, NULL, &result, NULL), 0);
    toolrack_result_free(result);
    size_t before = count_threads();
    for (unsigned i = 0; i < 2000; i++) {
        assert_int_equal(toolrack_call(host, "quick", NULL, NULL, &result, NULL), 0);
        toolrack_result_free(result);
    }
    assert_int_equal(count_threads(), before);
}

/* As those of clients that come and go. */
static void the_next_source_is_served_by_the_thread_of_the_last(void **state) {
    (void)state;
    start(2);
    give("quick", 1);
    await_done(1);
    end();
    size_t before = count_threads();
    for (unsigned i = 2; i <= 100; i++) {
        is_last = false;
        assert_int_equal(toolrack_source_start(host, take, NULL, &source, NULL), 0);
        give("quick", 1);
        await_done(i);
        end();
    }
    /* Those that may run calls beside it, and a few more on a machine that is busy: a thread that
     * is not asleep yet is not taken. A thread for each source would be 99 more. */
    assert_in_range(count_threads(), 1, before + 20);
}

/* Stopped while it waits for messages; what was submitted goes on. */
static void a_source_is_stopped(void **state) {
    (void)state;
    start(0);
    set_slow(true);
    give("moody", 2);
    gate_await_come(2);
    (void)pthread_mutex_lock(&lock);
    is_interrupted = true;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    toolrack_source_stop(source);
    source = NULL;
    (void)pthread_mutex_lock(&lock);
    assert_int_equal(inside, 0);
    (void)pthread_mutex_unlock(&lock);
    give("quick", 1); /* nobody takes it */
    gate_open();
    await_done(2);
    toolrack_source_stop(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_teardown(short_calls_run_where_they_were_taken, tear_down),
            cmocka_unit_test_teardown(a_long_call_keeps_no_message, tear_down),
            cmocka_unit_test_teardown(a_tool_that_was_quick_keeps_no_message, tear_down),
            cmocka_unit_test_teardown(messages_are_read_while_no_thread_is_free, tear_down),
            cmocka_unit_test_teardown(several_sources, tear_down),
            cmocka_unit_test_teardown(the_next_source_is_served_by_the_thread_of_the_last,
                                      tear_down),
            cmocka_unit_test_teardown(calls_in_a_row_need_one_thread, tear_down),
            cmocka_unit_test_teardown(a_source_is_stopped, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
