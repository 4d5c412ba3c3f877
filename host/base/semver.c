#include "base/semver.h"

#include <stddef.h>
#include <string.h>

#include "base/ascii.h"

static bool all_digits(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_digit(text[i])) {
            return false;
        }
    }
    return true;
}

/* Step over one number without leading zeros. */
static bool skip_number(const char **at) {
    const char *start = *at;
    while (ascii_is_digit(**at)) {
        (*at)++;
    }
    return *at > start && (*at - start == 1 || *start != '0');
}

/* Step over dot-separated words; numbers among them may be refused leading zeros. */
static bool skip_words(const char **at, bool strict_numbers) {
    for (;;) {
        const char *start = *at;
        while (ascii_is_alnum(**at) || **at == '-') {
            (*at)++;
        }
        size_t length = (size_t)(*at - start);
        if (length == 0) {
            return false;
        }
        if (strict_numbers && length > 1 && *start == '0' && all_digits(start, length)) {
            return false;
        }
        if (**at != '.') {
            return true;
        }
        (*at)++;
    }
}

bool semver_valid(const char *text) {
    if (strnlen(text, SEMVER_LENGTH_MAX + 1) > SEMVER_LENGTH_MAX) {
        return false;
    }
    const char *at = text;
    for (int part = 0; part < 3; part++) {
        if (part > 0 && *at++ != '.') {
            return false;
        }
        if (!skip_number(&at)) {
            return false;
        }
    }
    if (*at == '-' && (at++, !skip_words(&at, true))) {
        return false;
    }
    if (*at == '+' && (at++, !skip_words(&at, false))) {
        return false;
    }
    return *at == '\0';
}

/* Without leading zeros the longer number is the larger one, so no value has to fit a type. */
static int compare_numbers(const char *a, size_t a_length, const char *b, size_t b_length) {
    if (a_length != b_length) {
        return a_length < b_length ? -1 : 1;
    }
    return memcmp(a, b, a_length);
}

static int compare_words(const char *a, size_t a_length, const char *b, size_t b_length) {
    bool a_number = all_digits(a, a_length);
    bool b_number = all_digits(b, b_length);
    if (a_number && b_number) {
        return compare_numbers(a, a_length, b, b_length);
    }
    if (a_number != b_number) {
        return a_number ? -1 : 1; /* numbers come before words */
    }
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

int semver_compare(const char *a, const char *b) {
    for (int part = 0; part < 3; part++) {
        size_t a_length = strspn(a, "0123456789");
        size_t b_length = strspn(b, "0123456789");
        int order = compare_numbers(a, a_length, b, b_length);
        if (order != 0) {
            return order;
        }
        a += a_length + (part < 2);
        b += b_length + (part < 2);
    }
    if (*a != '-' || *b != '-') {
        return (*b == '-') - (*a == '-'); /* a release comes after its pre-releases */
    }
    for (;;) {
        a++;
        b++;
        size_t a_length = strcspn(a, ".+");
        size_t b_length = strcspn(b, ".+");
        int order = compare_words(a, a_length, b, b_length);
        if (order != 0) {
            return order;
        }
        a += a_length;
        b += b_length;
        if (*a != '.' || *b != '.') {
            return (*a == '.') - (*b == '.'); /* more words come later */
        }
    }
}

bool semver_is_prerelease(const char *version) {
    return version[strcspn(version, "-+")] == '-';
}

bool semver_same_line(const char *a, const char *b) {
    for (int part = 0; part < 3; part++) {
        size_t a_length = strspn(a, "0123456789");
        size_t b_length = strspn(b, "0123456789");
        if (compare_numbers(a, a_length, b, b_length) != 0) {
            return false;
        }
        if (a_length != 1 || *a != '0') {
            return true;
        }
        a += a_length + (part < 2);
        b += b_length + (part < 2);
    }
    return true;
}
