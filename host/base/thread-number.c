/* Apart from thread.c, for a worker needs no thread-local variables and so no function of the
 * loader for them. */
#include <stdatomic.h>

#include "base/thread.h"

unsigned thread_number(void) {
    static atomic_uint threads;
    static _Thread_local unsigned number;
    if (number == 0) {
        number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    }
    return number;
}
