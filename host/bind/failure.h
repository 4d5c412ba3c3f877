/* failure.h - by which result a C function says that it failed. */
#pragma once

#include <yyjson.h>

#include "bind/model.h"

struct work;

/** Add "error" to an implementation: a code that is an int or of an enumeration, NULL, or -1 and
 * errno. [any-thread] */
void failure_conclude(struct work *work, yyjson_mut_val *implementation);

/** Whether a function of that name may explain an error code. */
bool failure_may_explain(const char *name);

/** Whether a function gives a text for a code: const char *(int), or of an enumeration. */
bool failure_gives_text(const struct model_function *function);

/** Whether it explains an error code: it does that, and has a name that says so. */
bool failure_explains(const struct model_function *function);
