/* hello - one line on what the plugin is for. */
#include <toolrack/plugin.h>

#include <math.h>

/* A typed tool: a C function, and a list that says the same for people and models. The compiler
 * compares the two. */
static double hello_hypotenuse(double a, double b) {
    return sqrt(a * a + b * b);
}
TR_TOOL(hello_hypotenuse,
        ("Length of the longest side of a right triangle, in the unit of the other two.",
         .category = "math", .flags = TR_READ_ONLY | TR_IDEMPOTENT,
         TR_EXAMPLES(TR_EXAMPLE("{\"a\": 3, \"b\": 4}", "5"))),
        TR_F64,
        (TR_F64, a, "Length of one short side", TR_EXCLUSIVE_MINIMUM(0)),
        (TR_F64, b, "Length of the other short side", TR_EXCLUSIVE_MINIMUM(0)))

/* A JSON tool: brings its schema, reads arguments by path, and may reply several times. */
static tr_status hello_greet(struct tr_call *call) {
    const char *name = tr_get_string(call, "name", "world");
    if (name[0] == '\0') {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "name", "must not be empty");
    }
    return tr_reply_textf(call, "Hello, %s!", name);
}
TR_JSON_TOOL(hello_greet,
             ("Greet somebody by name.", .flags = TR_READ_ONLY | TR_IDEMPOTENT,
              TR_EXAMPLES(TR_EXAMPLE("{\"name\": \"Ada\"}", "\"Hello, Ada!\""))),
             TR_SCHEMA({
                 "type": "object",
                 "properties": {
                     "name": {"type": "string", "description": "Whom to greet", "default": "world"}
                 },
                 "additionalProperties": false
             }))

TR_PLUGIN(("hello", .description = "Says hello", .license = "MIT", .flags = TR_THREAD_SAFE),
          "0.1.0", hello_hypotenuse, hello_greet)
