/* quarantine.h - plugins that crashed too often, over restarts. */
#pragma once

#include <stdint.h>

#include "base/lock.h"
#include "life/options.h"
#include "registry/plugin.h"
#include "worker/crew.h"

struct quarantine {
    char *plugin;
    char *reason;
    uint8_t sha256[32]; /* of the content that crashed; zero: unknown, whatever it is */
};

/* What the store keeps, in memory. */
struct quarantines {
    const struct life_options *options;
    struct lock lock; /* guards what follows */
    struct quarantine *items;
    size_t count;
};

void quarantines_init(struct quarantines *quarantines, const struct life_options *options);
void quarantines_finish(struct quarantines *quarantines);

/** Take over what the store has kept. @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int quarantines_read(struct quarantines *quarantines, struct toolrack_error *err);

/** Whether any content of a plugin is in quarantine. [any-thread] */
bool quarantines_has(struct quarantines *quarantines, const char *plugin);
/** Why a plugin is in quarantine, copied into `reason`. False: it is not. [any-thread] */
bool quarantines_find(struct quarantines *quarantines, const struct plugin *plugin,
                      char reason[ERROR_MESSAGE_MAX]);

/** Put a plugin into quarantine, and keep that. It is in quarantine also when that fails. */
int quarantines_add(struct quarantines *quarantines, const char *plugin_id,
                    const uint8_t sha256[32], const char *reason, unsigned crashes,
                    struct toolrack_error *err);

/** How long ago a plugin crashed, the oldest first, as far as the store knows: within its window,
 * since it was last released, with the content that it has now.
 * @return how many; at most CREW_CRASHES_KEPT. [any-thread] */
size_t quarantines_recent_crashes(struct quarantines *quarantines, const struct plugin *plugin,
                                  uint32_t window_ms, uint64_t ret_ago_ms[CREW_CRASHES_KEPT]);

/** It is in quarantine no more, which the store was told already. [any-thread] */
void quarantines_forget(struct quarantines *quarantines, const char *plugin);
