/* release.h - letting a plugin run again: one in quarantine, or one that was left out. */
#pragma once

#include "toolrack/toolrack.h"

struct life;
struct plugin;

/** Release all generations of a plugin from quarantine, or one that was left out.
 * @return 0; TOOLRACK_E_NOT_FOUND: it is neither; the store's. [any-thread] */
int release_plugin(struct life *life, struct plugin *plugin, struct toolrack_error *err);
