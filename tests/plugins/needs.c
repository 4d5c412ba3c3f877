/* What lacks a capability, and tools that few conversations need. */
#include <toolrack/plugin.h>

static tr_status needs_look(struct tr_call *call) {
    return tr_reply_text(call, "looked");
}
TR_JSON_TOOL(needs_look, ("Looks into the folder", .flags = TR_READ_ONLY),
             TR_SCHEMA({"type" : "object"}))

static tr_status needs_change(struct tr_call *call) {
    return tr_reply_text(call, "changed");
}
TR_JSON_TOOL(needs_change, ("Changes the folder"), TR_SCHEMA({"type" : "object"}))

static tr_status needs_seldom(struct tr_call *call) {
    return tr_reply_text(call, "looked for once");
}
TR_JSON_TOOL(needs_seldom,
             ("Looks for what is seldom wanted", .flags = TR_READ_ONLY, .tags = "extra"),
             TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(("needs", TR_CAPABILITIES(TR_READS("${workspace}"), TR_WRITES("${workspace}"),
                                    TR_MAY_CONNECT("*:443"), TR_MAY_READ("${setting:more}"))),
          "1.0.0", needs_look, needs_change, needs_seldom)
