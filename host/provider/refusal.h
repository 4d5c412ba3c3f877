/* refusal.h - what a provider answers instead of what was asked for, as an error. */
#pragma once

#include "net/http.h"
#include "provider/keys.h"
#include "toolrack/format.h"

/** A response with another status than 200. */
struct refusal {
    const char *url;
    const struct http_response *response;
    const struct key *key; /**< that was sent, if any; the message may repeat it: redact it */
    unsigned tries;        /**< how often it was asked */
    const char
            *place; /**< where the URL is set: "with --endpoint", "as \"endpoint\" of \"choose\"" */
};

/** TOOLRACK_ENDING_CONTENT_FILTER where the response says that a filter of content stopped the
 * prompt; else TOOLRACK_ENDING_NONE. [any-thread] */
enum toolrack_ending refusal_ending(const struct http_response *response);

/** Set the error: the status, and the provider's reason.
 * @return its code; TOOLRACK_E_NO_MEMORY. [any-thread] */
int refusal_set(const struct refusal *refusal, struct toolrack_error *err);
