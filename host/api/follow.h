/* follow.h - decisions that take effect in all running hosts of the state folder.
 *
 * Each function of the API that stores a decision has this form:
 *
 *     struct hosts_telling telling;
 *     follow_begin(host, &telling);
 *     return follow_end(host, &telling, HOSTS_DECISION, permit_grant(...));
 *
 * follow_end() tells the other hosts, and counts for toolrack_reached() how many have applied it. A
 * host that is told reads the store again, whatever it is: settings, defaults, grants, approvals,
 * pins, quarantines, failures, loading markers, tokens, cancelled tasks (follow_decisions()); and
 * with HOSTS_CONTENT also which content of each file serves (follow_contents()). What is new in the
 * store has to be read in one of these. */
#pragma once

#include "store/hosts.h"
#include "toolrack/toolrack.h"

/** Connect to the other hosts, before a decision is stored. Caller holds no lock. [any-thread] */
void follow_begin(struct toolrack *host, struct hosts_telling *ret);

/** End it: tell them if `code` is 0.
 * @return `code`. [any-thread] */
int follow_end(struct toolrack *host, struct hosts_telling *telling, enum hosts_change change,
               int code);

/** A decision is about a tool that this process does not know. While other hosts run, the error
 * says that an app decides itself about the tools that it has registered: the store has their
 * settings, but no other process has their texts, which a decision is bound to.
 * @return `code`. Caller holds no lock. [any-thread] */
int follow_not_found(struct toolrack *host, int code, struct toolrack_error *err);

/** Tell the others of a change that no person waits for, after it was stored. For
 * life_options.decided. [any-thread] */
void follow_tell(struct toolrack *host, enum hosts_change change);

/** For hosts_options: apply what other hosts have decided. */
bool follow_decisions(void *user);
bool follow_contents(void *user);
