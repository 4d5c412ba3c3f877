/* http-client.h - a client of HTTP that sends any bytes, and reads what comes back.
 *
 * Each wait has a limit (patience.h). Not for product code: it trusts the server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Connections; -1: refused. */
int client_connect(unsigned port);
int client_connect_path(const char *path);

/** Send bytes; false: the connection broke. */
bool client_send(int fd, const void *bytes, size_t length);
bool client_send_text(int fd, const char *text);

/** Send a request of `method` with a body (NULL: none) and what every request of a client of MCP
 * has; `more` is header lines, each with its line end, Host first if it is not to be localhost; or
 * "". */
bool client_request(int fd, const char *method, const char *path, const char *more,
                    const char *body);

struct client_response {
    unsigned status; /* 0: the connection was closed before a response */
    char *head;      /* status line and headers, with a zero */
    char *body;      /* without chunks, with a zero */
    size_t length;
    bool ended; /* the body is whole */
};

/** Read a whole response. `left` keeps what came after it, for the next; release both. */
struct client_left {
    char *bytes;
    size_t length;
};
struct client_response client_read(int fd, struct client_left *left);
/** The same until the body has `text`, or its end. */
struct client_response client_read_until(int fd, struct client_left *left, const char *text);
void client_response_finish(struct client_response *response);
void client_left_finish(struct client_left *left);

/** The value of a header, in memory that the next call reuses; NULL: there is none. */
const char *client_header(const struct client_response *response, const char *name);

/** Whether the server closes the connection (what it sends before is dropped). */
bool client_is_closed(int fd);
