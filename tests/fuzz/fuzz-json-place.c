/* Finding places again: each value that the parser sees is where the pointer says, and no text and
 * no pointer leads behind the end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/json-place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

struct text {
    const char *data;
    size_t length;
};

/* The first character of a value of that kind. */
static bool can_begin(yyjson_val *value, char c) {
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_OBJ: return c == '{';
    case YYJSON_TYPE_ARR: return c == '[';
    case YYJSON_TYPE_STR: return c == '"';
    case YYJSON_TYPE_BOOL: return c == (yyjson_get_bool(value) ? 't' : 'f');
    case YYJSON_TYPE_NULL: return c == 'n';
    default: return c == '-' || (c >= '0' && c <= '9');
    }
}

static void look(const struct text *text, yyjson_val *value, const char *pointer) {
    size_t at;
    size_t line;
    size_t column;
    require(json_place_find(text->data, text->length, pointer, JSON_PLACE_VALUE, &at));
    require(at < text->length && can_begin(value, text->data[at]));
    json_place_line(text->data, text->length, at, &line, &column);
    require(line >= 1 && column >= 1);
}

#define DEPTH_MAX 6

static void walk(const struct text *text, yyjson_val *value, const char *pointer, int depth) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *item;
    look(text, value, pointer);
    if (depth == DEPTH_MAX || strlen(pointer) > JSON_POINTER_MAX / 2) {
        return;
    }
    yyjson_arr_foreach (value, at, count, item) {
        char next[JSON_POINTER_MAX] = "";
        strncat(next, pointer, sizeof next - 1);
        json_pointer_add_index(next, at);
        walk(text, item, next, depth + 1);
    }
    yyjson_obj_foreach (value, at, count, key, item) {
        char next[JSON_POINTER_MAX] = "";
        strncat(next, pointer, sizeof next - 1);
        size_t length = strlen(next);
        json_pointer_add(next, yyjson_get_str(key));
        /* Keys that do not fit, hold a zero or come again lead elsewhere. */
        if (next[length] != '\0' && strlen(yyjson_get_str(key)) == yyjson_get_len(key) &&
            yyjson_obj_getn(value, yyjson_get_str(key), yyjson_get_len(key)) == item) {
            size_t place;
            require(json_place_find(text->data, text->length, next, JSON_PLACE_KEY, &place));
            require(text->data[place] == '"');
            require(json_place_find(text->data, text->length, next, JSON_PLACE_LAST_KEY, &place));
            require(text->data[place] == '"');
            walk(text, item, next, depth + 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* A copy of the exact size: reading behind it is seen. */
    char *copy = malloc(size > 0 ? size : 1);
    require(copy != NULL);
    memcpy(copy, data, size);
    const struct text text = {.data = copy, .length = size};
    yyjson_doc *doc = yyjson_read_opts(
            copy, size, YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS, NULL, NULL);
    if (doc != NULL) {
        walk(&text, yyjson_doc_get_root(doc), "", 0);
        yyjson_doc_free(doc);
    }
    static const char *const pointers[] = {"", "/", "/0", "/a/0/b", "/tools/1/name", "x", "/~1/~0"};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        size_t at = 0;
        size_t line;
        size_t column;
        (void)json_place_find(copy, size, pointers[i], JSON_PLACE_LAST_KEY, &at);
        json_place_line(copy, size, at, &line, &column);
    }
    free(copy);
    return 0;
}
