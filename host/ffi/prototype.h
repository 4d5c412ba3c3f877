/* prototype.h - the C function of a typed tool, as its author declares it. */
#pragma once

#include "base/buf.h"
#include "toolrack/plugin.h"

/** Append the prototype of a typed tool, such as "double add(double a, double b)". The descriptor
 * has neither the name of the function nor those of structs and enumerations: the tool's name is
 * used, the members of a struct, and an integer as wide as the enumeration. [any-thread] */
void prototype_add(struct buf *out, const struct tr_tool *tool);
