#include "worker/tend.h"

#include "base/error.h"
#include "plugin/offer.h"
#include "worker/cpu.h"
#include "worker/exchange.h"
#include "worker/worker.h"

/* crew_tend() checks the whole crew and does what is due, so a request needs no details. */

/* Longest pause between two checks of a lingering lane: the end of its call causes no event. */
#define LINGER_PAUSE_NS_MAX (64u * (uint64_t)CLOCK_NS_PER_MS)

static const char *tool_name(const struct crew *crew, uint32_t index) {
    for (uint32_t i = 0; i < crew->desc->tool_count; i++) {
        if (crew->desc->tools[i].index == index) {
            return crew->desc->tools[i].tool->name;
        }
    }
    return offer_is(index) ? offer_tool((enum offer)(index - OFFER_INDEX_FIRST), "").tool->name
                           : "a tool";
}

/* Releases the lock for a moment: the lane and its worker stay valid, as only this thread removes
 * them.
 */
static void tend_lingering(struct crew *crew, struct lane *lane, uint64_t now_ns) {
    struct worker *worker = lane->worker;
    if (now_ns < lane->look_ns) {
        return;
    }
    lock_release(&crew->lock);
    enum lingering linger = exchange_linger(lane);
    lock_take(&crew->lock);
    if (worker->state != WORKER_READY) {
        return;
    }
    if (linger == LINGER_OVER) {
        worker_end_linger(lane);
    } else if (linger == LINGER_NONSENSE) {
        worker_kill(worker, END_NONSENSE,
                    "the worker of plugin '%s' sent nonsense instead of the end of '%s', and was "
                    "ended",
                    crew->id, tool_name(crew, lane->tool));
    } else {
        uint64_t look_ns = now_ns + lane->pause_ns;
        uint64_t pause_ns = 2 * lane->pause_ns;
        bool is_first = now_ns < lane->until_ns && lane->until_ns < look_ns;
        lane->look_ns = is_first ? lane->until_ns : look_ns;
        lane->pause_ns = pause_ns < LINGER_PAUSE_NS_MAX ? pause_ns : LINGER_PAUSE_NS_MAX;
    }
}

/* A worker in which calls went on for longer than they may. The calls beside them are not to suffer
 * for that: it ends when they have ended, at their deadlines at the latest. Calls that linger since
 * a short time have their grace first. */
static void tend_withheld(struct crew *crew, struct worker *worker, uint64_t now_ns) {
    const struct lane *outstayed = NULL;
    bool has_grace = false;
    for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
        const struct lane *lane = &worker->lanes[i];
        if (lane->state == LANE_LINGERING && now_ns < lane->until_ns) {
            has_grace = true;
        } else if (lane->state == LANE_LINGERING) {
            outstayed = lane;
        }
    }
    if (worker_has_callers(worker)) {
        if (outstayed != NULL && !worker->is_retired && crew->retired < crew->limits.workers_max) {
            worker_retire(worker);
            log_line(worker->output.log, LOG_INFO, crew->id,
                     "worker %d gets no more calls, because '%s' went on for more than %u ms after "
                     "%s; it ends with the calls beside it, and another one takes its place",
                     (int)worker->process.pid, tool_name(crew, outstayed->tool),
                     crew->limits.grace_ms,
                     outstayed->was_cancelled ? "it was cancelled" : "its deadline");
        }
    } else if (outstayed != NULL && !has_grace) {
        worker_kill(worker, END_KILLED,
                    "a worker of plugin '%s' was ended, because '%s' went on for more than %u ms "
                    "after %s",
                    crew->id, tool_name(crew, outstayed->tool), crew->limits.grace_ms,
                    outstayed->was_cancelled ? "it was cancelled" : "its deadline");
    } else if (worker->is_retired && worker_is_free(worker)) {
        worker_dismiss(worker, now_ns);
    }
}

static void tend_worker(struct crew *crew, struct worker *worker, uint64_t now_ns) {
    bool is_late = worker->until_ns != 0 && now_ns >= worker->until_ns;
    if (worker->state == WORKER_STARTING && is_late) {
        worker_kill(worker, END_KILLED,
                    "plugin '%s' was not loaded and open within %u ms; its worker was ended",
                    crew->id, crew->limits.start_ms);
    } else if (is_late) {
        worker_kill(
                worker, END_KILLED,
                "a worker of plugin '%s' did not end within %u ms when it was no longer needed, "
                "and was killed",
                crew->id, crew->limits.close_ms);
    }
    for (unsigned i = 0; i < CREW_LANES_MAX && worker->state == WORKER_READY; i++) {
        if (worker->lanes[i].state == LANE_LINGERING) {
            tend_lingering(crew, &worker->lanes[i], now_ns);
        }
    }
    if (worker->state == WORKER_READY && worker_is_withheld(worker)) {
        tend_withheld(crew, worker, now_ns);
    }
    if (worker->state == WORKER_READY && now_ns >= worker->idle_at_ns) {
        if (worker->is_used || !worker_is_free(worker)) {
            worker->is_used = false;
            worker->idle_at_ns = now_ns + (uint64_t)crew->limits.idle_ms * CLOCK_NS_PER_MS;
        } else {
            worker_dismiss(worker, now_ns);
        }
    }
    if (worker->state == WORKER_READY) {
        cpu_look(worker, now_ns);
    }
    uint64_t output_ns = output_due(&worker->output);
    if (output_ns != 0 && now_ns >= output_ns) {
        output_tell_dropped(&worker->output, now_ns);
    }
}

/* No calls follow, or none before the crew is released from quarantine. A call that lingers has the
 * time that every cancelled or late call has: tend_withheld() ends its worker afterwards. A worker
 * that opens a lane cannot be told to end before it has: it gets as long for that as for its end.
 */
static void dismiss_workers(struct crew *crew, bool is_over, uint64_t now_ns) {
    for (struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        bool is_ready = worker->state == WORKER_READY;
        if (is_ready && worker_is_free(worker)) {
            worker_dismiss(worker, now_ns);
        } else if (is_over && is_ready && worker->lingering == 0 && worker->until_ns == 0) {
            worker->until_ns = now_ns + (uint64_t)crew->limits.close_ms * CLOCK_NS_PER_MS;
        } else if (is_over && worker->state == WORKER_STARTING) {
            worker_kill(worker, END_UNNEEDED,
                        "a worker of plugin '%s' was ended while it started, as no call needs it",
                        crew->id);
        }
    }
}

/* ----------------------------------------------------------------------- line */

static bool ends_before_start(const struct crew *crew, const struct crew_call *call) {
    return call->deadline_ns != 0 && call->deadline_ns <= crew->start_after_ns;
}

/* Fail the calls whose deadline is before the next possible start. */
static void fail_hopeless(struct crew *crew, uint64_t now_ns) {
    if (crew->live > 0 || crew->waiting == 0 || crew->start_after_ns <= now_ns) {
        return;
    }
    struct toolrack_error err;
    (void)error_set(&err, TOOLRACK_E_EXECUTION_FAILED,
                    "plugin '%s' is started again in %.1f s, after the deadline of this call: %s",
                    crew->id, (double)(crew->start_after_ns - now_ns) / (double)CLOCK_NS_PER_S,
                    crew->refusal.code != 0 ? crew->refusal.message : crew->last_death);
    crew_fail_line(crew, &err, ends_before_start);
}

/* Open lanes while more calls are in line than lanes are being opened; a lane is not bound to a
 * call. */
static void open_lanes(struct crew *crew) {
    uint32_t begun = 0;
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        if (worker->state == WORKER_STARTING) {
            begun += worker->lanes_max;
        } else if (worker->state == WORKER_READY && worker->lanes[0].state == LANE_STARTING &&
                   !worker_is_withheld(worker)) {
            begun++;
        }
    }
    for (struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        if (crew->waiting > begun && worker->state == WORKER_READY &&
            worker->lanes[0].state == LANE_OPENER && !worker_is_withheld(worker)) {
            worker_open_lane(worker);
            begun++;
        }
    }
}

/* How many workers to start now. */
static uint32_t count_starts(const struct crew *crew, uint64_t now_ns) {
    /* Until a failed worker is buried, the back-off is not known. */
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        if (worker->end == END_NONSENSE || (worker->end == END_KILLED && worker->was_starting)) {
            return 0;
        }
    }
    uint32_t coming = crew_lanes_coming(crew);
    uint32_t count = 0;
    while (now_ns >= crew->start_after_ns && crew->waiting > coming &&
           crew->live + count < crew->limits.workers_max) {
        coming += crew->is_shared ? CREW_LANES_MAX : 1;
        count++;
    }
    return count;
}

/* ------------------------------------------------------------------------ due */

static void note_due(struct crew *crew, uint64_t due_ns) {
    if (due_ns != 0 && (crew->due_ns == 0 || due_ns < crew->due_ns)) {
        crew->due_ns = due_ns;
    }
}

static void find_due(struct crew *crew, uint64_t now_ns) {
    crew->due_ns = 0;
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        bool is_ready = worker->state == WORKER_READY;
        note_due(crew, output_due(&worker->output));
        note_due(crew, worker->until_ns);
        note_due(crew, is_ready ? worker->idle_at_ns : 0);
        note_due(crew, is_ready ? worker->cpu.look_ns : 0);
        for (unsigned i = 0; is_ready && i < CREW_LANES_MAX; i++) {
            if (worker->lanes[i].state == LANE_LINGERING) {
                note_due(crew, worker->lanes[i].look_ns);
            }
        }
    }
    if (crew->waiting > 0 && crew->start_after_ns > now_ns) {
        note_due(crew, crew->start_after_ns);
    }
}

bool crew_tend(struct crew *crew, uint64_t now_ns) {
    uint32_t starts = 0;
    lock_take(&crew->lock);
    for (struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        tend_worker(crew, worker, now_ns);
    }
    bool is_over = crew->is_left || supervisor_is_stopping(crew->supervisor);
    if (is_over || crew->is_quarantined) {
        dismiss_workers(crew, is_over, now_ns);
    } else {
        fail_hopeless(crew, now_ns);
        open_lanes(crew);
        starts = count_starts(crew, now_ns);
    }
    lock_release(&crew->lock);
    for (; starts > 0; starts--) {
        worker_start(crew, now_ns);
    }
    LOCK_SCOPE(&crew->lock);
    find_due(crew, now_ns);
    crew_check_locked(crew);
    return !crew->is_left || crew->workers != NULL;
}
