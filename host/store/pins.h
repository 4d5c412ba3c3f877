/* pins.h - what each tool was at the time of its approval, and how much care each tool has asked
 * for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "plugin/pin.h"
#include "store/store.h"

/* Longest text kept. */
#define STORE_PIN_TEXT_SIZE_MAX (1024u * 1024u)

/** A tool as it was approved. The texts are stored beside their hash, so that a change can be
 * shown, not only detected. */
struct store_pin {
    const char *plugin; /**< its identity (identities.h) */
    const char *tool;
    const char *version;
    unsigned char sha256[STORE_SHA256_SIZE]; /**< of the name and the texts */
    const char *texts[PIN_TEXT_COUNT];       /**< each at most STORE_PIN_TEXT_SIZE_MAX, "" where the
                                                tool has none. A pin of schema 3 has the first two,
                                                and NULL for the others */
    int64_t approved_s;
    const char *who;
    int permission;           /**< enum toolrack_permission; -1 in a pin of schema 3 */
    uint32_t flags;           /**< of the tool; 0 in a pin of schema 3 */
    const char *capabilities; /**< of the plugin, one a line; NULL in a pin of schema 3 */
};

/** Visit the pins of a plugin and of a tool (NULL: of all), ordered by plugin, tool and version.
 * [any-thread] */
int store_pins_read(struct store *store, const char *plugin, const char *tool,
                    void (*visit)(void *user, const struct store_pin *pin), void *user,
                    struct toolrack_error *err);

/** The highest permission that a tool of a plugin has stated, in any version, unless another one
 * was approved. A tool that was always safe has no row. */
struct store_caution {
    const char *plugin; /**< its identity */
    const char *tool;
    int permission; /**< enum toolrack_permission */
};

/** Visit those of a plugin (NULL: of all). [any-thread] */
int store_cautions_read(struct store *store, const char *plugin,
                        void (*visit)(void *user, const struct store_caution *caution), void *user,
                        struct toolrack_error *err);
/** Store cautions; a power cut may lose them. [any-thread] */
int store_cautions_record(struct store *store, const struct store_caution *cautions, size_t count,
                          struct toolrack_error *err);
