/* As little as will do: one JSON tool, and what a first plugin usually lacks. */
#include <toolrack/plugin.h>

static tr_status run(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(run, "Do it", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "a" : {"type" : "array", "x-mcp-header" : "A"},
                     "n" : {"type" : "integer", "enum" : [ "1", "2" ]},
                     "s" : {"type" : "string", "enum" : ["x"], "nullable" : true}
                 }
             }))
TR_PLUGIN("minimal", "0.1.0", run)
