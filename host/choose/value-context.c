/* Words that stand for what the context has: an earlier result, the working folder, the user's time
 * zone, currency and language. */
#include <string.h>

#include "choose/values-parts.h"

/* Nouns behind "that" and the like that belong to it: the log file. */
#define NOUN_TOKENS_MAX 3u

static const struct lexeme *reference_at(const struct values *values, size_t at,
                                         size_t *ret_length) {
    return values->tokens[at].kind == TOKEN_SIGN
                   ? NULL
                   : token_lexeme(values->lower, values->tokens, values->token_count, at,
                                  LEXEME_REFERENCES, ret_length);
}

/* The end of the noun behind a word that points; `at`: there is none. */
static size_t noun_end(const struct values *values, size_t at) {
    size_t end = at;
    while (end < values->token_count && end - at < NOUN_TOKENS_MAX &&
           (values->tokens[end].kind == TOKEN_HAN || values->tokens[end].kind == TOKEN_WORD) &&
           values->tokens[end].cue == CUE_NONE &&
           (end == at || values->tokens[end].space || values->tokens[end].kind == TOKEN_HAN)) {
        end++;
    }
    return end;
}

static void add_reference(struct values *values, size_t first, size_t last) {
    if (values->reference_count < VALUES_REFERENCES_MAX && values->tokens[first].user) {
        values->references[values->reference_count++] =
                (struct value_reference){(uint16_t)first, (uint16_t)last};
    }
}

static void add_from(struct values *values, enum value_kind kind, enum arguments_source source,
                     const struct lexeme *lexeme, size_t first, size_t last) {
    struct value *value = value_add(values, kind, first, last);
    if (value != NULL) {
        value->source = (uint8_t)source;
        value->lexeme = lexeme;
    }
}

/* "here" is the folder only where there is one; "the current folder" is "." without. */
static void add_context(struct values *values, const char *what, size_t first, size_t last) {
    const struct arguments_context *context = &values->context;
    bool here = strcmp(what, "here") == 0;
    if (strcmp(what, "folder") == 0 || (here && context->folder != NULL)) {
        add_from(values, VALUE_PATH, ARGUMENTS_FROM_FOLDER, NULL, first, last);
    }
    if ((strcmp(what, "zone") == 0 || here) && context->time_zone != NULL) {
        add_from(values, VALUE_ZONE, ARGUMENTS_FROM_ZONE, NULL, first, last);
    }
    if (strcmp(what, "currency") == 0 && values->locale.currency != NULL) {
        add_from(values, VALUE_CURRENCY, ARGUMENTS_FROM_LOCALE, values->locale.currency, first,
                 last);
    }
    if (strcmp(what, "language") == 0 && values->locale.language != NULL) {
        add_from(values, VALUE_LANGUAGE, ARGUMENTS_FROM_LOCALE, values->locale.language, first,
                 last);
    }
}

void value_find_context(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        size_t length = 0;
        const struct lexeme *lexeme = reference_at(values, at, &length);
        if (lexeme == NULL) {
            continue;
        }
        bool points = strcmp(lexeme->first, "points") == 0;
        size_t end = points ? noun_end(values, at + length) : at + length;
        if (strcmp(lexeme->first, "result") == 0 || end > at + length) {
            add_reference(values, at, end);
        } else if (!points) {
            add_context(values, lexeme->first, at, end);
        }
        at += length - 1;
    }
}
