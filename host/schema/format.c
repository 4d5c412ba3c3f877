/* The table of formats, and the formats that do not need the URI grammar. Each function reads bytes
 * in one pass, allocates nothing, and accepts exactly what its RFC does. */
#include "schema/format.h"

#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "schema/regex.h"

/* A string that is being read. */
struct reader {
    const char *at;
    const char *end;
};

static bool take_char(struct reader *r, char c) {
    bool found = r->at < r->end && *r->at == c;
    r->at += found;
    return found;
}

static bool take_either(struct reader *r, char a, char b) {
    return take_char(r, a) || take_char(r, b);
}

/* Exactly `count` digits. */
static bool take_digits(struct reader *r, int count, unsigned *ret) {
    unsigned value = 0;
    for (int i = 0; i < count; i++) {
        if (r->at == r->end || !ascii_is_digit(*r->at)) {
            return false;
        }
        value = value * 10 + (unsigned)(*r->at++ - '0');
    }
    *ret = value;
    return true;
}

static struct reader reader_of(const char *text, size_t length) {
    return (struct reader){text, text + length};
}

/* --------------------------------------------------------------------- date and time, RFC 3339 */

static unsigned days_in_month(unsigned year, unsigned month) {
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static bool take_date(struct reader *r) {
    unsigned year = 0;
    unsigned month = 0;
    unsigned day = 0;
    return take_digits(r, 4, &year) && take_char(r, '-') && take_digits(r, 2, &month) &&
           take_char(r, '-') && take_digits(r, 2, &day) && month >= 1 && month <= 12 && day >= 1 &&
           day <= days_in_month(year, month);
}

static bool take_fraction(struct reader *r) {
    if (!take_char(r, '.')) {
        return true;
    }
    const char *start = r->at;
    while (r->at < r->end && ascii_is_digit(*r->at)) {
        r->at++;
    }
    return r->at > start;
}

/* Minutes that local time is ahead of UTC. */
static bool take_offset(struct reader *r, int *ret) {
    unsigned hour = 0;
    unsigned minute = 0;
    *ret = 0;
    if (take_either(r, 'Z', 'z')) {
        return true;
    }
    int sign = r->at < r->end && *r->at == '-' ? -1 : 1;
    if (!take_either(r, '+', '-') || !take_digits(r, 2, &hour) || !take_char(r, ':') ||
        !take_digits(r, 2, &minute)) {
        return false;
    }
    *ret = sign * (int)(hour * 60 + minute);
    return hour <= 23 && minute <= 59;
}

static bool take_time(struct reader *r) {
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned second = 0;
    int offset = 0;
    if (!take_digits(r, 2, &hour) || !take_char(r, ':') || !take_digits(r, 2, &minute) ||
        !take_char(r, ':') || !take_digits(r, 2, &second) || !take_fraction(r) ||
        !take_offset(r, &offset) || hour > 23 || minute > 59) {
        return false;
    }
    /* A leap second is the last of a day in UTC. */
    int utc = ((int)(hour * 60 + minute) - offset + 2 * 24 * 60) % (24 * 60);
    return second <= 59 || (second == 60 && utc == 23 * 60 + 59);
}

static bool is_date(const char *text, size_t length) {
    struct reader r = reader_of(text, length);
    return take_date(&r) && r.at == r.end;
}

static bool is_time(const char *text, size_t length) {
    struct reader r = reader_of(text, length);
    return take_time(&r) && r.at == r.end;
}

static bool is_date_time(const char *text, size_t length) {
    struct reader r = reader_of(text, length);
    return take_date(&r) && take_either(&r, 'T', 't') && take_time(&r) && r.at == r.end;
}

/* Components of one part of a duration: each at most once, in order, without gaps between two
 * components. Returns their number, or -1. */
static int take_components(struct reader *r, const char *units) {
    int count = 0;
    int last = -1;
    while (r->at < r->end && ascii_is_digit(*r->at)) {
        while (r->at < r->end && ascii_is_digit(*r->at)) {
            r->at++;
        }
        const char *unit = r->at < r->end ? memchr(units, *r->at, strlen(units)) : NULL;
        int index = unit == NULL ? -1 : (int)(unit - units);
        if (index < 0 || index <= last || (last >= 0 && index != last + 1)) {
            return -1;
        }
        last = index;
        r->at++;
        count++;
    }
    return count;
}

static bool is_duration(const char *text, size_t length) {
    struct reader r = reader_of(text, length);
    if (!take_char(&r, 'P')) {
        return false;
    }
    struct reader weeks = r;
    if (take_components(&weeks, "W") == 1 && weeks.at == weeks.end) {
        return true;
    }
    int date = take_components(&r, "YMD");
    bool has_time = date >= 0 && take_char(&r, 'T');
    int time = has_time ? take_components(&r, "HMS") : 0;
    return date >= 0 && (has_time ? time > 0 : date > 0) && r.at == r.end;
}

/* --------------------------------------------------------------------------- network addresses */

bool format_is_ipv4(const char *text, size_t length) {
    struct reader r = reader_of(text, length);
    for (int part = 0; part < 4; part++) {
        const char *start = r.at;
        unsigned value = 0;
        while (r.at < r.end && ascii_is_digit(*r.at) && r.at - start < 3) {
            value = value * 10 + (unsigned)(*r.at++ - '0');
        }
        bool padded = r.at - start > 1 && *start == '0';
        if (r.at == start || padded || value > 255 || (part < 3 && !take_char(&r, '.'))) {
            return false;
        }
    }
    return r.at == r.end;
}

/* Groups between colons. One "::" may replace one or more groups of zeros; an IPv4 address at the
 * end replaces two groups. */
bool format_is_ipv6(const char *text, size_t length) {
    struct reader r = reader_of(text, length);
    int groups = 0;
    bool gap = false;
    bool after_colon = true; /* the start is treated like the position after a colon */
    if (length >= 2 && text[0] == ':' && text[1] == ':') {
        gap = true;
        r.at += 2;
    }
    while (r.at < r.end) {
        const char *start = r.at;
        while (r.at < r.end && ascii_hex_value(*r.at) >= 0) {
            r.at++;
        }
        if (r.at < r.end && *r.at == '.') {
            groups += 2;
            after_colon = false;
            if (!format_is_ipv4(start, (size_t)(r.end - start))) {
                return false;
            }
            break;
        }
        if (r.at == start || r.at - start > 4) {
            return false;
        }
        groups++;
        after_colon = take_char(&r, ':');
        if (after_colon && take_char(&r, ':')) {
            if (gap) {
                return false;
            }
            gap = true;
            after_colon = false;
        } else if (!after_colon && r.at < r.end) {
            return false;
        }
    }
    bool dangling = after_colon && groups > 0;
    return !dangling && (gap ? groups <= 7 : groups == 8);
}

/* Host names, RFC 1123. */
#define LABEL_LENGTH_MAX 63u
#define HOST_LENGTH_MAX  253u

bool format_is_hostname(const char *text, size_t length) {
    if (length == 0 || length > HOST_LENGTH_MAX) {
        return false;
    }
    for (size_t start = 0; start <= length;) {
        const char *dot = start == length ? NULL : memchr(text + start, '.', length - start);
        size_t end = dot == NULL ? length : (size_t)(dot - text);
        if (end == start || end - start > LABEL_LENGTH_MAX || text[start] == '-' ||
            text[end - 1] == '-') {
            return false;
        }
        for (; start < end; start++) {
            if (!ascii_is_alnum(text[start]) && text[start] != '-') {
                return false;
            }
        }
        start = end + 1;
    }
    return true;
}

/* --------------------------------------------------------------------------------------- email */

static bool is_atom_character(char c) {
    return ascii_is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

/* A quoted string up to its closing quote; returns its length, or 0. */
static size_t quoted_length(const char *text, size_t length) {
    for (size_t i = 1; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"') {
            return i + 1;
        }
        i += c == '\\' && i + 1 < length;
        if (c < 0x20 || c > 0x7e) {
            return 0;
        }
    }
    return 0;
}

/* Words of atom characters between single dots. */
static size_t dotted_length(const char *text, size_t length) {
    bool word = false;
    size_t i = 0;
    for (; i < length && text[i] != '@'; i++) {
        if (text[i] == '.' ? !word : !is_atom_character(text[i])) {
            return 0;
        }
        word = text[i] != '.';
    }
    return word ? i : 0;
}

static bool is_address_literal(const char *text, size_t length) {
    if (length < 2 || text[0] != '[' || text[length - 1] != ']') {
        return false;
    }
    text++;
    length -= 2;
    static const char prefix[] = "IPv6:";
    size_t skip = sizeof prefix - 1;
    if (length > skip && memcmp(text, prefix, skip) == 0) {
        return format_is_ipv6(text + skip, length - skip);
    }
    return format_is_ipv4(text, length);
}

static bool is_email(const char *text, size_t length) {
    bool quoted = length > 0 && text[0] == '"';
    size_t local = quoted ? quoted_length(text, length) : dotted_length(text, length);
    if (local == 0 || local > 64 || local >= length || text[local] != '@') {
        return false;
    }
    const char *domain = text + local + 1;
    size_t domain_length = length - local - 1;
    return is_address_literal(domain, domain_length) || format_is_hostname(domain, domain_length);
}

/* -------------------------------------------------------------------------------- JSON Pointers */

static bool is_json_pointer(const char *text, size_t length) {
    if (length > 0 && text[0] != '/') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        bool escape = text[i] == '~';
        if (escape && (i + 1 == length || (text[i + 1] != '0' && text[i + 1] != '1'))) {
            return false;
        }
    }
    return true;
}

static bool is_relative_json_pointer(const char *text, size_t length) {
    size_t digits = 0;
    while (digits < length && ascii_is_digit(text[digits])) {
        digits++;
    }
    if (digits == 0 || (digits > 1 && text[0] == '0')) {
        return false;
    }
    bool name = length - digits == 1 && text[digits] == '#';
    return name || is_json_pointer(text + digits, length - digits);
}

/* --------------------------------------------------------------------------------------- others */

static bool is_uuid(const char *text, size_t length) {
    if (length != 36) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : ascii_hex_value(text[i]) < 0) {
            return false;
        }
    }
    return true;
}

static bool is_regex(const char *text, size_t length) {
    const char *reason = NULL;
    return ecma_check(text, length, &reason) == ECMA_OK;
}

static const struct format formats[] = {
        {"date-time", is_date_time, "\"2026-01-31T12:00:00Z\""},
        {"date", is_date, "\"2026-01-31\""},
        {"time", is_time, "\"12:00:00Z\""},
        {"duration", is_duration, "\"P1DT12H\""},
        {"email", is_email, "\"name@example.com\""},
        {"hostname", format_is_hostname, "\"www.example.com\""},
        {"ipv4", format_is_ipv4, "\"192.0.2.1\""},
        {"ipv6", format_is_ipv6, "\"2001:db8::1\""},
        {"uri", format_is_uri, "\"https://example.com/a?b=c\""},
        {"uri-reference", format_is_uri_reference, "\"../a?b=c\""},
        {"iri", format_is_iri, "\"https://example.com/a?b=c\""},
        {"iri-reference", format_is_iri_reference, "\"../a?b=c\""},
        {"uri-template", format_is_uri_template, "\"/items/{id}\""},
        {"json-pointer", is_json_pointer, "\"/a/0\""},
        {"relative-json-pointer", is_relative_json_pointer, "\"1/a\""},
        {"uuid", is_uuid, "\"2eb8aa08-aa98-11ea-b4aa-73b441d16380\""},
        {"regex", is_regex, "\"^[a-z]+$\""},
};

const struct format *format_find(const char *name, size_t length) {
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        if (strlen(formats[i].name) == length && memcmp(formats[i].name, name, length) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}
