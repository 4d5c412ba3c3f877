/* principal.c - see principal.h. */
#include "serve/principal.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"

bool principal_has_shown(const struct principal *principal) {
    const char *id = principal->id != NULL ? principal->id : "";
    return principal->grant != NULL || strncmp(id, "token:", 6) == 0 ||
           strncmp(id, "oauth:", 6) == 0;
}

bool principal_comes_again(const struct principal *principal) {
    return principal->id != NULL && strncmp(principal->id, PIPE_PREFIX, strlen(PIPE_PREFIX)) != 0 &&
           strncmp(principal->id, SESSION_PREFIX, strlen(SESSION_PREFIX)) != 0;
}

bool principal_knows_places(const struct principal *principal) {
    return principal->admin || !principal_has_shown(principal);
}

void principal_add_message(struct buf *out, const struct principal *principal, const char *message,
                           size_t length) {
    if (principal_knows_places(principal)) {
        buf_add(out, message, length);
    } else {
        command_add_placeless(out, message, length);
    }
}

bool principal_keep(struct principal *principal, struct arena *arena) {
    size_t count = 0;
    while (principal->allow != NULL && principal->allow[count] != NULL) {
        count++;
    }
    const char **allow =
            principal->allow != NULL ? arena_alloc(arena, (count + 1) * sizeof *allow) : NULL;
    bool kept = principal->allow == NULL || allow != NULL;
    for (size_t i = 0; kept && i < count; i++) {
        allow[i] = arena_copy(arena, principal->allow[i], strlen(principal->allow[i]));
        kept = allow[i] != NULL;
    }
    if (allow != NULL) {
        allow[count] = NULL;
    }
    principal->allow = allow;
    bool has_party = principal->party != NULL;
    const char **texts[] = {&principal->id, &principal->party, &principal->profile};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        if (*texts[i] != NULL) {
            *texts[i] = arena_copy(arena, *texts[i], strlen(*texts[i]));
            kept = kept && *texts[i] != NULL;
        }
    }
    if (!has_party) {
        principal->party = principal->id != NULL ? principal->id : PARTY_UNKNOWN;
    }
    return kept;
}
