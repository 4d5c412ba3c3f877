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

/** Find the problems of a plugin file. @return 0; or the code of the failure, with its message. */
int check_plugin(int fd, const char *file, struct toolrack_findings *findings,
                 struct toolrack_error *err);

/** What is wrong with the schemas of a plugin's tools, and which formats of providers cannot
 * describe a tool: what concerns other rooms than the reader of descriptors.
 * @param list  initialized; with the arena of the findings
 * @return 0; TOOLRACK_E_NO_MEMORY */
int check_schemas(const struct descriptor *desc, struct findings *list);

enum toolrack_severity check_severity(int severity);
