#include "net/retry.h"

#include <stddef.h>
#include <string.h>

#include "net/libcurl.h"

bool retry_is_worthwhile(long status) {
    /* 529 is Anthropic's status for overload. */
    static const long statuses[] = {429, 500, 502, 503, 529};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (status == statuses[i]) {
            return true;
        }
    }
    return false;
}

/* A number of any length; false: the value is not a number. */
static bool read_seconds(const char *value, uint64_t *ret) {
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || value[digits + strspn(value + digits, " \t")] != '\0') {
        return false;
    }
    uint64_t seconds = 0;
    for (size_t i = 0; i < digits && seconds < RETRY_AFTER_MS_MAX; i++) {
        seconds = seconds * 10 + (uint64_t)(value[i] - '0');
    }
    *ret = seconds;
    return true;
}

bool retry_after(const char *value, time_t now, uint32_t *ret_ms) {
    if (value == NULL) {
        return false;
    }
    uint64_t seconds = 0;
    value += strspn(value, " \t");
    if (!read_seconds(value, &seconds)) {
        time_t date = curl.getdate(value, NULL);
        if (date == -1) {
            return false;
        }
        seconds = date > now ? (uint64_t)(date - now) : 0;
    }
    *ret_ms = seconds < RETRY_AFTER_MS_MAX / 1000u ? (uint32_t)seconds * 1000u : RETRY_AFTER_MS_MAX;
    return true;
}

uint32_t retry_wait_ms(unsigned tries) {
    uint32_t wait_ms = RETRY_WAIT_MS_FIRST;
    for (unsigned i = 1; i < tries && wait_ms < RETRY_WAIT_MS_MAX; i++) {
        wait_ms *= 2;
    }
    return wait_ms < RETRY_WAIT_MS_MAX ? wait_ms : RETRY_WAIT_MS_MAX;
}
