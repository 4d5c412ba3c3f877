/* What was recorded: calls, statistics, decisions. */
#include <string.h>

#include "serve/rest/follow.h"
#include "serve/rest/handlers.h"
#include "serve/rest/problem.h"
#include "serve/rest/request.h"
#include "toolrack/records.h"

/* Of a page of the log. */
#define PAGE_DEFAULT 100u

static uint32_t page_size(const struct rest_request *request) {
    uint64_t limit = rest_query_number(request, "limit");
    return limit != 0 ? (uint32_t)limit : PAGE_DEFAULT;
}

/* Whether each outcome is one that a call can have: of others there are no calls, which would look
 * as if none had ended so. */
static bool check_outcomes(struct rest_request *request) {
    const char *at = rest_query(request, "outcomes");
    while (at != NULL) {
        size_t length = strcspn(at, ",");
        bool is_ok = length == 2 && memcmp(at, "ok", 2) == 0;
        if (!is_ok && problem_status_of(at, length) == 0) {
            rest_refuse(request, TOOLRACK_E_INVALID,
                        "there is no outcome '%.*s'; an outcome is ok, or a type of error such as "
                        "Timeout (the enumeration in Problem of GET /api/openapi.json)",
                        (int)(length < 64 ? length : 64), at);
            return false;
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return true;
}

void records_filter(const struct rest_request *request, struct toolrack_log_filter *ret) {
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    uint64_t before = rest_query_number(request, "before");
    filter.tool = rest_query(request, "tool");
    filter.since_ms = (int64_t)rest_query_number(request, "since_ms");
    filter.after_id = rest_query_number(request, "after");
    /* A bound, so that pages are in the order of ids, which is that in which lines were written. */
    filter.before_id = before != 0 ? before : INT64_MAX;
    filter.limit = page_size(request);
    filter.errors = rest_query_true(request, "errors");
    filter.caller = rest_query(request, "caller");
    filter.conversation = rest_query(request, "conversation");
    filter.outcomes = rest_query(request, "outcomes");
    *ret = filter;
}

void records_log(struct rest_request *request) {
    struct toolrack_log_filter filter;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (!check_outcomes(request)) {
        return;
    }
    if (request->prefers_events) {
        rest_follow_begin(request);
        return;
    }
    records_filter(request, &filter);
    if (toolrack_log(request->rest->host, &filter, &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, "calls", text);
    }
}

void records_call(struct rest_request *request) {
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    filter.id = rest_part(request, "id");
    if (toolrack_log(request->rest->host, &filter, &text, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read_exact(text);
    yyjson_val *call = yyjson_arr_get_first(yyjson_doc_get_root(read));
    const char *id = yyjson_get_raw(yyjson_obj_get(call, "id"));
    if (id == NULL || strncmp(id, filter.id, strlen(filter.id)) != 0 ||
        strspn(id, "0123456789") != strlen(filter.id)) {
        rest_refuse(request, TOOLRACK_E_NOT_FOUND, "there is no call %.32s in the log", filter.id);
        return;
    }
    (void)rest_object(request);
    rest_answer(request, yyjson_val_mut_copy(request->doc, call));
}

void records_statistics(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    const char *tool = rest_query(request, "tool");
    int code = toolrack_statistics(request->rest->host, tool, &text, rest_err(request));
    if (code < 0) {
        rest_fail_named(request, code, tool);
    } else {
        rest_answer_text(request, "statistics", text);
    }
}

void records_feedback(struct rest_request *request) {
    const char *tool = rest_text(request, "tool");
    const char *word = rest_text(request, "feedback");
    bool is_good = strcmp(word, "good") == 0;
    int code = toolrack_feedback(request->rest->host, tool, is_good, rest_number(request, "call"),
                                 rest_who(request), rest_err(request));
    if (code < 0) {
        rest_fail_named(request, code, tool);
        return;
    }
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "name", tool);
    json_add_text(request->doc, root, "feedback", word);
    rest_answer(request, root);
}

void records_decisions(struct rest_request *request) {
    struct toolrack_decisions_filter filter = TOOLRACK_DECISIONS_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    filter.tool = rest_query(request, "tool");
    filter.plugin = rest_query(request, "plugin");
    filter.since_ms = (int64_t)rest_query_number(request, "since_ms");
    filter.limit = page_size(request);
    if (toolrack_decisions(request->rest->host, &filter, &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, "decisions", text);
    }
}
