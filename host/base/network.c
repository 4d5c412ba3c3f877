#include "base/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

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

bool network_has(const struct network *network, const struct sockaddr_storage *address) {
    unsigned char bytes[16];
    if (address->ss_family != AF_INET && address->ss_family != AF_INET6) {
        return false;
    }
    network_bytes(address, bytes);
    unsigned full = network->bits / 8;
    unsigned rest = network->bits % 8;
    unsigned char mask = (unsigned char)(0xff00u >> rest);
    return memcmp(bytes, network->bytes, full) == 0 &&
           (rest == 0 || ((bytes[full] ^ network->bytes[full]) & mask) == 0);
}
