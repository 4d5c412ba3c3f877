/* Every process that a program leaves behind is ended with it:
 *
 *  - Where a process may make a group of its own (in the host's process), the program leads one,
 *    and SIGKILL goes to all of it.
 *  - In a worker none may leave the worker's group, so that the host ends it as a whole; a signal
 *    to that group reaches the worker too. It ignores SIGTERM for that moment. What ignores
 *    SIGTERM as well lives until the worker ends; after a deadline that is at once, as the call
 *    waits for it and the host then kills the group. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How often a cancelled call and the end of the program are looked for. */
#define LOOK_MS       20
/* How long outputs may stay open after the program has ended and the others were told to. */
#define AFTERMATH_MS  300
/* Progress is told at most so often; a line of it has so many bytes at most. */
#define PROGRESS_MS   100
#define LINE_SIZE_MAX 200u

static const char path_variable[] = "PATH=/usr/local/bin:/usr/bin:/bin";
static const char language_variable[] = "LANG=C.UTF-8";

struct running {
    struct tr_call *call;
    const struct run_order *order;
    struct run_result *result;
    pid_t pid;
    bool has_group; /* of its own, with its number */
    bool has_ended;
    uint64_t started_ms;
    uint64_t ended_ms; /* when it was over, or told to be */
    uint64_t told_ms;
    int input;      /* -1: closed */
    int outputs[2]; /* likewise */
    size_t written;
    char line[LINE_SIZE_MAX + 1]; /* of output, as far as it has come */
    size_t line_length;
};

static uint64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void close_one(int *fd) {
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* ------------------------------------------------------------------- starting */

/* What the program has of its pipes. */
struct ends {
    int fds[3];
};

static int set_up(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                  const struct run_order *order, const struct ends *ends, bool has_group) {
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    int failed = posix_spawnattr_setsigmask(attributes, &none);
    failed = failed != 0 ? failed : posix_spawnattr_setsigdefault(attributes, &all);
    failed = failed != 0 ? failed
                         : posix_spawnattr_setflags(
                                   attributes,
                                   (short)(flags | (has_group ? POSIX_SPAWN_SETPGROUP : 0)));
    for (int i = 0; failed == 0 && i < 3; i++) {
        failed = posix_spawn_file_actions_adddup2(actions, ends->fds[i], i);
    }
    failed = failed != 0 ? failed : posix_spawn_file_actions_addclosefrom_np(actions, 3);
    return failed != 0 ? failed : posix_spawn_file_actions_addchdir_np(actions, order->folder);
}

static int start_as(struct running *running, const struct ends *ends, bool has_group) {
    const struct run_order *order = running->order;
    char home[sizeof "HOME=" + 4096];
    (void)snprintf(home, sizeof home, "HOME=%s", order->folder);
    const char *environment[] = {path_variable, language_variable, home, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        failed = set_up(&actions, &attributes, order, ends, has_group);
        if (failed == 0) {
            /* The type of its arguments is older than const. */
            failed = posix_spawn(&running->pid, order->program, &actions, &attributes,
                                 (char *const *)(uintptr_t)order->words,
                                 (char *const *)(uintptr_t)environment);
        }
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    running->has_group = has_group;
    return failed;
}

/* Only a worker is refused a group for its children, and a worker leads a session of its own. */
static int start(struct running *running, const struct ends *ends) {
    int failed = start_as(running, ends, true);
    bool is_worker = getsid(0) == getpid() && getpgrp() == getpid();
    return failed == EPERM && is_worker ? start_as(running, ends, false) : failed;
}

/* A descriptor below 3 would be overwritten by another one on its way to its place. */
static int raise_above_standard(int fds[2]) {
    for (int i = 0; i < 2; i++) {
        int high = fds[i] > 2 ? fds[i] : fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
        if (high < 0) {
            return errno;
        }
        if (high != fds[i]) {
            (void)close(fds[i]);
            fds[i] = high;
        }
    }
    return 0;
}

/* Make the three pipes; the program's ends are in `ends`. */
static int make_pipes(struct running *running, struct ends *ends) {
    int *ours[3] = {&running->input, &running->outputs[0], &running->outputs[1]};
    for (int i = 0; i < 3; i++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) < 0) {
            return errno;
        }
        int failed = raise_above_standard(fds);
        *ours[i] = fds[i == 0];
        ends->fds[i] = fds[i != 0];
        if (failed != 0 || fcntl(*ours[i], F_SETFL, O_NONBLOCK) < 0) {
            return failed != 0 ? failed : errno;
        }
    }
    return 0;
}

/* --------------------------------------------------------------------- ending */

/* See the top of this file. SIGTERM is ignored only while it is sent. */
static void end_group(void) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    if (sigaction(SIGTERM, &ignore, &before) == 0) {
        (void)kill(0, SIGTERM);
        (void)sigaction(SIGTERM, &before, NULL);
    }
}

/* End the program, if it has not ended, and all that it has started. */
static void end_all(struct running *running) {
    if (running->has_group) {
        (void)kill(-running->pid, SIGKILL);
        return;
    }
    if (!running->has_ended) {
        (void)kill(running->pid, SIGKILL);
    }
    end_group();
}

static void reap(struct running *running, bool waits) {
    int status;
    pid_t got;
    do {
        got = waitpid(running->pid, &status, waits ? 0 : WNOHANG);
    } while (got < 0 && errno == EINTR);
    if (got != running->pid) {
        return;
    }
    struct run_result *result = running->result;
    running->has_ended = true;
    running->ended_ms = now_ms();
    result->duration_ms = running->ended_ms - running->started_ms;
    result->status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    if (result->end == RUN_EXITED && WIFSIGNALED(status)) {
        result->end = RUN_KILLED;
    } else if (result->end == RUN_LATE && WIFEXITED(status)) {
        result->end = RUN_EXITED; /* it was quicker */
    }
}

/* Whether it is over because of the clock or the caller. */
static bool is_over(struct running *running) {
    if (tr_cancelled(running->call)) {
        running->result->end = RUN_CANCELLED;
        return true;
    }
    if (now_ms() - running->started_ms >= running->order->time_ms) {
        running->result->end = RUN_LATE;
        return true;
    }
    return false;
}

/* -------------------------------------------------------------------- feeding */

/* A pipe that nobody reads any more raises SIGPIPE, which would end this process: it is taken back
 * before the thread hears of it. */
static ssize_t write_unsignalled(int pipe, const void *data, size_t length) {
    sigset_t broken, before;
    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &broken, &before);
    ssize_t done = write(pipe, data, length);
    int error = errno;
    if (done < 0 && error == EPIPE) {
        (void)sigtimedwait(&broken, NULL, &(struct timespec){0});
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return done;
}

static void feed(struct running *running) {
    const struct run_order *order = running->order;
    ssize_t done = write_unsignalled(running->input, order->input + running->written,
                                     order->input_length - running->written);
    if (done > 0) {
        running->written += (size_t)done;
    }
    bool stays =
            done >= 0 ? running->written < order->input_length : errno == EAGAIN || errno == EINTR;
    if (!stays) { /* all is written, or nobody reads it */
        close_one(&running->input);
    }
}

/* The last whole line is what is told. */
static void tell(struct running *running, const char *data, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (data[i] != '\n') {
            if (running->line_length < LINE_SIZE_MAX) {
                running->line[running->line_length++] = data[i];
            }
            continue;
        }
        uint64_t now = now_ms();
        if (now - running->told_ms >= PROGRESS_MS || running->told_ms == 0) {
            struct text line = {0};
            text_add_utf8(&line, running->line, running->line_length);
            uint64_t done = running->result->outputs[0].size + running->result->outputs[1].size;
            if (!line.failed && line.length > 0) {
                tr_progress(running->call, (double)done, 0, line.data);
            }
            text_finish(&line);
            running->told_ms = now;
        }
        running->line_length = 0;
    }
}

static void take(struct running *running, int which) {
    char block[16384];
    struct run_output *output = &running->result->outputs[which];
    ssize_t got = read(running->outputs[which], block, sizeof block);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        close_one(&running->outputs[which]);
    }
    if (got <= 0) {
        return;
    }
    size_t room = running->order->output_size - output->kept.length;
    text_add(&output->kept, block, (size_t)got < room ? (size_t)got : room);
    output->size += (uint64_t)got;
    tell(running, block, (size_t)got);
}

/* Wait for what can be read or written, for a moment. */
static void exchange(struct running *running) {
    struct pollfd fds[3] = {{.fd = running->outputs[0], .events = POLLIN},
                            {.fd = running->outputs[1], .events = POLLIN},
                            {.fd = running->input, .events = POLLOUT}};
    if (poll(fds, 3, LOOK_MS) <= 0) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (fds[i].revents != 0) {
            take(running, i);
        }
    }
    if (fds[2].revents != 0) {
        feed(running);
    }
}

/* ------------------------------------------------------------------------ all */

static bool has_open_outputs(const struct running *running) {
    return running->outputs[0] >= 0 || running->outputs[1] >= 0;
}

static void follow(struct running *running) {
    while (!running->has_ended) {
        exchange(running);
        reap(running, false);
        if (!running->has_ended && is_over(running)) {
            end_all(running);
            reap(running, true); /* nothing escapes SIGKILL */
            end_all(running);
        }
    }
    close_one(&running->input);
    end_all(running);
    bool stays = running->result->end == RUN_CANCELLED;
    while (has_open_outputs(running) && (stays || now_ms() - running->ended_ms < AFTERMATH_MS)) {
        exchange(running);
    }
    running->result->left_running = has_open_outputs(running);
}

int run_program(struct tr_call *call, const struct run_order *order, struct run_result *ret) {
    struct running running = {.call = call,
                              .order = order,
                              .result = ret,
                              .started_ms = now_ms(),
                              .input = -1,
                              .outputs = {-1, -1}};
    struct ends ends = {{-1, -1, -1}};
    *ret = (struct run_result){.end = RUN_EXITED};
    int failed = make_pipes(&running, &ends);
    failed = failed != 0 ? failed : start(&running, &ends);
    for (int i = 0; i < 3; i++) {
        close_one(&ends.fds[i]);
    }
    if (failed == 0) {
        follow(&running);
    }
    close_one(&running.input);
    close_one(&running.outputs[0]);
    close_one(&running.outputs[1]);
    return failed;
}

void run_finish(struct run_result *result) {
    text_finish(&result->outputs[0].kept);
    text_finish(&result->outputs[1].kept);
}
