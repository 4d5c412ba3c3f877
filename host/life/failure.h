/* failure.h - contents that could not be loaded; known after a restart too.
 *
 * A failure is stored with the hash of the content and of what else a load depends on: the settings
 * of the plugin, what is allowed to it, its limits, where it runs, and the version of toolrack.
 * When one of these is another, the failure says nothing. A library whose function is a tool may be
 * another one at the next call, which tries it, as does that of every isolated plugin. Failures of
 * the system (no memory, no process) are not stored. */
#pragma once

#include "life/generation.h"
#include "store/failures.h"

/** Store that the content of a plugin could not be loaded, before anybody learns of it. A failure
 * of the store is logged. [any-thread] */
void failure_note(struct generation *generation, const char *reason);

/** It was loaded after all: remove the failure of this content, and tell the other hosts.
 * [any-thread] */
void failure_end(struct generation *generation);

/** Whether a stored failure is that of this plugin, whose file was copied. [any-thread] */
bool failure_is_of(const struct store_failure *failure, const struct plugin *plugin);

/** Set the state of a plugin that was not called yet to a stored failure of its content. In this
 * process it is not loaded again until it is released; a worker is tried at the next call.
 * [any-thread] */
void failure_recall(struct generation *generation, struct plugin *plugin,
                    const struct store_failure *failure);
