/* One host and every fixture of the zoo, one after the other: after each fault the host must say
 * what happened, serve the other plugins, and be as it was.
 *
 *     test-zoo [--nobody] [PLUGIN...]     all rows of zoo.def, or those of these plugins; as a user
 *                                         without rights, if this one is root
 *
 * In two rounds. In the first each row is called, and after it a tool of a sound plugin. In the
 * second each plugin that had a fault must serve again: by then the host's back-off is over, so
 * that this round does not wait for each of them.
 *
 * No cmocka here: standard output belongs to the host for the whole run, to see that nobody writes
 * to it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/sanitizer.h"
#include "base/utf8.h"
#include "process.h"
#include "remove-tree.h"
#include "row.h"
#include "toolrack/toolrack.h"
#include "worker/crew.h"

/* All that it takes for isolation: no plugin is granted anything. */
#define CONFIG "{\"isolation\": \"process\"}"

/* Bounds, each far above what anything takes on a machine that does much else, and below for ever.
 * How long a row without a deadline of its own may take, and how much later than its deadline one
 * may come back. */
#define ROW_MS_MAX         30000u
#define LATE_MS_MAX        10000u
/* How long a sound tool may take, whatever else goes on. */
#define SOUND_MS_MAX       10000u
/* How long a plugin may take to serve again, from the beginning of the second round. */
#define RECOVERY_MS_MAX    20000u
#define RECOVERY_PAUSE_MS  50
/* How long what was printed may take to come as a log line, and processes to be gone. */
#define LOG_MS_MAX         20000u
#define GONE_MS_MAX        10000u
#define CLOSE_MS_MAX       (CREW_CLOSE_MS + 10000u) /* one of them does not end by itself */
/* Longest name of a process that is shown. */
#define NAME_SHOWN_MAX     64
/* Longest line in the log. */
#define SHOWN_LINE_MAX     ((size_t)64 << 10)
/* What an open host may have more than before it was opened: of descriptors and threads for each of
 * its plugins (socket, process, memory, two outputs), and of each for itself. */
#define WORKER_FDS_MAX     8
#define HOST_FDS_MAX       32
#define WORKER_THREADS_MAX 1
#define HOST_THREADS_MAX   80
/* What it may have more after it was closed. */
#define LEFT_FDS_MAX       0
#define LEFT_THREADS_MAX   0
#define LEFT_MEMORY_MAX    ((size_t)64 << 20)

#define NOBODY    65534u
#define SANITIZED (SANITIZER_ADDRESS || SANITIZER_THREAD)

/* ------------------------------------------------------------------ TAP */

static FILE *tap; /* what was standard output */
static unsigned cases;
static unsigned failures;

__attribute__((format(printf, 2, 3))) static void report(bool good, const char *format, ...) {
    va_list args;
    failures += good ? 0 : 1;
    (void)fprintf(tap, "%s %u - ", good ? "ok" : "not ok", ++cases);
    va_start(args, format);
    (void)vfprintf(tap, format, args);
    va_end(args);
    (void)fputc('\n', tap);
    (void)fflush(tap);
}

/* Why a case failed, below it. */
__attribute__((format(printf, 1, 2))) static void explain(const char *format, ...) {
    va_list args;
    (void)fputs("# ", tap);
    va_start(args, format);
    (void)vfprintf(tap, format, args);
    va_end(args);
    (void)fputc('\n', tap);
    (void)fflush(tap);
}

static uint64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ the log */

/* What the host logs of the plugin that is watched. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t came;
    const char *plugin;
    const char *says;
    unsigned lines;      /* of that plugin that say so */
    unsigned wrong;      /* of any: not one line of UTF-8, or too long */
    char last_wrong[64]; /* the plugin of such a line */
} lines = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

/* One line that cannot do anything to a terminal. */
static bool is_sound_line(const char *line) {
    size_t length = strnlen(line, SHOWN_LINE_MAX + 1);
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f) {
            return false;
        }
    }
    return length <= SHOWN_LINE_MAX && utf8_valid(line, length);
}

static void on_log(void *user, enum toolrack_log_level level, const char *source,
                   const char *line) {
    (void)user;
    (void)level;
    (void)pthread_mutex_lock(&lines.lock);
    if (lines.says != NULL && strcmp(source, lines.plugin) == 0 && zoo_says(line, lines.says)) {
        lines.lines++;
        (void)pthread_cond_signal(&lines.came);
    }
    if (!is_sound_line(line)) {
        lines.wrong++;
        (void)snprintf(lines.last_wrong, sizeof lines.last_wrong, "%s", source);
    }
    (void)pthread_mutex_unlock(&lines.lock);
}

/* Count the lines of a plugin that contain a text; NULL: none. */
static void watch_log(const char *plugin, const char *says) {
    (void)pthread_mutex_lock(&lines.lock);
    lines.plugin = plugin;
    lines.says = says;
    lines.lines = 0;
    (void)pthread_mutex_unlock(&lines.lock);
}

/* Whether the plugin that is watched has logged, or does within LOG_MS_MAX. */
static bool has_logged(void) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOG_MS_MAX / 1000;
    int code = 0;
    (void)pthread_mutex_lock(&lines.lock);
    while (lines.lines == 0 && code == 0) {
        code = pthread_cond_timedwait(&lines.came, &lines.lock, &until);
    }
    bool logged = lines.lines > 0;
    (void)pthread_mutex_unlock(&lines.lock);
    return logged;
}

static atomic_ulong progress_count;

static void on_progress(void *user, double done, double total, const char *message) {
    (void)user;
    (void)done;
    (void)total;
    (void)message;
    atomic_fetch_add(&progress_count, 1);
}

/* ------------------------------------------------------------------ calls */

/* What a call came to. */
struct outcome {
    int code;
    int signal;
    uint64_t took_ms;
    char tool[ERROR_TOOL_MAX];
    char text[ERROR_MESSAGE_MAX]; /* the message, or the beginning of the result's JSON */
};

static struct outcome call(struct toolrack *host, const char *tool, const char *arguments,
                           uint32_t deadline_ms) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    struct outcome outcome = {0};
    uint64_t began_ms = now_ms();
    options.deadline_ms = deadline_ms;
    options.progress = on_progress;
    outcome.code = toolrack_call(host, tool, arguments, &options, &result, &err);
    outcome.took_ms = now_ms() - began_ms;
    outcome.signal = err.signal;
    (void)snprintf(outcome.tool, sizeof outcome.tool, "%s", err.tool);
    (void)snprintf(outcome.text, sizeof outcome.text, "%s",
                   outcome.code == 0 ? toolrack_result_json(result, NULL) : err.message);
    toolrack_result_free(result);
    return outcome;
}

static void explain_outcome(const char *what, const struct outcome *outcome) {
    explain("%s: %s, signal %d, after %llu ms: %.300s", what, toolrack_code_name(outcome->code),
            outcome->signal, (unsigned long long)outcome->took_ms, outcome->text);
}

static bool gives_42(struct toolrack *host, const char *tool, const char *arguments,
                     struct outcome *ret) {
    *ret = call(host, tool, arguments, SOUND_MS_MAX);
    return ret->code == 0 && strtod(ret->text, NULL) == 42;
}

/* ------------------------------------------------------------------ this process */

static size_t memory_used(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%*u %llu", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What it has: to be compared later. */
struct holdings {
    size_t fds;
    size_t threads;
    size_t memory;
};

static struct holdings take_stock(void) {
    (void)malloc_trim(0);
    return (struct holdings){.fds = process_count_entries("/proc/self/fd"),
                             .threads = process_count_entries("/proc/self/task"),
                             .memory = memory_used()};
}

/* Whether what belongs to the whole process is as it was; `work` is its folder. */
static const char *what_changed(const char *work) {
    struct sigaction crash = {0};
    struct sigaction alarm_action = {0};
    sigset_t blocked;
    char cwd[512];
    mode_t mask = umask(022);
    if (mask != 022) {
        return "umask";
    }
    if (getcwd(cwd, sizeof cwd) == NULL || strcmp(cwd, work) != 0) {
        return "folder";
    }
    if (getenv("ZOO_WAS_HERE") != NULL) {
        return "environment";
    }
    if (sigaction(SIGSEGV, NULL, &crash) < 0 || sigaction(SIGALRM, NULL, &alarm_action) < 0 ||
        alarm_action.sa_handler != SIG_DFL || (!SANITIZED && crash.sa_handler != SIG_DFL)) {
        return "signal handlers";
    }
    if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0 || sigismember(&blocked, SIGUSR2) != 0) {
        return "signal mask";
    }
    return NULL;
}

/* ------------------------------------------------------------------ the rows */

static bool kernel_has(enum zoo_need need) {
    const long landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* its version */);
    switch (need) {
    case ZOO_NEEDS_LANDLOCK: return landlock >= 1;
    case ZOO_NEEDS_SCOPE: return landlock >= 6;
    case ZOO_NEEDS_SECCOMP: return prctl(PR_GET_SECCOMP) >= 0;
    case ZOO_NEEDS_LISTENERS:
        return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0,
                       &(uint32_t){SECCOMP_RET_USER_NOTIF}) == 0;
    case ZOO_NEEDS_NOTHING: break;
    }
    return true;
}

static const char *need_name(enum zoo_need need) {
    return need == ZOO_NEEDS_SECCOMP     ? "seccomp"
           : need == ZOO_NEEDS_LISTENERS ? "seccomp with listeners"
           : need == ZOO_NEEDS_SCOPE     ? "Landlock of ABI 6"
                                         : "Landlock";
}

static const char *skip_reason(struct toolrack *host, const struct zoo_row *row, char room[64]) {
    struct toolrack_tool *tool = row->cxx ? toolrack_get(host, row->tool) : NULL;
    if (row->cxx && tool == NULL) {
        return "there is no C++ compiler";
    }
    toolrack_tool_unref(tool);
    (void)snprintf(room, 64, "this kernel has no %s", need_name(row->needs));
    return kernel_has(row->needs) ? NULL : room;
}

static bool is_expected(const struct zoo_row *row, const struct outcome *outcome) {
    if (!zoo_says(outcome->text, row->says)) {
        return false;
    }
    if (outcome->code == 0) {
        return row->code == 0 || row->or_result;
    }
    bool right_signal = row->signal == ZOO_ANY_SIGNAL ? outcome->signal > 0
                        : row->or_result              ? true
                                                      : outcome->signal == row->signal;
    bool right_code =
            outcome->code == row->code || (row->or_code != 0 && outcome->code == row->or_code);
    return right_code && right_signal && strcmp(outcome->tool, row->tool) == 0;
}

/* Take the plugin of a row out, so that it is closed; the tool beside it has _ok behind its name.
 */
static bool unregister(struct toolrack *host, const struct zoo_row *row) {
    char sound[128];
    (void)snprintf(sound, sizeof sound, "%s_ok", row->tool);
    return toolrack_unregister_name(host, row->tool, NULL) == 0 &&
           toolrack_unregister_name(host, sound, NULL) == 0;
}

/* First round: the fault, and what it must leave as it was. */
static void run_row(struct toolrack *host, const struct zoo_row *row, const struct zoo_aims *aims,
                    const char *work) {
    char room[512];
    char name[300];
    const char *skip = skip_reason(host, row, room);
    (void)snprintf(name, sizeof name, "%s %s", row->tool,
                   row->arguments != NULL ? row->arguments : "");
    if (skip != NULL) {
        report(true, "%s # SKIP %s", name, skip);
        return;
    }
    uint32_t deadline_ms = row->deadline_ms > 0 ? row->deadline_ms : ROW_MS_MAX;
    watch_log(row->plugin, row->logs);
    struct outcome outcome = call(host, row->tool, zoo_arguments(row, aims, room), deadline_ms);
    bool expected = is_expected(row, &outcome);
    bool in_time = outcome.took_ms <= deadline_ms + LATE_MS_MAX;
    bool logged = row->logs == NULL || has_logged();
    bool unregistered = row->then != ZOO_CLOSES || unregister(host, row);
    struct outcome sound;
    bool others_answer = gives_42(host, "zoo_add", "{\"a\": 40, \"b\": 2}", &sound);
    const char *changed = what_changed(work);
    report(expected && in_time && logged && unregistered && others_answer && changed == NULL,
           "%s in %llu ms", name, (unsigned long long)outcome.took_ms);
    if (!expected || !in_time) {
        explain("expected: %s, signal %d, within %u ms, saying %s", toolrack_code_name(row->code),
                row->signal, deadline_ms, row->says);
        explain_outcome("got", &outcome);
    }
    if (!others_answer) {
        explain_outcome("a sound plugin did not answer", &sound);
    }
    if (!logged || !unregistered || changed != NULL) {
        explain("%s%s%s%s", logged ? "" : "nothing in the log; ",
                unregistered ? "" : "cannot be unregistered; ",
                changed != NULL ? "the host's process was changed: " : "",
                changed != NULL ? changed : "");
    }
}

/* Second round: the plugin serves again, at the latest when its back-off is over. */
static void recover(struct toolrack *host, const struct zoo_row *row) {
    char tool[128];
    char room[64];
    struct outcome outcome;
    if (row->then != ZOO_ANSWERS || skip_reason(host, row, room) != NULL) {
        return;
    }
    (void)snprintf(tool, sizeof tool, "%s_ok", row->tool);
    uint64_t began_ms = now_ms();
    bool good = gives_42(host, tool, NULL, &outcome);
    while (!good && now_ms() - began_ms < RECOVERY_MS_MAX) {
        (void)poll(NULL, 0, RECOVERY_PAUSE_MS);
        good = gives_42(host, tool, NULL, &outcome);
    }
    report(good, "%s gives 42 after it, in %llu ms", tool,
           (unsigned long long)(now_ms() - began_ms));
    if (!good) {
        explain_outcome("got", &outcome);
    }
}

static bool is_chosen(const struct zoo_row *row, char **names) {
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], row->plugin) == 0) {
            return true;
        }
    }
    return names[0] == NULL;
}

static void run_rows(struct toolrack *host, const struct zoo_aims *aims, const char *work,
                     char **names) {
    for (size_t i = 0; i < zoo_row_count; i++) {
        if (is_chosen(&zoo_rows[i], names)) {
            run_row(host, &zoo_rows[i], aims, work);
        }
    }
    for (size_t i = 0; i < zoo_row_count; i++) {
        /* Rows of one plugin follow each other. */
        bool first = i == 0 || strcmp(zoo_rows[i].plugin, zoo_rows[i - 1].plugin) != 0;
        if (first && is_chosen(&zoo_rows[i], names)) {
            recover(host, &zoo_rows[i]);
        }
    }
}

/* ------------------------------------------------------------------ around the rows */

/* The sound plugins: they show that the tests measure what they mean to. */
static void check_sound(struct toolrack *host) {
    struct outcome echo =
            call(host, "zoo_echo", "{\"text\": \"a \\\"b\\\" \\u00e9\"}", SOUND_MS_MAX);
    report(echo.code == 0 && strcmp(echo.text, "\"a \\\"b\\\" \xc3\xa9\"") == 0, "zoo_echo: %s",
           echo.text);
    struct outcome nap = call(host, "zoo_sleep", "{\"ms\": 20}", SOUND_MS_MAX);
    report(nap.code == 0 && nap.took_ms >= 20 && strcmp(nap.text, "20") == 0, "zoo_sleep: %s",
           nap.text);
    struct outcome nap_safe = call(host, "zoo_threadsafe_sleep", "{\"ms\": 20}", SOUND_MS_MAX);
    report(nap_safe.code == 0 && strcmp(nap_safe.text, "20") == 0, "zoo_threadsafe_sleep: %s",
           nap_safe.text);
    struct outcome bytes = call(host, "zoo_bytes", "{\"size\": 3}", SOUND_MS_MAX);
    report(bytes.code == 0 && strcmp(bytes.text, "\"YmJi\"") == 0, "zoo_bytes: %s", bytes.text);
    struct outcome count = call(host, "zoo_bytes_count", "{\"data\": \"YmJi\"}", SOUND_MS_MAX);
    report(count.code == 0 && strcmp(count.text, "3") == 0, "zoo_bytes_count: %s", count.text);
}

static void check_apart(struct toolrack *host) {
    struct outcome outcome = call(host, "zoo_pid", NULL, SOUND_MS_MAX);
    yyjson_doc *doc = yyjson_read(outcome.text, strlen(outcome.text), 0);
    int64_t process = yyjson_get_sint(yyjson_obj_get(yyjson_doc_get_root(doc), "process"));
    yyjson_doc_free(doc);
    report(outcome.code == 0 && process > 0 && process != getpid(),
           "tools run in a process of their own: %s", outcome.text);
}

/* What the attempts of the hostile plugin aim at is as it was. */
static void check_aims(const struct zoo_aims *aims, int listener) {
    char head[16] = "";
    int store = open(aims->store, O_RDONLY | O_CLOEXEC);
    bool sound = store >= 0 && read(store, head, sizeof head) == sizeof head &&
                 memcmp(head, "SQLite format 3", sizeof head) == 0;
    if (store >= 0) {
        (void)close(store);
    }
    report(sound, "the store was not written");
    report(access(aims->new_file, F_OK) < 0, "no file was made");
    report(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) < 0 && errno == EAGAIN,
           "nobody connected");
}

static void check_open(const struct holdings *before, const struct holdings *now) {
    size_t plugins = zoo_row_count;
    size_t fds_max = before->fds + HOST_FDS_MAX + plugins * WORKER_FDS_MAX;
    size_t threads_max = before->threads + HOST_THREADS_MAX + plugins * WORKER_THREADS_MAX;
    report(now->fds <= fds_max, "descriptors of the open host: %zu, before it %zu", now->fds,
           before->fds);
    report(now->threads <= threads_max, "threads of the open host: %zu, before it %zu",
           now->threads, before->threads);
}

/* Note the name of a process that should not be there, and end it. */
static void end_child(void *user, pid_t pid, const char *name) {
    (void)snprintf(user, NAME_SHOWN_MAX, "%s", name);
    (void)kill(pid, SIGKILL);
}

/* This process adopts those whose parent has ended, so nothing that ever came of a worker escapes.
 */
static void check_children(void) {
    char name[NAME_SHOWN_MAX] = "";
    uint64_t began_ms = now_ms();
    while (process_children(NULL, NULL) > 0 && now_ms() - began_ms < GONE_MS_MAX) {
        (void)poll(NULL, 0, 10);
    }
    size_t count = process_children(end_child, name);
    while (count > 0 && waitpid(-1, NULL, WNOHANG) >= 0 && now_ms() - began_ms < 2 * GONE_MS_MAX) {
        (void)process_children(end_child, name);
    }
    report(count == 0, "no process is left: %zu %s", count, name);
}

static void check_left(const struct holdings *before, int output) {
    struct holdings now = take_stock();
    report(now.fds <= before->fds + LEFT_FDS_MAX, "descriptors at the end: %zu, before %zu",
           now.fds, before->fds);
    report(now.threads <= before->threads + LEFT_THREADS_MAX, "threads at the end: %zu, before %zu",
           now.threads, before->threads);
    report(SANITIZED || now.memory <= before->memory + LEFT_MEMORY_MAX,
           "memory at the end: %zu KiB, before %zu KiB%s", now.memory >> 10, before->memory >> 10,
           SANITIZED ? " # SKIP a sanitizer keeps what was freed" : "");
    struct stat printed = {.st_size = -1};
    (void)fstat(output, &printed);
    report(printed.st_size == 0, "nobody wrote to the host's standard output: %lld bytes",
           (long long)printed.st_size);
    report(lines.wrong == 0, "the log has lines of UTF-8 only: %u others %s", lines.wrong,
           lines.last_wrong);
}

static struct toolrack *open_host(const char *zoo) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    struct toolrack_error err = {0};
    const char *const folders[] = {zoo, NULL};
    options.config_file = "config.json";
    options.state_dir = "state";
    options.plugin_dirs = folders;
    options.log = on_log;
    if (toolrack_open(&options, &host, &err) < 0) {
        (void)fprintf(tap, "Bail out! cannot open the host: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
    return host;
}

/* Once before anything is measured: what a first host leaves for good is not the zoo's doing. Also
 * makes the store. */
static void warm_up(const char *zoo) {
    struct outcome outcome;
    struct toolrack *host = open_host(zoo);
    report(gives_42(host, "zoo_add", "{\"a\": 40, \"b\": 2}", &outcome) &&
                   toolrack_set_enabled(host, "zoo_bytes", false, NULL, NULL) == 0 &&
                   toolrack_set_enabled(host, "zoo_bytes", true, NULL, NULL) == 0,
           "the host serves the zoo");
    toolrack_close(host);
}

static void run(const char *zoo, const struct zoo_aims *aims, const char *work, char **names) {
    struct toolrack *host = NULL;
    warm_up(zoo);
    struct holdings before = take_stock();
    host = open_host(zoo);
    check_sound(host);
    check_apart(host);
    run_rows(host, aims, work, names);
    struct holdings now = take_stock();
    check_open(&before, &now);
    uint64_t began_ms = now_ms();
    toolrack_close(host);
    uint64_t took_ms = now_ms() - began_ms;
    report(took_ms <= CLOSE_MS_MAX, "closed in %llu ms", (unsigned long long)took_ms);
    check_children();
    check_left(&before, STDOUT_FILENO);
}

/* -------------------------------------------------------------- the folder, and what is around */

static bool write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return fd >= 0 && close(fd) == 0 && written;
}

/* A folder to work in, with all that the rows aim at; the store comes with the host. */
static bool prepare(char work[], struct zoo_aims *aims, int *ret_listener) {
    if (mkdtemp(work) == NULL || chdir(work) < 0 || mkdir("state", 0700) < 0) {
        return false;
    }
    (void)snprintf(aims->secret, sizeof aims->secret, "%s/secret", work);
    (void)snprintf(aims->store, sizeof aims->store, "%s/state/toolrack.db", work);
    (void)snprintf(aims->new_file, sizeof aims->new_file, "%s/state/new", work);
    aims->host = getpid();
    *ret_listener = process_listen(&aims->port);
    (void)umask(022);
    return write_file("config.json", CONFIG) && write_file("secret", "secret") &&
           *ret_listener >= 0;
}

/* Standard output becomes a file of which only the size matters; what it was, `tap`. */
static bool set_output_aside(void) {
    int caught = memfd_create("stdout", MFD_CLOEXEC);
    int real = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    tap = real >= 0 ? fdopen(real, "w") : NULL;
    bool done = tap != NULL && caught >= 0 && dup2(caught, STDOUT_FILENO) == STDOUT_FILENO;
    if (caught >= 0) {
        (void)close(caught);
    }
    return done;
}

int main(int argc, char **argv) {
    char work[] = "/tmp/toolrack-zoo-XXXXXX";
    const char *zoo = getenv("E2E_ZOO");
    struct zoo_aims aims = {0};
    int listener = -1;
    bool as_nobody = argc > 1 && strcmp(argv[1], "--nobody") == 0;
    if (as_nobody && geteuid() == 0 &&
        (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)) {
        (void)fputs("test-zoo: cannot become another user\n", stderr);
        return EXIT_FAILURE;
    }
    if (argc < 1 || zoo == NULL || !set_output_aside() || !prepare(work, &aims, &listener) ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        (void)fputs("test-zoo: E2E_ZOO is not set, or no folder in /tmp, or no loopback network\n",
                    stderr);
        return EXIT_FAILURE;
    }
    run(zoo, &aims, work, argv + (as_nobody ? 2 : 1));
    check_aims(&aims, listener);
    (void)fprintf(tap, "1..%u\n", cases);
    (void)fclose(tap);
    (void)close(listener);
    (void)chdir("/");
    (void)remove_tree(work);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
