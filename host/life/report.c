/* A reload that was requested, and its report. */
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

/* `is_new`: what serves before is the same content, and was never used. */
static void report_file(struct report *report, struct plugin_file *file, enum reload_how how,
                        bool is_new) {
    struct life *life = report->life;
    struct reload_row row = {0};
    enum reload_outcome outcome = RELOAD_UNCHANGED;
    if (files_take(&life->files, file, 0)) {
        outcome = reload_requested(life, file, how, &row);
        files_give(&life->files, file);
    } else { /* the app may call from within an event about this file */
        (void)snprintf(row.reason, sizeof row.reason, "it is being reloaded by this thread");
    }
    if (outcome == RELOAD_ABSENT && !reload_is_forced(how)) {
        reload_row_finish(&row);
        return;
    }
    if (is_new) {
        row.old = 0; /* of the same content, and never used */
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

/* ------------------------------------------------------------------ all files */

/* A file that was changed before this host, which has not used it, was opened is reloaded: no host
 * has used its content either. A file that is new is tried if it has examples, as in a host that
 * runs. */
static enum reload_how how_to_look_at(struct life *life, struct plugin_file *file) {
    CLEANUP(plugin_unrefp) struct plugin *serving = generations_serving(&life->generations, file);
    struct toolrack_error unheard; /* the host has reported that its store cannot be used */
    uint8_t sha256[STAGE_HASH_SIZE];
    if (serving == NULL || generation_of(serving)->is_earlier ||
        plugin_state(serving) != TOOLRACK_STATE_LISTED) {
        return RELOAD_IF_CHANGED;
    }
    CLEANUP(content_history_finish) struct content_history history;
    int code = content_read_history(&life->options, file->key, &history, &unheard);
    if (code < 0 || history.count == 0) {
        bool is_first =
                code == 0 && trial_has_examples(&life->trials, serving) &&
                stage_hash(file->path, &serving->identity, sha256, &unheard) == 0; /* as listed */
        return is_first ? RELOAD_FIRST : RELOAD_IF_CHANGED;
    }
    const struct store_generation *newest = &history.rows[0];
    bool is_known = atomic_load(&serving->staged);
    if (is_known) {
        memcpy(sha256, serving->sha256, sizeof sha256);
    }
    bool is_changed =
            (is_known || stage_hash(file->path, &serving->identity, sha256, &unheard) == 0) &&
            (memcmp(newest->sha256, sha256, sizeof sha256) != 0 || !content_is_good(newest));
    return is_changed ? RELOAD_FORCED : RELOAD_IF_CHANGED;
}

static void report_changed(void *user, struct plugin_file *file) {
    struct report *report = user;
    enum reload_how how = how_to_look_at(report->life, file);
    report_file(report, file, how, how != RELOAD_IF_CHANGED);
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
        report_file(&report, file, RELOAD_NAMED, false);
    } else {
        code = report_all(&report, err);
    }
    if (code < 0 || ret_report == NULL) {
        yyjson_mut_doc_free(report.doc);
        return code;
    }
    return document_end(report.doc, ret_report, err);
}
