/* Merge several schemas into one.
 *
 * Providers want the root to be one plain object. `allOf` is merged into it. For `anyOf` and
 * `oneOf` it gets the properties of all alternatives, and requires what all of them require; the
 * description tells the model which properties belong together. */
#include "format/schema-fold.h"

#include <string.h>

#include "base/cleanup.h"
#include "format/schema-keyword.h"

/* References followed one after the other at one place, and most bytes of a reference that are
 * shown. */
#define FOLD_ROUNDS_MAX     64u
#define REFERENCE_SHOWN_MAX 60
/* Optional properties of an alternative that its description names. */
#define FOLD_OPTIONAL_MAX   16u

static bool fold_at(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                    bool choices);

/* The member `key` of `schema`; created if it is missing or of another type. */
static yyjson_mut_val *member_of(struct rewrite *rewrite, yyjson_mut_val *schema, const char *key,
                                 bool is_list) {
    yyjson_mut_val *value = yyjson_mut_obj_get(schema, key);
    if (is_list ? yyjson_mut_is_arr(value) : yyjson_mut_is_obj(value)) {
        return value;
    }
    (void)yyjson_mut_obj_remove_key(schema, key);
    value = is_list ? yyjson_mut_arr(rewrite->doc) : yyjson_mut_obj(rewrite->doc);
    rewrite_put(rewrite, schema, key, value);
    return value;
}

/* Join two schemas at one key: both apply (`how` "allOf"), or one of them ("anyOf"). */
static void join_schemas(struct rewrite *rewrite, yyjson_mut_val *object, yyjson_mut_val *key,
                         yyjson_mut_val *more, const char *how) {
    const char *name = yyjson_mut_get_str(key);
    size_t length = yyjson_mut_get_len(key);
    yyjson_mut_val *old = yyjson_mut_obj_getn(object, name, length);
    if (yyjson_mut_equals(old, more)) {
        return;
    }
    yyjson_mut_val *both = yyjson_mut_obj(rewrite->doc);
    yyjson_mut_val *list = yyjson_mut_arr(rewrite->doc);
    yyjson_mut_val *first = rewrite_copy(rewrite, old);
    rewrite_check(rewrite, yyjson_mut_arr_append(list, first) && yyjson_mut_arr_append(list, more));
    rewrite_put(rewrite, both, how, list);
    (void)yyjson_mut_obj_replace(object, key, both);
}

/* Move the members of `from` into `to`; if both have a member, `how` joins them; with NULL the old
 * one stays. */
static void move_properties(struct rewrite *rewrite, yyjson_mut_val *to, yyjson_mut_val *from,
                            const char *how) {
    if (yyjson_mut_obj_size(to) + yyjson_mut_obj_size(from) > REWRITE_PROPERTIES_MAX) {
        rewrite_refuse(rewrite, NULL, "the merged schema has more than %u properties",
                       REWRITE_PROPERTIES_MAX);
        return;
    }
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(from);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_remove(&iter);
        if (yyjson_mut_obj_getn(to, yyjson_mut_get_str(key), yyjson_mut_get_len(key)) == NULL) {
            rewrite_check(rewrite, yyjson_mut_obj_add(to, key, value));
        } else if (how != NULL) {
            join_schemas(rewrite, to, key, value, how);
        }
    }
}

static void add_required(struct rewrite *rewrite, yyjson_mut_val *schema, yyjson_mut_val *names) {
    if (yyjson_mut_arr_size(names) == 0) {
        return;
    }
    yyjson_mut_val *required = member_of(rewrite, schema, "required", true);
    if (yyjson_mut_arr_size(names) + yyjson_mut_arr_size(required) > REWRITE_REQUIRED_MAX) {
        rewrite_refuse(rewrite, NULL, "more than %u properties are required", REWRITE_REQUIRED_MAX);
        return;
    }
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_arr_foreach(names, at, count, name) {
        const char *text = yyjson_mut_get_str(name);
        if (text != NULL && !rewrite_lists(required, text, strlen(text))) {
            rewrite_check(rewrite, yyjson_mut_arr_add_strcpy(rewrite->doc, required, text));
        }
    }
}

/* ------------------------------------------------------------------ allOf */

/* Add the keywords of a part. When both have a keyword that cannot be merged, the first stays: that
 * drops a constraint and adds none. */
static void merge_part(struct rewrite *rewrite, yyjson_mut_val *schema, yyjson_mut_val *part) {
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(part);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        enum format_keyword keyword =
                format_keyword_find(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        yyjson_mut_val *value = yyjson_mut_obj_iter_remove(&iter);
        switch (keyword) {
        case KEYWORD_PROPERTIES:
            move_properties(rewrite, member_of(rewrite, schema, "properties", false), value,
                            "allOf");
            break;
        case KEYWORD_REQUIRED: add_required(rewrite, schema, value); break;
        case KEYWORD_DEFS:
        case KEYWORD_DEFINITIONS:
            move_properties(rewrite,
                            member_of(rewrite, schema, format_keywords[keyword].name, false), value,
                            NULL);
            break;
        case KEYWORD_ADDITIONAL:
        case KEYWORD_UNEVALUATED_PROPERTIES: /* would forbid what other parts allow */ break;
        default:
            if (yyjson_mut_obj_getn(schema, yyjson_mut_get_str(key), yyjson_mut_get_len(key)) ==
                NULL) {
                rewrite_check(rewrite, yyjson_mut_obj_add(schema, key, value));
            }
        }
    }
}

static void fold_parts(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                       bool choices) {
    yyjson_mut_val *parts = yyjson_mut_obj_remove_key(schema, "allOf");
    if (!yyjson_mut_is_arr(parts)) {
        return;
    }
    format_report_add(rewrite->report, "rewritten", place,
                      "%s does not accept allOf here: its parts are merged",
                      rewrite->provider->whose);
    yyjson_mut_val *part;
    while ((part = yyjson_mut_arr_remove_first(parts)) != NULL) {
        if (yyjson_mut_is_obj(part) && fold_at(rewrite, place, part, choices)) {
            merge_part(rewrite, schema, part);
        }
    }
}

/* ------------------------------------------------------------------- $ref */

static void fold_reference(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                           bool too_often) {
    yyjson_mut_val *reference = yyjson_mut_obj_remove_key(schema, "$ref");
    const char *text = yyjson_mut_get_str(reference);
    yyjson_mut_val *target = text != NULL ? rewrite_resolve(rewrite, text) : NULL;
    bool known = yyjson_mut_is_obj(target);
    if (!known || too_often || rewrite_is_inside(place, target)) {
        format_report_add(rewrite->report, "rewritten", place,
                          "the reference \"%.*s\" %s: any value is allowed here",
                          REFERENCE_SHOWN_MAX, text != NULL ? text : "",
                          known ? "refers to itself" : "has no target");
        return;
    }
    format_report_add(rewrite->report, "rewritten", place,
                      "%s does not accept $ref here: replaced by what it refers to",
                      rewrite->provider->whose);
    yyjson_mut_val *copy = rewrite_copy(rewrite, target);
    if (copy == NULL) {
        return;
    }
    place->target = target;
    merge_part(rewrite, schema, copy);
}

/* ----------------------------------------------------------- anyOf, oneOf */

/* The only value that a property may have, or NULL. */
static yyjson_mut_val *only_value(struct rewrite *rewrite, yyjson_mut_val *alternative,
                                  const char *name, size_t length) {
    yyjson_mut_val *properties = yyjson_mut_obj_get(alternative, "properties");
    yyjson_mut_val *property = yyjson_mut_obj_getn(properties, name, length);
    const char *reference = yyjson_mut_get_str(yyjson_mut_obj_get(property, "$ref"));
    if (reference != NULL) {
        property = rewrite_resolve(rewrite, reference);
    }
    yyjson_mut_val *value = yyjson_mut_obj_get(property, "const");
    yyjson_mut_val *values = yyjson_mut_obj_get(property, "enum");
    return value != NULL                      ? value
           : yyjson_mut_arr_size(values) == 1 ? yyjson_mut_arr_get_first(values)
                                              : NULL;
}

/* A property, and its value if it may have no other. */
static void add_property(struct buf *text, const char *name, size_t length, yyjson_mut_val *value) {
    buf_add(text, name, length);
    if (value != NULL && !yyjson_mut_is_ctn(value)) {
        CLEANUP(freep) char *json = yyjson_mut_val_write(value, 0, NULL);
        text->failed = text->failed || json == NULL;
        buf_printf(text, " %s", json != NULL ? json : "");
    }
}

/* What an alternative requires; with `fixed`, of what may have one value alone, else of the rest.
 * @return whether there is any */
static bool add_required_names(struct rewrite *rewrite, struct buf *text,
                               yyjson_mut_val *alternative, bool fixed, const char *before) {
    yyjson_mut_val *required = yyjson_mut_obj_get(alternative, "required");
    bool any = false;
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_arr_foreach(required, at, count, name) {
        const char *own = yyjson_mut_get_str(name);
        size_t length = yyjson_mut_get_len(name);
        yyjson_mut_val *value = own != NULL ? only_value(rewrite, alternative, own, length) : NULL;
        if (own != NULL && (value != NULL) == fixed) {
            buf_add_text(text, any ? ", " : before);
            add_property(text, own, length, value);
            any = true;
        }
    }
    return any;
}

/* `op "add": a, b, [c]`: what tells it from the others, what else it requires, what it allows.
 * @return whether there is anything to say */
static bool describe_alternative(struct rewrite *rewrite, struct buf *text,
                                 yyjson_mut_val *alternative) {
    yyjson_mut_val *required = yyjson_mut_obj_get(alternative, "required");
    yyjson_mut_val *properties = yyjson_mut_obj_get(alternative, "properties");
    bool is_fixed = add_required_names(rewrite, text, alternative, true, "");
    bool any = add_required_names(rewrite, text, alternative, false, is_fixed ? ": " : "");
    size_t optional = 0;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *property;
    yyjson_mut_obj_foreach(properties, at, count, key, property) {
        const char *name = yyjson_mut_get_str(key);
        size_t length = yyjson_mut_get_len(key);
        if (rewrite_lists(required, name, length) || optional > FOLD_OPTIONAL_MAX) {
            continue;
        }
        buf_add_text(text, any ? ", " : is_fixed ? ": " : "");
        any = true;
        if (optional++ == FOLD_OPTIONAL_MAX) {
            buf_add_text(text, "...");
            continue;
        }
        buf_add_char(text, '[');
        add_property(text, name, length, only_value(rewrite, alternative, name, length));
        buf_add_char(text, ']');
    }
    return is_fixed || any;
}

/* `Give one of: op "add": a; op "del": id, [force].` */
static void describe_choice(struct rewrite *rewrite, yyjson_mut_val *schema,
                            yyjson_mut_val *alternatives) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    yyjson_mut_val *old = yyjson_mut_obj_get(schema, "description");
    size_t at;
    size_t count;
    yyjson_mut_val *alternative;
    if (yyjson_mut_is_str(old)) {
        buf_printf(&text, "%s\n", yyjson_mut_get_str(old));
    }
    buf_add_text(&text, "Give one of: ");
    yyjson_mut_arr_foreach(alternatives, at, count, alternative) {
        buf_add_text(&text, at > 0 ? "; " : "");
        if (!describe_alternative(rewrite, &text, alternative)) {
            return; /* one alternative says nothing of its properties */
        }
    }
    buf_add_char(&text, '.');
    (void)yyjson_mut_obj_remove_key(schema, "description");
    rewrite_put(rewrite, schema, "description",
                text.failed ? NULL : yyjson_mut_strcpy(rewrite->doc, text.data));
}

/* Require what all alternatives require. */
static void require_common(struct rewrite *rewrite, yyjson_mut_val *schema,
                           yyjson_mut_val *alternatives) {
    yyjson_mut_val *first = yyjson_mut_obj_get(yyjson_mut_arr_get_first(alternatives), "required");
    yyjson_mut_val *common = yyjson_mut_arr(rewrite->doc);
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_arr_foreach(first, at, count, name) {
        size_t i;
        size_t all;
        size_t holders = 0;
        yyjson_mut_val *alternative;
        const char *text = yyjson_mut_get_str(name);
        yyjson_mut_arr_foreach(alternatives, i, all, alternative) {
            holders += text != NULL && rewrite_lists(yyjson_mut_obj_get(alternative, "required"),
                                                     text, strlen(text));
        }
        if (holders == all) {
            rewrite_check(rewrite, yyjson_mut_arr_add_strcpy(rewrite->doc, common, text));
        }
    }
    add_required(rewrite, schema, common);
}

/* Whether the lists are short enough to compare what they require. */
static bool may_be_compared(yyjson_mut_val *alternatives) {
    size_t at;
    size_t count;
    yyjson_mut_val *alternative;
    yyjson_mut_arr_foreach(alternatives, at, count, alternative) {
        if (yyjson_mut_arr_size(yyjson_mut_obj_get(alternative, "required")) >
            REWRITE_REQUIRED_MAX) {
            return false;
        }
    }
    return count > 0 && count <= REWRITE_ALTERNATIVES_MAX;
}

static bool may_be_object(yyjson_mut_val *schema) {
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    return !yyjson_mut_is_str(type) || yyjson_mut_equals_str(type, "object") ||
           yyjson_mut_equals_str(type, "dict");
}

static void fold_choice(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                        const char *keyword) {
    yyjson_mut_val *listed = yyjson_mut_obj_remove_key(schema, keyword);
    if (!yyjson_mut_is_arr(listed)) {
        return;
    }
    format_report_add(rewrite->report, "rewritten", place,
                      "%s does not accept %s here: the properties of all alternatives are listed",
                      rewrite->provider->whose, keyword);
    yyjson_mut_val *alternatives = yyjson_mut_arr(rewrite->doc);
    yyjson_mut_val *alternative;
    while ((alternative = yyjson_mut_arr_remove_first(listed)) != NULL) {
        if (yyjson_mut_is_obj(alternative) && fold_at(rewrite, place, alternative, true) &&
            may_be_object(alternative)) {
            rewrite_check(rewrite, yyjson_mut_arr_append(alternatives, alternative));
        }
    }
    if (may_be_compared(alternatives)) {
        describe_choice(rewrite, schema, alternatives);
        require_common(rewrite, schema, alternatives);
    }
    yyjson_mut_val *joined = yyjson_mut_obj(rewrite->doc);
    size_t at;
    size_t count;
    yyjson_mut_arr_foreach(alternatives, at, count, alternative) {
        move_properties(rewrite, joined, yyjson_mut_obj_get(alternative, "properties"), "anyOf");
    }
    if (yyjson_mut_obj_size(joined) > 0) {
        move_properties(rewrite, member_of(rewrite, schema, "properties", false), joined, NULL);
    }
}

/* ------------------------------------------------------------------- all */

/* Fold one part. @return whether it can be merged. */
static bool fold_at(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                    bool choices) {
    struct place part = {.up = place, .index = PLACE_SAME, .depth = place->depth + 1};
    if (part.depth > REWRITE_DEPTH_MAX || ++rewrite->schemas > REWRITE_SCHEMAS_MAX) {
        rewrite_refuse(rewrite, place, "the schema has too many parts, or is nested too deeply");
        return false;
    }
    rewrite_fold(rewrite, &part, schema, choices);
    return !rewrite->refused;
}

/* Merged parts may contain keywords that have to be merged in turn. */
void rewrite_fold(struct rewrite *rewrite, struct place *place, yyjson_mut_val *schema,
                  bool choices) {
    for (unsigned round = 0; !rewrite->refused && !rewrite->no_memory; round++) {
        if (yyjson_mut_obj_get(schema, "$ref") != NULL) {
            fold_reference(rewrite, place, schema, round > FOLD_ROUNDS_MAX);
        } else if (yyjson_mut_obj_get(schema, "allOf") != NULL) {
            fold_parts(rewrite, place, schema, choices);
        } else if (choices && yyjson_mut_obj_get(schema, "anyOf") != NULL) {
            fold_choice(rewrite, place, schema, "anyOf");
        } else if (choices && yyjson_mut_obj_get(schema, "oneOf") != NULL) {
            fold_choice(rewrite, place, schema, "oneOf");
        } else {
            return;
        }
    }
}
