/* server.h - the state of one serving process.
 *
 * Invariants of struct mcp, guarded by `lock`:
 *
 *  (1) `live` lists each request whose exchange is not finished, and `live_count` counts them.
 *  (2) A live request with an id and a client is in `buckets` too: no other live request has the
 *      same client and id.
 *  (3) `free` lists at most SERVER_FREE_MAX requests that nobody uses, with their memory: those
 *      that a thread has released are for that thread first, in the cache of whose CPU they are.
 *
 * Locks are taken in this order: changes, client, mcp, request, replay. Functions of the embedding
 * API and of a transport are called without the first three. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"
#include "serve/mcp/mcp.h"
#include "serve/mcp/settings.h"
#include "serve/mcp/timer.h"
#include "serve/work.h"

/* Requests whose memory is kept for the next ones. */
#define SERVER_FREE_MAX   256u
#define SERVER_FREE_LISTS 8u
#define SERVER_BUCKETS    1024u /* a power of two */
/* Bytes of a key of libsodium's XChaCha20-Poly1305. */
#define SERVER_KEY_SIZE   32u

struct approvals;
struct request;
struct client;
struct catalogues;
struct changes;
struct tasks;
struct shares;
struct watches;

struct mcp {
    uint32_t magic;
    struct toolrack *host;
    char *profile; /* as in the options; owned */
    struct settings settings;
    unsigned char key[SERVER_KEY_SIZE]; /* seals cursors and states, new with each process */

    struct lock lock;
    pthread_cond_t quiet; /* a request was released, and somebody waits for that */
    struct request *buckets[SERVER_BUCKETS];
    struct request *live;
    size_t live_count;
    size_t used_count;                       /* requests that somebody has a reference to */
    struct request *free[SERVER_FREE_LISTS]; /* by the numbers of threads */
    unsigned free_count;                     /* of all */
    struct client *clients; /* pipes and sessions, each with a reference; the newest first */
    struct client *session_buckets[SERVER_BUCKETS]; /* the sessions, by their ids */
    size_t session_count;
    bool draining;
    unsigned waiting; /* threads that wait for `quiet` */

    struct catalogues *catalogues;
    struct changes *changes;
    struct watches *watches;
    struct timers timers;
    struct tasks *tasks;
    struct approvals *approvals;
    struct shares *shares;  /* of the limits, by principal */
    struct timers later;    /* for what waits for the store */
    struct workers choices; /* what chooses tools, and may wait for a model */
};
#define MCP_MAGIC 0x6d637073u
