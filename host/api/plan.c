/* Plans, forwarded to plan, and the calls of their nodes. */
#include "toolrack/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "api/host.h"
#include "api/plan-tool.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-twice.h"
#include "base/json-write.h"
#include "base/name.h"
#include "base/object.h"
#include "plan/check.h"
#include "plan/consent.h"
#include "plan/run.h"
#include "registry/text.h"
#include "schema/arguments.h"
#include "schema/secret.h"

CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)
CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* ------------------------------------------------------------------------------------- opening */

/* The problems as findings, with their places in the text. */
static int take_problems(const struct problems *problems, const char *text, size_t length,
                         struct toolrack_findings *findings, struct toolrack_error *err) {
    findings->items =
            arena_zalloc(&findings->arena, (problems->count + 1) * sizeof *findings->items);
    if (findings->items == NULL || problems->failed) {
        return error_oom(err);
    }
    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];
        struct toolrack_finding *finding = &findings->items[findings->count++];
        *finding = (struct toolrack_finding){.severity = problem->severity,
                                             .rule = problem->rule,
                                             .tool = problem->tool,
                                             .cause = problem->cause,
                                             .fix = problem->fix,
                                             .pointer = problem->pointer};
        problem_line(problem, text, length, &finding->line, &finding->column);
    }
    return 0;
}

static int open_plan(struct toolrack_plan *plan, const char *text, size_t length,
                     const struct plan_finder *finder, struct problems *problems,
                     struct toolrack_error *err) {
    int code = plan_read(text, length, problems, &plan->plan, err);
    if (code == 0 && plan->plan != NULL) {
        code = plan_check(plan->plan, finder, problems, &plan->tools, err);
    }
    return code == 0 ? plan_tools_look_inside(&plan->tools, err) : code;
}

static int open_with(struct toolrack *host, const char *text, size_t length,
                     const struct plan_finder *finder, struct toolrack_findings **ret_findings,
                     struct toolrack_plan **ret, struct toolrack_error *err) {
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = calloc(1, sizeof *plan);
    CLEANUP(toolrack_findings_freep)
    struct toolrack_findings *findings = calloc(1, sizeof *findings);
    if (plan != NULL) {
        *plan = (struct toolrack_plan){.magic = PLAN_MAGIC, .host = host};
        arena_init(&plan->kept.arena, NULL, 0);
        lock_init(&plan->lock);
    }
    if (plan == NULL || findings == NULL) {
        return error_oom(err);
    }
    arena_init(&findings->arena, NULL, 0);
    struct problems problems = {.arena = &findings->arena};
    int code = open_plan(plan, text, length, finder, &problems, err);
    if (code == 0) {
        problems_end(&problems);
        code = take_problems(&problems, text, length, findings, err);
    }
    if (code < 0) {
        return code;
    }
    *ret_findings = STEAL(findings);
    if (ret != NULL) {
        *ret = problems.errors == 0 ? STEAL(plan) : NULL;
    }
    return 0;
}

int toolrack_plan_open(struct toolrack *host, const char *text, size_t length,
                       struct toolrack_findings **ret_findings, struct toolrack_plan **ret,
                       struct toolrack_error *err) {
    HOST_SCOPE(host);
    const struct plan_finder finder = {.registry = host->registry, .has_commands = true};
    return open_with(host, text, length, &finder, ret_findings, ret, err);
}

int toolrack_plan_open_for(struct toolrack *host, const char *text, size_t length,
                           toolrack_plan_find *find, void *user,
                           struct toolrack_findings **ret_findings, struct toolrack_plan **ret,
                           struct toolrack_error *err) {
    HOST_SCOPE(host);
    const struct plan_finder finder = {.registry = host->registry, .find = find, .user = user};
    return open_with(host, text, length, &finder, ret_findings, ret, err);
}

void toolrack_plan_close(struct toolrack_plan *plan) {
    if (plan == NULL) {
        return;
    }
    if (plan->reopened) {
        runs_release(plan);
    }
    OBJECT_WIPE(plan, PLAN_MAGIC);
    journal_kept_finish(&plan->kept);
    plan_tools_finish(&plan->tools);
    plan_destroy(plan->plan);
    lock_finish(&plan->lock);
    free(plan);
}

size_t toolrack_plan_count(const struct toolrack_plan *plan) {
    return plan->plan->graph.count;
}

const char *toolrack_plan_node(const struct toolrack_plan *plan, size_t index) {
    return index < plan->plan->graph.count ? plan->plan->nodes[index].id : NULL;
}

const char *toolrack_plan_tool(const struct toolrack_plan *plan, size_t index) {
    return index < plan->plan->graph.count ? toolrack_tool_name(plan->tools.tools[index]) : NULL;
}

const char *toolrack_plan_tool_version(const struct toolrack_plan *plan, size_t index) {
    return index < plan->plan->graph.count ? toolrack_tool_version(plan->tools.tools[index]) : NULL;
}

struct toolrack_tool *toolrack_plan_called(const struct toolrack_plan *plan, size_t index,
                                           bool is_fallback) {
    return index < plan->plan->graph.count
                   ? (is_fallback ? plan->tools.fallbacks : plan->tools.tools)[index]
                   : NULL;
}

bool toolrack_plan_need(const struct toolrack_plan *plan, size_t index, size_t at, size_t *ret_node,
                        bool *ret_data) {
    const struct graph *graph = &plan->plan->graph;
    if (index >= graph->count || at >= graph->nodes[index].need_count) {
        return false;
    }
    *ret_node = graph->nodes[index].needs[at].node;
    *ret_data = graph->nodes[index].needs[at].data;
    return true;
}

void toolrack_plan_size(const struct toolrack_plan *plan, size_t *ret_depth, size_t *ret_width) {
    graph_measure(&plan->plan->graph, ret_depth, ret_width);
}

/* ------------------------------------------------------------------------------------- running */

/* A call of a run that is kept, about which a person may be asked. */
struct agreeing {
    struct agreeing *next;
    const struct running *running;
    struct store_run_agreed row;
};

/* A run, as the callbacks of plan/ see it. */
struct running {
    struct toolrack_plan *plan;
    const struct toolrack_plan_options *options;
    struct toolrack_call_options call; /* of each call; its secrets are those of `secrets` */
    struct plan_secrets secrets;
    struct journal *journal; /* NULL: the run is not kept */
    struct plan_consent *consent;
    struct store_run_agreed *agreed; /* what is new of that; owned */
    size_t agreed_count;
    struct agreeing *agreeing; /* owned */
    char runner[RUNNER_NAME_ROOM];
    struct store_runs_others others;
    void (*begun)(void *user);
    void *begun_user;
    bool has_begun;
};

/* A tool as it is set now, with a reference: a plan keeps its tools, but not whether a person has
 * disabled them since. Of one that was exchanged that is what its successor of the same version
 * says; one that is gone is as it was. */
static struct toolrack_tool *as_set_now(struct toolrack *host, struct toolrack_tool *tool) {
    char selector[2 * NAME_LENGTH_MAX];
    struct toolrack_tool *now = registry_view(host->registry, tool->reg);
    if (now != NULL) {
        return now;
    }
    (void)snprintf(selector, sizeof selector, "%s@%s", toolrack_tool_name(tool),
                   toolrack_tool_version(tool));
    now = registry_get(host->registry, selector);
    if (now != NULL && !toolrack_tool_enabled(now)) {
        return now;
    }
    toolrack_tool_unref(now);
    return toolrack_tool_ref(tool);
}

/* A person has agreed to a call, which is not made before that is kept: the run may have to go on
 * in another process. */
static void keep_agreed(void *user, const char *who) {
    struct agreeing *agreeing = user;
    const struct running *running = agreeing->running;
    const struct toolrack *host = running->plan->host;
    struct store_run_agreed row = agreeing->row;
    struct toolrack_error err;
    row.who = who;
    if (store_run_agree(host->store, running->plan->id, running->runner, &row, &err) < 0) {
        log_line(&host->log, LOG_WARNING, "store",
                 "that %s agreed to a call of '%s' is not kept with run %s: %s", who, row.tool,
                 running->plan->id, err.message);
    }
    if (running->call.agreed != NULL) {
        running->call.agreed(running->call.agreed_user, who);
    }
}

/* Have it kept if a person agrees to a call by itself. */
static int watch_agreement(struct running *running, const struct plan_call *call,
                           struct toolrack_call_options *options, struct toolrack_error *err) {
    const struct toolrack *host = running->plan->host;
    struct agreeing *agreeing = calloc(1, sizeof *agreeing);
    if (agreeing == NULL) {
        return error_oom(err);
    }
    agreeing->running = running;
    agreeing->next = running->agreeing;
    running->agreeing = agreeing;
    options->agreed = keep_agreed;
    options->agreed_user = agreeing;
    return plan_consent_of_call(host->permit, host->store, call, &agreeing->row, err);
}

static int submit(void *user, const struct plan_call *call, toolrack_done *done, void *done_user,
                  struct toolrack_call **ret, struct toolrack_error *err) {
    struct running *running = user;
    struct toolrack *host = running->plan->host;
    struct toolrack_call_options options = running->call;
    options.node = running->plan->plan->nodes[call->node].id;
    options.plan = running->plan->plan->name;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *now = as_set_now(host, call->tool);
    const char *who = plan_consent_covers(running->consent, host->permit, call);
    if (who != NULL) {
        options.confirmed = 1;
        options.confirmed_by = who;
    } else if (running->journal != NULL && !options.confirmed &&
               toolrack_tool_permission(now) == TOOLRACK_PERMISSION_CONFIRM) {
        int code = watch_agreement(running, call, &options, err);
        if (code < 0) {
            return code;
        }
    }
    options.deadline_ms = call->deadline_ms > 0 ? call->deadline_ms : options.deadline_ms;
    return toolrack_submit_tool(host, now, call->arguments, call->length, &options, done, done_user,
                                ret, err);
}

static bool unwanted(void *user) {
    const struct running *running = user;
    return running->plan->unwanted(running->plan->unwanted_user);
}

static void cancel(void *user, struct toolrack_call *call) {
    (void)user;
    toolrack_cancel(call);
}

static void release(void *user, struct toolrack_call *call) {
    (void)user;
    toolrack_call_unref(call);
}

/* An error without the secrets that the run knows: those of calls are masked, and not those that
 * the run itself finds. @return NULL for NULL, else `ret` */
static const struct toolrack_error *mask_error(const struct running *running,
                                               const struct toolrack_error *err,
                                               struct toolrack_error *ret) {
    if (err == NULL) {
        return NULL;
    }
    *ret = *err;
    secrets_mask_error(&running->secrets.values, ret);
    return ret;
}

static void tell(void *user, const struct plan_event *event) {
    struct running *running = user;
    struct toolrack_error failure;
    struct toolrack_error replaced;
    plan_secrets_note(&running->secrets, event);
    plan_secrets_give(&running->secrets, &running->call);
    if (running->journal != NULL) {
        journal_note(running->journal, event);
    }
    if (event->kind == PLAN_NODE_ENDED) {
        (void)atomic_fetch_add_explicit(&running->plan->host->runs.nodes[event->state], 1,
                                        memory_order_relaxed);
    }
    static const enum toolrack_plan_event_kind kinds[] = {[PLAN_NODE_BEGAN] = TOOLRACK_PLAN_BEGAN,
                                                          [PLAN_NODE_RETRIED] =
                                                                  TOOLRACK_PLAN_RETRIED,
                                                          [PLAN_NODE_ENDED] = TOOLRACK_PLAN_ENDED};
    if (running->options->event != NULL) {
        running->options->event(
                running->options->user,
                &(struct toolrack_plan_event){
                        .size = sizeof(struct toolrack_plan_event),
                        .kind = kinds[event->kind],
                        .node = event->node,
                        .state = schedule_state_name(event->state),
                        .attempts = event->attempt,
                        .delay_ms = event->delay_ms,
                        .duration_ns = event->duration_ns,
                        .result = event->result,
                        .result_length = event->result_length,
                        .err = mask_error(running, event->err, &failure),
                        .replaced = mask_error(running, event->replaced, &replaced)});
    }
}

int toolrack_plan_inputs(const struct toolrack_plan *plan, const char *json,
                         const char *const *values, size_t count, struct toolrack_text **ret,
                         struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf schema = BUF_INIT;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    yyjson_val *described = yyjson_obj_get(yyjson_doc_get_root(plan->plan->doc), "inputs");
    buf_add_text(&schema, "{\"type\":\"object\",\"properties\":");
    if (described != NULL) {
        json_add_value(&schema, described);
    } else {
        buf_add_text(&schema, "{}");
    }
    buf_add_char(&schema, '}');
    if (schema.failed) {
        return error_oom(err);
    }
    int code = arguments_build(schema.data, json, values, count, &out, err);
    if (code == 0) {
        *ret = text_create(&out);
        code = *ret != NULL ? 0 : error_oom(err);
    }
    return code;
}

/* Before the first nodes begin their run becomes known. */
static int keep(void *user, const uint32_t *begun, uint32_t count, struct toolrack_error *err) {
    struct running *running = user;
    int code = running->journal != NULL ? journal_keep(running->journal, begun, count, err) : 0;
    if (code < 0 || running->has_begun) {
        return code;
    }
    running->has_begun = true;
    runs_begin(&running->plan->host->runs, running->plan);
    if (running->options->started != NULL && running->journal != NULL) {
        running->options->started(running->options->user, running->plan->id);
    }
    if (running->begun != NULL) {
        running->begun(running->begun_user);
    }
    return 0;
}

static int take_inputs(const struct toolrack_plan *plan, const char *text, yyjson_doc **ret,
                       struct toolrack_error *err) {
    const char *given = text != NULL ? text : "{}";
    yyjson_read_err why;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)given, strlen(given),
                                       YYJSON_READ_BIGNUM_AS_RAW, NULL, &why);
    CLEANUP(yyjson_doc_freep) yyjson_doc *all = NULL;
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(err);
    }
    if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        return error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                         "the inputs of a plan are a JSON object by name");
    }
    char twice[JSON_POINTER_MAX] = "";
    switch (json_find_twice(yyjson_doc_get_root(doc), twice)) {
    case JSON_TWICE_NO_MEMORY: return error_oom(err);
    case JSON_TWICE_FOUND:
        return error_set_field(err, TOOLRACK_E_INVALID_ARGUMENTS, twice,
                               "is given twice; give it once");
    case JSON_TWICE_NONE: break;
    }
    int code = plan->ago != NULL ? journal_inputs(&plan->kept, plan->plan, yyjson_doc_get_root(doc),
                                                  &all, err)
                                 : 0;
    return code < 0 ? code
                    : plan_take_inputs(plan->plan, yyjson_doc_get_root(all != NULL ? all : doc),
                                       ret, err);
}

/* Say which run toolrack_plan_cancel() is about. */
static void set_run(struct toolrack_plan *plan, struct plan_run *run) {
    LOCK_SCOPE(&plan->lock);
    plan->run = run;
}

/* Who approves agrees to the whole run, before anything of it begins. */
static int ask_consent(struct running *running, yyjson_val *inputs, struct toolrack_error *err) {
    const struct toolrack_plan *plan = running->plan;
    int code = plan_consent_ask(plan->host->permit, plan->host->store, plan->plan, &plan->tools,
                                inputs, plan->ago, plan->kept.agreed, plan->kept.agreed_count,
                                &running->call, &running->consent, err);
    if (code == 0) {
        running->agreed = plan_consent_rows(running->consent, &running->agreed_count);
        code = running->agreed != NULL ? 0 : error_oom(err);
    }
    return code;
}

/* The journal of a run, and its id. */
static int open_journal(struct running *running, yyjson_val *inputs, uint64_t seed,
                        struct toolrack_error *err) {
    struct toolrack_plan *plan = running->plan;
    const struct toolrack_plan_options *options = running->options;
    const char *owner = options->owner != NULL ? options->owner : running->call.caller;
    int code = runner_begin(plan->host->runner, running->runner, err);
    if (code == 0 && !plan->reopened) {
        code = store_run_make_id(plan->id, err);
        plan->owner = owner;
        if (code == 0) {
            (void)runs_add(&plan->host->runs, plan); /* nobody else has the id */
        }
    }
    if (code < 0) {
        return code;
    }
    running->others = runs_others(plan->host);
    running->journal =
            journal_create(&(struct journal_options){.store = plan->host->store,
                                                     .plan = plan->plan,
                                                     .tools = &plan->tools,
                                                     .inputs = inputs,
                                                     .secrets = &running->secrets,
                                                     .runner = running->runner,
                                                     .others = &running->others,
                                                     .owner = owner,
                                                     .party = running->call.party,
                                                     .caller = running->call.caller,
                                                     .channel = running->call.channel,
                                                     .seed = seed,
                                                     .id = plan->id,
                                                     .resumed = plan->reopened,
                                                     .kept = plan->ago,
                                                     .agreed = running->agreed,
                                                     .agreed_count = running->agreed_count});
    return running->journal != NULL ? 0 : error_oom(err);
}

static enum store_run_state state_of(int code) {
    return code == 0                                  ? STORE_RUN_SUCCEEDED
           : code == TOOLRACK_E_CANCELLED             ? STORE_RUN_CANCELLED
           : code == TOOLRACK_E_CONFIRMATION_REQUIRED ? STORE_RUN_WAITING
                                                      : STORE_RUN_FAILED;
}

/* Keep how a run has ended. One that the closing of the host has ended goes on later. */
static int close_journal(struct running *running, struct plan_run *run, int code,
                         struct toolrack_text *result, struct toolrack_error *err) {
    struct toolrack_plan *plan = running->plan;
    struct toolrack_error failed = {0};
    if (!running->has_begun) {
        return code;
    }
    if (code == TOOLRACK_E_CANCELLED && runs_are_closing(&plan->host->runs)) {
        (void)journal_keep(running->journal, NULL, 0, &failed);
        return code;
    }
    int kept = journal_end(running->journal, run, state_of(code),
                           code == 0 ? toolrack_text_data(result, NULL) : NULL,
                           code < 0 ? err : NULL, &failed);
    if (kept < 0 && code == 0) {
        toolrack_error_copy(err, &failed);
        return kept;
    }
    return code;
}

static int run_to_end(struct running *running, struct plan_run *run, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_text *result = NULL;
    struct runs *runs = &running->plan->host->runs;
    set_run(running->plan, run);
    if (runs_are_closing(runs)) {
        plan_run_cancel(run); /* it was not there to be cancelled before */
    }
    runs_count_begin(runs);
    int code = plan_run(run, &out, err);
    set_run(running->plan, NULL);
    if (code < 0) {
        secrets_mask_error(&running->secrets.values, err);
    }
    if (code == 0) {
        result = text_create(&out);
        code = result != NULL ? 0 : error_oom(err);
    }
    if (running->journal != NULL) {
        code = close_journal(running, run, code, result, err);
    }
    runs_count_end(runs, state_of(code));
    if (code == 0) {
        *ret = result;
    } else {
        toolrack_text_unref(result);
    }
    return code;
}

int plan_run_all(struct toolrack_plan *plan, const struct toolrack_plan_options *options,
                 void (*begun)(void *user), void *begun_user, struct toolrack_text **ret,
                 struct toolrack_error *err) {
    OBJECT_CHECK(plan, PLAN_MAGIC);
    struct toolrack_plan_options taken = TOOLRACK_PLAN_OPTIONS_INIT;
    if (options != NULL) {
        memcpy(&taken, options, options->size < sizeof taken ? options->size : sizeof taken);
    }
    struct running running = {.plan = plan,
                              .options = &taken,
                              .call = TOOLRACK_CALL_OPTIONS_INIT,
                              .begun = begun,
                              .begun_user = begun_user};
    if (taken.call != NULL) {
        memcpy(&running.call, taken.call,
               taken.call->size < sizeof running.call ? taken.call->size : sizeof running.call);
        running.call.size = sizeof running.call;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *inputs = NULL;
    struct toolrack_error unheard;
    // cppcheck-suppress uninitvar ; it is only written to
    err = err != NULL ? err : &unheard;
    if (plan->ago != NULL && !plan->reopened) {
        return error_set(err, TOOLRACK_E_INVALID, "a run that was opened again goes on once");
    }
    const uint64_t seed = taken.seed != 0     ? taken.seed
                          : plan->ago != NULL ? plan->kept.run.seed
                                              : (uint64_t)clock_now_ns();
    int code = take_inputs(plan, taken.inputs, &inputs, err);
    if (code == 0) {
        code = plan_secrets_init(&running.secrets, plan->plan, &plan->tools,
                                 yyjson_doc_get_root(inputs), &running.call)
                       ? 0
                       : error_oom(err);
        plan_secrets_give(&running.secrets, &running.call);
    }
    if (code == 0) {
        code = ask_consent(&running, yyjson_doc_get_root(inputs), err);
    }
    if (code == 0 && (taken.unkept == 0 || plan->ago != NULL)) {
        code = open_journal(&running, yyjson_doc_get_root(inputs), seed, err);
    }
    if (code == 0 && running.journal != NULL) {
        running.call.run = plan->id;
        running.call.trace = running.call.trace != NULL ? running.call.trace : plan->id;
    }
    struct plan_run *run = NULL;
    if (code == 0) {
        run = plan_run_create(
                &(struct plan_run_options){.plan = plan->plan,
                                           .tools = &plan->tools,
                                           .inputs = yyjson_doc_get_root(inputs),
                                           .seed = seed,
                                           .memory = &plan->host->runs.memory,
                                           .party = runs_party(&taken, &running.call),
                                           .submit = submit,
                                           .cancel = cancel,
                                           .release = release,
                                           .event = tell,
                                           .keep = keep,
                                           .unwanted = plan->unwanted != NULL ? unwanted : NULL,
                                           .kept = plan->ago,
                                           .user = &running});
        code = run != NULL ? run_to_end(&running, run, ret, err) : error_oom(err);
    }
    plan_run_destroy(run);
    journal_destroy(running.journal);
    plan_secrets_finish(&running.secrets);
    plan_consent_destroy(running.consent);
    free(running.agreed);
    for (struct agreeing *at = running.agreeing, *next; at != NULL; at = next) {
        next = at->next;
        free(at);
    }
    if (!plan->reopened) {
        runs_remove(&plan->host->runs, plan);
    }
    return code;
}

int toolrack_plan_run(struct toolrack_plan *plan, const struct toolrack_plan_options *options,
                      struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(plan->host);
    return plan_run_all(plan, options, NULL, NULL, ret, err);
}

void toolrack_plan_cancel(struct toolrack_plan *plan) {
    HOST_SCOPE(plan->host);
    OBJECT_CHECK(plan, PLAN_MAGIC);
    LOCK_SCOPE(&plan->lock);
    if (plan->run != NULL) {
        plan_run_cancel(plan->run);
    }
}
