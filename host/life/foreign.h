/* foreign.h - tools that are functions of installed libraries (plugin/foreign.h), registered.
 *
 * To the rest of the host each is a plugin of one tool with the tool's name. It has no file and
 * always runs in workers. An administrator wrote it, so its trust is official; its policy must
 * allow whatever it may do. */
#pragma once

#include "plugin/foreign.h"
#include "registry/plugin.h"
#include "toolrack/toolrack.h"

struct life;

/** Make a plugin of such a function from the descriptor that foreign_describe() made.
 * @return 0 with a reference; TOOLRACK_E_REFUSED; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int foreign_make(struct life *life, const struct foreign *foreign, struct descriptor *desc,
                 struct plugin **ret, struct toolrack_error *err);
