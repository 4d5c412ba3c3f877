/* profile.h - what steps 4 and 5 need of a tool, read once: its schema, its words with what they
 * say it is about and does, and its parameters.
 *
 * A profile never changes, and any number of threads may use it. It borrows nothing of the tool, so
 * that it may outlive it. */
#pragma once

#include "choose/fit.h"
#include "choose/parameter.h"

struct profile;

/** Read the texts of a tool, its schema among them; borrowed during the call. A schema that is no
 * JSON counts as none.
 * @param scenes  NULL: only those of the host; borrowed until the last reference is released
 * @param ret     a reference
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int profile_create(const struct index_document *texts, const struct scenes *scenes,
                   struct profile **ret, struct toolrack_error *err);
struct profile *profile_ref(struct profile *profile);
/** NULL is ignored. [any-thread] */
void profile_unref(struct profile *profile);

/** Its JSON Schema; NULL: it has none. */
yyjson_val *profile_schema(const struct profile *profile);
const struct fit_tool *profile_fit(const struct profile *profile);
const struct parameters *profile_parameters(const struct profile *profile);
/** The bytes that it takes. */
size_t profile_size(const struct profile *profile);
