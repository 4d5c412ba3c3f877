/* dialect.h - how a revision of the protocol writes what is meant.
 *
 * Two eras: `handshake` (2024-11-05 to 2025-11-25: initialize, sessions) and `stateless`
 * (2026-07-28: each request says all that is to be known of its client). A revision is one struct;
 * the next one is another, in the file of its era or in a file of its own. */
#pragma once

#include "base/buf.h"
#include "serve/mcp/rpc.h"
#include "toolrack/toolrack.h"

struct request;
struct client;

enum dialect_trait {
    DIALECT_STATELESS = 1 << 0,
    DIALECT_STRUCTURED = 1 << 1, /* structuredContent, outputSchema, resource links, titles,
                                  * _meta of things that are listed: 2025-06-18 */
    DIALECT_ANY_VALUE = 1 << 2,  /* structuredContent may be any value: 2026-07-28 */
    DIALECT_PRIMES = 1 << 3,     /* event streams begin with an id: 2025-11-25 */
    DIALECT_URL_MODE = 1 << 4,   /* elicitation by address: 2025-11-25 */
    DIALECT_ICONS = 1 << 5,      /* 2025-11-25 */
    DIALECT_NOTES = 1 << 6       /* annotations of tools, audio, messages of progress, the
                                  * capability of completion: 2025-03-26 */
};

struct dialect {
    const char *version;
    unsigned traits; /* enum dialect_trait */
    enum rpc_code no_resource;
    /* Append the first and last members of each result; `type` is "complete" or that of an
     * unfinished one. */
    void (*begin_result)(struct buf *out, const char *type);
    void (*end_result)(struct buf *out);
    /* The status of HTTP for an error. */
    int (*status)(enum rpc_code code);
    /* What a tool asks the client for. On the thread of the tool.
     * @return 0, or TOOLRACK_INPUT_LATER */
    int (*input)(struct request *request, struct toolrack_input *inputs, size_t count);
};

extern const struct dialect dialect_stateless;
extern const struct dialect dialects_handshake[]; /* the newest first */
#define DIALECTS_HANDSHAKE_COUNT 4u

/* What a client can do: bits. */
enum capability {
    CAPABILITY_FORM = 1 << 0,
    CAPABILITY_URL = 1 << 1,
    CAPABILITY_SAMPLING = 1 << 2,
    CAPABILITY_ROOTS = 1 << 3,
    CAPABILITY_TASKS = 1 << 4
};

/** The bits of an object ClientCapabilities. */
unsigned capabilities_read(yyjson_val *capabilities);
/** Append an object ClientCapabilities of these bits. */
void capabilities_add(struct buf *out, unsigned capabilities);

/** The revision of the handshake era by its name, or NULL. */
const struct dialect *dialect_find(const char *version);

/** Handle a request of an era. The request has a message; it is registered here. */
void stateless_request(struct request *request, const struct rpc_message *message);
void handshake_request(struct request *request, const struct rpc_message *message);
/** Handle a notification of a client of the handshake era. */
void handshake_notification(struct request *request, const struct rpc_message *message);
/** The client of the handshake era that a message belongs to; a new reference. NULL: the request
 * has been answered. */
struct client *handshake_client(struct request *request, const char *id);

/** The method initialize of the handshake era. */
void initialize(struct request *request, yyjson_val *params);
/** The method server/discover of the stateless era. */
void discover(struct request *request, yyjson_val *params);
