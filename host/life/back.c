#include "life/back.h"

#include <stdio.h>

#include "base/clock.h"
#include "life/parts.h"
#include "life/past.h"
#include "life/reload.h"

static bool go_back(struct life *life, struct plugin_file *file, const uint8_t bad_sha256[],
                    const char *rule, const char *reason) {
    struct reload_row row;
    if (!past_go_back(life, file, bad_sha256, rule, reason)) {
        return false;
    }
    enum reload_outcome outcome = reload_file(life, file, RELOAD_OPENING, &row);
    reload_row_finish(&row);
    return outcome == RELOAD_RELOADED || outcome == RELOAD_ADDED;
}

bool back_from_crash(struct life *life, struct plugin_file *file, int64_t since_s) {
    struct content_rollback rollback;
    struct toolrack_error unheard;
    char reason[ERROR_MESSAGE_MAX];
    char moment[CLOCK_TEXT_ROOM];
    uint8_t sha256[STAGE_HASH_SIZE];
    if (content_find_rollback(&life->options, file->path, &rollback) || /* that was loaded */
        stage_hash(file->path, &file->identity, sha256, &unheard) != 0) {
        return false;
    }
    (void)snprintf(reason, sizeof reason, "a process ended at %s while it loaded this content",
                   clock_wall_text(since_s, moment));
    return go_back(life, file, sha256, "unclean-end", reason);
}

void back_soon(struct life *life, struct plugin *plugin) {
    struct generation *generation = generation_of(plugin);
    if (generation == NULL || generation->foreign != NULL || generation->is_earlier) {
        return;
    }
    lock_take(&life->files.lock);
    generation->file->goes_back = true;
    lock_release(&life->files.lock);
    retire_errand(&life->retirement);
}

/* How long a file that is in use is waited for. */
#define GO_BACK_MS_MAX 10000u

static void go_back_from_failed(struct life *life, struct plugin_file *file) {
    if (!files_take(&life->files, file,
                    clock_now_ns() + (uint64_t)GO_BACK_MS_MAX * CLOCK_NS_PER_MS)) {
        return;
    }
    CLEANUP(plugin_unrefp) struct plugin *serving = generations_serving(&life->generations, file);
    if (serving != NULL && !generation_of(serving)->is_earlier && atomic_load(&serving->staged) &&
        plugin_state(serving) == TOOLRACK_STATE_FAILED) {
        char reason[ERROR_MESSAGE_MAX];
        plugin_reason(serving, reason, sizeof reason);
        (void)go_back(life, file, serving->sha256, "cannot-load", reason);
    }
    files_give(&life->files, file);
}

void back_now(void *user) {
    struct life *life = user;
    for (struct plugin_file *file = NULL; (file = files_next(&life->files, file)) != NULL;) {
        lock_take(&life->files.lock);
        bool goes_back = file->goes_back;
        file->goes_back = false;
        lock_release(&life->files.lock);
        if (goes_back) {
            go_back_from_failed(life, file);
        }
    }
}
