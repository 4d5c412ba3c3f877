#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

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
        if (length >= sizeof item || !network_read(item, &ret->items[ret->count])) {
            (void)snprintf(message, ADDRESS_MESSAGE_SIZE,
                           "\"%s\" is no network; write it such as 10.1.0.0/16 or ::1", item);
            return false;
        }
        ret->count++;
        at += length;
    }
}

const char *address_refused(const struct sockaddr *address, const struct networks *allowed,
                            char text[ADDRESS_TEXT_SIZE]) {
    struct sockaddr_storage whole = {.ss_family = address->sa_family};
    unsigned char bytes[16];
    text[0] = '\0';
    if (address->sa_family == AF_INET) {
        memcpy(&whole, address, sizeof(struct sockaddr_in));
        (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)&whole)->sin_addr, text,
                        ADDRESS_TEXT_SIZE);
    } else if (address->sa_family == AF_INET6) {
        memcpy(&whole, address, sizeof(struct sockaddr_in6));
        (void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&whole)->sin6_addr, text,
                        ADDRESS_TEXT_SIZE);
    } else {
        return "no address of the internet";
    }
    for (size_t i = 0; i < allowed->count; i++) {
        if (network_has(&allowed->items[i], &whole)) {
            return NULL;
        }
    }
    network_bytes(&whole, bytes);
    return network_special(bytes);
}
