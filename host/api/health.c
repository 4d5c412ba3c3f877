#include "api/health.h"

#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "choose/health.h"

/* ---------------------------------------------------------- what concerns us */

static int compare_tools(const char *tool, const char *version, const struct health_outcome *b) {
    int order = strcmp(tool, b->tool);
    return order != 0 ? order : strcmp(version, b->version);
}

/* By tool and version, those of one in the order in which they ended. */
static int compare_outcomes(const void *left, const void *right) {
    const struct health_outcome *a = *(const struct health_outcome *const *)left;
    const struct health_outcome *b = *(const struct health_outcome *const *)right;
    int order = compare_tools(a->tool, a->version, b);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Calls of a batch, sorted, and which of their tools have failed before. */
struct batch {
    const struct health_outcome **items;
    bool *concerned;
    size_t count;
};

/* The first call of a tool in the batch, or count. */
static size_t find_tool(const struct batch *batch, const char *tool, const char *version) {
    size_t low = 0;
    size_t high = batch->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_tools(tool, version, batch->items[middle]) > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < batch->count && compare_tools(tool, version, batch->items[low]) == 0
                   ? low
                   : batch->count;
}

static void mark_known(void *user, const char *tool, const char *version,
                       const struct store_health *health) {
    const struct batch *batch = user;
    size_t at = find_tool(batch, tool, version);
    (void)health;
    if (at < batch->count) {
        batch->concerned[at] = true;
    }
}

/* ------------------------------------------------------------------- change */

/* The calls of one tool, and what they changed. */
struct group {
    const struct health_outcome *const *items;
    size_t count;
    enum health_change told; /* the last that people should hear of */
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

static void tell(struct toolrack *host, const struct group *group) {
    const struct health_outcome *call = group->items[0];
    char why[160];
    if (group->told == HEALTH_RECOVERED) {
        (void)snprintf(why, sizeof why, "a call of it gave a result");
    } else {
        (void)snprintf(
                why, sizeof why, "%s; it is tried again in %lld s",
                group->told == HEALTH_RESTS_ON ? "its trial failed" : HEALTH_WHY,
                (long long)((group->after.trial_ms - group->items[group->count - 1]->ended_ms) /
                            1000));
    }
    bool off = group->told == HEALTH_RECOVERED;
    log_line(&host->log, off ? LOG_INFO : LOG_WARNING, "recommend", "Tool '%s@%s' is %s: %s",
             call->tool, call->version, off ? "off the blacklist" : "on the blacklist", why);
    permit_note(host->permit, &(struct store_decision){.tool = call->tool,
                                                       .version = call->version,
                                                       .decision = off ? "unlisted" : "blacklisted",
                                                       .who = HEALTH_WHO,
                                                       .why = why});
}

static int change(struct toolrack *host, const struct batch *batch, size_t at, size_t count,
                  struct toolrack_error *err) {
    struct group group = {.items = &batch->items[at], .count = count};
    const struct health_outcome *call = batch->items[at];
    int code = store_health_change(host->store, call->tool, call->version, apply, &group, err);
    if (code == 0 && group.told != HEALTH_SAME) {
        tell(host, &group);
    }
    return code;
}

static int change_all(struct toolrack *host, const struct batch *batch,
                      struct toolrack_error *err) {
    int code = 0;
    for (size_t at = 0, end; code == 0 && at < batch->count; at = end) {
        const struct health_outcome *call = batch->items[at];
        bool concerned = batch->concerned[at];
        for (end = at;
             end < batch->count && compare_tools(call->tool, call->version, batch->items[end]) == 0;
             end++) {
            concerned = concerned || health_is_failure(batch->items[end]->code);
        }
        if (concerned) {
            code = change(host, batch, at, end - at, err);
        }
    }
    return code;
}

/* Of calls that gave results only tools that had failed are of interest. */
static void take_interest(void *user, const char *tool, const char *version,
                          const struct store_health *health) {
    bool *any = user;
    (void)tool;
    (void)version;
    (void)health;
    *any = true;
}

static int is_of_interest(struct toolrack *host, const struct health_outcome *outcomes,
                          size_t count, bool *ret, struct toolrack_error *err) {
    *ret = false;
    for (size_t i = 0; !*ret && i < count; i++) {
        *ret = health_is_failure(outcomes[i].code);
    }
    return *ret ? 0 : store_health_read(host->store, take_interest, ret, err);
}

static int note_batch(struct toolrack *host, const struct health_outcome *outcomes, size_t count,
                      struct toolrack_error *err) {
    CLEANUP(freep)
    const struct health_outcome **items = calloc(count, sizeof(struct health_outcome *));
    CLEANUP(freep) bool *concerned = calloc(count, sizeof *concerned);
    if (items == NULL || concerned == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = &outcomes[i];
    }
    qsort(items, count, sizeof items[0], compare_outcomes);
    struct batch batch = {.items = items, .concerned = concerned, .count = count};
    int code = store_health_read(host->store, mark_known, &batch, err);
    return code < 0 ? code : change_all(host, &batch, err);
}

void healths_note(struct toolrack *host, const struct health_outcome *outcomes, size_t count) {
    struct toolrack_error err;
    bool of_interest = false;
    if (count == 0) {
        return;
    }
    int code = is_of_interest(host, outcomes, count, &of_interest, &err);
    if (code == 0 && of_interest) {
        code = note_batch(host, outcomes, count, &err);
    }
    if (code < 0) {
        log_line(&host->log, LOG_ERROR, "recommend",
                 "how the last %zu calls ended is not seen by recommendations: %s", count,
                 err.message);
    }
}
