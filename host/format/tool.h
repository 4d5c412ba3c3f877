/* tool.h - a tool as the formats see it. */
#pragma once

#include <stdbool.h>

/* Longest name that every format takes. */
#define FORMAT_NAME_MAX 64u

/** A tool as the formats see it; all texts are borrowed. NULL where nothing is said. */
struct format_tool {
    const char *name; /**< any text: foreign tools have names of all kinds */
    const char *title;
    const char *description;
    const char *deprecated;    /**< what to use instead; NULL: it is not */
    const char *schema;        /**< JSON Schema of the arguments */
    const char *result_schema; /**< JSON Schema of the result */
    bool read_only;
    bool destructive;
    bool idempotent;
    bool open_world;
};
