#include "life/keep.h"

#include <string.h>

#include "base/semver.h"
#include "life/content.h"
#include "life/generation.h"

bool keep_fits(const char *plugin_id, const char *version, const char *now_plugin_id,
               const char *now_version) {
    return strcmp(plugin_id, now_plugin_id) == 0 && semver_compare(version, now_version) != 0;
}

size_t keep_select(const struct store_generation *rows, size_t count, const char *plugin_id,
                   const char *version, uint32_t keep, size_t ret_chosen[CONFIG_KEEP_MAX]) {
    size_t chosen = 0;
    for (size_t i = 0; i < count && chosen < keep && chosen < CONFIG_KEEP_MAX; i++) {
        const struct store_generation *row = &rows[i];
        bool fits = content_is_good(row) && row->plugin != NULL && semver_valid(row->version) &&
                    keep_fits(row->plugin, row->version, plugin_id, version);
        for (size_t k = 0; fits && k < chosen; k++) {
            fits = semver_compare(row->version, rows[ret_chosen[k]].version) != 0;
        }
        if (fits) {
            ret_chosen[chosen++] = i;
        }
    }
    return chosen;
}

/* ------------------------------------------------------------- what is needed */

/* Contents that are needed, in several ranks: what comes first is more important. */
enum rank { RANK_WORKED, RANK_LAST, RANK_ROLLBACK, RANK_BEFORE, RANK_KEPT, RANK_FURTHER, RANKS };

struct needed {
    const struct life_options *options;
    const struct content_history *history;
    enum rank rank; /* the one that is collected now */
    uint8_t (*contents)[STAGE_HASH_SIZE];
    size_t count;
    size_t room;
};

static void need(struct needed *needed, const uint8_t *sha256) {
    if (needed->count < needed->room) {
        memcpy(needed->contents[needed->count++], sha256, STAGE_HASH_SIZE);
    }
}

/* The rank of a good content, by how many are newer. */
static enum rank rank_of(size_t newer) {
    return newer == 0 ? RANK_LAST : newer == 1 ? RANK_BEFORE : RANK_FURTHER;
}

/* Whether a row has another content than those that were counted before it. */
static bool is_other(const struct store_generation *rows, size_t at) {
    for (size_t i = 0; i < at; i++) {
        if (rows[i].rule == NULL && memcmp(rows[i].sha256, rows[at].sha256, STAGE_HASH_SIZE) == 0) {
            return false;
        }
    }
    return true;
}

static void need_of_file(struct needed *needed, const struct store_generation *rows, size_t count) {
    size_t chosen[CONFIG_KEEP_MAX];
    const struct store_generation *last = NULL;
    size_t newer = 0;
    for (size_t i = 0; needed->rank == RANK_WORKED && i < count; i++) {
        if (rows[i].rule == NULL && rows[i].has_worked) {
            need(needed, rows[i].sha256);
            return;
        }
    }
    for (size_t i = 0; i < count && newer < KEEP_CONTENTS; i++) {
        if (rows[i].rule != NULL || !is_other(rows, i)) {
            continue;
        }
        if (needed->rank == rank_of(newer)) {
            need(needed, rows[i].sha256);
        }
        last = last != NULL ? last : &rows[i];
        newer++;
    }
    if (needed->rank == RANK_KEPT && last != NULL && last->plugin != NULL) {
        struct config_policy policy;
        config_policy(needed->options->config, last->plugin, &policy);
        size_t kept = keep_select(rows, count, last->plugin, last->version, policy.keep, chosen);
        for (size_t i = 0; i < kept; i++) {
            need(needed, rows[chosen[i]].sha256);
        }
    }
}

static void need_of_rollback(void *user, const struct store_rollback *rollback) {
    need(user, rollback->use_sha256);
}

static void count_rollback(void *user, const struct store_rollback *rollback) {
    (void)rollback;
    (*(size_t *)user)++;
}

bool keep_needed(const struct life_options *options, struct arena *arena, struct stage_needs *ret) {
    CLEANUP(content_history_finish) struct content_history history;
    struct toolrack_error unheard;
    size_t rollbacks = 0;
    if (content_read_history(options, NULL, &history, &unheard) < 0 ||
        store_rollback_read(options->store, count_rollback, &rollbacks, &unheard) < 0) {
        return false;
    }
    struct needed needed = {.options = options, .room = 4 * history.count + rollbacks};
    needed.contents = arena_alloc(arena, (needed.room + 1) * sizeof *needed.contents);
    if (needed.contents == NULL) {
        return false;
    }
    for (needed.rank = RANK_WORKED; needed.rank < RANKS; needed.rank++) {
        for (size_t first = 0, count; first < history.count; first += count) {
            count = content_history_of_file(&history, first);
            need_of_file(&needed, &history.rows[first], count);
        }
        if (needed.rank == RANK_ROLLBACK &&
            store_rollback_read(options->store, need_of_rollback, &needed, &unheard) < 0) {
            return false;
        }
    }
    ret->contents = (const uint8_t(*)[STAGE_HASH_SIZE])needed.contents;
    ret->content_count = needed.count;
    return true;
}

/* --------------------------------------------------------------------- update */

static bool fits_beside(const struct plugin *earlier, const struct plugin *now) {
    const struct tr_plugin *about = earlier->desc->plugin;
    return strcmp(earlier->origin, now->origin) == 0 &&
           keep_fits(about->id, about->version, now->desc->plugin->id, now->desc->plugin->version);
}

void keep_choose(struct generations *generations, const struct plugin_file *file,
                 const struct plugin *old, const struct plugin *new, bool is_going_back,
                 struct keep_choice *ret) {
    uint32_t room = new != NULL ? generation_of(new)->policy.keep : 0;
    *ret = (struct keep_choice){0};
    /* What was never copied cannot be called any more. */
    ret->keeps = room > 0 && old != NULL && !is_going_back && atomic_load(&old->staged) &&
                 fits_beside(old, new);
    room -= ret->keeps;
    struct plugin *kept;
    for (size_t at = 0; ret->dropped_count < ARRAY_LENGTH(ret->dropped) &&
                        (kept = generations_hold_kept(generations, file, at)) != NULL;
         at++) {
        if (room > 0 && fits_beside(kept, new) && (!ret->keeps || fits_beside(kept, old))) {
            room--;
            plugin_unref(kept);
        } else {
            ret->dropped[ret->dropped_count++] = kept;
        }
    }
}

void keep_choice_finish(struct keep_choice *choice) {
    for (size_t i = 0; i < choice->dropped_count; i++) {
        plugin_unref(choice->dropped[i]);
    }
    choice->dropped_count = 0;
}
