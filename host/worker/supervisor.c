#include "worker/supervisor.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/thread.h"
#include "worker/burial.h"
#include "worker/due.h"
#include "worker/events.h"
#include "worker/spare.h"
#include "worker/spawn.h"
#include "worker/tend.h"
#include "worker/threads.h"
#include "worker/worker.h"

/* Invariants:
 *
 *  (1) The thread starts every worker and lives until the last one is reaped: a worker asks the
 *      kernel to be killed when the thread that started it ends (child.h), so that it dies with the
 *      host. No other thread may start a worker.
 *  (2) The thread waits in epoll_wait() only, never for a worker. It wakes up only for an event, a
 *      request, or the earliest time at which something is due.
 *  (3) Crews are added at the head of `crews` under `lock`, and only the thread removes them (under
 *      `lock`); so the thread follows the list without the lock, from a head that it read under the
 *      lock.
 *  (4) A buried worker stays in `gone` until the end of the round: events of the same round may
 *      still refer to it.
 *  (5) Only the thread uses crew->due_ns; while a crew is tended, it is not among those that are
 * due. `attended` has exactly the crews that want attention, but for the one that is being noted or
 *      taken out; a crew is freed only while it is in neither.
 *  (6) Locks are taken in the order crew->lock, supervisor->lock. */

/* Most events taken in one round. */
#define EVENTS_MAX 64

/* -------------------------------------------------------------------- crews */

static struct crew *first_crew(struct supervisor *supervisor) {
    LOCK_SCOPE(&supervisor->lock);
    return supervisor->crews;
}

static void tell_gone(struct supervisor *supervisor, struct crew *crew) {
    void *user = crew->user;
    crew_free(crew);
    if (supervisor->options.gone != NULL) {
        supervisor->options.gone(supervisor->options.user, user);
    }
}

/* A crew that is over and wants attention again stays for one more round, as it is in `attended`.
 */
static void tend_crew(struct supervisor *supervisor, struct crew *crew, uint64_t now_ns) {
    due_remove(supervisor, crew);
    if (crew_tend(crew, now_ns) || atomic_load(&crew->wants_attention)) {
        due_add(supervisor, crew);
        return;
    }
    lock_take(&supervisor->lock);
    struct crew **at = &supervisor->crews;
    while (*at != crew) {
        at = &(*at)->next;
    }
    *at = crew->next;
    lock_release(&supervisor->lock);
    tell_gone(supervisor, crew);
}

/* Those that want it, and those that are due. To look through all in each round took 3.4 % of the
 * CPU time in which 1,000 plugins got their first call and a second one. */
static void tend_crews(struct supervisor *supervisor, uint64_t now_ns) {
    struct crew *next = NULL;
    for (struct crew *crew = atomic_exchange(&supervisor->attended, NULL); crew != NULL;
         crew = next) {
        next = crew->next_attended; /* first, as it may be set again from here on */
        atomic_store(&crew->wants_attention, false);
        tend_crew(supervisor, crew, now_ns);
    }
    for (struct crew *crew = due_take(supervisor, now_ns); crew != NULL; crew = next) {
        next = crew->due_next;
        tend_crew(supervisor, crew, now_ns);
    }
}

static void interrupt_crews(struct supervisor *supervisor) {
    for (struct crew *crew = first_crew(supervisor); crew != NULL; crew = crew->next) {
        crew_interrupt_all(crew);
    }
}

/* --------------------------------------------------------------- the thread */

static void handle(struct supervisor *supervisor, struct worker *worker, unsigned source,
                   uint32_t events, uint64_t now_ns) {
    OBJECT_CHECK(worker, WORKER_MAGIC);
    if (worker->is_buried) {
        return; /* in this round */
    }
    if (source == EVENT_DEATH) {
        worker_bury(worker, now_ns);
    } else if (source == EVENT_CLONE) {
        threads_answer(worker, (events & EPOLLIN) == 0, now_ns);
    } else {
        struct output *output = &worker->output;
        bool was_quiet = output->dropped == 0;
        if (!output_read(output, now_ns)) {
            events_remove_fd(supervisor, output->fd);
            output_close(output);
        }
        if (was_quiet && output->dropped > 0) {
            (void)crew_note_attention(worker->crew); /* to report it in time */
        }
        worker_hear(worker, now_ns); /* it may have been rung for */
    }
}

static void wait_and_handle(struct supervisor *supervisor) {
    struct epoll_event events[EVENTS_MAX];
    int timeout_ms = -1;
    if (atomic_load(&supervisor->attended) != NULL) { /* since they were tended, by that itself */
        timeout_ms = 0;
    } else if (supervisor->due != NULL) {
        /* Rounded up, or the thread would wake before anything is due and wait again. */
        uint64_t now_ns = clock_now_ns();
        uint64_t due_ns = supervisor->due->due_ns;
        uint64_t ms =
                due_ns <= now_ns ? 0 : (due_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
        timeout_ms = ms < INT_MAX ? (int)ms : INT_MAX;
    }
    /* -1 would mean a signal; this thread gets none. */
    int count = epoll_wait(supervisor->epoll_fd, events, EVENTS_MAX, timeout_ms);
    uint64_t now_ns = clock_now_ns();
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == 0) {
            uint64_t requests;
            ssize_t got = read(supervisor->event_fd, &requests, sizeof requests);
            (void)got;
            continue;
        }
        uintptr_t named = (uintptr_t)events[i].data.u64;
        handle(supervisor, (struct worker *)(named & ~EVENT_SOURCE_MASK),
               (unsigned)(named & EVENT_SOURCE_MASK), events[i].events, now_ns);
    }
}

static void *supervise(void *argument) {
    struct supervisor *supervisor = argument;
    bool was_stopping = false;
    bool is_over = false;
    while (!is_over) {
        wait_and_handle(supervisor);
        bool is_stopping = supervisor_is_stopping(supervisor);
        for (struct crew *crew = first_crew(supervisor);
             is_stopping && !was_stopping && crew != NULL; crew = crew->next) {
            (void)crew_note_attention(crew);
        }
        was_stopping = is_stopping;
        if (atomic_exchange(&supervisor->interrupts, false)) {
            interrupt_crews(supervisor);
        }
        while (supervisor->gone != NULL) { /* before their crews may be freed */
            struct worker *worker = supervisor->gone;
            supervisor->gone = worker->next_gone;
            worker_release(worker);
        }
        tend_crews(supervisor, clock_now_ns());
        spare_renew(supervisor);
        is_over = is_stopping;
        for (struct crew *crew = first_crew(supervisor); is_over && crew != NULL;
             crew = crew->next) {
            is_over = crew->workers == NULL;
        }
    }
    process_discard(&supervisor->spare);
    /* No worker is left, and no callback about a worker follows. */
    struct crew *next = NULL;
    for (struct crew *crew = first_crew(supervisor); crew != NULL; crew = next) {
        next = crew->next;
        lock_take(&crew->lock);
        crew->supervisor = NULL;
        bool is_left = crew->is_left;
        lock_release(&crew->lock);
        if (is_left) {
            tell_gone(supervisor, crew);
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------- life */

static void supervisor_free(struct supervisor *supervisor) {
    closep(&supervisor->epoll_fd);
    closep(&supervisor->event_fd);
    lock_finish(&supervisor->lock);
    free((char *)(uintptr_t)supervisor->options.worker_program);
    OBJECT_WIPE(supervisor, SUPERVISOR_MAGIC);
    free(supervisor);
}

struct supervisor *supervisor_create(const struct supervisor_options *options,
                                     struct toolrack_error *err) {
    struct supervisor *supervisor = calloc(1, sizeof *supervisor);
    if (supervisor == NULL) {
        (void)error_oom(err);
        return NULL;
    }
    supervisor->magic = SUPERVISOR_MAGIC;
    supervisor->options = *options;
    supervisor->options.worker_program = strdup(options->worker_program);
    supervisor->spare = PROCESS_NONE;
    supervisor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    supervisor->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lock_init(&supervisor->lock);
    int code = 0;
    if (supervisor->options.worker_program == NULL) {
        code = error_oom(err);
    } else if (supervisor->epoll_fd < 0 || supervisor->event_fd < 0 ||
               !events_add_fd(supervisor, supervisor->event_fd, 0)) {
        code = error_set(err, TOOLRACK_E_IO, "cannot make descriptors to watch workers with: %s%s",
                         strerror(errno),
                         errno == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
    } else {
        int failed = thread_start(&supervisor->thread, supervise, supervisor);
        code = failed == 0 ? 0
                           : error_set(err, TOOLRACK_E_IO,
                                       "cannot start the thread that watches workers: %s",
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
    OBJECT_CHECK(supervisor, SUPERVISOR_MAGIC);
    atomic_store_explicit(&supervisor->is_stopping, true, memory_order_release);
    supervisor_wake(supervisor);
    (void)pthread_join(supervisor->thread, NULL);
    supervisor_free(supervisor);
}

void supervisor_interrupt(struct supervisor *supervisor) {
    OBJECT_CHECK(supervisor, SUPERVISOR_MAGIC);
    atomic_store(&supervisor->interrupts, true);
    supervisor_wake(supervisor);
}

void supervisor_prepare(struct supervisor *supervisor) {
    OBJECT_CHECK(supervisor, SUPERVISOR_MAGIC);
    atomic_store(&supervisor->prepares, true);
    supervisor_wake(supervisor);
}

void supervisor_count(const struct supervisor *supervisor, struct supervisor_counts *ret) {
    OBJECT_CHECK(supervisor, SUPERVISOR_MAGIC);
    uint64_t ended = atomic_load_explicit(&supervisor->ended, memory_order_acquire); /* first */
    uint64_t started = atomic_load_explicit(&supervisor->started, memory_order_relaxed);
    *ret = (struct supervisor_counts){
            .workers = started - ended,
            .started = started,
            .replaced = atomic_load_explicit(&supervisor->replaced, memory_order_relaxed)};
}
