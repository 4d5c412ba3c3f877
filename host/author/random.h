/* random.h - numbers that a seed reproduces (splitmix64). */
#pragma once

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** A number below `bound`, which is not 0. */
static inline uint64_t random_below(struct random *random, uint64_t bound) {
    return random_next(random) % bound;
}

/** The numbers of one part of a test: the same for the same seed, whatever other parts there are.
 */
static inline struct random random_of(uint64_t seed, uint64_t part, const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ part;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    struct random random = {.state = seed ^ hash};
    (void)random_next(&random);
    return random;
}
