/* told.h - what a tool tells before its call ends: progress and log lines, as events of the
 * request.
 *
 * A tool may tell more than its client can read; a client that is too slow is given up, and its
 * call with it. So only so much is sent. */
#pragma once

#include "toolrack/toolrack.h"

struct rest_request;

/* Events of progress that are sent at once, and a second; of what comes faster only the last,
 * before the result. */
#define TOLD_PROGRESS_BURST  32u
#define TOLD_PROGRESS_RATE_S 20u
/* Most lines of one call; the last one says that the rest is left out. */
#define TOLD_LINES_MAX       1000u

/** Begin the event stream of a call, and have it told what the tool tells. False: out of memory. */
bool told_begin(struct rest_request *request, struct toolrack_call_options *options);
/** The call has ended: send the progress that waits, if there is any. */
void told_end(struct rest_request *request);
