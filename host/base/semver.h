/* semver.h - Semantic Versioning 2.0.0 (https://semver.org/spec/v2.0.0.html): form and order; and
 * ranges of versions.
 *
 * Ranges are written as npm writes them:
 *
 *     1.2.3   =1.2.3          that version
 *     1.2   1.2.x   1   1.x   all that begin so
 *     *                       all
 *     ^1.2.3                  from there on, with the same first number that is not 0
 *     ~1.2.3   ~1.2   ~1      from there on, with the same two numbers, or the one that is given
 *     >1.2   >=1.2  <2  <=2   what a part leaves out is all that begins so: <=2 has 2.9.9 in it
 *     1.2 - 1.8               >=1.2 <=1.8
 *     >=1.2 <2                both hold
 *     ^1 || ^3                one of both holds
 *
 * A pre-release is in a range only where a part of the range names a pre-release of the same three
 * numbers and that part's neighbours hold as well: ^1.2 does not ask for 1.3.0-rc.1. Build metadata
 * never counts. */
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

/** Whether one of two valid versions promises to be compatible with the other: the first of their
 * numbers that is not 0 is the same. [any-thread] */
bool semver_same_line(const char *a, const char *b);

/** Longest text of a range, without its final zero, and most parts that it has. */
#define SEMVER_RANGE_LENGTH_MAX 255
#define SEMVER_RANGE_PARTS_MAX  32

/** One part of a range, such as >=1.2. Texts are borrowed from that of the range. */
struct semver_part {
    char operation;           /* '=', '^', '~', '<', '>', 'l' (<=), 'g' (>=) */
    bool ends;                /* an alternative, at || or at the end */
    unsigned char numbers;    /* how many are given: 0 to 3 */
    unsigned char lengths[3]; /* of each */
    const char *starts[3];
    const char *prerelease; /* behind its -; NULL: none */
    size_t prerelease_length;
};

/** A range, taken apart. A plain value. */
struct semver_range {
    size_t count;
    struct semver_part parts[SEMVER_RANGE_PARTS_MAX];
};

/** Take a range apart. Every version is one, too.
 * @param text  borrowed as long as the range is used
 * @return whether it is one, within the limits above. [any-thread] */
bool semver_range_parse(const char *text, struct semver_range *ret);

/** Whether a valid version is in a range. [any-thread] */
bool semver_range_has(const struct semver_range *range, const char *version);
