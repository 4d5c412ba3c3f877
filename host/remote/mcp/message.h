/* message.h - one JSON-RPC message of an MCP server, checked.
 *
 * A server is foreign: whatever it sends is data. A message has the shape of exactly one kind, or
 * it is refused with what is wrong about it. */
#pragma once

#include <stdint.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Longest message of a server, and how deep its values may be nested. */
#define MCP_MESSAGE_MAX       (32u * 1024 * 1024)
#define MCP_MESSAGE_DEPTH_MAX 128u

/* The code of a failure: there is no such method. */
#define MESSAGE_NO_METHOD -32601

enum message_kind {
    MESSAGE_RESULT,      /* of the request `number` */
    MESSAGE_FAILURE,     /* the same, with `code` and `text` */
    MESSAGE_REQUEST,     /* of the server: `id`, `method`, `params` */
    MESSAGE_NOTIFICATION /* `method`, `params` */
};

/* All values are of `doc`. */
struct message {
    struct message *next; /* of a list of its owner */
    yyjson_doc *doc;
    size_t length; /* of its text */
    enum message_kind kind;
    uint64_t number;    /* of a request of ours; 0: of none, such as an answer to what is no JSON */
    yyjson_val *id;     /* of a request of the server: a text or a number */
    const char *method; /* of a request or a notification */
    yyjson_val *params; /* an object, or NULL */
    yyjson_val *result; /* an object */
    int64_t code;
    const char *text; /* of a failure; never NULL */
};

/** Read a message.
 * @param text  not changed
 * @return 0 with a message of the caller, for mcp_message_destroy(); TOOLRACK_E_INVALID with what
 * is wrong; TOOLRACK_E_NO_MEMORY. [any-thread] */
int mcp_message_read(const char *text, size_t length, struct message **ret,
                     struct toolrack_error *err);
void mcp_message_destroy(struct message *message);
CLEANUP_DEFINE(struct message, mcp_message_destroy)
