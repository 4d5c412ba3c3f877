/* person.h - the one person at the terminal, whom several calls may want to ask.
 *
 * Questions are put one after the other. While a verb makes no calls, nobody is there. */
#pragma once

#include "cli/cli.h"

/** Calls begin. Somebody is there only at a terminal and without --json.
 * @return whether somebody is */
bool person_begin(const struct cli *cli);
/** No call of those begun asks any more. */
void person_finish(void);

/** Questions of tools end a little before the call does that asks: `call_ms` from now, or from the
 * answer to whether it may run; 0: that is not known. */
void person_set_deadline(uint32_t call_ms);

/** End the question that is open and all later ones. [any-thread] */
void person_stop(void);

/** For `ask` of struct toolrack_call_options; `user` is the name of the tool that asks. */
int person_ask(void *user, const char *message, const char *schema, char **ret_content);
