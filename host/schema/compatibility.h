/* compatibility.h - what a newer version of a tool requires of callers that an older one did not.
 *
 * Two schemas are compared place by place: members and their types, choices and bounds, through
 * objects, arrays and references inside the document. Combinators (anyOf, if ...) are not followed:
 * each reported difference is real, but not every difference is found. Pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Most differences stored; deepest nesting and most steps of one comparison, beyond which nothing
 * is compared. */
#define COMPATIBILITY_DIFFERENCES_MAX 16u
#define COMPATIBILITY_DEPTH_MAX       16u
#define COMPATIBILITY_STEPS_MAX       200000u

/* Longest strings of a difference, with their final zero; longer ones are cut. */
#define COMPATIBILITY_FIELD_MAX 128u
#define COMPATIBILITY_TEXT_MAX  256u

/** One difference. A plain value. */
struct compatibility_difference {
    const char *rule;                    /**< static string, such as "required-added" */
    char field[COMPATIBILITY_FIELD_MAX]; /**< its place: /name/name, with * for the items of an
                                          * array */
    char text[COMPATIBILITY_TEXT_MAX];   /**< one line: the old and the new state */
};

struct compatibility {
    size_t count; /**< differences stored */
    size_t found; /**< differences found */
    struct compatibility_difference items[COMPATIBILITY_DIFFERENCES_MAX];
};
#define COMPATIBILITY_INIT ((struct compatibility){.count = 0})

/** Compare the schemas of the arguments of two versions, and add what callers of the older one may
 * pass that the newer one refuses: a newly required parameter, a removed one, a narrower type,
 * fewer choices, a tighter bound, additional parameters no longer accepted.
 *
 * @param older, newer  JSON; unreadable JSON has no differences. [any-thread] */
void compatibility_of_arguments(const char *older, const char *newer, struct compatibility *add);

/** Compare the schemas of the results of two versions, and add what callers can no longer rely on:
 * a member that was removed or may now be missing, a type that a member did not have before. NULL:
 * the version has no result schema. [any-thread] */
void compatibility_of_results(const char *older, const char *newer, struct compatibility *add);
