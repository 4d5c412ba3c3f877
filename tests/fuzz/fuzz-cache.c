/* An image of the plugin cache from any bytes: it is refused, or all it leads to is sound.
 *
 * The checksum of a cache file is not in the way here. The input is the sizes of
 * records and types, four bytes each, and the image. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cache-walk.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void release(struct descriptor *desc) {
    (void)desc;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    uint32_t parts[2];
    if (size < sizeof parts) {
        return 0;
    }
    memcpy(parts, data, sizeof parts);
    size -= sizeof parts;
    if (parts[0] > size || parts[1] > size - parts[0]) {
        return 0;
    }
    /* In memory of its own, so that AddressSanitizer sees one byte too many. */
    char *image = malloc(size > 0 ? size : 1);
    if (image == NULL) {
        return 0;
    }
    memcpy(image, data + sizeof parts, size);
    const struct image_sizes sizes = {parts[0], parts[1], size - parts[0] - parts[1]};
    const struct cache_index *index = image_fix(image, &sizes, release, NULL);
    if (index != NULL) {
        (void)cache_walk(index);
        /* What was accepted can be written again. */
        CLEANUP(buf_finish) struct buf again = BUF_INIT;
        struct image_sizes again_sizes;
        if (!image_write(index, &again, &again_sizes)) {
            abort();
        }
    }
    free(image);
    return 0;
}
