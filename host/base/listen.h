/* listen.h - where a server listens, as the configuration and the command line say it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/authority.h"

/* Addresses and sockets that one server listens at. */
#define LISTEN_MAX      16u
#define LISTEN_TOO_MANY "a server listens at 16 addresses and sockets at most"

/** What is wrong with a text ("is no address to listen at"), and what to do. */
struct listen_problem {
    char what[AUTHORITY_HOST_MAX + 64];
    const char *fix;
};

/** Read "127.0.0.1:8137", "[::1]:8137" or "localhost:8137"; the port 0 is any that is free. False:
 * it is something else, such as another name, or an address at which no machine can listen. */
bool listen_read(const char *text, struct authority *ret, struct listen_problem *ret_problem);

/** Whether a server that listens at the texts before one can listen at that one too. All are such
 * that listen_read() takes them; others say nothing. */
bool listen_fits(const char *const *texts, size_t index, struct listen_problem *ret_problem);
