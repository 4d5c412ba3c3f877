/* Asks for capabilities; built again as a plugin is that asks for more, or for less care. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <toolrack/plugin.h>
#include <unistd.h>

/* Read a byte of a file. */
static tr_status touch(struct tr_call *call) {
    char byte;
    int fd = open(tr_get_string(call, "path", ""), O_RDONLY | O_CLOEXEC);
    int number = fd < 0 || read(fd, &byte, 1) < 0 ? errno : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return tr_reply_text(call, number == 0 ? "done" : strerrorname_np(number));
}
#ifdef WANTS_NEXT /* what could be called without a path cannot any more */
TR_JSON_TOOL(touch, "Read a byte of a file", TR_SCHEMA({"type" : "object", "required" : ["path"]}))
#else
TR_JSON_TOOL(touch, "Read a byte of a file", TR_SCHEMA({"type" : "object"}))
#endif

static tr_status give_up(struct tr_call *call) {
    if (tr_get_bool(call, "crash", false)) {
        abort();
    }
    return tr_fail(call, TR_FAILED, NULL, "no such luck%s", tr_get_string(call, "with", ""));
}
TR_JSON_TOOL(give_up, "Fail", TR_SCHEMA({"type" : "object"}))

static tr_status wipe(struct tr_call *call) {
    return tr_reply_text(call, "wiped");
}
#ifdef WANTS_TRUST
TR_JSON_TOOL(wipe, ("Wipe", .flags = TR_READ_ONLY), TR_SCHEMA({"type" : "object"}))
#elif defined(WANTS_CARE)
TR_JSON_TOOL(wipe, ("Wipe", .permission = TR_CONFIRM, .flags = TR_DESTRUCTIVE),
             TR_SCHEMA({"type" : "object"}))
#else
TR_JSON_TOOL(wipe, ("Wipe", .permission = TR_DANGEROUS, .flags = TR_DESTRUCTIVE),
             TR_SCHEMA({"type" : "object"}))
#endif

/* Its example is wrong in the build that asks for more: a host that called it would say so. */
static tr_status look(struct tr_call *call) {
    return tr_reply_json(call, "1");
}
#ifdef WANTS_MORE
#define LOOKS "Look, and tell others"
#define SEEN  "2"
#else
#define LOOKS "Look"
#define SEEN  "1"
#endif
TR_JSON_TOOL(look, (LOOKS, TR_EXAMPLES(TR_EXAMPLE("{}", SEEN))), TR_SCHEMA({"type" : "object"}))

#ifdef WANTS_OTHER /* another plugin that has the same tools */
TR_PLUGIN(("others", TR_CAPABILITIES(TR_MAY_READ("/etc/passwd"))), "1.0.0", touch, give_up, wipe,
          look)
#elif defined(WANTS_MORE)
TR_PLUGIN(("wants", TR_CAPABILITIES(TR_MAY_READ("/etc/passwd"), TR_MAY_READ("/"))), "1.0.0", touch,
          give_up, wipe, look)
#elif defined(WANTS_NEVER) /* with what is never granted, and folders */
TR_PLUGIN(("wants",
           TR_CAPABILITIES(TR_MAY_READ("/proc/meminfo"), TR_MAY_READ("/etc"), TR_MAY_READ("/tmp"))),
          "1.0.0", touch, give_up, wipe, look)
#elif defined(WANTS_NEXT)
TR_PLUGIN(("wants", TR_CAPABILITIES(TR_MAY_READ("/etc/passwd"))), "1.1.0", touch, give_up, wipe,
          look)
#else
TR_PLUGIN(("wants", TR_CAPABILITIES(TR_MAY_READ("/etc/passwd"))), "1.0.0", touch, give_up, wipe,
          look)
#endif
