#include "api/agent-plan.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent-results.h"
#include "api/answer-names.h"
#include "api/host.h"
#include "api/plan-parts.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-lenient.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/plan-words.h"
#include "base/text.h"
#include "format/definitions.h"
#include "format/turn.h"
#include "schema/secret.h"

/* What the model is told: bytes of tools with their schemas, after that of names alone; characters
 * of a description; bytes of how the nodes of a run have ended. */
#define TOOLS_MAX             65536u
#define NAMES_MAX             16384u
#define DESCRIPTION_WIDTH_MAX 500u
#define ENDS_MAX              8192u

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* ---------------------------------------------------------------------- what the model is told */

static void add_schema(struct buf *out, const char *what, const char *schema) {
    CLEANUP(buf_finish) struct buf without = BUF_INIT;
    if (schema == NULL) {
        return;
    }
    if (!schema_without_secrets(schema, &without)) {
        out->failed = true;
        return;
    }
    buf_printf(out, "  %s: ", what);
    schema = without.length > 0 ? without.data : schema;
    text_add_line(out, schema, strlen(schema));
    buf_add_char(out, '\n');
}

static void add_tool(struct buf *out, const struct toolrack_tool *tool) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    const char *description = toolrack_tool_description(tool);
    text_add_line(&line, description, strlen(description));
    buf_printf(out, "- %s: ", toolrack_tool_name(tool));
    text_add_cut(out, line.data != NULL ? line.data : "", line.length, DESCRIPTION_WIDTH_MAX);
    buf_add_char(out, '\n');
    add_schema(out, "parameters", toolrack_tool_schema(tool));
    add_schema(out, "result", toolrack_tool_result_schema(tool));
    out->failed = out->failed || line.failed;
}

struct telling {
    const struct agent_tools *tools;
    struct buf *out;
};

/* Those that a model is offered without plans: with their schemas as long as there is room. */
static void add_tools(void *user, const struct snapshot *snapshot) {
    const struct telling *telling = user;
    struct buf *out = telling->out;
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    const size_t before = out->length;
    size_t more = 0;
    const struct toolrack_tool *tool;
    for (struct snapshot_place at = {0}; (tool = snapshot_next(snapshot, &at)) != NULL;) {
        if (!snapshot_is_default(snapshot, tool) || !agent_tools_has(telling->tools, tool)) {
            continue;
        }
        size_t length = out->length;
        if (names.length == 0) {
            add_tool(out, tool);
        }
        if (names.length > 0 || out->length - before > TOOLS_MAX) {
            buf_truncate(out, length);
            if (names.length > NAMES_MAX) {
                more++;
            } else {
                buf_printf(&names, "%s%s", names.length > 0 ? ", " : "", toolrack_tool_name(tool));
            }
        }
    }
    if (names.length > 0) {
        buf_add_text(out, "Further tools, by name: ");
        buf_add(out, names.data, names.length);
        buf_add_char(out, '\n');
    }
    if (more > 0) {
        buf_printf(out, "%zu more are not listed.\n", more);
    }
    out->failed = out->failed || names.failed;
}

int agent_plan_system(struct agent_tools *tools, struct buf *out, struct toolrack_error *err) {
    const char *system = tools->app->system;
    struct telling telling = {.tools = tools, .out = out};
    int code = agent_tools_read(tools, TOOLRACK_FORMAT_MCP, NULL, err);
    if (code < 0) {
        return code;
    }
    buf_add_text(out, system != NULL ? system : "");
    buf_add_text(out, system != NULL ? "\n\n" : "");
    buf_add_text(out, "Call tools only through " PLAN_WORDS_TOOL
                      ", all that the task needs in one plan where you can. Tools that a plan may "
                      "call:\n");
    registry_look(tools->host->registry, add_tools, &telling);
    return out->failed ? error_oom(err) : 0;
}

int agent_plan_definitions(void *user, struct toolrack_text **ret, struct toolrack_error *err) {
    const struct agent_tools *tools = user;
    static const struct format_tool tool = {
            .name = PLAN_WORDS_TOOL,
            .title = "Run a plan",
            .description = "Run tools in one call, as a plan of nodes, each of which calls a "
                           "tool. " PLAN_WORDS_REFERENCES,
            .schema = "{\"type\":\"object\",\"properties\":{\"plan\":{\"type\":\"object\"," //
            PLAN_WORDS_MEMBERS "\"description\":\"The plan\"},\"inputs\":{\"type\":"
                      "\"object\",\"description\":\"" PLAN_WORDS_INPUTS
                      "\"}},\"required\":[\"plan\"],\"additionalProperties\":false}",
            .destructive = true,
            .open_world = true};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    int code = format_definitions(tools->app->format, &tool, 1, NULL, &out, NULL, NULL, err);
    if (code < 0) {
        return code;
    }
    *ret = text_create(&out);
    return *ret != NULL ? 0 : error_oom(err);
}

/* ------------------------------------------------------------------------------------ one call */

/* A call of run_plan. */
struct planned {
    const struct agent_tools *tools;
    const struct agent_watch *watch; /* NULL: nobody watches */
    size_t index;                    /* of the call in its message */
    struct toolrack_plan *plan;
    size_t ended;      /* nodes */
    struct buf ends;   /* of nodes, as members of an object */
    struct buf others; /* the same of those that did not plainly succeed */
    struct buf out;    /* the result, JSON */
    bool failed;       /* it is an error */
    bool is_read;      /* it is a part of an earlier one */
    struct toolrack_error err;
};

static bool is_stopped(void *user) {
    const struct toolrack_agent_options *app = user;
    struct pollfd stop = {.fd = app->stop_fd, .events = POLLIN};
    return poll(&stop, 1, 0) > 0;
}

static void add_end(struct buf *ends, const char *id, const struct buf *how) {
    buf_add_text(ends, ends->length > 0 ? "," : "");
    buf_add_json_string(ends, id, strlen(id));
    buf_add_char(ends, ':');
    buf_add_json_string(ends, how->data != NULL ? how->data : "", how->length);
    ends->failed = ends->failed || how->failed;
}

/* How a node ended: the model has no other way to know what was done. */
static void take_event(void *user, const struct toolrack_plan_event *event) {
    struct planned *planned = user;
    struct buf *ends = &planned->ends;
    const char *id = toolrack_plan_node(planned->plan, event->node);
    planned->ended += event->kind == TOOLRACK_PLAN_ENDED;
    if (planned->watch != NULL) {
        planned->watch->progress(planned->watch->user, planned->index, (double)planned->ended,
                                 (double)toolrack_plan_count(planned->plan), id);
    }
    if (event->kind != TOOLRACK_PLAN_ENDED || ends->length > ENDS_MAX) {
        return;
    }
    CLEANUP(buf_finish) struct buf told = BUF_INIT;
    buf_add_text(&told, event->state);
    const struct toolrack_error *why = event->err != NULL ? event->err : event->replaced;
    if (why != NULL) {
        const char *message = toolrack_error_message(why);
        buf_add_text(&told, event->replaced != NULL ? " by its fallback: " : ": ");
        text_add_valid(&told, message, strlen(message));
    }
    add_end(ends, id, &told);
    if (why != NULL || strcmp(event->state, "succeeded") != 0) {
        add_end(&planned->others, id, &told);
    }
}

static void add_member(struct buf *out, const char *key, const char *text) {
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    buf_printf(out, "\"%s\":", key);
    text_add_valid(&valid, text, strlen(text));
    buf_add_json_string(out, valid.data != NULL ? valid.data : "", valid.length);
    out->failed = out->failed || valid.failed;
}

/* What is wrong with the plan, as the last member of an object, and the end of that. */
static void add_findings(struct buf *out, const struct toolrack_findings *findings) {
    buf_add_text(out, ",\"findings\":[");
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        buf_add_text(out, i > 0 ? ",{" : "{");
        add_member(out, "id", finding->rule);
        if (finding->tool != NULL) {
            buf_add_char(out, ',');
            add_member(out, "node", finding->tool);
        }
        if (finding->pointer != NULL) {
            buf_add_char(out, ',');
            add_member(out, "pointer", finding->pointer);
        }
        buf_add_char(out, ',');
        add_member(out, "cause", finding->cause);
        buf_add_char(out, ',');
        add_member(out, "fix", finding->fix);
        buf_add_char(out, '}');
    }
    buf_add_text(out, "]}");
}

/* For a model that writes the plan anew. */
static void tell_findings(struct planned *planned, const struct toolrack_findings *findings) {
    planned->failed = true;
    buf_add_text(&planned->out,
                 "{\"error\":\"Invalid\",\"message\":\"The plan is wrong; nothing has run. "
                 "Correct all findings and call " PLAN_WORDS_TOOL " again.\"");
    add_findings(&planned->out, findings);
}

static void tell_failure(struct planned *planned) {
    struct buf *out = &planned->out;
    planned->failed = true;
    buf_add_char(out, '{');
    add_member(out, "error", toolrack_code_name(planned->err.code));
    buf_add_char(out, ',');
    add_member(out, "message", planned->err.message);
    buf_add_text(out, ",\"nodes\":{");
    buf_add(out, planned->ends.data != NULL ? planned->ends.data : "", planned->ends.length);
    buf_add_text(out, "}}");
    out->failed = out->failed || planned->ends.failed;
}

/* @param findings  of the plan, which are warnings */
static void run(struct planned *planned, const char *inputs,
                const struct toolrack_findings *findings) {
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_text *result = NULL;
    options.inputs = inputs;
    options.call = planned->tools->app->call;
    options.event = take_event;
    options.user = planned;
    planned->plan->unwanted = is_stopped;
    planned->plan->unwanted_user = (void *)(uintptr_t)planned->tools->app;
    if (toolrack_plan_run(planned->plan, &options, &result, &planned->err) < 0) {
        tell_failure(planned);
        return;
    }
    size_t length;
    const char *text = toolrack_text_data(result, &length);
    buf_printf(&planned->out, "{\"run\":\"%s\",\"result\":", planned->plan->id);
    buf_add(&planned->out, text, length);
    if (planned->others.length > 0) {
        buf_add_text(&planned->out, ",\"nodes\":{");
        buf_add(&planned->out, planned->others.data, planned->others.length);
        buf_add_char(&planned->out, '}');
        planned->out.failed = planned->out.failed || planned->others.failed;
    }
    if (toolrack_findings_count(findings) > 0) {
        add_findings(&planned->out, findings);
    } else {
        buf_add_char(&planned->out, '}');
    }
    toolrack_text_unref(result);
}

static struct toolrack_tool *find(void *user, const char *name) {
    const struct agent_tools *const *tools = user;
    struct toolrack_tool *tool = toolrack_get((*tools)->host, name);
    if (tool != NULL && !agent_tools_has(*tools, tool)) {
        toolrack_tool_unref(tool);
        tool = NULL;
    }
    return tool;
}

/* Check the plan, and run it. @return false: no memory */
static bool check_and_run(struct planned *planned, yyjson_val *plan, yyjson_val *inputs) {
    const struct agent_tools *tools = planned->tools;
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *opened = NULL;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf given = BUF_INIT;
    json_add_value(&text, plan);
    if (inputs != NULL) {
        json_add_value(&given, inputs);
    }
    if (text.failed || given.failed ||
        toolrack_plan_open_for(tools->host, text.data, text.length,
                               tools->doc != NULL ? find : NULL, &tools, &findings, &opened,
                               NULL) < 0) {
        return false;
    }
    planned->plan = opened;
    if (opened == NULL) {
        tell_findings(planned, findings);
    } else {
        run(planned, given.length > 0 ? given.data : NULL, findings);
    }
    planned->plan = NULL;
    return !planned->out.failed;
}

/* An object, or the one that a text is; else the value. `ret_doc` gets what was read for it. */
static yyjson_val *object_of(yyjson_val *value, yyjson_doc **ret_doc) {
    yyjson_read_err why;
    if (!yyjson_is_str(value)) {
        return value;
    }
    *ret_doc = json_read_lenient(yyjson_get_str(value), yyjson_get_len(value),
                                 YYJSON_READ_NUMBER_AS_RAW, NULL, &why);
    yyjson_val *read = yyjson_doc_get_root(*ret_doc);
    return yyjson_is_obj(read) && !json_is_deeper(read, JSON_DEEPER_MAX) ? read : value;
}

/* Run the plan of arguments. As other calls may, they may be wrapped, and objects be text. */
static bool run_given(struct planned *planned, yyjson_val *arguments) {
    const char *word;
    CLEANUP(yyjson_doc_freep) yyjson_doc *unwrapped = NULL;
    CLEANUP(yyjson_doc_freep) yyjson_doc *plan_doc = NULL;
    CLEANUP(yyjson_doc_freep) yyjson_doc *inputs_doc = NULL;
    yyjson_val *within = object_of(format_is_wrapped(arguments, &word), &unwrapped);
    arguments = yyjson_obj_get(within, "plan") != NULL ? within : arguments;
    yyjson_val *plan = object_of(yyjson_obj_get(arguments, "plan"), &plan_doc);
    yyjson_val *inputs = object_of(yyjson_obj_get(arguments, "inputs"), &inputs_doc);
    if (!yyjson_is_obj(plan) || (inputs != NULL && !yyjson_is_obj(inputs))) {
        (void)error_set(&planned->err, TOOLRACK_E_INVALID_ARGUMENTS,
                        "%s: " PLAN_WORDS_TOOL
                        " takes {\"plan\": {\"nodes\": [...]}, \"inputs\": {...}}; %s",
                        yyjson_is_obj(plan) ? "inputs" : "plan",
                        yyjson_is_obj(plan) ? "the inputs are an object, or left out"
                                            : "the plan is an object, and is required");
        return true;
    }
    return check_and_run(planned, plan, inputs);
}

/* Do what a call wants; a failure without a result is in `err`. @return false: no memory */
static bool do_call(struct planned *planned, const struct format_call *call) {
    const struct agent_results *results = planned->tools->results;
    if (call->problem != NULL) {
        planned->err = *call->problem;
        return true;
    }
    const char *name = answer_names_bare(call->name);
    if (agent_results_has(results, name)) {
        planned->is_read = true;
        return agent_results_call(results, call, &planned->out, &planned->err) !=
               TOOLRACK_E_NO_MEMORY;
    }
    if (strcmp(name, PLAN_WORDS_TOOL) != 0) {
        (void)error_set(&planned->err, TOOLRACK_E_NOT_FOUND,
                        "there is only " PLAN_WORDS_TOOL "; call %.64s as the tool of a node",
                        name);
        return true;
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)call->arguments, call->arguments_length,
                                       YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
    return doc != NULL && /* it was read before */
           run_given(planned, yyjson_doc_get_root(doc));
}

/* -------------------------------------------------------------------------------------- a turn */

static void planned_finish(struct planned *planned, size_t count) {
    for (size_t i = 0; planned != NULL && i < count; i++) {
        buf_finish(&planned[i].ends);
        buf_finish(&planned[i].others);
        buf_finish(&planned[i].out);
    }
    free(planned);
}

static void tell_end(const struct planned *planned, uint64_t duration_ns) {
    CLEANUP(buf_finish) struct buf said = BUF_INIT;
    struct agent_call_end end = {.text = planned->out.data,
                                 .length = planned->out.length,
                                 .code = planned->err.code,
                                 .duration_ns = duration_ns};
    if (end.code == 0 && planned->failed) {
        end.code = TOOLRACK_E_INVALID; /* the plan */
    }
    if (end.text == NULL) {
        format_add_failure(&said, &planned->err);
        end.text = said.failed ? "" : said.data;
        end.length = said.failed ? 0 : said.length;
    }
    planned->watch->ended(planned->watch->user, planned->index, &end);
}

/* One call after the other: each is asked about as a whole. */
static int answer_all(const struct agent_tools *tools, const struct format_message *message,
                      const struct agent_watch *watch, struct buf *out,
                      struct toolrack_error *err) {
    struct planned *planned = calloc(message->count + 1, sizeof *planned);
    CLEANUP(freep) struct format_outcome *outcomes = calloc(message->count + 1, sizeof *outcomes);
    bool is_done = planned != NULL && outcomes != NULL;
    for (size_t i = 0; is_done && i < message->count; i++) {
        uint64_t began_ns = clock_now_ns();
        planned[i].tools = tools;
        planned[i].watch = watch;
        planned[i].index = i;
        is_done = do_call(&planned[i], &message->calls[i]);
        if (is_done && watch != NULL) {
            tell_end(&planned[i], clock_now_ns() - began_ns);
        }
        outcomes[i] = (struct format_outcome){
                .json = planned[i].out.data,
                .length = planned[i].out.length,
                .is_error = planned[i].failed,
                .err = &planned[i].err,
                .keeping = planned[i].is_read || tools->results == NULL ? NULL
                                                                        : &tools->results->keeping};
    }
    int code = is_done ? format_write_results(message, outcomes, out, err) : error_oom(err);
    planned_finish(planned, message->count);
    return code;
}

int agent_plan_answer(void *user, const char *message, size_t length,
                      const struct agent_watch *watch, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    const struct agent_tools *tools = user;
    struct format_message read;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    int code = format_read_message(tools->app->format, message, length, &read, err);
    if (code < 0) {
        return code;
    }
    code = answer_all(tools, &read, watch, &out, err);
    format_message_finish(&read);
    if (code == 0) {
        *ret = text_create(&out);
        code = *ret != NULL ? 0 : error_oom(err);
    }
    return code;
}
