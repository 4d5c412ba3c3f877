/* semver.h - Semantic Versioning 2.0.0 (https://semver.org/spec/v2.0.0.html): form and order. */
#pragma once

#include <stdbool.h>

/** Longest version text accepted, without its final zero. */
#define SEMVER_LENGTH_MAX 127

/** Whether `text` is a version such as 1.4.0, 2.0.0-rc.1 or 1.0.0+build.5. [any-thread] */
bool semver_valid(const char *text);

/** Precedence of two valid versions: negative, 0 or positive. Build metadata does not count.
 * Numbers of any length compare exactly. [any-thread] */
int semver_compare(const char *a, const char *b);
