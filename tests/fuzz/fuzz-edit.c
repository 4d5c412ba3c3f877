/* Edits of a text of any bytes: a text, what is sought and what comes in its place, with zero bytes
 * between them.
 *
 * The diff of before and after says how the one becomes the other: applied to the text before, it
 * gives the text after. Ends of lines are no part of it: the same edit of the text with LF gives
 * the same, and what CR LF were there are there still. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "edit.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

static struct text take(const unsigned char **data, size_t *size, bool is_plain) {
    struct text text = {0};
    const unsigned char *end = memchr(*data, '\0', *size);
    size_t length = end != NULL ? (size_t)(end - *data) : *size;
    text_add_utf8(&text, (const char *)*data, length);
    if (is_plain) {
        text_normalize_lines(&text);
    }
    length += end != NULL;
    *data += length;
    *size -= length;
    return text;
}

static struct text copy(const struct text *text) {
    struct text made = {0};
    text_add(&made, text->length > 0 ? text->data : "", text->length);
    return made;
}

static bool same(const struct text *one, const struct text *two) {
    return one->length == two->length &&
           (one->length == 0 || memcmp(one->data, two->data, one->length) == 0);
}

static bool has_cr(const struct text *text) {
    return text->length > 0 && memchr(text->data, '\r', text->length) != NULL;
}

/* One line with its end; `*at` moves behind it. */
static size_t line_at(const char *at, const char *end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    return line_end != NULL ? (size_t)(line_end - at) + 1 : (size_t)(end - at);
}

/* What a diff makes of a text. */
static struct text apply(const struct text *diff, const struct text *before) {
    struct text after = {0};
    const char *at = diff->data;
    const char *end = diff->data + diff->length;
    const char *from = before->length > 0 ? before->data : "";
    const char *from_end = from + before->length;
    size_t line = 1; /* of `before`, which `from` is at */
    for (int i = 0; i < 4; i++) {
        at += line_at(at, end);
    }
    while (at < end) {
        size_t length = line_at(at, end);
        size_t old_begin;
        size_t old_count;
        size_t new_begin;
        size_t new_count;
        if (*at == '@') {
            check(sscanf(at, "@@ -%zu,%zu +%zu,%zu @@", &old_begin, &old_count, &new_begin,
                         &new_count) == 4);
            for (; line < old_begin + (old_count == 0); line++) {
                size_t kept = line_at(from, from_end);
                text_add(&after, from, kept);
                from += kept;
            }
        } else if (*at != '\\') {
            bool is_cut = at + length < end && at[length] == '\\'; /* no line end follows it */
            size_t size = length - 1 - is_cut;
            if (*at != '+') {
                check((size_t)(from_end - from) >= size && memcmp(from, at + 1, size) == 0);
                from += size;
                line++;
            }
            if (*at != '-') {
                text_add(&after, at + 1, size);
            }
        }
        at += length;
    }
    text_add(&after, from, (size_t)(from_end - from));
    return after;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    struct text diff = {0};
    struct text before = take(&data, &size, false);
    struct text old_text = take(&data, &size, true);
    struct text new_text = take(&data, &size, true);
    struct text after = copy(&before);
    bool is_done = edit_apply(&after, &old_text, &new_text);
    check(is_done || same(&before, &after));
    text_normalize_lines(&before);
    text_normalize_lines(&after);
    if (!has_cr(&before) && !has_cr(&new_text)) {
        struct text plain = copy(&before);
        check(edit_apply(&plain, &old_text, &new_text) == is_done && same(&plain, &after));
        text_finish(&plain);
    }
    check(diff_add(&diff, "f", before.length > 0 ? before.data : "", before.length,
                   after.length > 0 ? after.data : "", after.length));
    struct text made = apply(&diff, &before);
    check(same(&made, &after));
    text_finish(&made);
    text_finish(&diff);
    text_finish(&before);
    text_finish(&old_text);
    text_finish(&new_text);
    text_finish(&after);
    return 0;
}
