/* A plugin whose id, version and answer are those of its build: two files that say the same id, or
 * provide the same names. */
#include <toolrack/plugin.h>

#ifndef FLAGS
#define FLAGS 0 /* of calc */
#endif

#ifndef WIPE_FLAGS
#define WIPE_FLAGS 0
#endif

static tr_status calc(struct tr_call *call) {
    return tr_reply_text(call, ANSWER);
}
TR_JSON_TOOL(calc, ("Calculate", .flags = FLAGS), TR_SCHEMA({"type" : "object"}))

static tr_status wipe(struct tr_call *call) {
    return tr_reply_text(call, ANSWER);
}
TR_JSON_TOOL(wipe, ("Wipe it", .permission = TR_DANGEROUS, .flags = WIPE_FLAGS),
             TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(ID, VERSION, calc, wipe)
