/* Of a conversation, the values that count no more: a later wish has others of the same kind. */
#include "choose/turns.h"
#include "choose/values-parts.h"

/* Kinds that answer the same question; 0: a value of this kind replaces none. Numbers may be of
 * anything. */
static uint32_t family_of(enum value_kind kind) {
    const uint32_t places =
            VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_COUNTRY) | VALUE_BIT(VALUE_ZONE);
    const uint32_t alone = VALUE_BIT(VALUE_PERCENT) | VALUE_BIT(VALUE_MONEY) |
                           VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT) |
                           VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_EMAIL) |
                           VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_IP) | VALUE_BIT(VALUE_PHONE) |
                           VALUE_BIT(VALUE_CODE) | VALUE_BIT(VALUE_EXPRESSION) |
                           VALUE_BIT(VALUE_CURRENCY) | VALUE_BIT(VALUE_LANGUAGE) |
                           VALUE_BIT(VALUE_COLOR);
    uint32_t bit = VALUE_BIT(kind);
    return (bit & places) != 0 ? places : bit & alone;
}

static const struct token *token_of(const struct values *values, const struct value *value) {
    return &values->tokens[value->first];
}

static bool is_inside(const struct value *value, const struct value *other) {
    return other->first <= value->first && value->last <= other->last;
}

/* Whether a value is a part of a larger one: the currency of an amount of money. */
static bool is_part(const struct values *values, const struct value *value) {
    for (size_t i = 0; i < values->count; i++) {
        const struct value *other = &values->list[i];
        if (family_of((enum value_kind)other->kind) != 0 && is_inside(value, other) &&
            other->last - other->first > value->last - value->first) {
            return true;
        }
    }
    return false;
}

/* A program's value gives way to any of the person who asks; one of a wish that was fulfilled, to
 * those of later wishes, of which each replaces one, the last first. */
static bool is_replaced(const struct values *values, const bool *parts, const struct value *value) {
    const uint32_t family = family_of((enum value_kind)value->kind);
    const struct token *own = token_of(values, value);
    size_t behind = 0; /* of the same turn */
    size_t later = 0;  /* of the later turn that has most */
    size_t of_turn = 0;
    uint8_t turn = own->turn;
    for (size_t i = 0; family != 0 && i < values->count; i++) {
        const struct value *other = &values->list[i];
        const struct token *token = token_of(values, other);
        if ((VALUE_BIT(other->kind) & family) == 0 || !token->user || parts[i]) {
            continue;
        }
        if (!own->user) {
            return true;
        }
        behind += token->turn == own->turn && other->first > value->first;
        if (token->turn < own->turn) {
            of_turn = token->turn == turn ? of_turn + 1 : 1;
            turn = token->turn;
            later = of_turn > later ? of_turn : later;
        }
    }
    return own->user && !own->open && behind < later;
}

static bool is_of_replaced(const struct values *values, const bool *replaced, size_t at) {
    for (size_t i = 0; i < values->count; i++) {
        if (replaced[i] && is_inside(&values->list[at], &values->list[i])) {
            return true;
        }
    }
    return false;
}

void value_drop_replaced(struct values *values) {
    bool parts[VALUES_FOUND_MAX];
    bool replaced[VALUES_FOUND_MAX];
    bool dropped[VALUES_FOUND_MAX];
    struct turns turns;
    turns_read(values->text, values->length, &turns);
    for (size_t i = 0; i < values->token_count; i++) {
        values->tokens[i].open = turns_weight(&turns, values->tokens[i].start) == TURNS_ONE;
    }
    if (turns.count == 0) {
        return;
    }
    for (size_t i = 0; i < values->count; i++) {
        parts[i] = is_part(values, &values->list[i]);
    }
    for (size_t i = 0; i < values->count; i++) {
        replaced[i] = is_replaced(values, parts, &values->list[i]);
    }
    for (size_t i = 0; i < values->count; i++) {
        dropped[i] = is_of_replaced(values, replaced, i);
    }
    size_t kept = 0;
    for (size_t i = 0; i < values->count; i++) {
        values->list[kept] = values->list[i];
        kept += !dropped[i];
    }
    values->count = kept;
}
