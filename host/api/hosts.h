/* hosts.h - the host's membership in a group of hosts. */
#pragma once

#include "toolrack/hosts.h"

struct joined;

/** Release what calls of tools of other hosts may have used: once none runs. NULL is ignored. */
void joined_destroy(struct joined *joined);

struct member;

/** The membership that is not left, borrowed; NULL: there is none. */
struct member *host_member(struct toolrack *host);
