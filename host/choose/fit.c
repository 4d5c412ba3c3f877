#include "choose/fit.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "choose/arguments.h"
#include "choose/intent.h"
#include "choose/mood.h"
#include "choose/scene.h"
#include "choose/turns.h"

/* What a word of the text weighs. */
#define WEIGHT_WORD     1.0
#define WEIGHT_VERB     0.4  /* "find", "get": many tools do */
#define WEIGHT_NAME     0.25 /* "Paris": rather a value */
#define WEIGHT_QUOTED   0.15
#define WEIGHT_QUESTION 0.4  /* "when": asks for a date */
#define WEIGHT_VALUE    0.25 /* "May 28", against a tool that has it not */
#define WEIGHT_HAN      0.5  /* two characters that are in no lexicon */

/* How much a word counts where the tool has it. */
#define STRENGTH_NAME        1.0
#define STRENGTH_DESCRIPTION 0.9
#define STRENGTH_PARAMETER   0.75

/* A description of more words than sentences have lists words rather than saying something: each
 * counts less, by the square of how many more. */
#define DESCRIBED_FULL 36.0

/* A thing weighs so much at least. */
#define HEAD_WEIGHT 0.45

/* How much a translation and a word from a lexicon of synonyms counts. */
#define FACTOR_TRANSLATION 0.9
#define FACTOR_SYNONYM     0.75

/* Slots of the words of one tool: a power of two, and at most half are used. */
#define SLOTS     1024u
#define SLOTS_MAX (SLOTS / 2)
#define SLOTS_MIN 16u
/* Bytes of these words. */
#define KEYS_MAX  8192u

/* ----------------------------------------------------------- words of a text */

/* A key of a lexicon: stems with spaces, or Chinese characters. */
struct other {
    const char *key;
    size_t length;
    double factor;
};

struct term {
    double weight;
    double blame; /* what it weighs where a tool has it not */
    bool verb;
    bool asks;    /* "how many" */
    size_t first; /* of the words */
    size_t count;
    size_t other_count;
    struct other others[FIT_OTHERS_MAX]; /* the first is the word itself */
};

struct fit_text {
    const struct fit_wish *wish;
    size_t count;
    const struct term *head; /* NULL: none is known */
    struct term terms[FIT_TERMS_MAX];
    char keys[FIT_TERMS_MAX][LEXICON_KEY_MAX];
};

static void add_other(struct term *term, const char *key, size_t length, double factor) {
    if (length > 0 && term->other_count < FIT_OTHERS_MAX) {
        term->others[term->other_count++] =
                (struct other){.key = key, .length = length, .factor = factor};
    }
}

/* Add the keys of a list "a|b|c". */
static void add_others(struct term *term, const char *list, double factor) {
    while (*list != '\0') {
        size_t length = strcspn(list, "|");
        add_other(term, list, length, factor);
        list += length + (list[length] == '|');
    }
}

/* "0.8" before a tab. */
static double read_factor(const char *text) {
    double value = 0;
    double place = 1;
    bool fraction = false;
    for (; *text != '\t' && *text != '\0'; text++) {
        if (*text == '.') {
            fraction = true;
        } else if (ascii_is_digit(*text)) {
            place = fraction ? place / 10 : place;
            value = fraction ? value + place * (*text - '0') : value * 10 + (*text - '0');
        }
    }
    return value > 0 && value <= 1 ? value : FACTOR_SYNONYM;
}

/* Add what a lexicon of the form "weight TAB a|b|c" has for a key. */
static void find_listed(struct term *term, const struct lexicon *lexicon, const char *key,
                        size_t length) {
    const struct lexicon_row *row;
    size_t rows = lexicon_find(lexicon, key, length, &row);
    for (size_t i = 0; i < rows; i++) {
        const char *value = lexicon_value(lexicon, &row[i]);
        const char *tab = strchr(value, '\t');
        if (tab != NULL) {
            add_others(term, tab + 1, read_factor(value));
        }
    }
}

/* Rows of a key among the lexicons of words that mean the same. */
static void find_same(struct term *term, const char *key, size_t length) {
    const struct lexicon_row *row;
    size_t rows = lexicon_find(&lexicon_glossary, key, length, &row);
    for (size_t i = 0; i < rows; i++) {
        add_others(term, lexicon_value(&lexicon_glossary, &row[i]), FACTOR_TRANSLATION);
    }
    rows = lexicon_find(&lexicon_glossary_back, key, length, &row);
    for (size_t i = 0; i < rows; i++) {
        add_others(term, lexicon_value(&lexicon_glossary_back, &row[i]), FACTOR_TRANSLATION);
    }
    find_listed(term, &lexicon_synonyms, key, length);
}

/* The same, and of what it is a kind. */
static void find_others(struct term *term, const char *key, size_t length) {
    find_same(term, key, length);
    find_listed(term, &lexicon_kinds, key, length);
}

static bool is_in(const struct lexicon *lexicon, const char *key, size_t length) {
    const struct lexicon_row *row;
    return lexicon_find(lexicon, key, length, &row) > 0;
}

/* What a word of a lexicon says, compared with others: verbs and common words say less. */
static double weight_of(const char *key, size_t length, bool verb) {
    const struct lexicon_row *row;
    bool common = lexicon_find(&lexicon_common, key, length, &row) > 0;
    double weight = common ? (lexicon_value(&lexicon_common, row)[0] - '0') / 10.0 : WEIGHT_WORD;
    return verb && weight > WEIGHT_VERB ? WEIGHT_VERB : weight;
}

/* "Paris", but not the first word of a sentence, and not "PDF". */
static bool is_name(const char *text, const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    if (word->kind != WORD_LETTERS || at == 0 || !ascii_is_upper(text[word->start]) ||
        words->items[at - 1].clause != word->clause) {
        return false;
    }
    return word->text_length > 1 && !ascii_is_upper(text[word->start + 1]) &&
           !is_in(&lexicon_scenes, word->stem, word->stem_length);
}

/* The longest key of Chinese characters at a word: how many words. Lexicons that say what else it
 * is called go before those that only say what it is about. */
static size_t match_han(const struct words *words, size_t at) {
    static const struct lexicon *const lexicons[][3] = {
            {&lexicon_glossary, &lexicon_synonyms, NULL},
            {&lexicon_scenes, &lexicon_intents, &lexicon_common}};
    size_t most = 0;
    for (size_t i = 0; most == 0 && i < ARRAY_LENGTH(lexicons); i++) {
        for (size_t k = 0; k < ARRAY_LENGTH(lexicons[i]) && lexicons[i][k] != NULL; k++) {
            const struct lexicon_row *row;
            size_t rows;
            size_t count = words_match(words, at, lexicons[i][k], &row, &rows);
            most = count > most ? count : most;
        }
    }
    return most;
}

static bool has_key(const struct fit_text *fit, const char *key, size_t length) {
    for (size_t i = 0; i < fit->count; i++) {
        const struct other *self = &fit->terms[i].others[0];
        if (self->length == length && memcmp(self->key, key, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_held(const struct fit_wish *wish, const struct words *words, size_t at,
                    size_t count) {
    return wish->values != NULL &&
           values_hold(wish->values, words->items[at].start, words->items[at + count - 1].end);
}

static void add_term(struct fit_text *fit, const struct words *words, size_t at, size_t count,
                     double weight) {
    char *key = fit->keys[fit->count];
    size_t length = words_key(words, at, count, key, LEXICON_KEY_MAX);
    if (length == 0 || has_key(fit, key, length)) {
        return;
    }
    struct term *term = &fit->terms[fit->count++];
    *term = (struct term){.first = at, .count = count};
    term->verb = intent_is_verb(words, at);
    term->weight = weight * weight_of(key, length, term->verb);
    term->blame = is_held(fit->wish, words, at, count) ? WEIGHT_VALUE * term->weight : term->weight;
    add_other(term, key, length, 1);
    find_others(term, key, length);
}

/* Add a term for the words of a question, "how many", which ask for something: how many words. */
static size_t add_question(struct fit_text *fit, const struct words *words, size_t at) {
    const struct lexicon_row *row;
    size_t rows;
    size_t count = words_match(words, at, &lexicon_questions, &row, &rows);
    char *key = fit->keys[fit->count];
    size_t length = count > 0 ? words_key(words, at, count, key, LEXICON_KEY_MAX) : 0;
    if (length == 0 || has_key(fit, key, length)) {
        return count;
    }
    struct term *term = &fit->terms[fit->count++];
    *term = (struct term){.asks = true,
                          .first = at,
                          .count = count,
                          .weight = WEIGHT_QUESTION,
                          .blame = WEIGHT_QUESTION};
    add_other(term, key, length, 1);
    find_listed(term, &lexicon_questions, key, length);
    return count;
}

static double weigh(const char *text, const struct words *words, const struct turns *turns,
                    size_t at) {
    const struct word *word = &words->items[at];
    double weight = word->quoted               ? WEIGHT_QUOTED
                    : is_name(text, words, at) ? WEIGHT_NAME
                                               : WEIGHT_WORD;
    /* Earlier turns say what it is about, if not what is wanted now. */
    uint32_t turn = turns_weight(turns, word->start);
    return turn > 0 ? weight * (turn + TURNS_ONE) / (2 * TURNS_ONE) : 0;
}

/* The first thing behind a verb, or without one the first; of a conversation in its last wish. */
static const struct term *find_head(const struct fit_text *fit, const struct turns *turns) {
    bool done = false;
    const struct term *first = NULL;
    for (size_t i = 0; i < fit->count; i++) {
        const struct term *term = &fit->terms[i];
        const struct word *word = &fit->wish->words->items[term->first];
        bool does = term->verb || term->asks;
        if (turns_weight(turns, word->start) < TURNS_ONE) {
            continue;
        }
        bool thing = !does && term->weight >= HEAD_WEIGHT;
        if (thing && done) {
            return term;
        }
        done = done || does;
        first = thing && first == NULL ? term : first;
    }
    return first;
}

int fit_text_create(const struct fit_wish *wish, struct fit_text **ret,
                    struct toolrack_error *err) {
    const struct words *words = wish->words;
    CLEANUP(freep) struct fit_text *fit = calloc(1, sizeof *fit);
    if (fit == NULL) {
        return error_oom(err);
    }
    struct turns turns;
    turns_read(wish->text, wish->length, &turns);
    fit->wish = wish;
    size_t step;
    for (size_t at = 0; at < words->count && fit->count < FIT_TERMS_MAX; at += step) {
        const struct word *word = &words->items[at];
        bool han = word->kind == WORD_HAN;
        step = add_question(fit, words, at);
        if (step > 0) {
            continue;
        }
        size_t known = han ? match_han(words, at) : 1;
        bool pair = known == 0 && at + 1 < words->count && word[1].kind == WORD_HAN &&
                    word[1].joined && !word[1].stop;
        step = known > 0 ? known : 1;
        bool refused = wish->refused != NULL && refused_is_said(wish->refused, words, at);
        if (refused || word->stop || word->kind == WORD_NUMBER || (han && known == 0 && !pair)) {
            continue;
        }
        add_term(fit, words, at, pair ? 2 : step,
                 weigh(wish->text, words, &turns, at) * (pair ? WEIGHT_HAN : 1));
    }
    fit->head = find_head(fit, &turns);
    *ret = STEAL(fit);
    return 0;
}

void fit_text_destroy(struct fit_text *fit) {
    free(fit);
}

/* ---------------------------------------------------------- words of a tool */

#define NO_SLOT UINT16_MAX

/* A word that a tool has, or two characters that stand together. */
struct slot {
    uint16_t at;      /* of the keys */
    uint8_t length;   /* 0: empty */
    uint8_t strength; /* of the strengths */
};

/* By where a tool has the word; the first is that of a word that it does not have. */
enum { NOWHERE, IN_PARAMETER, IN_DESCRIPTION, IN_NAME };
static const float strengths[] = {
        [IN_PARAMETER] = (float)STRENGTH_PARAMETER,
        [IN_DESCRIPTION] = (float)STRENGTH_DESCRIPTION,
        [IN_NAME] = (float)STRENGTH_NAME,
};

/* A word of the name, the title or the first sentence of the description. */
struct purpose {
    double weight;
    uint16_t slots[3]; /* itself, and with the character before and behind it; or NO_SLOT */
    bool described;    /* it is of the description */
};

/* What a tool is about, or does. */
struct about {
    const char *id;
    double score;
};

/* All in one piece of memory: the arrays stand behind it. */
struct fit_tool {
    size_t size;
    double described; /* how much the words of the description count */
    struct about scenes[FIT_LABELS_MAX];
    struct about intents[FIT_LABELS_MAX];
    size_t scene_count;
    size_t intent_count;
    struct deeds_done deeds;
    bool changes;
    struct orders_verb verbs[2];
    size_t verb_count;
    struct purpose *purposes;
    size_t purpose_count;
    struct slot *slots;
    size_t slot_count; /* a power of two; at most half are used */
    char *keys;
};

/* A tool, while it is read. */
struct reading {
    struct tool_words words;
    struct label scenes[FIT_LABELS_MAX];
    struct label intents[FIT_LABELS_MAX];
    size_t scene_count;
    size_t intent_count;
    size_t used;
    size_t key_bytes;
    struct slot slots[SLOTS];
    char keys[KEYS_MAX];
};

static uint32_t hash(const char *text, size_t length) {
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        value = (value ^ (unsigned char)text[i]) * 16777619u;
    }
    return value ^ value >> 15;
}

/* The slot of a key, or the empty one where it would be. */
static size_t find_slot(const struct slot *slots, size_t count, const char *keys, const char *text,
                        size_t length) {
    size_t at = hash(text, length) & (count - 1);
    while (slots[at].length > 0 &&
           (slots[at].length != length || memcmp(keys + slots[at].at, text, length) != 0)) {
        at = (at + 1) & (count - 1);
    }
    return at;
}

static void add_word(struct reading *reading, const char *text, size_t length, uint8_t strength) {
    struct slot *slot =
            &reading->slots[find_slot(reading->slots, SLOTS, reading->keys, text, length)];
    if (slot->length == 0 && reading->used < SLOTS_MAX && length <= KEYS_MAX - reading->key_bytes) {
        *slot = (struct slot){.at = (uint16_t)reading->key_bytes, .length = (uint8_t)length};
        memcpy(reading->keys + reading->key_bytes, text, length);
        reading->key_bytes += length;
        reading->used++;
    }
    if (slot->length > 0 && strength > slot->strength) {
        slot->strength = strength;
    }
}

static uint8_t strength_of_field(enum tool_field field) {
    return field <= TOOL_TITLE         ? IN_NAME
           : field == TOOL_DESCRIPTION ? IN_DESCRIPTION
                                       : IN_PARAMETER;
}

/* Whether a word is a character behind another one: both are together in the memory of the words
 * too. */
static bool is_pair(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    return at > 0 && at < words->count && word->joined && word->kind == WORD_HAN &&
           word[-1].kind == WORD_HAN;
}

static void add_words(struct reading *reading) {
    const struct words *words = &reading->words.words;
    for (size_t i = 0; i < words->count; i++) {
        const struct word *word = &words->items[i];
        uint8_t strength = strength_of_field(tool_words_field(&reading->words, word));
        add_word(reading, word->stem, word->stem_length, strength);
        if (is_pair(words, i)) {
            add_word(reading, word[-1].stem, (size_t)word[-1].stem_length + word->stem_length,
                     strength);
        }
    }
}

/* Where a word would be looked up; NO_SLOT: it has no place. */
static uint16_t place_of(const struct fit_tool *tool, const char *text, size_t length) {
    size_t at = find_slot(tool->slots, tool->slot_count, tool->keys, text, length);
    return tool->slots[at].length > 0 ? (uint16_t)at : NO_SLOT;
}

/* The weight of a word; of a Chinese character nothing, if one of two has it that says nothing. */
static double weight_at(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    for (size_t i = at; i <= at + 1; i++) {
        const struct word *first = is_pair(words, i) ? &words->items[i - 1] : NULL;
        if (first != NULL &&
            weight_of(first->stem, (size_t)first->stem_length + first[1].stem_length, false) <= 0) {
            return 0;
        }
    }
    return weight_of(word->stem, word->stem_length, intent_is_verb(words, at));
}

static void add_purpose(struct fit_tool *tool, const struct tool_words *tool_words, size_t at) {
    const struct words *words = &tool_words->words;
    const struct word *word = &words->items[at];
    struct purpose *purpose = &tool->purposes[tool->purpose_count++];
    purpose->described = tool_words_field(tool_words, word) == TOOL_DESCRIPTION;
    purpose->weight = weight_at(words, at);
    purpose->slots[0] = place_of(tool, word->stem, word->stem_length);
    purpose->slots[1] = purpose->slots[2] = NO_SLOT;
    if (is_pair(words, at)) {
        purpose->slots[1] =
                place_of(tool, word[-1].stem, (size_t)word[-1].stem_length + word->stem_length);
    }
    if (is_pair(words, at + 1)) {
        purpose->slots[2] =
                place_of(tool, word->stem, (size_t)word->stem_length + word[1].stem_length);
    }
}

static bool is_compared(const struct tool_words *words, const struct word *word) {
    return !word->stop && word->kind != WORD_NUMBER && tool_words_is_purpose(words, word);
}

static void copy_slots(const struct reading *reading, struct fit_tool *tool) {
    memcpy(tool->keys, reading->keys, reading->key_bytes);
    for (size_t i = 0; i < SLOTS; i++) {
        const struct slot *slot = &reading->slots[i];
        if (slot->length > 0) {
            tool->slots[find_slot(tool->slots, tool->slot_count, tool->keys, tool->keys + slot->at,
                                  slot->length)] = *slot;
        }
    }
}

static size_t copy_labels(const struct label *labels, size_t count, struct about *ret) {
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct about){labels[i].id, labels[i].score};
    }
    return count;
}

/* How much a word of the description counts, of what it does in one that says something. A Chinese
 * word has two characters. */
static double density_of(const struct tool_words *tool) {
    double count = 0;
    for (size_t i = 0; i < tool->words.count; i++) {
        const struct word *word = &tool->words.items[i];
        bool counts = tool_words_field(tool, word) == TOOL_DESCRIPTION && !word->stop;
        count += !counts ? 0 : word->kind == WORD_HAN ? 0.5 : 1;
    }
    double share = count > DESCRIBED_FULL ? DESCRIBED_FULL / count : 1;
    return share * share;
}

/* Descriptions begin with a verb, "Greet a person", and names often. */
static void add_verb(struct fit_tool *tool, const struct tool_words *words, enum tool_field field) {
    size_t at = 0;
    while (at < words->words.count && tool_words_field(words, &words->words.items[at]) < field) {
        at++;
    }
    if (at < words->words.count && tool_words_field(words, &words->words.items[at]) == field) {
        tool->verb_count += orders_verb_of(&words->words.items[at], field == TOOL_NAME,
                                           &tool->verbs[tool->verb_count]);
    }
}

/* The arrays are as large as the tool needs them. */
static struct fit_tool *make_tool(const struct reading *reading) {
    const struct words *words = &reading->words.words;
    size_t purposes = 0;
    for (size_t i = 0; i < words->count; i++) {
        purposes += is_compared(&reading->words, &words->items[i]);
    }
    size_t slots = SLOTS_MIN;
    while (slots < 2 * reading->used) {
        slots *= 2;
    }
    size_t size = sizeof(struct fit_tool) + purposes * sizeof(struct purpose) +
                  slots * sizeof(struct slot) + reading->key_bytes;
    struct fit_tool *tool = calloc(1, size);
    if (tool == NULL) {
        return NULL;
    }
    tool->size = size;
    tool->described = density_of(&reading->words);
    tool->purposes = (struct purpose *)(tool + 1);
    tool->slots = (struct slot *)(tool->purposes + purposes);
    tool->slot_count = slots;
    tool->keys = (char *)(tool->slots + slots);
    copy_slots(reading, tool);
    for (size_t i = 0; i < words->count; i++) {
        if (is_compared(&reading->words, &words->items[i])) {
            add_purpose(tool, &reading->words, i);
        }
    }
    tool->scene_count = copy_labels(reading->scenes, reading->scene_count, tool->scenes);
    tool->intent_count = copy_labels(reading->intents, reading->intent_count, tool->intents);
    deeds_of_tool(&reading->words, &tool->deeds);
    tool->changes = mood_changes(&reading->words);
    add_verb(tool, &reading->words, TOOL_DESCRIPTION);
    add_verb(tool, &reading->words, TOOL_NAME);
    return tool;
}

static void reading_free(struct reading **reading) {
    if (*reading != NULL) {
        tool_words_finish(&(*reading)->words);
        free(*reading);
    }
}

int fit_tool_create(const struct index_document *texts, yyjson_val *parameters,
                    const struct scenes *scenes, struct fit_tool **ret,
                    struct toolrack_error *err) {
    CLEANUP(reading_free) struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL) {
        return error_oom(err);
    }
    int code = tool_words_read(texts, parameters, &reading->words, err);
    if (code < 0) {
        return code;
    }
    reading->scene_count = scene_of_tool(&reading->words, scenes, reading->scenes, FIT_LABELS_MAX);
    reading->intent_count = intent_of_tool(&reading->words, reading->intents, FIT_LABELS_MAX);
    add_words(reading);
    *ret = make_tool(reading);
    return *ret != NULL ? 0 : error_oom(err);
}

void fit_tool_destroy(struct fit_tool *tool) {
    free(tool);
}

const char *fit_tool_intent(const struct fit_tool *tool) {
    return tool->intent_count > 0 ? tool->intents[0].id : NULL;
}

size_t fit_tool_verbs(const struct fit_tool *tool, const struct orders_verb **ret) {
    *ret = tool->verbs;
    return tool->verb_count;
}

bool fit_tool_is_named(const void *tool, const char *stem, size_t length) {
    const struct fit_tool *fit = tool;
    const struct slot *slot =
            &fit->slots[find_slot(fit->slots, fit->slot_count, fit->keys, stem, length)];
    return slot->length > 0 && slot->strength == IN_NAME;
}

const struct deeds_done *fit_tool_deeds(const struct fit_tool *tool) {
    return &tool->deeds;
}

bool fit_tool_changes(const struct fit_tool *tool) {
    return tool->changes;
}

enum fit_about fit_tool_about(const struct fit_tool *tool, const struct label *scenes,
                              size_t count) {
    for (size_t i = 0; i < tool->scene_count; i++) {
        for (size_t j = 0; j < count; j++) {
            if (strcmp(tool->scenes[i].id, scenes[j].id) == 0) {
                return FIT_ABOUT_IT;
            }
        }
    }
    bool is_certain = tool->scene_count > 0 && tool->scenes[0].score >= SCENE_CERTAIN;
    return is_certain ? FIT_ABOUT_ELSE : FIT_ABOUT_ANYTHING;
}

size_t fit_tool_size(const struct fit_tool *tool) {
    return tool->size;
}

/* ----------------------------------------------------------------- measures */

/* A tool that is compared with a text. */
struct compared {
    const struct fit_tool *tool;
    bool seen[SLOTS]; /* by slot: the text has it */
};

static bool is_han(const char *text) {
    return ((unsigned char)text[0] & 0xe0u) == 0xe0u;
}

/* The least strength of the words of a key: all must be there. Of Chinese ones each pair. */
static double strength_of(struct compared *compared, const struct other *other, bool mark) {
    const struct fit_tool *tool = compared->tool;
    double least = 1;
    size_t at = 0;
    while (at < other->length) {
        size_t size;
        size_t step;
        if (is_han(other->key + at)) {
            /* Characters outside of the basic plane have four bytes. */
            size_t one = ((unsigned char)other->key[at] & 0xf0u) == 0xf0u ? 4 : 3;
            bool pair = at + one < other->length && is_han(other->key + at + one);
            size_t two =
                    pair ? (((unsigned char)other->key[at + one] & 0xf0u) == 0xf0u ? 4u : 3u) : 0u;
            size = one + two;
            step = pair && at + one + two >= other->length ? size : one;
        } else {
            const char *space = memchr(other->key + at, ' ', other->length - at);
            size = space != NULL ? (size_t)(space - other->key) - at : other->length - at;
            step = size + 1;
        }
        if (at + size > other->length) {
            break;
        }
        size_t place = find_slot(tool->slots, tool->slot_count, tool->keys, other->key + at, size);
        const struct slot *slot = &tool->slots[place];
        double strength = (double)strengths[slot->strength] *
                          (slot->strength == IN_DESCRIPTION ? tool->described : 1);
        least = strength < least ? strength : least;
        if (mark && slot->length > 0) {
            compared->seen[place] = true;
        }
        at += step;
    }
    return least;
}

/* How much a tool has a word of the text, in any of its meanings. */
static double strength_of_term(struct compared *compared, const struct term *term) {
    double most = 0;
    for (size_t i = 0; i < term->other_count; i++) {
        double strength = strength_of(compared, &term->others[i], false);
        if (strength > 0) {
            (void)strength_of(compared, &term->others[i], true);
            strength *= term->others[i].factor;
            most = strength > most ? strength : most;
        }
    }
    return most;
}

bool fit_tool_explains(const struct fit_tool *tool, const struct words *words, size_t at,
                       size_t count) {
    struct compared compared = {.tool = tool};
    struct term term = {.first = at, .count = count};
    char key[LEXICON_KEY_MAX];
    size_t length = words_key(words, at, count, key, sizeof key);
    add_other(&term, key, length, 1);
    find_same(&term, key, length);
    return length > 0 && strength_of_term(&compared, &term) > 0;
}

static double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static void measure_text(const struct fit_text *fit, struct compared *compared, struct fit *ret) {
    double covered = 0, objects = 0, objects_covered = 0;
    ret->head = 0.5;
    for (size_t i = 0; i < fit->count; i++) {
        const struct term *term = &fit->terms[i];
        double strength = strength_of_term(compared, term);
        double got = term->weight * strength;
        ret->head = term == fit->head ? strength : ret->head;
        covered += got;
        objects += term->verb ? 0 : got > 0 ? term->weight : term->blame;
        objects_covered += term->verb ? 0 : got;
    }
    /* Words that say little are not enough. */
    ret->objects = share(objects_covered, objects > WEIGHT_WORD ? objects : WEIGHT_WORD);
    ret->shared = covered / (covered + FIT_HALF_WEIGHT);
}

static bool is_seen(const struct compared *compared, const struct purpose *purpose) {
    bool seen = false;
    for (size_t i = 0; i < ARRAY_LENGTH(purpose->slots); i++) {
        seen = seen || (purpose->slots[i] != NO_SLOT && compared->seen[purpose->slots[i]]);
    }
    return seen;
}

static void measure_tool(const struct compared *compared, struct fit *ret) {
    const struct fit_tool *tool = compared->tool;
    double name = 0, name_seen = 0, purpose = 0, purpose_seen = 0;
    for (size_t i = 0; i < tool->purpose_count; i++) {
        const struct purpose *word = &tool->purposes[i];
        double seen = is_seen(compared, word) ? word->weight : 0;
        if (word->described) {
            purpose += word->weight;
            purpose_seen += seen;
        } else {
            name += word->weight;
            name_seen += seen;
        }
    }
    ret->name = share(name_seen, name);
    ret->purpose = share(purpose_seen, purpose);
}

static double agreement(const struct label *wish, size_t wish_count, const struct about *about,
                        size_t count) {
    struct label labels[FIT_LABELS_MAX];
    for (size_t i = 0; i < count; i++) {
        labels[i].id = about[i].id;
        labels[i].score = about[i].score;
    }
    return label_agreement(wish, wish_count, labels, count);
}

void fit_measure(const struct fit_text *fit, const struct fit_tool *tool, struct fit *ret) {
    const struct fit_wish *wish = fit->wish;
    struct compared compared = {.tool = tool};
    measure_text(fit, &compared, ret);
    measure_tool(&compared, ret);
    ret->scene = agreement(wish->scene, wish->scene_count, tool->scenes, tool->scene_count);
    ret->intent = agreement(wish->intent, wish->intent_count, tool->intents, tool->intent_count);
}
