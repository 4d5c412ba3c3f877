#include "call/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "base/sanitizer.h"
#include "base/thread.h"

/* -------------------------------------------------------------------- life */

/* The memory of ended jobs, for the next: it is too large for malloc() to be quick. In several
 * lists, each for some of the threads: what a thread has used last is in the cache of its CPU, and
 * to get it from that of another takes longer than most calls. */
#define SPARE_LISTS 8u
#define SPARE_MAX   24u /* in each */
#define SPARE_LINE  64u /* bytes; no two lists share a line of the cache */
struct spare {
    _Alignas(SPARE_LINE) struct lock lock;
    struct job *first;      /* by queue_next */
    _Atomic unsigned count; /* changed under the lock */
};
#define SPARE_INIT \
    { .lock = LOCK_INIT }
static struct spare spares[SPARE_LISTS] = {SPARE_INIT, SPARE_INIT, SPARE_INIT, SPARE_INIT,
                                           SPARE_INIT, SPARE_INIT, SPARE_INIT, SPARE_INIT};

static struct job *take_spare(struct spare *spare) {
    if (atomic_load_explicit(&spare->count, memory_order_relaxed) == 0) {
        return NULL;
    }
    LOCK_SCOPE(&spare->lock);
    struct job *job = spare->first;
    if (job != NULL) {
        spare->first = job->queue_next;
        (void)atomic_fetch_sub_explicit(&spare->count, 1, memory_order_relaxed);
    }
    return job;
}

static struct job *take_memory(void) {
    unsigned own = thread_number();
    struct job *job = NULL;
    for (unsigned i = 0; job == NULL && i < SPARE_LISTS; i++) {
        job = take_spare(&spares[(own + i) % SPARE_LISTS]);
    }
    return job != NULL ? job : malloc(sizeof *job);
}

static void give_memory(struct job *job) {
    struct spare *spare = &spares[thread_number() % SPARE_LISTS];
    lock_take(&spare->lock);
    /* AddressSanitizer would not see who uses an ended job. */
    bool keeps = !SANITIZER_ADDRESS &&
                 atomic_load_explicit(&spare->count, memory_order_relaxed) < SPARE_MAX;
    if (keeps) {
        job->queue_next = spare->first;
        spare->first = job;
        (void)atomic_fetch_add_explicit(&spare->count, 1, memory_order_relaxed);
    }
    lock_release(&spare->lock);
    if (!keeps) {
        free(job);
    }
}

static size_t size_of(const char *string) {
    return string != NULL ? strlen(string) + 1 : 0;
}

static const char *move_string(char **at, const char *string) {
    if (string == NULL) {
        return NULL;
    }
    const char *start = *at;
    *at = stpcpy(*at, string) + 1;
    return start;
}

/* The arguments and the options' strings must outlive a caller that gave the job up. */
static bool own(struct job *job, const char *arguments, size_t length) {
    struct toolrack_call_options *options = &job->call.options;
    size_t size = length + 1 + size_of(options->caller) + size_of(options->channel) +
                  size_of(options->conversation) + size_of(options->trace) +
                  size_of(options->party) + size_of(options->run) + size_of(options->confirmed_by) +
                  size_of(options->node) + size_of(options->plan) + options->secrets_length;
    job->owned = size > sizeof job->room ? malloc(size) : NULL;
    char *at = job->owned != NULL ? job->owned : job->room;
    if (job->owned == NULL && size > sizeof job->room) {
        return false;
    }
    job->arguments = at;
    job->length = length;
    if (length > 0) {
        memcpy(at, arguments, length);
    }
    at[length] = '\0';
    at += length + 1;
    options->caller = move_string(&at, options->caller);
    options->channel = move_string(&at, options->channel);
    options->conversation = move_string(&at, options->conversation);
    options->trace = move_string(&at, options->trace);
    options->party = move_string(&at, options->party);
    options->run = move_string(&at, options->run);
    options->confirmed_by = move_string(&at, options->confirmed_by);
    options->node = move_string(&at, options->node);
    options->plan = move_string(&at, options->plan);
    if (options->secrets != NULL) {
        memcpy(at, options->secrets, options->secrets_length);
        options->secrets = at;
    }
    call_take_context(&job->call);
    return true;
}

/* FNV-1a. Who shares a number with whom differs from process to process; nobody shares that of
 * those of whom nothing is said. */
static unsigned party_of(const struct job *job) {
    const struct toolrack_call_options *options = &job->call.options;
    const char *party = options->party != NULL ? options->party : options->caller;
    uint64_t hash = (uint64_t)(uintptr_t)job->pool ^ 0xcbf29ce484222325u;
    if (party == NULL) {
        return PLUGIN_NOBODY;
    }
    for (; *party != '\0'; party++) {
        hash = (hash ^ (unsigned char)*party) * 0x100000001b3u;
    }
    return 1 + (unsigned)(hash >> 32) % (PLUGIN_PARTIES - 1);
}

static void set_time(struct job *job, const struct call_time *time) {
    job->time = *time;
    job->call.started_ns = time->started_ns;
    job->call.run.deadline_ns = call_time_deadline_ns(time);
}

/* Go to READY, LOADING, RUNNING or AWAY, unless the job was given up or cancelled meanwhile. */
static bool take_step(void *user, enum call_step step) {
    static const enum job_state states[] = {[CALL_LOADS] = JOB_LOADING,
                                            [CALL_PREPARES] = JOB_READY,
                                            [CALL_RUNS] = JOB_RUNNING,
                                            [CALL_WAITS] = JOB_AWAY};
    struct job *job = user;
    OBJECT_CHECK(job, JOB_MAGIC);
    lock_take(&job->gate.lock);
    bool goes_on = !job_is_over(job);
    if (goes_on) {
        assert(job->state != JOB_QUEUED && job->state != JOB_ASKING && job->state != JOB_COPYING);
        goes_on = !atomic_load(&job->call.cancelled);
        job->state = goes_on ? states[step] : JOB_READY;
    }
    lock_release(&job->gate.lock);
    return goes_on;
}

struct job *job_create(struct pool *pool, const struct call_host *host, struct toolrack_tool *tool,
                       const char *arguments, size_t length,
                       const struct toolrack_call_options *options, const struct call_time *time) {
    struct job *job = take_memory();
    if (job == NULL) {
        return NULL;
    }
    /* Not the large parts, which are written before they are read. */
    memset(job, 0, offsetof(struct job, call));
    memset(&job->gate, 0, offsetof(struct job, room) - offsetof(struct job, gate));
    job->magic = JOB_MAGIC;
    atomic_init(&job->refs, 1);
    job->pool = pool;
    job->tool = toolrack_tool_ref(tool);
    job->state = JOB_QUEUED;
    lock_init(&job->gate.lock);
    (void)pthread_cond_init(&job->gate.left, NULL);
    wakeup_reset(&job->ended);
    call_init(&job->call, host, tool, options, job->memory, sizeof job->memory);
    job->call.gate = &job->gate;
    job->call.crew_lock = &job->gate.lock.mutex;
    job->call.step = take_step;
    job->call.step_user = job;
    set_time(job, time);
    if (!plugin_have_parties(tool->reg->plugin) || !own(job, arguments, length)) {
        job_unref(job);
        return NULL;
    }
    job->party = party_of(job);
    return job;
}

struct job *job_ref(struct job *job) {
    OBJECT_CHECK(job, JOB_MAGIC);
    atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
    return job;
}

void job_unref(struct job *job) {
    if (job == NULL || atomic_fetch_sub_explicit(&job->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    OBJECT_WIPE(job, JOB_MAGIC);
    call_finish(&job->call);
    toolrack_result_free(job->result);
    toolrack_tool_unref(job->tool);
    toolrack_tool_unref(job->tool_before);
    (void)pthread_cond_destroy(&job->gate.left);
    lock_finish(&job->gate.lock);
    free(job->owned);
    free(job->name);
    give_memory(job);
}

/* ------------------------------------------------------------- transitions */

bool job_begin(struct job *job, enum job_state next) {
    OBJECT_CHECK(job, JOB_MAGIC);
    assert(next == JOB_READY || next == JOB_COPYING || next == JOB_ASKING);
    lock_take(&job->gate.lock);
    bool begins = job->state == JOB_QUEUED;
    if (begins) {
        job->state = next;
        job->asked_ns = next == JOB_ASKING ? clock_now_ns() : 0;
    }
    lock_release(&job->gate.lock);
    return begins;
}

/* Make the last transition, with its outcome. Caller holds gate.lock. */
static void set_outcome(struct job *job, enum job_state last, int code,
                        struct toolrack_result *result, const struct toolrack_error *error,
                        const struct call_cost *cost) {
    LOCK_ASSERT_HELD(&job->gate.lock);
    assert(!job_is_over(job));
    uint64_t duration_ns =
            call_record(&job->call, job->arguments, job->length, result, error, cost);
    if (result != NULL) {
        result->duration_ns = duration_ns;
    }
    job->ended_ns = job->call.started_ns + duration_ns;
    job->state = last;
    job->code = code;
    job->result = result;
    if (code < 0 && error != &job->error) {
        job->error = *error;
    }
}

static bool is_in_plugin(const struct job *job) {
    return job->state == JOB_LOADING || job->state == JOB_RUNNING;
}

/* What a call was doing when its deadline passed; may use `room`. */
static const char *state_words(const struct job *job, char room[CALL_COPY_WORDS_ROOM]) {
    struct plugin *plugin = job->tool->reg->plugin;
    bool is_stuck = atomic_load(&plugin->stuck) != 0;
    switch (job->state) {
    case JOB_QUEUED:
        if (is_stuck) {
            return CALL_BEHIND_STUCK;
        }
        if (job->thread != NULL ||
            job_has_room(job)) { /* it may have a thread that is no further */
            return "; the host was too busy to begin it";
        }
        if (plugin->pool_running < plugin->calls_max) {
            return "; its caller had as many calls of its plugin as one may have at once";
        }
        return plugin_may_be_stale(plugin)
                       ? call_copy_words(plugin, room) /* which those calls wait for */
                       : "; its plugin was busy with other calls, as many as it can serve at once";
    case JOB_READY: return is_stuck ? CALL_BEHIND_STUCK : "; it had not begun";
    case JOB_LOADING: return "; its plugin is still being loaded";
    default: return "";
    }
}

/* Caller holds gate.lock. */
static void set_given_up(struct job *job, bool was_cancelled) {
    const char *name = toolrack_tool_name(job->tool);
    char room[CALL_COPY_WORDS_ROOM];
    int code = was_cancelled ? error_set(&job->error, TOOLRACK_E_CANCELLED,
                                         "the call of '%s' was cancelled%s", name,
                                         is_in_plugin(job) ? "; the tool still runs" : "")
                             : call_late(&job->call, state_words(job, room), &job->error);
    error_set_tool(&job->error, name);
    error_set_begun(&job->error, atomic_load(&job->call.ran) || is_in_plugin(job));
    atomic_store(&job->call.cancelled, true);
    job->is_lost = is_in_plugin(job);
    struct call_cost cost = call_cost_so_far(&job->call);
    set_outcome(job, JOB_GIVEN_UP, code, NULL, &job->error, &cost);
    job->gate.closed = true;
}

enum job_end job_take_tool(struct job *job, struct toolrack_tool *tool) {
    OBJECT_CHECK(job, JOB_MAGIC);
    enum job_end end = JOB_ENDED;
    lock_take(&job->gate.lock);
    assert(job->state == JOB_COPYING);
    if (atomic_load(&job->call.cancelled)) {
        set_given_up(job, true);
    } else {
        if (tool != job->tool) { /* once only: the new one is copied */
            assert(job->tool_before == NULL);
            job->tool_before = job->tool;
            job->tool = toolrack_tool_ref(tool);
            job->call.tool = tool;
            call_take_context(&job->call);
        }
        job->state = JOB_QUEUED;
        end = JOB_GOES_ON;
    }
    lock_release(&job->gate.lock);
    return end;
}

enum job_end job_answer(struct job *job, int code, const struct toolrack_error *error) {
    OBJECT_CHECK(job, JOB_MAGIC);
    enum job_end end = JOB_ENDED;
    lock_take(&job->gate.lock);
    assert(job->state == JOB_ASKING);
    if (atomic_load(&job->call.cancelled)) {
        set_given_up(job, true);
    } else if (code < 0) {
        set_outcome(job, JOB_DONE, code, NULL, error, NULL);
    } else {
        job->state = JOB_QUEUED;
        job->asks = false;
        set_time(job, &(struct call_time){.started_ns = job->time.started_ns + clock_now_ns() -
                                                        job->asked_ns,
                                          .deadline_ms = job->time.deadline_ms});
        end = JOB_GOES_ON;
    }
    lock_release(&job->gate.lock);
    return end;
}

enum job_end job_finish(struct job *job, int code, struct toolrack_result *result,
                        const struct toolrack_error *error) {
    OBJECT_CHECK(job, JOB_MAGIC);
    lock_take(&job->gate.lock);
    enum job_end end = job->is_lost                 ? JOB_LOST
                       : job->state == JOB_GIVEN_UP ? JOB_WAS_OVER
                                                    : JOB_ENDED;
    if (end == JOB_ENDED) {
        set_outcome(job, JOB_DONE, code, result, error, &job->call.cost);
    }
    lock_release(&job->gate.lock);
    if (end != JOB_ENDED) {
        toolrack_result_free(result);
    }
    return end;
}

enum job_end job_give_up(struct job *job) {
    OBJECT_CHECK(job, JOB_MAGIC);
    enum job_end end = JOB_GOES_ON;
    lock_take(&job->gate.lock);
    bool was_cancelled = atomic_load(&job->call.cancelled);
    /* The time of a submitted job may have started again since the watch found that it had passed.
     */
    bool is_due = was_cancelled || (!job->gate.asks && job->call.run.deadline_ns != 0 &&
                                    clock_now_ns() >= job->call.run.deadline_ns);
    if (is_due && !job_is_over(job) && job->state != JOB_AWAY && job->state != JOB_ASKING &&
        job->state != JOB_COPYING) {
        set_given_up(job, was_cancelled);
        end = job->is_lost ? JOB_LOST : JOB_ENDED;
    }
    lock_release(&job->gate.lock);
    return end;
}

void job_left_behind(struct job *job, bool is_lost) {
    plugin_wake(job->tool->reg->plugin, &job->call, is_lost);
    lock_take(&job->gate.lock);
    while (job->gate.inside > 0) {
        lock_wait(&job->gate.lock, &job->gate.left);
    }
    lock_release(&job->gate.lock);
}

uint64_t job_interrupt(struct job *job) {
    OBJECT_CHECK(job, JOB_MAGIC);
    LOCK_SCOPE(&job->gate.lock);
    if (job_is_over(job)) {
        return UINT64_MAX;
    }
    atomic_store(&job->call.cancelled, true);
    call_interrupt(&job->call);
    uint64_t now_ns = clock_now_ns();
    uint64_t until_ns =
            job->state == JOB_QUEUED ? 0 : now_ns + (uint64_t)JOB_CANCEL_GRACE_MS * CLOCK_NS_PER_MS;
    job->give_up_ns = until_ns != 0 ? until_ns : now_ns;
    return until_ns;
}

void job_hurry(struct job *job) {
    lock_take(&job->gate.lock);
    job->give_up_ns = job->give_up_ns != 0 ? clock_now_ns() : 0;
    lock_release(&job->gate.lock);
    job_deadline_moved(job);
}

void job_deadline_moved(struct job *job) {
    if (job->done == NULL) {
        wakeup_nudge(&job->ended);
    }
}

void job_hand_back(struct job *job) {
    OBJECT_CHECK(job, JOB_MAGIC);
    assert(job->done == NULL);
    wakeup_send(&job->ended);
}

/* Until when a caller waits whose job was not handed back; 0: without limit, since its tool waits
 * for an input, or its thread is about to hand it back. *ret_late: no longer. */
static uint64_t wait_until(struct job *job, bool *ret_late) {
    LOCK_SCOPE(&job->gate.lock);
    uint64_t until_ns = job->call.run.deadline_ns;
    if (job_is_over(job) || (job->gate.asks && job->give_up_ns == 0)) {
        return 0;
    }
    if (job->give_up_ns != 0 && (job->give_up_ns < until_ns || job->gate.asks)) {
        until_ns = job->give_up_ns;
    }
    *ret_late = clock_now_ns() >= until_ns;
    return until_ns;
}

bool job_wait(struct job *job, struct spin *spin) {
    uint64_t until_ns = job->call.run.deadline_ns;
    bool is_late = false;
    if (spin != NULL) {
        (void)spin_while(spin, &job->ended.word, WAKEUP_NONE);
    }
    while (!is_late && !wakeup_wait(&job->ended, until_ns)) {
        until_ns = wait_until(job, &is_late);
    }
    return !is_late;
}
