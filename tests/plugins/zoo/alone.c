/* alone - does each fixture of the zoo really commit its fault?
 *
 *     alone ZOO_DIR
 *
 * Each is loaded, opened, called and closed in a process of its own, with nothing around it but
 * limits on memory and descriptors. What that process does, in words, must be what zoo.def says: so
 * what a host shows of the fault in tests/e2e/test-zoo.c is the host's doing.
 *
 * Three processes: this one, which nothing may hurt; a "host", which an attempt may kill; and the
 * one of the plugin. What a fixture leaves behind becomes a child of this one, and is ended. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <toolrack/plugin.h>
#include <unistd.h>
#include <yyjson.h>

#include "process.h"
#include "row.h"

/* How long a process that hangs is watched, and one that should not. */
#define HANG_MS         300
#define END_MS_MAX      60000
/* How long threads that the call has left are watched before the plugin is closed. */
#define LINGER_MS_MAX   1000
/* When the call is cancelled: only one fixture asks. */
#define CANCEL_MS       50
/* What the process of a plugin may have. */
#define MEMORY_MAX      ((rlim_t)1 << 30)
#define DESCRIPTORS_MAX 64
/* Longest result that is shown. */
#define SHOWN_MAX       80

/* What the plugin's process tells, in memory that outlives it. */
struct story {
    size_t length;
    char text[1024];
    bool ended; /* it came to its end by itself */
};

struct alone_call {
    struct tr_call base; /* first: the tool holds a pointer to it */
    struct story *story;
    yyjson_doc *arguments;
    uint64_t cancel_at_ms;
    uint64_t replied; /* bytes */
    char reply[SHOWN_MAX + 1];
    char reason[256];
    atomic_bool ended;
    atomic_bool used_later;
};

static uint64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

__attribute__((format(printf, 2, 3))) static void tell(struct story *story, const char *format,
                                                       ...) {
    size_t room = sizeof story->text - story->length;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(story->text + story->length, room, format, args);
    va_end(args);
    story->length += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

/* ------------------------------------------------------------ the call, as a tool sees it */

static struct alone_call *call_of(struct tr_call *base) {
    return (struct alone_call *)base;
}

static tr_status get_string(struct tr_call *base, const char *path, const char **ret,
                            uint64_t *ret_length) {
    yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(call_of(base)->arguments), path);
    (void)ret_length;
    if (!yyjson_is_str(value)) {
        return TR_ABSENT;
    }
    *ret = yyjson_get_str(value);
    return TR_OK;
}

static tr_status get_i64(struct tr_call *base, const char *path, int64_t *ret) {
    yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(call_of(base)->arguments), path);
    if (!yyjson_is_int(value)) {
        return TR_ABSENT;
    }
    *ret = yyjson_get_sint(value);
    return TR_OK;
}

static tr_status get_u64(struct tr_call *base, const char *path, uint64_t *ret) {
    int64_t value = 0;
    tr_status status = get_i64(base, path, &value);
    *ret = (uint64_t)value;
    return status;
}

static tr_status reply(struct tr_call *base, const char *text, uint64_t length) {
    struct alone_call *call = call_of(base);
    call->replied += length == UINT64_MAX ? strlen(text) : length;
    (void)snprintf(call->reply, sizeof call->reply, "%s", text);
    return TR_OK;
}

static tr_status fail_call(struct tr_call *base, tr_status code, const char *field,
                           const char *message) {
    (void)field;
    (void)snprintf(call_of(base)->reason, sizeof call_of(base)->reason, "%s", message);
    return code;
}

static void note_use(struct alone_call *call) {
    if (atomic_load(&call->ended)) {
        atomic_store(&call->used_later, true);
    }
}

static void progress(struct tr_call *base, double done, double total, const char *message) {
    (void)done;
    (void)total;
    (void)message;
    note_use(call_of(base));
}

static void log_line(struct tr_call *base, int32_t level, const char *message) {
    (void)level;
    (void)message;
    note_use(call_of(base));
}

static bool cancelled(struct tr_call *base) {
    return now_ms() >= call_of(base)->cancel_at_ms;
}

static void *take_memory(struct tr_call *base, uint64_t size) {
    (void)base;
    return malloc(size); /* ends with the process */
}

static const struct tr_call_api api = {
        .size = sizeof(struct tr_call_api),
        .get_string = get_string,
        .get_i64 = get_i64,
        .get_u64 = get_u64,
        .reply_text = reply,
        .reply_json = reply,
        .fail = fail_call,
        .progress = progress,
        .log = log_line,
        .cancelled = cancelled,
        .alloc = take_memory,
};

/* ------------------------------------------------------------ the process of the plugin */

struct alone_host {
    struct tr_host base; /* first: open() holds a pointer to it */
    struct story *story;
};

static tr_status refuse(struct tr_host *base, const char *message) {
    tell(((struct alone_host *)base)->story, "refused: %s", message);
    return TR_FAILED;
}

static const struct tr_tool *find_tool(const struct tr_plugin *plugin, const char *name) {
    for (uint32_t i = 0; i < plugin->tool_count; i++) {
        if (strcmp(plugin->tools[i]->name, name) == 0) {
            return plugin->tools[i];
        }
    }
    return NULL;
}

static bool has_threads(void) {
    return process_count_entries("/proc/self/task") > 3; /* this thread, and the two dots */
}

/* Give threads that were left behind the time to do what they do. */
static void linger(const struct alone_call *call) {
    for (int ms = 0; ms < LINGER_MS_MAX && has_threads() && !atomic_load(&call->used_later); ms++) {
        (void)poll(NULL, 0, 1);
    }
}

/* What is no longer as it was, after the call. */
static void tell_traces(struct alone_call *call, const struct tr_plugin *plugin, const char *dir) {
    struct story *story = call->story;
    struct sigaction action = {0};
    char cwd[512] = "";
    if (sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler != SIG_DFL) {
        tell(story, ", handlers left behind");
    }
    if (getcwd(cwd, sizeof cwd) == NULL || strcmp(cwd, dir) != 0) {
        tell(story, ", another folder");
    }
    if (fcntl(STDIN_FILENO, F_GETFD) < 0 && fcntl(STDERR_FILENO, F_GETFD) < 0) {
        tell(story, ", no descriptors left");
    }
    if (has_threads()) {
        tell(story, ", threads left behind");
    }
    if (atomic_load(&call->used_later)) {
        tell(story, ", used after its end");
    }
    if (plugin->tool_count == 0) {
        tell(story, ", no tools left");
    }
}

static void run_tool(struct alone_call *call, const struct tr_tool *tool) {
    if (tool->run == NULL) {
        /* Those of the zoo take nothing and return a text. */
        tell(call->story, "result %s", ((const char *(*)(void))tool->function)());
    } else if (tool->run(&call->base) != TR_OK) {
        tell(call->story, "failed: %s", call->reason);
    } else if (call->replied > SHOWN_MAX) {
        tell(call->story, "result of %llu bytes", (unsigned long long)call->replied);
    } else {
        tell(call->story, "result %s", call->reply);
    }
    atomic_store(&call->ended, true);
}

static void run_plugin(const char *path, const struct zoo_row *row, const char *arguments,
                       struct story *story) {
    static const struct tr_host_api host_api = {.size = sizeof host_api, .fail = refuse};
    static struct alone_call call = {.base = {.api = &api}};
    struct alone_host host = {.base = {.api = &host_api}, .story = story};
    char dir[512] = "";
    (void)getcwd(dir, sizeof dir);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct tr_plugin *plugin = handle != NULL ? dlsym(handle, "toolrack_plugin") : NULL;
    const struct tr_tool *tool = plugin != NULL ? find_tool(plugin, row->tool) : NULL;
    if (tool == NULL) {
        tell(story, "refused: %s", handle == NULL ? dlerror() : "it has no such tool");
        return;
    }
    if (strncmp(tool->description, "Another", strlen("Another")) == 0) {
        tell(story, "another description, ");
    }
    if (plugin->open != NULL && plugin->open(&host.base) != TR_OK) {
        return;
    }
    call.story = story;
    call.arguments = yyjson_read(arguments, strlen(arguments), 0);
    call.cancel_at_ms = now_ms() + CANCEL_MS;
    run_tool(&call, tool);
    linger(&call);
    tell_traces(&call, plugin, dir);
    if (plugin->close != NULL) {
        plugin->close();
    }
    if (dlclose(handle) == 0 && dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL) {
        tell(story, ", still loaded");
    }
}

static void limit(__rlimit_resource_t resource, rlim_t most) {
    (void)setrlimit(resource, &(struct rlimit){.rlim_cur = most, .rlim_max = most});
}

static _Noreturn void be_plugin(const char *path, const struct zoo_row *row, const char *arguments,
                                struct story *story, const int output[2]) {
    limit(RLIMIT_AS, MEMORY_MAX);
    limit(RLIMIT_NOFILE, DESCRIPTORS_MAX);
    limit(RLIMIT_CORE, 0);
    (void)dup2(output[0], STDOUT_FILENO);
    (void)dup2(output[1], STDERR_FILENO);
    run_plugin(path, row, arguments, story);
    story->ended = true;
    exit(0);
}

/* ------------------------------------------------------------ the host of one row */

/* Wait for the end of a process, or end it. Adds what it was to the story. */
static void watch(pid_t pid, int patience_ms, struct story *story) {
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    int status = 0;
    bool hangs = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, patience_ms) == 0;
    if (hangs) {
        (void)kill(pid, SIGKILL);
    }
    (void)close(fd);
    (void)waitpid(pid, &status, 0);
    const char *then = story->length > 0 ? ", then " : "";
    if (hangs) {
        tell(story, "%shangs", then);
    } else if (WIFSIGNALED(status)) {
        tell(story, "%ssignal %d", then, WTERMSIG(status));
    } else if (!story->ended || WEXITSTATUS(status) != 0) {
        tell(story, "%sexit %d", then, WEXITSTATUS(status));
    }
}

static const char *expected_alone(const struct zoo_row *row, char room[64]) {
    if (row->alone != NULL) {
        return row->alone;
    }
    if (row->signal == ZOO_ANY_SIGNAL) {
        return "signal 4|signal 6|signal 7|signal 11";
    }
    (void)snprintf(room, 64, "signal %d", row->signal);
    return row->signal != 0 ? room : "hangs";
}

static _Noreturn void be_host(const char *dir, const struct zoo_row *row, struct zoo_aims *aims,
                              struct story *story) {
    char path[512];
    char arguments[512];
    char room[64];
    int output[2] = {memfd_create("stdout", MFD_CLOEXEC), memfd_create("stderr", MFD_CLOEXEC)};
    (void)snprintf(path, sizeof path, "%s/%s.so", dir, row->plugin);
    aims->host = getpid();
    (void)zoo_arguments(row, aims, arguments);
    pid_t pid = fork();
    if (pid == 0) {
        be_plugin(path, row, arguments, story, output);
    }
    bool may_hang = zoo_says(expected_alone(row, room), "hangs");
    watch(pid, may_hang ? HANG_MS : END_MS_MAX, story);
    struct stat out = {0};
    struct stat err = {0};
    if (fstat(output[0], &out) == 0 && fstat(output[1], &err) == 0 &&
        out.st_size + err.st_size > 0) {
        tell(story, ", printed %lld and %lld bytes", (long long)out.st_size,
             (long long)err.st_size);
    }
    _exit(0);
}

/* ------------------------------------------------------------ all rows */

static void end_child(void *user, pid_t pid, const char *name) {
    (void)user;
    (void)name;
    (void)kill(pid, SIGKILL);
}

/* End what the row has left: its processes are ours by now, or will be when their parent ends. */
static void clear_away(void) {
    do {
        (void)process_children(end_child, NULL);
    } while (waitpid(-1, NULL, 0) > 0);
}

/* A file with something in it. */
static bool make_file(char path[64], const char *dir, const char *name) {
    (void)snprintf(path, 64, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, "secret", 6) == 6;
    (void)close(fd);
    return written;
}

/* A row as it is when it begins. */
static bool begin(struct zoo_aims *aims, const char *dir, struct story *story) {
    (void)snprintf(aims->new_file, sizeof aims->new_file, "%s/new", dir);
    (void)unlink(aims->new_file);
    *story = (struct story){0};
    return make_file(aims->secret, dir, "secret") && make_file(aims->store, dir, "store");
}

static bool run_row(const char *dir, const struct zoo_row *row, struct zoo_aims *aims,
                    struct story *story) {
    char room[64];
    int status = 0;
    (void)fflush(NULL);
    pid_t host = fork();
    if (host == 0) {
        be_host(dir, row, aims, story);
    }
    if (host < 0 || waitpid(host, &status, 0) != host) {
        return false;
    }
    if (WIFSIGNALED(status)) {
        tell(story, ", the host was killed");
    }
    clear_away();
    return zoo_says(story->text, expected_alone(row, room));
}

static bool is_built(const char *dir, const struct zoo_row *row) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s.so", dir, row->plugin);
    return access(path, F_OK) == 0;
}

/* TAP is UTF-8 in lines, and # begins a directive. */
static void make_printable(char *text) {
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~' || *text == '#') {
            *text = '?';
        }
    }
}

static int run_all(const char *dir, struct zoo_aims *aims, const char *work, struct story *story) {
    int failed = 0;
    (void)printf("1..%zu\n", zoo_row_count);
    for (size_t i = 0; i < zoo_row_count; i++) {
        const struct zoo_row *row = &zoo_rows[i];
        const char *more = row->arguments != NULL ? row->arguments : "";
        char room[64];
        if (row->cxx && !is_built(dir, row)) {
            (void)printf("ok %zu - %s # SKIP there is no C++ compiler\n", i + 1, row->plugin);
            continue;
        }
        bool good = begin(aims, work, story) && run_row(dir, row, aims, story);
        failed += good ? 0 : 1;
        make_printable(story->text);
        (void)printf("%s %zu - %s %s: %.100s\n", good ? "ok" : "not ok", i + 1, row->plugin, more,
                     story->text);
        if (!good) {
            (void)printf("# expected: %s\n", expected_alone(row, room));
        }
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    char work[] = "/tmp/toolrack-zoo-XXXXXX";
    struct zoo_aims aims = {0};
    struct story *story =
            mmap(NULL, sizeof *story, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int listener = process_listen(&aims.port);
    if (argc != 2 || story == MAP_FAILED || listener < 0 || mkdtemp(work) == NULL ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        (void)printf("Bail out! usage: alone ZOO_DIR, with /tmp and a loopback network\n");
        return EXIT_FAILURE;
    }
    int code = run_all(argv[1], &aims, work, story);
    (void)unlink(aims.secret);
    (void)unlink(aims.store);
    (void)unlink(aims.new_file);
    (void)rmdir(work);
    (void)close(listener);
    return code;
}
