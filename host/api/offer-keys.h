/* offer-keys.h - what plugins list beside tools, as far as it is known: whose a URI or a name is.
 *
 * Known is what a plugin replied when it was last asked for its list, by a client or to learn it,
 * until it reports a change or another content of it serves. A list that fails leaves what was
 * known before, and is asked for again after OFFER_KEYS_AGAIN_S. */
#pragma once

#include "api/offer-plugins.h"
#include "format/offered.h"
#include "store/store.h"

/* Pause between two tries to learn a list that fails, and the deadline of a try. */
#define OFFER_KEYS_AGAIN_S       60u
#define OFFER_KEYS_DEADLINE_MS   3000u
/* Most plugins that something is known of, and most templates of one that are matched. */
#define OFFER_KEYS_PLUGINS_MAX   1024u
#define OFFER_KEYS_TEMPLATES_MAX 256u

struct offer_keys;

/** NULL when out of memory. */
struct offer_keys *offer_keys_create(void);
/** NULL is ignored. */
void offer_keys_destroy(struct offer_keys *keys);

/** Put the plugins into the order in which a name belongs to them: the most trusted first, then
 * the one whose origin was seen first. [any-thread] */
void offer_keys_sort(struct offer_keys *keys, struct store *store, struct offer_plugins *plugins);

/** A plugin reports that its lists have changed. [any-thread] */
void offer_keys_changed(struct offer_keys *keys, const char *plugin_id);

/** Whether a list of plugin `at` is known. `ret_changes`: for offer_keys_take(), from before the
 * plugin is asked. [any-thread] */
bool offer_keys_known(struct offer_keys *keys, const struct offer_plugins *plugins, size_t at,
                      enum offered_kind kind, uint64_t *ret_changes);

/** Take what it listed: an array, or NULL for none. `failed`: it did not reply. [any-thread] */
void offer_keys_take(struct offer_keys *keys, const struct offer_plugins *plugins, size_t at,
                     enum offered_kind kind, uint64_t changes, yyjson_mut_val *items, bool failed);

/** Whether plugin `at` lists this URI, template or name. [any-thread] */
bool offer_keys_lists(struct offer_keys *keys, const struct offer_plugins *plugins, size_t at,
                      enum offered_kind kind, const char *text);

/** Whether a template that it lists stands for this URI. [any-thread] */
bool offer_keys_matches(struct offer_keys *keys, const struct offer_plugins *plugins, size_t at,
                        const char *uri);
