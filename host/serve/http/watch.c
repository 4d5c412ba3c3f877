/* The thread that looks after clients: those that take too long, those that leave.
 *
 * libmicrohttpd does not look at the socket of a connection that waits for its answer, and its own
 * timeouts begin again with each byte. Here a socket is watched from the second look at a waiting
 * connection on, so that a call that is answered at once costs no system call for it.
 *
 * The thread sleeps until something is due: each look finds when the next must be, and what changes
 * a connection meanwhile says by when it must be looked at (watch_by()), which wakes the thread
 * only if it would sleep for longer. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "serve/http/parts.h"
#include "toolrack/serving.h"

/* Between two looks while requests wait whose sockets are not watched yet. */
#define LOOK_MS        WATCH_SOON_MS
/* ... and while something lasts as long as a token: nobody tells that one was revoked. */
#define LOOK_TOKENS_MS 1000u
/* The coarse clock may be behind by a tick of the kernel, so what is due by it is due a bit later.
 */
#define TICK_MS        10u
/* Comments that are due within this part of their interval are written together. */
#define GATHER_PART    16u
#define NEVER          UINT64_MAX
/* Events of one look. */
#define EVENTS_MAX     64

void watch_forget(struct conn *conn) {
    LOCK_ASSERT_HELD(&conn->lock);
    if (conn->watched) {
        (void)epoll_ctl(conn->server->watch_epoll, EPOLL_CTL_DEL, conn->fd, NULL);
        conn->watched = false;
    }
}

static void watch(struct conn *conn) {
    /* Of a client that sends nothing more, only that its socket is gone is news. */
    struct epoll_event event = {.events = !conn->half_closed              ? EPOLLRDHUP
                                          : conn->sent < conn->out.length ? EPOLLOUT
                                                                          : 0,
                                .data.u64 = conn->id};
    conn->watched = epoll_ctl(conn->server->watch_epoll, EPOLL_CTL_ADD, conn->fd, &event) == 0;
}

/* A client that closed its side together with its request: libmicrohttpd, which is told of both at
 * once, reads the request and hears nothing more. To close our side for reading too tells it again.
 * It may just have read that request: so what is written stays open. */
static void look_for_end(struct conn *conn) {
    char byte;
    conn->looked = true;
    if (recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
        (void)shutdown(conn->fd, SHUT_RD);
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

void conn_shut_down(struct conn *conn, bool is_gone) {
    conn->gone |= is_gone;
    (void)shutdown(conn->fd, SHUT_RDWR);
    conn_wake(conn);
}

/* A request waits: look after its stream and its socket. When to look again. */
static uint64_t look_at_waiting(struct conn *conn, uint64_t now_ms) {
    uint64_t silence_ms = conn_takes_comments(conn)
                                  ? conn->server->settings.limits.keep_alive_s * (uint64_t)1000
                                  : 0;
    uint64_t due_ms = silence_ms != 0 ? conn->since_ms + silence_ms : NEVER;
    if (due_ms <= now_ms + silence_ms / GATHER_PART) {
        conn_add_comment(conn);
        return now_ms + LOOK_MS;
    }
    if (!conn->watched && now_ms >= conn->since_ms + LOOK_MS) {
        watch(conn);
    }
    return conn->watched ? due_ms : least(due_ms, now_ms + LOOK_MS);
}

/* Look at a connection. When to look again, unless it changes. */
static uint64_t look(struct conn *conn, uint64_t now_ms) {
    LOCK_SCOPE(&conn->lock);
    if (conn->connection == NULL) {
        return NEVER;
    }
    if (conn->deadline_ms != 0 && now_ms >= conn->deadline_ms) {
        conn->deadline_ms = 0;
        conn_shut_down(conn, conn->suspended);
        return NEVER;
    }
    uint64_t next_ms = conn->deadline_ms != 0 ? conn->deadline_ms : NEVER;
    const struct identity *identity = &conn->identity;
    if (conn->given && !conn->finished && identity->grant != NULL) {
        if (!toolrack_token_grant_holds(identity->grant) ||
            (identity->session != NULL && !session_holds(identity->session))) {
            conn_shut_down(conn,
                           true); /* what it began does not outlast the token, or the session */
            return NEVER;
        }
        next_ms = least(next_ms, now_ms + LOOK_TOKENS_MS);
    }
    if (conn->suspended) {
        return least(next_ms, look_at_waiting(conn, now_ms));
    }
    /* It may have come to this state since the look began. */
    if (conn->phase == PHASE_IDLE && now_ms >= conn->since_ms + LOOK_MS) {
        look_for_end(conn);
    }
    bool soon = conn->phase == PHASE_RUNNING || (conn->phase == PHASE_IDLE && !conn->looked);
    return soon ? least(next_ms, now_ms + LOOK_MS) : next_ms;
}

/* The client sends nothing more, but may still read. A comment shows that: to a socket that was
 * closed it is answered by a reset. */
static void half_closed(struct conn *conn) {
    conn->half_closed = true;
    if (conn->stream) {
        conn_add_comment(conn);
    } else if (!conn->given || conn->listener->tls) { /* we do not know whom, or cannot write */
        conn->gone = true;
        conn_wake(conn);
    } else if (!conn->may_stream) {
        conn_probe(conn);
    } else {
        conn_begin_directly(conn);
    }
}

/* The client at a socket has closed its side, or all. */
static void left(struct server *server, uint64_t id, uint32_t events) {
    LOCK_SCOPE(&server->lock);
    struct conn *conn = server->conns;
    while (conn != NULL && conn->id != id) {
        conn = conn->next;
    }
    if (conn == NULL) {
        return;
    }
    lock_take(&conn->lock);
    if (conn->watched) {
        watch_forget(conn);
        if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
            conn->gone = true;
            conn_wake(conn);
        } else if ((events & EPOLLOUT) != 0) {
            conn_flush(conn);
        } else {
            half_closed(conn);
        }
    }
    lock_release(&conn->lock);
}

/* Look at all. Milliseconds until the next look; -1: something must change before. */
static int look_at_all(struct server *server) {
    uint64_t now_ms = server_now_ms();
    uint64_t next_ms = NEVER;
    /* What changes behind this look wakes the thread again. */
    atomic_store(&server->watch_until_ms, NEVER);
    lock_take(&server->lock);
    for (struct conn *conn = server->conns; conn != NULL; conn = conn->next) {
        next_ms = least(next_ms, look(conn, now_ms));
    }
    lock_release(&server->lock);
    atomic_store(&server->watch_until_ms, next_ms);
    if (next_ms == NEVER) {
        return -1;
    }
    uint64_t left_ms = next_ms > now_ms ? next_ms - now_ms + TICK_MS : 0;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

static void *run(void *user) {
    struct server *server = user;
    int timeout_ms = -1;
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(server->watch_epoll, events, EVENTS_MAX, timeout_ms);
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 != 0) {
                left(server, events[i].data.u64, events[i].events);
                continue;
            }
            uint64_t ignored;
            (void)!read(server->watch_wake, &ignored, sizeof ignored);
            lock_take(&server->lock);
            bool end = server->watch_end;
            lock_release(&server->lock);
            if (end) {
                return NULL;
            }
        }
        timeout_ms = look_at_all(server);
        (void)atomic_fetch_add(&server->watch_turns, 1);
    }
}

void watch_by(struct server *server, uint64_t when_ms) {
    uint64_t until_ms = atomic_load(&server->watch_until_ms);
    while (when_ms < until_ms) {
        if (atomic_compare_exchange_weak(&server->watch_until_ms, &until_ms, when_ms)) {
            watch_poke(server);
            return;
        }
    }
}

void watch_poke(struct server *server) {
    (void)!write(server->watch_wake, &(uint64_t){1}, sizeof(uint64_t));
}

int watch_start(struct server *server, struct toolrack_error *err) {
    atomic_store(&server->watch_until_ms, NEVER);
    server->watch_epoll = epoll_create1(EPOLL_CLOEXEC);
    server->watch_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    int failed = server->watch_epoll < 0 || server->watch_wake < 0 ||
                                 epoll_ctl(server->watch_epoll, EPOLL_CTL_ADD, server->watch_wake,
                                           &event) < 0
                         ? errno
                         : thread_start(&server->watch, run, server);
    if (failed != 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot watch connections: %s", strerror(failed));
    }
    server->watching = true;
    return 0;
}

void watch_stop(struct server *server) {
    if (server->watching) {
        lock_take(&server->lock);
        server->watch_end = true;
        lock_release(&server->lock);
        watch_poke(server);
        (void)pthread_join(server->watch, NULL);
        server->watching = false;
    }
}
