#include "base/visible.h"

#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/hidden.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A JSON text on its way to `out`. Not recursive: the text may be nested very deeply. */
struct scan {
    const char *json;
    size_t length;
    size_t copied;  /* up to here it is in `out`, if something was found */
    bool in_choice; /* the last name was "enum" or "const" */
    struct buf *out;
    struct visible *found;
};

/* The end of the string literal whose quotation mark is at `at`. */
static size_t literal_end(const struct scan *scan, size_t at) {
    const char *end = scan->json + at + 1;
    const char *limit = scan->json + scan->length;
    for (; end < limit && *end != '"'; end++) {
        end += *end == '\\';
    }
    return end < limit ? (size_t)(end - scan->json) + 1 : scan->length;
}

/* Whether a character is written by its number. A search for the two bytes together takes eight
 * times as long, and each result of a tool is looked at. */
static bool has_number_escape(const char *text, size_t length) {
    const char *end = text + length;
    const char *at = memchr(text, '\\', length);
    while (at != NULL && end - at > 1) {
        if (at[1] == 'u') {
            return true;
        }
        at = memchr(at + 2, '\\', (size_t)(end - at) - 2);
    }
    return false;
}

static bool is_name(const struct scan *scan, size_t end) {
    while (end < scan->length && strchr(" \t\r\n", scan->json[end]) != NULL) {
        end++;
    }
    return end < scan->length && scan->json[end] == ':';
}

static void note(const struct scan *scan, uint32_t point, bool is_required) {
    struct visible *found = scan->found;
    if (!found->found || (is_required && !found->is_required)) {
        found->point = point;
    }
    found->found = true;
    found->is_required = found->is_required || is_required;
}

/* Take one literal, from its quotation mark up to the second. False: no memory. */
static bool take_literal(struct scan *scan, size_t at, size_t end) {
    const char *literal = scan->json + at;
    size_t length = end - at;
    uint32_t point = 0;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    const char *text = literal;
    size_t text_length = length;
    if (has_number_escape(literal, length)) {
        doc = yyjson_read(literal, length, YYJSON_READ_NOFLAG);
        text = yyjson_get_str(yyjson_doc_get_root(doc));
        text_length = yyjson_get_len(yyjson_doc_get_root(doc));
        if (text == NULL) {
            return false;
        }
    }
    bool name = is_name(scan, end);
    if (name) {
        scan->in_choice = (length == 6 && memcmp(literal, "\"enum\"", 6) == 0) ||
                          (length == 7 && memcmp(literal, "\"const\"", 7) == 0);
    }
    if (hidden_find(text, text_length, NULL, &point) == text_length) {
        return true;
    }
    note(scan, point, name || scan->in_choice);
    if (doc == NULL) {
        doc = yyjson_read(literal, length, YYJSON_READ_NOFLAG);
        text = yyjson_get_str(yyjson_doc_get_root(doc));
        text_length = yyjson_get_len(yyjson_doc_get_root(doc));
    }
    CLEANUP(buf_finish) struct buf shown = BUF_INIT;
    if (text != NULL) {
        hidden_add_visible(&shown, text, text_length);
    }
    buf_add(scan->out, scan->json + scan->copied, at - scan->copied);
    buf_add_json_string(scan->out, shown.data != NULL ? shown.data : "", shown.length);
    scan->copied = end;
    return text != NULL && !shown.failed;
}

bool visible_json(const char *json, size_t length, struct buf *out, struct visible *ret) {
    struct scan scan = {.json = json, .length = length, .out = out, .found = ret};
    *ret = (struct visible){0};
    if (!hidden_has(json, length) && !has_number_escape(json, length)) {
        return true;
    }
    for (const char *quote = memchr(json, '"', length); quote != NULL;) {
        size_t at = (size_t)(quote - json);
        size_t end = literal_end(&scan, at);
        if (!take_literal(&scan, at, end)) {
            return false;
        }
        quote = memchr(json + end, '"', length - end);
    }
    if (ret->found) {
        buf_add(out, json + scan.copied, length - scan.copied);
    }
    return !out->failed;
}
