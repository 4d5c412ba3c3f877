#include "edit.h"

#include <stdlib.h>
#include <string.h>

/* A line without its end, in a text that it is a part of. */
struct span {
    const char *data;
    size_t length;
};

/* The line at `*at`, which moves behind its end; false after the last one. A text that ends with LF
 * has an empty line after it. */
static bool next_line(const struct text *text, size_t *at, struct span *ret) {
    if (*at > text->length) {
        return false;
    }
    const char *from = text->length > 0 ? text->data + *at : "";
    const char *end = text->length > *at ? memchr(from, '\n', text->length - *at) : NULL;
    *ret = (struct span){from, end != NULL ? (size_t)(end - from) : text->length - *at};
    *at += ret->length + 1;
    return true;
}

/* The white space that a line begins with; `ret_rest` is what follows it. */
static struct span indent_of(struct span line, struct span *ret_rest) {
    const char *end = line.data + line.length;
    const char *at = line.data;
    for (size_t size; (size = text_space(at, end)) > 0;) {
        at += size;
    }
    *ret_rest = (struct span){at, (size_t)(end - at)};
    return (struct span){line.data, (size_t)(at - line.data)};
}

static struct span trim(struct span line) {
    struct span rest;
    (void)indent_of(line, &rest);
    /* White space is 1, 2 or 3 bytes long, and none of it is the end of another character. */
    for (size_t size = 1; size <= 3 && size <= rest.length;) {
        const char *end = rest.data + rest.length;
        if (text_space(end - size, end) == size) {
            rest.length -= size;
            size = 1;
        } else {
            size++;
        }
    }
    return rest;
}

static bool same_trimmed(struct span one, struct span two) {
    one = trim(one);
    two = trim(two);
    return one.length == two.length && memcmp(one.data, two.data, one.length) == 0;
}

/* Whether the lines from `at` on are those of `old_text`; `ret_end` is behind the last one, without
 * its LF. */
static bool matches_at(const struct text *text, size_t at, const struct text *old_text,
                       size_t *ret_end) {
    size_t old_at = 0;
    struct span old_line;
    struct span line;
    while (next_line(old_text, &old_at, &old_line)) {
        if (!next_line(text, &at, &line) || !same_trimmed(line, old_line)) {
            return false;
        }
    }
    *ret_end = at - 1;
    return true;
}

/* The new lines: the first with the indentation of the file, others with that and as much more as
 * the new text has beyond the old one. */
static void add_indented(struct text *out, struct span indent, const struct text *old_text,
                         const struct text *new_text) {
    size_t old_at = 0;
    size_t new_at = 0;
    struct span line;
    for (size_t i = 0; next_line(new_text, &new_at, &line); i++) {
        struct span old_line = {"", 0};
        struct span rest;
        struct span old_rest;
        (void)next_line(old_text, &old_at, &old_line);
        struct span new_indent = indent_of(line, &rest);
        struct span old_indent = indent_of(old_line, &old_rest);
        if (i > 0) {
            text_add(out, "\n", 1);
        }
        if (i == 0 || (old_indent.length > 0 && new_indent.length > 0)) {
            size_t new_width = text_utf16_length(new_indent.data, new_indent.length);
            size_t old_width = text_utf16_length(old_indent.data, old_indent.length);
            text_add(out, indent.data, indent.length);
            for (size_t j = old_width; i > 0 && j < new_width; j++) {
                text_add(out, " ", 1);
            }
            text_add(out, rest.data, rest.length);
        } else {
            text_add(out, line.data, line.length);
        }
    }
}

/* Put what `made` has in place of the bytes from `begin` to `end`. */
static void put(struct text *text, size_t begin, size_t end, const struct text *made) {
    struct text whole = {.failed = text->failed || made->failed,
                         .too_long = text->too_long || made->too_long};
    text_add(&whole, text->data, begin);
    text_add(&whole, made->data, made->length);
    text_add(&whole, text->length > end ? text->data + end : "", text->length - end);
    text_finish(text);
    *text = whole;
}

bool edit_apply(struct text *text, const struct text *old_text, const struct text *new_text) {
    const char *found = old_text->length == 0 ? text->data
                        : text->length == 0   ? NULL
                                              : memmem(text->data, text->length, old_text->data,
                                                       old_text->length);
    if (found != NULL || old_text->length == 0) {
        size_t begin = found != NULL ? (size_t)(found - text->data) : 0;
        put(text, begin, begin + old_text->length, new_text);
        return !text->failed;
    }
    size_t at = 0;
    size_t begin = 0;
    size_t end;
    struct span line;
    while (next_line(text, &at, &line)) {
        if (matches_at(text, begin, old_text, &end)) {
            struct text made = {0};
            struct span rest;
            add_indented(&made, indent_of(line, &rest), old_text, new_text);
            put(text, begin, end, &made);
            text_finish(&made);
            return !text->failed;
        }
        begin = at;
    }
    return false;
}
