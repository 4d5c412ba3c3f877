#include "choose/author.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Signs that a reader takes for the end or the beginning of a quotation, and what stands for them.
 */
static const struct quote {
    const char *sign;
    const char *shown;
} quotes[] = {{"\"", "'"}, {"“", "‘"}, {"”", "’"}, {"„", "‘"}, {"‟", "‘"}, {"＂", "'"}};

static const struct quote *quote_at(const char *text, size_t length) {
    for (size_t i = 0; i < ARRAY_LENGTH(quotes); i++) {
        size_t size = strlen(quotes[i].sign);
        if (size <= length && memcmp(text, quotes[i].sign, size) == 0) {
            return &quotes[i];
        }
    }
    return NULL;
}

void author_add(struct buf *out, const char *text, size_t length, size_t width) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf shown = BUF_INIT;
    text_add_line(&line, text, length);
    for (size_t at = 0; at < line.length;) {
        const struct quote *quote = quote_at(line.data + at, line.length - at);
        if (quote != NULL) {
            buf_add_text(&shown, quote->shown);
        } else {
            buf_add_char(&shown, line.data[at]);
        }
        at += quote != NULL ? strlen(quote->sign) : 1;
    }
    text_add_cut(out, shown.data != NULL ? shown.data : "", shown.length, width);
    out->failed = out->failed || line.failed || shown.failed;
}

void author_quote(struct buf *out, const char *text, size_t length, size_t width, bool chinese) {
    CLEANUP(buf_finish) struct buf shown = BUF_INIT;
    author_add(&shown, text, length, width);
    if (shown.length > 0) {
        buf_add_text(out, chinese ? "“" : "\"");
        buf_add(out, shown.data, shown.length);
        buf_add_text(out, chinese ? "”" : "\"");
    }
    out->failed = out->failed || shown.failed;
}

static bool is_word(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_word(name[i]) && (name[i] == '\0' || strchr("-./", name[i]) == NULL)) {
            return false;
        }
    }
    return length > 0 && length <= AUTHOR_NAME_MAX;
}

void author_add_name(struct buf *out, const char *name, size_t length, bool chinese) {
    if (is_word(name, length)) {
        buf_add(out, name, length);
    } else {
        author_quote(out, name, length, AUTHOR_NAME_MAX, chinese);
    }
}
