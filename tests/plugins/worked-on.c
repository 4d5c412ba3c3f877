/* A plugin that somebody works on: each build answers otherwise. */
#include <toolrack/plugin.h>
#include <unistd.h>

#if ANSWER == 0 /* fault: crashes at its example, and would with less of it */
#include <stdlib.h>

static int32_t answer(int32_t n, const char *text) {
    (void)text;
    if (n > 0) {
        abort();
    }
    return n;
}
TR_TOOL(answer,
        ("Gives the number of its build",
         TR_EXAMPLES(TR_EXAMPLE("{\"n\": 4321, \"text\": \"of the example\"}", NULL))),
        TR_I32, (TR_I32, n, "a number"), (TR_OPTIONAL(TR_STRING), text, "a text"))
#else
static int32_t answer(void) {
    while (ANSWER < 0) { /* fault: does not end */
        (void)sleep(1);
    }
    return ANSWER;
}
TR_TOOL(answer, ("Gives the number of its build", TR_EXAMPLES(TR_EXAMPLE("{}", NULL))), TR_I32)
#endif

TR_PLUGIN("worked-on", "1.0.0", answer)
