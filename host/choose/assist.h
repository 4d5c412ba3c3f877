/* assist.h - a model that is asked too, where the configuration names one.
 *
 * It is sent the text, and names, descriptions and schemas of the best candidates; nothing else. It
 * may say what the text is about and wants, which candidate is right, and its arguments, each only
 * if the configuration has that step. What it says is taken if it is among what was asked: scenes
 * and intents that there are, a candidate or none, arguments that fit the schema. Of all else, of a
 * failure and of an answer that is late, too long or nested too deep, the rules decide, and it is
 * said. */
#pragma once

#include "choose/selecting.h"

/** Ask the model that the configuration names, if it names one, after the tools were matched. What
 * it says of scene and intent holds from then on.
 * @return 0, also when it does not answer; TOOLRACK_E_NO_MEMORY. [any-thread] */
int assist_ask(struct selecting *selecting, struct toolrack_error *err);

/** Whether it said that this tool is the right one. */
bool assist_names(const struct selecting *selecting, const char *tool);

/** Let what it said of the candidates hold: the evaluation changes. */
void assist_evaluate(struct selecting *selecting);

/** The arguments that it said for the best candidate, if they fit its schema; else NULL. Borrowed
 * from what it said. */
yyjson_val *assist_arguments(struct selecting *selecting, yyjson_val *schema);
