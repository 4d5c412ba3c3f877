/* Definitions out: names, the rules of each provider, limits, and tools as they are found in the
 * wild.
 *
 * TEST_GOLDEN holds awkward tools and what becomes of each of them; with GOLDEN_WRITE=1 in the
 * environment the expectations are written anew, to be read before they are believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "failing-malloc.h"
#include "format/definitions.h"
#include "format/limits.h"
#include "schema/regex.h"
#include "schema/schema.h"
#include "schema/translate.h"

#define FORMATS ((enum toolrack_format)TOOLRACK_FORMAT_COUNT)

static struct format_tool tool_of(const char *name, const char *schema) {
    return (struct format_tool){.name = name, .description = "A test's", .schema = schema};
}

static const char object_schema[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}";

/* ------------------------------------------------------------------- names */

static bool name_fits(enum toolrack_format format, const char *name) {
    const struct provider_limits *limits = &provider_limits[format];
    size_t length = strlen(name);
    if (length < 1 || length > limits->name_max) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool other = (c >= '0' && c <= '9') || c == '-' || strchr(limits->name_extra, c) != NULL;
        if (!letter && (!other || (i == 0 && limits->name_letter_first))) {
            return false;
        }
    }
    return true;
}

static void a_good_name_stays(void **state) {
    (void)state;
    static const char longest[] =
            "a23456789012345678901234567890123456789012345678901234567890wxyz";
    char wire[FORMAT_NAME_MAX + 1];
    assert_int_equal(strlen(longest), FORMAT_NAME_MAX);
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        assert_false(format_wire_name(f, "get_weather-2", wire));
        assert_string_equal(wire, "get_weather-2");
        assert_false(format_wire_name(f, longest, wire));
        assert_string_equal(wire, longest);
    }
    assert_false(format_wire_name(TOOLRACK_FORMAT_GEMINI, "math.add", wire));
    assert_true(format_wire_name(TOOLRACK_FORMAT_OPENAI, "math.add", wire));
    /* What it was in earlier versions: conversations outlive a host. */
    assert_string_equal(wire, "math_add_defeb98f6c4b");
}

/* A tool with such a name would get the name that another tool's name becomes. */
static void a_name_that_looks_made_is_changed(void **state) {
    (void)state;
    static const char *const made[] = {"_0123456789ab", "a_0123456789ab", "__0123456789ab",
                                       "math_add_defeb98f6c4b"};
    static const char *const plain[] = {"0123456789ab",   "_0123456789a",   "x0123456789ab",
                                        "_0123456789aB",  "_0123456789ag",  "_g123456789ab",
                                        "_0123456789abc", "_0123456789ab_", "-0123456789ab"};
    char wire[FORMAT_NAME_MAX + 1];
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
            assert_true(format_wire_name(f, made[i], wire));
            assert_true(name_fits(f, wire));
            assert_string_not_equal(wire, made[i]);
        }
        for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
            /* Gemini wants a letter or _ first. */
            bool fits = f != TOOLRACK_FORMAT_GEMINI || plain[i][0] == '_' || plain[i][0] == 'x';
            assert_int_equal(format_wire_name(f, plain[i], wire), !fits);
            assert_true(name_fits(f, wire));
        }
    }
}

static void a_long_name_keeps_its_end(void **state) {
    (void)state;
    char name[120];
    char wire[FORMAT_NAME_MAX + 1];
    (void)snprintf(name, sizeof name, "%0100d_read_file", 0);
    assert_true(format_wire_name(TOOLRACK_FORMAT_ANTHROPIC, name, wire));
    assert_non_null(strstr(wire, "_read_file_"));
    assert_int_equal(strlen(wire), FORMAT_NAME_MAX);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Names of all kinds: the same each time, acceptable, and none twice, also when what comes out goes
 * in again. */
static void names_are_unique_and_stable(void **state) {
    (void)state;
    enum { NAMES = 4000 };
    static const char letters[] = "ab_-.:/ \xc3\xa9$9Z";
    static char wires[2 * NAMES][FORMAT_NAME_MAX + 1];
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        uint32_t seed = 1;
        for (int i = 0; i < NAMES; i++) {
            char name[160];
            char again[FORMAT_NAME_MAX + 1];
            int length = snprintf(name, sizeof name, "%d", i);
            seed = seed * 1664525u + 1013904223u;
            for (size_t room = (seed >> 16) % 120; room > 0; room--) {
                seed = seed * 1664525u + 1013904223u;
                name[length++] = letters[(seed >> 16) % (sizeof letters - 1)];
            }
            name[length] = '\0';
            (void)format_wire_name(f, name, wires[2 * i]);
            assert_true(name_fits(f, wires[2 * i]));
            (void)format_wire_name(f, name, again);
            assert_string_equal(again, wires[2 * i]);
            /* Whoever is called so himself becomes something else. */
            bool made = format_wire_name(f, wires[2 * i], wires[2 * i + 1]);
            assert_true(name_fits(f, wires[2 * i + 1]));
            if (!made) {
                assert_string_equal(wires[2 * i], name);
                (void)snprintf(wires[2 * i + 1], sizeof wires[0], "unused%d", i);
            }
        }
        qsort(wires, 2 * NAMES, sizeof wires[0], compare_names);
        for (size_t i = 1; i < 2 * NAMES; i++) {
            assert_string_not_equal(wires[i - 1], wires[i]);
        }
    }
}

static void formats_have_names(void **state) {
    (void)state;
    enum toolrack_format found = TOOLRACK_FORMAT_OPENAI;
    struct toolrack_error err;
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        assert_int_equal(toolrack_format_find(toolrack_format_name(f), &found, NULL), 0);
        assert_int_equal(found, f);
    }
    assert_null(toolrack_format_name(FORMATS));
    assert_int_equal(toolrack_format_find("claude", &found, &err), TOOLRACK_E_NOT_FOUND);
    assert_string_equal(err.message, "there is no format 'claude'; the formats are: openai, "
                                     "openai-responses, anthropic, gemini, ollama, mcp");
}

/* ------------------------------------------------------------------ limits */

static void none_is_an_empty_list(void **state) {
    (void)state;
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        CLEANUP(buf_finish) struct buf report = BUF_INIT;
        assert_int_equal(format_definitions(f, NULL, 0, NULL, &out, &report, NULL, NULL), 0);
        assert_string_equal(out.data, "[]");
        assert_int_equal(report.length, 0);
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    assert_int_equal(format_definitions(FORMATS, NULL, 0, NULL, &out, NULL, NULL, NULL),
                     TOOLRACK_E_INVALID);
}

/* How many of `count` tools are exported, and how many notes there are. */
static size_t count_exported(enum toolrack_format format, size_t count,
                             const struct format_limits *limits, size_t *ret_notes) {
    static struct format_tool tools[600];
    static char names[600][sizeof "tool_18446744073709551615"];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "tool_%zu", i);
        tools[i] = tool_of(names[i], object_schema);
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf report = BUF_INIT;
    buf_add_char(&report, '[');
    CLEANUP(buf_finish) struct buf notes = BUF_INIT;
    assert_int_equal(format_definitions(format, tools, count, limits, &out, &notes, NULL, NULL), 0);
    buf_add(&report, notes.data, notes.length);
    buf_add_char(&report, ']');
    yyjson_doc *doc = yyjson_read(out.data, out.length, 0);
    yyjson_doc *said = yyjson_read(report.data, report.length, 0);
    yyjson_val *list = yyjson_doc_get_root(doc);
    if (format == TOOLRACK_FORMAT_GEMINI) {
        list = yyjson_obj_get(yyjson_arr_get_first(list), "functionDeclarations");
    }
    size_t exported = yyjson_arr_size(list);
    size_t cuts = 0;
    size_t at;
    size_t all;
    yyjson_val *note;
    assert_non_null(said);
    yyjson_arr_foreach (yyjson_doc_get_root(said), at, all, note) {
        cuts += yyjson_equals_str(yyjson_obj_get(note, "kind"), "cut");
    }
    *ret_notes = cuts;
    yyjson_doc_free(said);
    yyjson_doc_free(doc);
    return exported;
}

static void limits_cut_the_last(void **state) {
    (void)state;
    size_t cuts;
    assert_int_equal(count_exported(TOOLRACK_FORMAT_OPENAI, 130, NULL, &cuts), 128);
    assert_int_equal(cuts, 2);
    assert_int_equal(count_exported(TOOLRACK_FORMAT_OPENAI_RESPONSES, 130, NULL, &cuts), 128);
    assert_int_equal(count_exported(TOOLRACK_FORMAT_GEMINI, 520, NULL, &cuts), 512);
    assert_int_equal(cuts, 8);
    assert_int_equal(count_exported(TOOLRACK_FORMAT_ANTHROPIC, 520, NULL, &cuts), 520);
    assert_int_equal(cuts, 0);
    struct format_limits limits = {.count = 3};
    assert_int_equal(count_exported(TOOLRACK_FORMAT_MCP, 5, &limits, &cuts), 3);
    assert_int_equal(cuts, 2);
    limits.count = 500; /* no more than the owner allows */
    assert_int_equal(count_exported(TOOLRACK_FORMAT_OPENAI, 200, &limits, &cuts), 128);
}

static void a_budget_is_never_exceeded(void **state) {
    (void)state;
    const struct format_tool tools[] = {
            tool_of("small", object_schema),
            {.name = "large",
             .description = "This one has so much to say about itself that there is no room",
             .schema = object_schema},
            tool_of("other", object_schema),
    };
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        size_t before = 0;
        for (size_t bytes = 1; bytes < 1500; bytes++) {
            const struct format_limits limits = {.bytes = bytes};
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            assert_int_equal(format_definitions(f, tools, 3, &limits, &out, NULL, NULL, NULL), 0);
            assert_true(out.length <= bytes || strcmp(out.data, "[]") == 0);
            assert_true(out.length >= before);
            before = out.length;
        }
        assert_true(before > 300); /* all three */
    }
    /* What is too large does not keep the next one out. */
    const struct format_limits limits = {.bytes = 310};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    assert_int_equal(format_definitions(TOOLRACK_FORMAT_ANTHROPIC, tools, 3, &limits, &out, NULL,
                                        NULL, NULL),
                     0);
    assert_non_null(strstr(out.data, "\"small\""));
    assert_null(strstr(out.data, "\"large\""));
    assert_non_null(strstr(out.data, "\"other\""));
}

static void a_name_stands_once(void **state) {
    (void)state;
    const struct format_tool tools[] = {tool_of("same", object_schema),
                                        tool_of("same", object_schema),
                                        tool_of("next", object_schema)};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf report = BUF_INIT;
    assert_int_equal(
            format_definitions(TOOLRACK_FORMAT_MCP, tools, 3, NULL, &out, &report, NULL, NULL), 0);
    assert_null(strstr(strstr(out.data, "\"same\"") + 1, "\"same\""));
    assert_non_null(strstr(out.data, "\"next\""));
    assert_string_equal(report.data, "{\"tool\":\"same\",\"kind\":\"refused\",\"at\":null,"
                                     "\"what\":\"another tool already has the name same\"}");
}

static void an_awkward_tool_spoils_no_other(void **state) {
    (void)state;
    static const char *const awkward[] = {"{",
                                          "5",
                                          "null",
                                          "{\"type\":\"array\"}",
                                          "{\"type\":\"object\",\"properties\":[]}",
                                          "{\"$ref\":\"#/nowhere\"}",
                                          "\xff"};
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        for (size_t i = 0; i < ARRAY_LENGTH(awkward); i++) {
            const struct format_tool tools[] = {tool_of("before", object_schema),
                                                tool_of("awkward", awkward[i]),
                                                tool_of("after", object_schema)};
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            CLEANUP(buf_finish) struct buf report = BUF_INIT;
            assert_int_equal(format_definitions(f, tools, 3, NULL, &out, &report, NULL, NULL), 0);
            yyjson_doc *doc = yyjson_read(out.data, out.length, 0);
            assert_non_null(doc);
            yyjson_doc_free(doc);
            assert_non_null(strstr(out.data, "\"before\""));
            assert_non_null(strstr(out.data, "\"after\""));
            if (strstr(out.data, "\"awkward\"") == NULL) {
                assert_non_null(strstr(report.data, "{\"tool\":\"awkward\",\"kind\":\"refused\""));
            }
        }
    }
}

static void what_is_deprecated_says_so(void **state) {
    (void)state;
    static const struct {
        struct format_tool tool;
        const char *wanted;
    } rows[] = {
            {{.description = "Add", .deprecated = "use sum"}, "\"Deprecated: use sum. Add\""},
            {{.description = "Add", .deprecated = "It goes!"}, "\"Deprecated: It goes! Add\""},
            {{.deprecated = "use sum"}, "\"Deprecated: use sum.\""},
            {{.description = "Add", .deprecated = ""}, "\"Add\""},
    };
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
            struct format_tool tool = rows[i].tool;
            char wanted[64];
            tool.name = "add";
            tool.schema = object_schema;
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            CLEANUP(buf_finish) struct buf report = BUF_INIT;
            assert_int_equal(format_definitions(f, &tool, 1, NULL, &out, &report, NULL, NULL), 0);
            (void)snprintf(wanted, sizeof wanted, "\"description\":%s", rows[i].wanted);
            if (strstr(out.data, wanted) == NULL) {
                fail_msg("%s: no %s in %s", toolrack_format_name(f), wanted, out.data);
            }
            assert_true((report.length > 0 && strstr(report.data, "deprecated") != NULL) ==
                        (tool.deprecated[0] != '\0'));
        }
    }
}

/* No provider gets the default of a secret, wherever the schema has it. */
static void the_default_of_a_secret_stays_here(void **state) {
    (void)state;
    static const struct format_tool tool = {
            .name = "login",
            .description = "Log in",
            .schema =
                    "{\"type\":\"object\",\"properties\":{\"user\":{\"type\":\"string\","
                    "\"default\":"
                    "\"ann\"},\"pass\":{\"type\":\"string\",\"writeOnly\":true,\"default\":"
                    "\"hunter2-a\",\"examples\":[\"hunter2-b\"]},\"more\":{\"type\":\"object\","
                    "\"properties\":{\"pin\":{\"type\":\"string\",\"format\":\"password\"}},"
                    "\"default\":{\"pin\":\"hunter2-c\"}},\"again\":{\"$ref\":\"#/$defs/p\","
                    "\"default\":\"hunter2-d\"},\"ratio\":{\"type\":\"number\",\"default\":0.10}},"
                    "\"$defs\":{\"p\":{\"type\":\"string\",\"writeOnly\":true}}}",
    };
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        CLEANUP(buf_finish) struct buf report = BUF_INIT;
        assert_int_equal(format_definitions(f, &tool, 1, NULL, &out, &report, NULL, NULL), 0);
        if (strstr(out.data, "hunter2") != NULL || strstr(out.data, "\"pin\"") == NULL ||
            strstr(report.data, "default of a secret") == NULL) {
            fail_msg("%s: %s %s", toolrack_format_name(f), out.data, report.data);
        }
        assert_true(f == TOOLRACK_FORMAT_OLLAMA || strstr(out.data, "\"ann\"") != NULL);
    }
}

/* --------------------------------------------------------------- what fits */

/* The parameters of a definition. */
static yyjson_val *parameters_of(enum toolrack_format format, yyjson_val *definition,
                                 const char **ret_name) {
    static const char *const keys[] = {"parameters",           "parameters", "input_schema",
                                       "parametersJsonSchema", "parameters", "inputSchema"};
    bool wrapped = format == TOOLRACK_FORMAT_OPENAI || format == TOOLRACK_FORMAT_OLLAMA;
    yyjson_val *function = wrapped ? yyjson_obj_get(definition, "function") : definition;
    *ret_name = yyjson_get_str(yyjson_obj_get(function, "name"));
    return yyjson_obj_get(function, keys[format]);
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

static void check_schema(enum toolrack_format format, yyjson_val *schema);

static void check_map(enum toolrack_format format, yyjson_val *map) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    assert_true(map == NULL || yyjson_is_obj(map));
    json_obj_foreach (map, at, count, key, value) {
        (void)key;
        check_schema(format, value);
    }
}

static void check_schema(enum toolrack_format format, yyjson_val *schema) {
    static const char *const ollama[] = {"type", "anyOf",      "items",    "description",
                                         "enum", "properties", "required", NULL};
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    assert_true(yyjson_is_obj(schema) ||
                (yyjson_is_bool(schema) &&
                 (format == TOOLRACK_FORMAT_ANTHROPIC || format == TOOLRACK_FORMAT_MCP)));
    json_obj_foreach (schema, at, count, key, value) {
        assert_true(format != TOOLRACK_FORMAT_OLLAMA || is_one_of(yyjson_get_str(key), ollama));
    }
    if (format != TOOLRACK_FORMAT_MCP) {
        assert_null(yyjson_obj_get(schema, "$schema"));
        assert_false(yyjson_is_arr(yyjson_obj_get(schema, "items")));
    }
    if (format == TOOLRACK_FORMAT_GEMINI) {
        assert_false(yyjson_is_arr(yyjson_obj_get(schema, "type")));
        assert_null(yyjson_obj_get(schema, "const"));
    }
    yyjson_val *pattern = yyjson_obj_get(schema, "pattern");
    const char *reason = NULL;
    assert_true(pattern == NULL ||
                ecma_check(yyjson_get_str(pattern), yyjson_get_len(pattern), &reason) == ECMA_OK);
    check_map(format, yyjson_obj_get(schema, "properties"));
    check_map(format, yyjson_obj_get(schema, "$defs"));
    if (yyjson_obj_get(schema, "items") != NULL && format != TOOLRACK_FORMAT_MCP) {
        check_schema(format, yyjson_obj_get(schema, "items"));
    }
    yyjson_arr_foreach (yyjson_obj_get(schema, "anyOf"), at, count, value) {
        check_schema(format, value);
    }
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS  "0123456789"

/* The names of the root's properties. */
static void check_keys(enum toolrack_format format, yyjson_val *properties) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (properties, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        if (provider_limits[format].keys == KEYS_ANTHROPIC) {
            assert_true(strspn(name, LETTERS DIGITS ".-") == strlen(name));
            assert_in_range(strlen(name), 1, 64);
        }
        if (provider_limits[format].keys == KEYS_IDENTIFIER) {
            assert_true(strspn(name, LETTERS DIGITS) == strlen(name));
            assert_null(strchr(DIGITS, name[0]));
            assert_in_range(strlen(name), 1, 64);
        }
    }
}

/* What the providers' rules ask for, said a second time and in another way. */
static void check_definition(enum toolrack_format format, yyjson_val *definition) {
    static const char *const combinators[] = {"anyOf", "oneOf", "allOf", "not", "enum", "$ref"};
    const char *name = NULL;
    yyjson_val *parameters = parameters_of(format, definition, &name);
    assert_non_null(name);
    assert_true(name_fits(format, name));
    assert_true(yyjson_equals_str(yyjson_obj_get(parameters, "type"), "object"));
    for (size_t i = 0; i < ARRAY_LENGTH(combinators) && format != TOOLRACK_FORMAT_MCP; i++) {
        assert_null(yyjson_obj_get(parameters, combinators[i]));
    }
    check_schema(format, parameters);
    check_keys(format, yyjson_obj_get(parameters, "properties"));
    struct schema *schema = NULL;
    struct toolrack_error err = {0};
    struct schema_options options = {.root_object = true};
    int code = schema_compile(parameters, &options, &schema, &err);
    if (code < 0) {
        print_error("%s %s: %s\n", toolrack_format_name(format), name, err.message);
    }
    assert_int_equal(code, 0);
    schema_destroy(schema);
}

/* Describe one tool; true when it was refused, with a reason. */
static bool describe(enum toolrack_format format, const struct format_tool *tool, struct buf *out,
                     struct buf *report) {
    struct toolrack_error err;
    assert_int_equal(format_definitions(format, tool, 1, NULL, out, report, NULL, &err), 0);
    yyjson_doc *doc = yyjson_read(out->data, out->length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_true(yyjson_is_arr(root));
    yyjson_val *definition = yyjson_arr_get_first(root);
    if (format == TOOLRACK_FORMAT_GEMINI && definition != NULL) {
        definition = yyjson_arr_get_first(yyjson_obj_get(definition, "functionDeclarations"));
    }
    bool refused = definition == NULL;
    if (refused) {
        assert_non_null(strstr(report->data, "\"kind\":\"refused\""));
    } else {
        check_definition(format, definition);
        assert_true(report->length == 0 || strstr(report->data, "\"kind\":\"refused\"") == NULL);
    }
    yyjson_doc_free(doc);
    return refused;
}

/* Parts of tools, each of which spoils a request of some provider, and some that do not. */
static const char *const made_names[] = {"tool %d", "a.b/%d", "\xe5\xb7\xa5 %d", "get_%d", "%d"};
static const char *const made_schemas[] = {
        "{\"type\":\"object\",\"properties\":{\"filter[name]\":{\"type\":\"string\"},\"2\":{}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\"},\"b\":true}}",
        "{\"anyOf\":[{\"properties\":{\"a\":{}}},{\"properties\":{\"b c\":{\"const\":1}}}]}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"string\",\"null\"]}}}",
        "{\"type\":\"dict\",\"properties\":{\"a\":{\"type\":\"float\"}},\"required\":[\"x\"]}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/definitions/"
        "D\"}},\"definitions\":{"
        "\"D\":{\"type\":\"object\",\"properties\":{\"$x\":{}}}}}",
};

static yyjson_val *list_of(enum toolrack_format format, yyjson_doc *doc) {
    yyjson_val *root = yyjson_doc_get_root(doc);
    return format == TOOLRACK_FORMAT_GEMINI
                   ? yyjson_obj_get(yyjson_arr_get_first(root), "functionDeclarations")
                   : root;
}

/* No definition is left out but for the number that a provider takes, and none spoils the rest. */
static void a_thousand_tools_spoil_no_request(void **state) {
    (void)state;
    enum { TOOLS = 1000 };
    static struct format_tool tools[TOOLS];
    static char names[TOOLS][64];
    CLEANUP(buf_finish) struct buf said = BUF_INIT;
    for (unsigned i = 0; i < 300; i++) {
        buf_add_text(&said, "This is said of it. ");
    }
    for (unsigned i = 0; i < TOOLS; i++) {
        size_t start = said.length;
        (void)snprintf(names[i], sizeof names[i], "%s", made_names[i % ARRAY_LENGTH(made_names)]);
        char *number = strstr(names[i], "%d");
        assert_non_null(number);
        (void)snprintf(number, sizeof names[i] - (size_t)(number - names[i]), "%u", i);
        /* Of all lengths around the limit. */
        tools[i] = tool_of(names[i], made_schemas[i % ARRAY_LENGTH(made_schemas)]);
        tools[i].description = said.data + start - (500 + i);
    }
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        CLEANUP(buf_finish) struct buf report = BUF_INIT;
        assert_int_equal(format_definitions(f, tools, TOOLS, NULL, &out, &report, NULL, NULL), 0);
        yyjson_doc *doc = yyjson_read(out.data, out.length, 0);
        yyjson_val *list = list_of(f, doc);
        size_t most = provider_limits[f].tools_max;
        size_t at;
        size_t count;
        yyjson_val *definition;
        assert_int_equal(yyjson_arr_size(list), most > 0 && most < TOOLS ? most : TOOLS);
        yyjson_arr_foreach (list, at, count, definition) {
            yyjson_val *function = yyjson_obj_get(definition, "function");
            yyjson_val *description =
                    yyjson_obj_get(function != NULL ? function : definition, "description");
            check_definition(f, definition);
            assert_true(provider_limits[f].description_max == 0 ||
                        yyjson_get_len(description) <= provider_limits[f].description_max);
        }
        yyjson_doc_free(doc);
    }
}

/* ------------------------------------------------------------------ golden */

/* Call `each` with the JSON of every line of a file; how many there were. */
static size_t for_each_line(const char *path, void (*each)(yyjson_val *line, void *user),
                            void *user) {
    FILE *file = fopen(path, "re");
    CLEANUP(freep) char *line = NULL;
    size_t room = 0;
    size_t count = 0;
    ssize_t length;
    assert_non_null(file);
    while ((length = getline(&line, &room, file)) > 0) {
        yyjson_doc *doc = yyjson_read(line, (size_t)length, 0);
        assert_non_null(doc);
        each(yyjson_doc_get_root(doc), user);
        yyjson_doc_free(doc);
        count++;
    }
    (void)fclose(file);
    return count;
}

static const char *text_of(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

struct golden {
    enum toolrack_format format;
    FILE *expected; /* or where it is written */
    bool write;
};

static void check_golden(yyjson_val *line, void *user) {
    struct golden *golden = user;
    const struct format_tool tool = {.name = text_of(line, "name"),
                                     .title = text_of(line, "title"),
                                     .description = text_of(line, "description"),
                                     .schema = text_of(line, "schema"),
                                     .result_schema = text_of(line, "result")};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf report = BUF_INIT;
    CLEANUP(buf_finish) struct buf both = BUF_INIT;
    (void)describe(golden->format, &tool, &out, &report);
    buf_printf(&both, "{\"definitions\":%s,\"report\":[%s]}\n", out.data,
               report.length > 0 ? report.data : "");
    assert_false(both.failed);
    if (golden->write) {
        assert_true(fputs(both.data, golden->expected) >= 0);
        return;
    }
    CLEANUP(freep) char *expected = NULL;
    size_t room = 0;
    assert_true(getline(&expected, &room, golden->expected) > 0);
    assert_string_equal(both.data, expected);
}

static void awkward_tools_become_what_is_written(void **state) {
    (void)state;
    struct golden golden = {.write = getenv("GOLDEN_WRITE") != NULL};
    for (golden.format = 0; golden.format < FORMATS; golden.format++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/awkward-%s.jsonl", TEST_GOLDEN,
                       toolrack_format_name(golden.format));
        golden.expected = fopen(path, golden.write ? "we" : "re");
        assert_non_null(golden.expected);
        assert_true(for_each_line(TEST_GOLDEN "/awkward-tools.jsonl", check_golden, &golden) >= 30);
        assert_true(golden.write || fgetc(golden.expected) == EOF);
        (void)fclose(golden.expected);
    }
}

/* ---------------------------------------------------------------- the wild */

/* docker-mcp lists arguments instead of a schema. */
static char *schema_of_arguments(yyjson_val *arguments) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *argument;
    buf_add_text(&out, "{\"type\":\"object\",\"properties\":{");
    yyjson_arr_foreach (arguments, at, count, argument) {
        const char *name = text_of(argument, "name");
        const char *type = text_of(argument, "type");
        buf_add_text(&out, at > 0 ? "," : "");
        buf_add_json_string(&out, name, strlen(name));
        buf_printf(&out, ":{\"type\":\"%s\"}", type != NULL ? type : "string");
    }
    buf_add_text(&out, "}}");
    return buf_steal(&out);
}

static char *schema_of_wild(yyjson_val *tool) {
    static const char *const keys[] = {"parameters", "inputSchema", "input_parameters",
                                       "arguments"};
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        yyjson_val *schema = yyjson_obj_get(tool, keys[i]);
        if (schema != NULL) {
            return yyjson_is_arr(schema) ? schema_of_arguments(schema)
                                         : yyjson_val_write(schema, 0, NULL);
        }
    }
    return NULL; /* says nothing of its arguments */
}

struct wild {
    size_t converted[TOOLRACK_FORMAT_COUNT];
    size_t refused[TOOLRACK_FORMAT_COUNT];
};

static void check_wild(yyjson_val *line, void *user) {
    struct wild *wild = user;
    yyjson_val *tool = yyjson_obj_get(line, "tool");
    if (yyjson_obj_get(tool, "function") != NULL) {
        tool = yyjson_obj_get(tool, "function");
    }
    CLEANUP(freep) char *schema = schema_of_wild(tool);
    const char *slug = text_of(tool, "slug");
    const struct format_tool said = {.name = slug != NULL ? slug : text_of(tool, "name"),
                                     .description = text_of(tool, "description"),
                                     .schema = schema};
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        CLEANUP(buf_finish) struct buf report = BUF_INIT;
        if (describe(f, &said, &out, &report)) {
            print_message("# %s refuses %s: %s\n", toolrack_format_name(f), said.name, report.data);
            wild->refused[f]++;
        } else {
            wild->converted[f]++;
        }
    }
}

static void tools_in_the_wild_are_taken(void **state) {
    (void)state;
    const char *path = getenv("TOOLRACK_WILD_TOOLS");
    struct wild wild = {0};
    FILE *file = fopen(path != NULL ? path : TEST_WILD_TOOLS, "re");
    if (file == NULL && path == NULL) {
        print_message("# there is no %s: set TOOLRACK_WILD_TOOLS to it\n", TEST_WILD_TOOLS);
        skip();
    }
    assert_non_null(file); /* whoever names one wants it to be read */
    (void)fclose(file);
    size_t count = for_each_line(path != NULL ? path : TEST_WILD_TOOLS, check_wild, &wild);
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        print_message("# %s: %zu of %zu converted, %zu refused\n", toolrack_format_name(f),
                      wild.converted[f], count, wild.refused[f]);
        assert_int_equal(wild.converted[f] + wild.refused[f], count);
        assert_true(wild.refused[f] * 50 <= count); /* refusing is for the few */
    }
}

/* -------------------------------------------------------------- generators */

static void ignore_change(void *user, const char *pointer, const char *fix, const char *cause) {
    (void)user;
    assert_true(pointer[0] == '\0' || pointer[0] == '/');
    assert_true(fix[0] != '\0' && cause[0] != '\0');
}

/* As the configuration registers it; NULL: no memory. */
static char *translate(yyjson_val *schema) {
    yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, schema);
    char *text = NULL;
    if (copy != NULL) {
        translate_schema(doc, copy, ignore_change, NULL);
    }
    if (json_doc_is_whole(doc)) {
        text = yyjson_mut_val_write(copy, 0, NULL);
    }
    yyjson_mut_doc_free(doc);
    return text;
}

/* Arguments with the names that the definitions of a format have. */
static yyjson_doc *rename_keys(enum toolrack_format format, yyjson_val *arguments) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *renamed = yyjson_mut_obj(doc);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_mut_doc_set_root(doc, renamed);
    json_obj_foreach (arguments, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        char wire[PROVIDER_KEY_MAX + 1];
        bool is_other = provider_limits[format].keys != KEYS_ANY &&
                        format_wire_key(provider_limits[format].keys, name, strlen(name), wire);
        (void)yyjson_mut_obj_add(renamed, yyjson_mut_strcpy(doc, is_other ? wire : name),
                                 yyjson_val_mut_copy(doc, value));
    }
    yyjson_doc *made = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return made;
}

/* An export may allow more than the tool does, never less: but for strict mode, in which a model
 * writes null for what it leaves out. */
static void check_allows(enum toolrack_format format, const char *text, size_t length,
                         yyjson_val *taken) {
    yyjson_doc *doc = yyjson_read(text, length, 0);
    const char *name = NULL;
    struct schema *schema = NULL;
    struct toolrack_error err;
    yyjson_val *definition = yyjson_arr_get_first(list_of(format, doc));
    yyjson_val *parameters = parameters_of(format, definition, &name);
    size_t at;
    size_t count;
    yyjson_val *arguments;
    assert_int_equal(schema_compile(parameters, NULL, &schema, &err), 0);
    yyjson_arr_foreach (taken, at, count, arguments) {
        yyjson_doc *renamed = rename_keys(format, arguments);
        struct schema_failure failure;
        if (strstr(text, "\"strict\":true") == NULL &&
            !schema_validate(schema, yyjson_doc_get_root(renamed), &failure)) {
            fail_msg("%s does not allow for %s: %s: %s %s\n%s", toolrack_format_name(format), name,
                     failure.field, failure.reason, failure.keyword, text);
        }
        yyjson_doc_free(renamed);
    }
    schema_destroy(schema);
    yyjson_doc_free(doc);
}

static void check_generated(yyjson_val *line, void *user) {
    CLEANUP(freep) char *schema = translate(yyjson_obj_get(line, "schema"));
    const struct format_tool tool = tool_of(text_of(line, "name"), schema);
    (void)user;
    assert_non_null(schema);
    for (enum toolrack_format f = 0; yyjson_obj_get(line, "taken") != NULL && f < FORMATS; f++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        CLEANUP(buf_finish) struct buf report = BUF_INIT;
        if (describe(f, &tool, &out, &report)) {
            fail_msg("%s refuses %s: %s", toolrack_format_name(f), tool.name, report.data);
        }
        check_allows(f, out.data, out.length, yyjson_obj_get(line, "taken"));
    }
}

static void what_generators_write_is_exported(void **state) {
    (void)state;
    assert_true(for_each_line(TEST_GOLDEN "/generated-schemas.jsonl", check_generated, NULL) > 100);
}

static void fail_change(void *user, const char *pointer, const char *fix, const char *cause) {
    (void)user;
    fail_msg("%s: %s; %s", pointer, cause, fix);
}

/* A URI in `$id` is JSON Schema 2020-12 as it is; providers follow pointers alone. */
static void names_of_schemas_become_places(void **state) {
    (void)state;
    static const char text[] =
            "{\"type\":\"object\",\"properties\":{\"n\":{\"$id\":\"T0\",\"type\":\"object\","
            "\"properties\":{\"k\":{\"$ref\":\"T0\"},\"o\":{\"$ref\":\"#/properties/k\"}}}}}";
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf report = BUF_INIT;
    const struct format_tool tool = tool_of("tree", text);
    yyjson_doc *read = yyjson_read(text, sizeof text - 1, 0);
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(read, NULL);
    translate_schema(doc, yyjson_mut_doc_get_root(doc), fail_change, NULL);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(read);
    assert_false(describe(TOOLRACK_FORMAT_ANTHROPIC, &tool, &out, &report));
    assert_non_null(strstr(out.data, "{\"n\":{\"type\":\"object\",\"properties\":{"
                                     "\"k\":{\"$ref\":\"#/properties/n\"},"
                                     "\"o\":{\"$ref\":\"#/properties/n/properties/k\"}}}}"));
    assert_non_null(strstr(report.data, "the reference \\\"T0\\\" is written"));
}

/* ------------------------------------------------------------------ memory */

static void translate_without_memory(yyjson_val *line, void *user) {
    yyjson_val *schema = yyjson_obj_get(line, "schema");
    CLEANUP(freep) char *whole = translate(schema);
    bool hit = true;
    (void)user;
    for (unsigned n = 1; hit; n++) {
        failing_malloc_set_one(n);
        CLEANUP(freep) char *text = translate(schema);
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(text != NULL || hit);
        if (text != NULL) {
            assert_string_equal(text, whole);
        }
    }
}

static void a_schema_is_translated_wholly(void **state) {
    (void)state;
    assert_true(for_each_line(TEST_GOLDEN "/generated-schemas.jsonl", translate_without_memory,
                              NULL) > 100);
}

static void without_memory_it_says_so(void **state) {
    (void)state;
    static const char schema[] =
            "{\"type\":\"dict\",\"allOf\":[{\"$ref\":\"#/definitions/A\"}],\"definitions\":{\"A\":{"
            "\"properties\":{\"p\":{\"type\":[\"string\",\"null\"],\"minLength\":1,\"pattern\":\"(?"
            "s).\"},"
            "\"r\":{\"not\":{\"pattern\":\"(?i)a\"}},\"q\":{"
            "\"const\":1}"
            "}}},\"anyOf\":[{\"required\":[\"p\"]},{\"required\":[\"q\"]}]}";
    struct format_tool tools[] = {tool_of("a tool", schema), tool_of("b", object_schema)};
    tools[1].deprecated = "use c";
    for (enum toolrack_format f = 0; f < FORMATS; f++) {
        CLEANUP(buf_finish) struct buf whole = BUF_INIT;
        CLEANUP(buf_finish) struct buf notes = BUF_INIT;
        assert_int_equal(format_definitions(f, tools, 2, NULL, &whole, &notes, NULL, NULL), 0);
        bool hit = true;
        for (unsigned n = 1; hit; n++) {
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            CLEANUP(buf_finish) struct buf report = BUF_INIT;
            struct toolrack_error err = {0};
            assert_true(n < 10000);
            if (n % 2 == 0) { /* and all after it, or only that one */
                failing_malloc_set((n + 1) / 2);
            } else {
                failing_malloc_set_one((n + 1) / 2);
            }
            int code = format_definitions(f, tools, 2, NULL, &out, &report, NULL, &err);
            hit = failing_malloc_hit();
            failing_malloc_set(0);
            assert_true(hit || code == 0);
            if (code == 0) {
                assert_string_equal(out.data, whole.data);
                assert_string_equal(report.data, notes.data);
            } else {
                assert_int_equal(code, TOOLRACK_E_NO_MEMORY);
                assert_int_equal(err.code, code);
            }
        }
    }
}

/* ------------------------------------------------------------------- hints */

static void a_hint_that_nobody_gave_is_left_out(void **state) {
    (void)state;
    static const struct {
        struct format_tool tool;
        const char *annotations;
    } rows[] = {
            {{.name = "unknown"}, "{}"},
            {{.name = "granted", .dangerous = true}, "{}"},
            {{.name = "asks", .read_only = true},
             "{\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":false,"
             "\"openWorldHint\":false}"},
            {{.name = "sends", .open_world = true, .dangerous = true},
             "{\"readOnlyHint\":false,\"idempotentHint\":false,\"openWorldHint\":true}"},
            {{.name = "wipes", .destructive = true, .dangerous = true},
             "{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,"
             "\"openWorldHint\":false}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        CLEANUP(buf_finish) struct buf expected = BUF_INIT;
        buf_printf(&expected,
                   "[{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\",\"properties\":{}},"
                   "\"annotations\":%s}]",
                   rows[i].tool.name, rows[i].annotations);
        assert_int_equal(format_definitions(TOOLRACK_FORMAT_MCP, &rows[i].tool, 1, NULL, &out, NULL,
                                            NULL, NULL),
                         0);
        assert_string_equal(out.data, expected.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_good_name_stays),
            cmocka_unit_test(a_name_that_looks_made_is_changed),
            cmocka_unit_test(a_long_name_keeps_its_end),
            cmocka_unit_test(names_are_unique_and_stable),
            cmocka_unit_test(formats_have_names),
            cmocka_unit_test(none_is_an_empty_list),
            cmocka_unit_test(limits_cut_the_last),
            cmocka_unit_test(a_budget_is_never_exceeded),
            cmocka_unit_test(a_name_stands_once),
            cmocka_unit_test(an_awkward_tool_spoils_no_other),
            cmocka_unit_test(what_is_deprecated_says_so),
            cmocka_unit_test(the_default_of_a_secret_stays_here),
            cmocka_unit_test(a_thousand_tools_spoil_no_request),
            cmocka_unit_test(awkward_tools_become_what_is_written),
            cmocka_unit_test(tools_in_the_wild_are_taken),
            cmocka_unit_test(what_generators_write_is_exported),
            cmocka_unit_test(names_of_schemas_become_places),
            cmocka_unit_test(a_hint_that_nobody_gave_is_left_out),
            cmocka_unit_test(a_schema_is_translated_wholly),
            cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests_name("definitions", tests, NULL, NULL);
}
