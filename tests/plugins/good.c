/* A plugin with nothing to complain about. */
#include <toolrack/plugin.h>

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add,
        ("Add two numbers", TR_EXAMPLES(TR_EXAMPLE("{\"a\": 1, \"b\": 2}", "3"),
                                        TR_EXAMPLE("{\"a\": 0.5, \"b\": -1}", NULL))),
        TR_F64, (TR_F64, a, "first addend"), (TR_F64, b, "second addend"))

static tr_status echo(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(echo,
             ("Give back the arguments", .version = "2.1.0", .title = "Echo", .category = "test",
              .tags = "test,echo", .permission = TR_CONFIRM, .priority = -5, .deadline_ms = 1500,
              .flags = TR_READ_ONLY | TR_IDEMPOTENT,
              .result_schema = TR_SCHEMA({"type" : "object"})),
             TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"text" : {"type" : "string", "description" : "what to give back"}}
             }))

static tr_status opened(struct tr_host *host) {
    (void)host;
    return TR_OK;
}

TR_PLUGIN(("org.example.good", .license = "MIT", .vendor = "toolrack", .open = opened,
           .description = "For tests", .homepage = "https://example.org", .flags = TR_THREAD_SAFE,
           TR_CAPABILITIES(TR_MAY_READ("${workspace}"), TR_MAY_CONNECT("*:443"))),
          "1.2.3", add, echo)
