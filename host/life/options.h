/* options.h - what a plugin file's life gets from the host: the rooms below, and the event
 * callback.
 *
 * Each part of the room has a pointer to these options, which do not change while the room exists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "config/places.h"
#include "plugin/load.h"
#include "store/hosts.h"
#include "toolrack/toolrack.h"

struct call_host;
struct permit;
struct registry;
struct store;

/* All pointers are borrowed as long as the room exists; those that may be NULL say so. */
struct life_options {
    struct toolrack *host; /* passed to the callbacks */
    const struct log *log;
    struct config *config;
    const struct places *places;
    struct store *store;
    struct permit *permit; /* has the log of decisions */
    struct registry *registry;
    const struct call_host *calls; /* how the calls of a trial are made */
    const struct image_host *images;
    const char *worker_program; /* copied; NULL: from the environment, or the default */
    enum isolation isolation;   /* where nothing else is configured */
    bool require_sandbox;
    bool keeps_spare_worker;
    bool safe_mode;             /* no tools from the configuration */
    uint32_t watch_debounce_ms; /* 0: the default */

    /* Something was stored that concerns the other hosts of the state folder; nobody waits for
     * their answers. No lock of the room is held. [any-thread] */
    void (*decided)(struct toolrack *host, enum hosts_change change);
    /* Something has happened to a plugin; its id and the message may be NULL. No lock of the room
     * is held. [any-thread] */
    void (*event)(struct toolrack *host, enum toolrack_event_kind kind, const char *plugin_id,
                  const char *message);
};
