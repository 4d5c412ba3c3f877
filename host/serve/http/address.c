#include "serve/http/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/listen.h"

/* Connections that the kernel keeps until they are accepted. */
#define BACKLOG 1024

/* ---------------------------------------------------------------- text */

int address_read(const char *text, struct sockaddr_storage *ret, socklen_t *ret_size,
                 struct toolrack_error *err) {
    struct authority authority;
    struct listen_problem problem;
    if (!listen_read(text, &authority, &problem)) {
        return error_set(err, TOOLRACK_E_INVALID, "'%s' %s; %s", text, problem.what, problem.fix);
    }
    *ret = (struct sockaddr_storage){0};
    if (authority.kind == HOST_IPV6) {
        struct sockaddr_in6 *address = (struct sockaddr_in6 *)ret;
        address->sin6_family = AF_INET6;
        address->sin6_port = htons((uint16_t)authority.port);
        (void)inet_pton(AF_INET6, authority.host, &address->sin6_addr);
        *ret_size = sizeof *address;
    } else {
        struct sockaddr_in *address = (struct sockaddr_in *)ret;
        address->sin_family = AF_INET;
        address->sin_port = htons((uint16_t)authority.port);
        (void)inet_pton(AF_INET, authority.kind == HOST_NAME ? "127.0.0.1" : authority.host,
                        &address->sin_addr);
        *ret_size = sizeof *address;
    }
    return 0;
}

bool address_is_loopback(const struct sockaddr_storage *address) {
    unsigned char bytes[16];
    network_bytes(address, bytes);
    return network_is_ipv4(bytes) ? bytes[12] == 127
                                  : memcmp(bytes, &in6addr_loopback, sizeof in6addr_loopback) == 0;
}

void address_key(const struct sockaddr_storage *address, unsigned char ret[static 16]) {
    network_bytes(address, ret);
    if (!network_is_ipv4(ret)) {
        memset(ret + 8, 0, 8);
    } else if (ret[12] == IN_LOOPBACKNET) { /* each address of the network is this machine's */
        memset(ret + 13, 0, 3);
    }
}

void address_text(const struct sockaddr_storage *address, char ret[static ADDRESS_TEXT_ROOM]) {
    char host[INET6_ADDRSTRLEN] = "";
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        (void)inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        (void)snprintf(ret, ADDRESS_TEXT_ROOM, "[%s]:%u", host, (unsigned)ntohs(six->sin6_port));
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        (void)inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        (void)snprintf(ret, ADDRESS_TEXT_ROOM, "%s:%u", host, (unsigned)ntohs(four->sin_port));
    }
}

/* ---------------------------------------------------------------- listening */

int address_listen(const struct sockaddr_storage *address, socklen_t size, int *ret_fd,
                   struct sockaddr_storage *ret_bound, struct toolrack_error *err) {
    char text[ADDRESS_TEXT_ROOM];
    address_text(address, text);
    CLEANUP(closep)
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;
    socklen_t bound_size = sizeof *ret_bound;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        (address->ss_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) < 0) ||
        bind(fd, (const struct sockaddr *)address, size) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)ret_bound, &bound_size) < 0) {
        return error_set(
                err, TOOLRACK_E_IO, "cannot listen at %s: %s%s", text, strerror(errno),
                errno == EADDRINUSE ? "; end the process that listens there, or choose another port"
                : errno == EADDRNOTAVAIL
                        ? "; write an address that this machine has, or 0.0.0.0 or [::] for "
                          "all of them"
                        : "");
    }
    *ret_fd = fd;
    fd = -1;
    return 0;
}

/* Remove the socket of a process that has ended. */
static int remove_stale(const struct sockaddr_un *address, struct toolrack_error *err) {
    struct stat status;
    if (lstat(address->sun_path, &status) < 0) {
        return errno == ENOENT ? 0
                               : error_set(err, TOOLRACK_E_IO, "cannot look at %s: %s",
                                           address->sun_path, strerror(errno));
    }
    if (!S_ISSOCK(status.st_mode)) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "%s exists and is no socket; remove it or choose another path",
                         address->sun_path);
    }
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
        errno != ECONNREFUSED) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "a process listens at %s already; end it or choose another path",
                         address->sun_path);
    }
    if (unlink(address->sun_path) < 0 && errno != ENOENT) {
        return error_set(err, TOOLRACK_E_IO, "cannot remove the old socket %s: %s",
                         address->sun_path, strerror(errno));
    }
    return 0;
}

int address_listen_path(const char *path, int *ret_fd, struct socket_file *ret_file,
                        struct toolrack_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "'%s' is no path for a socket; it has 1 to %zu bytes", path,
                         sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int code = remove_stale(&address, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct stat status;
    /* The mode of the descriptor becomes that of the file, so that nobody else can connect before
     * it is set. */
    if (fd < 0 || fchmod(fd, 0600) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0600) < 0 ||
        lstat(path, &status) < 0 || listen(fd, BACKLOG) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot listen at %s: %s", path, strerror(errno));
    }
    *ret_file = (struct socket_file){.device = status.st_dev, .inode = status.st_ino};
    *ret_fd = fd;
    fd = -1;
    return 0;
}

void address_leave_path(const char *path, const struct socket_file *file) {
    struct stat status;
    if (lstat(path, &status) == 0 && status.st_dev == file->device &&
        status.st_ino == file->inode) {
        (void)unlink(path);
    }
}

bool address_peer(int fd, uint32_t *ret_user) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) {
        return false;
    }
    *ret_user = credentials.uid;
    return true;
}
