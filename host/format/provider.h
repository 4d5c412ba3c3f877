/* provider.h - what each provider accepts in the definition of a tool.
 *
 * A provider refuses a whole request because of one definition that it does not accept, so its
 * rules are listed here and nothing that violates them is sent. They are from the providers' types,
 * documentation and error messages; limits.c has the numbers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/limits.h"
#include "format/tool.h"
#include "toolrack/format.h"

/* Rules for schemas. What no rule of a provider is about is exported unchanged. */
enum provider_rule {
    RULE_DIALECT = 1 << 0, /* 2020-12 without `$schema`: keywords of earlier drafts are replaced */
    RULE_FLAT_ROOT = 1 << 1,      /* the root is an object, without alternatives */
    RULE_PROPERTIES = 1 << 2,     /* the root has `properties`, even if empty */
    RULE_ITEMS = 1 << 3,          /* an array has `items` */
    RULE_OBJECTS_ONLY = 1 << 4,   /* a schema is an object: neither true nor false */
    RULE_ONE_TYPE = 1 << 5,       /* `type` is one name; several types are an anyOf */
    RULE_LONE_REF = 1 << 6,       /* beside `$ref` only annotations; it points into `$defs` */
    RULE_KNOWN_REQUIRED = 1 << 7, /* `required` names only listed properties */
    RULE_NO_CONST = 1 << 8,       /* `const` is written as an enum of one value */
    RULE_FEW_WORDS = 1 << 9,      /* only the few keywords that Ollama keeps, and no `$ref` */
    RULE_STRICT = 1 << 10,        /* a schema that meets OpenAI's strict rules is marked strict */
    RULE_RESULT = 1 << 11,        /* the schema of the result is exported too */
    RULE_OBJECT_RESULT = 1 << 12, /* ... if the result is an object */
    RULE_HEADERS = 1 << 13,       /* of `x-mcp-header` those that MCP allows, see param-header.h */
};

/* A tool ready to be written; all borrowed. */
struct definition {
    const struct format_tool *tool;
    const char *name;        /* in the provider's format */
    const char *description; /* UTF-8; NULL: none */
    const char *title;
    const char *schema;
    const char *result_schema; /* NULL: none */
    bool strict;
};

struct provider {
    const char *whose;
    const struct provider_limits *limits;
    unsigned rules;     /* enum provider_rule, together */
    const char *before; /* text around all definitions, when there are any */
    const char *after;
    void (*add)(const struct definition *definition, struct buf *out);
};

extern const struct provider provider_openai;
extern const struct provider provider_openai_responses;
extern const struct provider provider_anthropic;
extern const struct provider provider_gemini;
extern const struct provider provider_ollama;
extern const struct provider provider_mcp;

/** The provider of a format; NULL for an unknown one. [any-thread] */
const struct provider *provider_of(enum toolrack_format format);

/** Append `,"key":"text"`; nothing for NULL. */
void provider_add_text(struct buf *out, const char *key, const char *text);
