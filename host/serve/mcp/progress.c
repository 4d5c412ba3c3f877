/* progress.c - see progress.h. */
#include "serve/mcp/progress.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "serve/mcp/request.h"

/* Of a request whose client wants it; in its arena, guarded by its lock. */
struct progress {
    struct request *request;
    const char *token; /* JSON text */
    double last;       /* told; each one is greater */
    bool begun;        /* one was told */
    bool silent;       /* nothing was told since the last sign of life */
    double done;       /* waits to be told: `waits` */
    double total;
    bool waits;
    uint32_t allowance; /* notifications that may be sent now */
    uint64_t filled_ns; /* when it was last raised */
    struct timer heartbeat;
};

/* What a sign of life adds: little, so that what the tool tells later is greater. */
#define SIGN_OF_LIFE 0.000001

bool progress_begin(struct request *request, yyjson_val *meta, const char **ret_problem) {
    *ret_problem = NULL;
    yyjson_val *token = yyjson_obj_get(meta, "progressToken");
    if (token == NULL) {
        return true;
    }
    size_t length = 0;
    yyjson_alc alc = arena_alc(&request->arena);
    struct progress *progress = arena_zalloc(&request->arena, sizeof *progress);
    if (progress == NULL) {
        return false;
    }
    progress->request = request;
    progress->token = rpc_scalar(token, &alc, &length);
    if (progress->token == NULL || length > RPC_ID_MAX) {
        *ret_problem = "_meta.progressToken must be a string or an integer";
        return false;
    }
    request->progress = progress;
    return true;
}

static void write_progress(struct buf *out, const struct progress *progress, double done,
                           double total, const char *message) {
    bool has_message = (progress->request->dialect->traits & DIALECT_NOTES) != 0;
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                      "{\"progressToken\":");
    buf_add_text(out, progress->token);
    buf_add_text(out, ",\"progress\":");
    buf_add_json_double(out, done);
    if (total > 0) {
        buf_add_text(out, ",\"total\":");
        buf_add_json_double(out, total);
    }
    if (message != NULL && has_message) {
        buf_add_text(out, ",\"message\":");
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        text_add_valid(&line, message, strlen(message));
        buf_add_json_string(out, line.data != NULL ? line.data : "", line.length);
    }
    buf_add_text(out, "}}");
}

/* Whether one more may be sent now. Caller holds the request's lock. */
static bool allow(struct progress *progress) {
    uint64_t now = clock_now_ns();
    if (progress->filled_ns == 0) {
        progress->filled_ns = now;
        progress->allowance = PROGRESS_BURST;
    }
    uint64_t more = (now - progress->filled_ns) * PROGRESS_RATE_S / CLOCK_NS_PER_S;
    if (more > 0) {
        progress->filled_ns += more * CLOCK_NS_PER_S / PROGRESS_RATE_S;
        uint64_t sum = progress->allowance + more;
        progress->allowance = (uint32_t)(sum < PROGRESS_BURST ? sum : PROGRESS_BURST);
    }
    if (progress->allowance == 0) {
        return false;
    }
    progress->allowance--;
    return true;
}

/* Caller holds the request's lock. */
static bool take(struct progress *progress, double done) {
    if (!(done - done == 0) || (progress->begun && !(done > progress->last))) {
        return false; /* not finite, or no progress */
    }
    progress->last = done;
    progress->begun = true;
    return true;
}

void progress_report(void *user, double done, double total, const char *message) {
    struct request *request = user;
    struct progress *progress = request->progress;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    lock_take(&request->lock);
    bool tells = false;
    if (!progress->begun || done > progress->last) {
        tells = allow(progress) && take(progress, done);
        progress->waits = !tells;
        progress->silent = !tells;
        progress->done = done;
        progress->total = total;
    }
    lock_release(&request->lock);
    if (tells) {
        write_progress(&out, progress, done, total, message);
        (void)request_send(request, &out);
    }
}

/* Tell the progress that waits, or (`lives`) that the call still runs. */
static void tell(struct request *request, bool lives) {
    struct progress *progress = request->progress;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    lock_take(&request->lock);
    double total = progress->waits ? progress->total : 0;
    double done = progress->waits ? progress->done : progress->last + SIGN_OF_LIFE;
    bool tells = !request->answered && (progress->waits || lives) && take(progress, done);
    const char *message = tells && !progress->waits ? "still running" : NULL;
    progress->waits = false;
    lock_release(&request->lock);
    if (tells) {
        write_progress(&out, progress, done, total, message);
        (void)request_send(request, &out);
    }
}

static void stop(struct request *request) {
    if (timer_clear(&request->mcp->timers, TIMER_HEARTBEAT, &request->progress->heartbeat)) {
        request_unref(request); /* the timer's */
    }
}

static void beat(struct timer *timer) {
    struct progress *progress =
            (struct progress *)((char *)timer - offsetof(struct progress, heartbeat));
    struct request *request = progress->request;
    lock_take(&request->lock);
    bool is_silent = progress->silent || progress->waits;
    progress->silent = true;
    lock_release(&request->lock);
    if (is_silent) {
        tell(request, true);
    }
    if (request_is_over(request) ||
        !timer_set(&request->mcp->timers, TIMER_HEARTBEAT, &progress->heartbeat)) {
        request_unref(request);
    } else if (request_is_over(request)) {
        stop(request); /* it ended meanwhile */
    }
}

static void tell_rest(struct request *request) {
    tell(request, false);
}

void progress_watch(struct request *request) {
    struct progress *progress = request->progress;
    progress->silent = true;
    progress->heartbeat.run = beat;
    request->before_answer = tell_rest;
    request->at_end = stop;
    (void)request_ref(request);
    if (!timer_set(&request->mcp->timers, TIMER_HEARTBEAT, &progress->heartbeat)) {
        request_unref(request);
    }
}
