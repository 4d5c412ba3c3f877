#include "serve/http/rate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/lock.h"

/* Parties that are known at once: SETS times WAYS. One that was not seen for long makes room, and
 * has a full minute again when it comes back, which it would have by then. */
#define SETS 256u
#define WAYS 8u

struct bucket {
    uint64_t party; /* rate_key(); 0: nobody */
    uint64_t last_ns;
    double left;
};

struct rate {
    struct lock lock;
    uint64_t seed; /* so that nobody chooses whose bucket he shares */
    struct bucket buckets[SETS][WAYS];
};

struct rate *rate_create(void) {
    struct rate *rate = calloc(1, sizeof *rate);
    if (rate != NULL) {
        lock_init(&rate->lock);
        (void)!getrandom(&rate->seed, sizeof rate->seed, 0);
    }
    return rate;
}

void rate_destroy(struct rate *rate) {
    if (rate != NULL) {
        lock_finish(&rate->lock);
        free(rate);
    }
}

uint64_t rate_key(const struct rate *rate, const char *party) {
    uint64_t hash = rate->seed ^ 0xcbf29ce484222325u;
    for (; *party != '\0'; party++) {
        hash = (hash ^ (unsigned char)*party) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash | 1;
}

static struct bucket *find(struct rate *rate, uint64_t party, uint32_t per_minute,
                           uint64_t now_ns) {
    struct bucket *set = rate->buckets[party >> 32 & (SETS - 1)];
    struct bucket *oldest = set;
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].party == party) {
            return &set[i];
        }
        oldest = set[i].last_ns < oldest->last_ns ? &set[i] : oldest;
    }
    *oldest = (struct bucket){.party = party, .last_ns = now_ns, .left = per_minute};
    return oldest;
}

uint32_t rate_take(struct rate *rate, uint64_t party, uint32_t per_minute) {
    const double a_minute_ns = 60.0 * CLOCK_NS_PER_S;
    uint64_t now_ns = clock_now_ns();
    LOCK_SCOPE(&rate->lock);
    struct bucket *bucket = find(rate, party, per_minute, now_ns);
    bucket->left += (double)(now_ns - bucket->last_ns) / a_minute_ns * per_minute;
    bucket->left = bucket->left < per_minute ? bucket->left : per_minute;
    bucket->last_ns = now_ns;
    if (bucket->left >= 1) {
        bucket->left -= 1;
        return 0;
    }
    return 1 + (uint32_t)((1 - bucket->left) * 60.0 / per_minute);
}
