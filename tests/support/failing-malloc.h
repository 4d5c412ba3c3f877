/* failing-malloc.h - lets the n-th allocation of the test program fail. */
#pragma once

#include <stdbool.h>

/** Let the n-th allocation from now on (1 is the next) and all after it fail; 0: none. */
void failing_malloc_set(unsigned n);
/** Let the n-th allocation from now on fail, and none after it: what goes on without it shows. */
void failing_malloc_set_one(unsigned n);
/** Whether one failed since then. */
bool failing_malloc_hit(void);
/** Allocations since then, on all threads. */
unsigned failing_malloc_count(void);
