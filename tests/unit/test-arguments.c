/* Arguments of a call from texts such as "name=value". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "schema/arguments.h"

static const char schema[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"number\"},\"i\":{\"type\":\"integer\"},"
        "\"b\":{\"type\":\"boolean\"},\"z\":{\"type\":\"null\"},\"o\":{\"type\":\"object\"},"
        "\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
        "\"an\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"integer\"}},"
        "\"m\":{\"type\":\"array\",\"items\":{\"type\":\"array\"}},"
        "\"sn\":{\"type\":[\"string\",\"null\"]},\"si\":{\"anyOf\":[{\"type\":\"string\"},"
        "{\"type\":\"integer\"}]},\"e\":{\"enum\":[\"1\",\"2\"]},\"r\":{\"$ref\":\"#/$defs/text\"},"
        "\"loop\":{\"$ref\":\"#/properties/loop\"},\"x.y\":{\"type\":\"string\"},"
        "\"in\":{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\"},"
        "\"deep\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}}}},"
        "\"$defs\":{\"text\":{\"type\":\"string\"}}}";

#define ARGS_MAX 8

static int build(const char *json, const char *const *args, struct buf *out,
                 struct toolrack_error *err) {
    size_t count = 0;
    while (args[count] != NULL) {
        count++;
    }
    return arguments_build(schema, json, args, count, out, err);
}

static void arguments_take_their_type_from_the_schema(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *args[ARGS_MAX];
        const char *expected;
    } good[] = {
            {NULL, {NULL}, "{}"},
            {"", {"s=5"}, "{\"s\":\"5\"}"},
            {NULL, {"s=\"q\""}, "{\"s\":\"\\\"q\\\"\"}"},
            {NULL,
             {"s=a=b", "n=5", "i=-7", "b=true", "z=null"},
             "{\"s\":\"a=b\",\"n\":5,\"i\":-7,\"b\":true,\"z\":null}"},
            {NULL, {"s="}, "{\"s\":\"\"}"},
            /* What cannot be read as JSON goes on as text: the host refuses it with its reason. */
            {NULL, {"n=five", "b=yes"}, "{\"n\":\"five\",\"b\":\"yes\"}"},
            {NULL, {"n=12345678901234567890123"}, "{\"n\":12345678901234567890123}"},
            {NULL, {"o={\"k\":[1,2]}"}, "{\"o\":{\"k\":[1,2]}}"},
            {NULL, {"a=1"}, "{\"a\":[\"1\"]}"},
            {NULL, {"a=1", "a=two", "a=[\"3\",\"4\"]"}, "{\"a\":[\"1\",\"two\",\"3\",\"4\"]}"},
            {NULL, {"a=[not json"}, "{\"a\":[\"[not json\"]}"},
            {NULL, {"an=null"}, "{\"an\":null}"},
            {NULL, {"an=3", "an=4"}, "{\"an\":[3,4]}"},
            {NULL, {"m=[[1,2],[3]]"}, "{\"m\":[[1,2],[3]]}"},
            {NULL, {"sn=null", "si=12"}, "{\"sn\":null,\"si\":12}"},
            {NULL, {"sn=12", "si=twelve"}, "{\"sn\":\"12\",\"si\":\"twelve\"}"},
            {NULL, {"e=1", "r=1", "loop=1"}, "{\"e\":\"1\",\"r\":\"1\",\"loop\":1}"},
            {NULL, {"new=1", "other=word"}, "{\"new\":1,\"other\":\"word\"}"},
            {NULL,
             {"x.y=1", "in.s=1", "in.deep.n=2"},
             "{\"x.y\":\"1\",\"in\":{\"s\":\"1\",\"deep\":{\"n\":2}}}"},
            {NULL, {".a=1", "b.=true"}, "{\".a\":1,\"b.\":true}"},
            {"{\"n\":1,\"s\":\"x\",\"a\":[\"0\"]}",
             {"n=2", "a=1"},
             "{\"n\":2,\"s\":\"x\",\"a\":[\"1\"]}"},
            {"{\"in\":{\"s\":\"x\",\"k\":1}}", {"in.s=y"}, "{\"in\":{\"s\":\"y\",\"k\":1}}"},
            {"{\"in\":5}", {"in.s=y"}, "{\"in\":{\"s\":\"y\"}}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        struct toolrack_error err;
        assert_int_equal(build(good[i].json, good[i].args, &text, &err), 0);
        assert_string_equal(text.data, good[i].expected);
    }
}

static void arguments_that_cannot_be_set_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *args[ARGS_MAX];
        int code;
        const char *field;
        const char *message;
    } bad[] = {
            {NULL, {"word"}, TOOLRACK_E_INVALID, "", "an argument is name=value, not \"word\""},
            {NULL, {"=5"}, TOOLRACK_E_INVALID, "", "an argument is name=value, not \"=5\""},
            {NULL,
             {"n=1", "n=2"},
             TOOLRACK_E_INVALID_ARGUMENTS,
             "/n",
             "is given twice, and is not an array"},
            {NULL,
             {"a~b/c=1", "a~b/c=1"},
             TOOLRACK_E_INVALID_ARGUMENTS,
             "/a~0b~1c",
             "is given twice, and is not an array"},
            {NULL,
             {"an=null", "an=1"},
             TOOLRACK_E_INVALID_ARGUMENTS,
             "/an",
             "is given twice, and is not an array"},
            {"{\"n\":1,\"in\":{\"s\":\"a\",\"s\":\"b\"}}",
             {"n=2"},
             TOOLRACK_E_INVALID_ARGUMENTS,
             "/in/s",
             "is given twice; give it once"},
            {NULL, {"in.s=\xff"}, TOOLRACK_E_INVALID_ARGUMENTS, "/in/s", "is not UTF-8"},
            {NULL,
             {"q.q.q.q.q.q.q.q.q.q.q.q.q.q.q.q.q.q.q=1"},
             TOOLRACK_E_INVALID_ARGUMENTS,
             "/q/q/q/q/q/q/q/q/q/q/q/q/q/q/q/q/q/q/q",
             "the name has too many dots"},
            {"[1]",
             {"n=1"},
             TOOLRACK_E_INVALID_ARGUMENTS,
             "",
             "the arguments must be a JSON object, such as {\"name\": \"value\"}"},
            {"{\"n\":", {"n=1"}, TOOLRACK_E_INVALID_ARGUMENTS, "", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        struct toolrack_error err;
        assert_int_equal(build(bad[i].json, bad[i].args, &text, &err), bad[i].code);
        assert_int_equal(text.length, 0);
        assert_string_equal(err.field, bad[i].field);
        if (bad[i].message != NULL) {
            assert_string_equal(err.message, bad[i].message);
        }
    }
}

static void arguments_without_a_schema_are_json_or_text(void **state) {
    (void)state;
    static const char *const values[] = {"a=1", "b=x y", "c={\"d\":null}"};
    static const char *const schemas[] = {NULL, "", "true", "not json"};
    for (size_t i = 0; i < ARRAY_LENGTH(schemas); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        struct toolrack_error err;
        assert_int_equal(
                arguments_build(schemas[i], NULL, values, ARRAY_LENGTH(values), &text, &err), 0);
        assert_string_equal(text.data, "{\"a\":1,\"b\":\"x y\",\"c\":{\"d\":null}}");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(arguments_take_their_type_from_the_schema),
            cmocka_unit_test(arguments_that_cannot_be_set_are_refused),
            cmocka_unit_test(arguments_without_a_schema_are_json_or_text),
    };
    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
