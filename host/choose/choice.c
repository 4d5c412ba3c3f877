#include "choose/choice.h"

#include <string.h>

#include "base/ascii.h"

#define CHOICE_TOKENS_MAX 32u
#define CHOICE_TEXT_MAX   256u

/* How far before a word "no" still negates it, in tokens. */
#define NEGATION_REACH 5u

/* Places of the text that are compared with all choices of a tool, which have the same share each,
 * and no fewer than this. */
#define CHOICE_PLACES_MAX 65536u
#define CHOICE_PLACES_MIN 4u

/* The words of a choice: "created_at" and "PriorityBased" are two. */
static size_t read_choice(const struct parameter_text *choice, char *lower, struct token *tokens) {
    size_t length = 0;
    for (size_t i = 0; i < choice->length && length + 2 < CHOICE_TEXT_MAX; i++) {
        char c = choice->text[i];
        bool hump = i > 0 && ascii_is_upper(c) && ascii_is_letter(choice->text[i - 1]) &&
                    !ascii_is_upper(choice->text[i - 1]);
        if (hump) {
            lower[length++] = ' ';
        }
        lower[length++] = c == '_' || c == '-' || c == '/' ? ' ' : ascii_lower(c);
    }
    return token_read(lower, lower, length, tokens, CHOICE_TOKENS_MAX);
}

static bool is_same(const struct token *a, const struct token *b) {
    if (a->kind == TOKEN_HAN || b->kind == TOKEN_HAN || a->kind == TOKEN_NUMBER ||
        b->kind == TOKEN_NUMBER) {
        return a->word == b->word;
    }
    return a->word == b->word || a->stem == b->stem;
}

/* Match the tokens of a choice at a place of the text; hyphens of the text are passed over.
 * @return the number of text tokens; 0: no match. */
static size_t match_at(const struct values *values, size_t at, const struct token *choice,
                       size_t count, bool concepts) {
    size_t i = at;
    for (size_t k = 0; k < count;) {
        while (i > at && i < values->token_count && values->tokens[i].kind == TOKEN_SIGN &&
               (values->tokens[i].sign == '-' || values->tokens[i].sign == '_')) {
            i++;
        }
        if (i >= values->token_count || !values->tokens[i].user) {
            return 0;
        }
        const struct token *token = &values->tokens[i];
        if (is_same(token, &choice[k])) {
            i++;
            k++;
        } else if (concepts && token->concept_length > 0 && choice[k].concept_length > 0 &&
                   token_alike(token, &choice[k]) == 1) {
            i += token->concept_length;
            k += choice[k].concept_length;
        } else {
            return 0;
        }
    }
    return i - at;
}

/* A hyphenated word of the text against several words: "one-way" and "one way". */
static bool is_compound(const struct values *values, const struct token *token,
                        const struct parameter_text *choice) {
    const char *text = values->lower + token->start;
    size_t length = token->end - token->start;
    size_t k = 0;
    for (size_t i = 0; i < choice->length; i++) {
        char c = ascii_lower(choice->text[i]);
        if (c == ' ' || c == '-' || c == '_') {
            continue;
        }
        while (k < length && (text[k] == '-' || text[k] == '_')) {
            k++;
        }
        if (k == length || text[k] != c) {
            return false;
        }
        k++;
    }
    return k == length && length > 2;
}

/* How many tokens of the text are a choice, letter by letter with its signs: created_at, C++,
 * America/New_York. 0: they are not, or a word goes on behind it. */
static size_t spelled_at(const struct values *values, size_t at,
                         const struct parameter_text *choice) {
    size_t start = values->tokens[at].start;
    if (choice->length > values->length - start || !values->tokens[at].user) {
        return 0;
    }
    for (size_t i = 0; i < choice->length; i++) {
        if (values->lower[start + i] != ascii_lower(choice->text[i])) {
            return 0;
        }
    }
    size_t end = at;
    while (end < values->token_count && values->tokens[end].end < start + choice->length) {
        end++;
    }
    bool whole = end < values->token_count && values->tokens[end].end == start + choice->length;
    return whole ? end + 1 - at : 0;
}

/* The first token of the user that is like another one; SIZE_MAX: none. */
static size_t first_alike(const struct values *values, const struct token *token, size_t most) {
    struct mention_walk walk;
    size_t first = SIZE_MAX;
    size_t at;
    mention_begin_alike(values->mentions, token, &walk);
    for (size_t n = 0; n < most && mention_next(&walk, &at); n++) {
        bool alike = values->tokens[at].user && token_alike(&values->tokens[at], token) > 0;
        first = alike ? at : first;
    }
    return first;
}

static void count_present(const struct values *values, const struct token *choice, size_t count,
                          size_t most, struct choice_match *ret) {
    size_t present = 0;
    size_t wanted = 0;
    for (size_t k = 0; k < count; k++) {
        if (choice[k].kind == TOKEN_SIGN || (choice[k].kind == TOKEN_HAN && choice[k].pair == 0) ||
            (choice[k].cue != CUE_NONE && choice[k].cue != CUE_VERB &&
             choice[k].kind == TOKEN_WORD)) {
            continue;
        }
        wanted++;
        size_t at = first_alike(values, &choice[k], most);
        if (at != SIZE_MAX && present == 0) {
            ret->first = (uint16_t)at;
            ret->last = (uint16_t)(at + 1);
        }
        present += at != SIZE_MAX;
    }
    ret->level = wanted > 0 && present == wanted        ? CHOICE_SPREAD
                 : present > 0 && present * 2 >= wanted ? CHOICE_HALF
                                                        : CHOICE_NONE;
}

/* Whether a sign stands within what is written as one: that of "orders.csv" is no choice. */
static bool is_inner_sign(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    return token->kind == TOKEN_SIGN && at > 0 && at + 1 < values->token_count &&
           token[-1].kind != TOKEN_SIGN && token[-1].end == token->start &&
           token[1].kind != TOKEN_SIGN && token[1].start == token->end;
}

/* Compare a choice with one place of the text; false: no better mention than before. */
static bool compare_at(const struct values *values, size_t at, const struct parameter_text *choice,
                       const struct token *tokens, size_t count, struct choice_match *best) {
    const struct token *token = &values->tokens[at];
    /* "i" and "a" are words of every text */
    bool letter = count == 1 && tokens[0].end == 1 && !token->capital && token->kind == TOKEN_WORD;
    if (count == 1 && is_inner_sign(values, at)) {
        return false;
    }
    size_t length = letter ? 0 : match_at(values, at, tokens, count, false);
    if (length == 0 && token->user && token->kind == TOKEN_WORD &&
        is_compound(values, token, choice)) {
        length = 1;
    }
    uint8_t level = CHOICE_LITERAL;
    if (length == 0 && best->level < CHOICE_CONCEPT) {
        length = match_at(values, at, tokens, count, true);
        level = CHOICE_CONCEPT;
    }
    if (length == 0) {
        return false;
    }
    best->level = level;
    best->first = (uint16_t)at;
    best->last = (uint16_t)(at + length);
    return true;
}

/* How many places of one word are compared with a choice, and how many were. */
struct looking {
    size_t most;
    size_t places;
};

/* The last place before a token where a choice stands letter by letter. "i" and "a" are words of
 * every text. */
static bool find_spelled(const struct values *values, const struct parameter_text *choice,
                         size_t before, struct looking *looking, struct choice_match *ret) {
    struct mention_walk walk;
    size_t at;
    mention_begin_spelled(values->mentions, choice->text, choice->length, &walk);
    for (size_t n = 0; n < looking->most && mention_next(&walk, &at); n++) {
        const struct token *token = &values->tokens[at];
        bool letter = choice->length == 1 && !token->capital && token->kind == TOKEN_WORD;
        bool inner = choice->length == 1 && is_inner_sign(values, at);
        size_t length = at < before && !letter && !inner ? spelled_at(values, at, choice) : 0;
        looking->places++;
        if (length > 0) {
            *ret = (struct choice_match){.level = CHOICE_LITERAL,
                                         .exact = true,
                                         .first = (uint16_t)at,
                                         .last = (uint16_t)(at + length)};
            return true;
        }
    }
    return false;
}

/* The best mention of a choice before a token, the last of several. */
static struct choice_match find_choice(const struct values *values,
                                       const struct parameter_text *choice, size_t before,
                                       struct looking *looking) {
    char lower[CHOICE_TEXT_MAX];
    struct token tokens[CHOICE_TOKENS_MAX];
    size_t words;
    struct choice_match best = {0};
    if (choice->length == 0 ||
        !mentions_may_have(values->mentions, choice->text, choice->length, &words)) {
        best.size = choice->length == 0 ? 0 : (uint16_t)(words < UINT16_MAX ? words : UINT16_MAX);
        return best;
    }
    if (find_spelled(values, choice, before, looking, &best)) {
        best.size = (uint16_t)words;
        return best;
    }
    size_t count = read_choice(choice, lower, tokens);
    bool cut = choice->length + 2 >= CHOICE_TEXT_MAX || count == CHOICE_TOKENS_MAX;
    struct mention_walk walk;
    size_t at;
    best.size = (uint16_t)count;
    if (count > 0) {
        mention_begin_choice(values->mentions, choice->text, choice->length, &tokens[0], &walk);
    }
    for (size_t n = 0; count > 0 && n < looking->most && mention_next(&walk, &at); n++) {
        looking->places++;
        if (at < before && compare_at(values, at, choice, tokens, count, &best) &&
            best.level == CHOICE_LITERAL) {
            break;
        }
    }
    /* Of a longer choice only its beginning was compared. */
    if (cut && best.level > CHOICE_NONE) {
        best.level = CHOICE_HALF;
    }
    if (best.level == CHOICE_NONE) {
        count_present(values, tokens, count, looking->most, &best);
    }
    return best;
}

/* --------------------------------------------------------------- inside others */

/* For each token the end of the longest literal mention that begins there; and whether one with
 * that end is exact. */
struct cover {
    uint16_t last;
    bool exact;
};

static void add_cover(struct cover *covers, const struct choice_match *match) {
    struct cover *cover = &covers[match->first];
    if (match->level != CHOICE_LITERAL || match->last < cover->last) {
        return;
    }
    cover->exact = match->exact || (cover->exact && match->last == cover->last);
    cover->last = match->last;
}

/* The token at which the mention begins that a shorter one is inside of; SIZE_MAX: none. */
static size_t covered_by(const struct cover *covers, const struct choice_match *match) {
    size_t from = match->first > CHOICE_TOKENS_MAX ? match->first - CHOICE_TOKENS_MAX : 0;
    for (size_t i = from; i < match->first; i++) {
        if (covers[i].last >= match->last) {
            return i;
        }
    }
    const struct cover *own = &covers[match->first];
    bool inside = own->last > match->last || (own->last == match->last && own->exact);
    return inside && !match->exact   ? match->first
           : own->last > match->last ? match->first
                                     : SIZE_MAX;
}

/* How often a choice inside of others is looked for farther to the front. */
#define INSIDE_ROUNDS 4u

static void leave_insides(const struct values *values, const struct parameter *parameter,
                          struct choice_match *matches, struct looking *looking) {
    struct cover covers[VALUES_TOKENS_MAX + 1];
    memset(covers, 0, (values->token_count + 1) * sizeof covers[0]);
    for (size_t i = 0; i < parameter->choice_count; i++) {
        add_cover(covers, &matches[i]);
    }
    for (size_t i = 0; i < parameter->choice_count; i++) {
        size_t over = SIZE_MAX;
        for (size_t round = 0; round < INSIDE_ROUNDS && matches[i].level >= CHOICE_CONCEPT;
             round++) {
            over = covered_by(covers, &matches[i]);
            if (over == SIZE_MAX) {
                break;
            }
            matches[i] = find_choice(values, &parameter->choices[i], over, looking);
        }
        if (over != SIZE_MAX && matches[i].level > CHOICE_HALF) {
            matches[i].level = CHOICE_HALF;
        }
    }
}

/* ---------------------------------------------------------------- languages */

static bool is_of_languages(const struct parameter *parameter) {
    return parameter->hint == HINT_LANGUAGE ||
           (parameter->lower != NULL && strstr(parameter->lower, "lang") != NULL);
}

/* Whether a choice is the code of a language, with or without a country: zh, zh-CN. */
static bool is_code_of(const struct parameter_text *choice, const char *code) {
    size_t length = strlen(code);
    if (choice->length < length ||
        (choice->length > length && choice->text[length] != '-' && choice->text[length] != '_')) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (ascii_lower(choice->text[i]) != code[i]) {
            return false;
        }
    }
    return true;
}

/* Most names of languages in a text that are compared with choices. */
#define LANGUAGES_MAX 16u

static size_t list_languages(const struct values *values, const struct value **ret) {
    size_t count = 0;
    for (size_t v = 0; v < values->solid_count && count < LANGUAGES_MAX; v++) {
        const struct value *value = &values->list[v];
        if (value->kind == VALUE_LANGUAGE && values->tokens[value->first].user) {
            ret[count++] = value;
        }
    }
    return count;
}

/* Languages by their names where the choices are codes: "into Japanese" is ja. And "it" in a text
 * is no Italian. */
static void find_languages(const struct values *values, const struct parameter *parameter,
                           struct choice_match *ret) {
    const struct value *languages[LANGUAGES_MAX];
    size_t count = list_languages(values, languages);
    for (size_t i = 0; i < parameter->choice_count; i++) {
        const struct token *token = &values->tokens[ret[i].first];
        if (ret[i].level == CHOICE_LITERAL && ret[i].last == ret[i].first + 1u &&
            parameter->choices[i].length == 2 && token->cue != CUE_NONE && !token->capital) {
            ret[i].level = CHOICE_NONE;
        }
        for (size_t n = 0; n < count; n++) {
            if (is_code_of(&parameter->choices[i], languages[n]->lexeme->first)) {
                ret[i].level = CHOICE_LITERAL;
                ret[i].exact = true;
                ret[i].first = languages[n]->first;
                ret[i].last = languages[n]->last;
            }
        }
    }
}

size_t choice_find_all(const struct values *values, const struct parameter *parameter, size_t all,
                       struct choice_match *ret) {
    size_t share = CHOICE_PLACES_MAX / (all > 0 ? all : 1);
    struct looking looking = {.most = share < CHOICE_PLACES_MIN    ? CHOICE_PLACES_MIN
                                      : share < MENTION_PLACES_MAX ? share
                                                                   : MENTION_PLACES_MAX};
    bool any = false;
    for (size_t i = 0; i < parameter->choice_count; i++) {
        ret[i] = find_choice(values, &parameter->choices[i], SIZE_MAX, &looking);
        any = any || ret[i].level == CHOICE_LITERAL;
    }
    if (any && parameter->choice_count > 1) {
        leave_insides(values, parameter, ret, &looking);
    }
    if (is_of_languages(parameter)) {
        find_languages(values, parameter, ret);
    }
    return looking.places;
}

/* ------------------------------------------------------------------- truths */

/* Words that a flag's name has and no text says: include, is, enable. */
static bool is_flag_word(const struct token *token) {
    return token->kind == TOKEN_SIGN || token->cue != CUE_NONE ||
           (token->kind == TOKEN_HAN && token->pair == 0);
}

static uint8_t share_of(const struct values *values, const struct token *tokens, size_t count,
                        uint16_t *first, uint16_t *last) {
    size_t wanted = 0;
    size_t present = 0;
    for (size_t k = 0; k < count; k++) {
        if (is_flag_word(&tokens[k])) {
            continue;
        }
        wanted++;
        struct mention_walk walk;
        size_t i;
        mention_begin_alike(values->mentions, &tokens[k], &walk);
        while (mention_next(&walk, &i)) {
            if (values->tokens[i].user && token_alike(&values->tokens[i], &tokens[k]) > 0) {
                *first = present == 0 || i < *first ? (uint16_t)i : *first;
                *last = present == 0 || i + 1 > *last ? (uint16_t)(i + 1) : *last;
                present++;
                break;
            }
        }
    }
    return present == 0 ? 0 : present == wanted ? 3 : present * 2 >= wanted ? 2 : 1;
}

bool choice_is_denied(const struct values *values, size_t first, size_t last) {
    size_t from = first > NEGATION_REACH ? first - NEGATION_REACH : 0;
    for (size_t i = from; i < last; i++) {
        uint32_t sign = values->tokens[i].kind == TOKEN_SIGN ? values->tokens[i].sign : 0;
        if (i < first && (sign == '.' || sign == ',' || sign == ';')) {
            from = i;
        }
    }
    for (size_t i = from; i < last; i++) {
        const struct token *token = &values->tokens[i];
        /* 有没有 asks, and denies nothing. */
        bool asks = i > 0 && i + 1 < values->token_count && token->kind == TOKEN_HAN &&
                    value_is_sign(values, i - 1, values->tokens[i + 1].sign);
        if (asks && token->cue_length > 0) {
            i += token->cue_length - 1u;
        } else if (token->cue == CUE_NOT || token->cue == CUE_WITHOUT) {
            return true;
        }
    }
    return false;
}

/* Whether tokens are a word in lower case. */
static bool is_word(const struct values *values, size_t at, const char *word) {
    const struct token *token = &values->tokens[at];
    return strlen(word) == token->end - token->start &&
           memcmp(values->lower + token->start, word, token->end - token->start) == 0;
}

/* Whether a word says that what is behind it is left out. "Without" says what something has not. */
static bool leaves_out(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    const struct token *before = at > 0 ? token - 1 : NULL;
    bool not_with = is_word(values, at, "without") || is_word(values, at, "无");
    return (token->cue == CUE_WITHOUT && !not_with) ||
           (before != NULL && is_word(values, at, "than") && is_word(values, at - 1, "other")) ||
           (before != NULL && is_word(values, at, "from") && is_word(values, at - 1, "apart")) ||
           (before != NULL && token->cue == CUE_NOT && is_word(values, at - 1, "but"));
}

/* "All but one": everything is spoken of before. */
static bool is_all_but(const struct values *values, size_t at) {
    for (size_t i = at; is_word(values, at, "but") && i-- > 0 && i + NEGATION_REACH >= at;) {
        if (values->tokens[i].cue == CUE_ALL || values->tokens[i].cue == CUE_EVERY ||
            is_word(values, i, "everyone") || is_word(values, i, "everything")) {
            return true;
        }
    }
    return false;
}

bool choice_is_excluded(const struct values *values, size_t first, size_t last) {
    for (size_t i = first; i-- > 0 && i + NEGATION_REACH >= first;) {
        const struct token *token = &values->tokens[i];
        if (leaves_out(values, i) || (i + 1 == first && is_all_but(values, i))) {
            return true;
        }
        if (token->cue == CUE_VERB || (token->kind == TOKEN_SIGN && token->sign < 0x80 &&
                                       token->sign != 0 && strchr(".!?;", (int)token->sign))) {
            break;
        }
    }
    return last + 1 < values->token_count && value_is_sign(values, last + 1, 0x5916) &&
           (value_is_sign(values, last, 0x4ee5) || value_is_sign(values, last, 0x4e4b));
}

bool choice_is_negative(const struct parameter *parameter) {
    for (size_t i = 0; i < parameter->name_count; i++) {
        const struct token *token = &parameter->tokens[i];
        if (token->cue == CUE_NOT || token->cue == CUE_WITHOUT) {
            return true;
        }
    }
    return false;
}

struct truth_match truth_find(const struct values *values, const struct parameter *parameter) {
    struct truth_match match = {0};
    uint16_t first = 0;
    uint16_t last = 0;
    match.share =
            share_of(values, parameter->tokens, parameter->name_count, &match.first, &match.last);
    match.described = share_of(values, parameter->tokens + parameter->name_count,
                               parameter->token_count - parameter->name_count, &first, &last);
    if (match.share == 0) {
        match.first = first;
        match.last = last;
    }
    match.negated = match.last > match.first && choice_is_denied(values, match.first, match.last);
    /* "ignore case": who says "case sensitive" denies it, and "not case sensitive" does not. */
    match.negated =
            match.share > 0 && choice_is_negative(parameter) ? !match.negated : match.negated;
    truth_read_state(values, parameter, &match);
    return match;
}
