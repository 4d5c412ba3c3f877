/* limits.h - for what a provider refuses a whole request: the numbers, in one table with the source
 * of each. An export keeps to it, and tests check what is exported by it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/format.h"

/* Which names of the root's properties the provider accepts. Others are changed, and changed back
 * in a call. */
enum provider_keys {
    KEYS_ANY,
    KEYS_ANTHROPIC, /* ^[a-zA-Z0-9_.-]{1,64}$ */
    KEYS_IDENTIFIER /* ^[a-zA-Z_][a-zA-Z0-9_]{0,63}$ */
};

/* Longest name of a property, when the provider has a rule. */
#define PROVIDER_KEY_MAX 64u

/* Of OpenAI's strict mode: a schema beyond one of them is exported without it. */
struct strict_limits {
    uint32_t depth;
    uint32_t properties;
    uint32_t enum_values;    /* of all enums together */
    uint32_t text;           /* bytes of names, enums and constants */
    uint32_t long_enum;      /* an enum with more values than this ... */
    uint32_t long_enum_text; /* ... has at most so many characters */
};

/* 0: no limit is known. */
struct provider_limits {
    uint32_t tools_max;       /* in one request */
    uint32_t description_max; /* characters of a tool's description */
    uint32_t name_max;        /* bytes of a tool's name */
    const char *name_extra;   /* what that may contain beside letters, digits, _ and - */
    bool name_letter_first;   /* it begins with a letter or _ */
    enum provider_keys keys;
    struct strict_limits strict; /* all 0: there is no strict mode */
};

/** Indexed by enum toolrack_format. */
extern const struct provider_limits provider_limits[TOOLRACK_FORMAT_COUNT];
