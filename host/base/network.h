/* network.h - addresses with the same first bits, and which are of the public internet. */
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

/** What kind an address is of that is none of the public internet, such as "a loopback address";
 * NULL: it is one. */
const char *network_special(const unsigned char bytes[static 16]);
/** The address of IPv4, as above, that one of IPv6 is translated to (NAT64, 6to4). False: it is not
 * translated. */
bool network_translated(const unsigned char bytes[static 16], unsigned char ret[static 16]);
