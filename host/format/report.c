#include "format/report.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

void format_report_text(struct buf *out, const char *text, size_t length) {
    if (utf8_valid(text, length)) {
        buf_add_json_string(out, text, length);
        return;
    }
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    for (size_t at = 0; at < length;) {
        size_t run = 1;
        while (run < 4 && at + run < length && !utf8_valid(text + at, run)) {
            run++;
        }
        if (utf8_valid(text + at, run)) {
            buf_add(&valid, text + at, run);
            at += run;
        } else {
            buf_add_text(&valid, "\xef\xbf\xbd");
            at++;
        }
    }
    out->failed = out->failed || valid.failed;
    buf_add_json_string(out, valid.data, valid.length);
}

void format_report_place(struct buf *out, const struct place *place) {
    if (place == NULL || place->up == NULL) {
        return;
    }
    format_report_place(out, place->up);
    if (place->key != NULL) {
        buf_add_pointer(out, place->key, strlen(place->key));
    } else if (place->index != PLACE_SAME) {
        buf_printf(out, "/%zu", place->index);
    }
}

static void add_pointer(struct buf *out, const struct place *place) {
    CLEANUP(buf_finish) struct buf pointer = BUF_INIT;
    format_report_place(&pointer, place);
    out->failed = out->failed || pointer.failed;
    buf_add_json_string(out, pointer.length > 0 ? pointer.data : "", pointer.length);
}

void format_report_add(const struct report *report, const char *kind, const struct place *place,
                       const char *format, ...) {
    struct buf *out = report->out;
    if (out == NULL) {
        return;
    }
    CLEANUP(buf_finish) struct buf what = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vprintf(&what, format, args);
    va_end(args);
    out->failed = out->failed || what.failed;
    buf_add_text(out, out->length > 0 ? ",{\"tool\":" : "{\"tool\":");
    format_report_text(out, report->tool, strlen(report->tool));
    buf_printf(out, ",\"kind\":\"%s\",\"at\":", kind);
    if (place != NULL) {
        add_pointer(out, place);
    } else {
        buf_add_text(out, "null");
    }
    buf_add_text(out, ",\"what\":");
    format_report_text(out, what.length > 0 ? what.data : "", what.length);
    buf_add_char(out, '}');
}
