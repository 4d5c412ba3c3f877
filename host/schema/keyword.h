/* keyword.h - the table of all known keywords: the drafts that have it, the shape of its value, and
 * where its value contains schemas. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "schema/text.h"

enum draft { DRAFT_7 = 1, DRAFT_2019 = 2, DRAFT_2020 = 4 };
#define DRAFT_ALL (DRAFT_7 | DRAFT_2019 | DRAFT_2020)
#define DRAFT_NEW (DRAFT_2019 | DRAFT_2020)
#define DRAFT_OLD (DRAFT_7 | DRAFT_2019)

/** Bits of the vocabularies of 2020-12; a dialect without a vocabulary does not know its
 * keywords. */
enum vocabulary {
    VOCABULARY_CORE = 1,
    VOCABULARY_APPLICATOR = 2,
    VOCABULARY_UNEVALUATED = 4,
    VOCABULARY_VALIDATION = 8,
    VOCABULARY_META_DATA = 16,
    VOCABULARY_FORMAT_ANNOTATION = 32,
    VOCABULARY_CONTENT = 64,
    VOCABULARY_FORMAT_ASSERTION = 128,
};
#define VOCABULARY_DEFAULT 127u

struct dialect {
    enum draft draft;
    uint32_t vocabularies;
};

/** What a keyword's value must be. */
enum shape {
    SHAPE_ANY,
    SHAPE_BOOLEAN,
    SHAPE_STRING,
    SHAPE_URI,
    SHAPE_ANCHOR,
    SHAPE_NUMBER,
    SHAPE_POSITIVE,
    SHAPE_COUNT,
    SHAPE_ARRAY,
    SHAPE_NAMES,
    SHAPE_NAMES_MAP,
    SHAPE_TYPES,
    SHAPE_BOOLEAN_MAP,
    SHAPE_SCHEMA,
    SHAPE_SCHEMAS,
    SHAPE_SCHEMA_MAP,
    SHAPE_ITEMS,        /**< a schema or an array of them */
    SHAPE_DEPENDENCIES, /**< a map to schemas or names */
};

/* X(constant, name, drafts, vocabularies that bring it, shape) */
#define KEYWORDS(X)                                                                                \
    X(SCHEMA, "$schema", DRAFT_ALL, VOCABULARY_CORE, SHAPE_URI)                                    \
    X(ID, "$id", DRAFT_ALL, VOCABULARY_CORE, SHAPE_URI)                                            \
    X(REF, "$ref", DRAFT_ALL, VOCABULARY_CORE, SHAPE_URI)                                          \
    X(COMMENT, "$comment", DRAFT_ALL, VOCABULARY_CORE, SHAPE_STRING)                               \
    X(VOCABULARY, "$vocabulary", DRAFT_NEW, VOCABULARY_CORE, SHAPE_BOOLEAN_MAP)                    \
    X(ANCHOR, "$anchor", DRAFT_NEW, VOCABULARY_CORE, SHAPE_ANCHOR)                                 \
    X(DYNAMIC_ANCHOR, "$dynamicAnchor", DRAFT_2020, VOCABULARY_CORE, SHAPE_ANCHOR)                 \
    X(DYNAMIC_REF, "$dynamicRef", DRAFT_2020, VOCABULARY_CORE, SHAPE_URI)                          \
    X(RECURSIVE_ANCHOR, "$recursiveAnchor", DRAFT_2019, VOCABULARY_CORE, SHAPE_BOOLEAN)            \
    X(RECURSIVE_REF, "$recursiveRef", DRAFT_2019, VOCABULARY_CORE, SHAPE_URI)                      \
    X(DEFS, "$defs", DRAFT_NEW, VOCABULARY_CORE, SHAPE_SCHEMA_MAP)                                 \
    X(DEFINITIONS, "definitions", DRAFT_ALL, VOCABULARY_CORE, SHAPE_SCHEMA_MAP)                    \
    X(ALL_OF, "allOf", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMAS)                            \
    X(ANY_OF, "anyOf", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMAS)                            \
    X(ONE_OF, "oneOf", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMAS)                            \
    X(NOT, "not", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMA)                                  \
    X(IF, "if", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMA)                                    \
    X(THEN, "then", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMA)                                \
    X(ELSE, "else", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMA)                                \
    X(DEPENDENT_SCHEMAS, "dependentSchemas", DRAFT_NEW, VOCABULARY_APPLICATOR, SHAPE_SCHEMA_MAP)   \
    X(DEPENDENCIES, "dependencies", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_DEPENDENCIES)          \
    X(PREFIX_ITEMS, "prefixItems", DRAFT_2020, VOCABULARY_APPLICATOR, SHAPE_SCHEMAS)               \
    X(ITEMS, "items", DRAFT_2020, VOCABULARY_APPLICATOR, SHAPE_SCHEMA)                             \
    X(OLD_ITEMS, "items", DRAFT_OLD, VOCABULARY_APPLICATOR, SHAPE_ITEMS)                           \
    X(ADDITIONAL_ITEMS, "additionalItems", DRAFT_OLD, VOCABULARY_APPLICATOR, SHAPE_SCHEMA)         \
    X(CONTAINS, "contains", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMA)                        \
    X(PROPERTIES, "properties", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMA_MAP)                \
    X(PATTERN_PROPERTIES, "patternProperties", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMA_MAP) \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", DRAFT_ALL, VOCABULARY_APPLICATOR,             \
      SHAPE_SCHEMA)                                                                                \
    X(PROPERTY_NAMES, "propertyNames", DRAFT_ALL, VOCABULARY_APPLICATOR, SHAPE_SCHEMA)             \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", DRAFT_NEW, VOCABULARY_UNEVALUATED, SHAPE_SCHEMA)      \
    X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", DRAFT_NEW, VOCABULARY_UNEVALUATED,          \
      SHAPE_SCHEMA)                                                                                \
    X(TYPE, "type", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_TYPES)                                 \
    X(CONST, "const", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_ANY)                                 \
    X(ENUM, "enum", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_ARRAY)                                 \
    X(MULTIPLE_OF, "multipleOf", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_POSITIVE)                 \
    X(MAXIMUM, "maximum", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_NUMBER)                          \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_NUMBER)       \
    X(MINIMUM, "minimum", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_NUMBER)                          \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_NUMBER)       \
    X(MAX_LENGTH, "maxLength", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_COUNT)                      \
    X(MIN_LENGTH, "minLength", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_COUNT)                      \
    X(PATTERN, "pattern", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_STRING)                          \
    X(MAX_ITEMS, "maxItems", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_COUNT)                        \
    X(MIN_ITEMS, "minItems", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_COUNT)                        \
    X(UNIQUE_ITEMS, "uniqueItems", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_BOOLEAN)                \
    X(MAX_CONTAINS, "maxContains", DRAFT_NEW, VOCABULARY_VALIDATION, SHAPE_COUNT)                  \
    X(MIN_CONTAINS, "minContains", DRAFT_NEW, VOCABULARY_VALIDATION, SHAPE_COUNT)                  \
    X(MAX_PROPERTIES, "maxProperties", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_COUNT)              \
    X(MIN_PROPERTIES, "minProperties", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_COUNT)              \
    X(REQUIRED, "required", DRAFT_ALL, VOCABULARY_VALIDATION, SHAPE_NAMES)                         \
    X(DEPENDENT_REQUIRED, "dependentRequired", DRAFT_NEW, VOCABULARY_VALIDATION, SHAPE_NAMES_MAP)  \
    X(FORMAT, "format", DRAFT_ALL, VOCABULARY_FORMAT_ANNOTATION | VOCABULARY_FORMAT_ASSERTION,     \
      SHAPE_STRING)                                                                                \
    X(CONTENT_ENCODING, "contentEncoding", DRAFT_ALL, VOCABULARY_CONTENT, SHAPE_STRING)            \
    X(CONTENT_MEDIA_TYPE, "contentMediaType", DRAFT_ALL, VOCABULARY_CONTENT, SHAPE_STRING)         \
    X(CONTENT_SCHEMA, "contentSchema", DRAFT_NEW, VOCABULARY_CONTENT, SHAPE_SCHEMA)                \
    X(TITLE, "title", DRAFT_ALL, VOCABULARY_META_DATA, SHAPE_STRING)                               \
    X(DESCRIPTION, "description", DRAFT_ALL, VOCABULARY_META_DATA, SHAPE_STRING)                   \
    X(DEFAULT, "default", DRAFT_ALL, VOCABULARY_META_DATA, SHAPE_ANY)                              \
    X(DEPRECATED, "deprecated", DRAFT_NEW, VOCABULARY_META_DATA, SHAPE_BOOLEAN)                    \
    X(READ_ONLY, "readOnly", DRAFT_ALL, VOCABULARY_META_DATA, SHAPE_BOOLEAN)                       \
    X(WRITE_ONLY, "writeOnly", DRAFT_ALL, VOCABULARY_META_DATA, SHAPE_BOOLEAN)                     \
    X(EXAMPLES, "examples", DRAFT_ALL, VOCABULARY_META_DATA, SHAPE_ARRAY)

enum keyword {
#define KEYWORD_CONSTANT(constant, name, drafts, vocabularies, shape) KEYWORD_##constant,
    KEYWORDS(KEYWORD_CONSTANT)
#undef KEYWORD_CONSTANT
            KEYWORD_COUNT
};

struct keyword_row {
    const char *name;
    uint32_t drafts;
    uint32_t vocabularies;
    enum shape shape;
};
extern const struct keyword_row keyword_rows[KEYWORD_COUNT];

/** The keyword with this name in a dialect, or KEYWORD_COUNT if there is none. */
enum keyword keyword_find(const struct dialect *dialect, yyjson_val *name);
enum keyword keyword_find_name(const struct dialect *dialect, const char *name, size_t length);

/** Whether a value has the shape; if not, `*ret_at` is the wrong part and `reason` states why. Of
 * schemas inside, only the JSON type is checked. */
bool keyword_check(enum shape shape, yyjson_val *value, yyjson_val **ret_at, struct text *reason);

/** The type of a value with its article, such as "an object". Static. */
const char *keyword_kind(yyjson_val *value);

/** The vocabulary with this URI as a bit, or 0. */
uint32_t keyword_vocabulary(const char *uri, size_t length);
