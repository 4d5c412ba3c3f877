/* The stage: copies that are what they were copied from, that nobody else can touch, and that do
 * not pile up. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "failing-malloc.h"
#include "files/stage.h"
#include "patience.h"
#include "plugin/descriptor.h"
#include "remove-tree.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct stage, stage_close)
#define AUTO_STAGE CLEANUP(stage_closep) struct stage *

/* A test that would wait for ever ends here. */
#define BLOCKED_AFTER_S 60

#define PATH_ROOM 256

/* ------------------------------------------- what happens while a file is read */

/* Called after each reading of a piece of a file, once set. */
static void (*while_reading)(void *bytes, ssize_t count);
static unsigned reads;
/* What the clock says; 0: the truth. */
static int64_t now_ns;
static bool mounted_noexec;

/* The linker leads the module's calls here (see meson.build). */
ssize_t __real_pread64(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at);
int __real_fstatvfs64(int fd, struct statvfs *ret);
int __wrap_fstatvfs64(int fd, struct statvfs *ret);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at) {
    ssize_t got = __real_pread64(fd, to, size, at);
    if (while_reading != NULL) {
        reads++;
        while_reading(to, got);
    }
    return got;
}

int __wrap_fstatvfs64(int fd, struct statvfs *ret) {
    int code = __real_fstatvfs64(fd, ret);
    ret->f_flag |= mounted_noexec ? ST_NOEXEC : 0;
    return code;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
    if (clock == CLOCK_REALTIME && now_ns != 0) {
        *ret = (struct timespec){.tv_sec = now_ns / CLOCK_NS_PER_S,
                                 .tv_nsec = now_ns % CLOCK_NS_PER_S};
        return 0;
    }
    return __real_clock_gettime(clock, ret);
}

/* ----------------------------------------------------------------- places */

/* A temporary folder with one for the stage in it, not made yet, and a source file. */
struct place {
    char root[64];
    char dir[128];
    char source[96];
};

static struct place *here; /* for what happens while a file is read */

static int place_setup(void **state) {
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        return -1;
    }
    strcpy(place->root, "/tmp/toolrack-stage-test-XXXXXX");
    if (mkdtemp(place->root) == NULL) {
        return -1;
    }
    (void)snprintf(place->dir, sizeof place->dir, "%s/state/stage", place->root);
    (void)snprintf(place->source, sizeof place->source, "%s/a.so", place->root);
    *state = here = place;
    while_reading = NULL;
    reads = 0;
    now_ns = 0;
    mounted_noexec = false;
    (void)alarm(BLOCKED_AFTER_S);
    return 0;
}

static int place_teardown(void **state) {
    struct place *place = *state;
    (void)alarm(0);
    (void)remove_tree(place->root);
    free(place);
    return 0;
}

static void write_file(const char *path, int flags, const char *text) {
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void put(const char *path, const char *text) {
    write_file(path, O_TRUNC, text);
}

static struct stat stat_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st;
}

static struct stage *open_stage(const struct place *place) {
    struct stage *stage = NULL;
    struct toolrack_error err = {0};
    if (stage_open(place->dir, &stage, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return stage;
}

static struct staged copy(struct stage *stage, const char *path, enum stage_mode mode) {
    struct staged staged = {0};
    struct toolrack_error err = {0};
    if (stage_copy(stage, path, NULL, mode, &staged, &err) != 0) {
        fail_msg("%s", err.message);
    }
    return staged;
}

static void assert_content(const char *path, const char *text) {
    char bytes[256] = {0};
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, bytes, sizeof bytes - 1) >= 0);
    assert_string_equal(bytes, text);
}

static unsigned count_names(const char *dir, const char *containing) {
    DIR *list = opendir(dir);
    assert_non_null(list);
    unsigned count = 0;
    for (const struct dirent *one; (one = readdir(list)) != NULL;) {
        count += strstr(one->d_name, containing) != NULL;
    }
    (void)closedir(list);
    return count;
}

static void assert_refused(const struct place *place, int code, const char *words) {
    struct stage *stage = NULL;
    struct toolrack_error err = {0};
    assert_int_equal(stage_open(place->dir, &stage, &err), code);
    assert_null(stage);
    if (strstr(err.message, words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, err.message);
    }
}

/* ----------------------------------------------------------------- a copy */

#define ABC_SHA256_START "ba7816bf8f01cfea414140de5dae2223"

static void a_copy_is_what_was_copied(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    put(place->source, "abc");
    struct stat before = stat_of(place->source);
    struct staged staged = copy(stage, place->source, STAGE_NEW);

    char expected[PATH_ROOM];
    (void)snprintf(expected, sizeof expected, "%s/" ABC_SHA256_START "-g1-a.so", place->dir);
    assert_string_equal(staged.path, expected);
    assert_content(staged.path, "abc");
    uint8_t hash[STAGE_HASH_SIZE];
    (void)crypto_hash_sha256(hash, (const unsigned char *)"abc", 3);
    assert_memory_equal(staged.sha256, hash, sizeof hash);
    assert_false(staged.is_old);

    struct stat st = stat_of(staged.path);
    struct file_identity found = identity_of(&st);
    struct file_identity source = identity_of(&before);
    assert_true(identity_same(&found, &staged.identity));
    assert_true(identity_same(&source, &staged.source));
    assert_int_equal(st.st_mode & 07777, 0500);
    assert_int_equal(st.st_nlink, 1);
    assert_int_equal(stat_of(place->dir).st_mode & 07777, 0700);
    assert_int_equal(count_names(place->dir, ".tmp-"), 0);
}

static void the_same_content_gets_another_inode_when_asked(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    put(place->source, "abc");
    struct staged first = copy(stage, place->source, STAGE_NEW);
    struct staged second = copy(stage, place->source, STAGE_NEW);
    assert_string_not_equal(first.path, second.path);
    assert_int_not_equal(first.identity.inode, second.identity.inode);
    assert_memory_equal(first.sha256, second.sha256, STAGE_HASH_SIZE);

    struct staged again = copy(stage, place->source, STAGE_REUSE);
    assert_true(again.is_old);
    assert_string_equal(again.path, second.path);
    assert_true(identity_same(&again.identity, &second.identity));
    assert_true(identity_same(&again.source, &second.source));
    assert_int_equal(count_names(place->dir, ".so"), 2);
    assert_int_equal(count_names(place->dir, ".tmp-"), 0);
}

/* As at each start of a host, of all its plugins. */
static void nothing_is_written_for_a_file_that_has_its_copy(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    put(place->source, "one");
    (void)copy(stage, place->source, STAGE_REUSE);
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, place->dir, long_ago, 0), 0);
    assert_true(copy(stage, place->source, STAGE_REUSE).is_old);
    assert_int_equal(stat_of(place->dir).st_mtime, 1000);
}

static void a_loaded_copy_is_not_given_for_another(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    struct staged first = copy(stage, TEST_PLUGINS "/good.so", STAGE_NEW);
    struct staged second = copy(stage, TEST_PLUGINS "/good.so", STAGE_NEW);
    void *one = dlopen(first.path, RTLD_NOW | RTLD_LOCAL);
    void *other = dlopen(second.path, RTLD_NOW | RTLD_LOCAL);
    assert_true(one != NULL && other != NULL);
    assert_ptr_not_equal(one, other);
    assert_ptr_not_equal(dlsym(one, "toolrack_plugin"), dlsym(other, "toolrack_plugin"));
    (void)dlclose(one);
    (void)dlclose(other);
}

static void a_content_is_found_again(void **state) {
    struct place *place = *state;
    char other[PATH_ROOM];
    (void)snprintf(other, sizeof other, "%s/b.so", place->root);
    put(place->source, "abc");
    put(other, "abc");
    struct staged staged;
    struct staged found;
    {
        AUTO_STAGE stage = open_stage(place);
        staged = copy(stage, place->source, STAGE_NEW);
    }
    AUTO_STAGE stage = open_stage(place);
    assert_int_equal(stage_find(stage, staged.sha256, "a.so", &found, NULL), 0);
    assert_string_equal(found.path, staged.path);
    assert_true(found.is_old && identity_same(&found.identity, &staged.identity));
    assert_int_equal(stage_find(stage, staged.sha256, "b.so", &found, NULL), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(stage_find(stage, staged.sha256, NULL, &found, NULL), 0);
    assert_false(copy(stage, other, STAGE_REUSE).is_old); /* the name is what people see */

    staged.sha256[STAGE_HASH_SIZE - 1] ^= 1; /* not in the name */
    assert_int_equal(stage_find(stage, staged.sha256, NULL, &found, NULL), TOOLRACK_E_NOT_FOUND);
}

static void a_damaged_copy_is_not_believed(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    struct staged found;
    static const char *const damaged[] = {"", "ab", "abd", "abcd"};
    put(place->source, "abc");
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct staged staged = copy(stage, place->source, STAGE_REUSE); /* the newest */
        assert_int_equal(chmod(staged.path, 0600), 0);
        put(staged.path, damaged[i]);
        assert_int_equal(stage_find(stage, staged.sha256, NULL, &found, NULL),
                         TOOLRACK_E_NOT_FOUND);
        struct staged again = copy(stage, place->source, STAGE_REUSE);
        assert_false(again.is_old);
        assert_content(again.path, "abc");
    }
}

static void a_long_name_is_cut_at_its_beginning(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    char path[512];
    int length = snprintf(path, sizeof path, "%s/%0200d.so", place->root, 1);
    put(path, "abc");
    struct staged staged = copy(stage, path, STAGE_NEW);
    assert_string_equal(strrchr(staged.path, '-') + 1, path + length - STAGE_NAME_MAX);
    assert_true(copy(stage, path, STAGE_REUSE).is_old);
}

/* --------------------------------------------------- each way to replace a file */

static void rename_over(const char *path, const char *text) {
    char fresh[PATH_ROOM];
    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    put(fresh, text);
    assert_int_equal(rename(fresh, path), 0);
}

static void overwrite(const char *path, const char *text) {
    write_file(path, 0, text);
}

static void shorten(const char *path, const char *text) {
    assert_int_equal(truncate(path, (off_t)strlen(text)), 0);
}

static void swap_link(const char *path, const char *text) {
    char target[PATH_ROOM];
    char link[PATH_ROOM];
    (void)snprintf(target, sizeof target, "%s.target", path);
    (void)snprintf(link, sizeof link, "%s.link", path);
    put(target, text);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(rename(link, path), 0);
}

static void set_times(const char *path, struct timespec time) {
    const struct timespec times[2] = {time, time};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void rewrite_at_the_same_time(const char *path, const char *text) {
    struct stat before = stat_of(path);
    overwrite(path, text);
    set_times(path, before.st_mtim);
}

static void rename_older_over(const char *path, const char *text) {
    char fresh[PATH_ROOM];
    (void)snprintf(fresh, sizeof fresh, "%s.old", path);
    put(fresh, text);
    set_times(fresh, (struct timespec){.tv_sec = 1});
    assert_int_equal(rename(fresh, path), 0);
}

static void link_over(const char *path, const char *text) {
    char other[PATH_ROOM];
    (void)snprintf(other, sizeof other, "%s.other", path);
    put(other, text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(link(other, path), 0);
}

static void every_way_to_replace_a_file_gives_another_hash(void **state) {
    static const struct {
        void (*replace)(const char *path, const char *text);
        const char *text;
    } ways[] = {
            {rename_over, "one that came by rename"},
            {overwrite, "overwritten in place"},
            {shorten, "over"},
            {swap_link, "behind a link"},
            {swap_link, "behind another link"},
            {rewrite_at_the_same_time, "behind another file"},
            {rename_older_over, "behind an older one"},
            {link_over, "a hard link"},
    };
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    put(place->source, "what was there at first");
    struct staged before = copy(stage, place->source, STAGE_REUSE);
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        ways[i].replace(place->source, ways[i].text);
        struct staged after = copy(stage, place->source, STAGE_REUSE);
        assert_memory_not_equal(before.sha256, after.sha256, STAGE_HASH_SIZE);
        assert_string_not_equal(before.path, after.path);
        assert_false(after.is_old);
        before = after;
    }
    assert_content(before.path, "a hard link");
    assert_int_equal(unlink(place->source), 0);
    struct toolrack_error err = {0};
    assert_int_equal(stage_copy(stage, place->source, NULL, STAGE_REUSE, &before, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_content(before.path, "a hard link"); /* unchanged by a failed call */
}

/* ------------------------------------------------------- a file that changes */

static void assert_changing(struct stage *stage, const struct place *place,
                            const struct file_identity *expected) {
    struct staged staged;
    struct toolrack_error err = {0};
    assert_int_equal(stage_copy(stage, place->source, expected, STAGE_NEW, &staged, &err),
                     STAGE_CHANGING);
    assert_int_equal(err.code, TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "is being written"));
    assert_int_equal(count_names(place->dir, "a.so"), 0);
    assert_int_equal(count_names(place->dir, ".tmp-"), 0);
}

static void append_once(void *bytes, ssize_t count) {
    (void)bytes;
    (void)count;
    if (reads == 1) {
        write_file(here->source, O_APPEND, "more");
    }
}

static void shorten_once(void *bytes, ssize_t count) {
    (void)bytes;
    (void)count;
    if (reads == 1) {
        assert_int_equal(truncate(here->source, 1), 0);
    }
}

static void rewrite_once(void *bytes, ssize_t count) {
    (void)bytes;
    (void)count;
    if (reads == 1) {
        rewrite_at_the_same_time(here->source, "cba");
        assert_int_equal(chmod(here->source, 0600), 0); /* so that ctime has a reason to move */
    }
}

static void replace_once(void *bytes, ssize_t count) {
    (void)bytes;
    (void)count;
    if (reads == 1) {
        rename_over(here->source, "cba");
    }
}

/* Nothing of this shows in the file's times: as if the clock stood still. */
static void show_another_byte(void *bytes, ssize_t count) {
    if (reads == 1 && count > 0) {
        ((char *)bytes)[0] ^= 1;
    }
}

static void no_half_written_file_is_taken(void **state) {
    static void (*const ways[])(void *bytes, ssize_t count) = {append_once, shorten_once};
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        put(place->source, "abc");
        reads = 0;
        while_reading = ways[i];
        assert_changing(stage, place, NULL);
        while_reading = NULL;
    }
    assert_int_equal(copy(stage, place->source, STAGE_NEW).identity.size, 1);
}

/* A file's ctime moves with the kernel's tick, so these wait until it can be seen to have moved. */
static void wait_for_tick(const char *path) {
    char probe[PATH_ROOM];
    int64_t before = identity_time_ns(stat_of(path).st_ctim);
    (void)snprintf(probe, sizeof probe, "%s/probe", here->root);
    do {
        put(probe, "");
    } while (identity_time_ns(stat_of(probe).st_ctim) == before);
}

static void a_file_replaced_while_it_is_read_is_not_taken(void **state) {
    static void (*const ways[])(void *bytes, ssize_t count) = {rewrite_once, replace_once};
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        put(place->source, "abc");
        wait_for_tick(place->source);
        reads = 0;
        while_reading = ways[i];
        assert_changing(stage, place, NULL);
        while_reading = NULL;
    }
}

static void a_young_file_is_read_twice(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    put(place->source, "abc");
    int64_t ctime_ns = identity_time_ns(stat_of(place->source).st_ctim);
    now_ns = ctime_ns + STAGE_YOUNG_NS - 1;
    while_reading = show_another_byte;
    assert_changing(stage, place, NULL);

    reads = 1; /* so that nothing is changed from now on, and reading is counted */
    (void)copy(stage, place->source, STAGE_NEW);
    unsigned young = reads - 1;
    now_ns = ctime_ns + STAGE_YOUNG_NS;
    reads = 1;
    (void)copy(stage, place->source, STAGE_NEW);
    assert_int_equal(young, 2 * (reads - 1));
}

static void a_file_that_is_not_as_expected_is_not_taken(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    put(place->source, "abc");
    struct stat st = stat_of(place->source);
    struct file_identity expected = identity_of(&st);
    expected.size++;
    assert_changing(stage, place, &expected);
    expected.size--;
    struct staged staged;
    assert_int_equal(stage_copy(stage, place->source, &expected, STAGE_NEW, &staged, NULL), 0);
}

static void only_regular_files_are_copied(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    char fifo[PATH_ROOM];
    (void)snprintf(fifo, sizeof fifo, "%s/fifo.so", place->root);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *const others[] = {place->root, fifo, "/dev/null"};
    struct staged staged;
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        assert_int_equal(stage_copy(stage, others[i], NULL, STAGE_NEW, &staged, NULL),
                         TOOLRACK_E_REFUSED);
    }
    put(place->source, "");
    assert_int_equal(truncate(place->source, (off_t)DESCRIPTOR_FILE_SIZE_MAX + 1), 0);
    struct toolrack_error err = {0};
    assert_int_equal(stage_copy(stage, place->source, NULL, STAGE_NEW, &staged, &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "the limit is 1073741824"));
    assert_int_equal(truncate(place->source, (off_t)DESCRIPTOR_FILE_SIZE_MAX), 0);
    assert_int_equal(stage_copy(stage, place->source, NULL, STAGE_NEW, &staged, &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "are holes"));
}

/* -------------------------------------------------------------- the folder */

static void nobody_else_may_write_to_the_folder(void **state) {
    struct place *place = *state;
    stage_close(open_stage(place));
    if (geteuid() == 0) { /* the user's own group may be the user alone */
        assert_int_equal(chown(place->dir, 0, 12345) | chmod(place->dir, 0770), 0);
        assert_refused(place, TOOLRACK_E_REFUSED, "chmod go-w");
        assert_int_equal(chown(place->dir, 0, 0), 0);
    }
    assert_int_equal(chmod(place->dir, 01777), 0); /* sticky or not */
    assert_refused(place, TOOLRACK_E_REFUSED, place->dir);
    assert_int_equal(chmod(place->dir, 0755), 0);
    stage_close(open_stage(place));
}

static void nobody_else_may_write_above_it(void **state) {
    struct place *place = *state;
    stage_close(open_stage(place));
    assert_int_equal(chmod(place->root, 0702), 0);
    assert_refused(place, TOOLRACK_E_REFUSED, place->root);
    assert_int_equal(chmod(place->root, 01777), 0); /* like /tmp itself */
    stage_close(open_stage(place));
    assert_int_equal(chmod(place->root, 0711), 0);
    stage_close(open_stage(place));
}

static void its_way_belongs_to_us_or_root(void **state) {
    struct place *place = *state;
    if (geteuid() != 0) {
        print_message("# skipped: only root gives folders to others\n");
        skip();
    }
    stage_close(open_stage(place));
    assert_int_equal(chown(place->dir, 12345, (gid_t)-1), 0);
    assert_refused(place, TOOLRACK_E_REFUSED, "belongs to user 12345");
    assert_int_equal(chown(place->dir, 0, (gid_t)-1), 0);
    assert_int_equal(chown(place->root, 12345, (gid_t)-1), 0);
    assert_refused(place, TOOLRACK_E_REFUSED, place->root);
}

/* What a user who is not root makes of the stage: as stage_open(), with the words of its error. */
static int open_as(uid_t user, const char *dir, char words[300]) {
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct stage *stage = NULL;
        struct toolrack_error err = {0};
        bool is_other = setgroups(0, NULL) == 0 && setgid(user) == 0 && setuid(user) == 0;
        int code = is_other ? stage_open(dir, &stage, &err) : TOOLRACK_E_INVALID;
        (void)write(fds[1], &code, sizeof code);
        (void)write(fds[1], err.message, strlen(err.message));
        _exit(0);
    }
    (void)close(fds[1]);
    int status = 0;
    int code = 0;
    memset(words, 0, 300);
    assert_int_equal(patience_child(child, &status), child); /* first: each part is there then */
    assert_int_equal(status, 0);
    assert_int_equal(read(fds[0], &code, sizeof code), sizeof code);
    assert_true(read(fds[0], words, 299) >= 0);
    (void)close(fds[0]);
    return code;
}

/* Root's folders above are as good as the user's own; those of a third user are not. */
static void another_user_has_a_stage_too(void **state) {
    struct place *place = *state;
    const uid_t user = 12345;
    char above[96];
    char lock[140];
    char words[300];
    if (geteuid() != 0) {
        print_message("# skipped: only root becomes another user\n");
        skip();
    }
    stage_close(open_stage(place));
    (void)snprintf(above, sizeof above, "%s/state", place->root);
    assert_int_equal(chmod(place->root, 0755) | chmod(above, 0755), 0);
    assert_int_equal(chown(place->dir, user, (gid_t)-1), 0);
    (void)snprintf(lock, sizeof lock, "%s/lock", place->dir);
    assert_int_equal(unlink(lock), 0); /* root's */
    if (open_as(user, place->dir, words) != 0) {
        fail_msg("%s", words);
    }
    assert_int_equal(chown(place->root, user, (gid_t)-1), 0);
    assert_int_equal(open_as(user, place->dir, words), 0);
    assert_int_equal(chown(place->root, user + 1, (gid_t)-1), 0);
    assert_int_equal(open_as(user, place->dir, words), TOOLRACK_E_REFUSED);
    assert_non_null(strstr(words, "belongs to user 12346"));
    assert_int_equal(chown(place->root, 0, (gid_t)-1), 0);
    assert_int_equal(chown(place->dir, user + 1, (gid_t)-1), 0);
    assert_int_equal(chmod(place->dir, 0755), 0);
    assert_int_equal(open_as(user, place->dir, words), TOOLRACK_E_REFUSED);
    assert_non_null(strstr(words, "belongs to user 12346"));
}

static void links_on_the_way_are_followed_and_what_they_lead_to_is_checked(void **state) {
    struct place *place = *state;
    stage_close(open_stage(place));
    char link[96];
    (void)snprintf(link, sizeof link, "%s/link", place->root);
    assert_int_equal(symlink("state", link), 0);
    struct place other = *place;
    (void)snprintf(other.dir, sizeof other.dir, "%s/stage", link);
    {
        AUTO_STAGE stage = open_stage(&other);
        assert_string_equal(stage_path(stage), place->dir);
    }
    assert_int_equal(chmod(place->dir, 0777), 0);
    assert_refused(&other, TOOLRACK_E_REFUSED, place->dir);
}

/* Copies would be made, and files of such names removed, wherever somebody has it lead. */
static void the_folder_itself_is_no_link(void **state) {
    struct place *place = *state;
    char elsewhere[96];
    char own[PATH_ROOM];
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", place->root);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    (void)snprintf(own, sizeof own, "%s/.tmp-mine", elsewhere);
    put(own, "mine");
    stage_close(open_stage(place));
    char lock[PATH_ROOM];
    (void)snprintf(lock, sizeof lock, "%s/lock", place->dir);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(rmdir(place->dir), 0);
    assert_int_equal(symlink(elsewhere, place->dir), 0);
    assert_refused(place, TOOLRACK_E_REFUSED, "link");
    assert_int_equal(access(own, F_OK), 0);
}

static void a_folder_that_cannot_be_made_is_said(void **state) {
    struct place *place = *state;
    (void)snprintf(place->dir, sizeof place->dir, "%s/stage", place->source);
    put(place->source, "no folder");
    assert_refused(place, TOOLRACK_E_IO, "cannot make the folder");
}

static void nothing_is_staged_where_nothing_can_be_loaded(void **state) {
    struct place *place = *state;
    mounted_noexec = true;
    assert_refused(place, TOOLRACK_E_REFUSED, "noexec");
}

/* ------------------------------------------------------ sharing, cleaning up */

static void leftovers_go_when_nobody_can_be_writing_them(void **state) {
    struct place *place = *state;
    char leftover[PATH_ROOM];
    (void)snprintf(leftover, sizeof leftover, "%s/.tmp-1-1", place->dir);
    {
        AUTO_STAGE first = open_stage(place);
        assert_non_null(first);
        put(leftover, "half");
        AUTO_STAGE second = open_stage(place);
        assert_non_null(second);
        assert_int_equal(access(leftover, F_OK), 0);
    }
    stage_close(open_stage(place));
    assert_int_equal(access(leftover, F_OK), -1);
}

static struct staged copy_text(struct stage *stage, const struct place *place, const char *text) {
    put(place->source, text);
    return copy(stage, place->source, STAGE_NEW);
}

static bool is_there(const struct staged *staged) {
    return access(staged->path, F_OK) == 0;
}

static void the_last_two_contents_and_what_is_used_are_kept(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    struct staged copies[6];
    static const char *const texts[] = {"one", "two", "three", "three", "four", "three"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        copies[i] = copy_text(stage, place, texts[i]);
    }
    char other[PATH_ROOM];
    char foreign[PATH_ROOM];
    (void)snprintf(other, sizeof other, "%s/b.so", place->root);
    (void)snprintf(foreign, sizeof foreign, "%s/README", place->dir);
    put(other, "one");
    put(foreign, "not ours");
    /* Names that are almost those of copies. */
    static const char *const almost[] = {"g1-a.so", "-g-a.so",   "-g1",
                                         "-g1-",    "-g1a-a.so", "-g1234567890123456789-a.so"};
    char strange[ARRAY_LENGTH(almost)][PATH_ROOM];
    for (size_t i = 0; i < ARRAY_LENGTH(almost); i++) {
        (void)snprintf(strange[i], sizeof strange[i], "%s/0123456789abcdef0123456789abcdef%s",
                       place->dir, almost[i]);
        put(strange[i], "not ours");
    }
    struct staged alone = copy(stage, other, STAGE_NEW);

    /* Needed: what is in use; "three", of which the newest copy stays; "four"; "one", of which that
     * is the copy of the other file. */
    const char *const in_use[] = {copies[1].path, "/elsewhere/x.so"};
    uint8_t contents[3][STAGE_HASH_SIZE];
    memcpy(contents[0], copies[5].sha256, STAGE_HASH_SIZE);
    memcpy(contents[1], copies[4].sha256, STAGE_HASH_SIZE);
    memcpy(contents[2], alone.sha256, STAGE_HASH_SIZE);
    struct stage_needs needs = {.in_use = in_use,
                                .in_use_count = ARRAY_LENGTH(in_use),
                                .contents = (const uint8_t(*)[STAGE_HASH_SIZE])contents,
                                .content_count = ARRAY_LENGTH(contents),
                                .size_max = STAGE_UNUSED_SIZE_MAX};
    assert_int_equal(stage_collect(stage, &needs), 3);
    assert_false(is_there(&copies[0]));
    assert_true(is_there(&copies[1]));
    assert_false(is_there(&copies[2]));
    assert_false(is_there(&copies[3]));
    assert_true(is_there(&copies[4]));
    assert_true(is_there(&copies[5]));
    assert_true(is_there(&alone));
    assert_int_equal(access(foreign, F_OK), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(almost); i++) {
        assert_int_equal(access(strange[i], F_OK), 0);
    }
    needs.in_use_count = 0;
    assert_int_equal(stage_collect(stage, &needs), 1);
    assert_false(is_there(&copies[1]));
    /* No room for all: what is less important goes. */
    needs.size_max = strlen("three") + strlen("one");
    assert_int_equal(stage_collect(stage, &needs), 1);
    assert_true(is_there(&copies[5]));
    assert_false(is_there(&copies[4]));
    assert_true(is_there(&alone));

    /* Numbers go on, so that the next one is the newest. */
    assert_non_null(strstr(copy_text(stage, place, "five").path, "-g8-"));
}

static void nothing_goes_while_another_has_the_stage_open(void **state) {
    struct place *place = *state;
    AUTO_STAGE stage = open_stage(place);
    struct staged old = copy_text(stage, place, "one");
    const struct stage_needs nothing = {0};
    {
        AUTO_STAGE other = open_stage(place);
        assert_int_equal(stage_collect(stage, &nothing), 0);
        assert_int_equal(stage_collect(other, &nothing), 0); /* the first still has its lock */
        assert_true(is_there(&old));
    }
    assert_int_equal(stage_collect(stage, &nothing), 1);
    assert_false(is_there(&old));
    stage_close(open_stage(place)); /* the exclusive lock is no more */
}

static void a_temporary_stage_leaves_nothing(void **state) {
    struct place *place = *state;
    put(place->source, "abc");
    (void)setenv("XDG_RUNTIME_DIR", "/dev/null/none", 1); /* cannot be made, not even by root */
    (void)setenv("TMPDIR", place->root, 1);
    struct stage *stage = NULL;
    struct toolrack_error err = {0};
    if (stage_open_temporary(&stage, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_memory_equal(stage_path(stage), place->root, strlen(place->root));
    struct staged staged = copy(stage, place->source, STAGE_NEW);
    assert_content(staged.path, "abc");
    char dir[PATH_ROOM];
    (void)snprintf(dir, sizeof dir, "%s", stage_path(stage));
    stage_close(stage);
    assert_int_equal(access(dir, F_OK), -1);

    (void)setenv("XDG_RUNTIME_DIR", place->root, 1);
    (void)setenv("TMPDIR", "/dev/null/none", 1);
    assert_int_equal(stage_open_temporary(&stage, NULL), 0);
    assert_memory_equal(stage_path(stage), place->root, strlen(place->root));
    stage_close(stage);
    assert_int_equal(count_names(place->root, "toolrack-stage-"), 0);
    (void)unsetenv("XDG_RUNTIME_DIR");
    (void)unsetenv("TMPDIR");
}

/* As a process leaves it that is killed. */
static void leave_one(const struct place *place) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct stage *stage = NULL;
        struct staged staged;
        _exit(stage_open_temporary(&stage, NULL) == 0 &&
                              stage_copy(stage, place->source, NULL, STAGE_NEW, &staged, NULL) == 0
                      ? 0
                      : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void what_a_killed_process_left_is_removed(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    put(place->source, "abc");
    (void)setenv("TMPDIR", place->root, 1);
    (void)unsetenv("XDG_RUNTIME_DIR");
    struct stage *used = NULL;
    assert_int_equal(stage_open_temporary(&used, NULL), 0);
    leave_one(place); /* it removes none of one that is used */
    assert_int_equal(count_names(place->root, "toolrack-stage-"), 2);
    (void)snprintf(path, sizeof path, "%s/toolrack-stage-no", place->root); /* being made */
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/toolrack-stage-link", place->root);
    assert_int_equal(symlink(stage_path(used), path), 0);
    struct stage *next = NULL;
    assert_int_equal(stage_open_temporary(&next, NULL), 0);
    assert_int_equal(count_names(place->root, "toolrack-stage-"), 4);
    assert_content(copy(used, place->source, STAGE_NEW).path, "abc");
    assert_content(copy(next, place->source, STAGE_NEW).path, "abc");
    stage_close(next);
    stage_close(used);
    assert_int_equal(count_names(place->root, "toolrack-stage-"), 2);
    (void)unsetenv("TMPDIR");
}

/* ------------------------------------------------------------ many at a time */

#define COPIERS     4
#define COPIES_EACH 25

struct copier {
    const struct place *place;
    pthread_t thread;
    struct staged copies[COPIES_EACH];
    bool failed;
};

static void *copy_again_and_again(void *argument) {
    struct copier *copier = argument;
    struct stage *stage = NULL;
    copier->failed = stage_open(copier->place->dir, &stage, NULL) < 0;
    for (size_t i = 0; i < COPIES_EACH && !copier->failed; i++) {
        copier->failed = stage_copy(stage, copier->place->source, NULL, STAGE_NEW,
                                    &copier->copies[i], NULL) != 0;
    }
    stage_close(stage);
    return NULL;
}

static int compare_inodes(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void many_may_copy_at_the_same_time(void **state) {
    struct place *place = *state;
    static struct copier copiers[COPIERS];
    stage_close(open_stage(place));
    put(place->source, "abc");
    for (size_t i = 0; i < COPIERS; i++) {
        copiers[i].place = place;
        assert_int_equal(
                pthread_create(&copiers[i].thread, NULL, copy_again_and_again, &copiers[i]), 0);
    }
    uint64_t inodes[COPIERS * COPIES_EACH];
    size_t count = 0;
    for (size_t i = 0; i < COPIERS; i++) {
        assert_int_equal(pthread_join(copiers[i].thread, NULL), 0);
        assert_false(copiers[i].failed);
        for (size_t k = 0; k < COPIES_EACH; k++) {
            assert_content(copiers[i].copies[k].path, "abc");
            inodes[count++] = stat_of(copiers[i].copies[k].path).st_ino;
        }
    }
    qsort(inodes, count, sizeof *inodes, compare_inodes);
    for (size_t i = 1; i < count; i++) {
        assert_true(inodes[i - 1] < inodes[i]);
    }
    assert_int_equal(count_names(place->dir, "a.so"), COPIERS * COPIES_EACH);
}

/* ------------------------------------------------------------------- memory */

static void running_out_of_memory_is_an_error(void **state) {
    struct place *place = *state;
    put(place->source, "abc");
    stage_close(open_stage(place));
    bool hit = true;
    for (unsigned n = 1; hit; n++) {
        struct stage *stage = NULL;
        struct staged staged = {0};
        failing_malloc_set(n);
        int code = stage_open(place->dir, &stage, NULL);
        code = code == 0 ? stage_copy(stage, place->source, NULL, STAGE_REUSE, &staged, NULL)
                         : code;
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(code == 0 || (hit && code == TOOLRACK_E_NO_MEMORY));
        assert_int_equal(staged.path[0] != '\0', code == 0);
        stage_close(stage);
        assert_int_equal(count_names(place->dir, ".tmp-"), 0);
    }
}

static void a_copy_knows_the_name_of_its_file(void **state) {
    (void)state;
    static const char hash[] = "0123456789abcdef0123456789abcdef";
    char name[128];
    (void)snprintf(name, sizeof name, "%s-g12-math.so", hash);
    assert_string_equal(stage_original_name(name), "math.so");
    (void)snprintf(name, sizeof name, "%s-g12math.so", hash);
    assert_string_equal(stage_original_name(name), name);
    (void)snprintf(name, sizeof name, "%s-g-math.so", hash);
    assert_string_equal(stage_original_name(name), name);
    assert_string_equal(stage_original_name(hash), hash);
    assert_string_equal(stage_original_name("libc.so.6"), "libc.so.6");
    assert_string_equal(stage_original_name(""), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
            TEST(a_copy_is_what_was_copied),
            TEST(the_same_content_gets_another_inode_when_asked),
            TEST(nothing_is_written_for_a_file_that_has_its_copy),
            TEST(a_loaded_copy_is_not_given_for_another),
            TEST(a_content_is_found_again),
            TEST(a_damaged_copy_is_not_believed),
            TEST(a_long_name_is_cut_at_its_beginning),
            TEST(every_way_to_replace_a_file_gives_another_hash),
            TEST(no_half_written_file_is_taken),
            TEST(a_file_replaced_while_it_is_read_is_not_taken),
            TEST(a_young_file_is_read_twice),
            TEST(a_file_that_is_not_as_expected_is_not_taken),
            TEST(only_regular_files_are_copied),
            TEST(nobody_else_may_write_to_the_folder),
            TEST(nobody_else_may_write_above_it),
            TEST(its_way_belongs_to_us_or_root),
            TEST(another_user_has_a_stage_too),
            TEST(links_on_the_way_are_followed_and_what_they_lead_to_is_checked),
            TEST(the_folder_itself_is_no_link),
            TEST(a_folder_that_cannot_be_made_is_said),
            TEST(nothing_is_staged_where_nothing_can_be_loaded),
            TEST(leftovers_go_when_nobody_can_be_writing_them),
            TEST(the_last_two_contents_and_what_is_used_are_kept),
            TEST(nothing_goes_while_another_has_the_stage_open),
            TEST(a_temporary_stage_leaves_nothing),
            TEST(what_a_killed_process_left_is_removed),
            TEST(many_may_copy_at_the_same_time),
            TEST(running_out_of_memory_is_an_error),
            TEST(a_copy_knows_the_name_of_its_file),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
