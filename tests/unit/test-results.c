/* Results that are too long for a model: what is kept of them, how it is read, and what goes. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "failing-malloc.h"
#include "provider/results.h"

#include <cmocka.h>

CLEANUP_DEFINE(struct results, results_destroy)

static char dir[64];
static struct toolrack_error err;

static int set_up(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-test-XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[96];
    (void)snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command);
}

static struct results *open_results(const char *state_dir, const char *conversation) {
    struct results *results = NULL;
    assert_int_equal(results_create(state_dir, conversation, &results, &err), 0);
    return results;
}

static uint64_t keep(struct results *results, const char *text) {
    CLEANUP(freep) char *copy = strdup(text);
    size_t length = strlen(copy);
    uint64_t number = 0;
    assert_int_equal(results_keep(results, copy, &length, &number, &err), 0);
    return number;
}

static void expect_part(const struct results *results, uint64_t begin, size_t length,
                        const char *expected, uint64_t expected_begin) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct results_part part = {.number = 1, .begin = begin};
    assert_int_equal(results_read(results, &part, length, &out, &err), 0);
    assert_string_equal(out.data, expected);
    assert_int_equal(part.begin, expected_begin);
    assert_int_equal(part.end, expected_begin + strlen(expected));
}

static void expect_read(const struct results *results, uint64_t number, uint64_t begin, int code) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct results_part part = {.number = number, .begin = begin};
    size_t count;
    assert_int_equal(results_read(results, &part, 100, &out, &err), code);
    assert_int_equal(results_find(results, &part, "x", &out, &count, &err), code);
}

static void path_of(const char *name, char ret[160]) {
    (void)snprintf(ret, 160, "%s/results/%s", dir, name);
}

static bool is_there(const char *name) {
    char path[160];
    path_of(name, path);
    return access(path, F_OK) == 0;
}

/* A file of another conversation, so old and of so many bytes, none of which is written. */
static void make_file(const char *name, time_t age_s, off_t size) {
    char path[160];
    path_of(name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const struct timespec then = {.tv_sec = time(NULL) - age_s};
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(futimens(fd, (const struct timespec[]){then, then}), 0);
    assert_int_equal(close(fd), 0);
}

/* In files, and in memory. */
#define WAYS 2u

static struct results *open_way(size_t way) {
    return open_results(way == 0 ? dir : NULL, "c-1");
}

static void parts_are_whole_characters(void **state) {
    (void)state;
    for (size_t way = 0; way < WAYS; way++) {
        CLEANUP(results_destroyp) struct results *results = open_way(way);
        assert_int_equal(keep(results, "a\xc3\xa9\xe2\x98\x83\xf0\x9f\x98\x80z"), 1);
        expect_part(results, 0, 1, "a", 0);
        expect_part(results, 0, 2, "a", 0);
        expect_part(results, 0, 3, "a\xc3\xa9", 0);
        expect_part(results, 2, 3, "\xe2\x98\x83", 3);
        /* At least one, where less is wanted. */
        expect_part(results, 6, 1, "\xf0\x9f\x98\x80", 6);
        expect_part(results, 7, 5, "z", 10);
        expect_part(results, 0, SIZE_MAX, "a\xc3\xa9\xe2\x98\x83\xf0\x9f\x98\x80z", 0);
        expect_part(results, 10, 1000, "z", 10);
    }
}

static void what_is_not_there_is_refused(void **state) {
    (void)state;
    for (size_t way = 0; way < WAYS; way++) {
        CLEANUP(results_destroyp) struct results *results = open_way(way);
        expect_read(results, 1, 0, TOOLRACK_E_NOT_FOUND);
        assert_int_equal(keep(results, "x"), 1);
        expect_read(results, 0, 0, TOOLRACK_E_NOT_FOUND);
        expect_read(results, 2, 0, TOOLRACK_E_NOT_FOUND);
        expect_read(results, UINT64_MAX, 0, TOOLRACK_E_NOT_FOUND);
        expect_read(results, 1, 1, TOOLRACK_E_INVALID_ARGUMENTS);
        expect_read(results, 1, UINT64_C(1) << 63, TOOLRACK_E_INVALID_ARGUMENTS);
        expect_read(results, 1, UINT64_MAX, TOOLRACK_E_INVALID_ARGUMENTS);
        expect_read(results, 1, 0, 0);
    }
}

static void places_of_a_text_are_found(void **state) {
    (void)state;
    for (size_t way = 0; way < WAYS; way++) {
        CLEANUP(results_destroyp) struct results *results = open_way(way);
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        size_t count = 0;
        for (size_t i = 0; i < RESULTS_PLACES_MAX + 5; i++) {
            buf_add_text(&text, "\xc3\xa9 needle\nnext ");
        }
        assert_int_equal(keep(results, text.data), 1);
        struct results_part part = {.number = 1};
        assert_int_equal(results_find(results, &part, "needle", &out, &count, &err), 0);
        assert_int_equal(count, RESULTS_PLACES_MAX);
        assert_int_equal(strncmp(out.data, "byte 3: \xc3\xa9 needle", 17), 0);
        assert_int_equal(part.size, text.length);
        part.begin = part.end;
        buf_clear(&out);
        assert_int_equal(results_find(results, &part, "needle", &out, &count, &err), 0);
        assert_int_equal(count, 5);
        assert_int_equal(part.end, text.length);
        part.begin = 0;
        assert_int_equal(results_find(results, &part, "nail", &out, &count, &err), 0);
        assert_int_equal(count, 0);
    }
}

/* A key is overwritten before anything is kept, so that no two parts hold it between them. */
static void no_key_is_kept(void **state) {
    (void)state;
    struct key_secret secret = {.text = (char[]){"secret-key"}, .length = 10};
    const struct key key = {.secrets = &secret, .secret_count = 1};
    for (size_t way = 0; way < WAYS; way++) {
        CLEANUP(results_destroyp) struct results *results = open_way(way);
        results_hide(results, &key, NULL);
        assert_int_equal(keep(results, "a secret-key here"), 1);
        expect_part(results, 0, 6, "a ****", 0);
        expect_part(results, 6, 20, "****** here", 6);
    }
}

/* The same of the secrets of calls, in place of which there is less. */
static void no_secret_is_kept(void **state) {
    (void)state;
    static const char zero[] = "a hunter2\0hunter2, b";
    CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
    for (size_t way = 0; way < WAYS; way++) {
        CLEANUP(results_destroyp) struct results *results = open_way(way);
        results_hide(results, NULL, &secrets);
        buf_clear(&secrets);
        assert_int_equal(keep(results, "a hunter2 here"), 1);
        buf_add(&secrets, "hunter2", sizeof "hunter2");
        expect_part(results, 0, 20, "a hunter2 here", 0); /* it was none */
        char text[sizeof zero];
        size_t length = sizeof zero - 1;
        uint64_t number = 0;
        memcpy(text, zero, sizeof zero);
        assert_int_equal(results_keep(results, text, &length, &number, &err), 0);
        assert_int_equal(length, sizeof "a ***\0***, b" - 1);
        assert_memory_equal(text, "a ***\0***, b", length + 1);
        results_hide(results, NULL, NULL);
    }
}

static void each_conversation_has_its_own(void **state) {
    (void)state;
    CLEANUP(results_destroyp) struct results *one = open_results(dir, "c");
    CLEANUP(results_destroyp) struct results *other = open_results(dir, "c-1");
    assert_int_equal(keep(one, "mine"), 1);
    assert_int_equal(keep(other, "theirs"), 1);
    expect_part(one, 0, 10, "mine", 0);
    expect_part(other, 0, 10, "theirs", 0);
    /* A later process goes on, and a number is not used again. */
    CLEANUP(results_destroyp) struct results *later = open_results(dir, "c");
    assert_int_equal(results_count(later), 1);
    expect_part(later, 0, 10, "mine", 0);
    assert_int_equal(keep(later, "second"), 2);
    assert_int_equal(keep(one, "third"), 3);
    assert_int_equal(results_forget(dir, "c", &err), 0);
    assert_false(is_there("c.1") || is_there("c.2") || is_there("c.3"));
    assert_true(is_there("c-1.1"));
    expect_read(one, 1, 0, TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "not kept any more"));
    assert_int_equal(results_forget("/nonexistent", "c", &err), 0);
}

/* An id that an app made up is no part of a path. */
static void an_odd_conversation_is_in_memory(void **state) {
    (void)state;
    static const char *const odd[] = {"../c", "a/b", "", "a.1", "a\nb"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        CLEANUP(results_destroyp) struct results *results = open_results(dir, odd[i]);
        assert_int_equal(keep(results, "text"), 1);
        expect_part(results, 0, 10, "text", 0);
    }
    assert_int_equal(rmdir(dir), 0); /* nothing is there */
    assert_int_equal(mkdir(dir, 0700), 0);
}

static void files_are_private_and_no_links(void **state) {
    (void)state;
    struct stat st;
    char path[160];
    CLEANUP(results_destroyp) struct results *results = open_results(dir, "c");
    assert_int_equal(keep(results, "text"), 1);
    path_of("c.1", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(unlink(path) | symlink("/etc/passwd", path), 0);
    expect_read(results, 1, 0, TOOLRACK_E_IO);
    path_of("c.2", path);
    assert_int_equal(symlink("/nonexistent/file", path), 0);
    assert_int_equal(keep(results, "text"), 3); /* beside what is in the way */
}

static void the_oldest_make_room(void **state) {
    (void)state;
    CLEANUP(results_destroyp) struct results *results = open_results(dir, "c");
    assert_int_equal(keep(results, "text"), 1);
    make_file("old.1", RESULTS_AGE_S_MAX + 60, 1);
    make_file("large.1", 300, RESULTS_BYTES_MAX / 2);
    make_file("large.2", 200, RESULTS_BYTES_MAX / 2);
    make_file("not-a-result", RESULTS_AGE_S_MAX + 60, 1);
    make_file("no.number", RESULTS_AGE_S_MAX + 60, 1);
    assert_int_equal(keep(results, "text"), 2);
    assert_false(is_there("old.1") || is_there("large.1"));
    assert_true(is_there("large.2") && is_there("c.1") && is_there("c.2"));
    assert_true(is_there("not-a-result") && is_there("no.number"));
}

static void memory_has_a_limit(void **state) {
    (void)state;
    CLEANUP(results_destroyp) struct results *results = open_results(NULL, "c");
    size_t size = RESULTS_BYTES_MAX / 4;
    CLEANUP(freep) char *text = calloc(1, size + 1);
    uint64_t number = 0;
    assert_non_null(text);
    memset(text, 'a', size);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(results_keep(results, text, &size, &number, &err), 0);
    }
    expect_read(results, 1, 0, TOOLRACK_E_NOT_FOUND);
    expect_read(results, 2, 0, 0);
    expect_read(results, 5, 0, 0);
}

static void a_full_disk_loses_nothing_kept(void **state) {
    (void)state;
    char path[160];
    CLEANUP(results_destroyp) struct results *results = open_results(dir, "c");
    char text[] = "text";
    size_t length = sizeof text - 1;
    uint64_t number = 0;
    (void)snprintf(path, sizeof path, "%s/results", dir);
    int fd =
            open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* a file where the folder is to be */
    assert_int_equal(close(fd), 0);
    assert_int_equal(results_keep(results, text, &length, &number, &err), TOOLRACK_E_IO);
    assert_int_equal(number, 0);
    assert_int_equal(results_count(results), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(keep(results, "text"), 1);
}

/* The n-th allocation fails, for every n. */
static void without_memory_it_says_so(void **state) {
    (void)state;
    for (size_t way = 0; way < WAYS; way++) {
        CLEANUP(results_destroyp) struct results *results = open_way(way);
        int code = TOOLRACK_E_NO_MEMORY;
        assert_int_equal(keep(results, "first x"), 1);
        for (unsigned n = 1; code == TOOLRACK_E_NO_MEMORY; n++) {
            char text[] = "x second";
            size_t length = sizeof text - 1;
            struct results_part part = {.number = 1};
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            struct results *other = NULL;
            uint64_t number;
            size_t count;
            assert_true(n < 200);
            failing_malloc_set(n);
            code = results_create(way == 0 ? dir : NULL, "c-1", &other, &err);
            code = code < 0 ? code : results_keep(other, text, &length, &number, &err);
            code = code < 0 ? code : results_read(results, &part, 3, &out, &err);
            code = code < 0 ? code : results_find(results, &part, "x", &out, &count, &err);
            failing_malloc_set(0);
            results_destroy(other);
        }
        assert_int_equal(code, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(parts_are_whole_characters),
            TEST(what_is_not_there_is_refused),
            TEST(places_of_a_text_are_found),
            TEST(no_key_is_kept),
            TEST(no_secret_is_kept),
            TEST(each_conversation_has_its_own),
            TEST(an_odd_conversation_is_in_memory),
            TEST(files_are_private_and_no_links),
            TEST(the_oldest_make_room),
            TEST(memory_has_a_limit),
            TEST(a_full_disk_loses_nothing_kept),
            TEST(without_memory_it_says_so),
    };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
