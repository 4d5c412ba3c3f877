/* What a call takes of the results of those before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-pointer.h"
#include "choose/profile.h"
#include "choose/values-parts.h"
#include "choose/wish-making.h"

CLEANUP_DEFINE(struct values, values_destroy)

#define LINKS_MAX 8u

/* What a part of a result counts: see weigh_output(). A link below LINK_LEAST is none. */
#define MENTIONED  4.0 /* the text has all words of its name */
#define UNPOINTED  0.5 /* of that, where no "the" or "that" stands before them */
#define STOOD_FOR  3.0 /* the text has a word for what came before */
#define SAME_NAME  3.0 /* the parameter has its name */
#define ALIKE      1.0 /* the parameter's texts have all words of its name */
#define SOUGHT     0.4 /* the text of the call before has all words of its name */
#define ECHOED     3.0 /* less: it only says again what the call was given */
#define NEXT       0.5 /* it is of the call just before */
#define LINK_LEAST 3.0

struct linking {
    struct making *making;
    struct words text;     /* of the call that is linked */
    struct values *values; /* likewise */
};

/* --------------------------------------------------------------------------------- references */

/* Whether the text of the call has a word for what came before. */
static bool refers(const struct linking *linking) {
    const struct values *values = linking->values;
    for (size_t i = 0; i < values->reference_count; i++) {
        if (wish_is_result(values, &values->references[i])) {
            return true;
        }
    }
    return false;
}

/* Whether a value is only words that stand for what came before: "it", "the result". */
static bool stands_for(const struct linking *linking, const char *value) {
    const struct values *values = linking->values;
    for (size_t i = 0; i < values->reference_count; i++) {
        const struct value_reference *reference = &values->references[i];
        size_t start = values->tokens[reference->first].start;
        size_t length = values->tokens[reference->last - 1].end - start;
        if (length > 0 && memmem(value, strlen(value), values->text + start, length) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_type(yyjson_val *schema, const char *type) {
    const char *own = yyjson_get_str(yyjson_obj_get(schema, "type"));
    return own != NULL && strcmp(own, type) == 0;
}

/* Whether a parameter may take a part of a result, as far as both say their types. */
static bool may_take(yyjson_val *parameter, yyjson_val *given) {
    const char *wants = yyjson_get_str(yyjson_obj_get(parameter, "type"));
    const char *gives = yyjson_get_str(yyjson_obj_get(given, "type"));
    return wants == NULL || gives == NULL || strcmp(wants, gives) == 0 ||
           (is_type(parameter, "number") && is_type(given, "integer"));
}

/* Whether the text has a word of a name behind one that points: "the", "that". */
static bool is_pointed(const struct linking *linking, const struct words *name) {
    const struct words *text = &linking->text;
    for (size_t i = 1; i < text->count; i++) {
        const struct word *before = &text->items[i - 1];
        bool points = before->text_length > 2 &&
                      (memcmp(before->text, "the", 3) == 0 || memcmp(before->text, "tha", 3) == 0 ||
                       memcmp(before->text, "thi", 3) == 0 || memcmp(before->text, "its", 3) == 0);
        if (points && wish_has_word(name, &text->items[i])) {
            return true;
        }
    }
    return false;
}

static double weigh_output(const struct linking *linking, size_t to, const struct output *output,
                           const struct words *name, const struct words *text) {
    double mentioned = wish_share(&output->name, &linking->text) *
                       (is_pointed(linking, &output->name) ? 1 : UNPOINTED);
    double alike = wish_share(&output->name, text);
    bool same = wish_share(name, &output->name) > 0.99 && wish_share(&output->name, name) > 0.99;
    bool next = output->from + 1 == to;
    /* A word stands for one value. */
    bool stands = next && refers(linking) && linking->making->calls[to].link_count == 0;
    /* Of another call of the same tool, a part of the result that is named is asked for again. */
    const struct called *calls = linking->making->calls;
    if (!stands && strcmp(toolrack_tool_name(called_tool(&calls[to])),
                          toolrack_tool_name(called_tool(&calls[output->from]))) == 0) {
        return 0;
    }
    return MENTIONED * mentioned * mentioned + (stands ? STOOD_FOR : 0) + (same ? SAME_NAME : 0) +
           ALIKE * alike + SOUGHT * output->sought + (next ? NEXT : 0) -
           (output->echo ? ECHOED : 0);
}

static int add_link(struct making *making, struct called *call, const struct wish_link *link) {
    if (call->links == NULL) {
        call->links = arena_zalloc(making->arena, LINKS_MAX * sizeof *call->links);
    }
    if (call->links == NULL) {
        return error_oom(making->err);
    }
    struct wish_link *added = &call->links[call->link_count++];
    *added = *link;
    added->pointer = arena_copy(making->arena, link->pointer, strlen(link->pointer));
    return added->pointer != NULL ? 0 : error_oom(making->err);
}

static int link_parameter(struct linking *linking, size_t to, const char *pointer,
                          yyjson_val *schema, bool said) {
    struct making *making = linking->making;
    struct called *call = &making->calls[to];
    const char *own = strrchr(pointer, '/') != NULL ? strrchr(pointer, '/') + 1 : pointer;
    const char *description = yyjson_get_str(yyjson_obj_get(schema, "description"));
    CLEANUP(words_finish) struct words name = {0};
    CLEANUP(words_finish) struct words text = {0};
    const struct output *best = NULL;
    double most = 0;
    int code = words_read(own, strlen(own), &name, making->err);
    code = code < 0 ? code
                    : words_read(description != NULL ? description : own,
                                 strlen(description != NULL ? description : own), &text,
                                 making->err);
    for (size_t i = 0; code == 0 && i < linking->making->output_count; i++) {
        const struct output *output = &linking->making->outputs[i];
        double weight = weigh_output(linking, to, output, &name, &text);
        if (output->from < to && weight > most && may_take(schema, output->schema)) {
            best = output;
            most = weight;
        }
    }
    if (code < 0 || best == NULL || most < LINK_LEAST || call->link_count == LINKS_MAX) {
        return code;
    }
    return add_link(
            making, call,
            &(struct wish_link){
                    .pointer = pointer, .from = best->from, .path = best->path, .said = said});
}

/* Whether a part has a name that says no more than that it is the result. */
static bool is_main(const struct output *output) {
    for (size_t i = 0; i < output->name.count; i++) {
        if (!wish_is_generic(&output->name.items[i])) {
            return false;
        }
    }
    return true;
}

/* The part of a result that the digits stand for: what the text names, else what it asks of that
 * call, and what the parameter may take. NULL: there is none. */
static const struct output *marked_output(const struct linking *linking, const struct called *call,
                                          yyjson_val *parameter, bool inside, bool *ret_open) {
    const struct output *best = NULL;
    size_t fitting = 0;
    double most = -ECHOED - 1;
    for (size_t i = 0; i < linking->making->output_count; i++) {
        const struct output *output = &linking->making->outputs[i];
        bool named = call->mark.path != NULL && strcmp(call->mark.path, output->path) == 0;
        double weight = (named ? 2 * MENTIONED : 0) + output->sought - (output->echo ? ECHOED : 0) +
                        MENTIONED * wish_share(&output->name, &linking->text);
        bool fits = inside ? !is_type(output->schema, "array") &&
                                     !is_type(output->schema, "object") &&
                                     !is_type(output->schema, "string")
                           : may_take(parameter, output->schema);
        fits = fits && output->from == call->mark.from;
        fitting += fits && !output->echo;
        if (weight > most && fits) {
            best = output;
            most = weight;
        }
    }
    *ret_open = fitting > 1 && most <= 0 && !is_main(best);
    return best;
}

const struct output *wish_output_number(const struct making *making, size_t from,
                                        const struct clause *clause, bool *ret_open) {
    const struct words said = {.items = making->words.items + clause->first,
                               .count = clause->last - clause->first};
    const struct output *best = NULL;
    size_t fitting = 0;
    double most = -1;
    for (size_t i = 0; i < making->output_count; i++) {
        const struct output *output = &making->outputs[i];
        const bool fits = output->from == from && !output->echo &&
                          (is_type(output->schema, "number") || is_type(output->schema, "integer"));
        const double weight = output->sought + MENTIONED * wish_share(&output->name, &said);
        fitting += fits;
        if (fits && weight > most) {
            best = output;
            most = weight;
        }
    }
    *ret_open = fitting > 1 && most <= 0 && !is_main(best);
    return best;
}

static struct standing first_of(const struct marked *mark) {
    struct standing first = {.from = mark->from, .path = mark->path};
    memcpy(first.digits, mark->digits, sizeof first.digits);
    return first;
}

/* Whose digits a part of a text begins with, of the results that a call takes; NULL: of none. */
static const struct standing *standing_at(const struct marked *mark, const struct standing *first,
                                          const char *text) {
    for (size_t i = 0; i <= mark->more_count; i++) {
        const struct standing *standing = i == 0 ? first : &mark->more[i - 1];
        if (strncmp(text, standing->digits, strlen(standing->digits)) == 0) {
            return standing;
        }
    }
    return NULL;
}

/* Results inside of a text: each link has what stands before its digits, the last one the rest. */
static int link_inside(struct making *making, struct called *call, const char *pointer,
                       const char *text) {
    const struct standing first = first_of(&call->mark);
    struct wish_link *before = NULL;
    int code = 0;
    for (const char *at = text, *from = text; code == 0 && *at != '\0';) {
        const struct standing *standing = standing_at(&call->mark, &first, at);
        if (standing == NULL || call->link_count == LINKS_MAX) {
            at++;
            continue;
        }
        const char *behind = at + strlen(standing->digits);
        struct wish_link link = {.pointer = pointer,
                                 .from = standing->from,
                                 .path = standing->path,
                                 .said = true,
                                 .before = arena_copy(making->arena, from, (size_t)(at - from)),
                                 .behind = arena_copy(making->arena, behind, strlen(behind))};
        code = link.before != NULL && link.behind != NULL ? add_link(making, call, &link)
                                                          : error_oom(making->err);
        if (before != NULL) {
            before->behind = "";
        }
        before = code == 0 ? &call->links[call->link_count - 1] : NULL;
        at = from = behind;
    }
    return code;
}

/* Results that are elements of a list, whose other elements stay. */
static int link_elements(struct making *making, struct called *call, const char *pointer,
                         yyjson_mut_val *list) {
    const struct standing first = first_of(&call->mark);
    int code = 0;
    for (size_t i = 0; code == 0 && i < yyjson_mut_arr_size(list); i++) {
        CLEANUP(freep) char *json = yyjson_mut_val_write(yyjson_mut_arr_get(list, i), 0, NULL);
        const struct standing *standing =
                json != NULL ? standing_at(&call->mark, &first, json) : NULL;
        char element[JSON_POINTER_MAX];
        (void)snprintf(element, sizeof element, "%s", pointer);
        json_pointer_add_index(element, i);
        if (standing != NULL && call->link_count < LINKS_MAX) {
            code = add_link(making, call,
                            &(struct wish_link){.pointer = element,
                                                .from = standing->from,
                                                .path = standing->path,
                                                .said = true});
        }
    }
    return code;
}

/* Put several results where their digits are. */
static int link_several(struct linking *linking, size_t to) {
    struct called *call = &linking->making->calls[to];
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(call->values);
    yyjson_mut_val *key;
    int code = 0;
    while (code == 0 && (key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
        const char *text = yyjson_mut_get_str(value);
        const size_t before = call->link_count;
        char pointer[JSON_POINTER_MAX] = "";
        json_pointer_add(pointer, yyjson_mut_get_str(key));
        code = text != NULL ? link_inside(linking->making, call, pointer, text)
                            : link_elements(linking->making, call, pointer, value);
        if (text != NULL && call->link_count > before) {
            (void)yyjson_mut_obj_iter_remove(&iter);
        }
    }
    return code;
}

/* Put the result where the digits are that stand for it: alone, or inside of a text. */
static int link_marked(struct linking *linking, size_t to, yyjson_val *schema) {
    struct making *making = linking->making;
    struct called *call = &making->calls[to];
    const char *digits = call->mark.digits;
    yyjson_mut_obj_iter iter;
    yyjson_mut_val *key;
    int code = 0;
    (void)yyjson_mut_obj_iter_init(call->values, &iter);
    while (code == 0 && (key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
        CLEANUP(freep) char *json = yyjson_mut_val_write(value, 0, NULL);
        const char *text = yyjson_mut_get_str(value);
        const char *found = json != NULL ? strstr(text != NULL ? text : json, digits) : NULL;
        char pointer[JSON_POINTER_MAX] = "";
        json_pointer_add(pointer, yyjson_mut_get_str(key));
        struct wish_link link = {.pointer = pointer, .from = call->mark.from, .said = true};
        if (found == NULL || call->link_count == LINKS_MAX) {
            continue;
        }
        bool inside = text != NULL && strcmp(text, digits) != 0;
        if (inside) {
            const char *behind = found + strlen(digits);
            link.before = arena_copy(making->arena, text, (size_t)(found - text));
            link.behind = arena_copy(making->arena, behind, strlen(behind));
        }
        yyjson_val *parameter =
                yyjson_obj_get(yyjson_obj_get(schema, "properties"), yyjson_mut_get_str(key));
        const struct output *output = marked_output(linking, call, parameter, inside, &link.open);
        if (output != NULL) { /* else it is asked for */
            link.path = output->path;
            code = add_link(making, call, &link);
        }
        (void)yyjson_mut_obj_iter_remove(&iter);
    }
    return code;
}

/* --------------------------------------------------------------------------------------- each */

/* The word behind "each" or 每, which says of what; NULL: there is none. */
static const struct word *find_each(const struct words *text) {
    static const char *const each[] = {"each", "every", "每", "各"};
    static const char *const between[] = {"one", "of", "the", "its", "一", "个"};
    for (size_t i = 0; i + 1 < text->count; i++) {
        if (!text->items[i].quoted && WORD_IS_ONE_OF(&text->items[i], each)) {
            size_t noun = i + 1;
            while (noun + 1 < text->count && WORD_IS_ONE_OF(&text->items[noun], between)) {
                noun++;
            }
            return &text->items[noun];
        }
    }
    return NULL;
}

/* The list whose items are meant: the one that has the word in its name, else the only one that the
 * call before gives. */
static const struct output *find_list(const struct linking *linking, size_t to,
                                      const struct word *noun) {
    const struct output *only = NULL;
    size_t count = 0;
    for (size_t i = linking->making->output_count; i-- > 0;) {
        const struct output *output = &linking->making->outputs[i];
        bool list = output->from < to && is_type(output->schema, "array");
        if (list && wish_has_word(&output->name, noun)) {
            return output;
        }
        if (list && output->from + 1 == to) {
            only = output;
            count++;
        }
    }
    return count == 1 ? only : NULL;
}

/* What of an item a parameter takes: all of it, or the member with its name. NULL: nothing. */
static const char *item_of(struct making *making, yyjson_val *item, const char *name,
                           yyjson_val *parameter) {
    yyjson_val *member = yyjson_obj_get(yyjson_obj_get(item, "properties"), name);
    char pointer[JSON_POINTER_MAX] = "";
    if (member != NULL && may_take(parameter, member)) {
        json_pointer_add(pointer, name);
        return arena_copy(making->arena, pointer, strlen(pointer));
    }
    return item != NULL && may_take(parameter, item) ? "" : NULL;
}

/* Of "count the words of each line" the call is made for each item of a result before, which the
 * first required parameter takes that the text has no value for. */
static int link_each(struct linking *linking, size_t to, yyjson_val *schema) {
    struct making *making = linking->making;
    struct called *call = &making->calls[to];
    const struct word *noun = find_each(&linking->text);
    const struct output *list = noun != NULL ? find_list(linking, to, noun) : NULL;
    yyjson_val *item = list != NULL ? yyjson_obj_get(list->schema, "items") : NULL;
    size_t at;
    size_t count;
    yyjson_val *required;
    if (list == NULL || call->has_mark || call->link_count == LINKS_MAX) {
        return 0;
    }
    yyjson_arr_foreach (yyjson_obj_get(schema, "required"), at, count, required) {
        const char *name = yyjson_get_str(required);
        yyjson_val *parameter = yyjson_obj_get(yyjson_obj_get(schema, "properties"), name);
        char pointer[JSON_POINTER_MAX] = "";
        if (name == NULL || yyjson_mut_obj_get(call->values, name) != NULL) {
            continue;
        }
        json_pointer_add(pointer, name);
        const char *part = item_of(making, item, name, parameter);
        if (part != NULL) {
            return add_link(making, call,
                            &(struct wish_link){.pointer = pointer,
                                                .from = list->from,
                                                .path = list->path,
                                                .said = true,
                                                .item = part});
        }
    }
    return 0;
}

/* -------------------------------------------------------------------------------------- calls */

/* Whether a value has nothing but words of a part of an earlier result, or words for it. */
static bool is_of_output(const struct linking *linking, size_t to, const struct words *value) {
    for (size_t i = 0; i < linking->making->output_count && linking->making->outputs[i].from < to;
         i++) {
        const struct output *output = &linking->making->outputs[i];
        bool all = wish_share(&output->name, value) > 0;
        for (size_t k = 0; all && k < value->count; k++) {
            const struct word *word = &value->items[k];
            all = word->stop || wish_has_word(&output->name, word) ||
                  wish_has_word(&output->text, word) || wish_is_generic(word);
        }
        if (all) {
            return true;
        }
    }
    return false;
}

static bool is_solid(const char *value) {
    for (; *value != '\0'; value++) {
        if (ascii_is_digit(*value) || ascii_is_upper(*value)) {
            return true;
        }
    }
    return false;
}

/* Words of the text that were taken for a value, and stand for the result of a call before. */
static int link_words(struct linking *linking, size_t to, yyjson_val *schema) {
    struct making *making = linking->making;
    struct called *call = &making->calls[to];
    yyjson_mut_obj_iter iter;
    yyjson_mut_val *key;
    (void)yyjson_mut_obj_iter_init(call->said, &iter);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        const char *value = yyjson_mut_get_str(yyjson_mut_obj_iter_get_val(key));
        char pointer[JSON_POINTER_MAX] = "";
        CLEANUP(words_finish) struct words words = {0};
        if (value == NULL || is_solid(value)) {
            continue;
        }
        json_pointer_add(pointer, yyjson_mut_get_str(key));
        int code = words_read(value, strlen(value), &words, making->err);
        if (code < 0) {
            return code;
        }
        size_t before = call->link_count;
        if (stands_for(linking, value) || is_of_output(linking, to, &words)) {
            yyjson_val *member = yyjson_obj_getn(yyjson_obj_get(schema, "properties"),
                                                 yyjson_mut_get_str(key), yyjson_mut_get_len(key));
            code = link_parameter(linking, to, pointer, member, true);
        }
        if (code < 0) {
            return code;
        }
        if (call->link_count > before) {
            (void)yyjson_mut_obj_remove_keyn(call->values, yyjson_mut_get_str(key),
                                             yyjson_mut_get_len(key));
        }
    }
    return 0;
}

static const struct parameter *parameter_at(const struct called *call, const char *pointer) {
    const struct parameters *parameters = profile_parameters(called_profile(call));
    for (size_t i = 0; i < parameters->count; i++) {
        if (strcmp(parameters->list[i].pointer, pointer) == 0) {
            return &parameters->list[i];
        }
    }
    return NULL;
}

/* What a result is in says the call that gives it: of "convert 5 dollars to euros, then convert the
 * result to yen" the second is from euros. NULL: that call does not say it. */
static yyjson_mut_val *said_of_result(const struct making *making, size_t from,
                                      const struct parameter *parameter) {
    const struct called *call = &making->calls[from];
    const struct parameters *parameters = profile_parameters(called_profile(call));
    for (size_t i = 0; i < parameters->count; i++) {
        const struct parameter *other = &parameters->list[i];
        if (other->hint == parameter->hint && other->role == ROLE_END) {
            return yyjson_mut_ptr_get(call->values, other->pointer);
        }
    }
    /* What is computed with results that are in the same is in it too: three times as many euros.
     */
    yyjson_mut_val *said = NULL;
    for (size_t i = 0; i < call->link_count; i++) {
        yyjson_mut_val *own = call->links[i].before != NULL
                                      ? said_of_result(making, call->links[i].from, parameter)
                                      : NULL;
        if (own == NULL || (said != NULL && !yyjson_mut_equals(own, said))) {
            return NULL;
        }
        said = own;
    }
    return said;
}

/* Give a call that takes a result the currency, the language or the time zone which that is in. */
static void carry_kinds(struct making *making, struct called *call) {
    const struct arguments *arguments = call->arguments;
    for (size_t i = 0; arguments != NULL && i < arguments->missing_count; i++) {
        const char *pointer = arguments->missing[i].pointer;
        const struct parameter *parameter = parameter_at(call, pointer);
        const bool kind = parameter != NULL && parameter->role == ROLE_START &&
                          (parameter->hint == HINT_CURRENCY || parameter->hint == HINT_LANGUAGE ||
                           parameter->hint == HINT_ZONE);
        for (size_t k = 0; kind && k < call->link_count; k++) {
            const struct wish_link *link = &call->links[k];
            yyjson_mut_val *value = said_of_result(making, link->from, parameter);
            if (link->said && value != NULL && yyjson_mut_ptr_get(call->values, pointer) == NULL) {
                (void)yyjson_mut_ptr_setx(call->values, pointer, strlen(pointer),
                                          yyjson_mut_val_mut_copy(making->doc, value), making->doc,
                                          true, NULL, NULL);
            }
        }
    }
}

static int link_call(struct linking *linking, size_t to) {
    struct making *making = linking->making;
    struct called *call = &making->calls[to];
    yyjson_val *schema = profile_schema(called_profile(call));
    const struct arguments *arguments = call->arguments;
    int code = link_each(linking, to, schema);
    if (code == 0) {
        code = !call->has_mark             ? link_words(linking, to, schema)
               : call->mark.more_count > 0 ? link_several(linking, to)
                                           : link_marked(linking, to, schema);
    }
    for (size_t i = 0; code == 0 && arguments != NULL && i < arguments->missing_count; i++) {
        const char *pointer = arguments->missing[i].pointer;
        bool linked = call->link_count > 0 && strcmp(call->links[0].pointer, pointer) == 0;
        if (!linked && yyjson_mut_ptr_get(call->values, pointer) == NULL) {
            code = link_parameter(linking, to, pointer,
                                  yyjson_obj_get(yyjson_obj_get(schema, "properties"), pointer + 1),
                                  refers(linking));
        }
    }
    carry_kinds(making, call);
    return code;
}

int wish_link_all(struct making *making) {
    struct linking linking = {.making = making};
    int code = wish_outputs_find(making);
    for (size_t to = 1; code == 0 && to < making->count; to++) {
        const struct called *call = &making->calls[to];
        CLEANUP(words_finish) struct words text = {0};
        CLEANUP(values_destroyp) struct values *values = NULL;
        code = words_read(making->text + call->start, call->end - call->start, &text, making->err);
        code = code < 0 ? code
                        : values_read(making->text + call->start, call->end - call->start,
                                      &making->asked.said, &values, making->err);
        linking.text = text;
        linking.values = values;
        code = code < 0 ? code : link_call(&linking, to);
    }
    return code;
}
