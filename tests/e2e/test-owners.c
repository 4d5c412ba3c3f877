/* Who may change a plugin file, its folder and the configuration; and where folders of the
 * configuration are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "access-list.h"
#include "e2e.h"

/* A user that is not the test's. */
#define STRANGER 12345

/* Plugins come from the folders of the configuration alone. */
#define WITH(...) \
    RUN_WITH({.bare = true}, "--config", "conf/toolrack.json", "--state", "state", __VA_ARGS__)

static void need_root(void) {
    if (geteuid() != 0) {
        print_message("# skipped: only root gives files away\n");
        skip();
    }
}

static void install(const char *folder) {
    char from[512];
    char to[128];
    (void)snprintf(from, sizeof from, "%s/kit.so", e2e_plugins());
    (void)snprintf(to, sizeof to, "%s/kit.so", folder);
    (void)mkdir("conf", 0755);
    assert_int_equal(mkdir(folder, 0755), 0);
    e2e_copy(from, to, 0);
    assert_int_equal(chmod(to, 0644), 0);
}

static void configure(const char *text) {
    (void)mkdir("conf", 0755);
    e2e_write("conf/toolrack.json", text);
    assert_int_equal(chmod("conf/toolrack.json", 0644), 0);
}

static void a_folder_of_everybody_is_refused_in_process(void **state) {
    (void)state;
    install("conf/tools");
    configure("{\"folders\": [\"tools\"], \"isolation\": \"none\"}");
    EXPECT(WITH("call", "launch"), 5, "", "toolrack: PermissionDenied: *");
    assert_int_equal(chmod("conf/tools", 0777), 0);
    EXPECT(WITH("call", "nothing"), 3, "",
           "toolrack: warning: scan: */conf/tools: others may write to */conf/tools (mode 0777)*\n"
           "*NotFound: *");
    EXPECT_JSON(WITH("list", "--all", "--json"), 0, "/0/rule", "\"file-exposed\"", "/0/plugin",
                "\"kit\"", "/0/reason",
                "\"a plugin with isolation \\\"none\\\" must not be one that others could "
                "change: *conf/tools (mode 0777)*\"",
                "/1", "");
    /* Sticky or not: anybody may add a file. */
    assert_int_equal(chmod("conf/tools", 01777), 0);
    EXPECT(WITH("call", "nothing"), 3, "", "*mode 1777*NotFound: *");
    assert_int_equal(chmod("conf/tools", 0755), 0);
    EXPECT(WITH("call", "nothing"), 0, "null\n", "");
}

static void in_a_worker_it_is_a_warning(void **state) {
    (void)state;
    install("conf/tools");
    configure("{\"folders\": [\"tools\"]}");
    assert_int_equal(chmod("conf/tools/kit.so", 0646), 0);
    EXPECT(WITH("call", "nothing"), 0, "null\n",
           "toolrack: warning: kit: others may write to */tools/kit.so (mode 0646); chmod go-w "
           "it\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "conf/tools/kit.so"), 1, "*file-exposed*mode 0646*",
           "");
    assert_int_equal(chmod("conf/tools/kit.so", 0644) | chmod("conf/tools", 0777), 0);
    EXPECT(WITH("call", "nothing"), 0, "null\n", "toolrack: warning: scan: *(mode 0777)*\n");
}

static void trust_needs_files_that_nobody_else_can_change(void **state) {
    (void)state;
    install("conf/tools");
    configure("{\"folders\": [{\"path\": \"tools\", \"trust\": \"official\"}]}");
    EXPECT(WITH("call", "nothing"), 0, "null\n", "");
    assert_int_equal(chmod("conf/tools/kit.so", 0646), 0);
    EXPECT_JSON(WITH("list", "--all", "--json"), 0, "/0/rule", "\"file-exposed\"", "/0/reason",
                "\"a plugin of trust \\\"official\\\" must not be *\"", "/1", "");
    EXPECT(WITH("reload"), 1, "*refused*mode 0646*", NULL);
}

static void the_file_of_another_user_is_refused_in_process(void **state) {
    (void)state;
    need_root();
    install("conf/tools");
    configure("{\"folders\": [\"tools\"], \"isolation\": \"none\"}");
    assert_int_equal(chown("conf/tools/kit.so", STRANGER, 0), 0);
    EXPECT_JSON(WITH("list", "--all", "--json"), 0, "/0/state", "\"refused\"", "/0/reason",
                "\"*kit.so belongs to user 12345, who could change it*\"");
    assert_int_equal(chown("conf/tools/kit.so", 0, 0) | chown("conf", STRANGER, 0), 0);
    EXPECT(WITH("list"), 1, "", "toolrack: *Refused*conf belongs to user 12345*\n");
}

/* As an administrator looks at the state of a service. */
static void root_leaves_nothing_in_the_state_of_another(void **state) {
    (void)state;
    need_root();
    install("conf/tools");
    configure("{\"folders\": [\"tools\"]}");
    assert_int_equal(mkdir("state", 0700) | chown("state", STRANGER, STRANGER), 0);
    EXPECT(WITH("list"), 0, NULL,
           "*the state folder state is not used: it belongs to user 12345, who could change what "
           "root reads there; do this as that user (sudo -u '#12345')\n*");
    EXPECT(WITH("token", "add", "ci"), 1, "", "*do this as that user (sudo -u '#12345')\n");
    EXPECT(WITH("mcp"), 0, "", NULL); /* it hears of other hosts where it keeps what it stores */
    EXPECT(WITH("reload"), 0, NULL, NULL); /* it copies plugins, as does a call */
    EXPECT(WITH("call", "nothing"), 5, "", "*PermissionDenied: *");
    EXPECT(WITH("agent", "--endpoint", "http://127.0.0.1:1", "--model", "m", "hello"), 1, "", NULL);
    assert_int_equal(rmdir("state"), 0); /* it is empty */
}

static void a_configuration_of_everybody_is_not_used(void **state) {
    (void)state;
    configure("{\"isolation\": \"none\"}");
    EXPECT(WITH("list"), 0, NULL, NULL);
    assert_int_equal(chmod("conf/toolrack.json", 0666), 0);
    EXPECT(WITH("list"), 1, "",
           "toolrack: *the configuration conf/toolrack.json is not used: others may write to "
           "*/conf/toolrack.json (mode 0666); chmod go-w it\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "conf/toolrack.json"), 1, "", "*(mode 0666)*");
    assert_int_equal(chmod("conf/toolrack.json", 0644) | chmod("conf", 0777), 0);
    EXPECT(WITH("list"), 1, "", "*conf (mode 0777)*");
}

/* The mode shows the mask of a list as the rights of the group. */
static void a_configuration_that_a_list_opens_is_not_used(void **state) {
    (void)state;
    install("conf/tools");
    configure("{\"folders\": [\"tools\"], \"grants\": [\"launch\"], \"isolation\": \"none\"}");
    EXPECT(WITH("call", "nothing"), 0, "null\n", "");
    assert_int_equal(access_list_give("conf/toolrack.json", ACCESS_LIST, STRANGER, 6, 6), 0);
    EXPECT(WITH("call", "nothing"), 1, "",
           "toolrack: *the configuration conf/toolrack.json is not used: others may write to "
           "*/conf/toolrack.json (mode 0765, with an access control list); chmod go-w it\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "conf/toolrack.json"), 1, "",
           "*with an access control list*");
    assert_int_equal(chmod("conf/toolrack.json", 0644), 0);
    EXPECT(WITH("call", "nothing"), 0, "null\n", "");
    assert_int_equal(access_list_give("conf", ACCESS_LIST, STRANGER, 7, 7), 0);
    EXPECT(WITH("call", "nothing"), 1, "", "*conf (mode 0775, with an access control list)*");
}

static void a_plugin_that_a_list_opens_is_refused_in_process(void **state) {
    (void)state;
    install("conf/tools");
    configure("{\"folders\": [\"tools\"], \"isolation\": \"none\"}");
    assert_int_equal(access_list_give("conf/tools/kit.so", ACCESS_LIST, STRANGER, 7, 7), 0);
    EXPECT_JSON(WITH("list", "--all", "--json"), 0, "/0/rule", "\"file-exposed\"", "/0/reason",
                "\"*kit.so (mode 0775, with an access control list)*\"", "/1", "");
    assert_int_equal(chmod("conf/tools/kit.so", 0644), 0);
    assert_int_equal(access_list_give("conf/tools", ACCESS_LIST, STRANGER, 7, 7), 0);
    EXPECT_JSON(WITH("list", "--all", "--json"), 0, "/0/rule", "\"file-exposed\"", "/0/reason",
                "\"*tools (mode 0775, with an access control list)*\"", "/1", "");
    EXPECT(RUN_WITH({.bare = true}, "check", "conf/tools/kit.so"), 1,
           "*file-exposed*with an access control list*", "");
    assert_int_equal(chmod("conf/tools", 0755), 0);
    EXPECT(WITH("call", "nothing"), 0, "null\n", "");
}

/* Wherever the command is started. */
static void relative_folders_are_below_that_of_the_file(void **state) {
    (void)state;
    char home[512];
    install("conf/tools");
    configure("{\"folders\": [\"./tools\"]}");
    EXPECT(WITH("call", "nothing"), 0, "null\n", "");
    EXPECT_JSON(WITH("show", "nothing", "--json"), 0, "/file", "\"/*/conf/./tools/kit.so\"");
    assert_non_null(getcwd(home, sizeof home));
    char *before = getenv("HOME") != NULL ? strdup(getenv("HOME")) : NULL;
    assert_int_equal(setenv("HOME", home, 1), 0);
    configure("{\"folders\": [{\"path\": \"~/conf/tools\"}]}");
    EXPECT(WITH("call", "nothing"), 0, "null\n", "");
    configure("{\"folders\": [\"~somebody/tools\"]}");
    EXPECT(WITH("list"), 1, "",
           "toolrack: *toolrack.json, line 1, column *: the folders of other users are not looked "
           "up in \"~somebody/tools\"; write the path from the root, such as \"/srv/tools\"\n");
    (void)(before != NULL ? setenv("HOME", before, 1) : unsetenv("HOME"));
    free(before);
}

/* -------------------------------------------------------------- a tool's name */

static void put(const char *to, const char *fixture) {
    char from[512];
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_BUILDS"), fixture);
    e2e_copy(from, "conf/new", 0);
    assert_int_equal(chmod("conf/new", 0644) | rename("conf/new", to), 0);
}

/* Run the command that the row of a shadowed version of calc recommends, in a shell, as it stands
 * there. */
static void follow_fix(const char *version) {
    struct run run = WITH("list", "--all", "--json");
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    char command[1024] = "";
    size_t at, count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        const char *is = yyjson_get_str(yyjson_obj_get(row, "version"));
        const char *fix = yyjson_get_str(yyjson_obj_get(row, "fix"));
        const char *begin = fix != NULL ? strstr(fix, ": toolrack ") : NULL;
        if (begin != NULL && is != NULL && strcmp(is, version) == 0 &&
            yyjson_equals_str(yyjson_obj_get(row, "name"), "calc")) {
            (void)snprintf(command, sizeof command,
                           "toolrack() { \"$E2E_TOOLRACK\" \"$@\"; }; cd / && %s >/dev/null 2>&1",
                           begin + strlen(": "));
        }
    }
    yyjson_doc_free(doc);
    run_finish(&run);
    if (command[0] == '\0') {
        fail_msg("no row of calc %s recommends a command", version);
    }
    assert_int_equal(system(command), 0);
}

/* Whoever has the name: each row of a shadowed version recommends what gives it to its plugin. */
static void what_a_row_recommends_works(void **state) {
    (void)state;
    configure("{\"folders\": [\"tools\", \"other\"]}");
    assert_int_equal(mkdir("conf/tools", 0755) | mkdir("conf/other", 0755), 0);
    put("conf/tools/claim.so", "claim");
    EXPECT(WITH("call", "calc"), 0, "claim 1\n", "");
    put("conf/tools/claim.so", "claim-next");
    EXPECT(WITH("call", "calc"), 0, "claim 2\n", "");
    put("conf/other/other.so", "claim-other");
    static const char *const versions[] = {"2.0.0", "1.0.0"}; /* the second one is kept */
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        follow_fix("99.0.0");
        EXPECT(WITH("call", "calc"), 0, "other\n", NULL);
        EXPECT(WITH("call", "calc@1.0.0"), 3, "", NULL);
        follow_fix(versions[i]);
        EXPECT(WITH("call", "calc"), 0, "claim 2\n", NULL);
        EXPECT(WITH("call", "calc@1.0.0"), 0, "claim 1\n", NULL);
    }
    follow_fix("99.0.0");
    /* Each problem is a row, so commands print one line. */
    EXPECT(WITH("call", "calc"), 0, "other\n", "toolrack: * problems with tools *\n");
    /* What serves is chosen, not what its file has become. */
    e2e_write("conf/tools/claim.so", "no plugin\n");
    follow_fix("2.0.0");
    EXPECT(WITH("call", "calc"), 0, "claim 2\n", NULL);
    configure("{\"folders\": [\"other\"], \"tools\": [{\"name\": \"calc\", \"description\": \"d\", "
              "\"type\": \"function\", \"parameters\": {\"type\": \"object\"}, \"implementation\": "
              "{\"type\": \"mock\", \"mock_response\": \"mine\"}}]}");
    EXPECT(WITH("default", "calc", "--reset"), 0, NULL, NULL);
    EXPECT(WITH("call", "calc"), 0, "mine\n", NULL);
    follow_fix("99.0.0");
    EXPECT(WITH("call", "calc"), 0, "other\n", NULL);
    follow_fix("1.0.0");
    EXPECT(WITH("call", "calc"), 0, "mine\n", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_folder_of_everybody_is_refused_in_process),
            TEST(in_a_worker_it_is_a_warning),
            TEST(trust_needs_files_that_nobody_else_can_change),
            TEST(the_file_of_another_user_is_refused_in_process),
            TEST(root_leaves_nothing_in_the_state_of_another),
            TEST(a_configuration_of_everybody_is_not_used),
            TEST(a_configuration_that_a_list_opens_is_not_used),
            TEST(a_plugin_that_a_list_opens_is_refused_in_process),
            TEST(relative_folders_are_below_that_of_the_file),
            TEST(what_a_row_recommends_works),
    };
    return cmocka_run_group_tests_name("owners", tests, NULL, NULL);
}
