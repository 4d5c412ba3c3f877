/* As many tools as a plugin may have, or one more with -DTOOLS=1025. */
#include <toolrack/plugin.h>

#ifndef TOOLS
#define TOOLS 1024
#endif

static tr_status run(struct tr_call *call) {
    return tr_reply_text(call, tr_context(call, TR_CONTEXT_TOOL));
}

#define TOOL(n)                         \
    {.size = sizeof(struct tr_tool),    \
     .name = "tool_" #n,                \
     .description = "One of many",      \
     .schema = "{\"type\":\"object\"}", \
     .run = run},
#define TOOLS_8(n) \
    TOOL(n##0) TOOL(n##1) TOOL(n##2) TOOL(n##3) TOOL(n##4) TOOL(n##5) TOOL(n##6) TOOL(n##7)
#define TOOLS_64(n) \
    TOOLS_8(n##0)   \
    TOOLS_8(n##1)   \
    TOOLS_8(n##2) TOOLS_8(n##3) TOOLS_8(n##4) TOOLS_8(n##5) TOOLS_8(n##6) TOOLS_8(n##7)
#define TOOLS_512(n) \
    TOOLS_64(n##0)   \
    TOOLS_64(n##1)   \
    TOOLS_64(n##2) TOOLS_64(n##3) TOOLS_64(n##4) TOOLS_64(n##5) TOOLS_64(n##6) TOOLS_64(n##7)
static const struct tr_tool all[] = {TOOLS_512(a) TOOLS_512(b) TOOL(c)};

#define ADDRESS(n) &all[n],
#define ADDRESSES_8(n) \
    ADDRESS(n)         \
    ADDRESS(n + 1)     \
    ADDRESS(n + 2) ADDRESS(n + 3) ADDRESS(n + 4) ADDRESS(n + 5) ADDRESS(n + 6) ADDRESS(n + 7)
#define ADDRESSES_64(n) \
    ADDRESSES_8(n)      \
    ADDRESSES_8(n + 8)  \
    ADDRESSES_8(n + 16) \
    ADDRESSES_8(n + 24) \
    ADDRESSES_8(n + 32) ADDRESSES_8(n + 40) ADDRESSES_8(n + 48) ADDRESSES_8(n + 56)
#define ADDRESSES_512(n)  \
    ADDRESSES_64(n)       \
    ADDRESSES_64(n + 64)  \
    ADDRESSES_64(n + 128) \
    ADDRESSES_64(n + 192) \
    ADDRESSES_64(n + 256) ADDRESSES_64(n + 320) ADDRESSES_64(n + 384) ADDRESSES_64(n + 448)
static const struct tr_tool *const tools[] = {ADDRESSES_512(0) ADDRESSES_512(512) ADDRESS(1024)};

TR_EXPORT const struct tr_plugin toolrack_plugin = {.magic = TR_MAGIC,
                                                    .size = sizeof(struct tr_plugin),
                                                    .abi_major = TR_ABI_MAJOR,
                                                    .id = "many",
                                                    .version = "1.0.0",
                                                    .license = "MIT",
                                                    .tools = tools,
                                                    .tool_count = TOOLS,
                                                    .tool_size = sizeof(struct tr_tool)};
