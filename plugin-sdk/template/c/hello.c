/* hello - one line on what the plugin is for. */
#include <toolrack/plugin.h>
/* @if resources@ */
#include <toolrack/ext/resources.h>
/* @end@ */

/* @if typed@ */
#include <math.h>
/* @end@ */
/* @if resources@ */
#include <string.h>
/* @end@ */

/* @if typed@ */
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
        (TR_F64, a, "Length of one short side", TR_EXCLUSIVE_MINIMUM(0), TR_MAXIMUM(1e9)),
        (TR_F64, b, "Length of the other short side", TR_EXCLUSIVE_MINIMUM(0), TR_MAXIMUM(1e9)))
/* @end@ */
/* @if json@ */
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
/* @end@ */
/* @if resources@ */

/* Resources: what a person or a model reads by a URI. */
static tr_status hello_list(struct tr_call *call) {
    return tr_reply_json(call, TR_SCHEMA({"resources": [
        {"uri": "notes://hello/about", "name": "about", "mimeType": "text/plain"}
    ]}));
}
static tr_status hello_read(struct tr_call *call) {
    const char *uri = tr_get_string(call, "uri", "");
    if (strcmp(uri, "notes://hello/about") != 0) {
        return TR_OK; /* not ours: reply nothing */
    }
    return tr_reply_resource_text(call, uri, "text/plain", "What the plugin is for.");
}
static const struct tr_resources hello_resources = {
        .size = sizeof(struct tr_resources), .list = hello_list, .read = hello_read};

static const void *hello_extension(const char *id) {
    return strcmp(id, TR_EXT_RESOURCES) == 0 ? &hello_resources : NULL;
}
/* @end@ */

/* @if resources@ */
TR_PLUGIN(("hello", .description = "One line on what the plugin is for", .license = "MIT",
           .flags = TR_THREAD_SAFE | TR_PLUGIN_RESOURCES, .get_extension = hello_extension),
/* @else@ */
TR_PLUGIN(("hello", .description = "One line on what the plugin is for", .license = "MIT",
           .flags = TR_THREAD_SAFE),
/* @end@ */
/* @if typed@ */
          "0.1.0", hello_hypotenuse)
/* @else@ */
          "0.1.0", hello_greet)
/* @end@ */
