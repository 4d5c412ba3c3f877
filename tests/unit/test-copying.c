/* The copy of a plugin's file, at its first call: made once, and by no call. The file is as slow as
 * a test wants it. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "builds.h"
#include "files/stage.h"
#include "mcp-client.h"
#include "patience.h"

/* Of the plugin file: many pieces, and a size that messages tell in MiB. */
#define FILE_SIZE  (3u << 20)
#define PIECE_SIZE (64u * 1024)

/* A deadline that is to pass, in a test that does not depend on how soon. */
#define SOON_MS 50

/* ------------------------------------------------------- how the file is read */

static pthread_mutex_t source_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t source_changed = PTHREAD_COND_INITIALIZER;
/* Guarded by source_lock. */
static struct {
    char path[128];
    bool is_held;      /* readers wait */
    int fails;         /* errno of the readers; 0: none */
    uint64_t takes_ns; /* the next piece takes so long by the clock */
    unsigned pieces;   /* read */
    unsigned passes;   /* begun */
} source;
static atomic_uint_fast64_t late_ns; /* what is added to the clock */

/* The linker leads the calls of the host here (see meson.build). */
ssize_t __real_pread64(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
    int code = __real_clock_gettime(clock, ret);
    uint64_t more_ns = clock == CLOCK_MONOTONIC ? atomic_load(&late_ns) : 0;
    ret->tv_sec += (time_t)(more_ns / CLOCK_NS_PER_S);
    return code;
}

static bool is_watch_stopped; /* guarded by source_lock */

int __real_eventfd_write(int fd, eventfd_t value);
int __wrap_eventfd_write(int fd, eventfd_t value);

/* A host that closes wakes its watch, when it has said that nothing is copied any more. */
int __wrap_eventfd_write(int fd, eventfd_t value) {
    (void)pthread_mutex_lock(&source_lock);
    is_watch_stopped = true;
    (void)pthread_cond_broadcast(&source_changed);
    (void)pthread_mutex_unlock(&source_lock);
    return __real_eventfd_write(fd, value);
}

/* Whether it is read to be copied: in whole pieces, by the name that the file had. */
static bool is_source(int fd, size_t size) {
    char link[32];
    char path[PATH_MAX] = "";
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return size == PIECE_SIZE && readlink(link, path, sizeof path - 1) > 0 &&
           source.path[0] != '\0' && strncmp(path, source.path, strlen(source.path)) == 0;
}

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at) {
    (void)pthread_mutex_lock(&source_lock);
    int fails = 0;
    if (is_source(fd, size)) {
        source.passes += at == 0;
        source.pieces++;
        (void)pthread_cond_broadcast(&source_changed);
        while (source.is_held) {
            (void)pthread_cond_wait(&source_changed, &source_lock);
        }
        fails = source.fails;
        (void)atomic_fetch_add(&late_ns, source.takes_ns);
        source.takes_ns = 0;
    }
    (void)pthread_mutex_unlock(&source_lock);
    if (fails != 0) {
        errno = fails;
        return -1;
    }
    return __real_pread64(fd, to, size, at);
}

static void hold(bool is_held) {
    (void)pthread_mutex_lock(&source_lock);
    source.is_held = is_held;
    (void)pthread_cond_broadcast(&source_changed);
    (void)pthread_mutex_unlock(&source_lock);
}

static void let_fail(int error) {
    (void)pthread_mutex_lock(&source_lock);
    source.fails = error;
    (void)pthread_mutex_unlock(&source_lock);
}

/* Wait until somebody reads the file. */
static void await_reader(void) {
    (void)pthread_mutex_lock(&source_lock);
    AWAIT_SIGNALLED(source.pieces > 0, &source_changed, &source_lock);
    (void)pthread_mutex_unlock(&source_lock);
}

static unsigned count_passes(void) {
    (void)pthread_mutex_lock(&source_lock);
    unsigned passes = source.passes;
    (void)pthread_mutex_unlock(&source_lock);
    return passes;
}

static unsigned count_pieces(void) {
    (void)pthread_mutex_lock(&source_lock);
    unsigned pieces = source.pieces;
    (void)pthread_mutex_unlock(&source_lock);
    return pieces;
}

/* ------------------------------------------------------------------ the file */

/* Put a build there whose file has FILE_SIZE bytes, and wait until it is not young any more: a
 * young file is read twice (stage.h). */
static void put(const struct builds *builds, unsigned number) {
    static char rest[PIECE_SIZE];
    memset(rest, 'x', sizeof rest);
    builds_put_as(builds, "new", "build", number);
    char path[160];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/new.so", builds->plugins);
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    for (size_t left = FILE_SIZE - (size_t)st.st_size; left > 0;) {
        size_t part = left < sizeof rest ? left : sizeof rest;
        assert_int_equal(write(fd, rest, part), part);
        left -= part;
    }
    assert_int_equal(rename(path, builds->file), 0);
    assert_int_equal(stat(builds->file, &st), 0);
    int64_t changed_ns = (int64_t)st.st_ctim.tv_sec * CLOCK_NS_PER_S + st.st_ctim.tv_nsec;
    AWAIT(clock_wall_ns() - changed_ns > 2 * STAGE_YOUNG_NS);
}

static int setup(void **state) {
    int code = builds_setup(state);
    memset(&source, 0, sizeof source);
    atomic_store(&late_ns, 0);
    return code;
}

/* A host on a folder with that file; nobody may read the file from here on. */
static void open_held(struct builds *builds, enum toolrack_isolation isolation) {
    put(builds, 1);
    builds->host = builds_another(builds, isolation);
    (void)pthread_mutex_lock(&source_lock);
    (void)snprintf(source.path, sizeof source.path, "%s", builds->file);
    source.is_held = true;
    (void)pthread_mutex_unlock(&source_lock);
}

/* What is in the folder of the copies, beside its lock. */
static unsigned count_copies(const struct builds *builds) {
    char path[160];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "%s/images", builds->state);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *one; (one = readdir(dir)) != NULL;) {
        count += strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0 &&
                 strcmp(one->d_name, "lock") != 0;
    }
    (void)closedir(dir);
    return count;
}

/* --------------------------------------------------------------- submitted calls */

struct outcome {
    int code;    /* 1: none yet; guarded by source_lock, the others are set before */
    long number; /* that the tool answered */
    struct toolrack_error error;
    struct toolrack_call *call;
};

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    struct outcome *outcome = user;
    if (err != NULL) {
        outcome->error = *err;
    } else {
        outcome->number = strtol(toolrack_result_json(result, NULL), NULL, 10);
    }
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&source_lock);
    outcome->code = err != NULL ? err->code : 0;
    (void)pthread_cond_broadcast(&source_changed);
    (void)pthread_mutex_unlock(&source_lock);
}

static void submit_of(struct toolrack *host, const char *tool, uint32_t deadline_ms,
                      struct outcome *outcome) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err = {0};
    memset(outcome, 0, sizeof *outcome);
    outcome->code = 1;
    options.deadline_ms = deadline_ms;
    if (toolrack_submit(host, tool, NULL, &options, take_outcome, outcome, &outcome->call, &err) <
        0) {
        fail_msg("%s", err.message);
    }
}

static void submit(struct toolrack *host, uint32_t deadline_ms, struct outcome *outcome) {
    submit_of(host, "build", deadline_ms, outcome);
}

static void expect_outcome(struct outcome *outcome, int code, const char *part) {
    (void)pthread_mutex_lock(&source_lock);
    while (outcome->code == 1) { /* by no clock: some tests set it */
        (void)pthread_cond_wait(&source_changed, &source_lock);
    }
    (void)pthread_mutex_unlock(&source_lock);
    toolrack_call_unref(outcome->call);
    if (outcome->code != code || (code < 0 && strstr(outcome->error.message, part) == NULL)) {
        fail_msg("%d: %s", outcome->code, outcome->error.message);
    }
}

/* ------------------------------------------------------------------------- cases */

static void expect_late(int code, const struct toolrack_error *err) {
    if (code != TOOLRACK_E_TIMEOUT ||
        strcmp(err->message,
               "Tool 'build' did not finish within its deadline of 50 ms; the copy of "
               "build.so (3 MiB) is not finished and goes on") != 0 ||
        strcmp(err->tool, "build") != 0) {
        fail_msg("%d: %s", code, err->message);
    }
}

static void expect_calls_in_time(struct builds *builds, enum toolrack_isolation isolation) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    struct outcome outcome;
    open_held(builds, isolation);
    options.deadline_ms = SOON_MS;
    expect_late(toolrack_call(builds->host, "build", NULL, &options, &result, &err), &err);
    struct toolrack_tool *tool = toolrack_get(builds->host, "build");
    expect_late(toolrack_tool_call(builds->host, tool, NULL, 0, &options, &result, &err), &err);
    submit(builds->host, SOON_MS, &outcome);
    expect_outcome(&outcome, TOOLRACK_E_TIMEOUT, "the copy of build.so (3 MiB) is not finished");
    assert_int_equal(toolrack_tool_state(tool), TOOLRACK_STATE_LISTED); /* and not stuck */
    toolrack_tool_unref(tool);
    hold(false);
    builds_expect(builds->host, "build", 1);
    assert_int_equal(count_passes(), 1);
    assert_int_equal(count_copies(builds), 1);
}

static void a_call_ends_in_time_while_its_file_is_copied(void **state) {
    expect_calls_in_time(*state, TOOLRACK_ISOLATION_PROCESS);
}

static void a_call_in_process_does_too(void **state) {
    expect_calls_in_time(*state, TOOLRACK_ISOLATION_NONE);
}

/* The copy takes longer than the deadline: nothing is left for the tool. */
static void a_call_has_one_deadline(void **state) {
    struct builds *builds = *state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    open_held(builds, TOOLRACK_ISOLATION_PROCESS);
    options.deadline_ms = 20000;
    (void)pthread_mutex_lock(&source_lock);
    source.takes_ns = 30 * (uint64_t)CLOCK_NS_PER_S;
    (void)pthread_mutex_unlock(&source_lock);
    hold(false);
    assert_int_equal(toolrack_call(builds->host, "build", NULL, &options, &result, &err),
                     TOOLRACK_E_TIMEOUT);
    assert_non_null(strstr(err.message, "20000 ms"));
}

/* More calls than may hold a thread of the pool: those in the queue are told of the copy too. */
static void calls_copy_once(void **state) {
    enum { CALLS = 80 };
    struct builds *builds = *state;
    static struct outcome outcomes[CALLS];
    struct outcome late;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    open_held(builds, TOOLRACK_ISOLATION_PROCESS);
    for (size_t i = 0; i < CALLS; i++) {
        submit(builds->host, 0, &outcomes[i]);
    }
    await_reader();
    submit(builds->host, SOON_MS, &late);
    expect_outcome(&late, TOOLRACK_E_TIMEOUT, "the copy of build.so (3 MiB) is not finished");
    options.deadline_ms = SOON_MS;
    expect_late(toolrack_call(builds->host, "build", NULL, &options, &result, &err), &err);
    hold(false);
    for (size_t i = 0; i < CALLS; i++) {
        expect_outcome(&outcomes[i], 0, "");
        assert_int_equal(outcomes[i].number, 1);
    }
    assert_int_equal(count_passes(), 1);
}

static void a_call_is_cancelled_while_its_file_is_copied(void **state) {
    struct builds *builds = *state;
    struct outcome outcome;
    open_held(builds, TOOLRACK_ISOLATION_PROCESS);
    submit(builds->host, TOOLRACK_NO_DEADLINE, &outcome);
    await_reader();
    toolrack_cancel(outcome.call);
    expect_outcome(&outcome, TOOLRACK_E_CANCELLED, "cancelled");
    hold(false);
    builds_expect(builds->host, "build", 1);
    assert_int_equal(count_passes(), 1);
}

static void *close_host(void *user) {
    builds_close(user);
    return NULL;
}

static void closing_ends_the_copy(void **state) {
    struct builds *builds = *state;
    struct outcome outcome;
    pthread_t closer;
    open_held(builds, TOOLRACK_ISOLATION_PROCESS);
    submit(builds->host, TOOLRACK_NO_DEADLINE, &outcome);
    await_reader();
    assert_int_equal(pthread_create(&closer, NULL, close_host, builds), 0);
    expect_outcome(&outcome, TOOLRACK_E_CANCELLED, "");
    hold(false); /* the read returns; closing waits for that */
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_int_equal(count_pieces(), 1);
    assert_int_equal(count_copies(builds), 0);
}

static void count_refusal(void *user, const struct toolrack_event *event) {
    atomic_uint *refusals = user;
    if (event->kind == TOOLRACK_EVENT_REFUSED) {
        (void)atomic_fetch_add(refusals, 1);
    }
}

/* The watch copies a file that was put there, and the host is closed meanwhile: that says nothing
 * of the file. */
static void closing_refuses_no_file(void **state) {
    struct builds *builds = *state;
    const char *const dirs[] = {builds->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    atomic_uint refusals = 0;
    pthread_t closer;
    builds_put(builds, "build", 1);
    options.config_file = "";
    options.state_dir = builds->state;
    options.plugin_dirs = dirs;
    options.watch = true;
    options.watch_debounce_ms = 5;
    assert_int_equal(toolrack_open(&options, &builds->host, &err), 0);
    assert_int_equal(toolrack_add_listener(builds->host, count_refusal, &refusals, &err), 0);
    builds_expect(builds->host, "build", 1);
    (void)pthread_mutex_lock(&source_lock);
    (void)snprintf(source.path, sizeof source.path, "%s", builds->file);
    source.is_held = true;
    is_watch_stopped = false;
    (void)pthread_mutex_unlock(&source_lock);
    builds_put(builds, "build", 2);
    await_reader();
    assert_int_equal(pthread_create(&closer, NULL, close_host, builds), 0);
    (void)pthread_mutex_lock(&source_lock);
    AWAIT_SIGNALLED(is_watch_stopped, &source_changed, &source_lock);
    (void)pthread_mutex_unlock(&source_lock);
    hold(false);
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_int_equal(atomic_load(&refusals), 0);
    builds->host = builds_another(builds, TOOLRACK_ISOLATION_PROCESS);
    builds_expect(builds->host, "build", 2);
    yyjson_doc *doc = builds_why(builds->host, "build");
    char *history = yyjson_val_write(yyjson_ptr_get(yyjson_doc_get_root(doc), "/history"), 0, NULL);
    assert_non_null(history);
    if (strstr(history, "refused") != NULL) {
        fail_msg("%s", history);
    }
    free(history);
    yyjson_doc_free(doc);
}

static struct toolrack_tool *find_build(void *user) {
    return toolrack_get(user, "build");
}

static struct toolrack_tool *find_none(void *user) {
    (void)user;
    return NULL;
}

/* The copy of a file that is replaced meanwhile is of no use. Who calls by the name gets the tool
 * of the new file; who has the tool that was read is told. */
static void a_file_is_exchanged_while_it_is_copied(void **state) {
    struct builds *builds = *state;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    struct outcome outcome;
    open_held(builds, TOOLRACK_ISOLATION_PROCESS);
    struct toolrack_tool *tool = toolrack_get(builds->host, "build");
    submit(builds->host, 0, &outcome);
    await_reader();
    put(builds, 2);
    (void)pthread_mutex_lock(&source_lock);
    assert_int_equal(source.pieces, 1);
    source.path[0] = '\0'; /* the new file is read as fast as others */
    (void)pthread_mutex_unlock(&source_lock);
    hold(false);
    expect_outcome(&outcome, 0, "");
    assert_int_equal(outcome.number, 2);
    builds_expect(builds->host, "build", 2);
    assert_int_equal(toolrack_tool_call(builds->host, tool, NULL, 0, NULL, &result, &err),
                     TOOLRACK_E_EXECUTION_FAILED);
    assert_non_null(strstr(err.message, "has changed since it was read; reload it"));
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.user = builds->host;
    options.renewed = find_build;
    assert_int_equal(toolrack_tool_call(builds->host, tool, NULL, 0, &options, &result, &err), 0);
    assert_string_equal(toolrack_result_json(result, NULL), "2");
    toolrack_result_free(result);
    options.renewed = find_none;
    assert_int_equal(toolrack_tool_call(builds->host, tool, NULL, 0, &options, &result, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "'build' cannot be called any more: the file"));
    toolrack_tool_unref(tool);
}

/* A client of a server says which tool it means by the name; the server has the tool itself. */
static void a_server_calls_the_tool_of_the_new_file(void **state) {
    struct builds *builds = *state;
    const struct principal principal = {.permissions = UINT32_MAX};
    struct toolrack_error err;
    struct mcp *mcp = NULL;
    struct mcp_pipe *pipe = NULL;
    struct talk way;
    struct talk talk;
    builds_put(builds, "build", 1);
    builds_open(builds);
    assert_int_equal(mcp_create(&(struct mcp_options){.host = builds->host}, &mcp, &err), 0);
    talk_init(&way);
    assert_int_equal(mcp_pipe_open(mcp, &principal, &way.exchange, &pipe, &err), 0);
    builds_put(builds, "build", 2);
    talk_pipe(&talk, pipe,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
              "\"name\":\"build\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
              "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    assert_matches(talk_wait(&talk), "*\"text\":\"2\"*");
    talk_finish(&talk);
    mcp_pipe_close(pipe, true);
    (void)talk_wait(&way);
    talk_finish(&way);
    mcp_destroy(mcp);
}

/* Each call that waits is told why there is no copy; the next call tries again. */
static void a_copy_that_fails_is_tried_again(void **state) {
    struct builds *builds = *state;
    struct outcome outcomes[2];
    open_held(builds, TOOLRACK_ISOLATION_PROCESS);
    submit(builds->host, 0, &outcomes[0]);
    await_reader();
    submit(builds->host, 0, &outcomes[1]);
    let_fail(EIO);
    hold(false);
    for (size_t i = 0; i < 2; i++) {
        expect_outcome(&outcomes[i], TOOLRACK_E_EXECUTION_FAILED, "Input/output error");
    }
    assert_int_equal(count_copies(builds), 0);
    let_fail(0);
    builds_expect(builds->host, "build", 1);
    assert_int_equal(count_copies(builds), 1);
}

static atomic_uint asked;

/* A person who takes half a minute. */
static int allow_late(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    (void)request;
    (void)atomic_fetch_add(&late_ns, 30 * (uint64_t)CLOCK_NS_PER_S);
    (void)atomic_fetch_add(&asked, 1);
    return TOOLRACK_APPROVAL_ALLOW_ONCE;
}

/* Of a tool of the file that is there in the end; and only that question takes no time. */
static void a_question_is_asked_after_the_copy(void **state) {
    struct builds *builds = *state;
    const char *const dirs[] = {builds->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    struct outcome outcome;
    builds_put_as(builds, "good", "good", 1);
    options.config_file = "";
    options.state_dir = builds->state;
    options.plugin_dirs = dirs;
    options.approve = allow_late;
    assert_int_equal(toolrack_open(&options, &builds->host, &err), 0);
    (void)pthread_mutex_lock(&source_lock);
    (void)snprintf(source.path, sizeof source.path, "%s/good.so", builds->plugins);
    source.is_held = true;
    (void)pthread_mutex_unlock(&source_lock);
    atomic_store(&asked, 0);
    submit_of(builds->host, "echo", 20000, &outcome);
    await_reader();
    assert_int_equal(atomic_load(&asked), 0);
    hold(false);
    expect_outcome(&outcome, 0, "");
    assert_int_equal(atomic_load(&asked), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, builds_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            CASE(a_call_ends_in_time_while_its_file_is_copied),
            CASE(a_call_in_process_does_too),
            CASE(a_call_has_one_deadline),
            CASE(calls_copy_once),
            CASE(a_call_is_cancelled_while_its_file_is_copied),
            CASE(closing_ends_the_copy),
            CASE(closing_refuses_no_file),
            CASE(a_file_is_exchanged_while_it_is_copied),
            CASE(a_server_calls_the_tool_of_the_new_file),
            CASE(a_copy_that_fails_is_tried_again),
            CASE(a_question_is_asked_after_the_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
