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
    text_add(&whole, begin > 0 ? text->data : "", begin);
    text_add(&whole, made->length > 0 ? made->data : "", made->length);
    text_add(&whole, text->length > end ? text->data + end : "", text->length - end);
    text_finish(text);
    *text = whole;
}

/* A copy with LF as the ends of lines, in which what is sought is found; false: no memory. */
static bool copy_plain(const struct text *text, struct text *ret) {
    text_add(ret, text->length > 0 ? text->data : "", text->length);
    text_normalize_lines(ret);
    return !ret->failed;
}

/* Where a place of the copy is in the text itself, which may have CR before LF. */
static size_t place_of(const struct text *text, size_t plain) {
    size_t at = 0;
    for (size_t i = 0; i < plain; i++) {
        at += text->data[at] == '\r' && at + 1 < text->length && text->data[at + 1] == '\n';
        at++;
    }
    return at;
}

static bool has_crlf(const struct text *text) {
    const char *end = text->length > 0 ? memchr(text->data, '\n', text->length) : NULL;
    return end != NULL && end > text->data && end[-1] == '\r';
}

/* Add a text whose lines end with LF, with the ends that the first line of `file` has. */
static void add_with_ends(struct text *out, const struct text *made, const struct text *file) {
    size_t at = 0;
    struct span line;
    const char *end = has_crlf(file) ? "\r\n" : "\n";
    for (bool is_first = true; next_line(made, &at, &line); is_first = false) {
        text_add_string(out, is_first ? "" : end);
        text_add(out, line.data, line.length);
    }
    out->failed = out->failed || made->failed;
    out->too_long = out->too_long || made->too_long;
}

/* Find what is to be replaced, from `ret_begin` to `ret_end`, and make what comes in its place. */
static bool find(const struct text *plain, const struct text *old_text, const struct text *new_text,
                 size_t *ret_begin, size_t *ret_end, struct text *ret_made) {
    const char *found = old_text->length == 0 ? plain->data
                        : plain->length == 0  ? NULL
                                              : memmem(plain->data, plain->length, old_text->data,
                                                       old_text->length);
    if (found != NULL || old_text->length == 0) {
        *ret_begin = found != NULL ? (size_t)(found - plain->data) : 0;
        *ret_end = *ret_begin + old_text->length;
        text_add(ret_made, new_text->length > 0 ? new_text->data : "", new_text->length);
        return true;
    }
    size_t at = 0;
    struct span line;
    for (*ret_begin = 0; next_line(plain, &at, &line); *ret_begin = at) {
        if (matches_at(plain, *ret_begin, old_text, ret_end)) {
            struct span rest;
            add_indented(ret_made, indent_of(line, &rest), old_text, new_text);
            return true;
        }
    }
    return false;
}

bool edit_apply(struct text *text, const struct text *old_text, const struct text *new_text) {
    struct text plain = {0};
    struct text made = {0};
    size_t begin = 0;
    size_t end = 0;
    bool is_found =
            copy_plain(text, &plain) && find(&plain, old_text, new_text, &begin, &end, &made);
    if (is_found) {
        struct text ended = {0};
        add_with_ends(&ended, &made, text);
        put(text, place_of(text, begin), place_of(text, end), &ended);
        text_finish(&ended);
    }
    text->failed = text->failed || plain.failed;
    text_finish(&plain);
    text_finish(&made);
    return is_found && !text->failed;
}
