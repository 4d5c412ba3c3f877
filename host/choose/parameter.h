/* parameter.h - the parameters of a tool, flat, with what their names and descriptions say.
 *
 * A nested object is given by its members: filter.from is one parameter with the pointer
 * "/filter/from"; of an array of objects the members of its first item are. */
#pragma once

#include "base/arena.h"
#include "choose/arguments.h"
#include "choose/token.h"

enum parameter_type {
    PARAMETER_STRING,
    PARAMETER_NUMBER,
    PARAMETER_ARRAY, /**< of strings or numbers */
    PARAMETER_BOOLEAN,
    PARAMETER_CHOICE,  /**< one of `choices` */
    PARAMETER_CHOICES, /**< array of such */
    PARAMETER_JSON,    /**< any other: only what the text has as JSON */
    PARAMETER_TYPES
};

/** What a text is for a regular expression. */
enum parameter_regex {
    REGEX_NONE,
    REGEX_PATTERN,
    REGEX_REPLACEMENT /**< of what another parameter's pattern matches */
};

/* Tokens of a name and of a description that are compared with a text, and examples of it. */
#define PARAMETER_NAME_MAX     16u
#define PARAMETER_TOKENS_MAX   96u
#define PARAMETER_EXAMPLES_MAX 16u

/** Bytes of the description. */
struct parameter_text {
    const char *text;
    size_t length;
};

struct parameter {
    const char *pointer; /**< JSON Pointer in the arguments */
    const char *name;
    const char *description; /**< "" if there is none */
    yyjson_val *schema;
    uint8_t type;
    uint8_t hint;
    uint8_t role;
    uint8_t regex;      /**< enum parameter_regex */
    uint32_t piece;     /**< what it takes of something that is written as one: enum value_piece */
    bool whole;         /**< number: an integer; array: of numbers if `numbers` */
    bool numbers;       /**< array: of numbers */
    bool counts;        /**< number: of how many there are to be: limit, max_results */
    uint8_t coordinate; /**< number: which coordinate of a place it is: enum value_way */
    uint8_t side;   /**< number: the end that it is how many of, head or tail: enum value_side */
    bool yes_first; /**< boolean with two choices, such as yes and no: yes is the first */
    bool required;  /**< by the object that it is in */
    bool must;      /**< and that object is required too, up to the root */
    bool has_default;
    yyjson_val *standard; /**< the default; NULL: none */
    uint8_t depth;
    uint16_t array; /**< of a member of objects in an array: bytes of the pointer before "/0" */
    const struct lexeme *unit;      /**< unit that its name or description names; NULL: none */
    const struct lexeme *currency;  /**< the same of a currency: "amount in US dollars" */
    struct parameter_text *choices; /**< texts of the choices */
    size_t choice_count;
    struct parameter_text *examples;
    size_t example_count;
    const char *pattern; /**< of dates or times, such as "YYYY-MM-DD"; NULL: none is stated */
    size_t pattern_length;
    char *lower; /**< spaced name, line break, description; in lower case */
    struct token *tokens;
    size_t name_count; /**< tokens of the name, at the beginning */
    size_t token_count;
};

struct parameters {
    struct parameter *list;
    size_t count;
    struct token *tool_tokens; /**< of the tool's name and description */
    size_t tool_count;
    size_t tool_name_count;
};

/** Read the parameters of a tool; all memory is of the arena, and the schema is borrowed.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int parameters_read(const struct arguments_tool *tool, struct arena *arena, struct parameters *ret,
                    struct toolrack_error *err);
