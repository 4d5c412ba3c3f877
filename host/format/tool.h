/* tool.h - a tool, for the formats. */
#pragma once

#include <stdbool.h>

/* Longest name that every format accepts. */
#define FORMAT_NAME_MAX 64u

/** A tool, for the formats; all strings are borrowed. NULL: not given. */
struct format_tool {
    const char *name; /**< any string: tools of others have names of all kinds */
    const char *title;
    const char *description;
    const char *deprecated;    /**< what to use instead; NULL: not deprecated */
    const char *schema;        /**< JSON Schema of the arguments */
    const char *result_schema; /**< JSON Schema of the result */
    const char *icons;         /**< a JSON array, as MCP has it; on one line */
    bool read_only;
    bool destructive;
    bool idempotent;
    bool open_world;
    bool is_told_all; /**< none of these four is meant, too, where none is there: tools of MCP
                         servers say all of them, those of plugins perhaps nothing */
    bool dangerous;   /**< an administrator must have granted it */
};
