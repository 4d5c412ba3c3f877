/* options.h - what a plugin file's life takes from the host: what lies below, and whom it tells.
 *
 * Each part of the room has a pointer to these; they hold still as long as the room. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "config/places.h"
#include "plugin/load.h"
#include "toolrack/toolrack.h"

struct call_host;
struct permit;
struct registry;
struct store;

/* All pointers are borrowed as long as the room; those that may be NULL say so. */
struct life_options {
    struct toolrack *host; /* what the callbacks are called with */
    const struct log *log;
    struct config *config;
    const struct places *places;
    struct store *store;
    struct permit *permit; /* whose log has decisions */
    struct registry *registry;
    const struct call_host *calls; /* how the calls of a trial are made */
    const struct image_host *images;
    const char *worker_program; /* copied; NULL: that of the environment, or the default one */
    enum isolation isolation;   /* where nothing else is said */
    bool require_sandbox;
    bool safe_mode;             /* no tools from the configuration */
    uint32_t watch_debounce_ms; /* 0: the default */

    /* Something has happened to a plugin; its id and the message may be NULL. No lock of the room
     * is held. [any-thread] */
    void (*event)(struct toolrack *host, enum toolrack_event_kind kind, const char *plugin_id,
                  const char *message);
};
