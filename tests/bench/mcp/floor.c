/* The least that an MCP server can do: `stdio`, or `http`, where it prints its address. It parses a
 * request with yyjson and writes the answer with yyjson, knows one tool and checks nothing. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <yyjson.h>

enum { IN_MAX = 1 << 20, OUT_MAX = 1 << 20, HTTP_IN_MAX = 8192, HTTP_OUT_MAX = 16384, THREADS = 2 };

/* The answer to one request, behind `start` bytes that are left free; 0: none. */
static size_t answer(char *text, size_t length, char *out) {
    static _Thread_local char memory[65536] __attribute__((aligned(64)));
    yyjson_alc alc;
    yyjson_alc_pool_init(&alc, memory, sizeof memory);
    yyjson_doc *request = yyjson_read_opts(text, length, 0, &alc, NULL);
    yyjson_val *root = yyjson_doc_get_root(request);
    yyjson_val *id = yyjson_obj_get(root, "id");
    yyjson_val *params = yyjson_obj_get(root, "params");
    const char *method = yyjson_get_str(yyjson_obj_get(root, "method"));
    if (id == NULL || method == NULL) {
        return 0;
    }
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *message = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, message);
    (void)yyjson_mut_obj_add_str(doc, message, "jsonrpc", "2.0");
    (void)yyjson_mut_obj_add_val(doc, message, "id", yyjson_val_mut_copy(doc, id));
    yyjson_mut_val *result = yyjson_mut_obj_add_obj(doc, message, "result");
    if (strcmp(method, "tools/call") == 0 &&
        yyjson_equals_str(yyjson_obj_get(params, "name"), "echo")) {
        yyjson_val *said = yyjson_obj_get(yyjson_obj_get(params, "arguments"), "message");
        yyjson_mut_val *content =
                yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, result, "content"));
        (void)yyjson_mut_obj_add_str(doc, content, "type", "text");
        (void)yyjson_mut_obj_add_strn(doc, content, "text", yyjson_get_str(said),
                                      yyjson_get_len(said));
    }
    /* For clients that want to know what they talk to. */
    if (strcmp(method, "initialize") == 0) {
        yyjson_mut_val *capabilities = yyjson_mut_obj_add_obj(doc, result, "capabilities");
        (void)yyjson_mut_obj_add_obj(doc, capabilities, "tools");
        (void)yyjson_mut_obj_add_str(doc, result, "protocolVersion", "2025-06-18");
        yyjson_mut_val *info = yyjson_mut_obj_add_obj(doc, result, "serverInfo");
        (void)yyjson_mut_obj_add_str(doc, info, "name", "floor");
        (void)yyjson_mut_obj_add_str(doc, info, "version", "1.0.0");
    } else if (strcmp(method, "tools/list") == 0) {
        yyjson_mut_val *tool =
                yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, result, "tools"));
        (void)yyjson_mut_obj_add_str(doc, tool, "name", "echo");
        (void)yyjson_mut_obj_add_str(doc, tool, "description", "Give back the message");
        yyjson_mut_val *schema = yyjson_mut_obj_add_obj(doc, tool, "inputSchema");
        (void)yyjson_mut_obj_add_str(doc, schema, "type", "object");
    }
    size_t size = 0;
    char *json = yyjson_mut_write_opts(doc, 0, &alc, &size, NULL);
    memcpy(out, json, size);
    return size;
}

static bool write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = write(fd, bytes, size);
        if (sent < 0 && errno == EAGAIN) { /* a text that is longer than the socket takes at once */
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (sent <= 0) {
            return false;
        }
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static int serve_stdio(void) {
    static char in[IN_MAX];
    static char out[OUT_MAX];
    size_t used = 0;
    for (ssize_t got; (got = read(STDIN_FILENO, in + used, sizeof in - used)) > 0;) {
        used += (size_t)got;
        size_t at = 0;
        size_t written = 0;
        for (char *end; (end = memchr(in + at, '\n', used - at)) != NULL;
             at = (size_t)(end - in) + 1) {
            if (written > sizeof out / 2) {
                (void)write_all(STDOUT_FILENO, out, written);
                written = 0;
            }
            size_t size = answer(in + at, (size_t)(end - in) - at, out + written);
            written += size;
            if (size > 0) {
                out[written++] = '\n';
            }
        }
        memmove(in, in + at, used - at);
        used -= at;
        if (!write_all(STDOUT_FILENO, out, written)) {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

/* ---------------------------------------------------------------------- HTTP */

struct connection {
    int fd;
    size_t used;
    char in[HTTP_IN_MAX];
};

/* The answer to each GET, with its head: the file of FLOOR_BODY. */
static char *stored;
static size_t stored_size;

static void store(const char *path) {
    char head[128];
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return;
    }
    size_t size = (size_t)ftell(file);
    size_t length = (size_t)snprintf(
            head, sizeof head,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
            size);
    stored = malloc(length + size);
    rewind(file);
    memcpy(stored, head, length);
    stored_size = length + fread(stored + length, 1, size, file);
    (void)fclose(file);
}

/* Answer each complete request in the buffer; false ends the connection. */
static bool take(struct connection *connection) {
    char out[HTTP_OUT_MAX];
    char *in = connection->in;
    size_t at = 0;
    for (char *body; (body = memmem(in + at, connection->used - at, "\r\n\r\n", 4)) != NULL;) {
        size_t length = 0;
        body += 4;
        for (char *line = in + at; line < body - 2; line = strchr(line, '\n') + 1) {
            if (strncasecmp(line, "content-length:", 15) == 0) {
                length = strtoul(line + 15, NULL, 10);
            }
        }
        if ((size_t)(body - in) + length > sizeof connection->in) {
            return false;
        }
        if ((size_t)(body - in) + length > connection->used) {
            break;
        }
        if (strncmp(in + at, "GET ", 4) == 0) {
            if (!write_all(connection->fd, stored, stored_size)) {
                return false;
            }
            at = (size_t)(body - in);
            continue;
        }
        static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                   "Content-Length: %4zu\r\n\r\n";
        size_t head_length = sizeof head - 1; /* the number has as many places as its %4zu */
        size_t size = answer(body, length, out + head_length);
        char text[sizeof head + 8];
        (void)snprintf(text, sizeof text, head, size);
        memcpy(out, text, head_length);
        if (!write_all(connection->fd, out, head_length + size)) {
            return false;
        }
        at = (size_t)(body - in) + length;
    }
    memmove(in, in + at, connection->used - at);
    connection->used -= at;
    return true;
}

static void accept_all(int listener, int epoll) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        struct connection *connection = calloc(1, sizeof *connection);
        connection->fd = fd;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        (void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

/* Listen at a port of its own or, beside another thread, at the same: the kernel spreads
 * connections over the listeners. False: it cannot. */
static bool listen_at(struct sockaddr_in *address, int *ret) {
    socklen_t length = sizeof *address;
    *ret = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return setsockopt(*ret, SOL_SOCKET, SO_REUSEPORT, &(int){1}, sizeof(int)) == 0 &&
           bind(*ret, (struct sockaddr *)address, length) == 0 && listen(*ret, 512) == 0 &&
           getsockname(*ret, (struct sockaddr *)address, &length) == 0;
}

static void *serve_loop(void *user) {
    int listener = *(int *)user;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    struct epoll_event events[64];
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection == NULL) {
                accept_all(listener, epoll);
                continue;
            }
            ssize_t got = read(connection->fd, connection->in + connection->used,
                               sizeof connection->in - connection->used);
            connection->used += got > 0 ? (size_t)got : 0;
            if (got <= 0 || !take(connection)) {
                (void)close(connection->fd);
                free(connection);
            }
        }
    }
    return NULL;
}

static int serve_http(void) {
    store(getenv("FLOOR_BODY"));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static int listeners[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (!listen_at(&address, &listeners[i])) {
            return EXIT_FAILURE;
        }
    }
    (void)printf("listening on http://127.0.0.1:%d\n", ntohs(address.sin_port));
    (void)fflush(stdout);
    for (int i = 1; i < THREADS; i++) {
        pthread_t thread;
        (void)pthread_create(&thread, NULL, serve_loop, &listeners[i]);
    }
    (void)serve_loop(&listeners[0]);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "http") == 0 ? serve_http() : serve_stdio();
}
