/* answer.h - execute the calls of a model's message, and tell of them while they run. */
#pragma once

#include "format/turn.h"
#include "provider/outcome.h"

struct toolrack;

/** What a conversation adds to the tools of the host. */
struct answer_extra {
    const struct format_keeping *keeping; /**< for results of calls */
    yyjson_val *names; /**< of the tools that the model was offered, see export_names(): no other is
                        * found, whatever `offered` of the options would export by now */
    void *user;
    /** Whether a tool is the conversation's own. */
    bool (*has)(void *user, const char *name);
    /** Call it: append its result, JSON. @return 0, or the code of the failure */
    int (*call)(void *user, const struct format_call *call, struct buf *out,
                struct toolrack_error *err);
};

/** As toolrack_answer(), on the thread of which `watch` is called (provider/outcome.h); NULL:
 * nobody is told. All calls run on threads of the host then.
 * @param extra  NULL: nothing is added */
int answer_message(struct toolrack *host, enum toolrack_format format, const char *message,
                   size_t length, const struct toolrack_call_options *options,
                   const struct agent_watch *watch, const struct answer_extra *extra,
                   struct toolrack_text **ret, struct toolrack_error *err);
