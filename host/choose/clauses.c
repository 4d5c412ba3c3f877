#include "choose/clauses.h"

#include <string.h>

#include "choose/intent.h"
#include "choose/values-parts.h"

/* How far behind "I" a word of wanting may stand, and in Chinese a verb behind the beginning. */
#define WANT_REACH 7u
#define HAN_REACH  16u

/* Words of lexicon/intents.txt that are so strong are verbs by themselves. */
#define VERB_STRENGTH '2'

/* ------------------------------------------------------------------------------- where they end */

/* Values that are one thing, whatever signs they have inside. */
#define WHOLE                                                                       \
    (VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_PATH) |       \
     VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_JSON) | VALUE_BIT(VALUE_EXPRESSION) | \
     VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_TIME) |      \
     VALUE_BIT(VALUE_MONEY) | VALUE_BIT(VALUE_QUANTITY) | VALUE_BIT(VALUE_NUMBER) | \
     VALUE_BIT(VALUE_PHONE) | VALUE_BIT(VALUE_CODE) | VALUE_BIT(VALUE_IP) |         \
     VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_STATE))

/* Of these, those that go on over the end of a line. */
#define OVER_LINES (VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_JSON))

/* Whether a value of some kinds goes on over the place before the byte `at`. */
static bool is_inside(const struct values *values, size_t at, uint32_t kinds) {
    for (size_t i = 0; values != NULL && i < values->solid_count; i++) {
        const struct value *value = &values->list[i];
        if ((VALUE_BIT(value->kind) & kinds) != 0 && value_origin(values, value->start) < at &&
            value_origin(values, value->end) > at) {
            return true;
        }
    }
    return false;
}

static const char *connective_at(const struct words *words, size_t at) {
    const struct lexicon_row *row;
    size_t rows;
    return words_match(words, at, &lexicon_connectives, &row, &rows) > 0
                   ? lexicon_value(&lexicon_connectives, row)
                   : "";
}

static bool ends_sentence(const char *text, size_t start, size_t end) {
    for (size_t at = start; at < end; at++) {
        if (strchr(".!?;\n", text[at]) != NULL ||
            (at + 3 <= end && memcmp(text + at, "\xe3\x80\x82", 3) == 0) ||
            (at + 3 <= end && memcmp(text + at, "\xef\xbc", 2) == 0 &&
             strchr("\x81\x9b\x9f", text[at + 2]) != NULL)) {
            return true; /* 。！；？ */
        }
    }
    return false;
}

static bool is_word(const struct word *word, const char *text) {
    return strlen(text) == word->text_length && memcmp(text, word->text, word->text_length) == 0;
}

/* ------------------------------------------------------------------------------- what they say */

/* What the words at `at` open, as lexicon/openers.txt has it; "" if they are not in it. */
static const char *opener_at(const struct words *words, size_t at, size_t *ret_length) {
    const struct lexicon_row *row;
    size_t rows;
    *ret_length = words_match(words, at, &lexicon_openers, &row, &rows);
    return *ret_length > 0 ? lexicon_value(&lexicon_openers, row) : "";
}

/* A word says by itself what is to be done. */
static bool is_verb(const struct words *words, size_t at) {
    const struct lexicon_row *row;
    size_t rows;
    size_t length = words_match(words, at, &lexicon_intents, &row, &rows);
    for (size_t i = 0; length > 0 && i < rows; i++) {
        const char *value = lexicon_value(&lexicon_intents, &row[i]);
        if (value[strlen(value) - 1] >= VERB_STRENGTH) {
            return true;
        }
    }
    return false;
}

/* "I am looking for ...": a word of wanting, before long. */
static bool is_wanting(const struct words *words, size_t at, size_t last) {
    for (size_t end = last - at < WANT_REACH ? last : at + WANT_REACH; at < end; at++) {
        size_t length;
        const char *opens = opener_at(words, at, &length);
        bool said = strcmp(opens, "want") == 0 || (strcmp(opens, "wish") == 0 && length > 1);
        if (said && intent_is_wanted(words, at)) {
            return true;
        }
    }
    return false;
}

/* In Chinese a verb may stand behind what it is done to: 把文件删除. */
static bool has_han_verb(const struct words *words, size_t at, size_t last) {
    for (size_t end = last - at < HAN_REACH ? last : at + HAN_REACH; at < end; at++) {
        if (words->items[at].kind == WORD_HAN && !words->items[at].quoted && is_verb(words, at) &&
            intent_is_wanted(words, at)) {
            return true;
        }
    }
    return false;
}

/* The words at the beginning that say nothing: how many. */
static size_t count_lead(const struct words *words, const struct clause *piece) {
    size_t at = piece->first;
    size_t length;
    if (at < piece->last && piece->sentence &&
        words->items[at].kind == WORD_NUMBER) { /* of a list: "1. read ..." */
        at++;
    }
    while (at < piece->last && strcmp(opener_at(words, at, &length), "lead") == 0) {
        at += length;
    }
    return at - piece->first;
}

/* Whether a piece begins with a word that joins only deeds: 再讲个笑话. */
static bool joins_deed(const struct words *words, const struct clause *piece) {
    static const char *const joining[] = {"再", "并"};
    const struct lexicon_row *row;
    size_t rows;
    return piece->first < piece->last && WORD_IS_ONE_OF(&words->items[piece->first], joining) &&
           words_match(words, piece->first, &lexicon_connectives, &row, &rows) > 0;
}

/* Whether a piece says itself what is to be done. */
static bool is_wish(const struct words *words, const struct clause *piece) {
    size_t at = piece->first + count_lead(words, piece);
    size_t length = 0;
    if (at >= piece->last || words->items[at].quoted) {
        return false;
    }
    const char *opens = opener_at(words, at, &length);
    if (strcmp(opens, "wish") == 0) {
        return piece->last - at > length;
    }
    if (strcmp(opens, "person") == 0 && is_wanting(words, at, piece->last)) {
        return true;
    }
    if (words->items[at].kind == WORD_HAN) {
        return has_han_verb(words, at, piece->last) || piece->begin == CLAUSE_THEN ||
               joins_deed(words, piece);
    }
    bool alone = piece->sentence || piece->begin == CLAUSE_THEN;
    return piece->last - at > 1 &&
           (strcmp(opens, "want") == 0 || (opens[0] == '\0' && (is_verb(words, at) || alone)));
}

/* ------------------------------------------------------------------------------------ the whole */

static void end_piece(const struct words *words, struct clauses *ret, size_t last, size_t end) {
    struct clause *piece = &ret->items[ret->count - 1];
    piece->last = last;
    piece->end = end;
    piece->wish = is_wish(words, piece);
}

void clauses_read(const char *text, size_t length, const struct words *words,
                  const struct values *values, struct clauses *ret) {
    *ret = (struct clauses){.count = 1};
    ret->items[0].sentence = true;
    for (size_t at = 1; at < words->count && ret->count < CLAUSES_MAX; at++) {
        const struct word *word = &words->items[at];
        const bool line = memchr(text + word[-1].end, '\n', word->start - word[-1].end) != NULL;
        const uint32_t kinds = line ? OVER_LINES : WHOLE;
        if (word->part == word[-1].part || word->literal || is_inside(values, word->start, kinds) ||
            is_inside(values, word[-1].end, kinds)) {
            continue;
        }
        struct clause *piece = &ret->items[ret->count - 1];
        end_piece(words, ret, at, word->start);
        bool then = strcmp(connective_at(words, at), "then") == 0;
        if (piece->first + count_lead(words, piece) == at) { /* "first," begins what is behind it */
            piece->begin = then ? CLAUSE_THEN : piece->begin;
            continue;
        }
        piece = &ret->items[ret->count++];
        *piece = (struct clause){.start = word->start,
                                 .first = at,
                                 .begin = then ? CLAUSE_THEN : CLAUSE_BESIDE,
                                 .sentence = ends_sentence(text, word[-1].end, word->start),
                                 .or_else = is_word(word, "or")};
        /* A quote or a bracket that opens before a word is its own. */
        while (piece->start > word[-1].end && strchr("\"'([{", text[piece->start - 1]) != NULL) {
            ret->items[ret->count - 2].end = --piece->start;
        }
    }
    end_piece(words, ret, words->count, length);
}

/* Whether what begins a sentence leads to a wish in it: "also, I am new here, and would like ...".
 */
static bool leads(const struct clauses *pieces, size_t at) {
    size_t i = at + 1;
    while (i < pieces->count && !pieces->items[i].sentence && !pieces->items[i].wish) {
        i++;
    }
    return pieces->items[at].sentence && i < pieces->count && !pieces->items[i].sentence;
}

void clauses_join(const struct clauses *pieces, struct clauses *ret) {
    size_t count = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct clause piece = pieces->items[i];
        struct clause *before = count > 0 ? &ret->items[count - 1] : NULL;
        if (before != NULL && (piece.wish ? !before->wish : !leads(pieces, i))) {
            before->end = piece.end;
            before->last = piece.last;
            before->wish = before->wish || piece.wish;
        } else {
            ret->items[count++] = piece;
        }
    }
    ret->count = count;
}
