/* Which of the jobs that wait a thread takes next. Jobs here have a plugin and a party, and
 * nothing that could run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "call/queue.h"

enum { PLUGINS = 2, JOBS = 8 };

static struct plugin *plugins[PLUGINS];
static struct registration *registrations[PLUGINS];
static struct toolrack_tool *tools[PLUGINS];
static struct job *jobs[JOBS];
static struct queue queue;
static struct queue_own own;

static int set_up(void **state) {
    (void)state;
    queue = (struct queue){0};
    own = (struct queue_own){0};
    for (size_t i = 0; i < PLUGINS; i++) {
        plugins[i] = calloc(1, sizeof *plugins[i]);
        registrations[i] = calloc(1, sizeof *registrations[i]);
        tools[i] = calloc(1, sizeof *tools[i]);
        assert_true(plugins[i] != NULL && registrations[i] != NULL && tools[i] != NULL);
        assert_true(plugin_have_parties(plugins[i]));
        plugins[i]->calls_max = JOBS;
        registrations[i]->plugin = plugins[i];
        tools[i]->reg = registrations[i];
    }
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i] = calloc(1, sizeof *jobs[i]);
        assert_non_null(jobs[i]);
        jobs[i]->magic = JOB_MAGIC;
        jobs[i]->tool = tools[0];
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < PLUGINS; i++) {
        free(tools[i]);
        free(registrations[i]);
        free(plugins[i]->pool_of);
        free(plugins[i]);
    }
    for (size_t i = 0; i < JOBS; i++) {
        free(jobs[i]);
    }
    return 0;
}

static void put(size_t i, struct queue_own *of) {
    queue_put(&queue, jobs[i], of);
    jobs[i]->queued_ns = 1; /* however long it took: they came at once */
    queue_check(&queue);
}

/* Whether a thread gets this one. */
static void expect(size_t i, const struct queue_own *of) {
    const struct job *job = queue_take(&queue, of);
    queue_check(&queue);
    assert_ptr_equal(jobs[i], job);
}

static void expect_none_left(void) {
    assert_null(queue_take(&queue, &own));
    assert_null(own.first);
    assert_null(own.last);
    assert_int_equal(0, queue.count);
}

static void a_thread_takes_its_own_first(void **state) {
    (void)state;
    struct queue_own others = {0};
    put(0, NULL);
    put(1, &others);
    put(2, &own);
    put(3, &others);
    put(4, &own);
    put(5, &own);
    put(6, &others);
    expect(2, &own);
    expect(0, NULL); /* the oldest */
    expect(1, NULL); /* also one that another thread has brought */
    expect(3, &others);
    expect(4, NULL);
    expect(5, &own);
    expect(6, &own); /* when it has none left */
    expect_none_left();
    assert_null(others.first);
}

static void its_own_overtake_only_what_came_just_before(void **state) {
    (void)state;
    put(0, NULL);
    put(1, &own);
    put(2, &own);
    jobs[1]->queued_ns = 1 + QUEUE_OVERTAKEN_NS - 1;
    jobs[2]->queued_ns = 1 + QUEUE_OVERTAKEN_NS;
    expect(1, &own);
    expect(0, &own);
    expect(2, &own);
    expect_none_left();
}

static void its_own_take_no_place_of_another_party(void **state) {
    (void)state;
    jobs[2]->party = 1;
    put(0, &own);
    put(1, &own);
    put(2, NULL);
    put(3, &own);
    expect(0, &own);
    expect(2, &own); /* of whose party fewer run */
    expect(1, &own);
    expect(3, &own);
    expect_none_left();
}

static void its_own_take_no_place_of_another_plugin(void **state) {
    (void)state;
    plugins[1]->calls_max = 1;
    jobs[0]->tool = jobs[3]->tool = tools[1];
    put(0, NULL);
    put(1, NULL);
    put(2, &own);
    put(3, &own);
    expect(0, &own); /* the first of all, whose plugin has room */
    expect(2, &own);
    expect(1, &own);
    assert_null(queue_take(&queue, &own)); /* the plugin has no more room */
    queue_leave(&queue, jobs[0]);
    expect(3, &own);
    expect_none_left();
}

static void questions_come_first(void **state) {
    (void)state;
    jobs[1]->asks = true;
    put(0, &own);
    put(1, &own);
    expect(1, &own);
    expect(0, &own);
    expect_none_left();
}

static void those_of_a_thread_that_ends_are_anybody_s(void **state) {
    (void)state;
    put(0, NULL);
    put(1, &own);
    put(2, &own);
    queue_disown(&own);
    queue_check(&queue);
    assert_null(own.first);
    expect(0, &own);
    expect(1, &own);
    expect(2, &own);
    expect_none_left();
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(a_thread_takes_its_own_first, set_up, tear_down),
            cmocka_unit_test_setup_teardown(its_own_overtake_only_what_came_just_before, set_up,
                                            tear_down),
            cmocka_unit_test_setup_teardown(its_own_take_no_place_of_another_party, set_up,
                                            tear_down),
            cmocka_unit_test_setup_teardown(its_own_take_no_place_of_another_plugin, set_up,
                                            tear_down),
            cmocka_unit_test_setup_teardown(questions_come_first, set_up, tear_down),
            cmocka_unit_test_setup_teardown(those_of_a_thread_that_ends_are_anybody_s, set_up,
                                            tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
