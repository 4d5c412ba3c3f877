/* conclude.h - from a C function to the definition of a tool. */
#pragma once

#include <yyjson.h>

#include "bind/decisions.h"
#include "bind/model.h"

struct concluding {
    const struct model *model;
    const struct decisions *decisions;
    yyjson_mut_doc *doc;
    const char *explain; /* the function of the library that explains a code; NULL: none */
};

/** Make the definition of a function.
 *
 * @param ret_reason     why there is none, in the model's arena; NULL with a definition
 * @param ret_undecided  how many things a person must decide
 * @return 0; TOOLRACK_E_INVALID for a decision that names no choice; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int conclude(const struct concluding *concluding, const struct model_function *function,
             yyjson_mut_val **ret, const char **ret_reason, size_t *ret_undecided,
             struct toolrack_error *err);

/** Whether a function of that name may explain an error code. */
bool conclude_may_explain(const char *name);

/** Whether a function gives a text for a code: const char *(int), or of an enumeration. */
bool conclude_gives_text(const struct model_function *function);

/** Whether it explains an error code: it does that, and has a name that says so. */
bool conclude_explains(const struct model_function *function);
