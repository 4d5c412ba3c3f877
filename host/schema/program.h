/* program.h - a compiled schema: immutable nodes in one arena.
 *
 * Invariants, established by compile.c and graph.c; all code that runs a program relies on them:
 *
 *  (1) Each place in a schema document has exactly one node, whichever reference points to it; so
 *      the program is a graph and may have cycles. Two nodes are the same place if their pointers
 *      are equal.
 *  (2) `tags` alone decides whether a value of some type can be valid: `true` and `false` schemas
 *      and `type` need nothing else. `integer_only` additionally requires a real to be whole.
 *  (3) The rules of a type are NULL if the schema has no keyword for that type.
 *  (4) In object_rules, properties[0..listed) are those of `properties` in the document's order;
 *      the rest are names that occur only in `required`, with node NULL.
 *  (5) No cycle consists of `$ref` and `allOf` only.
 *  (6) What a quick record takes is valid for the node it belongs to. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/number.h"
#include "schema/schema.h"

struct format;
struct regex;

/* A yyjson tag has the type in bits 0..2 and the subtype in bits 3..4; a set of tags is a bit
 * mask. */
#define TAG_BIT(tag)        (1u << ((tag) & (YYJSON_TYPE_MASK | YYJSON_SUBTYPE_MASK)))
#define TAGS_OF_TYPE(type)  (0x01010101u << (type))
#define TAGS_OF_SUBTYPE(st) (1u << (YYJSON_TYPE_NUM | (st)))
#define TAGS_REAL           TAGS_OF_SUBTYPE(YYJSON_SUBTYPE_REAL)
#define TAGS_ALL            0xffffffffu
/* Integers beyond 64 bits may be kept as their digits. */
#define TAGS_NUMBER         (TAGS_OF_TYPE(YYJSON_TYPE_NUM) | TAG_BIT(YYJSON_TYPE_RAW))

struct node_list {
    uint32_t count;
    const struct node **nodes;
};

struct number_rules {
    bool integer_only; /**< a real must be whole: `integer` without `number` */
    bool has_low, has_high, low_open, high_open;
    bool real_bounds_exact; /**< low_real and high_real equal the bounds exactly */
    int128 integer_low;     /**< the bounds for integers: inclusive, rounded inwards */
    int128 integer_high;
    double low_real, high_real;
    struct number low, high;
    yyjson_val *low_value, *high_value; /**< as written, for messages */
    yyjson_val *divisor_value;          /**< NULL without `multipleOf` */
    struct divisor divisor;
};

struct string_rules {
    uint64_t length_min, length_max; /**< in characters */
    const struct regex *pattern;
    const struct format *format;
};

struct array_rules {
    uint64_t count_min, count_max;
    uint64_t contains_min, contains_max;
    struct node_list prefix;
    const struct node *rest; /**< for items after the prefix; NULL: any */
    const struct node *contains;
    bool unique;
};

/** The rules of a node for scalars as few numbers, beside the property that has the node; see
 * quick.h. */
struct quick {
    uint32_t tags;         /**< of the values about which it can say yes; 0: none */
    uint32_t choice_count; /**< of strings; 0: any string */
    uint64_t low, high;    /**< bounds of unsigned integers, or of the bytes of strings */
    union {
        struct {
            double real_low, real_high; /**< if there are no choices */
        };
        yyjson_val *const *choices;
    };
};

struct property {
    const char *name; /**< ends in a zero */
    uint32_t length;
    uint64_t required_bit;   /**< 0 if optional */
    const struct node *node; /**< NULL: not in `properties` */
    struct quick quick;
};

struct pattern_property {
    const struct regex *regex;
    const struct node *node;
};

/** `dependentRequired`, `dependentSchemas` and `dependencies`. */
struct dependent {
    const char *trigger;
    uint32_t trigger_length;
    uint32_t name_count;
    yyjson_val **names;
    const struct node *node; /**< may be NULL */
};

struct object_rules {
    struct property *properties;
    uint32_t count;
    uint32_t listed;
    bool closed;       /**< unknown properties are refused */
    bool only_table;   /**< no rules for single properties but the table and `closed` */
    uint64_t required; /**< bits of all required properties, if at most 64 */
    uint32_t *buckets; /**< hash table of index + 1; NULL for small tables */
    uint32_t bucket_mask;
    uint32_t required_count;
    yyjson_val **required_names; /**< all of them, for tables with more than 64 and for messages */
    uint32_t pattern_count, dependent_count;
    struct pattern_property *patterns;
    struct dependent *dependents;
    const struct node *additional; /**< NULL is any */
    const struct node *names;      /**< `propertyNames` */
    uint64_t count_min, count_max;
};

/** `enum`, or `const` as an enumeration of one. */
struct choices {
    uint32_t count;
    bool only_text;
    const char *keyword;
    yyjson_val **values;
};

/** Keywords that apply other schemas to the same value. */
struct applicators {
    const struct node *reference;
    const struct node *dynamic; /**< target of `$dynamicRef` if nothing overrides it */
    uint32_t dynamic_name;      /**< of the anchor to look for, or DYNAMIC_NONE */
    struct node_list all, any, one;
    const struct node * not, *condition, *then, *otherwise;
    const struct node *unevaluated_items, *unevaluated_properties;
};
#define DYNAMIC_NONE UINT32_MAX

struct resource;

struct node {
    uint32_t tags;
    bool never;       /**< the schema `false` */
    bool integer_too; /**< `type` includes `integer`; for messages */
    const struct string_rules *string;
    const struct number_rules *number;
    const struct object_rules *object;
    const struct array_rules *array;
    const struct choices *choices, *constant;
    const struct applicators *apply;
    const struct resource *resource;
    yyjson_val *source;        /**< the schema itself */
    yyjson_val *default_value; /**< NULL without `default` */
    uint32_t mark;             /**< for graph walks while compiling */
};

/** Anchors of one resource that `$dynamicRef` may find. */
struct dynamic_anchor {
    uint32_t name;
    const struct node *node;
    const struct dynamic_anchor *next;
};

/** The data of a resource (a schema with its own URI) that a running program needs. */
struct resource {
    const struct dynamic_anchor *anchors;
};

struct schema {
    struct arena arena;
    const struct node *root;
    int64_t steps_max;
    bool has_defaults;
    bool is_quick;     /**< schema_validate_quickly() can say yes; then of the root's properties, */
    uint64_t required; /**< by their index, those that must be given */
    bool has_dynamic;  /**< the target of some `$dynamicRef` depends on the path to it */
};
