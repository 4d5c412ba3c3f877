/* What a frame to another process and one back cost, against the least that shared memory can do.
 *
 * The floor is a mailbox each way: a number, a length, the bytes; who waits spins when the other
 * side last ran on another CPU and sleeps on a futex after that, as the channel does. It checks
 * nothing, trusts the lengths, and copies as often: in, out, in, out. Both are measured in turns,
 * for each placement of the two processes; each value is the median of the rounds' medians.
 *
 * "1 ms of silence": the host sleeps before each exchange, so that the worker sleeps too; the
 * floor of these rows does not spin at all. */
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "worker/channel.h"

#define SMALL      200u
#define LARGE      (1024u * 1024)
#define SPIN_LOOKS 2000
#define TIMES_MAX  3000
#define SILENCE_NS 1000000

/* --------------------------------------------------------------------- floor */

struct box {
    _Alignas(64) atomic_uint number;
    uint32_t size;
    _Alignas(64) atomic_uint sleeps; /* who reads this box */
    _Alignas(64) atomic_int cpu;     /* who writes it */
    _Alignas(64) char bytes[LARGE];
};

struct floor {
    struct box to_worker;
    struct box to_host;
};

static void floor_send(struct box *box, const char *bytes, uint32_t size) {
    memcpy(box->bytes, bytes, size);
    box->size = size;
    atomic_store_explicit(&box->cpu, sched_getcpu(), memory_order_relaxed);
    atomic_fetch_add(&box->number, 1);
    if (atomic_load(&box->sleeps) != 0) {
        (void)syscall(SYS_futex, &box->number, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static uint32_t floor_receive(struct box *box, unsigned seen, bool spins, char *bytes) {
    if (spins && atomic_load_explicit(&box->cpu, memory_order_relaxed) != sched_getcpu()) {
        for (int i = 0;
             i < SPIN_LOOKS && atomic_load_explicit(&box->number, memory_order_acquire) == seen;
             i++) {
            __builtin_ia32_pause();
        }
    }
    while (atomic_load_explicit(&box->number, memory_order_acquire) == seen) {
        atomic_store(&box->sleeps, 1);
        (void)syscall(SYS_futex, &box->number, FUTEX_WAIT, seen, NULL, NULL, 0);
        atomic_store_explicit(&box->sleeps, 0, memory_order_relaxed);
    }
    uint32_t size = box->size;
    memcpy(bytes, box->bytes, size);
    return size;
}

/* ----------------------------------------------------------------- both ways */

enum placement { TWO_CPUS, ONE_CPU, ANY_CPU };

struct setup {
    enum placement placement;
    uint32_t size;
    int times; /* in a round; the first tenth is not counted */
    bool is_silent;
    bool is_floor;
};

static char bytes[LARGE];
static struct floor *boxes;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void stay_on(enum placement placement, bool is_host) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t cpu = 0; cpu < 2; cpu++) {
        if (placement == ANY_CPU || cpu == (placement == TWO_CPUS && !is_host)) {
            CPU_SET(cpu, &set);
        }
    }
    if (sched_setaffinity(0, sizeof set, &set) < 0) {
        die("bench-worker: two CPUs are needed");
    }
}

static void answer(const struct setup *setup, struct channel *channel) {
    struct frame_in frame;
    for (int i = 0; i < setup->times; i++) {
        if (setup->is_floor) {
            uint32_t size = floor_receive(&boxes->to_worker, (unsigned)i, !setup->is_silent, bytes);
            floor_send(&boxes->to_host, bytes, size);
        } else {
            if (channel_receive(channel, 0, &frame) != CHANNEL_FRAME) {
                _exit(1);
            }
            memcpy(channel_room(channel, frame.size), frame.payload, frame.size);
            channel_send(channel, FRAME_RESULT, frame.size);
        }
    }
    _exit(0);
}

static void ask(const struct setup *setup, struct channel *channel, int i) {
    struct frame_in frame;
    if (setup->is_floor) {
        floor_send(&boxes->to_worker, bytes, setup->size);
        (void)floor_receive(&boxes->to_host, (unsigned)i, !setup->is_silent, bytes);
    } else {
        memcpy(channel_room(channel, setup->size), bytes, setup->size);
        channel_send(channel, FRAME_CALL, setup->size);
        if (channel_receive(channel, clock_now_ns() + CLOCK_NS_PER_S, &frame) != CHANNEL_FRAME) {
            die("bench-worker: no answer");
        }
    }
}

/* The median of one round. */
static double measure(const struct setup *setup) {
    static double ns[TIMES_MAX];
    struct toolrack_error err;
    struct channel *channel = channel_create(&err);
    memset(boxes, 0, offsetof(struct box, bytes));
    memset(&boxes->to_host, 0, offsetof(struct box, bytes));
    pid_t pid = channel != NULL ? fork() : -1;
    if (pid == 0) {
        stay_on(setup->placement, false);
        struct channel *worker = channel_join(dup(channel_fd(channel)), &err);
        answer(setup, worker);
    }
    stay_on(setup->placement, true);
    for (int i = 0; i < setup->times; i++) {
        if (setup->is_silent) {
            (void)nanosleep(&(struct timespec){.tv_nsec = SILENCE_NS}, NULL);
        }
        uint64_t start = clock_now_ns();
        ask(setup, channel, i);
        ns[i] = (double)(clock_now_ns() - start);
    }
    int status = -1;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        die("bench-worker: the worker failed");
    }
    channel_destroy(channel);
    int first = setup->times / 10;
    int count = setup->times - first;
    qsort(ns + first, (size_t)count, sizeof ns[0], bench_compare);
    return ns[first + count / 2];
}

/* -------------------------------------------------------------------------- rows */

struct pair {
    struct setup setup;
    struct bench_row floor;
    struct bench_row row;
    const char *goal;
};

static void run(struct pair *pair) {
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        pair->setup.is_floor = true;
        pair->floor.ns[round] = measure(&pair->setup);
        pair->setup.is_floor = false;
        pair->row.ns[round] = measure(&pair->setup);
    }
    qsort(pair->floor.ns, BENCH_ROUNDS, sizeof pair->floor.ns[0], bench_compare);
    qsort(pair->row.ns, BENCH_ROUNDS, sizeof pair->row.ns[0], bench_compare);
    bench_print(&pair->floor, NULL, NULL);
    bench_print(&pair->row, &pair->floor, pair->goal);
}

int main(void) {
    static struct pair pairs[] = {
            {{TWO_CPUS, SMALL, 3000, false, false},
             {.name = "floor.frame.200.two"},
             {.name = "frame of 200 B and back, two CPUs"},
             "1.5"},
            {{ONE_CPU, SMALL, 3000, false, false},
             {.name = "floor.frame.200.one"},
             {.name = "frame of 200 B and back, one CPU"},
             "1.2"},
            {{ANY_CPU, SMALL, 3000, false, false},
             {.name = "floor.frame.200.any"},
             {.name = "frame of 200 B and back, unpinned"},
             NULL},
            {{TWO_CPUS, SMALL, 120, true, false},
             {.name = "floor.silence.two"},
             {.name = "after 1 ms of silence, two CPUs"},
             "1.15"},
            {{ONE_CPU, SMALL, 120, true, false},
             {.name = "floor.silence.one"},
             {.name = "after 1 ms of silence, one CPU"},
             "1.15"},
            {{ANY_CPU, SMALL, 120, true, false},
             {.name = "floor.silence.any"},
             {.name = "after 1 ms of silence, unpinned"},
             "1.15"},
            {{TWO_CPUS, LARGE, 100, false, false},
             {.name = "floor.frame.1M.two"},
             {.name = "frame of 1 MiB and back, two CPUs"},
             "1.3"},
            {{ONE_CPU, LARGE, 100, false, false},
             {.name = "floor.frame.1M.one"},
             {.name = "frame of 1 MiB and back, one CPU"},
             "1.3"},
    };
    boxes = mmap(NULL, sizeof *boxes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (boxes == MAP_FAILED) {
        die("bench-worker: mmap");
    }
    memset(bytes, 'x', sizeof bytes);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        run(&pairs[i]);
    }
    return 0;
}
