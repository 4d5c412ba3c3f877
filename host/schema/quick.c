#include "schema/quick.h"

#include <math.h>

#include "base/json-exact.h"

/* Tags of numbers, one for each subtype. */
#define TAGS_UINT TAGS_OF_SUBTYPE(YYJSON_SUBTYPE_UINT)
#define TAGS_SINT TAGS_OF_SUBTYPE(YYJSON_SUBTYPE_SINT)
#define TAGS_TEXT TAGS_OF_TYPE(YYJSON_TYPE_STR)

/* ---------------------------------------------------------------- preparing */

/* A string of so many bytes has as many characters at most, and a quarter of them at least. */
static bool limit_strings(const struct string_rules *rules, struct quick *quick) {
    if (rules == NULL) {
        return true;
    }
    quick->low = rules->length_min == 0 ? 0 : 4 * (rules->length_min - 1) + 1;
    quick->high = rules->length_max;
    return rules->pattern == NULL && rules->format == NULL && rules->length_min <= UINT32_MAX;
}

static bool choose_strings(const struct choices *choices, struct quick *quick) {
    if (choices != NULL) {
        quick->choice_count = choices->count;
        quick->choices = choices->values;
    }
    return choices == NULL || (choices->only_text && choices->count > 0);
}

/* Those that no bound concerns, or that unsigned ones bound. */
static uint32_t limit_integers(const struct number_rules *rules, struct quick *quick) {
    if (rules == NULL) {
        return TAGS_UINT | TAGS_SINT;
    }
    bool is_bounded = rules->has_low || rules->has_high;
    if (rules->divisor_value != NULL || rules->integer_low > UINT64_MAX ||
        rules->integer_high < 0) {
        return 0;
    }
    quick->low = rules->integer_low < 0 ? 0 : (uint64_t)rules->integer_low;
    quick->high = rules->integer_high > UINT64_MAX ? UINT64_MAX : (uint64_t)rules->integer_high;
    return is_bounded ? TAGS_UINT : TAGS_UINT | TAGS_SINT;
}

static uint32_t limit_reals(const struct number_rules *rules, struct quick *quick) {
    quick->real_low = -JSON_EXACT_MAX;
    quick->real_high = JSON_EXACT_MAX;
    if (rules == NULL) {
        return TAGS_REAL;
    }
    double low = rules->low_open ? nextafter(rules->low_real, INFINITY) : rules->low_real;
    double high = rules->high_open ? nextafter(rules->high_real, -INFINITY) : rules->high_real;
    quick->real_low = fmax(quick->real_low, low);
    quick->real_high = fmin(quick->real_high, high);
    return rules->integer_only || rules->divisor_value != NULL || !rules->real_bounds_exact
                   ? 0
                   : TAGS_REAL;
}

/* The record of a node has one pair of bounds and either choices or bounds of reals: of a node that
 * takes both strings and numbers it takes the strings only, unless neither has rules. */
static struct quick quick_of(const struct node *node) {
    struct quick quick = {.high = UINT64_MAX};
    const struct choices *choices = node->choices != NULL ? node->choices : node->constant;
    uint32_t tags = TAGS_OF_TYPE(YYJSON_TYPE_NULL) | TAGS_OF_TYPE(YYJSON_TYPE_BOOL);
    if (node->apply != NULL || (node->choices != NULL && node->constant != NULL)) {
        return quick;
    }
    bool has_strings = (node->tags & TAGS_TEXT) != 0;
    bool has_rules = node->string != NULL || node->number != NULL || choices != NULL;
    if (has_strings && limit_strings(node->string, &quick) && choose_strings(choices, &quick)) {
        tags |= TAGS_TEXT;
    }
    if (!has_strings || !has_rules) {
        tags |= limit_integers(node->number, &quick) | limit_reals(node->number, &quick);
    }
    quick.tags = node->tags & (choices != NULL ? tags & TAGS_TEXT : tags);
    return quick;
}

/* Whether the root asks for nothing but its type and a table of at most 64 properties. */
static void prepare_root(struct schema *schema) {
    const struct node *root = schema->root;
    const struct object_rules *rules = root->object;
    schema->is_quick = !schema->has_dynamic && root->apply == NULL && root->choices == NULL &&
                       root->constant == NULL && rules != NULL && rules->only_table &&
                       rules->dependent_count == 0 && rules->count == rules->listed &&
                       rules->count <= 64 && rules->count_min == 0 &&
                       rules->count_max == UINT64_MAX &&
                       (root->tags & TAGS_OF_TYPE(YYJSON_TYPE_OBJ)) != 0;
    for (uint32_t i = 0; schema->is_quick && i < rules->count; i++) {
        schema->required |= (uint64_t)(rules->properties[i].required_bit != 0) << i;
    }
}

void quick_prepare(struct library *library, struct schema *schema) {
    for (size_t i = 0; i < library->place_room; i++) {
        const struct place *place = library->places[i];
        const struct object_rules *rules =
                place != NULL && place->node != NULL ? place->node->object : NULL;
        for (uint32_t k = 0; rules != NULL && k < rules->listed; k++) {
            rules->properties[k].quick = quick_of(rules->properties[k].node);
        }
    }
    prepare_root(schema);
}

/* ----------------------------------------------------------------- checking */

bool schema_validate_quickly(const struct schema *schema, yyjson_val *instance, yyjson_val **slots,
                             size_t slot_count) {
    if (!schema->is_quick || !unsafe_yyjson_is_obj(instance)) {
        return false;
    }
    const struct object_rules *rules = schema->root->object;
    uint64_t given = 0;
    uint32_t next = 0; /* arguments usually come in the schema's order */
    yyjson_val *key = unsafe_yyjson_get_first(instance);
    for (size_t i = 0; i < slot_count; i++) {
        slots[i] = NULL;
    }
    for (size_t left = unsafe_yyjson_get_len(instance); left > 0; left--, key += 2, next++) {
        const char *name = unsafe_yyjson_get_str(key);
        size_t length = unsafe_yyjson_get_len(key);
        if (UNLIKELY(next >= rules->listed ||
                     !is_property(&rules->properties[next], name, length))) {
            const struct property *found = run_find_property(rules, name, length);
            next = found != NULL ? (uint32_t)(found - rules->properties) : rules->listed;
            if (next >= rules->listed) {
                return false;
            }
        }
        if (UNLIKELY((given >> next & 1) != 0 ||
                     !quick_takes(&rules->properties[next].quick, key + 1))) {
            return false;
        }
        given |= UINT64_C(1) << next;
        if (next < slot_count) {
            slots[next] = key + 1;
        }
    }
    return (given & schema->required) == schema->required;
}
