#include "worker/burial.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/error.h"
#include "worker/death.h"
#include "worker/events.h"
#include "worker/worker.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2) /* Linux 6.9 */
#endif

/* The process's children are killed with it: they are in its group, which they cannot leave. If the
 * kernel cannot signal a group by its pidfd, the group's number is valid only until the process is
 * reaped. */
static void kill_group(const struct worker *worker, bool is_reaped) {
    if (pidfd_send_signal(worker->process.pidfd, SIGKILL, NULL, PIDFD_SIGNAL_PROCESS_GROUP) < 0 &&
        errno == EINVAL && !is_reaped) {
        (void)kill(-worker->process.pid, SIGKILL);
    }
}

/* Returns whether the process is dead. If *ret_known is set, `ret` is its exit status. */
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

/* What the callbacks report. The strings are copies, as the call's owner may have returned by
 * then. */
struct obituary {
    struct crew_death death;
    char *arguments;
    const char *lines[CREW_LAST_LINES];
    unsigned crashes;
    bool is_refused;     /* a start failed */
    bool is_quarantined; /* this crash causes a quarantine */
    char quarantine[ERROR_MESSAGE_MAX];
};

/* The arguments of a call as text; NULL: no memory. */
static char *copy_arguments(const struct crew_call *call, size_t *ret_length) {
    if (call->values != NULL) {
        return yyjson_val_write(call->values, YYJSON_WRITE_NOFLAG, ret_length);
    }
    char *copy = malloc(call->arguments_length + 1);
    if (copy != NULL) {
        memcpy(copy, call->arguments, call->arguments_length);
        copy[call->arguments_length] = '\0';
        *ret_length = call->arguments_length;
    }
    return copy;
}

/* Note the call that ran in the worker; if several ran, the first. */
static void note_call(const struct worker *worker, struct obituary *obituary) {
    struct crew_death *death = &obituary->death;
    LOCK_ASSERT_HELD(&worker->crew->lock);
    death->tool = UINT32_MAX;
    for (unsigned i = 0; i < CREW_LANES_MAX && death->tool == UINT32_MAX; i++) {
        const struct lane *lane = &worker->lanes[i];
        if (lane->state != LANE_BUSY && lane->state != LANE_LINGERING) {
            continue;
        }
        death->tool = lane->tool;
        const struct crew_call *call = lane->state == LANE_BUSY ? lane->call : NULL;
        obituary->arguments = call != NULL ? copy_arguments(call, &death->arguments_length) : NULL;
        death->arguments = obituary->arguments;
    }
}

/* Count a crash. Returns whether it causes a quarantine, whose reason is written then; calls are
 * refused for it only after it was stored. */
static bool count_crash(struct crew *crew, const char *reason, uint64_t now_ns,
                        char ret_quarantine[ERROR_MESSAGE_MAX]) {
    uint32_t max = crew->limits.crashes_max;
    LOCK_ASSERT_HELD(&crew->lock);
    crew->crashes++;
    crew->crashes_ns[crew->crashes_counted++ % CREW_CRASHES_KEPT] = now_ns;
    if (crew->is_quarantined || crew->crashes_counted < max) {
        return false;
    }
    uint64_t first_ns = crew->crashes_ns[(crew->crashes_counted - max) % CREW_CRASHES_KEPT];
    if (now_ns - first_ns > (uint64_t)crew->limits.crashes_window_ms * CLOCK_NS_PER_MS) {
        return false;
    }
    struct toolrack_error words; /* cut at the end of a character */
    (void)error_set(&words, TOOLRACK_E_EXECUTION_FAILED, "%u crashes within %u s; the last: %s",
                    max, (crew->limits.crashes_window_ms + 999) / 1000, reason);
    (void)snprintf(ret_quarantine, ERROR_MESSAGE_MAX, "%s", words.message);
    return true;
}

/* Apply the consequences of the death to the crew and to the calls in line. */
static void draw_consequences(struct worker *worker, enum worker_state state,
                              const struct obituary *obituary, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    const struct death *death = &worker->death;
    struct toolrack_error err;
    LOCK_ASSERT_HELD(&crew->lock);
    (void)death_set_error(death, &err);
    if (obituary->is_refused) {
        worker_refuse_start(crew, &err, now_ns);
    }
    if (!death->crashed) {
        return;
    }
    (void)snprintf(crew->last_death, sizeof crew->last_death, "%s", death->reason);
    if (now_ns - worker->started_ns < (uint64_t)crew->limits.quick_ms * CLOCK_NS_PER_MS) {
        worker_back_off(crew, now_ns);
    } else {
        crew->failures = 0;
    }
    if (obituary->is_quarantined) {
        crew->is_quarantined = true;
        (void)snprintf(crew->reason, sizeof crew->reason, "%s", obituary->quarantine);
        (void)crew_quarantine_error(crew, &err);
        crew_fail_line(crew, &err, NULL);
    } else if (state == WORKER_STARTING && crew->live == 0) {
        crew_fail_line(crew, &err, NULL);
    }
}

static void tell_host(const struct worker *worker, const struct obituary *obituary,
                      enum worker_end end) {
    const struct supervisor_options *options = &worker->crew->supervisor->options;
    const struct crew_death *death = &obituary->death;
    void *crew_user = worker->crew->user;
    if (obituary->is_refused || (!death->crashed && end != END_KILLED && end != END_STOPPED)) {
        return;
    }
    if (!death->crashed) { /* a crash is logged by the host's callback */
        log_line(options->log, LOG_WARNING, worker->crew->id, "%s", death->reason);
    }
    if (options->died != NULL) {
        options->died(options->user, crew_user, death);
    }
    if (obituary->is_quarantined && options->quarantined != NULL) {
        options->quarantined(options->user, crew_user, obituary->quarantine);
    }
}

void worker_bury(struct worker *worker, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    siginfo_t status;
    bool is_known = false;
    OBJECT_CHECK(worker, WORKER_MAGIC);
    if (!reap(worker, &status, &is_known)) {
        return;
    }
    process_end_group(&worker->process); /* even if the group's number is no longer valid */
    worker_hear(worker, now_ns);         /* its last frame may state why it ends */
    output_end(&worker->output, now_ns);
    worker->is_buried = true;
    events_remove(crew->supervisor, worker);
    worker->next_gone = crew->supervisor->gone;
    crew->supervisor->gone = worker;

    /* Take it out of the crew: no call reaches it any more. */
    lock_take(&crew->lock);
    enum worker_state state = worker->was_starting ? WORKER_STARTING : worker->state;
    enum worker_end end = worker->end;
    /* Neither the crew nor the host is being closed. */
    bool is_wanted = !crew->is_left && !supervisor_is_stopping(crew->supervisor);
    worker_move(worker, WORKER_GONE);
    struct worker **at = &crew->workers;
    while (*at != worker) {
        at = &(*at)->next;
    }
    *at = worker->next;
    lock_release(&crew->lock);

    struct death *death = &worker->death;
    death_describe(worker, is_known ? &status : NULL, state, end);
    struct obituary obituary = {
            .is_refused = state == WORKER_STARTING && end == END_KILLED && is_wanted,
            .death = {.crashed = death->crashed,
                      .stopped = end == END_STOPPED,
                      .signal = death->signal,
                      .exit_status = death->exit_status,
                      .reason = death->reason,
                      .backtrace = death->backtrace.length > 0 ? death->backtrace.data : "",
                      .last_lines = obituary.lines,
                      .last_line_count = output_last_lines(&worker->output, obituary.lines),
                      .since_start_ms = (now_ns - worker->started_ns) / CLOCK_NS_PER_MS}};
    if (obituary.is_refused) {
        worker_tell_refused(crew, death->reason, false);
    }
    const struct supervisor_options *options = &crew->supervisor->options;
    lock_take(&crew->lock);
    obituary.is_quarantined =
            death->crashed && count_crash(crew, death->reason, now_ns, obituary.quarantine);
    obituary.crashes = crew->crashes;
    lock_release(&crew->lock);
    if (obituary.is_quarantined && options->quarantining != NULL) {
        options->quarantining(options->user, crew->user, obituary.quarantine, obituary.crashes);
    }
    lock_take(&crew->lock);
    note_call(worker, &obituary);
    draw_consequences(worker, state, &obituary, now_ns);
    for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
        if (worker->lanes[i].state == LANE_BUSY) {
            channel_abandon(worker->lanes[i].channel);
        }
    }
    (void)crew_note_attention(crew);
    lock_release(&crew->lock);
    tell_host(worker, &obituary, end);
    free(obituary.arguments);
}
