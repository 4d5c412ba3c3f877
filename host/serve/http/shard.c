/* A part of the connections of a listener: a daemon of libmicrohttpd without threads of its own. A
 * thread of the host runs it when something happens, and then the calls that it submitted. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/thread.h"
#include "serve/http/parts.h"
#include "serve/http/tls.h"

/* Memory of a connection beside that of its headers, and at least. libmicrohttpd clears all of it
 * after each request, and half of it before each answer, so that all is in memory and in the cache
 * of a CPU, whatever the requests need. */
#define MEMORY_MORE    4096u
#define MEMORY_MIN     8192u
/* Turns without a request that libmicrohttpd may ask for at once. */
#define VAIN_TURNS_MAX 16u
#define REST_MS        100

static void note_of_library(void *user, const char *format, va_list args) {
    /* About single clients; what concerns the operator is said elsewhere. */
    (void)user;
    (void)format;
    (void)args;
}

/* The URL as the client wrote it: what it means is ours to say. */
static size_t leave_escaped(void *user, struct MHD_Connection *connection, char *text) {
    (void)user;
    (void)connection;
    return strlen(text);
}

static size_t memory_of(const struct limits *limits) {
    size_t size = (size_t)limits->header_bytes + MEMORY_MORE;
    return size > MEMORY_MIN ? size : MEMORY_MIN;
}

static struct MHD_Daemon *start_daemon(struct shard *shard, int fd) {
    const struct listener *listener = shard->listener;
    const struct limits *limits = &listener->server->settings.limits;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (listener->tls ? MHD_USE_TLS : 0);
    struct MHD_OptionItem more[] = {
            {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(intptr_t)tls_certificate},
            {MHD_OPTION_END, 0, NULL}};
    return mhd.start_daemon(
            flags, 0, NULL, NULL, handle_request, NULL, MHD_OPTION_EXTERNAL_LOGGER, note_of_library,
            NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
            limits->connections + SERVER_CONNECTIONS_MORE, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            memory_of(limits), MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_STRICT_FOR_CLIENT, 1,
            MHD_OPTION_NOTIFY_CONNECTION, handle_connection, shard, MHD_OPTION_NOTIFY_COMPLETED,
            handle_end, NULL, MHD_OPTION_URI_LOG_CALLBACK, handle_line, NULL,
            MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
            listener->tls ? MHD_OPTION_ARRAY : MHD_OPTION_END, more, MHD_OPTION_END);
}

/* Wait until there is something to do. */
static void wait_for_work(struct shard *shard) {
    MHD_UNSIGNED_LONG_LONG at_once_ms;
    struct pollfd waits[] = {{.fd = shard->epoll, .events = POLLIN},
                             {.fd = shard->wake, .events = POLLIN}};
    if (mhd.get_timeout(shard->daemon, &at_once_ms) == MHD_YES) {
        /* A request is to be answered, or bytes that were read are left; no connection has a
         * timeout. It says so too of a handshake of TLS that waits for the client. */
        if (shard->listener->tls && ++shard->vain_turns > VAIN_TURNS_MAX) {
            (void)poll(waits, ARRAY_LENGTH(waits), 1);
        }
        return;
    }
    shard->vain_turns = 0;
    atomic_store(&shard->is_idle, true);
    if (!atomic_load(&shard->is_due)) {
        (void)poll(waits, ARRAY_LENGTH(waits), -1);
    }
    atomic_store(&shard->is_idle, false);
    if (waits[1].revents != 0) {
        uint64_t ignored;
        (void)!read(shard->wake, &ignored, sizeof ignored);
    }
}

/* libmicrohttpd could not watch a socket, for want of memory or descriptors; it tries again. */
static void rest(struct shard *shard) {
    struct pollfd wait = {.fd = shard->wake, .events = POLLIN};
    if (!shard->has_failed) {
        shard->has_failed = true;
        server_note(shard->listener->server, "%s: connections cannot be watched: %s",
                    shard->listener->where, strerror(errno));
    }
    (void)poll(&wait, 1, REST_MS);
}

/* See toolrack_take. */
static bool serve(void *user) {
    struct shard *shard = user;
    const struct server *server = shard->listener->server;
    if (!atomic_load(&shard->is_due)) {
        wait_for_work(shard);
    }
    atomic_store(&shard->is_due, false);
    if (!atomic_load(&server->stopping) && mhd.run_wait(shard->daemon, 0) != MHD_YES) {
        rest(shard);
    }
    (void)atomic_fetch_add(&shard->turns, 1);
    return !atomic_load(&server->stopping);
}

void shard_wake(struct shard *shard) {
    atomic_store(&shard->is_due, true);
    if (atomic_load(&shard->is_idle)) {
        (void)!write(shard->wake, &(uint64_t){1}, sizeof(uint64_t));
    }
}

static int fail(const struct listener *listener, int failure, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "cannot serve at %s: %s", listener->where,
                     failure != 0 ? strerror(failure) : "libmicrohttpd does not start");
}

static int start_shard(struct listener *listener, struct toolrack_error *err) {
    struct shard *shard = &listener->shards[listener->shard_count];
    CLEANUP(closep) int fd = fcntl(listener->fd, F_DUPFD_CLOEXEC, 3);
    CLEANUP(closep) int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *shard = (struct shard){.listener = listener};
    if (fd < 0 || wake < 0) {
        return fail(listener, errno, err);
    }
    errno = 0;
    shard->daemon = start_daemon(shard, fd);
    if (shard->daemon == NULL) {
        return fail(listener, errno, err);
    }
    shard->epoll = mhd.get_daemon_info(shard->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    shard->wake = wake;
    fd = wake = -1; /* libmicrohttpd closes its own */
    listener->shard_count++;
    return toolrack_source_start(listener->server->host, serve, shard, &shard->source, err);
}

/* Clients of a socket in the file system are few. */
static unsigned count_of(const struct listener *listener) {
    unsigned count = thread_cpu_count();
    return listener->path != NULL ? 1 : count < SERVER_SHARDS_MAX ? count : SERVER_SHARDS_MAX;
}

int shards_start(struct listener *listener, struct toolrack_error *err) {
    unsigned count = count_of(listener);
    int code = 0;
    for (unsigned i = 0; code == 0 && i < count; i++) {
        code = start_shard(listener, err);
    }
    return code;
}

void shards_stop(struct listener *listener) {
    assert(atomic_load(&listener->server->stopping));
    for (unsigned i = 0; i < listener->shard_count; i++) {
        shard_wake(&listener->shards[i]);
        toolrack_source_stop(listener->shards[i].source);
    }
}

void shards_close(struct listener *listener) {
    for (unsigned i = 0; i < listener->shard_count; i++) {
        struct shard *shard = &listener->shards[i];
        mhd.stop_daemon(shard->daemon);
        (void)close(shard->wake);
    }
}
