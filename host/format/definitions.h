/* definitions.h - definitions of tools in the format of each provider.
 *
 * Pure functions on strings. A tool that cannot be described is reported and left out; it does not
 * affect the definitions of others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/names.h"
#include "format/tool.h"
#include "toolrack/format.h"

/** Limits of an export. */
struct format_limits {
    uint32_t count; /**< 0: as many as the provider allows */
    size_t bytes;   /**< of definitions; 0: no limit */
};

/** Append the definitions of tools, in their order, as a JSON array, and to `report` the members of
 * a JSON array: an object for each thing that was changed or left out, separated by commas.
 * @param limits  NULL: those of the format
 * @param report  NULL: no report is wanted
 * @param names   NULL, or receives the members of a JSON object: for each definition its name, with
 *                an object of what is called otherwise: `name`, the tool's own, and `keys`, an
 *                object from the names of its properties to their own
 * @return 0; TOOLRACK_E_INVALID for an unknown format; TOOLRACK_E_NO_MEMORY. [any-thread] */
int format_definitions(enum toolrack_format format, const struct format_tool *tools, size_t count,
                       const struct format_limits *limits, struct buf *out, struct buf *report,
                       struct buf *names, struct toolrack_error *err);
