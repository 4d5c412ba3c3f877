/* Fault: makes a system call by the entry of 32-bit programs, where calls have other numbers. */
#include "zoo.h"

static tr_status zoo_int80(struct tr_call *call) {
#if defined(__x86_64__)
    long result = 0;
    /* getpid(): 20 there, writev() elsewhere */
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
    return result > 0 ? zoo_survived(call) : tr_fail(call, TR_FAILED, NULL, "error %ld", -result);
#else
    __builtin_trap();
#endif
}
ZOO_FAULT(zoo_int80)
ZOO_PLUGIN(zoo_int80)
