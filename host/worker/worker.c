#include "worker/worker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "worker/child.h"
#include "worker/events.h"
#include "worker/notice.h"
#include "worker/protocol-fd.h"
#include "worker/protocol.h"
#include "worker/spare.h"
#include "worker/threads.h"

/* The states of a worker and its lanes are drawn in crew-parts.h. */

/* Most frames of a starting worker that are taken at a time. */
#define HEAR_FRAMES_MAX 64

/* -------------------------------------------------------------------- memory */

void worker_free(struct worker *worker) {
    for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
        channel_destroy(worker->lanes[i].channel);
    }
    output_finish(&worker->output);
    task_times_finish(&worker->times);
    closep(&worker->process.pidfd);
    closep(&worker->process.socket);
    closep(&worker->listener);
    process_end_group(&worker->process);
    buf_finish(&worker->death.backtrace);
    OBJECT_WIPE(worker, WORKER_MAGIC);
    free(worker);
}

void worker_release(struct worker *worker) {
    lock_take(&worker->crew->lock);
    bool is_last = --worker->refs == 0;
    lock_release(&worker->crew->lock);
    if (is_last) {
        worker_free(worker);
    }
}

/* -------------------------------------------------------------------- killing */

void worker_kill(struct worker *worker, enum worker_end end, const char *format, ...) {
    LOCK_ASSERT_HELD(&worker->crew->lock);
    if (worker->state == WORKER_GONE || worker->end >= END_KILLED) {
        return;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(worker->end_text, sizeof worker->end_text, format, args);
    va_end(args);
    worker->was_starting = worker->state == WORKER_STARTING;
    worker_move(worker, WORKER_ENDING);
    worker->end = end;
    worker->until_ns = 0;
    (void)pidfd_send_signal(worker->process.pidfd, SIGKILL, NULL, 0);
}

void worker_dismiss(struct worker *worker, uint64_t now_ns) {
    worker_move(worker, WORKER_ENDING);
    worker->end = END_ASKED;
    worker->until_ns = now_ns + (uint64_t)worker->crew->limits.close_ms * CLOCK_NS_PER_MS;
    send_plain(worker->lanes[0].channel, FRAME_END);
}

/* --------------------------------------------------------------------- start */

void worker_back_off(struct crew *crew, uint64_t now_ns) {
    LOCK_ASSERT_HELD(&crew->lock);
    uint64_t ms = crew->limits.backoff_ms;
    for (uint32_t i = 0; i < crew->failures && ms < crew->limits.backoff_ms_max; i++) {
        ms *= 2;
    }
    ms = ms < crew->limits.backoff_ms_max ? ms : crew->limits.backoff_ms_max;
    crew->failures++;
    crew->start_after_ns = now_ns + ms * CLOCK_NS_PER_MS;
}

void worker_refuse_start(struct crew *crew, const struct toolrack_error *err, uint64_t now_ns) {
    crew->refusal = *err;
    worker_back_off(crew, now_ns);
    if (crew->live == 0) {
        crew_fail_line(crew, err, NULL);
    }
}

void worker_tell_refused(const struct crew *crew, const char *reason, bool is_lasting) {
    const struct supervisor_options *options = &crew->supervisor->options;
    if (options->refused != NULL) {
        options->refused(options->user, crew->user, reason, is_lasting);
    }
}

/* A notice, which anything in the process may have written. */
static void take_notice(void *user, const char *line) {
    const struct crew *crew = ((const struct worker *)user)->crew;
    const struct supervisor_options *options = &crew->supervisor->options;
    int notice = line != NULL ? line[0] - NOTICE_LETTER(0) : NOTICE_COUNT;
    if (options->noticed != NULL && notice >= 0 && notice <= NOTICE_COUNT &&
        (line == NULL || notice < NOTICE_COUNT)) {
        options->noticed(options->user, crew->user, (enum plugin_notice)notice,
                         line != NULL && line[1] != '\0' ? line + 1 : NULL);
    }
}

/* Make the channel of another lane than the first, and send it; false: there is none then. */
static bool make_lane(struct worker *worker, unsigned number) {
    struct lane *lane = &worker->lanes[number];
    lane->channel = channel_create(NULL);
    if (lane->channel != NULL &&
        protocol_send_fd(worker->process.socket, channel_fd(lane->channel))) {
        return true;
    }
    channel_destroy(lane->channel);
    lane->channel = NULL;
    return false;
}

/* Start the process first: the rest is prepared while it is being loaded. */
static int start_process(struct worker *worker, struct toolrack_error *err) {
    struct crew *crew = worker->crew;
    struct supervisor *supervisor = crew->supervisor;
    /* Without a system call filter it can fork whether that was granted or not. */
    bool may_start_others =
            crew->policy.spawn || (sandbox_available(&crew->policy) & SANDBOX_SECCOMP) == 0;
    bool is_started =
            spare_fits(crew, may_start_others) && spare_take(supervisor, &worker->process);
    int code = is_started ? 0
                          : process_spawn(supervisor->options.worker_program, crew->environment,
                                          may_start_others, &worker->process, err);
    if (code < 0) {
        return code;
    }
    uint64_t mark = 0;
    if (getrandom(&mark, sizeof mark, GRND_NONBLOCK) < 0) {
        mark = clock_now_ns(); /* soon after the machine's start: there are few others' texts yet */
    }
    output_open(&worker->output, worker->process.output, mark);
    worker->process.output = -1;
    worker->output.noticed = take_notice;
    worker->output.user = worker;
    struct lane *lane = &worker->lanes[0];
    const struct log *log = worker->output.log;
    uint16_t own_ports[SANDBOX_PORTS_MAX];
    struct sandbox_policy policy = crew->policy;
    policy.own_ports = own_ports;
    policy.own_port_count = policy.network ? sandbox_own_ports(own_ports) : 0;
    CLEANUP(freep) char *places = command_places_text();
    struct frame_start start = {.plugin_id = crew->id,
                                .path = crew->path,
                                .file = crew->file,
                                .foreign = crew->foreign,
                                .identity = crew->identity,
                                .settings = crew->settings,
                                .places = places,
                                .policy = policy,
                                .filter = crew->filter,
                                .filter_size = crew->filter_size,
                                .layers_required = crew->sandbox_required ? crew->layers_wanted : 0,
                                .log_level_min = log != NULL ? log->level_min : LOG_ERROR,
                                .measures_all = crew->measures_all,
                                .notice_mark = mark};
    lane->channel = channel_create(err);
    if (lane->channel == NULL) {
        code = err->code;
    } else if (!events_add(supervisor, worker)) {
        code = error_set(err, TOOLRACK_E_IO, "cannot watch a worker that was started: %s",
                         strerror(errno));
    } else {
        lane_move(lane, LANE_STARTING);
        /* A process that cannot be sent to is dead already: its pidfd will report the death. */
        (void)protocol_send_fd(worker->process.socket, channel_fd(lane->channel));
        /* The first call runs in this lane, which is open when the worker is ready. If it cannot be
         * made, that is tried again when it is to be opened. */
        start.opens_lane = worker->lanes_max > 1 && make_lane(worker, 1);
        worker->opens_lane = start.opens_lane;
        if (!send_start(lane->channel, &start)) {
            code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "the settings and grants of plugin '%s' are larger than a worker "
                             "takes, or there is no memory",
                             crew->id);
        }
    }
    if (code < 0) { /* no other code has seen the worker yet; it is freed before this returns */
        events_remove(supervisor, worker);
        (void)pidfd_send_signal(worker->process.pidfd, SIGKILL, NULL, 0);
        (void)waitid(P_PIDFD, (id_t)worker->process.pidfd, &(siginfo_t){0}, WEXITED);
    }
    return code;
}

void worker_start(struct crew *crew, uint64_t now_ns) {
    struct toolrack_error err = {0};
    struct worker *worker = calloc(1, sizeof *worker);
    int code = TOOLRACK_E_NO_MEMORY;
    if (worker == NULL) {
        (void)error_oom(&err);
    } else {
        worker->magic = WORKER_MAGIC;
        worker->crew = crew;
        worker->refs = 1;
        worker->process = PROCESS_NONE;
        worker->listener = -1;
        worker->started_ns = now_ns;
        worker->until_ns = now_ns + (uint64_t)crew->limits.start_ms * CLOCK_NS_PER_MS;
        worker->lanes_max = crew->is_shared ? CREW_LANES_MAX : 1;
        worker->lane_count = 1;
        for (unsigned i = 0; i < CREW_LANES_MAX; i++) {
            worker->lanes[i].worker = worker;
        }
        output_init(&worker->output, crew->supervisor->options.log, crew->id);
        code = start_process(worker, &err);
    }
    if (code < 0) {
        worker_tell_refused(crew, err.message, false);
    }
    lock_take(&crew->lock);
    if (code < 0) {
        worker_refuse_start(crew, &err, now_ns);
    } else {
        worker->next = crew->workers;
        crew->workers = worker;
        worker_move(worker, WORKER_STARTING);
    }
    lock_release(&crew->lock);
    if (code < 0 && worker != NULL) {
        worker_free(worker);
    }
}

/* ------------------------------------------------------------- hearing: a start */

/* The only message that comes from a worker, sent before code of the plugin runs; the worker has
 * seen to it that none can follow (EPIPE). A descriptor that came from a plugin would be closed by
 * this thread, with what that entails: a socket whose data another machine does not take
 * (SO_LINGER), or a file of a network, lets close() wait. To refuse it while receiving is no help,
 * as the kernel then closes it, in this thread too. */
static void take_description(struct worker *worker) {
    int listener;
    if (worker->is_described ||
        !protocol_hear(worker->process.socket, &worker->layers, &listener)) {
        return;
    }
    worker->is_described = true;
    if (listener >= 0) {
        (void)threads_watch(worker, listener);
    }
}

static bool is_described_well(const struct worker *worker) {
    return worker->is_described &&
           ((worker->layers & SANDBOX_THREADS) == 0 || worker->listener >= 0);
}

/* The worker has mapped a channel: the descriptor of its memory is of no more use, if the filter
 * keeps the plugin from giving back pages of it. */
static void settle_lane(const struct worker *worker, const struct lane *lane) {
    if ((worker->layers & SANDBOX_SECCOMP) != 0) {
        channel_close_file(lane->channel);
    }
}

/* The worker has opened another lane. */
static void begin_lane(struct worker *worker) {
    struct lane *lane = &worker->lanes[worker->lane_count++];
    settle_lane(worker, lane);
    crew_offer(worker->crew, lane);
}

/* The host holds the first lane's channel again. Once all lanes are open, the worker gets no more
 * descriptors. */
static void free_first_lane(struct worker *worker) {
    struct crew *crew = worker->crew;
    struct lane *lane = &worker->lanes[0];
    LOCK_ASSERT_HELD(&crew->lock);
    if (worker->state != WORKER_READY) {
        lane_move(lane, LANE_NONE);
    } else if (worker->lane_count < worker->lanes_max) {
        lane_move(lane, LANE_OPENER);
    } else {
        closep(&worker->process.socket);
        worker->process.socket = -1;
        crew_offer(crew, lane);
    }
    (void)crew_note_attention(crew); /* to open another lane, or to ask the worker to end */
}

static void begin_ready(struct worker *worker, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    const struct supervisor_options *options = &crew->supervisor->options;
    crew->supervisor->wants_spare = options->keeps_spare;
    settle_lane(worker, &worker->lanes[0]);
    if (options->started != NULL) { /* before any of its calls can end */
        options->started(options->user, crew->user, (int)worker->process.pid, worker->layers);
    }
    LOCK_SCOPE(&crew->lock);
    if (worker->state == WORKER_STARTING) {
        worker_move(worker, WORKER_READY);
        worker->until_ns = 0;
        worker->idle_at_ns = now_ns + (uint64_t)crew->limits.idle_ms * CLOCK_NS_PER_MS;
        worker->cpu = (struct cpu_watch){.look_ns = now_ns};
        crew->has_started = true;
        crew->layers = worker->layers;
        crew->refusal.code = 0;
        if (worker->opens_lane) {
            begin_lane(worker);
        }
    }
    free_first_lane(worker); /* has it attended to, as its time limits have changed */
}

static void begin_refused(struct worker *worker, const struct frame_failure *failure,
                          uint64_t now_ns) {
    struct crew *crew = worker->crew;
    struct toolrack_error err;
    (void)error_set(&err, failure->code, "%s", failure->message);
    err.lasting = failure->code == TOOLRACK_E_REFUSED; /* the file as it is; open() may do better */
    worker_tell_refused(crew, err.message,
                        err.code != TOOLRACK_E_NO_MEMORY && err.code != TOOLRACK_E_IO);
    LOCK_SCOPE(&crew->lock);
    lane_move(&worker->lanes[0], LANE_NONE);
    if (worker->state == WORKER_STARTING) {
        worker_move(worker, WORKER_ENDING);
        worker->end = END_REFUSED;
        worker->until_ns = now_ns + (uint64_t)crew->limits.close_ms * CLOCK_NS_PER_MS;
        worker_refuse_start(crew, &err, now_ns);
    }
}

/* False: the frame is invalid or not expected. */
static bool hear_start(struct worker *worker, const struct frame_in *frame, uint64_t now_ns) {
    struct channel *channel = worker->lanes[0].channel;
    struct frame_failure failure;
    struct frame_log log;
    switch (frame->type) {
    case FRAME_LOG:
        if (!read_log(frame, &log)) {
            return false;
        }
        output_log(&worker->output, log.level, log.message, now_ns);
        send_plain(channel, FRAME_GO_ON);
        return true;
    case FRAME_READY:
        take_description(worker); /* it may have come since the thread woke up */
        if (!is_described_well(worker)) {
            return false;
        }
        begin_ready(worker, now_ns);
        return true;
    case FRAME_REFUSED:
        if (!read_failure(frame, &failure)) {
            return false;
        }
        begin_refused(worker, &failure, now_ns);
        return true;
    default: return false;
    }
}

/* -------------------------------------------------------------- hearing: a lane */

void worker_open_lane(struct worker *worker) {
    LOCK_ASSERT_HELD(&worker->crew->lock);
    struct lane *opener = &worker->lanes[0];
    const struct lane *lane = &worker->lanes[worker->lane_count];
    if (lane->channel == NULL && !make_lane(worker, worker->lane_count)) {
        /* Stay with the lanes that exist. */
        worker->lanes_max = worker->lane_count;
        free_first_lane(worker);
        return;
    }
    lane_move(opener, LANE_STARTING);
    send_plain(opener->channel, FRAME_OPEN);
}

static bool hear_lane(struct worker *worker, const struct frame_in *frame) {
    struct crew *crew = worker->crew;
    if (frame->type != FRAME_READY) {
        return false;
    }
    LOCK_SCOPE(&crew->lock);
    /* A worker that was told to end while it started sends READY too; it opened no lane. */
    if (worker->state == WORKER_READY) {
        begin_lane(worker);
    }
    free_first_lane(worker);
    return true;
}

/* --------------------------------------------------------------------- hearing */

void worker_hear(struct worker *worker, uint64_t now_ns) {
    struct crew *crew = worker->crew;
    struct lane *lane = &worker->lanes[0];
    for (unsigned i = 0; i < HEAR_FRAMES_MAX; i++) {
        lock_take(&crew->lock);
        bool is_expected = lane->state == LANE_STARTING;
        bool starts = worker->state == WORKER_STARTING;
        lock_release(&crew->lock);
        if (is_expected && starts) {
            take_description(worker);
        }
        if (!is_expected || !channel_is_held(lane->channel)) {
            return;
        }
        struct frame_in frame;
        enum channel_wait came = channel_receive(lane->channel, 1, &frame);
        bool is_sense = came != CHANNEL_NONSENSE;
        if (came == CHANNEL_FRAME) {
            is_sense = starts ? hear_start(worker, &frame, now_ns) : hear_lane(worker, &frame);
        }
        if (!is_sense || came == CHANNEL_NO_MEMORY) {
            LOCK_SCOPE(&crew->lock);
            lane_move(lane, LANE_NONE);
            worker_kill(worker, is_sense ? END_KILLED : END_NONSENSE,
                        is_sense ? "there is no memory for what the worker of plugin '%s' says"
                                 : "the worker of plugin '%s' sent nonsense while it was starting, "
                                   "and was ended",
                        crew->id);
            return;
        }
    }
}
