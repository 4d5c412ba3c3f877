/* serving-names.h - names in "serve" of the configuration that no tool has. */
#pragma once

#include "api/host.h"

struct serving_name {
    size_t line; /* in the file */
    size_t column;
    const char *cause; /* these hold until the function that gets them returns */
    const char *fix;
};

/** Give each name of a tool, tag or category that no tool has: of "pinned", "profiles" and "tasks".
 * A plugin that has it may come later. [any-thread] */
void serving_names(struct toolrack *host, void (*take)(void *user, const struct serving_name *name),
                   void *user);

/** Whether a version of a tool fits a pattern of a name, as those of tokens. If none does, the
 * words of `ret_fix` say what to do. [any-thread] */
bool serving_has_tool(struct toolrack *host, const char *pattern, struct buf *ret_fix);
