/* Sockets at which the service manager listens, for the server (socket activation): they are there
 * before the server is, and stay when it ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/manager.h"
#include "serve/http/parts.h"

/* Whose file it is stays the manager's: `file` names none, so that nobody removes it. */
static int take_path(struct listener *listener, const struct sockaddr_un *address, socklen_t size,
                     struct toolrack_error *err) {
    if (size <= offsetof(struct sockaddr_un, sun_path) || address->sun_path[0] == '\0') {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a socket of the service manager has no path, so every user could connect "
                         "to it; write a path in ListenStream= of its unit");
    }
    size_t length = strnlen(address->sun_path, sizeof address->sun_path);
    memcpy(listener->own_path, address->sun_path, length);
    listener->own_path[length] = '\0';
    listener->path = listener->own_path;
    listener->loopback = listener->open = true;
    (void)snprintf(listener->where, sizeof listener->where, "unix:%.*s", (int)length,
                   address->sun_path);
    return 0;
}

static int take_address(struct listener *listener, struct toolrack_error *err) {
    struct server *server = listener->server;
    char address[ADDRESS_TEXT_ROOM];
    address_text(&listener->address, address);
    listener->loopback = address_is_loopback(&listener->address);
    listener->open = http_settings_is_open(&server->settings, listener->loopback);
    listener->tls = server->tls != NULL;
    (void)snprintf(listener->where, sizeof listener->where, "%s://%s",
                   listener->tls ? "https" : "http", address);
    return authorise_check(server, listener, address, err);
}

static int take(struct server *server, const struct manager_socket *socket,
                struct toolrack_error *err) {
    struct listener *listener = &server->listeners[server->listener_count];
    *listener = (struct listener){.server = server, .fd = -1};
    socklen_t size = sizeof listener->address;
    if (getsockname(socket->fd, (struct sockaddr *)&listener->address, &size) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot look at socket %d of the service manager: %s",
                         socket->fd, strerror(errno));
    }
    int code =
            listener->address.ss_family == AF_UNIX
                    ? take_path(listener, (const struct sockaddr_un *)&listener->address, size, err)
                    : take_address(listener, err);
    if (code < 0) {
        return code;
    }
    listener->fd = fcntl(socket->fd, F_DUPFD_CLOEXEC, 3);
    if (listener->fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot use the socket %s: %s", listener->where,
                         strerror(errno));
    }
    listener->is_activated = true;
    server->listener_count++;
    return 0;
}

int listen_activated(struct server *server, const struct manager *manager,
                     struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; manager != NULL && code == 0 && i < manager->socket_count; i++) {
        code = take(server, &manager->sockets[i], err);
    }
    return code;
}

static bool is_at(const struct listener *listener, const struct sockaddr_storage *address) {
    char own[ADDRESS_TEXT_ROOM];
    char other[ADDRESS_TEXT_ROOM];
    if (listener->path != NULL) {
        return false;
    }
    address_text(&listener->address, own);
    address_text(address, other);
    return strcmp(own, other) == 0;
}

bool is_activated(const struct server *server, const struct sockaddr_storage *address,
                  const char *path) {
    for (size_t i = 0; i < server->listener_count; i++) {
        const struct listener *listener = &server->listeners[i];
        if (listener->is_activated &&
            (path != NULL ? listener->path != NULL && strcmp(listener->path, path) == 0
                          : is_at(listener, address))) {
            return true;
        }
    }
    return false;
}
