/* loading.h - which plugins were being loaded in process when a process ended.
 *
 * A plugin that crashes the host while it is loaded would do so at every start. So the host keeps a
 * loading marker while it loads a plugin. When the next start finds a marker of a process that has
 * ended, it does not load that plugin until the marker is cleared. A store in memory has no
 * markers. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/** Write a marker: the plugin's file at `path` is being loaded in this process. If this fails, the
 * host may still load the plugin; the next start then does not learn of a crash.
 *
 * @param ret_marker  for store_loading_end()
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int store_loading_begin(struct store *store, const char *path, int64_t now_s, uint64_t *ret_marker,
                        struct toolrack_error *err);

/** Remove the marker: the plugin is loaded, or its load failed without a crash.
 * @return 0; TOOLRACK_E_IO: the next start may take the marker for a crash. [any-thread] */
int store_loading_end(struct store *store, uint64_t marker, struct toolrack_error *err);

/** A load that did not end. */
struct store_unclean {
    const char *path;
    int64_t since_s;
    int64_t pid; /**< of the process that has ended */
};

/** Visit the markers of processes that have ended; they stay until they are cleared.
 * @return see store.h. [any-thread] */
int store_loading_read(struct store *store,
                       void (*visit)(void *user, const struct store_unclean *unclean), void *user,
                       struct toolrack_error *err);

/** Remove the markers of ended processes: those of a path (NULL: all), and those that cannot be
 * read.
 * @return see store.h. [any-thread] */
int store_loading_clear(struct store *store, const char *path, struct toolrack_error *err);
