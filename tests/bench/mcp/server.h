/* server.h - the servers that the benchmarks of serving compare, and what they use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum server_kind {
    SERVER_FLOOR,
    SERVER_TOOLRACK, /* the tool in the server's process */
    SERVER_ISOLATED, /* the tool in a worker */
    SERVER_SDK_V1,
    SERVER_SDK_V2,
    SERVER_KINDS
};

struct server {
    const char *name;
    pid_t pid; /* 0: not there, such as without node */
    int in;    /* stdio: what the server reads */
    int out;   /* ... and writes */
    int port;  /* http */
    double start_ms;
    bool stateless; /* speaks 2026-07-28, else 2025-06-18 */
    char buffer[1 << 16];
    size_t used;
};

extern const char *const server_names[SERVER_KINDS];

/** The `message` that each call has for the tool `echo`. */
extern const char server_message[];

/** Start a server, `stdio` or `http`; false if this machine has not what it needs. */
bool server_start(struct server *server, enum server_kind kind, const char *transport,
                  bool stateless);
/** Start any program, with pipes as its standard input and output, as `pid`, `in` and `out`. */
void server_spawn(struct server *server, char **arguments);
void server_stop(struct server *server);

/** A path in a folder that goes away at the end; valid until the call after the next one. */
const char *server_path(const char *name);

/** Wait until toolrack has copied so many plugins, which it does beside its first answers. */
void server_await_copies(size_t count);

/** CPU time of the process, and of the workers that it has, in seconds. */
double server_cpu_s(const struct server *server);
double server_rss_mib(const struct server *server);
int server_descriptors(const struct server *server);

/** Place the server, or (pid 0) this process, on one CPU of those that there are; -1: on all. */
void place(pid_t pid, int cpu);

/** The request number `id` as JSON without a line feed; id 0: the first one of a connection. */
size_t server_request(const struct server *server, char *out, size_t size, long id);
