/* mcp-client.h - a client in memory, for the unit tests of the Model Context Protocol. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "serve/mcp/mcp.h"

/* Most messages that one exchange sends before its answer. */
#define SENT_MAX 1100u

/** One message on its way, and what came back for it. */
struct talk {
    struct exchange exchange;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *sent[SENT_MAX];
    size_t sent_count;
    char *event_ids[SENT_MAX];
    bool paused;
    bool finished;
    int finishes;
    int status;
    char *answer; /* NULL: none */
    char *session;
    char *missing_scope;
    char *type;
    char *fields;
    char *text; /* what was sent to the server, with room behind it */
};

/* Who sends what has neither a principal nor a session. */
extern const char *talk_who;

void talk_init(struct talk *talk);
void talk_finish(struct talk *talk);

/** Wait until the exchange is finished; the answer, or "" for none. */
const char *talk_wait(struct talk *talk);
/** Wait until `count` messages were sent before the answer; the last of them. */
const char *talk_wait_sent(struct talk *talk, size_t count);

/** Send a message through a pipe. */
void talk_pipe(struct talk *talk, struct mcp_pipe *pipe, const char *text);
/** Send a message by POST. */
void talk_post(struct talk *talk, struct mcp *mcp, const struct principal *principal,
               const struct mcp_headers *headers, const char *text);

/** Whether a text is as the pattern says: `*` stands for any characters. */
bool matches(const char *text, const char *pattern);
/** Fail the test unless it is, and show both. */
void assert_matches(const char *text, const char *pattern);
