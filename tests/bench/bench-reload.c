/* From the rename of a plugin file to the first answer of what it holds, against the least that
 * this could take.
 *
 * The debounce, which a host waits on purpose, is taken off: what remains is seeing the change,
 * copying and hashing the file, reading its table, exchanging the tools, and the first call:
 * isolated with the start of a worker in it, in process with dlopen. The floor copies and hashes
 * the same file and starts and reaps a program that does nothing, or loads it. */
#include <dlfcn.h>
#include <pthread.h>
#include <sodium.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "toolrack/toolrack.h"

#define DEBOUNCE_MS     100u
#define REPEATS         15
#define PLUGIN_SIZE_MAX (1u << 17)

static char folder[64] = "/tmp/toolrack-bench-XXXXXX";

static char *image;
static size_t image_size;
static char plugin_path[160];
static char aside_path[160];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static unsigned reloads;

static void die(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static void write_image(const char *path, size_t size) {
    FILE *file = fopen(path, "we");
    if (file == NULL || fwrite(image, 1, size, file) != size || fclose(file) != 0) {
        die(path);
    }
}

static void read_image(void) {
    FILE *file = fopen(SCAN_PLUGIN, "re");
    image = malloc(PLUGIN_SIZE_MAX);
    if (file == NULL || image == NULL) {
        die(SCAN_PLUGIN);
    }
    image_size = fread(image, 1, PLUGIN_SIZE_MAX - sizeof(uint32_t), file);
    (void)fclose(file);
}

/* Another content each time: what follows the last segment means nothing to a loader. */
static void write_aside(uint32_t number) {
    memcpy(image + image_size, &number, sizeof number);
    write_image(aside_path, image_size + sizeof number);
}

static void take_event(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)pthread_mutex_lock(&lock);
    reloads += event->kind == TOOLRACK_EVENT_RELOADED;
    (void)pthread_cond_broadcast(&came);
    (void)pthread_mutex_unlock(&lock);
}

static void wait_for_reload(unsigned before) {
    (void)pthread_mutex_lock(&lock);
    while (reloads == before) {
        (void)pthread_cond_wait(&came, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

static void call(struct toolrack *host) {
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    if (toolrack_call(host, "bench_0000", "{\"a\": 1, \"b\": 2}", NULL, &result, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
    toolrack_result_free(result);
}

static double exchange_once(struct toolrack *host, uint32_t number) {
    unsigned before = reloads;
    write_aside(number);
    uint64_t start_ns = clock_now_ns();
    if (rename(aside_path, plugin_path) < 0) {
        die(plugin_path);
    }
    wait_for_reload(before);
    call(host);
    return (double)(clock_now_ns() - start_ns) - DEBOUNCE_MS * (double)CLOCK_NS_PER_MS;
}

static void measure_host(struct bench_row *row, enum toolrack_isolation isolation,
                         const char *state_dir) {
    const char *const folders[] = {folder, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    struct toolrack *host = NULL;
    write_aside(0);
    (void)rename(aside_path, plugin_path);
    options.config_file = "";
    options.state_dir = state_dir;
    options.plugin_dirs = folders;
    options.isolation = isolation;
    options.worker_program = WORKER_PROGRAM;
    options.event = take_event;
    options.watch = true;
    options.watch_debounce_ms = DEBOUNCE_MS;
    if (toolrack_open(&options, &host, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
    call(host);
    (void)exchange_once(host, REPEATS + 1); /* the watch looks at all files when it starts */
    for (uint32_t i = 0; i < REPEATS; i++) {
        row->ns[i] = exchange_once(host, i + 1);
    }
    toolrack_close(host);
    qsort(row->ns, REPEATS, sizeof row->ns[0], bench_compare);
}

/* Copy with its hash, as a host must. */
static void copy_and_hash(const char *to) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256(hash, (const unsigned char *)image, image_size);
    BENCH_KEEP(hash[0]);
    write_image(to, image_size);
}

static void floor_spawn(void) {
    pid_t pid;
    char *const argv[] = {(char *)(uintptr_t)TRIVIAL_PROGRAM, NULL};
    copy_and_hash(aside_path);
    if (posix_spawn(&pid, TRIVIAL_PROGRAM, NULL, NULL, argv, environ) != 0) {
        die(TRIVIAL_PROGRAM);
    }
    (void)waitpid(pid, NULL, 0);
}

static void floor_load(void) {
    copy_and_hash(aside_path);
    void *handle = dlopen(aside_path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        die(aside_path);
    }
    (void)dlclose(handle);
}

static void measure_floor(struct bench_row *row, void (*once)(void)) {
    for (int i = 0; i < REPEATS; i++) {
        uint64_t start_ns = clock_now_ns();
        once();
        row->ns[i] = (double)(clock_now_ns() - start_ns);
        (void)unlink(aside_path);
    }
    qsort(row->ns, REPEATS, sizeof row->ns[0], bench_compare);
}

int main(void) {
    static struct bench_row rows[] = {
            {.name = "floor.copy+hash+spawn"},
            {.name = "rename to first answer, isolated, less debounce"},
            {.name = "floor.copy+hash+dlopen"},
            {.name = "rename to first answer, in process, less debounce"}};
    _Static_assert(REPEATS == BENCH_ROUNDS, "a row holds so many");
    if (mkdtemp(folder) == NULL || sodium_init() < 0) {
        die(folder);
    }
    (void)snprintf(plugin_path, sizeof plugin_path, "%s/reloaded.so", folder);
    (void)snprintf(aside_path, sizeof aside_path, "%s/aside", folder);
    read_image();
    measure_floor(&rows[0], floor_spawn);
    measure_host(&rows[1], TOOLRACK_ISOLATION_PROCESS, "");
    measure_floor(&rows[2], floor_load);
    measure_host(&rows[3], TOOLRACK_ISOLATION_NONE, "");
    bench_print(&rows[0], NULL, NULL);
    bench_print(&rows[1], &rows[0], "5 ms");
    bench_print(&rows[2], NULL, NULL);
    bench_print(&rows[3], &rows[2], "5 ms");
    (void)unlink(plugin_path);
    (void)rmdir(folder);
    free(image);
    return 0;
}
