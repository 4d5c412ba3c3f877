/* Several calls that a person is asked about at once: a plan, before the first of its calls.
 *
 * It waits for an answer as a call does (approvals.c): under its name, and the hash of all that it
 * does in the place of a version. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/object.h"
#include "base/utf8.h"
#include "permit/consent.h"

struct asking {
    struct permit *permit;
    const struct permit_plan *plan;
    const struct toolrack_call_options *options;
    const char *conversation; /* NULL: none */
    char *who;                /* of STORE_WHO_SIZE bytes */
};

static void note(const struct asking *asking, const char *decision, const char *who,
                 const char *why) {
    const struct toolrack_call_options *options = asking->options;
    decisions_note(
            &asking->permit->decisions,
            &(struct store_decision){.tool = asking->plan->name,
                                     .version = asking->plan->sha256,
                                     .caller = options->caller,
                                     .channel = options->channel != NULL ? options->channel : "api",
                                     .conversation = asking->conversation,
                                     .decision = decision,
                                     .who = who,
                                     .why = why});
}

static int refuse(const struct asking *asking, const char *rule, const struct toolrack_error *err) {
    note(asking, "refused", rule, err->message);
    return err->code;
}

static int deny(const struct asking *asking, const char *who, struct toolrack_error *err) {
    note(asking, "denied", who, "asked about the plan");
    return error_set(err, TOOLRACK_E_PERMISSION_DENIED, "the plan was denied by %s", who);
}

static struct store_pending pending_of(const struct asking *asking) {
    const struct permit_plan *plan = asking->plan;
    int64_t now_s = clock_wall_s();
    return (struct store_pending){.tool = plan->name,
                                  .version = plan->sha256,
                                  .arguments = plan->masked != NULL ? plan->masked : plan->calls,
                                  .unmasked = plan->masked != NULL ? plan->calls : NULL,
                                  .caller = asking->options->caller,
                                  .party = asking->options->party,
                                  .channel = asking->options->channel,
                                  .conversation = asking->conversation,
                                  .reason = plan->reason,
                                  .created_s = now_s,
                                  .expires_s = now_s + PENDING_EXPIRY_S,
                                  .plugin = PLAN_PLUGIN,
                                  .pin = plan->sha256};
}

static int ask_later(const struct asking *asking, const char *known_id,
                     struct toolrack_error *err) {
    char id[STORE_PENDING_ID_SIZE] = "";
    struct toolrack_error why;
    const struct store_pending plan = pending_of(asking);
    (void)snprintf(id, sizeof id, "%s", known_id);
    if (id[0] == '\0' && store_pending_add(asking->permit->options.store, &plan, id, &why) < 0) {
        (void)error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                        "this plan runs only after a person agreed to it, which cannot wait for "
                        "that: %s",
                        why.message);
    } else {
        (void)error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                        "this plan waits for somebody to allow it, as %s; run it again after: %s",
                        id, COMMAND("approvals allow", id));
    }
    return refuse(asking, "confirm", err);
}

/* The tools may run with any arguments from now on. A failure to store that is only logged: the
 * person has allowed this run in any case. */
static void keep(const struct asking *asking, bool always) {
    const struct permit_plan *plan = asking->plan;
    struct toolrack_error err;
    for (size_t i = 0; i < plan->count; i++) {
        if (consent_approve(asking->permit, plan->tools[i], always ? NULL : asking->conversation,
                            asking->options->caller, NULL, asking->who, &err) < 0) {
            log_line(asking->permit->options.log, LOG_ERROR, "permission",
                     "the approval of '%s' holds for this run only: %s",
                     toolrack_tool_name(plan->tools[i]), err.message);
        }
    }
}

/* Nobody can be asked. */
static int refuse_unasked(const struct asking *asking, const char *id, struct toolrack_error *err) {
    if (id[0] != '\0') {
        return ask_later(asking, id, err);
    }
    const struct permit_plan *plan = asking->plan;
    if (plan->count > 0 && !tool_is_of_app(plan->tools[0])) {
        (void)error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                        "this plan runs only after a person agreed to it: %s; nobody can be asked "
                        "here; allow all calls of a tool: %s",
                        plan->reason, COMMAND("grant", toolrack_tool_name(plan->tools[0])));
    } else {
        (void)error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                        "this plan runs only after a person agreed to it: %s; nobody can be asked "
                        "here; the app can allow its tools (toolrack_grant())",
                        plan->reason);
    }
    return refuse(asking, "confirm", err);
}

static int ask_approver(const struct asking *asking, const char *id, bool *ret_any,
                        struct toolrack_error *err) {
    const struct permit_options *app = &asking->permit->options;
    const struct toolrack_call_options *options = asking->options;
    (void)snprintf(asking->who, STORE_WHO_SIZE, "approver");
    const struct toolrack_approval_request request = {
            .size = sizeof request,
            .tool = asking->plan->name,
            .version = asking->plan->sha256,
            .plugin = PLAN_PLUGIN,
            .permission = (int)TOOLRACK_PERMISSION_CONFIRM,
            .arguments = asking->plan->calls,
            .caller = options->caller,
            .channel = options->channel != NULL ? options->channel : "api",
            .conversation = asking->conversation,
            .reason = asking->plan->reason,
            .who = asking->who,
            .who_room = STORE_WHO_SIZE,
            .trace = options->trace,
            .run = options->run,
            .masked = asking->plan->masked};
    int answer = options->approve != NULL ? options->approve(options->user, &request)
                                          : app->approve(app->host, &request);
    asking->who[STORE_WHO_SIZE - 1] = '\0';
    utf8_make_line(asking->who);
    *ret_any = answer == TOOLRACK_APPROVAL_ALLOW_ALWAYS ||
               (answer == TOOLRACK_APPROVAL_ALLOW_CONVERSATION && asking->conversation != NULL);
    switch (answer) {
    case TOOLRACK_APPROVAL_ALLOW_ONCE:
    case TOOLRACK_APPROVAL_ALLOW_CONVERSATION:
    case TOOLRACK_APPROVAL_ALLOW_ALWAYS:
        if (*ret_any) {
            keep(asking, answer == TOOLRACK_APPROVAL_ALLOW_ALWAYS);
        }
        note(asking, "allowed", asking->who, *ret_any ? "with any arguments" : "this run");
        return 0;
    case TOOLRACK_APPROVAL_ASK_LATER: return ask_later(asking, id, err);
    case TOOLRACK_APPROVAL_NOBODY: return refuse_unasked(asking, id, err);
    case TOOLRACK_APPROVAL_UNWANTED:
        return error_set(err, TOOLRACK_E_CANCELLED, "the run was cancelled");
    case TOOLRACK_APPROVAL_INPUT_LATER:
        return error_set(err, TOOLRACK_E_INPUT_REQUIRED,
                         "whether this plan may run is being asked; it is run again with the "
                         "answer");
    default: return deny(asking, asking->who, err);
    }
}

int permit_ask_plan(struct permit *permit, const struct permit_plan *plan,
                    const struct toolrack_call_options *options, bool *ret_any,
                    char ret_who[STORE_WHO_SIZE], struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    const char *conversation = options->conversation;
    const struct asking asking = {
            .permit = permit,
            .plan = plan,
            .options = options,
            .conversation = conversation != NULL && conversation[0] != '\0' ? conversation : NULL,
            .who = ret_who};
    const struct store_pending call = pending_of(&asking);
    struct store_taken taken = {.answer = STORE_ANSWER_NONE};
    struct toolrack_error why;
    *ret_any = false;
    /* The answer to an earlier attempt; a plan with more to show was not stored. */
    int code = strlen(call.arguments) > STORE_ARGUMENTS_SIZE_MAX
                       ? TOOLRACK_E_NOT_FOUND
                       : store_pending_take(permit->options.store, &call, call.created_s, &taken,
                                            &why);
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        return code == TOOLRACK_E_NO_MEMORY
                       ? error_oom(err)
                       : error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                                   "the plan needs a decision, and what was decided cannot be "
                                   "read: %s",
                                   why.message);
    }
    if (taken.answer == STORE_ANSWER_ALLOW_ONCE) {
        (void)snprintf(ret_who, STORE_WHO_SIZE, "%s", taken.who);
        note(&asking, "allowed", taken.who, "this run, beforehand");
        return 0;
    }
    if (taken.answer == STORE_ANSWER_DENY) {
        return deny(&asking, taken.who, err);
    }
    if (permit->options.approve != NULL || options->approve != NULL) {
        return ask_approver(&asking, taken.id, ret_any, err);
    }
    return refuse_unasked(&asking, taken.id, err);
}
