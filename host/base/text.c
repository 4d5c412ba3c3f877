#include "base/text.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hidden.h"
#include "base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
static const char ellipsis[] = "\xe2\x80\xa6";    /* U+2026 */

static bool is_control(uint32_t point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

/* Append text without hidden characters. */
static void add_controls_escaped(struct buf *buf, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        uint32_t point;
        size_t n = utf8_decode(text + at, length - at, &point);
        if (n == 0) {
            buf_add_text(buf, replacement);
        } else if (is_control(point) && point != '\n' && point != '\t') {
            buf_printf(buf, "\\u%04x", point);
        } else {
            buf_add(buf, text + at, n);
        }
        at += n > 0 ? n : 1;
    }
}

void text_add_escaped(struct buf *buf, const char *text, size_t length) {
    hidden_add_parts(buf, text, length, add_controls_escaped);
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void text_add_line(struct buf *buf, const char *text, size_t length) {
    bool begun = false;
    for (size_t at = 0; at < length;) {
        size_t word = at;
        while (word < length && is_space(text[word])) {
            word++;
        }
        size_t end = word;
        while (end < length && !is_space(text[end])) {
            end++;
        }
        if (end > word) {
            if (begun) {
                buf_add_char(buf, ' ');
            }
            text_add_escaped(buf, text + word, end - word);
            begun = true;
        }
        at = end;
    }
}

void text_add_cut(struct buf *buf, const char *text, size_t length, size_t width) {
    if (utf8_count(text, length) <= width) {
        buf_add(buf, text, length);
        return;
    }
    if (width == 0) {
        return;
    }
    size_t at = 0;
    for (size_t i = 1; i < width; i++) {
        uint32_t point;
        at += utf8_decode(text + at, length - at, &point);
    }
    buf_add(buf, text, at);
    buf_add_text(buf, ellipsis);
}

void text_add_in_quotes(struct buf *buf, const char *text, size_t width) {
    CLEANUP(buf_finish) struct buf cut = BUF_INIT;
    CLEANUP(buf_finish) struct buf quoted = BUF_INIT;
    text_add_cut(&cut, text, strlen(text), width);
    if (!cut.failed) {
        buf_add_json_string(&quoted, cut.data != NULL ? cut.data : "", cut.length);
    }
    if (!quoted.failed && quoted.data != NULL) {
        text_add_line(buf, quoted.data, quoted.length);
    }
    buf->failed = buf->failed || cut.failed || quoted.failed;
}

void text_add_wait(struct buf *buf, uint32_t ms) {
    const uint32_t s = ms / 1000;
    if (s == 0) {
        buf_printf(buf, "%u ms", ms);
    } else if (s < 60 && ms % 1000 / 100 != 0) {
        buf_printf(buf, "%u.%u s", s, ms % 1000 / 100);
    } else if (s < 60) {
        buf_printf(buf, "%u s", s);
    } else if (s < 3600) {
        buf_printf(buf, "%u min", s / 60);
        if (s % 60 != 0) {
            buf_printf(buf, " %u s", s % 60);
        }
    } else {
        buf_printf(buf, "%u h", s / 3600);
        if (s / 60 % 60 != 0) {
            buf_printf(buf, " %u min", s / 60 % 60);
        }
    }
}

void text_add_valid(struct buf *buf, const char *text, size_t length) {
    if (utf8_valid(text, length)) {
        buf_add(buf, text, length);
        return;
    }
    for (size_t at = 0; at < length;) {
        uint32_t point;
        size_t n = utf8_decode(text + at, length - at, &point);
        if (n == 0) {
            buf_add_text(buf, replacement);
        } else {
            buf_add(buf, text + at, n);
        }
        at += n > 0 ? n : 1;
    }
}

void text_add_duration(struct buf *buf, uint64_t ns) {
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ns >= units[i].ns) {
            buf_printf(buf, "%.1f %s", (double)ns / (double)units[i].ns, units[i].unit);
            return;
        }
    }
    buf_printf(buf, "%llu ns", (unsigned long long)ns);
}
