/* usage.h - what the program of an MCP server, and all that it has started, may use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Where the configuration says nothing. */
#define USAGE_MEMORY_MB_DEFAULT 2048u
#define USAGE_PROCESSES_DEFAULT 256u

struct usage_limits {
    const char *where;  /* the place of the limits, in words: "files" in "mcpServers" */
    uint32_t memory_mb; /* 0: not limited, as the following */
    uint32_t processes;
    uint32_t cpu_s; /* since it was started */
};

/** Whether a process group uses more than it may.
 * @param group  0: there is none
 * @param why    then says which limit, with code TOOLRACK_E_LIMIT_EXCEEDED */
bool usage_exceeds(const struct usage_limits *limits, const char *server, pid_t group,
                   struct toolrack_error *why);
