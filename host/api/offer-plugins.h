/* offer-plugins.h - which plugins offer something, in the order in which they are asked. */
#pragma once

#include "base/cleanup.h"
#include "plugin/offer.h"
#include "registry/registry.h"

struct offer_plugins {
    struct plugin **items; /* a reference on each: the more trusted first, then the earlier */
    uint64_t *numbers;     /* of each, that of its first registration: of its content */
    size_t count;
    bool failed; /* no memory */
};

/** Those that state it and may run.
 * @param only  the ids of those that are wanted, NULL-terminated; NULL: all. [any-thread] */
void offer_plugins_find(struct registry *registry, enum offer offer, const char *const *only,
                        struct offer_plugins *ret);
void offer_plugins_finish(struct offer_plugins *plugins);

/** What a plugin offers in place of `old` of tool_create_offer(), whose file was exchanged: a
 * reference. As call_host.find_offer. [any-thread] */
int offer_plugins_find_again(struct registry *registry, const struct toolrack_tool *old,
                             struct toolrack_tool **ret, struct toolrack_error *err);

/** Whether a plugin that states resources or prompts may run. [any-thread] */
bool offer_plugins_has(struct registry *registry, const struct plugin *plugin);

/** Whether there is one. [any-thread] */
bool offer_plugins_any(struct registry *registry, enum offer offer);
