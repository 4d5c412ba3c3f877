/* progress.h - progress of a call, told to a client that gave a token for it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

/* So many notifications in a burst, and so many a second afterwards: the newest waits. */
#define PROGRESS_BURST  32u
#define PROGRESS_RATE_S 20u

struct request;

/** Take the token of a request's `_meta`.
 * @return false: out of memory, or it is no token; then `*ret_problem` says so */
bool progress_begin(struct request *request, yyjson_val *meta, const char **ret_problem);

/** A tool reports progress: as options.progress of a call, with the request as user. */
void progress_report(void *user, double done, double total, const char *message);

/** For a request with a token, before its call begins: tell signs of life while the tool is silent,
 * and the last progress before the answer. */
void progress_watch(struct request *request);
