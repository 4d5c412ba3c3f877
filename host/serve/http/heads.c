#include "serve/http/heads.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/cleanup.h"

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

bool heads_is_of_proxy(const char *name, size_t length) {
    static const char *const words[] = {"Via", "Forwarded", "CDN-Loop"};
    static const char *const starts[] = {"X-Forwarded", "X-Real-",   "X-Original-",
                                         "X-Envoy-",    "X-Azure-",  "X-ProxyUser-",
                                         "X-Amzn-",     "X-Client-", "X-Cluster-"};
    static const char *const ends[] = {"-Client-IP", "-Connecting-IP"};
    bool is = false;
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        is = is || is_word(name, length, words[i]);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(starts); i++) {
        size_t own = strlen(starts[i]);
        is = is || (length >= own && strncasecmp(name, starts[i], own) == 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        size_t own = strlen(ends[i]);
        is = is || (length >= own && strncasecmp(name + length - own, ends[i], own) == 0);
    }
    return is;
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

bool heads_origin(const char *text, struct authority *ret, bool *ret_https) {
    struct origin origin;
    if (!origin_read(text, &origin)) {
        return false;
    }
    *ret = origin.host;
    *ret_https = strcmp(origin.scheme, "https") == 0;
    return *ret_https || strcmp(origin.scheme, "http") == 0;
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
    /* What clients of MCP send with each request, word for word, is not taken apart each time. */
    if (strcmp(text, "application/json, text/event-stream") == 0) {
        return HEADS_ACCEPTS_JSON | HEADS_ACCEPTS_EVENTS;
    }
    unsigned found = 0;
    for (const char *at = text; *at != '\0';) {
        const char *end = strchrnul(at, ',');
        const char *range = heads_skip_spaces(at);
        size_t length = strcspn(range, " \t;,");
        unsigned kinds = is_word(range, length, "*/*")
                                 ? HEADS_ACCEPTS_JSON | HEADS_ACCEPTS_EVENTS | HEADS_ACCEPTS_TEXT
                         : is_word(range, length, "application/json") ||
                                         is_word(range, length, "application/*")
                                 ? HEADS_ACCEPTS_JSON
                         : is_word(range, length, "text/*")
                                 ? HEADS_ACCEPTS_EVENTS | HEADS_ACCEPTS_TEXT
                         : is_word(range, length, "text/event-stream") ? HEADS_ACCEPTS_EVENTS
                         : is_word(range, length, "text/plain")        ? HEADS_ACCEPTS_TEXT
                                                                       : 0;
        if (range < end && !is_refused(range, end)) {
            found |= kinds;
        }
        at = *end == ',' ? end + 1 : end;
    }
    return found;
}

bool heads_is_json(const char *text) {
    if (strcmp(text, "application/json") == 0) { /* so nearly always */
        return true;
    }
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

/* The last element of a list that is not empty (RFC 9110, 5.6.1), without the spaces around it; its
 * length is 0 if there is none. With `quotes` commas in quotes separate nothing. False: a quote is
 * not closed, so that it cannot be said what the elements are. */
static bool last_element(const char *text, bool quotes, const char **ret, size_t *ret_length) {
    const char *begin = text;
    bool quoted = false;
    *ret = text;
    *ret_length = 0;
    for (const char *at = text;; at++) {
        if (quoted && *at == '\\' && at[1] != '\0') {
            at++;
        } else if (quotes && *at == '"') {
            quoted = !quoted;
        } else if (*at == '\0' || (*at == ',' && !quoted)) {
            size_t length = (size_t)(at - begin);
            begin = trim(begin, &length);
            if (length > 0) {
                *ret = begin;
                *ret_length = length;
            }
            begin = at + 1;
        }
        if (*at == '\0') {
            return !quoted;
        }
    }
}

bool heads_is_empty_list(const char *text) {
    return text[strspn(text, ", \t")] == '\0';
}

/* An address in figures, without its port, and without the brackets. */
static bool take_address(const char *text, size_t length, struct forwarded *ret) {
    struct authority authority;
    unsigned char bytes[16];
    if (length > 0 && length <= AUTHORITY_HOST_MAX) {
        char plain[AUTHORITY_HOST_MAX + 1];
        ascii_copy_lower(plain, text, length);
        if (inet_pton(AF_INET6, plain, bytes) == 1) { /* X-Forwarded-For has no brackets */
            return inet_ntop(AF_INET6, bytes, ret->address, sizeof ret->address) != NULL;
        }
    }
    if (!authority_read(text, length, &authority) || authority.kind == HOST_NAME) {
        return false;
    }
    memcpy(ret->address, authority.host, strlen(authority.host) + 1);
    return true;
}

/* An identifier that a proxy has made up, for a node or for its port. */
static bool is_obfuscated(const char *text, size_t length) {
    for (size_t i = 1; i < length; i++) {
        if (!ascii_is_word(text[i]) && text[i] != '.' && text[i] != '-') {
            return false;
        }
    }
    return length > 1 && text[0] == '_';
}

static bool is_port(const char *text, size_t length) {
    size_t digits = 0;
    while (digits < length && ascii_is_digit(text[digits])) {
        digits++;
    }
    return (digits == length && length >= 1 && length <= 5) || is_obfuscated(text, length);
}

/* Whom a proxy has the request of (RFC 7239, 6): an address, or an identifier that says nothing;
 * each may have a port. */
static bool take_node(const char *text, size_t length, struct forwarded *ret) {
    if (take_address(text, length, ret)) {
        return true;
    }
    const char *colon = memrchr(text, ':', length);
    size_t name = colon != NULL ? (size_t)(colon - text) : length;
    if (colon != NULL && !is_port(colon + 1, length - name - 1)) {
        return false;
    }
    return is_word(text, name, "unknown") || is_obfuscated(text, name) ||
           (colon != NULL && is_obfuscated(colon + 1, length - name - 1) &&
            take_address(text, name, ret));
}

static bool take_host(const char *text, size_t length, struct forwarded *ret) {
    struct authority authority;
    if (length >= sizeof ret->host || !authority_read(text, length, &authority)) {
        return false;
    }
    memcpy(ret->host, text, length);
    ret->host[length] = '\0';
    return true;
}

static bool take_proto(const char *text, size_t length, struct forwarded *ret) {
    ret->https = is_word(text, length, "https");
    return ret->https || is_word(text, length, "http");
}

typedef bool taker(const char *text, size_t length, struct forwarded *ret);

/* A parameter of an element of Forwarded. */
struct parameter {
    const char *name;
    size_t name_length;
    const char *value;
    size_t length;
};

/* Read a parameter, and a semicolon that follows. @return what comes next; NULL: it is none */
static const char *read_parameter(const char *at, const char *end, struct parameter *ret) {
    ret->name = at;
    ret->name_length = heads_token_length(at);
    at += ret->name_length;
    if (ret->name_length == 0 || *at != '=') {
        return NULL;
    }
    bool quoted = *++at == '"';
    at += quoted;
    ret->value = at;
    if (quoted) {
        while (at < end && *at != '"') {
            at += *at == '\\' ? 2 : 1;
        }
        if (at >= end) {
            return NULL;
        }
        ret->length = (size_t)(at++ - ret->value);
    } else {
        ret->length = strcspn(at, "; \t\",");
        at += ret->length;
        if (ret->length == 0) {
            return NULL;
        }
    }
    while (at < end && is_space(*at)) {
        at++;
    }
    return at == end || *at == ';' ? at : NULL;
}

bool heads_forwarded(const char *text, struct forwarded *ret) {
    static const struct {
        const char *name;
        taker *take;
    } known[] = {{"for", take_node}, {"host", take_host}, {"proto", take_proto}};
    *ret = (struct forwarded){0};
    const char *at;
    size_t length;
    if (!last_element(text, true, &at, &length)) {
        return false;
    }
    const char *end = at + length;
    bool is_said = length == 0; /* an element has a parameter */
    unsigned seen = 0;
    while (at < end) {
        if (*at == ';' || is_space(*at)) { /* a parameter may be missing */
            at++;
            continue;
        }
        struct parameter parameter;
        at = read_parameter(at, end, &parameter);
        if (at == NULL) {
            return false;
        }
        is_said = true;
        for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (is_word(parameter.name, parameter.name_length, known[i].name)) {
                if ((seen >> i & 1) != 0 || /* which of the two would count? */
                    !known[i].take(parameter.value, parameter.length, ret)) {
                    return false;
                }
                seen |= 1u << i;
            }
        }
    }
    return is_said;
}

/* Take the last element of a list; NULL and a list of none say nothing. */
static bool take_last(const char *list, taker *take, struct forwarded *ret) {
    const char *element;
    size_t length;
    return list == NULL || (last_element(list, false, &element, &length) &&
                            (length == 0 || take(element, length, ret)));
}

bool heads_x_forwarded(const char *from, const char *host, const char *proto,
                       struct forwarded *ret) {
    *ret = (struct forwarded){0};
    return take_last(from, take_node, ret) && take_last(host, take_host, ret) &&
           take_last(proto, take_proto, ret);
}
