/* A model's text as a terminal shows it: blocks, fed whole and byte by byte, and what no text may
 * do there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/markdown.h"
#include "cli/width.h"

/* A text in pieces of so many bytes. */
static void show(const char *text, size_t piece, bool color, size_t columns, struct buf *out) {
    struct markdown *markdown = markdown_create(color);
    assert_non_null(markdown);
    size_t length = strlen(text);
    for (size_t at = 0; at < length; at += piece) {
        size_t left = length - at;
        markdown_feed(markdown, text + at, left < piece ? left : piece, columns, out);
    }
    markdown_end(markdown, columns, out);
    assert_null(markdown_pending(markdown));
    markdown_destroy(markdown);
    buf_add(out, "", 0);
    assert_false(out->failed);
}

static void assert_shown(const char *text, bool color, size_t columns, const char *expected) {
    static const size_t pieces[] = {SIZE_MAX, 1, 3};
    for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        show(text, pieces[i], color, columns, &out);
        assert_string_equal(out.data, expected);
    }
}

static void blocks_are_shown(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *plain;
        const char *color; /* NULL: the same */
    } cases[] = {
            {"", "", NULL},
            {"one\ntwo  \nthree\n\n\n\nfour", "one two\nthree\n\nfour\n", NULL},
            {"one\r\n\r\ntwo\r\n", "one\n\ntwo\n", NULL},
            {"# A\ntext\n## B ##\n", "# A\ntext\n## B\n",
             "\x1b[0;1mA\x1b[0m\ntext\n\x1b[0;1mB\x1b[0m\n"},
            {"A\n===\n#no heading", "# A\n\n#no heading\n", "\x1b[0;1mA\x1b[0m\n\n#no heading\n"},
            {"*a* __b__ `c*` ~~d~~ 2*3*4 snake_case_name",
             "*a* **b** `c*` ~~d~~ 2*3*4 snake_case_name\n",
             "\x1b[0;3ma\x1b[0m \x1b[0;1mb\x1b[0m \x1b[0;36mc*\x1b[0m ~~d~~ 2\x1b[0;3m3\x1b[0m4 "
             "snake_case_name\n"},
            {"```c\na\n\n\tb\n```\nc", "    a\n    \n        b\nc\n",
             "    \x1b[0;36ma\x1b[0m\n    \n    \x1b[0;36m    b\x1b[0m\nc\n"},
            {"~~~\n```\n~~\n~~~~\nend", "    ```\n    ~~\nend\n",
             "    \x1b[0;36m```\x1b[0m\n    \x1b[0;36m~~\x1b[0m\nend\n"},
            {"text\n```\nunclosed", "text\n    unclosed\n",
             "text\n    \x1b[0;36munclosed\x1b[0m\n"},
            {"- a\n  more\n- b\n    - c\n\n  d\n\ne",
             "\xe2\x80\xa2 a more\n\xe2\x80\xa2 b\n\n  \xe2\x80\xa2 c\n\n  d\n\ne\n", NULL},
            {"7. a\n8) b\n10. c", "7. a\n8) b\n10. c\n", NULL},
            {"In 2025\n2026. was later", "In 2025 2026. was later\n", NULL},
            {"* [x] a\n* [ ] b", "\xe2\x80\xa2 [x] a\n\xe2\x80\xa2 [ ] b\n", NULL},
            {"- a\n  ```\n  code\n  ```\n- b", "\xe2\x80\xa2 a\n      code\n\xe2\x80\xa2 b\n",
             "\xe2\x80\xa2 a\n      \x1b[0;36mcode\x1b[0m\n\xe2\x80\xa2 b\n"},
            {"> a\n> > b\n\nc", "\xe2\x94\x82 a\n\xe2\x94\x82\n\xe2\x94\x82 \xe2\x94\x82 b\n\nc\n",
             NULL},
            {"a\n\n***\n\nb",
             "a\n\n\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94"
             "\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94"
             "\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94"
             "\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94"
             "\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94"
             "\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\n\nb\n",
             NULL},
            {"[a](http://x/y) <http://z> http://w ![i](j.png) [no](",
             "a (http://x/y) http://z http://w i (j.png) [no](\n", NULL},
            {"&lt;&amp;&#27;&unknown; <b>bold</b>", "<&&#27;&unknown; <b>bold</b>\n", NULL},
            {"| a | b |\n|---|---:|\n| long | 1 |\n",
             "a     b\n\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80  \xe2\x94\x80\nlong  1\n",
             "\x1b[0;1ma\x1b[0m     \x1b[0;1mb\x1b[0m\n\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94"
             "\x80  \xe2\x94\x80\nlong  1\n"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_shown(cases[i].text, false, 80, cases[i].plain);
        assert_shown(cases[i].text, true, 80,
                     cases[i].color != NULL ? cases[i].color : cases[i].plain);
    }
}

static void lines_fit(void **state) {
    (void)state;
    assert_shown("a long paragraph of words", false, 12, "a long\nparagraph of\nwords\n");
    assert_shown("- one two three\n- four", false, 10,
                 "\xe2\x80\xa2 one two\n  three\n\xe2\x80\xa2 four\n");
    assert_shown("> one two three", false, 10, "\xe2\x94\x82 one two\n\xe2\x94\x82 three\n");
    assert_shown("**bold words** end", true, 8,
                 "\x1b[0;1mbold\x1b[0m\n\x1b[0;1mwords\x1b[0m\nend\n");
    assert_shown("```\n0123456789abcdef\n```", false, 14, "    0123456789\n    abcdef\n");
    /* A table that is too wide is a line for each cell. */
    assert_shown("| name | text |\n|---|---|\n| a | one two three |\n| b | *four* |\n", false, 12,
                 "name: a\ntext: one\ntwo three\n\nname: b\ntext: *four*\n");
    assert_shown("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87", false,
                 8, "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\n\xe4\xb8\xad\xe6\x96\x87\n");
}

/* Wherever a control character stands, it is shown as what it is. */
static void no_text_is_a_sequence(void **state) {
    (void)state;
    static const char *const texts[] = {
            "\x1b[2J",     "# \x1b]0;x\a", "`\x1b[2J`",        "```\n\x1b[2J\n```",
            "- \x1b[2J",   "> \x1b[2J",    "|\x1b[2J|\n|--|",  "[\x1b[2J](http://\x1b[2J)",
            "<\x1b[2J>",   "\xc2\x9b[2J",  "&#x1b;[2J\x7f",    "~~~ \x1b[2J\n\x1b[2J",
            "a\x1b[2J\n=", "\b\b\r\x1b[A", "![\x1b[2J](\x1b)", "<a\n\x1b[2J>",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        show(texts[i], 1, false, 80, &out);
        for (size_t k = 0; k < out.length; k++) {
            unsigned char c = (unsigned char)out.data[k];
            assert_true(c == '\n' || (c >= ' ' && c != 0x7f));
        }
        assert_null(strstr(out.data, "\xc2\x9b"));
    }
    assert_shown("a\x1b[2J \xe2\x80\xae", false, 80, "a\\u001b[2J \\u202e\n");
}

/* What does not end is shown in parts, and what is nested too deep is shown all the same. */
static void a_block_has_so_many_bytes(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct markdown *markdown = markdown_create(true);
    for (size_t i = 0; i < 3 * MARKDOWN_BLOCK_MAX; i++) {
        buf_add_char(&text, i % 50 == 49 ? '\n' : 'x');
    }
    markdown_feed(markdown, text.data, text.length, 80, &out);
    assert_true(out.length > MARKDOWN_BLOCK_MAX);
    assert_true(markdown_pending(markdown)->length <= MARKDOWN_BLOCK_MAX + 64);
    markdown_end(markdown, 80, &out);
    buf_clear(&out);
    for (size_t i = 0; i < text.length; i++) {
        text.data[i] = 'x';
    }
    markdown_feed(markdown, text.data, text.length, 80, &out);
    assert_true(out.length >= 2 * MARKDOWN_BLOCK_MAX);
    markdown_end(markdown, 80, &out);
    buf_clear(&out);
    for (size_t i = 0; i < 2000; i++) {
        text.data[i] = i % 2 == 0 ? '>' : '*';
    }
    markdown_feed(markdown, text.data, 2000, 80, &out);
    markdown_end(markdown, 80, &out);
    assert_true(out.length > 0 && !out.failed);
    markdown_destroy(markdown);
}

static void what_is_not_shown_yet_is_known(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct markdown *markdown = markdown_create(false);
    assert_null(markdown_pending(markdown));
    markdown_feed(markdown, "one\ntw", 6, 80, &out);
    assert_string_equal(markdown_pending(markdown)->data, "tw");
    assert_int_equal(out.length, 0);
    markdown_feed(markdown, "o\n\n", 3, 80, &out);
    assert_null(markdown_pending(markdown));
    assert_string_equal(out.data, "one two\n");
    markdown_end(markdown, 80, &out);
    markdown_destroy(markdown);
    markdown_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(blocks_are_shown),
            cmocka_unit_test(lines_fit),
            cmocka_unit_test(no_text_is_a_sequence),
            cmocka_unit_test(a_block_has_so_many_bytes),
            cmocka_unit_test(what_is_not_shown_yet_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
