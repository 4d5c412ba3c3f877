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

static bool is_changed(const struct change *change, uint64_t held) {
    bool changed =
            change->notice_count > 0 || sum_held(change->before, change->before_count) != held;
    for (size_t i = 0; !changed && i < change->count; i++) {
        changed = !is_granted_alike(change->before[i], change->tools[i]);
    }
    return changed;
}

/* Decide about the new views of the change, one for each tool before it and in the same order. The
 * next snapshot is made first, so that nothing can fail after a decision was stored; it is
 * published only if a view differs, or which are held. */
static int publish_views(struct registry *registry, struct change *change, registry_decide *decide,
                         void *user, struct toolrack_error *err) {
    for (size_t i = 0; i < change->count; i++) {
        if (!is_set_alike(change->before[i], change->tools[i])) {
            change_note(change, TOOLRACK_EVENT_CHANGED, change->tools[i]);
        }
    }
    uint64_t held = sum_held(change->before, change->before_count);
    int code = registry_make_next(change, err);
    if (code == 0) {
        code = decide(user, change->tools, change->count, err);
    }
    for (size_t i = 0; code == 0 && i < change->count; i++) {
        if (change->before[i]->enabled && !change->tools[i]->enabled) {
            atomic_fetch_add(&change->tools[i]->reg->disabled, 1);
        }
    }
    if (code == 0 && is_changed(change, held)) {
        registry_publish_next(registry, change);
        registry_note_shared(registry, change);
    }
    return code;
}

/* Begin a change of the views of one name, or of all tools (NULL). */
static bool begin_views(struct registry *registry, const char *name, size_t length,
                        struct change *change) {
    const struct snapshot *old = registry_current(registry);
    if (!change_begin(change, old, registry->uid_last, name != NULL ? 1 : old->name_count)) {
        return false;
    }
    if (name != NULL) {
        change_concern(change, name, length);
    }
    for (size_t i = 0; name == NULL && i < (size_t)1 << old->name_bits; i++) {
        for (uint32_t k = 0; k < old->names[i]->count; k++) {
            change->groups[change->group_count++] = &old->names[i]->groups[k];
        }
    }
    return change_open(change, 0);
}

/* Repeat the decision about a name, or all tools (NULL), and apply a setting unless it is NULL. */
static int review(struct registry *registry, const char *name, size_t length,
                  const struct registry_setting *setting, registry_decide *decide, void *user,
                  struct change *change, struct toolrack_error *err) {
    if (!begin_views(registry, name, length, change)) {
        return error_oom(err);
    }
    if (change->before_count == 0) {
        return decide(user, NULL, 0, err);
    }
    for (size_t i = 0; i < change->before_count; i++) {
        struct toolrack_tool *view = tool_copy(change->before[i]);
        if (!change_take(change, view)) {
            return error_oom(err);
        }
        if (setting == NULL) {
            tool_set_grant(view, 0, "");
        }
    }
    if (setting != NULL) {
        setting_apply(setting, change->tools, change->count);
    }
    return publish_views(registry, change, decide, user, err);
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

/* All views are made anew, as if their tools were just registered. */
static int reread(struct registry *registry, registry_decide *decide, void *user,
                  struct change *change, struct toolrack_error *err) {
    if (!begin_views(registry, NULL, 0, change)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < change->before_count; i++) {
        if (!change_take(change, tool_create(change->before[i]->reg))) {
            return error_oom(err);
        }
    }
    int code = registry_read_settings(registry, change->tools, change->count, err);
    return code < 0 ? code : publish_views(registry, change, decide, user, err);
}

int registry_reread(struct registry *registry, registry_decide *decide, void *user,
                    struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    return registry_end(registry, &change, reread(registry, decide, user, &change, err));
}
