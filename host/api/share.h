/* share.h - what a group of hosts has decided, put into effect at this one. */
#pragma once

#include "remote/nats/decision.h"
#include "toolrack/toolrack.h"

/** The digest of the tool that a selector means, as it is announced, or would be.
 * @return false: it means none, or there is no memory. [any-thread] */
bool share_digest(struct toolrack *host, const char *selector, char ret[ANNOUNCE_DIGEST_ROOM]);

/** Do what a host of the group has decided, by the functions for people's decisions at this one:
 * with their events and rows of the log of decisions, which name the person, the host and the time.
 *
 * @return 0; TOOLRACK_E_UNAVAILABLE: a person has decided here meanwhile; TOOLRACK_E_NOT_FOUND: the
 *         tool is not the same one; a code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int share_carry_out(struct toolrack *host, const struct decision *decision,
                    const struct store_shared_order *order, struct toolrack_error *err);

/** Add a row to the log of decisions for one that is not in effect. [any-thread] */
void share_note_overruled(struct toolrack *host, const struct decision *loser,
                          const struct decision *winner);
