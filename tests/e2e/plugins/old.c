/* old.c - an older version of a tool that kit.c has as well. */
#include <toolrack/plugin.h>

static const char *greet(const char *name) {
    (void)name;
    return "good day";
}
TR_TOOL(greet, "Greet somebody, the old way", TR_STRING, (TR_STRING, name, "whom"))

TR_PLUGIN("kit.old", "1.0.0", greet)
