/* Tools that lack what every tool needs: a name, a description. The last one has both. */
#include <toolrack/plugin.h>

static tr_status run(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
#define TOOL(...) \
    { .size = sizeof(struct tr_tool), .run = run, .schema = "{\"type\":\"object\"}", __VA_ARGS__ }
static const struct tr_tool bare = TOOL(.name = "bare");
static const struct tr_tool blank = TOOL(.name = "blank", .description = " \n");
static const struct tr_tool unnamed = TOOL(.description = "Has no name");
static const struct tr_tool spaces = TOOL(.name = "  ", .description = "Has a name of blanks");
static const struct tr_tool whole = TOOL(.name = "whole", .description = "Has both");

static const struct tr_tool *const tools[] = {&bare, &blank, &unnamed, &spaces, &whole};
TR_EXPORT const struct tr_plugin toolrack_plugin = {.magic = TR_MAGIC,
                                                    .size = sizeof(struct tr_plugin),
                                                    .abi_major = TR_ABI_MAJOR,
                                                    .abi_minor = TR_ABI_MINOR,
                                                    .id = "nameless",
                                                    .version = "1.0.0",
                                                    .license = "MIT",
                                                    .tool_count = 5,
                                                    .tool_size = sizeof(struct tr_tool),
                                                    .tools = tools};
