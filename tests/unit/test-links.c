/* Symbolic links: a plugin file has one history, whatever the path that leads to its folder; a
 * folder link that leads to another folder leads to other files. */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "builds.h"

#define V1 "build"
#define V2 "build-2"

struct path {
    char text[192];
};

static struct path below(const struct builds *builds, const char *name) {
    struct path path;
    (void)snprintf(path.text, sizeof path.text, "%s/%s", builds->root, name);
    return path;
}

static void make_link(const struct builds *builds, const char *target, const char *name) {
    struct path aside = below(builds, "aside-link");
    assert_int_equal(symlink(target, aside.text), 0);
    assert_int_equal(rename(aside.text, below(builds, name).text), 0);
}

/* The next hosts use the folder by this path. */
static void use(struct builds *builds, const char *name) {
    struct path path = below(builds, name);
    assert_true(strlen(path.text) < sizeof builds->plugins);
    strcpy(builds->plugins, path.text);
}

/* Put a build into a folder, whatever the path by which hosts use it. */
static void put_into(struct builds *builds, const char *folder, const char *fixture,
                     unsigned number) {
    struct builds other = *builds;
    (void)mkdir(below(builds, folder).text, 0700);
    use(&other, folder);
    builds_put(&other, fixture, number);
}

static void expect_nothing_to_go_back_to(struct builds *builds) {
    struct toolrack_error err;
    assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), TOOLRACK_E_NOT_FOUND);
}

static void expect_absent(struct toolrack *host, const char *tool) {
    struct toolrack_error err;
    assert_int_equal(builds_call(host, tool, &err), TOOLRACK_E_NOT_FOUND);
}

/* ------------------------------------------------------------------- one history */

/* Each host uses another path to the folder. */
static void every_path_to_a_folder_is_the_same(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err;
    static const char *const paths[] = {"plugins", "link", "./link/../plugins", "link/."};
    make_link(builds, "plugins", "link");
    put_into(builds, "plugins", V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_close(builds);
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        use(builds, paths[(i + 1) % ARRAY_LENGTH(paths)]);
        unsigned number = 2 + (unsigned)i;
        put_into(builds, "plugins", V2, number); /* another content than the host before had */
        builds_open(builds);
        builds_expect(builds->host, "build", number);
        builds_expect(builds->host, "build@1.0.0", 1);
        builds_close(builds);
        use(builds, paths[i]);
        builds_open(builds);
        assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), 0);
        builds_close(builds);
        use(builds, paths[(i + 2) % ARRAY_LENGTH(paths)]);
        builds_open(builds);
        builds_expect(builds->host, "build", 1); /* not what was gone back from before */
        builds_expect_why(builds->host, "build", "/rolled_back", "true");
        builds_close(builds);
    }
}

/* Two hosts at a time: what one decides reaches the other. */
static void a_rollback_reaches_a_host_with_another_path(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err;
    make_link(builds, "plugins", "link");
    put_into(builds, "plugins", V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    put_into(builds, "plugins", V1, 2);
    builds_reload(builds->host, NULL, "reloaded");
    use(builds, "link");
    struct toolrack *other = builds_another(builds, TOOLRACK_ISOLATION_PROCESS);
    builds_expect(other, "build", 2);
    assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), 0);
    for (int i = 0; i < 1000 && builds_call(other, "build", &err) != 1; i++) {
        (void)usleep(10000);
    }
    builds_expect(other, "build", 1);
    toolrack_close(other);
}

/* What is broken is gone back from, and stays so by the other path. */
static void the_last_good_content_is_found_by_every_path(void **state) {
    struct builds *builds = *state;
    make_link(builds, "plugins", "link");
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_close(builds);
    builds_spoil(builds, "bad\n");
    use(builds, "link");
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
}

/* As a database has them whose host did not follow links. */
static void run_sql(const struct builds *builds, const char *sql) {
    sqlite3 *db = NULL;
    char *message = NULL;
    struct path file = below(builds, "state/toolrack.db");
    assert_int_equal(sqlite3_open(file.text, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s", message);
    }
    assert_true(sqlite3_total_changes(db) > 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void rows_of_earlier_versions_stay_in_use(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err;
    make_link(builds, "plugins", "link");
    builds_put(builds, V1, 1);
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    builds_put(builds, V2, 2);
    builds_reload(builds->host, NULL, "reloaded");
    builds_expect(builds->host, "build", 2);
    builds_close(builds);
    run_sql(builds, "UPDATE generations SET path = replace(path, '/plugins/', '/link/');"
                    "UPDATE contents SET path = replace(path, '/plugins/', '/link/')");
    use(builds, "link");
    builds_open(builds);
    builds_expect(builds->host, "build@1.0.0", 1);
    assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), 0);
    builds_expect(builds->host, "build", 1);
    builds_close(builds);
    use(builds, "plugins");
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
}

/* ------------------------------------------------------------------ linked files */

/* The name in the plugin folder is the file; where its link leads to is its content. */
static void a_link_that_is_exchanged_is_an_update(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err;
    put_into(builds, "v1", V1, 1);
    put_into(builds, "v2", V2, 2);
    make_link(builds, "../v1/build.so", "plugins/build.so");
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    make_link(builds, "../v2/build.so", "plugins/build.so");
    builds_reload(builds->host, NULL, "reloaded");
    for (int round = 0; round < 2; round++) {
        builds_expect(builds->host, "build", 2);
        builds_expect(builds->host, "build@1.0.0", 1);
        builds_reopen(builds);
    }
    assert_int_equal(toolrack_rollback(builds->host, "build", NULL, &err), 0);
    builds_expect(builds->host, "build", 1);
}

static void a_file_is_named_by_what_leads_to_it(void **state) {
    struct builds *builds = *state;
    struct toolrack_error err;
    put_into(builds, "elsewhere", V1, 1);
    make_link(builds, "../elsewhere/build.so", "plugins/build.so");
    make_link(builds, "plugins/build.so", "latest");
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    put_into(builds, "elsewhere", V1, 2);
    builds_reload(builds->host, below(builds, "elsewhere/build.so").text, "reloaded");
    builds_expect_why(builds->host, below(builds, "latest").text, "/plugin", "test.build");
    if (toolrack_rollback(builds->host, below(builds, "latest").text, NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
    builds_expect(builds->host, "build", 1);
}

/* ---------------------------------------------------------------- linked folders */

/* current -> v1, then current -> v2: another folder, another origin, other files. */
static void a_folder_link_that_is_exchanged_leads_to_other_files(void **state) {
    struct builds *builds = *state;
    put_into(builds, "v1", V1, 1);
    put_into(builds, "v2", V2, 2);
    make_link(builds, "v1", "current");
    use(builds, "current");
    builds_open(builds);
    builds_expect(builds->host, "build", 1);
    make_link(builds, "v2", "current");
    builds_reload(builds->host, NULL, "reloaded");
    for (int round = 0; round < 2; round++) {
        builds_expect(builds->host, "build", 2);
        expect_absent(builds->host, "build@1.0.0");
        expect_nothing_to_go_back_to(builds);
        builds_expect_why(builds->host, "build", "/rolled_back", "false");
        builds_reopen(builds);
    }
    make_link(builds, "v1", "current");
    builds_reload(builds->host, NULL, "reloaded");
    for (int round = 0; round < 2; round++) {
        builds_expect(builds->host, "build", 1);
        builds_reopen(builds);
    }
}

/* With the same content too. */
static void nothing_decided_goes_along_with_a_folder_link(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"policies\": {\"test.build\": {\"workers\": 1}}}");
    put_into(builds, "v1", V1, 1);
    make_link(builds, "v1", "current");
    use(builds, "current");
    for (unsigned number = 1; number <= 2; number++) {
        put_into(builds, "v2", V1, number);
        builds_open(builds);
        builds_expect(builds->host, "build", 1);
        make_link(builds, "v2", "current");
        builds_reload(builds->host, NULL, "refused");
        for (int round = 0; round < 2; round++) {
            expect_absent(builds->host, "build");
            builds_expect_why(builds->host, "test.build", "/reason", "/v1, which is absent");
            builds_reopen(builds);
        }
        make_link(builds, "v1", "current");
        builds_reload(builds->host, NULL, "added");
        builds_expect(builds->host, "build", 1);
        builds_close(builds);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, builds_setup, builds_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(every_path_to_a_folder_is_the_same),
            TEST(a_rollback_reaches_a_host_with_another_path),
            TEST(the_last_good_content_is_found_by_every_path),
            TEST(rows_of_earlier_versions_stay_in_use),
            TEST(a_link_that_is_exchanged_is_an_update),
            TEST(a_file_is_named_by_what_leads_to_it),
            TEST(a_folder_link_that_is_exchanged_leads_to_other_files),
            TEST(nothing_decided_goes_along_with_a_folder_link),
    };
    return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
