/* The values of a text as the arguments of a tool.
 *
 * Each parameter has its candidates with scores (evidence.h), the first of which is to leave it
 * out. The parameter whose best candidate is furthest above that gets it first; then no other
 * parameter takes the same words. */
#include "choose/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/object.h"
#include "base/text.h"
#include "choose/fill-parts.h"
#include "choose/question.h"
#include "choose/render.h"
#include "choose/unit.h"
#include "schema/schema.h"

/* How much lower than leaving it out a candidate may be and still fill a required parameter: a
 * person can correct a wrong value as easily as answer a question. In hundredths, as the scores. */
#define REQUIRED_BONUS 60

/* How far above leaving it out a value is that surely is the one of a required parameter. */
#define SURE_MARGIN (REQUIRED_BONUS + 100)

/* Words and choices below this are weak: they are left out where the call has to wait for an answer
 * in any case. */
#define DOUBT_MARGIN 600

/* How much worse two values may be together in the order of the text, and rounds of exchanges. */
#define EXCHANGE_LOSS   40
#define EXCHANGE_ROUNDS 4u

/* Bytes of a value that are shown. */
#define UNIT_SHOWN_MAX 60u

/* What `used` has where a range of days is: two parameters may take it. */
#define USED_BY_RANGE 2u

/* ------------------------------------------------------------------- scores */

static void keep(struct choice_state *state, const struct candidate *candidate, int32_t margin) {
    size_t at = state->count;
    while (at > 0 && state->kept[at - 1].margin < margin) {
        at--;
    }
    if (at == KEPT_MAX) {
        return;
    }
    size_t moved = (state->count == KEPT_MAX ? KEPT_MAX - 1 : state->count) - at;
    memmove(&state->kept[at + 1], &state->kept[at], moved * sizeof *state->kept);
    state->kept[at] = (struct kept){.form = candidate->form,
                                    .index = candidate->index,
                                    .first = candidate->first,
                                    .last = candidate->last,
                                    .margin = margin};
    state->count += state->count < KEPT_MAX;
}

static void score_parameter(struct fill *fill, size_t p, struct candidate *scratch) {
    const struct parameter *parameter = &fill->parameters.list[p];
    size_t count = evidence_candidates(fill->evidence, p, scratch);
    int32_t bonus = parameter->must ? REQUIRED_BONUS : 0;
    for (size_t i = 1; i < count; i++) {
        int32_t margin = scratch[i].score - scratch[0].score + bonus;
        if (margin > 0) {
            keep(&fill->states[p], &scratch[i], margin);
        }
    }
}

/* Whether a candidate is a value of the text as it is, of one of some kinds. */
static bool is_plain_of(const struct fill *fill, const struct kept *kept, uint32_t kinds) {
    return kept->form == FORM_PLAIN && kept->last > kept->first &&
           (VALUE_BIT(fill->values->list[kept->index].kind) & kinds) != 0;
}

/* --------------------------------------------------------------- assignment */

/* Whether words only stand for an earlier result: "that file". */
static bool is_reference(const struct values *values, const struct kept *kept) {
    for (size_t i = 0; values->context.results != NULL && i < values->reference_count; i++) {
        const struct value_reference *reference = &values->references[i];
        if (reference->first <= kept->first && kept->last <= reference->last) {
            return kept->last > kept->first;
        }
    }
    return false;
}

/* Whether a value is a range of days: its first and its last day are of two parameters. */
static bool is_range(const struct fill *fill, const struct kept *kept) {
    const struct value *value = fill_is_value(kept) ? &fill->values->list[kept->index] : NULL;
    return value != NULL && value->kind == VALUE_DURATION && value->time.has_day;
}

static bool is_free(const struct fill *fill, const struct kept *kept) {
    if (!fill_is_choice(kept->form) && is_reference(fill->values, kept)) {
        return false;
    }
    uint8_t shared = is_range(fill, kept) ? USED_BY_RANGE : UINT8_MAX;
    for (size_t i = kept->first; !fill_is_choice(kept->form) && i < kept->last; i++) {
        if (fill->used[i] != 0 && fill->used[i] != shared) {
            return false;
        }
    }
    return true;
}

const char *fill_render(struct fill *fill, size_t p, const struct kept *kept) {
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    struct candidate candidate = {
            .form = kept->form, .index = kept->index, .first = kept->first, .last = kept->last};
    if (!render_candidate(fill->values, &fill->parameters.list[p], &candidate, &json) ||
        json.failed) {
        return NULL;
    }
    return arena_copy(&fill->arena, json.data, json.length);
}

/* The parameter whose next free candidate has the largest margin; parameters.count: none. */
static size_t next_parameter(struct fill *fill) {
    size_t best = fill->parameters.count;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        struct choice_state *state = &fill->states[p];
        while (!state->done && state->at < state->count &&
               !is_free(fill, &state->kept[state->at])) {
            state->at++;
        }
        state->done = state->done || state->at == state->count;
        if (!state->done && (best == fill->parameters.count ||
                             state->kept[state->at].margin >
                                     fill->states[best].kept[fill->states[best].at].margin)) {
            best = p;
        }
    }
    return best;
}

static void assign(struct fill *fill) {
    for (;;) {
        size_t p = next_parameter(fill);
        if (p == fill->parameters.count) {
            return;
        }
        struct choice_state *state = &fill->states[p];
        const struct kept *kept = &state->kept[state->at];
        state->json = fill_render(fill, p, kept);
        if (state->json == NULL) {
            state->at++;
            continue;
        }
        state->done = true;
        state->filled = true;
        bool words = kept->form != FORM_TRUE && kept->form != FORM_FALSE;
        for (size_t i = kept->first; words && i < kept->last; i++) {
            fill->used[i] = is_range(fill, kept) ? USED_BY_RANGE : 1;
        }
    }
}

static void mark_used(struct fill *fill, const struct kept *kept, uint8_t used) {
    memset(fill->used + kept->first, used, (size_t)(kept->last - kept->first));
}

/* What is in quotes was meant as a text: where no parameter has taken it, it goes before words that
 * only stand between others. */
static void prefer_quoted(struct fill *fill, size_t p) {
    const uint32_t words = VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART);
    struct choice_state *state = &fill->states[p];
    if (!state->filled || !is_plain_of(fill, &state->kept[state->at], words)) {
        return;
    }
    mark_used(fill, &state->kept[state->at], 0);
    for (size_t i = 0; i < state->count; i++) {
        const struct kept *kept = &state->kept[i];
        bool good = is_plain_of(fill, kept, VALUE_BIT(VALUE_QUOTED)) && is_free(fill, kept);
        const char *json = good ? fill_render(fill, p, kept) : NULL;
        if (json != NULL) {
            state->at = i;
            state->json = json;
            break;
        }
    }
    mark_used(fill, &state->kept[state->at], 1);
}

/* The kept candidate of a parameter that takes the same value; NULL: it is none of the best. */
static const struct kept *same_value(const struct choice_state *state, const struct kept *wanted) {
    for (size_t i = 0; i < state->count; i++) {
        const struct kept *kept = &state->kept[i];
        if (!fill_is_choice(kept->form) && kept->index == wanted->index &&
            kept->form == wanted->form) {
            return kept;
        }
    }
    return NULL;
}

/* Exchange the values of two parameters if that is better together, or as good and in the order of
 * the text. */
static bool exchange(struct fill *fill, size_t p, size_t q) {
    struct choice_state *a = &fill->states[p];
    struct choice_state *b = &fill->states[q];
    const struct kept *has_a = &a->kept[a->at];
    const struct kept *has_b = &b->kept[b->at];
    if (fill_is_choice(has_a->form) || fill_is_choice(has_b->form) ||
        fill->parameters.list[p].type != fill->parameters.list[q].type) {
        return false;
    }
    const struct kept *gets_a = same_value(a, has_b);
    const struct kept *gets_b = same_value(b, has_a);
    if (gets_a == NULL || gets_b == NULL) {
        return false;
    }
    int32_t gain = gets_a->margin + gets_b->margin - has_a->margin - has_b->margin;
    bool ordered = has_b->first < has_a->first;
    if (gain <= 0 && !(ordered && gain > -EXCHANGE_LOSS)) {
        return false;
    }
    if (!ordered && gain < EXCHANGE_LOSS) {
        return false;
    }
    const char *json_a = fill_render(fill, p, gets_a);
    const char *json_b = fill_render(fill, q, gets_b);
    if (json_a == NULL || json_b == NULL) {
        return false;
    }
    a->at = (size_t)(gets_a - a->kept);
    b->at = (size_t)(gets_b - b->kept);
    a->json = json_a;
    b->json = json_b;
    return true;
}

/* Each round goes over all pairs once; a few are enough, and bound the work. */
static void improve(struct fill *fill) {
    bool changed = true;
    for (size_t round = 0; changed && round < EXCHANGE_ROUNDS; round++) {
        changed = false;
        for (size_t p = 0; p < fill->parameters.count; p++) {
            for (size_t q = p + 1; q < fill->parameters.count; q++) {
                if (fill->states[p].filled && fill->states[q].filled && exchange(fill, p, q)) {
                    changed = true;
                }
            }
        }
    }
}

/* -------------------------------------------------------------------- doubt */

/* Whether a parameter was filled with words that may mean anything, or with a choice that the text
 * does not name. */
static bool is_weak(const struct fill *fill, size_t p) {
    const uint32_t words = VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART) | VALUE_BIT(VALUE_NAME);
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = &state->kept[state->at];
    if (state->source != ARGUMENTS_FROM_TEXT) {
        return false;
    }
    return kept->last <= kept->first ||
           (kept->margin < DOUBT_MARGIN &&
            (fill_is_choice(kept->form) ||
             (VALUE_BIT(fill->values->list[kept->index].kind) & words) != 0));
}

static void leave_out(struct fill *fill, size_t p) {
    fill->states[p].filled = false;
    fill->states[p].json = NULL;
}

/* The parameters in the object that a pointer of `length` bytes names: all that are filled are
 * weak. */
static bool is_weak_object(const struct fill *fill, const char *pointer, size_t length) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const char *own = fill->parameters.list[p].pointer;
        if (fill->states[p].filled && strncmp(own, pointer, length) == 0 && own[length] == '/' &&
            !is_weak(fill, p)) {
            return false;
        }
    }
    return true;
}

/* The object that a required parameter is missing in is left out as a whole, if nothing in it is
 * sure: half of a guess helps nobody. So is the object around it. */
static void doubt_objects(struct fill *fill, size_t missing) {
    const char *pointer = fill->parameters.list[missing].pointer;
    for (size_t length = strlen(pointer); length > 0;) {
        do {
            length--;
        } while (length > 0 && pointer[length] != '/');
        if (length == 0 || !is_weak_object(fill, pointer, length)) {
            return;
        }
        for (size_t p = 0; p < fill->parameters.count; p++) {
            const char *own = fill->parameters.list[p].pointer;
            if (strncmp(own, pointer, length) == 0 && own[length] == '/') {
                leave_out(fill, p);
            }
        }
    }
}

/* What a person has to be asked anyway is a call that waits: then what is weak is asked, too. */
static void doubt(struct fill *fill) {
    bool asked = false;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        if (parameter->required && !fill->states[p].filled) {
            doubt_objects(fill, p);
            asked = asked || parameter->must;
        }
    }
    for (size_t p = 0; asked && p < fill->parameters.count; p++) {
        if (fill->parameters.list[p].must && fill->states[p].filled && is_weak(fill, p)) {
            leave_out(fill, p);
        }
    }
}

/* ------------------------------------------------------------------ guesses */

/* What the schema says that a required parameter is if nothing is said. */
static void take_standard(struct fill *fill, size_t p) {
    const struct parameter *parameter = &fill->parameters.list[p];
    CLEANUP(freep)
    char *json =
            parameter->standard != NULL ? yyjson_val_write(parameter->standard, 0, NULL) : NULL;
    const char *copy = json != NULL ? arena_copy(&fill->arena, json, strlen(json)) : NULL;
    if (copy != NULL && fill_is_valid(parameter, copy, NULL)) {
        fill_take(&fill->states[p], ARGUMENTS_ASSUMED, copy, NULL, NULL);
    }
}

/* A choice that the text does not name is none: which of them is meant is asked, and a call is not
 * made with a guess. The default of the schema is one that the tool's author chose, and a choice of
 * one leaves nothing to ask. */
static void settle_guesses(struct fill *fill) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        const struct choice_state *state = &fill->states[p];
        const struct kept *kept = &state->kept[state->at];
        bool guessed = state->filled && state->source == ARGUMENTS_FROM_TEXT &&
                       kept->last <= kept->first && parameter->choice_count != 1;
        if (guessed) {
            leave_out(fill, p);
        }
        if (parameter->must && !fill->states[p].filled) {
            take_standard(fill, p);
        }
    }
}

/* ------------------------------------------------------------------- filling */

static int prepare(struct fill *fill, bool fast, struct toolrack_error *err) {
    int code = 0;
    if (fill->tool->read != NULL) {
        fill->parameters = *fill->tool->read;
    } else {
        code = parameters_read(fill->tool, &fill->arena, &fill->parameters, err);
    }
    if (code == 0) {
        code = evidence_create(fill->values, &fill->parameters, fast, &fill->arena, &fill->evidence,
                               err);
    }
    if (code != 0) {
        return code;
    }
    fill->states = arena_zalloc(&fill->arena, (fill->parameters.count + 1) * sizeof *fill->states);
    fill->used = arena_zalloc(&fill->arena, fill->values->token_count + 1);
    fill->telling = arena_zalloc(&fill->arena, fill->values->token_count + 1);
    struct candidate *scratch =
            arena_alloc(&fill->arena, EVIDENCE_CANDIDATES_MAX * sizeof *scratch);
    if (fill->states == NULL || fill->used == NULL || fill->telling == NULL || scratch == NULL) {
        return error_oom(err);
    }
    for (size_t p = 0; p < fill->parameters.count; p++) {
        score_parameter(fill, p, scratch);
    }
    assign(fill);
    for (size_t p = 0; p < fill->parameters.count; p++) {
        prefer_quoted(fill, p);
    }
    improve(fill);
    fill_from_context(fill);
    if (fast) {
        return 0;
    }
    bool good = fill_groups(fill);
    settle_guesses(fill);
    if (good && fill->more_count == 0) {
        doubt(fill);
    }
    return good ? 0 : error_oom(err);
}

/* ------------------------------------------------------------------- object */

/* The member of an object for a segment of a pointer. */
static yyjson_mut_val *enter(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                             size_t length, bool array) {
    yyjson_mut_val *child = yyjson_mut_obj_getn(object, name, length);
    if (child == NULL) {
        yyjson_mut_val *key = yyjson_mut_strncpy(doc, name, length);
        child = array ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
        if (!yyjson_mut_obj_add(object, key, child)) {
            return NULL;
        }
    }
    return child;
}

/* The object of an array that a segment such as "1" names; elements are added in order. */
static yyjson_mut_val *enter_element(yyjson_mut_doc *doc, yyjson_mut_val *array, const char **at) {
    size_t index = (size_t)strtoul(*at, NULL, 10);
    *at = strchr(*at, '/') + 1;
    while (array != NULL && yyjson_mut_arr_size(array) <= index) {
        if (!yyjson_mut_arr_append(array, yyjson_mut_obj(doc))) {
            return NULL;
        }
    }
    return yyjson_mut_arr_get(array, index);
}

/* The name of a segment without the escapes of JSON Pointers. */
static size_t unescape(const char *segment, size_t length, char *ret) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (segment[i] == '~' && i + 1 < length) {
            ret[n++] = segment[++i] == '0' ? '~' : '/';
        } else {
            ret[n++] = segment[i];
        }
    }
    return n;
}

static yyjson_val *property(yyjson_val *schema, const char *name, size_t length) {
    return yyjson_obj_getn(yyjson_obj_get(schema, "properties"), name, length);
}

static bool set_member(struct fill *fill, yyjson_mut_doc *doc, const char *pointer,
                       const char *json) {
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
    yyjson_val *schema = fill->tool->parameters;
    const char *at = pointer + 1;
    char name[ARGUMENTS_POINTER_MAX];
    for (const char *slash = strchr(at, '/'); slash != NULL && object != NULL;
         slash = strchr(at, '/')) {
        size_t length = unescape(at, (size_t)(slash - at), name);
        schema = property(schema, name, length);
        yyjson_val *items = yyjson_obj_get(schema, "items");
        bool array = yyjson_obj_get(items, "properties") != NULL &&
                     yyjson_obj_get(schema, "properties") == NULL;
        object = enter(doc, object, name, length, array);
        at = slash + 1;
        object = array ? enter_element(doc, object, &at) : object;
        schema = array ? items : schema;
    }
    yyjson_doc *read = yyjson_read(json, strlen(json), YYJSON_READ_NOFLAG);
    size_t length = unescape(at, strlen(at), name);
    bool good = object != NULL && read != NULL &&
                yyjson_mut_obj_add(object, yyjson_mut_strncpy(doc, name, length),
                                   yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)));
    yyjson_doc_free(read);
    return good;
}

/* ------------------------------------------------------------------- result */

struct result {
    struct arguments arguments; /* first: the caller has its address */
    uint32_t magic;
    struct arena arena;
    char *json;
    struct arguments_value *values;    /* those of `arguments` */
    struct arguments_invalid *invalid; /* the same */
};
#define RESULT_MAGIC 0x73677261u

CLEANUP_DEFINE(struct arguments, arguments_destroy)

void arguments_destroy(struct arguments *arguments) {
    if (arguments == NULL) {
        return;
    }
    struct result *result = (struct result *)arguments;
    OBJECT_WIPE(result, RESULT_MAGIC);
    arena_finish(&result->arena);
    free(result->json);
    free(result);
}

static const char *copy(struct result *result, const char *text) {
    return arena_copy(&result->arena, text, strlen(text));
}

/* A filled parameter, of an element of an array or not. */
struct filled {
    const struct parameter *parameter;
    const char *pointer;
    const char *json;
    const struct kept *kept;
    enum arguments_source source;
    const char *origin;
};

static enum arguments_source source_of(const struct fill *fill, const struct filled *filled) {
    const struct kept *kept = filled->kept;
    if (filled->source != ARGUMENTS_FROM_TEXT) {
        return filled->source;
    }
    if (kept->last <= kept->first) {
        return ARGUMENTS_ASSUMED;
    }
    const struct value *value =
            fill_is_choice(kept->form) ? NULL : &fill->values->list[kept->index];
    return value == NULL ? ARGUMENTS_FROM_TEXT
           : render_is_absolute(fill->values, filled->parameter, value)
                   ? ARGUMENTS_FROM_FOLDER
                   : (enum arguments_source)value->source;
}

const char *arguments_source_name(enum arguments_source source) {
    static const char *const names[] = {
            [ARGUMENTS_FROM_TEXT] = "text",      [ARGUMENTS_FROM_FOLDER] = "folder",
            [ARGUMENTS_FROM_ZONE] = "time_zone", [ARGUMENTS_FROM_LOCALE] = "locale",
            [ARGUMENTS_FROM_RESULT] = "result",  [ARGUMENTS_ASSUMED] = "assumed"};
    return names[source];
}

static const char *reason_of(const struct fill *fill, const struct filled *filled,
                             struct arena *arena) {
    static const char *const contexts[] = {[ARGUMENTS_FROM_FOLDER] = "the working folder",
                                           [ARGUMENTS_FROM_ZONE] = "the time zone of the user",
                                           [ARGUMENTS_FROM_LOCALE] =
                                                   "what is usual where the user is",
                                           [ARGUMENTS_FROM_RESULT] = "an earlier result"};
    const struct kept *kept = filled->kept;
    const struct values *values = fill->values;
    enum arguments_source source = source_of(fill, filled);
    if (source != ARGUMENTS_FROM_TEXT && source != ARGUMENTS_ASSUMED) {
        return arena_printf(arena, "%s", contexts[source]);
    }
    static const char *const kinds[VALUE_KINDS] = {[VALUE_NUMBER] = "a number",
                                                   [VALUE_QUANTITY] = "a number with a unit",
                                                   [VALUE_PERCENT] = "a percentage",
                                                   [VALUE_MONEY] = "an amount of money",
                                                   [VALUE_ORDINAL] = "a position",
                                                   [VALUE_DATE] = "a date",
                                                   [VALUE_TIME] = "a time",
                                                   [VALUE_MOMENT] = "a date and time",
                                                   [VALUE_DURATION] = "a span of time",
                                                   [VALUE_QUOTED] = "a text in quotes",
                                                   [VALUE_URL] = "a URL",
                                                   [VALUE_EMAIL] = "an e-mail address",
                                                   [VALUE_PATH] = "a path",
                                                   [VALUE_IP] = "an IP address",
                                                   [VALUE_PHONE] = "a phone number",
                                                   [VALUE_CODE] = "an identifier",
                                                   [VALUE_NAME] = "a name",
                                                   [VALUE_CHUNK] = "words of the text",
                                                   [VALUE_PART] = "words of the text",
                                                   [VALUE_EXPRESSION] = "an arithmetic expression",
                                                   [VALUE_JSON] = "JSON in the text",
                                                   [VALUE_PLACE] = "a place",
                                                   [VALUE_CURRENCY] = "a currency",
                                                   [VALUE_LANGUAGE] = "a language",
                                                   [VALUE_ZONE] = "a time zone",
                                                   [VALUE_LIST] = "a list"};
    if (kept->last <= kept->first) {
        return arena_printf(arena, "%s",
                            kept->form == FORM_CHOICE ? "the only choice"
                                                      : "the default of the schema");
    }
    const char *what =
            kept->form == FORM_CHOICE || kept->form == FORM_CHOICES ? "a choice that the text names"
            : kept->form == FORM_TRUE || kept->form == FORM_FALSE   ? "how the text speaks of it"
            : value_is_class(&values->list[kept->index])            ? "a class of characters"
                                                         : kinds[values->list[kept->index].kind];
    size_t start = values->tokens[kept->first].start;
    size_t end = values->tokens[kept->last - 1u].end;
    return arena_printf(arena, "%s: \"%.*s\" (%+d.%02d)", what,
                        (int)(end - start > 80 ? 80 : end - start), values->text + start,
                        kept->margin / 100, kept->margin % 100);
}

static bool add_value(const struct fill *fill, const struct filled *filled, struct result *result) {
    const struct kept *kept = filled->kept;
    const struct values *values = fill->values;
    struct arguments_span *span = arena_zalloc(&result->arena, sizeof *span);
    struct arguments_value *value = &result->values[result->arguments.value_count++];
    value->pointer = copy(result, filled->pointer);
    value->json = copy(result, filled->json);
    value->reason = reason_of(fill, filled, &result->arena);
    value->source = source_of(fill, filled);
    value->origin = filled->origin != NULL ? copy(result, filled->origin) : NULL;
    if (span == NULL || value->pointer == NULL || value->json == NULL || value->reason == NULL ||
        (filled->origin != NULL && value->origin == NULL)) {
        return false;
    }
    if (kept->last > kept->first) {
        bool words = fill_is_choice(kept->form) || kept->form == FORM_NONE;
        size_t start = words ? values->tokens[kept->first].start : values->list[kept->index].start;
        size_t end = words ? values->tokens[kept->last - 1u].end : values->list[kept->index].end;
        span->start = value_origin(values, start);
        span->end = value_origin(values, end);
        value->spans = span;
        value->span_count = 1;
    }
    return true;
}

static bool add_values(struct fill *fill, struct result *result) {
    size_t room = fill->parameters.count + fill->more_count + 1;
    result->values = arena_zalloc(&result->arena, room * sizeof *result->values);
    result->arguments.values = result->values;
    bool good = result->values != NULL;
    for (size_t p = 0; good && p < fill->parameters.count; p++) {
        const struct choice_state *state = &fill->states[p];
        const struct filled filled = {.parameter = &fill->parameters.list[p],
                                      .pointer = fill->parameters.list[p].pointer,
                                      .json = state->json,
                                      .kept = &state->kept[state->at],
                                      .source = (enum arguments_source)state->source,
                                      .origin = state->origin};
        good = !state->filled || add_value(fill, &filled, result);
    }
    for (size_t i = 0; good && i < fill->more_count; i++) {
        const struct fill_more *more = &fill->more[i];
        const struct filled filled = {.parameter = &fill->parameters.list[more->parameter],
                                      .pointer = more->pointer,
                                      .json = more->json,
                                      .kept = &more->kept};
        good = add_value(fill, &filled, result);
    }
    return good;
}

static bool write_object(struct fill *fill, struct result *result) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    bool good = doc != NULL;
    if (good) {
        yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    }
    for (size_t p = 0; good && p < fill->parameters.count; p++) {
        good = !fill->states[p].filled ||
               set_member(fill, doc, fill->parameters.list[p].pointer, fill->states[p].json);
    }
    for (size_t i = 0; good && i < fill->more_count; i++) {
        good = set_member(fill, doc, fill->more[i].pointer, fill->more[i].json);
    }
    result->json = good ? json_write(doc, YYJSON_WRITE_NOFLAG, NULL, &result->arguments.json_length)
                        : NULL;
    result->arguments.json = result->json;
    yyjson_mut_doc_free(doc);
    return result->json != NULL;
}

/* ------------------------------------------------------------------ missing */

/* Whether a filled parameter is at or below a pointer. */
static bool is_given(const struct fill *fill, const char *pointer, size_t length) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const char *own = fill->parameters.list[p].pointer;
        if (fill->states[p].filled && strncmp(own, pointer, length) == 0 &&
            (own[length] == '\0' || own[length] == '/')) {
            return true;
        }
    }
    return false;
}

static const struct parameter *parameter_at(const struct fill *fill, const char *pointer) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        if (strcmp(fill->parameters.list[p].pointer, pointer) == 0) {
            return &fill->parameters.list[p];
        }
    }
    return NULL;
}

struct missing_list {
    struct arguments_missing *list;
    size_t count;
};

static bool add_missing(struct fill *fill, struct result *result, struct missing_list *missing,
                        const char *pointer, const char *name, yyjson_val *schema) {
    CLEANUP(buf_finish) struct buf question = BUF_INIT;
    const char *description = yyjson_get_str(yyjson_obj_get(schema, "description"));
    question_missing(&question, parameter_at(fill, pointer), name,
                     description != NULL ? description : "", fill->values->chinese);
    struct arguments_missing *row = &missing->list[missing->count++];
    row->pointer = copy(result, pointer);
    row->question = question.failed ? NULL : copy(result, question.data);
    return row->pointer != NULL && row->question != NULL;
}

/* A required member that is absent as a whole is missing by its own name, and not by its members.
 */
static bool find_missing(struct fill *fill, struct result *result, struct missing_list *missing,
                         yyjson_val *schema, const char *base) {
    size_t at;
    size_t count;
    yyjson_val *required;
    yyjson_arr_foreach (yyjson_obj_get(schema, "required"), at, count, required) {
        const char *name = yyjson_get_str(required);
        char pointer[ARGUMENTS_POINTER_MAX];
        int length = name != NULL ? snprintf(pointer, sizeof pointer, "%s/%s", base, name) : -1;
        if (length < 0 || (size_t)length >= sizeof pointer ||
            missing->count == ARGUMENTS_PARAMETERS_MAX) {
            continue;
        }
        yyjson_val *child = yyjson_obj_get(yyjson_obj_get(schema, "properties"), name);
        if (!is_given(fill, pointer, (size_t)length) &&
            !add_missing(fill, result, missing, pointer, name, child)) {
            return false;
        }
    }
    yyjson_val *key;
    yyjson_val *child;
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    json_obj_foreach (properties, at, count, key, child) {
        yyjson_val *items = yyjson_obj_get(yyjson_obj_get(child, "items"), "properties");
        char pointer[ARGUMENTS_POINTER_MAX];
        int length = snprintf(pointer, sizeof pointer, "%s/%s%s", base, unsafe_yyjson_get_str(key),
                              items != NULL ? "/0" : "");
        bool nested = items != NULL || yyjson_obj_get(child, "properties") != NULL;
        if (nested && length > 0 && (size_t)length < sizeof pointer &&
            is_given(fill, pointer, (size_t)length) &&
            !find_missing(fill, result, missing,
                          items != NULL ? yyjson_obj_get(child, "items") : child, pointer)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ invalid */

/* Whether one value is valid against its own schema; `failure` says why not. References lead into
 * the whole document, which the caller checks. */
bool fill_is_valid(const struct parameter *parameter, const char *json,
                   struct schema_failure *failure) {
    struct schema *schema = NULL;
    struct schema_options options = {.assert_format = true};
    if (yyjson_obj_get(parameter->schema, "$ref") != NULL ||
        schema_compile(parameter->schema, &options, &schema, NULL) != 0) {
        return true;
    }
    yyjson_doc *doc = yyjson_read(json, strlen(json), YYJSON_READ_NOFLAG);
    bool good = doc == NULL || schema_validate(schema, yyjson_doc_get_root(doc), failure);
    yyjson_doc_free(doc);
    schema_destroy(schema);
    return good;
}

static bool add_invalid(struct fill *fill, struct result *result, const char *pointer,
                        const char *json, const char *reason) {
    CLEANUP(buf_finish) struct buf question = BUF_INIT;
    question_invalid(&question, parameter_at(fill, pointer), pointer, json, reason,
                     fill->values->chinese);
    struct arguments_invalid *row = &result->invalid[result->arguments.invalid_count++];
    row->pointer = copy(result, pointer);
    row->json = copy(result, json);
    row->reason = copy(result, reason);
    row->question = question.failed ? NULL : copy(result, question.data);
    return row->pointer != NULL && row->json != NULL && row->reason != NULL &&
           row->question != NULL;
}

static bool check_value(struct fill *fill, struct result *result, size_t p, const char *pointer,
                        const char *json) {
    struct schema_failure failure;
    return fill_is_valid(&fill->parameters.list[p], json, &failure) ||
           add_invalid(fill, result, pointer, json, failure.reason);
}

/* Whether another parameter takes the currency of an amount. */
static bool has_currency(const struct fill *fill) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        if (fill->parameters.list[p].hint == HINT_CURRENCY) {
            return true;
        }
    }
    return false;
}

/* A number of the text in a unit or a currency that its parameter does not have, and that is not
 * converted: 90 seconds are no whole number of minutes. */
static bool check_unit(struct fill *fill, struct result *result, size_t p) {
    const struct parameter *parameter = &fill->parameters.list[p];
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = &state->kept[state->at];
    bool said = parameter->type == PARAMETER_NUMBER && state->source == ARGUMENTS_FROM_TEXT &&
                state->origin == NULL && state->at < state->count && kept->form == FORM_PLAIN &&
                fill_is_value(kept);
    if (!said) {
        return true;
    }
    const struct value *value = &fill->values->list[kept->index];
    bool money = value->kind == VALUE_MONEY && parameter->currency != NULL &&
                 strcmp(value->lexeme->first, parameter->currency->first) != 0 &&
                 !has_currency(fill);
    if (!money && !unit_is_other(value, parameter->unit)) {
        return true;
    }
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    bool chinese = fill->values->chinese;
    double number;
    buf_add_text(&reason, chinese ? "原文是“" : "the text says \"");
    text_add_cut(&reason, fill->values->text + value->start, value->end - value->start,
                 UNIT_SHOWN_MAX);
    bool broken = !money && unit_convert(value, parameter->unit, &number);
    buf_add_text(&reason, chinese ? "”，" : "\", ");
    buf_add_text(&reason, broken ? (chinese ? "换算后不是整数，单位应为 "
                                            : "which is not whole in the unit ")
                                 : (chinese ? "单位应为 " : "and the unit is "));
    buf_add_text(&reason, money ? parameter->currency->first : parameter->unit->first);
    return !reason.failed &&
           add_invalid(fill, result, parameter->pointer, state->json, reason.data);
}

/* What the text says and no argument can be. */
static bool check_said(struct fill *fill, struct result *result, size_t p, const char *pointer,
                       const struct kept *kept, const char *json) {
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    const struct candidate candidate = {.form = kept->form, .index = kept->index};
    if (!fill_is_value(kept) ||
        !render_is_refused(fill->values, &fill->parameters.list[p], &candidate, &reason)) {
        return check_value(fill, result, p, pointer, json);
    }
    return !reason.failed && add_invalid(fill, result, pointer, json, reason.data);
}

static bool check_filled(struct fill *fill, struct result *result, size_t p) {
    const struct choice_state *state = &fill->states[p];
    const char *pointer = fill->parameters.list[p].pointer;
    bool said = state->source == ARGUMENTS_FROM_TEXT && state->origin == NULL &&
                state->at < state->count;
    return said ? check_said(fill, result, p, pointer, &state->kept[state->at], state->json)
                : check_value(fill, result, p, pointer, state->json);
}

static bool find_invalid(struct fill *fill, struct result *result) {
    size_t room = fill->parameters.count + fill->more_count + 1;
    result->invalid = arena_zalloc(&result->arena, room * sizeof *result->invalid);
    result->arguments.invalid = result->invalid;
    bool good = result->invalid != NULL;
    for (size_t p = 0; good && p < fill->parameters.count; p++) {
        size_t before = result->arguments.invalid_count;
        good = !fill->states[p].filled ||
               (check_filled(fill, result, p) &&
                (result->arguments.invalid_count > before || check_unit(fill, result, p)));
    }
    for (size_t i = 0; good && i < fill->more_count; i++) {
        const struct fill_more *more = &fill->more[i];
        good = check_said(fill, result, more->parameter, more->pointer, &more->kept, more->json);
    }
    return good;
}

/* A failure of the whole: a member that other members require is missing, like those above. */
static bool add_failure(struct fill *fill, struct result *result, struct missing_list *missing,
                        yyjson_val *arguments, const struct schema_failure *failure) {
    yyjson_val *value = yyjson_ptr_get(arguments, failure->field);
    if (value == NULL) {
        return add_missing(fill, result, missing, failure->field, strrchr(failure->field, '/') + 1,
                           NULL);
    }
    CLEANUP(freep) char *json = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, NULL);
    return json != NULL && add_invalid(fill, result, failure->field, json, failure->reason);
}

/* What only the schema as a whole says: references, conditions, which members go together. Without
 * it a call that is refused would be ready. */
static bool check_whole(struct fill *fill, struct result *result, struct missing_list *missing) {
    struct schema *schema = NULL;
    struct schema_failure failure;
    if (missing->count > 0 || result->arguments.invalid_count > 0 ||
        fill->tool->parameters == NULL ||
        schema_compile(fill->tool->parameters, NULL, &schema, NULL) != 0) {
        return true;
    }
    yyjson_doc *doc = yyjson_read(result->arguments.json, result->arguments.json_length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool good = root != NULL && (schema_validate(schema, root, &failure) ||
                                 add_failure(fill, result, missing, root, &failure));
    yyjson_doc_free(doc);
    schema_destroy(schema);
    return good;
}

/* ------------------------------------------------------------------ together */

static int write_result(struct fill *fill, struct arguments **ret, struct toolrack_error *err) {
    struct result *result = calloc(1, sizeof *result);
    if (result == NULL) {
        return error_oom(err);
    }
    result->magic = RESULT_MAGIC;
    arena_init(&result->arena, NULL, 0);
    CLEANUP(arguments_destroyp) struct arguments *arguments = &result->arguments;
    struct missing_list missing = {
            .list = arena_zalloc(&result->arena,
                                 (ARGUMENTS_PARAMETERS_MAX + 1) * sizeof *missing.list)};
    if (missing.list == NULL || !add_values(fill, result) || !write_object(fill, result) ||
        !find_missing(fill, result, &missing, fill->tool->parameters, "") ||
        !find_invalid(fill, result) || !check_whole(fill, result, &missing)) {
        return error_oom(err);
    }
    arguments->missing = missing.list;
    arguments->missing_count = missing.count;
    arguments->complete = missing.count == 0 && arguments->invalid_count == 0;
    *ret = STEAL(arguments);
    return 0;
}

int arguments_fill(const struct values *values, const struct arguments_tool *tool,
                   struct arguments **ret, struct toolrack_error *err) {
    OBJECT_CHECK(values, VALUES_MAGIC);
    struct fill fill = {.values = values, .tool = tool};
    arena_init(&fill.arena, NULL, 0);
    int code = prepare(&fill, false, err);
    if (code == 0) {
        code = write_result(&fill, ret, err);
    }
    arena_finish(&fill.arena);
    return code;
}

/* --------------------------------------------------------------------- fit */

/* Whether a value says something by itself: not every run of words does. */
static bool is_telling(const struct value *value) {
    return value->kind != VALUE_CHUNK && value->kind != VALUE_NAME && value->kind != VALUE_PART &&
           value->kind != VALUE_LIST && !value_is_class(value);
}

/* Whether a value or a choice takes a word of the text. */
static bool is_taken(const struct fill *fill, size_t token) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct choice_state *state = &fill->states[p];
        const struct kept *kept = state->filled ? &state->kept[state->at] : NULL;
        if (kept != NULL && kept->first <= token && token < kept->last) {
            return true;
        }
    }
    return false;
}

/* Values may overlap, so that words are counted. */
static void count_taken(const struct fill *fill, struct arguments_fit *ret) {
    for (size_t i = 0; i < fill->values->token_count; i++) {
        if (fill->telling[i]) {
            bool taken = is_taken(fill, i);
            ret->taken += taken;
            ret->left += !taken && (i == 0 || !fill->telling[i - 1] || is_taken(fill, i - 1));
        }
    }
}

/* The kinds of values that are just what a hint is about: no other parameter wants them as much. */
static uint32_t kinds_of(enum hint hint) {
    switch (hint) {
    case HINT_DATE: return VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_MOMENT);
    case HINT_TIME: return VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT);
    case HINT_MOMENT: return VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_DATE);
    case HINT_DURATION: return VALUE_BIT(VALUE_DURATION);
    case HINT_ZONE:
        return VALUE_BIT(VALUE_ZONE) | VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_COUNTRY);
    case HINT_CURRENCY: return VALUE_BIT(VALUE_CURRENCY) | VALUE_BIT(VALUE_MONEY);
    case HINT_LANGUAGE: return VALUE_BIT(VALUE_LANGUAGE);
    case HINT_PLACE: return VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_COUNTRY);
    case HINT_COUNTRY: return VALUE_BIT(VALUE_COUNTRY);
    case HINT_URL: return VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_IP);
    case HINT_EMAIL: return VALUE_BIT(VALUE_EMAIL);
    case HINT_PATH: return VALUE_BIT(VALUE_PATH);
    case HINT_PHONE: return VALUE_BIT(VALUE_PHONE);
    case HINT_EXPRESSION: return VALUE_BIT(VALUE_EXPRESSION);
    case HINT_COLOR: return VALUE_BIT(VALUE_COLOR);
    default: return 0;
    }
}

/* Whether a parameter gets a value of just its kind. */
static bool is_of_kind(const struct fill *fill, size_t p) {
    const struct kept *kept = &fill->states[p].kept[fill->states[p].at];
    return !fill_is_choice(kept->form) && (VALUE_BIT(fill->values->list[kept->index].kind) &
                                           kinds_of(fill->parameters.list[p].hint)) != 0;
}

/* Whether a parameter has a value of the wish that is open. */
static bool is_of_open(const struct fill *fill, size_t p) {
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = state->filled ? &state->kept[state->at] : NULL;
    return kept != NULL && kept->last > kept->first && fill->values->tokens[kept->first].open;
}

/* Whether the wish that is open has values, and the tool takes none of them. */
static bool is_past(const struct fill *fill) {
    bool has = false;
    for (size_t i = 0; i < fill->values->solid_count; i++) {
        const struct value *value = &fill->values->list[i];
        has = has || (is_telling(value) && fill->values->tokens[value->first].open);
    }
    for (size_t p = 0; has && p < fill->parameters.count; p++) {
        has = !is_of_open(fill, p);
    }
    return has;
}

static void count_fit(const struct fill *fill, struct arguments_fit *ret) {
    double sum = 0;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        const struct choice_state *state = &fill->states[p];
        bool said = state->filled && state->kept[state->at].last > state->kept[state->at].first;
        ret->required += parameter->must;
        ret->found += parameter->must && said;
        ret->sure += parameter->must && said && state->kept[state->at].margin > SURE_MARGIN;
        ret->named += said && state->kept[state->at].margin > 200;
        ret->of_kind += said && is_of_kind(fill, p);
        ret->used += said && !fill_is_choice(state->kept[state->at].form);
        sum += parameter->must && state->filled ? 1 : 0;
        ret->open = ret->open || (said && is_of_open(fill, p) && is_of_kind(fill, p));
    }
    for (size_t i = 0; i < fill->values->solid_count; i++) {
        const struct value *value = &fill->values->list[i];
        if (is_telling(value) && fill->values->tokens[value->first].open) {
            ret->values++;
            memset(fill->telling + value->first, 1, (size_t)(value->last - value->first));
        }
    }
    count_taken(fill, ret);
    ret->past = is_past(fill);
    ret->fit = ret->required > 0 ? sum / ret->required : 1;
}

int arguments_fit(const struct values *values, const struct arguments_tool *tool,
                  struct arguments_fit *ret, struct toolrack_error *err) {
    OBJECT_CHECK(values, VALUES_MAGIC);
    struct fill fill = {.values = values, .tool = tool};
    *ret = (struct arguments_fit){0};
    arena_init(&fill.arena, NULL, 0);
    int code = prepare(&fill, true, err);
    if (code == 0) {
        count_fit(&fill, ret);
    }
    arena_finish(&fill.arena);
    return code;
}
