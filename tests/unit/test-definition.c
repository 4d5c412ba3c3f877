/* Tools that the configuration defines, in a host of this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "config/config.h"
#include "config/problem.h"
#include "config/validate.h"
#include "failing-malloc.h"
#include "format/names.h"
#include "plugin/foreign.h"
#include "registry/tool.h"
#include "schema/schema.h"
#include "toolrack/format.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack, toolrack_close)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_result, toolrack_result_free)
CLEANUP_DEFINE(struct toolrack_refusals, toolrack_refusals_free)
CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A definition; what a test is about comes in `more` and `implementation`. */
#define TOOL(name, more, implementation)                                                \
    "{\"name\": \"" name "\", \"description\": \"Do it\", \"type\": \"function\"," more \
    "\"parameters\": {\"type\": \"object\"}, \"implementation\": {" implementation "}}"
#define MOCK(name, response) TOOL(name, "", "\"type\": \"mock\", \"mock_response\": " response)
#define TOOLS(...)           "{\"tools\": [" __VA_ARGS__ "]}"

#define NATIVE_COS                                                                         \
    "{\"name\": \"cosine\", \"description\": \"The cosine\", \"type\": \"function\", "     \
    "\"priority\": 300, \"purpose\": \"measure\", \"scenarios\": [\"school\", \"work\"], " \
    "\"deprecated\": \"use sine\", "                                                       \
    "\"implementation\": {\"type\": \"native\", \"library\": \"libm.so.6\", "              \
    "\"symbol\": \"cos\", \"arguments\": [{\"name\": \"x\", \"type\": \"float64\", "       \
    "\"description\": \"in radians\"}], \"result\": {\"type\": \"float64\"}}}"

/* ------------------------------------------------------------------- the host */

static char logged[16384];

static void take_log(void *user, enum toolrack_log_level level, const char *source,
                     const char *line) {
    (void)user;
    size_t length = strlen(logged);
    (void)snprintf(logged + length, sizeof logged - length, "%d %s: %s\n", (int)level, source,
                   line);
}

/* A file of that text, gone with its descriptor. */
static void make_file(const char *text, int *ret_fd, char path[64]) {
    *ret_fd = memfd_create("toolrack.json", MFD_CLOEXEC);
    assert_true(*ret_fd >= 0);
    assert_int_equal(write(*ret_fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)snprintf(path, 64, "/proc/self/fd/%d", *ret_fd);
}

static int try_open(const char *text, const struct toolrack_options *more, struct toolrack **ret,
                    struct toolrack_error *err) {
    char path[64];
    CLEANUP(closep) int fd = -1;
    make_file(text, &fd, path);
    struct toolrack_options options = *more;
    options.config_file = path;
    options.state_dir = "";
    options.no_scan = true;
    options.log = take_log;
    options.log_level = TOOLRACK_LOG_WARNING;
    logged[0] = '\0';
    return toolrack_open(&options, ret, err);
}

static struct toolrack *open_host(const char *text) {
    struct toolrack *host = NULL;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    if (try_open(text, &options, &host, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
    return host;
}

static void gives(struct toolrack *host, const char *name, const char *arguments,
                  const char *wanted) {
    CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
    struct toolrack_error err;
    if (toolrack_call(host, name, arguments, NULL, &result, &err) < 0) {
        fail_msg("%s: %s", name, err.message);
    }
    assert_string_equal(toolrack_result_json(result, NULL), wanted);
}

static bool is_there(struct toolrack *host, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(host, name);
    return tool != NULL;
}

/* Whether a row says so about a tool; `reason` and `fix` are parts of it. */
static bool is_refused(struct toolrack *host, const char *tool, const char *rule,
                       const char *reason, const char *fix) {
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *rows = NULL;
    assert_int_equal(toolrack_refused(host, &rows, NULL), 0);
    for (size_t i = 0; i < toolrack_refusals_count(rows); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(rows, i);
        assert_non_null(row->file);
        assert_true(row->reason[0] != '\0' && row->fix[0] != '\0');
        if (row->tool != NULL && strcmp(row->tool, tool) == 0 && strcmp(row->rule, rule) == 0 &&
            strstr(row->reason, reason) != NULL && strstr(row->fix, fix) != NULL) {
            return true;
        }
    }
    return false;
}

static size_t refused_count(struct toolrack *host) {
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *rows = NULL;
    assert_int_equal(toolrack_refused(host, &rows, NULL), 0);
    return toolrack_refusals_count(rows);
}

/* --------------------------------------------------------------- generators */

/* Each line of the file is a schema as a generator writes it, with arguments of both kinds, or why
 * it is refused. */
static void read_generated(struct buf *out, struct buf *lines) {
    FILE *file = fopen(TEST_GOLDEN "/generated-schemas.jsonl", "re");
    char line[4096];
    assert_non_null(file);
    buf_add_text(out, "{\"tools\": [");
    while (fgets(line, sizeof line, file) != NULL) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        CLEANUP(freep) char *schema = yyjson_val_write(yyjson_obj_get(root, "schema"), 0, NULL);
        assert_non_null(schema);
        buf_printf(out,
                   "%s{\"name\": \"%s\", \"description\": \"d\", \"type\": \"function\", "
                   "\"parameters\": %s, \"implementation\": {\"type\": \"builtin\", \"handler\": "
                   "\"echo\"}}\n",
                   lines->length > 0 ? "," : "", yyjson_get_str(yyjson_obj_get(root, "name")),
                   schema);
        buf_printf(lines, "%s%s", lines->length > 0 ? "," : "[", line);
    }
    buf_add_text(out, "]}");
    buf_add_char(lines, ']');
    (void)fclose(file);
}

/* Arguments with the names that the definitions of a format have. */
static yyjson_mut_val *rename_keys(enum toolrack_format format, yyjson_mut_doc *doc,
                                   yyjson_val *arguments) {
    yyjson_mut_val *renamed = yyjson_mut_obj(doc);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach (arguments, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        char wire[PROVIDER_KEY_MAX + 1];
        bool is_other = provider_limits[format].keys != KEYS_ANY &&
                        format_wire_key(provider_limits[format].keys, name, strlen(name), wire);
        (void)yyjson_mut_obj_add(renamed, yyjson_mut_strcpy(doc, is_other ? wire : name),
                                 yyjson_val_mut_copy(doc, value));
    }
    return renamed;
}

/* What a model of that format writes to call a tool. */
static void write_call(enum toolrack_format format, const char *name, yyjson_val *arguments,
                       struct buf *out) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    CLEANUP(freep)
    char *json = yyjson_mut_val_write(rename_keys(format, doc, arguments), 0, NULL);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    yyjson_mut_doc_free(doc);
    buf_add_json_string(&text, json, strlen(json));
    switch (format) {
    case TOOLRACK_FORMAT_OPENAI:
        buf_printf(out,
                   "{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"%s\",\"arguments\":"
                   "%s}}]}",
                   name, text.data);
        break;
    case TOOLRACK_FORMAT_OPENAI_RESPONSES:
        buf_printf(out,
                   "[{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"%s\","
                   "\"arguments\":%s}]",
                   name, text.data);
        break;
    case TOOLRACK_FORMAT_ANTHROPIC:
        buf_printf(out,
                   "{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"%s\",\"input\":"
                   "%s}]}",
                   name, json);
        break;
    case TOOLRACK_FORMAT_GEMINI:
        buf_printf(out, "{\"parts\":[{\"functionCall\":{\"name\":\"%s\",\"args\":%s}}]}", name,
                   json);
        break;
    case TOOLRACK_FORMAT_OLLAMA:
        buf_printf(out, "{\"tool_calls\":[{\"function\":{\"name\":\"%s\",\"arguments\":%s}}]}",
                   name, json);
        break;
    default:
        buf_printf(out,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"%s\",\"arguments\":%s}}",
                   name, json);
    }
}

static void call_generated(struct toolrack *host, const char *name, yyjson_val *arguments,
                           bool taken) {
    for (enum toolrack_format f = 0; f < TOOLRACK_FORMAT_COUNT; f++) {
        CLEANUP(buf_finish) struct buf message = BUF_INIT;
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        struct toolrack_error err;
        write_call(f, name, arguments, &message);
        if (toolrack_answer(host, f, message.data, message.length, NULL, &text, &err) < 0) {
            fail_msg("%s: %s: %s", toolrack_format_name(f), message.data, err.message);
        }
        const char *answer = toolrack_text_data(text, NULL);
        if ((strstr(answer, "InvalidArguments: ") == NULL) != taken ||
            strstr(answer, "NotFound") != NULL) {
            fail_msg("%s: %s: %s", toolrack_format_name(f), message.data, answer);
        }
    }
}

static void what_generators_write_is_called(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf configuration = BUF_INIT;
    CLEANUP(buf_finish) struct buf lines = BUF_INIT;
    read_generated(&configuration, &lines);
    CLEANUP(toolrack_closep) struct toolrack *host = open_host(configuration.data);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(lines.data, lines.length, 0);
    size_t at;
    size_t count;
    yyjson_val *line;
    assert_true(yyjson_arr_size(yyjson_doc_get_root(doc)) > 100);
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, line) {
        const char *name = yyjson_get_str(yyjson_obj_get(line, "name"));
        const char *refused = yyjson_get_str(yyjson_obj_get(line, "refused"));
        size_t i;
        size_t calls;
        yyjson_val *arguments;
        if (is_there(host, name) != (refused == NULL)) {
            fail_msg("%s: %s", name, logged);
        }
        if (refused != NULL && !is_refused(host, name, "schema-invalid", refused, "") &&
            !is_refused(host, name, "definition-value", refused, "")) {
            fail_msg("%s is not refused by: %s\n%s", name, refused, logged);
        }
        yyjson_arr_foreach (yyjson_obj_get(line, "taken"), i, calls, arguments) {
            call_generated(host, name, arguments, true);
        }
        yyjson_arr_foreach (yyjson_obj_get(line, "wrong"), i, calls, arguments) {
            call_generated(host, name, arguments, false);
        }
    }
}

/* ------------------------------------------------------------ implementations */

static void a_mock_answers_as_it_is_told(void **state) {
    (void)state;
    static const char *const responses[] = {"null",
                                            "true",
                                            "0",
                                            "-1.5",
                                            "\"\"",
                                            "\"sunny \\u00e9\"",
                                            "[]",
                                            "{}",
                                            "[1,[2,{\"a\":null}]]",
                                            "18446744073709551615",
                                            "123456789012345678901234567890",
                                            "{\"content\":\"not what MCP means\",\"n\":1e3}"};
    for (size_t i = 0; i < ARRAY_LENGTH(responses); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, TOOLS(MOCK("weather", "%s")), responses[i]);
        CLEANUP(toolrack_closep) struct toolrack *host = open_host(text);
        CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
        assert_int_equal(toolrack_call(host, "weather", NULL, NULL, &result, NULL), 0);
        yyjson_read_flag raw = YYJSON_READ_BIGNUM_AS_RAW;
        yyjson_doc *wanted = yyjson_read(responses[i], strlen(responses[i]), raw);
        const char *json = toolrack_result_json(result, NULL);
        yyjson_doc *got = yyjson_read(json, strlen(json), raw);
        if (!yyjson_equals(yyjson_doc_get_root(wanted), yyjson_doc_get_root(got))) {
            fail_msg("%s came back as %s", responses[i], json);
        }
        yyjson_doc_free(wanted);
        yyjson_doc_free(got);
    }
}

static void arguments_are_checked_before_it_answers(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(
            "{\"tools\": [{\"name\": \"w\", \"description\": \"d\", \"type\": \"function\", "
            "\"parameters\": {\"type\": \"object\", \"required\": [\"town\"]}, "
            "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}]}");
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "w", "{}", NULL, &result, NULL),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    gives(host, "w", "{\"town\": \"Rome\"}", "1");
}

/* Google's generator for Go writes {"not": {}} for false. */
static void nothing_but_what_is_listed_is_said_with_not(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(
            "{\"tools\": [{\"name\": \"w\", \"description\": \"d\", \"type\": \"function\", "
            "\"parameters\": {\"type\": \"object\", \"properties\": {\"town\": {}}, "
            "\"additionalProperties\": {\"not\": {}}}, "
            "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}]}");
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    assert_int_equal(toolrack_call(host, "w", "{\"twn\": \"Rome\"}", NULL, &result, &err),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    assert_non_null(strstr(err.message, "unknown property"));
    assert_non_null(strstr(err.message, "did you mean"));
}

static void builtin_functions_run(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(
            TOOLS(TOOL("repeat", "", "\"type\": \"builtin\", \"handler\": \"echo\"") "," TOOL(
                    "again", "\"handler\": \"echo\",",
                    "\"type\": \"builtin\"") "," TOOL("tools", "\"category\": \"meta\",",
                                                      "\"type\": \"builtin\", \"handler\": "
                                                      "\"list_tools\"") "," TOOL("now", "",
                                                                                 "\"type\": "
                                                                                 "\"builtin\", "
                                                                                 "\"handler\": "
                                                                                 "\"current_"
                                                                                 "time\"")));
    gives(host, "repeat", "{\"a\":[1,2]}", "{\"a\":[1,2]}");
    gives(host, "again", NULL, "{}");
    gives(host, "tools", "{\"category\": \"meta\"}",
          "[{\"id\":\"tools\",\"name\":\"tools\",\"version\":\"1.0.0\","
          "\"description\":\"Do it\",\"category\":\"meta\",\"enabled\":true,"
          "\"priority\":50}]");
    /* Disabled tools are told as such. */
    assert_int_equal(toolrack_set_enabled(host, "again", false, NULL, NULL), 0);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *info = NULL;
    assert_int_equal(toolrack_list_info(host, NULL, &info, NULL), 0);
    assert_non_null(strstr(toolrack_text_data(info, NULL), "\"enabled\":false"));
    gives(host, "tools", NULL, toolrack_text_data(info, NULL));
    gives(host, "tools", "{\"tag\": \"none\"}", "[]");
    CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "now", NULL, NULL, &result, NULL), 0);
    assert_non_null(strstr(toolrack_result_json(result, NULL), "\"unix_ms\":"));
}

/* In a worker, whatever the app says of plugins. */
static void the_handler_of_the_implementation_runs(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *builtin =
            open_host(TOOLS(TOOL("t", "\"handler\": \"current_time\",",
                                 "\"type\": \"builtin\", \"handler\": \"echo\"")));
    gives(builtin, "t", "{\"a\": 1}", "{\"a\": 1}");
    CLEANUP(toolrack_closep)
    struct toolrack *mock =
            open_host(TOOLS(TOOL("t", "\"handler\": \"t\",",
                                 "\"type\": \"mock\", \"handler\": \"u\", \"mock_response\": 1")));
    gives(mock, "t", "{}", "1");
}

static void a_function_of_a_library_runs(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(TOOLS(MOCK("cosine", "\"first\"") "," MOCK("t", "1")));
    gives(host, "cosine", "{\"x\": 0}", "\"first\"");
    CLEANUP(toolrack_closep) struct toolrack *native = open_host(TOOLS(NATIVE_COS));
    gives(native, "cosine", "{\"x\": 0}", "1.0");
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(native, "cosine");
    assert_int_equal(toolrack_tool_priority(tool), 300);
    assert_string_equal(toolrack_tool_purpose(tool), "measure");
    assert_string_equal(toolrack_tool_scenarios(tool), "school,work");
    assert_string_equal(toolrack_tool_deprecated(tool), "use sine");
    CLEANUP(toolrack_closep)
    struct toolrack *both = open_host(TOOLS(MOCK("cosine", "\"first\"") "," NATIVE_COS));
    gives(both, "cosine", "{\"x\": 0}", "\"first\"");
    assert_non_null(strstr(logged, "Tool already exists: cosine 1.0.0"));
}

/* ------------------------------------------------------------------- services */

static tr_status count_up(struct tr_call *call, void *user) {
    int *count = user;
    *count += (int)tr_get_i64(call, "by", 1);
    (void)tr_put_object(call, NULL);
    (void)tr_put_i64(call, "count", *count);
    return tr_put_end(call);
}

static tr_status refuse_call(struct tr_call *call, void *user) {
    return tr_fail(call, TR_FAILED, NULL, "%s", (const char *)user);
}

static void a_service_of_the_app_runs_with_what_is_its_own(void **state) {
    (void)state;
    int count = 0;
    char why[] = "not today";
    const struct toolrack_service services[] = {
            {.name = "counter", .run = count_up, .user = &count},
            {.name = "refuser", .run = refuse_call, .user = why}};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.services = services;
    options.service_count = ARRAY_LENGTH(services);
    CLEANUP(toolrack_closep) struct toolrack *host = NULL;
    struct toolrack_error err;
    assert_int_equal(
            try_open(
                    TOOLS(TOOL("up", "", "\"type\": \"internal\", \"handler\": \"counter\"") "," TOOL(
                            "no", "",
                            "\"type\": \"internal\", \"handler\": \"refuser\"") "," TOOL("lost", "",
                                                                                         "\"type\":"
                                                                                         " \"intern"
                                                                                         "al\", "
                                                                                         "\"handler"
                                                                                         "\": "
                                                                                         "\"counte"
                                                                                         "\"")),
                    &options, &host, &err),
            0);
    gives(host, "up", NULL, "{\"count\":1}");
    gives(host, "up", "{\"by\": 5}", "{\"count\":6}");
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "no", NULL, NULL, &result, &err),
                     TOOLRACK_E_EXECUTION_FAILED);
    assert_string_equal(err.message, "not today");
    assert_true(is_refused(host, "lost", "definition-service",
                           "unknown handler 'counte'; there are: counter, refuser",
                           "toolrack_add_service()"));
}

/* What waits for nothing runs on its caller's thread; of others the app alone can know it. */
static void mocks_and_builtins_return_by_themselves(void **state) {
    (void)state;
    int count = 0;
    const struct toolrack_service services[] = {
            {.name = "counter", .run = count_up, .user = &count}};
    static const struct {
        const char *name;
        bool returns;
    } cases[] = {{"fixed", true}, {"echo", true}, {"up", false}};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.services = services;
    options.service_count = ARRAY_LENGTH(services);
    CLEANUP(toolrack_closep) struct toolrack *host = NULL;
    struct toolrack_error err;
    const char *config = TOOLS(MOCK("fixed", "7") "," TOOL(
            "echo", "",
            "\"type\": \"builtin\", \"handler\": \"echo\"") "," TOOL("up", "",
                                                                     "\"type\": \"internal\", "
                                                                     "\"handler\": \"counter\""));
    assert_int_equal(try_open(config, &options, &host, &err), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = toolrack_get(host, cases[i].name);
        assert_non_null(tool);
        assert_int_equal(atomic_load(&tool->reg->returns), cases[i].returns);
        assert_int_equal(toolrack_set_returns(host, toolrack_tool_uid(tool), true, &err),
                         TOOLRACK_E_INVALID);
        assert_non_null(strstr(err.message, "TOOLRACK_NO_DEADLINE"));
        assert_int_equal(atomic_load(&tool->reg->returns), cases[i].returns);
    }
}

static void a_service_that_comes_later_brings_its_tools(void **state) {
    (void)state;
    int count = 0;
    struct toolrack_service service = {.name = "counter", .run = count_up, .user = &count};
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(
            TOOLS(TOOL("up", "", "\"type\": \"internal\", \"handler\": \"counter\"") "," TOOL(
                    "other", "",
                    "\"type\": \"internal\", \"handler\": \"another\"") "," TOOL("fixed",
                                                                                 "\"handler\": "
                                                                                 "\"counter\",",
                                                                                 "\"type\": "
                                                                                 "\"mock\", "
                                                                                 "\"mock_"
                                                                                 "response\": 7")));
    struct toolrack_error err;
    gives(host, "fixed", NULL, "7"); /* not by the service, though that is named */
    assert_false(is_there(host, "up"));
    assert_true(is_refused(host, "up", "definition-service", "there are: none", ""));
    assert_int_equal(toolrack_add_service(host, &service, &err), 0);
    gives(host, "up", NULL, "{\"count\":1}");
    assert_int_equal(refused_count(host), 1);
    assert_false(is_there(host, "other"));
    assert_int_equal(toolrack_add_service(host, &service, &err), TOOLRACK_E_EXISTS);
    service.name = "";
    assert_int_equal(toolrack_add_service(host, &service, &err), TOOLRACK_E_INVALID);
    service = (struct toolrack_service){.name = "another"};
    assert_int_equal(toolrack_add_service(host, &service, &err), TOOLRACK_E_INVALID);
    assert_int_equal(refused_count(host), 1);
}

static void two_services_of_one_name_are_an_error(void **state) {
    (void)state;
    const struct toolrack_service services[] = {{.name = "a", .run = count_up},
                                                {.name = "a", .run = count_up}};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.services = services;
    options.service_count = 2;
    struct toolrack *host = NULL;
    assert_int_equal(try_open("{}", &options, &host, NULL), TOOLRACK_E_EXISTS);
}

/* -------------------------------------------------------------------- refused */

static void http_is_refused_and_registers_nothing(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(
            TOOLS(TOOL("fetch", "", "\"type\": \"http\", \"url\": \"http://example.org\"")));
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *rows = NULL;
    assert_false(is_there(host, "fetch"));
    assert_int_equal(toolrack_refused(host, &rows, NULL), 0);
    assert_int_equal(toolrack_refusals_count(rows), 1);
    assert_string_equal(toolrack_refusals_get(rows, 0)->reason,
                        "HTTP tools not yet supported (coming in v2)");
    assert_non_null(strstr(logged, "3 config: "));
    assert_non_null(strstr(logged, "line 1: tool 'fetch' is left out: "
                                   "HTTP tools not yet supported (coming in v2)"));
}

/* What can be wrong with a definition: the rest of the file is used all the same. */
static const struct {
    const char *definition;
    const char *tool;
    const char *rule;
    const char *reason;
    const char *fix;
} wrong[] = {
        {"5", "<unnamed>", "definition-value",
         "/tools/0: the definition must be an object, not an integer", "{"},
        {"{}", "<unnamed>", "definition-missing", "no \"name\"", "\"weather\""},
        {"{}", "<unnamed>", "definition-missing", "no \"implementation\"", "mock"},
        {"{}", "<unnamed>", "definition-missing", "no \"parameters\"", "object"},
        {MOCK("9lives", "1"), "<unnamed>", "definition-value", "/name \"9lives\" must be 1 to 64",
         ""},
        {MOCK("a\\u0000b", "1"), "<unnamed>", "definition-value", " must be 1 to 64", ""},
        {TOOL("t", "\"type\": \"function\",", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-key", "given twice", ""},
        {TOOL("t", "", "\"type\": \"mock\", \"mock_response\": 1, \"mock_response\": 2"), "t",
         "definition-key", "\"mock_response\" is given twice", "remove one"},
        {TOOL("t", "",
              "\"type\": \"native\", \"library\": \"libm.so.6\", \"library\": \"libc.so.6\", "
              "\"symbol\": \"cos\""),
         "t", "definition-key", "\"library\" is given twice", ""},
        {TOOL("t", "\"permision\": \"safe\",", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-key", "unknown key \"permision\"", "did you mean \"permission\"?"},
        {TOOL("t", "\"permission\": \"maybe\",", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-value", "/permission must be one of \"safe\", \"confirm\", \"dangerous\"",
         "\"permission\": \"safe\""},
        {TOOL("t", "\"version\": \"1.0\",", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-value", "/version must be a Semantic Version", "1.0.0"},
        {TOOL("t", "\"priority\": 1.5,", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-value", "/priority must be", "\"priority\": 60"},
        {TOOL("t", "\"priority\": 2147483648,", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-value", "/priority must be", "\"priority\": 60"},
        {TOOL("t", "\"deadline_ms\": 0,", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-value", "/deadline_ms must be", "\"deadline_ms\": 500"},
        {TOOL("t", "\"tags\": [\"a,b\"],", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-value", "/tags/0 must be a string that is not empty and has no comma", ""},
        {TOOL("t", "\"title\": 3,", "\"type\": \"mock\", \"mock_response\": 1"), "t",
         "definition-value", "/title must be a string, not an integer", "Weather"},
        {TOOL("t", "", "\"type\": \"mock\""), "t", "definition-missing",
         "/implementation has no \"mock_response\"", "sunny"},
        {TOOL("t", "", "\"type\": \"mock\", \"mock_response\": 1e999"), "t", "definition-value",
         "too large", ""},
        {TOOL("t", "", "\"type\": \"mock\", \"mock_response\": 1, \"handle\": \"echo\""), "t",
         "definition-key", "\"handle\"", ""},
        {TOOL("t", "", "\"type\": \"builtin\""), "t", "definition-missing", "\"handler\"", ""},
        {TOOL("t", "", "\"type\": \"builtin\", \"handler\": 3"), "t", "definition-value",
         "/implementation/handler must be a string", ""},
        {TOOL("t", "", "\"type\": \"builtin\", \"handler\": \"ech\""), "t", "definition-handler",
         "unknown handler 'ech'; there are: echo, current_time, list_tools", ""},
        {TOOL("t", "\"handler\": \"echo\",", "\"type\": \"builtin\", \"handler\": \"x\""), "t",
         "definition-handler", "unknown handler 'x'; there are: echo, current_time, list_tools",
         ""},
        {TOOL("t", "", "\"type\": \"internal\""), "t", "definition-missing", "\"handler\"", ""},
        {TOOL("t", "", "\"type\": \"grpc\""), "t", "definition-value",
         "/implementation/type must be one of \"mock\", \"builtin\", \"internal\", \"native\"", ""},
        {TOOL("t", "", "\"type\": \"native\", \"symbol\": \"cos\""), "t", "definition-missing",
         "/implementation has no \"library\"", "libm.so.6"},
        {TOOL("t", "",
              "\"type\": \"native\", \"library\": \"libm.so.6\", \"symbol\": \"cos\", "
              "\"arguments\": [{\"name\": \"x\", \"type\": \"float63\"}]"),
         "t", "definition-native", "float63", "libm.so.6"},
        {TOOL("t", "", "\"mock_response\": 1"), "t", "definition-missing",
         "/implementation has no \"type\"", ""},
        {"{\"name\": \"t\", \"description\": \"d\", \"type\": \"tool\", \"parameters\": "
         "{\"type\": \"object\"}, \"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}",
         "t", "definition-value", "/type must be \"function\"", ""},
        {"{\"name\": \"t\", \"description\": \"\", \"type\": \"function\", \"parameters\": "
         "{\"type\": \"object\"}, \"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}",
         "t", "definition-value", "/description must", ""},
        {"{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\", \"parameters\": "
         "{\"type\": \"array\"}, \"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}",
         "t", "definition-value", "/parameters/type must be \"object\"", ""},
        {"{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\", \"parameters\": "
         "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"strng\"}}}, "
         "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}",
         "t", "schema-invalid", "/properties/a/type", ""},
        /* A warning about the same member hides no error. */
        {"{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\", \"parameters\": "
         "{\"type\": \"object\", \"properties\": {\"l\": {\"type\": \"array\"}, \"a\": {\"type\": "
         "\"strng\"}}}, \"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}",
         "t", "schema-invalid", "/properties/a/type", ""},
        {"{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\", \"parameters\": "
         "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": [\"str\", \"strng\"]}}}, "
         "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}",
         "t", "schema-invalid", "/properties/a/type", ""},
        {"{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\", \"parameters\": "
         "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string | nul\"}}}, "
         "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}",
         "t", "schema-invalid", "/properties/a/type", ""},
};

/* Types as Python and others name them, wherever a schema has them, and a default that is null. */
static void types_of_other_languages_are_taken_for_those_of_json_schema(void **state) {
    (void)state;
    static const char head[] =
            "{\"tools\": [{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\",\n";
    static const char schema[] =
            "\"parameters\": {\"type\": \"dict[str, Any]\",\n"
            "\"properties\": {\"town\": {\"type\": \"str\",\n"
            "\"default\": null},\n"
            "\"list\": {\"type\": \"tuple\", \"items\": {\"type\": \"float\"}},\n"
            "\"either\": {\"anyOf\": [{\"type\": \"int\"}, {\"type\": \"None\"}]},\n"
            "\"types\": {\"type\": [\"bool\", \"boolean\", \"null\"]},\n"
            "\"free\": {\"type\": \"any\"}, \"freer\": {\"type\": [\"str\", \"any\"]}},\n"
            "\"additionalProperties\": {\"$ref\": \"#/$defs/d\"},\n"
            "\"$defs\": {\"d\": {\"type\": \"dict\"}}},";
    static const char tail[] =
            "\"implementation\": {\"type\": \"builtin\", \"handler\": \"echo\"}}]}";
    static const struct {
        const char *arguments;
        const char *field; /* NULL: they are taken */
    } calls[] = {
            {"{\"town\":\"a\",\"list\":[1.5],\"either\":null,\"types\":true,\"free\":[]}", NULL},
            {"{\"freer\":{},\"types\":null,\"more\":{}}", NULL},
            {"{\"town\":1}", "/town"},
            {"{\"town\":null}", "/town"},
            {"{\"list\":{}}", "/list"},
            {"{\"list\":[\"a\"]}", "/list/0"},
            {"{\"either\":\"a\"}", "/either"},
            {"{\"types\":1}", "/types"},
            {"{\"more\":1}", "/more"},
    };
    static const char *const said[] = {
            "line 2: tool 't': \"dict[str, Any]\" is not a type of JSON Schema; it is taken for "
            "\"object\"",
            "line 3: tool 't': \"str\" is not a type of JSON Schema; it is taken for \"string\"",
            "line 4: tool 't': a default in the schema of the arguments is ignored: "
            "/properties/town/default",
            "line 5: tool 't': \"tuple\" is not a type of JSON Schema; it is taken for \"array\"",
            "line 5: tool 't': \"float\" is not a type of JSON Schema; it is taken for \"number\"",
            "line 6: tool 't': \"int\" is not a type of JSON Schema; it is taken for \"integer\"",
            "line 6: tool 't': \"None\" is not a type of JSON Schema; it is taken for \"null\"",
            "line 7: tool 't': \"bool\" is not a type of JSON Schema; it is taken for \"boolean\"",
            "line 8: tool 't': \"any\" is not a type of JSON Schema; it is taken for any value",
            "line 10: tool 't': \"dict\" is not a type of JSON Schema; it is taken for \"object\"",
    };
    char text[2048];
    (void)snprintf(text, sizeof text, "%s%s%s", head, schema, tail);
    CLEANUP(toolrack_closep) struct toolrack *host = open_host(text);
    assert_int_equal(refused_count(host), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(said); i++) {
        if (strstr(logged, said[i]) == NULL) {
            fail_msg("not logged: %s\n%s", said[i], logged);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
        struct toolrack_result *result = NULL;
        struct toolrack_error err = {0};
        int code = toolrack_call(host, "t", calls[i].arguments, NULL, &result, &err);
        assert_int_equal(code, calls[i].field != NULL ? TOOLRACK_E_INVALID_ARGUMENTS : 0);
        assert_string_equal(err.field, calls[i].field != NULL ? calls[i].field : "");
        toolrack_result_free(result);
    }
}

/* What the author's validator would refuse, and the host's does not, is told. */
static void what_is_not_checked_is_told(void **state) {
    (void)state;
    static const char text[] =
            "{\"tools\": [{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\",\n"
            "\"parameters\": {\"type\": \"object\", \"properties\": {\n"
            "\"a\": {\"type\": \"List[Foo]\"}, \"b\": {\"type\": \"string[]\"},\n"
            "\"c\": {\"type\": \"uint8 | float\"}, \"d\": {\"type\": [\"uint\", \"null\"]},\n"
            "\"e\": {\"disallow\": \"string\"},\n"
            "\"f\": {\"extends\": {\"type\": \"string\"}},\n"
            "\"extends\": {\"type\": \"string\"},\n"
            "\"g\": {\"$ref\": \"#n\"}}, \"definitions\": {\"n\": {\"id\": \"#n\"}}},\n"
            "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}},\n"
            "{\"name\": \"u\", \"description\": \"d\", \"type\": \"function\", \"parameters\": {\n"
            "\"type\": \"object\", \"properties\": {\"g\": {\"$ref\": \"#n\"}}, \"definitions\": "
            "{\n"
            "\"m\": {\"id\": \"#n\"}, \"n\": {\"id\": \"#n\"}}},\n"
            "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}]}";
    static const char *const said[] = {
            "line 3: tool 't': \"List[Foo]\" is not a type of JSON Schema; it is taken for "
            "\"array\", and what is in the brackets is not checked",
            "line 3: tool 't': \"string[]\" is not a type of JSON Schema; it is taken for "
            "\"type\":\"array\",\"items\":{\"type\":\"string\"}",
            "line 4: tool 't': \"uint8 | float\" is not a type of JSON Schema; it is taken for "
            "[\"integer\",\"number\"], and the bounds of its numbers are not checked",
            "line 4: tool 't': \"uint\" is not a type of JSON Schema; it is taken for "
            "\"type\":\"integer\",\"minimum\":0; write \"type\":\"integer\",\"minimum\":0",
            "line 5: tool 't': disallow is of draft 3, and is not checked; write it as \"not\"",
            "line 6: tool 't': extends is of draft 3, and is not checked; write it as \"allOf\"",
            "line 8: tool 't': the reference \"#n\" names the id of a schema; it is taken for "
            "\"#/definitions/n\"",
            "line 11: tool 'u': the reference \"#n\" names several schemas; let each schema have "
            "an "
            "id of its own",
    };
    CLEANUP(toolrack_closep) struct toolrack *host = open_host(text);
    assert_true(is_there(host, "t"));
    assert_false(is_there(host, "u"));
    for (size_t i = 0; i < ARRAY_LENGTH(said); i++) {
        if (strstr(logged, said[i]) == NULL) {
            fail_msg("not logged: %s\n%s", said[i], logged);
        }
    }
    assert_null(strstr(logged, "line 7: "));
}

/* JSON Schema ignores what it does not know: the tool would have no parameters. */
static void what_a_schema_was_meant_to_say_is_told(void **state) {
    (void)state;
    static const struct {
        const char *schema;
        const char *said; /* NULL: nothing */
    } rows[] = {
            {"{\"city\": {\"type\": \"string\"}}",
             "a member that looks like one is not read: city; put it into \"properties\""},
            {"{\"type\": \"object\", \"required\": [\"title\"], \"town\": {\"enum\": [1]}}",
             "is not read: town"},
            {"{\"inputSchema\": {\"type\": \"object\", \"properties\": {}}}",
             "what is in its member \"inputSchema\" is not read; write the schema in inputSchema"},
            {"{\"name\": \"x\", \"parameters\": {\"type\": \"object\"}}",
             "what is in its member \"parameters\" is not read"},
            {"{\"parameters\": [{\"name\": \"id\", \"in\": \"query\"}]}",
             "write the elements of parameters as members of \"properties\""},
            {"{\"type\": \"object\", \"propertys\": {\"a\": {}}, \"require\": [\"a\"]}",
             "\"propertys\" is no keyword of JSON Schema, and is not checked; did you mean "
             "\"properties\"?"},
            {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\", "
             "\"min_length\": 2}}}",
             "did you mean \"minLength\"?"},
            {"{\"type\": \"object\", \"properties\": {\"a\": {\"pattern\": \"/^a$/i\"}}}",
             "a literal of JavaScript, which it takes for characters; write \"^a$\", and both"},
            {"{\"type\": \"object\", \"properties\": {\"propertys\": {\"pattern\": \"/etc/\", "
             "\"example\": [1], \"x-enum\": [1], \"typeof\": \"f\", \"require\": 7}}}",
             NULL},
            {"{\"type\": \"object\", \"default\": {\"type\": \"a\"}, \"additionalProperties\": "
             "{\"type\": "
             "\"string\"}}",
             NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "{\"tools\": [{\"name\": \"t\", \"description\": \"d\", \"type\": "
                       "\"function\", \"parameters\": %s, \"implementation\": {\"type\": \"mock\", "
                       "\"mock_response\": 1}}]}",
                       rows[i].schema);
        CLEANUP(toolrack_closep) struct toolrack *host = open_host(text);
        assert_non_null(host);
        if (rows[i].said != NULL
                    ? strstr(logged, rows[i].said) == NULL
                    : strstr(logged, "not read") != NULL || strstr(logged, "keyword") != NULL ||
                              strstr(logged, "JavaScript") != NULL) {
            fail_msg("%s: %s", rows[i].schema, logged);
        }
    }
}

static void a_wrong_definition_is_left_out_and_the_start_goes_on(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        char text[2048];
        (void)snprintf(text, sizeof text, TOOLS("%s," MOCK("after", "1")), wrong[i].definition);
        CLEANUP(toolrack_closep) struct toolrack *host = open_host(text);
        assert_false(is_there(host, "t"));
        gives(host, "after", NULL, "1");
        if (!is_refused(host, wrong[i].tool, wrong[i].rule, wrong[i].reason, wrong[i].fix)) {
            fail_msg("%s: no row says '%s': %s", wrong[i].definition, wrong[i].reason, logged);
        }
        assert_non_null(strstr(logged, "3 config: "));
    }
}

/* ------------------------------------------------------------------ properties */

static void a_definition_says_what_a_plugin_would(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(
            TOOLS(TOOL("t",
                       "\"version\": \"2.1.0\", \"title\": \"T\", \"category\": \"c\", \"tags\": "
                       "[\"a\", \"b\"], \"permission\": \"confirm\", \"priority\": 900, "
                       "\"deadline_ms\": 700, \"purpose\": \"p\", \"scenarios\": [\"s\"], "
                       "\"deprecated\": \"use u\",",
                       "\"type\": \"mock\", \"mock_response\": 1") "," MOCK("u", "1")));
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(host, "t@2.1.0");
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *plain = toolrack_get(host, "u");
    assert_non_null(tool);
    assert_string_equal(toolrack_tool_title(tool), "T");
    assert_string_equal(toolrack_tool_category(tool), "c");
    assert_string_equal(toolrack_tool_tags(tool), "a,b");
    assert_int_equal(toolrack_tool_permission(tool), TOOLRACK_PERMISSION_CONFIRM);
    assert_int_equal(toolrack_tool_priority(tool), 900); /* an administrator said so */
    assert_int_equal(toolrack_tool_deadline_ms(tool), 700);
    assert_string_equal(toolrack_tool_purpose(tool), "p");
    assert_true(toolrack_tool_has_scenario(tool, "s"));
    assert_string_equal(toolrack_tool_deprecated(tool), "use u");
    assert_string_equal(toolrack_tool_plugin(tool), "t");
    assert_string_equal(toolrack_tool_purpose(tool), "p");
    assert_string_equal(toolrack_tool_scenarios(tool), "s");
    assert_string_equal(toolrack_tool_deprecated(tool), "use u");
    assert_null(toolrack_tool_purpose(plain));
    assert_non_null(toolrack_tool_file(tool));
    assert_string_equal(toolrack_tool_version(plain), "1.0.0");
    assert_int_equal(toolrack_tool_priority(plain), TOOLRACK_PRIORITY_OFFICIAL);
    assert_null(toolrack_tool_purpose(plain));
    assert_null(toolrack_tool_scenarios(plain));
    assert_null(toolrack_tool_deprecated(plain));
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "t", NULL, NULL, &result, NULL),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    struct toolrack_error err;
    assert_int_equal(toolrack_reload(host, "t", NULL, &err), TOOLRACK_E_INVALID);
}

static void a_function_of_a_library_says_it_too(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(
            "{\"tools\": [{\"name\": \"cosine\", \"description\": \"d\", \"type\": \"function\", "
            "\"purpose\": \"p\", \"scenarios\": \"s\", \"deprecated\": \"use sine\", "
            "\"implementation\": {\"type\": \"native\", \"library\": \"libm.so.6\", \"symbol\": "
            "\"cos\", \"arguments\": [{\"name\": \"x\", \"type\": \"double\"}], \"result\": "
            "{\"type\": \"double\"}}}]}");
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(host, "cosine");
    assert_non_null(tool);
    assert_string_equal(toolrack_tool_purpose(tool), "p");
    assert_string_equal(toolrack_tool_scenarios(tool), "s");
    assert_string_equal(toolrack_tool_deprecated(tool), "use sine");
}

/* ------------------------------------------------------------------ duplicates */

static tr_status say_plugin(struct tr_call *call) {
    return tr_reply_json(call, "\"plugin\"");
}

static int register_weather(struct toolrack *host, struct toolrack_error *err) {
    static const struct tr_tool tool = {.size = sizeof tool,
                                        .name = "weather",
                                        .description = "Of a plugin",
                                        .schema = "{\"type\": \"object\"}",
                                        .run = say_plugin};
    static const struct tr_tool *const tools[] = {&tool};
    static const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                            .size = sizeof plugin,
                                            .abi_major = TR_ABI_MAJOR,
                                            .abi_minor = TR_ABI_MINOR,
                                            .id = "meteo",
                                            .version = "1.0.0",
                                            .tool_count = 1,
                                            .tool_size = sizeof tool,
                                            .tools = tools};
    return toolrack_register(host, &plugin, NULL, err);
}

static void the_first_of_two_stays_and_a_free_name_is_told(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host =
            open_host(TOOLS(MOCK("weather", "1") "," MOCK("weather", "2") "," MOCK("other", "3")));
    gives(host, "weather", NULL, "1");
    gives(host, "other", NULL, "3");
    assert_true(is_refused(host, "weather", "tool-exists", "Tool already exists", "weather_v2"));
    struct toolrack_error err;
    assert_int_equal(register_weather(host, &err), TOOLRACK_E_EXISTS);
    assert_non_null(strstr(err.message, "Tool already exists"));
    assert_non_null(strstr(err.message, "weather_v2"));
    gives(host, "weather", NULL, "1");
}

static void a_taken_name_is_not_suggested(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(
            TOOLS(MOCK("weather", "1") "," MOCK("weather_v2", "2") "," MOCK("weather", "3")));
    assert_true(is_refused(host, "weather", "tool-exists", "Tool already exists", "weather_alt"));
}

static void with_replace_the_last_wins_with_a_warning(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host("{\"duplicates\": \"replace\", \"tools\": [" MOCK(
            "weather", "1") "," MOCK("weather", "2") "]}");
    gives(host, "weather", NULL, "2");
    assert_int_equal(refused_count(host), 0);
    assert_non_null(strstr(logged, "2 weather: weather 1.0.0 replaces the one of plugin weather"));
    /* The app is another origin: it replaces what it has registered itself, and nothing else. */
    struct toolrack_error err;
    assert_int_equal(register_weather(host, &err), TOOLRACK_E_EXISTS);
    assert_non_null(strstr(err.message, "Tool already exists: weather 1.0.0, from plugin weather"));
    gives(host, "weather", NULL, "2");
    assert_int_equal(toolrack_unregister_name(host, "weather", NULL), 0);
    assert_int_equal(register_weather(host, NULL), 0);
    logged[0] = '\0';
    assert_int_equal(register_weather(host, NULL), 0);
    gives(host, "weather", NULL, "\"plugin\"");
    assert_non_null(strstr(logged, "2 meteo: weather 1.0.0 replaces the one of plugin meteo"));
}

static void another_version_is_no_duplicate(void **state) {
    (void)state;
    CLEANUP(toolrack_closep)
    struct toolrack *host = open_host(TOOLS(MOCK("weather", "1") "," TOOL(
            "weather", "\"version\": \"1.1.0\",", "\"type\": \"mock\", \"mock_response\": 2")));
    gives(host, "weather", NULL, "2");
    gives(host, "weather@1.0.0", NULL, "1");
}

static void safe_mode_leaves_them_out(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.safe_mode = true;
    CLEANUP(toolrack_closep) struct toolrack *host = NULL;
    assert_int_equal(try_open(TOOLS(MOCK("weather", "1")), &options, &host, NULL), 0);
    assert_false(is_there(host, "weather"));
}

/* --------------------------------------------------------------------- checking */

static struct toolrack_findings *check(const char *text) {
    char path[64];
    CLEANUP(closep) int fd = -1;
    struct toolrack_findings *findings = NULL;
    struct toolrack_error err;
    make_file(text, &fd, path);
    if (toolrack_check(path, &findings, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_true(toolrack_findings_is_configuration(findings));
    return findings;
}

static size_t errors_of(const struct toolrack_findings *findings) {
    size_t errors = 0;
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        errors += toolrack_findings_get(findings, i)->severity == TOOLRACK_SEVERITY_ERROR;
    }
    return errors;
}

static void check_tells_each_error_with_its_place(void **state) {
    (void)state;
    CLEANUP(toolrack_findings_freep)
    struct toolrack_findings *findings =
            check("{ // first\n"
                  "  \"deadline\": 5,\n"
                  "  /* é */ \"pin\": \"on\",\n"
                  "  \"folders\": [\"/a\",\n"
                  "    {\"path\": \"/b\", \"trust\": \"mine\"}],\n"
                  "  \"policies\": {\"p\": {\"workers\": 0}, \"p\": {}},\n"
                  "  \"pin\": \"warn\"\n"
                  "}\n");
    static const struct {
        size_t line;
        size_t column;
        const char *cause;
    } wanted[] = {{2, 3, "unknown key \"deadline\""},  {3, 18, "/pin must be"},
                  {5, 29, "/folders/1/trust must be"}, {6, 33, "/policies/p/workers must be"},
                  {6, 37, "\"p\" is given twice"},     {7, 3, "\"pin\" is given twice"}};
    assert_int_equal(toolrack_findings_count(findings), ARRAY_LENGTH(wanted));
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        assert_int_equal(finding->line, wanted[i].line);
        assert_int_equal(finding->column, wanted[i].column);
        assert_non_null(strstr(finding->cause, wanted[i].cause));
        assert_true(finding->fix[0] != '\0');
    }
}

static void check_says_of_definitions_what_the_start_would(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        char text[2048];
        (void)snprintf(text, sizeof text, TOOLS("%s," MOCK("after", "1")), wrong[i].definition);
        CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = check(text);
        assert_true(errors_of(findings) > 0);
        assert_int_equal(toolrack_findings_tool_count(findings), 1);
    }
}

static void check_finds_duplicates(void **state) {
    (void)state;
    CLEANUP(toolrack_findings_freep)
    struct toolrack_findings *reject = check(TOOLS(MOCK("weather", "1") "," MOCK("weather", "2")));
    assert_int_equal(errors_of(reject), 1);
    assert_non_null(strstr(toolrack_findings_get(reject, 0)->cause, "Tool already exists"));
    CLEANUP(toolrack_findings_freep)
    struct toolrack_findings *replace = check("{\"duplicates\": \"replace\", \"tools\": [" MOCK(
            "weather", "1") "," MOCK("weather", "2") "]}");
    assert_int_equal(errors_of(replace), 0);
    assert_int_equal(toolrack_findings_get(replace, 0)->severity, TOOLRACK_SEVERITY_WARNING);
}

/* -------------------------------------------------------------------- extremes */

/* `count` times the same text, with a comma between them. */
static void add_times(struct buf *out, const char *text, size_t count) {
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s%s", i > 0 ? "," : "", text);
    }
}

/* What cannot be told to a worker is wrong with that tool, not with the configuration. */
static void a_function_of_which_too_much_is_said_is_left_out(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text,
                 "{\"tools\": [{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\", "
                 "\"implementation\": {\"type\": \"native\", \"library\": \"libc.so.6\", "
                 "\"symbol\": \"atoi\", \"arguments\": [{\"name\": \"x\", \"type\": \"string\", "
                 "\"enum\": [");
    for (size_t i = 0; i < FOREIGN_TEXT_MAX / 1000; i++) {
        buf_printf(&text, "%s\"%01000zu\"", i > 0 ? "," : "", i);
    }
    buf_add_text(&text, "]}], \"result\": {\"type\": \"int\"}}}," MOCK("after", "1") "]}");
    CLEANUP(toolrack_closep) struct toolrack *host = open_host(text.data);
    assert_true(is_refused(host, "t", "definition-native", "the limit is", ""));
    gives(host, "after", NULL, "1");
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = check(text.data);
    assert_int_equal(errors_of(findings), 1);
}

static void what_is_not_told_is_counted(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"tools\": [");
    add_times(&text, "5", PROBLEMS_MAX + 7);
    buf_add_text(&text, "," MOCK("after", "1") "]}");
    CLEANUP(toolrack_closep) struct toolrack *host = open_host(text.data);
    assert_int_equal(refused_count(host), PROBLEMS_MAX + 1);
    assert_true(is_refused(host, "<others>", "problems-left-out", "7 more problems", ""));
    gives(host, "after", NULL, "1");
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = check(text.data);
    assert_int_equal(errors_of(findings), PROBLEMS_MAX + 1);
}

/* One thing is said of an object that no definition can be, however many members it has. */
static void an_object_without_end_is_wrong_once(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"tools\": [{");
    add_times(&text, "\"k\": 1", 200000);
    buf_add_text(&text, "}," MOCK("after", "1") "]}");
    CLEANUP(toolrack_closep) struct toolrack *host = open_host(text.data);
    assert_true(is_refused(host, "<unnamed>", "definition-value", "200000 members", ""));
    gives(host, "after", NULL, "1");
    buf_clear(&text);
    buf_add_text(&text, "{");
    add_times(&text, "\"k\": 1", 200000);
    buf_add_text(&text, "}");
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = check(text.data);
    assert_int_equal(toolrack_findings_count(findings), 1);
}

/* The schema that editors use: of all that the host takes it takes everything, and of what is wrong
 * in the shape of a file nothing. */
static bool schema_takes(const char *text) {
    yyjson_doc *doc = yyjson_read(config_schema, strlen(config_schema), 0);
    struct schema *schema = NULL;
    struct toolrack_error err;
    if (doc == NULL || schema_compile(yyjson_doc_get_root(doc), NULL, &schema, &err) < 0) {
        fail_msg("the schema: %s", doc == NULL ? "no JSON" : err.message);
    }
    yyjson_doc_free(doc);
    doc = yyjson_read(text, strlen(text), YYJSON_READ_BIGNUM_AS_RAW);
    bool takes = schema_validate(schema, yyjson_doc_get_root(doc), NULL);
    yyjson_doc_free(doc);
    schema_destroy(schema);
    return takes;
}

static void the_schema_agrees(void **state) {
    (void)state;
    static const char *const good[] = {
            "{}",
            "{\"$schema\": \"x\", \"folders\": [\"/a\", {\"path\": \"/b\", \"trust\": "
            "\"official\", "
            "\"isolation\": \"none\", \"pin\": \"off\"}], \"deadline_ms\": 4294967294, "
            "\"duplicates\": \"replace\", \"grants\": [\"a\"], \"plugins\": {\"p\": {\"a\": 1}}, "
            "\"isolation\": \"process\", \"require_sandbox\": true, "
            "\"spare_worker\": true, \"pin\": \"enforce\", "
            "\"paths\": {\"w\": \"/w\"}, \"policies\": {\"p\": {\"isolation\": \"none\", \"pin\": "
            "\"warn\", \"allow\": [\"*\", \"read\", \"env:HOME\"], \"workers\": 4, \"queue\": 1, "
            "\"start_ms\": 1, \"idle_ms\": 1, \"grace_ms\": 1, \"backoff_ms\": 1, "
            "\"backoff_max_ms\": 1, \"crashes\": 1, \"crashes_window_ms\": 1, \"memory_mb\": 1, "
            "\"file_mb\": 1, \"cpu_s\": 1, \"files\": 1, \"processes\": 1, "
            "\"network_namespace\": false}}, \"log\": {\"days\": 36500, \"megabytes\": 1}, "
            "\"tools\": []}",
            "{\"log\": {}}",
            "{\"arguments\": \"lax\", \"arguments_of\": {\"tools\": {\"a\": \"exact\"}, "
            "\"formats\": {\"openai-responses\": \"json-text\"}}}",
            "{\"choose\": {\"scenes\": {\"fleet\": {\"name_zh\": \"\xe8\xbd\xa6\", \"words\": "
            "[\"truck\"]}}, \"endpoint\": \"http://127.0.0.1:1\", \"model\": \"m\", \"format\": "
            "\"ollama\", \"steps\": [\"evaluate\"], \"timeout_ms\": 100}}",
            TOOLS(MOCK("t", "null")),
            TOOLS(TOOL("t",
                       "\"version\": \"1.0.0-a+b\", \"tags\": \"a,b\", \"purpose\": \"p\", "
                       "\"scenarios\": "
                       "[\"s\"], \"deprecated\": \"d\", \"permission\": "
                       "\"safe\", \"priority\": -5, \"deadline_ms\": 1,",
                       "\"type\": \"builtin\", \"handler\": \"echo\"")),
            TOOLS(TOOL("t", "\"handler\": \"x\",", "\"type\": \"internal\"")),
            "{\"tools\": [" NATIVE_COS "]}",
    };
    static const char *const bad[] = {
            "[]",
            "{\"folder\": []}",
            "{\"folders\": [3]}",
            "{\"folders\": [{\"pth\": \"/a\"}]}",
            "{\"deadline_ms\": 0}",
            "{\"duplicates\": true}",
            "{\"arguments\": \"loose\"}",
            "{\"arguments_of\": {\"formats\": {\"grok\": \"lax\"}}}",
            "{\"plugins\": {\"p\": 1}}",
            "{\"paths\": {\"w\": \"w\"}}",
            "{\"policies\": {\"p\": {\"workers\": 257}}}",
            "{\"policies\": {\"p\": {\"allow\": [\"reads\"]}}}",
            "{\"tools\": {}}",
            "{\"policies\": {\"p\": {\"network_namespace\": 1}}}",
            "{\"pin\": 1}",
            "{\"choose\": {\"scenes\": {\"Fleet\": {\"words\": [\"truck\"]}}}}",
            "{\"choose\": {\"scenes\": {\"fleet\": {\"words\": [\"truck,lorry\"]}}}}",
            "{\"choose\": {\"scenes\": {\"fleet\": {}}}}",
            "{\"choose\": {\"endpoint\": \"http://127.0.0.1:1\"}}",
            "{\"choose\": {\"endpoint\": \"file:///x\", \"model\": \"m\"}}",
            "{\"log\": 30}",
            "{\"log\": {\"days\": 0}}",
            "{\"log\": {\"days\": 36501}}",
            "{\"log\": {\"megabytes\": 1.5}}",
            "{\"log\": {\"weeks\": 4}}",
            TOOLS("5"),
            TOOLS("{}"),
            TOOLS(MOCK("9", "1")),
            TOOLS(TOOL("t", "\"permision\": 1,", "\"type\": \"mock\", \"mock_response\": 1")),
            TOOLS(TOOL("t", "", "\"type\": \"mock\"")),
            TOOLS(TOOL("t", "", "\"type\": \"http\"")),
            TOOLS(TOOL("t", "", "\"type\": \"mock\", \"mock_response\": 1, \"x\": 1")),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = check(good[i]);
        if (errors_of(findings) != 0 || !schema_takes(good[i])) {
            fail_msg("%s: %s", good[i],
                     errors_of(findings) == 0 ? "the schema refuses it"
                                              : toolrack_findings_get(findings, 0)->cause);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = check(bad[i]);
        if (errors_of(findings) == 0 || schema_takes(bad[i])) {
            fail_msg("%s is taken", bad[i]);
        }
        for (size_t j = 0; j < toolrack_findings_count(findings); j++) {
            assert_string_not_equal(toolrack_findings_get(findings, j)->rule, "config-schema");
        }
    }
}

/* ----------------------------------------------------------------------- memory */

#define ALLOCATIONS_MAX 5000

static const char memory_text[] =
        "{\"duplicate\": 1, \"pin\": 3, \"tools\": [" MOCK("weather", "{\"a\": [1]}") "," TOOL(
                "up", "",
                "\"type\": \"internal\", \"handler\": \"counter\"") "," NATIVE_COS
                                                                    "," MOCK(
                                                                            "weather",
                                                                            "2") "," TOOL("t",
                                                                                          "\"tags"
                                                                                          "\": "
                                                                                          "[\"a\","
                                                                                          " \"b\"]"
                                                                                          ", "
                                                                                          "\"permi"
                                                                                          "sion\":"
                                                                                          " 1,",
                                                                                          "\"type"
                                                                                          "\": "
                                                                                          "\"built"
                                                                                          "in\", "
                                                                                          "\"handl"
                                                                                          "er\": "
                                                                                          "\"ech"
                                                                                          "\"") "]"
                                                                                                "}";

/* A choice that nothing satisfies is found wherever a schema has schemas, but under `not`. */
static void check_looks_at_each_schema(void **state) {
    (void)state;
    static const struct {
        const char *before;
        const char *after;
        bool found;
    } rows[] = {
            {"\"properties\": {\"a\": ", "}", true},
            {"\"properties\": {\"a\": {\"items\": ", "}}", true},
            {"\"properties\": {\"a\": {\"prefixItems\": [", "]}}", true},
            {"\"properties\": {\"a\": {\"contains\": ", "}}", true},
            {"\"properties\": {\"a\": {\"anyOf\": [{}, ", "]}}", true},
            {"\"properties\": {\"a\": {\"oneOf\": [", "]}}", true},
            {"\"properties\": {\"a\": {\"allOf\": [{\"items\": ", "}]}}", true},
            {"\"additionalProperties\": ", "", true},
            {"\"unevaluatedProperties\": ", "", true},
            {"\"patternProperties\": {\"^x\": ", "}", true},
            {"\"$defs\": {\"A\": ", "}", true},
            {"\"definitions\": {\"A\": {\"properties\": {\"b\": ", "}}}", true},
            {"\"dependentSchemas\": {\"a\": {\"properties\": {\"b\": ", "}}}", true},
            {"\"if\": {\"properties\": {\"a\": ", "}}", true},
            {"\"then\": {\"properties\": {\"a\": ", "}}", true},
            {"\"else\": {\"properties\": {\"a\": ", "}}", true},
            {"\"properties\": {\"a\": {\"not\": ", "}}", false},
            {"\"properties\": {\"a\": {\"default\": ", "}}", false},
            {"\"properties\": {\"a\": {\"enum\": [", "]}}", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       TOOLS("{\"name\": \"t\", \"description\": \"d\", \"type\": \"function\", "
                             "\"parameters\": {\"type\": \"object\", %s{\"type\": \"string\", "
                             "\"enum\": [1]}%s}, \"implementation\": {\"type\": \"builtin\", "
                             "\"handler\": \"echo\"}}"),
                       rows[i].before, rows[i].after);
        CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = check(text);
        bool found = false;
        for (size_t k = 0; k < toolrack_findings_count(findings); k++) {
            found = found || strcmp(toolrack_findings_get(findings, k)->rule, "schema-choice") == 0;
        }
        if (found != rows[i].found) {
            fail_msg("%s", text);
        }
    }
}

static int check_once(const char *path, struct toolrack_error *err) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    return toolrack_check(path, &findings, err);
}

static int open_once(const char *path, struct toolrack_error *err) {
    static int count;
    const struct toolrack_service service = {.name = "counter", .run = count_up, .user = &count};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    CLEANUP(toolrack_closep) struct toolrack *host = NULL;
    options.config_file = path;
    options.state_dir = "";
    options.no_scan = true;
    int code = toolrack_open(&options, &host, err);
    return code < 0 ? code : toolrack_add_service(host, &service, err);
}

static void fails_well(const char *text,
                       int (*body)(const char *path, struct toolrack_error *err)) {
    char path[64];
    CLEANUP(closep) int fd = -1;
    bool hit = true;
    make_file(text, &fd, path);
    for (unsigned n = 1; hit; n++) {
        struct toolrack_error err = {0};
        failing_malloc_set(n);
        int code = body(path, &err);
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(n < ALLOCATIONS_MAX);
        assert_true(code == 0 || (hit && code == TOOLRACK_E_NO_MEMORY));
        assert_int_equal(err.code, code);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    fails_well(memory_text, check_once);
    fails_well(strstr(memory_text, "\"tools\""), check_once); /* no JSON */
    char text[sizeof memory_text];
    (void)snprintf(text, sizeof text, "{%s", strstr(memory_text, "\"tools\""));
    fails_well(text, open_once);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_generators_write_is_called),
            cmocka_unit_test(a_mock_answers_as_it_is_told),
            cmocka_unit_test(arguments_are_checked_before_it_answers),
            cmocka_unit_test(nothing_but_what_is_listed_is_said_with_not),
            cmocka_unit_test(builtin_functions_run),
            cmocka_unit_test(the_handler_of_the_implementation_runs),
            cmocka_unit_test(a_function_of_a_library_runs),
            cmocka_unit_test(a_service_of_the_app_runs_with_what_is_its_own),
            cmocka_unit_test(mocks_and_builtins_return_by_themselves),
            cmocka_unit_test(a_service_that_comes_later_brings_its_tools),
            cmocka_unit_test(two_services_of_one_name_are_an_error),
            cmocka_unit_test(http_is_refused_and_registers_nothing),
            cmocka_unit_test(types_of_other_languages_are_taken_for_those_of_json_schema),
            cmocka_unit_test(what_is_not_checked_is_told),
            cmocka_unit_test(what_a_schema_was_meant_to_say_is_told),
            cmocka_unit_test(a_wrong_definition_is_left_out_and_the_start_goes_on),
            cmocka_unit_test(a_definition_says_what_a_plugin_would),
            cmocka_unit_test(the_first_of_two_stays_and_a_free_name_is_told),
            cmocka_unit_test(a_taken_name_is_not_suggested),
            cmocka_unit_test(with_replace_the_last_wins_with_a_warning),
            cmocka_unit_test(another_version_is_no_duplicate),
            cmocka_unit_test(safe_mode_leaves_them_out),
            cmocka_unit_test(check_tells_each_error_with_its_place),
            cmocka_unit_test(check_says_of_definitions_what_the_start_would),
            cmocka_unit_test(a_function_of_a_library_says_it_too),
            cmocka_unit_test(a_function_of_which_too_much_is_said_is_left_out),
            cmocka_unit_test(what_is_not_told_is_counted),
            cmocka_unit_test(an_object_without_end_is_wrong_once),
            cmocka_unit_test(check_finds_duplicates),
            cmocka_unit_test(check_looks_at_each_schema),
            cmocka_unit_test(the_schema_agrees),
            cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("definition", tests, NULL, NULL);
}
