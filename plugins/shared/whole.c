#include "whole.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../filesystem/place.h"

/* How much is read before the call is looked at again. */
#define PIECE_SIZE ((size_t)1 << 20)

static bool fail_size(struct tr_call *call, const char *field, size_t size_max) {
    (void)tr_fail(call, TR_LIMIT_EXCEEDED, field, "has more than %zu MiB, the most that is read",
                  size_max >> 20);
    return false;
}

static bool fail_errno(struct tr_call *call, const char *path, int number) {
    struct place_fault fault;
    place_say(&fault, "cannot read", path, number);
    (void)tr_fail(call, fault.code, "path", "%s", fault.message);
    return false;
}

/* All of an open file: what it had when it was opened, or less if it has become shorter. */
static bool read_all(struct tr_call *call, int fd, size_t length, struct whole *ret) {
    char *data = malloc(length + 1);
    ret->owned = data;
    ret->data = data;
    if (data == NULL) {
        (void)tr_fail(call, TR_FAILED, NULL, "out of memory");
        return false;
    }
    while (ret->size < length) {
        size_t left = length - ret->size;
        ssize_t got = read(fd, data + ret->size, left < PIECE_SIZE ? left : PIECE_SIZE);
        if (got < 0 && errno != EINTR) {
            return fail_errno(call, ret->name, errno);
        }
        if (got == 0) {
            break;
        }
        ret->size += got > 0 ? (size_t)got : 0;
        if (tr_cancelled(call)) {
            (void)tr_fail(call, TR_CANCELLED, NULL, "cancelled");
            return false;
        }
    }
    return true;
}

static bool read_path(struct tr_call *call, size_t size_max, struct whole *ret) {
    struct place place;
    struct place_fault fault;
    struct stat st;
    if (!place_find(ret->name, &place, &fault)) {
        (void)tr_fail(call, fault.code, "path", "%s", fault.message);
        return false;
    }
    int fd = place_open_file(&place);
    if (fd < 0) {
        return fail_errno(call, place.path, errno);
    }
    bool is_read = fstat(fd, &st) == 0 ? (uint64_t)st.st_size <= size_max
                                                 ? read_all(call, fd, (size_t)st.st_size, ret)
                                                 : fail_size(call, "path", size_max)
                                       : fail_errno(call, place.path, errno);
    (void)close(fd);
    return is_read;
}

bool whole_read(struct tr_call *call, size_t size_max, struct whole *ret) {
    const char *path = tr_get_string(call, "path", NULL);
    int32_t kind = tr_kind_of(call, "data");
    bool has_data = kind != TR_JSON_ABSENT && kind != TR_JSON_NULL;
    *ret = (struct whole){.field = has_data ? "data" : "path", .name = path != NULL ? path : ""};
    if ((path != NULL) == has_data) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, path != NULL ? "data" : "path",
                      path != NULL ? "must not be given beside path; give one of both"
                                   : "must be given, or else data");
        return false;
    }
    if (path != NULL) {
        return read_path(call, size_max, ret);
    }
    struct tr_bytes bytes = tr_get_bytes(call, "data");
    if (bytes.data == NULL) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "data",
                      "must be base64 (RFC 4648), with padding");
        return false;
    }
    ret->data = bytes.data;
    ret->size = (size_t)bytes.size;
    return ret->size <= size_max || fail_size(call, "data", size_max);
}

void whole_finish(struct whole *whole) {
    free(whole->owned);
    *whole = (struct whole){0};
}
