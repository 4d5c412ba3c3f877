#include "life/history.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "life/generation.h"
#include "life/parts.h"
#include "permit/permit.h"
#include "registry/document.h"
#include "store/crashes.h"
#include "store/decisions.h"
#include "store/identities.h"

/* What comes first of what has the same time. */
enum happening_kind { HAPPENING_CONTENT, HAPPENING_CRASH, HAPPENING_DECISION };

/* One thing that happened; the strings are in the arena. */
struct happening {
    int64_t time_ms;
    enum happening_kind kind;
    size_t order; /* of two of a kind at the same time the one that was read first */
    const char *event;
    const char *text;
};

struct happenings {
    struct arena arena;
    struct happening *items;
    size_t count;
    size_t room;
    bool failed;
};

static void add(struct happenings *all, enum happening_kind kind, int64_t time_ms,
                const char *event, const char *text) {
    if (all->count == all->room) {
        size_t room = all->room == 0 ? 32 : 2 * all->room;
        struct happening *items = realloc(all->items, room * sizeof *items);
        if (items == NULL) {
            all->failed = true;
            return;
        }
        all->items = items;
        all->room = room;
    }
    struct happening *item = &all->items[all->count];
    *item = (struct happening){.time_ms = time_ms,
                               .kind = kind,
                               .order = all->count,
                               .event = arena_copy(&all->arena, event, strlen(event)),
                               .text = text};
    all->failed = all->failed || item->event == NULL || text == NULL;
    all->count += !all->failed;
}

static void add_content(struct happenings *all, const struct store_generation *row, bool has_copy) {
    char digits[2 * STAGE_HASH_SIZE + 1];
    (void)sodium_bin2hex(digits, sizeof digits, row->sha256, sizeof row->sha256);
    add(all, HAPPENING_CONTENT, row->seen_ms, "content",
        arena_printf(&all->arena, "%s%s%scontent %.16s%s%s%s%s",
                     row->plugin != NULL ? "version " : "",
                     row->version != NULL ? row->version : "", row->version != NULL ? ", " : "",
                     digits, row->rule != NULL ? "; not used any more: " : "",
                     row->rule != NULL ? row->reason : "",
                     row->rule == NULL && !has_copy
                             ? "; its copy is not kept any more, so no rollback reaches it"
                             : "",
                     row->is_removed ? "; the file was removed since" : ""));
}

static void see_crash(void *user, const struct store_crash *crash) {
    struct happenings *all = user;
    yyjson_doc *bundle = yyjson_read(crash->bundle, strlen(crash->bundle), 0);
    yyjson_val *root = yyjson_doc_get_root(bundle);
    const char *reason = yyjson_get_str(yyjson_obj_get(root, "reason"));
    const char *said = reason != NULL ? reason : "";
    yyjson_val *exact = yyjson_obj_get(root, "time_ms"); /* older bundles have seconds only */
    add(all, HAPPENING_CRASH, yyjson_is_int(exact) ? yyjson_get_sint(exact) : crash->time_s * 1000,
        yyjson_is_true(yyjson_obj_get(root, "stopped")) ? "stopped" : "crash",
        arena_copy(&all->arena, said, strlen(said)));
    yyjson_doc_free(bundle);
}

static void see_decision(void *user, const struct store_decision *decision) {
    struct happenings *all = user;
    bool has_version = decision->tool != NULL && decision->version != NULL;
    add(all, HAPPENING_DECISION, decision->time_ms, decision->decision,
        arena_printf(&all->arena, "%s%s%s%s%s%s%s%s", decision->tool != NULL ? decision->tool : "",
                     has_version ? "@" : "", has_version ? decision->version : "",
                     decision->tool != NULL && decision->why != NULL ? ": " : "",
                     decision->why != NULL ? decision->why : "",
                     decision->who != NULL ? " (by " : "",
                     decision->who != NULL ? decision->who : "", decision->who != NULL ? ")" : ""));
}

static int oldest_first(const void *a, const void *b) {
    const struct happening *x = a;
    const struct happening *y = b;
    if (x->time_ms != y->time_ms) {
        return x->time_ms < y->time_ms ? -1 : 1;
    }
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    return x->order > y->order ? -1 : 1; /* the store gives the newest first */
}

static void write_all(const struct happenings *all, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "history");
    for (size_t i = 0; i < all->count; i++) {
        const struct happening *item = &all->items[i];
        char moment[CLOCK_TEXT_ROOM];
        yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
        document_add_text(doc, object, "time", clock_wall_text(item->time_ms / 1000, moment));
        (void)yyjson_mut_obj_add_int(doc, object, "time_ms", item->time_ms);
        document_add_text(doc, object, "event", item->event);
        document_add_text(doc, object, "text", item->text[0] != '\0' ? item->text : NULL);
    }
}

int history_add(struct life *life, const struct history_subject *subject, yyjson_mut_doc *doc,
                yyjson_mut_val *root, struct toolrack_error *err) {
    const struct life_options *options = &life->options;
    struct happenings all = {0};
    struct content_history contents = {0};
    int code = 0;
    arena_init(&all.arena, NULL, 0);
    permit_flush(options->permit);
    if (subject->key != NULL) {
        code = content_read_history(options, subject->key, &contents, err);
        for (size_t i = 0; code == 0 && i < contents.count; i++) {
            const struct store_generation *row = &contents.rows[i];
            add_content(&all, row, row->rule == NULL && staging_has(&life->staging, row));
        }
        content_history_finish(&contents);
    }
    if (code == 0 && subject->identity != NULL) {
        code = store_crashes_read(options->store, subject->identity, see_crash, &all, err);
    }
    if (code == 0 && subject->plugin != NULL) {
        const struct store_decisions_filter filter = {.plugin = subject->plugin,
                                                      .origin = subject->origin,
                                                      .limit = HISTORY_DECISIONS_MAX};
        code = store_decisions_read(options->store, &filter, see_decision, &all, err);
    }
    if (code == 0 && all.failed) {
        code = error_oom(err);
    }
    if (code == 0) {
        if (all.count > 1) {
            qsort(all.items, all.count, sizeof *all.items, oldest_first);
        }
        write_all(&all, doc, root);
    }
    arena_finish(&all.arena);
    free(all.items);
    return code;
}

/* Whether something else, or nothing, was noted last of a file. */
static bool is_new_note(const struct life_options *options, const char *key, const char *what) {
    struct toolrack_error unheard;
    bool is_new = true;
    if (options->places->state_dir != NULL) {
        (void)store_tell_once(options->store, key, what, &is_new, &unheard);
    }
    return is_new;
}

void history_note(struct life *life, const struct plugin_file *file, const char *plugin_id,
                  const char *version, const char *what, const char *why) {
    const struct life_options *options = &life->options;
    bool is_refused = strcmp(what, "refused") == 0;
    char words[ERROR_MESSAGE_MAX];
    if (plugin_id == NULL || (is_refused && !is_new_note(options, file->key, why))) {
        return;
    }
    (void)snprintf(words, sizeof words, "%s%s%s", is_refused ? file->path : "",
                   is_refused ? ": " : "", why);
    permit_note(options->permit, &(struct store_decision){.version = version,
                                                          .plugin = plugin_id,
                                                          .origin = file->folder->origin,
                                                          .decision = what,
                                                          .who = "host",
                                                          .why = words});
}

void history_note_once(struct life *life, const struct plugin_file *file,
                       const struct plugin *plugin, const char *what, const char *why) {
    const struct file_identity *identity = &plugin->identity;
    const struct tr_plugin *said = plugin->desc->plugin;
    CLEANUP(buf_finish) struct buf subject = BUF_INIT;
    CLEANUP(buf_finish) struct buf state = BUF_INIT;
    buf_printf(&subject, "file %s", file->key);
    buf_printf(&state, "%s %llu %llu %lld %lld ", what, (unsigned long long)identity->inode,
               (unsigned long long)identity->size, (long long)identity->mtime_ns,
               (long long)identity->ctime_ns);
    const struct policy *policy = &generation_of(plugin)->policy;
    for (size_t i = 0; i < policy->capability_count; i++) {
        buf_add_char(&state, policy->capabilities[i].allowed ? '+' : '-');
    }
    if (subject.failed || state.failed || is_new_note(&life->options, subject.data, state.data)) {
        history_note(life, file, said->id, said->version, what, why);
    }
}
