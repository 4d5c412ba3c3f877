#include "life/back.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "life/parts.h"
#include "life/past.h"
#include "life/reload.h"

/* Whether it is stored already. */
static bool has_gone_back(const struct life *life, const struct plugin_file *file,
                          const uint8_t bad_sha256[]) {
    struct content_rollback rollback;
    return content_find_rollback(&life->options, file->key, &rollback) && rollback.is_automatic &&
           memcmp(rollback.bad_sha256, bad_sha256, STAGE_HASH_SIZE) == 0;
}

static bool go_back(struct life *life, struct plugin_file *file, const uint8_t bad_sha256[],
                    const char *rule, const char *reason) {
    struct reload_row row;
    if (!has_gone_back(life, file, bad_sha256) &&
        !past_go_back(life, file, bad_sha256, rule, reason)) {
        return false;
    }
    enum reload_outcome outcome = reload_file(life, file, RELOAD_OPENING, &row);
    reload_row_finish(&row);
    life->options.decided(life->options.host, HOSTS_CONTENT);
    return outcome == RELOAD_RELOADED || outcome == RELOAD_ADDED;
}

bool back_from_crash(struct life *life, struct plugin_file *file, int64_t since_s) {
    struct content_rollback rollback;
    struct toolrack_error unheard;
    char reason[ERROR_MESSAGE_MAX];
    char moment[CLOCK_TEXT_ROOM];
    uint8_t sha256[STAGE_HASH_SIZE];
    if (content_find_rollback(&life->options, file->key, &rollback) || /* that was loaded */
        stage_hash(file->path, &file->identity, sha256, &unheard) != 0) {
        return false;
    }
    (void)snprintf(reason, sizeof reason, "a process ended at %s while it loaded this content",
                   clock_wall_text(since_s, moment));
    return go_back(life, file, sha256, "unclean-end", reason);
}

/* ------------------------------------------------------------------- cannot be loaded */

struct load_failure {
    uint8_t sha256[STAGE_HASH_SIZE];
    char reason[ERROR_MESSAGE_MAX];
};

/* Whether the content that serves is the file's and could not be loaded. Caller is the file's
 * taker.
 */
static bool find_failure(struct life *life, struct plugin_file *file, struct load_failure *ret) {
    CLEANUP(plugin_unrefp) struct plugin *serving = generations_serving(&life->generations, file);
    if (serving == NULL || generation_of(serving)->is_earlier || !atomic_load(&serving->staged) ||
        plugin_state(serving) != TOOLRACK_STATE_FAILED) {
        return false;
    }
    memcpy(ret->sha256, serving->sha256, sizeof ret->sha256);
    plugin_reason(serving, ret->reason, sizeof ret->reason);
    return true;
}

/* A command ends as soon as its call has failed, so what its content is not used for any more is
 * stored before. Of a file that another thread has, only the content: that thread may serve another
 * one by now. */
static void store_failure_of(struct life *life, struct plugin *plugin) {
    struct plugin_file *file = generation_of(plugin)->file;
    struct load_failure failure;
    if (!files_take(&life->files, file, 1)) {
        struct content_verdict verdict = {.is_bad = true, .rule = "cannot-load"};
        plugin_reason(plugin, verdict.reason, sizeof verdict.reason);
        if (atomic_load(&plugin->staged) && plugin_state(plugin) == TOOLRACK_STATE_FAILED &&
            !atomic_load(&plugin->has_answered)) {
            content_set_verdict(&life->options, file->key, plugin->sha256, &verdict);
        }
        return;
    }
    if (find_failure(life, file, &failure) && !has_gone_back(life, file, failure.sha256) &&
        past_go_back(life, file, failure.sha256, "cannot-load", failure.reason)) {
        life->options.decided(life->options.host, HOSTS_CONTENT);
    }
    files_give(&life->files, file);
}

void back_soon(struct life *life, struct plugin *plugin) {
    struct generation *generation = generation_of(plugin);
    if (generation == NULL || generation->foreign != NULL || generation->is_earlier) {
        return;
    }
    store_failure_of(life, plugin);
    lock_take(&life->files.lock);
    generation->file->goes_back = true;
    lock_release(&life->files.lock);
    retire_errand(&life->retirement);
}

/* ------------------------------------------------------------------ new, and crashed */

/* Without memory the next crash is seen. */
void back_note_crash(struct life *life, struct generation *generation, const char *reason) {
    struct plugin_file *file = generation->file;
    if (generation->foreign != NULL || generation->is_earlier || !generation->policy.goes_back) {
        return;
    }
    size_t size = strlen(reason) + 1;
    struct file_crash *crash = malloc(sizeof *crash + size);
    if (crash == NULL) {
        return;
    }
    memcpy(crash->sha256, generation->sha256, sizeof crash->sha256);
    crash->time_s = clock_wall_s();
    memcpy(crash->reason, reason, size);
    lock_take(&life->files.lock);
    struct file_crash *before = file->crash; /* of one content the first crash counts */
    bool is_same = before != NULL && memcmp(before->sha256, crash->sha256, STAGE_HASH_SIZE) == 0;
    file->crash = is_same ? before : crash;
    lock_release(&life->files.lock);
    free(is_same ? crash : before);
    retire_errand(&life->retirement);
}

/* Whether the content is the last that the file is known to have had, and still new. The store says
 * since when: another process may have been the first to use it. */
static bool is_new(const struct life *life, const struct plugin_file *file,
                   const struct file_crash *crash) {
    CLEANUP(content_history_finish) struct content_history history;
    struct toolrack_error unheard; /* then it is not known */
    if (content_read_history(&life->options, file->key, &history, &unheard) < 0 ||
        history.count == 0) {
        return false;
    }
    const struct store_generation *newest = &history.rows[0];
    int64_t seen_s = newest->seen_ms / 1000;
    return memcmp(newest->sha256, crash->sha256, STAGE_HASH_SIZE) == 0 && content_is_good(newest) &&
           crash->time_s >= seen_s && crash->time_s - seen_s <= BACK_NEW_S;
}

static void describe(const struct file_crash *crash, char ret[ERROR_MESSAGE_MAX]) {
    struct toolrack_error words; /* cut at the end of a character */
    (void)error_set(&words, TOOLRACK_E_EXECUTION_FAILED,
                    "it crashed within the first %d s that it served: %s", BACK_NEW_S,
                    crash->reason);
    memcpy(ret, words.message, ERROR_MESSAGE_MAX);
}

static struct file_crash *take_crash(struct life *life, struct plugin_file *file) {
    lock_take(&life->files.lock);
    struct file_crash *crash = file->crash;
    file->crash = NULL;
    lock_release(&life->files.lock);
    return crash;
}

void back_at_end(struct life *life) {
    for (struct plugin_file *file = NULL; (file = files_next(&life->files, file)) != NULL;) {
        CLEANUP(freep) struct file_crash *crash = take_crash(life, file);
        struct content_rollback rollback;
        char reason[ERROR_MESSAGE_MAX];
        if (file->goes_back && content_find_rollback(&life->options, file->key, &rollback) &&
            rollback.is_automatic) { /* it is stored, and was not served any more */
            log_line(life->options.log, LOG_WARNING, "life",
                     "the content before that of %s will serve: %s", file->path, rollback.reason);
        }
        if (crash == NULL || !is_new(life, file, crash)) {
            continue;
        }
        describe(crash, reason);
        if (past_go_back(life, file, crash->sha256, CONTENT_RULE_CRASHED, reason)) {
            log_line(life->options.log, LOG_WARNING, "life",
                     "the content before that of %s will serve: %s", file->path, reason);
            life->options.decided(life->options.host, HOSTS_CONTENT);
        }
    }
}

/* --------------------------------------------------------------------- the errand */

/* How long a file that is in use is waited for. */
#define GO_BACK_MS_MAX 10000u

/* Caller is the file's taker. */
static void go_back_from_failed(struct life *life, struct plugin_file *file) {
    struct load_failure failure;
    if (find_failure(life, file, &failure)) {
        (void)go_back(life, file, failure.sha256, "cannot-load", failure.reason);
    }
}

/* Caller is the file's taker. */
static void go_back_from_new(struct life *life, struct plugin_file *file,
                             const struct file_crash *crash) {
    char reason[ERROR_MESSAGE_MAX];
    if (is_new(life, file, crash)) {
        describe(crash, reason);
        (void)go_back(life, file, crash->sha256, CONTENT_RULE_CRASHED, reason);
    }
}

void back_now(void *user) {
    struct life *life = user;
    for (struct plugin_file *file = NULL; (file = files_next(&life->files, file)) != NULL;) {
        lock_take(&life->files.lock);
        bool has_failed = file->goes_back;
        bool has_crashed = file->crash != NULL;
        file->goes_back = false;
        lock_release(&life->files.lock);
        /* Of a file that stays in use the next crash is looked at, or back_at_end() does it. */
        if ((!has_failed && !has_crashed) ||
            !files_take(&life->files, file,
                        clock_now_ns() + (uint64_t)GO_BACK_MS_MAX * CLOCK_NS_PER_MS)) {
            continue;
        }
        CLEANUP(freep) struct file_crash *crash = take_crash(life, file);
        if (has_failed) {
            go_back_from_failed(life, file);
        }
        if (crash != NULL) {
            go_back_from_new(life, file, crash);
        }
        files_give(&life->files, file);
    }
}
