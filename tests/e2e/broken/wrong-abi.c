/* wrong-abi.c - a plugin for a host of the next major version. */
#include <toolrack/plugin.h>

static const struct tr_tool *const tools[] = {0};

TR_EXPORT const struct tr_plugin toolrack_plugin = {
        .magic = TR_MAGIC,
        .size = sizeof(struct tr_plugin),
        .abi_major = TR_ABI_MAJOR + 1,
        .id = "next",
        .version = "1.0.0",
        .tool_size = sizeof(struct tr_tool),
        .tools = tools,
};
