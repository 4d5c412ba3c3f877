/* Tells the service manager that the server goes on, by sd_watchdog_enabled(3): twice in the time
 * that the manager waits, and only if since the last time each thread that serves connections has
 * gone round, that which watches them too, and the lock of all connections was free. A server that
 * hangs says nothing, and the manager starts another one. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/manager.h"
#include "base/thread.h"
#include "serve/http/beat.h"
#include "serve/http/parts.h"

/* A part that was not round by then is looked at this much more often. */
#define SOONER 8

struct beat {
    struct server *server;
    const struct manager *manager;
    unsigned turns[LISTEN_MAX + 1][SERVER_SHARDS_MAX]; /* when they were asked for another one */
    unsigned watch_turns;
    int end; /* an eventfd */
    pthread_t thread;
};

static void ask_all(struct beat *beat) {
    struct server *server = beat->server;
    for (size_t i = 0; i < server->listener_count; i++) {
        struct listener *listener = &server->listeners[i];
        for (unsigned j = 0; j < listener->shard_count; j++) {
            beat->turns[i][j] = atomic_load(&listener->shards[j].turns);
            shard_wake(&listener->shards[j]);
        }
    }
    beat->watch_turns = atomic_load(&server->watch_turns);
    watch_poke(server);
}

static bool have_all_turned(struct beat *beat) {
    struct server *server = beat->server;
    for (size_t i = 0; i < server->listener_count; i++) {
        struct listener *listener = &server->listeners[i];
        for (unsigned j = 0; j < listener->shard_count; j++) {
            if (atomic_load(&listener->shards[j].turns) == beat->turns[i][j]) {
                return false;
            }
        }
    }
    if (atomic_load(&server->watch_turns) == beat->watch_turns) {
        return false;
    }
    lock_take(&server->lock);
    lock_release(&server->lock);
    return true;
}

static void *run(void *user) {
    struct beat *beat = user;
    const int half_ms = (int)(beat->manager->watchdog_us / 2 / 1000);
    struct pollfd wait = {.fd = beat->end, .events = POLLIN};
    int timeout_ms = half_ms / SOONER;
    ask_all(beat);
    while (poll(&wait, 1, timeout_ms > 0 ? timeout_ms : 1) <= 0) {
        timeout_ms = half_ms / SOONER;
        if (have_all_turned(beat)) {
            manager_tell(beat->manager, "WATCHDOG=1");
            ask_all(beat);
            timeout_ms = half_ms;
        }
    }
    return NULL;
}

int beat_start(struct server *server, const struct manager *manager, struct beat **ret,
               struct toolrack_error *err) {
    *ret = NULL;
    if (manager == NULL || manager->watchdog_us == 0) {
        return 0;
    }
    struct beat *beat = calloc(1, sizeof *beat);
    if (beat == NULL) {
        return error_oom(err);
    }
    beat->server = server;
    beat->manager = manager;
    beat->end = eventfd(0, EFD_CLOEXEC);
    int failed = beat->end < 0 ? errno : thread_start(&beat->thread, run, beat);
    if (failed != 0) {
        closep(&beat->end);
        free(beat);
        return error_set(err, TOOLRACK_E_IO,
                         "cannot tell the service manager that the server goes on: %s",
                         strerror(failed));
    }
    *ret = beat;
    return 0;
}

void beat_stop(struct beat *beat) {
    if (beat != NULL) {
        (void)!write(beat->end, &(uint64_t){1}, sizeof(uint64_t));
        (void)pthread_join(beat->thread, NULL);
        (void)close(beat->end);
        free(beat);
    }
}
