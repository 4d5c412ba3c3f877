#include "record/health.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "record/record.h"
#include "store/health-rules.h"

static int compare_tools(const char *tool, const char *version, const char *plugin,
                         const struct health_outcome *b) {
    int order = strcmp(tool, b->tool);
    order = order != 0 ? order : strcmp(version, b->version);
    return order != 0 ? order : strcmp(plugin, b->plugin);
}

/* By tool, version and plugin; outcomes of the same tool in the order in which they ended. */
static int compare_outcomes(const void *left, const void *right) {
    const struct health_outcome *a = *(const struct health_outcome *const *)left;
    const struct health_outcome *b = *(const struct health_outcome *const *)right;
    int order = compare_tools(a->tool, a->version, a->plugin, b);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Calls of a batch, sorted, and for the first call of each tool whether the tool has failed
 * before. */
struct batch {
    const struct health_outcome **items;
    bool *has_failed;
    size_t count;
};

/* A row of schema 3 is about each plugin. */
static bool is_about(const char *tool, const char *version, const char *plugin,
                     const struct health_outcome *call) {
    return compare_tools(tool, version, plugin[0] != '\0' ? plugin : call->plugin, call) == 0;
}

static void mark_known(void *user, const char *tool, const char *version, const char *plugin,
                       const struct store_health *health) {
    const struct batch *batch = user;
    size_t low = 0;
    size_t high = batch->count;
    (void)health;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_tools(tool, version, plugin, batch->items[middle]) > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < batch->count && is_about(tool, version, plugin, batch->items[low]); low++) {
        batch->has_failed[low] = true;
    }
}

/* ------------------------------------------------------------------- change */

/* The calls of one tool, and what they changed. */
struct group {
    const struct health_outcome *const *items;
    size_t count;
    enum health_change told; /* the last change that is logged */
    struct store_health after;
};

static bool apply(void *user, struct store_health *health) {
    struct group *group = user;
    bool changed = false;
    for (size_t i = 0; i < group->count; i++) {
        enum health_change change =
                health_note(health, group->items[i]->code, group->items[i]->ended_ms);
        changed = changed || change != HEALTH_SAME;
        group->told = change > HEALTH_NOTED ? change : group->told;
    }
    group->after = *health;
    return changed;
}

static void tell(const struct record_options *options, const struct group *group) {
    const struct health_outcome *call = group->items[0];
    const struct health_outcome *last = group->items[group->count - 1];
    bool off = group->told == HEALTH_RECOVERED;
    char why[160];
    if (off) {
        (void)snprintf(why, sizeof why, "a call of it gave a result");
    } else {
        (void)snprintf(why, sizeof why, "%s; it is tried again in %lld s",
                       group->told == HEALTH_RESTS_ON ? "its retry failed" : HEALTH_WHY,
                       (long long)((group->after.retry_ms - last->ended_ms) / 1000));
    }
    log_line(options->log, off ? LOG_INFO : LOG_WARNING, "recommend", "Tool '%s@%s' is %s: %s",
             call->tool, call->version, off ? "off the blacklist" : "on the blacklist", why);
    size_t length = identity_id_length(call->plugin);
    CLEANUP(freep) char *plugin_id = strndup(call->plugin, length);
    permit_note(options->permit,
                &(struct store_decision){
                        .tool = call->tool,
                        .version = call->version,
                        .plugin = plugin_id,
                        .origin = call->plugin[length] != '\0' ? call->plugin + length + 1 : NULL,
                        .decision = off ? "unlisted" : "blacklisted",
                        .who = HEALTH_WHO,
                        .why = why});
}

static int change_all(const struct record_options *options, const struct batch *batch,
                      struct toolrack_error *err) {
    int code = 0;
    for (size_t at = 0, end; code == 0 && at < batch->count; at = end) {
        const struct health_outcome *call = batch->items[at];
        bool concerned = batch->has_failed[at];
        for (end = at; end < batch->count && compare_tools(call->tool, call->version, call->plugin,
                                                           batch->items[end]) == 0;
             end++) {
            concerned = concerned || health_is_failure(batch->items[end]->code);
        }
        if (concerned) {
            struct group group = {.items = &batch->items[at], .count = end - at};
            code = store_health_change(options->store, call->tool, call->version, call->plugin,
                                       apply, &group, err);
            if (code == 0 && group.told != HEALTH_SAME) {
                tell(options, &group);
            }
        }
    }
    return code;
}

static void note_any(void *user, const char *tool, const char *version, const char *plugin,
                     const struct store_health *health) {
    bool *any = user;
    (void)tool;
    (void)version;
    (void)plugin;
    (void)health;
    *any = true;
}

static int note(const struct record_options *options, const struct health_outcome *outcomes,
                size_t count, struct toolrack_error *err) {
    /* Calls with a result matter only for tools that had failed. */
    bool any = false;
    for (size_t i = 0; !any && i < count; i++) {
        any = health_is_failure(outcomes[i].code);
    }
    int code = any ? 0 : store_health_read(options->store, note_any, &any, err);
    if (code < 0 || !any) {
        return code;
    }
    CLEANUP(freep)
    const struct health_outcome **items = calloc(count, sizeof(struct health_outcome *));
    CLEANUP(freep) bool *has_failed = calloc(count, sizeof *has_failed);
    if (items == NULL || has_failed == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = &outcomes[i];
    }
    qsort(items, count, sizeof items[0], compare_outcomes);
    struct batch batch = {.items = items, .has_failed = has_failed, .count = count};
    code = store_health_read(options->store, mark_known, &batch, err);
    return code < 0 ? code : change_all(options, &batch, err);
}

void health_note_outcomes(const struct record_options *options,
                          const struct health_outcome *outcomes, size_t count) {
    struct toolrack_error err;
    if (count > 0 && note(options, outcomes, count, &err) < 0) {
        log_line(options->log, LOG_ERROR, "recommend",
                 "how the last %zu call%s ended is not seen by recommendations: %s", count,
                 text_plural(count), err.message);
    }
}
