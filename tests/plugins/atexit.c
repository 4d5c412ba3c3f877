/* A plugin that wants to be told of the end: its handler runs when it is unloaded, and leaves a
 * file where the configuration says ("mark") as a sign that it did. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <toolrack/plugin.h>
#include <unistd.h>

static char mark[256];

static void leave_mark(void) {
    int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
    }
}

static tr_status wait_for_it(struct tr_call *call) {
    return tr_reply_text(call, mark);
}
TR_JSON_TOOL(wait_for_it, "Says where the mark will be", TR_SCHEMA({"type" : "object"}))

static tr_status open_with_handler(struct tr_host *host) {
    snprintf(mark, sizeof mark, "%s", tr_host_config(host, "mark", ""));
    return atexit(leave_mark) == 0 ? TR_OK : tr_host_fail(host, "no handler");
}
TR_PLUGIN(("test.atexit", .license = "MIT", .open = open_with_handler), "1.0.0", wait_for_it)
