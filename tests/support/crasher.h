/* crasher.h - functions that crash, and stay functions. */
#pragma once

/* Neither inlined, copied nor made safer: the tests look for its name, and for its crash. */
#if defined(__clang__)
#define CRASHER __attribute__((noinline, no_sanitize("undefined")))
#else
#define CRASHER __attribute__((noinline, noclone, no_sanitize("undefined")))
#endif

int crasher_run(int how);
