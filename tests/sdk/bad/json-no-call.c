/* expect: run must be: tr_status run(struct tr_call *call) */
#include <toolrack/plugin.h>
static tr_status run(void) {
    return TR_OK;
}
TR_JSON_TOOL(run, "Run", TR_SCHEMA({"type": "object"}))
TR_PLUGIN("run", "1.0.0", run)
