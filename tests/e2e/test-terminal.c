/* What a person sees on a terminal: lines that fit, colour, a pager; and that a program which reads
 * the output sees none of it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"

/* A terminal that has colour, and no pager. */
static int terminal_setup(void **state) {
    (void)unsetenv("COLUMNS");
    (void)unsetenv("NO_COLOR");
    (void)unsetenv("LESS");
    (void)unsetenv("PAGER");
    (void)setenv("TERM", "xterm", 1);
    (void)setenv("TOOLRACK_PAGER", "", 1);
    return e2e_setup(state);
}

/* ------------------------------------------------------------------- width */

static void make_history(void) {
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
    EXPECT(RUN("call", "add", "{\"a\":\"a text that is no number, and rather long too\"}"), 4, "",
           NULL);
    EXPECT(RUN("call", "erase"), 5, "", NULL);
    EXPECT(RUN("grant", "launch", "--for", "2h"), 0, NULL, "");
    EXPECT(RUN("blacklist", "add", "greet", "--why", "it greets everybody, also those who left"), 0,
           NULL, "");
}

/* Columns of a line without its escape sequences. The fixtures have no wide characters. */
static size_t columns_of(const char *line, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\x1b') {
            while (i < length && line[i] != 'm') {
                i++;
            }
        } else {
            columns += ((unsigned char)line[i] & 0xc0) != 0x80;
        }
    }
    return columns;
}

static void expect_fit(unsigned short columns, const char *const *args) {
    struct run run =
            run_how(&(struct how){.columns = columns, .bare = strcmp(args[0], "check") == 0}, args);
    assert_true(run.out[0] != '\0');
    for (const char *line = run.out; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (columns_of(line, length) > columns) {
            fail_msg("%s %s: wider than %u: %.*s", args[0], args[1] != NULL ? args[1] : "", columns,
                     (int)length, line);
        }
        line += length + (line[length] == '\n');
    }
    run_finish(&run);
}

static void lines_fit_the_terminal(void **state) {
    (void)state;
    static const unsigned short widths[] = {80, 40};
    static const char *const verbs[][4] = {
            {"list", "--all"},
            {"show", "greet"},
            {"show", "echo", "--schema"},
            {"plugins"},
            {"log"},
            {"log", "2"},
            {"decisions"},
            {"grants"},
            {"statistics"},
            {"statistics", "add"},
            {"recommend"},
            {"recommend", "--explain"},
            {"blacklist", "list"},
            {"why", "kit"},
            {"help"},
            {"help", "call"},
            {"check", "none.so"},
            {"help", "agent"},
    };
    make_history();
    e2e_write("none.so", "not a plugin at all\n");
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            expect_fit(widths[w], verbs[i]);
        }
    }
    /* Not known to be wider: 80. */
    (void)setenv("COLUMNS", "wide", 1);
    expect_fit(80, ARGS("list"));
}

static void nothing_is_cut(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.columns = 80}, "list", "--color=never"), 0,
           "*\nstubborn  1.0.0    10        safe        kit      listed\n"
           "    Take three seconds whatever is said\n*",
           "");
    EXPECT(RUN_WITH({.columns = 40}, "show", "stubborn", "--color", "never"), 0,
           "*\nsandbox      no-new-privs, *\n             *\n*", "");
}

static void a_pipe_gets_a_line_for_each_row(void **state) {
    (void)state;
    make_history();
    (void)setenv("COLUMNS", "40", 1);
    EXPECT(RUN("log", "--errors"), 0,
           "ID *DETAIL\n2 *  InvalidArguments * /a: must be a number, *\n3 *\n", "");
    EXPECT(RUN("blacklist", "list"), 0,
           "TOOL *\ngreet *  it greets everybody, also those who left\n", "");
}

/* ------------------------------------------------------------------ colour */

static const char esc[] = "*\x1b[*";

/* Whether the output has an escape sequence, with `how` and more arguments. */
static void expect_color(bool expected, struct run run) {
    if ((strchr(run.out, '\x1b') != NULL) != expected) {
        fail_msg("%s: %s", expected ? "no colour" : "colour", run.out);
    }
    assert_int_equal(run.exit, 0);
    run_finish(&run);
}

static void colour_is_where_a_terminal_wants_it(void **state) {
    (void)state;
    EXPECT(RUN_WITH({.columns = 80}, "list"), 0, "\x1b[0;1mNAME\x1b[0m *", "");
    EXPECT(RUN_WITH({.columns = 80}, "list", "--all"), 0, "*\x1b[0;2mdisabled\x1b[0m*", "");
    expect_color(false, RUN("list"));
    expect_color(false, RUN_WITH({.columns = 80}, "list", "--color=never"));
    expect_color(false, RUN_WITH({.columns = 80}, "list", "--json", "--color=always"));
    EXPECT(RUN("list", "--color=always"), 0, esc, "");
    (void)setenv("NO_COLOR", "1", 1);
    expect_color(false, RUN_WITH({.columns = 80}, "list"));
    EXPECT(RUN_WITH({.columns = 80}, "list", "--color", "always"), 0, esc, "");
    (void)setenv("NO_COLOR", "", 1);
    expect_color(true, RUN_WITH({.columns = 80}, "list"));
    (void)setenv("TERM", "dumb", 1);
    expect_color(false, RUN_WITH({.columns = 80}, "list"));
    (void)unsetenv("TERM");
    expect_color(false, RUN_WITH({.columns = 80}, "list"));
    EXPECT(RUN("list", "--color", "blue"), 2, "",
           "toolrack: --color takes auto, always or never, not \"blue\"\n");
}

/* ------------------------------------------------------------------- pager */

static char *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    static char text[65536];
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static void long_output_is_paged(void **state) {
    (void)state;
    (void)setenv("TOOLRACK_PAGER", "cat >paged; echo \"LESS is $LESS\"", 1);
    EXPECT(RUN_WITH({.columns = 80}, "help"), 0, "LESS is FRX\n", "");
    EXPECT_MATCH(read_file("paged"),
                 "usage: toolrack VERB *'toolrack help VERB' describes a verb.\n");
    assert_int_equal(unlink("paged"), 0);
    (void)setenv("LESS", "M", 1);
    EXPECT(RUN_WITH({.columns = 80}, "list"), 0, "LESS is M\n", "");
    assert_int_equal(unlink("paged"), 0);
    /* Neither short output, nor JSON, nor a result, nor what a program reads. */
    EXPECT(RUN_WITH({.columns = 80}, "list", "add"), 0, "*Add two numbers\n", "");
    EXPECT(RUN_WITH({.columns = 80}, "help", "--json"), 0, "{\n*", "");
    EXPECT(RUN_WITH({.columns = 80}, "export", "--format", "mcp"), 0, "[\n*", NULL);
    EXPECT(RUN_WITH({.columns = 80}, "help", "--no-pager"), 0, "usage: *", "");
    EXPECT(RUN("help"), 0, "usage: *", "");
    assert_int_equal(access("paged", F_OK), -1);
}

static void the_pager_is_a_choice(void **state) {
    (void)state;
    (void)unsetenv("TOOLRACK_PAGER");
    (void)setenv("PAGER", "echo this one; true", 1);
    EXPECT(RUN_WITH({.columns = 80}, "help"), 0, "this one\n", "");
    (void)setenv("TOOLRACK_PAGER", "echo that one", 1);
    EXPECT(RUN_WITH({.columns = 80}, "help"), 0, "that one\n", "");
    (void)setenv("TOOLRACK_PAGER", "cat", 1);
    EXPECT(RUN_WITH({.columns = 80}, "help"), 0, "usage: *", "");
    (void)setenv("TOOLRACK_PAGER", "no-such-pager-anywhere", 1);
    EXPECT(RUN_WITH({.columns = 80}, "help"), 0, "*usage: *",
           "*toolrack: cannot run the pager \"no-such-pager-anywhere\"; *");
    (void)setenv("TOOLRACK_PAGER", "echo paged", 1);
    (void)setenv("TERM", "dumb", 1);
    EXPECT(RUN_WITH({.columns = 80}, "help"), 0, "usage: *", "");
}

/* It may be left before it has read everything, and Ctrl-C is for it. */
static void a_pager_that_is_left_is_no_failure(void **state) {
    (void)state;
    char path[64];
    assert_int_equal(mkdir("many", 0700), 0);
    for (int i = 0; i < 500; i++) { /* more than a pipe holds */
        (void)snprintf(path, sizeof path, "many/broken-file-number-%d.so", i);
        e2e_write(path, "not a plugin at all\n");
    }
    (void)setenv("TOOLRACK_PAGER", "wc -c", 1);
    struct run run = RUN_WITH(HOW(.columns = 80, .plugins = "many"), "list", "--all");
    assert_true(atoi(run.out) > 65536);
    run_finish(&run);
    (void)setenv("TOOLRACK_PAGER", "head -n 1", 1);
    EXPECT(RUN_WITH(HOW(.columns = 80, .plugins = "many"), "list", "--all"), 0, "*NAME*\n",
           NULL); /* each file is a line of the log too */
    (void)setenv("TOOLRACK_PAGER", "kill -INT $PPID; head -n 1", 1);
    EXPECT(RUN_WITH({.columns = 80}, "help"), 0, "usage: *\n", "");
}

/* The terminal is not left to a pager whose toolrack has ended. The run waits for all processes
 * that have the terminal. */
static void a_pager_ends_with_the_command(void **state) {
    (void)state;
    e2e_write("pager", "#!/bin/sh\nkill -TERM $PPID\nexec sleep 600\n");
    assert_int_equal(chmod("pager", 0700), 0);
    (void)setenv("TOOLRACK_PAGER", "./pager --wait", 1);
    struct run run = RUN_WITH({.columns = 80}, "help");
    assert_int_equal(run.signal, SIGTERM);
    run_finish(&run);
}

/* A definition that is refused for its texts, and one whose result is hostile. */
static const char hostile[] =
        "{\"tools\": [{\"name\": \"nasty\", \"description\": \"\\u001b]0;owned\\u0007\\u009b2J\", "
        "\"type\": \"function\", \"parameters\": {\"type\": \"object\"},\n"
        "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}},\n"
        "{\"name\": \"fine\", \"description\": \"d\", \"type\": \"function\", \"parameters\":\n"
        "{\"type\": \"object\", \"properties\": {\"\\u001b[5mx\": {\"type\": \"string\", "
        "\"default\": "
        "\"\\u001bc\", \"description\": \"\\u001b[8m\", \"enum\": [\"\\u001bc\", "
        "\"\\u001b[2J\"]}}},\n"
        "\"implementation\": {\"type\": \"mock\", \"mock_response\": \"\\u001b[31mred\"}}]}\n";

/* Fail unless every escape sequence of a text is one of a style. */
static void expect_only_styles(const char *text) {
    for (const char *at = strchr(text, '\x1b'); at != NULL; at = strchr(at + 1, '\x1b')) {
        size_t length = strspn(at + 1, "[0123456789;");
        if (at[1] != '[' || at[1 + length] != 'm' || strncmp(at, "\x1b[0", 3) != 0) {
            fail_msg("an escape sequence: %.12s", at + 1);
        }
    }
    assert_null(strstr(text, "\xc2\x9b"));
    assert_null(strchr(text, '\a'));
}

static void texts_of_plugins_send_no_sequences(void **state) {
    (void)state;
    static const char *const verbs[][4] = {
            {"list", "--all"}, {"show", "fine"}, {"show", "fine", "--schema"}, {"log", "--verbose"},
            {"log", "1"},      {"why", "fine"},  {"plugins", "--verbose"},
    };
    e2e_write("toolrack.json", hostile);
    assert_int_equal(mkdir("hostile", 0700), 0);
    e2e_write("hostile/\x1b]0;owned\a.so", "not a plugin at all\n");
    EXPECT(RUN_WITH({.bare = true}, "call", "fine", "--config", "toolrack.json", "--state", "state",
                    "--caller", "\x1b]0;owned\a", "--arg", "\x1b[5mx=\x1b[2J"),
           0, NULL, NULL);
    (void)setenv("TOOLRACK_PAGER", "cat >>paged", 1);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        const char *args[] = {"--config",  "toolrack.json", "--state",   "state",
                              "--plugins", e2e_plugins(),   "--plugins", "hostile",
                              verbs[i][0], verbs[i][1],     verbs[i][2], NULL};
        struct run run = run_how(&(struct how){.bare = true, .columns = 80}, args);
        assert_int_equal(run.exit, 0);
        expect_only_styles(run.out);
        run_finish(&run);
    }
    expect_only_styles(read_file("paged"));
    EXPECT_MATCH(read_file("paged"), "*\\u001b]0;owned\\u0007*");
}

/* -------------------------------------------------------------------- runs */

/* A chain. */
static const char chain[] =
        "{\"nodes\": ["
        "{\"id\": \"first\", \"tool\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}},\n"
        "{\"id\": \"second\", \"tool\": \"add\", \"arguments\": {\"a\": {\"$ref\": "
        "\"#/nodes/first/result\"}, \"b\": 4}}],\n"
        "\"result\": {\"$ref\": \"#/nodes/second/result\"}}";

static void a_run_is_watched_on_a_terminal(void **state) {
    (void)state;
    e2e_write("plan.json", chain);
    /* The last of the frames, each drawn over the one before, then what took the time. */
    EXPECT(RUN_WITH({.columns = 80}, "run", "plan.json", "--watch", "--color=never"), 0,
           "*2 of 2 nodes ended, *, run *\x1b[K\nfirst   succeeded  *  add\x1b[K\n"
           "second  succeeded  *  add\x1b[K\n\x1b[J"
           "critical path: 2 nodes, * of *\n  first * ms  * %*\n  second * ms  * %*\n7.0\n",
           "");
    EXPECT(RUN_WITH({.columns = 80}, "run", "plan.json", "--watch"), 0,
           "*\x1b[0;32msucceeded\x1b[0m*", "");
    /* Lines, and the result alone, where nothing can be drawn. */
    static const char lines[] = "toolrack: this is run *, for 'runs' and 'run --resume'\n"
                                "toolrack: first (add): succeeded\n"
                                "toolrack: second (add): succeeded\n";
    EXPECT(RUN("run", "plan.json", "--watch"), 0, "7.0\n", lines);
    (void)setenv("TERM", "dumb", 1);
    EXPECT(RUN_WITH({.columns = 80}, "run", "plan.json", "--watch"), 0, "7.0\n", lines);
}

/* A node that its fallback has saved, with an id that is a keyword of Mermaid. */
static const char saved[] =
        "{\"nodes\": ["
        "{\"id\": \"end\", \"tool\": \"fails\", \"on_error\": {\"fallback\": {\"value\": 5}}},"
        "{\"id\": \"sum\", \"tool\": \"add\", \"arguments\": {\"a\": {\"$ref\": "
        "\"#/nodes/end/result\"}, \"b\": 4}}]}";

static void a_fallback_is_seen(void **state) {
    (void)state;
    e2e_write("plan.json", saved);
    EXPECT(RUN("run", "plan.json"), 0, "{\"sum\":9.0}\n",
           "*end (fails): succeeded by its fallback: *\n*sum (add): succeeded\n");
    EXPECT(RUN("run", "plan.json", "--json"), 0,
           "*\"node\":\"end\",*\"state\":\"succeeded\",*\"fallback\":\"*\"}\n"
           "*\"nodes\":{\"end\":{\"state\":\"succeeded\",\"result\":5,\"fallback\":\"*\","
           "\"attempts\":1},\"sum\":{\"state\":\"succeeded\",\"result\":9.0,\"attempts\":1}}}\n",
           "");
    EXPECT(RUN_WITH({.columns = 80}, "run", "plan.json", "--watch", "--color=never"), 0,
           "*end  succeeded  *  fails, by its fallback: *", "");
    /* Without a name the run is known by its tools. */
    EXPECT(RUN("runs"), 0, "ID *PLAN *STATE *DONE *SINCE *DURATION *CALLER\n*fails, add*2 of 2*",
           "");
    EXPECT(RUN("run", "plan.json", "--graph", "mermaid"), 0,
           "flowchart TD\n  n0[\"end: fails\"]\n  n1[\"sum: add\"]\n  n0 --> n1\n", "");
    e2e_write("wrong.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"add\", \"args\": {}}]}");
    EXPECT(RUN("run", "wrong.json", "--dry-run", "--json"), 1,
           "{\"findings\":[{\"severity\":\"error\",\"id\":\"plan-key\",\"node\":\"a\",*\"fix\":"
           "\"did you mean \\\"arguments\\\"?\"}*",
           "");
}

/* Fail unless no frame, between two moves of the cursor, has more than 24 lines. */
static void expect_frames_fit(const char *out) {
    size_t lines = 0;
    for (; strncmp(out, "critical path", strlen("critical path")) != 0; out++) {
        assert_true(*out != '\0');
        lines = *out == '\r' ? 0 : lines + (*out == '\n');
        assert_true(lines < 24);
    }
}

/* 40 nodes, of which the last fails: it stands first. */
static void a_long_plan_fits_the_terminal(void **state) {
    (void)state;
    static char plan[8192];
    size_t length = (size_t)snprintf(plan, sizeof plan, "{\"nodes\": [");
    for (int i = 0; i < 40; i++) {
        length += (size_t)snprintf(plan + length, sizeof plan - length,
                                   "{\"id\": \"n%d\", \"tool\": \"add\", \"arguments\": "
                                   "{\"a\": %d, \"b\": 1}},\n",
                                   i, i);
    }
    (void)snprintf(plan + length, sizeof plan - length,
                   "{\"id\": \"bad\", \"tool\": \"fails\", \"on_error\": \"skip\"}], "
                   "\"result\": 1}");
    e2e_write("plan.json", plan);
    struct run run = RUN_WITH({.columns = 80}, "run", "plan.json", "--watch", "--color=never");
    expect_frames_fit(run.out);
    EXPECT_MATCH(run.out,
                 "*41 of 41 nodes ended, 1 failed, *, run *\nbad  failed *\nn0 *\n+20 more*");
    run_finish(&run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, terminal_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(lines_fit_the_terminal),
            TEST(nothing_is_cut),
            TEST(a_pipe_gets_a_line_for_each_row),
            TEST(colour_is_where_a_terminal_wants_it),
            TEST(long_output_is_paged),
            TEST(the_pager_is_a_choice),
            TEST(a_pager_that_is_left_is_no_failure),
            TEST(a_pager_ends_with_the_command),
            TEST(texts_of_plugins_send_no_sequences),
            TEST(a_run_is_watched_on_a_terminal),
            TEST(a_fallback_is_seen),
            TEST(a_long_plan_fits_the_terminal),
    };
    return cmocka_run_group_tests_name("terminal", tests, NULL, NULL);
}
