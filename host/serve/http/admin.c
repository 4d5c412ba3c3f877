/* Who administers the host: by a token, or as a user at a socket in the file system.
 *
 * What a plugin starts must not be an administrator because it runs as the same user. Its sandbox
 * lets no worker connect to such a socket; where a layer of it is missing, the peer is looked at: a
 * worker and all that descends from it have no new privileges and a filter of system calls more
 * than this process, and can lose neither. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "serve/http/parts.h"
#include "serve/serve.h"
#include "toolrack/serving.h"

#define WORKER_NAME   "toolrack-worker"
/* Processes between one and the first of the system, at most. */
#define ANCESTORS_MAX 64
/* Groups of one user that are looked at. */
#define GROUPS_MAX    1024

struct process {
    char name[32];
    pid_t parent;
    bool no_new_privs;
    unsigned long filters;
};

static unsigned long number_of(const char *status, const char *key) {
    const char *line = strstr(status, key);
    return line != NULL ? strtoul(line + strlen(key), NULL, 10) : 0;
}

/* What the kernel says of a process. False: it is gone, or in a namespace that is not seen. */
static bool process_read(pid_t pid, struct process *ret) {
    char path[32];
    char status[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    CLEANUP(closep) int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd >= 0 ? read(fd, status, sizeof status - 1) : -1;
    if (got <= 0) {
        return false;
    }
    status[got] = '\0';
    *ret = (struct process){.parent = (pid_t)number_of(status, "\nPPid:"),
                            .no_new_privs = number_of(status, "\nNoNewPrivs:") == 1,
                            .filters = strstr(status, "\nSeccomp_filters:") != NULL
                                               ? number_of(status, "\nSeccomp_filters:")
                                               : number_of(status, "\nSeccomp:") == 2};
    (void)sscanf(status, "Name: %31[^\n]", ret->name);
    return true;
}

/* Why the process at the other end is no administrator's; NULL: it may be. */
const char *serve_find_worker(pid_t pid) {
    struct process peer;
    struct process own;
    if (!process_read(pid, &peer) || !process_read(getpid(), &own)) {
        return "the process at the other end of the socket cannot be looked at";
    }
    if (peer.no_new_privs && peer.filters > own.filters) {
        return "the process at the other end of the socket is confined as plugins are";
    }
    for (int i = 0; i < ANCESTORS_MAX; i++) {
        if (strcmp(peer.name, WORKER_NAME) == 0 || pid == getpid()) {
            return "the process at the other end of the socket was started by a plugin";
        }
        pid = peer.parent;
        if (pid <= 1 || !process_read(pid, &peer)) {
            break;
        }
    }
    return NULL;
}

static bool is_in_group(int fd, gid_t own, gid_t group) {
    gid_t groups[GROUPS_MAX];
    socklen_t size = sizeof groups;
    if (own == group) {
        return true;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0) {
        return false;
    }
    for (size_t i = 0; i < size / sizeof groups[0]; i++) {
        if (groups[i] == group) {
            return true;
        }
    }
    return false;
}

/* Why the user at a socket is no administrator; NULL: it is. */
static const char *refuse_peer(const struct conn *conn) {
    const struct http_settings *settings = &conn->server->settings;
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        return "who is at the other end of the socket cannot be told";
    }
    bool is_known =
            peer.uid == geteuid() || peer.uid == 0 ||
            (settings->has_admin_group && is_in_group(conn->fd, peer.gid, settings->admin_group));
    if (!is_known) {
        return "the user at the other end of the socket does not administer this host";
    }
    /* Who has no new privileges does not become another user; and of other users' processes a
     * service may see nothing (ProtectProc= of systemd). */
    bool may_be_worker = peer.uid == geteuid() || geteuid() == 0;
    return may_be_worker ? serve_find_worker(peer.pid) : NULL;
}

/* The same for a connection, looked at once. */
static const char *refuse_connection(struct conn *conn) {
    if (!conn->admin_looked) {
        conn->admin_looked = true;
        conn->admin_refused = refuse_peer(conn);
    }
    return conn->admin_refused;
}

void authorise_admin(struct conn *conn) {
    struct identity *identity = &conn->identity;
    const char *why = NULL;
    bool is_token = conn->heads.authorization != NULL || identity->session != NULL;
    bool is_peer = !is_token && conn->listener->path != NULL;
    if (is_peer) {
        /* Behind a proxy everybody would be its user. */
        why = conn->heads.passed_on ? "the request came through a proxy" : refuse_connection(conn);
    }
    identity->principal.admin =
            is_peer ? why == NULL
                    : identity->grant != NULL && toolrack_token_grant_is_admin(identity->grant);
    if (conn->front_route.class != FRONT_ADMIN || identity->principal.admin) {
        return;
    }
    if (is_peer) {
        conn_refuse(conn, MHD_HTTP_FORBIDDEN, "%s; send the token of an administrator", why);
    } else {
        conn_refuse(conn, is_token ? MHD_HTTP_FORBIDDEN : MHD_HTTP_UNAUTHORIZED,
                    "%s; send that of an administrator (toolrack token add NAME --admin), or use "
                    "the unix socket as its owner",
                    is_token ? "the token is no administrator's"
                    : login_has_cookie(conn)
                            ? "the cookie of a session came without X-CSRF-Token, "
                              "and this wants both, or a token"
                            : "this wants a token, as Authorization: Bearer TOKEN");
    }
}
