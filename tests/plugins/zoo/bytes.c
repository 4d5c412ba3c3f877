/* No fault: gives as many bytes as it is told, and counts those that it is given. */
#include <string.h>

#include "zoo.h"

static struct tr_bytes zoo_bytes(struct tr_call *call, uint64_t size) {
    void *data = tr_alloc(call, size);
    if (data == NULL) {
        return (struct tr_bytes){NULL, 0}; /* the call fails by itself */
    }
    memset(data, 'b', size);
    return (struct tr_bytes){data, size};
}
TR_TOOL(zoo_bytes, "Give bytes", TR_BYTES, TR_CALL, (TR_U64, size, "how many"))

static uint64_t zoo_bytes_count(const void *data, size_t size) {
    (void)data;
    return size;
}
TR_TOOL(zoo_bytes_count, "Count bytes", TR_U64, (TR_BYTES, data, "what to count"))

TR_PLUGIN("zoo_bytes", "1.0.0", zoo_bytes, zoo_bytes_count)
