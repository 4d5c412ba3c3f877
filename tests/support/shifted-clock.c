/* shifted-clock.c - loaded before a program: its wall clock is CLOCK_SHIFT_MS ahead. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret) {
    int code = (int)syscall(SYS_clock_gettime, clock, ret);
    const char *shift_ms = getenv("CLOCK_SHIFT_MS");
    if (code == 0 && clock == CLOCK_REALTIME && shift_ms != NULL) {
        int64_t now_ns = (int64_t)ret->tv_sec * NS_PER_S + ret->tv_nsec + atoll(shift_ms) * 1000000;
        ret->tv_sec = (time_t)(now_ns / NS_PER_S);
        ret->tv_nsec = (long)(now_ns % NS_PER_S);
    }
    return code;
}
