/* about.c - see about.h. */
#include "serve/mcp/about.h"

#include "serve/mcp/change.h"
#include "serve/mcp/rpc.h"
#include "toolrack/offer.h"

void about_add_server(struct buf *out, const struct dialect *dialect) {
    /* In each result of the stateless era. No character of a version is escaped. */
    buf_add_text(out, "{\"name\":\"toolrack\"");
    if ((dialect->traits & DIALECT_STRUCTURED) != 0) {
        buf_add_text(out, ",\"title\":\"toolrack\"");
    }
    buf_add_text(out, ",\"version\":\"");
    buf_add_text(out, toolrack_version());
    buf_add_text(out, "\"}");
}

unsigned about_offered(struct mcp *mcp) {
    return (toolrack_offers(mcp->host, TOOLRACK_OFFER_RESOURCES) ? CHANGE_RESOURCES : 0u) |
           (toolrack_offers(mcp->host, TOOLRACK_OFFER_PROMPTS) ? CHANGE_PROMPTS : 0u);
}

void about_add_capabilities(struct buf *out, unsigned offered, const struct dialect *dialect) {
    buf_add_text(out, "{\"logging\":{},\"tools\":{\"listChanged\":true}");
    if ((offered & CHANGE_RESOURCES) != 0) {
        buf_add_text(out, ",\"resources\":{\"listChanged\":true,\"subscribe\":true}");
    }
    if ((offered & CHANGE_PROMPTS) != 0) {
        buf_add_text(out, ",\"prompts\":{\"listChanged\":true}");
    }
    if (offered != 0 && (dialect->traits & DIALECT_NOTES) != 0) {
        buf_add_text(out, ",\"completions\":{}");
    }
    if ((dialect->traits & DIALECT_STATELESS) != 0) {
        buf_add_text(out, ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}");
    }
    buf_add_char(out, '}');
}

void about_add_instructions(struct buf *out, const struct mcp *mcp) {
    rpc_add_string(out, "instructions", mcp->settings.instructions);
}
