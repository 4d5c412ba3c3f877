/* What the rules take from a clause for a value, and is none: the clause itself, words that stand
 * for the elements of a list, and arithmetic that lacks an operand. */
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "choose/expression-parts.h"
#include "choose/fill-parts.h"
#include "choose/lexicon.h"
#include "choose/profile.h"
#include "choose/wish-making.h"

/* Words, or Chinese characters, behind "each" that only say of what. */
#define EACH_WORDS_MAX 3u

CLEANUP_DEFINE(struct values, values_destroy)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Words for the elements of what came before: "of each", "each of the lines", 每个. */
static bool is_each(const char *text) {
    static const char *const each[] = {"each", "every", "每", "各"};
    size_t words = 0;
    text += strncmp(text, "of ", 3) == 0 || strncmp(text, "in ", 3) == 0 ? 3 : 0;
    for (size_t i = 0; i < ARRAY_LENGTH(each); i++) {
        size_t length = strlen(each[i]);
        bool han = (each[i][0] & 0x80) != 0;
        if (strncmp(text, each[i], length) == 0 &&
            (han || text[length] == ' ' || text[length] == '\0')) {
            for (const char *c = text + length; *c != '\0'; c++) {
                words += *c == ' ' || (han && (*c & 0xc0) == 0xc0);
            }
            return words <= EACH_WORDS_MAX;
        }
    }
    return false;
}

/* Whether bytes of the text are all words of a piece: behind the connective that begins it, if it
 * says itself what is to be done, else with it. */
static bool is_whole(const struct making *making, const struct clause *piece, bool own,
                     size_t start, size_t end) {
    const struct words *words = &making->words;
    const struct lexicon_row *row;
    size_t rows;
    if (piece->start >= making->length || piece->first >= piece->last ||
        words->items[piece->first].quoted) {
        return false;
    }
    size_t joins = words_match(words, piece->first, &lexicon_connectives, &row, &rows);
    size_t verb = piece->first + (joins < piece->last - piece->first ? joins : 0);
    size_t first = own && piece->wish ? verb : piece->first;
    return start <= words->items[first].start && end >= words->items[piece->last - 1].end &&
           (joins > 0 || (own && piece->wish));
}

static bool wants_expression(const struct called *call, const char *pointer) {
    const struct parameters *parameters = profile_parameters(called_profile(call));
    for (size_t i = 0; i < parameters->count; i++) {
        if (strcmp(parameters->list[i].pointer, pointer) == 0) {
            return parameters->list[i].hint == HINT_EXPRESSION;
        }
    }
    return false;
}

/* Whether a text has something to compute with: a number, or a name such as x. */
static bool has_operand(const char *text) {
    while (*text != '\0' && !ascii_is_alnum(*text)) {
        text++;
    }
    return *text != '\0';
}

/* A number alone is nothing to be computed: "for the order 77". */
static bool is_number(const char *text) {
    return text[strspn(text, "0123456789., ")] == '\0';
}

/* Whether a text is arithmetic without an operand: "times 3", 结果乘以2, 一半. */
static bool lacks_operand(const char *text) {
    CLEANUP(values_destroyp) struct values *values = NULL;
    static const struct arguments_context none = {0};
    size_t length;
    if (values_read(text, strlen(text), &none, &values, NULL) < 0 || values->token_count == 0) {
        return false;
    }
    const size_t last = values->token_count - 1;
    bool begins = values->tokens[0].kind != TOKEN_SIGN &&
                  expression_operator_at(values, 0, &length) != NULL;
    return begins || (last > 0 && values->reference_count > 0) || !has_operand(text) ||
           (last > 0 && expression_operator_at(values, last, &length) != NULL);
}

/* What stands in quotes is a value, whatever it says. */
static bool is_quoted(const struct making *making, const struct wish_part *part,
                      const struct arguments_value *value) {
    size_t start = value->span_count == 1 ? part->start + value->spans[0].start : 0;
    const char *text = making->text + start;
    return start > 0 && (strchr("\"'", text[-1]) != NULL || strchr("\"'", text[0]) != NULL ||
                         (start > 2 && memcmp(text - 3, "\xe2\x80", 2) == 0));
}

bool wish_is_value(const struct making *making, const struct called *call,
                   const struct wish_part *part, const struct arguments_value *value) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(value->json, strlen(value->json), 0);
    const char *text = yyjson_get_str(yyjson_doc_get_root(doc));
    if (text == NULL || value->source != ARGUMENTS_FROM_TEXT) {
        return true;
    }
    bool whole = value->span_count == 1 &&
                 is_whole(making, part->piece, part->own, part->start + value->spans[0].start,
                          part->start + value->spans[0].end);
    /* "Then 5 + 5" is arithmetic as a whole. */
    const bool expression = wants_expression(call, value->pointer);
    whole = whole && !(expression && strpbrk(text, "+-*/^%") != NULL);
    return !whole && !(is_each(text) && !is_quoted(making, part, value)) &&
           !(expression && (is_number(text) || lacks_operand(text)));
}
