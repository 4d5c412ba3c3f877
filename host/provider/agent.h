/* agent.h - the agent loop: ask the model, execute its calls, send it the results, until it calls
 * no tool. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provider/call-secrets.h"
#include "provider/outcome.h"
#include "provider/results.h"
#include "toolrack/agent.h"

struct kept;

/** What the loop needs from the host; everything is borrowed until agent_run() returns. The
 * functions are toolrack_export(), whether toolrack_answer() accepts a message, and that itself for
 * the tools that were exported; or what stands in for them where the model writes plans. */
struct agent_options {
    void *user; /**< for `definitions`, `answer` and `unfinished` */
    int (*definitions)(void *user, struct toolrack_text **ret, struct toolrack_error *err);
    int (*check)(enum toolrack_format format, const char *message, size_t length,
                 struct toolrack_error *err);
    int (*answer)(void *user, const char *message, size_t length, const struct agent_watch *watch,
                  struct toolrack_text **ret, struct toolrack_error *err);
    /** The results of a message whose calls were not finished: they say so, as a note does. "[]"
     * without calls. */
    int (*unfinished)(void *user, const char *message, size_t length, struct toolrack_text **ret,
                      struct toolrack_error *err);
    call_secrets_look *secrets; /**< NULL: no tool has any */

    const char *system;       /**< what the model gets: that of `app`, or more; NULL: none */
    const char *name;         /**< of the model in the configuration; NULL: it is not from there */
    const char *const *query; /**< what the transcript keeps of these two: those of the app */
    const char *const *parameters; /**< alone, without those of the model in the configuration */
    struct kept *kept; /**< the conversation that goes on, with what `app` leaves out filled in;
                        * NULL: a new one. What it holds is used up */
    /** The definitions of tools that the model is offered from now on beside the others; asked for
     * before each request. NULL text: none more. May be NULL. */
    int (*more)(void *user, struct toolrack_text **ret, struct toolrack_error *err);
    struct results *results; /**< gets the key; NULL: no result is kept */
    const char *state_dir; /**< NULL: no state folder; then no transcript unless a file is named */
    const struct toolrack_agent_options *app;
    const char *place;        /**< where the URL is set, for messages */
    const char *key_variable; /**< that has the key; NULL: one of the format's */
    bool asks_once;           /**< a provider that is busy or broken is not asked again */
    size_t response_max;      /**< most bytes of a response; 0: see net/http.h */
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
