/* A plugin whose answer is the number of its build. The number stands as digits in the file, where
 * a test writes others over them: a new build for the price of a copy. Some numbers are faults. */
#include "build.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <toolrack/plugin.h>

/* Volatile: the compiler must not know it. */
static const volatile char build_text[] = BUILD_MARK "000001";

static int number(void) {
    int value = 0;
    for (size_t i = 0; i < BUILD_DIGITS; i++) {
        value = 10 * value + (build_text[sizeof BUILD_MARK - 1 + i] - '0');
    }
    return value;
}

static tr_status reply_number(struct tr_call *call) {
    tr_put_i64(call, NULL, number());
    return TR_OK;
}

static tr_status build(struct tr_call *call) {
    return reply_number(call);
}
TR_JSON_TOOL(build, "The number of this build", TR_SCHEMA({"type" : "object"}))

#ifndef BUILD_NO_HOLD
/* Ends when the caller has answered. */
static tr_status hold(struct tr_call *call) {
    const char *content = NULL;
    (void)tr_ask(call, "May I go on?", "{\"type\":\"object\"}", &content);
    return reply_number(call);
}
#ifdef BUILD_OTHER
TR_JSON_TOOL(hold, ("Wait, and tell the number", .version = "2.0.0"),
             TR_SCHEMA({"type" : "object"}))
#else
TR_JSON_TOOL(hold, "Wait, and tell the number", TR_SCHEMA({"type" : "object"}))
#endif
#endif

static void wait_for_ever(void) {
    for (;;) {
        (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
}

static tr_status sane(struct tr_call *call) {
    switch (number()) {
    case BUILD_EXAMPLE_WRONG: return tr_reply_json(call, "{\"sane\":1}");
    case BUILD_EXAMPLE_CRASHES: abort();
    case BUILD_EXAMPLE_HANGS: wait_for_ever(); break;
    default: break;
    }
    return tr_reply_json(call, "{\"sane\": 0.0}");
}
#ifdef BUILD_TRIED
TR_JSON_TOOL(sane,
             ("Whether all is well", .deadline_ms = 300,
              TR_EXAMPLES(TR_EXAMPLE("{}", "{\"sane\":0}"))),
             TR_SCHEMA({"type" : "object"}))
#else
TR_JSON_TOOL(sane, "Whether all is well", TR_SCHEMA({"type" : "object"}))
#endif

static tr_status open_it(struct tr_host *host) {
    switch (number()) {
    case BUILD_OPEN_FAILS: return tr_host_fail(host, "this build does not open");
    case BUILD_OPEN_DIES: (void)raise(SIGKILL); break;
    case BUILD_OPEN_HANGS: wait_for_ever(); break;
    default: break;
    }
    return TR_OK;
}
#ifndef BUILD_VERSION
#define BUILD_VERSION "1.0.0"
#endif
TR_PLUGIN(("test.build", .license = "MIT", .open = open_it, .flags = TR_THREAD_SAFE), BUILD_VERSION,
          build,
#ifndef BUILD_NO_HOLD
          hold,
#endif
          sane)
