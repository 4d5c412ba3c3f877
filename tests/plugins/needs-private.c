/* Needs a library in a folder of its own, and declares the folder. */
#include <stdio.h>
#include <toolrack/plugin.h>
#include <unistd.h>

int private_answer(void);

#ifdef SAYS /* as the runtime of a sanitizer does */
__attribute__((constructor)) static void say(void) {
    (void)fputs("the runtime does not come first\n", stderr);
    _exit(1);
}
#endif

static tr_status answer(struct tr_call *call) {
    return tr_reply_json(call, private_answer() == 42 ? "42" : "0");
}
TR_JSON_TOOL(answer, "Ask the library", TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(("needs_private", TR_CAPABILITIES(TR_READS(PRIVATE_FOLDER))), "1.0.0", answer)
