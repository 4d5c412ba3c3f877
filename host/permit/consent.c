/* Invariants:
 *
 *  (1) The store is the only source of decisions. What a call needs (a grant and its end, whether
 *      the tool is held) is in the registry's snapshot, and only standing_read() sets it, under the
 *      registry's lock of writers.
 *  (2) A decision is written to the store under that lock too, before its effect is read from the
 *      store. So two decisions, or a decision and a registration, take effect in the order in which
 *      they are stored.
 *  (3) If the store cannot be read, nothing is permitted: a view begins without a grant, tools of
 *      plugins that others brought do not run at all, since they may be held, disabled or in
 *      quarantine, and `unread` makes the next call that needs a decision read again.
 *  (4) Locks are taken in the order permit, registry, store. No lock is held while a callback of
 *      the app runs.
 *  (5) The registry is not used after permit_stop(): calls that were given up while they ask a
 *      person outlive the registry. */
#include "permit/consent.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "permit/pin.h"
#include "permit/standing.h"
#include "store/identities.h"

/* -------------------------------------------------------------------- life */

struct permit *permit_create(const struct permit_options *options) {
    struct permit *permit = calloc(1, sizeof *permit);
    if (permit != NULL) {
        permit->magic = PERMIT_MAGIC;
        permit->options = *options;
        lock_init(&permit->lock);
        decisions_init(&permit->decisions, options->log, options->store, options->writer);
    }
    return permit;
}

void permit_stop(struct permit *permit) {
    if (permit != NULL) {
        OBJECT_CHECK(permit, PERMIT_MAGIC);
        LOCK_SCOPE(&permit->lock);
        permit->stopped = true;
    }
}

void permit_flush(struct permit *permit) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    decisions_flush(&permit->decisions);
}

void permit_destroy(struct permit *permit) {
    if (permit != NULL) {
        decisions_finish(&permit->decisions);
        lock_finish(&permit->lock);
        OBJECT_WIPE(permit, PERMIT_MAGIC);
        free(permit);
    }
}

void permit_note(struct permit *permit, const struct store_decision *decision) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    decisions_note(&permit->decisions, decision);
}

int permit_decisions(struct permit *permit, const struct toolrack_decisions_filter *filter,
                     struct toolrack_text **ret, struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    return decisions_read(&permit->decisions, filter, ret, err);
}

/* ---------------------------------------------------------------- standing */

static int read_standing(struct permit *permit, struct toolrack_tool *const *tools, size_t count,
                         bool are_new, struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    int code = standing_read(permit->options.store, permit->options.config, tools, count, are_new,
                             err);
    if (code < 0) {
        atomic_store(&permit->unread, true);
    }
    for (size_t i = 0; code == 0 && i < count; i++) {
        registration_set_unread(tools[i]->reg, atomic_load(&permit->withholds));
    }
    return code;
}

/* Two registry_decide. */
static int read_again(void *user, struct toolrack_tool *const *tools, size_t count,
                      struct toolrack_error *err) {
    return read_standing(user, tools, count, false, err);
}

/* As read_again(), where tools were registered that could not be read then. */
static int read_unread(void *user, struct toolrack_tool *const *tools, size_t count,
                       struct toolrack_error *err) {
    return read_standing(user, tools, count, true, err);
}

static int review(struct permit *permit, const char *name, registry_decide *decide, void *user,
                  struct toolrack_error *err) {
    LOCK_SCOPE(&permit->lock);
    return permit->stopped ? error_set(err, TOOLRACK_E_CANCELLED, "the host is closing")
                           : registry_review(permit->options.registry, name, decide, user, err);
}

int permit_refresh(struct permit *permit, struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    /* Cleared first: a tool that is registered meanwhile and cannot be read sets it again. */
    bool was_unread = atomic_exchange(&permit->unread, false);
    return review(permit, NULL, was_unread ? read_unread : read_again, permit, err);
}

/* Without the lock of the permit: the change has events. The order of decisions is that in which
 * they get the registry's lock. */
int permit_follow(struct permit *permit, struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    bool was_unread = atomic_exchange(&permit->unread, false);
    return registry_reread(permit->options.registry, was_unread ? read_unread : read_again, permit,
                           err);
}

void permit_withhold(struct permit *permit, const char *reason) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    LOCK_SCOPE(&permit->lock);
    if (!atomic_load(&permit->withholds)) {
        (void)snprintf(permit->reason, sizeof permit->reason, "%s", reason);
        atomic_store(&permit->withholds, true);
    }
}

bool permit_withholds(struct permit *permit) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    return atomic_load(&permit->withholds);
}

int permit_admit(struct permit *permit, struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    atomic_store(&permit->withholds, false);
    return permit_follow(permit, err);
}

int permit_registering(struct permit *permit, struct toolrack_tool *const *tools, size_t count,
                       struct toolrack_error *err) {
    struct toolrack_error why;
    int code = read_standing(permit, tools, count, true, &why);
    for (size_t i = 0; code < 0 && i < count; i++) {
        registration_set_unread(tools[i]->reg, true);
    }
    if (code < 0 && code != TOOLRACK_E_NO_MEMORY) {
        log_line(permit->options.log, LOG_ERROR, "permission",
                 "what was decided about tools cannot be read; those that need a decision are "
                 "refused, and only builtin plugins, the configuration's and the app's serve: %s",
                 why.message);
        return 0;
    }
    return code < 0 ? error_oom(err) : 0;
}

/* Store what was last said of a tool's change. Returns whether it is not what was said before: each
 * start of a process finds the same changes again. */
static bool tell_once(struct permit *permit, const struct registration *reg, const char *what) {
    CLEANUP(buf_finish) struct buf subject = BUF_INIT;
    struct toolrack_error unheard;
    bool is_new = true;
    buf_printf(&subject, "change of %s@%s %s", reg->spec->tool->name, reg->spec->version,
               reg->plugin->identity_text);
    return subject.failed ||
           store_tell_once(permit->options.store, subject.data, what, &is_new, &unheard) < 0 ||
           is_new;
}

static bool is_new_change(struct permit *permit, const struct registration *reg,
                          const char *message) {
    struct store_pin now;
    char digits[2 * sizeof now.sha256 + 1];
    CLEANUP(buf_finish) struct buf what = BUF_INIT;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    if (!pin_make(reg, &arena, &now)) {
        return true;
    }
    (void)sodium_bin2hex(digits, sizeof digits, now.sha256, sizeof now.sha256);
    buf_printf(&what, "%s %d %x %s %s", digits, now.permission, now.flags, now.capabilities,
               message);
    return what.failed || tell_once(permit, reg, what.data);
}

void permit_describe_change(const struct toolrack_tool *tool, char ret[ERROR_MESSAGE_MAX]) {
    unsigned changed = atomic_load(&tool->reg->changed);
    bool held = atomic_load(&tool->reg->held);
    char words[REGISTRATION_WORDS_ROOM];
    ret[0] = '\0';
    if (changed != 0) {
        (void)snprintf(ret, ERROR_MESSAGE_MAX, "Tool '%s@%s' is not what was approved: %s; %s",
                       toolrack_tool_name(tool), toolrack_tool_version(tool),
                       registration_change_words(changed, words),
                       held ? "it does not run until it is approved again"
                            : "it runs all the same");
    }
}

void permit_tell_changed(struct permit *permit, const struct toolrack_tool *tool) {
    char message[ERROR_MESSAGE_MAX];
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    permit_describe_change(tool, message);
    if (message[0] == '\0') {
        return;
    }
    log_line(permit->options.log, LOG_WARNING, toolrack_tool_plugin(tool), "%s", message);
    if (is_new_change(permit, tool->reg, message)) {
        decisions_note(&permit->decisions,
                       &(struct store_decision){.tool = toolrack_tool_name(tool),
                                                .version = toolrack_tool_version(tool),
                                                .plugin = toolrack_tool_plugin(tool),
                                                .origin = tool->reg->plugin->origin,
                                                .decision = "changed",
                                                .who = "pin",
                                                .why = message});
    }
    permit->options.event(permit->options.host,
                          &(struct toolrack_event){.size = sizeof(struct toolrack_event),
                                                   .kind = TOOLRACK_EVENT_CHANGED_TEXT,
                                                   .tool = toolrack_tool_name(tool),
                                                   .version = toolrack_tool_version(tool),
                                                   .plugin = toolrack_tool_plugin(tool),
                                                   .message = message});
}

int permit_find_change(struct permit *permit, const struct registration *reg, struct arena *arena,
                       struct permit_approved *ret, struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    return standing_find_change(permit->options.store, reg, arena, ret, err);
}

/* -------------------------------------------------------------------- keep */

/* A decision to be stored. */
struct keeping {
    struct permit *permit;
    const struct store_pin *pins;
    size_t pin_count;
    const struct store_grant *grant;
    const struct store_approval *approval;
    const char *withdrawn; /* a selector: nothing is added, the selected decisions are removed */
    bool keeps_pins;       /* but not the pins */
    const struct store_shared_order *order; /* of what is withdrawn */
};

/* A decision that was written is valid even if its effect cannot be read: then nothing is granted.
 */
static int keep_and_read(void *user, struct toolrack_tool *const *tools, size_t count,
                         struct toolrack_error *err) {
    const struct keeping *keeping = user;
    struct store *store = keeping->permit->options.store;
    int code = keeping->withdrawn != NULL
                       ? store_withdraw(store, keeping->withdrawn, keeping->keeps_pins,
                                        clock_wall_s(), keeping->order, err)
                       : store_consent(store, keeping->pins, keeping->pin_count, keeping->grant,
                                       keeping->approval, err);
    if (code == 0) {
        struct toolrack_error unheard;
        (void)read_standing(keeping->permit, tools, count, true, &unheard);
    }
    return code;
}

int consent_keep(struct permit *permit, struct toolrack_tool *const *tools, size_t count,
                 const struct store_grant *grant, const struct store_approval *approval,
                 const char *who, struct toolrack_error *err) {
    CLEANUP(freep) struct store_pin *pins = calloc(count, sizeof *pins);
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    if (pins == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!pin_make(tools[i]->reg, &arena, &pins[i])) {
            return error_oom(err);
        }
        pins[i].who = who;
        pins[i].approved_s = clock_wall_s();
        if (atomic_load(&tools[i]->reg->changed) != 0) { /* the same change again is a new one */
            (void)tell_once(permit, tools[i]->reg, "approved");
        }
    }
    struct keeping keeping = {.permit = permit,
                              .pins = pins,
                              .pin_count = count,
                              .grant = grant,
                              .approval = approval};
    return review(permit, toolrack_tool_name(tools[0]), keep_and_read, &keeping, err);
}

int consent_approve(struct permit *permit, struct toolrack_tool *tool, const char *conversation,
                    const char *caller, const char *answers, const char *who,
                    struct toolrack_error *err) {
    const struct store_approval approval = {.tool = toolrack_tool_name(tool),
                                            .version = toolrack_tool_version(tool),
                                            .conversation = conversation,
                                            .caller = conversation == NULL ? NULL
                                                      : caller == NULL     ? ""
                                                                           : caller,
                                            .who = who,
                                            .approved_s = clock_wall_s(),
                                            .answers = answers};
    int code = consent_keep(permit, &tool, 1, NULL, &approval, who, err);
    if (code < 0) {
        return code;
    }
    struct store_decision decision = {.tool = approval.tool,
                                      .version = approval.version,
                                      .plugin = toolrack_tool_plugin(tool),
                                      .origin = tool->reg->plugin->origin,
                                      .caller = conversation != NULL ? caller : NULL,
                                      .conversation = conversation,
                                      .decision = "approved",
                                      .who = who,
                                      .why = conversation != NULL ? "for the conversation"
                                                                  : "always"};
    decisions_note(&permit->decisions, &decision);
    decision.decision = "pinned";
    decision.why = "approved as it is now";
    decisions_note(&permit->decisions, &decision);
    return 0;
}

int consent_withdraw(struct permit *permit, const char *selector, const char *name, bool keeps_pins,
                     const struct store_shared_order *order, struct toolrack_error *err) {
    struct keeping keeping = {
            .permit = permit, .withdrawn = selector, .keeps_pins = keeps_pins, .order = order};
    return review(permit, name, keep_and_read, &keeping, err);
}
