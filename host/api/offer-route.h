/* offer-route.h - which plugins are asked for a resource, a prompt or a completion.
 *
 * A URI or a name belongs to the plugin that lists it, else to those of which a template stands for
 * it: of the most trusted ones, then of the first. Only what nobody lists is asked of all. */
#pragma once

#include "api/offer-keys.h"
#include "toolrack/offer.h"

struct offer_route {
    enum offer lists[2]; /* that say whose it is */
    size_t list_count;   /* 0: it needs no answer, as one plugin offers anything */
    size_t next;         /* of all lists of all plugins, the one to look at next */
    uint64_t changes;    /* when the list was asked for */
    char *text;          /* the URI or the name; owned */
    bool is_template;    /* perhaps: it is compared, not matched */
    bool is_owned;       /* the plugins that are left are those that it belongs to */
};

/** @param offer  of the request, whose arguments were checked
 * @return false: out of memory */
bool offer_route_init(struct offer_route *route, enum offer offer, const char *arguments,
                      const struct offer_plugins *plugins);
void offer_route_finish(struct offer_route *route);

/** The next list that has to be asked for: `ret_at` is the plugin. False: enough is known. */
bool offer_route_learns(struct offer_route *route, struct offer_keys *keys,
                        const struct offer_plugins *plugins, size_t *ret_at, enum offer *ret_list);

/** Which kind a list has; of one that offer_route_learns() gives. */
enum offered_kind offer_route_kind(enum offer list);

/** Leave those that are to be asked. */
void offer_route_choose(struct offer_route *route, struct offer_keys *keys,
                        struct offer_plugins *plugins);
