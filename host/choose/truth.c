/* What a text says outright of a truth: "recursive: false", "switch the heater off". */
#include <string.h>
#include <strings.h>

#include "choose/choice.h"

/* How far a word may stand from what it is about, in tokens. */
#define ASSIGNED_REACH 6u
#define VERB_REACH     8u

/* How a lexeme says that something is so: the beginning of its first column. */
enum { SAYS_IS = 'i', SAYS_STATE = 's', SAYS_DO = 'd', SAYS_NAME = 'n' };

static bool is_kind(const struct lexeme *lexeme, char kind) {
    return lexeme != NULL && lexeme->first[0] == kind;
}

static bool is_so(const struct lexeme *lexeme) {
    return lexeme->second[0] == 't';
}

static const struct lexeme *at_text(const struct values *values, size_t at, size_t *ret_length) {
    *ret_length = 1;
    return at < values->token_count && values->tokens[at].user &&
                           values->tokens[at].kind != TOKEN_SIGN
                   ? token_lexeme(values->lower, values->tokens, values->token_count, at,
                                  LEXEME_TRUTHS, ret_length)
                   : NULL;
}

static bool ends_sentence(const struct token *token) {
    return token->kind == TOKEN_SIGN && token->sign < 0x80 && token->sign != 0 &&
           strchr(".!?;", (int)token->sign) != NULL;
}

static void state(struct truth_match *match, size_t first, size_t last, bool truth) {
    match->stated = true;
    match->truth = truth;
    match->first = (uint16_t)first;
    match->last = (uint16_t)last;
}

/* -------------------------------------------------------------------- assignments */

/* The name as it is written: keep_originals. */
static bool is_name_itself(const struct values *values, const struct parameter *parameter,
                           const struct token *token) {
    return strlen(parameter->name) == token->end - token->start &&
           strncasecmp(parameter->name, values->text + token->start, token->end - token->start) ==
                   0;
}

static bool is_word_of_name(const struct values *values, const struct parameter *parameter,
                            size_t at) {
    const struct token *token = &values->tokens[at];
    if (is_name_itself(values, parameter, token)) {
        return true;
    }
    for (size_t k = 0; k < parameter->name_count; k++) {
        const struct token *word = &parameter->tokens[k];
        if (word->kind != TOKEN_SIGN && (word->word == token->word || word->stem == token->stem) &&
            (token->cue == CUE_NONE || parameter->name_count == 1)) {
            return true;
        }
    }
    return false;
}

/* "=", "is", "to": the value is next. */
static bool assigns(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    return value_is_sign(values, at, '=') || value_is_sign(values, at, ':') ||
           token->cue == CUE_IS || token->cue == CUE_TO ||
           (token->kind == TOKEN_HAN && token->cue == CUE_FOR);
}

/* Whether a token says yes or no as a value: 是 before other words is "is". */
static const struct lexeme *read_value(const struct values *values, size_t at, size_t *length) {
    const struct lexeme *lexeme = at_text(values, at, length);
    size_t next = at + *length;
    bool copula = lexeme != NULL && values->tokens[at].kind == TOKEN_HAN && *length == 1 &&
                  next < values->token_count && values->tokens[next].kind != TOKEN_SIGN;
    return !copula && (is_kind(lexeme, SAYS_IS) || is_kind(lexeme, SAYS_STATE)) ? lexeme : NULL;
}

/* "recursive false", "enabled of the wifi to false". A word that stands in many texts, such as
 * "on", is a name only before a sign. */
static bool read_assignment(const struct values *values, const struct parameter *parameter,
                            size_t at, struct truth_match *match) {
    bool small = values->tokens[at].cue != CUE_NONE;
    for (size_t i = at + 1; i < values->token_count && i <= at + ASSIGNED_REACH; i++) {
        const struct token *token = &values->tokens[i];
        size_t length = 0;
        bool joint = i == at + 1 || is_word_of_name(values, parameter, i - 1);
        bool assigned = i > at + 1 && assigns(values, i - 1);
        const struct lexeme *value =
                assigned || (joint && !small) ? read_value(values, i, &length) : NULL;
        if (value != NULL && !is_word_of_name(values, parameter, i)) {
            state(match, at, i + length, is_so(value));
            return true;
        }
        if (ends_sentence(token) || value_is_sign(values, i, ',') ||
            (small && !assigns(values, i))) {
            return false;
        }
    }
    return false;
}

static bool find_assignment(const struct values *values, const struct parameter *parameter,
                            struct truth_match *match) {
    for (size_t i = values->token_count; match->share != 1 && i-- > 0;) {
        if (values->tokens[i].user && is_word_of_name(values, parameter, i) &&
            read_assignment(values, parameter, i, match)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------ switches */

/* What the texts of a truth say of on and off. */
struct switched {
    bool is_switch; /* its name has such a word, or its description both */
    bool is_about;  /* its name has other words, which the text must have */
    bool turned;    /* its name says that it is off: disabled */
};

static struct switched read_switch(const struct parameter *parameter) {
    struct switched found = {0};
    bool described[2] = {false, false};
    for (size_t k = 0; k < parameter->token_count;) {
        size_t length = 0;
        const struct token *token = &parameter->tokens[k];
        const struct lexeme *lexeme =
                token->kind == TOKEN_SIGN
                        ? NULL
                        : token_lexeme(parameter->lower, parameter->tokens, parameter->token_count,
                                       k, LEXEME_TRUTHS, &length);
        bool says = lexeme != NULL && !is_kind(lexeme, SAYS_IS);
        bool named = k < parameter->name_count;
        if (named && says) {
            found.is_switch = true;
            found.turned = found.turned || (!is_kind(lexeme, SAYS_NAME) && !is_so(lexeme));
        } else if (named) {
            found.is_about =
                    found.is_about || (token->kind != TOKEN_SIGN && token->cue == CUE_NONE);
        } else if (says && !is_kind(lexeme, SAYS_NAME)) {
            described[is_so(lexeme)] = true;
        }
        k += length > 0 ? length : 1;
    }
    if (described[0] && described[1]) {
        found.is_switch = true;
        found.is_about = false;
    }
    return found;
}

/* "on" before a word is a place or a day, and 开 and 关 are parts of other words. */
static bool is_state_said(const struct values *values, size_t at, size_t length) {
    const struct token *token = &values->tokens[at];
    const struct token *next =
            at + length < values->token_count ? &values->tokens[at + length] : NULL;
    if (token->kind == TOKEN_HAN && length == 1) {
        return token->cue == CUE_VERB && token->cue_length == 1;
    }
    if (token->cue != CUE_ON || length > 1) {
        return true;
    }
    return next == NULL || next->kind == TOKEN_SIGN ||
           (next->cue != CUE_NONE && next->cue != CUE_DETERMINER && next->cue != CUE_PRONOUN &&
            next->cue != CUE_ALL && next->cue != CUE_EVERY);
}

/* Whether the name of the truth stands behind a verb, before the next sentence. */
static bool is_object(const struct values *values, const struct parameter *parameter, size_t at) {
    for (size_t i = at; i < values->token_count && i < at + VERB_REACH; i++) {
        if (ends_sentence(&values->tokens[i])) {
            return false;
        }
        for (size_t k = 0; k < parameter->name_count; k++) {
            const struct token *word = &parameter->tokens[k];
            if (word->kind != TOKEN_SIGN && word->cue == CUE_NONE &&
                token_alike(&values->tokens[i], word) > 0) {
                return true;
            }
        }
    }
    return false;
}

static bool find_switch(const struct values *values, const struct parameter *parameter,
                        struct truth_match *match) {
    const struct switched found = read_switch(parameter);
    bool is_said = false;
    for (size_t i = 0; i < values->token_count;) {
        size_t length = 0;
        const struct lexeme *lexeme = at_text(values, i, &length);
        bool is_state = is_kind(lexeme, SAYS_DO) || is_kind(lexeme, SAYS_STATE);
        length = lexeme != NULL ? length : 1;
        if (is_state && is_state_said(values, i, length) &&
            (found.is_switch && !found.is_about
                     ? true
                     : is_kind(lexeme, SAYS_DO) && is_object(values, parameter, i + length))) {
            bool denied = is_kind(lexeme, SAYS_DO) && choice_is_denied(values, i, i);
            state(match, i, i + length, (is_so(lexeme) != denied) != found.turned);
            is_said = true;
        }
        i += length;
    }
    return is_said;
}

/* -------------------------------------------------------------------------- denials */

/* "without subfolders", of a truth that only its description tells of. */
static void find_denial(const struct values *values, const struct parameter *parameter,
                        struct truth_match *match) {
    for (size_t i = values->token_count; i-- > 1;) {
        const struct token *token = &values->tokens[i];
        if (!token->user || token->kind != TOKEN_WORD || token->cue != CUE_NONE ||
            (values->tokens[i - 1].cue != CUE_WITHOUT && values->tokens[i - 1].cue != CUE_NOT)) {
            continue;
        }
        for (size_t k = parameter->name_count; k < parameter->token_count; k++) {
            if (token_alike(token, &parameter->tokens[k]) == 2) {
                state(match, i - 1, i + 1, false);
                return;
            }
        }
    }
}

void truth_read_state(const struct values *values, const struct parameter *parameter,
                      struct truth_match *match) {
    if (!find_assignment(values, parameter, match) && !find_switch(values, parameter, match) &&
        match->share == 0) {
        find_denial(values, parameter, match);
    }
}
