#include "remote/nats/merge.h"

#include <string.h>

const struct merge_decision *merge_later(const struct merge_decision *a,
                                         const struct merge_decision *b) {
    if (a->stamp != b->stamp) {
        return a->stamp > b->stamp ? a : b;
    }
    return strcmp(a->text, b->text) >= 0 ? a : b;
}

bool merge_follows(const struct merge_decision *decision, const struct merge_decision *other) {
    if (strcmp(decision->host, other->host) == 0) {
        return decision->stamp > other->stamp;
    }
    for (size_t i = 0; i < decision->seen_count; i++) {
        if (strcmp(decision->seen[i].host, other->host) == 0) {
            return decision->seen[i].stamp >= other->stamp;
        }
    }
    return false;
}

bool merge_counts(const struct merge_decision *decision, const struct merge_decision *all,
                  size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (merge_follows(&all[i], decision)) {
            return false;
        }
    }
    return true;
}

/* An order of all decisions that are not the same. */
static bool is_before(const struct merge_decision *a, const struct merge_decision *b) {
    int hosts = strcmp(a->host, b->host);
    return a->care != b->care     ? a->care > b->care
           : a->stamp != b->stamp ? a->stamp > b->stamp
           : hosts != 0           ? hosts > 0
                                  : strcmp(a->text, b->text) > 0;
}

const struct merge_decision *merge_winner(const struct merge_decision *all, size_t count) {
    const struct merge_decision *winner = NULL;
    const struct merge_decision *careful = NULL; /* of all, those that were followed too */
    for (size_t i = 0; i < count; i++) {
        if (careful == NULL || is_before(&all[i], careful)) {
            careful = &all[i];
        }
        if (merge_counts(&all[i], all, count) && (winner == NULL || is_before(&all[i], winner))) {
            winner = &all[i];
        }
    }
    /* Two that say to have seen each other: a host that is trusted lies. */
    return winner != NULL ? winner : careful;
}
