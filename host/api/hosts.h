/* hosts.h - the host's membership in a group of hosts. */
#pragma once

#include "toolrack/hosts.h"

struct joined;

/** Release what calls of tools of other hosts may have used: once none runs. NULL is ignored. */
void joined_destroy(struct joined *joined);
