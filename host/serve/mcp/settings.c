/* settings.c - see settings.h. */
#include "serve/mcp/settings.h"

#include <stdlib.h>

int settings_read(struct toolrack *host, struct settings *ret, struct toolrack_error *err) {
    (void)host;
    (void)err;
    *ret = (struct settings){.scopes = {"mcp:safe", "mcp:confirm", "mcp:dangerous"},
                             .sessions_max = 1000,
                             .session_idle_s = 3600};
    return 0;
}

void settings_finish(struct settings *settings) {
    free(settings->instructions);
}
