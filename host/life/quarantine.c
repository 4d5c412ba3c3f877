#include "life/quarantine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "plugin/build_id.h"
#include "store/crashes.h"
#include "store/decisions.h"
#include "store/quarantine.h"

struct search {
    const char *identity;
    const struct plugin *plugin;
    struct quarantine *ret;
    bool found;
};

static void see_quarantine(void *user, const struct store_quarantine *kept) {
    struct search *search = user;
    bool applies = search->found && quarantine_is_of(search->ret, search->plugin);
    if (!applies && identity_is_of(kept->plugin, search->identity)) {
        memcpy(search->ret->sha256, kept->sha256, sizeof kept->sha256);
        (void)snprintf(search->ret->reason, sizeof search->ret->reason, "%s", kept->reason);
        search->found = true;
    }
}

bool quarantine_read(const struct life_options *options, const struct plugin *plugin,
                     struct quarantine *ret) {
    struct toolrack_error unheard; /* the host has reported that its store cannot be used */
    struct search search = {.identity = plugin->identity_text, .plugin = plugin, .ret = ret};
    return store_quarantine_read(options->store, see_quarantine, &search, &unheard) == 0 &&
           search.found;
}

bool quarantine_is_of(const struct quarantine *quarantine, const struct plugin *plugin) {
    static const uint8_t unknown[sizeof quarantine->sha256];
    return memcmp(quarantine->sha256, plugin->sha256, sizeof quarantine->sha256) == 0 ||
           memcmp(quarantine->sha256, unknown, sizeof unknown) == 0;
}

int quarantine_add(const struct life_options *options, const char *identity,
                   const uint8_t sha256[32], const char *reason, unsigned crashes,
                   struct toolrack_error *err) {
    struct store_quarantine kept = {.plugin = identity,
                                    .reason = reason,
                                    .since_s = clock_wall_s(),
                                    .crash_count = crashes};
    memcpy(kept.sha256, sha256, sizeof kept.sha256);
    return store_quarantine_set(options->store, &kept, err);
}

/* ----------------------------------------------------- crashes of other processes */

/* A command runs one call and ends: three crashes within a minute are only seen in the store. */
struct recent {
    const char *plugin;
    char build_id[2 * BUILD_ID_MAX + 1];
    int64_t now_ms;
    int64_t since_ms;
    int64_t times_ms[CREW_CRASHES_KEPT]; /* the newest first */
    size_t count;
};

static void note_release(void *user, const struct store_decision *decision) {
    struct recent *recent = user;
    bool is_release = decision->plugin != NULL && strcmp(decision->plugin, recent->plugin) == 0 &&
                      strcmp(decision->decision, "released") == 0;
    if (is_release && decision->time_ms > recent->since_ms) {
        recent->since_ms = decision->time_ms;
    }
}

static void note_crash(void *user, const struct store_crash *crash) {
    struct recent *recent = user;
    if (recent->count == CREW_CRASHES_KEPT) {
        return;
    }
    yyjson_doc *bundle = yyjson_read(crash->bundle, strlen(crash->bundle), 0);
    yyjson_val *root = yyjson_doc_get_root(bundle);
    const char *build_id = yyjson_get_str(yyjson_obj_get(root, "build_id"));
    /* Older bundles have seconds only: such a crash counts as one at their end. */
    yyjson_val *exact = yyjson_obj_get(root, "time_ms");
    int64_t time_ms = yyjson_is_int(exact) ? yyjson_get_sint(exact) : crash->time_s * 1000 + 999;
    if (strcmp(build_id != NULL ? build_id : "", recent->build_id) == 0 &&
        !yyjson_is_true(yyjson_obj_get(root, "stopped")) && time_ms > recent->since_ms &&
        time_ms <= recent->now_ms) {
        recent->times_ms[recent->count++] = time_ms;
    }
    yyjson_doc_free(bundle);
}

size_t quarantine_recent_crashes(const struct life_options *options, const struct plugin *plugin,
                                 uint32_t window_ms, uint64_t ret_ago_ms[CREW_CRASHES_KEPT]) {
    struct toolrack_error unheard; /* crashes that cannot be read do not count */
    struct recent recent = {.plugin = plugin->desc->plugin->id, .now_ms = clock_wall_ms()};
    recent.since_ms = recent.now_ms - (int64_t)window_ms;
    if (plugin->path != NULL) { /* else only its id is known: set_foreign() in generation.c */
        unsigned char id[BUILD_ID_MAX];
        CLEANUP(closep) int fd = open(plugin->image_path, O_RDONLY | O_CLOEXEC);
        size_t length = build_id_read(fd, id);
        for (size_t i = 0; i < length; i++) {
            (void)snprintf(recent.build_id + 2 * i, 3, "%02x", id[i]);
        }
    }
    const struct store_decisions_filter filter = {.since_ms = recent.since_ms};
    (void)store_decisions_read(options->store, &filter, note_release, &recent, &unheard);
    (void)store_crashes_read(options->store, plugin->identity_text, note_crash, &recent, &unheard);
    for (size_t i = 0; i < recent.count; i++) {
        ret_ago_ms[i] = (uint64_t)(recent.now_ms - recent.times_ms[recent.count - 1 - i]);
    }
    return recent.count;
}
