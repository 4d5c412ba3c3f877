/* methods.h - the methods that clients call. */
#pragma once

#include <yyjson.h>

struct request;

enum method_trait {
    METHOD_HANDSHAKE = 1 << 0, /* there in the handshake era */
    METHOD_STATELESS = 1 << 1, /* there in the stateless era */
    METHOD_BEFORE = 1 << 2     /* of the handshake era, and allowed before the handshake */
};

struct method {
    const char *name;
    unsigned traits;     /* enum method_trait */
    const char *subject; /* the member of `params` that the header Mcp-Name repeats, or NULL */
    /* Answers the request, now or later. `params` is NULL or an object, valid until it returns. */
    void (*run)(struct request *request, yyjson_val *params);
};

/** The method of that name if it has a trait, or NULL. */
const struct method *method_find(const char *name, unsigned trait);
