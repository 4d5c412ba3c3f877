/* streamable-options.h - what an MCP server of the web is reached with, and limits: for
 * streamable.h and its requests, exchange.h. */
#pragma once

#include "base/log.h"
#include "remote/mcp/oauth.h"
#include "remote/mcp/web.h"

/* How often in a row one stream is resumed without a new event. */
#define STREAMABLE_RESUMED_MAX   5u
/* How long until a stream that ended is asked for again, if the server does not say; the wait for
 * the one of what is said unasked is doubled up to the other. */
#define STREAMABLE_RETRY_MS      1000u
#define STREAMABLE_RETRY_MS_MAX  60000u
/* How long a notification may take, and the end of the session. */
#define STREAMABLE_NOTIFY_MS_MAX 10000u
#define STREAMABLE_END_MS_MAX    1000u
/* What is shown of a response that is an error. */
#define STREAMABLE_EXCERPT_MAX   300u

/* All borrowed as long as the server. */
struct streamable_options {
    const char *name;
    const char *url;
    const char *shown_url;      /* as it is configured, without secrets */
    const char *const *headers; /* whole lines; NULL-terminated */
    struct web_rules rules;
    struct oauth *oauth; /* NULL: no token is got */
    const struct log *log;
};
