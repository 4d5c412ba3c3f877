#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "worker/crew-parts.h"

/* Invariants:
 *
 *  (1) The thread starts every worker and lives until the last one is reaped: a worker asks the
 *      kernel to be killed when the thread that started it ends (child.h), so that it dies with
 *      the host. Nothing else may start one.
 *  (2) The thread waits in epoll_wait() alone. It never waits for a worker, and wakes up for
 *      nothing: an event, a request, or the earliest moment at which something is due.
 *  (3) `crews` is added to at its head under `lock`, and taken from by the thread alone; so the
 *      thread follows it without the lock, from a head that it read under the lock.
 *  (4) A worker that is buried stays in `gone` until the turn is over: events of the same turn may
 *      still name it.
 *  (5) crew->due_ns is the thread's; `due_ns` is never later than the earliest of them.
 *  (6) Locks are taken in the order crew->lock, supervisor->lock. */

/* Most events taken in one turn. */
#define EVENTS_MAX 64

/* A filter depends on network and spawn. */
#define FILTER_COUNT 4u

struct supervisor {
    struct supervisor_options options; /* worker_program is owned */
    int epoll_fd;
    int event_fd;
    pthread_t thread;
    atomic_bool is_stopping;

    /* The thread's. */
    uint64_t due_ns; /* 0: never */
    struct worker *gone;

    pthread_mutex_t lock; /* guards what follows */
    struct crew *crews;
    struct buf filters[FILTER_COUNT]; /* made when first needed, then never changed */
    bool has_filter[FILTER_COUNT];
};

const struct supervisor_options *supervisor_options_of(const struct supervisor *supervisor) {
    return &supervisor->options;
}

bool supervisor_is_stopping(const struct supervisor *supervisor) {
    return atomic_load_explicit(&supervisor->is_stopping, memory_order_acquire);
}

int supervisor_filter(struct supervisor *supervisor, const struct sandbox_policy *policy,
                      const struct buf **ret, struct toolrack_error *err) {
    size_t which = (policy->network ? 1u : 0u) | (policy->spawn ? 2u : 0u);
    int code = 0;
    (void)pthread_mutex_lock(&supervisor->lock);
    if (!supervisor->has_filter[which]) {
        buf_clear(&supervisor->filters[which]);
        code = sandbox_filter(policy, &supervisor->filters[which], err);
        supervisor->has_filter[which] = code == 0;
    }
    (void)pthread_mutex_unlock(&supervisor->lock);
    if (code == 0) {
        *ret = &supervisor->filters[which];
    }
    return code;
}

/* ------------------------------------------------------------- what it waits for */

/* What an event is about stands in the low bits of the worker's address. */
enum source { SOURCE_DEATH, SOURCE_SOCKET, SOURCE_STREAM };
#define SOURCE_MASK ((uintptr_t)7)
_Static_assert(_Alignof(struct worker) > SOURCE_MASK, "the low bits of the address are free");
_Static_assert(SOURCE_STREAM + STREAM_COUNT - 1 <= SOURCE_MASK, "a source fits into them");

static uint64_t name_source(const struct worker *worker, unsigned source) {
    return (uint64_t)((uintptr_t)worker | source);
}

static bool watch(struct supervisor *supervisor, int fd, uint64_t source) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = source};
    return epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void unwatch(struct supervisor *supervisor, int fd) {
    if (fd >= 0) {
        (void)epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    }
}

bool supervisor_watch(struct supervisor *supervisor, struct worker *worker) {
    bool done = watch(supervisor, worker->process.pidfd, name_source(worker, SOURCE_DEATH));
    for (unsigned i = 0; done && i < STREAM_COUNT; i++) {
        done = watch(supervisor, worker->output.streams[i].fd,
                     name_source(worker, SOURCE_STREAM + i));
    }
    if (done) {
        supervisor_listen(supervisor, worker, true);
        done = worker->is_listening;
    }
    return done;
}

/* A worker that has nothing to say there must not be able to wake the thread again and again. */
void supervisor_listen(struct supervisor *supervisor, struct worker *worker, bool listens) {
    if (listens == worker->is_listening) {
        return;
    }
    if (listens) {
        worker->is_listening =
                watch(supervisor, worker->process.socket, name_source(worker, SOURCE_SOCKET));
    } else {
        unwatch(supervisor, worker->process.socket);
        worker->is_listening = false;
    }
}

void supervisor_unwatch(struct supervisor *supervisor, struct worker *worker) {
    supervisor_listen(supervisor, worker, false);
    unwatch(supervisor, worker->process.pidfd);
    for (unsigned i = 0; i < STREAM_COUNT; i++) {
        unwatch(supervisor, worker->output.streams[i].fd);
    }
}

void supervisor_forget(struct supervisor *supervisor, struct worker *worker) {
    supervisor_unwatch(supervisor, worker);
    worker->next_gone = supervisor->gone;
    supervisor->gone = worker;
}

void supervisor_wake(struct supervisor *supervisor) {
    const uint64_t one = 1;
    ssize_t written = write(supervisor->event_fd, &one, sizeof one);
    (void)written; /* it fails only when the thread is to be woken anyway */
}

/* -------------------------------------------------------------------- crews */

void supervisor_add(struct supervisor *supervisor, struct crew *crew) {
    (void)pthread_mutex_lock(&supervisor->lock);
    crew->next = supervisor->crews;
    supervisor->crews = crew;
    (void)pthread_mutex_unlock(&supervisor->lock);
}

static struct crew *first_crew(struct supervisor *supervisor) {
    (void)pthread_mutex_lock(&supervisor->lock);
    struct crew *crew = supervisor->crews;
    (void)pthread_mutex_unlock(&supervisor->lock);
    return crew;
}

static void remove_crew(struct supervisor *supervisor, struct crew *crew) {
    (void)pthread_mutex_lock(&supervisor->lock);
    struct crew **at = &supervisor->crews;
    while (*at != crew) {
        at = &(*at)->next;
    }
    *at = crew->next;
    (void)pthread_mutex_unlock(&supervisor->lock);
}

static void tell_gone(struct supervisor *supervisor, struct crew *crew) {
    void *user = crew->user;
    crew_free(crew);
    if (supervisor->options.gone != NULL) {
        supervisor->options.gone(supervisor->options.user, user);
    }
}

static void note_due(struct supervisor *supervisor, uint64_t due_ns) {
    if (due_ns != 0 && (supervisor->due_ns == 0 || due_ns < supervisor->due_ns)) {
        supervisor->due_ns = due_ns;
    }
}

/* Crews are as many as plugins in use, and this runs when something happened: to keep them in an
 * order would cost more than to look at each. */
static void tend_crews(struct supervisor *supervisor, uint64_t now_ns) {
    supervisor->due_ns = 0;
    struct crew *next = NULL;
    for (struct crew *crew = first_crew(supervisor); crew != NULL; crew = next) {
        next = crew->next;
        bool is_due = crew->due_ns != 0 && crew->due_ns <= now_ns;
        bool wants = atomic_exchange(&crew->wants_attention, false);
        if ((is_due || wants) && !crew_tend(crew, now_ns)) {
            remove_crew(supervisor, crew);
            tell_gone(supervisor, crew);
            continue;
        }
        note_due(supervisor, crew->due_ns);
    }
}

/* --------------------------------------------------------------- the thread */

static void handle_stream(struct supervisor *supervisor, struct worker *worker, unsigned stream,
                          uint64_t now_ns) {
    struct output *output = &worker->output;
    bool was_quiet = output->dropped == 0;
    if (!output_read(output, stream, now_ns)) {
        unwatch(supervisor, output->streams[stream].fd);
        output_close(output, stream);
    }
    if (was_quiet && output->dropped > 0) {
        atomic_store(&worker->crew->wants_attention, true); /* to say so in time */
    }
}

static void handle(struct supervisor *supervisor, struct worker *worker, unsigned source,
                   uint64_t now_ns) {
    assert(worker->magic == WORKER_MAGIC);
    if (worker->is_buried) {
        return; /* in this turn */
    }
    switch (source) {
    case SOURCE_DEATH: worker_bury(worker, now_ns); break;
    case SOURCE_SOCKET: worker_hear(worker, now_ns); break;
    default: handle_stream(supervisor, worker, source - SOURCE_STREAM, now_ns); break;
    }
}

static void release_gone(struct supervisor *supervisor) {
    while (supervisor->gone != NULL) {
        struct worker *worker = supervisor->gone;
        supervisor->gone = worker->next_gone;
        worker_release(worker);
    }
}

/* Rounded up: it would be woken before anything is due, and wait again. */
static int timeout_ms(const struct supervisor *supervisor) {
    if (supervisor->due_ns == 0) {
        return -1;
    }
    uint64_t now_ns = clock_now_ns();
    uint64_t ms = supervisor->due_ns > now_ns
                          ? (supervisor->due_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS
                          : 0;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

static int wait_for_events(const struct supervisor *supervisor, struct epoll_event *events) {
    int count = epoll_wait(supervisor->epoll_fd, events, EVENTS_MAX, timeout_ms(supervisor));
    return count < 0 ? 0 : count; /* a signal, which this thread takes none of */
}

static void handle_events(struct supervisor *supervisor, const struct epoll_event *events,
                          int count, uint64_t now_ns) {
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == 0) {
            uint64_t requests;
            ssize_t got = read(supervisor->event_fd, &requests, sizeof requests);
            (void)got;
            continue;
        }
        uintptr_t named = (uintptr_t)events[i].data.u64;
        handle(supervisor, (struct worker *)(named & ~SOURCE_MASK), (unsigned)(named & SOURCE_MASK),
               now_ns);
    }
}

static void attend_all(struct supervisor *supervisor) {
    for (struct crew *crew = first_crew(supervisor); crew != NULL; crew = crew->next) {
        atomic_store(&crew->wants_attention, true);
    }
}

static bool has_workers(struct supervisor *supervisor) {
    for (struct crew *crew = first_crew(supervisor); crew != NULL; crew = crew->next) {
        if (crew->workers != NULL) {
            return true;
        }
    }
    return false;
}

/* No worker is left, and nobody is told of one any more. */
static void leave_crews(struct supervisor *supervisor) {
    struct crew *next = NULL;
    for (struct crew *crew = first_crew(supervisor); crew != NULL; crew = next) {
        next = crew->next;
        (void)pthread_mutex_lock(&crew->lock);
        crew->supervisor = NULL;
        bool is_left = crew->is_left;
        (void)pthread_mutex_unlock(&crew->lock);
        if (is_left) {
            tell_gone(supervisor, crew);
        }
    }
}

static void *supervise(void *argument) {
    struct supervisor *supervisor = argument;
    struct epoll_event events[EVENTS_MAX];
    bool was_stopping = false;
    for (;;) {
        int count = wait_for_events(supervisor, events);
        uint64_t now_ns = clock_now_ns();
        handle_events(supervisor, events, count, now_ns);
        bool is_stopping = supervisor_is_stopping(supervisor);
        if (is_stopping && !was_stopping) {
            attend_all(supervisor);
        }
        was_stopping = is_stopping;
        release_gone(supervisor); /* before their crews may go */
        tend_crews(supervisor, now_ns);
        if (is_stopping && !has_workers(supervisor)) {
            break;
        }
    }
    leave_crews(supervisor);
    return NULL;
}

/* ------------------------------------------------------------------- life */

static void supervisor_free(struct supervisor *supervisor) {
    closep(&supervisor->epoll_fd);
    closep(&supervisor->event_fd);
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        buf_finish(&supervisor->filters[i]);
    }
    (void)pthread_mutex_destroy(&supervisor->lock);
    free((char *)(uintptr_t)supervisor->options.worker_program);
    free(supervisor);
}

static int open_descriptors(struct supervisor *supervisor, struct toolrack_error *err) {
    supervisor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    supervisor->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return supervisor->epoll_fd >= 0 && supervisor->event_fd >= 0 &&
                           watch(supervisor, supervisor->event_fd, 0)
                   ? 0
                   : error_set(err, TOOLRACK_E_IO, "no descriptors to watch workers with: %s%s",
                               strerror(errno),
                               errno == EMFILE ? "; raise the limit of open files (ulimit -n)"
                                               : "");
}

struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct toolrack_error *err) {
    struct supervisor *supervisor = calloc(1, sizeof *supervisor);
    if (supervisor == NULL) {
        (void)error_oom(err);
        return NULL;
    }
    supervisor->options = *options;
    supervisor->options.worker_program = strdup(options->worker_program);
    supervisor->epoll_fd = -1;
    supervisor->event_fd = -1;
    (void)pthread_mutex_init(&supervisor->lock, NULL);
    int code = supervisor->options.worker_program == NULL ? error_oom(err)
                                                          : open_descriptors(supervisor, err);
    if (code == 0) {
        int failed = thread_start(&supervisor->thread, supervise, supervisor);
        code = failed == 0 ? 0
                           : error_set(err, TOOLRACK_E_IO,
                                       "the thread that watches workers cannot be started: %s",
                                       strerror(failed));
    }
    if (code < 0) {
        supervisor_free(supervisor);
        return NULL;
    }
    return supervisor;
}

void supervisor_destroy(struct supervisor *supervisor) {
    if (supervisor == NULL) {
        return;
    }
    atomic_store_explicit(&supervisor->is_stopping, true, memory_order_release);
    supervisor_wake(supervisor);
    (void)pthread_join(supervisor->thread, NULL);
    supervisor_free(supervisor);
}
