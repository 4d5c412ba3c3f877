#include "registry/plugin.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "plugin/capability.h"

/* One a line; in the arena, NULL when out of memory. */
static const char *capabilities_text(struct arena *arena, const struct tr_plugin *plugin) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (plugin->capability_count == 0) {
        return "";
    }
    for (uint32_t i = 0; i < plugin->capability_count; i++) {
        const struct tr_capability *capability = &plugin->capabilities[i];
        buf_printf(&text, "%s%s:%s", i > 0 ? "\n" : "", capability_kind_name(capability->kind),
                   capability->value);
    }
    return text.failed ? NULL : arena_copy(arena, text.data, text.length);
}

/* At a start there is one for each file, and most are never called. */
static_assert(sizeof(struct plugin) <= 768, "what only calls need is made at the first one");

/* For the ends of the strings, and for where they begin. */
#define STRINGS_MORE 64u

struct plugin *plugin_create(const char *path, enum trust trust, const char *origin,
                             const struct file_identity *identity, struct descriptor *desc,
                             const struct image_host *host) {
    const char *id = desc->plugin->id;
    size_t path_size = path != NULL ? strlen(path) + 1 : 0;
    size_t room = path_size + strlen(id) + strlen(origin) + STRINGS_MORE;
    struct plugin *plugin = calloc(1, sizeof *plugin + room);
    if (plugin == NULL) {
        return NULL;
    }
    arena_init(&plugin->arena, plugin->strings, room);
    plugin->path = path != NULL ? arena_copy(&plugin->arena, path, path_size - 1) : NULL;
    plugin->identity_text = identity_text_in(&plugin->arena, id, origin);
    plugin->capabilities = capabilities_text(&plugin->arena, desc->plugin);
    if ((path != NULL && plugin->path == NULL) || plugin->identity_text == NULL ||
        plugin->capabilities == NULL) {
        arena_finish(&plugin->arena);
        free(plugin);
        return NULL;
    }
    plugin->origin = plugin->identity_text + strlen(id) + 1;
    atomic_init(&plugin->refs, 1);
    plugin->trust = trust;
    if (identity != NULL) {
        plugin->identity = *identity;
    }
    plugin->desc = descriptor_ref(desc);
    plugin->host = *host;
    plugin->host.file = plugin->path;
    plugin->serial = (desc->plugin->flags & TR_THREAD_SAFE) == 0;
    plugin->calls_max = plugin->serial ? 1 : UINT32_MAX;
    plugin->generation = 1;
    atomic_init(&plugin->state, TOOLRACK_STATE_LISTED);
    (void)pthread_mutex_init(&plugin->reason_lock, NULL);
    (void)pthread_mutex_init(&plugin->lock, NULL);
    (void)pthread_mutex_init(&plugin->turn_lock, NULL);
    clock_cond_init(&plugin->turn_changed);
    return plugin;
}

bool plugin_have_parties(struct plugin *plugin) {
    if (atomic_load(&plugin->pool_of) != NULL) {
        return true;
    }
    struct plugin_party *made = calloc(PLUGIN_PARTIES, sizeof *made);
    struct plugin_party *none = NULL;
    if (made != NULL && !atomic_compare_exchange_strong(&plugin->pool_of, &none, made)) {
        free(made); /* another thread was first */
    }
    return made != NULL;
}

struct plugin *plugin_ref(struct plugin *plugin) {
    atomic_fetch_add_explicit(&plugin->refs, 1, memory_order_relaxed);
    return plugin;
}

bool plugin_ref_unless_gone(struct plugin *plugin) {
    unsigned refs = atomic_load(&plugin->refs);
    while (refs != 0 && !atomic_compare_exchange_weak(&plugin->refs, &refs, refs + 1)) {
    }
    return refs != 0;
}

/* In place of a reason for which there is no memory. */
static char unsaid[] = "out of memory";

static void forget_reason(struct plugin *plugin) {
    if (plugin->reason != unsaid) {
        free(plugin->reason);
    }
    plugin->reason = NULL;
}

void plugin_unref(struct plugin *plugin) {
    if (plugin == NULL || atomic_fetch_sub_explicit(&plugin->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    struct image *image = atomic_load(&plugin->image);
    const struct plugin_services *services = atomic_load(&plugin->services);
    if (services != NULL) {
        services->release(plugin->services_user, plugin, image);
    } else if (image != NULL) { /* most plugins were never loaded */
        (void)image_unload(image);
    }
    if (plugin->service.release != NULL) {
        plugin->service.release(plugin->service.user);
    }
    descriptor_unref(plugin->desc);
    (void)pthread_mutex_destroy(&plugin->reason_lock);
    (void)pthread_mutex_destroy(&plugin->lock);
    (void)pthread_mutex_destroy(&plugin->turn_lock);
    (void)pthread_cond_destroy(&plugin->turn_changed);
    forget_reason(plugin);
    free(plugin->image_path);
    free(atomic_load(&plugin->pool_of));
    missing_free(plugin->missing);
    free(plugin->new_capabilities);
    arena_finish(&plugin->arena);
    free(plugin);
}

static int bring_up(struct plugin *plugin, struct toolrack_error *err) {
    const struct plugin_services *services = atomic_load(&plugin->services);
    void *user = plugin->services_user;
    if (services == NULL) {
        return plugin_adopt(plugin, plugin->desc->plugin, err);
    }
    assert(!plugin_may_be_stale(plugin));
    services->used(user, plugin);
    if (plugin->isolated) {
        return services->isolate(user, plugin, err);
    }
    struct image *image = NULL;
    services->loading(user, plugin, true);
    int code = image_load(plugin->image_path, &plugin->image_identity, plugin->desc, &plugin->host,
                          &image, err);
    services->loading(user, plugin, false);
    if (code == 0) {
        services->loaded(user, plugin, NULL);
    } else if (code != TOOLRACK_E_NO_MEMORY && code != TOOLRACK_E_IO) {
        services->loaded(user, plugin, err->message);
    }
    if (code == 0) {
        atomic_store(&plugin->image, image);
        plugin_set_state(plugin, TOOLRACK_STATE_LOADED, "");
    }
    return code;
}

/* Its load is not repeated before somebody reloads or releases it. */
static int fail_for_good(struct toolrack_error *err, int code, const char *reason) {
    (void)error_set(err, code, "%s", reason);
    err->lasting = true;
    return code;
}

/* Returns the code of an earlier failure with its reason; 0: there was none. */
static int failed_before(struct plugin *plugin, struct toolrack_error *err) {
    int failed = atomic_load(&plugin->failed);
    if (failed != 0) {
        char reason[ERROR_MESSAGE_MAX];
        plugin_reason(plugin, reason, sizeof reason);
        return fail_for_good(err, failed, reason);
    }
    return 0;
}

/* What its failure is for the caller of a tool: the tool cannot run. Caller holds the lock. */
static int note_failure(struct plugin *plugin, const struct toolrack_error *failure,
                        bool *ret_first, struct toolrack_error *err) {
    if (failure->code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err); /* not the plugin's fault: the next call tries again */
    }
    *ret_first = true;
    if (failure->code == TOOLRACK_E_IO) {
        (void)error_set(err, TOOLRACK_E_EXECUTION_FAILED, "%s", failure->message);
        err->lasting = failure->lasting;
        return TOOLRACK_E_EXECUTION_FAILED;
    }
    plugin_set_state(plugin, TOOLRACK_STATE_FAILED, failure->message);
    atomic_store(&plugin->failed, TOOLRACK_E_EXECUTION_FAILED);
    return fail_for_good(err, TOOLRACK_E_EXECUTION_FAILED, failure->message);
}

int plugin_stage(struct plugin *plugin, const struct plugin_wait *wait, bool *ret_renewed,
                 bool *ret_first, struct toolrack_error *err) {
    struct toolrack_error failure;
    *ret_first = false;
    if (!plugin_may_be_stale(plugin)) {
        return 0;
    }
    /* The file may have been exchanged since it failed. */
    int code = ret_renewed == NULL ? failed_before(plugin, err) : 0;
    if (code < 0) {
        return code;
    }
    code = atomic_load(&plugin->services)
                   ->stage(plugin->services_user, plugin, wait, ret_renewed, &failure);
    if (code == TOOLRACK_E_CANCELLED) {
        return error_set(err, code, "%s", failure.message);
    }
    if (code == 0 || code == TOOLRACK_E_TIMEOUT) {
        return code;
    }
    (void)pthread_mutex_lock(&plugin->lock);
    code = failed_before(plugin, err);
    if (code == 0) {
        code = note_failure(plugin, &failure, ret_first, err);
    }
    (void)pthread_mutex_unlock(&plugin->lock);
    return code;
}

int plugin_load(struct plugin *plugin, bool *ret_first, struct toolrack_error *err) {
    *ret_first = false;
    if (plugin_is_up(plugin)) {
        return 0;
    }
    int code = failed_before(plugin, err);
    if (code < 0) {
        return code;
    }
    struct toolrack_error failure;
    code = bring_up(plugin, &failure);
    if (code < 0) {
        failure.code = code;
        return note_failure(plugin, &failure, ret_first, err);
    }
    *ret_first = !plugin->isolated;
    return 0;
}

int plugin_adopt(struct plugin *plugin, const struct tr_plugin *source,
                 struct toolrack_error *err) {
    struct image *image = NULL;
    int code = image_adopt(source, plugin->desc, &plugin->host, &image, err);
    if (code == 0) {
        atomic_store(&plugin->image, image);
        plugin_set_state(plugin, TOOLRACK_STATE_LOADED, "");
    }
    return code;
}

static bool is_own_turn(const struct plugin *plugin) {
    return plugin->turn != NULL && pthread_equal(plugin->turn_thread, pthread_self()) != 0;
}

/* Whether to wait for a turn that another call has. One that was given up may never return: who has
 * no deadline does not wait for it. Caller holds turn_lock. */
static bool is_worth_waiting(const struct plugin *plugin, uint64_t deadline_ns,
                             const atomic_bool *cancelled) {
    return plugin->turn != NULL && !(plugin->turn_lost && deadline_ns == 0) &&
           !is_own_turn(plugin) && !atomic_load(cancelled);
}

/* The turn is a member, not a held mutex: a call that is given up never unlocks anything. */
enum plugin_turn plugin_take_turn(struct plugin *plugin, const void *call, uint64_t deadline_ns,
                                  const atomic_bool *cancelled) {
    struct timespec until = clock_timespec(deadline_ns);
    (void)pthread_mutex_lock(&plugin->turn_lock);
    int late = 0;
    while (late == 0 && is_worth_waiting(plugin, deadline_ns, cancelled)) {
        late = deadline_ns == 0
                       ? pthread_cond_wait(&plugin->turn_changed, &plugin->turn_lock)
                       : pthread_cond_timedwait(&plugin->turn_changed, &plugin->turn_lock, &until);
    }
    enum plugin_turn turn = atomic_load(cancelled) ? PLUGIN_TURN_CANCELLED
                            : plugin->turn == NULL ? PLUGIN_TURN_TAKEN
                            : is_own_turn(plugin)  ? PLUGIN_TURN_OWN
                            : plugin->turn_lost    ? PLUGIN_TURN_STUCK
                                                   : PLUGIN_TURN_LATE;
    if (turn == PLUGIN_TURN_TAKEN) {
        plugin->turn = call;
        plugin->turn_thread = pthread_self();
    } else if (plugin->turn == NULL) {
        (void)pthread_cond_signal(&plugin->turn_changed); /* it may have been for another thread */
    }
    (void)pthread_mutex_unlock(&plugin->turn_lock);
    return turn;
}

void plugin_give_turn(struct plugin *plugin) {
    (void)pthread_mutex_lock(&plugin->turn_lock);
    plugin->turn = NULL;
    plugin->turn_lost = false;
    (void)pthread_cond_signal(&plugin->turn_changed);
    (void)pthread_mutex_unlock(&plugin->turn_lock);
}

bool plugin_await_load(struct plugin *plugin, uint64_t deadline_ns, const atomic_bool *cancelled) {
    struct timespec until = clock_timespec(deadline_ns);
    (void)pthread_mutex_lock(&plugin->turn_lock);
    bool is_late = deadline_ns == 0;
    while (!is_late && atomic_load(&plugin->stuck) != 0 && !plugin_is_up(plugin) &&
           !atomic_load(cancelled)) {
        is_late = pthread_cond_timedwait(&plugin->turn_changed, &plugin->turn_lock, &until) != 0;
    }
    (void)pthread_mutex_unlock(&plugin->turn_lock);
    return atomic_load(&plugin->stuck) == 0 || plugin_is_up(plugin);
}

void plugin_wake(struct plugin *plugin, const void *call, bool lost) {
    if (plugin_may_be_stale(plugin)) {
        atomic_load(&plugin->services)->wake(plugin->services_user);
    }
    (void)pthread_mutex_lock(&plugin->turn_lock);
    plugin->turn_lost = plugin->turn_lost || (lost && plugin->turn == call);
    (void)pthread_cond_broadcast(&plugin->turn_changed);
    (void)pthread_mutex_unlock(&plugin->turn_lock);
}

/* ------------------------------------------------------------------- state */

enum toolrack_tool_state plugin_state(struct plugin *plugin) {
    return atomic_load(&plugin->stuck) != 0 ? TOOLRACK_STATE_STUCK
                                            : (enum toolrack_tool_state)atomic_load(&plugin->state);
}

void plugin_set_state(struct plugin *plugin, enum toolrack_tool_state state, const char *reason) {
    (void)pthread_mutex_lock(&plugin->reason_lock);
    forget_reason(plugin);
    if (reason[0] != '\0') {
        char *copy = strndup(reason, ERROR_MESSAGE_MAX - 1);
        plugin->reason = copy != NULL ? copy : unsaid;
    }
    atomic_store(&plugin->state, (int)state);
    (void)pthread_mutex_unlock(&plugin->reason_lock);
}

void plugin_reason(struct plugin *plugin, char *reason, size_t room) {
    unsigned stuck = atomic_load(&plugin->stuck);
    if (stuck != 0) {
        (void)snprintf(reason, room, "%u call%s given up and still running", stuck,
                       text_plural(stuck));
        return;
    }
    (void)pthread_mutex_lock(&plugin->reason_lock);
    if (room > 0) {
        utf8_copy(reason, room, plugin->reason != NULL ? plugin->reason : "");
    }
    (void)pthread_mutex_unlock(&plugin->reason_lock);
}

void plugin_leave_out(struct plugin *plugin, const char *reason) {
    plugin_set_state(plugin, TOOLRACK_STATE_LEFT_OUT, reason);
    atomic_store(&plugin->failed, TOOLRACK_E_EXECUTION_FAILED);
}

bool plugin_admit(struct plugin *plugin) {
    if (atomic_load(&plugin->state) != (int)TOOLRACK_STATE_LEFT_OUT) {
        return false;
    }
    plugin_set_state(plugin, TOOLRACK_STATE_LISTED, "");
    atomic_store(&plugin->failed, 0);
    return true;
}

bool plugin_forgive(struct plugin *plugin) {
    if (atomic_load(&plugin->state) != (int)TOOLRACK_STATE_FAILED) {
        return false;
    }
    plugin_set_state(plugin, TOOLRACK_STATE_LISTED, "");
    atomic_store(&plugin->failed, 0);
    return true;
}
