#include "writer.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define URL_SIZE 2048

/* ----------------------------------------------------------------- writing */

void writer_break(struct writer *writer, unsigned breaks) {
    if (writer->cells > 0) {
        writer->has_space = true;
        return;
    }
    writer_end_marks(writer);
    writer->has_space = false;
    /* The first block of an item or a quote begins on the line of its mark. */
    bool is_first = writer->level_count > 0 && !writer->levels[writer->level_count - 1].is_begun;
    if (writer->breaks < breaks && !is_first) {
        writer->breaks = breaks;
    }
}

/* The marks of a line: with those of what begins here, or, of a line without text, of what has
 * begun. */
void writer_begin_line(struct writer *writer, bool has_text) {
    for (unsigned i = 0; i < writer->level_count; i++) {
        struct level *level = &writer->levels[i];
        if (!has_text && !level->is_begun) {
            break;
        }
        text_add_string(&writer->out, level->is_begun ? level->other : level->first);
        level->is_begun = true;
    }
    if (!has_text) {
        size_t length = writer->out.length;
        while (length > 0 && writer->out.data[length - 1] == ' ') {
            length--;
        }
        text_cut(&writer->out, length);
    }
}

static void write_breaks(struct writer *writer) {
    if (writer->out.length > 0) {
        text_add_string(&writer->out, writer->is_broken ? "  " : "");
        for (unsigned i = 0; i < writer->breaks; i++) {
            if (i > 0) {
                writer_begin_line(writer, false);
            }
            text_add_string(&writer->out, "\n");
        }
    }
    writer->is_at_start = writer->is_at_start || writer->breaks > 0;
    writer->breaks = 0;
    writer->is_broken = false;
}

void writer_before_text(struct writer *writer) {
    write_breaks(writer);
    if (writer->is_at_start) {
        writer_begin_line(writer, true);
        writer->has_space = false;
    } else if (writer->has_space) {
        text_add_string(&writer->out, " ");
        writer->has_space = false;
    }
    for (unsigned i = 0; i < writer->mark_count; i++) {
        if (!writer->marks[i].is_open) {
            text_add_string(&writer->out, writer->marks[i].opening);
            writer->marks[i].is_open = true;
            writer->is_at_start = false;
        }
    }
}

static void write_url(struct writer *writer, const char *url);

void writer_close_mark(struct writer *writer, struct mark *mark) {
    if (!mark->is_open) {
        return;
    }
    mark->is_open = false;
    if (mark->url == NULL) {
        text_add_string(&writer->out, mark->opening);
        return;
    }
    text_add_string(&writer->out, "](");
    write_url(writer, mark->url);
    text_add_string(&writer->out, ")");
}

void writer_end_marks(struct writer *writer) {
    for (unsigned i = writer->mark_count; i > 0; i--) {
        writer_close_mark(writer, &writer->marks[i - 1]);
    }
}

bool writer_is_in_link(const struct writer *writer) {
    for (unsigned i = 0; i < writer->mark_count; i++) {
        if (writer->marks[i].url != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether a character would be taken for a mark. */
static bool needs_escape(const struct writer *writer, const char *text, const char *at) {
    char before = at > text ? at[-1] : ' ';
    char after = at[1];
    switch (*at) {
    case '\\': return ispunct((unsigned char)after) != 0;
    case '`':
    case '*': return true;
    case '_': return !isalnum((unsigned char)before) || !isalnum((unsigned char)after);
    case '<': return isalpha((unsigned char)after) || after == '/' || after == '!';
    case '|': return writer->cells > 0;
    case ']': return writer_is_in_link(writer);
    case '#': return writer->is_at_start && (after == '#' || after == ' ' || after == '\0');
    case '>': return writer->is_at_start;
    case '+':
    case '-': return writer->is_at_start && (after == ' ' || after == *at || after == '\0');
    default: return false;
    }
}

void writer_text(struct writer *writer, const char *text) {
    for (const char *at = text; *at != '\0'; at++) {
        if (strchr(" \t\r\n\f", *at) != NULL) {
            writer->has_space = true;
            continue;
        }
        writer_before_text(writer);
        if (needs_escape(writer, text, at)) {
            text_add_string(&writer->out, "\\");
        }
        text_add(&writer->out, at, 1);
        /* "1. " at the beginning of a line would be a list. */
        bool is_number = writer->is_at_start && isdigit((unsigned char)*at);
        if (is_number && (at[1] == '.' || at[1] == ')')) {
            text_add_string(&writer->out, "\\");
        }
        writer->is_at_start = is_number;
        if (is_number && isdigit((unsigned char)at[1])) {
            while (isdigit((unsigned char)at[1])) {
                text_add(&writer->out, ++at, 1);
            }
            if (at[1] == '.' || at[1] == ')') {
                text_add_string(&writer->out, "\\");
            }
        }
        writer->is_at_start = false;
    }
}

/* Only what begins a line or a link's end in it must be coded. */
static void write_url(struct writer *writer, const char *url) {
    for (const char *at = url; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte <= ' ' || byte == '(' || byte == ')' || byte == '<' || byte == '>' ||
            byte == '\\' || byte == '|' || byte == 0x7f) {
            char coded[4];
            (void)snprintf(coded, sizeof coded, "%%%02X", byte);
            text_add_string(&writer->out, coded);
        } else {
            text_add(&writer->out, at, 1);
        }
    }
}

/* ------------------------------------------------------------------- links */

static bool has_scheme(const char *url, const char *scheme) {
    return strncasecmp(url, scheme, strlen(scheme)) == 0;
}

char *writer_resolve(const struct writer *writer, const char *url) {
    while (isspace((unsigned char)*url)) {
        url++;
    }
    size_t length = strlen(url);
    if (length == 0 || length >= URL_SIZE || url[0] == '#' || has_scheme(url, "javascript:") ||
        has_scheme(url, "data:") || has_scheme(url, "vbscript:")) {
        return NULL;
    }
    if (has_scheme(url, "mailto:") || has_scheme(url, "tel:")) {
        return strdup(url);
    }
    CURLU *parts = curl_url();
    unsigned flags = CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE;
    char *whole = NULL;
    char *copy = NULL;
    if (parts != NULL && curl_url_set(parts, CURLUPART_URL, writer->base, flags) == CURLUE_OK &&
        curl_url_set(parts, CURLUPART_URL, url, flags) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_URL, &whole, 0) == CURLUE_OK) {
        copy = strlen(whole) < URL_SIZE ? strdup(whole) : NULL;
        curl_free(whole);
    }
    curl_url_cleanup(parts);
    return copy;
}
