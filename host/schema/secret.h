/* secret.h - values that a schema marks as secret, masked.
 *
 * A schema marks them with `"writeOnly": true` or `"format": "password"`. Each part of a schema
 * that can apply to a value counts, whether or not the value matches it: masking too much does no
 * harm. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"

/* The string that replaces a secret. */
#define SECRET_MASK "***"

/** Whether a schema may mark any value as secret. [any-thread] */
bool schema_has_secrets(yyjson_val *schema);

/** Parse a schema of a tool, if it has secrets.
 * @param text  NULL: no schema
 * @param ret   to be freed by yyjson_doc_free(); NULL: the schema has no secrets
 * @return false when out of memory. [any-thread] */
bool schema_read_secret(const char *text, yyjson_doc **ret);

/** Replace each secret in `value`, or `value` itself if it is a secret, by SECRET_MASK; `doc` is
 * its document. The document's root is not set.
 * @return the value to use; if the value is too large or the schema too deep, the whole value is
 *         masked. NULL: out of memory. [any-thread] */
yyjson_mut_val *schema_mask(yyjson_val *schema, yyjson_mut_doc *doc, yyjson_mut_val *value);

/** The same of the arguments of a call, by a schema that has secrets: the texts and numbers in
 * members that it does not know are masked too, since the name of a secret may be misspelled. They
 * are not looked for in what the tool prints, where any word may stand. [any-thread] */
yyjson_mut_val *schema_mask_arguments(yyjson_val *schema, yyjson_mut_doc *doc,
                                      yyjson_mut_val *value);

/** A schema without the defaults and examples in it that have a secret: what a model's provider or
 * a client gets. The host fills in the defaults itself.
 * @param text  of a schema
 * @param ret   receives the schema; stays empty where nothing is to be left out
 * @return false when out of memory. [any-thread] */
bool schema_without_secrets(const char *text, struct buf *ret);

/* Shorter secrets are not looked for in text, where they would stand by chance. */
#define SECRET_LENGTH_MIN 4u
/* But one of so many bytes, such as the number on the back of a card, is where it stands by itself,
 * with no letter or digit beside it. */
#define SECRET_WORD_MIN   3u
/* Most bytes of secrets that are looked for. */
#define SECRETS_SIZE_MAX  8192u

/** The secrets in `value`: each line of a string, and each number as it is written, with a zero
 * behind each. Only an empty one, which stands for any text, when there are too many or memory runs
 * out; nothing is in `ret` when there are none. [any-thread] */
void schema_collect_secrets(yyjson_val *schema, yyjson_val *value, struct buf *ret);

/** The same of the arguments of a call: all that schema_mask_arguments() masks, and the defaults
 * that may take the place of what is missing. Of a text that is JSON they are what is in it.
 * [any-thread] */
void schema_collect_arguments(yyjson_val *schema, yyjson_val *arguments, struct buf *ret);

/** Add secrets to others, of which those that are known are left out; as of
 * schema_collect_secrets() when there are too many or memory runs out. [any-thread] */
void secrets_add(struct buf *secrets, const char *more, size_t length);

/** Mask secrets where they occur in a text, as they are or with JSON escapes, also in one that is
 * cut off at its end. [any-thread] */
void secrets_mask(const struct buf *secrets, char *text);

/** The same of an error: its message, its trace and its mistakes. [any-thread] */
void secrets_mask_error(const struct buf *secrets, struct toolrack_error *err);

/** The same of JSON, whole or cut off at its end: it stays JSON, since a number that has a secret
 * is replaced as a whole by a string. Its names are masked too.
 * @param ret  failed when out of memory. [any-thread] */
void secrets_mask_json(const struct buf *secrets, const char *json, size_t length, struct buf *ret);
