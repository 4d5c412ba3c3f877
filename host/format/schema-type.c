#include "format/schema-type.h"

#include <string.h>

#include "base/cleanup.h"
#include "format/schema-keyword.h"
#include "schema/dialect.h"

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

/* Most bytes of a type's name that are shown. */
#define TYPE_SHOWN_MAX 40

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
    const char *meant = said != NULL ? dialect_type(said) : NULL;
    if (meant == NULL || meant[0] == '\0') {
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

/* Whether one of the choices, if there are any, is of a type. */
static bool keep_chosen(void *user, yyjson_mut_val *kept, yyjson_mut_val *type) {
    yyjson_mut_val *constant = yyjson_mut_obj_get(user, "const");
    yyjson_mut_val *choices = yyjson_mut_obj_get(user, "enum");
    const char *name = yyjson_mut_get_str(type);
    bool chosen = constant != NULL ? is_of_type(constant, name) : choices == NULL;
    size_t at;
    size_t count;
    yyjson_mut_val *value;
    (void)kept;
    yyjson_mut_arr_foreach(choices, at, count, value) {
        chosen = chosen || (constant == NULL && is_of_type(value, name));
    }
    return chosen;
}

void rewrite_split_types(struct rewrite *rewrite, const struct place *place,
                         yyjson_mut_val *schema) {
    yyjson_mut_val *list = yyjson_mut_obj_remove_key(schema, "type");
    rewrite_filter(rewrite, list, keep_chosen, schema);
    if (yyjson_mut_arr_size(list) == 0) {
        return; /* its choices say all */
    }
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
