#include "serve/plans.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* ------------------------------------------------------------------- which tools */

struct looking {
    const struct subset *subset;
    const struct principal *principal;
};

static struct toolrack_tool *find(void *user, const char *name) {
    const struct looking *looking = user;
    return subset_find(looking->subset, looking->principal, name, NULL);
}

int plans_open(const struct subset *subset, const struct principal *principal, const char *text,
               size_t length, struct toolrack_findings **ret_findings, struct toolrack_plan **ret,
               struct toolrack_error *err) {
    struct looking looking = {.subset = subset, .principal = principal};
    bool is_part = subset_is_part(subset, principal);
    return toolrack_plan_open_for(subset->host, text, length, is_part ? find : NULL, &looking,
                                  ret_findings, ret, err);
}

/* The tools of a plan, one after the other: the next that is there, or NULL. */
static struct toolrack_tool *next_tool(const struct toolrack_plan *plan, size_t *at) {
    struct toolrack_tool *tool = NULL;
    while (tool == NULL && *at < 2 * toolrack_plan_count(plan)) {
        tool = toolrack_plan_called(plan, *at / 2, *at % 2 == 1);
        (*at)++;
    }
    return tool;
}

bool plans_shows(const struct subset *subset, const struct principal *principal,
                 const struct toolrack_plan *plan) {
    size_t at = 0;
    const struct toolrack_tool *tool;
    while ((tool = next_tool(plan, &at)) != NULL) {
        if (!subset_has(subset, principal, tool)) {
            return false;
        }
    }
    return true;
}

bool plans_has_scopes(const struct principal *principal, const struct toolrack_plan *plan,
                      enum toolrack_permission *ret_missing) {
    size_t at = 0;
    const struct toolrack_tool *tool;
    while ((tool = next_tool(plan, &at)) != NULL) {
        *ret_missing = toolrack_tool_permission(tool);
        if ((principal->permissions & (1u << *ret_missing)) == 0) {
            return false;
        }
    }
    return true;
}

/* ---------------------------------------------------------------------- the calls */

static int ask_later(void *user, const struct toolrack_approval_request *asked) {
    (void)user;
    (void)asked;
    return TOOLRACK_APPROVAL_ASK_LATER; /* a person answers elsewhere */
}

void plans_call_options(const struct principal *principal, const char *channel, const char *trace,
                        struct toolrack_call_options *ret) {
    *ret = (struct toolrack_call_options)TOOLRACK_CALL_OPTIONS_INIT;
    ret->caller = principal->id;
    ret->party = principal->party;
    ret->channel = channel;
    ret->trace = trace;
    ret->approve = ask_later;
}

/* ---------------------------------------------------------------------------- JSON */

/* A text for the principal, as a member that is not the first; null for NULL. */
static void add_text(struct buf *out, const struct principal *principal, const char *key,
                     const char *text) {
    CLEANUP(buf_finish) struct buf told = BUF_INIT;
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    buf_printf(out, ",\"%s\":", key);
    if (text == NULL) {
        buf_add_text(out, "null");
        return;
    }
    principal_add_message(&told, principal, text, strlen(text));
    text_add_valid(&valid, told.data != NULL ? told.data : "", told.length);
    buf_add_json_string(out, valid.data != NULL ? valid.data : "", valid.length);
    out->failed = out->failed || told.failed || valid.failed;
}

void plans_add_findings(struct buf *out, const struct principal *principal,
                        const struct toolrack_findings *findings, bool has_lines) {
    size_t count = toolrack_findings_count(findings);
    buf_add_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        buf_printf(out, "%s{\"id\":\"%s\",\"severity\":\"%s\"", i > 0 ? "," : "", finding->rule,
                   finding->severity == TOOLRACK_SEVERITY_ERROR ? "error" : "warning");
        add_text(out, principal, "node", finding->tool);
        add_text(out, principal, "pointer", finding->pointer);
        if (has_lines) {
            buf_printf(out, ",\"line\":%zu,\"column\":%zu", finding->line, finding->column);
        }
        add_text(out, principal, "cause", finding->cause);
        add_text(out, principal, "fix", finding->fix);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

void plans_add_event(struct buf *out, const struct principal *principal,
                     const struct toolrack_plan *plan, const struct toolrack_plan_event *event) {
    static const char *const names[] = {[TOOLRACK_PLAN_BEGAN] = "began",
                                        [TOOLRACK_PLAN_RETRIED] = "retried",
                                        [TOOLRACK_PLAN_ENDED] = "ended"};
    buf_printf(out, "\"event\":\"%s\",\"state\":\"%s\",\"attempts\":%llu", names[event->kind],
               event->state, (unsigned long long)event->attempts);
    add_text(out, principal, "node", toolrack_plan_node(plan, event->node));
    if (event->kind == TOOLRACK_PLAN_RETRIED) {
        buf_printf(out, ",\"delay_ms\":%llu", (unsigned long long)event->delay_ms);
    }
    if (event->kind == TOOLRACK_PLAN_ENDED) {
        buf_add_text(out, ",\"duration_ms\":");
        buf_add_json_double(out, (double)event->duration_ns / 1e6);
    }
    if (event->err != NULL) {
        add_text(out, principal, "error", toolrack_error_message(event->err));
    }
    if (event->replaced != NULL) {
        add_text(out, principal, "fallback", toolrack_error_message(event->replaced));
    }
}
