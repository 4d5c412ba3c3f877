/* level.c - see level.h. */
#include "serve/mcp/level.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const names[] = {"debug", "info",     "notice", "warning",
                                    "error", "critical", "alert",  "emergency"};

int level_find(const char *name) {
    for (size_t i = 0; name != NULL && i < ARRAY_LENGTH(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return (int)i;
        }
    }
    return LEVEL_NONE;
}

const char *level_name(int level) {
    return names[level];
}
