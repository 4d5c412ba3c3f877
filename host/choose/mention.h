/* mention.h - where a text has a word.
 *
 * Choices and the words of parameters are looked up in a text, and not the text gone through for
 * each of them: a tool may have a thousand choices, and a text two thousand words. */
#pragma once

#include "choose/token.h"

struct mentions;

/* Most places of one word at which a choice that begins with it is looked for, the last ones
 * first. */
#define MENTION_PLACES_MAX 128u

/** Index the words of a text, whose tokens are borrowed.
 * @param lower  the text in lower case
 * @return NULL: out of memory. */
struct mentions *mentions_create(const char *lower, const struct token *tokens, size_t count);

/** Release; NULL is ignored. */
void mentions_destroy(struct mentions *mentions);

/** Whether the text may have a word of a choice, or one that means the same: false is certain.
 * @param ret_words  how many words and signs the choice has */
bool mentions_may_have(const struct mentions *mentions, const char *choice, size_t length,
                       size_t *ret_words);

/* Most keys of a word: itself, its pair, its concepts, a choice as one word. */
#define MENTION_KEYS_MAX (TOKEN_CONCEPTS_MAX + 3u)

/** Tokens of the text, the last first. */
struct mention_walk {
    const struct mentions *mentions;
    uint32_t nodes[MENTION_KEYS_MAX]; /**< the next of each key */
    size_t count;
};

/** Begin with the tokens that may be like another one: by stem, pair of characters or concept. */
void mention_begin_alike(const struct mentions *mentions, const struct token *token,
                         struct mention_walk *ret);

/** Begin with the tokens at which a choice may stand letter by letter. */
void mention_begin_spelled(const struct mentions *mentions, const char *choice, size_t length,
                           struct mention_walk *ret);

/** Begin with the tokens at which a choice may begin, whose first token is given. */
void mention_begin_choice(const struct mentions *mentions, const char *choice, size_t length,
                          const struct token *token, struct mention_walk *ret);

/** The next token; false: there is none. */
bool mention_next(struct mention_walk *walk, size_t *ret_at);
