/* Invariants:
 *
 *  (1) What is in memory is what the store keeps: a change is
 *      made in memory after it was kept, and needs no memory then.
 *  (2) approvals are sorted by approval_compare(), and no two are equal; so are the keys of pins
 *      (plugin, tool, version), in any order, and the selectors of grants.
 *  (3) A tool's texts are hashed and compared under the lock, which no caller of the app's code
 *      holds. */
#include "permit/consent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "base/utf8.h"
#include "permit/pins.h"

/* ------------------------------------------------------------------- texts */

static void free_text(const char *text) {
    free((char *)(uintptr_t)text);
}

static void grant_finish(struct store_grant *grant) {
    free_text(grant->selector);
    free_text(grant->who);
}

static void approval_finish(struct store_approval *approval) {
    free_text(approval->tool);
    free_text(approval->version);
    free_text(approval->conversation);
    free_text(approval->who);
}

static void pin_finish(struct store_pin *pin) {
    free_text(pin->plugin);
    free_text(pin->tool);
    free_text(pin->version);
    free_text(pin->description);
    free_text(pin->schema);
    free_text(pin->who);
}

/* A copy that fails leaves NULL, and `ok` false. NULL is copied as such. */
static const char *copy_text(const char *text, bool *ok) {
    const char *copy = text != NULL ? strdup(text) : NULL;
    *ok = *ok && (copy != NULL || text == NULL);
    return copy;
}

static bool grant_copy(const struct store_grant *from, struct store_grant *ret) {
    bool ok = true;
    *ret = *from;
    ret->selector = copy_text(from->selector, &ok);
    ret->who = copy_text(from->who, &ok);
    return ok;
}

static bool approval_copy(const struct store_approval *from, struct store_approval *ret) {
    bool ok = true;
    *ret = *from;
    ret->tool = copy_text(from->tool, &ok);
    ret->version = copy_text(from->version, &ok);
    ret->conversation = copy_text(from->conversation, &ok);
    ret->who = copy_text(from->who, &ok);
    return ok;
}

static bool pin_copy(const struct store_pin *from, struct store_pin *ret) {
    bool ok = true;
    *ret = *from;
    ret->plugin = copy_text(from->plugin, &ok);
    ret->tool = copy_text(from->tool, &ok);
    ret->version = copy_text(from->version, &ok);
    ret->description = copy_text(from->description, &ok);
    ret->schema = copy_text(from->schema, &ok);
    ret->who = copy_text(from->who, &ok);
    return ok;
}

/* -------------------------------------------------------------------- life */

struct permit *permit_create(const struct permit_options *options) {
    struct permit *permit = calloc(1, sizeof *permit);
    if (permit != NULL) {
        permit->magic = PERMIT_MAGIC;
        permit->options = *options;
        lock_init(&permit->consents.writer);
        lock_init(&permit->consents.lock);
        decisions_init(&permit->decisions, options->log, options->store);
    }
    return permit;
}

void permit_stop(struct permit *permit) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    decisions_stop(&permit->decisions);
}

void permit_note(struct permit *permit, const struct store_decision *decision) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    decisions_note(&permit->decisions, decision);
}

int permit_decisions(struct permit *permit, const struct toolrack_decisions_filter *filter,
                     struct toolrack_text **ret, struct toolrack_error *err) {
    return decisions_read(&permit->decisions, filter, ret, err);
}

void permit_destroy(struct permit *permit) {
    if (permit == NULL) {
        return;
    }
    permit_stop(permit);
    OBJECT_WIPE(permit, PERMIT_MAGIC);
    struct consents *consents = &permit->consents;
    for (size_t i = 0; i < consents->grant_count; i++) {
        grant_finish(&consents->grants[i]);
    }
    for (size_t i = 0; i < consents->approval_count; i++) {
        approval_finish(&consents->approvals[i]);
    }
    for (size_t i = 0; i < consents->pin_count; i++) {
        pin_finish(&consents->pins[i]);
    }
    free(consents->grants);
    free(consents->approvals);
    free(consents->pins);
    lock_finish(&consents->writer);
    lock_finish(&consents->lock);
    free(permit);
}

/* -------------------------------------------------------------------- find */

static int compare_optional(const char *a, const char *b) {
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int approval_compare(const struct store_approval *a, const struct store_approval *b) {
    int order = strcmp(a->tool, b->tool);
    order = order != 0 ? order : strcmp(a->version, b->version);
    return order != 0 ? order : compare_optional(a->conversation, b->conversation);
}

/* Where an approval stands, or would. Caller holds the lock. */
static size_t approval_place(const struct consents *consents, const struct store_approval *key,
                             bool *ret_found) {
    size_t low = 0;
    size_t high = consents->approval_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (approval_compare(&consents->approvals[middle], key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret_found =
            low < consents->approval_count && approval_compare(&consents->approvals[low], key) == 0;
    return low;
}

/* Whether any version of it was approved, of this plugin. Caller holds the lock. */
static bool is_pinned(const struct consents *consents, const struct registration *reg) {
    bool pinned = false;
    for (size_t i = 0; !pinned && i < consents->pin_count; i++) {
        pinned = pin_is_of(&consents->pins[i], reg);
    }
    return pinned;
}

/* The pin of just this. Caller holds the lock. */
static struct store_pin *find_pin(const struct consents *consents, const char *plugin,
                                  const char *tool, const char *version) {
    for (size_t i = 0; i < consents->pin_count; i++) {
        struct store_pin *pin = &consents->pins[i];
        if (strcmp(pin->tool, tool) == 0 && strcmp(pin->version, version) == 0 &&
            strcmp(pin->plugin, plugin) == 0) {
            return pin;
        }
    }
    return NULL;
}

/* --------------------------------------------------------------- questions */

static void copy_who(const char *who, char ret_who[CONSENT_WHO_SIZE]) {
    size_t length = strlen(who);
    length = utf8_cut(who, length < CONSENT_WHO_SIZE ? length : CONSENT_WHO_SIZE - 1);
    memcpy(ret_who, who, length);
    ret_who[length] = '\0';
}

/* "name", or "name@version". */
static bool selects(const char *selector, const char *tool, const char *version) {
    size_t length = strlen(tool);
    return strncmp(selector, tool, length) == 0 &&
           (selector[length] == '\0' ||
            (selector[length] == '@' && strcmp(selector + length + 1, version) == 0));
}

bool consent_is_granted(struct permit *permit, const struct toolrack_tool *tool,
                        char ret_who[CONSENT_WHO_SIZE]) {
    struct consents *consents = &permit->consents;
    const char *name = toolrack_tool_name(tool);
    bool granted = false;
    int64_t now_s = clock_wall_s();
    lock_take(&consents->lock);
    for (size_t i = 0; !granted && i < consents->grant_count; i++) {
        const struct store_grant *grant = &consents->grants[i];
        granted = selects(grant->selector, name, toolrack_tool_version(tool)) &&
                  (grant->expires_s == 0 || grant->expires_s > now_s) &&
                  is_pinned(consents, tool->reg);
        if (granted) {
            copy_who(grant->who, ret_who);
        }
    }
    lock_release(&consents->lock);
    return granted;
}

bool consent_is_approved(struct permit *permit, const struct toolrack_tool *tool,
                         const char *conversation, char ret_who[CONSENT_WHO_SIZE]) {
    struct consents *consents = &permit->consents;
    struct store_approval key = {.tool = toolrack_tool_name(tool),
                                 .version = toolrack_tool_version(tool)};
    bool approved;
    lock_take(&consents->lock);
    size_t at = approval_place(consents, &key, &approved);
    if (!approved && conversation != NULL) {
        key.conversation = conversation;
        at = approval_place(consents, &key, &approved);
    }
    approved = approved &&
               find_pin(consents, toolrack_tool_plugin(tool), key.tool, key.version) != NULL;
    if (approved) {
        copy_who(consents->approvals[at].who, ret_who);
    }
    lock_release(&consents->lock);
    return approved;
}

bool consent_find_version(struct permit *permit, const struct toolrack_tool *tool,
                          char ret_version[CONSENT_WHO_SIZE]) {
    struct consents *consents = &permit->consents;
    bool found = false;
    lock_take(&consents->lock);
    for (size_t i = 0; !found && i < consents->approval_count; i++) {
        const struct store_approval *approval = &consents->approvals[i];
        found = approval->conversation == NULL &&
                strcmp(approval->tool, toolrack_tool_name(tool)) == 0;
        if (found) {
            copy_who(approval->version, ret_version);
        }
    }
    lock_release(&consents->lock);
    return found;
}

/* ------------------------------------------------------------------ change */

/* Room for so many more; they are added without failing. Caller holds the lock. */
static bool reserve(struct consents *consents, size_t grants, size_t approvals, size_t pins) {
    struct store_grant *more_grants =
            realloc(consents->grants, (consents->grant_count + grants + 1) * sizeof *more_grants);
    consents->grants = more_grants != NULL ? more_grants : consents->grants;
    struct store_approval *more_approvals =
            realloc(consents->approvals,
                    (consents->approval_count + approvals + 1) * sizeof *more_approvals);
    consents->approvals = more_approvals != NULL ? more_approvals : consents->approvals;
    struct store_pin *more_pins =
            realloc(consents->pins, (consents->pin_count + pins + 1) * sizeof *more_pins);
    consents->pins = more_pins != NULL ? more_pins : consents->pins;
    return more_grants != NULL && more_approvals != NULL && more_pins != NULL;
}

static void remove_approval(struct consents *consents, size_t at) {
    approval_finish(&consents->approvals[at]);
    consents->approval_count--;
    memmove(&consents->approvals[at], &consents->approvals[at + 1],
            (consents->approval_count - at) * sizeof consents->approvals[0]);
}

/* Conversations end and nobody says so: as in the store, the oldest go. */
static void drop_oldest(struct consents *consents) {
    const struct store_approval *all = consents->approvals;
    size_t count = 0;
    size_t oldest = 0;
    if (consents->approval_count <= STORE_CONVERSATION_APPROVALS_MAX) {
        return;
    }
    for (size_t i = 0; i < consents->approval_count; i++) {
        if (all[i].conversation != NULL) {
            oldest = count == 0 || all[i].approved_s < all[oldest].approved_s ? i : oldest;
            count++;
        }
    }
    if (count > STORE_CONVERSATION_APPROVALS_MAX) {
        remove_approval(consents, oldest);
    }
}

/* Each takes the texts over; there is room. */
static void put_approval(struct consents *consents, const struct store_approval *approval) {
    bool found;
    size_t at = approval_place(consents, approval, &found);
    if (found) {
        approval_finish(&consents->approvals[at]);
    } else {
        memmove(&consents->approvals[at + 1], &consents->approvals[at],
                (consents->approval_count - at) * sizeof consents->approvals[0]);
        consents->approval_count++;
    }
    consents->approvals[at] = *approval;
    drop_oldest(consents);
}

static void put_pin(struct consents *consents, const struct store_pin *pin) {
    struct store_pin *known = find_pin(consents, pin->plugin, pin->tool, pin->version);
    if (known != NULL) {
        pin_finish(known);
    } else {
        known = &consents->pins[consents->pin_count++];
    }
    *known = *pin;
}

static void remove_grants(struct consents *consents, const char *selector) {
    size_t length = strlen(selector);
    size_t kept = 0;
    for (size_t i = 0; i < consents->grant_count; i++) {
        struct store_grant *grant = &consents->grants[i];
        bool is_of_it = strncmp(grant->selector, selector, length) == 0 &&
                        (grant->selector[length] == '\0' ||
                         (grant->selector[length] == '@' && strchr(selector, '@') == NULL));
        if (is_of_it) {
            grant_finish(grant);
        } else {
            consents->grants[kept++] = *grant;
        }
    }
    consents->grant_count = kept;
}

/* One by name alone takes the place of those of single versions. */
static void put_grant(struct consents *consents, const struct store_grant *grant) {
    remove_grants(consents, grant->selector);
    consents->grants[consents->grant_count++] = *grant;
}

static void remove_selected(struct consents *consents, const char *selector) {
    remove_grants(consents, selector);
    for (size_t i = consents->approval_count; i-- > 0;) {
        const struct store_approval *approval = &consents->approvals[i];
        if (selects(selector, approval->tool, approval->version)) {
            remove_approval(consents, i);
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < consents->pin_count; i++) {
        struct store_pin *pin = &consents->pins[i];
        if (selects(selector, pin->tool, pin->version)) {
            pin_finish(pin);
        } else {
            consents->pins[kept++] = *pin;
        }
    }
    consents->pin_count = kept;
}

/* -------------------------------------------------------------------- pins */

/* The flags are set under the lock too: who compared last has the last word. */
void permit_compare(struct permit *permit, struct registration *reg) {
    enum pin_policy policy = reg->plugin->pin;
    struct consents *consents = &permit->consents;
    lock_take(&consents->lock);
    const struct store_pin *pin =
            policy != PIN_OFF ? pin_find(consents->pins, consents->pin_count, reg) : NULL;
    unsigned changed = pin != NULL ? pin_compare(pin, reg) : 0;
    registration_set_changed(reg, changed, changed != 0 && policy == PIN_ENFORCE);
    lock_release(&consents->lock);
}

struct comparing {
    struct permit *permit;
    const char *name;
};

static void compare_versions(void *user, const struct snapshot *snapshot) {
    const struct comparing *comparing = user;
    const struct name_slot *slot =
            snapshot_find(snapshot, comparing->name, strlen(comparing->name));
    for (uint32_t i = 0; slot != NULL && i < slot->count; i++) {
        permit_compare(comparing->permit, snapshot->by_name[slot->first + i]->reg);
    }
}

/* Compare all registered versions of a name again. */
static void compare_name(struct permit *permit, const char *name) {
    struct comparing comparing = {.permit = permit, .name = name};
    registry_look(permit->options.registry, compare_versions, &comparing);
}

void permit_tell_changed(struct permit *permit, const struct toolrack_tool *tool) {
    unsigned changed = atomic_load(&tool->reg->changed);
    if (changed == 0) {
        return;
    }
    bool held = atomic_load(&tool->reg->held);
    char message[ERROR_MESSAGE_MAX];
    (void)snprintf(message, sizeof message, "Tool '%s' is not what was approved: %s; %s",
                   toolrack_tool_name(tool), registration_change_words(changed),
                   held ? "it does not run until it is approved again" : "it runs all the same");
    log_line(permit->options.log, LOG_WARNING, toolrack_tool_plugin(tool), "%s", message);
    decisions_note(&permit->decisions,
                   &(struct store_decision){.tool = toolrack_tool_name(tool),
                                            .version = toolrack_tool_version(tool),
                                            .plugin = toolrack_tool_plugin(tool),
                                            .decision = "changed",
                                            .who = "pin",
                                            .why = message});
    permit->options.event(permit->options.host,
                          &(struct toolrack_event){.size = sizeof(struct toolrack_event),
                                                   .kind = TOOLRACK_EVENT_CHANGED_TEXT,
                                                   .tool = toolrack_tool_name(tool),
                                                   .version = toolrack_tool_version(tool),
                                                   .plugin = toolrack_tool_plugin(tool),
                                                   .message = message});
}

bool permit_find_change(struct permit *permit, const struct registration *reg, struct arena *arena,
                        struct permit_approved *ret) {
    struct consents *consents = &permit->consents;
    *ret = (struct permit_approved){0};
    lock_take(&consents->lock);
    const struct store_pin *pin = pin_find(consents->pins, consents->pin_count, reg);
    unsigned changed = pin != NULL ? pin_compare(pin, reg) : 0;
    if ((changed & REGISTRATION_DESCRIPTION) != 0) {
        ret->description = arena_copy(arena, pin->description, strlen(pin->description));
    }
    if ((changed & REGISTRATION_SCHEMA) != 0) {
        ret->schema = arena_copy(arena, pin->schema, strlen(pin->schema));
    }
    lock_release(&consents->lock);
    return changed != 0;
}

/* -------------------------------------------------------------------- keep */

/* What is about to be added, with texts of its own. */
struct addition {
    struct store_pin *pins;
    size_t pin_count;
    struct store_grant grant;       /* selector NULL: none */
    struct store_approval approval; /* tool NULL: none */
};

static void addition_finish(struct addition *addition) {
    for (size_t i = 0; i < addition->pin_count; i++) {
        pin_finish(&addition->pins[i]);
    }
    free(addition->pins);
    grant_finish(&addition->grant);
    approval_finish(&addition->approval);
}

static bool addition_make(struct addition *addition, struct toolrack_tool *const *tools,
                          size_t count, const struct store_grant *grant,
                          const struct store_approval *approval, const char *who) {
    bool ok = true;
    addition->pins = calloc(count + 1, sizeof addition->pins[0]);
    for (size_t i = 0; addition->pins != NULL && i < count; i++) {
        struct store_pin pin;
        pin_make(tools[i]->reg, &pin);
        pin.who = who;
        pin.approved_s = clock_wall_s();
        ok = pin_copy(&pin, &addition->pins[addition->pin_count++]) && ok;
    }
    ok = (grant == NULL || grant_copy(grant, &addition->grant)) && ok;
    ok = (approval == NULL || approval_copy(approval, &addition->approval)) && ok;
    return ok && addition->pins != NULL;
}

/* Into memory; nothing can fail. The texts are taken over. */
static void addition_apply(struct addition *addition, struct consents *consents) {
    lock_take(&consents->lock);
    for (size_t i = 0; i < addition->pin_count; i++) {
        put_pin(consents, &addition->pins[i]);
    }
    if (addition->grant.selector != NULL) {
        put_grant(consents, &addition->grant);
    }
    if (addition->approval.tool != NULL) {
        put_approval(consents, &addition->approval);
    }
    lock_release(&consents->lock);
    addition->pin_count = 0;
    addition->grant = (struct store_grant){0};
    addition->approval = (struct store_approval){0};
}

static bool reserve_for(struct consents *consents, const struct addition *addition) {
    lock_take(&consents->lock);
    bool reserved = reserve(consents, 1, 1, addition->pin_count);
    lock_release(&consents->lock);
    return reserved;
}

static int keep_addition(struct permit *permit, struct addition *addition,
                         struct toolrack_error *err) {
    const struct store_grant *grant = addition->grant.selector != NULL ? &addition->grant : NULL;
    const struct store_approval *approval =
            addition->approval.tool != NULL ? &addition->approval : NULL;
    if (!reserve_for(&permit->consents, addition)) {
        return error_oom(err);
    }
    int code = store_consent(permit->options.store, addition->pins, addition->pin_count, grant,
                             approval, err);
    if (code == 0) {
        addition_apply(addition, &permit->consents);
    }
    return code;
}

int consent_keep(struct permit *permit, struct toolrack_tool *const *tools, size_t count,
                 const struct store_grant *grant, const struct store_approval *approval,
                 const char *who, struct toolrack_error *err) {
    CLEANUP(addition_finish) struct addition addition = {0};
    if (!addition_make(&addition, tools, count, grant, approval, who)) {
        return error_oom(err);
    }
    lock_take(&permit->consents.writer);
    int code = keep_addition(permit, &addition, err);
    lock_release(&permit->consents.writer);
    if (code == 0 && count > 0) {
        compare_name(permit, toolrack_tool_name(tools[0]));
    }
    return code;
}

int consent_approve(struct permit *permit, struct toolrack_tool *tool, const char *conversation,
                    const char *who, struct toolrack_error *err) {
    const struct store_approval approval = {.tool = toolrack_tool_name(tool),
                                            .version = toolrack_tool_version(tool),
                                            .conversation = conversation,
                                            .who = who,
                                            .approved_s = clock_wall_s()};
    int code = consent_keep(permit, &tool, 1, NULL, &approval, who, err);
    if (code < 0) {
        return code;
    }
    struct store_decision decision = {.tool = approval.tool,
                                      .version = approval.version,
                                      .plugin = toolrack_tool_plugin(tool),
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

int consent_withdraw(struct permit *permit, const char *selector, const char *name,
                     struct toolrack_error *err) {
    struct consents *consents = &permit->consents;
    lock_take(&consents->writer);
    int code = store_withdraw(permit->options.store, selector, clock_wall_s(), err);
    if (code == 0) {
        lock_take(&consents->lock);
        remove_selected(consents, selector);
        lock_release(&consents->lock);
    }
    lock_release(&consents->writer);
    if (code == 0) {
        compare_name(permit, name);
    }
    return code;
}

/* -------------------------------------------------------------------- read */

struct reading_kept {
    struct consents *consents;
    bool failed;
};

static void take_grant(void *user, const struct store_grant *kept) {
    struct reading_kept *reading = user;
    struct store_grant copy = {0};
    if (reserve(reading->consents, 1, 0, 0) && grant_copy(kept, &copy)) {
        put_grant(reading->consents, &copy);
    } else {
        grant_finish(&copy);
        reading->failed = true;
    }
}

static void take_approval(void *user, const struct store_approval *kept) {
    struct reading_kept *reading = user;
    struct store_approval copy = {0};
    if (reserve(reading->consents, 0, 1, 0) && approval_copy(kept, &copy)) {
        put_approval(reading->consents, &copy);
    } else {
        approval_finish(&copy);
        reading->failed = true;
    }
}

static void take_pin(void *user, const struct store_pin *kept) {
    struct reading_kept *reading = user;
    struct store_pin copy = {0};
    if (reserve(reading->consents, 0, 0, 1) && pin_copy(kept, &copy)) {
        put_pin(reading->consents, &copy);
    } else {
        pin_finish(&copy);
        reading->failed = true;
    }
}

int permit_refresh(struct permit *permit, struct toolrack_error *err) {
    struct reading_kept reading = {.consents = &permit->consents};
    int code = store_read_grants(permit->options.store, clock_wall_s(), take_grant, &reading, err);
    if (code == 0) {
        code = store_approvals_read(permit->options.store, take_approval, &reading, err);
    }
    if (code == 0) {
        code = store_pins_read(permit->options.store, take_pin, &reading, err);
    }
    return code == 0 && reading.failed ? error_oom(err) : code;
}
