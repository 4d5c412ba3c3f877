/* pins.h - what approved tools said of themselves when they were approved. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Longest description or schema kept. */
#define STORE_PIN_TEXT_SIZE_MAX (1024u * 1024u)

/** A tool as it was approved. The texts are kept beside their hash, so that a change can be
 * shown and not only noticed. */
struct store_pin {
    const char *plugin;
    const char *tool;
    const char *version;
    unsigned char sha256[STORE_SHA256_SIZE]; /**< of name, description and schema */
    const char *description;                 /**< at most STORE_PIN_TEXT_SIZE_MAX */
    const char *schema;                      /**< the same */
    int64_t approved_s;
    const char *who;
};

/** Keep a pin, in place of that of the same plugin, tool and version.
 * @return as all of the store. [any-thread] */
int store_pin_set(struct store *store, const struct store_pin *pin, struct toolrack_error *err);

/** Remove one.
 * @return as all of the store; TOOLRACK_E_NOT_FOUND. [any-thread] */
int store_pin_remove(struct store *store, const char *plugin, const char *tool, const char *version,
                     struct toolrack_error *err);

/** Visit those of a plugin and of a tool (NULL: of all), by plugin, tool and version. [any-thread]
 */
int store_pins_read(struct store *store, const char *plugin, const char *tool,
                    void (*visit)(void *user, const struct store_pin *pin), void *user,
                    struct toolrack_error *err);
