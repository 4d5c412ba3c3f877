/* Fault: takes memory that no limit of an address space counts: files in memory. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "zoo.h"

/* Together more than a worker may have. */
#define FILES_MAX 5
#define FILE_SIZE ((off_t)256 << 20)

static tr_status zoo_memfd_bomb(struct tr_call *call) {
    int megabytes = 0;
    for (int i = 0; i < FILES_MAX; i++) {
        int fd = memfd_create("bomb", 0);
        if (fd < 0 || fallocate(fd, 0, 0, FILE_SIZE) < 0) {
            return tr_fail(call, TR_FAILED, NULL, "after %d MiB: %s", megabytes,
                           strerrorname_np(errno));
        }
        megabytes += (int)(FILE_SIZE >> 20);
    }
    return tr_reply_textf(call, "%d MiB", megabytes);
}
ZOO_FAULT(zoo_memfd_bomb)
ZOO_PLUGIN(zoo_memfd_bomb)
