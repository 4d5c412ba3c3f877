/* agent-results.h - results that are too long for the model of a conversation: it is told the first
 * part, and offered a tool that reads the others. */
#pragma once

#include <stdbool.h>

#include "api/agent-tools.h"
#include "base/buf.h"
#include "format/turn.h"
#include "provider/results.h"

struct agent_results {
    const struct agent_tools *tools; /**< borrowed */
    struct results *store;           /**< owned */
    struct format_keeping keeping;   /**< for outcomes of calls */
    size_t part;                     /**< bytes that the model is given at once */
    const char *tool;                /**< the name of the tool; NULL: none, as long as not needed */
    bool is_settled;                 /**< `tool` is final */
    bool is_offered;
};

/** Begin; release with agent_results_finish(). The options of the app say how long a result may be.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int agent_results_init(struct agent_results *ret, const struct agent_tools *tools,
                       struct toolrack_error *err);
void agent_results_finish(struct agent_results *results);

/** The definition of the tool, once something can be read by it: see `more` of struct agent_options
 * (provider/agent.h). */
int agent_results_define(struct agent_results *results, struct toolrack_text **ret,
                         struct toolrack_error *err);

/** Whether a name is that of the tool; NULL has none. */
bool agent_results_has(const struct agent_results *results, const char *name);

/** Answer a call of the tool.
 * @param out  receives the result, JSON
 * @return 0; the code of a failure that the model is told; TOOLRACK_E_NO_MEMORY. */
int agent_results_call(const struct agent_results *results, const struct format_call *call,
                       struct buf *out, struct toolrack_error *err);
