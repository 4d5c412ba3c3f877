/* schema.h - JSON Schema, compiled once and checked fast.
 *
 * Implements draft 2020-12 and draft 7 as their specifications and the official test suite require;
 * of 2019-09 it implements what documents of that draft need if they are referenced. Compiling
 * checks that the schema is well-formed and turns it into a small immutable program; validating
 * walks the program over a yyjson value and allocates nothing for most schemas.
 *
 * Formats that can be asserted: date-time, date, time, duration, email, hostname, ipv4, ipv6, uri,
 * uri-reference, iri, iri-reference, uri-template, json-pointer, relative-json-pointer, uuid,
 * regex. Other formats are annotations and never asserted. A hostname is checked by RFC 1123;
 * internationalised labels (xn--) are not decoded.
 *
 * Memory while validating: `uniqueItems` over more than 128 items and `unevaluated*` over more than
 * 1024 children allocate a block and free it. Checking a `pattern` on more threads at once than
 * before creates a matcher, which is kept for all; pcre2 may enlarge it for a hard match. Nothing
 * else allocates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"

struct schema;

enum schema_dialect { SCHEMA_2020_12, SCHEMA_DRAFT_7 };

/* Limits while compiling. */
#define SCHEMA_VALUES_MAX    1000000 /**< JSON values in all documents together */
#define SCHEMA_NODES_MAX     100000  /**< subschemas */
#define SCHEMA_DEPTH_MAX     128     /**< nesting of the schema document */
#define SCHEMA_DOCUMENTS_MAX 256     /**< documents reached by references */
#define SCHEMA_RESOURCES_MAX 1024    /**< schemas with their own `$id` */
#define SCHEMA_ANCHORS_MAX   4096    /**< anchors in all documents together */
#define SCHEMA_DYNAMIC_MAX   64      /**< names that `$dynamicRef` looks for */
#define SCHEMA_REQUIRED_MAX  1024    /**< names in one `required` */
#define SCHEMA_PATTERN_MAX   8192    /**< bytes of one regular expression */

/* Limits while validating. */
#define SCHEMA_RECURSION_MAX 256      /**< schemas and values entered and not yet left */
#define SCHEMA_STEPS_MAX     10000000 /**< small steps; about half a second of work */
#define SCHEMA_MATCH_MAX     1000000  /**< backtracks of one regular expression over one text */

/* Longest strings of a failure, with their final zero. */
#define SCHEMA_FIELD_MAX  256
#define SCHEMA_REASON_MAX 512

/** Find a referenced document. `uri` has no fragment, and is absolute if the schema has a base URI.
 * The value is borrowed until schema_compile() returns; NULL: not known. */
typedef yyjson_val *schema_lookup(void *user, const char *uri);

struct schema_options {
    enum schema_dialect dialect; /**< for a document without `$schema` */
    bool assert_format;          /**< check `format` instead of treating it as an annotation */
    bool root_object;            /**< the root must have `"type": "object"`, as for tools */
    bool check_defaults;         /**< each `default` must be valid against its own subschema */
    bool ignore_defaults;        /**< with check_defaults: one that is not is ignored instead */
    char *ignored; /**< NULL, or receives what is wrong with the first default that is ignored */
    size_t ignored_room;
    schema_lookup *lookup; /**< NULL: only the bundled metaschemas are found */
    void *lookup_user;
    int64_t steps_max; /**< 0: SCHEMA_STEPS_MAX */
    int64_t *steps; /**< NULL, or the steps that are left for the defaults of several schemas: the
                     * check takes off what it takes */
};

/* Most mistakes of one value that are told; the others are counted. */
#define SCHEMA_MISTAKES_MAX 5

/** The options for a tool's parameters. A wrong date is as wrong as a number in its place; a tool
 * that takes other forms too does not state the format. */
#define SCHEMA_OPTIONS_TOOL                          \
    ((struct schema_options){.assert_format = true,  \
                             .root_object = true,    \
                             .check_defaults = true, \
                             .ignore_defaults = true})
/** For its results, in which a format is an annotation: what has been done cannot be corrected. */
#define SCHEMA_OPTIONS_RESULT \
    ((struct schema_options){.check_defaults = true, .ignore_defaults = true})

/** Why a value is not valid. A plain value that needs no free. */
struct schema_failure {
    int code;                     /**< TOOLRACK_E_INVALID_ARGUMENTS, _LIMIT_EXCEEDED, _NO_MEMORY */
    const char *keyword;          /**< the keyword that failed; static string */
    char field[SCHEMA_FIELD_MAX]; /**< JSON Pointer of the value, or of the missing property */
    char reason[SCHEMA_REASON_MAX]; /**< one line that states how to correct it */
};

/** One thing that is wrong with a value; as in struct schema_failure. */
struct schema_mistake {
    const char *keyword;
    size_t depth; /**< of the field: how many steps from the root */
    char field[SCHEMA_FIELD_MAX];
    char reason[SCHEMA_REASON_MAX];
};

/** All that is wrong with a value, so that it can be corrected at once. A plain value. */
struct schema_mistakes {
    int code;       /**< as in struct schema_failure */
    uint32_t count; /**< all that were found */
    uint32_t told;  /**< those in the list: the least deep ones, the deepest last */
    struct schema_mistake list[SCHEMA_MISTAKES_MAX + 1]; /**< the last one is room for sorting */
};

/** What the properties of the root are called by somebody who does not know their own names. */
struct schema_naming {
    /** The other name of one; NULL: it has none. Borrowed until the mistakes are told. */
    const char *(*known_as)(void *user, const char *name, size_t length);
    void *user;
};

/** Compile a schema.
 *
 * @param root     the document's root, of an immutable yyjson document; borrowed during the call
 * @param options  borrowed during the call; NULL is all zero
 * @param ret      receives the program, to be released with schema_destroy()
 * @param err      on failure: field is the JSON Pointer of the place in the schema, which is also
 *                 in the message
 * @return 0; TOOLRACK_E_INVALID for a schema that is not well-formed or a reference without target;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int schema_compile(yyjson_val *root, const struct schema_options *options, struct schema **ret,
                   struct toolrack_error *err);

/** Release; NULL is ignored. No thread may be using it. [any-thread] */
void schema_destroy(struct schema *schema);

/** Whether `instance` (borrowed) is valid. `failure` may be NULL; it is set only if the instance is
 * not valid. Many threads may use one schema at once. [any-thread] */
bool schema_validate(const struct schema *schema, yyjson_val *instance,
                     struct schema_failure *failure);

/** What is wrong with an instance that is not valid: at least one mistake, also of a limit. Takes
 * some times as long as schema_validate().
 * @param naming  for who reads it; NULL: properties have their own names. [any-thread] */
void schema_explain(const struct schema *schema, yyjson_val *instance,
                    const struct schema_naming *naming, struct schema_mistakes *ret);

/** The same as schema_validate() with at most `*steps` steps, from which is taken off what it
 * takes. */
bool schema_validate_within(const struct schema *schema, yyjson_val *instance, int64_t *steps,
                            struct schema_failure *failure);

/** The same for an instance that must be an object. On success slots[i] is the value of the root's
 * i-th property in the order of its `properties`, or NULL if absent; if a name occurs twice, the
 * first value. Slots beyond the properties are NULL; after a failure all are undefined. The values
 * are borrowed from `instance`. [any-thread] */
bool schema_validate_object(const struct schema *schema, yyjson_val *instance, yyjson_val **slots,
                            size_t slot_count, struct schema_failure *failure);

/** Whether a value is an object that is valid at first sight: each member is one of the root's
 * `properties`, is given once, and is a string, number or boolean that nothing but its type, bounds
 * and choices restricts; none is a real beyond 10^15, which may stand for an integer that a real
 * cannot have. With true, slots[i] is set as by schema_validate_object(), which must be asked with
 * false: that says nothing about the value. [any-thread] */
bool schema_validate_quickly(const struct schema *schema, yyjson_val *instance, yyjson_val **slots,
                             size_t slot_count);

/** The number of `properties` of the root, and the name of one, which is valid as long as the
 * schema. [any-thread] */
size_t schema_property_count(const struct schema *schema);
const char *schema_property_name(const struct schema *schema, size_t index);

/** Whether schema_fill_defaults() could ever add something. [any-thread] */
bool schema_has_defaults(const struct schema *schema);

/** Add the `default` of each absent property, at any depth reached through `properties`, `items`,
 * `prefixItems`, `allOf` and `$ref`.
 *
 * @param instance  borrowed
 * @param alc       allocator for a copy; NULL: malloc() and free()
 * @param ret       `instance` itself if nothing is missing; else one block from `alc`, to be
 *                  released with alc->free(alc->ctx, *ret) or, with NULL, free(). Its strings are
 *                  borrowed from the instance and the schema.
 * @param err       receives the message on failure; may be NULL
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int schema_fill_defaults(const struct schema *schema, yyjson_val *instance, const yyjson_alc *alc,
                         yyjson_val **ret, struct toolrack_error *err);

/** Whether `name` is a format that this module can assert. [any-thread] */
bool schema_knows_format(const char *name);
