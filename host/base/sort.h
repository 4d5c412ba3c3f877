/* sort.h - sorting what is often sorted already: a list that was read from where it is sorted. */
#pragma once

#include <stddef.h>

/** As qsort(), but one look at each item is enough when they are in order. [any-thread] */
void sort(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b));
