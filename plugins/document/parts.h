/* parts.h - the parts of an office file: members of a zip archive, unpacked into memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink.h"

/* Most members of an archive, and most bytes to which those that are used unpack. A real document
 * is far below; what is made to fill the memory is above. */
#define PARTS_MEMBERS_MAX 10000u
#define PARTS_SIZE_MAX    ((size_t)64 << 20)
/* Most parts that are used: slides, sheets. */
#define PARTS_COUNT_MAX   2000u

struct part {
    char *name; /**< owned, as `data` */
    char *data;
    size_t size;
};

struct parts {
    struct part *items;
    size_t count;
    size_t room;
    size_t size; /**< of all */
};

/** Unpack the members that hold text, by their names. False with the reason in `sink`. */
bool parts_read(struct sink *sink, const void *data, size_t size, struct parts *ret);
void parts_finish(struct parts *parts);
/** NULL: there is none with that name. */
const struct part *parts_find(const struct parts *parts, const char *name);
