/* What a host has acknowledged is kept, whatever happens to it or to the disk; and where nothing
 * can be kept it serves on and says so. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "own-mounts.h"
#include "patience.h"
#include "rounds.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second"))
static double twice(double a) {
    return 2 * a;
}
TR_TOOL(twice, "Double a number", TR_F64, (TR_F64, a, "what"))
static tr_status risky(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(risky, ("Risky", .permission = TR_DANGEROUS), TR_SCHEMA({"type" : "object"}))
static tr_status note(struct tr_call *call) {
    return tr_reply_text(call, "noted");
}
TR_JSON_TOOL(note, ("Note anything"), TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("durable", .flags = TR_THREAD_SAFE), "1.0.0", add, twice, risky, note)

/* ----------------------------------------------------------------- fixture */

static char dir[64];
static char db_path[96];
static struct toolrack *host;
static struct toolrack_error err;
static char logged[16384];

/* Where there is memory for files it is used: to sync them takes no time there. */
static int make_folder(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/toolrack-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(db_path, sizeof db_path, "%s/toolrack.db", dir);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[96];
    toolrack_close(host);
    host = NULL;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void take_line(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    (void)user;
    if (level == TOOLRACK_LOG_ERROR) {
        size_t length = strlen(logged);
        (void)snprintf(logged + length, sizeof logged - length, "%s: %s\n", source, line);
    }
}

/* 0, or the code of the failure: for children too, which may not assert. */
static int open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.log = take_line;
    options.log_level = TOOLRACK_LOG_ERROR;
    logged[0] = '\0';
    int code = toolrack_open(&options, &host, &err);
    return code == 0 ? toolrack_register(host, &toolrack_plugin, NULL, &err) : code;
}

static void close_host(void) {
    toolrack_close(host);
    host = NULL;
}

static bool serves(void) {
    struct toolrack_result *result = NULL;
    bool works = toolrack_call(host, "twice", "{\"a\":21}", NULL, &result, &err) == 0 &&
                 strcmp(toolrack_result_json(result, NULL), "42.0") == 0;
    toolrack_result_free(result);
    return works;
}

static void assert_serves(void) {
    if (!serves()) {
        fail_msg("a call fails: %s", err.message);
    }
}

/* The first value that a statement gives, as a number; -1 when it gives none. */
static int64_t ask(const char *sql) {
    int64_t answer = -1;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_open(db_path, &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        answer = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return answer;
}

static bool is_sound(void) {
    return ask("SELECT count(*) = 1 AND max(integrity_check) = 'ok' FROM pragma_integrity_check") ==
           1;
}

static int wait_for(pid_t child) {
    int status = 0;
    assert_int_equal(patience_child(child, &status), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Run a part of a test in a process of its own, which gives 0 or a number of what is wrong. */
static void run_child(int (*part)(void), const char *skipped) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(part());
    }
    int status = wait_for(child);
    if (status == CHILD_SKIPS) {
        print_message("%s\n", skipped);
        skip();
    }
    assert_int_equal(status, 0);
}

/* --------------------------------------------------------------- decisions */

/* The kinds of decisions, each of which can be found again with its number. */
enum { SETTING, PRIORITY, GRANT, FEEDBACK, MARK, KINDS };

/* The number of the last decision of a kind among the first `count`; 0: there is none. Decisions
 * begin with 1. */
static int64_t last_of(int kind, int64_t count) {
    int64_t back = (count - kind) % KINDS;
    int64_t number = count - (back < 0 ? back + KINDS : back);
    return number > 0 ? number : 0;
}

static int decide(int64_t number) {
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)number);
    switch (number % KINDS) {
    case SETTING: return toolrack_set_enabled(host, "add", number % (2 * KINDS) != 0, NULL, &err);
    case PRIORITY: return toolrack_set_priority(host, "add", (int)number, NULL, &err);
    case GRANT: return toolrack_grant(host, "risky", 0, text, &err);
    case FEEDBACK: return toolrack_feedback(host, "add", true, 0, text, &err);
    default:
        return toolrack_mark(host,
                             number % 2 == 0 ? TOOLRACK_MARK_BLACKLIST : TOOLRACK_MARK_WHITELIST,
                             "add", true, text, text, &err);
    }
}

/* What is kept of each kind: its last number, of the setting whether it is on. */
static const char *const questions[KINDS] = {
        [SETTING] = "SELECT coalesce(max(enabled), -1) FROM settings",
        [PRIORITY] = "SELECT coalesce(max(priority), 0) FROM settings",
        [GRANT] = "SELECT coalesce(max(CAST(who AS INTEGER)), 0) FROM grants",
        [FEEDBACK] = "SELECT coalesce(max(CAST(who AS INTEGER)), 0) FROM feedback",
        [MARK] = "SELECT coalesce(max(CAST(why AS INTEGER)), 0) FROM marks",
};

static int64_t expected(int kind, int64_t count) {
    int64_t number = last_of(kind, count);
    return kind != SETTING ? number : number == 0 ? -1 : number % (2 * KINDS) != 0;
}

/* Whether exactly the first `count` decisions are kept. */
static bool has_kept(int64_t count) {
    for (int kind = 0; kind < KINDS; kind++) {
        if (ask(questions[kind]) != expected(kind, count)) {
            return false;
        }
    }
    return ask("SELECT count(*) FROM feedback") == (count + KINDS - FEEDBACK) / KINDS;
}

/* -------------------------------------------------------------------- kill */

/* How often a host is killed. */
#define KILLS             ((int)test_rounds(200, 20))
/* A host is killed after so many decisions at most, and then within so long. */
#define DECISIONS_MAX     30u
#define KILL_DELAY_NS_MAX 1000000u

/* Each number is acknowledged on `out` when its decision was. Ends by SIGKILL only. */
static void decide_until_killed(int out) {
    if (open_host() == 0) {
        for (int64_t i = 1; decide(i) == 0 && write(out, &i, sizeof i) == (ssize_t)sizeof i; i++) {
        }
    }
    (void)fprintf(stderr, "%s\n", err.message);
    _exit(1);
}

/* No event says when a commit is half done: that is anywhere within the next milliseconds. */
static void wait_busily(uint64_t ns) {
    for (uint64_t until = clock_now_ns() + ns; clock_now_ns() < until;) {
    }
}

/* When a host is to be killed. */
struct death {
    int64_t after;         /* so many acknowledged numbers, ... */
    bool (*is_time)(void); /* ... when this holds, unless it is NULL, ... */
    uint64_t delay_ns;     /* ... and so long after */
};

/* `act` acknowledges numbers from 1 on, and does not return.
 * @return the last number that was acknowledged before the end */
static int64_t kill_host(void (*act)(int out), const struct death *death) {
    int pipe_fds[2];
    int64_t number = 0;
    int64_t last = 0;
    bool is_killed = false;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        act(pipe_fds[1]);
    }
    (void)close(pipe_fds[1]);
    for (;;) {
        if (!is_killed && last >= death->after) {
            if (death->is_time != NULL) {
                AWAIT(death->is_time());
            }
            wait_busily(death->delay_ns);
            (void)kill(child, SIGKILL);
            is_killed = true;
        }
        if (patience_read(pipe_fds[0], &number, sizeof number) != (ssize_t)sizeof number) {
            break;
        }
        assert_int_equal(number, last + 1);
        last = number;
    }
    (void)close(pipe_fds[0]);
    assert_int_equal(wait_for(child), 128 + SIGKILL);
    return last;
}

static void remove_files(void) {
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf '%s'/*", dir);
    assert_int_equal(system(command), 0);
}

static void begin_chance(void) {
    unsigned seed = (unsigned)time(NULL);
    const char *given = getenv("TEST_SEED");
    seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : seed;
    print_message("# TEST_SEED=%u\n", seed);
    srand(seed);
}

/* What a killed host left behind is sound, and another one works with it. */
static void assert_usable(void) {
    if (access(db_path, F_OK) == 0) {
        assert_int_equal(open_host(), 0);
        assert_string_equal(logged, "");
        assert_serves();
        close_host();
        assert_true(is_sound());
    }
}

static void no_decision_is_lost_by_a_kill(void **state) {
    (void)state;
    begin_chance();
    for (int round = 0; round < KILLS; round++) {
        /* 0: while it opens, or makes the file. */
        const struct death death = {.after = rand() % (int)DECISIONS_MAX,
                                    .delay_ns = (uint64_t)rand() % KILL_DELAY_NS_MAX};
        int64_t last = kill_host(decide_until_killed, &death);
        assert_usable();
        if (last > 0 && !has_kept(last) && !has_kept(last + 1)) {
            fail_msg("round %d: of %lld decisions some are lost", round, (long long)last);
        }
        remove_files();
    }
}

/* -------------------------------------------------------------- kill, the log */

/* So long are the arguments that these many fill what wakes the recorder a few times. */
#define PADDING   1900
#define CALLS_MAX 2000

/* With the number in front. */
static int call_note(int64_t number) {
    struct toolrack_result *result = NULL;
    char arguments[PADDING + 64];
    (void)snprintf(arguments, sizeof arguments, "{\"n\":%lld,\"padding\":\"%0*d\"}",
                   (long long)number, PADDING, 0);
    int code = toolrack_call(host, "note", arguments, NULL, &result, &err);
    if (code == 0) {
        toolrack_result_free(result);
    }
    return code;
}

/* Each number is acknowledged when its call has ended. False: something is wrong. */
static bool call_notes(int out, int64_t most) {
    int code = open_host();
    for (int64_t i = 1; code == 0 && i <= most; i++) {
        code = call_note(i);
        if (code == 0 && write(out, &i, sizeof i) != (ssize_t)sizeof i) {
            return false;
        }
    }
    return code == 0;
}

static void call_until_killed(int out) {
    (void)call_notes(out, INT64_MAX);
    (void)fprintf(stderr, "%s\n", err.message);
    _exit(1);
}

#define FROM_NOTES  " FROM calls WHERE tool = 'note'"
#define NOTE_NUMBER "CAST(substr(arguments, 6) AS INTEGER)"

static int64_t noted_calls(void) {
    return ask("SELECT coalesce(sum(calls), 0) FROM usage WHERE tool = 'note'");
}

/* The log and the statistics agree, and have each call once: any of those that were made, for calls
 * on two CPUs are written in two orders. Returns how many there are. */
static int64_t assert_some_calls(int64_t last) {
    int64_t calls = noted_calls();
    int64_t unlogged = ask("SELECT coalesce(sum(unlogged), 0) FROM usage WHERE tool = 'note'");
    assert_in_range(calls, 0, last + 1);
    assert_int_equal(ask("SELECT count(*)" FROM_NOTES), calls - unlogged);
    assert_int_equal(ask("SELECT count(DISTINCT " NOTE_NUMBER ")" FROM_NOTES), calls - unlogged);
    return calls;
}

/* Which calls are in the window of the log when a host is killed, chance says. */
static void a_kill_leaves_the_log_whole(void **state) {
    (void)state;
    int kept = 0;
    begin_chance();
    for (int round = 0; round < KILLS; round++) {
        const struct death death = {.after = 1 + rand() % CALLS_MAX,
                                    .delay_ns = (uint64_t)rand() % KILL_DELAY_NS_MAX};
        int64_t last = kill_host(call_until_killed, &death);
        assert_usable();
        kept += access(db_path, F_OK) == 0 && assert_some_calls(last) > 0;
        remove_files();
    }
    print_message("# %d of %d hosts had written calls\n", kept, KILLS);
    assert_true(kept > 0);
}

/* So few do not wake the recorder before its time. */
#define QUIET_CALLS 20
#define QUIET_KILLS ((int)test_rounds(4, 2))

static void call_and_stay(int out) {
    if (call_notes(out, QUIET_CALLS)) {
        for (;;) {
            (void)pause();
        }
    }
    (void)fprintf(stderr, "%s\n", err.message);
    _exit(1);
}

static bool all_are_logged(void) {
    return access(db_path, F_OK) == 0 && noted_calls() == QUIET_CALLS;
}

/* The log is written when its window is over, without another call and without a close; from then
 * on a kill costs none of these calls. How long that takes is the scheduler's matter too, so the
 * test waits for it. */
static void a_kill_after_the_window_costs_no_call(void **state) {
    (void)state;
    for (int round = 0; round < QUIET_KILLS; round++) {
        const struct death death = {.after = QUIET_CALLS, .is_time = all_are_logged};
        assert_int_equal(kill_host(call_and_stay, &death), QUIET_CALLS);
        assert_usable();
        assert_int_equal(assert_some_calls(QUIET_CALLS), QUIET_CALLS);
        assert_int_equal(ask("SELECT count(*)" FROM_NOTES), QUIET_CALLS);
        remove_files();
    }
}

/* ------------------------------------------------------------ nothing can be kept */

/* 0 when each kind of decision fails, says where and what of, and leaves all as it was. */
static int all_decisions_fail(const char *message) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *before = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *after = NULL;
    int code =
            toolrack_grants(host, &before, &err); /* the store's own word: it may be unreadable */
    if (code != 0 && code != TOOLRACK_E_IO) {
        return 22;
    }
    for (int64_t number = 1; number <= KINDS; number++) {
        if (decide(number) != TOOLRACK_E_IO || strstr(err.message, message) == NULL ||
            strstr(err.message, dir) == NULL) {
            (void)fprintf(stderr, "decision %lld: %s\n", (long long)number, err.message);
            return 10 + (int)number;
        }
    }
    if (toolrack_grants(host, &after, NULL) != code) {
        return 21;
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(host, "add");
    return !toolrack_tool_enabled(tool) || toolrack_tool_priority(tool) == 1 ? 20
           : code == 0 && strcmp(toolrack_text_data(before, NULL),
                                 toolrack_text_data(after, NULL)) != 0
                   ? 21
                   : 0;
}

static char large[4097];

/* Opinions of somebody with a long name until there is no room; whether that came. */
static bool fill_up(void) {
    memset(large, 'w', sizeof large - 1);
    int code = 0;
    for (int i = 0; code == 0 && i < 1000; i++) {
        code = toolrack_feedback(host, "twice", true, 0, large, &err);
    }
    /* The rest is too little for a long name, but not for a number. */
    for (int i = 0; code == TOOLRACK_E_IO && i < 1000; i++) {
        if (toolrack_set_priority(host, "risky", -i, NULL, &err) == TOOLRACK_E_IO) {
            return true;
        }
    }
    return false;
}

/* Without room, and with room again. 0, or a number of what is wrong. */
static int run_out_of_room(const char *message, bool (*make_room)(void)) {
    if (open_host() < 0 || toolrack_set_priority(host, "twice", 7, NULL, &err) < 0 || !fill_up()) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int code = serves() ? all_decisions_fail(message) : 2;
    if (code != 0) {
        return code;
    }
    if (!serves() || !make_room()) {
        return 3;
    }
    for (int64_t number = 1; number <= KINDS; number++) {
        if (decide(number) < 0) {
            (void)fprintf(stderr, "with room again: %s\n", err.message);
            return 4;
        }
    }
    close_host();
    if (!is_sound() || ask(questions[PRIORITY]) != 7 || ask(questions[GRANT]) != GRANT) {
        return 5;
    }
    return open_host() == 0 && logged[0] == '\0' && serves() ? 0 : 6;
}

#define NOT_LOGGED "store: calls are not logged, and counted in memory only: "

/* How often it was said that calls are not logged. */
static int told_not_logged(void) {
    int count = 0;
    for (const char *at = logged; (at = strstr(at, NOT_LOGGED)) != NULL; at++) {
        count++;
    }
    return count;
}

/* Calls go on where none can be logged, and it is said once. 0, or a number of what is wrong. */
static int calls_go_on_unlogged(const char *message) {
    for (int i = 0; i < 3; i++) {
        if (!serves()) {
            return 40;
        }
        if (toolrack_flush(host, &err) != TOOLRACK_E_IO || strstr(err.message, message) == NULL) {
            (void)fprintf(stderr, "unlogged: %s\n", err.message);
            return 41;
        }
    }
    return told_not_logged() == 1 ? 0 : 42;
}

/* Lines of the log until there is no room for more; how many calls that were, or -1. */
static int64_t fill_log(void) {
    for (int64_t i = 1; i < 4 * CALLS_MAX; i++) {
        if (call_note(i) < 0) {
            return -1;
        }
        if (i % 64 == 0 && toolrack_flush(host, &err) < 0) {
            return i;
        }
    }
    return -1;
}

/* 0, or a number of what is wrong. */
static int log_without_room(const char *message, bool (*make_room)(void)) {
    int64_t calls = open_host() == 0 ? fill_log() : -1;
    if (calls < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 30;
    }
    if (err.code != TOOLRACK_E_IO || strstr(err.message, message) == NULL ||
        told_not_logged() == 0) {
        return 31;
    }
    if (!make_room() || call_note(calls + 1) < 0 || toolrack_flush(host, &err) < 0) {
        (void)fprintf(stderr, "with room again: %s\n", err.message);
        return 32;
    }
    close_host();
    if (!is_sound() || noted_calls() != calls + 1) {
        return 33;
    }
    return ask("SELECT max(" NOTE_NUMBER
               ") = (SELECT sum(calls) FROM usage WHERE tool = 'note') AND count(*) "
               "< max(" NOTE_NUMBER ")" FROM_NOTES) == 1
                   ? 0
                   : 34;
}

static char ballast_path[96];

static bool write_ballast(void) {
    static const char zeros[256 * 1024];
    (void)snprintf(ballast_path, sizeof ballast_path, "%s/ballast", dir);
    CLEANUP(closep) int fd = open(ballast_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros;
}

static bool remove_ballast(void) {
    return unlink(ballast_path) == 0;
}

static int full_disk(void) {
    if (!mount_small_disk(dir, "size=1536k,mode=0700")) {
        return CHILD_SKIPS;
    }
    return write_ballast() ? run_out_of_room("cannot write to", remove_ballast) : 9;
}

static void a_full_disk_costs_what_came_after(void **state) {
    (void)state;
    run_child(full_disk, "# SKIPPED: cannot mount a small disk in a namespace of its own");
}

static int full_disk_for_log(void) {
    if (!mount_small_disk(dir, "size=1536k,mode=0700")) {
        return CHILD_SKIPS;
    }
    return write_ballast() ? log_without_room("cannot write to", remove_ballast) : 9;
}

static void a_full_disk_costs_lines_and_no_counts(void **state) {
    (void)state;
    run_child(full_disk_for_log, "# SKIPPED: cannot mount a small disk in a namespace of its own");
}

static bool set_file_limit(rlim_t size) {
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0) {
        return false;
    }
    limit.rlim_cur = size;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

static bool lift_file_limit(void) {
    return set_file_limit(RLIM_INFINITY);
}

/* As with a quota: no file may grow beyond 600 KiB. */
static int full_file(void) {
    return set_file_limit((rlim_t)640 * 1024) ? run_out_of_room("cannot write to", lift_file_limit)
                                              : CHILD_SKIPS;
}

static void a_file_that_may_not_grow_is_a_full_disk(void **state) {
    (void)state;
    run_child(full_file, "# SKIPPED: cannot limit the size of files");
}

static int full_file_for_log(void) {
    return set_file_limit((rlim_t)600 * 1024) ? log_without_room("cannot write to", lift_file_limit)
                                              : CHILD_SKIPS;
}

static void a_log_that_may_not_grow_loses_no_counts(void **state) {
    (void)state;
    run_child(full_file_for_log, "# SKIPPED: cannot limit the size of files");
}

/* --------------------------------------------------------------- read only */

/* With a setting, a grant and a mark made by a host that has ended. */
static void make_state(void) {
    assert_int_equal(open_host(), 0);
    assert_int_equal(toolrack_set_priority(host, "twice", 7, NULL, &err), 0);
    assert_int_equal(toolrack_grant(host, "risky", 0, "ann", &err), 0);
    assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "add", true, NULL, "ann", &err),
                     0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(toolrack_feedback(host, "add", true, 0, "ann", &err), 0);
    }
    close_host();
}

static int read_only_folder(void) {
    if (!mount_read_only(dir)) {
        return CHILD_SKIPS;
    }
    if (open_host() < 0 || logged[0] != '\0') {
        return 1;
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *twice_tool = toolrack_get(host, "twice");
    struct toolrack_result *result = NULL;
    if (toolrack_tool_priority(twice_tool) != 7 ||
        toolrack_call(host, "risky", "{}", NULL, &result, &err) < 0) {
        return 2;
    }
    toolrack_result_free(result);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_recommend(host, NULL, &text, &err) < 0 ||
        strstr(toolrack_text_data(text, NULL), "\"add\"") != NULL) {
        return 3;
    }
    int code = serves() ? all_decisions_fail("let this user write to the file and its folder") : 4;
    code = code == 0 ? calls_go_on_unlogged("let this user write to the file and its folder")
                     : code;
    /* They are counted as long as the host lives. */
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *usage = NULL;
    if (code == 0 && (toolrack_statistics(host, "twice", &usage, &err) < 0 ||
                      strstr(toolrack_text_data(usage, NULL), "\"calls\":4,") == NULL)) {
        code = 5;
    }
    close_host();
    return code;
}

static void a_read_only_folder_is_read_and_served(void **state) {
    (void)state;
    make_state();
    run_child(read_only_folder,
              "# SKIPPED: cannot mount a folder read-only in a namespace of its own");
}

/* ------------------------------------------------------------ a log that is left */

/* As a command leaves it that makes a call: the decision is in the file, and the call in the log
 * beside it. 0, or a number of what is wrong. */
static int leave_log(void) {
    char log[128];
    struct stat st;
    if (open_host() < 0 || toolrack_set_priority(host, "twice", 7, NULL, &err) < 0) {
        return 50;
    }
    close_host();
    (void)snprintf(log, sizeof log, "%s-wal", db_path);
    if (stat(log, &st) == 0) {
        return 51;
    }
    if (open_host() < 0 || !serves()) {
        return 52;
    }
    close_host();
    return stat(log, &st) == 0 && st.st_size > 0 ? 0 : 53;
}

/* Where nothing can be made beside the file, what is in the log counts as well. */
static int reads_log(void) {
    if (open_host() < 0 || logged[0] != '\0') {
        (void)fprintf(stderr, "%s\n", logged);
        return 60;
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(host, "twice");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *usage = NULL;
    if (toolrack_tool_priority(tool) != 7 || !serves()) {
        return 61;
    }
    /* One call is in the log, one in this host's memory. */
    return toolrack_statistics(host, "twice", &usage, &err) == 0 &&
                           strstr(toolrack_text_data(usage, NULL), "\"calls\":2,") != NULL
                   ? 0
                   : 62;
}

static int log_in_read_only_folder(void) {
    int code = leave_log();
    return code != 0 ? code : mount_read_only(dir) ? reads_log() : CHILD_SKIPS;
}

static void a_log_in_a_read_only_folder_is_read(void **state) {
    (void)state;
    run_child(log_in_read_only_folder,
              "# SKIPPED: cannot mount a folder read-only in a namespace of its own");
}

static int log_on_full_disk(void) {
    if (!mount_small_disk(dir, "size=2048k,mode=0700")) {
        return CHILD_SKIPS;
    }
    int code = leave_log();
    for (int i = 0; code == 0 && write_ballast(); i++) {
        char full[128];
        (void)snprintf(full, sizeof full, "%s%d", ballast_path, i);
        code = rename(ballast_path, full) == 0 ? 0 : 54;
    }
    return code != 0 ? code : reads_log();
}

static void a_log_on_a_full_disk_is_read(void **state) {
    (void)state;
    run_child(log_on_full_disk, "# SKIPPED: cannot mount a small disk in a namespace of its own");
}

/* A log that has grown is moved into the file by whoever closes it last. */
static void a_log_that_is_left_stays_short(void **state) {
    (void)state;
    char log[128];
    struct stat st;
    bool was_moved = false;
    (void)snprintf(log, sizeof log, "%s-wal", db_path);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(open_host(), 0);
        assert_serves();
        close_host();
        bool is_left = stat(log, &st) == 0;
        assert_true(!is_left || st.st_size <= 256 * 1024);
        was_moved = was_moved || (i > 1 && !is_left);
    }
    assert_true(was_moved);
    assert_int_equal(ask("SELECT count(*) FROM calls"), 40);
    assert_true(is_sound());
}

/* ----------------------------------------------------------------- damaged */

static void read_file(const char *path, struct buf *ret) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char block[4096];
    ssize_t got = 0;
    assert_true(fd >= 0);
    buf_clear(ret);
    while ((got = read(fd, block, sizeof block)) > 0) {
        buf_add(ret, block, (size_t)got);
    }
    assert_int_equal(got, 0);
    assert_false(ret->failed);
}

/* Alone, as after a restore: what stood beside it is gone. */
static void put_file(const char *bytes, size_t length) {
    remove_files();
    CLEANUP(closep) int fd = open(db_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
}

/* A host opens on what is there, serves, says so, keeps nothing and leaves the file as it is. */
static void assert_left_alone(const char *what, const char *message) {
    CLEANUP(buf_finish) struct buf before = BUF_INIT;
    CLEANUP(buf_finish) struct buf after = BUF_INIT;
    read_file(db_path, &before);
    assert_int_equal(open_host(), 0);
    if (strstr(logged, "store: settings made earlier are not in effect: ") == NULL ||
        strstr(logged, message) == NULL || strstr(logged, "it is left as it is") == NULL) {
        fail_msg("%s: it is not said: '%s'", what, logged);
    }
    assert_serves();
    int code = all_decisions_fail("it is left as it is");
    if (code != 0) {
        fail_msg("%s: %d", what, code);
    }
    code = calls_go_on_unlogged("it is left as it is");
    if (code != 0) {
        fail_msg("%s: %d", what, code);
    }
    close_host();
    read_file(db_path, &after);
    assert_int_equal(after.length, before.length);
    assert_memory_equal(after.data, before.data, before.length);
}

static void flip(struct buf *file, size_t at, size_t count) {
    for (size_t i = at; i < at + count && i < file->length; i++) {
        file->data[i] = (char)~file->data[i];
    }
}

static void a_damaged_file_is_served_without(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf sound = BUF_INIT;
    make_state();
    char question[128];
    read_file(db_path, &sound);
    /* The settings are the first that is read. */
    (void)snprintf(question, sizeof question,
                   "SELECT (rootpage - 1) * (SELECT page_size FROM pragma_page_size) FROM "
                   "sqlite_schema WHERE name = 'settings'");
    const int64_t settings_at = ask(question);
    assert_true(settings_at > 0 && (size_t)settings_at < sound.length);
    const struct {
        const char *what;
        size_t at;
        size_t count;
        size_t length; /* of what is left; 0: all */
    } damages[] = {
            {"the magic", 0, 4, 0},
            {"the first page's header", 100, 8, 0},
            {"the names of the tables", 108, 200, 0},
            {"a page that is read", (size_t)settings_at, 8, 0},
            {"all but the header", 100, SIZE_MAX / 2, 0},
            {"cut in the first page", 0, 0, 1000},
            {"cut after the first page", 0, 0, (size_t)ask("PRAGMA page_size")},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(damages); i++) {
        CLEANUP(buf_finish) struct buf file = BUF_INIT;
        buf_add(&file, sound.data, sound.length);
        flip(&file, damages[i].at, damages[i].count);
        put_file(file.data, damages[i].length != 0 ? damages[i].length : file.length);
        assert_left_alone(damages[i].what, dir);
    }
    static const char zeros[8192];
    put_file(zeros, sizeof zeros);
    assert_left_alone("zeros", "not a database");
    static const char text[] = "Dear diary,\nthis is not a database.\n";
    put_file(text, sizeof text - 1);
    assert_left_alone("a text", "not a database");
}

/* Anywhere: perhaps nobody notices, but nothing ends, and what is said to be left alone is. */
static void damage_anywhere_ends_nobody(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf sound = BUF_INIT;
    make_state();
    read_file(db_path, &sound);
    unsigned seed = (unsigned)time(NULL);
    const char *given = getenv("TEST_SEED");
    seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : seed;
    print_message("# TEST_SEED=%u\n", seed);
    srand(seed);
    for (int round = 0; round < 100; round++) {
        CLEANUP(buf_finish) struct buf file = BUF_INIT;
        CLEANUP(buf_finish) struct buf after = BUF_INIT;
        buf_add(&file, sound.data, sound.length);
        flip(&file, (size_t)rand() % file.length, 1 + (size_t)rand() % 64);
        put_file(file.data, file.length);
        assert_int_equal(open_host(), 0);
        assert_serves();
        bool said = strstr(logged, "it is left as it is") != NULL;
        for (int64_t number = 1; number <= KINDS; number++) {
            int code = decide(number);
            assert_true(code == TOOLRACK_E_IO || (code == 0 && !said));
        }
        assert_serves();
        close_host();
        read_file(db_path, &after);
        assert_true(!said || (after.length == file.length &&
                              memcmp(after.data, file.data, file.length) == 0));
    }
}

static void a_newer_file_is_served_without(void **state) {
    (void)state;
    make_state();
    (void)ask("PRAGMA user_version = 99");
    assert_int_equal(ask("PRAGMA user_version"), 99);
    assert_left_alone("a newer form", "was written by a newer toolrack (form 99");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
            WITH_FOLDER(no_decision_is_lost_by_a_kill),
            WITH_FOLDER(a_kill_leaves_the_log_whole),
            WITH_FOLDER(a_kill_after_the_window_costs_no_call),
            WITH_FOLDER(a_full_disk_costs_what_came_after),
            WITH_FOLDER(a_full_disk_costs_lines_and_no_counts),
            WITH_FOLDER(a_file_that_may_not_grow_is_a_full_disk),
            WITH_FOLDER(a_log_that_may_not_grow_loses_no_counts),
            WITH_FOLDER(a_read_only_folder_is_read_and_served),
            WITH_FOLDER(a_log_in_a_read_only_folder_is_read),
            WITH_FOLDER(a_log_on_a_full_disk_is_read),
            WITH_FOLDER(a_log_that_is_left_stays_short),
            WITH_FOLDER(a_damaged_file_is_served_without),
            WITH_FOLDER(damage_anywhere_ends_nobody),
            WITH_FOLDER(a_newer_file_is_served_without),
    };
    return cmocka_run_group_tests_name("durability", tests, NULL, NULL);
}
