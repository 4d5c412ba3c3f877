/* Fault: the first call empties the plugin's table, which was in order when it was loaded. */
#include "rewrite.h"
#include "zoo.h"

#define TOOLS 2

static tr_status zoo_changing_table(struct tr_call *call) {
    static const struct tr_tool *const nothing[TOOLS] = {NULL, NULL};
    static const uint32_t none = 0;
    if (!rewrite(toolrack_plugin.tools, nothing, sizeof nothing) ||
        !rewrite(&toolrack_plugin.tool_count, &none, sizeof none)) {
        return tr_fail(call, TR_FAILED, NULL, "cannot write to its table");
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_changing_table)
ZOO_PLUGIN(zoo_changing_table)
