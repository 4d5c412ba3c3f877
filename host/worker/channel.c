#include "worker/channel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/object.h"
#include "base/sanitizer.h"
#include "worker/handover.h"

/* Invariants:
 *
 *  (1) The file has MEMORY_SIZE bytes and can have no other size, so no access to a mapping is
 *      behind its end. Pages up to INLINE_END are allocated at creation; pages of the first
 *      `bulk_pages` bytes of the bulk are allocated before the host's first frame of that size. The
 *      host writes nowhere else, and reads the bulk with pread(), which does not fail if the worker
 *      removed a page; or once the descriptor is closed, from pages that it has made sure of, as
 *      the worker can remove none then.
 *  (2) The host reads nothing back that it wrote. It reads the worker's control words once
 *      (handover.h) and copies the worker's payload once, into `taken`, before it is used.
 *  (3) The bulk belongs to the side that holds the channel. The other side has copied a frame in
 *      the bulk before it hands the channel back, so when the host has taken a frame, nothing in
 *      the bulk is needed any more.
 *  (4) Between frames the bulk's pages, its mapping and (after channel_settle()) each `taken` have
 *      CHANNEL_BULK_KEPT_MAX bytes at most. A worker that writes to the bulk without sending a
 *      frame can allocate the pages of the bulk, and no more.
 *  (5) A call is identified by the number of the hand-over that began it, which is odd and so never
 *      0. A cancellation names this number; if it comes too late, it names a call that is over. */

/* ------------------------------------------------------------------- layout */

struct control {
    uint32_t magic;
    uint32_t version;
    struct handover_side host;
    struct handover_side worker;
    _Alignas(64) atomic_uint cancelled; /* number of the cancelled call; written by the host */
};
#define CONTROL_MAGIC 0x6c6e6863u

/* The bulk is aligned to 64 KiB, the largest page size, and mapped in such units. */
#define BULK_UNIT    (64u * 1024)
#define CRASH_AT     4096u
#define TO_WORKER_AT (CRASH_AT + CHANNEL_CRASH_SIZE)
#define TO_HOST_AT   (TO_WORKER_AT + CHANNEL_INLINE_MAX)
#define INLINE_END   (TO_HOST_AT + CHANNEL_INLINE_MAX)
#define BULK_AT      (3 * BULK_UNIT)
#define MEMORY_SIZE  ((size_t)BULK_AT + CHANNEL_PAYLOAD_MAX)
_Static_assert(sizeof(struct control) <= CRASH_AT, "the control words have their own page");
_Static_assert(INLINE_END <= BULK_AT, "what is inline ends before the bulk");
_Static_assert(CHANNEL_PAYLOAD_MAX % BULK_UNIT == 0, "the bulk is whole units");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "words that two processes share need no lock");

/* ------------------------------------------------------------------- object */

/* Memory of the receiver's own. */
struct taken {
    char *data;
    size_t room;
};
#define TAKEN_ROOM_MIN 4096u

struct channel {
    uint32_t magic;
    struct handover handover;
    struct handover_note note; /* of the frame that has been received but not taken yet */
    bool is_untaken;
    bool is_host;
    int fd; /* -1 in the worker, and after channel_close_file() */
    char *memory;
    char *bulk;         /* mapped apart */
    size_t bulk_mapped; /* a power of two, or all */
    size_t bulk_pages;  /* host: bytes of it for which the host allocated pages */
    size_t room_size;   /* what channel_room() was asked for */
    const char *inbox;
    char *outbox;
    atomic_uint call;      /* host: number of the last call sent; worker: received */
    struct taken taken[2]; /* [1]: of FRAME_CALL, [0]: of other frames */
};
#define CHANNEL_MAGIC 0x6e616863u

static struct control *control_of(const struct channel *channel) {
    return (struct control *)(void *)channel->memory;
}

/* ----------------------------------------------------------- making and joining */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#endif

static int make_memory(struct toolrack_error *err) {
    /* Growing the file above the process's limit of file sizes would end the process with a
     * signal. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < MEMORY_SIZE) {
        (void)error_set(
                err, TOOLRACK_E_IO,
                "cannot make memory to share with a worker: this process may not make files "
                "of %zu MiB; raise the limit of file sizes (ulimit -f)",
                MEMORY_SIZE >> 20);
        return -1;
    }
    CLEANUP(closep)
    int fd = memfd_create("toolrack-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) {
        fd = memfd_create("toolrack-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    if (fd < 0) {
        (void)error_set(err, TOOLRACK_E_IO, "cannot make memory to share with a worker: %s%s",
                        strerror(errno),
                        errno == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
        return -1;
    }
    if (ftruncate(fd, (off_t)MEMORY_SIZE) < 0 || fallocate(fd, 0, 0, INLINE_END) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        (void)error_set(err,
                        errno == ENOSPC || errno == ENOMEM ? TOOLRACK_E_NO_MEMORY : TOOLRACK_E_IO,
                        "cannot prepare memory to share with a worker: %s", strerror(errno));
        return -1;
    }
    int made = fd;
    fd = -1;
    return made;
}

static void *map(int fd, size_t at, size_t size) {
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* `fd` is mapped, not kept. NULL: err is set. */
static struct channel *make_half(int fd, bool is_host, struct toolrack_error *err) {
    struct channel *channel = calloc(1, sizeof *channel);
    if (channel == NULL) {
        (void)error_oom(err);
        return NULL;
    }
    channel->magic = CHANNEL_MAGIC;
    channel->fd = -1;
    channel->is_host = is_host;
    channel->memory = map(fd, 0, INLINE_END);
    channel->bulk = map(fd, BULK_AT, BULK_UNIT);
    channel->bulk_mapped = channel->bulk != NULL ? BULK_UNIT : 0;
    if (channel->memory == NULL || channel->bulk == NULL) {
        (void)error_set(err, TOOLRACK_E_NO_MEMORY, "cannot map the memory shared with a worker: %s",
                        strerror(errno));
        channel_destroy(channel);
        return NULL;
    }
    struct control *control = control_of(channel);
    channel->inbox = channel->memory + (is_host ? TO_HOST_AT : TO_WORKER_AT);
    channel->outbox = channel->memory + (is_host ? TO_WORKER_AT : TO_HOST_AT);
    handover_init(&channel->handover, is_host ? &control->host : &control->worker,
                  is_host ? &control->worker : &control->host, is_host);
    return channel;
}

struct channel *channel_create(struct toolrack_error *err) {
    CLEANUP(closep) int fd = make_memory(err);
    struct channel *channel = fd >= 0 ? make_half(fd, true, err) : NULL;
    if (channel == NULL) {
        return NULL;
    }
    struct control *control = control_of(channel);
    control->magic = CONTROL_MAGIC;
    control->version = CHANNEL_VERSION;
    channel->fd = fd;
    fd = -1;
    return channel;
}

struct channel *channel_join(int memory_fd, struct toolrack_error *err) {
    CLEANUP(closep) int fd = memory_fd;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != (off_t)MEMORY_SIZE) {
        (void)error_set(
                err, TOOLRACK_E_INVALID,
                "the memory from the host does not have the size of this version's channel; "
                "install the worker program and the library together");
        return NULL;
    }
    struct channel *channel = make_half(fd, false, err);
    const struct control *control = channel != NULL ? control_of(channel) : NULL;
    if (control != NULL &&
        (control->magic != CONTROL_MAGIC || control->version != CHANNEL_VERSION)) {
        (void)error_set(err, TOOLRACK_E_INVALID,
                        "the host speaks version %u of the channel, the worker program version %u; "
                        "install the worker program and the library together",
                        control->version, CHANNEL_VERSION);
        channel_destroy(channel);
        return NULL;
    }
    return channel;
}

void channel_destroy(struct channel *channel) {
    if (channel == NULL) {
        return;
    }
    if (channel->memory != NULL) {
        (void)munmap(channel->memory, INLINE_END);
    }
    if (channel->bulk != NULL) {
        (void)munmap(channel->bulk, channel->bulk_mapped);
    }
    closep(&channel->fd);
    for (size_t i = 0; i < ARRAY_LENGTH(channel->taken); i++) {
        free(channel->taken[i].data);
    }
    OBJECT_WIPE(channel, CHANNEL_MAGIC);
    free(channel);
}

int channel_fd(const struct channel *channel) {
    return channel->fd;
}

void *channel_crash_area(struct channel *channel) {
    return channel->memory + CRASH_AT;
}

/* --------------------------------------------------------------------- bulk */

/* mremap(); NULL: there is no memory. ThreadSanitizer does not know mremap(): it would take a
 * thread that uses an address and another one that used it before, for other memory, for a race.
 * What it does know is that mmap() begins something new. */
static void *move(void *old, size_t old_size, size_t size) {
#if SANITIZER_THREAD
    void *to = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (to == MAP_FAILED) {
        return NULL;
    }
    void *moved = mremap(old, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
#else
    void *moved = mremap(old, old_size, size, MREMAP_MAYMOVE);
#endif
    return moved == MAP_FAILED ? NULL : moved;
}

/* Map `size` bytes of the bulk, or more. mremap() needs no descriptor, and the worker has none. */
static bool map_bulk(struct channel *channel, size_t size) {
    size_t mapped = BULK_UNIT;
    while (mapped < size) {
        mapped *= 2;
    }
    mapped = mapped < CHANNEL_PAYLOAD_MAX ? mapped : CHANNEL_PAYLOAD_MAX;
    if (mapped == channel->bulk_mapped) {
        return true;
    }
    char *moved = move(channel->bulk, channel->bulk_mapped, mapped);
    if (moved == NULL) {
        return false;
    }
    channel->bulk = moved;
    channel->bulk_mapped = mapped;
    return true;
}

/* Memory above CHANNEL_BULK_KEPT_MAX is mapped only while it is used. */
static void shrink_bulk(struct channel *channel) {
    if (channel->bulk_mapped > CHANNEL_BULK_KEPT_MAX) {
        (void)map_bulk(channel, CHANNEL_BULK_KEPT_MAX);
    }
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22 /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* Have the pages of the first `size` bytes of the bulk, or an error where a later access would get
 * a signal. */
static bool populate(struct channel *channel, size_t size, int advice) {
    int failed;
    if (size > channel->bulk_mapped && !map_bulk(channel, size)) {
        return false;
    }
    do {
        failed = madvise(channel->bulk, size, advice);
    } while (failed < 0 && (errno == EINTR || errno == EAGAIN));
    return failed == 0;
}

static bool allocate_bulk(struct channel *channel, size_t size) {
    int failed;
    if (channel->fd < 0) {
        return populate(channel, size, MADV_POPULATE_WRITE);
    }
    do {
        failed = fallocate(channel->fd, 0, BULK_AT, (off_t)size);
    } while (failed < 0 && errno == EINTR);
    return failed == 0;
}

/* Free the pages above CHANNEL_BULK_KEPT_MAX, whichever side allocated them. */
static void free_bulk(struct channel *channel) {
    const size_t size = CHANNEL_PAYLOAD_MAX - CHANNEL_BULK_KEPT_MAX;
    if (channel->fd >= 0) {
        (void)fallocate(channel->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)BULK_AT + CHANNEL_BULK_KEPT_MAX, (off_t)size);
    } else if (map_bulk(channel, CHANNEL_PAYLOAD_MAX)) {
        (void)madvise(channel->bulk + CHANNEL_BULK_KEPT_MAX, size, MADV_REMOVE);
    }
}

void channel_close_file(struct channel *channel) {
    OBJECT_CHECK(channel, CHANNEL_MAGIC);
    assert(channel->is_host);
    if (channel->fd >= 0 && madvise(channel->bulk, 0, MADV_POPULATE_READ) == 0) {
        closep(&channel->fd);
        channel->fd = -1;
    }
}

/* ------------------------------------------------------------------- sending */

void *channel_room(struct channel *channel, size_t size) {
    OBJECT_CHECK(channel, CHANNEL_MAGIC);
    assert(channel->handover.held);
    channel->room_size = size;
    if (size <= CHANNEL_INLINE_MAX) {
        return channel->outbox;
    }
    if (size > CHANNEL_PAYLOAD_MAX || (size > channel->bulk_mapped && !map_bulk(channel, size))) {
        return NULL;
    }
    if (channel->is_host && size > channel->bulk_pages) { /* writing there must not fail */
        if (!allocate_bulk(channel, size)) {
            return NULL;
        }
        channel->bulk_pages = size;
    }
    return channel->bulk;
}

void channel_send(struct channel *channel, enum frame_type type, size_t size) {
    assert(size == 0 || size == channel->room_size);
    if (type == FRAME_CALL) {
        atomic_store_explicit(&channel->call, handover_next(&channel->handover),
                              memory_order_relaxed);
    }
    handover_give(&channel->handover, (struct handover_note){(uint32_t)type, (uint32_t)size});
    shrink_bulk(channel);
}

/* ----------------------------------------------------------------- receiving */

static void release(struct taken *taken) {
    free(taken->data);
    *taken = (struct taken){0};
}

/* Room for `size` bytes and a zero byte; old contents are not kept. */
static bool make_room(struct taken *taken, size_t size) {
    bool is_kept = taken->room <= CHANNEL_BULK_KEPT_MAX;
    if (size < taken->room && (is_kept || size >= CHANNEL_BULK_KEPT_MAX)) {
        return true;
    }
    size_t room = TAKEN_ROOM_MIN;
    while (room <= size && room < CHANNEL_BULK_KEPT_MAX) {
        room *= 2;
    }
    room = room > size ? room : size + 1;
    release(taken);
    taken->data = malloc(room);
    taken->room = taken->data != NULL ? room : 0;
    return taken->data != NULL;
}

/* The same for what its receiver keeps: no more than it needs. */
static bool make_own(struct taken *taken, size_t size) {
    release(taken);
    taken->data = malloc(size + 1);
    taken->room = taken->data != NULL ? size + 1 : 0;
    return taken->data != NULL;
}

static bool copy_out(struct channel *channel, char *to, size_t size) {
    if (size <= CHANNEL_INLINE_MAX) {
        memcpy(to, channel->inbox, size);
        return true;
    }
    if (channel->fd < 0) {
        if (channel->is_host ? !populate(channel, size, MADV_POPULATE_READ)
                             : size > channel->bulk_mapped && !map_bulk(channel, size)) {
            return false;
        }
        memcpy(to, channel->bulk, size);
        return true;
    }
    /* The host reads from the file as long as it has it: if the worker removed pages, reading a
     * mapping could raise a signal. */
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(channel->fd, to + done, size - done, (off_t)(BULK_AT + done));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static enum channel_wait take(struct channel *channel, struct frame_in *ret) {
    const struct handover_note note = channel->note;
    struct taken *taken = &channel->taken[note.type == FRAME_CALL];
    if (!(note.type == FRAME_RESULT ? make_own(taken, note.size) : make_room(taken, note.size)) ||
        !copy_out(channel, taken->data, note.size)) {
        return CHANNEL_NO_MEMORY;
    }
    taken->data[note.size] = '\0';
    channel->is_untaken = false;
    size_t used = note.size > channel->bulk_pages ? note.size : channel->bulk_pages;
    if (channel->is_host && used > CHANNEL_BULK_KEPT_MAX) {
        /* Free the pages of this frame and of the host's own last frame. */
        free_bulk(channel);
        channel->bulk_pages = channel->bulk_pages < CHANNEL_BULK_KEPT_MAX ? channel->bulk_pages
                                                                          : CHANNEL_BULK_KEPT_MAX;
    }
    shrink_bulk(channel);
    *ret = (struct frame_in){(enum frame_type)note.type, taken->data, note.size};
    return CHANNEL_FRAME;
}

enum channel_wait channel_receive(struct channel *channel, uint64_t until_ns,
                                  struct frame_in *ret) {
    OBJECT_CHECK(channel, CHANNEL_MAGIC);
    if (!channel->is_untaken) {
        enum channel_wait seen = handover_await(&channel->handover, until_ns, &channel->note);
        if (seen != CHANNEL_FRAME) {
            return seen;
        }
        uint32_t type = channel->note.type;
        bool is_frame = channel->is_host ? type >= FRAME_READY && type < FRAME_TYPE_COUNT
                                         : type > FRAME_NONE && type < FRAME_READY;
        if (!is_frame || channel->note.size > CHANNEL_PAYLOAD_MAX) {
            handover_break(&channel->handover);
            return CHANNEL_NONSENSE;
        }
        channel->is_untaken = true;
        if (type == FRAME_CALL) {
            atomic_store_explicit(&channel->call, channel->handover.number, memory_order_relaxed);
        }
    }
    return take(channel, ret);
}

char *channel_keep(struct channel *channel, size_t *ret_room) {
    struct taken kept = channel->taken[0];
    channel->taken[0] = (struct taken){0};
    *ret_room = kept.room;
    return kept.data;
}

bool channel_is_held(const struct channel *channel) {
    return handover_has_come(&channel->handover);
}

/* ------------------------------------------------------- from beside and between */

void channel_settle(struct channel *channel) {
    handover_forget_interrupts(&channel->handover);
    for (size_t i = 0; i < ARRAY_LENGTH(channel->taken); i++) {
        if (channel->taken[i].room > CHANNEL_BULK_KEPT_MAX) {
            release(&channel->taken[i]);
        }
    }
}

void channel_interrupt(struct channel *channel) {
    handover_interrupt(&channel->handover);
}

void channel_abandon(struct channel *channel) {
    handover_abandon(&channel->handover);
}

void channel_cancel(struct channel *channel) {
    unsigned call = atomic_load_explicit(&channel->call, memory_order_relaxed);
    atomic_store_explicit(&control_of(channel)->cancelled, call, memory_order_relaxed);
}

bool channel_is_cancelled(const struct channel *channel) {
    unsigned cancelled =
            atomic_load_explicit(&control_of(channel)->cancelled, memory_order_relaxed);
    return cancelled != 0 &&
           cancelled == atomic_load_explicit(&channel->call, memory_order_relaxed);
}
