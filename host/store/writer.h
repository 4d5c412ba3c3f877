/* writer.h - the thread that writes records of calls to the store.
 *
 * Nothing on the path of a call waits for the store. Each source (the log of calls, the log of
 * decisions) gathers its rows in memory, and the writer's thread calls the source to write them in
 * batches. The thread starts with the first row of any source and sleeps while no source has rows.
 *
 *     empty --- the first row ---> gathering --- `gather_ms` are over, or
 *       ^                            |   ^       there are many rows ------> writing
 *       |                            |   |                                      |
 *       +---- no row is left --------|---+------------- rows are left ----------+
 *                                    +- there are many rows: at once -> writing
 *
 * A source does this for each row, without holding a lock of the writer:
 *
 *     put the row where write() finds it;
 *     store_writer_note(&source, the rows are many); */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct store_writer;

/* How much a source has to write. */
enum store_writer_rows { STORE_WRITER_NONE, STORE_WRITER_SOME, STORE_WRITER_MANY };

enum store_writer_state {
    STORE_WRITER_EMPTY,     /* the next row wakes the thread */
    STORE_WRITER_GATHERING, /* its rows are written when `gather_ms` are over or there are many */
    STORE_WRITER_URGENT,    /* its rows are written next */
    STORE_WRITER_WRITING    /* the thread calls rows() again when it has written these */
};

/** One source of rows. Its owner sets the first four members, and must not move it until
 * store_writer_destroy(). */
struct store_writer_source {
    uint32_t gather_ms; /* how long the first row may wait for others */
    /* Write all rows, and log failures. [the writer's thread] */
    void (*write)(void *user);
    /* How many rows there are. A row that is being added counts when its owner found, or will find,
     * STORE_WRITER_WRITING. [the writer's thread] */
    enum store_writer_rows (*rows)(void *user);
    void *user;

    struct store_writer *writer; /* this and the rest are set by store_writer_add() */
    struct store_writer_source *next;
    uint64_t due_ns;  /* while GATHERING; guarded by the writer's lock */
    atomic_int state; /* enum store_writer_state */
};

/** @return a writer without a thread yet; NULL when out of memory. [any-thread] */
struct store_writer *store_writer_create(void);

/** End the thread, after the write that is running. The owners of the sources write what is left;
 * rows that come later start no thread. NULL is ignored. [any-thread] */
void store_writer_stop(struct store_writer *writer);

/** Stop it and release it; NULL is ignored. [any-thread] */
void store_writer_destroy(struct store_writer *writer);

/** Add a source, before its first row. Borrowed until store_writer_destroy(). [any-thread] */
void store_writer_add(struct store_writer *writer, struct store_writer_source *source);

/** The slow part of store_writer_note(). [any-thread] */
void store_writer_wake(struct store_writer_source *source, bool many);

/** To be called after a row was put into the source. Caller holds no lock that the source's write()
 * or rows() takes.
 * @param many  the rows should not wait for others any longer. [any-thread] */
static inline void store_writer_note(struct store_writer_source *source, bool many) {
    int state = atomic_load(&source->state);
    if (state == STORE_WRITER_EMPTY || (many && state == STORE_WRITER_GATHERING)) {
        store_writer_wake(source, many);
    }
}
