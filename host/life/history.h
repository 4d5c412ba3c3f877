/* history.h - what happened to a plugin file and its plugin, in order, for `toolrack why`. */
#pragma once

#include <yyjson.h>

#include "base/error.h"

struct life;

/* Most decisions that are shown. */
#define HISTORY_DECISIONS_MAX 64u

/** Add "history", the oldest first: each with time, time_ms, event and text.
 * @param path       of the file; NULL: none
 * @param identity   whose crashes (store/identities.h); NULL: none
 * @param plugin_id  whose decisions; NULL: none
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int history_add(struct life *life, const char *path, const char *identity, const char *plugin_id,
                yyjson_mut_doc *doc, yyjson_mut_val *root, struct toolrack_error *err);
