#include "store/health-rules.h"

#include <string.h>

#include "base/error.h"

bool health_is_failure(int code) {
    return code == TOOLRACK_E_EXECUTION_FAILED || code == TOOLRACK_E_TIMEOUT;
}

static bool is_listed(const struct store_health *health) {
    return health->since_ms != 0;
}

bool health_rests(const struct store_health *health, int64_t now_ms) {
    return is_listed(health) && now_ms < health->retry_ms &&
           health->retry_ms - now_ms <= HEALTH_COOL_DOWN_MS_MAX;
}

/* Its cool-down, within the limits: the stored number may come from a damaged file. */
static int64_t cool_down_of(const struct store_health *health) {
    return health->cool_down_ms < HEALTH_COOL_DOWN_MS       ? HEALTH_COOL_DOWN_MS
           : health->cool_down_ms > HEALTH_COOL_DOWN_MS_MAX ? HEALTH_COOL_DOWN_MS_MAX
                                                            : health->cool_down_ms;
}

static enum health_change rest(struct store_health *health, int64_t cool_down_ms, int64_t now_ms) {
    bool again = is_listed(health);
    health->since_ms = again ? health->since_ms : now_ms;
    health->cool_down_ms =
            cool_down_ms < HEALTH_COOL_DOWN_MS_MAX ? cool_down_ms : HEALTH_COOL_DOWN_MS_MAX;
    health->retry_ms = now_ms + health->cool_down_ms;
    health->tried = false;
    return again ? HEALTH_RESTS_ON : HEALTH_RESTS;
}

enum health_change health_note(struct store_health *health, int code, int64_t now_ms) {
    bool listed = is_listed(health);
    if (code == 0 && !listed && health->failed_ms[0] == 0) {
        return HEALTH_SAME;
    }
    if (code == 0) {
        *health = (struct store_health){0};
        return listed ? HEALTH_RECOVERED : HEALTH_NOTED;
    }
    if (!health_is_failure(code)) {
        return HEALTH_SAME;
    }
    if (listed) {
        return health->tried || !health_rests(health, now_ms)
                       ? rest(health, 2 * cool_down_of(health), now_ms)
                       : HEALTH_SAME;
    }

    /* Add the failure; it replaces the oldest when there are HEALTH_FAILURES already. */
    size_t count = 0;
    while (count < HEALTH_FAILURES && health->failed_ms[count] != 0) {
        count++;
    }
    if (count == HEALTH_FAILURES) {
        count--;
        memmove(health->failed_ms, health->failed_ms + 1, count * sizeof health->failed_ms[0]);
    }
    health->failed_ms[count] = now_ms;

    bool too_often = health->failed_ms[HEALTH_FAILURES - 1] != 0 &&
                     health->failed_ms[0] >= now_ms - HEALTH_WINDOW_MS;
    return too_often ? rest(health, HEALTH_COOL_DOWN_MS, now_ms) : HEALTH_NOTED;
}

bool health_offer(struct store_health *health, int64_t now_ms) {
    if (!is_listed(health) || health_rests(health, now_ms)) {
        return false;
    }
    health->tried = true;
    health->retry_ms = now_ms + cool_down_of(health);
    return true;
}
