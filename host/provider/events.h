/* events.h - what happens in a conversation, told to the app while it happens and kept for the
 * outcome.
 *
 * All is told as events. To an app that takes none the calls and their results are told by notes:
 * the calls before they run, the results in the order of the calls, after all have ended. */
#pragma once

#include "base/error.h"
#include "provider/keys.h"
#include "provider/outcome.h"
#include "toolrack/agent.h"

/** A call of the message whose calls run. */
struct events_call {
    char *tool;
    char *arguments;
    char *result; /* NULL: it has not ended */
};

struct events {
    const struct toolrack_agent_options *app;
    const struct key *key;
    const struct buf *secrets;     /* of calls so far: see call-secrets.h */
    struct agent_outcome *outcome; /* receives usage, latency and what was called */
    unsigned tries;                /* of the request */
    uint64_t request_ns;           /* when it was sent */
    struct events_call *calls;
    size_t count;
};

/** One line, in which the key is masked. */
void events_note(const struct events *events, const char *format, ...) TOOLRACK_PRINTF(2, 3);

/** A request is about to be sent. */
void events_request(struct events *events, unsigned tries);

/** The first byte of its response has come. */
void events_answer(struct events *events);

/** The message that it brought is complete. */
void events_message(struct events *events, const struct toolrack_stream *stream);

/** The calls of a message begin; its key and its secrets are masked.
 * @return 0; TOOLRACK_E_NO_MEMORY. In any case events_end_calls() follows. */
int events_begin_calls(struct events *events, const char *message, size_t length,
                       struct toolrack_error *err);
struct agent_watch events_watch(struct events *events);
/** The calls have ended. `is_whole`: all of them did. */
void events_end_calls(struct events *events, bool is_whole);
