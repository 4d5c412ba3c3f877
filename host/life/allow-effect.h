/* allow-effect.h - what was allowed to plugins, or taken from them, takes effect: their generations
 * are renewed. */
#pragma once

#include "life/life.h"

struct plugin;

/** A decision about a plugin is stored: renew its generation, and those of other files that kept
 * versions of it.
 * @return 0; TOOLRACK_E_REFUSED: it is stored, and its workers could not be replaced.
 * [any-thread] */
int allow_take_effect(struct life *life, struct plugin *plugin, struct toolrack_error *err);
