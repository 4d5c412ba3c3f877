#include "schema/draft.h"

#include "base/cleanup.h"

/* The key of a member; NULL: there is none. */
static yyjson_mut_val *key_of(yyjson_mut_val *object, const char *name) {
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL && !yyjson_mut_equals_str(key, name)) {
    }
    return key;
}

static bool is_schema(yyjson_mut_val *value) {
    return yyjson_mut_is_obj(value) || yyjson_mut_is_bool(value);
}

/* ------------------------------------------------------------------- limits */

static void update_limit(yyjson_mut_val *schema, const char *exclusive, const char *limit,
                         const char *what, draft_report *report, void *user) {
    yyjson_mut_val *is_exclusive = yyjson_mut_obj_get(schema, exclusive);
    yyjson_mut_val *key = key_of(schema, limit);
    if (!yyjson_mut_is_bool(is_exclusive) || (yyjson_mut_is_true(is_exclusive) && key == NULL)) {
        return;
    }
    (void)yyjson_mut_obj_remove_key(schema, exclusive);
    if (yyjson_mut_is_true(is_exclusive)) {
        (void)yyjson_mut_set_str(key, exclusive);
    }
    report(user, what);
}

void draft_update_limits(yyjson_mut_val *schema, draft_report *report, void *user) {
    update_limit(schema, "exclusiveMinimum", "minimum",
                 "exclusiveMinimum is a number since draft 6", report, user);
    update_limit(schema, "exclusiveMaximum", "maximum",
                 "exclusiveMaximum is a number since draft 6", report, user);
}

/* -------------------------------------------------------------------- items */

void draft_update_items(yyjson_mut_val *schema, draft_report *report, void *user) {
    yyjson_mut_val *items = yyjson_mut_obj_get(schema, "items");
    if (!yyjson_mut_is_arr(items) || yyjson_mut_obj_get(schema, "prefixItems") != NULL) {
        return;
    }
    if (yyjson_mut_arr_size(items) > 0) {
        (void)yyjson_mut_set_str(key_of(schema, "items"), "prefixItems");
    } else {
        (void)yyjson_mut_obj_remove_key(schema, "items");
    }
    if (is_schema(yyjson_mut_obj_get(schema, "additionalItems"))) {
        (void)yyjson_mut_set_str(key_of(schema, "additionalItems"), "items");
    }
    report(user, "a list in items is called prefixItems since 2020-12");
}

/* ------------------------------------------------------------- dependencies */

/* Sort copies of the members by what they are; false: one is neither, or there is no memory. */
static bool sort_dependencies(yyjson_mut_doc *doc, yyjson_mut_val *dependencies,
                              yyjson_mut_val *required, yyjson_mut_val *schemas) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    bool done = required != NULL && schemas != NULL;
    yyjson_mut_obj_foreach(dependencies, at, count, key, value) {
        yyjson_mut_val *name = yyjson_mut_val_mut_copy(doc, key);
        yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, value);
        done = done && (yyjson_mut_is_arr(value) || is_schema(value)) &&
               yyjson_mut_obj_add(yyjson_mut_is_arr(value) ? required : schemas, name, copy);
    }
    return done;
}

void draft_update_dependencies(yyjson_mut_doc *doc, yyjson_mut_val *schema, draft_report *report,
                               void *user) {
    yyjson_mut_val *dependencies = yyjson_mut_obj_get(schema, "dependencies");
    yyjson_mut_val *required = yyjson_mut_obj(doc);
    yyjson_mut_val *schemas = yyjson_mut_obj(doc);
    yyjson_mut_val *required_key = yyjson_mut_str(doc, "dependentRequired");
    yyjson_mut_val *schemas_key = yyjson_mut_str(doc, "dependentSchemas");
    if (!yyjson_mut_is_obj(dependencies) || required_key == NULL || schemas_key == NULL ||
        yyjson_mut_obj_get(schema, "dependentRequired") != NULL ||
        yyjson_mut_obj_get(schema, "dependentSchemas") != NULL ||
        !sort_dependencies(doc, dependencies, required, schemas)) {
        return;
    }
    (void)yyjson_mut_obj_remove_key(schema, "dependencies");
    if (yyjson_mut_obj_size(required) > 0) {
        (void)yyjson_mut_obj_add(schema, required_key, required);
    }
    if (yyjson_mut_obj_size(schemas) > 0) {
        (void)yyjson_mut_obj_add(schema, schemas_key, schemas);
    }
    report(user, "dependencies are dependentRequired and dependentSchemas since 2019-09");
}
