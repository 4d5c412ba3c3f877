/* foreign.h - tools that are functions of installed libraries (plugin/foreign.h), registered.
 *
 * To the rest of the host each is a plugin of one tool, called as the tool, that has no file and
 * always runs in workers. An administrator wrote it, so it has the trust of the folder that is
 * official, and is granted nothing that its policy does not allow. */
#pragma once

#include "plugin/foreign.h"
#include "registry/plugin.h"
#include "toolrack/toolrack.h"

struct life;

/** A plugin of one, to be registered, as foreign_describe() has described it.
 * @return 0 with a reference; TOOLRACK_E_REFUSED; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int foreign_make(struct life *life, const struct foreign *foreign, struct descriptor *desc,
                 struct plugin **ret, struct toolrack_error *err);
