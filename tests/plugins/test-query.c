/* test-query - jq programs one after the other: the compiled one is kept for the next query, of
 * which nothing of the query before may be seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query.h"

static void expect(const char *document, const char *program, const char *variables,
                   enum query_end end, const char *output) {
    struct query query = {.document = document,
                          .document_length = strlen(document),
                          .program = program,
                          .variables = variables,
                          .results_max = 3,
                          .time_ms_max = 300};
    struct query_result result;
    query_run(&query, &result);
    assert_int_equal(result.end, end);
    if (end == QUERY_OK || end == QUERY_TRUNCATED) {
        assert_string_equal(result.output.data, output);
    } else {
        assert_non_null(strstr(result.message, output));
    }
    query_result_finish(&result);
}

static void each_document_has_its_results(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        expect("[1,2]", ".[]", NULL, QUERY_OK, "1,2");
        expect("[\"a\"]", ".[]", NULL, QUERY_OK, "\"a\"");
        expect("[1,2,3,4]", ".[]", NULL, QUERY_TRUNCATED, "1,2,3");
        expect("[5]", ".[]", NULL, QUERY_OK, "5");
        expect("7", ".[]", NULL, QUERY_FAILED, "Cannot iterate over number");
        expect("{\"a\":6}", ".[]", NULL, QUERY_OK, "6");
        expect("[", ".[]", NULL, QUERY_BAD_DOCUMENT, "");
        expect("[8]", ".[]", NULL, QUERY_OK, "8");
    }
}

static void variables_are_a_part_of_the_program(void **state) {
    (void)state;
    expect("1", ". + $n", "{\"n\":1}", QUERY_OK, "2");
    expect("2", ". + $n", "{\"n\":1}", QUERY_OK, "3");
    expect("2", ". + $n", "{\"n\":5}", QUERY_OK, "7");
    expect("2", ". + $n", NULL, QUERY_BAD_PROGRAM, "n");
    expect("2", ". + $n", "{\"n\":5}", QUERY_OK, "7");
}

static void what_was_stopped_is_not_used_again(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        expect("0", "if . == 0 then last(repeat(.)) else . end", NULL, QUERY_TOO_LONG, "");
        expect("1", "if . == 0 then last(repeat(.)) else . end", NULL, QUERY_OK, "1");
    }
    expect("0", "[limit(9; repeat(. + 1))] | length", NULL, QUERY_OK, "9");
}

static int forget(void **state) {
    (void)state;
    query_forget();
    query_forget(); /* nothing is there any more */
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_teardown(each_document_has_its_results, forget),
            cmocka_unit_test_teardown(variables_are_a_part_of_the_program, forget),
            cmocka_unit_test_teardown(what_was_stopped_is_not_used_again, forget)};
    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
