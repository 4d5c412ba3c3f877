#include "base/sort.h"

#include <stdlib.h>

void sort(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b)) {
    const char *first = items;
    size_t at = 1;
    while (at < count && compare(first + (at - 1) * size, first + at * size) <= 0) {
        at++;
    }
    if (at < count) {
        qsort(items, count, size, compare);
    }
}
