#include "author/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "author/place.h"
#include "author/tsan.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

/* How often a step begins again after its process has ended. */
#define RESTARTS_MAX    20u
/* How long a child may show no sign of life, beside the time that a call may take. */
#define STALL_MS        5000u
/* How long a step may take in all: what a plugin does without limits can be slow. */
#define STEP_MS         60000u
/* How often the parent looks for signs of life. */
#define LOOK_MS         100
/* Memory that a child may take beside what it has, so that a tool does not take all of it. */
#define MEMORY_MAX      ((rlim_t)4 << 30)
/* Longest file that it may write. */
#define FILE_LENGTH_MAX ((rlim_t)1 << 30)
/* The plugin of a child may write where the child reports: longest line, a sample's, and all lines.
 */
#define LINE_LENGTH_MAX (16u * SAMPLE_LENGTH_MAX)
#define REPORT_MAX      ((size_t)256 << 20)
/* Most processes of a step at a time. For a user that is not root the kernel has a limit too. */
#define PROCESSES_MAX   256u
/* How often processes that a step has left are looked for: each may have begun another one. */
#define ENDS_MAX        10000u
#define DOING_ROOM      128u

/* What the parent reads when the child has ended. */
struct now {
    atomic_ulong signs;
    size_t tool;
    enum rule rule;
    bool is_warning;
    char doing[DOING_ROOM];
    char sent[SHOWN_LENGTH_MAX + 8];
};

static volatile sig_atomic_t interrupt_number; /* 0: no signal came */

void child_interrupt(int number) {
    interrupt_number = number;
}

bool child_interrupted(void) {
    return interrupt_number != 0;
}

struct child {
    struct now *now; /* shared */
    int fd;          /* to the parent */
    size_t first;
};

/* ----------------------------------------------------------------- the child */

size_t child_first(const struct child *child) {
    return child->first;
}

void child_at(struct child *child, size_t tool, const char *sent, const char *doing) {
    struct now *now = child->now;
    now->tool = tool;
    (void)snprintf(now->doing, sizeof now->doing, "%s", doing);
    (void)snprintf(now->sent, sizeof now->sent, "%s", sent != NULL ? sent : "");
    (void)atomic_fetch_add(&now->signs, 1);
}

void child_warn(struct child *child) {
    child->now->is_warning = true;
}

enum rule child_rule(const struct child *child) {
    return child->now->rule;
}

static void add_text(struct buf *line, const char *key, const char *text, size_t length) {
    if (text == NULL) {
        return;
    }
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    text_add_valid(&valid, text, length);
    buf_printf(line, ", \"%s\": ", key);
    buf_add_json_string(line, valid.data != NULL ? valid.data : "", valid.length);
}

static void add_short(struct buf *line, const char *key, const char *text) {
    if (text != NULL) {
        size_t length = strlen(text);
        add_text(line, key, text, length < SHOWN_LENGTH_MAX ? length : SHOWN_LENGTH_MAX);
    }
}

static void begin(struct buf *line, const char *kind, size_t number) {
    buf_printf(line, "{\"kind\": \"%s\", \"number\": %zu", kind, number);
}

/* The parent waits for nothing, so that a line cannot be held up. */
static void send_line(struct child *child, struct buf *line) {
    buf_add_text(line, "}\n");
    if (line->failed || write_all(child->fd, line->data, line->length) < 0) {
        _exit(EXIT_FAILURE);
    }
    (void)atomic_fetch_add(&child->now->signs, 1);
}

static void send_number(struct child *child, const char *kind, size_t number) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    begin(&line, kind, number);
    send_line(child, &line);
}

void child_find(struct child *child, enum rule rule, bool is_warning, const char *tool,
                const char *sent, const char *came) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    begin(&line, is_warning ? "warning" : "finding", rule);
    add_short(&line, "tool", tool);
    add_short(&line, "sent", sent);
    add_text(&line, "came", came, strlen(came));
    send_line(child, &line);
}

void child_skip(struct child *child, enum rule rule, const char *tool, const char *why) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    begin(&line, "skip", rule);
    add_short(&line, "tool", tool);
    add_short(&line, "why", why);
    send_line(child, &line);
}

void child_count(struct child *child, enum rule rule, uint64_t checks) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    begin(&line, "checks", rule);
    buf_printf(&line, ", \"count\": %llu", (unsigned long long)checks);
    send_line(child, &line);
}

void child_add_tool(struct child *child, const struct tested_tool *tool) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    begin(&line, "tool", 0);
    add_short(&line, "name", tool->name);
    add_short(&line, "skipped", tool->skipped);
    buf_printf(&line, ", \"idempotent\": %d, \"read_only\": %d, \"disabled\": %d",
               tool->is_idempotent, tool->is_read_only, tool->is_disabled);
    send_line(child, &line);
}

void child_add_sample(struct child *child, const struct sample *sample) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    size_t length = strlen(sample->arguments);
    size_t result_length = sample->result != NULL ? strlen(sample->result) : 0;
    if (length > SAMPLE_LENGTH_MAX || result_length > SAMPLE_LENGTH_MAX) {
        return;
    }
    begin(&line, "sample", sample->tool);
    add_text(&line, "arguments", sample->arguments, length);
    add_text(&line, "result", sample->result, result_length);
    buf_printf(&line, ", \"example\": %d, \"stated\": %d, \"late\": %d, \"ns\": %llu",
               sample->is_example, sample->is_stated, sample->is_late,
               (unsigned long long)sample->ns);
    send_line(child, &line);
}

void child_give_up(struct child *child, size_t tool) {
    send_number(child, "given-up", tool);
}

void child_is_dead(struct child *child) {
    send_number(child, "dead", 0);
}

void child_is_loose(struct child *child, size_t sample) {
    send_number(child, "loose", sample);
}

void child_is_bad(struct child *child, size_t sample) {
    send_number(child, "bad", sample);
}

/* How many tasks the machine has, as /proc/loadavg says: running and all. */
static rlim_t count_tasks(void) {
    char text[128] = "";
    CLEANUP(closep) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    const char *slash = length > 0 ? strchr(text, '/') : NULL;
    return slash != NULL ? (rlim_t)strtoul(slash + 1, NULL, 10) : 0;
}

/* A core file of each crash would fill the disk. Where memory is used up all the same, the kernel
 * takes it from here and not from the author's editor. */
static void limit(void) {
    struct rlimit none = {0, 0};
    struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};
    struct rlimit file = {FILE_LENGTH_MAX, FILE_LENGTH_MAX};
    struct rlimit tasks = {0};
    if (getrlimit(RLIMIT_NPROC, &tasks) == 0) { /* it counts all of the user's */
        rlim_t most = count_tasks() + PROCESSES_MAX;
        tasks.rlim_cur = most < tasks.rlim_max ? most : tasks.rlim_max;
        (void)setrlimit(RLIMIT_NPROC, &tasks);
    }
    CLEANUP(closep) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    (void)!write(fd, "1000", 4);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (!tsan_is_here()) { /* whose runtime maps terabytes */
        (void)setrlimit(RLIMIT_AS, &memory);
    }
    (void)setrlimit(RLIMIT_FSIZE, &file);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Handlers of the command are not the plugin's: an unexpected signal ends the child. Nor is its
 * terminal, into which a process of its session could type. */
static void run_step(struct child *child, struct session *session, step_function *step) {
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    limit();
    if (!place_enter(session)) {
        _exit(EXIT_FAILURE);
    }
    step(child, session);
    send_number(child, "end", 0);
    _exit(EXIT_SUCCESS);
}

/* ---------------------------------------------------------------- the parent */

static char *copy_member(yyjson_val *line, const char *key) {
    const char *text = yyjson_get_str(yyjson_obj_get(line, key));
    return text != NULL ? strdup(text) : NULL;
}

static bool is_set(yyjson_val *line, const char *key) {
    return yyjson_get_int(yyjson_obj_get(line, key)) != 0;
}

static void take_tool(struct session *session, yyjson_val *line) {
    struct tested_tool *grown =
            reallocarray(session->tools, session->tool_count + 1, sizeof *session->tools);
    char *name = copy_member(line, "name");
    if (grown != NULL) {
        session->tools = grown;
    }
    if (grown == NULL || name == NULL) {
        free(name);
        return;
    }
    grown[session->tool_count++] = (struct tested_tool){.name = name,
                                                        .skipped = copy_member(line, "skipped"),
                                                        .is_idempotent = is_set(line, "idempotent"),
                                                        .is_read_only = is_set(line, "read_only"),
                                                        .is_disabled = is_set(line, "disabled")};
}

/* A call that does not end may wait for what one that failed has left, such as a lock. Where calls
 * are made again, the one that waits would be taken for the fault of another rule. */
static void leave_out_failures(struct session *session, size_t tool) {
    for (size_t i = 0; i < session->sample_count; i++) {
        struct sample *sample = &session->samples[i];
        sample->is_bad = sample->is_bad ||
                         (sample->tool == tool && sample->result == NULL && !sample->is_late);
    }
}

static void take_sample(struct session *session, yyjson_val *line, size_t tool) {
    struct sample *grown =
            reallocarray(session->samples, session->sample_count + 1, sizeof *session->samples);
    char *arguments = copy_member(line, "arguments");
    if (grown != NULL) {
        session->samples = grown;
    }
    if (grown == NULL || arguments == NULL) {
        free(arguments);
        return;
    }
    grown[session->sample_count++] =
            (struct sample){.tool = tool,
                            .arguments = arguments,
                            .result = copy_member(line, "result"),
                            .is_example = is_set(line, "example"),
                            .is_stated = is_set(line, "stated"),
                            .is_late = is_set(line, "late"),
                            .ns = yyjson_get_uint(yyjson_obj_get(line, "ns"))};
    if (is_set(line, "late")) {
        leave_out_failures(session, tool);
    }
}

struct watching {
    struct session *session;
    struct now *now;
    size_t length;  /* of what it said */
    bool lists;     /* it is the one that says which tools there are, and runs no plugin */
    bool has_ended; /* it said so */
};

/* The plugin may have written the line: nothing in it is true because a child says it. */
static void take_line(struct watching *watching, const char *text, size_t length) {
    struct session *session = watching->session;
    yyjson_doc *doc = yyjson_read(text, length, 0);
    yyjson_val *line = yyjson_doc_get_root(doc);
    const char *kind = yyjson_get_str(yyjson_obj_get(line, "kind"));
    size_t number = (size_t)yyjson_get_uint(yyjson_obj_get(line, "number"));
    const char *tool = yyjson_get_str(yyjson_obj_get(line, "tool"));
    const char *came = yyjson_get_str(yyjson_obj_get(line, "came"));
    const char *why = yyjson_get_str(yyjson_obj_get(line, "why"));
    bool is_rule = number < RULE_COUNT;
    kind = kind != NULL ? kind : "";
    if (is_rule && came != NULL && (strcmp(kind, "finding") == 0 || strcmp(kind, "warning") == 0)) {
        session_find(session, (enum rule)number, kind[0] == 'w', tool,
                     yyjson_get_str(yyjson_obj_get(line, "sent")), came);
    } else if (is_rule && why != NULL && strcmp(kind, "skip") == 0) {
        session_skip(session, (enum rule)number, tool, why);
    } else if (is_rule && strcmp(kind, "checks") == 0) {
        session->outcomes[number].checks += yyjson_get_uint(yyjson_obj_get(line, "count"));
    } else if (watching->lists && strcmp(kind, "tool") == 0) {
        take_tool(session, line);
    } else if (strcmp(kind, "sample") == 0 && number < session->tool_count) {
        take_sample(session, line, number);
    } else if (strcmp(kind, "given-up") == 0 && number < session->tool_count) {
        session->tools[number].is_given_up = true;
    } else if (strcmp(kind, "loose") == 0 && number < session->sample_count) {
        session->samples[number].is_loose = true;
    } else if (strcmp(kind, "bad") == 0 && number < session->sample_count) {
        session->samples[number].is_bad = true;
    } else if (strcmp(kind, "dead") == 0) {
        session->is_dead = true;
    } else if (strcmp(kind, "end") == 0) {
        watching->has_ended = true;
    }
    yyjson_doc_free(doc);
}

/* Take whole lines, and leave the rest. */
static void take_lines(struct watching *watching, struct buf *bytes) {
    size_t from = 0;
    for (;;) {
        char *end = from < bytes->length ? memchr(bytes->data + from, '\n', bytes->length - from)
                                         : NULL;
        if (end == NULL) {
            break;
        }
        size_t at = (size_t)(end - bytes->data);
        take_line(watching, bytes->data + from, at - from);
        from = at + 1;
    }
    if (from > 0) {
        memmove(bytes->data, bytes->data + from, bytes->length - from);
        buf_truncate(bytes, bytes->length - from);
    }
}

/* Take what is in the pipe now, but no more than a child has to say. False: all writers have
 * ended. */
static bool read_some(struct watching *watching, int fd, struct buf *bytes) {
    char some[65536];
    while (bytes->length <= LINE_LENGTH_MAX && watching->length <= REPORT_MAX) {
        ssize_t length = read(fd, some, sizeof some);
        if (length > 0) {
            buf_add(bytes, some, (size_t)length);
            watching->length += (size_t)length;
            take_lines(watching, bytes);
        } else if (length == 0 || errno != EINTR) {
            return length != 0;
        }
    }
    return true;
}

/* The memory that the machine has left, in sixteenths of what it has. */
static double memory_left(void) {
    char text[512] = "";
    CLEANUP(closep) int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    const char *all = length > 0 ? strstr(text, "MemTotal:") : NULL;
    const char *left = length > 0 ? strstr(text, "MemAvailable:") : NULL;
    return all != NULL && left != NULL ? strtod(left + strlen("MemAvailable:"), NULL) * 16 /
                                                 strtod(all + strlen("MemTotal:"), NULL)
                                       : 16;
}

/* How many processes there are below one, up to `max`; what cannot be read has none. */
static unsigned count_below(pid_t pid, unsigned max) {
    char path[64];
    char pids[16384];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, pids, sizeof pids - 1) : 0;
    pids[length > 0 ? length : 0] = '\0';
    for (char *at = pids, *end; length > 0 && count < max; at = end) {
        long below = strtol(at, &end, 10);
        if (end == at || below <= 0) {
            break;
        }
        count++;
        count += count < max ? count_below((pid_t)below, max - count) : 0;
    }
    return count;
}

/* Why a child was not waited for any more. */
enum end { END_ITSELF, END_SLOW, END_TALKS, END_MEMORY, END_PROCESSES };

/* Follow the child until it has ended, or shows no sign of life, or takes too much. Processes that
 * it left may hold the pipe. */
static enum end follow(struct watching *watching, pid_t pid, int fd) {
    CLEANUP(buf_finish) struct buf bytes = BUF_INIT;
    CLEANUP(closep) int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    uint64_t patience_ns =
            ((uint64_t)watching->session->timeout_ms * 3 + STALL_MS) * CLOCK_NS_PER_MS;
    uint64_t seen_ns = clock_now_ns();
    const uint64_t until_ns = seen_ns + (uint64_t)STEP_MS * CLOCK_NS_PER_MS;
    const double left_before = memory_left();
    unsigned long signs = 0;
    bool is_open = true;
    for (;;) {
        struct pollfd waits[] = {{.fd = is_open ? fd : -1, .events = POLLIN},
                                 {.fd = handle, .events = POLLIN}};
        (void)poll(waits, ARRAY_LENGTH(waits), LOOK_MS);
        bool has_exited = waits[1].revents != 0;
        is_open = is_open && read_some(watching, fd, &bytes);
        if (has_exited || (handle < 0 && !is_open)) {
            return END_ITSELF;
        }
        unsigned long now = atomic_load(&watching->now->signs);
        seen_ns = now != signs ? clock_now_ns() : seen_ns;
        signs = now;
        double left = memory_left(); /* no limit of a process counts the files in memory it holds */
        if (left < 1 && left < left_before - 1) {
            return END_MEMORY;
        }
        if (bytes.length > LINE_LENGTH_MAX || watching->length > REPORT_MAX) {
            return END_TALKS;
        }
        /* Its own, and those of which the parent has ended: they are this process's. */
        if (count_below(getpid(), PROCESSES_MAX + 2) > PROCESSES_MAX) {
            return END_PROCESSES;
        }
        if (child_interrupted() || clock_now_ns() - seen_ns > patience_ns ||
            clock_now_ns() > until_ns) {
            return END_SLOW;
        }
    }
}

static void describe_end(const struct now *now, enum end end, int status, struct buf *out) {
    switch (end) {
    case END_SLOW: buf_add_text(out, "the process did not go on in time and was ended"); break;
    case END_TALKS:
        buf_add_text(out, "the process wrote too much where the test reports and was ended");
        break;
    case END_MEMORY:
        buf_add_text(out, "the process took the memory of the machine and was ended");
        break;
    case END_PROCESSES:
        buf_printf(out, "the process had more than %u processes and was ended", PROCESSES_MAX);
        break;
    case END_ITSELF:
        if (WIFSIGNALED(status)) {
            buf_printf(out, "the process ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
        } else {
            buf_printf(out, "the process ended with exit status %d", WEXITSTATUS(status));
        }
        break;
    }
    buf_printf(out, ", %s", now->doing);
    if (end == END_SLOW) {
        buf_add_text(out, "; --timeout MS gives a call more time, --runs N makes fewer calls");
    }
}

/* What a step left are children of this process now, since it is their reaper (child_run()): also
 * those that have gone into a session of their own. */
static void end_what_is_left(void) {
    char pids[4096];
    for (unsigned i = 0; i < ENDS_MAX; i++) {
        CLEANUP(closep) int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
        ssize_t length = fd >= 0 ? read(fd, pids, sizeof pids - 1) : 0;
        pids[length > 0 ? length : 0] = '\0';
        for (char *at = pids, *end; length > 0; at = end) {
            long pid = strtol(at, &end, 10);
            if (end == at || *end == '\0') { /* a number that was cut is read whole next */
                break;
            }
            (void)kill((pid_t)pid, SIGKILL);
            (void)waitpid((pid_t)pid, NULL, 0);
        }
        if (length <= 0) {
            break;
        }
    }
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

/* What the plugin can still change is copied, and made safe to read. */
static struct now take_now(const struct now *shared, enum rule rule) {
    struct now ret = {.tool = shared->tool, .rule = shared->rule, .is_warning = shared->is_warning};
    memcpy(ret.doing, shared->doing, sizeof ret.doing - 1);
    memcpy(ret.sent, shared->sent, sizeof ret.sent - 1);
    ret.rule = (unsigned)ret.rule < RULE_COUNT ? ret.rule : rule;
    return ret;
}

/* @return whether the step has to go on, at *first. */
static bool run_once(struct session *session, enum rule rule, step_function *step, bool lists,
                     struct now *shared, size_t *first) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) {
        session_skip(session, rule, NULL, "there is no room for one more pipe");
        return false;
    }
    *shared = (struct now){.tool = *first, .rule = rule};
    (void)snprintf(shared->doing, sizeof shared->doing, "before the first call");
    pid_t pid = fork();
    if (pid == 0) {
        closep(&fds[0]);
        run_step(&(struct child){.now = shared, .fd = fds[1], .first = *first}, session, step);
    }
    closep(&fds[1]);
    if (pid < 0) {
        closep(&fds[0]);
        session_skip(session, rule, NULL, "no process can be started");
        return false;
    }
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    struct watching watching = {.session = session, .now = shared, .lists = lists};
    enum end end = follow(&watching, pid, fds[0]);
    closep(&fds[0]);
    int status = 0;
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    end_what_is_left();
    if (watching.has_ended) {
        return false;
    }
    const struct now now = take_now(shared, rule);
    CLEANUP(buf_finish) struct buf came = BUF_INIT;
    describe_end(&now, end, status, &came);
    bool has_tool = now.tool < session->tool_count;
    session_find(session, now.rule, now.is_warning, has_tool ? session->tools[now.tool].name : NULL,
                 now.sent[0] != '\0' ? now.sent : NULL, came.failed ? "it ended" : came.data);
    for (size_t i = 0; now.rule == RULE_ISOLATION && i < session->sample_count; i++) {
        session->samples[i].is_bad =
                session->samples[i].is_bad || session->samples[i].tool == now.tool;
    }
    *first = now.tool + 1;
    return has_tool && *first < session->tool_count;
}

static void run(struct session *session, enum rule rule, step_function *step, bool lists) {
    struct now *now =
            mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (now == MAP_FAILED) {
        session_skip(session, rule, NULL, "out of memory");
        return;
    }
    size_t first = 0;
    int was_reaper = 0;
    (void)prctl(PR_GET_CHILD_SUBREAPER, &was_reaper);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (unsigned i = 0; i < RESTARTS_MAX && !child_interrupted(); i++) {
        if (!run_once(session, rule, step, lists, now, &first)) {
            break;
        }
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, was_reaper);
    (void)munmap(now, sizeof *now);
}

void child_run(struct session *session, enum rule rule, step_function *step) {
    run(session, rule, step, false);
}

void child_list(struct session *session, step_function *step) {
    run(session, RULE_LOAD, step, true);
}
