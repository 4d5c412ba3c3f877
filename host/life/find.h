/* find.h - which plugin, or which plugin file, a name means that a person gave. */
#pragma once

#include "toolrack/toolrack.h"

struct life;
struct plugin;
struct plugin_file;

/** The plugin that is called so, or has a tool that is called so.
 * @return a reference; NULL with err set: NotFound. [any-thread] */
struct plugin *find_plugin(struct life *life, const char *name, struct toolrack_error *err);

/** The file of that plugin; or the file at that path, or that was refused under that name.
 * @return NULL with err set: TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID for a plugin that has no file
 *         to reload. [any-thread] */
struct plugin_file *find_file(struct life *life, const char *name, struct toolrack_error *err);
