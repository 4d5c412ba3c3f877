/* The log as an event stream. The id of an event is that of the call, so a client that comes back
 * with Last-Event-ID misses nothing that the log still has. */
#include "serve/rest/follow.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"

/* Calls that one look sends to one client, at most. */
#define AT_ONCE 10000u

/* One that follows; of a request, in its arena. Listed in rest->followers, under its lock, with a
 * reference to the request. */
struct follower {
    struct follower *next;
    struct follower **link;
    struct rest_request *request;
    /* Of the ticker's thread, once it is listed: */
    struct toolrack_log_filter filter;
    uint64_t looked_id; /* the last call of the log when it was looked through */
};

/* It was not looked through, or not to its end. */
#define NOT_LOOKED UINT64_MAX

/* Take it out of the list. False: it was out already. */
static bool unlist(struct rest *rest, struct follower *follower) {
    LOCK_SCOPE(&rest->lock);
    bool was_listed = follower->link != NULL;
    if (was_listed) {
        *follower->link = follower->next;
        if (follower->next != NULL) {
            follower->next->link = follower->link;
        }
        follower->link = NULL;
    }
    return was_listed;
}

static void leave(struct rest_request *request) {
    struct rest *rest = request->rest;
    if (unlist(rest, request->more)) {
        tick_release(&rest->ticker);
        rest_end_stream(request);
        rest_request_unref(request);
    }
}

static uint64_t id_of(yyjson_val *call) {
    const char *digits = yyjson_get_raw(yyjson_obj_get(call, "id"));
    return digits != NULL ? strtoull(digits, NULL, 10) : 0;
}

/* The id of the last call of the log, or 0. */
static uint64_t last_id(struct rest *rest) {
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    filter.limit = 1;
    filter.before_id = INT64_MAX;
    if (toolrack_log(rest->host, &filter, &text, NULL) < 0) {
        return 0;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read_exact(text);
    return id_of(yyjson_arr_get_first(yyjson_doc_get_root(read)));
}

/* Send what is new to one. Without a new call in the log there is nothing to look for. */
static void send_new(struct rest *rest, struct follower *follower, uint64_t last) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (follower->looked_id == last ||
        toolrack_log(rest->host, &follower->filter, &text, NULL) < 0) {
        return; /* the next look tries again */
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read_exact(text);
    yyjson_val *calls = yyjson_doc_get_root(read);
    size_t at;
    size_t count;
    yyjson_val *call;
    follower->looked_id = read != NULL && yyjson_arr_size(calls) < AT_ONCE ? last : NOT_LOOKED;
    yyjson_arr_foreach (calls, at, count, call) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        const char *id = yyjson_get_raw(yyjson_obj_get(call, "id"));
        json_add_value(&out, call);
        if (!out.failed && id_of(call) > follower->filter.after_id) {
            rest_send(follower->request, id, out.data, out.length);
            follower->filter.after_id = id_of(call);
        }
    }
}

/* Those that follow now, each with a reference; NULL: none, or no memory. */
static struct rest_request **collect(struct rest *rest, size_t *ret_count) {
    size_t count = 0;
    *ret_count = 0;
    LOCK_SCOPE(&rest->lock);
    for (struct follower *at = rest->followers; at != NULL; at = at->next) {
        count++;
    }
    struct rest_request **list = count > 0 ? calloc(count, sizeof *list) : NULL;
    for (struct follower *at = rest->followers; list != NULL && at != NULL; at = at->next) {
        list[(*ret_count)++] = rest_request_ref(at->request);
    }
    return list;
}

void rest_follow_look(struct rest *rest) {
    size_t count;
    CLEANUP(freep) struct rest_request **list = collect(rest, &count);
    uint64_t last = list != NULL ? last_id(rest) : 0;
    for (size_t i = 0; list != NULL && i < count; i++) {
        send_new(rest, list[i]->more, last);
        rest_request_unref(list[i]);
    }
}

void rest_follow_begin(struct rest_request *request) {
    struct rest *rest = request->rest;
    struct follower *follower = arena_zalloc(&request->arena, sizeof *follower);
    if (follower == NULL) {
        rest_oom(request);
        return;
    }
    char id[24];
    const char *last = request->last_event_id;
    follower->request = request;
    records_filter(request, &follower->filter);
    follower->filter.before_id = INT64_MAX; /* in the order of ids */
    follower->filter.limit = AT_ONCE;
    if (last != NULL && last[0] != '\0' && strspn(last, "0123456789") == strlen(last)) {
        follower->filter.after_id = strtoull(last, NULL, 10);
    } else if (follower->filter.after_id == 0) {
        follower->filter.after_id = last_id(rest);
    }
    follower->looked_id = NOT_LOOKED;
    request->more = follower;
    (void)snprintf(id, sizeof id, "%llu", (unsigned long long)follower->filter.after_id);
    rest_send(request, id, "", 0);
    (void)rest_request_ref(request);
    lock_take(&rest->lock);
    follower->next = rest->followers;
    follower->link = &rest->followers;
    if (follower->next != NULL) {
        follower->next->link = &follower->next;
    }
    rest->followers = follower;
    lock_release(&rest->lock);
    tick_hold(&rest->ticker);
    rest_leave_with(request, leave);
}
