#include "registry/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/object.h"
#include "registry/change.h"
#include "registry/duplicate.h"
#include "registry/find.h"
#include "registry/owner.h"
#include "registry/rcu.h"
#include "registry/refusal.h"
#include "registry/succession.h"

/* Invariants; registry_check() checks (3) and (5), and those of the snapshot:
 *
 *  (1) `current` is never NULL and is replaced only by publish(), under `writer`.
 *  (2) A snapshot is destroyed only after rcu_synchronize(): no reader holds it then. And only
 *      after `writer` was released, since it may end a plugin, whose code then runs.
 *  (3) No two tools of a snapshot have the same name and version.
 *  (4) Each view has the settings and decisions about its registration. The registry does not store
 *      them: options.settings and options.registering supply them once, before the registration is
 *      published, and each later change goes through registry_set() or registry_review().
 *  (5) uids grow: of two registrations the one with the smaller uid came first. */
struct registry {
    uint32_t magic; /* REGISTRY_MAGIC */
    _Atomic(struct snapshot *) current;
    struct registry_options options;

    struct lock writer; /* guards the members below */
    uint64_t uid_last;
    struct toolrack_refusals refusals;
};
#define REGISTRY_MAGIC 0x72656769u

#if SANITIZER_THREAD
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
    registry->magic = REGISTRY_MAGIC;
    registry->options = *options;
    registry->options.owners.log = options->log;
    lock_init(&registry->writer);
    atomic_init(&registry->current, empty);
    return registry;
}

void registry_destroy(struct registry *registry) {
    if (registry == NULL) {
        return;
    }
    OBJECT_WIPE(registry, REGISTRY_MAGIC);
    snapshot_destroy(atomic_load(&registry->current));
    refusals_finish(&registry->refusals);
    lock_finish(&registry->writer);
    free(registry);
}

static struct snapshot *read_current(struct registry *registry) {
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    return atomic_load_explicit(&registry->current, memory_order_acquire);
}

/* ---------------------------------------------------------------- changes */

/* Take `writer`, until end(). */
static void begin(struct registry *registry) {
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    lock_take(&registry->writer);
}

/* Release `writer`, report the change, and release what it replaced. Returns `code`. */
static int end(struct registry *registry, struct change *change, int code) {
    lock_release(&registry->writer);
    for (size_t i = 0; code == 0 && registry->options.event != NULL && i < change->notice_count;
         i++) {
        registry->options.event(registry->options.user, change->notices[i].kind,
                                change->notices[i].tool);
    }
    change_finish(change);
    return code;
}

/* Caller holds `writer`. */
static void registry_check(struct registry *registry) {
    LOCK_ASSERT_HELD(&registry->writer);
#ifndef NDEBUG
    const struct snapshot *snapshot = read_current(registry);
    snapshot_check(snapshot);
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct registration *reg = snapshot->tools[i]->reg;
        assert(reg->uid > 0 && reg->uid <= registry->uid_last);
    }
#endif
}

static void publish_snapshot(struct registry *registry, struct snapshot *next,
                             struct change *change) {
    LOCK_ASSERT_HELD(&registry->writer);
    change->replaced = atomic_exchange_explicit(&registry->current, next, memory_order_acq_rel);
    rcu_synchronize();
    registry_check(registry);
}

/* Publish the change's tools as the present snapshot. */
static int publish(struct registry *registry, struct change *change, struct toolrack_error *err) {
    struct snapshot *next = change_take_snapshot(change);
    if (next == NULL) {
        return error_oom(err);
    }
    publish_snapshot(registry, next, change);
    return 0;
}

/* ------------------------------------------------------- settings, decisions */

static bool is_granted_alike(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    return a->granted_until_s == b->granted_until_s &&
           (a->granted_until_s == 0 || strcmp(a->granted_by, b->granted_by) == 0);
}

static bool is_set_alike(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    return a->enabled == b->enabled && a->priority == b->priority &&
           a->is_set_default == b->is_set_default;
}

/* Repeat the decision about a name, or all tools (NULL), and apply a setting unless it is NULL. The
 * tools of a name are adjacent in by_name. The next snapshot is made first, so that nothing can
 * fail after a decision was stored; it is published only if a view differs. */
static int review(struct registry *registry, const char *name, size_t length,
                  const struct registry_setting *setting, registry_decide *decide, void *user,
                  struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    const struct name_slot *slot = name != NULL ? snapshot_find(old, name, length) : NULL;
    size_t first = slot != NULL ? slot->first : 0;
    size_t count = slot != NULL ? slot->count : name == NULL ? old->count : 0;
    if (count == 0) {
        return decide(user, NULL, 0, err);
    }
    if (!change_begin(change, old->count, registry->uid_last)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < old->count; i++) {
        if (i < first || i >= first + count) {
            change_add(change, old->by_name[i]);
            continue;
        }
        struct toolrack_tool *view = tool_copy(old->by_name[i]);
        if (view == NULL) {
            return error_oom(err);
        }
        change->tools[change->count++] = view;
        if (setting == NULL) {
            tool_set_grant(view, 0, "");
        }
    }
    if (setting != NULL) {
        setting_apply(setting, &change->tools[first], count);
    }
    for (size_t i = first; i < first + count; i++) {
        if (!is_set_alike(old->by_name[i], change->tools[i])) {
            change_note(change, TOOLRACK_EVENT_CHANGED, change->tools[i]);
        }
    }
    struct snapshot *next = change_take_snapshot(change);
    int code = next != NULL ? decide(user, &next->by_name[first], count, err) : error_oom(err);
    bool changed = change->notice_count > 0;
    for (size_t i = first; code == 0 && !changed && i < first + count; i++) {
        changed = !is_granted_alike(old->by_name[i], next->by_name[i]);
    }
    if (code == 0 && changed) {
        publish_snapshot(registry, next, change);
    } else {
        snapshot_destroy(next);
    }
    return code;
}

int registry_set(struct registry *registry, const struct registry_setting *setting,
                 registry_decide *decide, void *user, struct toolrack_error *err) {
    struct change change = {0};
    const struct selector *of = &setting->of;
    begin(registry);
    return end(registry, &change,
               review(registry, of->name, of->name_length, setting, decide, user, &change, err));
}

int registry_review(struct registry *registry, const char *name, registry_decide *decide,
                    void *user, struct toolrack_error *err) {
    struct change change = {0};
    begin(registry);
    return end(registry, &change,
               review(registry, name, name != NULL ? strlen(name) : 0, NULL, decide, user, &change,
                      err));
}

struct registry_views {
    struct toolrack_tool *const *tools; /* sorted by name */
    size_t count;
};

static void take_setting(struct registry_views *views, const struct registry_setting *setting) {
    setting_apply(setting, views->tools, views->count);
}

/* Apply the settings to views that are not published yet. The views are sorted by name. */
static int read_settings(struct registry *registry, struct toolrack_tool *const *tools,
                         size_t count, struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&registry->writer);
    struct registry_views views = {.tools = tools, .count = count};
    const struct registry_options *options = &registry->options;
    return options->settings == NULL ? 0
                                     : options->settings(options->user, take_setting, &views, err);
}

/* All views are made anew, as if their tools were just registered, in the order of by_name. */
static int reread(struct registry *registry, registry_decide *decide, void *user,
                  struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    if (!change_begin(change, old->count, registry->uid_last)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *view = tool_create(old->by_name[i]->reg);
        if (view == NULL) {
            return error_oom(err);
        }
        change->tools[change->count++] = view;
    }
    int code = read_settings(registry, change->tools, change->count, err);
    if (code < 0) {
        return code;
    }
    for (size_t i = 0; i < old->count; i++) {
        if (!is_set_alike(old->by_name[i], change->tools[i])) {
            change_note(change, TOOLRACK_EVENT_CHANGED, change->tools[i]);
        }
    }
    struct snapshot *next = change_take_snapshot(change);
    code = next != NULL ? decide(user, next->by_name, old->count, err) : error_oom(err);
    bool changed = change->notice_count > 0;
    for (size_t i = 0; code == 0 && !changed && i < old->count; i++) {
        changed = !is_granted_alike(old->by_name[i], next->by_name[i]);
    }
    if (code == 0 && changed) {
        publish_snapshot(registry, next, change);
    } else {
        snapshot_destroy(next);
    }
    return code;
}

int registry_reread(struct registry *registry, registry_decide *decide, void *user,
                    struct toolrack_error *err) {
    struct change change = {0};
    begin(registry);
    return end(registry, &change, reread(registry, decide, user, &change, err));
}

/* Apply the settings and decisions to the new tools of a change, from `first` on; then sort all of
 * its tools. */
static int decide_about_new(struct registry *registry, struct change *change, size_t first,
                            struct toolrack_error *err) {
    const struct registry_options *options = &registry->options;
    size_t count = change->count - first;
    if (count == 0) {
        return 0; /* the others are sorted */
    }
    change_sort(change, first);
    int code = read_settings(registry, &change->tools[first], count, err);
    if (code == 0 && options->registering != NULL) {
        code = options->registering(options->user, &change->tools[first], count, err);
    }
    if (code == 0 && first > 0) {
        change_sort(change, 0);
    }
    return code;
}

/* Compare the new tools of a sorted change with the version before each: one of this change, or of
 * the present snapshot. */
static void compare_versions(struct registry *registry, const struct change *change) {
    const struct snapshot *old = read_current(registry);
    for (size_t i = 0; i < change->count; i++) {
        struct registration *reg = change->tools[i]->reg;
        if (reg->uid <= change->uid_old || reg->succession != NULL) {
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

/* Refuse the tools of a sorted change whose names other plugins have. */
static int resolve_names(struct registry *registry, struct change *change,
                         struct toolrack_error *err) {
    const struct registry_options *options = &registry->options;
    int code = owners_resolve(change, &options->owners, &registry->refusals, err);
    if (code == 0) {
        duplicates_resolve(change, options->duplicates == REGISTRY_REPLACE, &registry->refusals,
                           &options->owners);
        owners_note_shared(change, &options->owners, &registry->refusals);
    }
    return code;
}

/* -------------------------------------------------------------------- add */

/* A view that is in no snapshot yet. NULL: out of memory. */
static struct toolrack_tool *create_tool(struct plugin *plugin, uint32_t index, uint64_t uid) {
    CLEANUP(registration_unrefp) struct registration *reg = registration_create(plugin, index, uid);
    return reg != NULL ? tool_create(reg) : NULL;
}

static bool add_tool(struct registry *registry, struct plugin *plugin, uint32_t index,
                     struct change *change) {
    struct toolrack_tool *tool = create_tool(plugin, index, ++registry->uid_last);
    if (tool != NULL) {
        change->tools[change->count++] = tool;
    }
    return tool != NULL;
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
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    struct toolrack_tool *tool = create_tool(plugin, index, 0);
    if (tool != NULL) {
        struct toolrack_error unheard;
        LOCK_SCOPE(&registry->writer);
        if (read_settings(registry, &tool, 1, &unheard) < 0) {
            tool->enabled = false;
        }
    }
    return tool;
}

/* Begin a change of at most `tools` tools and `notices` notices. */
static int change_begin_checked(struct registry *registry, struct change *change, size_t tools,
                                size_t notices, struct toolrack_error *err) {
    if (tools > REGISTRY_TOOLS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the registry holds at most %u tools; remove some plugins",
                         REGISTRY_TOOLS_MAX);
    }
    return change_begin(change, notices, registry->uid_last) ? 0 : error_oom(err);
}

static int add(struct registry *registry, struct plugin *const *plugins, size_t count,
               bool all_or_none, struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    bool replaces = registry->options.duplicates == REGISTRY_REPLACE;
    size_t total = old->count;
    for (size_t i = 0; i < count; i++) {
        total += plugins[i]->desc->tool_count;
    }
    int code = change_begin_checked(registry, change, total, 2 * total, err);
    if (code < 0) {
        return code;
    }
    for (size_t i = 0; i < old->count; i++) {
        change_add(change, old->by_name[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (!add_plugin(registry, plugins[i], change)) {
            return error_oom(err);
        }
    }
    code = decide_about_new(registry, change, old->count, err);
    if (code == 0 && all_or_none) {
        code = owners_check(change, &registry->options.owners, err);
    }
    if (code == 0 && all_or_none && !replaces) {
        code = duplicates_check(change, err);
    }
    if (code == 0) {
        code = resolve_names(registry, change, err);
    }
    if (code < 0) {
        return code;
    }
    compare_versions(registry, change);
    for (size_t i = 0; i < change->count; i++) {
        if (change->tools[i]->reg->uid > change->uid_old) {
            change_note(change, TOOLRACK_EVENT_ADDED, change->tools[i]);
        }
    }
    return publish(registry, change, err);
}

int registry_add(struct registry *registry, struct plugin *const *plugins, size_t count,
                 struct toolrack_error *err) {
    struct change change = {0};
    begin(registry);
    return end(registry, &change, add(registry, plugins, count, false, &change, err));
}

int registry_add_all(struct registry *registry, struct plugin *plugin, uint64_t *ret_uids,
                     struct toolrack_error *err) {
    struct change change = {0};
    begin(registry);
    int code = add(registry, &plugin, 1, true, &change, err);
    for (uint32_t i = 0; code == 0 && ret_uids != NULL && i < plugin->desc->tool_count; i++) {
        ret_uids[i] = change.uid_old + 1 + i;
    }
    return end(registry, &change, code);
}

/* ------------------------------------------------------------------- swap */

/* Whether the tools of a plugin are removed, or become kept versions. */
static bool leaves(const struct registry_swap *swap, const struct plugin *plugin) {
    bool found = plugin == swap->old;
    for (size_t i = 0; i < swap->dropped_count; i++) {
        found = found || plugin == swap->dropped[i];
    }
    return found;
}

/* Whether a plugin has a tool of the same name and version. */
static bool has_same(const struct plugin *plugin, const struct toolrack_tool *tool) {
    for (uint32_t i = 0; i < plugin->desc->tool_count; i++) {
        struct registration other = {.spec = &plugin->desc->tools[i]};
        if (tool_compare_names(tool, &(struct toolrack_tool){.reg = &other}) == 0) {
            return true;
        }
    }
    return false;
}

/* Add the tools that stay. False: out of memory. */
static bool add_staying(const struct snapshot *old, const struct registry_swap *swap,
                        struct change *change) {
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        if (!leaves(swap, tool->reg->plugin)) {
            change_add(change, tool);
        } else if (swap->keeps && tool->reg->plugin == swap->old && !has_same(swap->new, tool)) {
            struct toolrack_tool *view = tool_copy(tool);
            if (view == NULL) {
                return false;
            }
            view->kept = true;
            change->tools[change->count++] = view;
        }
    }
    return true;
}

/* The old plugin is not the plugin of its file any more. */
static void note_left(const struct registry_swap *swap, const struct change *change) {
    if (swap->old != NULL) {
        bool kept = false;
        for (size_t i = 0; i < change->count; i++) {
            kept = kept || change->tools[i]->reg->plugin == swap->old;
        }
        atomic_store(&swap->old->kept, kept);
        swap->old->replaced = true;
    }
}

/* Note the tools that were added, removed and exchanged. Returns how many were removed. */
static size_t note_swapped(const struct snapshot *old, const struct registry_swap *swap,
                           struct change *change) {
    size_t removed = 0;
    for (size_t i = 0; i < change->count; i++) {
        struct toolrack_tool *tool = change->tools[i];
        if (tool->reg->uid > change->uid_old) {
            const struct toolrack_tool *before = change_find_same(old->by_name, old->count, tool);
            bool exchanged = before != NULL && leaves(swap, before->reg->plugin);
            change_note(change, exchanged ? TOOLRACK_EVENT_CHANGED : TOOLRACK_EVENT_ADDED, tool);
        } else if (tool->reg->plugin == swap->old) {
            change_note(change, TOOLRACK_EVENT_CHANGED, tool); /* it is a kept version now */
        }
    }
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        if (leaves(swap, tool->reg->plugin) &&
            change_find_same(change->tools, change->count, tool) == NULL) {
            change_note(change, TOOLRACK_EVENT_REMOVED, tool);
            removed++;
        }
    }
    return removed;
}

static int swap(struct registry *registry, const struct registry_swap *swap, size_t *ret_removed,
                struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    size_t more = swap->new != NULL ? swap->new->desc->tool_count : 0;
    size_t less = swap->old != NULL && !swap->keeps ? swap->old->desc->tool_count : 0;
    size_t most = old->count + more;
    int code = change_begin_checked(registry, change,
                                    most - (less < old->count ? less : old->count), 2 * most, err);
    if (code < 0) {
        return code;
    }
    refusals_remove(&registry->refusals, swap->file, NULL, NULL);
    for (size_t i = 0; i < swap->refusal_count; i++) {
        refusals_note(&registry->refusals, &swap->refusals[i], registry->options.log);
    }
    if (swap->old == NULL && swap->new == NULL) {
        return 0;
    }
    if (!add_staying(old, swap, change)) {
        return error_oom(err);
    }
    size_t staying = change->count;
    if (swap->new != NULL && !add_plugin(registry, swap->new, change)) {
        return error_oom(err);
    }
    code = decide_about_new(registry, change, staying, err);
    if (code == 0) {
        code = resolve_names(registry, change, err);
    }
    if (code < 0) {
        return code;
    }
    compare_versions(registry, change);
    *ret_removed = note_swapped(old, swap, change);
    note_left(swap, change); /* before the tools are taken out of the change */
    code = change->notice_count > 0 ? publish(registry, change, err) : 0;
    if (code < 0 && swap->old != NULL) {
        atomic_store(&swap->old->kept, false);
        swap->old->replaced = false;
    }
    return code;
}

int registry_swap(struct registry *registry, const struct registry_swap *asked, size_t *ret_removed,
                  struct toolrack_error *err) {
    struct change change = {0};
    size_t removed = 0;
    begin(registry);
    /* The change may refuse tools: when it fails, the earlier refusals are restored. */
    struct toolrack_refusals *before = refusals_copy(&registry->refusals);
    int code = before != NULL ? swap(registry, asked, &removed, &change, err) : error_oom(err);
    if (code < 0 && before != NULL) {
        struct toolrack_refusals changed = registry->refusals;
        registry->refusals = *before;
        *before = changed;
    }
    toolrack_refusals_free(before);
    if (code == 0 && ret_removed != NULL) {
        *ret_removed = removed;
    }
    return end(registry, &change, code);
}

/* --------------------------------------------------------------- complete */

static bool is_refused_duplicate(const struct registry *registry, const struct plugin *plugin,
                                 const char *tool) {
    const struct toolrack_refusals *refusals = &registry->refusals;
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        if (row->file != NULL && row->tool != NULL && strcmp(row->file, plugin->path) == 0 &&
            strcmp(row->tool, tool) == 0 && strcmp(row->rule, REFUSAL_TOOL_EXISTS) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the same name and version is registered, from the same origin. */
static bool has_twin(const struct snapshot *snapshot, const struct plugin *plugin,
                     const struct descriptor_tool *spec) {
    struct registration wanted = {.spec = spec};
    const struct toolrack_tool *twin = change_find_same(snapshot->by_name, snapshot->count,
                                                        &(struct toolrack_tool){.reg = &wanted});
    return twin != NULL && strcmp(twin->reg->plugin->origin, plugin->origin) == 0;
}

static int complete(struct registry *registry, struct plugin *plugin, struct change *change,
                    struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    size_t most = old->count + plugin->desc->tool_count;
    if (plugin->replaced) {
        return 0;
    }
    int code = change_begin_checked(registry, change, most, 2 * most, err);
    if (code < 0) {
        return code;
    }
    for (size_t i = 0; i < old->count; i++) {
        change_add(change, old->by_name[i]);
    }
    for (uint32_t i = 0; i < plugin->desc->tool_count; i++) {
        const struct descriptor_tool *spec = &plugin->desc->tools[i];
        if (is_refused_duplicate(registry, plugin, spec->tool->name) &&
            !has_twin(old, plugin, spec) && !add_tool(registry, plugin, i, change)) {
            return error_oom(err);
        }
    }
    if (change->count == old->count) {
        return 0;
    }
    code = decide_about_new(registry, change, old->count, err);
    if (code == 0) {
        code = resolve_names(registry, change, err);
    }
    if (code < 0) {
        return code;
    }
    size_t added = 0;
    for (size_t i = 0; i < change->count; i++) {
        if (change->tools[i]->reg->uid > change->uid_old) {
            change_note(change, TOOLRACK_EVENT_ADDED, change->tools[i]);
            added++;
        }
    }
    if (added == 0) {
        return 0;
    }
    compare_versions(registry, change);
    code = publish(registry, change, err);
    for (size_t i = 0; code == 0 && i < change->notice_count; i++) {
        if (change->notices[i].kind == TOOLRACK_EVENT_ADDED) {
            refusals_remove(&registry->refusals, plugin->path, REFUSAL_TOOL_EXISTS,
                            toolrack_tool_name(change->notices[i].tool));
        }
    }
    return code;
}

int registry_complete(struct registry *registry, struct plugin *plugin,
                      struct toolrack_error *err) {
    struct change change = {0};
    begin(registry);
    return end(registry, &change, complete(registry, plugin, &change, err));
}

/* ------------------------------------------------------------------- kept */

static int set_kept(struct registry *registry, struct plugin *plugin, bool kept,
                    struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = read_current(registry);
    if (atomic_load(&plugin->kept) == kept) {
        return 0;
    }
    if (!change_begin(change, old->count, registry->uid_last)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        if (tool->reg->plugin != plugin) {
            change_add(change, tool);
            continue;
        }
        struct toolrack_tool *view = tool_copy(tool);
        if (view == NULL) {
            return error_oom(err);
        }
        view->kept = kept;
        change->tools[change->count++] = view;
        change_note(change, TOOLRACK_EVENT_CHANGED, view);
    }
    int code = publish(registry, change, err);
    if (code == 0) {
        atomic_store(&plugin->kept, kept);
    }
    return code;
}

int registry_set_kept(struct registry *registry, struct plugin *plugin, bool kept,
                      struct toolrack_error *err) {
    struct change change = {0};
    begin(registry);
    return end(registry, &change, set_kept(registry, plugin, kept, &change, err));
}

/* ----------------------------------------------------------------- remove */

/* Remove what matches: by selector, or by uid if `selector` is NULL. */
static int remove_matching(struct registry *registry, uint64_t uid, const struct selector *selector,
                           struct toolrack_error *err) {
    struct change change = {0};
    begin(registry);
    const struct snapshot *old = read_current(registry);
    if (!change_begin(&change, old->count, registry->uid_last)) {
        return end(registry, &change, error_oom(err));
    }
    for (size_t i = 0; i < old->count; i++) {
        struct toolrack_tool *tool = old->by_name[i];
        if (selector == NULL ? tool->reg->uid == uid : setting_is_about(selector, tool)) {
            change_note(&change, TOOLRACK_EVENT_REMOVED, tool);
        } else {
            change_add(&change, tool);
        }
    }
    return end(registry, &change,
               change.notice_count > 0 ? publish(registry, &change, err) : TOOLRACK_E_NOT_FOUND);
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
    const struct selector parsed = selector_parse(selector);
    int code = registry_check_exact(selector, err);
    if (code == 0) {
        code = remove_matching(registry, 0, &parsed, err);
    }
    return code != TOOLRACK_E_NOT_FOUND ? code : registry_not_found(registry, selector, err);
}

/* ------------------------------------------------------------------- read */

struct toolrack_tool *registry_get(struct registry *registry, const char *selector) {
    rcu_read_begin();
    struct toolrack_tool *tool = find_tool(read_current(registry), selector);
    if (tool != NULL) {
        (void)toolrack_tool_ref(tool);
    }
    rcu_read_end();
    return tool;
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
    rcu_read_begin();
    const char *nearest = find_nearest(read_current(registry), name);
    char *found = nearest != NULL ? strdup(nearest) : NULL;
    rcu_read_end();
    return found;
}

int registry_check_exact(const char *text, struct toolrack_error *err) {
    const struct selector selector = selector_parse(text);
    return !selector_is_range(&selector)
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "'%s' is a range of versions, which can match another version "
                               "later; name one "
                               "version, such as %.*s@1.2.0, or all of them with the name alone",
                               text, (int)selector.name_length, text);
}

int registry_not_found(struct registry *registry, const char *selector,
                       struct toolrack_error *err) {
    rcu_read_begin();
    int code = find_nothing(read_current(registry), selector, err);
    rcu_read_end();
    return code;
}

/* --------------------------------------------------------------- refusals */

void registry_refuse(struct registry *registry, const struct toolrack_refusal *refusal) {
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    LOCK_SCOPE(&registry->writer);
    refusals_note(&registry->refusals, refusal, registry->options.log);
}

void registry_forgive(struct registry *registry, const char *file, const char *rule,
                      const char *tool) {
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    LOCK_SCOPE(&registry->writer);
    refusals_remove(&registry->refusals, file, rule, tool);
}

struct toolrack_refusals *registry_refusals(struct registry *registry) {
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    LOCK_SCOPE(&registry->writer);
    return refusals_copy(&registry->refusals);
}
