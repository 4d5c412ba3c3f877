#include "choose/orders.h"

#include <string.h>

#include "base/cleanup.h"
#include "choose/clauses.h"
#include "choose/intent.h"
#include "choose/opposite.h"

/* Words of the lexicon of intents of less weight are no verbs. */
#define VERB_WEIGHT_MIN '2'

/* Behind a verb that begins a smaller part these say that it is a noun: "record to the list". */
static const char *const prepositions[] = {"to",   "of",   "in",  "at",   "by",  "for", "from",
                                           "with", "into", "on",  "is",   "are", "was", "as",
                                           "per",  "or",   "and", "than", "via", "that"};
static const char *const referring[] = {"it", "them", "its", "它", "其"};
static const char *const ors[] = {"or", "或", "或者"};
static const char *const asking[] = {"what", "when", "where", "who", "how", "which", "is", "are"};

static bool is_text(const struct word *word, const char *text) {
    size_t length = strlen(text);
    return word->text_length == length && memcmp(word->text, text, length) == 0;
}

/* ------------------------------------------------------------------------------------- verbs */

static bool ends_with(const struct word *word, const char *ending) {
    size_t length = strlen(ending);
    return word->text_length > length + 1 &&
           memcmp(word->text + word->text_length - length, ending, length) == 0;
}

/* "delete", but not "deleted", "deleting", "deletes" and "orders". */
static bool is_base(const struct word *word) {
    return word->kind == WORD_HAN ||
           (!ends_with(word, "ing") && !(ends_with(word, "ed") && !ends_with(word, "eed")) &&
            (!ends_with(word, "s") || ends_with(word, "ss")));
}

bool orders_verb_of(const struct word *word, bool name, struct orders_verb *ret) {
    if (word->kind != WORD_LETTERS || word->stop || word->stem_length >= ORDERS_VERB_SIZE) {
        return false;
    }
    memcpy(ret->stem, word->stem, word->stem_length);
    ret->stem[word->stem_length] = '\0';
    ret->name = name;
    return true;
}

/* Whether a tool says of itself that it does what a word says. */
static bool is_of_tool(const struct orders_verbs *verbs, const struct word *word, bool clause) {
    for (size_t i = 0; verbs != NULL && i < verbs->count; i++) {
        if (strlen(verbs->items[i].stem) == word->stem_length &&
            memcmp(verbs->items[i].stem, word->stem, word->stem_length) == 0 &&
            (clause || !verbs->items[i].name)) {
            return true;
        }
    }
    return false;
}

/* How many words are a verb that is an order; 0: none is.
 * @param clause  a clause begins with it */
static size_t match_order(const struct words *words, const struct orders_verbs *verbs, size_t at,
                          bool clause) {
    const struct word *word = &words->items[at];
    const struct lexicon_row *row;
    size_t rows;
    bool clear = false;
    if (word->quoted || word->literal || !is_base(word) || !intent_is_wanted(words, at)) {
        return 0;
    }
    size_t length = words_match(words, at, &lexicon_intents, &row, &rows);
    for (size_t i = 0; length > 0 && i < rows; i++) {
        const char *value = lexicon_value(&lexicon_intents, &row[i]);
        clear = clear || value[strlen(value) - 1] >= VERB_WEIGHT_MIN;
    }
    length = clear ? length : 0;
    struct deeds_reading deeds = deeds_read(words, at);
    size_t of_deed = deeds.rows > 0 ? deeds.length : 0;
    length = of_deed > length ? of_deed : length;
    return length == 0 && is_of_tool(verbs, word, clause) ? 1 : length;
}

/* ------------------------------------------------------------------------------------- wishes */

struct splitting {
    const struct words *words;
    const struct orders_verbs *verbs;
    bool verb;   /* the wish that is open has one */
    bool object; /* and says something besides */
    bool asks;   /* and is a question */
};

static bool is_value(const char *value, const char *wanted) {
    return strcmp(value, wanted) == 0;
}

/* Where a piece begins to say something: behind "and", "then", "can you", 请. */
static size_t skip_openers(const struct words *words, size_t at, size_t end) {
    while (at < end) {
        const struct lexicon_row *row;
        size_t rows;
        size_t length = words_match(words, at, &lexicon_openers, &row, &rows);
        if (length == 0 || !is_value(lexicon_value(&lexicon_openers, row), "lead")) {
            length = words_match(words, at, &lexicon_moods, &row, &rows);
            bool wish = length > 0 && is_value(lexicon_value(&lexicon_moods, row), "wish");
            length = wish ? length : 0;
        }
        if (length == 0) {
            return at;
        }
        at += length;
    }
    return at;
}

/* Whether a Chinese part has a verb: of 明天九点提醒我 it stands behind the time. */
static bool has_han_order(const struct words *words, size_t at, size_t end) {
    for (; at < end; at++) {
        if (words->items[at].kind == WORD_HAN && match_order(words, NULL, at, false) > 0) {
            return true;
        }
    }
    return false;
}

/* Whether the words from `at` on want something done: an order with what it is done to. */
static bool is_order(const struct splitting *splitting, size_t at, size_t end, bool clause) {
    const struct words *words = splitting->words;
    const struct word *word = &words->items[at];
    if (word->kind == WORD_HAN) {
        bool told = clause || is_text(word, "把") || is_text(word, "将");
        return match_order(words, NULL, at, clause) > 0 || (told && has_han_order(words, at, end));
    }
    size_t length = match_order(words, splitting->verbs, at, clause);
    if (length == 0) {
        return false;
    }
    bool object = at + length < end &&
                  (clause || !WORD_IS_ONE_OF(&words->items[at + length], prepositions));
    return object || (clause && at + length >= end);
}

static bool is_question(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    const struct lexicon_row *row;
    size_t rows;
    return !word->quoted && (WORD_IS_ONE_OF(word, asking) ||
                             words_match(words, at, &lexicon_questions, &row, &rows) > 0);
}

static bool refers_back(const struct words *words, size_t at, size_t end) {
    for (; at < end; at++) {
        if (!words->items[at].quoted && WORD_IS_ONE_OF(&words->items[at], referring)) {
            return true;
        }
    }
    return false;
}

/* Whether the wish that is open has a verb and something else by word `end`. */
static void read_part(struct splitting *splitting, size_t at, size_t end) {
    const struct words *words = splitting->words;
    splitting->asks = splitting->asks || (at < end && is_question(words, at));
    for (bool first = true; at < end; first = false) {
        size_t length = splitting->verb ? 0 : match_order(words, splitting->verbs, at, first);
        const struct word *word = &words->items[at];
        splitting->verb = splitting->verb || length > 0;
        splitting->object =
                splitting->object ||
                (length == 0 && (!word->stop || word->quoted || WORD_IS_ONE_OF(word, referring)));
        at += length > 0 ? length : 1;
    }
}

/* Whether a new wish begins with a piece, whose words say something from `begin` on. */
static bool begins_wish(const struct splitting *splitting, const struct clause *piece,
                        size_t begin) {
    const struct words *words = splitting->words;
    const struct word *word = &words->items[piece->first];
    bool clause = word[-1].clause != word->clause;
    bool done = splitting->object && (splitting->verb || splitting->asks);
    if (!done || begin >= piece->last || word->quoted || WORD_IS_ONE_OF(word, ors)) {
        return false;
    }
    return is_order(splitting, begin, piece->last, clause) ||
           ((clause || splitting->asks) && piece->last - begin > 1 && is_question(words, begin));
}

/* Whether a colon stands between two words: what follows is said, and no wish. */
static bool is_said(const char *text, const struct word *word) {
    for (size_t at = word[-1].end; at < word->start; at++) {
        if (text[at] == ':' || strncmp(&text[at], "：", strlen("：")) == 0) {
            return true;
        }
    }
    return false;
}

void orders_read(const char *text, const struct words *words, const struct clauses *pieces,
                 const struct orders_verbs *verbs, struct orders *ret) {
    struct splitting splitting = {.words = words, .verbs = verbs};
    bool said = false; /* what is read stands behind a colon */
    ret->count = 0;
    for (size_t i = 0; words->count > 0 && i < pieces->count; i++) {
        const struct clause *piece = &pieces->items[i];
        size_t begin = skip_openers(words, piece->first, piece->last);
        said = said || (i > 0 && splitting.verb && is_said(text, &words->items[piece->first]));
        if (ret->count == 0 ||
            (!said && ret->count < ORDERS_MAX && begins_wish(&splitting, piece, begin))) {
            splitting.verb = splitting.object = splitting.asks = false;
            begin = begin < piece->last ? begin : piece->first;
            ret->items[ret->count++] = (struct order){.first = piece->first, .begin = begin};
        }
        read_part(&splitting, begin, piece->last);
        struct order *last = &ret->items[ret->count - 1];
        /* Of "what time is it" the "it" is nothing. */
        bool refers = ret->count > 1 && !splitting.asks;
        last->refers = last->refers || (refers && refers_back(words, begin, piece->last));
        last->end = piece->last;
    }
}
