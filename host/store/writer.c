/* Invariants:
 *
 *  (1) A state is changed under the lock, except the change to EMPTY, which only the thread
 *      makes. The thread exists while any state is not EMPTY.
 *  (2) No row is missed: its owner adds the row first and then reads the state; the thread sets
 *      the state to EMPTY first and then looks for rows. One of the two sees the other's change.
 *  (3) No lock is held while a source is called. */
#include "store/writer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/object.h"
#include "base/thread.h"

struct store_writer {
    uint32_t magic; /* WRITER_MAGIC */
    struct lock lock;
    pthread_cond_t changed; /* a source has rows or many rows, or the thread shall end */
    struct store_writer_source *sources;
    bool started; /* the thread exists */
    bool stopping;
    pthread_t thread;
};
#define WRITER_MAGIC 0x72747277u

/* The source to write next: of those that are due or have many rows, the one that has gathered
 * longest, so that a busy source does not delay another. NULL: wait until *ret_until_ns; UINT64_MAX
 * means without limit. Caller holds the lock. */
static struct store_writer_source *find_due(struct store_writer *writer, uint64_t *ret_until_ns) {
    LOCK_ASSERT_HELD(&writer->lock);
    uint64_t now_ns = clock_now_ns();
    struct store_writer_source *due = NULL;
    *ret_until_ns = UINT64_MAX;
    for (struct store_writer_source *at = writer->sources; at != NULL; at = at->next) {
        int state = atomic_load(&at->state);
        if (state == STORE_WRITER_EMPTY) {
            continue;
        }
        if (state == STORE_WRITER_URGENT || at->due_ns <= now_ns) {
            due = due == NULL || at->due_ns < due->due_ns ? at : due;
        } else if (at->due_ns < *ret_until_ns) {
            *ret_until_ns = at->due_ns;
        }
    }
    return due;
}

/* Caller holds the lock. */
static void note_rows(struct store_writer_source *source, enum store_writer_rows rows) {
    LOCK_ASSERT_HELD(&source->writer->lock);
    int state = atomic_load(&source->state);
    if (rows != STORE_WRITER_NONE && state == STORE_WRITER_EMPTY) {
        source->due_ns = clock_now_ns() + (uint64_t)source->gather_ms * CLOCK_NS_PER_MS;
        atomic_store(&source->state, state = STORE_WRITER_GATHERING);
    }
    if (rows == STORE_WRITER_MANY && state == STORE_WRITER_GATHERING) {
        atomic_store(&source->state, STORE_WRITER_URGENT);
    }
}

static void *writer_main(void *argument) {
    struct store_writer *writer = argument;
    lock_take(&writer->lock);
    while (!writer->stopping) {
        uint64_t until_ns;
        struct store_writer_source *source = find_due(writer, &until_ns);
        if (source == NULL && until_ns == UINT64_MAX) {
            lock_wait(&writer->lock, &writer->changed);
        } else if (source == NULL) {
            struct timespec until = clock_timespec(until_ns);
            (void)lock_wait_until(&writer->lock, &writer->changed, &until);
        } else {
            atomic_store(&source->state, STORE_WRITER_WRITING);
            lock_release(&writer->lock);
            source->write(source->user);
            atomic_store(&source->state, STORE_WRITER_EMPTY);
            enum store_writer_rows rows = source->rows(source->user);
            lock_take(&writer->lock);
            note_rows(source, rows);
        }
    }
    lock_release(&writer->lock);
    return NULL;
}

void store_writer_wake(struct store_writer_source *source, bool many) {
    struct store_writer *writer = source->writer;
    OBJECT_CHECK(writer, WRITER_MAGIC);
    LOCK_SCOPE(&writer->lock);
    if (!writer->started && !writer->stopping) {
        writer->started = thread_start(&writer->thread, writer_main, writer) == 0;
    }
    if (writer->started) { /* else the next row tries again */
        note_rows(source, many ? STORE_WRITER_MANY : STORE_WRITER_SOME);
        (void)pthread_cond_signal(&writer->changed);
    }
}

/* -------------------------------------------------------------------- life */

struct store_writer *store_writer_create(void) {
    struct store_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return NULL;
    }
    writer->magic = WRITER_MAGIC;
    lock_init(&writer->lock);
    clock_cond_init(&writer->changed);
    return writer;
}

void store_writer_add(struct store_writer *writer, struct store_writer_source *source) {
    OBJECT_CHECK(writer, WRITER_MAGIC);
    LOCK_SCOPE(&writer->lock);
    source->writer = writer;
    atomic_init(&source->state, STORE_WRITER_EMPTY);
    source->next = writer->sources;
    writer->sources = source;
}

void store_writer_stop(struct store_writer *writer) {
    if (writer == NULL) {
        return;
    }
    OBJECT_CHECK(writer, WRITER_MAGIC);
    lock_take(&writer->lock);
    writer->stopping = true;
    bool started = writer->started;
    writer->started = false;
    (void)pthread_cond_signal(&writer->changed);
    lock_release(&writer->lock);
    if (started) {
        (void)pthread_join(writer->thread, NULL);
    }
}

void store_writer_destroy(struct store_writer *writer) {
    store_writer_stop(writer);
    if (writer == NULL) {
        return;
    }
    OBJECT_WIPE(writer, WRITER_MAGIC);
    (void)pthread_cond_destroy(&writer->changed);
    lock_finish(&writer->lock);
    free(writer);
}
