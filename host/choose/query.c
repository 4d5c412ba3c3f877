#include "choose/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "choose/actions.h"
#include "choose/index-text.h"
#include "choose/turns.h"
#include "choose/words.h"

/* Synonyms that would count less than this part of the word itself are left out. */
#define WEIGHT_LEAST 80u

/* A segment has so many words that say something, or it is one with its neighbour. */
#define SEGMENT_WORDS_MIN      2u
#define SEGMENT_CHARACTERS_MIN 4u

/* Synonyms of a word that is in no tool are worth what the rarest may be. */
#define RARENESS_ANY UINT32_MAX

struct reading {
    const struct index *index;
    const struct query_view *view; /* NULL: all */
    const struct match_weights *weights;
    const struct words *words;
    struct query *query;
    uint32_t scale; /* what the words of the turn count that is read */
};

static uint32_t scaled(uint32_t weight, uint32_t by) {
    return (uint32_t)((uint64_t)weight * by / RARENESS_ONE);
}

/* How many have a term. */
static uint32_t count_of(const struct reading *reading, const struct index_term *term) {
    const struct query_view *view = reading->view;
    return term == NULL ? 0 : view != NULL ? view->count(view->user, term) : term->count;
}

/* NULL: none has it. */
static const struct index_term *find_term(const struct reading *reading, const char *text,
                                          size_t length) {
    const struct index_term *term = index_find_term(reading->index, text, length);
    return count_of(reading, term) > 0 ? term : NULL;
}

static uint32_t rareness_of(const struct reading *reading, const struct index_term *term) {
    return rareness(count_of(reading, term),
                    reading->view != NULL ? reading->view->total : reading->index->count);
}

static struct query_unit *last_unit(const struct reading *reading) {
    return &reading->query->units[reading->query->unit_count - 1];
}

/* ------------------------------------------------------------------- terms */

/* Terms that together are one alternative; those that no tool has are NULL. */
struct terms {
    const struct index_term *items[QUERY_TERMS_MAX];
    uint32_t count;
};

static void take_term(const struct reading *reading, const char *text, size_t length,
                      struct terms *terms) {
    if (terms->count < QUERY_TERMS_MAX) {
        terms->items[terms->count++] = find_term(reading, text, length);
    }
}

/* The terms of a key of a lexicon, as index_terms_at() gives them: words with spaces between them,
 * Chinese characters, of three bytes each, without. */
static struct terms read_key(const struct reading *reading, const char *key, size_t length) {
    static const unsigned char first_han = 0xe3;
    struct terms terms = {0};
    for (size_t at = 0; at < length;) {
        const char *space = memchr(key + at, ' ', length - at);
        size_t end = space != NULL ? (size_t)(space - key) : length;
        if ((unsigned char)key[at] < first_han || end - at <= 6) {
            take_term(reading, key + at, end - at, &terms);
        } else {
            for (size_t pair = at; pair + 6 <= end; pair += 3) {
                take_term(reading, key + pair, 6, &terms);
            }
        }
        at = end + 1;
    }
    return terms;
}

/* ------------------------------------------------------------ alternatives */

/* Whether the last unit has an alternative of this one term; the higher weight holds. */
static bool is_there(const struct reading *reading, const struct query_alternative *wanted) {
    const struct query_unit *unit = last_unit(reading);
    for (size_t i = 0; i < unit->count; i++) {
        struct query_alternative *other = &reading->query->alternatives[unit->first + i];
        if (wanted->count == 1 && other->count == 1 && other->terms[0] == wanted->terms[0]) {
            bool more = wanted->weights[0] > other->weights[0];
            other->weights[0] = more ? wanted->weights[0] : other->weights[0];
            return true;
        }
    }
    return false;
}

/* Add an alternative to the last unit, if some tool has one of its terms. `weight` is what all its
 * terms together count, `most` the rareness that none exceeds. */
static void add_alternative(const struct reading *reading, const struct terms *terms,
                            uint32_t weight, uint32_t most, enum match_relation relation) {
    struct query *query = reading->query;
    struct query_alternative alternative = {.relation = relation};
    uint32_t sum = 0;
    for (size_t i = 0; i < terms->count; i++) {
        if (terms->items[i] != NULL) {
            uint32_t rare = rareness_of(reading, terms->items[i]);
            uint32_t each = scaled(rare < most ? rare : most, scaled(weight, reading->scale));
            alternative.terms[alternative.count] = terms->items[i];
            alternative.weights[alternative.count++] = each / terms->count;
            sum += each / terms->count;
        }
    }
    bool little = relation == MATCH_SYNONYM && most != RARENESS_ANY &&
                  sum < scaled(scaled(most, reading->scale), WEIGHT_LEAST);
    if (sum > 0 && !little && query->alternative_count < QUERY_ALTERNATIVES_MAX &&
        !is_there(reading, &alternative)) {
        query->alternatives[query->alternative_count++] = alternative;
        last_unit(reading)->count++;
    }
}

/* The keys of a value of a lexicon, with "|" between them. */
static void add_keys(const struct reading *reading, const char *keys, uint32_t weight,
                     uint32_t most, enum match_relation relation) {
    while (*keys != '\0') {
        size_t length = strcspn(keys, "|");
        struct terms terms = read_key(reading, keys, length);
        add_alternative(reading, &terms, weight, most, relation);
        keys += length + (keys[length] == '|');
    }
}

/* "0.7": the lexicon has no other form. */
static uint32_t read_weight(const struct reading *reading, const char *value) {
    return (uint32_t)(value[2] - '0') * reading->weights->synonym / 10;
}

/* Add the synonyms of what stands at a word: how many words they stand for. */
static size_t add_synonyms(const struct reading *reading, size_t at, uint32_t weight,
                           uint32_t most) {
    const struct lexicon_row *row;
    size_t rows;
    size_t length = words_match(reading->words, at, &lexicon_synonyms, &row, &rows);
    for (size_t i = 0; length > 0 && i < rows; i++) {
        const char *value = lexicon_value(&lexicon_synonyms, &row[i]);
        add_keys(reading, strchr(value, '\t') + 1, scaled(weight, read_weight(reading, value)),
                 most, MATCH_SYNONYM);
    }
    return length;
}

/* The same for translations, from either language. */
static size_t add_translations(const struct reading *reading, size_t at, uint32_t weight) {
    bool han = reading->words->items[at].kind == WORD_HAN;
    const struct lexicon *lexicon = han ? &lexicon_glossary : &lexicon_glossary_back;
    const struct lexicon_row *row;
    size_t rows;
    size_t length = words_match(reading->words, at, lexicon, &row, &rows);
    for (size_t i = 0; length > 0 && i < rows; i++) {
        add_keys(reading, lexicon_value(lexicon, &row[i]), weight, RARENESS_ANY, MATCH_TRANSLATION);
    }
    return length;
}

/* ------------------------------------------------------------------- units */

/* Begin a unit of the words from `first` to `last`; false: there are too many. */
static bool begin_unit(const struct reading *reading, size_t first, size_t last) {
    struct query *query = reading->query;
    const struct word *word = &reading->words->items[first];
    if (query->unit_count == QUERY_UNITS_MAX) {
        return false;
    }
    query->units[query->unit_count++] = (struct query_unit){
            .start = word->start,
            .end = reading->words->items[last].end,
            .first = (uint32_t)query->alternative_count,
            .segment = (uint8_t)(query->segments - 1),
            .letters = word->kind != WORD_HAN,
    };
    return true;
}

/* The unit is worth what its best alternative is, or as much as it would be if some tool had it. */
static void end_unit(const struct reading *reading, uint32_t weight, uint32_t part) {
    const struct query *query = reading->query;
    struct query_unit *unit = last_unit(reading);
    unit->weight = weight;
    unit->part = scaled(part, reading->scale);
    for (size_t i = unit->first; i < query->alternative_count; i++) {
        const struct query_alternative *alternative = &query->alternatives[i];
        uint32_t sum = 0;
        for (size_t k = 0; k < alternative->count; k++) {
            sum += alternative->weights[k];
        }
        unit->weight = sum > unit->weight ? sum : unit->weight;
    }
}

/* Forget a unit that no tool has; the text may have it in another form. */
static void end_unit_if_any(const struct reading *reading, uint32_t part) {
    if (last_unit(reading)->count > 0) {
        end_unit(reading, 0, part);
    } else {
        reading->query->unknown += last_unit(reading)->letters ? 0 : scaled(part, reading->scale);
        reading->query->unit_count--;
    }
}

static uint32_t weight_of(const struct match_weights *weights, const struct word *word) {
    uint32_t weight = word->stop                  ? weights->stop
                      : word->kind == WORD_NUMBER ? weights->number
                                                  : RARENESS_ONE;
    return word->literal  ? scaled(weight, weights->literal)
           : word->quoted ? scaled(weight, weights->quoted)
                          : weight;
}

/* "Show" has synonyms, and says little nevertheless; "is" at the beginning asks for a state, and
 * "look up" is more than its words. */
static void drop_others_of_stop_word(const struct reading *reading, size_t at, size_t covered) {
    const struct word *word = &reading->words->items[at];
    struct query_unit *unit = last_unit(reading);
    bool begins = at == 0 || word->clause != word[-1].clause;
    if (word->stop && covered < 2 && !begins) {
        const struct query_alternative *first = &reading->query->alternatives[unit->first];
        unit->count = unit->count > 0 && first->relation == MATCH_SAME;
        reading->query->alternative_count = unit->first + unit->count;
    }
}

static void read_letters(const struct reading *reading, size_t at) {
    const struct word *word = &reading->words->items[at];
    struct terms own = {0};
    if (!begin_unit(reading, at, at)) {
        return;
    }
    take_term(reading, word->stem, word->stem_length, &own);
    uint32_t rare = rareness_of(reading, own.items[0]);
    uint32_t weight = weight_of(reading->weights, word);
    uint32_t others = word->quoted ? weight : RARENESS_ONE;
    add_alternative(reading, &own, weight, rare, MATCH_SAME);
    size_t covered = add_synonyms(reading, at, others, rare);
    size_t translated =
            add_translations(reading, at, scaled(others, reading->weights->translation));
    if (last_unit(reading)->count == 0 && !word->stop && reading->view == NULL) {
        /* It is in no tool: common words for it are better than none. Of a view the words are not
         * of tools, but earlier texts, of which one is not like another for that. */
        covered = add_synonyms(reading, at, others, RARENESS_ANY);
    }
    drop_others_of_stop_word(reading, at, covered > translated ? covered : translated);
    bool known = own.items[0] != NULL || last_unit(reading)->count == 0;
    end_unit(reading, known ? scaled(rare, scaled(weight, reading->scale)) : 0, weight);
}

/* The word and the one before as one: parts of a name, characters. */
static void read_joined(const struct reading *reading, size_t at, uint32_t weight) {
    char joined[INDEX_TERM_MAX];
    struct terms own = {0};
    size_t length = index_joined(reading->words, at - 1, 2, joined, sizeof joined);
    if (length > 0 && begin_unit(reading, at - 1, at)) {
        take_term(reading, joined, length, &own);
        add_alternative(reading, &own, weight, RARENESS_ANY, MATCH_SAME);
        end_unit_if_any(reading, weight);
    }
}

static bool is_after_han(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    return at > 0 && word->kind == WORD_HAN && word[-1].kind == WORD_HAN && word->joined;
}

/* How many tools have the two characters that begin here as they are. */
static uint32_t pair_count(const struct reading *reading, size_t at) {
    char pair[INDEX_TERM_MAX];
    size_t length = at + 1 < reading->words->count && is_after_han(reading->words, at + 1)
                            ? index_joined(reading->words, at, 2, pair, sizeof pair)
                            : 0;
    return length > 0 ? count_of(reading, index_find_term(reading->index, pair, length)) : 0;
}

/* Of 当前位置 the middle two characters are no word, and fewer tools have them than either word:
 * whether the pair that begins here is such a one. */
static bool is_crossing(const struct reading *reading, size_t at) {
    uint32_t own = pair_count(reading, at);
    return at > 0 && own > 0 && pair_count(reading, at - 1) > own &&
           pair_count(reading, at + 1) > own;
}

/* A word is as rare as the commonest of those that may stand for it: 找 is "search" rather than the
 * rare "look up", and no more worth where a tool has the latter. */
static void level_alternatives(const struct reading *reading) {
    struct query_alternative *all = &reading->query->alternatives[last_unit(reading)->first];
    uint32_t count = last_unit(reading)->count;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rare = rareness_of(reading, all[i].terms[0]);
        least = all[i].count == 1 && rare < least ? rare : least;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rare = rareness_of(reading, all[i].terms[0]);
        if (all[i].count == 1 && rare > least) {
            all[i].weights[0] = (uint32_t)((uint64_t)all[i].weights[0] * least / rare);
        }
    }
}

/* What stands in a lexicon; it may be one character. Returns how many. */
static size_t read_han_word(const struct reading *reading, size_t at) {
    if (!begin_unit(reading, at, at)) {
        return 1;
    }
    uint32_t weight = pair_count(reading, at) > 0 ? reading->weights->translation_too
                                                  : reading->weights->translation;
    size_t synonyms = add_synonyms(reading, at, weight, RARENESS_ANY);
    size_t translated = add_translations(reading, at, weight);
    size_t length = synonyms > translated ? synonyms : translated;
    weight = length > 0 ? weight : 0;
    length = length > 0 ? length : 1;
    last_unit(reading)->end = reading->words->items[at + length - 1].end;
    bool found = last_unit(reading)->count > 0;
    level_alternatives(reading);
    end_unit_if_any(reading, weight);
    return found ? length : 1;
}

static void read_pair(const struct reading *reading, size_t at) {
    const struct word *word = &reading->words->items[at];
    if (is_after_han(reading->words, at)) {
        uint32_t stop = reading->weights->stop;
        uint32_t weight = is_crossing(reading, at - 1) ? reading->weights->crossing : RARENESS_ONE;
        read_joined(reading, at, word->stop || word[-1].stop ? stop : weight);
    }
}

/* ---------------------------------------------------------------- segments */

static bool says_something(const struct word *word) {
    return !word->stop && word->kind != WORD_NUMBER;
}

/* How many words from `at` to the end of their part say something. */
static size_t content_of_part(const struct words *words, size_t at) {
    size_t count = 0;
    for (size_t i = at; i < words->count && words->items[i].part == words->items[at].part; i++) {
        count += says_something(&words->items[i]);
    }
    return count;
}

/* Whether a wish of its own begins at a word, after one of `content` words that say something. */
static bool begins_segment(const struct words *words, size_t at, size_t content) {
    const struct word *word = &words->items[at];
    size_t least = word->kind == WORD_HAN ? SEGMENT_CHARACTERS_MIN : SEGMENT_WORDS_MIN;
    bool begins = at > 0 && (word->part != word[-1].part || word->clause != word[-1].clause);
    return begins && content >= least && content_of_part(words, at) >= least;
}

/* Whether a word stands in the segment already. */
static bool is_repeated(const struct words *words, size_t at, size_t segment_start) {
    const struct word *word = &words->items[at];
    for (size_t i = segment_start; i < at; i++) {
        const struct word *other = &words->items[i];
        if (other->stem_length == word->stem_length &&
            memcmp(other->stem, word->stem, word->stem_length) == 0) {
            return true;
        }
    }
    return false;
}

/* The first action is what is wanted, unless it is a question. */
static void take_action(struct query *query, uint32_t actions) {
    uint32_t *wanted = &query->actions[query->segments - 1];
    if ((actions & 1u << ACTION_ASK) != 0) {
        *wanted = 1u << ACTION_ASK | 1u << ACTION_READ | 1u << ACTION_SEARCH;
    } else if (*wanted == 0) {
        *wanted = actions;
    }
}

static void read_word(const struct reading *reading, size_t at, size_t segment_start,
                      size_t *han_end) {
    const struct words *words = reading->words;
    const struct word *word = &words->items[at];
    if (!word->quoted) {
        uint32_t actions = actions_at(words, at);
        bool again = (actions & 1u << ACTION_AGAIN) != 0;
        reading->query->again |= again && reading->scale == TURNS_ONE;
        take_action(reading->query, actions & ~(1u << ACTION_AGAIN));
    }
    if (word->kind == WORD_HAN) {
        read_pair(reading, at);
        if (at >= *han_end) {
            *han_end = at + read_han_word(reading, at);
        }
    } else if (!is_repeated(words, at, segment_start)) {
        read_letters(reading, at);
        if (at > segment_start && word[-1].kind != WORD_HAN) {
            read_joined(reading, at, reading->weights->joined);
        }
    }
}

static void read_words(struct reading *reading, const struct turns *turns) {
    const struct words *words = reading->words;
    struct query *query = reading->query;
    size_t most = reading->weights->clauses ? QUERY_SEGMENTS_MAX : 1;
    size_t segment_start = 0;
    size_t content = 0;
    size_t han_end = 0; /* of the word of a lexicon that was read last */
    for (size_t i = 0; i < words->count && query->unit_count < QUERY_UNITS_MAX; i++) {
        reading->scale = turns_weight(turns, words->items[i].start);
        if (reading->scale == 0) {
            continue;
        }
        if (most > query->segments && begins_segment(words, i, content)) {
            query->segments++;
            segment_start = i;
            content = 0;
        }
        content += says_something(&words->items[i]);
        read_word(reading, i, segment_start, &han_end);
    }
}

/* The tools that a program says it has called: "read_file(path=...)". */
static void read_called(const char *text, const struct turns *turns, struct query *query) {
    query->called_count = 0;
    for (size_t i = 0; i < turns->count; i++) {
        size_t name = turns->items[i].start;
        for (size_t at = name; !turns->items[i].asked && at < turns->items[i].end; at++) {
            bool part = ascii_is_word(text[at]) || text[at] == '-' || text[at] == '.';
            if (text[at] == '(' && at > name && query->called_count < QUERY_CALLED_MAX) {
                query->called[query->called_count++] = index_hash(text + name, at - name);
            }
            name = part ? name : at + 1;
        }
    }
}

int query_read(const struct index *index, const struct match_weights *weights,
               const struct query_view *view, const char *text, size_t length, struct query *ret,
               struct toolrack_error *err) {
    CLEANUP(words_finish) struct words words = {0};
    int code = words_read(text, length, &words, err);
    if (code == 0) {
        struct turns turns;
        turns_read(text, weights->turns ? length : 0, &turns);
        ret->unit_count = 0;
        ret->alternative_count = 0;
        ret->segments = 1;
        ret->unknown = 0;
        ret->again = false;
        memset(ret->actions, 0, sizeof ret->actions);
        struct reading reading = {
                .index = index, .view = view, .weights = weights, .words = &words, .query = ret};
        read_words(&reading, &turns);
        read_called(text, &turns, ret);
    }
    return code;
}
