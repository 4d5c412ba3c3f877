/* semver.h - Semantic Versioning 2.0.0 (https://semver.org/spec/v2.0.0.html): form and order; and
 * ranges of versions.
 *
 * Ranges are written as npm writes them:
 *
 *     1.2.3   =1.2.3          that version
 *     1.2   1.2.x   1   1.x   all versions that begin so
 *     *                       all
 *     ^1.2.3                  this and later ones in which the first number that is not 0 is the
 *                             same
 *     ~1.2.3   ~1.2   ~1      this and later ones with the same first two numbers, or the one given
 *     >1.2   >=1.2  <2  <=2   missing numbers stand for all: <=2 contains 2.9.9
 *     1.2 - 1.8               >=1.2 <=1.8
 *     >=1.2 <2                both hold
 *     ^1 || ^3                at least one holds
 *
 * A pre-release is in a range only if a part of the range names a pre-release of the same three
 * numbers and the other parts of that alternative hold too: ^1.2 does not contain 1.3.0-rc.1. Build
 * metadata never counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Longest version text accepted, without its final zero. */
#define SEMVER_LENGTH_MAX 127

/** Whether `text` is a version such as 1.4.0, 2.0.0-rc.1 or 1.0.0+build.5. [any-thread] */
bool semver_valid(const char *text);

/** Precedence of two valid versions: negative, 0 or positive. Build metadata does not count.
 * Numbers of any length compare exactly. [any-thread] */
int semver_compare(const char *a, const char *b);

/** Whether a valid version is a pre-release. [any-thread] */
bool semver_is_prerelease(const char *version);

/** Whether two valid versions are compatible by their numbers: the first number that is not 0 is
 * the same. [any-thread] */
bool semver_same_line(const char *a, const char *b);

/** Longest range, without its final zero, and most parts of a range. */
#define SEMVER_RANGE_LENGTH_MAX 255
#define SEMVER_RANGE_PARTS_MAX  32

/** One part of a range, such as >=1.2. Strings are borrowed from the range's string. */
struct semver_part {
    char operation;           /* '=', '^', '~', '<', '>', 'l' (<=), 'g' (>=) */
    bool ends;                /* last part of an alternative: at || or at the end */
    unsigned char numbers;    /* count of given numbers: 0 to 3 */
    unsigned char lengths[3]; /* of each */
    const char *starts[3];
    const char *prerelease; /* after its "-"; NULL: none */
    size_t prerelease_length;
};

/** A parsed range. A plain value. */
struct semver_range {
    size_t count;
    struct semver_part parts[SEMVER_RANGE_PARTS_MAX];
};

/** Parse a range. Every version is a range too.
 * @param text  borrowed as long as the range is used
 * @return whether it is a range within the limits above. [any-thread] */
bool semver_range_parse(const char *text, struct semver_range *ret);

/** Whether a valid version is in a range. [any-thread] */
bool semver_range_has(const struct semver_range *range, const char *version);
