/* protocol-fd.h - descriptors over the socket between host and worker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Send a descriptor over the inherited socket. Never blocks; false, with errno, if the other side
 * did not receive earlier messages or has ended, or if more descriptors are being sent by all
 * processes of the user than this one may have open (ETOOMANYREFS). [any-thread] */
bool protocol_send_fd(int socket_fd, int fd);
/** Worker: wait for a descriptor, which is close-on-exec. -1: the host has ended or sent something
 * else. [worker] */
int protocol_receive_fd(int socket_fd);
/** Worker: tell the host which layers of the sandbox are in force, with the descriptor that asks
 * for each new thread; -1: there is none. It is the only message of a worker. Otherwise as
 * protocol_send_fd(). [worker] */
bool protocol_describe(int socket_fd, uint32_t layers, int listener);
/** Host: take that message, without waiting. False: it is not there. *ret_listener is -1 without a
 * descriptor. [any-thread] */
bool protocol_hear(int socket_fd, uint32_t *ret_layers, int *ret_listener);
