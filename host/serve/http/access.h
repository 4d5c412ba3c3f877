/* access.h - a line for each request, for the operator.
 *
 * Who ends a request puts its line into a ring (base/ring.h) and waits for nothing; a thread writes
 * the lines. When the ring is full, since nobody reads the log of the process, lines are lost,
 * which is counted. What a client has sent is in a line only as letters, digits and a few signs; a
 * query, which may have arguments, is not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct access;
struct conn;
struct serve_counts;

/* Lines that wait, in bytes: about 5,000. */
#define ACCESS_RING_SIZE (1024u * 1024)
/* How long lines are gathered. */
#define ACCESS_GATHER_MS 100u
/* Of who sent the request in a line; what is longer is cut. */
#define ACCESS_WHO_MAX   100u

struct access_options {
    bool errors_only;
    void (*note)(void *user, const char *line); /* on the thread of the log */
    void *user;
    struct serve_counts *counts; /* or NULL */
};

/** @return 0; TOOLRACK_E_NO_MEMORY; TOOLRACK_E_IO: there is no thread. */
int access_create(const struct access_options *options, struct access **ret,
                  struct toolrack_error *err);
/** Write what waits, and end; NULL is ignored. */
void access_destroy(struct access *access);

/** A request has begun: keep what its line needs and what goes with the memory of libmicrohttpd.
 * `access` may be NULL, here and below. */
void access_begin(struct access *access, struct conn *conn, const char *target);
void access_take_method(struct access *access, struct conn *conn, const char *method);
/** A request has ended: note it. Caller holds its lock. */
void access_end(struct access *access, const struct conn *conn);

/** Append at most `max` bytes of a text as they may stand in a line: letters, digits and
 * "-._~/@:,+=", any other byte as %XX. Returns `to`. */
char *access_escape(const char *text, size_t length, size_t max, char *to);
