/* Tools that are functions of installed libraries: what is said of them, and what they do in their
 * workers. */
#include <dlfcn.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "failing-malloc.h"
#include "life/foreign.h"
#include "plugin/foreign.h"
#include "registry/registry.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

#define CRC32                                                                                  \
    "{\"library\":\"libz.so.1\",\"symbol\":\"crc32\",\"arguments\":["                          \
    "{\"name\":\"crc\",\"type\":\"uint64\",\"description\":\"The sum so far\",\"default\":0}," \
    "{\"name\":\"data\",\"type\":\"bytes\",\"length_type\":\"uint32\"}],"                      \
    "\"result\":{\"type\":\"uint64\",\"description\":\"The sum\"}}"

static struct arena arena; /* of what is parsed */
static sem_t quarantined;  /* posted for each quarantine that a host told of */

static int set_up(void **state) {
    (void)state;
    assert_int_equal(sem_init(&quarantined, 0, 0), 0);
    arena_init(&arena, NULL, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_finish(&arena);
    (void)sem_destroy(&quarantined);
    return 0;
}

static int parse(const char *text, struct foreign *ret, struct toolrack_error *err) {
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    assert_non_null(doc);
    int code = foreign_parse(yyjson_doc_get_root(doc), &arena, ret, err);
    yyjson_doc_free(doc);
    return code;
}

static struct foreign parsed(const char *name, const char *text) {
    struct foreign foreign = {.name = name, .description = "A function"};
    struct toolrack_error err = {0};
    if (parse(text, &foreign, &err) < 0) {
        fail_msg("%s: %s", err.field, err.message);
    }
    return foreign;
}

static struct descriptor *described(const struct foreign *foreign) {
    struct descriptor *desc = NULL;
    struct toolrack_error err = {0};
    if (foreign_describe(foreign, NULL, &(struct descriptor_options){0}, &desc, &err) < 0) {
        fail_msg("%s: %s", err.field, err.message);
    }
    return desc;
}

/* ------------------------------------------------------------------ definitions */

static void a_definition_is_read(void **state) {
    (void)state;
    struct foreign foreign =
            parsed("sum", "{\"type\": \"native\", \"library\": \"libz.so.1\", \"symbol\": "
                          "\"crc32\", \"arguments\": [{\"name\": \"crc\", \"type\": \"uint64\", "
                          "\"default\": 18446744073709551615}, {\"name\": \"names\", \"type\": "
                          "\"array\", \"items\": {\"type\": \"string\", \"nullable\": true}}], "
                          "\"result\": {\"type\": \"unsigned long\", \"description\": \"It\"}, "
                          "\"capabilities\": [\"env:HOME\", \"network:example.org:443\"], "
                          "\"thread_safe\": true}");
    assert_string_equal(foreign.library, "libz.so.1");
    assert_string_equal(foreign.symbol, "crc32");
    assert_true(foreign.thread_safe);
    assert_int_equal(foreign.param_count, 2);
    assert_string_equal(foreign.params[0].name, "crc");
    assert_int_equal(foreign.params[0].type->kind, TR_KIND_U64);
    assert_string_equal(foreign.params[0].default_json, "18446744073709551615");
    assert_int_equal(foreign.params[1].type->kind, TR_KIND_ARRAY);
    assert_int_equal(foreign.params[1].type->item->kind, TR_KIND_STRING);
    assert_int_equal(foreign.params[1].type->item->flags, TR_TYPE_NULLABLE);
    assert_int_equal(foreign.result->kind, TR_KIND_U64);
    assert_string_equal(foreign.result_description, "It");
    assert_int_equal(foreign.capability_count, 2);
    assert_int_equal(foreign.capabilities[0].kind, TR_CAP_ENV);
    assert_string_equal(foreign.capabilities[0].value, "HOME");
    assert_int_equal(foreign.capabilities[1].kind, TR_CAP_NETWORK);
    assert_string_equal(foreign.capabilities[1].value, "example.org:443");
    assert_string_equal(foreign.name, "sum"); /* not the implementation's */
}

static void the_schema_is_made_from_the_types(void **state) {
    (void)state;
    struct foreign foreign = parsed("crc32", CRC32);
    foreign.tags = "checksum,zlib";
    foreign.permission = TR_CONFIRM;
    CLEANUP(descriptor_unrefp) struct descriptor *desc = described(&foreign);
    assert_string_equal(desc->plugin->id, "crc32");
    assert_int_equal(desc->plugin->flags, 0);
    assert_int_equal(desc->tool_count, 1);
    assert_true(desc->tools[0].typed);
    assert_string_equal(desc->tools[0].version, FOREIGN_VERSION);
    assert_string_equal(desc->tools[0].tool->tags, "checksum,zlib");
    assert_int_equal(desc->tools[0].tool->permission, TR_CONFIRM);
    assert_string_equal(
            desc->tools[0].schema,
            "{\"type\":\"object\",\"properties\":{\"crc\":{\"type\":\"integer\","
            "\"description\":\"The sum so far\",\"default\":0,\"minimum\":0},\"data\":{\"type\":"
            "\"string\",\"contentEncoding\":\"base64\"}},\"required\":[\"data\"],"
            "\"additionalProperties\":false}");
    assert_string_equal(desc->tools[0].result_schema,
                        "{\"type\":\"integer\",\"description\":\"The sum\",\"minimum\":0}");
}

static void a_length_has_the_range_of_its_type(void **state) {
    (void)state;
    struct foreign foreign = parsed(
            "f", "{\"library\":\"l\",\"symbol\":\"s\",\"arguments\":["
                 "{\"name\":\"a\",\"type\":\"bytes\",\"length_type\":\"uint8\"},"
                 "{\"name\":\"b\",\"type\":\"bytes\",\"length_type\":\"int16\",\"maxLength\":9},"
                 "{\"name\":\"c\",\"type\":\"array\",\"length_type\":\"int8\",\"items\":"
                 "{\"type\":\"int\"}},"
                 "{\"name\":\"d\",\"type\":\"bytes\",\"length_type\":\"size_t\"}]}");
    assert_int_equal(foreign.params[0].max_length, 255);
    assert_int_equal(foreign.params[1].max_length, 9);
    assert_int_equal(foreign.params[2].max_items, 127);
    assert_int_equal(foreign.params[3].max_length, 0);
}

static void what_is_written_reads_the_same(void **state) {
    (void)state;
    static const char *const texts[] = {
            CRC32,
            "{\"library\":\"/opt/lib/lib\\u00e9.so\",\"symbol\":\"_s1\"}",
            "{\"library\":\"l\",\"symbol\":\"s\",\"thread_safe\":true,\"arguments\":["
            "{\"name\":\"a\",\"type\":\"int8\",\"enum\":[1,2],\"default\":2},"
            "{\"name\":\"b\",\"type\":\"float\",\"minimum\":0.5,\"exclusiveMaximum\":1e3,"
            "\"multipleOf\":0.5},"
            "{\"name\":\"c\",\"type\":\"string\",\"format\":\"date\",\"pattern\":\"^\\\"\","
            "\"minLength\":1,\"maxLength\":12,\"optional\":true},"
            "{\"name\":\"d\",\"type\":\"json\",\"nullable\":true},"
            "{\"name\":\"e\",\"type\":\"int64\",\"pointer\":true,\"maximum\":7,"
            "\"exclusiveMinimum\":-3},"
            "{\"name\":\"f\",\"type\":\"bool\",\"nullable\":true},"
            "{\"name\":\"g\",\"type\":\"array\",\"minItems\":1,\"maxItems\":4,\"uniqueItems\":true,"
            "\"items\":{\"type\":\"double\",\"pointer\":true}}],"
            "\"result\":{\"type\":\"string\",\"nullable\":true},"
            "\"capabilities\":[\"read:/etc\",\"write:/tmp/\\u00e9\",\"spawn:/bin/true\"]}",
            "{\"library\":\"l\",\"symbol\":\"s\",\"arguments\":["
            "{\"name\":\"a\",\"type\":\"bytes\",\"direction\":\"out\",\"capacity\":8,"
            "\"capacity_argument\":\"room\",\"length\":\"result\"},"
            "{\"name\":\"b\",\"type\":\"int16\",\"length_of\":\"a\"},"
            "{\"name\":\"c\",\"type\":\"pointer\",\"value\":null},"
            "{\"name\":\"d\",\"type\":\"struct\",\"size\":16,\"fields\":["
            "{\"name\":\"x\",\"type\":\"float\",\"offset\":4,\"minimum\":1},"
            "{\"name\":\"y\",\"type\":\"struct\",\"size\":8,\"offset\":8,\"fields\":["
            "{\"name\":\"z\",\"type\":\"string\",\"nullable\":true,\"offset\":0}]}],"
            "\"direction\":\"inout\"},"
            "{\"name\":\"e\",\"type\":\"enum\",\"size\":4,\"choices\":{\"RED\":-1},"
            "\"default\":\"RED\"},"
            "{\"name\":\"f\",\"type\":\"string\",\"direction\":\"out\",\"free\":\"free\"},"
            "{\"name\":\"g\",\"type\":\"bytes\",\"alone\":true,\"minLength\":4}],"
            "\"result\":{\"type\":\"int32\",\"description\":\"It\"},"
            "\"error\":{\"when\":\"equals\",\"value\":-1,\"errno\":true,\"message\":\"m\"}}",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(buf_finish) struct buf same = BUF_INIT;
        struct foreign first = parsed("f", texts[i]);
        assert_int_equal(foreign_write(&first, &text, NULL), 0);
        struct foreign again = parsed("f", text.data);
        assert_int_equal(foreign_write(&again, &same, NULL), 0);
        assert_string_equal(text.data, same.data);
        CLEANUP(descriptor_unrefp) struct descriptor *desc = described(&first);
        CLEANUP(descriptor_unrefp) struct descriptor *other = described(&again);
        assert_true(descriptor_same(desc, other) && descriptor_same(other, desc));
        assert_int_equal(first.thread_safe, again.thread_safe);
        assert_int_equal(first.capability_count, again.capability_count);
    }
}

struct refusal {
    const char *text;
    const char *field;
    const char *words;
};

#define ARGUMENT(members) "{\"library\":\"l\",\"symbol\":\"s\",\"arguments\":[" members "]}"

static void what_is_wrong_is_said_where_it_stands(void **state) {
    (void)state;
    static const struct refusal refusals[] = {
            {"[]", "", "must be a JSON object"},
            {"{\"symbol\":\"s\"}", "/library", "must be a string"},
            {"{\"library\":\"l\",\"symbol\":7}", "/symbol", "must be a string"},
            {"{\"library\":\"l\\u0000l\",\"symbol\":\"s\"}", "/library", "without zeros"},
            {"{\"library\":\"l\",\"symbl\":\"s\"}", "", "did you mean \"symbol\"?"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"format\":2}", "/format", "must be 1"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"thread_safe\":1}", "/thread_safe", "true or"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"arguments\":{}}", "/arguments", "an array"},
            {ARGUMENT("7"), "/arguments/0", "a JSON object"},
            {ARGUMENT("{\"type\":\"int\"}"), "/arguments/0/name", "no \"name\""},
            {ARGUMENT("{\"name\":\"a\"}"), "/arguments/0/type", "must be stated"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":\"intt\"}"),
             "/arguments/1/type", "\"intt\" cannot be a type here, but bool, int8"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"void\"}"), "/arguments/0/type", "\"void\""},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"array\"}"), "/arguments/0/items", "object"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"items\":{\"type\":\"int\"}}"),
             "/arguments/0/items", "only an array"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"array\",\"items\":{\"type\":\"bytes\"}}"),
             "/arguments/0/items/type", "\"bytes\""},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"array\",\"items\":{\"type\":\"int\","
                      "\"minimum\":1}}"),
             "/arguments/0/items", "unknown member \"minimum\""},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"minLength\":-1}"),
             "/arguments/0/minLength", "whole number"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"defualt\":1}"), "/arguments/0",
             "did you mean \"default\"?"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"length_type\":\"int\"}"),
             "/arguments/0/length_type", "for bytes and arrays"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"bytes\",\"length_type\":\"float\"}"),
             "/arguments/0/length_type", "an integer type"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"result\":{\"type\":\"bytes\"}}", "/result/type",
             "\"length_of\": \"result\""},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"result\":\"int\"}", "/result", "a JSON object"},
            {ARGUMENT("{\"name\":\"a\",\"decide\":{\"question\":\"which of them\",\"choices\":{"
                      "\"in\":{\"type\":\"int\"},\"out\":{}}}}"),
             "/arguments/0/decide",
             "which of them; write the members of the right one of its "
             "choices (in, out)"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"pointer\"}"), "/arguments/0/value", "null"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"direction\":\"up\"}"),
             "/arguments/0/direction", "\"inout\""},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"bytes\",\"direction\":\"out\"}"),
             "/arguments/0/capacity", "at most"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"bytes\",\"direction\":\"out\","
                      "\"capacity\":67108865}"),
             "/arguments/0/capacity", "67108864"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"capacity\":1}"), "/arguments/0/direction",
             "\"out\""},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"length_of\":\"b\"}"),
             "/arguments/0/length_of", "no argument has the name \"b\""},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"length_of\":\"a\"}"),
             "/arguments/0/length_of", "bytes, an array or a string"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"float\",\"length_of\":\"a\"}"),
             "/arguments/0/type", "integer"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"bytes\"},{\"name\":\"b\",\"type\":\"int\","
                      "\"direction\":\"out\",\"length_of\":\"a\"}"),
             "/arguments/1/direction", "not written"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"string\",\"value\":\"x\"}"), "/arguments/0/value",
             "only numbers"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"alone\":true}"), "/arguments/0/alone",
             "bytes and arrays"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"struct\",\"fields\":[]}"), "/arguments/0/fields",
             "\"size\""},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"struct\",\"size\":4,\"fields\":["
                      "{\"type\":\"int\"}]}"),
             "/arguments/0/fields/0/name", "no \"name\""},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"enum\",\"size\":4,\"choices\":{\"A\":0.5}}"),
             "/arguments/0/choices", "whole number"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"choices\":{\"A\":1}}"),
             "/arguments/0/choices", "only an enum"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"error\":{\"when\":\"sometimes\"}}",
             "/error/when", "\"negative\""},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"error\":{\"when\":\"zero\"}}", "/error/when",
             "a pointer"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"error\":{\"wen\":\"zero\"}}", "/error",
             "did you mean \"when\"?"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"result\":{\"type\":\"int\",\"free\":\"f\"}}",
             "/result/free", "only a pointer"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"capabilities\":[\"env\"]}", "/capabilities",
             "\"env\" is no capability"},
            {"{\"library\":\"l\",\"symbol\":\"s\",\"capabilities\":[\"env:\"]}", "/capabilities",
             "no capability"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(refusals); i++) {
        struct foreign foreign = {.name = "f"};
        struct toolrack_error err = {0};
        assert_int_equal(parse(refusals[i].text, &foreign, &err), TOOLRACK_E_INVALID);
        assert_string_equal(err.field, refusals[i].field);
        if (strstr(err.message, refusals[i].words) == NULL) {
            fail_msg("%s: %s", refusals[i].text, err.message);
        }
    }
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    static const struct refusal refusals[] = {
            {"{\"library\":\"lib/l.so\",\"symbol\":\"s\"}", "/library", "an absolute path"},
            {"{\"library\":\"\",\"symbol\":\"s\"}", "/library", "an absolute path"},
            {"{\"library\":\"l\",\"symbol\":\"1s\"}", "/symbol", "the name of a C function"},
            {"{\"library\":\"l\",\"symbol\":\"a b\"}", "/symbol", "the name of a C function"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int8\",\"default\":128}"), "", "param-default"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"minimum\":2,\"maximum\":1}"), "",
             "param-bound"},
            {ARGUMENT("{\"name\":\"a b\",\"type\":\"int\"}"), "", "param-name"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"a\",\"type\":\"int\"}"), "",
             "twice"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"pattern\":\"x\"}"), "", "param-option"},
            {ARGUMENT("{\"name\":\"a\",\"type\":\"int\",\"pointer\":true,\"nullable\":true}"), "",
             "type-flags"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(refusals); i++) {
        struct foreign foreign = parsed("f", refusals[i].text);
        struct toolrack_error err = {0};
        struct descriptor *desc = NULL;
        assert_int_equal(
                foreign_describe(&foreign, NULL, &(struct descriptor_options){0}, &desc, &err),
                TOOLRACK_E_REFUSED);
        assert_string_equal(err.field, refusals[i].field);
        if (strstr(err.message, refusals[i].words) == NULL) {
            fail_msg("%s: %s", refusals[i].text, err.message);
        }
    }
}

static void types_that_no_definition_can_say_are_not_written(void **state) {
    (void)state;
    static const struct tr_type call = {.size = sizeof call, .kind = TR_KIND_CALL};
    static const struct tr_type bytes = {.size = sizeof bytes, .kind = TR_KIND_BYTES};
    static const struct tr_type array = {
            .size = sizeof array, .kind = TR_KIND_ARRAY, .item = &bytes};
    static const struct tr_param param = {.type = &call};
    static const struct tr_param arrays = {.type = &array};
    const struct foreign foreigns[] = {
            {.name = "f", .library = "l", .symbol = "s", .params = &param, .param_count = 1},
            {.name = "f", .library = "l", .symbol = "s", .params = &arrays, .param_count = 1}};
    for (size_t i = 0; i < ARRAY_LENGTH(foreigns); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        struct toolrack_error err = {0};
        assert_int_equal(foreign_write(&foreigns[i], &text, &err), TOOLRACK_E_REFUSED);
        assert_non_null(strstr(err.message, "cannot have"));
    }
}

static void what_is_too_long_is_not_written(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(freep) char *description = calloc(1, FOREIGN_TEXT_MAX + 1);
    assert_non_null(description);
    memset(description, 'x', FOREIGN_TEXT_MAX);
    struct foreign foreign = parsed("crc32", CRC32);
    foreign.result_description = description;
    struct toolrack_error err = {0};
    assert_int_equal(foreign_write(&foreign, &text, &err), TOOLRACK_E_LIMIT_EXCEEDED);
}

static void without_memory_nothing_is_made(void **state) {
    (void)state;
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        struct foreign foreign = {.name = "crc32", .description = "It"};
        struct toolrack_error err = {0};
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
        arena_finish(&arena);
        yyjson_doc *doc = yyjson_read(CRC32, strlen(CRC32), 0);
        failing_malloc_set(n);
        int code = foreign_parse(yyjson_doc_get_root(doc), &arena, &foreign, &err);
        if (code == 0) {
            code = foreign_describe(&foreign, NULL, &(struct descriptor_options){0}, &desc, &err);
        }
        if (code == 0) {
            code = foreign_write(&foreign, &text, &err);
        }
        failed = failing_malloc_hit();
        failing_malloc_set(0);
        yyjson_doc_free(doc);
        assert_int_equal(code, failed ? TOOLRACK_E_NO_MEMORY : 0);
    }
}

/* ------------------------------------------------------------------------ calls */

static atomic_uint not_kept; /* log lines that say so of a quarantine */

static void note_log(void *user, enum toolrack_log_level level, const char *source,
                     const char *line) {
    (void)user;
    (void)level;
    (void)source;
    not_kept += strstr(line, "is not kept") != NULL;
}

static void note_event(void *user, const struct toolrack_event *event) {
    (void)user;
    if (event->kind == TOOLRACK_EVENT_QUARANTINED) {
        (void)sem_post(&quarantined);
    }
}

/* A host without folders that runs what it can in its own process, which this never is. */
static struct toolrack *open_host_in(const char *state_dir, const char *config) {
    char path[] = "/tmp/toolrack-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, config, strlen(config)) == (ssize_t)strlen(config));
    (void)close(fd);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = path;
    options.state_dir = state_dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.worker_program = FOREIGN_WORKER;
    options.event = note_event;
    options.log = note_log;
    struct toolrack *host = NULL;
    struct toolrack_error err = {0};
    if (toolrack_open(&options, &host, &err) < 0) {
        fail_msg("%s", err.message);
    }
    (void)unlink(path);
    return host;
}

static struct toolrack *open_host(const char *config) {
    return open_host_in("", config);
}

/* As the definition of a tool in the configuration is registered. */
static int add_foreign(struct toolrack *host, const struct foreign *foreign, uint64_t *ret_uid,
                       struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    CLEANUP(plugin_unrefp) struct plugin *plugin = NULL;
    bool no_memory = false;
    struct descriptor_options options = tool_descriptor_options(&no_memory);
    options.is_of_configuration = true;
    int code = foreign_describe(foreign, NULL, &options, &desc, err);
    if (no_memory) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if (code == 0) {
        code = foreign_make(host->life, foreign, desc, &plugin, err);
    }
    return code < 0 ? code : registry_add_all(host->registry, plugin, ret_uid, err);
}

static uint64_t add(struct toolrack *host, const char *name, const char *text) {
    struct foreign foreign = parsed(name, text);
    struct toolrack_error err = {0};
    uint64_t uid = 0;
    if (add_foreign(host, &foreign, &uid, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return uid;
}

/* The same for a function of the test's own library. */
static void add_own(struct toolrack *host, const char *symbol, const char *arguments,
                    const char *result) {
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{\"library\":\"" FOREIGN_LIBRARY "\",\"symbol\":\"%s\",\"arguments\":[%s],"
                   "\"result\":{%s}}",
                   symbol, arguments, result);
    (void)add(host, symbol, text);
}

static void check(struct toolrack *host, const char *tool, const char *arguments,
                  const char *expected) {
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    if (toolrack_call(host, tool, arguments, NULL, &result, &err) < 0) {
        fail_msg("%s: %s", tool, err.message);
    }
    assert_string_equal(toolrack_result_json(result, NULL), expected);
    toolrack_result_free(result);
}

static void check_failure(struct toolrack *host, const char *tool, const char *arguments, int code,
                          const char *words, struct toolrack_error *err) {
    struct toolrack_result *result = NULL;
    *err = (struct toolrack_error){0};
    assert_int_equal(toolrack_call(host, tool, arguments, NULL, &result, err), code);
    if (strstr(err->message, words) == NULL) {
        fail_msg("%s: %s", tool, err->message);
    }
}

static void functions_of_system_libraries_are_tools(void **state) {
    (void)state;
    struct toolrack *host = open_host("{}");
    (void)add(host, "cosine",
              "{\"library\":\"libm.so.6\",\"symbol\":\"cos\",\"arguments\":[{\"name\":\"x\","
              "\"type\":\"double\"}],\"result\":{\"type\":\"double\"}}");
    (void)add(host, "crc32", CRC32);
    (void)add(host, "strlen",
              "{\"library\":\"libc.so.6\",\"symbol\":\"strlen\",\"arguments\":[{\"name\":"
              "\"text\",\"type\":\"string\"}],\"result\":{\"type\":\"size_t\"}}");
    check(host, "cosine", "{\"x\":0}", "1.0");
    check(host, "cosine", "{\"x\":1}", "0.5403023058681398");
    check(host, "crc32", "{\"data\":\"MTIzNDU2Nzg5\"}", "3421780262"); /* 0xCBF43926 */
    check(host, "crc32", "{\"crc\":3421780262,\"data\":\"\"}", "3421780262");
    check(host, "strlen", "{\"text\":\"caf\\u00e9\"}", "5");
    struct toolrack_error err;
    check_failure(host, "strlen", "{\"text\":7}", TOOLRACK_E_INVALID_ARGUMENTS, "", &err);
    assert_string_equal(err.field, "/text");
    assert_string_equal(err.tool, "strlen");
    toolrack_close(host);
}

static void values_reach_the_function_as_its_types_say(void **state) {
    (void)state;
    struct toolrack *host = open_host("{}");
    add_own(host, "sum", "{\"name\":\"items\",\"type\":\"array\",\"items\":{\"type\":\"double\"}}",
            "\"type\":\"double\"");
    add_own(host, "count_letters",
            "{\"name\":\"data\",\"type\":\"bytes\",\"length_type\":\"uint16\"}",
            "\"type\":\"uint32\"");
    add_own(host, "weigh",
            "{\"name\":\"a\",\"type\":\"int8\"},{\"name\":\"b\",\"type\":\"uint8\"},"
            "{\"name\":\"c\",\"type\":\"int16\"},{\"name\":\"d\",\"type\":\"uint16\"},"
            "{\"name\":\"e\",\"type\":\"int32\"},{\"name\":\"f\",\"type\":\"uint32\"},"
            "{\"name\":\"g\",\"type\":\"int64\"},{\"name\":\"h\",\"type\":\"uint64\"},"
            "{\"name\":\"i\",\"type\":\"bool\"},"
            "{\"name\":\"data\",\"type\":\"bytes\",\"length_type\":\"unsigned int\"},"
            "{\"name\":\"j\",\"type\":\"float\"}",
            "\"type\":\"int64\"");
    add_own(host, "choose",
            "{\"name\":\"text\",\"type\":\"string\",\"nullable\":true},"
            "{\"name\":\"number\",\"type\":\"int32\",\"optional\":true}",
            "\"type\":\"string\",\"nullable\":true");
    add_own(host, "nothing", "", "\"type\":\"void\"");
    add_own(host, "narrow", "{\"name\":\"number\",\"type\":\"int8\"}", "\"type\":\"uint8\"");
    add_own(host, "latin1", "", "\"type\":\"string\"");
    check(host, "sum", "{\"items\":[1.5,2,-0.5]}", "3.0");
    check(host, "sum", "{\"items\":[]}", "0.0");
    check(host, "count_letters", "{\"data\":\"YWJDZDE=\"}", "3"); /* abCd1 */
    check(host, "weigh",
          "{\"a\":-1,\"b\":2,\"c\":-3,\"d\":4,\"e\":-5,\"f\":6,\"g\":-7,\"h\":8,\"i\":true,"
          "\"data\":\"AAAD\",\"j\":1.5}",
          "30033173553719");
    check(host, "choose", "{\"text\":\"a\",\"number\":7}", "\"a 7\"");
    check(host, "choose", "{\"text\":\"a\"}", "\"a -1\"");
    check(host, "choose", "{\"text\":null}", "null");
    check(host, "nothing", "{}", "null");
    check(host, "narrow", "{\"number\":-1}", "255");
    struct toolrack_error err;
    check_failure(host, "latin1", "{}", TOOLRACK_E_EXECUTION_FAILED, "UTF-8", &err);
    toolrack_close(host);
}

/* Also where the app and the tool's policy say that plugins run in this process. */
/* A definition of the test's own library, with all its members. */
static void add_whole(struct toolrack *host, const char *symbol, const char *arguments,
                      const char *more) {
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{\"library\":\"" FOREIGN_LIBRARY "\",\"symbol\":\"%s\",\"arguments\":[%s]%s}",
                   symbol, arguments, more);
    (void)add(host, symbol, text);
}

/* Lengths, room, constants and codes are the host's affair; what is read the caller gives. */
static void what_is_written_is_the_result(void **state) {
    (void)state;
    struct toolrack_error err;
    struct toolrack *host = open_host("{}");
    add_whole(host, "give_bytes",
              "{\"name\":\"count\",\"type\":\"int\"},{\"name\":\"n\",\"type\":\"int\","
              "\"direction\":\"out\",\"length_of\":\"result\"}",
              ",\"result\":{\"type\":\"bytes\",\"free\":\"let_go\"}");
    check(host, "give_bytes", "{\"count\":3}", "\"enp6\"");
    check(host, "give_bytes", "{\"count\":0}", "\"\"");
    check_failure(host, "give_bytes", "{\"count\":-1}", TOOLRACK_E_EXECUTION_FAILED, "-1", &err);
    struct foreign loud =
            parsed("loud", "{\"library\":\"" FOREIGN_LIBRARY
                           "\",\"symbol\":\"give_bytes\",\"arguments\":[{\"name\":"
                           "\"count\",\"type\":\"int\"},{\"name\":\"n\",\"type\":\"int\","
                           "\"direction\":\"out\",\"length_of\":\"result\"}],\"result\":"
                           "{\"type\":\"bytes\",\"free\":\"cry_out\"}}");
    assert_int_equal(add_foreign(host, &loud, NULL, &err), 0);
    check(host, "loud", "{\"count\":0}", "\"\""); /* there is nothing to release */
    check_failure(host, "loud", "{\"count\":3}", TOOLRACK_E_EXECUTION_FAILED, "SIGABRT", &err);
    add_whole(host, "give_pointer",
              "{\"name\":\"bytes\",\"type\":\"bytes\",\"direction\":\"out\",\"free\":\"let_go\"},"
              "{\"name\":\"n\",\"type\":\"size_t\",\"direction\":\"out\",\"length_of\":\"bytes\"}",
              ",\"result\":{\"type\":\"int\"},\"error\":{\"when\":\"zero\"}");
    check(host, "give_pointer", "{}", "{\"result\":1,\"bytes\":\"AAAA\"}");
    add_whole(host, "turn",
              "{\"name\":\"bytes\",\"type\":\"bytes\",\"direction\":\"inout\",\"capacity\":8},"
              "{\"name\":\"size\",\"type\":\"unsigned int\",\"value\":4}",
              ",\"result\":{\"type\":\"int\",\"hidden\":true}");
    check(host, "turn", "{\"bytes\":\"AQIDBA==\"}", "\"BAMCAQAAAAA=\"");
    check_failure(host, "turn", "{\"bytes\":\"AQIDBAUGBwgJ\"}", TOOLRACK_E_INVALID_ARGUMENTS,
                  "longer than the room of 8", &err);
    add_whole(host, "lie",
              "{\"name\":\"out\",\"type\":\"string\",\"direction\":\"out\",\"capacity\":4,"
              "\"capacity_argument\":\"room\",\"length\":\"result\"},"
              "{\"name\":\"size\",\"type\":\"int16\",\"length_of\":\"out\"}",
              ",\"result\":{\"type\":\"int\"}");
    check_failure(host, "lie", "{}", TOOLRACK_E_EXECUTION_FAILED,
                  "has 5 bytes, and there is room for 4; ask for more with room", &err);
    check_failure(host, "lie", "{\"room\":32768}", TOOLRACK_E_INVALID_ARGUMENTS,
                  "longer than its length", &err);
    add_whole(host, "needs", "{\"name\":\"number\",\"type\":\"int\"}",
              ",\"result\":{\"type\":\"int\"},\"error\":{\"when\":\"errno\"}");
    check(host, "needs", "{\"number\":1}", "1");
    check_failure(host, "needs", "{\"number\":2}", TOOLRACK_E_EXECUTION_FAILED,
                  "needs failed: Numerical argument out of domain (errno 33)", &err);
    add_whole(host, "many",
              "{\"name\":\"a\",\"type\":\"int64\"},{\"name\":\"b\",\"type\":\"int64\"},"
              "{\"name\":\"c\",\"type\":\"int64\"},{\"name\":\"d\",\"type\":\"int64\"},"
              "{\"name\":\"e\",\"type\":\"int64\"},{\"name\":\"f\",\"type\":\"int64\"},"
              "{\"name\":\"g\",\"type\":\"int8\",\"value\":-3},"
              "{\"name\":\"text\",\"type\":\"string\"},"
              "{\"name\":\"out\",\"type\":\"int\",\"direction\":\"inout\"},"
              "{\"name\":\"h\",\"type\":\"double\"}",
              ",\"result\":{\"type\":\"int64\"}");
    check(host, "many",
          "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"text\":\"seven\",\"out\":10,"
          "\"h\":8.0}",
          "{\"result\":654326,\"out\":15}");
    add_whole(host, "three",
              "{\"name\":\"first\",\"type\":\"int64\"},"
              "{\"name\":\"out\",\"type\":\"int\",\"direction\":\"out\"}",
              ",\"result\":{\"type\":\"struct\",\"size\":24,\"fields\":["
              "{\"name\":\"one\",\"type\":\"int64\",\"offset\":0},"
              "{\"name\":\"two\",\"type\":\"int64\",\"offset\":8},"
              "{\"name\":\"three\",\"type\":\"int64\",\"offset\":16}]}");
    check(host, "three", "{\"first\":1}",
          "{\"result\":{\"one\":1,\"two\":2,\"three\":3},\"out\":4}");
    add_whole(host, "narrow", "{\"name\":\"number\",\"type\":\"int8\"}",
              ",\"result\":{\"type\":\"uint8\"},\"error\":{\"when\":\"nonzero\",\"message\":"
              "\"no_such_function\"}");
    check_failure(host, "narrow", "{\"number\":1}", TOOLRACK_E_EXECUTION_FAILED,
                  "has no function 'no_such_function'", &err);
    toolrack_close(host);
}

static void the_library_is_never_opened_in_the_host(void **state) {
    (void)state;
    struct toolrack *host =
            open_host("{\"isolation\":\"none\",\"policies\":{\"loaded_in\":{\"isolation\":"
                      "\"none\"}}}");
    add_own(host, "loaded_in", "", "\"type\":\"int64\"");
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    assert_int_equal(toolrack_call(host, "loaded_in", NULL, NULL, &result, &err), 0);
    long long worker = strtoll(toolrack_result_json(result, NULL), NULL, 10);
    assert_true(worker > 0 && worker != getpid());
    assert_null(dlopen(FOREIGN_LIBRARY, RTLD_NOLOAD | RTLD_LAZY));
    toolrack_result_free(result);
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_describe_isolation(host, "loaded_in", &text, &err), 0);
    assert_non_null(strstr(toolrack_text_data(text, NULL), "\"isolation\":\"process\""));
    toolrack_text_unref(text);
    toolrack_close(host);
}

#define GETENV                                                                            \
    "{\"library\":\"libc.so.6\",\"symbol\":\"getenv\",\"arguments\":[{\"name\":\"name\"," \
    "\"type\":\"string\"}],\"result\":{\"type\":\"string\",\"nullable\":true},"           \
    "\"capabilities\":[\"env:TOOLRACK_TEST_FOREIGN\"]}"

static void a_grant_is_needed(void **state) {
    (void)state;
    assert_int_equal(setenv("TOOLRACK_TEST_FOREIGN", "its value", 1), 0);
    struct toolrack *host =
            open_host("{\"policies\":{\"granted\":{\"allow\":[\"env:TOOLRACK_TEST_FOREIGN\"]}}}");
    (void)add(host, "granted", GETENV);
    (void)add(host, "refused", GETENV);
    check(host, "granted", "{\"name\":\"TOOLRACK_TEST_FOREIGN\"}", "\"its value\"");
    check(host, "refused", "{\"name\":\"TOOLRACK_TEST_FOREIGN\"}", "null");
    toolrack_close(host);
}

static void what_cannot_be_found_fails_the_call(void **state) {
    (void)state;
    struct toolrack_error err;
    struct toolrack *host = open_host("{}");
    (void)add(host, "no_library",
              "{\"library\":\"libnowhere.so.7\",\"symbol\":\"f\",\"result\":{\"type\":\"int\"}}");
    (void)add(host, "no_symbol",
              "{\"library\":\"libm.so.6\",\"symbol\":\"cosine\",\"result\":{\"type\":\"int\"}}");
    (void)add(host, "no_function",
              "{\"library\":\"" FOREIGN_LIBRARY
              "\",\"symbol\":\"variable\",\"result\":{\"type\":\"int\"}}");
    check_failure(host, "no_library", NULL, TOOLRACK_E_EXECUTION_FAILED,
                  "libnowhere.so.7: cannot open shared object file", &err);
    check_failure(host, "no_symbol", NULL, TOOLRACK_E_EXECUTION_FAILED,
                  "libm.so.6 has no function 'cosine'", &err);
    check_failure(host, "no_function", NULL, TOOLRACK_E_EXECUTION_FAILED, "is a variable", &err);
    toolrack_close(host);
}

#define WRONG_STRLEN(tail)                                                                \
    "{\"library\":\"libc.so.6\",\"symbol\":\"strlen\",\"arguments\":[{\"name\":\"text\"," \
    "\"type\":\"int64\"" tail "}],\"result\":{\"type\":\"size_t\"}}"

/* What a wrong type does is the worker's end, and nobody else's; three of them are too many. */
static void a_crash_stays_in_the_worker(void **state) {
    (void)state;
    struct toolrack_error err;
    struct toolrack *host = open_host("{\"policies\":{\"length\":{\"backoff_ms\":1,"
                                      "\"backoff_max_ms\":1}}}");
    (void)add(host, "length", WRONG_STRLEN(""));
    add_own(host, "end_by_signal", "{\"name\":\"number\",\"type\":\"int\"}", "\"type\":\"int\"");
    for (unsigned i = 0; i < 3; i++) {
        check_failure(host, "length", "{\"text\":1}", TOOLRACK_E_EXECUTION_FAILED, "", &err);
        assert_int_equal(err.signal, SIGSEGV);
        assert_string_equal(err.tool, "length");
        assert_true(err.trace[0] != '\0');
    }
    check_failure(host, "length", "{\"text\":1}", TOOLRACK_E_EXECUTION_FAILED, "quarantine", &err);
    assert_int_equal(sem_wait(&quarantined), 0); /* the call may hear of it first */
    assert_int_equal(not_kept, 0);
    assert_int_equal(toolrack_release(host, "length", NULL, &err), 0);
    check_failure(host, "length", "{\"text\":1}", TOOLRACK_E_EXECUTION_FAILED, "", &err);
    assert_int_equal(err.signal, SIGSEGV);
    check_failure(host, "end_by_signal", "{\"number\":6}", TOOLRACK_E_EXECUTION_FAILED, "", &err);
    assert_int_equal(err.signal, SIGABRT);
    check(host, "end_by_signal", "{\"number\":0}", "0");
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_why(host, "length", &text, &err), 0);
    assert_non_null(strstr(toolrack_text_data(text, NULL), "\"file\":null"));
    toolrack_text_unref(text);
    toolrack_close(host);
}

static void remove_state(const char *state_dir) {
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r '%s'", state_dir);
    assert_int_equal(system(command), 0);
}

/* As long as its definition is the same. */
static void a_quarantine_outlives_the_host(void **state) {
    (void)state;
    char state_dir[] = "/tmp/toolrack-test-XXXXXX";
    struct toolrack_error err;
    struct toolrack_text *text = NULL;
    assert_non_null(mkdtemp(state_dir));
    /* A crash in each of two hosts: those of the one before count. */
    static const char config[] = "{\"policies\":{\"length\":{\"crashes\":2,\"backoff_ms\":1}}}";
    for (unsigned i = 0; i < 2; i++) {
        struct toolrack *host = open_host_in(state_dir, config);
        (void)add(host, "length", WRONG_STRLEN(""));
        check_failure(host, "length", "{\"text\":1}", TOOLRACK_E_EXECUTION_FAILED, "", &err);
        assert_int_equal(err.signal, SIGSEGV);
        toolrack_close(host);
    }
    struct toolrack *host = open_host_in(state_dir, config);
    (void)add(host, "length", WRONG_STRLEN(""));
    check_failure(host, "length", "{\"text\":1}", TOOLRACK_E_EXECUTION_FAILED, "quarantine", &err);
    assert_int_equal(toolrack_why(host, "length", &text, &err), 0);
    const char *why = toolrack_text_data(text, NULL);
    assert_non_null(strstr(why, "\"state\":\"quarantined\""));
    assert_non_null(strstr(why, "\"tool\":\"length\""));
    assert_non_null(strstr(why, "SIGSEGV"));
    toolrack_text_unref(text);
    toolrack_close(host);
    assert_int_equal(not_kept, 0);
    host = open_host_in(state_dir, "{}");
    (void)add(host, "length", WRONG_STRLEN(",\"minimum\":2"));
    check_failure(host, "length", "{\"text\":2}", TOOLRACK_E_EXECUTION_FAILED, "", &err);
    assert_int_equal(err.signal, SIGSEGV);
    toolrack_close(host);
    remove_state(state_dir);
}

static void without_memory_nothing_is_registered(void **state) {
    (void)state;
    struct toolrack *host = open_host("{}");
    const struct foreign foreign = parsed("crc32", CRC32);
    int code = TOOLRACK_E_NO_MEMORY;
    for (unsigned n = 1; code != 0; n++) {
        struct toolrack_error err = {0};
        failing_malloc_set(n);
        code = add_foreign(host, &foreign, NULL, &err);
        failing_malloc_set(0);
        assert_true(code == 0 || code == TOOLRACK_E_NO_MEMORY);
        struct toolrack_tool *tool = toolrack_get(host, "crc32");
        assert_int_equal(tool != NULL, code == 0);
        toolrack_tool_unref(tool);
    }
    check(host, "crc32", "{\"data\":\"MTIzNDU2Nzg5\"}", "3421780262");
    toolrack_close(host);
}

static void they_come_and_go_like_other_tools(void **state) {
    (void)state;
    struct toolrack_error err;
    struct toolrack *host = open_host("{}");
    uint64_t uid = add(host, "crc32", CRC32);
    struct foreign foreign = parsed("crc32", CRC32);
    uint64_t other = 0;
    assert_int_equal(add_foreign(host, &foreign, &other, &err), TOOLRACK_E_EXISTS);
    assert_string_equal(err.tool, "crc32");
    check(host, "crc32", "{\"data\":\"MTIzNDU2Nzg5\"}", "3421780262");
    assert_int_equal(toolrack_reload(host, "crc32", NULL, &err), TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_rollback(host, "crc32", NULL, &err), TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_reload(host, NULL, NULL, &err), 0);
    assert_int_equal(toolrack_unregister(host, uid, &err), 0);
    check_failure(host, "crc32", "{\"data\":\"\"}", TOOLRACK_E_NOT_FOUND, "", &err);
    (void)add(host, "crc32", CRC32);
    check(host, "crc32", "{\"data\":\"MTIzNDU2Nzg5\"}", "3421780262");
    foreign.name = "not a name";
    assert_int_equal(add_foreign(host, &foreign, NULL, &err), TOOLRACK_E_REFUSED);
    toolrack_close(host);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_definition_is_read),
            TEST(the_schema_is_made_from_the_types),
            TEST(a_length_has_the_range_of_its_type),
            TEST(what_is_written_reads_the_same),
            TEST(what_is_wrong_is_said_where_it_stands),
            TEST(what_makes_no_sense_is_refused),
            TEST(types_that_no_definition_can_say_are_not_written),
            TEST(what_is_too_long_is_not_written),
            TEST(without_memory_nothing_is_made),
            TEST(functions_of_system_libraries_are_tools),
            TEST(values_reach_the_function_as_its_types_say),
            TEST(what_is_written_is_the_result),
            TEST(the_library_is_never_opened_in_the_host),
            TEST(a_grant_is_needed),
            TEST(what_cannot_be_found_fails_the_call),
            TEST(a_crash_stays_in_the_worker),
            TEST(a_quarantine_outlives_the_host),
            TEST(without_memory_nothing_is_registered),
            TEST(they_come_and_go_like_other_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
