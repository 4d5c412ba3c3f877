/* agent-tools.h - the tools that a conversation offers to its model. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "api/host.h"
#include "toolrack/agent.h"

struct agent_results;

struct agent_tools {
    struct toolrack *host;
    const struct toolrack_agent_options *app; /**< borrowed */
    enum toolrack_format format;              /**< of the names */
    yyjson_doc *doc;                          /**< owned; has the names */
    yyjson_doc *given;  /**< owned: see export_names(), as the model was told */
    const char **names; /**< owned, sorted: as `format` has them */
    size_t count;
    struct agent_results *results; /**< borrowed; NULL: results have any length */
};

/** Export the tools, and tell what is left out by notes: by limits together, else each.
 * @param format  MCP where only their names are needed: it leaves none out
 * @param ret     NULL, or receives a reference to the definitions
 * @return 0; TOOLRACK_E_NOT_FOUND for a tool of `allow` that there is not; as toolrack_export().
 *         Release with agent_tools_finish() in any case. */
int agent_tools_read(struct agent_tools *tools, enum toolrack_format format,
                     struct toolrack_text **ret, struct toolrack_error *err);
void agent_tools_finish(struct agent_tools *tools);

/** Whether a tool is one of them. */
bool agent_tools_has(const struct agent_tools *tools, const struct toolrack_tool *tool);
