/* capability.c - what a client can do, read and written. */
#include "serve/mcp/dialect.h"

#define TASKS "io.modelcontextprotocol/tasks"

unsigned capabilities_read(yyjson_val *capabilities) {
    unsigned bits = 0;
    yyjson_val *elicitation = yyjson_obj_get(capabilities, "elicitation");
    yyjson_val *form = yyjson_obj_get(elicitation, "form");
    yyjson_val *url = yyjson_obj_get(elicitation, "url");
    if (yyjson_is_obj(elicitation)) {
        /* Without a mode it means forms, as before there were others. */
        bits |= form != NULL || url == NULL ? CAPABILITY_FORM : 0u;
        bits |= url != NULL ? CAPABILITY_URL : 0u;
    }
    bits |= yyjson_is_obj(yyjson_obj_get(capabilities, "sampling")) ? CAPABILITY_SAMPLING : 0u;
    bits |= yyjson_is_obj(yyjson_obj_get(capabilities, "roots")) ? CAPABILITY_ROOTS : 0u;
    yyjson_val *extensions = yyjson_obj_get(capabilities, "extensions");
    bits |= yyjson_is_obj(yyjson_obj_get(extensions, TASKS)) ? CAPABILITY_TASKS : 0u;
    return bits;
}

void capabilities_add(struct buf *out, unsigned capabilities) {
    buf_add_char(out, '{');
    if ((capabilities & (CAPABILITY_FORM | CAPABILITY_URL)) != 0) {
        rpc_add_member(out, "elicitation");
        buf_add_char(out, '{');
        if ((capabilities & CAPABILITY_FORM) != 0) {
            buf_add_text(out, "\"form\":{}");
        }
        if ((capabilities & CAPABILITY_URL) != 0) {
            rpc_add_member(out, "url");
            buf_add_text(out, "{}");
        }
        buf_add_char(out, '}');
    }
    if ((capabilities & CAPABILITY_SAMPLING) != 0) {
        rpc_add_member(out, "sampling");
        buf_add_text(out, "{}");
    }
    if ((capabilities & CAPABILITY_ROOTS) != 0) {
        rpc_add_member(out, "roots");
        buf_add_text(out, "{}");
    }
    if ((capabilities & CAPABILITY_TASKS) != 0) {
        rpc_add_member(out, "extensions");
        buf_add_text(out, "{\"" TASKS "\":{}}");
    }
    buf_add_char(out, '}');
}
