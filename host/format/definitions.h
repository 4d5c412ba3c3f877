/* definitions.h - tools described as each provider wants them.
 *
 * Pure: strings in, strings out. A tool that cannot be described is reported and left
 * out; it cannot spoil the definition of another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/tool.h"
#include "toolrack/format.h"

/** What may be exported. */
struct format_limits {
    uint32_t count; /**< 0: what the format's owner allows */
    size_t bytes;   /**< of definitions; 0: no limit */
};

/** The name of a tool as a format takes it: its own where that will do, else a shorter or cleaner
 * one that ends in a hash of the whole name: the same in every process and version, and another for
 * every other name.
 * @return whether it differs from `name`. [any-thread] */
bool format_wire_name(enum toolrack_format format, const char *name, char ret[FORMAT_NAME_MAX + 1]);

/** Append the definitions of tools, in their order, as a JSON array, and to `report` the members of
 * a JSON array: an object for each thing that was changed or left out, separated by commas.
 * @param limits  NULL: the format's own
 * @param report  NULL: no report is wanted
 * @return 0; TOOLRACK_E_INVALID for an unknown format; TOOLRACK_E_NO_MEMORY. [any-thread] */
int format_definitions(enum toolrack_format format, const struct format_tool *tools, size_t count,
                       const struct format_limits *limits, struct buf *out, struct buf *report,
                       struct toolrack_error *err);
