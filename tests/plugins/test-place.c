/* The plugin filesystem finds and opens paths within its folders by itself, without a sandbox
 * around it: with openat2(), and folder by folder where the kernel or the sandbox does not give
 * that. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <toolrack/ext/paths.h>
#include <unistd.h>

/* A number that no call has: the kernel says ENOSYS, as one without openat2() does. */
static bool lacks_openat2;
enum { OPENAT2 = SYS_openat2 };
#undef SYS_openat2
#define SYS_openat2 (lacks_openat2 ? 100000 : OPENAT2)
#include "place.c" /* before cmocka, which has a macro fail() */

#include <cmocka.h>

#include "granted-root.h"

/* The exchanges of two names, and the paths that are opened meanwhile. */
#define ROUNDS 3000

static void put(const char *name, const char *text) {
    char path[300];
    FILE *file = fopen(in_work(name, path), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void link_to(const char *name, const char *target) {
    char path[300];
    assert_int_equal(symlink(target, in_work(name, path)), 0);
}

static void make_folder(const char *name) {
    char path[300];
    assert_int_equal(mkdir(in_work(name, path), 0700), 0);
}

static int set_up(void **state) {
    struct tr_host host = {.api = &granted_api};
    char path[300];
    (void)state;
    granted_make();
    make_folder("root/a");
    make_folder("root/a/b");
    make_folder("root-outside");
    put("root/a/file", "inside");
    put("root/a/b/deep", "inside");
    put("root-outside/file", "outside");
    link_to("root/to-file", "a/file");
    link_to("root/to-a", "a/");
    link_to("root/a/up", "..");
    link_to("root/a/b/far-up", "../../a/up/a");
    link_to("root/absolute", in_work("root/a", path));
    link_to("root/out", in_work("root-outside", path));
    link_to("root/relative-out", "../root-outside");
    link_to("root/nothing", "not-there");
    link_to("root/circle", "circle");
    link_to("root/magic", "/proc/self/cwd");
    assert_int_equal(place_open_roots(&host), TR_OK);
    assert_int_equal(place_root_count(), 1);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk) {
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state) {
    (void)state;
    place_close_roots();
    return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Where a path leads, relative to the root; NULL: it is refused. */
static void expect(const char *given, const char *below_root, bool exists) {
    struct place place;
    struct place_fault fault = {0};
    bool is_found = place_find(given, &place, &fault);
    if (is_found != (below_root != NULL)) {
        fail_msg("%s: %s", given, is_found ? place.path : fault.message);
    }
    if (is_found) {
        assert_string_equal(place_below(&place), below_root);
        assert_int_equal(place.exists, exists);
    } else {
        assert_true(fault.message[0] != '\0');
    }
}

static void paths_lead_where_the_kernel_leads_them(void) {
    char path[300];
    expect("a/file", "a/file", true);
    expect(".", "", true);
    expect(root, "", true);
    expect(in_work("root/a/../a//./file", path), "a/file", true);
    expect("to-file", "a/file", true);
    expect("to-a/b/deep", "a/b/deep", true);
    expect("a/up/a/file", "a/file", true);
    expect("a/b/far-up/file", "a/file", true);
    expect("absolute/b/deep", "a/b/deep", true);
    expect("new", "new", false);
    expect("to-a/new/newer", "a/new/newer", false);
    expect("nothing", NULL, false);
    expect("circle", NULL, false);
    expect("out", NULL, false);
    expect("out/file", NULL, false);
    expect("relative-out/file", NULL, false);
    expect("a/up/../root-outside/file", "a/root-outside/file", false); /* .. goes by the text */
    expect("magic/file", NULL, false);
    expect("..", NULL, false);
    expect("../root-outside/file", NULL, false);
    expect(in_work("root-outside/file", path), NULL, false);
    expect(in_work("roo", path), NULL, false);
    expect("/", NULL, false);
    expect("", NULL, false);
    expect("a/file/x", NULL, false);
}

static void with_openat2(void **state) {
    (void)state;
    lacks_openat2 = false;
    paths_lead_where_the_kernel_leads_them();
}

static void without_openat2(void **state) {
    (void)state;
    lacks_openat2 = true;
    paths_lead_where_the_kernel_leads_them();
}

/* ------------------------------------------------------------------- races */

static atomic_bool is_over;

/* A folder is a link, and a link a folder, at any moment. */
static void *exchange(void *argument) {
    char one[300];
    char two[300];
    (void)argument;
    (void)in_work("root/a/b", one);
    (void)in_work("root/out", two);
    while (!atomic_load(&is_over)) {
        (void)renameat2(AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE);
    }
    return NULL;
}

/* Of a file that is there inside and outside only the one inside is ever opened. */
static void nothing_leads_out(void) {
    pthread_t thread;
    char path[300];
    struct stat outside;
    struct stat opened;
    unsigned count = 0;
    put("root/a/b/file", "inside");
    assert_int_equal(stat(in_work("root-outside/file", path), &outside), 0);
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, exchange, NULL), 0);
    for (unsigned i = 0; i < ROUNDS || (count == 0 && i < 1000 * ROUNDS); i++) {
        struct place place;
        struct place_fault fault;
        int fd = place_find("a/b/file", &place, &fault) ? place_open_file(&place) : -1;
        if (fd >= 0) {
            assert_int_equal(fstat(fd, &opened), 0);
            assert_true(opened.st_ino != outside.st_ino);
            assert_int_equal(close(fd), 0);
            count++;
        }
    }
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(count > 0);
}

static void a_race_with_openat2(void **state) {
    (void)state;
    lacks_openat2 = false;
    nothing_leads_out();
}

static void a_race_without_openat2(void **state) {
    (void)state;
    lacks_openat2 = true;
    nothing_leads_out();
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(with_openat2), CASE(without_openat2),
                                       CASE(a_race_with_openat2), CASE(a_race_without_openat2)};
#undef CASE
    return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
