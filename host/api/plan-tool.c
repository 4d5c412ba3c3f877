/* Plans that are tools.
 *
 * The definitions of a configuration are read before any plugin, so the tools of a plan are looked
 * for when it is called: then it is checked as a whole, like any plan. Its own permission must be
 * at least that of each tool that it calls, so that whoever lets it run has let all of it run; each
 * of its calls is permitted by itself all the same. */
#include "api/plan-tool.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "plan/plan.h"
#include "toolrack/plugin.h"

/* Most plans that call each other. */
#define PLANS_DEPTH_MAX 8u

/* In the arena of the configuration. */
struct plan_tool {
    struct toolrack *host;
    const char *name;
    enum toolrack_permission permission;
    const char *pointer; /* of its definition */
    const char *text;
    size_t length;
    const char **calls; /* the tools that it names, each once */
    size_t call_count;
    const char *words;            /* that for a person */
    const struct plan_tool *next; /* of the host */
};

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)
CLEANUP_DEFINE(struct plan, plan_destroy)

/* ----------------------------------------------------------------------------------- the calls */

static tr_status run_plan_tool(struct tr_call *call, void *user);

/* The plan of a tool, if it is one. */
static const struct plan_tool *plan_of(const struct toolrack_tool *tool) {
    const struct run_service *service = &tool->reg->plugin->service;
    return service->run == run_plan_tool ? service->user : NULL;
}

/* The plans that lead to one. */
struct way {
    const struct plan_tool *plans[PLANS_DEPTH_MAX];
    size_t count;
};

/* Why a plan may not call what it names: a plan that comes round, or too many in one another. The
 * host's limit on calls of tools by tools does not see these. */
static bool is_refused(struct way *way, const struct plan_tool *plan, struct buf *why) {
    bool refused = false;
    for (size_t i = 0; i < way->count; i++) {
        refused = refused || way->plans[i] == plan;
    }
    if (refused || way->count == PLANS_DEPTH_MAX) {
        buf_add_text(why, !refused                ? "plans call each other too deep: "
                          : way->plans[0] == plan ? "the plan calls itself: "
                                                  : "a plan that it calls calls itself: ");
        for (size_t i = 0; i < way->count; i++) {
            buf_printf(why, "%s -> ", way->plans[i]->name);
        }
        buf_add_text(why, plan->name);
        return true;
    }
    way->plans[way->count++] = plan;
    for (size_t i = 0; i < plan->call_count && !refused; i++) {
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = registry_get(plan->host->registry, plan->calls[i]);
        const struct plan_tool *next = tool != NULL ? plan_of(tool) : NULL;
        refused = next != NULL && is_refused(way, next, why);
    }
    way->count--;
    return refused;
}

static const char *const permissions[] = {"safe", "confirm", "dangerous"};

/* The tool of a plan that needs the most permission, if the plan has less; NULL: it has not. */
static const char *beyond(const struct plan_tool *plan, enum toolrack_permission *ret_needed) {
    const char *found = NULL;
    *ret_needed = plan->permission;
    for (size_t i = 0; i < plan->call_count; i++) {
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = registry_get(plan->host->registry, plan->calls[i]);
        if (tool != NULL && toolrack_tool_permission(tool) > *ret_needed) {
            *ret_needed = toolrack_tool_permission(tool);
            found = plan->calls[i];
        }
    }
    return found;
}

/* What is wrong with such a plan, and what to do. False: nothing is. */
static bool describe_beyond(const struct plan_tool *plan, struct buf *cause, struct buf *fix) {
    enum toolrack_permission needed;
    const char *called = beyond(plan, &needed);
    if (called != NULL) {
        buf_printf(cause, "the plan calls '%s', which is %s, and is %s itself", called,
                   permissions[needed], permissions[plan->permission]);
        buf_printf(fix, "write \"permission\": \"%s\" in its definition", permissions[needed]);
    }
    return called != NULL;
}

/* The plans of the configuration in its order, as many as *ret_count. NULL: no memory. */
static const struct plan_tool **list_plans(const struct toolrack *host, size_t *ret_count) {
    size_t count = 0;
    for (const struct plan_tool *plan = host->plan_tools; plan != NULL; plan = plan->next) {
        count++;
    }
    const struct plan_tool **plans = calloc(count + 1, sizeof *plans);
    *ret_count = count;
    for (const struct plan_tool *plan = host->plan_tools; plans != NULL && plan != NULL;
         plan = plan->next) {
        plans[--count] = plan; /* the last one is first */
    }
    return plans;
}

int plan_tools_check(const struct toolrack *host, plan_tools_problem *take, void *user,
                     struct toolrack_error *err) {
    size_t count;
    CLEANUP(freep) const struct plan_tool **plans = list_plans(host, &count);
    bool failed = plans == NULL;
    for (size_t i = 0; !failed && i < count; i++) {
        CLEANUP(buf_finish) struct buf cause = BUF_INIT;
        CLEANUP(buf_finish) struct buf fix = BUF_INIT;
        struct way way = {.count = 0};
        char pointer[JSON_POINTER_MAX] = "";
        strncat(pointer, plans[i]->pointer, sizeof pointer - 1);
        bool is_round = is_refused(&way, plans[i], &cause);
        if (is_round) {
            json_pointer_add(pointer, "implementation");
            json_pointer_add(pointer, "file");
            buf_add_text(&fix, "take one of these calls out of its plan");
        } else if (describe_beyond(plans[i], &cause, &fix)) {
            json_pointer_add(pointer, "permission");
        } else {
            continue;
        }
        failed = cause.failed || fix.failed;
        if (!failed) {
            take(user, plans[i]->name, pointer, cause.data, fix.data);
        }
    }
    return failed ? error_oom(err) : 0;
}

/* ---------------------------------------------------------------------------- what is inside */

/* Most bytes of the words about what a plan calls and what these plans call; the rest is counted.
 */
#define INSIDE_WORDS_MAX 1000u

/* Plans that a plan comes to, each once: itself, and then those that it calls, and so on. */
struct inside {
    const struct plan_tool **plans; /* owned */
    size_t count;
    size_t room;
};

/* False: no memory. */
static bool add_inside(struct inside *inside, const struct plan_tool *plan) {
    for (size_t i = 0; i < inside->count; i++) {
        if (inside->plans[i] == plan) {
            return true;
        }
    }
    if (inside->count == inside->room) {
        size_t room = 2 * inside->room + 8;
        const struct plan_tool **plans = realloc(inside->plans, room * sizeof *plans);
        if (plans == NULL) {
            return false;
        }
        inside->plans = plans;
        inside->room = room;
    }
    inside->plans[inside->count++] = plan;
    return true;
}

/* All versions of a name. False: no memory. */
static bool add_named(struct inside *inside, const struct plan_tool *plan, const char *name) {
    bool done = true;
    for (; plan != NULL; plan = plan->next) {
        done = done && (strcmp(plan->name, name) != 0 || add_inside(inside, plan));
    }
    return done;
}

/* By the names that the configuration defines, whatever else is registered under them: what is
 * found is the same while the tools are being registered, when their pins are compared, and it
 * ends where plans come round. False: no memory. */
static bool find_inside(const struct plan_tool *plan, struct inside *inside) {
    bool done = add_inside(inside, plan);
    for (size_t at = 0; done && at < inside->count; at++) {
        const struct plan_tool *from = inside->plans[at];
        for (size_t i = 0; i < from->call_count; i++) {
            done = done && add_named(inside, from->host->plan_tools, from->calls[i]);
        }
    }
    return done;
}

#define DIGITS_ROOM (2u * crypto_hash_sha256_BYTES + 1u)

/* Which tools all these plans call, in words, and the hash of their names and texts. False: no
 * memory. */
static bool describe_inside(const struct plan_tool *plan, struct buf *ret_words,
                            char ret_digits[DIGITS_ROOM]) {
    struct inside inside = {0};
    crypto_hash_sha256_state hash;
    unsigned char sha256[crypto_hash_sha256_BYTES];
    size_t left = 0;
    bool done = find_inside(plan, &inside);
    (void)crypto_hash_sha256_init(&hash);
    for (size_t i = 0; done && i < inside.count; i++) {
        const struct plan_tool *at = inside.plans[i];
        (void)crypto_hash_sha256_update(&hash, (const unsigned char *)at->name,
                                        strlen(at->name) + 1);
        (void)crypto_hash_sha256_update(&hash, (const unsigned char *)at->text, at->length + 1);
        if (i == 0) {
            buf_add_text(ret_words, at->words);
        } else if (left > 0 || ret_words->length + strlen(at->words) > INSIDE_WORDS_MAX) {
            left++;
        } else {
            buf_printf(ret_words, "; %s calls %s", at->name, at->words);
        }
    }
    if (left > 0) {
        buf_printf(ret_words, "; %zu more plan%s", left, left == 1 ? "" : "s");
    }
    free(inside.plans);
    (void)crypto_hash_sha256_final(&hash, sha256);
    (void)sodium_bin2hex(ret_digits, DIGITS_ROOM, sha256, sizeof sha256);
    return done && !ret_words->failed;
}

/* The run_service's `describe`. */
static bool describe_tool(const void *user, struct arena *arena, struct run_described *ret) {
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    char digits[DIGITS_ROOM];
    if (!describe_inside(user, &words, digits)) {
        return false;
    }
    ret->content = arena_printf(arena, "plan: SHA-256 %s", digits);
    ret->calls = arena_copy(arena, words.data, words.length);
    return ret->content != NULL && ret->calls != NULL;
}

/* What is inside the tool of a node. */
static int look_inside(const struct plan_tool *plan, struct plan_inside *ret,
                       struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    char digits[DIGITS_ROOM];
    if (!describe_inside(plan, &words, digits)) {
        return error_oom(err);
    }
    ret->calls = buf_steal(&words);
    return ret->calls != NULL ? 0 : error_oom(err);
}

int plan_tools_look_inside(struct plan_tools *tools, struct toolrack_error *err) {
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < 2u * tools->count; i++) {
        const struct toolrack_tool *tool = (i % 2 == 0 ? tools->tools : tools->fallbacks)[i / 2];
        const struct plan_tool *plan = tool != NULL ? plan_of(tool) : NULL;
        if (plan == NULL) {
            continue;
        }
        if (tools->inside == NULL) {
            tools->inside = calloc(2u * tools->count, sizeof *tools->inside);
        }
        code = tools->inside != NULL ? look_inside(plan, &tools->inside[i], err) : error_oom(err);
    }
    return code;
}

/* ------------------------------------------------------------------------------------ one call */

static bool is_unwanted(void *user) {
    return tr_cancelled(user);
}

/* Tells how many nodes have ended. */
struct progress {
    struct tr_call *call;
    const struct toolrack_plan *plan;
    size_t ended;
};

static void take_event(void *user, const struct toolrack_plan_event *event) {
    struct progress *progress = user;
    if (event->kind == TOOLRACK_PLAN_ENDED) {
        progress->ended++;
        tr_progress(progress->call, (double)progress->ended,
                    (double)toolrack_plan_count(progress->plan),
                    toolrack_plan_node(progress->plan, event->node));
    }
}

/* Who asks for the nodes of a plan: the caller of the plan, one question at a time. */
struct questions {
    struct tr_call *call;
    struct lock lock;
};

/* On the thread of a node. An answer that comes with another call would be for nodes that run anew,
 * so then nobody answers. */
static int ask_caller(void *user, struct toolrack_input *inputs, size_t count) {
    struct questions *questions = user;
    struct run *run = run_of(questions->call);
    LOCK_SCOPE(&questions->lock);
    bool is_late = run->host->input(run, inputs, count) == TOOLRACK_INPUT_LATER;
    for (size_t i = 0; is_late && i < count; i++) {
        inputs[i].answer = TOOLRACK_ANSWER_NOBODY;
    }
    return 0;
}

/* What the host refused about the plan or one of its nodes is the host's refusal of this call. */
static tr_status fail_as(struct tr_call *call, const struct toolrack_error *err) {
    static const struct {
        int code;
        tr_status as;
    } codes[] = {{TOOLRACK_E_INVALID_ARGUMENTS, TR_FAILED},
                 {TOOLRACK_E_TIMEOUT, TR_TIMED_OUT},
                 {TOOLRACK_E_CANCELLED, TR_CANCELLED},
                 {TOOLRACK_E_LIMIT_EXCEEDED, TR_LIMIT_EXCEEDED}};
    tr_status as = TR_FAILED;
    if (toolrack_error_code(err) == TOOLRACK_E_PERMISSION_DENIED ||
        toolrack_error_code(err) == TOOLRACK_E_CONFIRMATION_REQUIRED) {
        return run_fail(run_of(call), TOOLRACK_E_PERMISSION_DENIED, TR_PERMISSION_DENIED, NULL,
                        "%s", toolrack_error_message(err));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
        as = codes[i].code == toolrack_error_code(err) ? codes[i].as : as;
    }
    return tr_fail(call, as, NULL, "%s", toolrack_error_message(err));
}

/* Refuse the call as the host does that of a tool without permission. */
static tr_status refuse_call(struct tr_call *call, const struct plan_tool *plan,
                             const struct toolrack_call_options *options,
                             const struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(plan->host->registry, plan->name);
    if (tool != NULL) {
        permit_note_refusal(plan->host->permit, tool, options, "plan", err);
    }
    return fail_as(call, err);
}

/* Open the plan, or fail the call with the first thing that is wrong.
 * @param options  of the calls of its nodes */
static tr_status open_plan(struct tr_call *call, const struct plan_tool *tool,
                           const struct toolrack_call_options *options,
                           struct toolrack_plan **ret) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    struct toolrack_error err;
    struct way way = {.count = 0};
    if (is_refused(&way, tool, &why)) {
        return tr_fail(call, TR_FAILED, NULL, "%s", why.failed ? "it calls itself" : why.data);
    }
    if (describe_beyond(tool, &why, &fix)) {
        bool failed = why.failed || fix.failed;
        (void)error_set(&err, TOOLRACK_E_PERMISSION_DENIED, "%s%s%s",
                        failed ? "the plan calls a tool that needs more permission" : why.data,
                        failed ? "" : "; ", failed ? "" : fix.data);
        return refuse_call(call, tool, options, &err);
    }
    if (toolrack_plan_open(tool->host, tool->text, tool->length, &findings, ret, &err) < 0) {
        return fail_as(call, &err);
    }
    for (size_t i = 0; *ret == NULL && i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        if (finding->severity == TOOLRACK_SEVERITY_ERROR) {
            return tr_fail(call, TR_FAILED, NULL, "the plan cannot run: node '%s': %s; %s",
                           finding->tool != NULL ? finding->tool : "-", finding->cause,
                           finding->fix);
        }
    }
    return TR_OK;
}

static tr_status run_plan_tool(struct tr_call *call, void *user) {
    const struct plan_tool *tool = user;
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options each = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_text *result = NULL;
    struct toolrack_error err;
    each.caller = tr_context(call, TR_CONTEXT_CALLER);
    each.channel = tr_context(call, TR_CONTEXT_CHANNEL);
    each.conversation = tr_context(call, TR_CONTEXT_CONVERSATION);
    each.trace = tr_context(call, TR_CONTEXT_TRACE);
    each.party = run_of(call)->context.party;
    each.run = run_of(call)->context.run; /* that of the plan which calls this one */
    each.confirmed = tool->permission >= TOOLRACK_PERMISSION_CONFIRM; /* this call was */
    each.confirmed_by = run_of(call)->context.confirmed_by;
    each.confirmed_by = each.confirmed_by != NULL ? each.confirmed_by : tool->name;
    each.secrets = run_of(call)->context.secrets; /* of the plan which calls this one, too */
    each.secrets_length = run_of(call)->context.secrets_length;
    tr_status status = open_plan(call, tool, &each, &plan);
    if (plan == NULL) {
        return status;
    }
    struct progress progress = {.call = call, .plan = plan};
    struct questions questions = {.call = call};
    lock_init(&questions.lock);
    each.input = ask_caller;
    each.user = &questions;
    plan->unwanted = is_unwanted;
    plan->unwanted_user = call;
    options.inputs = tr_arguments(call);
    options.call = &each;
    options.event = take_event;
    options.user = &progress;
    options.unkept = 1;
    pool_nest(tool->host->pool, 1);
    int code = toolrack_plan_run(plan, &options, &result, &err);
    pool_nest(tool->host->pool, -1);
    lock_finish(&questions.lock);
    status = code < 0 ? fail_as(call, &err) : tr_reply_json(call, toolrack_text_data(result, NULL));
    toolrack_text_unref(result);
    return status;
}

/* -------------------------------------------------------------------------------------- making */

/* The inputs as one JSON Schema. */
static void write_parameters(const struct plan *plan, struct buf *out) {
    buf_add_text(out, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
    for (size_t i = 0; i < plan->input_count; i++) {
        const struct plan_input *input = &plan->inputs[i];
        buf_add_text(out, i > 0 ? "," : "");
        buf_add_json_string(out, input->name, strlen(input->name));
        buf_add_char(out, ':');
        json_add_value(out, input->described);
    }
    buf_add_text(out, "},\"required\":[");
    bool first = true;
    for (size_t i = 0; i < plan->input_count; i++) {
        if (plan->inputs[i].otherwise == NULL) {
            buf_add_text(out, first ? "" : ",");
            buf_add_json_string(out, plan->inputs[i].name, strlen(plan->inputs[i].name));
            first = false;
        }
    }
    buf_add_text(out, "]}");
}

static bool has_call(const struct plan_tool *tool, const char *name) {
    for (size_t i = 0; i < tool->call_count; i++) {
        if (strcmp(tool->calls[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool take_calls(const struct plan *plan, struct arena *arena, struct plan_tool *ret) {
    ret->calls = arena_zalloc(arena, (2u * plan->graph.count + 1) * sizeof *ret->calls);
    for (uint32_t i = 0; ret->calls != NULL && i < plan->graph.count; i++) {
        const char *const names[] = {plan->nodes[i].tool, plan->nodes[i].fallback_tool};
        for (size_t k = 0; k < ARRAY_LENGTH(names); k++) {
            if (names[k] == NULL || has_call(ret, names[k])) {
                continue;
            }
            const char *name = arena_copy(arena, names[k], strlen(names[k]));
            if (name == NULL) {
                return false;
            }
            ret->calls[ret->call_count++] = name;
        }
    }
    return ret->calls != NULL;
}

/* Most bytes of the names of the tools that a plan calls; the rest is counted. */
#define CALLS_WORDS_MAX 400u

/* NULL: out of memory. */
static const char *name_calls(const struct plan_tool *tool, struct arena *arena) {
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    size_t left = 0;
    for (size_t i = 0; i < tool->call_count; i++) {
        const char *name = tool->calls[i];
        if (left > 0 || words.length + strlen(name) > CALLS_WORDS_MAX) {
            left++;
        } else {
            buf_printf(&words, "%s%s", words.length > 0 ? ", " : "", name);
        }
    }
    if (left > 0) {
        buf_printf(&words, " and %zu more", left);
    }
    if (words.failed) {
        return NULL;
    }
    return words.length > 0 ? arena_copy(arena, words.data, words.length) : "nothing";
}

static int refuse(const struct problems *problems, const char *text, size_t length,
                  struct toolrack_error *err) {
    size_t at = 0;
    size_t line;
    size_t column;
    while (problems->items[at].severity != TOOLRACK_SEVERITY_ERROR) {
        at++;
    }
    problem_line(&problems->items[at], text, length, &line, &column);
    return error_set(err, TOOLRACK_E_INVALID, "line %zu of the plan: %s", line,
                     problems->items[at].cause);
}

int plan_tool_make(struct toolrack *host, const char *name, uint32_t permission,
                   const char *pointer, const char *text, size_t length, struct arena *arena,
                   struct definition_plan *ret, struct toolrack_error *err) {
    CLEANUP(arena_finish) struct arena found;
    CLEANUP(plan_destroyp) struct plan *plan = NULL;
    CLEANUP(buf_finish) struct buf parameters = BUF_INIT;
    arena_init(&found, NULL, 0);
    struct problems problems = {.arena = &found};
    int code = plan_read(text, length, &problems, &plan, err);
    if (code < 0 || problems.errors > 0) {
        return code < 0 ? code : refuse(&problems, text, length, err);
    }
    struct plan_tool *tool = arena_zalloc(arena, sizeof *tool);
    write_parameters(plan, &parameters);
    if (tool == NULL || parameters.failed || !take_calls(plan, arena, tool)) {
        return error_oom(err);
    }
    tool->host = host;
    tool->name = name;
    tool->permission = (enum toolrack_permission)permission;
    tool->pointer = arena_copy(arena, pointer, strlen(pointer));
    tool->text = arena_copy(arena, text, length);
    tool->length = length;
    tool->words = name_calls(tool, arena);
    ret->parameters = arena_copy(arena, parameters.data, parameters.length);
    ret->service =
            (struct run_service){.run = run_plan_tool, .user = tool, .describe = describe_tool};
    if (tool->pointer == NULL || tool->text == NULL || tool->words == NULL ||
        ret->parameters == NULL) {
        return error_oom(err);
    }
    if (host != NULL) {
        tool->next = host->plan_tools;
        host->plan_tools = tool;
    }
    return 0;
}
