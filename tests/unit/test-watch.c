/* The watch: what is told of real files and folders, on a clock that the tests set. What a system
 * call has changed, inotify tells before the call returns, so nothing here waits. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "failing-malloc.h"
#include "files/watch.h"
#include "remove-tree.h"

#include <cmocka.h>

CLEANUP_DEFINE(struct watch, watch_destroy)
#define AUTO_WATCH CLEANUP(watch_destroyp) struct watch *

/* A test that would wait for ever ends here; so does waiting for an event. */
#define BLOCKED_AFTER_S 120
#define EVENT_MS_MAX    10000

#define PATH_ROOM 256
#define MS(ms)    ((uint64_t)(ms)*CLOCK_NS_PER_MS)

/* ----------------------------------------------------------------- places */

struct place {
    char root[64];
    char plugins[96];
    uint64_t now_ns; /* the clock */
};

static int place_setup(void **state) {
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        return -1;
    }
    strcpy(place->root, "/tmp/toolrack-watch-XXXXXX");
    if (mkdtemp(place->root) == NULL) {
        return -1;
    }
    (void)snprintf(place->plugins, sizeof place->plugins, "%s/plugins", place->root);
    place->now_ns = MS(1000);
    *state = place;
    (void)alarm(BLOCKED_AFTER_S);
    return mkdir(place->plugins, 0755);
}

static int place_teardown(void **state) {
    struct place *place = *state;
    (void)alarm(0);
    (void)remove_tree(place->root);
    free(place);
    return 0;
}

/* A path below the root, in one of a few rooms that take turns. */
static const char *at(const struct place *place, const char *name) {
    static char rooms[4][PATH_ROOM];
    static unsigned turn;
    char *room = rooms[turn++ % ARRAY_LENGTH(rooms)];
    (void)snprintf(room, PATH_ROOM, "%s/%s", place->root, name);
    return room;
}

static void write_file(const char *path, int flags, const char *text) {
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void put(const char *path, const char *text) {
    write_file(path, O_TRUNC, text);
}

static void move(const char *from, const char *to) {
    assert_int_equal(rename(from, to), 0);
}

static void make_dir(const char *path) {
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(const char *target, const char *path) {
    assert_int_equal(symlink(target, path), 0);
}

static struct watch *watch_of(const char *folder) {
    struct watch *watch = NULL;
    struct toolrack_error err = {0};
    if (watch_create(&watch, &err) < 0 || watch_add(watch, folder, NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return watch;
}

/* ------------------------------------------------------------ expectations */

#define CHANGES_ROOM 64

/* All that is told now. */
struct told {
    struct watch_change changes[CHANGES_ROOM];
    size_t count;
};

static struct told tell(const struct place *place, struct watch *watch) {
    struct told told;
    told.count = watch_read(watch, place->now_ns, told.changes, CHANGES_ROOM);
    return told;
}

static void pass(struct place *place, unsigned ms) {
    place->now_ns += MS(ms);
}

static void assert_nothing(const struct place *place, struct watch *watch) {
    struct told told = tell(place, watch);
    for (size_t i = 0; i < told.count; i++) {
        print_message("# told %d %s\n", told.changes[i].kind, told.changes[i].path);
    }
    assert_int_equal(told.count, 0);
}

/* That and nothing else is told now. */
static void assert_told(const struct place *place, struct watch *watch, enum watch_kind kind,
                        const char *path) {
    struct told told = tell(place, watch);
    for (size_t i = 0; i < told.count; i++) {
        if (told.count > 1 || told.changes[i].kind != kind) {
            print_message("# told %d %s\n", told.changes[i].kind, told.changes[i].path);
        }
    }
    assert_int_equal(told.count, 1);
    assert_int_equal(told.changes[0].kind, kind);
    assert_string_equal(told.changes[0].path, path);
    assert_null(told.changes[0].trouble);
}

/* It is told after the debounce and not before, and then it is over. */
static void assert_settles(struct place *place, struct watch *watch, enum watch_kind kind,
                           const char *path) {
    struct pollfd poller = {.fd = watch_fd(watch), .events = POLLIN};
    assert_int_equal(poll(&poller, 1, EVENT_MS_MAX), 1);
    assert_nothing(place, watch);
    assert_int_equal(watch_next_ns(watch), place->now_ns + MS(WATCH_DEBOUNCE_MS));
    pass(place, WATCH_DEBOUNCE_MS - 1);
    assert_nothing(place, watch);
    pass(place, 1);
    assert_told(place, watch, kind, path);
    /* Watches were given up in telling, of which the kernel tells when it comes to it. */
    do {
        assert_nothing(place, watch);
        assert_int_equal(watch_next_ns(watch), WATCH_NEVER);
    } while (poll(&poller, 1, 0) == 1);
}

/* --------------------------------------------------- each way to replace a file */

static void rename_over(struct place *place) {
    put(at(place, "fresh"), "another");
    move(at(place, "fresh"), at(place, "plugins/a.so"));
}

static void overwrite(struct place *place) {
    write_file(at(place, "plugins/a.so"), 0, "other");
}

static void shorten(struct place *place) {
    CLEANUP(closep) int fd = open(at(place, "plugins/a.so"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 1), 0);
}

static void swap_link(struct place *place) {
    put(at(place, "target"), "behind a link");
    make_link(at(place, "target"), at(place, "link"));
    move(at(place, "link"), at(place, "plugins/a.so"));
}

static void set_times(const char *path, struct timespec time) {
    const struct timespec times[2] = {time, time};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void rewrite_at_the_same_time(struct place *place) {
    struct stat st;
    assert_int_equal(stat(at(place, "plugins/a.so"), &st), 0);
    overwrite(place);
    set_times(at(place, "plugins/a.so"), st.st_mtim);
}

static void rename_older_over(struct place *place) {
    put(at(place, "fresh"), "older");
    set_times(at(place, "fresh"), (struct timespec){.tv_sec = 1});
    move(at(place, "fresh"), at(place, "plugins/a.so"));
}

static void link_over(struct place *place) {
    put(at(place, "other"), "linked");
    assert_int_equal(unlink(at(place, "plugins/a.so")), 0);
    assert_int_equal(link(at(place, "other"), at(place, "plugins/a.so")), 0);
}

static void allow(struct place *place) {
    assert_int_equal(chmod(at(place, "plugins/a.so"), 0600), 0);
}

static void link_what_has_no_name(struct place *place) {
    char path[64];
    CLEANUP(closep) int fd = open(place->root, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0) {
        rename_over(place); /* not every file system has files without a name */
        return;
    }
    assert_int_equal(write(fd, "named late", 10), 10);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(unlink(at(place, "plugins/a.so")), 0);
    assert_int_equal(linkat(AT_FDCWD, path, AT_FDCWD, at(place, "plugins/a.so"), AT_SYMLINK_FOLLOW),
                     0);
}

static void every_way_to_replace_a_file_is_told_once(void **state) {
    static void (*const ways[])(struct place * place) = {rename_over,
                                                         overwrite,
                                                         shorten,
                                                         rewrite_at_the_same_time,
                                                         rename_older_over,
                                                         link_over,
                                                         allow,
                                                         swap_link,
                                                         rename_over,
                                                         link_what_has_no_name};
    struct place *place = *state;
    put(at(place, "plugins/a.so"), "first");
    AUTO_WATCH watch = watch_of(place->plugins);
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        ways[i](place);
        assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    }
    assert_int_equal(unlink(at(place, "plugins/a.so")), 0);
    assert_settles(place, watch, WATCH_GONE, at(place, "plugins/a.so"));
    put(at(place, "plugins/a.so"), "back");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    move(at(place, "plugins/a.so"), at(place, "a.so"));
    assert_settles(place, watch, WATCH_GONE, at(place, "plugins/a.so"));
}

static void other_names_are_not_told(void **state) {
    static const char *const names[] = {"plugins/a.so.new", "plugins/.a.so", "plugins/README",
                                        "plugins/.so", "b.so"};
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(place->plugins);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        put(at(place, names[i]), "text");
        assert_nothing(place, watch);
        assert_int_equal(watch_next_ns(watch), WATCH_NEVER);
    }
    move(at(place, "plugins/a.so.new"), at(place, "plugins/a.so"));
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
}

static void paths_are_those_of_a_scan(void **state) {
    struct place *place = *state;
    char folder[PATH_ROOM];
    (void)snprintf(folder, sizeof folder, "%s/", place->plugins);
    AUTO_WATCH watch = watch_of(folder);
    put(at(place, "plugins/a.so"), "text");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
}

/* -------------------------------------------------------------------- settling */

static void more_events_put_it_off(void **state) {
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(place->plugins);
    for (int i = 0; i < 3; i++) {
        rename_over(place);
        assert_nothing(place, watch);
        pass(place, WATCH_DEBOUNCE_MS - 1);
        assert_nothing(place, watch);
    }
    pass(place, 1);
    assert_told(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
}

static void a_half_written_file_waits_until_it_is_closed(void **state) {
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(place->plugins);
    {
        CLEANUP(closep)
        int fd = open(at(place, "plugins/a.so"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        for (int i = 0; i < 3; i++) {
            assert_nothing(place, watch);
            pass(place, WATCH_SETTLE_MS_MAX - 1);
            assert_nothing(place, watch);
            assert_int_equal(write(fd, "half", 4), 4);
        }
        assert_int_equal(fchmod(fd, 0755), 0); /* as cp -p does before it closes */
        assert_nothing(place, watch);
        pass(place, WATCH_SETTLE_MS_MAX - 1);
        assert_nothing(place, watch);
    }
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
}

static void a_file_that_is_never_closed_is_told_at_last(void **state) {
    struct place *place = *state;
    put(at(place, "plugins/a.so"), "text");
    AUTO_WATCH watch = watch_of(place->plugins);
    CLEANUP(closep) int fd = open(at(place, "plugins/a.so"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "half", 4), 4);
    assert_nothing(place, watch);
    assert_int_equal(watch_next_ns(watch), place->now_ns + MS(WATCH_SETTLE_MS_MAX));
    pass(place, WATCH_SETTLE_MS_MAX);
    assert_told(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    assert_int_equal(watch_next_ns(watch), WATCH_NEVER);
}

/* truncate() is a change without an end: nobody had the file open. */
static void a_file_that_is_cut_by_name_is_told_at_last(void **state) {
    struct place *place = *state;
    put(at(place, "plugins/a.so"), "text");
    AUTO_WATCH watch = watch_of(place->plugins);
    assert_int_equal(truncate(at(place, "plugins/a.so"), 1), 0);
    assert_nothing(place, watch);
    pass(place, WATCH_SETTLE_MS_MAX);
    assert_told(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
}

static void what_is_written_without_a_name_is_no_matter(void **state) {
    struct place *place = *state;
    put(at(place, "plugins/a.so"), "text");
    AUTO_WATCH watch = watch_of(place->plugins);
    CLEANUP(closep) int fd = open(at(place, "plugins/a.so"), O_WRONLY | O_CLOEXEC);
    rename_over(place);
    assert_int_equal(write(fd, "half", 4), 4); /* to the file that was there before */
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
}

static void a_burst_is_one_change(void **state) {
    struct place *place = *state;
    put(at(place, "plugins/a.so"), "text");
    put(at(place, "plugins/b.so"), "text");
    AUTO_WATCH watch = watch_of(place->plugins);
    for (int i = 0; i < 10000; i++) {
        set_times(at(place, "plugins/a.so"), (struct timespec){.tv_sec = i});
        if (i % 100 == 0) { /* else the kernel joins them */
            set_times(at(place, "plugins/b.so"), (struct timespec){.tv_sec = i});
        }
    }
    assert_nothing(place, watch);
    pass(place, WATCH_DEBOUNCE_MS);
    assert_int_equal(tell(place, watch).count, 2);
    assert_nothing(place, watch);
}

/* How many changes two seconds of doing something every ten milliseconds give; never is there more
 * than WATCH_STARVE_MS_MAX between two. */
static unsigned count_changes(struct place *place, void (*replace)(struct place *place)) {
    AUTO_WATCH watch = watch_of(place->plugins);
    unsigned count = 0;
    uint64_t last_ns = place->now_ns;
    for (int i = 0; i < 200; i++) {
        replace(place);
        size_t told = tell(place, watch).count;
        assert_true(told <= 1);
        last_ns = told > 0 ? place->now_ns : last_ns;
        count += (unsigned)told;
        assert_true(place->now_ns - last_ns <= MS(WATCH_STARVE_MS_MAX));
        pass(place, 10);
    }
    return count;
}

static int never_closed = -1;

/* Whenever somebody looks, the file has been closed since, and is being written again. */
static void overwrite_and_go_on(struct place *place) {
    closep(&never_closed);
    never_closed = open(at(place, "plugins/a.so"), O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(never_closed, "half", 4), 4);
}

static void what_never_settles_is_told_all_the_same(void **state) {
    struct place *place = *state;
    rename_over(place);
    assert_int_equal(count_changes(place, rename_over), 3);
    assert_in_range(count_changes(place, overwrite), 3, 4);
    assert_in_range(count_changes(place, overwrite_and_go_on), 3, 4);
    closep(&never_closed);
    never_closed = -1;
}

static void there_may_be_less_room_than_changes(void **state) {
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(place->plugins);
    put(at(place, "plugins/a.so"), "text");
    put(at(place, "plugins/b.so"), "text");
    assert_nothing(place, watch);
    pass(place, WATCH_DEBOUNCE_MS);
    struct watch_change one;
    struct watch_change other;
    char first[PATH_ROOM];
    assert_int_equal(watch_read(watch, place->now_ns, &one, 0), 0);
    assert_int_equal(watch_read(watch, place->now_ns, &one, 1), 1);
    (void)snprintf(first, sizeof first, "%s", one.path);
    assert_true(watch_next_ns(watch) <= place->now_ns);
    assert_int_equal(watch_read(watch, place->now_ns, &other, 1), 1);
    assert_string_not_equal(first, other.path);
    assert_nothing(place, watch);
}

/* ----------------------------------------------------------- behind the names */

static void the_target_of_a_link_is_watched(void **state) {
    struct place *place = *state;
    make_dir(at(place, "elsewhere"));
    put(at(place, "elsewhere/real"), "text");
    make_link("../elsewhere/real", at(place, "plugins/a.so"));
    AUTO_WATCH watch = watch_of(place->plugins);
    write_file(at(place, "elsewhere/real"), 0, "other");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    put(at(place, "fresh"), "renamed");
    move(at(place, "fresh"), at(place, "elsewhere/real"));
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    assert_int_equal(unlink(at(place, "elsewhere/real")), 0);
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    put(at(place, "elsewhere/real"), "back");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));

    /* Half-written files wait there as well. */
    CLEANUP(closep) int fd = open(at(place, "elsewhere/real"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "half", 4), 4);
    assert_nothing(place, watch);
    pass(place, WATCH_SETTLE_MS_MAX - 1);
    assert_nothing(place, watch);
    closep(&fd);
    fd = -1;
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));

    /* No longer a link: what it led to is nobody's business. */
    rename_over(place);
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    write_file(at(place, "elsewhere/real"), 0, "alone");
    assert_nothing(place, watch);
    assert_int_equal(watch_next_ns(watch), WATCH_NEVER);
}

/* As some mount their configuration: a.so leads through a link that is exchanged. */
static void a_link_on_the_way_to_a_target_is_watched(void **state) {
    struct place *place = *state;
    make_dir(at(place, "plugins/v1"));
    make_dir(at(place, "plugins/v2"));
    put(at(place, "plugins/v1/a.so"), "one");
    put(at(place, "plugins/v2/a.so"), "two");
    make_link("v1", at(place, "plugins/..data"));
    AUTO_WATCH watch = watch_of(place->plugins);
    make_link("..data/a.so", at(place, "plugins/a.so"));
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    make_link("v2", at(place, "plugins/..next"));
    move(at(place, "plugins/..next"), at(place, "plugins/..data"));
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    write_file(at(place, "plugins/v1/a.so"), 0, "not");
    assert_nothing(place, watch);
    write_file(at(place, "plugins/v2/a.so"), 0, "yes");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
}

static void links_in_a_circle_are_borne(void **state) {
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(place->plugins);
    make_link("b.so", at(place, "plugins/a.so"));
    make_link("a.so", at(place, "plugins/b.so"));
    assert_nothing(place, watch);
    pass(place, WATCH_DEBOUNCE_MS);
    assert_int_equal(tell(place, watch).count, 2);
    assert_int_equal(watch_next_ns(watch), WATCH_NEVER);
}

/* -------------------------------------------------------------------- folders */

static void a_missing_folder_is_waited_for(void **state) {
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(at(place, "state/of/plugins"));
    char folder[PATH_ROOM];
    (void)snprintf(folder, sizeof folder, "%s", at(place, "state/of/plugins"));
    put(at(place, "other"), "text");
    assert_nothing(place, watch);
    make_dir(at(place, "state"));
    assert_nothing(place, watch);
    pass(place, WATCH_DEBOUNCE_MS);
    assert_nothing(place, watch); /* it is there in part, which is nothing to tell */
    make_dir(at(place, "state/of"));
    make_dir(at(place, "state/of/plugins"));
    put(at(place, "state/of/plugins/a.so"), "text");
    assert_settles(place, watch, WATCH_RESCAN, folder);
    put(at(place, "state/of/plugins/b.so"), "text");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "state/of/plugins/b.so"));
}

static void a_folder_may_go_and_come_back(void **state) {
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(place->plugins);
    assert_int_equal(rmdir(place->plugins), 0);
    assert_settles(place, watch, WATCH_RESCAN, place->plugins);
    make_dir(place->plugins);
    assert_settles(place, watch, WATCH_RESCAN, place->plugins);
    put(at(place, "plugins/a.so"), "text");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));
    move(place->plugins, at(place, "away"));
    assert_settles(place, watch, WATCH_RESCAN, place->plugins);
    put(at(place, "away/a.so"), "not ours any more");
    assert_nothing(place, watch);
    assert_int_equal(watch_next_ns(watch), WATCH_NEVER);
}

static void a_folder_that_is_a_link_may_be_swapped(void **state) {
    struct place *place = *state;
    make_dir(at(place, "v1"));
    make_dir(at(place, "v2"));
    make_link("v1", at(place, "current"));
    char folder[PATH_ROOM];
    (void)snprintf(folder, sizeof folder, "%s", at(place, "current"));
    AUTO_WATCH watch = watch_of(folder);
    put(at(place, "v1/a.so"), "text");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "current/a.so"));
    make_link("v2", at(place, "next"));
    move(at(place, "next"), at(place, "current"));
    assert_settles(place, watch, WATCH_RESCAN, folder);
    put(at(place, "v1/a.so"), "old");
    assert_nothing(place, watch);
    assert_int_equal(watch_next_ns(watch), WATCH_NEVER);
    put(at(place, "v2/a.so"), "new");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "current/a.so"));
    assert_int_equal(rename(at(place, "v2"), at(place, "v3")), 0);
    assert_settles(place, watch, WATCH_RESCAN, folder);
}

static void a_folder_further_up_may_be_exchanged(void **state) {
    struct place *place = *state;
    make_dir(at(place, "up"));
    make_dir(at(place, "up/plugins"));
    make_dir(at(place, "other"));
    make_dir(at(place, "other/plugins"));
    char folder[PATH_ROOM];
    (void)snprintf(folder, sizeof folder, "%s", at(place, "up/plugins"));
    AUTO_WATCH watch = watch_of(folder);
    move(at(place, "up"), at(place, "down"));
    move(at(place, "other"), at(place, "up"));
    assert_settles(place, watch, WATCH_RESCAN, folder);
    put(at(place, "up/plugins/a.so"), "text");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "up/plugins/a.so"));
}

static void folders_are_told_apart(void **state) {
    struct place *place = *state;
    make_dir(at(place, "more"));
    AUTO_WATCH watch = watch_of(place->plugins);
    uint32_t more;
    uint32_t again;
    assert_int_equal(watch_add(watch, at(place, "more"), &more, NULL), 0);
    assert_int_equal(watch_add(watch, at(place, "more"), &again, NULL), 0);
    assert_true(more == 1 && again == 2);
    put(at(place, "more/a.so"), "text");
    assert_nothing(place, watch);
    pass(place, WATCH_DEBOUNCE_MS);
    struct told told = tell(place, watch);
    assert_int_equal(told.count, 2); /* added twice, told twice */
    assert_int_equal(told.changes[0].folder + told.changes[1].folder, 3);
}

static void what_is_no_folder_is_refused(void **state) {
    struct place *place = *state;
    put(at(place, "file"), "text");
    AUTO_WATCH watch = watch_of(place->plugins);
    struct toolrack_error err = {0};
    assert_int_equal(watch_add(watch, at(place, "file"), NULL, &err), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "it is not a folder"));
    assert_int_equal(watch_add(watch, at(place, "file/plugins"), NULL, &err), TOOLRACK_E_IO);
    put(at(place, "plugins/a.so"), "text");
    assert_settles(place, watch, WATCH_CHANGED, at(place, "plugins/a.so"));

    /* One that becomes a file has a trouble to be told. */
    move(place->plugins, at(place, "away"));
    put(place->plugins, "text");
    assert_nothing(place, watch);
    pass(place, WATCH_DEBOUNCE_MS);
    struct told told = tell(place, watch);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.changes[0].kind, WATCH_RESCAN);
    assert_non_null(strstr(told.changes[0].trouble, "it is not a folder"));
}

static void there_is_a_limit_to_folders(void **state) {
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(place->plugins);
    struct toolrack_error err = {0};
    for (unsigned i = 1; i < WATCH_FOLDERS_MAX; i++) {
        assert_int_equal(watch_add(watch, place->plugins, NULL, NULL), 0);
    }
    assert_int_equal(watch_add(watch, place->plugins, NULL, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "256 folders"));
}

/* -------------------------------------------------------------------- too much */

static void lost_events_mean_a_new_scan(void **state) {
    struct place *place = *state;
    unsigned most = 0;
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    if (file == NULL || fscanf(file, "%u", &most) != 1 || most > 1000000) {
        print_message("# skipped: no queue that could be filled (%u)\n", most);
        most = 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (most == 0) {
        skip();
    }
    put(at(place, "plugins/a.so"), "text");
    put(at(place, "plugins/b.so"), "text");
    AUTO_WATCH watch = watch_of(place->plugins);
    for (unsigned i = 0; i <= most / 2; i++) {
        set_times(at(place, "plugins/a.so"), (struct timespec){.tv_sec = i});
        set_times(at(place, "plugins/b.so"), (struct timespec){.tv_sec = i});
    }
    assert_nothing(place, watch);
    pass(place, WATCH_DEBOUNCE_MS);
    struct told told = tell(place, watch);
    assert_int_equal(told.count, 3);
    assert_int_equal(told.changes[0].kind, WATCH_RESCAN);
    assert_string_equal(told.changes[0].path, place->plugins);
    assert_nothing(place, watch);
}

static void too_many_changes_mean_a_new_scan(void **state) {
    struct place *place = *state;
    AUTO_WATCH watch = watch_of(place->plugins);
    for (unsigned i = 0; i <= WATCH_PENDING_MAX; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "plugins/%u.so", i);
        put(at(place, name), "text");
        if (i % 1000 == 0) {
            assert_nothing(place, watch); /* so that the kernel's queue has room */
        }
    }
    assert_nothing(place, watch);
    pass(place, WATCH_DEBOUNCE_MS);
    size_t count = 0;
    size_t scans = 0;
    for (struct told told; (told = tell(place, watch)).count > 0;) {
        for (size_t i = 0; i < told.count; i++) {
            scans += told.changes[i].kind == WATCH_RESCAN;
        }
        count += told.count;
    }
    assert_int_equal(scans, 1);
    assert_int_equal(count, WATCH_PENDING_MAX + 1);
    assert_int_equal(watch_next_ns(watch), WATCH_NEVER);
}

/* Whatever memory there is, what happened is told, or the folder is to be scanned. */
static void running_out_of_memory_loses_nothing(void **state) {
    struct place *place = *state;
    put(at(place, "target"), "text");
    bool hit = true;
    for (unsigned n = 1; hit; n++) {
        struct watch *watch = NULL;
        failing_malloc_set(n);
        int code = watch_create(&watch, NULL);
        code = code == 0 ? watch_add(watch, place->plugins, NULL, NULL) : code;
        size_t count = 0;
        if (code == 0) {
            make_link("../target", at(place, "plugins/a.so"));
            assert_nothing(place, watch);
            pass(place, WATCH_DEBOUNCE_MS);
            count = tell(place, watch).count;
        }
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(code == 0 || (hit && code == TOOLRACK_E_NO_MEMORY));
        if (code == 0 && count == 0) {
            assert_true(hit && watch_next_ns(watch) != WATCH_NEVER);
            pass(place, WATCH_DEBOUNCE_MS);
            count = tell(place, watch).count;
        }
        assert_int_equal(count > 0, code == 0);
        watch_destroy(watch);
        (void)unlink(at(place, "plugins/a.so"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
            TEST(every_way_to_replace_a_file_is_told_once),
            TEST(other_names_are_not_told),
            TEST(paths_are_those_of_a_scan),
            TEST(more_events_put_it_off),
            TEST(a_half_written_file_waits_until_it_is_closed),
            TEST(a_file_that_is_never_closed_is_told_at_last),
            TEST(a_file_that_is_cut_by_name_is_told_at_last),
            TEST(what_is_written_without_a_name_is_no_matter),
            TEST(a_burst_is_one_change),
            TEST(what_never_settles_is_told_all_the_same),
            TEST(there_may_be_less_room_than_changes),
            TEST(the_target_of_a_link_is_watched),
            TEST(a_link_on_the_way_to_a_target_is_watched),
            TEST(links_in_a_circle_are_borne),
            TEST(a_missing_folder_is_waited_for),
            TEST(a_folder_may_go_and_come_back),
            TEST(a_folder_that_is_a_link_may_be_swapped),
            TEST(a_folder_further_up_may_be_exchanged),
            TEST(folders_are_told_apart),
            TEST(what_is_no_folder_is_refused),
            TEST(there_is_a_limit_to_folders),
            TEST(lost_events_mean_a_new_scan),
            TEST(too_many_changes_mean_a_new_scan),
            TEST(running_out_of_memory_loses_nothing),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
