/* agent.h - the loop: ask the model, do what it calls, tell it, until it calls nothing. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "toolrack/toolrack.h"

/* How often a model is asked, where nothing is said, and at most. */
#define AGENT_STEPS_DEFAULT 20u
#define AGENT_STEPS_MAX     1000u

/** All is borrowed until agent_run() returns. */
struct agent_options {
    struct toolrack *host;
    enum toolrack_format format;
    const char *endpoint;
    const char *model;
    const char *system; /**< or NULL */
    const char *task;
    unsigned steps_max;
    const char *transcript; /**< its file; NULL: in the state folder */
    const char *state_dir;  /**< as in struct toolrack_options */
    int stop;               /**< a descriptor: once it is readable, the loop ends with Cancelled */
    /** For the calls that it makes. `conversation` is set. */
    const struct toolrack_call_options *call;
    /** A piece of what the model says; then with `text` NULL that a message of it has ended. */
    void (*text)(void *user, const char *text, size_t length);
    bool verbose; /**< also a note of each request */
    /** One line about what happens. */
    void (*note)(void *user, const char *line);
    void *user;
};

struct agent_outcome {
    unsigned steps;   /**< how often the model was asked */
    size_t calls;     /**< how many tools it called */
    struct buf text;  /**< its last message */
    char *transcript; /**< where that is; NULL where none is kept */
};

/** Run a conversation to its end. On the calling thread, which waits for the network and the calls.
 * @param ret  set even on failure; release with agent_outcome_finish()
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED after `steps_max` steps, and for a provider that stays busy;
 *         TOOLRACK_E_PERMISSION_DENIED for a key that is refused; TOOLRACK_E_CANCELLED;
 *         TOOLRACK_E_TIMEOUT; TOOLRACK_E_IO; TOOLRACK_E_INVALID; TOOLRACK_E_EXECUTION_FAILED for
 *         what the provider says went wrong; TOOLRACK_E_NO_MEMORY. */
int agent_run(const struct agent_options *options, struct agent_outcome *ret,
              struct toolrack_error *err);
void agent_outcome_finish(struct agent_outcome *outcome);
