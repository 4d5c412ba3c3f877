/* What the embedding API says of isolated plugins, and what an app may count on: through a host
 * with its default isolation, real workers and the plugins `granted` (tests/plugins) and those of
 * the zoo. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "patience.h"
#include "remove-tree.h"
#include "toolrack/toolrack.h"

/* Long enough for a machine that does much else; and far less than what a slow call would take. */
#define DEADLINE_MS 20000u
#define SLOW_CALLS  200u

/* ------------------------------------------------------------------ the stage */

static char work[64];
static struct toolrack *host;

/* What came by the callbacks. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned events[TOOLRACK_EVENT_STOPPED + 1];
    unsigned done, failed, cancelled, succeeded, running;
    char logged[16384];
    unsigned progresses;
    bool holds; /* what is told of a crash waits until it is false */
} told = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void when_event(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)pthread_mutex_lock(&told.lock);
    told.events[event->kind]++;
    (void)pthread_cond_broadcast(&told.changed);
    while (told.holds && event->kind == TOOLRACK_EVENT_CRASHED) {
        (void)pthread_cond_wait(&told.changed, &told.lock);
    }
    (void)pthread_mutex_unlock(&told.lock);
}

static void hold_crashes(bool holds) {
    (void)pthread_mutex_lock(&told.lock);
    told.holds = holds;
    (void)pthread_cond_broadcast(&told.changed);
    (void)pthread_mutex_unlock(&told.lock);
}

static void when_logged(void *user, enum toolrack_log_level level, const char *source,
                        const char *line) {
    (void)user;
    (void)pthread_mutex_lock(&told.lock);
    size_t length = strlen(told.logged);
    (void)snprintf(told.logged + length, sizeof told.logged - length, "%d %s: %s\n", (int)level,
                   source, line);
    (void)pthread_mutex_unlock(&told.lock);
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

static const char *in_work(const char *name, char room[128]) {
    (void)snprintf(room, 128, "%s/%s", work, name);
    return room;
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* A copy of a plugin, with `extra` bytes behind its end: another file, the same plugin. */
static void install(const char *folder, const char *name, const char *to, size_t extra) {
    char from[300];
    char path[128];
    char bytes[4096];
    (void)snprintf(from, sizeof from, "%s/%s.so", folder, name);
    FILE *in = fopen(from, "re");
    FILE *out = fopen(in_work(to, path), "we");
    if (in == NULL || out == NULL) {
        fail_msg("cannot copy %s to %s", from, path);
    }
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;) {
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    }
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(fwrite(bytes, 1, extra, out), extra);
    (void)fclose(in);
    assert_int_equal(fclose(out), 0);
}

static int set_up(void **state) {
    static const char *const folders[] = {"plugins", "more", "in", "out", "state"};
    char path[128];
    (void)state;
    (void)snprintf(work, sizeof work, "/tmp/toolrack-isolation-XXXXXX");
    assert_non_null(mkdtemp(work));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        assert_int_equal(mkdir(in_work(folders[i], path), 0700), 0);
    }
    install(getenv("E2E_GRANTED"), "granted", "plugins/granted.so", 0);
    install(getenv("E2E_ZOO"), "zoo_sleep", "plugins/zoo_sleep.so", 0);
    install(getenv("E2E_ZOO"), "zoo_echo", "plugins/zoo_echo.so", 0);
    install(getenv("E2E_ZOO"), "zoo_threadsafe_sleep", "plugins/zoo_threadsafe_sleep.so", 0);
    memset(told.events, 0, sizeof told.events);
    told.done = told.failed = told.cancelled = told.succeeded = told.running = told.progresses = 0;
    told.logged[0] = '\0';
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    hold_crashes(false); /* after a case that failed */
    toolrack_close(host);
    host = NULL;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, not even a dead one */
    return remove_tree(work);
}

/* A host with one policy for the plugin `granted`, and members of the configuration. */
static void open_host(const char *granted, const char *members) {
    char config[1024];
    char path[128];
    char plugins[128];
    char state[128];
    struct toolrack_error *err = toolrack_error_create();
    const char *const folders[] = {in_work("plugins", plugins), NULL};
    (void)snprintf(config, sizeof config,
                   "{\"paths\": {\"workspace\": \"%s\"}, \"policies\": {\"granted\": {%s}}%s}",
                   work, granted, members);
    write_text(in_work("toolrack.json", path), config);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = path;
    options.state_dir = in_work("state", state);
    options.plugin_dirs = strstr(members, "folders") != NULL ? NULL : folders;
    options.event = when_event;
    options.log = when_logged;
    options.log_level = TOOLRACK_LOG_WARNING;
    if (toolrack_open(&options, &host, err) < 0) {
        fail_msg("%s", toolrack_error_message(err));
    }
    toolrack_error_free(err);
}

static void reopen_host(const char *granted) {
    toolrack_close(host);
    open_host(granted, "");
}

/* ------------------------------------------------------------------ calls */

struct outcome {
    int code;
    int signal;
    char text[768]; /* the result's JSON, or the message */
};

static struct outcome call_with(const char *tool, const char *arguments,
                                struct toolrack_call_options options) {
    struct toolrack_result *result = NULL;
    struct toolrack_error *err = toolrack_error_create();
    struct outcome outcome;
    outcome.code = toolrack_call(host, tool, arguments, &options, &result, err);
    outcome.signal = toolrack_error_signal(err);
    (void)snprintf(outcome.text, sizeof outcome.text, "%s",
                   outcome.code == 0 ? toolrack_result_json(result, NULL)
                                     : toolrack_error_message(err));
    toolrack_result_free(result);
    toolrack_error_free(err);
    return outcome;
}

static struct outcome call(const char *tool, const char *arguments) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = DEADLINE_MS;
    return call_with(tool, arguments, options);
}

static void expect(struct outcome outcome, int code, const char *says) {
    if (outcome.code != code || strstr(outcome.text, says) == NULL) {
        fail_msg("expected %s saying '%s', got %s: %s", toolrack_code_name(code), says,
                 toolrack_code_name(outcome.code), outcome.text);
    }
}

/* Try to open a file below the work folder, from inside the plugin. */
static void expect_open(const char *name, bool write, const char *result) {
    char arguments[256];
    (void)snprintf(arguments, sizeof arguments, "{\"path\": \"%s/%s\", \"write\": %s}", work, name,
                   write ? "true" : "false");
    expect(call("granted_open", arguments), 0, result);
}

/* A value in what the host says about a tool, by JSON Pointer; -1 where there is none. */
static int64_t describe(const char *tool, const char *pointer, char text[200]) {
    struct toolrack_text *said = NULL;
    size_t length = 0;
    assert_int_equal(toolrack_describe_isolation(host, tool, &said, NULL), 0);
    const char *json = toolrack_text_data(said, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *value = yyjson_doc_ptr_get(doc, pointer);
    int64_t number = yyjson_is_int(value)    ? yyjson_get_sint(value)
                     : yyjson_is_arr(value)  ? (int64_t)yyjson_arr_size(value)
                     : yyjson_is_bool(value) ? yyjson_get_bool(value)
                                             : -1;
    if (text != NULL) {
        (void)snprintf(text, 200, "%s", yyjson_is_str(value) ? yyjson_get_str(value) : "");
    }
    yyjson_doc_free(doc);
    toolrack_text_unref(said);
    return number;
}

static void wait_until_described(const char *tool, const char *pointer, int64_t number) {
    AWAIT(describe(tool, pointer, NULL) == number);
}

static char *why(const char *name) {
    struct toolrack_text *said = NULL;
    assert_int_equal(toolrack_why(host, name, &said, NULL), 0);
    char *copy = strdup(toolrack_text_data(said, NULL));
    assert_non_null(copy);
    toolrack_text_unref(said);
    return copy;
}

static void expect_why(const char *name, const char *says) {
    char *text = why(name);
    if (strstr(text, says) == NULL) {
        fail_msg("'%s' is not in %s", says, text);
    }
    free(text);
}

static bool is_told_why(const char *name, const char *says) {
    char *text = why(name);
    bool is_told = strstr(text, says) != NULL;
    free(text);
    return is_told;
}

/* That a worker was stopped is written while its last call is answered, not before. */
static void await_why(const char *name, const char *says) {
    AWAIT(is_told_why(name, says));
}

/* ------------------------------------------------------------------ grants */

#define ALLOW_ALL "\"allow\": [\"*\"]"

static void granted_folders_are_real_ones(void **state) {
    char path[128];
    (void)state;
    write_text(in_work("in/data", path), "x");
    write_text(in_work("secret", path), "x");
    assert_int_equal(symlink("../secret", in_work("in/link", path)), 0);
    open_host(ALLOW_ALL, "");
    if (describe("granted_open", "/sandbox/missing", NULL) != 0) {
        skip(); /* loud: cmocka says so */
    }
    expect_open("in/data", false, "done");
    expect_open("in/data", true, "EACCES");
    expect_open("in/link", false, "EACCES");
    expect_open("out/new", true, "done");
    expect_open("out/new", false, "done");
    expect_open("secret", false, "EACCES");
    expect_open("state/toolrack.db", true, "EACCES");
    expect_open("out/../secret", false, "EACCES");
}

static void nothing_is_granted_that_is_not_allowed(void **state) {
    char path[128];
    (void)state;
    write_text(in_work("in/data", path), "x");
    (void)setenv("GRANTED_VARIABLE", "its value", 1);
    (void)setenv("GRANTED_OTHER", "not for it", 1);
    open_host("\"allow\": [\"env\"]", "");
    expect_open("in/data", false, "EACCES");
    expect_open("out/new", true, "EACCES");
    expect(call("granted_env", "{\"name\": \"GRANTED_VARIABLE\"}"), 0, "its value");
    expect(call("granted_env", "{\"name\": \"GRANTED_OTHER\"}"), 0, "(none)");
    expect(call("granted_env", "{\"name\": \"HOME\"}"), 0, "(none)");
    expect(call("granted_start", "{}"), 0, "EPERM");
    assert_int_equal(describe("granted_open", "/capabilities", NULL), 4);
    assert_int_equal(describe("granted_open", "/capabilities/0/allowed", NULL), 0);
    assert_int_equal(describe("granted_open", "/capabilities/3/allowed", NULL), 1);
}

/* ------------------------------------------------------------------ where it runs */

static int pid_of_tool(void) {
    struct outcome outcome = call("granted_pid", NULL);
    assert_int_equal(outcome.code, 0);
    return atoi(outcome.text + 1);
}

static char *make_list(const char *item, size_t count) {
    size_t length = strlen(item);
    char *text = malloc(count * (length + 1) + sizeof "{\"list\":[]}");
    assert_non_null(text);
    char *to = stpcpy(text, "{\"list\":[");
    for (size_t i = 0; i < count; i++) {
        to = stpcpy(stpcpy(to, i > 0 ? "," : ""), item);
    }
    (void)strcpy(to, "]}");
    return text;
}

/* A few values, and so many that they are sent as text. */
static void arguments_of_any_number_arrive(void **state) {
    (void)state;
    static const char *const items[] = {"1", "\"\\n\xc3\xa9\"", "123456789012345678901234567890"};
    static const size_t counts[] = {0, 1, 1000, 300000};
    open_host("", "");
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        for (size_t j = 0; j < sizeof counts / sizeof counts[0]; j++) {
            struct toolrack_result *result = NULL;
            char *text = make_list(items[i], counts[j]);
            assert_int_equal(toolrack_call(host, "zoo_echo_json", text, NULL, &result, NULL), 0);
            assert_string_equal(toolrack_result_json(result, NULL), text);
            toolrack_result_free(result);
            free(text);
        }
    }
}

/* The same file in two folders, one for each way: what runs it is not the plugin's to say. */
static void isolation_is_a_matter_of_the_folder(void **state) {
    static const char *const ways[] = {"none", "process"};
    char members[300];
    char text[200];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(members, sizeof members,
                       ", \"folders\": [{\"path\": \"%s/plugins\", \"isolation\": \"%s\"}]", work,
                       ways[i]);
        open_host("", members);
        assert_int_equal(pid_of_tool() == getpid(), i == 0);
        (void)describe("granted_pid", "/isolation", text);
        assert_string_equal(text, ways[i]);
        toolrack_close(host);
        host = NULL;
    }
    /* The policy of the plugin goes before that of its folder. */
    open_host("\"isolation\": \"process\"", ", \"isolation\": \"none\"");
    assert_true(pid_of_tool() != getpid());
}

/* ------------------------------------------------------------------ what a call does meanwhile */

static void on_progress(void *user, double done, double total, const char *message) {
    (void)user;
    assert_true(done == 1 && total == 2);
    assert_string_equal(message, "half of it");
    told.progresses++;
}

static int on_question(void *user, const char *message, const char *schema, char **ret_content) {
    (void)schema;
    assert_string_equal(message, "Go on?");
    if (user != NULL) {
        static const char yes[] = "{\"yes\": true}";
        *ret_content = toolrack_alloc(sizeof yes);
        memcpy(*ret_content, yes, sizeof yes);
    }
    return user != NULL ? TOOLRACK_ANSWER_ACCEPTED : TOOLRACK_ANSWER_DECLINED;
}

static void a_worker_reports_and_asks(void **state) {
    (void)state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = DEADLINE_MS;
    options.progress = on_progress;
    options.ask = on_question;
    options.user = &options;
    open_host("", "");
    expect(call_with("granted_talk", NULL, options), 0, "{\"yes\": true}");
    assert_int_equal(told.progresses, 1);
    assert_non_null(strstr(told.logged, "2 granted: said so"));
    options.user = NULL;
    expect(call_with("granted_talk", NULL, options), TOOLRACK_E_EXECUTION_FAILED, "nobody agreed");
    options.ask = NULL;
    expect(call_with("granted_talk", NULL, options), TOOLRACK_E_EXECUTION_FAILED, "nobody agreed");
}

/* ------------------------------------------------------------------ submitted calls */

static void when_done(void *user, struct toolrack_result *result,
                      const struct toolrack_error *err) {
    (void)user;
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&told.lock);
    told.done++;
    told.succeeded += err == NULL;
    told.failed += err != NULL;
    told.cancelled += err != NULL && toolrack_error_code(err) == TOOLRACK_E_CANCELLED;
    (void)pthread_cond_broadcast(&told.changed);
    (void)pthread_mutex_unlock(&told.lock);
}

static void submit(const char *tool, const char *arguments, struct toolrack_call **ret) {
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = 60000;
    if (toolrack_submit(host, tool, arguments, &options, when_done, NULL, ret, err) < 0) {
        fail_msg("%s", toolrack_error_message(err));
    }
    toolrack_error_free(err);
}

static void when_running(void *user, double done, double total, const char *message) {
    (void)user;
    (void)done;
    (void)total;
    (void)message;
    (void)pthread_mutex_lock(&told.lock);
    told.running++;
    (void)pthread_cond_broadcast(&told.changed);
    (void)pthread_mutex_unlock(&told.lock);
}

/* Submit a call that reports progress when it runs, and wait for that. */
static void submit_and_await(const char *tool, uint32_t deadline_ms, struct toolrack_call **ret) {
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    unsigned running = told.running;
    options.deadline_ms = deadline_ms;
    options.progress = when_running;
    if (toolrack_submit(host, tool, "{}", &options, when_done, NULL, ret, err) < 0) {
        fail_msg("%s", toolrack_error_message(err));
    }
    toolrack_error_free(err);
    wait_until_told(&told.running, running + 1);
}

static void cancel(struct toolrack_call **calls, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        toolrack_cancel(calls[i]);
        toolrack_call_unref(calls[i]);
    }
    wait_until_told(&told.done, count);
    assert_int_equal(told.cancelled, count);
}

/* All of them end at once: those in a worker, those in line for one, and those in the queue. */
static void a_slow_plugin_delays_nobody(void **state) {
    static struct toolrack_call *calls[SLOW_CALLS];
    (void)state;
    open_host("", "");
    for (unsigned i = 0; i < SLOW_CALLS; i++) {
        submit("zoo_sleep", "{\"ms\": 60000}", &calls[i]);
    }
    wait_until_described("zoo_sleep", "/busy", 4);
    struct toolrack_call *other = NULL;
    submit("zoo_echo", "{\"text\": \"quick\"}", &other);
    wait_until_told(&told.done, 1); /* it alone: the others sleep for a minute */
    assert_int_equal(told.cancelled, 0);
    toolrack_call_unref(other);
    told.done = 0;
    cancel(calls, SLOW_CALLS);
    expect(call("zoo_sleep", "{\"ms\": 1}"), 0, "1");
}

static void calls_that_are_submitted_end_when_the_host_closes(void **state) {
    struct toolrack_call *calls[8];
    (void)state;
    open_host("", "");
    for (unsigned i = 0; i < 8; i++) {
        submit("zoo_sleep", "{\"ms\": 60000}", &calls[i]);
    }
    wait_until_described("zoo_sleep", "/busy", 4);
    toolrack_close(host);
    host = NULL;
    assert_int_equal(told.cancelled, 8);
    for (unsigned i = 0; i < 8; i++) {
        toolrack_call_unref(calls[i]);
    }
}

static void a_thread_safe_plugin_runs_calls_at_a_time_in_one_process(void **state) {
    struct toolrack_call *calls[4];
    (void)state;
    open_host("", "");
    for (unsigned i = 0; i < 4; i++) {
        submit("zoo_threadsafe_sleep", "{\"ms\": 60000}", &calls[i]);
    }
    wait_until_described("zoo_threadsafe_sleep", "/busy", 4);
    assert_int_equal(describe("zoo_threadsafe_sleep", "/workers", NULL), 1);
    cancel(calls, 4);
}

/* A call that goes on after its end does not end those of others in its process, nor do calls that
 * begin meanwhile fail. `deadline_ms`: its end is its deadline; 0: it is cancelled. */
static void expect_neighbour_to_end(uint32_t deadline_ms) {
    struct toolrack_call *neighbour = NULL;
    struct toolrack_call *deaf = NULL;
    install(getenv("E2E_ZOO"), "zoo_deaf", "plugins/zoo_deaf.so", 0);
    open_host("", "");
    submit_and_await("zoo_deaf_neighbour", DEADLINE_MS, &neighbour);
    submit_and_await("zoo_deaf", deadline_ms != 0 ? deadline_ms : DEADLINE_MS, &deaf);
    if (deadline_ms == 0) {
        toolrack_cancel(deaf);
    }
    wait_until_told(&told.failed, 1); /* on a busy machine the neighbour may end before it */
    assert_int_equal(told.cancelled, deadline_ms == 0);
    expect(call("zoo_deaf_ok", NULL), 0, "42");
    wait_until_told(&told.succeeded, 1); /* it has seen that the other one went on for too long */
    assert_int_equal(told.failed, 1);
    wait_until_described("zoo_deaf", "/workers", 1);
    toolrack_call_unref(neighbour);
    toolrack_call_unref(deaf);
}

static void a_cancelled_call_harms_none_beside_it(void **state) {
    (void)state;
    expect_neighbour_to_end(0);
}

static void a_late_call_harms_none_beside_it(void **state) {
    (void)state;
    expect_neighbour_to_end(1000);
}

/* ------------------------------------------------------------------ limits */

static void each_limit_has_its_own_words(void **state) {
    char arguments[256];
    (void)state;
    open_host(ALLOW_ALL ", \"file_mb\": 1, \"cpu_s\": 1, \"files\": 16", "");
    assert_int_equal(describe("granted_fill", "/limits/file_mb", NULL), 1);
    (void)snprintf(arguments, sizeof arguments, "{\"path\": \"%s/out/big\", \"mib\": 2}", work);
    expect(call("granted_fill", arguments), 0, "EFBIG");
    expect(call("granted_burn", NULL), TOOLRACK_E_EXECUTION_FAILED,
           "used more than the 1 s of CPU time allowed (SIGXCPU)");
}

/* ------------------------------------------------------------------ crashes and quarantine */

#define BRIEF "\"backoff_ms\": 1, \"backoff_max_ms\": 1"

static void crash_three_times(void) {
    for (unsigned i = 1; i <= 3; i++) {
        struct outcome outcome = call("granted_crash", NULL);
        expect(outcome, TOOLRACK_E_EXECUTION_FAILED, "SIGSEGV");
        assert_int_equal(outcome.signal, SIGSEGV);
        wait_until_told(&told.events[TOOLRACK_EVENT_CRASHED], i);
    }
    wait_until_told(&told.events[TOOLRACK_EVENT_QUARANTINED], 1);
}

/* The first worker opens, and the one that takes its place does not. */
static void a_second_open_that_fails_is_told(void **state) {
    char closed[128];
    char members[256];
    (void)state;
    (void)in_work("in/closed", closed);
    (void)snprintf(members, sizeof members, ", \"plugins\": {\"granted\": {\"closed\": \"%s\"}}",
                   closed);
    open_host(BRIEF ", \"allow\": [\"read\"]", members);
    expect(call("granted_pid", NULL), 0, "");
    write_text(closed, "");
    expect(call("granted_pid", NULL), 0, ""); /* it is open */
    expect(call("granted_crash", NULL), TOOLRACK_E_EXECUTION_FAILED, "SIGSEGV");
    expect(call("granted_pid", NULL), TOOLRACK_E_EXECUTION_FAILED, "closed while a file is there");
    wait_until_told(&told.events[TOOLRACK_EVENT_FAILED], 1);
    expect_why("granted", "\"state\":\"failed\"");
    expect_why("granted", "closed while a file is there");
    expect(call("zoo_echo", "{\"text\": \"a\"}"), 0, "a");

    /* After a restart it is known, and nothing but a release is needed when the cause is gone. */
    toolrack_close(host);
    open_host(BRIEF ", \"allow\": [\"read\"]", members);
    expect_why("granted", "\"state\":\"failed\"");
    assert_int_equal(unlink(closed), 0);
    assert_int_equal(toolrack_release(host, "granted", NULL, NULL), 0);
    expect(call("granted_pid", NULL), 0, "");
    expect_why("granted", "\"state\":\"loaded\"");
}

static void three_crashes_put_a_plugin_in_quarantine(void **state) {
    (void)state;
    open_host(BRIEF, "");
    expect_why("granted_pid", "\"state\":\"needs\"");
    expect(call("granted_pid", NULL), 0, "");
    assert_int_equal(told.events[TOOLRACK_EVENT_LOADED], 1);
    crash_three_times();
    expect(call("granted_pid", NULL), TOOLRACK_E_EXECUTION_FAILED, "quarantine");
    struct toolrack_result *none = NULL;
    struct toolrack_error *held = toolrack_error_create();
    assert_int_equal(toolrack_call(host, "granted_pid", "{}", NULL, &none, held),
                     TOOLRACK_E_EXECUTION_FAILED);
    assert_false(toolrack_error_is_recoverable(held)); /* before somebody releases it */
    toolrack_error_free(held);
    expect(call("zoo_echo", "{\"text\": \"a\"}"), 0, "a");
    expect_why("granted", "\"state\":\"quarantined\"");
    expect_why("granted", "\"tool\":\"granted_crash\"");
    expect_why("granted", "\"signal\":\"SIGSEGV\"");
    expect_why("granted", "follow_null");
    expect_why("granted", "about to follow a null pointer");
    expect_why("granted", "\"event\":\"quarantined\",\"text\":\"3 crashes within ");

    /* In the next process as well. */
    reopen_host(BRIEF);
    expect_why("granted", "\"state\":\"quarantined\"");
    expect(call("granted_pid", NULL), TOOLRACK_E_EXECUTION_FAILED, "quarantine");

    assert_int_equal(toolrack_release(host, "zoo_echo", NULL, NULL), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_release(host, "granted_pid", NULL, NULL), 0);
    assert_int_equal(told.events[TOOLRACK_EVENT_RELEASED], 1);
    expect(call("granted_pid", NULL), 0, "");
    expect_why("granted", "\"state\":\"loaded\"");
    assert_int_equal(toolrack_release(host, "granted", NULL, NULL), TOOLRACK_E_NOT_FOUND);
    reopen_host(BRIEF);
    expect(call("granted_pid", NULL), 0, "");
}

/* Whoever is slow to take the events: the answer of the call that caused it comes before these. */
static void a_quarantine_is_known_with_the_answer(void **state) {
    (void)state;
    open_host(BRIEF, "");
    for (unsigned i = 1; i <= 2; i++) {
        expect(call("granted_crash", NULL), TOOLRACK_E_EXECUTION_FAILED, "SIGSEGV");
        wait_until_told(&told.events[TOOLRACK_EVENT_CRASHED], i);
    }
    hold_crashes(true);
    expect(call("granted_crash", NULL), TOOLRACK_E_EXECUTION_FAILED, "SIGSEGV");
    expect_why("granted", "\"state\":\"quarantined\"");
    expect_why("granted", "\"event\":\"quarantined\",\"text\":\"3 crashes within ");
    assert_int_equal(toolrack_release(host, "granted", NULL, NULL), 0);
    hold_crashes(false);
    wait_until_told(&told.events[TOOLRACK_EVENT_QUARANTINED], 1);
    expect(call("granted_pid", NULL), 0, "");
    expect_why("granted", "\"state\":\"loaded\"");
}

/* A command lives for one call; its crashes count all the same. */
static void crashes_of_several_hosts_add_up(void **state) {
    (void)state;
    open_host(BRIEF, "");
    for (unsigned i = 0; i < 3; i++) {
        expect(call("granted_crash", NULL), TOOLRACK_E_EXECUTION_FAILED, "SIGSEGV");
        reopen_host(BRIEF);
    }
    expect_why("granted", "3 crashes within 60 s");
    expect(call("granted_pid", NULL), TOOLRACK_E_EXECUTION_FAILED, "quarantine");
    assert_int_equal(toolrack_release(host, "granted", NULL, NULL), 0);
    reopen_host(BRIEF);
    expect(call("granted_crash", NULL), TOOLRACK_E_EXECUTION_FAILED, "SIGSEGV");
    reopen_host(BRIEF);
    expect(call("granted_pid", NULL), 0, "");
    /* Those count that came in the second of the release. */
    for (unsigned i = 0; i < 2; i++) {
        expect(call("granted_crash", NULL), TOOLRACK_E_EXECUTION_FAILED, "SIGSEGV");
        reopen_host(BRIEF);
    }
    expect(call("granted_pid", NULL), TOOLRACK_E_EXECUTION_FAILED, "quarantine");
}

static void a_file_that_was_changed_is_free(void **state) {
    (void)state;
    open_host(BRIEF, "");
    crash_three_times();
    toolrack_close(host);
    host = NULL;
    install(getenv("E2E_GRANTED"), "granted", "plugins/granted.so", 1);
    open_host(BRIEF, "");
    expect(call("granted_pid", NULL), 0, "");
}

/* ------------------------------------------------------------------ a host that is killed */

/* A host with a worker that is busy, and one that has started others that stay. */
static _Noreturn void be_a_host(int told_fd) {
    struct toolrack_call *slow = NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_host(ALLOW_ALL, "");
    submit("zoo_sleep", "{\"ms\": 60000}", &slow);
    uint64_t since = 0;
    while (describe("zoo_sleep", "/busy", NULL) != 1) {
        if (!patience_yield(&since)) {
            _exit(EXIT_FAILURE);
        }
    }
    struct outcome outcome = call("granted_start", "{\"count\": 4}");
    (void)write(told_fd, outcome.text, strlen(outcome.text));
    for (;;) {
        (void)pause();
    }
}

/* This process adopts whatever has no parent any more, so waiting for all of it ends only when
 * nothing is left. */
static void nothing_outlives_a_host_that_is_killed(void **state) {
    int fds[2];
    char text[100] = "";
    unsigned ended = 0;
    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        be_a_host(fds[1]);
    }
    (void)close(fds[1]);
    struct pollfd answer = {.fd = fds[0], .events = POLLIN};
    bool has_answered =
            poll(&answer, 1, 2 * PATIENCE_S * 1000) == 1 && read(fds[0], text, sizeof text - 1) > 0;
    (void)close(fds[0]);
    assert_int_equal(kill(pid, SIGKILL), 0);
    int status = 0;
    uint64_t since = 0;
    for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) >= 0;) {
        if (child > 0) {
            assert_true(!has_answered || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
            ended++;
        } else if (!patience_yield(&since)) {
            fail_msg("a process of the host still runs %d s after the host was killed", PATIENCE_S);
        }
    }
    assert_int_equal(errno, ECHILD);
    if (!has_answered) {
        fail_msg("the host's two calls did not begin; is %s there?", getenv("TOOLRACK_WORKER"));
    }
    assert_non_null(strstr(text, "done"));
    assert_true(ended >= 1 + 2 + 4); /* the host, two workers, four others, and what these began */
}

/* A thread that is left behind and spins ends its worker; one that may, goes on. */
static void cpu_time_between_calls_has_a_budget(void **state) {
    (void)state;
    install(getenv("E2E_ZOO"), "zoo_thread_spins", "plugins/zoo_thread_spins.so", 0);
    open_host("}, \"zoo_thread_spins\": {\"idle_cpu_percent\": 100000", "");
    expect(call("zoo_thread_spins", "{}"), 0, "42");
    toolrack_close(host);
    assert_int_equal(told.events[TOOLRACK_EVENT_STOPPED], 0);
    open_host("", "");
    expect(call("zoo_thread_spins", "{}"), 0, "42");
    wait_until_told(&told.events[TOOLRACK_EVENT_STOPPED], 1);
    await_why("zoo_thread_spins", "idle_cpu_percent");
    /* It is a limit, and no crash. */
    await_why("zoo_thread_spins", "\"event\":\"stopped\"");
    char *text = why("zoo_thread_spins");
    assert_null(strstr(text, "\"event\":\"crash\""));
    free(text);
    expect(call("zoo_thread_spins_ok", "{}"), 0, "42");
    assert_int_equal(told.events[TOOLRACK_EVENT_CRASHED], 0);
}

/* Processes of a moment each, which are waited for or not. */
static void cpu_time_of_what_ended_counts(void **state) {
    static const char *const arguments[] = {"{\"how\": \"waits\"}", "{\"how\": \"not\"}"};
    (void)state;
    install(getenv("E2E_GRANTED"), "relay", "plugins/relay.so", 0);
    for (unsigned i = 0; i < 2; i++) {
        open_host("}, \"relay\": {\"allow\": [\"spawn\"], \"idle_ms\": 3600000", "");
        expect(call("relay_start", arguments[i]), 0, "started");
        wait_until_told(&told.events[TOOLRACK_EVENT_STOPPED], i + 1);
        toolrack_close(host);
        host = NULL;
        while (waitpid(-1, NULL, 0) > 0) { /* what the relay left comes to the test */
        }
    }
}

static void the_signal_of_the_cpu_limit_cannot_be_ignored(void **state) {
    (void)state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    install(getenv("E2E_ZOO"), "zoo_ignores_xcpu", "plugins/zoo_ignores_xcpu.so", 0);
    open_host("}, \"zoo_ignores_xcpu\": {\"cpu_s\": 1", "");
    expect(call_with("zoo_ignores_xcpu", "{}", options), TOOLRACK_E_EXECUTION_FAILED,
           "1 s of CPU time allowed, and ignored SIGXCPU");
    await_why("zoo_ignores_xcpu", "ignored SIGXCPU");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
            TEST(nothing_outlives_a_host_that_is_killed), /* first: it forks */
            TEST(granted_folders_are_real_ones),
            TEST(nothing_is_granted_that_is_not_allowed),
            TEST(arguments_of_any_number_arrive),
            TEST(isolation_is_a_matter_of_the_folder),
            TEST(a_worker_reports_and_asks),
            TEST(a_slow_plugin_delays_nobody),
            TEST(calls_that_are_submitted_end_when_the_host_closes),
            TEST(a_thread_safe_plugin_runs_calls_at_a_time_in_one_process),
            TEST(a_cancelled_call_harms_none_beside_it),
            TEST(a_late_call_harms_none_beside_it),
            TEST(each_limit_has_its_own_words),
            TEST(a_second_open_that_fails_is_told),
            TEST(three_crashes_put_a_plugin_in_quarantine),
            TEST(a_quarantine_is_known_with_the_answer),
            TEST(crashes_of_several_hosts_add_up),
            TEST(a_file_that_was_changed_is_free),
            TEST(cpu_time_between_calls_has_a_budget),
            TEST(cpu_time_of_what_ended_counts),
            TEST(the_signal_of_the_cpu_limit_cannot_be_ignored),
    };
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        return EXIT_FAILURE;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
