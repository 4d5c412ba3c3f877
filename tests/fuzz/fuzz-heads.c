/* The headers that the HTTP transport reads itself: the first byte says which. What is accepted has
 * the form that its readers rely on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http/address.h"
#include "serve/http/heads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_authority(const struct authority *authority) {
    size_t length = strlen(authority->host);
    require(length >= 1 && length <= AUTHORITY_HOST_MAX && authority->port <= 65535);
    require(authority->host[strcspn(authority->host, "/@?# \t\r\n\"\\")] == '\0');
    require(authority->kind == HOST_IPV6 || strchr(authority->host, ':') == NULL);
}

static void check_forwarded(const struct forwarded *forwarded) {
    struct authority host;
    require(strlen(forwarded->address) <= AUTHORITY_HOST_MAX);
    require(strlen(forwarded->host) <= AUTHORITY_TEXT_MAX);
    require(forwarded->host[0] == '\0' ||
            authority_read(forwarded->host, strlen(forwarded->host), &host));
}

static void check_bearer(const char *text) {
    size_t length;
    const char *token = heads_bearer(text, &length);
    if (token != NULL) {
        require(length >= 1 && token >= text + 7 && token + length <= text + strlen(text));
        require(memchr(token, ' ', length) == NULL && memchr(token, ',', length) == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct authority authority;
    struct forwarded forwarded;
    struct network network;
    struct sockaddr_storage address;
    socklen_t address_size;
    bool https;
    if (size == 0) {
        return 0;
    }
    /* As long as the text is, so that a sanitizer sees a byte too far. */
    char *text = malloc(size);
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 7) {
    case 0:
        if (authority_read(text, strlen(text), &authority)) {
            check_authority(&authority);
            (void)authority_is_loopback(&authority);
        } else {
            require(authority.host[0] == '\0' && authority.port == 0);
        }
        break;
    case 1:
        if (heads_origin(text, &authority, &https)) {
            check_authority(&authority);
            require(authority.port != (https ? 443 : 80));
        }
        break;
    case 2: check_bearer(text); break;
    case 3:
        require(heads_accepts(text) <= (HEADS_ACCEPTS_JSON | HEADS_ACCEPTS_EVENTS));
        (void)heads_is_json(text);
        break;
    case 4:
        if (heads_forwarded(text, &forwarded)) {
            check_forwarded(&forwarded);
        }
        break;
    case 5:
        if (heads_x_forwarded(text, text, text, &forwarded) ||
            heads_x_forwarded(text, NULL, NULL, &forwarded)) {
            check_forwarded(&forwarded);
        }
        break;
    case 6:
        if (network_read(text, &network)) {
            require(network.bits <= 128);
        }
        if (address_read(text, &address, &address_size, NULL) == 0) {
            char room[ADDRESS_TEXT_ROOM];
            address_text(&address, room);
            require(address_size <= sizeof address && strchr(room, ':') != NULL);
            (void)address_is_loopback(&address);
        }
        break;
    }
    free(text);
    return 0;
}
