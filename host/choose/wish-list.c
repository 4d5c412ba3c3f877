/* A list of values where the tool of a clause takes one: "convert each of 10, 20 and 30 dollars to
 * yen" is three calls. The arguments of each are those of the text with one of the values in place
 * of the list. A tool that takes all of them is called once: "the sum of 10, 20 and 30". */
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "choose/values-parts.h"
#include "choose/wish-making.h"

CLEANUP_DEFINE(struct arguments, arguments_destroy)
CLEANUP_DEFINE(struct values, values_destroy)

/* Values of one list, and lists inside the text of one call: "10 and 20 USD to EUR and JPY". */
#define LIST_ITEMS_MAX 32u
#define LISTS_MAX      3u

/* Kinds of values that are alike. */
static const uint32_t families[] = {
        VALUE_BIT(VALUE_NUMBER) | VALUE_BIT(VALUE_QUANTITY) | VALUE_BIT(VALUE_PERCENT) |
                VALUE_BIT(VALUE_MONEY),
        VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_ZONE) | VALUE_BIT(VALUE_COUNTRY),
        VALUE_BIT(VALUE_CURRENCY),
        VALUE_BIT(VALUE_LANGUAGE),
        VALUE_BIT(VALUE_QUOTED),
        VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_PATH),
        VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT),
};

/* A value of a list: tokens [first, last), and of them those that another value of the list has
 * not: "10" of "10 dollars". */
struct listed {
    size_t first;
    size_t last;
    size_t core;
    size_t core_last;
};

struct listing {
    struct listed items[LIST_ITEMS_MAX];
    size_t count;
    size_t family; /* of the families */
};

/* What is the same for all calls of a clause. */
struct listing_run {
    struct making *making;
    const struct clause *clause;
    const struct tried *by;
    const struct marked *mark; /* NULL: nothing stands for a result */
    size_t end;                /* of the part of the text that the calls are of */
    size_t count;              /* of the calls before */
    size_t lists;              /* how many lists the text is in */
};

/* ---------------------------------------------------------------------------------- the lists */

/* Whether a value of the text has more than one number in it: of "2 * 3 and 5" 3 is no value of a
 * list. */
static bool is_computed_with(const struct values *values, const struct value *value) {
    const struct value *expression =
            value_covering(values, value->first, VALUE_BIT(VALUE_EXPRESSION));
    size_t numbers = 0;
    for (size_t i = 0; expression != NULL && i < values->solid_count; i++) {
        const struct value *other = &values->list[i];
        numbers += other->kind == VALUE_NUMBER && other->first >= expression->first &&
                   other->last <= expression->last;
    }
    return numbers > 1;
}

/* The longest value of a family that begins at a token, with its quotes. */
static bool item_at(const struct values *values, size_t at, uint32_t family, struct listed *ret) {
    *ret = (struct listed){0};
    for (size_t i = 0; i < values->solid_count; i++) {
        const struct value *value = &values->list[i];
        const size_t quote = value->kind == VALUE_QUOTED ? 1 : 0;
        if ((VALUE_BIT(value->kind) & family) == 0 || value->first - quote != at ||
            value->source != ARGUMENTS_FROM_TEXT || value_is_class(value) ||
            is_computed_with(values, value)) {
            continue;
        }
        if (value->last + quote > ret->last) {
            *ret = (struct listed){at, value->last + quote, value->first, value->last};
        }
    }
    for (size_t t = ret->core; family == families[0] && t < ret->core_last; t++) {
        double number;
        bool whole;
        const size_t length = value_read_number(values, t, &number, &whole);
        if (length > 0) {
            ret->core = t;
            ret->core_last = t + length;
        }
    }
    return ret->last > at;
}

/* The token behind what separates two values: ", ", "and", "and in" where "in" is before the first
 * as well. `at`: nothing does.
 * @param ret_joined  it is one that only lists have: "and", 、 */
static size_t separator_end(const struct values *values, size_t first, size_t at,
                            bool *ret_joined) {
    const struct token *tokens = values->tokens;
    const bool comma = value_is_sign(values, at, ',');
    const bool pause = comma && memcmp(values->text + tokens[at].start, "、",
                                       tokens[at].end - tokens[at].start) == 0;
    size_t end = at + comma;
    *ret_joined = end < values->token_count && tokens[end].cue == CUE_AND;
    end += *ret_joined ? tokens[end].cue_length : 0;
    *ret_joined = *ret_joined || pause;
    if (end > at && end < values->token_count && first > 0 && tokens[end].kind == TOKEN_WORD &&
        tokens[end].cue != CUE_NONE && tokens[end].word == tokens[first - 1].word) {
        end++;
    }
    return end;
}

/* Whether what stands around values says that they are no list of values for one parameter: a pair
 * in brackets, "USD to AUD and USD to CAD", both ends of a range. */
static bool is_no_list(const struct values *values, const struct listing *list, uint32_t family) {
    const size_t first = list->items[0].first;
    const size_t last = list->items[list->count - 1].last;
    const struct token *tokens = values->tokens;
    const bool dates = (family & VALUE_BIT(VALUE_DATE)) != 0 && list->count == 2;
    bool none = first > 0 &&
                (value_is_sign(values, first - 1, '(') || tokens[first - 1].cue == CUE_BETWEEN ||
                 (last < values->token_count && tokens[last].cue == CUE_TO &&
                  tokens[first - 1].cue == CUE_TO));
    for (size_t t = 0; t < first && dates; t++) {
        none = none || tokens[t].cue == CUE_BETWEEN || tokens[t].cue == CUE_FROM;
    }
    return none;
}

/* Whether only the last of several numbers has a unit, which is said of all of them: "10, 20
 * dollars". */
static bool share_unit(const struct listing *list) {
    const struct listed *last = &list->items[list->count - 1];
    bool share = last->core == last->first && last->last > last->core_last;
    for (size_t i = 0; i + 1 < list->count; i++) {
        share = share && list->items[i].last == list->items[i].core_last;
    }
    return share;
}

/* Read the values of a family from a token on, as far as they are joined to a list. */
static bool read_list(const struct values *values, size_t at, uint32_t family,
                      struct listing *ret) {
    struct listed item;
    bool joined = false;
    ret->count = 0;
    for (size_t next = at; ret->count < LIST_ITEMS_MAX && item_at(values, next, family, &item);) {
        ret->items[ret->count++] = item;
        bool joins;
        next = separator_end(values, at, item.last, &joins);
        if (next == item.last) {
            break;
        }
        joined = joined || joins;
    }
    joined = joined || (family == families[0] && ret->count > 1 && share_unit(ret));
    return ret->count > 1 && joined && !is_no_list(values, ret, family);
}

/* The first list of values from a token on. */
static bool find_list(const struct values *values, size_t from, struct listing *ret) {
    for (size_t at = from; at < values->token_count; at++) {
        for (size_t k = 0; k < ARRAY_LENGTH(families); k++) {
            if (read_list(values, at, families[k], ret)) {
                ret->family = k;
                return true;
            }
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------- the arguments */

/* Where tokens begin and end in the text that was read. */
static struct arguments_span span_of(const struct values *values, size_t first, size_t last) {
    return (struct arguments_span){value_origin(values, values->tokens[first].start),
                                   value_origin(values, values->tokens[last - 1].end)};
}

/* The argument that has a value of a list: of "20 USD" the amount has the number, the currency has
 * not. NULL: none has it. */
static const struct arguments_value *taken_by(const struct arguments *arguments,
                                              struct arguments_span span, bool number) {
    for (size_t i = 0; arguments != NULL && i < arguments->value_count; i++) {
        const struct arguments_value *value = &arguments->values[i];
        const bool may = !number || strpbrk(value->json, "0123456789") != NULL;
        for (size_t k = 0; may && k < value->span_count; k++) {
            if (value->spans[k].start <= span.start && span.end <= value->spans[k].end) {
                return value;
            }
        }
    }
    return NULL;
}

/* Whether a call of the tool takes all values of a list at once. "To yen and euros" says the same
 * of both: one of them is no value of another parameter. */
static bool takes_all(const struct values *values, const struct listing *list,
                      const struct arguments *arguments) {
    const size_t at = list->items[0].first;
    const bool alike = at > 0 && values->tokens[at - 1].cue == CUE_TO;
    const struct arguments_value *before = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct listed *item = &list->items[i];
        const struct arguments_value *value = taken_by(
                arguments, span_of(values, item->core, item->core_last), list->family == 0);
        if (value == NULL || (alike && before != NULL && value != before &&
                              strrchr(value->pointer, '/') == value->pointer)) {
            return false;
        }
        before = value;
    }
    return true;
}

/* Whether all values of a list are taken. */
static bool is_taken(const struct listing *list, const struct values *values,
                     const struct arguments *arguments) {
    for (size_t i = 0; i < list->count; i++) {
        const struct listed *item = &list->items[i];
        if (taken_by(arguments, span_of(values, item->core, item->core_last), list->family == 0) ==
            NULL) {
            return false;
        }
    }
    return true;
}

/* Whether a value is an array, or inside of one. */
static bool is_element(const struct arguments_value *value) {
    for (const char *c = value != NULL ? value->pointer : ""; *c != '\0'; c++) {
        if (*c == '/' && ascii_is_digit(c[1])) {
            return true;
        }
    }
    return value != NULL && value->json[0] == '[';
}

/* Whether the tool has an array for a list of values. */
static bool has_array(const struct values *values, const struct listing *list,
                      const struct arguments *arguments) {
    for (size_t i = 0; i < list->count; i++) {
        const struct listed *item = &list->items[i];
        if (is_element(taken_by(arguments, span_of(values, item->core, item->core_last),
                                list->family == 0))) {
            return true;
        }
    }
    return false;
}

/* Write the text [start, end) with one value in place of a list, behind the texts that are made.
 * What only the last number has behind it is said of all: "10, 20 and 30 dollars".
 * @param ret_core  where the value is in it
 * @return false: there is no room, or no memory */
static bool write_one(struct making *making, size_t start, size_t end, const struct values *values,
                      const struct listing *list, size_t at, struct clause *ret,
                      struct arguments_span *ret_core) {
    const struct listed *item = &list->items[at];
    const struct listed *last = &list->items[list->count - 1];
    const struct arguments_span own = span_of(values, item->first, item->last);
    const struct arguments_span core = span_of(values, item->core, item->core_last);
    const size_t first = span_of(values, list->items[0].first, last->last).start;
    const size_t behind = span_of(values, last->first, last->last).end;
    const char *text = making->text + start;
    CLEANUP(buf_finish) struct buf made = BUF_INIT;
    buf_add(&made, text, first);
    ret_core->start = made.length + core.start - own.start;
    ret_core->end = ret_core->start + core.end - core.start;
    buf_add(&made, text + own.start, own.end - own.start);
    if (item->last == item->core_last && last->core == last->first &&
        last->last > last->core_last) {
        const size_t unit = span_of(values, last->core, last->core_last).end;
        buf_add(&made, text + unit, behind - unit);
    }
    buf_add(&made, text + behind, end - start - behind);
    if (made.failed || made.length > making->room - making->made) {
        return false;
    }
    memcpy(making->text + making->made, made.data, made.length);
    ret->start = making->made;
    ret->end = making->made + made.length;
    making->made += made.length;
    return true;
}

/* ----------------------------------------------------------------------------------- the calls */

static int add_one(struct listing_run *run, const struct clause *written, bool again) {
    struct making *making = run->making;
    const size_t count = making->count;
    const bool then = !again && run->clause->begin == CLAUSE_THEN;
    int code = wish_begin_call(making, run->by, written, then);
    if (code == 0 && making->count > count) {
        struct called *call = &making->calls[count];
        call->again = again;
        call->listed = true;
        call->start = run->clause->start;
        call->end = run->end;
        call->has_mark = run->mark != NULL;
        if (run->mark != NULL) {
            call->mark = *run->mark;
        }
    }
    return code;
}

/* Make the calls of a text: one for each value of its first list that one call does not take.
 * @param ret_made  false: the tool does not take one of these values at a time */
static int make_each(struct listing_run *run, const struct clause *text, bool *ret_made) {
    struct making *making = run->making;
    const struct called call = {.by = run->by};
    CLEANUP(values_destroyp) struct values *values = NULL;
    CLEANUP(arguments_destroyp) struct arguments *whole = NULL;
    struct listing list;
    size_t from = 0;
    bool found;
    int code = values_read(making->text + text->start, text->end - text->start, &making->asked.said,
                           &values, making->err);
    code = code < 0 ? code : wish_fill_part(making, &call, text->start, text->end, &whole);
    if (code < 0) {
        return code;
    }
    while ((found = find_list(values, from, &list)) && takes_all(values, &list, whole)) {
        from = list.items[list.count - 1].last;
    }
    found = found && !has_array(values, &list, whole);
    *ret_made = run->lists > 0;
    if (!found || run->lists == LISTS_MAX) {
        return *ret_made ? add_one(run, text, making->count > run->count) : 0;
    }
    run->lists++;
    const char *pointer = NULL;
    const bool scattered = is_taken(&list, values, whole);
    *ret_made = true;
    for (size_t i = 0; code == 0 && i < list.count && *ret_made; i++) {
        CLEANUP(arguments_destroyp) struct arguments *own = NULL;
        struct clause written = *text;
        struct arguments_span core;
        if (!write_one(making, text->start, text->end, values, &list, i, &written, &core)) {
            *ret_made = false;
            break;
        }
        code = wish_fill_part(making, &call, written.start, written.end, &own);
        const struct arguments_value *value = taken_by(own, core, list.family == 0);
        *ret_made = code == 0 && value != NULL && value->span_count == 1 && !is_element(value) &&
                    (pointer == NULL || strcmp(pointer, value->pointer) == 0) &&
                    (whole == NULL || scattered || own->missing_count <= whole->missing_count);
        if (*ret_made) {
            pointer = pointer != NULL
                              ? pointer
                              : arena_copy(making->arena, value->pointer, strlen(value->pointer));
            code = pointer != NULL ? make_each(run, &written, ret_made) : error_oom(making->err);
        }
    }
    run->lists--;
    return code;
}

/* ----------------------------------------------------------------------------------- the whole */

/* Where the piece ends in which the last list of a clause ends; 0: the clause has no list, or two
 * that are alike, of which nothing says what belongs together.
 * @param ret_lost  whether the call of the whole clause leaves out a value of a list */
static int find_end(struct making *making, const struct clause *clause, const struct tried *by,
                    size_t *ret, bool *ret_lost) {
    const struct called call = {.by = by};
    CLEANUP(values_destroyp) struct values *values = NULL;
    CLEANUP(arguments_destroyp) struct arguments *whole = NULL;
    struct listing list;
    uint32_t kinds = 0;
    int code = values_read(making->text + clause->start, clause->end - clause->start,
                           &making->asked.said, &values, making->err);
    static const char *const pairs[] = {"respectively", "分别"};
    *ret = 0;
    *ret_lost = by->found == NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
        if (memmem(making->text + clause->start, clause->end - clause->start, pairs[i],
                   strlen(pairs[i])) != NULL) {
            return code;
        }
    }
    if (code == 0 && by->found != NULL) {
        code = wish_fill_part(making, &call, clause->start, clause->end, &whole);
    }
    for (size_t from = 0; code == 0 && find_list(values, from, &list);) {
        const struct listed *last = &list.items[list.count - 1];
        if ((kinds & 1u << list.family) != 0) {
            *ret = 0;
            return 0;
        }
        kinds |= 1u << list.family;
        *ret = clause->start + span_of(values, last->first, last->last).end;
        *ret_lost = *ret_lost || !takes_all(values, &list, whole);
        from = last->last;
    }
    if (*ret > 0 && clause->start >= making->length) { /* a made text has no pieces */
        *ret = clause->end;
    }
    for (size_t i = 0; *ret > 0 && i < making->pieces.count; i++) {
        const struct clause *piece = &making->pieces.items[i];
        if (piece->start < *ret && *ret <= piece->end) {
            *ret = piece->end < clause->end ? piece->end : clause->end;
            break;
        }
    }
    return code;
}

/* Have the text with the first value of each list go through the five steps. */
static int try_first(struct making *making, const struct clause *text, struct tried **ret) {
    struct clause written = *text;
    *ret = NULL;
    for (size_t lists = 0; lists < LISTS_MAX; lists++) {
        CLEANUP(values_destroyp) struct values *values = NULL;
        struct listing list;
        struct arguments_span core;
        int code = values_read(making->text + written.start, written.end - written.start,
                               &making->asked.said, &values, making->err);
        if (code < 0) {
            return code;
        }
        if (!find_list(values, 0, &list) ||
            !write_one(making, written.start, written.end, values, &list, 0, &written, &core)) {
            break;
        }
    }
    return written.start != text->start ? wish_try_part(making, written.start, written.end, ret)
                                        : 0;
}

int wish_add_listed(struct making *making, const struct clause *clause, const struct tried *by,
                    const struct marked *mark, size_t *ret_end) {
    const size_t count = making->count;
    const size_t made = making->made;
    const struct clause *said = mark != NULL ? &mark->clause : clause;
    bool lost = false;
    bool taken = false;
    size_t end = 0;
    *ret_end = 0;
    int code = find_end(making, said, by, &end, &lost);
    if (code < 0 || end == 0 || !lost) {
        return code;
    }
    struct clause text = *said;
    struct tried *first;
    text.end = end;
    code = try_first(making, &text, &first);
    if (code < 0) {
        return code;
    }
    if (first != NULL && first->found != NULL &&
        (by->found == NULL || first->found->tool == by->found->tool ||
         (wish_lacks_arguments(making, clause, by) &&
          !wish_lacks_arguments(making, &text, first)))) {
        by = first;
    }
    struct listing_run run = {.making = making,
                              .clause = clause,
                              .by = by,
                              .mark = mark,
                              .count = count,
                              .end = mark != NULL ? clause->end : end};
    code = by->found != NULL ? make_each(&run, &text, &taken) : 0;
    if (code == 0 && taken) {
        *ret_end = run.end;
        return 0;
    }
    while (making->count > count) {
        struct called *call = &making->calls[--making->count];
        arguments_destroy(call->arguments);
        call->arguments = NULL;
    }
    making->made = made;
    return code;
}
