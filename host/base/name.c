#include "base/name.h"

#include <string.h>

#include "base/ascii.h"

bool name_valid(const char *name) {
    if (!ascii_is_word_start(name[0])) {
        return false;
    }
    for (size_t i = 1; name[i] != '\0'; i++) {
        if ((!ascii_is_word(name[i]) && name[i] != '-') || i == NAME_LENGTH_MAX) {
            return false;
        }
    }
    return true;
}

bool name_valid_id(const char *id) {
    if (!ascii_is_word_start(id[0])) {
        return false;
    }
    for (size_t i = 1; id[i] != '\0'; i++) {
        if ((!ascii_is_word(id[i]) && id[i] != '-' && id[i] != '.') || i == NAME_LENGTH_MAX) {
            return false;
        }
    }
    return true;
}

static unsigned min_of(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static bool same_letter(char a, char b) {
    return ascii_lower(a) == ascii_lower(b);
}

/* Number of edits from `a` to `b`; `max` + 1 if more than `max`. Optimal string alignment over
 * three rows: the last two and the one being filled. Only the places at most `max` from the
 * diagonal are filled, as those beyond take more edits, and no more rows than can lead to so few:
 * most names end in the third or fourth row, which makes the search for a similar name five times
 * as fast. */
static unsigned distance(const char *a, const char *b, unsigned max) {
    size_t a_length = strnlen(a, NAME_LENGTH_MAX);
    size_t b_length = strnlen(b, NAME_LENGTH_MAX);
    unsigned rows[3][NAME_LENGTH_MAX + 2];
    if (a_length > b_length + max || b_length > a_length + max) {
        return max + 1;
    }
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *above2 = rows[(i + 1) % 3];
        size_t first = i > max ? i - max : 1;
        size_t last = i + max < b_length ? i + max : b_length;
        unsigned least = row[first - 1] = first == 1 ? (unsigned)i : max + 1;
        for (size_t j = first; j <= last; j++) {
            unsigned change = above[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            row[j] = min_of(change, min_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1])) {
                row[j] = min_of(row[j], above2[j - 2] + 1);
            }
            least = min_of(least, row[j]);
        }
        row[last + 1] = max + 1;
        if (least > max) {
            return max + 1;
        }
    }
    return min_of(rows[a_length % 3][b_length], max + 1);
}

struct nearest nearest_to(const char *typed) {
    size_t length = strlen(typed);
    return (struct nearest){.typed = typed, .edits_end = length < 4 ? 2 : length < 8 ? 3 : 4};
}

bool nearest_try(struct nearest *nearest, const char *candidate) {
    if (nearest->edits_end == 0) {
        return false;
    }
    size_t length = strlen(nearest->typed);
    size_t same = 0;
    while (same < length && same_letter(nearest->typed[same], candidate[same])) {
        same++;
    }
    bool first_word = same == length && (candidate[same] == '_' || candidate[same] == '-');
    unsigned edits = first_word ? 1 : distance(nearest->typed, candidate, nearest->edits_end - 1);
    /* With as many edits as characters, any name becomes any other. */
    if (edits >= nearest->edits_end || edits >= length || edits >= strlen(candidate)) {
        return false;
    }
    nearest->name = candidate;
    nearest->edits_end = edits;
    return true;
}

#define LETTER_CLASSES 16u
#define LETTER_BITS    4u

uint64_t name_letters(const char *name) {
    uint64_t letters = 0;
    for (size_t i = 0; i < NAME_LENGTH_MAX && name[i] != '\0'; i++) {
        unsigned first = (unsigned char)ascii_lower(name[i]) % LETTER_CLASSES * LETTER_BITS;
        uint64_t class = UINT64_C(0xf) << first;
        letters |= (letters << 1 | UINT64_C(1) << first) & class;
    }
    return letters;
}

/* Whether a name may begin at a place of what was written. */
static bool may_begin(const char *written, const char *at) {
    return at == written || strchr("./:", at[-1]) != NULL ||
           (at[-1] == '_' &&
            (strncmp(written, "mcp_", 4) == 0 || (at > written + 1 && at[-2] == '_')));
}

/* Or end; behind "@" is a version. */
static bool may_end(const char *rest) {
    return strcmp(rest, "_tool") == 0 ||
           (!ascii_is_word(rest[0]) && rest[0] != '-' && rest[0] != '@');
}

static bool stands_within(const char *written, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(written, name); at != NULL; at = strstr(at + 1, name)) {
        bool is_whole = at == written && at[length] == '\0';
        if (!is_whole && may_begin(written, at) && may_end(at + length)) {
            return true;
        }
    }
    return false;
}

bool nearest_part(const char *written, size_t *at, size_t *length) {
    while (written[*at] != '\0') {
        const char *from = written + *at;
        bool begins = may_begin(written, from);
        while (begins && *length < NAME_LENGTH_MAX && from[*length] != '\0') {
            ++*length;
            bool is_whole = *at == 0 && from[*length] == '\0';
            if (!is_whole && may_end(from + *length)) {
                return true;
            }
        }
        ++*at;
        *length = 0;
    }
    return false;
}

bool nearest_try_tool(struct nearest *nearest, const char *candidate) {
    size_t length = strlen(candidate);
    if (length > nearest->within && stands_within(nearest->typed, candidate)) {
        nearest->name = candidate;
        nearest->edits_end = 0;
        nearest->within = length;
        return true;
    }
    return nearest_try(nearest, candidate);
}
