/* rest.h - the host over HTTP, for programs that speak no MCP and for administrators. */
#pragma once

#include "serve/front.h"
#include "toolrack/toolrack.h"

struct serve_counts;

struct rest_options {
    struct toolrack *host;             /* borrowed */
    const char *profile;               /* of clients whose principal has none, or NULL */
    const struct serve_counts *counts; /* what /metrics shows of the server; borrowed, or NULL */
};

/** @return 0; TOOLRACK_E_NO_MEMORY. */
int rest_create(const struct rest_options *options, struct front **ret, struct toolrack_error *err);
/** End what runs: calls are cancelled, each exchange is finished. NULL is ignored. */
void rest_destroy(struct front *front);
