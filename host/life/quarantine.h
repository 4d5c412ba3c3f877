/* quarantine.h - plugins that crashed too often; kept over restarts.
 *
 * Quarantines are in the store. What a call needs to know is in the plugin's state and in its crew.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "life/options.h"
#include "registry/plugin.h"
#include "worker/crew.h"

struct quarantine {
    uint8_t sha256[32]; /* of the content that crashed; zero: unknown, applies to any content */
    char reason[ERROR_MESSAGE_MAX];
};

/** Read the quarantine that applies to the content of a plugin, whose file was copied; if there is
 * none, one of another content of it. False: the plugin is not in quarantine, or the store cannot
 * be read. [any-thread] */
bool quarantine_read(const struct life_options *options, const struct plugin *plugin,
                     struct quarantine *ret);
/** Whether a quarantine applies to the content of a plugin, whose file was copied. [any-thread] */
bool quarantine_is_of(const struct quarantine *quarantine, const struct plugin *plugin);

/** Store that a plugin, by its identity, is in quarantine. @return 0; TOOLRACK_E_IO;
 * TOOLRACK_E_NO_MEMORY. [any-thread] */
int quarantine_add(const struct life_options *options, const char *identity,
                   const uint8_t sha256[32], const char *reason, unsigned crashes,
                   struct toolrack_error *err);

/** How long ago a plugin crashed, oldest first, according to the store: within its window, since it
 * was last released, with its present content.
 * @return the number of crashes; at most CREW_CRASHES_KEPT. [any-thread] */
size_t quarantine_recent_crashes(const struct life_options *options, const struct plugin *plugin,
                                 uint32_t window_ms, uint64_t ret_ago_ms[CREW_CRASHES_KEPT]);
