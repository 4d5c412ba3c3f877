/* writer.h - one thread of the host that writes to the store what calls leave behind.
 *
 * Nothing on the path of a call waits for the store. Rows are gathered in memory by their source
 * (the log of calls, the log of decisions), and the writer's thread has the source write them in
 * batches. The thread begins with the first row of any source and sleeps while no source has rows.
 *
 *     empty --- the first row ---> gathering --- `gather_ms` are over, or
 *       ^                            |   ^       there are many rows ------> writing
 *       |                            |   |                                      |
 *       +---- no row is left --------|---+------------- rows are left ----------+
 *                                    +- there are many rows: at once -> writing
 *
 * A source does this for each row, without a lock of the writer:
 *
 *     put the row where write() finds it;
 *     store_writer_note(&source, the rows are many);
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct store_writer;

/* What a source has to write. */
enum store_writer_rows { STORE_WRITER_NONE, STORE_WRITER_SOME, STORE_WRITER_MANY };

enum store_writer_state {
    STORE_WRITER_EMPTY,     /* the next row wakes the thread */
    STORE_WRITER_GATHERING, /* it is written when its time has come, or when there are many */
    STORE_WRITER_URGENT,    /* it is written next */
    STORE_WRITER_WRITING    /* the thread looks for more rows itself when it has written these */
};

/** One source of rows. Its owner sets the first four, and keeps it where it is until
 * store_writer_destroy(). */
struct store_writer_source {
    uint32_t gather_ms; /* how long the first row may wait for others */
    /* Write what there is, and say what is wrong to the log. [the writer's thread] */
    void (*write)(void *user);
    /* What is there to write? A row may be on its way: it counts when its owner will find
     * STORE_WRITER_WRITING, or has found it. [the writer's thread] */
    enum store_writer_rows (*rows)(void *user);
    void *user;

    struct store_writer *writer; /* set by store_writer_add(), like the rest */
    struct store_writer_source *next;
    uint64_t due_ns;  /* while it gathers; guarded by the writer's lock */
    atomic_int state; /* enum store_writer_state */
};

/** @return a writer without a thread yet; NULL when out of memory. [any-thread] */
struct store_writer *store_writer_create(void);

/** End the thread, which finishes what it is writing. What the sources hold after that is for their
 * owners to write; rows that come later start no thread. NULL is ignored. [any-thread] */
void store_writer_stop(struct store_writer *writer);

/** Stop it and release it; NULL is ignored. [any-thread] */
void store_writer_destroy(struct store_writer *writer);

/** Take a source, before its first row. Borrowed until store_writer_destroy(). [any-thread] */
void store_writer_add(struct store_writer *writer, struct store_writer_source *source);

/** The slow part of store_writer_note(). [any-thread] */
void store_writer_wake(struct store_writer_source *source, bool many);

/** A row was put into the source. No lock that the source's write() or rows() takes may be held.
 * @param many  the rows should not wait for others any longer. [any-thread] */
static inline void store_writer_note(struct store_writer_source *source, bool many) {
    int state = atomic_load(&source->state);
    if (state == STORE_WRITER_EMPTY || (many && state == STORE_WRITER_GATHERING)) {
        store_writer_wake(source, many);
    }
}
