/* token.h - a text as words, numbers, Chinese characters and signs, with what the lexicons say.
 *
 * Of a text and of the name and description of a parameter tokens are made alike, so that their
 * words can be compared: by stem, by pair of characters, or by a concept that they share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choose/lexeme.h"

enum token_kind {
    TOKEN_WORD,   /**< letters, with digits and inner hyphens or apostrophes */
    TOKEN_NUMBER, /**< digits, with inner points and commas */
    TOKEN_HAN,    /**< one character of a script without spaces */
    TOKEN_SIGN
};

/* Most concepts of one token. */
#define TOKEN_CONCEPTS_MAX 4

struct token {
    uint32_t start;
    uint32_t end;
    uint32_t word; /**< hash of the word in lower case */
    uint32_t stem; /**< hash of its stem */
    uint32_t pair; /**< TOKEN_HAN: hash of the character and the next; 0: no next */
    uint32_t sign; /**< the character of TOKEN_HAN and TOKEN_SIGN, a wide sign as its ASCII form */
    uint16_t concepts[TOKEN_CONCEPTS_MAX]; /**< of the lexeme that begins here; 0: none */
    uint8_t concept_length;                /**< tokens of the longest of these lexemes */
    uint8_t kind;
    uint8_t cue;
    uint8_t cue_length; /**< at its first token: how many tokens the cue has; else 0 */
    uint8_t turn;       /**< of a dialogue, counted from the last; 0: the last of the user */
    bool user;          /**< said by the user */
    bool open;          /**< of the wish that is not fulfilled; set by value_drop_replaced() */
    bool space;         /**< white space before it */
    bool capital;       /**< begins with a capital letter */
    bool capitals;      /**< has more than one letter, all of them capital */
};

/** Make tokens of at most `room` words and signs.
 * @param text   borrowed
 * @param lower  the same with ASCII letters in lower case; same length
 * @return how many were made. [any-thread] */
size_t token_read(const char *text, const char *lower, size_t length, struct token *ret,
                  size_t room);

/** The longest lexeme of a kind that begins at token `at` and ends before `count`.
 * @param ret_length  its number of tokens
 * @return NULL: none. */
const struct lexeme *token_lexeme(const char *lower, const struct token *tokens, size_t count,
                                  size_t at, enum lexeme_kind kind, size_t *ret_length);

/** How alike two tokens are: 0 not, 1 share a character pair or a concept, 2 the same stem. */
int token_alike(const struct token *a, const struct token *b);

/** Hash of a word in lower case without the endings of inflection, so that "directed" is like
 * "directs"; never 0. */
uint32_t token_stem(const char *word, size_t length);

/** Hash of bytes; never 0. */
uint32_t token_hash(const char *text, size_t length);
