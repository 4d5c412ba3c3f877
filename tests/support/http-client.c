#include "http-client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "patience.h"

int client_connect(unsigned port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

int client_connect_path(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

bool client_send(int fd, const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        length -= (size_t)sent;
    }
    return true;
}

bool client_send_text(int fd, const char *text) {
    return client_send(fd, text, strlen(text));
}

bool client_request(int fd, const char *method, const char *path, const char *more,
                    const char *body) {
    char *text = NULL;
    char length[96] = "";
    if (body != NULL) {
        (void)snprintf(length, sizeof length,
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    }
    int size =
            asprintf(&text,
                     "%s %s HTTP/1.1\r\n%sAccept: application/json, text/event-stream\r\n"
                     "%s%s\r\n%s",
                     method, path, strncasecmp(more, "Host:", 5) == 0 ? "" : "Host: localhost\r\n",
                     length, more, body != NULL ? body : "");
    bool sent = size >= 0 && client_send(fd, text, (size_t)size);
    free(text);
    return sent;
}

/* ---------------------------------------------------------------- reading */

static bool fill(int fd, struct client_left *left) {
    char bytes[65536];
    ssize_t got = patience_read(fd, bytes, sizeof bytes);
    if (got <= 0) {
        return false;
    }
    char *more = realloc(left->bytes, left->length + (size_t)got + 1);
    if (more == NULL) {
        return false;
    }
    memcpy(more + left->length, bytes, (size_t)got);
    left->bytes = more;
    left->length += (size_t)got;
    left->bytes[left->length] = '\0';
    return true;
}

static char *take(struct client_left *left, size_t length) {
    char *taken = malloc(length + 1);
    if (taken != NULL) {
        memcpy(taken, left->bytes, length);
        taken[length] = '\0';
    }
    memmove(left->bytes, left->bytes + length, left->length - length + 1);
    left->length -= length;
    return taken;
}

const char *client_header(const struct client_response *response, const char *name) {
    static char value[1024];
    const char *line = response->head;
    while (line != NULL && (line = strstr(line, "\r\n")) != NULL) {
        line += 2;
        size_t length = strlen(name);
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            line += length + 1;
            line += strspn(line, " ");
            (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(line, "\r"), line);
            return value;
        }
    }
    return NULL;
}

static void append(struct client_response *response, const char *bytes, size_t length) {
    char *more = realloc(response->body, response->length + length + 1);
    if (more != NULL) {
        memcpy(more + response->length, bytes, length);
        response->body = more;
        response->length += length;
        response->body[response->length] = '\0';
    }
}

/* Move the next chunk to the body. False: the connection ended, or that was the last. */
static bool take_chunk(int fd, struct client_left *left, struct client_response *response) {
    char *end;
    while (left->bytes == NULL || (end = strstr(left->bytes, "\r\n")) == NULL) {
        if (!fill(fd, left)) {
            return false;
        }
    }
    size_t size = strtoul(left->bytes, NULL, 16);
    size_t head = (size_t)(end - left->bytes) + 2;
    while (left->length < head + size + 2) {
        if (!fill(fd, left)) {
            return false;
        }
    }
    append(response, left->bytes + head, size);
    free(take(left, head + size + 2));
    response->ended = size == 0;
    return size != 0;
}

static bool has(const struct client_left *left, const char *text) {
    return text != NULL && left->length > 0 && strstr(left->bytes, text) != NULL;
}

struct client_response client_read_until(int fd, struct client_left *left, const char *text) {
    struct client_response response = {0};
    char *end;
    while (left->bytes == NULL || (end = strstr(left->bytes, "\r\n\r\n")) == NULL) {
        if (!fill(fd, left)) {
            return response;
        }
    }
    response.head = take(left, (size_t)(end - left->bytes) + 4);
    response.status = (unsigned)strtoul(response.head + strlen("HTTP/1.1 "), NULL, 10);
    if (response.status == 100) {
        client_response_finish(&response);
        return client_read_until(fd, left, text);
    }
    append(&response, "", 0);
    const char *length = client_header(&response, "Content-Length");
    if (length != NULL) {
        size_t size = strtoul(length, NULL, 10);
        while (left->length < size) {
            if (!fill(fd, left)) {
                return response;
            }
        }
        free(response.body);
        response.body = take(left, size);
        response.length = size;
        response.ended = true;
    } else if (client_header(&response, "Transfer-Encoding") != NULL) {
        while (take_chunk(fd, left, &response) &&
               (text == NULL || strstr(response.body, text) == NULL)) {
        }
    } else if (response.status == 204 || response.status == 304) {
        response.ended = true;
    } else {
        while (!response.ended && !has(left, text)) {
            response.ended = !fill(fd, left);
        }
        append(&response, left->bytes, left->length);
        left->length = 0;
    }
    return response;
}

struct client_response client_read(int fd, struct client_left *left) {
    return client_read_until(fd, left, NULL);
}

void client_response_finish(struct client_response *response) {
    free(response->head);
    free(response->body);
    *response = (struct client_response){0};
}

void client_left_finish(struct client_left *left) {
    free(left->bytes);
    *left = (struct client_left){0};
}

bool client_is_closed(int fd) {
    char bytes[65536];
    struct pollfd look = {.fd = fd, .events = POLLIN};
    for (;;) {
        if (poll(&look, 1, PATIENCE_S * 1000) <= 0) {
            return false;
        }
        if (read(fd, bytes, sizeof bytes) <= 0) {
            return true;
        }
    }
}
