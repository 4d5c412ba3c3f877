/* Crews of a stand-in for the worker program, which dies and hangs as it is told. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/sanitizer.h"
#include "failing-malloc.h"
#include "patience.h"
#include "run/run.h"
#include "toolrack/plugin.h"
#include "worker/channel.h"
#include "worker/child.h"
#include "worker/crew-parts.h"
#include "worker/crew.h"
#include "worker/due.h"
#include "worker/protocol-fd.h"
#include "worker/protocol.h"
#include "worker/worker.h"

/* Long enough for a machine that does much else. */
#define DEADLINE_MS 20000u

/* ------------------------------------------------------------------ what it runs */

static tr_status work(struct tr_call *call) {
    return tr_reply_text(call, "never run here");
}
TR_JSON_TOOL(work, "Does as it is told", TR_SCHEMA({"type" : "object"}))
static const struct tr_tool *const tools[] = {&tr_tool_work};

static struct descriptor *describe(bool is_shared) {
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .abi_minor = TR_ABI_MINOR,
                                     .id = "stand-in",
                                     .version = "1.0.0",
                                     .flags = is_shared ? TR_THREAD_SAFE : 0,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = tools};
    struct descriptor *desc = NULL;
    assert_int_equal(descriptor_copy(&plugin, &(struct descriptor_options){0}, &desc, NULL), 0);
    return desc;
}

/* -------------------------------------------------------------------- the stage */

/* What the supervisor told, and how to wait for it. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned started, died, crashed, quarantined, refused, gone;
    pid_t pid;               /* of the last one that was started */
    struct crew_death death; /* the last one; without its texts */
    char reason[ERROR_MESSAGE_MAX];
    char backtrace[4096];
    char arguments[200];
    char last_line[200];
    unsigned lines; /* logged */
    char noticed[100];
    char logged[64 * 1024];
} told = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void tell(unsigned *count) {
    (*count)++;
    (void)pthread_cond_broadcast(&told.changed);
    (void)pthread_mutex_unlock(&told.lock);
}

static void copy(char *to, size_t room, const char *from) {
    (void)snprintf(to, room, "%s", from != NULL ? from : "");
}

static void when_died(void *user, void *crew_user, const struct crew_death *death) {
    (void)user;
    (void)crew_user;
    (void)pthread_mutex_lock(&told.lock);
    told.death = *death;
    copy(told.reason, sizeof told.reason, death->reason);
    copy(told.backtrace, sizeof told.backtrace, death->backtrace);
    copy(told.arguments, sizeof told.arguments, death->arguments);
    copy(told.last_line, sizeof told.last_line,
         death->last_line_count > 0 ? death->last_lines[death->last_line_count - 1] : NULL);
    told.crashed += death->crashed;
    tell(&told.died);
}

static void when_started(void *user, void *crew_user, int pid, uint32_t layers) {
    (void)user;
    (void)crew_user;
    (void)layers;
    (void)pthread_mutex_lock(&told.lock);
    told.pid = pid;
    tell(&told.started);
}

static void when_refused(void *user, void *crew_user, const char *reason, bool is_lasting) {
    (void)user;
    (void)crew_user;
    (void)is_lasting;
    (void)pthread_mutex_lock(&told.lock);
    copy(told.reason, sizeof told.reason, reason);
    tell(&told.refused);
}

/* Storing a quarantine takes a moment, in which no caller may learn of it. */
static atomic_uint stored;

static void when_quarantining(void *user, void *crew_user, const char *reason, unsigned crashes) {
    (void)user;
    (void)crew_user;
    (void)reason;
    (void)usleep(20000);
    atomic_store(&stored, crashes);
}

static void when_quarantined(void *user, void *crew_user, const char *reason) {
    (void)user;
    (void)crew_user;
    (void)reason;
    (void)pthread_mutex_lock(&told.lock);
    tell(&told.quarantined);
}

static void when_gone(void *user, void *crew_user) {
    (void)user;
    (void)crew_user;
    (void)pthread_mutex_lock(&told.lock);
    tell(&told.gone);
}

static void log_to_buffer(void *user, int level, const char *source, const char *line) {
    (void)user;
    (void)level;
    (void)pthread_mutex_lock(&told.lock);
    size_t length = strlen(told.logged);
    (void)snprintf(told.logged + length, sizeof told.logged - length, "%s: %s\n", source, line);
    tell(&told.lines);
}

static void when_noticed(void *user, void *crew_user, enum plugin_notice notice, const char *text) {
    (void)user;
    (void)crew_user;
    (void)pthread_mutex_lock(&told.lock);
    size_t length = strlen(told.noticed);
    (void)snprintf(told.noticed + length, sizeof told.noticed - length, "%d %s, ", (int)notice,
                   text != NULL ? text : "-");
    (void)pthread_mutex_unlock(&told.lock);
}

static unsigned read_count(const unsigned *count) {
    (void)pthread_mutex_lock(&told.lock);
    unsigned value = *count;
    (void)pthread_mutex_unlock(&told.lock);
    return value;
}

static void wait_until_told(const unsigned *count, unsigned times) {
    (void)pthread_mutex_lock(&told.lock);
    const struct timespec end = patience_end();
    int late = 0;
    while (*count < times && late == 0) {
        late = pthread_cond_timedwait(&told.changed, &told.lock, &end);
    }
    unsigned told_times = *count;
    (void)pthread_mutex_unlock(&told.lock);
    if (told_times < times) {
        fail_msg("told %u times of %u within %d s", told_times, times, PATIENCE_S);
    }
}

static void wait_until_logged(const char *text) {
    (void)pthread_mutex_lock(&told.lock);
    const struct timespec end = patience_end();
    int late = 0;
    while (strstr(told.logged, text) == NULL && late == 0) {
        late = pthread_cond_timedwait(&told.changed, &told.lock, &end);
    }
    bool was_logged = strstr(told.logged, text) != NULL;
    (void)pthread_mutex_unlock(&told.lock);
    if (!was_logged) {
        fail_msg("'%s' was not logged within %d s", text, PATIENCE_S);
    }
}

/* A supervisor with one crew. */
struct stage {
    struct supervisor *supervisor;
    struct crew *crew;
    struct descriptor *desc;
    struct log log;
    unsigned descriptors; /* open before */
    unsigned threads;     /* running before */
    char folder[64];
};

static unsigned count_entries(const char *path) {
    unsigned count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

static const char *worker_program = STAND_IN_WORKER;
static bool keeps_spare;

static void open_stage(struct stage *stage, const struct crew_options *given, bool is_shared) {
    (void)pthread_mutex_lock(&told.lock);
    told.started = told.died = told.crashed = told.quarantined = told.refused = told.gone = 0;
    told.lines = 0;
    told.logged[0] = '\0';
    told.noticed[0] = '\0';
    told.reason[0] = '\0';
    (void)pthread_mutex_unlock(&told.lock);
    atomic_store(&stored, 0);
    *stage = (struct stage){.log = {.write = log_to_buffer}};
    (void)snprintf(stage->folder, sizeof stage->folder, "/tmp/test-crew-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    stage->desc = describe(is_shared);
    stage->descriptors = count_entries("/proc/self/fd");
    stage->threads = count_entries("/proc/self/task");
    struct toolrack_error err;
    stage->supervisor =
            supervisor_create(&(struct supervisor_options){.log = &stage->log,
                                                           .worker_program = worker_program,
                                                           .keeps_spare = keeps_spare,
                                                           .died = when_died,
                                                           .quarantining = when_quarantining,
                                                           .quarantined = when_quarantined,
                                                           .started = when_started,
                                                           .refused = when_refused,
                                                           .noticed = when_noticed,
                                                           .gone = when_gone},
                              &err);
    assert_non_null(stage->supervisor);
    struct crew_options options = *given;
    options.desc = stage->desc;
    options.path = "/nowhere.so";
    options.policy.limits.memory_bytes = UINT64_MAX; /* a sanitizer takes what there is */
    assert_int_equal(crew_create(stage->supervisor, &options, &stage->crew, &err), 0);
}

static void expect_no_children(void) {
    siginfo_t info = {0};
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
    assert_int_equal(errno, ECHILD);
}

static void close_stage(struct stage *stage) {
    crew_unref(stage->crew);
    supervisor_destroy(stage->supervisor);
    assert_int_equal(read_count(&told.gone), 1);
    assert_int_equal(count_entries("/proc/self/fd"), stage->descriptors);
    /* A thread that was joined may take a moment to go. */
    AWAIT(count_entries("/proc/self/task") == stage->threads);
    expect_no_children();
    descriptor_unref(stage->desc);
    (void)rmdir(stage->folder);
}

/* ------------------------------------------------------------------------ calls */

struct outcome {
    int code;
    struct toolrack_error error;
    char json[300];
    bool has_text;
    double ms;
};

/* One call, on its own thread where it is begun and awaited. */
struct caller {
    struct crew *crew;
    struct crew_call call;
    char arguments[300];
    unsigned logs, progresses;
    bool answers_later;
    pthread_t thread;
    struct outcome outcome;
};

static void hear_log(void *user, int level, const char *message) {
    (void)level;
    (void)message;
    ((struct caller *)user)->logs++;
}

static void hear_progress(void *user, double done, double total, const char *message) {
    (void)done;
    (void)total;
    (void)message;
    ((struct caller *)user)->progresses++;
}

static int answer_ann(void *user, struct toolrack_input *inputs, size_t count) {
    struct caller *caller = user;
    assert_int_equal(count, 1);
    assert_string_equal(inputs[0].key, "ask-1");
    inputs[0].content =
            strcmp(inputs[0].message, "who?") == 0 ? strdup("{\"name\":\"Ann\"}") : NULL;
    inputs[0].answer = TR_ANSWER_ACCEPTED;
    return caller->answers_later ? TOOLRACK_INPUT_LATER : 0;
}

static void prepare(struct caller *caller, struct crew *crew, uint32_t deadline_ms,
                    const char *arguments) {
    *caller = (struct caller){.crew = crew};
    copy(caller->arguments, sizeof caller->arguments, arguments);
    caller->call = (struct crew_call){.tool_name = "work",
                                      .arguments = caller->arguments,
                                      .arguments_length = strlen(caller->arguments),
                                      .deadline_ns = clock_now_ns() +
                                                     (uint64_t)deadline_ms * CLOCK_NS_PER_MS,
                                      .user = caller,
                                      .log = hear_log,
                                      .progress = hear_progress,
                                      .input = answer_ann};
}

static void *run_caller(void *argument) {
    struct caller *caller = argument;
    struct arena arena;
    arena_init(&arena, NULL, 0);
    caller->call.arena = &arena;
    struct crew_reply reply = {.out = BUF_INIT};
    struct toolrack_result *result = NULL;
    uint64_t begun_ns = clock_now_ns();
    caller->outcome.code = crew_run(caller->crew, &caller->call, &reply, &caller->outcome.error);
    caller->outcome.ms = (double)(clock_now_ns() - begun_ns) / CLOCK_NS_PER_MS;
    if (caller->outcome.code == 0) {
        caller->outcome.code = result_end(&reply.out, NULL, &result, NULL);
        copy(caller->outcome.json, sizeof caller->outcome.json, toolrack_result_json(result, NULL));
        caller->outcome.has_text = toolrack_result_text(result, NULL) != NULL;
    }
    toolrack_result_free(result);
    buf_finish(&reply.out);
    arena_finish(&arena);
    return NULL;
}

static void begin(struct caller *caller, struct crew *crew, uint32_t deadline_ms,
                  const char *arguments) {
    prepare(caller, crew, deadline_ms, arguments);
    assert_int_equal(pthread_create(&caller->thread, NULL, run_caller, caller), 0);
}

static void end(struct caller *caller) {
    assert_int_equal(pthread_join(caller->thread, NULL), 0);
}

static struct outcome call(struct crew *crew, uint32_t deadline_ms, const char *arguments) {
    struct caller caller;
    prepare(&caller, crew, deadline_ms, arguments);
    (void)run_caller(&caller);
    return caller.outcome;
}

static void expect_json(const struct outcome *outcome, const char *json) {
    if (outcome->code != 0) {
        print_error("%s\n", outcome->error.message);
    }
    assert_int_equal(outcome->code, 0);
    assert_string_equal(outcome->json, json);
}

static void expect_error(const struct outcome *outcome, int code, const char *words) {
    assert_int_equal(outcome->code, code);
    assert_int_equal(outcome->error.code, code);
    if (strstr(outcome->error.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", outcome->error.message, words);
    }
    assert_string_equal(outcome->error.tool, "work");
}

static void expect_works(struct crew *crew) {
    struct outcome outcome = call(crew, DEADLINE_MS, "{\"n\":1}");
    expect_json(&outcome, "{\"n\":1}");
}

static struct crew_status status_of(struct crew *crew) {
    struct crew_status status;
    crew_check(crew);
    crew_status(crew, &status);
    return status;
}

/* Wait for what no callback tells. */
static void wait_for(struct crew *crew, uint32_t workers, uint32_t busy, uint32_t waiting) {
    uint64_t since = 0;
    struct crew_status status = status_of(crew);
    while (status.workers != workers || status.busy != busy || status.waiting != waiting) {
        if (!patience_yield(&since)) {
            fail_msg("%u workers, %u busy, %u waiting; not %u, %u, %u within %d s", status.workers,
                     status.busy, status.waiting, workers, busy, waiting, PATIENCE_S);
        }
        status = status_of(crew);
    }
}

static char *hold_arguments(const struct stage *stage, const char *name, char *arguments,
                            size_t room) {
    (void)snprintf(arguments, room, "{\"do\":\"hold\",\"with\":\"%s/%s\"}", stage->folder, name);
    return arguments;
}

static void path_of(const struct stage *stage, const char *name, char *path, size_t room) {
    (void)snprintf(path, room, "%s/%s", stage->folder, name);
}

static void leave_mark(const char *folder, const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void let_go(const struct stage *stage, const char *name) {
    leave_mark(stage->folder, name);
}

static void clear(const struct stage *stage, const char *name) {
    char path[128];
    path_of(stage, name, path, sizeof path);
    (void)unlink(path);
}

static bool has_mark(const char *folder, const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static const struct crew_options plain = {.settings = "{}"};

/* ------------------------------------------------------------------------ tests */

static void a_call_and_its_reply(void **state) {
    (void)state;
    struct stage stage;
    struct caller caller;
    open_stage(&stage, &plain, false);
    assert_int_equal(status_of(stage.crew).workers, 0);
    expect_works(stage.crew);
    assert_true(status_of(stage.crew).started);
    assert_int_equal(status_of(stage.crew).layers, 64);
    assert_int_equal(status_of(stage.crew).workers, 1);

    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"text\"}");
    expect_json(&outcome, "\"a \xc3\xa9\"");
    assert_true(outcome.has_text);
    outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"fail\"}");
    expect_error(&outcome, TOOLRACK_E_INVALID_ARGUMENTS, "I do not want to");
    assert_string_equal(outcome.error.field, "/do");
    outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"ask\"}");
    expect_json(&outcome, "[1,{\"name\":\"Ann\"}]");
    prepare(&caller, stage.crew, DEADLINE_MS, "{\"do\":\"ask\"}");
    caller.call.input = NULL;
    (void)run_caller(&caller);
    expect_json(&caller.outcome, "[0,null]");
    /* Whatever the tool then says, the call asks for the answers. */
    prepare(&caller, stage.crew, DEADLINE_MS, "{\"do\":\"ask\"}");
    caller.answers_later = true;
    (void)run_caller(&caller);
    expect_error(&caller.outcome, TOOLRACK_E_INPUT_REQUIRED, "call it again, with the answers");
    assert_false(caller.outcome.error.from_tool);
    expect_works(stage.crew);
    prepare(&caller, stage.crew, DEADLINE_MS, "{\"do\":\"talk\",\"count\":5}");
    (void)run_caller(&caller);
    expect_json(&caller.outcome, "true");
    assert_int_equal(caller.logs, 5);
    assert_int_equal(caller.progresses, 5);
    prepare(&caller, stage.crew, 0, "{}");
    caller.call.deadline_ns = 0;
    (void)run_caller(&caller);
    expect_json(&caller.outcome, "{}");
    assert_int_equal(read_count(&told.started), 1);
    close_stage(&stage);
    assert_int_equal(read_count(&told.died), 0);
}

static void an_environment_of_its_own(void **state) {
    (void)state;
    struct stage stage;
    const char *const granted[] = {"COLOR=blue", "LANG=de_DE.UTF-8", NULL};
    assert_int_equal(setenv("SECRET", "1", 1), 0);
    open_stage(&stage, &(struct crew_options){.settings = "{}", .environment = granted}, false);
    static const char *const expected[][2] = {{"COLOR", "\"blue\""},
                                              {"LANG", "\"de_DE.UTF-8\""},
                                              {"PATH", "\"/usr/bin:/bin\""},
                                              {"SECRET", "\"\""},
                                              {"HOME", "\"\""}};
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
        char arguments[100];
        (void)snprintf(arguments, sizeof arguments, "{\"do\":\"environment\",\"with\":\"%s\"}",
                       expected[i][0]);
        struct outcome outcome = call(stage.crew, DEADLINE_MS, arguments);
        expect_json(&outcome, expected[i][1]);
    }
    close_stage(&stage);
}

/* Calls that wait bring workers up to the maximum; the next waits in line, the one after it is too
 * many; and workers that nobody needs go. */
static void grows_and_shrinks(void **state) {
    (void)state;
    struct stage stage;
    struct caller callers[4];
    char arguments[200];
    open_stage(&stage,
               &(struct crew_options){.limits = {.workers_max = 3, .queue_max = 1, .idle_ms = 20}},
               false);
    for (int i = 0; i < 3; i++) {
        begin(&callers[i], stage.crew, DEADLINE_MS,
              hold_arguments(&stage, "go", arguments, sizeof arguments));
        wait_for(stage.crew, (uint32_t)i + 1, (uint32_t)i + 1, 0);
    }
    begin(&callers[3], stage.crew, DEADLINE_MS, "{\"n\":4}");
    wait_for(stage.crew, 3, 3, 1);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_LIMIT_EXCEEDED,
                 "plugin 'stand-in' has 1 calls waiting already; try again later");
    let_go(&stage, "go");
    for (int i = 0; i < 4; i++) {
        end(&callers[i]);
        assert_int_equal(callers[i].outcome.code, 0);
    }
    assert_string_equal(callers[3].outcome.json, "{\"n\":4}");
    wait_for(stage.crew, 0, 0, 0);
    assert_int_equal(read_count(&told.died), 0);
    expect_works(stage.crew);
    assert_int_equal(read_count(&told.started), 4);
    clear(&stage, "go");
    close_stage(&stage);
}

/* A plugin that is thread safe gets lanes before it gets processes. */
static void lanes_before_workers(void **state) {
    (void)state;
    struct stage stage;
    struct caller callers[CREW_LANES_MAX + 1];
    char arguments[200];
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 2}}, true);
    for (unsigned i = 0; i <= CREW_LANES_MAX; i++) {
        begin(&callers[i], stage.crew, DEADLINE_MS,
              hold_arguments(&stage, "go", arguments, sizeof arguments));
        wait_for(stage.crew, i < CREW_LANES_MAX ? 1 : 2, i + 1, 0);
    }
    let_go(&stage, "go");
    for (unsigned i = 0; i <= CREW_LANES_MAX; i++) {
        end(&callers[i]);
        expect_json(&callers[i].outcome, "\"held\"");
    }
    assert_int_equal(read_count(&told.started), 2);
    clear(&stage, "go");
    close_stage(&stage);
}

static void first_come_first_served(void **state) {
    (void)state;
    struct stage stage;
    struct caller holder;
    struct caller waiters[4];
    char arguments[200];
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 1}}, false);
    begin(&holder, stage.crew, DEADLINE_MS,
          hold_arguments(&stage, "0", arguments, sizeof arguments));
    wait_for(stage.crew, 1, 1, 0);
    for (unsigned i = 0; i < 4; i++) {
        char name[2] = {(char)('1' + i), '\0'};
        begin(&waiters[i], stage.crew, DEADLINE_MS,
              hold_arguments(&stage, name, arguments, sizeof arguments));
        wait_for(stage.crew, 1, 1, i + 1);
    }
    let_go(&stage, "0");
    end(&holder);
    for (unsigned i = 0; i < 4; i++) {
        char name[2] = {(char)('1' + i), '\0'};
        wait_for(stage.crew, 1, 1, 3 - i); /* the next one holds the lane now */
        let_go(&stage, name);              /* only the i-th waits for this */
        end(&waiters[i]);
        expect_json(&waiters[i].outcome, "\"held\"");
        clear(&stage, name);
    }
    clear(&stage, "0");
    close_stage(&stage);
}

static void expect_in_time(const struct outcome *outcome, double ms) {
    assert_true(outcome->ms >= ms - 1);
    assert_true(outcome->ms < ms + 5000); /* of a busy machine; a wait for ever would be 20000 */
}

/* At the deadline, and with the same worker afterwards where the tool listens. */
static void a_deadline_that_is_heard(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 1, .grace_ms = 10000}},
               false);
    expect_works(stage.crew);
    struct outcome outcome = call(stage.crew, 50, "{\"do\":\"listen\"}");
    expect_error(&outcome, TOOLRACK_E_TIMEOUT, "Tool 'work' did not finish within its deadline");
    expect_in_time(&outcome, 50);
    expect_works(stage.crew);
    outcome = call(stage.crew, 50, "{\"do\":\"talk\"}"); /* for ever */
    expect_error(&outcome, TOOLRACK_E_TIMEOUT, "deadline");
    assert_int_equal(read_count(&told.started), 1);
    assert_int_equal(read_count(&told.died), 0);
    close_stage(&stage);
}

/* Where it does not listen, its worker is killed, which is no crash; the next call gets another. */
static void a_deadline_that_is_ignored(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 1, .grace_ms = 20}}, false);
    struct outcome outcome = call(stage.crew, 500, "{\"do\":\"hang\"}");
    expect_error(&outcome, TOOLRACK_E_TIMEOUT, "deadline");
    expect_works(stage.crew);
    wait_until_told(&told.died, 1);
    assert_int_equal(read_count(&told.started), 2);
    assert_int_equal(read_count(&told.crashed), 0);
    assert_non_null(strstr(told.reason, "'work' went on for more than 20 ms after its deadline"));
    outcome = call(stage.crew, 100, "{\"do\":\"talk\"}");
    expect_error(&outcome, TOOLRACK_E_TIMEOUT, "deadline");
    wait_until_told(&told.died, 2);
    assert_int_equal(status_of(stage.crew).crashes, 0);
    close_stage(&stage);
}

/* ------------------------------------------------- calls beside one that does not end */

static uint32_t retired_of(struct crew *crew) {
    LOCK_SCOPE(&crew->lock);
    return crew->retired;
}

static uint32_t withheld_of(struct crew *crew) {
    uint32_t count = 0;
    LOCK_SCOPE(&crew->lock);
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        count += worker->state == WORKER_READY && worker_is_withheld(worker);
    }
    return count;
}

static uint32_t lingering_of(struct crew *crew) {
    uint32_t count = 0;
    LOCK_SCOPE(&crew->lock);
    for (const struct worker *worker = crew->workers; worker != NULL; worker = worker->next) {
        count += worker->lingering;
    }
    return count;
}

/* Begin a call that waits for the file `name`. Returns when it runs. */
static void begin_hold(struct caller *caller, struct stage *stage, const char *name) {
    char arguments[200];
    char running[16];
    (void)snprintf(running, sizeof running, "runs-%s", name);
    (void)snprintf(arguments, sizeof arguments,
                   "{\"do\":\"hold\",\"with\":\"%s/%s\",\"mark\":\"%s/%s\"}", stage->folder, name,
                   stage->folder, running);
    begin(caller, stage->crew, DEADLINE_MS, arguments);
    AWAIT(has_mark(stage->folder, running));
    clear(stage, running);
}

/* Let a call go that begin_hold() began. */
static void end_hold(struct caller *caller, const struct stage *stage, const char *name) {
    let_go(stage, name);
    end(caller);
    expect_json(&caller->outcome, "\"held\"");
    clear(stage, name);
}

/* A call that is cancelled while it does what never ends. */
static void cancel_one(struct stage *stage, const char *what) {
    struct caller caller;
    char arguments[200];
    (void)snprintf(arguments, sizeof arguments, "{\"do\":\"%s\",\"mark\":\"%s/deaf\"}", what,
                   stage->folder);
    begin(&caller, stage->crew, DEADLINE_MS, arguments);
    AWAIT(has_mark(stage->folder, "deaf"));
    crew_interrupt(stage->crew, &caller.call);
    end(&caller);
    expect_error(&caller.outcome, TOOLRACK_E_CANCELLED, "cancelled");
    clear(stage, "deaf");
}

/* Of a thread-safe plugin the other calls in the worker end as they would without it: beside one
 * that was cancelled, that loops and asks for nothing, ... */
static void a_neighbour_of_one_that_was_cancelled(void **state) {
    (void)state;
    struct stage stage;
    struct caller neighbour;
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 1, .grace_ms = 20}}, true);
    begin_hold(&neighbour, &stage, "go");
    cancel_one(&stage, "burn");
    AWAIT(retired_of(stage.crew) == 1);
    wait_until_logged(
            " gets no more calls, because 'work' went on for more than 20 ms after it was "
            "cancelled; it ends with the calls beside it, and another one takes its place");
    assert_int_equal(read_count(&told.died), 0);
    end_hold(&neighbour, &stage, "go");
    wait_until_told(&told.died, 1);
    assert_non_null(
            strstr(told.reason, "'work' went on for more than 20 ms after it was cancelled"));
    assert_int_equal(read_count(&told.crashed), 0);
    wait_for(stage.crew, 0, 0, 0);
    close_stage(&stage);
}

/* ... and beside one whose deadline is over. */
static void a_neighbour_of_one_that_hangs(void **state) {
    (void)state;
    struct stage stage;
    struct caller neighbour;
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 1, .grace_ms = 20}}, true);
    begin_hold(&neighbour, &stage, "go");
    expect_works(stage.crew); /* its lane is open: the next call does not wait */
    struct outcome outcome = call(stage.crew, 100, "{\"do\":\"burn\"}");
    expect_error(&outcome, TOOLRACK_E_TIMEOUT, "deadline");
    AWAIT(retired_of(stage.crew) == 1);
    wait_until_logged("stand-in: worker ");
    wait_until_logged("'work' went on for more than 20 ms after its deadline; it ends with");
    expect_works(stage.crew); /* by another, in its place */
    assert_int_equal(read_count(&told.started), 2);
    end_hold(&neighbour, &stage, "go");
    wait_until_told(&told.died, 1);
    assert_non_null(strstr(told.reason, "'work' went on for more than 20 ms after its deadline"));
    wait_for(stage.crew, 1, 0, 0);
    close_stage(&stage);
}

/* A worker that may have to be ended gets no call; when the tool has ended in time, it does. */
static void no_call_joins_one_that_lingers(void **state) {
    (void)state;
    struct stage stage;
    struct caller cancelled;
    struct caller callers[2 * CREW_LANES_MAX];
    char arguments[200];
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 2, .grace_ms = 60000}},
               true);
    begin_hold(&cancelled, &stage, "slow");
    expect_works(stage.crew); /* another lane is idle */
    assert_int_equal(read_count(&told.started), 1);
    crew_interrupt(stage.crew, &cancelled.call);
    end(&cancelled);
    expect_error(&cancelled.outcome, TOOLRACK_E_CANCELLED, "cancelled");
    assert_int_equal(withheld_of(stage.crew), 1);
    expect_works(stage.crew);
    assert_int_equal(read_count(&told.started), 2);
    let_go(&stage, "slow");
    AWAIT(withheld_of(stage.crew) == 0);
    clear(&stage, "slow");
    for (unsigned i = 0; i < 2 * CREW_LANES_MAX; i++) {
        begin(&callers[i], stage.crew, DEADLINE_MS,
              hold_arguments(&stage, "go", arguments, sizeof arguments));
    }
    wait_for(stage.crew, 2, 2 * CREW_LANES_MAX, 0);
    let_go(&stage, "go");
    for (unsigned i = 0; i < 2 * CREW_LANES_MAX; i++) {
        end(&callers[i]);
        expect_json(&callers[i].outcome, "\"held\"");
    }
    assert_int_equal(read_count(&told.died), 0);
    clear(&stage, "go");
    close_stage(&stage);
}

/* Whoever cancels again and again does not get processes without end: then calls wait in line, and
 * run when the calls beside the cancelled ones have ended. */
static void cancelling_again_and_again(void **state) {
    (void)state;
    struct stage stage;
    struct caller first;
    struct caller second;
    struct caller waiting;
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 1, .grace_ms = 20}}, true);
    begin_hold(&first, &stage, "1");
    cancel_one(&stage, "hang");
    AWAIT(retired_of(stage.crew) == 1);
    begin_hold(&second, &stage, "2");
    cancel_one(&stage, "hang");
    struct outcome outcome = call(stage.crew, 200, "{}");
    expect_error(&outcome, TOOLRACK_E_TIMEOUT,
                 "all workers of plugin 'stand-in' were busy (1), and in 2 a call went on");
    assert_int_equal(read_count(&told.started), 2);
    assert_int_equal(read_count(&told.died), 0);
    begin(&waiting, stage.crew, DEADLINE_MS, "{\"n\":1}");
    wait_for(stage.crew, 2, 2, 1);
    end_hold(&first, &stage, "1");
    end(&waiting);
    expect_json(&waiting.outcome, "{\"n\":1}");
    assert_int_equal(read_count(&told.started), 3);
    end_hold(&second, &stage, "2");
    wait_until_told(&told.died, 2);
    wait_for(stage.crew, 1, 0, 0);
    close_stage(&stage);
}

/* A tool that ends at last is not killed: its worker closes the plugin. */
static void one_that_lingers_and_ends(void **state) {
    (void)state;
    struct stage stage;
    struct caller neighbour;
    struct caller cancelled;
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 1, .grace_ms = 20}}, true);
    begin_hold(&neighbour, &stage, "go");
    begin_hold(&cancelled, &stage, "slow");
    crew_interrupt(stage.crew, &cancelled.call);
    end(&cancelled);
    AWAIT(retired_of(stage.crew) == 1);
    let_go(&stage, "slow");
    AWAIT(lingering_of(stage.crew) == 0);
    end_hold(&neighbour, &stage, "go");
    wait_for(stage.crew, 0, 0, 0);
    clear(&stage, "slow");
    close_stage(&stage);
    assert_int_equal(read_count(&told.died), 0);
}

static void interrupted(void **state) {
    (void)state;
    struct stage stage;
    struct caller running;
    struct caller waiting;
    open_stage(&stage, &(struct crew_options){.limits = {.workers_max = 1, .grace_ms = 10000}},
               false);
    begin(&running, stage.crew, DEADLINE_MS, "{\"do\":\"listen\"}");
    wait_for(stage.crew, 1, 1, 0);
    begin(&waiting, stage.crew, DEADLINE_MS, "{}");
    wait_for(stage.crew, 1, 1, 1);
    crew_interrupt(stage.crew, &waiting.call);
    end(&waiting);
    expect_error(&waiting.outcome, TOOLRACK_E_CANCELLED, "the call of 'work' was cancelled");
    crew_interrupt(stage.crew, &running.call);
    end(&running);
    expect_error(&running.outcome, TOOLRACK_E_CANCELLED, "the call of 'work' was cancelled");
    expect_works(stage.crew);
    assert_int_equal(read_count(&told.started), 1);

    prepare(&running, stage.crew, DEADLINE_MS, "{}");
    crew_interrupt(stage.crew, &running.call); /* before it began */
    (void)run_caller(&running);
    expect_error(&running.outcome, TOOLRACK_E_CANCELLED, "cancelled");
    close_stage(&stage);
}

static void a_crash_in_a_call(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.limits = {.backoff_ms = 1, .crashes_max = 16}},
               false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"crash\"}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "plugin 'stand-in' crashed: SIGSEGV");
    assert_int_equal(outcome.error.signal, SIGSEGV);
    wait_until_told(&told.died, 1);
    assert_true(told.death.crashed);
    assert_int_equal(told.death.signal, SIGSEGV);
    assert_int_equal(told.death.exit_status, -1);
    assert_int_equal(told.death.tool, 0);
    assert_string_equal(told.arguments, "{\"do\":\"crash\"}");
    assert_string_equal(told.reason, outcome.error.message);
    assert_non_null(strstr(told.backtrace, "follow_null"));
    assert_non_null(strstr(outcome.error.message, "in follow_null+0x"));

    outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"exit\"}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED,
                 "plugin 'stand-in' ended its process with exit status 3");
    assert_int_equal(outcome.error.signal, 0);
    outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"kill\"}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED,
                 "was killed by SIGKILL: by a person, for want of memory, or by itself");
    assert_int_equal(outcome.error.signal, SIGKILL);
    expect_works(stage.crew);
    assert_int_equal(status_of(stage.crew).crashes, 3);
    close_stage(&stage);
}

static void too_much_cpu_time(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.policy.limits.cpu_s = 1}, false);
    struct outcome outcome = call(stage.crew, 60000, "{\"do\":\"burn\"}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED,
                 "used more than the 1 s of CPU time allowed (SIGXCPU)");
    assert_int_equal(outcome.error.signal, SIGXCPU);
    close_stage(&stage);
}

static void nonsense(void **state) {
    (void)state;
    static const char *const kinds[][2] = {{"frame", "a frame that is not expected during a call"},
                                           {"json", "a result that is not JSON"},
                                           {"lines", "a result of several lines"},
                                           {"open string", "a result that is not JSON"},
                                           {"two strings", "a result that is not JSON"},
                                           {"control", "a result that is not JSON"},
                                           {"half a pair", "a result that is not JSON"},
                                           {"bytes", "a result that is not JSON"},
                                           {"text of bytes", "a text that is not UTF-8"},
                                           {"type", "something that is not a frame"}};
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.limits = {.backoff_ms = 1, .crashes_max = 16}},
               false);
    for (unsigned i = 0; i < ARRAY_LENGTH(kinds); i++) {
        char arguments[100];
        (void)snprintf(arguments, sizeof arguments, "{\"do\":\"nonsense\",\"with\":\"%s\"}",
                       kinds[i][0]);
        struct outcome outcome = call(stage.crew, DEADLINE_MS, arguments);
        expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, kinds[i][1]);
        wait_until_told(&told.died, i + 1);
        assert_true(told.death.crashed);
    }
    expect_works(stage.crew);
    close_stage(&stage);
}

/* What formats make messages of is proven where it comes in. */
static void content_is_what_a_tool_can_reply_with(void **state) {
    (void)state;
    static const char *const kinds[] = {"no blocks",
                                        "a block that is null",
                                        "a text that is an array",
                                        "no text",
                                        "a text twice",
                                        "another member",
                                        "another type",
                                        "a type that is a number",
                                        "data that is an array",
                                        "no MIME type",
                                        "a resource that is a text",
                                        "a resource of both kinds",
                                        "content twice",
                                        "JSON that was not announced",
                                        "a member beside"};
    struct stage stage;
    for (unsigned i = 0; i < ARRAY_LENGTH(kinds); i++) {
        char arguments[100];
        (void)snprintf(arguments, sizeof arguments, "{\"do\":\"nonsense\",\"with\":\"%s\"}",
                       kinds[i]);
        open_stage(&stage, &(struct crew_options){0},
                   false); /* the pause after a crash doubles each time */
        struct outcome outcome = call(stage.crew, DEADLINE_MS, arguments);
        expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED,
                     "content that no tool can have replied with");
        close_stage(&stage);
    }
    open_stage(&stage, &(struct crew_options){0}, false);
    struct outcome outcome =
            call(stage.crew, DEADLINE_MS, "{\"do\":\"nonsense\",\"with\":\"content\"}");
    assert_int_equal(outcome.code, 0);
    close_stage(&stage);
}

/* The words of a worker are its own, marked or not. */
static void a_forged_failure_is_the_workers_word(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.limits.backoff_ms = 1}, false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"forge\"}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "plugin 'other' is in quarantine");
    assert_true(outcome.error.from_tool);
    assert_int_equal(outcome.error.tool_code, 0);
    assert_string_equal(outcome.error.field, "/a [2J b");
    close_stage(&stage);
}

static void a_crash_between_calls(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.limits.backoff_ms = 1}, false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"pid\"}");
    assert_int_equal(kill(atoi(outcome.json), SIGSEGV), 0);
    wait_until_told(&told.died, 1);
    assert_true(told.death.crashed);
    assert_true(told.death.tool == UINT32_MAX);
    expect_works(stage.crew);
    close_stage(&stage);
}

/* Calls fail with the crash, the next start waits, and the third crash is one too many. */
static void a_crash_while_starting(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage,
               &(struct crew_options){.settings = "{\"start\":\"crash\"}",
                                      .limits = {.backoff_ms = 300}},
               false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "while it was being loaded");
    assert_int_equal(outcome.error.signal, SIGSEGV);
    outcome = call(stage.crew, 100, "{}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "after the deadline of this call");
    assert_true(outcome.ms < 100); /* at once: it would not help to wait */
    outcome = call(stage.crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "while it was being loaded");
    assert_true(outcome.ms > 100);
    assert_int_equal(atomic_load(&stored), 0);
    outcome = call(stage.crew, DEADLINE_MS, "{}");
    assert_int_equal(atomic_load(&stored), 3); /* before the caller learned of it */
    assert_true(outcome.ms > 400);             /* twice as long */
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED,
                 "plugin 'stand-in' is in quarantine; let it run again: toolrack release stand-in; "
                 "the reason: 3 crashes within 60 s");
    wait_until_told(&told.quarantined, 1);
    assert_true(status_of(stage.crew).quarantined);
    outcome = call(stage.crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "is in quarantine");
    assert_int_equal(read_count(&told.died), 3);
    crew_release(stage.crew);
    assert_false(status_of(stage.crew).quarantined);
    outcome = call(stage.crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "while it was being loaded");
    wait_until_told(&told.died, 4);
    close_stage(&stage);
}

static void in_quarantine_from_the_beginning(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.quarantined = "it was bad yesterday"}, false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED,
                 ": toolrack release stand-in; the reason: it was bad yesterday");
    crew_release(stage.crew);
    expect_works(stage.crew);
    close_stage(&stage);
}

static void a_start_that_is_refused(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage,
               &(struct crew_options){.settings = "{\"start\":\"refuse\"}",
                                      .limits.backoff_ms = 60000},
               false);
    for (int i = 0; i < 2; i++) { /* the second time, without trying again */
        struct outcome outcome = call(stage.crew, DEADLINE_MS, "{}");
        expect_error(&outcome, TOOLRACK_E_REFUSED, "it needs libmissing.so");
    }
    assert_int_equal(read_count(&told.refused), 1);
    assert_string_equal(status_of(stage.crew).reason, "it needs libmissing.so");
    assert_int_equal(read_count(&told.crashed), 0);
    close_stage(&stage);
}

static void a_start_that_does_not_end(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage,
               &(struct crew_options){.settings = "{\"start\":\"hang\"}", .limits.start_ms = 50},
               false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED,
                 "plugin 'stand-in' was not loaded and open within 50 ms");
    assert_int_equal(read_count(&told.refused), 1);
    close_stage(&stage);
    assert_int_equal(read_count(&told.crashed), 0);
}

/* A folder for the marks of a worker, and settings that name it and how it ends. */
struct marks {
    char folder[sizeof "/tmp/test-crew-marks-XXXXXX"];
    char settings[100];
};

static void make_marks(struct marks *marks, const char *key, const char *end) {
    (void)snprintf(marks->folder, sizeof marks->folder, "/tmp/test-crew-marks-XXXXXX");
    assert_non_null(mkdtemp(marks->folder));
    (void)snprintf(marks->settings, sizeof marks->settings, "{\"%s\":\"%s\",\"end\":\"%s\"}", key,
                   marks->folder, end);
}

static void remove_marks(const struct marks *marks) {
    static const char *const names[] = {"waits", "go", "said"};
    char path[128];
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", marks->folder, names[i]);
        (void)remove(path);
    }
    assert_int_equal(remove(marks->folder), 0);
}

static enum lane_state first_lane(struct crew *crew) {
    LOCK_SCOPE(&crew->lock);
    return crew->workers->lanes[0].state;
}

/* The lock is held here from before the worker says so until after its end is decided, so the
 * supervisor hears it of a worker that is ending. The signal comes after the check. */
static void ready_after_its_end(void **state) {
    (void)state;
    struct marks marks;
    make_marks(&marks, "marks", "");
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.settings = marks.settings}, false);
    struct caller caller;
    begin(&caller, stage.crew, DEADLINE_MS, "{}");
    AWAIT(has_mark(marks.folder, "waits"));
    lock_take(&stage.crew->lock);
    struct worker *worker = stage.crew->workers;
    assert_int_equal(worker->state, WORKER_STARTING);
    leave_mark(marks.folder, "go");
    AWAIT(has_mark(marks.folder, "said"));
    int pidfd = worker->process.pidfd;
    worker->process.pidfd = -1;
    worker_kill(worker, END_KILLED, "the test ended it");
    worker->process.pidfd = pidfd;
    lock_release(&stage.crew->lock);
    AWAIT(first_lane(stage.crew) == LANE_NONE);
    crew_check(stage.crew);
    assert_int_equal(pidfd_send_signal(pidfd, SIGKILL, NULL, 0), 0);
    end(&caller);
    expect_error(&caller.outcome, TOOLRACK_E_EXECUTION_FAILED, "the test ended it");
    assert_int_equal(read_count(&told.started), 0);
    close_stage(&stage);
    remove_marks(&marks);
}

static void a_start_of_nonsense(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.settings = "{\"start\":\"nonsense\"}"}, false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "sent nonsense while it was starting");
    wait_until_told(&told.died, 1);
    assert_int_equal(read_count(&told.crashed), 1);
    close_stage(&stage);
}

static void no_worker_program(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &plain, false);
    struct toolrack_error err;
    struct supervisor *other = supervisor_create(
            &(struct supervisor_options){.worker_program = "/nowhere/worker"}, &err);
    assert_non_null(other);
    struct crew *crew = NULL;
    assert_int_equal(crew_create(other,
                                 &(struct crew_options){.desc = stage.desc, .path = "/nowhere.so"},
                                 &crew, &err),
                     0);
    struct outcome outcome = call(crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_IO,
                 "cannot start the worker program /nowhere/worker: No such file");
    supervisor_destroy(other); /* before its crew */
    outcome = call(crew, DEADLINE_MS, "{}");
    expect_error(&outcome, TOOLRACK_E_CANCELLED, "the host is being closed");
    crew_unref(crew);
    close_stage(&stage);
}

/* What could not be made is named. */
static void no_descriptor_for_a_worker(void **state) {
    (void)state;
    struct stage stage;
    struct rlimit before;
    open_stage(&stage, &plain, false);
    int free_fd = dup(STDIN_FILENO);
    assert_true(free_fd >= 0 && close(free_fd) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
    const struct rlimit none = {.rlim_cur = (rlim_t)free_fd, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{}");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_error(&outcome, TOOLRACK_E_IO,
                 "cannot open /dev/null for a worker: Too many open files; raise the limit");
    close_stage(&stage);
}

static void a_crash_while_closing(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.settings = "{\"start\":\"log\",\"end\":\"crash\"}"},
               false);
    expect_works(stage.crew);
    wait_until_logged("stand-in: opening");
    close_stage(&stage);
    assert_int_equal(read_count(&told.crashed), 1);
    assert_non_null(strstr(told.reason, "while it was being closed"));
}

static void one_that_does_not_close(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage,
               &(struct crew_options){.settings = "{\"end\":\"hang\"}", .limits.close_ms = 20},
               false);
    expect_works(stage.crew);
    close_stage(&stage);
    assert_int_equal(read_count(&told.died), 1);
    assert_int_equal(read_count(&told.crashed), 0);
    assert_non_null(strstr(told.reason, "did not end within 20 ms"));
}

/* A call begins for which the worker starts, and is interrupted when it does. */
static void leave_one_that_waits(struct stage *stage, const struct marks *marks) {
    struct caller caller;
    begin(&caller, stage->crew, DEADLINE_MS, "{}");
    AWAIT(has_mark(marks->folder, "waits"));
    crew_interrupt(stage->crew, &caller.call);
    end(&caller);
    expect_error(&caller.outcome, TOOLRACK_E_CANCELLED, "");
}

/* Likewise for which it opens a lane, beside the one that is open from the beginning. */
static void leave_one_that_waits_for_a_lane(struct stage *stage, const struct marks *marks) {
    struct caller first;
    char arguments[200];
    begin(&first, stage->crew, DEADLINE_MS,
          hold_arguments(stage, "let go", arguments, sizeof arguments));
    wait_for(stage->crew, 1, 1, 0);
    assert_false(has_mark(marks->folder, "waits"));
    leave_one_that_waits(stage, marks);
    let_go(stage, "let go");
    end(&first);
    expect_json(&first.outcome, "\"held\"");
    clear(stage, "let go");
}

/* No call has run in it, so nobody is told. */
static void closing_while_one_starts(void **state) {
    (void)state;
    struct marks marks;
    make_marks(&marks, "marks", "");
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.settings = marks.settings}, false);
    leave_one_that_waits(&stage, &marks);
    close_stage(&stage);
    assert_int_equal(read_count(&told.died), 0);
    assert_string_equal(told.logged, "");
    remove_marks(&marks);
}

static bool is_to_end(struct crew *crew) {
    LOCK_SCOPE(&crew->lock);
    return crew->workers->until_ns != 0;
}

/* It is not killed for that, but closes its plugin, in which calls may have run: it does so by a
 * crash here, to be seen. */
static void closing_while_a_lane_opens(void **state) {
    (void)state;
    struct marks marks;
    make_marks(&marks, "lane marks", "crash");
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.settings = marks.settings}, true);
    leave_one_that_waits_for_a_lane(&stage, &marks);
    struct crew *crew = stage.crew; /* lives as long as its worker */
    crew_unref(crew);
    stage.crew = NULL;
    AWAIT(is_to_end(crew));
    leave_mark(marks.folder, "go");
    wait_until_told(&told.died, 1);
    assert_non_null(strstr(told.reason, "while it was being closed"));
    close_stage(&stage);
    remove_marks(&marks);
}

static void closing_while_a_lane_does_not_open(void **state) {
    (void)state;
    struct marks marks;
    make_marks(&marks, "lane marks", "");
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.settings = marks.settings, .limits.close_ms = 20},
               true);
    leave_one_that_waits_for_a_lane(&stage, &marks);
    close_stage(&stage);
    assert_int_equal(read_count(&told.died), 1);
    assert_int_equal(read_count(&told.crashed), 0);
    assert_non_null(strstr(told.reason, "did not end within 20 ms"));
    remove_marks(&marks);
}

/* Its pidfd, its pipe, and the memory of its channel: with a system call filter, which the stand-in
 * has not, that is closed, and what asks for threads is there instead. How many workers a host may
 * have depends on it. */
#define DESCRIPTORS_EACH 3u

/* As many as are told, or 200, within the usual limit of open files. A sanitizer makes each of them
 * slow. */
static void many_workers(void **state) {
    (void)state;
    const char *told_count = getenv("TEST_WORKERS");
    unsigned count = told_count != NULL                      ? (unsigned)atoi(told_count)
                     : SANITIZER_ADDRESS || SANITIZER_THREAD ? 20
                                                             : 200;
    struct crew **crews = calloc(count, sizeof(struct crew *));
    struct stage stage;
    struct rlimit before;
    struct outcome outcome;
    assert_non_null(crews);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    open_stage(&stage, &plain, false);
    const struct rlimit few = {.rlim_cur = count * 1024 / 200, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    unsigned open_before = count_entries("/proc/self/fd");
    for (unsigned i = 0; i < count; i++) {
        const struct crew_options options = {.desc = stage.desc,
                                             .path = "/nowhere.so",
                                             .settings = "{}",
                                             .limits.idle_ms = UINT32_MAX,
                                             .policy.limits.memory_bytes = UINT64_MAX};
        assert_int_equal(crew_create(stage.supervisor, &options, &crews[i], NULL), 0);
        expect_works(crews[i]);
    }
    assert_true(count_entries("/proc/self/fd") <= open_before + count * DESCRIPTORS_EACH);
    for (unsigned i = 0; i < count; i++) { /* all of them are there still */
        expect_works(crews[i]);
    }
    assert_int_equal(read_count(&told.started), count);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    outcome = call(crews[0], DEADLINE_MS, "{\"do\":\"kill\"}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "SIGKILL");
    for (unsigned i = 0; i < count; i++) {
        crew_unref(crews[i]);
    }
    wait_until_told(&told.gone, count);
    (void)pthread_mutex_lock(&told.lock);
    told.gone = 0;
    (void)pthread_mutex_unlock(&told.lock);
    close_stage(&stage);
    free(crews);
}

static bool is_alive(pid_t pid) {
    char path[40];
    char text[300] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    (void)!fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[2] != 'Z' && name_end[2] != 'X';
}

/* Processes of this one that have not ended, but for those. */
static unsigned count_children_but(const pid_t *known, size_t known_count, pid_t *ret) {
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *task; (task = readdir(folder)) != NULL;) {
        char path[300];
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/children", task->d_name);
        FILE *file = task->d_name[0] != '.' ? fopen(path, "re") : NULL;
        for (int pid; file != NULL && fscanf(file, "%d", &pid) == 1;) {
            bool is_known = false;
            for (size_t i = 0; i < known_count; i++) {
                is_known = is_known || known[i] == pid;
            }
            if (!is_known && is_alive(pid)) {
                *ret = pid;
                count++;
            }
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    (void)closedir(folder);
    return count;
}

/* The process of the worker that the first call of a crew starts. */
static pid_t start_by_call(struct crew *crew) {
    struct outcome outcome = call(crew, DEADLINE_MS, "{\"do\":\"echo\"}");
    assert_int_equal(outcome.code, 0);
    (void)pthread_mutex_lock(&told.lock);
    pid_t pid = told.pid;
    (void)pthread_mutex_unlock(&told.lock);
    return pid;
}

static void a_spare_process_is_the_next_worker(void **state) {
    (void)state;
    static const char *const own[] = {"OWN=variable", NULL};
    static const struct crew_options each[] = {{0}, {0}, {.environment = own}, {0}};
    enum { SPARE_IS_USED, SPARE_WAS_KILLED, HAS_ENVIRONMENT, IS_LAST };
    struct crew *crews[ARRAY_LENGTH(each)];
    pid_t pids[ARRAY_LENGTH(each) + 1];
    pid_t spare = 0;
    struct stage stage;
    keeps_spare = true;
    open_stage(&stage, &plain, false);
    keeps_spare = false;
    pids[0] = start_by_call(stage.crew);
    for (size_t i = 0; i < ARRAY_LENGTH(each); i++) {
        struct crew_options options = each[i];
        options.desc = stage.desc;
        options.path = "/nowhere.so";
        options.policy.limits.memory_bytes = UINT64_MAX;
        AWAIT(count_children_but(pids, i + 1, &spare) == 1);
        if (i == SPARE_WAS_KILLED) {
            assert_int_equal(kill(spare, SIGKILL), 0);
            AWAIT(count_children_but(pids, i + 1, &spare) == 0);
        }
        assert_int_equal(crew_create(stage.supervisor, &options, &crews[i], NULL), 0);
        pids[i + 1] = start_by_call(crews[i]);
        if (i == SPARE_IS_USED || i == IS_LAST) {
            assert_int_equal(pids[i + 1], spare);
        } else {
            assert_int_not_equal(pids[i + 1], spare);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(each); i++) {
        crew_unref(crews[i]);
    }
    wait_until_told(&told.gone, ARRAY_LENGTH(each));
    assert_int_equal(read_count(&told.died), 0);
    (void)pthread_mutex_lock(&told.lock);
    told.gone = 0;
    (void)pthread_mutex_unlock(&told.lock);
    close_stage(&stage); /* with the spare one */
}

/* The first worker's program is started before there is a crew, and no other one is. */
static void a_first_worker_that_is_prepared(void **state) {
    (void)state;
    static const char *const own[] = {"OWN=variable", NULL};
    struct stage stage;
    struct crew *other;
    pid_t pids[2];
    pid_t spare = 0;
    open_stage(&stage, &plain, false);
    supervisor_prepare(stage.supervisor);
    AWAIT(count_children_but(NULL, 0, &spare) == 1);
    pids[0] = start_by_call(stage.crew);
    assert_int_equal(pids[0], spare);
    supervisor_prepare(stage.supervisor);
    const struct crew_options options = {.desc = stage.desc,
                                         .path = "/nowhere.so",
                                         .environment = own, /* which a spare process has not */
                                         .policy.limits.memory_bytes = UINT64_MAX};
    assert_int_equal(crew_create(stage.supervisor, &options, &other, NULL), 0);
    pids[1] = start_by_call(other);
    assert_int_equal(count_children_but(pids, 2, &spare), 0);
    crew_unref(other);
    wait_until_told(&told.gone, 1);
    (void)pthread_mutex_lock(&told.lock);
    told.gone = 0;
    (void)pthread_mutex_unlock(&told.lock);
    close_stage(&stage);
}

static void what_it_prints(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &(struct crew_options){.limits = {.backoff_ms = 1}}, false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"print\",\"count\":3}");
    expect_json(&outcome, "null");
    wait_until_logged("stand-in: line 2\n");
    outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"exit\"}"); /* ends the half line */
    wait_until_logged("stand-in: half ? a line\n");
    wait_until_told(&told.died, 1);
    assert_string_equal(told.last_line, "half ? a line");

    outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"print\",\"count\":5000}");
    expect_json(&outcome, "null");
    wait_until_logged("4800 more lines were dropped");
    close_stage(&stage);
}

/* In one pipe with what it prints, of which no part is taken for a notice or lost. */
static void what_it_tells_beside(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &plain, false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"notices\"}");
    expect_json(&outcome, "null");
    wait_until_logged("forged\n");
    (void)pthread_mutex_lock(&told.lock);
    char expected[60];
    (void)snprintf(expected, sizeof expected, "%d first, %d -, %d second, ", NOTICE_UPDATED,
                   NOTICE_PROMPTS, NOTICE_UPDATED);
    assert_string_equal(told.noticed, expected);
    assert_non_null(strstr(told.logged, "stand-in: much much "));
    const char *line = strstr(told.logged, "stand-in: a line of  zeros  ");
    assert_non_null(line);
    assert_non_null(strstr(line, " and "));
    assert_int_equal(strcspn(line, "\n"),
                     strlen("stand-in: a line of  zeros  12 and 0123456789abcdefbforged"));
    (void)pthread_mutex_unlock(&told.lock);
    close_stage(&stage);
}

/* What a worker started ends with it. */
static void expect_children_to_end(void) {
    struct stage stage;
    open_stage(&stage, &plain, false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"spawn\"}");
    assert_int_equal(outcome.code, 0);
    pid_t pid = atoi(outcome.json);
    assert_true(is_alive(pid));
    outcome = call(stage.crew, DEADLINE_MS, "{\"do\":\"exit\"}");
    expect_error(&outcome, TOOLRACK_E_EXECUTION_FAILED, "exit status");
    AWAIT(!is_alive(pid)); /* somebody else's to reap; killed it is already */
    close_stage(&stage);
    assert_int_equal(read_count(&told.crashed), 1);
}

static void its_children_end_with_it(void **state) {
    (void)state;
    expect_children_to_end();
}

/* An app that ignores SIGCHLD takes the exit status away. */
static void an_app_that_reaps(void **state) {
    (void)state;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    expect_children_to_end();
    assert_non_null(strstr(told.reason, "another part of this program took its exit status"));
    (void)signal(SIGCHLD, before);
}

/* Starts the worker program when this process has ended, which has sent it all that it is to do. */
static _Noreturn void be_a_host_that_dies(void) {
    int pair[2];
    const struct frame_start start = {
            .plugin_id = "stand-in", .path = "/nowhere.so", .settings = "{}"};
    struct channel *channel = channel_create(NULL);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 || channel == NULL ||
        !protocol_send_fd(pair[0], channel_fd(channel)) || !send_start(channel, &start)) {
        _exit(EXIT_FAILURE);
    }
    pid_t host = getpid();
    if (fork() != 0) {
        _exit(EXIT_SUCCESS);
    }
    uint64_t since = 0;
    while (getppid() == host) {
        if (!patience_yield(&since)) {
            _exit(EXIT_FAILURE);
        }
    }
    (void)dup2(pair[1], WORKER_SOCKET);
    (void)dup2(STDERR_FILENO, WORKER_NOTICES);
    closefrom(WORKER_NOTICES + 1);
    (void)execl(getenv("TOOLRACK_WORKER"), "toolrack-worker", (char *)NULL);
    _exit(EXIT_FAILURE);
}

/* No signal comes of a death that was before it was asked for. */
static void a_host_that_died_at_once(void **state) {
    (void)state;
    int status = 0;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0); /* the worker comes to us */
    pid_t host = fork();
    if (host == 0) {
        be_a_host_that_dies();
    }
    assert_int_equal(patience_child(host, &status), host);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    assert_true(waitpid(-1, &status, 0) > 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), WORKER_EXIT_PROTOCOL);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* What a worker recommends is for the host's places. */
static void advice_of_a_worker_names_the_places(void **state) {
    (void)state;
    struct stage stage;
    struct command_places places;
    char folder[] = "/tmp/test-crew-XXXXXX";
    char link[64];
    char expected[128];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("/etc", link), 0);
    command_places_add(&places, NULL, "/srv/tools", NULL);
    worker_program = getenv("TOOLRACK_WORKER");
    open_stage(&stage,
               &(struct crew_options){.policy = {.write_paths = (const char *[]){folder},
                                                 .write_path_count = 1,
                                                 .hidden_paths = (const char *[]){link},
                                                 .hidden_path_count = 1}},
               false);
    struct outcome outcome = call(stage.crew, DEADLINE_MS, "{}");
    (void)snprintf(expected, sizeof expected,
                   "allowed: toolrack --state /srv/tools disallow stand-in write:%s; ", folder);
    expect_error(&outcome, TOOLRACK_E_IO, expected);
    close_stage(&stage);
    worker_program = STAND_IN_WORKER;
    command_places_remove(&places);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* However little memory there is: what failed says so, and nothing is left behind. */
static void without_memory(void **state) {
    (void)state;
    struct stage stage;
    open_stage(&stage, &plain, false);
    bool has_failed = true;
    for (unsigned n = 1; has_failed; n++) {
        struct crew *crew = NULL;
        struct caller caller = {0};
        int code = TOOLRACK_E_NO_MEMORY;
        failing_malloc_set(n);
        struct supervisor *supervisor = supervisor_create(
                &(struct supervisor_options){.worker_program = STAND_IN_WORKER}, NULL);
        if (supervisor != NULL) {
            code = crew_create(supervisor,
                               &(struct crew_options){.desc = stage.desc, .path = "/nowhere.so"},
                               &crew, NULL);
        }
        if (code == 0) {
            prepare(&caller, crew, DEADLINE_MS, "{\"do\":\"text\"}");
            (void)run_caller(&caller);
            code = caller.outcome.code;
        }
        crew_unref(crew);
        supervisor_destroy(supervisor);
        has_failed = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(code == 0 || has_failed);
        assert_true(code != TOOLRACK_E_TIMEOUT);
        assert_true(caller.outcome.ms < CREW_START_MS_DEFAULT); /* and not by waiting */
    }
    close_stage(&stage);
}

/* ------------------------------------------------------------------------ chaos */

#define CHAOS_CALLERS      8
#define CHAOS_CALLS        1250 /* each */
#define CHAOS_CALLS_A_KILL 50

static struct {
    struct crew *crew;
    atomic_int pids[64];
    atomic_uint allowed, done, results, failures, wrong;
    atomic_bool over;
} chaos;

/* Each answer is the number that was asked for; so one given twice or to another would show. */
static void *call_again_and_again(void *number) {
    unsigned base = (unsigned)(uintptr_t)number * CHAOS_CALLS;
    for (unsigned i = 0; i < CHAOS_CALLS; i++) {
        uint64_t since = 0;
        while (atomic_load(&chaos.done) >= atomic_load(&chaos.allowed)) {
            if (!patience_yield(&since)) {
                atomic_fetch_add(&chaos.wrong, 1);
                return NULL;
            }
        }
        char arguments[40];
        (void)snprintf(arguments, sizeof arguments, "{\"n\":%u}", base + i);
        struct outcome outcome = call(chaos.crew, DEADLINE_MS, arguments);
        if (outcome.code == 0 && strcmp(outcome.json, arguments) == 0) {
            atomic_fetch_add(&chaos.results, 1);
        } else if (outcome.code == TOOLRACK_E_EXECUTION_FAILED) {
            atomic_fetch_add(&chaos.failures, 1);
        } else {
            print_error("%d %s\n", outcome.code, outcome.error.message);
            atomic_fetch_add(&chaos.wrong, 1);
        }
        if (outcome.ms > DEADLINE_MS + 1000) {
            atomic_fetch_add(&chaos.wrong, 1);
        }
        atomic_fetch_add(&chaos.done, 1);
    }
    return NULL;
}

static void note_pid(void *user, void *crew_user, int pid, uint32_t layers) {
    (void)user;
    (void)crew_user;
    (void)layers;
    /* In a place of its own: a worker whose number is overwritten would never be killed, and where
     * nobody calls until somebody was, that is the end of all. */
    for (unsigned at = 0; at < ARRAY_LENGTH(chaos.pids); at++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&chaos.pids[at], &none, pid)) {
            return;
        }
    }
}

/* Kill a worker, if there is one. A process of ours that is not reaped keeps its number; one that
 * is may have lost it, so that only own children are killed. */
static bool kill_one(unsigned at) {
    int pid = atomic_exchange(&chaos.pids[at % ARRAY_LENGTH(chaos.pids)], 0);
    siginfo_t info = {0};
    return pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           kill(pid, SIGKILL) == 0;
}

/* Nobody to kill, and nobody who could make that change. */
static bool is_at_rest(void) {
    struct crew_status status = status_of(chaos.crew);
    return status.workers == 0 && status.waiting == 0 &&
           atomic_load(&chaos.done) >= atomic_load(&chaos.allowed);
}

/* One in CHAOS_CALLS_A_KILL calls, while the second half of them runs: the callers do not get
 * further ahead than that. */
static void *kill_again_and_again(void *unused) {
    (void)unused;
    for (unsigned at = 0; !atomic_load(&chaos.over); at++) {
        if (atomic_load(&chaos.done) + CHAOS_CALLS_A_KILL / 2 < atomic_load(&chaos.allowed)) {
            (void)sched_yield();
        } else if (kill_one(at) || is_at_rest()) {
            atomic_fetch_add(&chaos.allowed, CHAOS_CALLS_A_KILL);
        }
    }
    return NULL;
}

static void workers_killed_at_random(struct stage *stage, bool is_shared) {
    pthread_t threads[CHAOS_CALLERS + 1];
    open_stage(stage, &plain, is_shared);
    struct supervisor *supervisor = supervisor_create(
            &(struct supervisor_options){.worker_program = STAND_IN_WORKER, .started = note_pid},
            NULL);
    assert_non_null(supervisor);
    memset(&chaos, 0, sizeof chaos);
    atomic_store(&chaos.allowed, CHAOS_CALLS_A_KILL);
    assert_int_equal(crew_create(supervisor,
                                 &(struct crew_options){.desc = stage->desc,
                                                        .path = "/nowhere.so",
                                                        .limits = {.backoff_ms = 1,
                                                                   .backoff_ms_max = 2,
                                                                   .crashes_max = CREW_CRASHES_KEPT,
                                                                   .crashes_window_ms = 1}},
                                 &chaos.crew, NULL),
                     0);
    for (uintptr_t i = 0; i <= CHAOS_CALLERS; i++) {
        assert_int_equal(
                pthread_create(&threads[i], NULL,
                               i < CHAOS_CALLERS ? call_again_and_again : kill_again_and_again,
                               (void *)i),
                0);
    }
    for (unsigned i = 0; i < CHAOS_CALLERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    atomic_store(&chaos.over, true);
    assert_int_equal(pthread_join(threads[CHAOS_CALLERS], NULL), 0);
    assert_int_equal(atomic_load(&chaos.wrong), 0);
    assert_int_equal(atomic_load(&chaos.results) + atomic_load(&chaos.failures),
                     CHAOS_CALLERS * CHAOS_CALLS);
    assert_true(status_of(chaos.crew).crashes >= 50);
    assert_true(atomic_load(&chaos.results) > CHAOS_CALLERS * CHAOS_CALLS / 2);
    crew_unref(chaos.crew);
    supervisor_destroy(supervisor);
    close_stage(stage);
}

static void killed_at_random(void **state) {
    (void)state;
    struct stage stage;
    workers_killed_at_random(&stage, false);
}

static void killed_at_random_with_lanes(void **state) {
    (void)state;
    struct stage stage;
    workers_killed_at_random(&stage, true);
}

static void *do_nothing(void *unused) {
    return unused;
}

/* With the first thread a sanitizer starts one of its own, which stays. */
static int start_sanitizer(void **state) {
    pthread_t thread;
    (void)state;
    return pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0;
}

/* Crews are due by their times, whatever is added and taken out in between. */
#define DUE_CREWS 300u

static void what_is_due_comes_out_and_nothing_else(void **state) {
    (void)state;
    struct supervisor *due = calloc(1, sizeof *due);
    struct crew *crews = calloc(DUE_CREWS, sizeof *crews);
    uint32_t random = 1;
    assert_non_null(due);
    assert_non_null(crews);
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned i = 0; i < DUE_CREWS; i++) {
            random = random * 1664525u + 1013904223u;
            if (random >> 30 != 0) { /* three of four get another time, one of which is never */
                due_remove(due, &crews[i]);
                crews[i].due_ns = (random >> 8) % 1000;
                due_add(due, &crews[i]);
            }
        }
        uint64_t now_ns = (random >> 4) % 400;
        unsigned expected = 0;
        for (unsigned i = 0; i < DUE_CREWS; i++) {
            expected += crews[i].due_at != NULL && crews[i].due_ns <= now_ns;
            assert_int_equal(crews[i].due_at != NULL, crews[i].due_ns != 0);
        }
        for (struct crew *crew = due_take(due, now_ns); crew != NULL; crew = crew->due_next) {
            assert_in_range(crew->due_ns, 1, now_ns);
            crew->due_ns = 0;
            expected--;
        }
        assert_int_equal(expected, 0);
        assert_true(due->due == NULL || due->due->due_ns > now_ns);
    }
    free(crews);
    free(due);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_is_due_comes_out_and_nothing_else),
            cmocka_unit_test(a_call_and_its_reply),
            cmocka_unit_test(an_environment_of_its_own),
            cmocka_unit_test(grows_and_shrinks),
            cmocka_unit_test(lanes_before_workers),
            cmocka_unit_test(first_come_first_served),
            cmocka_unit_test(a_deadline_that_is_heard),
            cmocka_unit_test(a_deadline_that_is_ignored),
            cmocka_unit_test(a_neighbour_of_one_that_was_cancelled),
            cmocka_unit_test(a_neighbour_of_one_that_hangs),
            cmocka_unit_test(no_call_joins_one_that_lingers),
            cmocka_unit_test(cancelling_again_and_again),
            cmocka_unit_test(one_that_lingers_and_ends),
            cmocka_unit_test(interrupted),
            cmocka_unit_test(a_crash_in_a_call),
            cmocka_unit_test(too_much_cpu_time),
            cmocka_unit_test(nonsense),
            cmocka_unit_test(content_is_what_a_tool_can_reply_with),
            cmocka_unit_test(a_forged_failure_is_the_workers_word),
            cmocka_unit_test(a_crash_between_calls),
            cmocka_unit_test(a_crash_while_starting),
            cmocka_unit_test(in_quarantine_from_the_beginning),
            cmocka_unit_test(a_start_that_is_refused),
            cmocka_unit_test(a_start_that_does_not_end),
            cmocka_unit_test(ready_after_its_end),
            cmocka_unit_test(a_start_of_nonsense),
            cmocka_unit_test(no_worker_program),
            cmocka_unit_test(no_descriptor_for_a_worker),
            cmocka_unit_test(a_crash_while_closing),
            cmocka_unit_test(one_that_does_not_close),
            cmocka_unit_test(closing_while_one_starts),
            cmocka_unit_test(closing_while_a_lane_opens),
            cmocka_unit_test(closing_while_a_lane_does_not_open),
            cmocka_unit_test(many_workers),
            cmocka_unit_test(a_spare_process_is_the_next_worker),
            cmocka_unit_test(a_first_worker_that_is_prepared),
            cmocka_unit_test(what_it_prints),
            cmocka_unit_test(what_it_tells_beside),
            cmocka_unit_test(its_children_end_with_it),
            cmocka_unit_test(a_host_that_died_at_once),
            cmocka_unit_test(advice_of_a_worker_names_the_places),
            cmocka_unit_test(an_app_that_reaps),
            cmocka_unit_test(without_memory),
            cmocka_unit_test(killed_at_random),
            cmocka_unit_test(killed_at_random_with_lanes),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, start_sanitizer, NULL);
}
