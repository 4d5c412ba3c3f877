/* pack.h - what the cache knows, as bytes that need no parsing.
 *
 * A pack is the records of the structs below and of all that they lead to, in the host's own
 * sizes, in the order in which a walk meets them; then their strings. To use a pack is to walk over
 * it once and to set the pointers. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "files/folder.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"

/** What is known of one file. All it leads to is borrowed from its maker. */
struct cache_file {
    const char *name; /* in its folder */
    struct file_identity identity;
    struct descriptor *descriptor; /* NULL: too large for the cache, to be read each time */
};

struct cache_folder {
    const char *path;               /* as it was given to the scan */
    const struct cache_file *files; /* by name in byte order */
    uint64_t file_count;
};

struct cache;

struct cache_index {
    const struct cache_folder *folders; /* the ones used last come first */
    uint64_t folder_count;
};

/* Most folders in a cache file. */
#define CACHE_FOLDERS_MAX 64u

/* A descriptor that takes more than this in a pack is left out, and so is each one for which the
 * pack as a whole has no more room. */
#define PACK_DESCRIPTOR_SIZE_MAX (64u * 1024u * 1024u)
#define PACK_SIZE_MAX            (256u * 1024u * 1024u)

/** Append the pack of `index` to an empty buffer. Functions are left out.
 * @return the size of its records, the rest being strings; 0 when out of memory or above
 *         PACK_SIZE_MAX: the buffer then holds nothing of use. [any-thread] */
size_t pack_write(const struct cache_index *index, struct buf *bytes);

/** Make a pack usable where it lies.
 *
 * Any bytes may be handed in. In what is accepted every pointer leads to sound memory of the pack,
 * every string ends inside it, and every string and record that the host relies on is there.
 *
 * @param bytes         aligned for any type; written to, and useless when NULL is returned
 * @param records_size  as pack_write() gave it
 * @param release       becomes that of each descriptor, which starts without references
 * @param owner         for pack_owner()
 * @return the index, a part of the pack; NULL when it is not a pack. [any-thread] */
const struct cache_index *pack_open(char *bytes, size_t size, size_t records_size,
                                    void (*release)(struct descriptor *desc), struct cache *owner);

/** The owner of the pack that a descriptor is part of. [any-thread] */
struct cache *pack_owner(struct descriptor *desc);
