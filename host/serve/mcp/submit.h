/* submit.h - what all calls that are made for a request have in common: of tools, and of what
 * plugins offer beside them. */
#pragma once

#include "toolrack/toolrack.h"

struct request;

/** Who calls, and what goes back to the client while the call runs: `user` is the request. */
void submit_options(struct request *request, struct toolrack_call_options *ret);
