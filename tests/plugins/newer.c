/* A plugin of a later SDK: every struct has grown at its end. */
#include <toolrack/plugin.h>

#define MORE       \
    uint64_t more; \
    const char *even_more;
#define MORE_SET .more = UINT64_MAX, .even_more = "of a later version"

struct new_type {
    struct tr_type old;
    MORE
};
struct new_param {
    struct tr_param old;
    MORE
};
struct new_choice {
    struct tr_choice old;
    MORE
};
struct new_example {
    struct tr_example old;
    MORE
};
struct new_tool {
    struct tr_tool old;
    MORE
};
struct new_capability {
    struct tr_capability old;
    MORE
};
struct new_plugin {
    struct tr_plugin old;
    MORE
};

static const struct new_choice choices[] = {{{"low", 1}, MORE_SET}, {{"high", 2}, MORE_SET}};
static const struct new_type level = {{.size = sizeof(struct new_type),
                                       .kind = TR_KIND_ENUM,
                                       .width = 4,
                                       .choices = &choices[0].old,
                                       .choice_count = 2,
                                       .choice_size = sizeof(struct new_choice)},
                                      MORE_SET};
static const struct new_type number = {{.size = sizeof(struct new_type), .kind = TR_KIND_I32},
                                       MORE_SET};
static const struct new_param params[] = {
        {{.name = "level", .description = "how much", .type = &level.old}, MORE_SET},
        {{.name = "number", .description = "of what", .type = &number.old}, MORE_SET}};

static const struct new_example examples[] = {
        {{"{\"level\":\"low\",\"number\":2}", "2"}, MORE_SET},
        {{"{\"level\":\"high\",\"number\":2}", NULL}, MORE_SET}};

static int scale(int level_, int number_) {
    return level_ * number_;
}
static const struct new_tool tool = {{.size = sizeof(struct new_tool),
                                      .name = "scale",
                                      .description = "Scale a number",
                                      .params = &params[0].old,
                                      .param_count = 2,
                                      .param_size = sizeof(struct new_param),
                                      .result = &number.old,
                                      .function = (void (*)(void))scale,
                                      .examples = &examples[0].old,
                                      .example_count = 2,
                                      .example_size = sizeof(struct new_example),
                                      .deprecated = "use multiply",
                                      .purpose = "Make numbers larger",
                                      .scenarios = "cooking, maps",
                                      .icons = "[{\"src\": \"https://example.org/a.png\",\n"
                                               "\"later\": 1, \"sizes\": [\"48x48\"]}]"},
                                     MORE_SET};
static const struct tr_tool *const tools[] = {&tool.old};
static const struct new_capability capabilities[] = {
        {{.kind = TR_CAP_READ, .value = "/a"}, MORE_SET},
        {{.kind = TR_CAP_ENV, .value = "B"}, MORE_SET}};

extern TR_EXPORT const struct new_plugin newer_plugin __asm__("toolrack_plugin");
const struct new_plugin newer_plugin = {{.magic = TR_MAGIC,
                                         .size = sizeof(struct new_plugin),
                                         .abi_major = TR_ABI_MAJOR,
                                         .abi_minor = TR_ABI_MINOR + 7,
                                         .id = "newer",
                                         .version = "1.0.0",
                                         .license = "MIT",
                                         .capabilities = &capabilities[0].old,
                                         .capability_count = 2,
                                         .capability_size = sizeof(struct new_capability),
                                         .tools = tools,
                                         .tool_count = 1,
                                         .tool_size = sizeof(struct new_tool)},
                                        MORE_SET};
