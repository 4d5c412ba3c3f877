#include "life/quarantine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "plugin/build_id.h"
#include "store/crashes.h"
#include "store/decisions.h"
#include "store/quarantine.h"

void quarantines_init(struct quarantines *quarantines, const struct life_options *options) {
    *quarantines = (struct quarantines){.options = options};
    lock_init(&quarantines->lock);
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
    lock_finish(&quarantines->lock);
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
    lock_take(&quarantines->lock);
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
    lock_release(&quarantines->lock);
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

int quarantines_read(struct quarantines *quarantines, struct toolrack_error *err) {
    struct reading_kept reading = {.quarantines = quarantines};
    int code = store_quarantine_read(quarantines->options->store, take_kept, &reading, err);
    return code == 0 && reading.failed ? error_oom(err) : code;
}

bool quarantines_has(struct quarantines *quarantines, const char *plugin) {
    lock_take(&quarantines->lock);
    bool has = find(quarantines, plugin) != NULL;
    lock_release(&quarantines->lock);
    return has;
}

bool quarantines_find(struct quarantines *quarantines, const struct plugin *plugin,
                      char reason[ERROR_MESSAGE_MAX]) {
    static const uint8_t unknown[sizeof plugin->sha256];
    lock_take(&quarantines->lock);
    const struct quarantine *kept = find(quarantines, plugin->desc->plugin->id);
    bool found = kept != NULL && (memcmp(kept->sha256, plugin->sha256, sizeof kept->sha256) == 0 ||
                                  memcmp(kept->sha256, unknown, sizeof unknown) == 0);
    if (found) {
        (void)snprintf(reason, ERROR_MESSAGE_MAX, "%s", kept->reason);
    }
    lock_release(&quarantines->lock);
    return found;
}

int quarantines_add(struct quarantines *quarantines, const char *plugin_id,
                    const uint8_t sha256[32], const char *reason, unsigned crashes,
                    struct toolrack_error *err) {
    if (!add(quarantines, plugin_id, sha256, reason)) {
        return error_oom(err);
    }
    struct store_quarantine kept = {.plugin = plugin_id,
                                    .reason = reason,
                                    .since_s = clock_wall_s(),
                                    .crash_count = crashes};
    memcpy(kept.sha256, sha256, sizeof kept.sha256);
    return store_quarantine_set(quarantines->options->store, &kept, err);
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

size_t quarantines_recent_crashes(struct quarantines *quarantines, const struct plugin *plugin,
                                  uint32_t window_ms, uint64_t ret_ago_ms[CREW_CRASHES_KEPT]) {
    struct toolrack_error unheard; /* what cannot be read does not count */
    struct recent recent = {.plugin = plugin->desc->plugin->id, .now_s = clock_wall_s()};
    recent.since_s = recent.now_s - (int64_t)(window_ms / 1000) - 1;
    if (plugin->path !=
        NULL) { /* else it is known by its id alone: set_foreign() in generation.c */
        read_build_id(plugin->image_path, recent.build_id);
    }
    const struct store_decisions_filter filter = {.since_ms = recent.since_s * 1000};
    (void)store_decisions_read(quarantines->options->store, &filter, note_release, &recent,
                               &unheard);
    (void)store_crashes_read(quarantines->options->store, recent.plugin, note_crash, &recent,
                             &unheard);
    for (size_t i = 0; i < recent.count; i++) {
        ret_ago_ms[i] = (uint64_t)(recent.now_s - recent.times_s[recent.count - 1 - i]) * 1000;
    }
    return recent.count;
}

void quarantines_forget(struct quarantines *quarantines, const char *plugin) {
    LOCK_SCOPE(&quarantines->lock);
    struct quarantine *known = find(quarantines, plugin);
    if (known != NULL) {
        remove_item(quarantines, known);
    }
}
