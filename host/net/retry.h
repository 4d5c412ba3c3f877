/* retry.h - whether and when a provider that is busy is asked again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* How often a request is made again, and how long it waits before that where the provider does not
 * say: this long at first, twice as long each time. */
#define RETRY_COUNT_MAX     4u
#define RETRY_WAIT_MS_FIRST 500u
#define RETRY_WAIT_MS_MAX   16000u
/* Longest wait that a provider may ask for. */
#define RETRY_AFTER_MS_MAX  120000u

/** Whether another try may succeed where one ended with this HTTP status. [any-thread] */
bool retry_is_worthwhile(long status);

/** Read the value of a Retry-After header: seconds, or a date (RFC 9110, 10.2.3).
 * @param now     the time that a date is compared with
 * @param ret_ms  receives the wait, RETRY_AFTER_MS_MAX at most; 0 for a date that has passed
 * @return false for NULL and for what is neither. [any-thread] */
bool retry_after(const char *value, time_t now, uint32_t *ret_ms);

/** How long to wait before the try that follows `tries` failed ones, in milliseconds. [any-thread]
 */
uint32_t retry_wait_ms(unsigned tries);
