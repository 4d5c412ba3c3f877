/* The walk of a program over a value.
 *
 * Invariants:
 *
 *  (1) A check that returns false has either found an error or ended the run; `limit` tells which.
 *      So code that does not pass a false on (not, anyOf, if, contains) must check `limit` first.
 *  (2) `depth` counts the checks of containers and applicators that are entered; it never exceeds
 *      SCHEMA_RECURSION_MAX, which bounds the stack.
 *  (3) Each check takes at least one step, and each loop at least one per iteration or child. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "base/shard.h"
#include "base/utf8.h"
#include "schema/explain.h"
#include "schema/format.h"
#include "schema/keyword.h"
#include "schema/quick.h"
#include "schema/regex.h"
#include "schema/run.h"

static bool check(struct run *run, const struct node *node, yyjson_val *value, yyjson_val **slots,
                  size_t slot_count);

/* Whether the walk goes on after a mistake, to find the others. */
static bool goes_on(const struct run *run) {
    return run->explain != NULL && run->limit == LIMIT_NONE;
}

bool run_stop(struct run *run, enum run_limit limit) {
    if (run->limit == LIMIT_NONE) {
        run->limit = limit;
    }
    return false;
}

static bool enter(struct run *run) {
    return ++run->depth <= SCHEMA_RECURSION_MAX || run_stop(run, LIMIT_RECURSION);
}

/* -------------------------------------------------------------------------------- scalar rules */

static bool check_enum(struct run *run, const struct choices *choices, yyjson_val *value) {
    bool text = unsafe_yyjson_is_str(value);
    if (choices->only_text && !text) {
        return explain_choice(run, choices, value);
    }
    for (uint32_t i = 0; i < choices->count; i++) {
        yyjson_val *choice = choices->values[i];
        if (choices->only_text) {
            size_t length = unsafe_yyjson_get_len(value);
            if (unsafe_yyjson_get_len(choice) == length &&
                name_equals(unsafe_yyjson_get_str(choice), unsafe_yyjson_get_str(value), length)) {
                return true;
            }
        } else if (json_equal(choice, value, &run->budget)) {
            return true;
        }
    }
    if (UNLIKELY(budget_ended(&run->budget))) {
        return run_stop(run, run->budget.steps < 0 ? LIMIT_STEPS : LIMIT_COMPARE);
    }
    return explain_choice(run, choices, value);
}

static bool fail_low(struct run *run, const struct number_rules *rules, yyjson_val *value) {
    return explain_bound(run, rules->low_open ? "exclusiveMinimum" : "minimum",
                         rules->low_open ? "must be greater than" : "must be at least",
                         rules->low_value, value);
}

static bool fail_high(struct run *run, const struct number_rules *rules, yyjson_val *value) {
    return explain_bound(run, rules->high_open ? "exclusiveMaximum" : "maximum",
                         rules->high_open ? "must be less than" : "must be at most",
                         rules->high_value, value);
}

static bool check_integer(struct run *run, const struct number_rules *rules, yyjson_val *value) {
    bool is_unsigned = unsafe_yyjson_get_subtype(value) == YYJSON_SUBTYPE_UINT;
    int128 integer = is_unsigned ? (int128)unsafe_yyjson_get_uint(value)
                                 : (int128)unsafe_yyjson_get_sint(value);
    if (UNLIKELY(integer < rules->integer_low)) {
        return fail_low(run, rules, value);
    }
    return LIKELY(integer <= rules->integer_high) || fail_high(run, rules, value);
}

static bool check_real(struct run *run, const struct number_rules *rules, yyjson_val *value) {
    double real = unsafe_yyjson_get_real(value);
    bool low = true;
    bool high = true;
    if (LIKELY(rules->real_bounds_exact)) {
        /* Written so that NaN, which some parsers accept, fails. */
        low = rules->low_open ? real > rules->low_real : real >= rules->low_real;
        high = rules->high_open ? real < rules->high_real : real <= rules->high_real;
    } else { /* integer bounds beyond 2^53 cannot be compared as doubles */
        struct number number = number_of(value);
        low = number_compare(number, rules->low) >= (rules->low_open ? 1 : 0);
        high = number_compare(number, rules->high) <= (rules->high_open ? -1 : 0);
    }
    if (rules->has_low && !low) {
        return fail_low(run, rules, value);
    }
    return !rules->has_high || high || fail_high(run, rules, value);
}

/* An integer beyond 64 bits that the parser kept as its digits. */
static bool check_digits(struct run *run, const struct number_rules *rules, yyjson_val *value) {
    struct number number = number_of(value);
    if (rules->has_low && number_compare(number, rules->low) < (rules->low_open ? 1 : 0)) {
        return fail_low(run, rules, value);
    }
    return !rules->has_high || number_compare(number, rules->high) <= (rules->high_open ? -1 : 0) ||
           fail_high(run, rules, value);
}

static bool check_number(struct run *run, const struct node *node, yyjson_val *value) {
    const struct number_rules *rules = node->number;
    bool is_real = unsafe_yyjson_get_subtype(value) == YYJSON_SUBTYPE_REAL;
    if (is_real && rules->integer_only && !number_is_whole(value)) {
        return explain_type(run, node, value);
    }
    bool valid = is_real                          ? check_real(run, rules, value)
                 : UNLIKELY(yyjson_is_raw(value)) ? check_digits(run, rules, value)
                                                  : check_integer(run, rules, value);
    if (!valid && !goes_on(run)) {
        return false;
    }
    return (rules->divisor_value == NULL || number_divides(&rules->divisor, value) ||
            explain_bound(run, "multipleOf", "must be a multiple of", rules->divisor_value,
                          value)) &&
           valid;
}

/* The number of bytes bounds the number of characters from both sides, so most strings need no
 * count. */
static bool check_length(struct run *run, const struct string_rules *rules, yyjson_val *value) {
    size_t bytes = unsafe_yyjson_get_len(value);
    if (LIKELY(bytes <= rules->length_max && (bytes + 3) / 4 >= rules->length_min)) {
        return true;
    }
    if (!budget_spend(&run->budget, bytes / 64)) {
        return run_stop(run, LIMIT_STEPS);
    }
    size_t count = utf8_count(unsafe_yyjson_get_str(value), bytes);
    if (count < rules->length_min) {
        return explain_count(run, "minLength", "at least", rules->length_min, "character", count);
    }
    if (count > rules->length_max) {
        return explain_count(run, "maxLength", "at most", rules->length_max, "character", count);
    }
    return true;
}

/* Matchers that are kept, one for each CPU (base/shard.h), for all schemas. */
static struct { _Alignas(SHARD_ALIGN) _Atomic(struct matcher *) kept; } matchers[SHARD_COUNT];

static void give_matcher(struct run *run) {
    struct matcher *expected = NULL;
    if (run->matcher != NULL &&
        atomic_compare_exchange_strong(&matchers[shard_here()].kept, &expected, run->matcher)) {
        run->matcher = NULL;
    }
    matcher_destroy(run->matcher);
    run->matcher = NULL;
}

bool run_search(struct run *run, const struct regex *regex, const char *text, size_t length) {
    if (run->matcher == NULL &&
        (run->matcher = atomic_exchange(&matchers[shard_here()].kept, NULL)) == NULL &&
        (run->matcher = matcher_create()) == NULL) {
        return run_stop(run, LIMIT_MEMORY);
    }
    switch (regex_search(regex, run->matcher, text, length, &run->budget)) {
    case REGEX_MATCH: return true;
    case REGEX_NO_MATCH: return false;
    case REGEX_NO_MEMORY: return run_stop(run, LIMIT_MEMORY);
    case REGEX_LIMIT: break;
    }
    return run_stop(run, run->budget.steps < 0 ? LIMIT_STEPS : LIMIT_MATCH);
}

static bool check_string(struct run *run, const struct string_rules *rules, yyjson_val *value) {
    bool valid = check_length(run, rules, value);
    if (!valid && !goes_on(run)) {
        return false;
    }
    const char *text = unsafe_yyjson_get_str(value);
    size_t length = unsafe_yyjson_get_len(value);
    if (rules->pattern != NULL && !run_search(run, rules->pattern, text, length)) {
        valid = explain_text(run, "pattern", value, "must match the pattern %s",
                             regex_source(rules->pattern));
        if (!goes_on(run)) {
            return false;
        }
    }
    if (rules->format != NULL && !rules->format->valid(text, length)) {
        valid = explain_text(run, "format", value, "must be a valid %s, such as %s",
                             rules->format->name, rules->format->example);
    }
    return valid;
}

/* ------------------------------------------------------------------------------------- arrays */

static bool check_items(struct run *run, const struct array_rules *rules, yyjson_val *array) {
    size_t count = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    bool all = true;
    if (rules->rest != NULL && rules->rest->never && count > rules->prefix.count) {
        all = explain_count(run, "items", "at most", rules->prefix.count, "item", count);
        if (!goes_on(run)) {
            return false;
        }
        count = rules->prefix.count;
    }
    for (size_t i = 0; i < count; i++) {
        const struct node *node = i < rules->prefix.count ? rules->prefix.nodes[i] : rules->rest;
        if (node == NULL) {
            break;
        }
        if (UNLIKELY(run->explain != NULL)) {
            explain_enter_index(run, i);
        }
        bool valid = check(run, node, item, NULL, 0);
        if (UNLIKELY(run->explain != NULL)) {
            explain_leave(run);
        }
        if (UNLIKELY(!valid)) {
            if (!goes_on(run)) {
                return false;
            }
            all = false;
        }
        item = unsafe_yyjson_get_next(item);
    }
    return all;
}

static bool check_contains(struct run *run, const struct array_rules *rules, yyjson_val *array) {
    size_t count = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    uint64_t found = 0;
    bool open = rules->contains_max == UINT64_MAX;
    for (size_t i = 0; i < count && !(open && found >= rules->contains_min); i++) {
        found += run_check_quietly(run, rules->contains, item);
        if (run->limit != LIMIT_NONE) {
            return false;
        }
        item = unsafe_yyjson_get_next(item);
    }
    if (found < rules->contains_min) {
        return explain_count(run, "contains", "at least", rules->contains_min, "matching item",
                             found);
    }
    if (found > rules->contains_max) {
        return explain_count(run, "maxContains", "at most", rules->contains_max, "matching item",
                             found);
    }
    return true;
}

static bool check_unique(struct run *run, yyjson_val *array) {
    size_t first = 0;
    size_t second = 0;
    switch (json_check_unique(array, &run->budget, &first, &second)) {
    case JSON_UNIQUE: return true;
    case JSON_REPEATED:
        return explain(run, "uniqueItems", "must not repeat a value: items %zu and %zu are equal",
                       first, second);
    case JSON_UNIQUE_NO_MEMORY: return run_stop(run, LIMIT_MEMORY);
    case JSON_UNIQUE_ENDED: break;
    }
    return run_stop(run, run->budget.steps < 0 ? LIMIT_STEPS : LIMIT_COMPARE);
}

static bool check_array(struct run *run, const struct array_rules *rules, yyjson_val *array) {
    size_t count = unsafe_yyjson_get_len(array);
    bool counts = true;
    if (UNLIKELY(count < rules->count_min)) {
        counts = explain_count(run, "minItems", "at least", rules->count_min, "item", count);
    } else if (UNLIKELY(count > rules->count_max)) {
        counts = explain_count(run, "maxItems", "at most", rules->count_max, "item", count);
    }
    if ((!counts && !goes_on(run)) || !enter(run)) {
        return false;
    }
    bool valid = check_items(run, rules, array);
    if ((valid || goes_on(run)) && rules->contains != NULL) {
        valid = check_contains(run, rules, array) && valid;
    }
    if ((valid || goes_on(run)) && rules->unique) {
        valid = check_unique(run, array) && valid;
    }
    run->depth--;
    return valid && counts;
}

/* ------------------------------------------------------------------------------------ objects */

const struct property *run_find_property(const struct object_rules *rules, const char *name,
                                         size_t length) {
    if (rules->buckets == NULL) {
        for (uint32_t i = 0; i < rules->count; i++) {
            if (is_property(&rules->properties[i], name, length)) {
                return &rules->properties[i];
            }
        }
        return NULL;
    }
    uint32_t slot = name_hash(name, length) & rules->bucket_mask;
    for (; rules->buckets[slot] != 0; slot = (slot + 1) & rules->bucket_mask) {
        const struct property *property = &rules->properties[rules->buckets[slot] - 1];
        if (is_property(property, name, length)) {
            return property;
        }
    }
    return NULL;
}

/* Arguments usually come in the schema's order, so the entry after the last one is tried first. */
static inline const struct property *find_next_property(const struct object_rules *rules,
                                                        const char *name, size_t length,
                                                        uint32_t guess) {
    if (LIKELY(guess < rules->count) && is_property(&rules->properties[guess], name, length)) {
        return &rules->properties[guess];
    }
    return run_find_property(rules, name, length);
}

/* Check the value of a member, or its key by `propertyNames`. */
static inline bool check_member(struct run *run, const struct node *node,
                                const struct object_rules *rules, yyjson_val *object,
                                yyjson_val *key, yyjson_val *value) {
    if (LIKELY(run->explain == NULL)) {
        return check(run, node, value, NULL, 0);
    }
    explain_enter_member(run, rules, object, key);
    bool valid = check(run, node, value, NULL, 0);
    explain_leave(run);
    return valid;
}

/* Check a property by a schema with more than a table: patterns, names, a schema for the rest. */
static bool check_member_fully(struct run *run, const struct object_rules *rules,
                               const struct property *property, yyjson_val *object,
                               yyjson_val *key) {
    bool known = property != NULL && property->node != NULL;
    bool valid = rules->names == NULL || check_member(run, rules->names, rules, object, key, key);
    if ((valid || goes_on(run)) && known) {
        valid = check_member(run, property->node, rules, object, key, key + 1) && valid;
    }
    for (uint32_t i = 0; (valid || goes_on(run)) && i < rules->pattern_count; i++) {
        const struct pattern_property *pattern = &rules->patterns[i];
        bool matches = run_search(run, pattern->regex, unsafe_yyjson_get_str(key),
                                  unsafe_yyjson_get_len(key));
        if (run->limit != LIMIT_NONE) {
            return false;
        }
        if (matches) {
            valid = check_member(run, pattern->node, rules, object, key, key + 1) && valid;
        }
        known = known || matches;
    }
    if (known || rules->additional == NULL || (!valid && !goes_on(run))) {
        return valid;
    }
    return (rules->closed ? explain_unknown(run, rules, object, key)
                          : check_member(run, rules->additional, rules, object, key, key + 1)) &&
           valid;
}

static bool has_key(struct run *run, yyjson_val *object, const char *name, size_t length) {
    (void)budget_spend(&run->budget, unsafe_yyjson_get_len(object) / 4);
    return yyjson_obj_getn(object, name, length) != NULL;
}

/* Find the missing required properties; called only if one is missing, or if there are too many for
 * bits.
 */
static bool check_required(struct run *run, const struct object_rules *rules, yyjson_val *object) {
    bool all = true;
    for (uint32_t i = 0; i < rules->required_count; i++) {
        yyjson_val *name = rules->required_names[i];
        if (!has_key(run, object, unsafe_yyjson_get_str(name), unsafe_yyjson_get_len(name))) {
            all = explain_missing(run, rules, object, name, NULL);
            if (!goes_on(run)) {
                return false;
            }
        }
        if (run->budget.steps < 0) {
            return run_stop(run, LIMIT_STEPS);
        }
    }
    return all;
}

static bool check_members(struct run *run, const struct object_rules *rules, yyjson_val *object,
                          yyjson_val **slots, size_t slot_count) {
    uint64_t seen = 0;
    uint32_t guess = 0;
    bool all = true;
    yyjson_val *key = unsafe_yyjson_get_first(object);
    for (size_t left = unsafe_yyjson_get_len(object); left > 0; left--) {
        const struct property *property = find_next_property(rules, unsafe_yyjson_get_str(key),
                                                             unsafe_yyjson_get_len(key), guess);
        if (LIKELY(property != NULL)) {
            guess = (uint32_t)(property - rules->properties);
            if (guess < slot_count && slots[guess] == NULL) {
                slots[guess] = key + 1;
            }
            guess++;
            seen |= property->required_bit;
        }
        bool valid = true;
        if (LIKELY(rules->only_table)) {
            if (LIKELY(property != NULL && property->node != NULL)) {
                valid = (quick_takes(&property->quick, key + 1) && run->explain == NULL) ||
                        check_member(run, property->node, rules, object, key, key + 1);
            } else if (rules->closed) {
                valid = explain_unknown(run, rules, object, key);
            }
        } else {
            valid = check_member_fully(run, rules, property, object, key);
        }
        if (UNLIKELY(!valid)) {
            if (!goes_on(run)) {
                return false;
            }
            all = false;
        }
        if (UNLIKELY(run->budget.steps-- <= 0)) {
            return run_stop(run, LIMIT_STEPS);
        }
        key = unsafe_yyjson_get_next(key + 1);
    }
    if (UNLIKELY(seen != rules->required || rules->required_count > 64)) {
        return check_required(run, rules, object) && all;
    }
    return all;
}

/* Check what one member of an object requires of it. */
static bool check_dependent(struct run *run, const struct object_rules *rules,
                            const struct dependent *dependent, yyjson_val *object) {
    yyjson_val *trigger = yyjson_obj_getn(object, dependent->trigger, dependent->trigger_length);
    bool all = true;
    for (uint32_t n = 0; n < dependent->name_count; n++) {
        yyjson_val *name = dependent->names[n];
        if (!has_key(run, object, unsafe_yyjson_get_str(name), unsafe_yyjson_get_len(name))) {
            all = explain_missing(run, rules, object, name, trigger - 1);
            if (!goes_on(run)) {
                return false;
            }
        }
    }
    return (dependent->node == NULL || check(run, dependent->node, object, NULL, 0)) && all;
}

static bool check_dependents(struct run *run, const struct object_rules *rules,
                             yyjson_val *object) {
    bool all = true;
    for (uint32_t i = 0; i < rules->dependent_count; i++) {
        const struct dependent *dependent = &rules->dependents[i];
        if (has_key(run, object, dependent->trigger, dependent->trigger_length) &&
            !check_dependent(run, rules, dependent, object)) {
            if (!goes_on(run)) {
                return false;
            }
            all = false;
        }
        if (run->budget.steps < 0) {
            return run_stop(run, LIMIT_STEPS);
        }
    }
    return all;
}

static bool check_object(struct run *run, const struct object_rules *rules, yyjson_val *object,
                         yyjson_val **slots, size_t slot_count) {
    size_t count = unsafe_yyjson_get_len(object);
    bool counts = true;
    if (UNLIKELY(count < rules->count_min)) {
        counts = explain_count(run, "minProperties", "at least", rules->count_min, "property",
                               count);
    } else if (UNLIKELY(count > rules->count_max)) {
        counts =
                explain_count(run, "maxProperties", "at most", rules->count_max, "property", count);
    }
    if (UNLIKELY((!counts && !goes_on(run)) || !enter(run))) {
        return false;
    }
    bool valid = check_members(run, rules, object, slots, slot_count);
    if ((valid || goes_on(run)) && rules->dependent_count > 0) {
        valid = check_dependents(run, rules, object) && valid;
    }
    run->depth--;
    return valid && counts;
}

/* -------------------------------------------------------------------------------- applicators */

bool run_check_quietly(struct run *run, const struct node *node, yyjson_val *value) {
    struct explain *kept = run->explain;
    run->explain = NULL;
    bool valid = check(run, node, value, NULL, 0);
    run->explain = kept;
    return valid;
}

static bool check_any(struct run *run, const struct node_list *branches, yyjson_val *value) {
    for (uint32_t i = 0; i < branches->count; i++) {
        if (run_check_quietly(run, branches->nodes[i], value)) {
            return true;
        }
        if (run->limit != LIMIT_NONE) {
            return false;
        }
    }
    return explain_branches(run, branches, value);
}

static bool check_one(struct run *run, const struct node_list *branches, yyjson_val *value) {
    uint32_t first = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < branches->count; i++) {
        bool valid = run_check_quietly(run, branches->nodes[i], value);
        if (run->limit != LIMIT_NONE) {
            return false;
        }
        if (valid && found++ == 1) {
            return explain_both(run, branches, first, i);
        }
        first = valid ? i : first;
    }
    return found == 1 || explain_branches(run, branches, value);
}

const struct node *run_dynamic(const struct run *run, const struct applicators *apply) {
    const struct node *found = apply->dynamic;
    if (apply->dynamic_name == DYNAMIC_NONE) {
        return found;
    }
    /* The outermost resource with such an anchor wins, so the last one seen. */
    for (const struct scope *scope = run->scope; scope != NULL; scope = scope->outer) {
        const struct dynamic_anchor *anchor = scope->resource->anchors;
        while (anchor != NULL && anchor->name != apply->dynamic_name) {
            anchor = anchor->next;
        }
        found = anchor != NULL ? anchor->node : found;
    }
    return found;
}

/* The schemas that apply always: of references and allOf. */
static bool check_all(struct run *run, const struct applicators *apply, yyjson_val *value) {
    bool all = apply->reference == NULL || check(run, apply->reference, value, NULL, 0);
    if ((all || goes_on(run)) && apply->dynamic != NULL) {
        all = check(run, run_dynamic(run, apply), value, NULL, 0) && all;
    }
    for (uint32_t i = 0; (all || goes_on(run)) && i < apply->all.count; i++) {
        all = check(run, apply->all.nodes[i], value, NULL, 0) && all;
    }
    return all;
}

static bool check_condition(struct run *run, const struct applicators *apply, yyjson_val *value) {
    if (apply->not != NULL) {
        bool valid = run_check_quietly(run, apply->not, value);
        if (run->limit != LIMIT_NONE) {
            return false;
        }
        if (valid) {
            return explain(run, "not", "must not match the schema under \"not\"");
        }
    }
    if (apply->condition == NULL) {
        return true;
    }
    bool holds = run_check_quietly(run, apply->condition, value);
    const struct node *next = holds ? apply->then : apply->otherwise;
    return run->limit == LIMIT_NONE && (next == NULL || check(run, next, value, NULL, 0));
}

static bool check_apply(struct run *run, const struct node *node, yyjson_val *value) {
    const struct applicators *apply = node->apply;
    bool all = check_all(run, apply, value);
    if ((all || goes_on(run)) && apply->any.count > 0) {
        all = check_any(run, &apply->any, value) && all;
    }
    if ((all || goes_on(run)) && apply->one.count > 0) {
        all = check_one(run, &apply->one, value) && all;
    }
    if (all || goes_on(run)) {
        all = check_condition(run, apply, value) && all;
    }
    /* What of a value is unevaluated is known only when the rest is valid. */
    return all && ((apply->unevaluated_items == NULL && apply->unevaluated_properties == NULL) ||
                   run_check_unevaluated(run, node, value));
}

static bool check_applicators(struct run *run, const struct node *node, yyjson_val *value) {
    bool valid = enter(run) && check_apply(run, node, value);
    run->depth--;
    return valid;
}

/* -------------------------------------------------------------------------------------- nodes */

/* The rules for the value's own type. */
static inline bool check_typed(struct run *run, const struct node *node, yyjson_val *value,
                               yyjson_val **slots, size_t slot_count) {
    switch (unsafe_yyjson_get_tag(value) & YYJSON_TYPE_MASK) {
    case YYJSON_TYPE_STR: return node->string == NULL || check_string(run, node->string, value);
    case YYJSON_TYPE_RAW:
    case YYJSON_TYPE_NUM: return node->number == NULL || check_number(run, node, value);
    case YYJSON_TYPE_OBJ:
        return node->object == NULL || check_object(run, node->object, value, slots, slot_count);
    case YYJSON_TYPE_ARR: return node->array == NULL || check_array(run, node->array, value);
    default: return true;
    }
}

static inline bool check_node(struct run *run, const struct node *node, yyjson_val *value,
                              yyjson_val **slots, size_t slot_count) {
    uint8_t tag = unsafe_yyjson_get_tag(value);
    if (UNLIKELY((node->tags & TAG_BIT(tag)) == 0)) {
        return explain_type(run, node, value);
    }
    bool all = check_typed(run, node, value, slots, slot_count);
    if (UNLIKELY(!all && !goes_on(run))) {
        return false;
    }
    if (node->choices != NULL && !check_enum(run, node->choices, value)) {
        return false;
    }
    if (node->constant != NULL && !check_enum(run, node->constant, value)) {
        return false;
    }
    return (node->apply == NULL || check_applicators(run, node, value)) && all;
}

static bool check(struct run *run, const struct node *node, yyjson_val *value, yyjson_val **slots,
                  size_t slot_count) {
    if (UNLIKELY(run->budget.steps-- <= 0)) {
        return run_stop(run, LIMIT_STEPS);
    }
    if (LIKELY(run->scope == NULL) || run->scope->resource == node->resource) {
        return check_node(run, node, value, slots, slot_count);
    }
    struct scope scope = {.resource = node->resource, .outer = run->scope};
    run->scope = &scope;
    bool valid = check_node(run, node, value, slots, slot_count);
    run->scope = scope.outer;
    return valid;
}

bool run_check(struct run *run, const struct node *node, yyjson_val *value) {
    return check(run, node, value, NULL, 0);
}

/* ------------------------------------------------------------------------------------ calling */

static void explain_value(const struct schema *schema, const struct node *node, yyjson_val *value,
                          const struct schema_naming *naming, struct tolerating *tolerating,
                          struct schema_mistakes *ret) {
    struct explain explain; /* large: only the required members are initialized */
    explain_init(&explain, ret);
    explain.naming = naming;
    explain.tolerating = tolerating;
    struct scope scope = {.resource = node->resource};
    struct run run = {.budget.steps = schema->steps_max,
                      .schema = schema,
                      .scope = schema->has_dynamic ? &scope : NULL,
                      .explain = &explain};
    (void)check(&run, node, value, NULL, 0);
    if (ret->count == 0) { /* a limit ended the explaining run */
        explain_limit(&run, ret);
    }
    give_matcher(&run);
}

static void explain_failure(const struct run *ended, const struct node *node, yyjson_val *value,
                            struct schema_failure *failure) {
    struct schema_mistakes mistakes;
    if (ended->limit != LIMIT_NONE) {
        explain_limit(ended, &mistakes);
    } else {
        explain_value(ended->schema, node, value, NULL, NULL, &mistakes);
    }
    const struct schema_mistake *first = &mistakes.list[0];
    failure->code = mistakes.code;
    failure->keyword = first->keyword;
    memcpy(failure->field, first->field, sizeof failure->field);
    memcpy(failure->reason, first->reason, sizeof failure->reason);
}

void schema_explain(const struct schema *schema, yyjson_val *instance,
                    const struct schema_naming *naming, struct schema_mistakes *ret) {
    explain_value(schema, schema->root, instance, naming, NULL, ret);
}

void schema_explain_to(const struct schema *schema, yyjson_val *instance,
                       struct tolerating *tolerating, struct schema_mistakes *ret) {
    explain_value(schema, schema->root, instance, NULL, tolerating, ret);
}

bool schema_check_node(const struct schema *schema, const struct node *node, yyjson_val *value,
                       yyjson_val **slots, size_t slot_count, int64_t *steps,
                       struct schema_failure *failure) {
    struct scope scope = {.resource = node->resource};
    struct run run = {.budget.steps = *steps,
                      .schema = schema,
                      .scope = UNLIKELY(schema->has_dynamic) ? &scope : NULL};
    bool valid = check(&run, node, value, slots, slot_count);
    *steps = run.budget.steps;
    if (UNLIKELY(run.matcher != NULL)) {
        give_matcher(&run);
    }
    if (UNLIKELY(!valid && failure != NULL)) {
        explain_failure(&run, node, value, failure);
    }
    return valid;
}

bool schema_validate(const struct schema *schema, yyjson_val *instance,
                     struct schema_failure *failure) {
    int64_t steps = schema->steps_max;
    return schema_check_node(schema, schema->root, instance, NULL, 0, &steps, failure);
}

bool schema_validate_within(const struct schema *schema, yyjson_val *instance, int64_t *steps,
                            struct schema_failure *failure) {
    int64_t allowed = *steps < schema->steps_max ? *steps : schema->steps_max;
    int64_t left = allowed;
    bool valid = schema_check_node(schema, schema->root, instance, NULL, 0, &left, failure);
    int64_t taken = valid ? allowed - left : 2 * (allowed - left); /* to explain takes as many */
    *steps -= taken < *steps ? taken : *steps;
    return valid;
}

bool schema_validate_object(const struct schema *schema, yyjson_val *instance, yyjson_val **slots,
                            size_t slot_count, struct schema_failure *failure) {
    const struct object_rules *rules = schema->root->object;
    size_t listed = rules != NULL ? rules->listed : 0;
    for (size_t i = 0; i < slot_count; i++) {
        slots[i] = NULL;
    }
    if (UNLIKELY(!yyjson_is_obj(instance))) {
        if (failure != NULL) {
            *failure = (struct schema_failure){.code = TOOLRACK_E_INVALID_ARGUMENTS,
                                               .keyword = "type"};
            struct text text = text_in(failure->reason, sizeof failure->reason);
            text_printf(&text, "must be an object, not %s", keyword_kind(instance));
        }
        return false;
    }
    int64_t steps = schema->steps_max;
    return schema_check_node(schema, schema->root, instance, slots,
                             slot_count < listed ? slot_count : listed, &steps, failure);
}
