/* MCP over HTTP: `toolrack serve` beside the least that a server can do (bare epoll) and beside the
 * official TypeScript SDK v2, with 32 connections that each have one request under way, all of
 * 2026-07-28. Servers are measured by turns.
 *
 * Goals: rate at least 0.75 x the floor and 33 x SDK v2, CPU a request at most 1.25 x the floor,
 * p99 at most 1.5 x; RSS at most 15 MiB with 100 connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "mcp/server.h"

enum {
    CONNECTIONS = 32,
    MORE_CONNECTIONS = 100,
    ROUNDS = 9,
    REQUEST_MAX = 2048,
    ANSWER_MAX = 8192,
    TIMES_MAX = 20000
};

static const struct {
    enum server_kind kind;
    long times; /* requests in a round */
} peers[] = {{SERVER_FLOOR, 20000},
             {SERVER_TOOLRACK, 20000},
             {SERVER_ISOLATED, 5000},
             {SERVER_SDK_V2, 1000}};
enum { PEERS = sizeof peers / sizeof peers[0], FLOOR = 0, OURS = 1, V2 = 3 };

struct connection {
    int fd;
    size_t used;
    uint64_t sent_ns;
    char in[ANSWER_MAX];
};

struct figures {
    double rate[ROUNDS], p50_us[ROUNDS], p99_us[ROUNDS], cpu_us[ROUNDS];
};

static struct server servers[PEERS];

static void die(const char *what) {
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
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

static void ask(const struct server *server, struct connection *connection, long id) {
    char body[REQUEST_MAX / 2];
    char text[REQUEST_MAX];
    size_t length = server_request(server, body, sizeof body, id);
    int size = snprintf(
            text, sizeof text,
            "POST /mcp HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            "Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: %zu\r\n\r\n%s",
            server->port, length, body);
    connection->sent_ns = clock_now_ns();
    if (write(connection->fd, text, (size_t)size) != size) {
        die(server->name);
    }
}

/* Where a complete answer ends, or NULL. The SDK may send chunks, whose end is an empty one. */
static char *end_of_answer(struct connection *connection) {
    connection->in[connection->used] = '\0';
    char *body = strstr(connection->in, "\r\n\r\n");
    if (body == NULL) {
        return NULL;
    }
    body += 4;
    char *length = strcasestr(connection->in, "\r\ncontent-length:");
    char *end = length != NULL && length < body ? body + strtoul(length + 17, NULL, 10)
                                                : strstr(body, "0\r\n\r\n");
    if (end != NULL && (length == NULL || length >= body)) {
        end += 5;
    }
    return end != NULL && end <= connection->in + connection->used ? end : NULL;
}

/* Whether the answer is complete; a wrong one ends the benchmark. */
static bool answered(const struct server *server, struct connection *connection) {
    ssize_t got = read(connection->fd, connection->in + connection->used,
                       sizeof connection->in - 1 - connection->used);
    if (got <= 0) {
        die(server->name);
    }
    connection->used += (size_t)got;
    char *end = end_of_answer(connection);
    if (end == NULL) {
        return false;
    }
    if (strncmp(connection->in, "HTTP/1.1 200", 12) != 0 ||
        strstr(connection->in, "hand-made parser") == NULL) {
        (void)fprintf(stderr, "bench: %s answers %s\n", server->name, connection->in);
        exit(EXIT_FAILURE);
    }
    connection->used -= (size_t)(end - connection->in);
    memmove(connection->in, end, connection->used);
    return true;
}

/* `times` requests over 32 connections. */
static void load(const struct server *server, struct connection *connections, long times,
                 double *us) {
    struct pollfd polls[CONNECTIONS];
    static long id;
    long sent = 0;
    for (int i = 0; i < CONNECTIONS; i++, sent++) {
        polls[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
        ask(server, &connections[i], ++id);
    }
    for (long done = 0; done < times;) {
        if (poll(polls, CONNECTIONS, 30000) <= 0) {
            die(server->name);
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            if (polls[i].revents == 0 || !answered(server, &connections[i])) {
                continue;
            }
            us[done++] = (double)(clock_now_ns() - connections[i].sent_ns) / 1000;
            if (sent < times) {
                sent++;
                ask(server, &connections[i], ++id);
            }
        }
    }
}

static void measure(int peer, struct connection *connections, struct figures *figures, int round) {
    static double us[TIMES_MAX];
    long times = peers[peer].times;
    double cpu = server_cpu_s(&servers[peer]);
    uint64_t start = clock_now_ns();
    load(&servers[peer], connections, times, us);
    double seconds = (double)(clock_now_ns() - start) / 1e9;
    if (round < 0) {
        return;
    }
    figures->rate[round] = (double)times / seconds;
    figures->cpu_us[round] = (server_cpu_s(&servers[peer]) - cpu) * 1e6 / (double)times;
    qsort(us, (size_t)times, sizeof us[0], bench_compare);
    figures->p50_us[round] = us[times / 2];
    figures->p99_us[round] = us[times * 99 / 100];
}

static double middle(double *values) {
    qsort(values, ROUNDS, sizeof values[0], bench_compare);
    return values[ROUNDS / 2];
}

/* Memory and descriptors with a hundred connections that have each been used once. */
static void footprint(const struct server *server) {
    static struct connection connections[MORE_CONNECTIONS];
    int before = server_descriptors(server);
    for (int i = 0; i < MORE_CONNECTIONS; i++) {
        connections[i].fd = connect_to(server);
        ask(server, &connections[i], 1000000 + i);
        while (!answered(server, &connections[i])) {
        }
    }
    double rss = server_rss_mib(server);
    int during = server_descriptors(server);
    for (int i = 0; i < MORE_CONNECTIONS; i++) {
        (void)close(connections[i].fd);
    }
    (void)printf("toolrack with 100 more connections: RSS %.1f MiB (goal 15), %d descriptors (%d "
                 "without)\n",
                 rss, during, before);
}

int main(void) {
    static struct connection connections[PEERS][CONNECTIONS];
    static struct figures figures[PEERS];
    for (int i = 0; i < PEERS; i++) {
        if (!server_start(&servers[i], peers[i].kind, "http", true)) {
            (void)printf("%s is not installed: no row for it\n", server_names[peers[i].kind]);
            continue;
        }
        for (int c = 0; c < CONNECTIONS; c++) {
            connections[i][c].fd = connect_to(&servers[i]);
        }
    }
    for (int round = -1; round < ROUNDS; round++) {
        for (int i = 0; i < PEERS; i++) {
            if (servers[i].pid != 0) {
                measure(i, connections[i], &figures[i], round);
            }
        }
    }
    (void)printf("32 connections  goals for toolrack: rate 0.75 x floor and 33 x SDK v2, CPU 1.25 "
                 "x, p99 1.5 x\n");
    double rate = middle(figures[FLOOR].rate);
    double cpu = middle(figures[FLOOR].cpu_us);
    double p99 = middle(figures[FLOOR].p99_us);
    double v2 = servers[V2].pid != 0 ? middle(figures[V2].rate) : 0;
    for (int i = 0; i < PEERS; i++) {
        if (servers[i].pid == 0) {
            continue;
        }
        struct figures *own = &figures[i];
        (void)printf("  %-26s %8.0f requests/s %6.2f x floor", servers[i].name, middle(own->rate),
                     middle(own->rate) / rate);
        if (v2 > 0) {
            (void)printf(" %6.1f x SDK v2", middle(own->rate) / v2);
        }
        (void)printf("  CPU %6.1f us %5.2f x  p50 %7.0f us  p99 %7.0f us %5.2f x\n",
                     middle(own->cpu_us), middle(own->cpu_us) / cpu, middle(own->p50_us),
                     middle(own->p99_us), middle(own->p99_us) / p99);
    }
    footprint(&servers[OURS]);
    for (int i = 0; i < PEERS; i++) {
        server_stop(&servers[i]);
    }
    return 0;
}
