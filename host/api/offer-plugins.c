#include "api/offer-plugins.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Why a plugin is not asked: its tools were held or cannot be judged, it has failed, or it is there
 * for the sake of calls by version. */
static bool may_offer(const struct toolrack_tool *tool, enum offer offer) {
    struct plugin *plugin = tool->reg->plugin;
    if (!offer_is_stated(offer, plugin->desc->plugin->flags) || tool->kept) {
        return false;
    }
    switch (plugin_state(plugin)) {
    case TOOLRACK_STATE_FAILED:
    case TOOLRACK_STATE_QUARANTINED:
    case TOOLRACK_STATE_LEFT_OUT: return false;
    default: return true;
    }
}

static bool is_withheld(const struct toolrack_tool *tool) {
    return atomic_load(&tool->reg->held) || atomic_load(&tool->reg->unread);
}

/* A plugin, as its tools show it. */
struct candidate {
    struct plugin *plugin;
    uint64_t first; /* number of its first registration */
    bool is_withheld;
};

struct finding_plugins {
    enum offer offer;
    struct candidate *items;
    size_t count;
    size_t room;
    bool failed;
};

static struct candidate *candidate_of(struct finding_plugins *finding, struct plugin *plugin) {
    for (size_t i = 0; i < finding->count; i++) {
        if (finding->items[i].plugin == plugin) {
            return &finding->items[i];
        }
    }
    if (finding->count == finding->room) {
        size_t room = 2 * finding->room + 4;
        struct candidate *grown = realloc(finding->items, room * sizeof *grown);
        if (grown == NULL) {
            finding->failed = true;
            return NULL;
        }
        finding->items = grown;
        finding->room = room;
    }
    finding->items[finding->count] =
            (struct candidate){.plugin = plugin_ref(plugin), .first = UINT64_MAX};
    return &finding->items[finding->count++];
}

static bool take_tool(void *user, struct toolrack_tool *tool) {
    struct finding_plugins *finding = user;
    struct candidate *candidate =
            may_offer(tool, finding->offer) ? candidate_of(finding, tool->reg->plugin) : NULL;
    if (candidate != NULL) {
        candidate->first = tool->reg->uid < candidate->first ? tool->reg->uid : candidate->first;
        candidate->is_withheld = candidate->is_withheld || is_withheld(tool);
    }
    return !finding->failed;
}

static int compare(const void *left, const void *right) {
    const struct candidate *a = left;
    const struct candidate *b = right;
    int trust = (int)b->plugin->trust - (int)a->plugin->trust;
    return trust != 0 ? trust : (a->first > b->first) - (a->first < b->first);
}

static bool is_wanted(const struct plugin *plugin, const char *const *only) {
    size_t at = 0;
    while (only != NULL && only[at] != NULL && strcmp(only[at], plugin->desc->plugin->id) != 0) {
        at++;
    }
    return only == NULL || only[at] != NULL;
}

void offer_plugins_find(struct registry *registry, enum offer offer, const char *const *only,
                        struct offer_plugins *ret) {
    struct finding_plugins finding = {.offer = offer};
    registry_visit(registry, take_tool, &finding);
    *ret = (struct offer_plugins){.items = calloc(finding.count + 1, sizeof *ret->items),
                                  .numbers = calloc(finding.count + 1, sizeof *ret->numbers)};
    ret->failed = finding.failed || ret->items == NULL || ret->numbers == NULL;
    if (finding.count > 0) {
        qsort(finding.items, finding.count, sizeof *finding.items, compare);
    }
    for (size_t i = 0; i < finding.count; i++) {
        if (ret->failed || finding.items[i].is_withheld ||
            !is_wanted(finding.items[i].plugin, only)) {
            plugin_unref(finding.items[i].plugin);
        } else {
            ret->numbers[ret->count] = finding.items[i].first;
            ret->items[ret->count++] = finding.items[i].plugin;
        }
    }
    free(finding.items);
}

void offer_plugins_finish(struct offer_plugins *plugins) {
    for (size_t i = 0; i < plugins->count; i++) {
        plugin_unref(plugins->items[i]);
    }
    free(plugins->items);
    free(plugins->numbers);
    *plugins = (struct offer_plugins){0};
}

int offer_plugins_find_again(struct registry *registry, const struct toolrack_tool *old,
                             struct toolrack_tool **ret, struct toolrack_error *err) {
    enum offer offer = (enum offer)(old->reg->spec->index - OFFER_INDEX_FIRST);
    const struct plugin *was = old->reg->plugin;
    const char *const only[] = {was->desc->plugin->id, NULL};
    struct offer_plugins now;
    int code = 0;
    offer_plugins_find(registry, offer, only, &now);
    /* One of another trust would have another place among those that are asked. */
    if (now.failed) {
        code = error_oom(err);
    } else if (now.count == 0 || now.items[0]->trust != was->trust) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND,
                         "plugin '%s' does not offer it any more: its file was exchanged", only[0]);
    } else {
        *ret = tool_create_offer(now.items[0], offer);
        code = *ret != NULL ? 0 : error_oom(err);
    }
    offer_plugins_finish(&now);
    return code;
}

/* A plugin, and what its tools show of it. */
struct one_plugin {
    const struct plugin *plugin;
    bool offers;
    bool is_withheld;
};

static bool look_at(void *user, struct toolrack_tool *tool) {
    struct one_plugin *one = user;
    if (tool->reg->plugin == one->plugin) {
        one->offers =
                one->offers || may_offer(tool, OFFER_RESOURCES) || may_offer(tool, OFFER_PROMPTS);
        one->is_withheld = one->is_withheld || is_withheld(tool);
    }
    return true;
}

bool offer_plugins_has(struct registry *registry, const struct plugin *plugin) {
    struct one_plugin one = {.plugin = plugin};
    registry_visit(registry, look_at, &one);
    return one.offers && !one.is_withheld;
}

bool offer_plugins_any(struct registry *registry, enum offer offer) {
    struct offer_plugins plugins;
    offer_plugins_find(registry, offer, NULL, &plugins);
    bool any = plugins.count > 0;
    offer_plugins_finish(&plugins);
    return any;
}
