#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/json-lenient.h"
#include "base/json-place.h"
#include "base/json-pointer.h"
#include "base/json-string.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/library.h"
#include "base/lock.h"
#include "base/name.h"
#include "base/object.h"
#include "base/rendering.h"
#include "base/ring.h"
#include "base/semver.h"
#include "base/shard.h"
#include "base/sort.h"
#include "base/spin.h"
#include "base/thread.h"
#include "base/traceparent.h"
#include "base/utf8.h"
#include "base/wakeup.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

static void error_message_is_one_line_and_cut_at_a_character(void **state) {
    (void)state;
    struct toolrack_error err;
    assert_int_equal(error_set(&err, TOOLRACK_E_IO, "a\nb\tc %d", 5), TOOLRACK_E_IO);
    assert_string_equal(err.message, "a b c 5");
    char text[ERROR_MESSAGE_MAX + 8];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    memcpy(text + ERROR_MESSAGE_MAX - 5, "\xc3\xa9", 2); /* straddles the limit */
    (void)error_set(&err, TOOLRACK_E_IO, "%s", text);
    assert_int_equal(strlen(err.message), ERROR_MESSAGE_MAX - 2);
    assert_string_equal(err.message + ERROR_MESSAGE_MAX - 6, "x\xe2\x80\xa6");
    /* What is left of a path is no path. */
    (void)error_set(&err, TOOLRACK_E_IO, "%.700s", text);
    error_append(&err, text);
    assert_string_equal(err.message + ERROR_MESSAGE_MAX - 5, "x\xe2\x80\xa6");
    error_prefix(&err, "before");
    assert_int_equal(strncmp(err.message, "before: xxx", 11), 0);
    assert_string_equal(err.message + ERROR_MESSAGE_MAX - 5, "x\xe2\x80\xa6");
    /* What of it is for whoever calls stays so. */
    (void)error_set(&err, TOOLRACK_E_IO, "told, kept");
    err.brief_length = 4;
    error_prefix(&err, "node");
    assert_string_equal(err.message, "node: told, kept");
    assert_int_equal(err.brief_length, 10);
    assert_int_equal(error_set(NULL, TOOLRACK_E_IO, "nobody listens"), TOOLRACK_E_IO);
}

/* Each word of a command is the word again for a shell, and nothing else happens. */
static void a_command_means_its_words_to_a_shell(void **state) {
    (void)state;
    static const char *const words[] = {
            "wipe",      "a b",        "it's",      "'; echo no; : '",
            "$HOME",     "$(echo no)", "`echo no`", "a\\",
            "\"",        "''",         "!!",        "*",
            "~",         "=ls",        "{a,b}",     "#x",
            "a&b|c>d;e", "\xc3\xa4",   "\\'",       "read:/a",
            "1.0.0+x",   "x=y",        "'",         "a'b'c",
            "(",         "[a]",        "^a",        "%1",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char got[128] = "";
        CLEANUP(buf_finish) struct buf script = BUF_INIT;
        buf_printf(&script, "toolrack() { printf '[%%s]' \"$@\"; }; %s",
                   COMMAND("allow", words[i], words[i]));
        FILE *shell = popen(script.data, "r");
        assert_non_null(shell);
        size_t length = fread(got, 1, sizeof got - 1, shell);
        assert_int_equal(pclose(shell), 0);
        got[length] = '\0';
        char expected[128];
        (void)snprintf(expected, sizeof expected, "[allow][%s][%s]", words[i], words[i]);
        assert_string_equal(got, expected);
    }
    assert_string_equal(COMMAND("default --plugin", "org.math", "add", "1.0.0"),
                        "toolrack default --plugin org.math add 1.0.0");
    assert_string_equal(COMMAND("adopt", "/my tools/it's.so"),
                        "toolrack adopt '/my tools/it'\\''s.so'");
}

/* What is copied is done where the host is that has shown it. */
static void a_command_states_the_places_of_its_host(void **state) {
    (void)state;
    struct command_places first;
    struct command_places second;
    struct command_places none;
    char here[256];
    char expected[512];
    command_places_add(&first, NULL, NULL, NULL);
    assert_string_equal(COMMAND("grant", "wipe"), "toolrack grant wipe");
    command_places_remove(&first);
    command_places_add(&first, "/etc/it's.json", "/srv/my tools",
                       (const char *[]){"/a", "/b", NULL});
    assert_string_equal(
            COMMAND("grant", "wipe"),
            "toolrack --config '/etc/it'\\''s.json' --state '/srv/my tools' --plugins /a "
            "--plugins /b grant wipe");
    /* Help is the same everywhere, and check takes no places; a host that keeps nothing has no
     * place. */
    assert_string_equal(COMMAND("help", "grant"), "toolrack help grant");
    assert_string_equal(COMMAND("check", "a.so"), "toolrack check a.so");
    command_places_add(&none, "/etc/other.json", "", NULL);
    assert_string_equal(
            COMMAND("approvals"),
            "toolrack --config '/etc/it'\\''s.json' --state '/srv/my tools' --plugins /a "
            "--plugins /b approvals");
    /* Of two, it cannot be known which one is meant. */
    command_places_add(&second, NULL, NULL, NULL);
    assert_string_equal(COMMAND("grant", "wipe"), "toolrack help grant");
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    assert_false(command_begin(&out, "allow"));
    assert_int_equal(out.length, 0);
    command_places_remove(&first);
    assert_string_equal(COMMAND("grant", "wipe"), "toolrack grant wipe");
    command_places_remove(&second);
    command_places_remove(&none);
    /* The shell is in another folder. */
    command_places_add(&first, "", "nowhere/state", NULL);
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(expected, sizeof expected, "toolrack --state %s/nowhere/state approvals", here);
    assert_string_equal(COMMAND("approvals"), expected);
    command_places_remove(&first);
    command_places_add(&first, NULL, "/srv/a\nb", NULL);
    assert_string_equal(COMMAND("grant", "wipe"), "toolrack help grant");
    command_places_remove(&first);
    assert_string_equal(COMMAND("grant", "wipe"), "toolrack grant wipe");
}

/* Who is elsewhere is not told where the host's files are. */
static void a_message_can_be_without_places(void **state) {
    (void)state;
    struct command_places places;
    command_places_add(&places, "/etc/it's.json", "/srv/my tools", NULL);
    const struct {
        const char *message;
        const char *expected;
    } rows[] = {
            {COMMAND("grant", "wipe"), "toolrack grant wipe"},
            {"a; toolrack --config '/etc/it'\\''s.json' --state '/srv/my tools' why a; toolrack "
             "--config '/etc/it'\\''s.json' --state '/srv/my tools' grant a",
             "a; toolrack why a; toolrack grant a"},
            {"cut: toolrack --config '/etc/it'\\''s.js\xe2\x80\xa6", "cut: toolrack\xe2\x80\xa6"},
            {"cut: toolrack --config '/etc/it'\\''s.js", "cut: toolrack"},
            {"another: toolrack --config /etc/a.json grant wipe",
             "another: toolrack --config /etc/a.json grant wipe"},
            {"toolrack", "toolrack"},
            {"nothing", "nothing"},
            {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        command_add_placeless(&out, rows[i].message, strlen(rows[i].message));
        assert_string_equal(out.data != NULL ? out.data : "", rows[i].expected);
    }
    command_places_remove(&places);
}

static void a_word_that_cannot_be_copied_is_not_offered(void **state) {
    (void)state;
    static const char *const words[] = {
            "",
            "-x",
            "--yes",
            "a\nb",
            "a\tb",
            "\x1b[31m",
            "\x7f",
            "\xc2\x9b",
            "a\xe2\x80\x8b",
            ("\xe2\x80\xae"
             "b"),
            "\xff",
            "\xc3",
    };
    char text[2 * COMMAND_ROOM];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        assert_false(command_add_word(&out, words[i]));
        assert_int_equal(out.length, 0);
        assert_string_equal(COMMAND("allow", "wants", words[i]), "toolrack help allow");
        assert_string_equal(COMMAND("default --plugin", words[i], "add"), "toolrack help default");
    }
    assert_string_equal(COMMAND("adopt", text), "toolrack help adopt");
}

static void code_names(void **state) {
    (void)state;
    assert_string_equal(toolrack_code_name(TOOLRACK_E_INVALID_ARGUMENTS), "InvalidArguments");
    assert_string_equal(toolrack_code_name(0), "Ok");
    assert_string_equal(toolrack_code_name(-999), "Unknown");
}

static void codes_tell_what_they_mean(void **state) {
    (void)state;
    assert_false(toolrack_code_is_recoverable(TOOLRACK_E_NOT_FOUND));
    assert_true(toolrack_code_is_recoverable(TOOLRACK_E_INVALID_ARGUMENTS));
    assert_true(toolrack_code_is_recoverable(TOOLRACK_E_TIMEOUT));
    assert_false(toolrack_code_is_recoverable(-999));
}

/* To be released by free(). */
static char *object_of(const struct toolrack_error *err) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, error_object(doc, err, NULL));
    return yyjson_mut_write(doc, 0, NULL);
}

static void an_error_renders_alike_everywhere(void **state) {
    (void)state;
    struct toolrack_error err;
    (void)error_set_field(&err, TOOLRACK_E_INVALID_ARGUMENTS, "/a", "must be a number");
    error_set_tool(&err, "");
    CLEANUP(freep) char *unnamed = object_of(&err);
    assert_string_equal(unnamed,
                        "{\"type\":\"InvalidArguments\",\"message\":\"must be a number\","
                        "\"is_recoverable\":true,\"field\":\"/a\",\"tool_name\":\"<unnamed>\"}");
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    error_add_text(&text, &err);
    assert_string_equal(text.data, "InvalidArguments: /a: must be a number");

    (void)error_set(&err, TOOLRACK_E_EXECUTION_FAILED, "died");
    error_set_tool(&err, "add");
    error_set_trace(&err, "add at add.c\nmain at main.c\n");
    err.signal = 11;
    CLEANUP(freep) char *crashed = object_of(&err);
    assert_string_equal(crashed, "{\"type\":\"ExecutionFailed\",\"message\":\"died\","
                                 "\"is_recoverable\":true,\"tool_name\":\"add\",\"signal\":11,"
                                 "\"trace\":[\"add at add.c\",\"main at main.c\"]}");

    (void)error_set(&err, TOOLRACK_E_NOT_FOUND, "there is no format 'x'");
    CLEANUP(freep) char *of_no_tool = object_of(&err);
    assert_null(strstr(of_no_tool, "tool_name"));
}

static void a_long_trace_is_cut_at_a_line(void **state) {
    (void)state;
    char trace[ERROR_TRACE_MAX * 2];
    for (size_t i = 0; i < sizeof trace; i++) {
        trace[i] = i % 100 == 99 ? '\n' : 'x';
    }
    trace[sizeof trace - 1] = '\0';
    struct toolrack_error err;
    (void)error_set(&err, TOOLRACK_E_EXECUTION_FAILED, "died");
    error_set_trace(&err, trace);
    assert_int_equal(strlen(err.trace) % 100, 99);
    assert_true(strlen(err.trace) > ERROR_TRACE_MAX - 102);
}

static void utf8_accepts_text_and_refuses_the_rest(void **state) {
    (void)state;
    static const char *const good[] = {"",
                                       "plain ascii, long enough for words",
                                       "h\xc3\xa9llo",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {
            "\x80", "\xc0\xaf",         "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
            "\xc3", "12345678\xe2\x82", "\xff"};
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        assert_true(utf8_valid(good[i], strlen(good[i])));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        assert_false(utf8_valid(bad[i], strlen(bad[i])));
    }
    assert_int_equal(utf8_cut("a\xe2\x82\xac", 4), 4);
    assert_int_equal(utf8_cut("a\xe2\x82\xac", 3), 1);
    assert_int_equal(utf8_cut("a\xe2\x82\xac", 2), 1);
    assert_int_equal(utf8_cut("a\xe2\x82\xac", 1), 1);
    char room[4];
    utf8_copy(room, sizeof room, "a\xe2\x82\xac");
    assert_string_equal(room, "a");
    utf8_copy(room, sizeof room, "abc");
    assert_string_equal(room, "abc");
    assert_int_equal(utf8_count("a\xe2\x82\xac", 4), 2);
}

static void buf_writes_json(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf buf = BUF_INIT;
    buf_add_json_string(&buf, "a\"\\\n\x01z", 6);
    buf_add_char(&buf, ' ');
    buf_add_json_double(&buf, 85.0);
    buf_add_char(&buf, ' ');
    buf_add_json_double(&buf, 0.1);
    buf_add_char(&buf, ' ');
    buf_add_json_double(&buf, NAN);
    buf_add_char(&buf, ' ');
    buf_add_json_int(&buf, INT64_MIN);
    buf_add_char(&buf, ' ');
    buf_add_json_uint(&buf, UINT64_MAX);
    buf_printf(&buf, " %s", "end");
    assert_string_equal(buf.data, "\"a\\\"\\\\\\n\\u0001z\" 85.0 0.1 null -9223372036854775808 "
                                  "18446744073709551615 end");
    buf_clear(&buf);
    CLEANUP(freep) char *text = buf_steal(&buf);
    assert_string_equal(text, "");
}

/* The escaping looks at eight bytes at once: all pairs of neighbours, at places all over a word. */
static void buf_escapes_every_byte_anywhere(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf buf = BUF_INIT;
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        char text[19];
        char expected[2 + sizeof text + 2 * 5 + 1] = "\"";
        char *to = expected + 1;
        memset(text, 'x', sizeof text);
        text[pair % 18] = (char)(pair & 0xff);
        text[pair % 18 + 1] = (char)(pair >> 8);
        for (size_t i = 0; i < sizeof text; i++) {
            unsigned char c = (unsigned char)text[i];
            const char *at = c == '\n' || c == '\r' || c == '\t' ? strchr("\nn\rr\tt", c) : NULL;
            if (c == '"' || c == '\\' || at != NULL) {
                *to++ = '\\';
                *to++ = at != NULL ? at[1] : (char)c;
            } else if (c < 0x20) {
                to += sprintf(to, "\\u%04x", c);
            } else {
                *to++ = (char)c;
            }
        }
        *to++ = '"';
        buf_clear(&buf);
        buf_add_json_string(&buf, text, sizeof text);
        assert_int_equal(buf.length, to - expected);
        assert_memory_equal(buf.data, expected, buf.length);
    }
}

/* A text, what is left of it with halves of surrogate pairs replaced, and with them kept and then
 * joined; NULL: there is none. */
static void halves_of_characters_are_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *replaced;
        const char *joined;
    } rows[] = {
            {"\"\\ud83d\\ude00\"", NULL, NULL},
            {"\"\\\\ud83d\"", NULL, NULL},
            {"\"\\u0041\\n\\ud7ff\\ue000\\ud83\"", NULL, NULL},
            {"\"\\ud83d\"", "\"\\ufffd\"", "\"\xef\xbf\xbd\""},
            {"\"a\\uDE00b\"", "\"a\\ufffdb\"",
             "\"a\xef\xbf\xbd"
             "b\""},
            {"\"\\ud83d\\u0041\"", "\"\\ufffd\\u0041\"", "\"\xef\xbf\xbd\\u0041\""},
            {"\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"",
             "\"\xef\xbf\xbd\\ud83d\\ude00\""},
            {"\"\\ude00\\ud83d\"", "\"\\ufffd\\ufffd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(buf_finish) struct buf replaced = BUF_INIT;
        CLEANUP(buf_finish) struct buf kept = BUF_INIT;
        size_t length = strlen(rows[i].text);
        bool is_found = json_add_without_halves(&replaced, rows[i].text, length, false);
        assert_int_equal(is_found, rows[i].replaced != NULL);
        assert_int_equal(json_add_without_halves(&kept, rows[i].text, length, true), is_found);
        if (is_found) {
            assert_string_equal(replaced.data, rows[i].replaced);
            kept.data[utf8_join_halves(kept.data, kept.length)] = '\0';
            assert_string_equal(kept.data, rows[i].joined);
            assert_true(utf8_valid(kept.data, strlen(kept.data)));
        }
    }
    char pair[] = "a\xed\xa0\xbd\xed\xb8\x80";
    assert_int_equal(utf8_half_at_end(pair, 4), 3);
    assert_int_equal(utf8_half_at_end(pair, 7), 0);
    assert_int_equal(utf8_half_at_end(pair, 2), 0);
    pair[utf8_join_halves(pair, 7)] = '\0';
    assert_string_equal(pair, "a\xf0\x9f\x98\x80");
}

/* One step at a time, as nobody would write it for speed. */
static bool add_slowly(struct buf *out, const char *text, size_t length) {
    buf_add_char(out, '"');
    for (size_t at = 0; at < length;) {
        unsigned char c = (unsigned char)text[at];
        uint32_t point;
        size_t size = utf8_decode(text + at, length - at, &point);
        const char *escape = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : NULL;
        if (size == 0) {
            return false;
        }
        if (c == '"' || c == '\\') {
            buf_printf(out, "\\%c", c);
        } else if (c < 0x20 && escape == NULL) {
            buf_printf(out, "\\u%04x", c);
        } else {
            buf_add(out, escape != NULL ? escape : text + at, escape != NULL ? 2 : size);
        }
        at += size;
    }
    buf_add_char(out, '"');
    return true;
}

/* Short ASCII that is the same in a JSON string is copied, and nothing else. */
static void expect_copied(const char *text, size_t length, const struct buf *written) {
    bool is_plain = length <= JSON_SHORT_MAX && written->length == length + 2;
    char *copy = malloc(length + (length == 0));
    assert_non_null(copy);
    for (size_t i = 0; i < length; i++) {
        is_plain = is_plain && (unsigned char)text[i] < 0x80;
    }
    assert_int_equal(json_copy_short(copy, text, length), is_plain);
    assert_true(!is_plain || memcmp(copy, text, length) == 0);
    free(copy);
}

static void expect_written(const char *text, size_t length) {
    CLEANUP(buf_finish) struct buf slow = BUF_INIT;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    char *own = malloc(length + (length == 0)); /* a sanitizer sees one byte too many */
    assert_non_null(own);
    memcpy(own, text, length);
    buf_add_text(&out, "before");
    bool is_utf8 = add_slowly(&slow, own, length);
    expect_copied(own, length, &slow);
    if (is_utf8) {
        assert_true(buf_add_json_text(&out, own, length));
        assert_int_equal(out.length, slow.length + 6);
        assert_memory_equal(out.data + 6, slow.data, slow.length + 1);
        buf_clear(&out);
        buf_add_json_string(&out, own, length);
        assert_string_equal(out.data, slow.data);
    } else {
        assert_false(buf_add_json_text(&out, own, length));
        assert_string_equal(out.data, "before");
    }
    free(own);
}

/* Each byte at each place, alone and before another one, of texts that end anywhere in the steps
 * that are looked at at once. */
static void json_strings_are_written_alike_at_every_place(void **state) {
    (void)state;
    static const char *const parts[] = {"\"",
                                        "\\",
                                        "\n",
                                        "\x01",
                                        "\x1f",
                                        "\x7f",
                                        "\x80",
                                        "\xc3",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "\xed\xa0\x80",
                                        "\xc3\xa9\"",
                                        "\n\xc3",
                                        "\xc3\xa9z\xe2\x82"};
    static const size_t lengths[] = {3,  4,  5,  7,  8,  9,  15,  16, 17,
                                     31, 33, 63, 64, 65, 95, 127, 129};
    char text[160];
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        for (size_t j = 0; j < ARRAY_LENGTH(lengths); j++) {
            for (size_t at = 0; at <= lengths[j]; at++) {
                memset(text, 'x', sizeof text);
                memcpy(text + at, parts[i], strlen(parts[i]));
                expect_written(text, lengths[j] + (at == lengths[j] ? strlen(parts[i]) : 0));
            }
        }
    }
    for (size_t apart = 1; apart <= 80; apart++) { /* as in JSON within a string */
        for (size_t length = apart; length <= sizeof text; length++) {
            memset(text, 'x', sizeof text);
            for (size_t at = length % apart; at < length; at += apart) {
                text[at] = (char)(at % 3 == 0 ? '\x01' : '"');
            }
            expect_written(text, length);
        }
        memcpy(text + sizeof text - 2, "\xc3\xa9", 2);
        expect_written(text, sizeof text);
    }
    for (unsigned byte = 0; byte < 0x100; byte++) {
        memset(text, (int)byte, sizeof text);
        expect_written(text, 1);
        expect_written(text, sizeof text);
    }
}

/* What is taken for a string without parsing, and what the parser takes for one. */
static void json_strings_are_what_the_parser_takes(void **state) {
    (void)state;
    static const char *const tokens[] = {"\"",     "\\",      "\\\\",
                                         "\\\"",   "\\n",     "\\/",
                                         "\\b",    "\\x",     "\\u0041",
                                         "\\u00",  "\\uD83D", "\\ude00",
                                         "\\ud83", "x",       "sixteen plain..",
                                         "\x1f",   "\x7f",    "\xc3\xa9",
                                         "\xc3",   "\xff",    "\n",
                                         " ",      "\\u000g", "\xf0\x9f\x98\x80"};
    uint64_t random = 1;
    for (unsigned i = 0; i < 200000; i++) {
        CLEANUP(buf_finish) struct buf json = BUF_INIT;
        buf_add_text(&json, i % 7 == 0 ? "" : "\"");
        for (unsigned parts = i % 9; parts > 0; parts--) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            buf_add_text(&json, tokens[(random >> 33) % ARRAY_LENGTH(tokens)]);
        }
        buf_add_text(&json, i % 11 == 0 ? "" : "\"");
        yyjson_doc *doc = yyjson_read(json.data, json.length, 0);
        bool has_space = json.length > 0 && (strchr(" \n", json.data[0]) != NULL ||
                                             strchr(" \n", json.data[json.length - 1]) != NULL);
        bool is = yyjson_is_str(yyjson_doc_get_root(doc)) && !has_space;
        assert_int_equal(json_is_string(json.data, json.length), is);
        yyjson_doc_free(doc);
    }
}

static void buf_grows(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf buf = BUF_INIT;
    for (int i = 0; i < 10000; i++) {
        buf_add_text(&buf, "0123456789");
    }
    assert_int_equal(buf.length, 100000);
    assert_int_equal(strlen(buf.data), 100000);
    assert_false(buf_reserve(&buf, SIZE_MAX - 10));
    assert_true(buf.failed);
    buf_truncate(&buf, 12);
    assert_false(buf.failed);
    assert_string_equal(buf.data, "012345678901");
}

static void arena_hands_out_aligned_memory(void **state) {
    (void)state;
    char first[100];
    struct arena arena;
    arena_init(&arena, first + 1, sizeof first - 1);
    char *inside = arena_alloc(&arena, 10);
    assert_true(inside >= first && inside < first + sizeof first);
    assert_int_equal((uintptr_t)inside % _Alignof(max_align_t), 0);
    char *outside = arena_zalloc(&arena, 1000);
    assert_true(outside < first || outside >= first + sizeof first);
    assert_int_equal(outside[999], 0);
    assert_non_null(arena_alloc(&arena, 100000));
    assert_string_equal(arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_false(arena.limited);
    arena.size_max = arena.size + 100;
    assert_null(arena_alloc(&arena, 100000));
    assert_true(arena.limited);
    arena_finish(&arena);
}

static void arena_serves_yyjson(void **state) {
    (void)state;
    char first[64];
    struct arena arena;
    arena_init(&arena, first, sizeof first);
    yyjson_alc alc = arena_alc(&arena);
    static const char text[] = "{\"a\":[1,2,3,{\"b\":\"c\"}],\"d\":18446744073709551615}";
    char copy[sizeof text];
    memcpy(copy, text, sizeof text);
    yyjson_doc *doc = yyjson_read_opts(copy, sizeof text - 1, 0, &alc, NULL);
    assert_non_null(doc);
    size_t length = 0;
    char *written = yyjson_write_opts(doc, 0, &alc, &length, NULL);
    assert_string_equal(written, text);
    arena_finish(&arena);
}

/* A path is a key or a JSON Pointer, with or without its first slash. */
/* Whatever is in them: the only reason why a document is not written is memory. */
static void documents_of_any_bytes_are_written(void **state) {
    static const struct {
        const char *text;
        const char *written;
    } cases[] = {
            {"plain", "[\"plain\",null]"},
            {"\xff", "[\"\xef\xbf\xbd\",null]"},
            {"a\xffz", "[\"a\xef\xbf\xbdz\",null]"},
            {"cut \xe2\x82", "[\"cut \xef\xbf\xbd\xef\xbf\xbd\",null]"},
            {"\xe2\"\\\n", "[\"\xef\xbf\xbd\\\"\\\\\\n\",null]"},
            {"\xed\xa0\x80", "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",null]"},
            {"\xc3\xa9\xff", "[\"\xc3\xa9\xef\xbf\xbd\",null]"},
    };
    char room[4096];
    struct arena arena;
    (void)state;
    arena_init(&arena, room, sizeof room);
    yyjson_alc alc = arena_alc(&arena);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        size_t length = 0;
        yyjson_mut_doc_set_root(doc, list);
        (void)yyjson_mut_arr_add_str(doc, list, cases[i].text);
        (void)yyjson_mut_arr_add_real(doc, list, (double)NAN);
        CLEANUP(freep) char *text = json_write(doc, 0, NULL, &length);
        assert_non_null(text);
        assert_string_equal(text, cases[i].written);
        assert_int_equal(length, strlen(text));
        assert_string_equal(json_write(doc, 0, &alc, NULL), cases[i].written);
    }
    assert_null(json_write(NULL, 0, NULL, NULL));
    arena_finish(&arena);
}

/* A value that is a text, or an array that has it. */
static void json_texts(void **state) {
    (void)state;
    static const struct {
        const char *json;
        bool has;
    } cases[] = {{"\"null\"", true},        {"[1,\"x\",\"null\"]", true},
                 {"\"nul\"", false},        {"null", false},
                 {"[null]", false},         {"[]", false},
                 {"{\"null\":1}", false},   {"[[\"null\"]]", false},
                 {"\"null\\u0000\"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        yyjson_doc *doc = yyjson_read(cases[i].json, strlen(cases[i].json), 0);
        yyjson_mut_doc *changed = yyjson_doc_mut_copy(doc, NULL);
        assert_int_equal(json_has_text(yyjson_doc_get_root(doc), "null"), cases[i].has);
        assert_int_equal(json_mut_has_text(yyjson_mut_doc_get_root(changed), "null"), cases[i].has);
        yyjson_mut_doc_free(changed);
        yyjson_doc_free(doc);
    }
    assert_false(json_has_text(NULL, "null"));
    assert_false(json_mut_has_text(NULL, "null"));
}

static void json_paths(void **state) {
    (void)state;
    static const char text[] = "{\"a\":{\"b\":[1,2]},\"x/y\":3,\"~\":4}";
    yyjson_doc *doc = yyjson_read(text, sizeof text - 1, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_ptr_equal(json_at(root, ""), root);
    assert_null(json_at(root, NULL));
    assert_null(json_at(root, "b"));
    assert_ptr_equal(json_at(root, "a"), yyjson_obj_get(root, "a"));
    assert_ptr_equal(json_at(root, "/a"), yyjson_obj_get(root, "a"));
    assert_int_equal(yyjson_get_int(json_at(root, "a/b/1")), 2);
    assert_int_equal(yyjson_get_int(json_at(root, "/a/b/0")), 1);
    assert_int_equal(yyjson_get_int(json_at(root, "x~1y")), 3);
    assert_int_equal(yyjson_get_int(json_at(root, "/~0")), 4);
    yyjson_doc_free(doc);
    /* The longest path is followed, and one with a character more is not. */
    char longest[JSON_PATH_LENGTH_MAX + 1];
    char longer[JSON_PATH_LENGTH_MAX + 2];
    memset(longest, 'k', sizeof longest);
    memset(longer, 'k', sizeof longer);
    longest[JSON_PATH_LENGTH_MAX] = '\0';
    longer[JSON_PATH_LENGTH_MAX + 1] = '\0';
    yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(made);
    yyjson_mut_doc_set_root(made, object);
    (void)yyjson_mut_obj_add_int(made, object, longest, 1);
    (void)yyjson_mut_obj_add_int(made, object, longer, 2);
    doc = yyjson_mut_doc_imut_copy(made, NULL);
    assert_int_equal(yyjson_get_int(json_at(yyjson_doc_get_root(doc), longest)), 1);
    assert_null(json_at(yyjson_doc_get_root(doc), longer));
    yyjson_doc_free(doc);
    yyjson_mut_doc_free(made);
}

/* Records come out in their order, and an emptied ring begins again at its start. */
static void a_ring_begins_again(void **state) {
    (void)state;
    struct ring ring;
    assert_true(ring_init(&ring, 1024));
    for (size_t round = 0; round < 200; round++) {
        size_t size = 16 + round * 7 % 97;
        size_t at = ring_start(&ring);
        assert_null(ring_next(&ring, &at));
        size_t count = 0;
        for (void *record; (record = ring_reserve(&ring, size)) != NULL; count++) {
            memset(record, (int)('a' + count % 26), size);
            ring_commit(record, size);
        }
        /* A record takes its head and its size, rounded up. */
        size_t whole = (size + 2 * RING_ALIGN - 1) & ~(size_t)(RING_ALIGN - 1);
        assert_int_equal(count, 1024 / whole);
        assert_int_equal(ring_used(&ring), count * whole);
        for (size_t i = 0; i < count; i++) {
            const char *record = ring_next(&ring, &at);
            assert_non_null(record);
            assert_int_equal(record[0], 'a' + i % 26);
            assert_int_equal(record[size - 1], 'a' + i % 26);
        }
        assert_null(ring_next(&ring, &at));
        ring_release(&ring, at);
        assert_int_equal(ring_used(&ring), 0);
        assert_int_equal(ring_start(&ring) % 1024, 0);
    }
    ring_finish(&ring);
}

#define RING_SIZE ((size_t)512 * 1024)
#define RING_KEPT (RING_SIZE / 4)

/* Bytes of a ring's memory that take memory of the machine. */
static size_t resident(const struct ring *ring) {
    static unsigned char pages[RING_SIZE / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t count = 0;
    assert_int_equal(mincore(ring->memory, ring->size, pages), 0);
    for (size_t i = 0; i < ring->size / page; i++) {
        count += pages[i] & 1u;
    }
    return count * page;
}

static void fill_ring(struct ring *ring) {
    for (void *record; (record = ring_reserve(ring, 1000)) != NULL;) {
        memset(record, 'x', 1000);
        ring_commit(record, 1000);
    }
}

static void empty_ring(struct ring *ring) {
    size_t at = ring_start(ring);
    while (ring_next(ring, &at) != NULL) {
    }
    ring_release(ring, at);
    assert_int_equal(ring_used(ring), 0);
}

static void a_ring_gives_its_memory_back(void **state) {
    struct ring ring;
    (void)state;
    assert_true(ring_init(&ring, RING_SIZE));
    assert_int_equal(resident(&ring), 0); /* nothing clears it at first */
    for (unsigned round = 0; round < 3; round++) {
        fill_ring(&ring);
        ring_give_back(&ring, RING_KEPT); /* not while there are records */
        assert_in_range(resident(&ring), RING_SIZE - 8192, RING_SIZE);
        empty_ring(&ring);
        ring_give_back(&ring, RING_KEPT);
        assert_int_equal(ring_used(&ring), 0);
        assert_in_range(resident(&ring), 1, RING_KEPT);
    }
    ring_finish(&ring);
}

#define RING_RECORDS 100000u

static void *write_records(void *user) {
    for (unsigned i = 0; i < RING_RECORDS;) {
        unsigned *record = ring_reserve(user, sizeof *record);
        if (record != NULL) {
            *record = i++;
            ring_commit(record, sizeof *record);
        }
    }
    return NULL;
}

/* A record that is written while the memory is given back is not lost. */
static void a_ring_gives_back_what_nobody_writes(void **state) {
    struct ring ring;
    pthread_t writer;
    unsigned expected = 0;
    (void)state;
    assert_true(ring_init(&ring, RING_SIZE));
    assert_int_equal(pthread_create(&writer, NULL, write_records, &ring), 0);
    while (expected < RING_RECORDS) {
        size_t at = ring_start(&ring);
        for (const unsigned *record; (record = ring_next(&ring, &at)) != NULL;) {
            assert_int_equal(*record, expected++);
        }
        ring_release(&ring, at);
        ring.written = RING_SIZE; /* as after a burst */
        ring_give_back(&ring, 0);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    ring_finish(&ring);
}

static void names(void **state) {
    (void)state;
    assert_true(name_valid("a"));
    assert_true(name_valid("_currency-convert9"));
    assert_false(name_valid(""));
    assert_false(name_valid("9a"));
    assert_false(name_valid("-a"));
    assert_false(name_valid("a.b"));
    assert_false(name_valid("\xc3\xa9"));
    char longest[NAME_LENGTH_MAX + 2];
    memset(longest, 'a', sizeof longest);
    longest[NAME_LENGTH_MAX] = '\0';
    assert_true(name_valid(longest));
    longest[NAME_LENGTH_MAX] = 'a';
    longest[NAME_LENGTH_MAX + 1] = '\0';
    assert_false(name_valid(longest));
}

/* The one of three candidates that is suggested, or NULL. */
static const char *suggested(const char *typed, const char *first, const char *second,
                             const char *third) {
    struct nearest nearest = nearest_to(typed);
    (void)nearest_try(&nearest, first);
    (void)nearest_try(&nearest, second);
    (void)nearest_try(&nearest, third);
    return nearest.name != NULL ? nearest.name : "nothing";
}

/* What models write around the name of a tool. */
static void nearest_tools(void **state) {
    (void)state;
    static const char *const tools[] = {"file", "read_file", "add", "read"};
    static const struct {
        const char *written;
        const char *tool;
    } cases[] = {
            {"read_file<|channel|>commentary", "read_file"},
            {"functions.read_file:0", "read_file"},
            {"mcp_fs_read_file", "read_file"},
            {"server-name__read_file", "read_file"},
            {"read_file_tool", "read_file"},
            {"fs/read_file", "read_file"},
            {"raed_file", "read_file"},
            {"add(", "add"},
            /* Another word, or a part of one. */
            {"delete_file", NULL},
            {"server-profile", NULL},
            {"mcp_add_to_the_basket", NULL},
            {"functions.add-on-for-all", NULL},
            {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct nearest nearest = nearest_to(cases[i].written);
        for (size_t k = 0; k < ARRAY_LENGTH(tools); k++) {
            (void)nearest_try_tool(&nearest, tools[k]);
        }
        assert_string_equal(nearest.name != NULL ? nearest.name : "nothing",
                            cases[i].tool != NULL ? cases[i].tool : "nothing");
    }
}

static void nearest_names(void **state) {
    (void)state;
    /* An edit: another character, one more, one less, two neighbours swapped, or another case. */
    assert_string_equal(suggested("calculater", "curl", "calculator", "calendar"), "calculator");
    assert_string_equal(suggested("abc", "acb", "wxyz", "x"), "acb");
    assert_string_equal(suggested("ABC", "x", "y", "abc"), "abc");
    assert_string_equal(suggested("weather", "wether", "weathers", "Weather"), "Weather");
    assert_string_equal(suggested("weathr", "wxathr", "weather", "weathr2"), "wxathr");
    /* One in up to 3 characters, two in up to 7, else three. */
    assert_string_equal(suggested("abc", "axx", "abxx", "ab"), "ab");
    assert_string_equal(suggested("abc", "axx", "abcxx", "a"), "nothing");
    assert_string_equal(suggested("abcd", "axxd", "y", "z"), "axxd");
    assert_string_equal(suggested("abcdefg", "xxxdefg", "y", "z"), "nothing");
    assert_string_equal(suggested("abcdefgh", "xxxdefgh", "y", "z"), "xxxdefgh");
    assert_string_equal(suggested("abcdefgh", "xxxxefgh", "y", "z"), "nothing");
    /* As many edits as characters make anything of anything. */
    assert_string_equal(suggested("a", "b", "ab", ""), "nothing");
    assert_string_equal(suggested("", "a", "b", ""), "nothing");
    /* A name that was only begun. */
    assert_string_equal(suggested("memory", "memory_mb", "timeout_ms", "mb"), "memory_mb");
    assert_string_equal(suggested("mem", "memory_mb", "timeout_ms", "mb"), "nothing");
    assert_string_equal(suggested("memory", "memory_mb", "memories", "memore"), "memory_mb");
    /* What lies beyond the longest name does not count. */
    char one[NAME_LENGTH_MAX + 3];
    char other[NAME_LENGTH_MAX + 3];
    memset(one, 'a', sizeof one);
    memset(other, 'a', sizeof other);
    memcpy(one + NAME_LENGTH_MAX, "xx", 3);
    memcpy(other + NAME_LENGTH_MAX, "yy", 3);
    assert_string_equal(suggested(one, "b", other, "c"), other);
}

/* The order of clause 11 of the specification, with its examples. */
static void semver_orders(void **state) {
    (void)state;
    static const char *const rising[] = {"0.0.1",
                                         "0.1.0",
                                         "1.0.0-alpha",
                                         "1.0.0-alpha.1",
                                         "1.0.0-alpha.beta",
                                         "1.0.0-beta",
                                         "1.0.0-beta.2",
                                         "1.0.0-beta.11",
                                         "1.0.0-rc.1",
                                         "1.0.0",
                                         "1.9.0",
                                         "1.10.0",
                                         "2.0.0",
                                         "99999999999999999999999.0.0"};
    for (size_t i = 0; i < ARRAY_LENGTH(rising); i++) {
        assert_true(semver_valid(rising[i]));
        for (size_t j = 0; j < ARRAY_LENGTH(rising); j++) {
            int order = semver_compare(rising[i], rising[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    assert_int_equal(semver_compare("1.0.0+a", "1.0.0+b"), 0);
    assert_int_equal(semver_compare("1.0.0-rc.1+a", "1.0.0-rc.1"), 0);
    static const char *const bad[] = {"",           "1",       "1.2",    "1.2.3.4",  "01.2.3",
                                      "1.02.3",     "1.2.3-",  "1.2.3+", "1.2.3-01", "v1.2.3",
                                      "1.2.3-a..b", "1.2.3-_", "1.2.3 "};
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        assert_false(semver_valid(bad[i]));
    }
    assert_true(semver_valid("1.2.3-0a.--+001.x"));
}

/* Valid and invalid ones as the specification's own page lists them for its regular expression. */
static void semver_takes_what_the_specification_takes(void **state) {
    (void)state;
    static const char *const good[] = {"0.0.4",
                                       "10.20.30",
                                       "1.1.2-prerelease+meta",
                                       "1.1.2+meta-valid",
                                       "1.0.0-alpha.beta.1",
                                       "1.0.0-alpha0.valid",
                                       "1.0.0-alpha-a.b-c-somethinglong+build.1-aef.1-its-okay",
                                       "1.0.0-rc.1+build.1",
                                       "2.0.0+build.1848",
                                       "1.0.0-alpha+beta",
                                       "1.2.3----RC-SNAPSHOT.12.9.1--.12+788",
                                       "1.2.3----R-S.12.9.1--.12+meta",
                                       "1.0.0+0.build.1-rc.10000aaa-kk-0.1",
                                       "1.0.0-0A.is.legal"};
    static const char *const bad[] = {"1.2.3-0123",
                                      "1.2.3-0123.0123",
                                      "1.1.2+.123",
                                      "+invalid",
                                      "-invalid",
                                      "alpha",
                                      "alpha.beta",
                                      "1.0.0-alpha_beta",
                                      "1.0.0-alpha..1",
                                      "01.1.1",
                                      "1.1.01",
                                      "1.2.3.DEV",
                                      "1.2-SNAPSHOT",
                                      "1.2.31.2.3----RC-SNAPSHOT.12.09.1--..12+788",
                                      "-1.0.3-gamma+b7718",
                                      "9.8.7+meta+meta",
                                      "9.8.7-whatever+meta+meta"};
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        assert_true(semver_valid(good[i]));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        assert_false(semver_valid(bad[i]));
    }
    char longest[SEMVER_LENGTH_MAX + 2] = "1.0.0-";
    memset(longest + 6, 'a', SEMVER_LENGTH_MAX - 6);
    assert_true(semver_valid(longest));
    longest[SEMVER_LENGTH_MAX] = 'a';
    assert_false(semver_valid(longest));
}

static void semver_knows_lines_and_prereleases(void **state) {
    (void)state;
    assert_true(semver_is_prerelease("1.0.0-rc.1"));
    assert_false(semver_is_prerelease("1.0.0+a-b"));
    assert_true(semver_same_line("1.2.0", "1.9.3-rc"));
    assert_false(semver_same_line("1.2.0", "2.0.0"));
    assert_true(semver_same_line("0.2.1", "0.2.9"));
    assert_false(semver_same_line("0.2.1", "0.3.0"));
    assert_false(semver_same_line("0.0.1", "0.0.2"));
    assert_true(semver_same_line("0.0.0", "0.0.0"));
}

/* Whether a range has a version; fails the test when it is none. */
static bool in_range(const char *text, const char *version) {
    struct semver_range range;
    if (!semver_range_parse(text, &range)) {
        fail_msg("'%s' is a range", text);
    }
    return semver_range_has(&range, version);
}

static void ranges_have_what_npm_says(void **state) {
    (void)state;
    static const struct {
        const char *range;
        const char *has; /* versions with spaces between */
        const char *has_not;
    } rows[] = {
            {"1.2.3", "1.2.3 1.2.3+b", "1.2.4 1.2.3-rc"},
            {"= 1.2", "1.2.0 1.2.9", "1.3.0 1.1.9 1.2.0-rc"},
            {"1.x", "1.0.0 1.99.0", "2.0.0 0.9.9"},
            {"1.2.*", "1.2.0 1.2.7", "1.3.0"},
            {"*", "0.0.0 99999999999999999999999.0.0", "1.0.0-rc"},
            {"^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0 2.0.0-rc 1.3.0-rc 1.2.3-rc"},
            {"^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"},
            {"^0.0.3", "0.0.3", "0.0.4"},
            {"^0.0", "0.0.0 0.0.9", "0.1.0"},
            {"^0.x", "0.0.0 0.9.0", "1.0.0"},
            {"^1.2.3-beta.2", "1.2.3-beta.4 1.2.3 1.9.0", "1.2.4-beta.2 1.2.3-beta.1"},
            {"~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2"},
            {"~1", "1.0.0 1.9.0", "2.0.0"},
            {"~1.2.3-beta.2", "1.2.3-beta.4 1.2.8", "1.2.4-beta.2"},
            {">1.2", "1.3.0", "1.2.9"},
            {"<=2", "2.9.9 0.1.0", "3.0.0"},
            {"<1.2", "1.1.9", "1.2.0"},
            {">=1.2.7 <1.3.0", "1.2.7 1.2.99", "1.2.6 1.3.0"},
            {">1.2.3-alpha.3", "1.2.3-alpha.7 3.4.5", "3.4.5-alpha.9"},
            {"1.2 - 2.0", "1.2.0 2.0.9", "2.1.0 1.1.9"},
            {"1.2.3 - 2.3.4", "1.2.3 2.3.4", "2.3.5"},
            {"1.2.7 || >=1.2.9 <2.0.0", "1.2.7 1.2.9 1.4.6", "1.2.8 2.0.0"},
            {"^1||^3", "1.0.0 3.1.0", "2.0.0"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        for (int wanted = 0; wanted < 2; wanted++) {
            char versions[128];
            (void)snprintf(versions, sizeof versions, "%s", wanted ? rows[i].has : rows[i].has_not);
            char *rest = NULL;
            for (char *one = strtok_r(versions, " ", &rest); one != NULL;
                 one = strtok_r(NULL, " ", &rest)) {
                if (in_range(rows[i].range, one) != (wanted == 1)) {
                    fail_msg("%s %s %s", rows[i].range, wanted ? "lacks" : "has", one);
                }
            }
        }
    }
}

static void what_is_no_range(void **state) {
    (void)state;
    static const char *const bad[] = {
            "",       " ",    "latest",  "v1",  "1.2.3.4", "^",         "1 ||", "|| 1",
            "1 | 2",  ">=",   "1.x.3",   "01",  "1.2-rc",  "1.2.3-",    "1 - ", "^1 - 2",
            ">1 - 2", "1 -2", "1.2.3-_", "1,2", "1 \t2",   "1 - 2 - 3", "==1",  "1||||2"};
    struct semver_range range;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        if (semver_range_parse(bad[i], &range)) {
            fail_msg("'%s' is no range", bad[i]);
        }
    }
    char text[SEMVER_RANGE_LENGTH_MAX + 2] = "";
    for (int i = 0; i < SEMVER_RANGE_PARTS_MAX; i++) {
        (void)strcat(text, "1 ");
    }
    assert_true(semver_range_parse(text, &range));
    (void)strcat(text, "1");
    assert_false(semver_range_parse(text, &range));
    memset(text, ' ', sizeof text);
    text[0] = '1';
    text[SEMVER_RANGE_LENGTH_MAX + 1] = '\0';
    assert_false(semver_range_parse(text, &range));
    text[SEMVER_RANGE_LENGTH_MAX] = '\0';
    assert_true(semver_range_parse(text, &range));
}

/* What must hold of all ranges, tried with all versions of small numbers. */
static void ranges_keep_their_promises(void **state) {
    (void)state;
    static const char *const tails[] = {"", "-rc.1", "-rc.2"};
    for (unsigned i = 0; i < 81; i++) {
        char from[32];
        char caret[34];
        char bounds[160];
        (void)snprintf(from, sizeof from, "%u.%u.%u%s", i / 27, i / 9 % 3, i / 3 % 3, tails[i % 3]);
        (void)snprintf(caret, sizeof caret, "^%s", from);
        (void)snprintf(bounds, sizeof bounds, ">=%s <=%s || %s - %s", from, from, from, from);
        for (unsigned j = 0; j < 81; j++) {
            char to[32];
            (void)snprintf(to, sizeof to, "%u.%u.%u%s", j / 27, j / 9 % 3, j / 3 % 3, tails[j % 3]);
            bool same = semver_compare(from, to) == 0;
            assert_true(in_range(from, to) == same && in_range(bounds, to) == same);
            bool later = semver_compare(to, from) >= 0 && semver_same_line(to, from);
            assert_true(!in_range(caret, to) || later);
            assert_true(!later || semver_is_prerelease(to) || in_range(caret, to));
        }
    }
}

static void base64_there_and_back(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
            {"", ""},
            {"f", "Zg=="},
            {"fo", "Zm8="},
            {"foo", "Zm9v"},
            {"foob", "Zm9vYg=="},
            {"fooba", "Zm9vYmE="},
            {"foobar", "Zm9vYmFy"},
            {"\xfb\xff\xbf", "+/+/"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        base64_encode(&text, pairs[i][0], strlen(pairs[i][0]));
        assert_string_equal(text.data, pairs[i][1]);
        assert_int_equal(text.length, base64_encoded_size(strlen(pairs[i][0])));
        char bytes[8];
        size_t size = 99;
        assert_null(base64_decode(text.data, text.length, bytes, &size));
        assert_int_equal(size, strlen(pairs[i][0]));
        assert_memory_equal(bytes, pairs[i][0], size);
    }
}

static void base64_says_what_is_wrong(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
            {"Zg", "padding (=) missing"},
            {"Zg=", "no multiple of 4"},
            {"Zg==Zg==", "before its end"},
            {"Z===", "before its end"},
            {"====", "before its end"},
            {"Zg=v", "padding (=) is wrong"},
            {"Zh==", "belong to no byte"},
            {"Zm9=", "belong to no byte"},
            {"Zm9v\n", "a character other"},
            {"Zm v", "a character other"},
            {"Zm\xc3\xa9", "a character other"},
            {"-_-_", "URL-safe"},
            {"-_-", "URL-safe"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
        char bytes[8];
        size_t size;
        const char *reason = base64_decode(pairs[i][0], strlen(pairs[i][0]), bytes, &size);
        assert_non_null(reason);
        assert_non_null(strstr(reason, pairs[i][1]));
    }
}

/* What the tests below spin for at most, in vain. */
#define SPIN_NS_MAX 1000u

static void spinning_ends_where_it_does_not_pay(void **state) {
    (void)state;
    struct spin spin;
    atomic_uint never = 0;
    spin_init(&spin, SPIN_NS_MAX);
    spin.possible = true;
    for (int i = 0; i < SPIN_CREDIT_MAX / 2; i++) {
        assert_true(spin_worthwhile(&spin));
        assert_false(spin_while(&spin, &never, 0));
    }
    unsigned tries = 0;
    for (unsigned i = 0; i < 10 * SPIN_PROBE_EACH; i++) {
        tries += spin_worthwhile(&spin);
    }
    assert_int_equal(tries, 10);
    atomic_uint there = 1;
    assert_true(spin_while(&spin, &there, 0));
    assert_true(spin_worthwhile(&spin));
}

static void one_cpu_never_spins(void **state) {
    (void)state;
    cpu_set_t before;
    cpu_set_t one;
    struct spin spin;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    spin_init(&spin, SPIN_NS_MAX);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_false(spin_worthwhile(&spin));
}

struct two_threads {
    struct wakeup there;
    struct wakeup back;
    unsigned turns; /* written by the side that is awake */
};
#define TURNS_MAX 2000u

static void *answer_turns(void *user) {
    struct two_threads *two = user;
    for (unsigned i = 0; i < TURNS_MAX; i++) {
        (void)wakeup_wait(&two->there, 0);
        wakeup_reset(&two->there);
        two->turns++;
        wakeup_send(&two->back);
    }
    return NULL;
}

static void two_threads_wake_each_other(void **state) {
    (void)state;
    struct two_threads two = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_turns, &two), 0);
    for (unsigned i = 0; i < TURNS_MAX; i++) {
        two.turns++;
        wakeup_send(&two.there);
        assert_true(wakeup_wait(&two.back, 0));
        wakeup_reset(&two.back);
        assert_int_equal(two.turns, 2 * (i + 1));
    }
    (void)pthread_join(thread, NULL);
}

static void a_wait_ends_in_time_or_by_a_nudge(void **state) {
    (void)state;
    struct wakeup wakeup = {0};
    uint64_t until_ns = clock_now_ns() + CLOCK_NS_PER_MS;
    assert_false(wakeup_wait(&wakeup, until_ns));
    assert_true(clock_now_ns() >= until_ns);
    wakeup_nudge(&wakeup);
    assert_false(wakeup_wait(&wakeup, 0)); /* once: else this would never end */
    assert_false(wakeup_wait(&wakeup, until_ns));
    wakeup_nudge(&wakeup);
    wakeup_send(&wakeup);
    wakeup_nudge(&wakeup); /* does not undo it */
    assert_true(wakeup_is_sent(&wakeup));
    assert_true(wakeup_wait(&wakeup, 0));
    wakeup_reset(&wakeup);
    assert_false(wakeup_wait(&wakeup, until_ns));
}

static void places_of_values_are_found_again(void **state) {
    (void)state;
    static const char text[] = "// {\"a\": 0}\n"
                               "{\"a\": [1, /* 2, */ \"}]\", {\"b/~\": null}],\n"
                               " \"\\u0061b\": true, \"é\": 5, \"a\": 6,}";
    static const struct {
        const char *pointer;
        enum json_place_at at;
        size_t line; /* 0: not there */
        size_t column;
    } cases[] = {
            {"", JSON_PLACE_VALUE, 2, 1},          {"/a", JSON_PLACE_VALUE, 2, 7},
            {"/a", JSON_PLACE_KEY, 2, 2},          {"/a", JSON_PLACE_LAST_KEY, 3, 27},
            {"/a/1", JSON_PLACE_VALUE, 2, 20},     {"/a/2/b~1~0", JSON_PLACE_VALUE, 2, 34},
            {"/a/2/b~1~0", JSON_PLACE_KEY, 2, 27}, {"/ab", JSON_PLACE_VALUE, 3, 13},
            {"/é", JSON_PLACE_VALUE, 3, 24},       {"/a/3", JSON_PLACE_VALUE, 0, 0},
            {"/a/x", JSON_PLACE_VALUE, 0, 0},      {"/b", JSON_PLACE_VALUE, 0, 0},
            {"/a/0/c", JSON_PLACE_VALUE, 0, 0},    {"a", JSON_PLACE_VALUE, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        size_t position;
        size_t line = 0;
        size_t column = 0;
        if (json_place_find(text, sizeof text - 1, cases[i].pointer, cases[i].at, &position)) {
            json_place_line(text, sizeof text - 1, position, &line, &column);
        }
        if (line != cases[i].line || column != cases[i].column) {
            fail_msg("'%s' is at %zu:%zu", cases[i].pointer, line, column);
        }
    }
}

static void a_pointer_takes_what_fits(void **state) {
    (void)state;
    char pointer[JSON_POINTER_MAX] = "";
    json_pointer_add(pointer, "a/b~c");
    json_pointer_add_index(pointer, 12);
    assert_string_equal(pointer, "/a~1b~0c/12");
    char key[JSON_POINTER_MAX];
    memset(key, '~', sizeof key);
    key[sizeof key - 1] = '\0';
    json_pointer_add(pointer, key);
    assert_string_equal(pointer, "/a~1b~0c/12");
    for (size_t i = 0; i < JSON_POINTER_MAX; i++) {
        json_pointer_add(pointer, "");
    }
    assert_true(strlen(pointer) < JSON_POINTER_MAX);
}

static void a_pointer_in_an_arena_has_room(void **state) {
    (void)state;
    char key[2 * JSON_POINTER_MAX];
    struct arena arena;
    arena_init(&arena, NULL, 0);
    assert_string_equal(json_pointer_join(&arena, "", "a/b~c"), "/a~1b~0c");
    assert_string_equal(json_pointer_join(&arena, "/x", ""), "/x/");
    memset(key, '~', sizeof key);
    key[sizeof key - 1] = '\0';
    const char *pointer = json_pointer_join(&arena, "/x", key);
    assert_int_equal(strlen(pointer), strlen("/x/") + 2 * strlen(key));
    arena.size_max = arena.size;
    assert_null(json_pointer_join(&arena, pointer, key));
    arena_finish(&arena);
}

static void a_step_of_a_pointer_is_a_key(void **state) {
    (void)state;
    static const struct {
        const char *step;
        const char *key;
    } cases[] = {{"", ""},           {"a", "a"},       {"~0", "~"},   {"~1", "/"},   {"~01", "~1"},
                 {"a~1b~0", "a/b~"}, {"~2x~", "~2x~"}, {"~~1", "~/"}, {"~0~0", "~~"}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char key[16];
        char own[16];
        size_t length = json_pointer_unescape(cases[i].step, strlen(cases[i].step), key);
        assert_int_equal(length, strlen(cases[i].key));
        assert_memory_equal(key, cases[i].key, length);
        (void)snprintf(own, sizeof own, "%s", cases[i].step); /* in place */
        assert_int_equal(json_pointer_unescape(own, strlen(own), own), length);
        assert_memory_equal(own, cases[i].key, length);
    }
    char cut[1];
    assert_int_equal(json_pointer_unescape("~0", 1, cut), 1); /* no byte behind the step is read */
    assert_int_equal(cut[0], '~');
}

static void a_pointer_grows(void **state) {
    (void)state;
    char key[2 * JSON_POINTER_MAX];
    memset(key, '~', sizeof key);
    CLEANUP(buf_finish) struct buf pointer = BUF_INIT;
    buf_add_pointer(&pointer, "a/b~c", 5);
    buf_add_pointer(&pointer, "", 0);
    buf_add_pointer(&pointer, "~/", 2);
    assert_false(pointer.failed);
    assert_int_equal(pointer.length, strlen("/a~1b~0c//~0~1"));
    assert_memory_equal(pointer.data, "/a~1b~0c//~0~1", pointer.length);
    buf_add_pointer(&pointer, key, sizeof key);
    assert_int_equal(pointer.length, strlen("/a~1b~0c//~0~1/") + 2 * sizeof key);
    assert_memory_equal(pointer.data + pointer.length - 4, "~0~0", 4);
}

/* A lock and what another thread saw of it. */
struct watched {
    struct lock lock;
    pthread_cond_t changed;
    bool is_mine_there;
    bool has_looked;
};

static void *look_and_signal(void *argument) {
    struct watched *watched = argument;
    watched->is_mine_there = lock_is_mine(&watched->lock);
    LOCK_SCOPE(&watched->lock);
    LOCK_ASSERT_HELD(&watched->lock);
    watched->has_looked = true;
    (void)pthread_cond_signal(&watched->changed);
    return NULL;
}

static void a_lock_knows_who_holds_it(void **state) {
    (void)state;
    struct watched watched = {.lock = LOCK_INIT, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    lock_take(&watched.lock);
    assert_true(lock_is_mine(&watched.lock));
    assert_int_equal(pthread_create(&thread, NULL, look_and_signal, &watched), 0);
    while (!watched.has_looked) {
        lock_wait(&watched.lock, &watched.changed);
    }
    const struct timespec past = {.tv_sec = 1};
    assert_false(lock_wait_until(&watched.lock, &watched.changed, &past));
    assert_true(lock_is_mine(&watched.lock));
    lock_release(&watched.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
#ifndef NDEBUG
    assert_false(watched.is_mine_there);
    assert_false(lock_is_mine(&watched.lock));
#endif
    lock_finish(&watched.lock);
}

static void an_object_that_ends_loses_its_magic(void **state) {
    (void)state;
    struct {
        uint32_t magic;
    } object = {.magic = 7};
    OBJECT_CHECK(&object, 7);
    OBJECT_WIPE(&object, 7);
    assert_int_equal(object.magic, 0);
}

/* ---------------------------------------------------------------- libraries */

static void a_library_is_loaded_whole_or_not(void **state) {
    (void)state;
    static const char *const there[] = {"cos", "floor"};
    static const char *const lacking[] = {"cos", "a_function_that_is_not_there"};
    static const struct {
        const char *file;
        const char *const *functions;
        const char *said; /* NULL: it is loaded */
    } rows[] = {{"libm.so.6", there, NULL},
                {"libm.so.6", lacking,
                 "libm has no a_function_that_is_not_there: it is too old; install 9.9 or newer"},
                {"libnot-there.so.1", there, "counting needs libm, which cannot be loaded: "},
                {"libnot-there.so.1", there, "; install Debian's package libm1"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const struct library library = {.name = "libm",
                                        .file = rows[i].file,
                                        .package = "libm1",
                                        .oldest = "9.9",
                                        .who_needs_it = "counting needs",
                                        .functions = rows[i].functions,
                                        .function_count = 2};
        struct {
            double (*cos)(double);
            double (*floor)(double);
        } loaded = {0};
        struct toolrack_error err = {0};
        int code = library_load(&library, &loaded, &err);
        if (rows[i].said == NULL) {
            assert_int_equal(code, 0);
            assert_true(loaded.cos(0) > 0.5 && loaded.floor(2.5) < 2.5);
        } else {
            assert_int_equal(code, TOOLRACK_E_IO);
            assert_non_null(strstr(err.message, rows[i].said));
            assert_null(loaded.cos);
        }
    }
}

/* ------------------------------------------------------------------- sort */

static unsigned compared;

static int compare_numbers(const void *a, const void *b) {
    const int *x = a;
    const int *y = b;
    compared++;
    return (*x > *y) - (*x < *y);
}

static void what_is_sorted_is_looked_at_once(void **state) {
    (void)state;
    static const struct {
        int items[6];
        unsigned count;
        bool is_sorted;
    } rows[] = {{{0}, 0, true},
                {{1}, 1, true},
                {{1, 2, 2, 3, 5, 8}, 6, true},
                {{1, 2, 3, 5, 8, 2}, 6, false},
                {{2, 1, 3, 5, 8, 9}, 6, false},
                {{8, 5, 3, 2, 2, 1}, 6, false}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        int items[6];
        memcpy(items, rows[i].items, sizeof items);
        compared = 0;
        sort(items, rows[i].count, sizeof items[0], compare_numbers);
        assert_true(rows[i].is_sorted == (compared < 2 || compared < rows[i].count));
        for (unsigned k = 1; k < rows[i].count; k++) {
            assert_true(items[k - 1] <= items[k]);
        }
        assert_int_equal(items[0], rows[i].count < 2 ? rows[i].items[0] : 1);
    }
}

/* ------------------------------------------------------------------- traces */

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

static void traces_are_read_as_the_specification_says(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *written; /* NULL: it is none */
    } rows[] = {{"00-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-01"},
                {"00-" TRACE "-" SPAN "-00", "00-" TRACE "-" SPAN "-00"},
                {"00-" TRACE "-" SPAN "-ff", "00-" TRACE "-" SPAN "-03"},
                {"01-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-01"},
                {"cc-" TRACE "-" SPAN "-01-what-comes", "00-" TRACE "-" SPAN "-01"},
                {NULL, NULL},
                {"", NULL},
                {"ff-" TRACE "-" SPAN "-01", NULL},
                {"00-" TRACE "-" SPAN "-01-more", NULL},
                {"00-" TRACE "-" SPAN "-011", NULL},
                {"cc-" TRACE "-" SPAN "-01.more", NULL},
                {"00-" TRACE "-" SPAN "-0", NULL},
                {"00-" TRACE "-" SPAN, NULL},
                {"00-00000000000000000000000000000000-" SPAN "-01", NULL},
                {"00-" TRACE "-0000000000000000-01", NULL},
                {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", NULL},
                {"00-" TRACE "-00f067aa0ba902g7-01", NULL},
                {"0x-" TRACE "-" SPAN "-01", NULL},
                {"00_" TRACE "-" SPAN "-01", NULL},
                {" 00-" TRACE "-" SPAN "-01", NULL}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct traceparent read;
        char written[TRACEPARENT_ROOM] = "";
        bool is_read = traceparent_read(rows[i].text, &read);
        if (is_read) {
            traceparent_write(&read, written);
        }
        if (is_read != (rows[i].written != NULL) ||
            (is_read && strcmp(written, rows[i].written) != 0)) {
            fail_msg("%s is read as %s", rows[i].text, is_read ? written : "none");
        }
    }
}

static void a_span_is_in_its_trace(void **state) {
    (void)state;
    struct traceparent one;
    assert_true(traceparent_read("00-" TRACE "-" SPAN "-01", &one));
    struct traceparent other = one;
    assert_true(traceparent_begin(&one));
    assert_true(traceparent_begin(&other));
    assert_string_equal(one.trace, TRACE);
    assert_string_not_equal(one.span, SPAN);
    assert_string_not_equal(one.span, other.span);
    char written[TRACEPARENT_ROOM];
    traceparent_write(&one, written);
    assert_true(traceparent_read(written, &other));
    assert_string_equal(one.span, other.span);
}

/* ----------------------------------------------------------- threads and shards */

/* Threads that have asked for a slot, and end when they are told. */
struct holders {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned taken[THREAD_SLOTS + 1]; /* how many have each slot; at the end those that have none */
    unsigned asked;
    bool may_end;
};

static void *take_slot_and_wait(void *argument) {
    struct holders *holders = argument;
    unsigned slot = thread_slot();
    (void)pthread_mutex_lock(&holders->lock);
    holders->taken[slot]++;
    holders->asked += thread_slot() == slot;
    (void)pthread_cond_broadcast(&holders->changed);
    while (!holders->may_end) {
        (void)pthread_cond_wait(&holders->changed, &holders->lock);
    }
    (void)pthread_mutex_unlock(&holders->lock);
    return NULL;
}

/* More threads than there are slots, twice: those of the first ones are free again. */
static void a_slot_is_one_threads_until_it_ends(void **state) {
    enum { THREADS = THREAD_SLOTS + 6 };
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct holders holders = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER};
        pthread_t threads[THREADS];
        holders.taken[thread_slot()]++;
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, take_slot_and_wait, &holders), 0);
        }
        (void)pthread_mutex_lock(&holders.lock);
        while (holders.asked < THREADS) {
            (void)pthread_cond_wait(&holders.changed, &holders.lock);
        }
        holders.may_end = true;
        (void)pthread_cond_broadcast(&holders.changed);
        (void)pthread_mutex_unlock(&holders.lock);
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
        for (unsigned i = 0; i < THREAD_SLOTS; i++) {
            assert_int_equal(holders.taken[i], 1);
        }
        assert_int_equal(holders.taken[THREAD_SLOTS], THREADS + 1 - THREAD_SLOTS);
    }
}

#define COUNTERS 4
#define COUNTED  20000u

struct counted {
    struct shard_hold hold;
    atomic_uint_fast64_t times;
    atomic_uint_fast64_t sum;
    atomic_uint_fast64_t largest;
};
static struct shards counted_shards;
static struct counted counted_first;

static void *count_often(void *argument) {
    (void)argument;
    for (uint64_t i = 1; i <= COUNTED; i++) {
        struct counted *counted =
                shards_hold(&counted_shards, shard_here(), &counted_first, sizeof *counted);
        shard_add(&counted->times, 1);
        shard_add(&counted->sum, i);
        shard_raise(&counted->largest, i);
        shard_release(&counted->hold);
    }
    return NULL;
}

static void a_held_shard_loses_no_count(void **state) {
    pthread_t threads[COUNTERS];
    const struct counted *counted;
    uint64_t times = 0;
    uint64_t sum = 0;
    uint64_t largest = 0;
    (void)state;
    for (int i = 0; i < COUNTERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_often, NULL), 0);
    }
    for (int i = 0; i < COUNTERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (unsigned at = 0; (counted = shards_next(&counted_shards, &counted_first, &at)) != NULL;) {
        times += atomic_load(&counted->times);
        sum += atomic_load(&counted->sum);
        largest =
                atomic_load(&counted->largest) > largest ? atomic_load(&counted->largest) : largest;
    }
    assert_int_equal(times, COUNTERS * COUNTED);
    assert_int_equal(sum, (uint64_t)COUNTERS * COUNTED * (COUNTED + 1) / 2);
    assert_int_equal(largest, COUNTED);
    shards_finish(&counted_shards);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_slot_is_one_threads_until_it_ends),
            cmocka_unit_test(a_held_shard_loses_no_count),
            cmocka_unit_test(error_message_is_one_line_and_cut_at_a_character),
            cmocka_unit_test(a_command_means_its_words_to_a_shell),
            cmocka_unit_test(a_command_states_the_places_of_its_host),
            cmocka_unit_test(a_message_can_be_without_places),
            cmocka_unit_test(a_word_that_cannot_be_copied_is_not_offered),
            cmocka_unit_test(code_names),
            cmocka_unit_test(codes_tell_what_they_mean),
            cmocka_unit_test(an_error_renders_alike_everywhere),
            cmocka_unit_test(a_long_trace_is_cut_at_a_line),
            cmocka_unit_test(utf8_accepts_text_and_refuses_the_rest),
            cmocka_unit_test(buf_writes_json),
            cmocka_unit_test(buf_escapes_every_byte_anywhere),
            cmocka_unit_test(documents_of_any_bytes_are_written),
            cmocka_unit_test(halves_of_characters_are_found),
            cmocka_unit_test(json_strings_are_written_alike_at_every_place),
            cmocka_unit_test(json_strings_are_what_the_parser_takes),
            cmocka_unit_test(places_of_values_are_found_again),
            cmocka_unit_test(a_pointer_takes_what_fits),
            cmocka_unit_test(a_pointer_in_an_arena_has_room),
            cmocka_unit_test(a_step_of_a_pointer_is_a_key),
            cmocka_unit_test(a_pointer_grows),
            cmocka_unit_test(buf_grows),
            cmocka_unit_test(base64_there_and_back),
            cmocka_unit_test(base64_says_what_is_wrong),
            cmocka_unit_test(arena_hands_out_aligned_memory),
            cmocka_unit_test(arena_serves_yyjson),
            cmocka_unit_test(json_paths),
            cmocka_unit_test(json_texts),
            cmocka_unit_test(a_ring_begins_again),
            cmocka_unit_test(a_ring_gives_its_memory_back),
            cmocka_unit_test(a_ring_gives_back_what_nobody_writes),
            cmocka_unit_test(names),
            cmocka_unit_test(nearest_names),
            cmocka_unit_test(nearest_tools),
            cmocka_unit_test(semver_orders),
            cmocka_unit_test(semver_takes_what_the_specification_takes),
            cmocka_unit_test(semver_knows_lines_and_prereleases),
            cmocka_unit_test(ranges_have_what_npm_says),
            cmocka_unit_test(what_is_no_range),
            cmocka_unit_test(ranges_keep_their_promises),
            cmocka_unit_test(spinning_ends_where_it_does_not_pay),
            cmocka_unit_test(one_cpu_never_spins),
            cmocka_unit_test(two_threads_wake_each_other),
            cmocka_unit_test(a_wait_ends_in_time_or_by_a_nudge),
            cmocka_unit_test(what_is_sorted_is_looked_at_once),
            cmocka_unit_test(a_lock_knows_who_holds_it),
            cmocka_unit_test(an_object_that_ends_loses_its_magic),
            cmocka_unit_test(a_library_is_loaded_whole_or_not),
            cmocka_unit_test(traces_are_read_as_the_specification_says),
            cmocka_unit_test(a_span_is_in_its_trace),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
