#include "registry/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/name.h"
#include "base/semver.h"
#include "registry/rcu.h"
#include "registry/refusal.h"
#include "registry/selector.h"
#include "registry/succession.h"

/* Invariants:
 *
 *  (1) `current` is never NULL and is replaced only by publish(), under `writer`.
 *  (2) A snapshot is destroyed only after rcu_synchronize(): no reader holds it then. And only
 *      with `writer` free again, for that may end a plugin, and with it code of the plugin runs.
 *  (3) No two tools of a snapshot have the same name and version.
 *  (4) Each view shows what settings and defaults say of its registration.
 *  (5) uids grow: of two registrations the one with the smaller uid came first. */
struct registry {
    _Atomic(struct snapshot *) current;
    struct registry_options options;

    pthread_mutex_t writer; /* guards what follows */
    uint64_t uid_last;
    struct registry_setting *settings; /* selectors owned */
    size_t setting_count;
    struct registry_default *defaults; /* texts owned; one for a name */
    size_t default_count;
    struct toolrack_refusals refusals;
};

/* A change of one tool, told after the lock is released. */
struct notice {
    enum toolrack_event_kind kind;
    struct toolrack_tool *tool; /* a reference */
};

/* A change under construction: the tools of the next snapshot, each a reference, and what to tell
 * about it. Sized before it is filled, so that nothing can fail in the middle. */
struct change {
    struct toolrack_tool **tools;
    size_t count;
    struct notice *notices;
    size_t notice_count;
    struct snapshot *replaced; /* by what was published */
};

#ifdef RCU_TSAN
char rcu_tsan_readers;
#endif

/* ------------------------------------------------------------------- life */

struct registry *registry_create(const struct registry_options *options) {
    struct registry *registry = calloc(1, sizeof *registry);
    struct snapshot *empty = snapshot_create(NULL, 0);
    if (registry == NULL || empty == NULL) {
        snapshot_destroy(empty);
        free(registry);
        return NULL;
    }
    registry->options = *options;
    (void)pthread_mutex_init(&registry->writer, NULL);
    atomic_init(&registry->current, empty);
    return registry;
}

static void free_text(const char *text) {
    free((char *)(uintptr_t)text);
}

static void free_default(struct registry_default *chosen) {
    free_text(chosen->name);
    free_text(chosen->version);
}

void registry_destroy(struct registry *registry) {
    if (registry == NULL) {
        return;
    }
    snapshot_destroy(atomic_load(&registry->current));
    for (size_t i = 0; i < registry->setting_count; i++) {
        free_text(registry->settings[i].selector);
    }
    free(registry->settings);
    for (size_t i = 0; i < registry->default_count; i++) {
        free_default(&registry->defaults[i]);
    }
    free(registry->defaults);
    refusals_finish(&registry->refusals);
    (void)pthread_mutex_destroy(&registry->writer);
    free(registry);
}

static struct snapshot *read_current(struct registry *registry) {
    return atomic_load_explicit(&registry->current, memory_order_acquire);
}

/* -------------------------------------------------------------- selectors */

static bool selects(const struct selector *selector, const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    return selector_has_name(selector, reg->spec->tool->name, reg->name_length) &&
           (selector->version == NULL ||
            (semver_valid(selector->version) &&
             semver_compare(reg->spec->version, selector->version) == 0));
}

/* Of versions downwards the first that is in the range and enabled, or else the first in it. */
static struct toolrack_tool *find_in_range(struct toolrack_tool *const *versions, uint32_t count,
                                           const char *text) {
    struct semver_range range;
    struct toolrack_tool *found = NULL;
    if (!semver_range_parse(text, &range)) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!semver_range_has(&range, versions[i]->reg->spec->version)) {
            continue;
        }
        if (versions[i]->enabled) {
            return versions[i];
        }
        found = found != NULL ? found : versions[i];
    }
    return found;
}

static struct toolrack_tool *find(const struct snapshot *snapshot, const char *text) {
    struct selector selector = selector_parse(text);
    const struct name_slot *slot = snapshot_find(snapshot, selector.name, selector.name_length);
    if (slot == NULL || selector.version == NULL) {
        return slot != NULL ? slot->call : NULL;
    }
    struct toolrack_tool *const *versions = &snapshot->by_name[slot->first];
    if (!semver_valid(selector.version)) {
        return find_in_range(versions, slot->count, selector.version);
    }
    for (uint32_t i = 0; i < slot->count; i++) {
        if (selects(&selector, versions[i])) {
            return versions[i];
        }
    }
    return NULL;
}

int registry_check_exact(const char *text, struct toolrack_error *err) {
    struct selector selector = selector_parse(text);
    return !selector_is_range(&selector)
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "'%s' is a range of versions, and what is in it changes; name one "
                               "version, such as %.*s@1.2.0, or all of them with the name alone",
                               text, (int)selector.name_length, text);
}

/* --------------------------------------------------------------- settings */

/* What the settings make of a registration; one with a version goes before one without. */
static void effective(const struct registry *registry, const struct registration *reg,
                      bool *ret_enabled, int32_t *ret_priority) {
    struct toolrack_tool probe = {.reg = (struct registration *)(uintptr_t)reg};
    const struct registry_setting *enabled = NULL;
    const struct registry_setting *priority = NULL;
    for (size_t i = 0; i < registry->setting_count; i++) {
        const struct registry_setting *setting = &registry->settings[i];
        struct selector selector = selector_parse(setting->selector);
        if (!selects(&selector, &probe)) {
            continue;
        }
        if (setting->has_enabled && (enabled == NULL || selector.version != NULL)) {
            enabled = setting;
        }
        if (setting->has_priority && (priority == NULL || selector.version != NULL)) {
            priority = setting;
        }
    }
    *ret_enabled = enabled != NULL ? enabled->enabled : registration_enabled_by_default(reg);
    *ret_priority = priority != NULL ? priority->priority : registration_default_priority(reg);
}

static bool is_set_default(const struct registry *registry, const struct registration *reg) {
    for (size_t i = 0; i < registry->default_count; i++) {
        const struct registry_default *chosen = &registry->defaults[i];
        if (strcmp(chosen->name, reg->spec->tool->name) == 0) {
            return semver_compare(chosen->version, reg->spec->version) == 0;
        }
    }
    return false;
}

static struct registry_setting *find_setting(struct registry *registry, const char *selector) {
    for (size_t i = 0; i < registry->setting_count; i++) {
        if (strcmp(registry->settings[i].selector, selector) == 0) {
            return &registry->settings[i];
        }
    }
    return NULL;
}

/* What is set for all versions goes for each of them: earlier settings of single ones give way. */
static void clear_versions(struct registry *registry, const struct registry_setting *setting) {
    struct selector all = selector_parse(setting->selector);
    for (size_t i = 0; all.version == NULL && i < registry->setting_count; i++) {
        struct registry_setting *known = &registry->settings[i];
        struct selector one = selector_parse(known->selector);
        if (one.version != NULL && selector_has_name(&one, all.name, all.name_length)) {
            known->has_enabled = known->has_enabled && !setting->has_enabled;
            known->has_priority = known->has_priority && !setting->has_priority;
        }
    }
}

/* Note a setting; on failure the list is as it was. */
static bool keep_setting(struct registry *registry, const struct registry_setting *setting) {
    struct registry_setting *known = find_setting(registry, setting->selector);
    if (known == NULL) {
        struct registry_setting *grown =
                realloc(registry->settings, (registry->setting_count + 1) * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        registry->settings = grown;
        char *selector = strdup(setting->selector);
        if (selector == NULL) {
            return false;
        }
        known = &grown[registry->setting_count++];
        *known = (struct registry_setting){.selector = selector};
    }
    if (setting->has_enabled) {
        known->has_enabled = true;
        known->enabled = setting->enabled;
    }
    if (setting->has_priority) {
        known->has_priority = true;
        known->priority = setting->priority;
    }
    clear_versions(registry, setting);
    return true;
}

/* ---------------------------------------------------------------- changes */

static bool change_begin(struct change *change, size_t tools_max) {
    *change = (struct change){
            .tools = calloc(tools_max + 1, sizeof(struct toolrack_tool *)),
            .notices = calloc(tools_max + 1, sizeof(struct notice)),
    };
    return change->tools != NULL && change->notices != NULL;
}

static void change_finish(struct change *change) {
    for (size_t i = 0; i < change->count; i++) {
        toolrack_tool_unref(change->tools[i]);
    }
    for (size_t i = 0; i < change->notice_count; i++) {
        toolrack_tool_unref(change->notices[i].tool);
    }
    free(change->tools);
    free(change->notices);
    snapshot_destroy(change->replaced);
}

static void change_note(struct change *change, enum toolrack_event_kind kind,
                        struct toolrack_tool *tool) {
    change->notices[change->notice_count++] =
            (struct notice){.kind = kind, .tool = toolrack_tool_ref(tool)};
}

/* The change's tools, which are sorted by name, as a snapshot; NULL when out of memory. */
static struct snapshot *take_snapshot(struct change *change) {
    struct snapshot *next = snapshot_create(change->tools, change->count);
    change->count = 0; /* the snapshot took the references over, even when it failed */
    return next;
}

/* Caller holds `writer`. */
static void publish_snapshot(struct registry *registry, struct snapshot *next,
                             struct change *change) {
    change->replaced = atomic_exchange_explicit(&registry->current, next, memory_order_acq_rel);
    rcu_synchronize();
}

/* Make the change's tools the registry. Caller holds `writer`. */
static bool publish(struct registry *registry, struct change *change) {
    struct snapshot *next = take_snapshot(change);
    if (next == NULL) {
        return false;
    }
    publish_snapshot(registry, next, change);
    return true;
}

static void tell(struct registry *registry, const struct change *change) {
    for (size_t i = 0; registry->options.event != NULL && i < change->notice_count; i++) {
        registry->options.event(registry->options.user, change->notices[i].kind,
                                change->notices[i].tool);
    }
}

/* The view that settings and defaults ask for: the old one where nothing changed. */
static struct toolrack_tool *current_view(const struct registry *registry,
                                          struct toolrack_tool *old) {
    bool enabled;
    int32_t priority;
    effective(registry, old->reg, &enabled, &priority);
    bool set_default = is_set_default(registry, old->reg);
    if (old->enabled == enabled && old->priority == priority &&
        old->is_set_default == set_default) {
        return toolrack_tool_ref(old);
    }
    struct toolrack_tool *view = tool_create(old->reg, enabled, priority, set_default);
    if (view != NULL) {
        tool_set_grant(view, old->granted_until_s, old->granted_by);
    }
    return view;
}

/* The settings as they are, to go back to. */
struct settings_copy {
    struct registry_setting *items; /* selectors borrowed */
    size_t count;
};

static bool copy_settings(const struct registry *registry, struct settings_copy *ret) {
    *ret = (struct settings_copy){.items = calloc(registry->setting_count + 1, sizeof *ret->items),
                                  .count = registry->setting_count};
    if (ret->items != NULL && ret->count > 0) {
        memcpy(ret->items, registry->settings, ret->count * sizeof *ret->items);
    }
    return ret->items != NULL;
}

/* Undo one keep_setting(). */
static void restore_settings(struct registry *registry, const struct settings_copy *copy) {
    while (registry->setting_count > copy->count) {
        registry->setting_count--;
        free((char *)(uintptr_t)registry->settings[registry->setting_count].selector);
    }
    if (copy->count > 0) {
        memcpy(registry->settings, copy->items, copy->count * sizeof *copy->items);
    }
}

/* Make the views that follow from what was set for a selector. The change has begun. */
static bool change_views(struct registry *registry, const char *text, struct change *change) {
    const struct snapshot *old = read_current(registry);
    struct selector selector = selector_parse(text);
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        struct toolrack_tool *view =
                selects(&selector, tool) ? current_view(registry, tool) : toolrack_tool_ref(tool);
        if (view == NULL) {
            return false;
        }
        change->tools[change->count++] = view;
        if (view != tool) {
            change_note(change, TOOLRACK_EVENT_CHANGED, view);
        }
    }
    return true;
}

/* Nothing is kept before all that needs memory is done, nothing takes effect before it is kept. */
static int set_locked(struct registry *registry, const struct registry_setting *setting,
                      registry_keep *keep, void *user, struct change *change,
                      struct toolrack_error *err) {
    struct settings_copy before;
    if (!copy_settings(registry, &before)) {
        return error_oom(err);
    }
    struct snapshot *next = NULL;
    bool ready = change_begin(change, read_current(registry)->count) &&
                 keep_setting(registry, setting) &&
                 change_views(registry, setting->selector, change) &&
                 (change->notice_count == 0 || (next = take_snapshot(change)) != NULL);
    int code = !ready ? error_oom(err) : keep != NULL ? keep(user, setting, err) : 0;
    if (code < 0) {
        snapshot_destroy(next);
        restore_settings(registry, &before);
    } else if (next != NULL) {
        publish_snapshot(registry, next, change);
    }
    free(before.items);
    return code;
}

int registry_set(struct registry *registry, const struct registry_setting *setting,
                 registry_keep *keep, void *user, struct toolrack_error *err) {
    struct change change = {0};
    (void)pthread_mutex_lock(&registry->writer);
    int code = set_locked(registry, setting, keep, user, &change, err);
    (void)pthread_mutex_unlock(&registry->writer);
    if (code == 0) {
        tell(registry, &change);
    }
    change_finish(&change);
    return code;
}

/* --------------------------------------------------------------- defaults */

/* All that are set, with one replaced, added or left out. */
struct next_defaults {
    struct registry_default *items;
    size_t count;
    struct registry_default new; /* as it stands among them; name NULL: none */
    struct registry_default old; /* that is not among them; likewise */
};

static void next_defaults_drop(struct next_defaults *next) {
    free_default(&next->new);
    free(next->items);
}

static bool make_next_defaults(const struct registry *registry,
                               const struct registry_default *chosen, struct next_defaults *ret) {
    *ret = (struct next_defaults){.items = calloc(registry->default_count + 1, sizeof *ret->items)};
    if (ret->items == NULL) {
        return false;
    }
    for (size_t i = 0; i < registry->default_count; i++) {
        if (strcmp(registry->defaults[i].name, chosen->name) == 0) {
            ret->old = registry->defaults[i];
        } else {
            ret->items[ret->count++] = registry->defaults[i];
        }
    }
    if (chosen->version == NULL) {
        return true;
    }
    ret->new = (struct registry_default){strdup(chosen->name), strdup(chosen->version)};
    ret->items[ret->count++] = ret->new;
    if (ret->new.name == NULL || ret->new.version == NULL) {
        next_defaults_drop(ret);
        return false;
    }
    return true;
}

static void exchange_defaults(struct registry *registry, struct next_defaults *next) {
    struct registry_default *items = registry->defaults;
    size_t count = registry->default_count;
    registry->defaults = next->items;
    registry->default_count = next->count;
    next->items = items;
    next->count = count;
}

/* As with a setting: first what needs memory, then the disk, then the change. */
static int set_default_locked(struct registry *registry, const struct registry_default *chosen,
                              registry_keep_default *keep, void *user, struct change *change,
                              struct toolrack_error *err) {
    struct next_defaults next;
    if (!make_next_defaults(registry, chosen, &next)) {
        return error_oom(err);
    }
    exchange_defaults(registry, &next);
    struct snapshot *snapshot = NULL;
    bool ready = change_begin(change, read_current(registry)->count) &&
                 change_views(registry, chosen->name, change) &&
                 (change->notice_count == 0 || (snapshot = take_snapshot(change)) != NULL);
    int code = !ready ? error_oom(err) : keep != NULL ? keep(user, chosen, err) : 0;
    if (code < 0) {
        snapshot_destroy(snapshot);
        exchange_defaults(registry, &next);
        next_defaults_drop(&next);
        return code;
    }
    if (snapshot != NULL) {
        publish_snapshot(registry, snapshot, change);
    }
    free_default(&next.old);
    free(next.items);
    return 0;
}

int registry_set_default(struct registry *registry, const struct registry_default *chosen,
                         registry_keep_default *keep, void *user, struct toolrack_error *err) {
    struct change change = {0};
    (void)pthread_mutex_lock(&registry->writer);
    int code = set_default_locked(registry, chosen, keep, user, &change, err);
    (void)pthread_mutex_unlock(&registry->writer);
    if (code == 0) {
        tell(registry, &change);
    }
    change_finish(&change);
    return code;
}

void registry_visit_defaults(struct registry *registry,
                             void (*visit)(void *user, const struct registry_default *chosen),
                             void *user) {
    (void)pthread_mutex_lock(&registry->writer);
    for (size_t i = 0; i < registry->default_count; i++) {
        visit(user, &registry->defaults[i]);
    }
    (void)pthread_mutex_unlock(&registry->writer);
}

/* ------------------------------------------------------------------ review */

static bool is_granted_alike(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    return a->granted_until_s == b->granted_until_s &&
           (a->granted_until_s == 0 || strcmp(a->granted_by, b->granted_by) == 0);
}

/* What `decide` decides about stands together in by_name: the snapshot is made with views that
 * nobody granted, and published when it grants anything otherwise than the present one. */
static int review_locked(struct registry *registry, const char *name, registry_decide *decide,
                         void *user, struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    const struct name_slot *slot = name != NULL ? snapshot_find(old, name, strlen(name)) : NULL;
    size_t first = slot != NULL ? slot->first : 0;
    size_t count = slot != NULL ? slot->count : name == NULL ? old->count : 0;
    if (count == 0) {
        return decide(user, NULL, 0, err);
    }
    bool ready = change_begin(change, old->count);
    for (size_t i = 0; ready && i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        struct toolrack_tool *view = i >= first && i < first + count
                                             ? tool_create(tool->reg, tool->enabled, tool->priority,
                                                           tool->is_set_default)
                                             : toolrack_tool_ref(tool);
        ready = view != NULL;
        if (ready) {
            change->tools[change->count++] = view;
        }
    }
    struct snapshot *next = ready ? take_snapshot(change) : NULL;
    int code = next != NULL ? decide(user, &next->by_name[first], count, err) : error_oom(err);
    bool changed = false;
    for (size_t i = first; code == 0 && !changed && i < first + count; i++) {
        changed = !is_granted_alike(old->by_name[i], next->by_name[i]);
    }
    if (changed) {
        publish_snapshot(registry, next, change);
    } else {
        snapshot_destroy(next);
    }
    return code;
}

int registry_review(struct registry *registry, const char *name, registry_decide *decide,
                    void *user, struct toolrack_error *err) {
    struct change change = {0};
    (void)pthread_mutex_lock(&registry->writer);
    int code = review_locked(registry, name, decide, user, &change, err);
    (void)pthread_mutex_unlock(&registry->writer);
    change_finish(&change);
    return code;
}

struct toolrack_tool *registry_view(struct registry *registry, const struct registration *reg) {
    struct toolrack_tool *found = NULL;
    rcu_read_begin();
    const struct snapshot *snapshot = read_current(registry);
    const struct name_slot *slot = snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
    for (uint32_t i = 0; slot != NULL && found == NULL && i < slot->count; i++) {
        struct toolrack_tool *view = snapshot->by_name[slot->first + i];
        found = view->reg == reg ? toolrack_tool_ref(view) : NULL;
    }
    rcu_read_end();
    return found;
}

/* ------------------------------------------------------------- successions */

/* Compare what is new in a change, which is sorted, with the version before it: one that is there
 * as well, or was until now. */
static void compare_versions(struct registry *registry, const struct change *change,
                             uint64_t uid_old) {
    const struct snapshot *old = read_current(registry);
    for (size_t i = 0; i < change->count; i++) {
        struct registration *reg = change->tools[i]->reg;
        if (reg->uid <= uid_old || reg->succession != NULL) {
            continue;
        }
        const struct name_slot *slot = snapshot_find(old, reg->spec->tool->name, reg->name_length);
        const struct registration *beside =
                succession_find(&change->tools[i], change->count - i, reg);
        const struct registration *before =
                slot != NULL ? succession_find(&old->by_name[slot->first], slot->count, reg) : NULL;
        succession_note(reg, succession_later(beside, before), registry->options.log);
    }
}

/* -------------------------------------------------------------------- add */

static int compare_arrival(const void *a, const void *b) {
    const struct toolrack_tool *x = *(struct toolrack_tool *const *)a;
    const struct toolrack_tool *y = *(struct toolrack_tool *const *)b;
    int order = tool_compare_names(x, y);
    return order != 0 ? order : (x->reg->uid > y->reg->uid) - (x->reg->uid < y->reg->uid);
}

/* The view of a new registration; NULL when out of memory. Caller holds `writer`. */
static struct toolrack_tool *create_view(const struct registry *registry,
                                         struct registration *reg) {
    bool enabled;
    int32_t priority;
    effective(registry, reg, &enabled, &priority);
    return tool_create(reg, enabled, priority, is_set_default(registry, reg));
}

static bool add_tool(struct registry *registry, struct plugin *plugin, uint32_t index,
                     struct change *change) {
    CLEANUP(registration_unrefp)
    struct registration *reg = registration_create(plugin, index, ++registry->uid_last);
    if (reg == NULL) {
        return false;
    }
    struct toolrack_tool *tool = create_view(registry, reg);
    if (tool != NULL) {
        change->tools[change->count++] = tool;
    }
    return tool != NULL;
}

/* Set what was decided about the tools that the change has from `first` on, which are new. */
static int take_decisions(struct registry *registry, const struct change *change, size_t first,
                          struct toolrack_error *err) {
    return registry->options.registering == NULL || change->count == first
                   ? 0
                   : registry->options.registering(registry->options.user, &change->tools[first],
                                                   change->count - first, err);
}

static bool add_plugin(struct registry *registry, struct plugin *plugin, struct change *change) {
    bool added = true;
    for (uint32_t i = 0; added && i < plugin->desc->tool_count; i++) {
        added = add_tool(registry, plugin, i, change);
    }
    return added;
}

struct toolrack_tool *registry_preview(struct registry *registry, struct plugin *plugin,
                                       uint32_t index) {
    CLEANUP(registration_unrefp) struct registration *reg = registration_create(plugin, index, 0);
    if (reg == NULL) {
        return NULL;
    }
    (void)pthread_mutex_lock(&registry->writer);
    struct toolrack_tool *tool = create_view(registry, reg);
    (void)pthread_mutex_unlock(&registry->writer);
    return tool;
}

static bool name_taken(const struct change *change, const char *name) {
    size_t low = 0;
    size_t high = change->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(change->tools[middle]->reg->spec->tool->name, name);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

#define FREE_NAME_TRIES_MAX 100

/* A name like `name` that nobody has: weather_v2, weather_alt, weather_v3 ... Where all are taken
 * the words stand for any. */
static void free_name(const struct change *change, const char *name, char *ret, size_t room) {
    for (int i = 2; i < FREE_NAME_TRIES_MAX; i++) {
        char tail[16];
        (void)snprintf(tail, sizeof tail, i == 3 ? "_alt" : "_v%d", i < 3 ? i : i - 1);
        (void)snprintf(ret, room, "%.*s%s", (int)(NAME_LENGTH_MAX - strlen(tail)), name, tail);
        if (!name_taken(change, ret)) {
            return;
        }
    }
    (void)snprintf(ret, room, "another name");
}

/* The words for a second tool of one name and version. */
static void describe_duplicate(const struct change *change, const struct toolrack_tool *first,
                               const struct toolrack_tool *second, char *reason, size_t reason_room,
                               char *fix, size_t fix_room) {
    char other[NAME_LENGTH_MAX + 1];
    const char *file = toolrack_tool_file(first);
    free_name(change, toolrack_tool_name(second), other, sizeof other);
    (void)snprintf(reason, reason_room, "Tool already exists: %s %s, from plugin %s%s%s%s",
                   toolrack_tool_name(second), toolrack_tool_version(second),
                   toolrack_tool_plugin(first), file != NULL ? " (" : "", file != NULL ? file : "",
                   file != NULL ? ")" : "");
    (void)snprintf(fix, fix_room, "name it %s, give it another version, or remove the first one",
                   other);
}

#define DUPLICATE_TEXT_MAX 512
#define DUPLICATE_RULE     "tool-exists"

static void refuse_locked(struct registry *registry, const struct toolrack_refusal *refusal);

static void refuse_duplicate(struct registry *registry, const struct change *change,
                             const struct toolrack_tool *first,
                             const struct toolrack_tool *second) {
    char reason[DUPLICATE_TEXT_MAX];
    char fix[DUPLICATE_TEXT_MAX];
    describe_duplicate(change, first, second, reason, sizeof reason, fix, sizeof fix);
    log_line(registry->options.log, LOG_WARNING, toolrack_tool_plugin(second), "%s; %s", reason,
             fix);
    refuse_locked(registry, &(struct toolrack_refusal){.file = toolrack_tool_file(second),
                                                       .plugin = toolrack_tool_plugin(second),
                                                       .tool = toolrack_tool_name(second),
                                                       .rule = DUPLICATE_RULE,
                                                       .reason = reason,
                                                       .fix = fix});
}

/* Say of the second of two tools of one name and version that it is refused, or takes the place of
 * the first. */
static void note_duplicate(struct registry *registry, struct change *change,
                           struct toolrack_tool *first, struct toolrack_tool *second,
                           uint64_t uid_old) {
    if (registry->options.duplicates != REGISTRY_REPLACE) {
        refuse_duplicate(registry, change, first, second);
        return;
    }
    log_line(registry->options.log, LOG_WARNING, toolrack_tool_plugin(second),
             "%s %s replaces the one of plugin %s", toolrack_tool_name(second),
             toolrack_tool_version(second), toolrack_tool_plugin(first));
    if (first->reg->uid <= uid_old) {
        change_note(change, TOOLRACK_EVENT_REMOVED, first);
    }
}

/* Leave one tool of each name and version; tools are sorted by name, version and arrival.
 * `uid_old` is the last uid from before this change. All is said before anything is dropped: the
 * search for a free name looks at every tool. */
static void resolve_duplicates(struct registry *registry, struct change *change, uint64_t uid_old) {
    bool replace = registry->options.duplicates == REGISTRY_REPLACE;
    size_t first = 0;
    for (size_t i = 1; i < change->count; i++) {
        bool same = tool_compare_names(change->tools[first], change->tools[i]) == 0;
        if (same) {
            note_duplicate(registry, change, change->tools[first], change->tools[i], uid_old);
        }
        first = same && !replace ? first : i;
    }
    size_t kept = 0;
    for (size_t i = 0; i < change->count; i++) {
        struct toolrack_tool *tool = change->tools[i];
        if (kept == 0 || tool_compare_names(change->tools[kept - 1], tool) != 0) {
            change->tools[kept++] = tool;
        } else if (replace) {
            toolrack_tool_unref(change->tools[kept - 1]);
            change->tools[kept - 1] = tool;
        } else {
            toolrack_tool_unref(tool);
        }
    }
    change->count = kept;
}

/* For registering all or none: the first pair of the same name and version, as an error. */
static int fail_on_duplicate(const struct change *change, struct toolrack_error *err) {
    for (size_t i = 1; i < change->count; i++) {
        if (tool_compare_names(change->tools[i - 1], change->tools[i]) == 0) {
            char reason[DUPLICATE_TEXT_MAX];
            char fix[DUPLICATE_TEXT_MAX];
            describe_duplicate(change, change->tools[i - 1], change->tools[i], reason,
                               sizeof reason, fix, sizeof fix);
            int code = error_set(err, TOOLRACK_E_EXISTS, "%s; %s", reason, fix);
            error_set_tool(err, toolrack_tool_name(change->tools[i]));
            return code;
        }
    }
    return 0;
}

static int check_room(size_t total, struct toolrack_error *err) {
    return total <= REGISTRY_TOOLS_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "the registry holds at most %u tools; remove some plugins",
                               REGISTRY_TOOLS_MAX);
}

static int add_locked(struct registry *registry, struct plugin *const *plugins, size_t count,
                      bool all_or_none, struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    uint64_t uid_old = registry->uid_last;
    size_t total = old->count;
    for (size_t i = 0; i < count; i++) {
        total += plugins[i]->desc->tool_count;
    }
    int code = check_room(total, err);
    if (code < 0) {
        return code;
    }
    if (!change_begin(change, 2 * total)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < old->count; i++) {
        change->tools[change->count++] = toolrack_tool_ref(old->by_name[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (!add_plugin(registry, plugins[i], change)) {
            return error_oom(err);
        }
    }
    code = take_decisions(registry, change, old->count, err);
    if (code < 0) {
        return code;
    }
    qsort(change->tools, change->count, sizeof *change->tools, compare_arrival);
    if (all_or_none && registry->options.duplicates == REGISTRY_REJECT) {
        code = fail_on_duplicate(change, err);
    }
    if (code < 0) {
        return code;
    }
    resolve_duplicates(registry, change, uid_old);
    compare_versions(registry, change, uid_old);
    for (size_t i = 0; i < change->count; i++) {
        if (change->tools[i]->reg->uid > uid_old) {
            change_note(change, TOOLRACK_EVENT_ADDED, change->tools[i]);
        }
    }
    return publish(registry, change) ? 0 : error_oom(err);
}

static int add(struct registry *registry, struct plugin *const *plugins, size_t count,
               bool all_or_none, uint64_t *ret_uids, struct toolrack_error *err) {
    struct change change = {0};
    (void)pthread_mutex_lock(&registry->writer);
    uint64_t first = registry->uid_last + 1;
    int code = add_locked(registry, plugins, count, all_or_none, &change, err);
    (void)pthread_mutex_unlock(&registry->writer);
    if (code == 0) {
        for (uint32_t i = 0; ret_uids != NULL && i < plugins[0]->desc->tool_count; i++) {
            ret_uids[i] = first + i;
        }
        tell(registry, &change);
    }
    change_finish(&change);
    return code;
}

int registry_add(struct registry *registry, struct plugin *const *plugins, size_t count,
                 struct toolrack_error *err) {
    return add(registry, plugins, count, false, NULL, err);
}

int registry_add_all(struct registry *registry, struct plugin *plugin, uint64_t *ret_uids,
                     struct toolrack_error *err) {
    return add(registry, &plugin, 1, true, ret_uids, err);
}

/* ------------------------------------------------------------------- swap */

/* The tool of the same name and version among tools that are sorted so, or NULL. */
static struct toolrack_tool *find_same(struct toolrack_tool *const *tools, size_t count,
                                       const struct toolrack_tool *wanted) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = tool_compare_names(tools[middle], wanted);
        if (order == 0) {
            return tools[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* The tools of the change, sorted and without duplicates. */
static int collect_swapped(struct registry *registry, const struct registry_swap *swap,
                           uint64_t uid_old, struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        if (tool->reg->plugin != swap->old) {
            change->tools[change->count++] = toolrack_tool_ref(tool);
        }
    }
    size_t kept = change->count;
    if (swap->new != NULL && !add_plugin(registry, swap->new, change)) {
        return error_oom(err);
    }
    int code = take_decisions(registry, change, kept, err);
    if (code == 0) {
        qsort(change->tools, change->count, sizeof *change->tools, compare_arrival);
        resolve_duplicates(registry, change, uid_old);
    }
    return code;
}

/* What came, what left, what was exchanged. Returns how many left. */
static size_t note_swapped(struct registry *registry, const struct registry_swap *swap,
                           uint64_t uid_old, struct change *change) {
    const struct snapshot *old = read_current(registry);
    size_t removed = 0;
    for (size_t i = 0; i < change->count; i++) {
        struct toolrack_tool *tool = change->tools[i];
        if (tool->reg->uid > uid_old) {
            const struct toolrack_tool *before = find_same(old->by_name, old->count, tool);
            bool exchanged = before != NULL && before->reg->plugin == swap->old;
            change_note(change, exchanged ? TOOLRACK_EVENT_CHANGED : TOOLRACK_EVENT_ADDED, tool);
        }
    }
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        if (tool->reg->plugin == swap->old &&
            find_same(change->tools, change->count, tool) == NULL) {
            change_note(change, TOOLRACK_EVENT_REMOVED, tool);
            removed++;
        }
    }
    return removed;
}

static int swap_locked(struct registry *registry, const struct registry_swap *swap,
                       struct change *change, size_t *ret_removed, struct toolrack_error *err) {
    uint64_t uid_old = registry->uid_last;
    size_t total = read_current(registry)->count;
    size_t more = swap->new != NULL ? swap->new->desc->tool_count : 0;
    size_t less = swap->old != NULL ? swap->old->desc->tool_count : 0;
    int code = check_room(total + more - (less < total ? less : total), err);
    if (code < 0) {
        return code;
    }
    if (!change_begin(change, 2 * (total + more))) {
        return error_oom(err);
    }
    refusals_remove_file(&registry->refusals, swap->file);
    for (size_t i = 0; i < swap->refusal_count; i++) {
        refuse_locked(registry, &swap->refusals[i]);
    }
    if (swap->old == NULL && swap->new == NULL) {
        return 0;
    }
    code = collect_swapped(registry, swap, uid_old, change, err);
    if (code < 0) {
        return code;
    }
    compare_versions(registry, change, uid_old);
    *ret_removed = note_swapped(registry, swap, uid_old, change);
    if (change->notice_count > 0 && !publish(registry, change)) {
        return error_oom(err);
    }
    if (swap->old != NULL) {
        swap->old->replaced = true;
    }
    return 0;
}

/* A change that may refuse tools: when it fails, what was refused before is so again. */
static int swap(struct registry *registry, const struct registry_swap *asked, size_t *ret_removed,
                struct change *change, struct toolrack_error *err) {
    struct toolrack_refusals *before = refusals_copy(&registry->refusals);
    if (before == NULL) {
        return error_oom(err);
    }
    int code = swap_locked(registry, asked, change, ret_removed, err);
    if (code < 0) {
        struct toolrack_refusals changed = registry->refusals;
        registry->refusals = *before;
        *before = changed;
    }
    toolrack_refusals_free(before);
    return code;
}

int registry_swap(struct registry *registry, const struct registry_swap *asked, size_t *ret_removed,
                  struct toolrack_error *err) {
    struct change change = {0};
    size_t removed = 0;
    (void)pthread_mutex_lock(&registry->writer);
    int code = swap(registry, asked, &removed, &change, err);
    (void)pthread_mutex_unlock(&registry->writer);
    if (code == 0) {
        if (ret_removed != NULL) {
            *ret_removed = removed;
        }
        tell(registry, &change);
    }
    change_finish(&change);
    return code;
}

/* --------------------------------------------------------------- complete */

static bool is_refused_duplicate(const struct registry *registry, const struct plugin *plugin,
                                 const char *tool) {
    const struct toolrack_refusals *refusals = &registry->refusals;
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        if (row->file != NULL && row->tool != NULL && strcmp(row->file, plugin->path) == 0 &&
            strcmp(row->tool, tool) == 0 && strcmp(row->rule, DUPLICATE_RULE) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether nobody has the name and version of a tool that is in no snapshot. */
static bool is_free(const struct snapshot *snapshot, struct plugin *plugin, uint32_t index) {
    struct registration wanted = {.spec = &plugin->desc->tools[index]};
    const struct toolrack_tool tool = {.reg = &wanted};
    return find_same(snapshot->by_name, snapshot->count, &tool) == NULL;
}

static bool add_freed(struct registry *registry, struct plugin *plugin, struct change *change) {
    const struct snapshot *old = read_current(registry);
    bool added = true;
    for (uint32_t i = 0; added && i < plugin->desc->tool_count; i++) {
        const char *name = plugin->desc->tools[i].tool->name;
        if (is_refused_duplicate(registry, plugin, name) && is_free(old, plugin, i)) {
            added = add_tool(registry, plugin, i, change);
            if (added) {
                change_note(change, TOOLRACK_EVENT_ADDED, change->tools[change->count - 1]);
            }
        }
    }
    return added;
}

/* Take out the rows of those that are registered now. */
static void forget_refusals(struct registry *registry, const struct plugin *plugin,
                            const struct change *change) {
    for (size_t i = 0; i < change->notice_count; i++) {
        refusals_remove(&registry->refusals, plugin->path, DUPLICATE_RULE,
                        toolrack_tool_name(change->notices[i].tool));
    }
}

static int complete_locked(struct registry *registry, struct plugin *plugin, struct change *change,
                           struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    uint64_t uid_old = registry->uid_last;
    size_t most = old->count + plugin->desc->tool_count;
    if (plugin->replaced) {
        return 0;
    }
    int code = check_room(most, err);
    if (code < 0) {
        return code;
    }
    if (!change_begin(change, most)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < old->count; i++) {
        change->tools[change->count++] = toolrack_tool_ref(old->by_name[i]);
    }
    if (!add_freed(registry, plugin, change)) {
        return error_oom(err);
    }
    if (change->notice_count == 0) {
        return 0;
    }
    code = take_decisions(registry, change, old->count, err);
    if (code < 0) {
        return code;
    }
    qsort(change->tools, change->count, sizeof *change->tools, compare_arrival);
    compare_versions(registry, change, uid_old);
    if (!publish(registry, change)) {
        return error_oom(err);
    }
    forget_refusals(registry, plugin, change);
    return 0;
}

int registry_complete(struct registry *registry, struct plugin *plugin,
                      struct toolrack_error *err) {
    struct change change = {0};
    (void)pthread_mutex_lock(&registry->writer);
    int code = complete_locked(registry, plugin, &change, err);
    (void)pthread_mutex_unlock(&registry->writer);
    if (code == 0) {
        tell(registry, &change);
    }
    change_finish(&change);
    return code;
}

/* ----------------------------------------------------------------- remove */

/* Take out what matches: by uid, or by selector when uid is 0. */
static int remove_locked(struct registry *registry, uint64_t uid, const struct selector *selector,
                         struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    if (!change_begin(change, old->count)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        if (uid != 0 ? tool->reg->uid == uid : selects(selector, tool)) {
            change_note(change, TOOLRACK_EVENT_REMOVED, tool);
        } else {
            change->tools[change->count++] = toolrack_tool_ref(tool);
        }
    }
    if (change->notice_count == 0) {
        return TOOLRACK_E_NOT_FOUND;
    }
    return publish(registry, change) ? 0 : error_oom(err);
}

static int remove_matching(struct registry *registry, uint64_t uid, const struct selector *selector,
                           struct toolrack_error *err) {
    struct change change = {0};
    (void)pthread_mutex_lock(&registry->writer);
    int code = remove_locked(registry, uid, selector, &change, err);
    (void)pthread_mutex_unlock(&registry->writer);
    if (code == 0) {
        tell(registry, &change);
    }
    change_finish(&change);
    return code;
}

int registry_remove(struct registry *registry, uint64_t uid, struct toolrack_error *err) {
    int code = uid == 0 ? TOOLRACK_E_NOT_FOUND : remove_matching(registry, uid, NULL, err);
    return code != TOOLRACK_E_NOT_FOUND
                   ? code
                   : error_set(err, code, "no tool is registered with the number %llu",
                               (unsigned long long)uid);
}

int registry_remove_name(struct registry *registry, const char *selector,
                         struct toolrack_error *err) {
    struct selector parsed = selector_parse(selector);
    int code = registry_check_exact(selector, err);
    if (code == 0) {
        code = remove_matching(registry, 0, &parsed, err);
    }
    return code != TOOLRACK_E_NOT_FOUND ? code : registry_not_found(registry, selector, err);
}

/* ------------------------------------------------------------------- read */

struct toolrack_tool *registry_get(struct registry *registry, const char *selector) {
    rcu_read_begin();
    struct toolrack_tool *tool = find(read_current(registry), selector);
    if (tool != NULL) {
        (void)toolrack_tool_ref(tool);
    }
    rcu_read_end();
    return tool;
}

void registry_visit(struct registry *registry, bool (*visit)(void *user, struct toolrack_tool *),
                    void *user) {
    rcu_read_begin();
    const struct snapshot *snapshot = read_current(registry);
    for (size_t i = 0; i < snapshot->count && visit(user, snapshot->tools[i]); i++) {
    }
    rcu_read_end();
}

void registry_look(struct registry *registry, void (*look)(void *user, const struct snapshot *),
                   void *user) {
    rcu_read_begin();
    look(user, read_current(registry));
    rcu_read_end();
}

struct toolrack_text *registry_definitions(struct registry *registry, enum toolrack_format format,
                                           snapshot_define *define) {
    rcu_read_begin();
    struct toolrack_text *text = snapshot_definitions(read_current(registry), format, define);
    rcu_read_end();
    return text;
}

char *registry_suggest(struct registry *registry, const char *name) {
    struct nearest nearest = nearest_to(name);
    rcu_read_begin();
    const struct snapshot *snapshot = read_current(registry);
    for (size_t i = 0; i < snapshot->count; i++) {
        (void)nearest_try(&nearest, toolrack_tool_name(snapshot->by_name[i]));
    }
    char *found = nearest.name != NULL ? strdup(nearest.name) : NULL;
    rcu_read_end();
    return found;
}

static void list_versions(struct registry *registry, const struct selector *selector,
                          struct buf *out) {
    rcu_read_begin();
    const struct snapshot *snapshot = read_current(registry);
    const struct name_slot *slot = snapshot_find(snapshot, selector->name, selector->name_length);
    for (uint32_t i = 0; slot != NULL && i < slot->count; i++) {
        buf_printf(out, "%s%s", i > 0 ? ", " : "",
                   toolrack_tool_version(snapshot->by_name[slot->first + i]));
    }
    rcu_read_end();
}

/* A name that is known, and what of it there is. */
static int version_not_found(const char *name, const char *version, const char *versions,
                             struct toolrack_error *err) {
    struct semver_range range;
    if (semver_valid(version)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' has no version '%s'; there is: %s",
                         name, version, versions);
    }
    if (semver_range_parse(version, &range)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "Tool '%s' has no version in the range '%s'; there is: %s", name, version,
                         versions);
    }
    return error_set(
            err, TOOLRACK_E_NOT_FOUND,
            "Tool '%s' has no version '%s', which is neither a version such as 1.2.0 nor a "
            "range such as ^1; there is: %s",
            name, version, versions);
}

static int name_not_found(struct registry *registry, const char *name, struct toolrack_error *err) {
    if (name[0] == '\0') {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '<unnamed>' not found");
    }
    CLEANUP(freep) char *nearest = registry_suggest(registry, name);
    return nearest != NULL ? error_set(err, TOOLRACK_E_NOT_FOUND,
                                       "Tool '%s' not found; did you mean '%s'?", name, nearest)
                           : error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' not found", name);
}

int registry_not_found(struct registry *registry, const char *text, struct toolrack_error *err) {
    struct selector selector = selector_parse(text);
    int name_length =
            (int)(selector.name_length > NAME_LENGTH_MAX ? NAME_LENGTH_MAX : selector.name_length);
    char name[NAME_LENGTH_MAX + 1];
    (void)snprintf(name, sizeof name, "%.*s", name_length, selector.name);
    CLEANUP(buf_finish) struct buf versions = BUF_INIT;
    list_versions(registry, &selector, &versions);
    int code = versions.length > 0
                       ? version_not_found(name, selector.version != NULL ? selector.version : "",
                                           versions.data, err)
                       : name_not_found(registry, name, err);
    error_set_tool(err, name);
    return code;
}

/* --------------------------------------------------------------- refusals */

static void refuse_locked(struct registry *registry, const struct toolrack_refusal *refusal) {
    if (!refusals_add(&registry->refusals, refusal)) {
        log_line(registry->options.log, LOG_ERROR, "registry",
                 "out of memory: a refused tool will not be listed");
    }
}

void registry_refuse(struct registry *registry, const struct toolrack_refusal *refusal) {
    (void)pthread_mutex_lock(&registry->writer);
    refuse_locked(registry, refusal);
    (void)pthread_mutex_unlock(&registry->writer);
}

void registry_forgive(struct registry *registry, const char *file, const char *rule,
                      const char *tool) {
    (void)pthread_mutex_lock(&registry->writer);
    refusals_remove(&registry->refusals, file, rule, tool);
    (void)pthread_mutex_unlock(&registry->writer);
}

struct toolrack_refusals *registry_refusals(struct registry *registry) {
    (void)pthread_mutex_lock(&registry->writer);
    struct toolrack_refusals *copy = refusals_copy(&registry->refusals);
    (void)pthread_mutex_unlock(&registry->writer);
    return copy;
}
