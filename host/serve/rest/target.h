/* target.h - the target of a request, "/api/tools/a%20b?enabled=true", taken apart.
 *
 * Pure functions of bytes that anybody may have sent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longest target, and most parts of one. */
#define TARGET_LENGTH_MAX     2048u
#define TARGET_SEGMENTS_MAX   8u
#define TARGET_PARAMETERS_MAX 32u

struct target_parameter {
    const char *name;
    const char *value; /* "" without one */
};

/** Strings are in the room that target_read() was given: UTF-8 without control characters. */
struct target {
    const char *segments[TARGET_SEGMENTS_MAX]; /* of the path, between its slashes; not empty */
    size_t segment_count;
    struct target_parameter parameters[TARGET_PARAMETERS_MAX]; /* each name once */
    size_t parameter_count;
};

/** Take a target apart. What names a scheme and a host before the path is read without them.
 * @param room  of the target's length and a zero
 * @return NULL, or what is wrong with it: static. */
const char *target_read(const char *text, char *room, struct target *ret);

/** The value of a parameter, or NULL. */
const char *target_value(const struct target *target, const char *name);

/** Where the path of a target begins. */
const char *target_path(const char *text);
