/* The registry through the embedding API: order, versions, collisions, settings, events. */
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/error.h"
#include "patience.h"
#include "plugin/descriptor.h"
#include "toolrack/format.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

/* ----------------------------------------------------- descriptors made here */

static tr_status reply_version(struct tr_call *call) {
    return tr_reply_text(call, "called");
}

#define TOOLS_MAX 8

struct made_plugin {
    struct tr_plugin plugin;
    struct tr_tool tools[TOOLS_MAX];
    const struct tr_tool *table[TOOLS_MAX];
};

static void begin_plugin(struct made_plugin *made, const char *id) {
    *made = (struct made_plugin){.plugin = {.magic = TR_MAGIC,
                                            .size = sizeof(struct tr_plugin),
                                            .abi_major = TR_ABI_MAJOR,
                                            .abi_minor = TR_ABI_MINOR,
                                            .id = id,
                                            .version = "1.0.0",
                                            .tool_size = sizeof(struct tr_tool)}};
}

static struct tr_tool *add_tool(struct made_plugin *made, const char *name, const char *version,
                                int32_t priority) {
    struct tr_tool *tool = &made->tools[made->plugin.tool_count];
    *tool = (struct tr_tool){.size = sizeof *tool,
                             .name = name,
                             .version = version,
                             .description = "Made by a test",
                             .priority = priority,
                             .schema = "{\"type\":\"object\"}",
                             .run = reply_version};
    made->table[made->plugin.tool_count++] = tool;
    made->plugin.tools = made->table;
    return tool;
}

/* ----------------------------------------------------------------- fixture */

static struct toolrack *host;
static char events[1024];

static void take_event(void *user, const struct toolrack_event *event) {
    static const char letters[] = {'+', '-', '*', 'L', 'F', 'S', 'R'};
    (void)user;
    size_t length = strlen(events);
    char letter = (size_t)event->kind < sizeof letters ? letters[event->kind] : '?';
    (void)snprintf(events + length, sizeof events - length, "%c%s@%s ", letter,
                   event->tool != NULL ? event->tool : event->plugin,
                   event->version != NULL ? event->version : "");
}

static char last_log[512];

static void take_log(void *user, enum toolrack_log_level level, const char *source,
                     const char *line) {
    (void)user;
    (void)level;
    (void)snprintf(last_log, sizeof last_log, "%s: %s", source, line);
}

static int open_with_state(const char *state_dir) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = state_dir;
    options.no_scan = true;
    options.event = take_event;
    options.log = take_log;
    options.log_level = TOOLRACK_LOG_WARNING;
    events[0] = '\0';
    return toolrack_open(&options, &host, NULL);
}

static int open_host(void **state) {
    (void)state;
    return open_with_state("");
}

static int close_host(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

static void register_one(const char *id, const char *name, const char *version, int32_t priority) {
    struct made_plugin made;
    begin_plugin(&made, id);
    (void)add_tool(&made, name, version, priority);
    struct toolrack_error err = {0};
    if (toolrack_register(host, &made.plugin, NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

/* The registry as "name@version/priority", with ! before what is disabled. */
static void expect_list(const struct toolrack_filter *filter, const char *expected) {
    char text[1024] = "";
    struct toolrack_tools *tools = NULL;
    assert_int_equal(toolrack_list(host, filter, &tools, NULL), 0);
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        size_t length = strlen(text);
        (void)snprintf(text + length, sizeof text - length, "%s%s%s@%s/%d", i > 0 ? " " : "",
                       toolrack_tool_enabled(tool) ? "" : "!", toolrack_tool_name(tool),
                       toolrack_tool_version(tool), toolrack_tool_priority(tool));
    }
    toolrack_tools_free(tools);
    assert_string_equal(text, expected);
}

static struct toolrack_filter everything(void) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    filter.all = true;
    return filter;
}

/* ------------------------------------------------------------------- tests */

static void order_is_priority_name_version(void **state) {
    (void)state;
    register_one("p1", "banana", NULL, 20);
    register_one("p2", "apple", "1.2.0", 20);
    register_one("p3", "apple", "1.10.0", 20);
    register_one("p4", "apple", "2.0.0-rc.1", 20);
    register_one("p5", "cherry", NULL, 0);   /* 0 is what its trust gives: 100 */
    register_one("p6", "damson", NULL, 500); /* more than that is cut to it */
    register_one("p7", "elder", NULL, -5);
    expect_list(NULL, "cherry@1.0.0/100 damson@1.0.0/100 apple@2.0.0-rc.1/20 apple@1.10.0/20 "
                      "apple@1.2.0/20 banana@1.0.0/20 elder@1.0.0/-5");
}

static void a_name_means_its_highest_enabled_version(void **state) {
    (void)state;
    register_one("p1", "tool", "1.2.0", 0);
    register_one("p2", "tool", "1.10.0", 0);
    struct toolrack_tool *tool = toolrack_get(host, "tool");
    assert_string_equal(toolrack_tool_version(tool), "1.10.0");
    toolrack_tool_unref(tool);
    assert_int_equal(toolrack_set_enabled(host, "tool@1.10.0", false, NULL, NULL), 0);
    tool = toolrack_get(host, "tool");
    assert_string_equal(toolrack_tool_version(tool), "1.2.0");
    toolrack_tool_unref(tool);
    tool = toolrack_get(host, "tool@1.10.0");
    assert_string_equal(toolrack_tool_version(tool), "1.10.0");
    assert_false(toolrack_tool_enabled(tool));
    toolrack_tool_unref(tool);
    assert_null(toolrack_get(host, "tool@1.3.0"));
    assert_null(toolrack_get(host, "tool@latest"));
    assert_null(toolrack_get(host, "tol"));
    assert_null(toolrack_get(host, ""));
}

static void filters(void **state) {
    (void)state;
    struct made_plugin made;
    begin_plugin(&made, "filters");
    add_tool(&made, "a", NULL, 0)->tags = "math, fast";
    add_tool(&made, "b", NULL, 0)->category = "text";
    struct tr_tool *with_purpose = add_tool(&made, "c", NULL, 0);
    with_purpose->flags = TR_DISABLED;
    with_purpose->purpose = "Know what to wear";
    with_purpose->scenarios = "planning a trip , small talk";
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, NULL), 0);
    struct toolrack_filter filter = everything();
    expect_list(&filter, "a@1.0.0/100 b@1.0.0/100 !c@1.0.0/100");
    expect_list(NULL, "a@1.0.0/100 b@1.0.0/100");
    filter = (struct toolrack_filter){.size = sizeof filter, .tag = "FAST"};
    expect_list(&filter, "a@1.0.0/100");
    filter.tag = "fas";
    expect_list(&filter, "");
    filter = (struct toolrack_filter){.size = sizeof filter, .category = "text"};
    expect_list(&filter, "b@1.0.0/100");
    filter = (struct toolrack_filter){.size = sizeof filter, .name = "b"};
    expect_list(&filter, "b@1.0.0/100");
    filter = (struct toolrack_filter){.size = sizeof filter, .all = true, .purpose = "WHAT TO"};
    expect_list(&filter, "!c@1.0.0/100");
    filter.scenario = "Planning a trip";
    expect_list(&filter, "!c@1.0.0/100");
    filter.scenario = "trip";
    expect_list(&filter, "");
    /* An app that was built before there were purposes. */
    filter = (struct toolrack_filter){.size = offsetof(struct toolrack_filter, purpose),
                                      .all = true,
                                      .category = "text",
                                      .purpose = "nobody's"};
    expect_list(&filter, "b@1.0.0/100");
}

/* ---------------------------------------------------------------- versions */

/* What a selector finds; "" is nothing. */
static const char *found(const char *selector) {
    static char version[64];
    struct toolrack_tool *tool = toolrack_get(host, selector);
    (void)snprintf(version, sizeof version, "%s", tool != NULL ? toolrack_tool_version(tool) : "");
    toolrack_tool_unref(tool);
    return version;
}

static void register_versions(void) {
    static const char *const versions[] = {"1.0.0", "1.2.0", "2.0.0-rc.1", "1.10.0"};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        register_one(versions[i][0] == '2' ? "p2" : "p1", "tool", versions[i], 0);
    }
}

static void releases_go_before_prereleases(void **state) {
    (void)state;
    register_one("p", "tool", "2.0.0-rc.1", 0);
    assert_string_equal(found("tool"), "2.0.0-rc.1");
    register_one("p", "tool", "1.0.0", 0);
    assert_string_equal(found("tool"), "1.0.0");
    register_one("p", "tool", "1.1.0-rc.1", 0);
    assert_string_equal(found("tool"), "1.0.0");
    assert_int_equal(toolrack_set_enabled(host, "tool@1.0.0", false, NULL, NULL), 0);
    assert_string_equal(found("tool"), "2.0.0-rc.1");
    assert_int_equal(toolrack_set_enabled(host, "tool", false, NULL, NULL), 0);
    assert_string_equal(found("tool"), "1.0.0");
}

static void a_range_means_its_highest_enabled_version(void **state) {
    (void)state;
    register_versions();
    assert_string_equal(found("tool@^1"), "1.10.0");
    assert_string_equal(found("tool@~1.2"), "1.2.0");
    assert_string_equal(found("tool@>=1 <1.10"), "1.2.0");
    assert_string_equal(found("tool@*"), "1.10.0");
    assert_string_equal(found("tool@^2"), "");
    assert_string_equal(found("tool@^2.0.0-rc.0"), "2.0.0-rc.1");
    assert_int_equal(toolrack_set_enabled(host, "tool@1.10.0", false, NULL, NULL), 0);
    assert_string_equal(found("tool@^1"), "1.2.0");
    assert_string_equal(found("tool@^1.5"), "1.10.0"); /* none of it is enabled */
    assert_string_equal(found("tool@"), "");
    assert_string_equal(found("tool@latest"), "");
    assert_string_equal(found("other@^1"), "");
}

static void expect_error(const struct toolrack_error *err, int code, const char *part) {
    if (err->code != code || strstr(err->message, part) == NULL) {
        fail_msg("%s: '%s' is not '%s'", toolrack_code_name(err->code), err->message, part);
    }
}

static void what_no_selector_finds(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    struct toolrack_result *result = NULL;
    register_versions();
    assert_int_equal(toolrack_call(host, "tool@^3", NULL, NULL, &result, &err),
                     TOOLRACK_E_NOT_FOUND);
    expect_error(&err, TOOLRACK_E_NOT_FOUND,
                 "Tool 'tool' has no version in the range '^3'; it has 2.0.0-rc.1, 1.10.0");
    assert_string_equal(err.tool, "tool");
    assert_int_equal(toolrack_call(host, "tool@latest", NULL, NULL, &result, &err),
                     TOOLRACK_E_NOT_FOUND);
    expect_error(&err, TOOLRACK_E_NOT_FOUND, "neither a version such as 1.2.0 nor a range");
    assert_int_equal(toolrack_call(host, "tool@", NULL, NULL, &result, &err), TOOLRACK_E_NOT_FOUND);
    expect_error(&err, TOOLRACK_E_NOT_FOUND, "Tool 'tool' has no version '', which is neither");
    assert_int_equal(toolrack_call(host, "xxx", NULL, NULL, &result, &err), TOOLRACK_E_NOT_FOUND);
    expect_error(&err, TOOLRACK_E_NOT_FOUND, "Tool 'xxx' not found");
    assert_int_equal(toolrack_submit(host, "", NULL, NULL, NULL, NULL, NULL, &err),
                     TOOLRACK_E_NOT_FOUND);
    expect_error(&err, TOOLRACK_E_NOT_FOUND, "Tool '<unnamed>' not found");
    assert_string_equal(err.tool, "<unnamed>");
}

/* What is set is set for a version or for all: what is in a range changes. */
static void no_setting_takes_a_range(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    register_versions();
    assert_int_equal(toolrack_set_enabled(host, "tool@^1", false, NULL, &err), TOOLRACK_E_INVALID);
    expect_error(&err, TOOLRACK_E_INVALID, "'tool@^1' is a range of versions");
    assert_int_equal(toolrack_set_priority(host, "tool@1.x", 3, NULL, &err), TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_grant(host, "tool@*", 0, NULL, &err), TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_revoke(host, "tool@*", NULL, &err), TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_unregister_name(host, "tool@~1.2", &err), TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_set_default(host, "tool", "^1", NULL, &err), TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_set_default(host, "tool@1.0.0", "1.0.0", NULL, &err),
                     TOOLRACK_E_INVALID);
    expect_error(&err, TOOLRACK_E_INVALID, "for a name alone");
    assert_int_equal(toolrack_set_default(host, "tool", "latest", NULL, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_set_default(host, "tool", "3.0.0", NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_set_default(host, "tol", NULL, NULL, &err), TOOLRACK_E_NOT_FOUND);
    expect_list(NULL, "tool@2.0.0-rc.1/100 tool@1.10.0/100 tool@1.2.0/100 tool@1.0.0/100");
}

static void a_default_is_set_and_let_go(void **state) {
    (void)state;
    register_versions();
    events[0] = '\0';
    assert_int_equal(toolrack_set_default(host, "tool", "1.2.0", NULL, NULL), 0);
    assert_string_equal(found("tool"), "1.2.0");
    assert_string_equal(events, "*tool@1.2.0 ");
    register_one("p", "tool", "3.0.0", 0); /* whatever comes */
    assert_string_equal(found("tool"), "1.2.0");
    assert_int_equal(toolrack_set_default(host, "tool", "2.0.0-rc.1", NULL, NULL), 0);
    assert_string_equal(found("tool"), "2.0.0-rc.1");
    struct toolrack_tool *tool = toolrack_get(host, "tool");
    assert_true(toolrack_tool_is_set_default(tool));
    toolrack_tool_unref(tool);
    assert_int_equal(toolrack_set_default(host, "tool", NULL, NULL, NULL), 0);
    assert_string_equal(found("tool"), "3.0.0");
    assert_int_equal(toolrack_set_default(host, "tool", NULL, NULL, NULL), 0);
}

/* The text at a JSON Pointer of what `why` says. */
static const char *why(const char *name, const char *pointer) {
    static char said[512];
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_why(host, name, &text, NULL), 0);
    yyjson_doc *doc =
            yyjson_read(toolrack_text_data(text, NULL), strlen(toolrack_text_data(text, NULL)), 0);
    const char *value = yyjson_get_str(yyjson_doc_ptr_get(doc, pointer));
    (void)snprintf(said, sizeof said, "%s", value != NULL ? value : "-");
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return said;
}

static void a_default_that_is_gone_is_replaced_for_so_long(void **state) {
    (void)state;
    register_versions();
    assert_int_equal(toolrack_set_default(host, "tool", "1.2.0", NULL, NULL), 0);
    assert_string_equal(why("tool", "/default/set"), "1.2.0");
    assert_string_equal(why("tool", "/default/reason"), "-");
    assert_int_equal(toolrack_unregister_name(host, "tool@1.2.0", NULL), 0);
    assert_non_null(strstr(last_log, "version 1.2.0, the default of 'tool', is not registered: its "
                                     "calls go to 1.10.0"));
    assert_string_equal(found("tool"), "1.10.0");
    assert_string_equal(why("tool", "/default/version"), "1.10.0");
    assert_string_equal(why("tool", "/default/reason"), "is not registered");
    register_one("p", "tool", "1.2.0+again", 0);
    assert_string_equal(found("tool"), "1.2.0+again");
    assert_int_equal(toolrack_set_enabled(host, "tool@1.2.0", false, NULL, NULL), 0);
    assert_non_null(strstr(last_log, "is disabled"));
    assert_string_equal(found("tool"), "1.10.0");
}

static void a_default_survives(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    for (int run = 0; run < 3; run++) {
        assert_int_equal(open_with_state(dir), 0);
        register_versions();
        assert_string_equal(found("tool"), run == 1 ? "1.0.0" : "1.10.0");
        assert_int_equal(toolrack_set_default(host, "tool", run == 0 ? "1.0.0" : NULL, NULL, NULL),
                         0);
        assert_string_equal(found("tool"), run == 0 ? "1.0.0" : "1.10.0");
        toolrack_close(host);
    }
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

static void a_default_that_cannot_be_kept_is_none(void **state) {
    (void)state;
    assert_int_equal(open_with_state("/proc/none"), 0);
    register_versions();
    struct toolrack_error err = {0};
    assert_int_equal(toolrack_set_default(host, "tool", "1.0.0", NULL, &err), TOOLRACK_E_IO);
    assert_string_equal(found("tool"), "1.10.0");
    assert_string_equal(why("tool", "/default/set"), "-");
    toolrack_close(host);
}

static void register_schema(const char *version, const char *schema) {
    struct made_plugin made;
    begin_plugin(&made, "stepping");
    add_tool(&made, "tool", version, 0)->schema = schema;
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, NULL), 0);
}

static void a_step_that_breaks_its_promise_is_told(void **state) {
    (void)state;
#define NEEDS(name) \
    "{\"type\":\"object\",\"properties\":{\"" name "\":{}},\"required\":[\"" name "\"]}"
    register_schema("1.0.0", NEEDS("a"));
    last_log[0] = '\0';
    register_schema("2.0.0", NEEDS("b")); /* a major step may */
    register_schema("1.1.0-rc.1", NEEDS("a"));
    assert_string_equal(last_log, "");
    register_schema("1.2.0", NEEDS("c"));
    assert_string_equal(
            last_log,
            "stepping: Tool 'tool' 1.2.0 is not compatible with 1.0.0, although its version "
            "promises it: /c: parameter 'c' is new and required; /a: parameter 'a' was removed");
    assert_string_equal(why("tool@1.2.0", "/compatibility/older"), "1.0.0");
    assert_string_equal(why("tool@1.2.0", "/compatibility/differences/0/rule"), "required-added");
    assert_string_equal(why("tool@1.2.0", "/compatibility/differences/1/field"), "/a");
    assert_string_equal(why("tool@2.0.0", "/compatibility/older"), "-");
    last_log[0] = '\0';
    register_schema("1.3.0", NEEDS("c"));
    assert_string_equal(last_log, "");
}

static void a_deprecated_tool_says_so_once(void **state) {
    (void)state;
    struct made_plugin made;
    begin_plugin(&made, "old");
    add_tool(&made, "tool", NULL, 0)->deprecated = "use other";
    struct toolrack_result *result = NULL;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(toolrack_register(host, &made.plugin, NULL, NULL), 0);
        last_log[0] = '\0';
        assert_int_equal(toolrack_call(host, "tool", NULL, NULL, &result, NULL), 0);
        toolrack_result_free(result);
        assert_string_equal(last_log, "old: Tool 'tool' 1.0.0 is deprecated: use other");
        last_log[0] = '\0';
        assert_int_equal(toolrack_call(host, "tool", NULL, NULL, &result, NULL), 0);
        toolrack_result_free(result);
        assert_string_equal(last_log, "");
        assert_string_equal(why("tool", "/deprecated"), "use other");
        assert_int_equal(toolrack_unregister_name(host, "tool", NULL), 0);
    }
}

/* Of version 1.1 of the interface: what stands behind its last member is none of the tool's. */
static void a_plugin_of_1_1_has_no_purpose(void **state) {
    (void)state;
    struct made_plugin made;
    begin_plugin(&made, "of-1-1");
    struct tr_tool *tool = add_tool(&made, "tool", NULL, 0);
    tool->size = made.plugin.tool_size = offsetof(struct tr_tool, deprecated);
    tool->deprecated = tool->purpose = tool->scenarios = "not read";
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, NULL), 0);
    struct toolrack_tool *read = toolrack_get(host, "tool");
    assert_null(toolrack_tool_deprecated(read));
    assert_null(toolrack_tool_purpose(read));
    assert_null(toolrack_tool_scenarios(read));
    assert_false(toolrack_tool_has_scenario(read, "not read"));
    toolrack_tool_unref(read);
}

static void the_second_of_a_name_and_version_is_refused(void **state) {
    (void)state;
    register_one("first", "weather", "1.0.0", 0);
    register_one("other", "weather_v2", "1.0.0", 0);
    struct made_plugin made;
    begin_plugin(&made, "second");
    (void)add_tool(&made, "fresh", NULL, 0);
    (void)add_tool(&made, "weather", "1.0.0+build.7", 0); /* the build does not count */
    struct toolrack_error err = {0};
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, &err), TOOLRACK_E_EXISTS);
    assert_non_null(strstr(err.message, "Tool already exists"));
    assert_non_null(strstr(err.message, "weather_alt"));
    assert_string_equal(err.tool, "weather");
    expect_list(NULL, "weather@1.0.0/100 weather_v2@1.0.0/100"); /* all or none */
}

/* What the row about a name that two plugins share says; "" without one. */
static void expect_shared(const char *expected) {
    struct toolrack_refusals *refusals = NULL;
    const char *reason = "";
    assert_int_equal(toolrack_refused(host, &refusals, NULL), 0);
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        reason = strcmp(row->rule, "tool-shared") == 0 ? row->reason : reason;
    }
    assert_string_equal(reason, expected);
    toolrack_refusals_free(refusals);
}

static void a_shared_name_is_told_as_it_is_now(void **state) {
    (void)state;
    register_one("old", "weather", "1.0.0", 10);
    register_one("new", "weather", "2.0.0", 10);
    expect_shared("Tool weather is provided by two plugins: a call by its name alone runs 2.0.0 of "
                  "plugin new (the app), and weather@1.0.0 this one of plugin old");
    register_one("third", "other", "1.0.0", 10); /* another name changes nothing */
    assert_int_equal(toolrack_set_enabled(host, "weather@2.0.0", false, NULL, NULL), 0);
    expect_shared("Tool weather is provided by two plugins: a call by its name alone runs 1.0.0 of "
                  "plugin old (the app), and weather@2.0.0 this one of plugin new");
    assert_int_equal(toolrack_unregister_name(host, "weather@1.0.0", NULL), 0);
    expect_shared("");
}

static void unsound_descriptors_are_refused(void **state) {
    (void)state;
    struct made_plugin made;
    begin_plugin(&made, "unsound");
    (void)add_tool(&made, "not a name", NULL, 0);
    struct toolrack_error err = {0};
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, &err), TOOLRACK_E_REFUSED);
    begin_plugin(&made, "unsound");
    add_tool(&made, "bad_schema", NULL, 0)->schema = "{\"type\":\"objekt\"}";
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, &err), TOOLRACK_E_REFUSED);
    assert_string_equal(err.tool, "bad_schema");
    expect_list(NULL, "");
}

static void numbers_are_never_used_again(void **state) {
    (void)state;
    struct made_plugin made;
    begin_plugin(&made, "numbers");
    (void)add_tool(&made, "x", NULL, 0);
    (void)add_tool(&made, "y", NULL, 0);
    uint64_t first[2];
    uint64_t second[2];
    assert_int_equal(toolrack_register(host, &made.plugin, first, NULL), 0);
    assert_true(first[0] != 0 && first[0] != first[1]);
    assert_int_equal(toolrack_unregister(host, first[0], NULL), 0);
    assert_int_equal(toolrack_unregister(host, first[0], NULL), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_unregister_name(host, "y", NULL), 0);
    assert_int_equal(toolrack_unregister_name(host, "y", NULL), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_register(host, &made.plugin, second, NULL), 0);
    assert_true(second[0] > first[1]);
}

static void changes_are_told(void **state) {
    (void)state;
    register_one("p", "tool", NULL, 0);
    assert_int_equal(toolrack_set_enabled(host, "tool", false, NULL, NULL), 0);
    assert_int_equal(toolrack_set_enabled(host, "tool", false, NULL, NULL), 0); /* no change */
    assert_int_equal(toolrack_set_priority(host, "tool", 7, NULL, NULL), 0);
    assert_int_equal(toolrack_unregister_name(host, "tool", NULL), 0);
    assert_string_equal(events, "+tool@1.0.0 *tool@1.0.0 *tool@1.0.0 -tool@1.0.0 ");
}

static void the_list_for_people_has_disabled_tools_too(void **state) {
    (void)state;
    register_one("p", "low", NULL, 1);
    register_one("q", "high", "2.0.0", 0);
    assert_int_equal(toolrack_set_enabled(host, "low", false, NULL, NULL), 0);
    struct toolrack_text *info = NULL;
    assert_int_equal(toolrack_list_info(host, NULL, &info, NULL), 0);
    assert_string_equal(toolrack_text_data(info, NULL),
                        "[{\"id\":\"high\",\"name\":\"high\",\"version\":\"2.0.0\","
                        "\"description\":\"Made by a test\",\"category\":null,\"enabled\":true,"
                        "\"priority\":100},"
                        "{\"id\":\"low\",\"name\":\"low\",\"version\":\"1.0.0\","
                        "\"description\":\"Made by a test\",\"category\":null,\"enabled\":false,"
                        "\"priority\":1}]");
    toolrack_text_unref(info);
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    filter.name = "nothing";
    assert_int_equal(toolrack_list_info(host, &filter, &info, NULL), 0);
    assert_string_equal(toolrack_text_data(info, NULL), "[]");
    toolrack_text_unref(info);
}

static void a_list_is_of_one_moment(void **state) {
    (void)state;
    register_one("p", "tool", NULL, 0);
    struct toolrack_tools *tools = NULL;
    assert_int_equal(toolrack_list(host, NULL, &tools, NULL), 0);
    struct toolrack_tool *held = toolrack_get(host, "tool");
    assert_int_equal(toolrack_set_priority(host, "tool", 7, NULL, NULL), 0);
    assert_int_equal(toolrack_unregister_name(host, "tool", NULL), 0);
    assert_int_equal(toolrack_tool_priority(toolrack_tools_get(tools, 0)),
                     TOOLRACK_PRIORITY_BUILTIN);
    assert_null(toolrack_get(host, "tool"));
    struct toolrack_result *result = NULL; /* who holds it may still call it */
    assert_int_equal(toolrack_tool_call(host, held, "{}", 2, NULL, &result, NULL), 0);
    assert_string_equal(toolrack_result_text(result, NULL), "called");
    toolrack_result_free(result);
    toolrack_tool_unref(held);
    toolrack_tools_free(tools);
}

static void each_format_is_made_once_for_each_registry(void **state) {
    (void)state;
    struct toolrack_text *texts[TOOLRACK_FORMAT_COUNT];
    register_one("p", "first", NULL, 0);
    for (int i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
        enum toolrack_format format = (enum toolrack_format)i;
        struct toolrack_text *again = NULL;
        assert_int_equal(toolrack_export(host, format, NULL, &texts[i], NULL, NULL), 0);
        assert_int_equal(toolrack_export(host, format, NULL, &again, NULL, NULL), 0);
        assert_ptr_equal(again, texts[i]);
        toolrack_text_unref(again);
    }
    register_one("q", "second", NULL, 0);
    for (int i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
        enum toolrack_format format = (enum toolrack_format)i;
        struct toolrack_text *after = NULL;
        assert_int_equal(toolrack_export(host, format, NULL, &after, NULL, NULL), 0);
        assert_null(strstr(toolrack_text_data(texts[i], NULL), "\"second\"")); /* still whole */
        assert_non_null(strstr(toolrack_text_data(after, NULL), "\"second\""));
        toolrack_text_unref(after);
        toolrack_text_unref(texts[i]);
    }
}

static void definitions_follow_the_registry(void **state) {
    (void)state;
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_definitions(host, &text, NULL), 0);
    assert_string_equal(toolrack_text_data(text, NULL), "[]");
    toolrack_text_unref(text);
    register_one("p", "tool", NULL, 0);
    register_one("q", "tool", "0.9.0", 0);
    struct toolrack_text *again = NULL;
    assert_int_equal(toolrack_definitions(host, &text, NULL), 0);
    assert_int_equal(toolrack_definitions(host, &again, NULL), 0);
    assert_ptr_equal(text, again); /* made once */
    size_t length = 0;
    assert_string_equal(toolrack_text_data(text, &length),
                        "[{\"name\":\"tool\",\"description\":\"Made by a test\","
                        "\"inputSchema\":{\"type\":\"object\"},\"annotations\":{}}]");
    assert_int_equal(length, strlen(toolrack_text_data(text, NULL)));
    toolrack_text_unref(again);
    assert_int_equal(toolrack_set_enabled(host, "tool", false, NULL, NULL), 0);
    assert_int_equal(toolrack_definitions(host, &again, NULL), 0);
    assert_string_equal(toolrack_text_data(again, NULL), "[]");
    toolrack_text_unref(again);
    toolrack_text_unref(text);
}

static void settings_survive(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char below[64];
    (void)snprintf(below, sizeof below, "%s/a/b", dir);
    for (int run = 0; run < 3; run++) {
        assert_int_equal(open_with_state(below), 0);
        register_one("p", "tool", NULL, 0);
        register_one("q", "tool", "2.0.0", 0);
        register_one("r", "other", NULL, 0);
        struct toolrack_filter filter = everything();
        if (run == 0) {
            struct toolrack_error err = {0};
            assert_int_equal(toolrack_set_enabled(host, "othr", false, NULL, &err),
                             TOOLRACK_E_NOT_FOUND);
            assert_non_null(strstr(err.message, "did you mean 'other'?"));
            assert_int_equal(toolrack_set_priority(host, "other", 3, NULL, NULL), 0);
            assert_int_equal(toolrack_set_enabled(host, "other", false, NULL, NULL), 0);
            assert_int_equal(toolrack_set_enabled(host, "tool@1.0.0", false, NULL, NULL), 0);
        }
        expect_list(&filter, "tool@2.0.0/100 !tool@1.0.0/100 !other@1.0.0/3");
        toolrack_close(host);
    }
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

static void a_name_alone_sets_every_version(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct toolrack_filter filter = everything();
    for (int run = 0; run < 2; run++) {
        assert_int_equal(open_with_state(dir), 0);
        register_one("p", "tool", "1.0.0", 0);
        register_one("q", "tool", "2.0.0", 0);
        register_one("r", "tool2", "1.0.0", 0);
        if (run == 0) {
            assert_int_equal(toolrack_set_enabled(host, "tool@1.0.0", false, NULL, NULL), 0);
            assert_int_equal(toolrack_set_enabled(host, "tool2@1.0.0", false, NULL, NULL), 0);
            assert_int_equal(toolrack_set_priority(host, "tool@1.0.0", 5, NULL, NULL), 0);
            assert_int_equal(toolrack_set_enabled(host, "tool", true, NULL, NULL), 0);
        }
        expect_list(&filter, "tool@2.0.0/100 !tool2@1.0.0/100 tool@1.0.0/5");
        toolrack_close(host);
    }
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* The folder of a host's state, of which the test has removed its own files. */
static void remove_state(const char *dir) {
    char path[64];
    (void)snprintf(path, sizeof path, "%s/hosts", dir);
    (void)rmdir(path);
    (void)snprintf(path, sizeof path, "%s/unreachable", dir);
    (void)unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

static void an_unusable_store_serves_all_the_same(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char path[64];
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("this is not a database, and it is somebody's file all the same", file);
    (void)fclose(file);
    assert_int_equal(open_with_state(dir), 0);
    register_one("p", "tool", NULL, 0);
    struct toolrack_error err = {0};
    assert_int_equal(toolrack_set_enabled(host, "tool", false, NULL, &err), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, path));
    expect_list(NULL, "tool@1.0.0/100"); /* not kept, so not in effect */
    toolrack_close(host);
    char text[32] = "";
    file = fopen(path, "r");
    assert_non_null(fgets(text, sizeof text, file));
    assert_int_equal(strncmp(text, "this is not a database", 22), 0);
    (void)fclose(file);
    (void)unlink(path);
    remove_state(dir);
}

/* What is disabled must not come back because the store cannot say so. */
static void a_store_that_becomes_unusable_keeps_tools_out(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(dir));
    assert_int_equal(open_with_state(dir), 0);
    register_one("p", "before", NULL, 0);
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("this is not a database, and it is somebody's file all the same", file);
    (void)fclose(file);
    struct made_plugin made;
    struct toolrack_error err = {0};
    begin_plugin(&made, "p");
    (void)add_tool(&made, "after", NULL, 0);
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, &err), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, path));
    expect_list(NULL, "before@1.0.0/100");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, &err), 0);
    expect_list(NULL, "after@1.0.0/100 before@1.0.0/100");
    toolrack_close(host);
    (void)unlink(path);
    remove_state(dir);
}

/* By its id, which is not the name of a tool. */
static void the_plugin_of_an_app_is_found(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    struct toolrack_text *text = NULL;
    assert_int_equal(open_with_state(""), 0);
    register_one("own.plugin", "tool", NULL, 0);
    assert_int_equal(toolrack_why(host, "own.plugin", &text, &err), 0);
    assert_non_null(strstr(toolrack_text_data(text, NULL), "\"plugin\":\"own.plugin\""));
    toolrack_text_unref(text);
    assert_int_equal(toolrack_release(host, "own.plugin", NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "neither in quarantine nor left out"));
    assert_int_equal(toolrack_reload(host, "own.plugin", NULL, &err), TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, "was registered by the app"));
    toolrack_close(host);
}

static void an_empty_store_has_no_settings_and_is_told(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    /* Another process may be about to begin a new one. */
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    last_log[0] = '\0';
    assert_int_equal(open_with_state(dir), 0);
    assert_string_equal(last_log, "");
    toolrack_close(host);
    assert_int_equal(truncate(path, 0), 0);
    const struct timespec long_ago[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_int_equal(open_with_state(dir), 0);
    assert_non_null(strstr(last_log, "toolrack.db"));
    assert_non_null(strstr(last_log, "is empty and is begun anew"));
    toolrack_close(host);
    (void)unlink(path);
    remove_state(dir);
}

/* Whether a user who may not write to the folder sees the setting; 0 is yes. */
static int see_as_reader(const char *dir) {
    if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)) {
        return 77;
    }
    if (open_with_state(dir) < 0) {
        return 1;
    }
    register_one("p", "tool", NULL, 0);
    struct toolrack_tool *tool = toolrack_get(host, "tool");
    bool enabled = toolrack_tool_enabled(tool);
    toolrack_tool_unref(tool);
    int code = toolrack_set_enabled(host, "tool", true, NULL, NULL);
    toolrack_close(host);
    return enabled ? 2 : code != TOOLRACK_E_IO ? 3 : 0;
}

static void settings_hold_in_a_folder_that_is_read_only(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test %?#-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    assert_int_equal(open_with_state(dir), 0);
    register_one("p", "tool", NULL, 0);
    assert_int_equal(toolrack_set_enabled(host, "tool", false, NULL, NULL), 0);
    toolrack_close(host);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(dir, 0555), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(see_as_reader(dir));
    }
    int status = 0;
    assert_int_equal(patience_child(child, &status), child);
    (void)chmod(dir, 0755);
    (void)unlink(path);
    remove_state(dir);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Open a host on a folder in which each of `links` leads to the fixture plugin `name`. */
static void open_on_links(const char *name, const char *const *links, char *dir) {
    char target[512];
    char path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(target, sizeof target, "%s/%s.so", TEST_PLUGINS, name);
    for (size_t i = 0; links[i] != NULL; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, links[i]);
        assert_int_equal(symlink(target, path), 0);
    }
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    const char *const dirs[] = {dir, NULL};
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = dirs;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.event = take_event;
    events[0] = '\0';
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
}

static void close_links(const char *const *links, const char *dir) {
    char path[64];
    toolrack_close(host);
    for (size_t i = 0; links[i] != NULL; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, links[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
}

static void of_many_copies_the_first_stays(void **state) {
    (void)state;
    static const char *const links[] = {"a.so", "b.so", "c.so", "d.so", NULL};
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    open_on_links("good", links, dir);
    expect_list(NULL, "add@1.2.3/10 echo@2.1.0/-5");
    struct toolrack_refusals *refused = NULL;
    assert_int_equal(toolrack_refused(host, &refused, NULL), 0);
    assert_int_equal(toolrack_refusals_count(refused), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct toolrack_refusal *one = toolrack_refusals_get(refused, i);
        assert_string_equal(one->rule, "plugin-exists");
        assert_non_null(strstr(one->reason, "a.so"));
        assert_null(strstr(one->file, "a.so"));
    }
    toolrack_refusals_free(refused);
    close_links(links, dir);
}

static void a_bad_tool_leaves_its_siblings_callable(void **state) {
    (void)state;
    static const char *const links[] = {"a.so", NULL};
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    open_on_links("wrong-schema", links, dir);
    expect_list(NULL, "two@1.0.0/10");
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    if (toolrack_call(host, "two", NULL, NULL, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(toolrack_result_text(result, NULL), "two");
    toolrack_result_free(result);
    close_links(links, dir);
}

static void a_plugin_of_1_0_runs(void **state) {
    (void)state;
    static const char *const links[] = {"a.so", NULL};
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    open_on_links("older", links, dir);
    expect_list(NULL, "old_add@1.0.0/10 old_greet@1.0.0/10");
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "old_add", "{\"a\":1,\"b\":2}", NULL, &result, NULL), 0);
    assert_string_equal(toolrack_result_json(result, NULL), "3.0");
    toolrack_result_free(result);
    assert_int_equal(toolrack_call(host, "old_greet", NULL, NULL, &result, NULL), 0);
    assert_string_equal(toolrack_result_text(result, NULL), "good day");
    toolrack_result_free(result);
    struct toolrack_tool *tool = toolrack_get(host, "old_add");
    assert_int_equal(toolrack_tool_example_count(tool), 0);
    toolrack_tool_unref(tool);
    close_links(links, dir);
}

static void examples_that_fit_are_shown(void **state) {
    (void)state;
    static const char *const links[] = {"a.so", NULL};
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    open_on_links("wrong-examples", links, dir);
    expect_list(NULL, "one@1.0.0/10 two@1.0.0/10");
    struct toolrack_tool *tool = toolrack_get(host, "one");
    assert_int_equal(toolrack_tool_example_count(tool), 2);
    assert_string_equal(toolrack_tool_example_arguments(tool, 0), "{\"n\":1}");
    assert_string_equal(toolrack_tool_example_result(tool, 0), "\"one\"");
    assert_string_equal(toolrack_tool_example_arguments(tool, 1), "{\"n\":3}");
    assert_null(toolrack_tool_example_result(tool, 1));
    assert_null(toolrack_tool_example_arguments(tool, 2));
    assert_null(toolrack_tool_example_result(tool, SIZE_MAX));
    toolrack_tool_unref(tool);
    struct toolrack_findings *findings = NULL;
    assert_int_equal(toolrack_check(TEST_PLUGINS "/wrong-examples.so", &findings, NULL), 0);
    unsigned seen = 0;
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *one = toolrack_findings_get(findings, i);
        if (strcmp(one->rule, "example-arguments") == 0) {
            assert_non_null(strstr(one->cause, "example 2: its arguments do not fit the tool's "
                                               "schema: /n "));
            seen |= 1;
        } else if (strcmp(one->rule, "example-result") == 0) {
            assert_non_null(strstr(one->cause, "example 3: its result does not fit"));
            seen |= 2;
        }
        assert_int_not_equal(one->severity, TOOLRACK_SEVERITY_ERROR);
    }
    assert_int_equal(seen, 3);
    toolrack_findings_free(findings);
    close_links(links, dir);
}

/* Let the one link lead to another fixture, and look again. */
static void reload_as(const char *name, const char *dir) {
    char target[512];
    char path[64];
    struct toolrack_text *report = NULL;
    (void)snprintf(target, sizeof target, "%s/%s.so", TEST_PLUGINS, name);
    (void)snprintf(path, sizeof path, "%s/tool.so", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(toolrack_reload(host, NULL, &report, NULL), 0);
    assert_non_null(strstr(toolrack_text_data(report, NULL), "\"reloaded\""));
    toolrack_text_unref(report);
}

/* What serves is compared with what it takes the place of, though that is gone. */
static void a_reload_that_breaks_its_promise_is_told(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    const char *const links[] = {"tool.so", NULL};
    open_on_links("leash", links, dir);
    assert_string_equal(why("erase", "/compatibility/older"), "-");
    reload_as("leash-reshaped", dir);
    assert_string_equal(why("erase", "/compatibility/older"), "1.0.0");
    assert_string_equal(why("erase", "/compatibility/differences/0/text"),
                        "its type was string and is now array");
    assert_string_equal(why("peek", "/compatibility/older"), "-");
    reload_as("leash", dir);
    reload_as("leash-renumbered", dir); /* 2.0.0 may */
    assert_string_equal(why("erase", "/tool_version"), "2.0.0");
    assert_string_equal(why("erase", "/compatibility/older"), "-");
    close_links(links, dir);
}

/* One that takes more steps to check than a start may cost. */
static void costly_examples_are_left_out(void **state) {
    (void)state;
    enum { ITEMS = 200000 };
    struct made_plugin made;
    begin_plugin(&made, "costly");
    struct tr_tool *tool = add_tool(&made, "costly", NULL, 0);
    char *arguments = malloc(8 + 2 * ITEMS);
    assert_non_null(arguments);
    memcpy(arguments, "{\"a\":[", 6);
    for (size_t i = 0; i < ITEMS; i++) {
        memcpy(arguments + 6 + 2 * i, "1,", 2);
    }
    memcpy(arguments + 6 + 2 * ITEMS - 1, "]}", 3);
    const struct tr_example examples[] = {{arguments, NULL}, {"{\"a\":[1]}", NULL}};
    tool->schema =
            "{\"type\":\"object\",\"properties\":{\"a\":{\"items\":{\"type\":\"integer\"}}}}";
    tool->examples = examples;
    tool->example_count = 2;
    tool->example_size = sizeof examples[0];
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, NULL), 0);
    free(arguments);
    struct toolrack_tool *got = toolrack_get(host, "costly");
    assert_int_equal(toolrack_tool_example_count(got), 1);
    assert_string_equal(toolrack_tool_example_arguments(got, 0), "{\"a\":[1]}");
    toolrack_tool_unref(got);
}

/* However many tools a plugin has, each with examples that are not too costly alone. */
static void costly_examples_of_many_tools_are_left_out(void **state) {
    (void)state;
    enum { ITEMS = 6000 };
    struct made_plugin made;
    char names[TOOLS_MAX][16];
    begin_plugin(&made, "costly");
    char *arguments = malloc(8 + 2 * ITEMS);
    assert_non_null(arguments);
    memcpy(arguments, "{\"a\":[", 6);
    for (size_t i = 0; i < ITEMS; i++) {
        memcpy(arguments + 6 + 2 * i, "1,", 2);
    }
    memcpy(arguments + 6 + 2 * ITEMS - 1, "]}", 3);
    struct tr_example examples[DESCRIPTOR_EXAMPLES_MAX] = {{"{\"a\":[1]}", NULL}};
    for (unsigned i = 1; i < DESCRIPTOR_EXAMPLES_MAX; i++) {
        examples[i].arguments = arguments;
    }
    for (unsigned i = 0; i < TOOLS_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "costly_%u", i);
        struct tr_tool *tool = add_tool(&made, names[i], NULL, 0);
        tool->schema =
                "{\"type\":\"object\",\"properties\":{\"a\":{\"items\":{\"allOf\":["
                "{\"type\":\"integer\"},{\"minimum\":0},{\"maximum\":9},{\"minimum\":1}]}}}}";
        tool->examples = examples;
        tool->example_count = DESCRIPTOR_EXAMPLES_MAX;
        tool->example_size = sizeof examples[0];
    }
    assert_int_equal(toolrack_register(host, &made.plugin, NULL, NULL), 0);
    free(arguments);
    for (unsigned i = 0; i < TOOLS_MAX; i += TOOLS_MAX - 1) {
        struct toolrack_tool *got = toolrack_get(host, names[i]);
        assert_int_equal(toolrack_tool_example_count(got), i == 0 ? DESCRIPTOR_EXAMPLES_MAX : 1);
        assert_string_equal(toolrack_tool_example_arguments(got, 0), "{\"a\":[1]}");
        toolrack_tool_unref(got);
    }
}

static void decide_in_event(void *user, const struct toolrack_event *event) {
    (void)user;
    if (event->kind == TOOLRACK_EVENT_CHANGED) {
        (void)toolrack_set_priority(host, event->tool, 7, NULL, NULL);
    }
    take_event(user, event);
}

static void an_event_may_decide(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    options.event = decide_in_event;
    events[0] = '\0';
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    register_one("p", "tool", NULL, 0);
    (void)alarm(20);
    assert_int_equal(toolrack_set_enabled(host, "tool", false, NULL, NULL), 0);
    (void)alarm(0);
    struct toolrack_filter filter = everything();
    expect_list(&filter, "!tool@1.0.0/7");
    toolrack_close(host);
}

static void thousands_of_tools(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct made_plugin made;
        char names[TOOLS_MAX][32];
        begin_plugin(&made, "many");
        for (int j = 0; j < TOOLS_MAX; j++) {
            (void)snprintf(names[j], sizeof names[j], "tool_%d_%d", i, j);
            (void)add_tool(&made, names[j], NULL, 0);
        }
        assert_int_equal(toolrack_register(host, &made.plugin, NULL, NULL), 0);
    }
    struct toolrack_tools *tools = NULL;
    assert_int_equal(toolrack_list(host, NULL, &tools, NULL), 0);
    assert_int_equal(toolrack_tools_count(tools), 8000);
    toolrack_tools_free(tools);
    struct toolrack_tool *tool = toolrack_get(host, "tool_777_7");
    assert_string_equal(toolrack_tool_name(tool), "tool_777_7");
    toolrack_tool_unref(tool);
}

#define IN_HOST(test) cmocka_unit_test_setup_teardown(test, open_host, close_host)

int main(void) {
    const struct CMUnitTest tests[] = {
            IN_HOST(order_is_priority_name_version),
            IN_HOST(a_name_means_its_highest_enabled_version),
            IN_HOST(filters),
            IN_HOST(the_list_for_people_has_disabled_tools_too),
            IN_HOST(the_second_of_a_name_and_version_is_refused),
            IN_HOST(a_shared_name_is_told_as_it_is_now),
            IN_HOST(unsound_descriptors_are_refused),
            IN_HOST(numbers_are_never_used_again),
            IN_HOST(changes_are_told),
            IN_HOST(a_list_is_of_one_moment),
            IN_HOST(definitions_follow_the_registry),
            IN_HOST(each_format_is_made_once_for_each_registry),
            cmocka_unit_test(settings_survive),
            cmocka_unit_test(a_name_alone_sets_every_version),
            cmocka_unit_test(an_unusable_store_serves_all_the_same),
            cmocka_unit_test(a_store_that_becomes_unusable_keeps_tools_out),
            cmocka_unit_test(the_plugin_of_an_app_is_found),
            cmocka_unit_test(an_empty_store_has_no_settings_and_is_told),
            cmocka_unit_test(settings_hold_in_a_folder_that_is_read_only),
            cmocka_unit_test(of_many_copies_the_first_stays),
            cmocka_unit_test(a_bad_tool_leaves_its_siblings_callable),
            cmocka_unit_test(a_plugin_of_1_0_runs),
            cmocka_unit_test(examples_that_fit_are_shown),
            cmocka_unit_test(a_reload_that_breaks_its_promise_is_told),
            IN_HOST(costly_examples_are_left_out),
            IN_HOST(costly_examples_of_many_tools_are_left_out),
            cmocka_unit_test(an_event_may_decide),
            IN_HOST(thousands_of_tools),
            IN_HOST(releases_go_before_prereleases),
            IN_HOST(a_range_means_its_highest_enabled_version),
            IN_HOST(what_no_selector_finds),
            IN_HOST(no_setting_takes_a_range),
            IN_HOST(a_default_is_set_and_let_go),
            IN_HOST(a_default_that_is_gone_is_replaced_for_so_long),
            cmocka_unit_test(a_default_survives),
            cmocka_unit_test(a_default_that_cannot_be_kept_is_none),
            IN_HOST(a_step_that_breaks_its_promise_is_told),
            IN_HOST(a_deprecated_tool_says_so_once),
            IN_HOST(a_plugin_of_1_1_has_no_purpose),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
