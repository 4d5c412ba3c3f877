/* stdio.h - an MCP server that is a program, and talks over its standard input and output.
 *
 * It runs in a sandbox for foreign programs (worker/launch.h). One message is one line. What it
 * writes to standard error is logged under the server's name. */
#pragma once

#include "base/log.h"
#include "remote/mcp/secrets.h"
#include "remote/mcp/transport.h"

/* How long a server may take to end once its standard input is closed. */
#define STDIO_END_MS_MAX 1000u
/* Most bytes that wait for the server to read them. */
#define STDIO_UNSENT_MAX (64u * 1024 * 1024)

/* All borrowed while it starts, but `name`, `log` and `secrets`: as long as the server. */
struct stdio_options {
    const char *name;
    const char *launcher;     /* the worker program */
    char *const *arguments;   /* of launch.h, from its own name on; NULL-terminated */
    char *const *environment; /* NULL-terminated */
    const struct log *log;
    struct secrets *secrets; /* hidden in what it writes; NULL: none */
};

/** Start it.
 * @param ret  its transport
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int stdio_start(const struct stdio_options *options, struct transport **ret,
                struct toolrack_error *err);
