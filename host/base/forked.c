#include "base/forked.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint number;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void) {
    (void)atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
}

/* Without memory for it, a child is not told apart. */
static void begin(void) {
    (void)pthread_atfork(NULL, NULL, in_child);
}

unsigned forked_number(void) {
    (void)pthread_once(&once, begin);
    return atomic_load_explicit(&number, memory_order_relaxed);
}
