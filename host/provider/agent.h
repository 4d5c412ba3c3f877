/* agent.h - the agent loop: ask the model, execute its calls, send it the results, until it calls
 * no tool. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "toolrack/agent.h"

/** How a call ended. Borrowed. */
struct agent_call_end {
    const char *text; /**< the result, or the failure, for a person */
    size_t length;
    int code;             /**< 0, or that of the failure */
    uint64_t duration_ns; /**< since it began; 0: it did not */
};

/** Who is told of the calls of one message while they run, by their places in it; on the thread of
 * the loop. */
struct agent_watch {
    void *user;
    void (*progress)(void *user, size_t call, double done, double total, const char *message);
    void (*ended)(void *user, size_t call, const struct agent_call_end *end);
};

/** What the loop needs from the host; everything is borrowed until agent_run() returns. The
 * functions are toolrack_export(), whether toolrack_answer() accepts a message, and that itself for
 * the tools that were exported; or what stands in for them where the model writes plans. */
struct agent_options {
    void *user; /**< for `definitions` and `answer` */
    int (*definitions)(void *user, struct toolrack_text **ret, struct toolrack_error *err);
    int (*check)(enum toolrack_format format, const char *message, size_t length,
                 struct toolrack_error *err);
    int (*answer)(void *user, const char *message, size_t length, const struct agent_watch *watch,
                  struct toolrack_text **ret, struct toolrack_error *err);
    const char *state_dir; /**< NULL: no state folder; then no transcript unless a file is named */
    const struct toolrack_agent_options *app;
    const char *place;        /**< where the URL is set, for messages */
    const char *key_variable; /**< that has the key; NULL: one of the format's */
    bool asks_once;           /**< a provider that is busy or broken is not asked again */
    size_t response_max;      /**< most bytes of a response; 0: see net/http.h */
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
    uint64_t first_byte_ns;         /**< of the first response; 0: none came */
    uint64_t total_ns;
    uint64_t tools_ns; /**< in which calls ran */
    struct agent_called *called;
    size_t called_count; /**< at most TOOLRACK_AGENT_CALLED_MAX */
    size_t called_room;
};

/** Run a conversation to its end, on the calling thread; it waits for the network and the calls.
 * @param ret  set even on failure; release with agent_outcome_finish()
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED after `steps_max` steps, and when the provider stays busy;
 *         TOOLRACK_E_PERMISSION_DENIED when the provider refuses the key; TOOLRACK_E_CANCELLED;
 *         TOOLRACK_E_TIMEOUT; TOOLRACK_E_IO; TOOLRACK_E_INVALID; TOOLRACK_E_EXECUTION_FAILED for
 *         another error from the provider; what toolrack_agent() returns for an answer that is none
 *         or not whole; TOOLRACK_E_NO_MEMORY. */
int agent_run(const struct agent_options *options, struct agent_outcome *ret,
              struct toolrack_error *err);
void agent_outcome_finish(struct agent_outcome *outcome);
