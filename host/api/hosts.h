/* hosts.h - the host's membership in a group of hosts. */
#pragma once

#include <yyjson.h>

#include "toolrack/hosts.h"

struct joined;

/** Add "hosts", an object, if this host has joined. */
void joined_describe(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root);
/** Release what calls of tools of other hosts may have used: once none runs. NULL is ignored. */
void joined_destroy(struct joined *joined);

/** Whether a server can be joined with "nats" of the configuration, as far as that can be known
 * without it; the error says what to do. */
int hosts_check(struct toolrack *host, struct toolrack_error *err);

struct member;

/** The membership that is not left, borrowed; NULL: there is none. */
struct member *host_member(struct toolrack *host);
