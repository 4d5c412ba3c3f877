/* rareness.h - what a term says that some of many tools have. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** A weight of fixed point: so many are 1. */
#define RARENESS_ONE 256u

/** log2(1 + (count - having + 0.5) / (having + 0.5)), rounded down to a multiple of 1/RARENESS_ONE:
 * about 0 for a term that all tools have. In integers, so that it is the same everywhere. */
uint32_t rareness(size_t having, size_t count);
