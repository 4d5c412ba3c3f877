#include "failing-malloc.h"

#include <stddef.h>

static unsigned left;
static bool armed;
static bool hit;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void failing_malloc_set(unsigned n) {
    left = n;
    armed = n > 0;
    hit = false;
}

bool failing_malloc_hit(void) {
    return hit;
}

static bool fails(void) {
    if (!armed || left-- > 1) {
        return false;
    }
    left = 1;
    hit = true;
    return true;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}
