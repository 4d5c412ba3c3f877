#include <string.h>

#include "base/error.h"
#include "registry/registry-parts.h"

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
static bool add_staying(const struct registry_swap *swap, struct change *change) {
    for (size_t i = 0; i < change->before_count; i++) {
        struct toolrack_tool *tool = change->before[i];
        if (!leaves(swap, tool->reg->plugin)) {
            change_add(change, tool);
        } else if (swap->keeps && tool->reg->plugin == swap->old && !has_same(swap->new, tool)) {
            struct toolrack_tool *view = tool_copy(tool);
            if (!change_take(change, view)) {
                return false;
            }
            view->kept = true;
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
static size_t note_swapped(const struct registry_swap *swap, struct change *change) {
    size_t removed = 0;
    for (size_t i = 0; i < change->count; i++) {
        struct toolrack_tool *tool = change->tools[i];
        if (tool->reg->uid > change->uid_old) {
            const struct toolrack_tool *before =
                    change_find_same(change->before, change->before_count, tool);
            bool exchanged = before != NULL && leaves(swap, before->reg->plugin);
            change_note(change, exchanged ? TOOLRACK_EVENT_CHANGED : TOOLRACK_EVENT_ADDED, tool);
        } else if (tool->reg->plugin == swap->old) {
            change_note(change, TOOLRACK_EVENT_CHANGED, tool); /* it is a kept version now */
        }
    }
    for (size_t i = 0; i < change->before_count; i++) {
        struct toolrack_tool *tool = change->before[i];
        if (leaves(swap, tool->reg->plugin) &&
            change_find_same(change->tools, change->count, tool) == NULL) {
            change_note(change, TOOLRACK_EVENT_REMOVED, tool);
            removed++;
        }
    }
    return removed;
}

static size_t tools_of(const struct plugin *plugin) {
    return plugin != NULL ? plugin->desc->tool_count : 0;
}

/* Begin a change of the names of all plugins that have to do with it. */
static int begin_swap(struct registry *registry, const struct registry_swap *swap,
                      struct change *change, struct toolrack_error *err) {
    size_t count = registry_current(registry)->count;
    size_t more = tools_of(swap->new);
    size_t less = swap->keeps ? 0 : tools_of(swap->old);
    size_t names = more + tools_of(swap->old);
    for (size_t i = 0; i < swap->dropped_count; i++) {
        names += tools_of(swap->dropped[i]);
    }
    int code = registry_begin_change(registry, change, count + more - (less < count ? less : count),
                                     names, err);
    if (code < 0) {
        return code;
    }
    registry_concern_plugin(change, swap->old);
    registry_concern_plugin(change, swap->new);
    for (size_t i = 0; i < swap->dropped_count; i++) {
        registry_concern_plugin(change, swap->dropped[i]);
    }
    return change_open(change, more) ? 0 : error_oom(err);
}

static int swap(struct registry *registry, const struct registry_swap *swap, size_t *ret_removed,
                struct change *change, struct toolrack_error *err) {
    int code = begin_swap(registry, swap, change, err);
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
    if (!add_staying(swap, change)) {
        return error_oom(err);
    }
    size_t staying = change->count;
    if (swap->new != NULL && !registry_add_plugin(registry, swap->new, change)) {
        return error_oom(err);
    }
    code = registry_decide_new(registry, change, staying, err);
    if (code == 0) {
        code = registry_resolve_names(registry, change, err);
    }
    if (code < 0) {
        return code;
    }
    registry_compare_versions(registry, change);
    *ret_removed = note_swapped(swap, change);
    note_left(swap, change);
    code = change->notice_count > 0 ? registry_publish(registry, change, err) : 0;
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
    registry_begin(registry);
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
    return registry_end(registry, &change, code);
}

/* --------------------------------------------------------------- complete */

static bool is_refused_duplicate(const struct registry *registry, const struct plugin *plugin,
                                 const struct descriptor_tool *spec) {
    const struct toolrack_refusals *refusals = &registry->refusals;
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        if (row->file != NULL && row->tool != NULL && strcmp(row->file, plugin->path) == 0 &&
            strcmp(row->rule, REFUSAL_TOOL_EXISTS) == 0 &&
            strcmp(row->tool, spec->tool->name) == 0 && row->version != NULL &&
            strcmp(row->version, spec->version) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the same name and version is registered, from the same origin. */
static bool has_twin(const struct change *change, const struct plugin *plugin,
                     const struct descriptor_tool *spec) {
    struct registration wanted = {.spec = spec};
    const struct toolrack_tool *twin = change_find_same(change->before, change->before_count,
                                                        &(struct toolrack_tool){.reg = &wanted});
    return twin != NULL && strcmp(twin->reg->plugin->origin, plugin->origin) == 0;
}

static int complete(struct registry *registry, struct plugin *plugin, struct change *change,
                    struct toolrack_error *err) {
    size_t more = plugin->desc->tool_count;
    if (plugin->replaced && !atomic_load(&plugin->kept)) {
        return 0;
    }
    int code = registry_begin_change(registry, change, registry_current(registry)->count + more,
                                     more, err);
    if (code < 0) {
        return code;
    }
    registry_concern_plugin(change, plugin);
    if (!change_open(change, more)) {
        return error_oom(err);
    }
    change_add_all(change);
    for (uint32_t i = 0; i < plugin->desc->tool_count; i++) {
        const struct descriptor_tool *spec = &plugin->desc->tools[i];
        /* What a kept version lacks has no row when the name was another's at the update. */
        bool waits = plugin->replaced || is_refused_duplicate(registry, plugin, spec);
        if (waits && !has_twin(change, plugin, spec) &&
            !registry_add_tool(registry, plugin, i, change)) {
            return error_oom(err);
        }
    }
    if (change->count == change->before_count) {
        return 0;
    }
    code = registry_decide_new(registry, change, change->before_count, err);
    if (code == 0) {
        code = registry_resolve_names(registry, change, err);
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
    registry_compare_versions(registry, change);
    code = registry_publish(registry, change, err);
    for (size_t i = 0; code == 0 && i < change->notice_count; i++) {
        const struct toolrack_tool *tool = change->notices[i].tool;
        if (change->notices[i].kind == TOOLRACK_EVENT_ADDED) {
            refusals_remove_version(&registry->refusals, plugin->path, REFUSAL_TOOL_EXISTS,
                                    toolrack_tool_name(tool), toolrack_tool_version(tool));
        }
    }
    return code;
}

int registry_complete(struct registry *registry, struct plugin *plugin,
                      struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    return registry_end(registry, &change, complete(registry, plugin, &change, err));
}

/* ------------------------------------------------------------------- kept */

static int set_kept(struct registry *registry, struct plugin *plugin, bool kept,
                    struct change *change, struct toolrack_error *err) {
    if (atomic_load(&plugin->kept) == kept) {
        return 0;
    }
    if (!change_begin(change, registry_current(registry), registry->uid_last,
                      plugin->desc->tool_count)) {
        return error_oom(err);
    }
    registry_concern_plugin(change, plugin);
    if (!change_open(change, 0)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < change->before_count; i++) {
        struct toolrack_tool *tool = change->before[i];
        if (tool->reg->plugin != plugin) {
            change_add(change, tool);
            continue;
        }
        struct toolrack_tool *view = tool_copy(tool);
        if (!change_take(change, view)) {
            return error_oom(err);
        }
        view->kept = kept;
        change_note(change, TOOLRACK_EVENT_CHANGED, view);
    }
    int code = registry_publish(registry, change, err);
    if (code == 0) {
        atomic_store(&plugin->kept, kept);
        registry_note_shared(registry, change);
    }
    return code;
}

int registry_set_kept(struct registry *registry, struct plugin *plugin, bool kept,
                      struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    return registry_end(registry, &change, set_kept(registry, plugin, kept, &change, err));
}
