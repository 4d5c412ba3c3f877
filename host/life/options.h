/* options.h - what a plugin file's life takes from the host: what lies below, and whom it tells.
 *
 * Each part of the room has a pointer to these; they hold still as long as the room. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "config/places.h"
#include "plugin/load.h"
#include "toolrack/toolrack.h"

struct builtin;
struct call_host;
struct permit;
struct registry;
struct services;
struct store;

/* All pointers are borrowed as long as the room; those that may be NULL say so. */
struct life_options {
    struct toolrack *host; /* what the callbacks are called with */
    const struct log *log;
    struct config *config;
    const struct places *places;
    struct services *services;    /* of the app, by name */
    pthread_mutex_t *config_lock; /* guards config->arena and the services */
    const struct builtin *builtins;
    size_t builtin_count;
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
