/* schema-keyword.h - the keywords of JSON Schema: the kind of value of each, which values it is
 * about, and which providers accept it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The kind of value of a keyword. */
enum keyword_holds {
    HOLDS_ANY,
    HOLDS_TEXT,
    HOLDS_NUMBER,
    HOLDS_COUNT,
    HOLDS_BOOL,
    HOLDS_LIST,
    HOLDS_TYPE,
    HOLDS_REQUIRED,
    HOLDS_SCHEMA,
    HOLDS_SCHEMAS, /* a list of schemas, not empty */
    HOLDS_MAP      /* of names to schemas */
};

enum keyword_trait {
    TRAIT_STRICT = 1, /* OpenAI's strict mode takes it */
    TRAIT_KEPT = 2,   /* Ollama keeps it */
    TRAIT_NOTE = 4,   /* annotation: it constrains nothing */
    /* Which values it is about; no bit: all. */
    TRAIT_STRING = 8,
    TRAIT_NUMBER = 16,
    TRAIT_ARRAY = 32,
    TRAIT_OBJECT = 64
};
#define TRAIT_ABOUT (TRAIT_STRING | TRAIT_NUMBER | TRAIT_ARRAY | TRAIT_OBJECT)

/* X(constant, name, what it holds, traits) */
#define FORMAT_KEYWORDS(X)                                                        \
    X(SCHEMA, "$schema", TEXT, TRAIT_NOTE)                                        \
    X(ID, "$id", TEXT, 0)                                                         \
    X(ANCHOR, "$anchor", TEXT, 0)                                                 \
    X(REF, "$ref", TEXT, TRAIT_STRICT)                                            \
    X(DYNAMIC_REF, "$dynamicRef", TEXT, 0)                                        \
    X(DYNAMIC_ANCHOR, "$dynamicAnchor", TEXT, 0)                                  \
    X(DEFS, "$defs", MAP, TRAIT_STRICT)                                           \
    X(DEFINITIONS, "definitions", MAP, 0)                                         \
    X(COMMENT, "$comment", TEXT, TRAIT_NOTE)                                      \
    X(TITLE, "title", TEXT, TRAIT_STRICT | TRAIT_NOTE)                            \
    X(DESCRIPTION, "description", TEXT, TRAIT_STRICT | TRAIT_KEPT | TRAIT_NOTE)   \
    X(DEFAULT, "default", ANY, TRAIT_NOTE)                                        \
    X(EXAMPLES, "examples", LIST, TRAIT_NOTE)                                     \
    X(DEPRECATED, "deprecated", BOOL, TRAIT_NOTE)                                 \
    X(READ_ONLY, "readOnly", BOOL, TRAIT_NOTE)                                    \
    X(WRITE_ONLY, "writeOnly", BOOL, TRAIT_NOTE)                                  \
    X(TYPE, "type", TYPE, TRAIT_STRICT | TRAIT_KEPT)                              \
    X(ENUM, "enum", LIST, TRAIT_STRICT | TRAIT_KEPT)                              \
    X(CONST, "const", ANY, TRAIT_STRICT)                                          \
    X(PROPERTIES, "properties", MAP, TRAIT_STRICT | TRAIT_KEPT | TRAIT_OBJECT)    \
    X(REQUIRED, "required", REQUIRED, TRAIT_STRICT | TRAIT_KEPT | TRAIT_OBJECT)   \
    X(ADDITIONAL, "additionalProperties", SCHEMA, TRAIT_STRICT | TRAIT_OBJECT)    \
    X(PATTERN_PROPERTIES, "patternProperties", MAP, TRAIT_OBJECT)                 \
    X(PROPERTY_NAMES, "propertyNames", SCHEMA, TRAIT_OBJECT)                      \
    X(MIN_PROPERTIES, "minProperties", COUNT, TRAIT_OBJECT)                       \
    X(MAX_PROPERTIES, "maxProperties", COUNT, TRAIT_OBJECT)                       \
    X(DEPENDENT_REQUIRED, "dependentRequired", ANY, TRAIT_OBJECT)                 \
    X(DEPENDENT_SCHEMAS, "dependentSchemas", MAP, TRAIT_OBJECT)                   \
    X(DEPENDENCIES, "dependencies", ANY, TRAIT_OBJECT)                            \
    X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", SCHEMA, TRAIT_OBJECT)      \
    X(ITEMS, "items", SCHEMA, TRAIT_STRICT | TRAIT_KEPT | TRAIT_ARRAY)            \
    X(PREFIX_ITEMS, "prefixItems", SCHEMAS, TRAIT_ARRAY)                          \
    X(ADDITIONAL_ITEMS, "additionalItems", SCHEMA, TRAIT_ARRAY)                   \
    X(CONTAINS, "contains", SCHEMA, TRAIT_ARRAY)                                  \
    X(MIN_CONTAINS, "minContains", COUNT, TRAIT_ARRAY)                            \
    X(MAX_CONTAINS, "maxContains", COUNT, TRAIT_ARRAY)                            \
    X(MIN_ITEMS, "minItems", COUNT, TRAIT_STRICT | TRAIT_ARRAY)                   \
    X(MAX_ITEMS, "maxItems", COUNT, TRAIT_STRICT | TRAIT_ARRAY)                   \
    X(UNIQUE_ITEMS, "uniqueItems", BOOL, TRAIT_ARRAY)                             \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", SCHEMA, TRAIT_ARRAY)                 \
    X(MINIMUM, "minimum", NUMBER, TRAIT_STRICT | TRAIT_NUMBER)                    \
    X(MAXIMUM, "maximum", NUMBER, TRAIT_STRICT | TRAIT_NUMBER)                    \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", NUMBER, TRAIT_STRICT | TRAIT_NUMBER) \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", NUMBER, TRAIT_STRICT | TRAIT_NUMBER) \
    X(MULTIPLE_OF, "multipleOf", NUMBER, TRAIT_STRICT | TRAIT_NUMBER)             \
    X(MIN_LENGTH, "minLength", COUNT, TRAIT_STRING)                               \
    X(MAX_LENGTH, "maxLength", COUNT, TRAIT_STRING)                               \
    X(PATTERN, "pattern", TEXT, TRAIT_STRICT | TRAIT_STRING)                      \
    X(FORMAT, "format", TEXT, TRAIT_STRICT | TRAIT_STRING)                        \
    X(CONTENT_MEDIA_TYPE, "contentMediaType", TEXT, TRAIT_NOTE | TRAIT_STRING)    \
    X(CONTENT_ENCODING, "contentEncoding", TEXT, TRAIT_NOTE | TRAIT_STRING)       \
    X(CONTENT_SCHEMA, "contentSchema", SCHEMA, TRAIT_NOTE | TRAIT_STRING)         \
    X(ALL_OF, "allOf", SCHEMAS, 0)                                                \
    X(ANY_OF, "anyOf", SCHEMAS, TRAIT_STRICT | TRAIT_KEPT)                        \
    X(ONE_OF, "oneOf", SCHEMAS, 0)                                                \
    X(NOT, "not", SCHEMA, 0)                                                      \
    X(IF, "if", SCHEMA, 0)                                                        \
    X(THEN, "then", SCHEMA, 0)                                                    \
    X(ELSE, "else", SCHEMA, 0)

enum format_keyword {
    KEYWORD_OTHER, /* no keyword of JSON Schema */
#define FORMAT_KEYWORD(constant, name, holds, traits) KEYWORD_##constant,
    FORMAT_KEYWORDS(FORMAT_KEYWORD)
#undef FORMAT_KEYWORD
            KEYWORD_COUNT
};

struct keyword_row {
    const char *name;
    uint8_t length;
    uint8_t holds;  /* enum keyword_holds */
    uint8_t traits; /* enum keyword_trait, together */
};

/** Indexed by enum format_keyword. */
extern const struct keyword_row format_keywords[KEYWORD_COUNT];

/** [any-thread] */
enum format_keyword format_keyword_find(const char *name, size_t length);
