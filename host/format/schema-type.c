/* Names of types.
 *
 * Tools come from many programming languages, and their authors use the type names of these. */
#include "format/schema-type.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "format/schema-keyword.h"

static const struct {
    const char *type;
    unsigned about; /* enum keyword_trait: which keywords are about its values */
} types[] = {
        {"string", TRAIT_STRING},
        {"integer", TRAIT_NUMBER},
        {"number", TRAIT_NUMBER},
        {"boolean", 0},
        {"object", TRAIT_OBJECT},
        {"array", TRAIT_ARRAY},
        {"null", 0},
};

static const struct {
    const char *said;
    const char *meant;
} dialects[] = {
        {"str", "string"},     {"char", "string"},       {"text", "string"},
        {"varchar", "string"}, {"date", "string"},       {"datetime", "string"},
        {"time", "string"},    {"uuid", "string"},       {"bytes", "string"},
        {"enum", "string"},    {"int", "integer"},       {"int32", "integer"},
        {"int64", "integer"},  {"long", "integer"},      {"short", "integer"},
        {"byte", "integer"},   {"bigint", "integer"},    {"uint", "integer"},
        {"float", "number"},   {"double", "number"},     {"decimal", "number"},
        {"real", "number"},    {"float32", "number"},    {"float64", "number"},
        {"num", "number"},     {"bool", "boolean"},      {"dict", "object"},
        {"map", "object"},     {"hashmap", "object"},    {"hash", "object"},
        {"record", "object"},  {"struct", "object"},     {"json", "object"},
        {"obj", "object"},     {"dictionary", "object"}, {"list", "array"},
        {"tuple", "array"},    {"set", "array"},         {"arraylist", "array"},
        {"vector", "array"},   {"sequence", "array"},    {"none", "null"},
        {"nil", "null"},       {"void", "null"},         {"undefined", "null"},
};

/* Most bytes of a type's name that are shown. */
#define TYPE_SHOWN_MAX 40

/* "List[str]" is a list and "string[]" an array: what is inside brackets is ignored. */
static const char *meaning_of(const char *said) {
    size_t length = strcspn(said, "[<( ");
    if (strcmp(said + length, "[]") == 0) {
        return "array";
    }
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        if (strlen(types[i].type) == length && strncasecmp(types[i].type, said, length) == 0) {
            return types[i].type;
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(dialects); i++) {
        if (strlen(dialects[i].said) == length &&
            strncasecmp(dialects[i].said, said, length) == 0) {
            return dialects[i].meant;
        }
    }
    return NULL;
}

static bool is_type(const char *said) {
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        if (strcmp(types[i].type, said) == 0) {
            return true;
        }
    }
    return false;
}

static bool correct_name(struct rewrite *rewrite, const struct place *place, yyjson_mut_val *type) {
    const char *said = yyjson_mut_get_str(type);
    if (said != NULL && is_type(said)) {
        return true;
    }
    const char *meant = said != NULL ? meaning_of(said) : NULL;
    if (meant == NULL) {
        format_report_add(rewrite->report, "rewritten", place,
                          "\"%.*s\" is not a type of JSON Schema: any value is allowed here",
                          TYPE_SHOWN_MAX, said != NULL ? said : "");
        return false;
    }
    format_report_add(rewrite->report, "rewritten", place, "the type \"%.*s\" is written \"%s\"",
                      TYPE_SHOWN_MAX, said, meant);
    (void)yyjson_mut_set_str(type, meant);
    return true;
}

struct correction {
    struct rewrite *rewrite;
    const struct place *place;
    bool any; /* one of the types means any value */
};

static bool keep_type(void *user, yyjson_mut_val *kept, yyjson_mut_val *type) {
    struct correction *correction = user;
    if (correction->any || !correct_name(correction->rewrite, correction->place, type)) {
        correction->any = true;
        return false;
    }
    return !rewrite_lists(kept, yyjson_mut_get_str(type), yyjson_mut_get_len(type));
}

static bool correct_list(struct rewrite *rewrite, const struct place *place, yyjson_mut_val *list) {
    struct correction correction = {.rewrite = rewrite, .place = place};
    if (yyjson_mut_arr_size(list) == 0) {
        format_report_add(rewrite->report, "rewritten", place,
                          "an empty list of types is left out");
    }
    rewrite_filter(rewrite, list, keep_type, &correction);
    return !correction.any && yyjson_mut_arr_size(list) > 0;
}

bool rewrite_type(struct rewrite *rewrite, const struct place *place, yyjson_mut_val *type) {
    return yyjson_mut_is_arr(type) ? correct_list(rewrite, place, type)
                                   : correct_name(rewrite, place, type);
}

/* ------------------------------------------------------------ lists of types */

/* Whether a keyword moves into the branches: keywords about the values do. */
static bool belongs_to_branch(enum format_keyword keyword) {
    return keyword == KEYWORD_ENUM || keyword == KEYWORD_CONST ||
           ((format_keywords[keyword].traits & TRAIT_ABOUT) != 0);
}

static bool is_of_type(yyjson_mut_val *value, const char *type) {
    if (strcmp(type, "null") == 0) {
        return yyjson_mut_is_null(value);
    }
    switch (type[0]) {
    case 's': return yyjson_mut_is_str(value);
    case 'n':
    case 'i': return yyjson_mut_is_num(value) || yyjson_mut_is_raw(value);
    case 'b': return yyjson_mut_is_bool(value);
    case 'o': return yyjson_mut_is_obj(value);
    default: return yyjson_mut_is_arr(value);
    }
}

static bool keep_of_type(void *user, yyjson_mut_val *kept, yyjson_mut_val *value) {
    (void)kept;
    return is_of_type(value, user);
}

static yyjson_mut_val *make_branch(struct rewrite *rewrite, yyjson_mut_val *schema,
                                   const char *type) {
    yyjson_mut_val *branch = yyjson_mut_obj(rewrite->doc);
    unsigned about = 0;
    for (size_t i = 0; type != NULL && i < ARRAY_LENGTH(types); i++) {
        about |= strcmp(types[i].type, type) == 0 ? types[i].about : 0;
    }
    rewrite_put(rewrite, branch, "type", yyjson_mut_str(rewrite->doc, type));
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        enum format_keyword keyword =
                format_keyword_find(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        unsigned traits = format_keywords[keyword].traits & TRAIT_ABOUT;
        /* Null is a separate branch: an enum does not apply to it. */
        bool is_choice = belongs_to_branch(keyword) && traits == 0 && strcmp(type, "null") != 0;
        if (is_choice || (traits & about) != 0) {
            rewrite_put(rewrite, branch, format_keywords[keyword].name,
                        rewrite_copy(rewrite, value));
        }
    }
    yyjson_mut_val *list = yyjson_mut_obj_get(branch, "enum");
    rewrite_filter(rewrite, list, keep_of_type, (void *)(uintptr_t)type);
    if (list != NULL && yyjson_mut_arr_size(list) == 0) {
        (void)yyjson_mut_obj_remove_key(branch, "enum");
    }
    return branch;
}

void rewrite_split_types(struct rewrite *rewrite, const struct place *place,
                         yyjson_mut_val *schema) {
    yyjson_mut_val *list = yyjson_mut_obj_remove_key(schema, "type");
    if (yyjson_mut_arr_size(list) == 1) {
        rewrite_put(rewrite, schema, "type", yyjson_mut_arr_get_first(list));
        return;
    }
    if (yyjson_mut_obj_get(schema, "anyOf") != NULL) {
        format_report_add(rewrite->report, "rewritten", place,
                          "%s does not accept a list of types: left out beside anyOf",
                          rewrite->provider->whose);
        return;
    }
    yyjson_mut_val *branches = yyjson_mut_arr(rewrite->doc);
    size_t at;
    size_t count;
    yyjson_mut_val *type;
    yyjson_mut_arr_foreach(list, at, count, type) {
        rewrite_check(rewrite,
                      yyjson_mut_arr_append(
                              branches, make_branch(rewrite, schema, yyjson_mut_get_str(type))));
    }
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(schema);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        if (belongs_to_branch(
                    format_keyword_find(yyjson_mut_get_str(key), yyjson_mut_get_len(key)))) {
            (void)yyjson_mut_obj_iter_remove(&iter);
        }
    }
    rewrite_put(rewrite, schema, "anyOf", branches);
    format_report_add(rewrite->report, "rewritten", place,
                      "%s does not accept a list of types: written as anyOf",
                      rewrite->provider->whose);
}
