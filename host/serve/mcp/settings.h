/* settings.h - what the configuration says of serving. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "toolrack/toolrack.h"

struct settings {
    char *instructions;    /* for the model, or NULL; owned */
    const char *scopes[3]; /* of OAuth, by enum toolrack_permission; borrowed */
    uint32_t sessions_max;
    uint32_t session_idle_s;
};

/** @param err  of base/
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_NO_MEMORY. */
int settings_read(struct toolrack *host, struct settings *ret, struct toolrack_error *err);
void settings_finish(struct settings *settings);
