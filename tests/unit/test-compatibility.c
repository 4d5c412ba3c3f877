/* What is told of two schemas: each kind of difference, and nothing of what is compatible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/compatibility.h"

/* As "rule field text; ...". */
static const char *told(const struct compatibility *found) {
    static char text[16384];
    text[0] = '\0';
    for (size_t i = 0; i < found->count; i++) {
        size_t length = strlen(text);
        (void)snprintf(text + length, sizeof text - length, "%s%s %s %s", i > 0 ? "; " : "",
                       found->items[i].rule, found->items[i].field, found->items[i].text);
    }
    return text;
}

static const char *of_arguments(const char *older, const char *newer) {
    static struct compatibility found;
    found = COMPATIBILITY_INIT;
    compatibility_of_arguments(older, newer, &found);
    return told(&found);
}

static const char *of_results(const char *older, const char *newer) {
    static struct compatibility found;
    found = COMPATIBILITY_INIT;
    compatibility_of_results(older, newer, &found);
    return told(&found);
}

#define OBJECT(properties, more) "{\"type\":\"object\",\"properties\":{" properties "}" more "}"
#define REQUIRED(names)          ",\"required\":[" names "]"

static void parameters_that_come_and_go(void **state) {
    (void)state;
    const char *older = OBJECT("\"a\":{},\"b\":{}", REQUIRED("\"a\""));
    assert_string_equal(of_arguments(older, older), "");
    assert_string_equal(of_arguments(older, OBJECT("\"b\":{},\"a\":{},\"c\":{}", "")), "");
    assert_string_equal(
            of_arguments(older, OBJECT("\"a\":{},\"b\":{},\"c\":{}", REQUIRED("\"a\",\"c\""))),
            "required-added /c parameter 'c' is new and required");
    assert_string_equal(of_arguments(older, OBJECT("\"a\":{},\"b\":{}", REQUIRED("\"b\",\"a\""))),
                        "required-added /b parameter 'b' is now required");
    assert_string_equal(of_arguments(older, OBJECT("\"a\":{}", REQUIRED("\"a\""))),
                        "parameter-removed /b parameter 'b' was removed");
    assert_string_equal(
            of_arguments(older, OBJECT("\"a\":{},\"b\":{}", ",\"additionalProperties\":false")),
            "closed  properties that it does not list are no longer accepted");
}

static void types_that_narrow(void **state) {
    (void)state;
#define TYPE(type) OBJECT("\"a\":{\"type\":" type "}", "")
    assert_string_equal(of_arguments(TYPE("\"integer\""), TYPE("\"number\"")), "");
    assert_string_equal(of_arguments(TYPE("\"string\""), TYPE("[\"string\",\"null\"]")), "");
    assert_string_equal(of_arguments(TYPE("\"string\""), OBJECT("\"a\":{}", "")), "");
    assert_string_equal(of_arguments(TYPE("\"number\""), TYPE("\"integer\"")),
                        "type-narrowed /a its type was number and is now integer");
    assert_string_equal(of_arguments(TYPE("[\"string\",\"null\"]"), TYPE("\"string\"")),
                        "type-narrowed /a its type was null or string and is now string");
    assert_string_equal(of_arguments(OBJECT("\"a\":{}", ""), TYPE("\"boolean\"")),
                        "type-narrowed /a its type was anything and is now boolean");
    /* What came may be less than what could come. */
    assert_string_equal(of_results(TYPE("\"number\""), TYPE("\"integer\"")), "");
    assert_string_equal(of_results(TYPE("\"integer\""), TYPE("\"number\"")),
                        "result-type-changed /a its type was integer and is now number");
}

static void choices_that_are_fewer(void **state) {
    (void)state;
#define CHOICES(list) OBJECT("\"a\":{\"enum\":[" list "]}", "")
    assert_string_equal(of_arguments(CHOICES("1,2"), CHOICES("2,3,1")), "");
    assert_string_equal(of_arguments(CHOICES("1,2"), OBJECT("\"a\":{}", "")), "");
    assert_string_equal(of_arguments(CHOICES("\"x\",{\"y\":1}"), CHOICES("\"x\"")),
                        "choices-narrowed /a the value {\"y\":1} is no longer accepted");
    assert_string_equal(of_arguments(CHOICES("1,2"), OBJECT("\"a\":{\"const\":2}", "")),
                        "choices-narrowed /a the value 1 is no longer accepted");
    assert_string_equal(of_arguments(OBJECT("\"a\":{\"const\":2}", ""), CHOICES("3")),
                        "choices-narrowed /a the value 2 is no longer accepted");
    assert_string_equal(
            of_arguments(OBJECT("\"a\":{}", ""), CHOICES("3")),
            "choices-narrowed /a any value of its type was accepted, and now only listed ones are");
}

static void bounds_that_close_in(void **state) {
    (void)state;
#define BOUND(bounds) OBJECT("\"a\":{" bounds "}", "")
    assert_string_equal(of_arguments(BOUND("\"minimum\":1"), BOUND("\"minimum\":0.5")), "");
    assert_string_equal(of_arguments(BOUND(""), BOUND("\"minLength\":0")), "");
    assert_string_equal(of_arguments(BOUND("\"maximum\":1"), BOUND("\"maximum\":2")), "");
    assert_string_equal(of_arguments(BOUND("\"minimum\":1"), BOUND("\"minimum\":2")),
                        "bound-narrowed /a its minimum was 1 and is now 2");
    assert_string_equal(of_arguments(BOUND(""), BOUND("\"minimum\":0")),
                        "bound-narrowed /a its minimum is now 0");
    assert_string_equal(of_arguments(BOUND("\"maxItems\":3"), BOUND("\"maxItems\":2")),
                        "bound-narrowed /a its maxItems was 3 and is now 2");
    assert_string_equal(of_arguments(BOUND("\"pattern\":\"a\""), BOUND("\"pattern\":\"b\"")),
                        "bound-narrowed /a its pattern was changed");
    assert_string_equal(of_arguments(BOUND(""), BOUND("\"uniqueItems\":true")),
                        "bound-narrowed /a its uniqueItems was added");
    assert_string_equal(of_arguments(BOUND("\"uniqueItems\":true"), BOUND("\"uniqueItems\":false")),
                        "");
}

static void what_lies_deeper(void **state) {
    (void)state;
    assert_string_equal(
            of_arguments(OBJECT("\"list\":{\"items\":{\"properties\":{\"x\":{},\"y\":{}}}}", ""),
                         OBJECT("\"list\":{\"items\":{\"properties\":{\"x\":{\"type\":\"null\"}}}}",
                                "")),
            "type-narrowed /list/*/x its type was anything and is now null; "
            "parameter-removed /list/*/y field 'y' was removed");
    /* References are followed, in circles too. */
    const char *tree = "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"properties\":{"
                       "\"next\":{\"$ref\":\"#/$defs/t\"}}}}}";
    const char *closed = "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"properties\":{"
                         "\"next\":{\"$ref\":\"#/$defs/u\"}}},\"u\":{\"type\":\"null\"}}}";
    assert_string_equal(of_arguments(tree, closed),
                        "type-narrowed /next its type was anything and is now null");
    assert_string_equal(of_arguments(tree, "{\"$ref\":\"#\"}"), "");
    assert_string_equal(of_arguments("not JSON", "{}"), "");
}

static void results_that_give_less(void **state) {
    (void)state;
    const char *older = OBJECT("\"a\":{},\"b\":{}", REQUIRED("\"a\",\"b\""));
    assert_string_equal(
            of_results(older, OBJECT("\"a\":{},\"b\":{},\"c\":{}", REQUIRED("\"b\",\"c\",\"a\""))),
            "");
    assert_string_equal(of_results(older, OBJECT("\"a\":{}", REQUIRED("\"a\""))),
                        "result-member-removed /b member 'b' was removed");
    assert_string_equal(of_results(older, OBJECT("\"a\":{},\"b\":{}", REQUIRED("\"a\""))),
                        "result-member-optional /b member 'b' may now be missing");
    assert_string_equal(of_results(older, NULL),
                        "result-schema-removed  the schema of its result was removed");
    assert_string_equal(of_results(NULL, older), "");
}

static void there_is_an_end_to_it(void **state) {
    (void)state;
    static char older[8192] = "{\"properties\":{\"p0\":{}";
    size_t length = strlen(older);
    for (int i = 1; i < 40; i++) {
        length += (size_t)snprintf(older + length, sizeof older - length, ",\"p%d\":{}", i);
    }
    (void)snprintf(older + length, sizeof older - length, "}}");
    static struct compatibility found;
    found = COMPATIBILITY_INIT;
    compatibility_of_arguments(older, "{\"properties\":{}}", &found);
    assert_int_equal(found.found, 40);
    assert_int_equal(found.count, COMPATIBILITY_DIFFERENCES_MAX);

    /* A name of any length leaves a line that is cut at a character. */
    static char name[2048] = "{\"properties\":{\"";
    length = strlen(name);
    for (int i = 0; i < 400; i++) {
        length += (size_t)snprintf(name + length, sizeof name - length, "\xc3\xa4");
    }
    (void)snprintf(name + length, sizeof name - length, "\":{}}}");
    found = COMPATIBILITY_INIT;
    compatibility_of_arguments(name, "{\"properties\":{}}", &found);
    assert_int_equal(found.count, 1);
    assert_int_equal((unsigned char)found.items[0].field[strlen(found.items[0].field) - 1], 0xa4);
    assert_int_equal((unsigned char)found.items[0].text[strlen(found.items[0].text) - 1], 0xa4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(parameters_that_come_and_go),
            cmocka_unit_test(types_that_narrow),
            cmocka_unit_test(choices_that_are_fewer),
            cmocka_unit_test(bounds_that_close_in),
            cmocka_unit_test(what_lies_deeper),
            cmocka_unit_test(results_that_give_less),
            cmocka_unit_test(there_is_an_end_to_it),
    };
    return cmocka_run_group_tests_name("compatibility", tests, NULL, NULL);
}
