#include "choose/surely.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "choose/actions.h"
#include "choose/changed.h"
#include "choose/choice.h"
#include "choose/deed.h"
#include "choose/intent.h"
#include "choose/mood.h"
#include "choose/profile.h"
#include "choose/question.h"
#include "choose/told.h"
#include "choose/turns.h"
#include "choose/values-parts.h"
#include "schema/secret.h"

/* Most words of one key of a lexicon that is looked for in the text. */
#define KEY_WORDS_MAX 6u

/* Words that say little of what a tool is for weigh so much at most (lexicon/common.txt). */
#define COMMON_MOST '3'

/* Kinds of values that are only words. */
#define WORDS_ONLY \
    (VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART) | VALUE_BIT(VALUE_NAME) | VALUE_BIT(VALUE_LIST))

/* Actions that change something. */
#define CHANGING                                                                            \
    (1u << ACTION_CREATE | 1u << ACTION_UPDATE | 1u << ACTION_DELETE | 1u << ACTION_START | \
     1u << ACTION_STOP | 1u << ACTION_SEND)

/* What a word of the text is. */
enum { WORD_OPEN, WORD_SAID, WORD_TAKEN };

struct surely {
    const struct selecting *selecting;
    const struct values *values;
    const struct words *words;
    const struct arguments *arguments;
    const struct profile *profile;
    struct tool_words tool;
    uint32_t actions; /* of the tool's name, title and first sentence */
    uint32_t named;   /* of its name and title alone */
    uint8_t *state;   /* [tokens] */
};

/* Tokens [first, last) of a value. */
struct reach {
    size_t first;
    size_t last;
};

/* ------------------------------------------------------------------------ where things stand */

/* The tokens of a part of the text; they are in its order. */
static struct reach reach_of(const struct surely *surely, size_t start, size_t end) {
    struct reach reach;
    value_tokens_said(surely->values, start, end, &reach.first, &reach.last);
    return reach;
}

static void mark(struct surely *surely, struct reach reach, uint8_t state) {
    for (size_t i = reach.first; i < reach.last; i++) {
        surely->state[i] = surely->state[i] == WORD_TAKEN ? WORD_TAKEN : state;
    }
}

static void mark_words(struct surely *surely, size_t at, size_t count, uint8_t state) {
    const struct word *items = surely->words->items;
    mark(surely, reach_of(surely, items[at].start, items[at + count - 1].end), state);
}

/* ------------------------------------------------------------------- what explains the words */

/* Whether a value says itself what it is. */
static bool tells(const struct value *value) {
    return (VALUE_BIT(value->kind) & WORDS_ONLY) == 0 && value->source == ARGUMENTS_FROM_TEXT;
}

static bool has_taken(const struct surely *surely, const struct value *value) {
    for (size_t t = value->first; t < value->last; t++) {
        if (surely->state[t] == WORD_TAKEN) {
            return true;
        }
    }
    return false;
}

/* Whether of the name of a file only a part is taken: the type, of "save it as home.png". */
static bool is_cut_file(const struct surely *surely, const struct value *value) {
    const struct values *values = surely->values;
    bool file = value->kind == VALUE_PATH &&
                memchr(values->text + value->start, '/', value->end - value->start) == NULL;
    for (size_t i = 0; file && i < surely->arguments->value_count; i++) {
        const struct arguments_value *taken = &surely->arguments->values[i];
        for (size_t k = 0; k < taken->span_count; k++) {
            struct reach reach = reach_of(surely, taken->spans[k].start, taken->spans[k].end);
            if (reach.first <= value->first && value->last <= reach.last) {
                return false;
            }
        }
    }
    return file;
}

/* Whether of an amount of money only the currency is taken: "10, 20 dollars" where one amount is
 * wanted. */
static bool is_cut_money(const struct surely *surely, const struct value *value) {
    const struct token *first = &surely->values->tokens[value->first];
    const char *said = surely->values->text + first->start;
    bool cut = false;
    for (size_t i = 0; value->kind == VALUE_MONEY && i < surely->arguments->value_count; i++) {
        const struct arguments_value *taken = &surely->arguments->values[i];
        for (size_t k = 0; k < taken->span_count; k++) {
            struct reach reach = reach_of(surely, taken->spans[k].start, taken->spans[k].end);
            if (reach.first >= value->last || value->first >= reach.last) {
                continue;
            }
            if (strpbrk(taken->json, "0123456789") != NULL ||
                memmem(taken->json, strlen(taken->json), said, first->end - first->start) != NULL) {
                return false;
            }
            cut = true;
        }
    }
    return cut;
}

/* Whether of an expression only a part is taken: 20 of 20/4, 50 of "half of 50". */
static bool is_cut_expression(const struct surely *surely, const struct value *value) {
    for (size_t t = value->first; value->kind == VALUE_EXPRESSION && t < value->last; t++) {
        if (surely->values->tokens[t].kind != TOKEN_SIGN && surely->state[t] != WORD_TAKEN) {
            return true;
        }
    }
    return false;
}

/* Whether words for the working folder say where a file is that is taken with the folder: "remove
 * report.txt here" (render_is_absolute()). */
static bool is_folder_of_file(const struct surely *surely, const struct value *value) {
    const struct values *values = surely->values;
    bool folder = value->kind == VALUE_PATH && value->source == ARGUMENTS_FROM_FOLDER &&
                  values->context.folder != NULL;
    for (size_t i = 0; folder && i < values->solid_count; i++) {
        const struct value *other = &values->list[i];
        if (other->kind == VALUE_PATH && other->source == ARGUMENTS_FROM_TEXT &&
            has_taken(surely, other)) {
            return true;
        }
    }
    return false;
}

static void mark_values(struct surely *surely) {
    for (size_t i = 0; i < surely->arguments->value_count; i++) {
        const struct arguments_value *value = &surely->arguments->values[i];
        for (size_t k = 0; k < value->span_count; k++) {
            mark(surely, reach_of(surely, value->spans[k].start, value->spans[k].end), WORD_TAKEN);
        }
    }
    for (size_t i = 0; i < surely->values->solid_count; i++) {
        const struct value *value = &surely->values->list[i];
        bool currency = value->kind == VALUE_CURRENCY && value->first > 0 &&
                        surely->state[value->first - 1] == WORD_TAKEN;
        if (tells(value) && (currency || has_taken(surely, value)) &&
            !is_cut_expression(surely, value)) {
            mark(surely, (struct reach){value->first, value->last}, WORD_TAKEN);
        } else if (is_folder_of_file(surely, value)) {
            mark(surely, (struct reach){value->first, value->last}, WORD_SAID);
        }
    }
    for (size_t i = 0; i < surely->values->pick_count; i++) {
        const struct value_pick *pick = &surely->values->picks[i];
        if (surely->state[pick->number] == WORD_TAKEN) {
            mark(surely, (struct reach){pick->first, pick->last}, WORD_SAID);
        }
    }
}

/* Signs, and words that only join others; and what was not said now by the person who asks. */
static void mark_joining(struct surely *surely) {
    for (size_t i = 0; i < surely->values->token_count; i++) {
        const struct token *token = &surely->values->tokens[i];
        bool joins = token->cue != CUE_NONE && token->cue != CUE_VERB && token->cue != CUE_NOT &&
                     token->cue != CUE_WITHOUT;
        if (token->kind == TOKEN_SIGN || !token->user || !token->open || joins) {
            mark(surely, (struct reach){i, i + 1}, WORD_SAID);
        }
    }
}

static bool says_little(const struct words *words, size_t at, size_t *ret_count) {
    static const struct lexicon *const lexicons[] = {&lexicon_connectives, &lexicon_carriers,
                                                     &lexicon_particles};
    const struct lexicon_row *row;
    size_t rows;
    *ret_count = words_match(words, at, &lexicon_common, &row, &rows);
    if (*ret_count > 0 && lexicon_value(&lexicon_common, row)[0] <= COMMON_MOST) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(lexicons); i++) {
        *ret_count = words_match(words, at, lexicons[i], &row, &rows);
        if (*ret_count > 0) {
            return strcmp(lexicon_value(lexicons[i], row), "vague") != 0;
        }
    }
    *ret_count = 1;
    return words->items[at].stop;
}

/* The most words at a place that the tool has, in any of their meanings; 0: none. */
static size_t explained(const struct surely *surely, size_t at) {
    const struct words *words = surely->words;
    size_t count = words->count - at < KEY_WORDS_MAX ? words->count - at : KEY_WORDS_MAX;
    for (; count > 0; count--) {
        if (fit_tool_explains(profile_fit(surely->profile), words, at, count)) {
            return count;
        }
    }
    const struct lexicon_row *row;
    size_t rows;
    return (actions_at(words, at) & surely->actions) != 0
                   ? words_match(words, at, &lexicon_actions, &row, &rows)
                   : 0;
}

static bool has_deed(const struct deeds *deeds, const char *deed) {
    for (size_t i = 0; i < deeds->count; i++) {
        if (deed_is_same(deeds->items[i], deed)) {
            return true;
        }
    }
    return false;
}

/* The verb of what the tool does, with its particle further on: "switch the fan off". */
static void mark_deed(struct surely *surely, size_t at) {
    struct deeds deeds = {.count = 0};
    struct deeds_reading reading = deeds_read(surely->words, at);
    deeds_add(&deeds, reading.row, reading.rows);
    for (size_t i = 0; i < deeds.count; i++) {
        if (has_deed(&fit_tool_deeds(profile_fit(surely->profile))->all, deeds.items[i])) {
            mark_words(surely, at, 1, WORD_SAID);
            mark_words(surely, reading.last, 1, WORD_SAID);
        }
    }
}

static void mark_explained(struct surely *surely) {
    const struct words *words = surely->words;
    const struct refused *refused = &surely->selecting->evaluation.refused;
    size_t said = surely->selecting->asked.wording.said;
    for (size_t at = 0; at < words->count; at++) {
        if (said > 0 && words->items[at].start >= said) {
            break;
        }
        mark_deed(surely, at);
        size_t count = explained(surely, at);
        if (count > 0 || says_little(words, at, &count) || refused_is_said(refused, words, at)) {
            mark_words(surely, at, count > 0 ? count : 1, WORD_SAID);
        }
    }
}

/* What says itself what it is and no parameter takes is open, though the tool may have its words.
 */
static void mark_left(struct surely *surely) {
    const uint32_t kinds = VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT) |
                           VALUE_BIT(VALUE_DURATION) | VALUE_BIT(VALUE_QUANTITY) |
                           VALUE_BIT(VALUE_PERCENT) | VALUE_BIT(VALUE_MONEY) |
                           VALUE_BIT(VALUE_LANGUAGE) | VALUE_BIT(VALUE_EMAIL) |
                           VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_QUOTED);
    for (size_t i = 0; i < surely->values->solid_count; i++) {
        const struct value *value = &surely->values->list[i];
        const struct token *token = &surely->values->tokens[value->first];
        bool one = value->kind == VALUE_QUANTITY && value->worded && value->number <= 1;
        const struct value_time *now = &surely->values->now;
        bool today = value->kind == VALUE_DATE && value->time.day == now->day &&
                     value->time.month == now->month && value->time.year == now->year;
        bool left = (VALUE_BIT(value->kind) & kinds) != 0 && !value_is_class(value) && !today &&
                    token->user && token->open && !one && !is_folder_of_file(surely, value) &&
                    (is_cut_file(surely, value) || is_cut_money(surely, value) ||
                     !has_taken(surely, value));
        for (size_t t = value->first; left && t < value->last; t++) {
            surely->state[t] = surely->values->tokens[t].kind == TOKEN_SIGN ? WORD_SAID : WORD_OPEN;
        }
    }
}

static bool is_of_tool(const void *user, size_t at, size_t count) {
    const struct surely *surely = user;
    return fit_tool_explains(profile_fit(surely->profile), surely->words, at, count);
}

static bool takes(const void *user, size_t token) {
    const struct surely *surely = user;
    return surely->state[token] == WORD_TAKEN;
}

/* Words and signs that change a value of which the arguments have only a part. */
static bool find_changed(const struct surely *surely, struct reach *ret) {
    struct turns turns;
    turns_read(surely->selecting->asked.wording.text, surely->selecting->asked.wording.said,
               &turns);
    const struct changed_text text = {.values = surely->values,
                                      .words = surely->words,
                                      .dialogue = turns.count > 0,
                                      .takes = takes,
                                      .explains = is_of_tool,
                                      .user = surely};
    return changed_find(&text, &ret->first, &ret->last);
}

/* The first words that nothing explains. */
static bool find_open(const struct surely *surely, struct reach *ret) {
    for (size_t i = 0; i < surely->values->token_count; i++) {
        if (surely->state[i] == WORD_OPEN) {
            *ret = (struct reach){i, i + 1};
            while (ret->last < surely->values->token_count &&
                   surely->state[ret->last] == WORD_OPEN) {
                ret->last++;
            }
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------ what is to be done */

static void read_actions(struct surely *surely) {
    const struct words *words = &surely->tool.words;
    for (size_t at = 0; at < words->count; at++) {
        if (tool_words_is_purpose(&surely->tool, &words->items[at])) {
            surely->actions |= actions_at(words, at);
        }
        if (tool_words_field(&surely->tool, &words->items[at]) <= TOOL_TITLE) {
            surely->named |= actions_at(words, at);
        }
    }
}

/* A verb that wants something else done than the tool is named after: "resume" and a tool that
 * pauses. */
static bool find_other_action(const struct surely *surely, struct reach *ret) {
    const struct words *words = surely->words;
    const struct refused *refused = &surely->selecting->evaluation.refused;
    for (size_t at = 0; at < words->count; at++) {
        uint32_t wanted = actions_at(words, at) & CHANGING;
        struct reach reach = reach_of(surely, words->items[at].start, words->items[at].end);
        bool counts = wanted != 0 && reach.last > reach.first &&
                      surely->state[reach.first] != WORD_TAKEN &&
                      surely->values->tokens[reach.first].open && intent_is_wanted(words, at) &&
                      !refused_is_said(refused, words, at);
        if (counts && surely->named != 0 && (wanted & (surely->named | surely->actions)) == 0) {
            *ret = reach;
            return true;
        }
        if (counts) {
            return false; /* the first verb says what is wanted */
        }
    }
    return false;
}

/* Deeds that come to the same for one thing or another: a device is turned off, stopped, closed. */
static const char *const ons[] = {"on", "start", "activate", "open", "enable", "play"};
static const char *const offs[] = {"off", "stop", "deactivate", "close", "disable"};

static bool has_any_deed(const struct deeds *deeds, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (has_deed(deeds, list[i])) {
            return true;
        }
    }
    return false;
}

/* What is to be turned on or off, and a tool that does another thing: 关掉电视 and one that pauses.
 */
static bool find_other_deed(const struct surely *surely, struct reach *ret) {
    const struct deeds_done *done = fit_tool_deeds(profile_fit(surely->profile));
    struct deeds_wanted wanted;
    struct turns turns;
    const char *text = surely->selecting->asked.wording.text;
    turns_read(text, surely->selecting->asked.wording.said, &turns);
    deeds_of_text(surely->words, &turns, &surely->selecting->evaluation.refused, &wanted);
    bool on = has_deed(&wanted.first, "on") && !has_any_deed(&done->all, ons, ARRAY_LENGTH(ons));
    bool off =
            has_deed(&wanted.first, "off") && !has_any_deed(&done->all, offs, ARRAY_LENGTH(offs));
    if (done->first.count == 0 || !(on || off)) {
        return false;
    }
    const struct word *items = surely->words->items;
    *ret = reach_of(surely, items[wanted.at].start, items[wanted.at].end);
    return ret->first < ret->last;
}

/* Whether a candidate is named after a word of the text that the chosen tool does not have itself,
 * but at most one that means nearly the same. */
static bool is_of_other_tool(const struct surely *surely, size_t at, size_t candidate) {
    const struct word *word = &surely->words->items[at];
    const struct match_hit *hit = &surely->selecting->shortlist.items[candidate].hit;
    const struct words *own = &surely->tool.words;
    bool named = false;
    for (size_t i = 0; i < hit->reason_count; i++) {
        named = named ||
                (hit->reasons[i].relation == MATCH_SAME && hit->reasons[i].field == INDEX_NAME &&
                 hit->reasons[i].start == word->start);
    }
    for (size_t i = 0; named && i < own->count; i++) {
        named = own->items[i].stem_length != word->stem_length ||
                memcmp(own->items[i].stem, word->stem, word->stem_length) != 0;
    }
    return named;
}

/* A thing that another tool is named after, where the chosen tool only means something like it:
 * "list my orders" and a tool that shows the shopping list. */
static bool find_other_thing(const struct surely *surely, struct reach *ret) {
    const struct words *words = surely->words;
    const struct refused *refused = &surely->selecting->evaluation.refused;
    for (size_t at = 0; at < words->count; at++) {
        const struct word *word = &words->items[at];
        struct reach reach = reach_of(surely, word->start, word->end);
        size_t count;
        bool thing = word->kind == WORD_LETTERS && !word->quoted && !word->literal && !word->stop &&
                     reach.last > reach.first && surely->state[reach.first] != WORD_TAKEN &&
                     surely->values->tokens[reach.first].open && !intent_is_verb(words, at) &&
                     actions_at(words, at) == 0 && deeds_read(words, at).rows == 0 &&
                     !says_little(words, at, &count) && !refused_is_said(refused, words, at);
        for (size_t i = 0; thing && i < surely->selecting->shortlist.count; i++) {
            if (is_of_other_tool(surely, at, i)) {
                *ret = reach;
                return true;
            }
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------ whole values */

static const struct parameter *find_parameter(const struct surely *surely, const char *pointer) {
    const struct parameters *parameters = profile_parameters(surely->profile);
    for (size_t p = 0; p < parameters->count; p++) {
        if (strcmp(parameters->list[p].pointer, pointer) == 0) {
            return &parameters->list[p];
        }
    }
    return NULL;
}

/* Whether a value of the text that says itself what it is has just these words. */
static bool is_strong(const struct surely *surely, struct reach reach) {
    const struct values *values = surely->values;
    for (size_t i = 0; i < values->count; i++) {
        const struct value *value = &values->list[i];
        if (value->first == reach.first && value->last == reach.last &&
            ((VALUE_BIT(value->kind) & WORDS_ONLY) == 0 || value->piece != PIECE_NONE)) {
            return true;
        }
    }
    return false;
}

static bool is_named_by(const struct token *token, const struct token *names, size_t count,
                        int alike) {
    for (size_t i = 0; i < count; i++) {
        if (token_alike(token, &names[i]) >= alike) {
            return true;
        }
    }
    return false;
}

static bool takes_prose(const struct parameter *parameter) {
    return parameter->hint == HINT_TEXT || parameter->hint == HINT_TITLE;
}

/* Whether a word of the lexicon goes over the edge of a value: of 去掉 only 掉 is in it. */
static bool is_torn(const struct surely *surely, struct reach reach) {
    const struct words *words = surely->words;
    for (size_t at = 0; at < words->count; at++) {
        const struct lexicon_row *row;
        size_t rows;
        size_t most = words_match(words, at, &lexicon_intents, &row, &rows);
        size_t other = words_match(words, at, &lexicon_actions, &row, &rows);
        size_t glossed = words_match(words, at, &lexicon_glossary, &row, &rows);
        most = other > most ? other : most;
        most = glossed > most ? glossed : most;
        if (words->items[at].kind != WORD_HAN || most < 2) {
            continue;
        }
        struct reach word =
                reach_of(surely, words->items[at].start, words->items[at + most - 1].end);
        bool begins = word.first < reach.first && reach.first < word.last;
        bool ends = word.first < reach.last && reach.last < word.last;
        if (begins || ends) {
            return true;
        }
    }
    return false;
}

/* Whether a word of the text at a token cannot be at the edge of a name: "off", 把, 里. */
static bool is_joining(const struct surely *surely, size_t t, bool ends) {
    const struct words *words = surely->words;
    for (size_t at = 0; at < words->count; at++) {
        const struct word *word = &words->items[at];
        struct reach reach = reach_of(surely, word->start, word->end);
        if (reach.first != t || reach.last != t + 1) {
            continue;
        }
        const struct lexicon_row *row;
        size_t rows;
        if (word->kind == WORD_HAN) {
            return words_match(words, at, &lexicon_particles, &row, &rows) == 1 &&
                   *lexicon_value(&lexicon_particles, row) == '\0';
        }
        return ends && words_match(words, at, &lexicon_stop_words, &row, &rows) == 1 &&
               *lexicon_value(&lexicon_stop_words, row) != '\0';
    }
    return false;
}

/* Whether words only say a number or a time, which a parameter for a name does not want. */
static bool is_all_told(const struct surely *surely, struct reach reach) {
    size_t covered = 0;
    for (size_t t = reach.first; t < reach.last; t++) {
        bool told = surely->values->tokens[t].cue != CUE_NONE;
        for (size_t i = 0; i < surely->values->solid_count && !told; i++) {
            const struct value *value = &surely->values->list[i];
            told = tells(value) && value->first <= t && t < value->last;
        }
        covered += told;
    }
    return covered == reach.last - reach.first;
}

/* Whether what a value is of is left over: "two loaves" of "two loaves of bread". */
static bool is_of_more(const struct surely *surely, struct reach reach) {
    const struct values *values = surely->values;
    size_t next = reach.last;
    return next + 1 < values->token_count && values->tokens[next].cue == CUE_OF &&
           values->tokens[next].kind != TOKEN_SIGN && surely->state[next + 1] != WORD_TAKEN &&
           values->tokens[next + 1].cue == CUE_NONE;
}

/* Whether a Chinese verb of several characters stands in a value: the sentence was not divided. */
static bool has_verb(const struct surely *surely, struct reach reach) {
    const struct words *words = surely->words;
    for (size_t at = 0; at < words->count; at++) {
        const struct lexicon_row *row;
        size_t rows;
        size_t most = words_match(words, at, &lexicon_actions, &row, &rows);
        size_t carried = words_match(words, at, &lexicon_particles, &row, &rows);
        most = carried > most ? carried : most;
        struct reach word = reach_of(surely, words->items[at].start, words->items[at].end);
        if (words->items[at].kind == WORD_HAN && most > 1 && reach.first <= word.first &&
            word.first < reach.last) {
            return true;
        }
    }
    return false;
}

/* Whether words have at their edges, or inside of a name, what belongs to the sentence. */
static bool is_unclean(const struct surely *surely, const struct parameter *parameter,
                       struct reach reach) {
    const struct token *tokens = surely->values->tokens;
    bool prose = takes_prose(parameter);
    for (size_t t = reach.first; t < reach.last; t++) {
        const struct token *token = &tokens[t];
        bool last = t + 1 == reach.last;
        bool edge = t == reach.first || last;
        bool han = token->kind == TOKEN_HAN;
        bool belongs = token->cue == CUE_NONE || (token->cue == CUE_OF && (han || !edge)) ||
                       token->cue == CUE_DETERMINER || token->cue == CUE_PRONOUN ||
                       token->cue == CUE_POLITE || (han && !edge);
        bool verb = token->cue == CUE_VERB;
        bool unclean = verb    ? edge && !prose && (han || reach.last - reach.first > 1)
                       : prose ? last || (edge && !han)
                               : true;
        if (!token->user || (!belongs && unclean)) {
            return true;
        }
    }
    bool joins = is_joining(surely, reach.first, false) ||
                 is_joining(surely, reach.last - 1, reach.last - reach.first > 1);
    bool place = parameter->hint == HINT_PLACE || parameter->hint == HINT_PERSON;
    bool han = tokens[reach.last - 1].kind == TOKEN_HAN;
    bool other = (!prose && is_all_told(surely, reach)) ||
                 (!place && (han || !prose) && is_of_more(surely, reach));
    return (!prose && (joins || has_verb(surely, reach))) || other || is_torn(surely, reach);
}

/* The word before a value that says what it is: behind "called" and articles. */
static const struct token *word_before(const struct surely *surely, size_t first) {
    const struct token *tokens = surely->values->tokens;
    while (first > 0) {
        const struct token *token = &tokens[--first];
        bool passes = token->kind == TOKEN_SIGN || token->cue == CUE_NAMED ||
                      token->cue == CUE_IS || token->cue == CUE_DETERMINER;
        if (!passes) {
            return token;
        }
    }
    return NULL;
}

/* Whether the word before a value is the name of another parameter of its kind. */
static bool is_of_other(const struct surely *surely, const struct parameter *parameter,
                        struct reach reach) {
    const struct parameters *parameters = profile_parameters(surely->profile);
    const struct token *before = word_before(surely, reach.first);
    if (before == NULL || before->cue != CUE_NONE ||
        is_named_by(before, parameter->tokens, parameter->name_count, 2)) {
        return false;
    }
    for (size_t p = 0; p < parameters->count; p++) {
        const struct parameter *other = &parameters->list[p];
        if (other != parameter && other->type == parameter->type &&
            is_named_by(before, other->tokens, other->name_count, 2)) {
            return true;
        }
    }
    return false;
}

/* Whether the first of some words only says what the value is: "table customers". */
static bool begins_with_name(const struct surely *surely, const struct parameter *parameter,
                             struct reach reach) {
    const struct parameters *parameters = profile_parameters(surely->profile);
    const struct token *first = &surely->values->tokens[reach.first];
    const int alike = first->kind == TOKEN_HAN ? 1 : 2;
    bool other = false; /* "labels bug" for the assignees */
    for (size_t p = 0; !takes_prose(parameter) && p < parameters->count; p++) {
        other = other ||
                is_named_by(first, parameters->list[p].tokens, parameters->list[p].name_count, 2);
    }
    return reach.last - reach.first > 1 && first->kind != TOKEN_NUMBER &&
           (other || is_named_by(first, parameter->tokens, parameter->name_count, alike) ||
            (!takes_prose(parameter) &&
             is_named_by(first, parameters->tool_tokens, parameters->tool_name_count, alike)));
}

/* "Escape" is no id of an event, but the key of a keyboard. */
static bool is_proper(const struct surely *surely, const struct parameter *parameter,
                      struct reach reach) {
    const struct token *token = &surely->values->tokens[reach.first];
    bool id = false;
    for (size_t i = 0; i < parameter->name_count; i++) {
        id = id || parameter->tokens[i].word == token_hash("id", 2);
    }
    return !id && token->capital && reach.first > 0 && reach.last == reach.first + 1;
}

/* An id is no ordinary word. */
static bool is_no_id(const struct surely *surely, const struct parameter *parameter,
                     struct reach reach) {
    if (parameter->hint != HINT_ID || parameter->type != PARAMETER_STRING) {
        return false;
    }
    const uint32_t times = VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT) |
                           VALUE_BIT(VALUE_DURATION);
    for (size_t i = 0; i < surely->values->count; i++) {
        const struct value *value = &surely->values->list[i];
        if (value->first <= reach.first && reach.last <= value->last &&
            (VALUE_BIT(value->kind) & times) != 0) {
            return true;
        }
    }
    return !is_strong(surely, reach) && !surely->values->tokens[reach.first].capitals &&
           !is_proper(surely, parameter, reach);
}

/* An absolute path or a URL is no name. */
static bool is_no_name(const struct surely *surely, const struct parameter *parameter,
                       struct reach reach) {
    bool any = parameter->hint != HINT_ID && parameter->hint != HINT_TITLE &&
               parameter->hint != HINT_PERSON;
    for (size_t i = 0; !any && i < surely->values->solid_count; i++) {
        const struct value *value = &surely->values->list[i];
        char begins = surely->values->text[value->start];
        if (value->first == reach.first && value->last == reach.last &&
            (value->kind == VALUE_URL ||
             (value->kind == VALUE_PATH && (begins == '/' || begins == '~')))) {
            return true;
        }
    }
    return false;
}

/* Whether a word is a verb by which the tool says what it does: "unstage", where it is described as
 * "Unstage all changes". */
static bool is_own_verb(const struct surely *surely, const struct word *word) {
    const struct orders_verb *verbs;
    size_t count = fit_tool_verbs(profile_fit(surely->profile), &verbs);
    for (size_t i = 0; i < count; i++) {
        if (!verbs[i].name && strlen(verbs[i].stem) == word->stem_length &&
            memcmp(verbs[i].stem, word->stem, word->stem_length) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a value is only the verb of the sentence, which says what the tool does. */
static bool is_only_verb(const struct surely *surely, const struct parameter *parameter,
                         struct reach reach) {
    bool wants = !takes_prose(parameter);
    const struct words *words = surely->words;
    for (size_t at = 0; wants && at < words->count; at++) {
        struct reach word = reach_of(surely, words->items[at].start, words->items[at].end);
        if (word.first == reach.first && reach.last == reach.first + 1) {
            bool verb = (intent_is_verb(words, at) && intent_is_wanted(words, at)) ||
                        is_own_verb(surely, &words->items[at]);
            return verb && (at == 0 || words->items[at - 1].part != words->items[at].part);
        }
    }
    return false;
}

static bool is_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether a secret is cut at a sign: it goes from white space to white space, or to a letter of a
 * script without spaces. */
static bool is_cut(const struct surely *surely, const struct arguments_span *span) {
    const char *text = surely->selecting->asked.options.text;
    size_t length = surely->selecting->asked.length;
    unsigned char after = span->end < length ? (unsigned char)text[span->end] : ' ';
    unsigned char before = span->start > 0 ? (unsigned char)text[span->start - 1] : ' ';
    bool quoted = before == after && (after == '"' || after == '\'' || after == '`');
    bool stops = (after == '.' || after == ',') &&
                 (span->end + 1 >= length || is_space((unsigned char)text[span->end + 1]));
    return !quoted && !stops && !is_space(after) && after < 0x80;
}

/* Whether a value is the verb of the sentence. */
static bool is_verb(const struct surely *surely, const struct arguments_span *span) {
    const struct words *words = surely->words;
    for (size_t at = 0; at < words->count; at++) {
        const struct word *word = &words->items[at];
        if (word->start == span->start && word->end == span->end) {
            return intent_is_verb(words, at) && intent_is_wanted(words, at);
        }
    }
    return false;
}

/* Whether words are only a part of what is written as one: "csv" of ".csv". */
static bool is_part_of_more(const struct surely *surely, struct reach reach) {
    const struct token *first = &surely->values->tokens[reach.first];
    return reach.first > 0 && !first->space && first->kind != TOKEN_HAN &&
           first[-1].kind == TOKEN_SIGN && first[-1].sign < 0x80 &&
           strchr(".-_/\\@$*~+", (int)first[-1].sign) != NULL;
}

/* Whether words are a value only by where they stand, and not a clean one. */
static bool is_weak(const struct surely *surely, const struct parameter *parameter,
                    struct reach reach) {
    return !is_strong(surely, reach) &&
           (is_unclean(surely, parameter, reach) || begins_with_name(surely, parameter, reach) ||
            is_part_of_more(surely, reach));
}

static const struct value *find_list(const struct surely *surely, struct reach reach) {
    for (size_t i = 0; i < surely->values->count; i++) {
        const struct value *value = &surely->values->list[i];
        if (value->kind == VALUE_LIST && value->first == reach.first && value->last == reach.last) {
            return value;
        }
    }
    return NULL;
}

/* Whether the text says of a value that it is not meant, or names another beside it with "or". */
static bool is_left_out(const struct surely *surely, const struct parameter *parameter,
                        struct reach reach) {
    const struct values *values = surely->values;
    if (parameter->type == PARAMETER_BOOLEAN || takes_prose(parameter) ||
        choice_is_negative(parameter)) {
        return false;
    }
    const struct token *tokens = values->tokens;
    bool behind =
            reach.last + 1 < values->token_count && tokens[reach.last].cue == CUE_OR &&
            (parameter->type == PARAMETER_CHOICE || (tokens[reach.last + 1].cue == CUE_NONE &&
                                                     surely->state[reach.last + 1] != WORD_TAKEN));
    bool before = reach.first > 1 && tokens[reach.first - 1].cue == CUE_OR &&
                  tokens[reach.first - 2].cue == CUE_NONE &&
                  surely->state[reach.first - 2] != WORD_TAKEN;
    return behind || before || choice_is_denied(values, reach.first, reach.last) ||
           choice_is_excluded(values, reach.first, reach.last);
}

/* Whether a text in plain words ends where another wish begins: "with message fix login and add
 * tests" may be all of it. */
static bool is_before_wish(const struct surely *surely, const struct parameter *parameter,
                           const struct arguments_value *value) {
    const struct selecting *selecting = surely->selecting;
    const struct word *items = surely->words->items;
    struct reach reach = reach_of(surely, value->spans[0].start, value->spans[0].end);
    for (size_t w = 1; takes_prose(parameter) && w < selecting->orders.count; w++) {
        const struct word *first = &items[selecting->orders.items[w].first];
        if (!selecting->done[w] && first[-1].clause == first->clause &&
            first[-1].end == value->spans[value->span_count - 1].end) {
            return !is_strong(surely, reach);
        }
    }
    return false;
}

static bool takes_rooms(const struct parameter *parameter) {
    return strstr(parameter->lower, "room") != NULL || strstr(parameter->lower, "area") != NULL;
}

/* Whether behind an "and" inside of words another parameter is named: "Crash and label bug". */
static bool has_other_name(const struct surely *surely, const struct parameter *parameter,
                           struct reach reach) {
    const struct parameters *parameters = profile_parameters(surely->profile);
    const struct token *tokens = surely->values->tokens;
    for (size_t t = reach.first + 1; t + 1 < reach.last; t++) {
        for (size_t p = 0; tokens[t].cue == CUE_AND && p < parameters->count; p++) {
            const struct parameter *other = &parameters->list[p];
            if (other != parameter &&
                is_named_by(&tokens[t + 1], other->tokens, other->name_count, 2)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a room is taken for another thing, and the tool takes rooms too. */
static bool is_room_of_other(const struct surely *surely, const struct parameter *parameter,
                             struct reach reach) {
    const struct parameters *parameters = profile_parameters(surely->profile);
    bool room = false;
    for (size_t i = 0; i < surely->values->solid_count; i++) {
        const struct value *value = &surely->values->list[i];
        room = room || (value->kind == VALUE_ROOM && value->first == reach.first &&
                        value->last == reach.last);
    }
    for (size_t p = 0; room && p < parameters->count; p++) {
        const struct parameter *other = &parameters->list[p];
        if (other != parameter && takes_rooms(other) && !takes_rooms(parameter)) {
            return true;
        }
    }
    return false;
}

/* Whether a value is a part of what stands in quotation marks, which is meant as a whole. */
static bool is_quoted_part(const struct surely *surely, const struct parameter *parameter,
                           struct reach reach) {
    const struct value *quoted =
            parameter->type == PARAMETER_STRING
                    ? value_covering(surely->values, reach.first, VALUE_BIT(VALUE_QUOTED))
                    : NULL;
    return quoted != NULL && parameter->piece == 0 &&
           (quoted->first < reach.first || reach.last < quoted->last);
}

/* Whether a text has no other words than a value: nothing says what is wanted with it, or that it
 * is not the wish itself. */
static bool is_whole_text(const struct surely *surely, struct reach reach) {
    for (size_t t = 0; t < surely->values->token_count; t++) {
        bool inside = reach.first <= t && t < reach.last;
        if (!inside && surely->values->tokens[t].kind != TOKEN_SIGN) {
            return false;
        }
    }
    return !is_strong(surely, reach);
}

/* Whether a value that something is done to is a thing that another tool is named after: of "turn
 * off the timer" the timer is no device, where a tool starts timers. What is looked for may be
 * anything. */
static bool is_thing_of_other(const struct surely *surely, const struct parameter *parameter,
                              struct reach reach) {
    const struct words *words = surely->words;
    bool acts = fit_tool_changes(profile_fit(surely->profile)) && !takes_prose(parameter);
    for (size_t at = 0; acts && at < words->count; at++) {
        const struct word *word = &words->items[at];
        struct reach own = reach_of(surely, word->start, word->end);
        bool last =
                own.first < own.last && own.last == reach.last && !word->quoted && !word->literal;
        for (size_t i = 0; last && i < surely->selecting->shortlist.count; i++) {
            if (is_of_other_tool(surely, at, i)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether words have a part of an amount or the like, and not all of it: "Bob 12" of "pay Bob 12
 * euros 50". */
static bool has_torn_amount(const struct surely *surely, const struct parameter *parameter,
                            struct reach reach) {
    const uint32_t amounts =
            VALUE_BIT(VALUE_MONEY) | VALUE_BIT(VALUE_QUANTITY) | VALUE_BIT(VALUE_PERCENT);
    for (size_t i = 0; parameter->type == PARAMETER_STRING && !takes_prose(parameter) &&
                       i < surely->values->solid_count;
         i++) {
        const struct value *value = &surely->values->list[i];
        bool overlaps = value->first < reach.last && reach.first < value->last;
        bool inside = reach.first <= value->first && value->last <= reach.last;
        bool own = value->first <= reach.first && reach.last <= value->last;
        if ((VALUE_BIT(value->kind) & amounts) != 0 && overlaps && !inside && !own) {
            return true;
        }
    }
    return false;
}

/* Whether a number says how many there are, and is no id of one: "delete 6 mails", 删除6封邮件. */
static bool is_how_many(const struct surely *surely, const struct parameter *parameter,
                        struct reach reach) {
    static const char *const measures[] = {"封", "个", "条", "份", "张", "项", "件", "笔", "台"};
    static const char *const ordinal[] = {"第"};
    const struct words *words = surely->words;
    bool id = parameter->hint == HINT_ID;
    for (size_t i = 0; i < parameter->name_count; i++) {
        id = id || parameter->tokens[i].word == token_hash("id", 2);
    }
    for (size_t at = 0; id && at + 1 < words->count; at++) {
        const struct word *word = &words->items[at];
        const struct word *next = &words->items[at + 1];
        struct reach own = reach_of(surely, word->start, word->end);
        if (own.first != reach.first || own.last != reach.last || word->kind != WORD_NUMBER ||
            next->clause != word->clause || next->part != word->part) {
            continue;
        }
        bool first = at > 0 && WORD_IS_ONE_OF(&word[-1], ordinal);
        bool plural = next->kind == WORD_LETTERS && next->text_length > 3 &&
                      next->text[next->text_length - 1] == 's' &&
                      next->stem_length < next->text_length && explained(surely, at + 1) > 0;
        return !first && (plural || WORD_IS_ONE_OF(next, measures));
    }
    return false;
}

/* Whether a value may be another one than was meant. */
static bool is_doubtful(const struct surely *surely, const struct parameter *parameter,
                        const struct arguments_value *value) {
    struct reach reach = reach_of(surely, value->spans[0].start, value->spans[0].end);
    if (reach.last <= reach.first) {
        return false;
    }
    if (is_only_verb(surely, parameter, reach) || is_no_id(surely, parameter, reach) ||
        is_before_wish(surely, parameter, value) || is_room_of_other(surely, parameter, reach) ||
        is_whole_text(surely, reach) || is_quoted_part(surely, parameter, reach) ||
        is_thing_of_other(surely, parameter, reach) ||
        (!is_strong(surely, reach) && has_torn_amount(surely, parameter, reach)) ||
        is_how_many(surely, parameter, reach) ||
        (!is_strong(surely, reach) && has_other_name(surely, parameter, reach)) ||
        is_left_out(surely, parameter, reach)) {
        return true;
    }
    bool words = parameter->type == PARAMETER_STRING || parameter->type == PARAMETER_ARRAY;
    if (!words || is_no_name(surely, parameter, reach) || is_of_other(surely, parameter, reach)) {
        return words;
    }
    bool doubtful = false; /* "multiply 7 and 12" is arithmetic, and no list */
    const struct value *list = is_strong(surely, reach) ? NULL : find_list(surely, reach);
    for (size_t i = 0; list != NULL && i < list->item_count; i++) {
        const struct value *item =
                &surely->values->list[surely->values->items[list->item_first + i]];
        doubtful = doubtful || is_weak(surely, parameter, (struct reach){item->first, item->last});
    }
    return list != NULL ? doubtful : is_weak(surely, parameter, reach);
}

/* ---------------------------------------------------------------------------------- questions */

static void ask_words(const struct surely *surely, struct reach reach, struct buf *out) {
    const struct values *values = surely->values;
    size_t start = values->tokens[reach.first].start;
    size_t end = values->tokens[reach.last - 1].end;
    question_words(out, values->text + start, end - start, values->chinese);
}

/* Ask for the first value that may be another one; false: there is none. */
static bool ask_value(const struct surely *surely, struct buf *out) {
    for (size_t i = 0; i < surely->arguments->value_count; i++) {
        const struct arguments_value *value = &surely->arguments->values[i];
        const struct parameter *parameter = find_parameter(surely, value->pointer);
        if (parameter == NULL || value->source != ARGUMENTS_FROM_TEXT || value->span_count == 0) {
            continue;
        }
        bool chinese = surely->values->chinese;
        if (schema_has_secrets(parameter->schema)) {
            if (is_cut(surely, &value->spans[0]) || is_verb(surely, &value->spans[0])) {
                question_missing(out, parameter, parameter->name, parameter->description, chinese);
                return true;
            }
        } else if (is_doubtful(surely, parameter, value)) {
            question_confirm(out, parameter, value->json, chinese);
            return true;
        }
    }
    return false;
}

static bool is_taken(const void *user, const struct word *word) {
    const struct surely *surely = user;
    struct reach reach = reach_of(surely, word->start, word->end);
    return reach.first == reach.last || surely->state[reach.first] == WORD_TAKEN;
}

static bool is_strong_verb(const struct words *words, size_t at) {
    const struct lexicon_row *row;
    size_t rows;
    size_t length = words_match(words, at, &lexicon_intents, &row, &rows);
    for (size_t i = 0; length > 0 && i < rows; i++) {
        const char *value = lexicon_value(&lexicon_intents, &row[i]);
        if (value[strlen(value) - 1] > '1') {
            return true;
        }
    }
    return false;
}

/* Whether words say what the tool does: its verb, or a Chinese word for it. */
static size_t match_act(const void *user, const struct words *words, size_t at) {
    const struct surely *surely = user;
    const struct fit_tool *fit = profile_fit(surely->profile);
    const struct word *word = &words->items[at];
    const struct lexicon_row *row;
    size_t rows;
    if (is_taken(surely, word)) {
        return 0;
    }
    if ((actions_at(words, at) & surely->actions & CHANGING) != 0) {
        return words_match(words, at, &lexicon_actions, &row, &rows);
    }
    struct deeds deeds = {.count = 0};
    size_t length = deeds_at(words, at, &deeds);
    for (size_t i = 0; i < deeds.count; i++) {
        if (has_deed(&fit_tool_deeds(fit)->all, deeds.items[i])) {
            return length;
        }
    }
    if (word->kind == WORD_HAN) {
        static const char *const done[] = {"了", "过"};
        const size_t count = explained(surely, at);
        const bool is_done = count > 0 && at + count < words->count &&
                             WORD_IS_ONE_OF(&words->items[at + count], done);
        const size_t verb = is_strong_verb(words, at)
                                    ? words_match(words, at, &lexicon_intents, &row, &rows)
                                    : 0;
        return verb > 0 ? verb : is_done ? count : 0;
    }
    /* "Bob will pay", but not "you will pay". */
    static const char *const coming[] = {"will", "ll", "might"};
    static const char *const you[] = {"you"};
    const bool foretold =
            at > 1 && WORD_IS_ONE_OF(&word[-1], coming) && !WORD_IS_ONE_OF(&word[-2], you);
    return fit_tool_is_named(fit, word->stem, word->stem_length) && (mood_is_past(word) || foretold)
                   ? 1
                   : 0;
}

/* Whether a deed is only asked or told of, of those that the tool is for. */
static bool is_only_told(const struct surely *surely) {
    const struct selecting *selecting = surely->selecting;
    const char *text = selecting->asked.wording.text;
    size_t at;
    struct turns turns;
    turns_read(text, selecting->asked.wording.said, &turns);
    struct told_condition condition;
    if (turns.count == 0 && told_condition_find(surely->words, 0, &condition) &&
        condition.compares && !is_taken(surely, &surely->words->items[condition.first])) {
        return true;
    }
    return mood_acts(&surely->tool) &&
           ((turns.count == 0 && mood_tells_done(surely->words, match_act, surely)) ||
            mood_only_asks(surely->words, &turns, &selecting->evaluation.refused, true) ||
            (turns.count == 0 && told_find(text, surely->words, is_taken, surely, &at)));
}

/* Whether a text goes on behind what is read of it. */
static bool is_cut_off(const struct surely *surely) {
    return surely->words->cut || surely->values->token_count >= VALUES_TOKENS_MAX ||
           surely->values->length >= VALUES_TEXT_MAX;
}

/* Whether not the text itself leads to the tool but earlier texts do, or it does something that the
 * text does not name. */
static bool is_led(const struct surely *surely) {
    const struct selecting *selecting = surely->selecting;
    const struct words *words = surely->words;
    const struct evaluation *evaluation = &selecting->evaluation;
    const size_t index = evaluation->items[0].index;
    if (evaluation->led) {
        return true;
    }
    bool acts = mood_acts(&surely->tool) && selecting->shortlist.items[index].history > 0;
    /* The mail of delete_mail does not say what is to be done. */
    const bool verb = (surely->named & CHANGING) != 0;
    for (size_t at = 0; acts && at < words->count; at++) {
        const struct word *word = &words->items[at];
        acts = match_act(surely, words, at) == 0 &&
               (verb ||
                !fit_tool_is_named(profile_fit(surely->profile), word->stem, word->stem_length));
    }
    return acts;
}

static void ask(struct surely *surely, const char *tool, struct buf *out) {
    struct reach reach;
    mark_values(surely);
    if (is_cut_off(surely)) {
        question_long(out, surely->values->chinese);
        return;
    }
    if (is_led(surely)) {
        question_led(out, tool, surely->values->chinese);
        return;
    }
    if (is_only_told(surely)) {
        question_told(out, tool, surely->values->chinese);
        return;
    }
    mark_joining(surely);
    mark_explained(surely);
    mark_left(surely);
    if (find_changed(surely, &reach) || find_other_action(surely, &reach) ||
        find_other_deed(surely, &reach) || find_other_thing(surely, &reach)) {
        ask_words(surely, reach, out);
    } else if (!ask_value(surely, out) && find_open(surely, &reach)) {
        ask_words(surely, reach, out);
    }
}

int surely_ask(const struct selecting *selecting, const struct shortlisted *found, char **ret,
               struct toolrack_error *err) {
    const struct values *values = selecting_values(selecting);
    const struct index_document texts = indexed_document(found->tool);
    struct surely surely = {.selecting = selecting,
                            .values = values,
                            .words = &selecting->words,
                            .arguments = selecting->arguments,
                            .profile = selecting->profiles[found - selecting->shortlist.items]};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    *ret = NULL;
    int code = tool_words_read(&texts, profile_schema(surely.profile), &surely.tool, err);
    if (code < 0) {
        return code;
    }
    surely.state = calloc(values->token_count + 1, 1);
    if (surely.state != NULL) {
        read_actions(&surely);
        ask(&surely, toolrack_tool_name(found->tool), &out);
    }
    bool good = surely.state != NULL && !out.failed;
    free(surely.state);
    tool_words_finish(&surely.tool);
    if (!good) {
        return error_oom(err);
    }
    *ret = out.length > 0 ? strdup(out.data) : NULL;
    return out.length > 0 && *ret == NULL ? error_oom(err) : 0;
}
