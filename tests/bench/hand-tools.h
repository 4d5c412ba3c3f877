/* hand-tools.h - the tools of by-hand.h in a host. */
#pragma once

#include "by-hand.h"
#include "toolrack/toolrack.h"

/* After make_hand_tools(), whose names they have. */
static int register_hand_tools(struct toolrack *host, struct toolrack_error *err) {
    static struct tr_tool tools[TOOLS];
    static const struct tr_tool *table[TOOLS];
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = "bench",
                                     .version = "1.0.0",
                                     .flags = TR_THREAD_SAFE,
                                     .tool_count = TOOLS,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = table};
    for (int i = 0; i < TOOLS; i++) {
        tools[i] = tr_tool_typed;
        tools[i].name = hand_tools[i].name;
        table[i] = &tools[i];
    }
    return toolrack_register(host, &plugin, NULL, err);
}
