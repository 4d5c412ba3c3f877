/* tolerate.h - arguments that are nearly right, made right where that loses nothing.
 *
 * A model writes an object as JSON text, a number in quotes, one value where an array is wanted.
 * Only a value that the schema refuses is changed, only into what the schema wants at its place,
 * and only if all of the instance is valid then: what is valid is never changed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "schema/schema.h"

enum schema_tolerance {
    SCHEMA_EXACT,     /* nothing is changed */
    SCHEMA_JSON_TEXT, /* text is read as JSON where an object or array is wanted and no text is */
    SCHEMA_LAX /* also numbers and booleans in text, one value for an array, the case of choices */
};

/* Most values of one instance that are changed. */
#define SCHEMA_CHANGES_MAX 64u

/* What a value was, which was changed. */
enum schema_change_kind {
    SCHEMA_CHANGED_JSON_TEXT,
    SCHEMA_CHANGED_NUMBER,
    SCHEMA_CHANGED_BOOLEAN,
    SCHEMA_CHANGED_ONE_ITEM,
    SCHEMA_CHANGED_CHOICE
};

/** The name of a kind, as it is in JSON, and what was done, as it is in the log. Static. */
const char *schema_change_name(enum schema_change_kind kind);
const char *schema_change_words(enum schema_change_kind kind);

struct schema_change {
    enum schema_change_kind kind;
    char field[SCHEMA_FIELD_MAX]; /* JSON Pointer */
};

struct schema_changes {
    size_t count;
    struct schema_change list[SCHEMA_CHANGES_MAX];
};

/** Change an instance that is not valid.
 * @param alc      allocator for the copy that is changed
 * @param ret      receives the copy, or `instance` if nothing could be changed; valid or not
 * @param changes  receives what was changed
 * @return whether *ret is valid; then something was changed. [any-thread] */
bool schema_tolerate(const struct schema *schema, yyjson_val *instance,
                     enum schema_tolerance tolerance, const yyjson_alc *alc, yyjson_val **ret,
                     struct schema_changes *changes);
