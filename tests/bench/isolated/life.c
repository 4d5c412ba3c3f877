#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "isolated/rows.h"
#include "worker/crew.h"

/* By the crew's own functions: through the embedding API a start is the first call of a host's
 * life, which also makes what all later ones share, and a replacement waits for its back-off. */

#define SAMPLES 8 /* in a round */

/* Quick is what the crew forgives a worker here, and 16 crashes are too many in this time only. */
#define FORGIVING_MS 1

extern char **environ;

static struct supervisor *supervisor;
static struct supervisor *ahead; /* that keeps a spare process */
static struct descriptor *desc;
static struct crew_options options;
static struct descriptor *shared_desc; /* of the same plugin, which is thread safe here */
static struct crew_options shared_options;

/* ------------------------------------------------------------------ what is told */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned gone;

static void when_gone(void *user, void *crew_user) {
    (void)user;
    (void)crew_user;
    (void)pthread_mutex_lock(&lock);
    gone++;
    (void)pthread_cond_signal(&changed);
    (void)pthread_mutex_unlock(&lock);
}

/* Let the crew go and wait until its last worker has ended: what comes next has the CPUs. */
static void end_crew(struct crew *crew) {
    (void)pthread_mutex_lock(&lock);
    unsigned before = gone;
    (void)pthread_mutex_unlock(&lock);
    crew_unref(crew);
    (void)pthread_mutex_lock(&lock);
    while (gone == before) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* ---------------------------------------------------------------------- set-up */

/* The plugin's descriptor, and what a crew of it wants. */
static struct crew_options read_plugin(const char *path, struct descriptor **ret_desc) {
    struct toolrack_error err;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 ||
        descriptor_read(fd, &(struct descriptor_options){0}, ret_desc, &err) < 0) {
        die(path);
    }
    (void)close(fd);
    return (struct crew_options){.desc = *ret_desc,
                                 .path = path,
                                 .identity = identity_of(&st),
                                 .settings = "{}",
                                 .limits = {.quick_ms = FORGIVING_MS,
                                            .crashes_max = CREW_CRASHES_KEPT,
                                            .crashes_window_ms = FORGIVING_MS}};
}

static void set_up(void) {
    static struct supervisor_options supervise = {.worker_program = WORKER_PROGRAM,
                                                  .gone = when_gone};
    struct toolrack_error err;
    supervisor = supervisor_create(&supervise, &err);
    supervise.keeps_spare = true;
    ahead = supervisor_create(&supervise, &err);
    if (supervisor == NULL || ahead == NULL) {
        fail("life", err.message);
    }
    options = read_plugin(WORKER_PLUGIN, &desc);
    shared_options = read_plugin(WORKER_SHARED, &shared_desc);
}

static struct crew *make_crew_of(struct supervisor *its_supervisor,
                                 const struct crew_options *its_options) {
    struct toolrack_error err;
    struct crew *crew = NULL;
    if (crew_create(its_supervisor, its_options, &crew, &err) < 0) {
        fail("life", err.message);
    }
    return crew;
}

static struct crew *make_crew(void) {
    return make_crew_of(supervisor, &options);
}

static uint32_t tool_index(const char *name) {
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        if (strcmp(desc->tools[i].tool->name, name) == 0) {
            return desc->tools[i].index;
        }
    }
    fail(name, "no such tool");
}

/* Nanoseconds of a call that ends with `code`. */
static double call(struct crew *crew, const char *name, const char *arguments, int code) {
    struct arena arena;
    struct toolrack_error err = {0};
    struct crew_reply reply = {.out = BUF_INIT};
    arena_init(&arena, NULL, 0);
    struct crew_call call = {.tool = tool_index(name),
                             .tool_name = name,
                             .arguments = arguments,
                             .arguments_length = strlen(arguments),
                             .arena = &arena};
    uint64_t start = clock_now_ns();
    if (crew_run(crew, &call, &reply, &err) != code) {
        fail(name, err.message);
    }
    double ns = (double)(clock_now_ns() - start);
    buf_finish(&reply.out);
    arena_finish(&arena);
    return ns;
}

static double call_warm(struct crew *crew) {
    return call(crew, "count", "{\"text\":\"warm\"}", 0);
}

/* --------------------------------------------------------------------- samples */

static double spawn_program(void) {
    static char name[] = "trivial";
    char *const arguments[] = {name, NULL};
    pid_t pid;
    uint64_t start = clock_now_ns();
    if (posix_spawn(&pid, TRIVIAL_PROGRAM, NULL, NULL, arguments, environ) != 0 ||
        waitpid(pid, NULL, 0) != pid) {
        die(TRIVIAL_PROGRAM);
    }
    return (double)(clock_now_ns() - start);
}

static double start_worker_of(struct supervisor *its_supervisor,
                              const struct crew_options *its_options) {
    /* A spare process has this time before it is needed, and the others wait as long. */
    (void)nanosleep(&(struct timespec){.tv_nsec = 5 * (long)CLOCK_NS_PER_MS}, NULL);
    struct crew *crew = make_crew_of(its_supervisor, its_options);
    double ns = call_warm(crew);
    ns -= call_warm(crew);
    end_crew(crew);
    return ns;
}

static double start_worker(void) {
    return start_worker_of(supervisor, &options);
}

static double start_spare_worker(void) {
    return start_worker_of(ahead, &options);
}

/* Its first call runs in a second lane. */
static double start_shared_worker(void) {
    return start_worker_of(supervisor, &shared_options);
}

static double start_spare_shared_worker(void) {
    return start_worker_of(ahead, &shared_options);
}

/* A worker that lives for long enough that its death is none to wait after. */
static struct crew *make_settled_crew(void) {
    struct crew *crew = make_crew();
    (void)call_warm(crew);
    (void)nanosleep(&(struct timespec){.tv_nsec = 2 * FORGIVING_MS * (long)CLOCK_NS_PER_MS}, NULL);
    return crew;
}

static double see_crash(void) {
    struct crew *crew = make_settled_crew();
    double ns = call(crew, "crash", "{}", TOOLRACK_E_EXECUTION_FAILED);
    end_crew(crew);
    return ns;
}

static double see_end(void) {
    struct crew *crew = make_settled_crew();
    double ns = call(crew, "vanish", "{}", TOOLRACK_E_EXECUTION_FAILED);
    end_crew(crew);
    return ns;
}

static double replace_worker(void) {
    struct crew *crew = make_settled_crew();
    (void)call(crew, "crash", "{}", TOOLRACK_E_EXECUTION_FAILED);
    double ns = call_warm(crew);
    end_crew(crew);
    return ns;
}

/* ------------------------------------------------------------------------ rows */

static double measure(double (*sample)(void)) {
    double ns[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        ns[i] = sample();
    }
    qsort(ns, SAMPLES, sizeof ns[0], bench_compare);
    return (ns[SAMPLES / 2 - 1] + ns[SAMPLES / 2]) / 2;
}

void life_rows(const char *part) {
    (void)part;
    static struct {
        double (*sample)(void);
        struct bench_row row;
    } rows[] = {{start_worker, {.name = "worker, start to ready"}},
                {start_spare_worker, {.name = "the same, with a spare process"}},
                {start_shared_worker, {.name = "of a thread-safe plugin"}},
                {start_spare_shared_worker, {.name = "the same, with a spare process"}},
                {see_crash, {.name = "crash, to its error with a backtrace"}},
                {see_end, {.name = "SIGKILL, to its error"}},
                {replace_worker, {.name = "replacement, to its first answer"}}};
    static struct bench_row floor = {.name = "floor.posix_spawn"};
    set_up();
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        floor.ns[round] = measure(spawn_program);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            rows[i].row.ns[round] = measure(rows[i].sample);
        }
    }
    qsort(floor.ns, BENCH_ROUNDS, sizeof floor.ns[0], bench_compare);
    bench_print(&floor, NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qsort(rows[i].row.ns, BENCH_ROUNDS, sizeof rows[i].row.ns[0], bench_compare);
        bench_print(&rows[i].row, &floor, "1.3");
    }
    supervisor_destroy(ahead);
    supervisor_destroy(supervisor);
    descriptor_unref(desc);
    descriptor_unref(shared_desc);
}
