/* REST: the list of 1,000 tools beside the least that a server can do (bare epoll, a text of the
 * same length from memory), and a call beside the same call by MCP, with 8 connections that each
 * have one request under way. Servers are measured by turns.
 *
 * Goals: the list at least 0.75 x the floor's rate; a call at most 1.25 x the CPU of MCP's. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "bench.h"
#include "mcp/server.h"
#include "plugins.h"

enum { CONNECTIONS = 8, ROUNDS = 9, LISTS = 1000, CALLS = 10000, REQUEST_MAX = 2048 };

static char in[CONNECTIONS][1 << 20];

/* One thing to ask a server for, again and again. */
struct question {
    const char *name;
    struct server *server;
    long times;
    size_t (*write)(const struct server *server, char *out, size_t size);
    int fds[CONNECTIONS];
    size_t used[CONNECTIONS];
    double rate[ROUNDS];
    double cpu_us[ROUNDS];
};

static size_t write_list(const struct server *server, char *out, size_t size) {
    return (size_t)snprintf(out, size, "GET /api/tools HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
                            server->port);
}

static size_t write_rest(const struct server *server, char *out, size_t size) {
    char body[512];
    int length = snprintf(body, sizeof body, "{\"message\":\"%s\"}", server_message);
    return (size_t)snprintf(out, size,
                            "POST /api/tools/echo/call HTTP/1.1\r\nHost: localhost:%d\r\n"
                            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                            server->port, length, body);
}

static size_t write_mcp(const struct server *server, char *out, size_t size) {
    static long id;
    char body[REQUEST_MAX / 2];
    size_t length = server_request(server, body, sizeof body, ++id);
    return (size_t)snprintf(
            out, size,
            "POST /mcp HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            "Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: %zu\r\n\r\n%s",
            server->port, length, body);
}

static int connect_to(const struct server *server) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        die(server->name);
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

static void ask(struct question *question, int i) {
    char text[REQUEST_MAX];
    size_t size = question->write(question->server, text, sizeof text);
    question->used[i] = 0;
    if (write(question->fds[i], text, size) != (ssize_t)size) {
        die(question->name);
    }
}

/* Whether the answer is complete; a wrong one ends the benchmark. */
static bool answered(struct question *question, int i) {
    ssize_t got =
            read(question->fds[i], in[i] + question->used[i], sizeof in[i] - 1 - question->used[i]);
    if (got <= 0) {
        die(question->name);
    }
    question->used[i] += (size_t)got;
    in[i][question->used[i]] = '\0';
    char *body = strstr(in[i], "\r\n\r\n");
    char *length = strcasestr(in[i], "\r\ncontent-length:");
    if (strncmp(in[i], "HTTP/1.1 200", question->used[i] < 12 ? question->used[i] : 12) != 0) {
        (void)fprintf(stderr, "bench: %s answers %.300s\n", question->name, in[i]);
        exit(EXIT_FAILURE);
    }
    return body != NULL && length != NULL &&
           question->used[i] == (size_t)(body + 4 - in[i]) + strtoul(length + 17, NULL, 10);
}

static void load(struct question *question, long times) {
    struct pollfd polls[CONNECTIONS];
    long sent = 0;
    for (int i = 0; i < CONNECTIONS; i++, sent++) {
        polls[i] = (struct pollfd){.fd = question->fds[i], .events = POLLIN};
        ask(question, i);
    }
    for (long done = 0; done < sent;) {
        if (poll(polls, CONNECTIONS, 30000) <= 0) {
            die(question->name);
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            if (polls[i].revents == 0 || !answered(question, i)) {
                continue;
            }
            done++;
            if (sent < times) {
                sent++;
                ask(question, i);
            }
        }
    }
}

static void measure(struct question *question, int round) {
    double cpu = server_cpu_s(question->server);
    uint64_t start = clock_now_ns();
    load(question, round < 0 ? question->times / 4 : question->times);
    double seconds = (double)(clock_now_ns() - start) / 1e9;
    if (round >= 0) {
        question->rate[round] = (double)question->times / seconds;
        question->cpu_us[round] =
                (server_cpu_s(question->server) - cpu) * 1e6 / (double)question->times;
    }
}

static double middle(double *values) {
    qsort(values, ROUNDS, sizeof values[0], bench_compare);
    return values[ROUNDS / 2];
}

static void measure_all(struct question *questions, size_t count) {
    for (size_t q = 0; q < count; q++) {
        for (int i = 0; i < CONNECTIONS; i++) {
            questions[q].fds[i] = connect_to(questions[q].server);
        }
    }
    for (int round = -1; round < ROUNDS; round++) {
        for (size_t q = 0; q < count; q++) {
            measure(&questions[q], round);
        }
    }
    for (size_t q = 0; q < count; q++) {
        (void)printf("  %-34s %9.0f requests/s %5.2f x  CPU %7.1f us %5.2f x\n", questions[q].name,
                     middle(questions[q].rate),
                     middle(questions[q].rate) / middle(questions[0].rate),
                     middle(questions[q].cpu_us),
                     middle(questions[q].cpu_us) / middle(questions[0].cpu_us));
        for (int i = 0; i < CONNECTIONS; i++) {
            (void)close(questions[q].fds[i]);
        }
    }
}

/* What the server lists, for the floor: as many bytes. */
static void keep_list(struct server *server) {
    struct question question = {.name = "the list", .server = server, .write = write_list};
    question.fds[0] = connect_to(server);
    ask(&question, 0);
    while (!answered(&question, 0)) {
    }
    char *body = strstr(in[0], "\r\n\r\n") + 4;
    write_file(index_path, body, strlen(body));
    (void)setenv("FLOOR_BODY", index_path, 1);
    (void)close(question.fds[0]);
}

int main(void) {
    static struct server floor_server, many, echo;
    make_folder(SCAN_PLUGIN);
    (void)atexit(remove_folder);
    (void)setenv("BENCH_PLUGINS", folder, 1);
    if (!server_start(&many, SERVER_TOOLRACK, "http", true)) {
        die("toolrack");
    }
    (void)unsetenv("BENCH_PLUGINS");
    keep_list(&many);
    if (!server_start(&floor_server, SERVER_FLOOR, "http", true) ||
        !server_start(&echo, SERVER_TOOLRACK, "http", true)) {
        die("the servers");
    }
    struct question lists[] = {{.name = "floor, a text from memory",
                                .server = &floor_server,
                                .times = LISTS,
                                .write = write_list},
                               {.name = "GET /api/tools of 1,000 tools",
                                .server = &many,
                                .times = LISTS,
                                .write = write_list}};
    struct question calls[] = {
            {.name = "tools/call by MCP", .server = &echo, .times = CALLS, .write = write_mcp},
            {.name = "POST /api/tools/echo/call",
             .server = &echo,
             .times = CALLS,
             .write = write_rest}};
    (void)printf("lists  goal: at least 0.75 x the floor's rate\n");
    measure_all(lists, 2);
    (void)printf("calls  goal: at most 1.25 x the CPU of MCP's\n");
    measure_all(calls, 2);
    server_stop(&many);
    server_stop(&floor_server);
    server_stop(&echo);
    return 0;
}
