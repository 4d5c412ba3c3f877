#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "registry/text.h"
#include "schema/arguments.h"

/* Run a call on the caller's own thread, without a queue, and without memory except the
 * result's. */
static int call_here(struct toolrack *host, struct toolrack_tool *tool, const char *arguments,
                     size_t length, const struct toolrack_call_options *options,
                     uint32_t deadline_ms, struct toolrack_result **ret,
                     struct toolrack_error *err) {
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    struct call call;
    call_init(&call, &host->calls, tool, options, memory, sizeof memory);
    call.started_ns = clock_now_ns();
    if (deadline_ms != 0) {
        call.run.deadline_ns = call.started_ns + (uint64_t)deadline_ms * CLOCK_NS_PER_MS;
    }
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

int toolrack_tool_call(struct toolrack *host, struct toolrack_tool *tool, const char *arguments,
                       size_t length, const struct toolrack_call_options *options,
                       struct toolrack_result **ret, struct toolrack_error *err) {
    struct toolrack_error unheard;
    // cppcheck-suppress uninitvar ; it is only written to
    err = err != NULL ? err : &unheard;
    if (!call_is_free(tool)) {
        int code = call_permit(&host->calls, tool, options, arguments, length, err);
        if (code < 0) {
            call_record_refused(&host->calls, tool, options, arguments, length, err);
            return code;
        }
    }
    uint32_t deadline_ms = call_deadline_ms(&host->calls, tool, options);
    return deadline_ms == 0 || call_is_isolated(tool)
                   ? call_here(host, tool, arguments, length, options, deadline_ms, ret, err)
                   : pool_call(host->pool, tool, arguments, length, options, deadline_ms, ret, err);
}

static size_t length_of(const char *arguments) {
    return arguments != NULL ? strlen(arguments) : 0;
}

/* How often a file may be replaced between reading and copying before its call fails. */
#define STALE_TRIES_MAX 8

/* A plugin's file is copied at its first call. If the file was replaced before that, the tool that
 * was read cannot be called any more, but the tool in the new file can. After the copy is made,
 * changes of the file do not matter. Takes the reference on `tool`. */
static struct toolrack_tool *get_again(struct toolrack *host, const char *name,
                                       struct toolrack_tool *tool,
                                       const struct toolrack_call_options *options) {
    uint32_t most_ms = call_deadline_ms(&host->calls, tool, options);
    uint64_t until_ns = most_ms != 0 ? clock_now_ns() + (uint64_t)most_ms * CLOCK_NS_PER_MS : 0;
    for (unsigned i = 0; i < STALE_TRIES_MAX && tool != NULL; i++) {
        if (!plugin_may_be_stale(tool->reg->plugin) ||
            !life_refresh(host->life, tool->reg->plugin, until_ns)) {
            return tool;
        }
        toolrack_tool_unref(tool);
        tool = registry_get(host->registry, name);
    }
    return tool;
}

static struct toolrack_tool *get_tool(struct toolrack *host, const char *name,
                                      const struct toolrack_call_options *options) {
    struct toolrack_tool *tool = registry_get(host->registry, name);
    return tool == NULL || plugin_is_up(tool->reg->plugin) ||
                           !plugin_may_be_stale(tool->reg->plugin)
                   ? tool
                   : get_again(host, name, tool, options);
}

int toolrack_call(struct toolrack *host, const char *name, const char *arguments,
                  const struct toolrack_call_options *options, struct toolrack_result **ret,
                  struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = get_tool(host, name, options);
    if (tool == NULL) {
        return registry_not_called(host->registry, name, err);
    }
    return toolrack_tool_call(host, tool, arguments, length_of(arguments), options, ret, err);
}

int toolrack_submit(struct toolrack *host, const char *name, const char *arguments,
                    const struct toolrack_call_options *options, toolrack_done *done, void *user,
                    struct toolrack_call **ret, struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = get_tool(host, name, options);
    if (tool == NULL) {
        return registry_not_called(host->registry, name, err);
    }
    /* For the app a job is a struct toolrack_call. */
    return pool_submit(host->pool, tool, arguments, length_of(arguments), options,
                       call_deadline_ms(&host->calls, tool, options), done, user,
                       (struct job **)ret, err);
}

void toolrack_cancel(struct toolrack_call *call) {
    pool_cancel((struct job *)call);
}

void toolrack_call_unref(struct toolrack_call *call) {
    job_unref((struct job *)call);
}

void toolrack_cancel_conversation(struct toolrack *host, const char *conversation) {
    if (conversation != NULL) {
        pool_cancel_conversation(host->pool, conversation);
    }
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
