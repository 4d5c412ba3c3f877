/* Mistakes that models make in arguments (mistakes.json): whoever reads only the message of a
 * refused call corrects all of them at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Before a global `host`, which parameters in it would shadow. */
#include "toolrack/plugin.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json-write.h"
#include "host-unit.h"
#include "toolrack/format.h"
#include "toolrack/records.h"

CLEANUP_DEFINE(struct toolrack_result, toolrack_result_free)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static yyjson_doc *table;

/* Answers with its arguments, as it gets them. */
static tr_status echo(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(echo, "Gives its arguments back", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "o" : {
                         "type" : "object",
                         "properties" : {"n" : {"type" : "integer"}, "s" : {"type" : "string"}},
                         "additionalProperties" : false
                     },
                     "a" : {"type" : "array", "items" : {"type" : "number"}},
                     "w" : {"type" : "array", "items" : {"type" : "string"}},
                     "i" : {"type" : "integer", "maximum" : 9},
                     "b" : {"type" : "boolean"},
                     "e" : {"enum" : [ "red", "Green", 7 ]},
                     "t" : {"type" : "string"},
                     "u" : {"type" : [ "object", "string" ]},
                     "login" : {
                         "type" : "object",
                         "properties" : {"pin" : {"type" : "string", "writeOnly" : true}}
                     }
                 },
                 "additionalProperties" : false
             }))
static tr_status bounds(struct tr_call *call) {
    return tr_reply_json(call, "1");
}
TR_JSON_TOOL(bounds, "Takes numbers around 2^53", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "most" : {"maximum" : 9007199254740993.0},
                     "least" : {"minimum" : 9.007199254740993e15},
                     "below" : {"exclusiveMaximum" : 9007199254740993},
                     "same" : {"const" : 9007199254740993.0},
                     "third" : {"multipleOf" : 3},
                     "whole" : {"type" : "integer"}
                 }
             }))
static int64_t twice(int64_t number, bool negative) {
    return negative ? -2 * number : 2 * number;
}
TR_TOOL(twice, "Twice a number", TR_I64, (TR_I64, number, "it"), (TR_BOOL, negative, "below zero"))
static tr_status fails(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "the disk is full");
}
TR_JSON_TOOL(fails, "Fails", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"n" : {"type" : "integer"}, "b" : {"type" : "boolean"}}
             }))
static tr_status open_ended(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(open_ended, "Gives back whatever it is given", TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(("tolerant", .flags = TR_THREAD_SAFE), "1.0.0", echo, twice, bounds, fails, open_ended)

static int set_up(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf config = BUF_INIT;
    table = yyjson_read_file(TEST_MISTAKES, 0, NULL, NULL);
    if (table == NULL || host_set_up() < 0) {
        return -1;
    }
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *schema;
    buf_add_text(&config, "{\"tools\":[");
    yyjson_obj_foreach (yyjson_obj_get(yyjson_doc_get_root(table), "tools"), at, count, name,
                        schema) {
        buf_printf(&config,
                   "%s{\"name\":\"%s\",\"description\":\"For a test\",\"type\":\"function\","
                   "\"implementation\":{\"type\":\"mock\",\"mock_response\":1},\"parameters\":",
                   at > 0 ? "," : "", yyjson_get_str(name));
        json_add_value(&config, schema);
        buf_add_text(&config, "}");
    }
    buf_add_text(&config, "],\"arguments_of\":{\"tools\":{\"loose\":\"lax\",\"tag\":\"exact\"},"
                          "\"formats\":{\"gemini\":\"lax\",\"ollama\":\"exact\"}}}");
    host_configure(config.data);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config_file;
    options.state_dir = state_dir;
    options.no_scan = true;
    int code = toolrack_open(&options, &host, &err);
    return code < 0 ? code : toolrack_register(host, &toolrack_plugin, NULL, &err);
}

static int tear_down(void **state) {
    yyjson_doc_free(table);
    return host_tear_down(state);
}

/* -------------------------------------------------------------------------------- the corrector */

#define PLACE_ROOM 1024

/* One mistake, as its text says it. */
struct told {
    char place[256];  /* JSON Pointer */
    char parent[256]; /* of the object or array that has the place */
    char name[256];   /* of the place in it */
    char says[1024];
};

struct correcting {
    yyjson_mut_doc *doc;
    yyjson_val *right;
};

static void split_place(struct told *told) {
    const char *slash = strrchr(told->place, '/');
    (void)snprintf(told->parent, sizeof told->parent, "%.*s",
                   slash != NULL ? (int)(slash - told->place) : 0, told->place);
    (void)snprintf(told->name, sizeof told->name, "%s", slash != NULL ? slash + 1 : "");
}

static void join(char ret[PLACE_ROOM], const char *parent, const char *name) {
    (void)snprintf(ret, PLACE_ROOM, "%s/%s", parent, name);
}

/* The n-th text in quotes after `words`; false if `words` are not there, or fewer texts. */
static bool quoted_after(const struct told *told, const char *words, unsigned n, char ret[256]) {
    const char *at = strstr(told->says, words);
    if (at == NULL) {
        return false;
    }
    at += strlen(words);
    for (; n > 0; n--) {
        at = strchr(at, '"');
        at = at != NULL ? strchr(at + 1, '"') : NULL;
        if (at == NULL) {
            return false;
        }
        at++;
    }
    at = strchr(at, '"');
    const char *end = at != NULL ? strchr(at + 1, '"') : NULL;
    if (end == NULL) {
        return false;
    }
    (void)snprintf(ret, 256, "%.*s", (int)(end - at - 1), at + 1);
    return true;
}

static void take_out(struct correcting *with, const char *place) {
    (void)yyjson_mut_doc_ptr_remove(with->doc, place);
}

static void set(struct correcting *with, const char *place, yyjson_mut_val *value) {
    yyjson_mut_doc_set_root(with->doc, yyjson_mut_doc_get_root(with->doc));
    (void)yyjson_mut_doc_ptr_set(with->doc, place, value);
}

static void move(struct correcting *with, const char *from, const char *to) {
    yyjson_mut_val *value = yyjson_mut_doc_ptr_get(with->doc, from);
    if (value != NULL) {
        value = yyjson_mut_val_mut_copy(with->doc, value);
        take_out(with, from);
        set(with, to, value);
    }
}

static void put_inside(struct correcting *with, const struct told *told) {
    char name[256];
    char object[256];
    char from[PLACE_ROOM];
    char to[PLACE_ROOM];
    if (strstr(told->says, " inside it") != NULL) {
        (void)snprintf(object, sizeof object, "%s", told->name);
    } else {
        assert_true(quoted_after(told, " inside ", 0, object));
    }
    for (unsigned n = 0; quoted_after(told, "; put ", n, name); n++) {
        join(from, told->parent, name);
        (void)snprintf(to, sizeof to, "%s/%s/%s", told->parent, object, name);
        if (strcmp(name, object) != 0) {
            move(with, from, to);
        }
    }
}

static void put_out(struct correcting *with, const struct told *told) {
    yyjson_mut_val *wrapper = yyjson_mut_doc_ptr_get(with->doc, told->place);
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(with->doc, wrapper);
    yyjson_mut_obj_iter iter;
    yyjson_mut_val *key = NULL;
    take_out(with, told->place);
    assert_true(yyjson_mut_obj_iter_init(copy, &iter));
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        char to[PLACE_ROOM];
        join(to, told->parent, yyjson_mut_get_str(key));
        set(with, to, yyjson_mut_val_mut_copy(with->doc, yyjson_mut_obj_iter_get_val(key)));
    }
}

/* What nobody but the one who wrote the arguments knows: the value that was meant. */
static void write_anew(struct correcting *with, const char *place) {
    yyjson_val *value = place[0] == '\0' ? with->right : yyjson_ptr_get(with->right, place);
    if (value == NULL) {
        take_out(with, place);
    } else if (place[0] != '\0') {
        set(with, place, yyjson_val_mut_copy(with->doc, value));
    }
}

/* What a choice needs beside it: "card" needs "number", "name", and "iban" needs "iban". */
static void write_needed(struct correcting *with, const struct told *told) {
    char chosen[300];
    char name[256];
    char place[PLACE_ROOM];
    (void)snprintf(chosen, sizeof chosen, "\"%s\" needs ",
                   yyjson_mut_get_str(yyjson_mut_doc_ptr_get(with->doc, told->place)));
    const char *at = strstr(told->says, chosen);
    struct told rest = {.place = ""};
    if (at != NULL) {
        const char *end = strstr(at, ", and ");
        (void)snprintf(rest.says, sizeof rest.says, "%.*s",
                       (int)(end != NULL ? (size_t)(end - at) : strlen(at)), at);
    }
    for (unsigned n = 0; quoted_after(&rest, " needs ", n, name); n++) {
        join(place, told->parent, name);
        write_anew(with, place);
    }
}

static void correct(struct correcting *with, const struct told *told) {
    char name[256];
    char from[PLACE_ROOM];
    char to[PLACE_ROOM];
    if (strstr(told->says, "; put what is inside it here") != NULL) {
        put_out(with, told);
    } else if (quoted_after(told, "; put it here, not inside ", 0, name)) {
        (void)snprintf(from, sizeof from, "%s/%s/%s", told->parent, name, told->name);
        move(with, from, told->place);
    } else if (strstr(told->says, "; put it at ") != NULL) {
        move(with, told->place, strstr(told->says, "; put it at ") + strlen("; put it at "));
    } else if (strstr(told->says, "; put ") != NULL) {
        put_inside(with, told);
    } else if (quoted_after(told, "did you mean it by ", 0, name)) {
        join(from, told->parent, name);
        move(with, from, told->place);
    } else if (strncmp(told->says, "unknown property", strlen("unknown property")) == 0) {
        if (quoted_after(told, "did you mean ", 0, name)) {
            join(to, told->parent, name);
            move(with, told->place, to);
        } else {
            take_out(with, told->place);
        }
    } else if (quoted_after(told, "; leave out ", 0, name)) {
        for (unsigned n = 0; quoted_after(told, "; leave out ", n, name); n++) {
            join(from, told->place, name);
            write_anew(with, from);
        }
    } else if (strstr(told->says, "; leave it out") != NULL) {
        take_out(with, told->place);
    } else {
        write_anew(with, told->place);
        write_needed(with, told);
    }
}

/* The mistakes of a message: "/a: is wrong; also /b: is wrong". */
static void correct_all(struct correcting *with, const char *message) {
    while (message != NULL) {
        static const char also[] = "; also ";
        struct told told = {.place = ""};
        const char *next = strstr(message, also);
        size_t length = next != NULL ? (size_t)(next - message) : strlen(message);
        const char *colon = message[0] == '/' ? strstr(message, ": ") : NULL;
        if (colon != NULL) {
            (void)snprintf(told.place, sizeof told.place, "%.*s", (int)(colon - message), message);
            length -= (size_t)(colon + 2 - message);
            message = colon + 2;
        }
        (void)snprintf(told.says, sizeof told.says, "%.*s", (int)length, message);
        split_place(&told);
        correct(with, &told);
        message = next != NULL ? next + strlen(also) : NULL;
    }
}

/* ------------------------------------------------------------------------------------- the table
 */

static int call(const char *tool, const char *arguments, char message[2048]) {
    CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
    int code = toolrack_call(host, tool, arguments, NULL, &result, &err);
    const char *field = toolrack_error_field(&err);
    if (code < 0) {
        (void)snprintf(message, 2048, "%s%s%s", field, field[0] != '\0' ? ": " : "",
                       toolrack_error_message(&err));
    }
    return code;
}

static bool is_corrected_at_once(yyjson_val *row) {
    char message[2048];
    char again[2048] = "";
    const char *tool = yyjson_get_str(yyjson_arr_get(row, 1));
    CLEANUP(freep) char *sent = yyjson_val_write(yyjson_arr_get(row, 2), 0, NULL);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct correcting with = {.doc = doc, .right = yyjson_arr_get(row, 3)};
    yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, yyjson_arr_get(row, 2)));
    if (call(tool, sent, message) != TOOLRACK_E_INVALID_ARGUMENTS) {
        print_message("# %s: %s was not refused\n", yyjson_get_str(yyjson_arr_get(row, 0)), sent);
        return false;
    }
    correct_all(&with, message);
    CLEANUP(freep) char *corrected = yyjson_mut_write(doc, 0, NULL);
    CLEANUP(yyjson_doc_freep) yyjson_doc *made = yyjson_read(corrected, strlen(corrected), 0);
    bool good = call(tool, corrected, again) == 0 &&
                yyjson_equals(yyjson_doc_get_root(made), with.right);
    if (!good) {
        print_message("# %s: %s\n#   %s\n#   %s\n#   %s\n", yyjson_get_str(yyjson_arr_get(row, 0)),
                      sent, message, corrected, again);
    } else if (getenv("TEST_SHOW") != NULL) {
        print_message("# %s: %s\n#   %s\n", yyjson_get_str(yyjson_arr_get(row, 0)), sent, message);
    }
    return good;
}

static void one_correction_is_enough(void **state) {
    (void)state;
    size_t at;
    size_t count;
    yyjson_val *row;
    unsigned more = 0;
    yyjson_arr_foreach (yyjson_obj_get(yyjson_doc_get_root(table), "mistakes"), at, count, row) {
        more += !is_corrected_at_once(row);
    }
    assert_true(count >= 57);
    assert_int_equal(more, 0);
}

/* What a value in text is to become instead, and where a path leads. */
static void values_in_text_and_paths_are_told_what_they_are(void **state) {
    (void)state;
    static const struct {
        const char *tool;
        const char *sent;
        const char *says;
    } rows[] = {
            {"tag", "{\"title\":\"x\",\"tags\":\"['a', 'b']\"}",
             "; give the array itself, not text"},
            {"tag", "{\"title\":\"x\",\"tags\":\"\\\"[1]\\\"\"}",
             "; give the array itself, not text"},
            {"tag", "{\"title\":\"x\",\"tags\":\"[draft] a\"}", "; give an array that has it"},
            {"ship", "{\"customer\":\"x\",\"order\":\"{'id': 1}\"}",
             "; give the object itself, not text"},
            {"sum", "{\"values\":{\"value\":[1]}}",
             "; give the array that is inside it, in \"value\", in its place"},
            {"sum", "{\"values\":{\"value\":[1],\"more\":1}}", "; give an array that has it"},
            {"event", "{\"title\":\"x\",\"date\":\"2026-01-02\",\"guests\":{\"name\":[1]}}",
             "; give an array that has it as its only item"},
            {"ship", "{\"customer\":\"x\",\"order.id\":1}", "; put it at /order/id"},
            {"ship", "{\"customer\":\"x\",\"order[id]\":1}", "; put it at /order/id"},
            {"ship", "{\"customer\":\"x\",\"order.\":1}", "unknown property \"order.\""},
            {"ship", "{\"customer\":\"x\",\"order[]\":1}", "unknown property \"order[]\""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char message[2048];
        assert_int_equal(call(rows[i].tool, rows[i].sent, message), TOOLRACK_E_INVALID_ARGUMENTS);
        if (strstr(message, rows[i].says) == NULL) {
            fail_msg("%s: %s", rows[i].sent, message);
        }
    }
}

/* The members of the error, and what does not fit on its line. */
static void mistakes_are_told_one_by_one_and_counted(void **state) {
    (void)state;
    char message[2048];
    const char *says = NULL;
    assert_int_equal(call("ship", "{\"order\":{\"id\":\"x\"},\"customer\":1}", message),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    assert_string_equal(message,
                        "/customer: must be a string, not an integer; write it in quotes; also "
                        "/order/id: must be an integer, not a string; also /order/quantity: "
                        "required property \"quantity\" is missing");
    assert_string_equal(toolrack_error_mistake(&err, 0, &says), "/customer");
    assert_string_equal(says, "must be a string, not an integer; write it in quotes");
    assert_string_equal(toolrack_error_mistake(&err, 2, &says), "/order/quantity");
    assert_string_equal(says, "required property \"quantity\" is missing");
    assert_null(toolrack_error_mistake(&err, 3, &says));
    assert_null(says);
    assert_int_equal(
            call("sum", "{\"values\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"],\"n\":1}", message),
            TOOLRACK_E_INVALID_ARGUMENTS);
    assert_non_null(strstr(message, "/n: unknown property"));
    assert_non_null(strstr(message, "; and 3 more"));
    assert_int_equal(call("weather", "{}", message), TOOLRACK_E_INVALID_ARGUMENTS);
    assert_null(toolrack_error_mistake(&err, 0, &says)); /* one alone is the message */
}

/* ------------------------------------------------------------------------------------- tolerance
 */

#define EXACT                  TOOLRACK_TOLERANCE_EXACT
#define TEXT                   TOOLRACK_TOLERANCE_JSON_TEXT
#define LAX                    TOOLRACK_TOLERANCE_LAX
#define CHANGED(field, change) "{\"field\":\"" field "\",\"change\":\"" change "\"}"

static void what_nearly_fits_is_taken_as_far_as_the_call_says(void **state) {
    (void)state;
    static const struct {
        uint64_t tolerance;
        const char *tool;
        const char *sent;
        const char *taken;   /* NULL: refused */
        const char *changed; /* NULL: nothing */
    } rows[] = {
            /* what fits is not touched */
            {LAX, "echo", "{\"t\":\"5\",\"u\":\"{}\",\"e\":\"red\"}",
             "{\"t\":\"5\",\"u\":\"{}\",\"e\":\"red\"}", NULL},
            /* JSON text */
            {EXACT, "echo", "{\"o\":\"{\\\"n\\\":1}\"}", NULL, NULL},
            {TOOLRACK_TOLERANCE_UNSET, "echo", "{\"o\":\"{\\\"n\\\":1}\"}", NULL, NULL},
            {TEXT, "echo", "{\"o\":\"{\\\"n\\\":1}\"}", "{\"o\":{\"n\":1}}",
             "[" CHANGED("/o", "json-text") "]"},
            {TEXT, "echo", "{\"a\":\"[1,2.5]\",\"t\":\"[1]\"}", "{\"a\":[1,2.5],\"t\":\"[1]\"}",
             "[" CHANGED("/a", "json-text") "]"},
            {TEXT, "echo", "{\"o\":\"{\\\"n\\\":\\\"1\\\"}\"}", NULL, NULL},
            {TEXT, "echo", "{\"o\":\"{\\\"n\\\":1,\\\"n\\\":2}\"}", NULL, NULL}, /* twice */
            {TEXT, "echo", "{\"o\":\"[1]\"}", NULL, NULL},
            {TEXT, "echo", "{\"i\":\"1\"}", NULL, NULL},
            /* lax */
            {LAX, "echo", "{\"o\":\"{\\\"n\\\":\\\"1\\\"}\"}", "{\"o\":{\"n\":1}}",
             "[" CHANGED("/o", "json-text") "," CHANGED("/o/n", "number-text") "]"},
            {LAX, "echo", "{\"i\":\"1\",\"b\":\"Yes\",\"a\":2,\"e\":\"GREEN\"}",
             "{\"i\":1,\"b\":true,\"a\":[2],\"e\":\"Green\"}",
             "[" CHANGED("/i", "number-text") "," CHANGED("/b", "boolean-text") "," CHANGED(
                     "/a", "one-item") "," CHANGED("/e", "choice-case") "]"},
            {LAX, "echo", "{\"i\":\"-18446744073709551617\"}", NULL, NULL}, /* digits are lost */
            {LAX, "echo", "{\"i\":\"-9007199254740993.0\"}", NULL, NULL},
            {LAX, "echo", "{\"i\":\"-0125.0e-1\"}", NULL, NULL},
            {LAX, "echo", "{\"i\":\"-12000.0e-1\"}", "{\"i\":-1200.0}",
             "[" CHANGED("/i", "number-text") "]"},
            {LAX, "echo", "{\"a\":\"3\",\"e\":\"7\"}", "{\"a\":[3],\"e\":7}",
             "[" CHANGED("/a", "one-item") "," CHANGED("/e", "number-text") "," CHANGED(
                     "/a/0", "number-text") "]"},
            {LAX, "echo", "{\"i\":\"10\"}", NULL, NULL},
            {LAX, "echo", "{\"i\":\"1.5\"}", NULL, NULL},
            {LAX, "echo", "{\"i\":\"one\"}", NULL, NULL},
            {LAX, "echo", "{\"b\":\"maybe\"}", NULL, NULL},
            {LAX, "echo", "{\"t\":5}", NULL, NULL},
            {LAX, "echo", "{\"i\":\"1\",\"x\":1}", NULL, NULL}, /* all or nothing */
            /* typed */
            {LAX, "twice", "{\"number\":\"9223372036854775\",\"negative\":\"on\"}",
             "-18446744073709550",
             "[" CHANGED("/number", "number-text") "," CHANGED("/negative", "boolean-text") "]"},
            {TEXT, "twice", "{\"number\":\"4\",\"negative\":false}", NULL, NULL},
            /* what the configuration says of a tool goes first */
            {EXACT, "loose", "{\"values\":\"1\"}", "1",
             "[" CHANGED("/values", "one-item") "," CHANGED("/values/0", "number-text") "]"},
            /* a text that may be several is not one item */
            {LAX, "echo", "{\"w\":\"a\"}", "{\"w\":[\"a\"]}", "[" CHANGED("/w", "one-item") "]"},
            {LAX, "echo", "{\"w\":\"two words\"}", "{\"w\":[\"two words\"]}",
             "[" CHANGED("/w", "one-item") "]"},
            {LAX, "echo", "{\"w\":\"a, b, c\"}", NULL, NULL},
            {LAX, "echo", "{\"w\":\"a;b\"}", NULL, NULL},
            {LAX, "echo", "{\"w\":\"a\\nb\"}", NULL, NULL},
            {LAX, "echo", "{\"w\":\"['a','b']\"}", NULL, NULL},
            {LAX, "echo", "{\"w\":\"[a]\"}", NULL, NULL},
            {LAX, "echo", "{\"w\":\"{'a'}\"}", NULL, NULL},
            {LAX, "echo", "{\"w\":\"\"}", NULL, NULL},
            {LAX, "echo", "{\"w\":\" \"}", NULL, NULL},
            {LAX, "tag", "{\"title\":\"x\",\"tags\":\"a\"}", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        options.tolerance = rows[i].tolerance;
        int code = toolrack_call(host, rows[i].tool, rows[i].sent, &options, &result, &err);
        if ((code == 0) != (rows[i].taken != NULL)) {
            fail_msg("row %zu: %s: %s", i, rows[i].sent, code < 0 ? err.message : "was taken");
        }
        if (code == 0) {
            size_t length = 0;
            const char *changed = toolrack_result_changed(result, &length);
            assert_string_equal(toolrack_result_json(result, NULL), rows[i].taken);
            assert_string_equal(changed != NULL ? changed : "",
                                rows[i].changed != NULL ? rows[i].changed : "");
            assert_int_equal(length, strlen(changed != NULL ? changed : ""));
        } else {
            assert_int_equal(code, TOOLRACK_E_INVALID_ARGUMENTS);
        }
    }
}

static void models_may_send_json_text_where_nothing_else_is_said(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *message;
        const char *part;
    } rows[] = {
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":"
             "\"echo\",\"input\":{\"o\":\"{\\\"n\\\":1}\"}}]}",
             "{\\\"o\\\":{\\\"n\\\":1}}"},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":"
             "\"echo\",\"input\":{\"i\":\"1\"}}]}",
             "InvalidArguments: /i"},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"echo\",\"args\":{\"i\":"
             "\"1\"}}}]}",
             "\"i\":1"},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"echo\","
             "\"arguments\":{\"o\":\"{}\"}}}]}",
             "InvalidArguments: /o"},
            {TOOLRACK_FORMAT_MCP,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
             "\"echo\",\"arguments\":{\"o\":\"{}\"}}}",
             "\"_meta\":{\"toolrack/changed\":[" CHANGED("/o", "json-text") "]}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        assert_ok(toolrack_answer(host, rows[i].format, rows[i].message, strlen(rows[i].message),
                                  NULL, &text, &err));
        if (strstr(toolrack_text_data(text, NULL), rows[i].part) == NULL) {
            fail_msg("%s", toolrack_text_data(text, NULL));
        }
    }
}

static void what_was_changed_is_in_the_row_of_the_call(void **state) {
    (void)state;
    CLEANUP(toolrack_result_freep) struct toolrack_result *changed = NULL;
    CLEANUP(toolrack_result_freep) struct toolrack_result *same = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *log = NULL;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    options.tolerance = TOOLRACK_TOLERANCE_LAX;
    options.trace = "of-a-change";
    filter.trace = options.trace;
    assert_ok(toolrack_call(host, "echo", "{\"o\":\"{\\\"n\\\":\\\"1\\\"}\"}", &options, &changed,
                            &err));
    assert_ok(toolrack_call(host, "echo", "{\"i\":1}", &options, &same, &err));
    assert_ok(toolrack_log(host, &filter, &log, &err));
    const char *text = toolrack_text_data(log, NULL);
    assert_non_null(strstr(text, "\"changed\":[" CHANGED("/o", "json-text") "," CHANGED(
                                         "/o/n", "number-text") "]"));
    assert_non_null(strstr(text, "\"changed\":null"));
}

/* It may be why the tool failed. */
static void a_failure_says_what_was_changed(void **state) {
    (void)state;
    CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.tolerance = TOOLRACK_TOLERANCE_LAX;
    assert_error(
            toolrack_call(host, "fails", "{\"n\":\"1\",\"b\":\"yes\"}", &options, &result, &err),
            TOOLRACK_E_EXECUTION_FAILED,
            "the disk is full; the argument /n was changed to fit: number-text; the argument "
            "/b was changed to fit: boolean-text");
    assert_error(toolrack_call(host, "fails", "{\"n\":1}", &options, &result, &err),
                 TOOLRACK_E_EXECUTION_FAILED, "the disk is full");
    assert_null(strstr(err.message, "changed"));
}

/* The log has neither the text, which has the secret, nor the value in a message. */
static void secrets_inside_of_json_text_are_masked(void **state) {
    (void)state;
    CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *log = NULL;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    options.tolerance = TOOLRACK_TOLERANCE_JSON_TEXT;
    options.trace = "of-a-secret";
    filter.trace = options.trace;
    assert_ok(toolrack_call(host, "echo", "{\"login\":\"{\\\"pin\\\":\\\"hunter22\\\"}\"}",
                            &options, &result, &err));
    assert_string_equal(toolrack_result_json(result, NULL), "{\"login\":{\"pin\":\"hunter22\"}}");
    options.tolerance = TOOLRACK_TOLERANCE_EXACT;
    assert_error(toolrack_call(host, "echo",
                               "{\"login\":\"{\\\"pin\\\":\\\"hunter22\\\"}\",\"i\":\"x\"}",
                               &options, &result, &err),
                 TOOLRACK_E_INVALID_ARGUMENTS, "must be an object");
    assert_error(toolrack_call(host, "echo", "{\"i\":\"x\",\"login\":{\"pin\":22334455}}", &options,
                               &result, &err),
                 TOOLRACK_E_INVALID_ARGUMENTS, "/login/pin");
    assert_ok(toolrack_log(host, &filter, &log, &err));
    const char *text = toolrack_text_data(log, NULL);
    assert_non_null(strstr(text, "of-a-secret"));
    assert_null(strstr(text, "\"arguments\":\"{\\\"login\\\":\\\"{"));
    assert_null(strstr(text, "22334455"));
}

/* A double rounds 9007199254740993 (2^53 + 1) to its neighbours, 18014398509481985.0 likewise. */
static void whole_numbers_written_as_reals_are_compared_exactly(void **state) {
    (void)state;
    static const struct {
        const char *arguments;
        bool fits;
    } rows[] = {
            {"{\"most\":9007199254740993}", true},
            {"{\"most\":9007199254740993.0}", true},
            {"{\"most\":9.007199254740993e15}", true},
            {"{\"most\":9007199254740994.0}", false},
            {"{\"most\":90071992547409930E-1}", true},
            {"{\"most\":0.9007199254740995e+16}", false},
            {"{\"least\":9007199254740992.0}", false},
            {"{\"least\":9007199254740993.00}", true},
            {"{\"least\":-9007199254740993.0}", false},
            {"{\"below\":9007199254740993.0}", false},
            {"{\"below\":9007199254740992.0}", true},
            {"{\"same\":9007199254740993}", true},
            {"{\"same\":9007199254740993.0}", true},
            {"{\"same\":9007199254740992.0}", false},
            {"{\"same\":9007199254740994.0}", false},
            {"{\"third\":9007199254740993.0}", true},
            {"{\"third\":18014398509481985.0}", false},
            {"{\"third\":18014398509481986.0}", true},
            {"{\"third\":18446744073709551618.0}", true},
            {"{\"third\":1.8446744073709551617e19}", false},
            {"{\"whole\":9007199254740993.0}", true},
            {"{\"whole\":9007199254740993.5}", true}, /* as a double it has no fraction */
            {"{\"whole\":0.12345678901234567}", false},
            {"{\"same\":9007199254740993.0,\"text\":\"9007199254740992.0 \\\"\"}", true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
        int code = toolrack_call(host, "bounds", rows[i].arguments, NULL, &result, NULL);
        if (code != (rows[i].fits ? 0 : TOOLRACK_E_INVALID_ARGUMENTS)) {
            fail_msg("%s: %s", rows[i].arguments, toolrack_code_name(code));
        }
    }
    /* What is wrong has its place in the text as it was given. */
    static const char broken[] = "{\"most\":9007199254740993.0,\"least\":01}";
    assert_int_equal(toolrack_call(host, "bounds", broken, NULL, NULL, &err),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    assert_non_null(strstr(err.message, "at byte 35"));
}

/* Whatever the schema says of it, or does not say: no tool can reply with what it was given. */
static void a_number_beyond_doubles_is_the_callers_mistake(void **state) {
    (void)state;
    static const struct {
        const char *arguments;
        const char *wrong; /* NULL: nothing */
    } rows[] = {
            {"{\"any\":1e400}", "/any: must be a number that a 64-bit float can hold, and 1e400 is"
                                " too large"},
            {"{\"any\":[{\"a/b\":0,\"c\":[1,-2E+999]}]}",
             "/any/0/c/1: must be a number that a "
             "64-bit float can hold, and -2E+999 is too "
             "large"},
            {"{\"any\":[1e308,18446744073709551617,1e-999]}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
        CLEANUP(buf_finish) struct buf said = BUF_INIT;
        int code = toolrack_call(host, "open_ended", rows[i].arguments, NULL, &result, &err);
        if (rows[i].wrong == NULL) {
            assert_ok(code);
            continue;
        }
        assert_int_equal(code, TOOLRACK_E_INVALID_ARGUMENTS);
        buf_printf(&said, "%s: %s", err.field, err.message);
        assert_string_equal(said.data, rows[i].wrong);
    }
    CLEANUP(buf_finish) struct buf long_one = BUF_INIT;
    buf_add_text(&long_one, "{\"any\":");
    for (int i = 0; i < 400; i++) {
        buf_add_char(&long_one, '9');
    }
    buf_add_char(&long_one, '}');
    assert_error(toolrack_call(host, "open_ended", long_one.data, NULL, NULL, &err),
                 TOOLRACK_E_INVALID_ARGUMENTS, "999999999999999999999999... is too large");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
            cmocka_unit_test(one_correction_is_enough),
            cmocka_unit_test(values_in_text_and_paths_are_told_what_they_are),
            cmocka_unit_test(mistakes_are_told_one_by_one_and_counted),
            cmocka_unit_test(what_nearly_fits_is_taken_as_far_as_the_call_says),
            cmocka_unit_test(models_may_send_json_text_where_nothing_else_is_said),
            cmocka_unit_test(what_was_changed_is_in_the_row_of_the_call),
            cmocka_unit_test(a_failure_says_what_was_changed),
            cmocka_unit_test(secrets_inside_of_json_text_are_masked),
            cmocka_unit_test(whole_numbers_written_as_reals_are_compared_exactly),
            cmocka_unit_test(a_number_beyond_doubles_is_the_callers_mistake),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
