/* What other hosts have stored takes effect here: quarantines, their end, and rollbacks. */
#include "life/life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/name.h"
#include "life/parts.h"
#include "life/reload.h"
#include "store/failures.h"
#include "store/loading.h"
#include "store/quarantine.h"
#include "worker/crew.h"

/* What the store has now. A row is borrowed from the arena. */
struct following {
    struct life *life;
    struct arena arena;
    struct following_row *rows;
    bool failed; /* out of memory */
};

struct following_row {
    struct following_row *next;
    const char *key; /* a plugin's identity, or a path */
    struct quarantine quarantine;
};

static struct following_row *add_row(struct following *following, const char *key) {
    struct following_row *row = arena_alloc(&following->arena, sizeof *row);
    char *copy = arena_copy(&following->arena, key, strlen(key));
    if (row == NULL || copy == NULL) {
        following->failed = true;
        return NULL;
    }
    *row = (struct following_row){.next = following->rows, .key = copy};
    following->rows = row;
    return row;
}

static const struct following_row *find_row(const struct following *following, const char *key) {
    const struct following_row *row = following->rows;
    while (row != NULL && strcmp(row->key, key) != 0) {
        row = row->next;
    }
    return row;
}

static void begin(struct following *following, struct life *life) {
    *following = (struct following){.life = life};
    arena_init(&following->arena, NULL, 0);
}

/* The result of a read into `following`. */
static int outcome_of(const struct following *following, int code, struct toolrack_error *err) {
    return code == 0 && following->failed ? error_oom(err) : code;
}

static void tell(const struct life *life, enum toolrack_event_kind kind,
                 const struct plugin *plugin, const char *message) {
    life_tell(life, kind, plugin->desc->plugin->id, message);
}

/* -------------------------------------------------------------- quarantines */

static void take_quarantine(void *user, const struct store_quarantine *kept) {
    struct following_row *row = add_row(user, kept->plugin);
    if (row != NULL) {
        memcpy(row->quarantine.sha256, kept->sha256, sizeof kept->sha256);
        (void)snprintf(row->quarantine.reason, sizeof row->quarantine.reason, "%s", kept->reason);
    }
}

/* The lock is held while a first call makes the crew, which reads the store too. */
static void quarantine(struct life *life, struct plugin *plugin, const struct quarantine *kept) {
    struct toolrack_error unheard; /* a copy that fails is reported at the first call */
    bool is_new = false;
    if (!plugin->isolated || staging_copy(&life->staging, plugin, &unheard) < 0 ||
        !quarantine_is_of(kept, plugin)) {
        return;
    }
    (void)pthread_mutex_lock(&plugin->lock);
    struct crew *crew = atomic_load(&plugin->crew);
    if (plugin_state(plugin) != TOOLRACK_STATE_QUARANTINED) {
        is_new = true;
        plugin_set_state(plugin, TOOLRACK_STATE_QUARANTINED, kept->reason);
        if (crew != NULL) {
            crew_quarantine(crew, kept->reason);
        }
    }
    struct generation *generation = generation_of(plugin);
    if (generation != NULL) { /* each of a library's file has one */
        atomic_store(&generation->is_quarantine_kept, true);
    }
    (void)pthread_mutex_unlock(&plugin->lock);
    if (is_new) {
        tell(life, TOOLRACK_EVENT_QUARANTINED, plugin, kept->reason);
    }
}

static void begin_quarantines(const struct following *following) {
    struct generations *generations = &following->life->generations;
    for (const struct following_row *row = following->rows; row != NULL; row = row->next) {
        char id[NAME_LENGTH_MAX + 1];
        struct plugin *held;
        (void)snprintf(id, sizeof id, "%.*s", (int)identity_id_length(row->key), row->key);
        for (size_t at = 0; (held = generations_hold(generations, id, at)) != NULL; at++) {
            if (strcmp(held->identity_text, row->key) == 0) {
                quarantine(following->life, held, &row->quarantine);
            }
            plugin_unref(held);
        }
    }
}

/* A quarantine that this host could not store stays. */
static void end_quarantine(const struct following *following, struct plugin *plugin) {
    struct generation *generation = generation_of(plugin);
    bool is_kept = false; /* a plugin may have several contents in quarantine */
    for (const struct following_row *row = following->rows; row != NULL; row = row->next) {
        is_kept = is_kept || (strcmp(row->key, plugin->identity_text) == 0 &&
                              quarantine_is_of(&row->quarantine, plugin));
    }
    if (is_kept || !atomic_exchange(&generation->is_quarantine_kept, false)) {
        return;
    }
    struct crew *crew = atomic_load(&plugin->crew);
    if (crew != NULL) {
        crew_release(crew);
    }
    plugin_set_state(plugin, TOOLRACK_STATE_LISTED, "");
    tell(following->life, TOOLRACK_EVENT_RELEASED, plugin, NULL);
}

/* ----------------------------------------------------------------- left out */

static void take_marker(void *user, const struct store_unclean *unclean) {
    (void)add_row(user, unclean->path);
}

static void admit(const struct following *following, struct plugin *plugin) {
    if (find_row(following, generation_of(plugin)->file->key) == NULL && plugin_admit(plugin)) {
        tell(following->life, TOOLRACK_EVENT_RELEASED, plugin, NULL);
    }
}

/* ------------------------------------------------------------------ failed */

static void take_failure(void *user, const struct store_failure *kept) {
    struct following_row *row = add_row(user, kept->path);
    if (row != NULL) {
        memcpy(row->quarantine.sha256, kept->sha256, sizeof kept->sha256);
    }
}

/* A failure that was removed was released, or another host could load the content. */
static void forgive(const struct following *following, struct plugin *plugin) {
    struct generation *generation = generation_of(plugin);
    const char *key = generation->file->key;
    const struct following_row *row = key != NULL ? find_row(following, key) : NULL;
    bool is_kept = row != NULL && quarantine_is_of(&row->quarantine, plugin);
    if (is_kept || key == NULL || !atomic_exchange(&generation->file->has_failure, row != NULL)) {
        return;
    }
    struct crew *crew = atomic_load(&plugin->crew);
    if (crew != NULL) {
        crew_release(crew);
    }
    if (plugin_forgive(plugin)) {
        tell(following->life, TOOLRACK_EVENT_RELEASED, plugin, NULL);
    }
}

/* ---------------------------------------------------------------------- all */

/* Read a table, and call `apply` for each plugin with that state. */
static int follow_state(struct following *following, int code, enum toolrack_tool_state state,
                        void (*apply)(const struct following *, struct plugin *),
                        struct toolrack_error *err) {
    size_t count = 0;
    code = outcome_of(following, code, err);
    struct plugin **troubled =
            code == 0 ? generations_hold_troubled(&following->life->generations, &count) : NULL;
    if (code == 0 && troubled == NULL) {
        code = error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (atomic_load(&troubled[i]->state) == (int)state) {
            apply(following, troubled[i]);
        }
        plugin_unref(troubled[i]);
    }
    free(troubled);
    return code;
}

int life_follow(struct life *life, struct toolrack_error *err) {
    struct following following;
    struct store *store = life->options.store;
    begin(&following, life);
    int code = store_quarantine_read(store, take_quarantine, &following, err);
    code = follow_state(&following, code, TOOLRACK_STATE_QUARANTINED, end_quarantine, err);
    if (code == 0) {
        begin_quarantines(&following);
    }
    arena_finish(&following.arena);
    if (code == 0) {
        begin(&following, life);
        code = store_loading_read(store, take_marker, &following, err);
        code = follow_state(&following, code, TOOLRACK_STATE_LEFT_OUT, admit, err);
        arena_finish(&following.arena);
    }
    if (code == 0) {
        begin(&following, life);
        code = store_failures_read(store, take_failure, &following, err);
        code = follow_state(&following, code, TOOLRACK_STATE_FAILED, forgive, err);
        arena_finish(&following.arena);
    }
    return code;
}

/* ----------------------------------------------------------------- contents */

static void take_rollback(void *user, const struct store_rollback *kept) {
    (void)add_row(user, kept->path);
}

/* Whether a rollback that is stored is not in effect: the file has the bad content, and another
 * than the earlier content serves. */
static bool is_due(const struct life *life, const struct plugin_file *file,
                   const struct plugin *serving, enum reload_how *ret_how) {
    struct content_rollback rollback;
    uint8_t now[STAGE_HASH_SIZE];
    struct toolrack_error unheard;
    if (!content_find_rollback(&life->options, file->key, &rollback) ||
        (serving != NULL && atomic_load(&serving->staged) &&
         memcmp(serving->sha256, rollback.use_sha256, sizeof rollback.use_sha256) == 0)) {
        return false;
    }
    /* What another host refused when it tried it out is not tried again. */
    *ret_how = rollback.is_automatic ? RELOAD_OPENING : RELOAD_FORCED;
    return stage_hash(file->path, NULL, now, &unheard) == 0 &&
           memcmp(now, rollback.bad_sha256, sizeof now) == 0;
}

static void exchange(struct life *life, struct plugin_file *file) {
    if (!files_take(&life->files, file, 0)) {
        return; /* an event of this thread's own reload */
    }
    CLEANUP(plugin_unrefp)
    struct plugin *serving = generations_serving(&life->generations, file);
    enum reload_how how;
    if (is_due(life, file, serving, &how)) {
        struct reload_row row;
        (void)reload_settled(life, file, how, 0, &row); /* a refusal is a row and an event */
        reload_row_finish(&row);
    }
    files_give(&life->files, file);
}

int life_follow_contents(struct life *life, struct toolrack_error *err) {
    struct following following;
    begin(&following, life);
    int code = store_rollback_read(life->options.store, take_rollback, &following, err);
    code = outcome_of(&following, code, err);
    for (const struct following_row *row = following.rows; code == 0 && row != NULL;
         row = row->next) {
        struct plugin_file *file = files_find_key(&life->files, row->key);
        if (file != NULL) {
            exchange(life, file);
        }
    }
    arena_finish(&following.arena);
    life_follow_installs(life);
    return code < 0 ? code : life_follow_capabilities(life, err);
}
