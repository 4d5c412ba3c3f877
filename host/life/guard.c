#include "life/guard.h"

#include <string.h>

#include "base/cleanup.h"
#include "life/guard-parts.h"
#include "life/guard-way.h"

static void drop_what_is_hidden(const struct guard_list *hidden, struct guard_list *list) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool is_inside = false;
        for (size_t j = 0; j < hidden->count && !is_inside; j++) {
            const char *below = guard_below(list->paths[i], hidden->paths[j]);
            is_inside = below != NULL && (list != hidden || below[0] != '\0');
        }
        if (!is_inside) {
            list->paths[count++] = list->paths[i];
        }
    }
    list->count = count;
}

void guard_finish(const struct guard *guard, struct sandbox_policy *policy) {
    struct guard_list hidden = guard->hidden;
    struct guard_list frozen = guard->frozen;
    struct guard_list kept = guard->kept;
    drop_what_is_hidden(&hidden, &hidden);
    drop_what_is_hidden(&hidden, &frozen);
    drop_what_is_hidden(&hidden, &kept);
    policy->hidden_paths = hidden.paths;
    policy->hidden_path_count = hidden.count;
    policy->frozen_paths = frozen.paths;
    policy->frozen_path_count = frozen.count;
    policy->kept_paths = kept.paths;
    policy->kept_path_count = kept.count;
}

/* A refused grant adds nothing. */
struct saved {
    struct guard_list list;
    const char *paths[SANDBOX_PATHS_MAX];
};

static void save(const struct guard_list *list, struct saved *ret) {
    ret->list = *list;
    if (list->count > 0) {
        memcpy(ret->paths, list->paths, list->count * sizeof *list->paths);
    }
}

static void restore(struct guard_list *list, const struct saved *saved) {
    list->count = saved->list.count;
    if (list->count > 0) {
        memcpy(list->paths, saved->paths, list->count * sizeof *list->paths);
    }
}

static void check(struct grant *grant) {
    guard_check_kernel(grant);
    if (guard_goes_on(grant)) {
        guard_check_folders(grant);
    }
    if (grant->writes && guard_goes_on(grant)) {
        guard_check_programs(grant);
    }
    if (grant->guard->is_full && guard_goes_on(grant)) {
        guard_refuse(grant,
                     "%s contains more of what is the host's than the %u places that a sandbox can "
                     "protect; allow narrower paths",
                     grant->path, SANDBOX_PATHS_MAX);
    }
}

int guard_grant(struct guard *guard, const char *path, bool writes, const char **ret_refusal,
                struct toolrack_error *err) {
    CLEANUP(arena_finish) struct arena scratch;
    arena_init(&scratch, NULL, 0);
    struct grant grant = {.guard = guard, .path = path, .writes = writes};
    struct saved hidden;
    struct saved frozen;
    struct saved kept;
    *ret_refusal = NULL;
    if (guard->places == NULL) {
        return 0;
    }
    grant.mounts = guard_mounts_read(&scratch);
    if (grant.mounts == NULL) {
        return error_oom(err);
    }
    save(&guard->hidden, &hidden);
    save(&guard->frozen, &frozen);
    save(&guard->kept, &kept);
    check(&grant);
    if (grant.failed) {
        return error_oom(err);
    }
    if (grant.refusal != NULL) {
        restore(&guard->hidden, &hidden);
        restore(&guard->frozen, &frozen);
        restore(&guard->kept, &kept);
        guard->is_full = false;
    }
    *ret_refusal = grant.refusal;
    return 0;
}

/* ------------------------------------------------------------------- stage */

static bool copy_list(struct guard *guard, const char *const *paths, size_t count,
                      struct guard_list *ret) {
    bool is_copied = true;
    for (size_t i = 0; i < count; i++) {
        is_copied = is_copied && guard_add(guard, ret, paths[i]);
    }
    return is_copied;
}

int guard_hide_also(struct arena *arena, const char *folder, struct sandbox_policy *policy,
                    struct toolrack_error *err) {
    const char *const *const lists[] = {policy->read_paths, policy->write_paths};
    const size_t counts[] = {policy->read_path_count, policy->write_path_count};
    struct guard guard = {.arena = arena};
    bool is_copied =
            copy_list(&guard, policy->hidden_paths, policy->hidden_path_count, &guard.hidden) &&
            copy_list(&guard, policy->frozen_paths, policy->frozen_path_count, &guard.frozen) &&
            copy_list(&guard, policy->kept_paths, policy->kept_path_count, &guard.kept);
    bool is_granted = false;
    for (size_t i = 0; is_copied && i < ARRAY_LENGTH(lists); i++) {
        for (size_t j = 0; is_copied && j < counts[i]; j++) {
            const char *below = guard_below(folder, lists[i][j]);
            if (below != NULL) {
                is_granted = true;
                is_copied = guard_add(&guard, &guard.hidden, folder) &&
                            (i == 0 || guard_keep_between(&guard, lists[i][j], folder));
            }
        }
    }
    if (!is_copied) {
        return error_oom(err);
    }
    if (guard.is_full) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "what is granted contains more of what is the host's than the %u places "
                         "that a sandbox can protect; allow narrower paths",
                         SANDBOX_PATHS_MAX);
    }
    if (is_granted && !guard_can_mount(&guard)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "what is granted contains %s, where the copies of plugins are, and this "
                         "system has no mount namespace that could hide it; use a state folder, or "
                         "allow narrower paths",
                         folder);
    }
    if (is_granted) {
        guard_finish(&guard, policy);
    }
    return 0;
}

/* ------------------------------------------------------------------- later */

/* What would have to be taken out of a grant and is not, the plugin can change. */
static bool is_changed(const struct guard *guard, const struct guard *before) {
    return guard->frozen.count != before->frozen.count || guard->kept.count != before->kept.count ||
           guard->is_full;
}

int guard_judge_plugin(struct arena *arena, const struct sandbox_policy *policy,
                       const char *plugin_path, const char **ret_reason,
                       struct toolrack_error *err) {
    CLEANUP(arena_finish) struct arena scratch;
    arena_init(&scratch, NULL, 0);
    struct guard guard = {.arena = arena, .is_advice = true};
    bool is_copied =
            copy_list(&guard, policy->hidden_paths, policy->hidden_path_count, &guard.hidden) &&
            copy_list(&guard, policy->frozen_paths, policy->frozen_path_count, &guard.frozen) &&
            copy_list(&guard, policy->kept_paths, policy->kept_path_count, &guard.kept);
    const struct guard before = guard;
    *ret_reason = NULL;
    is_copied =
            is_copied && (policy->write_path_count == 0 || guard_read_plugin(&guard, plugin_path));
    const struct guard_mounts *mounts =
            is_copied && policy->write_path_count > 0 ? guard_mounts_read(&scratch) : NULL;
    is_copied = is_copied && (policy->write_path_count == 0 || mounts != NULL);
    for (size_t i = 0; is_copied && *ret_reason == NULL && i < policy->write_path_count; i++) {
        struct grant grant = {
                .guard = &guard, .mounts = mounts, .path = policy->write_paths[i], .writes = true};
        guard_check_plugins(&grant);
        is_copied = !grant.failed;
        if (grant.refusal != NULL || is_changed(&guard, &before)) {
            *ret_reason = grant.refusal != NULL
                                  ? grant.refusal
                                  : arena_printf(arena,
                                                 "it, or a library that it brings, is in %s, which "
                                                 "that plugin may write",
                                                 grant.path);
            is_copied = is_copied && *ret_reason != NULL;
        }
    }
    return is_copied ? 0 : error_oom(err);
}
