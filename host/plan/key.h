/* key.h - the key of the hashes of arguments, inputs and plans.
 *
 * They are kept and shown where secrets are not. A hash without a key would tell a secret that is
 * easily guessed to who hashes all guesses. */
#pragma once

#include "store/selections.h"

#define PLAN_KEY_SIZE STORE_SELECTION_KEY_SIZE

/** The key of the store, so that the hashes stay the same; of a store that has and gets none, a
 * random one of this process: what was agreed to by it is asked about again in another process.
 * [any-thread] */
void plan_key(struct store *store, unsigned char ret[PLAN_KEY_SIZE]);
