/* identity.h - identifies the state of a file without reading the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/clock.h"

struct file_identity {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t mtime_ns;
    int64_t ctime_ns;
};

static inline int64_t identity_time_ns(struct timespec time) {
    return (int64_t)time.tv_sec * CLOCK_NS_PER_S + time.tv_nsec;
}

static inline struct file_identity identity_of(const struct stat *st) {
    return (struct file_identity){
            .device = st->st_dev,
            .inode = st->st_ino,
            .size = (uint64_t)st->st_size,
            .mtime_ns = identity_time_ns(st->st_mtim),
            .ctime_ns = identity_time_ns(st->st_ctim),
    };
}

static inline bool identity_same(const struct file_identity *a, const struct file_identity *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}
