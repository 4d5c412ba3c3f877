#include "life/life.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/object.h"
#include "life/back.h"
#include "life/failure.h"
#include "life/parts.h"
#include "life/reload.h"
#include "life/watcher.h"

/* ------------------------------------------------------------ services of plugins */

static int stage(void *user, struct plugin *plugin, const struct plugin_wait *wait,
                 bool *ret_renewed, struct toolrack_error *err) {
    struct life *life = user;
    if (plugin->isolated && !atomic_load(&plugin->staged)) {
        isolate_prepare(&life->isolate, generation_of(plugin));
    }
    return copier_wait(&life->copier, plugin, wait, ret_renewed, err);
}

static void wake(void *user) {
    struct life *life = user;
    copier_wake(&life->copier);
}

static void used(void *user, struct plugin *plugin) {
    struct life *life = user;
    staging_note_used(&life->staging, plugin);
    if (atomic_exchange(&life->staging.made_copy, false)) {
        retire_collect(&life->retirement);
    }
}

static int isolate(void *user, struct plugin *plugin, struct toolrack_error *err) {
    struct life *life = user;
    return isolate_plugin(&life->isolate, plugin, err);
}

static void loading(void *user, struct plugin *plugin, bool begins) {
    (void)user;
    generation_note_loading(plugin, begins);
}

static void loaded(void *user, struct plugin *plugin, const char *failure) {
    (void)user;
    if (failure != NULL) {
        failure_note(generation_of(plugin), failure);
    } else {
        failure_end(generation_of(plugin));
    }
}

/* From now on its content is one that the host may go back to. */
static void answered(void *user, struct plugin *plugin) {
    const struct life *life = user;
    const struct generation *generation = generation_of(plugin);
    if (generation->foreign == NULL && atomic_load(&plugin->staged)) {
        content_note_worked(&life->options, generation->file->key, plugin->sha256);
    }
}

static void release(void *user, struct plugin *plugin, struct image *image) {
    struct life *life = user;
    retire_release(&life->retirement, plugin, image);
}

static const struct plugin_services services = {.stage = stage,
                                                .wake = wake,
                                                .used = used,
                                                .isolate = isolate,
                                                .loading = loading,
                                                .loaded = loaded,
                                                .release = release,
                                                .answered = answered};

/* The file of a plugin was exchanged after it was read: the content that was read cannot be called
 * any more. [copier] */
static bool renew(void *user, struct plugin *plugin, uint64_t until_ns) {
    struct life *life = user;
    return !generation_of(plugin)->is_earlier && reload_if_stale(life, plugin, until_ns);
}

/* --------------------------------------------------------------------------- create */

/* The program of the workers: that of the app, of the environment, or that was installed. */
static const char *find_worker_program(const struct life_options *options) {
    const char *program = getenv("TOOLRACK_WORKER");
    return options->worker_program != NULL        ? options->worker_program
           : program != NULL && program[0] == '/' ? program
                                                  : TOOLRACK_WORKER_PROGRAM;
}

const char *life_worker_program(const struct life *life) {
    return life->options.worker_program;
}

struct life *life_create(const struct life_options *options) {
    struct life *life = calloc(1, sizeof *life);
    char *worker_program = strdup(find_worker_program(options));
    if (life == NULL || worker_program == NULL) {
        free(worker_program);
        free(life);
        return NULL;
    }
    life->magic = LIFE_MAGIC;
    life->options = *options;
    life->options.worker_program = worker_program;
    files_init(&life->files);
    trials_init(&life->trials, &life->options);
    life->generations = (struct generations){
            .options = &life->options, .services = &services, .services_user = life};
    generations_init(&life->generations);
    life->staging = (struct staging){.options = &life->options, .generations = &life->generations};
    staging_init(&life->staging);
    life->copier = (struct copier){.staging = &life->staging, .renew = renew, .user = life};
    copier_init(&life->copier);
    life->retirement = (struct retirement){.options = &life->options,
                                           .generations = &life->generations,
                                           .files = &life->files,
                                           .staging = &life->staging,
                                           .errand = back_now,
                                           .errand_user = life};
    retire_init(&life->retirement);
    life->isolate = (struct isolate){.options = &life->options,
                                     .staging = &life->staging,
                                     .gone = retire_workers_gone,
                                     .retirement = &life->retirement,
                                     .failed = life_note_failed,
                                     .crashed = back_note_crash,
                                     .life = life};
    isolate_init(&life->isolate);
    return life;
}

/* ------------------------------------------------------------------------------ end */

void life_stop(struct life *life) {
    if (life != NULL) {
        staging_stop(&life->staging); /* what copies ends soon */
        trials_stop(&life->trials);
        retire_stop_errands(&life->retirement);
        watcher_stop(life->watcher);
        life->watcher = NULL;
        copier_stop(&life->copier);
    }
}

bool life_is_quiet(const struct life *life) {
    return life == NULL || atomic_load(&life->trials.lost) == 0;
}

bool life_has_run_none(struct life *life) {
    return life == NULL ||
           (isolate_is_unused(&life->isolate) && retire_is_unused(&life->retirement));
}

void life_interrupt(struct life *life) {
    if (life != NULL) {
        isolate_interrupt(&life->isolate);
    }
}

void life_end(struct life *life, bool quiet, bool is_left) {
    if (life == NULL) {
        return;
    }
    retire_stop(&life->retirement);
    if (quiet) {
        retire_end_all(&life->retirement);
    }
    isolate_end(&life->isolate);
    back_at_end(life); /* the last worker may have crashed after the errands were stopped */
    if (!is_left) {
        staging_close(&life->staging);
    }
}

void life_destroy(struct life *life) {
    if (life == NULL) {
        return;
    }
    OBJECT_WIPE(life, LIFE_MAGIC);
    retire_finish(&life->retirement);
    isolate_finish(&life->isolate);
    copier_finish(&life->copier);
    staging_finish(&life->staging);
    generations_finish(&life->generations);
    trials_finish(&life->trials);
    files_finish(&life->files);
    free((void *)(uintptr_t)life->options.worker_program);
    free(life);
}

/* ---------------------------------------------------------------------------- verbs */

int life_start_watch(struct life *life, struct toolrack_error *err) {
    return watcher_start(life, err);
}

int life_watch(struct life *life, struct toolrack_error *err) {
    return watcher_begin(life->watcher, err);
}

void life_note_failed(struct life *life, struct plugin *plugin) {
    back_soon(life, plugin);
}

void life_check(struct life *life) {
    OBJECT_CHECK(life, LIFE_MAGIC);
    files_check(&life->files);
    generations_check(&life->generations);
    retire_check(&life->retirement);
}
