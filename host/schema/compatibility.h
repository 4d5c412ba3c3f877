/* compatibility.h - what a newer version of a tool asks of its callers that an older one did not.
 *
 * Two schemas are compared place by place: members and their types, choices and bounds, through
 * objects, arrays and references inside the document. Combinators (anyOf, if ...) are not followed:
 * each difference that is found is real, but not every difference is found. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Most differences that are told; most nesting and most steps of one comparison, behind which what
 * is left is not looked at. */
#define COMPATIBILITY_DIFFERENCES_MAX 16u
#define COMPATIBILITY_DEPTH_MAX       16u
#define COMPATIBILITY_STEPS_MAX       200000u

/* Longest texts of a difference, with their final zero; more is cut. */
#define COMPATIBILITY_FIELD_MAX 128u
#define COMPATIBILITY_TEXT_MAX  256u

/** One of them. A plain value. */
struct compatibility_difference {
    const char *rule;                    /**< static text, such as "required-added" */
    char field[COMPATIBILITY_FIELD_MAX]; /**< where: /name/name, with * for the items of an array */
    char text[COMPATIBILITY_TEXT_MAX];   /**< one line: what was, and what is */
};

struct compatibility {
    size_t count; /**< of those kept */
    size_t found; /**< of all */
    struct compatibility_difference items[COMPATIBILITY_DIFFERENCES_MAX];
};
#define COMPATIBILITY_INIT ((struct compatibility){.count = 0})

/** Compare the schemas of the arguments of two versions, and add what a caller of the older one may
 * do that the newer one refuses: a parameter that is required now, one that is gone, a narrower
 * type, fewer choices, a closer bound, other parameters no longer taken.
 *
 * @param older, newer  texts of JSON; what cannot be read has no differences. [any-thread] */
void compatibility_of_arguments(const char *older, const char *newer, struct compatibility *add);

/** Compare the schemas of their results, and add what a caller could rely on that is no more: a
 * member that is gone or may be missing, a type that it did not have. NULL is a version that says
 * nothing about its result. [any-thread] */
void compatibility_of_results(const char *older, const char *newer, struct compatibility *add);
