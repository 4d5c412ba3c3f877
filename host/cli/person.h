/* person.h - the person at the terminal; several calls may ask questions.
 *
 * Questions are asked one after the other, and only while a verb makes calls. */
#pragma once

#include "cli/cli.h"

/** Calls begin. The person can be asked only at a terminal and without --json.
 * @return whether the person can be asked */
bool person_begin(const struct cli *cli);
/** The calls have ended: no more questions come. */
void person_finish(void);

/** A question of a tool ends a little before its call does. The call ends `call_ms` from now, or
 * from the answer to whether it may run; 0: its end is not known. */
void person_set_deadline(uint32_t call_ms);

/** End the question that is open and all later ones. [any-thread] */
void person_stop(void);

/** Keep questions from being asked until person_release(), for what else is shown on the terminal.
 * @param ret_asked  receives how many were asked so far
 * @return false: one is open, and nothing is to be released */
bool person_hold(uint64_t *ret_asked);
void person_release(void);

/** Ask a question with yes and no; text of others in it is escaped. @return whether the answer is a
 * clear yes. [any-thread] */
bool person_agrees(const char *question);

/** For `ask` of struct toolrack_call_options; `user` is the name of the tool that asks. */
int person_ask(void *user, const char *message, const char *schema, char **ret_content);
