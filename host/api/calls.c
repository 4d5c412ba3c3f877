#include <string.h>

#include "api/host.h"
#include "api/offer-request.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "registry/text.h"
#include "schema/arguments.h"

/* Calls of tools that return by themselves and that this thread is inside of. */
static _Thread_local unsigned returning_depth;

/* Run a call on the caller's own thread, without a queue, and without memory except the
 * result's. */
static int call_here(struct toolrack *host, struct toolrack_tool *tool, const char *arguments,
                     size_t length, yyjson_val *parsed, const struct toolrack_call_options *options,
                     const struct call_time *time, struct toolrack_result **ret,
                     struct toolrack_error *err) {
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    struct call call;
    call_init(&call, &host->calls, tool, options, memory, sizeof memory);
    call.started_ns = time->started_ns;
    atomic_init(&call.run.deadline_ns, call_time_deadline_ns(time));
    call.run.parsed = parsed;
    struct toolrack_result *result = NULL;
    int code = call_run(&call, arguments, length, &result, err);
    uint64_t duration_ns = call_record(&call, arguments, length, result, err, &call.cost);
    if (code == 0) {
        result->duration_ns = duration_ns;
        *ret = result;
    }
    call_finish(&call);
    return code;
}

/* Run a call with a deadline of a tool that returns by itself. A tool that calls itself without end
 * is refused, as on the threads of the pool: here the stack would end. */
static int call_returning(struct toolrack *host, struct toolrack_tool *tool, const char *arguments,
                          size_t length, yyjson_val *parsed,
                          const struct toolrack_call_options *options, const struct call_time *time,
                          struct toolrack_result **ret, struct toolrack_error *err) {
    if (returning_depth > POOL_DEPTH_MAX) {
        return pool_too_deep(tool, err);
    }
    returning_depth++;
    int code = call_here(host, tool, arguments, length, parsed, options, time, ret, err);
    returning_depth--;
    return code;
}

/* Run a call that has begun, and whose plugin was copied, if it may run. */
static int call_copied(struct toolrack *host, struct toolrack_tool *tool, const char *arguments,
                       size_t length, yyjson_val *parsed,
                       const struct toolrack_call_options *options, struct call_time time,
                       struct toolrack_result **ret, struct toolrack_error *err) {
    if (!call_is_free(tool)) {
        uint64_t asked_ns = clock_now_ns();
        int code = call_permit(&host->calls, tool, options, arguments, length, &host->calls.closing,
                               err);
        if (code < 0) {
            call_record_refused(&host->calls, tool, options, arguments, length, err, 0);
            return code;
        }
        time.started_ns += clock_now_ns() - asked_ns;
    }
    if (time.deadline_ms == 0 || call_is_isolated(tool)) {
        return call_here(host, tool, arguments, length, parsed, options, &time, ret, err);
    }
    if (atomic_load_explicit(&tool->reg->returns, memory_order_relaxed)) {
        return call_returning(host, tool, arguments, length, parsed, options, &time, ret, err);
    }
    return pool_call(host->pool, tool, arguments, length, options, &time, ret, err);
}

/* The time of a call that begins now. */
static struct call_time begin(const struct toolrack *host, const struct toolrack_tool *tool,
                              const struct toolrack_call_options *options) {
    return (struct call_time){.started_ns = clock_now_ns(),
                              .deadline_ms = call_deadline_ms(&host->calls, tool, options)};
}

int calls_make(struct toolrack *host, const char *name, struct toolrack_tool *tool,
               const char *arguments, size_t length, yyjson_val *parsed,
               const struct toolrack_call_options *options, struct toolrack_result **ret,
               struct toolrack_error *err) {
    struct toolrack_error unheard;
    // cppcheck-suppress uninitvar ; it is only written to
    err = err != NULL ? err : &unheard;
    if (host_check_process(host, err) < 0) {
        return err->code;
    }
    struct call_time time = begin(host, tool, options);
    if (!plugin_may_be_stale(tool->reg->plugin)) {
        return call_copied(host, tool, arguments, length, parsed, options, time, ret, err);
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *copied = toolrack_tool_ref(tool);
    int code = call_stage(&host->calls, name, &copied, options, &time, &host->calls.closing, err);
    if (code < 0) {
        call_record_refused(&host->calls, copied, options, arguments, length, err, time.started_ns);
        return code;
    }
    time.deadline_ms = call_deadline_ms(&host->calls, copied, options);
    return call_copied(host, copied, arguments, length, parsed, options, time, ret, err);
}

int toolrack_tool_call(struct toolrack *host, struct toolrack_tool *tool, const char *arguments,
                       size_t length, const struct toolrack_call_options *options,
                       struct toolrack_result **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return calls_make(host, NULL, tool, arguments, length, NULL, options, ret, err);
}

static size_t length_of(const char *arguments) {
    return arguments != NULL ? strlen(arguments) : 0;
}

int toolrack_call(struct toolrack *host, const char *name, const char *arguments,
                  const struct toolrack_call_options *options, struct toolrack_result **ret,
                  struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(tool_let_go)
    struct tool_hold hold = registry_hold(host->registry, name, shard_here());
    if (hold.tool == NULL) {
        return registry_not_called(host->registry, name, err);
    }
    return calls_make(host, name, hold.tool, arguments, length_of(arguments), NULL, options, ret,
                      err);
}

int toolrack_submit(struct toolrack *host, const char *name, const char *arguments,
                    const struct toolrack_call_options *options, toolrack_done *done, void *user,
                    struct toolrack_call **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(tool_let_go)
    struct tool_hold hold = registry_hold(host->registry, name, shard_here());
    if (hold.tool == NULL) {
        return registry_not_called(host->registry, name, err);
    }
    int code = host_check_process(host, err);
    if (code < 0) {
        return code;
    }
    struct call_time time = begin(host, hold.tool, options);
    /* For the app a job is a struct toolrack_call. */
    return pool_submit(host->pool, name, hold.tool, arguments, length_of(arguments), options, &time,
                       done, user, (struct job **)ret, err);
}

int toolrack_submit_tool(struct toolrack *host, struct toolrack_tool *tool, const char *arguments,
                         size_t length, const struct toolrack_call_options *options,
                         toolrack_done *done, void *user, struct toolrack_call **ret,
                         struct toolrack_error *err) {
    HOST_SCOPE(host);
    int code = host_check_process(host, err);
    if (code < 0) {
        return code;
    }
    struct call_time time = begin(host, tool, options);
    return pool_submit(host->pool, NULL, tool, arguments, length, options, &time, done, user,
                       (struct job **)ret, err);
}

int toolrack_source_start(struct toolrack *host, toolrack_take *take, void *user,
                          struct toolrack_source **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return pool_source_start(host->pool, take, user, (struct pool_source **)ret, err);
}

void toolrack_source_wait(struct toolrack_source *source) {
    pool_source_wait((struct pool_source *)source);
}

void toolrack_source_stop(struct toolrack_source *source) {
    pool_source_stop((struct pool_source *)source);
}

void toolrack_cancel(struct toolrack_call *call) {
    if (offering_cancel(call)) {
        return;
    }
    pool_cancel((struct job *)call);
}

void toolrack_call_unref(struct toolrack_call *call) {
    if (!offering_release(call)) {
        job_unref((struct job *)call);
    }
}

void toolrack_cancel_conversation(struct toolrack *host, const char *conversation) {
    HOST_SCOPE(host);
    if (conversation != NULL) {
        pool_cancel_conversation(host->pool, conversation);
    }
}

int toolrack_arguments_check(const struct toolrack_tool *tool, const char *arguments, size_t length,
                             struct toolrack_error *err) {
    return call_check_arguments(tool, arguments, length, err);
}

int toolrack_arguments(const struct toolrack_tool *tool, const char *json,
                       const char *const *values, size_t count, struct toolrack_text **ret,
                       struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    int code = arguments_build(toolrack_tool_schema(tool), json, values, count, &out, err);
    if (code < 0) {
        if (code == TOOLRACK_E_INVALID_ARGUMENTS) {
            error_set_tool(err, toolrack_tool_name(tool));
        }
        return code;
    }
    struct toolrack_text *text = text_create(&out);
    if (text == NULL) {
        return error_oom(err);
    }
    *ret = text;
    return 0;
}
