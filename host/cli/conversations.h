/* conversations.h - the conversations of 'toolrack agent' that are kept. */
#pragma once

#include "cli/cli.h"
#include "toolrack/agent.h"

/** Print them. @return an exit code. */
int conversations_list(struct cli *cli);

/** Remove the one that --forget names. @return an exit code. */
int conversations_forget(struct cli *cli);

/** The one that --resume names, or --continue means.
 * @param ret_format  of its messages; left as it is where --transcript says in which file they are
 * @return 0; or the code of the failure, which is set. */
int conversations_find(struct cli *cli, char ret_id[TOOLRACK_CONVERSATION_ID_SIZE],
                       enum toolrack_format *ret_format);
