/* robots.h - what a robots.txt allows, by RFC 9309. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* More of a file is not read. */
#define ROBOTS_SIZE_MAX ((size_t)500 * 1024)

/** Whether a client may fetch a path (with its query): `agent` is the name of the client without
 * its version, which is compared without regard to case. */
bool robots_allow(const char *text, size_t length, const char *agent, const char *path);
