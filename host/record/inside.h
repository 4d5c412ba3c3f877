/* inside.h - the struct of the record, for its own files. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "base/object.h"
#include "base/ring.h"
#include "base/shard.h"
#include "record/record.h"
#include "record/subject.h"

/* For each CPU (base/shard.h). */
struct record_place {
    _Alignas(SHARD_ALIGN) atomic_uint lines_left; /* that were counted in `logged_ns` */
};

struct record {
    uint32_t magic; /* RECORD_MAGIC */
    struct record_options options;
    struct ring rings[RECORD_RINGS_MAX];
    atomic_uint ring_count; /* 0: no call has ended yet */
    struct store_writer_source source;
    uint64_t line_ns; /* between two lines, by "per_second" */
    _Alignas(SHARD_ALIGN) atomic_uint_fast64_t logged_ns;
    struct record_place places[SHARD_COUNT];
    atomic_uint_fast64_t lost_unwritten; /* lines that the store refused */

    struct lock write_lock; /* held to read the rings and write to the store */
    uint64_t unwritten;     /* lines that could not be written; this and the next two are guarded by
                             * write_lock */
    uint64_t unlogged;      /* calls without a line, of which nothing was said yet */
    uint64_t tell_ns;       /* when that may be said next */

    struct lock lock; /* guards what follows; the order is write_lock, then lock */
    struct subject *subjects;
    struct meter *meters; /* as subjects, only added until the record is destroyed */
    struct meter *shared_meter;
    unsigned meter_count;
};

#define RECORD_MAGIC 0x64636572u

/** Visit the statistics that are not in the store yet. [any-thread] */
void record_read_unwritten(struct record *record,
                           void (*visit)(void *user, const struct store_statistics *statistics),
                           void *user);
