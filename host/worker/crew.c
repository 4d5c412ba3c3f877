#include "worker/crew.h"
#include "worker/death.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "worker/crew-parts.h"
#include "worker/exchange.h"
#include "worker/worker.h"

/* The public functions of a crew: its life, and one call on its caller's thread. For the invariants
 * see crew-parts.c. */

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
            .crashes_window_ms = or_default(given->crashes_window_ms, CREW_CRASHES_WINDOW_MS),
            .idle_cpu_percent = or_default(given->idle_cpu_percent, CREW_IDLE_CPU_PERCENT)};
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

static bool copy_options(struct crew *crew, const struct crew_options *options) {
    const char *settings = options->settings != NULL ? options->settings : "{}";
    crew->desc = options->desc;
    crew->id = options->desc->plugin->id;
    crew->path = arena_copy(&crew->arena, options->path, strlen(options->path));
    const char *file = options->file != NULL ? options->file : options->path;
    crew->file = arena_copy(&crew->arena, file, strlen(file));
    crew->foreign = options->foreign == NULL
                            ? NULL
                            : arena_copy(&crew->arena, options->foreign, strlen(options->foreign));
    crew->identity = options->identity;
    crew->settings = arena_copy(&crew->arena, settings, strlen(settings));
    crew->environment = process_environment(&crew->arena, options->environment);
    crew->has_environment = options->environment != NULL && options->environment[0] != NULL;
    crew->layers_wanted = sandbox_wanted(&options->policy);
    crew->sandbox_required = options->sandbox_required;
    crew->measures_all = options->measures_all;
    crew->is_shared = (options->desc->plugin->flags & TR_THREAD_SAFE) != 0;
    crew->limits = fill_limits(&options->limits);
    crew->user = options->user;

    const struct sandbox_policy *policy = &options->policy;
    crew->policy = *policy;
    sandbox_fill_limits(&crew->policy.limits);
    struct sandbox_policy *own = &crew->policy;
    const struct {
        const char *const **list;
        size_t count;
    } lists[] = {{&own->read_paths, own->read_path_count},
                 {&own->write_paths, own->write_path_count},
                 {&own->programs, own->program_count},
                 {&own->hidden_paths, own->hidden_path_count},
                 {&own->frozen_paths, own->frozen_path_count},
                 {&own->kept_paths, own->kept_path_count}};
    bool is_copied = true;
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
        *lists[i].list = copy_paths(&crew->arena, *lists[i].list, lists[i].count);
        is_copied = is_copied && *lists[i].list != NULL;
    }
    if (policy->own_path != NULL) {
        own->own_path = arena_copy(&crew->arena, policy->own_path, strlen(policy->own_path));
        is_copied = is_copied && own->own_path != NULL;
    }
    uint16_t *ports = arena_alloc(&crew->arena, (policy->port_count + 1) * sizeof *ports);
    if (ports != NULL && policy->port_count > 0) {
        memcpy(ports, policy->ports, policy->port_count * sizeof *ports);
    }
    crew->policy.ports = ports;
    return is_copied && ports != NULL && crew->path != NULL && crew->file != NULL &&
           crew->settings != NULL && crew->environment != NULL &&
           (crew->foreign != NULL) == (options->foreign != NULL);
}

int crew_create(struct supervisor *supervisor, const struct crew_options *options,
                struct crew **ret, struct toolrack_error *err) {
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL) {
        return error_oom(err);
    }
    OBJECT_CHECK(supervisor, SUPERVISOR_MAGIC);
    crew->magic = CREW_MAGIC;
    atomic_init(&crew->refs, 1);
    arena_init(&crew->arena, NULL, 0);
    lock_init(&crew->lock);
    if (!copy_options(crew, options)) {
        crew_free(crew);
        return error_oom(err);
    }
    crew->filter = sandbox_filter(&crew->policy, &crew->filter_size);
    uint64_t now_ns = options->crashes_ago_count > 0 ? clock_now_ns() : 0;
    for (size_t i = 0; i < options->crashes_ago_count; i++) {
        uint64_t ago_ns = options->crashes_ago_ms[i] * CLOCK_NS_PER_MS;
        crew->crashes_ns[crew->crashes_counted++ % CREW_CRASHES_KEPT] =
                now_ns > ago_ns ? now_ns - ago_ns : 0;
    }
    if (options->quarantined != NULL) {
        crew->is_quarantined = true;
        (void)snprintf(crew->reason, sizeof crew->reason, "%s", options->quarantined);
    }
    crew->supervisor = supervisor;
    LOCK_SCOPE(&supervisor->lock);
    crew->next = supervisor->crews;
    supervisor->crews = crew;
    *ret = crew;
    return 0;
}

struct crew *crew_ref(struct crew *crew) {
    atomic_fetch_add_explicit(&crew->refs, 1, memory_order_relaxed);
    return crew;
}

void crew_unref(struct crew *crew) {
    if (crew == NULL || atomic_fetch_sub_explicit(&crew->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    OBJECT_CHECK(crew, CREW_MAGIC);
    lock_take(&crew->lock);
    crew->is_left = true;
    bool is_forgotten = crew->supervisor == NULL;
    crew_attend(crew);
    lock_release(&crew->lock);
    if (is_forgotten) {
        crew_free(crew);
    }
}

/* ---------------------------------------------------------------------- a call */

/* The error of a call that must not wait in line; 0: it may. */
static int refuse(const struct crew *crew, const struct crew_call *call,
                  struct toolrack_error *err) {
    if (crew->is_quarantined) {
        return crew_quarantine_error(crew, err);
    }
    if (crew->supervisor == NULL) {
        return error_set(err, TOOLRACK_E_CANCELLED, "the host is being closed");
    }
    /* A refused start is not repeated before the back-off ends, as the file is the same. */
    if (crew->live == 0 && crew->refusal.code != 0 && clock_now_ns() < crew->start_after_ns) {
        *err = crew->refusal;
        return err->code;
    }
    if (crew->waiting >= crew->limits.queue_max) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "plugin '%s' has %u calls waiting already; try again later", crew->id,
                         crew->waiting);
    }
    return atomic_load(&call->interrupted) ? call_cancelled_error(call, err) : 0;
}

static int take_lane(struct crew *crew, struct crew_call *call, bool *ret_has_waited,
                     struct toolrack_error *err) {
    OBJECT_CHECK(crew, CREW_MAGIC);
    LOCK_SCOPE(&crew->lock);
    if (!crew->is_quarantined && crew_take_idle(crew, call)) {
        return 0;
    }
    *ret_has_waited = true;
    int code = refuse(crew, call, err);
    code = code < 0 ? code : crew_wait_in_line(crew, call, err);
    crew_check_locked(crew);
    return code;
}

/* Returns the call's code.
 * @param ret_ran  set to false if the host ended the worker because of something else */
static int give_back(struct crew *crew, struct crew_call *call, enum exchange_end end, int code,
                     bool *ret_ran, struct toolrack_error *err) {
    lock_take(&crew->lock);
    struct lane *lane = call->lane;
    struct worker *worker = lane->worker;
    const struct death *death = &worker->death;
    call->lane = NULL;
    lane->call = NULL;
    crew->busy--;
    bool is_last = --worker->refs == 0;
    if (worker->state == WORKER_READY && end == EXCHANGE_DONE) {
        crew_offer(crew, lane);
    } else if (worker->state == WORKER_READY && end == EXCHANGE_LEFT) {
        uint64_t now_ns = clock_now_ns();
        lane->was_cancelled = code == TOOLRACK_E_CANCELLED;
        lane->until_ns = now_ns + (uint64_t)crew->limits.grace_ms * CLOCK_NS_PER_MS;
        lane->pause_ns = CLOCK_NS_PER_MS;
        lane->look_ns = now_ns;
        worker_withhold(lane);
    } else {
        lane_move(lane, LANE_NONE);
    }
    if (end == EXCHANGE_NONSENSE) {
        worker_kill(worker, END_NONSENSE, "%s", err->message);
    } else if (end == EXCHANGE_GONE) {
        code = death_set_error(death, err);
        *ret_ran = *ret_ran && worker->end < END_KILLED;
        if (death->backtrace.length > 0) {
            error_set_trace(err, death->backtrace.data);
        }
    }
    crew_check_locked(crew);
    lock_release(&crew->lock);
    if (is_last) {
        worker_free(worker);
    }
    return code;
}

int crew_start(struct crew *crew, struct crew_call *call, struct toolrack_error *err) {
    struct toolrack_error own = {0};
    bool has_waited = false;
    call->tool_name = crew->id;
    err = err != NULL ? err : &own;
    /* A call gets a lane only of a worker that is ready: so take a lane like a call, and give it
     * back at once.
     */
    int code = take_lane(crew, call, &has_waited, err);
    if (code == TOOLRACK_E_TIMEOUT) {
        return error_set(err, code, "plugin '%s' did not start in time", crew->id);
    }
    bool ran = false;
    return code < 0 ? code : give_back(crew, call, EXCHANGE_DONE, 0, &ran, err);
}

static int run(struct crew *crew, struct crew_call *call, struct crew_reply *ret,
               struct toolrack_error *err) {
    bool has_waited = false;
    int code = take_lane(crew, call, &has_waited, err);
    if (code == 0) {
        enum exchange_end end = EXCHANGE_DONE;
        if (has_waited && call_is_late(call)) {
            code = call_late_error(call, "; it had not begun", err);
        } else {
            end = exchange_run(call, ret, &code, err);
        }
        code = give_back(crew, call, end, code, &ret->ran, err);
    }
    if (code < 0) {
        error_set_tool(err, call->tool_name);
    }
    return code;
}

int crew_run(struct crew *crew, struct crew_call *call, struct crew_reply *ret,
             struct toolrack_error *err) {
    if (err != NULL) { /* the struct is large: zero one only for a caller that passed NULL */
        return run(crew, call, ret, err);
    }
    struct toolrack_error own = {0};
    return run(crew, call, ret, &own);
}

void crew_interrupt(struct crew *crew, struct crew_call *call) {
    LOCK_SCOPE(&crew->lock);
    call_end_early(call);
}

/* -------------------------------------------------------------- from the outside */

void crew_quarantine(struct crew *crew, const char *reason) {
    struct toolrack_error err;
    LOCK_SCOPE(&crew->lock);
    crew->is_quarantined = true;
    (void)snprintf(crew->reason, sizeof crew->reason, "%s", reason);
    (void)crew_quarantine_error(crew, &err);
    crew_fail_line(crew, &err, NULL);
    crew_attend(crew);
}

void crew_release(struct crew *crew) {
    LOCK_SCOPE(&crew->lock);
    crew->is_quarantined = false;
    crew->reason[0] = '\0';
    crew->refusal.code = 0;
    crew->failures = 0;
    crew->start_after_ns = 0;
    crew->crashes_counted = 0;
    crew_attend(crew);
}

void crew_status(struct crew *crew, struct crew_status *ret) {
    *ret = (struct crew_status){0};
    LOCK_SCOPE(&crew->lock);
    ret->workers = crew->live + crew->retired;
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
}

void crew_check(struct crew *crew) {
    LOCK_SCOPE(&crew->lock);
    crew_check_locked(crew);
}
