/* What the text leaves open and the context says: earlier results, the time zone, usual units. */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json.h"
#include "choose/fill-parts.h"

/* How deep and how far one earlier result is searched. */
#define RESULT_DEPTH_MAX 6u
#define RESULT_NODES_MAX 512u

/* Longest value that is taken from a result, as JSON. */
#define RESULT_VALUE_MAX 65536u

/* How a value in a result answers to a parameter; of two the higher, then the less deep, then the
 * first. */
enum answer {
    ANSWER_NONE,
    ANSWER_VALID, /* the schema takes it */
    ANSWER_ALIKE, /* and it looks as the parameter wants, or its name says that it is the result */
    ANSWER_NAMED  /* it has the name of the parameter */
};

struct search {
    const struct parameter *parameter;
    const struct schema *schema; /* of the parameter; NULL: its references lead elsewhere */
    struct arena *arena;
    size_t nodes;
    size_t depth;
    enum answer answer;
    size_t equal; /* how many answer so */
    const char *pointer;
    const char *json;
};

/* -------------------------------------------------------------------- names */

/* The next letter or digit of a name in lower case; '\0': its end. */
static char next_letter(const char **name) {
    while (**name != '\0' && !ascii_is_alnum(**name) && (**name & 0x80) == 0) {
        (*name)++;
    }
    char c = ascii_lower(**name);
    *name += c != '\0';
    return c;
}

/* file_path and filePath are one name. */
static bool is_same_name(const char *a, const char *b) {
    for (;;) {
        char left = next_letter(&a);
        char right = next_letter(&b);
        if (left != right) {
            return false;
        }
        if (left == '\0') {
            return true;
        }
    }
}

static bool is_result_name(const char *name) {
    static const char *const names[] = {"result", "value", "output", "answer", "content", "结果"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (is_same_name(names[i], name)) {
            return true;
        }
    }
    return false;
}

/* Whether a text looks as a parameter of such a hint wants it. */
static bool looks_right(const struct parameter *parameter, yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    if (text == NULL || strpbrk(text, " \n\t") != NULL) {
        return false;
    }
    switch (parameter->hint) {
    case HINT_PATH: return strchr(text, '/') != NULL || strchr(text, '.') != NULL;
    case HINT_URL: return strstr(text, "://") != NULL;
    case HINT_EMAIL: return strchr(text, '@') != NULL;
    default: return false;
    }
}

/* ------------------------------------------------------------------- search */

/* Whether a value has the type of a parameter, and the schema takes it. */
static const char *json_of(const struct search *search, yyjson_val *value) {
    const struct parameter *parameter = search->parameter;
    bool single = yyjson_is_str(value) || yyjson_is_num(value) || yyjson_is_bool(value);
    bool many = parameter->type == PARAMETER_ARRAY || parameter->type == PARAMETER_CHOICES ||
                parameter->type == PARAMETER_JSON;
    size_t length = 0;
    bool good = single != many &&
                (search->schema == NULL || schema_validate(search->schema, value, NULL));
    char *json = good ? yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &length) : NULL;
    const char *copy = json != NULL && length <= RESULT_VALUE_MAX
                               ? arena_copy(search->arena, json, length)
                               : NULL;
    free(json);
    return copy;
}

static void offer(struct search *search, yyjson_val *value, const char *name, const char *pointer,
                  size_t depth) {
    enum answer answer = is_same_name(name, search->parameter->name) ? ANSWER_NAMED
                         : looks_right(search->parameter, value) ||
                                         (is_result_name(name) && !yyjson_is_ctn(value))
                                 ? ANSWER_ALIKE
                                 : ANSWER_VALID;
    if (answer < search->answer ||
        (answer == search->answer && depth > search->depth && answer != ANSWER_VALID)) {
        return;
    }
    const char *json = json_of(search, value);
    if (json == NULL) {
        return;
    }
    if (answer == search->answer && (answer == ANSWER_VALID || depth == search->depth)) {
        search->equal++;
        return;
    }
    search->answer = answer;
    search->equal = 1;
    search->depth = depth;
    search->json = json;
    search->pointer = pointer;
}

/* The pointer of a member; NULL: its name is too long, or no memory. */
static const char *enter(struct search *search, const char *pointer, const char *name) {
    return strlen(name) < ARGUMENTS_POINTER_MAX ? json_pointer_join(search->arena, pointer, name)
                                                : NULL;
}

/* Not deeper than RESULT_DEPTH_MAX, whatever the result has. */
// NOLINTNEXTLINE(misc-no-recursion)
static void visit(struct search *search, yyjson_val *value, const char *name, const char *pointer,
                  size_t depth) {
    if (pointer == NULL || search->nodes == RESULT_NODES_MAX) {
        return;
    }
    search->nodes++;
    offer(search, value, name, pointer, depth);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *child;
    if (depth == RESULT_DEPTH_MAX) {
        return;
    }
    json_obj_foreach (value, at, count, key, child) {
        const char *own = unsafe_yyjson_get_str(key);
        visit(search, child, own, enter(search, pointer, own), depth + 1);
    }
    yyjson_arr_foreach (value, at, count, child) {
        visit(search, child, name, arena_printf(search->arena, "%s/%zu", pointer, at), depth + 1);
    }
}

/* Earlier results from the last to the first: their names and places. */
static size_t list_results(yyjson_val *results, yyjson_val **values, const char **names,
                           size_t room) {
    size_t total = yyjson_is_obj(results) ? yyjson_obj_size(results) : yyjson_arr_size(results);
    size_t skip = total > room ? total - room : 0;
    size_t n = 0;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (results, at, count, key, value) {
        if (at >= skip) {
            names[n] = unsafe_yyjson_get_str(key);
            values[n++] = value;
        }
    }
    yyjson_arr_foreach (results, at, count, value) {
        if (at >= skip) {
            names[n] = NULL;
            values[n++] = value;
        }
    }
    return n;
}

/* Whether an earlier result than `at` has another value that answers as well: "that file" may be
 * either. */
static bool is_ambiguous(const struct search *found, yyjson_val *const *values,
                         const char *const *names, size_t at) {
    for (size_t i = 0; i < at; i++) {
        struct search other = {
                .parameter = found->parameter, .schema = found->schema, .arena = found->arena};
        visit(&other, values[i], names[i] != NULL ? names[i] : "", "", 0);
        if (other.answer >= found->answer && strcmp(other.json, found->json) != 0) {
            return true;
        }
    }
    return false;
}

/* The best value for a parameter. Without a reference only what has its name, in the last result.
 */
static bool search_results(struct fill *fill, struct search *search, bool referred) {
    yyjson_val *values[16];
    const char *names[16];
    yyjson_val *results = fill->values->context.results;
    size_t total = yyjson_is_obj(results) ? yyjson_obj_size(results) : yyjson_arr_size(results);
    size_t count = list_results(results, values, names, ARRAY_LENGTH(values));
    for (size_t i = count; i-- > 0;) {
        search->answer = ANSWER_NONE;
        search->equal = 0;
        search->depth = 0;
        const char *pointer = names[i] != NULL
                                      ? enter(search, "", names[i])
                                      : arena_printf(search->arena, "/%zu", total - count + i);
        visit(search, values[i], names[i] != NULL ? names[i] : "", pointer, 0);
        bool only = search->answer != ANSWER_VALID || search->equal == 1;
        if (search->answer == ANSWER_NAMED || (referred && search->answer != ANSWER_NONE && only)) {
            return !referred || !is_ambiguous(search, values, names, i);
        }
        if (!referred) {
            return false;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ filling */

void fill_take(struct choice_state *state, enum arguments_source source, const char *json,
               const char *origin, const struct value_reference *words) {
    state->kept[0] = (struct kept){.form = FORM_NONE,
                                   .first = words != NULL ? words->first : 0,
                                   .last = words != NULL ? words->last : 0};
    state->count = 1;
    state->at = 0;
    state->done = true;
    state->filled = true;
    state->source = (uint8_t)source;
    state->json = json;
    state->origin = origin;
}

/* The words that stand for a result and that no value of the text covers; NULL: none. */
static const struct value_reference *free_reference(const struct fill *fill) {
    for (size_t i = 0; i < fill->values->reference_count; i++) {
        if (!fill->used[fill->values->references[i].first]) {
            return &fill->values->references[i];
        }
    }
    return NULL;
}

static bool has_origin(const struct fill *fill, const char *origin) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const char *own = fill->states[p].origin;
        if (own != NULL && strcmp(own, origin) == 0) {
            return true;
        }
    }
    return false;
}

/* Two parameters do not take one value. */
static void take_result(struct fill *fill, size_t p, const struct value_reference *words) {
    const struct parameter *parameter = &fill->parameters.list[p];
    struct schema *schema = NULL;
    struct schema_options options = {.assert_format = true};
    if (yyjson_obj_get(parameter->schema, "$ref") == NULL &&
        schema_compile(parameter->schema, &options, &schema, NULL) != 0) {
        return;
    }
    struct search search = {.parameter = parameter, .schema = schema, .arena = &fill->arena};
    if (search_results(fill, &search, words != NULL) && !has_origin(fill, search.pointer)) {
        fill_take(&fill->states[p], ARGUMENTS_FROM_RESULT, search.json, search.pointer, words);
    }
    schema_destroy(schema);
}

/* Whether a parameter has no value but words that do not look as it wants: a path "read". */
static bool is_open(const struct fill *fill, size_t p) {
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = &state->kept[state->at];
    uint8_t hint = fill->parameters.list[p].hint;
    if (!state->filled) {
        return true;
    }
    bool looks = hint == HINT_PATH || hint == HINT_URL || hint == HINT_EMAIL;
    uint8_t kind =
            evidence_is_choice(kept->form) ? VALUE_KINDS : fill->values->list[kept->index].kind;
    return looks && (kind == VALUE_CHUNK || kind == VALUE_PART);
}

static void take_results(struct fill *fill) {
    const struct value_reference *words = free_reference(fill);
    for (size_t p = 0; p < fill->parameters.count; p++) {
        if (fill->parameters.list[p].must && is_open(fill, p)) {
            take_result(fill, p, words);
        }
    }
}

/* The one time zone that is open is that of the user: "what time is it?", "3 pm in Tokyo time". */
static void take_zone(struct fill *fill) {
    size_t open = fill->parameters.count;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        if (parameter->hint == HINT_ZONE && parameter->type == PARAMETER_STRING &&
            !fill->states[p].filled) {
            if (open < fill->parameters.count) {
                return;
            }
            open = p;
        }
    }
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    const char *zone = fill->values->context.time_zone;
    if (open == fill->parameters.count) {
        return;
    }
    buf_add_json_string(&json, zone, strlen(zone));
    const char *copy = json.failed ? NULL : arena_copy(&fill->arena, json.data, json.length);
    if (copy != NULL && fill_is_valid(&fill->parameters.list[open], copy, NULL)) {
        fill_take(&fill->states[open], ARGUMENTS_FROM_ZONE, copy, NULL, NULL);
    }
}

static bool is_choice_text(const struct parameter_text *choice, const char *text) {
    if (choice->length != strlen(text)) {
        return false;
    }
    for (size_t i = 0; i < choice->length; i++) {
        if (ascii_lower(choice->text[i]) != text[i]) {
            return false;
        }
    }
    return true;
}

/* Of the units that a choice is between, those that are usual where the user is. */
static void take_units(struct fill *fill, size_t p) {
    static const char *const pairs[][2] = {
            {"celsius", "fahrenheit"}, {"c", "f"}, {"metric", "imperial"}, {"km", "miles"}};
    const struct parameter *parameter = &fill->parameters.list[p];
    struct choice_state *state = &fill->states[p];
    bool assumed = state->filled && state->kept[state->at].last == state->kept[state->at].first;
    if (parameter->type != PARAMETER_CHOICE || (state->filled ? !assumed : !parameter->must)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
        size_t found[2] = {parameter->choice_count, parameter->choice_count};
        for (size_t k = 0; k < parameter->choice_count; k++) {
            for (size_t side = 0; side < 2; side++) {
                found[side] =
                        is_choice_text(&parameter->choices[k], pairs[i][side]) ? k : found[side];
            }
        }
        size_t wanted = found[fill->values->locale.imperial];
        struct kept kept = {.form = FORM_CHOICE, .index = (uint16_t)wanted};
        const char *json = found[0] < parameter->choice_count && found[1] < parameter->choice_count
                                   ? fill_render(fill, p, &kept)
                                   : NULL;
        if (json != NULL) {
            fill_take(state, ARGUMENTS_FROM_LOCALE, json, NULL, NULL);
            return;
        }
    }
}

void fill_from_context(struct fill *fill) {
    const struct arguments_context *context = &fill->values->context;
    if (context->results != NULL) {
        take_results(fill);
    }
    if (context->time_zone != NULL) {
        take_zone(fill);
    }
    for (size_t p = 0; context->locale != NULL && p < fill->parameters.count; p++) {
        take_units(fill, p);
    }
}
