/* provider.h - what each provider takes of a tool.
 *
 * A provider refuses a whole request for one definition it does not like, so what it
 * dislikes is known here and never sent. The limits and rules are those of the
 * providers' types, pages and error messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/tool.h"
#include "toolrack/format.h"

/* How a schema has to be. What is no rule of a provider stays as the tool says it. */
enum provider_rule {
    RULE_DIALECT = 1 << 0,        /* 2020-12 without saying so: earlier drafts' words go */
    RULE_FLAT_ROOT = 1 << 1,      /* the root is an object and no choice between several */
    RULE_PROPERTIES = 1 << 2,     /* the root lists its properties, if none */
    RULE_ITEMS = 1 << 3,          /* an array says what its items are */
    RULE_OBJECTS_ONLY = 1 << 4,   /* a schema is an object: neither true nor false */
    RULE_ONE_TYPE = 1 << 5,       /* `type` is one name, a choice is an anyOf */
    RULE_LONE_REF = 1 << 6,       /* beside `$ref` only words about it; it leads into `$defs` */
    RULE_KNOWN_REQUIRED = 1 << 7, /* what is required is one of the properties */
    RULE_NO_CONST = 1 << 8,       /* a constant is an enum of one */
    RULE_FEW_WORDS = 1 << 9,      /* the few keywords that Ollama keeps, and no `$ref` */
    RULE_STRICT = 1 << 10,        /* a schema that meets OpenAI's strict rules is marked so */
    RULE_RESULT = 1 << 11,        /* the result has a schema too */
    RULE_OBJECT_RESULT = 1 << 12, /* ... when it is an object */
};

/* Which names of properties are taken. */
enum provider_keys {
    KEYS_ANY,
    KEYS_ANTHROPIC, /* ^[a-zA-Z0-9_.-]{1,64}$, at any depth */
    KEYS_IDENTIFIER /* ^[a-zA-Z_][a-zA-Z0-9_]{0,63}$, the arguments themselves */
};

/* Longest name of a property where there is a rule. */
#define PROVIDER_KEY_MAX 64u

/* A tool ready to be written down; all borrowed. */
struct definition {
    const struct format_tool *tool;
    const char *name;        /* as the provider gets it */
    const char *description; /* UTF-8; NULL: none */
    const char *title;
    const char *schema;
    const char *result_schema; /* NULL: none */
    bool strict;
};

struct provider {
    const char *whose;
    uint32_t tools_max; /* in one request; 0: no documented limit */
    unsigned rules;     /* enum provider_rule, together */
    enum provider_keys keys;
    const char *name_extra; /* what a name may hold beside letters, digits, _ and - */
    bool name_letter_first; /* it begins with a letter or _ */
    const char *before;     /* text around all definitions, when there are any */
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
