/* Ranges: read into parts, and asked part by part.
 *
 * Nothing is computed from a number, for it may be longer than any type: ^1.2.3 is not made into
 * >=1.2.3 <2.0.0, but asks whether the first number is the same. */
#include <string.h>

#include "base/semver.h"

/* ----------------------------------------------------------------- reading */

/* What is left of the text, and what was read of it. */
struct cursor {
    const char *at;
    struct semver_range *range;
};

static bool is_wildcard(char c) {
    return c == '*' || c == 'x' || c == 'X';
}

static void skip_spaces(struct cursor *cursor) {
    cursor->at += strspn(cursor->at, " ");
}

/* Where a part of a range ends. */
static bool at_end(const char *at) {
    return *at == '\0' || *at == ' ' || *at == '|';
}

static bool read_number(struct cursor *cursor, struct semver_part *part) {
    size_t length = strspn(cursor->at, "0123456789");
    if (length == 0 || length > SEMVER_LENGTH_MAX || (length > 1 && *cursor->at == '0')) {
        return false;
    }
    part->starts[part->numbers] = cursor->at;
    part->lengths[part->numbers++] = (unsigned char)length;
    cursor->at += length;
    return true;
}

/* 1, 1.2, 1.2.3, 1.x, 1.2.*, x.x.x: behind a wildcard there are only wildcards. */
static bool read_numbers(struct cursor *cursor, struct semver_part *part) {
    bool wild = false;
    for (int i = 0; i < 3; i++) {
        if (i > 0 && *cursor->at != '.') {
            break;
        }
        cursor->at += i > 0;
        if (is_wildcard(*cursor->at)) {
            wild = true;
            cursor->at++;
        } else if (wild || !read_number(cursor, part)) {
            return false;
        }
    }
    return true;
}

/* The tail of a whole version, by the rules of versions themselves. */
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

static char read_operation(struct cursor *cursor) {
    char first = *cursor->at;
    if (first == '\0' || strchr("=^~<>", first) == NULL) {
        return '=';
    }
    cursor->at++;
    if ((first == '<' || first == '>') && *cursor->at == '=') {
        cursor->at++;
        first = first == '<' ? 'l' : 'g';
    }
    skip_spaces(cursor);
    return first;
}

static bool read_version(struct cursor *cursor, struct semver_part *part) {
    return read_numbers(cursor, part) && read_tail(cursor, part) && at_end(cursor->at);
}

/* " - 1.8", behind a version that stood alone: then that one is where it begins. */
static bool read_hyphen(struct cursor *cursor, struct semver_part *from, bool alone) {
    if (strncmp(cursor->at, " - ", 3) != 0) {
        return true;
    }
    cursor->at += 3;
    skip_spaces(cursor);
    struct semver_part *to = alone ? add_part(cursor, 'l') : NULL;
    if (to == NULL) {
        return false;
    }
    from->operation = 'g';
    return read_version(cursor, to);
}

static bool read_part(struct cursor *cursor) {
    const char *start = cursor->at;
    char operation = read_operation(cursor);
    bool alone = start == cursor->at;
    struct semver_part *part = add_part(cursor, operation);
    return part != NULL && read_version(cursor, part) && read_hyphen(cursor, part, alone);
}

/* What stands between two ||: at least one part. */
static bool read_alternative(struct cursor *cursor) {
    skip_spaces(cursor);
    do {
        if (!read_part(cursor)) {
            return false;
        }
        skip_spaces(cursor);
    } while (*cursor->at != '\0' && *cursor->at != '|');
    cursor->range->parts[cursor->range->count - 1].ends = true;
    return true;
}

bool semver_range_parse(const char *text, struct semver_range *ret) {
    struct cursor cursor = {.at = text, .range = ret};
    ret->count = 0;
    if (strnlen(text, SEMVER_RANGE_LENGTH_MAX + 1) > SEMVER_RANGE_LENGTH_MAX) {
        return false;
    }
    for (;;) {
        if (!read_alternative(&cursor)) {
            return false;
        }
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

/* The three numbers of a version, and what is behind them. */
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

static bool is_zero(const struct semver_part *part, unsigned number) {
    return part->lengths[number] == 1 && part->starts[number][0] == '0';
}

/* Without leading zeros the longer number is the larger one. */
static int compare_number(const struct version *version, const struct semver_part *part,
                          unsigned number) {
    size_t length = part->lengths[number];
    if (version->lengths[number] != length) {
        return version->lengths[number] < length ? -1 : 1;
    }
    return memcmp(version->starts[number], part->starts[number], length);
}

/* The first `count` numbers of a version against those of a part. */
static int compare_numbers(const struct version *version, const struct semver_part *part,
                           unsigned count) {
    int order = 0;
    for (unsigned i = 0; order == 0 && i < count; i++) {
        order = compare_number(version, part, i);
    }
    return order;
}

/* A version against one that is given whole. */
static int compare_whole(const char *text, const struct semver_part *part) {
    char whole[SEMVER_RANGE_LENGTH_MAX + 1];
    const char *end = part->prerelease != NULL ? part->prerelease + part->prerelease_length
                                               : part->starts[2] + part->lengths[2];
    size_t length = (size_t)(end - part->starts[0]);
    memcpy(whole, part->starts[0], length);
    whole[length] = '\0';
    return semver_compare(text, whole);
}

/* A version against the first one that a part stands for: what is left out is 0. */
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

/* How many numbers ^ wants to be the same: up to the first that is not 0. */
static unsigned kept_by_caret(const struct semver_part *part) {
    for (unsigned i = 0; i < part->numbers; i++) {
        if (!is_zero(part, i)) {
            return i + 1;
        }
    }
    return part->numbers;
}

static unsigned kept_by_tilde(const struct semver_part *part) {
    return part->numbers < 2 ? part->numbers : 2;
}

static bool begins(const char *text, const struct version *version, const struct semver_part *part,
                   unsigned kept) {
    return compare_numbers(version, part, kept) == 0 && compare_first(text, version, part) >= 0;
}

/* Against all that begins like a part that leaves something out. */
static int compare_part(const char *text, const struct version *version,
                        const struct semver_part *part) {
    return part->numbers == 3 ? compare_whole(text, part)
                              : compare_numbers(version, part, part->numbers);
}

static bool holds(const char *text, const struct version *version, const struct semver_part *part) {
    switch (part->operation) {
    case '^': return begins(text, version, part, kept_by_caret(part));
    case '~': return begins(text, version, part, kept_by_tilde(part));
    case '<': return compare_part(text, version, part) < 0;
    case 'l': return compare_part(text, version, part) <= 0;
    case '>': return compare_part(text, version, part) > 0;
    case 'g': return compare_first(text, version, part) >= 0;
    default:
        return part->numbers == 3 ? compare_whole(text, part) == 0
                                  : begins(text, version, part, part->numbers);
    }
}

/* Whether a part names a pre-release of the same three numbers. */
static bool names_prerelease(const struct version *version, const struct semver_part *part) {
    return part->prerelease != NULL && compare_numbers(version, part, 3) == 0;
}

bool semver_range_has(const struct semver_range *range, const char *version) {
    struct version numbers = version_of(version);
    bool all = true;
    bool named = !numbers.is_prerelease;
    for (size_t i = 0; i < range->count; i++) {
        const struct semver_part *part = &range->parts[i];
        all = all && holds(version, &numbers, part);
        named = named || names_prerelease(&numbers, part);
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
