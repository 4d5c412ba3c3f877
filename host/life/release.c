/* Let a plugin run again that is in quarantine or was left out. */
#include "life/life.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "life/parts.h"
#include "permit/permit.h"
#include "store/decisions.h"
#include "store/failures.h"
#include "store/loading.h"
#include "store/quarantine.h"
#include "worker/crew.h"

static void tell(const struct life *life, const struct plugin *plugin) {
    life->options.event(life->options.host, TOOLRACK_EVENT_RELEASED, plugin->desc->plugin->id,
                        NULL);
}

static void note(const struct life *life, const struct plugin *plugin, const char *who,
                 const char *why) {
    permit_note(life->options.permit,
                &(struct store_decision){.version = plugin->desc->plugin->version,
                                         .plugin = plugin->desc->plugin->id,
                                         .origin = plugin->origin,
                                         .decision = "released",
                                         .who = who,
                                         .why = why});
}

/* A failure that was not stored is in memory only. */
static int release_failed(const struct life *life, struct plugin *plugin, const char *who,
                          struct toolrack_error *err) {
    struct toolrack_error why;
    struct crew *crew = atomic_load(&plugin->crew);
    const struct generation *generation = generation_of(plugin);
    const char *key = generation != NULL ? generation->file->key : NULL;
    int code = key != NULL ? store_failure_remove(life->options.store, key, NULL, &why) : 0;
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        return error_set(err, code, "%s", why.message);
    }
    if (crew != NULL) {
        crew_release(crew);
    }
    if (plugin_forgive(plugin)) {
        tell(life, plugin);
    }
    note(life, plugin, who, "to be loaded again");
    return 0;
}

int life_release(struct life *life, const char *name, const char *who, struct toolrack_error *err) {
    const struct life_options *options = &life->options;
    CLEANUP(plugin_unrefp) struct plugin *plugin = life_find_described(life, name);
    if (plugin == NULL) {
        return life_not_found(life, name, err);
    }
    const char *id = plugin->desc->plugin->id;
    int code;
    if (plugin_state(plugin) == TOOLRACK_STATE_LEFT_OUT) {
        code = store_loading_clear(options->store, generation_of(plugin)->file->key, err);
        if (code == 0 && plugin_admit(plugin)) {
            tell(life, plugin);
        }
        if (code == 0) {
            note(life, plugin, who, "after an unclean end while it was loaded");
        }
        return code;
    }
    struct toolrack_error why;
    if (plugin_state(plugin) == TOOLRACK_STATE_FAILED) {
        return release_failed(life, plugin, who, err);
    }
    /* A kept version is released alone; a plugin with all its contents. */
    bool alone = atomic_load(&plugin->kept);
    code = store_quarantine_remove(options->store, plugin->identity_text,
                                   alone && atomic_load(&plugin->staged) ? plugin->sha256 : NULL,
                                   &why);
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        return error_set(err, code, "%s", why.message);
    }
    bool was_kept = code == 0;
    bool was_quarantined = false; /* in memory, even if the store could not keep it */
    struct plugin *held;
    for (size_t at = 0; (held = generations_hold(&life->generations, id, at)) != NULL; at++) {
        bool is_same = (!alone || held == plugin) &&
                       strcmp(held->identity_text, plugin->identity_text) == 0;
        struct crew *crew = is_same ? atomic_load(&held->crew) : NULL;
        if (crew != NULL) {
            crew_release(crew);
        }
        if (is_same && plugin_state(held) == TOOLRACK_STATE_QUARANTINED) {
            was_quarantined = true;
            plugin_set_state(held, TOOLRACK_STATE_LISTED, "");
            tell(life, held);
        }
        plugin_unref(held);
    }
    if (!was_kept && !was_quarantined) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "plugin '%s' is neither in quarantine nor left out, and has not failed",
                         id);
    }
    note(life, plugin, who, "from quarantine");
    permit_flush(options->permit); /* other hosts count the crashes since this row */
    return 0;
}
