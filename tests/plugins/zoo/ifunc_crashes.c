/* Fault: a resolver, which the loader runs while it relocates the plugin, crashes. */
#include "zoo.h"

typedef int32_t answer_function(void);

__attribute__((used)) static answer_function *choose(void) {
    volatile uintptr_t nowhere = 8;
    *(volatile int *)nowhere = 1;
    return NULL;
}

int32_t zoo_chosen(void) __attribute__((ifunc("choose")));

static tr_status zoo_ifunc_crashes(struct tr_call *call) {
    return tr_reply_textf(call, "%d", (int)zoo_chosen());
}
ZOO_FAULT(zoo_ifunc_crashes)
ZOO_PLUGIN(zoo_ifunc_crashes)
