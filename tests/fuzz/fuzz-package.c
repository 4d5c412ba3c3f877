/* The file of a package: whatever it holds, it is checked or refused with a message, and a package
 * that is accepted is what its manifest says. The input is read as it is, and as what a compressor
 * would have made of it: frames of zstd whose blocks are not compressed. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "package/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Larger inputs find nothing more. */
#define SIZE_MAX_READ (256u * 1024)

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check(const void *data, size_t size) {
    struct manifest manifest;
    struct manifest alone;
    struct toolrack_error err;
    int fd = memfd_create("package", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    int code = archive_unpack(fd, -1, &manifest, &err);
    if (code < 0) {
        require(err.message[0] != '\0');
    } else {
        require(manifest.file_count > 0);
        require(archive_read_manifest(fd, &alone, &err) == 0);
        require(alone.file_count == manifest.file_count);
        manifest_finish(&alone);
    }
    manifest_finish(&manifest);
    (void)close(fd);
}

/* One frame with a window of 128 KiB, no size and no checksum. */
static void add_frame(struct buf *out, const uint8_t *data, size_t size) {
    static const char begin[] = {'\x28', '\xb5', '\x2f', '\xfd', '\x00', '\x38'};
    const size_t block_max = 64u * 1024;
    size_t at = 0;
    buf_add(out, begin, sizeof begin);
    do {
        size_t length = size - at < block_max ? size - at : block_max;
        uint32_t head = (uint32_t)length << 3 | (at + length == size ? 1u : 0u);
        const char bytes[] = {(char)head, (char)(head >> 8), (char)(head >> 16)};
        buf_add(out, bytes, sizeof bytes);
        buf_add(out, data + at, length);
        at += length;
    } while (at < size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf frame = BUF_INIT;
    if (size > SIZE_MAX_READ) {
        return 0;
    }
    check(data, size);
    add_frame(&frame, data, size);
    require(!frame.failed);
    check(frame.data, frame.length);
    buf_finish(&frame);
    return 0;
}
