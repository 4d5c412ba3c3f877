/* The schema and the value are visited together, so that all problems of a file are found, each
 * with the place and the example of its part of the schema. The keywords that apply to parts of a
 * value (properties, items, ...) are followed here; all other keywords of a node are compiled and
 * checked by schema/. Compiled nodes are kept: a file has many definitions. */
#include "config/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/name.h"
#include "schema/schema.h"

/* Most nodes of the schema that constrain a value itself. There are about sixty. */
#define NODES_MAX 256u

/* Most members of an object whose keys are known (no object of the schema has so many), and of one
 * whose keys are names, such as policies: a search for each of them goes through all others. */
#define MEMBERS_MAX    64u
#define ENTRIES_MAX    10000u
/* Most bytes of a wrong name that are shown. */
#define NAME_SHOWN_MAX 80u

struct node {
    yyjson_val *at;        /* in the document of the schema */
    struct schema *schema; /* NULL: it does not constrain the value itself */
};

struct validator {
    const struct validator_kind *kind;
    yyjson_doc *doc;
    struct node nodes[NODES_MAX];
    size_t count;
};

/* The check of one value. */
struct walk {
    struct validator *validator;
    struct problems *problems;
    const char *tool;
    bool is_definition;
    size_t base; /* length of the definition's pointer, which causes omit */
    char pointer[JSON_POINTER_MAX];
    const char *key;     /* of the last member on the path that has an example; NULL: an item */
    yyjson_val *example; /* or NULL */
};

const struct validator_kind validator_configuration = {
        .schema = config_schema,
        .file = "toolrack.schema.json",
        .whole = "the file",
        .rules = {"config-value", "config-missing", "config-key"}};

int validator_create(const struct validator_kind *kind, struct validator **ret,
                     struct toolrack_error *err) {
    struct validator *validator = calloc(1, sizeof *validator);
    if (validator == NULL) {
        return error_oom(err);
    }
    validator->kind = kind;
    validator->doc = yyjson_read(kind->schema, strlen(kind->schema), 0);
    if (validator->doc == NULL) {
        free(validator);
        return error_oom(err);
    }
    *ret = validator;
    return 0;
}

void validator_destroy(struct validator *validator) {
    if (validator != NULL) {
        for (size_t i = 0; i < validator->count; i++) {
            schema_destroy(validator->nodes[i].schema);
        }
        yyjson_doc_free(validator->doc);
        free(validator);
    }
}

/* ------------------------------------------------------------------- nodes */

/* Whether a keyword is followed here, or does not constrain values. */
static bool is_followed(const char *keyword) {
    static const char *const followed[] = {
            "$schema", "title",        "description", "examples", "$defs",
            "$ref",    "errorMessage", "properties",  "required", "items",
            "allOf",   "if",           "then",        "else",     "additionalProperties",
            "default", "otherNames"};
    for (size_t i = 0; i < ARRAY_LENGTH(followed); i++) {
        if (strcmp(followed[i], keyword) == 0) {
            return true;
        }
    }
    return false;
}

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Compile the keywords of a node about the value itself, or all its keywords (`whole`). False: no
 * memory. */
static bool compile(yyjson_val *at, bool whole, struct schema **ret) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *made = json_doc_create();
    yyjson_mut_val *root = yyjson_mut_obj(made);
    yyjson_mut_doc_set_root(made, root);
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (at, index, count, key, value) {
        if (whole || !is_followed(yyjson_get_str(key))) {
            (void)yyjson_mut_obj_add_val(made, root, yyjson_get_str(key),
                                         yyjson_val_mut_copy(made, value));
        }
    }
    *ret = NULL;
    if (!json_doc_is_whole(made)) { /* without a keyword more or less would match */
        return false;
    }
    if (yyjson_mut_obj_size(root) == 0) {
        return true;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_mut_doc_imut_copy(made, NULL);
    struct toolrack_error err;
    return doc != NULL && schema_compile(yyjson_doc_get_root(doc), NULL, ret, &err) == 0;
}

/* Whether a value matches a node; else `failure` says why. When out of memory the value matches,
 * and the problems record that. */
static bool fits(struct walk *walk, yyjson_val *at, bool whole, yyjson_val *value,
                 struct schema_failure *failure) {
    struct validator *validator = walk->validator;
    struct node *node = validator->nodes;
    while (node < validator->nodes + validator->count && node->at != at) {
        node++;
    }
    if (node == validator->nodes + validator->count) {
        if (validator->count == NODES_MAX || !compile(at, whole, &node->schema)) {
            walk->problems->failed = true;
            return true;
        }
        node->at = at;
        validator->count++;
    }
    if (node->schema == NULL || schema_validate(node->schema, value, failure)) {
        return true;
    }
    walk->problems->failed = walk->problems->failed || failure->code == TOOLRACK_E_NO_MEMORY;
    return failure->code == TOOLRACK_E_NO_MEMORY;
}

/* The target of a reference; all references have the form "#/$defs/name". */
static yyjson_val *follow(const struct walk *walk, yyjson_val *node) {
    const char *reference = yyjson_get_str(yyjson_obj_get(node, "$ref"));
    return reference != NULL ? yyjson_doc_ptr_get(walk->validator->doc, reference + 1) : node;
}

/* ---------------------------------------------------------------- problems */

/* The place, as written in a cause. */
static const char *place_of(const struct walk *walk) {
    const char *place = walk->pointer + walk->base;
    return place[0] != '\0'      ? place
           : walk->is_definition ? "the definition"
                                 : walk->validator->kind->whole;
}

static void add(struct walk *walk, enum validator_rule rule, enum json_place_at at,
                const struct buf *cause, const struct buf *fix) {
    static const char *const of_definitions[VALIDATOR_RULES] = {
            "definition-value", "definition-missing", "definition-key"};
    walk->problems->failed = walk->problems->failed || cause->failed || fix->failed;
    if (walk->problems->failed) {
        return;
    }
    problems_add(
            walk->problems,
            &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                              .rule = (walk->is_definition ? of_definitions
                                                           : walk->validator->kind->rules)[rule],
                              .pointer = walk->pointer,
                              .at = at,
                              .tool = walk->tool,
                              .fix = fix->data},
            "%s", cause->data);
}

static void add_example(const struct walk *walk, struct buf *fix, const char *verb, const char *key,
                        yyjson_val *example) {
    CLEANUP(freep) char *text = example != NULL ? yyjson_val_write(example, 0, NULL) : NULL;
    if (example != NULL && text == NULL) {
        fix->failed = true; /* no memory */
    } else if (text == NULL) {
        buf_printf(fix, "see %s", walk->validator->kind->file);
    } else if (key != NULL) {
        buf_printf(fix, "%s for example \"%s\": %s", verb, key, text);
    } else {
        buf_printf(fix, "%s for example %s", verb, text);
    }
}

/* @param name  that is wrong, and by which a person finds the place; NULL: the value is no name */
static void tell_wrong(struct walk *walk, yyjson_val *name, const char *reason) {
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "%s ", place_of(walk));
    if (yyjson_get_len(name) > 0 && yyjson_get_len(name) <= NAME_SHOWN_MAX) {
        buf_add_json_string(&cause, yyjson_get_str(name), yyjson_get_len(name));
        buf_add_char(&cause, ' ');
    }
    buf_add_text(&cause, reason);
    add_example(walk, &fix, "write", walk->key, walk->example);
    add(walk, VALIDATOR_VALUE, JSON_PLACE_VALUE, &cause, &fix);
}

static yyjson_val *example_of(const struct walk *walk, yyjson_val *node) {
    yyjson_val *own = yyjson_arr_get_first(yyjson_obj_get(node, "examples"));
    return own != NULL ? own : yyjson_arr_get_first(yyjson_obj_get(follow(walk, node), "examples"));
}

static void tell_missing(struct walk *walk, yyjson_val *node, const char *key) {
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "%s has no \"%s\"", place_of(walk), key);
    add_example(walk, &fix, "add", key,
                example_of(walk, yyjson_obj_get(yyjson_obj_get(node, "properties"), key)));
    add(walk, VALIDATOR_MISSING, JSON_PLACE_VALUE, &cause, &fix);
}

/* Whether a key means one property alone, by `otherNames`: [PROPERTY], or {PROPERTY: a sentence}
 * where its value is written in another way. */
static bool means_only(yyjson_val *node, const char *key, const char *property) {
    yyjson_val *meant = yyjson_obj_get(yyjson_obj_get(node, "otherNames"), key);
    return yyjson_obj_get(meant, property) != NULL ||
           (yyjson_arr_size(meant) == 1 &&
            yyjson_equals_str(yyjson_arr_get_first(meant), property));
}

/* Whether a key of an object other than `but` means one property alone. */
static bool is_meant_alone(yyjson_val *node, yyjson_val *object, const char *property,
                           const char *but) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (object, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        if (strcmp(name, but) != 0 && means_only(node, name, property)) {
            return true;
        }
    }
    return false;
}

/* What is meant by the name that a key has elsewhere: the first property of `otherNames` that the
 * object does not have, of several also not by another such key, or a sentence that says what to
 * do. NULL: nothing is known of it. */
static const char *other_name(yyjson_val *node, yyjson_val *object, const char *unknown,
                              bool *ret_is_property) {
    yyjson_val *meant = yyjson_obj_get(yyjson_obj_get(node, "otherNames"), unknown);
    size_t at;
    size_t count;
    yyjson_val *one;
    yyjson_val *sentence;
    *ret_is_property = false;
    yyjson_arr_foreach (meant, at, count, one) {
        const char *property = yyjson_get_str(one);
        if (yyjson_obj_get(object, property) == NULL &&
            (count == 1 || !is_meant_alone(node, object, property, unknown))) {
            *ret_is_property = true;
            return property;
        }
    }
    json_obj_foreach (meant, at, count, one, sentence) {
        return yyjson_get_str(sentence);
    }
    return yyjson_get_str(meant);
}

/* Whether an object has a property by another name, of which it was told. */
static bool has_other_name(yyjson_val *node, yyjson_val *object, const char *property) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    bool is_property;
    json_obj_foreach (object, at, count, key, value) {
        const char *meant = other_name(node, object, yyjson_get_str(key), &is_property);
        if ((is_property && strcmp(meant, property) == 0) ||
            means_only(node, yyjson_get_str(key), property)) {
            return true;
        }
    }
    return false;
}

/* Report an unknown key. walk->pointer is the place of the key. */
static void tell_unknown(struct walk *walk, yyjson_val *node, yyjson_val *object,
                         const char *unknown) {
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    struct nearest meant = nearest_to(unknown);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    bool is_property;
    const char *known = other_name(node, object, unknown, &is_property);
    json_obj_foreach (yyjson_obj_get(node, "properties"), at, count, key, value) {
        (void)nearest_try(&meant, yyjson_get_str(key));
    }
    buf_printf(&cause, "unknown key \"%s\"", unknown);
    if (known != NULL && !is_property) {
        buf_add_text(&fix, known);
    } else if (known != NULL || meant.name != NULL) {
        buf_printf(&fix, "did you mean \"%s\"?", known != NULL ? known : meant.name);
    } else {
        buf_add_text(&fix, "remove it");
    }
    add(walk, VALIDATOR_KEY, JSON_PLACE_KEY, &cause, &fix);
}

/* Of no key that is known, whatever stands before the character. */
static void tell_zero(struct walk *walk, const char *begins) {
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "the key that begins with \"%s\" has a zero character (\\u0000) in it",
               begins);
    buf_add_text(&fix, "remove the character");
    add(walk, VALIDATOR_KEY, JSON_PLACE_KEY, &cause, &fix);
}

static void tell_twice(struct walk *walk, const char *key) {
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "the key \"%s\" is given twice", key);
    buf_add_text(&fix, "remove one of them, or put both into one");
    add(walk, VALIDATOR_KEY, JSON_PLACE_LAST_KEY, &cause, &fix);
}

/* -------------------------------------------------------------------- walk */

static void check(struct walk *walk, yyjson_val *node, const char *key, yyjson_val *value);

/* Check a part of the value; its place is walk->pointer. */
static void check_part(struct walk *walk, yyjson_val *node, const char *key, yyjson_val *value) {
    const char *outer_key = walk->key;
    yyjson_val *outer_example = walk->example;
    check(walk, node, key, value);
    walk->key = outer_key;
    walk->example = outer_example;
}

static void check_object(struct walk *walk, yyjson_val *node, yyjson_val *object) {
    yyjson_val *properties = yyjson_obj_get(node, "properties");
    yyjson_val *others = yyjson_obj_get(node, "additionalProperties");
    size_t length = strlen(walk->pointer);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    size_t members_max = yyjson_is_false(others) ? MEMBERS_MAX : ENTRIES_MAX;
    if (others != NULL && yyjson_obj_size(object) > members_max) {
        char reason[64];
        (void)snprintf(reason, sizeof reason, "has %zu members; at most %zu are possible",
                       yyjson_obj_size(object), members_max);
        tell_wrong(walk, NULL, reason);
        return;
    }
    json_obj_foreach (object, at, count, key, value) {
        const char *text = yyjson_get_str(key);
        yyjson_val *part = yyjson_obj_getn(properties, text, yyjson_get_len(key));
        json_pointer_add(walk->pointer, text);
        if (others != NULL && yyjson_obj_getn(object, text, yyjson_get_len(key)) != value) {
            tell_twice(walk, text);
        } else if (part != NULL) {
            check_part(walk, part, text, value);
        } else if (yyjson_is_false(others) && strlen(text) != yyjson_get_len(key)) {
            tell_zero(walk, text);
        } else if (yyjson_is_false(others)) {
            bool is_property;
            const char *meant = other_name(node, object, text, &is_property);
            tell_unknown(walk, node, object, text);
            if (is_property) { /* what else is wrong with it is told at once */
                check_part(walk, yyjson_obj_get(properties, meant), meant, value);
            }
        } else if (others != NULL) {
            check_part(walk, others, text, value);
        }
        walk->pointer[length] = '\0';
    }
    yyjson_arr_foreach (yyjson_obj_get(node, "required"), at, count, key) {
        if (yyjson_obj_get(object, yyjson_get_str(key)) == NULL &&
            !has_other_name(node, object, yyjson_get_str(key))) {
            tell_missing(walk, node, yyjson_get_str(key));
        }
    }
}

static void check_items(struct walk *walk, yyjson_val *node, yyjson_val *array) {
    yyjson_val *items = yyjson_obj_get(node, "items");
    size_t length = strlen(walk->pointer);
    size_t at;
    size_t count;
    yyjson_val *value;
    yyjson_arr_foreach (array, at, count, value) {
        json_pointer_add_index(walk->pointer, at);
        check_part(walk, items, NULL, value);
        walk->pointer[length] = '\0';
    }
}

static void check(struct walk *walk, yyjson_val *node, const char *key, yyjson_val *value) {
    struct schema_failure failure;
    yyjson_val *example = example_of(walk, node);
    if (example != NULL) {
        walk->key = key;
        walk->example = example;
    }
    node = follow(walk, node);
    if (!yyjson_is_obj(node)) {
        return; /* `true`: any value is valid */
    }
    if (!fits(walk, node, false, value, &failure)) {
        const char *words = yyjson_get_str(yyjson_obj_get(node, "errorMessage"));
        size_t length = strlen(walk->pointer);
        bool is_name = yyjson_obj_get(node, "propertyNames") != NULL && failure.field[0] != '\0' &&
                       strcmp(failure.keyword, "pattern") == 0;
        if (is_name) {
            (void)snprintf(walk->pointer + length, sizeof walk->pointer - length, "%s",
                           failure.field);
        }
        bool has_name = key != NULL && strcmp(key, "name") == 0 && yyjson_is_str(value);
        tell_wrong(walk, has_name ? value : NULL,
                   words != NULL && !is_name ? words : failure.reason);
        walk->pointer[length] = '\0';
        return;
    }
    if (yyjson_is_str(value) && strlen(yyjson_get_str(value)) != yyjson_get_len(value)) {
        tell_wrong(walk, NULL, "must not have the character U+0000");
    } else if (yyjson_is_obj(value)) {
        check_object(walk, node, value);
    } else if (yyjson_is_arr(value) && yyjson_obj_get(node, "items") != NULL &&
               (walk->is_definition || strcmp(walk->pointer, "/tools") != 0)) {
        check_items(walk, node, value);
    }
    size_t at;
    size_t count;
    yyjson_val *one;
    yyjson_arr_foreach (yyjson_obj_get(node, "allOf"), at, count, one) {
        check(walk, one, key, value);
    }
    yyjson_val *condition = yyjson_obj_get(node, "if");
    if (condition != NULL) {
        bool holds = fits(walk, condition, true, value, &failure);
        check(walk, yyjson_obj_get(node, holds ? "then" : "else"), key, value);
    }
}

void validator_check_file(struct validator *validator, yyjson_val *root,
                          struct problems *problems) {
    struct walk walk = {.validator = validator, .problems = problems};
    check(&walk, yyjson_doc_get_root(validator->doc), NULL, root);
}

void validator_check_definition(struct validator *validator, yyjson_val *definition,
                                const char *pointer, const char *tool, struct problems *problems) {
    struct walk walk = {.validator = validator,
                        .problems = problems,
                        .tool = tool,
                        .is_definition = true,
                        .base = strlen(pointer)};
    strncat(walk.pointer, pointer, sizeof walk.pointer - 1);
    check(&walk, yyjson_doc_ptr_get(validator->doc, "/$defs/definition"), NULL, definition);
}
