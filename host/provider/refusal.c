#include "provider/refusal.h"

#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Append the provider's error: its message if it has one, else the start of its text. */
#define REASON_LENGTH_MAX 400u

static void add_reason(struct buf *out, const struct buf *text) {
    static const char *const places[] = {"/error/message", "/0/error/message", "/error", "/message",
                                         "/detail"};
    if (text->length == 0) {
        buf_add_text(out, "no reason given");
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text->data, text->length, 0);
    if (text->data[strspn(text->data, " \t\r\n")] == '<') {
        buf_add_text(out, "a page of HTML; is this the address of a model?");
        return;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        yyjson_val *reason = yyjson_doc_ptr_get(doc, places[i]);
        if (yyjson_is_str(reason)) {
            size_t length = yyjson_get_len(reason);
            buf_add(out, yyjson_get_str(reason),
                    utf8_cut(yyjson_get_str(reason),
                             length < REASON_LENGTH_MAX ? length : REASON_LENGTH_MAX));
            return;
        }
    }
    buf_add(out, text->data,
            utf8_cut(text->data,
                     text->length < REASON_LENGTH_MAX ? text->length : REASON_LENGTH_MAX));
}

/* The two places are those of Azure's errors. */
enum toolrack_ending refusal_ending(const struct http_response *response) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = response->text.length > 0
                              ? yyjson_read(response->text.data, response->text.length, 0)
                              : NULL;
    return yyjson_equals_str(yyjson_doc_ptr_get(doc, "/error/code"), "content_filter") ||
                           yyjson_equals_str(yyjson_doc_ptr_get(doc, "/error/innererror/code"),
                                             "ResponsibleAIPolicyViolation")
                   ? TOOLRACK_ENDING_CONTENT_FILTER
                   : TOOLRACK_ENDING_NONE;
}

static int code_of(const struct http_response *response) {
    if (refusal_ending(response) == TOOLRACK_ENDING_CONTENT_FILTER) {
        return TOOLRACK_E_REFUSED;
    }
    switch (response->status) {
    case 401:
    case 403: return TOOLRACK_E_PERMISSION_DENIED;
    case 404: return TOOLRACK_E_NOT_FOUND;
    case 408:
    case 504: return TOOLRACK_E_TIMEOUT;
    case 413:
    case 429: return TOOLRACK_E_LIMIT_EXCEEDED;
    case 500:
    case 502:
    case 503:
    case 529: return TOOLRACK_E_IO;
    default: return TOOLRACK_E_EXECUTION_FAILED;
    }
}

int refusal_set(const struct refusal *refusal, struct toolrack_error *err) {
    const struct http_response *response = refusal->response;
    const struct key *key = refusal->key;
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    add_reason(&reason, &response->text);
    if (reason.failed) {
        return error_oom(err);
    }
    utf8_make_line(reason.data);
    if (response->status >= 300 && response->status < 400) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s answers %ld, a redirect, which is not followed: give the final URL %s",
                         refusal->url, response->status, refusal->place);
    }
    bool lacks_key = response->status == 401 && key->value == NULL && key->variable != NULL;
    CLEANUP(buf_finish) struct buf end = BUF_INIT;
    if (refusal->tries > 1) {
        buf_printf(&end, ", %u times", refusal->tries);
    }
    buf_printf(&end, ": %s%s%s", reason.data, lacks_key ? "; set the environment variable " : "",
               lacks_key ? key->variable : "");
    return end.failed ? error_oom(err)
                      : error_set(err, code_of(response), "%s answers %ld%s", refusal->url,
                                  response->status, end.data);
}
