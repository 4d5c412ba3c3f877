/* offer-list.h - the lists of several plugins as one. */
#pragma once

#include <yyjson.h>

#include "api/offer-plugins.h"
#include "base/buf.h"
#include "base/log.h"
#include "format/offered.h"
#include "toolrack/offer.h"

struct offer_list {
    enum offered_kind kind;
    yyjson_mut_doc *doc;    /* NULL: no list */
    yyjson_mut_val **items; /* an array for each plugin that was asked, in that order */
};

/** False: no memory. Does nothing for a request that is for no list. */
bool offer_list_init(struct offer_list *list, enum toolrack_offer what, size_t plugins);
void offer_list_finish(struct offer_list *list);

/** Take what a plugin replied, or (NULL) log why it did not: it is left out then. */
void offer_list_take(struct offer_list *list, size_t index, const struct plugin *plugin,
                     const struct toolrack_result *result, const struct toolrack_error *err,
                     const struct log *log);

/** Write the list: by the plugins' ids, and each item once, as that of the plugin that was asked
 * first. False: no memory. */
bool offer_list_write(struct offer_list *list, const struct offer_plugins *plugins,
                      const struct log *log, struct buf *out);
