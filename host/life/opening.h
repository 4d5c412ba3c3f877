/* opening.h - what opening a host does with the plugin files. */
#pragma once

#include "toolrack/toolrack.h"

struct life;

/** Scan the folders and register what is in them, but for what a rollback or an unclean end says
 * otherwise of. @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int opening_scan(struct life *life, struct toolrack_error *err);
