/* about.c - see about.h. */
#include "serve/mcp/about.h"

#include "serve/mcp/rpc.h"

void about_add_server(struct buf *out) {
    buf_add_text(out, "{\"name\":\"toolrack\",\"title\":\"toolrack\"");
    rpc_add_string(out, "version", toolrack_version());
    buf_add_char(out, '}');
}

void about_add_capabilities(struct buf *out, struct mcp *mcp, bool stateless) {
    (void)mcp;
    buf_add_text(out, "{\"logging\":{},\"tools\":{\"listChanged\":true}");
    if (stateless) {
        buf_add_text(out, ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}");
    }
    buf_add_char(out, '}');
}

void about_add_instructions(struct buf *out, const struct mcp *mcp) {
    rpc_add_string(out, "instructions", mcp->settings.instructions);
}
