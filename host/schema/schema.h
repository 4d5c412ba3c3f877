/* schema.h - JSON Schema, compiled once and checked fast.
 *
 * Understands draft 2020-12 and draft 7 as their specifications and the official test suite demand;
 * of 2019-09 it follows what documents of that draft need when they are referred to. Compiling
 * checks that the schema is well-formed and turns it into a small immutable program; validating
 * walks the program over a yyjson value and allocates nothing for ordinary schemas.
 *
 * Formats that can be asserted: date-time, date, time, duration, email, hostname, ipv4, ipv6, uri,
 * uri-reference, iri, iri-reference, uri-template, json-pointer, relative-json-pointer, uuid,
 * regex. Other formats are annotations and never asserted. A hostname is checked as RFC 1123 says;
 * what an internationalised label (xn--) stands for is not looked at.
 *
 * Memory while validating: `uniqueItems` over more than 128 items and `unevaluated*` over more than
 * 1024 children take a block from malloc and give it back. The first `pattern` on more threads at
 * once than there were before makes a matcher, which the schema keeps, and pcre2 may enlarge it for
 * a hard match. Nothing else allocates. */
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
#define SCHEMA_DOCUMENTS_MAX 256     /**< documents that references lead to */
#define SCHEMA_RESOURCES_MAX 1024    /**< schemas with an `$id` of their own */
#define SCHEMA_ANCHORS_MAX   4096    /**< anchors in all documents together */
#define SCHEMA_DYNAMIC_MAX   64      /**< names that `$dynamicRef` looks for */
#define SCHEMA_REQUIRED_MAX  1024    /**< names in one `required` */
#define SCHEMA_PATTERN_MAX   8192    /**< bytes of one regular expression */

/* Limits while validating. */
#define SCHEMA_RECURSION_MAX 256      /**< schemas and values entered and not yet left */
#define SCHEMA_STEPS_MAX     10000000 /**< small steps; about half a second of work */
#define SCHEMA_MATCH_MAX     1000000  /**< backtracks of one regular expression over one text */

/* Longest texts of a failure, with their final zero. */
#define SCHEMA_FIELD_MAX  256
#define SCHEMA_REASON_MAX 512

/** Find a document that a reference names. `uri` is absolute where the schema gives a base, without
 * fragment. The value is borrowed until schema_compile() returns; NULL means unknown. */
typedef yyjson_val *schema_lookup(void *user, const char *uri);

struct schema_options {
    enum schema_dialect dialect; /**< for a document without `$schema` */
    bool assert_format;          /**< `format` is checked, not only noted */
    bool root_object;            /**< the root must say `"type": "object"`, as a tool's must */
    bool check_defaults;         /**< each `default` must be valid against its own subschema */
    schema_lookup *lookup;       /**< NULL: nothing but the bundled metaschemas is found */
    void *lookup_user;
    int64_t steps_max; /**< SCHEMA_STEPS_MAX when 0 */
};

/** What a tool's parameters are compiled with. */
#define SCHEMA_OPTIONS_TOOL ((struct schema_options){.root_object = true, .check_defaults = true})

/** Why a value is not valid. A plain value; nothing in it is to be freed. */
struct schema_failure {
    int code;                     /**< TOOLRACK_E_INVALID_ARGUMENTS, _LIMIT_EXCEEDED, _NO_MEMORY */
    const char *keyword;          /**< the keyword that refused, static text */
    char field[SCHEMA_FIELD_MAX]; /**< JSON Pointer of the value, or of the property missing */
    char reason[SCHEMA_REASON_MAX]; /**< one line that says how to correct it */
};

/** Compile a schema.
 *
 * @param root     the document's root, of an immutable yyjson document; borrowed during the call
 * @param options  borrowed during the call; NULL is all zero
 * @param ret      receives the program, to be released with schema_destroy()
 * @param err      on failure: field is the JSON Pointer of the place in the schema, the message
 *                 names it too
 * @return 0; TOOLRACK_E_INVALID for a schema that is not well-formed or a reference that leads
 *         nowhere; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int schema_compile(yyjson_val *root, const struct schema_options *options, struct schema **ret,
                   struct toolrack_error *err);

/** Release; NULL is ignored. No thread may be using it. [any-thread] */
void schema_destroy(struct schema *schema);

/** Whether `instance` (borrowed) is valid. `failure` may be NULL and is set only when it is not.
 * Many threads may use one schema at once. [any-thread] */
bool schema_validate(const struct schema *schema, yyjson_val *instance,
                     struct schema_failure *failure);

/** The same for an instance that must be an object. On success slots[i] is the value of the root's
 * i-th property in the order of its `properties`, or NULL where absent; of a name that occurs
 * twice, the first. Slots beyond the properties are NULL; after a failure all are undefined. The
 * values are borrowed from `instance`. [any-thread] */
bool schema_validate_object(const struct schema *schema, yyjson_val *instance, yyjson_val **slots,
                            size_t slot_count, struct schema_failure *failure);

/** How many `properties` the root lists, and the name of one; it lives as long as the schema.
 * [any-thread] */
size_t schema_property_count(const struct schema *schema);
const char *schema_property_name(const struct schema *schema, size_t index);

/** Whether schema_fill_defaults() could ever add something. [any-thread] */
bool schema_has_defaults(const struct schema *schema);

/** Add the `default` of each absent property, at any depth that `properties`, `items`,
 * `prefixItems`, `allOf` and `$ref` lead to.
 *
 * @param instance  borrowed
 * @param alc       where a copy comes from; NULL is malloc and free
 * @param ret       `instance` itself when nothing is missing; else one block from `alc`, to be
 *                  released with alc->free(alc->ctx, *ret) or, with NULL, free(). Its texts are
 *                  borrowed from the instance and the schema.
 * @param err       receives the message on failure; may be NULL
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int schema_fill_defaults(const struct schema *schema, yyjson_val *instance, const yyjson_alc *alc,
                         yyjson_val **ret, struct toolrack_error *err);

/** Whether `name` is a format that this module can assert. [any-thread] */
bool schema_knows_format(const char *name);
