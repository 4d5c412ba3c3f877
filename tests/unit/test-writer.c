/* The thread that writes in batches: when it writes, and that it forgets no row. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "store/writer.h"

/* Rows that are nothing but counted. */
struct heap {
    struct store_writer_source source;
    atomic_uint rows;
    atomic_uint written;
    atomic_uint batches;
    unsigned many;
    atomic_bool held; /* write() does not return */
    atomic_bool inside;
    pthread_t thread; /* that wrote last */
};

static struct store_writer *writer;
static struct heap heap;
static struct heap other;

static void sleep_ms(long ms) {
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void write_rows(void *user) {
    struct heap *from = user;
    from->thread = pthread_self();
    atomic_store(&from->inside, true);
    while (atomic_load(&from->held)) {
        sleep_ms(1);
    }
    (void)atomic_fetch_add(&from->written, atomic_exchange(&from->rows, 0));
    (void)atomic_fetch_add(&from->batches, 1);
    atomic_store(&from->inside, false);
}

static enum store_writer_rows count_rows(void *user) {
    struct heap *of = user;
    unsigned rows = atomic_load(&of->rows);
    return rows == 0 ? STORE_WRITER_NONE : rows < of->many ? STORE_WRITER_SOME : STORE_WRITER_MANY;
}

static void add(struct heap *to, unsigned gather_ms) {
    *to = (struct heap){
            .source = {.gather_ms = gather_ms, .write = write_rows, .rows = count_rows, .user = to},
            .many = 100};
    store_writer_add(writer, &to->source);
}

static void put(struct heap *into, unsigned rows) {
    unsigned before = atomic_fetch_add(&into->rows, rows);
    store_writer_note(&into->source, before + rows >= into->many);
}

/* At most ten seconds: a row that was forgotten fails the test. */
static void wait_for(atomic_uint *number, unsigned wanted) {
    for (int i = 0; i < 10000 && atomic_load(number) != wanted; i++) {
        sleep_ms(1);
    }
    assert_int_equal(atomic_load(number), wanted);
}

static int create(void **state) {
    (void)state;
    writer = store_writer_create();
    return writer != NULL ? 0 : -1;
}

static int destroy(void **state) {
    (void)state;
    atomic_store(&heap.held, false);
    store_writer_destroy(writer);
    return 0;
}

static void rows_are_gathered(void **state) {
    (void)state;
    add(&heap, 100);
    uint64_t from_ns = clock_now_ns();
    put(&heap, 1);
    put(&heap, 2);
    wait_for(&heap.written, 3);
    assert_true(clock_now_ns() - from_ns >= 100 * (uint64_t)CLOCK_NS_PER_MS);
    assert_int_equal(atomic_load(&heap.batches), 1);
    assert_false(pthread_equal(heap.thread, pthread_self()));
    pthread_t first = heap.thread;
    put(&heap, 1);
    wait_for(&heap.written, 4);
    assert_int_equal(atomic_load(&heap.batches), 2);
    assert_true(pthread_equal(heap.thread, first));
}

static void many_rows_are_written_at_once(void **state) {
    (void)state;
    add(&heap, 1000000);
    put(&heap, 1);
    sleep_ms(20);
    assert_int_equal(atomic_load(&heap.batches), 0);
    put(&heap, 99);
    wait_for(&heap.written, 100);
    put(&heap, 100);
    wait_for(&heap.written, 200);
}

static void rows_that_come_meanwhile_are_written_too(void **state) {
    (void)state;
    static const unsigned rows[] = {7, 100};
    for (unsigned i = 0; i < 2; i++) {
        store_writer_destroy(writer);
        writer = store_writer_create();
        add(&heap, rows[i] < heap.many ? 20 : 1000000);
        atomic_store(&heap.held, true);
        put(&heap, 100);
        while (!atomic_load(&heap.inside)) {
            sleep_ms(1);
        }
        assert_int_equal(atomic_exchange(&heap.rows, 0), 100); /* written already */
        atomic_store(&heap.held, false);
        put(&heap, rows[i]);
        wait_for(&heap.written, rows[i]);
    }
}

/* The one that always has rows, and many of them, does not keep the other from being written. */
static void no_source_waits_for_another(void **state) {
    (void)state;
    add(&other, 20);
    add(&heap, 1000000);
    put(&other, 1);
    /* Either may be the first: the thread may start after both are due. */
    while (atomic_load(&other.written) == 0 || atomic_load(&heap.batches) < 2) {
        put(&heap, 100);
        sleep_ms(1);
    }
    assert_int_equal(atomic_load(&other.written), 1);
    assert_true(pthread_equal(heap.thread, other.thread));
}

static void *put_and_pause(void *argument) {
    struct timespec pause = {.tv_nsec = 100000};
    for (unsigned i = 0; i < 2000; i++) {
        put(&heap, 1);
        put(&other, 1);
        if (i % 8 == 0) {
            (void)nanosleep(&pause, NULL);
        }
    }
    return argument;
}

static void no_row_is_forgotten(void **state) {
    (void)state;
    pthread_t threads[4];
    add(&heap, 0);
    add(&other, 1);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_pause, NULL), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    wait_for(&heap.written, 8000);
    wait_for(&other.written, 8000);
}

static void a_writer_that_was_stopped_leaves_the_rows(void **state) {
    (void)state;
    add(&heap, 1000000);
    put(&heap, 5);
    store_writer_stop(writer);
    put(&heap, 100);
    sleep_ms(20);
    assert_int_equal(atomic_load(&heap.batches), 0);
    assert_int_equal(atomic_load(&heap.rows), 105);
    store_writer_stop(writer);
    store_writer_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(rows_are_gathered),
                                       TEST(many_rows_are_written_at_once),
                                       TEST(rows_that_come_meanwhile_are_written_too),
                                       TEST(no_source_waits_for_another),
                                       TEST(no_row_is_forgotten),
                                       TEST(a_writer_that_was_stopped_leaves_the_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
