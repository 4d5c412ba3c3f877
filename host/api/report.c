#include <stdio.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "api/host.h"
#include "api/reload.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "files/folder.h"
#include "registry/document.h"

/* ----------------------------------------------------------------- which file */

static struct plugin_file *file_of_plugin(const struct plugin *plugin, struct toolrack_error *err) {
    const struct generation *generation = generation_of(plugin);
    if (generation == NULL && plugin->path != NULL) {
        (void)error_set(err, TOOLRACK_E_INVALID,
                        "'%s' is defined in %s, which is read at the start: start again",
                        plugin->desc->plugin->id, plugin->path);
        return NULL;
    }
    if (generation == NULL) {
        (void)error_set(err, TOOLRACK_E_INVALID,
                        "plugin '%s' was registered by the app and has no file to reload",
                        plugin->desc->plugin->id);
        return NULL;
    }
    if (generation->foreign != NULL) {
        (void)error_set(err, TOOLRACK_E_INVALID,
                        "'%s' is a function of an installed library and has no file to reload; its "
                        "workers open the library anew whenever one starts",
                        plugin->desc->plugin->id);
        return NULL;
    }
    return generation->file;
}

/* One that was refused is known by what its row says. */
static struct plugin_file *file_of_refused(struct toolrack *host, const char *name) {
    struct toolrack_refusals *refusals = registry_refusals(host->registry);
    struct plugin_file *file = NULL;
    for (size_t i = 0; refusals != NULL && file == NULL && i < toolrack_refusals_count(refusals);
         i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        bool named = (row->plugin != NULL && strcmp(row->plugin, name) == 0) ||
                     (row->tool != NULL && strcmp(row->tool, name) == 0);
        file = named && row->file != NULL ? files_find(host, row->file) : NULL;
    }
    toolrack_refusals_free(refusals);
    return file;
}

/* A file of one of the folders that nobody has seen yet. */
static struct plugin_file *file_of_path(struct toolrack *host, const char *path) {
    const char *slash = strrchr(path, '/');
    struct plugin_file *known = files_find(host, path);
    if (known != NULL || slash == NULL || !folder_takes_name(slash + 1, strlen(slash + 1))) {
        return known;
    }
    size_t length = (size_t)(slash - path);
    for (size_t i = 0; i < host->places.folder_count; i++) {
        const struct scan_folder *folder = &host->places.folders[i];
        if (strlen(folder->path) == length && memcmp(folder->path, path, length) == 0) {
            return files_add(host, path, folder);
        }
    }
    return NULL;
}

static struct plugin_file *find_file(struct toolrack *host, const char *name,
                                     struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = host_find_plugin(host, name, err);
    if (plugin != NULL) {
        return file_of_plugin(plugin, err);
    }
    struct plugin_file *file = file_of_path(host, name);
    return file != NULL ? file : file_of_refused(host, name);
}

/* -------------------------------------------------------------------- a report */

struct report {
    struct toolrack *host;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
};

static const char *outcome_name(enum reload_outcome outcome) {
    switch (outcome) {
    case RELOAD_UNCHANGED: return "unchanged";
    case RELOAD_ADDED: return "added";
    case RELOAD_RELOADED: return "reloaded";
    case RELOAD_REMOVED: return "removed";
    case RELOAD_REFUSED:
    case RELOAD_CHANGING:
    case RELOAD_ABSENT: break;
    }
    return "refused";
}

/* "" is nothing. */
static void add_text(struct report *report, yyjson_mut_val *row, const char *key,
                     const char *text) {
    document_add_text(report->doc, row, key, text != NULL && text[0] != '\0' ? text : NULL);
}

static void add_old(struct report *report, yyjson_mut_val *object, struct plugin_file *file,
                    const struct reload_row *row) {
    char cause[UNLOAD_CAUSE_MAX] = "";
    uint64_t until_ns = clock_now_ns() + (uint64_t)RELOAD_VERDICT_MS_MAX * CLOCK_NS_PER_MS;
    if (row->old != 0) {
        enum retired_state state = retire_wait(report->host, file, row->old, until_ns, cause);
        add_text(report, object, "old", retired_state_name(state));
        add_text(report, object, "cause", cause);
    }
}

static void add_row(struct report *report, struct plugin_file *file, const struct reload_row *row) {
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(report->doc, report->rows);
    add_text(report, object, "file", file->path);
    add_text(report, object, "plugin", row->desc != NULL ? row->desc->plugin->id : NULL);
    add_text(report, object, "outcome", outcome_name(row->outcome));
    add_text(report, object, "reason", row->reason);
    if (row->generation != 0) {
        (void)yyjson_mut_obj_add_uint(report->doc, object, "generation", row->generation);
    } else {
        (void)yyjson_mut_obj_add_null(report->doc, object, "generation");
    }
    add_text(report, object, "sha256", row->sha256);
    add_old(report, object, file, row);
}

/* A file that is being written is waited for. */
static void look_at(struct toolrack *host, struct plugin_file *file, enum reload_how how,
                    struct reload_row *row) {
    uint64_t until_ns = clock_now_ns() + (uint64_t)RELOAD_SETTLE_MS_MAX * CLOCK_NS_PER_MS;
    const struct timespec pause = {.tv_nsec = RELOAD_SETTLE_PAUSE_MS * CLOCK_NS_PER_MS};
    reload_file(host, file, how, row);
    while (row->outcome == RELOAD_CHANGING && clock_now_ns() < until_ns) {
        reload_row_finish(row);
        (void)nanosleep(&pause, NULL);
        reload_file(host, file, how, row);
    }
    if (row->outcome == RELOAD_CHANGING) {
        reload_row_finish(row);
        reload_file(host, file, RELOAD_LAST_TRY, row);
    }
}

/* The app may ask from within an event of the very file. */
static void refuse_taken(struct report *report, struct plugin_file *file) {
    struct reload_row row = {.outcome = RELOAD_UNCHANGED};
    (void)snprintf(row.reason, sizeof row.reason, "it is being reloaded by this thread");
    add_row(report, file, &row);
}

static void report_file(struct report *report, struct plugin_file *file, enum reload_how how) {
    struct reload_row row;
    if (!files_take(report->host, file, 0)) {
        refuse_taken(report, file);
        return;
    }
    look_at(report->host, file, how, &row);
    files_give(report->host, file);
    if (row.outcome != RELOAD_ABSENT || how == RELOAD_FORCED) {
        add_row(report, file, &row);
    }
    reload_row_finish(&row);
}

static bool report_changed(void *user, struct plugin_file *file) {
    report_file(user, file, RELOAD_IF_CHANGED);
    return true;
}

static int report_all(struct report *report, struct toolrack_error *err) {
    struct toolrack *host = report->host;
    int code = 0;
    for (size_t i = 0; code == 0 && i < host->places.folder_count; i++) {
        const struct scan_folder *folder = &host->places.folders[i];
        struct toolrack_error why;
        if (files_folder_is_repeated(host, folder)) {
            continue;
        }
        code = reload_list_folder(host, folder, report_changed, report, &why);
        if (code == TOOLRACK_E_IO) {
            log_line(&host->log, LOG_WARNING, "reload", "%s", why.message);
            code = 0;
        }
    }
    return code < 0 ? error_oom(err) : 0;
}

static int fill_report(struct report *report, const char *name, struct toolrack_error *err) {
    if (name == NULL) {
        return report_all(report, err);
    }
    struct toolrack_error why = {0};
    struct plugin_file *file = find_file(report->host, name, &why);
    if (file == NULL) {
        return error_set(err, why.code, "%s", why.message);
    }
    report_file(report, file, RELOAD_FORCED);
    return 0;
}

int toolrack_reload(struct toolrack *host, const char *name, struct toolrack_text **ret_report,
                    struct toolrack_error *err) {
    struct report report = {.host = host};
    report.doc = document_begin_list(&report.rows);
    int code = fill_report(&report, name, err);
    if (code < 0 || ret_report == NULL) {
        yyjson_mut_doc_free(report.doc);
        return code;
    }
    return document_end(report.doc, ret_report, err);
}

/* ------------------------------------------------------------------- rollback */

static int find_previous(struct toolrack *host, struct plugin_file *file, struct plugin *plugin,
                         uint8_t ret_bad[STAGE_HASH_SIZE], struct staged *ret,
                         struct toolrack_error *err) {
    int code = generation_stage(host, plugin, err); /* so that its hash is known */
    if (code == 0) {
        code = stage_hash(file->path, NULL, ret_bad, err);
    }
    if (code != 0) {
        return code == STAGE_CHANGING ? TOOLRACK_E_IO : code;
    }
    (void)pthread_rwlock_rdlock(&host->stage_use);
    code = content_find_previous(host, file, plugin->sha256, ret_bad, ret, err);
    (void)pthread_rwlock_unlock(&host->stage_use);
    return code;
}

/* A rollback that does not work is none: what serves goes on, and it is as it was before. */
static int publish_previous(struct toolrack *host, struct plugin_file *file, bool was_rolled_back,
                            const struct plugin *serving, const uint8_t bad[STAGE_HASH_SIZE],
                            struct toolrack_error *err) {
    struct reload_row row;
    struct toolrack_error unheard;
    look_at(host, file, RELOAD_FORCED, &row);
    bool done = row.outcome == RELOAD_RELOADED || row.outcome == RELOAD_ADDED;
    int code = done ? 0 : error_set(err, TOOLRACK_E_REFUSED, "%s", row.reason);
    reload_row_finish(&row);
    if (!done && was_rolled_back) {
        (void)content_roll_back(host, file, bad, serving->sha256, &unheard);
    } else if (!done) {
        content_end_rollback(host, file->path);
    }
    return code;
}

static int roll_back(struct toolrack *host, struct plugin_file *file, struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *serving = files_serving(host, file);
    bool was_rolled_back = content_is_rolled_back(host, file->path);
    uint8_t bad[STAGE_HASH_SIZE];
    struct staged previous;
    if (serving == NULL) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "nothing of %s serves that one could go back from; put a good file there",
                         file->path);
    }
    int code = find_previous(host, file, serving, bad, &previous, err);
    if (code == 0) {
        code = content_roll_back(host, file, bad, previous.sha256, err);
    }
    return code < 0 ? code : publish_previous(host, file, was_rolled_back, serving, bad, err);
}

int toolrack_rollback(struct toolrack *host, const char *name, struct toolrack_error *err) {
    struct toolrack_error why = {0};
    struct plugin_file *file = find_file(host, name, &why);
    if (file == NULL) {
        return error_set(err, why.code, "%s", why.message);
    }
    if (!files_take(host, file, 0)) {
        return error_set(err, TOOLRACK_E_INVALID, "%s is being reloaded by this thread",
                         file->path);
    }
    int code = roll_back(host, file, err);
    files_give(host, file);
    return code;
}
