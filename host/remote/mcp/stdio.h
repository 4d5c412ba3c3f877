/* stdio.h - an MCP server that is a program, and talks over its standard input and output.
 *
 * It runs in a sandbox for foreign programs (worker/launch.h). One message is one line. What it
 * writes to standard error is logged under the server's name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

/* How long a server may take to end once its standard input is closed. */
#define STDIO_END_MS_MAX 1000u

struct stdio;

/* All borrowed while it starts, but `name` and `log`: as long as the server. */
struct stdio_options {
    const char *name;
    const char *launcher;     /* the worker program */
    char *const *arguments;   /* of launch.h, from its own name on; NULL-terminated */
    char *const *environment; /* NULL-terminated */
    const struct log *log;
};

/** Start it. @return 0; TOOLRACK_E_IO. [any-thread] */
int stdio_start(const struct stdio_options *options, struct stdio **ret,
                struct toolrack_error *err);
/** End it: close its input, wait STDIO_END_MS_MAX at most, then kill it and what it has started.
 * NULL is ignored. */
void stdio_end(struct stdio *io);
CLEANUP_DEFINE(struct stdio, stdio_end)

/** Its process group, while it has not ended; 0: it has. */
pid_t stdio_group(const struct stdio *io);

/** Write what fits of a text, without waiting. One thread at a time writes, and one reads.
 * @return how many bytes; -1: its input is closed */
long stdio_write(struct stdio *io, const char *text, size_t length);
/** Wait until something can be read, or written if `writes`, at most `ms` milliseconds.
 * The thread that reads. */
void stdio_wait(const struct stdio *io, bool writes, int ms);
/** Read what is there, without waiting.
 * @return 0; TOOLRACK_E_IO: it has closed its output or ended; TOOLRACK_E_LIMIT_EXCEEDED: a line is
 *         longer than MCP_MESSAGE_MAX; TOOLRACK_E_NO_MEMORY */
int stdio_read(struct stdio *io, struct toolrack_error *err);
/** The next whole line that was read, without its end; false: there is none. It is valid until the
 * next stdio_read(). */
bool stdio_line(struct stdio *io, const char **ret, size_t *ret_length);

/** Say how a server ended that has closed its output: "was killed by signal 9 (Killed)".
 * @param ret_signal  0: none */
void stdio_say_end(struct stdio *io, char *ret, size_t room, int *ret_signal);
