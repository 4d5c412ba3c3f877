/* Nodes are created from a work list, not by recursion: requesting the node of a place creates an
 * empty node and queues the place, so cycles need no special case and depth takes no stack. The
 * library has checked the shapes of all keywords when it walked the document; only references,
 * regular expressions and limits can fail here. */
#include "schema/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/name.h"
#include "schema/format.h"
#include "schema/graph.h"
#include "schema/quick.h"
#include "schema/reference.h"
#include "schema/regex.h"
#include "schema/run.h"

CLEANUP_DEFINE(struct schema, schema_destroy)

/* Tables up to this size are searched linearly, as a hash would cost more. */
#define LINEAR_PROPERTIES_MAX 8u
#define REQUIRED_BITS         64u

struct compiler {
    struct library *library;
    struct schema *schema;
    struct arena *arena;
    struct place *pending;
    struct dynamic_use *dynamic_uses;
    uint32_t dynamic_names;
};

/* A name that some `$dynamicRef` searches for. */
struct dynamic_use {
    const char *name;
    size_t length;
    uint32_t id;
    struct dynamic_use *next;
};

/* One schema object and the values of its keywords. */
struct subject {
    struct compiler *c;
    struct schema_resource *resource;
    struct node *node;
    yyjson_val *values[KEYWORD_COUNT];
};

static bool says_any(const struct subject *s, const enum keyword *keywords, size_t count) {
    size_t i = 0;
    while (i < count && s->values[keywords[i]] == NULL) {
        i++;
    }
    return i < count;
}

/* ------------------------------------------------------------------------------ node requests */

static int node_of_place(struct compiler *c, struct place *place, const struct node **ret) {
    if (place->node == NULL) {
        place->node = arena_zalloc(c->arena, sizeof *place->node);
        if (place->node == NULL) {
            return error_oom(c->library->err);
        }
        place->next_pending = c->pending;
        c->pending = place;
    }
    *ret = place->node;
    return 0;
}

/* The node of a subschema inside a schema that has been walked; for NULL, *ret stays unchanged. */
static int node_of(struct compiler *c, yyjson_val *schema, const struct node **ret) {
    return schema == NULL ? 0 : node_of_place(c, library_place(c->library, schema), ret);
}

static int nodes_of(struct compiler *c, yyjson_val *array, struct node_list *ret) {
    size_t count = yyjson_arr_size(array);
    if (array == NULL || count == 0) {
        return 0;
    }
    const struct node **nodes = arena_alloc(c->arena, count * sizeof(struct node *));
    if (nodes == NULL) {
        return error_oom(c->library->err);
    }
    size_t i = 0;
    yyjson_val *schema = NULL;
    yyjson_arr_foreach (array, i, count, schema) {
        int code = node_of(c, schema, &nodes[i]);
        if (code < 0) {
            return code;
        }
    }
    *ret = (struct node_list){(uint32_t)count, nodes};
    return 0;
}

/* ------------------------------------------------------------------------ type, enum and const */

static void compile_type(struct subject *s) {
    static const struct {
        const char *name;
        uint32_t tags;
    } types[] = {
            {"null", TAGS_OF_TYPE(YYJSON_TYPE_NULL)},
            {"boolean", TAGS_OF_TYPE(YYJSON_TYPE_BOOL)},
            {"string", TAGS_OF_TYPE(YYJSON_TYPE_STR)},
            {"array", TAGS_OF_TYPE(YYJSON_TYPE_ARR)},
            {"object", TAGS_OF_TYPE(YYJSON_TYPE_OBJ)},
            {"number", TAGS_NUMBER},
            {"integer", TAGS_NUMBER},
    };
    yyjson_val *type = s->values[KEYWORD_TYPE];
    if (type == NULL) {
        s->node->tags = TAGS_ALL;
        return;
    }
    bool integer = false;
    bool number = false;
    size_t count = yyjson_is_arr(type) ? yyjson_arr_size(type) : 1;
    yyjson_val *name = yyjson_is_arr(type) ? unsafe_yyjson_get_first(type) : type;
    for (size_t i = 0; i < count; i++, name++) {
        for (size_t k = 0; k < ARRAY_LENGTH(types); k++) {
            s->node->tags |= yyjson_equals_str(name, types[k].name) ? types[k].tags : 0;
        }
        integer = integer || yyjson_equals_str(name, "integer");
        number = number || yyjson_equals_str(name, "number");
    }
    s->node->integer_too = integer && !number;
}

static int make_choices(struct subject *s, const char *keyword, yyjson_val *first, size_t count,
                        const struct choices **ret) {
    struct choices *choices = arena_zalloc(s->c->arena, sizeof *choices);
    yyjson_val **values = arena_alloc(s->c->arena, count * sizeof *values);
    if (choices == NULL || values == NULL) {
        return error_oom(s->c->library->err);
    }
    *choices = (struct choices){
            .count = (uint32_t)count, .only_text = true, .keyword = keyword, .values = values};
    for (size_t i = 0; i < count; i++) {
        values[i] = first;
        choices->only_text = choices->only_text && yyjson_is_str(first);
        first = unsafe_yyjson_get_next(first);
    }
    *ret = choices;
    return 0;
}

/* ------------------------------------------------------------------------------------ numbers */

/* Larger in absolute value than every integer of a struct number. */
#define BEYOND_INTEGERS ((int128)1 << 101)

static int128 floor_of(struct number number) {
    if (number.is_integer) {
        return number.integer;
    }
    if (fabs(number.real) > NUMBER_INTEGER_MAX) {
        return number.real > 0 ? BEYOND_INTEGERS : -BEYOND_INTEGERS;
    }
    return (int128)floor(number.real);
}

static bool exact_as_double(struct number number) {
    return !number.is_integer ||
           (number.integer <= NUMBER_EXACT_MAX && number.integer >= -NUMBER_EXACT_MAX);
}

static double double_of(struct number number) {
    return number.is_integer ? (double)number.integer : number.real;
}

/* Take the stricter of an inclusive and an exclusive bound; `value` may be NULL. */
static void set_low(struct number_rules *rules, yyjson_val *value, bool open) {
    if (value == NULL) {
        return;
    }
    struct number bound = number_of(value);
    int order = rules->has_low ? number_compare(bound, rules->low) : 1;
    if (order < 0 || (order == 0 && !open)) {
        return;
    }
    rules->has_low = true;
    rules->low = bound;
    rules->low_open = open;
    rules->low_value = value;
    rules->integer_low = floor_of(bound) + (bound.is_integer && !open ? 0 : 1);
    rules->low_real = double_of(bound);
}

static void set_high(struct number_rules *rules, yyjson_val *value, bool open) {
    if (value == NULL) {
        return;
    }
    struct number bound = number_of(value);
    int order = rules->has_high ? number_compare(bound, rules->high) : -1;
    if (order > 0 || (order == 0 && !open)) {
        return;
    }
    rules->has_high = true;
    rules->high = bound;
    rules->high_open = open;
    rules->high_value = value;
    rules->integer_high = floor_of(bound) - (bound.is_integer && open);
    rules->high_real = double_of(bound);
}

static int compile_number(struct subject *s) {
    static const enum keyword keywords[] = {KEYWORD_MINIMUM, KEYWORD_MAXIMUM,
                                            KEYWORD_EXCLUSIVE_MINIMUM, KEYWORD_EXCLUSIVE_MAXIMUM,
                                            KEYWORD_MULTIPLE_OF};
    yyjson_val *const *values = s->values;
    if (!s->node->integer_too && !says_any(s, keywords, ARRAY_LENGTH(keywords))) {
        return 0;
    }
    struct number_rules *rules = arena_zalloc(s->c->arena, sizeof *rules);
    if (rules == NULL) {
        return error_oom(s->c->library->err);
    }
    rules->integer_only = s->node->integer_too;
    rules->integer_low = -BEYOND_INTEGERS;
    rules->integer_high = BEYOND_INTEGERS;
    rules->low_real = -INFINITY;
    rules->high_real = INFINITY;
    set_low(rules, values[KEYWORD_MINIMUM], false);
    set_low(rules, values[KEYWORD_EXCLUSIVE_MINIMUM], true);
    set_high(rules, values[KEYWORD_MAXIMUM], false);
    set_high(rules, values[KEYWORD_EXCLUSIVE_MAXIMUM], true);
    rules->real_bounds_exact = (!rules->has_low || exact_as_double(rules->low)) &&
                               (!rules->has_high || exact_as_double(rules->high));
    if (values[KEYWORD_MULTIPLE_OF] != NULL) {
        rules->divisor_value = values[KEYWORD_MULTIPLE_OF];
        rules->divisor = number_divisor(rules->divisor_value);
    }
    s->node->number = rules;
    return 0;
}

/* ------------------------------------------------------------------------------------ strings */

static uint64_t count_of(yyjson_val *value, uint64_t otherwise) {
    if (value == NULL) {
        return otherwise;
    }
    struct number number = number_of(value);
    return number.is_integer && number.integer <= UINT64_MAX ? (uint64_t)number.integer
                                                             : UINT64_MAX;
}

static int compile_regex(struct subject *s, yyjson_val *pattern, const struct regex **ret) {
    char reason[256];
    struct regex *regex = NULL;
    int code = regex_compile(s->c->arena, yyjson_get_str(pattern), yyjson_get_len(pattern), &regex,
                             reason, sizeof reason);
    if (code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(s->c->library->err);
    }
    if (code < 0) {
        return library_refuse(s->c->library, pattern, "is not a regular expression: %s", reason);
    }
    *ret = regex;
    return 0;
}

static int compile_string(struct subject *s) {
    yyjson_val *name = s->values[KEYWORD_FORMAT];
    bool asserted = s->c->library->options->assert_format ||
                    (s->resource->dialect.vocabularies & VOCABULARY_FORMAT_ASSERTION) != 0;
    const struct format *format = name != NULL && asserted
                                          ? format_find(yyjson_get_str(name), yyjson_get_len(name))
                                          : NULL;
    yyjson_val *pattern = s->values[KEYWORD_PATTERN];
    yyjson_val *min = s->values[KEYWORD_MIN_LENGTH];
    yyjson_val *max = s->values[KEYWORD_MAX_LENGTH];
    if (min == NULL && max == NULL && pattern == NULL && format == NULL) {
        return 0;
    }
    struct string_rules *rules = arena_zalloc(s->c->arena, sizeof *rules);
    if (rules == NULL) {
        return error_oom(s->c->library->err);
    }
    rules->length_min = count_of(min, 0);
    rules->length_max = count_of(max, UINT64_MAX);
    rules->format = format;
    s->node->string = rules;
    return pattern == NULL ? 0 : compile_regex(s, pattern, &rules->pattern);
}

/* ------------------------------------------------------------------------------------- arrays */

static int compile_array(struct subject *s) {
    static const enum keyword keywords[] = {
            KEYWORD_PREFIX_ITEMS, KEYWORD_ITEMS,     KEYWORD_OLD_ITEMS,   KEYWORD_CONTAINS,
            KEYWORD_MIN_ITEMS,    KEYWORD_MAX_ITEMS, KEYWORD_UNIQUE_ITEMS};
    if (!says_any(s, keywords, ARRAY_LENGTH(keywords))) {
        return 0;
    }
    struct array_rules *rules = arena_zalloc(s->c->arena, sizeof *rules);
    if (rules == NULL) {
        return error_oom(s->c->library->err);
    }
    rules->count_min = count_of(s->values[KEYWORD_MIN_ITEMS], 0);
    rules->count_max = count_of(s->values[KEYWORD_MAX_ITEMS], UINT64_MAX);
    rules->contains_min = count_of(s->values[KEYWORD_MIN_CONTAINS], 1);
    rules->contains_max = count_of(s->values[KEYWORD_MAX_CONTAINS], UINT64_MAX);
    rules->unique = yyjson_is_true(s->values[KEYWORD_UNIQUE_ITEMS]);
    s->node->array = rules;
    /* Drafts before 2020-12 use an array in `items` for what 2020-12 calls `prefixItems`. */
    yyjson_val *old = s->values[KEYWORD_OLD_ITEMS];
    yyjson_val *prefix = yyjson_is_arr(old) ? old : s->values[KEYWORD_PREFIX_ITEMS];
    yyjson_val *rest = yyjson_is_arr(old) ? s->values[KEYWORD_ADDITIONAL_ITEMS]
                       : old != NULL      ? old
                                          : s->values[KEYWORD_ITEMS];
    int code = nodes_of(s->c, prefix, &rules->prefix);
    if (code == 0) {
        code = node_of(s->c, rest, &rules->rest);
    }
    return code < 0 ? code : node_of(s->c, s->values[KEYWORD_CONTAINS], &rules->contains);
}

/* ------------------------------------------------------------------------------------ objects */

static struct property *add_property(struct object_rules *rules, yyjson_val *name) {
    const char *text = yyjson_get_str(name);
    size_t length = yyjson_get_len(name);
    const struct property *listed = run_find_property(rules, text, length);
    if (listed != NULL) {
        return &rules->properties[listed - rules->properties];
    }
    struct property *property = &rules->properties[rules->count];
    *property = (struct property){.name = text, .length = (uint32_t)length};
    if (rules->buckets != NULL) {
        uint32_t slot = name_hash(text, length) & rules->bucket_mask;
        while (rules->buckets[slot] != 0) {
            slot = (slot + 1) & rules->bucket_mask;
        }
        rules->buckets[slot] = rules->count + 1;
    }
    rules->count++;
    return property;
}

/* The names in `properties` and `required`; with many names, also a hash table of at least twice
 * that size. */
static int compile_names(struct subject *s, struct object_rules *rules) {
    yyjson_val *properties = s->values[KEYWORD_PROPERTIES];
    yyjson_val *required = s->values[KEYWORD_REQUIRED];
    size_t required_count = yyjson_arr_size(required);
    size_t listed = yyjson_obj_size(properties);
    size_t count = listed + required_count;
    rules->properties = arena_zalloc(s->c->arena, count * sizeof *rules->properties);
    rules->required_names =
            arena_alloc(s->c->arena, required_count * sizeof *rules->required_names);
    if (rules->properties == NULL || rules->required_names == NULL) {
        return error_oom(s->c->library->err);
    }
    if (count > LINEAR_PROPERTIES_MAX) {
        uint32_t buckets = 32;
        while (buckets < count * 2) {
            buckets *= 2;
        }
        rules->buckets = arena_zalloc(s->c->arena, buckets * sizeof *rules->buckets);
        rules->bucket_mask = buckets - 1;
        if (rules->buckets == NULL) {
            return error_oom(s->c->library->err);
        }
    }
    yyjson_val *name = listed == 0 ? NULL : unsafe_yyjson_get_first(properties);
    for (size_t i = 0; i < listed; i++) {
        int code = node_of(s->c, name + 1, &add_property(rules, name)->node);
        if (code < 0) {
            return code;
        }
        name = unsafe_yyjson_get_next(name + 1);
    }
    rules->listed = rules->count;
    name = yyjson_arr_get_first(required);
    for (size_t i = 0; i < required_count; i++, name++) { /* names are one cell each */
        rules->required_names[i] = name;
        struct property *property = add_property(rules, name);
        if (required_count <= REQUIRED_BITS) {
            property->required_bit = (uint64_t)1 << i;
            rules->required |= property->required_bit;
        }
    }
    rules->required_count = (uint32_t)required_count;
    return 0;
}

static int compile_patterns(struct subject *s, struct object_rules *rules) {
    yyjson_val *patterns = s->values[KEYWORD_PATTERN_PROPERTIES];
    size_t count = yyjson_obj_size(patterns);
    if (count == 0) {
        return 0;
    }
    rules->patterns = arena_zalloc(s->c->arena, count * sizeof *rules->patterns);
    if (rules->patterns == NULL) {
        return error_oom(s->c->library->err);
    }
    size_t i = 0;
    yyjson_val *pattern = NULL;
    yyjson_val *schema = NULL;
    json_obj_foreach (patterns, i, count, pattern, schema) {
        int code = compile_regex(s, pattern, &rules->patterns[i].regex);
        if (code == 0) {
            code = node_of(s->c, schema, &rules->patterns[i].node);
        }
        if (code < 0) {
            return code;
        }
    }
    rules->pattern_count = (uint32_t)count;
    return 0;
}

static int compile_dependents(struct subject *s, struct object_rules *rules) {
    yyjson_val *const maps[] = {s->values[KEYWORD_DEPENDENT_REQUIRED],
                                s->values[KEYWORD_DEPENDENT_SCHEMAS],
                                s->values[KEYWORD_DEPENDENCIES]};
    size_t total = 0;
    for (size_t k = 0; k < ARRAY_LENGTH(maps); k++) {
        total += yyjson_obj_size(maps[k]);
    }
    if (total == 0) {
        return 0;
    }
    rules->dependents = arena_alloc(s->c->arena, total * sizeof *rules->dependents);
    if (rules->dependents == NULL) {
        return error_oom(s->c->library->err);
    }
    for (size_t k = 0; k < ARRAY_LENGTH(maps); k++) {
        size_t left = yyjson_obj_size(maps[k]);
        yyjson_val *trigger = left == 0 ? NULL : unsafe_yyjson_get_first(maps[k]);
        for (; left > 0; left--) {
            yyjson_val *what = trigger + 1; /* names, or a schema */
            struct dependent *dependent = &rules->dependents[rules->dependent_count++];
            *dependent = (struct dependent){.trigger = yyjson_get_str(trigger),
                                            .trigger_length = (uint32_t)yyjson_get_len(trigger),
                                            .name_count = (uint32_t)yyjson_arr_size(what)};
            dependent->names =
                    arena_alloc(s->c->arena, dependent->name_count * sizeof *dependent->names);
            if (dependent->names == NULL) {
                return error_oom(s->c->library->err);
            }
            for (uint32_t i = 0; i < dependent->name_count; i++) {
                dependent->names[i] = unsafe_yyjson_get_first(what) + i; /* one cell each */
            }
            int code = yyjson_is_arr(what) ? 0 : node_of(s->c, what, &dependent->node);
            if (code < 0) {
                return code;
            }
            trigger = unsafe_yyjson_get_next(what);
        }
    }
    return 0;
}

/* Whether a schema is false, also as {"not": {}}, which generators write that have no booleans. */
static bool allows_none(yyjson_val *schema) {
    yyjson_val *negated = yyjson_obj_size(schema) == 1 ? yyjson_obj_get(schema, "not") : NULL;
    return yyjson_is_false(schema) || yyjson_is_true(negated) ||
           (yyjson_is_obj(negated) && yyjson_obj_size(negated) == 0);
}

static int compile_object(struct subject *s) {
    static const enum keyword keywords[] = {
            KEYWORD_PROPERTIES,     KEYWORD_PATTERN_PROPERTIES, KEYWORD_ADDITIONAL_PROPERTIES,
            KEYWORD_PROPERTY_NAMES, KEYWORD_MIN_PROPERTIES,     KEYWORD_MAX_PROPERTIES,
            KEYWORD_REQUIRED,       KEYWORD_DEPENDENT_REQUIRED, KEYWORD_DEPENDENT_SCHEMAS,
            KEYWORD_DEPENDENCIES};
    if (!says_any(s, keywords, ARRAY_LENGTH(keywords))) {
        return 0;
    }
    struct object_rules *rules = arena_zalloc(s->c->arena, sizeof *rules);
    if (rules == NULL) {
        return error_oom(s->c->library->err);
    }
    s->node->object = rules;
    yyjson_val *additional = s->values[KEYWORD_ADDITIONAL_PROPERTIES];
    rules->count_min = count_of(s->values[KEYWORD_MIN_PROPERTIES], 0);
    rules->count_max = count_of(s->values[KEYWORD_MAX_PROPERTIES], UINT64_MAX);
    rules->closed = allows_none(additional);
    int code = compile_names(s, rules);
    if (code == 0) {
        code = compile_patterns(s, rules);
    }
    if (code == 0) {
        code = compile_dependents(s, rules);
    }
    if (code == 0) {
        code = node_of(s->c, additional, &rules->additional);
    }
    if (code == 0) {
        code = node_of(s->c, s->values[KEYWORD_PROPERTY_NAMES], &rules->names);
    }
    rules->only_table = rules->pattern_count == 0 && rules->names == NULL &&
                        (rules->additional == NULL || rules->closed);
    return code;
}

/* -------------------------------------------------------------------------------- applicators */

static int dynamic_id(struct compiler *c, const struct anchor *anchor, uint32_t *ret) {
    struct dynamic_use *use = c->dynamic_uses;
    while (use != NULL && (use->length != anchor->length ||
                           memcmp(use->name, anchor->name, anchor->length) != 0)) {
        use = use->next;
    }
    if (use == NULL && c->dynamic_names == SCHEMA_DYNAMIC_MAX) {
        return library_fail(c->library, TOOLRACK_E_LIMIT_EXCEEDED, anchor->place->value,
                            "there are more than %d names for $dynamicRef", SCHEMA_DYNAMIC_MAX);
    }
    if (use == NULL) {
        use = arena_alloc(&c->library->scratch, sizeof *use);
        if (use == NULL) {
            return error_oom(c->library->err);
        }
        *use = (struct dynamic_use){anchor->name, anchor->length, c->dynamic_names++,
                                    c->dynamic_uses};
        c->dynamic_uses = use;
    }
    c->schema->has_dynamic = true;
    *ret = use->id;
    return 0;
}

static int compile_references(struct subject *s, struct applicators *apply) {
    struct library *library = s->c->library;
    struct place *place = NULL;
    const struct anchor *anchor = NULL;
    int code = 0;
    if (s->values[KEYWORD_REF] != NULL) {
        code = library_resolve(library, s->resource, s->values[KEYWORD_REF], &place, &anchor);
        if (code == 0) {
            code = node_of_place(s->c, place, &apply->reference);
        }
    }
    bool recursive = s->values[KEYWORD_RECURSIVE_REF] != NULL;
    yyjson_val *dynamic = s->values[recursive ? KEYWORD_RECURSIVE_REF : KEYWORD_DYNAMIC_REF];
    if (code < 0 || dynamic == NULL) {
        return code;
    }
    code = library_resolve(library, s->resource, dynamic, &place, &anchor);
    if (code == 0) {
        code = node_of_place(s->c, place, &apply->dynamic);
    }
    if (code == 0 && recursive) {
        /* `$recursiveRef` is always "#", and is dynamic if the resource's root has
         * `$recursiveAnchor`. */
        anchor = place->resource->anchors;
        while (anchor != NULL && !(anchor->length == 0 && anchor->place == place)) {
            anchor = anchor->next;
        }
    }
    if (code == 0 && anchor != NULL && anchor->dynamic) {
        code = dynamic_id(s->c, anchor, &apply->dynamic_name);
    }
    return code;
}

static int compile_applicators(struct subject *s) {
    static const enum keyword keywords[] = {KEYWORD_REF,
                                            KEYWORD_DYNAMIC_REF,
                                            KEYWORD_RECURSIVE_REF,
                                            KEYWORD_ALL_OF,
                                            KEYWORD_ANY_OF,
                                            KEYWORD_ONE_OF,
                                            KEYWORD_NOT,
                                            KEYWORD_IF,
                                            KEYWORD_UNEVALUATED_ITEMS,
                                            KEYWORD_UNEVALUATED_PROPERTIES};
    if (!says_any(s, keywords, ARRAY_LENGTH(keywords))) {
        return 0;
    }
    struct applicators *apply = arena_zalloc(s->c->arena, sizeof *apply);
    if (apply == NULL) {
        return error_oom(s->c->library->err);
    }
    apply->dynamic_name = DYNAMIC_NONE;
    s->node->apply = apply;
    const struct {
        enum keyword keyword;
        const struct node **node;
    } single[] = {{KEYWORD_NOT, &apply->not },
                  {KEYWORD_IF, &apply->condition},
                  {KEYWORD_THEN, &apply->then},
                  {KEYWORD_ELSE, &apply->otherwise},
                  {KEYWORD_UNEVALUATED_ITEMS, &apply->unevaluated_items},
                  {KEYWORD_UNEVALUATED_PROPERTIES, &apply->unevaluated_properties}};
    const struct {
        enum keyword keyword;
        struct node_list *list;
    } lists[] = {{KEYWORD_ALL_OF, &apply->all},
                 {KEYWORD_ANY_OF, &apply->any},
                 {KEYWORD_ONE_OF, &apply->one}};
    int code = compile_references(s, apply);
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(single); i++) {
        code = node_of(s->c, s->values[single[i].keyword], single[i].node);
    }
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(lists); i++) {
        code = nodes_of(s->c, s->values[lists[i].keyword], lists[i].list);
    }
    return code;
}

/* -------------------------------------------------------------------------------------- nodes */

static int compile_place(struct compiler *c, struct place *place) {
    struct node *node = place->node;
    node->source = place->value;
    node->resource = &place->resource->run;
    if (yyjson_is_bool(place->value)) {
        node->never = yyjson_is_false(place->value);
        node->tags = node->never ? 0 : TAGS_ALL;
        return 0;
    }
    struct subject subject = {.c = c, .resource = place->resource, .node = node};
    yyjson_val **values = subject.values;
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *value = NULL;
    json_obj_foreach (place->value, i, count, key, value) {
        enum keyword keyword = keyword_find(&subject.resource->dialect, key);
        if (keyword != KEYWORD_COUNT) {
            values[keyword] = value;
        }
    }
    /* In draft 7, all keywords beside `$ref` are ignored. */
    yyjson_val *reference = values[KEYWORD_REF];
    if (subject.resource->dialect.draft == DRAFT_7 && reference != NULL) {
        memset(subject.values, 0, sizeof subject.values);
        values[KEYWORD_REF] = reference;
    }
    node->default_value = values[KEYWORD_DEFAULT];
    compile_type(&subject);
    int code = 0;
    if (values[KEYWORD_ENUM] != NULL) {
        code = make_choices(&subject, "enum", unsafe_yyjson_get_first(values[KEYWORD_ENUM]),
                            yyjson_arr_size(values[KEYWORD_ENUM]), &node->choices);
    }
    if (code == 0 && values[KEYWORD_CONST] != NULL) {
        code = make_choices(&subject, "const", values[KEYWORD_CONST], 1, &node->constant);
    }
    if (code == 0) {
        code = compile_number(&subject);
    }
    if (code == 0) {
        code = compile_string(&subject);
    }
    if (code == 0) {
        code = compile_array(&subject);
    }
    if (code == 0) {
        code = compile_object(&subject);
    }
    return code < 0 ? code : compile_applicators(&subject);
}

/* Add the node of a dynamic anchor to a resource, once, if a `$dynamicRef` searches for its
 * name. */
static int link_anchor(struct compiler *c, struct schema_resource *resource,
                       const struct anchor *anchor, uint32_t id) {
    for (const struct dynamic_anchor *a = resource->run.anchors; a != NULL; a = a->next) {
        if (a->name == id) {
            return 0;
        }
    }
    struct dynamic_anchor *link = arena_alloc(c->arena, sizeof *link);
    if (link == NULL) {
        return error_oom(c->library->err);
    }
    *link = (struct dynamic_anchor){.name = id, .next = resource->run.anchors};
    int code = node_of_place(c, anchor->place, &link->node);
    if (code == 0) {
        resource->run.anchors = link;
    }
    return code;
}

static int link_anchors(struct compiler *c) {
    for (struct schema_resource *r = c->library->resources; r != NULL; r = r->next) {
        for (const struct dynamic_use *use = c->dynamic_uses; use != NULL; use = use->next) {
            for (const struct anchor *a = r->anchors; a != NULL; a = a->next) {
                bool wanted = a->dynamic && a->length == use->length &&
                              memcmp(a->name, use->name, use->length) == 0;
                int code = wanted ? link_anchor(c, r, a, use->id) : 0;
                if (code < 0) {
                    return code;
                }
            }
        }
    }
    return 0;
}

/* Create the nodes of `root` and of all places reachable from it. */
static int compile_program(struct library *library, struct schema *schema, struct place *root) {
    struct compiler c = {.library = library, .schema = schema, .arena = &schema->arena};
    int code = node_of_place(&c, root, &schema->root);
    while (code == 0 && c.pending != NULL) {
        while (code == 0 && c.pending != NULL) {
            struct place *place = c.pending;
            c.pending = place->next_pending;
            code = compile_place(&c, place);
        }
        if (code == 0) {
            code = link_anchors(&c); /* may create new nodes, which may need new anchors */
        }
    }
    return code;
}

/* ------------------------------------------------------------------------------------- schema */

/* A tool's arguments are an object, and every protocol requires the schema to state that. */
static int check_root(const struct library *library, yyjson_val *root) {
    yyjson_val *type = yyjson_obj_get(root, "type");
    if (type == NULL) {
        return library_refuse(library, root,
                              "a tool's schema must say what its root is; add "
                              "\"type\": \"object\"");
    }
    return yyjson_equals_str(type, "object")
                   ? 0
                   : library_refuse(library, type,
                                    "a tool's arguments are an object; change the root's type to "
                                    "\"object\"");
}

static void take_off(int64_t *left, int64_t taken) {
    if (left != NULL) {
        *left -= taken < *left ? taken : *left;
    }
}

/* In the order of the text. */
static int by_default(const void *a, const void *b) {
    const yyjson_val *first = (*(const struct node *const *)a)->default_value;
    const yyjson_val *second = (*(const struct node *const *)b)->default_value;
    return first < second ? -1 : first > second;
}

/* The nodes with a default, as many as *ret_count, in the order of the text: the places are ordered
 * by their hashes. NULL: no memory. */
static struct node **find_defaults(const struct library *library, size_t *ret_count) {
    size_t count = 0;
    struct node **nodes = calloc(library->place_room + 1, sizeof *nodes);
    for (size_t i = 0; nodes != NULL && i < library->place_room; i++) {
        const struct place *place = library->places[i];
        if (place != NULL && place->node != NULL && place->node->default_value != NULL) {
            nodes[count++] = place->node;
        }
    }
    if (nodes != NULL) {
        qsort(nodes, count, sizeof(struct node *), by_default);
    }
    *ret_count = count;
    return nodes;
}

/* Checking all defaults together may take as many steps as one validation. Of several that do not
 * fit the first of the text is told. */
static int check_defaults(const struct library *library, const struct schema *schema,
                          const struct schema_options *options) {
    int64_t *ret_left = options->steps;
    int64_t allowed =
            ret_left != NULL && *ret_left < schema->steps_max ? *ret_left : schema->steps_max;
    int64_t steps = allowed;
    bool is_told = options->ignored == NULL;
    size_t count;
    CLEANUP(freep) struct node **nodes = find_defaults(library, &count);
    if (nodes == NULL) {
        return error_oom(library->err);
    }
    for (size_t i = 0; i < count; i++) {
        yyjson_val *value = nodes[i]->default_value;
        struct schema_failure failure;
        if (schema_check_node(schema, nodes[i], value, NULL, 0, &steps, &failure)) {
            continue;
        }
        take_off(ret_left, 2 * (allowed - steps));          /* to explain takes as many again */
        allowed = steps;                                    /* which is taken off once */
        if (failure.code != TOOLRACK_E_INVALID_ARGUMENTS) { /* the failure is not about the
                                                             * default */
            return library_fail(library, failure.code, value, "%s", failure.reason);
        }
        const char *sep = failure.field[0] == '\0' ? "" : " ";
        if (!options->ignore_defaults) {
            return library_refuse(library, value, "does not fit its own schema: %s%s%s",
                                  failure.field, sep, failure.reason);
        }
        if (!is_told) {
            is_told = true;
            struct toolrack_error why;
            struct library told = *library;
            told.err = &why;
            (void)library_refuse(&told, value, "does not fit its own schema: %s%s%s", failure.field,
                                 sep, failure.reason);
            (void)snprintf(options->ignored, options->ignored_room, "%s", why.message);
        }
        nodes[i]->default_value = NULL;
    }
    take_off(ret_left, allowed - steps);
    return 0;
}

void schema_destroy(struct schema *schema) {
    if (schema == NULL) {
        return;
    }
    arena_finish(&schema->arena);
    free(schema);
}

int schema_compile(yyjson_val *root, const struct schema_options *options, struct schema **ret,
                   struct toolrack_error *err) {
    static const struct schema_options plain = {0};
    if (root == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no schema");
    }
    CLEANUP(schema_destroyp) struct schema *schema = calloc(1, sizeof *schema);
    if (schema == NULL) {
        return error_oom(err);
    }
    arena_init(&schema->arena, NULL, 0);
    options = options != NULL ? options : &plain;
    schema->steps_max = options->steps_max > 0 ? options->steps_max : SCHEMA_STEPS_MAX;
    struct library library;
    library_init(&library, &schema->arena, options, err);
    struct place *place = NULL;
    int code = library_add(&library, "", root, &place);
    if (code == 0 && options->root_object) {
        code = check_root(&library, place->value);
    }
    if (code == 0) {
        code = compile_program(&library, schema, place);
    }
    if (code == 0) {
        code = graph_finish(&library, schema, place);
    }
    if (code == 0) {
        quick_prepare(&library, schema);
    }
    if (code == 0 && options->check_defaults) {
        code = check_defaults(&library, schema, options);
    }
    library_finish(&library);
    if (code == 0) {
        *ret = STEAL(schema);
    }
    return code;
}

size_t schema_property_count(const struct schema *schema) {
    return schema->root->object != NULL ? schema->root->object->listed : 0;
}

const char *schema_property_name(const struct schema *schema, size_t index) {
    return index < schema_property_count(schema) ? schema->root->object->properties[index].name
                                                 : NULL;
}

bool schema_has_defaults(const struct schema *schema) {
    return schema->has_defaults;
}

bool schema_knows_format(const char *name) {
    return format_find(name, strlen(name)) != NULL;
}
