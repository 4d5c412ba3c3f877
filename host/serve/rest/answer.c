/* How a request is answered: once, whatever comes first. */
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/linked.h"
#include "base/object.h"
#include "base/text.h"
#include "serve/rest/problem.h"
#include "serve/rest/request.h"
#include "view/failure.h"
#include "view/tool.h"

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)
CLEANUP_DEFINE(char, toolrack_free)

/* Bytes of an ETag before they become hexadecimal digits. */
#define TAG_SIZE ((REST_TAG_ROOM - 3u) / 2)

/* Take it out of the live ones: only who does may finish its exchange. Caller holds its lock. */
static struct exchange *take_exchange(struct rest_request *request) {
    struct exchange *exchange = request->exchange;
    request->exchange = NULL;
    return exchange;
}

static void unlist(struct rest_request *request) {
    struct rest *rest = request->rest;
    lock_take(&rest->lock);
    LINKED_REMOVE(request);
    lock_release(&rest->lock);
    rest_request_unref(request);
}

static void finish(struct rest_request *request, const struct exchange_answer *answer) {
    OBJECT_CHECK(request, REST_REQUEST_MAGIC);
    lock_take(&request->lock);
    struct exchange *exchange = take_exchange(request);
    lock_release(&request->lock);
    if (exchange == NULL) {
        if (answer->release != NULL) {
            answer->release(answer->lent);
        }
        return;
    }
    /* The transport may release what it is a member of; nobody looks for it any more then. */
    (void)rest_request_ref(request);
    unlist(request);
    exchange->calls->finish(exchange, answer);
    rest_request_unref(request);
}

/* ------------------------------------------------------------------- ETags */

void rest_make_tag(const char *text, size_t length, char ret[static REST_TAG_ROOM]) {
    unsigned char hash[TAG_SIZE];
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)text, length, NULL, 0);
    ret[0] = '"';
    (void)sodium_bin2hex(ret + 1, 2 * TAG_SIZE + 1, hash, sizeof hash);
    memcpy(ret + 1 + 2 * TAG_SIZE, "\"", 2);
}

/* Whether a list of entity tags, weak ones too, has this one. */
static bool has_tag(const char *list, const char *tag) {
    size_t length = strlen(tag);
    for (const char *at = list; *at != '\0';) {
        at += strspn(at, " \t,");
        if (*at == '*') {
            return true;
        }
        at += strncmp(at, "W/", 2) == 0 ? 2 : 0;
        if (strncmp(at, tag, length) == 0) {
            return true;
        }
        at += strcspn(at, ",");
    }
    return false;
}

/* ------------------------------------------------------------------ answers */

/* Finish with a text, or with 304 where the client has it. */
static void answer_tagged(struct rest_request *request, struct exchange_answer *answer,
                          const char *tag, const char *fields) {
    char made[REST_TAG_ROOM];
    CLEANUP(buf_finish) struct buf more = BUF_INIT;
    if (tag == NULL) {
        rest_make_tag(answer->text, answer->length, made);
        tag = made;
    }
    buf_printf(&more, "ETag: %s\r\nCache-Control: no-cache\r\n%s", tag,
               fields != NULL ? fields : "");
    answer->fields = more.data;
    if (request->if_none_match != NULL && has_tag(request->if_none_match, tag)) {
        answer->status = 304;
        answer->text = NULL;
        answer->length = 0;
    }
    finish(request, answer);
}

void rest_answer_json(struct rest_request *request, unsigned status, const char *text,
                      size_t length, const char *tag, const char *fields) {
    struct exchange_answer answer = {
            .status = (int)status, .text = text, .length = length, .fields = fields};
    if ((request->route->flags & ROUTE_TAGGED) != 0 && status == 200) {
        answer_tagged(request, &answer, tag, fields);
    } else {
        finish(request, &answer);
    }
}

void rest_answer_lent(struct rest_request *request, const char *text, size_t length,
                      const char *tag, void (*release)(void *lent), void *lent) {
    struct exchange_answer answer = {
            .status = 200, .text = text, .length = length, .release = release, .lent = lent};
    answer_tagged(request, &answer, tag, NULL);
}

void rest_answer_typed(struct rest_request *request, const char *type, const char *text,
                       size_t length) {
    finish(request, &(struct exchange_answer){.status = (int)request->route->status,
                                              .text = text,
                                              .length = length,
                                              .type = type});
}

yyjson_mut_val *rest_object(struct rest_request *request) {
    request->doc = json_new(&request->incomplete);
    return yyjson_mut_obj(request->doc);
}

void rest_answer(struct rest_request *request, yyjson_mut_val *root) {
    size_t length = 0;
    CLEANUP(freep) char *text = NULL;
    CLEANUP(buf_finish) struct buf told = BUF_INIT;
    if (request->doc != NULL && root != NULL && !request->incomplete) {
        yyjson_mut_doc_set_root(request->doc, root);
        text = json_write(request->doc, 0, NULL, &length);
    }
    if (text != NULL) { /* the places are no syntax of JSON, so it stays JSON */
        principal_add_message(&told, &request->principal, text, length);
    }
    if (text == NULL || told.failed) {
        rest_oom_done(request);
    } else {
        rest_answer_json(request, request->route->status, told.data, told.length, NULL, NULL);
    }
}

void rest_answer_text(struct rest_request *request, const char *key,
                      const struct toolrack_text *text) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    struct buf *out = &request->out;
    buf_printf(out, "{\"%s\":", key);
    principal_add_message(out, &request->principal, json, length);
    buf_add_char(out, '}');
    if (out->failed) {
        rest_oom_done(request);
    } else {
        rest_answer_json(request, request->route->status, out->data, out->length, NULL, NULL);
    }
}

void rest_answer_whole(struct rest_request *request, const struct toolrack_text *text) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    rest_answer_json(request, request->route->status, json, length, NULL, NULL);
}

void rest_answer_done(struct rest_request *request, const char *name, const char *key, bool value) {
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "name", name);
    (void)yyjson_mut_obj_add_bool(request->doc, root, key, value);
    view_add_reached(request->rest->host, request->doc, root);
    rest_answer(request, root);
}

/* ----------------------------------------------------------------- failures */

void rest_tell(const struct principal *principal, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf told = BUF_INIT;
    principal_add_message(&told, principal, err->message, strlen(err->message));
    if (told.failed) {
        (void)error_oom(err);
    } else if (told.data != NULL) { /* never longer than it was */
        (void)snprintf(err->message, sizeof err->message, "%s", told.data);
    }
}

void rest_fail_with(struct rest_request *request, const struct toolrack_error *err,
                    const char *detail, const char *near) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_error own = *err;
    unsigned status = problem_status(err);
    rest_tell(&request->principal, &own);
    problem_write(&out, status, &own, detail, near);
    finish(request, &(struct exchange_answer){.status = (int)status,
                                              .text = out.data,
                                              .length = out.length,
                                              .type = PROBLEM_TYPE,
                                              .is_begun = err->begun || err->from_tool});
}

void rest_fail_more(struct rest_request *request, const struct toolrack_error *err, const char *key,
                    const char *json) {
    CLEANUP(buf_finish) struct buf problem = BUF_INIT;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_error own = *err;
    unsigned status = problem_status(err);
    rest_tell(&request->principal, &own);
    problem_write(&problem, status, &own, NULL, NULL);
    if (problem.length > 0) { /* it is an object that is not empty */
        buf_add(&out, problem.data, problem.length - 1);
        buf_printf(&out, ",\"%s\":%s}", key, json);
    }
    if (problem.failed || out.failed) {
        rest_oom(request);
    } else {
        finish(request, &(struct exchange_answer){.status = (int)status,
                                                  .text = out.data,
                                                  .length = out.length,
                                                  .type = PROBLEM_TYPE});
    }
}

void rest_fail_of(struct rest_request *request, const struct toolrack_error *err) {
    struct toolrack_error own;
    view_take_error(&own, err);
    rest_fail_with(request, &own, NULL, NULL);
}

void rest_fail(struct rest_request *request) {
    rest_fail_of(request, request->err);
}

void rest_refuse_scope(struct rest_request *request, enum toolrack_permission permission) {
    struct toolrack_error err;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const char *scope = (size_t)permission < REST_SCOPES ? request->rest->scopes[permission] : NULL;
    (void)error_set(&err, TOOLRACK_E_PERMISSION_DENIED,
                    "the token may not call tools of the permission %s; get one with the scope "
                    "%.100s",
                    view_permission(permission), scope != NULL ? scope : "for it");
    problem_write(&out, 403, &err, NULL, NULL);
    finish(request, &(struct exchange_answer){.status = 403,
                                              .text = out.data,
                                              .length = out.length,
                                              .type = PROBLEM_TYPE,
                                              .missing_scope = scope});
}

void rest_refuse(struct rest_request *request, int code, const char *format, ...) {
    struct toolrack_error err;
    va_list args;
    va_start(args, format);
    (void)error_setv(&err, code, NULL, format, args);
    va_end(args);
    rest_fail_with(request, &err, NULL, NULL);
}

void rest_oom(struct rest_request *request) {
    struct toolrack_error err;
    (void)error_oom(&err);
    rest_fail_with(request, &err, NULL, NULL);
}

void rest_oom_done(struct rest_request *request) {
    struct toolrack_error err;
    (void)error_oom(&err);
    error_set_begun(&err, strcmp(request->route->method, "GET") != 0);
    rest_fail_with(request, &err, NULL, NULL);
}

bool rest_shows(const struct rest_request *request, const struct toolrack_tool *tool) {
    bool is_held = toolrack_tool_state(tool) == TOOLRACK_STATE_CHANGED;
    return subset_has(&request->rest->subset, &request->principal, tool) &&
           (request->principal.admin || !is_held);
}

/* What is not shown is as if it were not there: of versions, too. */
static bool shows(void *user, const struct toolrack_tool *tool) {
    return rest_shows(user, tool);
}

void rest_fail_unknown(struct rest_request *request, const char *name) {
    struct rest *rest = request->rest;
    bool is_part = subset_is_part(&rest->subset, &request->principal);
    const struct view_asker asker = {.suggest = is_part                    ? NULL
                                                : request->principal.admin ? toolrack_suggest
                                                                           : toolrack_suggest_call,
                                     .shows = shows,
                                     .user = request,
                                     .hides_refused = is_part ||
                                                      !principal_knows_places(&request->principal),
                                     .list = is_part ? "GET /api/tools" : NULL};
    struct toolrack_error err;
    CLEANUP(freep) char *near = NULL;
    CLEANUP(buf_finish) struct buf detail = BUF_INIT;
    view_not_found(rest->host, name, &asker, &near, &err);
    buf_printf(&detail, "Tool '%s' not found", name);
    rest_fail_with(request, &err, detail.data, near);
}

void rest_fail_named(struct rest_request *request, int code, const char *name) {
    struct toolrack *host = request->rest->host;
    struct toolrack_error err;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = name != NULL ? toolrack_get(host, name) : NULL;
    if (code != TOOLRACK_E_NOT_FOUND || name == NULL || tool != NULL) {
        rest_fail(request);
        return;
    }
    CLEANUP(buf_finish) struct buf detail = BUF_INIT;
    CLEANUP(toolrack_freep) char *near = toolrack_suggest(host, name);
    buf_printf(&detail, "Tool '%s' not found", name);
    view_take_error(&err, request->err);
    rest_fail_with(request, &err, detail.data, near);
}

/* ------------------------------------------------------------------ streams */

void rest_send(struct rest_request *request, const char *id, const char *text, size_t length) {
    LOCK_SCOPE(&request->lock);
    if (request->exchange != NULL) {
        request->exchange->calls->send(request->exchange, id, text, length);
    }
}

void rest_end_stream(struct rest_request *request) {
    finish(request, &(struct exchange_answer){.status = 200});
}

void rest_leave_with(struct rest_request *request, void (*leave)(struct rest_request *request)) {
    struct rest *rest = request->rest;
    lock_take(&request->lock);
    request->leave = leave;
    request->follows = true;
    bool is_gone = request->gone;
    lock_release(&request->lock);
    /* Only now: who begins to drain later finds a stream that follows. */
    lock_take(&rest->lock);
    is_gone = is_gone || rest->draining;
    lock_release(&rest->lock);
    if (is_gone) {
        leave(request);
    }
}

void rest_add_string(struct buf *out, const char *text) {
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    text_add_valid(&valid, text, strlen(text));
    buf_add_json_string(out, valid.data != NULL ? valid.data : "", valid.length);
    out->failed = out->failed || valid.failed;
}
