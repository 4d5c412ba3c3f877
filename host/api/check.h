/* check.h - what toolrack_check() has found of a file. */
#pragma once

#include "api/host.h"

struct toolrack_findings {
    struct descriptor *desc; /* of a plugin; it owns its strings; NULL: a configuration */
    size_t tool_count;
    size_t count;
    struct toolrack_finding *items; /* in the arena, like the strings of a configuration */
    struct arena arena;
};

/** Find the problems of a configuration. @return 0; or the code of the failure, with its message.
 */
int check_configuration(const char *file, const struct toolrack_check_options *options,
                        struct toolrack_findings *findings, struct toolrack_error *err);
