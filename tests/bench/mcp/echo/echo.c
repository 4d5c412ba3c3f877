/* The tool that the benchmarks of serving call. */
#include <toolrack/plugin.h>

static tr_status echo(struct tr_call *call) {
    return tr_reply_text(call, tr_get_string(call, "message", ""));
}
TR_JSON_TOOL(echo, "Give back the message", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"message" : {"type" : "string", "description" : "the message"}},
                 "required" : ["message"]
             }))
TR_PLUGIN(("bench.echo", .flags = TR_THREAD_SAFE), "1.0.0", echo)
