/* offer.h - what a plugin offers beside its tools: resources and prompts, by functions that are
 * called like JSON tools.
 *
 * For a call each of these functions is a tool that is in no registry, with the name of MCP's
 * method
 * ("resources/read") and an index of its own behind those of tools. */
#pragma once

#include "base/error.h"
#include "plugin/descriptor-data.h"

enum offer {
    OFFER_RESOURCES,
    OFFER_TEMPLATES,
    OFFER_READ,
    OFFER_SUBSCRIBE,
    OFFER_UNSUBSCRIBE,
    OFFER_COMPLETE_RESOURCE,
    OFFER_PROMPTS,
    OFFER_PROMPT,
    OFFER_COMPLETE_PROMPT,
    OFFER_COUNT
};

/* Index of the first; that of a tool is below DESCRIPTOR_TOOLS_MAX. */
#define OFFER_INDEX_FIRST 0x10000u

typedef tr_status offer_function(struct tr_call *call);

/** Whether an index is that of an offer. */
static inline bool offer_is(uint32_t index) {
    return index >= OFFER_INDEX_FIRST && index < OFFER_INDEX_FIRST + OFFER_COUNT;
}

/** Whether a plugin with these flags (enum tr_plugin_flags) may have it. */
bool offer_is_stated(enum offer offer, uint32_t flags);

/** It as a tool of a plugin of that version, which is borrowed. */
struct descriptor_tool offer_tool(enum offer offer, const char *version);

/** The functions of a loaded plugin, by enum offer: those that its flags state, and that it has;
 * one that it may leave out is a function that replies nothing.
 * @return 0; TOOLRACK_E_REFUSED: it lacks what its flags state. [plugin] */
int offers_find(const struct tr_plugin *plugin, offer_function *ret[OFFER_COUNT],
                struct toolrack_error *err);
