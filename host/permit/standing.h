/* standing.h - what the decisions in the store mean for tools that are registered: whether they
 * are as they were approved, and who grants them. */
#pragma once

#include "base/arena.h"
#include "config/config.h"
#include "registry/tool.h"
#include "store/pins.h"

/** Fill in what a registration says of itself, and its hash; strings are borrowed from it. */
void pin_make(const struct registration *reg, struct store_pin *ret);

/** Set what tools have changed since they were approved, whether that holds them, and until when
 * they are granted. Each table of the store is read once, however many tools there are.
 *
 * @param tools  views that nobody else sees yet and that are granted by nobody
 * @return 0; the store's; TOOLRACK_E_NO_MEMORY. On failure the tools have the grants of the
 *         configuration only, and what was held stays held. [any-thread] */
int standing_read(struct store *store, const struct config *config,
                  struct toolrack_tool *const *tools, size_t count, struct toolrack_error *err);

/* What a tool said of itself when it was approved. Strings in an arena. */
struct permit_approved {
    const char *description; /* NULL: it is the same now */
    const char *schema;      /* likewise */
};

/** Find how a registration differs from what was approved.
 * @return 0: it does; TOOLRACK_E_NOT_FOUND without a message: it does not, or was never approved;
 *         the store's; TOOLRACK_E_NO_MEMORY. [any-thread] */
int standing_find_change(struct store *store, const struct registration *reg, struct arena *arena,
                         struct permit_approved *ret, struct toolrack_error *err);
