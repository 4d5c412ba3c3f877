#include "worker/protocol-fd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"

/* Descriptors over the socket. A message is one descriptor and one number, as an empty message
 * cannot carry a descriptor. */

/* Most descriptors accepted in a message; all but the first are closed, as one is expected. */
#define DESCRIPTORS_MAX 4

struct message {
    struct msghdr header;
    struct iovec part;
    uint32_t number;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
};

/* Initialized in place, as it points into itself. */
static void message_init(struct message *message, size_t control_size) {
    memset(message, 0, sizeof *message);
    message->part = (struct iovec){&message->number, sizeof message->number};
    message->header.msg_iov = &message->part;
    message->header.msg_iovlen = 1;
    message->header.msg_control = message->control;
    message->header.msg_controllen = control_size;
}

static bool send_message(int socket_fd, uint32_t number, int fd) {
    struct message message;
    message_init(&message, fd >= 0 ? CMSG_SPACE(sizeof fd) : 0);
    message.number = number;
    if (fd >= 0) {
        struct cmsghdr *control = CMSG_FIRSTHDR(&message.header);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(control), &fd, sizeof fd);
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket_fd, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof message.number;
}

bool protocol_send_fd(int socket_fd, int fd) {
    if (fd < 0) {
        errno = EBADF;
        return false;
    }
    return send_message(socket_fd, 0, fd);
}

bool protocol_describe(int socket_fd, uint32_t layers, int listener) {
    return send_message(socket_fd, layers, listener);
}

/* The first descriptor of the message; the others are closed. */
static int take_fd(struct message *message, size_t *ret_count) {
    int first = -1;
    *ret_count = 0;
    for (struct cmsghdr *control = CMSG_FIRSTHDR(&message->header); control != NULL;
         control = CMSG_NXTHDR(&message->header, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
            if ((*ret_count)++ == 0) {
                first = fd;
            } else {
                closep(&fd);
            }
        }
    }
    return first;
}

bool protocol_hear(int socket_fd, uint32_t *ret_layers, int *ret_listener) {
    struct message message;
    message_init(&message, sizeof message.control);
    ssize_t got = recvmsg(socket_fd, &message.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    size_t count = 0;
    int fd = got > 0 ? take_fd(&message, &count) : -1;
    if (got != (ssize_t)sizeof message.number || count > 1) {
        closep(&fd);
        return false;
    }
    *ret_layers = message.number;
    *ret_listener = fd;
    return true;
}

int protocol_receive_fd(int socket_fd) {
    struct message message;
    ssize_t got;
    do {
        message_init(&message, sizeof message.control);
        got = recvmsg(socket_fd, &message.header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    size_t count = 0;
    int fd = got >= 0 ? take_fd(&message, &count) : -1;
    if (got != (ssize_t)sizeof message.number || count != 1 ||
        (message.header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) {
        closep(&fd);
        return -1;
    }
    return fd;
}
