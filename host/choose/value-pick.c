/* How many are wanted, and from which end: "the first two lines", 最后5条, "at most 5". */
#include <string.h>

#include "choose/values-parts.h"

struct phrase {
    const char *text; /* lower case, one space between words */
    uint8_t tokens;
    uint8_t side;
};

static const struct phrase phrases[] = {{"first", 1, PICK_HEAD},
                                        {"top", 1, PICK_HEAD},
                                        {"initial", 1, PICK_HEAD},
                                        {"前", 1, PICK_HEAD},
                                        {"开头", 2, PICK_HEAD},
                                        {"最前", 2, PICK_HEAD},
                                        {"last", 1, PICK_TAIL},
                                        {"final", 1, PICK_TAIL},
                                        {"bottom", 1, PICK_TAIL},
                                        {"最后", 2, PICK_TAIL},
                                        {"后", 1, PICK_TAIL},
                                        {"末尾", 2, PICK_TAIL},
                                        {"末", 1, PICK_TAIL},
                                        {"倒数", 2, PICK_TAIL},
                                        {"at most", 2, PICK_LIMIT},
                                        {"up to", 2, PICK_LIMIT},
                                        {"no more than", 3, PICK_LIMIT},
                                        {"not more than", 3, PICK_LIMIT},
                                        {"limit to", 2, PICK_LIMIT},
                                        {"limited to", 2, PICK_LIMIT},
                                        {"limit it to", 3, PICK_LIMIT},
                                        {"limit of", 2, PICK_LIMIT},
                                        {"limit", 1, PICK_LIMIT},
                                        {"maximum of", 2, PICK_LIMIT},
                                        {"maximum", 1, PICK_LIMIT},
                                        {"max", 1, PICK_LIMIT},
                                        {"only", 1, PICK_LIMIT},
                                        {"最多", 2, PICK_LIMIT},
                                        {"至多", 2, PICK_LIMIT},
                                        {"不超过", 3, PICK_LIMIT},
                                        {"不多于", 3, PICK_LIMIT},
                                        {"只要", 2, PICK_LIMIT},
                                        {"只返回", 3, PICK_LIMIT},
                                        {"只显示", 3, PICK_LIMIT},
                                        {"返回", 2, PICK_LIMIT},
                                        {"上限", 2, PICK_LIMIT}};

static bool is_text(const struct values *values, size_t at, const char *text, size_t tokens) {
    size_t last = at + tokens;
    return last <= values->token_count &&
           values->tokens[last - 1].end - values->tokens[at].start == strlen(text) &&
           memcmp(values->lower + values->tokens[at].start, text, strlen(text)) == 0;
}

/* 之后 and 目前 say when, and not which. */
static bool is_when(const struct values *values, size_t at) {
    static const uint32_t before[] = {0x4e4b, 0x4ee5, 0x4eca, 0x6b64, 0x7136, 0x76ee, 0x5148};
    for (size_t i = 0; at > 0 && i < sizeof before / sizeof *before; i++) {
        if (value_is_sign(values, at - 1, before[i])) {
            return true;
        }
    }
    return false;
}

/* The one that is at an end: "the last line", 第一行. */
static bool is_single(const struct values *values, size_t at) {
    static const char *const nouns[] = {"line", "row", "entry", "item"};
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        if (is_text(values, at, nouns[i], 1)) {
            return true;
        }
    }
    return value_is_sign(values, at, 0x884c);
}

static void add_pick(struct values *values, uint8_t side, size_t first, size_t number,
                     size_t last) {
    if (values->pick_count < VALUES_PICKS_MAX) {
        values->picks[values->pick_count++] = (struct value_pick){.side = side,
                                                                  .first = (uint16_t)first,
                                                                  .number = (uint16_t)number,
                                                                  .last = (uint16_t)last};
    }
}

static void add_number(struct values *values, size_t first, size_t last, double number) {
    const uint32_t numbers = VALUE_BIT(VALUE_NUMBER) | VALUE_BIT(VALUE_QUANTITY);
    struct value *value = value_covering(values, first, numbers) == NULL
                                  ? value_add(values, VALUE_NUMBER, first, last)
                                  : NULL;
    if (value != NULL) {
        value->number = number;
        value->whole = true;
        value->worded = true;
        value->item_first = (uint16_t)first;
        value->item_count = (uint16_t)(last - first);
    }
}

/* The tokens that a phrase and its number have; 0: it says nothing of how many. */
static size_t read_pick(struct values *values, size_t at, const struct phrase *phrase) {
    double number;
    bool whole;
    size_t unit;
    size_t behind = at + phrase->tokens;
    size_t length = value_read_number(values, behind, &number, &whole);
    bool time = length > 0 && value_is_time(value_unit_at(values, behind + length, &unit));
    if (length > 0 && whole && !time && number > 0 && number < 1e9) {
        add_number(values, behind, behind + length, number);
        add_pick(values, phrase->side, at, behind, behind + length);
        return phrase->tokens + length;
    }
    if (length == 0 && phrase->side != PICK_LIMIT && is_single(values, behind)) {
        add_number(values, behind, behind + 1, 1);
        add_pick(values, phrase->side, at, behind, behind + 1);
        return phrase->tokens;
    }
    return 0;
}

void value_find_picks(struct values *values) {
    const uint32_t closed = VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_PATH) |
                            VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_MOMENT) |
                            VALUE_BIT(VALUE_DURATION);
    for (size_t at = 0; at < values->token_count; at++) {
        size_t length = 0;
        bool first = value_is_sign(values, at, 0x7b2c) && value_is_sign(values, at + 1, 0x4e00) &&
                     is_single(values, at + 2); /* 第一行 */
        if (!values->tokens[at].user || values->tokens[at].kind == TOKEN_SIGN ||
            is_when(values, at)) {
            continue;
        }
        for (size_t i = 0; length == 0 && i < sizeof phrases / sizeof *phrases; i++) {
            if (values->lower[values->tokens[at].start] == phrases[i].text[0] &&
                is_text(values, at, phrases[i].text, phrases[i].tokens) &&
                value_covering(values, at, closed) == NULL) {
                length = read_pick(values, at, &phrases[i]);
            }
        }
        if (first && value_covering(values, at, closed) == NULL) {
            add_number(values, at + 2, at + 3, 1);
            add_pick(values, PICK_HEAD, at, at + 2, at + 3);
            length = 3;
        }
        at += length > 0 ? length - 1 : 0;
    }
}

const struct value_pick *value_pick_at(const struct values *values, size_t first, size_t last) {
    for (size_t i = 0; i < values->pick_count; i++) {
        if (first < values->picks[i].last && values->picks[i].number < last) {
            return &values->picks[i];
        }
    }
    return NULL;
}
