#include "serve/http/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/ring.h"
#include "base/thread.h"
#include "serve/http/parts.h"

/* Room for a line. */
#define LINE_ROOM (ACCESS_PATH_MAX + ACCESS_WHO_MAX + REQUEST_ID_MAX + TRACEPARENT_ROOM + 320u)

/* Invariants:
 *
 *  (1) A line is in the ring before `waits` is set; the thread unsets it before it reads the ring:
 *      so no line stays there unseen.
 *  (2) Only the first line after the thread has slept takes the lock. */
struct access {
    struct access_options options;
    struct ring ring;
    atomic_bool waits; /* lines wait, and the thread knows */
    struct lock lock;
    pthread_cond_t changed;
    bool stopping;
    pthread_t thread;
};

/* ---------------------------------------------------------------- the thread */

static void write_lines(struct access *access) {
    size_t at = ring_start(&access->ring);
    const char *line;
    while ((line = ring_next(&access->ring, &at)) != NULL) {
        access->options.note(access->options.user, line);
        ring_release(&access->ring, at);
    }
}

/* Wait for lines, and a little for more of them. False: the log ends. */
static bool wait_for_lines(struct access *access) {
    LOCK_SCOPE(&access->lock);
    while (!access->stopping && !atomic_load(&access->waits)) {
        lock_wait(&access->lock, &access->changed);
    }
    struct timespec until =
            clock_timespec(clock_now_ns() + (uint64_t)ACCESS_GATHER_MS * CLOCK_NS_PER_MS);
    while (!access->stopping && lock_wait_until(&access->lock, &access->changed, &until)) {
    }
    return !access->stopping;
}

static void *run(void *user) {
    struct access *access = user;
    while (wait_for_lines(access)) {
        atomic_store(&access->waits, false);
        write_lines(access);
    }
    write_lines(access);
    return NULL;
}

int access_create(const struct access_options *options, struct access **ret,
                  struct toolrack_error *err) {
    size_t size = sizeof(struct access);
    struct access *access = aligned_alloc(_Alignof(struct access), size);
    if (access == NULL) {
        return error_oom(err);
    }
    memset(access, 0, size);
    access->options = *options;
    if (!ring_init(&access->ring, ACCESS_RING_SIZE)) {
        free(access);
        return error_oom(err);
    }
    lock_init(&access->lock);
    clock_cond_init(&access->changed);
    int failed = thread_start(&access->thread, run, access);
    if (failed != 0) {
        (void)pthread_cond_destroy(&access->changed);
        lock_finish(&access->lock);
        ring_finish(&access->ring);
        free(access);
        return error_set(err, TOOLRACK_E_IO, "cannot start the thread of the access log: %s",
                         strerror(failed));
    }
    *ret = access;
    return 0;
}

void access_destroy(struct access *access) {
    if (access == NULL) {
        return;
    }
    lock_take(&access->lock);
    access->stopping = true;
    (void)pthread_cond_signal(&access->changed);
    lock_release(&access->lock);
    (void)pthread_join(access->thread, NULL);
    (void)pthread_cond_destroy(&access->changed);
    lock_finish(&access->lock);
    ring_finish(&access->ring);
    free(access);
}

/* ---------------------------------------------------------------- a request */

char *access_escape(const char *text, size_t length, size_t max, char *to) {
    static const char digits[] = "0123456789ABCDEF";
    const char *end = to + max;
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        bool is_plain = ascii_is_letter(byte) || ascii_is_digit(byte) ||
                        (byte != '\0' && strchr("-._~/@:,+=", byte) != NULL);
        if (to + (is_plain ? 1 : 3) > end) {
            break;
        }
        if (is_plain) {
            *to++ = byte;
        } else {
            *to++ = '%';
            *to++ = digits[(unsigned char)byte >> 4];
            *to++ = digits[(unsigned char)byte & 15];
        }
    }
    *to = '\0';
    return to;
}

/* Where the path of a target begins; what names a scheme and a host before it is not shown, since
 * it may have a password. */
static const char *path_of(const char *target) {
    const char *host = strstr(target, "://");
    const char *path = host != NULL && host < target + strcspn(target, "/?#") + 1
                               ? strchr(host + strlen("://"), '/')
                               : target;
    return path != NULL ? path : "";
}

void access_begin(struct access *access, struct conn *conn, const char *target) {
    if (access != NULL) {
        const char *path = path_of(target);
        size_t length = strcspn(path, "?#");
        /* Its own escapes stay as they are. */
        char *to = conn->access.path;
        const char *end = to + ACCESS_PATH_MAX;
        for (size_t i = 0; i < length && to < end; i++) {
            bool is_escape = path[i] == '%' && i + 2 < length &&
                             ascii_hex_value(path[i + 1]) >= 0 && ascii_hex_value(path[i + 2]) >= 0;
            if (is_escape) {
                *to++ = '%';
                *to = '\0';
            } else {
                to = access_escape(path + i, 1, (size_t)(end - to), to);
            }
        }
        *to = '\0';
        conn->access.method = "-";
        conn->access.begin_ns = clock_now_ns();
    }
}

void access_take_method(struct access *access, struct conn *conn, const char *method) {
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    for (size_t i = 0; access != NULL && i < ARRAY_LENGTH(known); i++) {
        conn->access.method = strcmp(method, known[i]) == 0 ? known[i] : conn->access.method;
    }
}

/* Who sent it: as calls and decisions name it. */
static void write_who(const struct conn *conn, char ret[static ACCESS_WHO_MAX + 1]) {
    const char *who = conn->identity.principal.id != NULL ? conn->identity.principal.id
                      : conn->owner[0] != '\0'            ? conn->owner
                                                          : "-";
    (void)access_escape(who, strlen(who), ACCESS_WHO_MAX, ret);
}

static void write_peer(const struct conn *conn, char ret[static ADDRESS_TEXT_ROOM]) {
    if (conn->listener->path != NULL) {
        (void)snprintf(ret, ADDRESS_TEXT_ROOM, "unix");
    } else if (conn->forwarded.address[0] != '\0') {
        (void)access_escape(conn->forwarded.address, strlen(conn->forwarded.address),
                            ADDRESS_TEXT_ROOM - 1, ret);
    } else {
        address_text(&conn->peer, ret);
    }
}

/* When a request that took so long began, in UTC. */
static void write_time(uint64_t took_us, char ret[static CLOCK_TEXT_ROOM]) {
    int64_t begin_ms = clock_wall_ms() - (int64_t)(took_us / 1000);
    char *end = ret + strlen(clock_wall_text(begin_ms / 1000, ret));
    if (end > ret) { /* milliseconds in place of the Z */
        (void)snprintf(end - 1, CLOCK_TEXT_ROOM - (size_t)(end - 1 - ret), ".%03dZ",
                       (int)(begin_ms % 1000));
    }
}

static size_t write_line(const struct conn *conn, char ret[static LINE_ROOM]) {
    char who[ACCESS_WHO_MAX + 1];
    char peer[ADDRESS_TEXT_ROOM];
    char status[16] = "none";
    char time[CLOCK_TEXT_ROOM];
    bool is_traced = conn->front != NULL && conn->trace[0] != '\0';
    uint64_t took_us = (clock_now_ns() - conn->access.begin_ns) / 1000;
    write_who(conn, who);
    write_peer(conn, peer);
    write_time(took_us, time);
    if (conn->access.status != 0) {
        (void)snprintf(status, sizeof status, "%u", conn->access.status);
    }
    int length = snprintf(
            ret, LINE_ROOM,
            "request %s %s status=%s bytes=%zu time=%s ms=%llu.%03llu front=%s who=%s from=%s "
            "id=%s%s%s",
            conn->access.method, conn->access.path, status, conn->access.bytes, time,
            (unsigned long long)(took_us / 1000), (unsigned long long)(took_us % 1000),
            counts_front_name(answer_front(conn)), who, peer,
            conn->front != NULL && conn->request_id[0] != '\0' ? conn->request_id : "-",
            is_traced ? " trace=" : "", is_traced ? conn->trace : "");
    return length > 0 && (size_t)length < LINE_ROOM ? (size_t)length : LINE_ROOM - 1;
}

void access_end(struct access *access, const struct conn *conn) {
    char line[LINE_ROOM];
    bool is_error = conn->access.status == 0 || conn->access.status >= 400;
    if (access == NULL || (access->options.errors_only && !is_error)) {
        return;
    }
    size_t length = write_line(conn, line) + 1;
    char *record = ring_reserve(&access->ring, length);
    if (record == NULL) {
        counts_add_lost(access->options.counts);
        return;
    }
    memcpy(record, line, length);
    ring_commit(record, length);
    if (!atomic_exchange(&access->waits, true)) {
        LOCK_SCOPE(&access->lock);
        (void)pthread_cond_signal(&access->changed);
    }
}
