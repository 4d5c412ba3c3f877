/* policy-target.h - where the value of a capability leads: its placeholders, and the way. */
#pragma once

#include "config/config.h"
#include "life/guard-way.h"

/* What the placeholders of a plugin stand for. */
struct policy_values {
    const struct config *config;
    const char *plugin_id;
    const char *own_folder; /* ${data}; NULL: none */
    struct arena *arena;    /* as long as the policy */
    struct arena *ways;     /* as long as the target */
};

struct policy_target {
    struct guard_way way; /* its end is in `arena` */
    const char *nowhere;  /* why it leads nowhere, and what to write; NULL: it leads there */
};

/** A value with its placeholders replaced, in the arena; NULL in `ret_nowhere`: each has a value.
 * @return false: no memory. */
bool policy_target_expand(const struct policy_values *values, const char *text,
                          const char **ret_text, const char **ret_nowhere);

/** Find where a path with placeholders leads. @return false: no memory. */
bool policy_target_find(const struct policy_values *values, const char *text,
                        struct policy_target *ret);

/** Find where an item of "allow" leads that grants less than is declared: a path in the declared
 * one, which is real, of the same kind. `ret->way.end` NULL: it is none.
 * @return false: no memory. */
bool policy_target_find_narrower(const struct policy_values *values, const char *item,
                                 uint32_t kind, const char *declared_path,
                                 struct policy_target *ret);
