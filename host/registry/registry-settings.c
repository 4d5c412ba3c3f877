#include <string.h>

#include "base/error.h"
#include "registry/registry-parts.h"

static bool is_granted_alike(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    return a->granted_until_s == b->granted_until_s &&
           (a->granted_until_s == 0 || strcmp(a->granted_by, b->granted_by) == 0);
}

static bool is_set_alike(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    return a->enabled == b->enabled && a->priority == b->priority &&
           a->is_set_default == b->is_set_default;
}

/* Which tools are held: definitions for models, kept by the snapshot, are without them. */
static uint64_t sum_held(struct toolrack_tool *const *tools, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum = 31 * sum + (tool_is_held(tools[i]) ? 2u : 1u);
    }
    return sum;
}

/* Decide about new views of `count` tools, in the order of by_name. The next snapshot is made
 * first, so that nothing can fail after a decision was stored; it is published only if a view
 * differs, or which are held. */
static int publish_views(struct registry *registry, struct change *change, size_t first,
                         size_t count, registry_decide *decide, void *user,
                         struct toolrack_error *err) {
    const struct snapshot *old = registry_current(registry);
    for (size_t i = first; i < first + count; i++) {
        if (!is_set_alike(old->by_name[i], change->tools[i])) {
            change_note(change, TOOLRACK_EVENT_CHANGED, change->tools[i]);
        }
    }
    struct snapshot *next = change_take_snapshot(change);
    uint64_t held = sum_held(&old->by_name[first], count);
    int code = next != NULL ? decide(user, &next->by_name[first], count, err) : error_oom(err);
    bool changed = change->notice_count > 0 || sum_held(&old->by_name[first], count) != held;
    for (size_t i = first; code == 0 && !changed && i < first + count; i++) {
        changed = !is_granted_alike(old->by_name[i], next->by_name[i]);
    }
    for (size_t i = first; code == 0 && i < first + count; i++) {
        if (old->by_name[i]->enabled && !next->by_name[i]->enabled) {
            atomic_fetch_add(&next->by_name[i]->reg->disabled, 1);
        }
    }
    if (code == 0 && changed) {
        registry_publish_snapshot(registry, next, change);
    } else {
        snapshot_destroy(next);
    }
    return code;
}

/* Repeat the decision about a name, or all tools (NULL), and apply a setting unless it is NULL. The
 * tools of a name are adjacent in by_name. */
static int review(struct registry *registry, const char *name, size_t length,
                  const struct registry_setting *setting, registry_decide *decide, void *user,
                  struct change *change, struct toolrack_error *err) {
    const struct snapshot *old = registry_current(registry);
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
    return publish_views(registry, change, first, count, decide, user, err);
}

int registry_set(struct registry *registry, const struct registry_setting *setting,
                 registry_decide *decide, void *user, struct toolrack_error *err) {
    struct change change = {0};
    const struct selector *of = &setting->of;
    registry_begin(registry);
    return registry_end(
            registry, &change,
            review(registry, of->name, of->name_length, setting, decide, user, &change, err));
}

int registry_review(struct registry *registry, const char *name, registry_decide *decide,
                    void *user, struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    return registry_end(registry, &change,
                        review(registry, name, name != NULL ? strlen(name) : 0, NULL, decide, user,
                               &change, err));
}

struct registry_views {
    struct toolrack_tool *const *tools; /* sorted by name */
    size_t count;
};

static void take_setting(struct registry_views *views, const struct registry_setting *setting) {
    setting_apply(setting, views->tools, views->count);
}

int registry_read_settings(struct registry *registry, struct toolrack_tool *const *tools,
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
    const struct snapshot *old = registry_current(registry);
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
    int code = registry_read_settings(registry, change->tools, change->count, err);
    if (code < 0) {
        return code;
    }
    return publish_views(registry, change, 0, old->count, decide, user, err);
}

int registry_reread(struct registry *registry, registry_decide *decide, void *user,
                    struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    return registry_end(registry, &change, reread(registry, decide, user, &change, err));
}
