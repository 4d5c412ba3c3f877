/* Tools in symbols that others can see, so that the linker leaves symbol relocations; one tool is a
 * function of another library. */
#include <math.h>
#include <toolrack/plugin.h>

const struct tr_type number_type = {.size = sizeof(struct tr_type), .kind = TR_KIND_F64};
const struct tr_param angle_params[] = {
        {.name = "angle", .description = "in radians", .type = &number_type}};
const struct tr_tool cosine_tool = {.size = sizeof(struct tr_tool),
                                    .name = "cosine",
                                    .description = "The cosine of an angle",
                                    .params = angle_params,
                                    .param_count = 1,
                                    .param_size = sizeof(struct tr_param),
                                    .result = &number_type,
                                    .function = (void (*)(void))cos};
#if defined(VARIANT_FOREIGN_DATA)
extern const struct tr_tool tool_of_somebody_else;
const struct tr_tool *const all_tools[] = {&cosine_tool, &tool_of_somebody_else};
#else
const struct tr_tool *const all_tools[] = {&cosine_tool};
#endif

TR_EXPORT const struct tr_plugin toolrack_plugin = {.magic = TR_MAGIC,
                                                    .size = sizeof(struct tr_plugin),
                                                    .abi_major = TR_ABI_MAJOR,
                                                    .id = "symbols",
                                                    .version = "1.0.0",
                                                    .license = "MIT",
                                                    .tools = all_tools,
                                                    .tool_count =
                                                            sizeof all_tools / sizeof all_tools[0],
                                                    .tool_size = sizeof(struct tr_tool)};
