/* chat.h - 'toolrack agent' without a task: a conversation at the terminal. */
#pragma once

#include "cli/cli.h"
#include "cli/offer.h"
#include "toolrack/agent.h"

struct chat_exchange {
    struct toolrack_agent_options *options; /**< of the conversation, without a task */
    struct toolrack_call_options *call;     /**< of its calls; `offered` changes with /allow */
    struct offer *offer;
    /** Send the task of the options, and print the answer. @param ret_began  it is kept
     * @return an exit code */
    int (*run)(struct cli *cli, const struct toolrack_agent_options *options, bool *ret_began);
};

/** Read messages and commands until the person ends it. A failure is printed, and the chat goes on.
 * @return an exit code */
int chat(struct cli *cli, const struct chat_exchange *exchange);
