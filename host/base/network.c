#include "base/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void network_bytes(const struct sockaddr_storage *address, unsigned char ret[static 16]) {
    memset(ret, 0, 16);
    if (address->ss_family == AF_INET6) {
        memcpy(ret, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    } else if (address->ss_family == AF_INET) {
        ret[10] = ret[11] = 0xff;
        memcpy(ret + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
}

bool network_is_ipv4(const unsigned char bytes[static 16]) {
    static const unsigned char prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(bytes, prefix, sizeof prefix) == 0;
}

bool network_read(const char *text, struct network *ret) {
    char host[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "/");
    if (length >= sizeof host) {
        return false;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    struct sockaddr_storage address = {.ss_family = AF_INET};
    unsigned most = 32;
    if (inet_pton(AF_INET, host, &((struct sockaddr_in *)&address)->sin_addr) != 1) {
        address.ss_family = AF_INET6;
        most = 128;
        if (inet_pton(AF_INET6, host, &((struct sockaddr_in6 *)&address)->sin6_addr) != 1) {
            return false;
        }
    }
    unsigned long bits = most;
    if (text[length] == '/') {
        char *end;
        const char *digits = text + length + 1;
        bits = strtoul(digits, &end, 10);
        if (*digits < '0' || *digits > '9' || *end != '\0' || bits > most) {
            return false;
        }
    }
    network_bytes(&address, ret->bytes);
    ret->bits = (unsigned)bits + (most == 32 ? 96 : 0);
    return true;
}

static bool starts_with(const unsigned char bytes[static 16], const struct network *network) {
    unsigned full = network->bits / 8;
    unsigned rest = network->bits % 8;
    unsigned char mask = (unsigned char)(0xff00u >> rest);
    return memcmp(bytes, network->bytes, full) == 0 &&
           (rest == 0 || ((bytes[full] ^ network->bytes[full]) & mask) == 0);
}

bool network_has(const struct network *network, const struct sockaddr_storage *address) {
    unsigned char bytes[16];
    if (address->ss_family != AF_INET && address->ss_family != AF_INET6) {
        return false;
    }
    network_bytes(address, bytes);
    return starts_with(bytes, network);
}

/* ------------------------------------------------------------- of the internet */

/* IANA's registries of special-purpose addresses, with what routes or translates to others. The
 * first row that fits says it. */
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

const char *network_special(const unsigned char bytes[static 16]) {
    for (size_t i = 0; i < ARRAY_LENGTH(special); i++) {
        struct network network;
        if (network_read(special[i].network, &network) && starts_with(bytes, &network)) {
            return special[i].kind;
        }
    }
    /* Of IPv6 only 2000::/3 is given out. */
    return network_is_ipv4(bytes) || bytes[0] >> 5 == 1 ? NULL : "a reserved address";
}

bool network_translated(const unsigned char bytes[static 16], unsigned char ret[static 16]) {
    static const unsigned char nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    const unsigned char *inner = memcmp(bytes, nat64, sizeof nat64) == 0 ? bytes + 12
                                 : bytes[0] == 0x20 && bytes[1] == 0x02  ? bytes + 2
                                                                         : NULL;
    if (inner == NULL) {
        return false;
    }
    memset(ret, 0, 16);
    ret[10] = ret[11] = 0xff;
    memcpy(ret + 12, inner, 4);
    return true;
}
