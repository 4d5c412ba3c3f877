/* outcome.h - what comes of a conversation, and who is told of its calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "toolrack/format.h"

/** How a call ended. Borrowed. */
struct agent_call_end {
    const char *text; /**< the result, or the failure, for a person */
    size_t length;
    int code;             /**< 0, or that of the failure */
    uint64_t duration_ns; /**< since it began; 0: it did not */
    const char *changed;  /**< as of toolrack_result_changed(); NULL: nothing, or it failed, which
                           * says it itself */
};

/** Who is told of the calls of one message while they run, by their places in it; on the thread of
 * the loop. */
struct agent_watch {
    void *user;
    void (*progress)(void *user, size_t call, double done, double total, const char *message);
    void (*ended)(void *user, size_t call, const struct agent_call_end *end);
};

/* Room for a provider's word for why a message ended, with its final zero. */
#define AGENT_REASON_ROOM 65u

/** A call that was made. */
struct agent_called {
    unsigned step;
    char *tool;        /**< owned */
    const char *state; /**< static */
    uint64_t duration_ns;
    int code;
    char *changed; /**< owned; what was changed in its arguments, JSON; NULL: nothing */
};

struct agent_outcome {
    unsigned steps;   /**< how many requests were sent to the model */
    bool has_sent;    /**< any byte of a request was sent */
    uint32_t wait_ms; /**< the provider refused, and wants no request so long; 0: not said */
    size_t calls;     /**< how many tools it called */
    struct buf text;  /**< its last message */
    /** Why that message ended: TOOLRACK_ENDING_NONE for one that broke off or never came. */
    enum toolrack_ending ending;
    char reason[AGENT_REASON_ROOM]; /**< the provider's own word for it; "": none */
    char *transcript;               /**< path of the transcript; NULL: none */
    bool has_usage;                 /**< a provider's message says how many tokens it took */
    struct toolrack_usage usage;    /**< of all messages that say it */
    unsigned counted;               /**< of `steps`: whose input and output are told */
    uint64_t first_byte_ns;         /**< of the first response; 0: none came */
    uint64_t total_ns;
    uint64_t tools_ns; /**< in which calls ran */
    struct agent_called *called;
    size_t called_count; /**< at most TOOLRACK_AGENT_CALLED_MAX */
    size_t called_room;
};

void agent_outcome_finish(struct agent_outcome *outcome);
