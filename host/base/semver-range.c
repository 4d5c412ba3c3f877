/* Ranges: parsed into parts, and checked part by part.
 *
 * Numbers are not converted, as they may be longer than any type: ^1.2.3 is not rewritten as
 * >=1.2.3 <2.0.0; instead it is checked that the first number is the same. */
#include <string.h>

#include "base/semver.h"

/* ----------------------------------------------------------------- reading */

/* The rest of the text, and the parts read so far. */
struct cursor {
    const char *at;
    struct semver_range *range;
};

static void skip_spaces(struct cursor *cursor) {
    cursor->at += strspn(cursor->at, " ");
}

/* Where a part of a range ends. */
static bool at_end(const char *at) {
    return *at == '\0' || *at == ' ' || *at == '|';
}

/* 1, 1.2, 1.2.3, 1.x, 1.2.*, x.x.x: only wildcards may follow a wildcard. */
static bool read_numbers(struct cursor *cursor, struct semver_part *part) {
    bool wild = false;
    for (int i = 0; i < 3; i++) {
        if (i > 0 && *cursor->at != '.') {
            break;
        }
        cursor->at += i > 0;
        char c = *cursor->at;
        if (c == '*' || c == 'x' || c == 'X') {
            wild = true;
            cursor->at++;
            continue;
        }
        size_t length = strspn(cursor->at, "0123456789");
        if (wild || length == 0 || length > SEMVER_LENGTH_MAX || (length > 1 && c == '0')) {
            return false;
        }
        part->starts[part->numbers] = cursor->at;
        part->lengths[part->numbers++] = (unsigned char)length;
        cursor->at += length;
    }
    return true;
}

/* The part of a complete version after its numbers, checked by the rules of versions. */
static bool read_tail(struct cursor *cursor, struct semver_part *part) {
    size_t length = 0;
    char probe[SEMVER_LENGTH_MAX + 1] = "0.0.0";
    const size_t head = sizeof "0.0.0" - 1;
    while (!at_end(cursor->at + length)) {
        length++;
    }
    if (length == 0) {
        return true;
    }
    if (part->numbers < 3 || length > SEMVER_LENGTH_MAX - head) {
        return false;
    }
    memcpy(probe + head, cursor->at, length);
    probe[head + length] = '\0';
    if (!semver_valid(probe)) {
        return false;
    }
    if (*cursor->at == '-') {
        part->prerelease = cursor->at + 1;
        part->prerelease_length = strcspn(probe + head + 1, "+");
    }
    cursor->at += length;
    return true;
}

static struct semver_part *add_part(struct cursor *cursor, char operation) {
    struct semver_range *range = cursor->range;
    if (range->count == SEMVER_RANGE_PARTS_MAX) {
        return NULL;
    }
    struct semver_part *part = &range->parts[range->count++];
    *part = (struct semver_part){.operation = operation};
    return part;
}

static bool read_version(struct cursor *cursor, struct semver_part *part) {
    return read_numbers(cursor, part) && read_tail(cursor, part) && at_end(cursor->at);
}

/* ">=1.2", "1.2", or "1.2 - 1.8". */
static bool read_part(struct cursor *cursor) {
    char operation = '=';
    bool alone = *cursor->at == '\0' || strchr("=^~<>", *cursor->at) == NULL;
    if (!alone) {
        operation = *cursor->at++;
        if ((operation == '<' || operation == '>') && *cursor->at == '=') {
            cursor->at++;
            operation = operation == '<' ? 'l' : 'g';
        }
        skip_spaces(cursor);
    }
    struct semver_part *part = add_part(cursor, operation);
    if (part == NULL || !read_version(cursor, part)) {
        return false;
    }
    if (strncmp(cursor->at, " - ", 3) != 0) {
        return true;
    }
    cursor->at += 3;
    skip_spaces(cursor);
    struct semver_part *to = alone ? add_part(cursor, 'l') : NULL;
    part->operation = 'g';
    return to != NULL && read_version(cursor, to);
}

bool semver_range_parse(const char *text, struct semver_range *ret) {
    struct cursor cursor = {.at = text, .range = ret};
    ret->count = 0;
    if (strnlen(text, SEMVER_RANGE_LENGTH_MAX + 1) > SEMVER_RANGE_LENGTH_MAX) {
        return false;
    }
    for (;;) {
        skip_spaces(&cursor);
        do { /* an alternative has at least one part */
            if (!read_part(&cursor)) {
                return false;
            }
            skip_spaces(&cursor);
        } while (*cursor.at != '\0' && *cursor.at != '|');
        ret->parts[ret->count - 1].ends = true;
        if (*cursor.at == '\0') {
            return true;
        }
        if (cursor.at[1] != '|') {
            return false;
        }
        cursor.at += 2;
    }
}

/* ------------------------------------------------------------------ asking */

/* The three numbers of a version, and the rest. */
struct version {
    const char *starts[3];
    size_t lengths[3];
    bool is_prerelease;
};

static struct version version_of(const char *text) {
    struct version version = {.is_prerelease = semver_is_prerelease(text)};
    for (int i = 0; i < 3; i++) {
        version.starts[i] = text;
        version.lengths[i] = strspn(text, "0123456789");
        text += version.lengths[i] + 1;
    }
    return version;
}

/* The first `count` numbers of a version against those of a part. */
static int compare_numbers(const struct version *version, const struct semver_part *part,
                           unsigned count) {
    int order = 0;
    for (unsigned i = 0; order == 0 && i < count; i++) {
        size_t length = part->lengths[i]; /* without leading zeros the longer number is larger */
        order = version->lengths[i] != length ? (version->lengths[i] < length ? -1 : 1)
                                              : memcmp(version->starts[i], part->starts[i], length);
    }
    return order;
}

/* Compare a version with a part that has all three numbers. */
static int compare_whole(const char *text, const struct semver_part *part) {
    char whole[SEMVER_RANGE_LENGTH_MAX + 1];
    const char *end = part->prerelease != NULL ? part->prerelease + part->prerelease_length
                                               : part->starts[2] + part->lengths[2];
    size_t length = (size_t)(end - part->starts[0]);
    memcpy(whole, part->starts[0], length);
    whole[length] = '\0';
    return semver_compare(text, whole);
}

/* Compare a version with the first version of a part: missing numbers are 0. */
static int compare_first(const char *text, const struct version *version,
                         const struct semver_part *part) {
    if (part->numbers == 3) {
        return compare_whole(text, part);
    }
    int order = compare_numbers(version, part, part->numbers);
    if (order != 0 || !version->is_prerelease) {
        return order;
    }
    /* 1.2.0-rc comes before 1.2, and 1.2.1-rc after it. */
    for (unsigned i = part->numbers; i < 3; i++) {
        if (version->lengths[i] != 1 || version->starts[i][0] != '0') {
            return 1;
        }
    }
    return -1;
}

static bool begins(const char *text, const struct version *version, const struct semver_part *part,
                   unsigned kept) {
    return compare_numbers(version, part, kept) == 0 && compare_first(text, version, part) >= 0;
}

/* Compare a version with a part; missing numbers of the part stand for all. */
static int compare_part(const char *text, const struct version *version,
                        const struct semver_part *part) {
    return part->numbers == 3 ? compare_whole(text, part)
                              : compare_numbers(version, part, part->numbers);
}

static bool holds(const char *text, const struct version *version, const struct semver_part *part) {
    unsigned kept = 0;
    switch (part->operation) {
    case '^': /* the numbers up to the first that is not 0 stay the same */ do { kept++;
        } while (kept < part->numbers && part->lengths[kept - 1] == 1 &&
                 part->starts[kept - 1][0] == '0');
        return begins(text, version, part, kept < part->numbers ? kept : part->numbers);
    case '~': return begins(text, version, part, part->numbers < 2 ? part->numbers : 2);
    case '<': return compare_part(text, version, part) < 0;
    case 'l': return compare_part(text, version, part) <= 0;
    case '>': return compare_part(text, version, part) > 0;
    case 'g': return compare_first(text, version, part) >= 0;
    default:
        return part->numbers == 3 ? compare_whole(text, part) == 0
                                  : begins(text, version, part, part->numbers);
    }
}

bool semver_range_has(const struct semver_range *range, const char *version) {
    struct version numbers = version_of(version);
    bool all = true;
    bool named = !numbers.is_prerelease;
    for (size_t i = 0; i < range->count; i++) {
        const struct semver_part *part = &range->parts[i];
        all = all && holds(version, &numbers, part);
        /* A part names a pre-release of the same three numbers. */
        named = named || (part->prerelease != NULL && compare_numbers(&numbers, part, 3) == 0);
        if (part->ends && all && named) {
            return true;
        }
        if (part->ends) {
            all = true;
            named = !numbers.is_prerelease;
        }
    }
    return false;
}
