/* offers.h - resources and prompts of an MCP server: what a plugin offers beside its tools
 * (plugin/offer.h).
 *
 * A resource keeps its URI, by which it is asked for: which plugin has it is known by the lists. A
 * prompt is called PREFIX_NAME, like a tool. The permission of the mount is theirs too: with
 * `confirm` the caller's person is asked before a resource is read or a prompt taken, each time,
 * and nothing is completed; with `dangerous` there are none. Lists are free. */
#pragma once

#include "remote/mcp/client.h"
#include "run/run.h"

/* Most items of a list. */
#define OFFERS_ITEMS_MAX 10000u

struct mount_offers;

/* All borrowed as long as the offers. */
struct mount_offers_options {
    struct mcp_client *client;
    const char *prefix;
    bool asks; /* a person, as above */
};

/** NULL: no memory. */
struct mount_offers *mount_offers_create(const struct mount_offers_options *options);
/** NULL is ignored. */
void mount_offers_destroy(struct mount_offers *offers);

/** Whether a run is of an offer, by its tool: the name of a method. */
bool mount_offers_has(const struct run *run);
/** Do what an offer is asked for. @return as a tool's function returns. [call-thread] */
tr_status mount_offers_run(struct mount_offers *offers, struct run *run);
