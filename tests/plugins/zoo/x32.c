/* Fault: makes a system call of x32, an ABI whose calls have other numbers on the same machine. */
#include <string.h>

#include "zoo.h"

static tr_status zoo_x32(struct tr_call *call) {
#if defined(__x86_64__)
    long result = 0;
    /* getpid() */
    __asm__ volatile("syscall" : "=a"(result) : "a"(0x40000027L) : "rcx", "r11", "memory");
    return result > 0 ? zoo_survived(call)
                      : tr_fail(call, TR_FAILED, NULL, "%s", strerrorname_np((int)-result));
#else
    __builtin_trap();
#endif
}
ZOO_FAULT(zoo_x32)
ZOO_PLUGIN(zoo_x32)
