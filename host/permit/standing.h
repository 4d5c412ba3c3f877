/* standing.h - the effect of stored decisions on registered tools: whether the tools are as they
 * were approved, and who granted them. */
#pragma once

#include "base/arena.h"
#include "config/config.h"
#include "registry/tool.h"
#include "store/store.h"

/** Set what has changed in tools since they were approved, whether the tools are held for that, and
 * until when they are granted. Each table of the store is read once, for any number of tools.
 *
 * @param tools  views that are not published yet and have no grant
 * @param are_new  how much care they ask for is stored, where it is not known. Only where they are
 *        registered: a version that is gone back from is read again for a while, and what it asked
 *        for would hold the tools of the version before it.
 * @return 0; a code of the store; TOOLRACK_E_NO_MEMORY. On failure the tools have no grants,
 *         not those of the configuration either, and held tools stay held. [any-thread] */
int standing_read(struct store *store, const struct config *config,
                  struct toolrack_tool *const *tools, size_t count, bool are_new,
                  struct toolrack_error *err);

/* What has changed in a tool since it was approved, as it was then. The strings are in an arena or
 * belong to the registration. */
struct permit_approved {
    const char *texts[PIN_TEXT_COUNT]; /* NULL, as in the others: unchanged */
    const char *now_texts[PIN_TEXT_COUNT];
    const char *permission;
    const char *flags;
    const char *capabilities;
    const char *now_permission;
    const char *now_flags;
    const char *now_capabilities;
};

/** Find how a registration differs from its approved state.
 * @return 0: it does; TOOLRACK_E_NOT_FOUND without a message: it does not, or was never approved; a
 *         code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int standing_find_change(struct store *store, const struct registration *reg, struct arena *arena,
                         struct permit_approved *ret, struct toolrack_error *err);
