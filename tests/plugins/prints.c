/* Writes on standard output, as libraries do that were not made for servers, and reads standard
 * input. */
#include <stdio.h>
#include <toolrack/plugin.h>
#include <unistd.h>

static tr_status prints(struct tr_call *call) {
    char first = 0;
    printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"of\":\"printf\"}}\n");
    (void)fflush(stdout);
    (void)!write(STDOUT_FILENO, "of write\n", 9);
    return read(STDIN_FILENO, &first, 1) > 0
                   ? tr_fail(call, TR_FAILED, NULL, "standard input is not empty")
                   : tr_reply_text(call, "printed");
}
TR_JSON_TOOL(prints, "Print on standard output", TR_SCHEMA({"type" : "object"}))

TR_PLUGIN("prints", "1.0.0", prints)
