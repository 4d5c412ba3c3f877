/* configured.h - the tools that the configuration defines become registrations.
 *
 * Each is a plugin of its own, of the tool's name and in the host's memory, so that settings,
 * permissions, pins and calls know no difference. They are registered before any folder is scanned:
 * of two tools with one name and version the one of the configuration comes first. They are read
 * when the host is opened; a change of the file takes effect when it is opened again. */
#pragma once

#include "toolrack/toolrack.h"

struct life;

/** Register the definitions. What is wrong with one of them is logged and refused.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int configured_open(struct life *life, struct toolrack_error *err);

/** As toolrack_add_service(). [any-thread] */
int configured_add_service(struct life *life, const struct toolrack_service *service,
                           struct toolrack_error *err);
