/* Names of functions and build ids of any bytes: each name is a text of a sane length, in a
 * function that begins before the place that was asked for.
 *
 * The seeds are one static and one exported function that calls it, linked by
 * cc -shared -fPIC -O1 -nostdlib -fvisibility=hidden -fno-asynchronous-unwind-tables
 * -Wl,-z,noseparate-code,-z,max-page-size=4096,-z,norelro,--build-id, stripped with -Wl,-s, and
 * -Wl,--hash-style=sysv. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin/build_id.h"
#include "plugin/symbols.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_name(struct symbols *symbols, uint64_t offset) {
    uint64_t inside = UINT64_MAX;
    const char *name = symbols_find(symbols, offset, &inside);
    if (name == NULL) {
        check(inside == UINT64_MAX);
        return;
    }
    check(inside <= offset && name[0] != '\0' && strlen(name) <= SYMBOLS_NAME_MAX);
}

/* Around all that stands in the file as a number: there are the edges. */
static void check_names(struct symbols *symbols, const unsigned char *data, size_t size) {
    uint64_t number;
    for (size_t at = 0; at + sizeof number <= size && at < 8192; at += sizeof number) {
        memcpy(&number, data + at, sizeof number);
        check_name(symbols, number);
        check_name(symbols, number - 1);
    }
    check_name(symbols, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static int fd = -1; /* one file for all inputs: making one takes longer than reading it */
    if (fd < 0) {
        fd = memfd_create("symbols", MFD_CLOEXEC);
    }
    check(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    check(pwrite(fd, data, size, 0) == (ssize_t)size);

    char path[64];
    struct symbols *symbols = NULL;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int code = symbols_open(path, &symbols, NULL);
    check(code == 0 || code == TOOLRACK_E_REFUSED);
    if (code == 0) {
        check_names(symbols, data, size);
    }
    symbols_close(symbols);

    unsigned char id[BUILD_ID_MAX];
    check(build_id_read(fd, id) <= sizeof id);
    return 0;
}
