/* What the file is, and whether the plugin is loaded and opens. */
#include <stdlib.h>
#include <string.h>

#include "author/bench.h"
#include "author/cases.h"
#include "author/steps.h"
#include "base/cleanup.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)
CLEANUP_DEFINE(struct toolrack_refusals, toolrack_refusals_free)

static void tell_refusals(struct child *child, struct toolrack *host) {
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *refusals = NULL;
    if (toolrack_refused(host, &refusals, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, i);
        CLEANUP(buf_finish) struct buf came = BUF_INIT;
        buf_printf(&came, "%s: %s; %s", refusal->rule, refusal->reason, refusal->fix);
        child_find(child, RULE_LOAD, false, refusal->tool, NULL, came.failed ? "" : came.data);
    }
}

static const char *why_not_called(const struct toolrack_tool *tool, bool allows) {
    switch (toolrack_tool_permission(tool)) {
    case TOOLRACK_PERMISSION_SAFE: return NULL;
    case TOOLRACK_PERMISSION_CONFIRM:
        return allows ? NULL : "it needs a person's consent; --allow-dangerous calls it";
    case TOOLRACK_PERMISSION_DANGEROUS: break;
    }
    return allows ? NULL : "it is dangerous; --allow-dangerous calls it";
}

static size_t tell_tools(struct child *child, const struct session *session,
                         struct toolrack *host) {
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    filter.all = 1;
    if (toolrack_list(host, &filter, &tools, NULL) < 0) {
        return 0;
    }
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        const char *why = why_not_called(tool, session->options->allows_dangerous);
        CLEANUP(freep) char *name = strdup(toolrack_tool_name(tool));
        CLEANUP(freep) char *skipped = why != NULL ? strdup(why) : NULL;
        if (name != NULL) {
            child_add_tool(child,
                           &(struct tested_tool){.name = name,
                                                 .skipped = skipped,
                                                 .is_idempotent = toolrack_tool_idempotent(tool),
                                                 .is_read_only = toolrack_tool_read_only(tool),
                                                 .is_disabled = !toolrack_tool_enabled(tool)});
        }
    }
    return toolrack_tools_count(tools);
}

void step_list(struct child *child, struct session *session) {
    struct bench bench;
    if (!bench_open(&bench, child, session, false)) {
        child_is_dead(child);
        return;
    }
    tell_refusals(child, bench.host);
    if (tell_tools(child, session, bench.host) == 0) {
        child_is_dead(child);
    }
    child_count(child, RULE_LOAD, 1);
    bench_close(&bench);
}

/* Whether a call failed because its plugin is not there to run it. */
static bool is_not_loaded(const struct answer *answer) {
    return !answer->has_begun &&
           (answer->code == TOOLRACK_E_EXECUTION_FAILED || answer->code == TOOLRACK_E_TIMEOUT ||
            answer->code == TOOLRACK_E_IO);
}

/* The first tool that may be called is; what the tool does is not asked here. @return whether it
 * was called */
static bool load_by(struct bench *bench, size_t index) {
    struct session *session = bench->session;
    struct answer answer;
    struct cases cases;
    if (session->tools[index].skipped != NULL || bench->tools[index] == NULL) {
        return false;
    }
    cases_begin(&cases, bench, index, RULE_LOAD);
    CLEANUP(freep) char *arguments = cases_typical(&cases);
    cases_end(&cases);
    if (arguments == NULL) {
        return false;
    }
    bench_call(bench, index, arguments, session->timeout_ms * 3, &answer);
    if (is_not_loaded(&answer)) {
        CLEANUP(buf_finish) struct buf came = BUF_INIT;
        answer_describe(&answer, &came);
        child_find(bench->child, RULE_LOAD, false, NULL, NULL, came.failed ? "" : came.data);
        child_is_dead(bench->child);
    }
    answer_finish(&answer);
    child_count(bench->child, RULE_LOAD, 1);
    return true;
}

void step_load(struct child *child, struct session *session) {
    struct bench bench;
    if (!bench_open(&bench, child, session, false)) {
        return;
    }
    for (size_t i = 0; i < session->tool_count; i++) {
        if (load_by(&bench, i)) {
            break;
        }
    }
    bench_close(&bench);
}
