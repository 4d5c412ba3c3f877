/* Fault: takes memory that the limit of the address space counts only once: shared memory without a
 * file, whose pages stay while one of them is mapped. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "zoo.h"

#define MAPPINGS_MAX 5
#define PAGE         4096u
#define MAPPING_SIZE ((size_t)64 << 20)

static tr_status zoo_shared_bomb(struct tr_call *call) {
    int megabytes = 0;
    for (int i = 0; i < MAPPINGS_MAX; i++) {
        char *memory =
                mmap(NULL, MAPPING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            return tr_fail(call, TR_FAILED, NULL, "after %d MiB: %s", megabytes,
                           strerrorname_np(errno));
        }
        for (size_t at = 0; at < MAPPING_SIZE; at += PAGE) {
            memory[at] = 1;
        }
        (void)munmap(memory + PAGE, MAPPING_SIZE - PAGE);
        megabytes += (int)(MAPPING_SIZE >> 20);
    }
    return tr_reply_textf(call, "%d MiB", megabytes);
}
ZOO_FAULT(zoo_shared_bomb)
ZOO_PLUGIN(zoo_shared_bomb)
