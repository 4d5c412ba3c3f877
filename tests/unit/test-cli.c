#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/id.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/table.h"

/* ------------------------------------------------------------------- notes */

/* What stands on standard error now. */
static void assert_noted(int fd, const char *expected) {
    char text[512];
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    assert_true(length >= 0);
    text[length] = '\0';
    assert_string_equal(text, expected);
}

static void no_line_is_written_into_a_question(void **state) {
    (void)state;
    int kept = dup(STDERR_FILENO);
    int fd = memfd_create("notes", MFD_CLOEXEC);
    assert_true(kept >= 0 && fd >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    output_note("before");
    output_hold_notes(NULL);
    output_note("first");
    output_note("second");
    assert_noted(fd, "toolrack: before\n");
    output_release_notes();
    output_note("after");
    assert_noted(fd, "toolrack: before\ntoolrack: first\ntoolrack: second\ntoolrack: after\n");
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
    assert_int_equal(close(fd), 0);
}

/* ------------------------------------------------------------------- texts */

typedef void text_function(struct buf *buf, const char *text, size_t length);

static void assert_text(text_function *add, const char *from, const char *expected) {
    CLEANUP(buf_finish) struct buf buf = BUF_INIT;
    buf_add_text(&buf, "");
    add(&buf, from, strlen(from));
    assert_string_equal(buf.data, expected);
}

static void text_shows_what_a_terminal_would_obey(void **state) {
    (void)state;
    assert_text(text_add_escaped, "plain h\xc3\xa9 \xf0\x9f\x98\x80\n\t",
                "plain h\xc3\xa9 \xf0\x9f\x98\x80\n\t");
    assert_text(text_add_escaped, "\x1b[31mred\x07\r\x7f", "\\u001b[31mred\\u0007\\u000d\\u007f");
    assert_text(text_add_escaped,
                "\xc2\x9b"
                "2J",
                "\\u009b2J");
    assert_text(text_add_escaped, "\xe2\x80\xaetxt.exe\xe2\x81\xa6", "\\u202etxt.exe\\u2066");
    assert_text(text_add_escaped,
                "\xff"
                "a\xc3",
                "\xef\xbf\xbd"
                "a\xef\xbf\xbd");
    assert_text(text_add_valid, "\x1b\xff", "\x1b\xef\xbf\xbd");
}

static void text_of_one_line_has_single_spaces(void **state) {
    (void)state;
    assert_text(text_add_line, "  two\n\n lines\tand\r\nmore \n", "two lines and more");
    assert_text(text_add_line, " \n", "");
}

static void text_is_cut_between_characters(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf buf = BUF_INIT;
    const char *text = "h\xc3\xa9llo"; /* five characters */
    text_add_cut(&buf, text, strlen(text), 5);
    buf_add_char(&buf, '|');
    text_add_cut(&buf, text, strlen(text), 3);
    buf_add_char(&buf, '|');
    text_add_cut(&buf, text, strlen(text), 1);
    buf_add_char(&buf, '|');
    text_add_cut(&buf, text, strlen(text), 0);
    assert_string_equal(buf.data, "h\xc3\xa9llo|h\xc3\xa9\xe2\x80\xa6|\xe2\x80\xa6|");
}

/* ------------------------------------------------------------------- table */

static void fill_table(struct table *table) {
    static const char *const headings[] = {"NAME", "N", "DESCRIPTION"};
    table_init(table, headings, ARRAY_LENGTH(headings));
    table_add(table, "caf\xc3\xa9s");
    table_add(table, "100");
    table_add(table, "what it does, in so many words");
    table_add(table, "\xe8\xa1\xa8"); /* one character, two columns */
    table_add(table, NULL);
    table_add(table, "e\xcc\x81t\xc3\xa9"); /* two characters, one column */
}

static void assert_table(size_t width, const char *expected) {
    CLEANUP(table_finish) struct table table;
    fill_table(&table);
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    table_print(&table, width, &out, NULL);
    assert_string_equal(out.data, expected);
}

static void table_aligns_by_columns_of_the_terminal(void **state) {
    (void)state;
    assert_table(0, "NAME   N    DESCRIPTION\n"
                    "caf\xc3\xa9s  100  what it does, in so many words\n"
                    "\xe8\xa1\xa8     -    e\xcc\x81t\xc3\xa9\n");
}

static void table_wraps_a_long_text(void **state) {
    (void)state;
    assert_table(36, "NAME   N    DESCRIPTION\n"
                     "caf\xc3\xa9s  100  what it does, in so many\n"
                     "            words\n"
                     "\xe8\xa1\xa8     -    e\xcc\x81t\xc3\xa9\n");
}

static void table_puts_a_text_without_room_beneath(void **state) {
    (void)state;
    assert_table(24, "NAME   N\n"
                     "    DESCRIPTION\n"
                     "caf\xc3\xa9s  100\n"
                     "    what it does, in so\n"
                     "    many words\n"
                     "\xe8\xa1\xa8     -\n"
                     "    e\xcc\x81t\xc3\xa9\n");
}

static void assert_decisions(size_t width, const char *expected) {
    static const char *const headings[] = {"TOOL", "SINCE", "WHO"};
    CLEANUP(table_finish) struct table table;
    table_init(&table, headings, ARRAY_LENGTH(headings));
    table_add(&table, "a_rather_long_name");
    table_add(&table, "2026-01-31 18:00:00");
    table_add(&table, "root");
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    table_print(&table, width, &out, NULL);
    assert_string_equal(out.data, expected);
}

/* One row has no power over the others. */
static void table_cuts_what_would_pad_all_rows(void **state) {
    (void)state;
    static const char *const headings[] = {"ID", "CALLER", "WHAT"};
    char endless[4096];
    char many[4096];
    char expected[8192];
    char spaces[81];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    memset(spaces, ' ', sizeof spaces - 1);
    spaces[sizeof spaces - 1] = '\0';
    for (size_t i = 0; i + 1 < sizeof many; i++) {
        many[i] = i % 4 == 3 ? ' ' : 'y';
    }
    many[sizeof many - 1] = '\0';
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(table_finish) struct table table;
    table_init(&table, headings, ARRAY_LENGTH(headings));
    static const char *const ids[] = {"1", "2", "3"};
    const char *const cells[] = {"me", endless, many};
    for (size_t i = 0; i < ARRAY_LENGTH(cells); i++) {
        table_add(&table, ids[i]);
        table_add(&table, cells[i]);
        table_add(&table, i == 1 ? endless : "w");
    }
    table_print(&table, 0, &out, NULL);
    (void)snprintf(expected, sizeof expected,
                   "ID  CALLER%.74s  WHAT\n1   me%.78s  w\n2   %.79s\xe2\x80\xa6  %s\n"
                   "3   %.79s\xe2\x80\xa6  w\n",
                   spaces, spaces, endless, endless, many);
    assert_string_equal(out.data, expected);
    /* A terminal gets all words of a cell, and no endless word. */
    CLEANUP(buf_finish) struct buf wrapped = BUF_INIT;
    table_print(&table, 200, &wrapped, NULL);
    assert_null(strstr(wrapped.data, "xxx\xe2\x80\xa6xxx"));
    size_t words = 0;
    for (const char *at = wrapped.data; (at = strstr(at, "yyy")) != NULL; at += 3) {
        words++;
    }
    assert_int_equal(words, sizeof many / 4);
}

static void table_narrows_the_widest_columns(void **state) {
    (void)state;
    assert_decisions(34, "TOOL               SINCE      WHO\n"
                         "a_rather_long_name 2026-01-31 root\n"
                         "                   18:00:00\n");
}

/* Words are not cut while they fit into a line. */
static void table_puts_columns_without_room_beneath(void **state) {
    (void)state;
    assert_decisions(33, "TOOL               SINCE\n"
                         "a_rather_long_name 2026-01-31\n"
                         "                   18:00:00\n"
                         "    WHO root\n");
    assert_decisions(20, "TOOL\n"
                         "a_rather_long_name\n"
                         "    SINCE 2026-01-31\n"
                         "          18:00:00\n"
                         "    WHO root\n");
    assert_decisions(15, "TOOL\n"
                         "a_rather_long_n\n"
                         "ame\n"
                         "    SINCE\n"
                         "    2026-01-31\n"
                         "    18:00:00\n"
                         "    WHO root\n");
}

/* --------------------------------------------------------------------- ids */

static void ids_are_found_by_their_beginning(void **state) {
    (void)state;
    static const char json[] =
            "[{\"id\":\"ab12\"},{\"id\":\"ab13\"},{\"id\":\"ab\"},{\"id\":70},{\"id\":7}]";
    struct toolrack_error err = {.code = 0};
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_val *rows = yyjson_doc_get_root(doc);
    yyjson_val *row = NULL;
    assert_int_equal(id_find(rows, "id", "ab12", &row, &err), 0);
    assert_ptr_equal(row, yyjson_arr_get(rows, 0));
    assert_int_equal(id_find(rows, "id", "70", &row, &err), 0);
    assert_ptr_equal(row, yyjson_arr_get(rows, 3));
    /* Exact, though others begin with it. */
    assert_int_equal(id_find(rows, "id", "ab", &row, &err), 0);
    assert_ptr_equal(row, yyjson_arr_get(rows, 2));
    assert_int_equal(id_find(rows, "id", "7", &row, &err), 0);
    assert_ptr_equal(row, yyjson_arr_get(rows, 4));
    assert_int_equal(id_find(rows, "id", "c", &row, &err), 0);
    assert_null(row);
    assert_int_equal(id_find(rows, "id", "ab1", &row, &err), TOOLRACK_E_INVALID);
    assert_null(row);
    assert_string_equal(err.message, "several ids begin with \"ab1\": ab12, ab13; give more of it");
    assert_int_equal(id_find(rows, "id", "", &row, &err), TOOLRACK_E_INVALID);
    assert_null(row);
    assert_string_equal(err.message, "the id is empty: give one, or its beginning");
    yyjson_doc_free(doc);
}

/* ------------------------------------------------------------------ render */

static void assert_rendered(const char *text, bool color, size_t width, const char *expected) {
    CLEANUP(buf_finish) struct buf from = BUF_INIT;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(style_clear) struct styles styles = {0};
    buf_add_text(&from, text);
    style_begin(&styles, 0, STYLE_BAD);
    style_begin(&styles, 3, STYLE_PLAIN);
    output_render(&from, &styles, color, width, &out);
    assert_string_equal(out.data, expected);
}

static void output_is_wrapped_under_its_text(void **state) {
    (void)state;
    assert_rendered(
            "label   a text of several words\n  indented, and long too\n", false, 20,
            "label   a text of\n        several\n        words\n  indented, and long\n  too\n");
    assert_rendered("0123456789\n", false, 4, "0123\n4567\n89\n");
    /* A word is broken only if no line has room for it. */
    assert_rendered("label   /a/path/that/fits\n", false, 24, "label   \n    /a/path/that/fits\n");
    assert_rendered("label   /a/path/that/is/too/long\n", false, 24,
                    "label   /a/path/that/is/\n        too/long\n");
    /* Wide characters take two columns. */
    assert_rendered("\xe8\xa1\xa8\xe8\xa1\xa8\xe8\xa1\xa8\n", false, 5,
                    "\xe8\xa1\xa8\xe8\xa1\xa8\n\xe8\xa1\xa8\n");
    assert_rendered("0123456789\n", false, 0, "0123456789\n");
}

static void only_styles_become_escape_sequences(void **state) {
    (void)state;
    assert_rendered("bad\x1b[2J\n", true, 0, "\x1b[0;31mbad\x1b[0m\\u001b[2J\n");
    assert_rendered("b\x1b\x1b[2J\n", true, 0, "\x1b[0;31mb\\u001b\\u001b\x1b[0m[2J\n");
    assert_rendered("bad\x1b[2J\n", false, 0, "bad\\u001b[2J\n");
    /* A pager forgets a style at the end of a line. */
    assert_rendered("abcde\n", true, 2, "\x1b[0;31mab\x1b[0m\n\x1b[0;31mc\x1b[0md\ne\n");
}

/* ----------------------------------------------------------------- options */

static const struct option_spec do_options[] = {
        {"all", NULL, "all", OPTION_FLAG, offsetof(struct options, all)},
        {"tag", "T", "tag", OPTION_TEXT, offsetof(struct options, tag)},
        {"arg", "K=V", "arg", OPTION_LIST, offsetof(struct options, args)},
        {"timeout", "MS", "timeout", OPTION_TIMEOUT, offsetof(struct options, timeout_ms)},
        {0},
};

static const struct option_spec many_options[] = {
        {"arg", "K=V", "arg", OPTION_LIST, offsetof(struct options, args)},
        {"allow", "P", "allow", OPTION_LIST, offsetof(struct options, allow)},
        {"listen", "A", "listen", OPTION_LIST, offsetof(struct options, listen)},
        {"socket", "P", "socket", OPTION_LIST, offsetof(struct options, sockets)},
        {"tool", "T", "tool", OPTION_LIST, offsetof(struct options, tools)},
        {0},
};

static const struct verb verbs[] = {
        {"many", "A", "has all lists", NULL, many_options, 1, 1, false, NULL},
        {"do", "A [B]", "does", NULL, do_options, 1, 2, false, NULL},
        {"list", "", "lists", NULL, NULL, 0, 0, false, NULL},
        {0},
};

/* Parse words separated by spaces. */
static int parse(const char *line, struct options *ret, struct toolrack_error *err) {
    static char words[512];
    static char *argv[64];
    (void)strncpy(words, line, sizeof words - 1);
    int argc = 0;
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return options_parse(verbs, argc, argv, ret, err);
}

static void options_stand_anywhere(void **state) {
    (void)state;
    CLEANUP(options_finish) struct options options;
    struct toolrack_error err;
    assert_int_equal(parse("toolrack --plugins a --json do --plugins=b --state=s one --all "
                           "--tag=x=y --timeout 250 --arg a=1 two --arg b=2 --config c",
                           &options, &err),
                     0);
    assert_ptr_equal(options.verb, &verbs[1]);
    assert_int_equal(options.plugin_dirs.count, 2);
    assert_string_equal(options.plugin_dirs.items[0], "a");
    assert_string_equal(options.plugin_dirs.items[1], "b");
    assert_null(options.plugin_dirs.items[2]);
    assert_true(options.json);
    assert_true(options.all);
    assert_false(options.verbose);
    assert_string_equal(options.state_dir, "s");
    assert_string_equal(options.config_file, "c");
    assert_string_equal(options.tag, "x=y");
    assert_int_equal(options.timeout_ms, 250);
    assert_int_equal(options.words.count, 2);
    assert_string_equal(options.words.items[1], "two");
    assert_int_equal(options.args.count, 2);
    assert_string_equal(options.args.items[1], "b=2");
}

/* Whether a list has this value alone, and ends there. */
static bool is_single(const struct texts *texts, const char *value) {
    return texts->count == 1 && strcmp(texts->items[0], value) == 0 && texts->items[1] == NULL;
}

/* Each list has what was given for it, in whatever order the options come: next to each other in
 * memory, one must not write into another. */
static void lists_do_not_mix(void **state) {
    (void)state;
    static const char *const given[] = {"--arg=1",  "--allow=2",   "--listen=3", "--socket=4",
                                        "--tool=5", "--plugins=6", "--config=7"};
    enum { COUNT = ARRAY_LENGTH(given) };
    size_t order[COUNT] = {0};
    unsigned orders = 0;
    /* Every number of COUNT digits below COUNT, of which those are orders that have each once. */
    for (bool more = true; more;) {
        unsigned seen = 0;
        for (size_t i = 0; i < COUNT; i++) {
            seen |= 1u << order[i];
        }
        if (seen == (1u << COUNT) - 1) {
            char *argv[COUNT + 3] = {(char[]){"toolrack"}, (char[]){"many"}, (char[]){"word"}};
            for (size_t i = 0; i < COUNT; i++) {
                argv[i + 3] = (char *)(uintptr_t)given[order[i]];
            }
            CLEANUP(options_finish) struct options options;
            struct toolrack_error err;
            assert_int_equal(options_parse(verbs, COUNT + 3, argv, &options, &err), 0);
            assert_true(is_single(&options.words, "word") && is_single(&options.args, "1") &&
                        is_single(&options.allow, "2") && is_single(&options.listen, "3") &&
                        is_single(&options.sockets, "4") && is_single(&options.tools, "5") &&
                        is_single(&options.plugin_dirs, "6"));
            assert_string_equal(options.config_file, "7");
            orders++;
        }
        more = false;
        for (size_t i = 0; i < COUNT && !more; i++) {
            order[i] = (order[i] + 1) % COUNT;
            more = order[i] != 0;
        }
    }
    assert_int_equal(orders, 5040);
}

static void options_leave_words_that_begin_with_a_dash(void **state) {
    (void)state;
    CLEANUP(options_finish) struct options options;
    struct toolrack_error err;
    assert_int_equal(parse("toolrack do -5 -", &options, &err), 0);
    assert_string_equal(options.words.items[0], "-5");
    assert_string_equal(options.words.items[1], "-");
    options_finish(&options);
    assert_int_equal(parse("toolrack do -- --all -x", &options, &err), 0);
    assert_false(options.all);
    assert_string_equal(options.words.items[0], "--all");
    options_finish(&options);
    /* What an option takes is its own, whatever it looks like. */
    assert_int_equal(parse("toolrack do a --arg --json", &options, &err), 0);
    assert_false(options.json);
    options_finish(&options);
    assert_int_equal(parse("toolrack do -h", &options, &err), 0);
    assert_true(options.help);
    options_finish(&options);
    assert_int_equal(parse("toolrack", &options, &err), 0);
    assert_null(options.verb);
}

static void options_refuse_with_the_way_out(void **state) {
    (void)state;
    static const struct {
        const char *line;
        const char *message;
    } wrong[] = {
            {"toolrack lsit", "there is no verb \"lsit\"; did you mean \"list\"?"},
            {"toolrack frobnicate",
             "there is no verb \"frobnicate\"; 'toolrack help' lists the verbs"},
            {"toolrack do a --al", "do has no option --al; did you mean --all?"},
            {"toolrack list --all", "list has no option --all; 'toolrack help list' lists them"},
            {"toolrack --all list",
             "toolrack before the verb has no option --all; 'toolrack help' lists them"},
            {"toolrack list -x", "there is no option -x; options begin with two dashes"},
            {"toolrack do a --tag", "--tag needs a value: --tag T"},
            {"toolrack do a --all=yes", "--all takes no value"},
            {"toolrack do", "an argument is missing; usage: toolrack do A [B]"},
            {"toolrack do a b c", "\"c\" is one argument too many; usage: toolrack do A [B]"},
            {"toolrack list x", "\"x\" is one argument too many; usage: toolrack list"},
            {"toolrack do a --timeout 0",
             "--timeout takes milliseconds from 1 to 86400000 (one day), not \"0\""},
            {"toolrack do a --timeout 5s",
             "--timeout takes milliseconds from 1 to 86400000 (one day), not \"5s\""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        CLEANUP(options_finish) struct options options;
        struct toolrack_error err;
        assert_int_equal(parse(wrong[i].line, &options, &err), TOOLRACK_E_INVALID);
        assert_string_equal(err.message, wrong[i].message);
    }
    CLEANUP(options_finish) struct options options;
    struct toolrack_error err;
    assert_int_equal(parse("toolrack lsit --json", &options, &err), TOOLRACK_E_INVALID);
    assert_true(options.json);
}

static void options_read_whole_numbers(void **state) {
    (void)state;
    long long number = 7;
    assert_true(options_number("-12", -100, 100, &number));
    assert_int_equal(number, -12);
    static const char *const wrong[] = {
            "", "-", " 1", "1 ", "1e2", "0x10", "101", "-101", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_false(options_number(wrong[i], -100, 100, &number));
    }
    assert_int_equal(number, -12);
}

static void durations_have_a_unit(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t seconds;
    } right[] = {{"1s", 1},
                 {"30s", 30},
                 {"10m", 600},
                 {"2h", 7200},
                 {"7d", 604800},
                 {"3650d", 315360000},
                 {"315360000s", OPTIONS_FOR_S_MAX}};
    static const char *const wrong[] = {
            "",    "5",     "s",          "0s",   "-1s", "1w",   "1 h",
            "1hh", "3651d", "315360001s", "1.5h", "+1s", "0x1s", "99999999999999999999d"};
    uint32_t seconds = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(right); i++) {
        assert_true(options_duration(right[i].text, &seconds));
        assert_int_equal(seconds, right[i].seconds);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        if (options_duration(wrong[i], &seconds)) {
            fail_msg("%s is taken for %u s", wrong[i], seconds);
        }
    }
}

/* --------------------------------------------------------------- questions */

/* Puts a question to somebody who types `input`; what they saw is left in `seen`. */
static char seen[16384];

static int ask_with(const char *input, const char *question, uint64_t deadline_ns, bool stopped,
                    char **ret_content) {
    int in[2];
    int out = memfd_create("terminal", MFD_CLOEXEC);
    struct ask ask;
    assert_true(out >= 0 && pipe2(in, O_CLOEXEC) == 0);
    assert_true(ask_init(&ask, in[0], out));
    ask.deadline_ns = deadline_ns;
    if (input != NULL) {
        assert_int_equal(write(in[1], input, strlen(input)), strlen(input));
        assert_int_equal(close(in[1]), 0);
    }
    if (stopped) {
        ask_stop(&ask);
    }
    *ret_content = NULL;
    int answer = ask_person(&ask, "tool", "Which\n one \x1b[31m?", question, ret_content);
    ssize_t length = pread(out, seen, sizeof seen - 1, 0);
    assert_true(length >= 0);
    seen[length] = '\0';
    ask_finish(&ask);
    (void)close(in[0]);
    (void)close(out);
    if (input == NULL) {
        (void)close(in[1]);
    }
    return answer;
}

static void answers(const char *question, const char *input, int expected, const char *content) {
    char *got = NULL;
    int answer = ask_with(input, question, 0, false, &got);
    if (answer != expected || (content == NULL) != (got == NULL) ||
        (content != NULL && strcmp(got, content) != 0)) {
        fail_msg("%d %s after: %s", answer, got != NULL ? got : "-", seen);
    }
    free(got);
}

static const char flat[] = "{\"type\":\"object\",\"properties\":{"
                           "\"name\":{\"type\":\"string\",\"title\":\"Your "
                           "name\",\"description\":\"as in\\nthe pass\","
                           "\"minLength\":2,\"maxLength\":4},"
                           "\"age\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":150},"
                           "\"size\":{\"type\":\"number\",\"default\":1.5},"
                           "\"member\":{\"type\":\"boolean\"}},\"required\":[\"name\"]}";

static void questions_are_lines(void **state) {
    (void)state;
    answers(flat, "Ada\n36\n1.75\nyes\n\n", TOOLRACK_ANSWER_ACCEPTED,
            "{\"name\":\"Ada\",\"age\":36,\"size\":1.75,\"member\":true}");
    assert_string_equal(
            seen, "tool asks: Which\ntool asks:  one \\u001b[31m?\n"
                  "tool asks: Your name, as in the pass [text]: "
                  "tool asks: age [integer; may be left empty]: "
                  "tool asks: size [number; default 1.5]: "
                  "tool asks: member [yes or no; may be left empty]: Send this answer? [Y/n] ");
    answers(flat, "  \xc3\x84 \xc3\xa4 \n\n\n\ny\n", TOOLRACK_ANSWER_ACCEPTED,
            "{\"name\":\"\xc3\x84 \xc3\xa4\",\"size\":1.5}");
    answers(flat, "Ada\n\n\nFALSE\nno\n", TOOLRACK_ANSWER_DECLINED, NULL);
    answers(flat, "Ada\n36\n", TOOLRACK_ANSWER_DISMISSED, NULL);
    answers(flat, "Ada", TOOLRACK_ANSWER_DISMISSED, NULL);
    answers(flat, "", TOOLRACK_ANSWER_DISMISSED, NULL);
}

static void wrong_lines_can_be_mended(void **state) {
    (void)state;
    answers(flat, "\nA\nAdele\n\xff\xff\nAda\nold\n1.5\n0\n151\n36\nbig\n\nperhaps\nn\n\n",
            TOOLRACK_ANSWER_ACCEPTED,
            "{\"name\":\"Ada\",\"age\":36,\"size\":1.5,\"member\":false}");
    static const char *const told[] = {
            "it is required\n",      "it is too short\n",     "it is too long\n",
            "it must be a string\n", "it must be a number\n", "it must be an integer\n",
            "it is too small\n",     "it is too large\n",     "it must be yes or no\n"};
    for (size_t i = 0; i < ARRAY_LENGTH(told); i++) {
        assert_non_null(strstr(seen, told[i]));
    }
    answers(flat, "\n\n\n\n\n\n\n\n\n\nAda\n\n\n\n\n", TOOLRACK_ANSWER_DISMISSED, NULL);
    char line[ASK_LINE_LENGTH_MAX + 3];
    memset(line, 'x', sizeof line);
    line[sizeof line - 2] = '\n';
    line[sizeof line - 1] = '\0';
    answers(flat, line, TOOLRACK_ANSWER_DISMISSED, NULL);
}

static void choices_are_named(void **state) {
    (void)state;
    static const char question[] =
            "{\"type\":\"object\",\"properties\":{"
            "\"plain\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]},"
            "\"named\":{\"type\":\"string\",\"enum\":[\"de\",\"fr\"],\"enumNames\":[\"German\"]},"
            "\"titled\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"x\",\"title\":\"Ex\"}]},"
            "\"several\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"1\",\"2\"]}"
            "},"
            "\"more\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"p\",\"title\":\"Pi\"},"
            "{\"const\":\"q\",\"title\":\"Qu\"}]},\"default\":[\"q\"]}}}";
    answers(question, "c\nb\nGerman\nEx\n1,,2\n2 , 1\nPi\n\n", TOOLRACK_ANSWER_ACCEPTED,
            "{\"plain\":\"b\",\"named\":\"de\",\"titled\":\"x\",\"several\":[\"2\",\"1\"],"
            "\"more\":[\"p\"]}");
    assert_non_null(strstr(seen, "tool asks: plain [one of a, b; may be left empty]: "
                                 "  it must be one of the choices\n"));
    assert_non_null(strstr(seen, "tool asks: named [one of de (German), fr; may be left empty]: "));
    assert_non_null(strstr(seen, "tool asks: titled [one of x (Ex); may be left empty]: "));
    assert_non_null(strstr(seen, "  it has one comma too many\n"));
    assert_non_null(strstr(seen, "tool asks: more [some of p (Pi), q (Qu); default [\"q\"]]: "));
    answers(question, "\n\n\n\n\n\n", TOOLRACK_ANSWER_ACCEPTED, "{\"more\":[\"q\"]}");
}

static void consent_takes_a_word(void **state) {
    (void)state;
    static const char question[] = "{\"type\":\"object\",\"properties\":{}}";
    answers(question, "y\n", TOOLRACK_ANSWER_ACCEPTED, "{}");
    assert_non_null(strstr(seen, "Do you agree? [y/N] "));
    answers(question, "\n", TOOLRACK_ANSWER_DECLINED, NULL);
    answers("{}", "perhaps\n", TOOLRACK_ANSWER_DECLINED, NULL);
    answers("{}", "", TOOLRACK_ANSWER_DISMISSED, NULL);
}

static void what_is_not_flat_is_not_asked(void **state) {
    (void)state;
    answers("{\"properties\":{\"o\":{\"type\":\"object\"}},\"required\":[\"o\"]}", "y\n",
            TOOLRACK_ANSWER_NOBODY, NULL);
    assert_string_equal(seen, "");
    answers("{\"properties\":{\"o\":{\"type\":\"object\"},\"n\":{\"type\":\"number\"}}}", "2\ny\n",
            TOOLRACK_ANSWER_ACCEPTED, "{\"n\":2}");
    answers("{\"properties\":{\"n\":{\"oneOf\":[{\"type\":\"null\"}]}},\"required\":[\"n\"]}", "",
            TOOLRACK_ANSWER_NOBODY, NULL);
    answers("[]", "", TOOLRACK_ANSWER_NOBODY, NULL);
    answers("{", "", TOOLRACK_ANSWER_NOBODY, NULL);
}

/* Nobody types anything: only the end of the question can end the wait. */
static void questions_end_with_the_call(void **state) {
    (void)state;
    char *content = NULL;
    (void)alarm(20);
    assert_int_equal(ask_with(NULL, flat, 0, true, &content), TOOLRACK_ANSWER_DISMISSED);
    assert_int_equal(ask_with(NULL, flat, clock_now_ns() + 1000000, false, &content),
                     TOOLRACK_ANSWER_DISMISSED);
    assert_int_equal(ask_with(NULL, flat, 1, false, &content), TOOLRACK_ANSWER_DISMISSED);
    (void)alarm(0);
    assert_null(content);
}

static int approve_with(const char *input, const char *arguments) {
    int in[2];
    int out = memfd_create("terminal", MFD_CLOEXEC);
    struct ask ask;
    assert_true(out >= 0 && pipe2(in, O_CLOEXEC) == 0);
    assert_true(ask_init(&ask, in[0], out));
    assert_int_equal(write(in[1], input, strlen(input)), strlen(input));
    assert_int_equal(close(in[1]), 0);
    const struct toolrack_approval_request request = {.tool = "send",
                                                      .version = "1.0.0",
                                                      .plugin = "mail",
                                                      .permission = TOOLRACK_PERMISSION_CONFIRM,
                                                      .arguments = arguments,
                                                      .reason = "a\nreason"};
    int answer = ask_approval(&ask, &request);
    ssize_t length = pread(out, seen, sizeof seen - 1, 0);
    assert_true(length >= 0);
    seen[length] = '\0';
    ask_finish(&ask);
    (void)close(in[0]);
    (void)close(out);
    return answer;
}

static void secrets_are_not_shown_in_a_question(void **state) {
    (void)state;
    int in[2];
    int out = memfd_create("terminal", MFD_CLOEXEC);
    struct ask ask;
    assert_true(out >= 0 && pipe2(in, O_CLOEXEC) == 0 && ask_init(&ask, in[0], out));
    /* More than is shown at first, so that v shows the rest. */
    char padding[2 * ASK_VALUE_SHOWN_MAX];
    char arguments[sizeof padding + 64];
    char masked[sizeof padding + 64];
    memset(padding, 'x', sizeof padding - 1);
    padding[sizeof padding - 1] = '\0';
    (void)snprintf(arguments, sizeof arguments, "{\"p\":\"hunter2\",\"t\":\"%s\"}", padding);
    (void)snprintf(masked, sizeof masked, "{\"p\":\"***\",\"t\":\"%s\"}", padding);
    const struct toolrack_approval_request request = {.tool = "send",
                                                      .version = "1.0.0",
                                                      .plugin = "mail",
                                                      .permission = TOOLRACK_PERMISSION_CONFIRM,
                                                      .arguments = arguments,
                                                      .masked = masked,
                                                      .reason = "r"};
    assert_int_equal(write(in[1], "v\ny\n", 4), 4);
    assert_int_equal(ask_approval(&ask, &request), TOOLRACK_APPROVAL_ALLOW_ONCE);
    ssize_t length = pread(out, seen, sizeof seen - 1, 0);
    assert_true(length >= 0);
    seen[length] = '\0';
    assert_non_null(strstr(seen, "  p: \"***\"\n"));
    assert_null(strstr(seen, "hunter2"));
    ask_finish(&ask);
    (void)close(in[0]);
    (void)close(in[1]);
    (void)close(out);
}

static void after_a_stop_nothing_is_asked(void **state) {
    (void)state;
    int in[2];
    int out = memfd_create("terminal", MFD_CLOEXEC);
    struct ask ask;
    char *content = NULL;
    const struct toolrack_approval_request request = {
            .tool = "send", .version = "1.0.0", .plugin = "mail", .arguments = "{}", .reason = "r"};
    assert_true(out >= 0 && pipe2(in, O_CLOEXEC) == 0 && ask_init(&ask, in[0], out));
    ask_stop(&ask);
    assert_int_equal(ask_approval(&ask, &request), TOOLRACK_APPROVAL_UNWANTED);
    assert_int_equal(ask_person(&ask, "tool", "?", "{\"type\":\"object\"}", &content),
                     TOOLRACK_ANSWER_DISMISSED);
    assert_int_equal(lseek(out, 0, SEEK_CUR), 0); /* nothing was written */
    ask_finish(&ask);
    (void)close(in[0]);
    (void)close(in[1]);
    (void)close(out);
}

static void approval_takes_a_clear_yes(void **state) {
    (void)state;
    assert_int_equal(approve_with("y\n", "{\"a\":\"x  y\"}"), TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_string_equal(seen, "send 1.0.0 (confirm), of plugin mail: a reason\n  a: \"x  y\"\n"
                              "Let it run? [y]es, [a]lways for any caller, [N]o: ");
    assert_int_equal(approve_with(" YES \n", "{}"), TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(approve_with("Always\n", "{}"), TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(approve_with("what?\na\n", "{}"), TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    static const char *const refusals[] = {"",    "y",    "\n",
                                           "n\n", "no\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\ny\n"};
    for (size_t i = 0; i < ARRAY_LENGTH(refusals); i++) {
        assert_int_equal(approve_with(refusals[i], "{}"), TOOLRACK_APPROVAL_DENY);
    }
    /* Long arguments are cut, and that is said. */
    static char arguments[ASK_ARGUMENTS_SHOWN_MAX + 11];
    memset(arguments, 'x', sizeof arguments - 1);
    assert_int_equal(approve_with("n\n", arguments), TOOLRACK_APPROVAL_DENY);
    assert_non_null(strstr(seen, "xxx\n  and 11 bytes more that are not shown; v shows all\n"
                                 "Let it run? [y]es, [a]lways for any caller, [v]iew all, [N]o: "));
}

/* An argument is a line, and no value looks like another one; a long one has its length. */
static void arguments_are_lines(void **state) {
    (void)state;
    static char arguments[2 * ASK_VALUE_SHOWN_MAX];
    (void)snprintf(
            arguments, sizeof arguments,
            "{\"path\":\"/etc/a\\npath: /tmp\",\"count\":1.50,\"a: b\":null,\"list\":[1,{\"x\":"
            "true}],\"body\":\"%0600d\"}",
            0);
    assert_int_equal(approve_with("y\nv\ny\n", arguments), TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_non_null(strstr(seen,
                           "  path: \"/etc/a\\npath: /tmp\"\n  count: 1.50\n  \"a: b\": null\n"
                           "  list: [1,{\"x\":true}]\n  body: \"000"));
    assert_non_null(strstr(seen, "0\xe2\x80\xa6 (the first 512 of 602 bytes)\nLet it run?"));
    assert_non_null(strstr(seen, "  not all of the arguments were shown; v shows them\n"));
    assert_non_null(strstr(seen, "000\"\nLet it run?"));
    assert_int_equal(approve_with("n\n", "{}"), TOOLRACK_APPROVAL_DENY);
    assert_non_null(strstr(seen, "\n  no arguments\nLet it run?"));
}

/* Of a plan each call is a line, with its arguments below. */
static void calls_of_a_plan_are_lines(void **state) {
    (void)state;
    const struct toolrack_approval_request request = {
            .tool = "plan report",
            .version = "0123456789abcdef",
            .plugin = "plan",
            .arguments =
                    "[{\"node\":\"a\",\"tool\":\"add\",\"version\":\"1.0.0\",\"permission\":"
                    "\"confirm\",\"asks\":true,\"when\":true,\"for_each\":true,\"max_items\":3,"
                    "\"attempts\":2,\"open\":true,\"arguments\":{\"n\":1.50}},{\"node\":\"b\","
                    "\"tool\":\"run\",\"fallback\":true,\"calls\":\"wipe 1.0.0\",\"open\":false,"
                    "\"arguments\":{}}]",
            .reason = "2 of its calls need approval"};
    struct ask ask;
    int out = memfd_create("terminal", MFD_CLOEXEC);
    int in = memfd_create("typed", MFD_CLOEXEC);
    assert_true(out >= 0 && in >= 0 && ask_init(&ask, in, out));
    assert_int_equal(ask_approval(&ask, &request), TOOLRACK_APPROVAL_DENY);
    ssize_t length = pread(out, seen, sizeof seen - 1, 0);
    assert_true(length >= 0);
    seen[length] = '\0';
    assert_string_equal(seen,
                        "plan report: 2 of its calls need approval\n"
                        "  a: add 1.0.0 (confirm), for each of at most 3 items, tried up to "
                        "2 times, on a condition, with values that are not known yet, needs "
                        "approval\n"
                        "    n: 1.50\n"
                        "  b: run, in the place of the node's tool if that fails, a plan that "
                        "calls wipe 1.0.0\n"
                        "Let it run? [y]es, [a]lways for its tools and any caller, [N]o: \n");
    ask_finish(&ask);
    (void)close(in);
    (void)close(out);
}

/* Nobody agrees to what he could not see. */
static void a_yes_counts_after_all_was_shown(void **state) {
    (void)state;
    static char arguments[ASK_ARGUMENTS_SHOWN_MAX + 64];
    memset(arguments, 'x', ASK_ARGUMENTS_SHOWN_MAX);
    (void)strcpy(arguments + ASK_ARGUMENTS_SHOWN_MAX, "the \xe2\x80\xae end");
    assert_int_equal(approve_with("y\na\n", arguments), TOOLRACK_APPROVAL_DENY);
    assert_non_null(strstr(seen, "  not all of the arguments were shown; v shows them\nLet it"));
    assert_null(strstr(seen, " end"));
    assert_int_equal(approve_with("y\nv\n", arguments), TOOLRACK_APPROVAL_DENY);
    assert_non_null(strstr(seen, "xxxthe \\u202e end\nLet it run?"));
    assert_int_equal(approve_with("View\ny\n", arguments), TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(approve_with("v\na\n", arguments), TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(approve_with("v\nn\n", arguments), TOOLRACK_APPROVAL_DENY);
    /* Where all is shown there is nothing more to view. */
    assert_int_equal(approve_with("v\ny\n", "{}"), TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_null(strstr(seen, "[v]iew"));
}

static void an_approval_shows_hidden_characters(void **state) {
    (void)state;
    /* zero-width space, right-to-left override, tag letter a, escape */
    const struct toolrack_approval_request request = {.tool = "se\xe2\x80\x8bnd",
                                                      .version = "1.0.0",
                                                      .plugin = "ma\xe2\x80\xaeil",
                                                      .arguments = "{\"to\":\"\xf3\xa0\x81\xa1\"}",
                                                      .reason = "be\xe2\x80\x8b\x1b[2Jcause"};
    struct ask ask;
    int out = memfd_create("terminal", MFD_CLOEXEC);
    int in = memfd_create("typed", MFD_CLOEXEC);
    assert_true(out >= 0 && in >= 0 && ask_init(&ask, in, out));
    assert_int_equal(ask_approval(&ask, &request), TOOLRACK_APPROVAL_DENY);
    ssize_t length = pread(out, seen, sizeof seen - 1, 0);
    assert_true(length >= 0);
    seen[length] = '\0';
    assert_string_equal(
            seen, "se\\u200bnd 1.0.0 (safe), of plugin ma\\u202eil: be\\u200b\\u001b[2Jcause\n"
                  "  to: \"\\udb40\\udc61\"\n"
                  "Let it run? [y]es, [a]lways for any caller, [N]o: \n");
    ask_finish(&ask);
    (void)close(in);
    (void)close(out);
}

/* A terminal of 20 columns that changes nothing; what is written to it is read from `ret_screen`.
 */
static int narrow_terminal(int *ret_screen) {
    *ret_screen = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(*ret_screen >= 0 && grantpt(*ret_screen) == 0 && unlockpt(*ret_screen) == 0);
    int terminal = open(ptsname(*ret_screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct winsize size = {.ws_col = 20, .ws_row = 24};
    struct termios modes;
    assert_true(terminal >= 0 && ioctl(terminal, TIOCSWINSZ, &size) == 0 &&
                tcgetattr(terminal, &modes) == 0);
    modes.c_oflag &= ~(tcflag_t)OPOST;
    modes.c_lflag &= ~(tcflag_t)ECHO;
    assert_int_equal(tcsetattr(terminal, TCSANOW, &modes), 0);
    return terminal;
}

/* What is on the screen, up to these bytes at its end. */
static void see_screen(int screen, const char *end) {
    size_t length = 0;
    size_t end_length = strlen(end);
    do {
        ssize_t n = read(screen, seen + length, sizeof seen - 1 - length);
        assert_true(n > 0);
        length += (size_t)n;
    } while (length < end_length || memcmp(seen + length - end_length, end, end_length) != 0);
    seen[length] = '\0';
}

/* Nor to what has scrolled away: the terminal has 24 rows. */
static void a_yes_counts_after_what_scrolls_was_shown(void **state) {
    (void)state;
    int screen;
    int terminal = narrow_terminal(&screen);
    CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
    buf_add_text(&arguments, "{\"disk\":\"DANGER\"");
    for (unsigned i = 0; i < 19; i++) {
        buf_printf(&arguments, ",\"n%u\":\"\"", i);
    }
    buf_add_char(&arguments, '}');
    struct toolrack_approval_request request = {.tool = "wipe",
                                                .version = "1.0.0",
                                                .plugin = "p",
                                                .arguments = "{\"disk\":\"DANGER\"}",
                                                .reason = "r"};
    for (unsigned i = 0; i < 3; i++) {
        int in[2];
        struct ask ask;
        const char *typed = i == 2 ? "v\ny\n" : "y\n";
        assert_true(pipe2(in, O_CLOEXEC) == 0 && ask_init(&ask, in[0], terminal));
        assert_int_equal(write(in[1], typed, strlen(typed)), strlen(typed));
        assert_int_equal(close(in[1]), 0);
        request.arguments = i == 0 ? "{\"disk\":\"DANGER\"}" : arguments.data;
        assert_int_equal(ask_approval(&ask, &request),
                         i == 1 ? TOOLRACK_APPROVAL_DENY : TOOLRACK_APPROVAL_ALLOW_ONCE);
        ask_finish(&ask);
        (void)close(in[0]);
        assert_true(write(terminal, "|", 1) == 1);
        see_screen(screen, "|");
        /* What is shown before the question fits, with the tool and what comes first. */
        const char *question = strstr(seen, "Let it run?");
        size_t rows = 0;
        assert_non_null(question);
        for (const char *at = seen; at < question; at++) {
            rows += *at == '\n';
        }
        assert_true(rows + 4 < 24);
        assert_true(strstr(seen, "wipe") < question && strstr(seen, "DANGER") < question);
        assert_true((strstr(seen, "not fit on the") != NULL) == (i > 0));
        assert_true((strstr(seen, "[v]iew all") != NULL) == (i > 0));
        assert_true((strstr(seen, "n18: \"\"") != NULL) == (i == 2));
    }
    (void)close(terminal);
    (void)close(screen);
}

/* A terminal breaks lines too: each row has the prefix. */
static void a_question_forges_no_line_of_the_host(void **state) {
    (void)state;
    int typed;
    int terminal = narrow_terminal(&typed);
    struct ask ask;
    char *content = NULL;
    assert_true(ask_init(&ask, terminal, terminal));
    ask.deadline_ns = 1; /* over: only the question is of interest */
    assert_int_equal(ask_person(&ask, "tool",
                                "Run?\r\n\ntoolrack: \xe2\x80\xa8 allowed          toolrack: no",
                                "{\"type\":\"object\"}", &content),
                     TOOLRACK_ANSWER_DISMISSED);
    see_screen(typed, " \n");
    assert_string_equal(seen, "tool asks: Run?\\u000\ntool asks: d\ntool asks: \n"
                              "tool asks: toolrack:\ntool asks: \\u2028\ntool asks: allowed\n"
                              "tool asks: toolrack:\ntool asks: no\nDo you agree? [y/N] \n");
    /* Nor does a field: a long title wraps under the same prefix. */
    assert_int_equal(ask_person(&ask, "tool", "Who?",
                                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\","
                                "\"title\":\"x        toolrack: may run: yes\"}}}",
                                &content),
                     TOOLRACK_ANSWER_DISMISSED);
    see_screen(typed, ": \n");
    for (const char *line = seen; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_true(strncmp(line, "tool asks: ", 11) == 0);
    }
    /* Nor do the arguments of a call that waits for a yes, of which no space is left out. */
    static const struct toolrack_approval_request request = {
            .tool = "send",
            .version = "1.0.0",
            .plugin = "m",
            .arguments = "{\"to\":\"x  y       Let it run? [y]es\"}",
            .reason = "r"};
    assert_int_equal(ask_approval(&ask, &request), TOOLRACK_APPROVAL_DENY);
    see_screen(typed, ": \n");
    assert_string_equal(seen, "send 1.0.0 (safe),\n  of plugin m: r\n  to: \"x  y       Le\n"
                              "        t it run? [y\n        ]es\"\n"
                              "Let it run? [y]es, [a]lways for any caller, [N]o: \n");
    ask_finish(&ask);
    (void)close(terminal);
    (void)close(typed);
}

static void what_was_typed_before_the_question_does_not_count(void **state) {
    (void)state;
    const struct toolrack_approval_request request = {
            .tool = "send", .version = "1.0.0", .plugin = "mail", .arguments = "{}", .reason = "r"};
    int typed = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(typed >= 0 && grantpt(typed) == 0 && unlockpt(typed) == 0);
    int terminal = open(ptsname(typed), O_RDWR | O_NOCTTY | O_CLOEXEC);
    int out = memfd_create("terminal", MFD_CLOEXEC);
    struct ask ask;
    char *content = NULL;
    assert_true(terminal >= 0 && out >= 0 && ask_init(&ask, terminal, out));
    struct pollfd arrived = {.fd = terminal, .events = POLLIN};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(write(typed, "y\n", 2), 2);
        assert_int_equal(poll(&arrived, 1, 10000), 1);
        ask.deadline_ns = clock_now_ns() + 50 * CLOCK_NS_PER_MS;
        if (i == 0) {
            assert_int_equal(ask_approval(&ask, &request), TOOLRACK_APPROVAL_DENY);
        } else {
            assert_int_equal(ask_person(&ask, "tool", "?", "{\"type\":\"object\"}", &content),
                             TOOLRACK_ANSWER_DISMISSED);
        }
    }
    ask_finish(&ask);
    (void)close(terminal);
    (void)close(typed);
    (void)close(out);
}

/* ------------------------------------------------------------------- exit codes */

static void each_failure_has_its_exit_code(void **state) {
    (void)state;
    assert_int_equal(cli_exit_of(TOOLRACK_OK), CLI_OK);
    assert_int_equal(cli_exit_of(TOOLRACK_E_NOT_FOUND), CLI_NOT_FOUND);
    assert_int_equal(cli_exit_of(TOOLRACK_E_INVALID_ARGUMENTS), CLI_ARGUMENTS);
    assert_int_equal(cli_exit_of(TOOLRACK_E_DISABLED), CLI_DENIED);
    assert_int_equal(cli_exit_of(TOOLRACK_E_PERMISSION_DENIED), CLI_DENIED);
    assert_int_equal(cli_exit_of(TOOLRACK_E_CONFIRMATION_REQUIRED), CLI_DENIED);
    assert_int_equal(cli_exit_of(TOOLRACK_E_TIMEOUT), CLI_TIMEOUT);
    assert_int_equal(cli_exit_of(TOOLRACK_E_EXECUTION_FAILED), CLI_TOOL);
    assert_int_equal(cli_exit_of(TOOLRACK_E_CANCELLED), CLI_FAILED);
    assert_int_equal(cli_exit_of(TOOLRACK_E_IO), CLI_FAILED);
    assert_int_equal(cli_exit_of(-999), CLI_FAILED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(each_failure_has_its_exit_code),
            cmocka_unit_test(no_line_is_written_into_a_question),
            cmocka_unit_test(text_shows_what_a_terminal_would_obey),
            cmocka_unit_test(text_of_one_line_has_single_spaces),
            cmocka_unit_test(text_is_cut_between_characters),
            cmocka_unit_test(table_aligns_by_columns_of_the_terminal),
            cmocka_unit_test(table_wraps_a_long_text),
            cmocka_unit_test(table_puts_a_text_without_room_beneath),
            cmocka_unit_test(table_cuts_what_would_pad_all_rows),
            cmocka_unit_test(table_narrows_the_widest_columns),
            cmocka_unit_test(table_puts_columns_without_room_beneath),
            cmocka_unit_test(ids_are_found_by_their_beginning),
            cmocka_unit_test(output_is_wrapped_under_its_text),
            cmocka_unit_test(only_styles_become_escape_sequences),
            cmocka_unit_test(options_stand_anywhere),
            cmocka_unit_test(lists_do_not_mix),
            cmocka_unit_test(options_leave_words_that_begin_with_a_dash),
            cmocka_unit_test(options_refuse_with_the_way_out),
            cmocka_unit_test(options_read_whole_numbers),
            cmocka_unit_test(durations_have_a_unit),
            cmocka_unit_test(approval_takes_a_clear_yes),
            cmocka_unit_test(secrets_are_not_shown_in_a_question),
            cmocka_unit_test(after_a_stop_nothing_is_asked),
            cmocka_unit_test(arguments_are_lines),
            cmocka_unit_test(calls_of_a_plan_are_lines),
            cmocka_unit_test(a_yes_counts_after_all_was_shown),
            cmocka_unit_test(a_yes_counts_after_what_scrolls_was_shown),
            cmocka_unit_test(an_approval_shows_hidden_characters),
            cmocka_unit_test(a_question_forges_no_line_of_the_host),
            cmocka_unit_test(what_was_typed_before_the_question_does_not_count),
            cmocka_unit_test(questions_are_lines),
            cmocka_unit_test(wrong_lines_can_be_mended),
            cmocka_unit_test(choices_are_named),
            cmocka_unit_test(consent_takes_a_word),
            cmocka_unit_test(what_is_not_flat_is_not_asked),
            cmocka_unit_test(questions_end_with_the_call),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
