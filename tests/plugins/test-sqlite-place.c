/* The plugin sqlite reaches a database, and the files that SQLite makes beside it, by way of the
 * folder that it has opened: without a sandbox around it, too, an exchange of that folder for a
 * link leads nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <toolrack/ext/paths.h>
#include <unistd.h>

#include "db.h"

#include <cmocka.h>

#include "granted-root.h"

static const char *asked; /* the argument "path" */
static char failure[600];

static tr_status get_string(struct tr_call *call, const char *path, const char **ret,
                            uint64_t *ret_length) {
    (void)call;
    (void)ret_length;
    *ret = asked;
    return strcmp(path, "path") == 0 ? TR_OK : TR_FAILED;
}

static tr_status get_i64(struct tr_call *call, const char *path, int64_t *ret) {
    (void)call;
    (void)path;
    (void)ret;
    return TR_FAILED; /* not given */
}

static bool cancelled(struct tr_call *call) {
    (void)call;
    return false;
}

static tr_status note_failure(struct tr_call *call, tr_status code, const char *field,
                              const char *message) {
    (void)call;
    (void)field;
    (void)snprintf(failure, sizeof failure, "%s", message);
    return code;
}

static const struct tr_call_api call_api = {.size = offsetof(struct tr_call_api, fail_at),
                                            .get_string = get_string,
                                            .get_i64 = get_i64,
                                            .cancelled = cancelled,
                                            .fail = note_failure};

static bool is_there(const char *name) {
    struct stat status;
    char path[300];
    return lstat(in_work(name, path), &status) == 0;
}

static void move(const char *from, const char *to) {
    char path[300];
    char new_path[300];
    assert_int_equal(rename(in_work(from, path), in_work(to, new_path)), 0);
}

static int set_up(void **state) {
    struct tr_host host = {.api = &granted_api};
    char path[300];
    (void)state;
    granted_make();
    assert_int_equal(mkdir(in_work("root/folder", path), 0700), 0);
    assert_int_equal(mkdir(in_work("outside", path), 0700), 0);
    assert_int_equal(db_set_up(&host), TR_OK);
    return 0;
}

static int tear_down(void **state) {
    static const char *const names[] = {"root/away/x.db", "root/away", "root/folder/x.db",
                                        "root/folder",    "root",      "outside"};
    char path[300];
    (void)state;
    db_tear_down();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)remove(in_work(names[i], path));
    }
    return rmdir(work); /* which fails if anything else was left */
}

static void an_exchanged_folder_leads_nowhere_else(void **state) {
    struct tr_call call = {.api = &call_api};
    struct db db;
    char path[300];
    char target[300];
    (void)state;
    asked = "folder/x.db";
    assert_true(db_open(&db, &call, DB_CREATES));
    db_restrict(&db, false);
    move("root/folder", "root/away");
    assert_int_equal(symlink(in_work("outside", target), in_work("root/folder", path)), 0);
    assert_int_equal(sqlite3_exec(db.sqlite, "CREATE TABLE t(a); BEGIN; INSERT INTO t VALUES(1)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_true(is_there("root/away/x.db-journal"));
    assert_false(is_there("outside/x.db-journal"));
    assert_int_equal(sqlite3_exec(db.sqlite, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(db_close(&db, TR_OK), TR_OK);
    assert_false(is_there("outside/x.db"));
    assert_true(is_there("root/away/x.db"));
    assert_false(is_there("root/away/x.db-journal"));
    assert_false(db_open(&db, &call, DB_WRITES)); /* by the link, from its beginning */
    assert_non_null(strstr(failure, "outside of the allowed directories"));
    assert_int_equal(db_close(&db, TR_OK), TR_FAILED);
}

static void a_folder_that_is_missing_is_told(void **state) {
    struct tr_call call = {.api = &call_api};
    struct db db;
    (void)state;
    asked = "none/x.db";
    assert_false(db_open(&db, &call, DB_CREATES));
    assert_non_null(strstr(failure, "No such file or directory"));
    assert_int_equal(db_close(&db, TR_OK), TR_FAILED);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(an_exchanged_folder_leads_nowhere_else),
                                       CASE(a_folder_that_is_missing_is_told)};
    return cmocka_run_group_tests_name("sqlite-place", tests, NULL, NULL);
}
