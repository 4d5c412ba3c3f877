#include "plugin/origin.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

const char *origin_of_folder(struct arena *arena, enum trust trust, const char *folder) {
    CLEANUP(freep) char *real = realpath(folder, NULL);
    return arena_printf(arena, "%s:%s", trust_name(trust), real != NULL ? real : folder);
}

char *identity_text(const char *id, const char *origin) {
    char *text = NULL;
    return asprintf(&text, "%s %s", id, origin) >= 0 ? text : NULL;
}
