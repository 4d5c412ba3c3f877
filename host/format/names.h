/* names.h - names of tools and of their properties that a provider accepts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "format/limits.h"
#include "format/tool.h"
#include "toolrack/format.h"

/** The name of a tool in a format: its own when the format accepts it, else a changed one that ends
 * in a hash of the whole name. It is the same in every process and version, and differs for every
 * other name.
 * @return whether it differs from `name`. [any-thread] */
bool format_wire_name(enum toolrack_format format, const char *name, char ret[FORMAT_NAME_MAX + 1]);

/** The name of a property in a definition: its own when the provider accepts it, else a changed
 * one, made as format_wire_name() makes names.
 * @return whether it differs. [any-thread] */
bool format_wire_key(enum provider_keys keys, const char *key, size_t length,
                     char ret[PROVIDER_KEY_MAX + 1]);

/** Whether a name of a tool or a property may be one that was changed for a format. [any-thread] */
bool format_looks_made(const char *name, size_t length);
