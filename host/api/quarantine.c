#include "api/quarantine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/clock.h"
#include "base/error.h"
#include "plugin/build_id.h"
#include "store/crashes.h"
#include "store/decisions.h"
#include "store/loading.h"
#include "store/quarantine.h"

void quarantines_init(struct quarantines *quarantines) {
    *quarantines = (struct quarantines){0};
    (void)pthread_mutex_init(&quarantines->lock, NULL);
}

static void quarantine_finish(struct quarantine *quarantine) {
    free(quarantine->plugin);
    free(quarantine->reason);
}

void quarantines_finish(struct quarantines *quarantines) {
    for (size_t i = 0; i < quarantines->count; i++) {
        quarantine_finish(&quarantines->items[i]);
    }
    free(quarantines->items);
    (void)pthread_mutex_destroy(&quarantines->lock);
}

/* Caller holds the lock. */
static struct quarantine *find(const struct quarantines *quarantines, const char *plugin) {
    for (size_t i = 0; i < quarantines->count; i++) {
        if (strcmp(quarantines->items[i].plugin, plugin) == 0) {
            return &quarantines->items[i];
        }
    }
    return NULL;
}

/* Caller holds the lock. */
static void remove_item(struct quarantines *quarantines, struct quarantine *item) {
    quarantine_finish(item);
    *item = quarantines->items[--quarantines->count];
}

static bool add(struct quarantines *quarantines, const char *plugin, const uint8_t *sha256,
                const char *reason) {
    struct quarantine item = {.plugin = strdup(plugin), .reason = strdup(reason)};
    memcpy(item.sha256, sha256, sizeof item.sha256);
    (void)pthread_mutex_lock(&quarantines->lock);
    struct quarantine *known = find(quarantines, plugin);
    if (known != NULL) {
        remove_item(quarantines, known);
    }
    struct quarantine *grown =
            realloc(quarantines->items, (quarantines->count + 1) * sizeof *grown);
    quarantines->items = grown != NULL ? grown : quarantines->items;
    bool added = grown != NULL && item.plugin != NULL && item.reason != NULL;
    if (added) {
        grown[quarantines->count++] = item;
    } else {
        quarantine_finish(&item);
    }
    (void)pthread_mutex_unlock(&quarantines->lock);
    return added;
}

struct reading_kept {
    struct quarantines *quarantines;
    bool failed;
};

static void take_kept(void *user, const struct store_quarantine *kept) {
    struct reading_kept *reading = user;
    reading->failed =
            !add(reading->quarantines, kept->plugin, kept->sha256, kept->reason) || reading->failed;
}

int quarantines_read(struct toolrack *host, struct toolrack_error *err) {
    struct reading_kept reading = {.quarantines = &host->quarantines};
    int code = store_quarantine_read(host->store, take_kept, &reading, err);
    return code == 0 && reading.failed ? error_oom(err) : code;
}

bool quarantines_has(struct quarantines *quarantines, const char *plugin) {
    (void)pthread_mutex_lock(&quarantines->lock);
    bool has = find(quarantines, plugin) != NULL;
    (void)pthread_mutex_unlock(&quarantines->lock);
    return has;
}

bool quarantines_find(struct quarantines *quarantines, const struct plugin *plugin,
                      char reason[ERROR_MESSAGE_MAX]) {
    static const uint8_t unknown[sizeof plugin->sha256];
    (void)pthread_mutex_lock(&quarantines->lock);
    const struct quarantine *kept = find(quarantines, plugin->desc->plugin->id);
    bool found = kept != NULL && (memcmp(kept->sha256, plugin->sha256, sizeof kept->sha256) == 0 ||
                                  memcmp(kept->sha256, unknown, sizeof unknown) == 0);
    if (found) {
        (void)snprintf(reason, ERROR_MESSAGE_MAX, "%s", kept->reason);
    }
    (void)pthread_mutex_unlock(&quarantines->lock);
    return found;
}

int quarantines_add(struct toolrack *host, const char *plugin_id, const uint8_t sha256[32],
                    const char *reason, unsigned crashes, struct toolrack_error *err) {
    if (!add(&host->quarantines, plugin_id, sha256, reason)) {
        return error_oom(err);
    }
    struct store_quarantine kept = {.plugin = plugin_id,
                                    .reason = reason,
                                    .since_s = clock_wall_s(),
                                    .crash_count = crashes};
    memcpy(kept.sha256, sha256, sizeof kept.sha256);
    return store_quarantine_set(host->store, &kept, err);
}

/* ----------------------------------------------------- crashes of other processes */

/* A command lives for one call: three of them within a minute are seen only together. */
struct recent {
    const char *plugin;
    char build_id[2 * BUILD_ID_MAX + 1];
    int64_t now_s;
    int64_t since_s;
    int64_t times_s[CREW_CRASHES_KEPT]; /* the newest first */
    size_t count;
};

static void note_release(void *user, const struct store_decision *decision) {
    struct recent *recent = user;
    bool is_release = decision->plugin != NULL && strcmp(decision->plugin, recent->plugin) == 0 &&
                      strcmp(decision->decision, "released") == 0;
    if (is_release && decision->time_ms / 1000 > recent->since_s) {
        recent->since_s = decision->time_ms / 1000;
    }
}

static void note_crash(void *user, const struct store_crash *crash) {
    struct recent *recent = user;
    if (crash->time_s <= recent->since_s || crash->time_s > recent->now_s ||
        recent->count == CREW_CRASHES_KEPT) {
        return;
    }
    yyjson_doc *bundle = yyjson_read(crash->bundle, strlen(crash->bundle), 0);
    const char *build_id = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(bundle), "build_id"));
    if (strcmp(build_id != NULL ? build_id : "", recent->build_id) == 0) {
        recent->times_s[recent->count++] = crash->time_s;
    }
    yyjson_doc_free(bundle);
}

static void read_build_id(const char *path, char ret[2 * BUILD_ID_MAX + 1]) {
    unsigned char id[BUILD_ID_MAX];
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = build_id_read(fd, id);
    ret[0] = '\0';
    for (size_t i = 0; i < length; i++) {
        (void)snprintf(ret + 2 * i, 3, "%02x", id[i]);
    }
}

size_t quarantines_recent_crashes(struct toolrack *host, const struct plugin *plugin,
                                  uint32_t window_ms, uint64_t ret_ago_ms[CREW_CRASHES_KEPT]) {
    struct toolrack_error unheard; /* what cannot be read does not count */
    struct recent recent = {.plugin = plugin->desc->plugin->id, .now_s = clock_wall_s()};
    recent.since_s = recent.now_s - (int64_t)(window_ms / 1000) - 1;
    if (plugin->path != NULL) { /* else it is known by its id alone: generation.c */
        read_build_id(plugin->image_path, recent.build_id);
    }
    const struct store_decisions_filter filter = {.since_ms = recent.since_s * 1000};
    (void)store_decisions_read(host->store, &filter, note_release, &recent, &unheard);
    (void)store_crashes_read(host->store, recent.plugin, note_crash, &recent, &unheard);
    for (size_t i = 0; i < recent.count; i++) {
        ret_ago_ms[i] = (uint64_t)(recent.now_s - recent.times_s[recent.count - 1 - i]) * 1000;
    }
    return recent.count;
}

/* ------------------------------------------------------------------ release */

static void forget(struct quarantines *quarantines, const char *plugin) {
    (void)pthread_mutex_lock(&quarantines->lock);
    struct quarantine *known = find(quarantines, plugin);
    if (known != NULL) {
        remove_item(quarantines, known);
    }
    (void)pthread_mutex_unlock(&quarantines->lock);
}

/* Of all generations of a plugin. */
static void release_crews(struct toolrack *host, const char *plugin) {
    struct plugin *held;
    size_t at = 0;
    while ((held = generations_hold(host, plugin, at++)) != NULL) {
        struct crew *crew = atomic_load(&held->crew);
        if (crew != NULL) {
            crew_release(crew);
        }
        if (plugin_state(held) == TOOLRACK_STATE_QUARANTINED) {
            plugin_set_state(held, TOOLRACK_STATE_LISTED, "");
            host_plugin_event(host, TOOLRACK_EVENT_RELEASED, held, NULL);
        }
        plugin_unref(held);
    }
}

/* One that was left out since a process died of it. */
static int admit(struct toolrack *host, struct plugin *plugin, struct toolrack_error *err) {
    int code = store_loading_clear(host->store, plugin->path, err);
    if (code == 0 && plugin_admit(plugin)) {
        host_plugin_event(host, TOOLRACK_EVENT_RELEASED, plugin, NULL);
    }
    return code;
}

int toolrack_release(struct toolrack *host, const char *name, struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *held = host_find_plugin(host, name, err);
    if (held == NULL) {
        return TOOLRACK_E_NOT_FOUND;
    }
    const char *plugin = held->desc->plugin->id;
    if (plugin_state(held) == TOOLRACK_STATE_LEFT_OUT) {
        return admit(host, held, err);
    }
    if (!quarantines_has(&host->quarantines, plugin)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "plugin '%s' is neither in quarantine nor left out", plugin);
    }
    struct toolrack_error why;
    int code = store_quarantine_remove(host->store, plugin, &why);
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        return error_set(err, code, "%s", why.message);
    }
    forget(&host->quarantines, plugin);
    release_crews(host, plugin);
    permit_note(host->permit, &(struct store_decision){.plugin = plugin,
                                                       .decision = "released",
                                                       .who = "api",
                                                       .why = "from quarantine"});
    return 0;
}
