/* registry-parts.h - the registry as a struct, and the steps that its changes share.
 *
 *     registry-change.c    how a change begins, is decided about, published and ends; add, remove
 *     registry-swap.c      the tools of one file for others; tools that may be registered now; kept
 *                          versions
 *     registry-settings.c  settings, and decisions about tools that are registered
 *     registry-read.c      the readers */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "base/object.h"
#include "registry/change.h"
#include "registry/refusal.h"
#include "registry/registry.h"

/* Invariants; registry_check() checks (3) and (5), and those of the snapshot:
 *
 *  (1) `current` is never NULL and is replaced only by registry_publish_next(), under `writer`.
 *  (2) What a snapshot had and the next one has not is freed only after rcu_synchronize(): no
 *      reader holds it then. And only after `writer` was released, since that may end a plugin,
 *      whose code then runs.
 *  (3) No two tools of a snapshot have the same name and version.
 *  (4) Each view has the settings and decisions about its registration. The registry does not store
 *      them: options.settings and options.registering supply them once, before the registration is
 *      published, and each later change goes through registry_set() or registry_review().
 *  (5) uids grow: of two registrations the one with the smaller uid came first. */
struct registry {
    uint32_t magic; /* REGISTRY_MAGIC */
    _Atomic(struct snapshot *) current;
    struct registry_options options;

    struct lock writer; /* guards the members below */
    uint64_t uid_last;
    uint64_t published; /* snapshots */
    struct toolrack_refusals refusals;
};
#define REGISTRY_MAGIC 0x72656769u

/** The present snapshot: inside a reader, or with `writer` taken. */
static inline struct snapshot *registry_current(struct registry *registry) {
    OBJECT_CHECK(registry, REGISTRY_MAGIC);
    return atomic_load_explicit(&registry->current, memory_order_acquire);
}

/** Take `writer`, until registry_end(). The functions below are called in between. */
void registry_begin(struct registry *registry);
/** Release `writer`, report the change, and release what it replaced. Returns `code`. */
int registry_end(struct registry *registry, struct change *change, int code);

/** Begin a change of at most `names` names, after which the registry has at most `tools` tools. */
int registry_begin_change(struct registry *registry, struct change *change, size_t tools,
                          size_t names, struct toolrack_error *err);
/** The change is about all names that a plugin provides; NULL is ignored. */
void registry_concern_plugin(struct change *change, const struct plugin *plugin);
/** Add the tools of a plugin, or one of them, under new numbers. False: out of memory. */
bool registry_add_plugin(struct registry *registry, struct plugin *plugin, struct change *change);
bool registry_add_tool(struct registry *registry, struct plugin *plugin, uint32_t index,
                       struct change *change);
/** Apply the settings and decisions to the new tools of a change, from `first` on; then sort all of
 * its tools. */
int registry_decide_new(struct registry *registry, struct change *change, size_t first,
                        struct toolrack_error *err);
/** Refuse the tools of a sorted change whose names other plugins have. */
int registry_resolve_names(struct registry *registry, struct change *change,
                           struct toolrack_error *err);
/** Write the rows about the names of a sorted change that several plugins share. */
void registry_note_shared(struct registry *registry, const struct change *change);
/** Compare the new tools of a sorted change with the version before each: one of this change, or of
 * the present snapshot. */
void registry_compare_versions(struct registry *registry, const struct change *change);
/** Make the next snapshot, in which the names of the change have its tools; and publish it. */
int registry_make_next(struct change *change, struct toolrack_error *err);
void registry_publish_next(struct registry *registry, struct change *change);
/** Both. */
int registry_publish(struct registry *registry, struct change *change, struct toolrack_error *err);

/** Apply the settings to views that are not published yet. The views are sorted by name. */
int registry_read_settings(struct registry *registry, struct toolrack_tool *const *tools,
                           size_t count, struct toolrack_error *err);
