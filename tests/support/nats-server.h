/* nats-server.h - a real nats-server for a test, on a free port of loopback. It dies with the
 * test. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct nats_server {
    pid_t pid;
    FILE *log; /* stays open: the server goes on writing */
    int port;
    char url[64];
    char folder[64]; /* of its configuration and what it keeps; "": none */
};

/** Start one, and wait until it is ready.
 * @param jetstream      it keeps messages, in a temporary folder
 * @param configuration  the text of its configuration, or NULL
 * @return false: it could not be started */
bool nats_server_start(struct nats_server *server, bool jetstream, const char *configuration);

/** End it, and remove its folder. */
void nats_server_stop(struct nats_server *server);
