/* pins.h - description and schema of each tool at the time of its approval. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Longest description or schema kept. */
#define STORE_PIN_TEXT_SIZE_MAX (1024u * 1024u)

/** A tool as it was approved. The texts are stored beside their hash, so that a change can be
 * shown, not only detected. */
struct store_pin {
    const char *plugin; /**< its identity (identities.h) */
    const char *tool;
    const char *version;
    unsigned char sha256[STORE_SHA256_SIZE]; /**< of name, description and schema */
    const char *description;                 /**< at most STORE_PIN_TEXT_SIZE_MAX */
    const char *schema;                      /**< the same */
    int64_t approved_s;
    const char *who;
};

/** Visit the pins of a plugin and of a tool (NULL: of all), ordered by plugin, tool and version.
 * [any-thread] */
int store_pins_read(struct store *store, const char *plugin, const char *tool,
                    void (*visit)(void *user, const struct store_pin *pin), void *user,
                    struct toolrack_error *err);
