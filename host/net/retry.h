/* retry.h - whether and when a request to a busy provider is repeated. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Most retries of a request, and the wait before a retry if the provider states none: doubled each
 * time, from the first to the largest. */
#define RETRY_COUNT_MAX     4u
#define RETRY_WAIT_MS_FIRST 500u
#define RETRY_WAIT_MS_MAX   16000u
/* Longest wait that a provider can ask for; a longer one is taken as this. */
#define RETRY_AFTER_MS_MAX  86400000u

/** Whether a retry may succeed after this HTTP status. [any-thread] */
bool retry_is_worthwhile(long status);

/** Read the value of a Retry-After header: seconds, or a date (RFC 9110, 10.2.3).
 * @param now     the current time, to compare a date with
 * @param ret_ms  receives the wait, RETRY_AFTER_MS_MAX at most; 0 for a date that has passed
 * @return false for NULL and for any other value. [any-thread] */
bool retry_after(const char *value, time_t now, uint32_t *ret_ms);

/** Read the value of a Retry-After-Ms header: milliseconds, with or without a fraction.
 * @return as retry_after() */
bool retry_after_ms(const char *value, uint32_t *ret_ms);

/** Read a duration of Protocol Buffers in JSON, such as "37s" or "3.5s", the wait of a RetryInfo.
 * @return as retry_after() */
bool retry_delay(const char *value, uint32_t *ret_ms);

/** Milliseconds to wait after `tries` failed attempts. [any-thread]
 */
uint32_t retry_wait_ms(unsigned tries);
