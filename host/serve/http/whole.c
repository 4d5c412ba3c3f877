#include "serve/http/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PIECE 16384u

/* @return why nothing can be read; NULL: something can */
static const char *find_problem(int fd) {
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        return strerror(errno);
    }
    return S_ISREG(status.st_mode) ? NULL : "it is not a regular file";
}

int whole_read(const char *member, const char *path, size_t max, struct buf *ret,
               struct toolrack_error *err) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *reason = find_problem(fd);
    ssize_t got = reason == NULL ? 1 : 0;
    while (got > 0 && ret->length <= max && buf_reserve(ret, PIECE)) {
        got = read(fd, ret->data + ret->length, PIECE);
        ret->length += got > 0 ? (size_t)got : 0;
        ret->data[ret->length] = '\0';
        reason = got < 0 ? strerror(errno) : reason;
    }
    if (reason != NULL) {
        return error_set_field(err, TOOLRACK_E_IO, member,
                               "cannot read %s: %s; let the user of the server read it, or name "
                               "another file",
                               path, reason);
    }
    if (ret->failed) {
        return error_oom(err);
    }
    return ret->length <= max
                   ? 0
                   : error_set_field(err, TOOLRACK_E_INVALID, member,
                                     "%s is longer than %zu bytes; name another file", path, max);
}
