#include "worker/cpu.h"

#include <sys/resource.h>
#include <time.h>

#include "worker/tasks.h"
#include "worker/worker.h"

/* A clock that moved by less than this stands still: the kernel counts its own work for a process
 * too. */
#define STILL_NS (CLOCK_NS_PER_MS / 5)

/* --------------------------------------------------------------- during calls */

/* Interval at which the limit of CPU time is raised, and the extra time added because of this
 * interval. */
#define RENEW_NS (1u * (uint64_t)CLOCK_NS_PER_S)
#define MORE_S   2u

static bool read_clock(const struct worker *worker, uint64_t *ret_ns) {
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(worker->process.pid, &clock) != 0 || clock_gettime(clock, &used) < 0) {
        return false;
    }
    *ret_ns = (uint64_t)used.tv_sec * CLOCK_NS_PER_S + (uint64_t)used.tv_nsec;
    return true;
}

/* The limit counts from the start of the process, so it is raised by the time used. Between two
 * renewals each lane uses RENEW_NS at most, which MORE_S covers. The coarse clock costs a few ns;
 * the system calls would cost more than a short call. */
void cpu_renew(struct worker *worker) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
    uint64_t renewed_ns = atomic_load_explicit(&worker->cpu_renewed_ns, memory_order_relaxed);
    if (now_ns - renewed_ns < RENEW_NS ||
        !atomic_compare_exchange_strong(&worker->cpu_renewed_ns, &renewed_ns, now_ns)) {
        return;
    }
    uint64_t used_ns;
    struct rlimit limit;
    if (!read_clock(worker, &used_ns) ||
        prlimit(worker->process.pid, RLIMIT_CPU, NULL, &limit) < 0) {
        return; /* the worker has just died, which its caller will learn */
    }
    atomic_store_explicit(&worker->cpu_used_ns, used_ns, memory_order_relaxed);
    rlim_t cpu_s = (rlim_t)worker->crew->policy.limits.cpu_s + MORE_S;
    rlim_t until_s = (rlim_t)(used_ns / CLOCK_NS_PER_S) +
                     cpu_s * (worker->crew->is_shared ? CREW_LANES_MAX : 1);
    limit.rlim_cur = until_s < limit.rlim_max ? until_s : limit.rlim_max;
    (void)prlimit(worker->process.pid, RLIMIT_CPU, &limit, NULL);
    atomic_store_explicit(&worker->cpu_until_ns, limit.rlim_cur * CLOCK_NS_PER_S,
                          memory_order_relaxed);
}

uint64_t cpu_since(const struct worker *worker, uint64_t from_ns) {
    uint64_t used_ns;
    return read_clock(worker, &used_ns) && used_ns >= from_ns ? used_ns - from_ns : UINT64_MAX;
}

/* -------------------------------------------------------------- between calls */

/* With a grant to spawn, of all processes that it started. */
static bool read_used(struct worker *worker, uint64_t *ret_ns) {
    if (!worker->crew->policy.spawn) {
        return read_clock(worker, ret_ns);
    }
    bool done = tasks_look(&worker->times, worker->process.pid);
    *ret_ns = worker->times.used_ns + worker->processes * CPU_PROCESS_NS;
    return done;
}

static void stop(struct worker *worker) {
    const struct crew *crew = worker->crew;
    const struct cpu_watch *cpu = &worker->cpu;
    worker_kill(worker, END_STOPPED,
                "a worker of plugin '%s' was ended: between calls it used %llu ms of CPU time in "
                "%.1f s, and \"idle_cpu_percent\" of its policy allows %u %% over %u s",
                crew->id, (unsigned long long)(cpu->burnt_ns / CLOCK_NS_PER_MS),
                (double)cpu->idle_ns / (double)CLOCK_NS_PER_S, crew->limits.idle_cpu_percent,
                (unsigned)(CPU_WINDOW_NS / CLOCK_NS_PER_S));
}

/* The kernel has sent SIGXCPU, once a second since, and the worker has ignored it. */
static bool is_beyond_limit(const struct worker *worker, uint64_t used_ns) {
    uint64_t until_ns = atomic_load_explicit(&worker->cpu_until_ns, memory_order_relaxed);
    return until_ns != 0 && !worker->crew->policy.spawn && used_ns > until_ns + CLOCK_NS_PER_S;
}

/* Count what was used since the last look, if no call ran meanwhile. Returns whether that is too
 * much. */
static bool count_idle(struct worker *worker, uint64_t idle_ns, uint64_t used_ns) {
    struct cpu_watch *cpu = &worker->cpu;
    cpu->idle_ns += idle_ns;
    cpu->burnt_ns += used_ns;
    if (cpu->burnt_ns > CPU_WINDOW_NS / 100 * worker->crew->limits.idle_cpu_percent) {
        return true;
    }
    if (cpu->idle_ns >= CPU_WINDOW_NS) {
        cpu->idle_ns = 0;
        cpu->burnt_ns = 0;
    }
    return false;
}

void cpu_look(struct worker *worker, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    struct cpu_watch *cpu = &worker->cpu;
    LOCK_ASSERT_HELD(&crew->lock);
    if (!cpu->rests && cpu->pause_ns > CPU_PAUSE_NS) { /* a call has begun */
        cpu->pause_ns = CPU_PAUSE_NS;
        cpu->look_ns = now_ns + CPU_PAUSE_NS < cpu->look_ns ? now_ns + CPU_PAUSE_NS : cpu->look_ns;
    }
    /* Between calls short processes are looked for soon, or most would not be seen. */
    if (worker->processes != cpu->processes && worker_is_free(worker) &&
        now_ns + CPU_PAUSE_NS_BUSY < cpu->look_ns) {
        cpu->look_ns = now_ns + CPU_PAUSE_NS_BUSY;
    }
    if (now_ns < cpu->look_ns) {
        return;
    }
    uint64_t cpu_ns = 0;
    lock_release(&crew->lock);
    bool is_known = read_used(worker, &cpu_ns);
    lock_take(&crew->lock);
    if (worker->state != WORKER_READY) {
        return;
    }
    if (!is_known) { /* it has just died */
        cpu->look_ns = now_ns + CPU_PAUSE_NS_MAX;
        return;
    }
    bool is_free = worker_is_free(worker);
    bool was_idle = cpu->was_free && is_free && cpu->calls == worker->calls;
    uint64_t idle_ns = now_ns - cpu->looked_ns;
    uint64_t used_ns = cpu_ns > cpu->cpu_ns ? cpu_ns - cpu->cpu_ns : 0;
    bool is_much = used_ns > idle_ns / 100 * crew->limits.idle_cpu_percent;
    if (was_idle && count_idle(worker, idle_ns, used_ns)) {
        stop(worker);
        return;
    }
    if (!is_free && is_beyond_limit(worker, cpu_ns)) {
        worker_kill(worker, END_STOPPED,
                    "plugin '%s' used more than the %u s of CPU time allowed, and ignored SIGXCPU",
                    crew->id, crew->policy.limits.cpu_s);
        return;
    }
    uint64_t pause_ns = 2 * cpu->pause_ns;
    pause_ns = is_much                           ? CPU_PAUSE_NS_BUSY
               : !was_idle || used_ns > STILL_NS ? CPU_PAUSE_NS
               : pause_ns < CPU_PAUSE_NS_MAX     ? pause_ns
                                                 : CPU_PAUSE_NS_MAX;
    *cpu = (struct cpu_watch){.looked_ns = now_ns,
                              .look_ns = now_ns + pause_ns,
                              .pause_ns = pause_ns,
                              .rests = pause_ns > CPU_PAUSE_NS,
                              .cpu_ns = cpu_ns,
                              .calls = worker->calls,
                              .processes = worker->processes,
                              .was_free = is_free,
                              .idle_ns = cpu->idle_ns,
                              .burnt_ns = cpu->burnt_ns};
}
