/* expect: run must be: tr_status run(struct tr_call *call) */
#include <toolrack/plugin.h>
static int run(struct tr_call *call, int extra) {
    return tr_reply_text(call, "x") + extra;
}
TR_JSON_TOOL(run, "Run", TR_SCHEMA({"type": "object"}))
TR_PLUGIN("run", "1.0.0", run)
