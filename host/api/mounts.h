/* mounts.h - the MCP servers of the configuration, as plugins. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "config/definition.h"

struct mounts;
struct toolrack;
struct toolrack_text;

/** Register the tools of all servers of "mcpServers". Those whose tools are not known are started,
 * at the same time; one that cannot be is logged and refused, and harms no other. host->mounts is
 * NULL where there are none.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int mounts_open(struct toolrack *host, struct toolrack_error *err);
/** Make a tool that is defined with an implementation of type "mcp", before mounts_open(). Servers
 * that are described alike are one. */
definition_make_remote mounts_make_tool;
/** Tell of each server of "mcpServers" that would be refused before it is started, with why and
 * what to do.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int mounts_check(struct toolrack *host, void (*take)(void *user, const char *name, const char *why),
                 void *user, struct toolrack_error *err);
/** Nothing is registered any more. NULL is ignored, as in the next. */
void mounts_stop(struct mounts *mounts);
/** End the servers; no call runs. */
void mounts_destroy(struct mounts *mounts);
/** Ask a server again for its tools, by its name or that of its plugin, as toolrack_reload().
 * @return whether there is such a server; then *ret_code is set */
bool mounts_reload(struct mounts *mounts, const char *name, struct toolrack_text **ret_report,
                   int *ret_code, struct toolrack_error *err);
/** Ask those again whose tools are not known. */
void mounts_retry(struct mounts *mounts);
