/* toolrack/test.h - a fake host, for unit tests of plugins. Nothing of toolrack is linked.
 *
 *     #include "weather.c"           // the plugin's source, or link its object
 *     #include <toolrack/test.h>
 *
 *     int main(void) {
 *         struct tr_test test;
 *         tr_test_init(&test, &toolrack_plugin);
 *         TR_TEST(&test, celsius(32) == 0);                      // a typed tool is its function
 *         TR_TEST(&test, tr_test_call(&test, "greet", "{\"name\": \"Ada\"}"));
 *         TR_TEST(&test, tr_test_replied(&test, "\"Hello, Ada!\""));
 *         TR_TEST(&test, !tr_test_call(&test, "greet", "{\"name\": \"\"}"));
 *         TR_TEST(&test, tr_test_failed(&test, "InvalidArguments", "/name"));
 *         return tr_test_finish(&test);
 *     }
 *
 * A JSON tool runs as in a host: its arguments are checked against the schema, whose defaults are
 * filled in, and its replies are checked and put together. A typed tool is called as the function
 * that it is; one that takes the call gets tr_test_begin(), and tr_test_end() says how it ended.
 *
 * It behaves as a host: the errors have the types and fields of a host's, their messages are
 * similar. Of JSON Schema it knows type, properties, required, additionalProperties, items, enum,
 * const, default and the bounds of numbers, lengths and items; it takes what other keywords refuse.
 * Nothing confines the plugin: what a sandbox allows is not tested here. One test is used by one
 * thread.
 *
 * Licence: MIT; usable in closed plugins. C11, C++17 and later. */
#ifndef TOOLRACK_TEST_H
#define TOOLRACK_TEST_H

#include <toolrack/plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* It stands behind the plugin's source, whose names are not known here. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ============================================================ for the test */

/** Most answers that wait, and most keys of questions in a call. */
#define TR_TEST_ANSWERS_MAX 16
#define TR_TEST_KEYS_MAX    64
/** Longest texts of an error. */
#define TR_TEST_MESSAGE_MAX 1024
#define TR_TEST_POINTER_MAX 512

/** How a call ended. */
struct tr_test_error {
    const char *type; /**< such as "InvalidArguments", as a host shows it; NULL: it succeeded */
    char field[TR_TEST_POINTER_MAX]; /**< JSON Pointer of the argument at fault, or "" */
    char message[TR_TEST_MESSAGE_MAX];
    bool from_tool;  /**< the tool said so by tr_fail() */
    char place[160]; /**< file and line of tr_fail(), or "" */
};

/** A text that grows. */
struct tr_test_text {
    char *data; /**< zero-terminated; NULL: empty */
    size_t length, room;
};

struct tr_test_given {
    int32_t answer;
    const char *content;
};

/** A fake host with one plugin, and the call that it makes. The members of the first part are for
 * the test to set, at any time between calls; those of the second are for it to look at. */
struct tr_test {
    struct tr_call call; /* first: a tool holds a pointer to it */
    const struct tr_plugin *plugin;

    uint16_t minor;         /**< the host's minor version: an older host lacks what came later */
    const char *settings;   /**< of the plugin, a JSON object; NULL: none. Before the first call */
    bool cancelled;         /**< what tr_cancelled() says */
    uint64_t time_left_ms;  /**< UINT64_MAX: there is no deadline; 0: it has passed */
    const char *context[5]; /**< by enum tr_context_key; that of the tool is set by itself */
    bool answers_later;     /**< the next question ends the call, which is to be made again */

    struct tr_test_error error;
    struct tr_test_text result;    /**< of a call that succeeded: JSON, as a host gives it */
    struct tr_test_text arguments; /**< as the tool gets them: with defaults */
    struct tr_test_text log;       /**< "warning: text" lines of this call, and of open() */
    struct tr_test_text asked;     /**< the messages of its questions, a line each */
    uint32_t progress_count;       /**< how often it reported progress, and what it said last */
    double done, total;
    bool opened;
    unsigned tests, failed_tests; /**< of TR_TEST() */

    /* The rest is not for use. */
    struct tr_call_api api;
    struct tr_test_given answers[TR_TEST_ANSWERS_MAX];
    unsigned answer_count;
    struct tr_test_block *memory;
    struct tr_test_json *root;
    struct tr_test_text written, blocks, structured, text;
    unsigned block_count, text_count, inputs, key_count;
    const char *keys[TR_TEST_KEYS_MAX];
    uint64_t objects;
    unsigned depth;
    bool begun, finished, filled, has_json, is_unanswered, has_defaults;
};

static inline void tr_test_init(struct tr_test *test, const struct tr_plugin *plugin);

/** Close the plugin if it was opened, and free all memory.
 * @return the exit status of the test program: 1 if a TR_TEST() failed, else 0 */
static inline int tr_test_finish(struct tr_test *test);

/** Call a JSON tool with a JSON object. The plugin is opened before its first call.
 * @return whether it succeeded: then `result` is set, else `error` */
static inline bool tr_test_call(struct tr_test *test, const char *tool, const char *arguments);

/** The same with a function that is called like a JSON tool, such as the members of struct
 * tr_resources; without a schema. */
static inline bool tr_test_run(struct tr_test *test, tr_status (*function)(struct tr_call *call),
                               const char *arguments);

/** Begin a call for a typed tool, and see afterwards how it ended:
 *
 *     const char *text = repeat(tr_test_begin(&test), "ab", 2);
 *     TR_TEST(&test, tr_test_end(&test) && strcmp(text, "abab") == 0);
 */
static inline struct tr_call *tr_test_begin(struct tr_test *test);
static inline bool tr_test_end(struct tr_test *test);

/** Open the plugin, and close it: for tests of that itself.
 * @return whether it is open; else `error` says why not */
static inline bool tr_test_open(struct tr_test *test);
static inline void tr_test_close(struct tr_test *test);

/** Answer the next question that no answer waits for: enum tr_answer and, where accepted, a JSON
 * object, which the caller keeps. A question without an answer finds nobody. */
static inline void tr_test_answer(struct tr_test *test, int32_t answer, const char *content);

/** Whether the last call failed with an error of this type and of this field; NULL: any field. */
static inline bool tr_test_failed(const struct tr_test *test, const char *type, const char *field);

/** Whether the last call succeeded with this JSON. Spaces and the order of members do not
 * count. */
static inline bool tr_test_replied(struct tr_test *test, const char *json);

/** Whether a line of the log has this text in it. */
static inline bool tr_test_logged(const struct tr_test *test, const char *text);

/** Whether the plugin declares a capability: enum tr_capability_kind and its value. */
static inline bool tr_test_declares(const struct tr_test *test, uint32_t kind, const char *value);

/** Check something, and print where it does not hold, with how the last call ended. */
#define TR_TEST(test_, ...) \
    tr_test_check(test_, (__VA_ARGS__) ? true : false, __FILE__, __LINE__, #__VA_ARGS__)

static inline bool tr_test_check(struct tr_test *test, bool holds, const char *file, int line,
                                 const char *what) {
    test->tests++;
    if (!holds) {
        test->failed_tests++;
        printf("%s:%d: FAILED: %s\n", file, line, what);
        if (test->error.type != NULL) {
            printf("    the last call ended with %s: %s%s%s\n", test->error.type, test->error.field,
                   test->error.field[0] != '\0' ? ": " : "", test->error.message);
        } else if (test->result.data != NULL) {
            printf("    the last call replied %s\n", test->result.data);
        }
    }
    return holds;
}

/* ================================================================= memory */

/* Memory of a call, freed when the next one begins. The test ends if there is none. */
struct tr_test_block {
    struct tr_test_block *next;
    max_align_t data;
};

static inline void *tr_test_memory_(void *memory) {
    if (memory == NULL) {
        (void)fputs("toolrack/test.h: out of memory\n", stderr);
        abort();
    }
    return memory;
}

static inline void *tr_test_alloc_(struct tr_test *test, size_t size) {
    struct tr_test_block *block = TR_CAST_(
            struct tr_test_block *, tr_test_memory_(malloc(sizeof(struct tr_test_block) + size)));
    block->next = test->memory;
    test->memory = block;
    return &block->data;
}

static inline char *tr_test_copy_(struct tr_test *test, const char *text, size_t length) {
    char *copy = TR_CAST_(char *, tr_test_alloc_(test, length + 1));
    if (length > 0) {
        memcpy(copy, text, length);
    }
    copy[length] = '\0';
    return copy;
}

static inline void tr_test_add_(struct tr_test_text *text, const char *bytes, size_t length) {
    if (text->room - text->length <= length) {
        text->room = (text->length + length + 1) * 2;
        text->data = TR_CAST_(char *, tr_test_memory_(realloc(text->data, text->room)));
    }
    if (length > 0) {
        memcpy(text->data + text->length, bytes, length);
    }
    text->length += length;
    text->data[text->length] = '\0';
}

static inline void tr_test_add_text_(struct tr_test_text *text, const char *bytes) {
    tr_test_add_(text, bytes, strlen(bytes));
}

static inline void tr_test_clear_(struct tr_test_text *text) {
    text->length = 0;
    if (text->data != NULL) {
        text->data[0] = '\0';
    }
}

static inline void tr_test_free_(struct tr_test_text *text) {
    free(text->data);
    memset(text, 0, sizeof *text);
}

/* ============================================================== the error */

TR_FORMAT_(5, 6)
static inline tr_status tr_test_fail_(struct tr_test *test, const char *type, tr_status code,
                                      const char *field, const char *format, ...) {
    if (test->error.type == NULL) {
        va_list args;
        va_start(args, format);
        test->error.type = type;
        (void)vsnprintf(test->error.message, sizeof test->error.message, format, args);
        (void)snprintf(test->error.field, sizeof test->error.field, "%s",
                       field != NULL ? field : "");
        va_end(args);
    }
    return code;
}

static inline tr_status tr_test_misuse_(struct tr_test *test, const char *what) {
    return tr_test_fail_(test, "ExecutionFailed", TR_FAILED, NULL,
                         "the tool's reply cannot be used: %s", what);
}

/* ============================================================ reading JSON */

/* Most levels of a text. */
#define TR_TEST_DEPTH_MAX 64u

/* One value; those of an array or object follow one another. */
struct tr_test_json {
    int32_t kind; /* enum tr_json_kind */
    const char *key;
    size_t key_length;
    const char *text; /* of a string, zero-terminated; of a number, its digits */
    size_t length;    /* of the text; items or members otherwise */
    bool truth;
    bool is_integer, is_negative; /* a number without fraction and exponent, within 64 bits */
    uint64_t integer;
    double real;
    struct tr_test_json *first, *next;
};

struct tr_test_reader {
    struct tr_test *test;
    const char *at, *end;
    bool failed;
};

/* The length of one character of UTF-8, or 0. */
static inline size_t tr_test_utf8_(const char *text, size_t length) {
    const unsigned char *at = TR_CAST_(const unsigned char *, TR_CAST_(const void *, text));
    size_t size = length == 0    ? 0
                  : at[0] < 0x80 ? 1
                  : at[0] < 0xc2 ? 0
                  : at[0] < 0xe0 ? 2
                  : at[0] < 0xf0 ? 3
                  : at[0] < 0xf5 ? 4
                                 : 0;
    if (size > length) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool is_long = size == 3 && at[0] == 0xe0 && at[1] < 0xa0;
    bool is_half = size == 3 && at[0] == 0xed && at[1] > 0x9f;
    bool is_beyond =
            size == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f));
    return is_long || is_half || is_beyond ? 0 : size;
}

static inline bool tr_test_is_utf8_(const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t size = tr_test_utf8_(text + at, length - at);
        if (size == 0) {
            return false;
        }
        at += size;
    }
    return true;
}

static inline void tr_test_skip_(struct tr_test_reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' ||
                                        *reader->at == '\n' || *reader->at == '\r')) {
        reader->at++;
    }
}

static inline bool tr_test_take_(struct tr_test_reader *reader, char wanted) {
    bool is_there = reader->at < reader->end && *reader->at == wanted;
    reader->at += is_there ? 1 : 0;
    return is_there;
}

static inline bool tr_test_hex_(struct tr_test_reader *reader, uint32_t *ret) {
    *ret = 0;
    for (int i = 0; i < 4; i++) {
        char c = reader->at < reader->end ? *reader->at++ : ' ';
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return false;
        }
        *ret = *ret * 16 + TR_CAST_(uint32_t, digit);
    }
    return true;
}

static inline size_t tr_test_encode_(uint32_t point, char *to) {
    if (point < 0x80) {
        to[0] = TR_CAST_(char, point);
        return 1;
    }
    size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--) {
        to[i] = TR_CAST_(char, 0x80 | (point & 0x3f));
        point >>= 6;
    }
    to[0] = TR_CAST_(char, first[size] | point);
    return size;
}

/* A string behind its first quote. */
static inline const char *tr_test_string_(struct tr_test_reader *reader, size_t *ret_length) {
    char *text = TR_CAST_(
            char *, tr_test_alloc_(reader->test, TR_CAST_(size_t, reader->end - reader->at) + 1));
    size_t length = 0;
    while (reader->at < reader->end && *reader->at != '"') {
        size_t size = tr_test_utf8_(reader->at, TR_CAST_(size_t, reader->end - reader->at));
        static const char escapes[] = "\"\\/bfnrt";
        static const char meant[] = "\"\\/\b\f\n\r\t";
        uint32_t point = 0;
        uint32_t low = 0;
        if (*reader->at != '\\') {
            if (size == 0 || TR_CAST_(unsigned char, *reader->at) < ' ') {
                break;
            }
            memcpy(text + length, reader->at, size);
            length += size;
            reader->at += size;
            continue;
        }
        char escape = reader->at + 1 < reader->end ? reader->at[1] : '\0';
        const char *known = escape != '\0' ? strchr(escapes, escape) : NULL;
        reader->at += 2;
        if (known != NULL) {
            text[length++] = meant[known - escapes];
            continue;
        }
        if (escape != 'u' || !tr_test_hex_(reader, &point)) {
            reader->at = reader->end;
            break;
        }
        if (point >= 0xd800 && point < 0xdc00 && tr_test_take_(reader, '\\') &&
            tr_test_take_(reader, 'u') && tr_test_hex_(reader, &low) && low >= 0xdc00 &&
            low < 0xe000) {
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        }
        if (point >= 0xd800 && point < 0xe000) {
            reader->at = reader->end;
            break;
        }
        length += tr_test_encode_(point, text + length);
    }
    reader->failed = reader->failed || !tr_test_take_(reader, '"');
    text[length] = '\0';
    *ret_length = length;
    return text;
}

static inline bool tr_test_digits_(struct tr_test_reader *reader) {
    const char *first = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
        reader->at++;
    }
    return reader->at > first;
}

static inline void tr_test_number_(struct tr_test_reader *reader, struct tr_test_json *value) {
    const char *first = reader->at;
    bool is_negative = tr_test_take_(reader, '-');
    const char *digits = reader->at;
    bool is_number = tr_test_take_(reader, '0') || tr_test_digits_(reader);
    bool is_integer = true;
    for (const char *at = digits; at < reader->at; at++) {
        uint64_t digit = TR_CAST_(uint64_t, *at - '0');
        is_integer = is_integer && value->integer <= (UINT64_MAX - digit) / 10;
        value->integer = is_integer ? value->integer * 10 + digit : 0;
    }
    if (tr_test_take_(reader, '.')) {
        is_integer = false;
        is_number = tr_test_digits_(reader) && is_number;
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        is_integer = false;
        reader->at++;
        if (!tr_test_take_(reader, '-')) {
            (void)tr_test_take_(reader, '+');
        }
        is_number = tr_test_digits_(reader) && is_number;
    }
    value->kind = TR_JSON_NUMBER;
    value->length = TR_CAST_(size_t, reader->at - first);
    value->text = tr_test_copy_(reader->test, first, value->length);
    value->is_negative = is_negative;
    value->is_integer =
            is_integer && (!is_negative || value->integer <= TR_CAST_(uint64_t, INT64_MAX) + 1);
    if (value->is_integer && is_negative && value->integer == 0) {
        value->text = "0";
        value->length = 1;
    }
    value->real = strtod(value->text, NULL);
    reader->failed = reader->failed || !is_number || !isfinite(value->real);
}

static inline bool tr_test_word_(struct tr_test_reader *reader, const char *word) {
    size_t length = strlen(word);
    bool is_there = TR_CAST_(size_t, reader->end - reader->at) >= length &&
                    memcmp(reader->at, word, length) == 0;
    reader->at += is_there ? length : 0;
    return is_there;
}

static inline struct tr_test_json *tr_test_value_(struct tr_test_reader *reader, unsigned depth);

/* The items or members behind the first bracket. */
static inline void tr_test_inside_(struct tr_test_reader *reader, struct tr_test_json *value,
                                   unsigned depth, char end) {
    struct tr_test_json **link = &value->first;
    tr_test_skip_(reader);
    if (tr_test_take_(reader, end)) {
        return;
    }
    do {
        const char *key = NULL;
        size_t key_length = 0;
        tr_test_skip_(reader);
        if (value->kind == TR_JSON_OBJECT) {
            if (!tr_test_take_(reader, '"')) {
                reader->failed = true;
                return;
            }
            key = tr_test_string_(reader, &key_length);
            tr_test_skip_(reader);
            reader->failed = reader->failed || !tr_test_take_(reader, ':');
        }
        struct tr_test_json *inside = reader->failed ? NULL : tr_test_value_(reader, depth + 1);
        if (inside == NULL || reader->failed) {
            reader->failed = true;
            return;
        }
        inside->key = key;
        inside->key_length = key_length;
        *link = inside;
        link = &inside->next;
        value->length++;
        tr_test_skip_(reader);
    } while (tr_test_take_(reader, ','));
    reader->failed = reader->failed || !tr_test_take_(reader, end);
}

static inline struct tr_test_json *tr_test_value_(struct tr_test_reader *reader, unsigned depth) {
    struct tr_test_json *value =
            TR_CAST_(struct tr_test_json *, tr_test_alloc_(reader->test, sizeof *value));
    memset(value, 0, sizeof *value);
    tr_test_skip_(reader);
    if (depth > TR_TEST_DEPTH_MAX) {
        reader->failed = true;
    } else if (tr_test_take_(reader, '{')) {
        value->kind = TR_JSON_OBJECT;
        tr_test_inside_(reader, value, depth, '}');
    } else if (tr_test_take_(reader, '[')) {
        value->kind = TR_JSON_ARRAY;
        tr_test_inside_(reader, value, depth, ']');
    } else if (tr_test_take_(reader, '"')) {
        value->kind = TR_JSON_STRING;
        value->text = tr_test_string_(reader, &value->length);
    } else if (tr_test_word_(reader, "null")) {
        value->kind = TR_JSON_NULL;
    } else if (tr_test_word_(reader, "true")) {
        value->kind = TR_JSON_BOOL;
        value->truth = true;
    } else if (tr_test_word_(reader, "false")) {
        value->kind = TR_JSON_BOOL;
    } else {
        tr_test_number_(reader, value);
    }
    return value;
}

/* NULL: it is not one JSON value. */
static inline struct tr_test_json *tr_test_read_(struct tr_test *test, const char *text,
                                                 size_t length) {
    struct tr_test_reader reader = {test, text, text + length, false};
    struct tr_test_json *value = tr_test_value_(&reader, 1);
    tr_test_skip_(&reader);
    return reader.failed || reader.at != reader.end ? NULL : value;
}

static inline struct tr_test_json *tr_test_member_(const struct tr_test_json *object,
                                                   const char *key, size_t length) {
    if (object == NULL || object->kind != TR_JSON_OBJECT) {
        return NULL;
    }
    for (struct tr_test_json *at = object->first; at != NULL; at = at->next) {
        if (at->key_length == length && memcmp(at->key, key, length) == 0) {
            return at;
        }
    }
    return NULL;
}

static inline struct tr_test_json *tr_test_named_(const struct tr_test_json *object,
                                                  const char *key) {
    return tr_test_member_(object, key, strlen(key));
}

/* The value at a key or JSON Pointer. */
static inline struct tr_test_json *tr_test_at_(struct tr_test_json *value, const char *path) {
    if (path == NULL) {
        return NULL;
    }
    bool is_name = strchr(path, '/') == NULL && strchr(path, '~') == NULL;
    if (path[0] == '\0') {
        return value;
    }
    if (is_name) {
        return tr_test_named_(value, path);
    }
    path += path[0] == '/' ? 1 : 0;
    while (value != NULL) {
        char key[TR_TEST_POINTER_MAX];
        size_t length = 0;
        for (; *path != '\0' && *path != '/' && length < sizeof key - 1; path++) {
            bool is_escape = path[0] == '~' && (path[1] == '0' || path[1] == '1');
            key[length++] = is_escape ? (path[1] == '0' ? '~' : '/') : path[0];
            path += is_escape ? 1 : 0;
        }
        key[length] = '\0';
        if (value->kind == TR_JSON_ARRAY) {
            bool is_index = length > 0 && length < 10 && strspn(key, "0123456789") == length &&
                            (length == 1 || key[0] != '0');
            size_t index = is_index ? TR_CAST_(size_t, atol(key)) : value->length;
            value = value->first;
            for (; value != NULL && index > 0; index--) {
                value = value->next;
            }
        } else {
            value = tr_test_member_(value, key, length);
        }
        if (*path++ == '\0') {
            return value;
        }
    }
    return NULL;
}

/* ============================================================ writing JSON */

/* A backspace and a form feed have a short form and a long one; a host writes the short one where
 * it writes a value that was read. */
static inline void tr_test_add_escaped_(struct tr_test_text *out, const char *text, size_t length,
                                        bool is_short) {
    tr_test_add_(out, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        static const char escaped[] = "\"\\\n\r\t\b\f";
        static const char written[] = "\"\\nrtbf";
        const char *found = text[i] != '\0' ? strchr(escaped, text[i]) : NULL;
        char room[8];
        if (found != NULL && (is_short || found - escaped < 5)) {
            (void)snprintf(room, sizeof room, "\\%c", written[found - escaped]);
            tr_test_add_text_(out, room);
        } else if (TR_CAST_(unsigned char, text[i]) < ' ') {
            (void)snprintf(room, sizeof room, "\\u%04x", TR_CAST_(unsigned, text[i]));
            tr_test_add_text_(out, room);
        } else {
            tr_test_add_(out, text + i, 1);
        }
    }
    tr_test_add_(out, "\"", 1);
}

static inline void tr_test_add_string_(struct tr_test_text *out, const char *text, size_t length) {
    tr_test_add_escaped_(out, text, length, false);
}

/* The fewest digits that read back the same, as 0.1, 100.0 or 1e30. */
static inline void tr_test_add_real_(struct tr_test_text *out, double value) {
    char room[32];
    char digits[32];
    int count = 0;
    for (int precision = 0; precision <= 17; precision++) {
        (void)snprintf(room, sizeof room, "%.*e", precision, value);
        if (!(strtod(room, NULL) < value) && !(strtod(room, NULL) > value)) {
            break;
        }
    }
    const char *at = room[0] == '-' ? room + 1 : room;
    const char *exponent = strchr(at, 'e');
    for (; at < exponent; at++) {
        if (*at >= '0' && *at <= '9') {
            digits[count++] = *at;
        }
    }
    int point = atoi(exponent + 1) + 1; /* digits before the point */
    tr_test_add_text_(out, signbit(value) ? "-" : "");
    if (point > 21 || point <= -6) {
        tr_test_add_(out, digits, 1);
        if (count > 1) {
            tr_test_add_(out, ".", 1);
            tr_test_add_(out, digits + 1, TR_CAST_(size_t, count - 1));
        }
        (void)snprintf(room, sizeof room, "e%d", point - 1);
        tr_test_add_text_(out, room);
        return;
    }
    for (int i = point < 1 ? point - 1 : 0; i < count || i < point; i++) {
        if (i == point && point > 0) {
            tr_test_add_(out, ".", 1);
        }
        tr_test_add_(out, i >= 0 && i < count ? digits + i : "0", 1);
        if (i == point - 1 && point < 1) {
            tr_test_add_(out, ".", 1);
        }
    }
    if (count <= point) {
        tr_test_add_text_(out, ".0");
    }
}

static inline void tr_test_write_(struct tr_test_text *out, const struct tr_test_json *value) {
    switch (value->kind) {
    case TR_JSON_BOOL: tr_test_add_text_(out, value->truth ? "true" : "false"); return;
    case TR_JSON_STRING: tr_test_add_escaped_(out, value->text, value->length, true); return;
    case TR_JSON_NUMBER:
        if (value->is_integer) {
            tr_test_add_(out, value->text, value->length);
        } else {
            tr_test_add_real_(out, value->real);
        }
        return;
    case TR_JSON_ARRAY:
    case TR_JSON_OBJECT:
        tr_test_add_(out, value->kind == TR_JSON_ARRAY ? "[" : "{", 1);
        for (const struct tr_test_json *at = value->first; at != NULL; at = at->next) {
            if (at != value->first) {
                tr_test_add_(out, ",", 1);
            }
            if (value->kind == TR_JSON_OBJECT) {
                tr_test_add_escaped_(out, at->key, at->key_length, true);
                tr_test_add_(out, ":", 1);
            }
            tr_test_write_(out, at);
        }
        tr_test_add_(out, value->kind == TR_JSON_ARRAY ? "]" : "}", 1);
        return;
    default: tr_test_add_text_(out, "null"); return;
    }
}

/* A value as text that lives as long as the call. */
static inline const char *tr_test_written_(struct tr_test *test, const struct tr_test_json *value,
                                           uint64_t *ret_length) {
    struct tr_test_text out = {NULL, 0, 0};
    tr_test_write_(&out, value);
    const char *text = tr_test_copy_(test, out.data, out.length);
    if (ret_length != NULL) {
        *ret_length = out.length;
    }
    tr_test_free_(&out);
    return text;
}

/* Objects whose members come in another order are equal too. */
static inline bool tr_test_equals_(const struct tr_test_json *a, const struct tr_test_json *b) {
    if (a->kind != b->kind || (a->kind > TR_JSON_NUMBER && a->length != b->length)) {
        return false;
    }
    switch (a->kind) {
    case TR_JSON_BOOL: return a->truth == b->truth;
    case TR_JSON_NUMBER:
        return a->is_integer && b->is_integer
                       ? a->integer == b->integer && a->is_negative == b->is_negative
                       : !(a->real < b->real) && !(a->real > b->real);
    case TR_JSON_STRING: return memcmp(a->text, b->text, a->length) == 0;
    default: break;
    }
    const struct tr_test_json *other = b->first;
    for (const struct tr_test_json *at = a->first; at != NULL; at = at->next) {
        other = a->kind == TR_JSON_OBJECT ? tr_test_member_(b, at->key, at->key_length) : other;
        if (other == NULL || !tr_test_equals_(at, other)) {
            return false;
        }
        other = a->kind == TR_JSON_OBJECT ? other : other->next;
    }
    return true;
}

/* ====================================================== checking arguments */

/* "/a/0" of where the check is. */
struct tr_test_place {
    char text[TR_TEST_POINTER_MAX];
    size_t length;
};

static inline void tr_test_enter_(struct tr_test_place *place, const char *key, size_t length) {
    if (place->length + 2 * length + 2 > sizeof place->text) {
        return; /* as in a host: the pointer names the parent */
    }
    place->text[place->length++] = '/';
    for (size_t i = 0; i < length; i++) {
        bool is_escaped = key[i] == '~' || key[i] == '/';
        if (is_escaped) {
            place->text[place->length++] = '~';
        }
        place->text[place->length++] = !is_escaped ? key[i] : key[i] == '~' ? '0' : '1';
    }
    place->text[place->length] = '\0';
}

static inline void tr_test_leave_(struct tr_test_place *place, size_t length) {
    place->length = length;
    place->text[length] = '\0';
}

static inline bool tr_test_refuse_(struct tr_test *test, const struct tr_test_place *place,
                                   const char *message) {
    (void)tr_test_fail_(test, "InvalidArguments", TR_INVALID_ARGUMENTS, place->text, "%s", message);
    return false;
}

/* Without the mathematical library, which a test need not link. From 2^53 on all are. */
static inline bool tr_test_is_whole_(double value) {
    if (!(value > -9007199254740992.0) || !(value < 9007199254740992.0)) {
        return true;
    }
    double whole = TR_CAST_(double, TR_CAST_(int64_t, value));
    return !(value < whole) && !(value > whole);
}

static inline const char *tr_test_kind_(const struct tr_test_json *value) {
    static const char *const names[] = {"nothing",  "null",     "a boolean", "a number",
                                        "a string", "an array", "an object"};
    return names[value->kind];
}

static inline bool tr_test_is_type_(const struct tr_test_json *value,
                                    const struct tr_test_json *name) {
    static const char *const names[] = {"",       "null",  "boolean", "number",
                                        "string", "array", "object"};
    if (name->kind != TR_JSON_STRING) {
        return false;
    }
    if (strcmp(name->text, "integer") == 0) {
        return value->kind == TR_JSON_NUMBER &&
               (value->is_integer || tr_test_is_whole_(value->real));
    }
    return strcmp(names[value->kind], name->text) == 0;
}

static inline bool tr_test_check_type_(struct tr_test *test, const struct tr_test_json *type,
                                       const struct tr_test_json *value,
                                       const struct tr_test_place *place) {
    char message[TR_TEST_MESSAGE_MAX];
    bool is_one = type == NULL || (type->kind == TR_JSON_STRING && tr_test_is_type_(value, type));
    if (type != NULL && type->kind == TR_JSON_ARRAY) {
        for (const struct tr_test_json *at = type->first; at != NULL; at = at->next) {
            is_one = is_one || tr_test_is_type_(value, at);
        }
    }
    if (is_one) {
        return true;
    }
    const char *word = type->kind == TR_JSON_STRING ? type->text : "of another type";
    const char *article = type->kind != TR_JSON_STRING || strcmp(word, "null") == 0 ? ""
                          : strchr("aio", word[0]) != NULL                          ? "an "
                                                                                    : "a ";
    (void)snprintf(message, sizeof message, "must be %s%s, not %s", article, word,
                   tr_test_kind_(value));
    return tr_test_refuse_(test, place, message);
}

static inline bool tr_test_bound_(struct tr_test *test, const struct tr_test_json *schema,
                                  const char *keyword, double value, bool is_least, bool is_open,
                                  const char *what, const struct tr_test_place *place) {
    const struct tr_test_json *bound = tr_test_named_(schema, keyword);
    char message[TR_TEST_MESSAGE_MAX];
    if (bound == NULL || bound->kind != TR_JSON_NUMBER) {
        return true;
    }
    bool is_within = is_least ? (is_open ? value > bound->real : value >= bound->real)
                              : (is_open ? value < bound->real : value <= bound->real);
    if (is_within) {
        return true;
    }
    (void)snprintf(message, sizeof message, "must %s %s, not %g", what, bound->text, value);
    return tr_test_refuse_(test, place, message);
}

static inline bool tr_test_check_plain_(struct tr_test *test, const struct tr_test_json *schema,
                                        const struct tr_test_json *value,
                                        const struct tr_test_place *place) {
    const struct tr_test_json *choices = tr_test_named_(schema, "enum");
    const struct tr_test_json *constant = tr_test_named_(schema, "const");
    bool is_choice = choices == NULL;
    for (const struct tr_test_json *at = is_choice ? NULL : choices->first; at != NULL;
         at = at->next) {
        is_choice = is_choice || tr_test_equals_(at, value);
    }
    if (!is_choice || (constant != NULL && !tr_test_equals_(constant, value))) {
        return tr_test_refuse_(test, place, "must be one of the values allowed");
    }
    double length = TR_CAST_(double, value->length);
    switch (value->kind) {
    case TR_JSON_NUMBER:
        return tr_test_bound_(test, schema, "minimum", value->real, true, false, "be at least",
                              place) &&
               tr_test_bound_(test, schema, "exclusiveMinimum", value->real, true, true,
                              "be greater than", place) &&
               tr_test_bound_(test, schema, "maximum", value->real, false, false, "be at most",
                              place) &&
               tr_test_bound_(test, schema, "exclusiveMaximum", value->real, false, true,
                              "be less than", place);
    case TR_JSON_STRING:
        for (size_t i = 0; i < value->length; i++) { /* characters, not bytes */
            length -= (value->text[i] & 0xc0) == 0x80 ? 1 : 0;
        }
        return tr_test_bound_(test, schema, "minLength", length, true, false,
                              "have a length of at least", place) &&
               tr_test_bound_(test, schema, "maxLength", length, false, false,
                              "have a length of at most", place);
    case TR_JSON_ARRAY:
        return tr_test_bound_(test, schema, "minItems", length, true, false,
                              "have a number of items of at least", place) &&
               tr_test_bound_(test, schema, "maxItems", length, false, false,
                              "have a number of items of at most", place);
    default: return true;
    }
}

/* Check a value, and fill the defaults of the schema into objects. */
static inline bool tr_test_check_value_(struct tr_test *test, const struct tr_test_json *schema,
                                        struct tr_test_json *value, struct tr_test_place *place) {
    const struct tr_test_json *properties = tr_test_named_(schema, "properties");
    const struct tr_test_json *required = tr_test_named_(schema, "required");
    const struct tr_test_json *more = tr_test_named_(schema, "additionalProperties");
    const struct tr_test_json *items = tr_test_named_(schema, "items");
    size_t length = place->length;
    char message[TR_TEST_MESSAGE_MAX];
    struct tr_test_json **link = &value->first;
    if (!tr_test_check_type_(test, tr_test_named_(schema, "type"), value, place) ||
        !tr_test_check_plain_(test, schema, value, place)) {
        return false;
    }
    if (value->kind == TR_JSON_ARRAY && items != NULL) {
        size_t index = 0;
        for (struct tr_test_json *at = value->first; at != NULL; at = at->next) {
            char key[24];
            int size = snprintf(key, sizeof key, "%zu", index++);
            tr_test_enter_(place, key, TR_CAST_(size_t, size));
            if (!tr_test_check_value_(test, items, at, place)) {
                return false;
            }
            tr_test_leave_(place, length);
        }
    }
    if (value->kind != TR_JSON_OBJECT) {
        return true;
    }
    for (struct tr_test_json *at = value->first; at != NULL; at = at->next) {
        const struct tr_test_json *property = tr_test_member_(properties, at->key, at->key_length);
        bool is_refused =
                property == NULL && more != NULL && more->kind == TR_JSON_BOOL && !more->truth;
        property =
                property == NULL && more != NULL && more->kind == TR_JSON_OBJECT ? more : property;
        tr_test_enter_(place, at->key, at->key_length);
        if (is_refused) {
            (void)snprintf(message, sizeof message, "unknown property \"%.200s\"", at->key);
            return tr_test_refuse_(test, place, message);
        }
        if (property != NULL && !tr_test_check_value_(test, property, at, place)) {
            return false;
        }
        tr_test_leave_(place, length);
        link = &at->next;
    }
    for (const struct tr_test_json *at = required != NULL ? required->first : NULL; at != NULL;
         at = at->next) {
        if (at->kind == TR_JSON_STRING && tr_test_member_(value, at->text, at->length) == NULL) {
            tr_test_enter_(place, at->text, at->length);
            (void)snprintf(message, sizeof message, "required property \"%.200s\" is missing",
                           at->text);
            return tr_test_refuse_(test, place, message);
        }
    }
    for (const struct tr_test_json *at = properties != NULL ? properties->first : NULL; at != NULL;
         at = at->next) {
        const struct tr_test_json *standard = tr_test_named_(at, "default");
        if (standard != NULL && tr_test_member_(value, at->key, at->key_length) == NULL) {
            struct tr_test_json *filled =
                    TR_CAST_(struct tr_test_json *, tr_test_alloc_(test, sizeof *filled));
            *filled = *standard;
            filled->key = at->key;
            filled->key_length = at->key_length;
            filled->next = NULL;
            test->has_defaults = true;
            *link = filled;
            link = &filled->next;
            value->length++;
        }
    }
    return true;
}

/* Whether no object has a member twice; `place` is that of the member otherwise. */
static inline bool tr_test_is_once_(const struct tr_test_json *value, struct tr_test_place *place) {
    size_t length = place->length;
    size_t index = 0;
    for (const struct tr_test_json *at = value->kind >= TR_JSON_ARRAY ? value->first : NULL;
         at != NULL; at = at->next) {
        char key[24];
        int size = snprintf(key, sizeof key, "%zu", index++);
        if (value->kind == TR_JSON_OBJECT) {
            tr_test_enter_(place, at->key, at->key_length);
        } else {
            tr_test_enter_(place, key, TR_CAST_(size_t, size));
        }
        if ((value->kind == TR_JSON_OBJECT &&
             tr_test_member_(value, at->key, at->key_length) != at) ||
            !tr_test_is_once_(at, place)) {
            return false;
        }
        tr_test_leave_(place, length);
    }
    return true;
}

/* ==================================================== what the tool calls */

static inline struct tr_test *tr_test_of_(struct tr_call *call) {
    return TR_CAST_(struct tr_test *, TR_CAST_(void *, call));
}

static inline struct tr_test_json *tr_test_present_(struct tr_call *call, const char *path) {
    struct tr_test_json *value = tr_test_at_(tr_test_of_(call)->root, path);
    return value != NULL && value->kind == TR_JSON_NULL ? NULL : value;
}

static inline const char *tr_test_arguments_(struct tr_call *call, uint64_t *ret_length) {
    struct tr_test *test = tr_test_of_(call);
    if (ret_length != NULL) {
        *ret_length = test->arguments.length;
    }
    return test->arguments.data;
}

static inline int32_t tr_test_kind_of_(struct tr_call *call, const char *path) {
    const struct tr_test_json *value = tr_test_at_(tr_test_of_(call)->root, path);
    return value != NULL ? value->kind : TR_CAST_(int32_t, TR_JSON_ABSENT);
}

static inline uint64_t tr_test_count_(struct tr_call *call, const char *path) {
    const struct tr_test_json *value = tr_test_at_(tr_test_of_(call)->root, path);
    return value != NULL && value->kind >= TR_JSON_ARRAY ? value->length : 0;
}

static inline tr_status tr_test_take_bool_(const struct tr_test_json *value, bool *ret) {
    if (value == NULL || value->kind != TR_JSON_BOOL) {
        return value == NULL ? TR_ABSENT : TR_INVALID_ARGUMENTS;
    }
    *ret = value->truth;
    return TR_OK;
}

static inline tr_status tr_test_take_i64_(const struct tr_test_json *value, int64_t *ret) {
    if (value == NULL || value->kind != TR_JSON_NUMBER) {
        return value == NULL ? TR_ABSENT : TR_INVALID_ARGUMENTS;
    }
    if (value->is_integer) {
        uint64_t max = TR_CAST_(uint64_t, INT64_MAX) + (value->is_negative ? 1 : 0);
        if (value->integer > max) {
            return TR_INVALID_ARGUMENTS;
        }
        *ret = !value->is_negative   ? TR_CAST_(int64_t, value->integer)
               : value->integer == 0 ? 0
                                     : -TR_CAST_(int64_t, value->integer - 1) - 1;
        return TR_OK;
    }
    if (!tr_test_is_whole_(value->real) || value->real < -9223372036854775808.0 ||
        value->real >= 9223372036854775808.0) {
        return TR_INVALID_ARGUMENTS;
    }
    *ret = TR_CAST_(int64_t, value->real);
    return TR_OK;
}

static inline tr_status tr_test_take_u64_(const struct tr_test_json *value, uint64_t *ret) {
    if (value == NULL || value->kind != TR_JSON_NUMBER) {
        return value == NULL ? TR_ABSENT : TR_INVALID_ARGUMENTS;
    }
    if (value->is_integer) {
        if (value->is_negative) {
            return TR_INVALID_ARGUMENTS;
        }
        *ret = value->integer;
        return TR_OK;
    }
    if (!tr_test_is_whole_(value->real) || value->real < 0 ||
        value->real >= 18446744073709551616.0) {
        return TR_INVALID_ARGUMENTS;
    }
    *ret = TR_CAST_(uint64_t, value->real);
    return TR_OK;
}

static inline tr_status tr_test_take_f64_(const struct tr_test_json *value, double *ret) {
    if (value == NULL || value->kind != TR_JSON_NUMBER) {
        return value == NULL ? TR_ABSENT : TR_INVALID_ARGUMENTS;
    }
    *ret = value->real;
    return TR_OK;
}

static inline tr_status tr_test_take_string_(const struct tr_test_json *value, const char **ret,
                                             uint64_t *ret_length) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    if (value->kind != TR_JSON_STRING ||
        (ret_length == NULL && strlen(value->text) != value->length)) {
        return TR_INVALID_ARGUMENTS;
    }
    *ret = value->text;
    if (ret_length != NULL) {
        *ret_length = value->length;
    }
    return TR_OK;
}

static inline tr_status tr_test_take_bytes_(struct tr_test *test, const struct tr_test_json *value,
                                            struct tr_bytes *ret) {
    static const char letters[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (value == NULL) {
        return TR_ABSENT;
    }
    size_t length = value->kind == TR_JSON_STRING ? value->length : 1;
    size_t padding = length >= 4 && value->text[length - 1] == '='
                             ? (value->text[length - 2] == '=' ? 2 : 1)
                             : 0;
    unsigned char *data = TR_CAST_(unsigned char *, tr_test_alloc_(test, length + 1));
    size_t size = 0;
    uint32_t bits = 0;
    unsigned count = 0;
    if (length % 4 != 0) {
        return TR_INVALID_ARGUMENTS;
    }
    for (size_t i = 0; i < length - padding; i++) {
        const char *letter = value->text[i] != '\0' ? strchr(letters, value->text[i]) : NULL;
        if (letter == NULL) {
            return TR_INVALID_ARGUMENTS;
        }
        bits = (bits << 6) | TR_CAST_(uint32_t, letter - letters);
        count += 6;
        if (count >= 8) {
            count -= 8;
            data[size++] = TR_CAST_(unsigned char, (bits >> count) & 0xff);
        }
    }
    if ((bits & ((1u << count) - 1)) != 0) { /* bits that are left over */
        return TR_INVALID_ARGUMENTS;
    }
    ret->data = data;
    ret->size = size;
    return TR_OK;
}

static inline tr_status tr_test_take_json_(struct tr_test *test, const struct tr_test_json *value,
                                           const char **ret, uint64_t *ret_length) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    *ret = tr_test_written_(test, value, ret_length);
    return TR_OK;
}

static inline tr_status tr_test_get_bool_(struct tr_call *call, const char *path, bool *ret) {
    return tr_test_take_bool_(tr_test_present_(call, path), ret);
}

static inline tr_status tr_test_get_i64_(struct tr_call *call, const char *path, int64_t *ret) {
    return tr_test_take_i64_(tr_test_present_(call, path), ret);
}

static inline tr_status tr_test_get_u64_(struct tr_call *call, const char *path, uint64_t *ret) {
    return tr_test_take_u64_(tr_test_present_(call, path), ret);
}

static inline tr_status tr_test_get_f64_(struct tr_call *call, const char *path, double *ret) {
    return tr_test_take_f64_(tr_test_present_(call, path), ret);
}

static inline tr_status tr_test_get_string_(struct tr_call *call, const char *path,
                                            const char **ret, uint64_t *ret_length) {
    return tr_test_take_string_(tr_test_present_(call, path), ret, ret_length);
}

static inline tr_status tr_test_get_bytes_(struct tr_call *call, const char *path,
                                           struct tr_bytes *ret) {
    return tr_test_take_bytes_(tr_test_of_(call), tr_test_present_(call, path), ret);
}

static inline tr_status tr_test_get_json_(struct tr_call *call, const char *path, const char **ret,
                                          uint64_t *ret_length) {
    struct tr_test *test = tr_test_of_(call);
    return tr_test_take_json_(test, tr_test_at_(test->root, path), ret, ret_length);
}

static inline tr_status tr_test_get_one_(struct tr_test *test, const struct tr_argument *argument) {
    const struct tr_test_json *value = tr_test_named_(test->root, argument->name);
    if (argument->kind == TR_KIND_JSON) {
        return tr_test_take_json_(test, value, TR_CAST_(const char **, argument->value), NULL);
    }
    value = value != NULL && value->kind == TR_JSON_NULL ? NULL : value;
    switch (argument->kind) {
    case TR_KIND_BOOL: return tr_test_take_bool_(value, TR_CAST_(bool *, argument->value));
    case TR_KIND_I64: return tr_test_take_i64_(value, TR_CAST_(int64_t *, argument->value));
    case TR_KIND_U64: return tr_test_take_u64_(value, TR_CAST_(uint64_t *, argument->value));
    case TR_KIND_F64: return tr_test_take_f64_(value, TR_CAST_(double *, argument->value));
    case TR_KIND_STRING:
        return tr_test_take_string_(value, TR_CAST_(const char **, argument->value), NULL);
    case TR_KIND_BYTES:
        return tr_test_take_bytes_(test, value, TR_CAST_(struct tr_bytes *, argument->value));
    default: return TR_INVALID_ARGUMENTS;
    }
}

static inline tr_status tr_test_get_all_(struct tr_call *call, struct tr_argument *arguments,
                                         uint32_t count, uint32_t size) {
    if (size < sizeof *arguments || (arguments == NULL && count > 0)) {
        return TR_INVALID_ARGUMENTS;
    }
    for (uint32_t i = 0; i < count; i++) {
        char *at = TR_CAST_(char *, TR_CAST_(void *, arguments)) + TR_CAST_(size_t, i) * size;
        struct tr_argument *argument = TR_CAST_(struct tr_argument *, TR_CAST_(void *, at));
        argument->status = argument->name != NULL && argument->value != NULL
                                   ? tr_test_get_one_(tr_test_of_(call), argument)
                                   : TR_CAST_(tr_status, TR_INVALID_ARGUMENTS);
    }
    return TR_OK;
}

/* ---- replies: `blocks` is the content, as JSON with commas between; `text` the text of the last
 */

static inline struct tr_test_text *tr_test_block_(struct tr_test *test) {
    if (test->block_count - (test->has_json ? 1u : 0u) > 0) {
        tr_test_add_(&test->blocks, ",", 1);
    }
    test->block_count++;
    return &test->blocks;
}

static inline tr_status tr_test_reply_text_(struct tr_call *call, const char *text,
                                            uint64_t length) {
    struct tr_test *test = tr_test_of_(call);
    if (text == NULL) {
        return tr_test_misuse_(test, "the text is NULL");
    }
    size_t size = length == UINT64_MAX ? strlen(text) : TR_CAST_(size_t, length);
    if (!tr_test_is_utf8_(text, size)) {
        return tr_test_misuse_(test, "the text is not UTF-8");
    }
    struct tr_test_text *out = tr_test_block_(test);
    tr_test_add_text_(out, "{\"type\":\"text\",\"text\":");
    tr_test_add_string_(out, text, size);
    tr_test_add_(out, "}", 1);
    tr_test_clear_(&test->text);
    tr_test_add_string_(&test->text, text, size);
    test->text_count++;
    return TR_OK;
}

static inline tr_status tr_test_reply_json_(struct tr_call *call, const char *json,
                                            uint64_t length) {
    struct tr_test *test = tr_test_of_(call);
    struct tr_test_place place = {"", 0};
    if (json == NULL) {
        return tr_test_misuse_(test, "the JSON is NULL");
    }
    size_t size = length == UINT64_MAX ? strlen(json) : TR_CAST_(size_t, length);
    if (test->has_json || test->begun) {
        return tr_test_misuse_(test, "it has two JSON replies; a call may have one");
    }
    struct tr_test_json *value = tr_test_read_(test, json, size);
    if (value == NULL) {
        return tr_test_misuse_(test, "it is not JSON");
    }
    if (!tr_test_is_once_(value, &place)) {
        return tr_test_fail_(test, "ExecutionFailed", TR_FAILED, NULL,
                             "the tool's reply cannot be used: %s is given twice", place.text);
    }
    tr_test_clear_(&test->structured);
    if (memchr(json, '\n', size) != NULL || memchr(json, '\r', size) != NULL) {
        tr_test_write_(&test->structured, value);
    } else {
        tr_test_add_(&test->structured, json, size);
    }
    test->has_json = true;
    test->block_count++;
    return TR_OK;
}

static inline void tr_test_add_base64_(struct tr_test_text *out, const void *data, size_t size) {
    static const char letters[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = TR_CAST_(const unsigned char *, data);
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = TR_CAST_(uint32_t, bytes[i]) << 16;
        bits |= i + 1 < size ? TR_CAST_(uint32_t, bytes[i + 1]) << 8 : 0;
        bits |= i + 2 < size ? bytes[i + 2] : 0;
        char group[4] = {letters[bits >> 18], letters[(bits >> 12) & 63],
                         i + 1 < size ? letters[(bits >> 6) & 63] : '=',
                         i + 2 < size ? letters[bits & 63] : '='};
        tr_test_add_(out, group, sizeof group);
    }
}

static inline void tr_test_add_member_(struct tr_test_text *out, const char *key,
                                       const char *text) {
    if (text != NULL) {
        tr_test_add_text_(out, ",\"");
        tr_test_add_text_(out, key);
        tr_test_add_text_(out, "\":");
        tr_test_add_string_(out, text, strlen(text));
    }
}

static inline tr_status tr_test_reply_media_(struct tr_test *test, const char *type,
                                             const void *data, uint64_t size,
                                             const char *mime_type) {
    if (mime_type == NULL || (data == NULL && size > 0)) {
        return tr_test_misuse_(test, "an image or sound needs data and a MIME type");
    }
    struct tr_test_text *out = tr_test_block_(test);
    tr_test_add_text_(out, "{\"type\":\"");
    tr_test_add_text_(out, type);
    tr_test_add_text_(out, "\",\"data\":\"");
    tr_test_add_base64_(out, data, TR_CAST_(size_t, size));
    tr_test_add_(out, "\"", 1);
    tr_test_add_member_(out, "mimeType", mime_type);
    tr_test_add_(out, "}", 1);
    return TR_OK;
}

static inline tr_status tr_test_reply_image_(struct tr_call *call, const void *data, uint64_t size,
                                             const char *mime_type) {
    return tr_test_reply_media_(tr_test_of_(call), "image", data, size, mime_type);
}

static inline tr_status tr_test_reply_audio_(struct tr_call *call, const void *data, uint64_t size,
                                             const char *mime_type) {
    return tr_test_reply_media_(tr_test_of_(call), "audio", data, size, mime_type);
}

static inline tr_status tr_test_reply_resource_(struct tr_call *call, const char *uri,
                                                const char *mime_type, const char *text,
                                                const void *data, uint64_t size) {
    struct tr_test *test = tr_test_of_(call);
    if (uri == NULL || (text == NULL && data == NULL && size > 0)) {
        return tr_test_misuse_(test, "a resource needs a URI and data");
    }
    if (!tr_test_is_utf8_(uri, strlen(uri)) ||
        (text != NULL && !tr_test_is_utf8_(text, strlen(text)))) {
        return tr_test_misuse_(test, "a text of the resource is not UTF-8");
    }
    struct tr_test_text *out = tr_test_block_(test);
    tr_test_add_text_(out, "{\"type\":\"resource\",\"resource\":{\"uri\":");
    tr_test_add_string_(out, uri, strlen(uri));
    tr_test_add_member_(out, "mimeType", mime_type);
    tr_test_add_member_(out, "text", text);
    if (text == NULL) {
        tr_test_add_text_(out, ",\"blob\":\"");
        tr_test_add_base64_(out, data, TR_CAST_(size_t, size));
        tr_test_add_(out, "\"", 1);
    }
    tr_test_add_text_(out, "}}");
    return TR_OK;
}

/* Of the block its type is checked; a host checks all of it. */
static inline tr_status tr_test_reply_content_(struct tr_call *call, const char *json,
                                               uint64_t length) {
    static const char *const types[] = {"text", "image", "audio", "resource", "resource_link"};
    struct tr_test *test = tr_test_of_(call);
    if (json == NULL) {
        return tr_test_misuse_(test, "the content is NULL");
    }
    size_t size = length == UINT64_MAX ? strlen(json) : TR_CAST_(size_t, length);
    struct tr_test_json *block = tr_test_read_(test, json, size);
    const struct tr_test_json *type = tr_test_named_(block, "type");
    bool is_known = false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        is_known = is_known || (type != NULL && type->kind == TR_JSON_STRING &&
                                strcmp(type->text, types[i]) == 0);
    }
    if (!is_known) {
        return tr_test_misuse_(test, "it is no content block of MCP");
    }
    tr_test_write_(tr_test_block_(test), block);
    return TR_OK;
}

static inline tr_status tr_test_reply_link_(struct tr_call *call, const struct tr_link *link) {
    struct tr_test *test = tr_test_of_(call);
    struct tr_link known;
    memset(&known, 0, sizeof known);
    if (link == NULL || link->size < offsetof(struct tr_link, title)) {
        return tr_test_misuse_(test, "a link does not state its size");
    }
    memcpy(&known, link, link->size < sizeof known ? TR_CAST_(size_t, link->size) : sizeof known);
    if (known.uri == NULL || known.name == NULL || strchr(known.uri, ':') == NULL) {
        return tr_test_misuse_(test, "a link needs a URI and a name");
    }
    struct tr_test_text *out = tr_test_block_(test);
    tr_test_add_text_(out, "{\"type\":\"resource_link\"");
    tr_test_add_member_(out, "uri", known.uri);
    tr_test_add_member_(out, "name", known.name);
    tr_test_add_member_(out, "title", known.title);
    tr_test_add_member_(out, "description", known.description);
    tr_test_add_member_(out, "mimeType", known.mime_type);
    if (known.bytes > 0) {
        char size[32];
        (void)snprintf(size, sizeof size, ",\"size\":%llu",
                       TR_CAST_(unsigned long long, known.bytes));
        tr_test_add_text_(out, size);
    }
    tr_test_add_(out, "}", 1);
    return TR_OK;
}

/* ---- a JSON reply, piece by piece */

static inline bool tr_test_in_object_(const struct tr_test *test) {
    return test->depth > 0 && ((test->objects >> (test->depth - 1)) & 1) != 0;
}

static inline tr_status tr_test_put_key_(struct tr_test *test, const char *key) {
    if (test->error.type != NULL) {
        return TR_FAILED;
    }
    if (test->finished || (!test->begun && test->has_json)) {
        return tr_test_misuse_(test, "it has two values; a call may have one JSON reply");
    }
    if (tr_test_in_object_(test) != (key != NULL)) {
        return tr_test_misuse_(test,
                               key != NULL ? "a key outside an object" : "a member without a key");
    }
    test->begun = true;
    if (test->filled) {
        tr_test_add_(&test->written, ",", 1);
    }
    test->filled = true;
    if (key != NULL && !tr_test_is_utf8_(key, strlen(key))) {
        return tr_test_misuse_(test, "a key is not UTF-8");
    }
    if (key != NULL) {
        tr_test_add_string_(&test->written, key, strlen(key));
        tr_test_add_(&test->written, ":", 1);
    }
    return TR_OK;
}

static inline tr_status tr_test_put_done_(struct tr_test *test) {
    if (test->depth == 0) {
        test->finished = test->has_json = true;
        test->block_count++;
        tr_test_clear_(&test->structured);
        tr_test_add_(&test->structured, test->written.data, test->written.length);
    }
    return TR_OK;
}

static inline tr_status tr_test_put_plain_(struct tr_call *call, const char *key,
                                           const char *json) {
    struct tr_test *test = tr_test_of_(call);
    tr_status status = tr_test_put_key_(test, key);
    if (status != TR_OK) {
        return status;
    }
    tr_test_add_text_(&test->written, json);
    return tr_test_put_done_(test);
}

static inline tr_status tr_test_put_begin_(struct tr_call *call, const char *key, int32_t kind) {
    struct tr_test *test = tr_test_of_(call);
    if (kind != TR_JSON_OBJECT && kind != TR_JSON_ARRAY) {
        return tr_test_misuse_(test, "only objects and arrays can be begun");
    }
    if (test->depth == TR_TEST_DEPTH_MAX) {
        return tr_test_fail_(test, "LimitExceeded", TR_LIMIT_EXCEEDED, NULL,
                             "the reply is nested deeper than %u levels", TR_TEST_DEPTH_MAX);
    }
    tr_status status = tr_test_put_key_(test, key);
    if (status != TR_OK) {
        return status;
    }
    uint64_t bit = UINT64_C(1) << test->depth++;
    test->objects = kind == TR_JSON_OBJECT ? test->objects | bit : test->objects & ~bit;
    test->filled = false;
    tr_test_add_(&test->written, kind == TR_JSON_OBJECT ? "{" : "[", 1);
    return TR_OK;
}

static inline tr_status tr_test_put_end_(struct tr_call *call) {
    struct tr_test *test = tr_test_of_(call);
    if (test->error.type != NULL) {
        return TR_FAILED;
    }
    if (test->depth == 0) {
        return tr_test_misuse_(test, "an end without an open object or array");
    }
    tr_test_add_(&test->written, tr_test_in_object_(test) ? "}" : "]", 1);
    test->depth--;
    test->filled = true;
    return tr_test_put_done_(test);
}

static inline tr_status tr_test_put_string_(struct tr_call *call, const char *key, const char *text,
                                            uint64_t length) {
    struct tr_test *test = tr_test_of_(call);
    if (text == NULL) {
        return tr_test_misuse_(test, "a text is NULL");
    }
    size_t size = length == UINT64_MAX ? strlen(text) : TR_CAST_(size_t, length);
    if (!tr_test_is_utf8_(text, size)) {
        return tr_test_misuse_(test, "a text is not UTF-8");
    }
    tr_status status = tr_test_put_key_(test, key);
    if (status != TR_OK) {
        return status;
    }
    tr_test_add_string_(&test->written, text, size);
    return tr_test_put_done_(test);
}

static inline tr_status tr_test_put_bool_(struct tr_call *call, const char *key, bool value) {
    return tr_test_put_plain_(call, key, value ? "true" : "false");
}

static inline tr_status tr_test_put_i64_(struct tr_call *call, const char *key, int64_t value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", TR_CAST_(long long, value));
    return tr_test_put_plain_(call, key, text);
}

static inline tr_status tr_test_put_u64_(struct tr_call *call, const char *key, uint64_t value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", TR_CAST_(unsigned long long, value));
    return tr_test_put_plain_(call, key, text);
}

static inline tr_status tr_test_put_f64_(struct tr_call *call, const char *key, double value) {
    struct tr_test_text text = {NULL, 0, 0};
    if (!isfinite(value)) {
        return tr_test_misuse_(tr_test_of_(call), "JSON has no such number (NaN or infinity)");
    }
    tr_test_add_real_(&text, value);
    tr_status status = tr_test_put_plain_(call, key, text.data);
    tr_test_free_(&text);
    return status;
}

static inline tr_status tr_test_put_json_(struct tr_call *call, const char *key, const char *json,
                                          uint64_t length) {
    struct tr_test *test = tr_test_of_(call);
    if (json == NULL) {
        return tr_test_misuse_(test, "the JSON is NULL");
    }
    size_t size = length == UINT64_MAX ? strlen(json) : TR_CAST_(size_t, length);
    const struct tr_test_json *value = tr_test_read_(test, json, size);
    return value != NULL ? tr_test_put_plain_(call, key, tr_test_written_(test, value, NULL))
                         : tr_test_misuse_(test, "a piece given as JSON is not JSON");
}

/* ---- failing, telling, asking */

static inline tr_status tr_test_fail_at_(struct tr_call *call, tr_status code, const char *field,
                                         const char *message, const char *file, int32_t line) {
    static const char *const types[] = {"ExecutionFailed",  "InvalidArguments", "ExecutionFailed",
                                        "PermissionDenied", "Timeout",          "Cancelled",
                                        "LimitExceeded"};
    struct tr_test *test = tr_test_of_(call);
    const char *type = code > 0 && code <= TR_LIMIT_EXCEEDED ? types[code] : "ExecutionFailed";
    bool is_over = test->time_left_ms == 0;
    /* Whether it is permitted, late or cancelled is the host's to say. */
    bool is_claim = code == TR_PERMISSION_DENIED || (code == TR_TIMED_OUT && !is_over) ||
                    (code == TR_CANCELLED && !is_over && !test->cancelled);
    if (test->error.type != NULL) {
        return code == TR_OK ? TR_CAST_(tr_status, TR_FAILED) : code;
    }
    const char *text =
            message != NULL && message[0] != '\0' ? message : "the tool failed and did not say why";
    char pointer[TR_TEST_POINTER_MAX] = "";
    if (field != NULL && field[0] != '\0') {
        (void)snprintf(pointer, sizeof pointer, "%s%s", field[0] == '/' ? "" : "/", field);
    }
    (void)tr_test_fail_(test, is_claim ? "ExecutionFailed" : type, code, pointer, "%s%s%s%s",
                        is_claim ? "the tool says " : "", is_claim ? type : "",
                        is_claim ? ": " : "", text);
    test->error.from_tool = true;
    if (file != NULL) {
        const char *slash = strrchr(file, '/');
        (void)snprintf(test->error.place, sizeof test->error.place, "%.128s:%d",
                       slash != NULL ? slash + 1 : file, TR_CAST_(int, line));
    }
    return code == TR_OK ? TR_CAST_(tr_status, TR_FAILED) : code;
}

static inline tr_status tr_test_fail_plain_(struct tr_call *call, tr_status code, const char *field,
                                            const char *message) {
    return tr_test_fail_at_(call, code, field, message, NULL, 0);
}

static inline void tr_test_progress_(struct tr_call *call, double done, double total,
                                     const char *message) {
    struct tr_test *test = tr_test_of_(call);
    (void)message;
    if (isfinite(done) && isfinite(total)) {
        test->progress_count++;
        test->done = done;
        test->total = total;
    }
}

static inline void tr_test_note_(struct tr_test *test, int32_t level, const char *message) {
    static const char *const levels[] = {"debug: ", "info: ", "warning: ", "error: "};
    if (message != NULL && message[strspn(message, " \t\r\n")] != '\0') {
        tr_test_add_text_(&test->log, levels[level < 0 || level > TR_LOG_ERROR ? 1 : level]);
        tr_test_add_text_(&test->log, message);
        tr_test_add_text_(&test->log, "\n");
    }
}

static inline void tr_test_log_(struct tr_call *call, int32_t level, const char *message) {
    tr_test_note_(tr_test_of_(call), level, message);
}

static inline bool tr_test_is_over_(struct tr_call *call) {
    const struct tr_test *test = tr_test_of_(call);
    return test->cancelled || test->is_unanswered || test->time_left_ms == 0;
}

static inline uint64_t tr_test_time_left_(struct tr_call *call) {
    return tr_test_of_(call)->time_left_ms;
}

static inline const char *tr_test_context_(struct tr_call *call, int32_t key) {
    return key >= 0 && key < 5 ? tr_test_of_(call)->context[key] : NULL;
}

static inline void *tr_test_give_(struct tr_call *call, uint64_t size) {
    /* As a host: more than this a call may not have. */
    const uint64_t max = UINT64_C(512) << 20;
    if (size > max) {
        (void)tr_test_fail_(tr_test_of_(call), "LimitExceeded", TR_LIMIT_EXCEEDED, NULL,
                            "the tool asked for more memory than a call may take");
        return NULL;
    }
    return tr_test_alloc_(tr_test_of_(call), TR_CAST_(size_t, size));
}

static inline tr_status tr_test_bad_question_(struct tr_test *test, const char *what) {
    return tr_test_fail_(test, "ExecutionFailed", TR_FAILED, NULL,
                         "the tool's question cannot be asked: %s", what);
}

static inline bool tr_test_is_flat_(const struct tr_test_json *property) {
    static const char *const types[] = {"string", "number", "integer", "boolean"};
    const struct tr_test_json *type = tr_test_named_(property, "type");
    const struct tr_test_json *items = tr_test_named_(property, "items");
    if (type == NULL || type->kind != TR_JSON_STRING) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(type->text, types[i]) == 0) {
            return true;
        }
    }
    const struct tr_test_json *choices = tr_test_named_(items, "enum");
    choices = choices != NULL ? choices : tr_test_named_(items, "anyOf");
    return strcmp(type->text, "array") == 0 && choices != NULL && choices->kind == TR_JSON_ARRAY;
}

static inline tr_status tr_test_check_question_(struct tr_test *test,
                                                const struct tr_input *input) {
    const char *request = input->request != NULL ? input->request : "";
    bool is_for_person = input->kind == TR_INPUT_FORM || input->kind == TR_INPUT_URL;
    if (is_for_person && (input->message == NULL || input->message[0] == '\0')) {
        return tr_test_bad_question_(test, "it has no message");
    }
    if (input->kind > TR_INPUT_ROOTS) {
        return tr_test_bad_question_(test, "it asks for something that this host does not know");
    }
    if (input->kind == TR_INPUT_URL && strncmp(request, "https://", 8) != 0 &&
        strncmp(request, "http://", 7) != 0) {
        return tr_test_bad_question_(test, "its address is no https: or http: URL");
    }
    const char *object = input->kind == TR_INPUT_SAMPLE                          ? request
                         : input->kind == TR_INPUT_FORM && input->schema != NULL ? input->schema
                                                                                 : "{}";
    const struct tr_test_json *read = tr_test_read_(test, object, strlen(object));
    if (read == NULL || read->kind != TR_JSON_OBJECT) {
        return tr_test_bad_question_(test, "its schema or request is not a JSON object");
    }
    const struct tr_test_json *properties = tr_test_named_(read, "properties");
    for (const struct tr_test_json *at =
                 input->kind == TR_INPUT_FORM && properties != NULL ? properties->first : NULL;
         at != NULL; at = at->next) {
        if (!tr_test_is_flat_(at)) {
            return tr_test_bad_question_(test, "its schema is not flat");
        }
    }
    return TR_OK;
}

static inline tr_status tr_test_take_key_(struct tr_test *test, const struct tr_input *input) {
    test->inputs++;
    if (input->key == NULL) {
        return TR_OK;
    }
    for (unsigned i = 0; i < test->key_count; i++) {
        if (strcmp(test->keys[i], input->key) == 0) {
            return tr_test_bad_question_(test,
                                         "its key is that of an earlier question of the call");
        }
    }
    if (test->key_count < TR_TEST_KEYS_MAX) {
        test->keys[test->key_count++] = tr_test_copy_(test, input->key, strlen(input->key));
    }
    return TR_OK;
}

static inline tr_status tr_test_inputs_(struct tr_call *call, struct tr_input *inputs,
                                        uint32_t count) {
    struct tr_test *test = tr_test_of_(call);
    size_t stride = inputs != NULL ? inputs->size : 0;
    bool any = false;
    if (count == 0 || count > 16 || stride < sizeof *inputs || stride % 8 != 0) {
        return tr_test_bad_question_(
                test, "it is none, more than 16 at once, or does not state its size");
    }
    for (uint32_t i = 0; i < count; i++) {
        char *at = TR_CAST_(char *, TR_CAST_(void *, inputs)) + i * stride;
        struct tr_input *input = TR_CAST_(struct tr_input *, TR_CAST_(void *, at));
        tr_status status = tr_test_check_question_(test, input);
        status = status == TR_OK ? tr_test_take_key_(test, input) : status;
        if (status != TR_OK) {
            return status;
        }
    }
    if (tr_test_is_over_(call)) {
        return TR_CANCELLED;
    }
    test->is_unanswered = test->answers_later;
    test->answers_later = false;
    for (uint32_t i = 0; i < count; i++) {
        char *at = TR_CAST_(char *, TR_CAST_(void *, inputs)) + i * stride;
        struct tr_input *input = TR_CAST_(struct tr_input *, TR_CAST_(void *, at));
        struct tr_test_given answer = {TR_ANSWER_NOBODY, NULL};
        tr_test_add_text_(&test->asked, input->message != NULL ? input->message : "");
        tr_test_add_text_(&test->asked, "\n");
        if (test->answer_count > 0 && !test->is_unanswered) {
            answer = test->answers[0];
            test->answer_count--;
            memmove(test->answers, test->answers + 1, test->answer_count * sizeof answer);
        }
        input->answer = answer.answer;
        input->content = NULL;
        any = any || answer.answer != TR_ANSWER_NOBODY;
        if (answer.answer == TR_ANSWER_ACCEPTED) {
            const char *content = answer.content != NULL ? answer.content : "{}";
            const struct tr_test_json *read = tr_test_read_(test, content, strlen(content));
            if (read == NULL || read->kind != TR_JSON_OBJECT) {
                return tr_test_fail_(test, "ExecutionFailed", TR_FAILED, NULL,
                                     "the answer to the tool's question is not a JSON object");
            }
            input->content = tr_test_copy_(test, content, strlen(content));
        }
    }
    return tr_test_is_over_(call) ? TR_CANCELLED : any ? TR_OK : TR_ABSENT;
}

static inline tr_status tr_test_ask_(struct tr_call *call, const char *message, const char *schema,
                                     const char **ret_content) {
    struct tr_input input;
    memset(&input, 0, sizeof input);
    input.size = sizeof input;
    input.message = message;
    input.schema = schema;
    tr_status status = tr_test_inputs_(call, &input, 1);
    if (status != TR_OK) {
        return status;
    }
    if (input.answer == TR_ANSWER_ACCEPTED && ret_content != NULL) {
        *ret_content = input.content;
    }
    return input.answer == TR_ANSWER_ACCEPTED   ? TR_OK
           : input.answer == TR_ANSWER_DECLINED ? TR_PERMISSION_DENIED
                                                : TR_CANCELLED;
}

/* The functions of a host of this minor version: behind its size there is nothing. */
static inline void tr_test_make_api_(struct tr_test *test) {
    struct tr_call_api *api = &test->api;
    memset(api, 0, sizeof *api);
    api->arguments = tr_test_arguments_;
    api->kind = tr_test_kind_of_;
    api->count = tr_test_count_;
    api->get_bool = tr_test_get_bool_;
    api->get_i64 = tr_test_get_i64_;
    api->get_u64 = tr_test_get_u64_;
    api->get_f64 = tr_test_get_f64_;
    api->get_string = tr_test_get_string_;
    api->get_bytes = tr_test_get_bytes_;
    api->get_json = tr_test_get_json_;
    api->reply_text = tr_test_reply_text_;
    api->reply_json = tr_test_reply_json_;
    api->reply_image = tr_test_reply_image_;
    api->reply_audio = tr_test_reply_audio_;
    api->reply_resource = tr_test_reply_resource_;
    api->fail = tr_test_fail_plain_;
    api->progress = tr_test_progress_;
    api->log = tr_test_log_;
    api->cancelled = tr_test_is_over_;
    api->time_left_ms = tr_test_time_left_;
    api->context = tr_test_context_;
    api->alloc = tr_test_give_;
    api->put_begin = tr_test_put_begin_;
    api->put_end = tr_test_put_end_;
    api->put_string = tr_test_put_string_;
    api->put_bool = tr_test_put_bool_;
    api->put_i64 = tr_test_put_i64_;
    api->put_u64 = tr_test_put_u64_;
    api->put_f64 = tr_test_put_f64_;
    api->put_json = tr_test_put_json_;
    api->size = offsetof(struct tr_call_api, ask);
    if (test->minor >= 1) {
        api->ask = tr_test_ask_;
        api->size = offsetof(struct tr_call_api, fail_at);
    }
    if (test->minor >= 3) {
        api->fail_at = tr_test_fail_at_;
        api->size = offsetof(struct tr_call_api, inputs);
    }
    if (test->minor >= 4) {
        api->inputs = tr_test_inputs_;
        api->reply_content = tr_test_reply_content_;
        api->reply_link = tr_test_reply_link_;
        api->size = offsetof(struct tr_call_api, get_all);
    }
    if (test->minor >= 5) {
        api->get_all = tr_test_get_all_;
        api->size = sizeof *api;
    }
}

/* ================================================== opening, calls, results */

/* The host that open() sees. */
struct tr_test_host {
    struct tr_host base; /* first */
    struct tr_test *test;
    struct tr_test_json *settings;
};

static inline struct tr_test_host *tr_test_host_of_(struct tr_host *host) {
    return TR_CAST_(struct tr_test_host *, TR_CAST_(void *, host));
}

static inline tr_status tr_test_config_(struct tr_host *base, const char *path, const char **ret) {
    struct tr_test_host *host = tr_test_host_of_(base);
    const struct tr_test_json *value = tr_test_at_(host->settings, path);
    if (value == NULL || value->kind == TR_JSON_NULL) {
        return TR_ABSENT;
    }
    *ret = value->kind == TR_JSON_STRING ? value->text : tr_test_written_(host->test, value, NULL);
    return TR_OK;
}

static inline void tr_test_host_log_(struct tr_host *host, int32_t level, const char *message) {
    tr_test_note_(tr_test_host_of_(host)->test, level, message);
}

static inline tr_status tr_test_host_fail_(struct tr_host *host, const char *message) {
    return tr_test_fail_(tr_test_host_of_(host)->test, "ExecutionFailed", TR_FAILED, NULL, "%s",
                         message != NULL && message[0] != '\0' ? message
                                                               : "the plugin did not say why");
}

static inline const void *tr_test_host_extension_(struct tr_host *host, const char *id) {
    (void)host;
    (void)id;
    return NULL; /* a host may have none */
}

/* Forget the last call. */
static inline void tr_test_reset_(struct tr_test *test) {
    while (test->memory != NULL) {
        struct tr_test_block *block = test->memory;
        test->memory = block->next;
        free(block);
    }
    memset(&test->error, 0, sizeof test->error);
    struct tr_test_text *texts[] = {&test->result, &test->arguments,  &test->asked, &test->written,
                                    &test->blocks, &test->structured, &test->text};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tr_test_clear_(texts[i]);
    }
    tr_test_add_text_(&test->arguments, "{}");
    test->root = NULL;
    test->progress_count = 0;
    test->done = test->total = 0;
    test->block_count = test->text_count = test->inputs = test->key_count = 0;
    test->objects = 0;
    test->depth = 0;
    test->begun = test->finished = test->filled = test->has_json = test->is_unanswered = false;
    test->has_defaults = false;
    tr_test_make_api_(test);
    test->call.api = &test->api;
}

static inline void tr_test_init(struct tr_test *test, const struct tr_plugin *plugin) {
    memset(test, 0, sizeof *test);
    test->plugin = plugin;
    test->minor = TR_ABI_MINOR;
    test->time_left_ms = UINT64_MAX;
    test->context[TR_CONTEXT_CALLER] = "test";
    test->context[TR_CONTEXT_CHANNEL] = "api";
    tr_test_reset_(test);
}

static inline bool tr_test_open(struct tr_test *test) {
    static const struct tr_host_api api = {sizeof(struct tr_host_api), tr_test_config_,
                                           tr_test_host_log_, tr_test_host_fail_,
                                           tr_test_host_extension_};
    if (test->opened) {
        return true;
    }
    tr_test_reset_(test);
    tr_test_clear_(&test->log);
    const char *settings = test->settings != NULL ? test->settings : "{}";
    struct tr_test_host host = {{&api}, test, tr_test_read_(test, settings, strlen(settings))};
    if (host.settings == NULL || host.settings->kind != TR_JSON_OBJECT) {
        (void)tr_test_fail_(test, "Invalid", TR_FAILED, NULL, "the settings are no JSON object");
        return false;
    }
    if (test->plugin->host_minor_min > test->minor) {
        (void)tr_test_fail_(test, "Refused", TR_FAILED, NULL,
                            "the plugin needs a host of version 1.%u, this one has 1.%u",
                            TR_CAST_(unsigned, test->plugin->host_minor_min),
                            TR_CAST_(unsigned, test->minor));
        return false;
    }
    tr_status status = test->plugin->open != NULL ? test->plugin->open(&host.base)
                                                  : TR_CAST_(tr_status, TR_OK);
    if (status != TR_OK) {
        (void)tr_test_fail_(test, "ExecutionFailed", TR_FAILED, NULL,
                            "the plugin did not open, with status %d, and did not say why",
                            TR_CAST_(int, status));
    }
    test->opened = test->error.type == NULL;
    return test->opened;
}

static inline void tr_test_close(struct tr_test *test) {
    if (test->opened && test->plugin->close != NULL) {
        test->plugin->close();
    }
    test->opened = false;
}

static inline int tr_test_finish(struct tr_test *test) {
    tr_test_close(test);
    tr_test_reset_(test);
    struct tr_test_text *texts[] = {&test->result, &test->arguments,  &test->asked, &test->written,
                                    &test->blocks, &test->structured, &test->text,  &test->log};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tr_test_free_(texts[i]);
    }
    printf("%u of %u checks passed\n", test->tests - test->failed_tests, test->tests);
    return test->failed_tests > 0 ? 1 : 0;
}

static inline struct tr_call *tr_test_begin(struct tr_test *test) {
    if (test->opened) {
        tr_test_clear_(&test->log);
        tr_test_reset_(test);
    } else if (tr_test_open(test)) { /* whose lines of the log are kept */
        tr_test_reset_(test);
    }
    return &test->call;
}

static inline bool tr_test_end(struct tr_test *test) {
    if (test->is_unanswered) {
        memset(&test->error, 0, sizeof test->error);
        (void)tr_test_fail_(test, "InputRequired", TR_FAILED, NULL,
                            "the tool asks for something; call it again, with the answers");
    }
    if (test->block_count > 0 || test->begun) {
        (void)tr_test_fail_(test, "ExecutionFailed", TR_FAILED, NULL,
                            "the tool replied through its call, but the result of a typed tool is "
                            "what it returns; it must be a JSON tool to do that");
    }
    return test->error.type == NULL;
}

/* Put the replies together, as the host does. */
static inline void tr_test_put_together_(struct tr_test *test) {
    struct tr_test_text *out = &test->result;
    if (test->block_count == 0) {
        tr_test_add_text_(out, "null");
    } else if (test->block_count == 1 && test->has_json) {
        tr_test_add_(out, test->structured.data, test->structured.length);
    } else if (test->block_count == 1 && test->text_count == 1) {
        tr_test_add_(out, test->text.data, test->text.length);
    } else {
        tr_test_add_text_(out, "{\"content\":[");
        tr_test_add_(out, test->blocks.data != NULL ? test->blocks.data : "", test->blocks.length);
        tr_test_add_(out, "]", 1);
        if (test->has_json) {
            tr_test_add_text_(out, ",\"structuredContent\":");
            tr_test_add_(out, test->structured.data, test->structured.length);
        }
        tr_test_add_(out, "}", 1);
    }
}

static inline bool tr_test_parse_(struct tr_test *test, const char *arguments, const char *schema) {
    struct tr_test_place place = {"", 0};
    const char *text = arguments != NULL && arguments[0] != '\0' ? arguments : "{}";
    test->root = tr_test_read_(test, text, strlen(text));
    if (test->root == NULL || test->root->kind != TR_JSON_OBJECT) {
        return tr_test_refuse_(test, &place,
                               test->root == NULL ? "the arguments are not JSON"
                                                  : "the arguments must be one JSON object");
    }
    if (!tr_test_is_once_(test->root, &place)) {
        return tr_test_refuse_(test, &place, "is given twice; give it once");
    }
    const struct tr_test_json *rules = tr_test_read_(test, schema, strlen(schema));
    if (rules == NULL) {
        (void)tr_test_fail_(test, "Refused", TR_FAILED, NULL, "the tool's schema is not JSON");
        return false;
    }
    if (!tr_test_check_value_(test, rules, test->root, &place)) {
        return false;
    }
    tr_test_clear_(&test->arguments);
    if (test->has_defaults) {
        tr_test_write_(&test->arguments, test->root);
    } else {
        tr_test_add_text_(&test->arguments, text);
    }
    return true;
}

static inline const struct tr_tool *tr_test_find_(const struct tr_test *test, const char *name) {
    for (uint32_t i = 0; i < test->plugin->tool_count; i++) {
        if (strcmp(test->plugin->tools[i]->name, name) == 0) {
            return test->plugin->tools[i];
        }
    }
    return NULL;
}

/* Run what a call has begun, and say how it ended. */
static inline bool tr_test_run_(struct tr_test *test, tr_status (*function)(struct tr_call *call)) {
    tr_status status = function(&test->call);
    if (test->is_unanswered) {
        memset(&test->error, 0, sizeof test->error);
        (void)tr_test_fail_(test, "InputRequired", TR_FAILED, NULL,
                            "the tool asks for something; call it again, with the answers");
        return false;
    }
    if (status != TR_OK) {
        (void)tr_test_fail_(test, "ExecutionFailed", TR_FAILED, NULL,
                            "the tool failed with status %d and did not say why",
                            TR_CAST_(int, status));
    }
    if (test->begun && !test->finished) {
        (void)tr_test_fail_(test, "ExecutionFailed", TR_FAILED, NULL,
                            "the tool's JSON reply is not complete: %u objects or arrays are open",
                            test->depth);
    }
    if (test->error.type == NULL) {
        tr_test_put_together_(test);
    }
    return test->error.type == NULL;
}

static inline bool tr_test_call(struct tr_test *test, const char *name, const char *arguments) {
    const struct tr_tool *tool = tr_test_find_(test, name);
    (void)tr_test_begin(test);
    if (!test->opened) {
        return false;
    }
    if (tool == NULL) {
        (void)tr_test_fail_(test, "NotFound", TR_FAILED, NULL, "Tool '%s' not found", name);
        return false;
    }
    if (tool->run == NULL) {
        (void)tr_test_fail_(test, "Invalid", TR_FAILED, NULL,
                            "%s is a typed tool: call its function", name);
        return false;
    }
    test->context[TR_CONTEXT_TOOL] = tool->name;
    return tr_test_parse_(test, arguments, tool->schema) && tr_test_run_(test, tool->run);
}

static inline bool tr_test_run(struct tr_test *test, tr_status (*function)(struct tr_call *call),
                               const char *arguments) {
    (void)tr_test_begin(test);
    return test->opened && tr_test_parse_(test, arguments, "{}") && tr_test_run_(test, function);
}

static inline void tr_test_answer(struct tr_test *test, int32_t answer, const char *content) {
    if (test->answer_count < TR_TEST_ANSWERS_MAX) {
        struct tr_test_given *next = &test->answers[test->answer_count++];
        next->answer = answer;
        next->content = content;
    }
}

static inline bool tr_test_failed(const struct tr_test *test, const char *type, const char *field) {
    return test->error.type != NULL && strcmp(test->error.type, type) == 0 &&
           (field == NULL || strcmp(test->error.field, field) == 0);
}

static inline bool tr_test_replied(struct tr_test *test, const char *json) {
    if (test->error.type != NULL || test->result.data == NULL) {
        return false;
    }
    const struct tr_test_json *wanted = tr_test_read_(test, json, strlen(json));
    const struct tr_test_json *got = tr_test_read_(test, test->result.data, test->result.length);
    return wanted != NULL && got != NULL && tr_test_equals_(wanted, got);
}

static inline bool tr_test_logged(const struct tr_test *test, const char *text) {
    return test->log.data != NULL && strstr(test->log.data, text) != NULL;
}

static inline bool tr_test_declares(const struct tr_test *test, uint32_t kind, const char *value) {
    for (uint32_t i = 0; i < test->plugin->capability_count; i++) {
        const char *record =
                TR_CAST_(const char *, TR_CAST_(const void *, test->plugin->capabilities)) +
                TR_CAST_(size_t, i) * test->plugin->capability_size;
        const struct tr_capability *capability =
                TR_CAST_(const struct tr_capability *, TR_CAST_(const void *, record));
        if (capability->kind == kind && strcmp(capability->value, value) == 0) {
            return true;
        }
    }
    return false;
}

#ifdef __cplusplus
}
#endif

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif /* TOOLRACK_TEST_H */
