/* A plugin that takes its time to open: two seconds. */
#include <time.h>
#include <toolrack/plugin.h>

static tr_status late(struct tr_call *call) {
    return tr_reply_text(call, "late");
}
TR_JSON_TOOL(late, "Comes late", TR_SCHEMA({"type" : "object"}))

static tr_status open_slowly(struct tr_host *host) {
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    tr_host_log(host, TR_LOG_INFO, "%s", tr_host_config(host, "word", "open at last"));
    return TR_OK;
}
TR_PLUGIN(("slow", .open = open_slowly), "1.0.0", late)
