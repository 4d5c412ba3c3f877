/* settings.h - what the configuration says of serving. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "toolrack/toolrack.h"

/** Strings and values are borrowed from `doc`. */
struct settings {
    yyjson_doc *doc; /* the member "serve" of the configuration, with all defaults; owned */
    const char *instructions; /* for the model, or NULL */
    const char *scopes[3];    /* of OAuth, by enum toolrack_permission */
    uint32_t sessions_max;
    uint32_t session_idle_s;
    uint32_t questions_max; /* calls that wait for the answer of a client at one time */
    bool search;            /* lists hold tools to search the others and to call them */
    yyjson_val *pinned;     /* names that stay listed with `search`, perhaps with '*' and '?' */
    yyjson_val *profiles;   /* by name */
    bool approves;          /* the answer of any client to a question about a `confirm` tool is a
                             * person's */
    uint32_t task_after_ms; /* calls that take longer become tasks */
    uint32_t task_poll_ms;
    yyjson_val *task_tools; /* "never", "auto" or "always", by the tool's name */
};

/** @param err  of base/
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_NO_MEMORY. */
int settings_read(struct toolrack *host, struct settings *ret, struct toolrack_error *err);
void settings_finish(struct settings *settings);

/** Whether lists hold tools for searching. `profile` NULL: without a profile. */
bool settings_search(const struct settings *settings, const char *profile);

/** Whether calls become tasks of what has a name: what the configuration says of it, else `mode`.
 */
enum toolrack_task_mode settings_task_of(const struct settings *settings, const char *name,
                                         enum toolrack_task_mode mode);
/** The same of a tool, else what its author says. */
enum toolrack_task_mode settings_task(const struct settings *settings,
                                      const struct toolrack_tool *tool);
