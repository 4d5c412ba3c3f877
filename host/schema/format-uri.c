/* URIs, IRIs and URI templates by their grammar (RFC 3986, 3987, 6570). */
#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "schema/format.h"
#include "schema/uri.h"

static bool is_in(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

/* unreserved and sub-delims */
static bool is_plain(char c) {
    return ascii_is_alnum(c) || is_in(c, "-._~!$&'()*+,;=");
}

static bool is_escape(const char *text, size_t left) {
    return left >= 3 && text[0] == '%' && ascii_hex_value(text[1]) >= 0 &&
           ascii_hex_value(text[2]) >= 0;
}

/* One non-ASCII character of well-formed UTF-8. */
static uint32_t read_character(const char *text, size_t left, size_t *ret_length) {
    unsigned char first = (unsigned char)text[0];
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    uint32_t c = first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length && i < left; i++) {
        c = c << 6 | ((unsigned char)text[i] & 0x3f);
    }
    *ret_length = length < left ? length : left;
    return c;
}

/* ucschar, and iprivate if `private_use`. */
static bool is_iri_character(uint32_t c, bool private_use) {
    if (private_use && ((c >= 0xe000 && c <= 0xf8ff) || c >= 0xf0000)) {
        return (c & 0xffff) <= 0xfffd;
    }
    if (c >= 0x10000) {
        return c < 0xf0000 && (c & 0xffff) <= 0xfffd && !(c >= 0xe0000 && c < 0xe1000);
    }
    return (c >= 0xa0 && c <= 0xd7ff) || (c >= 0xf900 && c <= 0xfdcf) ||
           (c >= 0xfdf0 && c <= 0xffef);
}

/* Plain characters, escapes, those in `more`, and for IRIs non-ASCII characters. */
static bool consists_of(struct uri_part part, const char *more, bool iri, bool private_use) {
    for (size_t i = 0; i < part.length;) {
        const char *at = part.data + i;
        if (is_plain(*at) || is_in(*at, more)) {
            i++;
        } else if (is_escape(at, part.length - i)) {
            i += 3;
        } else if (iri && (unsigned char)*at >= 0x80) {
            size_t length = 0;
            if (!is_iri_character(read_character(at, part.length - i, &length), private_use)) {
                return false;
            }
            i += length;
        } else {
            return false;
        }
    }
    return true;
}

/* "v", a version in hex, a dot, and anything. */
static bool is_future_address(struct uri_part part) {
    size_t i = 1;
    while (i < part.length && ascii_hex_value(part.data[i]) >= 0) {
        i++;
    }
    bool version = i > 1 && i + 1 < part.length && part.data[i] == '.';
    if (!version || (part.data[0] != 'v' && part.data[0] != 'V')) {
        return false;
    }
    for (i++; i < part.length; i++) {
        if (!is_plain(part.data[i]) && part.data[i] != ':') {
            return false;
        }
    }
    return true;
}

static bool is_port(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_digit(text[i])) {
            return false;
        }
    }
    return true;
}

static bool is_host_and_port(struct uri_part part, bool iri) {
    if (part.length > 0 && part.data[0] == '[') {
        const char *close = memchr(part.data, ']', part.length);
        if (close == NULL) {
            return false;
        }
        struct uri_part inside = {part.data + 1, (size_t)(close - part.data) - 1};
        size_t left = part.length - inside.length - 2;
        bool port = left == 0 || (close[1] == ':' && is_port(close + 2, left - 1));
        return port && (format_is_ipv6(inside.data, inside.length) || is_future_address(inside));
    }
    const char *colon = memchr(part.data, ':', part.length);
    size_t host = colon == NULL ? part.length : (size_t)(colon - part.data);
    bool port = colon == NULL || is_port(colon + 1, part.length - host - 1);
    return port && consists_of((struct uri_part){part.data, host}, "", iri, false);
}

static bool is_authority(struct uri_part part, bool iri) {
    const char *at = part.length == 0 ? NULL : memchr(part.data, '@', part.length);
    if (at == NULL) {
        return is_host_and_port(part, iri);
    }
    size_t user = (size_t)(at - part.data);
    struct uri_part host = {at + 1, part.length - user - 1};
    return consists_of((struct uri_part){part.data, user}, ":", iri, false) &&
           is_host_and_port(host, iri);
}

/* Without a scheme, the text before a colon in the first segment would be read as a scheme. */
static bool has_colon_in_first_segment(struct uri_part path) {
    size_t i = 0;
    while (i < path.length && path.data[i] != '/' && path.data[i] != ':') {
        i++;
    }
    return i < path.length && path.data[i] == ':';
}

static bool is_reference(const char *text, size_t length, bool iri) {
    struct uri uri = uri_split(text, length);
    if (uri.authority.data != NULL && !is_authority(uri.authority, iri)) {
        return false;
    }
    if (uri.scheme.data == NULL && uri.authority.data == NULL &&
        has_colon_in_first_segment(uri.path)) {
        return false;
    }
    return consists_of(uri.path, ":@/", iri, false) && consists_of(uri.query, ":@/?", iri, true) &&
           consists_of(uri.fragment, ":@/?", iri, false);
}

static bool has_scheme(const char *text, size_t length) {
    return uri_split(text, length).scheme.data != NULL;
}

bool format_is_uri_reference(const char *text, size_t length) {
    return is_reference(text, length, false);
}

bool format_is_uri(const char *text, size_t length) {
    return has_scheme(text, length) && is_reference(text, length, false);
}

bool format_is_iri_reference(const char *text, size_t length) {
    return is_reference(text, length, true);
}

bool format_is_iri(const char *text, size_t length) {
    return has_scheme(text, length) && is_reference(text, length, true);
}

/* ----------------------------------------------------------------------------------- templates */

/* Words of letters, digits, _ and escapes between single dots; returns the length, or 0. */
static size_t variable_length(const char *text, size_t length) {
    size_t i = 0;
    bool word = false;
    while (i < length) {
        if (ascii_is_word(text[i])) {
            i++;
            word = true;
        } else if (is_escape(text + i, length - i)) {
            i += 3;
            word = true;
        } else if (text[i] == '.' && word) {
            i++;
            word = false;
        } else {
            break;
        }
    }
    return word ? i : 0;
}

/* `*`, or `:` and a number from 1 to 9999; returns the length, which may be 0. */
static size_t modifier_length(const char *text, size_t length) {
    if (length > 0 && text[0] == '*') {
        return 1;
    }
    if (length < 2 || text[0] != ':' || text[1] < '1' || text[1] > '9') {
        return 0;
    }
    size_t i = 2;
    while (i < length && i < 5 && ascii_is_digit(text[i])) {
        i++;
    }
    return i;
}

static bool is_expression(const char *text, size_t length) {
    size_t i = length > 0 && is_in(text[0], "+#./;?&=,!@|") ? 1 : 0;
    for (;; i++) {
        size_t name = variable_length(text + i, length - i);
        if (name == 0) {
            return false;
        }
        i += name;
        i += modifier_length(text + i, length - i);
        if (i == length) {
            return true;
        }
        if (text[i] != ',') {
            return false;
        }
    }
}

static bool is_literal(const char *text, size_t left, size_t *ret_length) {
    *ret_length = 1;
    if ((unsigned char)*text >= 0x80) {
        return is_iri_character(read_character(text, left, ret_length), true);
    }
    if (*text == '%') {
        *ret_length = 3;
        return is_escape(text, left);
    }
    return *text > 0x20 && *text != 0x7f && !is_in(*text, "\"<>\\^`{|}");
}

bool format_is_uri_template(const char *text, size_t length) {
    for (size_t i = 0; i < length;) {
        size_t taken = 1;
        if (text[i] == '{') {
            const char *close = memchr(text + i, '}', length - i);
            if (close == NULL) {
                return false;
            }
            taken = (size_t)(close - (text + i)) + 1;
            if (!is_expression(text + i + 1, taken - 2)) {
                return false;
            }
        } else if (!is_literal(text + i, length - i, &taken)) {
            return false;
        }
        i += taken;
    }
    return true;
}
