/* Nodes are made from a work list, not by recursion: asking for the node of a place makes an empty
 * one and queues the place, so cycles close by themselves and depth costs no stack. The forms of
 * all keywords have been checked when the library walked the document; what fails here are
 * references, regular expressions and limits. */
#include "schema/compile.h"

#include <math.h>
#include <string.h>

#include "base/name.h"
#include "schema/format.h"
#include "schema/regex.h"
#include "schema/value.h"

/* Tables up to here are searched one by one; a hash would cost more. */
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

/* A name that some `$dynamicRef` looks for. */
struct dynamic_use {
    const char *name;
    size_t length;
    uint32_t id;
    struct dynamic_use *next;
};

/* One schema object with its keywords looked up. */
struct subject {
    struct compiler *c;
    struct schema_resource *resource;
    struct node *node;
    yyjson_val *values[KEYWORD_COUNT];
};

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

/* The node of a subschema inside a schema that has been walked; NULL leaves *ret alone. */
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

static uint32_t tags_of_name(yyjson_val *name, bool *integer) {
    static const struct {
        const char *name;
        uint32_t tags;
    } types[] = {
            {"null", TAGS_OF_TYPE(YYJSON_TYPE_NULL)},  {"boolean", TAGS_OF_TYPE(YYJSON_TYPE_BOOL)},
            {"string", TAGS_OF_TYPE(YYJSON_TYPE_STR)}, {"array", TAGS_OF_TYPE(YYJSON_TYPE_ARR)},
            {"object", TAGS_OF_TYPE(YYJSON_TYPE_OBJ)}, {"number", TAGS_OF_TYPE(YYJSON_TYPE_NUM)},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (yyjson_equals_str(name, types[i].name)) {
            return types[i].tags;
        }
    }
    *integer = true;
    return TAGS_OF_TYPE(YYJSON_TYPE_NUM);
}

static void compile_type(struct subject *s, bool *ret_integer_only) {
    yyjson_val *type = s->values[KEYWORD_TYPE];
    s->node->tags = TAGS_ALL;
    *ret_integer_only = false;
    if (type == NULL) {
        return;
    }
    uint32_t tags = 0;
    bool number = false;
    size_t count = yyjson_is_arr(type) ? yyjson_arr_size(type) : 1;
    yyjson_val *name = yyjson_is_arr(type) ? unsafe_yyjson_get_first(type) : type;
    for (size_t i = 0; i < count; i++, name++) {
        tags |= tags_of_name(name, ret_integer_only);
        number = number || yyjson_equals_str(name, "number");
    }
    s->node->tags = tags;
    s->node->integer_too = *ret_integer_only && !number;
    *ret_integer_only = s->node->integer_too;
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

static int compile_choices(struct subject *s) {
    yyjson_val *choices = s->values[KEYWORD_ENUM];
    yyjson_val *constant = s->values[KEYWORD_CONST];
    int code = 0;
    if (choices != NULL) {
        code = make_choices(s, "enum", unsafe_yyjson_get_first(choices), yyjson_arr_size(choices),
                            &s->node->choices);
    }
    if (code == 0 && constant != NULL) {
        code = make_choices(s, "const", constant, 1, &s->node->constant);
    }
    return code;
}

/* ------------------------------------------------------------------------------------ numbers */

static int128 floor_of(struct number number) {
    if (number.is_integer) {
        return number.integer;
    }
    if (fabs(number.real) > NUMBER_INTEGER_MAX) { /* beyond every integer there is */
        return number.real > 0 ? (int128)1 << 101 : -((int128)1 << 101);
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

/* Take the stricter of an inclusive and an exclusive bound. */
static void set_low(struct number_rules *rules, yyjson_val *value, bool open) {
    struct number bound = number_of(value);
    int order = rules->has_low ? number_compare(bound, rules->low) : 1;
    if (order < 0 || (order == 0 && !open)) {
        return;
    }
    int128 below = floor_of(bound);
    bool whole = bound.is_integer;
    rules->has_low = true;
    rules->low = bound;
    rules->low_open = open;
    rules->low_value = value;
    rules->integer_low = whole && !open ? below : below + 1;
    rules->low_real = double_of(bound);
}

static void set_high(struct number_rules *rules, yyjson_val *value, bool open) {
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

static int compile_number(struct subject *s, bool integer_only) {
    yyjson_val *const *values = s->values;
    bool any = integer_only || values[KEYWORD_MINIMUM] || values[KEYWORD_MAXIMUM] ||
               values[KEYWORD_EXCLUSIVE_MINIMUM] || values[KEYWORD_EXCLUSIVE_MAXIMUM] ||
               values[KEYWORD_MULTIPLE_OF];
    if (!any) {
        return 0;
    }
    struct number_rules *rules = arena_zalloc(s->c->arena, sizeof *rules);
    if (rules == NULL) {
        return error_oom(s->c->library->err);
    }
    rules->integer_only = integer_only;
    rules->integer_low = -((int128)1 << 101);
    rules->integer_high = (int128)1 << 101;
    rules->low_real = -INFINITY;
    rules->high_real = INFINITY;
    if (values[KEYWORD_MINIMUM]) {
        set_low(rules, values[KEYWORD_MINIMUM], false);
    }
    if (values[KEYWORD_EXCLUSIVE_MINIMUM]) {
        set_low(rules, values[KEYWORD_EXCLUSIVE_MINIMUM], true);
    }
    if (values[KEYWORD_MAXIMUM]) {
        set_high(rules, values[KEYWORD_MAXIMUM], false);
    }
    if (values[KEYWORD_EXCLUSIVE_MAXIMUM]) {
        set_high(rules, values[KEYWORD_EXCLUSIVE_MAXIMUM], true);
    }
    rules->real_bounds_exact = (!rules->has_low || exact_as_double(rules->low)) &&
                               (!rules->has_high || exact_as_double(rules->high));
    if (values[KEYWORD_MULTIPLE_OF]) {
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

static const struct format *asserted_format(const struct subject *s) {
    yyjson_val *name = s->values[KEYWORD_FORMAT];
    bool asserted = s->c->library->options->assert_format ||
                    (s->resource->dialect.vocabularies & VOCABULARY_FORMAT_ASSERTION) != 0;
    return name != NULL && asserted ? format_find(yyjson_get_str(name), yyjson_get_len(name))
                                    : NULL;
}

static int compile_string(struct subject *s) {
    const struct format *format = asserted_format(s);
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

static int compile_items(struct subject *s, struct array_rules *rules) {
    yyjson_val *old = s->values[KEYWORD_OLD_ITEMS];
    yyjson_val *prefix = yyjson_is_arr(old) ? old : s->values[KEYWORD_PREFIX_ITEMS];
    yyjson_val *rest = s->values[KEYWORD_ITEMS];
    if (yyjson_is_arr(old)) {
        rest = s->values[KEYWORD_ADDITIONAL_ITEMS];
    } else if (old != NULL) {
        rest = old;
    }
    int code = nodes_of(s->c, prefix, &rules->prefix);
    return code < 0 ? code : node_of(s->c, rest, &rules->rest);
}

static int compile_array(struct subject *s) {
    static const enum keyword keywords[] = {
            KEYWORD_PREFIX_ITEMS, KEYWORD_ITEMS,     KEYWORD_OLD_ITEMS,   KEYWORD_CONTAINS,
            KEYWORD_MIN_ITEMS,    KEYWORD_MAX_ITEMS, KEYWORD_UNIQUE_ITEMS};
    bool any = false;
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        any = any || s->values[keywords[i]] != NULL;
    }
    if (!any) {
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
    int code = compile_items(s, rules);
    return code < 0 ? code : node_of(s->c, s->values[KEYWORD_CONTAINS], &rules->contains);
}

/* ------------------------------------------------------------------------------------ objects */

static struct property *find_property(struct object_rules *rules, yyjson_val *name) {
    const char *text = yyjson_get_str(name);
    size_t length = yyjson_get_len(name);
    uint32_t hash = name_hash(text, length);
    uint32_t i = 0;
    if (rules->buckets != NULL) {
        uint32_t slot = hash & rules->bucket_mask;
        while (rules->buckets[slot] != 0) {
            struct property *property = &rules->properties[rules->buckets[slot] - 1];
            if (property->length == length && memcmp(property->name, text, length) == 0) {
                return property;
            }
            slot = (slot + 1) & rules->bucket_mask;
        }
        return NULL;
    }
    for (; i < rules->count; i++) {
        struct property *property = &rules->properties[i];
        if (property->length == length && memcmp(property->name, text, length) == 0) {
            return property;
        }
    }
    return NULL;
}

static struct property *add_property(struct object_rules *rules, yyjson_val *name) {
    struct property *property = find_property(rules, name);
    if (property != NULL) {
        return property;
    }
    property = &rules->properties[rules->count];
    *property = (struct property){.name = yyjson_get_str(name),
                                  .length = (uint32_t)yyjson_get_len(name),
                                  .hash = name_hash(yyjson_get_str(name), yyjson_get_len(name))};
    if (rules->buckets != NULL) {
        uint32_t slot = property->hash & rules->bucket_mask;
        while (rules->buckets[slot] != 0) {
            slot = (slot + 1) & rules->bucket_mask;
        }
        rules->buckets[slot] = rules->count + 1;
    }
    rules->count++;
    return property;
}

/* Room for all names, and a hash table of twice as many places when they are not few. */
static int reserve_properties(struct subject *s, struct object_rules *rules, size_t count) {
    rules->properties = arena_zalloc(s->c->arena, count * sizeof *rules->properties);
    if (rules->properties == NULL) {
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
    return 0;
}

static int compile_properties(struct subject *s, struct object_rules *rules) {
    size_t i = 0;
    size_t count = 0;
    yyjson_val *name = NULL;
    yyjson_val *schema = NULL;
    yyjson_val *properties = s->values[KEYWORD_PROPERTIES];
    if (properties == NULL) {
        return 0; /* the loop would step from a null pointer */
    }
    yyjson_obj_foreach (properties, i, count, name, schema) {
        struct property *property = add_property(rules, name);
        int code = node_of(s->c, schema, &property->node);
        if (code < 0) {
            return code;
        }
    }
    rules->listed = rules->count;
    return 0;
}

static int compile_required(struct subject *s, struct object_rules *rules) {
    yyjson_val *required = s->values[KEYWORD_REQUIRED];
    size_t count = yyjson_arr_size(required);
    if (count == 0) {
        return 0;
    }
    rules->required_names = arena_alloc(s->c->arena, count * sizeof *rules->required_names);
    if (rules->required_names == NULL) {
        return error_oom(s->c->library->err);
    }
    size_t i = 0;
    yyjson_val *name = NULL;
    yyjson_arr_foreach (required, i, count, name) {
        rules->required_names[i] = name;
        struct property *property = add_property(rules, name);
        if (count <= REQUIRED_BITS) {
            property->required_bit = (uint64_t)1 << i;
            rules->required |= property->required_bit;
        }
    }
    rules->required_count = (uint32_t)count;
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
    yyjson_obj_foreach (patterns, i, count, pattern, schema) {
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

static int make_dependent(struct subject *s, yyjson_val *trigger, yyjson_val *what,
                          struct dependent *ret) {
    *ret = (struct dependent){.trigger = yyjson_get_str(trigger),
                              .trigger_length = (uint32_t)yyjson_get_len(trigger)};
    if (!yyjson_is_arr(what)) {
        return node_of(s->c, what, &ret->node);
    }
    size_t count = yyjson_arr_size(what);
    ret->names = arena_alloc(s->c->arena, count * sizeof *ret->names);
    if (ret->names == NULL) {
        return error_oom(s->c->library->err);
    }
    ret->name_count = (uint32_t)count;
    yyjson_val *first = unsafe_yyjson_get_first(what);
    for (size_t i = 0; i < count; i++) {
        ret->names[i] = first + i; /* names are one cell each */
    }
    return 0;
}

static const enum keyword dependent_keywords[] = {KEYWORD_DEPENDENT_REQUIRED,
                                                  KEYWORD_DEPENDENT_SCHEMAS, KEYWORD_DEPENDENCIES};
#define DEPENDENT_KEYWORDS (sizeof dependent_keywords / sizeof dependent_keywords[0])

static int compile_dependents(struct subject *s, struct object_rules *rules) {
    size_t total = 0;
    for (size_t k = 0; k < DEPENDENT_KEYWORDS; k++) {
        total += yyjson_obj_size(s->values[dependent_keywords[k]]);
    }
    if (total == 0) {
        return 0;
    }
    rules->dependents = arena_alloc(s->c->arena, total * sizeof *rules->dependents);
    if (rules->dependents == NULL) {
        return error_oom(s->c->library->err);
    }
    for (size_t k = 0; k < DEPENDENT_KEYWORDS; k++) {
        size_t i = 0;
        size_t count = 0;
        yyjson_val *trigger = NULL;
        yyjson_val *what = NULL;
        yyjson_val *map = s->values[dependent_keywords[k]];
        if (map == NULL) {
            continue;
        }
        yyjson_obj_foreach (map, i, count, trigger, what) {
            int code = make_dependent(s, trigger, what, &rules->dependents[rules->dependent_count]);
            if (code < 0) {
                return code;
            }
            rules->dependent_count++;
        }
    }
    return 0;
}

static bool has_object_rules(const struct subject *s) {
    static const enum keyword keywords[] = {
            KEYWORD_PROPERTIES,     KEYWORD_PATTERN_PROPERTIES, KEYWORD_ADDITIONAL_PROPERTIES,
            KEYWORD_PROPERTY_NAMES, KEYWORD_MIN_PROPERTIES,     KEYWORD_MAX_PROPERTIES,
            KEYWORD_REQUIRED,       KEYWORD_DEPENDENT_REQUIRED, KEYWORD_DEPENDENT_SCHEMAS,
            KEYWORD_DEPENDENCIES};
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        if (s->values[keywords[i]] != NULL) {
            return true;
        }
    }
    return false;
}

static int compile_object(struct subject *s) {
    if (!has_object_rules(s)) {
        return 0;
    }
    struct object_rules *rules = arena_zalloc(s->c->arena, sizeof *rules);
    if (rules == NULL) {
        return error_oom(s->c->library->err);
    }
    s->node->object = rules;
    size_t names = yyjson_obj_size(s->values[KEYWORD_PROPERTIES]) +
                   yyjson_arr_size(s->values[KEYWORD_REQUIRED]);
    yyjson_val *additional = s->values[KEYWORD_ADDITIONAL_PROPERTIES];
    rules->count_min = count_of(s->values[KEYWORD_MIN_PROPERTIES], 0);
    rules->count_max = count_of(s->values[KEYWORD_MAX_PROPERTIES], UINT64_MAX);
    rules->closed = yyjson_is_false(additional);
    int code = reserve_properties(s, rules, names);
    if (code == 0) {
        code = compile_properties(s, rules);
    }
    if (code == 0) {
        code = compile_required(s, rules);
    }
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
                            "there are more than SCHEMA_DYNAMIC_MAX (%d) names for $dynamicRef",
                            SCHEMA_DYNAMIC_MAX);
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

/* `$recursiveRef` always says "#"; it is dynamic when the resource's root says so. */
static const struct anchor *recursive_anchor(const struct place *place) {
    const struct anchor *anchor = place->resource->anchors;
    while (anchor != NULL && !(anchor->length == 0 && anchor->place == place)) {
        anchor = anchor->next;
    }
    return anchor;
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
        anchor = recursive_anchor(place);
    }
    if (code == 0 && anchor != NULL && anchor->dynamic) {
        code = dynamic_id(s->c, anchor, &apply->dynamic_name);
    }
    return code;
}

static int compile_subschemas(struct subject *s, struct applicators *apply) {
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
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof single / sizeof single[0]; i++) {
        code = node_of(s->c, s->values[single[i].keyword], single[i].node);
    }
    for (size_t i = 0; code == 0 && i < sizeof lists / sizeof lists[0]; i++) {
        code = nodes_of(s->c, s->values[lists[i].keyword], lists[i].list);
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
    bool any = false;
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        any = any || s->values[keywords[i]] != NULL;
    }
    if (!any) {
        return 0;
    }
    struct applicators *apply = arena_zalloc(s->c->arena, sizeof *apply);
    if (apply == NULL) {
        return error_oom(s->c->library->err);
    }
    apply->dynamic_name = DYNAMIC_NONE;
    s->node->apply = apply;
    int code = compile_references(s, apply);
    return code < 0 ? code : compile_subschemas(s, apply);
}

/* -------------------------------------------------------------------------------------- nodes */

static void look_up_keywords(struct subject *s, yyjson_val *schema) {
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *value = NULL;
    yyjson_obj_foreach (schema, i, count, key, value) {
        enum keyword keyword = keyword_find(&s->resource->dialect, key);
        if (keyword != KEYWORD_COUNT) {
            s->values[keyword] = value;
        }
    }
    /* In draft 7, `$ref` hides all its neighbours. */
    yyjson_val *reference = s->values[KEYWORD_REF];
    if (s->resource->dialect.draft == DRAFT_7 && reference != NULL) {
        memset(s->values, 0, sizeof s->values);
        s->values[KEYWORD_REF] = reference;
    }
}

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
    bool integer_only = false;
    look_up_keywords(&subject, place->value);
    node->default_value = subject.values[KEYWORD_DEFAULT];
    compile_type(&subject, &integer_only);
    int code = compile_choices(&subject);
    if (code == 0) {
        code = compile_number(&subject, integer_only);
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

static int compile_pending(struct compiler *c) {
    while (c->pending != NULL) {
        struct place *place = c->pending;
        c->pending = place->next_pending;
        int code = compile_place(c, place);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* ---------------------------------------------------------------------------- dynamic anchors */

static bool has_dynamic_anchor(const struct schema_resource *resource, uint32_t id) {
    const struct dynamic_anchor *anchor = resource->run.anchors;
    while (anchor != NULL && anchor->name != id) {
        anchor = anchor->next;
    }
    return anchor != NULL;
}

static int link_anchor(struct compiler *c, struct schema_resource *resource,
                       const struct anchor *anchor, uint32_t id) {
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

/* Give each resource the nodes of those dynamic anchors that somebody looks for. */
static int link_anchors(struct compiler *c) {
    for (struct schema_resource *r = c->library->resources; r != NULL; r = r->next) {
        for (const struct dynamic_use *use = c->dynamic_uses; use != NULL; use = use->next) {
            for (const struct anchor *a = r->anchors; a != NULL; a = a->next) {
                bool wanted = a->dynamic && a->length == use->length &&
                              memcmp(a->name, use->name, use->length) == 0;
                int code = wanted && !has_dynamic_anchor(r, use->id) ? link_anchor(c, r, a, use->id)
                                                                     : 0;
                if (code < 0) {
                    return code;
                }
            }
        }
    }
    return 0;
}

int compile_program(struct library *library, struct schema *schema, struct place *root) {
    struct compiler c = {.library = library, .schema = schema, .arena = &schema->arena};
    int code = node_of_place(&c, root, &schema->root);
    /* Linking may need new nodes, and those new anchors. */
    while (code == 0 && c.pending != NULL) {
        code = compile_pending(&c);
        if (code == 0) {
            code = link_anchors(&c);
        }
    }
    return code;
}
