/* mcp-unit.h - a host with tools in this process, and its server, for the unit tests of the Model
 * Context Protocol. */
#pragma once

#include "mcp-client.h"
#include "toolrack/toolrack.h"

#define META                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define SERVER                                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"toolrack\"," \
    "\"title\":\"toolrack\",\"version\":\"*\"}}"
#define CALL(id, name, rest)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name \
    "\"" rest "}}"
#define INITIALIZE(version)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
    "\"" version "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define INITIALIZED(version)                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"" version           \
    "\",\"capabilities\":{*\"tools\":{\"listChanged\":true}*},\"serverInfo\":{\"name\":" \
    "\"toolrack\"*}}"

extern struct toolrack *rack;
extern struct mcp *mcp;
extern struct mcp_pipe *pipe_; /* a client at a pipe, whose way is `way` */
extern struct talk way;
extern const struct principal principal;

/** cmocka's setup and teardown. */
int open_server(void **state);
int close_server(void **state);

struct row {
    const char *message;
    const char *answer; /* "" for none */
};

/** Send each message through the pipe, and compare its answer. */
void check_rows(const struct row *rows, size_t count);
