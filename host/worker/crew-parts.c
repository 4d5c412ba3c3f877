#include "worker/crew-parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/command.h"
#include "base/error.h"

/* Invariants, all under crew->lock; crew_check_locked() asserts them:
 *
 *  (1) `idle` holds exactly the IDLE lanes, each of a READY worker. It is empty while calls wait in
 *      line: a lane that becomes free goes to the first call.
 *  (2) A lane is BUSY from the moment it is taken or given to a waiter until crew_run() gives it
 *      back, and holds a reference to its worker until then.
 *  (3) A waiter is in line, or has a lane, or has failed; the code that takes it out of the line
 *      sets one of the latter two. The waiter is on its caller's stack: after that, others only
 *      signal its condition, with the lock held.
 *  (4) call->lane and call->waiter are set only while an interrupt may use them.
 *  (5) A call does not wait if nothing before its deadline could give it a lane.
 *  (6) `live`, `retired`, `starting`, `waiting` and `busy` equal the counts of their lists.
 *  (7) A RESTING lane is of a withheld worker, and no IDLE lane is. */

bool supervisor_is_stopping(const struct supervisor *supervisor) {
    return atomic_load_explicit(&supervisor->is_stopping, memory_order_acquire);
}

void supervisor_wake(struct supervisor *supervisor) {
    const uint64_t one = 1;
    ssize_t written = write(supervisor->event_fd, &one, sizeof one);
    (void)written; /* it fails only if a wake-up is pending anyway */
}

bool crew_note_attention(struct crew *crew) {
    if (atomic_exchange(&crew->wants_attention, true)) {
        return false;
    }
    struct supervisor *supervisor = crew->supervisor;
    crew->next_attended = atomic_load(&supervisor->attended);
    while (!atomic_compare_exchange_weak(&supervisor->attended, &crew->next_attended, crew)) {
    }
    return true;
}

void crew_attend(struct crew *crew) {
    LOCK_ASSERT_HELD(&crew->lock);
    if (crew->supervisor != NULL && crew_note_attention(crew)) {
        supervisor_wake(crew->supervisor);
    }
}

/* ------------------------------------------------------------------- states */

#define BIT(state) (1u << (state))

/* What follows for a lane that becomes free. */
#define FREE (BIT(LANE_IDLE) | BIT(LANE_BUSY) | BIT(LANE_RESTING))

void lane_move(struct lane *lane, enum lane_state state) {
    static const unsigned next[] = {
            [LANE_NONE] = BIT(LANE_STARTING) | FREE,
            [LANE_STARTING] = BIT(LANE_OPENER) | FREE,
            [LANE_OPENER] = BIT(LANE_STARTING) | FREE,
            [LANE_IDLE] = BIT(LANE_BUSY) | BIT(LANE_RESTING),
            [LANE_BUSY] = BIT(LANE_LINGERING) | FREE,
            [LANE_LINGERING] = FREE,
            [LANE_RESTING] = FREE,
    };
    assert(state == LANE_NONE || (next[lane->state] & BIT(state)) != 0);
    (void)next;
    lane->worker->lingering += state == LANE_LINGERING;
    lane->worker->lingering -= lane->state == LANE_LINGERING;
    lane->state = state;
}

/* Count it among all workers. A worker that is not needed any more is not lost, nor one that tells
 * why it cannot load the plugin. */
static void count(struct worker *worker, enum worker_state state) {
    struct crew *crew = worker->crew;
    struct supervisor *supervisor = crew->supervisor; /* as long as there are workers */
    if (state == WORKER_STARTING) {
        (void)atomic_fetch_add_explicit(&supervisor->started, 1, memory_order_relaxed);
        if (crew->lost > 0) {
            crew->lost--;
            (void)atomic_fetch_add_explicit(&supervisor->replaced, 1, memory_order_relaxed);
        }
    } else if (state == WORKER_GONE) {
        crew->lost += worker->end != END_ASKED && worker->end != END_REFUSED &&
                      worker->end != END_UNNEEDED;
        (void)atomic_fetch_add_explicit(&supervisor->ended, 1, memory_order_release);
    }
}

/* Take a worker's idle lanes from those that calls are given. */
static void move_idle(struct worker *worker, enum lane_state state) {
    for (struct lane **at = &worker->crew->idle; *at != NULL;) {
        if ((*at)->worker == worker) {
            lane_move(*at, state);
            *at = (*at)->next_idle;
        } else {
            at = &(*at)->next_idle;
        }
    }
}

void worker_move(struct worker *worker, enum worker_state state) {
    static const unsigned next[] = {
            [WORKER_NEW] = BIT(WORKER_STARTING),
            [WORKER_STARTING] = BIT(WORKER_READY) | BIT(WORKER_ENDING) | BIT(WORKER_GONE),
            [WORKER_READY] = BIT(WORKER_ENDING) | BIT(WORKER_GONE),
            [WORKER_ENDING] = BIT(WORKER_ENDING) | BIT(WORKER_GONE),
            [WORKER_GONE] = 0,
    };
    struct crew *crew = worker->crew;
    OBJECT_CHECK(worker, WORKER_MAGIC);
    LOCK_ASSERT_HELD(&crew->lock);
    assert((next[worker->state] & BIT(state)) != 0);
    (void)next;
    count(worker, state);
    crew->starting += state == WORKER_STARTING;
    crew->starting -= worker->state == WORKER_STARTING;
    crew->live += state == WORKER_STARTING;
    if (state >= WORKER_ENDING && worker->state < WORKER_ENDING) {
        *(worker->is_retired ? &crew->retired : &crew->live) -= 1;
    }
    worker->state = state;
    if (state >= WORKER_ENDING) {
        move_idle(worker, LANE_NONE);
    }
}

bool worker_is_free(const struct worker *worker) {
    for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
        enum lane_state state = worker->lanes[i].state;
        if (state == LANE_BUSY || state == LANE_LINGERING || state == LANE_STARTING) {
            return false;
        }
    }
    return true;
}

bool worker_has_callers(const struct worker *worker) {
    LOCK_ASSERT_HELD(&worker->crew->lock);
    return worker->refs > 1; /* the supervisor's */
}

bool worker_is_withheld(const struct worker *worker) {
    return worker->lingering > 0 || worker->is_retired;
}

void worker_withhold(struct lane *lane) {
    lane_move(lane, LANE_LINGERING);
    move_idle(lane->worker, LANE_RESTING);
    crew_attend(lane->worker->crew);
}

void worker_end_linger(struct lane *lane) {
    struct worker *worker = lane->worker;
    lane_move(lane, LANE_RESTING);
    for (unsigned i = 0; !worker_is_withheld(worker) && i < CREW_LANES_MAX; i++) {
        if (worker->lanes[i].state == LANE_RESTING) {
            crew_offer(worker->crew, &worker->lanes[i]);
        }
    }
}

void worker_retire(struct worker *worker) {
    LOCK_ASSERT_HELD(&worker->crew->lock);
    assert(worker->state == WORKER_READY && worker_is_withheld(worker) && !worker->is_retired);
    worker->is_retired = true;
    worker->crew->live--;
    worker->crew->retired++;
}

/* --------------------------------------------------------------------- lanes */

static void occupy(struct crew *crew, struct lane *lane, struct crew_call *call) {
    lane_move(lane, LANE_BUSY);
    lane->call = call;
    lane->tool = call->tool;
    lane->worker->is_used = true;
    lane->worker->calls++;
    lane->worker->refs++;
    if (lane->worker->cpu.rests) { /* look at it again soon */
        lane->worker->cpu.rests = false;
        crew_attend(crew);
    }
    crew->busy++;
    call->lane = lane;
}

bool crew_take_idle(struct crew *crew, struct crew_call *call) {
    struct lane *lane = crew->idle;
    if (lane == NULL) {
        return false;
    }
    crew->idle = lane->next_idle;
    occupy(crew, lane, call);
    return true;
}

static void leave_line(struct crew *crew, struct waiter *waiter) {
    *(waiter->prev != NULL ? &waiter->prev->next : &crew->first) = waiter->next;
    *(waiter->next != NULL ? &waiter->next->prev : &crew->last) = waiter->prev;
    waiter->call->waiter = NULL;
    crew->waiting--;
}

void crew_offer(struct crew *crew, struct lane *lane) {
    LOCK_ASSERT_HELD(&crew->lock);
    if (worker_is_withheld(lane->worker)) {
        lane_move(lane, LANE_RESTING);
        crew_attend(crew); /* perhaps nobody waits for a call in it any more */
        return;
    }
    struct waiter *waiter = crew->first;
    if (waiter == NULL) {
        lane_move(lane, LANE_IDLE);
        lane->next_idle = crew->idle;
        crew->idle = lane;
        return;
    }
    leave_line(crew, waiter);
    waiter->lane = lane;
    occupy(crew, lane, waiter->call);
    (void)pthread_cond_signal(&waiter->changed);
}

void crew_fail_line(struct crew *crew, const struct toolrack_error *err,
                    bool (*is_meant)(const struct crew *crew, const struct crew_call *call)) {
    LOCK_ASSERT_HELD(&crew->lock);
    struct waiter *next = NULL;
    for (struct waiter *waiter = crew->first; waiter != NULL; waiter = next) {
        next = waiter->next;
        if (is_meant == NULL || is_meant(crew, waiter->call)) {
            leave_line(crew, waiter);
            waiter->is_failed = true;
            waiter->error = *err;
            (void)pthread_cond_signal(&waiter->changed);
        }
    }
}

void call_end_early(struct crew_call *call) {
    atomic_store(&call->interrupted, true);
    if (call->lane != NULL) {
        channel_interrupt(call->lane->channel);
    } else if (call->waiter != NULL) {
        (void)pthread_cond_signal(&call->waiter->changed);
    }
}

void crew_interrupt_all(struct crew *crew) {
    LOCK_SCOPE(&crew->lock);
    for (struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
            if (worker->lanes[i].call != NULL) {
                call_end_early(worker->lanes[i].call);
            }
        }
    }
    for (struct waiter *waiter = crew->first; waiter != NULL; waiter = waiter->next) {
        call_end_early(waiter->call);
    }
}

uint32_t crew_lanes_coming(const struct crew *crew) {
    uint32_t count = 0;
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        enum lane_state first = worker->lanes[0].state;
        if (worker->state == WORKER_STARTING) {
            count += worker->lanes_max;
        } else if (worker->state == WORKER_READY && !worker_is_withheld(worker) &&
                   crew->is_shared && (first == LANE_OPENER || first == LANE_STARTING)) {
            count += worker->lanes_max - worker->lane_count + 1;
        }
    }
    return count;
}

/* Whether the supervisor could start a worker or open a lane for the line. The supervisor also
 * checks the back-off. */
static bool is_help_needed(const struct crew *crew) {
    bool is = crew->live < crew->limits.workers_max && crew->waiting > crew_lanes_coming(crew);
    for (const struct worker *worker = crew->workers; !is && worker != NULL;
         worker = worker->next) {
        is = worker->state == WORKER_READY && worker->lanes[0].state == LANE_OPENER &&
             !worker_is_withheld(worker);
    }
    return is;
}

int crew_wait_in_line(struct crew *crew, struct crew_call *call, struct toolrack_error *err) {
    const struct timespec until = clock_timespec(call->deadline_ns);
    struct waiter waiter = {.call = call, .prev = crew->last};
    clock_cond_init(&waiter.changed);
    *(crew->last != NULL ? &crew->last->next : &crew->first) = &waiter;
    /* Removed again below, before this function returns. */
    // cppcheck-suppress autoVariables
    crew->last = &waiter;
    // cppcheck-suppress autoVariables
    call->waiter = &waiter;
    crew->waiting++;
    if (is_help_needed(crew)) {
        crew_attend(crew);
    }
    bool is_in_time = true;
    while (waiter.lane == NULL && !waiter.is_failed && is_in_time &&
           !atomic_load(&call->interrupted)) {
        if (call->deadline_ns == 0) {
            lock_wait(&crew->lock, &waiter.changed);
        } else {
            is_in_time = lock_wait_until(&crew->lock, &waiter.changed, &until);
        }
    }
    (void)pthread_cond_destroy(&waiter.changed);
    if (waiter.is_failed) {
        *err = waiter.error;
        return err->code;
    }
    if (waiter.lane != NULL) {
        return 0;
    }
    leave_line(crew, &waiter);
    if (atomic_load(&call->interrupted)) {
        return call_cancelled_error(call, err);
    }
    char words[200];
    if (crew->live == 0) {
        (void)snprintf(words, sizeof words,
                       "; it had not begun: no worker of plugin '%s' could be started yet",
                       crew->id);
    } else if (crew->live == crew->starting) {
        (void)snprintf(words, sizeof words,
                       "; it had not begun: plugin '%s' was still being loaded", crew->id);
    } else {
        uint32_t withheld = 0;
        for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
            withheld += worker->state == WORKER_READY && worker->lingering > 0;
        }
        int length = snprintf(words, sizeof words,
                              "; it had not begun: all workers of plugin '%s' were busy (%u)",
                              crew->id, crew->live);
        if (withheld > 0 && (size_t)length < sizeof words) {
            (void)snprintf(words + length, sizeof words - (size_t)length,
                           ", and in %u a call went on that is over for its caller", withheld);
        }
    }
    return call_late_error(call, words, err);
}

/* ------------------------------------------------------------------- errors */

int crew_quarantine_error(const struct crew *crew, struct toolrack_error *err) {
    char reason[ERROR_MESSAGE_MAX];
    (void)snprintf(reason, sizeof reason, "the reason: %.*s", ERROR_MESSAGE_MAX - 16, crew->reason);
    (void)error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                    "plugin '%s' is in quarantine; let it run again: %s", crew->id,
                    COMMAND("release", crew->id));
    err->cause = TOOLRACK_CAUSE_QUARANTINE;
    err->brief_length = strlen(err->message);
    error_append(err, reason);
    err->lasting = true;
    return err->code;
}

bool call_is_late(const struct crew_call *call) {
    return call->deadline_ns != 0 && clock_now_ns() >= call->deadline_ns;
}

int call_late_error(const struct crew_call *call, const char *why, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_TIMEOUT,
                     "Tool '%s' did not finish within its deadline of %llu ms%s", call->tool_name,
                     (unsigned long long)call->deadline_ms, why);
}

int call_cancelled_error(const struct crew_call *call, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_CANCELLED, "the call of '%s' was cancelled", call->tool_name);
}

/* ----------------------------------------------------------- memory and checks */

void crew_free(struct crew *crew) {
    OBJECT_WIPE(crew, CREW_MAGIC);
    arena_finish(&crew->arena);
    lock_finish(&crew->lock);
    free(crew);
}

void crew_check_locked(struct crew *crew) {
#ifndef NDEBUG
    OBJECT_CHECK(crew, CREW_MAGIC);
    LOCK_ASSERT_HELD(&crew->lock);
    uint32_t idle = 0;
    for (const struct lane *lane = crew->idle; lane != NULL; lane = lane->next_idle, idle++) {
        assert(lane->state == LANE_IDLE && lane->worker->state == WORKER_READY);
        assert(!worker_is_withheld(lane->worker));
    }
    assert(idle == 0 || crew->waiting == 0);
    uint32_t waiting = 0;
    const struct waiter *last = NULL;
    for (const struct waiter *waiter = crew->first; waiter != NULL; waiter = waiter->next) {
        assert(waiter->prev == last && waiter->lane == NULL && !waiter->is_failed);
        assert(waiter->call->waiter == waiter && waiter->call->lane == NULL);
        last = waiter;
        waiting++;
    }
    assert(last == crew->last && waiting == crew->waiting);
    uint32_t live = 0;
    uint32_t retired = 0;
    uint32_t starting = 0;
    uint32_t busy = 0;
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        assert(worker->magic == WORKER_MAGIC && worker->crew == crew);
        assert(worker->state != WORKER_NEW && worker->state != WORKER_GONE);
        assert(worker->lane_count <= worker->lanes_max && worker->lanes_max <= CREW_LANES_MAX);
        uint32_t busy_here = 0;
        uint32_t lingering = 0;
        for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
            const struct lane *lane = &worker->lanes[i];
            assert(lane->worker == worker);
            assert((lane->call != NULL) == (lane->state == LANE_BUSY));
            assert(lane->call == NULL || lane->call->lane == lane);
            assert(lane->state != LANE_OPENER || i == 0);
            idle -= lane->state == LANE_IDLE;
            busy_here += lane->state == LANE_BUSY;
            lingering += lane->state == LANE_LINGERING;
            assert(lane->state != LANE_RESTING || worker->state != WORKER_READY ||
                   worker_is_withheld(worker));
        }
        assert(worker->lingering == lingering);
        assert(worker->refs == busy_here + 1);
        busy += busy_here;
        starting += worker->state == WORKER_STARTING;
        live += worker->state < WORKER_ENDING && !worker->is_retired;
        retired += worker->state < WORKER_ENDING && worker->is_retired;
    }
    assert(idle == 0 && live == crew->live && starting == crew->starting);
    assert(retired == crew->retired && retired <= crew->limits.workers_max);
    assert(busy <= crew->busy); /* the others are of workers that are GONE */
#else
    (void)crew;
#endif
}
