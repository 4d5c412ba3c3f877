#include "schema/misplaced.h"

#include <string.h>

/* Most members and properties that are looked at; each comparison takes up to a microsecond. */
#define TRIED_MAX 256u

/* Longest chain of references to the rules of an object. */
#define HOPS_MAX 8u

/* ----------------------------------------------------------------------------------- the schema */

static const struct object_rules *rules_of(const struct node *node, unsigned hops);

static const struct object_rules *rules_in(const struct node_list *list, unsigned hops) {
    const struct object_rules *rules = NULL;
    for (uint32_t i = 0; rules == NULL && i < list->count; i++) {
        rules = rules_of(list->nodes[i], hops);
    }
    return rules;
}

static const struct object_rules *rules_of(const struct node *node, unsigned hops) {
    if (node == NULL || hops == 0) {
        return NULL;
    }
    const struct applicators *apply = node->apply;
    if (node->object != NULL || apply == NULL) {
        return node->object;
    }
    const struct object_rules *rules = rules_of(apply->reference, hops - 1);
    rules = rules != NULL ? rules : rules_in(&apply->all, hops - 1);
    rules = rules != NULL ? rules : rules_in(&apply->any, hops - 1);
    return rules != NULL ? rules : rules_in(&apply->one, hops - 1);
}

const struct object_rules *misplaced_rules(const struct node *node) {
    return rules_of(node, HOPS_MAX);
}

const struct property *misplaced_property(const struct object_rules *rules, const char *name,
                                          size_t length) {
    const struct property *property = run_find_property(rules, name, length);
    return property != NULL && property->node != NULL && !property->node->never ? property : NULL;
}

bool misplaced_requires(const struct object_rules *rules, const char *name, size_t length) {
    for (uint32_t i = 0; i < rules->required_count; i++) {
        yyjson_val *required = rules->required_names[i];
        if (unsafe_yyjson_get_len(required) == length &&
            memcmp(unsafe_yyjson_get_str(required), name, length) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t tried(const struct object_rules *rules) {
    return rules->listed < TRIED_MAX ? rules->listed : TRIED_MAX;
}

/* ----------------------------------------------------------------------------------- the object */

static bool has(yyjson_val *object, const struct property *property) {
    return yyjson_obj_getn(object, property->name, property->length) != NULL;
}

static const struct property *property_of(const struct object_rules *rules, yyjson_val *key) {
    return misplaced_property(rules, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
}

static bool is_unknown(const struct object_rules *rules, yyjson_val *key) {
    return run_find_property(rules, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)) == NULL;
}

/* The property, an object that is not there or lacks it, into which a member belongs. */
static const struct property *find_inside(const struct object_rules *rules, yyjson_val *object,
                                          yyjson_val *key) {
    for (uint32_t i = 0; i < tried(rules); i++) {
        const struct property *property = &rules->properties[i];
        const struct object_rules *inner = misplaced_rules(property->node);
        yyjson_val *there = yyjson_obj_getn(object, property->name, property->length);
        if (inner != NULL && property_of(inner, key) != NULL &&
            (there == NULL ||
             (yyjson_is_obj(there) && yyjson_obj_getn(there, unsafe_yyjson_get_str(key),
                                                      unsafe_yyjson_get_len(key)) == NULL))) {
            return property;
        }
    }
    return NULL;
}

/* Whether a member is an object that has members which belong beside it. */
static bool is_wrapper(const struct object_rules *rules, yyjson_val *object, yyjson_val *key) {
    yyjson_obj_iter iter;
    yyjson_val *inner = NULL;
    unsigned left = TRIED_MAX;
    if (!yyjson_obj_iter_init(key + 1, &iter)) {
        return false;
    }
    while (left-- > 0 && (inner = yyjson_obj_iter_next(&iter)) != NULL) {
        const struct property *property = property_of(rules, inner);
        if (property != NULL && !has(object, property)) {
            return true;
        }
    }
    return false;
}

/* Rather one that is not there: a member cannot be given that name otherwise. */
static const struct property *find_near(const struct object_rules *rules, yyjson_val *object,
                                        yyjson_val *key) {
    for (unsigned there = 0; there < 2; there++) {
        struct nearest nearest = nearest_to(unsafe_yyjson_get_str(key));
        const struct property *found = NULL;
        for (uint32_t i = 0; i < tried(rules); i++) {
            const struct property *property = &rules->properties[i];
            if (!property->node->never && has(object, property) == (there == 1) &&
                nearest_try(&nearest, property->name)) {
                found = property;
            }
        }
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static struct misplaced find_by_name(const struct object_rules *rules, yyjson_val *object,
                                     yyjson_val *key) {
    const struct property *property = find_inside(rules, object, key);
    if (property != NULL) {
        return (struct misplaced){.kind = MISPLACED_INSIDE, .property = property};
    }
    if (is_wrapper(rules, object, key)) {
        return (struct misplaced){.kind = MISPLACED_OUT};
    }
    property = find_near(rules, object, key);
    return (struct misplaced){.kind = property != NULL ? MISPLACED_NAME : MISPLACED_NOT,
                              .property = property};
}

/* The only unknown member that resembles nothing is the only missing property that takes it. */
static const struct property *find_by_value(struct run *run, const struct object_rules *rules,
                                            yyjson_val *object, yyjson_val *key) {
    yyjson_val *other = unsafe_yyjson_get_first(object);
    size_t count = unsafe_yyjson_get_len(object);
    if (count > TRIED_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (other != key && is_unknown(rules, other) &&
            find_by_name(rules, object, other).kind == MISPLACED_NOT) {
            return NULL;
        }
        other = unsafe_yyjson_get_next(other + 1);
    }
    const struct property *found = NULL;
    for (uint32_t i = 0; i < rules->required_count && i < TRIED_MAX; i++) {
        const struct property *property = property_of(rules, rules->required_names[i]);
        if (property != NULL && !has(object, property) &&
            run_check_quietly(run, property->node, key + 1)) {
            if (found != NULL) {
                return NULL;
            }
            found = property;
        }
    }
    return found;
}

static bool is_above(struct path path, yyjson_val *key, size_t *ret_level) {
    for (size_t i = path.length; i-- > 0;) {
        const struct step *step = &path.steps[i];
        const struct property *property =
                step->rules != NULL ? property_of(step->rules, key) : NULL;
        if (property != NULL && !has(step->object, property)) {
            *ret_level = i;
            return true;
        }
    }
    return false;
}

struct misplaced misplaced_find(struct run *run, struct path path, const struct object_rules *rules,
                                yyjson_val *object, yyjson_val *key) {
    struct misplaced misplaced = {.kind = MISPLACED_NOT};
    if (rules->pattern_count > 0 || (rules->additional != NULL && !rules->closed)) {
        return misplaced;
    }
    misplaced = find_by_name(rules, object, key);
    if (misplaced.kind == MISPLACED_NOT && is_above(path, key, &misplaced.level)) {
        misplaced.kind = MISPLACED_ABOVE;
    }
    if (misplaced.kind == MISPLACED_NOT) {
        misplaced.property = find_by_value(run, rules, object, key);
        misplaced.kind = misplaced.property != NULL ? MISPLACED_NAME : MISPLACED_NOT;
    }
    return misplaced;
}

yyjson_val *misplaced_source(struct run *run, struct path path, const struct object_rules *rules,
                             yyjson_val *object, const char *name, size_t length,
                             struct misplaced *ret) {
    const struct property *property = misplaced_property(rules, name, length);
    yyjson_val *key = unsafe_yyjson_get_first(object);
    size_t count = unsafe_yyjson_get_len(object);
    for (size_t i = 0; property != NULL && i < count && i < TRIED_MAX; i++) {
        if (is_unknown(rules, key)) {
            *ret = misplaced_find(run, path, rules, object, key);
            bool is_meant =
                    ret->kind == MISPLACED_OUT
                            ? yyjson_obj_getn(key + 1, name, length) != NULL
                            : (ret->kind == MISPLACED_NAME || ret->kind == MISPLACED_INSIDE) &&
                                      ret->property == property;
            if (is_meant) {
                return key;
            }
        }
        key = unsafe_yyjson_get_next(key + 1);
    }
    return NULL;
}
