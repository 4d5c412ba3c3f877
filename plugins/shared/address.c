#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IPV4_BITS 96

/* IANA's registries of special-purpose addresses, with what routes or translates to others: an
 * address within 6to4 or NAT64 stands for one of IPv4. The first row that fits says it. */
static const struct {
    const char *network;
    const char *kind;
} special[] = {
        {"0.0.0.0/8", "an address of this network"},
        {"10.0.0.0/8", "a private address"},
        {"100.64.0.0/10", "an address of a provider's own network"},
        {"127.0.0.0/8", "a loopback address"},
        {"169.254.0.0/16", "a link-local address"},
        {"172.16.0.0/12", "a private address"},
        {"192.0.0.0/24", "a reserved address"},
        {"192.0.2.0/24", "an address for documentation"},
        {"192.88.99.0/24", "a reserved address"},
        {"192.168.0.0/16", "a private address"},
        {"198.18.0.0/15", "an address for benchmarks"},
        {"198.51.100.0/24", "an address for documentation"},
        {"203.0.113.0/24", "an address for documentation"},
        {"224.0.0.0/4", "a multicast address"},
        {"240.0.0.0/4", "a reserved address"},
        {"::1", "a loopback address"},
        {"::/128", "an address of this network"},
        {"fc00::/7", "a private address"},
        {"fe80::/10", "a link-local address"},
        {"ff00::/8", "a multicast address"},
        {"64:ff9b::/96", "an address that is translated to IPv4"},
        {"2001::/23", "a reserved address"},
        {"2001:db8::/32", "an address for documentation"},
        {"2002::/16", "an address that is translated to IPv4"},
        {"3fff::/20", "an address for documentation"},
};

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool parse_one(const char *text, uint8_t address[16], unsigned *ret_bits) {
    char host[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "/");
    if (length >= sizeof host) {
        return false;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    bool is_ipv4 = strchr(host, ':') == NULL;
    if (is_ipv4) {
        memcpy(address, mapped_prefix, sizeof mapped_prefix);
    }
    if (inet_pton(is_ipv4 ? AF_INET : AF_INET6, host, is_ipv4 ? address + 12 : address) != 1) {
        return false;
    }
    unsigned long most = is_ipv4 ? 32 : 128;
    unsigned long bits = most;
    if (text[length] == '/') {
        char *end;
        if (text[length + 1] < '0' || text[length + 1] > '9') {
            return false;
        }
        bits = strtoul(text + length + 1, &end, 10);
        if (*end != '\0' || bits > most) {
            return false;
        }
    }
    *ret_bits = (unsigned)bits + (is_ipv4 ? IPV4_BITS : 0);
    return true;
}

bool networks_parse(const char *text, struct networks *ret, char message[ADDRESS_MESSAGE_SIZE]) {
    ret->count = 0;
    for (const char *at = text;;) {
        at += strspn(at, ", \t");
        size_t length = strcspn(at, ", \t");
        if (length == 0) {
            return true;
        }
        char item[INET6_ADDRSTRLEN + 8];
        (void)snprintf(item, sizeof item, "%.*s", (int)length, at);
        if (ret->count == NETWORKS_MAX) {
            (void)snprintf(message, ADDRESS_MESSAGE_SIZE, "has more than %d networks",
                           NETWORKS_MAX);
            return false;
        }
        if (length >= sizeof item ||
            !parse_one(item, ret->items[ret->count].address, &ret->items[ret->count].bits)) {
            (void)snprintf(message, ADDRESS_MESSAGE_SIZE,
                           "\"%s\" is no network; write it such as 10.1.0.0/16 or ::1", item);
            return false;
        }
        ret->count++;
        at += length;
    }
}

static bool is_in(const uint8_t address[16], const uint8_t network[16], unsigned bits) {
    unsigned bytes = bits / 8;
    unsigned rest = bits % 8;
    return memcmp(address, network, bytes) == 0 &&
           (rest == 0 || (address[bytes] ^ network[bytes]) >> (8 - rest) == 0);
}

static const char *special_kind(const uint8_t address[16]) {
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        uint8_t network[16];
        unsigned bits = 0;
        (void)parse_one(special[i].network, network, &bits);
        if (is_in(address, network, bits)) {
            return special[i].kind;
        }
    }
    bool is_ipv4 = memcmp(address, mapped_prefix, sizeof mapped_prefix) == 0;
    /* Of IPv6 only 2000::/3 is given out. */
    return is_ipv4 || address[0] >> 5 == 1 ? NULL : "a reserved address";
}

const char *address_refused(const struct sockaddr *address, const struct networks *allowed,
                            char text[ADDRESS_TEXT_SIZE]) {
    uint8_t bytes[16];
    text[0] = '\0';
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)(const void *)address;
        memcpy(bytes, mapped_prefix, sizeof mapped_prefix);
        memcpy(bytes + 12, &ipv4->sin_addr, 4);
        (void)inet_ntop(AF_INET, &ipv4->sin_addr, text, ADDRESS_TEXT_SIZE);
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)(const void *)address;
        memcpy(bytes, &ipv6->sin6_addr, 16);
        (void)inet_ntop(AF_INET6, &ipv6->sin6_addr, text, ADDRESS_TEXT_SIZE);
    } else {
        return "no address of the internet";
    }
    for (size_t i = 0; i < allowed->count; i++) {
        if (is_in(bytes, allowed->items[i].address, allowed->items[i].bits)) {
            return NULL;
        }
    }
    return special_kind(bytes);
}
