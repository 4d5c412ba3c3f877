#include "base/authority.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"

static bool read_port(const char *text, size_t length, uint32_t *ret) {
    uint32_t port = 0;
    if (length == 0 || length > 5) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_digit(text[i])) {
            return false;
        }
        port = port * 10 + (uint32_t)(text[i] - '0');
    }
    *ret = port;
    return port >= 1 && port <= 65535;
}

static bool is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_letter(text[i]) && !ascii_is_digit(text[i]) && text[i] != '-' &&
            text[i] != '.' && text[i] != '_') {
            return false;
        }
    }
    return length > 0;
}

static bool read_authority(const char *text, size_t length, struct authority *ret) {
    const char *end = text + length;
    const char *host = text;
    const char *after;
    if (length > 0 && text[0] == '[') {
        after = memchr(text, ']', length);
        if (after == NULL) {
            return false;
        }
        host++;
        ret->kind = HOST_IPV6;
    } else {
        after = memchr(text, ':', length);
        after = after != NULL ? after : end;
    }
    size_t size = (size_t)(after - host);
    if (size == 0 || size > AUTHORITY_HOST_MAX) {
        return false;
    }
    ascii_copy_lower(ret->host, host, size);
    after += ret->kind == HOST_IPV6;
    if (after < end &&
        (*after != ':' || !read_port(after + 1, (size_t)(end - after) - 1, &ret->port))) {
        return false;
    }
    unsigned char address[16];
    if (ret->kind == HOST_IPV6) {
        return strlen(ret->host) == size && inet_pton(AF_INET6, ret->host, address) == 1 &&
               inet_ntop(AF_INET6, address, ret->host, sizeof ret->host) != NULL;
    }
    if (!is_name(ret->host, size)) {
        return false;
    }
    if (size > 1 && ret->host[size - 1] == '.') {
        ret->host[size - 1] = '\0';
    }
    ret->kind = inet_pton(AF_INET, ret->host, address) == 1 ? HOST_IPV4 : HOST_NAME;
    return true;
}

bool authority_read(const char *text, size_t length, struct authority *ret) {
    *ret = (struct authority){0};
    bool is_one = read_authority(text, length, ret);
    if (!is_one) { /* what was read so far is no host */
        *ret = (struct authority){0};
    }
    return is_one;
}

bool authority_is_loopback(const struct authority *authority) {
    unsigned char address[16];
    switch (authority->kind) {
    case HOST_NAME: return strcmp(authority->host, "localhost") == 0;
    case HOST_IPV4: return strncmp(authority->host, "127.", 4) == 0;
    case HOST_IPV6:
        return inet_pton(AF_INET6, authority->host, address) == 1 &&
               memcmp(address, &in6addr_loopback, sizeof in6addr_loopback) == 0;
    }
    return false;
}

bool authority_is_named(const struct authority *authority) {
    const char *last = strrchr(authority->host, '.');
    last = last != NULL ? last + 1 : authority->host;
    return authority->kind != HOST_NAME ||
           (authority->host[0] != '.' && strstr(authority->host, "..") == NULL &&
            last[strspn(last, "0123456789")] != '\0');
}

bool origin_read(const char *text, struct origin *ret) {
    size_t length = strcspn(text, ":");
    *ret = (struct origin){0};
    if (length == 0 || length > ORIGIN_SCHEME_MAX || strncmp(text + length, "://", 3) != 0 ||
        !ascii_is_letter(text[0])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_letter(text[i]) && !ascii_is_digit(text[i]) &&
            strchr("+-.", text[i]) == NULL) {
            return false;
        }
    }
    ascii_copy_lower(ret->scheme, text, length);
    const char *host = text + length + 3;
    if (!authority_read(host, strlen(host), &ret->host) || !authority_is_named(&ret->host)) {
        return false;
    }
    uint32_t own_port = strcmp(ret->scheme, "https") == 0  ? 443
                        : strcmp(ret->scheme, "http") == 0 ? 80
                                                           : 0;
    ret->host.port = ret->host.port == own_port ? 0 : ret->host.port;
    return true;
}

bool origin_is_same(const struct origin *a, const struct origin *b) {
    return strcmp(a->scheme, b->scheme) == 0 && strcmp(a->host.host, b->host.host) == 0 &&
           a->host.port == b->host.port;
}

bool authority_read_base(const char *url, struct authority *ret) {
    const char *host = strstr(url, "://");
    return host != NULL && url[strlen(url) - 1] != '/' && strpbrk(url, "?#") == NULL &&
           authority_read(host + 3, strcspn(host + 3, "/"), ret);
}

bool authority_is_safe(const char *url) {
    struct authority host;
    const char *rest = strncasecmp(url, "http://", 7) == 0 ? url + 7 : NULL;
    return strncasecmp(url, "https://", 8) == 0 ||
           (rest != NULL && authority_read(rest, strcspn(rest, "/?#"), &host) &&
            authority_is_loopback(&host));
}
