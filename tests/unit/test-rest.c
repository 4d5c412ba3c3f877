/* REST without a transport: targets, the table of routes, the document that is made of it, and
 * what routes answer to whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "failing-malloc.h"
#include "gate.h"
#include "mcp-client.h"
#include "provider.h"
#include "remove-tree.h"
#include "serve/rest/openapi.h"
#include "serve/rest/problem.h"
#include "serve/rest/rest.h"
#include "serve/rest/routes.h"
#include "serve/rest/schemas.h"
#include "serve/rest/server.h"
#include "serve/rest/target.h"
#include "serve/rest/told.h"
#include "toolrack/choose.h"
#include "toolrack/plugin.h"
#include "toolrack/serving.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

/* ---------------------------------------------------------------- targets */

/* A target as text: its segments and parameters; or what is wrong with it. */
static const char *show(const char *text) {
    static char shown[512];
    static char room[TARGET_LENGTH_MAX + 1];
    struct target target;
    const char *problem = target_read(text, room, &target);
    size_t length = 0;
    shown[0] = '\0';
    for (size_t i = 0; problem == NULL && i < target.segment_count; i++) {
        length +=
                (size_t)snprintf(shown + length, sizeof shown - length, "/%s", target.segments[i]);
    }
    for (size_t i = 0; problem == NULL && i < target.parameter_count; i++) {
        length += (size_t)snprintf(shown + length, sizeof shown - length, " %s=%s",
                                   target.parameters[i].name, target.parameters[i].value);
    }
    return problem != NULL ? problem : shown;
}

static void targets_are_taken_apart(void **state) {
    (void)state;
    assert_string_equal(show("/api/tools"), "/api/tools");
    assert_string_equal(show("/api/tools/a%20b%2Fc"), "/api/tools/a b/c");
    assert_string_equal(show("/api?a=1&b=x+y%26&&c"), "/api a=1 b=x y& c=");
    assert_string_equal(show("/api/%C3%A4?=&d=%C3%A4"), "/api/ä = d=ä");
    assert_string_equal(show("http://localhost:1/api/tools?a=b"), "/api/tools a=b");
    assert_string_equal(show("/a+b?c=?/"), "/a+b c=?/");
}

static void what_can_be_read_in_two_ways_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *target;
        const char *word;
    } rows[] = {{"api", "begin"},
                {"", "begin"},
                {"/api//tools", "empty"},
                {"/api/tools/", "empty"},
                {"/api/../tools", "'..'"},
                {"/api/%2e%2E", "'..'"},
                {"/api/%", "%-"},
                {"/api/%4", "%-"},
                {"/api/%zz", "%-"},
                {"/api/%00", "control"},
                {"/api/a%0d%0a", "control"},
                {"/api/%ff", "UTF-8"},
                {"/api?a=1&a=2", "twice"},
                {"/api?a=%c3", "UTF-8"},
                {"/api#x", "fragment"},
                {"/api?a=1#x", "fragment"},
                {"/api?#", "fragment"},
                {"/1/2/3/4/5/6/7/8/9", "too many"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        if (strstr(show(rows[i].target), rows[i].word) == NULL) {
            fail_msg("%s gave %s", rows[i].target, show(rows[i].target));
        }
    }
}

/* ------------------------------------------------------------------ the table */

/* The path of a route with something in place of its braces. */
static const char *filled(const struct route *route) {
    static char path[256];
    size_t length = 0;
    bool inside = false;
    for (const char *at = route->path; *at != '\0'; at++) {
        inside = inside || *at == '{';
        if (!inside || *at == '{') {
            path[length++] = *at == '{' ? 'x' : *at;
        }
        inside = inside && *at != '}';
    }
    path[length] = '\0';
    return path;
}

static void every_route_is_found_by_its_path(void **state) {
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        char room[TARGET_LENGTH_MAX + 1];
        char allow[FRONT_ALLOW_ROOM];
        struct target target;
        assert_null(target_read(filled(&routes[i]), room, &target));
        const struct route *found = routes_find(routes[i].method, &target, allow);
        if (found != &routes[i]) {
            fail_msg("%s %s is hidden by %s", routes[i].method, filled(&routes[i]),
                     found != NULL ? found->path : "nothing");
        }
        assert_null(routes_find("TRACE", &target, allow));
        assert_non_null(strstr(allow, routes[i].method));
        assert_non_null(strstr(allow, "OPTIONS"));
    }
}

static bool has_schema(const char *name) {
    for (size_t i = 0; i < schema_count; i++) {
        if (strcmp(schemas[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void every_route_says_all_of_itself(void **state) {
    (void)state;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        assert_non_null(route->handle);
        assert_true(strlen(route->summary) > 0 && route->status >= 200 && route->status < 300);
        if (route->response == NULL || !has_schema(route->response)) {
            fail_msg("%s has no schema of its answer", route->operation);
        }
        bool has_stream = (route->flags & (ROUTE_EVENTS | ROUTE_EVENTS_ONLY)) != 0;
        assert_int_equal(has_stream, route->event != NULL && has_schema(route->event));
        for (const char *at = route->failures; *at != '\0';) {
            size_t length = strcspn(at, " ");
            assert_int_not_equal(problem_status_of(at, length), 0);
            at += length + (at[length] == ' ');
        }
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(route->operation, routes[k].operation);
        }
    }
}

static void the_document_is_made_of_the_table(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    openapi_write(&out, FRONT_ADMIN);
    assert_false(out.failed);
    yyjson_read_err err;
    yyjson_doc *doc = yyjson_read_opts(out.data, out.length, 0, NULL, &err);
    if (doc == NULL) {
        fail_msg("%s at %.60s", err.msg, out.data + err.pos);
    }
    yyjson_val *paths = yyjson_obj_get(yyjson_doc_get_root(doc), "paths");
    for (size_t i = 0; i < route_count; i++) {
        char method[8] = "";
        for (size_t k = 0; routes[i].method[k] != '\0'; k++) {
            method[k] = (char)(routes[i].method[k] | 0x20);
        }
        yyjson_val *operation = yyjson_obj_get(yyjson_obj_get(paths, routes[i].path), method);
        assert_string_equal(yyjson_get_str(yyjson_obj_get(operation, "operationId")),
                            routes[i].operation);
    }
    yyjson_doc_free(doc);
}

static void every_error_has_a_status(void **state) {
    (void)state;
    static const int codes[] = {
#define CODE(constant, value, name, recoverable) TOOLRACK_E_##constant,
            TOOLRACK_CODES(CODE)
#undef CODE
    };
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
        const char *name = toolrack_code_name(codes[i]);
        unsigned status = problem_status_of(name, strlen(name));
        assert_true(status >= 400 && status < 600);
        assert_int_equal(problem_status(&(struct toolrack_error){.code = codes[i]}), status);
    }
    /* Of a call that has begun, nobody is told to come again. */
    struct toolrack_error limit = {.code = TOOLRACK_E_LIMIT_EXCEEDED};
    assert_int_equal(problem_status(&limit), 429);
    limit.begun = true;
    assert_int_equal(problem_status(&limit), 422);
    limit = (struct toolrack_error){.code = TOOLRACK_E_LIMIT_EXCEEDED, .from_tool = true};
    assert_int_equal(problem_status(&limit), 422);
}

/* ------------------------------------------------------------------- the server */

static struct toolrack *host;
static struct front *front;
static char folder[64];
static const struct principal caller = {.id = "token:1", .permissions = ~0u};
static const struct principal admin = {.id = "uid:0", .permissions = ~0u, .admin = true};

#define TOOL(name, more)                                                                         \
    "{\"name\": \"" name "\", \"type\": \"function\", \"description\": \"Gives " name "\"," more \
    "\"parameters\": {\"type\": \"object\", \"properties\": {}}, \"implementation\": {"          \
    "\"type\": \"mock\", \"mock_response\": {\"a\": 1}}}"
#define LOW    TOOL("low", "\"priority\": 1, \"category\": \"c\", \"tags\": [\"t\"],")
#define HIGH   TOOL("high", "\"priority\": 9,")
#define MIDDLE TOOL("middle", "\"priority\": 5,")
#define FEW    "{\"profiles\": {\"few\": {\"tools\": [\"middle\"]}}}"

static const char config[] = "{\"serve\": " FEW ", \"tools\": [" LOW "," HIGH "," MIDDLE "]}";

static void open_with(const char *text) {
    char file[128];
    char dir[128];
    (void)snprintf(folder, sizeof folder, "/tmp/toolrack-rest-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof file, "%s/toolrack.json", folder);
    (void)snprintf(dir, sizeof dir, "%s/state", folder);
    FILE *stream = fopen(file, "we");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err = {0};
    options.config_file = file;
    options.state_dir = dir;
    options.no_scan = 1;
    if (toolrack_open(&options, &host, &err) < 0) {
        fail_msg("%s", err.message);
    }
    const struct rest_options serving = {.host = host};
    assert_int_equal(rest_create(&serving, &front, &err), 0);
}

static int setup(void **state) {
    (void)state;
    open_with(config);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    rest_destroy(front);
    toolrack_close(host);
    return remove_tree(folder);
}

/* What comes back for a request. */
static struct talk *ask(const struct principal *principal, const char *method, const char *target,
                        const char *body, const char *tag) {
    static struct talk talk;
    struct front_route route;
    talk_init(&talk);
    assert_true(front->calls->find(front, method, target, &route));
    if (route.route == NULL) {
        fail_msg("%s %s is refused with %u", method, target, route.status);
    }
    const struct front_request request = {.route = route.route,
                                          .target = target,
                                          .id = "r-1",
                                          .if_none_match = tag,
                                          .body = talk.text = strdup(body != NULL ? body : ""),
                                          .length = body != NULL ? strlen(body) : 0};
    front->calls->receive(front, principal, &request, &talk.exchange);
    (void)talk_wait(&talk);
    assert_int_equal(talk.finishes, 1);
    return &talk;
}

static void expect(const struct principal *principal, const char *target, int status,
                   const char *pattern) {
    struct talk *talk = ask(principal, "GET", target, NULL, NULL);
    if (talk->status != status) {
        fail_msg("%s gave %d %s", target, talk->status, talk->answer);
    }
    assert_matches(talk->answer, pattern);
    talk_finish(talk);
}

static void tools_are_listed_by_priority(void **state) {
    (void)state;
    expect(&caller, "/api/tools", 200,
           "{\"tools\":[{\"id\":\"high\",\"uid\":*,\"name\":\"high\",*\"description\":\"Gives "
           "high\",\"enabled\":true,\"priority\":9,*},{\"id\":\"middle\",*},{\"id\":\"low\",*}]}");
    expect(&caller, "/api/tools?tag=t&category=c&name=low&enabled=true", 200,
           "{\"tools\":[{\"id\":\"low\",*}]}");
    expect(&caller, "/api/tools?name=nothing", 200, "{\"tools\":[]}");
    expect(&caller, "/api/tools?name=*ow", 200, "{\"tools\":[{\"id\":\"low\"*}]}");
    expect(&caller, "/api/tools?name=l*@%5E1", 200, "{\"tools\":[{\"id\":\"low\"*}]}");
    expect(&caller, "/api/tools?name=l*@%5E2", 200, "{\"tools\":[]}");
    expect(&caller, "/api/tools?state=failed", 200, "{\"tools\":[]}");
}

static void no_tools_are_an_empty_list(void **state) {
    (void)state;
    (void)teardown(NULL);
    open_with("{}");
    expect(&caller, "/api/tools", 200, "{\"tools\":[]}");
}

static void a_toggle_is_seen_by_the_next_request(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        bool on = round % 2 == 1;
        struct toolrack_error err = {0};
        assert_int_equal(toolrack_set_enabled(host, "low", on, NULL, &err), 0);
        expect(&caller, "/api/tools", 200,
               on ? "*\"id\":\"low\",*\"enabled\":true,*" : "*\"id\":\"low\",*\"enabled\":false,*");
        expect(&caller, "/api/tools?enabled=false", 200,
               on ? "{\"tools\":[]}" : "{\"tools\":[{\"id\":\"low\",*}]}");
    }
}

static void what_is_as_it_was_is_not_sent_again(void **state) {
    (void)state;
    static const char *const targets[] = {"/api/tools", "/api/tools?tag=t", "/api/tools/low",
                                          "/api/openapi.json", "/api/export/openai"};
    for (size_t i = 0; i < ARRAY_LENGTH(targets); i++) {
        struct talk *talk = ask(&caller, "GET", targets[i], NULL, NULL);
        char tag[64];
        assert_int_equal(sscanf(talk->fields, "ETag: %63[^\r]", tag), 1);
        assert_non_null(strstr(talk->fields, "Cache-Control: no-cache\r\n"));
        talk_finish(talk);
        char list[128];
        (void)snprintf(list, sizeof list, "\"x\", W/%s", tag);
        talk = ask(&caller, "GET", targets[i], NULL, list);
        assert_int_equal(talk->status, 304);
        assert_null(talk->answer);
        talk_finish(talk);
        assert_int_equal(toolrack_set_priority(host, "low", 100 + (int)i, NULL, NULL), 0);
        talk = ask(&caller, "GET", targets[i], NULL, tag);
        bool is_about_tools = strstr(targets[i], "openapi") == NULL;
        assert_int_equal(talk->status, is_about_tools && strstr(targets[i], "export") == NULL ? 200
                                       : is_about_tools ? talk->status
                                                        : 304);
        talk_finish(talk);
    }
}

static void an_unknown_tool_is_not_found(void **state) {
    (void)state;
    expect(&caller, "/api/tools/xxx", 404,
           "{\"type\":\"urn:toolrack:error:NotFound\",\"title\":\"Not found\",\"status\":404,"
           "\"detail\":\"Tool 'xxx' not found\",\"error\":{\"type\":\"NotFound\",\"message\":*"
           "\"tool_name\":\"xxx\"}}");
    expect(&caller, "/api/tools/hgih", 404,
           "*\"detail\":\"Tool 'hgih' not found\",*\"suggestions\":[\"high\"]}");
    expect(&caller, "/api/tools/low@%5E9", 404, "*\"detail\":\"Tool 'low@^9' not found\",*it has*");
    expect(&admin, "/api/statistics?tool=xxx", 404, "*\"detail\":\"Tool 'xxx' not found\"*");
}

static void a_principal_sees_its_part_of_the_tools(void **state) {
    (void)state;
    static const char *const list[] = {"low", NULL};
    const struct principal profiled = {.id = "token:2", .permissions = ~0u, .profile = "few"};
    const struct principal listed = {.id = "token:3", .permissions = ~0u, .allow = list};
    const struct principal lost = {.id = "token:4", .permissions = ~0u, .profile = "gone"};
    expect(&profiled, "/api/tools", 200, "{\"tools\":[{\"id\":\"middle\",*}]}");
    expect(&listed, "/api/tools", 200, "{\"tools\":[{\"id\":\"low\",*}]}");
    expect(&listed, "/api/tools/low", 200, "{\"id\":\"low\",*");
    /* Nothing tells a tool that it is not shown from one that is not there. */
    expect(&listed, "/api/tools/high", 404,
           "*\"message\":\"Tool 'high' not found; GET /api/tools shows what there is\"*");
    expect(&listed, "/api/tools/hgih", 404,
           "*\"message\":\"Tool 'hgih' not found; GET /api/tools shows what there is\"*");
    expect(&profiled, "/api/export/openai", 200,
           "{\"definitions\":[{*middle*}],\"report\":[{\"tool\":\"middle\",*}]}");
    expect(&listed, "/api/export/mcp?allow=low,high", 200,
           "{\"definitions\":[{\"name\":\"low\",*}],\"report\":[]}");
    expect(&listed, "/api/recommend", 200, "{\"recommendations\":[{\"tool\":\"low\",*}]}");
    expect(&lost, "/api/tools", 404, "*no profile of the name gone*");
}

static void a_query_is_as_the_route_says(void **state) {
    (void)state;
    expect(&caller, "/api/tools?foo=1", 400, "*there is no parameter 'foo'*");
    expect(&caller, "/api/tools?enabled=1", 400, "*must be true or false, not '1'*");
    expect(&caller, "/api/recommend?limit=-1", 400,
           "*the parameter 'limit' must be a whole number from 1 to 1000000000, not '-1'*");
    expect(&caller, "/api/recommend?limit=99999999999999999999", 400, "*a whole number*");
    expect(&admin, "/api/log?outcomes=ok,Timeout", 200, "{\"calls\":[]}");
    expect(&admin, "/api/log?outcomes=ok,timeout", 400, "*there is no outcome 'timeout'*");
    expect(&admin, "/api/log?outcomes=", 400, "*there is no outcome ''*");
    expect(&caller, "/api/tools?permission=any", 400, "*safe|confirm|dangerous*");
    expect(&caller, "/api/openapi.json?a", 400, "*of this route are: none*");
    expect(&caller, "/api/export/klingon", 404, "*klingon*");
    expect(&admin, "/api/lists/redlist", 404, "*whitelist and blacklist*");
    expect(&admin, "/api/log/x", 400, "*");
    expect(&admin, "/api/log/77", 404, "*there is no call 77*");
    expect(&admin, "/api/plugins/nothing", 404, "*NotFound*");
}

static void each_number_has_its_bounds(void **state) {
    (void)state;
    unsigned found = 0;
    for (size_t i = 0; i < route_count; i++) {
        const struct field *field = routes[i].query;
        for (; field != NULL && field->name != NULL; field++) {
            char target[128];
            char pattern[128];
            unsigned long long most = field_most(field);
            if (field->type != FIELD_INTEGER) {
                continue;
            }
            (void)snprintf(pattern, sizeof pattern,
                           "*'%s' must be a whole number from %llu to %llu*", field->name,
                           (unsigned long long)field->least, most);
            (void)snprintf(target, sizeof target, "%s?%s=%llu", filled(&routes[i]), field->name,
                           most + 1);
            struct talk *talk = ask(&admin, routes[i].method, target, NULL, NULL);
            assert_int_equal(talk->status, 400);
            assert_matches(talk->answer, pattern);
            talk_finish(talk);
            /* What would be none at all, or all, is not taken for another number. */
            bool is_count = strcmp(field->name, "limit") == 0 || strcmp(field->name, "budget") == 0;
            (void)snprintf(target, sizeof target, "%s?%s=0", filled(&routes[i]), field->name);
            talk = ask(&admin, routes[i].method, target, NULL, NULL);
            assert_true(!is_count || talk->status == 400);
            talk_finish(talk);
            found++;
        }
    }
    assert_true(found > 8);
}

static void the_log_comes_in_pages(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct toolrack_result *result = NULL;
        assert_int_equal(toolrack_call(host, "low", "{}", NULL, &result, NULL), 0);
        toolrack_result_free(result);
    }
    expect(&admin, "/api/log?limit=2", 200, "{\"calls\":[{\"id\":4,*},{\"id\":5,*}]}");
    expect(&admin, "/api/log?limit=2&before=4", 200, "{\"calls\":[{\"id\":2,*},{\"id\":3,*}]}");
    expect(&admin, "/api/log?limit=2&before=2", 200, "{\"calls\":[{\"id\":1,*}]}");
    expect(&admin, "/api/log?tool=high", 200, "{\"calls\":[]}");
    expect(&admin, "/api/log/3", 200, "{\"id\":3,\"tool\":\"low\",*");
    expect(&admin, "/api/statistics?tool=low", 200,
           "{\"statistics\":[{\"tool\":\"low\",*\"calls\":5,*}]}");
}

static void calls_have_results_and_failures(void **state) {
    (void)state;
    static const struct {
        const char *target;
        const char *body;
        int status;
        const char *pattern;
    } rows[] = {
            {"/api/tools/low/call", "{}", 200, "{\"result\":{\"a\":1},\"duration_ns\":*}"},
            {"/api/tools/low/call", NULL, 200, "{\"result\":{\"a\":1},*"},
            {"/api/tools/low/call", "[]", 422, "*\"type\":\"InvalidArguments\"*"},
            {"/api/tools/low/call?timeout_ms=99999999999", "{}", 400,
             "*from 1 to 86400000, not '99999999999'*"},
            {"/api/feedback", "{\"tool\":\"low\",\"feedback\":\"good\",\"call\":0}", 400,
             "*the member 'call' must be a whole number from 1 to *"},
            {"/api/tokens", "{\"name\":\"t\",\"expires_s\":18446744073709551615}", 400,
             "*the member 'expires_s' must be a whole number from 1 to *"},
            {"/api/tools/no/call", "{}", 404, "*\"detail\":\"Tool 'no' not found\"*"},
            {"/api/answer?format=openai", "{\"role\":\"assistant\",\"content\":\"\"}", 200,
             "{\"messages\":[]}"},
            {"/api/answer", "{}", 400, "*lacks 'format'*"},
            {"/api/answer?format=ollama&allow=middle,low,none",
             "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"high\"}},"
             "{\"function\":{\"name\":\"low\",\"arguments\":{\"a\":2}}}]}",
             200,
             "{\"messages\":[{*\"tool_name\":\"high\",\"content\":\"NotFound: *\"},{*\"tool_name\":"
             "\"low\",\"content\":\"{*}\"}]}"},
            {"/api/answer?format=ollama&allow=",
             "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"low\"}}]}", 200,
             "{\"messages\":[{*\"content\":\"NotFound: *\"}]}"},
            {"/api/answer?format=gemini&model=gemini-3-pro", "{\"parts\":[]}", 200,
             "{\"messages\":[]}"},
            {"/api/grants", "{\"tool\":1}", 400, "*the member 'tool' must be a string*"},
            {"/api/grants", "{\"seconds\":1}", 400, "*the member 'tool' is missing*"},
            {"/api/grants", "{\"tool\":\"low\",\"x\":1}", 400, "*there is no member 'x'*"},
            {"/api/grants", "{", 400, "*the body is no JSON object: *"},
            {"/api/tokens", "{\"name\":\"t\",\"tools\":[1]}", 400, "*an array of strings*"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct talk *talk = ask(&admin, "POST", rows[i].target, rows[i].body, NULL);
        if (talk->status != rows[i].status) {
            fail_msg("%s %s gave %d %s", rows[i].target, rows[i].body, talk->status, talk->answer);
        }
        assert_matches(talk->answer, rows[i].pattern);
        talk_finish(talk);
    }
}

static void a_scope_that_is_missing_is_told(void **state) {
    (void)state;
    const struct principal nothing = {.id = "oauth:a b", .permissions = 0};
    struct talk *talk = ask(&nothing, "POST", "/api/tools/low/call", "{}", NULL);
    assert_int_equal(talk->status, 403);
    assert_matches(talk->answer, "*\"type\":\"PermissionDenied\"*the permission safe*");
    talk_finish(talk);
    talk = ask(&nothing, "POST", "/api/answer?format=mcp", "{}", NULL);
    assert_int_equal(talk->status, 403);
    talk_finish(talk);
    expect(&nothing, "/api/recommend", 200, "{\"recommendations\":[]}");
}

static void choose_with(const char *body, int status, const char *pattern) {
    struct talk *talk = ask(&caller, "POST", "/api/select", body, NULL);
    if (talk->status != status) {
        fail_msg("%.80s gave %d %s", body, talk->status, talk->answer);
    }
    assert_matches(talk->answer, pattern);
    talk_finish(talk);
}

static void what_a_choice_is_asked_with_is_checked(void **state) {
    (void)state;
    choose_with("{\"text\":\"a text\",\"limit\":1.0,\"context\":null}", 200, "{\"id\":\"*");
    choose_with("{\"text\":\"a text\",\"limit\":1.5}", 400, "*'limit' must be a whole number*");
    choose_with("{\"text\":\"a text\",\"limit\":-1.0}", 400, "*'limit' must be a whole number*");
    choose_with("{\"text\":\"a\\u0000text\"}", 400,
                "*'text' must be a string, without the character U+0000*");
    size_t length = TOOLRACK_SELECT_CONTEXT_MAX;
    CLEANUP(buf_finish) struct buf body = BUF_INIT;
    buf_add_text(&body, "{\"text\":\"a text\",\"context\":{\"results\":[\"");
    for (size_t i = 0; i < length; i++) {
        buf_add_char(&body, 'a');
    }
    buf_add_text(&body, "\"]}}");
    choose_with(body.data, 400, "*\"type\":\"Invalid\"*the context has *");
}

static void note(const struct principal *principal, const char *id, const char *tool, int status,
                 const char *pattern) {
    char target[64];
    char body[64];
    (void)snprintf(target, sizeof target, "/api/select/%s", id);
    (void)snprintf(body, sizeof body, "{\"tool\":\"%s\"}", tool);
    struct talk *talk = ask(principal, "POST", target, body, NULL);
    if (talk->status != status) {
        fail_msg("%s gave %d %s", tool, talk->status, talk->answer);
    }
    assert_matches(talk->answer, pattern);
    talk_finish(talk);
}

/* Saying which tool is right tells of none that the principal is not shown, and is no voice for it.
 */
static void what_is_right_is_among_what_is_shown(void **state) {
    (void)state;
    static const char *const list[] = {"low", NULL};
    const struct principal listed = {.id = "token:3", .permissions = ~0u, .allow = list};
    const struct principal nothing = {.id = "token:3", .permissions = 0, .allow = list};
    char id[17] = "";
    struct talk *talk = ask(&listed, "POST", "/api/select", "{\"text\":\"a text\"}", NULL);
    assert_matches(talk->answer, "{\"id\":\"*");
    memcpy(id, talk->answer + strlen("{\"id\":\""), sizeof id - 1);
    talk_finish(talk);
    note(&listed, id, "low", 200, "*\"tool\":\"low\"*");
    note(&listed, id, "high", 404, "*Tool 'high' not found; GET /api/tools shows what there is*");
    note(&listed, id, "hgih", 404, "*Tool 'hgih' not found; GET /api/tools shows what there is*");
    note(&nothing, id, "low", 403, "*\"type\":\"PermissionDenied\"*");
    note(&listed, id, "", 200, "*\"tool\":null*");
    note(&caller, id, "high", 404, "*there is no choice*");
    note(&caller, id, "hgih", 404, "*did you mean*high*");
}

static void tools_of_others_do_not_fill_a_recommendation(void **state) {
    (void)state;
    (void)teardown(NULL);
    open_with("{\"tools\": [" HIGH "," TOOL("polls", "\"permission\": \"confirm\",") "]}");
    const struct principal confirms = {.id = "oauth:a b",
                                       .permissions = 1u << TOOLRACK_PERMISSION_CONFIRM};
    assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_WHITELIST, "high", true, NULL, NULL, NULL),
                     0);
    expect(&caller, "/api/recommend?limit=1", 200, "{\"recommendations\":[{\"tool\":\"high\",*}]}");
    expect(&confirms, "/api/recommend?limit=1", 200,
           "{\"recommendations\":[{\"tool\":\"polls\",*}]}");
}

/* Whose token is for calls is told what to ask a person for, and not where the host's files are;
 * who is at the machine, or administers the host, is told what to execute. */
static void places_are_for_who_can_use_them(void **state) {
    (void)state;
    (void)teardown(NULL);
    open_with("{\"tools\": [" TOOL("asks", "\"permission\": \"confirm\",") "," TOOL(
            "breaks", "\"permission\": \"dangerous\",") "," TOOL("refused",
                                                                 "\"version\": \"x\",") "]}");
    static const struct principal remote = {.id = "oauth:a b", .permissions = ~0u};
    static const struct principal local = {.id = "session:1", .permissions = ~0u};
    static const struct principal owner = {.id = "token:9", .permissions = ~0u, .admin = true};
    const struct principal *const who[] = {&caller, &remote, &local, &owner, &admin};
    const struct {
        const char *method;
        const char *target;
        const char *command;
    } rows[] = {
            {"POST", "/api/tools/asks/call", "*: toolrack*approvals allow *"},
            {"POST", "/api/tools/breaks/call", "*: toolrack*grant breaks*"},
            {"POST", "/api/answer?format=mcp", "*: toolrack*grant breaks*"},
            {"POST", "/api/tools/refused/call", "*Tool 'refused' *"},
            {"GET", "/api/tools/breaks", "*\"breaks\"*"},
            {"GET", "/api/tools", "*\"breaks\"*"},
    };
    static const char message[] = "{\"method\":\"tools/call\",\"id\":1,\"jsonrpc\":\"2.0\","
                                  "\"params\":{\"name\":\"breaks\",\"arguments\":{}}}";
    for (size_t i = 0; i < ARRAY_LENGTH(who); i++) {
        for (size_t row = 0; row < ARRAY_LENGTH(rows); row++) {
            const char *body = strstr(rows[row].target, "answer") != NULL ? message : "{}";
            struct talk *talk = ask(who[i], rows[row].method, rows[row].target,
                                    rows[row].method[0] == 'P' ? body : NULL, NULL);
            assert_matches(talk->answer, rows[row].command);
            bool is_told = strstr(talk->answer, folder) != NULL;
            bool has_places = row < ARRAY_LENGTH(rows) - 1; /* not the list: nothing is wrong */
            if (is_told != (i >= 2 && has_places)) {
                fail_msg("%s of %s: %s", rows[row].target, who[i]->id, talk->answer);
            }
            talk_finish(talk);
        }
    }
}

/* ------------------------------------------------------------- much at one time */

#define MANY 16

static struct talk talks[MANY];

static void begin_after(struct talk *talk, const char *method, const char *target,
                        const char *prefer, bool is_stream, const char *last) {
    struct front_route route;
    talk_init(talk);
    assert_true(front->calls->find(front, method, target, &route));
    const struct front_request request = {.route = route.route,
                                          .target = target,
                                          .id = "r-2",
                                          .prefer = prefer,
                                          .prefers_events = is_stream,
                                          .last_event_id = last,
                                          .body = talk->text = strdup(""),
                                          .length = 0};
    front->calls->receive(front, &admin, &request, &talk->exchange);
}

static void begin(struct talk *talk, const char *method, const char *target, const char *prefer,
                  bool is_stream) {
    begin_after(talk, method, target, prefer, is_stream, NULL);
}

/* More than one read of the log gives. */
#define FOLLOWED 240

static void log_calls(int count) {
    for (int i = 0; i < count; i++) {
        struct toolrack_result *result = NULL;
        assert_int_equal(toolrack_call(host, "low", "{}", NULL, &result, NULL), 0);
        toolrack_result_free(result);
    }
    assert_int_equal(toolrack_flush(host, NULL), 0);
}

static void a_client_that_is_far_behind_misses_no_call(void **state) {
    (void)state;
    static struct talk talk;
    log_calls(FOLLOWED);
    begin_after(&talk, "GET", "/api/log", NULL, true, "0");
    (void)talk_wait_sent(&talk, FOLLOWED + 1);
    for (int i = 0; i <= FOLLOWED; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%d", i);
        assert_string_equal(talk.event_ids[i], id);
    }
    log_calls(1);
    assert_matches(talk_wait_sent(&talk, FOLLOWED + 2), "{\"id\":241,*");
    front->calls->gone(front, &talk.exchange);
    (void)talk_wait(&talk);
    talk_finish(&talk);
}

static void the_log_is_followed_from_where_the_client_says(void **state) {
    (void)state;
    static struct talk talk;
    static const struct {
        const char *target;
        const char *last;
        const char *begins; /* the id of the first event; NULL: refused */
        const char *pattern;
    } rows[] = {
            {"/api/log", NULL, "3", ""},
            {"/api/log", "", "3", ""},
            {"/api/log", "2", "2", ""},
            {"/api/log", "3", "3", ""},
            {"/api/log", "4", "3", ""},
            {"/api/log", "99999999999999999999999999", "3", ""},
            {"/api/log?after=1", NULL, "1", ""},
            {"/api/log?after=1", "2", "2", ""},
            {"/api/log?after=0", NULL, "0", ""},
            {"/api/log?after=9007199254740991", NULL, "3", ""},
            {"/api/log", "-1", NULL, "*Last-Event-ID must be *, not '-1'*"},
            {"/api/log", "abc", NULL, "*Last-Event-ID must be *, not 'abc'*"},
            {"/api/log", "1x", NULL, "*Last-Event-ID must be *"},
            {"/api/log", "0000000000000000-1", NULL, "*Last-Event-ID must be *"},
            {"/api/log?limit=1", NULL, NULL, "*'limit' is of a page of the log*"},
            {"/api/log?before=2", NULL, NULL, "*'before' is of a page of the log*"},
            {"/api/log?tool=low@%5E1", NULL, NULL, "*range of versions*"},
            {"/api/log?outcomes=none", NULL, NULL, "*no outcome 'none'*"},
    };
    log_calls(3);
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        begin_after(&talk, "GET", rows[i].target, NULL, true, rows[i].last);
        if (rows[i].begins != NULL) {
            assert_string_equal(talk_wait_sent(&talk, 1), "");
            assert_string_equal(talk.event_ids[0], rows[i].begins);
            front->calls->gone(front, &talk.exchange);
            (void)talk_wait(&talk);
        } else {
            assert_matches(talk_wait(&talk), rows[i].pattern);
            assert_int_equal(talk.status, 400);
            assert_int_equal(talk.sent_count, 0);
        }
        talk_finish(&talk);
    }
}

/* Streams, calls and tasks of many clients, some of which leave, and the end of the server. */
static void each_exchange_is_finished_once(void **state) {
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        switch (i % 4) {
        case 0: begin(&talks[i], "GET", "/api/events", NULL, true); break;
        case 1: begin(&talks[i], "GET", "/api/log", NULL, true); break;
        case 2: begin(&talks[i], "POST", "/api/tools/low/call", "respond-async", false); break;
        case 3: begin(&talks[i], "POST", "/api/tools/low/call", NULL, true); break;
        }
    }
    for (int round = 0; round < 20; round++) {
        assert_int_equal(toolrack_set_priority(host, "high", round, NULL, NULL), 0);
    }
    /* An empty event with an id, and one for each change. */
    assert_matches(talk_wait_sent(&talks[0], 21), "*\"tool\":\"high\"*priority 19*");
    assert_matches(talk_wait_sent(&talks[1], 2), "{\"id\":*\"tool\":\"low\"*");
    front->calls->gone(front, &talks[0].exchange);
    front->calls->gone(front, &talks[1].exchange);
    (void)talk_wait(&talks[0]);
    (void)talk_wait(&talks[1]);
    for (size_t i = 2; i < MANY; i += 4) {
        assert_matches(talk_wait(&talks[i]), "{\"taskId\":*");
        assert_int_equal(talks[i].status, 202);
    }
    front->calls->drain(front);
    rest_destroy(front);
    front = NULL;
    for (size_t i = 0; i < MANY; i++) {
        (void)talk_wait(&talks[i]);
        assert_int_equal(talks[i].finishes, 1);
        talk_finish(&talks[i]);
    }
}

static void a_server_that_ends_is_not_ready(void **state) {
    (void)state;
    const struct principal nobody = {0};
    expect(&nobody, "/readyz", 200, "{\"status\":\"ready\",*");
    front->calls->drain(front);
    expect(&nobody, "/readyz", 503, "*the server ends*");
    expect(&nobody, "/healthz", 200, "{\"status\":\"ok\",*");
    /* A stream that begins only now ends at once. */
    static struct talk talk;
    begin(&talk, "GET", "/api/events", NULL, true);
    (void)talk_wait(&talk);
    assert_int_equal(talk.finishes, 1);
    talk_finish(&talk);
}

/* ------------------------------------------------------------------- shares */

static tr_status stays(struct tr_call *call) {
    return gate_pass(call) ? tr_reply_text(call, "went") : TR_CANCELLED;
}
TR_JSON_TOOL(stays, "Stays until the gate is open", TR_SCHEMA({"type" : "object"}))

#define TOLD 10000

static tr_status floods(struct tr_call *call) {
    for (int i = 1; i <= TOLD; i++) {
        tr_progress(call, i, TOLD, "more");
    }
    return tr_reply_text(call, "told");
}
TR_JSON_TOOL(floods, "Tells much progress", TR_SCHEMA({"type" : "object"}))

static tr_status babbles(struct tr_call *call) {
    for (int i = 1; i <= TOLD; i++) {
        tr_log(call, TR_LOG_INFO, "line %d", i);
    }
    return tr_reply_text(call, "told");
}
TR_JSON_TOOL(babbles, "Logs many lines", TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("stays", .flags = TR_THREAD_SAFE), "1.0.0", stays, floods, babbles)

/* A client that reads slowly is not given up for what a tool tells. */
static void a_call_tells_so_much_and_no_more(void **state) {
    (void)state;
    static struct talk talk;
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    begin(&talk, "POST", "/api/tools/floods/call", NULL, true);
    assert_matches(talk_wait(&talk), "{\"result\":\"told\",*");
    assert_in_range(talk.sent_count, 2, 1 + TOLD_PROGRESS_BURST + TOLD / 10);
    assert_matches(talk.sent[1], "{\"progress\":{\"done\":1.0,\"total\":10000.0,*");
    assert_matches(talk.sent[talk.sent_count - 1], "{\"progress\":{\"done\":10000.0,*");
    talk_finish(&talk);
    begin(&talk, "POST", "/api/tools/babbles/call", NULL, true);
    assert_matches(talk_wait(&talk), "{\"result\":\"told\",*");
    assert_int_equal(talk.sent_count, 1 + TOLD_LINES_MAX);
    assert_matches(talk.sent[TOLD_LINES_MAX - 1], "*\"line\":\"line 999\"*");
    assert_matches(talk.sent[TOLD_LINES_MAX], "*more than 1000 lines; the others are left out*");
    talk_finish(&talk);
}

#define TURNS_OF_ONE (REST_TURN_THREADS / 2)

static struct talk turns[TURNS_OF_ONE + 2];

static void send_message(struct talk *talk, const struct principal *principal) {
    static const char message[] =
            "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"type\":"
            "\"function\",\"function\":{\"name\":\"stays\",\"arguments\":\"{}\"}}]}";
    char id[32];
    struct front_route route;
    (void)snprintf(id, sizeof id, "turn-%zu", (size_t)(talk - turns));
    talk_init(talk);
    assert_true(front->calls->find(front, "POST", "/api/answer?format=openai", &route));
    const struct front_request request = {.route = route.route,
                                          .target = "/api/answer?format=openai",
                                          .id = id,
                                          .body = talk->text = strdup(message),
                                          .length = sizeof message - 1};
    front->calls->receive(front, principal, &request, &talk->exchange);
}

static void a_party_leaves_turns_to_others(void **state) {
    (void)state;
    const struct principal one = {.id = "token:a", .party = "token:a", .permissions = ~0u};
    const struct principal other = {.id = "token:b", .party = "token:b", .permissions = ~0u};
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    gate_reset();
    for (size_t i = 0; i <= TURNS_OF_ONE; i++) {
        send_message(&turns[i], &one);
    }
    /* The last one is one too many. */
    assert_matches(talk_wait(&turns[TURNS_OF_ONE]), "*too many of your messages*");
    assert_int_equal(turns[TURNS_OF_ONE].status, 429);
    send_message(&turns[TURNS_OF_ONE + 1], &other);
    gate_await_come(TURNS_OF_ONE + 1);
    /* A client that leaves ends what it began. */
    front->calls->gone(front, &turns[0].exchange);
    (void)talk_wait(&turns[0]);
    gate_open();
    for (size_t i = 1; i < ARRAY_LENGTH(turns); i++) {
        if (i != TURNS_OF_ONE) {
            assert_matches(talk_wait(&turns[i]), "{\"messages\":[*went*]}");
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(turns); i++) {
        assert_int_equal(turns[i].finishes, 1);
        talk_finish(&turns[i]);
    }
}

#define CHOICES 6

static struct talk choices[CHOICES];

static void begin_choice(struct talk *talk, const struct principal *principal) {
    static const char body[] = "{\"text\":\"gives low\"}";
    char id[32];
    struct front_route route;
    (void)snprintf(id, sizeof id, "choice-%zu", (size_t)(talk - choices));
    talk_init(talk);
    assert_true(front->calls->find(front, "POST", "/api/select", &route));
    const struct front_request request = {.route = route.route,
                                          .target = "/api/select",
                                          .id = id,
                                          .body = talk->text = strdup(body),
                                          .length = sizeof body - 1};
    front->calls->receive(front, principal, &request, &talk->exchange);
}

/* Choices of one party wait for a model: others read the log, search and choose meanwhile. */
static void a_model_that_hangs_delays_nobody_else(void **state) {
    (void)state;
    char text[640];
    unsigned short port = provider_start();
    assert_int_not_equal(port, 0);
    provider_set(provider_hold);
    (void)teardown(NULL);
    (void)snprintf(text, sizeof text,
                   "{\"choose\":{\"endpoint\":\"http://127.0.0.1:%u\",\"model\":\"m\","
                   "\"timeout_ms\":20000},\"tools\":[" LOW "]}",
                   port);
    open_with(text);
    for (size_t i = 0; i < CHOICES; i++) {
        begin_choice(&choices[i], &caller);
    }
    expect(&admin, "/api/log", 200, "{\"calls\":[]}");
    expect(&admin, "/api/search?text=low", 200,
           "{\"tools\":[{\"tool\":\"low\"*}],\"embeddings\":null}");
    expect(&admin, "/api/recommend", 200, "{\"recommendations\":[*");
    for (size_t i = 0; i < CHOICES; i++) {
        (void)pthread_mutex_lock(&choices[i].lock);
        assert_false(choices[i].finished);
        (void)pthread_mutex_unlock(&choices[i].lock);
    }
    provider_release();
    for (size_t i = 0; i < CHOICES; i++) {
        assert_matches(talk_wait(&choices[i]), "{\"id\":\"*\"candidates\":[{\"tool\":\"low\"*");
        talk_finish(&choices[i]);
    }
    provider_stop();
}

static void calls_of_two_versions_have_ids_of_their_own(void **state) {
    (void)state;
    static const char *const names[] = {"stays", "stays@1.0.0", "stays@2.0.0", "stays@1.0.0"};
    struct tr_plugin next = toolrack_plugin;
    next.id = "stays_next";
    next.version = "2.0.0";
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    assert_int_equal(toolrack_register(host, &next, NULL, NULL), 0);
    gate_reset();
    gate_open();
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        struct toolrack_result *result = NULL;
        assert_int_equal(toolrack_call(host, names[i], "{}", NULL, &result, NULL), 0);
        toolrack_result_free(result);
    }
    expect(&admin, "/api/tools?name=stays", 200,
           "{\"tools\":[{\"id\":\"stays\",*\"version\":\"2.0.0\"*},{\"id\":\"stays\",*"
           "\"version\":\"1.0.0\"*}]}");
    expect(&admin, "/api/log?tool=stays", 200,
           "{\"calls\":[{\"id\":1,\"tool\":\"stays\",\"version\":\"2.0.0\",*},{\"id\":2,*"
           "\"1.0.0\",*},{\"id\":3,*\"2.0.0\",*},{\"id\":4,*\"1.0.0\",*}]}");
    expect(&admin, "/api/log/3", 200, "{\"id\":3,\"tool\":\"stays\",\"version\":\"2.0.0\",*");
    expect(&admin, "/api/log?tool=stays@1.0.0", 200,
           "{\"calls\":[{\"id\":2,*\"1.0.0\",*},{\"id\":4,*\"1.0.0\",*}]}");
}

static void a_task_says_that_the_server_ended(void **state) {
    (void)state;
    static struct talk talk;
    char id[TOOLRACK_TASK_ID_ROOM] = "";
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    gate_reset();
    begin(&talk, "POST", "/api/tools/stays/call", "respond-async", false);
    assert_int_equal(sscanf(talk_wait(&talk), "{\"taskId\":\"%32[0-9a-f]", id), 1);
    talk_finish(&talk);
    gate_await_come(1);
    rest_destroy(front);
    front = NULL;
    assert_int_equal(toolrack_task_get(host, NULL, id, &text, NULL), 0);
    assert_matches(toolrack_text_data(text, NULL),
                   "*\"status\":\"failed\",\"statusMessage\":\"the server ended before the call "
                   "did\",*\"type\":\"Cancelled\"*");
    toolrack_text_unref(text);
}

/* ------------------------------------------------------------- without memory */

/* Above this the loop never ends, which is a fault of its own. */
#define ALLOCATIONS_MAX 5000u

/* A request while the n-th allocation and all after it fail. Whether one did. */
static bool ask_without_memory(const char *method, const char *target, const char *body,
                               unsigned n) {
    static struct talk talk;
    struct front_route route;
    talk_init(&talk);
    assert_true(front->calls->find(front, method, target, &route));
    const struct front_request request = {.route = route.route,
                                          .target = target,
                                          .id = "r-3",
                                          .body = talk.text = strdup(body),
                                          .length = strlen(body)};
    failing_malloc_set(n);
    front->calls->receive(front, &admin, &request, &talk.exchange);
    (void)talk_wait(&talk);
    bool hit = failing_malloc_hit();
    failing_malloc_set(0);
    assert_int_equal(talk.finishes, 1);
    if (talk.status < 200 || (!hit && talk.status >= 300)) {
        fail_msg("%s %s gave %d at the allocation %u", method, target, talk.status, n);
    }
    talk_finish(&talk);
    return hit;
}

static void each_request_is_answered_without_memory(void **state) {
    (void)state;
    static const struct {
        const char *method;
        const char *target;
        const char *body;
    } rows[] = {
            {"GET", "/api/tools", ""},
            {"GET", "/api/tools?tag=t", ""},
            {"GET", "/api/tools/low", ""},
            {"GET", "/api/openapi.json", ""},
            {"GET", "/api/export/openai?allow=low", ""},
            {"GET", "/api/recommend", ""},
            {"GET", "/api/plugins/low", ""},
            {"GET", "/api/log?limit=1", ""},
            {"GET", "/api/grants", ""},
            {"POST", "/api/tools/low/call", "{}"},
            {"POST", "/api/answer?format=openai", "{\"role\":\"assistant\",\"content\":\"\"}"},
            {"POST", "/api/feedback", "{\"tool\":\"low\",\"feedback\":\"good\"}"},
            {"PATCH", "/api/tools/low", "{\"priority\":3}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        unsigned n = 0;
        bool hit = true;
        while (hit) {
            assert_true(++n < ALLOCATIONS_MAX);
            (void)toolrack_set_priority(host, "high", (int)n, NULL, NULL); /* nothing is kept */
            hit = ask_without_memory(rows[i].method, rows[i].target, rows[i].body, n);
        }
    }
}

/* What another front does with a path that is not REST's. */
static void paths_of_others_are_left_alone(void **state) {
    (void)state;
    static const char *const others[] = {"/mcp", "/", "/apis", "/healthz/x", "/.well-known/x", ""};
    struct front_route route;
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        assert_false(front->calls->find(front, "GET", others[i], &route));
    }
    assert_true(front->calls->find(front, "GET", "/api", &route));
    assert_int_equal(route.status, 404);
    assert_true(front->calls->find(front, "DELETE", "/api/tools", &route));
    assert_int_equal(route.status, 405);
    assert_string_equal(route.allow, "GET, HEAD, OPTIONS");
    /* What answers with a stream answers so only where the client takes a body. */
    assert_true(front->calls->find(front, "GET", "/api/log", &route));
    assert_int_equal(route.gives, FRONT_GIVES_EVENTS | FRONT_GIVES_JSON);
    assert_true(front->calls->find(front, "HEAD", "/api/log", &route));
    assert_int_equal(route.gives, FRONT_GIVES_JSON);
    assert_true(front->calls->find(front, "OPTIONS", "/api/tools", &route));
    assert_int_equal(route.status, 204);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(targets_are_taken_apart),
            cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
            cmocka_unit_test(every_route_is_found_by_its_path),
            cmocka_unit_test(every_route_says_all_of_itself),
            cmocka_unit_test(the_document_is_made_of_the_table),
            cmocka_unit_test(every_error_has_a_status),
            cmocka_unit_test_setup_teardown(tools_are_listed_by_priority, setup, teardown),
            cmocka_unit_test_setup_teardown(no_tools_are_an_empty_list, setup, teardown),
            cmocka_unit_test_setup_teardown(a_toggle_is_seen_by_the_next_request, setup, teardown),
            cmocka_unit_test_setup_teardown(what_is_as_it_was_is_not_sent_again, setup, teardown),
            cmocka_unit_test_setup_teardown(an_unknown_tool_is_not_found, setup, teardown),
            cmocka_unit_test_setup_teardown(places_are_for_who_can_use_them, setup, teardown),
            cmocka_unit_test_setup_teardown(a_principal_sees_its_part_of_the_tools, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(a_query_is_as_the_route_says, setup, teardown),
            cmocka_unit_test_setup_teardown(each_number_has_its_bounds, setup, teardown),
            cmocka_unit_test_setup_teardown(the_log_comes_in_pages, setup, teardown),
            cmocka_unit_test_setup_teardown(calls_have_results_and_failures, setup, teardown),
            cmocka_unit_test_setup_teardown(a_scope_that_is_missing_is_told, setup, teardown),
            cmocka_unit_test_setup_teardown(what_a_choice_is_asked_with_is_checked, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(what_is_right_is_among_what_is_shown, setup, teardown),
            cmocka_unit_test_setup_teardown(tools_of_others_do_not_fill_a_recommendation, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(a_client_that_is_far_behind_misses_no_call, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(the_log_is_followed_from_where_the_client_says, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(each_exchange_is_finished_once, setup, teardown),
            cmocka_unit_test_setup_teardown(a_model_that_hangs_delays_nobody_else, setup, teardown),
            cmocka_unit_test_setup_teardown(a_server_that_ends_is_not_ready, setup, teardown),
            cmocka_unit_test_setup_teardown(a_party_leaves_turns_to_others, setup, teardown),
            cmocka_unit_test_setup_teardown(a_call_tells_so_much_and_no_more, setup, teardown),
            cmocka_unit_test_setup_teardown(calls_of_two_versions_have_ids_of_their_own, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(a_task_says_that_the_server_ended, setup, teardown),
            cmocka_unit_test_setup_teardown(each_request_is_answered_without_memory, setup,
                                            teardown),
            cmocka_unit_test_setup_teardown(paths_of_others_are_left_alone, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
