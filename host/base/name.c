#include "base/name.h"

#include <ctype.h>
#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool name_valid(const char *name) {
    if (!is_letter(name[0])) {
        return false;
    }
    for (size_t i = 1; name[i] != '\0'; i++) {
        bool allowed = is_letter(name[i]) || (name[i] >= '0' && name[i] <= '9') || name[i] == '-';
        if (!allowed || i == NAME_LENGTH_MAX) {
            return false;
        }
    }
    return true;
}

static unsigned min_of(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment over three rows: the last two and the one being filled. */
unsigned name_distance(const char *a, const char *b, unsigned max) {
    size_t a_length = strnlen(a, NAME_LENGTH_MAX);
    size_t b_length = strnlen(b, NAME_LENGTH_MAX);
    unsigned rows[3][NAME_LENGTH_MAX + 1];
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned change = above[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            row[j] = min_of(change, min_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1])) {
                row[j] = min_of(row[j], above2[j - 2] + 1);
            }
        }
    }
    return min_of(rows[a_length % 3][b_length], max + 1);
}
