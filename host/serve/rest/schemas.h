/* schemas.h - JSON Schemas of what routes answer. */
#pragma once

#include <stddef.h>

extern const struct schema_text {
    const char *name;
    const char *json;
} schemas[];
extern const size_t schema_count;
