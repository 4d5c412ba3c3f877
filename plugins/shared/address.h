/* address.h - which addresses of the network a plugin may connect to: those of the public internet,
 * and the networks that an administrator names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/network.h"

#define NETWORKS_MAX         32
#define ADDRESS_TEXT_SIZE    64
#define ADDRESS_MESSAGE_SIZE 128

struct networks {
    struct network items[NETWORKS_MAX];
    size_t count;
};

/** Read a list such as "127.0.0.0/8, ::1"; an address alone is one host. False with a message. */
bool networks_parse(const char *text, struct networks *ret, char message[ADDRESS_MESSAGE_SIZE]);

/** NULL if it is an address of the public internet or in `allowed`, else what kind it is of, such
 * as "a loopback address". `text` becomes the address. Of what is neither IPv4 nor IPv6 nothing is
 * allowed. */
const char *address_refused(const struct sockaddr *address, const struct networks *allowed,
                            char text[ADDRESS_TEXT_SIZE]);
