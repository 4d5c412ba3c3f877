/* bad-schema.c - a tool whose schema is none, beside one that is in order. */
#include <toolrack/plugin.h>

static tr_status crooked(struct tr_call *call) {
    return tr_reply_text(call, "never");
}
TR_JSON_TOOL(crooked, "Its schema is wrong", "{\"type\": \"objekt\"}")

static tr_status straight(struct tr_call *call) {
    return tr_reply_text(call, "fine");
}
TR_JSON_TOOL(straight, "Its schema is right", TR_SCHEMA({"type" : "object"}))

TR_PLUGIN("half", "1.0.0", crooked, straight)
