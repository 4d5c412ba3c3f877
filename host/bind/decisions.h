/* decisions.h - what a person has decided about arguments: "FUNCTION.ARGUMENT=CHOICE". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Longest choice. */
#define DECISION_CHOICE_MAX 63u

struct decision {
    char choice[DECISION_CHOICE_MAX + 1];
    uint64_t number; /* "out:32": the capacity; 0: none */
    bool is_pattern; /* what it is about is given by a pattern, which may fit more than was meant */
};

struct decisions {
    const char *const *texts; /* borrowed */
    size_t count;
    bool *used; /* of each, whether it was followed */
};

/** Check the form of all. @return 0; TOOLRACK_E_INVALID. [any-thread] */
int decisions_check(const struct decisions *decisions, struct toolrack_error *err);

/** The last decision before that of index *at about an argument, or about "result" or "error"; its
 * index is the new *at. False: there is none. [any-thread] */
bool decisions_before(const struct decisions *decisions, size_t *at, const char *function,
                      const char *argument, struct decision *ret);

/** Whether something was decided to be that choice, such as a function that explains codes. */
bool decisions_choose(const struct decisions *decisions, const char *choice);
