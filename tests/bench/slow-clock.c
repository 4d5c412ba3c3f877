/* slow-clock.c - loaded into a benchmark whose instructions are counted: the clock of its main
 * thread goes as much slower as the program does.
 *
 * Otherwise no call would be quick, and the host would pass all of them to its threads, which is
 * another way than the one that is to be measured. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
/* How much slower callgrind is, at most, on a busy machine. */
#define SLOWER   1000

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret) {
    static _Thread_local bool is_known;
    static _Thread_local bool is_main;
    static int64_t began_ns;
    int code = (int)syscall(SYS_clock_gettime, clock, ret);
    if (!is_known) {
        is_main = syscall(SYS_gettid) == getpid();
        is_known = true;
    }
    if (code == 0 && clock == CLOCK_MONOTONIC && is_main) {
        int64_t now_ns = (int64_t)ret->tv_sec * NS_PER_S + ret->tv_nsec;
        began_ns = began_ns != 0 ? began_ns : now_ns;
        now_ns = began_ns + (now_ns - began_ns) / SLOWER;
        ret->tv_sec = (time_t)(now_ns / NS_PER_S);
        ret->tv_nsec = (long)(now_ns % NS_PER_S);
    }
    return code;
}
