/* problem.h - what is wrong with a configuration, and where.
 *
 * Whoever reads a part of it says what is wrong by a JSON Pointer, and goes on where it can;
 * whoever asked for the list makes log lines, refusals or findings of it, with line and column. */
#pragma once

#include "base/arena.h"
#include "base/json-place.h"
#include "toolrack/toolrack.h"

/* Most problems kept of one configuration; what comes after is counted only. */
#define PROBLEMS_MAX 1000u

/* One thing that is wrong. Texts live as long as the arena of the list. */
struct problem {
    enum toolrack_severity severity;
    const char *rule;    /* its id, static text */
    const char *pointer; /* the place; NULL: it is no JSON, `position` says where */
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
    size_t errors; /* of severity error, with those left out */
    size_t left_out;
    bool failed; /* no memory for one of them */
};

/** Add one; `what` says all but the cause, and its texts are copied, but for the rule's. Bytes that
 * are not printable are replaced. A fix that is NULL is one for which there was no memory.
 * [any-thread] */
void problems_add(struct problems *list, const struct problem *what, const char *cause, ...)
        TOOLRACK_PRINTF(3, 4);

/** Say how many were left out, where any were: as the last of the list, and as an error when one of
 * them was. To be called once, when all is read. [any-thread] */
void problems_end(struct problems *list);

/** The place of a problem in the text it is about. What is not there is the place of what would
 * hold it. [any-thread] */
void problem_line(const struct problem *problem, const char *text, size_t length, size_t *ret_line,
                  size_t *ret_column);
