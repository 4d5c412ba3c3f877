#include "remote/mcp/usage.h"

#include "worker/group.h"

#define MB (1024.0 * 1024)

static bool refuse(const struct usage_limits *limits, const char *server, const char *key,
                   const char *of, double used, uint32_t allowed, struct toolrack_error *why) {
    (void)error_set(why, TOOLRACK_E_LIMIT_EXCEEDED,
                    "MCP server '%s' was ended: with all that it has started it uses %.0f %s, of "
                    "the %u allowed by \"%s\" of %s",
                    server, used, of, allowed, key, limits->where);
    return true;
}

bool usage_exceeds(const struct usage_limits *limits, const char *server, pid_t group,
                   struct toolrack_error *why) {
    struct group_usage usage;
    if (group <= 0 || !group_measure(group, false, &usage)) {
        return false;
    }
    /* What is shared was counted for each: only who seems to use too much is measured exactly. */
    if (limits->memory_mb != 0 && usage.processes > 1 &&
        (double)usage.memory / MB > limits->memory_mb && !group_measure(group, true, &usage)) {
        return false;
    }
    if (limits->memory_mb != 0 && (double)usage.memory / MB > limits->memory_mb) {
        return refuse(limits, server, "memory_mb", "MiB of memory", (double)usage.memory / MB,
                      limits->memory_mb, why);
    }
    if (limits->processes != 0 && usage.processes > limits->processes) {
        return refuse(limits, server, "processes", "processes", usage.processes, limits->processes,
                      why);
    }
    return limits->cpu_s != 0 && usage.cpu_s > limits->cpu_s &&
           refuse(limits, server, "cpu_s", "s of CPU time", usage.cpu_s, limits->cpu_s, why);
}
