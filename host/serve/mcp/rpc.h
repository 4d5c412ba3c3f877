/* rpc.h - JSON-RPC 2.0: what kind of message a text is, and the parts of messages that are written.
 *
 * Numbers are kept as they stand in the text (YYJSON_TYPE_RAW), so that an id goes back as it came
 * and no argument loses digits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/buf.h"

/* Deepest nesting of a message, and longest id, in bytes of JSON. */
#define RPC_DEPTH_MAX 128u
#define RPC_ID_MAX    1024u

/* Errors of JSON-RPC and of the Model Context Protocol. */
enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_NO_SESSION = -32001,         /* by agreement of clients: then they call initialize again */
    RPC_RESOURCE_NOT_FOUND = -32002, /* until 2025-11-25 */
    RPC_HEADER_MISMATCH = -32020,    /* this and the next two since 2026-07-28 */
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE, RPC_BROKEN };

/** A message that was read. Values live as long as its text and allocator. */
struct rpc_message {
    enum rpc_kind kind;
    const char *id; /**< JSON text of a request's or response's id, zero-terminated; else NULL. Two
                       texts are equal if the ids are. Of a BROKEN one it may be known too; of a
                       response it may be missing */
    size_t id_length;
    const char *method; /**< of a request or notification, zero-terminated */
    size_t method_length;
    yyjson_val *params; /**< an object, or NULL */
    yyjson_val *result; /**< of a response: this or `error`, or (both NULL) neither is an object */
    yyjson_val *error;
    enum rpc_code code; /**< of a BROKEN message, with what is wrong with it */
    const char *problem;
};

/** Read a message. Halves of UTF-16 pairs that stand alone are read as U+FFFD.
 * @param text  changed; YYJSON_PADDING_SIZE bytes behind it are written
 * @return false: out of memory */
bool rpc_read(char *text, size_t length, const yyjson_alc *alc, struct rpc_message *ret);

/** The string of a member, or NULL: absent, or no string, or one with a zero character in it. */
const char *rpc_string(yyjson_val *object, const char *key);
/** What is wrong with a member for which that is NULL, as words behind its name. */
const char *rpc_string_fault(yyjson_val *object, const char *key);

/** An object that stands as JSON text in a string, as models write one, read with `alc`; any other
 * value as it is, and so is text with a member twice, or nested deeper than a message may be. */
yyjson_val *rpc_object(yyjson_val *value, const yyjson_alc *alc);

/** A member that is a string or an integer, as JSON text with `alc`; NULL: it is neither. */
const char *rpc_scalar(yyjson_val *value, const yyjson_alc *alc, size_t *ret_length);

/** Append `"name":`, after a comma unless it is the first member of its object. */
void rpc_add_member(struct buf *out, const char *name);

/** Append a member that is a string; nothing for NULL. */
void rpc_add_string(struct buf *out, const char *name, const char *text);

/** Append {"jsonrpc":"2.0","error":{...}} with the id, or without one for NULL. `data` is JSON or
 * NULL. */
void rpc_add_error(struct buf *out, const char *id, int code, const char *message,
                   const char *data);
