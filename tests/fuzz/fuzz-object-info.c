/* What a store of objects says of one, of any bytes. What is read is written as what is read alike.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/nats/object-info.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const char *bytes = size > 0 ? (const char *)data : "";
    struct object_info info;
    struct object_info again;
    struct toolrack_error err;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (object_info_read(bytes, size, NULL, &info, &err) < 0) {
        check(err.message[0] != '\0');
        return 0;
    }
    check(info.name[0] != '\0');
    check(info.deleted || (info.nuid[0] != '\0' && strpbrk(info.nuid, ".*> ") == NULL &&
                           info.size <= OBJECT_SIZE_MAX && info.chunks <= info.size));
    object_info_write(&text, &info, "b", 1);
    check(!text.failed && object_info_read(text.data, text.length, info.name, &again, &err) == 0);
    check(again.deleted == info.deleted && strcmp(again.nuid, info.nuid) == 0);
    check(info.deleted || (again.size == info.size && again.chunks == info.chunks &&
                           memcmp(again.hash, info.hash, sizeof info.hash) == 0));
    return 0;
}
