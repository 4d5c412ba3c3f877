#include "format/schema-rewrite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json.h"
#include "base/param-header.h"
#include "format/names.h"
#include "format/schema-fold.h"
#include "format/schema-keyword.h"
#include "format/schema-resource.h"
#include "format/schema-strict.h"
#include "format/schema-type.h"
#include "schema/draft.h"
#include "schema/regex.h"
#include "schema/uri.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Most bytes of a name that are shown. */
#define SHOWN_MAX 64

/* A set of keywords. */
_Static_assert(KEYWORD_COUNT <= 64, "a keyword has no bit in a set");
#define BIT(keyword) (UINT64_C(1) << KEYWORD_##keyword)

/* The keywords of a schema. Visiting all members once is faster than two look-ups. */
static uint64_t keywords_of(yyjson_mut_val *schema) {
    uint64_t set = 0;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        set |= UINT64_C(1) << format_keyword_find(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
    }
    return set;
}

static bool has_rule(const struct rewrite *rewrite, enum provider_rule rule) {
    return (rewrite->rules & (unsigned)rule) != 0;
}

/* ------------------------------------------------------------------ values */

static bool is_count(yyjson_mut_val *value) {
    return yyjson_mut_is_uint(value) ||
           (yyjson_mut_is_real(value) && yyjson_mut_get_real(value) >= 0 &&
            yyjson_mut_get_real(value) == (double)(uint64_t)(yyjson_mut_get_real(value) < 1e15
                                                                     ? yyjson_mut_get_real(value)
                                                                     : 0));
}

static bool is_number(yyjson_mut_val *value) {
    return yyjson_mut_is_num(value) || yyjson_mut_is_raw(value);
}

static bool is_schema(yyjson_mut_val *value) {
    return yyjson_mut_is_obj(value) || yyjson_mut_is_bool(value);
}

static bool fits(const struct rewrite *rewrite, enum format_keyword keyword,
                 yyjson_mut_val *value) {
    if (rewrite->is_old && (keyword == KEYWORD_ITEMS || keyword == KEYWORD_EXCLUSIVE_MINIMUM ||
                            keyword == KEYWORD_EXCLUSIVE_MAXIMUM)) {
        return true; /* a list, or true; later drafts write both otherwise */
    }
    switch (format_keywords[keyword].holds) {
    case HOLDS_ANY: return true;
    case HOLDS_TEXT: return yyjson_mut_is_str(value);
    case HOLDS_NUMBER: return is_number(value);
    case HOLDS_COUNT: return is_count(value);
    case HOLDS_BOOL: return yyjson_mut_is_bool(value);
    case HOLDS_LIST:
    case HOLDS_REQUIRED: return yyjson_mut_is_arr(value);
    case HOLDS_TYPE: return yyjson_mut_is_str(value) || yyjson_mut_is_arr(value);
    case HOLDS_SCHEMA: return is_schema(value);
    case HOLDS_SCHEMAS: return yyjson_mut_is_arr(value) && yyjson_mut_arr_size(value) > 0;
    case HOLDS_MAP: return yyjson_mut_is_obj(value);
    }
    return false;
}

struct requirement {
    struct rewrite *rewrite;
    const struct place *place;
    yyjson_mut_val *properties;
};

/* Keep each name once, and strings only. */
static bool keep_required(void *user, yyjson_mut_val *kept, yyjson_mut_val *name) {
    const struct requirement *requirement = user;
    const char *text = yyjson_mut_get_str(name);
    size_t length = yyjson_mut_get_len(name);
    const char *why = NULL;
    if (text == NULL) {
        why = "it is not a string";
    } else if (rewrite_lists(kept, text, length)) {
        why = "it is listed twice";
    } else if (has_rule(requirement->rewrite, RULE_KNOWN_REQUIRED) &&
               yyjson_mut_obj_getn(requirement->properties, text, length) == NULL) {
        why = "there is no such property";
    }
    if (why != NULL) {
        format_report_add(requirement->rewrite->report, "rewritten", requirement->place,
                          "\"%.*s\" is left out of required: %s", SHOWN_MAX,
                          text != NULL ? text : "", why);
    }
    return why == NULL;
}

/* ------------------------------------------------------------------- names */

/* Change a key that the provider does not accept in `$ref` too: "#/properties/KEY/...". */
static void rename_in_reference(struct rewrite *rewrite, yyjson_mut_val *value) {
    static const char before[] = "#/properties/";
    const char *text = yyjson_mut_get_str(value);
    CLEANUP(arena_finish) struct arena arena;
    char room[JSON_POINTER_MAX];
    char wire[PROVIDER_KEY_MAX + 1];
    arena_init(&arena, room, sizeof room);
    if (text == NULL || strncmp(text, before, sizeof before - 1) != 0) {
        return;
    }
    text += sizeof before - 1;
    size_t length = strcspn(text, "/");
    size_t decoded = 0;
    char *key = uri_decode(&arena, (struct uri_part){text, length}, &decoded);
    rewrite_check(rewrite, key != NULL);
    if (key == NULL || !format_wire_key(rewrite->provider->limits->keys, key,
                                        json_pointer_unescape(key, decoded, key), wire)) {
        return;
    }
    const char *now = arena_printf(&arena, "%s%s%s", before, wire, text + length);
    yyjson_mut_val *copy = now != NULL ? yyjson_mut_strcpy(rewrite->doc, now) : NULL;
    rewrite_check(rewrite, copy != NULL && yyjson_mut_set_str(value, yyjson_mut_get_str(copy)));
}

/* The same in all of a value. */
static void rename_in_references(struct rewrite *rewrite, yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *child;
    yyjson_mut_arr_foreach(value, at, count, child) {
        rename_in_references(rewrite, child);
    }
    yyjson_mut_obj_foreach(value, at, count, key, child) {
        if (yyjson_mut_equals_str(key, "$ref")) {
            rename_in_reference(rewrite, child);
        } else {
            rename_in_references(rewrite, child);
        }
    }
}

static void rename_required(struct rewrite *rewrite, const char *own, size_t length,
                            const char *wire) {
    yyjson_mut_val *required = yyjson_mut_obj_get(rewrite->root, "required");
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_arr_foreach(required, at, count, name) {
        if (yyjson_mut_equals_strn(name, own, length)) {
            (void)yyjson_mut_set_str(name, wire);
        }
    }
}

/* Without a keyword that has schemas for properties, these are unevaluated ones. */
static void allow_unevaluated(struct rewrite *rewrite, const struct place *place,
                              yyjson_mut_val *schema) {
    if (yyjson_mut_obj_remove_key(schema, "unevaluatedProperties") != NULL) {
        format_report_add(rewrite->report, "rewritten", place,
                          "unevaluatedProperties is left out, as a keyword beside it is");
    }
}

/* Change the names of properties that the provider does not accept. What else says their names at
 * the root is left out: a call is checked with the tool's own schema. */
static void rename_keys(struct rewrite *rewrite, const struct place *place) {
    static const char *const naming[] = {"dependentRequired", "dependentSchemas", "dependencies",
                                         "propertyNames"};
    yyjson_mut_val *properties = yyjson_mut_obj_get(rewrite->root, "properties");
    enum provider_keys keys = rewrite->provider->limits->keys;
    bool renamed = false;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    if (keys == KEYS_ANY || rewrite->is_result) {
        return;
    }
    yyjson_mut_obj_foreach(properties, at, count, key, value) {
        const char *own = yyjson_mut_get_str(key);
        size_t length = yyjson_mut_get_len(key);
        char wire[PROVIDER_KEY_MAX + 1];
        if (!format_wire_key(keys, own, length, wire)) {
            continue;
        }
        yyjson_mut_val *copy = yyjson_mut_strcpy(rewrite->doc, wire);
        if (copy == NULL) {
            rewrite->no_memory = true;
            return;
        }
        format_report_add(rewrite->report, "renamed", place,
                          "the property \"%.*s\" is called %s for %s", SHOWN_MAX, own, wire,
                          rewrite->provider->whose);
        if (rewrite->keys != NULL) {
            buf_add(rewrite->keys, ",", rewrite->keys->length > 0);
            buf_add_json_string(rewrite->keys, wire, strlen(wire));
            buf_add_char(rewrite->keys, ':');
            buf_add_json_string(rewrite->keys, own, length);
        }
        rename_required(rewrite, own, length, yyjson_mut_get_str(copy));
        (void)yyjson_mut_set_str(key, yyjson_mut_get_str(copy));
        renamed = true;
    }
    if (!renamed) {
        return;
    }
    rename_in_references(rewrite, rewrite->root);
    for (size_t i = 0; i < ARRAY_LENGTH(naming); i++) {
        if (yyjson_mut_obj_remove_key(rewrite->root, naming[i]) != NULL) {
            format_report_add(rewrite->report, "rewritten", place,
                              "%s is left out: it speaks of properties that are called otherwise",
                              naming[i]);
            allow_unevaluated(rewrite, place, rewrite->root);
        }
    }
}

/* ---------------------------------------------------------------- keywords */

static void rewrite_schema(struct rewrite *rewrite, const struct place *up, const char *key,
                           size_t index, yyjson_mut_val *schema);

/* Rewrite the schemas that are the value of a keyword. */
static void rewrite_below(struct rewrite *rewrite, const struct place *place,
                          enum format_keyword keyword, yyjson_mut_val *value) {
    const struct keyword_row *row = &format_keywords[keyword];
    struct place here = {.up = place, .key = row->name, .depth = place->depth};
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *schema;
    if (row->holds == HOLDS_MAP) {
        yyjson_mut_obj_foreach(value, at, count, name, schema) {
            rewrite_schema(rewrite, &here, yyjson_mut_get_str(name), 0, schema);
        }
    } else if (row->holds == HOLDS_SCHEMAS ||
               (row->holds == HOLDS_SCHEMA && yyjson_mut_is_arr(value))) {
        yyjson_mut_arr_foreach(value, at, count, schema) {
            rewrite_schema(rewrite, &here, NULL, at, schema);
        }
    } else if (row->holds == HOLDS_SCHEMA &&
               (yyjson_mut_is_obj(value) ||
                (keyword != KEYWORD_ADDITIONAL && keyword != KEYWORD_UNEVALUATED_PROPERTIES &&
                 keyword != KEYWORD_UNEVALUATED_ITEMS))) {
        rewrite_schema(rewrite, place, row->name, 0, value);
    }
}

/* Whether a reference stays: a reference that no provider can follow is removed. */
static bool correct_reference(struct rewrite *rewrite, const struct place *place,
                              yyjson_mut_val *value) {
    const char *text = yyjson_mut_get_str(value);
    if (!has_rule(rewrite, RULE_DIALECT) && strstr(text, "://") == NULL) {
        return true; /* its target may be found by an $id or an anchor */
    }
    if (strncmp(text, OLD_DEFS, sizeof OLD_DEFS - 1) == 0 &&
        yyjson_mut_obj_get(rewrite->root, "definitions") == NULL) {
        CLEANUP(buf_finish) struct buf now = BUF_INIT;
        buf_printf(&now, NEW_DEFS "%s", text + sizeof OLD_DEFS - 1);
        yyjson_mut_val *copy = now.failed ? NULL : yyjson_mut_strcpy(rewrite->doc, now.data);
        rewrite_check(rewrite, copy != NULL);
        if (copy != NULL) {
            (void)yyjson_mut_set_str(value, yyjson_mut_get_str(copy));
        }
        text = yyjson_mut_get_str(value);
    }
    if (rewrite_resolve(rewrite, text) != NULL) {
        return true;
    }
    format_report_add(rewrite->report, "rewritten", place,
                      "the reference \"%.*s\" has no target: any value is allowed here", SHOWN_MAX,
                      text);
    return false;
}

/* ---------------------------------------------------------------- patterns */

/* A pattern that ECMA-262 does not have as it is written: providers and clients read no other.
 * @return whether it can stay, rewritten or not. */
static bool correct_pattern(struct rewrite *rewrite, const struct place *place,
                            yyjson_mut_val *value) {
    const char *pattern = yyjson_mut_get_str(value);
    CLEANUP(freep) char *standard = NULL;
    const char *reason = NULL;
    switch (ecma_standard(pattern, yyjson_mut_get_len(value), &standard, &reason)) {
    case ECMA_OK: return true;
    case ECMA_NO_MEMORY: rewrite_check(rewrite, false); return true;
    case ECMA_REWRITTEN: break;
    case ECMA_NO_STANDARD:
    case ECMA_INVALID:
        format_report_add(rewrite->report, "rewritten", place,
                          "the pattern \"%.*s\" is left out: ECMA-262 does not have %s; "
                          "arguments are still checked with it",
                          SHOWN_MAX, pattern, reason);
        return false;
    }
    format_report_add(rewrite->report, "rewritten", place,
                      "the pattern \"%.*s\" is written \"%.*s\", as ECMA-262 has it", SHOWN_MAX,
                      pattern, SHOWN_MAX, standard);
    yyjson_mut_val *copy = yyjson_mut_strcpy(rewrite->doc, standard);
    rewrite_check(rewrite, copy != NULL && yyjson_mut_set_str(value, yyjson_mut_get_str(copy)));
    return true;
}

/* Whether a schema has a pattern that has to be left out. */
static bool has_lost_pattern(yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *child;
    yyjson_mut_arr_foreach(value, at, count, child) {
        if (has_lost_pattern(child)) {
            return true;
        }
    }
    yyjson_mut_obj_foreach(value, at, count, key, child) {
        CLEANUP(freep) char *standard = NULL;
        const char *reason = NULL;
        if ((yyjson_mut_equals_str(key, "pattern") && yyjson_mut_is_str(child) &&
             ecma_standard(yyjson_mut_get_str(child), yyjson_mut_get_len(child), &standard,
                           &reason) == ECMA_NO_STANDARD) ||
            has_lost_pattern(child)) {
            return true;
        }
    }
    return false;
}

/* Without a pattern, a schema accepts more. `not`, `if` and `oneOf` with such a schema would accept
 * less, so they are left out too; instead of oneOf there is anyOf. @return whether the keyword
 * stays. */
static bool correct_inverted(struct rewrite *rewrite, const struct place *place,
                             enum format_keyword keyword, yyjson_mut_val *schema,
                             yyjson_mut_val *key) {
    if ((keyword != KEYWORD_NOT && keyword != KEYWORD_IF && keyword != KEYWORD_ONE_OF) ||
        !has_lost_pattern(yyjson_mut_obj_iter_get_val(key))) {
        return true;
    }
    bool is_choice = keyword == KEYWORD_ONE_OF && yyjson_mut_obj_get(schema, "anyOf") == NULL;
    format_report_add(rewrite->report, "rewritten", place,
                      "%s %s: a pattern in it cannot be written in ECMA-262",
                      format_keywords[keyword].name,
                      is_choice ? "is written anyOf" : "is left out");
    if (is_choice) {
        (void)yyjson_mut_set_str(key, "anyOf");
    }
    return is_choice;
}

/* Correct patterns that are keys. @return whether one was left out: then the schema of
 * other members is no longer about the same ones. */
static bool correct_pattern_keys(struct rewrite *rewrite, const struct place *place,
                                 yyjson_mut_val *map) {
    bool lost = false;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(map);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        if (!correct_pattern(rewrite, place, key)) {
            (void)yyjson_mut_obj_iter_remove(&iter);
            lost = true;
        }
    }
    return lost;
}

static void correct_pattern_properties(struct rewrite *rewrite, const struct place *place,
                                       yyjson_mut_val *schema) {
    static const char *const others[] = {"additionalProperties", "unevaluatedProperties"};
    if (!correct_pattern_keys(rewrite, place, yyjson_mut_obj_get(schema, "patternProperties"))) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        if (yyjson_mut_obj_remove_key(schema, others[i]) != NULL) {
            format_report_add(rewrite->report, "rewritten", place,
                              "%s is left out, as a pattern in patternProperties is", others[i]);
        }
    }
}

/* {"not": {}} is false, which generators write so that have no booleans. */
static void correct_additional(struct rewrite *rewrite, const struct place *place,
                               yyjson_mut_val *value) {
    yyjson_mut_val *negated =
            yyjson_mut_obj_size(value) == 1 ? yyjson_mut_obj_get(value, "not") : NULL;
    if (has_rule(rewrite, RULE_DIALECT) &&
        (yyjson_mut_is_true(negated) ||
         (yyjson_mut_is_obj(negated) && yyjson_mut_obj_size(negated) == 0))) {
        (void)yyjson_mut_set_bool(value, false);
        format_report_add(rewrite->report, "rewritten", place,
                          "additionalProperties is written false, which it means");
    }
}

/* Correct the value of a keyword. @return whether the keyword stays. */
static bool correct_keyword(struct rewrite *rewrite, const struct place *place,
                            enum format_keyword keyword, yyjson_mut_val *value) {
    const struct keyword_row *row = &format_keywords[keyword];
    if (!fits(rewrite, keyword, value)) {
        format_report_add(rewrite->report, "rewritten", place,
                          "the value of %s is not one that JSON Schema allows: left out",
                          row->name);
        return false;
    }
    switch (keyword) {
    case KEYWORD_TYPE: return rewrite_type(rewrite, place, value);
    case KEYWORD_REF: return correct_reference(rewrite, place, value);
    case KEYWORD_PATTERN: return correct_pattern(rewrite, place, value);
    case KEYWORD_ADDITIONAL: correct_additional(rewrite, place, value); return true;
    case KEYWORD_ENUM:
        if (yyjson_mut_arr_size(value) == 0) {
            format_report_add(rewrite->report, "rewritten", place, "an empty enum is left out");
            return false;
        }
        return true;
    default: return true;
    }
}

/* Whether the provider does not accept a keyword here. */
static bool is_dropped(const struct rewrite *rewrite, const struct place *place,
                       enum format_keyword keyword, bool has_ref) {
    unsigned traits = format_keywords[keyword].traits;
    if (has_rule(rewrite, RULE_FEW_WORDS) && (traits & TRAIT_KEPT) == 0) {
        /* References need the $defs of the root until the end. */
        return keyword != KEYWORD_DEFS || place->up != NULL;
    }
    if (keyword == KEYWORD_SCHEMA && !rewrite->says_dialect) {
        return true;
    }
    return has_ref && has_rule(rewrite, RULE_LONE_REF) && keyword != KEYWORD_DESCRIPTION &&
           keyword != KEYWORD_DEFAULT &&
           (keyword == KEYWORD_OTHER || format_keywords[keyword].name[0] != '$');
}

/* ------------------------------------------------------- earlier drafts */

static void rename_key(struct rewrite *rewrite, yyjson_mut_val *schema, const char *old,
                       const char *now) {
    yyjson_mut_val *value = yyjson_mut_obj_remove_key(schema, old);
    (void)yyjson_mut_obj_remove_key(schema, now);
    rewrite_put(rewrite, schema, now, value);
}

struct updating {
    const struct rewrite *rewrite;
    const struct place *place;
};

static void report_update(void *user, const char *what) {
    const struct updating *updating = user;
    format_report_add(updating->rewrite->report, "rewritten", updating->place, "%s", what);
}

/* Replace keywords of drafts 4 to 7 by those of 2020-12. */
static void update_dialect(struct rewrite *rewrite, const struct place *place,
                           yyjson_mut_val *schema) {
    struct updating updating = {rewrite, place};
    draft_update_items(schema, report_update, &updating);
    draft_update_limits(schema, report_update, &updating);
    draft_update_dependencies(rewrite->doc, schema, report_update, &updating);
}

/* ------------------------------------------------------- without a keyword */

static bool is_new(void *user, yyjson_mut_val *kept, yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *one;
    (void)user;
    yyjson_mut_arr_foreach(kept, at, count, one) {
        if (yyjson_mut_equals(one, value)) {
            return false;
        }
    }
    return true;
}

/* Without prefixItems, `items` is about all items: then it is any of the schemas that one may have,
 * or left out if an item may have any. */
static void join_items(struct rewrite *rewrite, const struct place *place, yyjson_mut_val *schema) {
    yyjson_mut_val *list = yyjson_mut_obj_remove_key(schema, "prefixItems");
    yyjson_mut_val *most = yyjson_mut_obj_get(schema, "maxItems");
    yyjson_mut_val *rest = yyjson_mut_obj_remove_key(schema, "items");
    bool is_whole =
            yyjson_mut_is_false(rest) ||
            (yyjson_mut_is_uint(most) && yyjson_mut_get_uint(most) <= yyjson_mut_arr_size(list));
    format_report_add(rewrite->report, "rewritten", place,
                      "%s does not accept prefixItems: the schemas of all items are joined",
                      rewrite->provider->whose);
    if (!is_whole && (!yyjson_mut_is_obj(rest) || !yyjson_mut_arr_append(list, rest))) {
        return;
    }
    if (yyjson_mut_arr_size(list) > REWRITE_ALTERNATIVES_MAX) {
        return;
    }
    rewrite_filter(rewrite, list, is_new, NULL);
    if (yyjson_mut_arr_size(list) == 1) {
        rewrite_put(rewrite, schema, "items", yyjson_mut_arr_remove_first(list));
    } else {
        yyjson_mut_val *items = yyjson_mut_obj(rewrite->doc);
        rewrite_put(rewrite, items, "anyOf", list);
        rewrite_put(rewrite, schema, "items", items);
    }
}

/* Drafts until 7 ignore what is beside a reference, and 2020-12 does not. */
static void leave_references_alone(struct rewrite *rewrite, yyjson_mut_val *value) {
    bool has_ref = yyjson_mut_is_str(yyjson_mut_obj_get(value, "$ref"));
    size_t at;
    size_t count;
    yyjson_mut_val *child;
    yyjson_mut_val *key;
    yyjson_mut_arr_foreach(value, at, count, child) {
        leave_references_alone(rewrite, child);
    }
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(value);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        enum format_keyword keyword =
                format_keyword_find(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        const struct keyword_row *row = &format_keywords[keyword];
        if (has_ref && keyword != KEYWORD_OTHER && keyword != KEYWORD_DEFINITIONS &&
            row->name[0] != '$' && (row->traits & TRAIT_NOTE) == 0) {
            format_report_add(rewrite->report, "rewritten", NULL,
                              "%s beside $ref is left out, as draft 7 ignores it", row->name);
            (void)yyjson_mut_obj_iter_remove(&iter);
        } else if (row->holds != HOLDS_ANY || keyword == KEYWORD_OTHER) {
            leave_references_alone(rewrite, yyjson_mut_obj_iter_get_val(key));
        }
    }
}

/* ---------------------------------------------------------------- one schema */

/* Replace a schema that is not an object by an object, if the provider requires that. @return
 * whether it was an object. */
static bool make_object(struct rewrite *rewrite, const struct place *place,
                        yyjson_mut_val *schema) {
    if (yyjson_mut_is_bool(schema)) {
        if (!has_rule(rewrite, RULE_OBJECTS_ONLY)) {
            return false;
        }
        bool any = yyjson_mut_get_bool(schema);
        (void)yyjson_mut_set_obj(schema);
        if (!any && !has_rule(rewrite, RULE_FEW_WORDS)) {
            rewrite_put(rewrite, schema, "not", yyjson_mut_obj(rewrite->doc));
        }
        format_report_add(rewrite->report, "rewritten", place,
                          "%s does not accept true or false as a schema", rewrite->provider->whose);
        return false;
    }
    if (!yyjson_mut_is_obj(schema)) {
        (void)yyjson_mut_set_obj(schema);
        format_report_add(rewrite->report, "rewritten", place,
                          "this is not a schema: any value is allowed here");
        return false;
    }
    return true;
}

/* Whether a schema has one of $ref, const, items, prefixItems, allOf, anyOf, oneOf, dependencies,
 * exclusiveMinimum and exclusiveMaximum, or another keyword of the same length: a quick check,
 * since every schema is checked and most have none. */
static bool may_be_said_otherwise(yyjson_mut_val *schema) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        const char *name = yyjson_mut_get_str(key);
        size_t length = yyjson_mut_get_len(key);
        if (length == 5 || length == 12 || length == 16 ||
            (length == 11 && name != NULL && name[0] == 'p') ||
            (length == 4 && name != NULL && name[0] == '$')) {
            return true;
        }
    }
    return false;
}

/* Merge or rename keywords that the provider does not know at this place, if they can be expressed
 * otherwise. */
static void say_otherwise(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema) {
    if (!may_be_said_otherwise(schema)) {
        return;
    }
    const char *reference = yyjson_mut_get_str(yyjson_mut_obj_get(schema, "$ref"));
    bool is_root = place->up == NULL && !rewrite->is_result;
    bool few = has_rule(rewrite, RULE_FEW_WORDS);
    bool lone = has_rule(rewrite, RULE_LONE_REF) && reference != NULL &&
                strcmp(reference, "#") != 0 &&
                strncmp(reference, NEW_DEFS, sizeof NEW_DEFS - 1) != 0 &&
                strncmp(reference, OLD_DEFS, sizeof OLD_DEFS - 1) != 0;
    if (few || lone || (is_root && has_rule(rewrite, RULE_FLAT_ROOT))) {
        rewrite_fold(rewrite, place, schema, is_root);
    }
    if (!rewrite->is_old) {
        update_dialect(rewrite, place, schema);
    }
    if (few && yyjson_mut_is_arr(yyjson_mut_obj_get(schema, "prefixItems"))) {
        join_items(rewrite, place, schema);
    }
    if (has_rule(rewrite, RULE_NO_CONST) && yyjson_mut_obj_get(schema, "const") != NULL) {
        yyjson_mut_val *list = yyjson_mut_arr(rewrite->doc);
        yyjson_mut_val *value = yyjson_mut_obj_remove_key(schema, "const");
        rewrite_check(rewrite, yyjson_mut_arr_append(list, value));
        (void)yyjson_mut_obj_remove_key(schema, "enum");
        rewrite_put(rewrite, schema, "enum", list);
        format_report_add(rewrite->report, "rewritten", place,
                          "%s does not accept const: written as an enum of one value",
                          rewrite->provider->whose);
    }
    if (few && yyjson_mut_obj_get(schema, "oneOf") != NULL &&
        yyjson_mut_obj_get(schema, "anyOf") == NULL) {
        rename_key(rewrite, schema, "oneOf", "anyOf");
        format_report_add(rewrite->report, "rewritten", place,
                          "%s does not accept oneOf: written as anyOf", rewrite->provider->whose);
    }
}

/* Drop, correct or rewrite each member. Returns the keywords that stay. */
static uint64_t rewrite_members(struct rewrite *rewrite, const struct place *place,
                                yyjson_mut_val *schema) {
    CLEANUP(buf_finish) struct buf dropped = BUF_INIT;
    bool has_ref = yyjson_mut_is_str(yyjson_mut_obj_get(schema, "$ref"));
    uint64_t seen = 0;
    uint64_t kept = 0;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(schema);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
        enum format_keyword keyword = format_keyword_find(name, yyjson_mut_get_len(key));
        bool again = keyword != KEYWORD_OTHER && (seen & (UINT64_C(1) << keyword)) != 0;
        seen |= UINT64_C(1) << keyword;
        if (is_dropped(rewrite, place, keyword, has_ref)) {
            (void)yyjson_mut_obj_iter_remove(&iter);
            if (rewrite->report->out != NULL) {
                buf_printf(&dropped, "%s%.*s", dropped.length > 0 ? ", " : "", SHOWN_MAX, name);
            }
        } else if (again || !correct_keyword(rewrite, place, keyword, value) ||
                   !correct_inverted(rewrite, place, keyword, schema, key)) {
            (void)yyjson_mut_obj_iter_remove(&iter);
            if (again) {
                format_report_add(rewrite->report, "rewritten", place,
                                  "%s is given twice: the first is kept", name);
            }
        } else {
            kept |= UINT64_C(1) << keyword;
            if (keyword != KEYWORD_DEFS || !has_rule(rewrite, RULE_FEW_WORDS)) {
                rewrite_below(rewrite, place, keyword, value);
            }
        }
    }
    rewrite_check(rewrite, !dropped.failed);
    if (dropped.length > 0) {
        format_report_add(rewrite->report, "rewritten", place,
                          "%s does not accept %s here: left out", rewrite->provider->whose,
                          dropped.data);
    }
    return kept;
}

/* Apply the rules that depend on several members. */
static void rewrite_whole(struct rewrite *rewrite, const struct place *place,
                          yyjson_mut_val *schema, uint64_t has) {
    if ((has & BIT(REQUIRED)) != 0) {
        yyjson_mut_val *required = yyjson_mut_obj_get(schema, "required");
        struct requirement requirement = {rewrite, place, yyjson_mut_obj_get(schema, "properties")};
        if (yyjson_mut_arr_size(required) > REWRITE_REQUIRED_MAX) {
            rewrite_refuse(rewrite, place, "more than %u properties are required",
                           REWRITE_REQUIRED_MAX);
        } else {
            rewrite_filter(rewrite, required, keep_required, &requirement);
        }
    }
    if ((has & BIT(PATTERN_PROPERTIES)) != 0) {
        correct_pattern_properties(rewrite, place, schema);
    }
    if ((has & BIT(TYPE)) == 0) {
        return;
    }
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    if (has_rule(rewrite, RULE_ITEMS) && json_mut_has_text(type, "array") &&
        yyjson_mut_obj_get(schema, "items") == NULL) {
        rewrite_put(rewrite, schema, "items", yyjson_mut_obj(rewrite->doc));
        format_report_add(rewrite->report, "rewritten", place,
                          "%s requires items for an array: any item is allowed",
                          rewrite->provider->whose);
    }
    /* The root is left with one type at the end. */
    bool is_root = place->up == NULL && !rewrite->is_result;
    if (has_rule(rewrite, RULE_ONE_TYPE) && yyjson_mut_is_arr(type) && !is_root) {
        rewrite_split_types(rewrite, place, schema);
    }
}

static void rewrite_object(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema) {
    if (place->depth > REWRITE_DEPTH_MAX || ++rewrite->schemas > REWRITE_SCHEMAS_MAX) {
        rewrite_refuse(rewrite, place, "the schema has too many parts, or is nested too deeply");
    }
    if (rewrite->refused || rewrite->no_memory || !make_object(rewrite, place, schema)) {
        return;
    }
    say_otherwise(rewrite, place, schema);
    if (!rewrite->refused && !rewrite->no_memory) {
        rewrite_whole(rewrite, place, schema, rewrite_members(rewrite, place, schema));
    }
}

static void rewrite_schema(struct rewrite *rewrite, const struct place *up, const char *key,
                           size_t index, yyjson_mut_val *schema) {
    struct place place = {.up = up, .key = key, .index = index, .depth = up->depth + 1};
    rewrite_object(rewrite, &place, schema);
}

/* ---------------------------------------------------------------- the root */

/* Set the type of a tool's arguments to "object". */
static void set_root_type(struct rewrite *rewrite, const struct place *place) {
    yyjson_mut_val *type = yyjson_mut_obj_get(rewrite->root, "type");
    if (yyjson_mut_equals_str(type, "object")) {
        return;
    }
    if (type != NULL && !json_mut_has_text(type, "object")) {
        rewrite_refuse(rewrite, place, "arguments must be an object, but the schema says \"%.*s\"",
                       SHOWN_MAX, yyjson_mut_is_str(type) ? yyjson_mut_get_str(type) : "");
        return;
    }
    (void)yyjson_mut_obj_remove_key(rewrite->root, "type");
    yyjson_mut_val *key = yyjson_mut_str(rewrite->doc, "type");
    yyjson_mut_val *object = yyjson_mut_str(rewrite->doc, "object");
    rewrite_check(rewrite, yyjson_mut_obj_insert(rewrite->root, key, object, 0));
    format_report_add(rewrite->report, "rewritten", place, "the type of arguments is \"object\"");
}

/* Remove keywords that a root may not have; alternatives were merged. */
static void strip_root(struct rewrite *rewrite, const struct place *place) {
    static const char *const words[] = {"not", "enum", "const", "if", "then", "else"};
    if ((keywords_of(rewrite->root) &
         (BIT(NOT) | BIT(ENUM) | BIT(CONST) | BIT(IF) | BIT(THEN) | BIT(ELSE))) == 0) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (yyjson_mut_obj_remove_key(rewrite->root, words[i]) != NULL) {
            format_report_add(rewrite->report, "rewritten", place,
                              "%s does not accept %s at the root: left out",
                              rewrite->provider->whose, words[i]);
            allow_unevaluated(rewrite, place, rewrite->root);
        }
    }
}

static void report_header(void *user, const char *name, const char *why) {
    format_report_add(user, "rewritten", NULL, PARAM_HEADER_KEYWORD " \"%.*s\" is left out: %s",
                      SHOWN_MAX, name, why);
}

static void rewrite_root(struct rewrite *rewrite) {
    struct place place = {.up = NULL, .target = rewrite->root};
    yyjson_mut_val *root = rewrite->root;
    bool is_flat = has_rule(rewrite, RULE_FLAT_ROOT) && !rewrite->is_result;
    if (!yyjson_mut_is_obj(root)) {
        if (yyjson_mut_is_bool(root) || yyjson_mut_is_null(root)) {
            (void)yyjson_mut_set_obj(root);
            format_report_add(rewrite->report, "rewritten", &place,
                              "the type of arguments is \"object\"");
        } else {
            rewrite_refuse(rewrite, &place, "the schema is not an object");
            return;
        }
    }
    if (has_rule(rewrite, RULE_DIALECT) && yyjson_mut_obj_get(root, "definitions") != NULL &&
        yyjson_mut_obj_get(root, "$defs") == NULL) {
        /* Appended as the last member: references before it still use its old name. */
        rename_key(rewrite, root, "definitions", "$defs");
        format_report_add(rewrite->report, "rewritten", &place,
                          "definitions is called $defs in 2020-12");
    }
    if (is_flat) {
        strip_root(rewrite, &place);
    }
    rewrite_object(rewrite, &place, root);
    if (rewrite->refused || rewrite->no_memory) {
        return;
    }
    if (!rewrite->is_result) {
        set_root_type(rewrite, &place);
    }
    if (is_flat) {
        strip_root(rewrite, &place); /* merging may have added more of them to the root */
    }
    if (!rewrite->is_result && !rewrite->refused && has_rule(rewrite, RULE_PROPERTIES) &&
        yyjson_mut_obj_get(root, "properties") == NULL) {
        rewrite_put(rewrite, root, "properties", yyjson_mut_obj(rewrite->doc));
        format_report_add(rewrite->report, "rewritten", &place,
                          "%s requires properties: an empty object is added",
                          rewrite->provider->whose);
    }
    if (has_rule(rewrite, RULE_FEW_WORDS)) {
        (void)yyjson_mut_obj_remove_key(root, "$defs"); /* all references were replaced */
    }
    if (!rewrite->refused && !rewrite->no_memory) {
        rename_keys(rewrite, &place);
    }
    if (has_rule(rewrite, RULE_HEADERS) && !rewrite->is_result) {
        (void)param_header_clean(root, report_header, (void *)(uintptr_t)rewrite->report);
    }
}

/* -------------------------------------------------------------------- text */

/* Whether JSON text is nested too deeply for recursion. Counting all brackets is faster and usually
 * enough. */
static bool nested_too_deeply(const char *text, size_t length) {
    unsigned depth = 0;
    size_t brackets = 0;
    for (size_t i = 0; i < length; i++) {
        brackets += (text[i] == '{') | (text[i] == '[');
    }
    if (brackets <= REWRITE_NESTING_MAX) {
        return false;
    }
    bool in_string = false;
    for (; *text != '\0'; text++) {
        if (in_string) {
            text += *text == '\\' && text[1] != '\0';
            in_string = *text != '"';
        } else if (*text == '"') {
            in_string = true;
        } else if (*text == '{' || *text == '[') {
            if (++depth > REWRITE_NESTING_MAX) {
                return true;
            }
        } else if (*text == '}' || *text == ']') {
            depth -= depth > 0;
        }
    }
    return false;
}

/* Whether `$schema` names a draft. Schemas of drafts before 7 are read as 2020-12. */
static bool says_dialect(yyjson_mut_val *root, const char *draft) {
    const char *dialect = yyjson_mut_get_str(yyjson_mut_obj_get(root, "$schema"));
    return dialect != NULL && strstr(dialect, draft) != NULL;
}

int rewrite_text(struct rewrite *rewrite, const char *text, struct buf *out, bool *strict) {
    const char *said = text != NULL ? text : "{\"type\":\"object\",\"properties\":{}}";
    yyjson_read_err problem = {0};
    size_t length = strlen(said);
    if (nested_too_deeply(said, length)) {
        rewrite_refuse(rewrite, NULL, "the schema is nested more than %u levels deep",
                       REWRITE_NESTING_MAX);
        return TOOLRACK_E_INVALID;
    }
    /* yyjson writes to its input only with a flag that is not set here. */
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = yyjson_read_opts((char *)(uintptr_t)said, length, YYJSON_READ_BIGNUM_AS_RAW,
                                        rewrite->memory, &problem);
    if (read == NULL && problem.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        rewrite_refuse(rewrite, NULL, "the schema is not JSON: %s at byte %zu", problem.msg,
                       problem.pos);
        return TOOLRACK_E_INVALID;
    }
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *doc = read != NULL ? yyjson_doc_mut_copy(read, rewrite->memory) : NULL;
    if (doc == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    rewrite->rules = rewrite->provider->rules;
    rewrite->doc = doc;
    rewrite->root = yyjson_mut_doc_get_root(doc);
    if (!has_rule(rewrite, RULE_DIALECT)) {
        rewrite->is_old = says_dialect(rewrite->root, "draft-07");
        rewrite->says_dialect = rewrite->is_old || says_dialect(rewrite->root, "2020-12");
    } else {
        bool is_draft_7 = says_dialect(rewrite->root, "draft-07");
        if (is_draft_7) {
            leave_references_alone(rewrite, rewrite->root);
        }
        rewrite_resources(rewrite, is_draft_7);
    }
    rewrite_root(rewrite);
    rewrite->is_object = yyjson_mut_equals_str(yyjson_mut_obj_get(rewrite->root, "type"), "object");
    if (strict != NULL && !rewrite->refused && !rewrite->no_memory) {
        *strict = rewrite_close_strict(rewrite, rewrite->root);
    }
    if (rewrite->no_memory || rewrite->refused) {
        return rewrite->no_memory ? TOOLRACK_E_NO_MEMORY : TOOLRACK_E_INVALID;
    }
    char *written = yyjson_mut_val_write_opts(rewrite->root, 0, rewrite->memory, &length, NULL);
    if (written == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    buf_add(out, written, length);
    if (rewrite->memory != NULL) {
        rewrite->memory->free(rewrite->memory->ctx, written);
    } else {
        free(written);
    }
    return out->failed ? TOOLRACK_E_NO_MEMORY : 0;
}
