#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/error.h"
#include "worker/crew-parts.h"
#include "worker/protocol.h"

/* One worker, from its start to its burial.
 *
 *     STARTING   the first lane is STARTING; whatever comes over it is taken by worker_hear(),
 *                which the worker wakes by writing to its socket
 *     READY      its lanes are IDLE, BUSY or LINGERING, and of a plugin that is thread safe
 *                the first one an OPENER (or again STARTING) until all are open
 *     ENDING     until the pidfd says that it is dead; no lane is IDLE
 *     GONE       not in the crew any more; freed with the last reference
 *
 * The opener is a lane that takes no calls: to open another one the host must have the
 * turn there, and with a call in it that would be at its end. Once all are open it takes
 * calls like the others. */

/* Most frames and messages of a worker that starts that are taken in one turn. */
#define HEAR_FRAMES_MAX 64

/* How often the limit of CPU time moves on, and what it is given more for that. */
#define CPU_RENEW_NS (1u * (uint64_t)CLOCK_NS_PER_S)
#define CPU_MORE_S   2u

/* -------------------------------------------------------------------- memory */

void worker_free(struct worker *worker) {
    for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
        channel_destroy(worker->lanes[i].channel);
    }
    output_finish(&worker->output);
    closep(&worker->process.pidfd);
    closep(&worker->process.socket);
    process_end_group(&worker->process);
    buf_finish(&worker->death.backtrace);
    worker->magic = 0;
    free(worker);
}

static struct worker *worker_create(struct crew *crew, uint64_t now_ns,
                                    struct toolrack_error *err) {
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        (void)error_oom(err);
        return NULL;
    }
    worker->magic = WORKER_MAGIC;
    worker->crew = crew;
    worker->refs = 1;
    worker->process = PROCESS_NONE;
    worker->started_ns = now_ns;
    worker->until_ns = now_ns + (uint64_t)crew->limits.start_ms * CLOCK_NS_PER_MS;
    worker->lanes_max = crew->is_shared ? CREW_LANES_MAX : 1;
    worker->lane_count = 1;
    for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
        worker->lanes[i].worker = worker;
    }
    output_init(&worker->output, supervisor_options_of(crew->supervisor)->log, crew->id);
    return worker;
}

/* -------------------------------------------------------------------- killing */

static void leave_ranks(struct worker *worker) {
    struct crew *crew = worker->crew;
    if (worker->state == WORKER_STARTING) {
        crew->starting--;
    }
    if (worker->state == WORKER_STARTING || worker->state == WORKER_READY) {
        crew->live--;
    }
    crew_withdraw(crew, worker);
}

void worker_kill(struct worker *worker, enum worker_end end, const char *format, ...) {
    if (worker->state == WORKER_GONE || worker->end == END_KILLED || worker->end == END_NONSENSE) {
        return;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(worker->end_text, sizeof worker->end_text, format, args);
    va_end(args);
    worker->was_starting = worker->state == WORKER_STARTING;
    leave_ranks(worker);
    worker->state = WORKER_ENDING;
    worker->end = end;
    worker->until_ns = 0;
    (void)pidfd_send_signal(worker->process.pidfd, SIGKILL, NULL, 0);
}

void worker_dismiss(struct worker *worker, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    leave_ranks(worker);
    worker->state = WORKER_ENDING;
    worker->end = END_ASKED;
    worker->until_ns = now_ns + (uint64_t)crew->limits.close_ms * CLOCK_NS_PER_MS;
    if (!send_plain(worker->lanes[0].channel, FRAME_END)) {
        worker_kill(worker, END_KILLED, "the worker of plugin '%s' could not be told to end",
                    crew->id);
    }
}

/* --------------------------------------------------------------------- start */

/* A start that is not to be tried again at once. Calls in line fail where nobody else could take
 * them. Caller holds crew->lock. */
static void refuse_start(struct crew *crew, const struct toolrack_error *err, uint64_t now_ns) {
    crew->refusal = *err;
    crew_back_off(crew, now_ns);
    if (crew->live == 0) {
        crew_fail_line(crew, err, NULL);
    }
}

/* With no lock held, and before the calls in line are told: who is refused may look at once what
 * became of the plugin. */
static void tell_refused(const struct crew *crew, const char *reason) {
    const struct supervisor_options *options = supervisor_options_of(crew->supervisor);
    if (options->refused != NULL) {
        options->refused(options->user, crew->user, reason);
    }
}

static int greet(struct worker *worker, struct toolrack_error *err) {
    const struct crew *crew = worker->crew;
    const struct log *log = worker->output.log;
    const struct frame_start start = {.plugin_id = crew->id,
                                      .path = crew->path,
                                      .foreign = crew->foreign,
                                      .identity = crew->identity,
                                      .settings = crew->settings,
                                      .policy = crew->policy,
                                      .filter = crew->filter->data,
                                      .filter_size = crew->filter->length,
                                      .layers_required =
                                              crew->sandbox_required ? crew->layers_wanted : 0,
                                      .log_level_min = log != NULL ? log->level_min : LOG_ERROR};
    struct lane *lane = &worker->lanes[0];
    lane->state = LANE_STARTING;
    /* One that cannot be sent to is dead already: what it died of, its pidfd will tell. */
    (void)protocol_send_fd(worker->process.socket, channel_fd(lane->channel));
    if (!send_start(lane->channel, &start)) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the settings and grants of plugin '%s' are more than a worker takes, or "
                         "there is no memory",
                         crew->id);
    }
    return 0;
}

/* Without a filter of system calls it may fork whether it was granted or not. */
static bool may_start_others(const struct crew *crew) {
    return crew->policy.spawn || (sandbox_available(&crew->policy) & SANDBOX_SECCOMP) == 0;
}

/* The process first: while it is being loaded, the rest is made for it. */
static int start_process(struct worker *worker, struct toolrack_error *err) {
    struct crew *crew = worker->crew;
    struct supervisor *supervisor = crew->supervisor;
    int code = process_spawn(supervisor_options_of(supervisor)->worker_program, crew->environment,
                             may_start_others(crew), &worker->process, err);
    if (code < 0) {
        return code;
    }
    output_set_streams(&worker->output, worker->process.streams);
    worker->lanes[0].channel = channel_create(err);
    if (worker->lanes[0].channel == NULL) {
        code = err->code;
    } else if (!supervisor_watch(supervisor, worker)) {
        code = error_set(err, TOOLRACK_E_IO, "a worker that was started cannot be watched: %s",
                         strerror(errno));
    }
    code = code < 0 ? code : greet(worker, err);
    if (code < 0) { /* it is seen by nobody yet, and gone when this returns */
        supervisor_unwatch(supervisor, worker);
        (void)pidfd_send_signal(worker->process.pidfd, SIGKILL, NULL, 0);
        (void)waitid(P_PIDFD, (id_t)worker->process.pidfd, &(siginfo_t){0}, WEXITED);
    }
    return code;
}

void worker_start(struct crew *crew, uint64_t now_ns) {
    struct toolrack_error err = {0};
    struct worker *worker = worker_create(crew, now_ns, &err);
    int code = worker != NULL ? start_process(worker, &err) : TOOLRACK_E_NO_MEMORY;
    if (code < 0) {
        tell_refused(crew, err.message);
    }
    (void)pthread_mutex_lock(&crew->lock);
    if (code < 0) {
        refuse_start(crew, &err, now_ns);
    } else {
        worker->next = crew->workers;
        crew->workers = worker;
        crew->live++;
        crew->starting++;
    }
    (void)pthread_mutex_unlock(&crew->lock);
    if (code < 0 && worker != NULL) {
        worker_free(worker);
    }
}

/* ------------------------------------------------------------- hearing: a start */

/* The first lane has the turn again. Caller holds crew->lock. */
static void free_first_lane(struct worker *worker) {
    struct crew *crew = worker->crew;
    struct lane *lane = &worker->lanes[0];
    if (worker->state != WORKER_READY) {
        lane->state = LANE_NONE;
    } else if (worker->lane_count < worker->lanes_max) {
        lane->state = LANE_OPENER;
        atomic_store(&crew->wants_attention, true);
    } else {
        crew_offer(crew, lane);
    }
}

static void begin_ready(struct worker *worker, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    const struct supervisor_options *options = supervisor_options_of(crew->supervisor);
    supervisor_listen(crew->supervisor, worker, false);
    if (options->started != NULL) { /* before any call that it serves can be over */
        options->started(options->user, crew->user, (int)worker->process.pid, worker->layers);
    }
    (void)pthread_mutex_lock(&crew->lock);
    if (worker->state == WORKER_STARTING) {
        worker->state = WORKER_READY;
        worker->idle_at_ns = now_ns + (uint64_t)crew->limits.idle_ms * CLOCK_NS_PER_MS;
        crew->starting--;
        crew->has_started = true;
        crew->layers = worker->layers;
        crew->refusal.code = 0;
    }
    free_first_lane(worker);
    atomic_store(&crew->wants_attention, true); /* its clock is another now */
    (void)pthread_mutex_unlock(&crew->lock);
}

static void begin_refused(struct worker *worker, const struct frame_failure *failure,
                          uint64_t now_ns) {
    struct crew *crew = worker->crew;
    struct toolrack_error err;
    (void)error_set(&err, failure->code, "%s", failure->message);
    tell_refused(crew, err.message);
    (void)pthread_mutex_lock(&crew->lock);
    worker->lanes[0].state = LANE_NONE;
    if (worker->state == WORKER_STARTING) {
        leave_ranks(worker);
        worker->state = WORKER_ENDING;
        worker->end = END_REFUSED;
        worker->until_ns = now_ns + (uint64_t)crew->limits.close_ms * CLOCK_NS_PER_MS;
        refuse_start(crew, &err, now_ns);
    }
    (void)pthread_mutex_unlock(&crew->lock);
}

/* False: it is nonsense. */
static bool hear_start(struct worker *worker, const struct frame_in *frame, uint64_t now_ns) {
    struct channel *channel = worker->lanes[0].channel;
    struct frame_failure failure;
    struct frame_log log;
    uint64_t layers;
    switch (frame->type) {
    case FRAME_DESCRIBE:
        if (!read_number(frame, &layers) || layers > UINT32_MAX) {
            return false;
        }
        worker->layers = (uint32_t)layers;
        return send_plain(channel, FRAME_GO_ON);
    case FRAME_LOG:
        if (!read_log(frame, &log) || log.level < LOG_DEBUG || log.level > LOG_ERROR) {
            return false;
        }
        output_log(&worker->output, log.level, log.message, now_ns);
        return send_plain(channel, FRAME_GO_ON);
    case FRAME_READY: begin_ready(worker, now_ns); return true;
    case FRAME_REFUSED:
        if (!read_failure(frame, &failure) || failure.code >= 0) {
            return false;
        }
        begin_refused(worker, &failure, now_ns);
        return true;
    default: return false;
    }
}

/* -------------------------------------------------------------- hearing: a lane */

/* No more lanes than there are. Caller holds crew->lock. */
static void stop_opening(struct worker *worker) {
    struct lane *lane = &worker->lanes[worker->lane_count];
    channel_destroy(lane->channel);
    lane->channel = NULL;
    worker->lanes_max = worker->lane_count;
}

void worker_open_lane(struct worker *worker) {
    struct lane *opener = &worker->lanes[0];
    struct lane *lane = &worker->lanes[worker->lane_count];
    lane->channel = channel_create(NULL);
    if (lane->channel == NULL ||
        !protocol_send_fd(worker->process.socket, channel_fd(lane->channel))) {
        stop_opening(worker);
        free_first_lane(worker);
        return;
    }
    opener->state = LANE_STARTING;
    supervisor_listen(worker->crew->supervisor, worker, true);
    if (!worker->is_listening || !send_plain(opener->channel, FRAME_OPEN)) {
        worker_kill(worker, END_KILLED,
                    "the worker of plugin '%s' could not be told to open a lane", worker->crew->id);
    }
}

static bool hear_lane(struct worker *worker, const struct frame_in *frame) {
    struct crew *crew = worker->crew;
    if (frame->type != FRAME_READY) {
        return false;
    }
    supervisor_listen(crew->supervisor, worker, false);
    (void)pthread_mutex_lock(&crew->lock);
    struct lane *lane = &worker->lanes[worker->lane_count++];
    if (worker->state == WORKER_READY) {
        crew_offer(crew, lane);
    }
    free_first_lane(worker);
    (void)pthread_mutex_unlock(&crew->lock);
    return true;
}

/* --------------------------------------------------------------------- hearing */

/* What was written to the socket says only that there is something to look at. */
static void empty_socket(const struct worker *worker) {
    char bytes[64];
    for (unsigned i = 0; i < HEAR_FRAMES_MAX; i++) {
        if (recv(worker->process.socket, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) {
            return;
        }
    }
}

static bool is_expected(struct worker *worker, bool *ret_starts) {
    (void)pthread_mutex_lock(&worker->crew->lock);
    bool is = worker->lanes[0].state == LANE_STARTING;
    *ret_starts = worker->state == WORKER_STARTING;
    (void)pthread_mutex_unlock(&worker->crew->lock);
    return is && channel_is_held(worker->lanes[0].channel);
}

static void stop_hearing(struct worker *worker, bool is_nonsense) {
    struct crew *crew = worker->crew;
    (void)pthread_mutex_lock(&crew->lock);
    worker->lanes[0].state = LANE_NONE;
    worker_kill(worker, is_nonsense ? END_NONSENSE : END_KILLED,
                is_nonsense ? "the worker of plugin '%s' sent nonsense while it was starting, and "
                              "was ended"
                            : "there is no memory for what the worker of plugin '%s' says",
                crew->id);
    (void)pthread_mutex_unlock(&crew->lock);
}

void worker_hear(struct worker *worker, uint64_t now_ns) {
    bool starts = false;
    empty_socket(worker);
    for (unsigned i = 0; i < HEAR_FRAMES_MAX && is_expected(worker, &starts); i++) {
        struct frame_in frame;
        enum channel_wait came = channel_receive(worker->lanes[0].channel, 1, &frame);
        bool is_sense = came != CHANNEL_NONSENSE;
        if (came == CHANNEL_FRAME) {
            is_sense = starts ? hear_start(worker, &frame, now_ns) : hear_lane(worker, &frame);
        }
        if (!is_sense || came == CHANNEL_NO_MEMORY) {
            stop_hearing(worker, !is_sense);
            return;
        }
    }
}

/* --------------------------------------------------------------------- burial */

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2) /* Linux 6.9 */
#endif

/* The process's own children die with it: they are of its group, which they cannot leave. Where
 * the kernel does not know the group by the pidfd, its number is good only until it is reaped. */
static void kill_group(const struct worker *worker, bool is_reaped) {
    if (pidfd_send_signal(worker->process.pidfd, SIGKILL, NULL, PIDFD_SIGNAL_PROCESS_GROUP) < 0 &&
        errno == EINVAL && !is_reaped) {
        (void)kill(-worker->process.pid, SIGKILL);
    }
}

/* Returns whether it is dead; *ret_known: and `ret` says of what. */
static bool reap(const struct worker *worker, siginfo_t *ret, bool *ret_known) {
    id_t pidfd = (id_t)worker->process.pidfd;
    *ret = (siginfo_t){0};
    *ret_known = false;
    if (waitid(P_PIDFD, pidfd, ret, WEXITED | WNOHANG | WNOWAIT) < 0) {
        kill_group(worker, true); /* the app reaped it, or ignores SIGCHLD */
        return true;
    }
    if (ret->si_pid == 0) {
        return false;
    }
    kill_group(worker, false);
    *ret_known = waitid(P_PIDFD, pidfd, ret, WEXITED | WNOHANG) == 0 && ret->si_pid != 0;
    return true;
}

/* Take it out of the crew: no call reaches it any more. What it was when it died is returned. */
static enum worker_state unlist(struct worker *worker, enum worker_end *ret_end) {
    struct crew *crew = worker->crew;
    (void)pthread_mutex_lock(&crew->lock);
    enum worker_state state = worker->was_starting ? WORKER_STARTING : worker->state;
    *ret_end = worker->end;
    leave_ranks(worker);
    worker->state = WORKER_GONE;
    struct worker **at = &crew->workers;
    while (*at != worker) {
        at = &(*at)->next;
    }
    *at = worker->next;
    (void)pthread_mutex_unlock(&crew->lock);
    return state;
}

/* What the callbacks are told; its texts are copies, for the call's owner may be gone by then. */
struct obituary {
    struct crew_death death;
    char *arguments;
    const char *lines[CREW_LAST_LINES];
    unsigned crashes;
    bool is_refused;     /* it is a start that failed */
    bool is_quarantined; /* this was one too many */
    char quarantine[ERROR_MESSAGE_MAX];
};

/* The call that was inside, of several the first. Caller holds crew->lock. */
static void note_call(const struct worker *worker, struct obituary *obituary) {
    struct crew_death *death = &obituary->death;
    death->tool = UINT32_MAX;
    for (unsigned i = 0; i < CREW_LANES_MAX && death->tool == UINT32_MAX; i++) {
        const struct lane *lane = &worker->lanes[i];
        if (lane->state != LANE_BUSY && lane->state != LANE_LINGERING) {
            continue;
        }
        death->tool = lane->tool;
        const struct crew_call *call = lane->state == LANE_BUSY ? lane->call : NULL;
        obituary->arguments = call != NULL ? malloc(call->arguments_length + 1) : NULL;
        if (obituary->arguments != NULL) {
            memcpy(obituary->arguments, call->arguments, call->arguments_length);
            obituary->arguments[call->arguments_length] = '\0';
            death->arguments = obituary->arguments;
            death->arguments_length = call->arguments_length;
        }
    }
}

/* Nobody ended its workers for no fault of theirs. */
static bool is_wanted(struct crew *crew) {
    (void)pthread_mutex_lock(&crew->lock);
    bool is = !crew->is_left && !supervisor_is_stopping(crew->supervisor);
    (void)pthread_mutex_unlock(&crew->lock);
    return is;
}

/* What the death means for those who wait. Caller holds crew->lock. */
static void draw_consequences(struct worker *worker, enum worker_state state,
                              struct obituary *obituary, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    const struct death *death = &worker->death;
    struct toolrack_error err;
    (void)error_set(&err, TOOLRACK_E_EXECUTION_FAILED, "%s", death->reason);
    err.signal = death->signal;
    bool is_quick = now_ns - worker->started_ns < (uint64_t)crew->limits.quick_ms * CLOCK_NS_PER_MS;
    if (obituary->is_refused) {
        refuse_start(crew, &err, now_ns);
    }
    if (!death->crashed) {
        return;
    }
    (void)snprintf(crew->last_death, sizeof crew->last_death, "%s", death->reason);
    if (is_quick) {
        crew_back_off(crew, now_ns);
    } else {
        crew->failures = 0;
    }
    if (crew_count_crash(crew, death->reason, now_ns)) {
        obituary->is_quarantined = true;
        (void)snprintf(obituary->quarantine, sizeof obituary->quarantine, "%s", crew->reason);
        (void)crew_quarantine_error(crew, &err);
        crew_fail_line(crew, &err, NULL);
    } else if (state == WORKER_STARTING && crew->live == 0) {
        crew_fail_line(crew, &err, NULL);
    }
}

static void tell_callers(struct worker *worker) {
    for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
        if (worker->lanes[i].state == LANE_BUSY) {
            channel_abandon(worker->lanes[i].channel);
        }
    }
}

static void tell_host(const struct worker *worker, const struct obituary *obituary,
                      enum worker_end end) {
    const struct supervisor_options *options = supervisor_options_of(worker->crew->supervisor);
    const struct crew_death *death = &obituary->death;
    void *crew_user = worker->crew->user;
    if (obituary->is_refused || (!death->crashed && end != END_KILLED)) {
        return;
    }
    if (!death->crashed) { /* a crash is told by who is told of it */
        log_line(options->log, LOG_WARNING, worker->crew->id, "%s", death->reason);
    }
    if (options->died != NULL) {
        options->died(options->user, crew_user, death);
    }
    if (obituary->is_quarantined && options->quarantined != NULL) {
        options->quarantined(options->user, crew_user, obituary->quarantine, obituary->crashes);
    }
}

void worker_bury(struct worker *worker, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    siginfo_t status;
    bool is_known = false;
    if (!reap(worker, &status, &is_known)) {
        return;
    }
    process_end_group(&worker->process); /* also where its number was not good any more */
    worker_hear(worker, now_ns);         /* it may have said why it ends */
    output_end(&worker->output, now_ns);
    worker->is_buried = true;
    supervisor_forget(crew->supervisor, worker);
    enum worker_end end = END_NOT;
    enum worker_state state = unlist(worker, &end);
    death_describe(worker, is_known ? &status : NULL, state, end);

    struct death *death = &worker->death;
    struct obituary obituary = {
            .death = {.crashed = death->crashed,
                      .signal = death->signal,
                      .exit_status = death->exit_status,
                      .reason = death->reason,
                      .backtrace = death->backtrace.length > 0 ? death->backtrace.data : "",
                      .last_lines = obituary.lines,
                      .last_line_count = output_last_lines(&worker->output, obituary.lines),
                      .since_start_ms = (now_ns - worker->started_ns) / CLOCK_NS_PER_MS}};
    obituary.is_refused = state == WORKER_STARTING && end == END_KILLED && is_wanted(crew);
    if (obituary.is_refused) {
        tell_refused(crew, death->reason);
    }
    (void)pthread_mutex_lock(&crew->lock);
    note_call(worker, &obituary);
    draw_consequences(worker, state, &obituary, now_ns);
    obituary.crashes = crew->crashes;
    tell_callers(worker);
    atomic_store(&crew->wants_attention, true);
    (void)pthread_mutex_unlock(&crew->lock);
    tell_host(worker, &obituary, end);
    free(obituary.arguments);
}

void worker_release(struct worker *worker) {
    struct crew *crew = worker->crew;
    (void)pthread_mutex_lock(&crew->lock);
    bool is_last = --worker->refs == 0;
    (void)pthread_mutex_unlock(&crew->lock);
    if (is_last) {
        worker_free(worker);
    }
}

/* -------------------------------------------------------------------- CPU time */

static uint64_t coarse_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The limit counts from the start of the process, so it moves on with what was used. Between two
 * renewals each lane uses CPU_RENEW_NS at most, which it is given more; and the coarse clock costs
 * a few ns, where the system calls would cost more than a short call. */
void worker_renew_cpu(struct worker *worker) {
    uint64_t now_ns = coarse_now_ns();
    uint64_t renewed_ns = atomic_load_explicit(&worker->cpu_renewed_ns, memory_order_relaxed);
    if (now_ns - renewed_ns < CPU_RENEW_NS ||
        !atomic_compare_exchange_strong(&worker->cpu_renewed_ns, &renewed_ns, now_ns)) {
        return;
    }
    uint32_t cpu_s = worker->crew->policy.limits.cpu_s;
    cpu_s = cpu_s != 0 ? cpu_s : SANDBOX_CPU_DEFAULT_S;
    clockid_t clock;
    struct timespec used;
    struct rlimit limit;
    if (clock_getcpuclockid(worker->process.pid, &clock) != 0 || clock_gettime(clock, &used) < 0 ||
        prlimit(worker->process.pid, RLIMIT_CPU, NULL, &limit) < 0) {
        return; /* it has just died, which its caller will be told */
    }
    rlim_t until_s = (rlim_t)used.tv_sec +
                     ((rlim_t)cpu_s + CPU_MORE_S) * (worker->crew->is_shared ? CREW_LANES_MAX : 1);
    limit.rlim_cur = until_s < limit.rlim_max ? until_s : limit.rlim_max;
    (void)prlimit(worker->process.pid, RLIMIT_CPU, &limit, NULL);
}
