#include "worker/crew.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "worker/crew-parts.h"

/* Invariants, all under crew->lock:
 *
 *  (1) `idle` holds exactly the IDLE lanes, each of a READY worker. Where calls wait in line it is
 *      empty: a lane that becomes free goes to the first of them.
 *  (2) A lane is BUSY from the moment it is taken or given to a waiter until crew_run() gives it
 *      back, and holds a reference on its worker for so long.
 *  (3) A waiter is in line, or has a lane, or has failed; who takes it out of the line sets one of
 *      the two others. It lives on its caller's stack: nobody touches it after that but for its
 *      condition, signalled with the lock held.
 *  (4) call->lane and call->waiter are set only while they may be interrupted.
 *  (5) A call that can be helped by nothing that happens before its deadline does not wait. */

static uint32_t or_default(uint32_t value, uint32_t otherwise) {
    return value != 0 ? value : otherwise;
}

static struct crew_limits fill_limits(const struct crew_limits *given) {
    uint32_t crashes = or_default(given->crashes_max, CREW_CRASHES_MAX);
    return (struct crew_limits){
            .workers_max = or_default(given->workers_max, CREW_WORKERS_DEFAULT),
            .queue_max = or_default(given->queue_max, CREW_QUEUE_DEFAULT),
            .start_ms = or_default(given->start_ms, CREW_START_MS_DEFAULT),
            .grace_ms = or_default(given->grace_ms, CREW_GRACE_MS),
            .close_ms = or_default(given->close_ms, CREW_CLOSE_MS),
            .idle_ms = or_default(given->idle_ms, CREW_IDLE_MS_DEFAULT),
            .quick_ms = or_default(given->quick_ms, CREW_QUICK_MS),
            .backoff_ms = or_default(given->backoff_ms, CREW_BACKOFF_MS),
            .backoff_ms_max = or_default(given->backoff_ms_max, CREW_BACKOFF_MS_MAX),
            .crashes_max = crashes < CREW_CRASHES_KEPT ? crashes : CREW_CRASHES_KEPT,
            .crashes_window_ms = or_default(given->crashes_window_ms, CREW_CRASHES_WINDOW_MS)};
}

/* ------------------------------------------------------------------- options */

static const char *const *copy_paths(struct arena *arena, const char *const *paths, size_t count) {
    const char **copies = arena_alloc(arena, (count + 1) * sizeof *copies);
    for (size_t i = 0; copies != NULL && i < count; i++) {
        copies[i] = arena_copy(arena, paths[i], strlen(paths[i]));
        copies = copies[i] != NULL ? copies : NULL;
    }
    return copies;
}

static bool copy_policy(struct crew *crew, const struct sandbox_policy *policy) {
    struct sandbox_policy *copy = &crew->policy;
    *copy = *policy;
    copy->read_paths = copy_paths(&crew->arena, policy->read_paths, policy->read_path_count);
    copy->write_paths = copy_paths(&crew->arena, policy->write_paths, policy->write_path_count);
    uint16_t *ports = arena_alloc(&crew->arena, (policy->port_count + 1) * sizeof *ports);
    if (ports != NULL && policy->port_count > 0) {
        memcpy(ports, policy->ports, policy->port_count * sizeof *ports);
    }
    copy->ports = ports;
    return copy->read_paths != NULL && copy->write_paths != NULL && ports != NULL;
}

static bool copy_options(struct crew *crew, const struct crew_options *options) {
    const char *settings = options->settings != NULL ? options->settings : "{}";
    crew->desc = options->desc;
    crew->id = options->desc->plugin->id;
    crew->path = arena_copy(&crew->arena, options->path, strlen(options->path));
    crew->foreign = options->foreign == NULL
                            ? NULL
                            : arena_copy(&crew->arena, options->foreign, strlen(options->foreign));
    crew->identity = options->identity;
    crew->settings = arena_copy(&crew->arena, settings, strlen(settings));
    crew->environment = process_environment(&crew->arena, options->environment);
    crew->layers_wanted = sandbox_wanted(&options->policy);
    crew->sandbox_required = options->sandbox_required;
    crew->is_shared = (options->desc->plugin->flags & TR_THREAD_SAFE) != 0;
    crew->limits = fill_limits(&options->limits);
    crew->user = options->user;
    return copy_policy(crew, &options->policy) && crew->path != NULL && crew->settings != NULL &&
           crew->environment != NULL && (crew->foreign != NULL) == (options->foreign != NULL);
}

static void begin_quarantine(struct crew *crew, const char *reason) {
    crew->is_quarantined = true;
    (void)snprintf(crew->reason, sizeof crew->reason, "%s", reason);
}

int crew_create(struct supervisor *supervisor, const struct crew_options *options,
                struct crew **ret, struct toolrack_error *err) {
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL) {
        return error_oom(err);
    }
    atomic_init(&crew->refs, 1);
    arena_init(&crew->arena, NULL, 0);
    (void)pthread_mutex_init(&crew->lock, NULL);
    int code = copy_options(crew, options)
                       ? supervisor_filter(supervisor, &crew->policy, &crew->filter, err)
                       : error_oom(err);
    if (code < 0) {
        crew_free(crew);
        return code;
    }
    uint64_t now_ns = options->crashes_ago_count > 0 ? clock_now_ns() : 0;
    for (size_t i = 0; i < options->crashes_ago_count; i++) {
        uint64_t ago_ns = options->crashes_ago_ms[i] * CLOCK_NS_PER_MS;
        crew->crashes_ns[crew->crashes_counted++ % CREW_CRASHES_KEPT] =
                now_ns > ago_ns ? now_ns - ago_ns : 0;
    }
    if (options->quarantined != NULL) {
        begin_quarantine(crew, options->quarantined);
    }
    crew->supervisor = supervisor;
    supervisor_add(supervisor, crew);
    *ret = crew;
    return 0;
}

void crew_free(struct crew *crew) {
    arena_finish(&crew->arena);
    (void)pthread_mutex_destroy(&crew->lock);
    free(crew);
}

struct crew *crew_ref(struct crew *crew) {
    atomic_fetch_add_explicit(&crew->refs, 1, memory_order_relaxed);
    return crew;
}

void crew_unref(struct crew *crew) {
    if (crew == NULL || atomic_fetch_sub_explicit(&crew->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    (void)pthread_mutex_lock(&crew->lock);
    crew->is_left = true;
    bool is_forgotten = crew->supervisor == NULL;
    crew_attend(crew);
    (void)pthread_mutex_unlock(&crew->lock);
    if (is_forgotten) {
        crew_free(crew);
    }
}

void crew_attend(struct crew *crew) {
    if (crew->supervisor != NULL && !atomic_exchange(&crew->wants_attention, true)) {
        supervisor_wake(crew->supervisor);
    }
}

const char *crew_tool_name(const struct crew *crew, uint32_t tool) {
    for (uint32_t i = 0; i < crew->desc->tool_count; i++) {
        if (crew->desc->tools[i].index == tool) {
            return crew->desc->tools[i].tool->name;
        }
    }
    return "a tool";
}

/* --------------------------------------------------------------------- lanes */

/* Caller holds the lock, as in all of what follows. */
static void occupy(struct crew *crew, struct lane *lane, struct crew_call *call) {
    lane->state = LANE_BUSY;
    lane->call = call;
    lane->tool = call->tool;
    lane->worker->is_used = true;
    lane->worker->refs++;
    crew->busy++;
    call->lane = lane;
}

/* Returns whether the worker is to be freed, with the lock released. */
static bool vacate(struct crew *crew, struct lane *lane) {
    lane->call->lane = NULL;
    lane->call = NULL;
    lane->state = LANE_NONE;
    crew->busy--;
    return --lane->worker->refs == 0;
}

static struct lane *take_idle(struct crew *crew) {
    struct lane *lane = crew->idle;
    if (lane != NULL) {
        crew->idle = lane->next_idle;
    }
    return lane;
}

void crew_withdraw(struct crew *crew, const struct worker *worker) {
    for (struct lane **at = &crew->idle; *at != NULL;) {
        if ((*at)->worker == worker) {
            (*at)->state = LANE_NONE;
            *at = (*at)->next_idle;
        } else {
            at = &(*at)->next_idle;
        }
    }
}

static void leave_line(struct crew *crew, struct waiter *waiter) {
    if (waiter->prev != NULL) {
        waiter->prev->next = waiter->next;
    } else {
        crew->first = waiter->next;
    }
    if (waiter->next != NULL) {
        waiter->next->prev = waiter->prev;
    } else {
        crew->last = waiter->prev;
    }
    waiter->call->waiter = NULL;
    crew->waiting--;
}

static void join_line(struct crew *crew, struct waiter *waiter) {
    waiter->prev = crew->last;
    if (crew->last != NULL) {
        crew->last->next = waiter;
    } else {
        crew->first = waiter;
    }
    crew->last = waiter;
    waiter->call->waiter = waiter;
    crew->waiting++;
}

void crew_offer(struct crew *crew, struct lane *lane) {
    struct waiter *waiter = crew->first;
    if (waiter == NULL) {
        lane->state = LANE_IDLE;
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

/* What a worker that starts, or one that opens lanes, will still give. */
static uint32_t lanes_to_come(const struct crew *crew, const struct worker *worker) {
    enum lane_state first = worker->lanes[0].state;
    if (worker->state == WORKER_STARTING) {
        return worker->lanes_max;
    }
    if (worker->state != WORKER_READY || !crew->is_shared ||
        (first != LANE_OPENER && first != LANE_STARTING)) {
        return 0;
    }
    return worker->lanes_max - worker->lane_count + 1;
}

uint32_t crew_lanes_coming(const struct crew *crew) {
    uint32_t count = 0;
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        count += lanes_to_come(crew, worker);
    }
    return count;
}

/* Whether the supervisor could do something for the line. It looks at back-offs as well. */
static bool is_help_needed(const struct crew *crew) {
    if (crew->live < crew->limits.workers_max && crew->waiting > crew_lanes_coming(crew)) {
        return true;
    }
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        if (worker->state == WORKER_READY && worker->lanes[0].state == LANE_OPENER) {
            return true;
        }
    }
    return false;
}

/* ----------------------------------------------------------------- refusing */

int crew_quarantine_error(const struct crew *crew, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                     "plugin '%s' is in quarantine until it is released: %s", crew->id,
                     crew->reason);
}

static int cancelled_error(const struct crew_call *call, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_CANCELLED, "the call of '%s' was cancelled", call->tool_name);
}

/* In words that a waiting call's deadline error ends with. */
static void describe_wait(const struct crew *crew, char *words, size_t size) {
    if (crew->live == 0) {
        (void)snprintf(words, size, ": no worker of plugin '%s' could be started yet", crew->id);
    } else if (crew->live == crew->starting) {
        (void)snprintf(words, size, ": plugin '%s' was still being loaded", crew->id);
    } else {
        (void)snprintf(words, size, ": all workers of plugin '%s' were busy (%u)", crew->id,
                       crew->live);
    }
}

/* Of a call that was not begun. */
static int late_error(const struct crew_call *call, const char *why, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_TIMEOUT,
                     "Tool '%s' did not finish within its deadline; it had not begun%s",
                     call->tool_name, why);
}

static bool is_late(const struct crew_call *call) {
    return call->deadline_ns != 0 && clock_now_ns() >= call->deadline_ns;
}

/* A start that was refused is not tried again for a while, as the file is the same. */
static bool is_refused(const struct crew *crew) {
    return crew->live == 0 && crew->refusal.code != 0 && clock_now_ns() < crew->start_after_ns;
}

/* Why a call cannot even wait; 0: it can. */
static int refuse(const struct crew *crew, const struct crew_call *call,
                  struct toolrack_error *err) {
    if (crew->is_quarantined) {
        return crew_quarantine_error(crew, err);
    }
    if (crew->supervisor == NULL) {
        return error_set(err, TOOLRACK_E_CANCELLED, "the host is being closed");
    }
    if (is_refused(crew)) {
        *err = crew->refusal;
        return err->code;
    }
    if (crew->waiting >= crew->limits.queue_max) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "plugin '%s' has %u calls waiting already; try again later", crew->id,
                         crew->waiting);
    }
    return atomic_load(&call->interrupted) ? cancelled_error(call, err) : 0;
}

/* ------------------------------------------------------------------- waiting */

/* Until the waiter is out of the line, or has waited long enough. */
static void wait_in_line(struct crew *crew, struct waiter *waiter) {
    const struct crew_call *call = waiter->call;
    const struct timespec until = clock_timespec(call->deadline_ns);
    int failed = 0;
    while (waiter->lane == NULL && !waiter->is_failed && failed == 0 &&
           !atomic_load(&call->interrupted)) {
        failed = call->deadline_ns == 0
                         ? pthread_cond_wait(&waiter->changed, &crew->lock)
                         : pthread_cond_timedwait(&waiter->changed, &crew->lock, &until);
    }
}

static int wait_for_lane(struct crew *crew, struct crew_call *call, struct toolrack_error *err) {
    struct waiter waiter = {.call = call};
    clock_cond_init(&waiter.changed);
    join_line(crew, &waiter);
    if (is_help_needed(crew)) {
        crew_attend(crew);
    }
    wait_in_line(crew, &waiter);
    int code = 0;
    if (waiter.is_failed) {
        *err = waiter.error;
        code = err->code;
    } else if (waiter.lane == NULL) {
        char words[160];
        describe_wait(crew, words, sizeof words);
        leave_line(crew, &waiter);
        code = atomic_load(&call->interrupted) ? cancelled_error(call, err)
                                               : late_error(call, words, err);
    }
    (void)pthread_cond_destroy(&waiter.changed);
    return code;
}

static int take_lane(struct crew *crew, struct crew_call *call, bool *ret_has_waited,
                     struct toolrack_error *err) {
    int code = 0;
    (void)pthread_mutex_lock(&crew->lock);
    struct lane *lane = crew->is_quarantined ? NULL : take_idle(crew);
    if (lane != NULL) {
        occupy(crew, lane, call);
    } else {
        *ret_has_waited = true;
        code = refuse(crew, call, err);
        code = code < 0 ? code : wait_for_lane(crew, call, err);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return code;
}

/* ---------------------------------------------------------------- giving back */

static void let_linger(struct crew *crew, struct lane *lane, bool was_cancelled) {
    uint64_t now_ns = clock_now_ns();
    lane->state = LANE_LINGERING;
    lane->was_cancelled = was_cancelled;
    lane->until_ns = now_ns + (uint64_t)crew->limits.grace_ms * CLOCK_NS_PER_MS;
    lane->pause_ns = CLOCK_NS_PER_MS;
    lane->look_ns = now_ns;
    crew_attend(crew);
}

static int death_error(const struct worker *worker, struct toolrack_error *err) {
    int code = error_set(err, TOOLRACK_E_EXECUTION_FAILED, "%s", worker->death.reason);
    err->signal = worker->death.signal;
    if (worker->death.backtrace.length > 0) {
        error_set_trace(err, worker->death.backtrace.data);
    }
    return code;
}

/* Returns the call's code. */
static int give_back(struct crew *crew, struct crew_call *call, enum exchange_end end, int code,
                     struct toolrack_error *err) {
    (void)pthread_mutex_lock(&crew->lock);
    struct lane *lane = call->lane;
    struct worker *worker = lane->worker;
    bool is_last = vacate(crew, lane);
    if (end == EXCHANGE_GONE) {
        code = death_error(worker, err);
    } else if (end == EXCHANGE_NONSENSE) {
        worker_kill(worker, END_NONSENSE, "%s", err->message);
    } else if (worker->state == WORKER_READY && end == EXCHANGE_LEFT) {
        let_linger(crew, lane, code == TOOLRACK_E_CANCELLED);
    } else if (worker->state == WORKER_READY) {
        crew_offer(crew, lane);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    if (is_last) {
        worker_free(worker);
    }
    return code;
}

static int run(struct crew *crew, struct crew_call *call, struct crew_reply *ret,
               struct toolrack_error *err) {
    bool has_waited = false;
    int code = take_lane(crew, call, &has_waited, err);
    if (code == 0) {
        enum exchange_end end = EXCHANGE_DONE;
        if (has_waited && is_late(call)) {
            code = late_error(call, "", err);
        } else {
            end = exchange_run(call, ret, &code, err);
        }
        code = give_back(crew, call, end, code, err);
    }
    if (code < 0) {
        error_set_tool(err, call->tool_name);
    }
    return code;
}

/* A call that begins has a worker that is ready: so wait in line like one, and leave at once. */
static int start(struct crew *crew, uint64_t until_ns, struct toolrack_error *err) {
    struct crew_call call = {.tool_name = crew->id, .deadline_ns = until_ns};
    bool has_waited = false;
    int code = take_lane(crew, &call, &has_waited, err);
    if (code == TOOLRACK_E_TIMEOUT) {
        return error_set(err, code, "plugin '%s' did not start in time", crew->id);
    }
    return code < 0 ? code : give_back(crew, &call, EXCHANGE_DONE, 0, err);
}

int crew_start(struct crew *crew, uint64_t until_ns, struct toolrack_error *err) {
    if (err != NULL) {
        return start(crew, until_ns, err);
    }
    struct toolrack_error own = {0};
    return start(crew, until_ns, &own);
}

int crew_run(struct crew *crew, struct crew_call *call, struct crew_reply *ret,
             struct toolrack_error *err) {
    if (err != NULL) {
        return run(crew, call, ret, err);
    }
    struct toolrack_error own = {0};
    return run(crew, call, ret, &own);
}

void crew_interrupt(struct crew *crew, struct crew_call *call) {
    (void)pthread_mutex_lock(&crew->lock);
    atomic_store(&call->interrupted, true);
    if (call->lane != NULL) {
        channel_interrupt(call->lane->channel);
    } else if (call->waiter != NULL) {
        (void)pthread_cond_signal(&call->waiter->changed);
    }
    (void)pthread_mutex_unlock(&crew->lock);
}

/* ----------------------------------------------------- back-off and quarantine */

void crew_back_off(struct crew *crew, uint64_t now_ns) {
    uint64_t ms = crew->limits.backoff_ms;
    for (uint32_t i = 0; i < crew->failures && ms < crew->limits.backoff_ms_max; i++) {
        ms *= 2;
    }
    ms = ms < crew->limits.backoff_ms_max ? ms : crew->limits.backoff_ms_max;
    crew->failures++;
    crew->start_after_ns = now_ns + ms * CLOCK_NS_PER_MS;
}

bool crew_count_crash(struct crew *crew, const char *reason, uint64_t now_ns) {
    uint32_t max = crew->limits.crashes_max;
    crew->crashes++;
    crew->crashes_ns[crew->crashes_counted++ % CREW_CRASHES_KEPT] = now_ns;
    if (crew->is_quarantined || crew->crashes_counted < max) {
        return false;
    }
    uint64_t first_ns = crew->crashes_ns[(crew->crashes_counted - max) % CREW_CRASHES_KEPT];
    if (now_ns - first_ns > (uint64_t)crew->limits.crashes_window_ms * CLOCK_NS_PER_MS) {
        return false;
    }
    char words[ERROR_MESSAGE_MAX];
    (void)snprintf(words, sizeof words, "%u crashes within %u s; the last: %s", max,
                   (crew->limits.crashes_window_ms + 999) / 1000, reason);
    words[utf8_cut(words, strlen(words))] = '\0';
    begin_quarantine(crew, words);
    return true;
}

void crew_release(struct crew *crew) {
    (void)pthread_mutex_lock(&crew->lock);
    crew->is_quarantined = false;
    crew->reason[0] = '\0';
    crew->refusal.code = 0;
    crew->failures = 0;
    crew->start_after_ns = 0;
    crew->crashes_counted = 0;
    crew_attend(crew);
    (void)pthread_mutex_unlock(&crew->lock);
}

void crew_status(struct crew *crew, struct crew_status *ret) {
    *ret = (struct crew_status){0};
    (void)pthread_mutex_lock(&crew->lock);
    ret->workers = crew->live;
    ret->busy = crew->busy;
    ret->waiting = crew->waiting;
    ret->crashes = crew->crashes;
    ret->started = crew->has_started;
    ret->layers = crew->layers;
    ret->quarantined = crew->is_quarantined;
    (void)snprintf(ret->reason, sizeof ret->reason, "%s",
                   crew->is_quarantined      ? crew->reason
                   : crew->refusal.code != 0 ? crew->refusal.message
                                             : "");
    (void)pthread_mutex_unlock(&crew->lock);
}
