/* refusal.h - what a provider answers instead of what was asked for, as an error. */
#pragma once

#include "net/http.h"
#include "provider/keys.h"
#include "toolrack/format.h"

/* Longest rest that who asks by the way takes at a provider's word: it may have meant another
 * request. */
#define REFUSAL_REST_MS_MAX 120000u

/** A response with another status than 200. */
struct refusal {
    const char *url;
    const struct http_response *response;
    const struct key *key; /**< that was sent, if any; the message may repeat it: redact it */
    unsigned tries;        /**< how often it was asked */
    const char
            *place; /**< where the URL is set: "with --endpoint", "as \"endpoint\" of \"choose\"" */
    const char *advice; /**< what to do, where the response does not tell; NULL: nothing */
};

/** TOOLRACK_ENDING_CONTENT_FILTER where the response says that a filter of content stopped the
 * prompt; else TOOLRACK_ENDING_NONE. [any-thread] */
enum toolrack_ending refusal_ending(const struct http_response *response);

/** Whether and when the request may be repeated, by what the provider says of it: headers, a
 * RetryInfo in its error, a quota that is used up, else its status.
 * @param ret_ms  receives the wait that it asks for; else 0
 * @return whether another try may succeed. [any-thread] */
bool refusal_may_pass(const struct http_response *response, uint32_t *ret_ms);

/** Append the provider's reason: one line. */
void refusal_add_reason(const struct http_response *response, struct buf *out);

/** Set the error: the status, and the provider's reason.
 * @return its code; TOOLRACK_E_NO_MEMORY. [any-thread] */
int refusal_set(const struct refusal *refusal, struct toolrack_error *err);
