/* beat.h - the watchdog of the service manager. */
#pragma once

#include "base/error.h"

struct beat;
struct manager;
struct server;

/** Tell a manager that waits for it that the server goes on, while it does. Both stay until
 * beat_stop().
 * @param ret  NULL where no manager waits
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY */
int beat_start(struct server *server, const struct manager *manager, struct beat **ret,
               struct toolrack_error *err);

/** NULL is ignored. Before the server is stopped. */
void beat_stop(struct beat *beat);
