/* approve.h - whether a call of a `confirm` tool may run.
 *
 * By default it waits for a person elsewhere: the failure names the approval and the command by
 * which that person answers. Where the answer of the client counts as a person's, the client is
 * asked. In the stateless era the answer comes with another request, so the server remembers what
 * it has asked: one question is for one principal, one registration of the tool and one text of
 * arguments, and lets one call run to its end, in as many rounds as the tool's own questions take.
 * Each round after the first must bring the state of the round before, which no other request has
 * brought, and an answer to what was asked there. What does not, as a request that is made again
 * after a lost connection, is asked about anew. */
#pragma once

#include <stdbool.h>

#include "toolrack/toolrack.h"

struct approvals;
struct mcp;
struct request;
struct shares;

/* Most questions that the server remembers; of the party that was asked most the oldest is
 * forgotten, and asked again. */
#define APPROVE_OPEN_MAX      1024u
/* Longest arguments that a client is shown: a person must see all of what is allowed. */
#define APPROVE_ARGUMENTS_MAX 4096u

/** As options.approve of a call, whose `user` is its request. */
int approve_call(void *user, const struct toolrack_approval_request *asked);

/** The call of a request has ended. `goes_on`: with questions of the tool, as mrtr_ask() will tell
 * the client. The call that is made with the answers to them is allowed what this one was. */
void approve_end(struct request *request, bool goes_on);

/** NULL when out of memory. The shares are borrowed. */
struct approvals *approve_open(struct shares *shares);
void approve_close(struct approvals *approvals);
