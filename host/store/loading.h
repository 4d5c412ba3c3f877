/* loading.h - which plugins were being loaded in process when a process ended.
 *
 * A plugin that crashes its host while it is loaded would do so at every start. So the host leaves
 * a marker while it loads one. A marker whose process is no more tells the next start to leave that
 * plugin out, until someone clears it. A store in memory has no markers. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/** Leave a marker: the plugin's file at `path` is being loaded in this process. A host that cannot
 * leave one may load the plugin all the same; a crash then goes unnoticed.
 *
 * @param ret_marker  for store_loading_end()
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int store_loading_begin(struct store *store, const char *path, int64_t now_s, uint64_t *ret_marker,
                        struct toolrack_error *err);

/** Remove the marker: the plugin is loaded, or has refused in an orderly way.
 * @return 0; TOOLRACK_E_IO: it may be taken for a crash at the next start. [any-thread] */
int store_loading_end(struct store *store, uint64_t marker, struct toolrack_error *err);

/** A load that did not end. */
struct store_unclean {
    const char *path;
    int64_t since_s;
    int64_t pid; /**< of the process that is no more */
};

/** Visit the markers of processes that are no more; they stay until they are cleared.
 * @return as all of the store. [any-thread] */
int store_loading_read(struct store *store,
                       void (*visit)(void *user, const struct store_unclean *unclean), void *user,
                       struct toolrack_error *err);

/** Remove such markers of a path, or with NULL all, and those that cannot be read.
 * @return as all of the store. [any-thread] */
int store_loading_clear(struct store *store, const char *path, struct toolrack_error *err);
