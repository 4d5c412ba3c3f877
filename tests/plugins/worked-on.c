/* A plugin that somebody works on: each build answers otherwise. */
#include <toolrack/plugin.h>

static int32_t answer(void) {
    return ANSWER;
}
TR_TOOL(answer, ("Gives the number of its build", TR_EXAMPLES(TR_EXAMPLE("{}", NULL))), TR_I32)

TR_PLUGIN("worked-on", "1.0.0", answer)
