/* plugin.h - one plugin of the registry: a file, or a descriptor of the app.
 *
 * What a plugin says is known from the scan; the plugin itself is loaded at the
 * first call of one of its tools. Counted: the registrations of its tools hold
 * it, and a running call holds its registration, so the image is unloaded when
 * the last tool is gone and the last call has ended. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "plugin/load.h"
#include "toolrack/toolrack.h"

struct plugin {
    atomic_uint refs;
    char *path; /* NULL for a descriptor of the app */
    enum trust trust;
    struct file_identity identity;
    struct descriptor *desc;
    struct image_host host; /* its members are borrowed from the host */
    bool serial;            /* not thread safe: one call at a time */

    atomic_uint stuck;         /* calls given up and still running */
    pthread_mutex_t turn_lock; /* guards `busy`: a call of a serial plugin runs */
    pthread_cond_t turn_free;
    bool busy;

    pthread_mutex_t lock; /* guards what follows */
    _Atomic(struct image *) image;
    int failed; /* code of the failed load, or 0 */
    char reason[TOOLRACK_ERROR_MESSAGE_MAX];
};

/** A plugin not loaded yet. `path` and `identity` are NULL for a descriptor of the app.
 * @return a reference, or NULL when out of memory. [writer] */
struct plugin *plugin_create(const char *path, enum trust trust,
                             const struct file_identity *identity, struct descriptor *desc,
                             const struct image_host *host);
struct plugin *plugin_ref(struct plugin *plugin);
void plugin_unref(struct plugin *plugin);
CLEANUP_DEFINE(struct plugin, plugin_unref)

/** Load it unless that is done. A load that failed is not tried again: the file is the same.
 * @param ret_first  set to true when this call loaded it, or was the first to fail
 * @return 0 or the code of the failure, with its message. Caller holds plugin->lock. */
int plugin_load(struct plugin *plugin, bool *ret_first, struct toolrack_error *err);

/** For a descriptor of the app: call its open(). [writer] */
int plugin_adopt(struct plugin *plugin, const struct tr_plugin *source, struct toolrack_error *err);

/** Take the turn of a serial plugin for one call, waiting until `deadline_ns` of the monotonic
 * clock at most (0: for as long as it takes). Returns whether it was got. [call-thread] */
bool plugin_take_turn(struct plugin *plugin, uint64_t deadline_ns);
/** Give it back. [call-thread] */
void plugin_give_turn(struct plugin *plugin);

enum toolrack_tool_state plugin_state(struct plugin *plugin);
