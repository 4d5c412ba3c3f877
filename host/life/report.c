/* A reload or a rollback that was requested, and its report. */
#include "life/life.h"

#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "life/find.h"
#include "life/parts.h"
#include "life/reload.h"
#include "life/rescan.h"
#include "registry/document.h"

/* -------------------------------------------------------------------- a report */

struct report {
    struct life *life;
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
    case RELOAD_ABSENT:
    case RELOAD_UNDECIDED: break;
    }
    return "refused";
}

/* An empty string is shown as null. */
static void add_text(struct report *report, yyjson_mut_val *row, const char *key,
                     const char *text) {
    document_add_text(report->doc, row, key, text != NULL && text[0] != '\0' ? text : NULL);
}

/* Waits for a file that is being written. */
static enum reload_outcome look_at(struct life *life, struct plugin_file *file, enum reload_how how,
                                   struct reload_row *row) {
    enum reload_outcome outcome = reload_settled(life, file, how, 0, row);
    if (outcome == RELOAD_CHANGING) {
        reload_row_finish(row);
        outcome = reload_file(life, file, RELOAD_LAST_TRY, row);
    }
    return outcome;
}

static void report_file(struct report *report, struct plugin_file *file, enum reload_how how) {
    struct life *life = report->life;
    struct reload_row row = {0};
    enum reload_outcome outcome = RELOAD_UNCHANGED;
    if (files_take(&life->files, file, 0)) {
        outcome = look_at(life, file, how, &row);
        files_give(&life->files, file);
    } else { /* the app may call from within an event about this file */
        (void)snprintf(row.reason, sizeof row.reason, "it is being reloaded by this thread");
    }
    if (outcome == RELOAD_ABSENT && how != RELOAD_FORCED) {
        reload_row_finish(&row);
        return;
    }
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(report->doc, report->rows);
    add_text(report, object, "file", file->path);
    add_text(report, object, "plugin", row.desc != NULL ? row.desc->plugin->id : NULL);
    add_text(report, object, "outcome", outcome_name(outcome));
    add_text(report, object, "reason", row.reason);
    if (row.generation != 0) {
        (void)yyjson_mut_obj_add_uint(report->doc, object, "generation", row.generation);
    } else {
        (void)yyjson_mut_obj_add_null(report->doc, object, "generation");
    }
    add_text(report, object, "sha256", row.sha256);
    if (row.old_is_kept) {
        add_text(report, object, "old", "kept");
    } else if (row.old != 0) {
        char cause[UNLOAD_CAUSE_MAX];
        uint64_t until_ns = clock_now_ns() + (uint64_t)RELOAD_VERDICT_MS_MAX * CLOCK_NS_PER_MS;
        enum retired_state state = retire_wait(&life->retirement, file, row.old, until_ns, cause);
        add_text(report, object, "old", retired_state_name(state));
        add_text(report, object, "cause", cause);
    }
    reload_row_finish(&row);
}

static void report_changed(void *user, struct plugin_file *file) {
    report_file(user, file, RELOAD_IF_CHANGED);
}

static int report_all(struct report *report, struct toolrack_error *err) {
    struct life *life = report->life;
    const struct places *places = life->options.places;
    int code = 0;
    for (size_t i = 0; code == 0 && i < places->folder_count; i++) {
        struct toolrack_error why;
        code = rescan_folder(life, &places->folders[i], report_changed, report, &why);
        if (code == TOOLRACK_E_IO) {
            log_line(life->options.log, LOG_WARNING, "reload", "%s", why.message);
            code = 0;
        }
    }
    return code < 0 ? error_oom(err) : 0;
}

int life_reload(struct life *life, const char *name, struct toolrack_text **ret_report,
                struct toolrack_error *err) {
    struct toolrack_error why = {0};
    struct plugin_file *file = name != NULL ? find_file(life, name, &why) : NULL;
    if (name != NULL && file == NULL) {
        return error_set(err, why.code, "%s", why.message);
    }
    struct report report = {.life = life};
    report.doc = document_begin_list(&report.rows);
    int code = 0;
    if (file != NULL) {
        report_file(&report, file, RELOAD_FORCED);
    } else {
        code = report_all(&report, err);
    }
    if (code < 0 || ret_report == NULL) {
        yyjson_mut_doc_free(report.doc);
        return code;
    }
    return document_end(report.doc, ret_report, err);
}

/* ------------------------------------------------------------------- rollback */

/* The content to go back to: what serves already, if the host has gone back by itself from what the
 * file has; else the content before the one that serves. */
static int find_back(struct life *life, struct plugin_file *file, struct plugin *serving,
                     bool was_rolled_back, const uint8_t file_sha256[STAGE_HASH_SIZE],
                     uint8_t ret_sha256[STAGE_HASH_SIZE], struct toolrack_error *err) {
    struct staged previous;
    struct toolrack_error unheard;
    /* What was never copied cannot be called after its file has changed. */
    bool is_known = serving != NULL && staging_copy(&life->staging, serving, &unheard) == 0;
    if (is_known && !was_rolled_back &&
        memcmp(serving->sha256, file_sha256, STAGE_HASH_SIZE) != 0) {
        memcpy(ret_sha256, serving->sha256, STAGE_HASH_SIZE);
        return 0;
    }
    int code = staging_find_previous(&life->staging, file, is_known ? serving->sha256 : NULL,
                                     file_sha256, &previous, err);
    if (code == 0) {
        memcpy(ret_sha256, previous.sha256, STAGE_HASH_SIZE);
    }
    return code;
}

/* Reload the file with the content before the present one. On failure the plugin that serves stays,
 * and the store is unchanged. */
static int roll_back(struct life *life, struct plugin_file *file, struct toolrack_error *err) {
    CLEANUP(plugin_unrefp)
    struct plugin *serving = generations_serving(&life->generations, file);
    struct content_rollback before;
    struct content_rollback rollback;
    bool was_rolled_back = content_find_rollback(&life->options, file->key, &before);
    int code = stage_hash(file->path, NULL, rollback.bad_sha256, err);
    if (code != 0) {
        return code == STAGE_CHANGING ? TOOLRACK_E_IO : code;
    }
    code = find_back(life, file, serving, was_rolled_back && !before.is_automatic,
                     rollback.bad_sha256, rollback.use_sha256, err);
    if (code < 0) {
        return code;
    }
    code = content_roll_back(&life->options, file->key, &rollback, err);
    if (code < 0) {
        return code;
    }
    struct reload_row row;
    enum reload_outcome outcome = look_at(life, file, RELOAD_FORCED, &row);
    bool done = outcome == RELOAD_RELOADED || outcome == RELOAD_ADDED;
    code = done ? 0 : error_set(err, TOOLRACK_E_REFUSED, "%s", row.reason);
    reload_row_finish(&row);
    if (!done && was_rolled_back) {
        struct toolrack_error unheard;
        if (before.is_automatic) {
            content_go_back(&life->options, file->key, &before);
        } else {
            (void)content_roll_back(&life->options, file->key, &before, &unheard);
        }
    } else if (!done) {
        content_end_rollback(&life->options, file->key);
    }
    return code;
}

int life_rollback(struct life *life, const char *name, struct toolrack_error *err) {
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
    files_give(&life->files, file);
    return code;
}
