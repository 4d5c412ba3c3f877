/* A pack of the plugin cache from any bytes: it is refused, or all it leads to is sound.
 *
 * The checksum of a cache file is not in the way here. The input is the size of
 * the records, four bytes, and the pack. */
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
    uint32_t records_size;
    if (size < sizeof records_size) {
        return 0;
    }
    memcpy(&records_size, data, sizeof records_size);
    size -= sizeof records_size;
    /* In memory of its own, so that AddressSanitizer sees one byte too many. */
    char *pack = malloc(size > 0 ? size : 1);
    if (pack == NULL) {
        return 0;
    }
    memcpy(pack, data + sizeof records_size, size);
    const struct cache_index *index = pack_open(pack, size, records_size, release, NULL);
    if (index != NULL) {
        (void)cache_walk(index);
        /* What was accepted can be written again. */
        CLEANUP(buf_finish) struct buf again = BUF_INIT;
        if (pack_write(index, &again) == 0) {
            abort();
        }
    }
    free(pack);
    return 0;
}
