/* allowance.h - what people gave to plugins and took from them, and what the words of "allow"
 * covered when they first applied: from the store into policies, and from people into the store. */
#pragma once

#include "life/options.h"
#include "life/policy.h"
#include "plugin/missing.h"

/** What a policy of a plugin in a folder is made of, without the rows of the store. */
struct policy_options allowance_options(const struct life_options *options,
                                        const struct scan_folder *folder, struct descriptor *desc);

/** Add the rows of the store about a plugin to the options of its policy; strings are in the arena.
 * The words of its policy that apply for the first time are stored with what they cover.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int allowance_read(const struct life_options *options, const char *identity, struct arena *arena,
                   struct policy_options *policy, struct toolrack_error *err);

/** What a policy withholds although a word names its kind, one a line; on the heap; NULL: nothing.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int allowance_new_text(const struct policy *policy, char **ret, struct toolrack_error *err);

/** What a plugin declares and has not; NULL: it has all.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int allowance_missing(const char *plugin_id, const struct policy *policy, struct missing **ret,
                      struct toolrack_error *err);
