#include "schema/translate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json.h"
#include "schema/dialect.h"
#include "schema/doubtful.h"
#include "schema/draft.h"
#include "schema/keyword.h"
#include "schema/schema.h"
#include "schema/type-text.h"
#include "schema/uri.h"

/* Most bytes of a word that are shown, and longest cause and fix. */
#define SHOWN_MAX       40
#define WORDS_MAX       256
/* References whose target is looked for by its id, each in the whole schema. */
#define IDS_MAX         64u
/* References at the root, one to the other. */
#define ROOT_ROUNDS_MAX 16u

struct translation {
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    bool is_native;  /* its draft is known as it is: its own keywords stay */
    bool refs_alone; /* its draft ignores what is beside a reference */
    unsigned ids;
    yyjson_mut_val *resource; /* the innermost schema with a URI of its own, or the root */
    yyjson_mut_val *base;     /* the innermost one within the root with a URI in `id`, or NULL */
    size_t base_length;       /* of its pointer, with which that of the current place begins */
    translate_report *report;
    void *user;
    const char *wanted;             /* the id that is looked for */
    size_t found;                   /* schemas that have it */
    char *place;                    /* of the last of them */
    char pointer[JSON_POINTER_MAX]; /* of the current place */
};

TOOLRACK_PRINTF(3, 4)
static void tell(const struct translation *t, const char *fix, const char *cause, ...) {
    char text[WORDS_MAX];
    va_list args;
    va_start(args, cause);
    (void)vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    t->report(t->user, t->pointer, fix, text);
}

/* -------------------------------------------------------------------- types */

/* Tell what the text of a type is taken for. A lone type is shown as it is, else the keywords. */
static void tell_type(const struct translation *t, const char *said, yyjson_mut_val *meant,
                      enum type_loss loss) {
    static const char *const losses[] = {
            [TYPE_LOSS_NONE] = "",
            [TYPE_LOSS_BRACKETS] = ", and what is in the brackets is not checked",
            [TYPE_LOSS_SIZES] = ", and the bounds of its numbers are not checked",
            [TYPE_LOSS_REST] = ", and what else it says is not checked"};
    char fix[WORDS_MAX] = "leave the type out";
    yyjson_mut_val *type = yyjson_mut_obj_get(meant, "type");
    bool is_lone = yyjson_mut_obj_size(meant) == 1;
    size_t length = 0;
    CLEANUP(freep)
    char *text = yyjson_mut_val_write(is_lone ? type : meant, YYJSON_WRITE_NOFLAG, &length);
    if (text == NULL) {
        return;
    }
    int shown = (int)(is_lone ? length : length - 2); /* without the braces */
    if (type != NULL) {
        (void)snprintf(fix, sizeof fix, "write %.*s", shown, text + !is_lone);
    }
    tell(t, fix, "\"%.*s\" is not a type of JSON Schema; it is taken for %.*s%s", SHOWN_MAX, said,
         type != NULL ? shown : (int)strlen("any value"),
         type != NULL ? text + !is_lone : "any value", losses[loss]);
}

/* Take a bound that a type has, if the schema has none that is stricter. */
static void set_bound(const struct translation *t, yyjson_mut_val *schema, yyjson_mut_val *meant,
                      bool is_low) {
    const char *keyword = is_low ? "minimum" : "maximum";
    const char *exclusive = is_low ? "exclusiveMinimum" : "exclusiveMaximum";
    yyjson_mut_val *bound = yyjson_mut_obj_get(meant, keyword);
    yyjson_mut_val *known = yyjson_mut_obj_get(schema, keyword);
    bool is_exclusive = yyjson_mut_is_true(yyjson_mut_obj_get(schema, exclusive));
    double more = yyjson_mut_get_num(bound) - yyjson_mut_get_num(known);
    if (bound == NULL || (known == NULL && is_exclusive) ||
        (known != NULL && (!yyjson_mut_is_num(known) || (is_low ? more <= 0 : more >= 0)))) {
        return;
    }
    if (known != NULL && is_exclusive) { /* of the bound that was */
        (void)yyjson_mut_obj_remove_key(schema, exclusive);
    }
    (void)yyjson_mut_obj_put(schema, yyjson_mut_str(t->doc, keyword),
                             yyjson_mut_val_mut_copy(t->doc, bound));
}

/* Take what a type says of the values in it, where the schema does not say it by itself. */
static void set_inner(const struct translation *t, yyjson_mut_val *schema, yyjson_mut_val *meant,
                      const char *keyword, const char *other) {
    yyjson_mut_val *inner = yyjson_mut_obj_get(meant, keyword);
    if (inner != NULL && yyjson_mut_obj_get(schema, keyword) == NULL &&
        yyjson_mut_obj_get(schema, other) == NULL) {
        (void)yyjson_mut_obj_add_val(t->doc, schema, keyword,
                                     yyjson_mut_val_mut_copy(t->doc, inner));
    }
}

static void take_meaning(const struct translation *t, yyjson_mut_val *schema,
                         yyjson_mut_val *meant) {
    yyjson_mut_val *type = yyjson_mut_obj_get(meant, "type");
    if (type == NULL) {
        (void)yyjson_mut_obj_remove_key(schema, "type");
        return;
    }
    (void)yyjson_mut_obj_replace(schema, yyjson_mut_str(t->doc, "type"),
                                 yyjson_mut_val_mut_copy(t->doc, type));
    set_inner(t, schema, meant, "items", "prefixItems");
    set_inner(t, schema, meant, "additionalProperties", "properties");
    set_bound(t, schema, meant, true);
    set_bound(t, schema, meant, false);
}

/* Read one text of a type, and tell what it is taken for.
 * @return what it means; NULL: it is not known */
static yyjson_mut_val *read_type(const struct translation *t, yyjson_mut_val *type,
                                 bool *ret_changed) {
    const char *said = yyjson_mut_get_str(type);
    enum type_loss loss;
    yyjson_mut_val *meant = said != NULL && strlen(said) == yyjson_mut_get_len(type)
                                    ? type_text_read(t->doc, said, &loss)
                                    : NULL;
    if (meant != NULL && !yyjson_mut_equals_str(yyjson_mut_obj_get(meant, "type"), said)) {
        tell_type(t, said, meant, loss);
        *ret_changed = true;
    }
    return meant;
}

/* A list of types is what any of them means. */
static yyjson_mut_val *read_types(struct translation *t, yyjson_mut_val *list, bool *ret_changed) {
    size_t end = strlen(t->pointer);
    yyjson_mut_val *all = NULL;
    enum type_loss loss = TYPE_LOSS_NONE;
    size_t at;
    size_t count;
    yyjson_mut_val *type;
    yyjson_mut_arr_foreach(list, at, count, type) {
        json_pointer_add_index(t->pointer, at);
        yyjson_mut_val *meant = read_type(t, type, ret_changed);
        t->pointer[end] = '\0';
        all = at == 0 ? meant : type_text_join(t->doc, all, meant, &loss);
    }
    if (all != NULL && loss != TYPE_LOSS_NONE) {
        tell(t, "write them as alternatives of \"anyOf\"",
             "what several types say of the same values is not checked");
    }
    return all;
}

static void correct_type(struct translation *t, yyjson_mut_val *schema) {
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    size_t end = strlen(t->pointer);
    bool changed = false;
    json_pointer_add(t->pointer, "type");
    yyjson_mut_val *meant =
            yyjson_mut_is_arr(type) ? read_types(t, type, &changed) : read_type(t, type, &changed);
    if (meant != NULL && changed) {
        take_meaning(t, schema, meant);
    }
    t->pointer[end] = '\0';
}

/* ----------------------------------------------------------------- keywords */

/* Generators that have no value for a keyword write null. */
static void remove_nulls(struct translation *t, yyjson_mut_val *schema) {
    static const struct dialect dialect = {DRAFT_2020, VOCABULARY_DEFAULT};
    size_t end = strlen(t->pointer);
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(schema);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        const char *name = yyjson_mut_get_str(key);
        enum keyword keyword = keyword_find_name(&dialect, name, yyjson_mut_get_len(key));
        if (keyword != KEYWORD_COUNT && keyword_rows[keyword].shape != SHAPE_ANY &&
            yyjson_mut_is_null(yyjson_mut_obj_iter_get_val(key))) {
            json_pointer_add(t->pointer, name);
            tell(t, "leave it out", "%s is null, and taken for none", name);
            t->pointer[end] = '\0';
            (void)yyjson_mut_obj_iter_remove(&iter);
        }
    }
}

/* Generators that know no values write an empty enum, which would allow none. */
static void remove_empty_enum(struct translation *t, yyjson_mut_val *schema) {
    yyjson_mut_val *list = yyjson_mut_obj_get(schema, "enum");
    if (yyjson_mut_is_arr(list) && yyjson_mut_arr_size(list) == 0) {
        (void)yyjson_mut_obj_remove_key(schema, "enum");
        tell(t, "leave it out, or list the values", "enum has no values, and is taken for none");
    }
}

static bool has_null(yyjson_mut_val *list) {
    size_t at;
    size_t count;
    yyjson_mut_val *value;
    yyjson_mut_arr_foreach(list, at, count, value) {
        if (yyjson_mut_is_null(value)) {
            return true;
        }
    }
    return false;
}

/* Null as a type beside the others. */
static void add_null_type(const struct translation *t, yyjson_mut_val *schema,
                          yyjson_mut_val *type) {
    yyjson_mut_val *types = yyjson_mut_is_arr(type) ? type : yyjson_mut_arr(t->doc);
    if (type != types) {
        (void)yyjson_mut_arr_append(types, yyjson_mut_val_mut_copy(t->doc, type));
    }
    if (!json_mut_has_text(types, "null")) {
        (void)yyjson_mut_arr_add_str(t->doc, types, "null");
    }
    if (type != types) {
        (void)yyjson_mut_obj_replace(schema, yyjson_mut_str(t->doc, "type"), types);
    }
}

/* Null as an alternative to what a keyword says. */
static void add_null_choice(const struct translation *t, yyjson_mut_val *schema,
                            const char *keyword) {
    yyjson_mut_val *said = yyjson_mut_obj_remove_key(schema, keyword);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(t->doc, schema, "anyOf");
    yyjson_mut_val *first = yyjson_mut_arr_add_obj(t->doc, list);
    yyjson_mut_val *null = yyjson_mut_arr_add_obj(t->doc, list);
    (void)yyjson_mut_obj_add_val(t->doc, first, keyword, said);
    (void)yyjson_mut_obj_add_str(t->doc, null, "type", "null");
}

/* The keyword that says alone which values a schema has no type for; NULL: none does, or several.
 */
static const char *lone_choice(yyjson_mut_val *schema) {
    static const char *const keywords[] = {"anyOf", "oneOf", "allOf", "$ref"};
    const char *found = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(keywords); i++) {
        if (yyjson_mut_obj_get(schema, keywords[i]) != NULL) {
            if (found != NULL) {
                return NULL;
            }
            found = keywords[i];
        }
    }
    return found;
}

/* "nullable" of OpenAPI 3.0 speaks of what is beside it: the type, the values, or a choice. */
static void update_nullable(struct translation *t, yyjson_mut_val *schema) {
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    yyjson_mut_val *values = yyjson_mut_obj_get(schema, "enum");
    const char *choice = schema != t->root ? lone_choice(schema) : NULL;
    bool is_typed = type != NULL || values != NULL;
    if (!yyjson_mut_is_true(yyjson_mut_obj_get(schema, "nullable")) ||
        (!is_typed && choice == NULL)) {
        return;
    }
    if (type != NULL) {
        add_null_type(t, schema, type);
    }
    if (yyjson_mut_is_arr(values) && !has_null(values)) {
        (void)yyjson_mut_arr_add_null(t->doc, values);
    }
    if (choice != NULL) {
        add_null_choice(t, schema, choice);
    }
    (void)yyjson_mut_obj_remove_key(schema, "nullable");
    size_t end = strlen(t->pointer);
    json_pointer_add(t->pointer, "nullable");
    tell(t,
         is_typed ? "write \"null\" beside the type, as in \"type\": [\"string\", \"null\"]"
                  : "write {\"type\": \"null\"} as another alternative of \"anyOf\"",
         "nullable is of OpenAPI 3.0; null is taken beside what else is allowed");
    t->pointer[end] = '\0';
}

/* Draft 3 says at each property whether it is required. */
static void collect_required(struct translation *t, yyjson_mut_val *schema) {
    size_t end = strlen(t->pointer);
    yyjson_mut_val *required = yyjson_mut_obj_get(schema, "required");
    yyjson_mut_val *properties = yyjson_mut_obj_get(schema, "properties");
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *property;
    yyjson_mut_obj_foreach(properties, at, count, key, property) {
        yyjson_mut_val *is_required = yyjson_mut_obj_get(property, "required");
        const char *name = yyjson_mut_get_str(key);
        if (!yyjson_mut_is_bool(is_required) ||
            (required != NULL && !yyjson_mut_is_arr(required))) {
            continue;
        }
        if (yyjson_mut_is_true(is_required)) {
            required = required != NULL ? required
                                        : yyjson_mut_obj_add_arr(t->doc, schema, "required");
            yyjson_mut_val *copy = yyjson_mut_val_mut_copy(t->doc, key);
            if (!json_mut_has_text(required, name) && !yyjson_mut_arr_append(required, copy)) {
                return;
            }
        }
        (void)yyjson_mut_obj_remove_key(property, "required");
        json_pointer_add(t->pointer, "properties");
        json_pointer_add(t->pointer, name);
        json_pointer_add(t->pointer, "required");
        tell(t, "list the names of required properties in \"required\", beside \"properties\"",
             "required is true or false of a property in draft 3; read as the list of the object");
        t->pointer[end] = '\0';
    }
}

static void tell_draft(void *user, const char *what) {
    tell(user, "write it as 2020-12 does, or name the draft in \"$schema\"", "%s; read as such",
         what);
}

/* Keywords of draft 3 that later ones do not know: what they would refuse is accepted. */
static void tell_unchecked(struct translation *t, yyjson_mut_val *schema) {
    static const struct {
        const char *name;
        const char *fix;
    } rows[] = {{"disallow", "write it as \"not\""}, {"extends", "write it as \"allOf\""}};
    size_t end = strlen(t->pointer);
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        yyjson_mut_val *value = yyjson_mut_obj_get(schema, rows[i].name);
        if (value == NULL || t->is_native) {
            continue;
        }
        json_pointer_add(t->pointer, rows[i].name);
        tell(t, rows[i].fix, "%s is of draft 3, and is not checked", rows[i].name);
        t->pointer[end] = '\0';
    }
}

static void update_keywords(struct translation *t, yyjson_mut_val *schema) {
    tell_unchecked(t, schema);
    yyjson_mut_val *divisor = yyjson_mut_obj_get(schema, "divisibleBy");
    draft_update_limits(schema, tell_draft, t);
    if (!t->is_native) {
        draft_update_items(schema, tell_draft, t);
        draft_update_dependencies(t->doc, schema, tell_draft, t);
    }
    if (yyjson_mut_is_num(divisor) && yyjson_mut_obj_get(schema, "multipleOf") == NULL) {
        (void)yyjson_mut_obj_rename_key(t->doc, schema, "divisibleBy", "multipleOf");
        tell_draft(t, "divisibleBy is called multipleOf since draft 4");
    }
    remove_empty_enum(t, schema);
    update_nullable(t, schema);
    collect_required(t, schema);
}

/* --------------------------------------------------------------- references */

/* Drafts until 7 ignore what is beside a reference. */
static void leave_alone(struct translation *t, yyjson_mut_val *schema) {
    static const struct dialect dialect = {DRAFT_2020, VOCABULARY_DEFAULT};
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(schema);
    yyjson_mut_val *key;
    bool removed = false;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        enum keyword keyword =
                keyword_find_name(&dialect, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        if (keyword != KEYWORD_COUNT &&
            (keyword_rows[keyword].vocabularies & (VOCABULARY_CORE | VOCABULARY_META_DATA)) == 0) {
            (void)yyjson_mut_obj_iter_remove(&iter);
            removed = true;
        }
    }
    if (removed) {
        tell(t, "leave it out, or put it into \"allOf\" with the reference",
             "what is beside $ref is ignored, as its draft says");
    }
}

/* Whether a schema has a name that 2020-12 does not know: `id` of draft 4, or an `$id` that is a
 * fragment alone. Beside a reference drafts until 7 ignore it. */
static bool has_old_id(yyjson_mut_val *schema, const char *id) {
    return yyjson_mut_obj_get(schema, "$ref") == NULL &&
           (yyjson_mut_equals_str(yyjson_mut_obj_get(schema, "id"), id) ||
            (id[0] == '#' && yyjson_mut_equals_str(yyjson_mut_obj_get(schema, "$id"), id)));
}

/* Whether a schema has a URI of its own, on which the references in it depend. */
static bool is_resource(yyjson_mut_val *schema) {
    const char *id = yyjson_mut_get_str(yyjson_mut_obj_get(schema, "$id"));
    return id != NULL && id[0] != '\0' && id[0] != '#';
}

/* Whether a schema has a URI by `id`, as until draft 4. */
static bool is_base(yyjson_mut_val *schema) {
    const char *id = yyjson_mut_get_str(yyjson_mut_obj_get(schema, "id"));
    return id != NULL && id[0] != '\0' && id[0] != '#' &&
           yyjson_mut_obj_get(schema, "$ref") == NULL;
}

/* What is done with a schema, before and after those in it; NULL: nothing. */
struct pass {
    void (*before)(struct translation *t, yyjson_mut_val *schema);
    void (*after)(struct translation *t, yyjson_mut_val *schema);
};

static void walk(struct translation *t, const struct pass *pass, yyjson_mut_val *schema,
                 unsigned depth);

/* Replace the text of a reference. @return whether there was memory */
static bool set_reference(const struct translation *t, yyjson_mut_val *reference, const char *now) {
    yyjson_mut_val *copy = yyjson_mut_strcpy(t->doc, now);
    return copy != NULL && yyjson_mut_set_str(reference, yyjson_mut_get_str(copy));
}

/* What a keyword is called once update_keywords() has been there. */
static const char *name_now(yyjson_mut_val *schema, const char *name) {
    bool is_list = yyjson_mut_is_arr(yyjson_mut_obj_get(schema, "items")) &&
                   yyjson_mut_obj_get(schema, "prefixItems") == NULL;
    if (is_list && strcmp(name, "items") == 0) {
        return "prefixItems";
    }
    if (is_list && strcmp(name, "additionalItems") == 0) {
        return "items";
    }
    bool is_map = yyjson_mut_obj_get(schema, "dependentRequired") == NULL &&
                  yyjson_mut_obj_get(schema, "dependentSchemas") == NULL;
    return is_map && strcmp(name, "dependencies") == 0 ? "dependentSchemas" : name;
}

/* What is in a value of some shape, one step further; SHAPE_ANY: no schemas. */
static enum shape shape_behind(enum shape shape, const char *name, yyjson_mut_val *value) {
    static const struct dialect old = {DRAFT_2019, VOCABULARY_DEFAULT};
    static const struct dialect new = {DRAFT_2020, VOCABULARY_DEFAULT};
    if (shape == SHAPE_SCHEMAS || shape == SHAPE_SCHEMA_MAP || shape == SHAPE_DEPENDENCIES) {
        return SHAPE_SCHEMA;
    }
    if (shape != SHAPE_SCHEMA) {
        return SHAPE_ANY;
    }
    enum keyword keyword = keyword_find_name(&old, name, strlen(name));
    if (keyword == KEYWORD_COUNT) {
        keyword = keyword_find_name(&new, name, strlen(name));
    }
    if (keyword == KEYWORD_OLD_ITEMS) {
        return yyjson_mut_is_arr(value) ? SHAPE_SCHEMAS : SHAPE_SCHEMA;
    }
    return keyword != KEYWORD_COUNT ? keyword_rows[keyword].shape : SHAPE_ANY;
}

/* A reference to a place goes with what is there where the keywords on the way are renamed. Names
 * of properties and what is in values that are no schemas stay. */
static void update_place(struct translation *t, yyjson_mut_val *reference) {
    const char *text = yyjson_mut_get_str(reference);
    yyjson_mut_val *value = t->resource;
    enum shape shape = SHAPE_SCHEMA;
    char step[JSON_POINTER_MAX];
    char now[2 * JSON_POINTER_MAX] = "#"; /* no name becomes more than twice as long */
    if (strlen(text) >= sizeof step) {
        return;
    }
    for (const char *at = text + 1; *at == '/' && value != NULL;) {
        size_t length = 1 + strcspn(at + 1, "/");
        (void)memcpy(step, at, length);
        step[length] = '\0';
        char *end = now + strlen(now);
        (void)snprintf(end, (size_t)(now + sizeof now - end), "/%s",
                       shape == SHAPE_SCHEMA ? name_now(value, step + 1) : step + 1);
        value = yyjson_mut_ptr_getn(value, step, length);
        shape = shape_behind(shape, step + 1, value);
        at += length;
    }
    if (value != NULL && strcmp(now, text) != 0) {
        (void)set_reference(t, reference, now);
    }
}

/* The search begins at its root; a schema with a URI of its own has names of its own, and a place
 * that is too long for a pointer is none. */
static void note_id(struct translation *t, yyjson_mut_val *schema) {
    if (t->resource == t->root && has_old_id(schema, t->wanted) &&
        yyjson_mut_ptr_get(t->root, t->pointer) == schema) {
        t->found++;
        (void)strcpy(t->place, t->pointer);
    }
}

/* A reference to an id of an earlier draft becomes one to the place of the schema that has it,
 * which is none of a value such as a default. A URI in `$id` is found as it is. */
static void update_named(struct translation *t, yyjson_mut_val *reference) {
    static const struct pass ids = {.before = note_id};
    const char *text = yyjson_mut_get_str(reference);
    char place[JSON_POINTER_MAX] = "";
    struct translation search = *t;
    search.wanted = text;
    search.place = place;
    search.root = t->resource;
    search.pointer[0] = '\0';
    if (t->ids++ < IDS_MAX) {
        walk(&search, &ids, t->resource, 0);
    }
    if (search.found > 1) {
        tell(t, "let each schema have an id of its own",
             "the reference \"%.*s\" names several schemas", SHOWN_MAX, text);
    }
    char now[JSON_POINTER_MAX + 1];
    (void)snprintf(now, sizeof now, "#%s", place);
    if (search.found != 1 || strchr(place, '%') != NULL || !set_reference(t, reference, now)) {
        return;
    }
    tell(t, "refer to its place",
         "the reference \"%.*s\" names the id of a schema; it is taken for "
         "\"%.*s\"",
         SHOWN_MAX, text, SHOWN_MAX, now);
    update_place(t, reference);
}

/* Until draft 4 a place is one within the innermost schema with an `id`. Where there is such a
 * place, the reference becomes one to it from the root. */
static void update_base(struct translation *t, yyjson_mut_val *reference) {
    const char *text = yyjson_mut_get_str(reference);
    char now[2 * JSON_POINTER_MAX];
    if (t->base == NULL || t->resource != t->root || strlen(text) >= JSON_POINTER_MAX ||
        memchr(t->pointer, '%', t->base_length) != NULL ||
        yyjson_mut_ptr_getn(t->root, t->pointer, t->base_length) != t->base ||
        !yyjson_mut_is_obj(yyjson_mut_ptr_get(t->base, text + 1))) {
        return;
    }
    (void)snprintf(now, sizeof now, "#%.*s%s", (int)t->base_length, t->pointer, text + 1);
    tell(t, "refer to its place in the whole schema",
         "the reference \"%.*s\" is within a schema with an id; it is taken for \"%.*s\"",
         SHOWN_MAX, text, 2 * SHOWN_MAX, now);
    (void)set_reference(t, reference, now);
}

static void update_reference(struct translation *t, yyjson_mut_val *schema) {
    yyjson_mut_val *reference = yyjson_mut_obj_get(schema, "$ref");
    const char *text = yyjson_mut_get_str(reference);
    if (text == NULL || t->is_native || strcmp(text, "#") == 0) {
        return;
    }
    if (strncmp(text, "#/", 2) == 0) {
        update_base(t, reference);
        update_place(t, reference);
    } else {
        update_named(t, reference);
    }
}

/* An id that is a name alone is an anchor until draft 7. References to it have its place now. */
static void remove_name(const struct translation *t, yyjson_mut_val *schema) {
    const char *id = yyjson_mut_get_str(yyjson_mut_obj_get(schema, "$id"));
    if (id != NULL && id[0] == '#' && !t->is_native) {
        (void)yyjson_mut_obj_remove_key(schema, "$id");
    }
}

/* ------------------------------------------------------------------ schemas */

/* The schemas that are members or items of a value. */
static void walk_parts(struct translation *t, const struct pass *pass, yyjson_mut_val *value,
                       unsigned depth) {
    size_t end = strlen(t->pointer);
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *part;
    yyjson_mut_arr_foreach(value, at, count, part) {
        json_pointer_add_index(t->pointer, at);
        walk(t, pass, part, depth);
        t->pointer[end] = '\0';
    }
    yyjson_mut_obj_foreach(value, at, count, key, part) {
        json_pointer_add(t->pointer, yyjson_mut_get_str(key));
        walk(t, pass, part, depth);
        t->pointer[end] = '\0';
    }
}

static void walk(struct translation *t, const struct pass *pass, yyjson_mut_val *schema,
                 unsigned depth) {
    if (!yyjson_mut_is_obj(schema) || depth > SCHEMA_DEPTH_MAX) {
        return;
    }
    size_t end = strlen(t->pointer);
    yyjson_mut_val *around = t->resource;
    yyjson_mut_val *base_around = t->base;
    size_t length_around = t->base_length;
    t->resource = is_resource(schema) ? schema : around;
    if (schema != t->root && is_base(schema)) {
        t->base = schema;
        t->base_length = end;
    }
    if (pass->before != NULL) {
        pass->before(t, schema);
    }
    for (unsigned i = 0; i < KEYWORD_COUNT; i++) {
        const struct keyword_row *row = &keyword_rows[i];
        yyjson_mut_val *value =
                i != KEYWORD_OLD_ITEMS ? yyjson_mut_obj_get(schema, row->name) : NULL;
        bool is_one = row->shape == SHAPE_SCHEMA && yyjson_mut_is_obj(value);
        bool is_more = row->shape == SHAPE_SCHEMAS || row->shape == SHAPE_SCHEMA_MAP ||
                       row->shape == SHAPE_DEPENDENCIES ||
                       (i == KEYWORD_ITEMS && yyjson_mut_is_arr(value));
        if (value == NULL || (!is_one && !is_more)) {
            continue;
        }
        json_pointer_add(t->pointer, row->name);
        if (is_one) {
            walk(t, pass, value, depth + 1);
        } else {
            walk_parts(t, pass, value, depth + 1);
        }
        t->pointer[end] = '\0';
    }
    if (pass->after != NULL) {
        pass->after(t, schema);
    }
    t->resource = around;
    t->base = base_around;
    t->base_length = length_around;
}

static void prepare(struct translation *t, yyjson_mut_val *schema) {
    remove_nulls(t, schema);
    correct_type(t, schema);
    /* A validator of draft 7 ignores it by itself; of the root nothing would be left then. */
    if (t->refs_alone && (!t->is_native || schema == t->root) &&
        yyjson_mut_obj_get(schema, "$ref") != NULL) {
        leave_alone(t, schema);
    }
}

/* Tell what says nothing, or not what it was meant to say. It stays. */
static void tell_doubt(struct translation *t, const struct doubt *doubt) {
    size_t end = strlen(t->pointer);
    json_pointer_add(t->pointer, doubt->key);
    tell(t, doubt->fix, "%s", doubt->cause);
    t->pointer[end] = '\0';
}

static void tell_doubts(struct translation *t, yyjson_mut_val *schema) {
    struct doubt doubt;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        if (doubtful_member(key, value, &doubt)) {
            tell_doubt(t, &doubt);
        }
    }
}

static void finish(struct translation *t, yyjson_mut_val *schema) {
    remove_name(t, schema);
    update_keywords(t, schema);
    tell_doubts(t, schema);
}

/* ------------------------------------------------------------------- the root */

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* What draft the root names. */
static void read_draft(struct translation *t) {
    const char *draft = yyjson_mut_get_str(yyjson_mut_obj_get(t->root, "$schema"));
    const char *behind = draft == NULL               ? NULL
                         : begins(draft, "https://") ? draft + strlen("https://")
                         : begins(draft, "http://")  ? draft + strlen("http://")
                                                     : NULL;
    if (behind == NULL) {
        return;
    }
    bool is_early = begins(behind, "json-schema.org/draft-03/") ||
                    begins(behind, "json-schema.org/draft-04/") ||
                    begins(behind, "json-schema.org/draft-05/") ||
                    begins(behind, "json-schema.org/draft-06/") ||
                    begins(behind, "json-schema.org/schema");
    t->is_native = begins(behind, "json-schema.org/draft-07/") ||
                   begins(behind, "json-schema.org/draft/2019-09/");
    t->refs_alone = is_early || begins(behind, "json-schema.org/draft-07/");
    if (is_early || begins(behind, "spec.openapis.org/oas/3.1/")) {
        (void)yyjson_mut_obj_remove_key(t->root, "$schema");
        (void)strcpy(t->pointer, "/$schema");
        tell(t, "leave it out", "\"%.*s\" is taken for JSON Schema 2020-12", 2 * SHOWN_MAX, draft);
        t->pointer[0] = '\0';
    }
}

/* The schema at a place of the root, or NULL. */
static yyjson_mut_val *find_target(const struct translation *t, const char *reference) {
    CLEANUP(arena_finish) struct arena arena;
    size_t length = 0;
    struct uri_part encoded = {reference + 1, strlen(reference + 1)};
    char room[JSON_POINTER_MAX];
    arena_init(&arena, room, sizeof room);
    const char *pointer = uri_decode(&arena, encoded, &length);
    yyjson_mut_val *target = pointer != NULL ? yyjson_mut_ptr_getn(t->root, pointer, length) : NULL;
    return yyjson_mut_is_obj(target) && target != t->root ? target : NULL;
}

/* Whether a member says nothing of the values that are valid. */
static bool is_about_nothing(yyjson_mut_val *key) {
    static const struct dialect dialect = {DRAFT_2020, VOCABULARY_DEFAULT};
    enum keyword keyword =
            keyword_find_name(&dialect, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
    return keyword == KEYWORD_COUNT || keyword == KEYWORD_REF ||
           (keyword_rows[keyword].vocabularies &
            (VOCABULARY_APPLICATOR | VOCABULARY_VALIDATION | VOCABULARY_UNEVALUATED)) == 0;
}

/* Whether the target of the root's reference can be in its place: there is nothing beside the
 * reference that speaks of the same values. */
static bool may_be_inlined(const struct translation *t, yyjson_mut_val *target) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(t->root, at, count, key, value) {
        bool is_same = yyjson_mut_equals(value, yyjson_mut_obj_getn(target, yyjson_mut_get_str(key),
                                                                    yyjson_mut_get_len(key)));
        if (!is_same && !is_about_nothing(key)) {
            return false;
        }
    }
    return yyjson_mut_obj_get(target, "$id") == NULL;
}

/* Copy what the root does not have. @return whether there was memory */
static bool inline_target(const struct translation *t, yyjson_mut_val *target) {
    static const char *const own[] = {"$schema", "$defs", "definitions",
                                      "$anchor", "id",    "nullable"};
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(t->doc, target);
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
        (void)yyjson_mut_obj_remove_key(copy, own[i]);
    }
    yyjson_mut_obj_foreach(t->root, at, count, key, value) {
        if (!yyjson_mut_equals_str(key, "$ref")) {
            (void)yyjson_mut_obj_remove_keyn(copy, yyjson_mut_get_str(key),
                                             yyjson_mut_get_len(key));
        }
    }
    if (copy == NULL) {
        return false;
    }
    (void)yyjson_mut_obj_remove_key(t->root, "$ref");
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(copy);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        value = yyjson_mut_obj_iter_remove(&iter);
        (void)yyjson_mut_obj_add(t->root, key, value);
    }
    return true;
}

/* Put the root's reference into its allOf: both apply. @return whether there was memory */
static bool move_reference(const struct translation *t, yyjson_mut_val *reference) {
    yyjson_mut_val *all = yyjson_mut_obj_get(t->root, "allOf");
    yyjson_mut_val *part = yyjson_mut_obj(t->doc);
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(t->doc, reference);
    yyjson_mut_val *list = all != NULL ? all : yyjson_mut_obj_add_arr(t->doc, t->root, "allOf");
    if (!yyjson_mut_obj_add(part, yyjson_mut_str(t->doc, "$ref"), copy) ||
        !yyjson_mut_arr_append(list, part)) {
        return false;
    }
    (void)yyjson_mut_obj_remove_key(t->root, "$ref");
    return true;
}

/* The definition of the root whose `$id` is the reference, or NULL. */
static yyjson_mut_val *find_named(const struct translation *t, const char *reference) {
    static const char *const maps[] = {"$defs", "definitions"};
    for (size_t i = 0; i < ARRAY_LENGTH(maps); i++) {
        yyjson_mut_val *schema;
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(yyjson_mut_obj_get(t->root, maps[i]));
        while ((schema = yyjson_mut_obj_iter_get_val(yyjson_mut_obj_iter_next(&iter))) != NULL) {
            if (yyjson_mut_equals_str(yyjson_mut_obj_get(schema, "$id"), reference)) {
                return schema;
            }
        }
    }
    return NULL;
}

/* Replace the root's reference. @return false: it has none that can be */
static bool resolve_reference(struct translation *t) {
    yyjson_mut_val *reference = yyjson_mut_obj_get(t->root, "$ref");
    const char *text = yyjson_mut_get_str(reference);
    yyjson_mut_val *target = text == NULL         ? NULL
                             : begins(text, "#/") ? find_target(t, text)
                                                  : find_named(t, text);
    return target != NULL &&
           (may_be_inlined(t, target) ? inline_target(t, target) : move_reference(t, reference));
}

/* The arguments are an object, whose properties providers and the command read at the root. */
static void resolve_root(struct translation *t) {
    unsigned rounds = 0;
    while (rounds < ROOT_ROUNDS_MAX && resolve_reference(t)) {
        rounds++;
    }
    if (rounds > 0) {
        (void)strcpy(t->pointer, "/$ref");
        tell(t, "write what it refers to in its place",
             "the schema is a reference at its root; it is taken for what that refers to");
        t->pointer[0] = '\0';
    }
}

static void set_root_type(struct translation *t) {
    yyjson_mut_val *type = yyjson_mut_obj_get(t->root, "type");
    yyjson_mut_val *key = yyjson_mut_str(t->doc, "type");
    yyjson_mut_val *object = yyjson_mut_str(t->doc, "object");
    if (yyjson_mut_is_arr(type) && json_mut_has_text(type, "object")) {
        (void)yyjson_mut_obj_replace(t->root, key, object);
    } else if (type != NULL || !yyjson_mut_obj_insert(t->root, key, object, 0)) {
        return;
    }
    tell(t, "write \"type\": \"object\"",
         "the schema does not say at its root that arguments are an object; it is taken to say so");
}

void translate_schema(yyjson_mut_doc *doc, yyjson_mut_val *schema, translate_report *report,
                      void *user) {
    static const struct pass references = {.before = update_reference};
    static const struct pass all = {.before = prepare, .after = finish};
    struct translation t = {
            .doc = doc, .root = schema, .resource = schema, .report = report, .user = user};
    read_draft(&t);
    walk(&t, &references, schema, 0); /* while the ids are there */
    walk(&t, &all, schema, 0);
    struct doubt doubt;
    if (yyjson_mut_is_obj(schema)) {
        resolve_root(&t);
        if (doubtful_root(schema, &doubt)) {
            tell_doubt(&t, &doubt);
        }
        set_root_type(&t);
    }
}
