/* One call that is not free, from the flags of its tool to the question to a person:
 *
 *     its decisions cannot be read             ->  refused
 *     changed since it was approved, and held  ->  refused
 *     dangerous      a grant                   ->  runs,  else refused
 *     confirm        the caller's word, a grant, an approval, an answer that waited,
 *                    or the app's approver     ->  runs,  else refused or kept for later
 *
 * Invariants:
 *
 *  (1) Whether a tool is held or granted is in the registry's snapshot and needs no read of the
 *      store. Only a tool that needs a person's consent and has no grant reads the store.
 *  (2) If the store cannot be read, a call that needs a decision from it is refused and no person
 *      is asked: the store may have a refusal.
 *  (3) No lock is held while a person is asked.
 *  (4) Each outcome is logged as a decision, with who and why.
 *  (5) A person takes any time, in which others decide too. A yes is followed by all that a call
 *      which begins then would be refused for, and counts only for the registration that the
 *      person was shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/object.h"
#include "base/text.h"
#include "base/utf8.h"
#include "permit/consent.h"
#include "permit/pin-text.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* A call while its permission is decided. */
struct deciding {
    struct permit *permit;
    struct toolrack_tool *tool;
    const struct toolrack_call_options *options;
    const atomic_bool *cancelled; /* may be NULL */
    char *arguments;              /* without the caller's white space; owned */
    char *masked; /* the same with secrets masked, to be stored; owned; NULL: it has none */
    char pin[PIN_TEXT_ROOM]; /* of the tool; made before a person is asked */
    char who[TOOL_WHO_SIZE];
};

/* ---------------------------------------------------------------- outcomes */

static void note(const struct deciding *deciding, const char *decision, const char *who,
                 const char *why) {
    const struct toolrack_call_options *options = deciding->options;
    decisions_note(
            &deciding->permit->decisions,
            &(struct store_decision){.tool = toolrack_tool_name(deciding->tool),
                                     .version = toolrack_tool_version(deciding->tool),
                                     .plugin = toolrack_tool_plugin(deciding->tool),
                                     .origin = deciding->tool->reg->plugin->origin,
                                     .caller = options->caller,
                                     .channel = options->channel != NULL ? options->channel : "api",
                                     .conversation = options->conversation,
                                     .decision = decision,
                                     .who = who,
                                     .why = why});
}

static int allow(const struct deciding *deciding, const char *who, const char *why) {
    note(deciding, "allowed", who, why);
    return 0;
}

/* A person has agreed to this call alone. */
static int allow_once(const struct deciding *deciding, const char *who, const char *why) {
    const struct toolrack_call_options *options = deciding->options;
    if (options->agreed != NULL) {
        options->agreed(options->agreed_user, who);
    }
    return allow(deciding, who, why);
}

/* err is set. */
static int refuse(const struct deciding *deciding, const char *rule,
                  const struct toolrack_error *err) {
    note(deciding, "refused", rule, err->message);
    return err->code;
}

/* This call needs to know a decision of the store, which cannot be read. */
static int refuse_unread(const struct deciding *deciding, const struct toolrack_error *why,
                         struct toolrack_error *err) {
    if (why->code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err);
    }
    (void)error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                    atomic_load(&deciding->tool->reg->unread)
                            ? "Tool '%s' is refused, since what was decided cannot be read: %s"
                            : "Tool '%s' needs a decision, and what was decided cannot be read: %s",
                    toolrack_tool_name(deciding->tool), why->message);
    return refuse(deciding, "store", err);
}

/* What was decided about the tool is not known: it may be held, disabled or in quarantine. */
static int check_unread(const struct deciding *deciding, struct toolrack_error *err) {
    const struct registration *reg = deciding->tool->reg;
    struct toolrack_error why = {0};
    if (!atomic_load(&reg->unread)) {
        return 0;
    }
    int code = permit_refresh(deciding->permit, &why);
    if (code == 0 && !atomic_load(&reg->unread)) {
        return 0;
    }
    if (code == 0) {
        (void)error_set(&why, TOOLRACK_E_IO,
                        "%s; it is read again with the next decision of "
                        "another process, and when the host is opened again",
                        deciding->permit->reason);
    }
    return refuse_unread(deciding, &why, err);
}

/* What was decided about the tool may be unknown, or it is not as it was approved. */
static int check_withheld(const struct deciding *deciding, struct toolrack_error *err) {
    const struct toolrack_tool *tool = deciding->tool;
    const char *name = toolrack_tool_name(tool);
    int code = check_unread(deciding, err);
    if (code < 0 || !atomic_load(&tool->reg->held)) {
        return code;
    }
    char words[REGISTRATION_WORDS_ROOM];
    const char *changed = registration_change_words(atomic_load(&tool->reg->changed), words);
    if (tool_is_of_app(tool)) {
        (void)error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                        "Tool '%s' is not what was approved: %s; it is the app's own: the app "
                        "can show it (toolrack_why()) and approve it again (toolrack_grant())",
                        name, changed);
    } else {
        (void)error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                        "Tool '%s' is not what was approved: %s; see the difference: %s; "
                        "approve it again: %s",
                        name, changed, COMMAND("why", name), COMMAND("grant", name));
    }
    return refuse(deciding, "pin", err);
}

/* ------------------------------------------------------------------ grants */

/* Whether a grant holds; then `who` is set. The call's view may be old: the present view counts. */
static bool is_granted(struct deciding *deciding) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *view =
            registry_view(deciding->permit->options.registry, deciding->tool->reg);
    const struct toolrack_tool *tool = view != NULL ? view : deciding->tool;
    bool granted = tool->granted_until_s > clock_wall_s();
    if (granted) {
        memcpy(deciding->who, tool->granted_by, sizeof deciding->who);
    }
    return granted;
}

/* Decisions that could not be read before are read again. */
static int find_grant(struct deciding *deciding, bool *ret_granted, struct toolrack_error *err) {
    struct toolrack_error why;
    *ret_granted = is_granted(deciding);
    if (*ret_granted || !atomic_load(&deciding->permit->unread)) {
        return 0;
    }
    if (permit_refresh(deciding->permit, &why) < 0) {
        return refuse_unread(deciding, &why, err);
    }
    *ret_granted = is_granted(deciding);
    return 0;
}

static int decide_dangerous(struct deciding *deciding, struct toolrack_error *err) {
    const char *name = toolrack_tool_name(deciding->tool);
    bool granted;
    int code = find_grant(deciding, &granted, err);
    if (code < 0 || granted) {
        return code < 0 ? code : allow(deciding, deciding->who, "granted");
    }
    bool is_changed = (atomic_load(&deciding->tool->reg->changed) & REGISTRATION_PERMISSION) != 0;
    if (tool_is_of_app(deciding->tool)) { /* no command knows it */
        (void)error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                        is_changed ? "Tool '%s' is dangerous and was not when it was approved, so "
                                     "no grant counts; it is the app's own: the app can grant it "
                                     "as it is now (toolrack_grant())"
                                   : "Tool '%s' is dangerous and nothing grants it; it is the "
                                     "app's own: the app can (toolrack_grant()), or an "
                                     "administrator by \"grants\" in the configuration",
                        name);
    } else if (is_changed) {
        (void)error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                        "Tool '%s' is dangerous and was not when it was approved, so no grant "
                        "counts; see the change: %s; grant it as it is now: %s",
                        name, COMMAND("why", name), COMMAND("grant", name));
    } else {
        (void)error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                        "Tool '%s' is dangerous and nothing grants it; an administrator can, by "
                        "\"grants\" in the configuration or: %s",
                        name, COMMAND("grant", name));
    }
    return refuse(deciding, "dangerous", err);
}

/* --------------------------------------------------------------- approvals */

/* An app may write "" for no conversation. */
static const char *conversation_of(const struct deciding *deciding) {
    const char *conversation = deciding->options->conversation;
    return conversation != NULL && conversation[0] != '\0' ? conversation : NULL;
}

static int allow_and_keep(const struct deciding *deciding, bool always, const char *who) {
    const char *conversation = always ? NULL : conversation_of(deciding);
    struct toolrack_error err;
    if (!always && conversation == NULL) {
        return allow_once(deciding, who, "this once: there is no conversation to allow it for");
    }
    /* The person has allowed this call in any case: a failure to store that is only logged. */
    if (consent_approve(deciding->permit, deciding->tool, conversation, deciding->options->caller,
                        NULL, who, &err) < 0) {
        log_line(deciding->permit->options.log, LOG_ERROR, "permission",
                 "the approval of '%s' holds for this call only: %s",
                 toolrack_tool_name(deciding->tool), err.message);
    }
    return allow(deciding, who, always ? "always" : "for this conversation");
}

static int deny(const struct deciding *deciding, const char *who, struct toolrack_error *err) {
    (void)error_set(err, TOOLRACK_E_PERMISSION_DENIED, "Tool '%s' was denied by %s",
                    toolrack_tool_name(deciding->tool), who);
    note(deciding, "denied", who, "asked about this call");
    return err->code;
}

/* --------------------------------------------------------------- arguments */

/* False: out of memory. */
static bool mask_marked(struct deciding *deciding, yyjson_doc *doc) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    if (!schema_read_secret(deciding->tool->reg->spec->schema, &schema)) {
        return false;
    }
    if (schema == NULL) {
        return true;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *masked = yyjson_doc_mut_copy(doc, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(masked);
    if (root != NULL) {
        root = schema_mask_arguments(yyjson_doc_get_root(schema), masked, root);
    }
    deciding->masked = root != NULL ? yyjson_mut_val_write(root, 0, NULL) : NULL;
    return deciding->masked != NULL;
}

/* The secrets that the caller knows. False: out of memory. */
static bool mask_given(struct deciding *deciding) {
    const struct toolrack_call_options *options = deciding->options;
    const struct buf given = {.data = (char *)(uintptr_t)options->secrets,
                              .length = options->secrets_length};
    const char *text = deciding->masked != NULL ? deciding->masked : deciding->arguments;
    CLEANUP(buf_finish) struct buf masked = BUF_INIT;
    if (options->secrets == NULL) {
        return true;
    }
    secrets_mask_json(&given, text, strlen(text), &masked);
    if (!masked.failed && strcmp(masked.data, text) == 0) {
        return true;
    }
    free(deciding->masked);
    deciding->masked = masked.failed ? NULL : strdup(masked.data);
    return deciding->masked != NULL;
}

/* Parse and write the arguments, so that equal calls have equal text, which can be shown. Numbers
 * stay as written: the person must see what the tool gets. */
static int read_arguments(struct deciding *deciding, const char *text, size_t length,
                          struct toolrack_error *err) {
    if (length > TOOLRACK_ARGUMENTS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the arguments have %zu bytes, more than the %u allowed", length,
                         TOOLRACK_ARGUMENTS_MAX);
    }
    yyjson_read_err why = {0};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = length == 0 ? yyjson_read("{}", 2, 0)
                                  : yyjson_read_opts((char *)(uintptr_t)text, length,
                                                     YYJSON_READ_NUMBER_AS_RAW, NULL, &why);
    if (doc == NULL && length > 0 && why.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                         "the arguments are not JSON: %s at byte %zu", why.msg, why.pos);
    }
    deciding->arguments = doc != NULL ? yyjson_write(doc, 0, NULL) : NULL;
    return deciding->arguments != NULL && mask_marked(deciding, doc) && mask_given(deciding)
                   ? 0
                   : error_oom(err);
}

/* ----------------------------------------------------------------- waiting */

static struct store_pending pending_of(const struct deciding *deciding) {
    int64_t now_s = clock_wall_s();
    return (struct store_pending){.tool = toolrack_tool_name(deciding->tool),
                                  .version = toolrack_tool_version(deciding->tool),
                                  .arguments = deciding->masked != NULL ? deciding->masked
                                                                        : deciding->arguments,
                                  .unmasked = deciding->masked != NULL ? deciding->arguments : NULL,
                                  .caller = deciding->options->caller,
                                  .party = deciding->options->party,
                                  .channel = deciding->options->channel,
                                  .conversation = conversation_of(deciding),
                                  .created_s = now_s,
                                  .expires_s = now_s + PENDING_EXPIRY_S,
                                  .plugin = deciding->tool->reg->plugin->identity_text,
                                  .pin = deciding->pin};
}

static int wait_for_answer(const struct deciding *deciding, const char *id,
                           struct toolrack_error *err) {
    const char *name = toolrack_tool_name(deciding->tool);
    (void)error_set(
            err, TOOLRACK_E_CONFIRMATION_REQUIRED,
            "this call of '%s' waits for somebody to allow it, as %s; call it again after: %s",
            name, id, COMMAND("approvals allow", id));
    return refuse(deciding, "confirm", err);
}

/* Store the call as waiting, unless it waits already under the given id. */
static int ask_later(const struct deciding *deciding, const char *id, const char *reason,
                     struct toolrack_error *err) {
    char new_id[STORE_PENDING_ID_SIZE];
    struct store_pending call = pending_of(deciding);
    struct toolrack_error why;
    call.reason = reason;
    if (id[0] != '\0') {
        return wait_for_answer(deciding, id, err);
    }
    int code = store_pending_add(deciding->permit->options.store, &call, new_id, &why);
    if (code == 0) {
        return wait_for_answer(deciding, new_id, err);
    }
    (void)error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                    "Tool '%s' runs only after a person agreed to this call, which cannot wait "
                    "for that: %s",
                    call.tool, why.message);
    return refuse(deciding, "confirm", err);
}

/* ------------------------------------------------------------------ asking */

/* Whoever agrees to a plan agrees to what it calls, and to what the plans among that call.
 * @return whether there was memory */
static bool add_calls(const struct deciding *deciding, char *reason, size_t room) {
    const struct run_service *service = &deciding->tool->reg->plugin->service;
    CLEANUP(arena_finish) struct arena arena;
    struct run_described described;
    size_t length = strlen(reason);
    arena_init(&arena, NULL, 0);
    if (service->describe == NULL) {
        return true;
    }
    if (!service->describe(service->user, &arena, &described)) {
        return false;
    }
    (void)snprintf(reason + length, room - length, "; it is a plan that calls %s", described.calls);
    utf8_make_line(reason);
    return true;
}

/* Of a call of a plan: which node of which plan makes it. */
static void add_node(struct buf *out, const struct toolrack_call_options *options) {
    if (options->node != NULL) {
        buf_printf(out, "node '%s' of plan ", options->node);
        if (options->plan != NULL) {
            text_add_in_quotes(out, options->plan, PERMIT_PLAN_NAME_MAX);
        } else {
            buf_add_text(out, "without a name");
        }
        buf_add_text(out, ": ");
    }
}

/* Nobody can be asked. */
static int refuse_unasked(const struct deciding *deciding, const char *id,
                          struct toolrack_error *err) {
    if (id[0] != '\0') {
        return wait_for_answer(deciding, id, err);
    }
    const char *name = toolrack_tool_name(deciding->tool);
    if (tool_is_of_app(deciding->tool)) { /* no command knows it */
        (void)error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                        "Tool '%s' runs only after a person agreed to this call; nobody can be "
                        "asked here; the app can allow it (toolrack_grant())",
                        name);
    } else {
        (void)error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                        "Tool '%s' runs only after a person agreed to this call; nobody can be "
                        "asked here; allow all its calls: %s",
                        name, COMMAND("grant", name));
    }
    return refuse(deciding, "confirm", err);
}

/* The present view of the tool; NULL: it has none, or none is to be had, as the host is closing,
 * which ends the registry. */
static struct toolrack_tool *find_view(const struct deciding *deciding, bool *ret_closing) {
    struct permit *permit = deciding->permit;
    LOCK_SCOPE(&permit->lock);
    *ret_closing = permit->stopped;
    return permit->stopped ? NULL : registry_view(permit->options.registry, deciding->tool->reg);
}

/* The tool that a person was asked about is registered no more. */
static int refuse_gone(const struct deciding *deciding, struct toolrack_error *err) {
    struct permit *permit = deciding->permit;
    const char *name = toolrack_tool_name(deciding->tool);
    lock_take(&permit->lock);
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *other =
            permit->stopped ? NULL : registry_get(permit->options.registry, name);
    if (other == NULL && !permit->stopped) {
        (void)registry_not_called(permit->options.registry, name, err);
    } else {
        (void)error_set(err, TOOLRACK_E_CONFIRMATION_REQUIRED,
                        "'%s' is not the tool that was asked about: that was removed or exchanged "
                        "before the answer came; call it again, so that what it is now is asked "
                        "about",
                        name);
    }
    lock_release(&permit->lock);
    return refuse(deciding, "registry", err);
}

/* A person agrees: judge again whatever may have changed since the call began.
 * @param was_registered  when the person was asked; a tool on trial never is */
static int check_again(const struct deciding *deciding, bool was_registered,
                       struct toolrack_error *err) {
    bool is_closing;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *view = find_view(deciding, &is_closing);
    if (is_closing) {
        return 0; /* which cancels the call */
    }
    if (view == NULL && was_registered) {
        return refuse_gone(deciding, err);
    }
    if (view != NULL && !view->enabled) {
        (void)tool_refuse_disabled(view, err);
        return refuse(deciding, "disabled", err);
    }
    return check_withheld(deciding, err);
}

static bool is_yes(int answer) {
    return answer == TOOLRACK_APPROVAL_ALLOW_ONCE ||
           answer == TOOLRACK_APPROVAL_ALLOW_CONVERSATION ||
           answer == TOOLRACK_APPROVAL_ALLOW_ALWAYS;
}

int permit_standing(struct permit *permit, const struct toolrack_tool *tool, uint64_t *ret,
                    uint64_t *ret_kept, struct toolrack_error *err) {
    const struct registration *reg = tool->reg;
    int code = store_withdrawn(permit->options.store, reg->spec->tool->name, reg->spec->version,
                               ret, err);
    if (ret_kept != NULL) {
        *ret_kept = *ret;
    }
    *ret += atomic_load(&reg->disabled);
    return code;
}

/* Why a person is asked: of which node it is, what has changed, and what a plan calls. */
static int write_why(struct deciding *deciding, struct buf *why, struct toolrack_error *err) {
    unsigned changed = atomic_load(&deciding->tool->reg->changed);
    char version[STORE_WHO_SIZE];
    char reason[2 * ERROR_MESSAGE_MAX]; /* with what a plan calls */
    char words[REGISTRATION_WORDS_ROOM];
    struct toolrack_error unheard;
    if (changed != 0) {
        (void)snprintf(reason, sizeof reason, "%s since it was approved",
                       registration_change_words(changed, words));
    } else if (store_approval_find_version(deciding->permit->options.store,
                                           toolrack_tool_name(deciding->tool), version,
                                           &unheard) == 0) {
        (void)snprintf(reason, sizeof reason, "version %s was approved, this is %s", version,
                       toolrack_tool_version(deciding->tool));
    } else {
        (void)snprintf(reason, sizeof reason, "its plugin asks for approval of each call%s",
                       toolrack_tool_destructive(deciding->tool) ? "; it may destroy something"
                                                                 : "");
    }
    add_node(why, deciding->options);
    if (!add_calls(deciding, reason, sizeof reason)) {
        return error_oom(err);
    }
    buf_add_text(why, reason);
    return why->failed ? error_oom(err) : 0;
}

static int ask_approver(struct deciding *deciding, const char *id, struct toolrack_error *err) {
    const struct permit_options *app = &deciding->permit->options;
    const char *name = toolrack_tool_name(deciding->tool);
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    struct toolrack_error unheard;
    int code = write_why(deciding, &why, err);
    if (code < 0) {
        return code;
    }
    uint64_t standing;
    if (permit_standing(deciding->permit, deciding->tool, &standing, NULL, &unheard) < 0) {
        return refuse_unread(deciding, &unheard, err);
    }
    bool unused;
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *view = find_view(deciding, &unused);
    (void)snprintf(deciding->who, sizeof deciding->who, "approver");
    const struct toolrack_approval_request request = {
            .size = sizeof request,
            .tool = name,
            .version = toolrack_tool_version(deciding->tool),
            .plugin = toolrack_tool_plugin(deciding->tool),
            .permission = (int)toolrack_tool_permission(deciding->tool),
            .arguments = deciding->arguments,
            .caller = deciding->options->caller,
            .channel = deciding->options->channel != NULL ? deciding->options->channel : "api",
            .conversation = conversation_of(deciding),
            .reason = why.data,
            .who = deciding->who,
            .who_room = sizeof deciding->who,
            .trace = deciding->options->trace,
            .standing = standing,
            .node = deciding->options->node,
            .plan = deciding->options->plan,
            .run = deciding->options->run,
            .masked = deciding->masked};
    int answer = deciding->options->approve != NULL
                         ? deciding->options->approve(deciding->options->user, &request)
                         : app->approve(app->host, &request);
    deciding->who[sizeof deciding->who - 1] = '\0';
    utf8_make_line(deciding->who);
    if (answer == TOOLRACK_APPROVAL_UNWANTED ||
        (answer == TOOLRACK_APPROVAL_ASK_LATER && deciding->cancelled != NULL &&
         atomic_load(deciding->cancelled))) {
        return error_set(err, TOOLRACK_E_CANCELLED, "the call of '%s' was cancelled", name);
    }
    code = is_yes(answer) ? check_again(deciding, view != NULL, err) : 0;
    if (code < 0) {
        return code;
    }
    switch (answer) {
    case TOOLRACK_APPROVAL_ALLOW_ONCE: return allow_once(deciding, deciding->who, "this once");
    case TOOLRACK_APPROVAL_ALLOW_CONVERSATION:
        return allow_and_keep(deciding, false, deciding->who);
    case TOOLRACK_APPROVAL_ALLOW_ALWAYS: return allow_and_keep(deciding, true, deciding->who);
    case TOOLRACK_APPROVAL_ASK_LATER: return ask_later(deciding, id, why.data, err);
    case TOOLRACK_APPROVAL_NOBODY: return refuse_unasked(deciding, id, err);
    case TOOLRACK_APPROVAL_INPUT_LATER:
        return error_set(err, TOOLRACK_E_INPUT_REQUIRED,
                         "whether this call of '%s' may run is being asked; it is made again with "
                         "the answer",
                         name);
    default: return deny(deciding, deciding->who, err);
    }
}

static int ask(struct deciding *deciding, struct toolrack_error *err) {
    const struct permit_options *options = &deciding->permit->options;
    const struct store_pending call = pending_of(deciding);
    struct store_taken taken = {.answer = STORE_ANSWER_NONE};
    struct toolrack_error why;
    /* The answer to an earlier attempt at this call; a call with longer arguments was not stored.
     */
    int code = strlen(call.arguments) > STORE_ARGUMENTS_SIZE_MAX
                       ? TOOLRACK_E_NOT_FOUND
                       : store_pending_take(options->store, &call, call.created_s, &taken, &why);
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        return refuse_unread(deciding, &why, err);
    }
    switch (taken.answer) {
    case STORE_ANSWER_ALLOW_ONCE: return allow_once(deciding, taken.who, "this once, beforehand");
    case STORE_ANSWER_DENY: return deny(deciding, taken.who, err);
    case STORE_ANSWER_ALLOW_CONVERSATION: /* an approval, which was not found: nothing to take */
    case STORE_ANSWER_ALLOW_ALWAYS:
    case STORE_ANSWER_NONE: break;
    }
    if (options->approve != NULL || deciding->options->approve != NULL) {
        return ask_approver(deciding, taken.id, err);
    }
    return refuse_unasked(deciding, taken.id, err);
}

/* Whether an approval holds; then `who` is set. */
static int find_approval(struct deciding *deciding, bool *ret_approved,
                         struct toolrack_error *err) {
    const struct store_approval approval = {.tool = toolrack_tool_name(deciding->tool),
                                            .version = toolrack_tool_version(deciding->tool),
                                            .conversation = conversation_of(deciding),
                                            .caller = deciding->options->caller};
    struct toolrack_error why;
    int code = store_approval_find(deciding->permit->options.store, &approval,
                                   deciding->tool->reg->plugin->identity_text, deciding->who, &why);
    *ret_approved = code == 0;
    return code == TOOLRACK_E_NOT_FOUND || code == 0 ? 0 : refuse_unread(deciding, &why, err);
}

static int decide_confirm(struct deciding *deciding, const char *arguments, size_t length,
                          struct toolrack_error *err) {
    const struct toolrack_call_options *options = deciding->options;
    bool granted;
    if (options->confirmed) {
        const char *caller = options->caller != NULL ? options->caller : "caller";
        return options->confirmed_by != NULL
                       ? allow(deciding, options->confirmed_by, "asked beforehand by the caller")
                       : allow(deciding, caller, "the caller says that a person agreed");
    }
    int code = find_grant(deciding, &granted, err);
    if (code < 0 || granted) {
        return code < 0 ? code : allow(deciding, deciding->who, "granted");
    }
    bool approved;
    code = find_approval(deciding, &approved, err);
    if (code < 0 || approved) {
        return code < 0 ? code : allow(deciding, deciding->who, "approved before");
    }
    const struct permit_options *host = &deciding->permit->options;
    code = host->check_arguments != NULL
                   ? host->check_arguments(deciding->tool, arguments, length, err)
                   : 0;
    code = code == 0 ? read_arguments(deciding, arguments, length, err) : code;
    pin_text_make(deciding->tool->reg, deciding->pin);
    return code < 0 ? code : ask(deciding, err);
}

int permit_foresee(struct permit *permit, struct toolrack_tool *tool,
                   const struct toolrack_call_options *options, bool *ret_asks,
                   struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    struct deciding deciding = {.permit = permit, .tool = tool, .options = options};
    bool granted = false;
    *ret_asks = false;
    int code = check_withheld(&deciding, err);
    if (code < 0 || toolrack_tool_permission(tool) == TOOLRACK_PERMISSION_SAFE) {
        return code;
    }
    if (toolrack_tool_permission(tool) != TOOLRACK_PERMISSION_CONFIRM) {
        code = find_grant(&deciding, &granted, err);
        return code < 0 || granted ? code : decide_dangerous(&deciding, err);
    }
    code = options->confirmed ? 0 : find_grant(&deciding, &granted, err);
    if (code == 0 && !granted && !options->confirmed) {
        code = find_approval(&deciding, &granted, err);
        *ret_asks = code == 0 && !granted;
    }
    return code;
}

void permit_note_refusal(struct permit *permit, struct toolrack_tool *tool,
                         const struct toolrack_call_options *options, const char *rule,
                         const struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    (void)refuse(&(struct deciding){.permit = permit, .tool = tool, .options = options}, rule, err);
}

int permit_check(struct permit *permit, struct toolrack_tool *tool,
                 const struct toolrack_call_options *options, const char *arguments, size_t length,
                 const atomic_bool *cancelled, struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    struct deciding deciding = {
            .permit = permit, .tool = tool, .options = options, .cancelled = cancelled};
    int code = check_withheld(&deciding, err);
    if (code < 0) {
        return code;
    }
    switch (toolrack_tool_permission(tool)) {
    case TOOLRACK_PERMISSION_SAFE: return 0; /* it was held, or unread, before */
    case TOOLRACK_PERMISSION_CONFIRM:
        code = decide_confirm(&deciding, arguments, length, err);
        free(deciding.arguments);
        free(deciding.masked);
        return code;
    case TOOLRACK_PERMISSION_DANGEROUS: return decide_dangerous(&deciding, err);
    }
    (void)error_set(err, TOOLRACK_E_PERMISSION_DENIED, "Tool '%s' has no known permission",
                    toolrack_tool_name(tool));
    return refuse(&deciding, "unknown permission", err);
}
