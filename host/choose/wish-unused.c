/* Values of the text, and words for earlier results, that no call uses. Numbers are compared as
 * numbers, also inside of expressions; any other value is used where an argument has its text, the
 * code that a lexicon has for it, or was made of these words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-place.h"
#include "choose/profile.h"
#include "choose/values-parts.h"
#include "choose/wish-making.h"

CLEANUP_DEFINE(struct values, values_destroy)

/* Numbers that differ by less are the same: they are written in words, and as a part of 100. */
#define SAME_SHARE 1e-9

#define NUMBERS                                                                       \
    (VALUE_BIT(VALUE_NUMBER) | VALUE_BIT(VALUE_QUANTITY) | VALUE_BIT(VALUE_PERCENT) | \
     VALUE_BIT(VALUE_MONEY))
#define WHOLE                                                                  \
    (VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_EMAIL) | \
     VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_IP) | VALUE_BIT(VALUE_PHONE) |    \
     VALUE_BIT(VALUE_CODE) | VALUE_BIT(VALUE_JSON) | VALUE_BIT(VALUE_DATE) |   \
     VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_DURATION))
#define NAMES                                                                     \
    (VALUE_BIT(VALUE_NAME) | VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_CURRENCY) | \
     VALUE_BIT(VALUE_LANGUAGE) | VALUE_BIT(VALUE_COUNTRY) | VALUE_BIT(VALUE_COLOR))

/* A value of the text that is looked for. */
struct sought {
    const struct making *making;
    const struct values *values;
    const struct value *value;
    const char *text; /* as it is said */
    size_t length;
    bool number;
};

/* ------------------------------------------------------------------------------- by its content */

static bool is_same_number(const struct value *value, double number) {
    const double own = value->number;
    const double most = fmax(fabs(own), 1) * SAME_SHARE;
    return fabs(own - number) <= most ||
           (value->kind == VALUE_PERCENT && fabs(own / 100 - number) <= most);
}

/* Whether a text has a number: "20" is in "20 + 5", and not in "120". */
static bool has_number(const char *text, const struct value *value) {
    while (*text != '\0') {
        if (!ascii_is_digit(*text)) {
            text++;
            continue;
        }
        char *end;
        if (is_same_number(value, strtod(text, &end))) {
            return true;
        }
        text = end;
    }
    return false;
}

static bool has_bytes(const char *text, size_t length, const char *part, size_t part_length) {
    for (size_t at = 0; part_length > 0 && at + part_length <= length; at++) {
        if (strncasecmp(text + at, part, part_length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_in_text(const struct sought *sought, const char *text) {
    const struct lexeme *lexeme = sought->value->lexeme;
    if (sought->number && has_number(text, sought->value)) {
        return true;
    }
    return has_bytes(text, strlen(text), sought->text, sought->length) ||
           (lexeme != NULL && (VALUE_BIT(sought->value->kind) & NAMES) != 0 &&
            strcasecmp(text, lexeme->first) == 0);
}

/* Whether an argument has the value. */
static bool is_in(const struct sought *sought, yyjson_mut_val *argument) {
    const char *text = yyjson_mut_get_str(argument);
    if (text != NULL) {
        return is_in_text(sought, text);
    }
    if (yyjson_mut_is_num(argument)) {
        return sought->number && is_same_number(sought->value, yyjson_mut_get_num(argument));
    }
    for (size_t i = 0; i < yyjson_mut_arr_size(argument); i++) {
        if (is_in(sought, yyjson_mut_arr_get(argument, i))) {
            return true;
        }
    }
    if (yyjson_mut_is_obj(argument)) {
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(argument);
        yyjson_mut_val *key;
        while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
            if (is_in(sought, yyjson_mut_obj_iter_get_val(key))) {
                return true;
            }
        }
    }
    return false;
}

/* --------------------------------------------------------------------------------- by its words */

/* Whether an argument of a call was made of the words of the value, and the call still has it. */
static bool is_made_of(const struct sought *sought, const struct called *call) {
    const struct arguments *arguments = call->arguments;
    for (size_t i = 0; arguments != NULL && i < arguments->value_count; i++) {
        const struct arguments_value *value = &arguments->values[i];
        yyjson_mut_val *own = yyjson_mut_ptr_get(call->values, value->pointer);
        CLEANUP(freep) char *json = yyjson_mut_val_write(own, 0, NULL);
        const bool may = !sought->number || strpbrk(value->json, "0123456789") != NULL;
        if (json == NULL || strcmp(json, value->json) != 0 || !may) {
            continue; /* of "20 USD" the currency does not have the number */
        }
        for (size_t k = 0; k < value->span_count; k++) {
            const size_t start = call->filled + value->spans[k].start;
            const size_t length = value->spans[k].end - value->spans[k].start;
            const bool all = start + length <= sought->making->made;
            if (all &&
                has_bytes(sought->making->text + start, length, sought->text, sought->length)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether the tool of a call has all words of a name: "search GitHub for cats". */
static bool is_of_tool(const struct sought *sought, const struct called *call) {
    const struct words *words = &sought->making->words;
    const size_t start = (size_t)(sought->text - sought->making->text);
    size_t found = 0;
    for (size_t at = 0; at < words->count; at++) {
        const struct word *word = &words->items[at];
        if (word->start < start || word->end > start + sought->length) {
            continue;
        }
        if (!word->stop && !fit_tool_explains(profile_fit(called_profile(call)), words, at, 1)) {
            return false;
        }
        found++;
    }
    return found > 0;
}

/* Whether a number says how many results a call takes: 两个 of 两个结果. */
static bool is_count_of(const struct sought *sought, const struct called *call) {
    const size_t start = (size_t)(sought->text - sought->making->text);
    return call->has_mark && call->mark.more_count > 0 && sought->number && sought->value->worded &&
           call->start <= start && start < call->end &&
           is_same_number(sought->value, (double)(call->mark.more_count + 1));
}

static bool is_used_by(const struct sought *sought, const struct called *call) {
    bool used = is_count_of(sought, call) || is_in(sought, call->values) ||
                is_made_of(sought, call) ||
                (sought->value->kind == VALUE_NAME && is_of_tool(sought, call));
    for (size_t i = 0; i < call->link_count && !used; i++) {
        const struct wish_link *link = &call->links[i];
        used = link->before != NULL &&
               (is_in_text(sought, link->before) || is_in_text(sought, link->behind));
    }
    return used;
}

/* ------------------------------------------------------------------------------------ the whole */

/* Whether a value of the text is one that a call has to use. */
static bool is_wanted(const struct values *values, const struct value *value) {
    const uint32_t kind = VALUE_BIT(value->kind);
    const struct value_time *now = &values->now;
    const bool today = value->kind == VALUE_DATE && value->time.day == now->day &&
                       value->time.month == now->month && value->time.year == now->year;
    const bool counts = value->kind == VALUE_NUMBER && value->worded; /* "the two numbers" */
    const bool one = (kind & NUMBERS) != 0 && value->worded && value->number <= 1;
    return (kind & (NUMBERS | WHOLE | NAMES)) != 0 && value->source == ARGUMENTS_FROM_TEXT &&
           !value_is_class(value) && !today && !counts && !one;
}

static bool is_inside(const struct value *value, const struct value *other) {
    const size_t length = value->last - value->first;
    const size_t room = other->last - other->first;
    return other->first <= value->first && value->last <= other->last &&
           (room > length ||
            (room == length && value->kind == VALUE_NAME && other->kind != VALUE_NAME));
}

/* Whether what was read as a name has values in it, each of which is looked for: "Tokyo, Paris",
 * "Convert 5 USD". */
static bool is_several(const struct values *values, const struct value *value) {
    size_t inner = 0;
    for (size_t i = 0; i < values->solid_count; i++) {
        const struct value *other = &values->list[i];
        inner += is_wanted(values, other) && other->kind != VALUE_NAME && is_inside(other, value);
    }
    return value->kind == VALUE_NAME ? inner > 0
                                     : (VALUE_BIT(value->kind) & NAMES) != 0 && inner > 1;
}

/* Whether a longer value has the words of a value: the amount of money those of a number. */
static bool is_part(const struct values *values, const struct value *value) {
    for (size_t i = 0; i < values->solid_count; i++) {
        const struct value *other = &values->list[i];
        if (is_wanted(values, other) && is_inside(value, other) && !is_several(values, other)) {
            return true;
        }
    }
    return false;
}

/* Whether what is asked of a call speaks of a value already. */
static bool is_asked(const struct sought *sought, const struct wish *wish) {
    bool asked = wish->question != NULL &&
                 has_bytes(wish->question, strlen(wish->question), sought->text, sought->length);
    for (size_t i = 0; i < wish->ask_count && !asked; i++) {
        const struct wish_ask *ask = &wish->asks[i];
        asked = ask->reason != NULL &&
                (has_bytes(ask->reason, strlen(ask->reason), sought->text, sought->length) ||
                 has_bytes(ask->question, strlen(ask->question), sought->text, sought->length));
    }
    return asked;
}

static bool is_left(const struct making *making, const char *text, size_t length) {
    for (size_t i = 0; i < making->left_count; i++) {
        if (making->left[i].text <= text &&
            text + length <= making->left[i].text + making->left[i].length) {
            return true;
        }
    }
    return false;
}

/* Whether a word for an earlier result stands in a call that takes none, and another is before it:
 * that has its own value from somewhere else. */
static bool is_ignored(const struct making *making, size_t start) {
    for (size_t k = making->count; k-- > 1;) {
        const struct called *call = &making->calls[k];
        if (call->start <= start && start < call->end) {
            return call->link_count == 0 && call->start != making->calls[0].start;
        }
    }
    return false;
}

static void add_ignored(struct making *making, const struct values *values,
                        struct wish_left *unused, size_t *count) {
    for (size_t i = 0; i < values->reference_count && *count < UNUSED_MAX; i++) {
        const struct value_reference *reference = &values->references[i];
        const size_t start = value_origin(values, values->tokens[reference->first].start);
        const size_t end = value_origin(values, values->tokens[reference->last - 1].end);
        /* Of "what time is it" the "it" is nothing. */
        const bool idle =
                reference->first > 0 && values->tokens[reference->first - 1].cue == CUE_IS;
        if (!idle && wish_is_result(values, reference) && is_ignored(making, start) &&
            !is_left(making, making->text + start, end - start)) {
            unused[(*count)++] =
                    (struct wish_left){.text = making->text + start, .length = end - start};
        }
    }
}

int wish_find_unused(struct making *making, struct wishes *wishes) {
    CLEANUP(values_destroyp) struct values *values = NULL;
    int code = values_read(making->text, making->length, &making->asked.said, &values, making->err);
    struct wish_left *unused = arena_zalloc(making->arena, UNUSED_MAX * sizeof *unused);
    if (code < 0 || unused == NULL) {
        return code < 0 ? code : error_oom(making->err);
    }
    for (size_t i = 0; i < values->solid_count && wishes->unused_count < UNUSED_MAX; i++) {
        const struct value *value = &values->list[i];
        const size_t start = value_origin(values, value->start);
        const struct sought sought = {.making = making,
                                      .values = values,
                                      .value = value,
                                      .text = making->text + start,
                                      .length = value_origin(values, value->end) - start,
                                      .number = (VALUE_BIT(value->kind) & NUMBERS) != 0};
        bool used = !is_wanted(values, value) || is_several(values, value) ||
                    is_part(values, value) || is_left(making, sought.text, sought.length);
        for (size_t k = 0; k < making->count && !used; k++) {
            used = is_used_by(&sought, &making->calls[k]) || is_asked(&sought, &wishes->items[k]);
        }
        if (!used) {
            unused[wishes->unused_count++] =
                    (struct wish_left){.text = sought.text, .length = sought.length};
        }
    }
    add_ignored(making, values, unused, &wishes->unused_count);
    wishes->unused = unused;
    return 0;
}
