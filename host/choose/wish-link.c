/* What a call takes of the results of those before it. */
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-place.h"
#include "choose/profile.h"
#include "choose/values-parts.h"
#include "choose/wish-making.h"

CLEANUP_DEFINE(struct values, values_destroy)

/* Parts of results that are looked at, of one call and of all; words of one that are compared. */
#define OUTPUTS_MAX     24u
#define OUTPUTS_ALL_MAX (OUTPUTS_MAX * WISHES_MAX)
#define LINKS_MAX       8u

/* What a part of a result counts: see weigh_output(). A link below LINK_LEAST is none. */
#define MENTIONED     4.0 /* the text has all words of its name */
#define STOOD_FOR     3.0 /* the text has a word for what came before */
#define SAME_NAME     3.0 /* the parameter has its name */
#define ALIKE         1.0 /* the parameter's texts have all words of its name */
#define NEXT          0.5 /* it is of the call just before */
#define LINK_LEAST    3.0
#define GENERIC_SHARE 0.3 /* of a word that many results have */

/* A part of the result of a call. */
struct output {
    size_t from;
    const char *path; /* JSON Pointer */
    yyjson_val *schema;
    struct words name;
    struct words text; /* what is said of it */
};

struct linking {
    struct making *making;
    struct output *outputs;
    size_t count;
    struct words text;     /* of the call that is linked */
    struct values *values; /* likewise */
};

/* -------------------------------------------------------------------------------------- words */

static bool is_generic(const struct word *word) {
    static const char *const generic[] = {
            "result", "valu",   "output",  "data", "total",  "number", "id",   "name", "statu",
            "status", "messag", "success", "info", "inform", "detail", "list", "type", "code"};
    for (size_t i = 0; i < ARRAY_LENGTH(generic); i++) {
        if (strlen(generic[i]) == word->stem_length &&
            memcmp(generic[i], word->stem, word->stem_length) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_word(const struct words *words, const struct word *word) {
    for (size_t i = 0; i < words->count; i++) {
        const struct word *other = &words->items[i];
        if (!other->quoted && other->stem_length == word->stem_length &&
            memcmp(other->stem, word->stem, word->stem_length) == 0) {
            return true;
        }
    }
    return false;
}

/* Of the words of a name, by weight: how many others have, 0 to 1. */
static double share_of(const struct words *name, const struct words *others) {
    double all = 0;
    double found = 0;
    for (size_t i = 0; i < name->count; i++) {
        if (!name->items[i].stop) {
            double weight = is_generic(&name->items[i]) ? GENERIC_SHARE : 1;
            all += weight;
            found += has_word(others, &name->items[i]) ? weight : 0;
        }
    }
    return all >= 1 ? found / all : 0;
}

/* ------------------------------------------------------------------------------------ outputs */

static int add_output(struct linking *linking, size_t from, const char *name, const char *text,
                      yyjson_val *schema, bool whole) {
    struct making *making = linking->making;
    if (linking->count == OUTPUTS_ALL_MAX) {
        return 0;
    }
    struct output *output = &linking->outputs[linking->count];
    char path[JSON_POINTER_MAX] = "";
    if (!whole) {
        json_pointer_add(path, name);
    }
    *output = (struct output){
            .from = from, .path = arena_copy(making->arena, path, strlen(path)), .schema = schema};
    if (output->path == NULL) {
        return error_oom(making->err);
    }
    int code = words_read(name, strlen(name), &output->name, making->err);
    code = code < 0 ? code : words_read(text, strlen(text), &output->text, making->err);
    linking->count++;
    return code;
}

/* The members of the result of a call by its schema; without one, the result as a whole, which is
 * what its tool is named after. */
static int add_outputs(struct linking *linking, size_t from) {
    struct making *making = linking->making;
    const struct toolrack_tool *tool = called_tool(&making->calls[from]);
    const char *schema = toolrack_tool_result_schema(tool);
    const yyjson_alc alc = arena_alc(making->arena);
    yyjson_doc *doc = schema != NULL ? yyjson_read_opts((char *)(uintptr_t)schema, strlen(schema),
                                                        0, &alc, NULL)
                                     : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *members = yyjson_obj_get(root, "properties");
    yyjson_obj_iter iter = yyjson_obj_iter_with(members);
    yyjson_val *key;
    int code = 0;
    for (size_t i = 0; code == 0 && i < OUTPUTS_MAX && (key = yyjson_obj_iter_next(&iter)) != NULL;
         i++) {
        yyjson_val *member = yyjson_obj_iter_get_val(key);
        const char *text = yyjson_get_str(yyjson_obj_get(member, "description"));
        code = add_output(linking, from, yyjson_get_str(key), text != NULL ? text : "", member,
                          false);
    }
    if (code == 0 && yyjson_obj_size(members) == 0) {
        const char *title = yyjson_get_str(yyjson_obj_get(root, "title"));
        const char *name = title != NULL ? title : toolrack_tool_name(tool);
        code = add_output(linking, from, name, toolrack_tool_description(tool), root, true);
    }
    return code;
}

/* --------------------------------------------------------------------------------- references */

/* Whether the text of the call has a word for what came before. */
static bool refers(const struct linking *linking) {
    return linking->values->reference_count > 0;
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

static double weigh_output(const struct linking *linking, size_t to, const struct output *output,
                           const struct words *name, const struct words *text) {
    double mentioned = share_of(&output->name, &linking->text);
    double alike = share_of(&output->name, text);
    bool same = share_of(name, &output->name) > 0.99 && share_of(&output->name, name) > 0.99;
    bool next = output->from + 1 == to;
    return MENTIONED * mentioned + (next && refers(linking) ? STOOD_FOR : 0) +
           (same ? SAME_NAME : 0) + ALIKE * alike + (next ? NEXT : 0);
}

static int link_parameter(struct linking *linking, size_t to, const char *pointer,
                          yyjson_val *schema, double least) {
    struct making *making = linking->making;
    struct called *call = &making->calls[to];
    const char *own = strrchr(pointer, '/') != NULL ? strrchr(pointer, '/') + 1 : pointer;
    const char *said = yyjson_get_str(yyjson_obj_get(schema, "description"));
    CLEANUP(words_finish) struct words name = {0};
    CLEANUP(words_finish) struct words text = {0};
    const struct output *best = NULL;
    double most = 0;
    int code = words_read(own, strlen(own), &name, making->err);
    code = code < 0 ? code
                    : words_read(said != NULL ? said : own, strlen(said != NULL ? said : own),
                                 &text, making->err);
    for (size_t i = 0; code == 0 && i < linking->count; i++) {
        const struct output *output = &linking->outputs[i];
        double weight = weigh_output(linking, to, output, &name, &text);
        if (output->from < to && weight > most && may_take(schema, output->schema)) {
            best = output;
            most = weight;
        }
    }
    if (code < 0 || best == NULL || most < least || call->link_count == LINKS_MAX) {
        return code;
    }
    if (call->links == NULL) {
        call->links = arena_zalloc(making->arena, LINKS_MAX * sizeof *call->links);
    }
    const char *copy = arena_copy(making->arena, pointer, strlen(pointer));
    if (call->links == NULL || copy == NULL) {
        return error_oom(making->err);
    }
    call->links[call->link_count++] = (struct wish_link){
            .pointer = copy, .from = best->from, .path = best->path, .said = most >= LINK_LEAST};
    return 0;
}

/* -------------------------------------------------------------------------------------- calls */

/* Whether a value has nothing but words of a part of an earlier result, or words for it. */
static bool is_of_output(const struct linking *linking, size_t to, const struct words *value) {
    for (size_t i = 0; i < linking->count && linking->outputs[i].from < to; i++) {
        const struct output *output = &linking->outputs[i];
        bool all = share_of(&output->name, value) > 0;
        for (size_t k = 0; all && k < value->count; k++) {
            const struct word *word = &value->items[k];
            all = word->stop || has_word(&output->name, word) || has_word(&output->text, word) ||
                  is_generic(word);
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
            code = link_parameter(linking, to, pointer, member, LINK_LEAST);
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

static int link_call(struct linking *linking, size_t to) {
    struct making *making = linking->making;
    struct called *call = &making->calls[to];
    yyjson_val *schema = profile_schema(called_profile(call));
    const struct arguments *arguments = call->arguments;
    int code = link_words(linking, to, schema);
    for (size_t i = 0; code == 0 && arguments != NULL && i < arguments->missing_count; i++) {
        const char *pointer = arguments->missing[i].pointer;
        if (yyjson_mut_ptr_get(call->values, pointer) == NULL) {
            code = link_parameter(linking, to, pointer,
                                  yyjson_obj_get(yyjson_obj_get(schema, "properties"), pointer + 1),
                                  LINK_LEAST);
        }
    }
    return code;
}

int wish_link_all(struct making *making) {
    struct linking linking = {.making = making};
    int code = 0;
    linking.outputs = arena_alloc(making->arena, OUTPUTS_ALL_MAX * sizeof *linking.outputs);
    if (linking.outputs == NULL) {
        return error_oom(making->err);
    }
    for (size_t to = 1; code == 0 && to < making->count; to++) {
        const struct called *call = &making->calls[to];
        CLEANUP(words_finish) struct words text = {0};
        CLEANUP(values_destroyp) struct values *values = NULL;
        code = add_outputs(&linking, to - 1);
        code = code < 0 ? code
                        : words_read(making->text + call->start, call->end - call->start, &text,
                                     making->err);
        code = code < 0 ? code
                        : values_read(making->text + call->start, call->end - call->start,
                                      &making->asked.said, &values, making->err);
        linking.text = text;
        linking.values = values;
        code = code < 0 ? code : link_call(&linking, to);
    }
    for (size_t i = 0; i < linking.count; i++) {
        words_finish(&linking.outputs[i].name);
        words_finish(&linking.outputs[i].text);
    }
    return code;
}
