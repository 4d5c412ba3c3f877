#include <toolrack/plugin.h>
static tr_status greet(struct tr_call *call) {
    const char *name = tr_get_string(call, "name", "world");
    return tr_reply_textf(call, "Hello, %s!", name);
}
TR_JSON_TOOL(greet, "Greet somebody by name", TR_SCHEMA({
    "type": "object",
    "properties": {"name": {"type": "string", "description": "whom to greet"}}
}))
TR_PLUGIN("greeter", "1.0.0", greet)
