/* server.h - the state of REST in one serving process.
 *
 * Invariants of struct rest, guarded by `lock`:
 *
 *  (1) `live` lists each request whose exchange is not finished.
 *  (2) `used` counts the requests that somebody has a reference to.
 *
 * Locks are taken in this order: rest, request. Functions of the embedding API are called without
 * them; those of an exchange with that of the request, which orders them. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"
#include "serve/rest/rest.h"
#include "serve/rest/tick.h"
#include "serve/subset.h"
#include "serve/work.h"

struct rest_request;
struct events;
struct follower;
struct job;
struct kept;
struct listing;
struct rest_runs;
struct serve_counts;

#define REST_SCOPES 3u

struct rest {
    struct front front;
    uint32_t magic;
    struct toolrack *host;
    char *profile; /* owned, or NULL */
    struct subset subset;
    const struct serve_counts *counts; /* of the server; borrowed, or NULL */
    struct kept *document;             /* the description of all routes */
    enum front_class metrics;          /* who is given the metrics, as the configuration says */

    struct lock lock;
    pthread_cond_t quiet; /* `used` became 0 */
    struct rest_request *live;
    size_t used;
    bool draining;

    struct workers store;       /* what waits for the store, or for a plugin to be loaded */
    struct workers choices;     /* what chooses tools, and may wait for a model */
    struct workers turns;       /* what waits for tools */
    atomic_uint_fast64_t state; /* counts what has happened in the host */
    struct listing *listing;    /* the tools as they were listed last */
    struct events *events;
    struct ticker ticker;
    struct follower *followers; /* of the log; guarded by `lock`, as is the next */
    struct job *jobs;           /* calls that were answered with a task */
    struct rest_runs *runs;     /* of plans */
    struct rest_request *turn;  /* messages of models and choices that run, or wait for a thread */
    char *scopes[REST_SCOPES];  /* of OAuth, by enum toolrack_permission; owned, or NULL */
};
#define REST_MAGIC 0x72657374u

/* Threads of each kind, at most. A party has as many turns, and choices, as it leaves free. */
#define REST_STORE_THREADS 4u
#define REST_TURN_THREADS  32u
