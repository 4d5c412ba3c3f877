/* key-pieces.h - a key that stands in several strings of a JSON text, a part of it in each.
 *
 * A provider may send a text in several blocks, a model may give a key in two arguments of a call:
 * no string has the key then, but who reads them one after the other does. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "provider/keys.h"

/** Overwrite, in place, each occurrence of the key in JSON with asterisks, as key_redact() does,
 * and that whose parts stand in several strings: one ends with the beginning of the key, later ones
 * are what follows of it, and the last begins with its rest. Other strings may stand between them,
 * and parts of four bytes and more may stand in any order.
 * Strings within a string that is JSON itself, such as the arguments of a call, count too.
 * Words that messages are built of ("arguments", "tool_calls") stay, and do not count.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int key_redact_json(const struct key *key, char *json, size_t length, struct toolrack_error *err);
