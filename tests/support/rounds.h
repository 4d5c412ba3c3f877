/* rounds.h - how often a test tries. */
#pragma once

#include <stdlib.h>
#include <string.h>

/** `many` in the one stage of ./dev test that looks for rare faults, `few` elsewhere. */
static inline unsigned test_rounds(unsigned many, unsigned few) {
    const char *rounds = getenv("TEST_ROUNDS");
    return rounds != NULL && strcmp(rounds, "many") == 0 ? many : few;
}
