#include "life/generation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/loading.h"
#include "worker/crew.h"

/* Invariants:
 *
 *  (1) A generation is in the list from generation_create() to generation_destroy().
 *  (2) `plugin` is NULL when the last reference to the plugin is gone, or the host has ended; the
 *      `serving` generation of a file has a plugin.
 *  (3) `image_path` and `sha256` are set once. No two generations that run in this process have the
 *      same path.
 *  (4) A thread that holds this lock may take the lock of the files, and no other lock of the room.
 */

void generations_init(struct generations *all) {
    lock_init(&all->lock);
}

void generations_finish(struct generations *all) {
    lock_finish(&all->lock);
}

struct generation *generation_of(const struct plugin *plugin) {
    return atomic_load(&plugin->services) != NULL ? plugin->context : NULL;
}

/* ------------------------------------------------------------------------ released */

void generation_destroy(struct generation *generation) {
    struct generations *all = generation->all;
    lock_take(&all->lock);
    assert(generation->plugin == NULL && generation->file->serving != generation); /* (2) */
    *(generation->prev != NULL ? &generation->prev->next : &all->first) = generation->next;
    if (generation->next != NULL) {
        generation->next->prev = generation->prev;
    }
    lock_release(&all->lock);
    descriptor_unref(generation->desc);
    if (generation->foreign != NULL) {
        files_destroy_apart(generation->file);
    }
    arena_finish(&generation->arena);
    (void)pthread_mutex_destroy(&generation->stage_lock);
    free(generation->image_path);
    free(generation);
}

/* ------------------------------------------------------------------ what it has */

/* Caller holds the lock. */
static struct plugin *hold(struct generation *generation) {
    LOCK_ASSERT_HELD(&generation->all->lock);
    struct plugin *plugin = generation->plugin;
    return plugin != NULL && plugin_ref_unless_gone(plugin) ? plugin : NULL;
}

struct plugin *generation_hold(struct generation *generation) {
    LOCK_SCOPE(&generation->all->lock);
    return hold(generation);
}

/* Whether an image in this process has the path; each worker is a process of its own. Caller holds
 * the lock. */
static bool is_path_taken(struct generations *all, const struct plugin *plugin, const char *path) {
    LOCK_ASSERT_HELD(&all->lock);
    if (plugin->isolated) {
        return false;
    }
    for (const struct generation *at = all->first; at != NULL; at = at->next) {
        if (at != plugin->context && !at->is_isolated && at->image_path != NULL &&
            strcmp(at->image_path, path) == 0) {
            return true;
        }
    }
    return image_is_mapped(path);
}

int generation_set_image(struct plugin *plugin, const struct staged *staged,
                         struct toolrack_error *err) {
    struct generation *generation = plugin->context;
    struct generations *all = generation->all;
    CLEANUP(freep) char *own_path = strdup(staged->path);
    CLEANUP(freep) char *path = strdup(staged->path);
    if (own_path == NULL || path == NULL) {
        return error_oom(err);
    }
    lock_take(&all->lock);
    bool is_taken = is_path_taken(all, plugin, path);
    if (!is_taken) {
        generation->image_path = STEAL(own_path);
        memcpy(generation->sha256, staged->sha256, sizeof generation->sha256);
    }
    lock_release(&all->lock);
    if (is_taken) {
        return TOOLRACK_E_EXISTS;
    }
    plugin->image_path = STEAL(path);
    plugin->image_identity = staged->identity;
    memcpy(plugin->sha256, staged->sha256, sizeof plugin->sha256);
    atomic_store(&plugin->staged, true);
    return 0;
}

void generation_set_crew(struct generation *generation, struct crew *crew) {
    lock_take(&generation->all->lock);
    generation->crew = crew;
    lock_release(&generation->all->lock);
    atomic_store(&generation->plugin->crew, crew);
}

struct crew *generation_part(struct generation *generation) {
    LOCK_SCOPE(&generation->all->lock);
    generation->plugin = NULL;
    if (generation->file->serving == generation) {
        generation->file->serving = NULL;
    }
    return generation->crew;
}

void generation_note_loading(struct plugin *plugin, bool begins) {
    struct generation *generation = plugin->context;
    const struct life_options *options = generation->all->options;
    struct toolrack_error err;
    int code = 0;
    if (begins) {
        code = store_loading_begin(options->store, generation->file->key, clock_wall_s(),
                                   &generation->marker, &err);
        generation->marked = code == 0;
    } else if (generation->marked) {
        generation->marked = false;
        code = store_loading_end(options->store, generation->marker, &err);
    }
    if (code < 0) {
        log_line(options->log, LOG_WARNING, "store",
                 "a crash while '%s' is loaded may go unnoticed: %s", plugin->desc->plugin->id,
                 err.message);
    }
}

/* ------------------------------------------------------------------ which serves */

struct plugin *generations_serving(struct generations *all, struct plugin_file *file) {
    LOCK_SCOPE(&all->lock);
    return file->serving != NULL ? hold(file->serving) : NULL;
}

void generations_serve(struct generations *all, struct plugin_file *file, struct plugin *plugin) {
    struct generation *new = plugin != NULL ? generation_of(plugin) : NULL;
    LOCK_SCOPE(&all->lock);
    const struct generation *old = file->serving;
    bool had_another = old != NULL && old->image_path != NULL &&
                       (new == NULL || memcmp(old->sha256, new->sha256, sizeof old->sha256) != 0);
    char *path = had_another ? strdup(old->image_path) : NULL;
    if (path != NULL) {
        free(file->previous_path);
        file->previous_path = path;
    }
    file->serving = new;
}

struct plugin *generations_hold_kept(struct generations *all, const struct plugin_file *file,
                                     size_t index) {
    LOCK_SCOPE(&all->lock);
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        bool fits = at->file == file && file->serving != at && at->plugin != NULL &&
                    atomic_load(&at->plugin->kept);
        struct plugin *found = fits && index == 0 ? hold(at) : NULL;
        if (found != NULL) {
            return found;
        }
        index -= fits && index != 0;
    }
    return NULL;
}

struct plugin *generations_hold(struct generations *all, const char *plugin_id, size_t index) {
    LOCK_SCOPE(&all->lock);
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        if (at->plugin == NULL || strcmp(at->desc->plugin->id, plugin_id) != 0) {
            continue;
        }
        struct plugin *found = index == 0 ? hold(at) : NULL;
        if (found != NULL) {
            return found;
        }
        index -= index != 0;
    }
    return NULL;
}

struct plugin *generations_hold_claimant(struct generations *all, const char *plugin_id,
                                         size_t index) {
    LOCK_SCOPE(&all->lock);
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        if (at->file->serving != at || at->foreign != NULL ||
            strcmp(at->desc->plugin->id, plugin_id) != 0) {
            continue;
        }
        struct plugin *found = index == 0 ? hold(at) : NULL;
        if (found != NULL) {
            return found;
        }
        index -= index != 0;
    }
    return NULL;
}

struct plugin *generations_hold_writer(struct generations *all, size_t index) {
    LOCK_SCOPE(&all->lock);
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        bool fits =
                at->plugin != NULL && at->is_isolated && at->policy.sandbox.write_path_count > 0;
        struct plugin *found = fits && index == 0 ? hold(at) : NULL;
        if (found != NULL) {
            return found;
        }
        index -= fits && index != 0;
    }
    return NULL;
}

struct plugin **generations_hold_troubled(struct generations *all, size_t *ret_count) {
    LOCK_SCOPE(&all->lock);
    size_t most = 0;
    *ret_count = 0;
    for (const struct generation *at = all->first; at != NULL; at = at->next) {
        most++;
    }
    struct plugin **found = calloc(most + 1, sizeof(struct plugin *));
    for (struct generation *at = all->first; found != NULL && at != NULL; at = at->next) {
        int state = at->plugin != NULL ? atomic_load(&at->plugin->state) : TOOLRACK_STATE_LISTED;
        if (state != TOOLRACK_STATE_LISTED && state != TOOLRACK_STATE_LOADED &&
            (found[*ret_count] = hold(at)) != NULL) {
            ++*ret_count;
        }
    }
    return found;
}

struct plugin *generations_hold_serving(struct generations *all, const char *plugin_id) {
    LOCK_SCOPE(&all->lock);
    struct plugin *kept = NULL;
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        bool fits = at->file->serving == at && strcmp(at->desc->plugin->id, plugin_id) == 0 &&
                    (kept == NULL || !atomic_load(&at->plugin->kept));
        struct plugin *found = fits ? hold(at) : NULL;
        if (found != NULL && !atomic_load(&found->kept)) {
            plugin_unref(kept);
            return found;
        }
        kept = found != NULL ? found : kept;
    }
    return kept;
}

const char *const *generations_list_copies(struct generations *all, struct plugin_files *files,
                                           struct arena *arena, size_t *ret_count) {
    LOCK_SCOPE(&all->lock);
    size_t most = 1;
    for (const struct generation *at = all->first; at != NULL; at = at->next) {
        most++;
    }
    for (const struct plugin_file *at = NULL; (at = files_next(files, at)) != NULL;) {
        most += at->previous_path != NULL;
    }
    const char **paths = arena_alloc(arena, most * sizeof *paths);
    size_t count = 0;
    bool complete = paths != NULL;
    for (const struct generation *at = all->first; complete && at != NULL; at = at->next) {
        if (at->image_path != NULL) {
            paths[count] = arena_copy(arena, at->image_path, strlen(at->image_path));
            complete = paths[count++] != NULL;
        }
    }
    for (const struct plugin_file *at = NULL; complete && (at = files_next(files, at)) != NULL;) {
        if (at->previous_path != NULL) {
            paths[count] = arena_copy(arena, at->previous_path, strlen(at->previous_path));
            complete = paths[count++] != NULL;
        }
    }
    *ret_count = count;
    return complete ? paths : NULL;
}

/* ------------------------------------------------------------------------ the end */

struct generation *generations_detach(struct generations *all, struct plugin **ret_plugin) {
    LOCK_SCOPE(&all->lock);
    struct generation *generation = all->first;
    struct plugin *plugin = NULL;
    /* Passed over: its plugin was released, and its workers are ending; or the thread that has just
     * dropped the last reference, as the supervisor may, releases it. */
    while (generation != NULL && (plugin = hold(generation)) == NULL) {
        generation = generation->next;
    }
    if (generation != NULL) {
        atomic_store(&plugin->services, NULL);
        atomic_store(&plugin->crew, NULL);
        generation->plugin = NULL;
        if (generation->file->serving == generation) {
            generation->file->serving = NULL;
        }
    }
    *ret_plugin = plugin;
    return generation;
}

void generations_check(struct generations *all) {
    LOCK_SCOPE(&all->lock);
    for (const struct generation *at = all->first; at != NULL; at = at->next) {
        assert(at->next == NULL || at->next->prev == at); /* (1) */
        assert(at->all == all && at->number <= at->file->newest);
        assert(at->file->serving != at || at->plugin != NULL); /* (2) */
        assert(at->plugin == NULL || at->plugin->context == at);
        for (const struct generation *other = at->next; other != NULL; other = other->next) {
            bool may_share = at->is_isolated || other->is_isolated || at->image_path == NULL ||
                             other->image_path == NULL;
            assert(may_share || strcmp(at->image_path, other->image_path) != 0); /* (3) */
            assert(at->file != other->file || at->number != other->number);
            (void)may_share;
        }
    }
}
