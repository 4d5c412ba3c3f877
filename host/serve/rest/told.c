#include "serve/rest/told.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/object.h"
#include "serve/rest/request.h"

/* Of a request, in its arena; guarded by its lock. */
struct told {
    uint32_t allowance; /* events of progress that may be sent now */
    uint64_t filled_ns; /* when it was last raised */
    char *waits;        /* progress that was not sent, or NULL */
    unsigned lines;
};

static const char *const levels[] = {"debug", "info", "warning", "error"};

/* -------------------------------------------------------------------- progress */

/* Whether one more may be sent now. Caller holds the request's lock. */
static bool allow(struct told *told) {
    uint64_t now_ns = clock_now_ns();
    uint64_t more = (now_ns - told->filled_ns) * TOLD_PROGRESS_RATE_S / CLOCK_NS_PER_S;
    if (more > 0) {
        uint64_t sum = told->allowance + more;
        told->filled_ns += more * CLOCK_NS_PER_S / TOLD_PROGRESS_RATE_S;
        told->allowance = (uint32_t)(sum < TOLD_PROGRESS_BURST ? sum : TOLD_PROGRESS_BURST);
    }
    if (told->allowance == 0) {
        return false;
    }
    told->allowance--;
    return true;
}

static void report_progress(void *user, double done, double total, const char *message) {
    struct rest_request *request = user;
    OBJECT_CHECK(request, REST_REQUEST_MAGIC);
    struct told *told = request->more;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    buf_add_text(&out, "{\"progress\":{\"done\":");
    buf_add_json_double(&out, done);
    buf_add_text(&out, ",\"total\":");
    buf_add_json_double(&out, total);
    buf_add_text(&out, ",\"message\":");
    if (message != NULL) {
        rest_add_string(&out, message);
    } else {
        buf_add_text(&out, "null");
    }
    buf_add_text(&out, "}}");
    if (out.failed) {
        return;
    }
    lock_take(&request->lock);
    bool is_allowed = allow(told);
    free(STEAL(told->waits)); /* of what was before */
    told->waits = is_allowed ? NULL : buf_steal(&out);
    lock_release(&request->lock);
    if (is_allowed) {
        rest_send(request, NULL, out.data, out.length);
    }
}

/* ------------------------------------------------------------------------- lines */

static void report_line(void *user, enum toolrack_log_level level, const char *line) {
    struct rest_request *request = user;
    OBJECT_CHECK(request, REST_REQUEST_MAGIC);
    struct told *told = request->more;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf last = BUF_INIT;
    lock_take(&request->lock);
    unsigned lines = told->lines;
    told->lines += lines < TOLD_LINES_MAX;
    lock_release(&request->lock);
    if (lines == TOLD_LINES_MAX) {
        return;
    }
    if (lines + 1 == TOLD_LINES_MAX) {
        buf_printf(&last, "the call logs more than %u lines; the others are left out",
                   TOLD_LINES_MAX);
        line = last.failed ? line : last.data;
    }
    buf_printf(&out, "{\"log\":{\"level\":\"%s\",\"line\":",
               (size_t)level < ARRAY_LENGTH(levels) ? levels[level] : "error");
    rest_add_string(&out, line);
    buf_add_text(&out, "}}");
    if (!out.failed) {
        rest_send(request, NULL, out.data, out.length);
    }
}

/* ------------------------------------------------------------------- begin and end */

bool told_begin(struct rest_request *request, struct toolrack_call_options *options) {
    struct told *told = arena_zalloc(&request->arena, sizeof *told);
    if (told == NULL) {
        return false;
    }
    told->allowance = TOLD_PROGRESS_BURST;
    told->filled_ns = clock_now_ns();
    request->more = told;
    options->progress = report_progress;
    options->log = report_line;
    rest_send(request, NULL, "", 0); /* the stream begins */
    return true;
}

void told_end(struct rest_request *request) {
    struct told *told = request->more;
    if (told == NULL) {
        return;
    }
    lock_take(&request->lock);
    CLEANUP(freep) char *waits = STEAL(told->waits);
    lock_release(&request->lock);
    if (waits != NULL) {
        rest_send(request, NULL, waits, strlen(waits));
    }
}
