/* capabilities.h - what people gave to plugins or took from them, and what the words of the
 * configuration covered when they first applied.
 *
 * A word such as "read" in "allow" covers all that a plugin declares. What it declares is stored
 * when the word first applies to the plugin; a later build that declares more does not get it by
 * the word. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

enum store_capability_kind {
    STORE_CAPABILITY_GIVEN,   /* `capability` is an item of "allow" */
    STORE_CAPABILITY_TAKEN,   /* it is a declared one, such as "read:/srv", and not granted */
    STORE_CAPABILITY_COVERED, /* a declared one that `word` covers; "" says that it applies */
};

struct store_capability {
    const char *plugin; /**< its identity (identities.h) */
    enum store_capability_kind kind;
    const char *word; /**< of COVERED, else "" */
    const char *capability;
    int64_t since_s;
    const char *who;
};

/** Visit the rows of a plugin (NULL: of all), ordered by plugin, kind, word and capability.
 * [any-thread] */
int store_capabilities_read(struct store *store, const char *plugin,
                            void (*visit)(void *user, const struct store_capability *row),
                            void *user, struct toolrack_error *err);

/** Store rows of one plugin: given and taken ones durably, covered ones soon. What is given is not
 * taken any more, and the reverse. [any-thread] */
int store_capabilities_add(struct store *store, const struct store_capability *rows, size_t count,
                           struct toolrack_error *err);

/** Remove a row of kind GIVEN or TAKEN; one that does not exist is no error. [any-thread] */
int store_capability_remove(struct store *store, const char *plugin,
                            enum store_capability_kind kind, const char *capability,
                            struct toolrack_error *err);
