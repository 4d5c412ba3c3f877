/* Which characters are hidden, where text needs them, and the form that everybody sees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hidden.h"
#include "base/text.h"
#include "toolrack/format.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack, toolrack_close)
CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

static void assert_visible(const char *text, const char *expected) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    hidden_add_visible(&out, text, strlen(text));
    buf_add_char(&out, '\0');
    assert_string_equal(out.data, expected);
    assert_int_equal(hidden_has(text, strlen(text)), strcmp(text, expected) != 0);
}

static void assert_needed(const char *text) {
    assert_visible(text, text);
}

static void each_kind_is_made_visible(void **state) {
    (void)state;
    assert_visible("a\u200bb", "a\\u200bb");
    assert_visible("\ufeffstart", "\\ufeffstart");
    assert_visible("pay\u202etxt\u202c", "pay\\u202etxt\\u202c");
    assert_visible("\u2066a\u2069\u200e\u200f\u061c", "\\u2066a\\u2069\\u200e\\u200f\\u061c");
    assert_visible("soft\u00adhyphen", "soft\\u00adhyphen");
    assert_visible("\u3164\uffa0\u115f\u034f", "\\u3164\\uffa0\\u115f\\u034f");
    assert_visible("two\u2028lines", "two\\u2028lines");
    assert_visible("\U000E0041\U000E0001.", "\\udb40\\udc41\\udb40\\udc01.");
    assert_visible("x\U000E0100y", "x\\udb40\\udd00y");
}

static void what_ordinary_text_needs_stays(void **state) {
    (void)state;
    assert_needed("");
    assert_needed("plain ASCII, caf\u00e9, \u4e2d\u6587, \u0440\u0443\u0441");
    assert_needed("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"); /* Persian */
    assert_needed("PDF\u200c\u0647\u0627, 3\u200c\u0647\u0627"); /* its plural of other words */
    assert_needed("\u0915\u094d\u200d\u0937");                   /* Hindi */
    assert_needed("\u0dc1\u0dca\u200d\u0dbb\u0dd3");             /* Sinhala */
    assert_needed("\U0001F468\u200d\U0001F469\u200d\U0001F467"); /* family */
    assert_needed("\U0001F44B\U0001F3FD\u200d\u2642\ufe0f");     /* skin tone, sign */
    assert_needed("\U0001F3F3\ufe0f\u200d\U0001F308");           /* rainbow flag */
    assert_needed("1\ufe0f\u20e3 \u2764\ufe0f \u263a\ufe0e");    /* keycap, heart */
    assert_needed("\u845b\U000E0100");                           /* ideograph */
    assert_needed("\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F");
    assert_needed("\u0e20\u0e32\u0e29\u0e32\u200b\u0e44\u0e17\u0e22"); /* Thai */
    assert_needed("\u182d\u180b\u1820");                               /* Mongolian */
}

/* The places where text needs such characters carry no hidden text. */
static void needed_places_carry_nothing_else(void **state) {
    (void)state;
    assert_visible("\u2764\ufe0f\ufe0f", "\u2764\ufe0f\\ufe0f");
    assert_visible("\U0001F600\ufe01", "\U0001F600\\ufe01");
    assert_visible("\U0001F600\U000E0148\U000E0149", "\U0001F600\\udb40\\udd48\\udb40\\udd49");
    assert_visible("\u845b\U000E0100\U000E0101", "\u845b\U000E0100\\udb40\\udd01");
    assert_visible("\u0645\u200c\u200c\u200d", "\u0645\u200c\\u200c\\u200d");
    assert_visible("\U0001F468\u200d!", "\U0001F468\\u200d!");
    assert_visible("a\u200db", "a\\u200db");
    assert_visible("\U0001F3F4\U000E0075\U000E0073\U000E007F",
                   "\U0001F3F4\\udb40\\udc75\\udb40\\udc73\\udb40\\udc7f");
    assert_visible("\U0001F3F4\U000E0067\U000E0062\U000E0065",
                   "\U0001F3F4\\udb40\\udc67\\udb40\\udc62\\udb40\\udc65");
}

static void any_bytes(void **state) {
    (void)state;
    assert_needed("\xff\xe2\x80");
    assert_visible("\xff\u200b\xc2", "\xff\\u200b\xc2");
    size_t size = 0;
    uint32_t point = 0;
    assert_int_equal(hidden_find("a\0\xe2\x80\x8b", 5, &size, &point), 2);
    assert_int_equal(size, 3);
    assert_int_equal(point, 0x200b);
    assert_int_equal(hidden_find("a\xe2\x80\x8b", 3, &size, &point), 3); /* cut: no character */
}

static void terminal_text_shows_them(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const char *text = "ok\u200b\U000E0061\x1b[0m \u2764\ufe0f";
    text_add_escaped(&out, text, strlen(text));
    buf_add_char(&out, '\0');
    assert_string_equal(out.data, "ok\\u200b\\udb40\\udc61\\u001b[0m \u2764\ufe0f");
}

/* ---------------------------------------------------- in a plugin, to a model */

static void check_finds_them_and_each_place(void **state) {
    (void)state;
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    assert_int_equal(toolrack_check(TEST_PLUGINS "/hidden-text.so", &findings, NULL), 0);
    static const char *const expected[] = {
            "described: description of the tool has the hidden character U+E0041 at byte 9",
            "described: title of the tool has the hidden character U+200B at byte 2",
            "escaped: a string in the schema of the arguments has the hidden character U+200B",
            "chosen: a string in the schema of the arguments has the hidden character U+FEFF",
            ("typed: parameter a: description of the parameter has the hidden character U+00AD at "
             "byte 5"),
    };
    size_t found = 0;
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        char line[512];
        if (strcmp(finding->rule, "text-hidden") != 0) {
            continue;
        }
        (void)snprintf(line, sizeof line, "%s: %s", finding->tool, finding->cause);
        assert_true(found < ARRAY_LENGTH(expected));
        assert_string_equal(line, expected[found++]);
        assert_int_equal(finding->severity, TOOLRACK_SEVERITY_WARNING);
        assert_non_null(strstr(finding->fix, "remove the character"));
    }
    assert_int_equal(found, ARRAY_LENGTH(expected));
}

/* A folder with the plugin alone. */
static char folder[] = "/tmp/toolrack-hidden-XXXXXX";
static char plugin[sizeof folder + 16];

static int make_folder(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(plugin, sizeof plugin, "%s/hidden.so", folder);
    return symlink(TEST_PLUGINS "/hidden-text.so", plugin);
}

static int remove_folder(void **state) {
    (void)state;
    return unlink(plugin) == 0 ? rmdir(folder) : -1;
}

static struct toolrack *open_host(void) {
    const char *const folders[] = {folder, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = folders;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    return host;
}

static void exports_show_them(void **state) {
    (void)state;
    CLEANUP(toolrack_closep) struct toolrack *host = open_host();
    for (enum toolrack_format format = 0; format < TOOLRACK_FORMAT_COUNT; format++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
        assert_int_equal(toolrack_export(host, format, NULL, &text, &report, NULL), 0);
        const char *json = toolrack_text_data(text, NULL);
        assert_false(hidden_has(json, strlen(json)));
        assert_null(strstr(json, "\"in\\u200bner\""));
        assert_non_null(strstr(json, "in\\\\u200bner"));
        assert_non_null(strstr(json, "Say hello\\\\udb40\\\\udc41\\\\udb40\\\\udc42"));
        assert_non_null(strstr(json, "a num\\\\u00adber"));
        assert_non_null(strstr(json, "\"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\""));
        assert_null(strstr(json, "\"chosen\""));
        const char *notes = toolrack_text_data(report, NULL);
        assert_non_null(strstr(notes, "{\"tool\":\"described\",\"kind\":\"rewritten\",\"at\":null,"
                                      "\"what\":\"the description has hidden characters, the first "
                                      "is U+E0041; they are shown as codes\"}"));
        assert_non_null(strstr(notes, "{\"tool\":\"chosen\",\"kind\":\"refused\""));
        /* Without a report the text is made in another way. */
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *plain = NULL;
        assert_int_equal(toolrack_export(host, format, NULL, &plain, NULL, NULL), 0);
        assert_string_equal(toolrack_text_data(plain, NULL), json);
    }
}

static void assert_answer(struct toolrack *host, const char *tool, const char *expected) {
    char message[256];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *answer = NULL;
    (void)snprintf(message, sizeof message,
                   "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\","
                   "\"function\":{\"name\":\"%s\",\"arguments\":\"{}\"}}]}",
                   tool);
    assert_int_equal(toolrack_answer(host, TOOLRACK_FORMAT_OPENAI, message, strlen(message), NULL,
                                     &answer, NULL),
                     0);
    if (strstr(toolrack_text_data(answer, NULL), expected) == NULL) {
        fail_msg("%s is not in %s", expected, toolrack_text_data(answer, NULL));
    }
}

static void answers_to_a_model_show_them(void **state) {
    (void)state;
    CLEANUP(toolrack_closep) struct toolrack *host = open_host();
    assert_answer(host, "described", "k\\\\\\\\u200b");
    assert_answer(host, "described", "a\\\\\\\\udb40\\\\\\\\udc41");
    assert_answer(host, "escaped", "no\\\\u202e way");
    assert_answer(host, "persian", "\u0645\u06cc\u200c\u062e \u2764\ufe0f");
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(each_kind_is_made_visible),
            cmocka_unit_test(what_ordinary_text_needs_stays),
            cmocka_unit_test(needed_places_carry_nothing_else),
            cmocka_unit_test(any_bytes),
            cmocka_unit_test(terminal_text_shows_them),
            cmocka_unit_test(check_finds_them_and_each_place),
            cmocka_unit_test(exports_show_them),
            cmocka_unit_test(answers_to_a_model_show_them),
    };
    return cmocka_run_group_tests_name("hidden", tests, make_folder, remove_folder);
}
