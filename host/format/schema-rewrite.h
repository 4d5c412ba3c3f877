/* schema-rewrite.h - a tool's schema as a provider takes it.
 *
 * What a provider does not know is taken out or said otherwise, and each such change is noted. What
 * the provider's schema then lets through wrongly, the host refuses: it checks arguments with the
 * tool's own schema, which no rewrite touches. So a rewrite may forget a constraint, but not a
 * property, nor give one another name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/buf.h"
#include "format/provider.h"
#include "format/report.h"

/* Schemas inside one another, those that references lead to included. */
#define REWRITE_DEPTH_MAX   64u
/* JSON values inside one another in the text. */
#define REWRITE_NESTING_MAX 128u
/* Schemas in one tool's, and JSON values copied for references: a few bytes can ask for very many.
 */
#define REWRITE_SCHEMAS_MAX 20000u
#define REWRITE_COPIED_MAX  200000u

/* Names in one `required`, properties of a schema that is merged of several, and alternatives of
 * which it is told which belong together: each is compared with each. */
#define REWRITE_REQUIRED_MAX     1024u
#define REWRITE_PROPERTIES_MAX   5000u
#define REWRITE_ALTERNATIVES_MAX 64u

#define REWRITE_REFUSAL_MAX 256u

struct rewrite {
    const struct provider *provider;
    const struct report *report;
    const yyjson_alc *memory; /* for what is read, made and written; NULL: the heap */
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    unsigned rules;
    bool is_result;    /* of the result: its properties are no arguments */
    bool says_dialect; /* which draft it is of stays in it ... */
    bool is_old;       /* ... and that is an earlier one */
    bool is_object;    /* set at the end: only an object fits it */
    size_t schemas;
    size_t copied;
    bool no_memory;
    bool refused;
    char refusal[REWRITE_REFUSAL_MAX];
};

/** Rewrite a schema and append its text.
 * @param text    NULL: the tool says nothing of its arguments
 * @param strict  NULL, or receives whether the result is fit for strict mode
 * @return 0; TOOLRACK_E_INVALID: the tool cannot be described, `rewrite->refusal` says why;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int rewrite_text(struct rewrite *rewrite, const char *text, struct buf *out, bool *strict);

/* What follows is shared by the files that rewrite. */

/** Give the tool up; the first reason stays. */
void rewrite_refuse(struct rewrite *rewrite, const struct place *place, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);

/** Note that something could not be made: for want of memory, unless the tool was refused. */
void rewrite_check(struct rewrite *rewrite, bool made);

/** Put a member behind the others; a NULL value, or no memory, is noted in `rewrite`. `key` is
 * borrowed by the document. */
void rewrite_put(struct rewrite *rewrite, yyjson_mut_val *object, const char *key,
                 yyjson_mut_val *value);

/** Keep of a list the values for which `keep` is true; `kept` is a list of those before.
 *
 * The iterator of yyjson 0.10 leaves out the value behind one that it removes. */
void rewrite_filter(struct rewrite *rewrite, yyjson_mut_val *list,
                    bool (*keep)(void *user, yyjson_mut_val *kept, yyjson_mut_val *value),
                    void *user);

/** Whether a list holds this text. */
bool rewrite_lists(yyjson_mut_val *list, const char *text, size_t length);

/** A copy, within what may be copied; NULL: refused, or no memory. */
yyjson_mut_val *rewrite_copy(struct rewrite *rewrite, yyjson_mut_val *value);

/** What a local reference leads to, or NULL. */
yyjson_mut_val *rewrite_resolve(const struct rewrite *rewrite, const char *reference);

/** Whether a place lies within what a reference to `target` stands for. */
bool rewrite_is_inside(const struct place *place, const yyjson_mut_val *target);

/** Merge what `$ref` and `allOf` say into the schema itself, and with `choices` also the
 * alternatives of `anyOf` and `oneOf`. (schema-fold.c) */
void rewrite_fold(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                  bool choices);

/** Make the `type` of a schema one of JSON Schema's. @return whether it stays. (schema-type.c) */
bool rewrite_type(struct rewrite *rewrite, const struct place *place, yyjson_mut_val *type);

/** Say a list of types as an anyOf. (schema-type.c) */
void rewrite_split_types(struct rewrite *rewrite, const struct place *place,
                         yyjson_mut_val *schema);

/** Close all objects of a schema that is otherwise fit for strict mode. Says in the report why one
 * is not. @return whether it is. (schema-strict.c) */
bool rewrite_close_strict(struct rewrite *rewrite, yyjson_mut_val *schema);
