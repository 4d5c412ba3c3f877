/* network.h - addresses with the same first bits. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/** The bytes of an IPv4 or IPv6 address as IPv6 has it (IPv4: ::ffff:0:0/96); zero for others. */
void network_bytes(const struct sockaddr_storage *address, unsigned char ret[static 16]);
/** Whether such bytes are an IPv4 address. */
bool network_is_ipv4(const unsigned char bytes[static 16]);

/** "10.0.0.0/8", "::1", "192.168.1.7". */
struct network {
    unsigned char bytes[16]; /**< as above */
    unsigned bits;
};
/** False: it is something else. */
bool network_read(const char *text, struct network *ret);
bool network_has(const struct network *network, const struct sockaddr_storage *address);
