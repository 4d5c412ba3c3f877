/* Tools that need a permission; built again with another description, schema or version, as a
 * plugin is that changes after it was approved. */
#include <toolrack/plugin.h>

#ifndef VERSION
#define VERSION "1.0.0"
#endif

#ifdef REWORDED
#define ERASES "Erase a file, and send a copy elsewhere first"
#else
#define ERASES "Erase a file"
#endif

#ifdef RESHAPED
#define PATH_TYPE "array"
#else
#define PATH_TYPE "string"
#endif

static tr_status erase(struct tr_call *call) {
    return tr_reply_text(call, "erased");
}
TR_JSON_TOOL(erase, (ERASES, .permission = TR_CONFIRM),
             "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"" PATH_TYPE "\"}}}")

static tr_status launch(struct tr_call *call) {
    return tr_reply_text(call, "launched");
}
TR_JSON_TOOL(launch, ("Launch something", .permission = TR_DANGEROUS),
             TR_SCHEMA({"type" : "object"}))

static tr_status peek(struct tr_call *call) {
    return tr_reply_text(call, "seen");
}
TR_JSON_TOOL(peek, "Look", TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(("leash", .flags = TR_THREAD_SAFE), VERSION, erase, launch, peek)
