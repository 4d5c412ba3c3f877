/* Hot reload: what becomes of the tools when their file changes, in every way in which files
 * change, while nobody calls and while somebody does, in workers and in this process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sanitizer.h"
#include "build.h"
#include "life/retire.h"
#include "patience.h"
#include "plain-commands.h"
#include "remove-tree.h"
#include "rounds.h"
#include "toolrack/toolrack.h"

#include <cmocka.h>

#define KEPT SANITIZER_ADDRESS
#define SLOW (SANITIZER_ADDRESS || SANITIZER_THREAD)

/* So short that a test need not wait long, and long enough to put a file there in several steps. */
#define DEBOUNCE_MS     5u
/* What does not happen within this time does not happen. */
#define EVENT_S_MAX     20
/* A test that would wait for ever ends here. */
#define BLOCKED_AFTER_S 120

/* How often a file is exchanged under load, and how long that may take. */
#define EXCHANGES       (SLOW ? 60 : test_rounds(1000, 100))
#define EXCHANGES_S_MAX 55
#define CALLERS         2

/* build, hold and sane */
#define BUILD_TOOLS 3

/* What the host may have more after all exchanges than after the first tenth: two workers that had
 * not started yet, and less than a descriptor for each exchange. */
#define LEFT_FDS_MAX    24
#define LEFT_MEMORY_MAX ((size_t)24 << 20)

/* ------------------------------------------------------------------ events */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t came;
    unsigned counts[TOOLRACK_EVENT_STOPPED + 1];
    char last[TOOLRACK_EVENT_STOPPED + 1][ERROR_MESSAGE_MAX]; /* message or tool */
} events = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

static void on_event(void *user, const struct toolrack_event *event) {
    (void)user;
    const char *text = event->message != NULL ? event->message
                       : event->tool != NULL  ? event->tool
                                              : "";
    (void)pthread_mutex_lock(&events.lock);
    events.counts[event->kind]++;
    (void)snprintf(events.last[event->kind], sizeof events.last[event->kind], "%s", text);
    (void)pthread_cond_broadcast(&events.came);
    (void)pthread_mutex_unlock(&events.lock);
}

static unsigned count_of(enum toolrack_event_kind kind) {
    (void)pthread_mutex_lock(&events.lock);
    unsigned count = events.counts[kind];
    (void)pthread_mutex_unlock(&events.lock);
    return count;
}

/* Whether there have been more than `before` events of a kind, or are soon. */
static bool comes(enum toolrack_event_kind kind, unsigned before) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += EVENT_S_MAX;
    int late = 0;
    (void)pthread_mutex_lock(&events.lock);
    while (events.counts[kind] <= before && late == 0) {
        late = pthread_cond_timedwait(&events.came, &events.lock, &until);
    }
    bool came = events.counts[kind] > before;
    (void)pthread_mutex_unlock(&events.lock);
    return came;
}

static const char *last_of(enum toolrack_event_kind kind) {
    static char text[ERROR_MESSAGE_MAX];
    (void)pthread_mutex_lock(&events.lock);
    memcpy(text, events.last[kind], sizeof text);
    (void)pthread_mutex_unlock(&events.lock);
    return text;
}

static void wait_for(enum toolrack_event_kind kind, unsigned before) {
    if (!comes(kind, before)) {
        fail_msg("no event of kind %d after %u of them; %u tools were added, %u removed; refused "
                 "last: %s",
                 kind, before, count_of(TOOLRACK_EVENT_ADDED), count_of(TOOLRACK_EVENT_REMOVED),
                 last_of(TOOLRACK_EVENT_REFUSED));
    }
}

static void on_log(void *user, enum toolrack_log_level level, const char *source,
                   const char *line) {
    (void)user;
    if (getenv("TEST_RELOAD_LOG") != NULL) {
        (void)fprintf(stderr, "# %.4f %d %s: %s\n", (double)clock_now_ns() / 1e9, level, source,
                      line);
    }
}

/* ------------------------------------------------------------------- a place */

/* How often a deleted file was away for longer than the debounce, as happens where this thread has
 * to wait for a processor: then its tools are removed and added, and who calls in between may find
 * none. */
static atomic_uint gaps;

struct place {
    char root[64];
    char plugins[96];
    char store[96]; /* where files are made that are put into the plugin folder then */
    char state[96];
    char file[128]; /* the plugin */
    struct toolrack *host;
};

static int place_setup(void **state) {
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        return -1;
    }
    strcpy(place->root, "/tmp/toolrack-reload-XXXXXX");
    if (mkdtemp(place->root) == NULL) {
        return -1;
    }
    (void)snprintf(place->plugins, sizeof place->plugins, "%s/plugins", place->root);
    (void)snprintf(place->store, sizeof place->store, "%s/store", place->root);
    (void)snprintf(place->state, sizeof place->state, "%s/state", place->root);
    (void)snprintf(place->file, sizeof place->file, "%s/build.so", place->plugins);
    memset(events.counts, 0, sizeof events.counts);
    atomic_store(&gaps, 0);
    *state = place;
    (void)alarm(BLOCKED_AFTER_S);
    return mkdir(place->plugins, 0700) | mkdir(place->store, 0700);
}

static int place_teardown(void **state) {
    struct place *place = *state;
    toolrack_close(place->host);
    (void)alarm(0);
    int code = remove_tree(place->root);
    free(place);
    return code;
}

struct setup {
    enum toolrack_isolation isolation;
    bool watch;
    bool stateless;
};

static struct toolrack *open_another(const struct place *place, const struct setup *setup) {
    const char *const dirs[] = {place->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    struct toolrack *host = NULL;
    options.config_file = "";
    options.state_dir = setup->stateless ? "" : place->state;
    options.plugin_dirs = dirs;
    options.isolation = setup->isolation;
    options.watch = setup->watch;
    options.watch_debounce_ms = DEBOUNCE_MS;
    options.event = on_event;
    options.log = on_log;
    if (toolrack_open(&options, &host, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return host;
}

static void open_host(struct place *place, const struct setup *setup) {
    place->host = open_another(place, setup);
}

static void open_in_process(struct place *place) {
    open_host(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_NONE});
}

static void close_host(struct place *place) {
    toolrack_close(place->host);
    place->host = NULL;
}

/* ------------------------------------------------------------------- builds */

struct bytes {
    char *data;
    size_t size;
};

static void bytes_finish(struct bytes *bytes) {
    free(bytes->data);
}

static struct bytes read_bytes(const char *path) {
    struct bytes bytes = {0};
    struct stat st;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    bytes.size = (size_t)st.st_size;
    bytes.data = malloc(bytes.size);
    assert_non_null(bytes.data);
    assert_int_equal(read(fd, bytes.data, bytes.size), bytes.size);
    return bytes;
}

/* The bytes of a fixture with another number in it. */
static struct bytes make_build(const char *fixture, unsigned number) {
    char path[256];
    char digits[BUILD_DIGITS + 1];
    (void)snprintf(path, sizeof path, TEST_PLUGINS "/%s.so", fixture);
    (void)snprintf(digits, sizeof digits, "%06u", number);
    struct bytes bytes = read_bytes(path);
    char *at = bytes.data;
    while ((at = memmem(at, bytes.size - (size_t)(at - bytes.data), BUILD_MARK "000001",
                        strlen(BUILD_MARK "000001"))) != NULL) {
        at += strlen(BUILD_MARK);
        memcpy(at, digits, BUILD_DIGITS);
    }
    return bytes;
}

static void write_bytes(const char *path, int how, const char *data, size_t size) {
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
}

/* A finished file of its own, outside the plugin folder. */
static void write_aside(const struct place *place, const char *fixture, unsigned number,
                        char ret_path[160]) {
    CLEANUP(bytes_finish) struct bytes bytes = make_build(fixture, number);
    (void)snprintf(ret_path, 160, "%s/%u.so", place->store, number);
    write_bytes(ret_path, O_TRUNC, bytes.data, bytes.size);
}

/* Put it there as one should. */
static void install_as(const struct place *place, const char *name, const char *fixture,
                       unsigned number) {
    char aside[160];
    char path[160];
    write_aside(place, fixture, number, aside);
    (void)snprintf(path, sizeof path, "%s/%s.so", place->plugins, name);
    assert_int_equal(rename(aside, path), 0);
}

static void install(const struct place *place, unsigned number) {
    install_as(place, "build", "build", number);
}

static void set_mtime(const char *path, time_t seconds) {
    const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* ------------------------------------------------ the ways in which files change */

static void by_rename(const struct place *place, unsigned number) {
    install(place, number);
}

static void by_overwriting(const struct place *place, unsigned number) {
    CLEANUP(bytes_finish) struct bytes bytes = make_build("build", number);
    write_bytes(place->file, O_TRUNC, bytes.data, bytes.size);
}

static void in_place(const struct place *place, unsigned number) {
    CLEANUP(bytes_finish) struct bytes bytes = make_build("build", number);
    write_bytes(place->file, 0, bytes.data, bytes.size);
}

static void by_deleting(const struct place *place, unsigned number) {
    char aside[160];
    write_aside(place, "build", number, aside);
    uint64_t began_ns = clock_now_ns();
    assert_int_equal(unlink(place->file), 0);
    assert_int_equal(rename(aside, place->file), 0);
    if (clock_now_ns() - began_ns >= DEBOUNCE_MS * CLOCK_NS_PER_MS) {
        atomic_fetch_add(&gaps, 1);
    }
}

static void by_link(const struct place *place, unsigned number) {
    char aside[160];
    char temporary[160];
    write_aside(place, "build", number, aside);
    (void)snprintf(temporary, sizeof temporary, "%s/link", place->plugins);
    assert_int_equal(symlink(aside, temporary), 0);
    assert_int_equal(rename(temporary, place->file), 0);
}

static void with_the_same_times(const struct place *place, unsigned number) {
    char aside[160];
    write_aside(place, "build", number, aside);
    set_mtime(aside, 1000000000);
    assert_int_equal(rename(aside, place->file), 0);
}

static void with_older_times(const struct place *place, unsigned number) {
    char aside[160];
    write_aside(place, "build", number, aside);
    set_mtime(aside, 900000000 - (time_t)number);
    assert_int_equal(rename(aside, place->file), 0);
}

static void by_hard_link(const struct place *place, unsigned number) {
    char aside[160];
    char temporary[160];
    write_aside(place, "build", number, aside);
    (void)snprintf(temporary, sizeof temporary, "%s/hard", place->plugins);
    assert_int_equal(link(aside, temporary), 0);
    assert_int_equal(rename(temporary, place->file), 0);
}

/* Written in two parts with a pause longer than the debounce: half a file is not believed. */
static void in_halves(const struct place *place, unsigned number) {
    CLEANUP(bytes_finish) struct bytes bytes = make_build("build", number);
    CLEANUP(closep) int fd = open(place->file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.data, bytes.size / 2), bytes.size / 2);
    (void)nanosleep(&(struct timespec){.tv_nsec = 3L * DEBOUNCE_MS * CLOCK_NS_PER_MS}, NULL);
    assert_int_equal(write(fd, bytes.data + bytes.size / 2, bytes.size - bytes.size / 2),
                     bytes.size - bytes.size / 2);
}

/* Unlike truncate(), it is known to be over. */
static void cut_off(const struct place *place, off_t size) {
    CLEANUP(closep) int fd = open(place->file, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
}

static const struct way {
    const char *name;
    void (*exchange)(const struct place *place, unsigned number);
} ways[] = {
        {"rename", by_rename},
        {"overwriting", by_overwriting},
        {"in place", in_place},
        {"deleting", by_deleting},
        {"symbolic link", by_link},
        {"same times", with_the_same_times},
        {"older times", with_older_times},
        {"hard link", by_hard_link},
        {"halves", in_halves},
};

/* How often a host has put another build into service: it is another generation of the plugin, or
 * all its tools are added. Caller holds the lock. */
static unsigned exchanges(void) {
    return events.counts[TOOLRACK_EVENT_RELOADED] +
           events.counts[TOOLRACK_EVENT_ADDED] / BUILD_TOOLS;
}

/* Exchange the file in a way, and wait until each of so many hosts serves what is new. */
static void exchange(const struct place *place, const struct way *way, unsigned number,
                     unsigned hosts) {
    (void)pthread_mutex_lock(&events.lock);
    unsigned before = exchanges();
    (void)pthread_mutex_unlock(&events.lock);
    way->exchange(place, number);
    (void)pthread_mutex_lock(&events.lock);
    AWAIT_SIGNALLED(exchanges() >= before + hosts, &events.came, &events.lock);
    (void)pthread_mutex_unlock(&events.lock);
    assert_in_range(count_of(TOOLRACK_EVENT_REMOVED), 0, atomic_load(&gaps) * BUILD_TOOLS * hosts);
}

/* -------------------------------------------------------------------- calls */

static int call_for(struct toolrack *host, const char *tool,
                    const struct toolrack_call_options *options, long *ret_number,
                    struct toolrack_error *err) {
    struct toolrack_result *result = NULL;
    int code = toolrack_call(host, tool, NULL, options, &result, err);
    if (code == 0) {
        *ret_number = strtol(toolrack_result_json(result, NULL), NULL, 10);
    }
    toolrack_result_free(result);
    return code;
}

static long call_build(struct toolrack *host) {
    struct toolrack_error err;
    long number = -1;
    if (call_for(host, "build", NULL, &number, &err) < 0) {
        fail_msg("%s: %s", toolrack_code_name(err.code), err.message);
    }
    return number;
}

static int code_of(struct toolrack *host, const char *tool) {
    long number;
    return call_for(host, tool, NULL, &number, NULL);
}

/* A call that stays until it is let go. */
struct held {
    struct toolrack *host;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool entered;
    bool may_go;
    int code;
    long number;
    struct toolrack_error err;
};

static int answer(void *user, const char *message, const char *schema, char **ret_content) {
    struct held *held = user;
    (void)message;
    (void)schema;
    (void)ret_content;
    (void)pthread_mutex_lock(&held->lock);
    held->entered = true;
    (void)pthread_cond_broadcast(&held->changed);
    AWAIT_SIGNALLED(held->may_go, &held->changed, &held->lock);
    (void)pthread_mutex_unlock(&held->lock);
    return TOOLRACK_ANSWER_ACCEPTED;
}

static void *hold_main(void *argument) {
    struct held *held = argument;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.ask = answer;
    options.user = held;
    options.deadline_ms = 60000;
    held->code = call_for(held->host, "hold", &options, &held->number, &held->err);
    (void)pthread_mutex_lock(&held->lock);
    held->entered = true; /* or it never will */
    (void)pthread_cond_broadcast(&held->changed);
    (void)pthread_mutex_unlock(&held->lock);
    return NULL;
}

static void hold_begin(struct held *held, struct toolrack *host) {
    *held = (struct held){.host = host};
    (void)pthread_mutex_init(&held->lock, NULL);
    (void)pthread_cond_init(&held->changed, NULL);
    assert_int_equal(pthread_create(&held->thread, NULL, hold_main, held), 0);
    (void)pthread_mutex_lock(&held->lock);
    AWAIT_SIGNALLED(held->entered, &held->changed, &held->lock);
    (void)pthread_mutex_unlock(&held->lock);
}

static long hold_end(struct held *held) {
    (void)pthread_mutex_lock(&held->lock);
    held->may_go = true;
    (void)pthread_cond_broadcast(&held->changed);
    (void)pthread_mutex_unlock(&held->lock);
    assert_int_equal(pthread_join(held->thread, NULL), 0);
    (void)pthread_cond_destroy(&held->changed);
    (void)pthread_mutex_destroy(&held->lock);
    if (held->code < 0) {
        fail_msg("%s: %s", toolrack_code_name(held->code), held->err.message);
    }
    return held->number;
}

/* ------------------------------------------------------------------- reports */

/* A string as it is, another value as JSON, nothing as "". To be freed. */
static char *text_of(yyjson_val *value) {
    char *text = yyjson_is_str(value) ? strdup(yyjson_get_str(value))
                 : value != NULL      ? yyjson_val_write(value, 0, NULL)
                                      : strdup("");
    assert_non_null(text);
    return text;
}

/* What a pointer finds in the report of a reload, as text. To be freed. */
static char *reload_for(struct toolrack *host, const char *name, const char *pointer) {
    struct toolrack_text *report = NULL;
    struct toolrack_error err;
    if (toolrack_reload(host, name, &report, &err) < 0) {
        fail_msg("%s", err.message);
    }
    life_check(host->life);
    size_t length = 0;
    const char *json = toolrack_text_data(report, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    char *text = text_of(yyjson_doc_ptr_get(doc, pointer));
    yyjson_doc_free(doc);
    toolrack_text_unref(report);
    return text;
}

static void expect_reload(struct toolrack *host, const char *name, const char *pointer,
                          const char *wanted) {
    CLEANUP(freep) char *report = reload_for(host, name, "");
    yyjson_doc *doc = yyjson_read(report, strlen(report), 0);
    CLEANUP(freep) char *text = text_of(yyjson_doc_ptr_get(doc, pointer));
    yyjson_doc_free(doc);
    if (strcmp(text, wanted) != 0) {
        fail_msg("%s is \"%s\", not \"%s\", in %s", pointer, text, wanted, report);
    }
}

static char *why(struct toolrack *host, const char *pointer) {
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_why(host, "test.build", &text, NULL), 0);
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    char *value = yyjson_val_write(yyjson_doc_ptr_get(doc, pointer), 0, NULL);
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return value != NULL ? value : strdup("");
}

static size_t count_refusals(struct toolrack *host, const char *rule) {
    struct toolrack_refusals *refusals = NULL;
    size_t count = 0;
    assert_int_equal(toolrack_refused(host, &refusals, NULL), 0);
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        count += strcmp(toolrack_refusals_get(refusals, i)->rule, rule) == 0;
    }
    toolrack_refusals_free(refusals);
    return count;
}

/* ------------------------------------------------------------------ the matrix */

static void exchange_idle(struct place *place, const struct way *way, unsigned number) {
    exchange(place, way, number, 1);
    assert_int_equal(call_build(place->host), number);
}

/* A call that runs ends on what it began with; others get the new one. */
static void exchange_in_flight(struct place *place, const struct way *way, unsigned number) {
    struct held held;
    long old = call_build(place->host);
    hold_begin(&held, place->host);
    exchange(place, way, number, 1);
    assert_int_equal(call_build(place->host), number);
    assert_int_equal(hold_end(&held), old);
    assert_int_equal(call_build(place->host), number);
}

static void go_through_ways(struct place *place, enum toolrack_isolation isolation) {
    unsigned number = 1;
    install(place, number);
    open_host(place, &(struct setup){.isolation = isolation, .watch = true});
    assert_int_equal(call_build(place->host), number);
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        print_message("# %s\n", ways[i].name);
        exchange_idle(place, &ways[i], ++number);
        exchange_in_flight(place, &ways[i], ++number);
    }
}

static void every_way_in_workers(void **state) {
    go_through_ways(*state, TOOLRACK_ISOLATION_PROCESS);
}

static void every_way_in_process(void **state) {
    go_through_ways(*state, TOOLRACK_ISOLATION_NONE);
}

/* What became of a generation that nothing should keep, but for what sanitizers do: one keeps all
 * images, the other has more on its stacks than can be told from a return address. */
static void assert_ended(const char *verdict, enum toolrack_isolation isolation) {
    bool in_process = isolation == TOOLRACK_ISOLATION_NONE;
    verdict = verdict != NULL ? verdict : "not known";
    bool good = strcmp(verdict, "gone") == 0 ||
                (in_process && KEPT && strncmp(verdict, "resident", 8) == 0) ||
                (in_process && SLOW && !KEPT && strncmp(verdict, "pending", 7) == 0);
    if (!good) {
        fail_msg("it is %s", verdict);
    }
}

static void a_deleted_file_takes_its_tools_along(enum toolrack_isolation isolation,
                                                 struct place *place) {
    struct held held;
    install(place, 7);
    open_host(place, &(struct setup){.isolation = isolation, .watch = true});
    hold_begin(&held, place->host);
    assert_int_equal(unlink(place->file), 0);
    wait_for(TOOLRACK_EVENT_REMOVED, BUILD_TOOLS - 1);
    assert_int_equal(code_of(place->host, "build"), TOOLRACK_E_NOT_FOUND);
    unsigned before = count_of(TOOLRACK_EVENT_UNLOADED);
    assert_int_equal(hold_end(&held), 7);
    wait_for(TOOLRACK_EVENT_UNLOADED, before);
    assert_ended(last_of(TOOLRACK_EVENT_UNLOADED), isolation);
    unsigned added = count_of(TOOLRACK_EVENT_ADDED);
    install(place, 8);
    wait_for(TOOLRACK_EVENT_ADDED, added + BUILD_TOOLS - 1);
    assert_int_equal(call_build(place->host), 8);
}

static void deleting_in_workers(void **state) {
    a_deleted_file_takes_its_tools_along(TOOLRACK_ISOLATION_PROCESS, *state);
}

static void deleting_in_process(void **state) {
    a_deleted_file_takes_its_tools_along(TOOLRACK_ISOLATION_NONE, *state);
}

static void a_broken_file_changes_nothing(struct place *place, enum toolrack_isolation isolation) {
    install(place, 1);
    open_host(place, &(struct setup){.isolation = isolation, .watch = true});
    assert_int_equal(call_build(place->host), 1);
    unsigned before = count_of(TOOLRACK_EVENT_REFUSED);
    cut_off(place, 3000);
    wait_for(TOOLRACK_EVENT_REFUSED, before);
    assert_int_equal(call_build(place->host), 1);
    CLEANUP(freep) char *refused = why(place->host, "/refused/0/reason");
    assert_string_not_equal(refused, "");
    /* What was there before comes back: nothing to reload, and nothing wrong any more. */
    unsigned reloaded = count_of(TOOLRACK_EVENT_RELOADED);
    install(place, 1);
    AWAIT(count_refusals(place->host, "elf-truncated") == 0);
    assert_int_equal(count_of(TOOLRACK_EVENT_RELOADED), reloaded);
    /* A link that leads nowhere is not a file that was removed. */
    before = count_of(TOOLRACK_EVENT_REFUSED);
    assert_int_equal(unlink(place->file) | symlink("nowhere", place->file), 0);
    wait_for(TOOLRACK_EVENT_REFUSED, before);
    assert_int_equal(call_build(place->host), 1);
    install(place, 2);
    wait_for(TOOLRACK_EVENT_RELOADED, reloaded);
    assert_int_equal(call_build(place->host), 2);
}

static void broken_in_workers(void **state) {
    a_broken_file_changes_nothing(*state, TOOLRACK_ISOLATION_PROCESS);
}

static void broken_in_process(void **state) {
    a_broken_file_changes_nothing(*state, TOOLRACK_ISOLATION_NONE);
}

/* -------------------------------------------------------------- being tried out */

static void expect_refused(struct place *place, const char *fixture, unsigned number,
                           const char *rule, const char *words) {
    install_as(place, "build", fixture, number);
    CLEANUP(freep) char *reason = reload_for(place->host, NULL, "/0/reason");
    if (strstr(reason, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, reason);
    }
    assert_int_equal(count_refusals(place->host, rule), 1);
    assert_int_equal(call_build(place->host), 1);
}

static void what_does_not_open_is_refused(struct place *place, enum toolrack_isolation isolation) {
    install(place, 1);
    open_host(place, &(struct setup){.isolation = isolation});
    assert_int_equal(call_build(place->host), 1);
    expect_refused(place, "build", BUILD_OPEN_FAILS, "cannot-load", "this build does not open");
    expect_refused(place, "build-tried", BUILD_EXAMPLE_WRONG, "self-test",
                   "example 1 of tool 'sane' gave {\"sane\":1} instead of {\"sane\":0}");
    if (isolation == TOOLRACK_ISOLATION_PROCESS) {
        expect_refused(place, "build", BUILD_OPEN_DIES, "cannot-load", "cannot be loaded");
        expect_refused(place, "build-tried", BUILD_EXAMPLE_CRASHES, "self-test", "SIGABRT");
        expect_refused(place, "build-tried", BUILD_EXAMPLE_HANGS, "self-test", "Timeout");
    }
    install_as(place, "build", "build-tried", 2);
    expect_reload(place->host, NULL, "/0/outcome", "reloaded");
    assert_int_equal(call_build(place->host), 2);
    assert_int_equal(count_refusals(place->host, "self-test"), 0);
}

static void trials_in_workers(void **state) {
    what_does_not_open_is_refused(*state, TOOLRACK_ISOLATION_PROCESS);
}

static void trials_in_process(void **state) {
    what_does_not_open_is_refused(*state, TOOLRACK_ISOLATION_NONE);
}

/* In this process nothing can end it: its thread is given up, and what serves goes on. Last of all
 * in its process, for its thread stays. */
static void an_example_that_hangs_in_process(void **state) {
    struct place *place = *state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        install(place, 1);
        open_in_process(place);
        (void)call_build(place->host);
        install_as(place, "build", "build-tried", BUILD_EXAMPLE_HANGS);
        CLEANUP(freep) char *reason = reload_for(place->host, NULL, "/0/reason");
        bool good = strstr(reason, "example 1 of tool 'sane' did not return in time") != NULL &&
                    call_build(place->host) == 1;
        toolrack_close(place->host);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(patience_child(pid, &status), pid);
    assert_int_equal(status, 0);
}

/* The watch begins by looking at what the scan has refused. */
static void what_the_scan_has_refused_is_told_once(void **state) {
    struct place *place = *state;
    install(place, 1);
    install_as(place, "broken", "build", 1);
    install_as(place, "second", "build", 1);
    char path[160];
    (void)snprintf(path, sizeof path, "%s/broken.so", place->plugins);
    assert_int_equal(truncate(path, 100), 0);
    unsigned refused = count_of(TOOLRACK_EVENT_REFUSED);
    open_host(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_PROCESS, .watch = true});
    assert_int_equal(count_of(TOOLRACK_EVENT_REFUSED), refused + 2);
    unsigned added = count_of(TOOLRACK_EVENT_ADDED);
    install_as(place, "good", "good", 1);
    wait_for(TOOLRACK_EVENT_ADDED, added);
    assert_int_equal(count_of(TOOLRACK_EVENT_REFUSED), refused + 2);
    /* Another content, and a person who asks, are told of. */
    assert_int_equal(truncate(path, 99), 0);
    wait_for(TOOLRACK_EVENT_REFUSED, refused + 2);
    assert_int_equal(toolrack_reload(place->host, NULL, NULL, NULL), 0);
    assert_true(count_of(TOOLRACK_EVENT_REFUSED) >= refused + 4);
}

static void a_slow_file_does_not_hold_up_others(void **state) {
    struct place *place = *state;
    install(place, 1);
    open_host(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_PROCESS, .watch = true});
    assert_int_equal(call_build(place->host), 1);
    unsigned refused = count_of(TOOLRACK_EVENT_REFUSED);
    unsigned added = count_of(TOOLRACK_EVENT_ADDED);
    install(place, BUILD_OPEN_HANGS); /* ten seconds */
    (void)nanosleep(&(struct timespec){.tv_nsec = 5L * DEBOUNCE_MS * CLOCK_NS_PER_MS}, NULL);
    uint64_t began_ns = clock_now_ns();
    install_as(place, "good", "good", 1);
    wait_for(TOOLRACK_EVENT_ADDED, added + 1);
    assert_true(clock_now_ns() - began_ns < 5 * (uint64_t)CLOCK_NS_PER_S);
    assert_int_equal(count_of(TOOLRACK_EVENT_REFUSED), refused);
    assert_int_equal(call_build(place->host), 1);
    /* Closing does not wait for it either. */
    began_ns = clock_now_ns();
    close_host(place);
    assert_true(clock_now_ns() - began_ns < 5 * (uint64_t)CLOCK_NS_PER_S);
}

/* -------------------------------------------------------------------- the API */

static void reports_say_what_happened(void **state) {
    struct place *place = *state;
    install(place, 1);
    open_in_process(place);
    expect_reload(place->host, NULL, "/0/outcome", "unchanged");
    assert_int_equal(call_build(place->host), 1);
    install(place, 2);
    install_as(place, "more", "good", 1);
    struct toolrack_text *report = NULL;
    assert_int_equal(toolrack_reload(place->host, NULL, &report, NULL), 0);
    yyjson_doc *doc = yyjson_read(toolrack_text_data(report, NULL),
                                  strlen(toolrack_text_data(report, NULL)), 0);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 2);
    assert_true(yyjson_equals_str(yyjson_doc_ptr_get(doc, "/0/file"), place->file));
    assert_true(yyjson_equals_str(yyjson_doc_ptr_get(doc, "/0/plugin"), "test.build"));
    assert_true(yyjson_equals_str(yyjson_doc_ptr_get(doc, "/0/outcome"), "reloaded"));
    assert_ended(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/old")), TOOLRACK_ISOLATION_NONE);
    assert_int_equal(yyjson_get_int(yyjson_doc_ptr_get(doc, "/0/generation")), 2);
    assert_int_equal(strlen(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/sha256"))), 64);
    assert_true(yyjson_equals_str(yyjson_doc_ptr_get(doc, "/1/outcome"), "added"));
    yyjson_doc_free(doc);
    toolrack_text_unref(report);
    assert_int_equal(call_build(place->host), 2);
    assert_int_equal(unlink(place->file), 0);
    expect_reload(place->host, NULL, "/1/outcome", "removed");
    expect_reload(place->host, NULL, "/1/outcome", "");
    assert_int_equal(code_of(place->host, "build"), TOOLRACK_E_NOT_FOUND);
}

static void one_file_by_any_name(void **state) {
    struct place *place = *state;
    struct toolrack_error err;
    install(place, 1);
    open_in_process(place);
    expect_reload(place->host, "test.build", "/0/generation", "2");
    expect_reload(place->host, "hold", "/0/generation", "3");
    expect_reload(place->host, place->file, "/0/outcome", "reloaded");
    assert_int_equal(toolrack_reload(place->host, "bild", NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean the tool 'build'"));
    /* One that nobody has seen yet, and one that was never any good. */
    char path[160];
    install_as(place, "late", "good", 1);
    (void)snprintf(path, sizeof path, "%s/late.so", place->plugins);
    expect_reload(place->host, path, "/0/outcome", "added");
    (void)snprintf(path, sizeof path, "%s/bad.so", place->plugins);
    write_bytes(path, 0, "no plugin", 9);
    expect_reload(place->host, path, "/0/outcome", "refused");
    assert_int_equal(call_build(place->host), 1);
}

static void the_same_content_is_no_news(void **state) {
    struct place *place = *state;
    install(place, 1);
    open_in_process(place);
    assert_int_equal(call_build(place->host), 1);
    struct toolrack_tool *tool = toolrack_get(place->host, "build");
    uint64_t uid = toolrack_tool_uid(tool);
    toolrack_tool_unref(tool);
    set_mtime(place->file, 1000000000);
    expect_reload(place->host, NULL, "/0/outcome", "unchanged");
    install(place, 1);
    expect_reload(place->host, NULL, "/0/outcome", "unchanged");
    tool = toolrack_get(place->host, "build");
    assert_int_equal(toolrack_tool_uid(tool), uid);
    toolrack_tool_unref(tool);
}

static void settings_hold_for_the_next_generation(void **state) {
    struct place *place = *state;
    install(place, 1);
    open_in_process(place);
    assert_int_equal(toolrack_set_priority(place->host, "build", 77, NULL, NULL), 0);
    assert_int_equal(toolrack_set_enabled(place->host, "hold", false, NULL, NULL), 0);
    unsigned changed = count_of(TOOLRACK_EVENT_CHANGED);
    install_as(place, "build", "build-other", 2);
    expect_reload(place->host, NULL, "/0/outcome", "reloaded");
    assert_int_equal(count_of(TOOLRACK_EVENT_CHANGED), changed + 2); /* build, sane */
    assert_int_equal(count_of(TOOLRACK_EVENT_REMOVED), 1);           /* hold 1.0.0 */
    struct toolrack_tool *tool = toolrack_get(place->host, "build");
    assert_int_equal(toolrack_tool_priority(tool), 77);
    toolrack_tool_unref(tool);
    assert_int_equal(code_of(place->host, "hold"), TOOLRACK_E_DISABLED);
    assert_int_equal(code_of(place->host, "hold@1.0.0"), TOOLRACK_E_NOT_FOUND);
}

static void a_folder_that_became_a_file_takes_its_tools_along(void **state) {
    struct place *place = *state;
    char aside[128];
    install(place, 1);
    open_in_process(place);
    assert_int_equal(call_build(place->host), 1);
    (void)snprintf(aside, sizeof aside, "%s/aside", place->root);
    assert_int_equal(rename(place->plugins, aside), 0);
    write_bytes(place->plugins, O_TRUNC, "no folder", 9);
    expect_reload(place->host, place->file, "/0/outcome", "removed");
    assert_int_equal(code_of(place->host, "build"), TOOLRACK_E_NOT_FOUND);
}

static void an_id_that_gets_free_is_taken(void **state) {
    struct place *place = *state;
    install(place, 1);
    install_as(place, "second", "build", 2);
    open_in_process(place);
    assert_int_equal(call_build(place->host), 1);
    assert_int_equal(count_refusals(place->host, "plugin-exists"), 1);
    assert_int_equal(unlink(place->file), 0);
    expect_reload(place->host, NULL, "/1/outcome", "removed");
    assert_int_equal(count_refusals(place->host, "plugin-exists"), 0);
    assert_int_equal(call_build(place->host), 2);
    /* And the first is now the second. */
    install(place, 3);
    expect_reload(place->host, NULL, "/0/outcome", "refused");
    assert_int_equal(count_refusals(place->host, "plugin-exists"), 1);
    assert_int_equal(call_build(place->host), 2);
}

/* Nothing of it was copied yet: what is there now is what can be called. */
static void exchanged_before_its_first_call(void **state) {
    struct place *place = *state;
    install(place, 1);
    open_in_process(place);
    install(place, 2);
    assert_int_equal(call_build(place->host), 2);
    close_host(place);
    open_in_process(place);
    assert_int_equal(unlink(place->file), 0);
    assert_int_not_equal(code_of(place->host, "build"), 0);
}

static void two_hosts_on_one_folder(void **state) {
    struct place *place = *state;
    const struct setup setup = {.isolation = TOOLRACK_ISOLATION_PROCESS, .watch = true};
    install(place, 1);
    open_host(place, &setup);
    struct toolrack *other = open_another(place, &setup);
    assert_int_equal(call_build(place->host), 1);
    assert_int_equal(call_build(other), 1);
    for (unsigned number = 2; number < 12; number++) {
        exchange(place, &ways[number % ARRAY_LENGTH(ways)], number, 2);
        assert_int_equal(call_build(place->host), number);
        assert_int_equal(call_build(other), number);
    }
    toolrack_close(other);
    assert_int_equal(call_build(place->host), 11);
}

static void on_event_reload(void *user, const struct toolrack_event *event) {
    struct place *place = user;
    struct toolrack_text *report = NULL;
    if (event->kind == TOOLRACK_EVENT_CHANGED && place->host != NULL) {
        assert_int_equal(toolrack_reload(place->host, "test.build", &report, NULL), 0);
        assert_non_null(strstr(toolrack_text_data(report, NULL), "by this thread"));
        toolrack_text_unref(report);
    }
    on_event(NULL, event);
}

static void an_event_may_ask_for_a_reload(void **state) {
    struct place *place = *state;
    const char *const dirs[] = {place->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = dirs;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.event = on_event_reload;
    options.user = place;
    install(place, 1);
    assert_int_equal(toolrack_open(&options, &place->host, NULL), 0);
    install(place, 2);
    expect_reload(place->host, NULL, "/0/outcome", "reloaded");
    assert_int_equal(count_of(TOOLRACK_EVENT_CHANGED), 3);
}

/* ------------------------------------------------------------------- rollback */

static void going_back_is_remembered(void **state) {
    struct place *place = *state;
    struct toolrack_error err;
    install(place, 1);
    open_in_process(place);
    assert_int_equal(toolrack_rollback(place->host, "build", NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(call_build(place->host), 1);
    install(place, 2);
    expect_reload(place->host, NULL, "/0/outcome", "reloaded");
    assert_int_equal(call_build(place->host), 2);
    assert_int_equal(toolrack_rollback(place->host, "build", NULL, &err), 0);
    life_check(place->host->life);
    assert_int_equal(call_build(place->host), 1);
    CLEANUP(freep) char *rolled_back = why(place->host, "/rolled_back");
    assert_string_equal(rolled_back, "true");
    /* The file is as it was: neither looking again nor opening again brings it back. */
    expect_reload(place->host, NULL, "/0/outcome", "unchanged");
    close_host(place);
    open_in_process(place);
    assert_int_equal(call_build(place->host), 1);
    assert_int_equal(toolrack_rollback(place->host, "build", NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(call_build(place->host), 1);
    /* A new content ends it, and then the bad one is as good as any. */
    install(place, 3);
    expect_reload(place->host, NULL, "/0/outcome", "reloaded");
    assert_int_equal(call_build(place->host), 3);
    install(place, 2);
    expect_reload(place->host, NULL, "/0/outcome", "reloaded");
    assert_int_equal(call_build(place->host), 2);
    close_host(place);
    open_in_process(place);
    assert_int_equal(call_build(place->host), 2);
}

static void going_back_from_what_came_while_closed(void **state) {
    struct place *place = *state;
    struct toolrack_error err;
    install(place, 1);
    open_host(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_PROCESS});
    assert_int_equal(call_build(place->host), 1);
    close_host(place);
    install(place, 2);
    open_host(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_PROCESS});
    if (toolrack_rollback(place->host, "test.build", NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(call_build(place->host), 1);
}

static void going_back_without_a_state_folder(void **state) {
    struct place *place = *state;
    install(place, 1);
    open_host(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_NONE, .stateless = true});
    assert_int_equal(call_build(place->host), 1);
    install(place, 2);
    expect_reload(place->host, NULL, "/0/outcome", "reloaded");
    assert_int_equal(toolrack_rollback(place->host, place->file, NULL, NULL), 0);
    assert_int_equal(call_build(place->host), 1);
}

/* ----------------------------------------------------------------- unloading */

static void put_fixture(const struct place *place, const char *name) {
    char source[256];
    char path[160];
    (void)snprintf(source, sizeof source, TEST_PLUGINS "/%s.so", name);
    (void)snprintf(path, sizeof path, "%s/fixture.so", place->plugins);
    struct bytes bytes = read_bytes(source);
    write_bytes(path, O_TRUNC, bytes.data, bytes.size);
    bytes_finish(&bytes);
}

static void call_add(struct toolrack *host) {
    struct toolrack_error err;
    struct toolrack_result *result = NULL;
    if (toolrack_call(host, "add", "{\"a\":1,\"b\":2}", NULL, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    toolrack_result_free(result);
}

static void expect_in(int (*describe)(struct toolrack *host, const char *name,
                                      struct toolrack_text **ret, struct toolrack_error *err),
                      struct toolrack *host, const char *name, const char *words) {
    struct toolrack_text *text = NULL;
    assert_int_equal(describe(host, name, &text, NULL), 0);
    if (strstr(toolrack_text_data(text, NULL), words) == NULL) {
        fail_msg("%s is not in %s", words, toolrack_text_data(text, NULL));
    }
    toolrack_text_unref(text);
}

/* The image of each in-process generation stays: after three the next one goes to a worker. */
static void resident_images_have_an_end(void **state) {
    struct place *place = *state;
    put_fixture(place, "good-nodelete");
    open_in_process(place);
    call_add(place->host);
    for (unsigned i = 0; i < RESIDENT_GENERATIONS_MAX; i++) {
        expect_in(toolrack_describe_isolation, place->host, "add", "\"isolation\":\"none\"");
        expect_reload(place->host, "add", "/0/old", "resident");
        call_add(place->host);
    }
    expect_in(toolrack_describe_isolation, place->host, "add", "\"isolation\":\"none\"");
    expect_reload(place->host, "add", "/0/old", "resident");
    expect_in(toolrack_describe_isolation, place->host, "add", "\"isolation\":\"process\"");
    call_add(place->host);
    expect_in(toolrack_why, place->host, "add", KEPT ? "kept for the sanitizer" : "NODELETE");
    /* A report may come before the event that says the same. */
    unsigned before = RESIDENT_GENERATIONS_MAX + 1;
    wait_for(TOOLRACK_EVENT_UNLOADED, before - 1);
    expect_reload(place->host, "add", "/0/outcome", "reloaded");
    wait_for(TOOLRACK_EVENT_UNLOADED, before);
    assert_ended(last_of(TOOLRACK_EVENT_UNLOADED), TOOLRACK_ISOLATION_PROCESS);
}

/* The first image that has a unique symbol keeps it for all that come later. */
static void a_unique_symbol_keeps_its_image(void **state) {
    struct place *place = *state;
    if (access(TEST_PLUGINS "/cxx/unique.so", R_OK) != 0) {
        print_message("# skipped: no compiler here makes unique symbols\n");
        skip();
    }
    put_fixture(place, "cxx/unique");
    open_in_process(place);
    assert_int_equal(code_of(place->host, "count"), 0);
    expect_reload(place->host, "count", "/0/old", "resident");
    expect_in(toolrack_why, place->host, "count",
              KEPT ? "kept for the sanitizer" : "GNU_UNIQUE symbol");
    assert_int_equal(code_of(place->host, "count"), 0);
}

static void images_do_not_pile_up(void **state) {
    struct place *place = *state;
    install(place, 1);
    open_host(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_PROCESS});
    for (unsigned number = 2; number < 12; number++) {
        install(place, number);
        unsigned before = count_of(TOOLRACK_EVENT_UNLOADED);
        expect_reload(place->host, NULL, "/0/outcome", "reloaded");
        if (number > 2) { /* the first was never loaded */
            wait_for(TOOLRACK_EVENT_UNLOADED, before);
        }
    }
    close_host(place);
    char path[160];
    (void)snprintf(path, sizeof path, "%s/images", place->state);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    unsigned count = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        count += strstr(entry->d_name, ".so") != NULL;
    }
    (void)closedir(dir);
    assert_in_range(count, 1, 5);
}

/* ------------------------------------------------------------------ left out */

static void die_while_loading(const struct place *place) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct toolrack *host =
                open_another(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_NONE});
        _exit(code_of(host, "build") == 0 ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(patience_child(pid, &status), pid);
    assert_true(WIFSIGNALED(status));
}

static void expect_left_out(struct place *place) {
    struct toolrack_error err;
    long number;
    assert_int_equal(call_for(place->host, "build", NULL, &number, &err),
                     TOOLRACK_E_EXECUTION_FAILED);
    assert_non_null(strstr(plain_commands(err.message), ": toolrack release test.build; "));
    struct toolrack_tool *tool = toolrack_get(place->host, "build");
    assert_int_equal(toolrack_tool_state(tool), TOOLRACK_STATE_LEFT_OUT);
    toolrack_tool_unref(tool);
}

static void what_killed_its_host_is_left_out(void **state) {
    struct place *place = *state;
    install(place, BUILD_OPEN_DIES);
    install_as(place, "good", "good", 1);
    die_while_loading(place);
    open_in_process(place);
    expect_left_out(place);
    call_add(place->host);
    close_host(place);
    open_in_process(place);
    expect_left_out(place); /* until somebody says otherwise */
    /* Another file in its place is another matter. */
    install(place, 3);
    expect_reload(place->host, NULL, "/0/outcome", "reloaded");
    assert_int_equal(call_build(place->host), 3);
    close_host(place);
    open_in_process(place);
    assert_int_equal(call_build(place->host), 3);
}

static void what_was_left_out_is_released(void **state) {
    struct place *place = *state;
    install(place, BUILD_OPEN_DIES);
    die_while_loading(place);
    /* A worker that dies takes nobody with it. */
    open_host(place, &(struct setup){.isolation = TOOLRACK_ISOLATION_PROCESS});
    struct toolrack_tool *tool = toolrack_get(place->host, "build");
    assert_int_equal(toolrack_tool_state(tool), TOOLRACK_STATE_LISTED);
    toolrack_tool_unref(tool);
    close_host(place);
    open_in_process(place);
    expect_left_out(place);
    assert_int_equal(toolrack_release(place->host, "build", NULL, NULL), 0);
    tool = toolrack_get(place->host, "build");
    assert_int_equal(toolrack_tool_state(tool), TOOLRACK_STATE_LISTED);
    toolrack_tool_unref(tool);
    assert_int_equal(toolrack_release(place->host, "build", NULL, NULL), TOOLRACK_E_NOT_FOUND);
    close_host(place);
    open_in_process(place);
    tool = toolrack_get(place->host, "build");
    assert_int_equal(toolrack_tool_state(tool), TOOLRACK_STATE_LISTED);
    toolrack_tool_unref(tool);
}

static void safe_mode_has_builtin_plugins_only(void **state) {
    struct place *place = *state;
    const char *const dirs[] = {place->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    install(place, 1);
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = dirs;
    options.safe_mode = true;
    assert_int_equal(toolrack_open(&options, &place->host, NULL), 0);
    assert_null(toolrack_get(place->host, "build"));
}

/* A bundled plugin that is removed while a host runs is as absent as one that was never there. */
static void a_bundled_plugin_that_goes_is_absent(void **state) {
    struct place *place = *state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    char mark[128];
    (void)snprintf(mark, sizeof mark, "%s/build.so.absent", place->plugins);
    write_bytes(mark, O_TRUNC, "install it", 10);
    install(place, 1);
    options.config_file = "";
    options.state_dir = "";
    (void)setenv("TOOLRACK_BUILTIN_DIR", place->plugins, 1);
    int code = toolrack_open(&options, &place->host, NULL);
    (void)unsetenv("TOOLRACK_BUILTIN_DIR");
    assert_int_equal(code, 0);
    assert_int_equal(count_refusals(place->host, "plugin-absent"), 0);
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(unlink(place->file), 0);
        expect_reload(place->host, NULL, "/0/outcome", "removed");
        assert_int_equal(count_refusals(place->host, "plugin-absent"), 1);
        install(place, 2);
        expect_reload(place->host, NULL, "/0/outcome", "added");
        assert_int_equal(count_refusals(place->host, "plugin-absent"), 0);
    }
    assert_int_equal(unlink(mark), 0);
    assert_int_equal(unlink(place->file), 0);
    expect_reload(place->host, NULL, "/0/outcome", "removed");
    assert_int_equal(count_refusals(place->host, "plugin-absent"), 0);
}

/* ------------------------------------------------------------------ under load */

struct load {
    struct place *place;
    atomic_uint installed; /* the newest that has been put there, or is about to be */
    atomic_uint serving;   /* the newest that is known to serve */
    atomic_bool stop;
    atomic_ulong calls;
    atomic_ulong missing;
    atomic_ulong failed;
    atomic_ulong stale;
    pthread_mutex_t lock;
    char first[ERROR_MESSAGE_MAX];
};

static void note_failure(struct load *load, const char *text) {
    (void)pthread_mutex_lock(&load->lock);
    if (load->first[0] == '\0') {
        (void)snprintf(load->first, sizeof load->first, "%s", text);
    }
    (void)pthread_mutex_unlock(&load->lock);
}

static void *caller_main(void *argument) {
    struct load *load = argument;
    struct toolrack_error err;
    while (!atomic_load(&load->stop)) {
        unsigned least = atomic_load(&load->serving);
        long number = -1;
        int code = call_for(load->place->host, "build", NULL, &number, &err);
        if (code == TOOLRACK_E_NOT_FOUND) {
            atomic_fetch_add(&load->missing, 1);
        } else if (code < 0) {
            atomic_fetch_add(&load->failed, 1);
            note_failure(load, err.message);
        } else if (number < (long)least || number > (long)atomic_load(&load->installed)) {
            atomic_fetch_add(&load->stale, 1);
        }
        atomic_fetch_add(&load->calls, 1);
    }
    return NULL;
}

static size_t count_entries(const char *path) {
    DIR *dir = opendir(path);
    size_t count = 0;
    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    (void)closedir(dir);
    return count;
}

static size_t memory_in_use(void) {
    unsigned long pages = 0;
    unsigned long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &pages, &resident), 2);
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* The workers of the last generations end in their own time. */
static size_t fds_when_drained(size_t most) {
    uint64_t until_ns = clock_now_ns() + EVENT_S_MAX * (uint64_t)CLOCK_NS_PER_S;
    size_t count = count_entries("/proc/self/fd");
    while (count > most && clock_now_ns() < until_ns) {
        (void)nanosleep(&(struct timespec){.tv_nsec = CLOCK_NS_PER_MS}, NULL);
        count = count_entries("/proc/self/fd");
    }
    return count;
}

/* Half a file, for long enough to be looked at: it is refused, and nobody who calls notices. */
static void break_for_a_moment(struct place *place) {
    unsigned before = count_of(TOOLRACK_EVENT_REFUSED);
    cut_off(place, 2000);
    wait_for(TOOLRACK_EVENT_REFUSED, before);
}

static void exchange_one(struct load *load, unsigned number) {
    const struct way *way = &ways[number % ARRAY_LENGTH(ways)];
    if (number % 50 == 0) {
        break_for_a_moment(load->place);
    }
    atomic_store(&load->installed, number);
    exchange(load->place, way, number, 1);
    atomic_store(&load->serving, number);
}

static void exchange_under_load(struct place *place, enum toolrack_isolation isolation) {
    struct load load = {.place = place, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t callers[CALLERS];
    unsigned number = 1;
    install(place, number);
    atomic_store(&load.installed, number);
    open_host(place, &(struct setup){.isolation = isolation, .watch = true, .stateless = true});
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_create(&callers[i], NULL, caller_main, &load), 0);
    }
    size_t memory = 0;
    size_t fds = 0;
    uint64_t until_ns = clock_now_ns() + EXCHANGES_S_MAX * (uint64_t)CLOCK_NS_PER_S;
    unsigned most = EXCHANGES;
    while (number <= most && clock_now_ns() < until_ns) {
        exchange_one(&load, ++number);
        if (number == most / 10) {
            memory = memory_in_use();
            fds = count_entries("/proc/self/fd");
        }
    }
    atomic_store(&load.stop, true);
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(callers[i], NULL), 0);
    }
    size_t memory_end = memory_in_use();
    size_t fds_end = fds_when_drained(fds + LEFT_FDS_MAX);
    print_message("# %u exchanges, %lu calls, %lu failed (%s), %lu of another generation; memory "
                  "%zu KiB -> %zu KiB, descriptors %zu -> %zu\n",
                  number - 1, atomic_load(&load.calls), atomic_load(&load.failed), load.first,
                  atomic_load(&load.stale), memory >> 10, memory_end >> 10, fds, fds_end);
    assert_int_equal(number, most + 1);
    assert_true(atomic_load(&load.missing) == 0 || atomic_load(&gaps) > 0);
    assert_int_equal(atomic_load(&load.failed), 0);
    assert_int_equal(atomic_load(&load.stale), 0);
    assert_true(fds_end <= fds + LEFT_FDS_MAX);
    if (!SLOW) {
        assert_true(memory_end <= memory + LEFT_MEMORY_MAX);
    }
}

static void under_load_in_workers(void **state) {
    exchange_under_load(*state, TOOLRACK_ISOLATION_PROCESS);
}

static void under_load_in_process(void **state) {
    exchange_under_load(*state, TOOLRACK_ISOLATION_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

/* With an argument: only the tests whose names fit it, "*" being anything. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
            TEST(every_way_in_workers),
            TEST(every_way_in_process),
            TEST(deleting_in_workers),
            TEST(deleting_in_process),
            TEST(broken_in_workers),
            TEST(broken_in_process),
            TEST(trials_in_workers),
            TEST(trials_in_process),
            TEST(an_example_that_hangs_in_process),
            TEST(what_the_scan_has_refused_is_told_once),
            TEST(a_slow_file_does_not_hold_up_others),
            TEST(reports_say_what_happened),
            TEST(one_file_by_any_name),
            TEST(the_same_content_is_no_news),
            TEST(settings_hold_for_the_next_generation),
            TEST(a_folder_that_became_a_file_takes_its_tools_along),
            TEST(an_id_that_gets_free_is_taken),
            TEST(exchanged_before_its_first_call),
            TEST(two_hosts_on_one_folder),
            TEST(an_event_may_ask_for_a_reload),
            TEST(going_back_is_remembered),
            TEST(going_back_from_what_came_while_closed),
            TEST(going_back_without_a_state_folder),
            TEST(resident_images_have_an_end),
            TEST(a_unique_symbol_keeps_its_image),
            TEST(images_do_not_pile_up),
            TEST(what_killed_its_host_is_left_out),
            TEST(what_was_left_out_is_released),
            TEST(safe_mode_has_builtin_plugins_only),
            TEST(a_bundled_plugin_that_goes_is_absent),
            TEST(under_load_in_workers),
            TEST(under_load_in_process),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
