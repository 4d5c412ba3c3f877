/* health-rules.h - the rules for the numbers of health.h: when a tool has failed too often to be
 * recommended, and when it gets a retry.
 *
 *     healthy --- HEALTH_FAILURES failures in a row within HEALTH_WINDOW_MS ---> resting
 *     resting --- the cool-down is over, and it is recommended ---> in retry
 *     in retry -- it fails: the cool-down doubles ---> resting
 *     in retry -- nobody calls it for another cool-down ---> in retry, once more
 *     any ------- a call gives a result ---> healthy
 *
 * A resting tool can still be called; it is only not recommended. While it rests, failures change
 * nothing. Pure: the caller gives the time, in milliseconds since 1970. When the clock is set back,
 * no tool rests longer than HEALTH_COOL_DOWN_MS_MAX. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/health.h"

#define HEALTH_FAILURES  STORE_HEALTH_FAILURES
#define HEALTH_WINDOW_MS (INT64_C(10) * 60 * 1000)

/* The first cool-down, and the longest. */
#define HEALTH_COOL_DOWN_MS     (INT64_C(5) * 60 * 1000)
#define HEALTH_COOL_DOWN_MS_MAX (INT64_C(24) * 60 * 60 * 1000)

/* Shown in lists: who put the tool there, and why. */
#define HEALTH_WHO "automatic"
#define HEALTH_WHY "it failed 5 times in a row within 10 minutes"
_Static_assert(HEALTH_FAILURES == 5 && HEALTH_WINDOW_MS == INT64_C(600000), "as HEALTH_WHY says");

/* What a call changed. */
enum health_change {
    HEALTH_SAME,
    HEALTH_NOTED,    /* a failure was added, or the failures were cleared */
    HEALTH_RESTS,    /* the tool was put on the blacklist */
    HEALTH_RESTS_ON, /* its retry failed */
    HEALTH_RECOVERED /* it was taken off the blacklist */
};

/** Whether a code means that the tool failed, and not its caller, a person or the host. */
bool health_is_failure(int code);

/** Record the end of a call. */
enum health_change health_note(struct store_health *health, int code, int64_t now_ms);

/** Whether the tool is on the blacklist and its cool-down is not over. */
bool health_rests(const struct store_health *health, int64_t now_ms);

/** To be called when the tool is recommended: its retry begins when it is on the blacklist and its
 * cool-down is over. Returns whether a retry began. */
bool health_offer(struct store_health *health, int64_t now_ms);
