/* What a frame to another process and one back cost, what a whole call in a worker costs, and what
 * the life of a worker costs: each against the least that does the same.
 *
 * Of a frame that is a mailbox in shared memory (isolated/mailbox.h); of a call the mailbox with
 * the work put together by hand behind it (by-hand.h); of a start the start of a program that does
 * nothing. Row and floor are measured in turns, for each placement of the two processes; each value
 * is the median of the rounds' medians.
 *
 * "1 ms of silence": the host sleeps before each exchange, so that the worker sleeps too; the
 * floor of these rows does not spin at all. */
#include <sys/wait.h>
#include <time.h>

#include "isolated/rows.h"
#include "worker/channel.h"

#define TIMES_MAX  3000
#define SILENCE_NS 1000000

/* ----------------------------------------------------------------- both ways */

struct setup {
    enum placement placement;
    uint32_t size;
    int times; /* in a round; the first tenth is not counted */
    bool is_silent;
    bool is_floor;
};

static char bytes[LARGE];
static struct boxes *boxes;

static void answer(const struct setup *setup, struct channel *channel) {
    struct frame_in frame;
    for (int i = 0; i < setup->times; i++) {
        if (setup->is_floor) {
            uint32_t size = box_receive(&boxes->to_worker, (unsigned)i, !setup->is_silent, bytes);
            box_send(&boxes->to_host, bytes, size);
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
        box_send(&boxes->to_worker, bytes, setup->size);
        (void)box_receive(&boxes->to_host, (unsigned)i, !setup->is_silent, bytes);
    } else {
        memcpy(channel_room(channel, setup->size), bytes, setup->size);
        channel_send(channel, FRAME_CALL, setup->size);
        if (channel_receive(channel, clock_now_ns() + CLOCK_NS_PER_S, &frame) != CHANNEL_FRAME) {
            fail("frame", "no answer");
        }
    }
}

/* The median of one round. */
static double measure(const struct setup *setup) {
    static double ns[TIMES_MAX];
    struct toolrack_error err;
    struct channel *channel = channel_create(&err);
    clear_boxes(boxes);
    pid_t pid = channel != NULL ? fork() : -1;
    if (pid == 0) {
        place(0, setup->placement, false);
        struct channel *worker = channel_join(dup(channel_fd(channel)), &err);
        answer(setup, worker);
    }
    place(0, setup->placement, true);
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
        fail("frame", "the worker failed");
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
    print_pair(&pair->floor, &pair->row, pair->goal);
}

static void frame_rows(const char *part) {
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
    boxes = make_boxes();
    memset(bytes, 'x', sizeof bytes);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (strstr(pairs[i].row.name, part) != NULL) {
            run(&pairs[i]);
        }
    }
    place(0, ANY_CPU, true);
}

/* bench-worker [KIND [PART]]: only the rows of that kind, and of those the ones whose name has that
 * part. */
int main(int count, char **values) {
    static const struct {
        const char *name;
        void (*print)(const char *part);
    } kinds[] = {{"frames", frame_rows}, {"calls", call_rows}, {"life", life_rows}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (count < 2 || strcmp(values[1], kinds[i].name) == 0) {
            kinds[i].print(count > 2 ? values[2] : "");
        }
    }
    return 0;
}
