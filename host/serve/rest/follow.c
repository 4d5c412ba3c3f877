/* The log as an event stream. The id of an event is that of the call, so a client that comes back
 * with Last-Event-ID misses nothing that the log still has. */
#include "serve/rest/follow.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/linked.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"

/* Calls that one read of the log gives, and reads for one client in a look, at most: one that is
 * far behind needs little memory, and keeps the others waiting for a moment only. */
#define AT_ONCE   200u
#define READS_MAX 50u

/* One that follows; of a request, in its arena. Listed in rest->followers, under its lock, with a
 * reference to the request. */
struct follower {
    struct follower *next;
    struct follower **link;
    struct rest_request *request;
    struct toolrack_log_filter filter; /* of the ticker's thread, once it is listed */
};

/* Take it out of the list. False: it was out already. */
static bool unlist(struct rest *rest, struct follower *follower) {
    LOCK_SCOPE(&rest->lock);
    bool was_listed = follower->link != NULL;
    LINKED_REMOVE(follower);
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

/* Send what is new up to a call, that one included. False: not all of it, the next look tries
 * again.
 */
static bool send_until(struct rest *rest, struct follower *follower, uint64_t until) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    follower->filter.before_id = until + 1;
    if (toolrack_log(rest->host, &follower->filter, &text, NULL) < 0) {
        return false;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read_exact(text);
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (yyjson_doc_get_root(read), at, count, call) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        const char *id = yyjson_get_raw(yyjson_obj_get(call, "id"));
        json_add_value(&out, call);
        if (out.failed) {
            return false;
        }
        rest_send(follower->request, id, out.data, out.length);
        follower->filter.after_id = id_of(call);
    }
    follower->filter.after_id = read != NULL ? until : follower->filter.after_id;
    return read != NULL;
}

/* Send what is new to one. Ids have no gaps but those of calls that were removed, so a read of so
 * many ids gives no more calls, and none is left out. */
static void send_new(struct rest *rest, struct follower *follower, uint64_t newest) {
    bool goes_on = true;
    for (unsigned i = 0; i < READS_MAX && goes_on && follower->filter.after_id < newest; i++) {
        uint64_t left = newest - follower->filter.after_id;
        goes_on = send_until(rest, follower,
                             follower->filter.after_id + (left < AT_ONCE ? left : AT_ONCE));
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

/* The id of the last call of the log; `after`, if there is none after that: to find so costs less.
 */
static int read_newest(struct rest *rest, uint64_t after, uint64_t *ret,
                       struct toolrack_error *err) {
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    filter.limit = 1;
    filter.after_id = after;
    filter.before_id = INT64_MAX; /* in the order of ids */
    int code = toolrack_log(rest->host, &filter, &text, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read_exact(text);
    uint64_t id = id_of(yyjson_arr_get_first(yyjson_doc_get_root(read)));
    *ret = id > after ? id : after;
    return read != NULL ? 0 : error_oom(err);
}

void rest_follow_look(struct rest *rest) {
    size_t count;
    uint64_t newest;
    uint64_t seen_by_all = UINT64_MAX;
    CLEANUP(freep) struct rest_request **list = collect(rest, &count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        const struct follower *follower = list[i]->more;
        uint64_t seen = follower->filter.after_id;
        seen_by_all = seen < seen_by_all ? seen : seen_by_all;
    }
    bool is_known = list != NULL && read_newest(rest, seen_by_all, &newest, NULL) == 0;
    for (size_t i = 0; list != NULL && i < count; i++) {
        if (is_known) {
            send_new(rest, list[i]->more, newest);
        }
        rest_request_unref(list[i]);
    }
}

/* -------------------------------------------------------------------- its beginning */

/* What belongs to a page says nothing of a stream. */
static bool check_query(struct rest_request *request) {
    static const char *const of_pages[] = {"before", "limit"};
    for (size_t i = 0; i < ARRAY_LENGTH(of_pages); i++) {
        if (rest_query(request, of_pages[i]) != NULL) {
            rest_refuse(request, TOOLRACK_E_INVALID,
                        "the parameter '%s' is of a page of the log, and an event stream has each "
                        "new call; leave it out, or accept application/json",
                        of_pages[i]);
            return false;
        }
    }
    return true;
}

/* Whether the log can be asked so: nobody is told later. */
static bool check_filter(struct rest_request *request, const struct toolrack_log_filter *filter) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_log_filter none = *filter;
    none.before_id = 1;
    if (toolrack_log(request->rest->host, &none, &text, rest_err(request)) < 0) {
        rest_fail(request);
        return false;
    }
    return true;
}

/* After which call a client goes on. One that is newer than all, such as of a log that was removed,
 * is the newest. False: it was refused. */
static bool read_last(struct rest_request *request, uint64_t newest, uint64_t *ret) {
    const char *last = request->last_event_id;
    uint64_t after =
            rest_query(request, "after") != NULL ? rest_query_number(request, "after") : newest;
    if (last != NULL && last[0] != '\0') {
        size_t length = strspn(last, "0123456789");
        if (last[length] != '\0') {
            rest_refuse(request, TOOLRACK_E_INVALID,
                        "the header Last-Event-ID must be the id of an event of this stream, a "
                        "whole number, not '%.64s'; leave it out to follow from now on",
                        last);
            return false;
        }
        after = strtoull(last, NULL, 10); /* what is beyond 64 bits is the highest number */
    }
    *ret = after < newest ? after : newest;
    return true;
}

static void list(struct rest *rest, struct follower *follower) {
    LOCK_SCOPE(&rest->lock);
    LINKED_ADD(&rest->followers, follower);
}

void rest_follow_begin(struct rest_request *request) {
    struct rest *rest = request->rest;
    struct follower *follower = arena_zalloc(&request->arena, sizeof *follower);
    uint64_t newest;
    char id[24];
    if (follower == NULL) {
        rest_oom(request);
        return;
    }
    if (read_newest(rest, 0, &newest, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    follower->request = request;
    records_filter(request, &follower->filter);
    follower->filter.limit = AT_ONCE;
    if (!check_query(request) || !check_filter(request, &follower->filter) ||
        !read_last(request, newest, &follower->filter.after_id)) {
        return;
    }
    request->more = follower;
    (void)snprintf(id, sizeof id, "%llu", (unsigned long long)follower->filter.after_id);
    rest_send(request, id, "", 0);
    (void)rest_request_ref(request);
    list(rest, follower);
    tick_hold(&rest->ticker);
    rest_leave_with(request, leave);
}
