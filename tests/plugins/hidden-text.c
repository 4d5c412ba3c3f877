/* Text that a person does not see: tags, zero-width characters, direction controls. */
#include <toolrack/plugin.h>

static tr_status described(struct tr_call *call) {
    return tr_reply_json(call, "{\"k\\u200b\":\"a\xf3\xa0\x81\x81\"}");
}
/* U+E0041 and U+E0042 after the text. */
TR_JSON_TOOL(described, ("Say hello\xf3\xa0\x81\x81\xf3\xa0\x81\x82", .title = "He\xe2\x80\x8bllo"),
             TR_SCHEMA({"type" : "object"}))

static tr_status escaped(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "no\xe2\x80\xae way");
}
/* U+200B as an escape in the schema's text. */
TR_JSON_TOOL(escaped, "Has it in its schema",
             "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"description\":"
             "\"in\\u200bner\"}}}")

static tr_status chosen(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(chosen, "Has it in a value",
             "{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[\"x\",\"y\\ufeff\"]}}}")

static double typed(double a) {
    return a;
}
TR_TOOL(typed, "Takes a number", TR_F64,
        (TR_F64, a,
         "a num\xc2\xad"
         "ber"))

static tr_status persian(struct tr_call *call) {
    return tr_reply_text(call, "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae \xe2\x9d\xa4\xef\xb8\x8f");
}
TR_JSON_TOOL(persian, "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae\xd9\x88\xd8\xa7\xd9\x87\xd9\x85",
             TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(("hidden-text", .license = "MIT"), "1.0.0", described, escaped, chosen, typed, persian)
