#include "call/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-pointer.h"
#include "base/utf8.h"
#include "schema/secret.h"
#include "schema/tolerate.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Most values of a typed tool's arguments that need no allocation. */
#define SLOTS_ON_STACK 32

static const struct run_host run_host;

/* The app's struct may have fewer options, or more. */
static inline void take_options(struct toolrack_call_options *ret,
                                const struct toolrack_call_options *options) {
    if (options != NULL && options->size >= sizeof *ret) {
        *ret = *options;
    } else {
        memset(ret, 0, sizeof *ret);
        if (options != NULL) {
            memcpy(ret, options, options->size);
        }
    }
    if (ret->secrets != NULL &&
        (ret->secrets_length == 0 || ret->secrets_length > SECRETS_SIZE_MAX ||
         ret->secrets[ret->secrets_length - 1] != '\0')) {
        ret->secrets_length = ret->secrets_length > 0;
        ret->secrets = ret->secrets_length > 0 ? "" : NULL; /* all is secret, or nothing */
    }
}

void call_init(struct call *call, const struct call_host *host, struct toolrack_tool *tool,
               const struct toolrack_call_options *options, void *memory, size_t size) {
    run_init(&call->run, &run_host, memory, size);
    call->host = host;
    call->tool = tool;
    take_options(&call->options, options);
    call->started_ns = 0;
    atomic_init(&call->cancelled, false);
    atomic_init(&call->ran, false);
    call->is_systems = false;
    call->cost = (struct call_cost){.cpu_ns = CALL_UNMEASURED, .memory = CALL_UNMEASURED};
    atomic_init(&call->cpu_from_ns, 0);
    call->gate = NULL;
    call->step = NULL;
    call->step_user = NULL;
    call->asks = NULL;
    call->crew_lock = NULL;
    call->crew_call = NULL;
    call_take_context(call);
}

void call_take_context(struct call *call) {
    const struct toolrack_call_options *options = &call->options;
    call->run.context =
            (struct run_context){.tool = toolrack_tool_name(call->tool),
                                 .caller = options->caller,
                                 .channel = options->channel != NULL ? options->channel : "api",
                                 .conversation = options->conversation,
                                 .trace = options->trace,
                                 .run = options->run,
                                 .party = options->party,
                                 .confirmed_by = options->confirmed_by,
                                 .secrets = options->secrets,
                                 .secrets_length = options->secrets_length};
}

void call_finish(struct call *call) {
    run_finish(&call->run);
}

/* How long the call had. */
static uint64_t deadline_ms_of(const struct call *call) {
    return call->run.deadline_ns == 0
                   ? 0
                   : (call->run.deadline_ns - call->started_ns) / CLOCK_NS_PER_MS;
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

int call_permit(const struct call_host *host, struct toolrack_tool *tool,
                const struct toolrack_call_options *options, const char *arguments, size_t length,
                const atomic_bool *cancelled, struct toolrack_error *err) {
    const char *name = toolrack_tool_name(tool);
    struct toolrack_call_options taken;
    take_options(&taken, options);
    int code = tool->enabled
                       ? host->permit(host->user, tool, &taken, arguments, length, cancelled, err)
                       : tool_refuse_disabled(tool, err);
    if (code < 0) {
        error_set_tool(err, name);
    }
    return code;
}

/* ------------------------------------------------- callbacks of the tool */

static struct call *call_of(const struct run *run) {
    return (struct call *)(uintptr_t)run;
}

/* Enter and leave the gate, for the use of data of the host or the caller. False: the call was
 * given up. */
static bool gate_enter(struct call *call) {
    if (call->gate == NULL) {
        return true;
    }
    lock_take(&call->gate->lock);
    bool open = !call->gate->closed;
    call->gate->inside += open;
    lock_release(&call->gate->lock);
    return open;
}

static void gate_leave(struct call *call) {
    if (call->gate != NULL) {
        lock_take(&call->gate->lock);
        if (--call->gate->inside == 0) {
            (void)pthread_cond_broadcast(&call->gate->left);
        }
        lock_release(&call->gate->lock);
    }
}

static void show_progress(struct run *run, double done, double total, const char *message) {
    struct call *call = call_of(run);
    if (call->options.progress != NULL && gate_enter(call)) {
        call->options.progress(call->options.user, done, total, message);
        gate_leave(call);
    }
}

/* One line, as the host's log has it. */
static void tell_log(const struct call *call, int level, const char *message) {
    char line[LOG_LINE_MAX];
    utf8_copy(line, sizeof line, message);
    utf8_make_line(line);
    call->options.log(call->options.user, (enum toolrack_log_level)level, line);
}

static void log_message(struct run *run, int level, const char *message) {
    struct call *call = call_of(run);
    if (gate_enter(call)) {
        log_line(call->host->log, level, call->tool->reg->plugin->desc->plugin->id, "%s", message);
        if (call->options.log != NULL) {
            tell_log(call, level, message);
        }
        gate_leave(call);
    }
}

static bool is_cancelled(const struct run *run) {
    return atomic_load_explicit(call_cancelled(call_of(run)), memory_order_relaxed);
}

static void set_answers(struct toolrack_input *inputs, size_t count, enum toolrack_answer answer) {
    for (size_t i = 0; i < count; i++) {
        inputs[i].answer = (int)answer;
    }
}

/* For an app that knows forms only. */
static void ask_one_by_one(const struct call *call, struct toolrack_input *inputs, size_t count) {
    const struct toolrack_call_options *options = &call->options;
    for (size_t i = 0; i < count; i++) {
        inputs[i].answer = TOOLRACK_ANSWER_NOBODY;
        if (inputs[i].kind == TOOLRACK_INPUT_FORM && options->ask != NULL) {
            inputs[i].answer = options->ask(options->user, inputs[i].message, inputs[i].schema,
                                            &inputs[i].content);
        }
    }
}

/* The time that passes in the callback does not count: the call began later by so much, and its
 * deadline is so much later. */
static int ask_untimed(struct call *call, struct toolrack_input *inputs, size_t count) {
    uint64_t from_ns = clock_now_ns();
    if (call->gate != NULL) {
        lock_take(&call->gate->lock);
        call->gate->asks = true;
        lock_release(&call->gate->lock);
    }
    if (call->asks != NULL) {
        call->asks(call->step_user, true);
    }
    for (size_t i = 0; i < count; i++) {
        inputs[i].tool = toolrack_tool_name(call->tool);
    }
    int code = call->options.input(call->options.user, inputs, count);
    uint64_t took_ns = clock_now_ns() - from_ns;
    if (call->gate != NULL) {
        lock_take(&call->gate->lock);
    }
    call->started_ns += took_ns;
    call->run.deadline_ns += call->run.deadline_ns != 0 ? took_ns : 0;
    if (call->gate != NULL) {
        call->gate->asks = false;
        lock_release(&call->gate->lock);
    }
    if (call->asks != NULL) {
        call->asks(call->step_user, false);
    }
    return code;
}

static bool is_answer(int answer) {
    return answer == TOOLRACK_ANSWER_NOBODY || answer == TOOLRACK_ANSWER_ACCEPTED ||
           answer == TOOLRACK_ANSWER_DECLINED;
}

static int ask_app(struct run *run, struct toolrack_input *inputs, size_t count) {
    struct call *call = call_of(run);
    int code = 0;
    if (!gate_enter(call)) {
        set_answers(inputs, count, TOOLRACK_ANSWER_DISMISSED);
        return 0;
    }
    if (call->options.input != NULL) {
        code = ask_untimed(call, inputs, count);
    } else {
        ask_one_by_one(call, inputs, count);
    }
    gate_leave(call);
    for (size_t i = 0; i < count; i++) {
        inputs[i].answer =
                is_answer(inputs[i].answer) ? inputs[i].answer : TOOLRACK_ANSWER_DISMISSED;
    }
    return code;
}

static const struct run_host run_host = {
        .progress = show_progress, .log = log_message, .cancelled = is_cancelled, .input = ask_app};

/* -------------------------------------------------------------- arguments */

/* All mistakes at once, so that they can be corrected at once. Not in the frames of its callers: it
 * takes some KiB. */
__attribute__((noinline, cold)) static int refuse_arguments(const struct schema *schema,
                                                            yyjson_val *arguments,
                                                            const struct schema_naming *naming,
                                                            struct toolrack_error *err) {
    struct schema_mistakes mistakes;
    schema_explain(schema, arguments, naming, &mistakes);
    uint32_t told = 1;
    int code = error_set_field(err, mistakes.code, mistakes.list[0].field, "%s",
                               mistakes.list[0].reason);
    while (told < mistakes.told &&
           error_add_mistake(err, mistakes.list[told].field, mistakes.list[told].reason)) {
        told++;
    }
    if (told < mistakes.count) {
        char more[32];
        (void)snprintf(more, sizeof more, "and %u more", mistakes.count - told);
        error_append(err, more);
    }
    return code;
}

/* Change arguments that do not fit, as far as the tolerance allows.
 * @param changes  receives what was changed, to be freed; NULL: nothing may be
 * @return 0; TOOLRACK_E_NO_MEMORY */
static int tolerate(struct run *run, const struct schema *schema, enum toolrack_tolerance tolerance,
                    yyjson_val **arguments, struct schema_changes **changes, bool *fits,
                    struct toolrack_error *err) {
    const yyjson_alc alc = arena_alc(&run->arena);
    *fits = false;
    if (tolerance <= TOOLRACK_TOLERANCE_EXACT) {
        return 0;
    }
    *changes = malloc(sizeof **changes);
    if (*changes == NULL) {
        return error_oom(err);
    }
    *fits = schema_tolerate(schema, *arguments,
                            tolerance == TOOLRACK_TOLERANCE_LAX ? SCHEMA_LAX : SCHEMA_JSON_TEXT,
                            &alc, arguments, *changes);
    return 0;
}

/* The tolerance for a call. */
static enum toolrack_tolerance tolerance_of(const struct call *call) {
    return call->host->tolerance != NULL
                   ? call->host->tolerance(call->host->user, call->tool, &call->options)
                   : TOOLRACK_TOLERANCE_EXACT;
}

int call_take_arguments(struct run *run, const struct schema *schema,
                        enum toolrack_tolerance tolerance, const char *arguments, size_t length,
                        struct toolrack_error *err) {
    CLEANUP(freep) struct schema_changes *changes = NULL;
    int code = run_parse(run, arguments, length, err);
    if (code < 0 || schema_validate(schema, run->arguments, NULL)) {
        return code;
    }
    bool fits = false;
    code = tolerate(run, schema, tolerance, &run->arguments, &changes, &fits, err);
    return code < 0 || fits ? code : refuse_arguments(schema, run->arguments, NULL, err);
}

int call_check_arguments(const struct toolrack_tool *tool, const char *arguments, size_t length,
                         struct toolrack_error *err) {
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    const struct prepared *prepared = registration_prepared(tool->reg);
    struct schema *compiled = NULL;
    struct run run;
    int code = prepared != NULL ? 0 : registration_compile(tool->reg, &compiled, err);
    const struct schema *schema = prepared != NULL ? prepared->schema : compiled;
    run_init(&run, &run_host, memory, sizeof memory);
    code = code == 0 ? call_take_arguments(&run, schema, TOOLRACK_TOLERANCE_EXACT, arguments,
                                           length, err)
                     : code;
    run_finish(&run);
    schema_destroy(compiled);
    if (code < 0) {
        error_set_tool(err, toolrack_tool_name(tool));
    }
    return code;
}

/* What of the log is about a change. It has no values, which may be secrets. */
static void log_change(struct call *call, const struct schema_change *change) {
    char line[ERROR_MESSAGE_MAX];
    (void)snprintf(line, sizeof line, "Tool '%s': argument %s: %s", toolrack_tool_name(call->tool),
                   change->field, schema_change_words(change->kind));
    utf8_make_line(line);
    log_message(&call->run, LOG_INFO, line);
}

static void add_changes(struct buf *out, const struct schema_changes *changes) {
    for (size_t i = 0; i < changes->count; i++) {
        const char *field = changes->list[i].field;
        buf_add_text(out, i == 0 ? "[{\"field\":" : ",{\"field\":");
        buf_add_json_string(out, field, strlen(field));
        buf_printf(out, ",\"change\":\"%s\"}", schema_change_name(changes->list[i].kind));
    }
    buf_add_char(out, ']');
}

/* What one call's arguments are checked with. */
struct checking {
    const struct prepared *prepared;
    yyjson_val **slots;  /* of a typed tool: the values of its parameters, once they are valid */
    bool is_valid;       /* the arguments fit the schema */
    struct buf *secrets; /* of the arguments */
    struct buf changed;  /* what was changed in them, as JSON; empty: nothing */
};

/* A refusal tells the caller which of his values it is about; the record masks what the schema
 * marks (mask.h). What else is secret may not be of this caller. */
static void hide_in_refusal(const struct call *call, struct toolrack_error *err) {
    const struct buf given = {.data = (char *)(uintptr_t)call->options.secrets,
                              .length = call->options.secrets_length};
    if (given.length > 0) {
        secrets_mask_error(&given, err);
    }
}

/* Arguments that do not fit: change them as far as the tolerance for this call allows, or tell what
 * is wrong with them. Not in the frames of its callers, as refuse_arguments(). */
__attribute__((noinline, cold)) static int take_tolerantly(struct call *call,
                                                           struct checking *checking,
                                                           struct toolrack_error *err) {
    const struct schema *schema = checking->prepared->schema;
    yyjson_val *taken = call->run.arguments;
    CLEANUP(freep) struct schema_changes *changes = NULL;
    bool fits;
    int code = tolerate(&call->run, schema, tolerance_of(call), &taken, &changes, &fits, err);
    if (code < 0 || !fits) {
        return code < 0 ? code : refuse_arguments(schema, taken, NULL, err);
    }
    call->run.arguments = taken;
    call->run.arguments_filled = true;
    add_changes(&checking->changed, changes);
    for (size_t i = 0; i < changes->count; i++) {
        log_change(call, &changes->list[i]);
    }
    if (checking->prepared->secret_schema != NULL) { /* what was text had none */
        schema_collect_arguments(yyjson_doc_get_root(checking->prepared->secret_schema), taken,
                                 checking->secrets);
    }
    return 0;
}

void call_explain_arguments(const struct call_host *host, struct toolrack_tool *tool,
                            const struct toolrack_call_options *options,
                            const struct schema_naming *naming, const char *arguments,
                            size_t length, struct toolrack_error *err) {
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    const struct prepared *prepared = registration_prepared(tool->reg);
    CLEANUP(freep) struct schema_changes *changes = NULL;
    struct toolrack_error explained;
    struct call call;
    bool fits = false;
    call_init(&call, host, tool, options, memory, sizeof memory);
    int code = prepared != NULL ? run_parse(&call.run, arguments, length, &explained)
                                : TOOLRACK_E_INVALID;
    if (code == 0 && !schema_validate(prepared->schema, call.run.arguments, NULL)) {
        yyjson_val *taken = call.run.arguments;
        code = tolerate(&call.run, prepared->schema, tolerance_of(&call), &taken, &changes, &fits,
                        &explained);
        if (code == 0 && !fits) {
            code = refuse_arguments(prepared->schema, taken, naming, &explained);
            hide_in_refusal(&call, &explained);
        }
    }
    if (code == TOOLRACK_E_NO_MEMORY || (code < 0 && prepared != NULL)) {
        error_set_tool(&explained, toolrack_tool_name(tool));
        *err = explained;
    }
    call_finish(&call);
}

bool call_takes_arguments(const struct call_host *host, struct toolrack_tool *tool,
                          const struct toolrack_call_options *options, const char *arguments,
                          size_t length) {
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    const struct prepared *prepared = registration_prepared(tool->reg);
    struct toolrack_error unheard;
    struct schema *compiled = NULL;
    struct call call;
    call_init(&call, host, tool, options, memory, sizeof memory);
    int code = prepared != NULL ? 0 : registration_compile(tool->reg, &compiled, &unheard);
    const struct schema *schema = prepared != NULL ? prepared->schema : compiled;
    code = code == 0 ? call_take_arguments(&call.run, schema, tolerance_of(&call), arguments,
                                           length, &unheard)
                     : code;
    call_finish(&call);
    schema_destroy(compiled);
    return code == 0;
}

static int fill_defaults(struct call *call, const struct prepared *prepared,
                         struct toolrack_error *err) {
    if (!schema_has_defaults(prepared->schema)) {
        return 0;
    }
    yyjson_alc alc = arena_alc(&call->run.arena);
    yyjson_val *filled = NULL;
    int code = schema_fill_defaults(prepared->schema, call->run.arguments, &alc, &filled, err);
    if (code == 0 && filled != call->run.arguments) {
        call->run.arguments = filled;
        call->run.arguments_filled = true;
    }
    return code;
}

/* -------------------------------------------------------------------- run */

static bool may_take(const struct call *call, enum call_step step) {
    return call->step != NULL ? call->step(call->step_user, step)
                              : !atomic_load_explicit(call_cancelled(call), memory_order_relaxed);
}

/* The tool itself is about to run. False: the call is not wanted any more. */
static bool may_run(struct call *call) {
    bool waits = call->tool->reg->plugin->service.waits;
    bool may = may_take(call, waits ? CALL_WAITS : CALL_RUNS);
    atomic_store_explicit(&call->ran, may, memory_order_relaxed);
    return may;
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
    switch (plugin_take_turn(plugin, call, call->run.deadline_ns, call_cancelled(call))) {
    case PLUGIN_TURN_TAKEN: return 0;
    case PLUGIN_TURN_STUCK:
        if (call->run.deadline_ns != 0) {
            return call_late(call, CALL_BEHIND_STUCK, err);
        }
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
    return error_set(
            err, TOOLRACK_E_TIMEOUT,
            "plugin '%s' was busy until the deadline of %llu ms; it runs one call at a time", id,
            (unsigned long long)deadline_ms_of(call));
}

static void leave_plugin(struct call *call) {
    if (call->tool->reg->plugin->serial) {
        plugin_give_turn(call->tool->reg->plugin);
    }
}

static int late(const struct toolrack_tool *tool, uint64_t deadline_ms, const char *why,
                struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_TIMEOUT,
                     "Tool '%s' did not finish within its deadline of %llu ms%s",
                     toolrack_tool_name(tool), (unsigned long long)deadline_ms, why);
}

int call_late(const struct call *call, const char *why, struct toolrack_error *err) {
    return late(call->tool, deadline_ms_of(call), why, err);
}

/* The code of a failure. A tool that checks its deadline may end with Cancelled just before its
 * caller sees the deadline: that is a Timeout, unless the call was cancelled. */
static int judge(const struct call *call, int code, struct toolrack_error *err) {
    bool is_late = code == TOOLRACK_E_CANCELLED && call->run.deadline_ns != 0 &&
                   clock_now_ns() >= call->run.deadline_ns &&
                   !atomic_load_explicit(call_cancelled(call), memory_order_relaxed);
    return is_late ? call_late(call, "", err) : code;
}

/* Check a tool's result against its result schema. */
static int check_result(const struct schema *schema, bool is_structured, yyjson_val *result,
                        struct toolrack_error *err) {
    struct schema_failure failure;
    if (!is_structured) {
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "the tool states a schema of its result, but gave no JSON reply");
    }
    if (schema_validate(schema, result, &failure)) {
        return 0;
    }
    return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                     "the tool's result does not fit its own schema: %s%s%s", failure.field,
                     failure.field[0] != '\0' ? " " : "", failure.reason);
}

/* Read and check the arguments as far as they must be to collect secrets from them. */
static int take_arguments(struct call *call, const char *arguments, size_t length,
                          struct checking *checking, struct toolrack_error *err) {
    const struct prepared *prepared = checking->prepared;
    int code = run_read(&call->run, arguments, length, err);
    if (code < 0) {
        return code;
    }
    if (prepared->slot_count > SLOTS_ON_STACK) {
        checking->slots =
                arena_alloc(&call->run.arena, prepared->slot_count * sizeof *checking->slots);
        if (checking->slots == NULL) {
            return error_oom(err);
        }
    }
    checking->is_valid = schema_validate_quickly(prepared->schema, call->run.arguments,
                                                 checking->slots, prepared->slot_count);
    return checking->is_valid ? 0 : run_prove(&call->run, err);
}

static bool fits(const struct call *call, const struct checking *checking) {
    return schema_validate_object(checking->prepared->schema, call->run.arguments, checking->slots,
                                  checking->prepared->slot_count, NULL);
}

static int check_arguments(struct call *call, struct checking *checking,
                           struct toolrack_error *err) {
    if (checking->is_valid || fits(call, checking)) {
        return 0;
    }
    int code = take_tolerantly(call, checking, err);
    if (code == 0 && checking->prepared->slot_count > 0) {
        (void)fits(call, checking); /* for the slots */
    }
    return code;
}

static int run_json(struct call *call, struct checking *checking, struct buf *out,
                    struct toolrack_error *err) {
    const struct prepared *prepared = checking->prepared;
    int code = check_arguments(call, checking, err);
    if (code == 0) {
        code = fill_defaults(call, prepared, err);
    }
    if (code == 0) {
        code = enter_plugin(call, err);
    }
    if (code < 0) {
        return code;
    }
    const struct run_service *service = &call->tool->reg->plugin->service;
    code = !may_run(call)         ? given_up(err)
           : service->run != NULL ? judge(call, run_service(&call->run, service, err), err)
                                  : judge(call, run_json_tool(&call->run, prepared->run, err), err);
    leave_plugin(call);
    if (code == 0 && prepared->result_schema != NULL) {
        yyjson_val *result = call->run.has_json ? result_structured(&call->run) : NULL;
        code = call->run.has_json && result == NULL
                       ? error_oom(err)
                       : check_result(prepared->result_schema, call->run.has_json, result, err);
    }
    return code < 0 ? code : result_add_replies(&call->run, out, err);
}

static int run_typed(struct call *call, struct checking *checking, struct buf *out,
                     struct toolrack_error *err) {
    const struct prepared *prepared = checking->prepared;
    int code = check_arguments(call, checking, err);
    if (code < 0) {
        return code;
    }
    struct frame frame;
    code = signature_bind(prepared->signature, checking->slots, &call->run.arena, &frame, err);
    if (code == 0) {
        code = enter_plugin(call, err);
    }
    if (code < 0) {
        return code;
    }
    /* The result may be in the plugin's own memory, which its next call may reuse: it is written
     * before leave_plugin(). */
    code = may_run(call) ? judge(call,
                                 run_typed_tool(&call->run, prepared->signature, prepared->function,
                                                &frame, out, err),
                                 err)
                         : given_up(err);
    leave_plugin(call);
    return code;
}

/* ---------------------------------------------------------------- isolated */

static void note_crew_call(struct call *call, struct crew_call *with) {
    if (call->crew_lock != NULL) {
        (void)pthread_mutex_lock(call->crew_lock);
    }
    call->crew_call = with;
    if (with != NULL && atomic_load(call_cancelled(call))) {
        call_interrupt(call); /* it was cancelled just before */
    }
    if (call->crew_lock != NULL) {
        (void)pthread_mutex_unlock(call->crew_lock);
    }
}

void call_interrupt(struct call *call) {
    if (call->crew_call != NULL) {
        crew_interrupt(atomic_load(&call->tool->reg->plugin->crew), call->crew_call);
    }
}

static void relay_progress(void *user, double done, double total, const char *message) {
    show_progress(user, done, total, message);
}

static void relay_log(void *user, int level, const char *message) {
    log_message(user, level, message);
}

static int relay_inputs(void *user, struct toolrack_input *inputs, size_t count) {
    struct call *call = user;
    int code = ask_app(&call->run, inputs, count);
    call->crew_call->deadline_ns = call->run.deadline_ns;
    return code;
}

static int run_isolated(struct call *call, struct checking *checking, struct buf *out,
                        struct toolrack_error *err) {
    const struct prepared *prepared = checking->prepared;
    struct run *run = &call->run;
    int code = check_arguments(call, checking, err);
    if (code == 0) {
        code = fill_defaults(call, prepared, err);
    }
    if (code < 0) {
        return code;
    }
    struct crew_call with = {.tool = call->tool->reg->spec->index,
                             .tool_name = run->context.tool,
                             .deadline_ns = run->deadline_ns,
                             .deadline_ms = deadline_ms_of(call),
                             .caller = run->context.caller,
                             .channel = run->context.channel,
                             .conversation = run->context.conversation,
                             .trace = run->context.trace,
                             .user = call,
                             .progress = relay_progress,
                             .log = relay_log,
                             .input = relay_inputs,
                             .secrets = checking->secrets,
                             .arena = &run->arena,
                             .wants_json = prepared->result_schema != NULL};
    with.value_count = (size_t)(unsafe_yyjson_get_next(run->arguments) - run->arguments);
    if (with.value_count <= CREW_VALUES_MAX) {
        with.values = run->arguments;
    } else {
        with.value_count = 0;
        with.arguments = run_arguments(run, &with.arguments_length);
        if (with.arguments == NULL) {
            return run_memory_error(run, err);
        }
    }
    if (!may_take(call, CALL_WAITS)) {
        return given_up(err);
    }
    struct crew_reply reply = {
            .out = BUF_INIT, .cpu_ns = CALL_UNMEASURED, .memory = CALL_UNMEASURED};
    note_crew_call(call, &with);
    code = crew_run(atomic_load(&call->tool->reg->plugin->crew), &with, &reply, err);
    note_crew_call(call, NULL);
    atomic_store_explicit(&call->ran, reply.ran, memory_order_relaxed);
    call->cost = (struct call_cost){.cpu_ns = reply.cpu_ns, .memory = reply.memory};
    call->is_systems = code == TOOLRACK_E_IO;
    if (code == TOOLRACK_E_REFUSED || code == TOOLRACK_E_IO) {
        /* For the caller of a tool, the tool cannot run. */
        code = err->code = TOOLRACK_E_EXECUTION_FAILED;
    }
    code = judge(call, code, err);
    if (code == 0 && prepared->result_schema != NULL) {
        /* The schema applies to the JSON reply, alone or next to other blocks. */
        code = check_result(prepared->result_schema, reply.is_structured,
                            reply.is_content ? yyjson_obj_get(reply.json, "structuredContent")
                                             : reply.json,
                            err);
    }
    if (code == 0) {
        *out = reply.out;
    } else {
        buf_finish(&reply.out);
    }
    return code;
}

/* --------------------------------------------------------------- first call */

const char *call_copy_words(const struct plugin *plugin, char ret[CALL_COPY_WORDS_ROOM]) {
    const char *slash = strrchr(plugin->path, '/');
    uint64_t kib = plugin->identity.size / 1024;
    (void)snprintf(
            ret, CALL_COPY_WORDS_ROOM, "; the copy of %.150s (%llu %s) is not finished and goes on",
            slash != NULL ? slash + 1 : plugin->path,
            (unsigned long long)(kib >= 1024 ? kib / 1024 : kib), kib >= 1024 ? "MiB" : "KiB");
    return ret;
}

/* One generation of the plugin. */
static int stage_plugin(const struct call_host *host, struct toolrack_tool *tool,
                        const struct call_time *time, const atomic_bool *cancelled,
                        bool *ret_renewed, struct toolrack_error *err) {
    struct plugin *plugin = tool->reg->plugin;
    const struct plugin_wait wait = {.deadline_ns = call_time_deadline_ns(time),
                                     .cancelled = cancelled};
    char words[CALL_COPY_WORDS_ROOM];
    bool is_first;
    int code = plugin_stage(plugin, &wait, ret_renewed, &is_first, err);
    if (is_first && host->event != NULL) {
        host->event(host->user, TOOLRACK_EVENT_FAILED, plugin, err->message);
    }
    if (code == TOOLRACK_E_TIMEOUT) {
        code = late(tool, time->deadline_ms, call_copy_words(plugin, words), err);
    }
    if (code < 0) {
        error_set_tool(err, toolrack_tool_name(tool));
    }
    return code;
}

/* The tool in place of one whose file was exchanged: a reference. */
static int find_renewed(const struct call_host *host, const char *name,
                        const struct toolrack_tool *tool,
                        const struct toolrack_call_options *options, struct toolrack_tool **ret,
                        struct toolrack_error *err) {
    if (name != NULL) {
        return host->find(host->user, name, ret, err);
    }
    if (offer_is(tool->reg->spec->index)) {
        return host->find_offer(host->user, tool, ret, err);
    }
    *ret = options->renewed(options->user);
    if (*ret != NULL) {
        return 0;
    }
    int code = error_set(err, TOOLRACK_E_NOT_FOUND,
                         "'%s' cannot be called any more: the file of its plugin was exchanged; "
                         "look the tools up again",
                         toolrack_tool_name(tool));
    error_set_tool(err, toolrack_tool_name(tool));
    return code;
}

int call_stage(const struct call_host *host, const char *name, struct toolrack_tool **tool,
               const struct toolrack_call_options *options, const struct call_time *time,
               const atomic_bool *cancelled, struct toolrack_error *err) {
    struct toolrack_call_options taken;
    for (unsigned i = 0;; i++) {
        if (!(*tool)->enabled || !plugin_may_be_stale((*tool)->reg->plugin)) {
            return 0;
        }
        struct toolrack_tool *again = NULL;
        take_options(&taken, options);
        bool may_renew =
                (name != NULL || taken.renewed != NULL || offer_is((*tool)->reg->spec->index)) &&
                i < CALL_RENEWED_MAX;
        bool is_renewed = false;
        int code = stage_plugin(host, *tool, time, cancelled, may_renew ? &is_renewed : NULL, err);
        if (code < 0 || !is_renewed) {
            return code;
        }
        code = find_renewed(host, name, *tool, &taken, &again, err);
        if (code < 0) {
            return code;
        }
        toolrack_tool_unref(*tool);
        *tool = again;
    }
}

static int load(struct call *call, const struct prepared **ret, struct toolrack_error *err) {
    struct plugin *plugin = call->tool->reg->plugin;
    if (atomic_load(&plugin->stuck) != 0 && !plugin_is_up(plugin) &&
        !plugin_await_load(plugin, call->run.deadline_ns, call_cancelled(call))) {
        return atomic_load(call_cancelled(call)) ? given_up(err)
               : call->run.deadline_ns != 0
                       ? call_late(call, CALL_BEHIND_STUCK, err)
                       : error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                                   "plugin '%s' is stuck: it is being loaded and did not return in "
                                   "time",
                                   plugin->desc->plugin->id);
    }
    /* Making a crew is quick and runs no code of the plugin. */
    if (!may_take(call, plugin->isolated ? CALL_PREPARES : CALL_LOADS)) {
        return given_up(err);
    }
    bool loaded;
    int code = registration_prepare(call->tool->reg, ret, &loaded, err);
    if (code < 0 && plugin_is_up(plugin)) { /* what failed is of this tool alone */
        atomic_store_explicit(&call->ran, true, memory_order_relaxed);
    }
    call->is_systems = code < 0 && !plugin_is_up(plugin) && atomic_load(&plugin->failed) == 0;
    if (loaded && call->host->event != NULL) {
        call->host->event(call->host->user,
                          code == 0 ? TOOLRACK_EVENT_LOADED : TOOLRACK_EVENT_FAILED, plugin,
                          code == 0 ? NULL : err->message);
    }
    /* Warn once per registration. A tool on trial has no number: no warning. */
    struct registration *reg = call->tool->reg;
    const char *instead = reg->spec->tool->deprecated;
    if (code == 0 && instead != NULL && reg->uid != 0 && !atomic_exchange(&reg->warned, true)) {
        char line[ERROR_MESSAGE_MAX];
        (void)snprintf(line, sizeof line, "Tool '%s' %s is deprecated: %s", reg->spec->tool->name,
                       reg->spec->version, instead);
        log_message(&call->run, LOG_WARNING, line);
    }
    return code < 0 || may_take(call, CALL_PREPARES) ? code : given_up(err);
}

/* What is around the place of an argument in the message of a failure. */
#define CHANGED_BEFORE "the argument "
#define CHANGED_BEHIND " was changed to fit: "

/* What was changed may be why the tool failed. The row of a call that failed has no other place for
 * it. */
__attribute__((noinline, cold)) static void tell_changes(const struct buf *changed,
                                                         struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(changed->data, changed->length, 0);
    size_t at;
    size_t count;
    yyjson_val *change;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, change) {
        buf_printf(&text, "%s" CHANGED_BEFORE "%s" CHANGED_BEHIND "%s", at > 0 ? "; " : "",
                   yyjson_get_str(yyjson_obj_get(change, "field")),
                   yyjson_get_str(yyjson_obj_get(change, "change")));
    }
    if (!text.failed && text.length > 0) {
        utf8_make_line(text.data);
        error_append(err, text.data);
    }
}

void call_rename_changes(const struct schema_naming *naming, struct toolrack_error *err) {
    static const char before[] = CHANGED_BEFORE "/";
    const char *end = err->message + sizeof err->message;
    char name[ERROR_MESSAGE_MAX];
    char rest[ERROR_MESSAGE_MAX];
    for (char *at = err->message; (at = strstr(at, before)) != NULL;) {
        at += strlen(before);
        const char *behind = strstr(at, CHANGED_BEHIND);
        size_t step = strcspn(at, "/");
        step = behind != NULL && step > (size_t)(behind - at) ? (size_t)(behind - at) : step;
        size_t length = behind != NULL ? json_pointer_unescape(at, step, name) : 0;
        const char *known = length > 0 ? naming->known_as(naming->user, name, length) : NULL;
        if (known != NULL) {
            utf8_copy(rest, sizeof rest, at + step);
            utf8_copy(at, (size_t)(end - at), known);
            at += strlen(at);
            utf8_copy(at, (size_t)(end - at), rest);
        }
    }
}

static void hide_in_failure(const struct call *call, const struct buf *secrets,
                            struct toolrack_error *err) {
    if (secrets->length == 0 && !secrets->failed) {
        return;
    }
    if (err->code != TOOLRACK_E_INVALID_ARGUMENTS || err->from_tool) {
        secrets_mask_error(secrets, err);
    } else {
        hide_in_refusal(call, err);
    }
}

static int run(struct call *call, const char *arguments, size_t length,
               struct toolrack_result **ret, struct toolrack_error *err) {
    const struct prepared *prepared = registration_prepared(call->tool->reg);
    int code = prepared != NULL ? 0 : load(call, &prepared, err);
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
    yyjson_val *slots[SLOTS_ON_STACK];
    struct checking checking = {
            .prepared = prepared, .slots = slots, .secrets = &secrets, .changed = BUF_INIT};
    if (code == 0) {
        code = take_arguments(call, arguments, length, &checking, err);
    }
    if (code < 0) {
        return code;
    }
    if (prepared->secret_schema != NULL) {
        schema_collect_arguments(yyjson_doc_get_root(prepared->secret_schema), call->run.arguments,
                                 &secrets);
    }
    if (call->options.secrets != NULL) {
        secrets_add(&secrets, call->options.secrets, call->options.secrets_length);
    }
    code = call_is_isolated(call->tool)  ? run_isolated(call, &checking, &out, err)
           : prepared->signature != NULL ? run_typed(call, &checking, &out, err)
                                         : run_json(call, &checking, &out, err);
    if (code < 0) {
        hide_in_failure(call, &secrets, err);
    }
    if (code < 0 && checking.changed.length > 0) {
        tell_changes(&checking.changed, err);
    }
    code = code < 0 ? code : result_end(&out, &checking.changed, ret, err);
    buf_finish(&checking.changed);
    return code;
}

/* ----------------------------------------------------------------- measure */

/* Reading a thread's CPU time is a system call, as much as all else of a short call. So one in
 * CPU_EACH is measured of the calls on their callers' threads, and one in CPU_EACH_OF_POOL of those
 * on the pool's, unless the configuration asks for all or the tool took more than CPU_LONG_NS when
 * it was measured last. */
#define CPU_EACH         256u
#define CPU_EACH_OF_POOL 16u
#define CPU_LONG_NS      50000u
_Static_assert((CPU_EACH & (CPU_EACH - 1)) == 0 && (CPU_EACH_OF_POOL & (CPU_EACH_OF_POOL - 1)) == 0,
               "a mask tells whose turn it is");

/* What the plugin may not do can be why the call failed, or why the plugin could not start; only
 * its words tell. A crash has none. */
static void tell_missing(const struct missing *missing, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (missing == NULL) {
        return;
    }
    missing_explain(missing, err->message, &text);
    if (!text.failed && text.length > 0) {
        error_append(err, text.data);
    }
}

/* The CPU time of this thread when it was read last; 0: it was not. */
static _Thread_local uint64_t cpu_seen_ns;

static uint64_t read_cpu(void) {
    cpu_seen_ns = clock_cpu_ns();
    return cpu_seen_ns;
}

/* Whether the CPU time of a call that runs here is measured. */
static bool is_measured(const struct call *call) {
    static _Thread_local unsigned turn;
    const struct registration *reg = call->tool->reg;
    unsigned each = call->gate != NULL ? CPU_EACH_OF_POOL : CPU_EACH;
    return (turn++ & (each - 1)) == 0 || reg->plugin->measures_all ||
           (call->gate != NULL && atomic_load_explicit(&reg->is_long, memory_order_relaxed));
}

static void note_cpu(struct call *call, uint64_t cpu_ns) {
    call->cost.cpu_ns = cpu_ns;
    bool is_long = cpu_ns > CPU_LONG_NS;
    if (atomic_load_explicit(&call->tool->reg->is_long, memory_order_relaxed) != is_long) {
        atomic_store_explicit(&call->tool->reg->is_long, is_long, memory_order_relaxed);
    }
}

struct call_place *call_places_create(void) {
    struct call_place *places =
            aligned_alloc(_Alignof(struct call_place), CALL_PLACES * sizeof *places);
    if (places != NULL) {
        memset(places, 0, CALL_PLACES * sizeof *places);
        for (unsigned i = 0; i < THREAD_SLOTS; i++) {
            places[i].is_own = true;
        }
    }
    return places;
}

static struct call_place *own_place(const struct call_host *host) {
    unsigned slot = thread_slot();
    return host->places == NULL  ? NULL
           : slot < THREAD_SLOTS ? &host->places[slot]
                                 : &host->places[THREAD_SLOTS + shard_here()];
}

struct call_place *call_host_enter(const struct call_host *host) {
    struct call_place *place = own_place(host);
    if (place != NULL) {
        call_place_add(place, &place->uses, 1);
    }
    return place;
}

uint32_t call_host_uses(const struct call_host *host) {
    uint32_t uses = 0;
    for (unsigned i = 0; host->places != NULL && i < CALL_PLACES; i++) {
        uses += atomic_load_explicit(&host->places[i].uses, memory_order_acquire);
    }
    return uses;
}

static struct call_place *enter(const struct call_host *host) {
    struct call_place *place = own_place(host);
    if (place != NULL) {
        call_place_add(place, &place->calls, 1);
    }
    return place;
}

static void leave(struct call_place *place) {
    if (place != NULL) {
        call_place_add(place, &place->calls, -1);
    }
}

uint32_t call_running(const struct call_host *host) {
    uint32_t running = 0;
    for (unsigned i = 0; host->places != NULL && i < CALL_PLACES; i++) {
        running += atomic_load_explicit(&host->places[i].calls, memory_order_relaxed);
    }
    return running;
}

int call_run(struct call *call, const char *arguments, size_t length, struct toolrack_result **ret,
             struct toolrack_error *err) {
    call->here = shard_here();
    struct call_place *place = enter(call->host);
    bool is_here = !call_is_isolated(call->tool); /* a worker reports itself what a call used */
    bool measures = is_here && is_measured(call);
    uint64_t cpu_from_ns = measures ? read_cpu() : cpu_seen_ns;
    if (is_here && call->gate != NULL) {
        /* For a call that is given up, whether measured or not: then short calls of this thread
         * before it may be counted too. */
        call->thread = pthread_self();
        atomic_store_explicit(&call->cpu_from_ns, cpu_from_ns, memory_order_release);
    }
    int code = run(call, arguments, length, ret, err);
    leave(place);
    if (measures) {
        note_cpu(call, read_cpu() - cpu_from_ns);
    }
    if (is_here) {
        call->cost.memory = call->run.arena.size + (code == 0 ? (*ret)->json_length : 0);
    }
    bool asks = code == TOOLRACK_E_INPUT_REQUIRED && atomic_load(&call->ran);
    if (code == 0 || asks || (err != NULL && err->from_tool)) {
        plugin_note_answered(call->tool->reg->plugin);
    }
    if (code < 0) {
        error_set_tool(err, toolrack_tool_name(call->tool));
        error_set_begun(err, atomic_load(&call->ran));
    }
    bool is_told = code < 0 && err != NULL && (err->from_tool || !atomic_load(&call->ran));
    bool is_tools = code == TOOLRACK_E_EXECUTION_FAILED ||
                    (code == TOOLRACK_E_INVALID_ARGUMENTS && err != NULL && err->from_tool);
    if (is_tools && !call->is_systems && is_told) {
        tell_missing(call->tool->reg->plugin->missing, err);
    }
    return code;
}

struct call_cost call_cost_so_far(struct call *call) {
    struct call_cost cost = {.cpu_ns = CALL_UNMEASURED, .memory = CALL_UNMEASURED};
    uint64_t cpu_from_ns = atomic_load_explicit(&call->cpu_from_ns, memory_order_acquire);
    clockid_t clock;
    struct timespec now;
    if (cpu_from_ns != 0) {
        cost.memory = arena_size(&call->run.arena);
    }
    if (cpu_from_ns != 0 && pthread_getcpuclockid(call->thread, &clock) == 0 &&
        clock_gettime(clock, &now) == 0) {
        cost.cpu_ns = (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec - cpu_from_ns;
    }
    return cost;
}

/* ------------------------------------------------------------------ record */

static const struct call_cost unmeasured = {.cpu_ns = CALL_UNMEASURED, .memory = CALL_UNMEASURED};

static void record(const struct call_host *host, const struct call_ending *ending) {
    /* A call that asks for something goes on in another one, which counts. */
    if (ending->result != NULL || ending->err->code != TOOLRACK_E_INPUT_REQUIRED) {
        registration_record(ending->tool->reg, ending->here, ending->result == NULL,
                            ending->duration_ns);
    }
    if (host->record != NULL) {
        host->record(host->user, ending);
    }
}

uint64_t call_record(const struct call *call, const char *arguments, size_t length,
                     const struct toolrack_result *result, const struct toolrack_error *err,
                     const struct call_cost *cost) {
    uint64_t duration_ns = clock_now_ns() - call->started_ns;
    record(call->host,
           &(struct call_ending){.tool = call->tool,
                                 .options = &call->options,
                                 .arguments = arguments,
                                 .length = length,
                                 .result = result,
                                 .err = err,
                                 .started_ns = call->started_ns,
                                 .duration_ns = duration_ns,
                                 .cost = cost != NULL ? *cost : unmeasured,
                                 .here = call->gate == NULL ? call->here : shard_here(),
                                 .ran = atomic_load_explicit(&call->ran, memory_order_relaxed)});
    return duration_ns;
}

void call_record_refused(const struct call_host *host, struct toolrack_tool *tool,
                         const struct toolrack_call_options *options, const char *arguments,
                         size_t length, const struct toolrack_error *err, uint64_t started_ns) {
    struct toolrack_call_options taken;
    uint64_t now_ns = clock_now_ns();
    take_options(&taken, options);
    record(host, &(struct call_ending){.tool = tool,
                                       .options = &taken,
                                       .arguments = arguments,
                                       .length = length,
                                       .err = err,
                                       .started_ns = started_ns != 0 ? started_ns : now_ns,
                                       .duration_ns = started_ns != 0 ? now_ns - started_ns : 0,
                                       .cost = unmeasured,
                                       .here = shard_here()});
}
