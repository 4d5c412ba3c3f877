/* token, tasks: who may use a server, and what its clients wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "toolrack/serving.h"

/* A host of the state folder that the command uses. */
static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = "";
    options.state_dir = "state";
    options.no_scan = 1;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    return host;
}

/* ------------------------------------------------------------------ tokens */

static void a_token_is_shown_once_and_lets_in(void **state) {
    (void)state;
    struct toolrack_token_grant *grant = NULL;
    struct toolrack *host = open_host();
    EXPECT(RUN("token"), 0, "", "toolrack: there are no tokens\n");
    struct run added = RUN("token", "add", "ci");
    assert_int_equal(added.exit, 0);
    expect_match(__FILE__, __LINE__, added.out, "trk_*\n");
    expect_match(__FILE__, __LINE__, added.err,
                 "toolrack: this is the secret of the token 'ci'; it is shown only now\n");
    added.out[strcspn(added.out, "\n")] = '\0';
    assert_int_equal(toolrack_token_find(host, added.out, &grant, NULL), 0);
    assert_string_equal(toolrack_token_grant_name(grant), "ci");

    EXPECT(RUN("token", "list"), 0,
           "NAME  MAY  PROFILE  TOOLS  EXPIRES  SINCE *WHO *ID\n"
           "ci    -    all      all    never    20*ci-*\n",
           "");
    EXPECT(RUN("token", "add", "ci"), 1, "", "toolrack: AlreadyExists: *revoke it first\n");
    EXPECT(RUN("token", "revoke", "ci"), 0, "ci is revoked; 1 running host applies it\n", "");
    assert_false(toolrack_token_grant_holds(grant));
    toolrack_token_grant_unref(grant);
    assert_int_equal(toolrack_token_find(host, added.out, &grant, NULL), TOOLRACK_E_NOT_FOUND);
    EXPECT(RUN("token", "revoke", "ci"), 3, "",
           "toolrack: NotFound: there is no token 'ci'; *toolrack *token list\n");
    EXPECT(RUN("decisions"), 0, "*revoked token*added token*", "");
    struct run decisions = RUN("decisions", "--json");
    assert_null(strstr(decisions.out, added.out));
    run_finish(&decisions);
    run_finish(&added);
    toolrack_close(host);
}

static void a_token_has_what_its_options_say(void **state) {
    (void)state;
    e2e_write("toolrack.json", "{\"serve\": {\"profiles\": {\"small\": {}}}}");
    EXPECT_JSON(RUN("token", "add", "boss", "--admin", "--approves", "--profile=small", "--expires",
                    "30d", "--rate", "60", "--tool", "add", "--tool", "file_*@^1", "--json",
                    "--config", "toolrack.json"),
                0, "/name", "\"boss\"", "/secret", "\"trk_*\"", "/hosts", "0");
    EXPECT_JSON(RUN("token", "list", "--json"), 0, "/0/name", "\"boss\"", "/0/admin", "true",
                "/0/approves", "true", "/0/profile", "\"small\"", "/0/tools",
                "[\"add\",\"file_*@^1\"]", "/0/rate_per_minute", "60", "/0/expires_s", "1*",
                "/0/expired", "false", "/0/secret", "", "/0/sha256", "", "/1", "");
    EXPECT(RUN("token", "list"), 0,
           "NAME * TOOLS *\n"
           "boss  administers, approves  small    add file_*@^1  20*\n",
           "");
    EXPECT_JSON(RUN("token", "add", "late", "--expires", "2099-12-31T18:00Z", "--json"), 0, "/name",
                "\"late\"");
    EXPECT_JSON(RUN("token", "list", "--json"), 0, "/1/expires_s", "4102423200");
}

/* A plugin that has the tool may come later. */
static void a_token_for_no_tool_is_told(void **state) {
    (void)state;
    EXPECT(RUN("token", "add", "ci", "--tool", "greeet", "--tool", "add", "--tool", "gr*"), 0,
           "trk_*\n",
           "*the token 'ci' is for 'greeet', and no tool has this name; did you mean "
           "\"greet\"?\ntoolrack: this is the secret*");
    EXPECT(RUN("token", "add", "other", "--tool", "add"), 0, "trk_*\n",
           "toolrack: this is the secret*");
}

static void a_wrong_token_is_wrong_usage(void **state) {
    (void)state;
    EXPECT(RUN("token", "add"), 2, "", "toolrack: the argument must be list, or add or revoke *\n");
    EXPECT(RUN("token", "ad", "ci"), 2, "", "toolrack: the argument must be *\n");
    EXPECT(RUN("token", "add", "a b"), 2, "", "toolrack: the name of a token *\n");
    EXPECT(RUN("token", "add", "ci", "--profile", "small"), 2, "",
           "toolrack: the configuration has no profile 'small'; *\n");
    EXPECT(RUN("token", "add", "ci", "--tool", "no name"), 2, "",
           "toolrack: \"no name\" names no tool*\n");
    EXPECT(RUN("token", "add", "ci", "--expires", "soon"), 2, "",
           "toolrack: --expires takes a duration *\"soon\"\n");
    EXPECT(RUN("token", "add", "ci", "--expires", "2001-01-01"), 2, "", "*expired already\n");
    EXPECT(RUN("token", "add", "ci", "--rate", "0"), 2, "", "toolrack: --rate takes a number *\n");
    EXPECT(RUN("token", "list", "--admin"), 2, "",
           "toolrack: --admin is for 'toolrack token add NAME' only\n");
    EXPECT(RUN("token", "revoke", "ci", "--tool", "x"), 2, "", "toolrack: --tool is for *\n");
    EXPECT(RUN("token", "list"), 0, "", "toolrack: there are no tokens\n");
    EXPECT(RUN("token", "add", "ci", "--state", ""), 1, "", "*state folder*");
}

/* ------------------------------------------------------------------- tasks */

static void make_task(struct toolrack *host, const char *owner, char ret[TOOLRACK_TASK_ID_ROOM]) {
    struct toolrack_task task = TOOLRACK_TASK_INIT;
    task.owner = owner;
    task.tool = "add";
    task.version = "1.0.0";
    task.method = "tools/call";
    assert_int_equal(toolrack_task_create(host, &task, ret, NULL), 0);
}

static void tasks_are_listed_and_shown(void **state) {
    (void)state;
    char first[TOOLRACK_TASK_ID_ROOM];
    char second[TOOLRACK_TASK_ID_ROOM];
    char expected[256];
    EXPECT(RUN("tasks"), 0, "", "toolrack: there are no tasks\n");
    struct toolrack *host = open_host();
    make_task(host, "token:a", first);
    make_task(host, "token:b", second);
    assert_int_equal(
            toolrack_task_set(host, second, "completed", "done", "{\"n\":1.0}", NULL, NULL, NULL),
            0);
    (void)snprintf(expected, sizeof expected,
                   "ID * OWNER    TOOL  STATUS     SINCE * MESSAGE\n"
                   "%s  token:a  add   working    20*  -\n"
                   "%s  token:b  add   completed  20*  done\n",
                   first, second);
    EXPECT(RUN("tasks"), 0, expected, "");
    (void)snprintf(expected, sizeof expected, "\"%s\"", second);
    EXPECT_JSON(RUN("tasks", "list", "--owner", "token:b", "--json"), 0, "/0/taskId", expected,
                "/0/status", "\"completed\"", "/0/result", "", "/1", "");
    EXPECT(RUN("tasks", "--owner", "token:c"), 0, "", "toolrack: this owner has no task\n");
    (void)snprintf(expected, sizeof expected,
                   "id           %s\nowner        token:b\ntool         add\n"
                   "version      1.0.0\nstatus       completed\nmessage      done\n*"
                   "kept ms      3600000\nresult       {\"n\":1.0}\n",
                   second);
    EXPECT(RUN("tasks", "show", second), 0, expected, "");
    second[31] = '\0'; /* its beginning is enough */
    EXPECT_JSON(RUN("tasks", "show", second, "--json"), 0, "/result/n", "1.0", "/method",
                "\"tools/call\"");
    EXPECT(RUN("tasks", "show", first, "--owner", "token:b"), 3, "",
           "toolrack: NotFound: there is no task *\n");
    toolrack_close(host);
    EXPECT_JSON(RUN("tasks", "show", first, "--json"), 0, "/status", "\"failed\"", "/error/message",
                "\"the host that ran it ended*\"");
}

static void a_task_is_cancelled(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char expected[256];
    struct toolrack *host = open_host();
    make_task(host, "token:a", id);
    (void)snprintf(expected, sizeof expected, "%s is cancelled; 1 running host applies it\n", id);
    EXPECT(RUN("tasks", "cancel", id), 0, expected, "");
    (void)snprintf(expected, sizeof expected,
                   "toolrack: AlreadyExists: task '%s' is cancelled already\n", id);
    EXPECT(RUN("tasks", "cancel", id), 1, "", expected);
    EXPECT(RUN("tasks", "cancel", "x"), 3, "", "toolrack: NotFound: there is no task 'x'\n");
    EXPECT(RUN("tasks", "cancel"), 2, "", "toolrack: the argument must be list, or show, *\n");
    EXPECT(RUN("tasks", "stop", id), 2, "", "toolrack: the argument must be list, or show, *\n");
    make_task(host, "token:a", id);
    (void)snprintf(expected, sizeof expected,
                   "{\"id\":\"%s\",\"cancelled\":true,\"hosts\":1,\"silent\":0}", id);
    EXPECT_JSON(RUN("tasks", "cancel", id, "--json"), 0, "", expected);
    make_task(host, "token:a", id);
    (void)snprintf(expected, sizeof expected,
                   "toolrack: Invalid: task '%s' has not ended; cancel it: toolrack *", id);
    EXPECT(RUN("tasks", "remove", id), 1, "", expected);
    assert_int_equal(toolrack_task_set(host, id, "completed", NULL, "1", NULL, NULL, NULL), 0);
    (void)snprintf(expected, sizeof expected, "%s is removed\n", id);
    EXPECT(RUN("tasks", "remove", id), 0, expected, "");
    EXPECT(RUN("tasks", "remove", id), 3, "", "toolrack: NotFound: there is no task '*'\n");
    toolrack_close(host);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, e2e_setup, e2e_teardown)
    const struct CMUnitTest tests[] = {
            TEST(a_token_is_shown_once_and_lets_in), TEST(a_token_has_what_its_options_say),
            TEST(a_token_for_no_tool_is_told),       TEST(a_wrong_token_is_wrong_usage),
            TEST(tasks_are_listed_and_shown),        TEST(a_task_is_cancelled),
    };
    return cmocka_run_group_tests_name("serving-verbs", tests, NULL, NULL);
}
