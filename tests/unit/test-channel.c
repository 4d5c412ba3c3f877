/* The channel between host and worker: two threads, two processes, and a worker that is up to no
 * good. As `test-channel echo` it is the worker of its own tests: memory on descriptor 3. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "failing-malloc.h"
#include "patience.h"
#include "worker/channel.h"
#include "worker/handover.h"

#define ROUNDS       100000u
#define BULK_CALLS   5000
#define INTERRUPTS   5000u
#define WORKER_FD    3
#define MIB          (1024u * 1024)
#define LONG_AGO_NS  1
#define INTERRUPT_NS (20 * (uint64_t)CLOCK_NS_PER_S)

CLEANUP_DEFINE(struct channel, channel_destroy)

/* What channel.c keeps in the first page. */
struct control {
    uint32_t magic;
    uint32_t version;
    struct handover_side host;
    struct handover_side worker;
};

static struct channel *create(void) {
    struct toolrack_error err;
    struct channel *channel = channel_create(&err);
    assert_non_null(channel);
    return channel;
}

static struct channel *join(struct channel *host) {
    struct toolrack_error err;
    int fd = fcntl(channel_fd(host), F_DUPFD_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct channel *channel = channel_join(fd, &err);
    assert_non_null(channel);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* taken over, and closed */
    return channel;
}

/* The control words as whoever has the descriptor sees them. */
static struct control *map_control(struct channel *host) {
    void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED,
                        channel_fd(host), 0);
    assert_true(mapped != MAP_FAILED);
    return mapped;
}

static void unmap_control(struct control *control) {
    assert_int_equal(munmap(control, sizeof *control), 0);
}

/* ------------------------------------------------------------------ the worker */

/* Send back what comes, until END. Runs in a thread or a process, so it reports by its value. */
static int echo(struct channel *channel) {
    struct frame_in frame;
    for (;;) {
        if (channel_receive(channel, 0, &frame) != CHANNEL_FRAME) {
            return 1;
        }
        if (frame.type == FRAME_END) {
            return 0;
        }
        void *room = channel_room(channel, frame.size);
        if (room == NULL) {
            return 2;
        }
        memcpy(room, frame.payload, frame.size);
        channel_send(channel, FRAME_RESULT, frame.size);
    }
}

static void *echo_thread(void *channel) {
    return (void *)(intptr_t)echo(channel);
}

static int echo_process(void) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) {
        return 3;
    }
    struct channel *channel = channel_join(WORKER_FD, NULL);
    int code = channel != NULL ? echo(channel) : 4;
    channel_destroy(channel);
    return code;
}

/* A host's channel with an echo behind it, in this process or another. */
struct pair {
    struct channel *host;
    struct channel *worker; /* NULL: a process */
    pthread_t thread;
    pid_t pid;
};

static void begin(struct pair *pair, bool is_process) {
    *pair = (struct pair){.host = create()};
    if (!is_process) {
        pair->worker = join(pair->host);
        assert_int_equal(pthread_create(&pair->thread, NULL, echo_thread, pair->worker), 0);
        return;
    }
    posix_spawn_file_actions_t actions;
    char self[] = "/proc/self/exe";
    char mode[] = "echo";
    char *arguments[] = {self, mode, NULL};
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, channel_fd(pair->host), WORKER_FD),
                     0);
    assert_int_equal(posix_spawn(&pair->pid, self, &actions, NULL, arguments, environ), 0);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
}

static void end(struct pair *pair) {
    channel_send(pair->host, FRAME_END, 0);
    if (pair->worker != NULL) {
        void *code = NULL;
        assert_int_equal(pthread_join(pair->thread, &code), 0);
        assert_null(code);
    } else {
        int status = -1;
        assert_int_equal(patience_child(pair->pid, &status), pair->pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    channel_destroy(pair->worker);
    channel_destroy(pair->host);
}

/* --------------------------------------------------------------------- frames */

static void send_number(struct channel *channel, uint32_t number, size_t size) {
    char *room = channel_room(channel, size);
    assert_non_null(room);
    memset(room, (int)(number & 0xff), size);
    memcpy(room, &number, sizeof number);
    channel_send(channel, FRAME_CALL, size);
}

static void expect_number(struct channel *channel, uint32_t number, size_t size) {
    struct frame_in frame;
    assert_int_equal(channel_receive(channel, 0, &frame), CHANNEL_FRAME);
    assert_int_equal(frame.type, FRAME_RESULT);
    assert_int_equal(frame.size, size);
    assert_memory_equal(frame.payload, &number, sizeof number);
    assert_int_equal(frame.payload[size - 1], (char)(number & 0xff));
    assert_int_equal(frame.payload[size], 0);
}

static void play(bool is_process) {
    struct pair pair;
    begin(&pair, is_process);
    for (uint32_t i = 0; i < ROUNDS / 2; i++) {
        size_t size = sizeof i + 1 + i % 200;
        send_number(pair.host, i, size);
        expect_number(pair.host, i, size);
    }
    end(&pair);
}

static void threads_play(void **state) {
    (void)state;
    play(false);
}

static void processes_play(void **state) {
    (void)state;
    play(true);
}

static void exchange(struct channel *host, size_t size) {
    struct frame_in frame;
    char *room = channel_room(host, size);
    assert_non_null(room);
    memset(room, (int)(size % 251), size);
    if (size > 0) {
        room[0] = 'a';
        room[size - 1] = 'z';
    }
    channel_send(host, FRAME_CALL, size);
    assert_int_equal(channel_receive(host, 0, &frame), CHANNEL_FRAME);
    assert_int_equal(frame.size, size);
    assert_int_equal(frame.payload[size], 0);
    if (size > 1) {
        assert_int_equal(frame.payload[0], 'a');
        assert_int_equal(frame.payload[size - 1], 'z');
    }
    for (size_t i = 1; i + 1 < size; i++) {
        if ((unsigned char)frame.payload[i] != size % 251) {
            fail_msg("byte %zu of %zu is %d", i, size, frame.payload[i]);
        }
    }
}

static void sizes(bool is_process, bool is_closed) {
    static const size_t each[] = {0,
                                  1,
                                  CHANNEL_INLINE_MAX - 1,
                                  CHANNEL_INLINE_MAX,
                                  CHANNEL_INLINE_MAX + 1,
                                  MIB,
                                  CHANNEL_BULK_KEPT_MAX - 1,
                                  CHANNEL_BULK_KEPT_MAX,
                                  CHANNEL_BULK_KEPT_MAX + 1,
                                  CHANNEL_PAYLOAD_MAX,
                                  0,
                                  CHANNEL_INLINE_MAX + 1,
                                  200};
    struct pair pair;
    begin(&pair, is_process);
    if (is_closed) {
        channel_close_file(pair.host);
        assert_int_equal(channel_fd(pair.host), -1); /* the tests' kernels are new enough */
    }
    for (size_t i = 0; i < ARRAY_LENGTH(each); i++) {
        exchange(pair.host, each[i]);
    }
    assert_null(channel_room(pair.host, CHANNEL_PAYLOAD_MAX + 1));
    assert_null(channel_room(pair.host, SIZE_MAX));
    end(&pair);
}

static void every_size_between_threads(void **state) {
    (void)state;
    sizes(false, false);
    sizes(false, true);
}

static void every_size_between_processes(void **state) {
    (void)state;
    sizes(true, false);
    sizes(true, true);
}

static void arguments_stay_while_a_question_is_answered(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    CLEANUP(channel_destroyp) struct channel *worker = join(host);
    struct frame_in call;
    struct frame_in answer;
    memcpy(channel_room(host, 4), "call", 4);
    channel_send(host, FRAME_CALL, 4);
    assert_int_equal(channel_receive(worker, 0, &call), CHANNEL_FRAME);
    memcpy(channel_room(worker, 3), "why", 3);
    channel_send(worker, FRAME_QUESTION, 3);
    assert_int_equal(channel_receive(host, 0, &answer), CHANNEL_FRAME);
    assert_string_equal(answer.payload, "why");
    memcpy(channel_room(host, 7), "because", 7);
    channel_send(host, FRAME_ANSWER, 7);
    assert_int_equal(channel_receive(worker, 0, &answer), CHANNEL_FRAME);
    assert_string_equal(answer.payload, "because");
    assert_string_equal(call.payload, "call");
}

/* ------------------------------------------------------------------------ memory */

static int count_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

static size_t pages_of(int memory_fd) {
    struct stat st;
    assert_int_equal(fstat(memory_fd, &st), 0);
    return (size_t)st.st_blocks * 512;
}

static size_t memory_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void exchange_bulks(bool is_closed) {
    struct pair pair;
    begin(&pair, true);
    CLEANUP(closep) int memory_fd = fcntl(channel_fd(pair.host), F_DUPFD_CLOEXEC, 0);
    if (is_closed) {
        channel_close_file(pair.host);
        assert_int_equal(channel_fd(pair.host), -1);
    }
    exchange(pair.host, CHANNEL_BULK_KEPT_MAX);
    int descriptors = count_descriptors();
    size_t pages = pages_of(memory_fd);
    size_t memory = memory_in_use();
    for (int i = 0; i < BULK_CALLS; i++) {
        size_t size = i % 1000 == 999 ? CHANNEL_BULK_KEPT_MAX + 4096 : CHANNEL_INLINE_MAX + 1;
        send_number(pair.host, 7, size);
        expect_number(pair.host, 7, size);
    }
    assert_int_equal(pages_of(memory_fd), pages);
    channel_settle(pair.host); /* the last was a large one */
    assert_true(memory_in_use() <= memory);
    assert_int_equal(count_descriptors(), descriptors);
    end(&pair);
}

static void bulks_leave_nothing_behind(void **state) {
    (void)state;
    exchange_bulks(false);
    exchange_bulks(true);
}

static void memory_is_sealed(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    struct stat st;
    assert_int_equal(fstat(channel_fd(host), &st), 0);
    assert_int_equal(ftruncate(channel_fd(host), 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(channel_fd(host), st.st_size + 1), -1);
    assert_int_equal(fcntl(channel_fd(host), F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_true((fcntl(channel_fd(host), F_GETFD) & FD_CLOEXEC) != 0);
    /* Large as it may become, it takes what is inline. */
    assert_true(pages_of(channel_fd(host)) <= 4 * CHANNEL_INLINE_MAX);
}

static void a_limit_of_file_size_is_an_error_and_no_signal(void **state) {
    (void)state;
    struct toolrack_error err;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit low = {.rlim_cur = MIB, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    struct channel *host = channel_create(&err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(host);
    assert_int_equal(err.code, TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "ulimit -f"));
}

static void foreign_memory_is_not_joined(void **state) {
    (void)state;
    struct toolrack_error err;
    assert_null(channel_join(-1, &err));
    assert_int_equal(err.code, TOOLRACK_E_INVALID);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_null(channel_join(ends[0], &err));
    assert_int_equal(fcntl(ends[0], F_GETFD), -1); /* closed all the same */
    assert_int_equal(close(ends[1]), 0);
    CLEANUP(channel_destroyp) struct channel *host = create();
    struct control *control = map_control(host);
    control->version++;
    assert_null(channel_join(fcntl(channel_fd(host), F_DUPFD_CLOEXEC, 0), &err));
    assert_non_null(strstr(err.message, "version"));
    unmap_control(control);
}

static void want_of_memory_is_told(void **state) {
    (void)state;
    struct toolrack_error err;
    for (unsigned n = 1;; n++) {
        failing_malloc_set(n);
        struct channel *host = channel_create(&err);
        bool hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_int_equal(host == NULL, hit);
        channel_destroy(host);
        if (!hit) {
            break;
        }
        assert_int_equal(err.code, TOOLRACK_E_NO_MEMORY);
    }
    CLEANUP(channel_destroyp) struct channel *host = create();
    CLEANUP(channel_destroyp) struct channel *worker = join(host);
    struct frame_in frame;
    memcpy(channel_room(host, 4), "call", 4);
    channel_send(host, FRAME_CALL, 4);
    failing_malloc_set(1);
    assert_int_equal(channel_receive(worker, 0, &frame), CHANNEL_NO_MEMORY);
    failing_malloc_set(0);
    assert_int_equal(channel_receive(worker, 0, &frame), CHANNEL_FRAME);
    assert_string_equal(frame.payload, "call");
}

/* ------------------------------------------------------------------------ waiting */

/* Wait, on the words that both see, until a side sleeps. */
static void await_sleep(struct handover_side *side) {
    AWAIT(atomic_load(&side->sleeps) != 0);
}

static void late_is_not_lost(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    CLEANUP(channel_destroyp) struct channel *worker = join(host);
    struct frame_in frame;
    assert_true(channel_is_held(host));
    assert_false(channel_is_held(worker));
    channel_send(host, FRAME_CALL, 0);
    assert_false(channel_is_held(host));
    assert_int_equal(channel_receive(host, LONG_AGO_NS, &frame), CHANNEL_LATE);
    assert_int_equal(channel_receive(host, clock_now_ns() + CLOCK_NS_PER_MS, &frame), CHANNEL_LATE);
    assert_int_equal(channel_receive(worker, LONG_AGO_NS, &frame), CHANNEL_FRAME);
    channel_send(worker, FRAME_RESULT, 0);
    assert_true(channel_is_held(host));
    assert_int_equal(channel_receive(host, LONG_AGO_NS, &frame), CHANNEL_FRAME);
    assert_int_equal(frame.type, FRAME_RESULT);
}

static void an_idle_worker_sleeps(void **state) {
    (void)state;
    struct pair pair;
    begin(&pair, true);
    struct control *control = map_control(pair.host);
    for (int i = 0; i < 20; i++) {
        send_number(pair.host, 1, 100);
        expect_number(pair.host, 1, 100);
        await_sleep(&control->worker);
    }
    unmap_control(control);
    end(&pair);
}

struct waiter {
    struct channel *host;
    atomic_uint got[CHANNEL_NO_MEMORY + 1]; /* by what channel_receive() said */
};

/* Wait until what came is no interrupt. */
static void *wait_on(void *argument) {
    struct waiter *waiter = argument;
    struct frame_in frame;
    enum channel_wait got;
    do {
        got = channel_receive(waiter->host, 0, &frame);
        atomic_fetch_add(&waiter->got[got], 1);
    } while (got == CHANNEL_INTERRUPTED);
    return NULL;
}

static void waiting_without_a_limit_is_sleeping(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    struct waiter waiter = {.host = host};
    pthread_t thread;
    clockid_t clock;
    struct timespec used;
    channel_send(host, FRAME_CALL, 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_on, &waiter), 0);
    (void)nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    channel_abandon(host);
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* Looking without end is also taken for nonsense, but later or never. */
    assert_int_equal(atomic_load(&waiter.got[CHANNEL_GONE]), 1);
    assert_true(used.tv_sec == 0 && used.tv_nsec < 50000000);
}

static void each_interrupt_ends_a_wait(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    CLEANUP(channel_destroyp) struct channel *worker = join(host);
    struct control *control = map_control(host);
    struct waiter waiter = {.host = host};
    pthread_t thread;
    channel_send(host, FRAME_CALL, 0);
    uint64_t start_ns = clock_now_ns();
    assert_int_equal(pthread_create(&thread, NULL, wait_on, &waiter), 0);
    for (unsigned i = 0; i < INTERRUPTS; i++) {
        if (i % 2 == 0) {
            await_sleep(&control->host); /* or at any other moment */
        }
        channel_interrupt(host);
        AWAIT(atomic_load(&waiter.got[CHANNEL_INTERRUPTED]) > i);
    }
    /* A wake-up that was lost would have taken a slice. */
    assert_true(clock_now_ns() - start_ns < INTERRUPT_NS);
    assert_int_equal(atomic_load(&waiter.got[CHANNEL_INTERRUPTED]), INTERRUPTS);
    struct frame_in frame;
    assert_int_equal(channel_receive(worker, 0, &frame), CHANNEL_FRAME);
    channel_send(worker, FRAME_RESULT, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&waiter.got[CHANNEL_FRAME]), 1);
    unmap_control(control);
}

static void an_interrupt_is_kept_for_the_next_wait_or_forgotten(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    CLEANUP(channel_destroyp) struct channel *worker = join(host);
    struct frame_in frame;
    struct control *control = map_control(host);
    channel_interrupt(host);
    channel_interrupt(host);
    /* The number is another one, so that the kernel lets nobody sleep who looked before. */
    assert_int_equal(atomic_load(&control->worker.number), 0x80000000u);
    channel_send(host, FRAME_CALL, 0);
    assert_int_equal(channel_receive(host, LONG_AGO_NS, &frame), CHANNEL_INTERRUPTED);
    assert_int_equal(atomic_load(&control->worker.number), 0);
    assert_int_equal(channel_receive(host, LONG_AGO_NS, &frame), CHANNEL_LATE);
    unmap_control(control);
    /* A frame goes first, and is one in spite of it. */
    assert_int_equal(channel_receive(worker, 0, &frame), CHANNEL_FRAME);
    channel_send(worker, FRAME_LOG, 0);
    channel_interrupt(host);
    assert_true(channel_is_held(host));
    assert_int_equal(channel_receive(host, LONG_AGO_NS, &frame), CHANNEL_FRAME);
    channel_settle(host);
    channel_send(host, FRAME_GO_ON, 0);
    assert_int_equal(channel_receive(host, LONG_AGO_NS, &frame), CHANNEL_LATE);
}

static void the_dead_are_not_waited_for(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    CLEANUP(channel_destroyp) struct channel *worker = join(host);
    struct control *control = map_control(host);
    struct waiter waiter = {.host = host};
    struct frame_in frame;
    pthread_t thread;
    channel_send(host, FRAME_CALL, 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_on, &waiter), 0);
    await_sleep(&control->host);
    channel_abandon(host);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&waiter.got[CHANNEL_GONE]), 1);
    assert_int_equal(channel_receive(host, 0, &frame), CHANNEL_GONE);
    /* Its last words count. */
    assert_int_equal(channel_receive(worker, 0, &frame), CHANNEL_FRAME);
    channel_send(worker, FRAME_RESULT, 0);
    assert_int_equal(channel_receive(host, 0, &frame), CHANNEL_FRAME);
    channel_send(host, FRAME_CALL, 0);
    assert_int_equal(channel_receive(host, 0, &frame), CHANNEL_GONE);
    unmap_control(control);
}

static void hand_over(struct channel *from, struct channel *to, enum frame_type type) {
    struct frame_in frame;
    channel_send(from, type, 0);
    assert_int_equal(channel_receive(to, 0, &frame), CHANNEL_FRAME);
    assert_int_equal(frame.type, type);
}

static void cancelling_is_of_one_call(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    CLEANUP(channel_destroyp) struct channel *worker = join(host);
    channel_cancel(host); /* nothing yet */
    assert_false(channel_is_cancelled(worker));
    hand_over(host, worker, FRAME_CALL);
    assert_false(channel_is_cancelled(worker));
    channel_cancel(host);
    assert_true(channel_is_cancelled(worker));
    hand_over(worker, host, FRAME_LOG);
    hand_over(host, worker, FRAME_GO_ON);
    assert_true(channel_is_cancelled(worker));
    hand_over(worker, host, FRAME_RESULT);
    channel_cancel(host); /* too late */
    hand_over(host, worker, FRAME_CALL);
    assert_false(channel_is_cancelled(worker));
    channel_cancel(host);
    assert_true(channel_is_cancelled(worker));
}

/* ------------------------------------------------------------------------ no good */

/* What the host makes of three words, by which all else is chosen. */
static enum channel_wait expected(uint32_t number, uint32_t type, uint32_t size) {
    if ((number & INT32_MAX) == 0) {
        return CHANNEL_LATE; /* nothing was handed over */
    }
    bool is_frame = (number & INT32_MAX) == 2 && type >= FRAME_READY && type < FRAME_TYPE_COUNT &&
                    size <= CHANNEL_PAYLOAD_MAX;
    return is_frame ? CHANNEL_FRAME : CHANNEL_NONSENSE;
}

static void every_control_word_may_be_nonsense(void **state) {
    (void)state;
    static const uint32_t numbers[] = {0,         1,          2,           3,          4,
                                       INT32_MAX, UINT32_MAX, 0x80000000u, 0x80000002u};
    static const uint32_t types[] = {FRAME_NONE, FRAME_CALL,       FRAME_END, FRAME_READY,
                                     FRAME_LOG,  FRAME_TYPE_COUNT, UINT32_MAX};
    static const uint32_t lengths[] = {0,       CHANNEL_INLINE_MAX,      CHANNEL_INLINE_MAX + 1,
                                       2 * MIB, CHANNEL_PAYLOAD_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LENGTH(numbers) * ARRAY_LENGTH(types) * ARRAY_LENGTH(lengths);
         i++) {
        uint32_t number = numbers[i % ARRAY_LENGTH(numbers)];
        uint32_t type = types[i / ARRAY_LENGTH(numbers) % ARRAY_LENGTH(types)];
        uint32_t size = lengths[i / ARRAY_LENGTH(numbers) / ARRAY_LENGTH(types)];
        CLEANUP(channel_destroyp) struct channel *host = create();
        struct control *control = map_control(host);
        struct frame_in frame;
        channel_send(host, FRAME_CALL, 0);
        memset(&control->worker, (int)(i & 0xff), sizeof control->worker);
        atomic_store(&control->worker.type, type);
        atomic_store(&control->worker.size, size);
        atomic_store(&control->worker.number, number);
        enum channel_wait got = channel_receive(host, LONG_AGO_NS, &frame);
        assert_int_equal(got, expected(number, type, size));
        if (got == CHANNEL_NONSENSE) {
            atomic_store(&control->worker.number, 2);
            assert_int_equal(channel_receive(host, LONG_AGO_NS, &frame), CHANNEL_NONSENSE);
            assert_false(channel_is_held(host));
        } else if (got == CHANNEL_FRAME) {
            assert_int_equal(frame.size, size);
            assert_int_equal(frame.payload[size], 0);
        }
        unmap_control(control);
    }
}

/* The pages go while the host uses them. What it reads then is zeros. */
static void pages_may_be_taken_away(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    struct frame_in frame;
    assert_non_null(channel_room(host, MIB));
    memset(channel_room(host, MIB), 'x', MIB);
    assert_int_equal(fallocate(channel_fd(host), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                               CHANNEL_PAYLOAD_MAX),
                     0);
    channel_send(host, FRAME_CALL, MIB);
    struct control *control = map_control(host);
    atomic_store(&control->worker.type, FRAME_RESULT);
    atomic_store(&control->worker.size, MIB);
    atomic_store(&control->worker.number, 2);
    assert_int_equal(channel_receive(host, LONG_AGO_NS, &frame), CHANNEL_FRAME);
    assert_int_equal(frame.size, MIB);
    assert_int_equal(frame.payload[MIB - 1], 0);
    unmap_control(control);
}

struct nuisance {
    struct control *control;
    bool bumps; /* sets the top bit of its number, or only wakes */
    atomic_bool over;
};

static void *wake_for_nothing(void *argument) {
    struct nuisance *nuisance = argument;
    while (!atomic_load(&nuisance->over)) {
        if (nuisance->bumps) {
            (void)atomic_fetch_or(&nuisance->control->worker.number, 0x80000000u);
        }
        (void)syscall(SYS_futex, &nuisance->control->worker.number, FUTEX_WAKE, INT_MAX, NULL, NULL,
                      0);
    }
    return NULL;
}

static void waking_for_nothing_is_nonsense(void **state) {
    (void)state;
    for (int bumps = 0; bumps < 2; bumps++) {
        CLEANUP(channel_destroyp) struct channel *host = create();
        struct nuisance nuisance = {.control = map_control(host), .bumps = bumps == 1};
        struct frame_in frame;
        pthread_t thread;
        channel_send(host, FRAME_CALL, 0);
        assert_int_equal(pthread_create(&thread, NULL, wake_for_nothing, &nuisance), 0);
        assert_int_equal(channel_receive(host, 0, &frame), CHANNEL_NONSENSE);
        atomic_store(&nuisance.over, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        unmap_control(nuisance.control);
    }
}

/* The wake-up goes to nobody; the host looks by itself after a slice. */
static void a_swallowed_wake_up_delays_no_more_than_a_slice(void **state) {
    (void)state;
    CLEANUP(channel_destroyp) struct channel *host = create();
    struct control *control = map_control(host);
    struct waiter waiter = {.host = host};
    pthread_t thread;
    channel_send(host, FRAME_CALL, 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_on, &waiter), 0);
    /* Until it is asleep in the kernel, there is nobody to move. */
    AWAIT(syscall(SYS_futex, &control->worker.number, FUTEX_REQUEUE, 0, INT_MAX,
                  &control->worker.cpu, 0) == 1);
    channel_abandon(host);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&waiter.got[CHANNEL_GONE]), 1);
    unmap_control(control);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "echo") == 0) {
        return echo_process();
    }
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(threads_play),
            cmocka_unit_test(processes_play),
            cmocka_unit_test(every_size_between_threads),
            cmocka_unit_test(every_size_between_processes),
            cmocka_unit_test(arguments_stay_while_a_question_is_answered),
            cmocka_unit_test(bulks_leave_nothing_behind),
            cmocka_unit_test(memory_is_sealed),
            cmocka_unit_test(a_limit_of_file_size_is_an_error_and_no_signal),
            cmocka_unit_test(foreign_memory_is_not_joined),
            cmocka_unit_test(want_of_memory_is_told),
            cmocka_unit_test(late_is_not_lost),
            cmocka_unit_test(an_idle_worker_sleeps),
            cmocka_unit_test(waiting_without_a_limit_is_sleeping),
            cmocka_unit_test(each_interrupt_ends_a_wait),
            cmocka_unit_test(an_interrupt_is_kept_for_the_next_wait_or_forgotten),
            cmocka_unit_test(the_dead_are_not_waited_for),
            cmocka_unit_test(cancelling_is_of_one_call),
            cmocka_unit_test(every_control_word_may_be_nonsense),
            cmocka_unit_test(pages_may_be_taken_away),
            cmocka_unit_test(waking_for_nothing_is_nonsense),
            cmocka_unit_test(a_swallowed_wake_up_delays_no_more_than_a_slice),
    };
    return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
