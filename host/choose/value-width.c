/* Letters and digits of full width, as ASCII: １２３ is 123, and ２０２６－１２－０１ a date.
 *
 * All finders read that text. What a person wrote is kept beside it, since a title in quotes or the
 * name of a file is taken as it stands. */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "choose/values-parts.h"

/* A character of full width has three bytes. */
#define WIDE_SIZE 3u

/* The ASCII character of a wide one at a place; 0: there is none. */
static char ascii_of(const char *text, size_t length, size_t at) {
    uint32_t point;
    bool wide = at < length && (unsigned char)text[at] == 0xef &&
                utf8_decode(text + at, length - at, &point) == WIDE_SIZE;
    return wide && point >= 0xff01 && point <= 0xff5e ? (char)(point - 0xff01 + '!') : 0;
}

/* Whether a wide sign belongs to the letters and digits beside it: inside of １２：３０ and before
 * －５, but not in １，２. */
static bool is_joined(char sign, char before, char after) {
    if (sign == '%') {
        return ascii_is_alnum(before);
    }
    bool inner = strchr(".:/-_@", sign) != NULL;
    bool first = strchr("-+#@", sign) != NULL;
    return ascii_is_alnum(after) && (first || (inner && ascii_is_alnum(before)));
}

static char narrow(const char *text, size_t length, size_t at) {
    char own = ascii_of(text, length, at);
    if (own == 0 || ascii_is_alnum(own)) {
        return own;
    }
    char before = at >= WIDE_SIZE ? ascii_of(text, length, at - WIDE_SIZE) : 0;
    return is_joined(own, before, ascii_of(text, length, at + WIDE_SIZE)) ? own : 0;
}

bool value_read_width(struct values *values, size_t length) {
    const char *said = values->said;
    size_t at = 0;
    values->text = said;
    values->length = length;
    while (at < length && narrow(said, length, at) == 0) {
        at++;
    }
    if (at == length) {
        return true;
    }
    values->plain = malloc(length);
    values->origins = malloc((length + 1) * sizeof *values->origins);
    if (values->plain == NULL || values->origins == NULL) {
        return false;
    }
    size_t count = 0;
    for (at = 0; at < length; count++) {
        char ascii = narrow(said, length, at);
        values->plain[count] = ascii != 0 ? ascii : said[at];
        values->origins[count] = (uint32_t)at;
        at += ascii != 0 ? WIDE_SIZE : 1;
    }
    values->origins[count] = (uint32_t)length;
    values->text = values->plain;
    values->length = count;
    return true;
}

size_t value_origin(const struct values *values, size_t at) {
    return values->origins != NULL ? values->origins[at] : at;
}
