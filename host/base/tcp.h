/* tcp.h - how much a program reads from TCP connections, whoever reads it for it.
 *
 * A library that speaks HTTP passes on headers and bodies, and skips what else there is in a
 * response, such as extensions of chunks, without a limit and without a word. Its connections tell
 * how much that is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Most connections that are open at a time: more addresses of one host are not tried at once. */
#define TCP_CONNECTIONS_MAX 16

/** The connections of one client; zero: it has none yet. Used by one thread. */
struct tcp_meter {
    int fds[TCP_CONNECTIONS_MAX];
    unsigned count;
    uint64_t closed; /* bytes read from those that are closed */
};

/** One was opened; borrowed until tcp_meter_remove(). Beyond the limit it is not measured. */
void tcp_meter_add(struct tcp_meter *meter, int fd);
/** It is about to be closed. Another descriptor is ignored. */
void tcp_meter_remove(struct tcp_meter *meter, int fd);

/** How many bytes were read from all of them, as far as the kernel tells: of a socket that is not
 * TCP it does not. */
uint64_t tcp_meter_read(const struct tcp_meter *meter);
