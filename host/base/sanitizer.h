/* sanitizer.h - whether this build has a sanitizer, and which one. */
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER_ADDRESS 1
#endif
#endif
#ifndef SANITIZER_ADDRESS
#define SANITIZER_ADDRESS 0
#endif

#if defined(__SANITIZE_THREAD__)
#define SANITIZER_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZER_THREAD 1
#endif
#endif
#ifndef SANITIZER_THREAD
#define SANITIZER_THREAD 0
#endif

/* For a signal handler on its own stack that ends the process: before a function that does not
 * return, AddressSanitizer looks for the stack of the thread in /proc, which a sandbox refuses. */
#define SANITIZER_SKIPS_ADDRESS __attribute__((no_sanitize("address")))

/* For a function that calls others through another type than their own. */
#if defined(__clang__)
#define SANITIZER_SKIPS_FUNCTION_TYPE __attribute__((no_sanitize("function")))
#else
#define SANITIZER_SKIPS_FUNCTION_TYPE
#endif
