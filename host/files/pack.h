/* pack.h - the content of the cache, as bytes that need no parsing.
 *
 * A pack is the records of the structs below and of everything that they point to, in the host's
 * struct sizes, in the order of a walk; then their strings. Opening a pack means to walk over it
 * once and set the pointers. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "files/folder.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"

/** What is known about one file. All pointers are borrowed from its maker. */
struct cache_file {
    const char *name; /* in its folder */
    struct file_identity identity;
    struct descriptor *descriptor; /* NULL: too large for the cache, read at each scan */
};

struct cache_folder {
    const char *path;               /* as passed to the scan */
    const struct cache_file *files; /* by name in byte order */
    uint64_t file_count;
};

struct cache;

struct cache_index {
    const struct cache_folder *folders; /* most recently used first */
    uint64_t folder_count;
};

/* Most folders in a cache file. */
#define CACHE_FOLDERS_MAX 64u

/* A descriptor that needs more than this in a pack is left out, like each one for which the whole
 * pack has no room. */
#define PACK_DESCRIPTOR_SIZE_MAX (64u * 1024u * 1024u)
#define PACK_SIZE_MAX            (256u * 1024u * 1024u)

/** Append the pack of `index` to an empty buffer. Function pointers are left out.
 * @return the size of its records; the rest is strings. 0 when out of memory or above
 *         PACK_SIZE_MAX: the content of the buffer is then unusable. [any-thread] */
size_t pack_write(const struct cache_index *index, struct buf *bytes);

/** Open a pack in place.
 *
 * Any bytes may be passed. In an accepted pack every pointer leads to valid memory of the pack,
 * every string ends inside it, and every string and record that the host needs exists.
 *
 * @param bytes         aligned for any type; written to; unusable when NULL is returned
 * @param records_size  as pack_write() gave it
 * @param release       set in each descriptor, which starts without references
 * @param owner         for pack_owner()
 * @return the index, a part of the pack; NULL when the bytes are no pack. [any-thread] */
const struct cache_index *pack_open(char *bytes, size_t size, size_t records_size,
                                    void (*release)(struct descriptor *desc), struct cache *owner);

/** The owner of the pack that a descriptor is part of. [any-thread] */
struct cache *pack_owner(struct descriptor *desc);
