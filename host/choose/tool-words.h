/* tool-words.h - the texts of one tool, read once as words for scene.c, intent.c and fit.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "choose/index.h"
#include "choose/words.h"

/* Bytes that are read of all texts of a tool; of its description and scenarios; and of each other
 * text, such as what is said of one parameter. */
#define TOOL_WORDS_SIZE_MAX  2048u
#define TOOL_DESCRIPTION_MAX 480u
#define TOOL_WORDS_PART_MAX  96u

/** In the order in which they are read. */
enum tool_field {
    TOOL_NAME,
    TOOL_TITLE,
    TOOL_DESCRIPTION,
    TOOL_CATEGORY,
    TOOL_TAGS,
    TOOL_SCENARIOS,
    TOOL_PARAMETERS, /**< names, descriptions and choices */
    TOOL_FIELD_COUNT
};

struct tool_words {
    struct words words;
    size_t ends[TOOL_FIELD_COUNT]; /**< where the fields end in the text that was read, in bytes */
    unsigned purpose;              /**< the clause with which the description begins */
};

/** Read the texts of a tool, borrowed during the call.
 * @param parameters  its JSON Schema; NULL: it takes none
 * @param ret         to be released with tool_words_finish()
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int tool_words_read(const struct index_document *tool, yyjson_val *parameters,
                    struct tool_words *ret, struct toolrack_error *err);
/** An empty struct is ignored. [any-thread] */
void tool_words_finish(struct tool_words *words);

/** The field that has a word. [any-thread] */
enum tool_field tool_words_field(const struct tool_words *words, const struct word *word);

/** Whether a word is of the name, the title or the first sentence of the description, which say
 * what the tool is for. [any-thread] */
bool tool_words_is_purpose(const struct tool_words *words, const struct word *word);
