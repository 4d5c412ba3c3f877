/* No fault: gives back what it is given. For the tests that look at the way there and back. */
#include "zoo.h"

static const char *zoo_echo(const char *text) {
    return text;
}
TR_TOOL(zoo_echo, "Give back a text", TR_STRING, (TR_STRING, text, "the text"))

static tr_status zoo_echo_json(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(zoo_echo_json, "Give back the arguments", ZOO_NO_ARGUMENTS)

static double zoo_add(double a, double b) {
    return a + b;
}
TR_TOOL(zoo_add, "Add two numbers", TR_F64, (TR_F64, a, "first addend"),
        (TR_F64, b, "second addend"))

TR_PLUGIN("zoo_echo", "1.0.0", zoo_echo, zoo_echo_json, zoo_add)
