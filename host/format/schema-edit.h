/* schema-edit.h - a schema that is being rewritten, and what the files share that change it.
 *
 *   schema-rewrite.c  the walk through all of it
 *   schema-fold.c     one schema of several
 *   schema-type.c     names of types
 *   schema-strict.c   OpenAI's strict mode */
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

/* Where references lead, until draft 7 and since. */
#define OLD_DEFS "#/definitions/"
#define NEW_DEFS "#/$defs/"

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
