#include "net/retry.h"

#include <stddef.h>
#include <string.h>

#include "net/libcurl.h"

bool retry_is_worthwhile(long status) {
    /* 529 is Anthropic's status for overload. */
    static const long statuses[] = {408, 429, 500, 502, 503, 504, 529};
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

/* Read a decimal number with `end` behind it, times `scale`, rounded up. */
static bool read_scaled(const char *value, const char *end, uint32_t scale, uint32_t *ret_ms) {
    if (value == NULL) {
        return false;
    }
    value += strspn(value, " \t");
    size_t digits = strspn(value, "0123456789");
    const char *point = value + digits;
    size_t decimals = *point == '.' ? strspn(point + 1, "0123456789") : 0;
    const char *rest = point + (decimals > 0 ? decimals + 1 : 0);
    if (digits == 0 || strncmp(rest, end, strlen(end)) != 0 ||
        rest[strlen(end) + strspn(rest + strlen(end), " \t")] != '\0') {
        return false;
    }
    uint64_t ms = 0;
    for (size_t i = 0; i < digits && ms < RETRY_AFTER_MS_MAX; i++) {
        ms = ms * 10 + (uint64_t)(value[i] - '0');
    }
    ms *= scale;
    bool is_more = false;
    for (size_t i = 1; i <= decimals; i++) {
        scale /= 10;
        ms += (uint64_t)(point[i] - '0') * scale;
        is_more = is_more || (scale == 0 && point[i] != '0');
    }
    ms += is_more ? 1 : 0;
    *ret_ms = ms < RETRY_AFTER_MS_MAX ? (uint32_t)ms : RETRY_AFTER_MS_MAX;
    return true;
}

bool retry_after_ms(const char *value, uint32_t *ret_ms) {
    return read_scaled(value, "", 1, ret_ms);
}

bool retry_delay(const char *value, uint32_t *ret_ms) {
    return read_scaled(value, "s", 1000, ret_ms);
}

uint32_t retry_wait_ms(unsigned tries) {
    uint32_t wait_ms = RETRY_WAIT_MS_FIRST;
    for (unsigned i = 1; i < tries && wait_ms < RETRY_WAIT_MS_MAX; i++) {
        wait_ms *= 2;
    }
    return wait_ms < RETRY_WAIT_MS_MAX ? wait_ms : RETRY_WAIT_MS_MAX;
}
