#include "base/json-place.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/ascii.h"
#include "base/cleanup.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A walk over the text; every step checks for the end. */
struct walk {
    const char *text;
    size_t length;
    size_t at;
};

static bool is_at(const struct walk *walk, char c) {
    return walk->at < walk->length && walk->text[walk->at] == c;
}

static bool take(struct walk *walk, char c) {
    bool there = is_at(walk, c);
    walk->at += there;
    return there;
}

/* ------------------------------------------------------------------ skipping */

static bool skip_comment(struct walk *walk) {
    if (walk->length - walk->at < 2 || walk->text[walk->at] != '/') {
        return false;
    }
    char kind = walk->text[walk->at + 1];
    if (kind != '/' && kind != '*') {
        return false;
    }
    walk->at += 2;
    if (kind == '/') { /* up to either end of a line, as the parser reads it */
        while (walk->at < walk->length && walk->text[walk->at] != '\n' &&
               walk->text[walk->at] != '\r') {
            walk->at++;
        }
        return true;
    }
    const char *end = memmem(walk->text + walk->at, walk->length - walk->at, "*/", 2);
    walk->at = end == NULL ? walk->length : (size_t)(end - walk->text) + 2;
    return true;
}

static void skip_blank(struct walk *walk) {
    do {
        while (walk->at < walk->length && memchr(" \t\r\n", walk->text[walk->at], 4) != NULL) {
            walk->at++;
        }
    } while (skip_comment(walk));
}

/* At a quote. */
static void skip_string(struct walk *walk) {
    walk->at++;
    while (walk->at < walk->length && walk->text[walk->at] != '"') {
        walk->at += walk->text[walk->at] == '\\' && walk->length - walk->at > 1 ? 2 : 1;
    }
    (void)take(walk, '"');
}

/* Nesting is counted without recursion: no text is too deep. */
static void skip_value(struct walk *walk) {
    size_t depth = 0;
    while (walk->at < walk->length) {
        char c = walk->text[walk->at];
        if (c == '"') {
            skip_string(walk);
        } else if (skip_comment(walk)) {
            continue;
        } else if (c == '[' || c == '{') {
            depth++;
            walk->at++;
        } else if (depth == 0 && memchr(",]}", c, 3) != NULL) {
            return;
        } else {
            depth -= c == ']' || c == '}';
            walk->at++;
        }
    }
}

/* ----------------------------------------------------------------- following */

/* One token of a pointer, unescaped. */
static bool next_token(const char **pointer, char *ret, size_t *ret_length) {
    if (**pointer != '/') {
        return false;
    }
    const char *step = *pointer + 1;
    size_t length = strcspn(step, "/");
    if (length > JSON_POINTER_MAX) {
        return false;
    }
    *pointer = step + length;
    *ret_length = json_pointer_unescape(step, length, ret);
    return true;
}

/* Whether a string of the text, including its quotes, equals `token`. */
static bool says(const char *string, size_t length, const char *token, size_t token_length) {
    if (memchr(string, '\\', length) == NULL) {
        return length == token_length + 2 && memcmp(string + 1, token, token_length) == 0;
    }
    /* Without the in-situ flag yyjson does not change the text, although the parameter is not
     * const. */
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)string, length, 0, NULL, NULL);
    return yyjson_equals_strn(yyjson_doc_get_root(doc), token, token_length);
}

/* Move to the value of a member, from after the brace; false: there is none. */
static bool enter_member(struct walk *walk, const char *token, size_t token_length, bool last,
                         size_t *ret_key) {
    struct walk found = {0};
    skip_blank(walk);
    while (is_at(walk, '"')) {
        size_t key = walk->at;
        skip_string(walk);
        bool same = says(walk->text + key, walk->at - key, token, token_length);
        skip_blank(walk);
        if (!take(walk, ':')) {
            return false;
        }
        skip_blank(walk);
        if (same) {
            found = *walk;
            *ret_key = key;
        }
        if (same && !last) {
            return true;
        }
        skip_value(walk);
        (void)take(walk, ',');
        skip_blank(walk);
    }
    if (found.text != NULL) {
        *walk = found;
    }
    return found.text != NULL;
}

/* Move to an item, from after the bracket. */
static bool enter_item(struct walk *walk, const char *token, size_t token_length) {
    char number[24];
    char *end = NULL;
    if (token_length == 0 || token_length >= sizeof number || !ascii_is_digit(token[0])) {
        return false;
    }
    memcpy(number, token, token_length);
    number[token_length] = '\0';
    unsigned long long index = strtoull(number, &end, 10);
    skip_blank(walk);
    for (; index > 0 && walk->at < walk->length; index--) {
        skip_value(walk);
        if (!take(walk, ',')) {
            return false;
        }
        skip_blank(walk);
    }
    return *end == '\0' && index == 0 && walk->at < walk->length && !is_at(walk, ']');
}

bool json_place_find(const char *text, size_t length, const char *pointer, enum json_place_at at,
                     size_t *ret_position) {
    struct walk walk = {.text = text, .length = length};
    char token[JSON_POINTER_MAX];
    size_t token_length;
    skip_blank(&walk);
    size_t key = walk.at;
    while (next_token(&pointer, token, &token_length)) {
        bool last = at == JSON_PLACE_LAST_KEY && *pointer == '\0';
        if (take(&walk, '{')) {
            if (!enter_member(&walk, token, token_length, last, &key)) {
                return false;
            }
        } else if (!take(&walk, '[') || !enter_item(&walk, token, token_length)) {
            return false;
        } else {
            key = walk.at;
        }
    }
    *ret_position = at == JSON_PLACE_VALUE ? walk.at : key;
    return *pointer == '\0' && walk.at < walk.length;
}

void json_place_line(const char *text, size_t length, size_t position, size_t *ret_line,
                     size_t *ret_column) {
    *ret_line = 1;
    *ret_column = 1;
    for (size_t i = 0; i < position && i < length; i++) {
        if (text[i] == '\n') {
            (*ret_line)++;
            *ret_column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            (*ret_column)++;
        }
    }
}
