/* Access control lists of any bytes, as a file system may give them.
 *
 * What is no list of the known form lets others write, and so does each list with a further entry
 * by which everybody may. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/acl.h"

/* <linux/posix_acl_xattr.h>: a version, then entries of a tag, rights and an id. */
#define HEADER_SIZE   4u
#define ENTRY_SIZE    8u
#define LIST_SIZE_MAX 4096u

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static const unsigned char version[HEADER_SIZE] = {2, 0, 0, 0};
    static const unsigned char others_write[ENTRY_SIZE] = {0x20, 0, 2, 0, 0xff, 0xff, 0xff, 0xff};
    const gid_t nobodys = (gid_t)-1;
    if (size > LIST_SIZE_MAX) {
        return 0;
    }
    bool is_list = size >= HEADER_SIZE && (size - HEADER_SIZE) % ENTRY_SIZE == 0 &&
                   memcmp(data, version, HEADER_SIZE) == 0;
    check(acl_posix_lets_others_write(data, size, nobodys) || is_list);
    unsigned char *longer = malloc(size + ENTRY_SIZE);
    check(longer != NULL);
    memcpy(longer, data, size);
    memcpy(longer + size, others_write, ENTRY_SIZE);
    check(acl_posix_lets_others_write(longer, size + ENTRY_SIZE, nobodys));
    free(longer);
    return 0;
}
