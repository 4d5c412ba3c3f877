#include "worker/filter-make.h"
#include "worker/sandbox-kernel.h"
#include "worker/sandbox.h"

bool sandbox_has_files(const struct sandbox_policy *policy) {
    return policy->read_path_count + policy->write_path_count > 0;
}

/* The first version of Landlock that controls truncate(). */
#define LANDLOCK_TRUNCATE 3

const void *sandbox_filter(const struct sandbox_policy *policy, size_t *ret_size) {
    unsigned grants = (policy->network ? FILTER_TCP : 0u) | (policy->udp ? FILTER_UDP : 0u) |
                      (policy->spawn ? FILTER_SPAWN : 0u) |
                      (sandbox_has_files(policy) ? FILTER_FILES : 0u) |
                      (sandbox_landlock_version() >= LANDLOCK_TRUNCATE ? FILTER_TRUNCATE : 0u);
    *ret_size = (filter_begins[grants + 1] - filter_begins[grants]) * sizeof *filter_instructions;
    return filter_instructions + filter_begins[grants];
}
