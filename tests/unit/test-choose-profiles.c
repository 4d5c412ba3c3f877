/* What is kept of tools that were read: each once, within its bounds, and by any number of threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "choose/profiles.h"
#include "toolrack/toolrack.h"

#include <cmocka.h>

#include "failing-malloc.h"

#define THREADS 4
#define ROUNDS  200u
#define UIDS    8u

static const struct index_document texts = {
        .name = "read_file",
        .description = "Read the content of a file, for example \"/etc/hosts\".",
        .schema_json = "{\"type\":\"object\",\"properties\":{"
                       "\"path\":{\"type\":\"string\",\"description\":\"path, such as notes\"},"
                       "\"mode\":{\"enum\":[\"text\",\"binary\"]},"
                       "\"options\":{\"type\":\"object\",\"properties\":{"
                       "\"limit\":{\"type\":\"integer\"},\"tail\":{\"type\":\"boolean\"}}}},"
                       "\"required\":[\"path\"]}"};

static struct profiles *profiles;

static int begin(void **state) {
    (void)state;
    profiles = profiles_create(NULL, PROFILES_SIZE_MAX);
    return profiles != NULL ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    profiles_destroy(profiles);
    return 0;
}

static struct profile *get(uint64_t uid) {
    struct profile *profile = NULL;
    assert_int_equal(profiles_get(profiles, uid, &texts, &profile, NULL), 0);
    return profile;
}

static size_t count(void) {
    size_t kept, bytes;
    profiles_measure(profiles, &kept, &bytes);
    return kept;
}

static size_t size(void) {
    size_t kept, bytes;
    profiles_measure(profiles, &kept, &bytes);
    return bytes;
}

static void a_tool_is_read_once(void **state) {
    (void)state;
    struct profile *first = get(1);
    struct profile *again = get(1);
    struct profile *other = get(2);
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, other);
    assert_int_equal(count(), 2);
    profile_unref(first);
    profile_unref(again);
    profile_unref(other);
}

static void what_steps_need_is_read(void **state) {
    (void)state;
    struct profile *profile = get(1);
    const struct parameters *parameters = profile_parameters(profile);
    assert_int_equal(parameters->count, 4);
    assert_string_equal(parameters->list[0].pointer, "/path");
    assert_string_equal(parameters->list[3].pointer, "/options/tail");
    assert_int_equal(parameters->list[0].example_count, 1);
    assert_memory_equal(parameters->list[0].examples[0].text, "notes", 5);
    assert_int_equal(parameters->list[1].choice_count, 2);
    assert_non_null(yyjson_obj_get(profile_schema(profile), "properties"));
    assert_true(profile_size(profile) > fit_tool_size(profile_fit(profile)));
    profile_unref(profile);
}

static void a_schema_that_is_no_json_is_none(void **state) {
    (void)state;
    const struct index_document broken = {.name = "broken", .schema_json = "{"};
    struct profile *profile = NULL;
    assert_int_equal(profiles_get(profiles, 1, &broken, &profile, NULL), 0);
    assert_null(profile_schema(profile));
    assert_int_equal(profile_parameters(profile)->count, 0);
    profile_unref(profile);
}

static void a_profile_outlives_what_kept_it(void **state) {
    (void)state;
    struct profile *profile = get(1);
    profiles_forget(profiles, 1);
    profiles_forget(profiles, 1);
    assert_int_equal(count(), 0);
    assert_int_equal(size(), 0);
    struct profile *again = get(1);
    assert_ptr_not_equal(profile, again);
    assert_int_equal(profile_parameters(profile)->count, 4);
    profile_unref(profile);
    profile_unref(again);
}

/* The one that was not asked for the longest goes. */
static void memory_is_bounded(void **state) {
    (void)state;
    profile_unref(get(1));
    size_t one = size();
    profiles_destroy(profiles);
    profiles = profiles_create(NULL, 3 * one);
    struct profile *first = get(1);
    profile_unref(get(2));
    profile_unref(get(3));
    profile_unref(get(1));
    profile_unref(get(4));
    assert_int_equal(count(), 3);
    assert_true(size() <= 3 * one);
    struct profile *again = get(1);
    assert_ptr_equal(first, again);
    profile_unref(first);
    profile_unref(again);

    profiles_destroy(profiles);
    profiles = profiles_create(NULL, one - 1);
    profile_unref(get(1));
    assert_int_equal(count(), 0);
}

static void without_memory_nothing_is_lost(void **state) {
    (void)state;
    int code = -1;
    for (unsigned n = 1; code < 0; n++) {
        struct profile *profile = NULL;
        failing_malloc_set(n);
        code = profiles_get(profiles, n, &texts, &profile, NULL);
        failing_malloc_set(0);
        assert_true(code == 0 || code == TOOLRACK_E_NO_MEMORY);
        assert_int_equal(code == 0, profile != NULL);
        profile_unref(profile);
    }
}

static atomic_uint wrong;

static void *use(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct profile *profile = NULL;
        if (profiles_get(profiles, i % UIDS, &texts, &profile, NULL) < 0 ||
            profile_parameters(profile)->count != 4) {
            atomic_fetch_add(&wrong, 1);
        }
        if (i % 3 == 0) {
            profiles_forget(profiles, i % UIDS);
        }
        profile_unref(profile);
    }
    return NULL;
}

static void threads_share_them(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    profile_unref(get(1));
    size_t one = size();
    profiles_destroy(profiles);
    profiles = profiles_create(NULL, UIDS / 2 * one);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use, NULL), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&wrong), 0);
}

int main(void) {
#define EACH(function) cmocka_unit_test_setup_teardown(function, begin, end)
    const struct CMUnitTest tests[] = {
            EACH(a_tool_is_read_once),
            EACH(what_steps_need_is_read),
            EACH(a_schema_that_is_no_json_is_none),
            EACH(a_profile_outlives_what_kept_it),
            EACH(memory_is_bounded),
            EACH(without_memory_nothing_is_lost),
            EACH(threads_share_them),
    };
    return cmocka_run_group_tests_name("choose-profiles", tests, NULL, NULL);
}
