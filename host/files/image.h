/* image.h - what the cache knows, as bytes that need no parsing.
 *
 * An image is the records of the structs below and of all that they lead to, in
 * the host's own sizes, in the order in which a walk meets them, and after them
 * what they share: plain types and texts. In place of each pointer stands where it leads. To use an
 * image is to walk over it once and to put the pointers back. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "files/scan.h"
#include "plugin/descriptor.h"

/** What is known of one file. All it leads to is borrowed from whoever made it. */
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

struct cache_index {
    const struct cache_folder *folders; /* the ones used last come first */
    uint64_t folder_count;
};

/* A descriptor that takes more than this in an image is left out of it, and so is each one that
 * the image as a whole has no more room for. */
#define IMAGE_DESCRIPTOR_SIZE_MAX (64u * 1024u * 1024u)
#define IMAGE_SIZE_MAX            (256u * 1024u * 1024u)

/** Structs whose shape the image depends on, for the header of the file it is kept in; what is
 * left over is zero. */
#define IMAGE_STRUCTS_MAX 16
void image_struct_sizes(uint16_t ret_sizes[IMAGE_STRUCTS_MAX]);

/** Of the parts of an image, which lie one behind the other. */
struct image_sizes {
    uint64_t records;
    uint64_t types; /* those without pointers, each of them once */
    uint64_t texts;
};

/** Append the image of `index` to an empty buffer. Functions are left out.
 * @return false when out of memory or above IMAGE_SIZE_MAX; the buffer then holds nothing of use.
 * [any-thread] */
bool image_write(const struct cache_index *index, struct buf *image, struct image_sizes *ret_sizes);

/** Make an image usable where it lies.
 *
 * Any bytes may be handed in. What is accepted has no pointer but to sound memory of the image,
 * every text in it ends inside it, and every text and record that the host relies on is there.
 *
 * @param image    aligned for any type; it is written to, and useless when NULL is returned
 * @param sizes    which add up to the size of the image
 * @param release  becomes that of each descriptor, which starts without references
 * @param owner    for image_owner()
 * @return the index, a part of the image; NULL when it is not an image. [any-thread] */
const struct cache_index *image_fix(char *image, const struct image_sizes *sizes,
                                    void (*release)(struct descriptor *desc), void *owner);

/** The owner of the image that a descriptor is part of. */
void *image_owner(struct descriptor *desc);
