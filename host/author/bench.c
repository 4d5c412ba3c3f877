#include "author/bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yyjson.h>

#include "author/confine.h"
#include "author/place.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json-equal.h"
#include "base/text.h"

#define EQUAL_STEPS 1000000

/* Let a tool be called that needs more than its being called. */
static void permit(struct bench *bench, size_t index) {
    const struct tested_tool *tool = &bench->session->tools[index];
    if (tool->is_disabled) {
        (void)toolrack_set_enabled(bench->host, tool->name, true, NULL, NULL);
    }
    if (toolrack_tool_permission(bench->tools[index]) != TOOLRACK_PERMISSION_SAFE) {
        (void)toolrack_grant(bench->host, tool->name, 0, NULL, NULL);
    }
}

/* Examples change nothing, says their author. */
static void leave_examples(struct child *child, struct session *session) {
    for (size_t i = 0; i < session->sample_count; i++) {
        session->samples[i].is_bad = session->samples[i].is_bad || !session->samples[i].is_example;
    }
    child_skip(child, child_rule(child), "other calls than examples",
               "this kernel cannot keep the process from writing (Landlock)");
}

bool bench_open(struct bench *ret, struct child *child, struct session *session, bool in_process) {
    *ret = (struct bench){.child = child, .session = session, .err = toolrack_error_create()};
    if (in_process && !confine(session->folder)) {
        leave_examples(child, session);
    }
    child_at(child, child_first(child), NULL, "while the host was opened");
    if (place_open(session, in_process, NULL, NULL, &ret->host, ret->err) < 0) {
        child_find(child, RULE_LOAD, false, NULL, NULL, toolrack_error_message(ret->err));
        return false;
    }
    ret->tools = calloc(session->tool_count + 1, sizeof *ret->tools);
    for (size_t i = 0; ret->tools != NULL && i < session->tool_count; i++) {
        ret->tools[i] = toolrack_get(ret->host, session->tools[i].name);
        if (ret->tools[i] != NULL && session->tools[i].skipped == NULL) {
            permit(ret, i);
        }
    }
    return ret->tools != NULL;
}

void bench_reload(struct bench *bench) {
    struct toolrack_text *report = NULL;
    /* A reference to a tool keeps its image. */
    for (size_t i = 0; i < bench->session->tool_count; i++) {
        toolrack_tool_unref(bench->tools[i]);
        bench->tools[i] = NULL;
    }
    (void)toolrack_reload(bench->host, bench->session->plugin, &report, bench->err);
    toolrack_text_unref(report);
    for (size_t i = 0; i < bench->session->tool_count; i++) {
        bench->tools[i] = toolrack_get(bench->host, bench->session->tools[i].name);
    }
}

void bench_close(struct bench *bench) {
    for (size_t i = 0; bench->tools != NULL && i < bench->session->tool_count; i++) {
        toolrack_tool_unref(bench->tools[i]);
    }
    free(bench->tools);
    toolrack_close(bench->host);
    toolrack_error_free(bench->err);
    *bench = (struct bench){0};
}

struct toolrack_call_options bench_options(const struct bench *bench, uint32_t deadline_ms) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = deadline_ms;
    options.confirmed = bench->session->options->allows_dangerous;
    options.caller = "toolrack test";
    options.channel = "test";
    return options;
}

void bench_call(struct bench *bench, size_t tool, const char *arguments, uint32_t deadline_ms,
                struct answer *ret) {
    struct toolrack_result *result = NULL;
    struct toolrack_call_options options = bench_options(bench, deadline_ms);
    *ret = (struct answer){.message = ""};
    if (bench->tools[tool] == NULL) {
        ret->code = TOOLRACK_E_NOT_FOUND;
        ret->message = "the tool is not registered";
        return;
    }
    child_at(bench->child, tool, arguments, bench->doing != NULL ? bench->doing : "during a call");
    uint64_t since_ns = clock_now_ns();
    ret->code = toolrack_tool_call(bench->host, bench->tools[tool], arguments, strlen(arguments),
                                   &options, &result, bench->err);
    ret->ns = clock_now_ns() - since_ns;
    if (ret->code == 0) {
        ret->result = strdup(toolrack_result_json(result, NULL));
        ret->has_begun = true;
    } else {
        ret->message = toolrack_error_message(bench->err);
        ret->is_dead = toolrack_error_cause(bench->err) == TOOLRACK_CAUSE_DEATH ||
                       toolrack_error_signal(bench->err) != 0;
        ret->is_from_tool = toolrack_error_is_from_tool(bench->err);
        ret->has_begun = toolrack_error_has_begun(bench->err);
    }
    toolrack_result_free(result);
}

void answer_finish(struct answer *answer) {
    free(answer->result);
    answer->result = NULL;
}

bool bench_fits(struct bench *bench, size_t tool, const char *arguments) {
    return bench->tools[tool] != NULL &&
           toolrack_arguments_check(bench->tools[tool], arguments, strlen(arguments), NULL) == 0;
}

bool bench_same(const char *left, const char *right) {
    if (left == NULL || right == NULL || strcmp(left, right) == 0) {
        return left == right || (left != NULL && right != NULL);
    }
    struct budget budget = {.steps = EQUAL_STEPS};
    yyjson_doc *a = yyjson_read(left, strlen(left), 0);
    yyjson_doc *b = yyjson_read(right, strlen(right), 0);
    bool same = a != NULL && b != NULL &&
                json_equal(yyjson_doc_get_root(a), yyjson_doc_get_root(b), &budget);
    yyjson_doc_free(a);
    yyjson_doc_free(b);
    return same;
}

bool bench_is_sound(const struct session *session, const struct sample *sample) {
    return !sample->is_late && !sample->is_bad && sample->ns < QUICK_NS &&
           session->tools[sample->tool].skipped == NULL;
}

void answer_describe(const struct answer *answer, struct buf *out) {
    if (answer->code == 0) {
        text_add_in_quotes(out, answer->result != NULL ? answer->result : "", 120);
        return;
    }
    buf_printf(out, "%s: ", toolrack_code_name(answer->code));
    text_add_line(out, answer->message, strlen(answer->message));
}
