/* Names and chunks: runs of words that may be a text value, lists of values, and parts of chunks.
 */
#include <string.h>

#include "base/ascii.h"
#include "choose/values-parts.h"

/* Longest chunk of which all parts are tried, and longest part, in tokens. */
#define CHUNK_TOKENS_MAX 24u
#define PART_WORDS_MAX   7u
#define PART_HAN_MAX     12u

/* ------------------------------------------------------------------- names */

static bool begins_sentence(const struct values *values, size_t at) {
    if (at == 0 || values->tokens[at].turn != values->tokens[at - 1].turn ||
        values->tokens[at].user != values->tokens[at - 1].user) {
        return true;
    }
    uint32_t sign = values->tokens[at - 1].kind == TOKEN_SIGN ? values->tokens[at - 1].sign : 0;
    return sign == '.' || sign == '!' || sign == '?';
}

static bool is_named(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    return at < values->token_count && token->kind == TOKEN_WORD && token->capital &&
           !(token->cue != CUE_NONE && begins_sentence(values, at)) && token->cue != CUE_PRONOUN;
}

/* Small words inside a name. */
static bool is_link(const struct values *values, size_t at) {
    static const char *const links[] = {"of",  "the", "de",  "von", "van",
                                        "der", "la",  "del", "da",  "di"};
    const struct token *token = &values->tokens[at];
    size_t length = token->end - token->start;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        if (strlen(links[i]) == length &&
            memcmp(values->lower + token->start, links[i], length) == 0) {
            return true;
        }
    }
    return value_is_sign(values, at, '&');
}

/* Whether a number is followed by another one: of "Bob 20 or 30 euros" the name is Bob. */
static bool is_one_of_two(const struct values *values, size_t at) {
    return at + 2 < values->token_count &&
           (values->tokens[at + 1].cue == CUE_OR || values->tokens[at + 1].cue == CUE_TO) &&
           values->tokens[at + 2].kind == TOKEN_NUMBER;
}

/* The end of the name that begins at a token. */
static size_t name_end(const struct values *values, size_t at) {
    size_t end = at + 1;
    while (end < values->token_count) {
        const struct token *token = &values->tokens[end];
        /* J. K. Rowling; St. Louis */
        bool initial = value_is_sign(values, end, '.') && !token->space &&
                       values->tokens[end - 1].end - values->tokens[end - 1].start <= 2 &&
                       is_named(values, end + 1);
        size_t link = end;
        while (link < values->token_count && link - end < 2 && is_link(values, link)) {
            link++;
        }
        if (initial) {
            end += 2;
        } else if (is_named(values, end) && token->space) {
            end++;
        } else if (link > end && is_named(values, link)) {
            end = link + 1;
        } else if (token->kind == TOKEN_NUMBER && token->space && token->end - token->start <= 2 &&
                   values->tokens[end - 1].capital &&
                   value_covering(values, end, VALUE_BIT(VALUE_MONEY)) == NULL &&
                   !is_one_of_two(values, end)) {
            end++;
        } else {
            break;
        }
    }
    return end;
}

/* "Berkeley, CA"; "Sydney, Australia". */
static void add_with_region(struct values *values, size_t first, size_t end) {
    if (value_is_sign(values, end, ',') && is_named(values, end + 1)) {
        size_t region = name_end(values, end + 1);
        size_t length;
        bool place = token_lexeme(values->lower, values->tokens, values->token_count, end + 1,
                                  LEXEME_PLACES, &length) != NULL;
        bool code = region == end + 2 && values->tokens[end + 1].capitals &&
                    values->tokens[end + 1].end - values->tokens[end + 1].start == 2;
        if (place || code) {
            (void)value_add(values, VALUE_NAME, first, place && !code ? end + 1 + length : region);
        }
    }
}

static void find_names(struct values *values) {
    const uint32_t taken = VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_PATH) |
                           VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_MOMENT);
    for (size_t at = 0; at < values->token_count; at++) {
        if (!is_named(values, at) || value_covering(values, at, taken) != NULL) {
            continue;
        }
        size_t end = name_end(values, at);
        (void)value_add(values, VALUE_NAME, at, end);
        add_with_region(values, at, end);
        at = end - 1;
    }
}

/* ------------------------------------------------------------------ chunks */

/* Whether a clause begins at a token: behind a sign, a word such as 请 or 帮我, or nothing. */
static bool begins_clause(const struct values *values, size_t at) {
    const struct token *before = at > 0 ? &values->tokens[at - 1] : NULL;
    return before == NULL || before->turn != values->tokens[at].turn ||
           before->kind == TOKEN_SIGN || before->cue == CUE_POLITE || before->cue == CUE_PRONOUN ||
           before->cue == CUE_NOT || before->cue == CUE_AND;
}

/* 里, 中, 上, 下, 内: where, behind the word for it. */
static bool is_locative(const struct values *values, size_t at) {
    static const uint32_t signs[] = {0x91cc, 0x88e1, 0x4e2d, 0x4e0a, 0x4e0b, 0x5185, 0x9762};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (value_is_sign(values, at, signs[i])) {
            return true;
        }
    }
    return false;
}

/* A character that only marks what another word is: 把 and 将 before what something is done to, 加
 * for adding it. */
static bool is_marker(const struct values *values, size_t at) {
    bool object = value_is_sign(values, at, 0x628a) || value_is_sign(values, at, 0x5c06);
    bool adds = value_is_sign(values, at, 0x52a0);
    return ((object || adds) && begins_clause(values, at)) ||
           (adds && at > 0 && is_locative(values, at - 1));
}

/* The word for a folder and where in it, behind its path: /data 目录下. */
static bool is_behind_path(const struct values *values, size_t at) {
    size_t first = at;
    while (first > 0 && at - first < 4 && values->tokens[first - 1].kind == TOKEN_HAN &&
           values->tokens[first - 1].cue == CUE_NONE) {
        first--;
    }
    size_t last = at;
    while (last < first + 4 && !is_locative(values, last)) {
        last++;
    }
    return first > 0 && last < first + 4 && last >= at &&
           value_covering(values, first - 1, VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_URL)) != NULL;
}

/* A word that is a verb elsewhere, where a name stands: from develop, 切换到 develop. */
static bool is_named_verb(const struct values *values, size_t at) {
    const struct token *before = at > 0 ? &values->tokens[at - 1] : NULL;
    return before != NULL && values->tokens[at].kind == TOKEN_WORD &&
           values->tokens[at].cue == CUE_VERB &&
           (before->kind == TOKEN_HAN || (before->cue == CUE_FROM && before->kind == TOKEN_WORD));
}

/* "off" behind what is turned off, or before what something is taken off. */
static bool is_off(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    bool off = at > 0 && token->end - token->start == 3 &&
               memcmp(values->lower + token->start, "off", 3) == 0;
    const struct token *next = at + 1 < values->token_count ? token + 1 : NULL;
    return off && !token->capital &&
           (next == NULL || next->turn != token->turn || next->kind == TOKEN_SIGN ||
            next->cue != CUE_NONE);
}

/* A word that no cue covers; of a name also words that are cues elsewhere: The Who. */
static bool is_content(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    if (token->kind == TOKEN_SIGN) {
        return false;
    }
    if (token->kind == TOKEN_WORD && is_off(values, at)) {
        return false;
    }
    if (token->kind == TOKEN_HAN && (is_marker(values, at) || is_behind_path(values, at))) {
        return false;
    }
    return token->cue == CUE_NONE || is_named_verb(values, at) ||
           (token->kind == TOKEN_WORD && token->capital && !begins_sentence(values, at) &&
            token->cue != CUE_PRONOUN && token->cue != CUE_IS);
}

static size_t chunk_end(const struct values *values, size_t at) {
    size_t end = at;
    while (end < values->token_count && is_content(values, end) &&
           (end == at || values->tokens[end].turn == values->tokens[at].turn) &&
           values->tokens[end].user == values->tokens[at].user) {
        end++;
    }
    return end;
}

/* "law of universal gravitation": a chunk and the next over "of" and the like. */
static void add_joined(struct values *values, size_t first, size_t end) {
    size_t next = end;
    while (next < values->token_count && next - end < 2 &&
           values->tokens[next].kind == TOKEN_WORD &&
           (values->tokens[next].cue == CUE_OF || values->tokens[next].cue == CUE_AND ||
            values->tokens[next].cue == CUE_DETERMINER || values->tokens[next].cue == CUE_IN ||
            values->tokens[next].cue == CUE_FOR || values->tokens[next].cue == CUE_WITH ||
            values->tokens[next].cue == CUE_ON || values->tokens[next].cue == CUE_TO)) {
        next++;
    }
    size_t last = next > end ? chunk_end(values, next) : next;
    if (last > next && values->tokens[end].kind == TOKEN_WORD) {
        struct value *value = value_add(values, VALUE_CHUNK, first, last);
        if (value != NULL) {
            value->worded = true; /* joined */
        }
    }
    /* 用户的名字: a chunk and the next over 的 */
    if (value_is_sign(values, end, 0x7684)) {
        last = chunk_end(values, end + 1);
        if (last > end + 1) {
            struct value *value = value_add(values, VALUE_CHUNK, first, last);
            if (value != NULL) {
                value->worded = true;
            }
        }
    }
}

static void find_chunks(struct values *values) {
    const uint32_t taken = VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_PATH) |
                           VALUE_BIT(VALUE_JSON);
    for (size_t at = 0; at < values->token_count; at++) {
        const struct value *over = value_covering(values, at, taken);
        if (over != NULL) {
            at = over->last - 1u;
            continue;
        }
        size_t end = chunk_end(values, at);
        if (end > at) {
            (void)value_add(values, VALUE_CHUNK, at, end);
            add_joined(values, at, end);
            at = end - 1;
        }
    }
}

/* The rest of a sentence behind a colon, "that", "named", "about" and the like. */
static void find_clauses(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        const struct token *token = &values->tokens[at];
        bool opens = value_is_sign(values, at, ':') || token->cue == CUE_ABOUT ||
                     token->cue == CUE_NAMED || token->cue == CUE_TO;
        if (!opens || (at + 1 < values->token_count && values->tokens[at + 1].cue == token->cue &&
                       token->cue != CUE_NONE)) {
            continue;
        }
        size_t end = at + 1;
        while (end < values->token_count && values->tokens[end].turn == token->turn &&
               values->tokens[end].user == token->user && end - at < 60 &&
               !(values->tokens[end].kind == TOKEN_SIGN &&
                 (values->tokens[end].sign == '.' || values->tokens[end].sign == '?' ||
                  values->tokens[end].sign == '!' || values->tokens[end].sign == ','))) {
            end++;
        }
        if (end > at + 2) {
            struct value *value = value_add(values, VALUE_CHUNK, at + 1, end);
            if (value != NULL) {
                value->worded = true;
                value->wrapped = value_is_sign(values, at, ':');
            }
        }
    }
}

void value_find_names(struct values *values) {
    find_names(values);
    find_chunks(values);
    find_clauses(values);
}

/* ------------------------------------------------------------------- lists */

enum family { FAMILY_NONE, FAMILY_NUMBER, FAMILY_QUOTED, FAMILY_TEXT };

static enum family family_of(const struct value *value) {
    switch (value->kind) {
    case VALUE_NUMBER:
    case VALUE_QUANTITY:
    case VALUE_PERCENT:
    case VALUE_MONEY: return FAMILY_NUMBER;
    case VALUE_QUOTED: return FAMILY_QUOTED;
    case VALUE_CHUNK: return value->worded ? FAMILY_NONE : FAMILY_TEXT;
    case VALUE_CODE:
    case VALUE_EMAIL:
    case VALUE_URL:
    case VALUE_PATH: return FAMILY_TEXT;
    default: return FAMILY_NONE;
    }
}

/* Where the tokens of a value begin and end, with its quotes. */
static size_t outer_first(const struct value *value) {
    return value->kind == VALUE_QUOTED ? value->first - 1u : value->first;
}

static size_t outer_last(const struct value *value) {
    return value->kind == VALUE_QUOTED ? value->last + 1u : value->last;
}

/* The end of what separates two items; `at`: nothing does. */
static size_t separator_end(const struct values *values, size_t at) {
    size_t end = at;
    if (value_is_sign(values, end, ',') || value_is_sign(values, end, ';')) {
        end++;
    }
    if (end < values->token_count && values->tokens[end].cue_length > 0 &&
        (values->tokens[end].cue == CUE_AND || values->tokens[end].cue == CUE_OR)) {
        end += values->tokens[end].cue_length;
    }
    if (end > at && end < values->token_count && values->tokens[end].cue == CUE_DETERMINER) {
        end += values->tokens[end].cue_length;
    }
    return end;
}

/* The value of a family that begins at a token; of several the longest. */
static size_t item_at(const struct values *values, size_t at, enum family family, size_t count) {
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &values->list[i];
        if (outer_first(value) == at && family_of(value) == family &&
            (best == count || value->last > values->list[best].last)) {
            best = i;
        }
    }
    return best;
}

static void add_list(struct values *values, size_t first_item, size_t count, bool *in_list) {
    const enum family family = family_of(&values->list[first_item]);
    size_t items[64];
    size_t item_count = 0;
    size_t item = first_item;
    while (item < count && item_count < 64) {
        items[item_count++] = item;
        size_t end = outer_last(&values->list[item]);
        size_t next = separator_end(values, end);
        if (item_count > 1 && value_is_sign(values, end, ':')) {
            item_count--; /* the label of what follows */
            break;
        }
        item = next > end && next < values->token_count ? item_at(values, next, family, count)
                                                        : count;
    }
    if (item_count < 2 || values->item_count + item_count > VALUES_ITEMS_MAX) {
        return;
    }
    struct value *value = value_add(values, VALUE_LIST, outer_first(&values->list[first_item]),
                                    outer_last(&values->list[items[item_count - 1]]));
    if (value == NULL) {
        return;
    }
    value->item_first = (uint16_t)values->item_count;
    value->item_count = (uint16_t)item_count;
    value->whole = family == FAMILY_NUMBER;
    value->wrapped = family == FAMILY_QUOTED;
    value->piece = values->list[items[0]].piece;
    for (size_t i = 0; i < item_count; i++) {
        value->piece = values->list[items[i]].piece == value->piece ? value->piece : PIECE_NONE;
        values->items[values->item_count++] = (uint16_t)items[i];
        in_list[items[i]] = true;
    }
}

void value_find_lists(struct values *values) {
    bool in_list[VALUES_FOUND_MAX] = {false};
    size_t count = values->count;
    for (size_t i = 0; i < count; i++) {
        if (!in_list[i] && family_of(&values->list[i]) != FAMILY_NONE) {
            add_list(values, i, count, in_list);
        }
    }
}

/* ------------------------------------------------------------------- parts */

/* Whether a number, with its unit, ends before a token: 2个|梨. One character beside a number is a
 * word: 梨4元. */
static bool ends_number(const struct values *values, size_t at) {
    for (size_t i = 0; i < values->count; i++) {
        const struct value *value = &values->list[i];
        if (value->last == at && (value->kind == VALUE_NUMBER || value->kind == VALUE_QUANTITY)) {
            return true;
        }
    }
    return false;
}

static void add_parts(struct values *values, const struct value chunk) {
    size_t last = (size_t)(chunk.last - chunk.first) > CHUNK_TOKENS_MAX
                          ? chunk.first + CHUNK_TOKENS_MAX
                          : chunk.last;
    for (size_t from = chunk.first; from < last; from++) {
        bool han = values->tokens[from].kind == TOKEN_HAN;
        size_t most = han ? PART_HAN_MAX : PART_WORDS_MAX;
        for (size_t to = from + 1; to <= last && to - from <= most; to++) {
            bool all = from == chunk.first && to == chunk.last;
            bool behind = to == chunk.last && from > chunk.first && ends_number(values, from);
            bool before = from == chunk.first && to < chunk.last &&
                          values->tokens[to].kind == TOKEN_NUMBER;
            bool counted = han && from + 1 == to && (behind || before);
            bool single = han && to - from == 1 && chunk.last - chunk.first > 1 && !counted;
            struct value *value = all || single ? NULL : value_add(values, VALUE_PART, from, to);
            if (value != NULL) {
                value->chunk_first = chunk.first;
                value->chunk_last = chunk.last;
            }
        }
    }
}

/* The last turn first, so that a long dialogue leaves out the oldest. */
void value_find_parts(struct values *values) {
    size_t count = values->count;
    for (size_t turn = 0; turn < 4; turn++) {
        for (size_t i = 0; i < count; i++) {
            const struct value value = values->list[i];
            if (value.kind == VALUE_CHUNK && !value.worded &&
                values->tokens[value.first].turn == turn && values->tokens[value.first].user) {
                add_parts(values, value);
            }
        }
    }
}
