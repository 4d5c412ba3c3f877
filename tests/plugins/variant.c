/* The same plugin with one thing wrong, chosen by -DVARIANT_<name>. */
#include <toolrack/plugin.h>

static tr_status one(struct tr_call *call) {
    return tr_reply_text(call, "one");
}
static tr_status two(struct tr_call *call) {
    return tr_reply_text(call, "two");
}

#if defined(VARIANT_BAD_SCHEMA)
#define SCHEMA "{\"type\": \"object\", \"properties\": {"
#elif defined(VARIANT_WRONG_SCHEMA)
#define SCHEMA "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"objekt\"}}}"
#elif defined(VARIANT_WRONG_EXAMPLES)
#define SCHEMA "{\"type\": \"object\", \"properties\": {\"n\": {\"maximum\": 3}}}"
#else
#define SCHEMA "{\"type\": \"object\"}"
#endif
static const struct tr_tool tool_one = {
        .size = sizeof(struct tr_tool),
        .name = "one",
        .description = "The first",
#if defined(VARIANT_NO_ENTRY)
#elif defined(VARIANT_NUMBER_AS_FUNCTION)
        .run = (tr_status(*)(struct tr_call *))16,
#else
        .run = one,
#endif
#if defined(VARIANT_WRONG_EXAMPLES)
        .result_schema = "{\"type\": \"string\"}",
        TR_EXAMPLES(TR_EXAMPLE("{\"n\":1}", "\"one\""), TR_EXAMPLE("{\"n\":4}", NULL),
                    TR_EXAMPLE("{\"n\":2}", "2"), TR_EXAMPLE("{\"n\":3}", NULL)),
#endif
        .schema = SCHEMA};
#if defined(VARIANT_BAD_NAME)
#define NAME_TWO "2 two"
#elif defined(VARIANT_SAME_NAME)
#define NAME_TWO "one"
#else
#define NAME_TWO "two"
#endif
static const struct tr_tool tool_two = {.size = sizeof(struct tr_tool),
                                        .name = NAME_TWO,
                                        .description = "The second",
#if defined(VARIANT_NUMBER_AS_TEXT)
                                        .title = (const char *)0x1234,
#endif
                                        .schema = "{\"type\":\"object\"}",
                                        .run = two};
static const struct tr_tool *const tools[] = {&tool_one, &tool_two};

#if defined(VARIANT_WRONG_MAJOR)
#define MAJOR (TR_ABI_MAJOR + 1)
#else
#define MAJOR TR_ABI_MAJOR
#endif
#if defined(VARIANT_LATER_HOST)
#define HOST_MINOR (TR_ABI_MINOR + 1)
#else
#define HOST_MINOR 0
#endif

#if !defined(VARIANT_NO_SYMBOL)
TR_EXPORT const struct tr_plugin toolrack_plugin = {.magic = TR_MAGIC,
                                                    .size = sizeof(struct tr_plugin),
                                                    .abi_major = MAJOR,
                                                    .abi_minor = TR_ABI_MINOR,
                                                    .host_minor_min = HOST_MINOR,
                                                    .id = "org.example.variant",
                                                    .version = "1.0.0",
                                                    .license = "MIT",
                                                    .tool_count = sizeof tools / sizeof tools[0],
                                                    .tool_size = sizeof(struct tr_tool),
                                                    .tools = tools};
#else
TR_EXPORT const void *const variant_tools = tools;
#endif
