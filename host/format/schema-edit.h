/* schema-edit.h - a schema that is being rewritten, for the files that change it.
 *
 *   schema-rewrite.c  visits all of it
 *   schema-fold.c     merges several schemas into one
 *   schema-resource.c references to a name, as pointers
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

/* Nesting depth of schemas, including the targets of references. */
#define REWRITE_DEPTH_MAX   64u
/* Nesting depth of JSON values in the text. */
#define REWRITE_NESTING_MAX 128u
/* Schemas of one tool, and JSON values copied for references: a few bytes can demand very many. */
#define REWRITE_SCHEMAS_MAX 20000u
#define REWRITE_COPIED_MAX  200000u

/* Names in one `required`, properties of a merged schema, and alternatives whose required
 * properties are compared: each is compared with each. */
#define REWRITE_REQUIRED_MAX     1024u
#define REWRITE_PROPERTIES_MAX   5000u
#define REWRITE_ALTERNATIVES_MAX 64u

#define REWRITE_REFUSAL_MAX 256u

/* Where references point, until draft 7 and since. */
#define OLD_DEFS "#/definitions/"
#define NEW_DEFS "#/$defs/"

struct rewrite {
    const struct provider *provider;
    const struct report *report;
    const yyjson_alc *memory; /* for reading, changing and writing; NULL: the heap */
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    unsigned rules;
    bool is_result;    /* the schema of the result: its properties are no arguments */
    bool says_dialect; /* `$schema` stays ... */
    bool is_old;       /* ... and names an earlier draft */
    struct buf
            *keys; /* NULL, or receives the members of a JSON object: changed names of properties */
    bool is_object; /* set at the end: only objects are valid */
    size_t schemas;
    size_t copied;
    bool no_memory;
    bool refused;
    char refusal[REWRITE_REFUSAL_MAX];
};

/** Refuse the tool; only the first reason is kept. */
void rewrite_refuse(struct rewrite *rewrite, const struct place *place, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);

/** With `made` false: record that memory ran out, unless the tool was refused. */
void rewrite_check(struct rewrite *rewrite, bool made);

/** Append a member; a NULL value, or no memory, is recorded in `rewrite`. The document borrows
 * `key`. */
void rewrite_put(struct rewrite *rewrite, yyjson_mut_val *object, const char *key,
                 yyjson_mut_val *value);

/** Remove the values of a list for which `keep` is false; `kept` lists the earlier values that
 * stay.
 *
 * The iterator of yyjson 0.10 skips the value after one that it removes. */
void rewrite_filter(struct rewrite *rewrite, yyjson_mut_val *list,
                    bool (*keep)(void *user, yyjson_mut_val *kept, yyjson_mut_val *value),
                    void *user);

/** Whether a list contains this string. */
bool rewrite_lists(yyjson_mut_val *list, const char *text, size_t length);

/** A copy, counted against REWRITE_COPIED_MAX; NULL: refused, or no memory. */
yyjson_mut_val *rewrite_copy(struct rewrite *rewrite, yyjson_mut_val *value);

/** The target of a local reference, or NULL. */
yyjson_mut_val *rewrite_resolve(struct rewrite *rewrite, const char *reference);

/** Whether a place is inside a copy of `target` that replaced a reference. */
bool rewrite_is_inside(const struct place *place, const yyjson_mut_val *target);
