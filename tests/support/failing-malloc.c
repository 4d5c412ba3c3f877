#include "failing-malloc.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_uint made;
static atomic_uint first_to_fail; /* 0: none */
static atomic_bool is_only;       /* those after it do not */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static void set(unsigned n, bool only) {
    atomic_store(&first_to_fail, 0);
    atomic_store(&made, 0);
    atomic_store(&is_only, only);
    atomic_store(&first_to_fail, n);
}

void failing_malloc_set(unsigned n) {
    set(n, false);
}

void failing_malloc_set_one(unsigned n) {
    set(n, true);
}

bool failing_malloc_hit(void) {
    unsigned n = atomic_load(&first_to_fail);
    return n != 0 && atomic_load(&made) >= n;
}

unsigned failing_malloc_count(void) {
    return atomic_load(&made);
}

static bool fails(void) {
    unsigned n = atomic_load(&first_to_fail);
    unsigned number = atomic_fetch_add(&made, 1) + 1;
    return n != 0 && (number == n || (number > n && !atomic_load(&is_only)));
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
