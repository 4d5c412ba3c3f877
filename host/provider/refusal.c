#include "provider/refusal.h"

#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"
#include "net/retry.h"

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

void refusal_add_reason(const struct http_response *response, struct buf *out) {
    size_t before = out->length;
    add_reason(out, &response->text);
    if (!out->failed) {
        utf8_make_line(out->data + before);
    }
}

/* Gemini's errors come alone, or in an array. */
static yyjson_val *error_in(yyjson_doc *doc) {
    yyjson_val *error = yyjson_doc_ptr_get(doc, "/error");
    return error != NULL ? error : yyjson_doc_ptr_get(doc, "/0/error");
}

/* Read Google's RetryInfo among the details of an error. */
static bool read_retry_info(yyjson_val *error, uint32_t *ret_ms) {
    size_t at;
    size_t count;
    yyjson_val *detail;
    yyjson_arr_foreach (yyjson_obj_get(error, "details"), at, count, detail) {
        if (yyjson_equals_str(yyjson_obj_get(detail, "@type"),
                              "type.googleapis.com/google.rpc.RetryInfo")) {
            return retry_delay(yyjson_get_str(yyjson_obj_get(detail, "retryDelay")), ret_ms);
        }
    }
    return false;
}

/* OpenAI answers 429 also where only money helps. */
static bool is_used_up(yyjson_val *error) {
    static const char *const words[] = {"insufficient_quota", "billing_hard_limit_reached",
                                        "billing_not_active"};
    bool is_so = false;
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        is_so = is_so || yyjson_equals_str(yyjson_obj_get(error, "code"), words[i]) ||
                yyjson_equals_str(yyjson_obj_get(error, "type"), words[i]);
    }
    return is_so;
}

bool refusal_may_pass(const struct http_response *response, uint32_t *ret_ms) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = response->text.length > 0
                              ? yyjson_read(response->text.data, response->text.length, 0)
                              : NULL;
    yyjson_val *error = error_in(doc);
    *ret_ms = response->has_retry_after ? response->retry_after_ms : 0;
    if (!response->has_retry_after) {
        (void)read_retry_info(error, ret_ms);
    }
    return !response->is_final && !is_used_up(error) &&
           (response->is_worth_retry || retry_is_worthwhile(response->status));
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

static bool has_used_up(const struct http_response *response) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = response->text.length > 0
                              ? yyjson_read(response->text.data, response->text.length, 0)
                              : NULL;
    return is_used_up(error_in(doc));
}

/* What to do, behind what the provider says. */
static void add_advice(struct buf *out, const struct refusal *refusal) {
    const struct http_response *response = refusal->response;
    const struct key *key = refusal->key;
    uint32_t wait_ms;
    if (has_used_up(response)) {
        buf_add_text(out, "; no wait helps: see to the account of the key, or ask another model");
    } else if (refusal_ending(response) == TOOLRACK_ENDING_CONTENT_FILTER) {
        buf_add_text(out, "; change the task, or ask another model");
    } else if (response->status == 401 && key->variable != NULL) {
        buf_printf(out,
                   key->value == NULL ? "; set the environment variable %s"
                                      : "; check the key in the environment variable %s",
                   key->variable);
    } else if (refusal_may_pass(response, &wait_ms) && wait_ms == 0) { /* else it says when */
        buf_add_text(out, "; try again later");
    } else if (refusal->advice != NULL) {
        buf_printf(out, "; %s", refusal->advice);
    }
}

int refusal_set(const struct refusal *refusal, struct toolrack_error *err) {
    const struct http_response *response = refusal->response;
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
    CLEANUP(buf_finish) struct buf end = BUF_INIT;
    if (refusal->tries > 1) {
        buf_printf(&end, ", %u times", refusal->tries);
    }
    buf_printf(&end, ": %s", reason.data);
    add_advice(&end, refusal);
    if (end.failed) {
        return error_oom(err);
    }
    int code = error_set(err, code_of(response), "%s answers %ld%s", refusal->url, response->status,
                         end.data);
    if (err != NULL) {
        err->lasting = has_used_up(response);
    }
    return code;
}
