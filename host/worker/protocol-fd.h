/* protocol-fd.h - descriptors over the socket between host and worker. */
#pragma once

#include <stdbool.h>

/** Send a descriptor over the inherited socket. Never blocks; false, with errno, if the other side
 * did not receive earlier messages or has ended, or if more descriptors are being sent by all
 * processes of the user than this one may have open (ETOOMANYREFS). [any-thread] */
bool protocol_send_fd(int socket_fd, int fd);
/** Worker: wait for a descriptor, which is close-on-exec. -1: the host has ended or sent something
 * else. [worker] */
int protocol_receive_fd(int socket_fd);
/** Host: take one message, without waiting; its bytes have no meaning. False: there is none.
 * *ret_fd is the descriptor that came with it, or -1. [any-thread] */
bool protocol_hear(int socket_fd, int *ret_fd);
