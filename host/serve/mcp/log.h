/* log.h - log lines of a tool, told to the client of its call. */
#pragma once

#include <yyjson.h>

#include "toolrack/toolrack.h"

struct request;

/* Most lines of one call; the last one says that the rest is left out. */
#define LOG_LINES_MAX 1000u

/** As options.log of a call, with the request as user. */
void log_report(void *user, enum toolrack_log_level level, const char *line);

/** logging/setLevel. */
void log_set_level(struct request *request, yyjson_val *params);
