#include "api/retire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/thread.h"

/* Invariants:
 *
 *  (1) A generation is in the list of ends, or being unloaded, or in none: it is there once, and
 *      then its plugin is NULL.
 *  (2) No lock is held while code of a plugin runs: close() and the destructors of an image.
 *  (3) Notes are dropped by who has taken their file, and by nobody else: of generations that are
 *      gone the newest one is kept. */

void retire_init(struct retirement *retirement) {
    *retirement = (struct retirement){.end = &retirement->first};
    (void)pthread_cond_init(&retirement->work, NULL);
}

const char *retired_state_name(enum retired_state state) {
    switch (state) {
    case RETIRED_DRAINING: return "draining";
    case RETIRED_GONE: return "gone";
    case RETIRED_PENDING: return "pending";
    case RETIRED_RESIDENT: return "resident";
    }
    return "unknown";
}

/* -------------------------------------------------------------------- notes */

/* Caller holds the lock, as in what follows. */
static struct retired *find_note(const struct plugin_file *file, uint32_t generation) {
    struct retired *note = file->retired;
    while (note != NULL && note->generation != generation) {
        note = note->next;
    }
    return note;
}

static struct retired *add_note(struct plugin_file *file, uint32_t generation) {
    struct retired *note = calloc(1, sizeof *note);
    if (note != NULL) {
        note->generation = generation;
        note->next = file->retired;
        file->retired = note;
    }
    return note;
}

/* (3) */
static void drop_notes(struct plugin_file *file) {
    struct retired **at = &file->retired;
    bool is_newest = true;
    while (*at != NULL) {
        struct retired *note = *at;
        if (note->state == RETIRED_GONE && !is_newest) {
            *at = note->next;
            free(note->unload);
            free(note);
        } else {
            at = &note->next;
        }
        is_newest = false;
    }
}

void retire_note(struct toolrack *host, struct plugin *plugin) {
    (void)pthread_mutex_lock(&host->generations_lock);
    (void)add_note(generation_of(plugin)->file, plugin->generation);
    drop_notes(generation_of(plugin)->file);
    (void)pthread_mutex_unlock(&host->generations_lock);
}

static enum retired_state state_of(enum unload_verdict verdict) {
    switch (verdict) {
    case UNLOAD_GONE: return RETIRED_GONE;
    case UNLOAD_PENDING: return RETIRED_PENDING;
    case UNLOAD_RESIDENT: break;
    }
    return RETIRED_RESIDENT;
}

static void set_note(struct retired *note, const struct unload *unload) {
    note->state = state_of(unload->verdict);
    memcpy(note->cause, unload->cause, sizeof note->cause);
    if (note->state == RETIRED_PENDING && note->unload == NULL) {
        note->unload = malloc(sizeof *note->unload);
        if (note->unload != NULL) {
            *note->unload = *unload;
        }
    }
}

/* What is not gone is noted even of a generation that ended for another reason than a reload. */
static void note_end(struct toolrack *host, const struct generation *generation,
                     const struct unload *unload) {
    (void)pthread_mutex_lock(&host->generations_lock);
    struct plugin_file *file = generation->file;
    struct retired *note = find_note(file, generation->number);
    if (note == NULL && unload->verdict != UNLOAD_GONE) {
        note = add_note(file, generation->number);
    }
    if (note != NULL) {
        set_note(note, unload);
    }
    (void)pthread_cond_broadcast(&host->files.changed);
    (void)pthread_mutex_unlock(&host->generations_lock);
}

static void tell_end(const struct toolrack *host, const struct generation *generation,
                     const struct unload *unload) {
    char words[UNLOAD_CAUSE_MAX + 32];
    const char *state = retired_state_name(state_of(unload->verdict));
    (void)snprintf(words, sizeof words, "%s%s%s", state, unload->cause[0] != '\0' ? ": " : "",
                   unload->cause);
    host_event(host, TOOLRACK_EVENT_UNLOADED, generation->desc->plugin->id, words);
}

/* ------------------------------------------------------------------- the end */

static void end_one(struct toolrack *host, struct generation *generation, bool is_told) {
    bool was_up = generation->image != NULL || generation->crew != NULL;
    struct unload unload = image_unload(generation->image);
    note_end(host, generation, &unload);
    if (was_up && is_told) {
        tell_end(host, generation, &unload);
    }
    generation_destroy(generation);
}

/* Paths of the copies that are loaded or may be, in the arena; NULL when out of memory. Caller
 * holds the lock. */
static const char *const *list_in_use(struct toolrack *host, struct arena *arena,
                                      size_t *ret_count) {
    size_t most = host->files.count;
    size_t count = 0;
    for (const struct generation *at = host->generations; at != NULL; at = at->next) {
        most++;
    }
    const char **paths = arena_alloc(arena, (most + 1) * sizeof *paths);
    bool complete = paths != NULL;
    for (const struct generation *at = host->generations; complete && at != NULL; at = at->next) {
        if (at->image_path != NULL) {
            paths[count++] = arena_copy(arena, at->image_path, strlen(at->image_path));
            complete = paths[count - 1] != NULL;
        }
    }
    for (struct plugin_file *at = host->files.first; complete && at != NULL; at = at->next) {
        if (at->previous_path != NULL) {
            paths[count++] = arena_copy(arena, at->previous_path, strlen(at->previous_path));
            complete = paths[count - 1] != NULL;
        }
    }
    *ret_count = count;
    return complete ? paths : NULL;
}

/* Nobody makes or looks for a copy meanwhile, for what is found then may not be listed yet. */
static void collect(struct toolrack *host) {
    struct arena arena;
    size_t count = 0;
    arena_init(&arena, NULL, 0);
    (void)pthread_rwlock_wrlock(&host->stage_use);
    (void)pthread_mutex_lock(&host->generations_lock);
    const char *const *paths = list_in_use(host, &arena, &count);
    (void)pthread_mutex_unlock(&host->generations_lock);
    if (paths != NULL && host->stage != NULL) {
        (void)stage_collect(host->stage, paths, count);
    }
    (void)pthread_rwlock_unlock(&host->stage_use);
    arena_finish(&arena);
}

/* The next one to end; NULL when there is none, and *ret_collects says what else is to be done. */
static struct generation *next_end(struct retirement *retirement, bool *ret_collects) {
    struct generation *generation = retirement->first;
    *ret_collects = generation == NULL && retirement->collects;
    if (generation != NULL) {
        retirement->first = generation->next_end;
        retirement->end = retirement->first != NULL ? retirement->end : &retirement->first;
    }
    retirement->collects = retirement->collects && !*ret_collects;
    return generation;
}

static void *retire_main(void *argument) {
    struct toolrack *host = argument;
    struct retirement *retirement = &host->retirement;
    (void)pthread_mutex_lock(&host->generations_lock);
    for (;;) {
        bool collects;
        struct generation *generation = next_end(retirement, &collects);
        bool is_told = !retirement->stopping;
        if (generation == NULL && !collects) {
            if (retirement->stopping) {
                break;
            }
            (void)pthread_cond_wait(&retirement->work, &host->generations_lock);
            continue;
        }
        (void)pthread_mutex_unlock(&host->generations_lock);
        if (generation != NULL) {
            end_one(host, generation, is_told);
        } else {
            collect(host);
        }
        (void)pthread_mutex_lock(&host->generations_lock);
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return NULL;
}

/* Whether there is a thread that does it. Caller holds the lock. */
static bool have_thread(struct toolrack *host) {
    struct retirement *retirement = &host->retirement;
    if (!retirement->started && !retirement->stopping) {
        retirement->started = thread_start(&retirement->thread, retire_main, host) == 0;
    }
    return retirement->started && !retirement->stopping;
}

void retire_end(struct toolrack *host, struct generation *generation, struct image *image) {
    (void)pthread_mutex_lock(&host->generations_lock);
    struct retirement *retirement = &host->retirement;
    generation->image = image;
    bool handed_over = have_thread(host);
    if (handed_over) {
        generation->next_end = NULL;
        *retirement->end = generation;
        retirement->end = &generation->next_end;
        retirement->collects = true;
        (void)pthread_cond_signal(&retirement->work);
    }
    bool is_told = !retirement->stopping;
    (void)pthread_mutex_unlock(&host->generations_lock);
    if (!handed_over) {
        end_one(host, generation, is_told);
    }
}

void retire_workers_gone(struct toolrack *host, struct generation *generation) {
    (void)pthread_mutex_lock(&host->generations_lock);
    bool is_told = !host->retirement.stopping;
    (void)pthread_mutex_unlock(&host->generations_lock);
    end_one(host, generation, is_told);
    (void)pthread_mutex_lock(&host->generations_lock);
    if (have_thread(host)) {
        host->retirement.collects = true;
        (void)pthread_cond_signal(&host->retirement.work);
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
}

void retire_stop(struct toolrack *host) {
    (void)pthread_mutex_lock(&host->generations_lock);
    host->retirement.stopping = true;
    bool started = host->retirement.started;
    (void)pthread_cond_signal(&host->retirement.work);
    (void)pthread_mutex_unlock(&host->generations_lock);
    if (started) {
        (void)pthread_join(host->retirement.thread, NULL);
    }
}

void retire_finish(struct retirement *retirement) {
    (void)pthread_cond_destroy(&retirement->work);
}

/* -------------------------------------------------------------------- verdicts */

/* Look again at one that is pending. What belongs to it is not touched by others meanwhile. */
static void recheck(struct toolrack *host, struct retired *note) {
    unload_recheck(note->unload);
    (void)pthread_mutex_lock(&host->generations_lock);
    set_note(note, note->unload);
    (void)pthread_mutex_unlock(&host->generations_lock);
}

static struct retired *next_pending(struct toolrack *host, struct plugin_file *file,
                                    const struct retired *after) {
    (void)pthread_mutex_lock(&host->generations_lock);
    struct retired *note = after != NULL ? after->next : file->retired;
    while (note != NULL && (note->state != RETIRED_PENDING || note->unload == NULL)) {
        note = note->next;
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return note;
}

unsigned retire_count_images(struct toolrack *host, struct plugin_file *file) {
    struct retired *note = NULL;
    while ((note = next_pending(host, file, note)) != NULL) {
        recheck(host, note);
    }
    unsigned count = 0;
    (void)pthread_mutex_lock(&host->generations_lock);
    for (note = file->retired; note != NULL; note = note->next) {
        count += note->state == RETIRED_PENDING || note->state == RETIRED_RESIDENT;
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return count;
}

enum retired_state retire_wait(struct toolrack *host, struct plugin_file *file, uint32_t generation,
                               uint64_t until_ns, char *ret_cause) {
    struct timespec until = clock_timespec(until_ns);
    enum retired_state state = RETIRED_GONE; /* of one whose note is not kept any more */
    ret_cause[0] = '\0';
    (void)pthread_mutex_lock(&host->generations_lock);
    const struct retired *note;
    int late = 0;
    while ((note = find_note(file, generation)) != NULL && note->state == RETIRED_DRAINING &&
           late == 0) {
        late = pthread_cond_timedwait(&host->files.changed, &host->generations_lock, &until);
    }
    if (note != NULL) {
        state = note->state;
        memcpy(ret_cause, note->cause, sizeof note->cause);
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return state;
}
