#include "schema/compatibility.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json-equal.h"
#include "base/json.h"
#include "base/utf8.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Most references in a chain; longer chains are treated as endless loops. */
#define REFERENCES_MAX 8

struct comparison {
    struct compatibility *found;
    yyjson_val *older; /* the documents' roots */
    yyjson_val *newer;
    bool of_results;
    unsigned depth;
    struct budget budget;
    char field[COMPATIBILITY_FIELD_MAX]; /* current place */
};

/* ------------------------------------------------------------------ noting */

TOOLRACK_PRINTF(3, 4)
static void note(struct comparison *comparison, const char *rule, const char *format, ...) {
    struct compatibility *found = comparison->found;
    found->found++;
    if (found->count == COMPATIBILITY_DIFFERENCES_MAX) {
        return;
    }
    struct compatibility_difference *difference = &found->items[found->count++];
    difference->rule = rule;
    (void)snprintf(difference->field, sizeof difference->field, "%s", comparison->field);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(difference->text, sizeof difference->text, format, args);
    va_end(args);
    if (length >= (int)sizeof difference->text) {
        difference->text[utf8_cut(difference->text, sizeof difference->text - 1)] = '\0';
    }
    utf8_make_line(difference->text);
    utf8_make_line(difference->field);
}

/* The word for a member of a schema in messages. */
static const char *word(const struct comparison *comparison) {
    return comparison->of_results ? "member" : comparison->depth > 1 ? "field" : "parameter";
}

/* Step into a member; a place that is too long is cut at the end of a character. */
static size_t enter(struct comparison *comparison, const char *name) {
    size_t length = strlen(comparison->field);
    size_t room = sizeof comparison->field - length;
    if (snprintf(comparison->field + length, room, "/%s", name) >= (int)room) {
        comparison->field[utf8_cut(comparison->field, sizeof comparison->field - 1)] = '\0';
    }
    comparison->depth++;
    return length;
}

static void leave(struct comparison *comparison, size_t length) {
    comparison->field[length] = '\0';
    comparison->depth--;
}

/* -------------------------------------------------------------- references */

/* The schema that references inside the document point to; the schema itself if one leaves the
 * document; NULL if they never end. */
static yyjson_val *resolve(yyjson_val *root, yyjson_val *schema) {
    for (int i = 0; i < REFERENCES_MAX; i++) {
        const char *reference = yyjson_get_str(yyjson_obj_get(schema, "$ref"));
        if (reference == NULL || reference[0] != '#') {
            return schema;
        }
        yyjson_val *target = reference[1] == '\0' ? root : yyjson_ptr_get(root, reference + 1);
        if (target == NULL) {
            return schema;
        }
        schema = target;
    }
    return NULL;
}

/* ------------------------------------------------------------------- types */

enum type {
    TYPE_NULL = 1 << 0,
    TYPE_BOOLEAN = 1 << 1,
    TYPE_INTEGER = 1 << 2,
    TYPE_NUMBER = 1 << 3,
    TYPE_STRING = 1 << 4,
    TYPE_ARRAY = 1 << 5,
    TYPE_OBJECT = 1 << 6,
    TYPE_ANY = (1 << 7) - 1
};

static const char *const type_names[] = {"null",   "boolean", "integer", "number",
                                         "string", "array",   "object"};

static unsigned type_named(const char *name) {
    for (unsigned i = 0; name != NULL && i < ARRAY_LENGTH(type_names); i++) {
        if (strcmp(name, type_names[i]) == 0) {
            unsigned type = 1u << i;
            return type == TYPE_NUMBER ? TYPE_NUMBER | TYPE_INTEGER : type;
        }
    }
    return TYPE_ANY; /* an unknown type name restricts nothing */
}

/* The types that values may have. */
static unsigned types_of(yyjson_val *schema) {
    yyjson_val *type = yyjson_obj_get(schema, "type");
    if (!yyjson_is_arr(type)) {
        return type_named(yyjson_get_str(type));
    }
    unsigned types = 0;
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_arr_foreach (type, at, count, name) {
        types |= type_named(yyjson_get_str(name));
    }
    return types;
}

static void describe_types(unsigned types, char *text, size_t room) {
    size_t length = 0;
    text[0] = '\0';
    if (types == TYPE_ANY) {
        (void)snprintf(text, room, "anything");
        return;
    }
    for (unsigned i = 0; i < ARRAY_LENGTH(type_names) && length < room; i++) {
        bool named = (types & 1u << i) != 0 && !(1u << i == TYPE_INTEGER && types & TYPE_NUMBER);
        if (named) {
            length += (size_t)snprintf(text + length, room - length, "%s%s",
                                       length > 0 ? " or " : "", type_names[i]);
        }
    }
}

/* Longest list of types as text. */
#define TYPES_TEXT_MAX 64

static void compare_types(struct comparison *comparison, yyjson_val *older, yyjson_val *newer) {
    unsigned before = types_of(older);
    unsigned after = types_of(newer);
    bool differs = comparison->of_results ? (after & ~before) != 0 : (before & ~after) != 0;
    if (differs) {
        char was[TYPES_TEXT_MAX];
        char is[TYPES_TEXT_MAX];
        describe_types(before, was, sizeof was);
        describe_types(after, is, sizeof is);
        note(comparison, comparison->of_results ? "result-type-changed" : "type-narrowed",
             "its type was %s and is now %s", was, is);
    }
}

/* ------------------------------------------------------- choices and bounds */

static bool has_choices(yyjson_val *schema) {
    return yyjson_obj_get(schema, "const") != NULL || yyjson_is_arr(yyjson_obj_get(schema, "enum"));
}

/* If steps or depth are not enough, the values count as equal, so that no false difference is
 * noted. */
static bool same(struct comparison *comparison, yyjson_val *a, yyjson_val *b) {
    bool equal = json_equal(a, b, &comparison->budget) || budget_ended(&comparison->budget);
    comparison->budget.too_deep = false;
    return equal;
}

/* Note a value that `schema` does not list. */
static void note_lost(struct comparison *comparison, yyjson_val *schema, yyjson_val *value) {
    yyjson_val *constant = yyjson_obj_get(schema, "const");
    bool listed = constant != NULL && same(comparison, constant, value);
    size_t at;
    size_t count;
    yyjson_val *choice;
    yyjson_arr_foreach (constant == NULL ? yyjson_obj_get(schema, "enum") : NULL, at, count,
                        choice) {
        listed = listed || same(comparison, choice, value);
    }
    if (!listed) {
        CLEANUP(freep) char *text = yyjson_val_write(value, 0, NULL);
        note(comparison, "choices-narrowed", "the value %s is no longer accepted",
             text != NULL ? text : "");
    }
}

static void compare_choices(struct comparison *comparison, yyjson_val *older, yyjson_val *newer) {
    if (!has_choices(newer)) {
        return;
    }
    if (!has_choices(older)) {
        note(comparison, "choices-narrowed",
             "any value of its type was accepted, and now only listed ones are");
        return;
    }
    yyjson_val *constant = yyjson_obj_get(older, "const");
    if (constant != NULL) {
        note_lost(comparison, newer, constant);
        return;
    }
    size_t at;
    size_t count;
    yyjson_val *value;
    yyjson_arr_foreach (yyjson_obj_get(older, "enum"), at, count, value) {
        note_lost(comparison, newer, value);
    }
}

/* Keywords that restrict values if present, and whose values cannot be compared with each other. */
static void compare_rule(struct comparison *comparison, const char *keyword, yyjson_val *older,
                         yyjson_val *newer) {
    yyjson_val *is = yyjson_obj_get(newer, keyword);
    yyjson_val *was = yyjson_obj_get(older, keyword);
    if (is != NULL && !yyjson_is_false(is) && (was == NULL || !same(comparison, was, is))) {
        note(comparison, "bound-narrowed", "its %s was %s", keyword,
             was == NULL ? "added" : "changed");
    }
}

static void compare_bounds(struct comparison *comparison, yyjson_val *older, yyjson_val *newer) {
    static const struct {
        const char *keyword;
        bool rises;    /* a larger value allows less */
        bool is_count; /* 0 restricts nothing */
    } bounds[] = {{"minimum", true, false},      {"exclusiveMinimum", true, false},
                  {"minLength", true, true},     {"minItems", true, true},
                  {"minProperties", true, true}, {"maximum", false, false},
                  {"maxLength", false, false},   {"exclusiveMaximum", false, false},
                  {"maxItems", false, false},    {"maxProperties", false, false}};
    for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
        const char *keyword = bounds[i].keyword;
        yyjson_val *was = yyjson_obj_get(older, keyword);
        yyjson_val *is = yyjson_obj_get(newer, keyword);
        double by = yyjson_get_num(is) - yyjson_get_num(was);
        if (!yyjson_is_num(is) || (bounds[i].is_count && yyjson_get_num(is) <= 0)) {
            continue;
        }
        if (!yyjson_is_num(was)) {
            note(comparison, "bound-narrowed", "its %s is now %g", keyword, yyjson_get_num(is));
        } else if (bounds[i].rises ? by > 0 : by < 0) {
            note(comparison, "bound-narrowed", "its %s was %g and is now %g", keyword,
                 yyjson_get_num(was), yyjson_get_num(is));
        }
    }
    compare_rule(comparison, "pattern", older, newer);
    compare_rule(comparison, "multipleOf", older, newer);
    compare_rule(comparison, "uniqueItems", older, newer);
}

/* ----------------------------------------------------------------- members */

static void compare(struct comparison *comparison, yyjson_val *older, yyjson_val *newer);

static bool requires(struct comparison *comparison, yyjson_val *schema, const char *name) {
    size_t at;
    size_t count;
    yyjson_val *required;
    yyjson_arr_foreach (yyjson_obj_get(schema, "required"), at, count, required) {
        if (!budget_spend(&comparison->budget, 1) || yyjson_equals_str(required, name)) {
            return true;
        }
    }
    return false;
}

static yyjson_val *member_of(yyjson_val *schema, const char *name) {
    return yyjson_obj_get(yyjson_obj_get(schema, "properties"), name);
}

/* For arguments: newly required members. For results: members no longer required. */
static void compare_required(struct comparison *comparison, yyjson_val *older, yyjson_val *newer) {
    yyjson_val *stricter = comparison->of_results ? older : newer;
    yyjson_val *other = comparison->of_results ? newer : older;
    size_t at;
    size_t count;
    yyjson_val *required;
    yyjson_arr_foreach (yyjson_obj_get(stricter, "required"), at, count, required) {
        const char *name = yyjson_get_str(required);
        if (name == NULL || requires(comparison, other, name)) {
            continue;
        }
        bool is_gone = member_of(newer, name) == NULL && member_of(older, name) != NULL;
        size_t length = enter(comparison, name);
        if (comparison->of_results && !is_gone) {
            note(comparison, "result-member-optional", "%s '%s' may now be missing",
                 word(comparison), name);
        } else if (!comparison->of_results) {
            note(comparison, "required-added", "%s '%s' %s", word(comparison), name,
                 member_of(older, name) == NULL ? "is new and required" : "is now required");
        }
        leave(comparison, length);
    }
}

static void compare_members(struct comparison *comparison, yyjson_val *older, yyjson_val *newer) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *before;
    json_obj_foreach (yyjson_obj_get(older, "properties"), at, count, key, before) {
        const char *name = yyjson_get_str(key);
        yyjson_val *after = member_of(newer, name);
        /* A lookup takes as many steps as there are properties. */
        if (!budget_spend(&comparison->budget,
                          1 + yyjson_obj_size(yyjson_obj_get(newer, "properties")))) {
            return;
        }
        size_t length = enter(comparison, name);
        if (after == NULL) {
            note(comparison, comparison->of_results ? "result-member-removed" : "parameter-removed",
                 "%s '%s' was removed", word(comparison), name);
        } else {
            compare(comparison, before, after);
        }
        leave(comparison, length);
    }
}

static void compare(struct comparison *comparison, yyjson_val *older, yyjson_val *newer) {
    if (comparison->depth > COMPATIBILITY_DEPTH_MAX || !budget_spend(&comparison->budget, 1)) {
        return;
    }
    older = resolve(comparison->older, older);
    newer = resolve(comparison->newer, newer);
    if (!yyjson_is_obj(older) || !yyjson_is_obj(newer)) {
        return;
    }
    compare_types(comparison, older, newer);
    if (!comparison->of_results) {
        compare_choices(comparison, older, newer);
        compare_bounds(comparison, older, newer);
    }
    /* Other changes matter only for values of a type that both accept. */
    unsigned shared = types_of(older) & types_of(newer);
    if ((shared & TYPE_OBJECT) != 0) {
        compare_required(comparison, older, newer);
        compare_members(comparison, older, newer);
        if (!comparison->of_results &&
            yyjson_is_false(yyjson_obj_get(newer, "additionalProperties")) &&
            !yyjson_is_false(yyjson_obj_get(older, "additionalProperties"))) {
            note(comparison, "closed", "properties that it does not list are no longer accepted");
        }
    }
    if ((shared & TYPE_ARRAY) != 0) {
        yyjson_val *before = yyjson_obj_get(older, "items");
        yyjson_val *after = yyjson_obj_get(newer, "items");
        if (yyjson_is_obj(before) && yyjson_is_obj(after)) {
            size_t length = enter(comparison, "*");
            compare(comparison, before, after);
            leave(comparison, length);
        }
    }
}

static void compare_texts(const char *older, const char *newer, bool of_results,
                          struct compatibility *add) {
    if (strcmp(older, newer) == 0) {
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *before = yyjson_read(older, strlen(older), 0);
    CLEANUP(yyjson_doc_freep) yyjson_doc *after = yyjson_read(newer, strlen(newer), 0);
    struct comparison comparison = {.found = add,
                                    .older = yyjson_doc_get_root(before),
                                    .newer = yyjson_doc_get_root(after),
                                    .budget = {.steps = COMPATIBILITY_STEPS_MAX},
                                    .of_results = of_results};
    compare(&comparison, comparison.older, comparison.newer);
}

void compatibility_of_arguments(const char *older, const char *newer, struct compatibility *add) {
    compare_texts(older, newer, false, add);
}

void compatibility_of_results(const char *older, const char *newer, struct compatibility *add) {
    if (older != NULL && newer != NULL) {
        compare_texts(older, newer, true, add);
    } else if (older != NULL) {
        struct comparison comparison = {.found = add, .of_results = true};
        note(&comparison, "result-schema-removed", "the schema of its result was removed");
    }
}
