#include "cli/daemon-reach.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/daemon-socket.h"
#include "cli/message.h"

static void set_limit(int fd, int option, unsigned ms) {
    const struct timeval limit = {.tv_sec = (time_t)(ms / 1000),
                                  .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    (void)setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit);
}

int daemon_reach(const struct daemon_found *found, unsigned patience_ms,
                 struct toolrack_error *why) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t size = sizeof peer;
    why->code = 0;
    if (found->commands == NULL || strlen(found->commands) >= sizeof address.sun_path) {
        return -ENOENT;
    }
    int code = daemon_check_commands(found->commands, why);
    if (code < 0) {
        why->code = code == TOOLRACK_E_REFUSED ? code : 0;
        return -EACCES;
    }
    memcpy(address.sun_path, found->commands, strlen(found->commands) + 1);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    set_limit(fd, SO_SNDTIMEO, patience_ms);
    set_limit(fd, SO_RCVTIMEO, DAEMON_PATIENCE_MS);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        return errno == EAGAIN ? -ETIMEDOUT : -errno; /* as many wait as the kernel keeps */
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        return -errno;
    }
    if (peer.uid != geteuid()) {
        (void)error_set(why, TOOLRACK_E_REFUSED, "user %u, not the daemon, listens at %s",
                        (unsigned)peer.uid, found->commands);
        return -EACCES;
    }
    int reached = fd;
    fd = -1;
    return reached;
}

bool daemon_answers(const struct daemon_found *found) {
    struct toolrack_error why;
    CLEANUP(closep) int fd = daemon_reach(found, DAEMON_PATIENCE_MS, &why);
    if (fd < 0) {
        bool is_silent = fd == -ETIMEDOUT;
        fd = -1;
        return !is_silent;
    }
    struct message message = {0};
    int failed = message_send(fd, MESSAGE_PROBE, NULL, 0);
    failed = failed < 0 ? failed : message_receive(fd, &message);
    buf_finish(&message.bytes);
    return failed != -EAGAIN; /* one that ends, or is of another build, does not stand still */
}
