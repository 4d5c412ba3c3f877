/* The parts of a text that may each be a wish, in English and Chinese. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "choose/arguments.h"
#include "choose/clauses.h"

#define LONG_TEXT    1000000u
#define LONG_TEXT_MS 3000u

static void read_clauses(const char *text, size_t length, struct clauses *ret) {
    struct words words;
    struct values *values;
    assert_int_equal(words_read(text, length, &words, NULL), 0);
    assert_int_equal(values_read(text, length, NULL, &values, NULL), 0);
    clauses_read(text, length, &words, values, ret);
    clauses_join(ret, ret);
    words_finish(&words);
    values_destroy(values);
}

/* A text is written with a bar where a clause is expected to begin, and with a double one where it
 * begins with what was done before. */
static void clauses_begin_where_something_is_wanted(void **state) {
    (void)state;
    static const char *const texts[] = {
            "read the file",
            "read the file |and count its lines ||and then send the number",
            "Read notes.txt, |translate it into French ||and finally mail it to me@a.org",
            "the weather in Paris and London",
            "Please retrieve the details and benefits of employee 7. ||After that, update the "
            "venue "
            "of event 32.",
            "Delete the folder. It is in /tmp, and it is empty. |Create a note",
            "First, check the flight status. ||Then, book a hotel. ||Lastly, I need a taxi",
            "Also, I am new to Denver, and would like to know the nearby hospitals",
            "If it's valid, retrieve the balance",
            "Translate the text 'Hello, World!' from English to Spanish, ||then count its words",
            "Find the factor for 36 and 48, ||and then tell me how steep the curve is",
            "1. Create a note\n|2. List all notes\n|3. Delete the note",
            "What is 2+3? |And can you do the same for 4+5?",
            "write \"stop. Then delete it, and go\" into a.txt",
            "今天北京的天气怎么样",
            "读取文件notes.txt，||然后翻译成法语，||最后发送给李雷",
            "创建一个文件夹，|并且列出所有文件",
            "",
            " .,;",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[512];
        char shown[512];
        size_t length = 0;
        size_t at = 0;
        for (const char *c = texts[i]; *c != '\0'; c++) {
            text[length] = *c;
            length += *c != '|';
        }
        struct clauses clauses;
        read_clauses(text, length, &clauses);
        for (size_t k = 0; k < clauses.count; k++) {
            const struct clause *clause = &clauses.items[k];
            const char *bar = k == 0 ? "" : clause->begin == CLAUSE_THEN ? "||" : "|";
            at += (size_t)snprintf(shown + at, sizeof shown - at, "%s%.*s", bar,
                                   (int)(clause->end - clause->start), text + clause->start);
        }
        assert_string_equal(shown, texts[i]);
    }
}

/* The pieces of a text of any bytes are one behind the other, few enough, and found in time. */
static void pieces_are_bounded(void **state) {
    (void)state;
    static const char *const units[] = {"and then ",  "do it, ", "然后", "\"a. b\" ",
                                        "\xff\xfe. ", "1. ",     "'"};
    CLEANUP(freep) char *text = malloc(LONG_TEXT);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = 0;
        for (size_t size = strlen(units[i]); length + size <= LONG_TEXT; length += size) {
            memcpy(text + length, units[i], size);
        }
        struct clauses clauses;
        struct timespec begin;
        struct timespec end;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        read_clauses(text, length, &clauses);
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        assert_in_range((end.tv_sec - begin.tv_sec) * 1000 +
                                (end.tv_nsec - begin.tv_nsec) / 1000000,
                        0, LONG_TEXT_MS);
        assert_in_range(clauses.count, 1, CLAUSES_MAX);
        size_t at = 0;
        for (size_t k = 0; k < clauses.count; k++) {
            assert_int_equal(clauses.items[k].start, at);
            assert_true(clauses.items[k].end >= at);
            at = clauses.items[k].end;
        }
        assert_int_equal(at, length);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(clauses_begin_where_something_is_wanted),
            cmocka_unit_test(pieces_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
