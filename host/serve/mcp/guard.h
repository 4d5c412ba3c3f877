/* guard.h - what a token began, and what goes on without a connection of its client, ends when the
 * token is revoked or expires. What has a connection ends with that. */
#pragma once

#include <stdbool.h>

struct request;

/** From now on look whether the token of a request holds; nothing for one that came without, or if
 * it is done already.
 * @param look  is told at each look whether the token holds, and ends what runs if not; returns
 * whether to look again. NULL: the request is a call, which is cancelled */
void guard_begin(struct request *request, bool (*look)(struct request *request, bool holds));

/** It has ended. */
void guard_end(struct request *request);
