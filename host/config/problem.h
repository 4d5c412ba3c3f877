/* problem.h - a list of the problems of a configuration, with their places.
 *
 * The code that reads a part of it adds each problem with a JSON Pointer, and goes on if it can.
 * The caller turns the list into log lines, refusals or findings, with line and column. */
#pragma once

#include "base/arena.h"
#include "base/json-place.h"
#include "toolrack/toolrack.h"

/* Most problems kept of one configuration; later ones are only counted. */
#define PROBLEMS_MAX 1000u

/* One problem. Strings live as long as the arena of the list. */
struct problem {
    enum toolrack_severity severity;
    const char *rule;    /* its id, a static string */
    const char *pointer; /* the place; NULL: the file is not JSON, and `position` is the place */
    enum json_place_at at;
    size_t position;
    const char *tool; /* the name of the definition concerned, or NULL */
    const char *cause;
    const char *fix;
};

struct problems {
    struct arena *arena; /* borrowed */
    struct problem *items;
    size_t count;
    size_t room;
    size_t errors; /* number of severity error, including those not kept */
    size_t left_out;
    bool failed; /* out of memory for one of them */
};

/** Add a problem; `what` has all but the cause. Its strings are copied, except the rule. Bytes that
 * are not printable are replaced. A fix of NULL means that memory ran out for it. [any-thread] */
void problems_add(struct problems *list, const struct problem *what, const char *cause, ...)
        TOOLRACK_PRINTF(3, 4);

/** If problems were not kept, add a last problem with their number; it is an error if one of them
 * was. To be called once, when all is read. [any-thread] */
void problems_end(struct problems *list);

/** The line and column of a problem in its text. For a missing value it is the place of the object
 * that should contain it. [any-thread] */
void problem_line(const struct problem *problem, const char *text, size_t length, size_t *ret_line,
                  size_t *ret_column);
