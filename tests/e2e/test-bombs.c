/* A schema in a plugin's file that would cost without end: every verb ends by itself, in the time
 * that the whole test has, with words that say why; and another plugin is served. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "schema-room.h"

/* A test that would run for ever ends here. */
#define BLOCKED_AFTER_S 100

static int setup(void **state) {
    (void)alarm(BLOCKED_AFTER_S);
    return e2e_setup(state) | mkdir("plugins", 0700);
}

static int teardown(void **state) {
    (void)alarm(0);
    return e2e_teardown(state);
}

/* ------------------------------------------------------------------------- a schema */

static char schema[SCHEMA_ROOM + 1];
static size_t length;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int count = vsnprintf(schema + length, sizeof schema - length, format, args);
    va_end(args);
    assert_in_range(count, 0, sizeof schema - length - 1);
    length += (size_t)count;
}

/* Put the plugin there with that schema, beside a sound one. */
static void put(void) {
    char path[256];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/schema-room.so", getenv("E2E_BUILDS"));
    e2e_copy(path, "plugins/room.so", 0);
    (void)snprintf(path, sizeof path, "%s/build.so", getenv("E2E_BUILDS"));
    e2e_copy(path, "plugins/build.so", 0);
    int fd = open("plugins/room.so", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(data, MAP_FAILED);
    char *at = memmem(data, (size_t)st.st_size, SCHEMA_ROOM_MARK, strlen(SCHEMA_ROOM_MARK));
    assert_non_null(at);
    memset(at, ' ', SCHEMA_ROOM);
    memcpy(at, schema, length);
    assert_int_equal(munmap(data, (size_t)st.st_size), 0);
    assert_int_equal(close(fd), 0);
}

/* "d0" refers to "d1" and so on; each in so many places. */
static void chain(unsigned count, const char *keyword, const char *last) {
    say("{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{");
    for (unsigned i = 0; i < count; i++) {
        if (keyword == NULL) {
            say("\"d%u\":{\"$ref\":\"#/$defs/d%u\"},", i, i + 1);
        } else {
            say("\"d%u\":{\"%s\":[{\"$ref\":\"#/$defs/d%u\"},{\"$ref\":\"#/$defs/d%u\"}]},", i,
                keyword, i + 1, i + 1);
        }
    }
    say("\"d%u\":%s}}", count, last);
}

static void nested(unsigned depth, const char *keyword) {
    say("{\"type\":\"object\",\"properties\":{\"a\":");
    for (unsigned i = 0; i < depth; i++) {
        say("{\"%s\":", keyword);
    }
    say("{}");
    for (unsigned i = 0; i < depth; i++) {
        say("}");
    }
    say("}}");
}

static void a_pattern(const char *pattern) {
    say("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"%s\"}}}",
        pattern);
}

/* ---------------------------------------------------------------------------- bombs */

static void deep_nesting(void) {
    nested(2000, "not");
}
static void deep_references(void) {
    chain(700, NULL, "{\"type\":\"integer\"}");
}
static void a_circle(void) {
    say("{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},"
        "\"$defs\":{\"d0\":{\"$ref\":\"#/$defs/d1\"},\"d1\":{\"$ref\":\"#/$defs/d0\"}}}");
}
static void all_of_all(void) {
    chain(40, "allOf", "{\"type\":\"integer\"}");
}
static void any_of_any(void) {
    chain(40, "anyOf", "{\"type\":\"boolean\"}");
}
static void one_of_one(void) {
    chain(40, "oneOf", "{\"type\":\"integer\"}");
}
static void a_pattern_that_backtracks(void) {
    a_pattern("^(([a-z])+.)+[A-Z]([a-z])+$");
}
static void a_pattern_of_repetitions(void) {
    a_pattern("((((a{1,1000}){1,1000}){1,1000}){1,1000}){1,1000}");
}
static void a_pattern_of_groups(void) {
    char groups[20001];
    memset(groups, '(', 10000);
    memset(groups + 10000, ')', 10000);
    groups[20000] = '\0';
    a_pattern(groups);
}

#define STEPS "LimitExceeded: checking took more than 10000000 steps"

struct bomb {
    void (*make)(void);
    const char *arguments;
    const char *refused; /* why its tool is refused; NULL: it is not */
    const char *call;    /* what a call of it says */
    bool has_no_ollama;  /* that format has no references, and so many copies are not made */
};

static const struct bomb bombs[] = {
        {deep_nesting, "{\"a\":1}", .refused = "is nested deeper than 64"},
        {a_circle, "{\"a\":1}", .refused = "refers to itself endlessly"},
        {a_pattern_of_repetitions, "{\"a\":\"a\"}", .refused = "regular expression is too large"},
        {a_pattern_of_groups, "{\"a\":\"a\"}", .refused = "it is longer than "},
        {deep_references, "{\"a\":1}",
         .call = "LimitExceeded: the value or its schema is nested deeper than 256 "
                 "levels"},
        {all_of_all, "{\"a\":1}", .call = STEPS, .has_no_ollama = true},
        {any_of_any, "{\"a\":1}", .call = STEPS, .has_no_ollama = true},
        {one_of_one, "{\"a\":1}", .call = STEPS, .has_no_ollama = true},
        {a_pattern_that_backtracks,
         "{\"a\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
         .call = "LimitExceeded: a regular expression (pattern) of the schema backtracked more "
                 "than"},
};

static const char *const formats[] = {"openai", "openai-responses", "anthropic",
                                      "gemini", "ollama",           "mcp"};

#define PLUGINS HOW(.plugins = "plugins")

static const char *holding(const char *part) {
    static char pattern[160];
    (void)snprintf(pattern, sizeof pattern, "*%s*", part);
    return pattern;
}

static void export_it(const struct bomb *bomb, const char *format) {
    struct run run = RUN_WITH(PLUGINS, "export", "--format", format, "--allow", "roomy,build");
    bool is_left_out = bomb->has_no_ollama && strcmp(format, "ollama") == 0;
    if (bomb->refused != NULL) { /* there is no such tool */
        assert_int_equal(run.exit, 3);
        assert_string_equal(run.out, "");
        EXPECT_MATCH(run.err, "*roomy*");
        run_finish(&run);
        run = RUN_WITH(PLUGINS, "export", "--format", format);
    }
    assert_int_equal(run.exit, 0);
    assert_non_null(strstr(run.out, "\"build\""));
    assert_int_equal(strstr(run.out, "\"roomy\"") == NULL, is_left_out || bomb->refused != NULL);
    if (is_left_out) {
        EXPECT_MATCH(run.err, "*roomy: refused at *");
    }
    run_finish(&run);
}

static void every_verb_ends_and_says_why(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        const struct bomb *bomb = &bombs[i];
        const char *refused = bomb->refused;
        length = 0;
        bomb->make();
        put();
        EXPECT(RUN_WITH({.bare = true}, "check", "plugins/room.so"),
               refused != NULL || bomb->has_no_ollama ? 1 : 0,
               refused != NULL ? holding(refused) : "*1 tool*", "*");
        EXPECT(RUN_WITH(PLUGINS, "list", "--all"), 0,
               refused != NULL ? "*build *test.room*refused*" : "*build *roomy *", "*");
        EXPECT(RUN_WITH(PLUGINS, "show", "roomy"), refused != NULL ? 3 : 0,
               refused != NULL ? "" : "roomy 1.0.0\n*", refused != NULL ? holding(refused) : "*");
        EXPECT(RUN_WITH(PLUGINS, "call", "roomy", bomb->arguments), refused != NULL ? 3 : 1, "",
               holding(refused != NULL ? refused : bomb->call));
        for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
            export_it(bomb, formats[k]);
        }
        EXPECT(RUN_WITH(PLUGINS, "call", "build"), 0, "1\n", "*");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(every_verb_ends_and_says_why, setup, teardown),
    };
    return cmocka_run_group_tests_name("bombs", tests, NULL, NULL);
}
