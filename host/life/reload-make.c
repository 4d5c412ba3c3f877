/* The next generation of a file, from a copy of what it has or of what is to serve in its place. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/ownership.h"
#include "life/guard.h"
#include "life/reload-parts.h"
#include "registry/registry.h"

/* The file has the content that serves (again): remove its refusals. */
static enum reload_outcome keep_serving(struct reload *reload) {
    struct plugin *old = reload->old;
    struct toolrack_error err;
    size_t count = 0;
    reload->row->generation = old->generation;
    if (!reload->file->is_refused || reload_is_in_place_of_refused(reload)) {
        return RELOAD_UNCHANGED;
    }
    struct toolrack_refusal *rows = reload_refusals(reload->file->path, old->desc, &count);
    const struct registry_swap swap = {
            .file = reload->file->path, .refusals = rows, .refusal_count = count};
    if (rows != NULL && registry_swap(reload->life->options.registry, &swap, NULL, &err) == 0) {
        reload->file->is_refused = count > 0;
    }
    free(rows);
    return RELOAD_UNCHANGED;
}

/* Read and check the copy. */
static enum reload_outcome read_copy(struct reload *reload) {
    const char *path = reload->content.staged.path;
    struct toolrack_error err;
    bool no_memory;
    const struct descriptor_options options = tool_descriptor_options(&no_memory);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = fd < 0 ? error_set(&err, TOOLRACK_E_IO, "cannot open %s: %s", path, strerror(errno))
                      : descriptor_read(fd, &options, &reload->desc, &err);
    if (code < 0 || no_memory) {
        (void)(code < 0 ? code : error_oom(&err));
        return reload_refuse_for_now(reload, &err);
    }
    if (reload->desc->plugin != NULL) {
        return RELOAD_UNDECIDED;
    }
    size_t count = 0;
    struct toolrack_refusal *rows = reload_refusals(reload->file->path, reload->desc, &count);
    if (count == 0) {
        (void)error_oom(&err);
    }
    enum reload_outcome outcome = count > 0 ? reload_refuse_rows(reload, rows, count)
                                            : reload_refuse_for_now(reload, &err);
    free(rows);
    return outcome;
}

/* The memory of resident images is never freed: after RESIDENT_GENERATIONS_MAX of them the file's
 * next generation runs in workers. */
static bool must_isolate(struct reload *reload) {
    unsigned images = retire_count_images(&reload->life->retirement, reload->file);
    if (images < RESIDENT_GENERATIONS_MAX) {
        return false;
    }
    log_line(reload->life->options.log, LOG_WARNING, reload->desc->plugin->id,
             "%u earlier generations of %s are still in this process, the most there may be; from "
             "now on it runs in workers; what keeps them: %s",
             images, reload->file->path, COMMAND("why", reload->desc->plugin->id));
    return true;
}

/* Whether another plugin could change the file: what that one is granted is without the plugin
 * files that there were when it was granted, and this one may be new, or lead elsewhere by now. */
static bool is_writable(struct reload *reload, struct toolrack_error *err) {
    struct generations *all = &reload->life->generations;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    for (size_t i = 0;; i++) {
        CLEANUP(plugin_unrefp) struct plugin *writer = generations_hold_writer(all, i);
        const char *reason = NULL;
        if (writer == NULL) {
            return false;
        }
        if (guard_judge_plugin(&arena, &generation_of(writer)->policy.sandbox, reload->file->path,
                               &reason, err) < 0) {
            return true;
        }
        if (reason != NULL) {
            (void)error_set(err, TOOLRACK_E_REFUSED, "plugin '%s' could change %s: %s",
                            writer->desc->plugin->id, reload->file->path, reason);
            return true;
        }
    }
}

/* Make the next generation from the copy; no copy is removed meanwhile. */
static enum reload_outcome make(struct reload *reload) {
    struct life *life = reload->life;
    struct plugin_file *file = reload->file;
    struct plugin *old = reload->old;
    const struct staged *staged = &reload->content.staged;
    struct toolrack_error err;
    file->exists = true;
    file->identity = staged->source;
    /* A change within one tick of the file system's clock may leave the identity as it is. */
    file->settled = clock_wall_ns() - staged->source.ctime_ns > SCAN_SETTLE_NS;
    reload_set_hash(reload->row, staged->sha256);
    bool is_new = reload_is_forced(reload->how) || reload->how == RELOAD_RENEW;
    if (old != NULL && !is_new && !reload->is_moved && atomic_load(&old->staged) &&
        memcmp(old->sha256, staged->sha256, sizeof old->sha256) == 0) {
        return keep_serving(reload);
    }
    enum reload_outcome outcome = read_copy(reload);
    if (outcome == RELOAD_UNDECIDED) {
        outcome = reload_claim_id(reload);
    }
    if (outcome != RELOAD_UNDECIDED) {
        return outcome;
    }
    if (is_writable(reload, &err)) {
        return reload_refuse(reload, GENERATION_RULE_WRITABLE, NULL, err.message,
                             GENERATION_FIX_WRITABLE);
    }
    struct toolrack_error exposed;
    bool is_exposed = ownership_check(file->path, &exposed) == TOOLRACK_E_REFUSED;
    const struct generation_source source = {.file = file,
                                             .identity = staged->source,
                                             .desc = reload->desc,
                                             .kept = reload->claims[0].verdict == IDENTITY_KEPT,
                                             .isolated = must_isolate(reload),
                                             .sha256 = reload->content.is_earlier ? staged->sha256
                                                                                  : NULL,
                                             .exposure = is_exposed ? exposed.message : NULL};
    int code = generation_create(&life->generations, &source, &reload->new, &err);
    if (code == TOOLRACK_E_REFUSED) {
        return reload_refuse(reload, is_exposed ? GENERATION_RULE_EXPOSED : GENERATION_RULE_SANDBOX,
                             NULL, err.message,
                             is_exposed ? GENERATION_FIX_EXPOSED : GENERATION_FIX_SANDBOX);
    }
    if (code == 0) {
        code = staging_set_copy(&life->staging, reload->new, staged, &err);
    }
    if (code < 0) {
        return reload_refuse_for_now(reload, &err);
    }
    isolate_recall(&life->isolate, reload->new);
    return RELOAD_UNDECIDED;
}

/* Who asks for a reload wants a refused content to be tried again; the watch does not. A trial says
 * nothing of a content that crashed after its trial, nor of what a person went back from: that file
 * must be named. */
static bool tries_refused(const struct reload *reload) {
    struct content_rollback rollback;
    if (reload->how == RELOAD_NAMED ||
        !content_find_rollback(&reload->life->options, reload->file->key, &rollback)) {
        return true;
    }
    return rollback.is_automatic &&
           (reload_is_forced(reload->how) ||
            (reload->how == RELOAD_IF_CHANGED && strcmp(rollback.rule, CONTENT_RULE_CRASHED) != 0));
}

enum reload_outcome reload_copy(struct reload *reload) {
    struct life *life = reload->life;
    struct toolrack_error err;
    staging_enter(&life->staging); /* until a generation has the copy */
    int code = staging_take(&life->staging, reload->file, tries_refused(reload), &reload->content,
                            &err);
    enum reload_outcome outcome = code == 0 ? make(reload) : RELOAD_UNDECIDED;
    staging_leave(&life->staging);
    switch (code) {
    case 0: return outcome;
    case STAGE_CHANGING:
        if (reload->how == RELOAD_LAST_TRY) {
            return reload_refuse(reload, "file-changing", NULL, err.message,
                                 "install it by rename (mv)");
        }
        (void)snprintf(reload->row->reason, sizeof reload->row->reason, "%s", err.message);
        return RELOAD_CHANGING;
    case TOOLRACK_E_NOT_FOUND: return reload_remove(reload);
    case TOOLRACK_E_REFUSED:
    case TOOLRACK_E_LIMIT_EXCEEDED:
        return reload_refuse(reload, "file-unusable", NULL, err.message,
                             "put a good plugin file there");
    default: return reload_refuse_for_now(reload, &err);
    }
}

enum reload_outcome reload_renew(struct reload *reload) {
    struct life *life = reload->life;
    struct toolrack_error err;
    struct plugin *old = reload->old;
    if (old == NULL) {
        return RELOAD_UNCHANGED;
    }
    if (reload->is_moved) {
        return reload_remove_moved(reload, NULL, 0, &err) < 0 ? reload_refuse_for_now(reload, &err)
                                                              : RELOAD_REMOVED;
    }
    int code = staging_copy(&life->staging, old, &err);
    if (code < 0) {
        return reload_refuse_for_now(reload, &err);
    }
    staging_note_used(&life->staging, old); /* the next one is of the history */
    staging_enter(&life->staging);
    code = stage_find(life->staging.stage, old->sha256,
                      stage_original_name(strrchr(old->image_path, '/') + 1),
                      &reload->content.staged, &err);
    reload->content.staged.source = old->identity;
    reload->content.is_earlier = true; /* it is in the history */
    enum reload_outcome outcome = code == 0 ? make(reload) : reload_refuse_for_now(reload, &err);
    if (outcome == RELOAD_UNDECIDED) {
        generation_of(reload->new)->policy.keep = 0;
    }
    staging_leave(&life->staging);
    return outcome;
}
