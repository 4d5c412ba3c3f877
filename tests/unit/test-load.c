/* Images of plugins: what becomes of them when they are unloaded. */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sanitizer.h"
#include "base/thread.h"
#include "patience.h"
#include "plugin/load.h"
#include "plugin/threads.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

#define KEPT SANITIZER_ADDRESS

/* ThreadSanitizer's atexit() forgets which library it was called from, so the handler would run at
 * the end of the process, in memory that is gone. */
#define HANDLERS_WAIT SANITIZER_THREAD

/* A test that would wait for a thread for ever ends here. */
#define BLOCKED_AFTER_S 60

#define AUTO_DESC CLEANUP(descriptor_unrefp) struct descriptor *

/* ------------------------------------------------------------- helpers */

struct place {
    char root[64];
    char mark[96]; /* what atexit.so makes at its end */
};

static int place_setup(void **state) {
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        return -1;
    }
    strcpy(place->root, "/tmp/toolrack-load-XXXXXX");
    if (mkdtemp(place->root) == NULL) {
        return -1;
    }
    (void)snprintf(place->mark, sizeof place->mark, "%s/mark", place->root);
    *state = place;
    (void)alarm(BLOCKED_AFTER_S);
    return 0;
}

static int place_teardown(void **state) {
    struct place *place = *state;
    (void)alarm(0);
    (void)unlink(place->mark);
    int code = rmdir(place->root);
    free(place);
    return code;
}

static const char *mark_setting(void *user, const char *plugin_id, const char *path) {
    const struct place *place = user;
    (void)plugin_id;
    return strcmp(path, "mark") == 0 ? place->mark : NULL;
}

static const char *path_of(const char *name, char room[256]) {
    (void)snprintf(room, 256, TEST_PLUGINS "/%s.so", name);
    return room;
}

static struct descriptor *read_plugin(const char *name, struct file_identity *ret) {
    char path[256];
    struct stat st;
    struct descriptor *desc = NULL;
    CLEANUP(closep) int fd = open(path_of(name, path), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    assert_int_equal(descriptor_read(fd, &(struct descriptor_options){0}, &desc, NULL), 0);
    assert_non_null(desc->plugin);
    *ret = identity_of(&st);
    return desc;
}

/* Load one of the test's plugins. Its first tool, if asked for, is to be called without a call. */
static struct image *load(struct place *place, const char *name,
                          tr_status (**ret_run)(struct tr_call *call)) {
    char path[256];
    struct toolrack_error err = {0};
    struct file_identity identity;
    AUTO_DESC desc = read_plugin(name, &identity);
    struct log log = {0};
    struct image_host host = {.log = &log, .config = mark_setting, .user = place};
    struct image *image = NULL;
    if (image_load(path_of(name, path), &identity, desc, &host, &image, &err) < 0) {
        fail_msg("%s: %s", name, err.message);
    }
    if (ret_run != NULL) {
        void (*function)(void);
        image_entry(image, &desc->tools[0], &function, ret_run);
    }
    return image;
}

static int look_for(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    return strcmp(info->dlpi_name, user) == 0;
}

static bool is_mapped(const char *name) {
    char path[256];
    (void)path_of(name, path);
    return dl_iterate_phdr(look_for, path) != 0;
}

static void assert_unloaded(const struct unload *unload, enum unload_verdict verdict,
                            const char *cause) {
    if (KEPT) {
        verdict = UNLOAD_RESIDENT;
        cause = "kept for the sanitizer";
    }
    if (unload->verdict != verdict) {
        print_message("# verdict %d: %s\n", unload->verdict, unload->cause);
    }
    assert_int_equal(unload->verdict, verdict);
    assert_string_equal(unload->cause, cause);
}

static void skip_where_kept(void) {
    if (KEPT) {
        print_message("# skipped: images stay mapped under AddressSanitizer\n");
        skip();
    }
}

/* --------------------------------------------------------------- the file */

static void a_file_shows_what_keeps_it(void **state) {
    (void)state;
    struct file_identity identity;
    AUTO_DESC good = read_plugin("good", &identity);
    assert_null(good->resident_reason);
    AUTO_DESC nodelete = read_plugin("good-nodelete", &identity);
    assert_string_equal(nodelete->resident_reason, "NODELETE");
    AUTO_DESC locals = read_plugin("cxx/tls-destructor", &identity);
    assert_true(locals->has_thread_locals);
}

#define UNIQUE_REASON "GNU_UNIQUE symbol _ZN7counter12unique_countE"

static void skip_without_unique(void) {
    char path[256];
    if (access(path_of("cxx/unique", path), F_OK) < 0) {
        print_message("# skipped: this C++ compiler makes no unique symbols\n");
        skip();
    }
}

static void a_file_shows_its_unique_symbol(void **state) {
    (void)state;
    struct file_identity identity;
    skip_without_unique();
    AUTO_DESC unique = read_plugin("cxx/unique", &identity);
    assert_string_equal(unique->resident_reason, UNIQUE_REASON);
}

static void descriptors_are_compared(void **state) {
    (void)state;
    struct file_identity identity;
    AUTO_DESC good = read_plugin("good", &identity);
    AUTO_DESC again = read_plugin("good-stripped", &identity);
    AUTO_DESC other = read_plugin("minimal", &identity);
    assert_true(descriptor_same(good, again));
    assert_false(descriptor_same(good, other));

    /* More may be loaded than was read, but not less. */
    struct descriptor fewer = *good;
    fewer.tool_count = 1;
    assert_true(descriptor_same(&fewer, good));
    assert_false(descriptor_same(good, &fewer));
}

/* -------------------------------------------------------------- unloading */

static void an_ordinary_image_goes(void **state) {
    struct unload unload = image_unload(load(*state, "good", NULL));
    assert_unloaded(&unload, UNLOAD_GONE, "");
    assert_int_equal(is_mapped("good"), KEPT);
    unload_recheck(&unload);
    assert_unloaded(&unload, UNLOAD_GONE, "");
}

static void nothing_is_unloaded(void **state) {
    (void)state;
    struct unload unload = image_unload(NULL);
    assert_int_equal(unload.verdict, UNLOAD_GONE);
    assert_string_equal(unload.cause, "");
}

static void memory_of_the_app_counts_as_gone(void **state) {
    (void)state;
    struct file_identity identity;
    struct tr_plugin plugin = {.id = "app"};
    struct image *image = NULL;
    AUTO_DESC desc = read_plugin("good", &identity);
    assert_int_equal(image_adopt(&plugin, desc, &(struct image_host){0}, &image, NULL), 0);
    struct unload unload = image_unload(image);
    assert_int_equal(unload.verdict, UNLOAD_GONE);
}

static void nodelete_stays(void **state) {
    struct unload unload = image_unload(load(*state, "good-nodelete", NULL));
    assert_unloaded(&unload, UNLOAD_RESIDENT, "NODELETE");
    assert_true(is_mapped("good-nodelete"));
    unload_recheck(&unload);
    assert_unloaded(&unload, UNLOAD_RESIDENT, "NODELETE");
}

static void a_unique_symbol_stays(void **state) {
    skip_without_unique();
    struct unload unload = image_unload(load(*state, "cxx/unique", NULL));
    assert_unloaded(&unload, UNLOAD_RESIDENT, UNIQUE_REASON);
    assert_true(is_mapped("cxx/unique"));
}

static void *use_once(void *argument) {
    tr_status (*const *run)(struct tr_call * call) = argument;
    (void)(*run)(NULL);
    return NULL;
}

/* The destructor is registered for the thread that ran the tool. */
struct user {
    tr_status (*run)(struct tr_call *call);
    pthread_barrier_t used;
    pthread_barrier_t end;
};

static void *use_and_wait(void *argument) {
    struct user *user = argument;
    (void)user->run(NULL);
    (void)pthread_barrier_wait(&user->used);
    (void)pthread_barrier_wait(&user->end);
    return NULL;
}

static void a_destructor_keeps_it_until_its_thread_ends(void **state) {
    struct user user;
    pthread_t thread;
    skip_where_kept();
    assert_int_equal(pthread_barrier_init(&user.used, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&user.end, NULL, 2), 0);
    struct image *image = load(*state, "cxx/tls-destructor", &user.run);
    assert_int_equal(thread_start(&thread, use_and_wait, &user), 0);
    (void)pthread_barrier_wait(&user.used);

    struct unload unload = image_unload(image);
    assert_int_equal(unload.verdict, UNLOAD_PENDING);
    unload_recheck(&unload);
    assert_int_equal(unload.verdict, UNLOAD_PENDING);
    assert_true(is_mapped("cxx/tls-destructor"));

    (void)pthread_barrier_wait(&user.end);
    assert_int_equal(pthread_join(thread, NULL), 0);
    unload_recheck(&unload);
    assert_unloaded(&unload, UNLOAD_GONE, "");
    assert_false(is_mapped("cxx/tls-destructor"));
    (void)pthread_barrier_destroy(&user.used);
    (void)pthread_barrier_destroy(&user.end);
}

static void a_destructor_of_this_thread_is_named(void **state) {
    tr_status (*run)(struct tr_call * call);
    skip_where_kept();
    struct image *image = load(*state, "cxx/tls-destructor", &run);
    pthread_t thread;
    /* A thread that has ended leaves nothing, */
    assert_int_equal(thread_start(&thread, use_once, &run), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    struct unload unload = image_unload(image);
    assert_unloaded(&unload, UNLOAD_GONE, "");

    /* this one, which is older than the image, is not looked at but for its destructors. */
    image = load(*state, "cxx/tls-destructor", &run);
    (void)run(NULL);
    unload = image_unload(image);
    assert_unloaded(&unload, UNLOAD_PENDING,
                    "a destructor of a thread-local variable is registered");
    assert_true(is_mapped("cxx/tls-destructor"));
}

static void an_exit_handler_runs_and_keeps_nothing(void **state) {
    struct place *place = *state;
    if (HANDLERS_WAIT) {
        print_message("# skipped: ThreadSanitizer runs exit handlers of libraries too late\n");
        skip();
    }
    struct unload unload = image_unload(load(place, "atexit", NULL));
    assert_unloaded(&unload, UNLOAD_GONE, "");
    assert_int_equal(access(place->mark, F_OK), KEPT ? -1 : 0);
}

static void a_thread_keeps_it(struct place *place, const char *name) {
    tr_status (*end)(struct tr_call * call);
    struct unload unload = image_unload(load(place, name, &end));
    assert_unloaded(&unload, UNLOAD_PENDING, "a thread of the plugin still runs");
    unload_recheck(&unload);
    assert_unloaded(&unload, UNLOAD_PENDING, "a thread of the plugin still runs");
    assert_true(is_mapped(name));
    (void)end(NULL);
    unload_recheck(&unload);
    assert_unloaded(&unload, UNLOAD_GONE, "");
    assert_int_equal(is_mapped(name), KEPT);
}

static void a_thread_that_waits_keeps_it(void **state) {
    a_thread_keeps_it(*state, "leaves-thread");
}

static void a_thread_that_runs_keeps_it(void **state) {
    a_thread_keeps_it(*state, "leaves-busy-thread");
}

static void another_image_of_the_file_keeps_it(void **state) {
    skip_where_kept();
    struct image *first = load(*state, "good", NULL);
    struct image *second = load(*state, "good", NULL);
    struct unload unload = image_unload(first);
    assert_unloaded(&unload, UNLOAD_PENDING, "something else in the process has it open");
    struct unload other = image_unload(second);
    assert_unloaded(&other, UNLOAD_GONE, "");
    unload_recheck(&unload);
    assert_unloaded(&unload, UNLOAD_GONE, "");
}

/* ---------------------------------------------------------------- threads */

static void a_thread_older_than_the_moment_is_left_alone(void **state) {
    tr_status (*end)(struct tr_call * call);
    struct image *image = load(*state, "leaves-thread", &end);
    static char nowhere[64];
    uintptr_t data = (uintptr_t)nowhere;
    uintptr_t code;
    memcpy(&code, &end, sizeof code);
    /* Until the thread waits it counts as running anywhere; a busy machine lets it start late. */
    AWAIT(threads_in(data, data + sizeof nowhere, 0) == THREADS_NONE);
    assert_int_equal(threads_in(code - 4096, code + 4096, 0), THREADS_SOME);
    assert_int_equal(threads_in(code - 4096, code + 4096, UINT64_MAX), THREADS_NONE);
    (void)end(NULL);
    (void)image_unload(image);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_file_shows_what_keeps_it),
            cmocka_unit_test(a_file_shows_its_unique_symbol),
            cmocka_unit_test(descriptors_are_compared),
            cmocka_unit_test(nothing_is_unloaded),
            cmocka_unit_test(memory_of_the_app_counts_as_gone),
            cmocka_unit_test_setup_teardown(an_ordinary_image_goes, place_setup, place_teardown),
            cmocka_unit_test_setup_teardown(nodelete_stays, place_setup, place_teardown),
            cmocka_unit_test_setup_teardown(a_unique_symbol_stays, place_setup, place_teardown),
            cmocka_unit_test_setup_teardown(a_destructor_keeps_it_until_its_thread_ends,
                                            place_setup, place_teardown),
            cmocka_unit_test_setup_teardown(a_destructor_of_this_thread_is_named, place_setup,
                                            place_teardown),
            cmocka_unit_test_setup_teardown(an_exit_handler_runs_and_keeps_nothing, place_setup,
                                            place_teardown),
            cmocka_unit_test_setup_teardown(a_thread_that_waits_keeps_it, place_setup,
                                            place_teardown),
            cmocka_unit_test_setup_teardown(a_thread_that_runs_keeps_it, place_setup,
                                            place_teardown),
            cmocka_unit_test_setup_teardown(another_image_of_the_file_keeps_it, place_setup,
                                            place_teardown),
            cmocka_unit_test_setup_teardown(a_thread_older_than_the_moment_is_left_alone,
                                            place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
