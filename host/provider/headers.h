/* headers.h - headers of a request that the app adds. */
#pragma once

#include "base/error.h"

/* Most headers that are added, and the longest. */
#define HEADERS_MAX       32u
#define HEADER_LENGTH_MAX 8192u

/** Whether the lines may be sent: "NAME: VALUE", none of those that belong to the transfer.
 * @param lines  up to NULL; NULL: none
 * @return 0; TOOLRACK_E_INVALID: the message has the name, never the value, which may be a key;
 *         TOOLRACK_E_LIMIT_EXCEEDED. [any-thread] */
int headers_check(const char *const *lines, struct toolrack_error *err);

/** Whether one of the lines has the name that `line` has. [any-thread] */
bool headers_has(const char *const *lines, const char *line);
