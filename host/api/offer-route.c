#include "api/offer-route.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static const char *pointer_of(enum offer offer) {
    switch (offer) {
    case OFFER_READ:
    case OFFER_SUBSCRIBE:
    case OFFER_UNSUBSCRIBE: return "/uri";
    case OFFER_PROMPT: return "/name";
    case OFFER_COMPLETE_RESOURCE: return "/ref/uri";
    case OFFER_COMPLETE_PROMPT: return "/ref/name";
    default: return NULL; /* a list: all are asked */
    }
}

bool offer_route_init(struct offer_route *route, enum offer offer, const char *arguments,
                      const struct offer_plugins *plugins) {
    const char *pointer = pointer_of(offer);
    *route = (struct offer_route){.is_template = offer == OFFER_COMPLETE_RESOURCE};
    if (pointer == NULL || plugins->count < 2) {
        return true;
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), YYJSON_READ_NOFLAG);
    const char *text = yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), pointer));
    route->text = text != NULL ? strdup(text) : NULL;
    bool is_prompt = offer == OFFER_PROMPT || offer == OFFER_COMPLETE_PROMPT;
    route->lists[0] = is_prompt ? OFFER_PROMPTS : OFFER_RESOURCES;
    route->lists[1] = OFFER_TEMPLATES;
    route->list_count = is_prompt ? 1 : 2;
    return route->text != NULL;
}

void offer_route_finish(struct offer_route *route) {
    free(route->text);
    *route = (struct offer_route){0};
}

enum offered_kind offer_route_kind(enum offer list) {
    return list == OFFER_PROMPTS     ? OFFERED_PROMPT
           : list == OFFER_TEMPLATES ? OFFERED_TEMPLATE
                                     : OFFERED_RESOURCE;
}

bool offer_route_learns(struct offer_route *route, struct offer_keys *keys,
                        const struct offer_plugins *plugins, size_t *ret_at, enum offer *ret_list) {
    while (route->next < plugins->count * route->list_count) {
        *ret_at = route->next / route->list_count;
        *ret_list = route->lists[route->next++ % route->list_count];
        if (!offer_keys_known(keys, plugins, *ret_at, offer_route_kind(*ret_list),
                              &route->changes)) {
            return true;
        }
    }
    return false;
}

/* --------------------------------------------------------------------- choose */

/* Leave one plugin. */
static void leave_one(struct offer_plugins *plugins, size_t which) {
    struct plugin *plugin = plugins->items[which];
    for (size_t i = 0; i < plugins->count; i++) {
        if (i != which) {
            plugin_unref(plugins->items[i]);
        }
    }
    plugins->items[0] = plugin;
    plugins->numbers[0] = plugins->numbers[which];
    plugins->count = 1;
}

static bool lists(const struct offer_route *route, struct offer_keys *keys,
                  const struct offer_plugins *plugins, size_t at) {
    enum offered_kind kind = offer_route_kind(route->lists[0]);
    return offer_keys_lists(keys, plugins, at, kind, route->text) ||
           (route->is_template &&
            offer_keys_lists(keys, plugins, at, OFFERED_TEMPLATE, route->text));
}

/* The first of those of one trust that has it; `end` if none has. */
static size_t find_owner(const struct offer_route *route, struct offer_keys *keys,
                         const struct offer_plugins *plugins, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        if (lists(route, keys, plugins, i)) {
            return i;
        }
    }
    size_t at = begin;
    bool matches = route->list_count == 2 && !route->is_template;
    while (at < end && !(matches && offer_keys_matches(keys, plugins, at, route->text))) {
        at++;
    }
    return at;
}

void offer_route_choose(struct offer_route *route, struct offer_keys *keys,
                        struct offer_plugins *plugins) {
    size_t end = 0;
    for (size_t begin = 0; begin < plugins->count && !route->is_owned; begin = end) {
        while (end < plugins->count && plugins->items[end]->trust == plugins->items[begin]->trust) {
            end++;
        }
        size_t owner = find_owner(route, keys, plugins, begin, end);
        if (owner < end) {
            leave_one(plugins, owner);
            route->is_owned = true;
        }
    }
}
