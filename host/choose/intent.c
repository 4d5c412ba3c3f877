#include "choose/intent.h"

#include <string.h>

#include "base/cleanup.h"

/* How much a word counts, by what stands before it. */
#define WANTED  1.0  /* a verb that a person gives as an order or a wish */
#define PERHAPS 0.6  /* any other word */
#define NAMED   0.2  /* a noun: "the search" */
#define QUOTED  0.15 /* part of a value */

/* The first order of a text is what it is about. */
#define FIRST_FACTOR 1.5

/* How much the fields of a tool say about what it does. */
static const double field_factors[TOOL_FIELD_COUNT] = {
        [TOOL_NAME] = 1.5, [TOOL_TITLE] = 1.5, [TOOL_DESCRIPTION] = 1};

/* A word of less weight says too little to be a verb. */
#define VERB_WEIGHT_MIN '2'

static const struct label_name items[INTENT_COUNT] = {
#define INTENT_NAME(constant, id, name_zh) {id, name_zh},
        INTENTS(INTENT_NAME)
#undef INTENT_NAME
};
static const struct label_names names = {.items = items, .count = INTENT_COUNT};

/* ------------------------------------------------------------- where a word stands */

/* Behind these a word is a verb. */
static const char *const before_verb[] = {
        "and",  "but",  "can",  "could", "d",   "help",   "i",    "kindly", "ll",   "let", "lets",
        "me",   "must", "need", "now",   "or",  "please", "pls",  "should", "then", "to",  "us",
        "want", "we",   "will", "would", "you", "just",   "also", "go",     "they"};
/* Behind these it is a noun. */
static const char *const before_noun[] = {
        "a",    "all",  "an",   "any",    "each",    "every", "for",   "from",
        "her",  "his",  "in",   "its",    "my",      "no",    "of",    "on",
        "our",  "some", "that", "the",    "their",   "this",  "these", "those",
        "with", "your", "new",  "latest", "current", "by",    "at"};
/* Behind these it is not wanted. */
static const char *const before_unwanted[] = {"cannot", "don", "dont", "never", "not", "without"};
static const char *const han_unwanted[] = {"不", "别", "勿", "没"};

static bool is_unwanted(const struct words *words, size_t at) {
    for (size_t back = 1; back <= 2 && back <= at; back++) {
        const struct word *before = &words->items[at - back];
        if (before->clause == words->items[at].clause &&
            (WORD_IS_ONE_OF(before, before_unwanted) || WORD_IS_ONE_OF(before, han_unwanted))) {
            return true;
        }
    }
    return false;
}

static double weigh(const void *user, const struct words *words, size_t at, size_t count) {
    (void)user;
    const struct word *word = &words->items[at];
    const struct word *before = at > 0 ? &words->items[at - 1] : NULL;
    if (word->quoted) {
        return QUOTED;
    }
    if (is_unwanted(words, at)) {
        return 0;
    }
    if (word->kind == WORD_HAN || before == NULL || before->clause != word->clause) {
        return WANTED;
    }
    if (count == 1 && WORD_IS_ONE_OF(before, before_noun)) {
        return NAMED;
    }
    return WORD_IS_ONE_OF(before, before_verb) ? WANTED : PERHAPS;
}

/* ----------------------------------------------------------------- intents */

/* The clear word that stands first is what the text is about. */
static void prefer_first(struct label_tally *tally) {
    struct label_sum *first = NULL;
    for (size_t i = 0; i < INTENT_COUNT; i++) {
        struct label_sum *sum = &tally->sums[i];
        if (sum->weight >= LABEL_HALF_WEIGHT && (first == NULL || sum->first < first->first)) {
            first = sum;
        }
    }
    if (first != NULL) {
        first->weight *= FIRST_FACTOR;
    }
}

size_t intent_find(const struct words *words, struct label *ret, size_t room) {
    struct label_tally tally;
    label_begin(&tally, &names);
    label_count(&tally, &lexicon_intents, words, weigh, NULL);
    prefer_first(&tally);
    return label_rank(&tally, ret, room);
}

static double weigh_field(const void *user, const struct words *words, size_t at, size_t count) {
    const struct tool_words *tool = user;
    const struct word *word = &words->items[at];
    double factor = field_factors[tool_words_field(tool, word)];
    return tool_words_is_purpose(tool, word) ? factor * weigh(NULL, words, at, count) : 0;
}

size_t intent_of_tool(const struct tool_words *tool, struct label *ret, size_t room) {
    struct label_tally tally;
    label_begin(&tally, &names);
    label_count(&tally, &lexicon_intents, &tool->words, weigh_field, tool);
    return label_rank(&tally, ret, room);
}

bool intent_is_verb(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    const struct lexicon_row *row;
    size_t rows = lexicon_find(&lexicon_intents, word->stem, word->stem_length, &row);
    for (size_t i = 0; i < rows; i++) {
        const char *value = lexicon_value(&lexicon_intents, &row[i]);
        if (value[strlen(value) - 1] >= VERB_WEIGHT_MIN) {
            return weigh(NULL, words, at, 1) > NAMED;
        }
    }
    return false;
}

bool intent_is_wanted(const struct words *words, size_t at) {
    return weigh(NULL, words, at, 1) > NAMED;
}

unsigned intent_steps(const struct words *words) {
    bool has_verb[WORDS_CLAUSES_MAX] = {false};
    unsigned steps = 0;
    for (size_t at = 0; at < words->count; at++) {
        const struct lexicon_row *first;
        size_t rows;
        size_t length = words_match(words, at, &lexicon_intents, &first, &rows);
        bool *has = &has_verb[words->items[at].clause];
        if (length > 0 && !*has && weigh(NULL, words, at, length) >= WANTED) {
            *has = true;
            steps++;
        }
    }
    return steps > 0 ? steps : 1;
}
