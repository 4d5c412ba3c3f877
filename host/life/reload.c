#include "life/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/semver.h"
#include "files/ownership.h"
#include "life/identities.h"
#include "life/keep.h"
#include "life/parts.h"
#include "life/past.h"
#include "registry/refusal.h"
#include "registry/registry.h"
#include "store/loading.h"

/* One file that is being reloaded. Each step returns the outcome, or RELOAD_UNDECIDED: then the
 * next step follows. */
struct reload {
    struct life *life;
    struct plugin_file *file;
    enum reload_how how;
    struct reload_row *row;
    struct plugin *old; /* a reference to the plugin that serves, or NULL */
    struct content content;
    struct descriptor *desc;
    struct plugin *new;
    struct identities identities;
    struct identity_claim *claims; /* the file's, then those of `others` */
    struct plugin **others;        /* plugins of other files with the same id; references */
    size_t other_count;
    const char *bad_rule; /* the content of the file is refused by it, and no other one serves */
};

void reload_row_finish(struct reload_row *row) {
    descriptor_unref(row->desc);
    row->desc = NULL;
}

/* --------------------------------------------------------------------- rows */

static void name_row(struct reload_row *row, struct descriptor *desc) {
    if (row->desc == NULL && desc != NULL && desc->plugin != NULL) {
        row->desc = descriptor_ref(desc);
    }
}

static void set_hash(struct reload_row *row, const uint8_t *sha256) {
    (void)sodium_bin2hex(row->sha256, sizeof row->sha256, sha256, STAGE_HASH_SIZE);
}

struct toolrack_refusal *reload_refusals(const char *file, const struct descriptor *desc,
                                         size_t *ret_count) {
    struct toolrack_refusal *rows = calloc(desc->finding_count + 1u, sizeof *rows);
    *ret_count = 0;
    for (uint32_t i = 0; rows != NULL && i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (finding->severity == FINDING_ERROR) {
            rows[(*ret_count)++] = (struct toolrack_refusal){
                    .file = file,
                    .plugin = desc->plugin != NULL ? desc->plugin->id : NULL,
                    .tool = finding->tool,
                    .rule = finding->rule,
                    .reason = finding->cause,
                    .fix = finding->fix};
        }
    }
    return rows;
}

/* The plugin id of a file: from its present content, else of the plugin that serves. */
static const char *id_of(const struct reload *reload) {
    return reload->desc != NULL && reload->desc->plugin != NULL ? reload->desc->plugin->id
           : reload->old != NULL                                ? reload->old->desc->plugin->id
                                                                : NULL;
}

/* ------------------------------------------------------------------ refused */

/* The present content of the file does not serve: report it. The plugin that serves stays. */
static enum reload_outcome refuse_rows(struct reload *reload, const struct toolrack_refusal *rows,
                                       size_t count) {
    struct life *life = reload->life;
    struct toolrack_error err;
    const struct registry_swap swap = {
            .file = reload->file->path, .refusals = rows, .refusal_count = count};
    const struct toolrack_refusal *first = &rows[0];
    if (registry_swap(life->options.registry, &swap, NULL, &err) < 0) {
        log_line(life->options.log, LOG_ERROR, "reload", "%s: %s", reload->file->path, err.message);
    }
    reload->file->is_refused = true;
    struct toolrack_error words; /* cuts between characters, makes it one line */
    (void)error_set(&words, TOOLRACK_E_REFUSED, "%s%s%s", first->reason,
                    first->fix != NULL ? "; " : "", first->fix != NULL ? first->fix : "");
    memcpy(reload->row->reason, words.message, sizeof reload->row->reason);
    (void)error_set(&words, TOOLRACK_E_REFUSED, "%s is refused%s: %s", reload->file->path,
                    reload->old != NULL && atomic_load(&reload->old->staged)
                            ? ", and its previous content keeps serving"
                            : "",
                    reload->row->reason);
    life_tell(life, TOOLRACK_EVENT_REFUSED, id_of(reload), words.message);
    return RELOAD_REFUSED;
}

static enum reload_outcome refuse(struct reload *reload, const char *rule, const char *tool,
                                  const char *reason, const char *fix) {
    return refuse_rows(reload,
                       &(struct toolrack_refusal){.file = reload->file->path,
                                                  .plugin = id_of(reload),
                                                  .tool = tool,
                                                  .rule = rule,
                                                  .reason = reason,
                                                  .fix = fix},
                       1);
}

/* The cause is not the file, for example no memory or a full disk. The file is tried again. */
static enum reload_outcome refuse_for_now(struct reload *reload, const struct toolrack_error *err) {
    return refuse(reload, "reload-failed", NULL, err->message,
                  "reload it when the cause is removed");
}

/* ------------------------------------------------------------------------ exchange */

/* Whether a file, or a tool of it, may be registered when another one is gone. */
static bool waits_for_another(const struct toolrack_refusal *refusal) {
    return refusal->file != NULL && (strcmp(refusal->rule, REFUSAL_TOOL_EXISTS) == 0 ||
                                     strcmp(refusal->rule, IDENTITY_RULE_TAKEN) == 0 ||
                                     strcmp(refusal->rule, IDENTITY_RULE_BOUND) == 0);
}

/* Files that were refused for another file, or tools of them, may be registered now: all, or the
 * tools of one name. */
static void complete_others(struct life *life, const struct plugin_file *but, const char *tool) {
    struct toolrack_refusals *refusals = registry_refusals(life->options.registry);
    const struct plugin_file *last = NULL;
    for (size_t i = 0; refusals != NULL && i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, i);
        struct plugin_file *file =
                waits_for_another(refusal) && (tool == NULL || (refusal->tool != NULL &&
                                                                strcmp(refusal->tool, tool) == 0))
                        ? files_find(&life->files, refusal->file)
                        : NULL;
        if (file == NULL || file == but || file == last) {
            continue;
        }
        last = file;
        CLEANUP(plugin_unrefp)
        struct plugin *plugin = generations_serving(&life->generations, file);
        struct toolrack_error err;
        if (plugin == NULL) {
            /* None of its tools could be registered, so there is no generation to complete. A file
             * that another thread has taken is skipped: that thread looks at it. */
            struct reload_row row;
            if (files_take(&life->files, file, 1)) {
                (void)reload_file(life, file, RELOAD_OPENING, &row);
                reload_row_finish(&row);
                files_give(&life->files, file);
            }
        } else if (registry_complete(life->options.registry, plugin, &err) < 0) {
            log_line(life->options.log, LOG_ERROR, "reload", "%s: tools may be missing: %s",
                     file->path, err.message);
        }
    }
    toolrack_refusals_free(refusals);
}

void reload_waiting(struct life *life, const char *tool) {
    complete_others(life, NULL, tool);
}

/* From here on calls get the new generation, if any; the old one ends with its last call. */
static int exchange_tools(struct reload *reload, const struct toolrack_refusal *rows, size_t count,
                          struct toolrack_error *err) {
    struct life *life = reload->life;
    size_t removed = 0;
    CLEANUP(keep_choice_finish) struct keep_choice choice;
    keep_choose(&life->generations, reload->file, reload->old, reload->new,
                reload->content.is_earlier, &choice);
    const struct registry_swap swap = {.old = reload->old,
                                       .new = reload->new,
                                       .keeps = choice.keeps,
                                       .dropped = choice.dropped,
                                       .dropped_count = choice.dropped_count,
                                       .file = reload->file->path,
                                       .refusals = rows,
                                       .refusal_count = count};
    int code = registry_swap(life->options.registry, &swap, &removed, err);
    if (code < 0) {
        return code;
    }
    if (reload->old != NULL) {
        reload->row->old = reload->old->generation;
        reload->row->old_is_kept = atomic_load(&reload->old->kept);
        if (!reload->row->old_is_kept) {
            retire_note(&life->retirement, reload->old);
        }
    }
    for (size_t i = 0; i < choice.dropped_count; i++) {
        retire_note(&life->retirement, choice.dropped[i]);
    }
    generations_serve(&life->generations, reload->file, reload->new);
    if (removed > 0) {
        complete_others(life, reload->file, NULL);
    }
    return 0;
}

/* ---------------------------------------------------------------------- other files */

/* How long a file waits for another one whose id it takes over. */
#define RELOAD_TAKE_MS_MAX 5000u

/* A file from an origin that comes first has the id now: remove the tools of the file that had it.
 * A file waits only for files that come after it, so no two files wait for each other. */
static void give_way(struct reload *reload, struct plugin *plugin,
                     const struct identity_claim *claim) {
    struct life *life = reload->life;
    struct plugin_file *file = generation_of(plugin)->file;
    struct reload_row row = {0};
    struct toolrack_error err;
    const struct toolrack_refusal refusal = {.file = file->path,
                                             .plugin = plugin->desc->plugin->id,
                                             .rule = claim->rule,
                                             .reason = claim->reason,
                                             .fix = claim->fix};
    if (!files_take(&life->files, file,
                    clock_now_ns() + RELOAD_TAKE_MS_MAX * (uint64_t)CLOCK_NS_PER_MS)) {
        log_line(life->options.log, LOG_ERROR, "reload",
                 "%s is in use by another reload: reload it again, since %s", file->path,
                 claim->reason);
        return;
    }
    struct reload other = {.life = life, .file = file, .row = &row, .old = plugin};
    if (exchange_tools(&other, &refusal, 1, &err) < 0) {
        log_line(life->options.log, LOG_ERROR, "reload", "%s: %s", file->path, err.message);
    } else {
        struct toolrack_error words; /* cuts between characters, makes it one line */
        file->is_refused = true;
        (void)error_set(&words, TOOLRACK_E_REFUSED, "%s is refused: %s; %s", file->path,
                        claim->reason, claim->fix);
        life_tell(life, TOOLRACK_EVENT_REFUSED, refusal.plugin, words.message);
        identities_note_refused(&life->options, claim);
    }
    reload_row_finish(&row);
    files_give(&life->files, file);
}

/* Of the files with an id that serve, which are of one origin, all but the one with the highest
 * version are kept versions. */
static void settle_kept(struct life *life, const char *id) {
    CLEANUP(plugin_unrefp) struct plugin *highest = NULL;
    struct plugin *other;
    for (size_t at = 0; (other = generations_hold_claimant(&life->generations, id, at)) != NULL;
         at++) {
        if (highest == NULL ||
            semver_compare(other->desc->plugin->version, highest->desc->plugin->version) > 0) {
            plugin_unref(highest);
            highest = plugin_ref(other);
        }
        plugin_unref(other);
    }
    for (size_t at = 0; (other = generations_hold_claimant(&life->generations, id, at)) != NULL;
         at++) {
        struct toolrack_error err;
        if (registry_set_kept(life->options.registry, other, other != highest, &err) < 0) {
            log_line(life->options.log, LOG_ERROR, "reload", "%s: %s", other->path, err.message);
        }
        plugin_unref(other);
    }
}

/* The file serves: the others with its id give way, or become kept versions. */
static void settle_others(struct reload *reload) {
    identities_record(&reload->identities);
    for (size_t i = 0; i < reload->other_count; i++) {
        if (reload->claims[i + 1].verdict == IDENTITY_REFUSED) {
            give_way(reload, reload->others[i], &reload->claims[i + 1]);
        }
    }
    settle_kept(reload->life, reload->desc->plugin->id);
    if (reload->old != NULL &&
        strcmp(reload->old->desc->plugin->id, reload->desc->plugin->id) != 0) {
        settle_kept(reload->life, reload->old->desc->plugin->id);
    }
}

/* Hold the plugins of other files that have the same id. */
static bool find_others(struct reload *reload) {
    struct generations *generations = &reload->life->generations;
    const char *id = reload->desc->plugin->id;
    size_t room = 0;
    struct plugin *other;
    for (size_t at = 0; (other = generations_hold_claimant(generations, id, at)) != NULL; at++) {
        if (generation_of(other)->file == reload->file) {
            plugin_unref(other);
            continue;
        }
        if (reload->other_count == room) {
            room = room == 0 ? 4 : 2 * room;
            struct plugin **grown = realloc(reload->others, room * sizeof(struct plugin *));
            if (grown == NULL) {
                plugin_unref(other);
                return false;
            }
            reload->others = grown;
        }
        reload->others[reload->other_count++] = other;
    }
    return true;
}

/* May the file use its id? */
static enum reload_outcome claim_id(struct reload *reload) {
    struct toolrack_error err;
    const struct life_options *options = &reload->life->options;
    bool complete = find_others(reload);
    reload->claims = complete ? calloc(reload->other_count + 1, sizeof *reload->claims) : NULL;
    if (reload->claims == NULL) {
        (void)error_oom(&err);
        return refuse_for_now(reload, &err);
    }
    reload->claims[0] = (struct identity_claim){.path = reload->file->path,
                                                .folder = reload->file->folder,
                                                .identity = reload->content.staged.source,
                                                .desc = reload->desc};
    for (size_t i = 0; i < reload->other_count; i++) {
        const struct plugin *other = reload->others[i];
        reload->claims[i + 1] =
                (struct identity_claim){.path = other->path,
                                        .folder = generation_of(other)->file->folder,
                                        .identity = other->identity,
                                        .desc = other->desc,
                                        .came_before = true};
    }
    if (identities_judge(&reload->identities, options, reload->claims, reload->other_count + 1,
                         false, &err) < 0) {
        return refuse_for_now(reload, &err);
    }
    const struct identity_claim *claim = &reload->claims[0];
    if (claim->verdict != IDENTITY_REFUSED) {
        return RELOAD_UNDECIDED;
    }
    identities_note_refused(options, claim);
    return refuse(reload, claim->rule, NULL, claim->reason, claim->fix);
}

static enum reload_outcome exchange(struct reload *reload) {
    const struct life_options *options = &reload->life->options;
    struct plugin_file *file = reload->file;
    struct toolrack_error err;
    size_t count = 0;
    struct toolrack_refusal *rows = reload_refusals(file->path, reload->desc, &count);
    int code = rows != NULL ? exchange_tools(reload, rows, count, &err) : error_oom(&err);
    free(rows);
    if (code < 0) {
        return refuse_for_now(reload, &err);
    }
    if (reload->old != NULL && plugin_state(reload->old) == TOOLRACK_STATE_LEFT_OUT &&
        store_loading_clear(options->store, file->path, &err) < 0) {
        log_line(options->log, LOG_WARNING, "store", "'%s' will be left out again: %s",
                 reload->old->desc->plugin->id, err.message);
    }
    file->is_refused = count > 0;
    reload->row->generation = reload->new->generation;
    settle_others(reload);
    if (!reload->content.is_earlier) {
        content_note(options, file->path, reload->new);
        content_end_rollback(options, file->path); /* a content that was refused before is good */
    } else if (reload->content.rollback.is_automatic) {
        const struct content_rollback *rollback = &reload->content.rollback;
        past_tell_refused(reload->life, file, reload->new, rollback->rule, rollback->reason);
    }
    if (reload->old == NULL) {
        return RELOAD_ADDED;
    }
    char words[ERROR_FIELD_MAX];
    (void)snprintf(words, sizeof words, "generation %u of content %.16s%s", reload->row->generation,
                   reload->row->sha256,
                   reload->how == RELOAD_RENEW  ? ", with another policy"
                   : reload->content.is_earlier ? ", by a rollback"
                                                : "");
    life_tell(reload->life, TOOLRACK_EVENT_RELOADED, reload->new->desc->plugin->id, words);
    return RELOAD_RELOADED;
}

/* The file is gone: remove its tools. */
static enum reload_outcome remove_tools(struct reload *reload) {
    struct plugin_file *file = reload->file;
    struct toolrack_error err;
    bool was_known = reload->old != NULL || file->is_refused;
    /* A program that removes a file and writes it again gets some time for that. */
    if (reload->how == RELOAD_AND_KEEP && was_known && file->tries < RELOAD_GONE_TRIES) {
        return RELOAD_CHANGING;
    }
    content_end_rollback(&reload->life->options, file->path);
    content_removed(&reload->life->options, file->path);
    if (was_known && exchange_tools(reload, NULL, 0, &err) < 0) {
        return refuse_for_now(reload, &err);
    }
    if (reload->old != NULL) {
        settle_kept(reload->life, reload->old->desc->plugin->id);
    }
    file->exists = false;
    file->is_refused = false;
    return was_known ? RELOAD_REMOVED : RELOAD_ABSENT;
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
    if (old == NULL || !atomic_load(&old->staged) ||
        memcmp(old->sha256, reload->content.file_sha256, STAGE_HASH_SIZE) == 0) {
        reload->bad_rule = rule;
        return;
    }
    memcpy(rollback.bad_sha256, reload->content.file_sha256, STAGE_HASH_SIZE);
    memcpy(rollback.use_sha256, old->sha256, STAGE_HASH_SIZE);
    (void)snprintf(rollback.rule, sizeof rollback.rule, "%s", rule);
    (void)snprintf(rollback.reason, sizeof rollback.reason, "%s", reason);
    content_go_back(&reload->life->options, reload->file->path, &rollback);
}

/* A generation that replaces another is tried out first. A new one is loaded at its first call, as
 * at the start of the host, unless it has examples. */
static enum reload_outcome try_out(struct reload *reload) {
    struct toolrack_error err;
    struct trials *trials = &reload->life->trials;
    bool is_tried = reload->how != RELOAD_OPENING && reload->how != RELOAD_RENEW &&
                    (reload->old != NULL || reload->how == RELOAD_FORCED ||
                     trial_has_examples(trials, reload->new));
    int code = is_tried ? trial_run(trials, reload->new, &err) : 0;
    if (code == TOOLRACK_E_REFUSED) {
        go_back(reload, err.tool[0] != '\0' ? "self-test" : "cannot-load", err.message);
        return refuse(reload, err.tool[0] != '\0' ? "self-test" : "cannot-load",
                      err.tool[0] != '\0' ? err.tool : NULL, err.message,
                      "correct the plugin and put it there again");
    }
    return code < 0 ? refuse_for_now(reload, &err) : RELOAD_UNDECIDED;
}

/* ------------------------------------------------------------------ copy, read, make */

/* Whether an earlier content is used because the one that the file has was refused. */
static bool is_in_place_of_refused(const struct reload *reload) {
    return reload->content.is_earlier && reload->content.rollback.is_automatic;
}

/* The file has the content that serves (again): remove its refusals. */
static enum reload_outcome keep_serving(struct reload *reload) {
    struct plugin *old = reload->old;
    struct toolrack_error err;
    size_t count = 0;
    reload->row->generation = old->generation;
    if (!reload->file->is_refused || is_in_place_of_refused(reload)) {
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
        return refuse_for_now(reload, &err);
    }
    if (reload->desc->plugin != NULL) {
        return RELOAD_UNDECIDED;
    }
    size_t count = 0;
    struct toolrack_refusal *rows = reload_refusals(reload->file->path, reload->desc, &count);
    if (count == 0) {
        (void)error_oom(&err);
    }
    enum reload_outcome outcome =
            count > 0 ? refuse_rows(reload, rows, count) : refuse_for_now(reload, &err);
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
             "now on it runs in workers. 'toolrack why' says what keeps them",
             images, reload->file->path);
    return true;
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
    set_hash(reload->row, staged->sha256);
    bool is_new = reload->how == RELOAD_FORCED || reload->how == RELOAD_RENEW;
    if (old != NULL && !is_new && atomic_load(&old->staged) &&
        memcmp(old->sha256, staged->sha256, sizeof old->sha256) == 0) {
        return keep_serving(reload);
    }
    enum reload_outcome outcome = read_copy(reload);
    if (outcome == RELOAD_UNDECIDED) {
        outcome = claim_id(reload);
    }
    if (outcome != RELOAD_UNDECIDED) {
        return outcome;
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
        return refuse(reload, is_exposed ? GENERATION_RULE_EXPOSED : GENERATION_RULE_SANDBOX, NULL,
                      err.message, is_exposed ? GENERATION_FIX_EXPOSED : GENERATION_FIX_SANDBOX);
    }
    if (code == 0) {
        code = staging_set_copy(&life->staging, reload->new, staged, &err);
    }
    if (code < 0) {
        return refuse_for_now(reload, &err);
    }
    isolate_recall(&life->isolate, reload->new);
    return RELOAD_UNDECIDED;
}

/* Who asks for a reload wants a refused content to be tried again; the watch does not. A trial says
 * nothing of a content that crashed after its trial: that file must be named. */
static bool tries_refused(const struct reload *reload) {
    struct content_rollback rollback;
    return reload->how == RELOAD_FORCED ||
           (reload->how == RELOAD_IF_CHANGED &&
            !(content_find_rollback(&reload->life->options, reload->file->path, &rollback) &&
              strcmp(rollback.rule, CONTENT_RULE_CRASHED) == 0));
}

static enum reload_outcome copy(struct reload *reload) {
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
            return refuse(reload, "file-changing", NULL, err.message, "install it by rename (mv)");
        }
        (void)snprintf(reload->row->reason, sizeof reload->row->reason, "%s", err.message);
        return RELOAD_CHANGING;
    case TOOLRACK_E_NOT_FOUND: return remove_tools(reload);
    case TOOLRACK_E_REFUSED:
    case TOOLRACK_E_LIMIT_EXCEEDED:
        return refuse(reload, "file-unusable", NULL, err.message, "put a good plugin file there");
    default: return refuse_for_now(reload, &err);
    }
}

/* The next generation is made of the copy that serves, whatever the file has become. Kept versions
 * go: they have the old policy. */
static enum reload_outcome renew(struct reload *reload) {
    struct life *life = reload->life;
    struct toolrack_error err;
    struct plugin *old = reload->old;
    if (old == NULL) {
        return RELOAD_UNCHANGED;
    }
    int code = staging_copy(&life->staging, old, &err);
    if (code < 0) {
        return refuse_for_now(reload, &err);
    }
    staging_enter(&life->staging);
    code = stage_find(life->staging.stage, old->sha256,
                      stage_original_name(strrchr(old->image_path, '/') + 1),
                      &reload->content.staged, &err);
    reload->content.staged.source = old->identity;
    reload->content.is_earlier = true; /* it is in the history */
    enum reload_outcome outcome = code == 0 ? make(reload) : refuse_for_now(reload, &err);
    if (outcome == RELOAD_UNDECIDED) {
        generation_of(reload->new)->policy.keep = 0;
    }
    staging_leave(&life->staging);
    return outcome;
}

/* --------------------------------------------------------------------------- settle */

/* Copy the file that serves, so that it can be called, and rolled back to, after the file changes.
 */
static void keep_copy(struct reload *reload) {
    struct toolrack_error err;
    if (reload->old != NULL && staging_copy(&reload->life->staging, reload->old, &err) < 0) {
        log_line(reload->life->options.log, LOG_DEBUG, "reload", "%s", err.message);
    }
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
            return remove_tools(reload);
        }
        return why == ENOENT || why == ELOOP
                       ? refuse(reload, "file-dangling-link", NULL,
                                why == ENOENT
                                        ? "it is a symbolic link to a file that does not exist"
                                        : "it is a symbolic link loop",
                                "correct the link or remove it")
                       : refuse(reload, "file-unreadable", NULL, strerror(why),
                                "let the user that runs the host read the file and its folder");
    }
    struct file_identity identity = identity_of(&st);
    bool same = file->exists && file->settled && identity_same(&identity, &file->identity);
    if (same && !file->is_refused && reload->how != RELOAD_FORCED &&
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
    enum reload_outcome outcome = how == RELOAD_RENEW ? renew(&reload) : settle(&reload);
    if (outcome == RELOAD_UNDECIDED && how != RELOAD_RENEW) {
        outcome = copy(&reload);
    }
    if (outcome == RELOAD_UNDECIDED) {
        outcome = try_out(&reload);
    }
    if (outcome == RELOAD_UNDECIDED) {
        outcome = exchange(&reload);
    }
    if (reload.old != NULL && ret->generation == 0 && outcome == RELOAD_REFUSED) {
        ret->generation = reload.old->generation;
    }
    name_row(ret, reload.desc);
    name_row(ret, reload.old != NULL ? reload.old->desc : NULL);
    if (ret->sha256[0] == '\0' && reload.old != NULL && atomic_load(&reload.old->staged)) {
        set_hash(ret, reload.old->sha256);
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
        if (past_go_back(life, file, reload.content.file_sha256, reload.bad_rule, ret->reason)) {
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
        if (outcome != RELOAD_CHANGING || (until_ns != 0 && now_ns >= until_ns) ||
            now_ns - began_ns >= (uint64_t)most_ms * CLOCK_NS_PER_MS) {
            return outcome;
        }
        reload_row_finish(ret);
        (void)nanosleep(&(struct timespec){.tv_nsec = RELOAD_SETTLE_PAUSE_MS * CLOCK_NS_PER_MS},
                        NULL);
    }
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
