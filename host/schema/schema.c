#include "schema/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "schema/compile.h"
#include "schema/format.h"
#include "schema/graph.h"
#include "schema/regex.h"
#include "schema/run.h"

CLEANUP_DEFINE(struct schema, schema_destroy)

void schema_destroy(struct schema *schema) {
    if (schema == NULL) {
        return;
    }
    for (size_t i = 0; i < SCHEMA_MATCHERS_KEPT; i++) {
        matcher_destroy(atomic_load(&schema->matchers[i]));
    }
    arena_finish(&schema->arena);
    free(schema);
}

/* A tool's arguments are an object, and every protocol wants its schema to say so. */
static int check_root(const struct library *library, yyjson_val *root) {
    if (!library->options->root_object) {
        return 0;
    }
    yyjson_val *type = yyjson_obj_get(root, "type");
    if (type == NULL) {
        return library_refuse(library, root,
                              "a tool's schema must say what its root is; add "
                              "\"type\": \"object\"");
    }
    if (!yyjson_equals_str(type, "object")) {
        return library_refuse(library, type,
                              "a tool's arguments are an object; change the root's "
                              "type to \"object\"");
    }
    return 0;
}

static int check_default(const struct library *library, const struct schema *schema,
                         const struct node *node, int64_t *steps) {
    struct schema_failure failure;
    if (node->default_value == NULL ||
        schema_check_node(schema, node, node->default_value, NULL, 0, steps, &failure)) {
        return 0;
    }
    if (failure.code != TOOLRACK_E_INVALID_ARGUMENTS) { /* says nothing about the default */
        return library_fail(library, failure.code, node->default_value, "%s", failure.reason);
    }
    const char *sep = failure.field[0] == '\0' ? "" : " ";
    return library_refuse(library, node->default_value, "does not fit its own schema: %s%s%s",
                          failure.field, sep, failure.reason);
}

/* All defaults together may take what one validation may. */
static int check_defaults(const struct library *library, const struct schema *schema) {
    int64_t steps = schema->steps_max;
    int code = 0;
    for (size_t i = 0; code == 0 && library->options->check_defaults && i < library->place_room;
         i++) {
        struct place *place = library->places[i];
        if (place != NULL && place->node != NULL) {
            code = check_default(library, schema, place->node, &steps);
        }
    }
    return code;
}

static int build(struct library *library, struct schema *schema, yyjson_val *root) {
    struct place *place = NULL;
    int code = library_add(library, "", root, &place);
    if (code == 0) {
        code = check_root(library, place->value);
    }
    if (code == 0) {
        code = compile_program(library, schema, place);
    }
    if (code == 0) {
        code = graph_finish(library, schema, place);
    }
    return code < 0 ? code : check_defaults(library, schema);
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
    int code = build(&library, schema, root);
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
