#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "failing-malloc.h"
#include "schema/regex.h"
#include "schema/schema.h"
#include "schema/uri.h"

/* ------------------------------------------------------------------------------------- helpers */

static yyjson_doc *parse(const char *text) {
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    if (doc == NULL) {
        fail_msg("not JSON: %s", text);
    }
    return doc;
}

static int compile_with(const char *text, const struct schema_options *options, struct schema **ret,
                        struct toolrack_error *err) {
    yyjson_doc *doc = parse(text);
    int code = schema_compile(yyjson_doc_get_root(doc), options, ret, err);
    yyjson_doc_free(doc); /* the schema must not need it any more */
    return code;
}

static struct schema *compile(const char *text) {
    struct schema *schema = NULL;
    struct toolrack_error err = {0};
    if (compile_with(text, NULL, &schema, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
    return schema;
}

static bool validate(const struct schema *schema, const char *text,
                     struct schema_failure *failure) {
    yyjson_doc *doc = parse(text);
    bool valid = schema_validate(schema, yyjson_doc_get_root(doc), failure);
    yyjson_doc_free(doc);
    return valid;
}

static void expect_valid(const char *schema_text, const char *text) {
    struct schema *schema = compile(schema_text);
    struct schema_failure failure = {0};
    if (!validate(schema, text, &failure)) {
        fail_msg("%s: %s: %s", text, failure.field, failure.reason);
    }
    schema_destroy(schema);
}

static void expect_reason(const char *schema_text, const char *text, const char *field,
                          const char *reason) {
    struct schema *schema = compile(schema_text);
    struct schema_failure failure = {0};
    assert_false(validate(schema, text, &failure));
    assert_string_equal(failure.reason, reason);
    assert_string_equal(failure.field, field);
    assert_int_equal(failure.code, TOOLRACK_E_INVALID_ARGUMENTS);
    schema_destroy(schema);
}

static void expect_refused(const char *schema_text, const struct schema_options *options,
                           const char *field, const char *message) {
    struct schema *schema = NULL;
    struct toolrack_error err = {0};
    assert_int_equal(compile_with(schema_text, options, &schema, &err), TOOLRACK_E_INVALID);
    assert_string_equal(err.message, message);
    assert_string_equal(err.field, field);
    assert_null(schema);
}

#define TOOL                                                                          \
    "{\"type\":\"object\",\"properties\":{"                                           \
    "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":8},"                 \
    "\"mode\":{\"type\":\"string\",\"enum\":[\"literal\",\"regex\",\"glob\"]},"       \
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"default\":10}," \
    "\"ratio\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1},"           \
    "\"recursive\":{\"type\":\"boolean\"}},"                                          \
    "\"required\":[\"path\",\"mode\"],\"additionalProperties\":false}"

/* -------------------------------------------------------------------------------------- reasons */

static void a_tools_faults_say_how_to_mend_them(void **state) {
    (void)state;
    expect_valid(TOOL, "{\"path\":\"a\",\"mode\":\"glob\"}");
    expect_reason(TOOL, "{\"mode\":\"glob\"}", "/path", "required property \"path\" is missing");
    expect_reason(TOOL, "{\"path\":\"a\",\"mode\":\"exact\"}", "/mode",
                  "must be one of \"literal\", \"regex\", \"glob\", not \"exact\"");
    expect_reason(TOOL, "{\"path\":\"a\",\"mode\":\"glob\",\"limit\":0}", "/limit",
                  "must be at least 1, not 0");
    expect_reason(TOOL, "{\"path\":\"a\",\"mode\":\"glob\",\"limit\":1001}", "/limit",
                  "must be at most 1000, not 1001");
    expect_reason(TOOL, "{\"path\":\"a\",\"mode\":\"glob\",\"limit\":1.5}", "/limit",
                  "must be an integer, not 1.5");
    expect_reason(TOOL, "{\"path\":\"a\",\"mode\":\"glob\",\"limit\":\"1\"}", "/limit",
                  "must be an integer, not a string; write 1 without quotes");
    expect_reason(TOOL, "{\"path\":\"a\",\"mode\":\"glob\",\"ratio\":0}", "/ratio",
                  "must be greater than 0, not 0");
    expect_reason(TOOL, "{\"path\":\"\",\"mode\":\"glob\"}", "/path",
                  "must have at least 1 character, not 0");
    expect_reason(TOOL, "{\"path\":\"123456789\",\"mode\":\"glob\"}", "/path",
                  "must have at most 8 characters, not 9");
    expect_reason(TOOL, "{\"path\":\"a\",\"mode\":\"glob\",\"recursiv\":true}", "/recursiv",
                  "unknown property \"recursiv\"; did you mean \"recursive\"?");
    expect_reason(TOOL, "{\"path\":\"a\",\"mode\":\"glob\",\"xyzzy\":true}", "/xyzzy",
                  "unknown property \"xyzzy\"; the known properties are \"path\", \"mode\", "
                  "\"limit\", \"ratio\", "
                  "\"recursive\"");
    expect_reason(TOOL, "[]", "", "must be an object, not an array");
}

static void other_faults(void **state) {
    (void)state;
    expect_reason("{\"const\":5}", "6", "", "must be 5, not 6");
    expect_reason("{\"type\":[\"string\",\"null\"]}", "1", "",
                  "must be a string or null, not an integer");
    expect_reason("{\"multipleOf\":0.01}", "0.015", "", "must be a multiple of 0.01, not 0.015");
    expect_reason("{\"pattern\":\"^a+$\"}", "\"b\"", "", "must match the pattern ^a+$, not \"b\"");
    expect_reason("{\"minItems\":2}", "[1]", "", "must have at least 2 items, not 1");
    expect_reason("{\"prefixItems\":[true],\"items\":false}", "[1,2]", "",
                  "must have at most 1 item, not 2");
    expect_reason("{\"uniqueItems\":true}", "[1,2,1.0]", "",
                  "must not repeat a value: items 0 and 2 are equal");
    expect_reason("{\"items\":{\"properties\":{\"a/b~\":false}}}", "[{},{\"a/b~\":1}]", "/1/a~1b~0",
                  "is not allowed here");
    expect_reason("{\"contains\":{\"type\":\"null\"}}", "[1]", "",
                  "must have at least 1 matching item, not 0");
    expect_reason("{\"minProperties\":2}", "{\"a\":1}", "",
                  "must have at least 2 properties, not 1");
    expect_reason("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", "/b",
                  "required property \"b\" is missing; \"a\" requires it");
    expect_reason("{\"not\":{\"type\":\"string\"}}", "\"\"", "",
                  "must not match the schema under \"not\"");
    expect_reason("{\"properties\":{\"a\":true},\"unevaluatedProperties\":false}", "{\"b\":1}",
                  "/b", "unknown property \"b\"");
    expect_reason("{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}", "/abc",
                  "must have at most 2 characters, not 3");
    expect_reason("{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]}}", "{\"a\":1}",
                  "/b", "required property \"b\" is missing");
    expect_reason("{\"additionalProperties\":false}", "{\"a\":1}", "/a",
                  "unknown property \"a\"; no properties are allowed here");
}

/* All keywords of numbers at once. */
static void no_keyword_hides_another(void **state) {
    (void)state;
    static const char schema[] =
            "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\",\"minimum\":1,"
            "\"maximum\":9,\"exclusiveMinimum\":0,\"exclusiveMaximum\":10,\"multipleOf\":2}}}";
    expect_valid(schema, "{\"n\":4}");
    expect_reason(schema, "{\"n\":0.5}", "/n", "must be at least 1, not 0.5");
    expect_reason(schema, "{\"n\":9.5}", "/n", "must be at most 9, not 9.5");
    expect_reason(schema, "{\"n\":3}", "/n", "must be a multiple of 2, not 3");
}

static void alternatives_give_the_most_useful_reason(void **state) {
    (void)state;
    expect_reason("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"},{\"type\":\"null\"}]}",
                  "true", "", "must be a string, an integer or null, not a boolean");
    expect_reason("{\"oneOf\":[{\"const\":\"a\"},{\"const\":\"b\"},{\"enum\":[1,2]}]}", "3", "",
                  "must be one of \"a\", \"b\", 1, 2, not 3");
    expect_reason("{\"properties\":{\"a\":{\"enum\":[]}}}", "{\"a\":1}", "/a",
                  "no value is allowed here: the enum of the schema is empty");
    expect_reason("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"object\",\"required\":[\"id\"]}]}",
                  "{}", "/id", "required property \"id\" is missing");
    /* A union that a constant tells apart: only the branch that was meant counts. */
    static const char shapes[] =
            "{\"oneOf\":["
            "{\"properties\":{\"kind\":{\"const\":\"circle\"},\"r\":{\"type\":\"number\"}}},"
            "{\"properties\":{\"kind\":{\"const\":\"box\"},\"w\":{\"minimum\":1}}}]}";
    expect_reason(shapes, "{\"kind\":\"box\",\"w\":0}", "/w", "must be at least 1, not 0");
    expect_reason(shapes, "{\"kind\":\"circle\",\"r\":\"1\"}", "/r",
                  "must be a number, not a string; write 1 without quotes");
    expect_reason(shapes, "{\"kind\":\"star\"}", "/kind",
                  "must be one of \"circle\", \"box\", not \"star\"");
    expect_reason("{\"oneOf\":[{\"minimum\":1},{\"maximum\":9},{\"type\":\"null\"}]}", "5", "",
                  "must match exactly one of 3 alternatives, but matches number 1 and number 2");
}

static void long_texts_are_cut(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"");
    for (int i = 0; i < 300; i++) {
        buf_add_text(&text, "\xc3\xa9");
    }
    buf_add_text(&text, "\":1}");
    struct schema *schema = compile("{\"additionalProperties\":false}");
    struct schema_failure failure;
    assert_false(validate(schema, text.data, &failure));
    assert_true(strlen(failure.field) < SCHEMA_FIELD_MAX);
    assert_int_equal(strlen(failure.field) % 2, 1); /* a slash and whole characters */
    assert_non_null(strstr(failure.reason, "...\""));
    schema_destroy(schema);
}

/* ------------------------------------------------------------------------------ form of schemas */

static void malformed_schemas_are_refused_with_the_place(void **state) {
    (void)state;
    expect_refused("{\"properties\":{\"limit\":{\"minimum\":\"1\"}}}", NULL,
                   "/properties/limit/minimum",
                   "/properties/limit/minimum: must be a number, not a string");
    expect_refused("{\"type\":\"int\"}", NULL, "/type",
                   "/type: must be null, boolean, object, array, integer, number or string, not "
                   "\"int\"; did you mean \"integer\"?");
    expect_refused("[]", NULL, "", "the schema: must be an object or a boolean, not an array");
    expect_refused("{\"required\":true}", NULL, "/required",
                   "/required: must be an array of names, not a boolean");
    expect_refused("{\"required\":[\"a\",\"b\",\"a\"]}", NULL, "/required/2",
                   "/required/2: repeats the name \"a\"");
    expect_refused("{\"properties\":{\"a\":1}}", NULL, "/properties/a",
                   "/properties/a: must be a schema (an object or a boolean), not an integer");
    expect_refused("{\"allOf\":[]}", NULL, "/allOf", "/allOf: must hold at least one schema");
    expect_refused("{\"minLength\":-1}", NULL, "/minLength", "/minLength: must not be negative");
    expect_refused("{\"minLength\":1.5}", NULL, "/minLength",
                   "/minLength: must be a whole number, not 1.5");
    expect_refused("{\"multipleOf\":0}", NULL, "/multipleOf",
                   "/multipleOf: must be greater than 0");
    expect_refused("{\"pattern\":\"a(\"}", NULL, "/pattern",
                   "/pattern: is not a regular expression: a parenthesis is not closed");
    expect_refused("{\"patternProperties\":{\"(*UTF)\":true}}", NULL, "/patternProperties/(*UTF)",
                   "/patternProperties/(*UTF): is not a regular expression: there is nothing to "
                   "repeat");
    expect_refused("{\"$ref\":\"#/$defs/nope\"}", NULL, "/$ref",
                   "/$ref: there is nothing at \"#/$defs/nope\" in the schema");
    expect_refused("{\"$ref\":\"#nope\"}", NULL, "/$ref",
                   "/$ref: no schema has the anchor \"nope\"");
    expect_refused(
            "{\"$ref\":\"http://example.com/x\"}", NULL, "/$ref",
            "/$ref: no schema with the URI \"http://example.com/x\" was given, and references "
            "are never fetched; put it under $defs and refer to it there");
    expect_refused("{\"title\":\"x\",\"$ref\":\"#/title\"}", NULL, "/$ref",
                   "/$ref: at \"#/title\" there is a string; a schema is an object or a boolean");
    expect_refused("{\"$schema\":\"http://example.com/x\"}", NULL, "/$schema",
                   "/$schema: the dialect \"http://example.com/x\" is not known; use "
                   "\"https://json-schema.org/draft/2020-12/schema\" or "
                   "\"http://json-schema.org/draft-07/schema#\"");
    expect_refused("{\"$ref\":\"#\"}", NULL, "",
                   "the schema: refers to itself endlessly; a cycle of $ref must pass through a "
                   "property or an item");
    expect_refused("{\"$anchor\":\"a b\"}", NULL, "/$anchor",
                   "/$anchor: must be a word of letters, digits, _, - and . that begins with a "
                   "letter or _");
    expect_refused("{\"$anchor\":[1]}", NULL, "/$anchor",
                   "/$anchor: must be a string, not an array");
    expect_refused("{\"$anchor\":{\"x\":1}}", NULL, "/$anchor",
                   "/$anchor: must be a string, not an object");
    expect_valid("{\"x-unknown\":{\"minimum\":\"1\"},\"format\":\"nobody-knows\"}", "1");
}

static void tools_must_take_an_object(void **state) {
    (void)state;
    struct schema_options options = SCHEMA_OPTIONS_TOOL;
    expect_refused("{\"properties\":{}}", &options, "",
                   "the schema: a tool's schema must say what its root is; add \"type\": "
                   "\"object\"");
    expect_refused("{\"type\":\"array\"}", &options, "/type",
                   "/type: a tool's arguments are an object; change the root's type to \"object\"");
    expect_refused("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"default\":"
                   "\"x\"}}}",
                   &(struct schema_options){.root_object = true, .check_defaults = true},
                   "/properties/a/default",
                   "/properties/a/default: does not fit its own schema: must be an integer, not a "
                   "string");
}

static void a_default_that_does_not_fit_is_ignored(void **state) {
    (void)state;
    struct schema_options options = SCHEMA_OPTIONS_TOOL;
    struct schema *schema = NULL;
    char ignored[256] = "";
    options.ignored = ignored;
    options.ignored_room = sizeof ignored;
    assert_int_equal(
            compile_with("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\","
                         "\"default\":\"x\"},\"b\":{\"$ref\":\"#/$defs/c\"}},\"$defs\":{"
                         "\"c\":{\"type\":\"string\",\"default\":null}}}",
                         &options, &schema, NULL),
            0);
    assert_string_equal(ignored, "/properties/a/default: does not fit its own schema: must be an "
                                 "integer, not a string");
    /* The other one, of a property that is a reference, does not fit either. */
    yyjson_doc *doc = parse("{}");
    yyjson_val *filled = NULL;
    assert_int_equal(schema_fill_defaults(schema, yyjson_doc_get_root(doc), NULL, &filled, NULL),
                     0);
    assert_ptr_equal(filled, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    schema_destroy(schema);
}

/* Whether they are ignored or refuse the schema; where the places are in memory does not matter. */
static void of_several_defaults_that_do_not_fit_the_first_is_told(void **state) {
    (void)state;
    static const char told[] = "/properties/p0/default: does not fit its own schema: must be an "
                               "integer, not a string";
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    char ignored[256] = "";
    struct schema *schema = NULL;
    struct schema_options options = SCHEMA_OPTIONS_TOOL;
    options.ignored = ignored;
    options.ignored_room = sizeof ignored;
    buf_add_text(&text, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 40; i++) {
        buf_printf(&text, "%s\"p%d\":{\"type\":\"integer\",\"default\":\"x\"}", i > 0 ? "," : "",
                   i);
    }
    buf_add_text(&text, "}}");
    assert_false(text.failed);
    assert_int_equal(compile_with(text.data, &options, &schema, NULL), 0);
    assert_string_equal(ignored, told);
    schema_destroy(schema);
    expect_refused(text.data, &(struct schema_options){.root_object = true, .check_defaults = true},
                   "/properties/p0/default", told);
}

static yyjson_val *lookup(void *user, const char *uri) {
    return strcmp(uri, "https://example.com/name") == 0 ? user : NULL;
}

static void documents_come_from_the_lookup(void **state) {
    (void)state;
    yyjson_doc *other = parse("{\"$defs\":{\"n\":{\"maxLength\":3}},\"type\":\"string\"}");
    struct schema_options options = {.lookup = lookup, .lookup_user = yyjson_doc_get_root(other)};
    struct schema *schema = NULL;
    assert_int_equal(compile_with("{\"$id\":\"https://example.com/a\",\"$ref\":\"name#/$defs/n\"}",
                                  &options, &schema, NULL),
                     0);
    yyjson_doc_free(other); /* copied */
    assert_true(validate(schema, "\"abc\"", NULL));
    assert_false(validate(schema, "\"abcd\"", NULL));
    schema_destroy(schema);
}

static void an_error_in_another_document_names_it(void **state) {
    (void)state;
    yyjson_doc *other = parse("{\"minimum\":true}");
    struct schema_options options = {.lookup = lookup, .lookup_user = yyjson_doc_get_root(other)};
    expect_refused("{\"$ref\":\"https://example.com/name\"}", &options, "/minimum",
                   "https://example.com/name#/minimum: must be a number, not a boolean");
    yyjson_doc_free(other);
}

/* ---------------------------------------------------------------------------------------- slots */

static void slots_hold_the_properties_in_order(void **state) {
    (void)state;
    struct schema *schema = compile(TOOL);
    assert_int_equal(schema_property_count(schema), 5);
    assert_string_equal(schema_property_name(schema, 2), "limit");
    assert_null(schema_property_name(schema, 5));
    yyjson_doc *doc = parse("{\"ratio\":0.5,\"mode\":\"glob\",\"path\":\"p\"}");
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *slots[7];
    assert_true(schema_validate_object(schema, root, slots, 7, NULL));
    assert_ptr_equal(slots[0], yyjson_obj_get(root, "path"));
    assert_ptr_equal(slots[1], yyjson_obj_get(root, "mode"));
    assert_null(slots[2]);
    assert_ptr_equal(slots[3], yyjson_obj_get(root, "ratio"));
    assert_null(slots[4]);
    assert_null(slots[6]);
    assert_true(schema_validate_object(schema, root, slots, 1, NULL)); /* fewer is allowed */
    assert_ptr_equal(slots[0], yyjson_obj_get(root, "path"));
    yyjson_doc_free(doc);
    schema_destroy(schema);
}

static void slots_take_the_first_of_two(void **state) {
    (void)state;
    struct schema *schema =
            compile("{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"b\"]}");
    yyjson_doc *doc = parse("{\"a\":1,\"b\":0,\"a\":2}");
    yyjson_val *slots[2];
    assert_true(schema_validate_object(schema, yyjson_doc_get_root(doc), slots, 2, NULL));
    assert_int_equal(yyjson_get_int(slots[0]), 1);
    assert_null(slots[1]); /* b is required, but not listed */
    yyjson_doc_free(doc);
    doc = parse("[1]");
    struct schema_failure failure;
    assert_false(schema_validate_object(schema, yyjson_doc_get_root(doc), slots, 2, &failure));
    assert_string_equal(failure.reason, "must be an object, not an array");
    yyjson_doc_free(doc);
    schema_destroy(schema);
}

/* Whether an object whose member `a` has the schema is taken at first sight. */
static bool takes_quickly(const char *schema_text, const char *text) {
    CLEANUP(buf_finish) struct buf table = BUF_INIT;
    CLEANUP(buf_finish) struct buf object = BUF_INIT;
    buf_printf(&table, "{\"type\":\"object\",\"properties\":{\"a\":%s}}", schema_text);
    buf_printf(&object, "{\"a\":%s}", text);
    struct schema *schema = compile(table.data);
    yyjson_doc *doc = parse(object.data);
    yyjson_val *slots[1];
    bool takes = schema_validate_quickly(schema, yyjson_doc_get_root(doc), slots, 1);
    assert_true(!takes || slots[0] == yyjson_obj_get(yyjson_doc_get_root(doc), "a"));
    yyjson_doc_free(doc);
    schema_destroy(schema);
    return takes;
}

/* The schema of a member as that of a whole value is checked without a quick record. */
static bool is_valid_alone(const char *schema_text, const char *text) {
    struct schema *schema = compile(schema_text);
    bool valid = validate(schema, text, NULL);
    schema_destroy(schema);
    return valid;
}

static void what_is_taken_quickly_is_valid(void **state) {
    (void)state;
    static const char *const schemas[] = {
            "true",
            "false",
            "{}",
            "{\"type\":\"string\"}",
            "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
            "{\"type\":\"string\",\"minLength\":18446744073709551615}",
            "{\"type\":\"string\",\"pattern\":\"^a\"}",
            "{\"enum\":[\"ab\",\"abcdefghi\",\"\"]}",
            "{\"enum\":[\"ab\",1]}",
            "{\"enum\":[\"ab\"],\"const\":\"ab\"}",
            "{\"const\":\"ab\"}",
            "{\"const\":1}",
            "{\"enum\":[\"abcd\",\"a\"],\"maxLength\":1}",
            "{\"type\":[\"string\",\"number\"],\"maximum\":3,\"maxLength\":2}",
            "{\"type\":\"integer\"}",
            "{\"type\":\"integer\",\"minimum\":-3,\"maximum\":3}",
            "{\"type\":\"integer\",\"minimum\":2}",
            "{\"type\":\"integer\",\"exclusiveMinimum\":2,\"exclusiveMaximum\":4}",
            "{\"type\":\"integer\",\"maximum\":-1}",
            "{\"type\":\"integer\",\"minimum\":18446744073709551615}",
            "{\"type\":\"integer\",\"multipleOf\":2}",
            "{\"type\":\"number\"}",
            "{\"type\":\"number\",\"minimum\":-0.5,\"maximum\":2.5}",
            "{\"type\":\"number\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":3}",
            "{\"type\":\"number\",\"maximum\":9007199254740993}",
            "{\"type\":\"number\",\"minimum\":1e300}",
            "{\"type\":\"boolean\"}",
            "{\"type\":[\"boolean\",\"null\"]}",
            "{\"not\":{\"type\":\"null\"}}",
            "{\"allOf\":[{\"maximum\":1}],\"type\":\"integer\"}",
    };
    static const char *const values[] = {"null",
                                         "true",
                                         "false",
                                         "0",
                                         "1",
                                         "2",
                                         "3",
                                         "4",
                                         "-1",
                                         "-3",
                                         "-4",
                                         "2.0",
                                         "2.5",
                                         "0.0",
                                         "-0.5",
                                         "3.0",
                                         "1e15",
                                         "1.1e15",
                                         "-1e15",
                                         "1e301",
                                         "18446744073709551615",
                                         "\"\"",
                                         "\"a\"",
                                         "\"ab\"",
                                         "\"\\u0061b\"",
                                         "\"abc\"",
                                         "\"abcd\"",
                                         "\"abcdefghi\"",
                                         "\"\u00e4\u00e4\"",
                                         "\"\U0001f600\"",
                                         "[]",
                                         "{}",
                                         "[1]"};
    unsigned taken = 0;
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            bool takes = takes_quickly(schemas[i], values[k]);
            if (takes && !is_valid_alone(schemas[i], values[k])) {
                fail_msg("%s is taken by %s", values[k], schemas[i]);
            }
            taken += takes;
        }
    }
    assert_true(taken > 120);
    assert_true(takes_quickly("{\"type\":\"string\",\"maxLength\":9}", "\"abc\""));
    assert_true(takes_quickly("{\"enum\":[\"x\",\"ab\"]}", "\"ab\""));
    assert_true(takes_quickly("{\"type\":\"integer\",\"minimum\":-9}", "4"));
    assert_true(takes_quickly("{\"type\":\"number\",\"exclusiveMinimum\":0}", "0.5"));
    assert_true(takes_quickly("{\"type\":\"boolean\"}", "true"));
    assert_false(takes_quickly("{\"type\":\"number\"}", "9007199254740993.0")); /* rounded */
    assert_false(takes_quickly("{}", "{\"b\":1,\"b\":2}"));
    assert_false(takes_quickly("{}", "[[]]"));
}

static void what_is_taken_quickly_is_a_flat_table(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool takes;
    } cases[] = {
            {"{\"path\":\"p\",\"mode\":\"glob\"}", true},
            {"{\"mode\":\"glob\",\"ratio\":1,\"path\":\"p\"}", true}, /* in another order */
            {"{\"path\":\"p\"}", false},
            {"{\"path\":\"p\",\"mode\":\"glob\",\"other\":1}", false},
            {"{\"path\":\"p\",\"mode\":\"glob\",\"path\":\"p\"}", false},
            {"{\"mode\":\"glob\",\"path\":\"p\",\"mode\":\"glob\"}", false},
            {"{\"path\":\"p\",\"mode\":\"globe\"}", false},
            {"[]", false},
    };
    struct schema *schema = compile(TOOL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        yyjson_doc *doc = parse(cases[i].text);
        yyjson_val *root = yyjson_doc_get_root(doc);
        yyjson_val *slots[7];
        assert_int_equal(schema_validate_quickly(schema, root, slots, 7), cases[i].takes);
        for (size_t k = 0; cases[i].takes && k < 7; k++) {
            const char *name = schema_property_name(schema, k);
            assert_ptr_equal(slots[k], name != NULL ? yyjson_obj_get(root, name) : NULL);
        }
        yyjson_doc_free(doc);
    }
    schema_destroy(schema);
    static const char *const not_quick[] = {
            "{\"required\":[\"b\"],\"properties\":{\"a\":{}}}",
            "{\"minProperties\":1,\"properties\":{\"a\":{}}}",
            "{\"patternProperties\":{\"a\":{}},\"properties\":{\"a\":{}}}",
            "{\"dependentRequired\":{\"a\":[\"b\"]},\"properties\":{\"a\":{}}}",
            "{\"propertyNames\":{},\"properties\":{\"a\":{}}}",
            "{\"allOf\":[true],\"properties\":{\"a\":{}}}",
            "{\"type\":\"array\",\"properties\":{\"a\":{}}}",
            "{\"enum\":[{\"a\":1}],\"properties\":{\"a\":{}}}",
    };
    yyjson_doc *doc = parse("{\"a\":1}");
    for (size_t i = 0; i < sizeof not_quick / sizeof not_quick[0]; i++) {
        schema = compile(not_quick[i]);
        assert_false(schema_validate_quickly(schema, yyjson_doc_get_root(doc), NULL, 0));
        schema_destroy(schema);
    }
    yyjson_doc_free(doc);
}

/* A table large enough to be hashed, and more required names than bits. */
static void large_tables(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf schema_text = BUF_INIT;
    CLEANUP(buf_finish) struct buf required = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    enum { COUNT = 200 };
    for (int i = 0; i < COUNT; i++) {
        buf_printf(&schema_text, "%s\"p%d\":{\"const\":%d}", i > 0 ? "," : "", i, i);
        buf_printf(&required, "%s\"p%d\"", i > 0 ? "," : "", i);
        buf_printf(&text, "%s\"p%d\":%d", i > 0 ? "," : "", COUNT - 1 - i, COUNT - 1 - i);
    }
    CLEANUP(buf_finish) struct buf whole = BUF_INIT;
    buf_printf(&whole, "{\"properties\":{");
    buf_add(&whole, schema_text.data, schema_text.length);
    buf_printf(&whole, "},\"additionalProperties\":false,\"required\":[");
    buf_add(&whole, required.data, required.length);
    buf_printf(&whole, "]}");
    CLEANUP(buf_finish) struct buf object = BUF_INIT;
    buf_add_char(&object, '{');
    buf_add(&object, text.data, text.length);
    buf_add_char(&object, '}');
    struct schema *schema = compile(whole.data);
    yyjson_doc *doc = parse(object.data);
    yyjson_val *slots[COUNT];
    assert_true(schema_validate_object(schema, yyjson_doc_get_root(doc), slots, COUNT, NULL));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(yyjson_get_int(slots[i]), i);
    }
    yyjson_doc_free(doc);
    struct schema_failure failure;
    assert_false(validate(schema, "{\"p0\":0,\"p2\":2}", &failure));
    assert_string_equal(failure.field, "/p1");
    schema_destroy(schema);
}

/* ------------------------------------------------------------------------------------- defaults */

static void expect_filled(const char *schema_text, const char *text, const char *expected) {
    struct schema *schema = compile(schema_text);
    yyjson_doc *doc = parse(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *filled = NULL;
    assert_int_equal(schema_fill_defaults(schema, root, NULL, &filled, NULL), 0);
    if (expected == NULL) {
        assert_ptr_equal(filled, root);
    } else {
        assert_ptr_not_equal(filled, root);
        char *written = yyjson_val_write(filled, 0, NULL);
        assert_string_equal(written, expected);
        free(written);
        free(filled);
    }
    yyjson_doc_free(doc);
    schema_destroy(schema);
}

static void defaults_are_filled_in(void **state) {
    (void)state;
    expect_filled(TOOL, "{\"path\":\"a\"}", "{\"path\":\"a\",\"limit\":10}");
    expect_filled(TOOL, "{\"limit\":3}", NULL);
    expect_filled(TOOL, "[1]", NULL);
    expect_filled("{\"items\":{\"properties\":{\"a\":{\"default\":[1,{}]}}}}",
                  "[{\"a\":1},{\"b\":{\"c\":[]}},7]",
                  "[{\"a\":1},{\"b\":{\"c\":[]},\"a\":[1,{}]},7]");
    expect_filled("{\"$ref\":\"#/$defs/d\",\"$defs\":{\"d\":{\"properties\":{\"x\":{\"$ref\":"
                  "\"#/$defs/e\"}}},\"e\":{\"default\":null}}}",
                  "{}", "{\"x\":null}");
    /* A default may itself miss something. */
    expect_filled(
            "{\"properties\":{\"o\":{\"default\":{},\"properties\":{\"i\":{\"default\":1}}}}}",
            "{}", "{\"o\":{\"i\":1}}");
    /* Alternatives do not say which of them was meant. */
    expect_filled("{\"anyOf\":[{\"properties\":{\"a\":{\"default\":1}}}]}", "{}", NULL);
    /* Of two, the outer one wins, and once. */
    expect_filled("{\"properties\":{\"a\":{\"default\":1}},\"allOf\":[{\"properties\":{\"a\":{"
                  "\"default\":2},\"b\":{\"default\":3}}}]}",
                  "{}", "{\"a\":1,\"b\":3}");
}

static void schemas_without_defaults_cost_nothing_to_fill(void **state) {
    (void)state;
    struct schema *schema = compile("{\"$defs\":{\"x\":{\"properties\":{\"a\":{\"default\":1}}}}}");
    assert_false(schema_has_defaults(schema)); /* nothing leads there */
    schema_destroy(schema);
    schema = compile(TOOL);
    assert_true(schema_has_defaults(schema));
    schema_destroy(schema);
}

static void endless_defaults_are_a_limit(void **state) {
    (void)state;
    struct schema *schema = compile("{\"properties\":{\"a\":{\"$ref\":\"#\",\"default\":{}}}}");
    yyjson_doc *doc = parse("{}");
    yyjson_val *filled = NULL;
    struct toolrack_error err;
    assert_int_equal(schema_fill_defaults(schema, yyjson_doc_get_root(doc), NULL, &filled, &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "deeper than 64 levels"));
    yyjson_doc_free(doc);
    schema_destroy(schema);
}

/* --------------------------------------------------------------------------------------- limits */

static void expect_limit(struct schema *schema, yyjson_doc *doc, const char *limit) {
    struct schema_failure failure;
    assert_false(schema_validate(schema, yyjson_doc_get_root(doc), &failure));
    assert_int_equal(failure.code, TOOLRACK_E_LIMIT_EXCEEDED);
    if (strstr(failure.reason, limit) == NULL) {
        fail_msg("%s", failure.reason);
    }
    yyjson_doc_free(doc);
    schema_destroy(schema);
}

static yyjson_doc *nested(size_t depth) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (size_t i = 0; i < depth; i++) {
        buf_add_char(&text, '[');
    }
    for (size_t i = 0; i < depth; i++) {
        buf_add_char(&text, ']');
    }
    return parse(text.data);
}

static void hostile_input_meets_named_limits(void **state) {
    (void)state;
    expect_limit(compile("{\"items\":{\"$ref\":\"#\"}}"), nested(100000),
                 "nested deeper than 256 levels");
    expect_limit(compile("{\"anyOf\":[{\"$ref\":\"#\"},false]}"), parse("1"),
                 "nested deeper than 256 levels");
    expect_limit(compile("{\"not\":{\"$ref\":\"#\"}}"), parse("1"),
                 "nested deeper than 256 levels");
    expect_limit(compile("{\"pattern\":\"^(a+)+$\"}"),
                 parse("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\""),
                 "backtracked more than 1000000 times");
    CLEANUP(buf_finish) struct buf deep = BUF_INIT;
    buf_add_text(&deep, "[");
    for (int side = 0; side < 2; side++) {
        buf_add_text(&deep, side == 0 ? "" : ",");
        for (int i = 0; i < 1000; i++) {
            buf_add_char(&deep, '[');
        }
        for (int i = 0; i < 1000; i++) {
            buf_add_char(&deep, ']');
        }
    }
    buf_add_text(&deep, "]");
    expect_limit(compile("{\"uniqueItems\":true}"), parse(deep.data),
                 "compare are nested deeper than 128 levels");
    struct schema_options options = {.steps_max = 50};
    struct schema *schema = NULL;
    assert_int_equal(compile_with("{\"items\":{\"type\":\"array\"}}", &options, &schema, NULL), 0);
    CLEANUP(buf_finish) struct buf wide = BUF_INIT;
    for (int i = 0; i < 100; i++) {
        buf_add_text(&wide, i == 0 ? "[[]" : ",[]");
    }
    buf_add_text(&wide, "]");
    expect_limit(schema, parse(wide.data), "more than 50 steps");
}

static void deep_schemas_are_refused(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (int i = 0; i < 10000; i++) {
        buf_add_text(&text, "{\"not\":");
    }
    buf_add_text(&text, "{}");
    for (int i = 0; i < 10000; i++) {
        buf_add_char(&text, '}');
    }
    struct schema *schema = NULL;
    struct toolrack_error err;
    assert_int_equal(compile_with(text.data, NULL, &schema, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "nested deeper than 128 levels"));
}

static void many_items_are_compared_in_bounded_time(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (int i = 0; i < 200000; i++) {
        buf_printf(&text, "%s{\"k\":%d}", i == 0 ? "[" : ",", i);
    }
    buf_add_text(&text, "]");
    expect_valid("{\"uniqueItems\":true}", text.data);
    text.length--;
    buf_add_text(&text, ",{\"k\":7.0}]");
    expect_reason("{\"uniqueItems\":true}", text.data, "",
                  "must not repeat a value: items 7 and 200000 are equal");
}

/* -------------------------------------------------------------------------------------- numbers */

static void numbers_are_compared_exactly(void **state) {
    (void)state;
    expect_valid("{\"maximum\":9007199254740993}", "9007199254740993");
    expect_reason("{\"maximum\":9007199254740992}", "9007199254740993", "",
                  "must be at most 9007199254740992, not 9007199254740993");
    expect_reason("{\"exclusiveMinimum\":18446744073709551614}", "18446744073709551614", "",
                  "must be greater than 18446744073709551614, not 18446744073709551614");
    expect_valid("{\"exclusiveMinimum\":18446744073709551614}", "18446744073709551615");
    expect_valid("{\"minimum\":-9223372036854775808}", "-9223372036854775808");
    expect_valid("{\"minimum\":0.5,\"maximum\":1.5}", "1");
    expect_reason("{\"minimum\":1.5}", "1", "", "must be at least 1.5, not 1");
    expect_reason("{\"maximum\":9007199254740993}", "9007199254740994.0", "",
                  "must be at most 9007199254740993, not 9007199254740994.0");
    expect_valid("{\"minimum\":1e300}", "1e301");
    expect_valid("{\"type\":\"integer\",\"multipleOf\":0.5}", "1e308");
    expect_valid("{\"multipleOf\":3}", "-9");
    expect_valid("{\"enum\":[1.0,[{\"a\":1,\"b\":2}]]}", "1");
    expect_valid("{\"const\":[{\"a\":1,\"b\":2}]}", "[{\"b\":2.0,\"a\":1}]");
    expect_reason("{\"const\":false}", "0", "", "must be false, not 0");
}

/* As calls and tools are read: integers beyond 64 bits keep their digits, in the schema too. */
static void check_exactly(const char *schema_text, const char *text, bool expected) {
    yyjson_doc *schema_doc =
            yyjson_read(schema_text, strlen(schema_text), YYJSON_READ_BIGNUM_AS_RAW);
    yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_BIGNUM_AS_RAW);
    struct schema *schema = NULL;
    struct toolrack_error err = {0};
    struct schema_failure failure = {0};
    assert_int_equal(schema_compile(yyjson_doc_get_root(schema_doc), NULL, &schema, &err), 0);
    if (schema_validate(schema, yyjson_doc_get_root(doc), &failure) != expected) {
        fail_msg("%s of %s: %s", text, schema_text, expected ? failure.reason : "valid");
    }
    schema_destroy(schema);
    yyjson_doc_free(doc);
    yyjson_doc_free(schema_doc);
}

/* About 2^53, 2^63, 2^64 and beyond, each keyword with each of them as value and as bound. */
static void integers_beyond_64_bits_are_compared_exactly(void **state) {
    (void)state;
    static const char *const ascending[] = {
            "-18446744073709551617", "-9223372036854775810",
            "-9223372036854775809",  "-9223372036854775808",
            "-9007199254740993",     "0",
            "9007199254740992",      "9007199254740993",
            "9223372036854775807",   "9223372036854775808",
            "18446744073709551615",  "18446744073709551616",
            "18446744073709551617",  "1000000000000000000000000000000"};
    static const struct {
        const char *keyword;
        int least, most; /* of the order of value and bound: what is valid */
    } rows[] = {{"minimum", 0, 1},
                {"exclusiveMinimum", 1, 1},
                {"maximum", -1, 0},
                {"exclusiveMaximum", -1, -1},
                {"const", 0, 0}};
    for (size_t r = 0; r < ARRAY_LENGTH(rows); r++) {
        for (size_t b = 0; b < ARRAY_LENGTH(ascending); b++) {
            for (size_t v = 0; v < ARRAY_LENGTH(ascending); v++) {
                char schema[128];
                int order = v < b ? -1 : v > b;
                (void)snprintf(schema, sizeof schema, "{\"%s\":%s,\"type\":\"integer\"}",
                               rows[r].keyword, ascending[b]);
                check_exactly(schema, ascending[v],
                              order >= rows[r].least && order <= rows[r].most);
            }
        }
    }
    check_exactly("{\"enum\":[1,18446744073709551616]}", "18446744073709551616", true);
    check_exactly("{\"enum\":[1,18446744073709551616]}", "18446744073709551617", false);
    check_exactly("{\"const\":18446744073709551616}", "18446744073709551616.0", true);
    check_exactly("{\"uniqueItems\":true}", "[18446744073709551616,18446744073709551617]", true);
    check_exactly("{\"uniqueItems\":true}", "[18446744073709551617,18446744073709551617]", false);
    check_exactly("{\"multipleOf\":3}", "18446744073709551618", true);
    check_exactly("{\"multipleOf\":3}", "18446744073709551617", false);
    check_exactly("{\"multipleOf\":0.01}", "18446744073709551617", true);
    check_exactly("{\"multipleOf\":18446744073709551617}", "1", false);
    check_exactly("{\"type\":\"string\"}", "18446744073709551617", false);
    check_exactly("{\"type\":[\"null\",\"number\"]}", "-18446744073709551617", true);
}

/* ----------------------------------------------------------------------------- small functions */

static void expect_resolved(const char *base, const char *reference, const char *expected) {
    struct arena arena;
    arena_init(&arena, NULL, 0);
    struct uri uri = uri_split(reference, strlen(reference));
    assert_string_equal(uri_resolve(&arena, base, &uri), expected);
    arena_finish(&arena);
}

/* Examples of RFC 3986, section 5.4. */
static void references_resolve(void **state) {
    (void)state;
    static const char base[] = "http://a/b/c/d;p?q";
    expect_resolved(base, "g:h", "g:h");
    expect_resolved(base, "g", "http://a/b/c/g");
    expect_resolved(base, "./g/", "http://a/b/c/g/");
    expect_resolved(base, "/g", "http://a/g");
    expect_resolved(base, "//g", "http://g");
    expect_resolved(base, "?y", "http://a/b/c/d;p?y");
    expect_resolved(base, "g?y#s", "http://a/b/c/g?y");
    expect_resolved(base, "", "http://a/b/c/d;p?q");
    expect_resolved(base, ".", "http://a/b/c/");
    expect_resolved(base, "..", "http://a/b/");
    expect_resolved(base, "../../../g", "http://a/g");
    expect_resolved(base, "/./g/../h", "http://a/h");
    expect_resolved(base, "g/./h", "http://a/b/c/g/h");
    expect_resolved("urn:a:b", "#x", "urn:a:b");
    expect_resolved("", "other.json", "other.json");
    expect_resolved("http://a", "b", "http://a/b");
}

static void expect_ecma(const char *pattern, const char *reason) {
    const char *why = NULL;
    enum ecma_result result = ecma_check(pattern, strlen(pattern), &why);
    assert_int_equal(result, reason == NULL ? ECMA_OK : ECMA_INVALID);
    if (reason != NULL) {
        assert_string_equal(why, reason);
    }
}

static void regular_expressions_are_those_of_ecma(void **state) {
    (void)state;
    expect_ecma("^(?:a|b)*?[^\\]\\-x-z]{2,3}$", NULL);
    expect_ecma("a{,3}}]", NULL);
    expect_ecma("\\p{Script=Greek}\\P{Lu}\\p{gc=Letter}", NULL);
    expect_ecma("a++", "there is nothing to repeat");
    expect_ecma("(?i)a", "(? must be followed by :, =, !, <=, <! or <name>");
    expect_ecma("(?>a)", "(? must be followed by :, =, !, <=, <! or <name>");
    expect_ecma("\\A", "a backslash before a letter that has no meaning");
    expect_ecma("[z-a]", "a range in brackets is in the wrong order");
    expect_ecma("a{3,2}", "a repeat in braces is in the wrong order");
    expect_ecma("(a)\\2", "a back reference names a group that does not exist");
    expect_ecma("[a", "a bracket is not closed");
    expect_ecma("a)", "a parenthesis is not opened");
    expect_ecma("a\\", "it ends in a backslash");
    expect_valid("{\"pattern\":\"^[\\\\w.+-]+@[[:alpha:]]$\"}", "\"a.b@:]\"");
    expect_valid("{\"pattern\":\"^[^]$\"}", "\"\\n\"");
    expect_valid("{\"pattern\":\"^\\\\ud83d\\\\udc32$\"}", "\"\\ud83d\\udc32\"");
    expect_reason("{\"pattern\":\"^abc$\"}", "\"abc\\n\"", "",
                  "must match the pattern ^abc$, not \"abc\\u000a\"");
    expect_reason("{\"pattern\":\"[]\"}", "\"abc\"", "", "must match the pattern [], not \"abc\"");
}

/* `text` is a JSON string. */
static void expect_match(const char *pattern, const char *text, bool matches) {
    CLEANUP(buf_finish) struct buf schema = BUF_INIT;
    buf_add_text(&schema, "{\"pattern\":");
    buf_add_json_string(&schema, pattern, strlen(pattern));
    buf_add_char(&schema, '}');
    struct schema *compiled = compile(schema.data);
    assert_int_equal(validate(compiled, text, NULL), matches);
    schema_destroy(compiled);
}

static void patterns_of_python_are_checked_exactly(void **state) {
    (void)state;
    expect_match("\\Aab\\Z", "\"ab\"", true);
    expect_match("\\Aab\\Z", "\"ab\\n\"", false);
    expect_match("\\Aab\\z", "\"xab\"", false);
    expect_match("(?m)\\Ab\\Z", "\"a\\nb\"", false);
    expect_match("(?m)^b$", "\"a\\nb\\nc\"", true);
    expect_match("(?i)^ab$", "\"aB\"", true);
    expect_match("a(?i:b)c", "\"aBc\"", true);
    expect_match("a(?i:b)c", "\"aBC\"", false);
    expect_match("(?i)a(?-i:b)", "\"AB\"", false);
    expect_match("(?s)^a.b$", "\"a\\nb\"", true);
    expect_match("(?s)(?-s:a.)b", "\"a\\nb\"", false);
    expect_match("^(?s:a.)b.$", "\"a\\nb\\n\"", false);
    expect_match("(?P<quote>['\"]).*(?P=quote)", "\"'a\\\"'\"", true);
    expect_match("^(?P<quote>['\"])?a(?P=quote)$", "\"'a'\"", true);
    expect_match("^(?P<quote>['\"])?a(?P=quote)$", "\"a\"", false);
    expect_match("(?a)^(?P<n>\\w)+$", "\"ab\"", true);
}

static void patterns_that_nobody_reads_are_refused_with_the_place(void **state) {
    (void)state;
    static const char at[] = "/properties/a/pattern";
    static const struct {
        const char *pattern;
        const char *reason;
    } rows[] = {
            {"(?x) a", "of flags in (?...), only a, i, m and s are known"},
            {"a(?i)b", "flags such as (?i) must be at the start"},
            {"(?i", "a parenthesis is not closed"},
            {"(?P=a)", "(?P=name) names no group before it"},
            {"(?P=)", "(?P= must be followed by a group's name and )"},
            {"(?P<a b>c)", "a group's name must be a word in angle brackets"},
            {"(?(1)a|b)", "(? must be followed by :, =, !, <=, <! or <name>"},
            {"[\\\\A]", "a backslash before a letter that has no meaning"},
            {"\\\\Z+", "there is nothing to repeat"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char schema[256];
        char message[256];
        (void)snprintf(schema, sizeof schema, "{\"properties\":{\"a\":{\"pattern\":\"%s\"}}}",
                       rows[i].pattern);
        (void)snprintf(message, sizeof message, "%s: is not a regular expression: %s", at,
                       rows[i].reason);
        expect_refused(schema, NULL, at, message);
    }
}

static void expect_standard(const char *pattern, enum ecma_result expected, const char *text) {
    CLEANUP(freep) char *standard = NULL;
    const char *reason = NULL;
    assert_int_equal(ecma_standard(pattern, strlen(pattern), &standard, &reason), expected);
    if (expected == ECMA_REWRITTEN) {
        assert_string_equal(standard, text);
        assert_int_equal(ecma_check(standard, strlen(standard), &reason), ECMA_OK);
    } else if (text != NULL) {
        assert_string_equal(reason, text);
    }
}

static void patterns_are_written_in_ecma_where_that_is_exact(void **state) {
    (void)state;
    static const char unset[] = "(?P=name) for a group that may be left out of a match";
    expect_standard("^[\\w.+\\-]+\\/(?<n>\\.)\\k<n>a{2}[]$", ECMA_OK, NULL);
    expect_standard("\\A(?P<year>\\d{4})-\\d\\Z", ECMA_REWRITTEN, "^(?<year>\\d{4})-\\d$");
    expect_standard("(?P<q>['\"]).*(?P=q)1", ECMA_REWRITTEN, "(?<q>['\"]).*\\k<q>1");
    expect_standard("(?P<q>['\"])?.*(?P=q)", ECMA_NO_STANDARD, unset);
    expect_standard("(?P<q>a){0,2}(?P=q)", ECMA_NO_STANDARD, unset);
    expect_standard("(?:(?P<q>a)|b)(?P=q)", ECMA_NO_STANDARD, unset);
    expect_standard("(?P<q>a(?P=q))", ECMA_NO_STANDARD, unset);
    expect_standard("(?i)a", ECMA_NO_STANDARD, "the flag i, that case is ignored");
    expect_standard("a(?m:^b)", ECMA_NO_STANDARD, "the flag m, that ^ and $ are about lines");
    expect_standard("(?s)a.[.]", ECMA_REWRITTEN, "a[\\s\\S][.]");
    expect_standard("(?as)a(?s-a:.)", ECMA_REWRITTEN, "a(?:[\\s\\S])");
    expect_standard("a\\@\\_[\\-\\_]", ECMA_REWRITTEN, "a@_[\\-_]");
    expect_standard("]}a{x", ECMA_REWRITTEN, "\\]\\}a\\{x");
    expect_standard("(?x)a", ECMA_INVALID, "of flags in (?...), only a, i, m and s are known");
}

static void formats_are_asserted_when_asked(void **state) {
    (void)state;
    assert_true(schema_knows_format("date-time"));
    assert_false(schema_knows_format("color"));
    struct schema_options options = {.assert_format = true};
    struct schema *schema = NULL;
    struct schema_failure failure;
    assert_int_equal(compile_with("{\"format\":\"date\"}", &options, &schema, NULL), 0);
    assert_true(validate(schema, "\"2024-02-29\"", NULL));
    assert_false(validate(schema, "\"2023-02-29\"", &failure));
    assert_string_equal(failure.reason,
                        "must be a valid date, such as \"2026-01-31\", not \"2023-02-29\"");
    assert_string_equal(failure.keyword, "format");
    schema_destroy(schema);
    expect_valid("{\"format\":\"date\"}", "\"2023-02-29\"");
}

/* Where the tool can still be asked for something else. */
static void formats_of_parameters_are_asserted_and_those_of_results_are_not(void **state) {
    (void)state;
    static const char text[] = "{\"type\":\"object\",\"properties\":{\"when\":{\"type\":\"string\","
                               "\"format\":\"date-time\"},\"to\":{\"format\":\"email\"}}}";
    static const char *const wrong[] = {"{\"when\":\"tomorrow at 10\"}",
                                        "{\"when\":\"2026-05-01\"}", "{\"when\":\"1714557600\"}",
                                        "{\"to\":\"Bob\"}", "{\"to\":\"[a@b.cc](mailto:a@b.cc)\"}"};
    struct schema_options parameters = SCHEMA_OPTIONS_TOOL;
    struct schema_options results = SCHEMA_OPTIONS_RESULT;
    struct schema *of_parameters = NULL;
    struct schema *of_results = NULL;
    struct schema_failure failure;
    assert_int_equal(compile_with(text, &parameters, &of_parameters, NULL), 0);
    assert_int_equal(compile_with(text, &results, &of_results, NULL), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_false(validate(of_parameters, wrong[i], &failure));
        assert_string_equal(failure.keyword, "format");
        assert_true(validate(of_results, wrong[i], NULL));
    }
    assert_true(validate(of_parameters,
                         "{\"when\":\"2026-05-01T10:00:00+02:00\",\"to\":\"a@b.cc\"}", NULL));
    schema_destroy(of_parameters);
    schema_destroy(of_results);
}

static void draft_7_by_option_and_by_schema(void **state) {
    (void)state;
    static const char text[] = "{\"items\":[{\"type\":\"integer\"}],\"additionalItems\":false}";
    struct schema_options options = {.dialect = SCHEMA_DRAFT_7};
    struct schema *schema = NULL;
    assert_int_equal(compile_with(text, &options, &schema, NULL), 0);
    assert_true(validate(schema, "[1]", NULL));
    assert_false(validate(schema, "[1,2]", NULL));
    schema_destroy(schema);
    expect_refused(text, NULL, "/items",
                   "/items: must be a schema (an object or a boolean), not an array");
    expect_reason("{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"items\":[true],"
                  "\"additionalItems\":{\"type\":\"null\"}}",
                  "[1,2]", "/1", "must be null, not an integer");
}

static void stay_on_this_cpu(void) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((unsigned)sched_getcpu(), &here);
    assert_int_equal(sched_setaffinity(0, sizeof here, &here), 0);
}

/* ------------------------------------------------------------------------- memory and threads */

static void validating_allocates_nothing(void **state) {
    (void)state;
    struct schema *schema = compile(TOOL);
    yyjson_doc *doc = parse("{\"path\":\"a\",\"mode\":\"glob\",\"limit\":0}");
    struct schema_failure failure;
    yyjson_val *slots[5];
    failing_malloc_set(0);
    assert_false(schema_validate_object(schema, yyjson_doc_get_root(doc), slots, 5, &failure));
    assert_int_equal(failing_malloc_count(), 0);
    yyjson_doc_free(doc);
    schema_destroy(schema);
    /* A pattern's matcher is made once for each CPU and kept. */
    stay_on_this_cpu();
    schema = compile("{\"pattern\":\"^a\"}");
    assert_true(validate(schema, "\"ab\"", NULL));
    doc = parse("\"ac\"");
    failing_malloc_set(0);
    assert_true(schema_validate(schema, yyjson_doc_get_root(doc), NULL));
    assert_int_equal(failing_malloc_count(), 0);
    yyjson_doc_free(doc);
    schema_destroy(schema);
}

static const char everything[] =
        "{\"$id\":\"http://a/b\",\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
        "\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"^(x|[^a-f])+$\",\"default\":"
        "\"z\"},"
        "\"b\":{\"enum\":[1,\"2\",[3]],\"minimum\":1},\"c\":{\"items\":{\"$ref\":\"#d\"},"
        "\"uniqueItems\":true,\"contains\":true}},\"required\":[\"b\"],\"patternProperties\":{\"^x-"
        "\":"
        "{\"$dynamicRef\":\"#m\"}},\"$defs\":{\"d\":{\"$anchor\":\"d\",\"not\":false},\"m\":{"
        "\"$dynamicAnchor\":\"m\"},\"e\":{\"$ref\":\"http://json-schema.org/draft-07/schema#\"}},"
        "\"dependentSchemas\":{\"b\":{\"anyOf\":[true,{\"maxProperties\":9}]}},"
        "\"unevaluatedProperties\":false}";

static int compile_validate_and_fill(yyjson_val *root, yyjson_val *instance) {
    struct schema *schema = NULL;
    struct schema_options options = SCHEMA_OPTIONS_TOOL;
    struct toolrack_error err = {0};
    int code = schema_compile(root, &options, &schema, &err);
    if (code < 0) {
        assert_int_equal(err.code, code);
        return code;
    }
    struct schema_failure failure;
    yyjson_val *filled = NULL;
    if (!schema_validate(schema, instance, &failure)) {
        code = failure.code;
    }
    if (code == 0) {
        code = schema_fill_defaults(schema, instance, NULL, &filled, NULL);
    }
    if (code == 0) {
        assert_ptr_not_equal(filled, instance);
        free(filled);
    }
    schema_destroy(schema);
    return code;
}

static void running_out_of_memory_anywhere_is_an_error(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"b\":1,\"x-y\":{\"a\":1},\"c\":[0");
    for (int i = 1; i < 300; i++) {
        buf_printf(&text, ",%d", i); /* enough for uniqueItems to use the heap */
    }
    buf_add_text(&text, "]}");
    yyjson_doc *schema_doc = parse(everything);
    yyjson_doc *doc = parse(text.data);
    unsigned n = 1;
    int code = TOOLRACK_E_NO_MEMORY;
    for (; code != 0; n++) {
        assert_true(n < 10000);
        failing_malloc_set(n);
        code = compile_validate_and_fill(yyjson_doc_get_root(schema_doc), yyjson_doc_get_root(doc));
        failing_malloc_set(0);
        if (code != 0 && code != TOOLRACK_E_NO_MEMORY) {
            fail_msg("allocation %u: %d", n, code);
        }
    }
    assert_true(n > 10);
    yyjson_doc_free(doc);
    yyjson_doc_free(schema_doc);
}

#define THREADS 12

static void *validate_many_times(void *user) {
    const struct schema *schema = user;
    yyjson_doc *good = parse("{\"b\":1,\"a\":\"xxx\",\"x-q\":{}}");
    yyjson_doc *bad = parse("{\"b\":1,\"a\":\"abc\"}");
    uintptr_t wrong = 0;
    for (int i = 0; i < 2000; i++) {
        struct schema_failure failure;
        wrong += !schema_validate(schema, yyjson_doc_get_root(good), NULL);
        wrong += schema_validate(schema, yyjson_doc_get_root(bad), &failure);
        wrong += strcmp(failure.field, "/a") != 0;
    }
    yyjson_doc_free(good);
    yyjson_doc_free(bad);
    return (void *)wrong;
}

static void threads_share_a_schema(void **state) {
    (void)state;
    struct schema *schema = compile(everything);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, validate_many_times, schema), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    schema_destroy(schema);
    schema_destroy(NULL);
}

/* A limit is told in words: the names of constants mean nothing to the author of a tool. */
static void too_many_required_names_are_told_in_words(void **state) {
    (void)state;
    static char text[16384] = "{\"required\":[\"n\"";
    size_t length = strlen(text);
    for (int i = 0; i < 1024; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, ",\"n%d\"", i);
    }
    (void)snprintf(text + length, sizeof text - length, "]}");
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    struct schema *schema = NULL;
    struct toolrack_error err = {0};
    assert_int_equal(schema_compile(yyjson_doc_get_root(doc), NULL, &schema, &err),
                     TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, "has more than 1024 names"));
    assert_null(strstr(err.message, "_MAX"));
    yyjson_doc_free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(too_many_required_names_are_told_in_words),
            cmocka_unit_test(a_tools_faults_say_how_to_mend_them),
            cmocka_unit_test(other_faults),
            cmocka_unit_test(no_keyword_hides_another),
            cmocka_unit_test(alternatives_give_the_most_useful_reason),
            cmocka_unit_test(long_texts_are_cut),
            cmocka_unit_test(malformed_schemas_are_refused_with_the_place),
            cmocka_unit_test(tools_must_take_an_object),
            cmocka_unit_test(a_default_that_does_not_fit_is_ignored),
            cmocka_unit_test(of_several_defaults_that_do_not_fit_the_first_is_told),
            cmocka_unit_test(documents_come_from_the_lookup),
            cmocka_unit_test(an_error_in_another_document_names_it),
            cmocka_unit_test(slots_hold_the_properties_in_order),
            cmocka_unit_test(slots_take_the_first_of_two),
            cmocka_unit_test(what_is_taken_quickly_is_valid),
            cmocka_unit_test(what_is_taken_quickly_is_a_flat_table),
            cmocka_unit_test(large_tables),
            cmocka_unit_test(defaults_are_filled_in),
            cmocka_unit_test(schemas_without_defaults_cost_nothing_to_fill),
            cmocka_unit_test(endless_defaults_are_a_limit),
            cmocka_unit_test(hostile_input_meets_named_limits),
            cmocka_unit_test(deep_schemas_are_refused),
            cmocka_unit_test(many_items_are_compared_in_bounded_time),
            cmocka_unit_test(numbers_are_compared_exactly),
            cmocka_unit_test(integers_beyond_64_bits_are_compared_exactly),
            cmocka_unit_test(references_resolve),
            cmocka_unit_test(regular_expressions_are_those_of_ecma),
            cmocka_unit_test(patterns_of_python_are_checked_exactly),
            cmocka_unit_test(patterns_that_nobody_reads_are_refused_with_the_place),
            cmocka_unit_test(patterns_are_written_in_ecma_where_that_is_exact),
            cmocka_unit_test(formats_are_asserted_when_asked),
            cmocka_unit_test(formats_of_parameters_are_asserted_and_those_of_results_are_not),
            cmocka_unit_test(draft_7_by_option_and_by_schema),
            cmocka_unit_test(validating_allocates_nothing),
            cmocka_unit_test(running_out_of_memory_anywhere_is_an_error),
            cmocka_unit_test(threads_share_a_schema),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
