#include "call/call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"

/* Most values that a typed tool takes from its arguments without more memory. */
#define SLOTS_ON_STACK 32

void call_init(struct call *call, const struct call_host *host, struct toolrack_tool *tool,
               const struct toolrack_call_options *options, void *memory, size_t size) {
    /* Field by field: the error inside is large, and is written only when it is needed. */
    call->base.api = &call_api;
    call->host = host;
    call->tool = tool;
    if (options != NULL && options->size >= sizeof call->options) {
        call->options = *options;
    } else {
        memset(&call->options, 0, sizeof call->options);
        if (options != NULL) {
            memcpy(&call->options, options, options->size);
        }
    }
    call->started_ns = 0;
    call->deadline_ns = 0;
    atomic_init(&call->cancelled, false);
    call->gate = NULL;
    call->step = NULL;
    call->step_user = NULL;
    arena_init(&call->arena, memory, size);
    call->arena.size_max = CALL_MEMORY_MAX;
    call->arguments_text = NULL;
    call->arguments_length = 0;
    call->arguments = NULL;
    call->arguments_filled = false;
    call->given_arguments = NULL;
    call->given_length = 0;
    call->first_block = NULL;
    call->last_block = NULL;
    call->block_count = 0;
    call->has_json = false;
    call->structured = NULL;
    call->writer = (struct writer){0};
    call->reply_size = 0;
    call->failed = false;
}

void call_finish(struct call *call) {
    buf_finish(&call->writer.text);
    arena_finish(&call->arena);
}

uint32_t call_deadline_ms(const struct call_host *host, const struct toolrack_tool *tool,
                          const struct toolrack_call_options *options) {
    uint32_t asked = options != NULL ? options->deadline_ms : 0;
    if (asked == TOOLRACK_NO_DEADLINE) {
        return 0;
    }
    uint32_t own = toolrack_tool_deadline_ms(tool);
    return asked != 0 ? asked : own != 0 ? own : host->deadline_ms;
}

/* ----------------------------------------------------------------- permit */

int call_permit(const struct call *call, struct toolrack_error *err) {
    const struct toolrack_tool *tool = call->tool;
    const char *name = toolrack_tool_name(tool);
    if (!tool->enabled) {
        return error_set(err, TOOLRACK_E_DISABLED, "Tool '%s' is disabled; enable it first", name);
    }
    switch (toolrack_tool_permission(tool)) {
    case TOOLRACK_SAFE: return 0;
    case TOOLRACK_CONFIRM:
        return call->options.confirmed
                       ? 0
                       : error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                                   "Tool '%s' runs only after a person agreed to this call", name);
    case TOOLRACK_DANGEROUS:
        return call->host->granted != NULL && call->host->granted(call->host->user, tool)
                       ? 0
                       : error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                                   "Tool '%s' is dangerous and nothing grants it; an administrator "
                                   "can, by listing it in \"grants\" of the configuration",
                                   name);
    }
    return error_set(err, TOOLRACK_E_PERMISSION_DENIED, "Tool '%s' has no known permission", name);
}

/* ------------------------------------------------------------------- fail */

tr_status call_fail(struct call *call, int error_code, tr_status code, const char *field,
                    const char *format, ...) {
    if (!call->failed) {
        call->failed = true;
        va_list args;
        va_start(args, format);
        (void)error_setv(&call->error, error_code, field, format, args);
        va_end(args);
    }
    return code;
}

/* -------------------------------------------------------------- arguments */

static int no_memory(const struct call *call, struct toolrack_error *err) {
    return call->arena.limited
                   ? error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "the call takes more than the %u bytes of memory allowed",
                               CALL_MEMORY_MAX)
                   : error_oom(err);
}

static int parse(struct call *call, const char *text, size_t length, struct toolrack_error *err) {
    if (length == 0) {
        text = "{}";
        length = 2;
    }
    if (length > TOOLRACK_ARGUMENTS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the arguments have %zu bytes, more than the %u allowed", length,
                         TOOLRACK_ARGUMENTS_MAX);
    }
    call->arguments_text = text;
    call->arguments_length = length;
    yyjson_alc alc = arena_alc(&call->arena);
    yyjson_read_err why;
    /* Without the in-situ flag yyjson only reads the text, though its type does not say so. */
    yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_NOFLAG, &alc, &why);
    if (doc == NULL) {
        return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                       ? no_memory(call, err)
                       : error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                                   "the arguments are not JSON: %s at byte %zu", why.msg, why.pos);
    }
    call->arguments = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(call->arguments)) {
        return error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                         "the arguments must be one JSON object, such as {\"key\": \"value\"}, "
                         "not %s %s",
                         yyjson_is_arr(call->arguments) ? "an" : "a",
                         yyjson_get_type_desc(call->arguments));
    }
    return 0;
}

static int refuse_arguments(const struct schema_failure *failure, struct toolrack_error *err) {
    return error_set_field(err, failure->code, failure->field, "%s", failure->reason);
}

static int fill_defaults(struct call *call, const struct prepared *prepared,
                         struct toolrack_error *err) {
    if (!schema_has_defaults(prepared->schema)) {
        return 0;
    }
    yyjson_alc alc = arena_alc(&call->arena);
    yyjson_val *filled = NULL;
    int code = schema_fill_defaults(prepared->schema, call->arguments, &alc, &filled, err);
    if (code == 0 && filled != call->arguments) {
        call->arguments = filled;
        call->arguments_filled = true;
    }
    return code;
}

/* -------------------------------------------------------------------- run */

static bool may_take(const struct call *call, enum call_step step) {
    return call->step == NULL || call->step(call->step_user, step);
}

static int given_up(struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_CANCELLED, "the call was given up before it began");
}

/* A plugin that is not thread safe runs one call at a time. */
static int enter_plugin(struct call *call, struct toolrack_error *err) {
    struct plugin *plugin = call->tool->reg->plugin;
    const char *id = plugin->desc->plugin->id;
    unsigned stuck = atomic_load_explicit(&plugin->stuck, memory_order_relaxed);
    if (stuck >= PLUGIN_STUCK_MAX) {
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "plugin '%s' is stuck: %u of its calls did not return, and it may hold no "
                         "more threads than that",
                         id, stuck);
    }
    if (!plugin->serial) {
        return 0;
    }
    switch (plugin_take_turn(plugin, call, call->deadline_ns, &call->cancelled)) {
    case PLUGIN_TURN_TAKEN: return 0;
    case PLUGIN_TURN_STUCK:
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "plugin '%s' is stuck in a call that did not return, and runs one call at "
                         "a time",
                         id);
    case PLUGIN_TURN_OWN:
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "plugin '%s' calls itself, and runs one call at a time", id);
    case PLUGIN_TURN_CANCELLED: return given_up(err);
    case PLUGIN_TURN_LATE: break;
    }
    return error_set(err, TOOLRACK_E_TIMEOUT,
                     "plugin '%s' was busy until the deadline; it runs one call at a time", id);
}

static void leave_plugin(struct call *call) {
    if (call->tool->reg->plugin->serial) {
        plugin_give_turn(call->tool->reg->plugin);
    }
}

int call_late(const struct call *call, const char *why, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_TIMEOUT, "Tool '%s' did not finish within its deadline%s",
                     toolrack_tool_name(call->tool), why);
}

/* A tool that listens ends by itself at its deadline, perhaps before its caller looks: that is a
 * Timeout all the same, unless somebody cancelled it. */
static bool is_late(const struct call *call) {
    return call->deadline_ns != 0 && clock_now_ns() >= call->deadline_ns &&
           !atomic_load_explicit(&call->cancelled, memory_order_relaxed);
}

/* What the tool reported by tr_fail(), or by its status alone. */
static int outcome(struct call *call, tr_status status, struct toolrack_error *err) {
    if (status != TR_OK) {
        (void)call_fail(call, TOOLRACK_E_EXECUTION_FAILED, status, NULL,
                        "the tool failed with status %d and did not say why", (int)status);
    }
    if (!call->failed && call->writer.begun && !call->writer.finished) {
        (void)call_fail(call, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                        "the tool's JSON reply is not complete: %u objects or arrays are open",
                        call->writer.depth);
    }
    if (!call->failed) {
        return 0;
    }
    if (call->error.code == TOOLRACK_E_CANCELLED && is_late(call)) {
        return call_late(call, "", err);
    }
    *err = call->error;
    return call->error.code;
}

static int check_result(struct call *call, const struct schema *schema,
                        struct toolrack_error *err) {
    struct schema_failure failure;
    if (!call->has_json) {
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "the tool states a schema of its result, but gave no JSON reply");
    }
    yyjson_val *result = result_structured(call);
    if (result == NULL) {
        return error_oom(err);
    }
    return schema_validate(schema, result, &failure)
                   ? 0
                   : error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                               "the tool's result does not fit its own schema: %s%s%s",
                               failure.field, failure.field[0] != '\0' ? " " : "", failure.reason);
}

static int run_json(struct call *call, const struct prepared *prepared, struct buf *out,
                    struct toolrack_error *err) {
    struct schema_failure failure;
    if (!schema_validate(prepared->schema, call->arguments, &failure)) {
        return refuse_arguments(&failure, err);
    }
    int code = fill_defaults(call, prepared, err);
    if (code == 0) {
        code = enter_plugin(call, err);
    }
    if (code < 0) {
        return code;
    }
    code = may_take(call, CALL_RUNS) ? outcome(call, prepared->run(&call->base), err)
                                     : given_up(err);
    leave_plugin(call);
    if (code == 0 && prepared->result_schema != NULL) {
        code = check_result(call, prepared->result_schema, err);
    }
    return code < 0 ? code : result_add_replies(call, out, err);
}

/* Nothing that a tool gives is lost without a word. */
static void refuse_replies(struct call *call) {
    if (call->block_count > 0 || call->writer.begun) {
        (void)call_fail(call, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                        "the tool replied through its call, but the result of a typed tool is what "
                        "it returns; it must be a JSON tool to do that");
    }
}

static int run_typed_with(struct call *call, const struct prepared *prepared, yyjson_val **slots,
                          struct buf *out, struct toolrack_error *err) {
    struct schema_failure failure;
    if (!schema_validate_object(prepared->schema, call->arguments, slots, prepared->slot_count,
                                &failure)) {
        return refuse_arguments(&failure, err);
    }
    struct frame frame;
    int code = signature_bind(prepared->signature, slots, &call->arena, &frame, err);
    if (code == 0) {
        code = enter_plugin(call, err);
    }
    if (code < 0) {
        return code;
    }
    if (may_take(call, CALL_RUNS)) {
        signature_invoke(prepared->signature, prepared->function, &call->base, &frame);
        refuse_replies(call);
        code = outcome(call, TR_OK, err);
    } else {
        code = given_up(err);
    }
    /* The result may lie in the plugin's own memory, which its next call may use again. */
    if (code == 0) {
        result_begin(out);
        code = signature_write_result(prepared->signature, &frame, &call->arena,
                                      TOOLRACK_RESULT_MAX, out, err);
    }
    leave_plugin(call);
    return code;
}

static int run_typed(struct call *call, const struct prepared *prepared, struct buf *out,
                     struct toolrack_error *err) {
    yyjson_val *slots[SLOTS_ON_STACK];
    if (prepared->slot_count <= SLOTS_ON_STACK) {
        return run_typed_with(call, prepared, slots, out, err);
    }
    yyjson_val **more = arena_alloc(&call->arena, prepared->slot_count * sizeof *more);
    return more == NULL ? error_oom(err) : run_typed_with(call, prepared, more, out, err);
}

static int load(struct call *call, const struct prepared **ret, struct toolrack_error *err) {
    struct plugin *plugin = call->tool->reg->plugin;
    if (atomic_load(&plugin->stuck) != 0 && atomic_load(&plugin->image) == NULL) {
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "plugin '%s' is stuck: it is being loaded and did not return in time",
                         plugin->desc->plugin->id);
    }
    if (!may_take(call, CALL_LOADS)) {
        return given_up(err);
    }
    bool loaded;
    int code = registration_prepare(call->tool->reg, ret, &loaded, err);
    if (loaded && call->host->event != NULL) {
        call->host->event(call->host->user,
                          code == 0 ? TOOLRACK_EVENT_LOADED : TOOLRACK_EVENT_FAILED, plugin,
                          code == 0 ? NULL : err->message);
    }
    return code < 0 || may_take(call, CALL_PREPARES) ? code : given_up(err);
}

static int prepare(struct call *call, const struct prepared **ret, struct toolrack_error *err) {
    *ret = registration_prepared(call->tool->reg);
    return *ret != NULL ? 0 : load(call, ret, err);
}

static int run(struct call *call, const char *arguments, size_t length,
               struct toolrack_result **ret, struct toolrack_error *err) {
    const struct prepared *prepared = NULL;
    int code = call_permit(call, err);
    if (code == 0) {
        code = prepare(call, &prepared, err);
    }
    if (code == 0) {
        code = parse(call, arguments, length, err);
    }
    if (code < 0) {
        return code;
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    code = prepared->signature != NULL ? run_typed(call, prepared, &out, err)
                                       : run_json(call, prepared, &out, err);
    return code < 0 ? code : result_end(&out, ret, err);
}

int call_run(struct call *call, const char *arguments, size_t length, struct toolrack_result **ret,
             struct toolrack_error *err) {
    int code = run(call, arguments, length, ret, err);
    if (code < 0) {
        error_set_tool(err, toolrack_tool_name(call->tool));
    }
    return code;
}

uint64_t call_record(const struct call *call, int code) {
    uint64_t duration_ns = clock_now_ns() - call->started_ns;
    registration_record(call->tool->reg, code < 0, duration_ns);
    return duration_ns;
}
