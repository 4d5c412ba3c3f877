/* What is missing of the arguments, and what the schema refuses, with the question to ask. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "choose/fill-result.h"
#include "choose/question.h"
#include "choose/render.h"
#include "choose/unit.h"
#include "schema/schema.h"

/* Bytes of a value that are shown. */
#define UNIT_SHOWN_MAX 60u

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

static bool add_missing(struct fill *fill, struct result *result, struct missing_list *missing,
                        const char *pointer, const char *name, yyjson_val *schema) {
    CLEANUP(buf_finish) struct buf question = BUF_INIT;
    const char *description = yyjson_get_str(yyjson_obj_get(schema, "description"));
    question_missing(&question, parameter_at(fill, pointer), name,
                     description != NULL ? description : "", fill->values->chinese);
    struct arguments_missing *row = &missing->list[missing->count++];
    row->pointer = result_copy(result, pointer);
    row->question = question.failed ? NULL : result_copy(result, question.data);
    return row->pointer != NULL && row->question != NULL;
}

/* A required member that is absent as a whole is missing by its own name, and not by its members.
 */
bool fill_find_missing(struct fill *fill, struct result *result, struct missing_list *missing,
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
            !fill_find_missing(fill, result, missing,
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

bool fill_add_invalid(struct fill *fill, struct result *result, const char *pointer,
                      const char *json, const char *reason) {
    CLEANUP(buf_finish) struct buf question = BUF_INIT;
    question_invalid(&question, parameter_at(fill, pointer), pointer, json, reason,
                     fill->values->chinese);
    struct arguments_invalid *row = &result->invalid[result->arguments.invalid_count++];
    row->pointer = result_copy(result, pointer);
    row->json = result_copy(result, json);
    row->reason = result_copy(result, reason);
    row->question = question.failed ? NULL : result_copy(result, question.data);
    return row->pointer != NULL && row->json != NULL && row->reason != NULL &&
           row->question != NULL;
}

static bool check_value(struct fill *fill, struct result *result, size_t p, const char *pointer,
                        const char *json) {
    struct schema_failure failure;
    return fill_is_valid(&fill->parameters.list[p], json, &failure) ||
           fill_add_invalid(fill, result, pointer, json, failure.reason);
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
           fill_add_invalid(fill, result, parameter->pointer, state->json, reason.data);
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
    return !reason.failed && fill_add_invalid(fill, result, pointer, json, reason.data);
}

static bool is_taken(const struct fill *fill, const struct value *value) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct choice_state *state = &fill->states[p];
        const struct kept *kept = &state->kept[state->at];
        if (state->filled && kept->first < value->last && value->first < kept->last) {
            return true;
        }
    }
    return false;
}

/* The value that the text puts beside that of a parameter, by "and" or a comma, and that no
 * parameter takes: "the kitchen and the hallway". NULL: none. */
static const struct value *another_of(const struct fill *fill, const struct value *value) {
    const uint32_t kinds = VALUE_BIT(VALUE_ROOM) | VALUE_BIT(VALUE_FLOOR) | VALUE_BIT(VALUE_PLACE) |
                           VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_URL) |
                           VALUE_BIT(VALUE_COLOR) | VALUE_BIT(VALUE_CODE);
    const struct values *values = fill->values;
    for (size_t v = 0; (VALUE_BIT(value->kind) & kinds) != 0 && v < values->solid_count; v++) {
        const struct value *other = &values->list[v];
        const struct value *left = other->first < value->first ? other : value;
        const struct value *right = other->first < value->first ? value : other;
        bool joined =
                other->kind == value->kind && left->last < right->first && !is_taken(fill, other);
        bool word = false;
        for (size_t t = left->last; joined && t < right->first; t++) {
            const struct token *token = &values->tokens[t];
            word = word || token->cue == CUE_AND;
            joined = token->cue == CUE_AND || token->cue == CUE_DETERMINER ||
                     (token->kind == TOKEN_SIGN && token->sign == ',');
        }
        if (joined && word) {
            return other;
        }
    }
    return NULL;
}

/* One value for a parameter where the text names two: a call would do half of what is asked. */
static bool check_another(struct fill *fill, struct result *result, size_t p) {
    const struct parameter *parameter = &fill->parameters.list[p];
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = &state->kept[state->at];
    bool one = parameter->type == PARAMETER_STRING && state->source == ARGUMENTS_FROM_TEXT &&
               kept->form == FORM_PLAIN && fill_is_value(kept);
    const struct value *another = one ? another_of(fill, &fill->values->list[kept->index]) : NULL;
    if (another == NULL) {
        return true;
    }
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    bool chinese = fill->values->chinese;
    buf_add_text(&reason, chinese ? "原文还提到“" : "the text also names \"");
    text_add_cut(&reason, fill->values->text + another->start, another->end - another->start,
                 UNIT_SHOWN_MAX);
    buf_add_text(&reason, chinese ? "”，这里只能有一个" : "\", and this takes one");
    return !reason.failed &&
           fill_add_invalid(fill, result, parameter->pointer, state->json, reason.data);
}

static bool check_filled(struct fill *fill, struct result *result, size_t p) {
    const struct choice_state *state = &fill->states[p];
    const char *pointer = fill->parameters.list[p].pointer;
    bool said = state->source == ARGUMENTS_FROM_TEXT && state->origin == NULL &&
                state->at < state->count;
    return said ? check_said(fill, result, p, pointer, &state->kept[state->at], state->json)
                : check_value(fill, result, p, pointer, state->json);
}

bool fill_find_invalid(struct fill *fill, struct result *result) {
    size_t room = fill->parameters.count + fill->more_count + 1;
    result->invalid = arena_zalloc(&result->arena, room * sizeof *result->invalid);
    result->arguments.invalid = result->invalid;
    bool good = result->invalid != NULL;
    for (size_t p = 0; good && p < fill->parameters.count; p++) {
        size_t before = result->arguments.invalid_count;
        good = !fill->states[p].filled ||
               (check_filled(fill, result, p) &&
                (result->arguments.invalid_count > before || check_unit(fill, result, p)) &&
                (result->arguments.invalid_count > before || check_another(fill, result, p)));
    }
    for (size_t i = 0; good && i < fill->more_count; i++) {
        const struct fill_more *more = &fill->more[i];
        good = check_said(fill, result, more->parameter, more->pointer, &more->kept, more->json);
    }
    return good && fill_find_unread(fill, result);
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
    return json != NULL && fill_add_invalid(fill, result, failure->field, json, failure->reason);
}

/* What only the schema as a whole says: references, conditions, which members go together. Without
 * it a call that is refused would be ready. */
bool fill_check_whole(struct fill *fill, struct result *result, struct missing_list *missing) {
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
