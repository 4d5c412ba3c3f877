#include "toolrack/agent.h"

#include <stdlib.h>
#include <string.h>

#include "api/agent-plan.h"
#include "api/agent-results.h"
#include "api/agent-secrets.h"
#include "api/agent-tools.h"
#include "api/answer.h"
#include "api/host.h"
#include "api/models.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/plan-words.h"
#include "base/text.h"
#include "format/turn.h"
#include "provider/agent.h"
#include "provider/kept.h"
#include "provider/transcript.h"
#include "registry/document.h"

_Static_assert(CONFIG_RESULT_BYTES_DEFAULT == TOOLRACK_AGENT_RESULT_BYTES_DEFAULT, "one default");
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

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

/* A message that cannot be read is the provider's to refuse. */
static bool has_calls(enum toolrack_format format, const char *text, size_t length) {
    struct format_message message;
    if (format_read_message(format, text, length, &message, NULL) < 0) {
        return false;
    }
    bool has_any = message.count > 0;
    format_message_finish(&message);
    return has_any;
}

static bool has_own(void *user, const char *name) {
    return agent_results_has(user, name);
}

static int call_own(void *user, const struct format_call *call, struct buf *out,
                    struct toolrack_error *err) {
    return agent_results_call(user, call, out, err);
}

static int answer(void *user, const char *message, size_t length, const struct agent_watch *watch,
                  struct toolrack_text **ret, struct toolrack_error *err) {
    const struct agent_tools *tools = user;
    const struct toolrack_call_options *app = tools->app->call;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    memcpy(&call, app, app->size < sizeof call ? app->size : sizeof call);
    call.size = sizeof call;
    call.model = tools->app->model;
    const struct answer_extra extra = {.keeping = &tools->results->keeping,
                                       .names = yyjson_doc_get_root(tools->given),
                                       .user = tools->results,
                                       .has = has_own,
                                       .call = call_own};
    return answer_message(tools->host, tools->app->format, message, length, &call, watch, &extra,
                          ret, err);
}

static int define_more(void *user, struct toolrack_text **ret, struct toolrack_error *err) {
    const struct agent_tools *tools = user;
    return agent_results_define(tools->results, ret, err);
}

/* A number of tokens, or null. */
static void add_count(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t count) {
    (void)yyjson_mut_obj_add_val(doc, object, key,
                                 count >= 0 ? yyjson_mut_sint(doc, count) : yyjson_mut_null(doc));
}

/* Whether the tokens of each request are known. */
static bool is_counted(const struct agent_outcome *outcome) {
    return outcome->has_usage && outcome->counted == outcome->steps;
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
    (void)yyjson_mut_obj_add_bool(doc, usage, "complete", is_counted(outcome));
}

static void add_cost(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct agent_outcome *outcome,
                     const struct prices *prices) {
    if (!is_counted(outcome) || prices->currency == NULL) {
        (void)yyjson_mut_obj_add_null(doc, root, "cost");
        return;
    }
    yyjson_mut_val *cost = yyjson_mut_obj_add_obj(doc, root, "cost");
    (void)yyjson_mut_obj_add_real(doc, cost, "amount", prices_cost(prices, &outcome->usage));
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
        if (called->changed != NULL) {
            (void)yyjson_mut_obj_add_val(doc, call, "changed",
                                         yyjson_mut_rawcpy(doc, called->changed));
        }
    }
}

/* Tell of the calls whose end nobody knows: at most so many names. */
#define UNFINISHED_NAMES_MAX 8u

static void tell_unfinished(const struct toolrack_agent_options *app,
                            const struct format_message *message) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    for (size_t i = 0; i < message->count && i < UNFINISHED_NAMES_MAX; i++) {
        const char *name = message->calls[i].name;
        buf_add_text(&line, i > 0 ? ", " : "");
        text_add_line(&line, name, strlen(name));
    }
    buf_printf(&line,
               "%s: had not ended with the conversation; the model is told that it is not "
               "known whether %s took effect",
               message->count > UNFINISHED_NAMES_MAX ? ", ..." : "",
               message->count > 1 ? "they" : "it");
    if (message->count > 0 && !line.failed) {
        app->note(app->user, line.data);
    }
}

/* Results that say of each call that it is not known what it did. */
static int unfinished(void *user, const char *message, size_t length, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    const struct agent_tools *tools = user;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_error why = {0};
    struct format_message read;
    int code = format_read_message(tools->app->format, message, length, &read, err);
    if (code < 0) {
        return code;
    }
    (void)error_set(&why, TOOLRACK_E_EXECUTION_FAILED,
                    "the conversation ended before this call did, so it is not known whether it "
                    "took effect; look before you call it again");
    CLEANUP(freep) struct format_outcome *outcomes = calloc(read.count + 1, sizeof *outcomes);
    for (size_t i = 0; outcomes != NULL && i < read.count; i++) {
        outcomes[i].err = &why;
    }
    code = outcomes != NULL ? format_write_results(&read, outcomes, &out, err) : error_oom(err);
    if (code == 0) {
        tell_unfinished(tools->app, &read);
        *ret = text_create(&out);
        code = *ret != NULL ? 0 : error_oom(err);
    }
    format_message_finish(&read);
    return code;
}

/* NULL: no memory. */
static struct toolrack_text *write_outcome(const struct toolrack_agent_options *app,
                                           const struct agent_outcome *outcome,
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
    document_add_text(doc, root, "conversation", app->call->conversation);
    add_usage(doc, root, outcome);
    add_cost(doc, root, outcome, prices);
    add_latency(doc, root, outcome);
    add_called(doc, root, outcome);
    return document_end(doc, &text, NULL) == 0 ? text : NULL;
}

/* Read the conversation that goes on. Its settings are used where the app states none. */
static int open_kept(const struct toolrack *host, struct toolrack_agent_options *taken,
                     struct kept *kept, struct toolrack_error *err) {
    int code = kept_open(&(struct transcript_place){.file = taken->transcript,
                                                    .state_dir = host->places.kept_dir,
                                                    .id = taken->call->conversation,
                                                    .is_kept = true},
                         has_calls, kept, err);
    if (code < 0) {
        return code;
    }
    const bool is_named =
            taken->endpoint == NULL &&
            (taken->model != NULL ? models_has(host, taken->model) : kept->name != NULL);
    if (is_named) {
        taken->model = taken->model != NULL ? taken->model : kept->name;
    } else if (kept->name == NULL && taken->endpoint == NULL && taken->transcript != NULL) {
        /* The file may be anybody's, who would be sent the key. */
        return error_set(err, TOOLRACK_E_INVALID,
                         "the transcript %s is not one of the state folder, so its word for where "
                         "to go on is not taken: %s; give --endpoint URL",
                         taken->transcript, kept->endpoint != NULL ? kept->endpoint : "none");
    } else if (kept->name == NULL) {
        taken->endpoint = taken->endpoint != NULL ? taken->endpoint : kept->endpoint;
        taken->model = taken->model != NULL ? taken->model : kept->model;
    }
    if (taken->endpoint != NULL && taken->model == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the conversation does not say which model of this endpoint it had; give "
                         "--model NAME");
    }
    taken->system = taken->system != NULL ? taken->system : kept->system;
    taken->query = taken->query != NULL ? taken->query : (const char *const *)kept->query;
    taken->parameters =
            taken->parameters != NULL ? taken->parameters : (const char *const *)kept->parameters;
    taken->plan = taken->plan != 0 || kept->plan;
    return 0;
}

static int check_format(const struct toolrack_agent_options *taken, const struct kept *kept,
                        struct toolrack_error *err) {
    const enum toolrack_format format = kept->conversation.format;
    return format == taken->format
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the conversation is in the format %s, in which its provider has "
                               "written its messages, and cannot go on in the format %s; begin "
                               "another one",
                               toolrack_format_name(format), toolrack_format_name(taken->format));
}

int toolrack_agent(struct toolrack *host, const struct toolrack_agent_options *options,
                   struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_agent_options taken = TOOLRACK_AGENT_OPTIONS_INIT;
    CLEANUP(kept_finish) struct kept kept = {0};
    struct toolrack_error why = {0};
    memcpy(&taken, options, options->size < sizeof taken ? options->size : sizeof taken);
    *ret = NULL;
    const bool goes_on = taken.resume != 0;
    if ((taken.endpoint != NULL && taken.model == NULL && !goes_on) ||
        (taken.task == NULL && !goes_on) || taken.call == NULL ||
        taken.call->conversation == NULL || taken.steps_max > TOOLRACK_AGENT_STEPS_MAX ||
        taken.result_bytes_max > TOOLRACK_AGENT_RESULT_BYTES_MAX) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a conversation needs a model for its endpoint, a task, an id (in the "
                         "options of its calls), at most %d steps and results of at most %d bytes",
                         TOOLRACK_AGENT_STEPS_MAX, TOOLRACK_AGENT_RESULT_BYTES_MAX);
    }
    CLEANUP(arena_finish) struct arena arena;
    struct named_model model;
    arena_init(&arena, NULL, 0);
    int code = goes_on ? open_kept(host, &taken, &kept, err) : 0;
    const char *const *const query = taken.query;
    const char *const *const parameters = taken.parameters;
    if (code == 0) {
        code = models_complete(host, &taken, &arena, &model, err);
    }
    if (code == 0 && goes_on) {
        code = check_format(&taken, &kept, err);
    }
    if (code < 0) {
        return code;
    }
    if (taken.result_bytes_max == 0) {
        taken.result_bytes_max = config_agent_result_bytes(host->config);
    }
    CLEANUP(agent_results_finish) struct agent_results results = {0};
    CLEANUP(agent_tools_finish)
    struct agent_tools tools = {.host = host, .app = &taken, .results = &results};
    code = agent_results_init(&results, &tools, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(buf_finish) struct buf system = BUF_INIT;
    const bool plans = taken.plan != 0;
    if (plans) {
        code = agent_plan_system(&tools, &system, err);
        if (code < 0) {
            return code;
        }
    }
    CLEANUP(agent_outcome_finish) struct agent_outcome outcome = {0};
    code = agent_run(
            &(struct agent_options){.user = &tools,
                                    .definitions = plans ? agent_plan_definitions : definitions,
                                    .check = check,
                                    .answer = plans ? agent_plan_answer : answer,
                                    .unfinished = unfinished,
                                    .secrets = agent_secrets_look,
                                    .system = plans ? system.data : taken.system,
                                    .name = model.name,
                                    .query = query,
                                    .parameters = parameters,
                                    .kept = goes_on ? &kept : NULL,
                                    .more = define_more,
                                    .results = results.store,
                                    .state_dir = host->places.kept_dir,
                                    .app = &taken,
                                    .place = model.place,
                                    .key_variable = model.key_variable},
            &outcome, &why);
    *ret = write_outcome(&taken, &outcome, &model.prices);
    if (code == 0 && *ret == NULL) {
        return error_oom(err);
    }
    if (code < 0 && err != NULL) {
        *err = why;
    }
    return code;
}

/* --------------------------------------------------------------- kept ones */

int toolrack_conversations(struct toolrack *host, struct toolrack_text **ret,
                           struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    int code = kept_list(host->places.kept_dir, &out, err);
    if (code < 0) {
        return code;
    }
    *ret = text_create(&out);
    return *ret != NULL ? 0 : error_oom(err);
}

int toolrack_conversation_remove(struct toolrack *host, const char *id,
                                 struct toolrack_error *err) {
    HOST_SCOPE(host);
    int code = kept_remove(host->places.kept_dir, id, err);
    return code < 0 ? code : results_forget(host->places.kept_dir, id, err);
}

static void add_name(yyjson_mut_doc *doc, yyjson_mut_val *names, const char *name) {
    yyjson_mut_val *known;
    size_t at;
    size_t count;
    yyjson_mut_arr_foreach(names, at, count, known) {
        if (yyjson_mut_equals_str(known, name)) {
            return;
        }
    }
    (void)yyjson_mut_arr_add_strcpy(doc, names, name);
}

/* What was called: of a plan the tools of its nodes. */
static void add_call(yyjson_mut_doc *doc, yyjson_mut_val *names, const struct format_call *call) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *arguments = strcmp(call->name, PLAN_WORDS_TOOL) == 0
                                    ? yyjson_read(call->arguments, call->arguments_length, 0)
                                    : NULL;
    yyjson_val *nodes = yyjson_doc_ptr_get(arguments, "/plan/nodes");
    size_t at;
    size_t count;
    yyjson_val *node;
    add_name(doc, names, call->name);
    yyjson_arr_foreach (nodes, at, count, node) {
        const char *tool = yyjson_get_str(yyjson_obj_get(node, "tool"));
        if (tool != NULL) {
            add_name(doc, names, tool);
        }
    }
}

/* The names of what was called in the messages that are answered, each once. */
static int add_names(yyjson_mut_doc *doc, yyjson_mut_val *names, const struct kept *kept,
                     size_t first, struct toolrack_error *err) {
    for (size_t i = first; i < kept->answered_count; i++) {
        const char *text = kept->answered[i];
        struct format_message message;
        int code =
                format_read_message(kept->conversation.format, text, strlen(text), &message, err);
        if (code < 0) {
            return code;
        }
        for (size_t call = 0; call < message.count; call++) {
            add_call(doc, names, &message.calls[call]);
        }
        format_message_finish(&message);
    }
    return 0;
}

int toolrack_conversation_undo(struct toolrack *host, const char *file, const char *id,
                               struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(kept_finish) struct kept kept = {0};
    const struct key no_key = {0};
    int code = kept_open(
            &(struct transcript_place){
                    .file = file, .state_dir = host->places.kept_dir, .id = id, .is_kept = true},
            has_calls, &kept, err);
    if (code == 0 && kept.exchange_count == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "the conversation has nothing to take back");
    }
    if (code < 0) {
        return code;
    }
    const struct kept_exchange *last = &kept.exchanges[kept.exchange_count - 1];
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    document_add_text(doc, root, "task", last->task);
    yyjson_mut_val *calls = yyjson_mut_obj_add_arr(doc, root, "calls");
    code = add_names(doc, calls, &kept, last->answered, err);
    (void)yyjson_mut_obj_add_uint(doc, root, "left", kept.exchange_count - 1);
    if (code < 0) {
        yyjson_mut_doc_free(doc);
        return code;
    }
    code = document_end(doc, ret, err);
    if (code == 0) {
        transcript_set_key(kept.transcript, &no_key);
        code = transcript_write(kept.transcript, "undo", "{}", 2, err);
    }
    if (code < 0) {
        toolrack_text_unref(*ret);
        *ret = NULL;
    }
    return code;
}
