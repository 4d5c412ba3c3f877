/* A person goes back from the content that a file has, or that serves in its place, to the one
 * before. */
#include "life/life.h"

#include <string.h>

#include "base/error.h"
#include "life/find.h"
#include "life/parts.h"
#include "life/reload.h"
#include "permit/permit.h"
#include "store/decisions.h"

/* What is stored of a file that a rollback changes, to be put back when it fails. */
struct before {
    bool was_rolled_back;
    struct content_rollback rollback;
    struct content_verdict verdicts[3]; /* of the contents: bad, from, use */
};

struct going_back {
    struct life *life;
    struct plugin_file *file;
    uint8_t bad_sha256[STAGE_HASH_SIZE];  /* what the file has */
    uint8_t from_sha256[STAGE_HASH_SIZE]; /* what served; as `bad` if nothing else did */
    uint8_t use_sha256[STAGE_HASH_SIZE];
};

/* The content to go back to: what serves already, if the host has gone back by itself from what the
 * file has; else the content before the one that serves. */
static int find_back(struct going_back *back, struct plugin *serving, bool was_rolled_back,
                     struct toolrack_error *err) {
    struct life *life = back->life;
    struct staged previous;
    struct toolrack_error unheard;
    /* What was never copied cannot be called after its file has changed. */
    bool is_known = serving != NULL && staging_copy(&life->staging, serving, &unheard) == 0;
    if (is_known) {
        staging_note_used(&life->staging, serving); /* before it is noted as gone back from */
    }
    if (is_known && !was_rolled_back &&
        memcmp(serving->sha256, back->bad_sha256, STAGE_HASH_SIZE) != 0) {
        memcpy(back->use_sha256, serving->sha256, STAGE_HASH_SIZE);
        return 0;
    }
    if (is_known) {
        memcpy(back->from_sha256, serving->sha256, STAGE_HASH_SIZE);
    }
    int code = staging_find_previous(&life->staging, back->file, is_known ? serving->sha256 : NULL,
                                     back->bad_sha256, &previous, err);
    if (code == 0) {
        memcpy(back->use_sha256, previous.sha256, STAGE_HASH_SIZE);
    }
    return code;
}

static void remember(const struct going_back *back, struct before *ret) {
    const struct life_options *options = &back->life->options;
    const uint8_t *contents[] = {back->bad_sha256, back->from_sha256, back->use_sha256};
    for (size_t i = 0; i < ARRAY_LENGTH(contents); i++) {
        content_read_verdict(options, back->file->key, contents[i], &ret->verdicts[i]);
    }
}

/* The store is as it was before the rollback. */
static void undo(const struct going_back *back, const struct before *before) {
    const struct life_options *options = &back->life->options;
    const uint8_t *contents[] = {back->bad_sha256, back->from_sha256, back->use_sha256};
    for (size_t i = 0; i < ARRAY_LENGTH(contents); i++) {
        content_set_verdict(options, back->file->key, contents[i], &before->verdicts[i]);
    }
    if (before->was_rolled_back) {
        content_set_rollback(options, back->file->key, &before->rollback);
    } else {
        content_end_rollback(options, back->file->key);
    }
}

static int exchange(const struct going_back *back, struct toolrack_error *err) {
    struct reload_row row;
    enum reload_outcome outcome = reload_requested(back->life, back->file, RELOAD_FORCED, &row);
    int code = outcome == RELOAD_RELOADED || outcome == RELOAD_ADDED
                       ? 0
                       : error_set(err, TOOLRACK_E_REFUSED, "%s", row.reason);
    reload_row_finish(&row);
    return code;
}

/* Reload the file with the content before the present one. On failure the plugin that serves stays,
 * and the store is unchanged. */
static int roll_back(struct life *life, struct plugin_file *file, struct toolrack_error *err) {
    CLEANUP(plugin_unrefp)
    struct plugin *serving = generations_serving(&life->generations, file);
    struct going_back back = {.life = life, .file = file};
    struct before before;
    before.was_rolled_back = content_find_rollback(&life->options, file->key, &before.rollback);
    int code = stage_hash(file->path, NULL, back.bad_sha256, err);
    if (code != 0) {
        return code == STAGE_CHANGING ? TOOLRACK_E_IO : code;
    }
    memcpy(back.from_sha256, back.bad_sha256, STAGE_HASH_SIZE);
    code = find_back(&back, serving, before.was_rolled_back && !before.rollback.is_automatic, err);
    if (code < 0) {
        return code;
    }
    remember(&back, &before);
    code = content_roll_back(&life->options, file->key, back.bad_sha256, back.from_sha256,
                             back.use_sha256, err);
    code = code < 0 ? code : exchange(&back, err);
    if (code < 0) {
        undo(&back, &before);
    }
    return code;
}

static void note_rollback(struct life *life, struct plugin_file *file, const char *who) {
    CLEANUP(plugin_unrefp) struct plugin *now = generations_serving(&life->generations, file);
    if (now != NULL) {
        permit_note(life->options.permit,
                    &(struct store_decision){.version = now->desc->plugin->version,
                                             .plugin = now->desc->plugin->id,
                                             .origin = now->origin,
                                             .decision = "rolled-back",
                                             .who = who,
                                             .why = "to the content before"});
    }
}

int life_rollback(struct life *life, const char *name, const char *who,
                  struct toolrack_error *err) {
    struct toolrack_error why = {0};
    struct plugin_file *file = find_file(life, name, &why);
    if (file == NULL) {
        return error_set(err, why.code, "%s", why.message);
    }
    if (!files_take(&life->files, file, 0)) {
        return error_set(err, TOOLRACK_E_INVALID, "%s is being reloaded by this thread",
                         file->path);
    }
    int code = roll_back(life, file, err);
    if (code == 0) {
        note_rollback(life, file, who);
    }
    files_give(&life->files, file);
    return code;
}
