/* id.h - an id that a person has typed, or its beginning. */
#pragma once

#include <yyjson.h>

#include "base/error.h"

/** Find the row of a JSON array whose member `key`, a string or a number, is `given` or the only
 * one that begins with it.
 * @param ret  receives the row; NULL: there is none
 * @return 0; TOOLRACK_E_INVALID, a usage error: several begin with it, or it is empty;
 *         TOOLRACK_E_NO_MEMORY. */
int id_find(yyjson_val *rows, const char *key, const char *given, yyjson_val **ret,
            struct toolrack_error *err);

struct toolrack_text;

/** The whole id of which `given` is one, or the beginning of one.
 * @param rows  a JSON array of objects with the member `key`
 * @param ret   receives the id, or `given` where there is none: then the host says why. To be freed
 * @return as id_find(). */
int id_complete(const struct toolrack_text *rows, const char *key, const char *given, char **ret,
                struct toolrack_error *err);
