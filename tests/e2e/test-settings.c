/* enable, disable, priority: each run here sees what the one before it kept. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "e2e.h"

static void disabled_stays_disabled(void **state) {
    (void)state;
    EXPECT(RUN("disable", "add"), 0, "add is disabled\n", "");
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 5, "", "toolrack: Disabled: *\n");
    EXPECT_JSON(RUN("list", "--json", "--category", "math"), 0, "/0/id", "\"total\"", "/1", "");
    EXPECT_JSON(RUN("list", "--all", "--json", "--category", "math"), 0, "/0/id", "\"add\"",
                "/0/enabled", "false");
    EXPECT_JSON(RUN("enable", "add", "--json"), 0, "",
                "{\"name\":\"add\",\"enabled\":true,\"hosts\":0,\"silent\":0}");
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
    EXPECT_JSON(RUN("disable", "add", "--json"), 0, "",
                "{\"name\":\"add\",\"enabled\":false,\"hosts\":0,\"silent\":0}");
}

static void a_tool_that_is_off_by_itself_can_be_switched_on(void **state) {
    (void)state;
    EXPECT(RUN("enable", "asleep"), 0, "asleep is enabled\n", "");
    EXPECT(RUN("call", "asleep"), 0, "awake\n", "");
    /* Elsewhere it is as it was. */
    EXPECT(RUN("call", "asleep", "--state", "other"), 5, "", "toolrack: Disabled: *\n");
}

static void one_version_is_set_alone(void **state) {
    (void)state;
    EXPECT(RUN("disable", "greet@2.0.0"), 0, "greet 2.0.0 is disabled\n", "");
    EXPECT(RUN("call", "greet", "--arg", "name=x"), 0, "good day\n", "");
    EXPECT(RUN("call", "greet@2.0.0", "--arg", "name=x"), 5, "", "toolrack: Disabled: *\n");
    EXPECT(RUN("enable", "greet@2.0.0"), 0, "greet 2.0.0 is enabled\n", "");
    EXPECT(RUN("call", "greet", "--arg", "name=x"), 0, "hello\n", "");
}

static void priority_orders_the_list(void **state) {
    (void)state;
    EXPECT(RUN("priority", "total", "500"), 0, "total has priority 500\n", "");
    EXPECT_JSON(RUN("list", "--json"), 0, "/0/id", "\"total\"", "/0/priority", "500");
    EXPECT_JSON(RUN("priority", "total", "-5", "--json"), 0, "",
                "{\"name\":\"total\",\"priority\":-5,\"hosts\":0,\"silent\":0}");
    EXPECT_JSON(RUN("list", "--json"), 0, "/0/id", "\"add\"", "/17/id", "\"total\"", "/17/priority",
                "-5");
}

static void an_empty_database_is_told(void **state) {
    (void)state;
    assert_int_equal(mkdir("state", 0700), 0);
    e2e_write("state/toolrack.db", "");
    const struct timespec long_ago[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, "state/toolrack.db", long_ago, 0), 0);
    EXPECT(RUN("disable", "add"), 0, NULL,
           "toolrack: warning: store: toolrack.db in * is empty and is begun anew: *\n");
    EXPECT(RUN("enable", "add"), 0, NULL, "");
}

/* The system sends a signal to who writes beyond the limit of file sizes. */
static void a_limit_of_file_sizes_is_told(void **state) {
    static const rlim_t sizes[] = {0, 8192, 65536}; /* with 0, not even its errors can be caught */
    struct rlimit limit;
    (void)state;
    EXPECT(RUN("disable", "add"), 0, "add is disabled\n", "");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit before = limit;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        limit.rlim_cur = sizes[i];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        struct run fresh = RUN("disable", "add", "--state", "fresh");
        struct run run = RUN("call", "add", "{\"a\":1,\"b\":2}");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        EXPECT(fresh, 1, "",
               sizes[i] == 0
                       ? NULL
                       : "*toolrack: InputOutput: cannot *: a file may not grow so far; raise "
                         "the limit of file sizes (ulimit -f) and do it again\n");
        EXPECT(run, 5, "", sizes[i] == 0 ? NULL : "*toolrack: Disabled: *");
    }
}

static void an_unknown_tool_exits_3(void **state) {
    (void)state;
    EXPECT(RUN("enable", "gret"), 3, "", "toolrack: NotFound: *greet*\n");
    EXPECT(RUN("disable", "gret"), 3, "", "toolrack: NotFound: *greet*\n");
    EXPECT_JSON(RUN("priority", "gret", "1", "--json"), 3, "/error/type", "\"NotFound\"");
}

static void what_cannot_be_kept_is_an_error(void **state) {
    (void)state;
    e2e_write("state", "a file where the folder should be\n");
    EXPECT(RUN("disable", "add"), 1, "", "*toolrack: InputOutput: *\n");
}

/* It would be gone when the command ends. */
static void without_a_state_folder_no_change_is_accepted(void **state) {
    (void)state;
    static const char *const changes[][4] = {{"enable", "add"},
                                             {"disable", "add"},
                                             {"priority", "add", "7"},
                                             {"default", "add", "1.0.0"},
                                             {"default", "add", "--reset"},
                                             {"grant", "add"},
                                             {"revoke", "add"},
                                             {"whitelist", "add", "add"},
                                             {"blacklist", "remove", "add"},
                                             {"feedback", "add", "good"},
                                             {"rollback", "add"},
                                             {"release", "add"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *const *words = changes[i];
        EXPECT(RUN_WITH({.bare = true}, "--config", "", "--state", "", "--plugins", e2e_plugins(),
                        words[0], words[1], words[2], words[2] != NULL ? words[3] : NULL),
               1, "", "toolrack: InputOutput: there is no state folder*--state DIR*\n");
    }
    EXPECT(RUN_WITH({.bare = true}, "--config", "", "--state", "", "--plugins", e2e_plugins(),
                    "default", "add"),
           0, "the default of add is*", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(without_a_state_folder_no_change_is_accepted),
            TEST(disabled_stays_disabled),
            TEST(a_tool_that_is_off_by_itself_can_be_switched_on),
            TEST(one_version_is_set_alone),
            TEST(priority_orders_the_list),
            TEST(an_unknown_tool_exits_3),
            TEST(an_empty_database_is_told),
            TEST(a_limit_of_file_sizes_is_told),
            TEST(what_cannot_be_kept_is_an_error),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
