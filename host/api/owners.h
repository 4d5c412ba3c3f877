/* owners.h - which plugin has a tool's name, of several that provide it. */
#pragma once

#include "registry/owner.h"

struct toolrack;

/** For registry_options.owners; `user` is the host. */
void owners_claims(void *user, const char *tool, struct owner_claim *claims, size_t count);
void owners_shadowed(void *user, const struct toolrack_tool *owner,
                     const struct toolrack_tool *other, const char *why);

/** For registry_options.incompatible; `user` is the host. */
bool owners_incompatible(void *user, const struct registration *reg);
