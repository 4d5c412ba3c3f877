/* rewrite.h - change what the linker and the loader keep constant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/** Overwrite `size` bytes at `at`, which lie in memory that is read-only. */
static inline bool rewrite(const void *at, const void *bytes, size_t size) {
    /* Volatile: the compiler leaves out what would change a constant. */
    volatile uintptr_t target = (uintptr_t)at;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)at / page * page;
    uintptr_t end = ((uintptr_t)at + size + page - 1) / page * page;
    if (mprotect((void *)from, end - from, PROT_READ | PROT_WRITE) < 0) {
        return false;
    }
    memcpy((void *)target, bytes, size);
    return true;
}
