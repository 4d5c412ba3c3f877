#include "choose/fuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Shares are whole parts of so many, as those of words. */
#define SHARE_PARTS 10000

/* A tool of either ranking. */
struct fused {
    size_t at;      /* in the hits: first those by words, then those by vectors alone */
    double sum;     /* what its places count */
    double vectors; /* the part that its vector counts; 0: it has none among the first */
};

static double worth(size_t at) {
    return 1 / (FUSE_FLAT + (double)(at + 1));
}

/* Where a tool stands by vectors; their number: nowhere. */
static size_t place_of(const struct vectors_found *found, uint64_t id) {
    size_t at = 0;
    while (at < found->count && found->hits[at].id != id) {
        at++;
    }
    return at;
}

static int compare_fused(const void *left, const void *right) {
    const struct fused *a = left;
    const struct fused *b = right;
    if (a->sum > b->sum || a->sum < b->sum) {
        return a->sum > b->sum ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Say that the vector counted, in the order of the shares; the smallest one goes if all places are
 * taken. */
static void add_reason(struct match_hit *hit, double part) {
    const struct match_reason reason = {.relation = MATCH_VECTOR,
                                        .share = (double)(int)(part * SHARE_PARTS) / SHARE_PARTS};
    size_t kept = hit->reason_count < MATCH_REASONS_MAX ? hit->reason_count : MATCH_REASONS_MAX - 1;
    size_t at = 0;
    for (size_t i = 0; i < hit->reason_count; i++) {
        hit->reasons[i].share *= 1 - part;
        at += hit->reasons[i].share >= reason.share;
    }
    at = at < kept ? at : kept;
    memmove(&hit->reasons[at + 1], &hit->reasons[at], (kept - at) * sizeof reason);
    hit->reasons[at] = reason;
    hit->reason_count = kept + 1;
}

int fuse(struct match_hit *hits, size_t *count, size_t room, const struct vectors_found *found,
         bool (*lacks)(void *user, uint64_t id), void *user, struct toolrack_error *err) {
    bool taken[VECTORS_FOUND_MAX] = {false};
    size_t words = *count;
    size_t all = words;
    double top = words > 0 ? hits[0].score : found->count == 0 ? 0 : (double)found->hits[0].cosine;
    CLEANUP(freep) struct fused *fused = calloc(words + found->count + 1, sizeof *fused);
    CLEANUP(freep) struct match_hit *copy = calloc(words + found->count + 1, sizeof *copy);
    if (fused == NULL || copy == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < words; i++) {
        size_t place = place_of(found, hits[i].id);
        bool is_found = place < found->count;
        double vectors = is_found ? worth(place) : 0;
        double others = !is_found && lacks(user, hits[i].id) ? worth(i) : 0;
        fused[i] = (struct fused){i, worth(i) + vectors + others, vectors};
        copy[i] = hits[i];
        if (is_found) {
            taken[place] = true;
        }
    }
    for (size_t i = 0; i < found->count; i++) {
        if (!taken[i]) {
            fused[all] = (struct fused){all, worth(i), worth(i)};
            copy[all++].id = found->hits[i].id;
        }
    }
    qsort(fused, all, sizeof *fused, compare_fused);
    *count = all < room ? all : room;
    for (size_t i = 0; i < *count; i++) {
        hits[i] = copy[fused[i].at];
        hits[i].score = (top > 0 ? top < 1 ? top : 1 : 0) * (fused[i].sum / fused[0].sum);
        if (fused[i].vectors > 0) {
            add_reason(&hits[i], fused[i].vectors / fused[i].sum);
        }
    }
    return 0;
}
