/* grant, revoke, grants, approvals, and the question at the terminal: who lets a tool run. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "e2e.h"
#include "toolrack/toolrack.h"

static void a_grant_lets_a_dangerous_tool_run(void **state) {
    (void)state;
    EXPECT(RUN("call", "launch"), 5, "",
           "toolrack: PermissionDenied: Tool 'launch' is dangerous and *: toolrack *grant "
           "launch\n");
    EXPECT(RUN("grants"), 0, "", "toolrack: there are no grants or approvals\n");
    EXPECT(RUN("grant", "launch"), 0, "launch is granted until it is revoked\n", "");
    EXPECT(RUN("call", "launch"), 0, "launched\n", "");
    EXPECT(RUN("grants"), 0,
           "TOOL    VERSION  KIND   PLUGIN  STATE     EXPIRES  SINCE  *WHO *CONVERSATION\n"
           "launch  all      grant  kit     in-force  never    20*  all\n",
           "");
    EXPECT_JSON(RUN("grants", "--json"), 0, "/0/kind", "\"grant\"", "/0/tool", "\"launch\"",
                "/0/version", "null", "/0/expires_s", "null", "/0/who", "\"*\"", "/1", "");
    EXPECT_JSON(RUN("revoke", "launch", "--json"), 0, "",
                "{\"name\":\"launch\",\"revoked\":true,\"hosts\":0,\"silent\":0}");
    EXPECT(RUN("call", "launch"), 5, "", "toolrack: PermissionDenied: *\n");
    EXPECT(RUN("revoke", "launch"), 3, "", "toolrack: NotFound: there is no grant for 'launch'\n");
}

static void a_grant_may_expire(void **state) {
    (void)state;
    EXPECT(RUN("grant", "launch@1.0.0", "--for", "2h"), 0, "launch@1.0.0 is granted for 2 hours\n",
           "");
    EXPECT(RUN("call", "launch"), 0, "launched\n", "");
    EXPECT_JSON(RUN("grants", "--json"), 0, "/0/version", "\"1.0.0\"", "/0/expires_s", "1*");
    EXPECT_JSON(RUN("grant", "launch", "--for=30s", "--json"), 0, "",
                "{\"name\":\"launch\",\"granted\":true,\"for_s\":30,\"hosts\":0,\"silent\":0}");
    EXPECT_JSON(RUN("grants", "--json"), 0, "/0/version", "null", "/1", "");
    EXPECT(RUN("grant", "launch", "--for", "tomorrow"), 2, "",
           "toolrack: --for takes a duration such as *, not \"tomorrow\"\n");
    EXPECT(RUN("grant", "lanch"), 3, "", "toolrack: NotFound: *did you mean 'launch'?\n");
}

/* Where nobody can be asked, it says how to agree. */
static void without_a_terminal_nobody_is_asked(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.input = "y\n"}, "call", "erase"), 5, "",
           "toolrack: ConfirmationRequired: *; --yes agrees to the call\n");
    EXPECT_JSON(RUN_WITH({.typed = "y\n"}, "call", "erase", "--json"), 5, "/error/type",
                "\"ConfirmationRequired\"", "/error/message", "\"*--yes*\"");
}

static const char erasing[] =
        "{\"name\": \"tidy\", \"nodes\": [{\"id\": \"sum\", \"tool\": \"add\", \"arguments\": "
        "{\"a\": 1, \"b\": 2}}, {\"id\": \"now\", \"tool\": \"erase\", \"arguments\": {\"file\": "
        "\"a\"}}, {\"id\": \"each\", \"tool\": \"erase\", \"for_each\": [1, 2], \"arguments\": "
        "{\"file\": {\"$ref\": \"#/item\"}}}, {\"id\": \"later\", \"tool\": \"erase\", "
        "\"arguments\": {\"file\": {\"$ref\": \"#/nodes/sum/result\"}}}]}";

/* All that a person would be asked about is listed, and not what runs anyhow. */
static void a_plan_lists_what_needs_approval(void **state) {
    (void)state;
    e2e_write("plan.json", erasing);
    EXPECT(RUN("run", "plan.json"), 5, "",
           "toolrack: needs approval: now (erase 1.0.0): {\"file\":\"a\"}\n"
           "toolrack: needs approval: each (erase 1.0.0), at most 2 items: {\"file\":{\"$ref\":"
           "\"#/item\"}}\n"
           "toolrack: needs approval: later (erase 1.0.0): {\"file\":{\"$ref\":"
           "\"#/nodes/sum/result\"}}\n"
           "toolrack: ConfirmationRequired: this plan runs only after a person agreed to it: 3 of "
           "its calls need approval; *; nobody can be asked here; allow all calls of a tool: "
           "toolrack * grant erase; --yes agrees to all of its calls\n");
    EXPECT_JSON(RUN("run", "plan.json", "--json"), 5, "/error/type", "\"ConfirmationRequired\"",
                "/error/message", "\"*grant*--yes*\"", "/approvals/0",
                "{\"node\":\"now\",\"tool\":\"erase\",\"version\":\"1.0.0\",\"permission\":"
                "\"confirm\",\"open\":false,\"arguments\":{\"file\":\"a\"}}",
                "/approvals/1/node", "\"each\"", "/approvals/1/max_items", "2", "/approvals/2/open",
                "true", "/approvals/3", "");
    e2e_write(
            "secret.json",
            "{\"inputs\": {\"key\": {\"type\": \"string\", \"format\": \"password\"}}, \"nodes\": "
            "[{\"id\": \"now\", \"tool\": \"erase\", \"arguments\": {\"file\": {\"$ref\": "
            "\"#/inputs/key\"}}}]}");
    EXPECT(RUN("run", "secret.json", "--input", "key=opensesame"), 5, "",
           "toolrack: needs approval: now (erase 1.0.0): {\"file\":\"***\"}\n*");
    EXPECT(RUN("run", "plan.json", "--yes"), 0,
           "{\"now\":\"erased\",\"each\":[\"erased\",\"erased\"],\"later\":\"erased\"}\n", NULL);
    EXPECT(RUN("grant", "erase"), 0, NULL, "");
    EXPECT(RUN("run", "plan.json"), 0, NULL, NULL);
}

/* A question in the middle of a run says of which node it is, and no line stands in it. */
static void a_question_names_its_node(void **state) {
    (void)state;
    e2e_write("plan.json",
              "{\"name\": \"tidy \\\"up\\\"\", \"nodes\": [{\"id\": \"sum\", \"tool\": \"add\", "
              "\"arguments\": {\"a\": 1, \"b\": 2}}, {\"id\": \"later\", \"tool\": \"erase\", "
              "\"arguments\": {\"file\": {\"$ref\": \"#/nodes/sum/result\"}}}]}");
    EXPECT(RUN_WITH({.typed = "y\ny\n"}, "run", "plan.json"), 0, "{\"later\":\"erased\"}\n",
           "plan *: 1 of its calls needs approval; *Let it run? *[N]o: "
           "toolrack: this is run *\n"
           "toolrack: sum (add): succeeded\n"
           "erase 1.0.0 (confirm), of plugin kit: node 'later' of plan \"tidy \\\"up\\\"\": *\n"
           "  file: 3.0\n"
           "Let it run? *[N]o: toolrack: later (erase): succeeded\n");
    EXPECT(RUN_WITH({.typed = "y\nn\n"}, "run", "plan.json"), 5, "",
           "*toolrack: PermissionDenied: *node 'later' (erase): Tool 'erase' was denied *\n");
}

static void the_person_at_the_terminal_is_asked(void **state) {
    (void)state;
    const char *arguments = "{\"file\": \"a  b\\u001b[31m\"}";
    EXPECT(RUN_WITH({.typed = "y\n"}, "call", "erase", arguments), 0, "erased\n",
           "erase 1.0.0 (confirm), of plugin kit: * destroy something\n"
           "  file: \"a  b\\u001B[31m\"\n"
           "Let it run? [y]es, [a]lways for any caller, [N]o: ");
    EXPECT(RUN_WITH({.typed = "what\nyes\n"}, "call", "erase"), 0, "erased\n",
           "*[N]o: Let it run? *[N]o: ");
    static const char *const refusals[] = {"n\n", "\n", "No\n", "\x04"};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        EXPECT(RUN_WITH(HOW(.typed = refusals[i]), "call", "erase"), 5, "",
               "*[N]o: *toolrack: PermissionDenied: Tool 'erase' was denied by *\n");
    }
    /* It was only this once; from now on always. */
    EXPECT(RUN_WITH({.typed = "a\n"}, "call", "erase"), 0, "erased\n", "*[N]o: ");
    EXPECT(RUN("call", "erase"), 0, "erased\n", "");
    EXPECT_JSON(RUN("grants", "--json"), 0, "/0/kind", "\"approval\"", "/0/tool", "\"erase\"",
                "/0/version", "\"1.0.0\"", "/0/conversation", "null");
    EXPECT(RUN("revoke", "erase"), 0, "grants and approvals of erase withdrawn\n", "");
    EXPECT(RUN("call", "erase"), 5, "", "toolrack: ConfirmationRequired: *\n");
}

static void what_is_typed_before_the_question_does_not_count(void **state) {
    (void)state;
    EXPECT(RUN_WITH(HOW(.ahead = "y\ny\ny\n", .typed = "n\n"), "call", "erase"), 5, "",
           "*[N]o: toolrack: PermissionDenied: Tool 'erase' was denied by *\n");
    EXPECT(RUN_WITH(HOW(.ahead = "n\n", .typed = "y\n"), "call", "erase"), 0, "erased\n",
           "*[N]o: ");
}

static void long_arguments_are_seen_before_a_yes(void **state) {
    (void)state;
    static char arguments[8192];
    (void)snprintf(arguments, sizeof arguments, "{\"file\":\"%05000d the end\"}", 0);
    EXPECT(RUN_WITH({.typed = "y\nn\n"}, "call", "erase", arguments), 5, "",
           "*\n  file: \"0*\xe2\x80\xa6 (the first 512 of 5010 bytes)\nLet it run? *[v]iew "
           "all, [N]o:   not all of the arguments were shown; v shows them\nLet it run? *[N]o: *");
    EXPECT(RUN_WITH({.typed = "v\ny\n"}, "call", "erase", arguments), 0, "erased\n",
           "*[N]o:   file: \"0*\n        0* the end\"\nLet it run? *[N]o: ");
}

static void ctrl_c_ends_the_question(void **state) {
    (void)state;
    struct run run =
            RUN_WITH(HOW(.typed = "", .wait_for = "[N]o: ", .send = SIGINT), "call", "erase");
    assert_int_equal(run.signal, SIGINT);
    assert_string_equal(run.out, "");
    EXPECT_MATCH(run.err, "erase 1.0.0 *[N]o: \ntoolrack: Cancelled: *\n");
    run_finish(&run);
}

static void approvals_are_listed_and_answered(void **state) {
    (void)state;
    EXPECT(RUN("approvals"), 0, "", "toolrack: no call waits for approval\n");
    EXPECT_JSON(RUN("approvals", "--json"), 0, "", "[]");
    EXPECT(RUN("approvals", "allow", "0123"), 3, "",
           "toolrack: NotFound: there is no approval '0123'; list those that wait: toolrack "
           "*approvals\n");
    EXPECT(RUN("approvals", "allow"), 2, "", "toolrack: an answer is allow, *\n");
    EXPECT(RUN("approvals", "perhaps", "0123"), 2, "", "toolrack: an answer is allow, *\n");
}

static int answer_later(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    (void)request;
    return TOOLRACK_APPROVAL_ASK_LATER;
}

/* Let so many calls of ann wait for approval, the first with numbers in several forms. */
static void make_pending(int count) {
    const char *dirs[] = {e2e_plugins(), NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = "";
    options.state_dir = "state";
    options.plugin_dirs = dirs;
    options.approve = answer_later;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    call.caller = "ann";
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    for (int i = 0; i < count; i++) {
        char arguments[128];
        (void)snprintf(arguments, sizeof arguments,
                       "{\"a\":1e3,\"b\":1.0,\"c\":123456789012345678901234567890,\"d\":%d}", i);
        struct toolrack_result *result = NULL;
        assert_int_equal(toolrack_call(host, "erase", arguments, &call, &result, NULL),
                         TOOLRACK_E_CONFIRMATION_REQUIRED);
    }
    toolrack_close(host);
}

static void approvals_show_numbers_as_they_were_written(void **state) {
    (void)state;
    make_pending(1);
    EXPECT(RUN("approvals"), 0,
           "ID *\n* {\"a\":1e3,\"b\":1.0,\"c\":123456789012345678901234567890,\"d\":0}\n", "");
    EXPECT(RUN("approvals", "--json"), 0,
           "*\"arguments\":{\"a\":1e3,\"b\":1.0,\"c\":123456789012345678901234567890,\"d\":0}*",
           "");
}

/* Seventeen ids of hexadecimal digits: two of them begin with the same one. */
static void approvals_are_answered_by_the_beginning_of_an_id(void **state) {
    (void)state;
    make_pending(17);
    struct run run = RUN("approvals");
    size_t count[256] = {0};
    char id[32] = "";
    unsigned char shared = 0;
    for (const char *line = strchr(run.out, '\n'); line != NULL && line[1] != '\0';
         line = strchr(line + 1, '\n')) {
        shared = ++count[(unsigned char)line[1]] > 1 ? (unsigned char)line[1] : shared;
        (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(line + 1, " ") - 1, line + 1);
    }
    run_finish(&run);
    EXPECT(RUN("approvals", "allow", ((char[]){(char)shared, '\0'})), 2, "",
           "toolrack: several ids begin with \"*\": *, *; give more of it\n");
    EXPECT(RUN("approvals", "deny", id), 0, "* is denied*\n", "");
    EXPECT(RUN("approvals", "deny", id), 3, "", "toolrack: NotFound: *\n");
}

static void all_calls_of_a_caller_are_denied(void **state) {
    (void)state;
    make_pending(3);
    EXPECT(RUN("approvals", "deny", "--caller", "bob"), 3, "",
           "toolrack: NotFound: no call of 'bob' waits for approval; list those that wait: "
           "toolrack *approvals\n");
    EXPECT(RUN("approvals", "allow", "--caller", "ann"), 2, "",
           "toolrack: --caller is for 'approvals deny' only, and without an id\n*");
    EXPECT(RUN("approvals", "deny", "0123", "--caller", "ann"), 2, "", "toolrack: --caller is *");
    EXPECT(RUN("approvals", "deny", "--caller", "ann"), 0, "3 calls of ann are denied\n", "");
    EXPECT(RUN("approvals"), 0, "", "toolrack: no call waits for approval\n");
    EXPECT(RUN("approvals", "deny", "--caller", "ann"), 3, "", NULL);
}

/* What was allowed once, until the call is made. */
static void an_answer_is_taken_back(void **state) {
    (void)state;
    char id[64] = "";
    make_pending(1);
    struct run run = RUN("approvals", "--json");
    const char *at = strstr(run.out, "\"id\":\"");
    assert_non_null(at);
    (void)snprintf(id, sizeof id, "%.32s", at + strlen("\"id\":\""));
    run_finish(&run);
    EXPECT(RUN("approvals", "allow", id), 0, "* may run once, when it is called again*\n", "");
    EXPECT(RUN("approvals", "allow", id), 3, "",
           "toolrack: NotFound: approval '*' was allowed already, by *; until the call is made, "
           "take "
           "that back with: toolrack *approvals deny *\n");
    EXPECT(RUN("approvals", "deny", id), 0, "* is denied*\n", "");
    EXPECT(RUN("approvals", "deny", id), 3, "", "toolrack: NotFound: *was denied already, by *\n");
    EXPECT(RUN("revoke", "erase"), 3, "", "toolrack: NotFound: *\n"); /* nothing is allowed */
}

/* The plugin "leash" in a folder of its own, as it was built in that way. */
static void install(const char *build) {
    char path[512];
    const char *dir = getenv("E2E_LEASH");
    assert_non_null(dir);
    (void)snprintf(path, sizeof path, "%s/%s.so", dir, build);
    (void)mkdir("plugins", 0700);
    e2e_copy(path, "plugins/new", 0);
    assert_int_equal(rename("plugins/new", "plugins/leash.so"), 0);
}

static void why_shows_what_changed(void **state) {
    (void)state;
    install("leash");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "grant", "erase"), 0, "erase is granted *\n", "");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "erase"), 0, "erased\n", "");
    install("leash-reworded");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "erase", "--yes"), 5, "",
           "toolrack: warning: leash: Tool 'erase@*' is not what was approved: *\n"
           "toolrack: PermissionDenied: Tool 'erase' is not what was approved: its description "
           "changed; see the difference: toolrack *why erase; approve it again: toolrack *grant "
           "erase\n");
    EXPECT_JSON(RUN_WITH({.plugins = "plugins"}, "show", "erase", "--json"), 0, "/state",
                "\"changed\"", "/reason", "\"its description changed since it was approved\"");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "why", "erase"), 0,
           "leash 1.0.0\n\n"
           "state        changed\n"
           "reason       its description changed since it was approved\n"
           "file         */leash.so\n"
           "generation   1, content *\n"
           "tool         erase\n"
           "permission   confirm\n"
           "\ndescription: changed since it was approved\n"
           "  - Erase a file\n"
           "  + Erase a file, and send a copy elsewhere first\n*",
           NULL);
    install("leash-reshaped");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "why", "erase"), 0,
           "*\nschema: changed since it was approved\n"
           "  -       \"type\": \"string\"\n"
           "  +       \"type\": \"array\"\n*",
           NULL);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "grant", "erase"), 0, "erase is granted *\n", NULL);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "erase"), 0, "erased\n", "");
    EXPECT_JSON(RUN_WITH({.plugins = "plugins"}, "why", "erase", "--json"), 0, "/state",
                "\"listed\"", "/changed", "", "/permission", "\"confirm\"");
}

/* Of what concerns other tools most commands say how much there is. */
static void what_concerns_other_tools_is_one_line(void **state) {
    (void)state;
    install("leash");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "grant", "erase", "--for", "1h"), 0,
           "erase is granted for 1 hour\n", "");
    install("leash-reworded");
    e2e_write("toolrack.json", "{\"grants\": [\"nobody\"]}");
#define CONFIGURED(...) RUN_WITH({.plugins = "plugins"}, "--config", "toolrack.json", __VA_ARGS__)
    EXPECT(CONFIGURED("decisions"), 0, NULL,
           "toolrack: 1 problem with tools or plugins, and 1 grant without effect; see them: "
           "toolrack "
           "*list --all; and: toolrack *grants\n");
    EXPECT(CONFIGURED("list", "--all"), 0, "*erase*changed*",
           "toolrack: 1 grant without effect; see it: toolrack *grants\n");
    EXPECT(CONFIGURED("grants"), 0, "*nobody*absent*erase*changed*",
           "toolrack: 1 problem with tools or plugins; see it: toolrack *list --all\n");
    EXPECT(CONFIGURED("show", "erase"), 0, NULL,
           "toolrack: warning: leash: Tool 'erase@1.0.0' is not what was approved: *\n"
           "toolrack: 1 grant without effect; see it: toolrack *grants\n");
    EXPECT(CONFIGURED("revoke", "nobody"), 3, "",
           "toolrack: warning: permission: the configuration grants 'nobody', *"
           "NotFound: no person has granted 'nobody'; the configuration does, *");
}

static void capabilities_are_given_and_taken(void **state) {
    (void)state;
    install("wants");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "allow"), 0, "", "toolrack: nothing was allowed *\n");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "touch", "{\"path\":\"/etc/passwd\"}"), 0,
           "EACCES\n", "");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "give_up", "{\"with\":\": EACCES\"}"), 7, "",
           "*toolrack *allow wants read:/etc/passwd\n");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "allow", "wants", "read:/etc/passwd"), 0,
           "read:/etc/passwd is allowed to wants\n", NULL);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "touch", "{\"path\":\"/etc/passwd\"}"), 0,
           "done\n", "");
    EXPECT_JSON(RUN_WITH({.plugins = "plugins"}, "allow", "--json"), 0, "/0/plugin", "\"wants\"",
                "/0/capability", "\"read:/etc/passwd\"", "/0/allowed", "true");
    EXPECT_JSON(RUN_WITH({.plugins = "plugins"}, "disallow", "wants", "read", "--json"), 0,
                "/allowed", "false", "/capabilities/0", "\"read\"");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "touch", "{\"path\":\"/etc/passwd\"}"), 0,
           "EACCES\n", "");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "allow", "wants"), 2, "",
           "toolrack: say what 'wants' may use, *\n");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "allow", "wants", "write:/"), 1, "",
           "toolrack: *plugin 'wants' does not declare 'write:/'; it declares *\n");
}

static void what_cannot_be_allowed_is_an_error(void **state) {
    (void)state;
    install("wants-never");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "allow", "wants", "read:/proc/meminfo"), 1, "",
           "toolrack: Refused: 'read:/proc/meminfo' cannot be allowed to 'wants': *never granted*");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "allow", "wants", "read:/etc/passwd"), 0,
           "read:/etc/passwd is allowed to wants\n", NULL);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "show", "touch"), 0,
           "*read /etc, of which read:/etc/passwd: allowed\n*", "");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "call", "touch", "{\"path\":\"/etc/passwd\"}"), 0,
           "done\n", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_grant_lets_a_dangerous_tool_run),
            TEST(a_grant_may_expire),
            TEST(without_a_terminal_nobody_is_asked),
            TEST(a_plan_lists_what_needs_approval),
            TEST(a_question_names_its_node),
            TEST(the_person_at_the_terminal_is_asked),
            TEST(what_is_typed_before_the_question_does_not_count),
            TEST(long_arguments_are_seen_before_a_yes),
            TEST(ctrl_c_ends_the_question),
            TEST(approvals_are_listed_and_answered),
            TEST(approvals_show_numbers_as_they_were_written),
            TEST(approvals_are_answered_by_the_beginning_of_an_id),
            TEST(all_calls_of_a_caller_are_denied),
            TEST(an_answer_is_taken_back),
            TEST(why_shows_what_changed),
            TEST(what_concerns_other_tools_is_one_line),
            TEST(capabilities_are_given_and_taken),
            TEST(what_cannot_be_allowed_is_an_error),
    };
    return cmocka_run_group_tests_name("grants", tests, NULL, NULL);
}
