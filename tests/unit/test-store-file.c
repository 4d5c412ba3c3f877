/* What is found in place of the database: it is refused with words, at once, and left as it is. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "access-list.h"
#include "store/loading.h"
#include "store/store.h"

#define STRANGER 12345

/* A test that would wait for ever ends here. */
#define BLOCKED_AFTER_S 20

static char dir[64];
static char path[96];
static char other[96];
static struct toolrack_error err;

static int set_up(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-store-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    (void)snprintf(other, sizeof other, "%s/other", dir);
    err = (struct toolrack_error){0};
    (void)alarm(BLOCKED_AFTER_S);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[96];
    (void)alarm(0);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void need_root(void) {
    if (geteuid() != 0) {
        print_message("# skipped: only root gives files away\n");
        skip();
    }
}

static int decide(struct store *store, const char *tool) {
    return store_keep_setting(store, &(struct store_setting){.selector = tool, .has_enabled = true},
                              NULL, 0, &err);
}

/* Neither reading nor writing is possible, and both say why. */
static void assert_refused(const char *words) {
    struct store *store = store_open(dir, &err);
    assert_non_null(store);
    assert_int_equal(err.code, TOOLRACK_E_IO);
    if (strstr(err.message, words) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", err.message, words);
    }
    err = (struct toolrack_error){0};
    assert_int_equal(decide(store, "wipe"), TOOLRACK_E_IO);
    if (strstr(err.message, words) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", err.message, words);
    }
    store_close(store);
    err = (struct toolrack_error){0};
}

static void assert_accepted(void) {
    struct store *store = store_open(dir, &err);
    assert_non_null(store);
    if (err.code != 0 || decide(store, "wipe") < 0) {
        fail_msg("%s", err.message);
    }
    store_close(store);
}

static void a_pipe_a_folder_and_a_device_are_refused(void **state) {
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused("toolrack.db is a named pipe, not a regular file");
    assert_int_equal(unlink(path) | mkdir(path, 0700), 0);
    assert_refused("toolrack.db is a folder");
    assert_int_equal(rmdir(path), 0);
    if (geteuid() == 0 && mknod(path, S_IFCHR | 0600, makedev(1, 5)) == 0) { /* /dev/zero */
        assert_refused("toolrack.db is a device");
        assert_int_equal(unlink(path), 0);
    }
    assert_accepted();
}

static void a_link_creates_no_file_elsewhere(void **state) {
    (void)state;
    assert_int_equal(symlink(other, path), 0);
    assert_refused("toolrack.db is a symbolic link");
    assert_int_equal(access(other, F_OK), -1);
    assert_int_equal(unlink(path), 0);
    assert_accepted();
    assert_int_equal(rename(path, other) | symlink(other, path), 0);
    assert_refused("toolrack.db is a symbolic link");
}

/* SQLite would read what it lists as not written yet. */
static void a_log_that_is_a_link_is_refused(void **state) {
    (void)state;
    char log[128];
    assert_accepted();
    (void)snprintf(log, sizeof log, "%s-wal", path);
    (void)unlink(log);
    assert_int_equal(symlink(other, log), 0);
    assert_refused("toolrack.db-wal is a symbolic link");
}

static void what_another_user_owns_is_refused(void **state) {
    (void)state;
    need_root();
    assert_accepted();
    assert_int_equal(chown(path, STRANGER, 0), 0);
    assert_refused("belongs to user 12345, who could change it");
    assert_int_equal(chown(path, 0, 0) | chown(dir, STRANGER, 0), 0);
    assert_refused("the state folder");
    assert_int_equal(chown(dir, 0, 0), 0);
    assert_accepted();
}

static void what_others_may_write_is_refused(void **state) {
    (void)state;
    assert_accepted();
    assert_int_equal(chmod(path, 0666), 0);
    assert_refused("others may write to");
    assert_int_equal(chmod(path, 0600) | chmod(dir, 0777), 0);
    assert_refused("the state folder");
}

/* Its mode shows the mask of the list as the rights of the group. */
static void what_a_list_lets_another_user_write_is_refused(void **state) {
    (void)state;
    assert_accepted();
    assert_int_equal(access_list_give(path, ACCESS_LIST, STRANGER, 6, 6), 0);
    assert_refused("with an access control list");
    assert_int_equal(removexattr(path, ACCESS_LIST) | chmod(path, 0600), 0);
    assert_int_equal(access_list_give(dir, ACCESS_LIST, STRANGER, 7, 7), 0);
    assert_refused("the state folder");
}

/* What a host makes is for its user alone, whatever the folder gives to what is made in it. */
static void a_default_list_opens_nothing_of_the_host(void **state) {
    (void)state;
    struct stat st;
    assert_int_equal(access_list_give(dir, DEFAULT_LIST, STRANGER, 7, 7), 0);
    assert_accepted();
    assert_accepted();
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void run_sql(const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static size_t read_all(char *bytes, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t got = read(fd, bytes, size);
    assert_true(got > 0 && (size_t)got < size);
    (void)close(fd);
    return (size_t)got;
}

static void the_database_of_another_program_is_left_as_it_is(void **state) {
    (void)state;
    static const char *const foreign[] = {
            "CREATE TABLE notes (text);",
            "CREATE TABLE notes (text); PRAGMA user_version = 2;",
            "CREATE TABLE notes (text); PRAGMA user_version = 77;",
            "CREATE TABLE settings (key); PRAGMA user_version = 1; PRAGMA application_id = 5;",
            "PRAGMA application_id = 252006674;",
    };
    static char before[1 << 16];
    static char after[1 << 16];
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        run_sql(foreign[i]);
        size_t length = read_all(before, sizeof before);
        assert_refused("is the database of another program; it is left as it is, move it away");
        assert_int_equal(read_all(after, sizeof after), length);
        assert_memory_equal(before, after, length);
        assert_int_equal(unlink(path), 0);
    }
}

/* An empty file, such as a process leaves that was killed at the right moment, is a new store. */
static void an_empty_file_is_a_new_store(void **state) {
    (void)state;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_accepted();
    assert_accepted();
}

/* How many settings the file has; -1: it is none. */
static int settings_in(const char *file) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int count = -1;
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT count(*) FROM settings", -1, &statement, NULL) ==
                SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        count = sqlite3_column_int(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return count;
}

/* Descriptors of the file in this process that may write to it. */
static int count_writers(void) {
    struct stat file;
    struct stat st;
    int count = 0;
    assert_int_equal(stat(path, &file), 0);
    for (int fd = 0; fd < 64; fd++) {
        int flags = fcntl(fd, F_GETFL);
        count += flags >= 0 && (flags & O_ACCMODE) == O_RDWR && fstat(fd, &st) == 0 &&
                 st.st_ino == file.st_ino && st.st_dev == file.st_dev;
    }
    return count;
}

/* A host that will write opens the file once; one that was moved away meanwhile is not written to.
 */
static void a_file_is_opened_once_unless_it_is_another(void **state) {
    (void)state;
    assert_accepted();
    struct store *store = store_open_to_write(dir, &err);
    assert_non_null(store);
    assert_int_equal(count_writers(), 1);
    assert_int_equal(decide(store, "calc"), 0);
    assert_int_equal(count_writers(), 1);
    store_close(store);
    assert_int_equal(settings_in(path), 2);

    store = store_open_to_write(dir, &err);
    assert_non_null(store);
    assert_int_equal(rename(path, other), 0);
    assert_accepted(); /* makes another one */
    assert_int_equal(decide(store, "other"), 0);
    store_close(store);
    assert_int_equal(settings_in(path), 2);
    assert_int_equal(settings_in(other), 2);

    store = store_open(dir, &err); /* who only reads has no such descriptor */
    assert_non_null(store);
    assert_int_equal(count_writers(), 0);
    store_close(store);
}

/* --------------------------------------------- what a start reads (start-cache.h) */

static void count_setting(void *user, const struct store_setting *setting) {
    (void)setting;
    ++*(int *)user;
}

/* Whether this process has the database open. */
static bool is_open(void) {
    struct stat file;
    struct stat st;
    bool found = false;
    assert_int_equal(stat(path, &file), 0);
    for (int fd = 0; fd < 64; fd++) {
        found = found ||
                (fstat(fd, &st) == 0 && st.st_ino == file.st_ino && st.st_dev == file.st_dev);
    }
    return found;
}

/* Start as a host that only reads does. @return whether the database was opened for it */
static bool start(int settings) {
    int count = 0;
    struct store *store = store_open(dir, &err);
    assert_non_null(store);
    assert_int_equal(store_read_settings(store, count_setting, &count, &err), 0);
    assert_int_equal(count, settings);
    bool was_opened = is_open();
    store_has_started(store);
    count = 0;
    assert_int_equal(store_read_settings(store, count_setting, &count, &err), 0);
    assert_int_equal(count, settings);
    assert_true(is_open());
    store_close(store);
    return was_opened;
}

/* As if the database had been written to a minute ago. */
static void let_settle(void) {
    const struct timespec times[] = {{.tv_sec = time(NULL) - 60}, {.tv_sec = time(NULL) - 60}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_start_reads_the_file_once(void **state) {
    (void)state;
    char cache[96];
    struct stat st;
    (void)snprintf(cache, sizeof cache, "%s/start.cache", dir);
    assert_accepted();
    assert_true(start(1));
    assert_true(start(1)); /* a change now would not show */
    assert_int_equal(access(cache, F_OK), -1);
    let_settle();
    assert_true(start(1));
    assert_int_equal(stat(cache, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_false(start(1));
    let_settle(); /* the same size and contents: another change of it may look so */
    assert_true(start(1));
    assert_false(start(1));
    assert_int_equal(chmod(cache, 0622), 0); /* others could grant what they like */
    assert_true(start(1));
}

static void what_was_decided_since_is_read(void **state) {
    (void)state;
    assert_accepted();
    let_settle();
    assert_true(start(1));
    assert_false(start(1));
    struct store *writer = store_open_to_write(dir, &err);
    assert_non_null(writer);
    assert_int_equal(decide(writer, "calc"), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(time(NULL) - st.st_mtim.tv_sec > 30); /* it is in SQLite's log alone */
    assert_true(start(2));
    assert_int_equal(decide(writer, "other"), 0); /* the file is as it was for the last start */
    assert_true(start(3));
    store_close(writer);
    assert_true(start(3));
    let_settle();
    assert_true(start(3));
    assert_false(start(3));
    assert_int_equal(unlink(path), 0);
    assert_accepted();
    assert_true(start(1));
}

/* What is no longer whole is not used, whatever byte of it is wrong. */
static void a_damaged_start_is_read_anew(void **state) {
    (void)state;
    char cache[96];
    char bytes[4096];
    (void)snprintf(cache, sizeof cache, "%s/start.cache", dir);
    assert_accepted();
    let_settle();
    assert_true(start(1));
    int fd = open(cache, O_RDWR | O_CLOEXEC);
    ssize_t size = read(fd, bytes, sizeof bytes);
    assert_in_range(size, 100, sizeof bytes - 1);
    for (ssize_t i = 0; i < size; i += 7) {
        char other_byte = (char)(bytes[i] ^ 0x55);
        assert_int_equal(pwrite(fd, &other_byte, 1, i), 1);
        assert_true(start(1)); /* which writes another file */
        assert_int_equal(close(fd), 0);
        fd = open(cache, O_RDWR | O_CLOEXEC);
    }
    assert_false(start(1));
    assert_int_equal(ftruncate(fd, size - 1), 0);
    assert_int_equal(close(fd), 0);
    assert_true(start(1));
}

static void see_marker(void *user, const struct store_unclean *unclean) {
    (void)unclean;
    ++*(int *)user;
}

static void loading_markers_are_files_in_a_folder(void **state) {
    (void)state;
    char loading[96];
    char marker[160];
    uint64_t number;
    int seen = 0;
    struct store *store = store_open(dir, &err);
    assert_non_null(store);
    (void)snprintf(loading, sizeof loading, "%s/loading", dir);
    (void)snprintf(marker, sizeof marker, "%s/999999999-1-1", loading);
    assert_int_equal(mkdir(other, 0700) | symlink(other, loading), 0);
    assert_int_equal(store_loading_begin(store, "/x.so", 1, &number, &err), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "loading is not a folder"));
    assert_int_equal(store_loading_read(store, see_marker, &seen, &err), TOOLRACK_E_IO);
    assert_int_equal(unlink(loading) | mkfifo(loading, 0600), 0);
    assert_int_equal(store_loading_begin(store, "/x.so", 1, &number, &err), TOOLRACK_E_IO);
    assert_int_equal(unlink(loading) | mkdir(loading, 0700) | mkfifo(marker, 0600), 0);
    assert_int_equal(store_loading_read(store, see_marker, &seen, &err), 0);
    assert_int_equal(seen, 0);
    assert_int_equal(chmod(loading, 0777), 0);
    assert_int_equal(store_loading_read(store, see_marker, &seen, &err), TOOLRACK_E_IO);
    assert_int_equal(chmod(loading, 0700), 0);
    assert_int_equal(store_loading_begin(store, "/x.so", 1, &number, &err), 0);
    assert_int_equal(store_loading_end(store, number, &err), 0);
    store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_pipe_a_folder_and_a_device_are_refused),
            TEST(a_link_creates_no_file_elsewhere),
            TEST(a_log_that_is_a_link_is_refused),
            TEST(what_another_user_owns_is_refused),
            TEST(what_others_may_write_is_refused),
            TEST(what_a_list_lets_another_user_write_is_refused),
            TEST(a_default_list_opens_nothing_of_the_host),
            TEST(the_database_of_another_program_is_left_as_it_is),
            TEST(an_empty_file_is_a_new_store),
            TEST(a_file_is_opened_once_unless_it_is_another),
            TEST(a_start_reads_the_file_once),
            TEST(what_was_decided_since_is_read),
            TEST(a_damaged_start_is_read_anew),
            TEST(loading_markers_are_files_in_a_folder),
    };
    return cmocka_run_group_tests_name("store-file", tests, NULL, NULL);
}
