#include "life/retire.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "life/generation.h"
#include "life/staging.h"
#include "worker/crew.h"

/* Invariants:
 *
 *  (1) Only a generation whose plugin is NULL may be in the list of ends (once) or be unloaded now.
 *  (2) No lock is held while code of a plugin runs: close() and the destructors of an image.
 *  (3) Only the file's taker drops notes on its generations: those on generations that are gone,
 *      except the newest note. */

void retire_init(struct retirement *retirement) {
    retirement->end = &retirement->first;
    lock_init(&retirement->lock);
    (void)pthread_cond_init(&retirement->work, NULL);
    clock_cond_init(&retirement->ended);
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

/* Caller holds the lock, as in the functions below. */
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

void retire_note(struct retirement *retirement, struct plugin *plugin) {
    LOCK_SCOPE(&retirement->lock);
    struct plugin_file *file = generation_of(plugin)->file;
    (void)add_note(file, plugin->generation);
    /* Drop the notes on generations that are gone, except the newest: (3). */
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

/* ------------------------------------------------------------------- the end */

/* A generation whose image, if it had one, was unloaded. */
static void end_as(struct retirement *retirement, struct generation *generation,
                   const struct unload *unload, bool is_told) {
    struct plugin_file *file = generation->file;
    bool was_up = generation->image != NULL || generation->crew != NULL;
    lock_take(&retirement->lock);
    struct retired *note = find_note(file, generation->number);
    if (note == NULL && unload->verdict != UNLOAD_GONE) {
        note = add_note(file, generation->number); /* it ended for another reason than a reload */
    }
    if (note != NULL) {
        set_note(note, unload);
    }
    (void)pthread_cond_broadcast(&retirement->ended);
    lock_release(&retirement->lock);
    if (was_up && is_told) {
        char words[UNLOAD_CAUSE_MAX + 32];
        (void)snprintf(words, sizeof words, "%s%s%s", retired_state_name(state_of(unload->verdict)),
                       unload->cause[0] != '\0' ? ": " : "", unload->cause);
        retirement->options->event(retirement->options->host, TOOLRACK_EVENT_UNLOADED,
                                   generation->desc->plugin->id, words);
    }
    generation_destroy(generation);
}

static void end_one(struct retirement *retirement, struct generation *generation, bool is_told) {
    static const struct unload never_loaded = {.verdict = UNLOAD_GONE};
    if (generation->image == NULL) { /* as nearly all at the end of a host */
        end_as(retirement, generation, &never_loaded, is_told);
        return;
    }
    const struct unload unload = image_unload(generation->image);
    end_as(retirement, generation, &unload, is_told);
}

/* Caller holds the lock, which is released meanwhile. */
static void run_errand(struct retirement *retirement) {
    retirement->has_errand = false;
    retirement->runs_errand = true;
    lock_release(&retirement->lock);
    retirement->errand(retirement->errand_user);
    lock_take(&retirement->lock);
    retirement->runs_errand = false;
    (void)pthread_cond_broadcast(&retirement->ended);
}

static void *retire_main(void *argument) {
    struct retirement *retirement = argument;
    lock_take(&retirement->lock);
    for (;;) {
        struct generation *generation = retirement->first;
        bool is_told = !retirement->stopping;
        if (retirement->has_errand && !retirement->no_errands) {
            run_errand(retirement);
            continue;
        }
        if (generation == NULL && !retirement->collects) {
            if (retirement->stopping) {
                break;
            }
            lock_wait(&retirement->lock, &retirement->work);
            continue;
        }
        if (generation != NULL) {
            retirement->first = generation->next_end;
            retirement->end = retirement->first != NULL ? retirement->end : &retirement->first;
            lock_release(&retirement->lock);
            end_one(retirement, generation, is_told);
        } else { /* all have ended: remove the copies that are not needed any more */
            retirement->collects = false;
            lock_release(&retirement->lock);
            staging_collect(retirement->staging, retirement->files);
        }
        lock_take(&retirement->lock);
    }
    lock_release(&retirement->lock);
    return NULL;
}

/* Whether the thread runs; it is started if needed. Caller holds the lock. */
static bool have_thread(struct retirement *retirement) {
    if (!retirement->started && !retirement->stopping) {
        retirement->started = thread_start(&retirement->thread, retire_main, retirement) == 0;
    }
    return retirement->started && !retirement->stopping;
}

void retire_release(struct retirement *retirement, struct plugin *plugin, struct image *image) {
    struct generation *generation = generation_of(plugin);
    struct crew *crew = generation_part(generation);
    if (crew != NULL) {
        crew_unref(crew); /* its workers end by themselves */
        return;
    }
    lock_take(&retirement->lock);
    generation->image = image;
    bool handed_over = have_thread(retirement);
    if (handed_over) {
        generation->next_end = NULL;
        *retirement->end = generation;
        retirement->end = &generation->next_end;
        retirement->collects = true;
        (void)pthread_cond_signal(&retirement->work);
    }
    bool is_told = !retirement->stopping;
    lock_release(&retirement->lock);
    if (!handed_over) {
        end_one(retirement, generation, is_told);
    }
}

void retire_workers_gone(struct retirement *retirement, struct generation *generation) {
    lock_take(&retirement->lock);
    bool is_told = !retirement->stopping;
    lock_release(&retirement->lock);
    end_one(retirement, generation, is_told);
    retire_collect(retirement);
}

void retire_errand(struct retirement *retirement) {
    lock_take(&retirement->lock);
    if (!retirement->no_errands && have_thread(retirement)) {
        retirement->has_errand = true;
        (void)pthread_cond_signal(&retirement->work);
    }
    lock_release(&retirement->lock);
}

void retire_stop_errands(struct retirement *retirement) {
    lock_take(&retirement->lock);
    retirement->no_errands = true;
    while (retirement->runs_errand) {
        lock_wait(&retirement->lock, &retirement->ended);
    }
    lock_release(&retirement->lock);
}

void retire_collect(struct retirement *retirement) {
    lock_take(&retirement->lock);
    if (have_thread(retirement)) {
        retirement->collects = true;
        (void)pthread_cond_signal(&retirement->work);
    }
    lock_release(&retirement->lock);
}

bool retire_is_unused(struct retirement *retirement) {
    LOCK_SCOPE(&retirement->lock);
    return !retirement->started;
}

void retire_stop(struct retirement *retirement) {
    lock_take(&retirement->lock);
    retirement->stopping = true;
    bool started = retirement->started;
    (void)pthread_cond_signal(&retirement->work);
    lock_release(&retirement->lock);
    if (started) {
        (void)pthread_join(retirement->thread, NULL);
    }
}

void retire_finish(struct retirement *retirement) {
    struct plugin_file *file = NULL;
    while ((file = files_next(retirement->files, file)) != NULL) {
        while (file->retired != NULL) {
            struct retired *older = file->retired->next;
            free(file->retired->unload);
            free(file->retired);
            file->retired = older;
        }
    }
    (void)pthread_cond_destroy(&retirement->work);
    (void)pthread_cond_destroy(&retirement->ended);
    lock_finish(&retirement->lock);
}

void retire_end_all(struct retirement *retirement) {
    struct generation *generation;
    struct plugin *plugin;
    while ((generation = generations_detach(retirement->generations, &plugin)) != NULL) {
        plugin_unref(plugin);
        if (generation->crew != NULL) {
            crew_unref(generation->crew); /* the generation ends with its workers */
        } else {
            generation_destroy(generation);
        }
    }
}

/* -------------------------------------------------------------------- states */

unsigned retire_count_images(struct retirement *retirement, struct plugin_file *file) {
    unsigned count = 0;
    lock_take(&retirement->lock);
    for (struct retired *note = file->retired; note != NULL; note = note->next) {
        if (note->state == RETIRED_PENDING && note->unload != NULL) {
            /* Check again. By (3) the note is not dropped, and no other thread uses its `unload`.
             */
            lock_release(&retirement->lock);
            unload_recheck(note->unload);
            lock_take(&retirement->lock);
            set_note(note, note->unload);
        }
        count += note->state == RETIRED_PENDING || note->state == RETIRED_RESIDENT;
    }
    lock_release(&retirement->lock);
    return count;
}

enum retired_state retire_wait(struct retirement *retirement, struct plugin_file *file,
                               uint32_t generation, uint64_t until_ns, char *ret_cause) {
    struct timespec until = clock_timespec(until_ns);
    enum retired_state state = RETIRED_GONE; /* also when the note was dropped */
    ret_cause[0] = '\0';
    lock_take(&retirement->lock);
    const struct retired *note;
    bool in_time = true;
    while ((note = find_note(file, generation)) != NULL && note->state == RETIRED_DRAINING &&
           in_time) {
        in_time = lock_wait_until(&retirement->lock, &retirement->ended, &until);
    }
    if (note != NULL) {
        state = note->state;
        memcpy(ret_cause, note->cause, sizeof note->cause);
    }
    lock_release(&retirement->lock);
    return state;
}

bool retire_get(struct retirement *retirement, const struct plugin_file *file, size_t index,
                struct retired *ret) {
    LOCK_SCOPE(&retirement->lock);
    const struct retired *note = file->retired;
    while (note != NULL && index-- > 0) {
        note = note->next;
    }
    if (note != NULL) {
        *ret = *note;
    }
    return note != NULL;
}

void retire_check(struct retirement *retirement) {
    lock_take(&retirement->lock);
    for (const struct generation *at = retirement->first; at != NULL; at = at->next_end) {
        assert(at->plugin == NULL); /* (1) */
        assert(at->next_end != NULL || retirement->end == &at->next_end);
    }
    lock_release(&retirement->lock);
    for (const struct plugin_file *file = NULL;
         (file = files_next(retirement->files, file)) != NULL;) {
        lock_take(&retirement->lock);
        for (const struct retired *note = file->retired; note != NULL; note = note->next) {
            assert(find_note(file, note->generation) == note); /* one note per generation */
            assert(note->state == RETIRED_PENDING || note->unload == NULL ||
                   note->state != RETIRED_DRAINING);
        }
        lock_release(&retirement->lock);
    }
}
