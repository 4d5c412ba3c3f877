/* find.h - find a plugin file by a name that a person typed. */
#pragma once

#include "toolrack/toolrack.h"

struct life;
struct plugin_file;

/** The file of the plugin that life_find_plugin() finds, or the file at the path `name`, or the
 * known file of that name, or the file that was refused under that name.
 * @return NULL with err set: TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID for a plugin that has no file
 *         to reload. [any-thread] */
struct plugin_file *find_file(struct life *life, const char *name, struct toolrack_error *err);
