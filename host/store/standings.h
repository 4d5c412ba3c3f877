/* standings.h - what was approved of a plugin, and how much care its tools asked for, as it was
 * before another version took its place: whoever goes back to that version has that again, too.
 *
 * What was approved of the other version says nothing of the one before it: a tool that asked for
 * more care there would be held here. */
#pragma once

#include "store/store.h"

/* Most versions of a plugin of which this is kept; beyond, the oldest are forgotten. */
#define STORE_STANDINGS_MAX 5

/** Keep the pins and cautions of a plugin as they are now.
 * @param plugin   its identity (identities.h)
 * @param version  names them, such as by the folder of the version
 * @return see store.h. [any-thread] */
int store_standing_keep(struct store *store, const char *plugin, const char *version, int64_t now_s,
                        struct toolrack_error *err);

/** Exchange the pins and cautions of a plugin for those that were kept, which are then those of
 * now: doing it twice changes nothing.
 * @return see store.h; TOOLRACK_E_NOT_FOUND, without a message, when none were kept. [any-thread]
 */
int store_standing_exchange(struct store *store, const char *plugin, const char *version,
                            struct toolrack_error *err);

/** Forget those that were kept under a name, or all of a plugin (`version` NULL).
 * @return see store.h. [any-thread] */
int store_standing_forget(struct store *store, const char *plugin, const char *version,
                          struct toolrack_error *err);
