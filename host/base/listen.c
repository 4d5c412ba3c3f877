#include "base/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

_Static_assert(LISTEN_MAX == 16, "LISTEN_TOO_MANY says the number");

static bool refuse(struct listen_problem *ret, const char *what, const char *fix) {
    (void)snprintf(ret->what, sizeof ret->what, "%s", what);
    ret->fix = fix;
    return false;
}

/* The kernel takes none of these for a listening socket: of a mapped address the socket would have
 * to be one of both families, of one link it would have to know the link. */
static bool check_ipv6(const char *host, struct listen_problem *ret) {
    struct in6_addr address;
    (void)inet_pton(AF_INET6, host, &address);
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
        return refuse(ret, "is an IPv4 address in the form of IPv6",
                      "write the IPv4 address, such as \"127.0.0.1:8137\"");
    }
    if (IN6_IS_ADDR_MULTICAST(&address)) {
        return refuse(ret, "is an address of many machines",
                      "write an address of this machine, such as \"[::1]:8137\"");
    }
    if (IN6_IS_ADDR_LINKLOCAL(&address)) {
        return refuse(ret, "is an address of one link only, at which nothing can listen",
                      "write another address of this machine, or \"[::]:8137\" for all of them");
    }
    return true;
}

bool listen_read(const char *text, struct authority *ret, struct listen_problem *ret_problem) {
    const char *colon = strrchr(text, ':');
    /* authority_read() takes no port 0, which no client can name. */
    bool any = colon != NULL && strcmp(colon, ":0") == 0;
    if (!authority_read(text, any ? (size_t)(colon - text) : strlen(text), ret) ||
        (ret->port == 0) != any ||
        (ret->kind == HOST_NAME && strcmp(ret->host, "localhost") != 0)) {
        return refuse(ret_problem, "is no address to listen at",
                      "write ADDRESS:PORT, such as \"127.0.0.1:8137\", \"[::1]:8137\" or "
                      "\"0.0.0.0:8137\"");
    }
    return ret->kind != HOST_IPV6 || check_ipv6(ret->host, ret_problem);
}

/* The bytes of the address. */
static size_t bytes_of(const struct authority *authority, unsigned char ret[static 16]) {
    bool is_ipv6 = authority->kind == HOST_IPV6;
    (void)inet_pton(is_ipv6 ? AF_INET6 : AF_INET,
                    authority->kind == HOST_NAME ? "127.0.0.1" : authority->host, ret);
    return is_ipv6 ? 16 : 4;
}

/* Whether both want the same port: of one address, or one of them of all addresses. An IPv6 socket
 * of a server takes no IPv4. */
static bool is_shared(const struct authority *a, const struct authority *b) {
    static const unsigned char all[16];
    unsigned char of_a[16];
    unsigned char of_b[16];
    size_t length = bytes_of(a, of_a);
    return a->port != 0 && a->port == b->port && length == bytes_of(b, of_b) &&
           (memcmp(of_a, of_b, length) == 0 || memcmp(of_a, all, length) == 0 ||
            memcmp(of_b, all, length) == 0);
}

bool listen_fits(const char *const *texts, size_t index, struct listen_problem *ret_problem) {
    struct authority one;
    struct authority other;
    struct listen_problem unheard;
    bool is_address = listen_read(texts[index], &one, &unheard);
    for (size_t i = 0; is_address && i < index; i++) {
        if (listen_read(texts[i], &other, &unheard) && is_shared(&one, &other)) {
            (void)snprintf(ret_problem->what, sizeof ret_problem->what,
                           "has the port of \"%.100s\", and only one can have it", texts[i]);
            ret_problem->fix = "remove one of them, or give it another port";
            return false;
        }
    }
    return true;
}
