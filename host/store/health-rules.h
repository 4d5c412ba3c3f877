/* health-rules.h - what the numbers of health.h mean: when a tool fails too often to be
 * recommended, and when it is tried again.
 *
 *     healthy --- HEALTH_FAILURES failures in a row within HEALTH_WINDOW_MS ---> resting
 *     resting --- the cool-down is over, and it is recommended ---> on trial
 *     on trial -- it fails: the cool-down doubles ---> resting
 *     on trial -- nobody calls it for another cool-down ---> on trial, once more
 *     any ------- a call gives a result ---> healthy
 *
 * A tool that rests can be called all the same; it is only never recommended. What happens while it
 * rests changes nothing, but for a success. Pure: the time is the caller's, in milliseconds since
 * 1970. A clock that was set back lets no tool rest for longer than HEALTH_COOL_DOWN_MS_MAX. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/health.h"

#define HEALTH_FAILURES  STORE_HEALTH_FAILURES
#define HEALTH_WINDOW_MS (INT64_C(10) * 60 * 1000)

/* The first cool-down, and the longest that doubling leads to. */
#define HEALTH_COOL_DOWN_MS     (INT64_C(5) * 60 * 1000)
#define HEALTH_COOL_DOWN_MS_MAX (INT64_C(24) * 60 * 60 * 1000)

/* How lists say who put a tool there, and why. */
#define HEALTH_WHO "automatic"
#define HEALTH_WHY "it failed 5 times in a row within 10 minutes"
_Static_assert(HEALTH_FAILURES == 5 && HEALTH_WINDOW_MS == INT64_C(600000), "as HEALTH_WHY says");

/* What a call has changed. */
enum health_change {
    HEALTH_SAME,
    HEALTH_NOTED,    /* a failure, or the end of a row of them */
    HEALTH_RESTS,    /* it goes on the blacklist */
    HEALTH_RESTS_ON, /* its trial failed */
    HEALTH_RECOVERED /* it leaves the blacklist */
};

/** Whether a call that ended so was the tool's failure: not what its caller, a person or the host
 * caused. */
bool health_is_failure(int code);

/** Take note of the end of a call. */
enum health_change health_note(struct store_health *health, int code, int64_t now_ms);

/** Whether it is on the blacklist and rests. */
bool health_rests(const struct store_health *health, int64_t now_ms);

/** Take note that it was recommended: its trial begins when it is on the blacklist and its
 * cool-down is over. Returns whether it does. */
bool health_offer(struct store_health *health, int64_t now_ms);
