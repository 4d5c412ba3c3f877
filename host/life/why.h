/* why.h - why a plugin is as it is: its half of what `toolrack why` and `show` say. */
#pragma once

#include <yyjson.h>

#include "toolrack/toolrack.h"

struct life;
struct plugin;

/** Add how a plugin is isolated. [any-thread] */
void why_describe_isolation(struct plugin *plugin, yyjson_mut_doc *doc, yyjson_mut_val *root);

/** Add the content that serves, the generations before it, what is refused of its file, and its
 * crashes.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int why_describe(struct life *life, const struct plugin *plugin, yyjson_mut_doc *doc,
                 yyjson_mut_val *root, struct toolrack_error *err);
