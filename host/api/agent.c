#include "toolrack/agent.h"

#include <string.h>

#include "api/agent-plan.h"
#include "api/agent-tools.h"
#include "api/answer.h"
#include "api/host.h"
#include "api/models.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "format/turn.h"
#include "provider/agent.h"
#include "provider/transcript.h"
#include "registry/document.h"

_Static_assert(TOOLRACK_CONVERSATION_ID_SIZE >= TRANSCRIPT_ID_ROOM, "an id has room");

void toolrack_conversation_id(char ret[TOOLRACK_CONVERSATION_ID_SIZE]) {
    transcript_id(ret);
}

static int definitions(void *user, struct toolrack_text **ret, struct toolrack_error *err) {
    struct agent_tools *tools = user;
    return agent_tools_read(tools, tools->app->format, ret, err);
}

static int check(enum toolrack_format format, const char *text, size_t length,
                 struct toolrack_error *err) {
    struct format_message message;
    int code = format_read_message(format, text, length, &message, err);
    if (code == 0) {
        format_message_finish(&message);
    }
    return code;
}

static int answer(void *user, const char *message, size_t length, const struct agent_watch *watch,
                  struct toolrack_text **ret, struct toolrack_error *err) {
    const struct agent_tools *tools = user;
    return answer_message(tools->host, tools->app->format, message, length, tools->app->call, watch,
                          ret, err);
}

/* A number of tokens, or null. */
static void add_count(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t count) {
    (void)yyjson_mut_obj_add_val(doc, object, key,
                                 count >= 0 ? yyjson_mut_sint(doc, count) : yyjson_mut_null(doc));
}

static void add_usage(yyjson_mut_doc *doc, yyjson_mut_val *root,
                      const struct agent_outcome *outcome) {
    if (!outcome->has_usage) {
        (void)yyjson_mut_obj_add_null(doc, root, "usage");
        return;
    }
    yyjson_mut_val *usage = yyjson_mut_obj_add_obj(doc, root, "usage");
    add_count(doc, usage, "input", outcome->usage.input);
    add_count(doc, usage, "cached", outcome->usage.cached);
    add_count(doc, usage, "written", outcome->usage.written);
    add_count(doc, usage, "output", outcome->usage.output);
    add_count(doc, usage, "reasoning", outcome->usage.reasoning);
}

static void add_cost(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct agent_outcome *outcome,
                     const struct prices *prices) {
    const struct toolrack_usage *usage = &outcome->usage;
    if (!outcome->has_usage || prices->currency == NULL) {
        (void)yyjson_mut_obj_add_null(doc, root, "cost");
        return;
    }
    yyjson_mut_val *cost = yyjson_mut_obj_add_obj(doc, root, "cost");
    double amount = prices_cost(prices, usage->input > 0 ? (uint64_t)usage->input : 0,
                                usage->cached > 0 ? (uint64_t)usage->cached : 0,
                                usage->output > 0 ? (uint64_t)usage->output : 0);
    (void)yyjson_mut_obj_add_real(doc, cost, "amount", amount);
    document_add_text(doc, cost, "currency", prices->currency);
}

static void add_ms(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, uint64_t ns) {
    (void)yyjson_mut_obj_add_real(doc, object, key, (double)(ns / 1000) / 1000.0);
}

static void add_latency(yyjson_mut_doc *doc, yyjson_mut_val *root,
                        const struct agent_outcome *outcome) {
    yyjson_mut_val *latency = yyjson_mut_obj_add_obj(doc, root, "latency");
    if (outcome->first_byte_ns > 0) {
        add_ms(doc, latency, "first_byte_ms", outcome->first_byte_ns);
    } else {
        (void)yyjson_mut_obj_add_null(doc, latency, "first_byte_ms");
    }
    add_ms(doc, latency, "total_ms", outcome->total_ns);
    add_ms(doc, latency, "tools_ms", outcome->tools_ns);
}

static void add_called(yyjson_mut_doc *doc, yyjson_mut_val *root,
                       const struct agent_outcome *outcome) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "called");
    for (size_t i = 0; i < outcome->called_count; i++) {
        const struct agent_called *called = &outcome->called[i];
        yyjson_mut_val *call = yyjson_mut_arr_add_obj(doc, list);
        (void)yyjson_mut_obj_add_uint(doc, call, "step", called->step);
        document_add_text(doc, call, "tool", called->tool);
        document_add_text(doc, call, "state", called->state);
        add_ms(doc, call, "duration_ms", called->duration_ns);
        document_add_text(doc, call, "error",
                          called->code < 0 ? toolrack_code_name(called->code) : NULL);
    }
}

/* NULL: no memory. */
static struct toolrack_text *write_outcome(const struct agent_outcome *outcome,
                                           const struct prices *prices) {
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    struct toolrack_text *text = NULL;
    document_add_text(doc, root, "text", outcome->text.data != NULL ? outcome->text.data : "");
    (void)yyjson_mut_obj_add_uint(doc, root, "steps", outcome->steps);
    (void)yyjson_mut_obj_add_uint(doc, root, "calls", outcome->calls);
    document_add_text(doc, root, "ending", toolrack_ending_word(outcome->ending));
    document_add_text(doc, root, "reason", outcome->reason[0] != '\0' ? outcome->reason : NULL);
    document_add_text(doc, root, "transcript", outcome->transcript);
    add_usage(doc, root, outcome);
    add_cost(doc, root, outcome, prices);
    add_latency(doc, root, outcome);
    add_called(doc, root, outcome);
    return document_end(doc, &text, NULL) == 0 ? text : NULL;
}

int toolrack_agent(struct toolrack *host, const struct toolrack_agent_options *options,
                   struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_agent_options taken = TOOLRACK_AGENT_OPTIONS_INIT;
    struct toolrack_error why = {0};
    memcpy(&taken, options, options->size < sizeof taken ? options->size : sizeof taken);
    *ret = NULL;
    if ((taken.endpoint != NULL && taken.model == NULL) || taken.task == NULL ||
        taken.call == NULL || taken.call->conversation == NULL ||
        taken.steps_max > TOOLRACK_AGENT_STEPS_MAX) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a conversation needs a model for its endpoint, a task, an id (in the "
                         "options of its calls) and at most %d steps",
                         TOOLRACK_AGENT_STEPS_MAX);
    }
    CLEANUP(arena_finish) struct arena arena;
    struct named_model model;
    arena_init(&arena, NULL, 0);
    int code = models_complete(host, &taken, &arena, &model, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(agent_tools_finish) struct agent_tools tools = {.host = host, .app = &taken};
    CLEANUP(buf_finish) struct buf system = BUF_INIT;
    const bool plans = taken.plan != 0;
    if (plans) {
        code = agent_plan_system(&tools, &system, err);
        if (code < 0) {
            return code;
        }
        taken.system = system.data;
    }
    CLEANUP(agent_outcome_finish) struct agent_outcome outcome = {0};
    code = agent_run(
            &(struct agent_options){.user = &tools,
                                    .definitions = plans ? agent_plan_definitions : definitions,
                                    .check = check,
                                    .answer = plans ? agent_plan_answer : answer,
                                    .state_dir = host->places.kept_dir,
                                    .app = &taken,
                                    .place = model.place,
                                    .key_variable = model.key_variable},
            &outcome, &why);
    *ret = write_outcome(&outcome, &model.prices);
    if (code == 0 && *ret == NULL) {
        return error_oom(err);
    }
    if (code < 0 && err != NULL) {
        *err = why;
    }
    return code;
}
