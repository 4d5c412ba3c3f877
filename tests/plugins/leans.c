/* Fault: none of its own. The library that it needs trusts that there is memory. The setting
 * "answer" is what it adds. */
#include <stdlib.h>
#include <toolrack/plugin.h>

int private_copy(int number);

static int added;

static tr_status take_settings(struct tr_host *host) {
    added = atoi(tr_host_config(host, "answer", "0"));
    return TR_OK;
}

static int32_t lean(int32_t n) {
    return private_copy(n % 1000) + added;
}
TR_TOOL(lean,
        ("Gives what it is given and the setting", TR_EXAMPLES(TR_EXAMPLE("{\"n\": 1}", "43"))),
        TR_I32, (TR_I32, n, "a number"))

TR_PLUGIN(("leans", .open = take_settings, TR_CAPABILITIES(TR_READS(PRIVATE_FOLDER))), "1.0.0",
          lean)
