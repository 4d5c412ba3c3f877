#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "registry/duplicate.h"
#include "registry/owner.h"
#include "registry/rcu.h"
#include "registry/registry-parts.h"
#include "registry/succession.h"

#if SANITIZER_THREAD
char rcu_tsan_readers;
#endif

/* ------------------------------------------------------------------- life */

struct registry *registry_create(const struct registry_options *options) {
    struct registry *registry = calloc(1, sizeof *registry);
    struct snapshot *empty = snapshot_create();
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

/* ---------------------------------------------------------------- changes */

void registry_begin(struct registry *registry) {
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    lock_take(&registry->writer);
}

int registry_end(struct registry *registry, struct change *change, int code) {
    lock_release(&registry->writer);
    if (change->replaced != NULL && registry->options.published != NULL) {
        registry->options.published(registry->options.user);
    }
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
    const struct snapshot *snapshot = registry_current(registry);
    const struct toolrack_tool *tool;
    snapshot_check(snapshot);
    for (struct snapshot_place at = {0}; (tool = snapshot_next(snapshot, &at)) != NULL;) {
        assert(tool->reg->uid > 0 && tool->reg->uid <= registry->uid_last);
    }
#endif
}

int registry_make_next(struct change *change, struct toolrack_error *err) {
    return snapshot_step_make(&change->step, change->old, change->before, change->before_count,
                              change->tools, change->count)
                   ? 0
                   : error_oom(err);
}

void registry_publish_next(struct registry *registry, struct change *change) {
    LOCK_ASSERT_HELD(&registry->writer);
    snapshot_step_number(&change->step, ++registry->published);
    change->replaced =
            atomic_exchange_explicit(&registry->current, change->step.next, memory_order_acq_rel);
    rcu_synchronize();
    registry_check(registry);
}

int registry_publish(struct registry *registry, struct change *change, struct toolrack_error *err) {
    int code = registry_make_next(change, err);
    if (code == 0) {
        registry_publish_next(registry, change);
    }
    return code;
}

int registry_decide_new(struct registry *registry, struct change *change, size_t first,
                        struct toolrack_error *err) {
    const struct registry_options *options = &registry->options;
    size_t count = change->count - first;
    if (count == 0) {
        return 0; /* the others are sorted */
    }
    change_sort(change, first);
    int code = registry_read_settings(registry, &change->tools[first], count, err);
    if (code == 0 && options->registering != NULL) {
        code = options->registering(options->user, &change->tools[first], count, err);
    }
    if (code == 0 && first > 0) {
        change_sort(change, 0);
    }
    return code;
}

/* A kept version came before, and was compared when it was new. */
static void compare(const struct registry *registry, struct registration *reg,
                    const struct registration *older) {
    const struct registry_options *options = &registry->options;
    if (!succession_note(reg, older, options->log) || atomic_load(&reg->plugin->kept)) {
        return;
    }
    bool is_news = options->incompatible == NULL || options->incompatible(options->user, reg);
    succession_tell(reg, is_news ? LOG_WARNING : LOG_INFO, options->log);
}

void registry_compare_versions(struct registry *registry, const struct change *change) {
    for (size_t i = 0; i < change->count; i++) {
        struct registration *reg = change->tools[i]->reg;
        const struct registration *beside =
                succession_find(&change->tools[i], change->count - i, reg);
        if (reg->succession != NULL) {
            continue;
        }
        if (reg->uid <= change->uid_old) { /* what is kept of its file comes after it at a start */
            bool is_kept_since = beside != NULL && beside->uid > change->uid_old &&
                                 atomic_load(&beside->plugin->kept);
            compare(registry, reg, is_kept_since ? beside : NULL);
            continue;
        }
        size_t first = change_find_name(change->before, change->before_count, reg->spec->tool->name,
                                        reg->name_length);
        const struct registration *before =
                succession_find(&change->before[first], change->before_count - first, reg);
        compare(registry, reg, succession_later(beside, before));
    }
}

int registry_resolve_names(struct registry *registry, struct change *change,
                           struct toolrack_error *err) {
    const struct registry_options *options = &registry->options;
    int code = owners_resolve(change, &options->owners, &registry->refusals, err);
    if (code == 0) {
        duplicates_resolve(change, options->duplicates == REGISTRY_REPLACE, &registry->refusals,
                           &options->owners);
        registry_note_shared(registry, change);
    }
    return code;
}

void registry_note_shared(struct registry *registry, const struct change *change) {
    owners_note_shared(change, &registry->options.owners, &registry->refusals);
}

/* -------------------------------------------------------------------- add */

/* A view that is in no snapshot yet. NULL: out of memory. */
static struct toolrack_tool *create_tool(struct plugin *plugin, uint32_t index, uint64_t uid) {
    CLEANUP(registration_unrefp) struct registration *reg = registration_create(plugin, index, uid);
    return reg != NULL ? tool_create(reg) : NULL;
}

bool registry_add_tool(struct registry *registry, struct plugin *plugin, uint32_t index,
                       struct change *change) {
    return change_take(change, create_tool(plugin, index, ++registry->uid_last));
}

bool registry_add_plugin(struct registry *registry, struct plugin *plugin, struct change *change) {
    bool added = true;
    for (uint32_t i = 0; added && i < plugin->desc->tool_count; i++) {
        added = registry_add_tool(registry, plugin, i, change);
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
        if (registry_read_settings(registry, &tool, 1, &unheard) < 0) {
            tool->enabled = false;
        }
    }
    return tool;
}

int registry_begin_change(struct registry *registry, struct change *change, size_t tools,
                          size_t names, struct toolrack_error *err) {
    if (tools > REGISTRY_TOOLS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the registry holds at most %u tools; remove some plugins",
                         REGISTRY_TOOLS_MAX);
    }
    return change_begin(change, registry_current(registry), registry->uid_last, names)
                   ? 0
                   : error_oom(err);
}

void registry_concern_plugin(struct change *change, const struct plugin *plugin) {
    for (uint32_t i = 0; plugin != NULL && i < plugin->desc->tool_count; i++) {
        const char *name = plugin->desc->tools[i].tool->name;
        change_concern(change, name, strlen(name));
    }
}

static int add(struct registry *registry, struct plugin *const *plugins, size_t count,
               bool all_or_none, struct change *change, struct toolrack_error *err) {
    bool replaces = registry->options.duplicates == REGISTRY_REPLACE;
    size_t more = 0;
    for (size_t i = 0; i < count; i++) {
        more += plugins[i]->desc->tool_count;
    }
    int code = registry_begin_change(registry, change, registry_current(registry)->count + more,
                                     more, err);
    if (code < 0) {
        return code;
    }
    for (size_t i = 0; i < count; i++) {
        registry_concern_plugin(change, plugins[i]);
    }
    if (!change_open(change, more)) {
        return error_oom(err);
    }
    change_add_all(change);
    for (size_t i = 0; i < count; i++) {
        if (!registry_add_plugin(registry, plugins[i], change)) {
            return error_oom(err);
        }
    }
    code = registry_decide_new(registry, change, change->before_count, err);
    if (code == 0 && all_or_none) {
        code = owners_check(change, &registry->options.owners, err);
    }
    if (code == 0 && all_or_none && !replaces) {
        code = duplicates_check(change, err);
    }
    if (code == 0) {
        code = registry_resolve_names(registry, change, err);
    }
    if (code < 0) {
        return code;
    }
    registry_compare_versions(registry, change);
    for (size_t i = 0; i < change->count; i++) {
        if (change->tools[i]->reg->uid > change->uid_old) {
            change_note(change, TOOLRACK_EVENT_ADDED, change->tools[i]);
        }
    }
    return registry_publish(registry, change, err);
}

int registry_add(struct registry *registry, struct plugin *const *plugins, size_t count,
                 struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    return registry_end(registry, &change, add(registry, plugins, count, false, &change, err));
}

int registry_add_all(struct registry *registry, struct plugin *plugin, uint64_t *ret_uids,
                     struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    int code = add(registry, &plugin, 1, true, &change, err);
    for (uint32_t i = 0; code == 0 && ret_uids != NULL && i < plugin->desc->tool_count; i++) {
        ret_uids[i] = change.uid_old + 1 + i;
    }
    return registry_end(registry, &change, code);
}

/* ----------------------------------------------------------------- remove */

/* The tool with a number, or NULL. */
static struct toolrack_tool *find_uid(const struct snapshot *snapshot, uint64_t uid) {
    struct toolrack_tool *tool;
    for (struct snapshot_place at = {0}; (tool = snapshot_next(snapshot, &at)) != NULL;) {
        if (tool->reg->uid == uid) {
            return tool;
        }
    }
    return NULL;
}

/* Remove those tools of a name that a selector names, or the one with a number if it is NULL. */
static int remove_of_name(struct registry *registry, const char *name, size_t length,
                          const struct selector *selector, uint64_t uid, struct change *change,
                          struct toolrack_error *err) {
    if (!change_begin(change, registry_current(registry), registry->uid_last, 1)) {
        return error_oom(err);
    }
    change_concern(change, name, length);
    if (!change_open(change, 0)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < change->before_count; i++) {
        struct toolrack_tool *tool = change->before[i];
        if (selector == NULL ? tool->reg->uid == uid : setting_is_about(selector, tool)) {
            change_note(change, TOOLRACK_EVENT_REMOVED, tool);
        } else {
            change_add(change, tool);
        }
    }
    int code = change->notice_count > 0 ? registry_publish(registry, change, err)
                                        : TOOLRACK_E_NOT_FOUND;
    if (code == 0) {
        registry_note_shared(registry, change);
    }
    return code;
}

static int remove_uid(struct registry *registry, uint64_t uid, struct toolrack_error *err) {
    struct change change = {0};
    int code = TOOLRACK_E_NOT_FOUND;
    registry_begin(registry);
    const struct toolrack_tool *tool = find_uid(registry_current(registry), uid);
    if (tool != NULL) {
        code = remove_of_name(registry, toolrack_tool_name(tool), tool->reg->name_length, NULL, uid,
                              &change, err);
    }
    return registry_end(registry, &change, code);
}

static int remove_selected(struct registry *registry, const struct selector *selector,
                           struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    return registry_end(registry, &change,
                        remove_of_name(registry, selector->name, selector->name_length, selector, 0,
                                       &change, err));
}

static int no_uid(uint64_t uid, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_NOT_FOUND, "no tool is registered with the number %llu",
                     (unsigned long long)uid);
}

int registry_remove(struct registry *registry, uint64_t uid, struct toolrack_error *err) {
    int code = uid == 0 ? TOOLRACK_E_NOT_FOUND : remove_uid(registry, uid, err);
    return code != TOOLRACK_E_NOT_FOUND ? code : no_uid(uid, err);
}

int registry_remove_of_name(struct registry *registry, const char *name, uint64_t uid,
                            struct toolrack_error *err) {
    struct change change = {0};
    registry_begin(registry);
    int code = remove_of_name(registry, name, strlen(name), NULL, uid, &change, err);
    code = registry_end(registry, &change, code);
    return code != TOOLRACK_E_NOT_FOUND ? code : no_uid(uid, err);
}

int registry_set_returns(struct registry *registry, uint64_t uid, bool returns,
                         struct toolrack_error *err) {
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    LOCK_SCOPE(&registry->writer);
    struct toolrack_tool *tool = uid != 0 ? find_uid(registry_current(registry), uid) : NULL;
    if (tool == NULL) {
        return no_uid(uid, err);
    }
    if (!tool_is_of_app(tool)) {
        int code = error_set(err, TOOLRACK_E_INVALID,
                             "'%s' is not a tool of the app, which can promise to return only for "
                             "those that it registered; call it with TOOLRACK_NO_DEADLINE",
                             toolrack_tool_name(tool));
        error_set_tool(err, toolrack_tool_name(tool));
        return code;
    }
    atomic_store_explicit(&tool->reg->returns, returns, memory_order_relaxed);
    return 0;
}

int registry_remove_name(struct registry *registry, const char *selector,
                         struct toolrack_error *err) {
    const struct selector parsed = selector_parse(selector);
    int code = registry_check_exact(selector, err);
    if (code == 0) {
        code = remove_selected(registry, &parsed, err);
    }
    return code != TOOLRACK_E_NOT_FOUND ? code : registry_not_found(registry, selector, err);
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
