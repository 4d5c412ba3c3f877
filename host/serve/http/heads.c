#include "serve/http/heads.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"

/* ---------------------------------------------------------------- characters */

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

/* `count` bits, of the characters from `first` on. */
#define BITS(first, count) (((UINT64_C(1) << (count)) - 1) << ((first) % 64))

/* Of a token (RFC 9110). Every character of every name is asked for: so it is looked up. */
static bool is_token(char c) {
    static const uint64_t tokens[4] = {
            BITS('!', 1) | BITS('#', 5) | BITS('*', 2) | BITS('-', 2) | BITS('0', 10),
            BITS('A', 26) | BITS('^', 3) | BITS('a', 26) | BITS('|', 1) | BITS('~', 1)};
    unsigned char byte = (unsigned char)c;
    return (tokens[byte / 64] >> (byte % 64) & 1) != 0;
}

const char *heads_skip_spaces(const char *at) {
    while (is_space(*at)) {
        at++;
    }
    return at;
}

size_t heads_token_length(const char *text) {
    size_t length = 0;
    while (is_token(text[length])) {
        length++;
    }
    return length;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* The text between spaces, and its length. */
static const char *trim(const char *text, size_t *length) {
    while (*length > 0 && is_space(*text)) {
        text++;
        (*length)--;
    }
    while (*length > 0 && is_space(text[*length - 1])) {
        (*length)--;
    }
    return text;
}

/* ---------------------------------------------------------------- authorities */

bool heads_is_loopback(const struct authority *authority) {
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

bool heads_origin(const char *text, struct authority *ret, bool *ret_https) {
    *ret_https = strncasecmp(text, "https://", 8) == 0;
    if (!*ret_https && strncasecmp(text, "http://", 7) != 0) {
        return false;
    }
    text += *ret_https ? 8 : 7;
    if (!authority_read(text, strlen(text), ret)) {
        return false;
    }
    if (ret->port == (*ret_https ? 443u : 80u)) {
        ret->port = 0;
    }
    return true;
}

/* ---------------------------------------------------------------- the others */

const char *heads_bearer(const char *text, size_t *ret_length) {
    if (strncasecmp(text, "bearer", 6) != 0 || !is_space(text[6])) {
        return NULL;
    }
    const char *token = heads_skip_spaces(text + 6);
    size_t length = 0;
    while (ascii_is_letter(token[length]) || ascii_is_digit(token[length]) ||
           (token[length] != '\0' && strchr("-._~+/", token[length]) != NULL)) {
        length++;
    }
    size_t padding = strspn(token + length, "=");
    if (length == 0 || *heads_skip_spaces(token + length + padding) != '\0') {
        return NULL;
    }
    *ret_length = length + padding;
    return token;
}

/* Whether the parameters of a range, until `end`, have the quality 0. */
static bool is_refused(const char *at, const char *end) {
    while ((at = memchr(at, ';', (size_t)(end - at))) != NULL) {
        at = heads_skip_spaces(at + 1);
        if (end - at >= 3 && (at[0] == 'q' || at[0] == 'Q') && at[1] == '=' && at[2] == '0') {
            size_t zeros = strspn(at + 3, ".0");
            return at + 3 + zeros >= end || strchr(" \t;,", at[3 + zeros]) != NULL;
        }
    }
    return false;
}

unsigned heads_accepts(const char *text) {
    unsigned found = 0;
    for (const char *at = text; *at != '\0';) {
        const char *end = strchrnul(at, ',');
        const char *range = heads_skip_spaces(at);
        size_t length = strcspn(range, " \t;,");
        unsigned kinds =
                is_word(range, length, "*/*") ? HEADS_ACCEPTS_JSON | HEADS_ACCEPTS_EVENTS
                : is_word(range, length, "application/json") ||
                                is_word(range, length, "application/*")
                        ? HEADS_ACCEPTS_JSON
                : is_word(range, length, "text/event-stream") || is_word(range, length, "text/*")
                        ? HEADS_ACCEPTS_EVENTS
                        : 0;
        if (range < end && !is_refused(range, end)) {
            found |= kinds;
        }
        at = *end == ',' ? end + 1 : end;
    }
    return found;
}

bool heads_is_json(const char *text) {
    text = heads_skip_spaces(text);
    size_t length = strcspn(text, " \t;");
    if (!is_word(text, length, "application/json")) {
        return false;
    }
    const char *charset = strcasestr(text + length, "charset=");
    if (charset == NULL) {
        return true;
    }
    charset += strlen("charset=");
    charset += *charset == '"';
    return is_word(charset, strcspn(charset, "\" \t;"), "utf-8");
}

/* ---------------------------------------------------------------- proxies */

/* An address as a proxy states it: without its port, and without the brackets. */
static bool take_address(const char *text, size_t length, struct forwarded *ret) {
    text = trim(text, &length);
    struct authority authority;
    unsigned char bytes[16];
    if (length > 0 && length <= AUTHORITY_HOST_MAX) {
        char plain[AUTHORITY_HOST_MAX + 1];
        ascii_copy_lower(plain, text, length);
        if (inet_pton(AF_INET6, plain, bytes) == 1) { /* X-Forwarded-For has no brackets */
            memcpy(ret->address, plain, length + 1);
            return true;
        }
    }
    if (!authority_read(text, length, &authority)) {
        return false;
    }
    memcpy(ret->address, authority.host, strlen(authority.host) + 1);
    return true;
}

static bool take_host(const char *text, size_t length, struct forwarded *ret) {
    text = trim(text, &length);
    struct authority authority;
    if (!authority_read(text, length, &authority)) {
        return false;
    }
    memcpy(ret->host, text, length);
    ret->host[length] = '\0';
    return true;
}

static bool take_proto(const char *text, size_t length, struct forwarded *ret) {
    text = trim(text, &length);
    ret->https = is_word(text, length, "https");
    return ret->https || is_word(text, length, "http");
}

/* The start of the last element of a list: commas in quotes separate nothing. */
static const char *last_element(const char *text) {
    const char *last = text;
    bool quoted = false;
    for (const char *at = text; *at != '\0'; at++) {
        if (quoted && *at == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == '"') {
            quoted = !quoted;
        } else if (*at == ',' && !quoted) {
            last = at + 1;
        }
    }
    return last;
}

bool heads_forwarded(const char *text, struct forwarded *ret) {
    *ret = (struct forwarded){0};
    const char *at = heads_skip_spaces(last_element(text));
    while (*at != '\0') {
        size_t name_length = heads_token_length(at);
        const char *name = at;
        at += name_length;
        if (name_length == 0 || *at != '=') {
            return false;
        }
        bool quoted = *++at == '"';
        at += quoted;
        size_t length = quoted ? strcspn(at, "\"\\") : strcspn(at, "; \t\",");
        const char *value = at;
        at += length;
        if (quoted && *at++ != '"') {
            return false; /* or one with an escape, which no address has */
        }
        /* An identifier that is no address, such as _hidden or unknown, says nothing. */
        bool taken = is_word(name, name_length, "for")
                             ? take_address(value, length, ret) || value[0] == '_' ||
                                       is_word(value, length, "unknown")
                     : is_word(name, name_length, "host")  ? take_host(value, length, ret)
                     : is_word(name, name_length, "proto") ? take_proto(value, length, ret)
                                                           : true;
        at = heads_skip_spaces(at);
        if (!taken || (*at != ';' && *at != '\0')) {
            return false;
        }
        at = heads_skip_spaces(at + (*at == ';'));
    }
    return true;
}

bool heads_x_forwarded(const char *from, const char *host, const char *proto,
                       struct forwarded *ret) {
    *ret = (struct forwarded){0};
    if (from != NULL) {
        const char *last = last_element(from);
        if (!take_address(last, strlen(last), ret)) {
            return false;
        }
    }
    if (host != NULL) {
        const char *last = last_element(host);
        if (!take_host(last, strlen(last), ret)) {
            return false;
        }
    }
    if (proto != NULL) {
        const char *last = last_element(proto);
        if (!take_proto(last, strlen(last), ret)) {
            return false;
        }
    }
    return true;
}
