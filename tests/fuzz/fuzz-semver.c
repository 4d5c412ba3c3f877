/* Versions and ranges of any bytes: the first line is a range, each further one a version.
 *
 * The order is one: of each version it says the opposite of what it says of the other way round.
 * A version is a range that has it, and a range has no version that is none of its kind. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/semver.h"

#define LINES_MAX 8
#define LINE_ROOM 512

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

/* The lines, each ended; more and longer ones are left out. */
static size_t split(const unsigned char *data, size_t size, char lines[LINES_MAX][LINE_ROOM]) {
    size_t count = 0;
    size_t at = 0;
    while (count < LINES_MAX && at < size) {
        const unsigned char *end = memchr(data + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - data) - at : size - at;
        size_t kept = length < LINE_ROOM ? length : LINE_ROOM - 1;
        memcpy(lines[count], data + at, kept);
        lines[count++][kept] = '\0';
        at += length + 1;
    }
    return count;
}

static int sign(int order) {
    return (order > 0) - (order < 0);
}

static void check_version(const char *version, const struct semver_range *range) {
    struct semver_range itself;
    check(semver_range_parse(version, &itself) && semver_range_has(&itself, version));
    check(semver_same_line(version, version) && semver_compare(version, version) == 0);
    if (range != NULL) {
        (void)semver_range_has(range, version);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static char lines[LINES_MAX][LINE_ROOM];
    struct semver_range range;
    size_t count = split(data, size, lines);
    bool is_range = count > 0 && semver_range_parse(lines[0], &range);
    for (size_t i = 1; i < count; i++) {
        if (!semver_valid(lines[i])) {
            continue;
        }
        check_version(lines[i], is_range ? &range : NULL);
        for (size_t j = 1; j < i; j++) {
            if (semver_valid(lines[j])) {
                check(sign(semver_compare(lines[i], lines[j])) ==
                      -sign(semver_compare(lines[j], lines[i])));
            }
        }
    }
    return 0;
}
