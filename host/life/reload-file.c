#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "life/past.h"
#include "life/reload-parts.h"

void reload_row_finish(struct reload_row *row) {
    descriptor_unref(row->desc);
    row->desc = NULL;
}

static void name_row(struct reload_row *row, struct descriptor *desc) {
    if (row->desc == NULL && desc != NULL && desc->plugin != NULL) {
        row->desc = descriptor_ref(desc);
    }
}

/* -------------------------------------------------------------------------- try out */

/* The content that serves is to serve after a restart too. If none serves but the one that was
 * refused, an earlier one is looked for. */
static void go_back(struct reload *reload, const char *rule, const char *reason) {
    const struct plugin *old = reload->old;
    struct content_rollback rollback = {.is_automatic = true};
    if (reload->content.is_earlier) {
        return;
    }
    if (old == NULL || reload->is_moved || !atomic_load(&old->staged) ||
        memcmp(old->sha256, reload->content.file_sha256, STAGE_HASH_SIZE) == 0) {
        reload->bad_rule = rule;
        return;
    }
    memcpy(rollback.bad_sha256, reload->content.file_sha256, STAGE_HASH_SIZE);
    memcpy(rollback.use_sha256, old->sha256, STAGE_HASH_SIZE);
    (void)snprintf(rollback.rule, sizeof rollback.rule, "%s", rule);
    (void)snprintf(rollback.reason, sizeof rollback.reason, "%s", reason);
    content_go_back(&reload->life->options, reload->file->key, &rollback);
}

/* A generation that replaces another is tried out first. A new one is loaded at its first call, as
 * at the start of the host, unless it has examples. Nothing of a package is run by installing it:
 * its first call loads it, which goes back to the content before if that fails. */
static enum reload_outcome try_out(struct reload *reload) {
    struct toolrack_error err;
    struct trials *trials = &reload->life->trials;
    const struct scan_folder *folder = reload->file->folder;
    bool is_tried = reload->how != RELOAD_OPENING && reload->how != RELOAD_RENEW &&
                    (!folder->installs || reload->how == RELOAD_NAMED) &&
                    (reload->old != NULL || reload_is_forced(reload->how) ||
                     trial_has_examples(trials, reload->new));
    int code = is_tried ? trial_run(trials, reload->new, &err) : 0;
    if (code == TOOLRACK_E_REFUSED) {
        go_back(reload, err.tool[0] != '\0' ? "self-test" : "cannot-load", err.message);
        return reload_refuse(reload, err.tool[0] != '\0' ? "self-test" : "cannot-load",
                             err.tool[0] != '\0' ? err.tool : NULL, err.message,
                             "correct the plugin and put it there again");
    }
    return code < 0 ? reload_refuse_for_now(reload, &err) : RELOAD_UNDECIDED;
}

/* --------------------------------------------------------------------------- settle */

/* Copy the file that serves, so that it can be called, and rolled back to, after the file changes.
 */
static void keep_copy(struct reload *reload) {
    struct toolrack_error err;
    if (reload->old == NULL) {
        return;
    }
    if (staging_copy(&reload->life->staging, reload->old, &err) < 0) {
        log_line(reload->life->options.log, LOG_DEBUG, "reload", "%s", err.message);
        return;
    }
    staging_note_used(&reload->life->staging, reload->old);
}

/* Does the file exist, and may it have changed since it was last looked at? */
static enum reload_outcome settle(struct reload *reload) {
    struct plugin_file *file = reload->file;
    struct plugin *old = reload->old;
    struct stat st;
    if (stat(file->path, &st) < 0) {
        int why = errno;
        /* ENOENT means two things: the file is gone, or it is a symbolic link whose target does not
         * exist. */
        if ((why == ENOENT || why == ENOTDIR) && lstat(file->path, &st) < 0 &&
            (errno == ENOENT || errno == ENOTDIR)) {
            return reload_remove(reload);
        }
        return why == ENOENT || why == ELOOP
                       ? reload_refuse(
                                 reload, "file-dangling-link", NULL,
                                 why == ENOENT
                                         ? "it is a symbolic link to a file that does not exist"
                                         : "it is a symbolic link loop",
                                 "correct the link or remove it")
                       : reload_refuse(
                                 reload, "file-unreadable", NULL, strerror(why),
                                 "let the user that runs the host read the file and its folder");
    }
    struct file_identity identity = identity_of(&st);
    bool same = !reload->is_moved && file->exists && file->settled &&
                identity_same(&identity, &file->identity);
    if (same && !file->is_refused && !reload_is_forced(reload->how) &&
        reload->how != RELOAD_OPENING) {
        reload->row->generation = old != NULL ? old->generation : 0;
        if (reload->how == RELOAD_AND_KEEP) {
            keep_copy(reload);
        }
        return RELOAD_UNCHANGED;
    }
    if (old != NULL && reload->how != RELOAD_OPENING && identity_same(&identity, &old->identity)) {
        keep_copy(reload); /* so that there is something to compare with */
    }
    return RELOAD_UNDECIDED;
}

enum reload_outcome reload_file(struct life *life, struct plugin_file *file, enum reload_how how,
                                struct reload_row *ret) {
    *ret = (struct reload_row){0};
    struct reload reload = {.life = life,
                            .file = file,
                            .how = how,
                            .row = ret,
                            .old = generations_serving(&life->generations, file)};
    if (how != RELOAD_RENEW) {
        (void)files_locate(&life->files, file); /* without memory it is what it was */
    }
    const struct scan_folder *folder = file->folder;
    reload.is_moved = reload.old != NULL && strcmp(reload.old->origin, folder->origin) != 0;
    enum reload_outcome outcome = how == RELOAD_RENEW ? reload_renew(&reload) : settle(&reload);
    if (outcome == RELOAD_UNDECIDED && how != RELOAD_RENEW) {
        outcome = reload_copy(&reload);
    }
    if (outcome == RELOAD_UNDECIDED) {
        outcome = try_out(&reload);
    }
    if (outcome == RELOAD_UNDECIDED) {
        outcome = reload_exchange(&reload);
    }
    if (reload.old != NULL && !reload.is_moved && ret->generation == 0 &&
        outcome == RELOAD_REFUSED) {
        ret->generation = reload.old->generation;
    }
    if (outcome != RELOAD_REFUSED && outcome != RELOAD_CHANGING) {
        file->told = 0; /* what is refused later is news */
    }
    name_row(ret, reload.desc);
    name_row(ret, reload.old != NULL ? reload.old->desc : NULL);
    if (ret->sha256[0] == '\0' && reload.old != NULL && atomic_load(&reload.old->staged)) {
        reload_set_hash(ret, reload.old->sha256);
    }
    for (size_t i = 0; i < reload.other_count; i++) {
        plugin_unref(reload.others[i]);
    }
    free(reload.others);
    free(reload.claims);
    identities_finish(&reload.identities);
    plugin_unref(reload.new);
    plugin_unref(reload.old);
    descriptor_unref(reload.desc);
    if (reload.bad_rule != NULL) {
        struct reload_row row;
        if (past_go_back(life, file, reload.content.file_sha256, reload.bad_rule, ret->reason) ||
            past_has_gone_back(life, file, reload.content.file_sha256)) {
            (void)reload_file(life, file, RELOAD_OPENING, &row);
            reload_row_finish(&row);
        }
    }
    return outcome;
}

/* ---------------------------------------------------------------------- when settled */

enum reload_outcome reload_settled(struct life *life, struct plugin_file *file, enum reload_how how,
                                   uint64_t until_ns, struct reload_row *ret) {
    uint64_t began_ns = clock_now_ns();
    for (;;) {
        enum reload_outcome outcome = reload_file(life, file, how, ret);
        uint64_t now_ns = clock_now_ns();
        uint32_t most_ms =
                access(file->path, F_OK) == 0 ? RELOAD_SETTLE_MS_MAX : RELOAD_GONE_MS_MAX;
        if (outcome != RELOAD_CHANGING || staging_is_stopped(&life->staging) ||
            (until_ns != 0 && now_ns >= until_ns) ||
            now_ns - began_ns >= (uint64_t)most_ms * CLOCK_NS_PER_MS) {
            return outcome;
        }
        reload_row_finish(ret);
        (void)nanosleep(&(struct timespec){.tv_nsec = RELOAD_SETTLE_PAUSE_MS * CLOCK_NS_PER_MS},
                        NULL);
    }
}

enum reload_outcome reload_requested(struct life *life, struct plugin_file *file,
                                     enum reload_how how, struct reload_row *ret) {
    enum reload_outcome outcome = reload_settled(life, file, how, 0, ret);
    if (outcome == RELOAD_CHANGING) {
        reload_row_finish(ret);
        outcome = reload_file(life, file, RELOAD_LAST_TRY, ret);
    }
    return outcome;
}

bool reload_if_stale(struct life *life, const struct plugin *plugin, uint64_t until_ns) {
    struct plugin_file *file = generation_of(plugin)->file;
    struct stat st;
    if (stat(plugin->path, &st) == 0) {
        struct file_identity identity = identity_of(&st);
        if (identity_same(&identity, &plugin->identity)) {
            return false;
        }
    }
    if (!files_take(&life->files, file, until_ns)) {
        return false;
    }
    enum reload_outcome outcome = RELOAD_RELOADED;
    CLEANUP(plugin_unrefp)
    struct plugin *serving = generations_serving(&life->generations, file);
    if (serving == NULL || serving == plugin) { /* else another thread has reloaded it already */
        struct reload_row row;
        outcome = reload_settled(life, file, RELOAD_AND_KEEP, until_ns, &row);
        reload_row_finish(&row);
    }
    files_give(&life->files, file);
    return outcome == RELOAD_RELOADED || outcome == RELOAD_UNCHANGED;
}
