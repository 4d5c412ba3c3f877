/* manager.h - the service manager that started this process, such as systemd: the sockets that it
 * hands over, and what it is told.
 *
 * The protocols are those of sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3), which
 * systemd promises to keep. They are a few variables and datagrams, so libsystemd is not linked:
 * its own manual says how to do without, and it brings six libraries for compression and
 * cryptography into a process that needs none of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"
#include "base/listen.h"

/* Room for the name of a socket, as FileDescriptorName= has it. */
#define MANAGER_NAME_ROOM 256u

/** A socket that listens, of one of the families AF_UNIX, AF_INET and AF_INET6. */
struct manager_socket {
    int fd; /**< close-on-exec and not blocking */
    char name[MANAGER_NAME_ROOM];
};

struct manager {
    int fd; /* -1: nobody wants to be told */
    struct sockaddr_un address;
    socklen_t address_size;
    uint64_t watchdog_us; /**< how long the manager waits for the next WATCHDOG=1; 0: for ever */
    struct manager_socket sockets[LISTEN_MAX];
    size_t socket_count;
};

/** Take over what the manager left in the environment. Its variables are removed, so that no child
 * believes that they are meant for it; those that are for another process are passed over. Before
 * the process has threads.
 *
 * @param ret  to be released by manager_finish() in any case
 * @return 0; TOOLRACK_E_INVALID: a variable or a socket is not as it must be */
int manager_take(struct manager *ret, struct toolrack_error *err);

/** Close the sockets. */
void manager_finish(struct manager *manager);

/** Send assignments, such as "READY=1", one a line; nothing happens where nobody wants them, or the
 * manager does not take them within some seconds. NULL is ignored. [any-thread] */
void manager_tell(const struct manager *manager, const char *format, ...) TOOLRACK_PRINTF(2, 3);

/** Say in words how the service is, for `systemctl status`. What would end the line is replaced.
 * [any-thread] */
void manager_status(const struct manager *manager, const char *format, ...) TOOLRACK_PRINTF(2, 3);

/** Say that files are read again, until "READY=1". [any-thread] */
void manager_reloading(const struct manager *manager);
