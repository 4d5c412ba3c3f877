#include "schema/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json-pointer.h"
#include "base/text.h"

#include "base/utf8.h"

/* Longest text that one text_printf() adds. */
#define TEXT_PIECE_MAX 768

struct text text_in(char *data, size_t room) {
    data[0] = '\0';
    return (struct text){.data = data, .room = room};
}

void text_add(struct text *text, const char *bytes, size_t length) {
    size_t left = text->room - 1 - text->length;
    if (length > left) {
        length = utf8_cut(bytes, left);
    }
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_vprintf(struct text *text, const char *format, va_list args) {
    char piece[TEXT_PIECE_MAX];
    int length = vsnprintf(piece, sizeof piece, format, args);
    if (length > 0) {
        size_t got = (size_t)length < sizeof piece ? (size_t)length : sizeof piece - 1;
        text_add(text, piece, utf8_cut(piece, got));
    }
}

void text_printf(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_vprintf(text, format, args);
    va_end(args);
}

static void add_char(struct text *text, char c) {
    text_add(text, &c, 1);
}

static void add_escaped(struct text *text, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\') {
            add_char(text, '\\');
        }
        if (c < 0x20 || c == 0x7f) {
            text_printf(text, "\\u%04x", c);
        } else {
            add_char(text, (char)c);
        }
    }
}

void text_add_quoted(struct text *text, const char *bytes, size_t length) {
    size_t shown = length > TEXT_VALUE_MAX ? utf8_cut(bytes, TEXT_VALUE_MAX) : length;
    add_char(text, '"');
    add_escaped(text, bytes, shown);
    text_printf(text, shown < length ? "...\"" : "\"");
}

/* yyjson writes the shortest digits that read back the same; the pool is its scratch. */
static void add_real(struct text *text, yyjson_val *value) {
    char scratch[512];
    yyjson_alc alc;
    size_t length = 0;
    (void)yyjson_alc_pool_init(&alc, scratch, sizeof scratch);
    const char *digits =
            yyjson_val_write_opts(value, YYJSON_WRITE_ALLOW_INF_AND_NAN, &alc, &length, NULL);
    if (digits != NULL) {
        text_add(text, digits, length);
    }
}

void text_add_value(struct text *text, yyjson_val *value) {
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL: text_printf(text, "null"); break;
    case YYJSON_TYPE_BOOL: text_printf(text, yyjson_is_true(value) ? "true" : "false"); break;
    case YYJSON_TYPE_NUM:
        if (yyjson_is_uint(value)) {
            text_printf(text, "%llu", (unsigned long long)yyjson_get_uint(value));
        } else if (yyjson_is_sint(value)) {
            text_printf(text, "%lld", (long long)yyjson_get_sint(value));
        } else {
            add_real(text, value);
        }
        break;
    case YYJSON_TYPE_RAW:
        text_printf(text, "%.*s%s", TEXT_VALUE_MAX, yyjson_get_raw(value),
                    yyjson_get_len(value) > TEXT_VALUE_MAX ? "..." : "");
        break;
    case YYJSON_TYPE_STR:
        text_add_quoted(text, yyjson_get_str(value), yyjson_get_len(value));
        break;
    case YYJSON_TYPE_ARR:
        text_printf(text, "an array of %zu item%s", yyjson_arr_size(value),
                    text_plural(yyjson_arr_size(value)));
        break;
    case YYJSON_TYPE_OBJ:
        text_printf(text, "an object of %zu propert%s", yyjson_obj_size(value),
                    yyjson_obj_size(value) == 1 ? "y" : "ies");
        break;
    default: text_printf(text, "nothing"); break;
    }
}

void text_add_key(struct text *text, const char *key, size_t length) {
    add_char(text, '/');
    size_t done = 0;
    for (size_t i = 0; i < length; i++) {
        const char *escape = json_pointer_escape(key[i]);
        if (escape != NULL) {
            text_add(text, key + done, i - done);
            text_add(text, escape, 2);
            done = i + 1;
        }
    }
    text_add(text, key + done, length - done);
}

void text_add_index(struct text *text, size_t index) {
    text_printf(text, "/%zu", index);
}
