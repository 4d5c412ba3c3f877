/* turns.h - a text that is a conversation: lines that begin with who speaks.
 *
 *     user: Book a table for two.
 *     assistant: For which day?
 *     user: Friday.
 *
 * What is wanted stands in the last wish and, as here, in what was answered with a question. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most turns; what follows belongs to the last. */
#define TURNS_MAX 32u

/** A weight of fixed point: so many are 1. */
#define TURNS_ONE 256u

struct turn {
    size_t start; /**< in the text, behind the name of who speaks */
    size_t end;
    bool asked;      /**< by a person, not by a program */
    uint32_t weight; /**< what its words count: nothing to TURNS_ONE */
};

struct turns {
    struct turn items[TURNS_MAX];
    size_t count; /**< 0: the text is no conversation */
};

/** Read the turns of a text of any bytes. [any-thread] */
void turns_read(const char *text, size_t length, struct turns *ret);

/** What a word counts that stands at a place in the text. */
uint32_t turns_weight(const struct turns *turns, size_t at);
