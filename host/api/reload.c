#include "api/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/content.h"
#include "api/host.h"
#include "api/retire.h"
#include "base/clock.h"
#include "base/error.h"
#include "files/folder.h"
#include "store/loading.h"

/* One file on its way. */
struct reload {
    struct toolrack *host;
    struct plugin_file *file;
    enum reload_how how;
    struct reload_row *row;
    struct plugin *old; /* a reference on what serves, or NULL */
    struct content content;
    struct descriptor *desc;
    struct plugin *new;
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

/* The id that a file is known by: what it says now, or what serves. */
static const char *id_of(const struct reload *reload) {
    return reload->desc != NULL && reload->desc->plugin != NULL ? reload->desc->plugin->id
           : reload->old != NULL                                ? reload->old->desc->plugin->id
                                                                : NULL;
}

/* ------------------------------------------------------------------ refused */

/* What is in the file now does not serve: say so, and leave what does. */
static void refuse_rows(struct reload *reload, const struct toolrack_refusal *rows, size_t count) {
    struct toolrack *host = reload->host;
    struct toolrack_error err;
    const struct registry_swap swap = {
            .file = reload->file->path, .refusals = rows, .refusal_count = count};
    const struct toolrack_refusal *first = &rows[0];
    if (registry_swap(host->registry, &swap, NULL, &err) < 0) {
        log_line(&host->log, LOG_ERROR, "reload", "%s: %s", reload->file->path, err.message);
    }
    reload->file->is_refused = true;
    reload->row->outcome = RELOAD_REFUSED;
    struct toolrack_error words; /* cuts at a character, keeps it one line */
    (void)error_set(&words, TOOLRACK_E_REFUSED, "%s%s%s", first->reason,
                    first->fix != NULL ? "; " : "", first->fix != NULL ? first->fix : "");
    memcpy(reload->row->reason, words.message, sizeof reload->row->reason);
    (void)error_set(&words, TOOLRACK_E_REFUSED, "%s is refused%s: %s", reload->file->path,
                    reload->old != NULL && atomic_load(&reload->old->staged)
                            ? ", and what it had before goes on serving"
                            : "",
                    reload->row->reason);
    host_event(host, TOOLRACK_EVENT_REFUSED, id_of(reload), words.message);
}

static void refuse(struct reload *reload, const char *rule, const char *tool, const char *reason,
                   const char *fix) {
    refuse_rows(reload,
                &(struct toolrack_refusal){.file = reload->file->path,
                                           .plugin = id_of(reload),
                                           .tool = tool,
                                           .rule = rule,
                                           .reason = reason,
                                           .fix = fix},
                1);
}

/* For what says nothing of the file: no memory, no room on the disk. It is tried again. */
static void refuse_for_now(struct reload *reload, const struct toolrack_error *err) {
    refuse(reload, "reload-failed", NULL, err->message, "reload it when that has been put right");
}

static void refuse_unread(struct reload *reload, const struct toolrack_error *err) {
    switch (err->code) {
    case TOOLRACK_E_REFUSED:
    case TOOLRACK_E_LIMIT_EXCEEDED:
        refuse(reload, "file-unusable", NULL, err->message, "put a good plugin file there");
        break;
    default: refuse_for_now(reload, err); break;
    }
}

/* ------------------------------------------------------------------ exchange */

/* The copy that the old generation was made of stays while somebody may want to go back to it. */
static void keep_previous(struct reload *reload) {
    struct plugin *old = reload->old;
    bool other = old != NULL && atomic_load(&old->staged) &&
                 (reload->new == NULL ||
                  memcmp(old->sha256, reload->new->sha256, sizeof old->sha256) != 0);
    char *path = other ? strdup(old->image_path) : NULL;
    if (path != NULL) {
        (void)pthread_mutex_lock(&reload->host->generations_lock);
        char *before = reload->file->previous_path;
        reload->file->previous_path = path;
        (void)pthread_mutex_unlock(&reload->host->generations_lock);
        free(before);
    }
}

/* A file of which no tool could be registered has no generation that could be completed. One that
 * somebody has taken is being looked at anyway. */
static void begin_again(struct toolrack *host, struct plugin_file *file) {
    if (files_take(host, file, 1)) {
        struct reload_row row;
        reload_file(host, file, RELOAD_OPENING, &row);
        reload_row_finish(&row);
        files_give(host, file);
    }
}

static void complete(struct toolrack *host, struct plugin_file *file) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = files_serving(host, file);
    struct toolrack_error err;
    if (plugin == NULL) {
        begin_again(host, file);
    } else if (registry_complete(host->registry, plugin, &err) < 0) {
        log_line(&host->log, LOG_ERROR, "reload", "%s: tools may be missing: %s", file->path,
                 err.message);
    }
}

/* Tools of other files that were refused because their names were taken may be registered now. */
static void complete_others(struct toolrack *host, const struct plugin_file *but) {
    struct toolrack_refusals *refusals = registry_refusals(host->registry);
    const struct plugin_file *last = NULL;
    for (size_t i = 0; refusals != NULL && i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        struct plugin_file *file = row->file != NULL && strcmp(row->rule, "tool-exists") == 0
                                           ? files_find(host, row->file)
                                           : NULL;
        if (file != NULL && file != but && file != last) {
            complete(host, file);
            last = file;
        }
    }
    toolrack_refusals_free(refusals);
}

static int exchange(struct reload *reload, const struct toolrack_refusal *rows, size_t count,
                    struct toolrack_error *err) {
    struct toolrack *host = reload->host;
    size_t removed = 0;
    const struct registry_swap swap = {.old = reload->old,
                                       .new = reload->new,
                                       .file = reload->file->path,
                                       .refusals = rows,
                                       .refusal_count = count};
    int code = registry_swap(host->registry, &swap, &removed, err);
    if (code < 0) {
        return code;
    }
    if (reload->old != NULL) {
        reload->row->old = reload->old->generation;
        retire_note(host, reload->old);
    }
    files_serve(host, reload->file, reload->new);
    keep_previous(reload);
    if (removed > 0) {
        complete_others(host, reload->file);
    }
    return 0;
}

/* One that was left out since a process died of it has been loaded, or is another now. */
static void clear_marks(const struct reload *reload) {
    struct toolrack_error err;
    const struct toolrack *host = reload->host;
    if (reload->old != NULL && plugin_state(reload->old) == TOOLRACK_STATE_LEFT_OUT &&
        store_loading_clear(host->store, reload->file->path, &err) < 0) {
        log_line(&host->log, LOG_WARNING, "store", "'%s' will be left out again: %s",
                 reload->old->desc->plugin->id, err.message);
    }
}

/* Tell what is not as it was approved. Of new tools that is told as they are. */
static void tell_changed(const struct reload *reload) {
    const struct descriptor *desc = reload->old != NULL ? reload->old->desc : NULL;
    for (uint32_t i = 0; desc != NULL && i < desc->tool_count; i++) {
        char selector[2 * ERROR_FIELD_MAX];
        (void)snprintf(selector, sizeof selector, "%s@%s", desc->tools[i].tool->name,
                       desc->tools[i].version);
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = registry_get(reload->host->registry, selector);
        if (tool != NULL && tool->reg->plugin == reload->new) {
            permit_tell_changed(reload->host->permit, tool);
        }
    }
}

static void tell_reloaded(const struct reload *reload) {
    char words[ERROR_FIELD_MAX];
    (void)snprintf(words, sizeof words, "generation %u of content %.16s%s", reload->row->generation,
                   reload->row->sha256,
                   reload->content.is_earlier ? ", to which somebody went back" : "");
    host_event(reload->host, TOOLRACK_EVENT_RELOADED, reload->new->desc->plugin->id, words);
}

static void publish(struct reload *reload) {
    struct plugin_file *file = reload->file;
    struct reload_row *row = reload->row;
    struct toolrack_error err;
    size_t count = 0;
    struct toolrack_refusal *rows = reload_refusals(file->path, reload->desc, &count);
    int code = rows != NULL ? exchange(reload, rows, count, &err) : error_oom(&err);
    free(rows);
    if (code < 0) {
        refuse_for_now(reload, &err);
        return;
    }
    tell_changed(reload);
    clear_marks(reload);
    file->is_refused = count > 0;
    row->outcome = reload->old != NULL ? RELOAD_RELOADED : RELOAD_ADDED;
    row->generation = reload->new->generation;
    if (!reload->content.is_earlier) {
        content_note(reload->host, file, reload->new);
    }
    if (reload->old != NULL) {
        tell_reloaded(reload);
    }
}

/* --------------------------------------------------------------- a generation */

/* Images that stay are memory that nothing gives back: after some of them a file's next generation
 * runs where memory ends with a process. */
static bool must_isolate(struct reload *reload) {
    unsigned images = retire_count_images(reload->host, reload->file);
    if (images < RESIDENT_GENERATIONS_MAX) {
        return false;
    }
    log_line(&reload->host->log, LOG_WARNING, reload->desc->plugin->id,
             "%u earlier generations of %s are still in this process, the most there may be; from "
             "now on it runs in workers. 'toolrack why' says what keeps them",
             images, reload->file->path);
    return true;
}

static int create(struct reload *reload, struct toolrack_error *err) {
    const struct generation_source source = {.file = reload->file,
                                             .identity = reload->content.staged.source,
                                             .desc = reload->desc,
                                             .isolated = must_isolate(reload)};
    int code = generation_create(reload->host, &source, &reload->new, err);
    return code < 0 ? code
                    : generation_set_copy(reload->host, reload->new, &reload->content.staged, err);
}

/* What takes the place of another must be seen to work; what is new is loaded at its first call,
 * like at the start of the host, unless it has examples. */
static int try_out(struct reload *reload, struct toolrack_error *err) {
    if (reload->how == RELOAD_OPENING) {
        return 0;
    }
    return reload->old != NULL || reload->how == RELOAD_FORCED ||
                           trial_has_examples(reload->host, reload->new)
                   ? trial_run(reload->host, reload->new, err)
                   : 0;
}

static void exchange_if_good(struct reload *reload) {
    struct toolrack_error err;
    int code = try_out(reload, &err);
    if (code == TOOLRACK_E_REFUSED) {
        refuse(reload, err.tool[0] != '\0' ? "self-test" : "cannot-load",
               err.tool[0] != '\0' ? err.tool : NULL, err.message,
               "mend the plugin and put it there again");
    } else if (code < 0) {
        refuse_for_now(reload, &err);
    } else {
        publish(reload);
    }
}

/* ------------------------------------------------------------------- content */

static int read_copy(struct reload *reload, struct toolrack_error *err) {
    const char *path = reload->content.staged.path;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot open %s: %s", path, strerror(errno));
    }
    bool no_memory;
    struct descriptor_options options = host_descriptor_options(&no_memory);
    int code = descriptor_read(fd, &options, &reload->desc, err);
    return code == 0 && no_memory ? error_oom(err) : code;
}

/* The file has the content that serves: what was wrong with it meanwhile is over. */
static void keep_serving(struct reload *reload) {
    struct plugin *old = reload->old;
    reload->row->outcome = RELOAD_UNCHANGED;
    reload->row->generation = old->generation;
    if (!reload->file->is_refused) {
        return;
    }
    size_t count = 0;
    struct toolrack_error err;
    struct toolrack_refusal *rows = reload_refusals(reload->file->path, old->desc, &count);
    const struct registry_swap swap = {
            .file = reload->file->path, .refusals = rows, .refusal_count = count};
    if (rows != NULL && registry_swap(reload->host->registry, &swap, NULL, &err) == 0) {
        reload->file->is_refused = count > 0;
    }
    free(rows);
}

static bool serves_already(const struct reload *reload) {
    return reload->old != NULL && reload->how != RELOAD_FORCED &&
           atomic_load(&reload->old->staged) &&
           memcmp(reload->old->sha256, reload->content.staged.sha256, sizeof reload->old->sha256) ==
                   0;
}

/* A change within the time that a file system's clock stands still may not show in the identity. */
static bool has_settled(const struct file_identity *identity) {
    return clock_wall_ns() - identity->ctime_ns > SCAN_SETTLE_NS;
}

/* Read and check the copy. False: there is nothing in it that could serve. */
static bool check_content(struct reload *reload) {
    struct toolrack_error err;
    size_t count = 0;
    if (read_copy(reload, &err) < 0) {
        refuse_for_now(reload, &err);
        return false;
    }
    if (reload->desc->plugin != NULL) {
        return true;
    }
    struct toolrack_refusal *rows = reload_refusals(reload->file->path, reload->desc, &count);
    if (count > 0) {
        refuse_rows(reload, rows, count);
    } else {
        (void)error_oom(&err);
        refuse_for_now(reload, &err);
    }
    free(rows);
    return false;
}

/* Make a generation of it. False: there is none to be made, or none can be. */
static bool use_content(struct reload *reload) {
    struct toolrack_error err;
    const struct staged *staged = &reload->content.staged;
    reload->file->exists = true;
    reload->file->identity = staged->source;
    reload->file->settled = has_settled(&staged->source);
    set_hash(reload->row, staged->sha256);
    if (serves_already(reload)) {
        keep_serving(reload);
        return false;
    }
    if (!check_content(reload)) {
        return false;
    }
    if (create(reload, &err) < 0) {
        refuse_for_now(reload, &err);
        return false;
    }
    return true;
}

static void remove_tools(struct reload *reload);

static void take_content(struct reload *reload) {
    struct toolrack *host = reload->host;
    struct toolrack_error err;
    /* Until the copy is known as that of a generation. */
    (void)pthread_rwlock_rdlock(&host->stage_use);
    int code = content_take(host, reload->file, &reload->content, &err);
    bool made = code == 0 && use_content(reload);
    (void)pthread_rwlock_unlock(&host->stage_use);
    if (made) {
        exchange_if_good(reload);
    } else if (code == STAGE_CHANGING && reload->how == RELOAD_LAST_TRY) {
        refuse(reload, "file-changing", NULL, err.message, "install it by rename (mv)");
    } else if (code == STAGE_CHANGING) {
        reload->row->outcome = RELOAD_CHANGING;
        (void)snprintf(reload->row->reason, sizeof reload->row->reason, "%s", err.message);
    } else if (code == TOOLRACK_E_NOT_FOUND) {
        remove_tools(reload);
    } else if (code < 0) {
        refuse_unread(reload, &err);
    }
}

/* ------------------------------------------------------------------- removed */

static void remove_tools(struct reload *reload) {
    struct plugin_file *file = reload->file;
    struct toolrack_error err;
    bool was_known = reload->old != NULL || file->is_refused;
    /* Whoever removes a file in order to make it anew has a moment for that. */
    if (reload->how == RELOAD_AND_KEEP && was_known && file->tries < RELOAD_GONE_TRIES) {
        reload->row->outcome = RELOAD_CHANGING;
        return;
    }
    content_end_rollback(reload->host, file->path);
    if (was_known && exchange(reload, NULL, 0, &err) < 0) {
        refuse_for_now(reload, &err);
        return;
    }
    file->exists = false;
    file->is_refused = false;
    reload->row->outcome = was_known ? RELOAD_REMOVED : RELOAD_ABSENT;
}

/* ---------------------------------------------------------------------- look */

/* Copy what serves, so that it can be called and gone back to when the file is another. */
static void keep_copy(struct reload *reload) {
    struct plugin *old = reload->old;
    struct toolrack_error err;
    if (old != NULL && generation_stage(reload->host, old, &err) < 0) {
        log_line(&reload->host->log, LOG_DEBUG, "reload", "%s", err.message);
    }
}

/* No such file is two things: a link that leads nowhere is there still. */
static bool is_gone(const char *path, int why) {
    struct stat st;
    return (why == ENOENT || why == ENOTDIR) && lstat(path, &st) < 0 &&
           (errno == ENOENT || errno == ENOTDIR);
}

static void refuse_stat(struct reload *reload, int why) {
    if (why == ENOENT || why == ELOOP) {
        refuse(reload, "file-dangling-link", NULL,
               why == ENOENT ? "it is a link to a file that does not exist"
                             : "it is a link that leads in a circle",
               "mend the link or remove it");
    } else {
        refuse(reload, "file-unreadable", NULL, strerror(why),
               "let the user that runs the host read the file and its folder");
    }
}

static void look(struct reload *reload) {
    struct plugin_file *file = reload->file;
    struct plugin *old = reload->old;
    struct stat st;
    if (stat(file->path, &st) < 0) {
        int why = errno;
        if (is_gone(file->path, why)) {
            remove_tools(reload);
        } else {
            refuse_stat(reload, why);
        }
        return;
    }
    struct file_identity identity = identity_of(&st);
    bool same = file->exists && file->settled && identity_same(&identity, &file->identity);
    if (same && !file->is_refused && reload->how != RELOAD_FORCED &&
        reload->how != RELOAD_OPENING) {
        reload->row->outcome = RELOAD_UNCHANGED;
        reload->row->generation = old != NULL ? old->generation : 0;
        if (reload->how == RELOAD_AND_KEEP) {
            keep_copy(reload);
        }
        return;
    }
    if (old != NULL && identity_same(&identity, &old->identity)) {
        keep_copy(reload); /* so that there is something to compare with */
    }
    take_content(reload);
}

void reload_file(struct toolrack *host, struct plugin_file *file, enum reload_how how,
                 struct reload_row *ret) {
    *ret = (struct reload_row){.outcome = RELOAD_UNCHANGED};
    struct reload reload = {
            .host = host, .file = file, .how = how, .row = ret, .old = files_serving(host, file)};
    look(&reload);
    if (reload.old != NULL && ret->generation == 0 && ret->outcome == RELOAD_REFUSED) {
        ret->generation = reload.old->generation;
    }
    name_row(ret, reload.desc);
    name_row(ret, reload.old != NULL ? reload.old->desc : NULL);
    if (ret->sha256[0] == '\0' && reload.old != NULL && atomic_load(&reload.old->staged)) {
        set_hash(ret, reload.old->sha256);
    }
    plugin_unref(reload.new);
    plugin_unref(reload.old);
    descriptor_unref(reload.desc);
}

/* --------------------------------------------------------------------- folders */

static int visit_listed(struct toolrack *host, const struct scan_folder *asked,
                        const struct folder *folder, uint32_t round,
                        bool (*visit)(void *user, struct plugin_file *file), void *user,
                        struct toolrack_error *err) {
    for (size_t i = 0; i < folder->count; i++) {
        struct plugin_file *file = files_add(host, folder_path(folder, i), asked);
        if (file == NULL) {
            return error_oom(err);
        }
        (void)pthread_mutex_lock(&host->generations_lock);
        file->round = round;
        (void)pthread_mutex_unlock(&host->generations_lock);
        if (!visit(user, file)) {
            break;
        }
    }
    return 0;
}

/* Those known that are not there any more. */
static void visit_others(struct toolrack *host, const struct scan_folder *asked, uint32_t round,
                         bool (*visit)(void *user, struct plugin_file *file), void *user) {
    bool goes_on = true;
    for (struct plugin_file *file = files_next(host, NULL); file != NULL && goes_on;
         file = files_next(host, file)) {
        (void)pthread_mutex_lock(&host->generations_lock);
        bool is_other = file->folder == asked && file->round != round;
        (void)pthread_mutex_unlock(&host->generations_lock);
        goes_on = !is_other || visit(user, file);
    }
}

int reload_list_folder(struct toolrack *host, const struct scan_folder *asked,
                       bool (*visit)(void *user, struct plugin_file *file), void *user,
                       struct toolrack_error *err) {
    CLEANUP(folder_finish) struct folder folder;
    struct arena arena;
    uint32_t round = atomic_fetch_add(&host->rounds, 1) + 1;
    arena_init(&arena, NULL, 0);
    int why = folder_init(&folder, asked->path);
    if (why == 0) {
        why = folder_list(&folder, asked->path, FOLDER_FILES_MAX, &arena);
    }
    int code = visit_listed(host, asked, &folder, round, visit, user, err);
    visit_others(host, asked, round, visit, user);
    arena_finish(&arena);
    if (code < 0 || why == 0 || why == ENOENT) {
        return code;
    }
    return why == ENOMEM ? error_oom(err)
                         : error_set(err, TOOLRACK_E_IO, "cannot read the folder %s: %s",
                                     asked->path, strerror(why));
}

/* ----------------------------------------------------------------------- calls */

/* A file that is written is waited for, and so is, for a shorter time, one that is gone: it may be
 * about to be made anew, and to say that its tools leave is not the business of a call. */
static enum reload_outcome reload_settled(struct toolrack *host, struct plugin_file *file,
                                          uint64_t until_ns) {
    uint64_t began_ns = clock_now_ns();
    for (;;) {
        struct reload_row row;
        reload_file(host, file, RELOAD_AND_KEEP, &row);
        enum reload_outcome outcome = row.outcome;
        reload_row_finish(&row);
        uint64_t now_ns = clock_now_ns();
        uint32_t most_ms =
                access(file->path, F_OK) == 0 ? RELOAD_SETTLE_MS_MAX : RELOAD_GONE_MS_MAX;
        if (outcome != RELOAD_CHANGING || (until_ns != 0 && now_ns >= until_ns) ||
            now_ns - began_ns >= (uint64_t)most_ms * CLOCK_NS_PER_MS) {
            return outcome;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = RELOAD_SETTLE_PAUSE_MS * CLOCK_NS_PER_MS},
                        NULL);
    }
}

/* Whether the file is another than when the generation was read. */
static bool is_another(const struct plugin *plugin) {
    struct stat st;
    if (stat(plugin->path, &st) < 0) {
        return true;
    }
    struct file_identity identity = identity_of(&st);
    return !identity_same(&identity, &plugin->identity);
}

bool reload_if_stale(struct toolrack *host, const struct plugin *plugin, uint64_t until_ns) {
    struct plugin_file *file = generation_of(plugin)->file;
    if (!is_another(plugin) || !files_take(host, file, until_ns)) {
        return false;
    }
    /* Somebody may have reloaded it already, and another serves. */
    CLEANUP(plugin_unrefp) struct plugin *serving = files_serving(host, file);
    enum reload_outcome outcome = serving != NULL && serving != plugin
                                          ? RELOAD_RELOADED
                                          : reload_settled(host, file, until_ns);
    files_give(host, file);
    return outcome == RELOAD_RELOADED || outcome == RELOAD_UNCHANGED;
}
