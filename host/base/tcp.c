#include "base/tcp.h"

#include <stddef.h>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define MEMBER_END(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* What has come, without what waits to be read; 0: not known. */
static uint64_t bytes_read(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    int waiting = 0;
    /* What waits is asked for last: what comes between both questions then counts as unread. */
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        length < MEMBER_END(struct tcp_info, tcpi_bytes_received) ||
        ioctl(fd, FIONREAD, &waiting) != 0 || waiting < 0) {
        return 0;
    }
    const uint64_t received = info.tcpi_bytes_received;
    return received > (uint64_t)waiting ? received - (uint64_t)waiting : 0;
}

void tcp_meter_add(struct tcp_meter *meter, int fd) {
    if (meter->count < TCP_CONNECTIONS_MAX) {
        meter->fds[meter->count++] = fd;
    }
}

void tcp_meter_remove(struct tcp_meter *meter, int fd) {
    for (unsigned i = 0; i < meter->count; i++) {
        if (meter->fds[i] == fd) {
            meter->closed += bytes_read(fd);
            meter->fds[i] = meter->fds[--meter->count];
            return;
        }
    }
}

uint64_t tcp_meter_read(const struct tcp_meter *meter) {
    uint64_t sum = meter->closed;
    for (unsigned i = 0; i < meter->count; i++) {
        sum += bytes_read(meter->fds[i]);
    }
    return sum;
}
