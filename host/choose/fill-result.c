/* What was filled, with the reason of each value: the result of arguments_fill(). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/object.h"
#include "choose/fill-result.h"
#include "choose/render.h"

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
    const struct value *value = !fill_is_value(kept) ? NULL : &fill->values->list[kept->index];
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
    static const char *const kinds[VALUE_KINDS] = {
#define VALUE_KIND_NAME(constant, name) [constant] = (name),
            VALUE_KIND_LIST(VALUE_KIND_NAME)
#undef VALUE_KIND_NAME
    };
    if (kept->last <= kept->first) {
        return arena_printf(arena, "%s",
                            kept->form == FORM_CHOICE ? "the only choice"
                                                      : "the default of the schema");
    }
    const char *what =
            kept->form == FORM_NONE ? "words of the text"
            : kept->form == FORM_CHOICE || kept->form == FORM_CHOICES
                    ? "a choice that the text names"
            : kept->form == FORM_TRUE || kept->form == FORM_FALSE ? "how the text speaks of it"
            : value_is_class(&values->list[kept->index])          ? "a class of characters"
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
    value->pointer = result_copy(result, filled->pointer);
    value->json = result_copy(result, filled->json);
    value->reason = reason_of(fill, filled, &result->arena);
    value->source = source_of(fill, filled);
    value->origin = filled->origin != NULL ? result_copy(result, filled->origin) : NULL;
    if (span == NULL || value->pointer == NULL || value->json == NULL || value->reason == NULL ||
        (filled->origin != NULL && value->origin == NULL)) {
        return false;
    }
    if (kept->last > kept->first) {
        bool words = evidence_is_choice(kept->form) || kept->form == FORM_NONE;
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
               fill_set_member(fill, doc, fill->parameters.list[p].pointer, fill->states[p].json);
    }
    for (size_t i = 0; good && i < fill->more_count; i++) {
        good = fill_set_member(fill, doc, fill->more[i].pointer, fill->more[i].json);
    }
    result->json = good ? json_write(doc, YYJSON_WRITE_NOFLAG, NULL, &result->arguments.json_length)
                        : NULL;
    result->arguments.json = result->json;
    yyjson_mut_doc_free(doc);
    return result->json != NULL;
}

int fill_write_result(struct fill *fill, struct arguments **ret, struct toolrack_error *err) {
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
        !fill_find_missing(fill, result, &missing, fill->tool->parameters, "") ||
        !fill_find_invalid(fill, result) || !fill_check_whole(fill, result, &missing)) {
        return error_oom(err);
    }
    arguments->missing = missing.list;
    arguments->missing_count = missing.count;
    arguments->complete = missing.count == 0 && arguments->invalid_count == 0;
    *ret = STEAL(arguments);
    return 0;
}
