/* A plugin of version 1.0, by the layout that was released then and not by today's header: later
 * hosts must read and run it as it is. */
#include <stddef.h>
#include <stdint.h>

struct type_1_0 {
    uint32_t size, kind, flags, width;
    const void *item, *fields;
    uint32_t field_count, field_size;
    const void *choices;
    uint32_t choice_count, choice_size;
};

struct param_1_0 {
    const char *name, *description;
    const struct type_1_0 *type;
    uint64_t offset;
    const char *default_json, *choices_json, *minimum_json, *maximum_json;
    const char *exclusive_minimum_json, *exclusive_maximum_json, *multiple_of_json;
    uint64_t min_length, max_length, min_items, max_items;
    const char *pattern, *format;
    uint32_t flags, reserved;
};

struct call_1_0 {
    const struct call_api_1_0 *api;
};

struct call_api_1_0 {
    uint64_t size;
    const void *arguments, *kind, *count, *get_bool, *get_i64, *get_u64, *get_f64, *get_string;
    const void *get_bytes, *get_json;
    int32_t (*reply_text)(struct call_1_0 *call, const char *text, uint64_t length);
};

struct tool_1_0 {
    uint32_t size, flags;
    const char *name, *description, *version, *title, *category, *tags;
    uint32_t permission;
    int32_t priority;
    uint32_t deadline_ms, param_count;
    const struct param_1_0 *params;
    uint32_t param_size, reserved;
    const struct type_1_0 *result;
    const char *result_description;
    void (*function)(void);
    const char *schema, *result_schema;
    int32_t (*run)(struct call_1_0 *call);
};

struct plugin_1_0 {
    uint64_t magic;
    uint32_t size;
    uint16_t abi_major, abi_minor, host_minor_min, reserved;
    uint32_t flags;
    const char *id, *version, *description, *vendor, *license, *homepage;
    const void *capabilities;
    uint32_t capability_count, capability_size, tool_count, tool_size;
    const struct tool_1_0 *const *tools;
    int32_t (*open)(void *host);
    void (*close)(void);
    const void *(*get_extension)(const char *id);
};

_Static_assert(sizeof(struct type_1_0) == 56 && sizeof(struct param_1_0) == 144 &&
                       sizeof(struct tool_1_0) == 136 && sizeof(struct plugin_1_0) == 128,
               "the sizes of version 1.0");

static double add(double a, double b) {
    return a + b;
}
static const struct type_1_0 number = {.size = sizeof number, .kind = 11};
static const struct param_1_0 params[] = {
        {.name = "a", .description = "first addend", .type = &number},
        {.name = "b", .description = "second addend", .type = &number}};
static const struct tool_1_0 add_tool = {.size = sizeof add_tool,
                                         .name = "old_add",
                                         .description = "Add two numbers",
                                         .params = params,
                                         .param_count = 2,
                                         .param_size = sizeof params[0],
                                         .result = &number,
                                         .function = (void (*)(void))add};

static int32_t greet(struct call_1_0 *call) {
    return call->api->reply_text(call, "good day", UINT64_MAX);
}
static const struct tool_1_0 greet_tool = {.size = sizeof greet_tool,
                                           .name = "old_greet",
                                           .description = "Greet",
                                           .schema = "{\"type\":\"object\"}",
                                           .run = greet};

static const struct tool_1_0 *const tools[] = {&add_tool, &greet_tool};

extern __attribute__((visibility("default"))) const struct plugin_1_0 toolrack_plugin;
const struct plugin_1_0 toolrack_plugin = {.magic = UINT64_C(0x6b6361726c6f6f74),
                                           .size = sizeof toolrack_plugin,
                                           .abi_major = 1,
                                           .id = "older",
                                           .version = "1.0.0",
                                           .license = "MIT",
                                           .tool_count = 2,
                                           .tool_size = sizeof(struct tool_1_0),
                                           .tools = tools};
