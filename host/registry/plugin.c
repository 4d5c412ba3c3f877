#include "registry/plugin.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

struct plugin *plugin_create(const char *path, enum trust trust,
                             const struct file_identity *identity, struct descriptor *desc,
                             const struct image_host *host) {
    struct plugin *plugin = calloc(1, sizeof *plugin);
    if (plugin == NULL) {
        return NULL;
    }
    if (path != NULL && (plugin->path = strdup(path)) == NULL) {
        free(plugin);
        return NULL;
    }
    atomic_init(&plugin->refs, 1);
    plugin->trust = trust;
    if (identity != NULL) {
        plugin->identity = *identity;
    }
    plugin->desc = descriptor_ref(desc);
    plugin->host = *host;
    plugin->serial = (desc->plugin->flags & TR_THREAD_SAFE) == 0;
    (void)pthread_mutex_init(&plugin->lock, NULL);
    (void)pthread_mutex_init(&plugin->turn_lock, NULL);
    clock_cond_init(&plugin->turn_free);
    return plugin;
}

struct plugin *plugin_ref(struct plugin *plugin) {
    atomic_fetch_add_explicit(&plugin->refs, 1, memory_order_relaxed);
    return plugin;
}

void plugin_unref(struct plugin *plugin) {
    if (plugin == NULL || atomic_fetch_sub_explicit(&plugin->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    image_unload(atomic_load(&plugin->image));
    descriptor_unref(plugin->desc);
    (void)pthread_mutex_destroy(&plugin->lock);
    (void)pthread_mutex_destroy(&plugin->turn_lock);
    (void)pthread_cond_destroy(&plugin->turn_free);
    free(plugin->path);
    free(plugin);
}

int plugin_load(struct plugin *plugin, bool *ret_first, struct toolrack_error *err) {
    *ret_first = false;
    if (atomic_load(&plugin->image) != NULL) {
        return 0;
    }
    if (plugin->failed != 0) {
        return error_set(err, plugin->failed, "%s", plugin->reason);
    }
    *ret_first = true;
    struct image *image = NULL;
    struct toolrack_error failure;
    int code = image_load(plugin->path, &plugin->identity, plugin->desc, &plugin->host, &image,
                          &failure);
    if (code < 0) {
        /* To the caller of a tool it is the tool that cannot run. */
        plugin->failed = TOOLRACK_E_EXECUTION_FAILED;
        memcpy(plugin->reason, failure.message, sizeof plugin->reason);
        return error_set(err, plugin->failed, "%s", plugin->reason);
    }
    atomic_store(&plugin->image, image);
    return 0;
}

int plugin_adopt(struct plugin *plugin, const struct tr_plugin *source,
                 struct toolrack_error *err) {
    struct image *image = NULL;
    int code = image_adopt(source, plugin->desc, &plugin->host, &image, err);
    if (code == 0) {
        atomic_store(&plugin->image, image);
    }
    return code;
}

/* A flag rather than a mutex that is held: a call that is given up never unlocks anything. */
bool plugin_take_turn(struct plugin *plugin, uint64_t deadline_ns) {
    struct timespec until = clock_timespec(deadline_ns);
    (void)pthread_mutex_lock(&plugin->turn_lock);
    int failed = 0;
    while (plugin->busy && failed == 0) {
        failed = deadline_ns == 0
                         ? pthread_cond_wait(&plugin->turn_free, &plugin->turn_lock)
                         : pthread_cond_timedwait(&plugin->turn_free, &plugin->turn_lock, &until);
    }
    bool taken = !plugin->busy;
    plugin->busy = true;
    (void)pthread_mutex_unlock(&plugin->turn_lock);
    return taken;
}

void plugin_give_turn(struct plugin *plugin) {
    (void)pthread_mutex_lock(&plugin->turn_lock);
    plugin->busy = false;
    (void)pthread_cond_signal(&plugin->turn_free);
    (void)pthread_mutex_unlock(&plugin->turn_lock);
}

enum toolrack_tool_state plugin_state(struct plugin *plugin) {
    if (atomic_load(&plugin->stuck) != 0) {
        return TOOLRACK_STUCK;
    }
    if (atomic_load(&plugin->image) != NULL) {
        return TOOLRACK_LOADED;
    }
    (void)pthread_mutex_lock(&plugin->lock);
    int failed = plugin->failed;
    (void)pthread_mutex_unlock(&plugin->lock);
    return failed != 0 ? TOOLRACK_FAILED : TOOLRACK_LISTED;
}
