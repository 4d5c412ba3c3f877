/* mcp-server.h - a server of the Model Context Protocol in memory, with a configuration, and a
 * client at a pipe: for the unit tests of one subject. */
#pragma once

#include "mcp-client.h"

struct tr_plugin;

extern struct toolrack *server_host;
extern struct mcp *server_mcp;
extern struct mcp_pipe *server_pipe;
extern struct talk server_way; /* of what belongs to no request */
extern const struct principal server_principal;

/** Open a server whose configuration is `config`, with the tools of a plugin and a state folder of
 * its own. */
void server_open(const char *config, const struct tr_plugin *plugin, const char *profile);
void server_close(void);

/** Send a message through the pipe, and compare its answer with a pattern. */
void server_check(const char *message, const char *answer);
/** The same by POST, of the stateless era. */
void server_check_post(const struct principal *principal, const char *method, const char *name,
                       const char *message, const char *answer);

struct server_row {
    const char *message;
    const char *answer; /* "" for none */
};
void server_check_rows(const struct server_row *rows, size_t count);

#define META_OF(capabilities)                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"
#define META_NONE META_OF("{}")
#define TASKS     "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define REQUEST(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL(id, name, rest) REQUEST(id, "tools/call", "\"name\":\"" name "\"," rest)
#define INITIALIZE_WITH(version, capabilities)                                   \
    REQUEST("1", "initialize",                                                   \
            "\"protocolVersion\":\"" version "\",\"capabilities\":" capabilities \
            ",\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}")
