#include "choose/fit.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "choose/intent.h"
#include "choose/scene.h"
#include "choose/turns.h"

/* What a word of the text weighs. */
#define WEIGHT_WORD     1.0
#define WEIGHT_VERB     0.4  /* "find", "get": many tools do */
#define WEIGHT_NAME     0.25 /* "Paris": rather a value */
#define WEIGHT_QUOTED   0.15
#define WEIGHT_QUESTION 0.4 /* "when": asks for a date */
#define WEIGHT_HAN      0.5 /* two characters that are in no lexicon */

/* How much a word counts where the tool has it. */
#define STRENGTH_NAME        1.0
#define STRENGTH_DESCRIPTION 0.9
#define STRENGTH_PARAMETER   0.75

/* How much a translation and a word from a lexicon of synonyms counts. */
#define FACTOR_TRANSLATION 0.9
#define FACTOR_SYNONYM     0.75

/* How much a word counts that is only of the same scene, or a verb of the same intent; and how
 * certain a label must be for that, compared with the tool's first. */
#define STRENGTH_RELATED 0.35
#define RELATED_SHARE    0.6
#define CLEAR_WEIGHT     '2'

/* Slots of the words of one tool: a power of two, and at most half are used. */
#define SLOTS     1024u
#define SLOTS_MAX (SLOTS / 2)

/* ----------------------------------------------------------- words of a text */

/* A key of a lexicon: stems with spaces, or Chinese characters. */
struct other {
    const char *key;
    size_t length;
    double factor;
};

struct term {
    double weight;
    bool verb;
    bool question;
    bool focus;
    size_t first; /* of the words */
    size_t count;
    const struct lexicon_row *labels; /* scenes, or intents of a verb, that it speaks for */
    size_t label_count;
    size_t other_count;
    struct other others[FIT_OTHERS_MAX]; /* the first is the word itself */
};

struct fit_text {
    const struct fit_wish *wish;
    size_t count;
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

/* Rows of a key among the lexicons of other words. */
static void find_others(struct term *term, const char *key, size_t length) {
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

/* The longest key of Chinese characters of a lexicon at a word: how many words. */
static size_t match_han(const struct words *words, size_t at) {
    static const struct lexicon *const lexicons[] = {&lexicon_glossary, &lexicon_scenes,
                                                     &lexicon_intents, &lexicon_synonyms};
    size_t most = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(lexicons); i++) {
        const struct lexicon_row *row;
        size_t rows;
        size_t count = words_match(words, at, lexicons[i], &row, &rows);
        most = count > most ? count : most;
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
    term->label_count = lexicon_find(term->verb ? &lexicon_intents : &lexicon_scenes, key, length,
                                     &term->labels);
    term->weight = weight * weight_of(key, length, term->verb);
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
    *term = (struct term){.first = at, .count = count, .weight = WEIGHT_QUESTION, .question = true};
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

/* What the first verb is about: the words behind it that are no verbs, in the same part, up to the
 * first that is left out as a stop word after one was taken. */
static void mark_focus(struct fit_text *fit, const struct words *words) {
    size_t last = 0;
    bool any = false;
    for (size_t i = 0; i < fit->count; i++) {
        struct term *term = &fit->terms[i];
        if (term->verb || term->question || term->weight < WEIGHT_HAN) {
            continue;
        }
        if (any && (term->first != last ||
                    words->items[term->first].part != words->items[last - 1].part)) {
            return;
        }
        term->focus = true;
        any = true;
        last = term->first + term->count;
    }
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
        if (word->stop || word->kind == WORD_NUMBER || (han && known == 0 && !pair)) {
            continue;
        }
        add_term(fit, words, at, pair ? 2 : step,
                 weigh(wish->text, words, &turns, at) * (pair ? WEIGHT_HAN : 1));
    }
    mark_focus(fit, words);
    *ret = STEAL(fit);
    return 0;
}

void fit_text_destroy(struct fit_text *fit) {
    free(fit);
}

/* ---------------------------------------------------------- words of a tool */

struct slot {
    const char *text;
    uint16_t length; /* 0: empty */
    float strength;
    bool seen; /* the text has it */
};

/* A tool, while it is measured. */
struct measured {
    struct tool_words words;
    struct label scenes[FIT_LABELS_MAX];
    size_t scene_count;
    struct label intents[FIT_LABELS_MAX];
    size_t intent_count;
    size_t used;
    struct slot slots[SLOTS];
};

static size_t hash(const char *text, size_t length) {
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        value = (value ^ (unsigned char)text[i]) * 16777619u;
    }
    return (value ^ value >> 15) & (SLOTS - 1);
}

static struct slot *find_slot(struct measured *tool, const char *text, size_t length) {
    size_t at = hash(text, length);
    while (tool->slots[at].length > 0 &&
           (tool->slots[at].length != length || memcmp(tool->slots[at].text, text, length) != 0)) {
        at = (at + 1) & (SLOTS - 1);
    }
    return &tool->slots[at];
}

static void add_word(struct measured *tool, const char *text, size_t length, double strength) {
    struct slot *slot = find_slot(tool, text, length);
    if (slot->length == 0 && tool->used < SLOTS_MAX) {
        *slot = (struct slot){.text = text, .length = (uint16_t)length};
        tool->used++;
    }
    if (slot->length > 0 && (float)strength > slot->strength) {
        slot->strength = (float)strength;
    }
}

static double strength_of_field(enum tool_field field) {
    return field <= TOOL_TITLE         ? STRENGTH_NAME
           : field == TOOL_DESCRIPTION ? STRENGTH_DESCRIPTION
                                       : STRENGTH_PARAMETER;
}

static void add_words(struct measured *tool) {
    for (size_t i = 0; i < tool->words.words.count; i++) {
        const struct word *word = &tool->words.words.items[i];
        double strength = strength_of_field(tool_words_field(&tool->words, word));
        add_word(tool, word->stem, word->stem_length, strength);
        /* Characters that stand together are together in the memory of the words too. */
        if (i > 0 && word->joined && word->kind == WORD_HAN && word[-1].kind == WORD_HAN) {
            add_word(tool, word[-1].stem, (size_t)word[-1].stem_length + word->stem_length,
                     strength);
        }
    }
}

/* ----------------------------------------------------------------- measures */

static bool is_han(const char *text) {
    return ((unsigned char)text[0] & 0xe0u) == 0xe0u;
}

/* The least strength of the words of a key: all must be there. Of Chinese ones each pair. */
static double strength_of(struct measured *tool, const struct other *other, bool mark) {
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
        struct slot *slot = find_slot(tool, other->key + at, size);
        least = (double)slot->strength < least ? (double)slot->strength : least;
        if (mark && slot->length > 0) {
            slot->seen = true;
        }
        at += step;
    }
    return least;
}

/* How much a tool has a word of the text, in any of its meanings. */
static double strength_of_term(struct measured *tool, const struct term *term) {
    double most = 0;
    for (size_t i = 0; i < term->other_count; i++) {
        double strength = strength_of(tool, &term->others[i], false);
        if (strength > 0) {
            (void)strength_of(tool, &term->others[i], true);
            strength *= term->others[i].factor;
            most = strength > most ? strength : most;
        }
    }
    return most;
}

/* Whether a word speaks clearly for what a tool is about, or a verb for what it does. */
static bool is_related(const struct measured *tool, const struct term *term) {
    const struct label *labels = term->verb ? tool->intents : tool->scenes;
    size_t count = term->verb ? tool->intent_count : tool->scene_count;
    const struct lexicon *lexicon = term->verb ? &lexicon_intents : &lexicon_scenes;
    for (size_t i = 0; i < term->label_count; i++) {
        const char *value = lexicon_value(lexicon, &term->labels[i]);
        size_t length = strcspn(value, "\t");
        for (size_t k = 0; k < count && value[length] != '\0'; k++) {
            if (value[length + 1] >= CLEAR_WEIGHT &&
                labels[k].score >= RELATED_SHARE * labels[0].score &&
                strncmp(labels[k].id, value, length) == 0 && labels[k].id[length] == '\0') {
                return true;
            }
        }
    }
    return false;
}

static double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static void measure_text(const struct fit_text *fit, struct measured *tool, struct fit *ret) {
    double all = 0, covered = 0, related = 0;
    double objects = 0, objects_covered = 0, focus = 0, focus_covered = 0;
    for (size_t i = 0; i < fit->count; i++) {
        const struct term *term = &fit->terms[i];
        double strength = strength_of_term(tool, term);
        double got = term->weight * strength;
        double least = is_related(tool, term) ? STRENGTH_RELATED : 0;
        all += term->weight;
        covered += got;
        related += term->weight * (strength > least ? strength : least);
        objects += term->verb ? 0 : term->weight;
        objects_covered += term->verb ? 0 : got;
        focus += term->focus ? term->weight : 0;
        focus_covered += term->focus ? got : 0;
    }
    ret->coverage = share(covered, all);
    ret->related = share(related, all);
    ret->objects = share(objects_covered, objects);
    ret->focus = share(focus_covered, focus);
    ret->shared = covered / (covered + FIT_HALF_WEIGHT);
    ret->missed = (all - covered) / (all - covered + FIT_HALF_WEIGHT);
}

static bool is_seen(struct measured *tool, size_t at) {
    const struct words *words = &tool->words.words;
    const struct word *word = &words->items[at];
    if (word->kind != WORD_HAN) {
        return find_slot(tool, word->stem, word->stem_length)->seen;
    }
    bool before =
            at > 0 && word[-1].kind == WORD_HAN && word->joined &&
            find_slot(tool, word[-1].stem, (size_t)word[-1].stem_length + word->stem_length)->seen;
    bool behind =
            at + 1 < words->count && word[1].kind == WORD_HAN && word[1].joined &&
            find_slot(tool, word->stem, (size_t)word->stem_length + word[1].stem_length)->seen;
    return before || behind || find_slot(tool, word->stem, word->stem_length)->seen;
}

static void measure_tool(struct measured *tool, struct fit *ret) {
    double name = 0, name_seen = 0, named = 0, named_seen = 0, purpose = 0, purpose_seen = 0;
    for (size_t i = 0; i < tool->words.words.count; i++) {
        const struct word *word = &tool->words.words.items[i];
        if (word->stop || word->kind == WORD_NUMBER || !tool_words_is_purpose(&tool->words, word)) {
            continue;
        }
        bool verb = intent_is_verb(&tool->words.words, i);
        double weight = weight_of(word->stem, word->stem_length, verb);
        double seen = is_seen(tool, i) ? weight : 0;
        if (tool_words_field(&tool->words, word) == TOOL_DESCRIPTION) {
            purpose += weight;
            purpose_seen += seen;
        } else {
            name += weight;
            name_seen += seen;
            named += verb ? 0 : weight;
            named_seen += verb ? 0 : seen;
        }
    }
    ret->name = share(name_seen, name);
    ret->named = share(named_seen, named);
    ret->purpose = share(purpose_seen, purpose);
}

static void measured_free(struct measured **tool) {
    if (*tool != NULL) {
        tool_words_finish(&(*tool)->words);
        free(*tool);
    }
}

int fit_measure(const struct fit_text *fit, const struct index_document *tool,
                yyjson_val *parameters, struct fit *ret, struct toolrack_error *err) {
    const struct fit_wish *wish = fit->wish;
    CLEANUP(measured_free) struct measured *measured = calloc(1, sizeof *measured);
    if (measured == NULL) {
        return error_oom(err);
    }
    int code = tool_words_read(tool, parameters, &measured->words, err);
    if (code < 0) {
        return code;
    }
    measured->scene_count =
            scene_of_tool(&measured->words, wish->scenes, measured->scenes, FIT_LABELS_MAX);
    measured->intent_count = intent_of_tool(&measured->words, measured->intents, FIT_LABELS_MAX);
    add_words(measured);
    measure_text(fit, measured, ret);
    measure_tool(measured, ret);
    ret->scene = label_agreement(wish->scene, wish->scene_count, measured->scenes,
                                 measured->scene_count);
    ret->intent = label_agreement(wish->intent, wish->intent_count, measured->intents,
                                  measured->intent_count);
    return 0;
}
